"""Semantic privacy: what differential privacy means to an adversary with any prior.

Ganta, Kasiviswanathan, Smith: Composition Attacks and Auxiliary Information in Data Privacy,
KDD 2008. n people, n + 1 games: in game 0 the adversary sees the release, in game i she sees what
would have been released had person i's record been replaced by a default one. In every game she
draws her conclusions by Bayes from the same prior, which may be anything: other releases, a census,
everybody else's records. A release is eps'-semantically private if, whatever her prior and
whoever i is, her posterior in game i is within eps' of that in game 0 in statistical distance: she
would have come to nearly the same conclusions without the person. It is about *replacing* a record,
so it takes a guarantee by replace-one.

Bounds, for eps-differential privacy (no delta):
  the paper's  e^eps - 1, which says nothing (is at least 1) from eps = ln 2 on;
  tight        tanh(eps / 2): likelihoods of the two games differ by a factor between e^-eps and
               e^eps, and reweighting a distribution by factors whose ratio is at most R moves it
               by (sqrt(R) - 1) / (sqrt(R) + 1), here R = e^(2 eps). A randomised answer to the
               parity of two people's bits reaches it; people's own answers reach tanh(eps / 4).
For (eps, delta): e^(3 eps) - 1 + 2 sqrt(delta), but for a probability of 4 n sqrt(delta) over
outcomes; the order n sqrt(delta) is the paper's, the constant 4 of the authors' later version. It
says nothing above eps = .23, or where n sqrt(delta) is not small. A bound that says nothing is told
as "vacuous", never as a number above 1. The same holds where indistinguishability fails only for
tables of total prior probability delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

from sfumato.adversaries.base import BeliefChange, CatalogueEntry, Threat
from sfumato.errors import InputError, MissingExtra, expect
from sfumato.numbers import fraction
from sfumato.release.groups import Groups
from sfumato.release.guarantee import RELATIONS, Guarantee, PrivacyLoss, Relation
from sfumato.release.release import Release

# Accounting: what several randomised releases about the same people promise together.
#
# Two figures. *Basic*: epsilons and deltas add up (Dwork et al. 2006; the composition paper's
# Section 4). *Tighter*, by OpenDP: every release is put in terms of zero-concentrated privacy (Bun
# and Steinke 2016: Gaussian noise by its own rho, a pure epsilon by what OpenDP makes of it, an
# (epsilon, delta) of unknown making as rho but for a probability delta), the rhos add up, and
# OpenDP turns the sum back into an epsilon at some delta. Of a few releases with large epsilons
# the basic figure is the smaller, of many the tighter one. Either is true; `best` is the smaller
# epsilon.
#
# All of it needs one relation of neighbours, and people who are in all releases: for releases
# about different people the worst one counts, not the sum.
#
# Here is the one door to OpenDP.

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
        losses = [loss for loss in (self.basic, self.tighter) if loss is not None]
        return min(losses, key=lambda loss: (loss.epsilon, loss.delta))


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
    losses = [loss for guarantee in guarantees if (loss := guarantee.under(neighbours)) is not None]
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


NAME = "any prior"
_KNOWS = "anything: any prior, any other release, everybody else's records"


@dataclass(frozen=True)
class PosteriorBound:
    """Posteriors differ by at most `distance`, except with probability `failing`.

    `failing` is None where it depends on the number of people and that is not known.
    """

    source: Literal["paper", "tight"]
    distance: float
    failing: float | None = 0.0

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: no two distributions are further apart than 1."""
        return self.distance >= 1 or self.failing is None or self.failing >= 1

    def __str__(self) -> str:
        if self.vacuous:
            return "vacuous"
        failing = f", but for a probability of {self.failing:.2g}" if self.failing else ""
        return f"{self.distance:.4g}{failing}"


@dataclass(frozen=True)
class SemanticPrivacy:
    """What a loss by replace-one means; `bounds` from the paper's to the tight one, if known."""

    loss: PrivacyLoss
    bounds: tuple[PosteriorBound, ...]

    @property
    def best(self) -> PosteriorBound | None:
        """The smallest bound that says something."""
        meaningful = [bound for bound in self.bounds if not bound.vacuous]
        return min(meaningful, key=lambda bound: bound.distance, default=None)

    def threats(self) -> list[Threat]:
        """The row of the report's threat matrix: one, about everybody alike."""
        best = self.best
        if best is None:
            why = f"not bounded: {self.loss} by replace-one, for which the bound is vacuous"
            return [Threat(NAME, _KNOWS, why, status="not_measured")]
        paper = "".join(
            f" (the paper's bound: {bound})" for bound in self.bounds if bound is not best
        )
        learns = (
            f"about any one person: her conclusions are within {best} of what they would be with "
            f"another record in its place{paper}"
        )
        # Beliefs farthest apart by so much lie evenly around one half.
        belief = BeliefChange((1 - best.distance) / 2, (1 + best.distance) / 2, at_most=True)
        return [Threat(NAME, _KNOWS, learns, belief=belief)]


@dataclass(frozen=True)
class AnyPrior:
    """Somebody who may know anything before she reads a randomised release."""

    @property
    def name(self) -> str:
        return NAME

    def attack(self, release: Release, groups: Groups | None = None) -> SemanticPrivacy:
        if release.guarantee is None:
            raise InputError("the release was not randomised: nothing bounds who knows anything")
        return semantic_privacy(release.guarantee, release.people)


def semantic_privacy(
    promised: Guarantee | PrivacyLoss, people: int | None = None
) -> SemanticPrivacy:
    """The bounds of a guarantee, or of a loss by replace-one; `people` only matters with delta."""
    expect("promised", promised, (Guarantee, PrivacyLoss), "a Guarantee or a PrivacyLoss")
    loss = promised.under("replace-one") if isinstance(promised, Guarantee) else promised
    assert loss is not None  # some promise by replace-one follows from any
    if loss.delta == 0:
        paper = PosteriorBound("paper", _growth(loss.epsilon))
        return SemanticPrivacy(loss, (paper, PosteriorBound("tight", math.tanh(loss.epsilon / 2))))
    root = math.sqrt(loss.delta)
    failing = None if people is None else 4 * people * root
    return SemanticPrivacy(
        loss, (PosteriorBound("paper", _growth(3 * loss.epsilon) + 2 * root, failing),)
    )


def _growth(epsilon: float) -> float:
    """e^epsilon - 1, infinite where floats end."""
    return math.expm1(epsilon) if epsilon < 700 else math.inf


ENTRY = CatalogueEntry(
    NAME,
    "What do I learn that I would not have learnt without the target's record?",
    _KNOWS,
    "how much more she learns than if the target's record were not there",
    "",
    "by itself",
    ("differential-privacy",),
    about="anything",
    releases="noisy",
    stand_ins=lambda _: (AnyPrior(),),
)
