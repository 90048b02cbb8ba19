"""A bucketized release laid out for the kernels: people of buckets, values of buckets, counts.

Only values that somebody is listed with are counted; a value nobody has keeps its prior weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.domains import recode
from sfumato.adversaries.relative_threat.prior import Prior
from sfumato.counts.counts import Ints, rank_rows
from sfumato.release.groups import Groups
from sfumato.release.members import Members
from sfumato.schema.domain import Domain

Floats = npt.NDArray[np.float64]
LARGEST = 12  # people of a bucket that is still dealt as a whole


@dataclass(frozen=True)
class Buckets:
    """Bucket g has the people `begins[g]:begins[g + 1]` and the listed tuples
    `member_begins[g]:member_begins[g + 1]`; its values are those of `groups`.

    In column c the value v for those with s has its weight beta + count at
    `(offsets[c] + number[c][v]) * width + s`; number -1 is a value that nobody is listed with.
    """

    values: Domain
    domains: tuple[Domain, ...]
    alpha: Floats
    groups: Groups
    codes: Ints  # exact values of each listed tuple, a row by column
    many: Ints  # people of each listed tuple
    member_begins: Ints
    begins: Ints
    member: Ints  # the listed tuple of each person
    number: tuple[Ints, ...]
    offsets: Ints
    lengths: Ints  # listed values of each column
    beta: tuple[Floats, ...]  # of all values of a column, a row by s or one for all
    start: Floats  # the prior weights at their places
    scale: Floats  # 1 / (sum of beta + people with s): columns by s
    blocks: npt.NDArray[np.bool_]  # dealt as a whole, not by swaps
    slot_begins: Ints

    @property
    def width(self) -> int:
        return len(self.values)

    @property
    def people(self) -> Floats:
        """How many people have each sensitive value."""
        groups = self.groups
        sums = np.bincount(groups.indices, weights=groups.data, minlength=self.width)
        return sums.astype(np.float64)

    @property
    def place(self) -> Ints:
        """Where each person's values lie for the first sensitive value: people by columns."""
        return self.places(self.codes)[self.member]

    def places(self, codes: Ints) -> Ints:
        """The same for any tuples; -1 where nobody is listed with the value."""
        rows = [numbers[row] for numbers, row in zip(self.number, codes, strict=True)]
        found = np.array(rows, dtype=np.int64).reshape(len(self.number), codes.shape[1])
        placed = np.where(found >= 0, (found + self.offsets[:, None]) * self.width, -1)
        return np.ascontiguousarray(placed.T)

    def beta_of(self, column: int, s: Ints | slice, codes: Ints) -> Floats:
        beta = self.beta[column]
        return np.broadcast_to(beta, (self.width, beta.shape[1]))[s][:, codes]


def buckets_of(
    values: Domain, groups: Groups, members: Members, domains: Sequence[Domain], prior: Prior
) -> Buckets:
    codes = np.array(
        [
            recode(domain.name, row, theirs, domain)
            for domain, theirs, row in zip(domains, members.domains, members.codes, strict=True)
        ],
        dtype=np.int64,
    )
    size = groups.sizes
    begins = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    member = np.repeat(np.arange(codes.shape[1]), members.n)
    people = np.bincount(groups.indices, weights=groups.data, minlength=len(values))
    numbers, lengths, betas, starts, scales = [], [], [], [], []
    for domain, row in zip(domains, codes, strict=True):
        listed = np.unique(row)
        number = np.full(len(domain), -1, dtype=np.int64)
        number[listed] = np.arange(len(listed))
        beta = prior.of_column(domain, values)
        whole = np.broadcast_to(beta, (len(values), len(domain)))
        numbers.append(number)
        lengths.append(len(listed))
        betas.append(beta)
        starts.append(whole[:, listed].T.ravel())
        scales.append(1 / (whole.sum(axis=1) + people))
    different = groups.max_of(groups.data) <= 1
    slots = np.diff(members.indptr) * groups.distinct
    return Buckets(
        values,
        tuple(domains),
        prior.of_values(values),
        groups,
        codes,
        members.n,
        members.indptr,
        begins,
        member.astype(np.int64),
        tuple(numbers),
        np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64),
        np.array(lengths, dtype=np.int64),
        tuple(betas),
        np.concatenate(starts).astype(np.float64),
        np.array(scales),
        different & (size <= LARGEST),
        np.concatenate([[0], np.cumsum(slots)]).astype(np.int64),
    )


@dataclass(frozen=True)
class Listings:
    """Which listed tuples each asked tuple is: `members[indptr[i]:indptr[i + 1]]`."""

    indptr: Ints
    members: Ints


def listings(buckets: Buckets, codes: Ints) -> Listings:
    both = np.hstack([buckets.codes, codes]).astype(np.int32)
    number, first = rank_rows(both, [len(domain) for domain in buckets.domains])
    total = buckets.codes.shape[1]
    order = np.argsort(number[:total], kind="stable")
    ends = np.searchsorted(number[:total][order], np.arange(len(first) + 1))
    asked = number[total:]
    many = ends[asked + 1] - ends[asked]
    indptr = np.concatenate([[0], np.cumsum(many)]).astype(np.int64)
    place = np.repeat(ends[asked] - indptr[:-1], many) + np.arange(indptr[-1])
    return Listings(indptr, order[place].astype(np.int64))
