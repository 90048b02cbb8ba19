"""The column that is judged is the one that was named, in every source, whatever its neighbours.

Engines hold names for equal that differ in case. Counted here by hand: names that collide under
case folding, Unicode's normal forms or stripping of spaces, in random order.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from tests.engines.named_columns import FAMILIES, NAMES, SOURCES
from tests.examples import few


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    family = draw(st.sampled_from(FAMILIES))
    names = draw(st.lists(st.sampled_from(family + NAMES), min_size=2, max_size=6, unique=True))
    rows = st.lists(st.integers(1, 4), min_size=9, max_size=9)
    return pa.table({name: draw(rows) for name in names})


def counted(table: sf.Table) -> Counter[tuple[Any, ...]]:
    counts = table.counts
    domains = [*counts.quasi, *(attribute.domain for attribute in counts.sensitive)]
    codes = [*counts.codes, *counts.values]
    found: Counter[tuple[Any, ...]] = Counter()
    for place, n in enumerate(counts.n.tolist()):
        found[tuple(d.values[row[place]] for d, row in zip(domains, codes, strict=True))] += n
    return found


@settings(max_examples=few(5))
@given(table=tables())
@pytest.mark.parametrize("kind", SOURCES)
def test_the_named_column_is_counted(
    kind: str, table: pa.Table, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("people")
    names = table.schema.names
    for first, second in zip(names, [*names[1:], names[0]], strict=True):
        source = SOURCES[kind](table, folder)
        found = sf.read(source, sf.Schema(quasi=[first], sensitive=second))
        pairs = zip(table[first].to_pylist(), table[second].to_pylist(), strict=True)
        assert counted(found) == Counter(pairs)


def test_a_relation_of_duckdb_with_odd_names() -> None:
    relation = duckdb.sql('SELECT 1 AS " a", 2 AS "a\u0301", 3 AS "\u00e1" FROM range(3)')
    for name, value in ((" a", 1), ("a\u0301", 2), ("\u00e1", 3)):
        assert counted(sf.read(relation, sf.Schema(quasi=[name]))) == {(value,): 3}


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow file"])
def test_a_column_without_a_role_is_never_published(kind: str, tmp_path: Path) -> None:
    """A free text beside a sensitive column whose name differs only in case."""
    notes = [f"Alice Smith {place} has HIV" for place in range(12)]
    table = pa.table({"note": notes, "age": [30] * 12, "Note": ["flu", "cold"] * 6})
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[schema]\nquasi = ["age"]\nsensitive = "Note"\n[[require]]\nkind = "k-anonymity"\nk = 5\n'
    )
    file, out = SOURCES[kind](table, tmp_path), tmp_path / "out"
    command = ["anonymize", str(file), "--policy", str(policy), "--out", str(out)]
    made = CliRunner().invoke(app, [*command, "--format", "csv"])
    assert made.exit_code == 0
    published = list(csv.DictReader((out / "public" / "data.csv").read_text().splitlines()))
    assert Counter(row["Note"] for row in published) == {"cold": 6, "flu": 6}
    assert list(published[0]) == ["age", "Note"]


@pytest.mark.parametrize("kind", SOURCES)
def test_unique_people_beside_a_constant_of_the_same_letters(kind: str, tmp_path: Path) -> None:
    table = pa.table({"age": [30] * 20, "AGE": list(range(20))})
    for quasi, groups in ((["age", "AGE"], 20), (["AGE"], 20), (["age"], 1)):
        schema = sf.Schema(quasi=quasi)
        source = SOURCES[kind](table, tmp_path)
        assert len(sf.read(source, schema).counts) == groups
        release = sf.read_release(SOURCES[kind](table, tmp_path), schema)
        assert len(release.groups) == groups


def test_kept_columns_and_facts_are_those_named(tmp_path: Path) -> None:
    people = pa.table({"ID": [1, 2, 3], "id": [7, 7, 7], "Q": ["x"] * 3, "q": ["a", "b", "c"]})
    facts = pa.table({"S": ["no"] * 3, "s": ["u", "v", "w"], "id": [9, 9, 9], "ID": [1, 2, 3]})
    found = sf.read(people, sf.Schema(quasi=["q"], sensitive="s", person="ID"), facts=facts)
    values = found.counts.sensitive[0].domain.values
    assert (len(found.counts), values) == (3, ("u", "v", "w"))
    schema = sf.Schema(quasi=["Q"], keep=["q"])
    release = sf.anonymize(
        sf.read(people, schema), sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Mondrian())
    )
    assert sorted(release.to_arrow()["q"].to_pylist()) == ["a", "b", "c"]
