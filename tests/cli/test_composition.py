"""`sfumato attack intersect` and `sfumato ledger`, as they are typed."""
# ruff: noqa: E501 (a table of cases reads best one a line)

from __future__ import annotations

import json
import sqlite3
import stat
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sfumato.cli.main import app
from sfumato.errors import SfumatoError
from tests.cli.test_bad_input import sfumato as program


@dataclass(frozen=True)
class Run:
    """What a command did: its exit code and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def sfumato(*arguments: object) -> Run:
    """The command in this process; a mistake is told as the program tells it."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if isinstance(result.exception, SfumatoError):
        return Run(2, result.stdout, f"error: {result.exception}\n")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Run(result.exit_code, result.stdout, result.stderr)


POLICY = """
[schema]
quasi = ["age", "zip"]
sensitive = ["condition"]

[[require]]
criterion = "k-anonymity"
k = 2
"""
BOUND = """
[[require]]
criterion = "composition"
share = {share}
confidence = 1
earlier = "ledger.sqlite"
"""
FIRST = """age,zip,condition
<30,130**,AIDS
<30,130**,Heart
<30,130**,Viral
<30,130**,Viral
>=40,130**,Cancer
>=40,130**,Heart
>=40,130**,Viral
>=40,130**,Viral
30-39,130**,Cancer
30-39,130**,Cancer
30-39,130**,Cancer
30-39,130**,Cancer
"""
SECOND = """age,zip,condition
<35,130**,AIDS
<35,130**,TB
<35,130**,TB
<35,130**,Flu
<35,130**,Cancer
<35,130**,Cancer
>=35,130**,Cancer
>=35,130**,Cancer
>=35,130**,Cancer
>=35,130**,TB
>=35,130**,Viral
>=35,130**,Viral
"""
PEOPLE = "age,zip,condition\n28,13012,AIDS\n45,13012,Viral\n37,13012,Cancer\n32,13012,Cancer\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("first.csv", FIRST),
        ("second.csv", SECOND),
        ("people.csv", PEOPLE),
        ("policy.toml", POLICY),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def intersect(folder: Path, *more: object):
    return sfumato(
        "attack",
        "intersect",
        folder / "first.csv",
        folder / "second.csv",
        "--targets",
        folder / "people.csv",
        "--policy",
        folder / "policy.toml",
        *more,
    )


def test_two_hospitals(folder: Path) -> None:
    run = intersect(folder, "--truth", "condition", "--json", "--html", folder / "page.html")
    assert run.returncode == 0, run.stderr
    facts = json.loads(run.stdout)["facts"]
    assert (facts["people"], facts["exposed"], facts["perfect_breach"]) == (4, 3, 0.75)
    assert facts["precision"] == 1
    assert [point["share"] for point in facts["curve"]] == [0.75, 1]
    page = (folder / "page.html").read_text()
    assert "What these releases give away together" in page
    told = intersect(folder)
    assert "one value left (perfect breach)" in told.stdout
    assert "13012" not in told.stdout + run.stdout + page  # nobody is shown


@pytest.mark.parametrize("ending", ["parquet", "json"])
def test_what_is_learnt_of_each_is_private(folder: Path, ending: str) -> None:
    path = folder / f"private.{ending}"
    run = intersect(folder, "--private", path)
    assert run.returncode == 0, run.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    rows = json.loads(path.read_text()) if ending == "json" else pq.read_table(path).to_pylist()
    assert {row["target"]["age"]: row["values"] for row in rows} == {
        28: ["AIDS"],
        32: ["Cancer"],
        37: ["Cancer"],
        45: ["Cancer", "Viral"],
    }
    assert intersect(folder, "--private", path).returncode == 2
    assert intersect(folder, "--private", path, "--force").returncode == 0


def test_a_bucketized_pair_is_two_files(folder: Path) -> None:
    (folder / "quasi.csv").write_text("gid,age,zip\n1,28,13012\n1,45,13012\n")
    (folder / "values.csv").write_text("gid,condition\n1,AIDS\n1,Viral\n")
    run = sfumato(
        "attack", "intersect", folder / "first.csv", f"{folder / 'quasi.csv'}+{folder / 'values.csv'}",
        "--group", "gid", "--targets", folder / "people.csv", "--policy", folder / "policy.toml", "--json",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    facts = json.loads(run.stdout)["facts"]
    assert (facts["located"], facts["not_locatable"]) == (2, 2)


BAD = {
    "one release": (["first.csv"], [], "one release given; the attack intersects two or more"),
    "no such release": (["first.csv", "third.csv"], [], "third.csv"),
    "weight": (["first.csv", "second.csv"], ["--weight", "size"], "weight = 'size' is not known"),
    "prior": (["first.csv", "second.csv"], ["--prior", "flat"], "prior = 'flat' is not allowed"),
    "truth": (["first.csv", "second.csv"], ["--truth", "illness"], "column 'illness' (sensitive) is not in people.csv"),
    "page": (["first.csv", "second.csv"], ["--html", "page.txt"], "use a name ending in .html"),
    "evidence": (["first.csv", "second.csv"], ["--private", "rows.csv"], "use a name ending in .parquet or .json"),
}  # fmt: skip


@pytest.mark.parametrize(("releases", "more", "text"), BAD.values(), ids=list(BAD))
def test_mistakes(folder: Path, releases: list[str], more: list[str], text: str) -> None:
    paths = [folder / name for name in releases]
    run = sfumato(
        "attack", "intersect", *paths, "--targets", folder / "people.csv", "--policy",
        folder / "policy.toml", *(folder / one if one.endswith((".txt", ".csv")) else one for one in more),
    )  # fmt: skip
    assert run.returncode == 2
    assert text in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


def test_targets_without_quasi_identifiers(folder: Path) -> None:
    (folder / "people.csv").write_text("age\n28\n")
    run = program(
        "attack", "intersect", folder / "first.csv", folder / "second.csv",
        "--targets", folder / "people.csv", "--policy", folder / "policy.toml",
    )  # fmt: skip
    assert run.returncode == 2
    assert "column 'zip' (quasi) is not in people.csv" in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


# -- the ledger ----------------------------------------------------------------------------------


def ledger(folder: Path, what: str, *more: object):
    return sfumato("ledger", what, folder / "ledger.sqlite", *more)


def with_policy(folder: Path, release: str, *more: object) -> tuple[object, ...]:
    return (folder / release, "--policy", folder / "policy.toml", *more)


def test_a_ledger_from_beginning_to_end(folder: Path) -> None:
    assert ledger(folder, "list").returncode == 2
    run = ledger(folder, "add", *with_policy(folder, "first.csv", "--name", "first hospital"))
    assert run.returncode == 0, run.stderr
    assert "first hospital: 12 people in 3 groups, kept" in run.stdout
    again = ledger(folder, "add", *with_policy(folder, "first.csv", "--name", "first hospital"))
    assert again.returncode == 2
    assert "already has a release named 'first hospital'" in again.stderr
    listed = json.loads(ledger(folder, "list", "--json").stdout)["facts"]["releases"]
    assert [(one["name"], one["people"], one["population"]) for one in listed] == [
        ("first hospital", 12, "everybody")
    ]
    assert "first hospital" in ledger(folder, "list").stdout
    people = ("--targets", folder / "people.csv", "--json")
    violated = ledger(folder, "check", *with_policy(folder, "second.csv", *people))
    assert violated.returncode == 1, violated.stderr
    facts = json.loads(violated.stdout)["facts"]
    assert facts["findings"][0]["together"] == {"at_least": 3, "at_most": 3}
    assert facts["findings"][0]["alone"] == 0
    fine = ledger(folder, "check", *with_policy(folder, "second.csv", *people, "--share", "0.75"))
    assert fine.returncode == 0
    unsure = ledger(folder, "check", *with_policy(folder, "second.csv", "--share", "0.5"))
    assert unsure.returncode == 3
    assert "That cannot be judged." in " ".join(unsure.stdout.split())
    register = folder / "register.csv"
    pa_csv.write_csv(pa.table({"age": [45, 46, 28], "zip": ["13012"] * 3}), register)
    asked = ledger(folder, "check", *with_policy(folder, "second.csv", "--population", register))
    assert asked.returncode == 1
    both = ledger(
        folder, "check", *with_policy(folder, "second.csv", "--population", register, *people)
    )
    assert both.returncode == 2
    assert "--targets and --population: give one of them" in both.stderr


def test_a_policy_s_own_bound_decides(folder: Path) -> None:
    """In `audit`, in `anonymize`'s policy and in `ledger check` alike."""
    ledger(folder, "add", *with_policy(folder, "first.csv", "--name", "first"))
    for share, code in ((0.75, 0), (0.7, 1)):
        (folder / "policy.toml").write_text(POLICY + BOUND.format(share=share))
        people = ("--targets", folder / "people.csv")
        assert (
            ledger(folder, "check", *with_policy(folder, "second.csv", *people)).returncode == code
        )
    # Without the people: of those under 35 everybody is exposed, of the others those under 40.
    for share, code in ((1, 0), (0.5, 3), (0.4, 1)):
        (folder / "policy.toml").write_text(POLICY + BOUND.format(share=share))
        run = sfumato("audit", folder / "second.csv", "--policy", folder / "policy.toml", "--json")
        assert run.returncode == code


def test_a_ledger_of_the_future(folder: Path) -> None:
    ledger(folder, "add", *with_policy(folder, "first.csv"))
    connection = sqlite3.connect(folder / "ledger.sqlite")
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    run = ledger(folder, "list")
    assert run.returncode == 2
    assert "was written by a newer Sfumato (ledger format 7, this one knows 1)" in run.stderr


@pytest.mark.parametrize("command", [("attack", "intersect"), ("ledger", "add"), ("ledger", "check"), ("ledger", "list")])  # fmt: skip
def test_help_has_an_example(command: tuple[str, ...]) -> None:
    assert f"Example: sfumato {' '.join(command)}" in " ".join(sfumato(*command, "--help").stdout.split())  # fmt: skip
