"""Twelve quasi-identifiers: what a search from both ends finds, against the whole lattice.

    python benchmarks/high_dimensions.py [--data DIR] [--people 7000] [--nodes 2000]
                                         [--columns 10,12] [--policies "k,2 % out"] [--only-ends]

The ACS excerpt with ten and twelve quasi-identifiers (110,592 and 442,368 nodes), and Adult
(4,320), every so many-th person. Told for each policy: the cost of the best node after some nodes
judged from both ends against the best of the whole lattice, gone through; and when it was found,
how much more than the best of all it costs at most by the search's own bound, seconds of both, and
what Mondrian with hierarchy labels reaches. `--only-ends` leaves the whole lattice
out, for larger tables.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
from results import tell

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.lattice.lattice import LatticeFindings
from sfumato.anonymizers.lattice.nodes import Judge
from sfumato.anonymizers.lattice.search import BothEnds, Walk
from sfumato.criteria.base import Criterion
from sfumato.datasets.public_files import MARITAL, acs, adult
from sfumato.errors import NoSafeRelease
from sfumato.utility.loss import Loss
from sfumato.utility.view import view_of

SHARED = Path(__file__).parents[2] / "shared" / "data"
SENSITIVE = "PINCP_DECILE"
NOBODY = "N"  # not applicable
TEN = ("AGEP", "SEX", "MSP", "HISP", "RAC1P", "EDU", "OWN_RENT", "NOC", "NPF", "INDP_CAT")
ACS = {10: TEN, 12: (*TEN, "HOUSING_TYPE", "DVET")}
K = sf.KAnonymity(5)
POLICIES: dict[str, tuple[tuple[Criterion, ...], float]] = {
    "k": ((K,), 0.0),
    "2 % out": ((K,), 0.02),
    "10 % out": ((sf.KAnonymity(3),), 0.1),
    "3 values, 2 % out": ((K, sf.DistinctDiversity(3)), 0.02),
    "0.4-close": ((K, sf.TCloseness(0.4)), 0.0),
    "0.4-close, 5 % out": ((K, sf.TCloseness(0.4)), 0.05),
    "entropy-4, 5 % out": ((K, sf.EntropyDiversity(4)), 0.05),
}


def of_number(value: str) -> tuple[str, str]:
    if value == NOBODY:
        return NOBODY, NOBODY
    size = "0-1" if int(value) < 2 else "2-3" if int(value) < 4 else "4+"
    return size, "4+" if size == "4+" else "below 4"


def of_school(value: str) -> tuple[str, str]:
    years = 0 if value == NOBODY else int(value)
    school = "school" if years < 5 else "college" if years < 9 else "degree"
    return school, "degree" if school == "degree" else "no degree"


def of_industry(value: str) -> tuple[str]:
    """Three sectors, as coarse as any."""
    return (NOBODY if value == NOBODY else ("goods", "services", "public")[int(value) % 3],)


def of_race(value: str) -> tuple[str]:
    return (("white", "black", "other")[min(int(value), 3) - 1],)


PATHS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "NOC": of_number,
    "NPF": of_number,
    "EDU": of_school,
    "INDP_CAT": of_industry,
    "RAC1P": of_race,
}


def acs_people(folder: Path, columns: tuple[str, ...], people: int) -> sf.Table:
    file, _ = acs(folder)
    types = {**dict.fromkeys((*columns, SENSITIVE), pa.string()), "AGEP": pa.int64()}
    rows = pc.read_csv(
        file, convert_options=pc.ConvertOptions(column_types=types, include_columns=list(types))
    )
    hierarchies = {"AGEP": sf.intervals([5, 10, 20, 40]), "MSP": sf.taxonomy(MARITAL)}
    for column, path in PATHS.items():
        values = rows[column].unique().to_pylist()
        hierarchies[column] = sf.taxonomy({value: path(value) for value in values})
    codes = [column for column in types if column != "AGEP"]
    schema = sf.Schema(
        quasi=columns,
        sensitive=SENSITIVE,
        hierarchies=hierarchies,
        domains=dict.fromkeys(codes, "categorical"),
    )
    return sf.read(every_so_many(rows, people), schema)


def every_so_many(rows: pa.Table, people: int) -> pa.Table:
    step = max(1, rows.num_rows // people)
    return rows.take(np.arange(0, rows.num_rows, step))


def tables(folder: Path, columns: list[int], people: int) -> Iterator[tuple[str, sf.Table]]:
    file, schema = adult(folder)
    rows = pc.read_csv(file, parse_options=pc.ParseOptions(delimiter=";"))
    yield "Adult", sf.read(every_so_many(rows, people), schema)
    for many in columns:
        yield "ACS", acs_people(folder, ACS[many], people)


def shipped(task: Task) -> str:
    """What the anonymizer finds, which goes through lattices of up to a million nodes."""
    start = time.perf_counter()
    findings = LatticeFindings.of(sf.Lattice().run(task).made)
    took = time.perf_counter() - start
    assert findings is not None
    assert findings.search is not None
    assert findings.search.best is not None
    cost, many = findings.search.best.cost, len(findings.search.nodes)
    return f"sf.Lattice(), not held to so few, finds {cost:.4f} in {took:.1f} s, {many:,} judged"


def compare(about: str, table: sf.Table, names: list[str], nodes: int, *, whole: bool) -> None:
    for name in names:
        require, suppression = POLICIES[name]
        task = Task(table, require, suppression=suppression)
        start = time.perf_counter()
        ends = BothEnds(Judge(task), nodes, nodes)
        ends.run()
        took = time.perf_counter() - start
        if ends.best is None:
            print(f"{about}, {name}: nothing is safe")
            continue
        place = next(i for i, node in enumerate(ends.nodes, 1) if node is ends.best)
        more = max(0.0, ends.best.cost - ends.bound)
        why = (
            f"found at node {place:,} of {len(ends.nodes):,} judged, by its own bound at most "
            f"{more:.4f} above the best of all, {took:.1f} s"
        )
        least, missed = None, ""
        if whole:
            start = time.perf_counter()
            judge = Judge(task)
            walk = Walk(judge)
            judge.walk(walk)
            assert walk.best is not None
            least = walk.best.cost
            missed = f"it judged {len(ends.nodes):,} nodes, the whole search {len(walk.nodes):,}"
            if ends.best.cost > least:
                missed += f"; {shipped(task)}"
            why += f"; whole: {len(walk.nodes):,} judged, {time.perf_counter() - start:.1f} s"
        try:
            cut = sf.Mondrian(regions="hierarchy").run(Task(table, require))
            why += f"; mondrian {Loss().cost(view_of(cut)):.4f}"
        except NoSafeRelease:
            why += "; no release by mondrian"
        tell(
            f"{about}, {name}",
            ends.best.cost,
            other=least,
            against="the whole lattice" if whole else "",
            at_most=1 if whole else None,
            unit="loss",
            why=why,
            missed=missed,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SFUMATO_DATA", SHARED)))
    parser.add_argument("--people", type=int, default=7_000)
    parser.add_argument("--nodes", type=int, default=2_000)
    parser.add_argument("--columns", default="10,12")
    parser.add_argument("--policies", default="")
    parser.add_argument("--only-ends", action="store_true")
    given = parser.parse_args()
    names = [name for name in POLICIES if not given.policies or name in given.policies.split(",")]
    columns = [int(many) for many in given.columns.split(",") if many]
    for about, table in tables(given.data, columns, given.people):
        heights = [table.levels[column].height for column in table.schema.quasi]
        named = f"{about}, {len(heights)} columns"
        print(f"{named}: {table.people:,} people, {prod(heights):,} nodes")
        compare(named, table, names, given.nodes, whole=not given.only_ends)


if __name__ == "__main__":
    main()
