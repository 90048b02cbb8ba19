"""What was done to each column: its level, values left, cells changed, people before and after.

Whatever made a release, its columns are told in one form (`ColumnTreatment`). What can be seen in
what is published is read from there: how far values were widened, how many labels are left. What
cannot (cells blanked one by one, noise on a column, pseudonyms) is entered by whoever did it
(`Release.treated`). Before stands beside after where the table is at hand; without it only what is
published is told, and that may be handed out. All of it is worked out from counts.

Only reports and codebooks ask, when they are shown.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.counts.counts import TableCounts
from sfumato.numbers import Ints
from sfumato.release.description import Singletons
from sfumato.release.distribution import NO_VALUE, Had, Share, shares_of
from sfumato.release.groups import Groups
from sfumato.release.linked import pseudonym_column
from sfumato.release.made import Placement, Treated, TreatmentKind
from sfumato.release.release import Release
from sfumato.release.summing import references
from sfumato.schema.domain import build_domain
from sfumato.schema.hierarchy import Levels
from sfumato.schema.icd10 import CodeFamily
from sfumato.schema.region import (
    MISSING,
    Anything,
    Mask,
    Region,
    Span,
    ValueSet,
    place_of,
)
from sfumato.table import Table

_YEAR, _MONTH = 365.25, 30.44  # days
_REMOVED = {
    "identifiers": "removed: it names people",
    "pseudonyms": "removed: it names people, and no pseudonym was made of it",
    "person": "removed: it tells whose row it is",
    "count": "removed: every row is one person",
    "weight": "removed: used to judge risks only",
    "protect": "removed: used to judge risks only",
    "household": "removed: used to judge risks only",
}
NO_ROLE = "no role"
_FEW = 3  # open ranges that are named


@dataclass(frozen=True)
class ColumnTreatment:
    """What was done to a column, and what is left of it.

    `how` tells it in words. `values_before` are those that people have in the table, `values_after`
    the different labels that are published. `changed` of the `cells` published do not show the
    person's own value. `shares` are people by value before and after; people who are not published
    are in the first. None: not known, or does not apply.
    """

    column: str
    role: str
    done: TreatmentKind
    how: str
    values_before: int | None = None
    values_after: int | None = None
    cells: int | None = None
    changed: int | None = None
    shares: tuple[Share, ...] = ()

    @property
    def published(self) -> bool:
        return self.done not in ("removed", "left at home")

    @property
    def shift(self) -> float | None:
        """The share of people who would have to change their value to make after of before."""
        pairs = [(share.before, share.after) for share in self.shares]
        known = [
            (before, after) for before, after in pairs if before is not None and after is not None
        ]
        if not known or len(known) < len(pairs):
            return None
        return sum(abs(before - after) for before, after in known) / 2


def column_treatments(release: Release, table: Table | None = None) -> tuple[ColumnTreatment, ...]:
    """Every column of a release, those that are not published last.

    `table` is what it was made of. Without it nothing is told but what is published.
    """
    # Where a pseudonym links rows, they are what is published.
    published = release.by_row or release
    counts = None if table is None else table.rows.row_counts() if table.rows else table.counts
    entered: dict[str, list[Treated]] = {}
    for entry in (*_perturbed(release), *release.treated):
        entered.setdefault(entry.column, []).append(entry)
    had = {} if counts is None else _values_had(counts, entered)
    made = [
        *_quasi(published, table, counts),
        *_sensitive(published, had),
        *_uncounted(release, table),
    ]
    treatments = [
        _with_entries(treatment, entered.get(treatment.column, ()), public=table is None)
        for treatment in made
    ]
    return tuple(sorted(treatments, key=lambda treatment: not treatment.published))


def _perturbed(release: Release) -> Iterator[Treated]:
    """What was done to columns before anything was counted."""
    placement = release.placement
    changed = {} if placement is None else placement.table.changed
    for name, perturbation in release.perturbed.items():
        change = (
            None if release.suppressed else changed.get(name)
        )  # which cells are gone nobody kept
        yield Treated(
            name,
            perturbation.done,
            perturbation.words,
            None if change is None else change.cells,
            None if change is None else change.before,
            None if change is None else change.after,
        )


def _with_entries(
    treatment: ColumnTreatment, entries: Iterable[Treated], *, public: bool
) -> ColumnTreatment:
    """With what was entered besides."""
    for entry in entries:
        plain = treatment.done in ("as it is", "removed", "left at home")
        treatment = replace(
            treatment,
            done=entry.done if plain else treatment.done,
            how=entry.how if plain else f"{treatment.how}; {entry.how}",
            changed=None if treatment.done == "as it is" else treatment.changed,
        )
        if entry.changed is not None and not public:
            treatment = replace(treatment, changed=entry.changed)
        if treatment.role == "keep" and entry.before and entry.after and not public:
            had, left = (
                _counted(treatment.column, people) for people in (entry.before, entry.after)
            )
            used = ShownColumn(
                treatment.column, Singletons(left.domain), left.people.astype(np.int64)
            ).used
            treatment = replace(
                treatment,
                values_before=had.number,
                values_after=left.number,
                shares=shares_of(used, had),
            )
    return treatment


# -- quasi-identifiers -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownColumn:
    """What a quasi-identifier shows: `people[i]` cells show `parts[i]`."""

    name: str
    parts: Sequence[Region]
    people: Ints

    @property
    def used(self) -> list[tuple[Region, int]]:
        places = np.flatnonzero(self.people).tolist()
        return [(self.parts[place], int(self.people[place])) for place in places]


def shown_columns(release: Release) -> tuple[ShownColumn, ...] | None:
    """The cells that are published of quasi-identifiers; None where not all are at hand."""
    described = release.regions
    if described.listed_people is not None:
        return tuple(
            ShownColumn(domain.name, Singletons(domain), people)
            for domain, people in described.listed_people
        )
    regions = described.each_region
    if regions is None:
        return None
    groups = release.groups
    rows = groups.published_rows if groups.published is None else groups.published
    return tuple(
        ShownColumn(name, parts, np.bincount(codes, rows, minlength=len(parts)).astype(np.int64))
        for name, parts, codes in zip(regions.columns, regions.parts, regions.codes, strict=True)
    )


def _quasi(
    release: Release, table: Table | None, counts: TableCounts | None
) -> Iterator[ColumnTreatment]:
    columns = shown_columns(release)
    if columns is None:
        why = "not told: the release is larger than memory"
        for name in release.regions.columns:
            yield ColumnTreatment(name, "quasi", "generalized", why)
    for column in columns or ():
        yield _treatment(column, release, table, counts)


def _treatment(
    column: ShownColumn, release: Release, table: Table | None, counts: TableCounts | None
) -> ColumnTreatment:
    """A quasi-identifier by what is published of it, beside its table."""
    had = _had(column.name, counts)
    done, how, changed = _done(column, release, table)
    return ColumnTreatment(
        column.name,
        "quasi",
        done,
        how,
        None if had is None else had.number,
        max(len({part.text for part, _ in column.used} - {"*"}), 1),  # * is no value
        int(column.people.sum()),
        changed,
        shares_of(column.used, had),
    )


def _had(name: str, counts: TableCounts | None) -> Had | None:
    """The values of a quasi-identifier in the table, and the people who have each."""
    if counts is not None:
        for column, domain in enumerate(counts.quasi):
            if domain.name == name:
                return Had(domain, counts.by_code(column))
    return None


def _done(
    column: ShownColumn, release: Release, table: Table | None
) -> tuple[TreatmentKind, str, int | None]:
    """What was done to a quasi-identifier, in a word and in more, and the cells it changed."""
    used = column.used
    changed = sum(people for part, people in used if not is_one_value(part))
    if release.regions.exact:
        return "as it is", "as it is, apart from the sensitive values", 0
    if release.regions.centroids:
        moved = None if table is None else _moved(column.name, release)  # who is where is private
        return "microaggregated", "the centre of each group", moved
    if release.regions.noisy:
        extent = extent_words(used) if changed else "values as they are"
        return "noise", f"{extent}, counted with noise", None
    if not changed:
        return "as it is", "as it is", 0
    blank = sum(people for part, people in used if part.text == "*")
    if changed == blank < int(column.people.sum()):
        return "cells blanked", extent_words(used), changed
    level = "" if table is None else _level(used, table.levels.get(column.name))
    return "generalized", f"{level}{extent_words(used)}", changed


def is_one_value(part: Region) -> bool:
    """Whether a cell shows one value as it is."""
    return isinstance(part, ValueSet) and len(part.values) == 1 and part.label is None


def _moved(name: str, release: Release) -> int | None:
    """People whose own value is not the centre that is published of them."""
    placement, regions = release.placement, release.regions.each_region
    if not isinstance(placement, Placement) or regions is None:
        return None
    column = regions.columns.index(name)
    domain = placement.counts.quasi[column]
    centres = [
        domain.code(next(iter(part.values))) if is_one_value(part) else None  # type: ignore[union-attr]
        for part in regions.parts[column]
    ]
    centre = np.array([-1 if code is None else code for code in centres], dtype=np.int64)
    kept = placement.groups >= 0
    own = placement.counts.codes[column][placement.tuples[kept]]
    published = centre[regions.codes[column][placement.groups[kept]]]
    return int(placement.n[kept][own != published].sum())


def _level(used: Sequence[tuple[Region, int]], levels: Levels | None) -> str:
    """Which level of its hierarchy a column is shown at, where it is one."""
    if levels is None or levels.height <= 2:
        return ""
    for number, level in enumerate(levels.levels):
        if {part for part, _ in used} <= {*level.regions, NO_VALUE, Anything()}:
            top = " (the top)" if number == levels.height - 1 else ""
            return f"level {number} of {levels.height - 1}{top}: "
    return ""


def extent_words(used: Sequence[tuple[Region, int]]) -> str:
    """How far values were widened: which notations stand there, and how wide they are for most."""
    total = sum(people for _, people in used)
    blank = sum(people for part, people in used if part.text == "*")
    if blank == total:
        return "* for everybody"
    spans = [(part, people) for part, people in used if isinstance(part, Span)]
    dated = any(isinstance(end, dt.date) for part, _ in spans for end in (part.low, part.high))
    widths = [(place_of(part.high) - place_of(part.low), people) for part, people in spans]
    closed = [entry for entry in widths if not math.isinf(entry[0])]
    open_ends = [part.text for part, _ in spans if part.text[0] in "<>"]
    bare = [
        (part, people) for part, people in used if isinstance(part, ValueSet) and not part.label
    ]
    sets = [(float(len(part.values)), people) for part, people in bare if len(part.values) > 1]
    labels = {part.text for part, _ in used if isinstance(part, ValueSet) and part.label}
    masks = [
        (float(part.pattern.count("*")), people) for part, people in used if isinstance(part, Mask)
    ]
    alone = sum(people for part, people in used if is_one_value(part) and part != NO_VALUE)
    words = [
        f"ranges of {_typical(closed, _days if dated else _number)}" if closed else "",
        ", ".join(open_ends) if len(open_ends) <= _FEW else "open ranges" if open_ends else "",
        f"sets of {_typical(sets, _number)} values" if sets else "",
        f"{len(labels)} label{'s' * (len(labels) != 1)}" if labels else "",
        f"last {_typical(masks, _number)} signs hidden" if masks else "",
        "families of codes" if any(isinstance(part, CodeFamily) for part, _ in used) else "",
        f"values as they are ({_share(alone, total)})" if alone else "",
        f"* ({_share(blank, total)})" if blank else "",
    ]
    return ", ".join(word for word in words if word)


def _share(people: int, total: int) -> str:
    return f"{100 * people / total:.3g}%"


def _number(size: float) -> str:
    return f"{size:.6g}"


def _typical(sizes: Sequence[tuple[float, int]], size_words: Callable[[float], str]) -> str:
    """One size; or the least and the greatest, and what half of the people are within."""
    order = sorted(sizes)
    least, most = size_words(order[0][0]), size_words(order[-1][0])
    if least == most:
        return most
    seen = np.cumsum([people for _, people in order])
    middle = size_words(order[int(np.searchsorted(seen, seen[-1] / 2))][0])
    return f"{least} to {most} (for half at most {middle})"


def _days(days: float) -> str:
    """A length of time as people say it."""
    units = (("year", _YEAR), ("month", _MONTH))
    unit, length = next((named for named in units if days >= 0.95 * named[1]), ("day", 1.0))
    number = f"{round(days / length, 1 if length > 1 else 2):.6g}"
    return f"{number} {unit}{'s' * (number != '1')}"


# -- sensitive columns and the others --------------------------------------------------------------


def _values_had(counts: TableCounts, entered: Mapping[str, Sequence[Treated]]) -> dict[str, Had]:
    """The values of sensitive columns before: those that were kept of it, or those of the table."""
    domains = {attribute.name: attribute.domain for attribute in counts.sensitive}
    had = {name: Had(domains[name], people) for name, people in references(counts).items()}
    for name in had:
        for entry in entered.get(name, ()):
            if entry.before is not None:
                had[name] = _counted(name, entry.before)
    return had


def _counted(name: str, people: Mapping[str, int]) -> Had:
    """People by value, told by its text."""
    values = [None if text == MISSING else text for text in people]
    domain, codes = build_domain(name, pa.array(values, pa.string()), untyped=True)
    counted = np.bincount(codes, [*people.values()], minlength=len(domain))
    return Had(domain, counted)


def _sensitive(release: Release, known: Mapping[str, Had]) -> Iterator[ColumnTreatment]:
    for name, groups in release.by_attribute.items():
        if not name or groups.domain is None:
            continue
        rows = groups if groups.beside.unlinked is None else groups.beside.unlinked.by_row
        many = 1 if rows.multiplicity is None else rows.multiplicity[rows.row]
        people = np.bincount(rows.indices, rows.data * many, minlength=rows.width).astype(np.int64)
        had = known.get(name)
        used = ShownColumn(name, Singletons(groups.domain), people).used
        done, how = _sensitive_done(release, name, groups)
        exact = done in ("as it is", "in buckets")
        yield ColumnTreatment(
            name,
            "sensitive",
            done,
            how,
            None if had is None or done == "generalized" else had.number,
            len(used),
            int(people.sum()),
            0 if exact else None,
            shares_of(used, had),
        )


def _sensitive_done(release: Release, name: str, groups: Groups) -> tuple[TreatmentKind, str]:
    level = release.schema.levels.get(name, 0)
    at_level = f"level {level} of its hierarchy" if level else "as it is"
    if release.regions.noisy:
        return "noise", f"{at_level}, counted with noise"
    if release.regions.exact:
        return "in buckets", f"{at_level}, listed by bucket: whose they are is not told"
    if not groups.single_valued and groups.beside.unlinked is None:
        at_level += ", several values a person"
    return ("generalized" if level else "as it is"), at_level


def _uncounted(release: Release, table: Table | None) -> Iterator[ColumnTreatment]:
    """Columns that nothing is counted by: kept, weights, identifiers, those without a role.

    Of what is not published only the owner is told by name.
    """
    schema = release.schema
    cells = int((release.by_row or release).groups.published_rows.sum())
    unprotected = "as it is, unprotected"
    if release.by_row is not None:
        unprotected += "; those of a person's rows stand beside each other"
    kept = ColumnTreatment("", "keep", "as it is", unprotected, cells=cells, changed=0)
    yield from (replace(kept, column=name) for name in schema.keep)
    if schema.weight is not None and schema.publish_weight == "keep":
        yield ColumnTreatment(schema.weight, "weight", "as it is", "as it is", changed=0)
    elif schema.weight is not None and schema.publish_weight == "group":
        by = "group's rows" if schema.rows == "unlinked" else "group"
        yield ColumnTreatment(schema.weight, "weight", "mean of the group", f"the mean of the {by}")
    for name in release.stray.identifiers:
        yield ColumnTreatment(
            name, "identifiers", "as it is", "in the file, though it names people"
        )
    for name in release.stray.without_role:
        yield ColumnTreatment(name, NO_ROLE, "as it is", "in the file, without a role")
    if table is None:
        return
    published = {*schema.keep, *release.stray.identifiers}
    if schema.publish_weight is not None:
        published.add(str(schema.weight))
    for role, name in schema.roles():
        if role == "person" and release.by_row is not None:
            keyed = release.perturbed.get(pseudonym_column(schema))
            how = "a random number in its place, the same on all rows of a person"
            how = how if keyed is None else f"links a person's rows; {keyed.words}"
            yield ColumnTreatment(name, role, "pseudonym", how)
        elif role in _REMOVED and name not in published:
            yield ColumnTreatment(name, role, "removed", _REMOVED[role])
    roles = {name for _, name in schema.roles()}
    source = table.source
    for name in dict.fromkeys((*source.types, *source.others)):
        if name not in roles and name not in release.stray.without_role:
            yield ColumnTreatment(name, NO_ROLE, "left at home", "not published: it has no role")
