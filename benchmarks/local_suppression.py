"""How many cells of Adult must be blanked for k = 5: ours against sdcMicro's published algorithm.

    python benchmarks/local_suppression.py [--data DIR] [--k 5]

Adult: 30,162 people, eight quasi-identifiers as they are. The baseline is the algorithm of
sdcMicro's localSuppression / kAnon, written anew from its documentation and what its code does: of
groups larger than k only k rows are looked at. In every round each row that fewer than k rows are
compatible with has one cell blanked: the rows nearest to it are those that differ from it in the
fewest columns, and of the columns in which one of these differs the least important is taken, which
is by default that with the most values. Rows that were mended meanwhile in a round are passed over,
which is to the baseline's favour. A blank fits everybody there ("anybody").

It is run a second time with a blank as a value of its own ("value"): rows are alike that show the
same values and the same blanks. That is the reading ours promises k by; whatever has k by it has k
by the other.

By "anybody" alone the figure hardly means anything: whoever blanks k - 1 rows altogether has k
everywhere. That is printed, too, counted the same way.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numba as nb
import numpy as np
import numpy.typing as npt
from results import tell

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.blanking.local_suppression import LocalSuppressionFindings
from sfumato.datasets.public_files import ADULT_QUASI as QUASI
from sfumato.datasets.public_files import ADULT_SENSITIVE as SENSITIVE
from sfumato.datasets.public_files import adult

SHARED = Path(__file__).parents[2] / "shared" / "data"
BLANK = -1
Rows = npt.NDArray[np.int32]
Counted = npt.NDArray[np.int64]


@nb.njit(cache=True)
def alike(rows: Rows, people: Counted, anybody: bool) -> Counted:
    """By how many people each row is had, or could be: f_k."""
    total, columns = rows.shape
    found = np.zeros(total, np.int64)
    for one in range(total):
        for other in range(total):
            same = True
            for c in range(columns):
                a, b = rows[one, c], rows[other, c]
                if a != b and not (anybody and (a == BLANK or b == BLANK)):
                    same = False
                    break
            if same:
                found[one] += people[other]
    return found


@nb.njit(cache=True)
def one_round(rows: Rows, problems: Counted, k: int, order: Counted, anybody: bool) -> int:
    """Blank one cell of each of these rows; returns how many cells that were."""
    total, columns = rows.shape
    blanked = 0
    apart = np.zeros(total, np.int64)
    for row in problems:
        found, nearest = 0, columns + 1
        for other in range(total):
            different = 0
            for c in range(columns):
                a, b = rows[row, c], rows[other, c]
                if a != b and not (anybody and (a == BLANK or b == BLANK)):
                    different += 1
            apart[other] = different
            if different == 0:
                found += 1
            elif different < nearest:
                nearest = different
        if found >= k:
            continue
        chosen = -1
        for c in order:
            if rows[row, c] == BLANK:
                continue
            for other in range(total):
                if apart[other] == nearest and rows[other, c] != rows[row, c]:
                    chosen = c
                    break
            if chosen >= 0:
                break
        if chosen < 0:  # it agrees with the nearest wherever it shows something
            for c in order:
                if rows[row, c] != BLANK:
                    chosen = c
                    break
        if chosen >= 0:
            rows[row, chosen] = BLANK
            blanked += 1
    return blanked


def baseline(codes: Rows, k: int, *, anybody: bool) -> tuple[int, Rows]:
    """How many cells sdcMicro's algorithm blanks, and the rows it looked at, once it did."""
    group = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    place = np.argsort(group, kind="stable")
    nth = np.arange(len(place)) - np.searchsorted(group[place], group[place])
    rows = np.ascontiguousarray(codes[np.sort(place[nth < k])])
    order = np.argsort([-len(np.unique(column)) for column in codes.T], kind="stable")
    people, total = np.ones(len(rows), dtype=np.int64), 0
    while True:
        found = alike(rows, people, anybody)
        problems = np.flatnonzero(found < k)
        problems = problems[np.argsort(found[problems], kind="stable")]  # the riskiest first
        blanked = one_round(rows, problems, k, order.astype(np.int64), anybody)
        total += blanked
        if blanked == 0:
            return total, rows


def smallest(rows: Rows, *, anybody: bool) -> int:
    """The fewest people that any row is had by, or could be."""
    distinct, people = np.unique(rows, axis=0, return_counts=True)
    return int(alike(distinct, people.astype(np.int64), anybody).min())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--k", type=int, default=5)
    given = parser.parse_args()
    file, schema = adult(given.data)
    table = sf.read(
        file, sf.Schema(quasi=QUASI, sensitive=SENSITIVE, hierarchies=schema.hierarchies)
    )
    counts = table.counts.in_memory("counting cells")
    codes = np.ascontiguousarray(np.repeat(counts.codes.T, counts.n, axis=0))
    k = given.k
    print(f"Adult: {len(codes):,} people, {codes.shape[1]} columns, {codes.size:,} cells, k = {k}")

    def told(what: str, reading: str, cells: int, began: float) -> None:
        seconds = time.perf_counter() - began
        print(f"  {what:32} {reading:8} {cells:8,} cells  {seconds:6.1f} s")

    task = Task(table, (sf.KAnonymity(k),))
    sf.LocalSuppression().run(task)  # compiles
    began = time.perf_counter()
    release = sf.LocalSuppression().run(task)
    found = LocalSuppressionFindings.of(release.made)
    assert found is not None
    shown = release.regions.require_regions()
    rows = np.array(shown.codes.T, dtype=np.int32)
    for column, parts in enumerate(shown.parts):
        star = [place for place, part in enumerate(parts) if part.text == "*"]
        rows[np.isin(rows[:, column], star), column] = BLANK
    told("ours", "value", found.cells, began)
    ours = alike(rows, release.groups.sizes, True).min()
    print(f"    smallest: {release.groups.sizes.min()} by value, {ours} by anybody")
    cells: dict[bool, int] = {}
    for anybody in (False, True):
        began = time.perf_counter()
        cells[anybody], left = baseline(codes, k, anybody=anybody)
        told("sdcMicro's algorithm", "anybody" if anybody else "value", cells[anybody], began)
        sizes = [smallest(left, anybody=reading) for reading in (False, True)]
        print(f"    smallest: {sizes[0]} by value, {sizes[1]} by anybody")
    began = time.perf_counter()
    hidden = codes.copy()
    hidden[: k - 1] = BLANK
    told(f"{k - 1} rows blank altogether", "anybody", (k - 1) * codes.shape[1], began)
    print(f"    smallest: {smallest(hidden, anybody=True)} by anybody")
    tell(
        f"cells of Adult blanked for k = {k}, a blank is a value",
        found.cells,
        other=cells[False],
        against="sdcMicro's algorithm, same reading",
        at_most=1,
        unit="cells",
    )
    tell(
        f"the same, beside a blank that fits everybody, k = {k}",
        found.cells,
        other=cells[True],
        against="sdcMicro's algorithm, its own reading",
        unit="cells",
        why="its rows are alone by the reading we promise k by, and "
        f"{k - 1} rows blank altogether ({(k - 1) * codes.shape[1]} cells) do as well by its own",
    )


if __name__ == "__main__":
    main()
