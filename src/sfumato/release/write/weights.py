"""Survey weights as they are published: everybody in a group has the mean of the group's weights.

So a weight tells nothing of anybody beyond her group, and the weights of every published group add
up to those of its people, as near as six digits tell: published cells count what the table counts.
Means are rounded down, so that a group stands for no fewer people than the public file says: what
holds for whoever reads it holds.
People who are suppressed take their weights with them. Whoever wants the whole population
multiplies by the factor that the manifest tells, if so many are suppressed that it tells of none.

Where several rows of a person are published one by one, each stands for as many rows of the
population as she for people: sums over rows by group are kept. Those over people are not told: who
reads the file cannot count her once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_FLOOR, Context
from typing import Any

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.counts.stored import StoredCounts
from sfumato.engines.base import select
from sfumato.errors import InputError
from sfumato.numbers import Floats
from sfumato.release.linked import LinkedPlacement
from sfumato.release.made import ReadFrom, TablePlacement
from sfumato.release.release import Release

WARNING = "a weight that few people have finds them as a name does"
ROWS_MEAN = "mean of the group's rows"
WARNING_LINKED = (
    "all rows of a pseudonym have one weight, a mean of people with equal rows: where all of these "
    "have the same weight it is theirs"
)
DIGITS = 6  # that a published mean has
KEPT_TO = 10 / 10**DIGITS  # the largest share of a mean that goes by rounding
_DOWN = Context(prec=DIGITS, rounding=ROUND_FLOOR)
_MANY = 10  # suppressed people of whom a sum may be told


def mean_weights(release: Release) -> Floats:
    """The weight that everybody in each group is published with."""
    summed = _sums(release)
    if summed is None:
        raise InputError("publish_weight: the weights of this release's groups are not known")
    return rounded(summed / np.maximum(release.groups.published_rows, 1))


def sums_as_published(release: Release) -> Floats | None:
    """What whoever reads the release adds up by group; None where that tells of no people."""
    schema, summed = release.schema, release.population
    if schema.publish_weight is None or schema.rows == "unlinked" or summed is None:
        return None
    if schema.publish_weight == "keep" or isinstance(release.made, ReadFrom):
        return summed
    return mean_weights(release) * release.groups.published_rows


def with_most_weights(release: Release) -> Release | None:
    """A release that was read, with all that its means may have lost; None where they are exact."""
    rows_known = release.schema.rows == "unlinked" and not release.groups.owners_unknown
    from_files = isinstance(release.made, ReadFrom) and bool(release.made.files)
    rounded_means = from_files and release.schema.publish_weight == "group" and not rows_known
    if release.population is None or not rounded_means:
        return None
    return replace(release, population=release.population * (1 + KEPT_TO))


def _sums(release: Release) -> Floats | None:
    """What the weights of each group's rows add up to."""
    if release.schema.rows != "unlinked" or release.population is None:
        return release.population
    placement = release.placement
    if placement is None:
        return None
    placed = placement.in_memory("publishing survey weights of rows")
    rows, weights = placed.owned_rows, placed.counts.weights
    assert rows is not None
    assert weights is not None
    summed = np.bincount(rows.group, weights[rows.person], minlength=len(release.groups))
    return summed.astype(np.float64)


def rounded(numbers: Floats) -> Floats:
    """Numbers to as many digits as are published, never more than they are."""
    return np.array([float(_DOWN.create_decimal(f"{number:.12g}")) for number in numbers.tolist()])


def told_of_weights(release: Release) -> dict[str, object]:
    """What a manifest says of the column of weights."""
    if release.schema.publish_weight != "group":
        return {"weights": "original", "warning": WARNING}
    entry: dict[str, object] = {"weights": "mean of the group", "sums_kept_to": KEPT_TO}
    placement, summed = release.placement, _sums(release)
    of_rows = release.schema.rows == "unlinked"
    if of_rows:
        entry["weights"] = ROWS_MEAN
    if isinstance(placement, LinkedPlacement):
        entry |= {"of_each": "pseudonym", "warning": WARNING_LINKED}
        if placement.linked.some_cut:
            return entry  # who has several pseudonyms stands there with each
    if placement is None or summed is None:
        return entry
    if _losing_rows(placement) >= _MANY if of_rows else release.suppressed >= _MANY:
        rows = placement.table.rows
        own = None if rows is None else rows.weights
        counts = placement.table.counts
        whole = counts.either(in_memory=_in_memory, stored=_stored) if own is None else own.sum()
        published = float(summed.sum())
        if published > 0:
            entry["times_for_suppressed"] = float(f"{whole / published:.3f}")
    return entry


def _losing_rows(placement: TablePlacement) -> int:
    """How many people have rows that are not published: many rows may be those of one person."""
    placed = placement.in_memory("publishing survey weights of rows")
    rows, owner = placed.owned_rows, placed.counts.owner
    assert rows is not None
    assert owner is not None
    own = np.bincount(owner)
    return int((own > np.bincount(rows.person, minlength=len(own))).sum())


def _in_memory(counts: Counts) -> float:
    if counts.weights is None:
        return 0.0
    weights = counts.weights if counts.owner is None else counts.weights[counts.owner]
    return float(weights.sum())


def _stored(counts: StoredCounts) -> float:
    summed = counts.engine.fetch(select(["SUM(w) AS w"], counts.name))
    return float(summed.column(0)[0].as_py() or 0.0)


def words_of_weights(column: Mapping[str, Any]) -> str:
    """How to reckon with a column of weights, as the manifest describes it."""
    if column.get("weights") == ROWS_MEAN:
        words = (
            f"{column['name']} is the number of rows of the population, not of people, that a row "
            "stands for, the mean of the rows with the same quasi-identifiers: sums over rows by "
            "these are kept; people have several rows, and how many they stand for cannot be told"
        )
    else:
        words = f"{column['name']} is the number of people of the population that a row stands for"
    if column.get("weights") == "mean of the group":
        words += ", the mean of the rows with the same quasi-identifiers: sums by these are kept"
        if column.get("of_each") == "pseudonym":
            words = (
                f"{column['name']} is the number of people of the population that a pseudonym "
                "stands for, on each of its rows: take it once for a pseudonym. It is the mean of "
                "the pseudonyms whose rows show the same quasi-identifiers: sums by these are kept"
            )
    times = column.get("times_for_suppressed")
    return f"{words}." + (f" For the whole population multiply by {times}." if times else "")
