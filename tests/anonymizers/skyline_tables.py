"""Small random tables for skylines, and whether groups of them are safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any

import pyarrow as pa

import sfumato as sf
from tests.oracles.mondrian_oracle import Group

INFINITE = Fraction(10**30)  # beyond any odds of a small table


def doubt(n: int, a: int, others: list[int], k: int, case: str) -> Fraction:
    if a == 0:
        return INFINITE
    if case == "single":
        return Fraction(max(n - a - sum(others) - k, 0), a)
    (left,) = others
    return Fraction(left * max(n - a - k, 0), a * (n - a)) if n > a else Fraction(0)


def fewest_left(group: Sequence[Sequence[int]], target: int, facts: int) -> int:
    """The lists without the target value that any so many other values leave."""
    lacking = [set(person) for person in group if target not in person]
    values = sorted(set().union(*lacking))
    return min(
        sum(not person & set(chosen) for person in lacking)
        for chosen in combinations(values, min(facts, len(values)))
    )


def kin(n: int, a: int, m: int, k: int) -> Fraction:
    if a == 0 or m == 0:
        return Fraction(1)
    found = Fraction(1)
    for i in range(m):
        if n - a - k - i <= 0:
            return Fraction(0)
        found *= Fraction(n - a - k - i, n - k - i)
    return found


def odds(release: Sequence[Sequence[Sequence[int]]], target: int, point: Any, case: str) -> Any:
    """The odds against her by the closed forms, group by group: each person is her values."""
    facts, k, m = point
    own, bare, kin_aided, aided, with_kin = [], [], [], [], []
    for group in release:
        n, having = len(group), Counter(value for person in group for value in set(person))
        a = having.pop(target, 0)
        others = sorted(having.values(), reverse=True)[:facts]
        if case == "lists":
            others = [fewest_left(group, target, facts)]
        left = doubt(n, a, others, k, case)
        own.append(left * kin(n, a, m, k + 1) if left > 0 else left)
        bare.append(doubt(n, a, others, 0, case))
        kin_aided.append(kin(n, a, m, k))
        aided.append(left)
        with_kin.append(kin(n, a, m, 0))
    return min(min(own), min(bare) * min(kin_aided), min(aided) * min(with_kin))


def safe(groups: Sequence[Group], points: Sequence[Any], width: int, case: str) -> bool:
    held = [[sorted(person.values) for person in group] for group in groups]
    return all(
        odds(held, target, point[:3], case) > (1 - confidence) / confidence
        for target in range(width)
        for *point, c in points
        for confidence in [Fraction(str(c))]
    )


ILL = ["cold", "flu", "gout", "hiv"]


POINTS = [
    [(0, 0, 0, 1)],
    [(1, 0, 0, 1)],
    [(0, 1, 0, 0.9)],
    [(0, 2, 1, 1)],
    [(1, 1, 1, 0.95)],
    [(0, 3, 0, 0.8), (1, 0, 2, 0.95)],
    [(0, 0, 0, 0.5)],
    [(0, 0, 0, 0.6), (0, 1, 1, 0.8)],
]


def small_table(seed: int, *, several: str = "") -> sf.Table:
    chance = Random(seed)
    total = chance.randint(4, 40)
    values = ILL[: chance.randint(2, 4)]

    def ill() -> Any:
        if not several:
            return chance.choice(values)
        return [chance.choice(values) for _ in range(chance.randint(0, 3))]

    people = {
        "age": [chance.randint(20, 26) for _ in range(total)],
        "job": [chance.choice(["nurse", "doctor", "smith"]) for _ in range(total)],
        "ill": pa.array(
            [ill() for _ in range(total)], pa.list_(pa.string()) if several else pa.string()
        ),
    }
    schema = sf.Schema(
        quasi=["age", "job"],
        sensitive="ill",
        hierarchies={"job": sf.taxonomy({"nurse": "care", "doctor": "care", "smith": "craft"})},
        domains={"ill": ILL},
        **({"several": several} if several else {}),
    )
    return sf.read(pa.table(people), schema)
