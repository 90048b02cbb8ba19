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
For (eps, delta), over outcomes of the release:
  the paper's  (Theorem 1) e^(3 eps) - 1 + 2 sqrt(delta), but for a probability of 4 n sqrt(delta);
               the order n sqrt(delta) is the paper's, the constant 4 of the authors' later version.
               It says nothing above eps = .23, or where n sqrt(delta) is not small.
  tight        T + (1 - T) s with T = tanh(eps / 2), but for a probability of at most
               delta (1 + (1 - s) e^eps) / s about each person, n times that about anybody at once;
               s is chosen by the probability that is asked for. Where delta = 0 it is the one
               above, where eps = 0 a mechanism reaches it; in between it is true.
Why: cut each likelihood P of game 0 down to e^eps times that of game i, Q, and Q down to e^eps P.
That takes delta of each table's outcomes at most, and what is left are likelihoods as above. If the
cut parts are shares b0 of what she sees in game 0 and bi of it in game i, the posteriors overlap by
(1 - max(b0, bi)) (1 - T) at least. Outcomes with b0 > s have a probability of at most delta / s. Of
the others, those with bi > s have P <= e^eps (1 - bi) Q + b0 P: all in all at most
delta (1 + (1 - s) e^eps) / s. An outcome that game i never shows counts as one of them.

Theorem 2: indistinguishability may fail altogether for some tables (`bad_tables`, by what prior
probability). The paper has the same bound if that is at most delta; in ours it adds to delta, since
everything such a table shows may be cut. A bound that says nothing is told as "vacuous", never as a
number above 1.
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
from sfumato.errors import InputError, MissingExtra, expect, quoted
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
            _accounted(measures.zero_concentrated_divergence(), float(loss.rho))
        )
    pure = _accounted(measures.max_divergence(), float(loss.epsilon))
    concentrated = combine.make_pureDP_to_zCDP(pure)
    if not loss.delta:
        return combine.make_approximate(concentrated)
    rough = measures.approximate(measures.zero_concentrated_divergence())
    return _accounted(rough, (float(concentrated.map(1)), float(loss.delta)))


def _accounted(measure: Any, loss: Any) -> Any:
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


_LARGEST = 0.99995  # what is printed as less than 1
FAILING = 0.01  # how probable it may be that a bound fails, where nobody said


@dataclass(frozen=True)
class PosteriorBound:
    """Posteriors differ by at most `distance`, except with probability `failing`.

    `failing` is None where it depends on the number of people and that is not known. `about`: so
    often does it fail for "anybody" of all people at once, or for "each" of them.
    """

    source: Literal["paper", "tight"]
    distance: float
    failing: float | None = 0.0
    about: Literal["anybody", "each"] = "anybody"

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing, in four digits: no two distributions differ by more than 1."""
        return self.distance >= _LARGEST or self.failing is None or self.failing >= 1

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
            f" (the paper's bound: {bound})"
            for bound in self.bounds
            if bound is not best and bound.source == "paper"
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
        # A number of people that is noisy bounds nothing. Where it is public, who joins or leaves
        # is promised nothing.
        public = release.guarantee.under("add-remove") is None and release.people > 0
        return semantic_privacy(release.guarantee, release.people if public else None)


def semantic_privacy(
    promised: Guarantee | PrivacyLoss,
    people: int | None = None,
    *,
    failing: float = FAILING,
    bad_tables: float = 0.0,
) -> SemanticPrivacy:
    """The bounds of a guarantee, or of a loss by replace-one.

    `bad_tables`: the prior probability of tables for which the promise does not hold. With delta or
    such tables a bound may fail: ours with the probability `failing`, about each person and, if the
    number of `people` is known (public, not a noisy one), about anybody at once.
    """
    expect("promised", promised, (Guarantee, PrivacyLoss), "a Guarantee or a PrivacyLoss")
    if people is not None and (
        not isinstance(people, int) or isinstance(people, bool) or people < 1
    ):
        raise InputError(f"people = {quoted(people)} is not allowed; it is a whole number above 0")
    for name, given, least in (("failing", failing, 0), ("bad_tables", bad_tables, -1)):
        number = isinstance(given, int | float) and not isinstance(given, bool)
        if not number or not max(least, 0) <= given < 1 or given == least:
            above = "above 0" if least == 0 else "0 or more"
            raise InputError(f"{name} = {quoted(given)} is not allowed; it is {above} and below 1")
    loss = promised.under("replace-one") if isinstance(promised, Guarantee) else promised
    assert loss is not None  # some promise by replace-one follows from any
    tight = math.tanh(loss.epsilon / 2)
    if loss.delta == 0 and bad_tables == 0:
        paper = PosteriorBound("paper", _growth(loss.epsilon))
        return SemanticPrivacy(loss, (paper, PosteriorBound("tight", tight)))
    root = math.sqrt(max(loss.delta, bad_tables))
    often = None if people is None else 4 * people * root
    bounds = [PosteriorBound("paper", _growth(3 * loss.epsilon) + 2 * root, often)]
    cut = loss.delta + bad_tables
    if people is not None:
        bounds.append(_mixed(loss.epsilon, people * cut, failing, "anybody"))
    bounds.append(_mixed(loss.epsilon, cut, failing, "each"))
    return SemanticPrivacy(loss, tuple(bounds))


def _mixed(
    epsilon: float, cut: float, failing: float, about: Literal["anybody", "each"]
) -> PosteriorBound:
    """The bound that fails so often, where so much of the likelihoods must be cut away."""
    growth = math.exp(min(epsilon, 700))
    share = 1.0 if failing <= cut else cut * (1 + growth) / (failing + cut * growth)
    tight = math.tanh(epsilon / 2)
    return PosteriorBound("tight", tight + (1 - tight) * share, failing, about)


def _growth(epsilon: float) -> float:
    """e^epsilon - 1, infinite where floats end."""
    return math.expm1(epsilon) if epsilon < 700 else math.inf


ENTRY = CatalogueEntry(
    NAME,
    "Could her record show, whatever is known?",
    _KNOWS,
    "how much more she learns than if the target's record were not there",
    "",
    "by itself",
    ("differential-privacy",),
    about="anything",
    releases="noisy",
    stand_ins=lambda _: (AnyPrior(),),
)
