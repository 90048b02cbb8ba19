"""Groups: people who look alike in a release, and how often each sensitive value occurs there.

B groups by m values, kept sparse (a group shows few of a domain's values), with the number of
individuals of each group. `reference` holds the weights that "table" priors and t-closeness refer
to: by default the column sums, and the whole table's counts, suppressed rows included, wherever a
search makes the groups. It is fixed across a search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.counts.contingency import Attribute, Counts, Ints
from sfumato.errors import InputError
from sfumato.schema.domain import Domain

Floats = npt.NDArray[np.float64]
_BLOCK_CELLS = 1 << 22


class Groups:
    """Sparse counts n(g, s) of B groups over m sensitive values."""

    def __init__(
        self,
        counts: npt.ArrayLike,
        values: Sequence[str] | None = None,
        sizes: npt.ArrayLike | None = None,
        reference: npt.ArrayLike | None = None,
        *,
        domain: Domain | None = None,
        attribute: str | None = None,
    ) -> None:
        dense = _whole(counts, "counts")
        if dense.ndim != 2:
            raise InputError(f"counts must be groups by values, not of shape {dense.shape}")
        rows, columns = np.nonzero(dense)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
        self._set(
            indptr.astype(np.int64),
            columns.astype(np.int32),
            dense[rows, columns],
            dense.shape[1],
            values,
            sizes,
            reference,
            domain,
            attribute,
        )

    @classmethod
    def from_sparse(
        cls,
        indptr: Ints,
        indices: npt.NDArray[np.int32],
        data: Ints,
        width: int,
        *,
        values: Sequence[str] | None = None,
        sizes: npt.ArrayLike | None = None,
        reference: npt.ArrayLike | None = None,
        domain: Domain | None = None,
        attribute: str | None = None,
    ) -> Groups:
        """Groups whose row g holds `data[indptr[g]:indptr[g + 1]]` at `indices` of `width`."""
        groups = cls.__new__(cls)
        groups._set(indptr, indices, data, width, values, sizes, reference, domain, attribute)
        return groups

    def _set(
        self,
        indptr: Ints,
        indices: npt.NDArray[np.int32],
        data: Ints,
        width: int,
        values: Sequence[str] | None,
        sizes: npt.ArrayLike | None,
        reference: npt.ArrayLike | None,
        domain: Domain | None,
        attribute: str | None,
    ) -> None:
        self.indptr, self.indices, self.data, self.width = indptr, indices, data, width
        self.domain = domain
        self.attribute = attribute or (domain.name if domain is not None else None)
        if values is None:
            values = domain.labels if domain is not None else [str(i) for i in range(width)]
        self.values = tuple(str(value) for value in values)
        if len(self.values) != width:
            raise InputError(f"{width} columns of counts but {len(self.values)} value labels")
        if len(data) and data.min() < 0:
            raise InputError("counts must not be negative")
        self.occurrences = self.sum_of(data)
        self.sizes = self.occurrences if sizes is None else _whole(sizes, "sizes")
        if len(self.sizes) != len(self):
            raise InputError(f"{len(self)} groups but {len(self.sizes)} sizes")
        if len(self) and (self.sizes.min() <= 0 or (self.max_of(data) > self.sizes).any()):
            raise InputError(
                "a group must have at least one individual, and no fewer individuals than have "
                "any one value"
            )
        if reference is None:
            sums = np.bincount(indices, weights=data, minlength=width)
            self.reference: Floats = sums.astype(np.float64)
        else:
            self.reference = np.asarray(reference, dtype=np.float64)
        if self.reference.shape != (width,) or (self.reference < 0).any():
            raise InputError(f"reference must hold {width} non-negative weights")

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def single_valued(self) -> bool:
        """Whether every individual has exactly one value."""
        return self.occurrences is self.sizes or bool((self.occurrences == self.sizes).all())

    # -- reductions over the present values of each group -------------------------------------

    @cached_property
    def row(self) -> Ints:
        """The group of each stored count."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.indptr))

    @cached_property
    def distinct(self) -> Ints:
        return np.diff(self.indptr)

    @cached_property
    def largest(self) -> Ints:
        """The count of each group's most frequent value."""
        return self.max_of(self.data)

    @cached_property
    def descending(self) -> Ints:
        """The stored counts, each group's from its most to its least frequent value."""
        if len(self.data) == 0:
            return self.data
        step = int(self.data.max()) + 1
        if len(self) * step >= 1 << 62:
            return self.data[np.lexsort((-self.data, self.row))]
        # One sort of plain integers (group, shortfall) beats a two-key sort by far.
        return step - 1 - np.sort(self.row * step + (step - 1 - self.data)) % step

    @cached_property
    def share(self) -> Floats:
        """n(g, s) / n(g) for each stored count."""
        return self.data / self.sizes[self.row]

    @cached_property
    def reference_share(self) -> Floats:
        total = self.reference.sum()
        return self.reference / total if total > 0 else self.reference

    def sum_of(self, stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sum over each group of a number per stored count; 0 for a group without values."""
        return self._reduce(np.add, stored, 0)

    def max_of(self, stored: npt.NDArray[Any], empty: float = 0) -> npt.NDArray[Any]:
        """Maximum over each group of a number per stored count."""
        return self._reduce(np.maximum, stored, empty)

    def _reduce(
        self, operation: np.ufunc, stored: npt.NDArray[Any], empty: float
    ) -> npt.NDArray[Any]:
        filled = np.flatnonzero(np.diff(self.indptr))
        if len(filled) == len(self.indptr) - 1:
            return operation.reduceat(stored, self.indptr[:-1]) if len(stored) else stored[:0]
        result = np.full(len(self.indptr) - 1, empty, dtype=stored.dtype)
        if len(filled):
            result[filled] = operation.reduceat(stored, self.indptr[filled])
        return result

    # -- dense views ------------------------------------------------------------------------------

    def dense(self, start: int = 0, stop: int | None = None) -> Ints:
        """The counts of groups start..stop as a full matrix."""
        stop = len(self) if stop is None else stop
        block = np.zeros((stop - start, self.width), dtype=np.int64)
        low, high = self.indptr[start], self.indptr[stop]
        rows = np.repeat(np.arange(stop - start), np.diff(self.indptr[start : stop + 1]))
        block[rows, self.indices[low:high]] = self.data[low:high]
        return block

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of groups whose dense counts fit comfortably in memory."""
        step = max(1, _BLOCK_CELLS // max(self.width, 1))
        for start in range(0, len(self), step):
            yield start, min(start + step, len(self))

    def counts_of(self, group: int) -> dict[str, int]:
        """The counts of one group by value."""
        low, high = self.indptr[group], self.indptr[group + 1]
        return {
            self.values[code]: int(n)
            for code, n in zip(self.indices[low:high], self.data[low:high], strict=True)
        }

    def __repr__(self) -> str:
        smallest = int(self.sizes.min()) if len(self) else 0
        return (
            f"{len(self):,} groups of {int(self.sizes.sum()):,} people, smallest {smallest}, "
            f"{self.width} values"
        )


def _whole(numbers: npt.ArrayLike, what: str) -> Ints:
    array = np.asarray(numbers)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        floats = array.astype(np.float64)
        if not np.isfinite(floats).all() or (floats != np.floor(floats)).any():
            raise InputError(f"{what} must be whole numbers of people")
        array = floats
    whole = array.astype(np.int64)
    if whole.size and whole.min() < 0:
        raise InputError(f"{what} must not be negative")
    return whole


def group_counts(
    counts: Counts, group: Ints, total: int, attribute: int | None, reference: Floats | None = None
) -> Groups:
    """Sum a table's counts over `total` groups, for one sensitive attribute (or none)."""
    sizes = np.bincount(group, weights=counts.n, minlength=total).astype(np.int64)
    if attribute is None:
        empty = np.zeros(total + 1, dtype=np.int64)
        return Groups.from_sparse(empty, empty[:0].astype(np.int32), empty[:0], 0, sizes=sizes)
    described = counts.sensitive[attribute]
    row, code, n = spread(described, counts.values[attribute], group, counts.n)
    width = len(described.domain)
    key = row * width + code
    if total * width <= max(1 << 22, 8 * len(key)):
        dense = np.bincount(key, weights=n, minlength=total * width)
        key = np.flatnonzero(dense)
        data = dense[key].astype(np.int64)
    else:
        key, inverse = np.unique(key, return_inverse=True)
        data = np.bincount(inverse, weights=n).astype(np.int64)
    row, code = np.divmod(key, width)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=total))])
    return Groups.from_sparse(
        indptr.astype(np.int64),
        code.astype(np.int32),
        data,
        width,
        sizes=None if described.sets is None else sizes,
        reference=reference,
        domain=described.domain,
    )


def spread(
    attribute: Attribute, codes: npt.NDArray[np.int32], group: Ints, n: Ints
) -> tuple[Ints, Ints, Ints]:
    """(group, value, people) triples: a person with a set of values counts for each of them."""
    if attribute.sets is None:
        return group, codes.astype(np.int64), n
    offsets = attribute.sets.offsets
    length = np.diff(offsets)[codes]
    begin = np.repeat(offsets[codes] - np.concatenate([[0], np.cumsum(length)[:-1]]), length)
    place = begin + np.arange(int(length.sum()))
    return (
        np.repeat(group, length),
        attribute.sets.members[place].astype(np.int64),
        np.repeat(n, length),
    )
