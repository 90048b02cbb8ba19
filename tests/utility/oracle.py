"""Utility measures from their definitions: person by person, value by value, no arrays."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import product

from sfumato.release.description import Buckets
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.region import Anything, Region, Value
from sfumato.utility.queries import Query


@dataclass(frozen=True)
class Person:
    quasi: tuple[Value, ...]
    sensitive: Value
    group: int | None


class Oracle:
    """A release written out: its people, and the region each group shows in each column."""

    def __init__(self, release: Release) -> None:
        placement = release.placement
        assert placement is not None
        counts = placement.table.counts
        self.table = placement.table
        self.domains: list[Domain] = list(counts.quasi)
        self.values = counts.sensitive[0].domain.values
        self.exact = isinstance(release.regions, Buckets)
        self.people = [
            Person(
                tuple(d.values[c] for d, c in zip(counts.quasi, counts.codes[:, t], strict=True)),
                self.values[counts.values[0, t]],
                int(group) if group >= 0 else None,
            )
            for t, group, n in zip(placement.tuples, placement.groups, placement.n, strict=True)
            for _ in range(n)
        ]
        self.published = [person for person in self.people if person.group is not None]
        self.size = Counter(person.group for person in self.published)
        self.regions: dict[int, list[Region]] = {}
        if not self.exact:
            self.regions = {
                group: [
                    parts[code]
                    for parts, code in zip(
                        release.regions.parts, release.regions.codes[:, group], strict=True
                    )
                ]
                for group in range(len(release.groups))
            }

    def covered(self, person: Person, column: int) -> list[Value]:
        """The values somebody seeing this person's cell must reckon with."""
        if person.group is None:
            return list(self.domains[column].values)
        if self.exact:
            return [person.quasi[column]]
        region = self.regions[person.group][column]
        return [value for value in self.domains[column].values if region.contains(value)]

    def _mean(self, of: list[float]) -> float:
        return sum(of) / len(of)

    def loss(self) -> float:
        return self._mean(
            [
                1.0 if person.group is None else self._widening(person, column)
                for person in self.people
                for column in range(len(self.domains))
            ]
        )

    def _widening(self, person: Person, column: int) -> float:
        domain, covered = self.domains[column], self.covered(person, column)
        if len(covered) == 1:
            return 0.0
        if len(covered) == len(domain.values):
            return 1.0
        numbers = [v for v in domain.values if isinstance(v, int)]
        if domain.kind == "numeric" and len(numbers) > 1:
            told = [value for value in covered if value is not None]
            extent = (max(told) - min(told)) / (max(numbers) - min(numbers))
            if len(told) == len(covered):
                return extent
            size = len(domain.values)  # the missing value is one more beside those of the extent
            return (extent * (size - 2) + 1) / (size - 1)
        return (len(covered) - 1) / (len(domain.values) - 1)

    def precision(self) -> float:
        return self._mean(
            [
                self._height(person, column)
                for person in self.people
                for column in range(len(self.domains))
            ]
        )

    def _height(self, person: Person, column: int) -> float:
        levels = self.table.levels[self.domains[column].name]
        if person.group is None:
            return 1.0
        if self.exact:
            return 0.0
        region = self.regions[person.group][column]
        if region == Anything():
            return 1.0
        stands = [at for at in range(levels.height) if region in levels[at].regions]
        return min(stands) / (levels.height - 1)

    def discernibility(self) -> float:
        return sum(
            len(self.people) if person.group is None else self.size[person.group]
            for person in self.people
        )

    def average_group_size(self) -> float:
        if not self.published:
            return len(self.people)
        return len(self.published) / len(self.size)

    def non_uniform_entropy(self) -> float:
        bits = []
        for column in range(len(self.domains)):
            count = Counter(person.quasi[column] for person in self.people)
            for person in self.people:
                among = sum(count[value] for value in self.covered(person, column))
                bits.append(-math.log2(count[person.quasi[column]] / among))
        return self._mean(bits)

    def estimate(self) -> Counter[tuple[tuple[Value, ...], Value]]:
        """The people a reader expects at every (QI values, sensitive value) of the domain."""
        expected: Counter[tuple[tuple[Value, ...], Value]] = Counter()
        for person in self.people:
            cells = list(
                product(*[self.covered(person, column) for column in range(len(self.domains))])
            )
            if person.group is None:
                held: list[Value] = list(self.values)
            elif self.exact:
                held = [p.sensitive for p in self.published if p.group == person.group]
            else:
                held = [person.sensitive]
            for cell in cells:
                for value in held:
                    expected[cell, value] += 1 / len(cells) / len(held)  # type: ignore[assignment]
        return expected

    def divergence(self) -> float:
        truth = Counter((person.quasi, person.sensitive) for person in self.people)
        expected = self.estimate()
        assert math.isclose(sum(expected.values()), len(self.people))
        return sum(
            n / len(self.people) * math.log2(n / expected[cell]) for cell, n in truth.items()
        )

    def query_error(self, queries: list[Query], sanity: float, cap: float) -> float:
        return self._mean([min(cap, self._error(query, sanity)) for query in queries])

    def _error(self, query: Query, sanity: float) -> float:
        truth = sum(
            self._has(person, query)
            * all(
                query.wanted[column][self.domains[column].values.index(person.quasi[column])]
                for column in query.wanted
            )
            for person in self.people
        )
        answer = 0.0
        for person in self.published:
            share = 1.0
            for column, wanted in query.wanted.items():
                values = self.domains[column].values
                covered = self.covered(person, column)
                share *= sum(wanted[values.index(value)] for value in covered) / len(covered)
            bucket = [p for p in self.published if p.group == person.group]
            among = bucket if self.exact else [person]
            answer += share * sum(self._has(p, query) for p in among) / len(among)
        return abs(answer - truth) / max(truth, sanity * len(self.people))

    def _has(self, person: Person, query: Query) -> bool:
        return query.values is None or bool(query.values[self.values.index(person.sensitive)])
