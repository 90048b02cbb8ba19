"""The audit command: exit codes, JSON, and that nothing unlisted is in any output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.small_audit import DATA, POLICY, audit
from tests.program import sfumato


@pytest.mark.parametrize(
    ("k", "code", "said"), [(2, 0, "The policy holds"), (3, 1, "The policy is violated")]
)
def test_the_exit_code_is_the_verdict(tmp_path: Path, k: int, code: int, said: str) -> None:
    run = audit(tmp_path, DATA, POLICY.replace("k = 2", f"k = {k}"))
    assert run.returncode == code
    assert said in run.stdout
    assert run.stderr == ""


def test_what_cannot_be_judged_exits_3(tmp_path: Path) -> None:
    policy = POLICY.replace('sensitive = ["disease"]', "") + (
        '[[require]]\nkind = "distinct-diversity"\nl = 2\n'
    )
    run = audit(tmp_path, DATA, policy)
    assert run.returncode == 3
    assert "not shown safe" in run.stdout


def test_json_on_stdout_and_in_the_report_agree(tmp_path: Path) -> None:
    run = audit(tmp_path, DATA, POLICY.replace("k = 2", "k = 3"), "rows.csv", "--json")
    printed = json.loads(run.stdout)
    assert printed == json.loads((tmp_path / "report.json").read_text())
    assert printed["holds"] is False
    assert printed["verdicts"][0]["measured"] == 2
    assert printed["verdicts"][0]["worst"][0]["description"] == {"age": "30", "zip": "13053"}


def test_infinity_is_written_as_inf(tmp_path: Path) -> None:
    policy = POLICY + '[[require]]\nkind = "recursive-diversity"\nc = 3\nl = 3\n'
    printed = json.loads(audit(tmp_path, DATA, policy, "rows.csv", "--json").stdout)
    assert printed["verdicts"][1]["measured"] == "inf"


def test_an_unlisted_column_is_in_no_output(tmp_path: Path) -> None:
    data = "age,zip,disease,diary,name\n" + "30,13053,flu,xyzzy,plugh\n30,13053,cold,xyzzy,plugh\n"
    policy = POLICY.replace(
        'sensitive = ["disease"]', 'sensitive = ["disease"]\nidentifiers = ["name"]'
    )
    for more in ((), ("--json",)):
        run = audit(tmp_path, data, policy, "rows.csv", *more)
        everything = run.stdout + run.stderr + (tmp_path / "report.json").read_text()
        assert run.returncode == 1
        for secret in ("xyzzy", "plugh"):
            assert secret not in everything


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(
    ("columns", "code", "told"),
    [
        ("name,", 1, {"identifiers": ("violated", "name")}),
        ("ssn,", 3, {"columns without a role": ("cannot_judge", "ssn")}),
        (
            "name,ssn,Diary,",
            1,
            {
                "identifiers": ("violated", "name"),
                "columns without a role": ("cannot_judge", "ssn, Diary"),
            },
        ),
        ("region,", 0, {}),
        ("", 0, {}),
    ],
)
def test_a_file_that_still_names_people_fails_and_unknown_columns_are_not_shown_safe(
    tmp_path: Path, columns: str, code: int, told: dict[str, tuple[str, str]], public: bool
) -> None:
    """Whatever stands in the file is published with it, also what no role speaks of."""
    cells = "".join(f"secret-{name}," for name in columns.split(",") if name)
    data = f"{columns}age,zip,disease\n{cells}30,13053,flu\n{cells}30,13053,cold\n"
    policy = POLICY.replace(
        'sensitive = ["disease"]',
        'sensitive = ["disease"]\nidentifiers = ["name"]\nkeep = ["region"]',
    )
    more = ("--public",) if public else ()
    run = audit(tmp_path, data, policy, "rows.csv", "--json", *more)
    assert run.returncode == code, run.stdout + run.stderr
    printed = json.loads(run.stdout)
    found = {one["criterion"]: one for one in printed["verdicts"]}
    assert {
        name: (one["status"], one["attribute"])
        for name, one in found.items()
        if name != "k-anonymity"
    } == told
    assert found["k-anonymity"]["status"] == "holds"
    for _, names in told.values():
        assert names in printed["headline"] or code == 1
    assert "secret-" not in run.stdout
    shown = audit(tmp_path, data, policy, "rows.csv")
    assert shown.returncode == code
    assert all(names in shown.stdout for _, names in told.values())


def test_kept_columns_are_reported_as_unprotected(tmp_path: Path) -> None:
    data = "age,zip,disease,ward\n30,1,flu,A\n30,1,cold,B\n"
    policy = POLICY.replace('sensitive = ["disease"]', 'sensitive = ["disease"]\nkeep = ["ward"]')
    assert "unprotected and unjudged: ward" in " ".join(
        audit(tmp_path, data, policy).stdout.split()
    )


def test_demo_goes_the_whole_way_and_its_release_can_be_judged_by_anybody(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    run = sfumato("demo", "--out", out, "--people", 800)
    assert run.returncode == 0, run.stderr
    assert "As it stands, the policy is violated" in run.stdout
    policy = out / "input" / "policy.toml"
    assert sfumato("audit", out / "input" / "census.csv", "--policy", policy).returncode == 1
    assert sfumato("audit", out / "release", "--policy", policy).returncode == 0
    data = out / "release" / "public" / "data.csv"
    assert sfumato("audit", data, "--policy", policy).returncode == 0
    report = json.loads((out / "release" / "private" / "report.json").read_text())
    assert report["holds"] is True
    assert sfumato("demo", "--out", out, "--people", 300, "--force").returncode == 0


def test_help_has_an_example_for_every_command() -> None:
    listed = sfumato("--help").stdout
    for command in ("anonymize", "audit", "compare", "demo", "init", "price"):
        assert command in listed
        assert f"sfumato {command}" in sfumato(command, "--help").stdout


def test_a_log_does_not_tell_who_is_worst_off(tmp_path: Path) -> None:
    """Continuous integration keeps what is printed, where many may read it."""
    (tmp_path / "people.csv").write_text("age,town,ill\n37,Ulm,flu\n52,Bonn,gout\n52,Bonn,flu\n")
    (tmp_path / "policy.toml").write_text(
        '[schema]\nquasi = ["age", "town"]\nsensitive = "ill"\n'
        '[[require]]\nkind = "k-anonymity"\nk = 2\n'
    )
    run = sfumato("audit", tmp_path / "people.csv", "--policy", tmp_path / "policy.toml")
    assert run.returncode == 1
    assert "Worst group" not in run.stdout
    assert "Ulm" not in run.stdout
    assert "37" not in run.stdout
    page = tmp_path / "report.html"
    run = sfumato(
        "audit", tmp_path / "people.csv", "--policy", tmp_path / "policy.toml", "--html", page
    )
    assert "Ulm" in page.read_text()
