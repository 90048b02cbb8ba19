"""Tiny releases to try the skyline on, and the golden ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError
from sfumato.release.groups import Groups
from tests.oracles import belief_oracle
from tests.oracles.skyline_oracle import Case, Tiny

GOLDEN = Path(__file__).parents[2] / "golden"
FILES: dict[Case, str] = {
    "single": "skyline_svpi",
    "set": "skyline_mvpi_set",
    "multiset": "skyline_mvpi_multiset",
}
CASES: tuple[Case, ...] = tuple(FILES)
LABELS = "ABCDEFGH"


def golden(case: Case) -> list[dict[str, Any]]:
    content = json.loads((GOLDEN / f"{FILES[case]}.json").read_text(encoding="utf-8"))
    return list(content["candidates"])


def golden_groups(candidate: dict[str, Any], case: Case) -> Groups:
    """The groups of a golden candidate; its target value is among their values, absent or not."""
    shown = {value for group in candidate["groups"] for value in group["counts"]}
    values = sorted(shown | {candidate["sigma"]})
    counts = [[group["counts"].get(value, 0) for value in values] for group in candidate["groups"]]
    return Groups(counts, values, [group["n"] for group in candidate["groups"]], case=case)


def groups_of(tiny: Tiny) -> Groups:
    return Groups(
        [counts for _, counts in tiny.groups],
        LABELS[: tiny.width],
        [n for n, _ in tiny.groups],
        case=tiny.case,
    )


@st.composite
def tinies(draw: st.DrawFn, case: Case, *, people: int = 8, worlds: int = 800) -> Tiny:
    """A release that can still be enumerated."""
    width = draw(st.integers(1, 3))
    groups: list[tuple[int, tuple[int, ...]]] = []
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 4))
        if case == "single":
            held = draw(st.lists(st.integers(0, width - 1), min_size=n, max_size=n))
            counts = tuple(np.bincount(held, minlength=width).tolist())
        else:
            most = n if case == "set" else 3
            counts = tuple(draw(st.lists(st.integers(0, most), min_size=width, max_size=width)))
        grown = [*groups, (n, counts)]
        if sum(n for n, _ in grown) > people or Tiny(tuple(grown), case).worlds > worlds:
            break
        groups = grown
    if not groups:
        groups = [(1, tuple([1] + [0] * (width - 1)))]
    return Tiny(tuple(groups), case)


def random_facts(
    names: list[str], values: Sequence[str], chance: random.Random
) -> list[tuple[sf.Has | sf.Lacks | sf.Implies, belief_oracle.Fact]]:
    """Facts as we take them, and whether each is so as the oracle asks it."""

    def statement() -> tuple[sf.Has | sf.Lacks, belief_oracle.Fact]:
        name, value, has = chance.choice(names), chance.choice(values), chance.random() < 0.4
        return (sf.Has if has else sf.Lacks)(name, value), lambda all_: (value in all_[name]) == has

    facts: list[tuple[sf.Has | sf.Lacks | sf.Implies, belief_oracle.Fact]] = []
    for _ in range(chance.randint(0, 3)):
        (given, if_so), (then, so) = statement(), statement()
        if chance.random() < 0.5:
            facts.append((given, if_so))
        else:
            facts.append((
                sf.Implies(given, then),
                lambda all_, if_so=if_so, so=so: not if_so(all_) or so(all_),
            ))  # fmt: skip
    return facts


def compare_with_worlds(
    release: sf.Release,
    groups: list[belief_oracle.Slots],
    people: dict[str, dict[str, object]],
    fits: dict[str, Callable[[Mapping[str, object]], bool]],
    values: Sequence[str],
    chance: random.Random,
) -> None:
    """What is believed by some facts is what the oracle's worlds say; `fits`: who may be whom."""
    facts = random_facts(list(people), values, chance)
    target, value = chance.choice(list(people)), chance.choice(values)
    concerned = {target} | {
        str(part.person)
        for fact, _ in facts
        for part in ((fact.given, fact.then) if isinstance(fact, sf.Implies) else (fact,))
    }
    right = list(
        belief_oracle.beliefs(
            groups,
            {name: fit for name, fit in fits.items() if name in concerned},
            [so for _, so in facts],
            lambda all_: value in all_[target],
        )
    )
    told = [fact for fact, _ in facts]
    if not right:
        with pytest.raises(InputError):
            sf.belief(release, target, value, told, people=people)
        return
    believed = sf.belief(release, target, value, told, people=people)
    assert (believed, believed.least) == (max(right), min(right))
