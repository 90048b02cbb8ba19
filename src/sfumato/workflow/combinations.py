"""What is characterized, and which combinations of its columns are measured against which targets.

Whatever it came from, it is one compact table of coded columns: a table shows its values, a release
the cells it publishes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

import numpy as np

from sfumato.adversaries.leakage.expectation import overlap_reason
from sfumato.counts.counts import Attribute, Counts, TableCounts
from sfumato.counts.kernel import People
from sfumato.counts.marginals import Marginal, StoredMarginal
from sfumato.counts.scan import scan
from sfumato.counts.stored import StoredCounts
from sfumato.engines.base import Source
from sfumato.errors import InputError, ResourceError, did_you_mean, expect
from sfumato.numbers import Codes, Ints, rows_of, run_places
from sfumato.release.build import BETWEEN, label_of
from sfumato.release.description import Buckets, Regions
from sfumato.release.made import TablePlacement
from sfumato.release.release import Release, standing_notes
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import Region
from sfumato.schema.roles import Schema
from sfumato.table import Table

Labels = Sequence[str]


@dataclass(frozen=True)
class CodedColumns:
    """Columns and the people by their values.

    `quasi` and `sensitive` are the columns with those roles; `left_out` says of other columns why
    they are not here. `levels` are the hierarchies of a table's columns. `public`: it is, or would
    be, handed out. `unseen`: values of a column that nobody shown has; an observer may expect them.
    `ordered`: columns whose values stand in an order.
    """

    names: tuple[str, ...]
    labels: tuple[Labels, ...]
    base: Marginal | StoredMarginal
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    label: str
    people: int
    notes: tuple[str, ...]
    public: bool
    levels: Mapping[str, Levels] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, Labels] = field(default_factory=dict)
    ordered: frozenset[str] = frozenset()

    def place(self, name: str) -> int:
        """The position of a column."""
        if name in self.left_out:
            raise InputError(f"column {name!r} {self.left_out[name]}")
        if name not in self.names:
            raise InputError(
                f"column {name!r} is not in {self.label} or has no role; "
                f"{did_you_mean(name, self.names)}"
            )
        return self.names.index(name)


def of_table(table: Table, wanted: Collection[str]) -> CodedColumns:
    """The columns of a table; kept ones if they are wanted."""
    schema = table.schema
    kept = tuple(name for name in schema.keep if name in wanted)
    counted = table.counts
    if kept:
        others = tuple(name for name in schema.keep if name not in kept)
        wider = replace(schema, sensitive=(*schema.sensitive, *kept), keep=others)
        counted = scan(table.engine, table.source, wider)
    counts: TableCounts = counted
    labels: list[Labels] = [domain.labels for domain in counts.quasi]
    labels += sensitive_labels(counts.sensitive)
    names = (*schema.quasi, *(attribute.name for attribute in counts.sensitive))
    return CodedColumns(
        names=names,
        labels=tuple(labels),
        base=_everybody(counts, labels),
        quasi=tuple(schema.quasi),
        sensitive=tuple(schema.sensitive),
        label=table.source.label,
        people=counts.people,
        notes=standing_notes(table),
        public=False,
        levels=table.levels,
        left_out=left_out(schema, table.source, (*names, *schema.keep)),
        ordered=frozenset(
            domain.name
            for domain in (
                *counts.quasi,
                *(attribute.domain for attribute in counts.sensitive if attribute.sets is None),
            )
            if domain.is_ordered
        ),
    )


def _everybody(counts: TableCounts, labels: Sequence[Labels]) -> Marginal | StoredMarginal:
    """The tuples of a table by all its columns, wherever they are counted."""

    def here(counts: Counts) -> Marginal | StoredMarginal:
        return marginal([*counts.codes, *counts.values], labels, counts.n)

    def there(stored: StoredCounts) -> Marginal | StoredMarginal:
        return StoredMarginal(stored, tuple(range(len(labels))), tuple(map(len, labels)))

    return counts.either(in_memory=here, stored=there)


def left_out(schema: Schema, source: Source, names: Collection[str]) -> dict[str, str]:
    """Why other columns of the policy and of a file are not among these.

    Of a frame only columns with a role are held: of its others nothing is known.
    """
    roles = {name: role for role, name in schema.roles()}
    return {
        name: f"has the role {roles[name]!r} in the policy and is not measured; use keep instead"
        if name in roles
        else "has no role in the policy; give it one (keep, to measure it only)"
        for name in {**roles, **source.types}
        if name not in names
    }


def sensitive_labels(attributes: Sequence[Attribute]) -> list[Labels]:
    """Labels of the sensitive attributes; a set of values is one value."""
    return [
        attribute.domain.labels
        if attribute.sets is None
        else [label_of(attribute, code) for code in range(attribute.codes)]
        for attribute in attributes
    ]


def marginal(rows: Sequence[Codes], labels: Sequence[Labels], n: People) -> Marginal:
    """The tuples; some may stand twice, since several tuples of a table may show the same."""
    columns = tuple(range(len(rows)))
    sizes = tuple(len(label) for label in labels)
    codes = np.ascontiguousarray(np.vstack([row.astype(np.int32, copy=False) for row in rows]))
    assert all(row.max(initial=-1) < size for row, size in zip(codes, sizes, strict=True))
    return Marginal(columns, sizes, codes, n)


# What a release shows of its people: the cells it publishes, and nothing of anybody suppressed.
#
# A release that was made here, or whose private side is there, knows more than its readers do:
# values that only suppressed people have, and how the whole table is distributed. What a reader
# could subtract from the published counts would be those people's values, so neither enters:
# values are those that are published, and what everybody has is what the published people have.
#
# A bucketized release shows exact quasi-identifiers and, apart from them, the sensitive values of
# each bucket: whoever has a tuple has each value of the bucket with its share, so people are
# expected people there.

_KEPT = (
    "is published as it is; of a release, quasi-identifiers and sensitive columns are measured: "
    "characterize the table, or read the published file with this column as a sensitive one"
)


class _Texts(Sequence[str]):
    """The cells of a column, written out when asked for."""

    def __init__(self, parts: Sequence[Region]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        return self._parts[place].text


class _Some(Sequence[str]):
    """Some of a column's labels, by their places."""

    def __init__(self, labels: Labels, places: Ints) -> None:
        self._labels, self._places = labels, places.tolist()

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        return self._labels[self._places[place]]

    def __repr__(self) -> str:
        return repr(tuple(self))


def coded_columns(subject: Table | Release, wanted: Collection[str]) -> CodedColumns:
    """The columns of a table or release; kept columns of a table if they are wanted."""
    expect("subject", subject, (Release, Table), "a Table or a Release")
    if subject.schema.rows != "gathered":
        raise InputError(
            "characterize takes one row a person, and rows of one person are kept apart here; read "
            "the table with rows = 'gathered'"
        )
    if isinstance(subject, Table):
        return of_table(subject, wanted)
    if subject.regions.noisy:
        raise InputError("counts of a randomised release are noisy; characterize the table instead")
    subject.refuse_wildcards()
    if len(subject.groups) == 0:
        raise InputError(f"{subject.label} has no group; there is nothing to characterize")
    if subject.regions.buckets is not None:
        return _of_buckets(subject, subject.regions.buckets)
    return _of_regions(subject, subject.regions.require_regions())


def check_apart(release: Release, columns: Sequence[str]) -> None:
    """Refuse to group by cells that overlap without being equal, as the criteria do."""
    known = [name for name in columns if name in release.regions.columns]
    if known and not release.regions.exact:
        reason = overlap_reason(release.groups, known)
        if reason:
            raise InputError(f"the prior given {', '.join(known)} is not applicable: {reason}")


def _of_regions(release: Release, regions: Regions) -> CodedColumns:
    source = release.counted_from
    cells: list[Labels] = [_Texts(parts) for parts in regions.parts]
    if source is not None:
        group, values, n = source.published_values("characterizing a release")
        sensitive, labels = list(values), sensitive_labels(source.table.counts.sensitive)
        names = tuple(attribute.name for attribute in source.table.counts.sensitive)
    else:
        groups = release.groups
        names = tuple(release.by_attribute) if groups.width else ()
        if len(names) > 1 or not groups.single_valued:
            raise InputError("this release tells of each sensitive column alone; read it anew")
        group, n = groups.row, groups.data
        sensitive, labels = [groups.indices], [groups.values]
        if not names:
            group, n, sensitive, labels = np.arange(len(groups)), groups.sizes, [], []
    region_of = [row[group] for row in regions.codes]
    overlapping = [name for name in regions.columns if overlap_reason(release.groups, [name])]
    notes: tuple[str, ...] = ()
    if overlapping:
        notes = (
            f"cells of {', '.join(overlapping)} overlap without being equal: a class is the people "
            "who show the same cells, and whoever fits several of them may be in another",
        )
    return _ground(
        release,
        (*regions.columns, *names),
        names,
        [*region_of, *sensitive],
        [*cells, *labels],
        n,
        notes,
    )


def _of_buckets(release: Release, members: Buckets) -> CodedColumns:
    groups = release.groups
    if len(release.by_attribute) != 1 or not groups.single_valued or groups.width == 0:
        raise InputError("a bucketized release must have one sensitive column of one value each")
    length = np.diff(groups.indptr)
    bucket = rows_of(members.indptr)
    # Every tuple of a bucket with every value of it: the tuple's people times the value's share.
    times = length[bucket]
    tuples = np.repeat(np.arange(len(bucket)), times)
    place = run_places(groups.indptr[bucket], times)
    (name,) = release.by_attribute
    return _ground(
        release,
        (*members.columns, name),
        (name,),
        [*members.codes[:, tuples], groups.indices[place]],
        [*(domain.labels for domain in members.domains), groups.values],
        members.n[tuples] * groups.share[place],
        ("a bucket does not say who has which value: people are expected ones, by shares",),
    )


def _ground(
    release: Release,
    names: tuple[str, ...],
    sensitive: tuple[str, ...],
    rows: Sequence[Codes],
    labels: Sequence[Labels],
    n: People,
    notes: tuple[str, ...],
) -> CodedColumns:
    """The published people by the values that are published, each column's coded anew."""
    used, coded = zip(*(np.unique(row, return_inverse=True) for row in rows), strict=True)
    kept = [_Some(label, places) for label, places in zip(labels, used, strict=True)]
    source = release.counted_from
    return CodedColumns(
        names=names,
        labels=tuple(kept),
        base=marginal(coded, kept, n),
        quasi=names[: len(names) - len(sensitive)],
        sensitive=sensitive,
        label=release.label,
        people=_people(release, source),
        notes=(*release.notes, *_suppressed(release), *notes),
        public=True,
        left_out={
            **({} if source is None else left_out(release.schema, source.table.source, names)),
            **dict.fromkeys(release.schema.keep, _KEPT),
        },
        unseen={
            name: sorted(set(release.by_attribute[name].values) - set(kept[names.index(name)]))
            for name in sensitive
            if release.by_attribute[name].single_valued
        },
        ordered=frozenset(
            name
            for name, groups in release.by_attribute.items()
            if groups.single_valued and groups.domain is not None and groups.domain.is_ordered
        ),
    )


def _people(release: Release, source: TablePlacement | None) -> int:
    """Published people; one who is in several groups counts once, as far as that is known."""
    return release.people if source is None else min(release.people, source.table.counts.people)


def _suppressed(release: Release) -> tuple[str, ...]:
    if not release.suppressed:
        return ()
    return (
        f"{release.suppressed:,} suppressed people are in no class, and what is expected is how "
        "the published people are distributed",
    )


# Which combinations are measured against which targets, and in what order counts are rolled up.
#
# A set of columns with its target is counted once, whatever roles its columns play in it. The
# widest sets are summed up from the table, every narrower one from the set that has one column
# more, the one with the fewest values: that is the smallest table there is.

OTHERS = "*"  # every column as a target of all others
MOST = 200_000  # combinations and targets at once
Set = tuple[int, ...]
Targets = str | Sequence[str | Sequence[str]] | None


@dataclass(frozen=True)
class LeakageTarget:
    """A target: the columns it consists of; `column` is where its values are coded."""

    members: tuple[int, ...]
    column: int
    name: str


@dataclass(frozen=True)
class CombinationPlan:
    """`asked[s]`: the targets of a set s of columns; `below[s]`: the sets summed up from it."""

    columns: tuple[int, ...]
    targets: tuple[LeakageTarget, ...]
    asked: dict[Set, list[LeakageTarget]]
    below: dict[Set, list[Set]]
    roots: tuple[Set, ...]


def named_targets(targets: Targets) -> list[tuple[str, ...]] | None:
    """The targets as tuples of columns; None where they follow from the schema."""
    if targets is None or targets == OTHERS:
        return None
    listed = [targets] if isinstance(targets, str) else list(targets)
    if not listed:
        raise InputError("targets is empty: name the columns to be protected, or '*' for all")
    asked = []
    for target in listed:
        members = (target,) if isinstance(target, str) else tuple(target)
        if not members or len(set(members)) < len(members):
            raise InputError(f"target {list(members)!r} is not allowed; name columns, each once")
        asked.append(members)
    if len(set(map(frozenset, asked))) < len(asked):
        raise InputError("targets lists the same target twice; name each once")
    return asked


def choose_columns(coded: CodedColumns, columns: Sequence[str] | None) -> tuple[int, ...]:
    """The columns that are combined: the quasi-identifiers, unless others are named."""
    names = coded.quasi if columns is None else columns
    if isinstance(names, str) or not names or len(set(names)) < len(names):
        raise InputError(f"columns = {names!r} is not allowed; list columns, each once")
    return tuple(coded.place(name) for name in names)


def choose_targets(
    coded: CodedColumns, targets: Targets, columns: tuple[int, ...], *, explicit: bool
) -> list[LeakageTarget]:
    """The targets; `explicit`: the columns were named, so that none may be a target as well."""
    named = named_targets(targets)
    if named is None:
        chosen = coded.names if targets == OTHERS else coded.sensitive
        named = [(name,) for name in chosen]
        if not named:
            raise InputError(
                f"{coded.label} has no sensitive column; name targets, or '*' for every column"
            )
        explicit = False
    found: list[LeakageTarget] = []
    joints = len(coded.names)
    for members in named:
        places = tuple(coded.place(name) for name in members)
        inside = [coded.names[place] for place in places if place in columns]
        if explicit and inside:
            raise InputError(
                f"target {inside[0]!r} is one of the columns that are combined; what is known "
                "cannot be a target as well: leave it out of one of the two"
            )
        column = places[0]
        if len(places) > 1:
            column, joints = joints, joints + 1
        found.append(LeakageTarget(places, column, BETWEEN.join(members)))
    return found


def plan(
    columns: tuple[int, ...],
    targets: Sequence[LeakageTarget],
    sizes: Mapping[int, int],
    max_size: int,
    known: Set = (),
) -> CombinationPlan:
    """Every combination that has the columns `known`, up to a size, against every target.

    `sizes`: how many values each column has.
    """
    _check_number(columns, targets, max_size)
    asked: dict[Set, list[LeakageTarget]] = defaultdict(list)
    for target in targets:
        left = [column for column in columns if column not in target.members]
        for size in range(1, min(max_size, len(left)) + 1):
            for combination in combinations(left, size):
                if set(known) <= set(combination) and len(combination) > len(known):
                    asked[tuple(sorted((*combination, target.column)))].append(target)
    if not asked:
        raise InputError(
            "there is no combination to measure: every column is a target, or already known; name "
            "more columns"
        )
    below: dict[Set, list[Set]] = defaultdict(list)
    roots = []
    adding = sorted(
        {column for combination in asked for column in combination},
        key=lambda column: sizes[column],
    )
    for combination in asked:
        wider = (
            tuple(sorted((*combination, column))) for column in adding if column not in combination
        )
        above = next((candidate for candidate in wider if candidate in asked), None)
        if above is None:
            roots.append(combination)
        else:
            below[above].append(combination)
    return CombinationPlan(columns, tuple(targets), dict(asked), dict(below), tuple(roots))


def _check_number(
    columns: Sequence[int], targets: Sequence[LeakageTarget], max_size: object
) -> None:
    if not isinstance(max_size, int) or isinstance(max_size, bool) or max_size < 1:
        raise InputError(f"max_size = {max_size!r} is not allowed; use a whole number, 1 or more")
    sizes = range(1, min(max_size, len(columns)) + 1)
    many = sum(comb(len(columns), size) for size in sizes) * len(targets)
    if many > MOST:
        raise ResourceError(
            f"{many:,} combinations and targets, more than {MOST:,}: lower max_size, or name the "
            "columns to combine"
        )


def check_given(
    coded: CodedColumns, given: Sequence[str], columns: Set, targets: list[LeakageTarget]
) -> Set:
    """The columns she knows already: some of those combined, and no target."""
    for name in given:
        place = coded.place(name)
        inside = [target.name for target in targets if place in target.members]
        if inside:
            raise InputError(f"prior: {name!r} is the target {inside[0]!r} itself; leave it out")
        if place not in columns:
            names = [coded.names[column] for column in columns]
            raise InputError(
                f"prior: {name!r} is not one of the columns combined; {did_you_mean(name, names)}"
            )
    return tuple(coded.place(name) for name in given)
