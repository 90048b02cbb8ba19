"""What is shown of a group and of a sensitive value: the cells of a published table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sfumato.counts.contingency import Attribute, Ints
from sfumato.errors import InputError
from sfumato.release.regions import Regions
from sfumato.schema.listing import write_list
from sfumato.schema.region import Region, ValueSet

_WIDE = 1 << 62  # keys that 64 bits hold


def shown_regions(parts: Sequence[Region]) -> pa.Array:
    """Each distinct region as a cell: values in their own type if nothing was generalized."""
    regions = [parts[place] for place in range(len(parts))]
    single = [region for region in regions if _is_value(region)]
    if len(single) == len(regions):
        return pa.array([next(iter(region.values)) for region in single])  # type: ignore[union-attr]
    missing = ValueSet(frozenset({None}))
    return pa.array([None if region == missing else region.text for region in regions], pa.string())


def _is_value(region: Region) -> bool:
    return isinstance(region, ValueSet) and len(region.values) == 1 and region.label is None


def shown_values(attribute: Attribute, form: str | None) -> pa.Array:
    """What is published of each value, or of each distinct set of values: a list, or a text.

    Members stand in the order of the domain; the order of somebody's own list would tell of her.
    """
    values = pa.array(list(attribute.domain.values))
    if attribute.sets is None:
        return values
    if pa.types.is_null(values.type):  # nobody has any value
        values = values.cast(pa.string())
    offsets = pa.array(attribute.sets.offsets, pa.int32())
    listed = pa.ListArray.from_arrays(offsets, values.take(pa.array(attribute.sets.members)))
    if form is None:
        return listed
    texts = [write_list(members, form) for members in listed.to_pylist()]
    if None in texts:
        raise InputError(
            f"column {attribute.name!r}: some values cannot be told apart when they are written "
            f"with {form!r} between them; use Parquet, or declare its lists as 'json'"
        )
    return pa.array(texts, pa.string())


def described_order(regions: Regions) -> Ints:
    """Each group's place when groups are sorted by their descriptions, the last column first."""
    key = np.zeros(len(regions), dtype=np.int64)
    space = 1
    for parts, codes in zip(regions.parts[::-1], regions.codes[::-1], strict=True):
        texts = [parts[place].text for place in range(len(parts))]
        rank = np.argsort(np.argsort(texts, kind="stable"), kind="stable")
        if space * len(parts) >= _WIDE:  # fold what we have into a dense numbering first
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            space = int(key.max(initial=0)) + 1
        key *= max(len(parts), 1)
        key += rank[codes]
        space *= max(len(parts), 1)
    place = np.empty(len(regions), dtype=np.int64)
    place[np.argsort(key, kind="stable")] = np.arange(len(regions))
    return place
