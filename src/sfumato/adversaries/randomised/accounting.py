"""Accounting: what several randomised releases about the same people promise together.

Two figures. *Basic*: epsilons and deltas add up (Dwork et al. 2006; the composition paper's
Section 4). *Tighter*, by OpenDP: every release is put in terms of zero-concentrated privacy (Bun
and Steinke 2016: Gaussian noise by its own rho, a pure epsilon by what OpenDP makes of it, an
(epsilon, delta) of unknown making as rho but for a probability delta), the rhos add up, and OpenDP
turns the sum back into an epsilon at some delta. Of a few releases with large epsilons the basic
figure is the smaller, of many the tighter one. Either is true; `best` is the smaller epsilon.

All of it needs one relation of neighbours, and people who are in all releases: for releases about
different people the worst one counts, not the sum.

Here is the one door to OpenDP.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import Any

from sfumato.errors import InputError, MissingExtra
from sfumato.numbers import fraction
from sfumato.release.guarantee import RELATIONS, Guarantee, PrivacyLoss, Relation

# The one door to OpenDP, which draws all noise and does all accounting; none is written by hand.
#
# Its parts are imported one by one: all of it together takes ten times as long to load.


def opendp(part: str) -> ModuleType:
    """A module of OpenDP by its name: "measurements", "combinators", "domains", ..."""
    try:
        features = import_module("opendp.mod")
        module = import_module(f"opendp.{part}")
    except ImportError:
        raise MissingExtra(
            "differential privacy needs OpenDP: pip install 'sfumato[dp]' (or: pip install opendp)"
        ) from None
    # "honest-but-curious": accounting states losses as numbers, which OpenDP takes at our word.
    features.enable_features("contrib", "honest-but-curious")
    return module


DELTA = 1e-6  # a probability that may be spent where nobody said one


@dataclass(frozen=True)
class Composed:
    """What releases promise together, by `neighbours`; `why` there is no tighter figure."""

    releases: int
    neighbours: Relation
    basic: PrivacyLoss
    tighter: PrivacyLoss | None
    why: str = ""

    @property
    def best(self) -> PrivacyLoss:
        """The figure of the smaller epsilon; where they are equal, that of the smaller delta."""
        told = [loss for loss in (self.basic, self.tighter) if loss is not None]
        return min(told, key=lambda loss: (loss.epsilon, loss.delta))


def compose(
    guarantees: Sequence[Guarantee],
    *,
    neighbours: Relation = "replace-one",
    delta: float | None = None,
) -> Composed:
    """Add up guarantees about the same people.

    `delta` is where the tighter epsilon is told: by default that of the basic sum, or 1e-6 where
    it has none. A release that promises nothing by this relation makes the sum infinite.
    """
    if not guarantees:
        raise InputError("there is no guarantee to add up; give at least one")
    if neighbours not in RELATIONS:
        raise InputError(
            f"neighbours = {neighbours!r} is not known; allowed: {', '.join(RELATIONS)}"
        )
    if delta is not None and not 0 < delta < 1:
        raise InputError(f"delta = {delta!r} is not allowed; it must lie between 0 and 1")
    losses = [loss for one in guarantees if (loss := one.under(neighbours)) is not None]
    if len(losses) < len(guarantees):
        nothing = f"{len(guarantees) - len(losses)} release(s) promise nothing by {neighbours}"
        return Composed(len(guarantees), neighbours, PrivacyLoss(math.inf, 0.0), None, nothing)
    basic = PrivacyLoss(
        _sum(loss.epsilon for loss in losses), min(1.0, _sum(loss.delta for loss in losses))
    )
    # Deltas of releases whose making is not known can only be spent, not traded.
    spent = _sum(loss.delta for loss in losses if loss.rho is None)
    target = delta if delta is not None else min(max(basic.delta, spent + DELTA), 1.0)
    tighter, why = None, ""
    if spent >= target or target >= 1:
        why = f"the releases' own deltas add up to {spent:g}, which leaves nothing of {target:g}"
    else:
        try:
            tighter = _concentrated(losses, target)
        except MissingExtra as missing:
            why = str(missing)
    return Composed(len(guarantees), neighbours, basic, tighter, why)


def _sum(numbers: Iterable[float]) -> float:
    """By the decimals that were written: 0.1 three times is 0.3."""
    return float(sum((fraction(number) for number in numbers), Fraction(0)))


def _concentrated(losses: Sequence[PrivacyLoss], delta: float) -> PrivacyLoss:
    """All losses as zero-concentrated privacy, added up and told at a delta: OpenDP's own maps."""
    combine = opendp("combinators")
    together = combine.make_composition([_as_concentrated(loss) for loss in losses])
    curve = combine.make_zCDP_to_approxDP(together)
    epsilon, spent = combine.make_fix_delta(curve, delta=delta).map(1)
    return PrivacyLoss(float(epsilon), float(spent), float(together.map(1)[0]))


def _as_concentrated(loss: PrivacyLoss) -> Any:
    """A measurement of this loss: rho, but for a probability that may be 0."""
    measures, combine = opendp("measures"), opendp("combinators")
    if loss.rho is not None:
        return combine.make_approximate(
            _stated(measures.zero_concentrated_divergence(), float(loss.rho))
        )
    pure = _stated(measures.max_divergence(), float(loss.epsilon))
    concentrated = combine.make_pureDP_to_zCDP(pure)
    if not loss.delta:
        return combine.make_approximate(concentrated)
    rough = measures.approximate(measures.zero_concentrated_divergence())
    return _stated(rough, (float(concentrated.map(1)), float(loss.delta)))


def _stated(measure: Any, loss: Any) -> Any:
    """A measurement that tells nothing and has this loss: all that accounting needs."""
    domains, metrics = opendp("domains"), opendp("metrics")
    return opendp("measurements").make_user_measurement(
        domains.atom_domain(T=bool),
        metrics.discrete_distance(),
        measure,
        lambda _: 0,
        lambda _: loss,
    )
