"""`attack find` and `attack realistic`: one question to one adversary, as the library answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.adversaries.linkage.one_target import find_target
from tests.program import sfumato

ROWS = "age,zip,disease\n" + "".join(
    f"{age},{zip_},{disease}\n"
    for age, zip_, diseases in (
        ("30-39", "130**", ("flu", "cold", "cold", "<b>ulcer</b>")),
        ("40-49", "130**", ("flu", "flu", "flu", "cold")),
        ("40-49", "148**", ("flu", "cold", "cold", "cold", "cold")),
    )
    for disease in diseases
)
POLICY = """
[schema]
quasi = ["age", "zip"]
sensitive = ["disease"]

[schema.domains]
age = "categorical"

[[require]]
kind = "epsilon-privacy"
epsilon = 3
adversary = { shape = "table", stubbornness = 100, at_most = false }
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("what-if")
    (folder / "release.csv").write_text(ROWS)
    (folder / "policy.toml").write_text(POLICY)
    return folder


def ask(files: Path, what: str, *more: object):
    release, policy = files / "release.csv", files / "policy.toml"
    return sfumato("attack", what, release, "--policy", policy, *more)


def release_of(files: Path) -> sf.Release:
    return sf.read_release(files / "release.csv", sf.Policy.load(files / "policy.toml").schema)


def test_a_target_is_found_among_the_rows_that_fit(files) -> None:
    run = ask(files, "find", "--target", "age=40-49", "--json")
    assert run.returncode == 0, run.stderr
    facts = json.loads(run.stdout)["facts"]
    assert (facts["rows"], facts["of_rows"], facts["groups"]) == (9, 13, 2)
    assert facts["chance"] == pytest.approx(1 / 9)
    beliefs = {one["value"]: one for one in facts["beliefs"]}
    assert (beliefs["flu"]["least"], beliefs["flu"]["most"]) == (1 / 5, 3 / 4)
    assert beliefs["flu"]["before"] == pytest.approx(5 / 13)
    assert beliefs["<b>ulcer</b>"]["most"] == 0


def test_beliefs_are_those_of_sf_belief(files) -> None:
    release = release_of(files)
    for described in ({"age": "40-49", "zip": "130**"}, {"age": "40-49"}, {}):
        for facts in ((), ("not cold",)):
            found = find_target(release, described, knowing=facts)
            for one in found.beliefs:
                told = sf.belief(release, described, one.value, facts)
                assert (one.most, one.least) == (float(told), float(told.least))


def test_what_is_known_besides_and_what_cannot_be(files) -> None:
    run = ask(files, "find", "--target", "age=40-49,zip=130**", "--knows", "not cold", "--json")
    beliefs = {one["value"]: one for one in json.loads(run.stdout)["facts"]["beliefs"]}
    assert beliefs["flu"]["most"] == 1
    for more, said in (
        (("--target", "age=99"), "is so described"),
        (("--target", "height=2"), "is not a quasi-identifier"),
        (("--target", "age"), "is not understood"),
        (("--sensitive", "zip"), "is not a sensitive column"),
    ):
        run = ask(files, "find", *more)
        assert run.returncode == 2, run.stdout
        assert said in run.stderr
        assert run.stderr.count("\n") == 1


def test_where_nothing_is_sensitive_rows_are_found_all_the_same(files, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        POLICY.split("[[require]]")[0].replace('sensitive = ["disease"]', "")
        + '[[require]]\nkind = "k-anonymity"\nk = 2\n'
    )
    asked = ("attack", "find", files / "release.csv", "--policy", policy, "--target", "zip=148**")
    run = sfumato(*asked, "--json")
    facts = json.loads(run.stdout)["facts"]
    assert (facts["rows"], facts["beliefs"], facts["attribute"]) == (5, [], None)
    assert "5 of 13 rows may be hers" in sfumato(*asked).stdout
    assert sfumato(*asked, "--knows", "not flu").returncode == 2


def test_groups_that_move_her_too_far_are_those_of_the_criterion(files, tmp_path: Path) -> None:
    private = tmp_path / "groups.json"
    run = ask(files, "realistic", "--stubbornness", "100", "--json", "--private", private)
    release = release_of(files)
    her = sf.RealisticAdversary("table", 100, at_most=False)
    verdict = sf.EpsilonPrivacy(3, her).verdict(release.groups)
    facts = json.loads(run.stdout)["facts"]
    assert facts["epsilon"] == verdict.measured
    assert facts["required"] == 3  # the policy's own
    beyond = verdict.per_group > 3
    assert facts["groups_beyond"] == beyond.sum()
    assert facts["people_beyond"] == release.groups.sizes[beyond].sum()
    assert run.returncode == (1 if beyond.any() else 0)
    told = json.loads(private.read_text())["sections"][-1]["tables"][0]["rows"]
    assert [row[2] for row in told] == sorted(verdict.per_group, reverse=True)
    assert "age" not in json.dumps(json.loads(run.stdout)["sections"][-1])  # groups are private


def test_each_class_of_her(files) -> None:
    for shape, records, name in (
        ("uniform", "50", "I"),
        ("any", "50", "II"),
        ("table", "inf", "III"),
        ("any", "inf", "IV"),
    ):
        run = ask(files, "realistic", "--shape", shape, "--stubbornness", records, "--json")
        facts = json.loads(run.stdout)["facts"]
        assert facts["class"] == name
        assert (facts["epsilon"] == "inf") >= (name == "IV")
    loose = ask(files, "realistic", "--shape", "uniform", "--stubbornness", "5", "--epsilon", "99")
    assert loose.returncode == 0
    assert "No group exceeds 99." in " ".join(loose.stdout.split())


def test_mistakes_are_one_line(files) -> None:
    for more, said in (
        (("--stubbornness", "0"), "it must be a number of at least 1"),
        (("--shape", "any", "--stubbornness", "2"), "is below the 3 values"),
        (("--shape", "flu=0.5"), "sum to 0.5"),
        (("--epsilon", "0.5"), "epsilon"),
        (("--known", "-1"), "known"),
    ):
        run = ask(files, "realistic", *more)
        assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
        assert said in run.stderr
