"""A register of people with several rows: who fits a signature, against every way to place them."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage.record_risks import record_risks
from sfumato.adversaries.linkage.risks import linkage
from sfumato.adversaries.locating.signature_register import overlaps_apart
from sfumato.release.release import as_it_stands
from tests.adversaries.linkage.linked_people import (
    OTHERS,
    PEOPLE,
    published_as,
    register_of,
    rows_table,
)
from tests.examples import few
from tests.oracles.linked_oracle import behind, contains, fits


@settings(deadline=None, max_examples=few(60))
@given(PEOPLE, OTHERS, st.sampled_from(["all", 1, 2]))
def test_candidates_are_all_of_the_register_who_have_the_rows_that_are_known(
    people, others, knows
) -> None:
    schema = sf.Schema(["day"], "ill", person="who", rows="linked", knows=knows)
    release, everybody = as_it_stands(rows_table(people, schema)), [*people, *others]
    fewest = []
    for own in people:
        cells = [frozenset({day}) for day in own]
        if knows == "all":
            fewest.append(sum(fits(rows, cells) for rows in everybody))
            continue
        parts = combinations(cells, min(int(knows), len(own)))
        fewest.append(min(sum(contains(rows, part) for rows in everybody) for part in parts))
    verdict = sf.audit(release, [sf.KMap(2, register_of(everybody))]).verdicts[0]
    assert (verdict.measured, verdict.holds) == (min(fewest), min(fewest) >= 2)
    risk = linkage(release, population=register_of(everybody)).journalist
    assert risk is not None
    assert risk.highest == pytest.approx(1 / min(fewest))
    assert risk.mean == pytest.approx(sum(1 / n for n in fewest) / len(people))


@settings(deadline=None, max_examples=few(80))
@given(PEOPLE, OTHERS, st.data())
def test_nobody_is_behind_a_pseudonym_more_surely_than_the_journalist_says(
    people, others, draw
) -> None:
    release, shown, group_of = published_as(people, draw)
    everybody = [*people, *others]
    chance = behind(everybody, shown)
    risk = linkage(release, population=register_of(everybody)).journalist
    assert risk is not None
    groups = dict(zip(group_of, shown, strict=True))
    fitting = [{g for g, own in groups.items() if fits(rows, own)} for rows in everybody]
    for number, group in enumerate(group_of):
        surest = max(chance[who, number] for who in range(len(everybody)))
        assert surest <= risk.per_group[group] + 1e-9
        only = sum(fits_in == {group} for fits_in in fitting)
        assert risk.per_group[group] == pytest.approx(1 / max(only, group_of.count(group)))
        if not overlaps_apart(release):
            assert risk.per_group[group] == pytest.approx(float(surest))


@settings(deadline=None, max_examples=few(40))
@given(PEOPLE, st.sampled_from(["all", 1, 2]), st.data())
def test_a_weight_counts_once_for_each_of_those_who_have_the_rows(people, knows, draw) -> None:
    weight = [draw.draw(st.integers(1, 9)) for _ in people]
    of_rows = [weight[number] for number, own in enumerate(people) for _ in own]
    schema = sf.Schema(["day"], "ill", person="who", rows="linked", knows=knows, weight="w")
    release = as_it_stands(rows_table(people, schema, w=of_rows))
    least = []
    for own in people:
        cells = [frozenset({day}) for day in own]
        parts = [tuple(cells)] if knows == "all" else combinations(cells, min(knows, len(own)))
        has = fits if knows == "all" else contains
        least.append(
            min(
                sum(w for w, rows in zip(weight, people, strict=True) if has(rows, part))
                for part in parts
            )
        )
    verdict = sf.audit(release, [sf.KMap(4, "weights")]).verdicts[0]
    assert (verdict.measured, verdict.holds) == (min(least), min(least) >= 4)
    risk = linkage(release).journalist
    assert risk is not None
    assert risk.mean == pytest.approx(sum(1 / n for n in least) / len(people))


def test_weights_of_one_person_must_be_one() -> None:
    schema = sf.Schema(["day"], "ill", person="who", rows="linked", weight="w")
    with pytest.raises(sf.InputError, match="1 people have different weights on their rows"):
        rows_table([[1, 2], [3]], schema, w=[1.0, 2.0, 5.0])


POPULATIONS = {
    "nobody's rows": (
        lambda: sf.read(pd.DataFrame({"day": [1, 2]}), sf.Schema(["day"])),
        "does not tell whose each row is",
    ),
    "one row each": (lambda: register_of([[1], [2], [2]]), "everybody has one row in the register"),
}


@pytest.mark.parametrize(("made", "said"), POPULATIONS.values(), ids=list(POPULATIONS))
def test_who_has_no_signatures_is_not_asked_for_them(made, said: str) -> None:
    release, population = as_it_stands(rows_table([[1, 2], [1, 2], [2]])), made()
    verdict = sf.audit(release, [sf.KMap(1, population)]).verdicts[0]
    assert (verdict.status, said in verdict.note) == ("cannot_judge", True)
    told = linkage(release, population=population)
    assert (told.journalist, said in told.reason) == (None, True)
    with pytest.raises(sf.PolicyError, match=said):
        sf.anonymize(rows_table([[1, 2]] * 3), sf.Policy([sf.KMap(1, population)]))


@pytest.mark.parametrize("maker", [sf.Mondrian(), sf.Lattice(), None], ids=str)
@pytest.mark.parametrize("knows", ["all", 1])
def test_a_release_is_made_that_the_register_hides(maker, knows) -> None:
    """Too few people share a signature, and enough of the register have it."""
    schema = sf.Schema(
        ["day"],
        "ill",
        person="who",
        rows="linked",
        knows=knows,
        hierarchies={"day": sf.intervals([2, 10])},
    )
    chance = np.random.default_rng(3)
    everybody = [chance.integers(0, 8, 1 + number % 2).tolist() for number in range(400)]
    table = rows_table(everybody[:40], schema)
    register = rows_table(everybody, schema.of_register())
    policy = sf.Policy([sf.KMap(6, register)], anonymizer=maker, suppression=0.2)
    release = sf.anonymize(table, policy, seed=1)
    verdict = sf.audit(release, policy).verdicts[0]
    assert verdict.holds
    assert release.to_pandas()["day"].nunique() > 1
    if not isinstance(maker, sf.Mondrian):  # whose rows overlap: few fit one signature alone
        assert int(release.indistinguishable.sizes.min()) < 6


def test_a_register_is_named_in_a_policy_by_its_file(tmp_path: Path) -> None:
    people = [[1, 2], [1, 2], [3]]
    (tmp_path / "register.csv").write_text("who,day\n1,1\n1,2\n2,1\n2,2\n3,3\n4,3\n")
    table = rows_table(people)
    table_schema = 'quasi = ["day"]\nsensitive = "ill"\nperson = "who"\nrows = "linked"\n'
    bound = '[[require]]\nkind = "k-map"\nk = 2\npopulation = "register.csv"\n'
    (tmp_path / "policy.toml").write_text(f"[schema]\n{table_schema}{bound}")
    policy = sf.Policy.load(tmp_path / "policy.toml")
    assert sf.audit(table, policy).verdicts[0].measured == 2
    policy.save(tmp_path / "again.toml")
    assert sf.audit(table, sf.Policy.load(tmp_path / "again.toml")).verdicts[0].measured == 2
    kept = sf.Policy([sf.KMap(2, register_of(people))], schema=table.schema)
    with pytest.raises(sf.PolicyError, match="a policy cannot keep whose rows are whose"):
        kept.save(tmp_path / "frame.toml")


@settings(deadline=None, max_examples=few(30))
@given(PEOPLE, OTHERS, st.sampled_from(["all", 1, 2]))
def test_each_record_is_at_the_journalists_worst_for_its_person(people, others, knows) -> None:
    schema = sf.Schema(["day"], "ill", person="who", rows="linked", knows=knows)
    table, everybody = rows_table(people, schema), [*people, *others]
    release = as_it_stands(table)
    risks = record_risks(release, linkage(release, population=register_of(everybody)), table)
    told = risks.table.column("journalist").to_pylist()
    expected = []
    for own in people:
        cells = [frozenset({day}) for day in own]
        parts = [tuple(cells)] if knows == "all" else combinations(cells, min(knows, len(own)))
        has = fits if knows == "all" else contains
        worst = min(sum(has(rows, part) for rows in everybody) for part in parts)
        expected += [1 / worst] * len(own)
    assert told == pytest.approx(expected)


def test_weights_are_published_by_pseudonym_and_sums_of_people_are_kept(tmp_path: Path) -> None:
    """Equal signatures weigh what their people do, whether these have one row or three."""
    schema = sf.Schema(
        ["day"],
        "ill",
        person="who",
        rows="linked",
        weight="w",
        publish_weight="group",
        hierarchies={"day": sf.intervals([2])},
    )
    chance = np.random.default_rng(5)
    people = [chance.integers(0, 4, 1 + number % 3).tolist() for number in range(60)]
    weight = (1 + 100 * chance.random(60)).round(3)
    table = rows_table(people, schema, w=[weight[n] for n, own in enumerate(people) for _ in own])
    policy = sf.Policy([sf.KAnonymity(2), sf.KMap(90, "weights")], schema=schema, suppression=0.4)
    report = sf.audit(release := sf.anonymize(table, policy, seed=2), policy)
    release.save(tmp_path / "out", report=report, policy=policy)
    rows = pd.read_csv(tmp_path / "out/public/data.csv")
    assert (rows.groupby("pseudonym")["w"].nunique() == 1).all()
    by_pseudonym = rows.groupby("pseudonym").agg(
        signature=("day", lambda days: tuple(sorted(days))), w=("w", "first")
    )
    published = by_pseudonym.groupby("signature")["w"].agg(["sum", "nunique"])
    assert (published["nunique"] == 1).all()
    assert release.population is not None
    assert sorted(published["sum"]) == pytest.approx(sorted(release.population), rel=1e-5)
    assert published["sum"].sum() == pytest.approx(weight.sum(), rel=0.4)
    (told,) = (
        column
        for column in json.loads((tmp_path / "out/public/manifest.json").read_text())["columns"]
        if column["role"] == "weight"
    )
    assert (told["of_each"], "where all of these have the same weight" in told["warning"]) == (
        "pseudonym",
        True,
    )
    assert "take it once for a pseudonym" in (tmp_path / "out/public/codebook.json").read_text()
    again = sf.audit(sf.read_release(tmp_path / "out", schema), policy)
    assert again.holds
    assert again.verdicts[1].measured == pytest.approx(report.verdicts[1].measured, rel=1e-5)
