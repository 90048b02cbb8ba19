"""Rows published one by one: people are counted once wherever they are, values in two ways.

The oracles count from the rows themselves, and enumerate what somebody may believe.
"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.base import judge
from sfumato.release.read.read_release import table_as_published
from sfumato.release.write.publish import OWNER, rows_with_owners
from sfumato.report.sections.columns import treatments_section
from sfumato.utility.loss import Loss
from sfumato.utility.view import view_of

AGES = sf.intervals([10, 20])


def schema(**more) -> sf.Schema:
    given_ = {"quasi": ["age", "ward"], "sensitive": "ill", "person": "id", "rows": "unlinked"}
    return sf.Schema(**{**given_, "hierarchies": {"age": AGES}, **more})


def admissions(seed: int = 0, people: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), rng.integers(1, 5, people))
    total = len(person)
    return pd.DataFrame(
        {
            "id": [f"p{number:03}" for number in rng.permutation(people)[person]],
            "age": rng.integers(20, 60, total),
            "ward": rng.choice(["A", "B"], total),
            "ill": rng.choice(["flu", "gout", "HIV"], total, p=[0.6, 0.3, 0.1]),
        }
    )


rows_of_few = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.sampled_from([20, 25, 30, 45]),
        st.sampled_from(["A", "B"]),
        st.sampled_from(["flu", "gout", "HIV"]),
    ),
    min_size=2,
    max_size=14,
)


def frame(rows: list[tuple[str, int, str, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["id", "age", "ward", "ill"])


def distinct_people(release: sf.Release) -> list[int]:
    """By the owner's own copy of the published rows."""
    rows = rows_with_owners(release).to_pandas()
    names = list(release.regions.columns)
    shown = rows.astype(dict.fromkeys(names, str))
    return sorted(shown.groupby(names)[OWNER].nunique().tolist())


@given(rows_of_few)
def test_a_table_counts_distinct_people_and_people_by_value(rows) -> None:
    table = frame(rows)
    release = table_as_published(sf.read(table, schema()))
    by_hand = table.groupby(["age", "ward"])["id"].nunique()
    assert sorted(release.groups.sizes) == sorted(by_hand)
    assert release.people == table["id"].nunique()
    together = release.groups.merge(np.zeros(len(release.groups), dtype=np.int64), 1)
    assert together.sizes.tolist() == [table["id"].nunique()]
    rows_of = together.beside.unlinked
    assert rows_of is not None
    assert rows_of.by_row.counts_of(0) == table["ill"].value_counts().to_dict()
    having = table.drop_duplicates(["id", "ill"])["ill"].value_counts().to_dict()
    assert rows_of.by_person.counts_of(0) == having


def test_groups_of_which_one_was_taken_twice_are_not_put_together() -> None:
    groups = table_as_published(sf.read(admissions(), schema())).groups
    together = np.zeros(3, dtype=np.int64)
    twice = groups.take(np.array([0, 1, 1]))
    assert twice.sizes.tolist() == groups.sizes[[0, 1, 1]].tolist()
    with pytest.raises(sf.InputError, match="take every group once"):
        twice.merge(together, 1)
    once = groups.take(np.array([0, 1, 2]))
    assert once.merge(together, 1).sizes[0] <= once.sizes.sum()


@given(rows_of_few, st.integers(2, 4), st.sampled_from(["lattice", "mondrian"]))
def test_every_row_is_published_and_k_is_of_people(rows, k: int, way: str) -> None:
    table = frame(rows)
    maker = sf.Lattice() if way == "lattice" else sf.Mondrian()
    policy = sf.Policy(require=[sf.KAnonymity(k)], anonymizer=maker)
    read = sf.read(table, schema())
    if table["id"].nunique() < k:
        with pytest.raises(sf.NoSafeRelease):
            sf.anonymize(read, policy, seed=1)
        return
    release = sf.anonymize(read, policy, seed=1)
    published = release.to_pandas()
    assert sorted(published["ill"]) == sorted(table["ill"])
    assert "id" not in published
    assert distinct_people(release) == sorted(release.groups.sizes)
    assert release.groups.sizes.min() >= k


@pytest.mark.parametrize(("seed", "suppression"), [(3, 0.0), (4, 0.1), (5, 0.3)])
def test_the_lattice_finds_what_all_its_nodes_judged_one_by_one_say(
    seed: int, suppression: float
) -> None:
    table = sf.read(admissions(seed), schema())
    require = [sf.KAnonymity(6), sf.TCloseness(0.35)]
    policy = sf.Policy(require=require, anonymizer=sf.Lattice(), suppression=suppression)
    best = sf.anonymize(table, policy, seed=1)
    safe = []
    heights = [table.levels[name].height for name in ("age", "ward")]
    for levels in np.ndindex(*heights):
        try:
            node = [int(level) for level in levels]
            safe.append(sf.generalize(table, node, require, suppression=suppression))
        except sf.NoSafeRelease:
            continue
    assert len(safe) > 1
    costs = [Loss().cost(view_of(release)) for release in safe]
    assert Loss().cost(view_of(best)) == pytest.approx(min(costs))


def believed(values: list[str], known: int) -> dict[str, Fraction]:
    """What she believes of one row's value, of whose group she knows: all assignments alike."""
    worlds = list(permutations(values))
    return {v: Fraction(sum(world[known] == v for world in worlds), len(worlds)) for v in values}


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["flu", "HIV", "gout"])),
        min_size=2,
        max_size=6,
    )
)
def test_the_share_that_is_judged_is_no_less_than_what_she_believes(rows) -> None:
    table = pd.DataFrame(
        {"id": [who for who, _ in rows], "q": 1, "ill": [value for _, value in rows]}
    )
    read = sf.read(table, sf.Schema(["q"], "ill", person="id", rows="unlinked"))
    measured = judge(sf.AlphaK(1.0, 1), table_as_published(read)).measured
    values = table["ill"].tolist()
    assert measured >= max(
        float(b) for at in range(len(values)) for b in believed(values, at).values()
    )
    # Nor than the share of people who have it in some row, whoever counts these.
    having = table.drop_duplicates(["id", "ill"])["ill"].value_counts().max()
    assert measured >= having / table["id"].nunique()


def test_twenty_rows_of_one_person_hide_nobody() -> None:
    rows = [("a", "flu")] * 20 + [(who, "HIV") for who in "bcde"]
    table = pd.DataFrame({"id": [w for w, _ in rows], "q": 1, "ill": [v for _, v in rows]})
    read = sf.read(table, sf.Schema(["q"], "ill", person="id", rows="unlinked"))
    found = sf.audit(read, [sf.AlphaK(0.5, 5), sf.EntropyDiversity(1.9), sf.KAnonymity(6)]).findings
    assert [one.verdict.status for one in found] == ["violated"] * 3
    assert found[0].verdict.measured == pytest.approx(20 / 24)  # of rows; 4 / 5 of people
    assert found[2].verdict.measured == 5


def test_what_is_judged_of_a_row_alone_says_so() -> None:
    read = sf.read(admissions(), schema())
    asked = [sf.RelativeThreatBound(2.0), sf.DistributionLeakage(1.4)]
    relative, leakage = sf.audit(read, asked).findings
    assert relative.verdict.status == "violated"
    assert relative.verdict.of_row
    assert relative.verdict.about == "ill of a row"
    assert leakage.verdict.status == "holds"
    with pytest.raises(sf.InputError, match="several groups"):
        sf.knowledge_skyline(table_as_published(read).groups, "HIV", 0.9)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_saved_release_read_back_knows_people_only_by_the_private_side(
    tmp_path: Path, format: str
) -> None:
    require = [sf.KAnonymity(4), sf.TCloseness(0.5), sf.AlphaK(0.95, 4)]
    policy = sf.Policy(require, anonymizer=sf.Mondrian(), schema=schema())
    release = sf.anonymize(sf.read(admissions(), schema()), policy, seed=1)
    report = sf.audit(release, policy)
    folder = tmp_path / "release"
    release.save(folder, policy=policy, format=format)
    manifest = json.loads((folder / "public" / "manifest.json").read_text())
    assert (manifest["rows"], manifest["knows"], manifest["people"]) == ("unlinked", "all", 60)
    again = sf.audit(sf.read_release(folder, schema()), policy)
    assert [(f.verdict.status, f.verdict.measured) for f in again.findings] == [
        (f.verdict.status, f.verdict.measured) for f in report.findings
    ]
    shutil.rmtree(folder / "private")
    for path in (folder, folder / "public" / f"data.{format}"):
        read = sf.read_release(path, schema())
        unknown = sf.audit(read, policy)
        assert {f.verdict.status for f in unknown.findings} == {"cannot_judge"}
        assert unknown.findings[0].verdict.at_most
        assert unknown.linkage.prosecutor is None
        assert repr(read).startswith("Generalized release of ")
        assert ("at most" in repr(read)) == (path != folder)  # its manifest tells how many
        assert sf.audit(read, [sf.KAnonymity(10_000)]).findings[0].verdict.status == "violated"
    with pytest.raises(sf.InputError, match="rows are 'unlinked' there"):
        sf.read_release(folder, schema(rows="gathered"))
    alone = schema(person=None, rows="gathered")
    for reader in (sf.read_release, sf.read):
        with pytest.raises(sf.InputError, match="shows several rows a person; give the folder"):
            reader(folder / "public" / f"data.{format}", alone)


def test_rows_that_are_left_out_are_told_and_people_are_left_out_only_whole(tmp_path: Path) -> None:
    table = pd.concat([admissions(), frame([("lone", 99, "C", "HIV"), ("p000", 99, "C", "HIV")])])
    read = sf.read(table, schema())
    policy = sf.Policy([sf.KAnonymity(4)], anonymizer=sf.Lattice(), suppression=0.05)
    release = sf.anonymize(read, policy, seed=1)
    assert release.suppressed == 1
    assert release.people == table["id"].nunique() - 1
    assert any("rows are left out" in note for note in release.notes)
    public = release.save(tmp_path / "out") / "public"
    hidden = len(table) - len((public / "data.csv").read_text().splitlines()) + 1
    removed = json.loads((public / "codebook.json").read_text())["removed"]
    assert removed[-1] == f"{hidden:,} rows are not in the files."


@pytest.mark.parametrize(
    "maker", [sf.Anatomy(2), sf.Deal(), sf.Mondrian(strict=False), sf.Microaggregation(3)]
)
def test_anonymizers_that_take_a_row_for_a_person_refuse(maker) -> None:
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=maker)
    with pytest.raises(sf.PolicyError, match="keeps each person's several rows"):
        sf.anonymize(sf.read(admissions(), schema()), policy)


def test_what_would_take_rows_for_people_is_refused() -> None:
    with pytest.raises(sf.SchemaError, match="neither the value of a row nor all"):
        schema(lists={"ill": ";"})
    lists = admissions().assign(
        ill=[["flu"], ["HIV"]] * (len(admissions()) // 2) + [["flu"]] * (len(admissions()) % 2)
    )
    with pytest.raises(sf.InputError, match="several values a row"):
        sf.read(lists, schema())
    many = pd.DataFrame({"id": np.arange(400_000) // 2, "q": 1})
    with pytest.raises(sf.ResourceError, match="larger than memory"):
        sf.read(many, sf.Schema(["q"], person="id", rows="unlinked"), memory="50MB")


def most_matched(having: dict[str, set[str]]) -> int:
    """For how many values there are different people, one each: by augmenting paths."""
    taken: dict[str, str] = {}

    def place(value: str, seen: set[str]) -> bool:
        for who in having[value] - seen:
            seen.add(who)
            if who not in taken or place(taken[who], seen):
                taken[who] = value
                return True
        return False

    return sum(place(value, set()) for value in having)


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("vwxyz")), min_size=1))
def test_distinct_values_are_of_different_people(rows) -> None:
    frame_ = pd.DataFrame({"id": [w for w, _ in rows], "q": 1, "ill": [v for _, v in rows]})
    read = sf.read(frame_, sf.Schema(["q"], "ill", person="id", rows="unlinked"))
    measured = judge(sf.DistinctDiversity(1), table_as_published(read)).measured
    having = {value: {w for w, v in rows if v == value} for _, value in rows}
    assert 1 <= measured <= most_matched(having)
    if len(set(rows)) == frame_["id"].nunique():  # one value each
        assert measured == len(having)


def test_one_person_with_five_values_makes_no_group_diverse() -> None:
    rows = [("a", value) for value in "vwxyz"] + [(who, "v") for who in "bcde"]
    frame_ = pd.DataFrame({"id": [w for w, _ in rows], "q": 1, "ill": [v for _, v in rows]})
    read = sf.read(frame_, sf.Schema(["q"], "ill", person="id", rows="unlinked"))
    assert judge(sf.DistinctDiversity(3), table_as_published(read)).status == "violated"


def test_the_public_is_told_the_same_whoever_has_the_rows() -> None:
    """The same rows of as many people, dealt to them in two ways."""
    rng = np.random.default_rng(1)
    ill = rng.choice(["flu", "HIV", "gout", "asthma", "cough"], 160)
    rows = [(20 + at % 20, "AB"[at % 2], str(ill[at])) for at in range(160)]
    require = [
        sf.KAnonymity(2),
        sf.AlphaK(0.99, 2),
        sf.DistinctDiversity(2),
        sf.TCloseness(0.9),
        sf.EntropyLeakage(2.0),
    ]
    public, owned = [], []
    for whose in (lambda at: at % 53, lambda at: min(at // 3, 52)):
        table = frame([(f"p{whose(at)}", *row) for at, row in enumerate(rows)])
        release = sf.generalize(sf.read(table, schema()), {"age": 1, "ward": 1})
        report = sf.audit(release, require)
        assert report.holds
        owned.append([verdict.measured for verdict in report.verdicts])
        read = report.public()
        assert read.linkage.prosecutor is None
        columns = treatments_section(read)
        assert columns is not None
        assert "Bars are percent of rows" in columns.words
        public.append((report.promises(), read.summary, read.threats, read.notes))
    assert owned[0] != owned[1]
    assert public[0] == public[1]
    assert public[0][0][0]["measured"] == public[0][1].smallest == 80  # rows: at most so many
    assert public[0][0][0]["at_most"]


def test_people_of_whom_nothing_is_told_are_counted_once(tmp_path: Path) -> None:
    release = sf.generalize(sf.read(admissions(), schema()), {"age": 3, "ward": 1})
    release.save(tmp_path / "out")
    read = sf.read_release(tmp_path / "out", schema())
    assert any(note.startswith("60 people are published with every") for note in read.notes)
