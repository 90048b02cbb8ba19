"""Release: what is, or would be, handed out, as an adversary reads it.

And a table taken as a release of itself (`as_it_stands`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.counts.counts import Counts
from sfumato.counts.stored import StoredCounts
from sfumato.engines.form import FileForm
from sfumato.errors import InputError, MissingExtra, SchemaError, did_you_mean
from sfumato.notebook import Displayed
from sfumato.numbers import Floats, Ints
from sfumato.perturbation.base import Perturbation
from sfumato.perturbation.pseudonyms import KeyedPseudonym
from sfumato.release.beside import SeveralGroups
from sfumato.release.description import Description, Examples, Regions, Scheme, Singletons
from sfumato.release.groups import Groups
from sfumato.release.guarantee import Guarantee
from sfumato.release.made import (
    Made,
    MadeHere,
    Placement,
    Randomised,
    ReadFrom,
    TablePlacement,
    Treated,
    WildcardMatching,
)
from sfumato.release.read.source import StrayColumns, reading_notes
from sfumato.release.summing import group_counts, references
from sfumato.schema.roles import Schema
from sfumato.table import FileStamp, Table

if TYPE_CHECKING:
    import pandas
    import polars

    from sfumato.release.beside import Inside
    from sfumato.release.write.folder import EvidencePolicy, EvidenceRecords, EvidenceReport


@dataclass(frozen=True, repr=False)
class Release(Displayed):
    """Groups of people with their sensitive counts and the description each group publishes.

    `counted_groups` are the counts by sensitive attribute ("" where there is none); read them as
    `groups`, `groups_for` or `by_attribute`, which know what is published of them.
    `suppressed` people are not in any group and never make a criterion look better; they stay in
    every group's `reference`. `disjoint`: no QI combination fits two groups. `population`: the
    summed survey weights of each group, the people of the population it stands for. `several`: who
    is in several groups, where rows of one person are. `by_row`: where a pseudonym links rows, the
    same by row, for what is asked of the one value that a row has. `treated`: what was done to
    columns that their descriptions do not show. `made` is private: by which anonymizer the release
    was made here, from where it was read, or by which noise it was randomised.
    """

    schema: Schema
    counted_groups: Mapping[str, Groups]
    regions: Description
    suppressed: int = 0
    disjoint: bool = True
    population: Floats | None = None
    label: str = "release"
    notes: tuple[str, ...] = field(default=())
    made: Made = field(default_factory=ReadFrom, repr=False)
    several: SeveralGroups | None = field(default=None, repr=False)
    by_row: Release | None = field(default=None, repr=False)
    treated: tuple[Treated, ...] = field(default=(), repr=False)

    @cached_property
    def by_attribute(self) -> dict[str, Groups]:
        """The groups by each sensitive attribute, with what the release publishes of them."""
        return {name: self.described(groups) for name, groups in self.counted_groups.items()}

    def described(self, groups: Groups) -> Groups:
        """Groups of this release with what it publishes of them."""
        known = replace(
            groups.beside,
            regions=self.regions.each_region,
            population=self.population,
            guarantee=self.guarantee,
            published=self.made.matching.published if isinstance(self.made, ReadFrom) else None,
            several=self.several,
            unlinked=groups.beside.unlinked and groups.beside.unlinked.described(self.several),
            perturbed=self.perturbed.get(groups.attribute or ""),
        )
        return groups.with_beside(known)

    @property
    def guarantee(self) -> Guarantee | None:
        """What a randomised release promises."""
        return self.made.guarantee

    @property
    def whole_unknown(self) -> bool:
        """Whether "the whole table" is those who are published, and there may be others."""
        return isinstance(self.made, ReadFrom) and self.made.whole_unknown

    @property
    def placement(self) -> TablePlacement | None:
        """Who of its table went into which group, of a release made here."""
        return self.made.placement if isinstance(self.made, MadeHere) else None

    @property
    def counted_from(self) -> TablePlacement | None:
        """The tuples its groups count: those of its table, or those that were published."""
        return self.made.counted_from

    @property
    def perturbed(self) -> Mapping[str, Perturbation]:
        """What was done to the values of columns that are not quasi-identifiers."""
        match self.made:
            case MadeHere():
                return self.made.placement.table.perturbed
            case ReadFrom():
                return self.made.perturbed
            case _:
                return {}

    @property
    def pseudonym_keys(self) -> frozenset[str]:
        """The names of the keys of its pseudonyms: releases that share one are joined by them."""
        done = self.perturbed.values()
        return frozenset(
            perturbation.key_id for perturbation in done if isinstance(perturbation, KeyedPseudonym)
        )

    def joined_with(self, releases: Sequence[Release]) -> tuple[str, ...]:
        """Those of the others whose rows anybody can join to these by their pseudonyms."""
        return tuple(
            release.label for release in releases if release.pseudonym_keys & self.pseudonym_keys
        )

    @property
    def file(self) -> FileStamp | None:
        """What it was read from, if that is a folder of ours or a file of its own."""
        return self.made.file if isinstance(self.made, ReadFrom) else None

    @property
    def stray(self) -> StrayColumns:
        """What a file that was read publishes besides."""
        return self.made.stray if isinstance(self.made, ReadFrom) else StrayColumns()

    @property
    def shares_people(self) -> bool:
        """Whether it was read so that one person counts in several groups (wildcard matching)."""
        return isinstance(self.made, ReadFrom) and isinstance(self.made.matching, WildcardMatching)

    @property
    def form(self) -> FileForm:
        """How the file it was made of is written, and it will be."""
        match self.made:
            case MadeHere():
                return self.made.placement.table.source.form
            case Randomised():
                return self.made.form
            case _:
                return FileForm()

    def inside(self) -> Inside | None:
        """Who is in each group, where the release was made here, publishes it, or somebody said."""
        known = self.made.inside(len(self.groups))
        if known is None and self.regions.buckets is not None:
            return self.regions.buckets.inside()
        return known

    @property
    def scheme(self) -> Scheme:
        """How people are hidden: generalized, bucketized, microaggregated or randomised."""
        return self.regions.scheme

    @property
    def groups(self) -> Groups:
        """The groups by the first sensitive attribute (sizes only when there is none)."""
        return next(iter(self.by_attribute.values()))

    @cached_property
    def indistinguishable(self) -> Groups:
        """The people nobody can tell apart by quasi-identifiers: what k and linkage are about.

        Those of a group; but a bucketized release publishes exact tuples beside its buckets, and
        there they are the people with the same tuple. Where a pseudonym links rows, they are those
        who have the rows that are known.
        """
        return self.regions.told_apart(self.groups)

    def groups_for(self, attribute: str) -> Groups:
        if attribute not in self.by_attribute:
            raise SchemaError(
                f"{attribute!r} is not a sensitive column of this release; "
                f"{did_you_mean(attribute, self.schema.sensitive)}"
            )
        return self.by_attribute[attribute]

    @property
    def people(self) -> int:
        """Published people, each once, also where rows of hers are in several groups."""
        return self.groups.people()

    def refuse_wildcards(self) -> None:
        """For whoever must find each person in one group."""
        if self.shares_people:
            raise InputError(
                f"{self.label} was read with matching='wildcard', which counts people in several "
                "groups; read it with matching='exact'"
            )

    def tables(self, seed: int | None = None) -> dict[str, pa.Table]:
        """What would be handed out: {"data": ...}, or {"quasi", "sensitive"} for buckets."""
        from sfumato.release.write.publish import tables_of

        return tables_of(self, seed)

    def to_arrow(self) -> pa.Table:
        """The published table."""
        tables = self.tables()
        if "data" not in tables:
            raise InputError("a bucketized release is two tables: use tables()")
        return tables["data"]

    def save(
        self,
        out: str | Path,
        *,
        report: EvidenceReport | None = None,
        policy: EvidencePolicy | None = None,
        format: str | None = None,
        force: bool = False,
        seed: int | None = None,
        records: EvidenceRecords | None = None,
        codebook: bool = True,
    ) -> Path:
        """Write public/ and private/ to a new folder.

        `report`, `policy` and `records` (`report.record_risks()`) go to private/, what they promise
        into the public manifest. The data
        are written the way the table came (`form`) unless `format` names another way: "csv"
        (commas, UTF-8), "parquet", "arrow", "xlsx", "sav", "dta" or "xpt". `force` replaces a
        folder; `seed` is for the order of rows. What an engine writes (tables larger than memory,
        Spark) is sorted by what is published instead. `codebook`: public/ says what columns and
        cells mean (codebook.json, codebook.csv) and, where a report is given, has a page of that
        and the report's public one.
        """
        from sfumato.release.write.folder import PrivateEvidence, write_folder

        evidence = PrivateEvidence(report, policy, records)
        return write_folder(self, out, evidence, format, seed, force=force, codebook=codebook)

    def to_pandas(self) -> pandas.DataFrame:
        return self._in_pandas(self.to_arrow())

    def head(self, rows: int = 5) -> pandas.DataFrame:
        """The first published rows; of a bucketized release, of the quasi-identifiers."""
        return self._in_pandas(next(iter(self.tables().values())).slice(0, rows))

    @staticmethod
    def _in_pandas(table: pa.Table) -> pandas.DataFrame:
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingExtra("to_pandas needs pandas: pip install pandas") from None
        return table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        try:
            import polars
        except ImportError:
            raise MissingExtra("to_polars needs Polars: pip install polars") from None
        return polars.DataFrame(self.to_arrow())

    def _in_short(self) -> tuple[str, ...]:
        smallest = int(self.groups.sizes.min()) if len(self.groups) else 0
        number = self.groups.number()
        groups_word = "buckets" if self.regions.exact else "groups"
        return (
            f"{self.scheme.capitalize()} release of {self.groups.headcount()} people in "
            f"{number:,} {groups_word} (smallest {smallest}), {self.suppressed:,} suppressed",
            self.schema.in_short,
            "" if self.guarantee is None else str(self.guarantee),
        )


def same_people(first: object, second: object) -> bool:
    """Whether two tables or releases are the very same, or were read from the same file."""
    if first is second:
        return True
    if not isinstance(first, Table | Release) or not isinstance(second, Table | Release):
        return False
    same_schema = type(first) is type(second) and first.schema == second.schema
    if isinstance(first, Table) and isinstance(second, Table) and first.read_as != second.read_as:
        return False
    return same_schema and first.file is not None and first.file == second.file


def as_it_stands(table: Table) -> Release:
    """A table read as if it were published unchanged: one group per distinct QI tuple.

    Or per signature, where a pseudonym links rows.
    """
    if table.rows is not None:
        from sfumato.release.linked import LinkedRows, linked_release

        return linked_release(LinkedRows.as_they_stand(table))
    return table.counts.either(
        in_memory=partial(_tuples_as_they_stand, table), stored=partial(kinds_as_they_stand, table)
    )


def _tuples_as_they_stand(table: Table, counts: Counts) -> Release:
    group, first = counts.group_of
    names: list[str | None] = [attribute.name for attribute in counts.sensitive]
    positions: list[int | None] = list(range(len(names)))
    known = references(counts)
    by_attribute = {
        name or "": group_counts(counts, group, len(first), position, known.get(name or ""))
        for name, position in zip(names or [None], positions or [None], strict=True)
    }
    regions = Regions(
        columns=tuple(domain.name for domain in counts.quasi),
        parts=tuple(Singletons(domain) for domain in counts.quasi),
        codes=counts.codes.take(first, axis=1),
    )
    return Release(
        table.schema,
        by_attribute,
        regions,
        population=counts.population(group, len(first)),
        label=table.source.label,
        notes=standing_notes(table),
        made=ReadFrom(Placement.whole_tuples(table, group)),
        several=several_groups(counts, group),
    )


def several_groups(counts: Counts, group: Ints) -> SeveralGroups | None:
    """Who is in several groups, of which each tuple is in one."""
    if not counts.extra_memberships and counts.owner is None:
        return None
    known = counts.several
    if counts.owner is not None:
        return SeveralGroups.of_rows(counts, group)
    if known is None:
        return SeveralGroups(counts.people)
    return SeveralGroups(counts.people, known.person, group[known.tuples])


_AS_THEY_ARE = "published as they are, unprotected and unjudged"
_KEPT_LINKS = (
    "a kept value that stands on several rows of one person and on few others' tells that these "
    "are hers, as a pseudonym would; rows are judged as if nothing did"
)


def standing_notes(table: Table) -> tuple[str, ...]:
    """What a reader of any judgement on this table must know besides."""
    notes = [*table.source.notes]
    schema, counts = table.schema, table.counts
    if schema.person is None and schema.count is None and not table.source.one_each:
        notes.append("one row is taken for one person (no person column was named)")
    if schema.rows == "unlinked":
        notes.append(
            f"{counts.memberships:,} rows of {counts.people:,} people are published one by one: "
            "sizes count distinct people, values are judged by row and by person, the worse counts"
        )
    elif counts.extra_memberships:
        notes.append(
            f"people whose rows differ in their quasi-identifiers are in several groups "
            f"({counts.extra_memberships:,} more places than people): each group counts them, "
            "people are "
            + ("counted once" if counts.several is not None else "told as at most so many")
        )
    notes += kept_notes(schema, table.perturbed)
    notes += weight_notes(schema)
    return (*notes, *reading_notes(table.source, schema))


def weight_notes(schema: Schema) -> list[str]:
    """What the owner must know of survey weights that are published."""
    if schema.publish_weight == "keep":
        return [
            f"survey weights are published as they are, unjudged ({schema.weight}): a weight that "
            "few people have finds them as a name does, and tells how they were sampled"
        ]
    if schema.publish_weight == "group":
        return [
            f"survey weights are published as the mean of each group ({schema.weight}), so sums by "
            "group are kept; such a sum is a figure about the people of the group, and where all "
            "of them have one weight it is theirs"
        ]
    return []


def missing_weights_notes(schema: Schema, left_out: int, words: str) -> tuple[str, ...]:
    """What published weights tell of those who are left out."""
    if schema.publish_weight is None or not left_out:
        return ()
    return (
        "whoever knows what the weights of everybody add up to, as is public of many surveys, "
        f"subtracts the published ones: the rest are those of the {left_out:,} {words}",
    )


def kept_notes(schema: Schema, perturbed: Mapping[str, Perturbation]) -> list[str]:
    """What is published unjudged, what was done to columns, and what bounds on them mean then."""
    as_they_are = [name for name in schema.keep if name not in perturbed]
    notes = [f"{_AS_THEY_ARE}: {', '.join(as_they_are)}"] if as_they_are else []
    if as_they_are and schema.rows == "unlinked":
        notes.append(_KEPT_LINKS)
    notes += [f"{name}: {perturbation.words}" for name, perturbation in perturbed.items()]
    if any(perturbation.by_chance for perturbation in perturbed.values()):
        notes.append(
            "values altered by chance are judged as published; what is believed of true ones is "
            "told of who undoes it (mechanism reader)"
        )
    return notes


# A table larger than memory, read as if it were published unchanged: equal groups told once.


def kinds_as_they_stand(table: Table, stored: StoredCounts) -> Release:
    """One group of each kind stands for all of its kind (`Groups.multiplicity`).

    Descriptions are those of the one group; nothing can be told of regions, members or weights of
    the others, and what needs these is not judged.
    """
    kinds = stored.kinds()
    known = references(stored)
    total = len(kinds.multiplicity)
    made: dict[str, Groups] = {}
    for place, attribute in enumerate(stored.sensitive):
        made[attribute.name] = group_counts(
            kinds.counts, kinds.of, total, place, known[attribute.name]
        )
    if not made:
        made[""] = group_counts(kinds.counts, kinds.of, total, None)
    made = {
        name: groups.with_beside(replace(groups.beside, multiplicity=kinds.multiplicity))
        for name, groups in made.items()
    }
    regions = Regions(
        columns=tuple(domain.name for domain in stored.quasi),
        parts=tuple(Singletons(domain) for domain in stored.quasi),
        codes=kinds.codes,
    )
    notes = [
        "the table is larger than memory: groups that count the same are told once, by one of them"
    ]
    if stored.weighted:
        notes.append("survey weights are not read from a table larger than memory")
    return Release(
        table.schema,
        made,
        Examples(regions, stored),
        label=table.source.label,
        notes=(*standing_notes(table), *notes),
        several=SeveralGroups(stored.people) if stored.extra_memberships else None,
    )
