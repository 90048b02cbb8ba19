"""Survey weights as they are published: everybody in a group has the mean of the group's weights.

So a weight tells nothing of anybody beyond her group, and the weights of every published group add
up to those of its people, as near as six digits tell: published cells count what the table counts.
Means are rounded up, so that a k-map that holds at home holds for whoever reads the public file.
People who are suppressed take their weights with them. Whoever wants the whole population
multiplies by the factor that the manifest tells, if so many are suppressed that it tells of none.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.counts.stored import StoredCounts
from sfumato.engines.base import select
from sfumato.errors import InputError
from sfumato.numbers import Floats
from sfumato.release.release import Release

WARNING = "a weight that few people have finds them as a name does"
DIGITS = 6  # that a published mean has
_UP = Context(prec=DIGITS, rounding=ROUND_CEILING)
_MANY = 10  # suppressed people of whom a sum may be told


def mean_weights(release: Release) -> Floats:
    """The weight that everybody in each group is published with."""
    if release.population is None:
        raise InputError("publish_weight: the weights of this release's groups are not known")
    return rounded(release.population / np.maximum(release.groups.sizes, 1))


def rounded(numbers: Floats) -> Floats:
    """Numbers to as many digits as are published, never less than they are."""
    return np.array([float(_UP.create_decimal(f"{number:.12g}")) for number in numbers.tolist()])


def told_of_weights(release: Release) -> dict[str, object]:
    """What a manifest says of the column of weights."""
    if release.schema.publish_weight != "group":
        return {"weights": "original", "warning": WARNING}
    entry: dict[str, object] = {"weights": "mean of the group", "sums_kept_to": 10 / 10**DIGITS}
    placement = release.placement
    if release.suppressed >= _MANY and placement is not None and release.population is not None:
        whole = placement.table.counts.either(in_memory=_in_memory, stored=_stored)
        published = float(release.population.sum())
        if published > 0:
            entry["times_for_suppressed"] = float(f"{whole / published:.3f}")
    return entry


def _in_memory(counts: Counts) -> float:
    return 0.0 if counts.weights is None else float(counts.weights.sum())


def _stored(counts: StoredCounts) -> float:
    summed = counts.engine.fetch(select(["SUM(w) AS w"], counts.name))
    return float(summed.column(0)[0].as_py() or 0.0)


def words_of_weights(column: Mapping[str, Any]) -> str:
    """How to reckon with a column of weights, as the manifest describes it."""
    words = f"{column['name']} is the number of people of the population that a row stands for"
    if column.get("weights") == "mean of the group":
        words += ", the mean of the rows with the same quasi-identifiers: sums by these are kept"
    times = column.get("times_for_suppressed")
    return f"{words}." + (f" For the whole population multiply by {times}." if times else "")
