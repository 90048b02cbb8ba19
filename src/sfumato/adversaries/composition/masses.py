"""Intersecting what releases say of a person, compiled: values left, and how much speaks for each.

All releases lie one behind another: group g holds the values `codes[indptr[g]:indptr[g + 1]]` with
the masses beside them, and unit u (a person's place in one release) may be in the groups
`groups[begins[u]:begins[u + 1]]`. `units[j, i]` is the unit of case i in release j.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Ints

Floats = npt.NDArray[np.float64]


@nb.njit(cache=True)
def _pour(
    indptr: Ints,
    codes: Ints,
    masses: Floats,
    groups: Ints,
    start: int,
    stop: int,
    into: Floats,
    touched: Ints,
) -> tuple[int, float]:
    """Sum the masses of some groups; how many values they show, and their total."""
    shown, total = 0, 0.0
    for place in range(start, stop):
        g = groups[place]
        for stored in range(indptr[g], indptr[g + 1]):
            code, mass = codes[stored], masses[stored]
            if into[code] == 0.0 and mass > 0.0:
                touched[shown] = code
                shown += 1
            into[code] += mass
            total += mass
    return shown, total


@nb.njit(cache=True, nogil=True)
def intersect(
    indptr: Ints,
    codes: Ints,
    masses: Floats,
    begins: Ints,
    groups: Ints,
    units: Ints,
    tilt: Floats,
) -> tuple[Ints, Ints, Ints, Floats]:
    """For each case: how many values each release leaves (0: not located), and those all leave.

    The values left are `values[ends[i]:ends[i + 1]]`, ascending, with the adversary's posterior;
    `tilt[s]` multiplies it once for every release but the first. Releases that do not locate a
    case are left out of its intersection.
    """
    releases, cases = units.shape
    width = len(tilt)
    before = np.zeros((releases, cases), np.int64)
    ends = np.zeros(cases + 1, np.int64)
    values = np.empty(max(2 * cases, 64), np.int64)
    posterior = np.empty(len(values))
    into = np.zeros((releases, width))
    touched = np.empty((releases, width), np.int64)
    shown = np.zeros(releases, np.int64)
    filled = 0
    for i in range(cases):
        first, located = -1, 0
        for j in range(releases):
            u = units[j, i]
            shown[j], _ = _pour(
                indptr, codes, masses, groups, begins[u], begins[u + 1], into[j], touched[j]
            )
            before[j, i] = shown[j]
            if begins[u + 1] > begins[u]:
                located += 1
                if first < 0 or shown[j] < shown[first]:
                    first = j
        start = filled
        if first >= 0:
            while filled + shown[first] > len(values):
                values = np.concatenate((values, np.empty(len(values), np.int64)))
                posterior = np.concatenate((posterior, np.empty(len(posterior))))
            for place in range(shown[first]):
                code = touched[first, place]
                everywhere = True
                for j in range(releases):
                    if shown[j] > 0 and into[j, code] == 0.0:
                        everywhere = False
                        break
                if everywhere:
                    values[filled] = code
                    filled += 1
            values[start:filled] = np.sort(values[start:filled])
            _weigh(values[start:filled], posterior[start:filled], into, shown, tilt)
        ends[i + 1] = filled
        for j in range(releases):
            for place in range(shown[j]):
                into[j, touched[j, place]] = 0.0
    return before, ends, values[:filled].copy(), posterior[:filled].copy()


@nb.njit(cache=True)
def _weigh(values: Ints, out: Floats, into: Floats, shown: Ints, tilt: Floats) -> None:
    """The product over releases, scaled after each so that many releases do not underflow."""
    out[:] = 1.0
    already = False
    for j in range(len(shown)):
        if shown[j] == 0:
            continue
        most = 0.0
        for place in range(len(values)):
            out[place] *= into[j, values[place]]
            if already:
                out[place] *= tilt[values[place]]
            most = max(most, out[place])
        already = True
        for place in range(len(values)):
            out[place] /= most
    total = out.sum()
    for place in range(len(values)):
        out[place] /= total
