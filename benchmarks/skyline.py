"""Checking skyline points against the dynamic-programming baseline, and at scale.

    python benchmarks/skyline.py [--groups 50000]

Groups of 100 people with 20 uniform values, 5 million people by default. One value and one point:
`breach_probability` against the paper's baseline (`papers/skyline.py`), which tries
every distribution of what is known over the groups; the whole number of groups, same process, both
compiled, warm and in one thread, best of 15 and of 3, processor time. Required: 140 times at
(10, 10, 10), 1,000 times at k = 32. Then 20 values at 5 points each, from counts (required: 0.5 s),
and what memory one point takes as the groups grow.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from results import tell

import sfumato as sf
from sfumato.adversaries.skyline.breach import breach, minima
from sfumato.papers.skyline import breach_by_programming

SIZE, VALUES = 100, 20
# And how many times as fast as the baseline the check must be.
POINTS = {
    (10, 0, 10): None,
    (10, 10, 10): 140,
    (0, 10, 10): None,
    (10, 10, 0): None,
    (10, 32, 10): 1_000,
}
FIVE = [(0, 0, 0), (3, 10, 10), (10, 10, 10), (2, 5, 3), (1, 20, 2)]


def best(
    run: Callable[[], Any], times: int, clock: Callable[[], float] = time.process_time
) -> tuple[float, Any]:
    """The least time of several runs, and what they find."""
    least, found = np.inf, None
    for _ in range(times):
        start = clock()
        found = run()
        least = min(least, clock() - start)
    return least, found


def counts(groups: int, seed: int = 3) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.random.default_rng(seed).multinomial(SIZE, [1 / VALUES] * VALUES, size=groups)


def against_the_baseline(dense: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    groups = sf.Groups(dense)
    breach_by_programming(dense[:5], 0, 1, 1, 1)
    for point, times in POINTS.items():
        ours, found = best(lambda p=point: sf.breach_probability(groups, "0", *p), 15)
        theirs, same = best(lambda p=point: breach_by_programming(dense, 0, *p), 3)
        assert abs(found - same) < 1e-9, (point, found, same)
        work = f"skyline point {point}, {SIZE * len(dense):,} people"
        tell(work, ours, other=theirs, against="dynamic programme", at_least=times or 1)


def many_questions(dense: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    targets = [value for value in range(VALUES) for _ in FIVE]
    points = FIVE * VALUES
    for case in ("single", "set", "multiset"):  # what plain counts may stand for
        groups = sf.Groups(dense, case=case)
        start = time.perf_counter()
        breach(minima(groups, targets, points, case))
        first = time.perf_counter() - start
        took, _ = best(lambda g=groups, c=case: minima(g, targets, points, c), 5, time.perf_counter)
        tell(f"20 values at 5 points, {case}", took, at_most=0.5, why=f"first call {first:.2f} s")


def peak(run: Callable[[], Any]) -> int | None:
    """Kilobytes by which the process grows at most while something runs; None off Linux."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        before = _status("VmRSS")
        run()
        return _status("VmHWM") - before
    except OSError:
        return None


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def memory(groups: int) -> None:
    for number in (groups, 4 * groups):
        held = sf.Groups(counts(number))
        minima(held, [0], [(10, 10, 10)], "single")
        grown = peak(lambda h=held: minima(h, [0], [(10, 10, 10)], "single"))
        told = "not measured here" if grown is None else f"{grown:,} kB"
        print(f"  {number:>9,} groups ({held.data.nbytes >> 20} MB of counts): {told}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--groups", type=int, default=50_000)
    number = parser.parse_args().groups
    dense = counts(number)
    print(f"{number * SIZE:,} people in {number:,} groups of {SIZE}, {VALUES} values")
    against_the_baseline(dense)
    many_questions(dense)
    print("Memory one point takes beside the counts:")
    memory(number)


if __name__ == "__main__":
    main()
