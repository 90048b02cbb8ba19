"""Reading noisy counts as noisy: what somebody expects of the true counts who knows the noise.

A randomised release publishes counts that noise was added to (geometric, Laplace or Gaussian, of a
scale that its guarantee tells), made whole and not negative: every count was lowered by the same
amount and cut off at 0 (`anonymizers/noise.py`). Whoever takes them for exact is sure of what is
noise: that a group lacks a value, or has only one. She who knows better asks what the true counts
may be. She finds any true count n = 0, 1, 2, ... equally likely beforehand, each cell by itself, so

    published c > 0   the noisy count was y = c + lowered; P(n | c) is proportional to p(y - n)
    published 0       it was at most `lowered`; P(n | 0) is proportional to F(lowered - n)

with p the noise's probabilities and F their sums. Her target may be any one record of any such
table, so a value speaks for itself by its *expected* count: m(s) sums E[n(g, s) | published] over
the cells g he may be in, and with several releases her belief is their product as ever
(`attack.py`). No value is ruled out by noise: cells that show nobody are cells like any other, and
what she learns is how likely values are, not which are left.

How much counts were lowered is not published; she tells it from the table. Noise adds nothing on
average, so what was taken from the counts that are left was put on those cut off: with K counts
left and Z cut off, taken for empty, K lowered + Z E[noise | noise <= lowered] = 0.

Stands apart: a model of its own, which an attack asks for only if it is told to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from sfumato.errors import InputError, ResourceError, did_you_mean
from sfumato.numbers import Floats, Ints
from sfumato.release.description import NoisyCells
from sfumato.release.groups import Groups
from sfumato.release.guarantee import Guarantee
from sfumato.release.made import ReadFrom
from sfumato.release.release import Release

NoisyCounts = Literal["published", "expected"]
_TAIL = 40  # scales beyond which noise has a probability of e^-40
_WIDEST = 20_000  # the largest scale whose noise is told number by number
_MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class KnownNoise:
    """The noise of one count: its probabilities at whole numbers."""

    mechanism: str
    scale: float

    @classmethod
    def of(cls, guarantee: Guarantee | None, label: str) -> KnownNoise:
        known = ("geometric", "laplace", "gaussian")
        if guarantee is None or guarantee.scale is None or guarantee.mechanism not in known:
            raise InputError(
                f"{label} does not tell its noise (one of {', '.join(known)}, and its scale), so "
                "what its counts may have been is not known; read them as published"
            )
        if guarantee.scale > _WIDEST:
            raise ResourceError(
                f"{label}: noise of scale {guarantee.scale:g} is not told number by number, which "
                f"goes to {_WIDEST:,}; no count of people leaves a trace in it"
            )
        return cls(guarantee.mechanism, guarantee.scale)

    @cached_property
    def reach(self) -> int:
        """Noise is within this, but for what floats do not show."""
        return math.ceil(self.scale * _TAIL) + 1

    @cached_property
    def chances(self) -> Floats:
        """p(-reach), ..., p(reach)."""
        places = np.arange(-self.reach, self.reach + 1)
        if self.mechanism == "gaussian":
            weights = np.exp(-((places / self.scale) ** 2) / 2)
        elif self.mechanism == "geometric":
            weights = np.exp(-np.abs(places) / self.scale)
        else:  # continuous, rounded to the nearest whole number
            edges = np.exp(-np.maximum(np.abs(places) - 0.5, 0) / self.scale)
            further = np.exp(-(np.abs(places) + 0.5) / self.scale)
            weights = np.where(places == 0, 2 * (1 - further), edges - further)
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def _below(self, most: Ints) -> tuple[Floats, Floats]:
        """F(most), and the sum of k p(k) up to there."""
        places = np.arange(-self.reach, self.reach + 1)
        total = np.concatenate([[0.0], np.cumsum(self.chances)])
        moment = np.concatenate([[0.0], np.cumsum(places * self.chances)])
        at = np.clip(most + self.reach + 1, 0, len(places))
        return total[at], moment[at]

    def expected(self, counts: Ints, lowered: int) -> Floats:
        """What the true counts are expected to be, of which these were published."""
        noisy = np.maximum(counts, 1) + lowered
        below, moment = self._below(noisy)
        left = noisy - moment / below
        return np.where(counts > 0, left, self._of_cut_off(lowered))

    def _of_cut_off(self, lowered: int) -> float:
        """The expected count of a cell that was published as empty."""
        true = np.arange(0, self.reach + lowered + 2)
        weights, _ = self._below(lowered - true)
        return float(true @ weights / weights.sum())

    def lowered(self, counts: Ints) -> int:
        """By how much the counts were lowered, as far as the table tells."""
        kept, cut_off = int((counts > 0).sum()), int((counts == 0).sum())
        if not kept or not cut_off:
            return 0
        tried = np.arange(self.reach + 1)
        below, moment = self._below(tried)
        surplus = kept * tried + cut_off * moment / below
        return int(np.argmin(np.abs(surplus)))


@dataclass(frozen=True)
class ExpectedCounts:
    """A noisy release as she reads it: every cell it could show, and its expected counts.

    `release` has all of its cells as groups, each with every value; `counts` are their expected
    counts, cell by cell and value by value.
    """

    release: Release
    counts: Floats

    @classmethod
    def of(cls, release: Release, attribute: str) -> ExpectedCounts:
        if len(release.by_attribute) > 1:
            raise InputError(
                f"{release.label} has several sensitive columns, whose counts are sums of noisy "
                "ones; read them as published"
            )
        noise = KnownNoise.of(release.guarantee, release.label)
        regions, groups = release.regions.require_regions(), release.groups_for(attribute)
        sizes = [len(parts) for parts in regions.parts]
        cells = math.prod(sizes)
        if cells * groups.width > _MOST_CELLS:
            raise ResourceError(
                f"{release.label} has {cells * groups.width:,} cells, of which at most "
                f"{_MOST_CELLS:,} are read as noisy; read them as published"
            )
        counts = np.zeros((cells, groups.width), dtype=np.int64)
        place = np.ravel_multi_index(tuple(regions.codes), sizes) if len(groups) else []
        counts[place] = groups.dense() if len(groups) else 0
        codes = np.array(np.unravel_index(np.arange(cells), sizes), dtype=np.int32)
        all_cells = NoisyCells(regions.columns, regions.parts, codes)
        seen = Groups(np.ones_like(counts), groups.values, attribute=attribute, case="single")
        read = replace(
            release,
            counted_groups={attribute: seen},
            regions=all_cells,
            made=ReadFrom(guarantee=release.guarantee),
        )
        return cls(read, noise.expected(counts, noise.lowered(counts)).ravel())


def check_noisy_counts(given: str) -> None:
    """One of two ways to read them."""
    if given not in get_args(NoisyCounts):
        raise InputError(
            f"noisy_counts = {given!r} is not known; {did_you_mean(given, get_args(NoisyCounts))}"
        )
