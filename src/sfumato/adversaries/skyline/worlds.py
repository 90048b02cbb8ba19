"""In how many ways people can have what a group publishes, of whom something is known: counted, not
gone through (Chen, LeFevre, Ramakrishnan: Privacy Skyline, VLDB 2007, Propositions 1 and 2).

What is known is a list of clauses, of each of which one part at least is so. Only those whom
clauses name are gone through, one after another, and ways that agree in what they used up and in
what they leave to be seen are one. Whoever has a value is a person, or a row of somebody's where
rows are published one by one: here they are alike.

Stands apart: whom and what a question is about (`belief.py`) needs nothing of how it is counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, log2, perm, prod
from typing import NamedTuple

import numpy as np

from sfumato.adversaries.skyline.breach import AnyCase
from sfumato.errors import ResourceError
from sfumato.release.groups import Groups

MOST_STATES = 100_000  # ways that differ in what is still to be seen, at a time
_MOST_BITS = 1_000_000  # of a number of ways


class Literal(NamedTuple):
    """Person number `person` has the value of code `value`, or has it not."""

    person: int
    value: int
    has: bool


Clause = frozenset[Literal]  # one of them at least is so


@dataclass(frozen=True)
class Worlds:
    """All ways in which people who are in these groups can have values, as far as she cares.

    `placed[p]` is the group of person p; she knows every clause and asks for one more.
    """

    groups: Groups
    case: AnyCase
    placed: tuple[int, ...]
    clauses: Sequence[Clause]
    asked: Clause

    def chance(self) -> Fraction | None:
        """How likely it is; None where no way is left."""
        for together in self._components():
            ways = self._ways(together, self.clauses)
            if not ways:
                return None
            if next(iter(self.asked)).person in together:
                having = self._ways(together, [*self.clauses, self.asked])
                chance = Fraction(having, ways)
        return chance

    def _components(self) -> list[set[int]]:
        """People who have to do with each other: by a group, by what is known or asked."""
        ties = [set(np.flatnonzero(np.array(self.placed) == g).tolist()) for g in set(self.placed)]
        for clause in (*self.clauses, self.asked):
            tied = {literal.person for literal in clause}
            meeting = [tie for tie in ties if tie & tied]
            ties = [tie for tie in ties if not tie & tied] + [set().union(*meeting)]
        return ties

    def _ways(self, people: set[int], clauses: Sequence[Clause]) -> int:
        """In how many ways all that is known of these people is so, up to a constant factor."""
        related = [clause for clause in clauses if next(iter(clause)).person in people]
        order = self._order(people, related)
        last = {
            place: max(order.index(literal.person) for literal in clause)
            for place, clause in enumerate(related)
        }
        # What was used up of the present group, and which clauses are so of those still open.
        states: dict[tuple[tuple[int, ...], frozenset[int]], int] = {}
        for step, person in enumerate(order):
            group = self.placed[person]
            if step == 0 or self.placed[order[step - 1]] != group:
                stock = self._stocks[group]
                states = {(stock.nothing, so): ways for (_, so), ways in (states or _START).items()}
            closing = {place for place in last if last[place] == step}
            options = [
                (option, _fulfilled(related, person, option)) for option in stock.options(person)
            ]
            after: dict[tuple[tuple[int, ...], frozenset[int]], int] = defaultdict(int)
            for (used, so), ways in states.items():
                for option, fulfilled in options:
                    more = stock.ways(used, option)
                    if more and closing <= so | fulfilled:
                        state = stock.use(used, option), (so | fulfilled) - closing
                        after[state] += ways * more
                if len(after) > MOST_STATES:
                    raise ResourceError(
                        f"what is known hangs together in more than {MOST_STATES:,} ways at a "
                        "time; know of fewer people, or of fewer values"
                    )
            states = dict(after)
            if step + 1 == len(order) or self.placed[order[step + 1]] != group:
                ended: dict[tuple[tuple[int, ...], frozenset[int]], int] = defaultdict(int)
                for (used, so), ways in states.items():
                    ended[(), so] += ways * stock.rest(used)
                states = dict(ended)
            if not any(states.values()):
                return 0
        return sum(states.values())

    def _order(self, people: set[int], clauses: Sequence[Clause]) -> list[int]:
        """Those of a group together, and near each other who have to do with each other.

        The target first: most is known of others because of him.
        """
        near: dict[int, set[int]] = defaultdict(set)
        for clause in clauses:
            for literal in clause:
                near[literal.person] |= {other.person for other in clause}
        order: list[int] = []
        asked = {literal.person for literal in self.asked}
        left = sorted(people, key=lambda person: (person not in asked, -len(near[person])))
        while left:
            present = {self.placed[order[-1]]} if order else set()
            met = set().union(*(near[person] for person in order))
            following = min(
                left, key=lambda person: (self.placed[person] not in present, person not in met)
            )
            order.append(following)
            left.remove(following)
        return order

    @cached_property
    def _stocks(self) -> dict[int, _Urn | _Bag]:
        """Of each group, what its people have of what is asked about."""
        mentioned: dict[int, dict[int, set[int]]] = {
            group: {p: set() for p, g in enumerate(self.placed) if g == group}
            for group in set(self.placed)
        }
        for clause in (*self.clauses, self.asked):
            for literal in clause:
                mentioned[self.placed[literal.person]][literal.person].add(literal.value)
        return {group: self._stock(group, of) for group, of in mentioned.items()}

    def _stock(self, group: int, mentioned: Mapping[int, set[int]]) -> _Urn | _Bag:
        groups, size = self.groups, int(self.groups.sizes[group])
        values = set().union(*mentioned.values())
        low, high = int(groups.indptr[group]), int(groups.indptr[group + 1])
        counts = {
            int(code): int(n)
            for code, n in zip(groups.indices[low:high], groups.data[low:high], strict=True)
            if int(code) in values
        }
        if self.case in ("set", "multiset"):
            ordered = {person: tuple(sorted(asked)) for person, asked in mentioned.items()}
            return _Bag(size, counts, ordered, repeated=self.case == "multiset")
        had: Counter[frozenset[int]] = Counter()
        if self.case == "single":
            had.update({frozenset({code}): n for code, n in counts.items()})
        else:
            assert groups.lists is not None
            for listed, n in _lists(groups, group):
                had[frozenset(values & listed)] += n
        had[frozenset()] += size - had.total()
        return _Urn(tuple((values_had, n) for values_had, n in had.items() if n))


_START: dict[tuple[tuple[int, ...], frozenset[int]], int] = {((), frozenset()): 1}


def _lists(groups: Groups, group: int) -> Iterator[tuple[set[int], int]]:
    """The distinct lists of a group, and how many people have each."""
    lists = groups.lists
    assert lists is not None
    stored = slice(int(lists.indptr[group]), int(lists.indptr[group + 1]))
    ends = lists.sets.offsets
    for code, n in zip(lists.indices[stored].tolist(), lists.data[stored].tolist(), strict=True):
        yield set(lists.sets.members[ends[code] : ends[code + 1]].tolist()), n


def _fulfilled(clauses: Sequence[Clause], person: int, had: frozenset[int]) -> frozenset[int]:
    """The clauses that are so if a person has these values, of those that are asked about."""
    return frozenset(
        place
        for place, clause in enumerate(clauses)
        if any(
            literal.person == person and (literal.value in had) == literal.has for literal in clause
        )
    )


@dataclass(frozen=True)
class _Urn:
    """One value, or one whole list, for each person of a group, by what is asked about of them."""

    had: tuple[tuple[frozenset[int], int], ...]

    @property
    def nothing(self) -> tuple[int, ...]:
        return (0,) * len(self.had)

    def options(self, person: int) -> list[frozenset[int]]:
        return [values for values, _ in self.had]

    @cached_property
    def _place(self) -> dict[frozenset[int], int]:
        return {values: place for place, (values, _) in enumerate(self.had)}

    def ways(self, used: tuple[int, ...], option: frozenset[int]) -> int:
        """How many are left to be taken."""
        place = self._place[option]
        return self.had[place][1] - used[place]

    def use(self, used: tuple[int, ...], option: frozenset[int]) -> tuple[int, ...]:
        place = self._place[option]
        return (*used[:place], used[place] + 1, *used[place + 1 :])

    def rest(self, used: tuple[int, ...]) -> int:
        """The others have what is left, in as many ways whatever that is."""
        return 1


@dataclass(frozen=True)
class _Bag:
    """Loose values of a group of so many people: who has one says nothing of who has another.

    `asked` are the values that are asked about of each person. A set: `counts[v]` people have v.
    A multiset (`repeated`): each of so many occurrences is anybody's.
    """

    size: int
    counts: Mapping[int, int]
    asked: Mapping[int, tuple[int, ...]]
    repeated: bool

    @cached_property
    def _values(self) -> tuple[int, ...]:
        return tuple(sorted({value for values in self.asked.values() for value in values}))

    @property
    def nothing(self) -> tuple[int, ...]:
        return (0,) * len(self._values)

    def options(self, person: int) -> list[frozenset[int]]:
        values = self.asked[person]
        if 2 ** len(values) > MOST_STATES:
            raise ResourceError(
                f"{len(values)} values are asked about of one person; know of fewer of them"
            )
        return [frozenset(had) for n in range(len(values) + 1) for had in combinations(values, n)]

    def ways(self, used: tuple[int, ...], option: frozenset[int]) -> int:
        return 1

    def use(self, used: tuple[int, ...], option: frozenset[int]) -> tuple[int, ...]:
        return tuple(n + (value in option) for n, value in zip(used, self._values, strict=True))

    def rest(self, used: tuple[int, ...]) -> int:
        """In how many ways each value can be had by just these people of those asked about."""
        return prod(
            self._dealt(
                self.counts.get(value, 0), n, sum(value in of for of in self.asked.values())
            )
            for value, n in zip(self._values, used, strict=True)
        )

    def _dealt(self, occurring: int, having: int, people: int) -> int:
        lacking = people - having
        if not self.repeated:  # of all people in a row, so many have it and so many do not
            return perm(occurring, having) * perm(self.size - occurring, lacking)
        if occurring * log2(max(self.size, 2)) > _MOST_BITS:
            raise ResourceError(
                f"a value occurs {occurring:,} times in one bag, too often to count the ways"
            )
        # Each occurrence is dealt to anybody but those who lack it, and nobody goes without.
        return sum(
            (-1) ** left * comb(having, left) * (self.size - lacking - left) ** occurring
            for left in range(having + 1)
        )
