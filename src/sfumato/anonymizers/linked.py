"""Linked rows made alike: people who share a pseudonym's signature with enough others.

A pseudonym's rows are ordered by their quasi-identifiers, so that people with n rows have one wide
record each: quasi-identifiers at the first, second, ... n-th place. Mondrian partitions the records
of each length, and every row publishes what its place in the group does: signatures in a group are
equal by construction. The lattice generalizes a column alike in all rows; whoever's signature is
still shared by too few is left out, up to the limit of the policy.

Lengths that too few people have are cut (`pieces.py`). What is published is judged once more as
anybody reads it.

Stands apart: it runs other anonymizers on records made of several rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TypeVar

import numpy as np

from sfumato.adversaries.locating.signature_register import cannot_tell_signatures, count_register
from sfumato.anonymizers.base import Anonymizer, Task, refused
from sfumato.anonymizers.best import Best
from sfumato.anonymizers.lattice.lattice import Lattice, LatticeFindings
from sfumato.anonymizers.mondrian.mondrian import Mondrian, MondrianFindings
from sfumato.anonymizers.pieces import Pieces
from sfumato.counts.counts import Attribute, Counts
from sfumato.criteria.base import Criterion, GroupCriterion, by_signatures, groups_about, judge
from sfumato.criteria.k_anonymity import KAnonymity, KMap
from sfumato.criteria.of_lists import OfLists
from sfumato.criteria.presence import DeltaPresence
from sfumato.errors import NoSafeRelease, PolicyError
from sfumato.numbers import Bools, Codes, Ints
from sfumato.progress import Ticker
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.linked import LinkedRows, linked_release, rows_of
from sfumato.release.made import MadeHere
from sfumato.release.release import Release, as_it_stands
from sfumato.release.signatures import Signatures, signatures_of
from sfumato.schema.region import Anything, Region
from sfumato.schema.roles import Schema
from sfumato.table import Table, levels_of
from sfumato.utility.view import view_of

MOST_NODES = 20_000
FEW_NODES = 500  # that are tried beside Mondrian where no anonymizer is named
Given = TypeVar("Given")


def anonymize_linked(task: Task, maker: Anonymizer) -> Release:
    """The release of a table whose rows a pseudonym links."""
    task = _prepared(task)
    if isinstance(maker, Mondrian) and maker.scheme == "generalized":
        return _by_mondrian(task, maker)
    if isinstance(maker, Lattice):
        return _by_lattice(task)
    if isinstance(maker, Best):
        return _better(task)
    raise PolicyError(
        f"anonymizer {maker.name!r} does not make releases of linked rows; use mondrian (with "
        "scheme 'generalized'), lattice, or leave it out"
    )


def generalize_linked(task: Task, node: tuple[int, ...]) -> Release:
    """The release of one lattice node, whose signatures are shared as the criteria ask."""
    task = _prepared(task)
    return _released_at(task, Pieces.of(task, whole=_whole(task)), node)[0]


def _prepared(task: Task) -> Task:
    """The task with people's rows in order, where all that it asks can be asked of signatures."""
    for criterion in task.criteria:
        if not by_signatures(criterion):
            raise PolicyError(
                f"{criterion.name} needs one description of each person, and rows = 'linked' "
                "publishes several; take it out of the policy, or publish rows = 'unlinked'"
            )
        if isinstance(criterion, KMap | DeltaPresence):
            reason = cannot_tell_signatures(as_it_stands(task.table), criterion.population)
            if reason:
                raise PolicyError(f"{criterion.name}: {reason}")
    return replace(task, table=_in_random_order(task.table, task.seed))


def _judged_finished(task: Task) -> list[Criterion]:
    """What no search of wide records carries along: a register is of people's single rows."""
    return [
        given
        for given, bound in zip(task.criteria, task.require, strict=True)
        if bound in task.at_end or given.population_table is not None
    ]


def _whole(task: Task) -> bool:
    """Whether all rows of somebody must stand together: where it is asked who is in it."""
    return any(isinstance(criterion, DeltaPresence) for criterion in task.criteria)


def _better(task: Task) -> Release:
    """The cheaper of both, where a lattice is small enough to be searched whole."""
    by_mondrian = _by_mondrian(task, Mondrian())
    if prod(hierarchy.height for hierarchy in task.table.levels.values()) > FEW_NODES:
        return by_mondrian
    try:
        by_lattice = _by_lattice(task)
    except NoSafeRelease:
        return by_mondrian
    return min(by_mondrian, by_lattice, key=lambda release: task.utility.cost(view_of(release)))


def _in_random_order(table: Table, seed: int) -> Table:
    """Rows of one person that look alike in any order: places shall tell nothing of values."""
    rows = rows_of(table)
    chance = np.random.default_rng(seed).permutation(len(rows))
    order = np.lexsort((chance, *rows.codes[::-1], rows.person))
    return replace(table, rows=rows.in_order(order))


def _checked(release: Release, task: Task) -> Release:
    """Judged as anybody would."""
    for criterion in task.criteria:
        verdict = judge(criterion, release)
        if not verdict.holds:
            raise refused(criterion, verdict)
    return release


# -- Mondrian: people with equally many rows have wide records ---------------------------------


@dataclass(frozen=True)
class WideCounts(Counts):
    """Records of several rows; a value at some place is compared with all rows of the table."""

    by_row: tuple[Ints, ...] = ()

    def by_value(self, attribute: int) -> Ints:
        own = len(self.sensitive) - len(self.by_row)
        return super().by_value(attribute) if attribute < own else self.by_row[attribute - own]


def _at(name: str, place: int) -> str:
    return f"{name} #{place + 1}"


def wide_table(table: Table, pieces: Pieces, length: int) -> Table:
    """One record for each pseudonym of so many rows.

    Its sensitive attributes are the lists of all rows and, besides, the value at each place.
    """
    rows, schema = rows_of(table), table.schema
    chosen = np.flatnonzero(pieces.length == length)
    at = np.flatnonzero(np.isin(pieces.piece, chosen)).reshape(len(chosen), length)
    lists = rows.gathered(pieces.piece, repeated=schema.several == "multiset").take(chosen)
    places = range(length)
    quasi = [replace(domain, name=_at(domain.name, j)) for j in places for domain in rows.quasi]
    row_attributes = [
        Attribute(replace(attribute.domain, name=_at(attribute.name, j)))
        for j in places
        for attribute in rows.sensitive
    ]
    whole = rows.row_counts()
    counts = WideCounts(
        tuple(quasi),
        (*lists.sensitive, *row_attributes),
        np.vstack([rows.codes[:, at[:, j]] for j in places]),
        np.vstack([lists.values, *(rows.values[:, at[:, j]] for j in places)]),
        lists.n,
        weights=None if rows.weights is None else rows.weights[rows.person[at[:, 0]]],
        protect=rows.protected_by(rows.person[at[:, 0]]),
        by_row=tuple(whole.by_value(a) for _ in places for a in range(len(rows.sensitive))),
    )
    wide = _wide_schema(schema, length)
    return replace(
        table,
        schema=wide,
        counts=counts,
        levels=levels_of(wide, counts),
        rows=None,
        households=None,
    )


def _wide_schema(schema: Schema, length: int) -> Schema:
    def spread(by_column: Mapping[str, Given]) -> dict[str, Given]:
        return {
            _at(name, j): given
            for j in range(length)
            for name, given in by_column.items()
            if name in schema.quasi
        }

    places = range(length)
    return Schema(
        [_at(name, j) for j in places for name in schema.quasi],
        [*schema.sensitive, *(_at(name, j) for j in places for name in schema.sensitive)],
        hierarchies=spread(schema.hierarchies),
        domains=spread(schema.domains),
        units=spread(schema.units),
        limits=spread(schema.limits),
        nulls=schema.nulls,
        several=schema.several,
    )


def wide_criteria(
    criteria: Sequence[Criterion], sensitive: Sequence[str], length: int
) -> Iterator[Criterion]:
    """What is asked of wide records: of whole lists, and of the value at each place."""
    for criterion in criteria:
        if not criterion.reads_values:
            yield criterion
            continue
        names = sensitive if criterion.sensitive is None else [criterion.sensitive]
        for name in names:
            if criterion.of_several:
                yield replace(criterion, sensitive=name)
                continue
            yield from (replace(criterion, sensitive=_at(name, j)) for j in range(length))
            if criterion.of_lists and isinstance(criterion, GroupCriterion):
                yield OfLists(criterion, sensitive=name)


def _by_mondrian(task: Task, maker: Mondrian) -> Release:
    """The finest that holds; of larger and larger groups, where only finished ones are judged."""
    finished = _judged_finished(task)
    carried = tuple(criterion for criterion in task.criteria if criterion not in finished)
    least = max([1, *(criterion.fewest_people for criterion in task.criteria)])
    while True:
        asked = (*carried, KAnonymity(least))
        release = _checked(
            _partitioned(replace(task, criteria=asked), maker, whole=_whole(task)),
            replace(task, criteria=carried),
        )
        if not finished or 2 * least > rows_of(task.table).people:
            return _checked(release, task)
        try:
            return _checked(release, task)
        except NoSafeRelease:
            least *= 2


def _partitioned(task: Task, maker: Mondrian, *, whole: bool) -> Release:
    unfit: frozenset[int] = frozenset()
    while True:
        pieces = Pieces.of(task, unfit, whole=whole)
        lengths = [int(length) for length in np.unique(pieces.length) if length]
        wide: dict[int, Release] = {}
        for length in reversed(lengths):
            try:
                wide[length] = _wide_release(task, maker, pieces, length)
            except NoSafeRelease:
                # Rows that cannot be published together may be apart, but for single rows.
                if length == 1:
                    raise
                unfit |= {length}
                break
        else:
            return _published(task, pieces, wide)


def _wide_release(task: Task, maker: Mondrian, pieces: Pieces, length: int) -> Release:
    table = wide_table(task.table, pieces, length)
    asked = tuple(wide_criteria(task.criteria, task.table.schema.sensitive, length))
    return maker.run(replace(task, table=table, criteria=asked))


def _published(task: Task, pieces: Pieces, wide: dict[int, Release]) -> Release:
    """The rows of wide records, each with what its place in the record publishes."""
    table, rows = task.table, rows_of(task.table)
    columns = len(rows.quasi)
    known: list[dict[Region, int]] = [{} for _ in range(columns)]
    codes: Codes = np.zeros((columns, len(rows)), dtype=np.int32)
    for length, release in wide.items():
        chosen = np.flatnonzero(pieces.length == length)
        at = np.flatnonzero(np.isin(pieces.piece, chosen)).reshape(len(chosen), length)
        made, regions = release.made, release.regions.require_regions()
        assert isinstance(made, MadeHere)
        placed = made.placement.in_memory("publishing linked rows")
        group = np.zeros(len(chosen), dtype=np.int64)
        group[placed.tuples] = placed.groups
        for place, (parts, part_codes) in enumerate(zip(regions.parts, regions.codes, strict=True)):
            row, column = divmod(place, columns)
            numbers = known[column]
            moved = np.array([numbers.setdefault(part, len(numbers)) for part in parts], np.int32)
            codes[column, at[:, row]] = moved[part_codes[group]]
    names = tuple(domain.name for domain in rows.quasi)
    shown_rows = Regions(names, tuple(tuple(parts) or (Anything(),) for parts in known), codes)
    linked = LinkedRows(table, pieces.pseudonym, pieces.piece, shown_rows)
    return linked_release(linked, MondrianFindings(), task.seed)


# -- the lattice: a column alike in all rows ---------------------------------------------------


def _by_lattice(task: Task) -> Release:
    """The cheapest of all nodes that hold; above one that leaves nobody out is nothing better."""
    levels = [task.table.levels[domain.name] for domain in task.table.counts.quasi]
    within = [range(hierarchy.finest, hierarchy.coarsest + 1) for hierarchy in levels]
    if (many := prod(map(len, within))) > MOST_NODES:
        raise PolicyError(
            f"the lattice has {many:,} nodes, and linked rows are searched up to "
            f"{MOST_NODES:,}; use mondrian, or fewer levels"
        )
    pieces = Pieces.of(task, whole=_whole(task))
    best: tuple[float, Release] | None = None
    missed: NoSafeRelease | None = None
    safe_above: list[tuple[int, ...]] = []
    closed = all(criterion.merge_closed for criterion in task.criteria)
    nodes = sorted(product(*within), key=lambda node: (sum(node), node))
    with Ticker("judging nodes", len(nodes)) as ticker:
        for node in nodes:
            ticker.add(1)
            if any(
                all(low <= at for low, at in zip(lower, node, strict=True)) for lower in safe_above
            ):
                continue
            try:
                release, whole = _released_at(task, pieces, node)
            except NoSafeRelease as error:
                missed = error
                continue
            if closed and whole:
                safe_above.append(node)
            cost = task.utility.cost(view_of(release))
            if best is None or cost < best[0]:
                best = cost, release
    if best is None:
        assert missed is not None
        raise missed
    return best[1]


def _released_at(task: Task, pieces: Pieces, node: tuple[int, ...]) -> tuple[Release, bool]:
    """The release of a node, and whether it leaves nobody out."""
    linked = _recoded(task.table, pieces, node)
    findings = LatticeFindings(dict(zip(linked.regions.columns, node, strict=True)))
    kept = _without_failing(linked, task)
    return _checked(linked_release(kept, findings, task.seed), task), kept is linked


def _recoded(table: Table, pieces: Pieces, node: tuple[int, ...]) -> LinkedRows:
    """All rows at one level of each column."""
    rows = rows_of(table)
    levels = [table.levels[domain.name] for domain in rows.quasi]
    chosen = [hierarchy[level] for hierarchy, level in zip(levels, node, strict=True)]
    coded = [level.codes[row] for level, row in zip(chosen, rows.codes, strict=True)]
    names = tuple(domain.name for domain in rows.quasi)
    regions = Regions(names, tuple(level.regions for level in chosen), np.vstack(coded))
    return LinkedRows(table, pieces.pseudonym, pieces.piece, regions)


def _without_failing(linked: LinkedRows, task: Task) -> LinkedRows:
    """Without pseudonyms that fail what is asked of each group, as far as the policy allows.

    Who is left out is missed by those who shared rows with her, so it is asked again.
    """
    rows, kept = linked.rows, linked
    allowed = task.suppression * rows.people
    while True:
        release = linked_release(kept)
        failing = _failing(release, kept, task)
        if not failing.any():
            return kept
        kept = kept.without(failing)
        people = len(np.unique(rows.person[(linked.pseudonym >= 0) & (kept.pseudonym < 0)]))
        if people > allowed or not len(kept.published):
            raise NoSafeRelease(
                f"no node of the lattice satisfies the policy: {people:,} of {rows.people:,} "
                f"people would lose rows, {int(allowed):,} allowed; allow more suppression, or "
                "loosen it"
            )


def _asked(criterion: Criterion, release: Release) -> list[Groups]:
    """The groups it judges; none where a register tells of others: it is judged when finished."""
    register = criterion.population_table
    if register is None:
        return groups_about(criterion, release)
    counted = count_register(release, register, all_rows=criterion.by_all_rows)
    return [] if counted.groups is None or counted.other else [counted.groups]


def _failing(release: Release, linked: LinkedRows, task: Task) -> Bools:
    """The pseudonyms of groups that fail a criterion."""
    described, by_row = release.regions, release.by_row
    assert isinstance(described, Signatures)
    assert by_row is not None
    assert by_row.several is not None
    signatures = np.zeros(len(described), dtype=bool)
    people = np.zeros(int(linked.published_pseudonym.max(initial=-1)) + 1, dtype=bool)
    for criterion in task.criteria:
        if not isinstance(criterion, GroupCriterion):
            continue
        some_known = criterion.about_identity and not criterion.by_all_rows
        for groups in _asked(criterion, release):
            failing = ~criterion.holds(groups)
            if criterion.reads_values and not criterion.of_several:
                assert by_row.several.person is not None
                assert by_row.several.group is not None
                people[by_row.several.person[failing[by_row.several.group]]] = True
            elif some_known and described.known_rows is not None:
                known = described.known_rows
                signatures[known.signature[failing[known.part]]] = True
            else:
                signatures |= failing
        if criterion.of_lists:
            whole = OfLists.of(criterion)
            for groups in groups_about(whole, release):
                signatures |= ~whole.holds(groups)
    signature_of, _, _ = signatures_of(
        linked.regions.take(linked.published), linked.published_pseudonym
    )
    return people | signatures[signature_of]
