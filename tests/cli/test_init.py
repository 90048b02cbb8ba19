"""The init command: a draft on stdout or in a file, questions on stderr, and it can be audited."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from sfumato.datasets.census import census
from tests.cli.small_audit import DATA
from tests.policy.drafted_tables import german, lists_and_dates, two_hundred
from tests.program import sfumato


def drafted_and_audited(data: Path, folder: Path) -> tuple[str, str]:
    """Draft a policy and audit by it, unedited; gives back the policy and what was said."""
    policy = folder / "draft.toml"
    run = sfumato("init", data, "--out", policy)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    audit = sfumato("audit", data, "--policy", policy)
    assert audit.returncode in (0, 1, 3), audit.stderr
    return policy.read_text(encoding="utf-8"), run.stderr


def test_the_census(tmp_path: Path) -> None:
    pa_csv.write_csv(census(2000), tmp_path / "census.csv")
    text, said = drafted_and_audited(tmp_path / "census.csv", tmp_path)
    assert '"name",  # its name says name' in text
    assert '"disease": is it what nobody may learn?' in said
    assert "sfumato audit" in said


@pytest.mark.parametrize(
    ("name", "expected"),
    [("adult/adult.csv", '"salary-class"'), ("acs2019/national.csv", '# weight = "PWGTP"')],
)
def test_public_files(data_folder: Path, tmp_path: Path, name: str, expected: str) -> None:
    text, _ = drafted_and_audited(data_folder / name, tmp_path)
    assert expected in text


def test_awkward_files(tmp_path: Path) -> None:
    (tmp_path / "klinik.csv").write_text(german(), encoding="utf-8")
    pq.write_table(lists_and_dates(), tmp_path / "lists.parquet")
    pa_csv.write_csv(two_hundred(), tmp_path / "wide.csv")
    for name, expected in {
        "klinik.csv": 'decimal = ","',
        "lists.parquet": 'kind = "dates"',
        "wide.csv": '"respondent_id",  # ',
    }.items():
        folder = tmp_path / name.split(".")[0]
        folder.mkdir()
        text, _ = drafted_and_audited(tmp_path / name, folder)
        assert expected in text


def test_the_draft_goes_to_stdout_and_the_questions_to_stderr(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(DATA)
    run = sfumato("init", tmp_path / "rows.csv")
    assert run.returncode == 0
    assert run.stdout.startswith("# A policy drafted by `sfumato init` from rows.csv (2 rows")
    assert run.stdout.endswith("\n")
    assert "For you to decide" in run.stderr
    as_json = json.loads(sfumato("init", tmp_path / "rows.csv", "--json").stdout)
    assert as_json["policy"] == run.stdout
    assert as_json["questions"]


def test_a_delimiter_and_decimal_given_are_kept(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('age,paid\n30,"1,234"\n31,"2,345"\n')
    run = sfumato("init", tmp_path / "rows.csv", "--delimiter", ",", "--decimal", ",")
    assert 'delimiter = ","\ndecimal = ","' in run.stdout


def test_an_existing_file_is_refused_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(DATA)
    out = tmp_path / "policy.toml"
    out.write_text("precious")
    run = sfumato("init", tmp_path / "rows.csv", "--out", out)
    assert run.returncode == 2
    assert run.stderr == f"error: {out} exists; give another name, or --force to replace it\n"
    assert out.read_text() == "precious"
    assert sfumato("init", tmp_path / "rows.csv", "--out", out, "--force").returncode == 0
    assert out.read_text().startswith("# A policy drafted")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.toml", "rows.csv"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("nowhere.csv", None, "nowhere.csv does not exist"),
        ("empty.csv", "", "empty.csv is empty"),
        ("header.csv", "age,zip\n", "header.csv holds 0 rows"),
        ("ragged.csv", "age,zip\n1,2\n3\n", "ragged.csv, line 3 has 1 fields, the header 2"),
        ("rows.xlsx", "x", "unknown kind of file"),
        ("rows.parquet", "x", "rows.parquet cannot be read"),
        ("twice.csv", "a,a\n1,2\n", "column 2 of the header has the name of another"),
    ],
)
def test_bad_input(tmp_path: Path, name: str, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    out = tmp_path / "policy.toml"
    run = sfumato("init", tmp_path / name, "--out", out)
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""
    assert not out.exists()


def test_bad_options(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(DATA)
    run = sfumato("init", tmp_path / "rows.csv", "--decimal", "x")
    assert (run.returncode, run.stderr) == (
        2,
        "error: decimal 'x' is not allowed; use '.' or ','\n",
    )


def test_help_has_an_example() -> None:
    assert "init" in sfumato("--help").stdout
    assert "sfumato init patients.csv --out policy.toml" in sfumato("init", "--help").stdout
