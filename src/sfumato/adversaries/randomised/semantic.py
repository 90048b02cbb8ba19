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
from dataclasses import dataclass
from typing import Literal

from sfumato.adversaries.base import BeliefChange, CatalogueEntry, Threat
from sfumato.errors import InputError, expect
from sfumato.release.groups import Groups
from sfumato.release.guarantee import Guarantee, PrivacyLoss
from sfumato.release.release import Release

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
        told = [bound for bound in self.bounds if not bound.vacuous]
        return min(told, key=lambda bound: bound.distance, default=None)

    def threats(self) -> list[Threat]:
        """The row of the report's threat matrix: one, about everybody alike."""
        best = self.best
        if best is None:
            why = f"not bounded: {self.loss} by replace-one, for which the bound is vacuous"
            return [Threat(NAME, _KNOWS, why, status="not_measured")]
        paper = "".join(f" (the paper's bound: {one})" for one in self.bounds if one is not best)
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
