"""A noise policy from file to folder to audit, and every mistake in one line."""
# ruff: noqa: E501 (a table of cases reads best one a line)

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

from tests.program import sfumato

DATA = "age,city,disease\n" + "".join(
    f"{20 + n % 40},{('ulm', 'bonn')[n % 2]},{('flu', 'cold')[n % 3 == 0]}\n" for n in range(240)
)
POLICY = """
[schema]
quasi = ["age", "city"]
sensitive = ["disease"]
nulls = "error"

[schema.hierarchies]
age = { kind = "intervals", widths = [10], bottom = 20, top = 60 }

[schema.domains]
city = ["ulm", "bonn", "kiel"]
disease = ["flu", "cold", "gout"]

[anonymizer]
kind = "noise"
epsilon = 1.0
levels = { age = 1 }

[[require]]
kind = "differential-privacy"
epsilon = 1.0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(DATA)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def anonymize(folder: Path, policy: str = POLICY, *more: object):
    (folder / "policy.toml").write_text(policy)
    return sfumato(
        "anonymize",
        folder / "rows.csv",
        "--policy",
        folder / "policy.toml",
        "--out",
        folder / "out",
        *more,
    )


def changed(before: str, after: str) -> str:
    assert before in POLICY
    return POLICY.replace(before, after)


def option(lines: str) -> str:
    """The policy with more options of its noise."""
    return changed("epsilon = 1.0\nlevels", f"epsilon = 1.0\n{lines}\nlevels")


def required(epsilon: str) -> str:
    """The policy with another bound."""
    head, bound = POLICY.split("[[require]]")
    return f"{head}[[require]]{bound.replace('1.0', epsilon)}"


def audited(folder: Path, policy: str) -> tuple[int, dict]:
    (folder / "other.toml").write_text(policy)
    run = sfumato("audit", folder / "out", "--policy", folder / "other.toml", "--json")
    return run.returncode, json.loads(run.stdout)


def test_from_a_policy_to_a_folder_to_an_audit(folder: Path) -> None:
    made = anonymize(folder, POLICY, "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["holds"] is True
    data = pa_csv.read_csv(folder / "out/public/data.csv")
    assert data.num_rows == 6 * 3 * 3  # every cell, also kiel and gout, which nobody has
    assert data.column_names == ["age", "city", "disease", "count"]
    assert min(data["count"].to_pylist()) >= 0
    code, told = audited(folder, POLICY)
    assert (code, told["status"]) == (0, "holds")
    assert told["verdicts"][0]["measured"] == 1.0
    assert {threat["adversary"] for threat in told["threats"]} >= {"any prior"}
    code, told = audited(folder, required("0.5"))
    assert (code, told["status"]) == (1, "violated")
    code, told = audited(folder, POLICY + '\n[[require]]\nkind = "k-anonymity"\nk = 2\n')
    assert (code, told["status"]) == (3, "could_not_judge")
    assert told["verdicts"][1]["status"] == "not_applicable"
    assert "counts are noisy" in told["verdicts"][1]["note"]


def test_its_file_alone_is_refused_by_every_command(folder: Path) -> None:
    """It would pass for a table: counts have no role there, and cells of nobody are people."""
    assert anonymize(folder).returncode == 0
    file, policy = folder / "out/public/data.csv", folder / "exact.toml"
    exact = POLICY[: POLICY.index("[anonymizer]")]
    policy.write_text(exact + '[[require]]\nkind = "k-anonymity"\nk = 2\n')
    rows = folder / "rows.csv"
    with_policy = ("--policy", policy)
    for command in (
        ("audit", file, *with_policy),
        ("audit", rows, "--population", file, *with_policy),
        ("characterize", file, *with_policy),
        ("characterize", file, "--release", *with_policy),
        ("attack", "intersect", file, rows, *with_policy, "--targets", rows),
        ("ledger", "add", folder / "l.sqlite", file, *with_policy),
        ("skyline", file, *with_policy, "--value", "flu"),
        ("anonymize", file, *with_policy, "--out", folder / "again"),
    ):
        run = sfumato(*command)
        assert run.returncode == 2, (command, run.stderr)
        assert f"{file} is part of a randomised release" in run.stderr, (command, run.stderr)
        assert f"give the folder {folder / 'out'} instead" in run.stderr
        assert run.stderr.count("\n") == 1
    assert not (folder / "again").exists()
    assert sfumato("audit", folder / "out", *with_policy).returncode == 3


def test_a_scale_that_is_no_number_is_exit_2(folder: Path) -> None:
    assert anonymize(folder).returncode == 0
    path = folder / "out/public/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["guarantee"]["scale"] = "x"
    path.write_text(json.dumps(manifest))
    run = sfumato("audit", folder / "out", "--policy", folder / "policy.toml")
    assert run.returncode == 2
    assert run.stderr == (
        "error: guarantee: scale = 'x' is not allowed; it must be a number above 0\n"
    )


def test_rows_a_public_total_and_gaussian_noise(folder: Path) -> None:
    lines = 'delta = 1e-6\nmechanism = "gaussian"\npublish = "rows"\ntotal = "public"'
    policy = option(lines) + "delta = 1e-6\n"
    made = anonymize(folder, policy, "--format", "parquet", "--seed", 3)
    assert made.returncode == 0, made.stderr
    manifest = json.loads((folder / "out/public/manifest.json").read_text())
    assert manifest["people"] == 240
    assert manifest["guarantee"]["mechanism"] == "gaussian"
    assert "other" not in manifest["guarantee"]
    assert "epsilon 1, delta 1e-06 by replace-one" in made.stdout.replace("\n", " ")


MANY = ", ".join(f'"c{number}"' for number in range(350))
CASES = {
    "epsilon 0": (changed("epsilon = 1.0\nlevels", "epsilon = 0\nlevels"), "[anonymizer]: noise: epsilon = 0 is not allowed; it must be a number above 0"),
    "no epsilon": (changed("epsilon = 1.0\nlevels", "levels"), "[anonymizer] (noise): epsilon is missing"),
    "delta with geometric": (option("delta = 1e-6"), "delta = 1e-06 is not allowed with mechanism = 'geometric', which needs none"),
    "gaussian without delta": (option('mechanism = "gaussian"'), "noise: delta = 0.0 is not allowed; it must be a number above 0"),
    "unknown mechanism": (option('mechanism = "laplacian"'), "did you mean 'laplace'?"),
    "unknown key": (option("sigma = 3"), "[anonymizer] (noise): unknown key 'sigma'"),
    "undeclared domain": (changed('city = ["ulm", "bonn", "kiel"]\n', ""), "column 'city': its values are not declared, so the cells published would tell which of them occur; list them in domains"),
    "undeclared sensitive": (changed('disease = ["flu", "cold", "gout"]\n', ""), "column 'disease': its values are not declared"),
    "unbounded intervals": (changed(", bottom = 20, top = 60", ""), "intervals (cuts, or widths with bottom and top)"),
    "single values": (changed("levels = { age = 1 }", ""), "column 'age': its single values are not declared, only ranges of them"),
    "level too high": (changed("{ age = 1 }", "{ age = 7 }"), "column 'age' has levels 0 to 2, not 7"),
    "level of no column": (changed("{ age = 1 }", "{ age = 1, town = 1 }"), "levels: 'town' is not a quasi-identifier"),
    "too many cells": (changed("widths = [10], bottom = 20, top = 60", "widths = [1], bottom = 0, top = 1000").replace('"kiel"', MANY), "1,058,112 cells (age 1,002, city 352, disease 3), at most 1,000,000 are allowed; choose higher levels"),
    "value outside the domain": (changed('"cold", ', ""), "'disease': 1 value(s) are not covered by its declared domain"),
    "exact counts required": (POLICY + '[[require]]\nkind = "k-anonymity"\nk = 2\n', "k-anonymity is not applicable: it counts people exactly, and counts will be noisy; require differential-privacy instead"),
    "public total by add-remove": (option('total = "public"\nneighbours = "add-remove"'), "use 'replace-one' or total = 'noisy'"),
    "more rows than memory": (option('publish = "rows"').replace("epsilon = 1.0", "epsilon = 1e-7"), "rows, at most 50,000,000 can be written; use publish = 'counts'"),
    "kept column": (changed('nulls = "error"', 'keep = ["ward"]'), "'ward' (keep) is not in rows.csv"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_line_exit_2_nothing_written(folder: Path, case: str) -> None:
    policy, said = CASES[case]
    run = anonymize(folder, policy)
    assert run.returncode == 2, run.stderr
    assert run.stdout == ""
    assert said in run.stderr
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1
    assert not (folder / "out").exists()


def test_a_bound_the_noise_does_not_keep_is_exit_1(folder: Path) -> None:
    run = anonymize(folder, required("0.5"))
    assert run.returncode == 1
    assert "no release satisfies differential-privacy" in run.stderr
    assert "give the anonymizer a smaller epsilon" in run.stderr
    assert not (folder / "out").exists()


def test_without_opendp_the_pip_line_is_told(folder: Path) -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.modules['opendp'] = None; from sfumato.cli.main import run; run()",
            *("anonymize", str(folder / "rows.csv"), "--policy", str(folder / "policy.toml")),
            *("--out", str(folder / "out")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert "pip install 'sfumato[dp]'" in run.stderr
    assert not (folder / "out").exists()
