"""Intersecting the located groups of all releases: values left of each case, and beliefs.

What release j says of a case is the mass m_j(s) of each value over the groups the case may be in:
people, or people over volume. A value survives if every release that locates the case shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.composition.shared_values import SharedValues
from sfumato.adversaries.composition.volume import volumes
from sfumato.adversaries.locating.locate import Located
from sfumato.counts.counts import Ints
from sfumato.errors import InputError, name_some
from sfumato.release.groups import Floats
from sfumato.release.release import Release

Prior = Mapping[str, float] | Literal["pooled"] | None
STATUS = ("located", "inconsistent", "not_locatable")
_TIE = 1e-12  # posteriors nearer than this are one


@dataclass(frozen=True)
class Cases:
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


def stack(shared: SharedValues, found: Sequence[Located]) -> Stacked:
    """Lay releases out for compiled code, values by their shared numbers."""
    groups = shared.groups
    stored = np.concatenate([[0], np.cumsum([len(one.data) for one in groups])])
    before = np.concatenate([[0], np.cumsum([len(one) for one in groups])])
    placed = np.concatenate([[0], np.cumsum([len(one.groups) for one in found])])
    cases = len(found[0].indptr) - 1
    indptr = [one.indptr[1:] + start for one, start in zip(groups, stored, strict=False)]
    codes = [number[one.indices] for one, number in zip(groups, shared.numbers, strict=True)]
    begins = [one.indptr[1:] + start for one, start in zip(found, placed, strict=False)]
    where = [one.groups + start for one, start in zip(found, before, strict=False)]
    return Stacked(
        np.concatenate([[0], *indptr]).astype(np.int64),
        np.concatenate(codes).astype(np.int64),
        np.concatenate([[0], *begins]).astype(np.int64),
        np.concatenate(where).astype(np.int64),
        np.arange(len(found))[:, None] * cases + np.arange(cases),
    )


def intersect_cases(
    shared: SharedValues, found: Sequence[Located], masses: Sequence[Floats], tilt: Floats
) -> Cases:
    """Intersect what the located groups of every case show; masses are per stored count."""
    from sfumato.adversaries.composition.masses import intersect  # its compiler loads slowly

    laid = stack(shared, found)
    there = np.array([np.diff(one.indptr) > 0 for one in found])
    weights = np.concatenate(masses).astype(np.float64)
    counted, ends, values, posterior = intersect(
        laid.indptr, laid.codes, weights, laid.begins, laid.groups, laid.units, tilt
    )
    return Cases(there, counted, ends, values, posterior)


def masses_of(releases: Sequence[Release], shared: SharedValues, weight: str) -> list[Floats]:
    """What each stored count weighs: its people, or its people over the group's volume."""
    if weight == "count":
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


def prior_weights(shared: SharedValues, prior: Prior) -> Floats:
    """P0(s) for every shared value, up to a factor."""
    if prior is None:
        return np.ones(len(shared.labels))
    weights = np.zeros(len(shared.labels))
    counted = np.zeros(len(shared.labels))
    for groups, number in zip(shared.groups, shared.numbers, strict=True):
        np.add.at(counted, number[groups.indices], groups.data)
    if prior == "pooled":
        weights = counted
    elif isinstance(prior, Mapping):
        for label, share in prior.items():
            if not isinstance(share, int | float) or not 0 <= share < np.inf:
                raise InputError(f"prior: {label!r} has {share!r}; use numbers of 0 or more")
            if label in shared.of:
                weights[shared.of[label]] = share
    else:
        raise InputError(f"prior = {prior!r} is not allowed; use a mapping, 'pooled' or None")
    without = [shared.labels[code] for code in np.flatnonzero((counted > 0) & (weights == 0))]
    if without:
        raise InputError(
            f"prior gives no weight to {name_some(without)}, which the releases show; give every "
            "value that occurs a weight"
        )
    return weights
