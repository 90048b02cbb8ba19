"""How few values are left of people whose rows a pseudonym links, beside earlier releases.

The adversary knows all rows of her target, and that every release her target is in holds all of
them. In each she faces the pseudonyms with the target's signature. What such a pseudonym says is
more than a list of values: row by row which value, but for rows that look alike there. A *world* is
a way to give the target's rows values. A release leaves the worlds that one of these pseudonyms
allows, all releases together those that each of them allows; and whoever is asked is exposed if
there are few in either of two respects:

*by person*: the lists (multisets) of all her values in these worlds;
*of a row*: the values that one of her rows has in them.

Lists that both releases show, or values that rows which look like it have in both, would be more
than that: two releases that generalize her rows differently may each show a list, and none of the
ways of the one to lay it on her rows be one of the other's. So neither is intersected by itself.

In which earlier releases she is nobody outside knows. Every choice that leaves a world counts, as
in `exposure.py`: with T(w) the earlier releases that allow w, it is the fewest over worlds w of the
new release that the worlds u of it with T(u) containing T(w) leave.

Whose rows the new release shows is told by its table, and everything rests on an earlier one
holding the same rows of whoever is in both. It is taken to where each row of that table fits one
kind of its published rows alone, and where the people of the table who fit a signature are as many
as it shows, with just their values. Anything else cannot be judged: which of her rows an earlier
release lacks decides which signature she has there.

Stands apart: unlike in `exposure.py` and `rows_exposure.py` values left are those of whole people,
told one by one, and no release is asked by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from itertools import combinations, pairwise, product
from math import factorial, prod

import numpy as np

from sfumato.adversaries.base import ALTERED
from sfumato.adversaries.composition.exposure import Exposed, ExposureRule
from sfumato.adversaries.composition.intersection import match_values
from sfumato.adversaries.locating.people import places_of
from sfumato.adversaries.locating.signature_register import kinds_of_rows, listed
from sfumato.errors import InputError, ResourceError
from sfumato.numbers import Ints, distinct, offsets_of, rows_of
from sfumato.release.linked import LinkedPlacement
from sfumato.release.made import Placement, ReadFrom
from sfumato.release.release import Release
from sfumato.release.signatures import Signatures
from sfumato.table import Table

_MOST_WORLDS = 1_000_000  # that are told one by one, of all people
_UNKNOWN = "{0}: which of its rows are one pseudonym's is not known"

RowValues = tuple[str, ...]
SignedRows = tuple[tuple[int, str], ...]  # the rows of a pseudonym: of which kind, with which value
World = tuple[RowValues, ...]  # the values of the rows of each cell, in order
RowKinds = tuple[int, ...]  # of a row: its kind in each release, -1 where it is not found


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
        several, source, placement = by_row.several, by_row.counted_from, release.placement
        linked = placement.linked if isinstance(placement, LinkedPlacement) else None
        if several is None or several.person is None or several.group is None:
            raise InputError(_UNKNOWN.format(release.label))
        if not isinstance(source, Placement):
            raise InputError(_UNKNOWN.format(release.label))
        places = np.arange(len(source.groups)) if linked is None else linked.published
        if not np.array_equal(source.groups[places], several.group):
            raise InputError(_UNKNOWN.format(release.label))
        kinds, sets = len(described.rows), described.sets
        pairs = distinct(rows_of(sets.offsets) * kinds + sets.members)  # its groups, in order
        signature, kind = np.divmod(pairs[source.groups[places]], kinds)
        counts = source.counts
        names = [known.name for known in counts.sensitive]
        place = names.index(attribute)
        labels = counts.sensitive[place].domain.labels
        values = counts.values[place][source.tuples[places]]
        rows = list(zip(kind.tolist(), (labels[code] for code in values.tolist()), strict=True))
        ends = offsets_of(np.bincount(several.person)).tolist()
        patterns = [Counter[SignedRows]() for _ in range(len(sets))]
        of_pseudonym = signature[ends[:-1]]
        for at, (low, high) in zip(of_pseudonym.tolist(), pairwise(ends), strict=True):
            patterns[at][tuple(sorted(rows[low:high]))] += 1
        own = tuple(tuple(kind[low:high].tolist()) for low, high in pairwise(ends))
        return cls(release.label, described, tuple(patterns), of_pseudonym, own)

    def find(self, table: Table, attribute: str) -> tuple[list[int], list[RowKinds]]:
        """The signature of everybody of a table and the kinds of her rows; -1 where there is none.

        By what anybody who knows all of her rows finds; refused where that does not say it.
        """
        rows = table.rows
        assert rows is not None
        kinds, kind_of = kinds_of_rows(
            self.signatures, rows, places_of(self.signatures.columns, table)
        )
        options, published = listed(kinds), listed(self.signatures.sets)
        number = {of_signature: at for at, of_signature in enumerate(published)}
        with_length: dict[int, set[int]] = {}
        for of_signature in published:
            with_length.setdefault(len(of_signature), set()).update(of_signature)
        place = [known.name for known in rows.sensitive].index(attribute)
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


@dataclass(frozen=True)
class Left:
    """What is left of somebody in one respect: values by her group, beside earlier releases, by the
    one of all these that leaves fewest; and by the earlier ones alone, all and the fewest."""

    own: int
    together: int
    by_one: int
    before: int | None
    by_one_before: int

    def exposed(self, rule: ExposureRule) -> bool:
        exposed = self.together <= rule.most and self.by_one - self.together >= rule.drop
        return exposed and not (rule.counting == "added" and self.exposed_before(rule))

    def exposed_before(self, rule: ExposureRule) -> bool:
        if self.before is None:  # none of them has her
            return False
        return self.before <= rule.most and self.by_one_before - self.before >= rule.drop


@dataclass(frozen=True)
class WatchedSignatures:
    """People of a new release as it and the earlier ones show them: `people[i]` of each case."""

    signature: Ints
    people: Ints
    left: tuple[tuple[Left, ...], ...]
    total: int

    @classmethod
    def of(cls, release: Release, attribute: str, earlier: Sequence[Release]) -> WatchedSignatures:
        about = [before for before in earlier if attribute in before.by_attribute]
        patterns = [SignedPatterns.of(source, attribute) for source in (release, *about)]
        by_row = [
            source.by_row.groups_for(attribute) for source in (release, *about) if source.by_row
        ]
        match_values(attribute, [(s.label, g) for s, g in zip(patterns, by_row, strict=True)])
        table, own = _people_of(release, patterns[0], attribute)
        placed = [own, *(before.find(table, attribute) for before in patterns[1:])]
        cases: Counter[tuple[RowKinds, tuple[RowKinds, ...]]] = Counter()
        for signatures, kinds in zip(
            zip(*(signatures for signatures, _ in placed), strict=True),
            zip(*(kinds for _, kinds in placed), strict=True),
            strict=True,
        ):
            if signatures[0] >= 0:
                cases[signatures, tuple(sorted(zip(*kinds, strict=True)))] += 1
        counter = _Worlds(tuple(patterns))
        return cls(
            np.array([signatures[0] for signatures, _ in cases], dtype=np.int64),
            np.array(list(cases.values()), dtype=np.int64),
            tuple(counter.left(*case) for case in cases),
            len(release.groups),
        )

    def exposed(self, rule: ExposureRule) -> Exposed:
        """The people of each signature who are exposed in some respect, each once."""
        chosen = [any(left.exposed(rule) for left in case) for case in self.left]
        people = np.bincount(self.signature, self.people * np.array(chosen), self.total)
        exposed = people.astype(np.int64)
        return Exposed(exposed, exposed)

    def exposed_before(self, rule: ExposureRule) -> int:
        """The people whom the earlier releases expose by themselves."""
        chosen = [any(left.exposed_before(rule) for left in case) for case in self.left]
        return int(self.people[chosen].sum())


def exposed_by_signature(release: Release, attribute: str, rule: ExposureRule) -> Exposed:
    """Who is exposed by the new release alone, where no more is known of it."""
    total, sizes = len(release.groups), release.groups.sizes
    sure = np.zeros(total, dtype=np.int64)
    if rule.counting == "all" and not rule.drop:
        try:
            signed = SignedPatterns.of(release, attribute).by_signature
        except InputError:
            signed = ()
        for at, patterns in enumerate(signed):
            rows: dict[int, set[str]] = {}
            for pattern in patterns:
                for kind, label in pattern:
                    rows.setdefault(kind, set()).add(label)
            lists = {tuple(sorted(label for _, label in pattern)) for pattern in patterns}
            if min([len(lists), *map(len, rows.values())]) <= rule.most:
                sure[at] = sizes[at]
    return Exposed(sure, sizes)


def _people_of(
    release: Release, signed: SignedPatterns, attribute: str
) -> tuple[Table, tuple[list[int], list[RowKinds]]]:
    """The table of a new release, and everybody's signature there with the kinds of her rows."""
    if release.schema.knows != "all":
        raise InputError(
            "who knows some of somebody's linked rows faces several signatures in each release, "
            "and may look for her where she is not: not worked out; judge it with knows = 'all'"
        )
    placement = release.placement
    if not isinstance(placement, LinkedPlacement):
        table = release.made.linked_table if isinstance(release.made, ReadFrom) else None
        if table is None or table.rows is None:
            raise InputError(
                "whose rows a pseudonym links is not known; give the table it was made of (--table)"
            )
        return table, signed.find(table, attribute)
    linked = placement.linked
    if linked.some_cut:
        raise InputError(
            f"{release.label} cuts people's rows into several pseudonyms or leaves some out, and "
            "which of them stand together in an earlier release is not known"
        )
    of_row = np.full(len(linked.rows), -1, dtype=np.int64)
    kind_of_row = np.full(len(linked.rows), -1, dtype=np.int64)
    of_row[linked.published] = signed.signature[linked.published_pseudonym]
    kind_of_row[linked.published] = np.concatenate([np.array(own) for own in signed.kinds])
    ends = offsets_of(np.bincount(linked.rows.person)).tolist()
    kinds = [tuple(kind_of_row[low:high].tolist()) for low, high in pairwise(ends)]
    return linked.table, (of_row[ends[:-1]].tolist(), kinds)


@dataclass(frozen=True)
class _Worlds:
    """Tells worlds one by one, and refuses where they are too many."""

    patterns: tuple[SignedPatterns, ...]

    @cached_property
    def _counted(self) -> list[int]:
        return [0]

    def left(self, signatures: RowKinds, rows: tuple[RowKinds, ...]) -> tuple[Left, ...]:
        """What is left of people with these signatures and rows: of their lists, and of each row.

        Rows that no release tells apart are a cell.
        """
        cells = Counter(rows)
        there = [j for j in range(1, len(signatures)) if signatures[j] >= 0]
        worlds = {j: set(self._allowed(j, signatures[j], cells)) for j in [0, *there]}
        respects = len(cells) + 1
        before = set().union(*(worlds[j] for j in there)) if there else set()
        in_earlier = {
            world: frozenset(j for j in there if world in worlds[j]) for world in worlds[0] | before
        }
        together = _fewest(worlds[0], in_earlier, respects)
        alone = _fewest(before, in_earlier, respects)
        own = _many(worlds[0], respects)
        by_each = [_many(worlds[j], respects) for j in there]
        by_earlier = [min(counts) for counts in zip(*by_each, strict=True)] or [0] * respects
        by_all = bool(there) and any(in_earlier[world] == set(there) for world in worlds[0])
        by_one = [min(pair) for pair in zip(own, by_earlier, strict=True)] if by_all else own
        return tuple(
            Left(own[at], together[at], by_one[at], alone[at] if there else None, by_earlier[at])
            for at in range(respects)
        )

    def _allowed(self, j: int, signature: int, cells: Counter[RowKinds]) -> Iterator[World]:
        """The worlds that release j allows of whoever has this signature there."""
        order = {cell: at for at, cell in enumerate(cells)}
        by_kind: dict[int, list[RowKinds]] = {}
        for cell in cells:
            by_kind.setdefault(cell[j], []).append(cell)
        sizes = {kind: tuple(cells[cell] for cell in own) for kind, own in by_kind.items()}
        shapes = self.patterns[j].by_signature[signature]
        most = prod(
            factorial(sum(own)) // prod(factorial(size) for size in own) for own in sizes.values()
        )
        self._counted[0] += most * len(shapes)
        if self._counted[0] > _MOST_WORLDS:
            raise ResourceError(
                "people's linked rows can have their values in too many ways to be told one by "
                "one; publish rows = 'unlinked', or ask composition of one row a person"
            )
        for pattern in shapes:
            labels = {kind: tuple(label for of, label in pattern if of == kind) for kind in by_kind}
            ways = (_deals(labels[kind], sizes[kind]) for kind in by_kind)
            for dealt in product(*ways):
                world: list[RowValues] = [()] * len(cells)
                for kind, values in zip(by_kind, dealt, strict=True):
                    for cell, own in zip(by_kind[kind], values, strict=True):
                        world[order[cell]] = own
                yield tuple(world)


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


def _many(worlds: set[World], respects: int) -> list[int]:
    """How many lists worlds have, and how many values the rows of each cell have in them."""
    if not worlds:
        return [0] * respects
    lists = {tuple(sorted(label for labels in world for label in labels)) for world in worlds}
    rows = (len(set().union(*column)) for column in zip(*worlds, strict=True))
    return [len(lists), *rows]


def _fewest(
    worlds: set[World], in_earlier: dict[World, frozenset[int]], respects: int
) -> list[int]:
    """The same, the fewest that any choice of earlier releases leaves."""
    choices = {in_earlier[world] for world in worlds}
    counts = (
        _many({world for world in worlds if choice <= in_earlier[world]}, respects)
        for choice in choices
    )
    return reduce(
        lambda a, b: [min(pair) for pair in zip(a, b, strict=True)], counts, [2**62] * respects
    )
