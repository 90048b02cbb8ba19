"""Print beside ours: whatever a paper prints that can be worked out here, and what comes of it.

A row is a printed figure or claim, ours, and a verdict. They agree if ours, rounded or cut off, is
what is printed; where they differ the row says why, also where it is print that is wrong. What
needs a table this run did not have is a row too, and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isinf
from typing import Literal

from sfumato.errors import InputError
from sfumato.report.document import Document, Gist, Section, Sheet

EvidenceOutcome = Literal["agrees", "differs", "no print at hand", "not run"]
OUTCOMES: dict[EvidenceOutcome, str] = {  # and how many of them are told
    "agrees": "agree",
    "differs": "differ",
    "no print at hand": "without print at hand",
    "not run": "not run",
}
UNEXPLAINED = "no reason is known"
EXACT = 1e-9  # of figures printed as fractions


_PUBLISHED_BEFORE = "repeats what papers printed"


@dataclass(frozen=True)
class EvidenceRow:
    """One item of a paper: what is printed, what we get, whether they agree.

    `data` is the table `measured` was worked out on; nothing where the paper's own example or the
    package alone is enough, so that everybody gets the same. `because` is why they differ, why
    there is nothing to compare, or why it was not run.
    """

    item: str
    printed: str
    measured: str
    outcome: EvidenceOutcome
    because: str = ""
    data: str = ""

    def __post_init__(self) -> None:
        if self.outcome != "agrees" and not self.because:
            raise InputError(f"{self.item}: {self.outcome!r} needs its reason")

    @property
    def row(self) -> tuple[str, ...]:
        item = f"{self.item} ({self.data})" if self.data else self.item
        return item, self.printed, self.measured, self.outcome, self.because


def beside(
    item: str,
    printed: str,
    measured: float,
    because: str = UNEXPLAINED,
    *,
    value: float | None = None,
    data: str = "",
) -> EvidenceRow:
    """A printed figure beside ours; `value` is the figure where print has an expression.

    `because` is told only where they differ.
    """
    agrees = _agrees(printed, measured, value)
    outcome: EvidenceOutcome = "agrees" if agrees else "differs"
    return EvidenceRow(item, printed, figure(measured), outcome, "" if agrees else because, data)


def several_beside(
    item: str,
    printed: Sequence[str],
    measured: Sequence[float],
    because: str = UNEXPLAINED,
    *,
    data: str = "",
) -> EvidenceRow:
    """A printed row of figures beside ours; they agree if each does."""
    if len(printed) != len(measured):  # of another number of classes
        return EvidenceRow(
            item, ", ".join(printed), ", ".join(map(figure, measured)), "differs", because, data
        )
    pairs = list(zip(printed, measured, strict=True))
    wrong = [text for text, number in pairs if not _agrees(text, number, None)]
    agreed = (
        f"{len(pairs) - len(wrong)} of {len(pairs)} agree: " if 0 < len(wrong) < len(pairs) else ""
    )
    return EvidenceRow(
        item,
        ", ".join(printed),
        ", ".join(map(figure, measured)),
        "differs" if wrong else "agrees",
        f"{agreed}{because}" if wrong else "",
        data,
    )


def claimed(
    item: str, claim: str, holds: bool, measured: str, because: str = "", *, data: str = ""
) -> EvidenceRow:
    """What a paper says in words, and whether it is so here."""
    reason = "" if holds else because or "it is not so on this table"
    return EvidenceRow(item, claim, measured, "agrees" if holds else "differs", reason, data)


def unprinted(
    item: str, measured: str, because: str = "the printed figure is not at hand", *, data: str = ""
) -> EvidenceRow:
    """Ours alone."""
    return EvidenceRow(item, "–", measured, "no print at hand", because, data)


def not_run(item: str, printed: str, because: str) -> EvidenceRow:
    """Printed, and not worked out in this run."""
    return EvidenceRow(item, printed, "–", "not run", because)


def _agrees(printed: str, measured: float, value: float | None) -> bool:
    """Whether ours, rounded to the last printed digit or cut off there, is what is printed."""
    if value is None and printed == "none":
        return isinf(measured)
    text = printed.replace(",", "")
    if value is None and "/" not in text:
        unit = 10.0 ** -len(text.partition(".")[2])
        return -unit / 2 <= measured - float(text) + EXACT and measured - float(text) < unit - EXACT
    value = float(Fraction(text)) if value is None else value
    return abs(measured - value) <= EXACT * max(1.0, abs(value))


def figure(number: float) -> str:
    """Four digits and not less than the unit; more where that would hide a difference from one."""
    if isinf(number):
        return "inf" if number > 0 else "-inf"
    if float(number).is_integer():
        return f"{int(number):,}"
    if abs(number) >= 1_000:
        return f"{number:,.0f}"
    text = f"{number:.4g}"
    return f"{number:.6g}" if float(text).is_integer() else text


@dataclass(frozen=True)
class Reproduction:
    """One paper worked through: its evidence, and the tables and charts behind it.

    `stands_in` says in a line which data stands in for the paper's.
    """

    name: str
    title: str
    about: str
    stands_in: str
    evidence: tuple[EvidenceRow, ...]
    sections: tuple[Section, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def document(self) -> Document:
        about = f"{self.stands_in} {self.about}".strip()
        beside_print = Section("Print beside ours", self.tally, (self.sheet(),))
        gist = Gist({"Tally": self.tally}, self.brief_sheet(), self.stands_in)
        return Document(
            self.name,
            self.title,
            about,
            (beside_print, *self.sections),
            self.facts,
            may_go_out=_PUBLISHED_BEFORE,
            gist=gist,
        )

    def counts(self) -> tuple[int, ...]:
        """Rows by outcome."""
        outcomes = Counter(row.outcome for row in self.evidence)
        return tuple(outcomes[outcome] for outcome in OUTCOMES)

    @property
    def tally(self) -> str:
        many = ", ".join(
            f"{count} {words}"
            for count, words in zip(self.counts(), OUTCOMES.values(), strict=True)
            if count
        )
        return f"Of {len(self.evidence)} rows: {many}."

    @property
    def without_print(self) -> str:
        """In a line, why some rows have nothing printed beside them."""
        reasons = Counter(row.because for row in self.evidence if row.outcome == "no print at hand")
        listed = "; ".join(f"{because} (rows: {rows})" for because, rows in reasons.items())
        return f"Without print at hand: {listed}." if listed else ""

    def brief_sheet(self) -> Sheet:
        """What differs first, without reasons."""
        order = ("differs", "not run")
        rows = sorted(self.evidence, key=lambda row: -(row.outcome in order))
        cells = tuple(row.row[:4] for row in rows)
        return Sheet(("item", "print", "ours", "verdict"), cells, keys=4)

    def sheet(self) -> Sheet:
        return Sheet(
            ("item", "print", "ours", "verdict", "because"),
            tuple(row.row for row in self.evidence),
            remark="because",
        )


def evidence_page(reproductions: Iterable[Reproduction]) -> Document:
    """All papers at a glance."""
    papers = tuple(reproductions)
    glance = Sheet(
        ("paper", "rows", *OUTCOMES),
        tuple((paper.name, len(paper.evidence), *paper.counts()) for paper in papers),
    )
    about = (
        "Every table, figure, worked example and claim of the five papers whose print is at hand, "
        "beside what Sfumato gets. Figures agree if ours, rounded or cut off, is what is printed. "
        "A row names the table it was worked out on; a row that names none is the paper's own "
        "example or needs nothing but the package. It is written by make evidence."
    )
    sections = (
        Section("At a glance", tables=(glance,)),
        *(
            Section(
                f"{paper.name}: {paper.title}",
                f"{paper.stands_in} {paper.without_print}".strip(),
                (paper.sheet(),),
            )
            for paper in papers
        ),
    )
    gist = Gist({"Read": "--verbose shows every row, --out DIR writes them as a page"}, glance, "")
    title = "Evidence: print beside ours"
    return Document("evidence", title, about, sections, may_go_out=_PUBLISHED_BEFORE, gist=gist)
