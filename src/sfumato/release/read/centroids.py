"""A file of centroids, made by somebody else: cells are points, not values of anybody's.

A mean is rarely a value of the column, so neither the values that a schema declares for numbers nor
the labels of a hierarchy say anything about it. The order of words stays: a median is one of them.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.errors import InputError
from sfumato.release.description import Regions
from sfumato.schema.region import Region, Value, ValueSet
from sfumato.schema.roles import Schema


def point_schema(schema: Schema) -> Schema:
    """The schema by which cells are read as points."""

    def stays(name: str) -> bool:
        told = schema.domains[name]
        return (
            name not in schema.quasi
            or isinstance(told, str)
            or any(isinstance(value, str) for value in told)
        )

    return replace(
        schema,
        hierarchies={
            name: recipe for name, recipe in schema.hierarchies.items() if name not in schema.quasi
        },
        domains={name: told for name, told in schema.domains.items() if stays(name)},
    )


def point_of(name: str, part: Region) -> Value:
    """The point that a cell shows; refuses one that shows a range, a set or anything."""
    if not isinstance(part, ValueSet) or len(part.values) != 1:
        raise InputError(
            f"column {name!r} shows {part.text!r}, which is no centroid; a microaggregated "
            "release publishes one value a cell"
        )
    return next(iter(part.values))


def check_points(regions: Regions) -> None:
    """Refuse regions that are no points."""
    for name, parts in zip(regions.columns, regions.parts, strict=True):
        for part in parts:
            point_of(name, part)
