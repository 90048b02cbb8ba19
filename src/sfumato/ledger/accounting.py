"""What randomised releases about one population add up to.

Basic composition: releases about the same people that promise (eps_i, delta_i) together promise
(sum eps_i, sum delta_i). Releases without such a promise add nothing to the sum and are not covered
by it: they are counted beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.release.guarantee import RELATIONS, Relation

if TYPE_CHECKING:
    from sfumato.ledger.ledger import Entry


@dataclass(frozen=True)
class Spent:
    """The sum over a population by one relation of neighbours.

    `epsilon` and `delta` are None where some release promises nothing by that relation. `releases`
    are randomised, `unprotected` have no such promise at all.
    """

    population: str
    neighbours: Relation
    epsilon: float | None
    delta: float | None
    releases: int
    unprotected: int


def add_up(entries: Sequence[Entry]) -> tuple[Spent, ...]:
    """The sums for each population that has a randomised release."""
    found = []
    for population in dict.fromkeys(entry.population for entry in entries):
        mine = [entry for entry in entries if entry.population == population]
        promised = [entry.guarantee for entry in mine if entry.guarantee is not None]
        if not promised:
            continue
        for relation in RELATIONS:
            losses = [guarantee.under(relation) for guarantee in promised]
            known = [loss for loss in losses if loss is not None]
            every = len(known) == len(losses)
            found.append(
                Spent(
                    population,
                    relation,
                    _sum(loss.epsilon for loss in known) if every else None,
                    min(_sum(loss.delta for loss in known), 1.0) if every else None,
                    len(promised),
                    len(mine) - len(promised),
                )
            )
    return tuple(found)


def _sum(numbers: Iterable[float]) -> float:
    """By the decimals that were written: 0.1 three times is 0.3."""
    return float(sum((Fraction(str(number)) for number in numbers), Fraction(0)))
