"""Population uniqueness from a sample: Zayatz (1991), Pitman (Hoshino 2001), SNB (Chen 1998).

Somebody unique in a release is found for sure only if nobody else in the population looks like
her. Who holds no register cannot count that, but can estimate it from how often groups of size 1,
2, 3, ... occur in the sample (`SizeFrequencies`) and from the sampling fraction: the share of the
population that was sampled, everybody with the same chance.

Each estimate is the expected share of released people who are unique in the population, that is
(sample uniques) x (chance that a sample unique is a population unique) / people; under such
sampling it also estimates the share of the whole population that is unique. At fraction 1 it is
the sample uniqueness, without sample uniques it is 0, and if all are unique it is 1 (nothing in
the sample contradicts it, and what cannot be decided errs to unsafe).

No estimator is right everywhere (Dankar et al. 2012, BMC Med Inform Decis Mak 12:66). The errors
named at each were measured on simulated populations and on Adult, at fractions of 0.05 to 0.3, and
are held by the tests. What could not be fitted is `not_converged` with a reason and no number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError
from sfumato.numbers import Floats

UniquenessModel = Literal["zayatz", "pitman", "snb"]
FEW = 0.1  # up to this sampling fraction Dankar et al. prefer Pitman


@dataclass(frozen=True)
class Uniqueness:
    """One estimate of the share of people who are unique in the population.

    `share` is None unless converged; `note` says what the fit came to, or why it failed.
    """

    model: UniquenessModel
    share: float | None
    status: Literal["converged", "not_converged"]
    note: str = ""


@dataclass(frozen=True)
class SizeFrequencies:
    """How many groups (`often`) have each distinct size (`size`, ascending)."""

    size: Floats
    often: Floats

    @classmethod
    def of(
        cls, sizes: npt.NDArray[np.int64], times: npt.NDArray[np.int64] | None = None
    ) -> SizeFrequencies:
        """`times`: how many groups each of the sizes stands for."""
        if len(sizes) and sizes.max() <= 4 * len(sizes):  # no need to sort
            counted = np.bincount(sizes, weights=times)
            size = np.flatnonzero(counted)
            often = counted[size]
        elif times is None:
            size, often = np.unique(sizes, return_counts=True)
        else:
            size, place = np.unique(sizes, return_inverse=True)
            often = np.bincount(place, weights=times)
        return cls(size.astype(np.float64), often.astype(np.float64))

    @property
    def people(self) -> float:
        return float(self.size @ self.often)

    @property
    def groups(self) -> float:
        return float(self.often.sum())

    @property
    def singles(self) -> float:
        return float(self.often[self.size == 1].sum())


def population_uniqueness(sizes: SizeFrequencies, fraction: float) -> tuple[Uniqueness, ...]:
    """All three estimates."""
    if isinstance(fraction, bool) or not (isinstance(fraction, int | float) and 0 < fraction <= 1):
        raise InputError(
            f"sampling_fraction = {fraction!r} is not allowed; it must be a number above 0 and at "
            "most 1"
        )
    if sizes.people == 0:
        raise InputError("population uniqueness needs at least one group")
    sample = sizes.singles / sizes.people
    fits: dict[UniquenessModel, Callable[[SizeFrequencies, float], Uniqueness]]
    fits = {"pitman": _pitman, "zayatz": _zayatz, "snb": _snb}
    if fraction == 1 or sample in (0, 1):
        why = "the sample is the population" if fraction == 1 else f"sample uniqueness {sample:g}"
        return tuple(Uniqueness(model, sample, "converged", why) for model in fits)
    return tuple(fit(sizes, float(fraction)) for fit in fits.values())


def choose(estimates: tuple[Uniqueness, ...], fraction: float) -> Uniqueness:
    """The decision rule of Dankar et al. (2012): Pitman up to a fraction of 0.1, else the lower
    of Zayatz and SNB; of what converged only. If that leaves none, the most careful estimate.
    """
    wanted = ("pitman",) if fraction <= FEW else ("zayatz", "snb")
    converged = [estimate for estimate in estimates if estimate.share is not None]
    preferred = [estimate for estimate in converged if estimate.model in wanted]
    if preferred:
        return min(preferred, key=lambda estimate: estimate.share or 0.0)
    return max(converged, key=lambda estimate: estimate.share or 0.0, default=estimates[0])


def _zayatz(sizes: SizeFrequencies, fraction: float) -> Uniqueness:
    """Bayes' rule with the sample's own distribution of group sizes taken for the population's.

    Small groups are over-represented in a sample, so it errs upwards (to unsafe), the more the
    smaller the fraction and the more alike the groups. Error: on Adult 1.8 times the truth at 0.05
    and 1.1 times at 0.3, on groups of about the same size 12 and 3.5 times; never below 0.8 times.
    Sampling is Bernoulli here, hypergeometric in print: a difference of size / population.
    """
    alone = fraction * sizes.size * (1 - fraction) ** (sizes.size - 1)  # P(f = 1 | F = size)
    truly = sizes.singles * fraction / float(alone @ sizes.often)
    note = f"a sample unique is a population unique with probability {truly:.4g}"
    return Uniqueness("zayatz", truly * sizes.singles / sizes.people, "converged", note)


def _pitman(sizes: SizeFrequencies, fraction: float) -> Uniqueness:
    """Maximum likelihood in Pitman's sampling formula with 0 <= alpha < 1, theta > -alpha.

    Hoshino takes the fitted model's expected number of uniques; we take its prediction given the
    sample's uniques, which has the same expectation and is exact at fraction 1. Error: on
    populations of its own kind and on Adult within 45 % of the truth at 0.05 and 25 % from 0.1 on;
    elsewhere between 0.6 and 4 times it, highest where all groups are of about the same size.
    """
    people, groups = sizes.people, sizes.groups
    most = 4 * math.log(people + 1)  # pairs of equals are so few in no sample of this size

    def theta_of(alpha: float) -> float:
        """Where the likelihood's derivative by theta vanishes; nan if it does not."""

        def slope(scale: float) -> float:
            first = math.exp(scale)  # theta + alpha, which is positive
            return _harmonic(first, groups - 1, alpha) - _harmonic(first + 1 - alpha, people - 1, 1)

        return math.exp(_root(slope, -most, most)) - alpha

    def slope(alpha: float) -> float:
        """The profile likelihood's derivative by alpha."""
        theta = theta_of(alpha)
        rising = (groups - 1 - theta * _harmonic(theta + alpha, groups - 1, alpha)) / alpha
        falling = sum(
            often * _harmonic(1 - alpha, size - 1, 1)
            for size, often in zip(sizes.size.tolist(), sizes.often.tolist(), strict=True)
        )
        return rising - float(falling)

    least = 1e-6
    alpha = 0.0 if slope(least) <= 0 else _root(slope, least, 1 - 1e-9)
    theta = theta_of(alpha) if math.isfinite(alpha) else math.nan
    if not math.isfinite(theta):
        return Uniqueness("pitman", None, "not_converged", "the likelihood has no inner maximum")
    stays = _log_gamma_step(theta + people / fraction, alpha - 1)
    stays -= _log_gamma_step(theta + people, alpha - 1)
    note = f"theta {theta:.4g}, alpha {alpha:.4g}" + (" (at its bound)" if alpha == 0 else "")
    return Uniqueness("pitman", math.exp(stays) * sizes.singles / people, "converged", note)


def _snb(sizes: SizeFrequencies, fraction: float) -> Uniqueness:
    """Slide negative binomial: a population group has 1 + Y people, Y negative binomial.

    Chen and McNulty fit it to the groups of size 1 and 2 and a separate estimate of the number of
    population groups; we solve the three moment equations of people, groups and sample uniques,
    which need none. Error: on populations of its own kind a factor of 8 at 0.05, 2 at 0.1, 1.25
    at 0.3; on others it errs upwards, to 4 times at 0.05 and 1.7 times at 0.3. If there are
    fewer sample uniques than even Poisson sizes would give, nothing fits: not converged.
    """
    people, groups, singles = sizes.people, sizes.groups, sizes.singles
    population = people / fraction

    def mean_of(none: float) -> float:
        """The mean of Y that explains the sampled groups if none of a Y is sampled so often."""
        return population / groups * (1 - (1 - fraction) * none) - 1

    def shape_of(none: float) -> float:
        """r with (1 + m / r) ^ -r = none: the sampled part of Y has the mean m and Y's shape r."""
        mean, wanted = fraction * mean_of(none), -math.log(none)

        def surprise(scale: float) -> float:
            return math.exp(scale) * math.log1p(mean * math.exp(-scale)) - wanted

        return math.exp(_root(surprise, -60.0, 60.0))

    def surplus(none: float) -> float:
        """Sample uniques the model expects beyond those there are."""
        x = mean_of(none)
        more = fraction * x / (1 + fraction * x / shape_of(none))
        return population / (1 + x) * none * (fraction + (1 - fraction) * more) - singles

    poisson = _root(lambda none: none - math.exp(-fraction * mean_of(none)), 0.0, 1.0)
    none = _root(surplus, poisson + 1e-9, 1 - 1e-12) if poisson < 1 else math.nan
    shape = shape_of(none) if math.isfinite(none) else math.nan
    if not math.isfinite(shape):
        why = "no slide negative binomial has these numbers of people, groups and sample uniques"
        return Uniqueness("snb", None, "not_converged", why)
    x = mean_of(none)
    share = math.exp(-shape * math.log1p(x / shape)) / (1 + x)
    return Uniqueness("snb", share, "converged", f"mean size {1 + x:.4g}, shape {shape:.4g}")


# -- numbers --------------------------------------------------------------------------------------


def _harmonic(first: float, terms: float, step: float) -> float:
    """1 / first + 1 / (first + step) + ... of so many terms, first > 0."""
    if step == 0:
        return terms / first
    start, total = first / step, 0.0
    while start < 10 and terms > 0:
        total += 1 / start
        start, terms = start + 1, terms - 1
    if terms > 0:  # a difference of digamma functions, by their series
        end = start + terms
        total += math.log1p(terms / start) + terms / (2 * start * end) + _tail(start) - _tail(end)
    return total / step


def _tail(x: float) -> float:
    """What log x - 1 / 2x exceeds digamma(x) by, for x >= 10."""
    y = 1 / (x * x)
    return y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))


def _log_gamma_step(z: float, a: float) -> float:
    """log gamma(z + a) - log gamma(z) for small a, without the cancellation at large z."""
    if z > 1e6:
        return a * math.log(z) + a * (a - 1) / (2 * z)
    return math.lgamma(z + a) - math.lgamma(z)


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    """Where f changes its sign between two points (Ridders 1979); nan if it does not."""
    at_low, at_high = f(low), f(high)
    if not (math.isfinite(at_low) and math.isfinite(at_high) and at_low * at_high <= 0):
        return math.nan
    for _ in range(200):
        middle = (low + high) / 2
        at_middle = f(middle)
        spread = math.sqrt(at_middle * at_middle - at_low * at_high)
        if not math.isfinite(spread):
            return math.nan
        if spread == 0 or high - low <= 1e-12 * max(1.0, abs(middle)):
            return middle
        guess = middle + (middle - low) * math.copysign(1, at_low - at_high) * at_middle / spread
        at_guess = f(guess)
        inner = sorted([(middle, at_middle), (guess, at_guess)])
        points = [(low, at_low), *inner, (high, at_high)]
        for (a, at_a), (b, at_b) in pairwise(points):
            if at_a * at_b <= 0:
                low, at_low, high, at_high = a, at_a, b, at_b
                break
        else:
            return math.nan
    return math.nan
