"""Report: the answer to "may this file go out?", as plain data.

It is private evidence: it names the worst groups. What may be handed out with a release is its
manifest, and the report's public variant. That tells nothing that the published data and the
manifest do not tell anybody: threats and charts are worked out anew on what is published alone, so
that nothing is said about suppressed people; worst groups, notes on single groups, suggestions, the
search and outside registers are left out. Counts of people or groups from 1 to `FLOOR` - 1 (or the
policy's k, if that is larger) are told as "<10"; 0 is told as 0. What a criterion measures is told,
whatever its size: that is the promise. How a report reads is `sections/report.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from sfumato.adversaries.base import Attack, Threat
from sfumato.adversaries.linkage.risks import ColumnRisk, Linkage
from sfumato.criteria.base import Criterion, Verdict
from sfumato.errors import InputError, list_some
from sfumato.files import new_file
from sfumato.policy.model import Policy
from sfumato.policy.rules.base import RuleFinding
from sfumato.policy.rules.free_text import FreeText
from sfumato.progress import phase
from sfumato.release.description import Singletons
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.report.comparison import TakenFrom
from sfumato.report.document import Documented, PolicyStatus
from sfumato.report.price import Price
from sfumato.report.provenance import Provenance
from sfumato.schema.region import ValueSet
from sfumato.table import FileStamp, Table

if TYPE_CHECKING:
    from sfumato.adversaries.linkage.record_risks import RecordRisks
    from sfumato.release.write.codebook import Codebook
    from sfumato.report.document import Document, Section

# Advice: what could be changed about a release, and what each change was found to buy. Private.
#
# Everything here was worked out on the release at hand (`workflow/advise.py`), nothing is a rule of
# thumb. How it is told is `sections/next_steps.py`.

How = Literal["one step coarser", "not published"]


@dataclass(frozen=True)
class Trouble:
    """How far a release is from holding: groups and people that violate, criteria that fail."""

    groups: int
    people: int
    failing: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.failing


@dataclass(frozen=True)
class CoarserColumn:
    """One column published less finely, or not at all: what is left of the trouble then.

    `label` is one of the labels the column would show.
    """

    column: str
    how: How
    label: str
    groups: int
    left: Trouble


@dataclass(frozen=True)
class Suppressing:
    """Every violating group not published: whom that costs, and whether the rest holds.

    `allowed` is how many people the policy lets be suppressed, None without a policy. `largest`
    are some of the groups: how each is described, and its people.
    """

    groups: int
    people: int
    everybody: int
    allowed: int | None
    left: Trouble
    largest: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class TightestBound:
    """The tightest bound of one criterion that holds on this release, all else unchanged.

    Found by judging the release by it. `asked` is the policy's value of the parameter.
    """

    criterion: str
    parameter: str
    asked: float
    tightest: float
    holds_now: bool
    about: str | None = None  # the column

    @property
    def named(self) -> str:
        return f"{self.criterion} of {self.about}" if self.about else self.criterion


@dataclass(frozen=True)
class Advice:
    """What can be done about a release.

    `steps` is a way to a release that holds: the best column to coarsen, then the best after it,
    and so on. `untried` are criteria by which no change was judged, so that nothing here shows that
    they would hold. `silent` says why something was not worked out.
    """

    now: Trouble
    coarsen: tuple[CoarserColumn, ...] = ()
    steps: tuple[CoarserColumn, ...] = ()
    suppress: Suppressing | None = None
    bounds: tuple[TightestBound, ...] = ()
    untried: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


ENDINGS = (".html", ".json", ".md")
ABSENT = "none in the file"  # required of columns that nothing is known of
Named = TypeVar("Named")  # a kind of adversary
FLOOR = 10  # the usual threshold of statistical offices


@dataclass(frozen=True)
class WorstGroup:
    """One of the groups a criterion finds worst: how it is described, and what it measures."""

    description: dict[str, str]
    people: int
    measured: float
    at_most: bool = False  # an upper bound


@dataclass(frozen=True)
class CriterionFinding:
    """A verdict with its worst groups told as an adversary sees them."""

    verdict: Verdict
    worst: tuple[WorstGroup, ...]


@dataclass(frozen=True)
class ReleaseSummary:
    """What was judged."""

    label: str
    scheme: str
    people: int
    groups: int
    smallest: int
    suppressed: int
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    keep: tuple[str, ...]
    raw: bool = False  # every quasi-identifier is shown as it is: a table, not a release of it
    anonymizer: str = ""  # what made it, if that was here


@dataclass(frozen=True)
class Evidence:
    """The release that was judged, by which criteria, and what more can be found out about it.

    Without a policy only criteria were given. `attacks` are results of adversaries that were run
    beside the audit. `table` is the one the release was made of, where it was not made here;
    `price` tells what each promise costs, `taken_from` of which comparison it is a point.
    """

    release: Release
    criteria: tuple[Criterion, ...]
    inquiry: Inquiry
    policy: Policy | None = None
    attacks: tuple[Attack, ...] = ()
    table: Table | None = None
    price: Price | None = None
    taken_from: TakenFrom | None = None

    def naming(self, kind: type[Named]) -> Iterator[tuple[Criterion, Named, Groups]]:
        """The criteria that name an adversary of this kind, her, and whom she asks about."""
        for criterion in self.criteria:
            for adversary, groups in criterion.adversaries(self.release):
                if isinstance(adversary, kind):
                    yield criterion, adversary, groups


class Inquiry(Protocol):
    """What takes longer than the verdicts: asked by a report that is shown, not for an exit code.

    Whoever has audited a release answers.
    """

    def late_threats(self) -> Sequence[Threat]:
        """Those of adversaries whose code is slow to load."""

    def advice(self) -> Advice:
        """What could be done about the release."""

    def as_published(self) -> Report:
        """The release audited once more as anybody can read it."""


@dataclass(frozen=True, repr=False)
class Report(Documented):
    """Verdicts on a release, the threats that remain, and what the reader must know besides.

    `linkage` tells how surely rows can be linked to names, `columns` which quasi-identifiers give
    most away, the weakest first; every audit measures both. `published` are the verdicts measured
    on what is published alone, the only figures that may be told. `rules` are the paragraphs of the
    policy's rule set, `insisted` columns of free text that their owner publishes. `evidence` is
    what sections, costs and suggestions are worked out from when asked for, `provenance` who made
    it of what.
    """

    summary: ReleaseSummary
    findings: tuple[CriterionFinding, ...]
    threats: tuple[Threat, ...]
    notes: tuple[str, ...]
    linkage: Linkage | None = None
    columns: tuple[ColumnRisk, ...] = ()
    published: tuple[Verdict, ...] = ()
    rules: RuleFinding | None = None
    insisted: tuple[FreeText, ...] = ()
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    audience: Literal["private", "public"] = "private"
    provenance: Provenance = field(default_factory=Provenance, repr=False, compare=False)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(finding.verdict for finding in self.findings)

    @property
    def status(self) -> PolicyStatus:
        """violated if anything is; else could_not_judge unless every criterion holds.

        A paragraph of the rule set counts as a criterion does.
        """
        ruled = "holds" if self.rules is None else self.rules.status
        if ruled == "violated" or any(verdict.status == "violated" for verdict in self.verdicts):
            return "violated"
        all_hold = ruled == "holds" and all(verdict.holds for verdict in self.verdicts)
        return "holds" if all_hold else "could_not_judge"

    @property
    def holds(self) -> bool:
        return self.status == "holds"

    @property
    def raw(self) -> bool:
        """Whether a table was judged as it stands."""
        return self.summary.raw

    @property
    def noisy(self) -> bool:
        """Whether it is about a randomised release, whose promise is the same to everybody."""
        return self.evidence is not None and self.evidence.release.regions.noisy

    @property
    def group(self) -> str:
        """What a group of it is called."""
        buckets = self.evidence is not None and self.evidence.release.regions.exact
        return "bucket" if buckets else "group"

    def promises(self) -> list[dict[str, object]]:
        """What may be told to anybody: each criterion, its bound and the value that was reached.

        Figures are those that anybody can measure on the published data; whether the criterion
        holds was decided against the whole table. No groups, no counts of people.
        """
        from sfumato.report.document import cleaned

        public: list[dict[str, object]] = cleaned(
            [
                {
                    "criterion": verdict.criterion,
                    "about": verdict.attribute,
                    **({"of_row": True} if verdict.of_row else {}),
                    "required": verdict.required,
                    "measured": published.measured,
                    "at_most": published.at_most,
                    "holds": verdict.holds,
                }
                for verdict, published in zip(self.verdicts, self.published, strict=True)
            ]
        )
        return public

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All that is told besides the verdict: tables, charts, suggestions."""
        from sfumato.report.sections.report import sections_of

        return sections_of(self)

    @cached_property
    def every_threat(self) -> tuple[Threat, ...]:
        """The threats, and those of adversaries that only a report that is shown runs."""
        late = () if self.evidence is None else self.evidence.inquiry.late_threats()
        return (*self.threats, *late)

    @cached_property
    def advice(self) -> Advice | None:
        """What could be done about the release: its owner's to know."""
        owner = self.evidence is not None and self.audience == "private"
        return self.evidence.inquiry.advice() if owner and self.evidence is not None else None

    @cached_property
    def costs(self) -> dict[str, float]:
        """What the release costs in usefulness, by measure; empty where the table is unknown."""
        from sfumato.report.sections.usefulness import costs_of

        return costs_of(self)

    @cached_property
    def served(self) -> Section | None:
        """How the release serves what the policy says it is for, if it does."""
        from sfumato.report.sections.usefulness import use_section

        return use_section(self)

    def record_risks(self, size: int = 3) -> RecordRisks:
        """The risk of every record of the table: private. `size`: columns of SUDA scores."""
        from sfumato.adversaries.linkage.record_risks import record_risks

        if self.evidence is None or self.linkage is None or self.audience == "public":
            raise InputError("record risks are about single people: ask its owner's report")
        return record_risks(self.evidence.release, self.linkage, self.evidence.table, size)

    def public(self) -> Report:
        """The variant that may be handed out: no worst groups, no small counts."""
        return self if self.audience == "public" else _public(self)

    def published_as(self, *files: FileStamp) -> Report:
        """The same, about a release that is now in these files."""
        return replace(self, provenance=replace(self.provenance, release_files=files))

    def document(self) -> Document:
        """All of it, for the page and for JSON."""
        from sfumato.report.sections.report import document

        return document(self)

    def short(self, *, private: bool = True) -> Document:
        """What a terminal shows; where others may read it (a log), not who is worst off."""
        from sfumato.report.sections.decision import short

        return short(self, private=private)

    def brief(self, *, private: bool = True) -> Document:
        """The same with every table that a terminal has room for."""
        from sfumato.report.sections.report import brief

        return brief(self, private=private)

    def to_markdown(self) -> str:
        """A short summary for a data-protection file."""
        from sfumato.report.sections.report import summary

        return summary(self).to_markdown()

    def public_pages(self, codebook: Codebook) -> dict[str, str]:
        """What may be handed out with the data: its codebook, and this report in short."""
        from sfumato.report.sections.codebook import codebook_document
        from sfumato.report.sections.report import handed_out

        documents = {"codebook": codebook_document(codebook), "report": handed_out(self.public())}
        return {f"{name}.html": document.to_html() for name, document in documents.items()}

    @phase("writing")
    def save(self, path: str | Path, *, public: bool = False, force: bool = False) -> None:
        """Write a page (.html), all figures (.json) or a summary (.md), whole or not at all.

        It is private and only its owner may read it, unless `public` asks for the variant that may
        be handed out. `force`: replace the file that is there.
        """
        target = Path(path)
        check_kind(target)
        report = self.public() if public else self
        with new_file(target, force=force, private=not public, kind="report") as new:
            if target.suffix == ".json":
                report.document().write_json(new)
                return
            text = report.to_html() if target.suffix == ".html" else report.to_markdown()
            new.write_text(text.rstrip("\n") + "\n", encoding="utf-8")

    def _in_short(self) -> tuple[str, ...]:
        judged = (
            f"{verdict.criterion} {verdict.status.replace('_', ' ')}" for verdict in self.verdicts
        )
        return (
            f"Report on {self.summary.label}: {self.status.replace('_', ' ')}",
            f"{self.summary.people:,} people in {self.summary.groups:,} {self.group}s",
            list_some(judged, 4),
        )


def check_kind(target: Path) -> None:
    """Refuse a name that does not say what to write; before any work is done."""
    if target.suffix not in ENDINGS:
        raise InputError(
            f"cannot write a report as {target.name!r}; use a name ending in "
            f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        )


def _public(report: Report) -> Report:
    """The variant of a report that may be handed out."""
    if report.evidence is None:
        raise InputError("the public variant needs the release: audit it, then save the report")
    seen = report.evidence.inquiry.as_published()
    pairs = zip(report.verdicts, report.published, strict=True)
    return Report(
        summary=replace(report.summary, smallest=seen.summary.smallest),
        findings=tuple(
            CriterionFinding(_bare(verdict, published), ()) for verdict, published in pairs
        ),
        threats=seen.threats,
        # A note with a figure may be about few people.
        notes=tuple(note for note in seen.notes if not any(sign.isdigit() for sign in note)),
        linkage=seen.linkage,
        published=report.published,
        rules=None if report.rules is None else report.rules.public(),
        evidence=seen.evidence,
        audience="public",
    )


def _bare(verdict: Verdict, published: Verdict) -> Verdict:
    """Decided against the whole table, measured on what is published, without its groups."""
    return replace(
        verdict,
        measured=published.measured,
        at_most=published.at_most,
        worst=(),
        per_group=None,
        bounded=None,
        note="",
    )


def floor_of(report: Report) -> int:
    """Below this, counts are not told to the public."""
    criteria = report.evidence.criteria if report.evidence is not None else ()
    return max([FLOOR, *(criterion.fewest_people for criterion in criteria)])


def few(report: Report, count: int) -> int | str:
    """A count as it may be told: in a public report small ones only as small."""
    floor = floor_of(report)
    return f"<{floor}" if report.audience == "public" and 0 < count < floor else count


def few_of(report: Report, share: float, everybody: int) -> float | str:
    """A share of people as it may be told: not where it is that of few."""
    count = few(report, round(share * everybody))
    return share if not isinstance(count, str) else count


def shows_all(release: Release) -> bool:
    """Whether every group shows exact values: a table as it stands."""
    described = release.regions
    regions = described.regions_at_hand
    if regions is None or not len(regions) or not described.generalizes or release.suppressed:
        return False
    return all(
        isinstance(parts, Singletons)
        or all(isinstance(part, ValueSet) and len(part.values) == 1 for part in parts)
        for parts in regions.parts
    )


def each_told(release: Release) -> bool:
    """Whether the release publishes a region of every group, and all of them are at hand."""
    regions = release.regions.each_region
    return regions is not None and len(regions) > 0 and release.regions.generalizes
