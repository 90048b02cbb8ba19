"""`sfumato attack rows` beside counting from the rows themselves."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest

import sfumato as sf
from tests.cli.visits import POLICY, ROWS
from tests.program import sfumato


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("rows")
    data, policy = folder / "visits.csv", folder / "policy.toml"
    data.write_text(ROWS)
    policy.write_text(POLICY)
    return data, policy


def fewest_and_alone(knows: int) -> tuple[int, int]:
    """Of every set of so many rows of everybody: how many people's rows contain it."""
    rows_of: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in csv.DictReader(ROWS.splitlines()):
        rows_of[row["id"]].append((row["age"], row["ward"]))
    fitting: dict[str, list[int]] = defaultdict(list)
    for person, rows in rows_of.items():
        for known in combinations(rows, min(knows, len(rows))):
            fits = [not Counter(known) - Counter(others) for others in rows_of.values()]
            fitting[person].append(sum(fits))
    fewest = min(min(numbers) for numbers in fitting.values())
    return fewest, sum(min(numbers) == 1 for numbers in fitting.values())


def test_whom_known_rows_leave_is_counted(files: tuple[Path, Path]) -> None:
    data, policy = files
    run = sfumato(
        "attack",
        "rows",
        data,
        "--policy",
        policy,
        "--json",
        "--knows",
        "1",
        "--knows",
        "2",
        "--knows",
        "9",
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)["sections"]
    found = [(row[1], int(row[2])) for row in told[0]["tables"][0]["rows"]]
    assert found == [fewest_and_alone(knows) for knows in (1, 2, 9)]
    ways = {row[2] for row in told[1]["tables"][0]["rows"]}
    assert ways == {"the same in all", "in any of them"}


def test_a_weight_of_the_policy_counts_once(tmp_path: Path) -> None:
    weights = {"a": 1.5, "b": 2, "c": 4, "d": 0.5, "e": 8}
    header, *rows = ROWS.splitlines()
    weighted = [f"{header},w", *(f"{row},{weights[row[0]]}" for row in rows)]
    data, policy = tmp_path / "visits.csv", tmp_path / "policy.toml"
    data.write_text("\n".join(weighted) + "\n")
    bound = '[[require]]\nkind = "k-map"\nk = 7\npopulation = "weights"\n'
    roles = 'rows = "unlinked"\nweight = "w"\npublish_weight = "group"'
    policy.write_text(POLICY.replace('rows = "unlinked"', roles) + bound)
    run = sfumato("audit", data, "--policy", policy, "--json")
    assert run.returncode == 1, run.stderr
    told = {one["criterion"]: one["measured"] for one in json.loads(run.stdout)["verdicts"]}
    assert told["k-map"] == min(1.5 + 2 + 4, 1.5 + 2 + 0.5, 0.5 + 8)
    made = sfumato("anonymize", data, "--policy", policy, "--out", tmp_path / "release")
    assert made.returncode == 0, made.stderr
    again = sfumato("audit", tmp_path / "release", "--policy", policy, "--json")
    assert again.returncode == 0, again.stderr
    report = json.loads((tmp_path / "release/private/report.json").read_text())
    measured = {one["criterion"]: one["measured"] for one in report["verdicts"]}
    read = {one["criterion"]: one["measured"] for one in json.loads(again.stdout)["verdicts"]}
    assert measured["k-map"] >= 7
    assert read == pytest.approx(measured)


def test_rows_of_a_register_that_says_whose_they_are_are_not_people(tmp_path: Path) -> None:
    data, register = tmp_path / "visits.csv", tmp_path / "register.csv"
    data.write_text(ROWS)
    people, ages = {row["id"] for row in csv.DictReader(ROWS.splitlines())}, range(20, 60)
    rows = [f"{person},{age},A" for person in people for age in ages]
    register.write_text("\n".join(["id,age,ward", *rows, ""]))
    asked = tmp_path / "policy.toml"
    bound = f'[[require]]\nkind = "k-map"\nk = {len(people) + 1}\npopulation = "register.csv"\n'
    asked.write_text(f"{POLICY}\n{bound}")
    for options in ([], ["--population", register]):
        run = sfumato("audit", data, "--policy", asked, *options)
        assert run.returncode == 2
        assert "lists people under several combinations" in run.stderr
    register.write_text("\n".join(["id,age,ward", *(f"{person},23,A" for person in people), ""]))
    assert sfumato("audit", data, "--policy", asked).returncode == 1  # one row each may be counted


def test_facts_about_people_are_asked_of_their_rows(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    data, policy = files
    given = ("--policy", policy, "--value", "HIV", "--json")
    run = sfumato("skyline", data, *given, "--point", "0,1,0")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    (worst,) = told["facts"]["groundings"]
    table = sf.read(data, sf.Policy.load(policy).schema)
    expected = sf.breach_probability(sf.generalize(table, {}), "HIV", 0, 1, 0)
    assert (worst["confidence"], worst["at_most"]) == (float(expected), expected.at_most)
    # Record 6 is of somebody with two of five rows that look alike: flu twice, gout twice, HIV.
    run = sfumato("skyline", data, *given, "--target", "#6", "--table", data, "--knows", "not gout")
    believed = json.loads(run.stdout)["facts"]["beliefs"]
    hers = list(combinations(["flu", "flu", "gout", "gout", "HIV"], 2))
    left = [pair for pair in hers if "gout" not in pair]
    counted = [Fraction(sum("HIV" in pair for pair in some), len(some)) for some in (hers, left)]
    assert [step["fraction"] for step in believed] == [str(share) for share in counted]
    alone = tmp_path / "alone.csv"
    alone.write_text("\n".join(line.partition(",")[2] for line in ROWS.splitlines()))
    run = sfumato("skyline", alone, "--policy", policy, "--value", "HIV")
    assert run.returncode == 2
    assert "nothing here says which of them are one person's" in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("kind", ["unlinked", "linked"])
def test_learner_against_attacker_is_told_of_a_row(
    files: tuple[Path, Path], tmp_path: Path, kind: str
) -> None:
    data, policy = files
    bounded = tmp_path / "policy.toml"
    bound = '\n[[require]]\nkind = "relative-threat"\nmax_ti = 1.1\n'
    bounded.write_text(policy.read_text().replace('"unlinked"', f'"{kind}"') + bound)
    run = sfumato("attack", "relative", data, "--policy", bounded, "--table", data, "--json")
    assert run.returncode == 1, run.stderr
    told = json.loads(run.stdout)
    assert told["facts"]["of_row"]
    assert "any of her rows is not bounded by this" in told["about"]
    assert told["facts"]["measures"]["people"] == 10  # rows
    run = sfumato("audit", data, "--policy", bounded, "--table", data, "--verbose")
    assert run.returncode == 1, run.stderr
    assert "ill of a row" in run.stdout


def test_mistakes_are_told_in_one_line(files: tuple[Path, Path], tmp_path: Path) -> None:
    data, policy = files
    plain = tmp_path / "plain.toml"
    plain.write_text(POLICY.replace('rows = "unlinked"\n', "").replace('person = "id"\n', ""))
    linked = tmp_path / "linked.toml"
    linked.write_text(POLICY.replace('"unlinked"', '"linked"'))
    for more, why in (
        ((linked,), "a pseudonym links each person's rows"),
        ((policy, "--knows", "none"), "knows = 'none' is not allowed"),
        ((policy, "--knows", "0"), "knows = 0 is not allowed"),
        ((plain,), "rows are not published one by one"),
    ):
        run = sfumato("attack", "rows", data, "--policy", *more)
        assert (run.returncode, run.stdout) == (2, "")
        assert why in run.stderr
        assert len(run.stderr.strip().splitlines()) == 1
    with pytest.raises(sf.InputError, match="knows = True is not allowed"):
        sf.RowsReader(True)
