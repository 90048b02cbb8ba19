"""Semantic privacy by enumeration: every table, every outcome, every game, and any prior.

A mechanism is given in full: for each table (a tuple of records) the probability of each outcome.
In game 0 the adversary sees the outcome of the table, in game i that of the table with record i
replaced by a default; her posterior over tables follows from her prior by Bayes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

Records = tuple[object, ...]
Mechanism = Mapping[Records, Mapping[object, float]]
Prior = Mapping[Records, float]


def replaced(table: Records, person: int, default: object) -> Records:
    return (*table[:person], default, *table[person + 1 :])


def posterior(prior: Prior, likelihood: Mapping[Records, float]) -> dict[Records, float] | None:
    weights = {table: prior[table] * likelihood[table] for table in prior}
    total = sum(weights.values())
    return None if total == 0 else {table: weight / total for table, weight in weights.items()}


def distances(
    mechanism: Mechanism, prior: Prior, default: object
) -> dict[tuple[object, int], float]:
    """By outcome and person: how far the posteriors of game 0 and of her game are apart."""
    people = len(next(iter(mechanism)))
    found = {}
    for outcome in {one for told in mechanism.values() for one in told}:
        seen = posterior(prior, {table: mechanism[table].get(outcome, 0.0) for table in prior})
        for person in range(people):
            without = posterior(
                prior,
                {
                    table: mechanism[replaced(table, person, default)].get(outcome, 0.0)
                    for table in prior
                },
            )
            if seen is None or without is None:
                continue  # an outcome that one of the games never shows her
            found[outcome, person] = sum(abs(seen[x] - without[x]) for x in prior) / 2
    return found


def supremum(mechanism: Mechanism, default: object) -> float:
    """The largest distance over all priors.

    Only the ratio of the two likelihoods of each table matters; the worst prior sits on the tables
    of the largest and of the smallest ratio, weighted by their square root.
    """
    people = len(next(iter(mechanism)))
    worst = 0.0
    for outcome in {one for told in mechanism.values() for one in told}:
        for person in range(people):
            pairs = [
                (
                    told.get(outcome, 0.0),
                    mechanism[replaced(table, person, default)].get(outcome, 0.0),
                )
                for table, told in mechanism.items()
            ]
            pairs = [pair for pair in pairs if any(pair)]
            if not any(a for a, _ in pairs) or not any(b for _, b in pairs):
                continue
            if any(not a or not b for a, b in pairs):
                return 1.0
            ratios = [b / a for a, b in pairs]
            spread = math.sqrt(max(ratios) / min(ratios))
            worst = max(worst, (spread - 1) / (spread + 1))
    return worst


def indistinguishable(mechanism: Mechanism, values: tuple[object, ...]) -> float:
    """The smallest epsilon by which tables that differ in one record are indistinguishable."""
    worst = 0.0
    for table, told in mechanism.items():
        for person in range(len(table)):
            for value in values:
                other = mechanism[replaced(table, person, value)]
                for outcome, chance in told.items():
                    if chance:
                        beside = other.get(outcome, 0.0)
                        worst = max(worst, math.log(chance / beside) if beside else math.inf)
    return worst


def total_variation(mechanism: Mechanism, values: tuple[object, ...]) -> float:
    """The largest statistical distance of the outcomes of two neighbours."""
    return max(
        sum(abs(told.get(o, 0.0) - other.get(o, 0.0)) for o in {*told, *other}) / 2
        for table, told in mechanism.items()
        for person in range(len(table))
        for value in values
        if (other := mechanism[replaced(table, person, value)]) is not None
    )


def failing(
    mechanism: Mechanism, prior: Prior, default: object, person: int, distance: float
) -> float:
    """How probable an outcome of game 0 is that moves her further than this, or that the person's
    own game never shows."""
    far = distances(mechanism, prior, default)
    total = 0.0
    for outcome in {one for told in mechanism.values() for one in told}:
        if far.get((outcome, person), 1.0) > distance:
            total += sum(prior[table] * mechanism[table].get(outcome, 0.0) for table in prior)
    return total / sum(prior.values())


def smallest_delta(
    mechanism: Mechanism, default: object, epsilon: float, bad: Collection[Records] = ()
) -> float:
    """The smallest delta by which a table and the same with a default are indistinguishable, both
    ways, for every table but the bad ones."""
    worst = 0.0
    for table, told in mechanism.items():
        if table in bad:
            continue
        for person in range(len(table)):
            other = mechanism[replaced(table, person, default)]
            for one, two in ((told, other), (other, told)):
                excess = (one[o] - math.exp(epsilon) * two.get(o, 0.0) for o in one)
                worst = max(worst, sum(part for part in excess if part > 0))
    return worst
