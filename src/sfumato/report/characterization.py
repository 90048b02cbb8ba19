"""Characterization: which combination of columns gives people away, as plain data.

Of every combination and target: how many classes there are, how few people share one, how many are
alone, how much the classes leak. What a single class shows may be a single person: of a table that
is private evidence; of a release it is what anybody can read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import InputError, did_you_mean, list_some, refuse_handed_out
from sfumato.files import check_new_file, new_file, write_text
from sfumato.numbers import Floats, Ints
from sfumato.report.document import Documented
from sfumato.report.json import pieces_of_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.report.document import Document

_PAGES, _TABLES = (".html", ".htm"), (".csv", ".parquet")


MOST_GAINS = 3
DROPPED = "dropped"  # instead of a coarser level


@dataclass(frozen=True)
class LeakageSpread:
    """A leakage over the classes: the largest, the mean of classes, the mean of people."""

    largest: float
    mean: float
    weighted: float


@dataclass(frozen=True)
class WorstClass:
    """The class that leaks most, what was expected of its people and what it shows.

    `expected` has the share of each of the target's `values`; the class has those at `places`,
    with the shares `there`. `only_here`: whoever has the value is in this class.
    """

    cells: dict[str, str]
    people: int
    values: Sequence[str]
    expected: Floats
    places: Ints
    there: Floats
    only_here: tuple[str, ...]

    @property
    def observed(self) -> Floats:
        """The share of each of the target's values in the class."""
        shares = np.zeros(len(self.expected))
        shares[self.places] = self.there
        return shares

    @property
    def ruled_out(self) -> tuple[str, ...]:
        """Values that were expected and nobody here has."""
        gone = np.flatnonzero((self.expected > 0) & (self.observed == 0))
        return tuple(self.values[at] for at in gone.tolist())

    @property
    def gains(self) -> tuple[tuple[str, float, float], ...]:
        """The values whose share grew most: value, expected, shown."""
        before = self.expected[self.places]
        order = np.argsort(before - self.there, kind="stable")[:MOST_GAINS]
        return tuple(
            (self.values[int(self.places[at])], float(before[at]), float(self.there[at]))
            for at in order
            if self.there[at] > before[at]
        )


@dataclass(frozen=True)
class RankedClass:
    """One of the classes that leak most: what it shows, its people, and how much it tells."""

    cells: dict[str, str]
    people: int
    distribution: float
    entropy: float
    ruled_out: int


@dataclass(frozen=True)
class CombinationFinding:
    """One combination against one target.

    `k` is the number of people in the smallest class, `unique` the share of people who are alone
    in theirs, `ruled_out` the share for whom some value can be ruled out, `pinned` how many values
    occur in one class only. `metrics`: leakage by the further metrics that were asked for.
    `per_class`: the distribution leakage of the classes, largest first, as many as charts can show;
    `ranked`: the first of them, with what they show.
    """

    columns: tuple[str, ...]
    target: str
    classes: int
    k: int
    unique: float
    distribution: LeakageSpread
    entropy: LeakageSpread
    ruled_out: float
    pinned: int
    metrics: Mapping[str, LeakageSpread]
    worst: WorstClass = field(repr=False)
    per_class: Floats = field(repr=False)
    ranked: tuple[RankedClass, ...] = field(default=(), repr=False)

    @property
    def label(self) -> str:
        return ", ".join(self.columns)


@dataclass(frozen=True)
class Contribution:
    """What one column adds: leakage alone, and on average to the others it is combined with.

    None where that was not measured.
    """

    column: str
    target: str
    alone: float | None
    adds: float | None
    adds_unique: float | None


@dataclass(frozen=True)
class ColumnCoarsening:
    """What the worst combination would leak if one of its columns were coarser.

    `to` says how: a level of its hierarchy, or `DROPPED`.
    """

    target: str
    columns: tuple[str, ...]
    column: str
    to: str
    before: CombinationFinding
    after: CombinationFinding

    @property
    def dropped(self) -> bool:
        return self.to == DROPPED


@dataclass(frozen=True)
class Individuals:
    """The most each person's classes leak about her, over all combinations. Private.

    One entry for people with equal values: their `codes` by column, how many they are, and by
    target the leakage and the combination that leaks it.
    """

    columns: tuple[str, ...]
    labels: tuple[Sequence[str], ...]
    codes: np.ndarray[tuple[int, int], np.dtype[np.int32]]
    people: Floats
    leakage: dict[str, Floats]
    by: dict[str, Ints]
    combinations: tuple[tuple[str, ...], ...]

    def to_arrow(self) -> pa.Table:
        """The people, the most exposed first."""
        import pyarrow as pa

        worst = np.max(np.vstack(list(self.leakage.values())), axis=0)
        order = np.argsort(-worst, kind="stable")
        arrays: dict[str, Any] = {}
        for name, labels, codes in zip(self.columns, self.labels, self.codes, strict=True):
            used, place = np.unique(codes[order], return_inverse=True)
            arrays[name] = pa.array([labels[code] for code in used.tolist()]).take(pa.array(place))
        arrays["people"] = pa.array(self.people[order])
        named = pa.array([", ".join(columns) for columns in self.combinations])
        for target, leakage in self.leakage.items():
            arrays[f"leakage of {target}"] = pa.array(leakage[order])
            arrays[f"{target} by"] = named.take(pa.array(self.by[target][order]))
        return pa.table(arrays)


@dataclass(frozen=True, repr=False)
class Characterization(Documented):
    """Every combination of columns up to a size against every target.

    `public`: of a release. `whose_rows`: people have several rows, and were counted by whose each
    is, which a release does not show.
    """

    label: str
    people: int
    columns: tuple[str, ...]
    targets: tuple[str, ...]
    max_size: int
    prior: str
    findings: tuple[CombinationFinding, ...]
    contributions: tuple[Contribution, ...]
    coarsenings: tuple[ColumnCoarsening, ...]
    notes: tuple[str, ...] = ()
    public: bool = False
    whose_rows: bool = False
    one_for_all: bool = True  # she expects the same of every class; else no coarser one was tried
    individuals: Individuals | None = field(default=None, repr=False)

    def ranking(self, target: str | None = None) -> tuple[CombinationFinding, ...]:
        """The combinations against a target, those that leak most to people first.

        By the leakage people meet on average, then the largest, then fewer columns.
        """
        chosen = self._target(target)
        against_target = (finding for finding in self.findings if finding.target == chosen)
        return tuple(
            sorted(
                against_target,
                key=lambda finding: (
                    -round(finding.distribution.weighted, 12),
                    -round(finding.distribution.largest, 12),
                    len(finding.columns),
                    finding.columns,
                ),
            )
        )

    def finding(self, columns: Sequence[str], target: str | None = None) -> CombinationFinding:
        """One combination against a target."""
        chosen = self._target(target)
        for finding in self.findings:
            if finding.target == chosen and set(finding.columns) == set(columns):
                return finding
        raise InputError(
            f"{', '.join(columns)} was not measured against {chosen}; the columns are "
            f"{', '.join(self.columns)}, up to {self.max_size} at a time"
        )

    def _target(self, target: str | None) -> str:
        chosen = self.targets[0] if target is None else target
        if chosen not in self.targets:
            raise InputError(f"{chosen!r} is no target; {did_you_mean(chosen, self.targets)}")
        return chosen

    def advice(self, target: str | None = None) -> str:
        """Which column to coarsen first, and what that buys, in words."""
        from sfumato.report.sections.characterization import advice

        return advice(self, self._target(target))

    def document(self) -> Document:
        """The result in sections, for terminal, JSON and page."""
        from sfumato.report.sections.characterization import document

        return document(self)

    def to_json(self, *, private: bool = False) -> str:
        return self.document().to_json(private=private)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write a page (.html) of what may be shown."""
        return self.document().save_page(path, force=force)

    def _in_short(self) -> tuple[str, ...]:
        return (
            f"Characterization of {self.label}: {self.people:,} people",
            f"{len(self.findings):,} combinations of {list_some(self.columns)}",
            f"against {list_some(self.targets)}",
        )


def check_files(
    html: Path | None, private: Path | None, *, force: bool, tables: bool = True
) -> None:
    """Refuse names that cannot be written; before any work is done. `tables`: .csv may be."""
    if private is not None:
        refuse_handed_out(private, "its findings are")
    evidence = (*_PAGES, ".json", *(_TABLES if tables else ()))
    for path, allowed in ((html, _PAGES), (private, evidence)):
        if path is None:
            continue
        if path.suffix not in allowed:
            endings = ", ".join(ending for ending in allowed if ending != ".htm")
            raise InputError(f"cannot write {path.name!r}; use a name ending in {endings}")
        check_new_file(path, force=force)
    if html is not None and html == private:
        raise InputError(f"{html} would be written twice: private evidence needs a file of its own")


def save_private(characterization: Characterization, path: Path, *, force: bool = False) -> None:
    """Worst classes as a page or JSON, or every person's leakage as a table."""
    if path.suffix in _TABLES:
        if characterization.individuals is None:
            raise InputError("the leakage of people was not measured; ask for individuals=True")
        write_table(characterization.individuals.to_arrow(), path, force=force)
    elif path.suffix == ".json":
        with new_file(path, force=force) as new:
            characterization.document().write_json(new, private=True)
    else:
        write_text(
            path, characterization.document().to_html(private=True), force=force, kind="page"
        )


def write_table(table: pa.Table | Iterator[pa.Table], target: Path, *, force: bool = False) -> None:
    """A table of private evidence by its ending: .parquet, .csv, or .json as a list of rows.

    A large one comes in parts, none of them without rows, each written before the next is made.

    Nobody but its owner can read it, not even while it is written.
    """
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    parts = iter([table]) if isinstance(table, pa.Table) else table
    with new_file(target, force=force, kind="table") as partial:
        first = next(parts)
        everything = chain([first], parts)
        if target.suffix in (".parquet", ".csv"):
            writer = pq.ParquetWriter if target.suffix == ".parquet" else pa_csv.CSVWriter
            with writer(partial, first.schema) as file:
                for part in everything:
                    file.write_table(part)
        else:
            with partial.open("w", encoding="utf-8") as text:
                text.writelines(pieces_of_rows(everything, first.num_rows))
                text.write("\n")
