"""Noise for a vector of counts: OpenDP's measurement, its scale and what its own map promises.

A person is in exactly one cell. Put in or taken out, she changes one count by 1; replaced, at most
two counts by 1 each. In the distance that a mechanism's noise answers to, that is

    geometric, laplace   sum of changes          add-remove 1    replace-one 2
    gaussian             root of summed squares  add-remove 1    replace-one sqrt(2)

(Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009; Bun, Steinke 2016.)
OpenDP finds the smallest scale whose map stays within the epsilon and delta asked for, and its map
is what the guarantee tells. Its randomness comes from the operating system: there is no seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from sfumato.adversaries.randomised.accounting import opendp
from sfumato.errors import PolicyError
from sfumato.numbers import Ints
from sfumato.release.guarantee import RELATIONS, Guarantee, Loss, Relation, Unit

Mechanism = Literal["geometric", "laplace", "gaussian"]
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)
MOST_SCALE = 1e9  # beyond, no table of people leaves a trace, and sums would overflow

_ROOT = math.nextafter(math.sqrt(2), 2)  # rounded up: the change is never understated
_CHANGE: dict[Mechanism, dict[Relation, int | float]] = {
    "geometric": {"add-remove": 1, "replace-one": 2},
    "laplace": {"add-remove": 1.0, "replace-one": 2.0},
    "gaussian": {"add-remove": 1.0, "replace-one": _ROOT},
}


@dataclass(frozen=True)
class Drawing:
    """A mechanism at its scale: `draw` is the one step from true counts to noisy ones."""

    mechanism: Mechanism
    scale: float
    measurement: Any

    def draw(self, raw: Ints) -> Ints:
        """The counts with noise, by OpenDP; every cell of them, whatever it holds."""
        if self.mechanism == "laplace":
            drawn = self.measurement(raw.astype(np.float64).tolist())
            return np.rint(np.asarray(drawn, dtype=np.float64)).astype(np.int64)
        return np.asarray(self.measurement(raw.tolist()), dtype=np.int64)

    def accuracy(self, alpha: float = 0.05) -> float:
        """How far noise moves one count at most, about, but for a probability alpha."""
        # Those of continuous noise: OpenDP's for whole numbers sum up tails one number at a time.
        tell = "gaussian" if self.mechanism == "gaussian" else "laplacian"
        found = getattr(opendp("accuracy"), f"{tell}_scale_to_accuracy")
        return float(found(scale=self.scale, alpha=alpha))

    def guarantee(
        self, relation: Relation, delta: float, *, public_total: bool, unit: Unit
    ) -> Guarantee:
        """The promise by the relation asked for, and by the other one where there is one."""
        own = self.loss(relation, delta)
        (other,) = (one for one in RELATIONS if one != relation)
        return Guarantee(
            own.epsilon,
            own.delta,
            self.mechanism,
            relation,
            own.rho,
            # Who knows the exact number of people sees that somebody joined or left.
            None if public_total else self.loss(other, delta),
            self.scale,
            unit,
        )

    def loss(self, relation: Relation, delta: float) -> Loss:
        """What OpenDP's own map says of this measurement."""
        change = _CHANGE[self.mechanism][relation]
        found = self.measurement.map(change)
        if self.mechanism != "gaussian":
            return Loss(float(found), 0.0)
        epsilon, spent = _at_delta(self.measurement, delta).map(change)
        return Loss(float(epsilon), float(spent), float(found))


@lru_cache(maxsize=64)
def calibrated(mechanism: Mechanism, epsilon: float, delta: float, relation: Relation) -> Drawing:
    """The least noise that keeps within epsilon and delta by this relation of neighbours."""
    wanted: Any = float(epsilon)
    if mechanism == "gaussian":
        wanted = (float(epsilon), float(delta))

    def made(scale: float) -> Any:
        found = _measurement(mechanism, scale)
        return found if mechanism != "gaussian" else _at_delta(found, delta)

    change, library = _CHANGE[mechanism][relation], opendp("mod")
    try:
        if not made(MOST_SCALE).check(change, wanted):
            raise PolicyError(
                f"noise: epsilon = {epsilon!r} would take noise of a scale above {MOST_SCALE:g}, "
                "in which any table drowns; use a larger one"
            )
        scale = library.binary_search_param(
            made, d_in=change, d_out=wanted, bounds=(0.0, MOST_SCALE), T=float
        )
    except library.OpenDPException:
        raise PolicyError(
            f"noise: OpenDP finds no {mechanism} noise for epsilon = {epsilon!r}, delta = "
            f"{delta!r}; use an epsilon between 0.001 and 100"
        ) from None
    return Drawing(mechanism, float(scale), _measurement(mechanism, float(scale)))


def _measurement(mechanism: Mechanism, scale: float) -> Any:
    domains, metrics, make = opendp("domains"), opendp("metrics"), opendp("measurements")
    if mechanism == "laplace":
        space = domains.vector_domain(domains.atom_domain(T="f64", nan=False))
        return make.make_laplace(space, metrics.l1_distance(T="f64"), scale=scale)
    space = domains.vector_domain(domains.atom_domain(T="i64"))
    if mechanism == "geometric":
        return make.make_geometric(space, metrics.l1_distance(T="i64"), scale=scale)
    return make.make_gaussian(space, metrics.l2_distance(T="f64"), scale=scale)


def _at_delta(measurement: Any, delta: float) -> Any:
    """A zero-concentrated measurement as (epsilon, delta), at this delta."""
    combine = opendp("combinators")
    return combine.make_fix_delta(combine.make_zCDP_to_approxDP(measurement), delta=delta)
