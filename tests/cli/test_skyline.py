"""`sfumato skyline`: the points, the worst case in words, JSON, a page; mistakes in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.errors import SfumatoError
from tests.conftest import ROOT
from tests.program import sfumato

POLICY = """
[schema]
quasi = ["zip"]
sensitive = ["disease", "job"]

[[require]]
kind = "k-anonymity"
k = 2
"""
ROWS = "zip,disease,job\n" + "".join(
    f"{zip_},{disease},{job}\n"
    for zip_, diseases in {
        1: ["HIV", "flu", "flu", "cold", "cold", "gout"],
        2: ["HIV", "HIV", "flu", "cold", "gout", "gout", "flu"],
    }.items()
    for disease, job in zip(diseases, ["clerk", "cook"] * 4, strict=False)
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path / "rows.csv", tmp_path / "policy.toml"


def skyline(files, *more: object):
    return sfumato("skyline", files[0], "--policy", files[1], *more)


def test_the_points_of_a_value_are_listed(files) -> None:
    run = skyline(files, "--value", "HIV", "--confidence", "0.6", "--json")
    assert run.returncode == 0, run.stderr
    (found,) = json.loads(run.stdout)["facts"]["skylines"]
    assert (found["value"], found["sensitive"], found["confidence"]) == ("HIV", "disease", 0.6)
    groups = sf.Groups([[1, 2, 2, 1], [2, 1, 2, 2]], ["HIV", "cold", "flu", "gout"])
    assert found["points"] == sf.knowledge_skyline(groups, "HIV", 0.6).to_dict()["points"]
    assert found["points"]


def test_people_read_a_table(files) -> None:
    run = skyline(files, "--value", "HIV", "--confidence", "0.6", "--point", "1,1,0", "--verbose")
    assert run.returncode == 0
    assert "Knowledge skyline of rows.csv at 60% confidence" in run.stdout
    assert "Skyline of HIV" in run.stdout
    words = " ".join(run.stdout.split())
    assert "Worst case of HIV knowing (1, 1, 0)" in words
    assert "is 50% sure that the target has it" in words


def test_every_value_is_summarized(files) -> None:
    run = skyline(files, "--all-values", "--confidence", "0.9", "--json")
    assert run.returncode == 0
    found = json.loads(run.stdout)
    assert [one["value"] for one in found["facts"]["skylines"]] == [
        "HIV", "cold", "flu", "gout", "clerk", "cook",
    ]  # fmt: skip
    (summary,) = found["sections"]
    assert len(summary["tables"][0]["rows"]) == 6


def test_values_given_away_are_named_first_to_people(files) -> None:
    run = skyline(files, "--all-values", "--confidence", "0.5")
    assert run.returncode == 1
    assert "Given away  clerk" in run.stdout


def test_only_one_column_is_asked_when_named(files) -> None:
    run = skyline(files, "--all-values", "--sensitive", "job", "--confidence", "1", "--json")
    found = json.loads(run.stdout)["facts"]["skylines"]
    assert [one["value"] for one in found] == ["clerk", "cook"]


def test_it_may_be_judged_as_if_it_were_published_in_another_form(files) -> None:
    run = skyline(files, "--value", "HIV", "--case", "set", "--point", "1,0,0", "--json")
    facts = json.loads(run.stdout)["facts"]
    assert "published as one bag a group" in facts["skylines"][0]["case"]
    # Two of seven, and the same of a value that two others have: 5/7 of the odds are left.
    assert facts["groundings"][0]["confidence"] == pytest.approx(1 / (1 + 5 / 2 * 5 / 7))
    assert "judged as if the release published several values" in facts["as_if"][0]
    assert not json.loads(skyline(files, "--value", "HIV", "--json").stdout)["facts"]["as_if"]


def test_a_release_that_alone_gives_it_away_is_code_1(files) -> None:
    run = skyline(files, "--value", "clerk", "--confidence", "0.5", "--json")
    assert run.returncode == 1
    assert json.loads(run.stdout)["facts"]["skylines"][0]["status"] == "none_safe"


def test_the_page_opens_offline_and_is_not_overwritten(files, tmp_path) -> None:
    page = tmp_path / "skyline.html"
    run = skyline(files, "--value", "HIV", "--html", page)
    assert run.returncode == 0
    text = page.read_text(encoding="utf-8")
    assert " of HIV</h2>" in text
    assert "scatter3d" in text
    assert "http://" not in text.split("<script")[0]
    again = skyline(files, "--value", "HIV", "--html", page)
    assert again.returncode == 2
    assert skyline(files, "--value", "HIV", "--html", page, "--force").returncode == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "say which value: --value V for one, or --all-values"),
        (("--value", "HIV", "--all-values"), "not both"),
        (("--value", "HIVV"), "'HIVV' is not a value of 'disease'; did you mean 'HIV'?"),
        (("--value", "qqqqq"), "'qqqqq' is not a value of 'disease'; it has 4 others"),
        (("--value", "HIV", "--confidence", "0"), "confidence = 0.0 is not allowed"),
        (("--value", "HIV", "--confidence", "1.01"), "must be above 0 and at most 1"),
        (("--value", "HIV", "--point", "1,2"), "--point '1,2' is not L,K,M"),
        (("--value", "HIV", "--point", "1,x,2"), "--point '1,x,2' is not L,K,M"),
        (("--value", "HIV", "--point", "1,-1,2"), "k = -1 is not allowed"),
        (("--all-values", "--point", "1,1,1"), "--point is about one value"),
        (("--value", "HIV", "--sensitive", "jobb"), "did you mean 'job'?"),
        (("--value", "HIV", "--html", "page.txt"), "use a name ending in .html"),
        (("--value", "HIV", "--case", "sets"), "case = 'sets' is not known; did you mean 'set'?"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(files, more, words) -> None:
    before = sorted(files[0].parent.iterdir())
    told = refused(files, *more)
    assert words in told
    assert "\n" not in told
    assert "gout" not in told
    assert sorted(files[0].parent.iterdir()) == before


def refused(files, *more: str) -> str:
    """What the program is told by the library, whose errors it answers with code 2."""
    run = CliRunner().invoke(app, ["skyline", str(files[0]), "--policy", str(files[1]), *more])
    assert isinstance(run.exception, SfumatoError)
    return str(run.exception)


def test_a_mistake_is_code_2(files) -> None:
    run = skyline(files, "--value", "HIVV")
    assert run.returncode == 2
    assert run.stderr == "error: 'HIVV' is not a value of 'disease'; did you mean 'HIV'?\n"


def test_a_value_of_two_columns_needs_its_column(tmp_path) -> None:
    (tmp_path / "rows.csv").write_text("zip,disease,job\n1,none,none\n1,flu,cook\n1,flu,cook\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    files = (tmp_path / "rows.csv", tmp_path / "policy.toml")
    assert "'none' is a value of disease and job" in refused(files, "--value", "none")
    assert skyline(files, "--value", "none", "--sensitive", "job").returncode == 0


# -- lists ----------------------------------------------------------------------------------------

LISTS = """
[schema]
quasi = ["zip"]
sensitive = ["disease"]
several = "{several}"

[schema.lists]
disease = ";"

[[require]]
kind = "skyline-privacy"
points = [{points}]
"""


def lists(tmp_path: Path, rows: list[str], several: str, points: str) -> tuple[Path, Path]:
    (tmp_path / "rows.csv").write_text("zip,disease\n" + "".join(f"1,{row}\n" for row in rows))
    (tmp_path / "policy.toml").write_text(LISTS.format(several=several, points=points))
    return tmp_path / "rows.csv", tmp_path / "policy.toml"


def test_a_list_that_says_a_value_four_times_is_one_persons(tmp_path: Path) -> None:
    rows = ["flu;flu;flu;flu", "cold", "cold", "cough"]
    files = lists(tmp_path, rows, "multiset", "[0, 0, 0, 0.9]")
    run = skyline(files, "--value", "flu", "--confidence", "0.9", "--point", "0,0,0", "--verbose")
    assert run.returncode == 0
    told = " ".join(run.stdout.split())
    assert "nothing but the release is 25% sure that the target has it" in told
    assert "certain" not in told
    run = sfumato("audit", files[0], "--policy", files[1], "--json")
    assert run.returncode == 0
    (verdict,) = json.loads(run.stdout)["verdicts"]
    assert verdict["holds"] is True
    assert verdict["measured"] == 0.5
    assert verdict["at_most"] is False


def test_values_that_come_only_together_tell_nothing_more(tmp_path: Path) -> None:
    files = lists(tmp_path, ["HIV;TB;hepatitis"] * 3 + [""] * 6, "set", "[2, 0, 0, 0.9]")
    run = skyline(files, "--value", "HIV", "--confidence", "0.9", "--point", "2,0,0")
    assert run.returncode == 0
    assert "33% sure" in " ".join(run.stdout.split())
    run = skyline(files, "--value", "HIV", "--confidence", "0.9", "--point", "2,0,0", "--json")
    facts = json.loads(run.stdout)["facts"]
    case = "several values a person, each person's list published whole"
    assert [one["case"] for one in facts["skylines"] + facts["groundings"]] == [case, case]
    assert facts["groundings"][0]["at_most"] is False


def test_a_bound_is_called_at_most_wherever_it_is_told(tmp_path: Path) -> None:
    chance = Random(1)
    names = [f"v{place:02}" for place in range(45)]
    rows = [";".join(chance.sample(names, 3)) for _ in range(400)]
    files = lists(tmp_path, rows, "set", "[10, 2, 1, 0.1]")
    page = tmp_path / "skyline.html"
    asked = ("--value", "v00", "--confidence", "0.2", "--point", "10,2,1")
    run = skyline(files, *asked, "--html", page, "--verbose")
    assert "is at most " in " ".join(run.stdout.split())
    assert "is at most " in page.read_text()
    facts = json.loads(skyline(files, *asked, "--json").stdout)["facts"]
    assert facts["groundings"][0]["at_most"] is True
    page, report = tmp_path / "report.html", tmp_path / "report.json"
    told = ("audit", files[0], "--policy", files[1])
    run = sfumato(*told, "--html", page, "--report", report, "--verbose")
    assert run.returncode == 1
    words = " ".join(run.stdout.split())
    assert "at most 0." in words
    assert "at most 0." in page.read_text()
    (verdict,) = json.loads(report.read_text())["verdicts"]
    assert verdict["at_most"] is True
    assert "at most" in verdict["note"]
    assert verdict["worst"][0]["at_most"] is True


@pytest.mark.parametrize("value", ["hiv", "Hiv", "hivv"])
def test_the_case_of_a_value_is_no_mistake_without_a_hint(files, value: str) -> None:
    run = skyline(files, "--value", value)
    assert run.returncode == 2
    assert "did you mean 'HIV'?" in run.stderr


# -- one person -----------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "papers" / "skyline.md").read_text(encoding="utf-8")
TABLE, RELEASE = re.findall(r"```csv.*?\n(.*?)```", PAGE, re.DOTALL)
PATIENTS = re.search(r"```toml.*?\n(\[schema\].*?)```", PAGE, re.DOTALL)


@pytest.fixture
def hospital(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "patients.csv").write_text(TABLE)
    (tmp_path / "release.csv").write_text(RELEASE)
    (tmp_path / "policy.toml").write_text(PATIENTS[1])
    return tmp_path / "release.csv", tmp_path / "policy.toml"


TOM = ("--value", "AIDS", "--target", "age=38,sex=M,zip=12455")
GARY, ANN = ("--person", "Gary:age=31,sex=M,zip=12453"), ("--person", "Ann: #1")
FACTS = ("--knows", "not cancer", "--knows", "Gary has flu", "--knows", "if Ann has AIDS so has he")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("--target", "he"), "the target is 'he': say who that is"),
        (("--target", "age=38", "--person", "he:age=31"), "'he' is the target; give age=31"),
        (("--target", "age=38", "--person", "A:she"), "'A' is explained by another name"),
        (("--target", "A", "--person", "A:target"), "'A' is explained by another name"),
        (("--target", "A", "--person", "A:age=31", "--person", "A:age=34"), "a name twice"),
    ],
)
def test_who_a_name_means_is_plain(hospital, asked: tuple[str, ...], told: str) -> None:
    run = skyline(hospital, "--value", "AIDS", *asked)
    assert (run.returncode, run.stdout) == (2, "")
    assert told in run.stderr


def test_the_papers_opening_example(hospital) -> None:
    table = ("--table", hospital[0].parent / "patients.csv")
    run = skyline(hospital, *TOM, *GARY, *ANN, *FACTS, *table, "--json")
    assert run.returncode == 0, run.stderr
    facts = json.loads(run.stdout)["facts"]
    assert [one["fraction"] for one in facts["beliefs"]] == ["1/4", "1/3", "1/2", "2/3"]
    assert facts["groups"] == [{"age": "3*", "sex": "*", "zip": "124**"}]
    run = skyline(hospital, *TOM, *GARY, *ANN, *FACTS, *table, "--confidence", "0.6")
    assert run.returncode == 1
    words = " ".join(run.stdout.split())
    assert ", in the group age 3*, sex *, zip 124**, of 4 people" in words
    assert "who knows all of it reaches 60%" in words
    by_number = ("--value", "AIDS", "--target", "#8", "--knows", "#7 has flu", *table)
    assert "1/3" in skyline(hospital, *by_number).stdout


def test_whose_records_they_are_is_private(hospital) -> None:
    folder = hospital[0].parent
    point = ("--value", "AIDS", "--point", "0,1,1")
    run = skyline(hospital, *point, "--table", folder / "patients.csv", "--verbose")
    assert "somebody whose target is in the group age 2*, sex *, zip 1234*" in " ".join(
        run.stdout.split()
    )
    assert "shown on a terminal only" in run.stdout
    private = ("--table", folder / "patients.csv", "--private", folder / "who.json")
    run = skyline(hospital, *point, *private)
    people = json.loads((folder / "who.json").read_text())
    assert [(one["part"], one["records"]) for one in people] == [
        ("target", [1]), ("known", [3]), ("family", [2]),
    ]  # fmt: skip
    assert {one["group"] for one in people} == {"age 2*, sex *, zip 1234*"}
    assert "12345" not in run.stdout + run.stderr
    grounding = json.loads(skyline(hospital, *point, "--json").stdout)["facts"]["groundings"][0]
    assert grounding["target"] == "age 2*, sex *, zip 1234*"


def test_how_many_are_exposed_is_told_of_each_point(hospital) -> None:
    asked = ("--value", "AIDS", "--confidence", "0.9", "--point", "1,0,0", "--point", "2,0,0")
    document = json.loads(skyline(hospital, *asked, "--json").stdout)
    assert [one["exposed"] for one in document["facts"]["groundings"]] == [4, 8]
    (sheet,) = document["sections"][0]["tables"]
    assert sheet["columns"][3:] == [
        "one fact more exposes", "one person more exposes", "one relative more exposes",
    ]  # fmt: skip
    assert sheet["rows"] == [[0, 0, 1, 4, 4, 4], [0, 1, 0, 8, 4, 4]]
    assert "of 4 of 8 people somebody can be 90% sure" in document["sections"][1]["words"]


def test_who_may_be_in_two_groups_is_told_within_bounds(hospital) -> None:
    run = skyline(hospital, "--value", "AIDS", "--target", "sex=M")
    words = " ".join(run.stdout.split())
    assert "in one of 2 groups, it is not known which: bounds are told" in words
    assert "1/4 to 1/2 at most 50%" in words


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((*TOM, "--knows", "he has cancer", *GARY, "--knows", "Gary has cancer"), "contradicts"),
        ((*TOM, "--knows", "Gary has flu"), "nobody is called 'Gary'"),
        ((*TOM, "--knows", "flu"), "a fact 'flu' is not understood"),
        ((*TOM, "--person", "Gary"), "--person 'Gary' is not NAME:COLUMN=VALUE"),
        ((*TOM, "--point", "0,0,0"), "--target is about one value and no --point"),
        (("--all-values", "--target", "#1"), "--target is about one value"),
        (("--value", "AIDS", "--private", "who.json"), "give --table and --point too"),
        (("--value", "AIDS", "--knows", "not flu"), "say who it is with --target"),
        (("--value", "AIDS", "--target", "#1"), "#1 is a record of a table; give the table too"),
    ],
)
def test_mistakes_about_people_are_one_line(hospital, more, words) -> None:
    told = refused(hospital, *more)
    assert words in told
    assert "\n" not in told
