"""Composition attack (Ganta, Kasiviswanathan, Smith. Composition Attacks and Auxiliary Information
in Data Privacy. KDD 2008): the same people in two releases.

Two hospitals publish their patients, each release 4-anonymous or better on its own. Somebody who
knows that her neighbour was treated in both, and his age and zip code, finds his group in each and
keeps the diseases that both groups show. Often one is left.

For a target she locates the groups he may be in, release by release (`locate.py`). Release j leaves
the values its groups show, EA_j of them ("effective anonymity"); all releases together leave their
intersection S. drop = min EA_j - |S|, confidence = 1 / |S|. Nobody found in a release is "not
locatable" and never counted as safe; an empty S is "inconsistent": he is not in all of them.

Beyond the paper. Counts tell more than supports: taking releases as independent given the person's
value, her posterior is proportional to prod_j m_j(s) * P0(s)^(1 - n), with m_j(s) the people of his
groups in release j who have s and P0 the population's prior. With a uniform prior that is choosing
uniformly among all ways to pick one matching record from each release that agree. And the paper's
confidence never asks whether she is *right*; with the truth at hand, `precision` does. The paper
counts as vulnerable whom the intersection narrows (drop >= 1), which misses those whom one release
already exposed: they are told apart.

Here are the attack, its private table of targets, and the adversary of the catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa

from sfumato.adversaries.base import CatalogueEntry, Threat, farthest, moved
from sfumato.adversaries.composition.intersection import (
    INTERSECTION,
    STATUS,
    IntersectedCases,
    SharedValues,
    intersect_cases,
    masses_of,
    prior_weights,
    share_values,
    tilts,
)
from sfumato.adversaries.composition.true_groups import TrueGroups
from sfumato.adversaries.locating.locate import Located, Scale
from sfumato.adversaries.locating.locate import locate as find_groups
from sfumato.adversaries.locating.people import Targets, Truth, read_targets
from sfumato.adversaries.priors import PriorGiven, parse_prior
from sfumato.errors import InputError, did_you_mean, name_some
from sfumato.numbers import Floats, Ints, fraction, sums_by_row
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.release import Release

# What an intersection attack achieves over all its targets, in figures.


@dataclass(frozen=True)
class ReliabilityPoint:
    """The share of people at this confidence or above, and how often the guess about them is right
    (None without the truth)."""

    confidence: float
    share: float
    precision: float | None


@dataclass(frozen=True)
class Summary:
    """Figures over people.

    `located` people were found in every release and have values left; shares and means are over
    them. `not_locatable` could not be found in some release, which is not safety:
    `not_locatable_exposed` of them have a value settled by the releases that do find them.
    `inconsistent` people have no value left, so they are not in all releases.

    `vulnerable` people have fewer values left than any release alone leaves (the paper's VP);
    `exposed_by_one` those whom one release alone exposes, whom VP misses. `left[s]` people have
    s + 1 values left, `right[s]` is how many of them a guess gets right.

    By release: `before`, the mean number of values it leaves, `group_size`, the mean people of the
    groups it locates somebody in, and `correctly_located`, the share of people whose own group is
    among the nearest (microaggregated releases just made; else None).
    """

    people: int
    located: int
    not_locatable: int
    not_locatable_exposed: int
    inconsistent: int
    vulnerable: int
    exposed_by_one: int
    left: tuple[int, ...]
    right: tuple[float, ...] | None
    before: tuple[float, ...]
    fewest_before: float
    after: float
    drop: float
    group_size: tuple[float, ...]
    correctly_located: tuple[float | None, ...]

    @property
    def exposed(self) -> int:
        """People with one value left: perfect breach."""
        return self.left[0] if self.left else 0

    @property
    def perfect_breach(self) -> float:
        return self.share_at(1)

    @property
    def highest(self) -> float | None:
        """The highest confidence anybody's value is known with."""
        sizes = [size for size, people in enumerate(self.left, start=1) if people]
        return 1 / sizes[0] if sizes else None

    @property
    def precision(self) -> float | None:
        """How often guessing the likeliest value is right; None without the truth."""
        if self.right is None or not self.located:
            return None
        return sum(self.right) / self.located

    def share_at(self, confidence: float) -> float:
        """PVP_c: the share of located people known with at least this confidence."""
        most = values_left(confidence)
        return sum(self.left[:most]) / self.located if self.located else float("nan")

    @property
    def curve(self) -> tuple[ReliabilityPoint, ...]:
        """PVP_c at every confidence somebody is known with, from 1 downwards."""
        points = []
        for size in range(1, len(self.left) + 1):
            if not self.left[size - 1]:
                continue
            people = sum(self.left[:size])
            right = None if self.right is None else sum(self.right[:size]) / people
            points.append(ReliabilityPoint(1 / size, people / self.located, right))
        return tuple(points)


def values_left(confidence: float) -> int:
    """The most values that keep 1 / values at or above a confidence, by the decimal written."""
    number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not number or not 0 < confidence <= 1:
        raise InputError(
            f"confidence = {confidence!r} is not allowed; it is a number above 0 and at most 1"
        )
    return int(1 / fraction(confidence))


def summarize(
    people: Targets,
    cases: IntersectedCases,
    found: Sequence[Located],
    groups: Sequence[Groups],
    right: Floats | None,
    correctly_located: tuple[float | None, ...],
) -> Summary:
    """The figures of an attack."""
    per_case = np.bincount(people.case, weights=people.people, minlength=people.cases)
    by_status = [int(per_case[cases.status == number].sum()) for number in range(3)]
    counted = per_case * (cases.status == 0)
    total = by_status[0]

    def mean(numbers: Ints | Floats) -> float:
        return float(numbers @ counted / total) if total else float("nan")

    left = np.bincount(cases.after, weights=counted).astype(np.int64)[1:]
    by_size: tuple[float, ...] | None = None
    if right is not None:
        rows = cases.status[people.case] == 0
        sums = np.bincount(
            cases.after[people.case[rows]], weights=right[rows] * people.people[rows]
        )
        by_size = tuple(np.append(sums, np.zeros(len(left) + 1))[1 : len(left) + 1].tolist())
    return Summary(
        people=int(people.people.sum()),
        located=total,
        not_locatable=by_status[2],
        not_locatable_exposed=int(per_case[(cases.status == 2) & (cases.after == 1)].sum()),
        inconsistent=by_status[1],
        vulnerable=int(counted[cases.fewest > cases.after].sum()),
        exposed_by_one=int(counted[cases.fewest == 1].sum()),
        left=tuple(left.tolist()),
        right=by_size,
        before=tuple(mean(row) for row in cases.before),
        fewest_before=mean(cases.fewest),
        after=mean(cases.after),
        drop=mean(cases.fewest - cases.after),
        group_size=tuple(mean(_sizes(one, mine)) for one, mine in zip(found, groups, strict=True)),
        correctly_located=correctly_located,
    )


def _sizes(found: Located, groups: Groups) -> Floats:
    """The people of all groups a case may be in."""
    return sums_by_row(groups.sizes[found.groups], found.indptr).astype(np.float64)


# The private table of an intersection attack: what is learnt about each target, row by row.


def table_of(
    people: Targets, cases: IntersectedCases, labels: tuple[str, ...], right: Floats | None
) -> pa.Table:
    """One row for each row of the targets."""
    row = people.case
    texts = pa.array(labels, pa.string())
    ends = pa.array(cases.ends, pa.int32())
    left = cases.after > 0
    guess = np.zeros(len(left), dtype=np.int64)
    likely = np.flatnonzero(cases.likeliest)[::-1]
    case = np.repeat(np.arange(len(left)), cases.after)
    guess[case[likely]] = cases.values[likely]  # of equals the first
    somewhere = cases.there.any(axis=0)
    before = pa.FixedSizeListArray.from_arrays(
        pa.array(cases.before.T.ravel(), pa.int32(), mask=~cases.there.T.ravel()),
        len(cases.there),
    )
    by_case = pa.table(
        {
            "target": pa.StructArray.from_arrays(
                [
                    pa.array(list(domain.values)).take(pa.array(codes))
                    for domain, codes in zip(people.domains, people.codes, strict=True)
                ],
                names=list(people.columns),
            ),
            "status": pa.array(STATUS).take(pa.array(cases.status)),
            "values": pa.ListArray.from_arrays(ends, texts.take(pa.array(cases.values))),
            "before": before,
            "after": pa.array(cases.after, mask=~somewhere),
            "drop": pa.array(cases.fewest - cases.after, mask=~somewhere),
            "confidence": pa.array(1 / np.maximum(cases.after, 1), mask=~left),
            "posterior": pa.ListArray.from_arrays(ends, pa.array(cases.posterior)),
            "guess": texts.take(pa.array(guess, mask=~left)),
            "belief": pa.array(cases.belief, mask=~left),
        }
    )
    given = len(row) == people.cases and bool((row == np.arange(len(row))).all())
    rows = by_case if given else by_case.take(pa.array(row))
    rows = rows.add_column(1, "people", pa.array(people.people))
    chance = np.full(len(row), np.nan) if right is None else right
    return rows.append_column("right", pa.array(chance, mask=np.isnan(chance)))


NAME = "composition"


@dataclass(frozen=True)
class IntersectionAttack:
    """What somebody learns who holds all these releases.

    `targets` (private) has one row for each target given, in the same order; for a Table, one for
    each distinct combination. `summary` has the figures over all people.
    """

    attribute: str
    releases: tuple[str, ...]
    summary: Summary
    notes: tuple[str, ...]
    labels: tuple[str, ...] = field(repr=False)
    _people: Targets = field(repr=False)
    _cases: IntersectedCases = field(repr=False)
    _right: Floats | None = field(repr=False)
    _prior: Floats = field(repr=False)

    @cached_property
    def targets(self) -> pa.Table:
        """Private: what is learnt about each target."""

        return table_of(self._people, self._cases, self.labels, self._right)

    def threats(self) -> list[Threat]:
        labels = ", ".join(self.releases)
        knows = (
            f"the target's quasi-identifiers, and that the target is in {len(self.releases)} "
            f"releases ({labels})"
        )
        summary = self.summary
        if not summary.located:
            why = "nobody could be located in all releases and found consistent"
            words = f"not measured: {why}"
            return [Threat(NAME, knows, words, self.attribute, status="not_measured")]
        learns = (
            f"{self.attribute}: for sure for {summary.exposed:,} of {summary.located:,} people, "
            f"{summary.exposed - summary.exposed_by_one:,} of them by no release alone"
        )
        cases = self._cases
        located = np.repeat(cases.status == 0, cases.after)
        case = np.repeat(np.arange(len(cases.after)), cases.after)[located]
        codes = cases.values[located]
        before, after = self._prior[codes], cases.posterior[located]
        people = np.bincount(
            self._people.case, weights=self._people.people, minlength=len(cases.after)
        )
        far = np.unique(case[moved(before, after)])
        return [
            Threat(
                NAME,
                knows,
                learns,
                self.attribute,
                Headcount(int(people[far].sum())),
                farthest(before, after, codes, self.labels),
            )
        ]


@dataclass(frozen=True)
class Intersector:
    """Somebody who holds other releases about the same people.

    `earlier` are those releases; `targets`, `truth`, `prior`, `overlap`: as
    `intersection_attack` takes them.
    """

    earlier: tuple[Release, ...]
    targets: object
    truth: Truth = None
    prior: PriorGiven = "uniform"
    overlap: Literal["count", "volume"] = "count"

    @property
    def name(self) -> str:
        return NAME

    def attack(self, release: Release, groups: Groups | None = None) -> IntersectionAttack:
        return intersection_attack(
            [release, *self.earlier],
            self.targets,
            self.truth,
            self.prior,
            self.overlap,
            sensitive=None if groups is None else groups.attribute,
        )


def intersection_attack(
    releases: Sequence[Release],
    targets: object,
    truth: Truth = None,
    prior: PriorGiven = "uniform",
    overlap: Literal["count", "volume"] = "count",
    locate: Literal["nearest", "oracle"] = "nearest",
    *,
    sensitive: str | None = None,
    scale: Scale | None = None,
    seed: int = 0,
) -> IntersectionAttack:
    """Attack people who are in all of these releases.

    targets: a Table, an Arrow table or frame, or a list of mappings, with every quasi-identifier
    of the releases. truth: the name of their column of true values (or the values in order).
    prior: how the population is distributed: "uniform", "pooled" (as all releases together),
    shares or counts by value, an outside table or an earlier release. overlap: how groups that
    overlap count, by their people or by people / volume.

    locate: "nearest" finds people as an adversary does; "oracle" takes the group they are really
    in, as the paper's experiments do, which needs releases just made and, where several people
    have equal values, chance (`seed`). scale: standard deviations by column for microaggregated
    releases that do not tell their own. sensitive: which attribute, if releases share several.
    """
    _check(releases, overlap, locate)
    population = parse_prior(prior, INTERSECTION)
    shared = share_values(releases, sensitive)
    columns = tuple(dict.fromkeys(name for one in releases for name in one.regions.columns))
    people = read_targets(targets, columns, truth)
    if len(people.people) == 0:
        raise InputError("there are no targets; give at least one person")
    if locate == "oracle":
        people = people.one_by_one()
        groups_of_people = [
            TrueGroups(release, shared.attribute, people).draw(seed + place)
            for place, release in enumerate(releases)
        ]
    else:
        groups_of_people = [find_groups(release, people, scale) for release in releases]
    masses = masses_of(releases, shared, overlap)
    expected = prior_weights(shared, population)
    cases = intersect_cases(shared, groups_of_people, masses, tilts(expected))
    right = _right(people, cases, shared)
    return IntersectionAttack(
        shared.attribute,
        tuple(release.label for release in releases),
        summarize(
            people,
            cases,
            groups_of_people,
            shared.groups,
            right,
            tuple(
                _correctly_located(release, shared.attribute, people, scale, one, locate)
                for release, one in zip(releases, groups_of_people, strict=True)
            ),
        ),
        _notes(releases, shared),
        shared.labels,
        people,
        cases,
        right,
        expected / expected.sum(),
    )


def _right(people: Targets, cases: IntersectedCases, shared: SharedValues) -> Floats | None:
    """The chance that guessing the likeliest value is right, for each row; NaN without a guess."""
    if people.truth is None:
        return None
    domain, codes = people.truth
    numbers = np.array([shared.of.get(label, -1) for label in domain.labels], dtype=np.int64)
    true = numbers[codes]
    width = len(shared.labels) + 1
    case = np.repeat(np.arange(len(cases.after)), cases.after)
    guesses = np.bincount(case, weights=cases.likeliest, minlength=len(cases.after))
    keys = case[cases.likeliest] * width + cases.values[cases.likeliest]
    asked = people.case * width + np.where(true < 0, width - 1, true)
    hit = np.zeros(len(asked), dtype=bool)
    if len(keys):
        place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        hit = keys[place] == asked
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = np.where(hit, 1.0, 0.0) / guesses[people.case]
    return np.where(guesses[people.case] > 0, chance, np.nan)


def _correctly_located(
    release: Release,
    attribute: str,
    people: Targets,
    scale: Scale | None,
    found: Located,
    locate: str,
) -> float | None:
    """How often the nearest centroid is that of the right group; None where it cannot be told."""
    if not release.regions.centroids or release.placement is None:
        return None
    near = found if locate == "nearest" else find_groups(release, people, scale)
    share = TrueGroups(release, attribute, people).right(near, people.case)
    known = ~np.isnan(share)
    total = int(people.people[known].sum())
    return float(share[known] @ people.people[known] / total) if total else None


def _notes(releases: Sequence[Release], shared: SharedValues) -> tuple[str, ...]:
    notes = [
        f"only {release.label} shows {name_some(alone)}"
        for release, alone in zip(releases, shared.unmatched, strict=True)
        if alone
    ]
    notes += [
        f"counts of {release.label} are noisy: a value may be missing from a group that has it"
        for release in releases
        if release.regions.noisy
    ]
    return tuple(notes)


def _check(releases: Sequence[Release], overlap: str, locate: str) -> None:
    for release in releases:
        if not isinstance(release, Release):
            raise InputError(
                f"releases: {type(release).__name__} is not a release; read it with sf.read_release"
            )
    if len(releases) < 2:
        raise InputError(
            f"{len(releases)} release given; the attack intersects two or more (audit tells what "
            "one release gives away by itself)"
        )
    for name, value, allowed in (
        ("overlap", overlap, ("count", "volume")),
        ("locate", locate, ("nearest", "oracle")),
    ):
        if value not in allowed:
            raise InputError(f"{name} = {value!r} is not known; {did_you_mean(value, allowed)}")


ENTRY = CatalogueEntry(
    NAME,
    "Which values do all releases about the target leave?",
    "the target's quasi-identifiers, and other releases about the same people",
    "the sensitive values that all releases leave possible for the target",
    "audit with --table TABLE --earlier RELEASE, or run: sfumato attack intersect",
    "on request",
    ("composition",),
)
