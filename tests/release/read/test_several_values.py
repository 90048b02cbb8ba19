"""Several values a person, published: exact on the way back, and nothing told by their order."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers import Lattice, Microaggregation, Mondrian
from sfumato.anonymizers.base import Anonymizer
from sfumato.policy.model import Policy
from sfumato.release.beside import Beside
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from tests.examples import few
from tests.oracles.several_oracle import Person, expected_groups, groups_by, held, people
from tests.release.contents import content

SEVERAL = ("set", "multiset")
MAKERS: dict[str, tuple[Anonymizer, float]] = {
    "lattice": (Lattice(), 0.4),
    "mondrian": (Mondrian(), 0.0),
    "microaggregation": (Microaggregation(2), 0.0),
}
QUICK = settings(max_examples=few(25), suppress_health_check=[HealthCheck.function_scoped_fixture])


def made(rows: list[Person], maker: str, several: str, seed: int = 5, **more) -> Release:
    """An anonymized table of these people; their quasi-identifier is a number as well."""
    anonymizer, suppression = MAKERS[maker]
    table = pa.table(
        {
            "q": [10 * ord(quasi) + place % 2 for place, (quasi, _) in enumerate(rows)],
            "s": pa.array([listed for _, listed in rows], pa.list_(pa.string())),
        }
    )
    schema = sf.Schema(
        ["q"], "s", several=several, hierarchies={"q": sf.intervals([10, 1000])}, **more
    )  # type: ignore[arg-type]
    policy = Policy([sf.KAnonymity(2)], anonymizer, suppression=suppression)
    return sf.anonymize(sf.read(table, schema), policy, seed=seed)


def same(one: Release, other: Release) -> bool:
    return content(one) == content(other) and one.groups.case == other.groups.case


@QUICK
@given(
    rows=people().filter(lambda rows: len(rows) > 1),
    maker=st.sampled_from(sorted(MAKERS)),
    several=st.sampled_from(SEVERAL),
    form=st.sampled_from(["csv", "parquet"]),
    declared=st.sampled_from([{}, {"s": ";"}, {"s": "json"}]),
)
def test_a_folder_reads_back(tmp_path_factory, rows, maker, several, form, declared) -> None:
    release = made(rows, maker, several, lists=declared)
    out = release.save(tmp_path_factory.mktemp("r") / "out", format=form)
    assert same(sf.read_release(out), release)
    assert same(sf.read_release(out, release.schema), release)
    # The file alone, read by the schema of the table, where that says how texts list values.
    if form == "parquet" or declared:
        alone = sf.read_release(out / "public" / f"data.{form}", release.schema)
        assert same(alone, release)
        assert alone.groups.case == several


@QUICK
@given(rows=people(most=12), several=st.sampled_from(SEVERAL))
def test_the_counts_are_those_of_the_people(rows, several) -> None:
    if len(rows) < 2:
        return
    release = made(rows, "mondrian", several)
    everybody = [("all", listed) for _, listed in rows]
    size, counts = expected_groups(everybody, several)["all"]
    assert int(release.groups.sizes.sum()) == size
    summed = zip(release.groups.values, release.groups.dense().sum(axis=0).tolist(), strict=True)
    assert {value: n for value, n in summed if n} == counts
    published = sorted(held(row["s"], several) for row in release.to_arrow().to_pylist())
    assert published == sorted(held(listed, several) for _, listed in rows)


@QUICK
@given(
    rows=people(most=12).filter(lambda rows: len(rows) > 1),
    several=st.sampled_from(SEVERAL),
    chance=st.randoms(use_true_random=False),
)
def test_no_order_of_the_input_is_left(rows, several, chance: random.Random) -> None:
    """Neither of rows nor of the values in somebody's list."""
    mixed = [
        (quasi, None if listed is None else chance.sample(listed, len(listed)))
        for quasi, listed in rows
    ]
    # Quasi-identifiers depend on the place of a row; people of even and odd places are mixed apart.
    halves = mixed[0::2], mixed[1::2]
    for half in halves:
        chance.shuffle(half)
    mixed[0::2], mixed[1::2] = halves
    one, other = made(rows, "mondrian", several), made(mixed, "mondrian", several)
    assert one.to_arrow().equals(other.to_arrow())
    for listed in one.to_arrow().column("s").to_pylist():
        texts = [value for value in listed if value is not None]
        assert texts == sorted(texts)
        assert listed[: len(texts)] == texts
        assert several == "multiset" or len(set(listed)) == len(listed)


@QUICK
@given(rows=people(), several=st.sampled_from(SEVERAL), form=st.sampled_from(["json", ";", "list"]))
def test_a_foreign_release(tmp_path_factory, rows, several, form) -> None:
    folder = tmp_path_factory.mktemp("foreign")
    rows = [(f"1{quasi}*", [] if listed is None else listed) for quasi, listed in rows]
    table = pa.table(
        {
            "q": [quasi for quasi, _ in rows],
            "s": pa.array([listed for _, listed in rows], pa.list_(pa.string())),
        }
    )
    lists = {} if form == "list" else {"s": form}
    path = folder / "r.parquet"
    if form == "list":
        pq.write_table(table, path)
    else:
        texts = [
            json.dumps(listed)
            if form == "json"
            else form.join("(missing)" if value is None else value for value in listed)
            for _, listed in rows
        ]
        path = folder / "r.csv"
        pa_csv.write_csv(table.set_column(1, "s", pa.array(texts)), path)
    release = sf.read_release(path, sf.Schema(["q"], "s", lists=lists, several=several))
    assert groups_by(release) == expected_groups(rows, several)
    assert release.groups.case == several


def test_a_foreign_release_with_a_second_file(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,age\n1,20-29\n2,20-29\n3,*\n")
    (tmp_path / "facts.csv").write_text("id,s\n1,flu\n1,flu\n3,gout\n1,ulcer\n")
    schema = sf.Schema(["age"], "s", person="id")
    release = sf.read_release(tmp_path / "people.csv", schema, facts=tmp_path / "facts.csv")
    assert groups_by(release) == {"20-29": (2, {"flu": 1, "ulcer": 1}), "*": (1, {"gout": 1})}
    with pytest.raises(sf.InputError, match="facts belongs to one file"):
        sf.read_release(("a", "b"), schema, group="g", facts=tmp_path / "facts.csv")


def test_levels_of_lists_are_read_back(tmp_path: Path) -> None:
    """Buckets are published as labels of the level, and read as such, not coarsened again."""
    rows = pa.table({"q": [1, 1, 1], "s": [[11, 12, 25], [13], []]})
    for lists in ({}, {"s": ";"}):
        schema = sf.Schema(
            ["q"], "s", hierarchies={"s": sf.intervals([10, 20])}, levels={"s": 1}, lists=lists
        )
        release = sf.anonymize(sf.read(rows, schema), Policy([sf.KAnonymity(3)], Mondrian()))
        for form in ("csv", "parquet"):
            out = release.save(tmp_path / f"{form}{len(lists)}", format=form)
            assert same(sf.read_release(out, schema), release)
            if lists or form == "parquet":
                assert same(sf.read_release(out / "public" / f"data.{form}", schema), release)


def test_texts_that_could_not_be_told_apart_are_not_written(tmp_path: Path) -> None:
    schema = sf.Schema(
        ["q"], "s", hierarchies={"s": sf.intervals([10])}, levels={"s": 1}, lists={"s": ","}
    )
    rows = pa.table({"q": [1, 1], "s": ["11,25", "13"]})
    release = sf.anonymize(sf.read(rows, schema), Policy([sf.KAnonymity(2)], Mondrian()))
    with pytest.raises(sf.InputError, match=r"'s': some values cannot be told apart.*use Parquet"):
        release.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    assert same(sf.read_release(release.save(tmp_path / "out", format="parquet"), schema), release)


def test_lists_that_nobody_declared_are_not_taken_for_categories(tmp_path: Path) -> None:
    release = made([("x", ["a", "b"]), ("x", [])], "mondrian", "set")
    out = release.save(tmp_path / "out")
    with pytest.raises(sf.InputError, match="'s' holds JSON lists; declare"):
        sf.read_release(out / "public" / "data.csv", release.schema)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_person_is_not_published(tmp_path: Path, form: str) -> None:
    first = pa.table({"who": ["p1", "p2", "p3"], "q": ["x"] * 3, "ward": ["w1", "w2", "w3"]})
    second = pa.table({"who": ["p1", "p1", "p3"], "s": ["flu", "ulcer", "flu"]})
    schema = sf.Schema(["q"], "s", person="who", keep=["ward"])
    table = sf.read(first, schema, facts=second)
    assert not any("one row is taken" in note for note in sf.audit(table, [sf.KAnonymity(1)]).notes)
    out = sf.anonymize(table, Policy([sf.KAnonymity(3)], Mondrian())).save(
        tmp_path / "out", format=form
    )
    public = b"".join(path.read_bytes() for path in (out / "public").iterdir())
    assert b"who" not in public
    assert not any(name in public for name in (b"p1", b"p2", b"p3"))
    # One row a person, so kept columns stay with their values.
    back = sf.read_release(out).groups
    assert (back.sizes.tolist(), back.counts_of(0)) == ([3], {"flu": 2, "ulcer": 1})
    if form == "parquet":
        found = pq.read_table(out / "public" / "data.parquet").to_pylist()
        assert {row["ward"]: row["s"] for row in found} == {
            "w1": ["flu", "ulcer"],
            "w2": [],
            "w3": ["flu"],
        }


def test_nobody_has_any_value(tmp_path: Path) -> None:
    for form in ("csv", "parquet"):
        release = made([("x", []), ("x", [])], "mondrian", "set")
        back = sf.read_release(release.save(tmp_path / form, format=form))
        assert (back.groups.sizes.tolist(), back.groups.width) == ([2], 0)
        assert back.groups.case == "set"


def test_the_manifest_says_how_to_read_it(tmp_path: Path) -> None:
    release = made([("x", ["a", "a"]), ("x", [])], "mondrian", "multiset", lists={"s": ";"})
    told = {}
    for form in ("csv", "parquet"):
        out = release.save(tmp_path / form, format=form)
        manifest = json.loads((out / "public" / "manifest.json").read_text())
        told[form] = {column["name"]: column for column in manifest["columns"]}
    assert told["csv"]["s"] | {"type": ""} == {
        "name": "s",
        "role": "sensitive",
        "type": "",
        "several": "multiset",
        "list": ";",
    }
    assert "list" not in told["parquet"]["s"]
    assert "several" not in told["csv"]["q"]
    assert sf.read_release(tmp_path / "csv").groups.case == "multiset"
    # The policy decides how values count; a release that was made otherwise is not read by it.
    for other in ({"several": "set", "lists": {"s": ";"}}, {"several": "multiset"}):
        with pytest.raises(sf.InputError, match="in another way than the policy says"):
            sf.read_release(tmp_path / "csv", sf.Schema(["q"], "s", **other))


def test_kept_lists_are_refused() -> None:
    rows = pa.table({"q": ["x"] * 2, "s": ["a", "b"], "k": [["p"], ["r"]]})
    release = sf.anonymize(
        sf.read(rows, sf.Schema(["q"], "s", keep=["k"])), Policy([sf.KAnonymity(2)], Mondrian())
    )
    with pytest.raises(sf.SchemaError, match="keep: column 'k' holds lists"):
        release.to_arrow()


@pytest.mark.parametrize(
    ("groups", "case"),
    [
        (Groups([[1, 2]]), "single"),
        (Groups([[1, 2]], sizes=[3]), "single"),
        (Groups([[1, 2]], sizes=[4]), "set"),
        (Groups([[1, 2]], sizes=[3], case="set"), "set"),
        (Groups([[5, 2]], sizes=[3], case="multiset"), "multiset"),
    ],
)
def test_the_case_of_stated_groups(groups: Groups, case: str) -> None:
    assert groups.case == case
    assert groups.single_valued == (case == "single")
    assert groups.take(np.array([0])).case == groups.with_beside(Beside()).case == case


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"case": "single"}, "case 'single': the counts of a group must add up"),
        ({"case": "bag"}, "case 'bag' is not known; allowed: multiset, set, single"),
        ({"case": "set", "sizes": [1]}, "unless case is 'multiset'"),
        ({"sizes": [1]}, "unless case is 'multiset'"),
        ({"case": "multiset", "sizes": [0]}, "at least one individual"),
    ],
)
def test_cases_that_counts_contradict(options, said: str) -> None:
    with pytest.raises(sf.InputError, match=said):
        Groups([[1, 2]], **{"sizes": [4], **options})


def test_a_policy_file_holds_it_all(tmp_path: Path) -> None:
    schema = sf.Schema(["q"], ["s", "t"], lists={"s": ";", "t": "json"}, several="multiset")
    policy = Policy([sf.KAnonymity(2)], schema=schema)
    policy.save(tmp_path / "policy.toml")
    assert Policy.load(tmp_path / "policy.toml").schema == schema
    assert schema.part(["q"], ["t"]).lists == {"t": "json"}
    assert schema.part(["q"]).several == "multiset"
