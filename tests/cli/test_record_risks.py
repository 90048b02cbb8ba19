"""Records at risk on the command line: what is told, what is written, every mistake in one line."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.program import sfumato

POLICY = """
[schema]
quasi = ["age", "zip", "sex"]
sensitive = "disease"

[[require]]
kind = "k-anonymity"
k = 2
"""
ROWS = (
    "age,zip,sex,disease\n30,1,F,flu\n30,2,M,flu\n31,1,M,HIV\n31,2,F,flu\n30,1,F,TB\n40,2,M,flu\n"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("risks")
    data, policy = folder / "patients.csv", folder / "policy.toml"
    data.write_text(ROWS)
    policy.write_text(POLICY)
    return data, policy


def test_special_uniques_are_told_without_values_unless_asked(files, tmp_path: Path) -> None:
    data, policy = files
    page = tmp_path / "values.json"
    run = sfumato("attack", "uniques", data, "--policy", policy, "--private", page)
    assert run.returncode == 0, run.stderr
    assert "4 of 6 people are alone by 3 columns or fewer" in run.stdout
    assert "40" not in run.stdout
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    values = json.loads(page.read_text())["sections"][-1]["tables"][0]["rows"]
    assert ["age", "40"] in [row[:2] for row in values]
    told = json.loads(sfumato("attack", "uniques", data, "--policy", policy, "--json").stdout)
    assert told["facts"]["special"] == 4
    assert [section["title"] for section in told["sections"]][-1] == "Which combinations"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--size", "0"), "size = 0"),
        (("--column", "agee"), "'age'"),
        (("--sampling-fraction", "7"), "sampling_fraction = 7"),
        (("--private", "values.csv"), "cannot write 'values.csv'"),
        (("--private", "public/values.json"), "lies below public/, which is handed out"),
    ],
)
def test_mistakes_are_told_in_one_line(files, more: tuple[str, ...], why: str) -> None:
    run = sfumato("attack", "uniques", files[0], "--policy", files[1], *more)
    assert (run.returncode, run.stdout) == (2, "")
    assert why in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


def test_the_risk_of_every_record_is_written_below_private(files, tmp_path: Path) -> None:
    data, policy = files
    out, risks = tmp_path / "out", tmp_path / "risks.csv"
    run = sfumato("anonymize", data, "--policy", policy, "--out", out, "--record-risks")
    assert run.returncode == 0, run.stderr
    written = out / "private" / "record-risks.csv"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert len(written.read_text().splitlines()) == 7
    run = sfumato("audit", data, "--policy", policy, "--record-risks", risks)
    assert (run.returncode, str(risks) in run.stdout) == (1, True)
    assert stat.S_IMODE(risks.stat().st_mode) == 0o600
    again = sfumato("audit", data, "--policy", policy, "--record-risks", risks)
    assert (again.returncode, "--force" in again.stderr) == (2, True)
    public = out / "public" / "risks.csv"
    refused = sfumato("audit", data, "--policy", policy, "--record-risks", public)
    assert (refused.returncode, public.exists()) == (2, False)
    alone = sfumato(
        "audit",
        out / "public" / "data.csv",
        "--policy",
        policy,
        "--record-risks",
        public.parent.parent / "r.csv",
    )
    assert (alone.returncode, "give the table" in alone.stderr) == (2, True)
