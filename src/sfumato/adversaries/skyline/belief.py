"""What somebody believes who knows particular facts of particular people (Chen, LeFevre,
Ramakrishnan: Privacy Skyline, VLDB 2007: Pr(E | K, D*), Propositions 1 and 2).

Every way in which the people of a group can have its values is as likely as any other. So
somebody who knows facts counts the ways in which they are true, and those of them in which her
target has the value: a fraction. Only people of whom she knows something are gone through, one
after another, and ways that agree in what they used up and in what they leave to be seen are one:
how large a group is does not matter, nor how many of the facts stand alone. The limit is on facts
that hang together (`worlds.MOST_STATES`).

One value a person, and lists that are published whole: a person takes one of what the group has,
and the next one of what is left. Bags (sets, multisets): each value is dealt to people by itself.

Who fits several groups, because regions overlap or because not all of his quasi-identifiers are
known, may be in any of them. What she believes then lies between the least and the most that any
such placement of the people makes of it, whatever she thinks of placements; told is the most, and
that it is a bound.

Rows published one by one: what takes a value is a row, and she knows whose the rows are that she
knows. Whoever has a value has it in any of them, and so she is asked about her target. Linked rows:
whose signature contains the known rows may be hers, and her list is published whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Self

from sfumato.adversaries.skyline.breach import AnyCase, case_of, code_of
from sfumato.adversaries.skyline.facts import (
    Acquaintances,
    Fact,
    Has,
    Implies,
    Lacks,
    Person,
    fact_of,
    name_of,
)
from sfumato.adversaries.skyline.places import (
    FittingPeople,
    Places,
    RowPlaces,
    have_room,
    places_of,
)
from sfumato.adversaries.skyline.worlds import Clause, Literal, Worlds
from sfumato.errors import InputError, ResourceError, expect, quoted
from sfumato.progress import phase
from sfumato.release.groups import Groups
from sfumato.release.release import Release, as_it_stands
from sfumato.table import Table

MOST_PLACEMENTS = 10_000  # of people who fit several groups


class InformedBelief(Fraction):
    """How sure she is; `at_most`: no surer than that, and no less sure than `least`.

    `knowing` is the last fact she learnt, empty for nothing but the release; `fits` are the groups
    that the target fits, each of his known rows where rows are published one by one: `by_row` has
    those of each (empty where people are placed, not rows).
    """

    least: Fraction
    knowing: str
    fits: tuple[int, ...]
    by_row: tuple[tuple[int, ...], ...]

    def __new__(
        cls,
        most: Fraction,
        least: Fraction,
        knowing: str,
        fits: tuple[int, ...],
        by_row: tuple[tuple[int, ...], ...] = (),
    ) -> Self:
        made = super().__new__(cls, most)
        made.least, made.knowing, made.fits, made.by_row = least, knowing, fits, by_row
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
    name of `people`, or the number of a record of `table`; where people have several rows, a list
    of mappings, or a record that stands for all rows of its owner: asked is any of them. Facts are
    `Has`, `Lacks` and `Implies`, or texts: "not cancer", "Gary has flu", "if Ann has flu so has
    he". People of `Groups` that publish nothing are told by their group: {"group": 0}.
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
    place = places_of(release)
    groups = place.groups(value, sensitive)
    known = Acquaintances(target, people or {}, table)
    facts = [fact_of(given, known, groups.values) for given in knowing]
    return _Question(groups, case_of(groups), known, place, Has(target, value)), facts


# -- what she believes -----------------------------------------------------------------------------


_Key = tuple[tuple[object, ...], int]  # who, and the how-manieth of what is placed of her


@dataclass(frozen=True)
class _Question:
    """How sure is she of one statement?"""

    groups: Groups
    case: AnyCase
    known: Acquaintances
    place: Places
    asked: Has
    seen: dict[_Key, FittingPeople] = field(default_factory=dict)

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
        rooms = [tuple(self.seen[key]) for key in self._keys(self.asked.person)]
        fits = tuple(dict.fromkeys(group for room in rooms for group in room))
        by_row = tuple(rooms) if isinstance(self.place, RowPlaces) else ()
        return InformedBelief(max(sure), min(sure), str(facts[-1]) if facts else "", fits, by_row)

    def _chances(self, facts: Sequence[Fact]) -> list[Fraction]:
        """How likely it is by each placement of the people; none if the facts cannot be so."""
        keys: dict[_Key, int] = {}
        (asked,) = self._clauses(self.asked, keys)
        clauses = [clause for fact in facts for clause in self._clauses(fact, keys)]
        placements = self._placements(list(keys))
        worlds = (Worlds(self.groups, self.case, placed, clauses, asked) for placed in placements)
        return [chance for world in worlds if (chance := world.chance()) is not None]

    def _clauses(self, fact: Fact, keys: dict[_Key, int]) -> list[Clause]:
        """What must all be so: who has a value has it in one row at least, who lacks it in none."""
        if isinstance(fact, Implies):
            given = fact.given
            other = Has if isinstance(given, Lacks) else Lacks
            unless = self._clauses(other(given.person, given.value), keys)
            then = self._clauses(fact.then, keys)
            return [clause | another for clause in unless for another in then]
        code, has = code_of(self.groups, fact.value), isinstance(fact, Has)
        numbers = [keys.setdefault(key, len(keys)) for key in self._keys(fact.person)]
        literals = [Literal(number, code, has) for number in numbers]
        return [frozenset(literals)] if has else [frozenset({literal}) for literal in literals]

    def _placements(self, keys: Sequence[_Key]) -> list[tuple[int, ...]]:
        """Every way to put the people into groups that they fit and that have room for them."""
        rooms, noun = [self.seen[key] for key in keys], self._placed
        if prod(len(room) for room in rooms) > MOST_PLACEMENTS:
            raise ResourceError(
                f"the {len(keys)} {noun} fit so many groups that more than {MOST_PLACEMENTS:,} "
                "ways to place them would have to be gone through; tell more of their "
                "quasi-identifiers, or know of fewer people"
            )
        placements = [placed for placed in product(*rooms) if have_room(placed, rooms)]
        if not placements:
            raise InputError(
                f"the release has not so many {noun}: {len(keys)} that are told apart are of a "
                "group, or of a description, that has fewer"
            )
        return placements

    @property
    def _placed(self) -> str:
        return "rows" if isinstance(self.place, RowPlaces) else "people"

    def _keys(self, person: Person) -> list[_Key]:
        """Whatever of somebody is placed by itself, by which `seen` knows where it may be."""
        identity = self.known.identity(person)
        if (identity, 0) not in self.seen:
            whole = self.known.told_by_record(person)
            units = self.place.units(self.known.rows(person), whole=whole)
            rooms = [self.place.fitting(unit) for unit in units]
            # A table has rows that were not published; any of them that is described must be there.
            published = [room for room in rooms if room]
            if not published or (len(published) < len(rooms) and not whole):
                raise InputError(
                    f"{name_of(person)} fits no group of the release: nobody there is so described"
                )
            self.seen.update({(identity, nth): room for nth, room in enumerate(published)})
        return [key for key in self.seen if key[0] == identity]
