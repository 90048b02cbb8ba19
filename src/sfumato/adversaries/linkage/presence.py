"""Presence: is she in it at all? (Nergiz, Atzori and Clifton 2007)

To be in a table of patients says something, whatever the table says of its people. Somebody holds a
register of the population the table was drawn from, with everybody's quasi-identifiers, and knows
nothing else of who was drawn. Of the F people of the register who fit a group f are in the release,
and any f of them are as likely: each is there with the chance f / F. Whoever fits no group is not
in the release.

Where regions overlap somebody may be in any of the groups she fits. A row of one is hers with a
chance of at most 1 / max(f, those who fit no other group) (`locating/people.py`), so she is there
with at most the sum of f times that over her groups: an upper bound.

Where a pseudonym links rows, a group is those of equal signatures, and somebody fits one if all of
her rows can be published as its rows: she who holds the register knows all of everybody's. That is
so where a release shows all rows of whoever is in it. One that cuts people's rows into several
pseudonyms, or leaves some out, tells of how many: a person of the register with enough rows for it
may be the only one, and is then known to be there, however many others have just the rows of one
of her pseudonyms. So nothing is said of such a release.

People who were suppressed are in the table and in no group, and how many they are is published.
They are taken to be some of those who fit no group, as they are where whole groups are suppressed:
each of those is among them with the chance (suppressed people) / (those who fit no group). Where
regions overlap a suppressed person may fit a group besides: whoever is in none is one of them with
at most the chance (suppressed people) / (people of the register who are not published).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.adversaries.base import BeliefChange, CatalogueEntry, Threat, moved
from sfumato.adversaries.locating.people import (
    Population,
    PopulationPerGroup,
    RegionIndex,
    Register,
    check_population,
    register_groups,
    unknown_population,
)
from sfumato.adversaries.locating.signature_register import (
    cannot_tell_signatures,
    fitting_people,
    overlaps_apart,
)
from sfumato.numbers import Codes, Floats, Ints
from sfumato.release.beside import CountedRegister, Headcount
from sfumato.release.groups import Groups
from sfumato.release.linked import cuts_people
from sfumato.release.release import Release
from sfumato.table import Table

NAME = "presence"
_REGISTER = "the quasi-identifiers of everybody in the population"
_LEARNS = "whether the target is in it"


@dataclass(frozen=True)
class PresenceSeeker:
    """Somebody with a register of the population, who asks who of it is in the release."""

    population: Population = field(hash=False)

    def __post_init__(self) -> None:
        check_population(NAME, self.population)

    @property
    def name(self) -> str:
        return NAME

    def attack(self, release: Release, groups: Groups | None = None) -> Presence:
        if release.by_row is not None:
            return presence_by_signatures(release, self.population)
        asked = release.indistinguishable if groups is None else groups
        if release.regions.noisy:
            return Presence(reason="counts are noisy; the release carries its own guarantee")
        if not len(asked):
            return Presence(reason="there is no group")
        if asked.multiplicity is not None and asked.beside.register is None:
            known = register_groups(release, self.population)
            if known is None:
                return Presence(reason="the file is larger than memory; raise the memory limit")
            asked = known
        if reason := unknown_population(self.population, asked):
            return Presence(reason=reason)
        return presence(
            asked, self.population, release.suppressed, overlapping=overlaps_apart(release)
        )


@dataclass(frozen=True)
class Presence:
    """The chance that people of a population are in a release.

    `before`: of anybody, before it is seen. `outside` people of the register fit no group, and are
    in the table with the chance `suppressed`; 0 and 0 where only weights are known. `at_most`: the
    highest chance is an upper bound. `per_group` (private) is that of who fits each group;
    `register`: of a release whose rows a pseudonym links, who of a register fits each signature.
    """

    people: float = 0
    before: float = 0
    highest: float = 0
    lowest: float = 0
    outside: int = 0
    suppressed: float = 0
    at_most: bool = False
    moved: Headcount = field(default_factory=lambda: Headcount(0))
    reason: str = ""
    per_group: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    register: CountedRegister | None = field(default=None, repr=False, compare=False)

    def threats(self) -> list[Threat]:
        if self.reason:
            return [Threat(NAME, _REGISTER, f"not measured: {self.reason}", status="not_measured")]
        learns = f"{_LEARNS}: from {self.lowest:.4g} to {self.highest:.4g}"
        if self.outside and not self.suppressed:
            learns += f"; surely not for {self.outside:,} people"
        return [
            Threat(
                NAME,
                _REGISTER,
                learns,
                people=self.moved,
                belief=BeliefChange(self.before, self.highest, at_most=self.at_most),
            )
        ]


def presence(
    groups: Groups, population: Population, suppressed: int = 0, *, overlapping: bool = False
) -> Presence:
    """How likely it is of people of a population that they are in these groups."""
    if groups.beside.register is not None:
        return _of_tuples(groups, groups.beside.register, suppressed)
    own = groups.own_people
    behind = PopulationPerGroup.behind(groups, population, alone=overlapping)
    per_group = np.minimum(own / behind.people, 1.0)
    in_table = int(own.sum()) + suppressed
    if not isinstance(population, Table):
        # Of weights, and of releases, nobody knows who fits no group.
        people = max(float(behind.people.sum()), float(in_table))
        before = in_table / people
        far = moved(np.full(len(own), before), per_group)
        return Presence(
            people,
            before,
            float(per_group.max()),
            float(per_group.min()),
            at_most=not isinstance(population, str),
            moved=Headcount(round(float(behind.people[far].sum())), at_most=True),
            per_group=per_group,
        )
    assert groups.regions is not None
    register = Register.of(groups.regions.columns, population)
    index = RegionIndex.of(groups.regions, register.domains)
    chance = np.zeros(index.places)
    np.maximum.at(chance, index.place, per_group)

    def kinds() -> Iterator[KindsOfPeople]:
        for codes, n in register.parts(beside=index):
            yield _beliefs(index, codes, chance), n

    return _of_register(own, per_group, register.people, kinds, suppressed, overlapping=overlapping)


CUT = (
    "some people's rows may stand under several pseudonyms there or be left out in part, and how "
    "many these are is published: whoever of the population has more rows than a pseudonym may be "
    "known by that to be in it; publish without numbers of rows that too few people share"
)
KindsOfPeople = tuple[Floats, Ints]  # chances of the groups they fit, -1 without any; how many


def presence_by_signatures(release: Release, population: Population) -> Presence:
    """How likely it is of people with several rows, which a pseudonym links."""
    groups, overlapping = release.groups, overlaps_apart(release)
    if not len(groups):
        return Presence(reason="there is no group")
    if reason := cannot_tell_signatures(release, population):
        return Presence(reason=reason)
    if cuts_people(release):
        return Presence(reason=CUT)
    if not isinstance(population, Table):
        if reason := unknown_population(population, groups):
            return Presence(reason=reason)
        return presence(groups, population, release.suppressed)
    fitting = fitting_people(release, population)
    if isinstance(fitting, str):
        return Presence(reason=fitting)
    own, counted = groups.own_people, fitting.counted()
    behind = PopulationPerGroup.of(counted.people, own, alone=overlapping)
    per_group = np.minimum(own / behind.people, 1.0)

    def kinds() -> Iterator[KindsOfPeople]:
        yield fitting.summed(per_group), fitting.people

    asked = _of_register(
        own, per_group, counted.everybody, kinds, release.suppressed, overlapping=overlapping
    )
    return replace(asked, register=counted)


def _of_register(
    own: Ints,
    per_group: Floats,
    people: int,
    kinds: Callable[[], Iterator[KindsOfPeople]],
    suppressed: int,
    *,
    overlapping: bool,
) -> Presence:
    """The same by the chances of groups of so many, of whom `own` are published."""
    in_table = int(own.sum()) + suppressed
    outside = people - sum(int(n[belief >= 0].sum()) for belief, n in kinds())
    # Any of the others may be suppressed where groups overlap, whether she fits one or not.
    others = people - int(own.sum())
    any_of_them = (min(suppressed / others, 1.0) if others > 0 else 1.0) if suppressed else 0.0
    among_them = min(suppressed / outside, 1.0) if outside else 0.0
    before = min(in_table / people, 1.0)
    # A register that lacks people of a group cannot hide them: they are there for sure.
    highest, lowest, shifted = float(per_group.max()), 1.0, 0
    for belief, n in kinds():
        fits, belief = belief >= 0, np.minimum(belief, 1.0)
        if overlapping:
            belief += (1 - belief) * any_of_them
        belief[~fits] = among_them
        highest = max(highest, float(belief.max(initial=0.0)))
        lowest = min(lowest, float(belief.min(initial=1.0)))
        shifted += int(n[moved(np.full(len(belief), before), belief)].sum())
    return Presence(
        people,
        before,
        highest,
        lowest,
        outside,
        among_them,
        overlapping,
        Headcount(shifted, at_most=overlapping),
        per_group=per_group,
    )


def _of_tuples(groups: Groups, register: CountedRegister, suppressed: int) -> Presence:
    """The same where people are told apart by their tuples, and equal groups are told once."""
    own, times = groups.own_people, groups.multiplicity
    assert times is not None
    behind = PopulationPerGroup.of(register.people, own, times=times)
    per_group = np.minimum(own / behind.people, 1.0)
    in_table, everybody = int(own @ times) + suppressed, register.everybody
    before = min(in_table / everybody, 1.0) if everybody else 1.0
    among_them = min(suppressed / register.outside, 1.0) if register.outside else 0.0
    fitting = register.people * times
    # Whoever fits no group is one more kind of people of the register.
    belief = np.append(per_group[fitting > 0], [among_them] * (register.outside > 0))
    people = np.append(fitting[fitting > 0], [register.outside] * (register.outside > 0))
    far = moved(np.full(len(belief), before), belief)
    return Presence(
        everybody,
        before,
        max(float(per_group.max()), float(belief.max(initial=0.0))),
        float(belief.min(initial=1.0)),
        register.outside,
        among_them,
        moved=Headcount(int(people[far].sum())),
        per_group=per_group,
    )


def _beliefs(index: RegionIndex, codes: Codes, chance: Floats) -> Floats:
    """The summed chances of the groups that each tuple fits; -1 where it fits none."""
    belief, fits = np.zeros(codes.shape[1]), np.zeros(codes.shape[1], dtype=bool)
    for person, at in index.pairs(codes):
        np.add.at(belief, person, chance[at])
        fits[person] = True
    return np.where(fits, belief, -1.0)


ENTRY = CatalogueEntry(
    NAME,
    "Could somebody tell that she is in it?",
    _REGISTER,
    _LEARNS,
    "give a register of the population (audit --population), or require delta-presence",
    "when required",
    ("delta-presence",),
    about="in it or not",
)
