"""A column whose regions cross, as one problem by sensitive value.

For each sensitive value the column is cut into atoms anew, by the regions that people with this
value show: fewer atoms, less to explore.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.column import Column
from sfumato.counts.counts import Ints

Floats = npt.NDArray[np.float64]
NONE = -1


@dataclass(frozen=True)
class Problems:
    """A column as one problem by sensitive value, laid out for the kernel.

    `atom_at[s, a]` is where the column's atom a lies in theta for value s. `cell[s, p]` numbers the
    regions people with s show; cell i holds `cell_atoms[cell_begins[i]:cell_begins[i + 1]]`.
    """

    atom_at: Ints
    prior: Floats  # the prior weight of each atom of theta
    cell: Ints
    cell_begins: Ints
    cell_atoms: Ints
    begins: Ints
    beta: Floats  # the prior weight and the people known to be there
    part_begins: Ints
    people: Ints
    atom_begins: Ints
    atoms: Ints
    pair_begins: Ints
    pair_parts: Ints
    pair_sides: Ints


def problems_of(column: Column, cells: Floats, *, merge: bool = True) -> Problems:
    """`cells[s, p]` people with s show region p. `merge`: values s need not tell apart are one."""
    width, total = column.width, 0
    atom_at = np.zeros((len(cells), width), dtype=np.int64)
    cell = np.full(cells.shape, NONE, dtype=np.int64)
    prior, fixed, begins, part_begins = [], [], [0], [0]
    cell_lists: list[Ints] = []
    parts: list[Ints] = []
    people: list[int] = []
    for s in range(len(cells)):
        shown = np.flatnonzero(cells[s])
        number = _own_atoms(column, shown) if merge else np.arange(width)
        atom_at[s] = total + number
        own = int(number[-1]) + 1
        weight = np.bincount(number, weights=column.weight[min(s, len(column.beta) - 1)])
        pinned = weight.copy()
        for part in shown.tolist():
            inside = np.unique(number[column.of_part(part)])
            cell[s, part] = len(cell_lists)
            cell_lists.append(total + inside)
            if len(inside) == 1:
                pinned[inside[0]] += cells[s, part]
            elif len(inside) < own:
                parts.append(total + inside)
                people.append(int(cells[s, part]))
        prior.append(weight)
        fixed.append(pinned)
        total += own
        begins.append(total)
        part_begins.append(len(parts))
    pair_begins, pair_parts, pair_sides = _neighbours(parts, total)
    return Problems(
        atom_at,
        np.concatenate(prior),
        cell,
        *_flat(cell_lists),
        np.array(begins, dtype=np.int64),
        np.concatenate(fixed),
        np.array(part_begins, dtype=np.int64),
        np.array(people, dtype=np.int64),
        *_flat(parts),
        pair_begins,
        pair_parts,
        pair_sides,
    )


def _own_atoms(column: Column, shown: Ints) -> Ints:
    """The number of each atom when only these regions count."""
    cut = np.zeros(column.width + 1, dtype=bool)
    for part in shown.tolist():
        atoms = column.of_part(part)
        gap = np.flatnonzero(np.diff(atoms) > 1)
        cut[atoms[0]] = cut[atoms[-1] + 1] = True
        cut[atoms[gap + 1]] = cut[atoms[gap] + 1] = True
    cut[0] = False
    return np.cumsum(cut[:-1])


def _flat(lists: list[Ints]) -> tuple[Ints, Ints]:
    begins = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    return begins, np.concatenate([np.zeros(0, dtype=np.int64), *lists])


def _neighbours(parts: list[Ints], total: int) -> tuple[Ints, Ints, Ints]:
    """For every atom, the regions that hold it or the next one but not both."""
    atom, region, side = [], [], []
    for number, inside in enumerate(parts):
        gap = np.flatnonzero(np.diff(inside) > 1)
        last = np.concatenate([inside[gap], inside[-1:]])  # the next atom is outside
        first = np.concatenate([inside[:1], inside[gap + 1]])  # the one before is outside
        atom += [last, first - 1]
        side += [np.zeros(len(last), np.int64), np.ones(len(first), np.int64)]
        region += [np.full(len(last) + len(first), number, np.int64)]
    none = np.zeros(0, dtype=np.int64)
    at, sides = np.concatenate([none, *atom]), np.concatenate([none, *side])
    regions = np.concatenate([none, *region])
    order = np.argsort(at, kind="stable")
    begins = np.searchsorted(at[order], np.arange(total + 1)).astype(np.int64)
    return begins, regions[order], sides[order]
