"""What releases allow of somebody whose rows a pseudonym links: her signature, and worlds.

A *world* is a way to give the target's rows values. A release shows of each of its signatures the
pseudonyms that have it, and of such a pseudonym which value each row has, but for rows that look
alike there (`SignedPatterns`). It allows the worlds that one of these pseudonyms says. Rows that no
release tells apart are a *cell*, and a world gives each cell the values of its rows, in order.

Whose rows a release holds is told by a table, by what anybody finds who knows all of somebody's
rows. It is taken to hold them where each row of that table fits one kind of its published rows
alone, and where the people of the table who fit a signature are as many as it shows, with just
their values. Anything else cannot be judged: which of her rows a release lacks decides which
signature she has there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, pairwise, product
from math import factorial, prod

import numpy as np

from sfumato.adversaries.base import ALTERED
from sfumato.adversaries.locating.people import places_of
from sfumato.adversaries.locating.signature_register import kinds_of_rows, listed
from sfumato.errors import InputError, ResourceError
from sfumato.numbers import Ints, distinct, offsets_of, rows_of
from sfumato.release.linked import LinkedPlacement, published_rows
from sfumato.release.release import Release
from sfumato.release.signatures import Signatures
from sfumato.table import Table

MOST_WORLDS = 1_000_000  # that are told one by one, of all people
SOME_KNOWN = (
    "who knows some of somebody's linked rows faces several signatures in each release, and may "
    "look for her where she is not: not worked out; {0} it with knows = 'all'"
)

RowValues = tuple[str, ...]
SignedRows = tuple[tuple[int, str], ...]  # the rows of a pseudonym: of which kind, with which value
World = tuple[RowValues, ...]  # the values of the rows of each cell, in order
RowKinds = tuple[int, ...]  # of a row: its kind in each release, -1 where it is not found
FoundSignatures = tuple[
    list[int], list[RowKinds]
]  # everybody's signature, and the kinds of her rows


@dataclass(frozen=True)
class RowsCase:
    """People nobody tells apart: their signature in each release, and the kinds of their rows."""

    signatures: RowKinds
    rows: tuple[RowKinds, ...]

    @property
    def cells(self) -> Counter[RowKinds]:
        """How many rows each cell has."""
        return Counter(self.rows)

    @property
    def there(self) -> list[int]:
        """The releases that have her."""
        return [j for j, signature in enumerate(self.signatures) if signature >= 0]


@dataclass(frozen=True)
class SignedPatterns:
    """What one release shows: of each signature the patterns that its pseudonyms have."""

    label: str
    signatures: Signatures
    by_signature: tuple[Counter[SignedRows], ...]
    signature: Ints  # of each pseudonym
    kinds: tuple[RowKinds, ...]  # of each pseudonym's rows, in their order

    @classmethod
    def of(cls, release: Release, attribute: str) -> SignedPatterns:
        described, by_row = release.regions, release.by_row
        if by_row is None or not isinstance(described, Signatures):
            raise InputError(
                f"{release.label} does not link people's rows, and here a pseudonym does: which of "
                "somebody's rows it shows is not known"
            )
        if by_row.groups_for(attribute).beside.altered_by_chance:
            raise InputError(f"{release.label}: {attribute!r}: {ALTERED}")
        published = published_rows(release)
        kinds, sets = len(described.rows), described.sets
        pairs = distinct(rows_of(sets.offsets) * kinds + sets.members)  # its groups, in order
        signature, kind = np.divmod(pairs[published.group], kinds)
        place = [domain.name for domain in published.domains].index(attribute)
        labels, values = published.domains[place].labels, published.values[place]
        rows = list(zip(kind.tolist(), (labels[code] for code in values.tolist()), strict=True))
        ends = offsets_of(np.bincount(published.pseudonym)).tolist()
        patterns = [Counter[SignedRows]() for _ in range(len(sets))]
        of_pseudonym = signature[ends[:-1]]
        for at, (low, high) in zip(of_pseudonym.tolist(), pairwise(ends), strict=True):
            patterns[at][tuple(sorted(rows[low:high]))] += 1
        own = tuple(tuple(kind[low:high].tolist()) for low, high in pairwise(ends))
        return cls(release.label, described, tuple(patterns), of_pseudonym, own)

    def find(self, table: Table, attribute: str) -> FoundSignatures:
        """The signature of everybody of a table and the kinds of her rows; -1 where there is none.

        By what anybody who knows all of her rows finds; refused where that does not say it.
        """
        rows = table.rows
        assert rows is not None
        names = [known.name for known in rows.sensitive]
        if attribute not in names:
            raise InputError(
                f"{table.source.label} does not have the values of {attribute!r}, by which it is "
                f"told whether {self.label} shows the same rows; give the table with that column"
            )
        kinds, kind_of = kinds_of_rows(
            self.signatures, rows, places_of(self.signatures.columns, table)
        )
        options, published = listed(kinds), listed(self.signatures.sets)
        number = {of_signature: at for at, of_signature in enumerate(published)}
        with_length: dict[int, set[int]] = {}
        for of_signature in published:
            with_length.setdefault(len(of_signature), set()).update(of_signature)
        place = names.index(attribute)
        labels = rows.sensitive[place].domain.labels
        value = [labels[code] for code in rows.values[place].tolist()]
        signatures: list[int] = []
        kinds_found: list[RowKinds] = []
        counted = [Counter[SignedRows]() for _ in published]
        for low, high in pairwise(offsets_of(np.bincount(rows.person)).tolist()):
            shown_kinds = with_length.get(high - low, set())
            fitting = [shown_kinds.intersection(options[kind]) for kind in kind_of[low:high]]
            if any(len(own) > 1 for own in fitting):
                raise InputError(
                    f"rows that {self.label} publishes overlap, so which of them are somebody's is "
                    "not known; publish by the lattice, whose rows do not overlap"
                )
            own_kinds = tuple(min(own, default=-1) for own in fitting)
            at = number.get(tuple(sorted(own_kinds)), -1)
            signatures.append(at)
            kinds_found.append(own_kinds if at >= 0 else (-1,) * len(own_kinds))
            if at >= 0:
                counted[at][tuple(sorted(zip(own_kinds, value[low:high], strict=True)))] += 1
        if tuple(counted) != self.by_signature:
            raise InputError(
                f"{self.label} does not show all rows of just those people of the table who fit "
                "it: rows of theirs were cut, left out or added since, or others left; which of "
                "somebody's rows it holds decides what finds her there, and is not known"
            )
        return signatures, kinds_found

    def placed(self, release: Release) -> FoundSignatures:
        """The same of the table that a release was made of, by who went where."""
        placement = release.placement
        assert isinstance(placement, LinkedPlacement)
        linked = placement.linked
        if linked.some_cut:
            raise InputError(
                f"{release.label} cuts people's rows into several pseudonyms or leaves some out, "
                "and which of them stand together in an earlier release is not known"
            )
        of_row = np.full(len(linked.rows), -1, dtype=np.int64)
        kind_of_row = np.full(len(linked.rows), -1, dtype=np.int64)
        of_row[linked.published] = self.signature[linked.published_pseudonym]
        kind_of_row[linked.published] = np.concatenate([np.array(own) for own in self.kinds])
        ends = offsets_of(np.bincount(linked.rows.person)).tolist()
        kinds = [tuple(kind_of_row[low:high].tolist()) for low, high in pairwise(ends)]
        return of_row[ends[:-1]].tolist(), kinds


def cases_of(located: list[FoundSignatures]) -> list[RowsCase]:
    """The case of everybody of a table, who is told in her place by each release."""
    return [
        RowsCase(signatures, tuple(sorted(zip(*kinds, strict=True))))
        for signatures, kinds in zip(
            zip(*(signatures for signatures, _ in located), strict=True),
            zip(*(kinds for _, kinds in located), strict=True),
            strict=True,
        )
    ]


@dataclass(frozen=True)
class RowWorlds:
    """Tells worlds one by one, and refuses where they are too many."""

    patterns: tuple[SignedPatterns, ...]

    @cached_property
    def _counted(self) -> list[int]:
        return [0]

    def of(self, case: RowsCase) -> dict[int, dict[World, int]]:
        """The worlds that each release which has her allows, and in how many ways.

        A way: a pseudonym with her signature, and an order of its rows that look alike.
        """
        return {j: dict(self._allowed(j, case)) for j in case.there}

    def _allowed(self, j: int, case: RowsCase) -> Iterator[tuple[World, int]]:
        cells = case.cells
        order = {cell: at for at, cell in enumerate(cells)}
        by_kind: dict[int, list[RowKinds]] = {}
        for cell in cells:
            by_kind.setdefault(cell[j], []).append(cell)
        sizes = {kind: tuple(cells[cell] for cell in own) for kind, own in by_kind.items()}
        shapes = self.patterns[j].by_signature[case.signatures[j]]
        most = prod(
            factorial(sum(own)) // prod(factorial(size) for size in own) for own in sizes.values()
        )
        self._counted[0] += most * len(shapes)
        if self._counted[0] > MOST_WORLDS:
            raise ResourceError(
                "people's linked rows can have their values in too many ways to be told one by "
                "one; publish rows = 'unlinked', or ask composition of one row a person"
            )
        for pattern, pseudonyms in shapes.items():
            labels = {kind: tuple(label for of, label in pattern if of == kind) for kind in by_kind}
            # A world says which pattern it is of, and rows of one look and value may change places.
            ways = pseudonyms * prod(factorial(many) for many in Counter(pattern).values())
            dealt_by_kind = (_deals(labels[kind], sizes[kind]) for kind in by_kind)
            for dealt in product(*dealt_by_kind):
                world: list[RowValues] = [()] * len(cells)
                for kind, values in zip(by_kind, dealt, strict=True):
                    for cell, own in zip(by_kind[kind], values, strict=True):
                        world[order[cell]] = own
                yield tuple(world), ways


@cache
def _deals(labels: RowValues, sizes: tuple[int, ...]) -> tuple[World, ...]:
    """The ways to deal values, in order, to so many rows each."""
    if len(sizes) == 1:
        return ((labels,),)
    ways = []
    for chosen in set(combinations(labels, sizes[0])):
        rest = tuple((Counter(labels) - Counter(chosen)).elements())
        ways += [(chosen, *others) for others in _deals(tuple(sorted(rest)), sizes[1:])]
    return tuple(ways)


def list_of(world: World) -> RowValues:
    """All values of a world, in order."""
    return tuple(sorted(label for labels in world for label in labels))


def respects_of(worlds: set[World], respects: int) -> list[int]:
    """How many lists worlds have, and how many values the rows of each cell have in them."""
    if not worlds:
        return [0] * respects
    lists = {list_of(world) for world in worlds}
    rows = (len(set().union(*column)) for column in zip(*worlds, strict=True))
    return [len(lists), *rows]
