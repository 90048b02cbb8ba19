"""What somebody believes who knows particular facts of particular people (Chen, LeFevre,
Ramakrishnan: Privacy Skyline, VLDB 2007: Pr(E | K, D*), Propositions 1 and 2).

Every way in which the people of a group can have its values is as likely as any other. So
somebody who knows facts counts the ways in which they are true, and those of them in which her
target has the value: a fraction. Only people of whom she knows something are gone through, one
after another, and ways that agree in what they used up and in what they leave to be seen are one:
how large a group is does not matter, nor how many of the facts stand alone. The limit is on facts
that hang together (`MOST_STATES`).

One value a person, and lists that are published whole: a person takes one of what the group has,
and the next one of what is left. Bags (sets, multisets): each value is dealt to people by itself.

Who fits several groups, because regions overlap or because not all of his quasi-identifiers are
known, may be in any of them. What she believes then lies between the least and the most that any
such placement of the people makes of it, whatever she thinks of placements; told is the most, and
that it is a bound.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import comb, log2, perm, prod
from typing import NamedTuple, Self

import numpy as np

from sfumato.adversaries.skyline.breach import Case, case_of, code_of
from sfumato.adversaries.skyline.facts import (
    Acquaintances,
    Fact,
    Has,
    Implies,
    Lacks,
    NumberedPlaces,
    Person,
    ReleasePlaces,
    Room,
    Statement,
    fact_of,
    have_room,
    name_of,
)
from sfumato.errors import InputError, ResourceError, expect, quoted
from sfumato.progress import phase
from sfumato.release.groups import Groups
from sfumato.release.release import Release, as_it_stands
from sfumato.table import Table

MOST_STATES = 100_000  # ways that differ in what is still to be seen, at a time
MOST_PLACEMENTS = 10_000  # of people who fit several groups
_MOST_BITS = 1_000_000  # of a number of ways


class InformedBelief(Fraction):
    """How sure she is; `at_most`: no surer than that, and no less sure than `least`.

    `knowing` is the last fact she learnt, empty for nothing but the release; `fits` are the groups
    that the target fits.
    """

    least: Fraction
    knowing: str
    fits: tuple[int, ...]

    def __new__(cls, most: Fraction, least: Fraction, knowing: str, fits: tuple[int, ...]) -> Self:
        made = super().__new__(cls, most)
        made.least, made.knowing, made.fits = least, knowing, fits
        return made

    @property
    def at_most(self) -> bool:
        return self.least != self

    def __str__(self) -> str:
        return f"{self.least} to {Fraction(self)}" if self.at_most else str(Fraction(self))

    __repr__ = __str__


def belief(
    release: Release | Table | Groups,
    target: Person,
    value: str,
    knowing: Sequence[Fact | str] = (),
    *,
    people: Mapping[str, Person] | None = None,
    table: Table | None = None,
    sensitive: str | None = None,
) -> InformedBelief:
    """How sure somebody is that `target` has `value`, who knows all of `knowing`: a fraction.

    `target` is a mapping from quasi-identifiers to values (those that are left out are unknown), a
    name of `people`, or the number of a record of `table`. Facts are `Has`, `Lacks` and `Implies`,
    or texts: "not cancer", "Gary has flu", "if Ann has flu so has he". People of `Groups` that
    publish nothing are told by their group: {"group": 0}.
    """
    asked, facts = _asked(release, target, value, knowing, people, table, sensitive)
    return asked.answer(facts)


@phase("attacking")
def beliefs(
    release: Release | Table | Groups,
    target: Person,
    value: str,
    knowing: Sequence[Fact | str] = (),
    *,
    people: Mapping[str, Person] | None = None,
    table: Table | None = None,
    sensitive: str | None = None,
) -> list[InformedBelief]:
    """The same as she learns one fact after another, beginning with nothing but the release."""
    asked, facts = _asked(release, target, value, knowing, people, table, sensitive)
    return [asked.answer(facts[:learnt]) for learnt in range(len(facts) + 1)]


def belief_in_each(
    release: Release, target: Person, sensitive: str, knowing: Sequence[Fact | str] = ()
) -> dict[str, InformedBelief]:
    """How sure she is of every value of a column, by the value."""
    values = release.groups_for(sensitive).values
    if not values:
        raise InputError(f"{release.label} shows no value of {sensitive!r}")
    asked, facts = _asked(release, target, values[0], knowing, None, None, sensitive)
    return {value: replace(asked, asked=Has(target, value)).answer(facts) for value in values}


def _asked(
    release: Release | Table | Groups,
    target: Person,
    value: str,
    knowing: Sequence[Fact | str],
    people: Mapping[str, Person] | None,
    table: Table | None,
    sensitive: str | None,
) -> tuple[_Question, list[Fact]]:
    if isinstance(release, Table):
        table = release if table is None else table
        release = as_it_stands(release)
    expect("release", release, (Release, Groups), "a Release, a Table or Groups")
    expect("value", value, str, "a value of the sensitive column")
    expect("people", people, (Mapping, type(None)), "a mapping from names to people")
    expect("table", table, (Table, type(None)), "a Table, as sf.read makes one")
    if isinstance(knowing, str) or not isinstance(knowing, Sequence):
        raise InputError(f"knowing = {quoted(knowing)} is not allowed; it must be a list of facts")
    place = ReleasePlaces(release) if isinstance(release, Release) else NumberedPlaces(release)
    groups = place.groups(value, sensitive)
    known = Acquaintances(target, people or {}, table)
    facts = [fact_of(given, known, groups.values) for given in knowing]
    return _Question(groups, case_of(groups), known, place, Has(target, value)), facts


# -- what she believes -----------------------------------------------------------------------------


class _Literal(NamedTuple):
    """Person number `person` has the value of code `value`, or has it not."""

    person: int
    value: int
    has: bool


_Clause = frozenset[_Literal]  # one of them at least is so


@dataclass(frozen=True)
class _Question:
    """How sure is she of one statement?"""

    groups: Groups
    case: Case
    known: Acquaintances
    place: NumberedPlaces | ReleasePlaces
    asked: Has
    seen: dict[tuple[object, ...], Room] = field(default_factory=dict)

    def answer(self, facts: Sequence[Fact]) -> InformedBelief:
        """What all of the facts together make her believe."""
        sure = self._chances(facts)
        if not sure:
            # More facts leave fewer ways: the first that leaves none.
            first = bisect_left(range(len(facts)), True, key=lambda n: not self._chances(facts[:n]))
            raise InputError(
                f"what is known cannot be so: {str(facts[first - 1])!r} contradicts the release"
                f"{' and what was known before' if first > 1 else ''}; take it out"
            )
        fits = tuple(self._room(self.asked.person))
        return InformedBelief(max(sure), min(sure), str(facts[-1]) if facts else "", fits)

    def _chances(self, facts: Sequence[Fact]) -> list[Fraction]:
        """How likely it is by each placement of the people; none if the facts cannot be so."""
        persons: dict[tuple[object, ...], Person] = {}
        asked = self._literal(self.asked, persons)
        clauses = [self._clause(fact, persons) for fact in facts]
        placements = self._placements(list(persons.values()))
        worlds = (_Worlds(self.groups, self.case, placed, clauses, asked) for placed in placements)
        return [chance for world in worlds if (chance := world.chance()) is not None]

    def _clause(self, fact: Fact, persons: dict[tuple[object, ...], Person]) -> _Clause:
        if not isinstance(fact, Implies):
            return frozenset({self._literal(fact, persons)})
        given, then = (self._literal(part, persons) for part in (fact.given, fact.then))
        return frozenset({given._replace(has=not given.has), then})

    def _literal(self, told: Statement, persons: dict[tuple[object, ...], Person]) -> _Literal:
        who = self.known.identity(told.person)
        persons.setdefault(who, told.person)
        number = list(persons).index(who)
        return _Literal(number, code_of(self.groups, told.value), not isinstance(told, Lacks))

    def _placements(self, persons: Sequence[Person]) -> list[tuple[int, ...]]:
        """Every way to put the people into groups that they fit and that have room for them."""
        rooms = [self._room(person) for person in persons]
        if prod(len(room) for room in rooms) > MOST_PLACEMENTS:
            raise ResourceError(
                f"the {len(persons)} people fit so many groups that more than {MOST_PLACEMENTS:,} "
                "ways to place them would have to be gone through; tell more of their "
                "quasi-identifiers, or know of fewer people"
            )
        placements = [placed for placed in product(*rooms) if have_room(placed, rooms)]
        if not placements:
            raise InputError(
                f"the release has not so many people: {len(persons)} who are told apart are of a "
                "group, or of a description, that has fewer"
            )
        return placements

    def _room(self, person: Person) -> Room:
        """Where somebody may be; looked up once."""
        who = self.known.identity(person)
        if who not in self.seen:
            room = self.place.room(self.known.description(person))
            if not room:
                raise InputError(
                    f"{name_of(person)} fits no group of the release: nobody there is so described"
                )
            self.seen[who] = room
        return self.seen[who]


@dataclass(frozen=True)
class _Worlds:
    """All ways in which people who are in these groups can have values, as far as she cares.

    `placed[p]` is the group of person p; she knows every clause and asks for one literal.
    """

    groups: Groups
    case: Case
    placed: tuple[int, ...]
    clauses: Sequence[_Clause]
    asked: _Literal

    def chance(self) -> Fraction | None:
        """How likely it is; None where no way is left."""
        for together in self._components():
            ways = self._ways(together, self.clauses)
            if not ways:
                return None
            if self.asked.person in together:
                having = self._ways(together, [*self.clauses, frozenset({self.asked})])
                chance = Fraction(having, ways)
        return chance

    def _components(self) -> list[set[int]]:
        """People who have to do with each other: by a group, or by what is known."""
        ties = [set(np.flatnonzero(np.array(self.placed) == g).tolist()) for g in set(self.placed)]
        for clause in self.clauses:
            tied = {literal.person for literal in clause}
            meeting = [tie for tie in ties if tie & tied]
            ties = [tie for tie in ties if not tie & tied] + [set().union(*meeting)]
        return ties

    def _ways(self, people: set[int], clauses: Sequence[_Clause]) -> int:
        """In how many ways all that is known of these people is so, up to a constant factor."""
        mine = [clause for clause in clauses if next(iter(clause)).person in people]
        order = self._order(people, mine)
        last = {
            place: max(order.index(literal.person) for literal in clause)
            for place, clause in enumerate(mine)
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
                (option, _fulfilled(mine, person, option)) for option in stock.options(person)
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

    def _order(self, people: set[int], clauses: Sequence[_Clause]) -> list[int]:
        """Those of a group together, and near each other who have to do with each other.

        The target first: most is known of others because of him.
        """
        near: dict[int, set[int]] = defaultdict(set)
        for clause in clauses:
            for literal in clause:
                near[literal.person] |= {other.person for other in clause}
        order: list[int] = []
        left = sorted(people, key=lambda person: (person != self.asked.person, -len(near[person])))
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
        for clause in (*self.clauses, frozenset({self.asked})):
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


def _fulfilled(clauses: Sequence[_Clause], person: int, had: frozenset[int]) -> frozenset[int]:
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
