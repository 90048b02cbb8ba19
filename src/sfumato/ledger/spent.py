"""What randomised releases about one population add up to.

Releases about the same people that promise (eps_i, delta_i) together promise (sum eps_i, sum
delta_i): basic composition. Of many releases OpenDP tells a smaller epsilon at some delta, which
is told beside it where OpenDP is installed (`adversaries/randomised.py`). Releases without such a
promise add nothing to either and are not covered by them: they are counted beside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sfumato.adversaries.randomised import compose
from sfumato.release.guarantee import RELATIONS, Guarantee, PrivacyLoss, Relation


@dataclass(frozen=True)
class Spent:
    """What a population's releases promise together, by one relation of neighbours.

    `epsilon` and `delta` are the basic sums, None where some release promises nothing by that
    relation. `tighter` is OpenDP's figure, None where there is none, and `note` says why.
    `releases` are randomised, `unprotected` have no such promise at all.
    """

    about: str
    neighbours: Relation
    epsilon: float | None
    delta: float | None
    releases: int
    unprotected: int
    tighter: PrivacyLoss | None = None
    note: str = ""

    @property
    def basic(self) -> PrivacyLoss | None:
        """The sums."""
        if self.epsilon is None or self.delta is None:
            return None
        return PrivacyLoss(self.epsilon, self.delta)

    def to_dict(self) -> dict[str, object]:
        """The sum for JSON."""
        return asdict(self)


Promised = tuple[str, Guarantee | None]  # the population a release is about, and what it promises


def add_up(promised: Sequence[Promised]) -> tuple[Spent, ...]:
    """The sums for each population that has a randomised release."""
    spent = []
    for population in dict.fromkeys(name for name, _ in promised):
        guarantees = [guarantee for name, guarantee in promised if name == population]
        given = [guarantee for guarantee in guarantees if guarantee is not None]
        if given:
            unprotected = len(guarantees) - len(given)
            spent += [_spent(population, given, relation, unprotected) for relation in RELATIONS]
    return tuple(spent)


def _spent(
    population: str, given: Sequence[Guarantee], relation: Relation, unprotected: int
) -> Spent:
    together = compose(given, neighbours=relation)
    basic = together.basic if math.isfinite(together.basic.epsilon) else None
    return Spent(
        population,
        relation,
        None if basic is None else basic.epsilon,
        None if basic is None else basic.delta,
        len(given),
        unprotected,
        together.tighter,
        together.why,
    )
