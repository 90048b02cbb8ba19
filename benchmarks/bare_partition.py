"""The floor of `mondrian.py`: nothing but a partition of the same codes, compiled.

A group is split at the median of its widest column, of the next where that is not allowed, as long
as both parts have k people and l values. No bounds, no releases, no checks: rows are moved, and
that is all. Two threads, as the search has them.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numba as nb
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


@nb.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _finish(
    codes: Codes,
    n: Array,
    values: Codes,
    sizes: Array,
    start: int,
    stop: int,
    k: int,
    l: int,  # noqa: E741
    small: int,
) -> list[tuple[int, int]]:
    """Split a run of rows; parts of at most `small` rows are left. Returns the parts."""
    columns = codes.shape[1]
    done, waiting = [(start, start)], [(start, stop)]
    done.pop()
    spare_codes = np.empty((stop - start, columns), np.int32)
    spare_n, spare_values = np.empty(stop - start, np.int64), np.empty(stop - start, np.int32)
    people = np.zeros(sizes.max(), np.int64)
    low, high = np.empty(columns, np.int64), np.empty(columns, np.int64)
    while waiting:
        first, last = waiting.pop()
        if last - first <= small:
            done.append((first, last))
            continue
        for c in range(columns):
            low[c] = high[c] = codes[first, c]
        for row in range(first, last):
            for c in range(columns):
                low[c], high[c] = min(low[c], codes[row, c]), max(high[c], codes[row, c])
        order = np.argsort(-(high - low) / (sizes - 1))
        split = False
        for c in order:
            if high[c] == low[c]:
                break
            people[: sizes[c]] = 0
            everybody = 0
            for row in range(first, last):
                people[codes[row, c]] += n[row]
                everybody += n[row]
            left, best, cut = 0, -1, 0
            for code in range(low[c], high[c]):
                left += people[code]
                away = abs(2 * left - everybody)
                if best < 0 or away < best:
                    best, cut = away, code
            less, seen_less, seen_more = 0, 0, 0
            for row in range(first, last):
                if codes[row, c] <= cut:
                    less += n[row]
                    seen_less |= 1 << values[row]
                else:
                    seen_more |= 1 << values[row]
            many_less = many_more = 0
            for value in range(64):
                many_less += (seen_less >> value) & 1
                many_more += (seen_more >> value) & 1
            if min(less, everybody - less) < k or min(many_less, many_more) < l:
                continue
            at, aside = first, 0
            for row in range(first, last):
                if codes[row, c] <= cut:
                    for d in range(columns):
                        codes[at, d] = codes[row, d]
                    n[at], values[at] = n[row], values[row]
                    at += 1
                else:
                    for d in range(columns):
                        spare_codes[aside, d] = codes[row, d]
                    spare_n[aside], spare_values[aside] = n[row], values[row]
                    aside += 1
            for row in range(aside):
                for d in range(columns):
                    codes[at + row, d] = spare_codes[row, d]
                n[at + row], values[at + row] = spare_n[row], spare_values[row]
            waiting.append((first, at))
            waiting.append((at, last))
            split = True
            break
        if not split:
            done.append((first, last))
    return done


def partition(codes: Codes, n: Array, values: Codes, sizes: Array, k: int, l: int) -> int:  # noqa: E741
    """How many groups a partition of these tuples (rows by columns) ends with."""
    rows = (codes.copy(), n.copy(), values.copy(), sizes)
    large = _finish(*rows, 0, len(n), k, l, len(n) // 16)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = pool.map(lambda part: len(_finish(*rows, *part, k, l, 0)), large)
        return sum(parts)
