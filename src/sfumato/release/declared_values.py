"""What a column can show, told by the schema alone: the same whoever is in the table.

A randomised release may not let its shape depend on data: that somebody has a value must not be
visible in the value being there. So its cells range over declared values, those nobody has
included: a list in the schema's domains, the leaves of a taxonomy, or the ranges of intervals and
dates that are bounded below and above. NULL is a value wherever the schema allows it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from sfumato.errors import SchemaError
from sfumato.release.read.cells import known_domain
from sfumato.schema.domain import Domain, Kind
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import Anything, Region, ValueSet
from sfumato.schema.roles import Schema

WHOLE: Literal["*"] = "*"
NULL = ValueSet(frozenset({None}))
Height = int | Literal["*"]


@dataclass(frozen=True)
class Axis:
    """One column of a contingency table: all that it can show, in a fixed order.

    `domain`: of a sensitive column, its values as groups count them.
    """

    name: str
    parts: tuple[Region, ...]
    domain: Domain | None = None

    def __len__(self) -> int:
        return len(self.parts)

    def places(self, shown: tuple[Region, ...]) -> list[int]:
        """Where these regions stand on the axis."""
        index = {_key(part): place for place, part in enumerate(self.parts)}
        places = [index.get(_key(part), -1) for part in shown]
        if -1 in places:
            raise SchemaError(
                f"column {self.name!r} holds values that the schema does not declare; declare them "
                "in domains, or correct the data"
            )
        return places


def quasi_axis(schema: Schema, name: str, height: Height) -> Axis:
    """What a quasi-identifier can show at a level of its hierarchy."""
    if height == WHOLE:
        return Axis(name, (Anything(),))
    return Axis(name, _regions(schema, name, height))


def sensitive_axis(schema: Schema, name: str) -> Axis:
    """What a sensitive column can show, at the level where the schema puts it."""
    level = schema.levels.get(name, 0)
    regions = _regions(schema, name, level)
    ordered = _levels(schema, name)[0].domain
    if level == 0:
        return Axis(name, regions, ordered)
    kind: Kind = "ordered" if ordered.is_ordered else "categorical"
    values = tuple(None if region == NULL else region.text for region in regions)
    parts = tuple(ValueSet(frozenset({value})) for value in values)
    return Axis(name, parts, Domain(name, kind, values))


def _key(region: Region) -> str | None:
    """Regions of one level are told apart by their texts; NULL is not the text it is shown as."""
    return None if region == NULL else region.text


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
    return recipe.bind(domain), listed
