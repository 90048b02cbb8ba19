"""A rule set judges what is handed out, paragraph by paragraph: facts, no legal advice.

A paragraph is one condition of a published text. It holds, does not hold (which column, how many
cells; no cell is ever quoted), or could not be judged, which is never safe: a program does not know
what a photograph shows, nor what its owner knows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from sfumato.adversaries.linkage.risks import Linkage
from sfumato.criteria.base import Criterion, Ruling, Verdict
from sfumato.release.handed_out import LATER, ColumnCells, HandedOut, handed_out
from sfumato.release.release import Release

NO_ADVICE = "Facts about this file, measured by the text named; no legal advice."
FREE_TEXT = "free text"
OWNERS_WORD = "stated by the owner, not checked"


@dataclass(frozen=True)
class Paragraph:
    """`name` is its number in the text, `statement` what it asks in short, `reason` why so.

    `reason` counts cells and people: it is its owner's. `owner_stated`: the owner's word is in
    it, which everybody is told.
    """

    name: str
    statement: str
    status: Ruling
    reason: str = ""
    owner_stated: bool = False

    @property
    def answered(self) -> bool:
        """Whether nothing of it stands in the way of handing the file out."""
        return self.status in ("holds", "not_applicable")


@dataclass(frozen=True)
class RuleFinding:
    """What a rule set says of a release."""

    name: str
    source: str
    paragraphs: tuple[Paragraph, ...]

    @property
    def status(self) -> Ruling:
        statuses = {paragraph.status for paragraph in self.paragraphs}
        if "violated" in statuses:
            return "violated"
        return "holds" if statuses <= {"holds", "not_applicable"} else "cannot_judge"

    def having(self, status: Ruling) -> list[Paragraph]:
        return [paragraph for paragraph in self.paragraphs if paragraph.status == status]

    def public(self) -> RuleFinding:
        """Without reasons: they count single cells. That its owner stated it is told."""
        bare = (
            replace(paragraph, reason=OWNERS_WORD if paragraph.owner_stated else "")
            for paragraph in self.paragraphs
        )
        return replace(self, paragraphs=tuple(bare))


@dataclass(frozen=True)
class JudgedRelease:
    """What a rule set may ask: the release, what it hands out, its verdicts and linkage risks."""

    release: Release
    criteria: Sequence[Criterion]
    verdicts: Sequence[Verdict]
    linkage: Linkage

    @cached_property
    def handed_out(self) -> HandedOut | None:
        """What is handed out; None where that is not known yet."""
        return handed_out(self.release)

    @property
    def columns(self) -> tuple[ColumnCells, ...]:
        return () if self.handed_out is None else self.handed_out.columns


class RuleSet(ABC):
    """Published conditions on a file; its fields are the keys of `[profile]` in a policy."""

    name: ClassVar[str]
    source: ClassVar[str]  # the text, as it is cited

    @abstractmethod
    def paragraphs(self, judged: JudgedRelease) -> Iterator[Paragraph]:
        """Every paragraph with its status."""

    @property
    def statements(self) -> dict[str, object]:
        """What holds by its owner's word alone, as it is told with the release."""
        return {}

    def judge(self, judged: JudgedRelease) -> RuleFinding:
        finding = RuleFinding(self.name, self.source, tuple(self.paragraphs(judged)))
        for column in judged.columns:
            column.forget()
        return finding


def unread(name: str, statement: str) -> Paragraph:
    """A paragraph about cells where these are not known yet."""
    return Paragraph(name, statement, "cannot_judge", LATER)


@dataclass(frozen=True)
class Against:
    """What speaks against a paragraph; not `sure`: it may, and nobody can tell but the owner.

    `owner_denies`: the owner says that it does not.
    """

    reason: str
    sure: bool = True
    owner_denies: bool = False


def settled(name: str, statement: str, objections: Iterable[Against]) -> Paragraph:
    """A paragraph that holds unless something speaks against it, or may do so."""
    listed = list(objections)
    sure = dict.fromkeys(against.reason for against in listed if against.sure)
    denied = dict.fromkeys(
        f"{against.reason} ({OWNERS_WORD})" for against in listed if against.owner_denies
    )
    unsure = dict.fromkeys(
        against.reason for against in listed if not against.sure and not against.owner_denies
    )
    status: Ruling = "violated" if sure else "cannot_judge" if unsure else "holds"
    reason = "; ".join([*sure, *unsure, *denied])
    return Paragraph(name, statement, status, reason, owner_stated=bool(denied))


def counted(column: str, cells: int, description: str) -> str:
    """A reason: which column, how many cells, of what."""
    return f"{column}: {cells:,} cell{'s' * (cells != 1)} {description}"
