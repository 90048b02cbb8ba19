"""Tiny releases to try the skyline on, and the golden ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sfumato.release.groups import Groups
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
