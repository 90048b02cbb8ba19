"""What every registered anonymizer promises. A newcomer is held to it by being registered."""

from __future__ import annotations

import csv
import dataclasses
import inspect
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Anonymizer, Task
from sfumato.anonymizers.lattice.lattice import Lattice
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.release.made import MadeHere, Placement, Randomised, ReadFrom
from sfumato.release.release import Release
from sfumato.release.treatment import column_treatments
from sfumato.release.write.codebook import codebook_of
from sfumato.workflow.anonymize import anonymize
from tests.anonymizers import noisy
from tests.anonymizers.examples import EXAMPLES, Example, example_of

EACH = [
    pytest.param(run, example, id=f"{name}-{number}")
    for name in ANONYMIZERS
    if not (example := example_of(name)).noisy
    for number, run in enumerate(example.runs)
]
each_name = pytest.mark.parametrize("name", sorted(ANONYMIZERS))
each = pytest.mark.parametrize(("anonymizer", "example"), EACH)

# -- a table with a column of every role ----------------------------------------------------------

CITIES, DISEASES = ["ulm", "bonn", "kiel"], ["flu", "gout", "cold", "hiv"]


def people(seed: int = 3, count: int = 90) -> list[tuple[Any, ...]]:
    """(name, age, city, sex, disease, ward, secret); the ward tells everything but the name."""
    chance = Random(seed)
    found = []
    for number in range(count):
        age = chance.choice([*range(20, 50), None])
        city, sex = chance.choice(CITIES), chance.choice("FM")
        disease = DISEASES[number % len(DISEASES)]
        ward = f"{age}/{city}/{sex}/{disease}"
        found.append((f"name-{number}", age, city, sex, disease, ward, f"secret-{number}"))
    return found


COLUMNS = ("name", "age", "city", "sex", "disease", "ward", "secret")
ROLES: dict[str, Any] = {
    "quasi": ["age", "city", "sex"],
    "sensitive": "disease",
    "identifiers": ["name"],
    "hierarchies": {
        "age": sf.intervals([5, 10, 20]),
        "city": sf.taxonomy({"ulm": "south", "bonn": "north", "kiel": "north"}),
    },
}


def read(rows: list[tuple[Any, ...]], **more: Any) -> sf.Table:
    arrays = {n: list(c) for n, c in zip(COLUMNS, zip(*rows, strict=True), strict=True)}
    return sf.read(pa.table(arrays), sf.Schema(**ROLES, **more))


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return read(people())


def release_of(run: Anonymizer, example: Example, table: sf.Table, seed: int = 0) -> Release:
    return run.run(Task(table, example.require, suppression=0.1, seed=seed))


Shared = Callable[[Anonymizer, Example], Release]
SEED = 9


def _once(table: sf.Table) -> Shared:
    kept: dict[int, Release] = {}

    def of(run: Anonymizer, example: Example) -> Release:
        if id(run) not in kept:
            kept[id(run)] = release_of(run, example, table, SEED)
        return kept[id(run)]

    return of


@pytest.fixture(scope="module")
def shared(table: sf.Table) -> Shared:
    """The release that an anonymizer makes of the table, made once: tests only look at it."""
    return _once(table)


@pytest.fixture(scope="module")
def shared_with_wards() -> Shared:
    """The same of a table that keeps a column."""
    return _once(read(people(), keep=["ward"]))


def tables_of(release: Release) -> dict[str, list[dict[str, Any]]]:
    return {name: table.to_pylist() for name, table in release.tables().items()}


def content(tables: dict[str, list[dict[str, Any]]]) -> dict[str, Counter[str]]:
    """Which rows each table has, whatever their order."""
    return {name: Counter(map(repr, rows)) for name, rows in tables.items()}


# -- registration ---------------------------------------------------------------------------------


@each_name
def test_it_is_registered_by_its_name(name: str) -> None:
    assert ANONYMIZERS[name].name == name
    assert issubclass(ANONYMIZERS[name], Anonymizer)
    assert {type(run) for run in example_of(name).runs} == {ANONYMIZERS[name]}


def test_no_example_is_left_of_an_anonymizer_that_is_gone() -> None:
    assert EXAMPLES.keys() <= {name.replace("-", "_") for name in ANONYMIZERS}


@each
def test_it_is_frozen_and_equal_by_its_parameters(anonymizer: Anonymizer, example) -> None:
    for field in dataclasses.fields(anonymizer):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(anonymizer, field.name, 1)
    assert dataclasses.replace(anonymizer) == anonymizer


# -- safe -----------------------------------------------------------------------------------------


@each
def test_every_criterion_holds(anonymizer: Anonymizer, example: Example, shared: Shared) -> None:
    release = shared(anonymizer, example)
    report = sf.audit(release, example.require)
    assert report.holds
    assert len(report.findings) == len(example.require)
    assert len(release.groups) > 1


@each
def test_what_is_handed_out_is_what_was_judged(
    anonymizer: Anonymizer, example: Example, shared: Shared
) -> None:
    """Count the groups of the published tables; they are the release's own."""
    release = shared(anonymizer, example)
    tables = tables_of(release)
    found: dict[Any, Counter[str]] = {}
    if "data" in tables:
        for row in tables["data"]:
            key = tuple(row[name] for name in release.schema.quasi)
            found.setdefault(key, Counter())[row["disease"]] += 1
    else:
        sizes = Counter(row["group_id"] for row in tables["quasi"])
        for row in tables["sensitive"]:
            found.setdefault(row["group_id"], Counter())[row["disease"]] += row["count"]
        assert {group: one.total() for group, one in found.items()} == sizes
    own = [Counter(release.groups.counts_of(group)) for group in range(len(release.groups))]
    assert Counter(map(repr, map(sorted, map(Counter.items, found.values())))) == Counter(
        map(repr, map(sorted, map(Counter.items, own)))
    )


@each
def test_it_raises_rather_than_return_what_does_not_hold(
    anonymizer: Anonymizer, example: Example, table: sf.Table
) -> None:
    for criterion in (sf.KAnonymity(1000), sf.DistinctDiversity(9)):
        task = Task(table, (*example.require, criterion), suppression=0.1)
        with pytest.raises(sf.NoSafeRelease, match=criterion.name) as told:
            anonymizer.run(task)
        assert "\n" not in str(told.value)


# -- everybody is accounted for -------------------------------------------------------------------


@each
def test_its_placement_accounts_for_everybody(
    anonymizer: Anonymizer, example: Example, table: sf.Table, shared: Shared
) -> None:
    release = shared(anonymizer, example)
    assert isinstance(release.made, MadeHere)
    assert release.made.seed == SEED
    placement = release.placement
    assert isinstance(placement, Placement)
    assert placement.table is table
    summed = np.bincount(placement.tuples, weights=placement.n, minlength=len(table.counts))
    assert (summed == table.counts.n).all()
    assert release.people + release.suppressed == table.people
    kept = placement.groups >= 0
    sizes = np.bincount(
        placement.groups[kept], weights=placement.n[kept], minlength=len(release.groups)
    )
    assert (sizes == release.groups.sizes).all()


# -- what was done to each column -----------------------------------------------------------------


@each
def test_what_was_done_to_each_column_is_told(
    anonymizer: Anonymizer, example: Example, table: sf.Table, shared: Shared
) -> None:
    """Level, values left, cells changed and people before and after, as the tables show them."""
    release = shared(anonymizer, example)
    told = {one.column: one for one in column_treatments(release, table)}
    cells: dict[str, Counter[Any]] = {}
    for rows in tables_of(release).values():
        for row in rows:
            for name in told.keys() & row.keys():
                cells.setdefault(name, Counter())[row[name]] += row.get("count", 1)
    assert {name for name, one in told.items() if one.published} == cells.keys()
    assert (told["name"].done, told["secret"].done) == ("removed", "left at home")
    for name, shown in cells.items():
        one, own = told[name], Counter(row[COLUMNS.index(name)] for row in people())
        left = max(len(shown.keys() - {"*"}), 1)  # a blank is no value beside others
        assert (one.values_before, one.values_after) == (len(own), left)
        assert one.cells == shown.total() == release.people
        assert sum(share.before for share in one.shares) == pytest.approx(1, abs=1e-4)
        assert sum(share.after for share in one.shares) == pytest.approx(1, abs=1e-4)
        if not release.regions.centroids:
            texts = {str(value) for value in own}
            assert one.changed == sum(
                many for cell, many in shown.items() if str(cell) not in texts
            )
        labels = {"(missing)" if cell is None else str(cell): many for cell, many in shown.items()}
        if labels.keys() == {share.label for share in one.shares}:
            for share in one.shares:
                assert share.after == pytest.approx(labels[share.label] / one.cells, abs=1e-6)


@each_name
def test_without_the_table_only_what_is_published_is_told(
    name: str, shared: Shared, tmp_path: Path
) -> None:
    example = example_of(name)
    release = (
        noisy.release(noisy.read(noisy.people()), noisy.noise())
        if example.noisy
        else shared(example.runs[0], example)
    )
    schema = release.schema
    public = release.save(tmp_path / "out") / "public"
    seen = column_treatments(sf.read_release(public, schema))
    assert column_treatments(release) == seen
    assert all(one.values_before is None for one in seen)
    assert all(share.before is None for one in seen for share in one.shares)


@each_name
def test_every_cell_is_explained_by_a_codebook_that_tells_no_more_than_the_files(
    name: str, shared: Shared, tmp_path: Path
) -> None:
    """Whoever has public/ alone would write the same codebook."""
    example = example_of(name)
    release = (
        noisy.release(noisy.read(noisy.people()), noisy.noise())
        if example.noisy
        else shared(example.runs[0], example)
    )
    public = release.save(tmp_path / "out", format="csv") / "public"
    manifest = json.loads((public / "manifest.json").read_text())
    written = json.loads((public / "codebook.json").read_text())
    shutil.rmtree(public.parent / "private")
    read = json.loads(codebook_of(sf.read_release(public, release.schema), manifest).to_json())
    if not example.noisy:  # which tells of all cells that the schema declares, also of nobody's
        assert read == written
    assert [one["name"] for one in written["columns"]] == [c["name"] for c in manifest["columns"]]
    for file in manifest["files"]:
        with (public / file).open(newline="") as rows:
            for row in csv.DictReader(rows):
                for column in written["columns"]:
                    if column["name"] in row:
                        assert explained(row[column["name"]], column), (row, column)


def explained(cell: str, column: dict[str, Any]) -> bool:
    """Whether a codebook says what a cell means; what looks like a notation is no plain value."""
    kinds = {one["kind"]: one for one in column["notations"]}
    if cell in {label["text"] for label in column.get("labels", ())}:
        return True
    if cell == kinds.get("missing", {}).get("example", ""):
        return "missing" in kinds
    patterns = [one["pattern"] for one in kinds.values() if "pattern" in one]
    if any(re.search(pattern, cell) for pattern in patterns):
        return True
    return "value" in kinds and not re.search(r"[*{<>\[]", cell)


# -- how it was made ------------------------------------------------------------------------------


@each_name
def test_how_a_release_was_made_is_told_by_types_of_its_own(
    name: str, shared: Shared, tmp_path: Path
) -> None:
    """Not by which fields are missing: what was made is `MadeHere`, read back it is `ReadFrom`."""
    example = example_of(name)
    if example.noisy:
        release = noisy.release(noisy.read(noisy.people()), noisy.noise())
        assert isinstance(release.made, Randomised)
        assert release.made.guarantee is release.guarantee
        assert release.counted_from is release.placement is release.inside() is None
    else:
        release = shared(example.runs[0], example)
        assert isinstance(release.made, MadeHere)
        findings = release.made.findings
        assert findings.anonymizer == name
        assert type(findings).of(release.made) is findings
        assert type(findings).__module__ == ANONYMIZERS[name].__module__
        assert dataclasses.is_dataclass(findings)
        assert "Any" not in str(inspect.get_annotations(type(findings)))
        assert release.guarantee is None
    release.save(tmp_path / "out")
    back = sf.read_release(tmp_path / "out", release.schema)
    assert isinstance(back.made, ReadFrom)
    assert back.guarantee == release.guarantee
    assert back.file is not None
    assert back.placement is None
    with pytest.raises(sf.InputError, match="this one was read"):
        back.save(tmp_path / "again")


@each
def test_groups_put_together_or_left_out_keep_how_they_were_made(
    anonymizer: Anonymizer, example: Example, shared: Shared
) -> None:
    release = shared(anonymizer, example)
    made, total = release.made, len(release.groups)
    assert isinstance(made, MadeHere)
    number, kept = np.arange(total) // 2, np.arange(1, total, 2)
    for other, groups in (
        (
            made.merge(number, int(number[-1]) + 1),
            release.groups.merge(number, int(number[-1]) + 1),
        ),
        (made.take(kept, total), release.groups.take(kept)),
    ):
        assert isinstance(other, MadeHere)
        assert (other.findings, other.seed, other.altered) == (made.findings, made.seed, True)
        inside = other.inside(len(groups))
        assert inside is not None
        assert np.add.reduceat(inside.n, inside.indptr[:-1]).tolist() == groups.sizes.tolist()
        with pytest.raises(sf.InputError, match="put together or left out"):
            dataclasses.replace(release, made=other).tables()


# -- what is never published ----------------------------------------------------------------------


@each
def test_identifiers_and_columns_without_a_role_are_never_published(
    anonymizer: Anonymizer, example: Example, shared_with_wards: Shared
) -> None:
    release = shared_with_wards(anonymizer, example)
    for name, published in release.tables().items():
        expected = {
            "data": {"age", "city", "sex", "disease", "ward"},
            "quasi": {"group_id", "age", "city", "sex", "ward"},
            "sensitive": {"group_id", "disease", "count"},
        }[name]
        assert set(published.column_names) == expected
        assert not published.schema.metadata
        for row in published.to_pylist():
            assert not any("name-" in str(v) or "secret-" in str(v) for v in row.values())


@each
def test_kept_columns_stay_with_their_people(
    anonymizer: Anonymizer, example: Example, shared_with_wards: Shared
) -> None:
    release = shared_with_wards(anonymizer, example)
    tables = tables_of(release)
    wards = Counter(row[5] for row in people())
    rows = tables.get("data", tables.get("quasi", []))
    assert not Counter(row["ward"] for row in rows) - wards
    assert len(rows) == release.people
    for row in rows:
        age, city, sex, disease = row["ward"].split("/")
        if "data" in tables:
            assert row["disease"] == disease
        else:
            assert (str(row["age"]), row["city"], row["sex"]) == (age, city, sex)


# -- chance ---------------------------------------------------------------------------------------


@each
def test_same_seed_same_tables(
    anonymizer: Anonymizer, example: Example, table: sf.Table, shared: Shared
) -> None:
    again = release_of(anonymizer, example, table, SEED)
    assert tables_of(again) == tables_of(shared(anonymizer, example))


@each
def test_the_order_of_the_input_shows_nowhere(
    anonymizer: Anonymizer, example: Example, shared: Shared
) -> None:
    """Not in the groups and not in the order of rows, which depends on the seed alone."""
    rows = people()
    first = tables_of(shared(anonymizer, example))
    for seed in range(3):
        Random(seed).shuffle(rows)
        assert tables_of(release_of(anonymizer, example, read(rows), SEED)) == first


@each
def test_another_seed_another_order(
    anonymizer: Anonymizer, example: Example, table: sf.Table, shared: Shared
) -> None:
    first = tables_of(shared(anonymizer, example))
    other = tables_of(release_of(anonymizer, example, table, seed=2))
    assert first != other
    if example.steady:
        assert content(first) == content(other)


@pytest.mark.parametrize("anonymizer", [Lattice(), Mondrian(), Mondrian(strict=False)])
def test_who_guesses_the_seed_cannot_put_rows_in_the_order_of_exact_values(
    anonymizer: Anonymizer,
) -> None:
    """Everybody is in one group; undoing the shuffle must not sort the diseases by age."""
    ages, diseases = list(range(20, 60)), [f"v{number}" for number in range(40)]
    Random(7).shuffle(diseases)
    rows = pa.table({"age": ages, "disease": diseases})
    table = sf.read(rows, sf.Schema(quasi=["age"], sensitive="disease"))
    release = anonymize(table, sf.Policy([sf.KAnonymity(40)], anonymizer), seed=0)
    shown = release.to_arrow().column("disease").to_pylist()
    undone: list[str] = [""] * 40
    for place, disease in zip(np.random.default_rng(0).permutation(40), shown, strict=True):
        undone[place] = disease
    assert undone != diseases
