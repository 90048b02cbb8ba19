"""The tables of the realistic-adversaries experiment: four columns, 72 nodes, two classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from sfumato.datasets import census_model
from sfumato.datasets.acs import INCOME_CUT, MARITAL, acs_income
from sfumato.datasets.adult import adult
from sfumato.datasets.census import census
from sfumato.schema.recipes import intervals, suppression
from sfumato.schema.roles import Schema
from sfumato.schema.taxonomy import taxonomy
from sfumato.table.load import Table, read

AGES = intervals([5, 10, 20, 40])  # with the age itself and *: 6 levels, as in print
CENSUS_CUT = 25_000  # near the middle of its incomes


@dataclass(frozen=True)
class Study:
    """One table of the experiment, read and counted."""

    name: str
    about: str
    table: Table


def studies(data: Path | None, seed: int) -> tuple[Study, ...]:
    """Adult and the ACS excerpt from the data folder; without one, the embedded census."""
    return (_census(seed),) if data is None else (_adult(data), _acs(data))


def _adult(data: Path) -> Study:
    file, schema = adult(data)
    quasi = ("age", "marital-status", "race", "sex")
    chosen = Schema(
        quasi=quasi,
        sensitive="salary-class",
        hierarchies={**{name: schema.hierarchies[name] for name in quasi}, "age": AGES},
    )
    return Study("Adult", "UCI Adult, complete records, salary class", read(file, chosen))


def _acs(data: Path) -> Study:
    rows, schema = acs_income(data)
    earning = rows.filter(pc.is_valid(rows["PINCP"]))
    marital = taxonomy({code: path[:1] for code, path in MARITAL.items()})
    chosen = Schema(
        quasi=schema.quasi,
        sensitive="PINCP",
        hierarchies={**schema.hierarchies, "MSP": marital},
        domains=schema.domains,
        levels=schema.levels,
    )
    about = (
        f"American Community Survey 2019, national excerpt; income below or from {INCOME_CUT:,} "
        f"on. The {rows.num_rows - earning.num_rows:,} people under 15, of whom no income is "
        "asked, are left out: they would be groups of one value"
    )
    return Study("ACS", about, read(earning, chosen))


def _census(seed: int) -> Study:
    chosen = Schema(
        quasi=("age", "marital", "education", "sex"),
        sensitive="income",
        hierarchies={
            "age": AGES,
            "marital": taxonomy({one: path[1:] for one, path in census_model.MARITAL.items()}),
            "education": suppression(),
            "sex": suppression(),
            "income": intervals(cuts=[CENSUS_CUT]),
        },
        levels={"income": 1},
    )
    about = (
        f"embedded synthetic census, seed {seed}; education stands in for race, income below or "
        f"from {CENSUS_CUT:,} on"
    )
    return Study("Census", about, read(census(seed=seed), chosen))
