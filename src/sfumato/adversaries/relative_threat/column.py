"""One quasi-identifier of a generalized release: its regions as sets of atoms.

Values that no published region tells apart form an atom: a run of codes between two places where
some region begins or ends. What the release says about a value it says about its whole atom; inside
an atom only the prior speaks, so a value has the share of its weight. All work is done on atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.domains import values_inside
from sfumato.counts.counts import Ints
from sfumato.schema.domain import Codes, Domain
from sfumato.schema.region import Region

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """`shown[g]` is the region of group g; region p holds `atoms[indptr[p]:indptr[p + 1]]`.

    `beta` has a row by sensitive value, or one row for all. `size[p]` counts a region's values.
    """

    domain: Domain
    beta: Floats
    shown: Codes
    atom_of: Ints
    indptr: Ints
    atoms: Ints
    size: Ints
    first: Ints = field(repr=False)  # the first code of each atom

    @property
    def name(self) -> str:
        return self.domain.name

    @property
    def width(self) -> int:
        """How many atoms there are."""
        return len(self.first)

    @property
    def parts(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def weight(self) -> Floats:
        """The prior weight of each atom, a row by sensitive value or one for all."""
        summed: Floats = np.add.reduceat(self.beta, self.first, axis=1)
        return summed

    @cached_property
    def log_share(self) -> Floats:
        """Each value's share of its atom, which the release says nothing about."""
        shares: Floats = np.log(self.beta) - np.log(self.weight)[:, self.atom_of]
        return shares

    def row(self, s: Ints) -> Ints:
        """The rows of `beta` for these sensitive values."""
        return s if len(self.beta) > 1 else np.zeros_like(s)

    def of_part(self, part: int) -> Ints:
        """The atoms of a region."""
        return self.atoms[self.indptr[part] : self.indptr[part + 1]]

    def gathered(self, weights: Floats) -> Floats:
        """For weights of single values, what each atom's values have on average, by the prior."""
        summed: Floats = np.add.reduceat(self.beta * weights, self.first, axis=1) / self.weight
        return summed


def column_of(domain: Domain, beta: Floats, parts: Sequence[Region], shown: Codes) -> Column:
    """The column of a release whose groups show these regions of it."""
    inside = values_inside(domain, parts, np.unique(shown))
    begins = [np.zeros(1, dtype=np.int64)]
    for codes in inside.values():
        gap = np.flatnonzero(np.diff(codes) > 1)
        begins += [codes[:1], codes[gap + 1], codes[gap] + 1, codes[-1:] + 1]
    first = np.unique(np.concatenate(begins))
    first = first[first < len(domain)]
    atom_of = np.searchsorted(first, np.arange(len(domain)), "right") - 1
    starts = np.zeros(len(domain), dtype=bool)
    starts[first] = True
    lists = [np.zeros(0, dtype=np.int64)] * len(parts)
    size = np.zeros(len(parts), dtype=np.int64)
    for part, codes in inside.items():
        lists[part] = atom_of[codes[starts[codes]]]
        size[part] = len(codes)
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    atoms = np.concatenate([np.zeros(0, dtype=np.int64), *lists])
    return Column(domain, beta, shown, atom_of.astype(np.int64), indptr, atoms, size, first)
