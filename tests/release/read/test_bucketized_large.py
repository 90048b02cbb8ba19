"""Bucketized pairs larger than memory: one bucket of each kind is read, and judged as in memory."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.anonymizers import Anatomy
from sfumato.counts import stored
from sfumato.errors import ResourceError, SfumatoError
from sfumato.release.description import Buckets, StoredBuckets
from sfumato.release.read import bucketized, bucketized_large
from sfumato.release.release import Release
from sfumato.schema import domain
from tests.anonymizers.anatomy_tables import table_of
from tests.table.beyond_memory import beyond

Pair = tuple[Any, Any]
KINDS = ("values", "two columns", "counted", "lists", "bags", "multisets")


def schema_of(kind: str, **besides: Any) -> sf.Schema:
    roles: dict[str, Any] = {"quasi": ["age", "zip"], "sensitive": "ill"}
    match kind:
        case "two columns":
            roles["sensitive"] = ["ill", "pay"]
        case "counted":
            roles["count"] = "n"
        case "lists" | "bags":
            roles["lists"] = {"ill": ";"}
        case "multisets":
            roles["several"] = "multiset"
    return sf.Schema(**roles, **besides)


def pair_of(kind: str, seed: int) -> tuple[pa.Table, pa.Table]:
    """Buckets of up to four people, whose ids are texts or numbers."""
    chance = Random(seed)
    many = chance.choice([3, 9, 30])
    ids: list[Any] = chance.sample(range(1, 200), many)
    if seed % 2:
        ids = [f"{chance.choice('ab')}{number}" for number in ids]
    listed: list[tuple[Any, ...]] = []
    values: list[tuple[Any, ...]] = []
    for bucket in ids:
        people = chance.randint(1, 4)
        of_bucket = []
        for _ in range(people):
            listed.append(
                (bucket, chance.choice([20, 30, 40, 50]), chance.choice(["x", "y", None]))
            )
            value = chance.choice(["flu", "cold", "gout", None])
            if kind == "lists":
                several = {chance.choice("abc") for _ in range(chance.randint(1, 3))}
                value = ";".join(sorted(several))
            of_bucket.append((bucket, value, chance.choice([1, 2])))
        if kind in ("bags", "multisets"):
            most = people if kind == "bags" else 2 * people
            of_bucket = [
                (bucket, value, 1)
                for value in ("flu", "cold", "gout")
                for _ in range(chance.randint(0, most))
            ]
        values += of_bucket
    if not values:
        values.append((ids[0], "flu", 1))
    chance.shuffle(listed)
    chance.shuffle(values)
    first = pa.table(dict(zip(("gid", "age", "zip"), zip(*listed, strict=True), strict=True)))
    second = pa.table(dict(zip(("gid", "ill", "pay"), zip(*values, strict=True), strict=True)))
    if kind == "counted":  # by value, and a row of nobody
        second = second.group_by(["gid", "ill"]).aggregate([([], "count_all")])
        second = second.rename_columns(["gid", "ill", "n"])
        nobody = pa.table({"gid": [ids[0]], "ill": ["none"], "n": [0]})
        second = pa.concat_tables([second, nobody.cast(second.schema)])
    elif kind != "two columns":
        second = second.drop_columns(["pay"])
    return first, second


def read(pair: Pair, schema: sf.Schema | None, **options: Any) -> Release:
    return sf.read_release(pair, schema, group="gid", **options)


@pytest.fixture
def nothing_fits(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As if every tuple took a gigabyte."""
    monkeypatch.setattr(stored, "COPIES", 10**9)
    return monkeypatch


def by_engine(pair: Pair, schema: sf.Schema | None, **options: Any) -> Release:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "COPIES", 10**9)
        release = read(pair, schema, **options)
    assert isinstance(release.regions, StoredBuckets)
    return release


CRITERIA: list[Any] = [
    sf.KAnonymity(2),
    sf.AlphaK(0.5, 2),
    sf.DistinctDiversity(2),
    sf.EntropyDiversity(2),
    sf.RecursiveDiversity(2, 2),
    sf.TCloseness(0.3),
    sf.BetaLikeness(1),
    sf.DeltaDisclosure(1),
    sf.EpsilonPrivacy(2.5, sf.RealisticAdversary(stubbornness=100)),
    sf.SkylinePrivacy([(0, 1, 0, 0.6), (1, 0, 1, 0.8)]),
    sf.DistributionLeakage(0.5),
    sf.EntropyLeakage(0.5),
]


def judged(release: Release, **options: Any) -> dict[str, Any]:
    """An audit's JSON, without what lists groups one by one, and what says how it was read."""
    told = json.loads(sf.audit(release, CRITERIA, **options).to_json())
    for verdict in told["verdicts"]:
        verdict["worst"] = verdict["worst"][:1]
    return {name: part for name, part in told.items() if name not in ("sections", "notes")}


def same(small: Release, large: Release, schema: sf.Schema) -> None:
    assert isinstance(small.regions, Buckets)
    many = large.groups.multiplicity
    assert many is not None
    assert large.people == small.people
    assert large.groups.number() == len(small.groups)
    assert large.schema == small.schema
    assert large.stray == small.stray
    assert large.label == small.label
    for name, groups in small.by_attribute.items():
        ours = large.groups_for(name)
        assert (ours.case, ours.linked) == (groups.case, groups.linked)
        assert ours.domain == groups.domain
        assert ours.reference.tolist() == groups.reference.tolist()
    ours, theirs = judged(large), judged(small)
    assert ours == theirs
    assert [note for note in large.notes if "than memory" not in note] == list(small.notes)
    # The example of a kind is the first bucket of those that hold the same.
    ids = {small.regions.describe(g)["gid"]: g for g in range(len(small.groups))}
    for kind in range(len(large.groups)):
        at = ids[large.regions.describe(kind)["gid"]]
        for name in small.by_attribute:
            assert large.groups_for(name).counts_of(kind) == small.groups_for(name).counts_of(at)
        assert large.groups.sizes[kind] == small.groups.sizes[at]
    assert linked(large, schema) == linked(small, schema)
    value = small.groups.values[0]
    for facts in ((0, 0, 0), (1, 1, 1)):
        ours, theirs = (sf.breach_probability(one, value, *facts) for one in (large, small))
        assert ours == theirs


def linked(release: Release, schema: sf.Schema) -> Any:
    """What a register of the population tells of it."""
    people = {"age": [20, 20, 30, 60], "zip": ["x", None, "y", "x"]}
    register = sf.read(pa.table(people), sf.Schema(quasi=list(schema.quasi)))
    report = sf.audit(release, [sf.KMap(2, register)], population=register)
    verdict = report.findings[-1].verdict
    assert report.linkage is not None
    return verdict.status, verdict.measured, report.linkage.prosecutor, report.linkage.journalist


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_it_is_judged_as_in_memory(kind: str, seed: int) -> None:
    pair, schema = pair_of(kind, seed), schema_of(kind)
    same(read(pair, schema), by_engine(pair, schema), schema)


@pytest.mark.parametrize("seed", range(3))
def test_ids_may_be_written_otherwise_in_the_second_file(seed: int, tmp_path: Path) -> None:
    listed, values = pair_of("values", 2 * seed)
    texts = values.set_column(0, "gid", values.column("gid").cast(pa.string()))
    pa_csv.write_csv(listed, tmp_path / "q.csv")
    pq.write_table(texts, tmp_path / "s.parquet")
    pair, schema = (tmp_path / "q.csv", tmp_path / "s.parquet"), schema_of("values")
    same(read(pair, schema), by_engine(pair, schema), schema)
    typed = by_engine((listed, values), schema)
    assert judged(typed)["verdicts"] == judged(by_engine(pair, schema))["verdicts"]


def test_many_ids_stand_in_their_plain_order(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (domain, bucketized_large):
        monkeypatch.setattr(module, "MOST_CATEGORIES", 3)
    for seed in range(4):
        pair, schema = pair_of("values", seed), schema_of("values")
        same(read(pair, schema), by_engine(pair, schema), schema)


LISTED = pa.table({"gid": [1, 1, 1, 2, 2], "age": [20, 30, 40, 50, 60]})
VALUES = pa.table({"gid": [1, 1, 1, 2, 2], "ill": ["flu", "cold", "flu", "HIV", "gout"]})
AGES = sf.Schema(["age"], "ill")
LISTS = sf.Schema(["age"], "ill", lists={"ill": ";"})
BAG = pa.table({"gid": [1, 1, 1, 2], "ill": ["flu", "flu", "cold", "HIV"]})
TEN = pa.table({"gid": list(range(10)), "age": list(range(10))})


@pytest.mark.parametrize(
    ("listed", "values", "schema", "said"),
    [
        (LISTED, VALUES.slice(1), AGES, "differ in size, first gid = '1': 3 people .* 2 in"),
        (LISTED, VALUES.slice(0, 3), AGES, r"1 group\(s\) are in .* but not in .*: '2'; both"),
        (LISTED.slice(3), VALUES, AGES, r"1 group\(s\) are in .* but not in .*: '1'; both"),
        (TEN, VALUES.slice(0, 1), AGES, r"9 group\(s\) .*'0', '2', '3', '4', '5' and 4 more; both"),
        (pa.table({"gid": [1, None], "age": [1, 2]}), VALUES, AGES, "rows without a group id"),
        (LISTED, pa.table({"gid": [1, None], "ill": ["a", "b"]}), AGES, "rows without a group id"),
        (LISTED.slice(0, 0), VALUES, AGES, "holds 0 rows"),
        (LISTED, VALUES.slice(0, 0), AGES, "holds 0 rows"),
        (LISTED, pa.concat_tables([BAG] * 3), LISTS, "say several = 'multiset'"),
        (
            LISTED,
            pa.table({"gid": [1, 2], "ill": ["flu;cold", ""]}),
            LISTS,
            "give every person a row",
        ),
        (
            LISTED,
            pa.table({"gid": [1, 2], "ill": ["a", "b"], "pay": ["1", "2"]}),
            sf.Schema(["age"], ["ill", "pay"], lists={"ill": ";", "pay": ";"}),
            "a group's bag of values is read of one",
        ),
        (
            pa.table({"gid": [1, 1], "age": [1, 2], "n": [1, -1]}),
            VALUES,
            sf.Schema(["age"], "ill", count="n"),
            "n",
        ),
        (LISTED, VALUES, sf.Schema(["agee"], "ill"), "'agee'"),
        (LISTED, VALUES, sf.Schema(["age"], "ill", domains={"ill": ["flu"]}), "not covered"),
        (
            LISTED,
            pa.table({"gid": [1, 1, 1, 2, 2], "ill": ["flu", "flu ", "cold", "HIV", "gout"]}),
            AGES,
            "look like another one",
        ),
    ],
)
def test_a_pair_that_does_not_fit_is_refused_in_the_same_words(
    listed: pa.Table, values: pa.Table, schema: sf.Schema, said: str
) -> None:
    told = []
    for reader in (read, by_engine):
        with pytest.raises(SfumatoError, match=said) as caught:
            reader((listed, values), schema)
        assert "\n" not in str(caught.value)
        told.append((type(caught.value), str(caught.value)))
    assert told[0] == told[1]


@pytest.mark.parametrize("declared", [{"several": "multiset"}, {"lists": {"ill": ";"}}, {}])
@pytest.mark.parametrize("having", [0, 2])
def test_a_bucket_of_no_people_is_refused_also_where_buckets_publish_bags(
    declared: dict[str, Any], having: int
) -> None:
    schema = sf.Schema(["age"], "ill", count="n", **declared)
    listed = LISTED.append_column("n", pa.array([1, 1, 1, 0, 0]))
    values = VALUES.append_column("n", pa.array([1, 1, 0, having, 0]))
    told = []
    for reader in (read, by_engine):
        with pytest.raises(sf.InputError) as caught:
            reader((listed, values), schema)
        told.append(str(caught.value))
    assert told[0].startswith("1 group(s) are in the table but not in the table: '2'; both files")
    assert told[0] == told[1]


def test_ids_that_are_neither_texts_nor_whole_numbers() -> None:
    floats = LISTED.set_column(0, "gid", LISTED.column("gid").cast(pa.float64()))
    with pytest.raises(ResourceError, match="'gid' are of type double; write them as texts or"):
        by_engine((floats, VALUES), AGES)


def test_weights_are_not_read() -> None:
    weighted = LISTED.append_column("w", pa.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    large = by_engine((weighted, VALUES), sf.Schema(["age"], "ill", weight="w"))
    assert large.population is None
    assert any("survey weights are not read" in note for note in large.notes)


ROWS = [(n % 7, "ab"[n % 2], f"v{n % 5}") for n in range(60)]
POLICY = sf.Policy([sf.DistinctDiversity(3)], Anatomy(3))


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("made_large", [False, True])
def test_a_folder_of_ours(tmp_path: Path, form: str, made_large: bool) -> None:
    table = table_of(ROWS)
    made = sf.anonymize(beyond(table, 20) if made_large else table, POLICY, seed=1)
    out = made.save(tmp_path / "out", policy=POLICY, format=form)
    small, large = sf.read_release(out), by_engine(out, None)
    assert judged(large) == judged(small)
    assert large.label == small.label == "out"
    found = [
        [(verdict["status"], verdict["measured"]) for verdict in judged(release)["verdicts"]]
        for release in (large, made)
    ]
    assert found[0] == found[1]


def test_what_needs_everybodys_tuple_says_so_in_a_line(tmp_path: Path) -> None:
    pair, schema = pair_of("values", 1), schema_of("values")
    large, small = by_engine(pair, schema), read(pair, schema)
    people = pair[0].append_column("ill", pa.array(["flu"] * pair[0].num_rows))
    table = sf.read(people, schema)
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(small, "before")
    asked: list[Any] = [
        lambda: sf.relative_threat(large, table),
        lambda: sf.intersection_attack([large, small], table),
        lambda: sf.characterize(large),
        lambda: ledger.add(large, "again"),
        lambda: ledger.check(large, table),
    ]
    for ask in asked:
        with pytest.raises(ResourceError, match="larger than memory; raise the memory limit") as e:
            ask()
        assert "\n" not in str(e.value)
    finding = ledger.check(large).findings[0]
    assert "larger than memory; raise the memory limit" in finding.reason
    report = sf.audit(large, [sf.CompositionBound(0.1, 1, earlier=[small])])
    assert report.findings[-1].verdict.status == "cannot_judge"


def test_few_tuples_of_many_rows_come_to_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """And where more come than was thought, the engine reads them."""
    listed = pa.concat_tables([LISTED] * 400)
    values = pa.concat_tables([VALUES] * 400)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "COPIES", 2000)  # two thousand rows do not fit, but five do
        assert isinstance(read((listed, values), AGES, memory="60MB").regions, Buckets)
    monkeypatch.setattr(bucketized, "may_fit", lambda *_: True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "COPIES", 10**9)
        large = read((listed, values), AGES)
    assert isinstance(large.regions, StoredBuckets)
    same(read((listed, values), AGES), large, AGES)


def test_a_limit_is_kept(tmp_path: Path) -> None:
    """Four hundred thousand people do not fit in 60 MB, and are judged all the same."""
    chance = np.random.default_rng(1)
    total = 300_000
    bucket = np.arange(total) // 3
    listed = pa.table({"gid": bucket, "a": chance.integers(0, 999, total)})
    listed = listed.append_column("b", pa.array(chance.integers(0, 99, total)))
    values = pa.table({"gid": bucket, "ill": chance.integers(0, 9, total)})
    pq.write_table(listed, tmp_path / "q.parquet")
    pq.write_table(values, tmp_path / "s.parquet")
    pair, schema = (tmp_path / "q.parquet", tmp_path / "s.parquet"), sf.Schema(["a", "b"], "ill")
    small, large = read(pair, schema), read(pair, schema, memory="60MB")
    assert isinstance(small.regions, Buckets)
    assert isinstance(large.regions, StoredBuckets)
    asked = [sf.DistinctDiversity(2), sf.SkylinePrivacy([(0, 1, 0, 0.6)]), sf.KAnonymity(2)]
    ours, theirs = (sf.audit(release, asked) for release in (large, small))
    for one, other in zip(ours.findings, theirs.findings, strict=True):
        assert (one.verdict.status, one.verdict.measured) == (
            other.verdict.status,
            other.verdict.measured,
        )


@pytest.mark.parametrize("kind", ["values", "bags"])
def test_spark_reads_the_same(kind: str, spark: Any, tmp_path: Path) -> None:
    listed, values = pair_of(kind, 2)
    pq.write_table(listed, tmp_path / "q.parquet")
    pq.write_table(values, tmp_path / "s.parquet")
    pair, schema = (tmp_path / "q.parquet", tmp_path / "s.parquet"), schema_of(kind)
    same(read(pair, schema), by_engine(pair, schema, engine="spark"), schema)
