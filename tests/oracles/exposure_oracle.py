"""What several releases tell of people, by trying every choice; and small releases to ask it of."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pyarrow as pa

import sfumato as sf
from tests.oracles.composition_oracle import groups_of

VALUES = tuple("stuv")


def shown_of(one: sf.Release, person: dict[str, object]) -> set[str] | None:
    """The values an earlier release shows of a person; None if it does not locate her."""
    found = groups_of(one, person, {})
    return {label for g in found for label in one.groups.counts_of(g)} if found else None


def fewest_left(mine: set[str], earlier: list[sf.Release], person: dict[str, object]) -> int:
    """Every choice of earlier releases, in turn."""
    told = [shown for one in earlier if (shown := shown_of(one, person)) is not None]
    choices = chain.from_iterable(combinations(told, n) for n in range(len(told) + 1))
    left = [mine.intersection(*choice) for choice in choices]
    return min(len(values) for values in left if values)


def drop(mine: set[str], earlier: list[sf.Release], person: dict[str, object]) -> int:
    """How many values fewer than the fewest any one release leaves; at most so many where some
    release is not about her."""
    told = [shown for one in earlier if (shown := shown_of(one, person)) is not None]
    if told and mine.intersection(*told):
        return min(len(mine), *map(len, told)) - len(mine.intersection(*told))
    return len(mine) - fewest_left(mine, earlier, person)


def exposed_before(
    everything: set[str],
    earlier: list[sf.Release],
    person: dict[str, object],
    most: int,
    least: int,
) -> bool:
    """Whether earlier releases by themselves leave so few values, and so many fewer than one."""
    told = [shown for one in earlier if (shown := shown_of(one, person)) is not None]
    left = fewest_left(everything, earlier, person)
    lost = min(map(len, told), default=0) - left
    return bool(told) and left <= most and (not least or lost >= least)


def table_of(seed: int, n: int = 120) -> sf.Table:
    rng = np.random.default_rng(seed)
    rows = pa.table(
        {
            "x": rng.integers(0, 10, n),
            "w": np.array(["aa", "ab", "ba"])[rng.integers(0, 3, n)],
            "s": np.array(VALUES)[rng.integers(0, 4, n)],
        }
    )
    return sf.read(rows, sf.Schema(["x", "w"], "s"))
