"""Reports on the command line: a page, a public variant, files beside a release."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pyarrow.csv as pa_csv
import pytest

from sfumato.datasets.census import census, census_policy
from sfumato.report.document import SCHEMA
from tests.program import sfumato


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    pa_csv.write_csv(census(400, seed=5), folder / "census.csv")
    (folder / "policy.toml").write_text(census_policy())
    run = sfumato(
        "anonymize",
        folder / "census.csv",
        "--policy",
        folder / "policy.toml",
        "--out",
        folder / "release",
        "--seed",
        1,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.rstrip().endswith(str(folder / "release" / "private" / "report.html"))
    return folder


def audit(home: Path, *more: object, what: str = "release"):
    return sfumato("audit", home / what, "--policy", home / "policy.toml", *more)


def test_a_release_has_its_report_in_private_and_the_public_one_beside_it(home: Path) -> None:
    private, public = home / "release" / "private", home / "release" / "public"
    assert {"report.html", "report.json", "report.md"} <= {p.name for p in private.iterdir()}
    (handed_out,) = (path for path in public.iterdir() if "report" in path.name)
    page = handed_out.read_text()
    assert "do not hand it out" not in page
    assert "The weakest groups" not in page
    assert "What it costs" not in page
    told = json.loads((private / "report.json").read_text())
    jsonschema.validate(told, json.loads(SCHEMA.read_text()))
    assert told["audience"] == "private"
    assert told["glance"]["loss"] > 0  # the table is at hand, so its cost is measured
    assert "do not hand it out" in (private / "report.html").read_text()


def test_what_was_done_is_told_with_and_without_the_table(home: Path) -> None:
    alone = audit(home, "--verbose").stdout
    beside = audit(home, "--verbose", "--table", home / "census.csv").stdout
    assert "what was there before takes the table" in " ".join(alone.split())
    assert " -> " not in alone.split("What was done")[1].split("Linkage")[0]
    assert " -> " in beside.split("What was done")[1].split("Linkage")[0]


def test_a_page_and_where_it_lies(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run = audit(home, "--html", page, "--report", tmp_path / "summary.md", what="census.csv")
    assert run.returncode == 1
    assert f"Private report  {page}\n" in run.stdout
    assert "What to do next" in page.read_text()
    assert "## What to do next" in (tmp_path / "summary.md").read_text()


def test_the_public_variant(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run = audit(home, "--html", page, "--public", "--json")
    assert run.returncode == 0
    told = json.loads(run.stdout)
    assert told["audience"] == "public"
    assert all(verdict["worst"] == [] for verdict in told["verdicts"])
    assert "do not hand it out" not in page.read_text()
    assert "The weakest groups" not in page.read_text().partition("<script>")[0]


def test_attacks_on_request(home: Path) -> None:
    run = audit(home, "--table", home / "census.csv", "--earlier", home / "release", "--json")
    assert run.returncode == 0, run.stderr
    told = {row["adversary"]: row for row in json.loads(run.stdout)["threats"]}
    for name in ("population learner", "membership attacker", "composition"):
        assert told[name]["status"] == "measured", told[name]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--html", "page.pdf"), "is no page; use a name ending in .html"),
        (("--html", "/nowhere/page.html"), "/nowhere is no folder"),
        (("--report", "report.docx"), "use a name ending in .html, .json or .md"),
        (("--public",), "--public is about what is written"),
        (("--earlier", "x"), "--earlier needs --table"),
    ],
)
def test_what_cannot_be_meant_is_one_line_before_any_work(home: Path, more, said: str) -> None:
    run = audit(home, *more, what="nowhere.csv")
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""


def test_a_report_that_is_there_is_not_written_over_and_is_its_owners(
    home: Path, tmp_path: Path
) -> None:
    page = tmp_path / "keep.html"
    page.write_text("mine")
    run = audit(home, "--html", page)
    assert run.returncode == 2
    assert run.stderr == f"error: {page} exists; give another name, or --force to replace it\n"
    assert page.read_text() == "mine"
    assert audit(home, "--html", page, "--force").returncode == 0
    assert page.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["keep.html"]
