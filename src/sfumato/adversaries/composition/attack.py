"""Composition attack (Ganta, Kasiviswanathan, Smith. Composition Attacks and Auxiliary Information
in Data Privacy. KDD 2008): the same people in two releases.

Two hospitals publish their patients, each release 4-anonymous or better on its own. Somebody who
knows that her neighbour was treated in both, and his age and zip code, finds his group in each and
keeps the diseases that both groups show. Often one is left.

For a target she locates the groups he may be in, release by release (`locate.py`). Release j leaves
the values its groups show, EA_j of them ("effective anonymity"); all releases together leave their
intersection S. drop = min EA_j - |S|, confidence = 1 / |S|. Nobody found in a release is "not
locatable" and never counted as safe; an empty S is "inconsistent": he is not in all of them.

She need not know everything (the paper's employer knows age and zip code, and not the nationality).
Columns that the targets lack and cells that say `unknown` leave him in every group compatible with
what is known: his candidates in release j are the union, over all values the unknown ones may have,
of the groups he would be found in (`locate.py`), and release j says of him what all of them say
together: EA_j is the number of values that any of them shows, and m_j(s) below sums over them, so
each group weighs as many as its people (by `overlap="volume"`, its people over its volume). The
rest follows as before. Knowing less never leaves fewer values in a generalized or bucketized
release. Unknown is not missing: a missing value (NULL) is known to be missing.

Beyond the paper. Counts tell more than supports: taking releases as independent given the person's
value, her posterior is proportional to prod_j m_j(s) * P0(s)^(1 - n), with m_j(s) the people of his
groups in release j who have s and P0 the population's prior. With a uniform prior that is choosing
uniformly among all ways to pick one matching record from each release that agree. And the paper's
confidence never asks whether she is *right*; with the truth at hand, `precision` does. The paper
counts as vulnerable whom the intersection narrows (drop >= 1), which misses those whom one release
already exposed: they are told apart.

Noisy counts may be read as they are published, as in the paper's experiment, or as noisy
(`noisy_counts="expected"`): then m_j(s) sums the counts she expects, knowing the noise, no value is
ruled out, and what counts is her belief (`noise_reading.py`).

Of a table larger than memory people are looked up part by part, and what is told of them is summed
up. Here are the attack and the adversary of the catalogue; what is told of people row by row is in
`intersected_people.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa

from sfumato.adversaries.base import CatalogueEntry, Threat
from sfumato.adversaries.composition.intersected_people import (
    IntersectedPeople,
    MovedBeliefs,
    right_guesses,
    table_of,
)
from sfumato.adversaries.composition.intersection import (
    INTERSECTION,
    IntersectedCases,
    SharedValues,
    common_attribute,
    intersect_cases,
    prior_weights,
    share_values,
    tilts,
    weights_of,
)
from sfumato.adversaries.composition.noise_reading import (
    ExpectedCounts,
    NoisyCounts,
    check_noisy_counts,
)
from sfumato.adversaries.composition.summary import Summary, SummedFigures
from sfumato.adversaries.composition.true_groups import TrueGroups
from sfumato.adversaries.locating.locate import ColumnScales, IndexesOfReleases, Located
from sfumato.adversaries.locating.locate import locate as find_groups
from sfumato.adversaries.locating.target_parts import TargetParts, unknown_notes
from sfumato.adversaries.locating.targets import (
    UNKNOWN,
    Targets,
    Truth,
    refuse_published,
)
from sfumato.adversaries.priors import PriorGiven, parse_prior
from sfumato.errors import InputError, ResourceError, did_you_mean, list_some, name_some
from sfumato.notebook import Displayed
from sfumato.numbers import Codes, Floats
from sfumato.progress import phase
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.table import Table

NAME = "composition"
_CASE, _RELEASE, _VALUE = 256, 64, 40  # bytes of a case: its own, by release, by value left


@dataclass(frozen=True, repr=False)
class IntersectionAttack(Displayed):
    """What somebody learns who holds all these releases.

    `targets` (private) has one row for each target given, in the same order; for a Table, one for
    each distinct combination. `summary` has the figures over all people. Of a table larger than
    memory `targets_by_part` tells them, some at a time, which are looked up once more for it.
    """

    attribute: str
    releases: tuple[str, ...]
    summary: Summary
    notes: tuple[str, ...]
    labels: tuple[str, ...] = field(repr=False)
    _prior: Floats = field(repr=False)
    _whole: IntersectedPeople | None = field(repr=False)
    _parts: Iterable[IntersectedPeople] = field(repr=False)
    _moved_by_part: MovedBeliefs | None = field(default=None, repr=False)

    @cached_property
    def targets(self) -> pa.Table:
        """Private: what is learnt about each target."""
        if self._whole is None:
            raise ResourceError(
                "what is learnt of everybody of a table larger than memory does not fit, either; "
                "ask for it part by part (targets_by_part), or raise the memory limit"
            )
        return table_of(self._whole, self.labels)

    def targets_by_part(self) -> Iterator[pa.Table]:
        """Private: the same, as many at a time as fit in memory; at least one table.

        A combination has a row in each of several parts where the Table tells its people apart by
        columns that no release shows.
        """
        if self._whole is not None:
            yield self.targets
            return
        for part in self._parts:
            yield table_of(part, self.labels)

    @cached_property
    def _moved(self) -> MovedBeliefs:
        return self._moved_by_part or MovedBeliefs.of(self._parts, self._prior, self.labels)

    def _in_short(self) -> tuple[str, ...]:
        summary = self.summary
        return (
            f"Intersection attack on {self.attribute} by {list_some(self.releases)}",
            f"{summary.located:,} of {summary.people:,} {summary.unit} located in all of them",
            f"one value is left of {summary.exposed:,}, of {summary.exposed_by_one:,} by one alone",
        )

    def threats(self) -> list[Threat]:
        labels = ", ".join(self.releases)
        summary = self.summary
        knows = (
            f"{'some of ' if summary.partly_known else ''}the target's quasi-identifiers, and that "
            f"the target is in {len(self.releases)} releases ({labels})"
        )
        if not summary.located:
            why = "nobody could be located in all releases and found consistent"
            words = f"not measured: {why}"
            return [Threat(NAME, knows, words, self.attribute, status="not_measured")]
        learns = (
            f"{self.attribute}: one value is left of {summary.exposed:,} of {summary.located:,} "
            f"{summary.unit}, {summary.exposed - summary.exposed_by_one:,} of them by no release "
            "alone"
        )
        return [
            Threat(
                NAME,
                knows,
                learns,
                self.attribute,
                # Who has several of these rows is one of fewer people.
                Headcount(self._moved.people, summary.of_rows),
                self._moved.farthest,
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


@phase("attacking")
def intersection_attack(
    releases: Sequence[Release],
    targets: object,
    truth: Truth = None,
    prior: PriorGiven = "uniform",
    overlap: Literal["count", "volume"] = "count",
    locate: Literal["nearest", "oracle"] = "nearest",
    *,
    sensitive: str | None = None,
    scale: ColumnScales | None = None,
    seed: int = 0,
    unknown: str = UNKNOWN,
    noisy_counts: NoisyCounts = "published",
) -> IntersectionAttack:
    """Attack people who are in all of these releases.

    targets: a Table, an Arrow table or frame, or a list of mappings, with the quasi-identifiers of
    the releases; a column that is not there, and a cell that says `unknown`, is not known. truth:
    the name of their column of true values (or the values in order).
    prior: how the population is distributed: "uniform", "pooled" (as all releases together),
    shares or counts by value, an outside table or an earlier release. overlap: how groups that
    overlap count, by their people or by people / volume.

    locate: "nearest" finds people as an adversary does; "oracle" takes the group they are really
    in, as the paper's experiments do, which needs releases just made and, where several people
    have equal values, chance (`seed`). scale: standard deviations by column for microaggregated
    releases that do not tell their own. sensitive: which attribute, if releases share several.
    noisy_counts: of randomised releases, as "published" or those she has "expected".

    Of releases whose rows are published one by one it is told what is left of the value of a row:
    of a Table whose people have several rows, everybody by her worst. Of releases whose rows a
    pseudonym links the targets are a Table of all people in them, read so, too, and everybody is
    told by the list of all her values or the value of one of her rows (`linked_attack.py`).
    """
    _check(releases, overlap, locate)
    check_noisy_counts(noisy_counts)
    population = parse_prior(prior, INTERSECTION)
    if any(release.by_row is not None for release in releases):
        from sfumato.adversaries.composition.linked_attack import attack_linked

        return attack_linked(releases, targets, truth, population, locate, sensitive)
    expected_of: dict[int, Floats] = {}
    if noisy_counts == "expected":
        releases, expected_of = _expecting(releases, common_attribute(releases, sensitive))
    shared = share_values(releases, sensitive)
    columns = tuple(dict.fromkeys(name for release in releases for name in release.regions.columns))
    needed = _CASE + _RELEASE * len(releases) + _VALUE * len(shared.labels)
    given = TargetParts.of(targets, columns, truth, unknown, needed)
    if given.whole is not None:
        _check_people(given.whole, releases, unknown)
    owner = _owners(targets)
    if locate == "oracle":
        _check_oracle(given, owner)
    weights = weights_of(releases, shared, overlap)
    counts: list[Floats] = [groups.data.astype(np.float64) for groups in shared.groups]
    for place, expected_counts in expected_of.items():  # every count of such a release is 1 there
        weights[place], counts[place] = weights[place] * expected_counts, expected_counts
    expected = prior_weights(shared, population, counts)
    sizes = [
        np.bincount(groups.row, weights=group_counts, minlength=len(groups))
        if place in expected_of
        else groups.sizes
        for place, (group_counts, groups) in enumerate(zip(counts, shared.groups, strict=True))
    ]
    indexes: IndexesOfReleases = {}
    believed_before, tilt = expected / expected.sum(), tilts(expected)

    def intersected(people: Targets) -> tuple[IntersectedPeople, SummedFigures]:
        if locate == "oracle":
            people = people.one_by_one()
            located = [
                TrueGroups(release, shared.attribute, people).draw(seed + place)
                for place, release in enumerate(releases)
            ]
        else:
            located = [find_groups(release, people, scale, indexes) for release in releases]
        cases = intersect_cases(shared, located, weights, tilt)
        if owner is not None:
            people = _by_worst_row(people, cases, owner)
        right = right_guesses(people, cases, shared)
        nearest_right = [
            _correctly_located(release, shared.attribute, people, scale, groups, locate)
            for release, groups in zip(releases, located, strict=True)
        ]
        figures = SummedFigures.of(people, cases, located, sizes, right, nearest_right)
        return IntersectedPeople(people, cases, right), figures

    row_notes = _notes_of_rows(releases, owner is not None)
    whole, moved_by_part = None, None
    if given.whole is not None:
        whole, figures = intersected(given.whole)
        people = whole.people
        not_known = unknown_notes(people.unknown_columns(), int(people.people.sum()))
    else:
        not_known = given.notes
        figures, moved_by_part = _by_part(
            given, releases, unknown, intersected, believed_before, shared.labels
        )
    return IntersectionAttack(
        shared.attribute,
        tuple(release.label for release in releases),
        figures.summary(of_rows=bool(row_notes) and owner is None),
        (*not_known, *_notes(releases, shared, expected_of), *row_notes),
        shared.labels,
        believed_before,
        whole,
        (whole,) if whole is not None else _Again(given, intersected),
        moved_by_part,
    )


Intersected = Callable[[Targets], tuple[IntersectedPeople, SummedFigures]]


@dataclass(frozen=True)
class _Again:
    """People of a table larger than memory, intersected once more whenever they are asked for."""

    given: TargetParts
    intersected: Intersected

    def __iter__(self) -> Iterator[IntersectedPeople]:
        for people in self.given:
            yield self.intersected(people)[0]


def _by_part(
    given: TargetParts,
    releases: Sequence[Release],
    unknown: str,
    intersected: Intersected,
    prior: Floats,
    labels: tuple[str, ...],
) -> tuple[SummedFigures, MovedBeliefs]:
    """What is summed up of people of whom some fit in memory at a time."""
    figures, moved_beliefs = None, MovedBeliefs()
    for people in given:
        _check_people(people, releases, unknown)
        part, of_part = intersected(people)
        figures = of_part if figures is None else figures + of_part
        moved_beliefs = moved_beliefs.beside(MovedBeliefs.of([part], prior, labels))
    assert figures is not None  # a table larger than memory has somebody
    return figures, moved_beliefs


def _check_people(people: Targets, releases: Sequence[Release], unknown: str) -> None:
    if len(people.people) == 0:
        raise InputError("there are no targets; give at least one person")
    refuse_published(people, releases, unknown)


def _check_oracle(given: TargetParts, owner: Codes | None) -> None:
    """Refuse to draw people's own groups where these cannot be told."""
    if owner is not None:
        raise InputError("locate='oracle' tells people with one row each apart; use 'nearest'")
    if given.whole is None:
        raise ResourceError(
            "locate='oracle' draws everybody's own groups at once, and the targets are larger "
            "than memory; use locate='nearest', or raise the memory limit"
        )
    if given.whole.known is not None:
        raise InputError(
            "locate='oracle' tells people's own groups by all of their quasi-identifiers, and "
            f"{name_some(given.whole.unknown_columns())} is not known; use locate='nearest'"
        )


def _owners(targets: object) -> Codes | None:
    """Whose the rows of the targets are, where people have several."""
    if not isinstance(targets, Table):
        return None
    return targets.counts.either(in_memory=lambda counts: counts.owner, stored=lambda _: None)


def _by_worst_row(rows: Targets, cases: IntersectedCases, owner: Codes) -> Targets:
    """Everybody by the row of hers of which the fewest values are left: located ones first."""
    case = rows.case
    belief = np.nan_to_num(cases.belief[case])
    order = np.lexsort((-belief, cases.after[case], cases.status[case], owner))
    worst = order[np.diff(owner[order], prepend=-1) != 0]
    truth = None if rows.truth is None else (rows.truth[0], rows.truth[1][worst])
    return replace(rows, case=case[worst], people=rows.people[worst], truth=truth)


def _notes_of_rows(releases: Sequence[Release], owned: bool) -> tuple[str, ...]:
    """What is told where people have several rows."""
    if not any(release.groups.beside.unlinked is not None for release in releases):
        return ()
    subject = (
        "everybody by the row of hers of which the fewest values are left"
        if owned
        else ("a target is one row, and whose rows they are is not told (name the person column)")
    )
    return (
        "rows are published one by one, and what is left is told of the value of a row: "
        f"{subject}; what rows that say the same tell together: require composition",
    )


def _correctly_located(
    release: Release,
    attribute: str,
    people: Targets,
    scale: ColumnScales | None,
    located: Located,
    locate: str,
) -> tuple[float, int] | None:
    """Of how many people the nearest centroid is that of the right group, and of how many it is
    known; None where it cannot be told."""
    if not release.regions.centroids or release.placement is None or people.known is not None:
        return None
    near = located if locate == "nearest" else find_groups(release, people, scale)
    share = TrueGroups(release, attribute, people).right(near, people.case)
    known = ~np.isnan(share)
    return float(share[known] @ people.people[known]), int(people.people[known].sum())


def _expecting(
    releases: Sequence[Release], attribute: str
) -> tuple[list[Release], dict[int, Floats]]:
    """Randomised releases with all of their cells, and the counts that are expected there."""
    read, counts = list(releases), {}
    for place, release in enumerate(releases):
        if release.regions.noisy:
            noisy = ExpectedCounts.of(release, attribute)
            read[place], counts[place] = noisy.release, noisy.counts
    return read, counts


def _notes(
    releases: Sequence[Release], shared: SharedValues, expected: Collection[int]
) -> tuple[str, ...]:
    notes = [
        f"only {release.label} shows {name_some(alone)}"
        for release, alone in zip(releases, shared.unmatched, strict=True)
        if alone
    ]
    notes += [
        f"counts of {release.label} are noisy, and read so: no value is ruled out, beliefs tell "
        "what is learnt"
        if place in expected
        else f"counts of {release.label} are noisy: a value may be missing from a group that has it"
        for place, release in enumerate(releases)
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
    "Could several releases betray her?",
    "the target's quasi-identifiers, and other releases about the same people",
    "the sensitive values that all releases leave possible for the target",
    "audit with --table TABLE --earlier RELEASE, or run: sfumato attack intersect",
    "on request",
    ("composition",),
    reads_several=True,
)
