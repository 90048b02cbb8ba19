"""Several rows: k people behind everything that is known of somebody's rows (`several_rows.py` of
the adversaries).

Rows are published one by one. Whoever knows several of her target's rows finds the group of each,
and looks for those who have rows in all of them: at least k people must. Groups of k people each do
not see to that. `belief`: no value is believed more surely of her who is known to have the same in
all of her rows.

Whose rows are where is known to the owner alone, so the figure is private.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from sfumato.adversaries.several_rows import (
    NAME,
    SAME,
    TOO_MANY,
    KnownParts,
    RowsRead,
    RowsReader,
)
from sfumato.criteria.at_end import JudgedAtEnd
from sfumato.criteria.base import (
    Measure,
    Ruling,
    Verdict,
    parameter,
    summarize,
)
from sfumato.criteria.steps import PEOPLE, SHARES, Ladder
from sfumato.errors import InputError, PolicyError, quoted
from sfumato.numbers import shortest
from sfumato.release.groups import Groups
from sfumato.release.release import Release

_SLACK = 1e-9
_GATHERED = "some people are in several groups, with rows put together; say rows = 'unlinked'"


@dataclass(frozen=True)
class SeveralRows(JudgedAtEnd):
    """At least k people have rows in all of the groups that somebody's known rows are in.

    Groups by themselves are judged as if everybody had one row.
    """

    name: ClassVar[str] = "several-rows"
    plain: ClassVar[str] = "at least {0.k} people fit whatever rows of a person are known"
    adversary: ClassVar[str] = NAME
    private: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    reads_values: ClassVar[bool] = False
    merge_closed: ClassVar[bool] = False
    upward_closed: ClassVar[bool] = False
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("k", PEOPLE), Ladder("belief", SHARES))

    k: int
    """How many people, 1 or more. Example: `k = 5`."""
    _: KW_ONLY
    belief: float | None = None
    """The most that may be believed of a value that all of her known rows share, above 0 and at
    most 1. Example: `belief = 0.8`.
    """
    knows: int | Literal["all"] | None = None
    """How many of a person's rows are known, or "all"; without it as the schema says. Example:
    `knows = 2`.
    """

    def __post_init__(self) -> None:
        parameter(self.name, "k", self.k, whole=True, least=1)
        if self.belief is not None:
            parameter(self.name, "belief", self.belief, above=0, most=1)
        knows = self.knows
        number = isinstance(knows, int) and not isinstance(knows, bool) and knows >= 1
        if not (knows is None or number or (isinstance(knows, str) and knows == "all")):
            raise PolicyError(
                f"{self.name}: knows = {quoted(knows)} is not allowed; use 1, 2, 3, ... or 'all'"
            )

    @property
    def required(self) -> str:
        many = "the known" if self.knows is None else str(self.knows)
        also = "" if self.belief is None else f", belief ≤ {shortest(self.belief)}"
        return f"k ≥ {self.k} over {many} rows of a person{also}"

    def bounds(self, adversary: str) -> bool:
        return adversary == NAME or (adversary == SAME and self.belief is not None)

    # -- judging -------------------------------------------------------------------------------

    def measure(self, groups: Groups) -> Measure:
        reason = self.inapplicable(groups)
        if reason:
            raise InputError(f"{self.name} cannot be measured: {reason}")
        return summarize(groups, groups.sizes, "at_least")

    def verdict(self, groups: Groups) -> Verdict:
        reason = self.inapplicable(groups)
        if reason:
            return self.unjudged("not_applicable", reason, groups)
        bad, notes = groups.sizes < self.k, []
        if self.belief is not None and groups.width:
            share = groups.largest / groups.sizes
            bad = bad | (share > self.belief + _SLACK)
            notes.append(f"belief {share.max():.4g}")
        if bad.any():
            notes.insert(0, f"{groups.number(bad):,} groups, {groups.headcount(bad)} people")
        status: Ruling = "violated" if bad.any() else "holds"
        return self.decided(status, self.measure(groups), groups, "; ".join(notes))

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        if len(groups) == 0 or (groups.beside.unlinked is None and release.several is None):
            return self.verdict(groups if self.belief is None else release.groups)
        if groups.beside.unlinked is None:
            return self.unjudged("cannot_judge", _GATHERED, groups)
        reader = RowsReader(release.schema.knows if self.knows is None else self.knows)
        names = [self.sensitive] if self.sensitive is not None else list(release.by_attribute)
        about = [release.groups_for(name) for name in names]
        attacks = [
            reader.attack(release, about_attribute)
            for about_attribute in about
            if about_attribute.width
        ] or [reader.attack(release, groups)]
        parts = attacks[0].parts
        if parts is None:
            return self.unjudged("cannot_judge", "nobody here knows whose rows they are", groups)
        return self._decided(groups, parts, attacks)

    def _decided(self, groups: Groups, parts: KnownParts, attacks: list[RowsRead]) -> Verdict:
        least = parts.by_group(parts.candidates.astype(np.float64), len(groups), np.minimum)
        short, notes = parts.candidates < self.k, []
        if short.any():
            notes.append(f"fewer have rows in all groups of {parts.people_where(short):,} people")
        if parts.all_rows:
            notes.append("she is taken to know all rows, for there are too many sets of fewer")
        elif parts.at_least:
            notes.append("only people with equal rows were counted, for there are too many")
        believed = self.belief is not None and bool(attacks[0].by_row.width)
        if believed and parts.all_rows and not short.any():
            return self.unjudged("cannot_judge", f"belief: {TOO_MANY}", groups)
        if self.belief is not None and believed and not parts.all_rows:
            strongest = np.max([measured.strongest for measured in attacks], axis=0)
            sure = strongest > self.belief + _SLACK
            if sure.any():
                notes.append(f"more is believed of {parts.people_where(sure):,} people")
            notes.append(f"belief {strongest.max():.4g} in a value that all rows share")
            short = short | sure
        status: Ruling = "violated" if short.any() else "holds"
        measure = Measure(least, groups.sizes, "at_least")
        return self.decided(status, measure, groups, "; ".join(notes))
