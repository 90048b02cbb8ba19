"""A noisy contingency table, and the release it is: made of published numbers and of nothing else.

Neither holds the table it was drawn from, nor its counts; whatever is computed from them is
post-processing, which cannot weaken the guarantee. Cells that noise left without people are
published as cells of nobody, but they are no groups: an adversary finds nobody there.

What a column can show (its axis) is told by the schema alone.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

import numpy as np

from sfumato.errors import ResourceError, SchemaError
from sfumato.numbers import Ints
from sfumato.release.description import NoisyCells
from sfumato.release.groups import Groups
from sfumato.release.made import Randomised
from sfumato.release.read.cells import known_domain
from sfumato.release.release import Release
from sfumato.schema.domain import Domain, DomainKind
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import Anything, Region, ValueSet
from sfumato.schema.roles import Schema

# What a column can show, told by the schema alone: the same whoever is in the table.
#
# A randomised release may not let its shape depend on data: that somebody has a value must not be
# visible in the value being there. So its cells range over declared values, those nobody has
# included: a list in the schema's domains, the leaves of a taxonomy, or the ranges of intervals and
# dates that are bounded below and above. NULL is a value wherever the schema allows it.

WHOLE: Literal["*"] = "*"
NULL = ValueSet(frozenset({None}))
Height = int | Literal["*"]


@dataclass(frozen=True)
class TableAxis:
    """One column of a contingency table: all that it can show, in a fixed order.

    `domain`: of a sensitive column, its values as groups count them.
    """

    name: str
    parts: tuple[Region, ...]
    domain: Domain | None = None

    def __len__(self) -> int:
        return len(self.parts)

    def places(self, regions: tuple[Region, ...]) -> list[int]:
        """Where these regions stand on the axis."""
        index = {_key(part): place for place, part in enumerate(self.parts)}
        places = [index.get(_key(part), -1) for part in regions]
        if -1 in places:
            raise SchemaError(
                f"column {self.name!r} holds values that the schema does not declare; declare them "
                "in domains, or correct the data"
            )
        return places


def quasi_axis(schema: Schema, name: str, height: Height) -> TableAxis:
    """What a quasi-identifier can show at a level of its hierarchy."""
    if height == WHOLE:
        return TableAxis(name, (Anything(),))
    return TableAxis(name, _regions(schema, name, height))


def sensitive_axis(schema: Schema, name: str) -> TableAxis:
    """What a sensitive column can show, at the level where the schema puts it."""
    level = schema.levels.get(name, 0)
    regions = _regions(schema, name, level)
    ordered = _levels(schema, name)[0].domain
    if level == 0:
        return TableAxis(name, regions, ordered)
    kind: DomainKind = "ordered" if ordered.is_ordered else "categorical"
    values = tuple(None if region == NULL else region.text for region in regions)
    parts = tuple(ValueSet(frozenset({value})) for value in values)
    return TableAxis(name, parts, Domain(name, kind, values))


def _key(region: Region) -> str | None:
    """Regions of one level are told apart by their texts; NULL is not the text it is shown as."""
    return None if region == NULL else region.text


def allowed_height(schema: Schema, name: str, asked: Height | None) -> Height:
    """The level a quasi-identifier is published at: as asked, else the finest that limits allow."""
    if name not in schema.limits:
        return 0 if asked is None else asked
    if asked == WHOLE and schema.limits[name].coarsest is None and schema.limits[name].star:
        return asked
    levels = _levels(schema, name)[0]
    if asked is None:
        return levels.finest
    if asked == WHOLE or not levels.finest <= int(asked) <= levels.coarsest:
        raise SchemaError(
            f"limits allow column {name!r} levels {levels.finest} to {levels.coarsest}, and noise "
            f"has level {asked!r}; change one of them"
        )
    return asked


def _regions(schema: Schema, name: str, level: int) -> tuple[Region, ...]:
    levels, listed = _levels(schema, name)
    if not 0 <= level < levels.height:
        raise SchemaError(
            f"levels: column {name!r} has levels 0 to {levels.height - 1}, not {level!r}"
        )
    if level == 0 and not listed:
        raise SchemaError(
            f"column {name!r}: its single values are not declared, only ranges of them; list them "
            "in domains, or choose a level of its hierarchy from 1 on"
        )
    return levels[level].regions


def _levels(schema: Schema, name: str) -> tuple[Levels, bool]:
    """The column's hierarchy over what the schema declares; whether single values are declared."""
    recipe = schema.hierarchy(name)
    domain = known_domain(name, schema.domains.get(name), schema.hierarchies.get(name))
    listed = domain is not None
    if domain is None:
        marks = tuple(recipe.landmarks())
        if not marks:
            raise SchemaError(
                f"column {name!r}: its values are not declared, so the cells published would tell "
                "which of them occur; list them in domains, give the column a taxonomy, or "
                "intervals (cuts, or widths with bottom and top) or dates with bottom and top"
                + ("" if name in schema.sensitive else ", or leave it out with level '*'")
            )
        domain = Domain(name, "date" if isinstance(marks[0], dt.date) else "numeric", marks)
    if schema.nulls == "value":
        domain = Domain(name, domain.kind, (*domain.values, None))
    return schema.bind(domain), listed


NoisyForm = Literal["counts", "rows"]
COUNT = "count"
MOST_ROWS = 50_000_000  # some GB of memory


@dataclass(frozen=True)
class NoisyTable:
    """People by cell, `counts[q1, q2, ..., s1, ...]` over all that the columns can show.

    `form`: published as counts of every cell, or as that many rows each. `seed` is that of the
    order of rows; the noise has none.
    """

    quasi: tuple[TableAxis, ...]
    sensitive: tuple[TableAxis, ...]
    counts: Ints
    form: NoisyForm = "counts"
    seed: int = 0

    @property
    def axes(self) -> tuple[TableAxis, ...]:
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
        table, occupied = self.by_group()
        if attribute is None:
            nothing = np.zeros((len(occupied), 0), dtype=np.int64)
            return Groups(nothing, sizes=table[occupied].sum(axis=1))
        shape = [len(axis) for axis in self.sensitive]
        other_axes = tuple(place + 1 for place in range(len(shape)) if place != attribute)
        summed = table[occupied].reshape(len(occupied), *shape).sum(axis=other_axes)
        return Groups(summed, domain=self.sensitive[attribute].domain, case="single")

    def regions(self) -> NoisyCells:
        _, occupied = self.by_group()
        codes = np.array(
            np.unravel_index(occupied, [len(axis) for axis in self.quasi]), dtype=np.int32
        )
        return NoisyCells(
            tuple(axis.name for axis in self.quasi), tuple(axis.parts for axis in self.quasi), codes
        )


def check_rows(many: int, subject: str) -> None:
    """Refuse to write out more rows than memory holds."""
    if many > MOST_ROWS:
        raise ResourceError(
            f"noise: {subject} {many:,} rows, at most {MOST_ROWS:,} can be written; use "
            "publish = 'counts', a larger epsilon, or fewer cells"
        )


def nobody(schema: Schema, label: str) -> Release:
    """A noisy table that noise left without people, read back: no group, and still a promise."""
    empty = np.zeros((0, 0), dtype=np.int64)
    return Release(
        schema=schema,
        counted_groups={
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


def noisy_release(made: Randomised, schema: Schema, label: str, notes: tuple[str, ...]) -> Release:
    """The release of a noisy table; of the schema, only what its columns mean stays."""
    noisy = made.table
    published = schema.part(
        [axis.name for axis in noisy.quasi], [axis.name for axis in noisy.sensitive]
    )
    if noisy.form == "counts":
        published = replace(published, count=COUNT)
    names = {axis.name: place for place, axis in enumerate(noisy.sensitive)}
    return Release(
        schema=published,
        counted_groups={name: noisy.groups(place) for name, place in names.items()}
        or {"": noisy.groups(None)},
        regions=noisy.regions(),
        label=label,
        notes=(f"differentially private: {made.guarantee}", *notes),
        made=made,
    )
