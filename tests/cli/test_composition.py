"""`sfumato attack intersect` and `sfumato ledger`, as they are typed."""
# ruff: noqa: E501 (a table of cases reads best one a line)

from __future__ import annotations

import json
import sqlite3
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tests.program import sfumato

POLICY = """
[schema]
quasi = ["age", "zip"]
sensitive = ["condition"]

[[require]]
kind = "k-anonymity"
k = 2
"""
BOUND = """
[[require]]
kind = "composition"
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
    assert "fewer values left than by any one release" in told.stdout
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
    "overlap": (["first.csv", "second.csv"], ["--overlap", "size"], "overlap = 'size' is not known"),
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
    assert [(one["name"], one["people"], one["about"]) for one in listed] == [
        ("first hospital", 12, "everybody")
    ]
    shown = ledger(folder, "list").stdout
    assert "first hospital" in shown
    assert "1 release in " in " ".join(shown.split())
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
    told = " ".join(unsure.stdout.split())
    assert "second.csv together with 1 earlier release, for every combination" in told
    assert "at most 50% of people may have their value known" in told
    assert "That cannot be judged." in told
    assert "condition 6 to 12 " in told
    sure = ledger(
        folder, "check", *with_policy(folder, "second.csv", *people[:2], "--verbose")
    ).stdout
    assert "nobody may have their value known" in " ".join(sure.split())
    assert "the new one and first hospital 3 all together 3" in " ".join(sure.split())
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
    assert "was written by a newer Sfumato (ledger format 7, this one knows 2)" in run.stderr


NOT_A_LEDGER = {
    "missing": ("nowhere.sqlite", "nowhere.sqlite does not exist; "),
    "a text": ("people.csv", "people.csv is not a ledger, or is damaged; name another file"),
    "another database": ("cats.sqlite", "cats.sqlite is a database, but not a ledger; name another file"),
    "newer": ("newer.sqlite", "was written by a newer Sfumato (ledger format 7, this one knows 2); update Sfumato"),
}  # fmt: skip


@pytest.fixture
def wrong(folder: Path) -> Path:
    ledger(folder, "add", *with_policy(folder, "first.csv"))
    for name, change in (
        ("cats", "CREATE TABLE cats (name TEXT)"),
        ("newer", "PRAGMA user_version = 7"),
    ):
        path = folder / f"{name}.sqlite"
        if name == "newer":
            path.write_bytes((folder / "ledger.sqlite").read_bytes())
        connection = sqlite3.connect(path)
        connection.execute(change)
        connection.close()
    return folder


@pytest.mark.parametrize(("file", "text"), NOT_A_LEDGER.values(), ids=list(NOT_A_LEDGER))
def test_what_is_no_ledger_is_told_in_one_line_wherever_it_is_named(
    wrong: Path, file: str, text: str
) -> None:
    policy = ("--policy", wrong / "policy.toml")
    asked = [
        sfumato("ledger", "list", wrong / file),
        sfumato("ledger", "check", wrong / file, wrong / "second.csv", *policy),
    ]
    if file != "nowhere.sqlite":
        asked.append(sfumato("ledger", "add", wrong / file, wrong / "second.csv", *policy))
    bound = BOUND.format(share=0).replace("ledger.sqlite", file)
    (wrong / "bound.toml").write_text(POLICY + bound)
    named = ("--policy", wrong / "bound.toml")
    asked.append(sfumato("audit", wrong / "second.csv", *named))
    asked.append(sfumato("anonymize", wrong / "people.csv", *named, "--out", wrong / "out"))
    for run in asked:
        assert run.returncode == 2
        assert run.stdout == ""
        assert text in run.stderr
        assert run.stderr.count("\n") == 1
    assert all(
        "composition: " in run.stderr or "[[require]] number 2: earlier: " in run.stderr
        for run in asked[-2:]
    )
    assert not (wrong / "out").exists()


def test_other_mistakes_with_a_ledger(folder: Path) -> None:
    ledger(folder, "add", *with_policy(folder, "first.csv"))
    for run, text in (
        (sfumato("ledger", "list", folder), "is a folder; name a file for the ledger"),
        (sfumato("ledger", "add", folder, *with_policy(folder, "first.csv")), "is a folder; name a file for the ledger"),
        (ledger(folder, "add", *with_policy(folder, "third.csv")), "third.csv does not exist"),
        (ledger(folder, "check", folder / "second.csv", "--policy", folder / "no.toml"), "no.toml does not exist"),
        (ledger(folder, "check", *with_policy(folder, "second.csv", "--targets", folder / "no.csv")), "no.csv does not exist"),
        (ledger(folder, "check", *with_policy(folder, "second.csv", "--share", "2")), "share = 2.0 is not allowed"),
        (ledger(folder, "check", *with_policy(folder, "second.csv", "--confidence", "0")), "confidence = 0.0 is not allowed"),
        (ledger(folder, "check", *with_policy(folder, "second.csv", "--about", "ward")), "no release about 'ward'; populations: 'everybody'"),
        (ledger(folder, "check", *with_policy(folder, "second.csv", "--sensitive", "illness")), "'illness' is not a sensitive column"),
        (ledger(folder, "list", "--about", "ward"), "no release about 'ward'"),
    ):  # fmt: skip
        assert run.returncode == 2
        assert text in run.stderr
        assert run.stderr.count("\n") == 1
    assert ledger(folder, "check", folder / "second.csv").returncode == 2  # the policy is missing


NOISE = """
[schema]
quasi = ["age", "zip"]
sensitive = ["condition"]
nulls = "error"

[schema.domains]
age = [28, 45]
zip = ["13012"]
condition = ["AIDS", "Flu"]

[anonymizer]
kind = "noise"
epsilon = 0.5

[[require]]
kind = "differential-privacy"
epsilon = 0.5
"""


@pytest.fixture
def noisy(folder: Path) -> Path:
    """A folder with two draws of a randomised release, both in the ledger."""
    (folder / "noise.toml").write_text(NOISE)
    (folder / "raw.csv").write_text("age,zip,condition\n" + "28,13012,AIDS\n45,13012,Flu\n" * 40)
    for name, out in (("one", "noisy"), ("two", "noisier")):
        policy = ("--policy", folder / "noise.toml")
        run = sfumato("anonymize", folder / "raw.csv", *policy, "--out", folder / out)
        assert run.returncode == 0, run.stderr
        run = ledger(folder, "add", folder / out, *policy, "--name", name)
        assert run.returncode == 0, run.stderr
    return folder


def test_one_draw_counts_once_and_what_never_went_out_is_removed(noisy: Path) -> None:
    policy = ("--policy", noisy / "noise.toml")
    again = ledger(noisy, "add", noisy / "noisy", *policy, "--name", "three")
    assert again.returncode == 2
    assert "already has this very release, as 'one'" in again.stderr
    assert ledger(noisy, "remove", "two").returncode == 2  # not without --yes
    run = ledger(noisy, "remove", "two", "--yes")
    assert (run.returncode, run.stdout.strip()) == (0, "two: removed")
    spent = json.loads(ledger(noisy, "list", "--json").stdout)["facts"]["spent"]
    assert spent[0]["releases"] == 1


def test_promises_add_up_by_the_sum_and_by_opendp(noisy: Path) -> None:
    spent = json.loads(ledger(noisy, "list", "--json").stdout)["facts"]["spent"]
    assert [(one["neighbours"], one["epsilon"], one["delta"]) for one in spent] == [
        ("replace-one", 1.0, 0.0),
        ("add-remove", 0.5, 0.0),
    ]
    assert spent[0]["tighter"]["epsilon"] > 1
    assert spent[0]["tighter"]["delta"] == 1e-6
    shown = " ".join(ledger(noisy, "list", "--verbose").stdout.split())
    assert "everybody replace-one 2 epsilon 1" in shown
    # The new one counts as well; noisy counts are nothing to intersect.
    check = ledger(noisy, "check", noisy / "noisy", "--policy", noisy / "noise.toml", "--json")
    assert check.returncode == 3
    assert json.loads(check.stdout)["facts"]["spent"][0]["epsilon"] == 1.5
    told = json.loads(check.stdout)["sections"][-1]
    assert told["title"] == "Promises"
    assert told["tables"][0]["rows"][0][:4] == ["everybody", "replace-one", 3, "epsilon 1.5"]


def test_promises_without_opendp_are_the_sum_with_a_note(
    noisy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opendp", None)
    run = ledger(noisy, "list", "--json")
    assert run.returncode == 0
    (spent, _) = json.loads(run.stdout)["facts"]["spent"]
    assert (spent["epsilon"], spent["tighter"]) == (1.0, None)
    assert "pip install 'sfumato[dp]'" in spent["note"]
    assert "pip install 'sfumato[dp]'" in " ".join(ledger(noisy, "list").stdout.split())


# -- centroids of another tool -------------------------------------------------------------------

CENTROIDS = """age,zip,condition
30.5,13012,AIDS
30.5,13012,Viral
45.25,13012,Cancer
45.25,13012,TB
"""


@pytest.fixture
def points(folder: Path) -> Path:
    (folder / "points.csv").write_text(CENTROIDS)
    return folder


def attack(folder: Path, releases: list[str], *more: object) -> CompletedProcess[str]:
    paths = [folder / name for name in releases]
    return sfumato(
        "attack", "intersect", *paths, "--targets", folder / "people.csv", "--policy",
        folder / "policy.toml", "--json", *more,
    )  # fmt: skip


def test_a_file_of_centroids_must_be_said_to_be_one(points: Path) -> None:
    """Read as values it locates nobody; the nearest centroids locate everybody."""
    both = ["points.csv", "second.csv"]
    assert json.loads(attack(points, both).stdout)["facts"]["located"] == 0
    each = attack(points, both, "--scheme", "microaggregated", "--scheme", "generalized")
    facts = json.loads(each.stdout)["facts"]
    assert (facts["located"], facts["not_locatable"]) == (4, 0)
    # {AIDS, Viral} or {Cancer, TB} against the second hospital's groups: 28, 32 AIDS, 37 Viral.
    assert (facts["exposed"], facts["left"]) == (3, [3, 1])
    once = attack(points, both, "--scheme", "microaggregated")
    assert once.returncode == 2  # then the second file would be one as well
    assert "shows '<35', which is no centroid" in once.stderr


def test_said_once_it_is_about_files_and_not_about_our_folders(points: Path) -> None:
    made = sfumato(
        "anonymize",
        points / "people.csv",
        "--policy",
        points / "policy.toml",
        "--out",
        points / "made",
    )
    assert made.returncode == 0, made.stderr
    run = attack(points, ["points.csv", "made"], "--scheme", "microaggregated")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["facts"]["located"] == 4
    each = attack(points, ["points.csv", "made"], *["--scheme", "microaggregated"] * 2)
    assert each.returncode == 2
    assert "tell their own scheme" in each.stderr


def test_the_ledger_and_audit_take_centroids(points: Path) -> None:
    said = ("--scheme", "microaggregated")
    run = ledger(points, "add", *with_policy(points, "points.csv", *said, "--name", "points"))
    assert run.returncode == 0, run.stderr
    listed = json.loads(ledger(points, "list", "--json").stdout)["facts"]["releases"]
    assert listed[0]["scheme"] == "microaggregated"
    people = ("--targets", points / "people.csv", "--json")
    check = ledger(points, "check", *with_policy(points, "second.csv", *people))
    assert check.returncode == 1
    assert json.loads(check.stdout)["facts"]["findings"][0]["together"]["at_least"] == 3
    new = ledger(points, "check", *with_policy(points, "points.csv", *said, *people))
    assert json.loads(new.stdout)["facts"]["findings"][0]["people"] == 4
    run = sfumato(
        "audit", points / "points.csv", "--policy", points / "policy.toml", "--json", *said
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["release"]["scheme"] == "microaggregated"


SCHEMES = {
    "unknown": (["--scheme", "microagregated"], "did you mean 'microaggregated'?"),
    "too many": (["--scheme", "generalized"] * 3, "--scheme is given 3 times for 2 releases"),
}


@pytest.mark.parametrize(("more", "text"), SCHEMES.values(), ids=list(SCHEMES))
def test_schemes_that_cannot_be_meant(points: Path, more: list[str], text: str) -> None:
    run = attack(points, ["points.csv", "second.csv"], *more)
    assert run.returncode == 2
    assert text in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [("attack", "intersect"), ("ledger", "add"), ("ledger", "check"), ("ledger", "list")])  # fmt: skip
def test_help_has_an_example(command: tuple[str, ...]) -> None:
    assert f"Example: sfumato {' '.join(command)}" in " ".join(sfumato(*command, "--help").stdout.split())  # fmt: skip


# -- audited again, by whoever has the evidence ----------------------------------------------------


@pytest.fixture
def composed(tmp_path: Path) -> Path:
    """Half of a table released before and kept in a ledger, and the policy for the other half."""
    rng = np.random.default_rng(4)
    many = 240
    age = rng.integers(20, 60, many)
    rows = pa.table(
        {
            "age": age,
            "sex": rng.choice(["F", "M"], many),
            "ill": rng.choice(["cold", "flu", "gout", "none"], many),
        }
    )
    pa_csv.write_csv(rows.slice(0, 180), tmp_path / "first.csv")
    pa_csv.write_csv(rows.slice(60), tmp_path / "second.csv")
    (tmp_path / "policy.toml").write_text(PEOPLE_POLICY.format(anonymizer="mondrian"))
    first = PEOPLE_POLICY.split('[[require]]\nkind = "composition"')[0]
    first = first.format(anonymizer="mondrian").replace("5, 10, 20", "7, 14")
    (tmp_path / "first.toml").write_text(first)
    made = sfumato(
        "anonymize",
        tmp_path / "first.csv",
        "--policy",
        tmp_path / "first.toml",
        "--out",
        tmp_path / "r1",
        "--seed",
        1,
    )
    assert made.returncode == 0, made.stderr
    kept = sfumato(
        "ledger",
        "add",
        tmp_path / "ledger.sqlite",
        tmp_path / "r1",
        "--policy",
        tmp_path / "first.toml",
        "--name",
        "r1",
    )
    assert kept.returncode == 0, kept.stderr
    return tmp_path


PEOPLE_POLICY = """
[schema]
quasi = ["age", "sex"]
sensitive = "ill"
[schema.hierarchies]
age = {{ kind = "intervals", widths = [5, 10, 20] }}
[anonymizer]
kind = "{anonymizer}"
[[require]]
kind = "k-anonymity"
k = 3
[[require]]
kind = "composition"
share = 0.1
confidence = 0.5
earlier = "ledger.sqlite"
counting = "added"
"""


@pytest.mark.parametrize("anonymizer", ["mondrian", "lattice"])
def test_a_release_that_is_safe_beside_earlier_ones_audits_as_safe(
    composed: Path, anonymizer: str
) -> None:
    policy = composed / "policy.toml"
    policy.write_text(PEOPLE_POLICY.format(anonymizer=anonymizer))
    out, second = composed / "r2", composed / "second.csv"
    run = sfumato("anonymize", second, "--policy", policy, "--out", out, "--seed", 2)
    assert run.returncode == 0, run.stderr
    people = out / "private" / "people.parquet"
    assert stat.S_IMODE(people.stat().st_mode) == 0o600
    assert "ill" not in pq.read_schema(people).names
    for rules in (policy, out / "private" / "policy.toml"):
        run = sfumato("audit", out, "--policy", rules)
        assert run.returncode == 0, run.stdout + run.stderr
    people.unlink()  # without the evidence nobody can tell, unless the table is given
    assert sfumato("audit", out, "--policy", policy).returncode == 3
    run = sfumato("audit", out, "--policy", policy, "--table", second)
    assert run.returncode == 0, run.stdout + run.stderr
    # Another table's people are not those the groups count.
    run = sfumato("audit", out, "--policy", policy, "--table", composed / "first.csv")
    assert run.returncode == 3
    assert "does not tell who is in which group" in " ".join(run.stdout.split())


def test_evidence_of_another_release_is_refused(composed: Path) -> None:
    policy, second = composed / "policy.toml", composed / "second.csv"
    for name, seed in (("r2", 2), ("r3", 3)):  # the same groups, the rows in another order
        run = sfumato(
            "anonymize", second, "--policy", policy, "--out", composed / name, "--seed", seed
        )
        assert run.returncode == 0, run.stderr
    people = "private/people.parquet"
    (composed / "r2" / people).write_bytes((composed / "r3" / people).read_bytes())
    run = sfumato("audit", composed / "r2", "--policy", policy)
    assert (run.returncode, len(run.stderr.splitlines())) == (2, 1)
    assert "was changed since the release was made" in run.stderr
    (composed / "r2" / "private" / "manifest.sha256").unlink()
    run = sfumato("audit", composed / "r2", "--policy", policy)
    assert (run.returncode, "was written for other data" in run.stderr) == (2, True)


@pytest.fixture
def evidence(composed: Path) -> Path:
    """A release that holds beside the earlier one, with the evidence of who is in which group."""
    policy, second = composed / "policy.toml", composed / "second.csv"
    out = composed / "r2"
    run = sfumato("anonymize", second, "--policy", policy, "--out", out, "--seed", 2)
    assert run.returncode == 0, run.stderr
    assert sfumato("audit", out, "--policy", policy).returncode == 0
    return out


def changed(rows: pa.Table, name: str, make: Callable[[list[Any]], list[Any]]) -> pa.Table:
    """The same rows with other cells in one column."""
    cells = pa.array(make(rows.column(name).to_pylist()))
    found = rows.set_column(rows.schema.names.index(name), name, cells)
    return found.replace_schema_metadata(rows.schema.metadata)


def headed(rows: pa.Table, **more: object) -> pa.Table:
    """The same rows that say other things of themselves."""
    (key, head), *_ = rows.schema.metadata.items()
    return rows.replace_schema_metadata({key: json.dumps({**json.loads(head), **more})})


CHANGES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "one more": lambda t: changed(t, "people", lambda n: [n[0] + 1, *n[1:]]),
    "nobody": lambda t: changed(t, "people", lambda n: [None, *n[1:]]),
    "less than nobody": lambda t: pa.concat_tables(
        [
            t,
            changed(t, "people", lambda n: [2 * one for one in n]),
            changed(t, "people", lambda n: [-2 * one for one in n]),
        ]
    ),
    "fractions": lambda t: changed(t, "people", lambda n: [float(one) for one in n]),
    "other people": lambda t: changed(t, "exact 0", lambda ages: [30] * len(ages)),
    "words": lambda t: changed(t, "exact 0", lambda ages: ["x"] * len(ages)),
    "unknown people": lambda t: changed(t, "exact 0", lambda ages: [None] * len(ages)),
    "no column": lambda t: t.drop_columns(["exact 1"]),
    "columns exchanged": lambda t: headed(t, columns=["sex", "age"]),
    "no files": lambda t: headed(t, files=None),
    "no head": lambda t: t.replace_schema_metadata({b"sfumato people": b"[]"}),
}


def test_changed_evidence_is_refused(evidence: Path) -> None:
    """By the hash it was kept with, and without that by what it says."""
    people, kept = (evidence / "private" / name for name in ("people.parquet", "manifest.sha256"))
    true, hashed = pq.read_table(people), kept.read_bytes()
    for what, change in CHANGES.items():
        pq.write_table(change(true), people)
        kept.write_bytes(hashed)
        for word in ("was changed since the release was made", "people.parquet"):
            run = sfumato("audit", evidence, "--policy", evidence.parent / "policy.toml")
            assert (run.returncode, len(run.stderr.splitlines())) == (2, 1), (what, run.stderr)
            assert word in run.stderr, what
            kept.unlink(missing_ok=True)


def test_ledger_check_counts_what_is_added(folder: Path) -> None:
    ledger, policy = folder / "counting.sqlite", folder / "policy.toml"
    assert (
        sfumato("ledger", "add", ledger, folder / "first.csv", "--policy", policy).returncode == 0
    )
    check = ["ledger", "check", ledger, folder / "first.csv", "--policy", policy]
    check += ["--targets", folder / "people.csv", "--json"]
    for counting, code in (("all", 1), ("added", 0)):  # the same once more adds nobody
        run = sfumato(*check, "--counting", counting)
        assert run.returncode == code, run.stderr
        assert json.loads(run.stdout)["facts"]["required"]["counting"] == counting
    wrong = sfumato(*check, "--counting", "new")
    assert (wrong.returncode, "'all', 'added'" in wrong.stderr) == (2, True)
    bound = policy.read_text() + BOUND.format(share=0).replace("ledger.sqlite", "counting.sqlite")
    (folder / "added.toml").write_text(bound + 'counting = "added"\n')
    check[check.index(policy)] = folder / "added.toml"
    assert sfumato(*check).returncode == 0  # the policy's own
    assert sfumato(*check, "--counting", "all").returncode == 1


def test_a_link_that_leads_nowhere_ends_in_one_line(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    bound = (folder / "policy.toml").read_text() + BOUND.format(share=0)
    for earlier in ('"loop"', '["loop"]', '{ file = "loop", releases = ["2023"] }'):
        (folder / "loop.toml").write_text(bound.replace('"ledger.sqlite"', earlier))
        run = sfumato("audit", folder / "first.csv", "--policy", folder / "loop.toml")
        assert run.returncode == 2
        assert run.stderr.count("\n") == 1, run.stderr
        assert run.stderr.startswith("error: ")
    for words in (("list", folder / "loop"), ("check", folder / "loop", folder / "first.csv")):
        more = ("--policy", folder / "policy.toml") if words[0] == "check" else ()
        run = sfumato("ledger", *words, *more)
        assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
