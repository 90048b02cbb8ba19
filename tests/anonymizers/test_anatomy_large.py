"""Anatomy on tables larger than memory: dealt by the engine, promised and judged as in memory."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers import anatomy_large
from sfumato.anonymizers.anatomy import Anatomy
from sfumato.anonymizers.anatomy_large import bucket_kinds
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.kernel import sizes_of
from sfumato.errors import NoSafeRelease, PolicyError, ResourceError, SchemaError
from sfumato.release.made import DealtByEngine
from sfumato.release.release import Release
from sfumato.utility import utility_named
from sfumato.utility.view import view_of
from tests.anonymizers.anatomy_tables import bucketize, eligible, table_of
from tests.examples import few
from tests.table.beyond_memory import beyond

Bucket = tuple[tuple[tuple[Any, ...], ...], tuple[str, ...]]


def people_of(classes: list[int], seed: int = 0) -> list[tuple[int, str, str]]:
    """People of a few quasi-identifiers, `classes[v]` of them with value v."""
    chance = np.random.default_rng(seed)
    return [
        (int(chance.integers(3)), "ab"[chance.integers(2)], f"v{value}")
        for value, many in enumerate(classes)
        for _ in range(many)
    ]


def dealt(table: sf.Table, l: int, *require: Any, seed: int = 0, most: int = 20) -> Release:  # noqa: E741
    return Anatomy(l).run(Task(beyond(table, most), require, seed=seed))


def published(release: Release) -> dict[int, Bucket]:
    """The buckets by their ids: what they list, and the values apart from it."""
    tables = release.tables()
    listed: dict[int, list[Any]] = defaultdict(list)
    values: dict[int, list[str]] = defaultdict(list)
    for row in tables["quasi"].to_pylist():
        listed[row.pop("group_id")].append(tuple(row.values()))
    for row in tables["sensitive"].to_pylist():
        bucket, value, count = row.values()
        assert count == 1
        values[bucket].append(value)
    assert listed.keys() == values.keys()
    return {g: (tuple(sorted(listed[g])), tuple(sorted(values[g]))) for g in listed}


@settings(max_examples=few(40))
@given(classes_and_l=eligible(9), seed=st.integers(0, 2**63 - 1))
def test_everybody_is_in_one_bucket_of_distinct_values(
    classes_and_l: tuple[list[int], int],
    seed: int,
) -> None:
    classes, l = classes_and_l  # noqa: E741
    rows = people_of(classes)
    release = dealt(table_of(rows), l, seed=seed)
    buckets = published(release)
    assert sorted(buckets) == list(range(1, len(rows) // l + 1))
    assert all(len(set(values)) == len(values) for _, values in buckets.values())
    sizes = [len(listed) for listed, _ in buckets.values()]
    assert sorted(sizes) == sorted(sizes_of(len(rows), l).tolist())
    assert sizes == [len(values) for _, values in buckets.values()]
    everybody = Counter(row[:2] for row in rows)
    assert Counter(one for listed, _ in buckets.values() for one in listed) == everybody
    having = Counter(value for _, values in buckets.values() for value in values)
    assert having == Counter(value for *_, value in rows)
    # The kinds that are judged are those of the buckets that are handed out.
    told: Counter[tuple[str, ...]] = Counter()
    multiplicity = release.groups.multiplicity
    assert multiplicity is not None
    for kind, many in enumerate(multiplicity.tolist()):
        told[tuple(sorted(release.groups.counts_of(kind)))] += many
        example = buckets[int(release.regions.describe(kind)["group_id"])]
        assert example[1] == tuple(sorted(release.groups.counts_of(kind)))
    assert told == Counter(values for _, values in buckets.values())


@settings(max_examples=few(200))
@given(classes_and_l=eligible(40), seed=st.integers(0, 1000))
def test_kinds_of_buckets_are_few_and_count_all(
    classes_and_l: tuple[list[int], int], seed: int
) -> None:
    classes, l = np.array(classes_and_l[0]), classes_and_l[1]  # noqa: E741
    line = np.random.default_rng(seed).permutation(len(classes))
    buckets = int(classes.sum()) // l
    kinds = bucket_kinds(line, classes, buckets)
    assert len(kinds.first) <= len(classes) + 2
    standing = np.repeat(line, classes[line])
    for kind, (first, many) in enumerate(
        zip(kinds.first.tolist(), kinds.multiplicity.tolist(), strict=True)
    ):
        values = kinds.values[kinds.offsets[kind] : kinds.offsets[kind + 1]].tolist()
        for bucket in range(first, first + many):
            assert standing[bucket::buckets].tolist() == values
    assert int(kinds.multiplicity.sum()) == buckets


def test_same_seed_same_release_and_another_seed_another() -> None:
    table = table_of(people_of([9, 8, 7, 6]))
    once, again = (published(dealt(table, 3, seed=5, most=most)) for most in (20, 100))
    assert once == again
    assert once != published(dealt(table, 3, seed=6))


def test_every_partner_is_equally_likely() -> None:
    """Also for people with equal values, who are dealt one by one."""
    firsts = [*[(1, "a", "x")] * 20, *[(2, "a", "x")] * 10]
    rows = [*firsts, *((n, "b", "y") for n in (3, 4, 5) for _ in range(10))]
    table = table_of(rows)
    met: Counter[tuple[int, int]] = Counter()
    runs = 30
    for seed in range(runs):
        for listed, _ in published(dealt(table, 2, seed=seed)).values():
            met[listed[0][0], listed[1][0]] += 1
    assert set(met) == {(a, b) for a in (1, 2) for b in (3, 4, 5)}
    for (first, _), many in met.items():
        share = (2 / 3 if first == 1 else 1 / 3) / 3
        pairs = runs * len(firsts)
        assert abs(many / pairs - share) < 5 * (share * (1 - share) / pairs) ** 0.5


def test_ids_say_nothing_of_which_values_a_bucket_has() -> None:
    """Buckets of every kind stand, on average, in the middle of the ids."""
    table = table_of([(n, "a", "xxyyzw"[n % 6]) for n in range(60)])
    places: dict[Any, list[float]] = defaultdict(list)
    runs = 30
    for seed in range(runs):
        buckets = published(dealt(table, 2, seed=seed))
        assert sorted(buckets) == list(range(1, len(buckets) + 1))
        for number, (_, values) in buckets.items():
            places[values].append((number - 0.5) / len(buckets))
    assert len(places) >= 3
    for numbers in places.values():
        assert abs(np.mean(numbers) - 0.5) < 5 * (1 / 12 / len(numbers)) ** 0.5


REQUIRE: list[Any] = [
    sf.DistinctDiversity(3),
    sf.EntropyDiversity(3),
    sf.SkylinePrivacy([(0, 1, 0, 0.6)]),
]


def test_it_is_judged_as_in_memory() -> None:
    table = table_of(people_of([9, 9, 9, 9]))
    small, large = bucketize(table, 3, *REQUIRE), dealt(table, 3, *REQUIRE)
    assert isinstance(large.placement, DealtByEngine)
    ours, theirs = sf.audit(large, REQUIRE), sf.audit(small, REQUIRE)
    for one, other in zip(ours.findings, theirs.findings, strict=True):
        assert (one.verdict.status, one.verdict.measured) == (
            other.verdict.status,
            other.verdict.measured,
        )
    assert ours.linkage is not None
    assert theirs.linkage is not None
    assert (ours.linkage.people, ours.linkage.groups, ours.linkage.prosecutor) == (
        theirs.linkage.people,
        theirs.linkage.groups,
        theirs.linkage.prosecutor,
    )
    assert (large.people, large.groups.number()) == (small.people, len(small.groups))
    for name in ("loss", "discernibility", "average-group-size"):
        measure = utility_named(name)
        assert measure.cost(view_of(large)) == measure.cost(view_of(small))
    for name in ("query-error", "divergence"):
        assert np.isnan(utility_named(name).cost(view_of(large)))
    assert "36 people in 12 buckets" in str(ours)


def test_k_is_that_of_exact_quasi_identifiers() -> None:
    table = table_of(people_of([9, 9, 9, 9]))
    few_people = min(Counter((a, b) for a, b, _ in people_of([9, 9, 9, 9])).values())
    for k in (few_people, few_people + 1):
        verdicts = [
            sf.audit(release, [sf.KAnonymity(k)]).findings[0].verdict
            for release in (bucketize(table, 3), dealt(table, 3))
        ]
        assert (
            verdicts[0].status == verdicts[1].status == ("violated" if k > few_people else "holds")
        )
        assert verdicts[0].measured == verdicts[1].measured == few_people
    for run in (bucketize, dealt):
        with pytest.raises(
            NoSafeRelease, match="publishes exact quasi-identifiers, so k is theirs"
        ):
            run(table, 3, sf.KAnonymity(few_people + 1))


def files(folder: Path, form: str) -> Iterator[pa.Table]:
    for name in ("quasi", "sensitive"):
        path = folder / "public" / f"{name}.{form}"
        yield pa_csv.read_csv(path) if form == "csv" else pq.read_table(path)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_it_is_written_by_the_engine_and_read_back(tmp_path: Path, form: str) -> None:
    table = table_of(people_of([9, 8, 7, 6]))
    policy = sf.Policy([sf.DistinctDiversity(3)], Anatomy(3))
    large = sf.anonymize(beyond(table, 20), policy, seed=1)
    report = sf.audit(large, policy)
    assert report.holds
    out = large.save(tmp_path / "large", report=report, policy=policy, format=form)
    small = sf.anonymize(table, policy, seed=1)
    small.save(tmp_path / "small", policy=policy, format=form)
    for one, other in zip(files(out, form), files(tmp_path / "small", form), strict=True):
        assert one.schema == other.schema
        assert one.num_rows == other.num_rows
        assert one == one.sort_by([(name, "ascending") for name in one.column_names])
    back = sf.read_release(out)
    assert sf.audit(back, policy).holds
    assert back.people == 30
    buckets = back.regions.buckets
    assert buckets is not None
    assert len(buckets) == 10
    # No file of the owner's keeps more of the buckets than those of memory do.
    assert [p.name for p in sorted((out / "private").iterdir()) if "report" not in p.name] == [
        p.name for p in sorted((tmp_path / "small" / "private").iterdir())
    ]


def test_spark_deals_the_same(spark) -> None:
    from sfumato.engines.spark import Spark

    table = table_of(people_of([5, 4, 4, 3]))
    there = Anatomy(3).run(Task(beyond(table, 4, Spark(session=spark)), (), seed=3))
    assert published(there) == published(dealt(table, 3, seed=3))


def test_what_takes_memory_is_refused_in_a_line() -> None:
    table = table_of(people_of([9, 9, 9, 9]))
    release = dealt(table, 3)
    with pytest.raises(ResourceError, match="larger than memory; raise the memory limit"):
        sf.relative_threat(release)
    with pytest.raises(ResourceError, match="larger than memory; raise the memory limit"):
        sf.characterize(release)
    assert release.placement is not None
    with pytest.raises(ResourceError, match="the values of all buckets in memory"):
        release.placement.published_values("this")
    with pytest.raises(NoSafeRelease, match=re.escape("the largest l possible is 4")):
        dealt(table, 5)
    kept = replace(table, schema=replace(table.schema, keep=["note"]))
    with pytest.raises(PolicyError, match="whose kept values are whose; drop keep"):
        dealt(kept, 3)
    lists = sf.read(
        pa.table({"age": [1, 2], "ill": pa.array([["a"], ["b", "c"]])}),
        sf.Schema(quasi=["age"], sensitive="ill"),
    )
    with pytest.raises(ResourceError, match="anatomy needs all 2 distinct tuples"):
        dealt(lists, 2)
    protected = table_of(people_of([9, 9, 9, 9]))
    labels = protected.counts.sensitive[0].domain
    counts = replace(protected.counts, protect=(labels, protected.counts.values[0]))  # type: ignore[type-var]
    with pytest.raises(ResourceError, match="what people want protected"):
        dealt(replace(protected, counts=counts), 3)


@pytest.mark.parametrize("run", [bucketize, dealt])
@pytest.mark.parametrize("name", ["group_id", "count"])
@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep", "weight"])
def test_no_column_has_the_name_of_one_that_is_published_besides(
    run: Any, name: str, role: str
) -> None:
    """Either would be lost: values under the counts, or the ids under values."""
    columns = {"quasi": "age", "sensitive": "ill", role: name}
    rows = {named: [1, 2, 3, 4] for named in columns.values()}
    rows[columns["sensitive"]] = ["a", "b", "a", "b"]
    roles: dict[str, Any] = {"quasi": [columns["quasi"]], "sensitive": columns["sensitive"]}
    if role == "keep":
        roles["keep"] = [name]
    elif role == "weight":
        roles |= {"weight": name, "publish_weight": "group"}
    table = sf.read(pa.table(rows), sf.Schema(**roles))
    with pytest.raises(SchemaError, match=f"column '{name}' has the name of the column with the"):
        run(table, 2)


def test_a_column_of_many_values_is_dealt_the_same_by_fewer_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = table_of(people_of([40, 38, 30, 12, 1]))
    by_parts = published(dealt(table, 3, seed=5))
    for most, letters in ((1 << 20, 2), (16 * 5, 1), (5, 0), (1, 0)):
        monkeypatch.setattr(anatomy_large, "_MOST_PARTS", most)
        assert anatomy_large._letters(5) == letters
        assert published(dealt(table, 3, seed=5)) == by_parts
