"""The cells of a contingency table, fixed by schema and policy, and how many people are in each.

`Cells.of` never sees a table. `count_cells` is the only place where people are counted for noise,
and what it returns goes nowhere but into the noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from sfumato.counts.counts import Ints
from sfumato.errors import InputError, ResourceError
from sfumato.release.declared_values import WHOLE, Axis, Height, quasi_axis, sensitive_axis
from sfumato.schema.region import ValueSet
from sfumato.schema.roles import Schema
from sfumato.table.load import Table

MOST_CELLS = 1_000_000  # seven seconds of geometric noise, 25 of Laplace's


@dataclass(frozen=True)
class Cells:
    """All combinations of what the columns can show; `heights` are those of the QI columns."""

    quasi: tuple[Axis, ...]
    sensitive: tuple[Axis, ...]
    heights: tuple[Height, ...]

    @classmethod
    def of(cls, schema: Schema, levels: Mapping[str, Height]) -> Cells:
        heights = tuple(levels.get(name, 0) for name in schema.quasi)
        cells = cls(
            tuple(
                quasi_axis(schema, name, height)
                for name, height in zip(schema.quasi, heights, strict=True)
            ),
            tuple(sensitive_axis(schema, name) for name in schema.sensitive),
            heights,
        )
        if len(cells) > MOST_CELLS:
            sizes = ", ".join(f"{axis.name} {len(axis):,}" for axis in cells.axes)
            raise ResourceError(
                f"noise: {len(cells):,} cells ({sizes}), at most {MOST_CELLS:,} are allowed; "
                "choose higher levels, or leave columns out with level '*'"
            )
        return cells

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (*self.quasi, *self.sensitive)

    def __len__(self) -> int:
        return prod(len(axis) for axis in self.axes)


def check_table(table: Table, name: str) -> None:
    """Refuse a table in which somebody may be in several cells, or in one more than once."""
    counts = table.counts
    several = [attribute.name for attribute in counts.sensitive if attribute.sets is not None]
    if counts.spanning or several:
        about = "some people have rows with different quasi-identifiers"
        if several:
            about = f"people have several rows or several values of {several[0]!r}"
        raise InputError(
            f"{name}: {about}; the promise is about one row a person, so give each one row with "
            "one value"
        )


def count_cells(table: Table, cells: Cells) -> Ints:
    """The people in each cell, in the order of the axes: the true counts."""
    counts = table.counts
    place = np.zeros(len(counts), dtype=np.int64)
    for axis, height, codes in zip(cells.quasi, cells.heights, counts.codes, strict=True):
        if height == WHOLE:
            continue
        level = table.levels[axis.name][height]
        here = np.array(axis.places(level.regions), dtype=np.int64)
        place = place * len(axis) + here[level.codes[codes]]
    for axis, attribute, codes in zip(
        cells.sensitive, counts.sensitive, counts.values, strict=True
    ):
        shown = tuple(ValueSet(frozenset({value})) for value in attribute.domain.values)
        place = place * len(axis) + np.array(axis.places(shown), dtype=np.int64)[codes]
    return np.bincount(place, weights=counts.n, minlength=len(cells)).astype(np.int64)
