"""A noisy contingency table, and the release it is: made of published numbers and of nothing else.

Neither holds the table it was drawn from, nor its counts; whatever is computed from them is
post-processing, which cannot weaken the guarantee. Cells that noise left without people are
published as cells of nobody, but they are no groups: an adversary finds nobody there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Literal

import numpy as np

from sfumato.errors import ResourceError
from sfumato.numbers import Ints
from sfumato.release.declared_values import Axis
from sfumato.release.description import NoisyCells
from sfumato.release.groups import Groups
from sfumato.release.guarantee import Guarantee
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.roles import Schema

Form = Literal["counts", "rows"]
COUNT = "count"
MOST_ROWS = 50_000_000  # some GB of memory


@dataclass(frozen=True)
class NoisyTable:
    """People by cell, `counts[q1, q2, ..., s1, ...]` over all that the columns can show.

    `form`: published as counts of every cell, or as that many rows each. `seed` is that of the
    order of rows; the noise has none.
    """

    quasi: tuple[Axis, ...]
    sensitive: tuple[Axis, ...]
    counts: Ints
    form: Form = "counts"
    seed: int = 0

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (*self.quasi, *self.sensitive)

    def by_group(self) -> tuple[Ints, Ints]:
        """The cells of quasi-identifiers, rows by all sensitive cells; which of them have people.

        Groups are numbered in the order of the axes.
        """
        rows = prod(len(axis) for axis in self.quasi)
        table = self.counts.reshape(rows, -1)
        return table, np.flatnonzero(table.any(axis=1))

    def groups(self, attribute: int | None) -> Groups:
        """Groups that have people, by one sensitive column (None: there is none)."""
        table, some = self.by_group()
        if attribute is None:
            nothing = np.zeros((len(some), 0), dtype=np.int64)
            return Groups(nothing, sizes=table[some].sum(axis=1))
        shape = [len(axis) for axis in self.sensitive]
        others = tuple(place + 1 for place in range(len(shape)) if place != attribute)
        summed = table[some].reshape(len(some), *shape).sum(axis=others)
        return Groups(summed, domain=self.sensitive[attribute].domain, case="single")

    def regions(self) -> NoisyCells:
        _, some = self.by_group()
        codes = np.array(np.unravel_index(some, [len(axis) for axis in self.quasi]), dtype=np.int32)
        return NoisyCells(
            tuple(axis.name for axis in self.quasi), tuple(axis.parts for axis in self.quasi), codes
        )


def check_rows(many: int, what: str) -> None:
    """Refuse to write out more rows than memory holds."""
    if many > MOST_ROWS:
        raise ResourceError(
            f"noise: {what} {many:,} rows, at most {MOST_ROWS:,} can be written; use "
            "publish = 'counts', a larger epsilon, or fewer cells"
        )


def nobody(schema: Schema, label: str) -> Release:
    """A noisy table that noise left without people, read back: no group, and still a promise."""
    empty = np.zeros((0, 0), dtype=np.int64)
    return Release(
        schema=schema,
        by_attribute={
            name: Groups(empty, domain=Domain(name, "categorical", ()), case="single")
            for name in schema.sensitive
        }
        or {"": Groups(empty, sizes=[])},
        regions=NoisyCells(
            tuple(schema.quasi),
            tuple(() for _ in schema.quasi),
            np.zeros((len(schema.quasi), 0), dtype=np.int32),
        ),
        label=label,
        notes=("noise left no cell with people; the release is one of nobody",),
    )


def noisy_release(
    noisy: NoisyTable, schema: Schema, guarantee: Guarantee, label: str, notes: tuple[str, ...]
) -> Release:
    """The release of a noisy table; of the schema, only what its columns mean stays."""
    published = schema.part(
        [axis.name for axis in noisy.quasi], [axis.name for axis in noisy.sensitive]
    )
    if noisy.form == "counts":
        published = replace(published, count=COUNT)
    names = {axis.name: place for place, axis in enumerate(noisy.sensitive)}
    return Release(
        schema=published,
        by_attribute={name: noisy.groups(place) for name, place in names.items()}
        or {"": noisy.groups(None)},
        regions=noisy.regions(),
        guarantee=guarantee,
        label=label,
        notes=(f"differentially private: {guarantee}", *notes),
        noisy=noisy,
    )
