"""sf.read_release: releases of any tool, read back as the groups they publish."""

from __future__ import annotations

import csv
import datetime as dt
import itertools
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.release import overlap
from sfumato.release.description import Regions
from sfumato.release.read.source import StrayColumns
from sfumato.schema.calendar import PERIODS, period
from sfumato.schema.region import Anything, Mask, Region, Span, ValueSet, meaning, overlaps
from tests.examples import few
from tests.oracles.containing import containing

HOSPITAL_1 = {
    "<30": ["AIDS", "Heart", "Viral", "Viral"],
    ">=40": ["Cancer", "Heart", "Viral", "Viral"],
    "30-39": ["Cancer"] * 4,
}
HOSPITAL_2 = {
    "<35": ["AIDS", "TB", "TB", "Flu", "Cancer", "Cancer"],
    ">=35": ["Cancer", "Cancer", "Cancer", "TB", "Viral", "Viral"],
}
HOSPITAL = sf.Schema(quasi=["age", "zip"], sensitive="condition")


def write(path: Path, names: list[str], rows: list[tuple], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, delimiter=delimiter).writerows([names, *rows])
    return path


def hospital(path: Path, groups: dict[str, list[str]]) -> Path:
    rows = [(age, "130**", value) for age, values in groups.items() for value in values]
    return write(path, ["age", "zip", "condition"], rows)


def told(release: sf.Release) -> dict[tuple, dict[str, int]]:
    """The sensitive counts of each group, by what its description means."""
    regions = release.regions
    assert isinstance(regions, Regions)
    found = {}
    for g in range(len(release.groups)):
        key = tuple(
            meaning(parts[code])
            for parts, code in zip(regions.parts, regions.codes[:, g], strict=True)
        )
        assert key not in found  # equal descriptions are one group
        found[key] = release.groups.counts_of(g)
    return found


def columns(**given: list[object]) -> pa.Table:
    return pa.table(given)


# -- known releases -------------------------------------------------------------------------------


@pytest.mark.parametrize(("groups", "k", "age"), [(HOSPITAL_1, 4, "<30"), (HOSPITAL_2, 6, "<35")])
def test_the_two_hospitals_as_published(tmp_path, groups, k: int, age: str) -> None:
    release = sf.read_release(hospital(tmp_path / "h.csv", groups), HOSPITAL)
    assert release.disjoint
    assert sf.audit(release, [sf.KAnonymity(k)]).verdicts[0].measured == k
    assert not sf.audit(release, [sf.KAnonymity(k + 1)]).holds
    (found,) = containing(release.regions, {"age": 28, "zip": "13012"})
    assert release.regions.describe(found) == {"age": age, "zip": "130**"}
    assert release.groups.counts_of(found) == Counter(groups[age])
    assert len(containing(release.regions, {"age": 28, "zip": "14012"})) == 0
    assert containing(release.regions, {"age": 28, "zip": 13012}) == [found]


ARX = """sex;age;race;marital-status;salary-class
Male;[20, 40[;*;spouse not present;<=50K
Male;[20, 40[;*;spouse not present;<=50K
Male;[20, 40[;*;spouse not present;>50K
Female;[40, 60[;*;spouse present;>50K
Female;[40, 60[;*;spouse present;<=50K
*;*;*;*;<=50K
*;*;*;*;>50K
"""


def test_a_release_as_arx_writes_it(tmp_path) -> None:
    (tmp_path / "arx.csv").write_text(ARX)
    tree = sf.taxonomy(
        {
            "Married-civ-spouse": ["spouse present"],
            "Divorced": ["spouse not present"],
            "Never-married": ["spouse not present"],
        }
    )
    schema = sf.Schema(
        quasi=["sex", "age", "race", "marital-status"],
        sensitive="salary-class",
        hierarchies={"age": sf.intervals([20]), "marital-status": tree},
        domains={"sex": ["Male", "Female"]},
    )
    release = sf.read_release(tmp_path / "arx.csv", schema)
    report = sf.audit(release, [sf.KAnonymity(2), sf.DistinctDiversity(2)])
    assert report.holds
    assert [verdict.measured for verdict in report.verdicts] == [2, 2]
    assert sorted(release.groups.sizes.tolist()) == [2, 2, 3]
    assert not release.disjoint  # everybody fits the group of `*`
    assert release.suppressed == 0
    assert any("2 people are published with every" in note for note in release.notes)
    person = {"sex": "Male", "age": 25, "race": "White", "marital-status": "Never-married"}
    fits = [release.regions.describe(g)["age"] for g in containing(release.regions, person)]
    assert sorted(fits) == ["*", "[20, 40["]
    married = {**person, "marital-status": "Married-civ-spouse"}
    assert len(containing(release.regions, married)) == 1


def test_a_release_as_mondrian_scripts_write_it(tmp_path) -> None:
    rows = [
        ("20-39", "Private~State-gov", "Bachelors", "flu"),
        ("20-39", "Private~State-gov", "Bachelors", "cold"),
        ("40", "Private", "Bachelors~Masters~9th", "flu"),
        ("40", "Private", "Bachelors~Masters~9th", "flu"),
        ("20-39", "Local-gov~Private", "Bachelors", "cold"),
    ]
    path = write(tmp_path / "m.csv", ["age", "workclass", "education", "s"], rows)
    schema = sf.Schema(quasi=["age", "workclass", "education"], sensitive="s")
    release = sf.read_release(path, schema, separator={"workclass": "~", "education": "~"})
    assert sf.audit(release, [sf.KAnonymity(2)]).verdicts[0].measured == 1
    assert sorted(release.groups.sizes.tolist()) == [1, 2, 2]
    person = {"age": 30, "workclass": "Private", "education": "Bachelors"}
    assert len(containing(release.regions, person)) == 2
    assert not release.disjoint
    assert len(containing(release.regions, {**person, "workclass": "State-gov"})) == 1
    assert told(sf.read_release(path, schema, separator="~")) == told(release)
    plain = sf.read_release(path, schema)  # nobody said that ~ separates
    assert len(containing(plain.regions, person)) == 0


ADULT = {
    "education": {"1st-4th": ["Primary"], "5th-6th": ["Primary"], "Masters": ["Higher"]},
    "pay": {"<=50K": ["*"], ">50K": ["*"]},
}


def test_labels_are_matched_before_notations() -> None:
    rows = columns(
        education=["1st-4th", "1st-4th", "Primary", "Higher"],
        pay=["<=50K", "<=50K", ">50K", "*"],
        s=["a", "b", "a", "b"],
    )
    trees = {name: sf.taxonomy(tree) for name, tree in ADULT.items()}
    schema = sf.Schema(quasi=["education", "pay"], sensitive="s", hierarchies=trees)
    release = sf.read_release(rows, schema)
    assert told(release) == {
        (meaning(ValueSet(frozenset(e))), meaning(p)): counts
        for e, p, counts in [
            (["1st-4th"], ValueSet(frozenset(["<=50K"])), {"a": 1, "b": 1}),
            (["1st-4th", "5th-6th"], ValueSet(frozenset([">50K"])), {"a": 1}),
            (["Masters"], Anything(), {"b": 1}),
        ]
    }
    # A leaf that occurs nowhere in the file is inside its label.
    assert len(containing(release.regions, {"education": "5th-6th", "pay": ">50K"})) == 1
    declared = sf.Schema(quasi=["pay"], sensitive="s", domains={"pay": ["<=50K", ">50K"]})
    assert len(sf.read_release(rows.slice(0, 3), declared).groups) == 2
    words = sf.Schema(quasi=["pay", "education"], sensitive="s")  # nothing declared: words
    assert len(sf.read_release(rows, words).groups) == 3


def test_adults_hierarchies_read_their_own_labels(data_folder) -> None:
    folder = data_folder / "adult" / "hierarchies"
    trees = {
        name: sf.taxonomy(folder / f"adult_hierarchy_{name}.csv") for name in ("age", "education")
    }
    rows = columns(
        age=["20-24", "20-24", "20-29", "17", "*"],
        education=["1st-4th", "1st-4th", "Higher education", "Undergraduate", "*"],
        s=["a", "b", "a", "b", "a"],
    )
    schema = sf.Schema(quasi=["age", "education"], sensitive="s", hierarchies=trees)
    release = sf.read_release(rows, schema)
    assert sorted(release.groups.sizes.tolist()) == [1, 1, 1, 2]
    person = {"age": 22, "education": "Masters"}
    fits = [release.regions.describe(g)["age"] for g in containing(release.regions, person)]
    assert sorted(fits) == ["*", "20-29"]
    with pytest.raises(sf.InputError, match=r"'education': 1 value.*'Bachelor'"):
        sf.read_release(columns(age=["17"], education=["Bachelor"], s=["a"]), schema)


def test_a_raw_table_read_as_a_release_is_the_table_as_it_stands(data_folder) -> None:
    from sfumato.datasets.public_files import adult
    from sfumato.release.release import as_it_stands

    source, schema = adult(data_folder)
    stands, release = as_it_stands(sf.read(source, schema)), sf.read_release(source, schema)
    assert release.disjoint
    assert len(release.groups) == len(stands.groups) == 12_458

    def by_text(of: sf.Release) -> dict[str, tuple[int, dict[str, int]]]:
        return {
            str(of.regions.describe(g)): (int(of.groups.sizes[g]), of.groups.counts_of(g))
            for g in range(len(of.groups))
        }

    assert by_text(release) == by_text(stands)


# -- there and back -------------------------------------------------------------------------------

TREE = sf.taxonomy(
    {
        "cat": ["feline", "mammal"],
        "lion": ["feline", "mammal"],
        "dog": ["canine", "mammal"],
        "hen, brown": ["fowl", "bird"],
    }
)
LEAVES = list(TREE.leaves())
SCHEMA = sf.Schema(
    quasi=["age", "pet", "zip", "born", "town"],
    sensitive="s",
    hierarchies={"age": sf.intervals([5]), "pet": TREE, "born": sf.dates()},
)
small = st.integers(-20, 20)


def interval_texts(low: int, high: int, with_low: bool, with_high: bool) -> list[str]:
    """The same interval in every notation that can say it."""
    pairs = [("[" if with_low else "(", "]" if with_high else ")")]
    pairs.append(("[" if with_low else "]", "]" if with_high else "["))
    texts = [f"{a}{low}{comma}{high}{b}" for a, b in pairs for comma in (", ", ",", "; ")]
    texts += [f"{a}{low}.0, {high}.0{b}" for a, b in pairs]
    if with_low and with_high:
        texts += [f"{low}-{high}", f"{low} - {high}", f"{low}–{high}"]
    return texts


@st.composite
def ages(draw: st.DrawFn) -> tuple[Region, list[str]]:
    low, high = sorted([draw(small), draw(small)])
    a, b = draw(st.booleans()), draw(st.booleans())
    which = draw(st.sampled_from(["between", "below", "above", "value", "set", "missing"]))
    if which == "between" and low < high:
        missing = draw(st.booleans())
        suffix = " or (missing)" if missing else ""
        texts = [text + suffix for text in interval_texts(low, high, a, b)]
        return Span(low, high, a, b, beside=frozenset({None} if missing else ())), texts
    if which == "below":
        texts = [f"<{'=' * b}{low}", f"< {low}"] if not b else [f"<={low}", f"≤ {low}"]
        return Span(high=low, high_closed=b), [*texts, f"(-inf, {low}{'])'[not b]}"]
    if which == "above":
        texts = [f">={low}", f"≥{low}", f"{low}+"] if a else [f">{low}", f"]{low}, inf["]
        return Span(low=low, low_closed=a), texts
    if which == "set":
        return ValueSet(frozenset({low, high})), [f"{{{low}, {high}}}", f"{{{high},{low}}}"]
    if which == "missing":
        return ValueSet(frozenset({None})), ["", "(missing)"]
    return ValueSet(frozenset({low})), [f"{low}", f"{low}.0", f"{{{low}}}"]


@st.composite
def pets(draw: st.DrawFn) -> tuple[Region, list[str]]:
    level = draw(st.integers(0, 3))
    if level == 3:
        found = draw(st.lists(st.sampled_from(LEAVES), min_size=2, max_size=4, unique=True))
        quoted = [f'"{leaf}"' if "," in leaf else leaf for leaf in found]
        return ValueSet(frozenset(found)), ["{" + ", ".join(quoted) + "}", "~".join(found)]
    leaf = draw(st.sampled_from(LEAVES))
    if level == 0:
        return ValueSet(frozenset({leaf})), [leaf, f" {leaf}"]
    label = TREE.paths[leaf][level - 1]
    under = frozenset(other for other in LEAVES if TREE.paths[other][level - 1] == label)
    return ValueSet(under), [label]


zips = st.integers(0, 5).map(lambda hidden: "13053"[: 5 - hidden] + "*" * hidden)
cells = {
    "age": st.one_of(ages(), st.just((Anything(), ["*"]))),
    "pet": st.one_of(pets(), st.just((Anything(), ["*"]))),
    "zip": zips.map(lambda z: (Mask(z) if "*" in z else ValueSet(frozenset({z})), [z])),
    "born": st.builds(period, st.dates(dt.date(1990, 1, 1)), st.sampled_from(PERIODS)).map(
        lambda span: (span, [span.text])
    ),
    "town": st.sampled_from(["Ulm", "Bad Tölz", "Köln-Deutz", '"', "a;b"]).map(
        lambda town: (ValueSet(frozenset({town})), [town])
    ),
}
people = st.lists(
    st.tuples(
        st.tuples(*cells.values()),
        st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), min_size=1),
    ),
    min_size=1,
    max_size=6,
)


@given(people, st.data())
def test_what_is_printed_in_any_notation_is_read_back(tmp_path_factory, groups, data) -> None:
    """The same groups and regions, whichever notation a file uses for each."""
    rows, expected = [], {}
    written: dict[object, str] = {}
    for described, counts in groups:
        key = tuple(meaning(region) for region, _ in described)
        mine = expected.setdefault(key, Counter())
        for value, n in counts.items():
            mine[value] += n
            for place, (_, texts) in enumerate(described):
                if (place, key[place]) not in written:
                    written[place, key[place]] = data.draw(st.sampled_from(texts))
            mine_texts = [written[place, said] for place, said in enumerate(key)]
            rows += [(*mine_texts, value)] * n
    rows = data.draw(st.permutations(rows))
    path = tmp_path_factory.mktemp("round") / "release.csv"
    write(path, [*SCHEMA.quasi, "s"], rows, data.draw(st.sampled_from(",;\t")))
    release = sf.read_release(path, SCHEMA, separator={"pet": "~"})
    assert told(release) == expected
    brute = [[part for part, _ in described] for described, _ in groups]
    distinct = {tuple(map(meaning, parts)): parts for parts in brute}.values()
    assert release.disjoint == all(
        not all(overlaps(a, b) for a, b in zip(one, other, strict=True))
        for one, other in itertools.combinations(distinct, 2)
    )


def test_a_table_written_at_a_level_is_read_back_from_every_kind_of_source(tmp_path) -> None:
    rows = {
        "age": ["[20, 30[", "[20, 30[", "[30, 40)", None],
        "zip": ["130**", "130**", "13053", "*"],
        "s": ["x", "y", "x", "x"],
    }
    arrow = pa.table(rows)
    schema = sf.Schema(quasi=["age", "zip"], sensitive="s")
    pd.DataFrame(rows).to_csv(tmp_path / "r.csv", index=False)
    pq.write_table(arrow, tmp_path / "r.parquet")
    feather.write_feather(arrow, tmp_path / "r.arrow", compression="uncompressed")
    sources = [tmp_path / f"r.{kind}" for kind in ("csv", "parquet", "arrow")]
    sources += [arrow, pd.DataFrame(rows), pl.DataFrame(rows)]
    expected = {
        (meaning(Span(20, 30)), "130**"): {"x": 1, "y": 1},
        (meaning(Span(30, 40)), meaning(ValueSet(frozenset({"13053"})))): {"x": 1},
        (meaning(ValueSet(frozenset({None}))), "*"): {"x": 1},
    }
    for source in sources:
        release = sf.read_release(source, schema)
        assert told(release) == expected
        (exact,) = [part for part in release.regions.parts[1] if isinstance(part, ValueSet)]
        assert exact.values == {"13053"}  # beside a mask a code stays text


def test_columns_without_notation_are_typed_like_a_table() -> None:
    rows = columns(a=["1", "2", "2.0"], b=[1, 2, 2], d=["2021-05-02", "2021-06", "*"], s=["x"] * 3)
    release = sf.read_release(rows, sf.Schema(quasi=["a", "b", "d"], sensitive="s"))
    assert len(release.groups) == 3
    assert {value for part in release.regions.parts[0] for value in part.values} == {1, 2}
    assert ValueSet(frozenset({dt.date(2021, 5, 2)})) in release.regions.parts[2]


# -- roles ----------------------------------------------------------------------------------------


def test_counts_weights_and_several_sensitive_columns() -> None:
    rows = columns(
        age=["20-29", "20-29", "30-39"],
        s=["x", "y", "x"],
        t=["u", "u", "v"],
        n=[3, 4, 5],
        w=[10.0, 20.0, 5.5],
    )
    schema = sf.Schema(quasi=["age"], sensitive=["s", "t"], count="n", weight="w")
    release = sf.read_release(rows, schema)
    assert release.groups.sizes.tolist() == [7, 5]
    assert release.groups_for("t").counts_of(0) == {"u": 7}
    assert release.population is not None
    assert release.population.tolist() == [30.0, 5.5]
    assert not any("one row" in note for note in release.notes)


def test_people_are_counted_not_rows() -> None:
    rows = columns(age=["20-29"] * 4, s=["x", "y", "x", "x"], who=[1, 1, 2, 2])
    schema = sf.Schema(quasi=["age"], sensitive="s", person="who")
    release = sf.read_release(rows, schema)
    assert release.groups.sizes.tolist() == [2]
    assert release.groups.counts_of(0) == {"x": 2, "y": 1}
    twice = columns(age=["20", "20.0"], s=["x", "y"], who=[1, 1])
    with pytest.raises(sf.InputError, match=r"one region as '20' and as '20.0'"):
        sf.read_release(twice, schema)
    with pytest.raises(sf.InputError, match=r"'who' .person. is not in .*drop the role to accept"):
        sf.read_release(rows.drop_columns(["who"]), schema)


def test_no_sensitive_column_is_a_release_too() -> None:
    release = sf.read_release(columns(age=["<30", "<30", ">=30"]), sf.Schema(quasi=["age"]))
    assert sorted(release.groups.sizes.tolist()) == [1, 2]


def test_columns_a_release_rightly_lacks_are_told_and_identifiers_it_keeps_as_well(
    tmp_path,
) -> None:
    path = write(
        tmp_path / "r.csv", ["name", "age", "s"], [("Ann", "<30", "x"), ("Bob", "<30", "y")]
    )
    schema = sf.Schema(
        quasi=["age"], sensitive="s", identifiers=["name", "ssn"], weight="w", keep=["region"]
    )
    release = sf.read_release(path, schema)
    notes = " | ".join(release.notes)
    assert release.stray.identifiers == ("name",)
    assert release.stray.without_role == ()
    assert "region (keep), w (weight)" in notes
    assert "ssn" not in notes
    assert release.population is None


def test_what_a_release_publishes_besides_is_told_whatever_it_comes_in(tmp_path) -> None:
    rows = columns(name=["Ann", "Bob"], age=["<30", "<30"], ssn=["1", "2"], s=["x", "y"])
    schema = sf.Schema(quasi=["age"], sensitive="s", identifiers=["name"])
    pq.write_table(rows, tmp_path / "r.parquet")
    feather.write_feather(rows, tmp_path / "r.arrow")
    stray = StrayColumns(("name",), ("ssn",))
    listed = (rows, pd.DataFrame(rows.to_pydict()), pl.DataFrame(rows.to_pydict()))
    for source in (*listed, tmp_path / "r.parquet", tmp_path / "r.arrow"):
        assert sf.read_release(source, schema).stray == stray
    report = sf.audit(sf.read_release(rows, schema), [sf.KAnonymity(2)])
    assert [one.status for one in report.verdicts] == ["violated", "cannot_judge", "holds"]
    assert report.status == "violated"
    assert "identifiers" in report.to_html()
    # A table in memory is judged as it would be published, by its roles; a file as it stands.
    assert sf.audit(sf.read(rows, schema), [sf.KAnonymity(2)]).holds
    assert (
        sf.audit(sf.read(tmp_path / "r.parquet", schema), [sf.KAnonymity(2)]).status == "violated"
    )


def test_what_a_second_file_publishes_besides_is_told() -> None:
    people = columns(pid=["1", "2"], age=["<30", "<30"], email=["a", "b"])
    facts = columns(pid=["1", "2"], s=["x", "y"], doctor=["c", "d"], name=["e", "f"])
    schema = sf.Schema(quasi=["age"], sensitive="s", person="pid", identifiers=["name"])
    assert sf.read_release(people, schema, facts=facts).stray == StrayColumns(
        ("name",), ("email", "doctor")
    )
    listed = LISTED.append_column("name", pa.array(list("abcde")))
    values = VALUES.append_column("note", pa.array(["n"] * VALUES.num_rows))
    pair = replace(PAIR, identifiers=["name"])
    assert sf.read_release((listed, values), pair, group="gid").stray == StrayColumns(
        ("name",), ("note",)
    )


def test_a_folder_of_ours_publishes_nothing_besides(tmp_path) -> None:
    rows = pa.table(
        {"name": list("abcd"), "age": [1, 1, 2, 2], "d": list("wxyz"), "s": list("uvuv")}
    )
    schema = sf.Schema(quasi=["age"], sensitive="s", identifiers=["name"])
    for anonymizer in (sf.Mondrian(), sf.Anatomy(2)):
        policy = sf.Policy([sf.DistinctDiversity(2)], anonymizer)
        out = tmp_path / anonymizer.name
        sf.anonymize(sf.read(rows, schema), policy, seed=1).save(out)
        assert sf.read_release(out, schema).stray == StrayColumns()


def test_unlisted_columns_are_never_read(tmp_path) -> None:
    rows = {"age": ["<30", "<30"], "s": ["x", "y"], "odd": [{"a": 1}, {"a": 2}]}
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table(rows), path)
    schema = sf.Schema(quasi=["age"], sensitive="s")
    for source in (path, pa.table(rows), pd.DataFrame(rows)):
        assert sf.read_release(source, schema).groups.sizes.tolist() == [2]


def test_a_sensitive_column_published_at_its_level_keeps_its_order() -> None:
    schema = sf.Schema(
        quasi=["age"],
        sensitive="pay",
        hierarchies={"pay": sf.intervals([500])},
        levels={"pay": 1},
    )
    ages = ["<30", "<30", "<30", ">=30"]
    labels = columns(age=ages, pay=["[1000, 1500)", "[500, 1000)", "[500, 1000)", "[0, 500)"])
    values = columns(age=ages, pay=[1200, 700, 701, 3])
    expected = sf.read_release(values, schema)
    found = sf.read_release(labels, schema)
    assert (
        found.groups.values == expected.groups.values == ("[0, 500)", "[500, 1000)", "[1000, 1500)")
    )
    assert found.groups.dense().tolist() == expected.groups.dense().tolist()
    ordered = [sf.TCloseness(0.5, distance="ordered").verdict(r.groups) for r in (found, expected)]
    assert ordered[0].measured == ordered[1].measured
    tree = sf.Schema(quasi=["age"], sensitive="pet", hierarchies={"pet": TREE}, levels={"pet": 1})
    pets = columns(age=["<30", "<30"], pet=["feline", "fowl"])
    assert sf.read_release(pets, tree).groups.values == ("feline", "fowl")
    with pytest.raises(sf.InputError, match=r"'pet': 1 value.*'fish'"):
        sf.read_release(columns(age=["<30", "<30"], pet=["feline", "fish"]), tree)


def test_a_label_of_several_extents_is_read_as_the_widest_and_told() -> None:
    tree = sf.taxonomy({"Other": ["Other"], "Unknown": ["Other"], "Private": ["Work"]})
    schema = sf.Schema(quasi=["job"], sensitive="s", hierarchies={"job": tree})
    release = sf.read_release(columns(job=["Other", "Work"], s=["x", "y"]), schema)
    assert len(containing(release.regions, {"job": "Unknown"})) == 1
    assert any("read as the widest: 'Other'" in note for note in release.notes)


# -- wildcards ------------------------------------------------------------------------------------

wild_rows = st.lists(
    st.tuples(*[st.sampled_from(["x", "y", "*", None])] * 3, st.sampled_from("abc")),
    min_size=1,
    max_size=12,
)


@settings(max_examples=few(40))
@given(wild_rows)
def test_wildcards_against_counting_one_by_one(rows) -> None:
    schema = sf.Schema(quasi=["p", "q", "r"], sensitive="s", weight="w")
    table = columns(
        **{name: [row[c] for row in rows] for c, name in enumerate("pqrs")},
        w=[float(place) for place in range(len(rows))],
    )
    release = sf.read_release(table, schema, matching="wildcard")
    exact = sf.read_release(table, schema)
    assert len(release.groups) == len(exact.groups)
    assert release.groups.reference.tolist() == exact.groups.reference.tolist()
    open_cell = {"*", None}
    for g in range(len(release.groups)):
        mine = [release.regions.describe(g)[name] for name in "pqr"]
        mine = [None if text == "(missing)" else text for text in mine]
        near = [
            place
            for place, row in enumerate(rows)
            if all(
                a == b or a in open_cell or b in open_cell for a, b in zip(mine, row, strict=False)
            )
        ]
        assert release.groups.sizes[g] == len(near)
        assert release.groups.counts_of(g) == Counter(rows[place][3] for place in near)
        assert release.population is not None
        assert release.population[g] == pytest.approx(sum(near))


def test_wildcards_say_that_groups_overlap() -> None:
    rows = columns(age=["<30", "*"], s=["x", "y"])
    schema = sf.Schema(quasi=["age"], sensitive="s")
    release = sf.read_release(rows, schema, matching="wildcard")
    assert sf.audit(release, [sf.KAnonymity(2)]).holds
    assert not sf.audit(sf.read_release(rows, schema), [sf.KAnonymity(2)]).holds
    assert not release.disjoint
    assert any("groups share people" in note for note in release.notes)
    assert release.people == 2
    assert any("1 people are published with every" in note for note in release.notes)
    missing = columns(age=["<30", None], s=["x", "y"])
    assert sf.read_release(missing, schema).disjoint
    assert not sf.read_release(missing, schema, matching="wildcard").disjoint


# -- bucketized pairs -----------------------------------------------------------------------------

LISTED = columns(gid=[1, 1, 1, 2, 2], age=[23, 23, 27, 31, 23], zip=["1", "2", "1", "1", "1"])
VALUES = columns(gid=[2, 1, 1, 1, 2], disease=["flu", "flu", "cold", "flu", "cold"])
PAIR = sf.Schema(quasi=["age", "zip"], sensitive="disease")


def test_a_bucketized_pair(tmp_path) -> None:
    release = sf.read_release((LISTED, VALUES), PAIR, group="gid")
    assert release.scheme == "bucketized"
    assert release.groups.sizes.tolist() == [3, 2]
    assert release.groups.counts_of(0) == {"cold": 1, "flu": 2}
    assert containing(release.regions, {"age": 23, "zip": "1"}) == [0, 1]
    assert containing(release.regions, {"age": 27, "zip": "1"}) == [0]
    assert containing(release.regions, {"age": 27, "zip": "2"}) == []  # no such tuple
    assert not release.disjoint
    assert sf.audit(release, [sf.DistinctDiversity(2)]).holds
    pd.DataFrame(LISTED.to_pydict()).to_csv(tmp_path / "q.csv", index=False)
    counted = columns(
        gid=["1", "1", "2", "2"], disease=["cold", "flu", "cold", "flu"], n=[1, 2, 1, 1]
    )
    pq.write_table(counted, tmp_path / "s.parquet")
    again = sf.read_release(
        (tmp_path / "q.csv", tmp_path / "s.parquet"),
        sf.Schema(quasi=["age", "zip"], sensitive="disease", count="n"),
        group="gid",
    )
    assert again.groups.dense().tolist() == release.groups.dense().tolist()
    assert again.label == "q.csv and s.parquet"
    assert json.loads(sf.audit(again, [sf.KAnonymity(2)]).to_json())


def test_the_weights_of_a_pair_stand_with_its_people() -> None:
    weighted = LISTED.append_column("w", pa.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    schema = sf.Schema(quasi=["age", "zip"], sensitive="disease", weight="w")
    release = sf.read_release([weighted, VALUES], schema, group="gid")
    assert release.population is not None
    assert release.population.tolist() == [6.0, 9.0]


@pytest.mark.parametrize(
    ("listed", "values", "schema", "group", "said"),
    [
        (
            LISTED,
            VALUES.slice(1),
            PAIR,
            "gid",
            r"differ in size, first gid = '2': 2 people .* 1 in",
        ),
        (LISTED, VALUES.slice(1, 3), PAIR, "gid", r"1 group\(s\) are in .* but not in .*: '2'"),
        (LISTED.slice(3), VALUES, PAIR, "gid", r"1 group\(s\) are in .* but not in .*: '1'"),
        (LISTED, VALUES, PAIR, "bucket", r"column 'bucket' \(group\) is not in"),
        (LISTED, VALUES, PAIR, "age", "group 'age' is quasi in the schema"),
        (LISTED, VALUES, PAIR, None, "a bucketized release is a pair"),
        (LISTED, VALUES, sf.Schema(quasi=["age"]), "gid", "needs a sensitive column"),
        (
            LISTED,
            VALUES,
            sf.Schema(quasi=["age"], sensitive="disease", person="zip"),
            "gid",
            "person 'zip' cannot be used",
        ),
        (
            LISTED,
            VALUES,
            sf.Schema(quasi=["age"], sensitive="disease", count="n"),
            "gid",
            r"column 'n' \(count\) is neither in",
        ),
        (
            columns(gid=["1", None], age=[1, 2]),
            VALUES,
            sf.Schema(quasi=["age"], sensitive="disease"),
            "gid",
            "rows without a group id",
        ),
    ],
)
def test_a_pair_that_does_not_fit(listed, values, schema, group, said: str) -> None:
    with pytest.raises(sf.InputError, match=said) as caught:
        sf.read_release((listed, values), schema, group=group)
    assert "\n" not in str(caught.value)


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "known", "said"),
    [
        (["20 to 29"], {"hierarchies": {"q": sf.intervals([9])}}, r"'q': 1 value.*'99 aa 99'.*2"),
        (["[20, 30"], {"domains": {"q": "numeric"}}, r"'\[99, 99'.*\[20, 30\)"),
        (["old"], {"domains": {"q": range(10)}}, "'old'; write a value or label it knows"),
        (["11"], {"domains": {"q": range(10)}}, "'11'"),
        (["2021-13"], {"hierarchies": {"q": sf.dates()}}, "'9999-99'"),
        (["fish"], {"hierarchies": {"q": TREE}}, "'fish'"),
        (["cat~fish"], {"hierarchies": {"q": TREE}}, "'cat~fish'"),
        (["{20-29, 40-49}"], {}, "'{99-99, 99-99}'"),
        (["20-29", "30-39", "40-49", "5O-59"], {}, r"'q' mixes numbers and text: 1 of its 4.*'9a"),
        (["17", "18", "19", "4O"], {}, "'q' mixes numbers and text"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_with_the_way_out(tmp_path, cells, known, said: str) -> None:
    path = write(tmp_path / "r.csv", ["q", "s"], [(cell, "x") for cell in cells])
    with pytest.raises(sf.InputError, match=said) as caught:
        sf.read_release(path, sf.Schema(quasi=["q"], sensitive="s", **known), separator="~")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"matching": "fuzzy"}, "matching 'fuzzy' is not known; allowed: 'exact', 'wildcard'"),
        ({"group": "gid"}, "group 'gid' belongs to a bucketized pair"),
        ({"separator": ""}, "separator of column 'age': ''"),
        ({"separator": {"agee": "~"}}, "'agee' is not a quasi-identifier; did you mean 'age'"),
        ({"memory": "lots"}, "memory 'lots' is not a size"),
    ],
)
def test_options_that_cannot_be_meant(options, said: str) -> None:
    with pytest.raises(sf.InputError, match=said) as caught:
        sf.read_release(
            columns(age=["<30"], s=["x"]), sf.Schema(quasi=["age"], sensitive="s"), **options
        )
    assert "\n" not in str(caught.value)


def test_a_pair_takes_no_wildcards_and_a_missing_column_is_named(tmp_path) -> None:
    with pytest.raises(sf.InputError, match="lists exact values"):
        sf.read_release((LISTED, VALUES), PAIR, group="gid", matching="wildcard")
    with pytest.raises(
        sf.InputError, match=r"column 'agee' \(quasi\) is not in .*did you mean 'age'"
    ):
        sf.read_release(write(tmp_path / "r.csv", ["age"], [(3,)]), sf.Schema(quasi=["agee"]))
    with pytest.raises(sf.SchemaError, match="'numbers' is not a kind"):
        sf.read_release(LISTED, sf.Schema(quasi=["age"], domains={"age": "numbers"}))
    with pytest.raises(sf.InputError, match="does not exist"):
        sf.read_release(tmp_path / "no.csv", PAIR)


def test_words_stay_words_where_nothing_is_declared() -> None:
    rows = columns(
        job=["1st-4th", "20 to 29", "[other]", "<unknown>"], zip=["01301", "13053", "13068", "9"],
        s=["x"] * 4,
    )  # fmt: skip
    release = sf.read_release(rows, sf.Schema(quasi=["job", "zip"], sensitive="s"))
    assert [part.text for part in release.regions.parts[1]] == ["9", "01301", "13053", "13068"]
    assert len(release.groups) == 4
    assert release.disjoint


# -- overlap --------------------------------------------------------------------------------------

parts = st.one_of(
    st.builds(Span, st.integers(0, 5), st.integers(6, 9), st.booleans(), st.booleans()),
    st.builds(Span, st.integers(0, 2), st.integers(3, 6), st.booleans(), st.booleans()),
    st.builds(
        Span,
        st.integers(0, 4),
        st.integers(5, 9),
        beside=st.frozensets(st.sampled_from(["x", None])),
    ),
    st.frozensets(st.integers(0, 9), min_size=1, max_size=3).map(ValueSet),
    st.just(ValueSet(frozenset({None}))),
    st.from_regex(r"[0-2]{1,2}\*{1,2}", fullmatch=True).map(Mask),
    st.from_regex(r"\*[0-2]{1,2}", fullmatch=True).map(Mask),
    st.frozensets(st.sampled_from(["1", "12", "120", "x"]), min_size=1, max_size=2).map(ValueSet),
    st.just(Anything()),
)


@pytest.mark.parametrize("at_once", [0, 10_000])  # narrowed down, and compared outright
@given(groups=st.lists(st.tuples(parts, parts, parts), min_size=1, max_size=8))
def test_overlap_against_comparing_every_pair(at_once: int, groups) -> None:
    distinct = list({tuple(map(meaning, group)): group for group in groups}.values())
    columns_of, codes = [], []
    for column in zip(*distinct, strict=True):
        index = {key: place for place, key in enumerate(dict.fromkeys(map(meaning, column)))}
        first = {meaning(part): part for part in reversed(column)}
        columns_of.append([first[key] for key in index])
        codes.append([index[meaning(part)] for part in column])
    expected = all(
        not all(overlaps(a, b) for a, b in zip(one, other, strict=True))
        for one, other in itertools.combinations(distinct, 2)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "AT_ONCE", at_once)
        assert overlap.no_overlap(columns_of, np.array(codes, dtype=np.int32)) == expected


def test_many_disjoint_groups_are_told_apart_and_undecided_ones_are_said_to_be(monkeypatch) -> None:
    low = [10 * (i % 100) for i in range(5_000)]
    rows = columns(
        a=[f"[{x}, {x + 10})" for x in low],
        b=[f"{1000 * (i // 100)}-{1000 * (i // 100) + 999}" for i in range(5_000)],
        s=["x"] * 5_000,
    )
    schema = sf.Schema(quasi=["a", "b"], sensitive="s")
    assert sf.read_release(rows, schema).disjoint
    crossing = pa.concat_tables([rows, columns(a=["[5, 15)"], b=["0-999"], s=["x"])])
    assert not sf.read_release(crossing, schema).disjoint
    monkeypatch.setattr(overlap, "MOST_WORK", 0)
    release = sf.read_release(crossing, schema)
    assert not release.disjoint
    assert any("took too long to tell" in note for note in release.notes)


# -- centroids ------------------------------------------------------------------------------------


def test_a_file_of_centroids_is_read_as_the_folder_it_came_from(tmp_path) -> None:
    """Means are no values of a declared domain, nor labels of a hierarchy; words keep theirs."""
    rows = pa.table({"x": [1, 2, 9, 11], "w": ["lo", "lo", "hi", "hi"], "s": list("abab")})
    schema = sf.Schema(
        ["x", "w"],
        "s",
        domains={"x": [1, 2, 9, 11], "w": ["lo", "hi"]},
        hierarchies={"x": sf.intervals([5])},
    )
    made = sf.Microaggregation(2).run(Task(sf.read(rows, schema), ()))
    made.save(tmp_path / "out")
    ours = sf.read_release(tmp_path / "out", schema)
    file = tmp_path / "out" / "public" / "data.csv"
    theirs = sf.read_release(file, schema, scheme="microaggregated")
    assert theirs.scheme == ours.scheme == "microaggregated"
    assert theirs.schema.domains == {"w": ["lo", "hi"]}
    assert [theirs.regions.describe(g) for g in range(2)] == [
        ours.regions.describe(g) for g in range(2)
    ]
    people = [{"x": 4, "w": "lo"}, {"x": 12, "w": "hi"}]
    found = sf.intersection_attack([theirs, ours], people)
    assert found.targets["status"].to_pylist() == ["located", "located"]
    assert sf.read_release(file, sf.Schema(["x", "w"], "s")).scheme == "generalized"


@pytest.mark.parametrize(
    ("cells", "options", "said"),
    [
        (["1-5", "2"], {}, "column 'x' shows '1-5', which is no centroid"),
        (["*", "2"], {}, "column 'x' shows '*', which is no centroid"),
        (["1.5", "2"], {"matching": "wildcard"}, "centroids have none"),
        (["1.5", "2"], {"scheme": "bucketized"}, "scheme 'bucketized' is not known; allowed"),
    ],
)
def test_what_is_no_file_of_centroids(cells, options, said: str) -> None:
    rows = pa.table({"x": cells, "s": ["a", "b"]})
    with pytest.raises(sf.InputError, match=re.escape(said)):
        sf.read_release(rows, sf.Schema("x", "s"), **{"scheme": "microaggregated", **options})


def test_a_pair_and_a_folder_tell_their_own_scheme(tmp_path) -> None:
    rows = pa.table({"x": [1, 1], "s": ["a", "b"]})
    sf.generalize(sf.read(rows, sf.Schema("x", "s")), [0]).save(tmp_path / "out")
    for release in (tmp_path / "out", (rows, rows)):
        with pytest.raises(sf.InputError, match="tell their own scheme, leave it out"):
            sf.read_release(release, sf.Schema("x", "s"), group="g", scheme="microaggregated")


def test_values_that_look_like_sets_are_read_back_as_the_values_they_are(tmp_path: Path) -> None:
    values = ["{a,,b}", "{}", "{a, b}", "x", '{"q"}']
    table = sf.read(pa.table({"q": values * 3}), sf.Schema(quasi=["q"]))
    sf.generalize(table, {"q": 0}).save(tmp_path / "out")
    back = sf.read_release(tmp_path / "out", sf.Schema(quasi=["q"]))
    assert {value for part in back.regions.parts[0] for value in part.values} == set(values)
    assert len(back.groups) == len(values)
