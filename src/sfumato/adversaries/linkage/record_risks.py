"""The risk of every record: how surely it is found, how special it is, what its group tells.

Everything else here tells of groups and of how many people. Whoever has the table may ask of a
single record: in which group is it, how surely does a prosecutor or a journalist find it, by how
few columns is it alone, and how sure is whoever finds its group of a sensitive value? The answer
names single people and is its owner's: it is written for nobody else to read, and never beside
what is published.

Records with equal values may be in several groups, and which is in which is not known: such a
record is told with the highest risk of its groups, and without a group.

Where people have several rows each row is a record. Published one by one, it is found with its
group, and besides by whoever knows several rows of its person (`by_known_rows`). Linked by a
pseudonym, all of a person's rows are found as her signature is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sfumato.adversaries.linkage.risks import Linkage, Risk
from sfumato.adversaries.linkage.special_uniques import SpecialUniques, special_uniques
from sfumato.adversaries.several_rows import known_parts
from sfumato.counts.counts import Counts, rank_rows
from sfumato.counts.rows import person_rows
from sfumato.engines.base import named, select
from sfumato.errors import InputError, SfumatoError, refuse_handed_out
from sfumato.files import check_new_file, new_file
from sfumato.numbers import Floats, Ints, rows_of
from sfumato.release.description import Singletons
from sfumato.release.linked import LinkedPlacement, LinkedRows
from sfumato.release.release import Release
from sfumato.release.signatures import Signatures, signatures_of
from sfumato.release.write.cells import rows_and_tuples
from sfumato.table import Table

ENDINGS = (".csv", ".parquet")


@dataclass(frozen=True)
class RecordRisks:
    """One row a record of the table, in its order: private.

    `record` is its number in the table, from 1; `group` its group in the release, from 1 (none: it
    was suppressed, or may be in several). `prosecutor`, `journalist`: the chance of being found, 0
    where it is not published. `suda_table`, `suda_release`: its SUDA score in the table as it
    stands, and as it is published. `worst_belief`: the share of the commonest sensitive value in
    its group, of all sensitive columns the highest. Of rows published one by one `by_known_rows` is
    the chance of finding its person by as many of her rows as the schema says are known.
    """

    table: pa.Table

    def to_arrow(self) -> pa.Table:
        return self.table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write it as .csv or .parquet, for nobody but its owner to read."""
        target = Path(path)
        check_risks_file(target, force=force)
        with new_file(target, force=force, kind="table") as partial:
            write = pa_csv.write_csv if target.suffix == ".csv" else pq.write_table
            write(self.table, partial)
        return target


def check_risks_file(target: Path, *, force: bool) -> None:
    """Refuse names that are no table, and places that are handed out."""
    if target.suffix not in ENDINGS:
        raise InputError(
            f"cannot write record risks as {target.name!r}; use a name ending in "
            f"{' or '.join(ENDINGS)}"
        )
    refuse_handed_out(target, "record risks are")
    check_new_file(target, force=force)


def record_risks(
    release: Release, linked: Linkage, table: Table | None = None, size: int = 3
) -> RecordRisks:
    """Of each record of the table that a release was made of.

    `linked` tells how surely groups are found. `table` is the one the release was made of, where it
    was not made here. `size`: SUDA scores are of so many columns at most.
    """
    if linked.prosecutor is None:
        raise InputError(f"record risks cannot be told: {linked.reason}")
    if release.by_row is not None:
        return _of_linked_rows(release, release.by_row, linked)
    source, tuples, groups = _placed(release, table)
    check_records(source)
    counts = source.counts.in_memory("telling the risk of every record")
    _, tuple_of = rows_and_tuples(source, in_order=True)
    published = np.flatnonzero(groups >= 0)
    of_tuple, at = tuples[published], groups[published]
    where = _told_apart(release, counts, of_tuple, at)

    def by_tuple(figures: Floats | None) -> Floats | None:
        """The highest figure of the groups that each tuple's people are in."""
        if figures is None:
            return None
        highest = np.zeros(len(counts))
        np.maximum.at(highest, of_tuple, figures)
        return highest

    first = np.full(len(counts), -1, dtype=np.int64)
    first[of_tuple] = at
    parted = np.zeros(len(counts), dtype=bool)
    parted[of_tuple[first[of_tuple] != at]] = True
    first[parted] = -1
    sizes = release.indistinguishable.sizes
    in_table = _uniques(source, size)
    in_release = _uniques(release, size)
    columns: dict[str, pa.Array] = {"record": pa.array(np.arange(1, len(tuple_of) + 1))}
    columns["group"] = pa.array(first[tuple_of] + 1, mask=first[tuple_of] < 0)
    people = np.full(len(counts), np.iinfo(np.int64).max)
    np.minimum.at(people, of_tuple, sizes[where])
    there = people < np.iinfo(np.int64).max
    columns["people"] = pa.array(people[tuple_of], mask=~there[tuple_of])
    figures: dict[str, Floats | None] = {
        "prosecutor": by_tuple(_risk(linked.prosecutor, where)),
        "journalist": by_tuple(_risk(linked.journalist, where)),
        "suda_table": None if in_table is None else in_table.score[counts.group_of[0]],
        "suda_release": by_tuple(None if in_release is None else in_release.score[where]),
        "worst_belief": by_tuple(_commonest(release)[at]),
    }
    known = None if source.schema.rows != "unlinked" else known_parts(release, release.schema.knows)
    for name, of_each in figures.items():
        if of_each is None:
            columns[name] = pa.nulls(len(tuple_of), pa.float64())
        else:
            columns[name] = pa.array(of_each[tuple_of])
    if known is not None:
        risks = np.zeros(source.people)
        risks[known.persons] = known.risks[known.kind_of]
        columns["by_known_rows"] = pa.array(risks[_owners(source)])
    return RecordRisks(pa.table(columns))


def _of_linked_rows(release: Release, by_row: Release, linkage: Linkage) -> RecordRisks:
    """Every row as its person is found: by the pseudonym of hers that tells most."""
    placement, counted = release.placement, by_row.counted_from
    if isinstance(placement, LinkedPlacement):
        linked = placement.linked
    elif counted is not None and _is_table(by_row):
        table = counted.in_memory("telling the risk of every record").table
        rows = person_rows(table.engine, table.source, table.schema)
        linked = LinkedRows.as_they_stand(replace(table, rows=rows))
    else:
        raise InputError(
            f"{release.label} does not tell whose rows are which pseudonym's; ask where it is made "
            "(anonymize --record-risks), or of the table itself"
        )
    assert isinstance(release.regions, Signatures)
    signature = signatures_of(linked.regions.take(linked.published), linked.published_pseudonym)[0]
    total = linked.rows.people
    person = linked.rows.person[linked.published]
    figures = np.zeros((3, total))  # fewest people who fit, how surely found, what is believed
    figures[0] = np.inf
    fewest = release.regions.fewest[signature][linked.published_pseudonym]
    np.minimum.at(figures[0], person, fewest)
    np.maximum.at(figures[1], person, 1 / fewest)
    np.maximum.at(figures[2], person, _commonest(release)[signature][linked.published_pseudonym])
    by_register = None
    if linkage.journalist is not None:
        by_register, risks = np.zeros(total), linkage.journalist.per_group
        of_signature = risks if linkage.all_rows else release.regions.surest(risks)
        np.maximum.at(by_register, person, of_signature[signature][linked.published_pseudonym])
    group = np.full(total, -1, dtype=np.int64)
    group[person] = signature[linked.published_pseudonym]
    parted = np.unique(person[group[person] != signature[linked.published_pseudonym]])
    group[parted] = -1
    owner = _owners(linked.table)
    there = np.isfinite(figures[0])
    people = np.where(there, figures[0], 0).astype(np.int64)
    nothing = pa.nulls(len(owner), pa.float64())
    return RecordRisks(
        pa.table(
            {
                "record": pa.array(np.arange(1, len(owner) + 1)),
                "group": pa.array(group[owner] + 1, mask=group[owner] < 0),
                "people": pa.array(people[owner], mask=~there[owner]),
                "prosecutor": pa.array(figures[1][owner]),
                "journalist": nothing if by_register is None else pa.array(by_register[owner]),
                "suda_table": nothing,
                "suda_release": nothing,
                "worst_belief": pa.array(figures[2][owner]),
            }
        )
    )


def _owners(table: Table) -> Ints:
    """Whose row each row of the file is, by the numbers that people have in its counts."""
    person = [named(table.source.column(str(table.schema.person)), "whose")]
    rows = table.engine.fetch(select(person, table.source.name), in_order=True).column(0)
    listed = f"{select(person, table.source.name, group=['whose'])} ORDER BY whose"
    numbers = pc.index_in(rows, value_set=table.engine.fetch(listed).column(0).combine_chunks())
    owners: Ints = numbers.to_numpy().astype(np.int64)
    return owners


def check_records(table: Table) -> None:
    """Refuse tables of which no record's risk can be told; before any work is done."""
    several = table.schema.person is not None and not table.source.one_each
    if several and table.schema.rows == "gathered":
        raise InputError(
            "record risks are told of one row a person, and people have several here that are put "
            "together; keep one row each, or say rows = 'unlinked' or 'linked'"
        )
    table.counts.in_memory("telling the risk of every record")


def _placed(release: Release, table: Table | None) -> tuple[Table, Ints, Ints]:
    """The table, and who of its tuples is in which group (-1: in none)."""
    placement = release.counted_from
    if placement is not None and (release.placement is not None or _is_table(release)):
        placed = placement.in_memory("telling the risk of every record")
        return placed.table, placed.tuples, placed.groups
    if table is None:
        raise InputError(
            f"{release.label} does not tell which record is in which group; give the table it was "
            "made of (--table)"
        )
    inside = release.inside()
    if inside is None or inside.counts is not table.counts:
        raise InputError(
            f"the table {table.source.label} does not tell who is in which group of "
            f"{release.label}: people may fit several groups, or are not those it counts"
        )
    return table, inside.tuples, rows_of(inside.indptr)


def _is_table(release: Release) -> bool:
    """Whether it is a table as it stands, whose records are what its groups count."""
    regions = release.regions.each_region
    return regions is not None and all(isinstance(part, Singletons) for part in regions.parts)


def _told_apart(release: Release, counts: Counts, tuples: Ints, groups: Ints) -> Ints:
    """Where each placed tuple is among the people who cannot be told apart."""
    if not release.regions.exact:
        return groups
    return rank_rows(counts.codes[:, tuples], [len(domain) for domain in counts.quasi])[0]


def _risk(risk: Risk | None, where: Ints) -> Floats | None:
    return None if risk is None else risk.per_group[where]


def _commonest(release: Release) -> Floats:
    """By group the highest share of people who have one sensitive value, of any column."""
    shares = [
        np.minimum(groups.max_of(groups.having), groups.sizes) / groups.sizes
        for groups in release.by_attribute.values()
        if groups.width
    ]
    highest: Floats = np.max(shares, axis=0) if shares else np.zeros(len(release.groups))
    return highest


def _uniques(subject: Table | Release, size: int) -> SpecialUniques | None:
    """Special uniques, if they can be told and are not too many."""
    try:
        return special_uniques(subject, size)
    except SfumatoError:
        return None
