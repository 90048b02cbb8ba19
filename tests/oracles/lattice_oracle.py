"""The lattice by exhaustion: every node, explicit people, plain Python.

Nothing is pruned, rolled up or inferred. What a value is called on a level is asked of the bound
hierarchy; whether a group holds is asked of the criterion, on counts written out by hand; what a
release costs is asked of the utility measure, on a release built tuple by tuple.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np

from sfumato.criteria.base import Criterion, GroupCriterion
from sfumato.release.beside import Beside
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.region import Region
from sfumato.table import Table
from sfumato.utility.base import Utility
from sfumato.utility.view import view_of
from tests.utility.releases import release_at

Levels = tuple[int, ...]
Key = tuple[Region, ...]


@dataclass(frozen=True)
class Person:
    """One person: her tuple of the table, her QI codes, and her codes of each sensitive column.

    `weight`: how many people of the population she stands for, in a survey.
    """

    tuple: int
    quasi: tuple[int, ...]
    values: tuple[frozenset[int], ...]
    weight: float | None = None


@dataclass(frozen=True)
class Judged:
    """One node: its groups that are published, and the people who are not."""

    levels: Levels
    satisfied: bool
    kept: dict[Key, list[Person]]
    suppressed: list[Person]


class LatticeOracle:
    """Exhaustive search over one table with one set of criteria."""

    def __init__(self, table: Table, require: Sequence[Criterion], suppression: float) -> None:
        self.table, self.require = table, require
        counts = table.counts
        self.people = [person for place in range(len(counts)) for person in self._people(place)]
        self.hierarchies = [table.levels[domain.name] for domain in counts.quasi]
        self.heights = tuple(one.height for one in self.hierarchies)
        share = Fraction(str(suppression))
        self.allowed = share.numerator * len(self.people) // share.denominator

    def _people(self, place: int) -> list[Person]:
        """The people of one tuple of the table."""
        counts = self.table.counts
        n, values = int(counts.n[place]), []
        for attribute, codes in zip(counts.sensitive, counts.values, strict=True):
            sets, code = attribute.sets, int(codes[place])
            if sets is None:
                values.append(frozenset({code}))
            else:
                held = sets.members[sets.offsets[code] : sets.offsets[code + 1]]
                values.append(frozenset(held.tolist()))
        weight = None if counts.weights is None else float(counts.weights[place]) / n
        return [Person(place, tuple(counts.codes[:, place]), tuple(values), weight)] * n

    def groups_at(self, levels: Levels) -> dict[Key, list[Person]]:
        groups: dict[Key, list[Person]] = {}
        for person in self.people:
            key = tuple(
                one[level].regions[one[level].codes[code]]
                for one, level, code in zip(self.hierarchies, levels, person.quasi, strict=True)
            )
            groups.setdefault(key, []).append(person)
        return groups

    def counted(self, groups: Sequence[list[Person]], attribute: int | None) -> Groups:
        """The groups' counts of one sensitive attribute, next to those of the whole table."""
        domain = None if attribute is None else self.table.counts.sensitive[attribute].domain

        def row(people: Sequence[Person]) -> list[int]:
            if attribute is None or domain is None:
                return []
            held = Counter(code for person in people for code in person.values[attribute])
            return [held[code] for code in range(len(domain))]

        counts = np.array([row(group) for group in groups], dtype=np.int64)
        made = Groups(
            counts.reshape(len(groups), 0 if domain is None else len(domain)),
            sizes=[len(group) for group in groups],
            reference=row(self.people),
            domain=domain,
        )
        weights = [[person.weight for person in group if person.weight] for group in groups]
        return made.with_beside(Beside(population=np.array([sum(group) for group in weights])))

    def about(self, criterion: Criterion) -> list[int] | list[None]:
        names = [attribute.name for attribute in self.table.counts.sensitive]
        if not names or not criterion.reads_values:
            return [None]
        if criterion.sensitive is not None:
            return [names.index(criterion.sensitive)]
        return list(range(len(names)))

    def judge(self, levels: Levels) -> Judged:
        groups = self.groups_at(levels)
        bad = [False] * len(groups)
        for criterion in self.require:
            if isinstance(criterion, GroupCriterion):
                for attribute in self.about(criterion):
                    holds = criterion.holds(self.counted(list(groups.values()), attribute))
                    bad = [one or not fine for one, fine in zip(bad, holds, strict=True)]
        kept = {key: group for (key, group), b in zip(groups.items(), bad, strict=True) if not b}
        gone = [
            person for group, b in zip(groups.values(), bad, strict=True) if b for person in group
        ]
        satisfied = len(gone) <= self.allowed and bool(kept)
        for criterion in self.require:
            if satisfied and not isinstance(criterion, GroupCriterion):
                satisfied = all(
                    criterion.verdict(self.counted(list(kept.values()), attribute)).holds
                    for attribute in self.about(criterion)
                )
        return Judged(levels, satisfied, kept, gone)

    @cached_property
    def nodes(self) -> dict[Levels, Judged]:
        every = product(*(range(height) for height in self.heights))
        return {levels: self.judge(levels) for levels in every}

    @property
    def safe(self) -> list[Levels]:
        return [levels for levels, node in self.nodes.items() if node.satisfied]

    @cached_property
    def minimal(self) -> set[Levels]:
        """Safe nodes below which no safe node lies."""
        return {
            one
            for one in self.safe
            if not any(
                other != one and all(a <= b for a, b in zip(other, one, strict=True))
                for other in self.safe
            )
        }

    def release(self, levels: Levels) -> Release:
        gone = {person.tuple for person in self.nodes[levels].suppressed}
        return release_at(self.table, levels, sorted(gone))

    def cost(self, levels: Levels, utility: Utility) -> float:
        gone = frozenset(person.tuple for person in self.nodes[levels].suppressed)
        known = _COSTS.setdefault((id(self.table), levels, gone), (self.table, {}))[1]
        if utility not in known:
            known[utility] = utility.cost(view_of(self.release(levels)))
        return known[utility]


# What publishing a table at these levels without these tuples costs: asked for again by every
# search that may do so, and the same for all of them. The table is kept, so that its id is.
_COSTS: dict[tuple[int, Levels, frozenset[int]], tuple[Table, dict[Utility, float]]] = {}
