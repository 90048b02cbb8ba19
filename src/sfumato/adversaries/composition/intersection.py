"""Intersecting the located groups of all releases: values left of each case, and beliefs.

What release j says of a case is the mass m_j(s) of each value over the groups the case may be in:
people, or people over volume. A value survives if every release that locates the case shows it.

Before that, sensitive values are matched by label, and groups may be weighed by the room their
descriptions leave.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.base import ALTERED
from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.priors import (
    EarlierRelease,
    Outside,
    OutsideTable,
    Pooled,
    Prior,
    PriorUse,
    Uniform,
    ValueCounts,
    ValueShares,
    counts_in,
)
from sfumato.errors import InputError, SchemaError, did_you_mean, name_some
from sfumato.numbers import Codes, Floats, Ints, offsets_of
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.icd10 import CodeFamily, categories_of
from sfumato.schema.region import Anything, Mask, Region, Span, ValueSet, place_of

# The sensitive values of several releases, matched by label.
#
# Releases need not show the same values: what only one of them shows can be nobody's value who is
# in both. But labels that mean the same and are spelt differently would do the same without a
# word, so they are refused.


@dataclass(frozen=True)
class SharedValues:
    """All labels, and for each release what number each of its own labels has among them.

    `unmatched` tells the labels each release shows and no other does.
    """

    attribute: str
    labels: tuple[str, ...]
    numbers: tuple[Codes, ...]
    groups: tuple[Groups, ...]
    unmatched: tuple[tuple[str, ...], ...]

    @property
    def of(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}


def share_values(releases: Sequence[Release], sensitive: str | None = None) -> SharedValues:
    """Match the values of the attribute that all releases have."""
    name = common_attribute(releases, sensitive)
    sources = [(release.label, _usable(release, name)) for release in releases]
    _refuse_strangers(name, sources)
    return match_values(name, sources)


def match_values(name: str, sources: Sequence[tuple[str, Groups]]) -> SharedValues:
    """Match the labels of groups, each with the name of its release."""
    groups = tuple(group for _, group in sources)
    published = [_labels_present(group) for group in groups]
    _refuse_spellings(name, [label for label, _ in sources], published)
    labels = tuple(dict.fromkeys(label for group in groups for label in group.values))
    number = {label: place for place, label in enumerate(labels)}
    return SharedValues(
        name,
        labels,
        tuple(np.array([number[label] for label in group.values], np.int32) for group in groups),
        groups,
        tuple(_alone(published, place) for place in range(len(published))),
    )


def of_one_value(groups: Groups) -> Groups:
    """By row, where people's rows are published one by one: each says one value."""
    rows = groups.beside.unlinked
    return groups if rows is None else rows.by_row


def _usable(release: Release, name: str) -> Groups:
    groups = of_one_value(release.groups_for(name))
    if groups.beside.altered_by_chance:
        raise InputError(f"{release.label}: {name!r}: {ALTERED}")
    if release.by_row is not None:
        raise InputError(
            f"{release.label}: a pseudonym links people's rows, and which of somebody's rows "
            "another release has decides what finds her there: it is known where all of these link "
            "rows, and the table tells that they are the same"
        )
    if not groups.single_valued:
        raise InputError(
            f"{release.label}: people have several values of {name!r} each; the attack is defined "
            "for one value a person"
        )
    release.refuse_wildcards()
    return groups


def common_attribute(releases: Sequence[Release], sensitive: str | None = None) -> str:
    """The sensitive attribute of all releases."""
    if sensitive is not None:
        for release in releases:
            if sensitive not in release.by_attribute:
                raise SchemaError(
                    f"{sensitive!r} is not a sensitive column of {release.label}; "
                    f"{did_you_mean(sensitive, release.schema.sensitive)}"
                )
        return sensitive
    attributes = [list(filter(None, release.by_attribute)) for release in releases]
    common = [name for name in attributes[0] if all(name in names for names in attributes)]
    if not common:
        listed = "; ".join(
            f"{release.label} has {', '.join(names) or 'none'}"
            for release, names in zip(releases, attributes, strict=True)
        )
        raise InputError(
            f"the releases have no sensitive attribute in common ({listed}); rename the columns "
            "that mean the same"
        )
    if len(common) > 1:
        raise InputError(
            f"the releases share several sensitive attributes: {', '.join(common)}; name the one "
            "to attack with sensitive="
        )
    return common[0]


def _labels_present(groups: Groups) -> tuple[str, ...]:
    """The labels that somebody has."""
    return tuple(groups.values[code] for code in np.unique(groups.indices[groups.data > 0]))


def _alone(by_release: Sequence[Sequence[str]], place: int) -> tuple[str, ...]:
    elsewhere = {
        label for release, labels in enumerate(by_release) if release != place for label in labels
    }
    return tuple(label for label in by_release[place] if label not in elsewhere)


def _refuse_strangers(name: str, sources: Sequence[tuple[str, Groups]]) -> None:
    for place, (label, groups) in enumerate(sources):
        for other_label, other_groups in sources[:place]:
            here, there = _labels_present(groups), _labels_present(other_groups)
            if here and there and not set(here) & set(there):
                raise InputError(
                    f"{other_label} and {label} share no value of {name!r}: {name_some(there)} "
                    f"against {name_some(here)}; write the same labels in both"
                )


def _refuse_spellings(
    name: str, labels: Sequence[str], by_release: Sequence[Sequence[str]]
) -> None:
    for later in range(len(by_release)):
        for earlier in range(later):
            later_labels, earlier_labels = set(by_release[later]), set(by_release[earlier])
            plain = {_plain(label): label for label in earlier_labels - later_labels}
            twins = [
                f"{plain[_plain(label)]!r} and {label!r}"
                for label in sorted(later_labels - earlier_labels)
                if _plain(label) in plain
            ]
            if twins:
                raise InputError(
                    f"{name!r} is spelt differently in {labels[earlier]} and "
                    f"{labels[later]}: {', '.join(twins[:5])}; write the same labels in both"
                )


def _plain(label: str) -> str:
    return " ".join(label.casefold().split())


# How much room a group's description leaves: the number of value combinations it covers.
#
# Where regions overlap, a narrow one that contains a person is more likely hers than a wide one; an
# adversary may weigh groups by 1 / volume. Only what is published counts, so anybody gets the same
# figure: a set has as many values as it lists, a range of whole numbers or days those between its
# ends, another range its length (at least the smallest step between ends the column shows), one
# more where the value may be missing instead, a mask ten for each hidden character. An open end
# lies where the column's furthest end does. `*` covers whatever the column shows elsewhere.

_SIGNS = 10  # what a hidden character may be


def volumes(release: Release) -> Floats:
    """The volume of each group; 1 where groups list exact values or publish a point."""
    regions = release.regions
    if regions.exact or regions.centroids:
        return np.ones(len(regions))
    return _volumes(regions.require_regions())


def _volumes(regions: Regions) -> Floats:
    volume = np.ones(len(regions))
    for parts, codes in zip(regions.parts, regions.codes, strict=True):
        used, number = np.unique(codes, return_inverse=True)
        volume *= _extents([parts[int(part)] for part in used])[number]
    return volume


def _extents(parts: Sequence[Region]) -> Floats:
    ends = _Ends(parts)
    extents = np.array([ends.extent(part) for part in parts])
    wild = np.array([isinstance(part, Anything) for part in parts])
    if wild.any():
        words = {text for part in parts if isinstance(part, ValueSet) for text in part.texts}
        extents[wild] = max(ends.whole(), float(len(words)), *extents[~wild], 1.0)
    return extents


class _Ends:
    """The finite ends of a column's ranges and the numbers it shows."""

    def __init__(self, parts: Sequence[Region]) -> None:
        spans = [part for part in parts if isinstance(part, Span)]
        places = [place_of(end) for span in spans for end in (span.low, span.high)]
        for part in parts:
            if isinstance(part, ValueSet):
                places += [
                    place_of(value)
                    for value in part.values
                    if isinstance(value, int | float | dt.date) and not isinstance(value, bool)
                ]
        finite = sorted({place for place in places if math.isfinite(place)})
        self.least, self.most = (finite[0], finite[-1]) if finite else (0.0, 0.0)
        self.stepwise = all(place == int(place) for place in finite)
        steps = [after - before for before, after in pairwise(finite)]
        self.step = 1.0 if self.stepwise or not steps else min(steps)

    def whole(self) -> float:
        return self.most - self.least + (1 if self.stepwise else 0)

    def extent(self, part: Region) -> float:
        if isinstance(part, ValueSet):
            return float(max(len(part.values), 1)) * (1.0 if self.stepwise else self.step)
        if isinstance(part, Mask):
            return float(_SIGNS ** part.pattern.count("*"))
        if isinstance(part, CodeFamily):
            return float(len(categories_of(part)))
        if not isinstance(part, Span):
            return 1.0
        low, high = place_of(part.low), place_of(part.high)
        first = low if math.isfinite(low) else self.least
        last = high if math.isfinite(high) else self.most
        room = last - first
        if self.stepwise:
            room += 1 - (math.isfinite(low) and not part.low_closed)
            room -= math.isfinite(high) and not part.high_closed
        return max(room, self.step) + self.step * len(part.beside)


INTERSECTION = PriorUse(
    "intersection attack",
    (Uniform, Pooled, ValueShares, ValueCounts, OutsideTable, EarlierRelease),
    error=InputError,
)
STATUS = ("located", "inconsistent", "not_locatable")
_TIE = 1e-12  # posteriors nearer than this are one


@dataclass(frozen=True)
class IntersectedCases:
    """What was found about each case.

    `before[j, i]` values are left by release j (0 if `there[j, i]` is false: not located), the
    values `values[ends[i]:ends[i + 1]]` by all that locate her, with her posterior of each.
    """

    there: npt.NDArray[np.bool_]
    before: Ints
    ends: Ints
    values: Ints
    posterior: Floats

    @cached_property
    def after(self) -> Ints:
        return np.diff(self.ends)

    @cached_property
    def fewest(self) -> Ints:
        """The fewest values one release leaves; 0 for a case located nowhere."""
        most = np.iinfo(np.int64).max
        fewest = np.where(self.there, self.before, most).min(axis=0)
        return np.where(fewest == most, 0, fewest)

    @cached_property
    def status(self) -> Ints:
        """Positions in STATUS."""
        status = np.where(self.after > 0, 0, 1)
        status[~self.there.all(axis=0)] = 2
        return status

    @cached_property
    def belief(self) -> Floats:
        """The largest posterior of each case; NaN where nothing is left."""
        best = np.full(len(self.after), np.nan)
        filled = np.flatnonzero(self.after)
        if len(filled):
            best[filled] = np.maximum.reduceat(self.posterior, self.ends[filled])
        return best

    @cached_property
    def likeliest(self) -> npt.NDArray[np.bool_]:
        """Whether each value left is (one of) the likeliest of its case."""
        top = np.repeat(self.belief, self.after)
        chosen: npt.NDArray[np.bool_] = self.posterior >= top * (1 - _TIE)
        return chosen


@dataclass(frozen=True)
class Stacked:
    """The groups of all releases one behind another, and where each case may be in them.

    Group g shows `codes[indptr[g]:indptr[g + 1]]`; unit u, a case in one release, may be in
    `groups[begins[u]:begins[u + 1]]`; `units[j, i]` is the unit of case i in release j.
    """

    indptr: Ints
    codes: Ints
    begins: Ints
    groups: Ints
    units: Ints


def stack(shared: SharedValues, located: Sequence[Located]) -> Stacked:
    """Lay releases out for compiled code, values by their shared numbers."""
    groups = shared.groups
    stored = offsets_of([len(group.data) for group in groups])
    before = offsets_of([len(group) for group in groups])
    placed = offsets_of([len(placement.groups) for placement in located])
    cases = len(located[0].indptr) - 1
    indptr = [group.indptr[1:] + start for group, start in zip(groups, stored, strict=False)]
    codes = [number[group.indices] for group, number in zip(groups, shared.numbers, strict=True)]
    begins = [
        placement.indptr[1:] + start for placement, start in zip(located, placed, strict=False)
    ]
    where = [placement.groups + start for placement, start in zip(located, before, strict=False)]
    return Stacked(
        np.concatenate([[0], *indptr]).astype(np.int64),
        np.concatenate(codes).astype(np.int64),
        np.concatenate([[0], *begins]).astype(np.int64),
        np.concatenate(where).astype(np.int64),
        np.arange(len(located))[:, None] * cases + np.arange(cases),
    )


def intersect_cases(
    shared: SharedValues,
    located: Sequence[Located],
    weights_by_release: Sequence[Floats],
    tilt: Floats,
) -> IntersectedCases:
    """Intersect what the located groups of every case show; weights are per stored count."""
    from sfumato.adversaries.composition.kernel import intersect  # its compiler loads slowly

    laid = stack(shared, located)
    there = np.array([np.diff(placement.indptr) > 0 for placement in located])
    weights = np.concatenate(weights_by_release).astype(np.float64)
    counted, ends, values, posterior = intersect(
        laid.indptr, laid.codes, weights, laid.begins, laid.groups, laid.units, tilt
    )
    return IntersectedCases(there, counted, ends, values, posterior)


def weights_of(releases: Sequence[Release], shared: SharedValues, overlap: str) -> list[Floats]:
    """What each stored count weighs: its people, or its people over the group's volume."""
    if overlap == "count":
        return [groups.data.astype(np.float64) for groups in shared.groups]
    return [
        groups.data / volumes(release)[groups.row]
        for release, groups in zip(releases, shared.groups, strict=True)
    ]


def tilts(weights: Floats) -> Floats:
    """1 / P0(s) for every shared value, up to a factor."""
    tilt: Floats = np.ones_like(weights)
    np.divide(weights.max(), weights, out=tilt, where=weights > 0)
    return tilt


def prior_weights(shared: SharedValues, prior: Prior, counts: Sequence[Floats]) -> Floats:
    """P0(s) for every shared value, up to a factor; `counts` are those stored, as they are read."""
    if isinstance(prior, Uniform):
        return np.ones(len(shared.labels))
    counted = np.zeros(len(shared.labels))
    for groups, number, group_counts in zip(shared.groups, shared.numbers, counts, strict=True):
        np.add.at(counted, number[groups.indices], group_counts)
    if isinstance(prior, Pooled):
        return counted
    weights = np.zeros(len(shared.labels))
    assert isinstance(prior, ValueShares | ValueCounts | Outside)
    known = (
        counts_in(prior.people, shared.attribute, INTERSECTION)
        if isinstance(prior, Outside)
        else prior.weights
    )
    for label, share in known.items():
        if label in shared.of:
            weights[shared.of[label]] = share
    without = [shared.labels[code] for code in np.flatnonzero((counted > 0) & (weights == 0))]
    if without:
        raise InputError(
            f"prior gives no weight to {name_some(without)}, which the releases show; give every "
            "value that occurs a weight"
        )
    return weights
