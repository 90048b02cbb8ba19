"""The compare command: table, JSON and page; every mistake in one line with exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

from sfumato.datasets.census import census, census_policy
from tests.program import sfumato


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, ...]:
    data, policy = tmp_path / "census.csv", tmp_path / "policy.toml"
    pa_csv.write_csv(census(300), data)
    policy.write_text(census_policy())
    return data, policy


def compare(files: tuple[Path, ...], *more: object):
    return sfumato("compare", files[0], "--policy", files[1], *more)


def test_a_table_for_people_and_a_page_for_later(files, tmp_path: Path) -> None:
    page = tmp_path / "map.html"
    arguments = ("--sweep", "k=2,5,500", "--sweep", "t-closeness.t=0.5,0.6", "--html", page)
    run = compare(files, *arguments)
    assert run.returncode == 0, run.stderr
    assert "4 of 6 possible releases of census.csv, 300 people" in run.stdout
    assert "k=500, t-closeness.t=0.5; k=500, t-closeness.t=0.6: no safe release" in run.stdout
    assert any(line.startswith("*  ") for line in run.stdout.splitlines())
    assert f"The map: {page}" in run.stderr
    assert "Plotly.newPlot" in page.read_text(encoding="utf-8")
    again = compare(files, *arguments)
    assert again.returncode == 2
    assert "map.html exists; give another name, or --force to replace it" in again.stderr
    assert again.stdout == ""
    page.write_text("old")
    assert compare(files, *arguments, "--force").returncode == 0
    assert page.read_text(encoding="utf-8") != "old"
    assert {path.name for path in tmp_path.iterdir()} == {"census.csv", "policy.toml", "map.html"}


def test_json(files) -> None:
    run = compare(
        files,
        *("--sweep", "k=2,5", "--sweep", "anonymizer=lattice,mondrian"),
        *("--sweep", "suppression=0,0.05", "--utility", "discernibility", "--utility", "loss"),
        *("--risk", "highest", "--seed", 1, "--json"),
    )
    assert run.returncode == 0, run.stderr
    content = json.loads(run.stdout)
    assert content["axes"] == {"risk": "highest", "cost": "discernibility"}
    assert content["seed"] == 1
    assert len(content["points"]) == 6  # suppression is the lattice's alone
    for point in content["points"]:
        assert set(point["costs"]) == {"discernibility", "loss"}
        assert 0 < point["risks"]["mean"] <= point["risks"]["highest"] <= 0.5
        assert point["verdict"] == "holds"
    assert any(point["pareto"] for point in content["points"])


def test_stubbornness_and_known_people_of_adversaries(files) -> None:
    files[1].write_text(
        files[1].read_text().split("# Everybody looks like")[0].replace("mondrian", "lattice")
        + """
[[require]]
kind = "epsilon-privacy"
epsilon = 2.5
adversary = { shape = "table", stubbornness = 1e3 }

[[require]]
kind = "epsilon-privacy"
epsilon = 40
adversary = { stubbornness = 100 }
"""
    )
    run = compare(
        files,
        *("--sweep", "epsilon-privacy#1.stubbornness=1e3,1e5,inf", "--sweep", "known=0,1"),
        *("--utility", "loss", "--json"),
    )
    assert run.returncode == 0, run.stderr
    points = json.loads(run.stdout)["points"]
    assert [tuple(point["settings"].values()) for point in points] == [
        (sigma, known) for sigma in (1000, 100_000, "inf") for known in (0, 1)
    ]
    assert {point["status"] for point in points} == {"released"}
    assert all(point["verdict"] == "holds" for point in points)


CASES = {
    "nothing swept": ((), "nothing is swept; this policy can sweep: k, up_to, l, t, distance"),
    "unknown parameter": (("--sweep", "kk=2"), "'kk' cannot be swept; this policy can sweep: k,"),
    "not a sweep": (("--sweep", "k"), "sweep 'k' is not understood"),
    "bad number": (("--sweep", "k=2,five!"), "sweep k: 'five!' is not a number or name"),
    "refused value": (("--sweep", "k=2,0"), "k-anonymity: k = 0 is not allowed"),
    "swept twice": (("--sweep", "k=2", "--sweep", "k=3"), "k is swept twice"),
    "unknown anonymizer": (("--sweep", "anonymizer=mondrain"), "did you mean 'mondrian'?"),
    "missing parameter": (
        ("--sweep", "anonymizer=lattice,microaggregation"),
        "anonymizer microaggregation: k is missing; sweep anonymizer.k too",
    ),
    "bad share": (("--sweep", "suppression=2%"), "sweep suppression: '2%' is not a number"),
    "unknown utility": (("--sweep", "k=2", "--utility", "los"), "did you mean 'loss'?"),
    "unknown risk": (("--sweep", "k=2", "--risk", "worst"), "allowed: belief, highest, mean"),
    "not a page": (("--sweep", "k=2", "--html", "map.pdf"), "use a name ending in .html"),
    "nowhere": (("--sweep", "k=2", "--html", "/nowhere/map.html"), "/nowhere is no folder"),
    "bad memory": (("--sweep", "k=2", "--memory", "lots"), "memory 'lots' is not a size"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_exit_2(files, case: str) -> None:
    arguments, said = CASES[case]
    run = compare(files, *arguments)
    assert run.returncode == 2, run.stderr
    assert run.stdout == ""
    assert said in run.stderr
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1


def test_mistakes_are_told_before_the_file_is_read(files) -> None:
    run = compare((Path("nowhere.csv"), files[1]), "--sweep", "k=0")
    assert "k = 0 is not allowed" in run.stderr


def test_help_has_an_example() -> None:
    assert "sfumato compare patients.csv" in sfumato("compare", "--help").stdout
