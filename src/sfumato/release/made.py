"""Made: how a release came to be. One of three, and nobody guesses which from a missing field.

`MadeHere`: an anonymizer of ours made it of a table; who went where is known (`placement`), and
what the anonymizer found on the way (`findings`, a type of its own). `ReadFrom`: it was read, and
what is known of its people is what was published, kept or given besides. `Randomised`: noise was
added to counts; the noisy table and its guarantee are all that is left. All of it is private but
what is published anyway.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa

from sfumato.counts.counts import Counts
from sfumato.engines.base import Scratch, row_blocks
from sfumato.engines.form import FileForm
from sfumato.errors import ResourceError, SchemaError
from sfumato.numbers import Codes, Ints, distinct, offsets_of, sums_by, taken_rows
from sfumato.perturbation.base import Perturbation
from sfumato.release.beside import Inside, OwnedRows, PeopleAlike, PlacedMembers
from sfumato.release.guarantee import Guarantee
from sfumato.release.read.source import StrayColumns
from sfumato.schema.domain import Domain
from sfumato.table import FileStamp, Table

if TYPE_CHECKING:
    from sfumato.release.noisy import NoisyTable

# -- who went into which group ----------------------------------------------------------------


class TablePlacement(ABC):
    """Who of a table went into which group, wherever that is kept.

    In memory (`Placement`) or with the table's engine (`StoredPlacement`): who asks need not know.
    What truly needs everybody's tuple at once says so (`in_memory`).
    """

    fits_memory: ClassVar[bool]

    table: Table

    @property
    @abstractmethod
    def suppressed(self) -> int:
        """How many people went into no group."""

    @abstractmethod
    def in_memory(self, why: str) -> Placement:
        """Everybody's tuple; an error that says what to do where they do not fit.

        `why` is what needs them: the subject of that error's sentence.
        """

    @abstractmethod
    def renumbered(self, number: Ints) -> TablePlacement | None:
        """Group g is now group `number[g]`, or suppressed where that is -1.

        None where nobody can tell any more.
        """

    @abstractmethod
    def published_values(self, why: str) -> tuple[Ints, Codes, Ints]:
        """The published people by group and sensitive codes: groups, codes (a row for each
        attribute), people. These are as many as the groups' counts, and no more."""

    @abstractmethod
    def cells(self, scratch: Scratch) -> str:
        """The engine's table of people: columns g (their group), s0, s1, ... (codes of the
        sensitive attributes) and n."""

    @abstractmethod
    def groups_of_tuples(self, scratch: Scratch) -> str:
        """The engine's table that tells the group of every tuple (q0, ..., s0, ..., g)."""


def _code_columns(letter: str, rows: Codes, tuples: Ints) -> dict[str, Codes]:
    return {f"{letter}{column}": codes[tuples] for column, codes in enumerate(rows)}


@dataclass(frozen=True)
class Placement(TablePlacement):
    """`n[i]` people of tuple `tuples[i]` went into group `groups[i]`; -1: they were suppressed.

    A tuple stands once, unless an anonymizer may part people with equal values, or one person
    counts in several groups.
    """

    fits_memory: ClassVar[bool] = True

    table: Table
    tuples: Ints
    groups: Ints
    n: Ints

    @classmethod
    def whole_tuples(cls, table: Table, group_of_tuple: Ints) -> Placement:
        """The common case: every person of a tuple is in the same group."""
        counts = table.counts.in_memory("telling whose tuple is in which group")
        return cls(table, np.arange(len(counts)), group_of_tuple.astype(np.int64), counts.n)

    @property
    def counts(self) -> Counts:
        return self.table.counts.in_memory("telling whose tuple is in which group")

    @property
    def suppressed(self) -> int:
        return int(self.n[self.groups < 0].sum())

    @property
    def owned_rows(self) -> OwnedRows | None:
        """Whose row lies in which group; None where nobody knows whose rows they are."""
        owner = self.counts.owner
        if owner is None:
            return None
        kept = self.groups >= 0
        person = owner[taken_rows(offsets_of(self.counts.n), self.tuples[kept])[1]]
        return OwnedRows(person.astype(np.int64), np.repeat(self.groups[kept], self.n[kept]))

    def in_memory(self, why: str) -> Placement:
        return self

    def renumbered(self, number: Ints) -> Placement:
        return replace(self, groups=np.where(self.groups >= 0, number[self.groups], -1))

    def published_values(self, why: str) -> tuple[Ints, Codes, Ints]:
        kept = np.flatnonzero(self.groups >= 0)
        return self.groups[kept], self.counts.values[:, self.tuples[kept]], self.n[kept]

    def inside(self, total: int) -> Inside:
        """Who is in each of `total` groups."""
        order = np.argsort(self.groups, kind="stable")
        order = order[self.groups[order] >= 0]
        indptr = np.searchsorted(self.groups[order], np.arange(total + 1))
        return Inside(self.counts, indptr.astype(np.int64), self.tuples[order], self.n[order])

    def cells(self, scratch: Scratch) -> str:
        values = self.counts.values

        def blocks() -> Iterator[pa.Table]:
            for block in row_blocks(len(self.groups)):
                sensitive = _code_columns("s", values, self.tuples[block])
                yield pa.table({"g": self.groups[block], **sensitive, "n": self.n[block]})

        return scratch.append("cells", blocks())

    def groups_of_tuples(self, scratch: Scratch) -> str:
        counts = self.counts
        if len(distinct(self.tuples)) < len(self.tuples):
            raise SchemaError(
                "keep: people with equal values were parted, and through an engine there is no "
                "telling whose kept values are whose; drop keep, or use another anonymizer"
            )

        def blocks() -> Iterator[pa.Table]:
            for block in row_blocks(len(self.groups)):
                quasi = _code_columns("q", counts.codes, self.tuples[block])
                sensitive = _code_columns("s", counts.values, self.tuples[block])
                yield pa.table({**quasi, **sensitive, "g": self.groups[block]})

        return scratch.append("placed", blocks())


@dataclass(frozen=True)
class StoredPlacement(TablePlacement):
    """The same of a table larger than memory: its engine keeps who is where.

    `people` and `placed` are the names of the engine's tables of `cells` and `groups_of_tuples`;
    the second is there if the schema keeps columns, which are each person's own.
    """

    fits_memory: ClassVar[bool] = False

    table: Table
    people: str
    placed: str | None = None
    suppressed: int = 0

    def in_memory(self, why: str) -> Placement:
        raise ResourceError(
            f"{why} needs everybody's tuple in memory, and the table is larger than memory; raise "
            "the memory limit, or use a part of the rows"
        )

    def renumbered(self, number: Ints) -> None:
        return None  # the engine's tables still tell of all groups

    def published_values(self, why: str) -> tuple[Ints, Codes, Ints]:
        engine, attributes = self.table.engine, self.table.counts.sensitive
        (cells,) = engine.fetch(f"SELECT COUNT(*) AS c FROM {self.people}").column("c").to_pylist()
        if cells * (4 * len(attributes) + _CELL) > engine.memory:
            raise ResourceError(
                f"{why} needs the {cells:,} counts of all groups in memory; raise the memory limit"
            )
        fetched = engine.fetch(f"SELECT * FROM {self.people} WHERE g >= 0")
        values = np.zeros((len(attributes), fetched.num_rows), dtype=np.int32)
        for place in range(len(attributes)):
            values[place] = fetched.column(f"s{place}").to_numpy()
        group, n = (fetched.column(name).to_numpy().astype(np.int64) for name in ("g", "n"))
        order = np.lexsort((*values[::-1], group))
        return group[order], values[:, order], n[order]

    def cells(self, scratch: Scratch) -> str:
        return self.people

    def groups_of_tuples(self, scratch: Scratch) -> str:
        if self.placed is None:
            raise SchemaError("keep: nobody's group is known; read the table and anonymize again")
        return self.placed


@dataclass(frozen=True)
class DealtByEngine(StoredPlacement):
    """People of a table larger than memory who were dealt into buckets one by one.

    `people` is the engine's table of them: g (their bucket's id), q0, q1, ... and s0.
    """

    def published_values(self, why: str) -> tuple[Ints, Codes, Ints]:
        raise ResourceError(
            f"{why} needs the values of all buckets in memory, and the table is larger than "
            "memory; raise the memory limit"
        )


_CELL = 64  # bytes that the people of a group with one value take


# -- what an anonymizer found -----------------------------------------------------------------


@dataclass(frozen=True)
class DistanceUnits:
    """What distances between people were measured in, by column; NULL lies at `missing`."""

    scale: Mapping[str, float]
    centre: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, float] = field(default_factory=dict)

    def named(self) -> dict[str, Mapping[str, float]]:
        """As private/run.json keeps them."""
        return {"centre": self.centre, "scale": self.scale, "missing": self.missing}


@dataclass(frozen=True)
class Findings:
    """What an anonymizer tells of how it made a release; each has a type of its own."""

    anonymizer: ClassVar[str]

    @classmethod
    def of(cls, made: Made) -> Self | None:
        """These findings, of a release that was made with them."""
        known = made.findings if isinstance(made, MadeHere) else None
        while known is not None and not isinstance(known, cls):
            known = known.inner
        return known

    @property
    def inner(self) -> Findings | None:
        """Those of the anonymizer that was chosen, where one chose among others."""
        return None

    @property
    def made_by(self) -> str:
        """The anonymizer, and the one it chose."""
        return self.anonymizer

    @property
    def distances(self) -> DistanceUnits | None:
        """What somebody must measure in who looks for the nearest group; None: nobody does."""
        return None

    @property
    def blank_cells(self) -> Mapping[str, int]:
        """How many cells were blanked one by one, by column."""
        return {} if self.inner is None else self.inner.blank_cells

    @property
    def was_interrupted(self) -> bool:
        """Whether somebody stopped the search before its end."""
        return False

    @property
    def points(self) -> list[dict[str, object]]:
        """Other releases that were made beside it, numbered, and by which anonymizer."""
        return []


# -- what was done besides ----------------------------------------------------------------------

TreatmentKind = Literal[
    "as it is",
    "generalized",
    "microaggregated",
    "in buckets",
    "noise",
    "mean of the group",
    "cells blanked",
    "perturbed",
    "pseudonym",
    "removed",
    "left at home",
]


@dataclass(frozen=True)
class Treated:
    """What was done to a column that its description does not show, entered by whoever did it.

    `how` tells it in words that anybody may read: the mechanism and its parameters, nothing of the
    data. Private are `changed`, the cells that do not show the person's own value any more, and
    `before`, people by the value they had, where the counts of the table no longer tell, and
    `after`, people by the value that is published, of a column that nothing is counted by.
    """

    column: str
    done: TreatmentKind
    how: str
    changed: int | None = None
    before: Mapping[str, int] | None = None
    after: Mapping[str, int] | None = None


# -- the three ways -----------------------------------------------------------------------------


@dataclass(frozen=True)
class MadeHere:
    """By an anonymizer, of `placement.table`; `seed` is the chance that was used.

    `altered`: groups were put together or left out since, to see what that would do. The findings
    are those of the release before, and this one is for judging, not for handing out.
    """

    placement: TablePlacement
    findings: Findings
    seed: int = 0
    altered: bool = False

    guarantee: ClassVar[None] = None

    @property
    def counted_from(self) -> TablePlacement:
        return self.placement

    def inside(self, total: int) -> Inside | None:
        return self.placement.in_memory("telling who is in which group").inside(total)

    def take(self, kept: Ints, total: int) -> Made:
        """With the other groups of `total` left out."""
        moved = self.placement.renumbered(_numbers_among(kept, total))
        return ReadFrom() if moved is None else replace(self, placement=moved, altered=True)

    def merge(self, number: Ints, total: int) -> Made:
        """With group g put into group `number[g]` of `total`."""
        placement = self.placement.in_memory("putting groups together")
        return replace(self, placement=placement.renumbered(number), altered=True)


@dataclass(frozen=True)
class ExactMatching:
    """Only people whose published descriptions are equal are alike."""

    published: ClassVar[None] = None


@dataclass(frozen=True)
class WildcardMatching:
    """A suppressed cell was taken for anything, so that groups share people: sizes and counts are
    of everybody who is compatible.

    `published[g]` people are published with group g's own description; they add up to the people
    there are. The risk of each of them is 1 / the group's size.
    """

    published: Ints


Matching = ExactMatching | WildcardMatching


@dataclass(frozen=True)
class ReadFrom:
    """From files, a ledger, or a table as it stands; by default nothing more is known.

    `counted_from`: the tuples that were published, with the groups they are in, where they fit in
    memory. `matching`: who was taken for alike. `people`: who is in which group, where its owner
    kept that or gave the table; `representatives`: where that table is larger than memory, those
    who stand for others; `households`: who of them lives together. `guarantee`: what it says it
    promises. `file`: the folder of ours it was read from, or the file it was kept in;
    `files`: all that were read. `stray`: what is published besides. `domains`: what
    quasi-identifiers may be, where its owner kept that and the schema does not say. `perturbed`:
    what it says was done to columns. `linked_table`: where a pseudonym links rows, the table it was
    made of, where its owner gave that; `cut`: some people's rows may be left out in part there, or
    stand under several pseudonyms. `whole_unknown`: people or rows were left out of it, or may have
    been, and what values those have is not known.
    """

    counted_from: Placement | None = None
    matching: Matching = ExactMatching()
    people: Inside | None = None
    representatives: PeopleAlike | None = None
    guarantee: Guarantee | None = None
    file: FileStamp | None = None
    stray: StrayColumns = field(default_factory=StrayColumns)
    domains: Mapping[str, Domain] = field(default_factory=dict)
    perturbed: Mapping[str, Perturbation] = field(default_factory=dict)
    files: tuple[FileStamp, ...] = ()
    households: PlacedMembers | None = None
    linked_table: Table | None = None
    cut: bool = False
    whole_unknown: bool = False

    def inside(self, total: int) -> Inside | None:
        return self.people

    def take(self, kept: Ints, total: int) -> Made:
        matching, placed, homes = self.matching, self.counted_from, self.households
        some = self.representatives
        if isinstance(matching, WildcardMatching):
            matching = WildcardMatching(matching.published[kept])
        number = _numbers_among(kept, total)
        return replace(
            self,
            counted_from=None if placed is None else placed.renumbered(number),
            matching=matching,
            people=None if self.people is None else self.people.take(kept),
            representatives=some and replace(some, inside=some.inside.take(kept)),
            households=None if homes is None else homes.renumbered(number),
        )

    def merge(self, number: Ints, total: int) -> Made:
        matching, placed, homes = self.matching, self.counted_from, self.households
        some = self.representatives
        if isinstance(matching, WildcardMatching):
            matching = WildcardMatching(sums_by(number, matching.published, total))
        return replace(
            self,
            counted_from=None if placed is None else placed.renumbered(number),
            matching=matching,
            people=None if self.people is None else self.people.merge(number, total),
            representatives=some and replace(some, inside=some.inside.merge(number, total)),
            households=None if homes is None else homes.renumbered(number),
        )


@dataclass(frozen=True)
class Randomised:
    """By noise: `table` is what is published, and no table of people is behind it any more.

    `form`: how that was written.
    """

    guarantee: Guarantee
    table: NoisyTable
    form: FileForm

    counted_from: ClassVar[None] = None

    def inside(self, total: int) -> Inside | None:
        return None

    def take(self, kept: Ints, total: int) -> Made:
        """Post-processing keeps the promise; the noisy table is another's."""
        return ReadFrom(guarantee=self.guarantee)

    def merge(self, number: Ints, total: int) -> Made:
        return ReadFrom(guarantee=self.guarantee)


Made = MadeHere | ReadFrom | Randomised


def _numbers_among(kept: Ints, total: int) -> Ints:
    """The new number of each group, -1 of those that are left out."""
    number = np.full(total, -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    return number
