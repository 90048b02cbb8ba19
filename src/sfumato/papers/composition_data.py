"""The tables of the composition experiment, and two random parts of each that share people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sfumato.counts.counts import Counts, Ints
from sfumato.datasets.acs import MARITAL, acs_industry
from sfumato.datasets.adult import adult
from sfumato.datasets.census import census, census_schema
from sfumato.release.declared_values import WHOLE, Height
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.recipes import intervals
from sfumato.schema.roles import Schema
from sfumato.schema.taxonomy import taxonomy
from sfumato.table.load import Table, read

ADULT_QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
OVERLAP, OF = 5_000, 30_162  # people in both releases, of Adult; as many of a hundred elsewhere
QUICK = 4_000  # people drawn when time is short
_SCHOOL = {
    **dict.fromkeys(("N", "1", "2", "3", "4"), ("No diploma",)),
    **dict.fromkeys(("5", "6"), ("High school",)),
    **dict.fromkeys(("7", "8"), ("Some college",)),
    **dict.fromkeys(("9", "10", "11", "12"), ("Degree",)),
}


@dataclass(frozen=True)
class Study:
    """One table of the experiment, and the cells a noisy table of it has.

    Partitions are cut along the columns' own order, as in print, so `table` has no hierarchies;
    `hierarchies` and `levels` are those of the noisy table.
    """

    name: str
    about: str
    table: Table
    hierarchies: Mapping[str, Hierarchy]
    levels: Mapping[str, Height]


@dataclass(frozen=True)
class Overlap:
    """Two random parts of a table, and the people who are in both."""

    parts: tuple[Table, Table]
    shared: Table
    levels: Mapping[str, Height] = field(default_factory=dict)

    @property
    def sensitive(self) -> str:
        return self.shared.schema.sensitive[0]

    @property
    def commonest(self) -> float:
        """How often guessing the most frequent value of the shared people is right."""
        counts = self.shared.counts
        people = np.bincount(counts.values[0], weights=counts.n)
        return float(people.max() / people.sum())


def studies(data: Path | None, seed: int) -> tuple[Study, ...]:
    """Adult and the ACS excerpt from the data folder; without one, the embedded census."""
    return (_census(seed),) if data is None else (_adult(data), _acs(data))


def split(study: Study, seed: int, *, quick: bool = False) -> Overlap:
    """Everybody dealt by chance: some to both parts, half of the others to each."""
    counts = study.table.counts
    people = np.repeat(np.arange(len(counts)), counts.n)
    people = np.random.default_rng(seed).permutation(people)[: QUICK if quick else None]
    both = round(OVERLAP * len(people) / OF)
    half = (both + len(people)) // 2
    dealt = (people[:half], np.concatenate([people[:both], people[half:]]), people[:both])
    first, second, shared = (replace(study.table, counts=_part(counts, one)) for one in dealt)
    return Overlap((first, second), shared, study.levels)


def declared(study: Study, overlap: Overlap) -> Overlap:
    """The same people, columns with hierarchies and declared values: what a noisy table needs.

    Declared are the values of the whole table, which stands for a code book here.
    """
    counts = study.table.counts
    texts = [one for one in counts.quasi if one.kind in ("categorical", "ordered")]
    values = {one.name: one.values for one in (*texts, counts.sensitive[0].domain)}
    schema = Schema(
        quasi=study.table.schema.quasi,
        sensitive=study.table.schema.sensitive,
        hierarchies=dict(study.hierarchies),
        domains=values,
        nulls="error",
    )
    levels = {one.name: schema.hierarchy(one.name).bind(one) for one in counts.quasi}
    first, second, shared = (
        replace(one, schema=schema, levels=levels) for one in (*overlap.parts, overlap.shared)
    )
    return replace(overlap, parts=(first, second), shared=shared)


def _part(counts: Counts, people: Ints) -> Counts:
    """The counts of some people, each given by the tuple she has."""
    alone = counts.take(people)
    return replace(alone, n=np.ones(len(people), dtype=np.int64)).compact()


def _adult(data: Path) -> Study:
    file, schema = adult(data)
    levels: dict[str, Height] = {
        "age": 2,
        "education": 1,
        **dict.fromkeys(("workclass", "race", "native-country"), WHOLE),
    }
    return Study(
        "Adult",
        "UCI Adult, complete records, occupation sensitive",
        read(file, Schema(quasi=ADULT_QUASI, sensitive="occupation")),
        {name: schema.hierarchies[name] for name in ADULT_QUASI},
        levels,
    )


def _acs(data: Path) -> Study:
    rows, schema = acs_industry(data)
    levels: dict[str, Height] = {
        "AGEP": 1,
        "MSP": 1,
        "EDU": 1,
        **dict.fromkeys(("RAC1P", "HISP"), WHOLE),
    }
    return Study(
        "ACS",
        "American Community Survey 2019, national excerpt, industry sensitive; people of whom no "
        "industry is known (children, those long out of work) are left out: they would be groups "
        "of one value",
        read(rows, schema),
        {
            "AGEP": intervals([10], bottom=20, top=70),
            "MSP": taxonomy({code: path[:1] for code, path in MARITAL.items()}),
            "EDU": taxonomy(_SCHOOL),
        },
        levels,
    )


def _census(seed: int) -> Study:
    schema = census_schema()
    levels: dict[str, Height] = {"age": 1, "education": 1, "marital": 1, "work": 2, "zip": WHOLE}
    return Study(
        "Census",
        f"embedded synthetic census, seed {seed}, disease sensitive",
        read(census(seed=seed), Schema(quasi=schema.quasi, sensitive=schema.sensitive)),
        {**schema.hierarchies, "age": intervals([10], bottom=20, top=80)},
        levels,
    )
