"""Survey weights of people with several rows, published one by one: hers counts once in a group.

The oracles add them up person by person, from the rows themselves.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage.risks import linkage
from sfumato.release.read.read_release import table_as_published
from sfumato.release.write.publish import OWNER, rows_with_owners
from sfumato.release.write.weights import told_of_weights
from tests.examples import few

people = st.lists(
    st.tuples(
        st.sampled_from([0.5, 1, 2, 7, 30.25]),
        st.lists(
            st.tuples(st.sampled_from([20, 25, 30, 45]), st.sampled_from("AB")),
            min_size=1,
            max_size=3,
        ),
    ),
    min_size=1,
    max_size=7,
)


def schema(**more) -> sf.Schema:
    given_ = {"quasi": ["age", "ward"], "person": "id", "rows": "unlinked", "weight": "w"}
    given_ |= {"hierarchies": {"age": sf.intervals([10, 20])}}
    return sf.Schema(**{**given_, **more})


def frame(listed) -> pd.DataFrame:
    rows = [
        (f"p{who}", age, ward, weight)
        for who, (weight, rows) in enumerate(listed)
        for age, ward in rows
    ]
    return pd.DataFrame(rows, columns=["id", "age", "ward", "w"])


def behind(rows: pd.DataFrame, by: list[str], who: str = "id") -> dict[object, tuple[int, float]]:
    """How many people each group has, and what their weights add up to, each person's once."""
    behind_group = {}
    for cells, group in rows.groupby(by):
        once = group.drop_duplicates(who)
        behind_group[cells] = len(once), float(once["w"].sum())
    return behind_group


@given(people, st.integers(1, 40))
def test_a_weight_counts_once_in_a_group_and_in_every_union(listed, k: int) -> None:
    rows = frame(listed)
    release = table_as_published(sf.read(rows, schema()))
    by_hand = list(behind(rows, ["age", "ward"]).values())
    assert sorted(release.population) == pytest.approx(sorted(total for _, total in by_hand))
    together = release.groups.merge(np.zeros(len(release.groups), dtype=np.int64), 1)
    assert together.population == pytest.approx([sum(weight for weight, _ in listed)])
    assert release.groups.take(np.array([0])).population[0] == release.population[0]
    fewest = min(max(many, total) for many, total in by_hand)  # never fewer than there are
    journalist = linkage(release).journalist
    assert journalist is not None
    assert journalist.highest == pytest.approx(1 / fewest)
    (verdict,) = sf.audit(release, [sf.KMap(k, "weights")]).verdicts
    assert verdict.measured == pytest.approx(fewest)
    assert verdict.holds == (fewest >= k * (1 - 1e-9))


def owned(release: sf.Release, weights: dict[int, float]) -> pd.DataFrame:
    """The published rows, whose they are, and that person's weight."""
    rows = rows_with_owners(release).to_pandas()
    return rows.assign(age=rows["age"].astype(str), w=rows[OWNER].map(weights))


@pytest.mark.parametrize("maker", [sf.Mondrian(), sf.Lattice()])
@pytest.mark.parametrize("seed", range(few(4)))
def test_a_search_keeps_a_k_map_of_weights(maker, seed: int) -> None:
    chance = np.random.default_rng(seed)
    listed = [
        (
            float(chance.choice([1, 3, 40])),
            [(int(chance.integers(20, 60)), str(chance.choice(list("AB")))) for _ in range(many)],
        )
        for many in chance.integers(1, 5, 50)
    ]
    policy = sf.Policy([sf.KMap(60, "weights")], anonymizer=maker, suppression=0.1)
    release = sf.anonymize(sf.read(frame(listed), schema()), policy, seed=1)
    names = sorted(f"p{who}" for who in range(50))  # people are numbered in this order
    weights = {number: listed[int(name[1:])][0] for number, name in enumerate(names)}
    by_hand = behind(owned(release, weights), ["age", "ward"], OWNER).values()
    assert sorted(release.population) == pytest.approx(sorted(total for _, total in by_hand))
    assert min(max(many, total) for many, total in by_hand) >= 60
    assert len(release.groups) > 1


@given(people)
def test_sums_over_rows_of_published_weights_are_kept_by_group(listed) -> None:
    rows = frame(listed)
    published = sf.read(rows, schema(publish_weight="group"))
    release = sf.generalize(published, {"age": 1, "ward": 0})
    shown = release.to_pandas()
    cells = rows.assign(age=[f"[{age // 10 * 10}, {age // 10 * 10 + 10})" for age in rows["age"]])
    by_hand = cells.groupby(["age", "ward"])["w"].sum()
    told = shown.assign(age=shown["age"].astype(str)).groupby(["age", "ward"])["w"]
    assert dict(told.sum()) == pytest.approx(dict(by_hand), rel=1e-5)
    assert (told.nunique() == 1).all()
    asked = [sf.KMap(3, "weights"), sf.KAnonymity(1)]
    report = sf.audit(release, asked)
    with TemporaryDirectory() as folder:
        out = release.save(Path(folder) / "out", report=report)
        manifest = json.loads((out / "public/manifest.json").read_text())
        (told_of_w,) = [column for column in manifest["columns"] if column["name"] == "w"]
        assert told_of_w["weights"] == "mean of the group's rows"
        book = (out / "public/codebook.json").read_text()
        assert "number of rows of the population, not of people" in book
        promised = {promise["criterion"]: promise["measured"] for promise in manifest["promises"]}
        assert promised["k-map"] is None  # nobody else knows whose weights are to be added once
        again = sf.audit(sf.read_release(out, schema(publish_weight="group")), asked)
        read = [(one.status, one.measured) for one in again.verdicts]
        assert read == [(one.status, pytest.approx(one.measured)) for one in report.verdicts]
        assert again.linkage.journalist.highest == pytest.approx(report.linkage.journalist.highest)
        shutil.rmtree(out / "private")
        alone = sf.audit(sf.read_release(out, schema(publish_weight="group")), asked)
        assert alone.linkage.journalist is None
        assert alone.verdicts[0].status in ("cannot_judge", "violated")
        if report.verdicts[0].holds:
            assert alone.verdicts[0].status == "cannot_judge"


def test_rows_that_are_left_out_take_their_weights_with_them() -> None:
    listed = [(2.0, [(20, "A"), (20, "A")])] * 30 + [(5.0, [(45, "B")])] * 12
    read = sf.read(frame(listed), schema(publish_weight="group"))
    policy = sf.Policy([sf.KAnonymity(20)], anonymizer=sf.Lattice(), suppression=0.4)
    release = sf.anonymize(read, policy, seed=1)
    assert release.suppressed == 12
    assert any("those of the 12 rows that are left out" in note for note in release.notes)
    assert set(release.to_pandas()["w"]) == {2.0}


def test_weights_that_are_not_a_persons_are_refused() -> None:
    rows = frame([(1.0, [(20, "A"), (25, "B")]), (2.0, [(20, "A")])])
    rows.loc[1, "w"] = 3.0
    with pytest.raises(sf.InputError, match="'w': 1 people have rows of several weights") as error:
        sf.read(rows, schema())
    assert "p0" not in str(error.value)
    with pytest.raises(sf.SchemaError, match="links them as a pseudonym does; use 'group'"):
        schema(publish_weight="keep")


@given(people)
def test_who_looks_for_anybody_counts_a_weight_once_whatever_the_groups(listed) -> None:
    release = table_as_published(sf.read(frame(listed), schema()))
    journalist = linkage(release).journalist
    assert journalist is not None
    everybody = max(sum(weight for weight, _ in listed), len(listed))
    assert journalist.blind == pytest.approx(min(1 / everybody, 1))


@pytest.mark.parametrize("alone", [1, 9, 10])
def test_a_sum_of_suppressed_rows_is_told_only_if_they_are_many_peoples(alone: int) -> None:
    """Twelve rows of one person are not twelve people: the sum would tell her weight."""
    hidden = [
        (777.0, [(1000 * who + row, "B") for row in range(12)]) for who in range(1, alone + 1)
    ]
    rows = frame([*[(2.0, [(20, "A")])] * 30, *hidden])
    table = sf.read(rows, schema(publish_weight="group"))
    release = sf.generalize(table, {"age": 0, "ward": 0}, [sf.KAnonymity(3)], suppression=0.9)
    assert release.suppressed == alone
    told = told_of_weights(release)
    assert ("times_for_suppressed" in told) == (alone >= 10)
    if alone >= 10:
        assert told["times_for_suppressed"] == pytest.approx(1 + 777 * 12 * alone / 60, abs=1e-3)


@pytest.mark.parametrize("rows", ["unlinked", "linked"])
def test_the_owner_is_told_that_weights_of_suppressed_people_can_be_subtracted(rows: str) -> None:
    listed = frame([*[(2.0, [(20, "A")])] * 3, (777.0, [(45, "B")])])
    table = sf.read(listed, schema(rows=rows, publish_weight="group"))
    whole = sf.generalize(table, {"age": 0, "ward": 0})
    assert not any("subtracts" in note for note in whole.notes)
    release = sf.generalize(table, {"age": 0, "ward": 0}, [sf.KAnonymity(3)], suppression=0.9)
    assert release.suppressed == 1
    assert any("subtracts the published ones" in note for note in release.notes)
