"""The intersection attack on linked rows, against trying every value for every row."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from tests.adversaries.composition.linked_visits import (
    VISITS,
    levels_,
    release_of,
    rows_,
    schema,
    some_cut,
    table_of,
)
from tests.examples import few
from tests.oracles.linked_composition_oracle import (
    Levels,
    Row,
    Shown,
    beliefs,
    people_of,
    respects,
)
from tests.program import sfumato

World = tuple[str, ...]


def told_of(of: str, mine: list[Row], chances: dict[World, Fraction]) -> dict[str, float]:
    """The beliefs in what is told: the list of all values, or the value of a row."""
    told: dict[str, float] = {}
    row = None if of == "all values" else int(of.split()[1]) - 1
    for world, chance in chances.items():
        text = "; ".join(sorted(world)) if row is None else world[row]
        told[text] = told.get(text, 0) + float(chance)
    return told


def shown_rows(person: list[Row]) -> tuple[str, str]:
    ordered = sorted(person, key=lambda row: row[1:])
    return "; ".join(str(row[1]) for row in ordered), "; ".join(row[2] for row in ordered)


@settings(max_examples=few(60), deadline=None)
@given(rows_, st.lists(levels_, min_size=2, max_size=3), st.integers(1, 2))
def test_what_all_releases_leave_of_everybody(rows, levels, k) -> None:
    shown = [Shown.of(rows, at, k) for at in levels]
    if some_cut(rows, k) or not all(release.pseudonyms for release in shown):
        return
    table = table_of(rows)
    releases = [
        sf.generalize(table, list(at), [sf.KAnonymity(k)], suppression=1.0) for at in levels
    ]
    attack = sf.intersection_attack(releases, table, "ill")
    told = {}
    for row in attack.targets.to_pylist():
        told.setdefault(tuple(row["target"].values()), []).append(row)
    people = people_of(rows)
    seen = located = vulnerable = by_one = exposed = 0
    right = 0.0
    for name, person in people.items():
        mine = sorted(person, key=lambda row: row[1:])
        answers = told[shown_rows(person)]
        there = [release for release in shown if name in release.people]
        worlds = [set(release.worlds(mine, "uvw")) for release in there]
        for answer in answers:
            seen += 1
            if not there:
                assert (answer["status"], answer["after"]) == ("not_locatable", None)
                continue
            left = respects(set.intersection(*worlds))
            assert answer["after"] == min(left)
            assert answer["status"] == ("located" if len(there) == len(shown) else "not_locatable")
            at = 0 if answer["of"] == "all values" else int(answer["of"].split()[1])
            before = [respects(release)[at] for release in worlds]
            assert [n for n in answer["before"] if n is not None] == before
            assert answer["drop"] == min(before) - min(left)
            expected = told_of(answer["of"], mine, beliefs(mine, "uvw", there))
            chances = dict(zip(answer["values"], answer["posterior"], strict=True))
            assert chances == pytest.approx(expected)
        if len(there) < len(shown):
            continue
        left = respects(set.intersection(*worlds))
        by_release = list(zip(*map(respects, worlds), strict=True))
        located += 1
        exposed += min(left) == 1
        by_one += any(1 in before for before in by_release)
        vulnerable += any(min(b) > now for b, now in zip(by_release, left, strict=True))
    assert seen >= len(people)
    summary = attack.summary
    assert (summary.people, summary.located) == (len(people), located)
    figures = (summary.exposed, summary.exposed_by_one, summary.vulnerable)
    assert figures == (exposed, by_one, vulnerable)
    for row in attack.targets.to_pylist():
        if row["right"] is not None and row["status"] == "located":
            right += row["people"] * row["right"]
    assert summary.precision is None or summary.precision == pytest.approx(right / located)
    assert summary.inconsistent == 0


@settings(max_examples=few(30), deadline=None)
@given(rows_, levels_, levels_)
def test_a_guess_is_right_as_often_as_its_values_are_hers(rows, one, two) -> None:
    table = table_of(rows)
    releases = [sf.generalize(table, list(at)) for at in (one, two)]
    attack = sf.intersection_attack(releases, table, "ill")
    told = attack.targets.to_pylist()
    expected = hits = 0.0
    for person in people_of(rows).values():
        mine = sorted(person, key=lambda row: row[1:])
        answer = next(row for row in told if tuple(row["target"].values()) == shown_rows(person))
        top = max(answer["posterior"])
        likeliest = [
            value
            for value, chance in zip(answer["values"], answer["posterior"], strict=True)
            if chance > top - 1e-12
        ]
        if answer["of"] == "all values":
            true = ["; ".join(sorted(row[3] for row in person))]
        else:
            true = [mine[int(at) - 1][3] for at in answer["of"][4:].split(" or ")]
        expected += sum(true.count(value) for value in likeliest) / len(likeliest) / len(true)
    for row in told:
        hits += row["people"] * row["right"]
    assert hits == pytest.approx(expected)


@settings(max_examples=few(20), deadline=None)
@given(rows_, levels_, levels_)
def test_people_with_one_row_each_are_told_as_ever(rows, one, two) -> None:
    rows = [person[0] for person in people_of(rows).values()]
    plain = sf.Schema(quasi=["age", "ward"], sensitive="ill", hierarchies=schema().hierarchies)
    frame = pd.DataFrame(rows, columns=["id", "age", "ward", "ill"])
    told = []
    for table in (sf.read(frame, plain), table_of(rows)):
        releases = [sf.generalize(table, list(at)) for at in (one, two)]
        told.append(sf.intersection_attack(releases, table, "ill"))
    for name, value in told[0].summary.__dict__.items():
        assert getattr(told[1].summary, name) == pytest.approx(value), name
    assert told[1].threats()[0].people == told[0].threats()[0].people


LEVELS: list[Levels] = [(2, 0), (1, 1)]


def refused(*releases: sf.Release, targets: object = None, **more: object) -> str:
    with pytest.raises(sf.InputError) as error:
        sf.intersection_attack(releases, table_of(VISITS) if targets is None else targets, **more)
    return str(error.value)


def test_what_is_not_known_is_refused_with_the_criterions_reason() -> None:
    new, earlier = (release_of(VISITS, at) for at in LEVELS)
    assert "does not show all rows" in refused(new, release_of(VISITS[1:], LEVELS[1]))
    unlinked = sf.generalize(table_of(VISITS, rows="unlinked"), [2, 1])
    assert "does not link people's rows" in refused(new, unlinked)
    assert "knows = 'all'" in refused(new, earlier, targets=table_of(VISITS, knows=1))
    assert "person column" in refused(new, earlier, targets=[{"age": 21, "ward": "N"}])
    assert "a prior is of one value a person" in refused(new, earlier, prior="pooled")
    assert "name that column" in refused(new, earlier, truth="ward")
    assert "use 'nearest'" in refused(new, earlier, locate="oracle")
    frame = pd.DataFrame(VISITS, columns=["id", "age", "ward", "ill"]).drop(columns="ill")
    no_values = sf.read(frame, sf.Schema(["age", "ward"], person="id", rows="linked"))
    assert "does not have the values of 'ill'" in refused(new, earlier, targets=no_values)


def test_rows_that_overlap_are_refused() -> None:
    rows = [(f"p{n}", 20 + n, "NS"[n % 2], "uvw"[n % 3]) for n in range(12)]
    table = table_of([*rows, *[(name, age + 1, "N", ill) for name, age, _, ill in rows]])
    made = sf.anonymize(table, sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian()), seed=1)
    said = refused(made, sf.generalize(table, [2, 1]), targets=table)
    assert "overlap" in said
    assert "publish by the lattice" in said


def test_releases_of_one_key_are_refused(tmp_path: Path) -> None:
    """Who joins them by pseudonyms knows which of their people are one."""
    table = table_of(VISITS, pseudonyms=["id"])
    key = sf.PseudonymKey(tmp_path / "people.key")
    bounds = [sf.KAnonymity(2)]
    policy = sf.Policy(bounds, anonymizer=sf.Lattice(), suppression=1.0, pseudonyms=key)
    releases = [sf.anonymize(table, policy, seed=seed) for seed in (1, 2)]
    assert "pseudonyms of one key join" in refused(*releases, targets=table)


def test_the_program_tells_it(tmp_path: Path) -> None:
    for name, levels in zip(("new", "earlier"), LEVELS, strict=True):
        release_of(VISITS, levels).save(tmp_path / name)
    frame = pd.DataFrame(VISITS, columns=["id", "age", "ward", "ill"])
    frame.to_csv(tmp_path / "visits.csv", index=False)
    frame.drop(columns="id").to_csv(tmp_path / "nobody.csv", index=False)
    sf.Policy([sf.KAnonymity(1)], schema=schema()).save(tmp_path / "policy.toml")
    asked = ("attack", "intersect", tmp_path / "new", tmp_path / "earlier")
    asked = (*asked, "--policy", tmp_path / "policy.toml", "--truth", "ill")
    run = sfumato(
        *asked, "--targets", tmp_path / "visits.csv", "--json", "--private", tmp_path / "t.parquet"
    )
    assert run.returncode == 0, run.stdout + run.stderr
    table = table_of(VISITS)
    here = sf.intersection_attack([release_of(VISITS, at) for at in LEVELS], table, "ill")
    told = json.loads(run.stdout)["facts"]
    assert told["exposed"] == here.summary.exposed
    assert told["vulnerable"] == here.summary.vulnerable
    assert pq.read_table(tmp_path / "t.parquet").num_rows == here.targets.num_rows
    run = sfumato(*asked, "--targets", tmp_path / "nobody.csv")
    assert run.returncode == 2
    assert "people of linked rows are found by all of theirs" in " ".join(run.stderr.split())
