"""What the step Release shows, as plain data: what was tried, and one release.

Workers find it out with all of the library, the server only shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.report.document import Section, mood_of


@dataclass(frozen=True)
class TriedRow:
    """One release that was made, in texts."""

    number: int
    require: tuple[str, ...]
    anonymizer: str
    risk: str
    cost: str
    groups: str
    left_out: str
    verdict: str
    made: str
    front: bool
    taken: bool

    @property
    def mood(self) -> str:
        return mood_of(self.verdict)


@dataclass(frozen=True)
class TriedView:
    """All releases that were made, on a map and in rows; `risk` is what the map goes by."""

    rows: tuple[TriedRow, ...]
    map: Section | None
    risk: str
    risks: Mapping[str, str]


@dataclass(frozen=True)
class PointView:
    """One release: what it promises, how it was found, what became of columns, who is weakest."""

    number: int
    headline: str
    choice: str
    verdict: str
    seed: str
    made: str
    tiles: Mapping[str, str]
    criteria: tuple[Section, ...]
    search: tuple[Section, ...]
    columns: tuple[Section, ...]
    worst: tuple[Section, ...]

    @property
    def mood(self) -> str:
        return mood_of(self.verdict)
