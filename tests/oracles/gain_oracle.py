"""Measures of any gain by trying every action on every person: slow and plain, in fractions.

`g(action, value)` is any function. Nothing here knows of sorting, matrices or modes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Value = Hashable
Belief = Mapping[Value, Fraction]
GainOf = Callable[[object, Value], Fraction]


@dataclass(frozen=True)
class Person:
    """Her true value, what attacker and learner believe of it, and how many are like her."""

    value: Value
    attacker: Belief
    learner: Belief
    n: int = 1


@dataclass(frozen=True)
class GainMeasures:
    gt_attacker: Fraction
    gt_learner: Fraction
    threatened: int
    highest: Fraction

    @property
    def rgt(self) -> Fraction:
        return max(self.gt_attacker - self.gt_learner, Fraction(0))


def measures(people: Sequence[Person], actions: Sequence[object], g: GainOf) -> GainMeasures:
    possible = sum(p.n * max(g(a, p.value) for a in actions) for p in people)
    highest, threatened = Fraction(0), 0
    for person in people:
        if not realised(person.attacker, person.value, actions, g):
            continue
        threatened += person.n
        gaining = [a for a in actions if g(a, person.value) > 0]
        most = max(promised(person.attacker, a, g) for a in gaining)
        ratios = [
            promised(person.attacker, a, g) / promised(person.learner, a, g)
            for a in gaining
            if promised(person.attacker, a, g) == most
        ]
        highest = max(highest, *ratios)
    shares = [
        Fraction(
            sum(p.n * realised(getattr(p, who), p.value, actions, g) for p in people), possible
        )
        for who in ("attacker", "learner")
    ]
    return GainMeasures(*shares, threatened, highest)


def promised(belief: Belief, action: object, g: GainOf) -> Fraction:
    return sum((p * g(action, value) for value, p in belief.items()), Fraction(0))


def realised(belief: Belief, value: Value, actions: Sequence[object], g: GainOf) -> Fraction:
    """What the truth gains her, on average over her best actions."""
    expected = [promised(belief, action, g) for action in actions]
    best = [a for a, e in zip(actions, expected, strict=True) if e == max(expected)]
    return sum((g(action, value) for action in best), Fraction(0)) / len(best)
