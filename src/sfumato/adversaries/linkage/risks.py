"""Linkage: whose row is this? Prosecutor, journalist and marketer (El Emam and Dankar 2008).

Three people look for names behind the rows of a release, each knowing quasi-identifiers.

The *prosecutor* knows that her target is in the release. She finds the target's group and points
at one of its f people: she is right with probability 1 / f.

The *journalist* knows only that somebody of the population is in it, and will make do with
anybody. She holds a register of the population, finds the F people who fit a group, and is right
about a row of it with probability 1 / F. F is counted in a population table or summed from survey
weights (`locating/people.py`); the population contains the release, so F >= f and she is weaker.

The *marketer* wants as many right as possible and links everybody. Of n people she gets right, on
average, a share of (number of groups) / n if her list is the release's own people, and of
sum(f / F) / n with a register: the mean of the prosecutor's and of the journalist's risk.

Who is alone in her group (sample unique) is found for sure by the prosecutor; whether a journalist
finds her depends on the population (`uniqueness.py` estimates that from a sampling fraction).

People who were suppressed are in no group and count nowhere here.

`weakest_columns` tells which quasi-identifier gives most people away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sfumato.adversaries.base import IN_IT, BeliefChange, CatalogueEntry, Threat, moved
from sfumato.adversaries.linkage.households import Households
from sfumato.adversaries.linkage.uniqueness import (
    SizeFrequencies,
    Uniqueness,
    choose,
    population_uniqueness,
)
from sfumato.adversaries.locating.people import SLACK, PopulationPerGroup
from sfumato.adversaries.locating.signature_register import (
    count_register,
    overlaps_apart,
    people_behind_rows,
)
from sfumato.counts.counts import rank_rows
from sfumato.errors import InputError, expect
from sfumato.numbers import Bools, Codes, Floats, Ints, fraction
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.table import Table

# Which quasi-identifier gives people away: what an adversary who lacks one of them could find.
#
# For each column the release is read without it: how many people would still be alone, and how many
# rows a marketer would still get right. The column whose loss hurts her most is the weakest, the
# first to coarsen.

MOST_GROUPS = 2_000_000  # beyond, the reading takes one sort of all groups per column


@dataclass(frozen=True)
class ColumnRisk:
    """What is left to find when one column is not known, or not published."""

    name: str
    shows: int  # distinct published values
    success: float  # share of rows a marketer would get right without it
    unique: float  # share of people who would be alone without it


def weakest_columns(release: Release) -> tuple[ColumnRisk, ...]:
    """Every quasi-identifier, the weakest first; empty where this cannot be told.

    Not for buckets, which publish exact tuples, nor where groups overlap, counts are noisy or one
    group stands for many, nor for one column.
    """
    regions, sizes = release.regions.each_region, release.groups.sizes
    exact = not release.shares_people and not release.regions.noisy
    exact = exact and release.groups.multiplicity is None and release.groups.beside.unlinked is None
    if regions is None or not exact:
        return ()
    if len(regions.columns) < 2 or not 0 < len(sizes) <= MOST_GROUPS:
        return ()
    widths = [len(parts) for parts in regions.parts]
    people = int(sizes.sum())
    without = _without_each(regions.codes, widths, sizes)
    risks = [
        ColumnRisk(name, int(np.count_nonzero(np.bincount(codes))), left / people, alone / people)
        for name, codes, (left, alone) in zip(regions.columns, regions.codes, without, strict=True)
    ]
    return tuple(sorted(risks, key=lambda column: (column.success, column.unique, column.name)))


def _without_each(codes: Codes, widths: Sequence[int], sizes: Ints) -> Iterator[tuple[int, int]]:
    """Without each column: how many groups differ in the others, and how many people are alone."""
    if math.prod(max(width, 1) for width in widths) >= 1 << 61:
        for place in range(len(widths)):
            others = [column for column in range(len(widths)) if column != place]
            number, first = rank_rows(codes[others], [widths[column] for column in others])
            merged = np.bincount(number, weights=sizes, minlength=len(first))
            yield len(first), int((merged == 1).sum())
        return
    several, before = sizes > 1, np.zeros(len(sizes), dtype=np.int64)
    behind, space = [before] * len(widths), [1] * len(widths)  # the columns after each as a number
    for place in range(len(widths) - 1, 0, -1):
        behind[place - 1] = behind[place] + codes[place].astype(np.int64) * space[place]
        space[place - 1] = space[place] * widths[place]
    for place, width in enumerate(widths):
        # The last digit tells groups of several people, who are not alone even by themselves. What
        # is in order but for one column is sorted many times as fast by merging runs.
        key = 2 * (before * space[place] + behind[place]) + several
        key.sort(kind="stable")
        alone = (key & 1) == 0
        key >>= 1
        begins = np.append(True, key[1:] != key[:-1])
        alone &= begins & np.append(begins[1:], True)
        yield int(np.count_nonzero(begins)), int(np.count_nonzero(alone))
        before = before * width + codes[place]


PROSECUTOR = "prosecutor"
BY_HOUSEHOLD = "prosecutor, by household"
JOURNALIST = "journalist"
MARKETER = "marketer"
WHOSE_ROW = (PROSECUTOR, JOURNALIST, MARKETER)  # what they look for
_LIST = "everybody's quasi-identifiers, and that they are in the release"
_REGISTER = "the quasi-identifiers of everybody in the population"
THRESHOLD = 0.2  # one in five, the usual bound of health agencies


@dataclass(frozen=True)
class Risk:
    """How surely one adversary points at the right row, over all people of the release.

    `above` is the share of people at a risk strictly above each threshold, `at_highest` the share
    at the highest risk, `unique` the share found for sure. `blind` is the chance of who does not
    look at quasi-identifiers, from which it moved far for `moved` people. Whoever is in several
    groups is at the highest of their risks, and counted once; `at_most`: who that is is not known,
    and every figure but the highest is an upper bound. `per_group` is private: the risk of
    everybody in each group.
    """

    highest: float
    mean: float
    above: tuple[float, ...]
    at_highest: float
    unique: float
    blind: float
    moved: Headcount
    at_most: bool
    per_group: Floats = field(repr=False, compare=False)


@dataclass(frozen=True)
class Linkage:
    """What linking reveals of a release.

    `source` says where the journalist's population comes from, None if there is none. `reason`
    says why something could not be measured; a figure that could not is None. `households` is the
    prosecutor's risk of everybody whose household she finds, one member being enough.
    """

    people: int
    groups: int
    thresholds: tuple[float, ...]
    prosecutor: Risk | None
    journalist: Risk | None = None
    source: Literal["table", "weights"] | None = None
    sampling_fraction: float | None = None
    estimates: tuple[Uniqueness, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""
    households: Risk | None = None
    all_rows: bool = False  # True: the journalist is taken to know all linked rows

    @property
    def sample_uniqueness(self) -> float | None:
        """The share of people who are alone in their group."""
        return self.prosecutor.unique if self.prosecutor else None

    @property
    def population_uniqueness(self) -> Uniqueness | None:
        """The estimate Dankar et al. would take; None without a sampling fraction."""
        if self.sampling_fraction is None or not self.estimates:
            return None
        return choose(self.estimates, self.sampling_fraction)

    @property
    def marketer(self) -> float | None:
        """The share of people a marketer links rightly, whose list is the release's own people."""
        return self.prosecutor.mean if self.prosecutor else None

    @property
    def marketer_in_population(self) -> float | None:
        """The same with a register of the population."""
        return self.journalist.mean if self.journalist else None

    def threats(self) -> list[Threat]:
        in_it, all_, register = IN_IT, _LIST, _REGISTER
        if self.prosecutor is None:
            why = f"not measured: {self.reason}"
            return [
                Threat(name, knows, why, status="not_applicable")
                for name, knows in ((PROSECUTOR, in_it), (MARKETER, all_), (JOURNALIST, register))
            ]
        success = self._headcount(self.prosecutor, self.prosecutor.mean)
        by_household = []
        if self.households is not None:
            knows = f"{in_it}, and who lives together"
            guess = "one of a household, and so all of it"
            by_household = [self._threat(BY_HOUSEHOLD, knows, guess, self.households)]
        rows = [
            *by_household,
            self._threat(PROSECUTOR, in_it, "which row is the target's", self.prosecutor),
            Threat(
                MARKETER,
                all_,
                f"whose rows they are: right for {success} of {self.people:,} people on average",
                people=self.prosecutor.moved,
                belief=BeliefChange(
                    self.prosecutor.blind, self.prosecutor.mean, at_most=self.prosecutor.at_most
                ),
            ),
        ]
        if self.journalist is None:
            why = f"not measured: {self.reason or 'give a population table or survey weights'}"
            rows.append(Threat(JOURNALIST, register, why, status="not_measured"))
        else:
            rows.append(self._threat(JOURNALIST, register, "whose row it is", self.journalist))
        return rows

    def _headcount(self, risk: Risk, share: float) -> Headcount:
        people = round(share * self.people)
        return Headcount(people, at_most=risk.at_most and people > 0)

    def _threat(self, name: str, knows: str, guess: str, risk: Risk) -> Threat:
        many, sure = self._headcount(risk, risk.above[0]), self._headcount(risk, risk.unique)
        limit = self.thresholds[0]
        learns = f"{guess}: at a risk above {limit:g} for {many} people, for sure for {sure}"
        return Threat(
            name,
            knows,
            learns,
            people=risk.moved,
            belief=BeliefChange(risk.blind, risk.highest),
        )


@dataclass(frozen=True)
class Linker:
    """Whoever looks for names: prosecutor, marketer and, with a register, journalist.

    `population`, `sampling_fraction`, `thresholds`: as `linkage` takes them.
    """

    population: Table | None = None
    sampling_fraction: float | None = None
    thresholds: tuple[float, ...] = (THRESHOLD,)

    @property
    def name(self) -> str:
        return PROSECUTOR if self.population is None else JOURNALIST

    def attack(self, release: Release, groups: Groups | None = None) -> Linkage:
        return linkage(
            release,
            population=self.population,
            sampling_fraction=self.sampling_fraction,
            thresholds=self.thresholds,
        )


def linkage(
    release: Release,
    *,
    population: Table | None = None,
    sampling_fraction: float | None = None,
    thresholds: Sequence[float] = (THRESHOLD,),
) -> Linkage:
    """Measure what prosecutor, journalist and marketer achieve on a release.

    `population` is a table of the population with the release's quasi-identifiers; without it the
    release's survey weights are used if it has any. `sampling_fraction`, the share of the
    population that is in the release, gives estimates of population uniqueness.
    """
    expect("release", release, Release, "a Release")
    limits = _checked(thresholds)
    indistinguishable = release.indistinguishable
    sizes, own = indistinguishable.sizes, indistinguishable.own_people
    times = indistinguishable.multiplicity
    people = release.people
    groups = indistinguishable.number()
    if release.regions.noisy:
        reason = "counts are noisy; the release carries its own guarantee"
        return Linkage(people, groups, limits, None, reason=reason)
    if indistinguishable.owners_unknown:
        reason = "rows are published one by one, and nothing says which of them are one person's"
        return Linkage(people, groups, limits, None, reason=reason)
    if len(sizes) == 0:
        return Linkage(0, 0, limits, None, reason="there is no group")
    notes = []
    if release.regions.exact:
        notes.append(
            "quasi-identifiers are published exactly, so everybody sees who is in the release, and "
            "people are told apart by them, whatever their bucket"
        )
    overlap = population is not None and overlaps_apart(release)
    counted = count_register(release, population)
    looked_up = counted.groups or indistinguishable
    candidates, source, reason = _candidates(looked_up, population, counted.reason, alone=overlap)
    everybody = people_behind_rows(release, looked_up, source)
    if overlap:
        notes.append(
            "regions overlap: a register tells who fits several groups, and who is in another one "
            "is not in this; the journalist's candidates are those who fit no other group, at "
            "least the group's own people, so her risks are upper bounds"
        )
    if all_rows := counted.other and release.by_row is not None:
        notes.append("the journalist is taken to know all rows of her target")
    if candidates is not None:
        name = population.source.label if population is not None else "the sum of survey weights"
        notes += [text for text in [candidates.note(name)] if text]
    if release.shares_people and sampling_fraction is not None:
        notes.append(
            "population uniqueness is estimated from equal descriptions; a suppressed cell is a "
            "value of its own there"
        )
    estimates: tuple[Uniqueness, ...] = ()
    if sampling_fraction is not None and indistinguishable.several is not None:
        notes.append(
            "population uniqueness is estimated by places: people in several groups count in each"
        )
    if sampling_fraction is not None:
        estimates = population_uniqueness(SizeFrequencies.of(own, times), sampling_fraction)
    return Linkage(
        people,
        groups,
        limits,
        _risk(indistinguishable, sizes, limits, people),
        None if candidates is None else _risk(looked_up, candidates.people, limits, everybody),
        source,
        sampling_fraction,
        estimates,
        tuple(notes),
        reason,
        None if (known := Households.of(release)) is None else _household_risk(known, limits),
        all_rows,
    )


def _household_risk(known: Households, thresholds: Sequence[float]) -> Risk:
    """That of the published people, by their households."""
    people = known.published
    risk = known.chance[known.household[people]]
    members = np.bincount(known.household[people])[known.household[people]]
    order = np.lexsort((members, -risk))  # so that no figure depends on the order of people
    risk, members = risk[order], members[order]
    # Whoever does not look at quasi-identifiers takes anybody, and is right about one of hers.
    blind: Floats = 1 - np.power(1 - 1 / len(people), members.astype(np.float64))
    highest = float(risk.max())
    return Risk(
        highest=highest,
        mean=float(risk.mean()),
        above=tuple(float((risk > limit * (1 + SLACK)).mean()) for limit in thresholds),
        at_highest=float((risk >= highest * (1 - SLACK)).mean()),
        unique=float((risk >= 1 - SLACK).mean()),
        blind=float(blind[risk.argmax()]),
        moved=Headcount(int(moved(blind, risk).sum()), at_most=known.at_most),
        at_most=known.at_most,
        per_group=risk,
    )


def _candidates(
    groups: Groups, population: Table | None, unknown: str, *, alone: bool
) -> tuple[PopulationPerGroup | None, Literal["table", "weights"] | None, str]:
    """The people of the population behind each group, where they are from, or why unknown."""
    if unknown:
        return None, None, unknown
    if population is not None:
        if groups.multiplicity is not None and groups.beside.register is None:
            return None, None, "the file is larger than memory; raise the memory limit"
        return PopulationPerGroup.behind(groups, population, alone=alone), "table", ""
    if groups.population is not None:
        return PopulationPerGroup.of(groups.population, groups.own_people), "weights", ""
    return None, None, ""


def _risk(
    groups: Groups,
    candidates: Ints | Floats,
    thresholds: Sequence[float],
    everybody: float | None = None,
) -> Risk:
    """The risk 1 / candidates of each group's own people.

    `everybody`: among how many people is looked for anyone, by default all groups' candidates.
    """
    own, times, several = groups.own_people, groups.multiplicity, groups.several
    people, fewest, per_group = groups.people(), candidates.min(), 1 / candidates
    highest = float(1 / fewest)

    def share(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
        return groups.people(chosen) / people

    number = groups.number()
    summed = own if times is None else own * times
    expected = number if candidates is own else float(summed @ per_group)
    if several is not None:
        expected = (
            expected - several.lesser(per_group)
            if several.listed
            else min(expected, highest * people)
        )
    if everybody is None:
        everybody = float((candidates if times is None else candidates * times).sum())
    blind = min(1 / everybody, 1.0)
    return Risk(
        highest=highest,
        mean=expected / people,
        above=tuple(share(candidates < _fewest(threshold)) for threshold in thresholds),
        at_highest=share(candidates <= fewest * (1 + SLACK)),
        unique=share(candidates <= 1 + SLACK),
        blind=blind,
        moved=groups.headcount(_moved(blind, candidates)),
        at_most=several is not None and not several.listed,
        per_group=per_group,
    )


def _moved(blind: float, candidates: Ints | Floats) -> Bools:
    """For which groups the risk is far from that of a blind guess; few sizes are of many groups."""
    most = int(candidates.max())
    whole = np.issubdtype(candidates.dtype, np.integer) and candidates.min() > 0
    if whole and most < len(candidates):
        sizes = np.arange(1, most + 1)
        far: Bools = moved(np.full(most, blind), 1 / sizes).take(candidates.astype(np.int64) - 1)
        return far
    return moved(np.full(len(candidates), blind), 1 / candidates)


def _fewest(threshold: float) -> float:
    """How many candidates keep a risk from exceeding a threshold: 1 / n > t iff n < 1 / t."""
    limit = 1 / fraction(threshold)  # the decimal somebody wrote: 1 / 0.2 is 5 exactly
    return limit.numerator if limit.denominator == 1 and limit < 1 << 53 else float(limit)


def _checked(thresholds: Sequence[float]) -> tuple[float, ...]:
    for threshold in thresholds:
        number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not number or not (0 < threshold <= 1 and math.isfinite(1 / threshold)):
            raise InputError(
                f"threshold = {threshold!r} is not allowed; a risk is a number above 0 and at "
                "most 1"
            )
    if not thresholds:
        raise InputError("thresholds is empty; give at least one risk, such as 0.2")
    return tuple(thresholds)


_NOT_NOISY = "audit a release that is not randomised"
ENTRIES = (
    CatalogueEntry(
        JOURNALIST,
        "Could a register put a name to a row?",
        _REGISTER,
        "whose row it is",
        "give a register of the population (audit --population), or survey weights",
        "when required",
        ("k-map", "k-anonymity"),
        about="whose row",
        releases="any",
    ),
    CatalogueEntry(
        MARKETER,
        "Could many people be found at once?",
        _LIST,
        "whose rows they are, for as many people as possible",
        _NOT_NOISY,
        "by itself",
        ("k-anonymity",),
        about="whose row",
        releases="any",
    ),
    CatalogueEntry(
        PROSECUTOR,
        "Could a colleague find her row?",
        IN_IT,
        "which row is the target's",
        _NOT_NOISY,
        "by itself",
        ("k-anonymity",),
        about="whose row",
        releases="any",
    ),
)
