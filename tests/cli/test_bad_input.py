"""Every mistake a user makes: one line with the fix, exit code 2, nothing written."""
# ruff: noqa: E501 (a table of cases reads best one a line)

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.small_audit import DATA, POLICY, audit
from tests.program import sfumato


def schema(more: str = "", quasi: str = '["age", "zip"]') -> str:
    return POLICY.replace('quasi = ["age", "zip"]', f"quasi = {quasi}\n{more}")


CASES = {
    "missing column": (DATA, schema(quasi='["agee", "zip"]'), "'agee' (quasi) is not in rows.csv; did you mean 'age'?"),
    "unknown role": (DATA, schema('quasy = ["x"]'), "unknown key 'quasy' in [schema]; did you mean 'quasi'?"),
    "hierarchy gap": (
        "age,zip,disease\n" + "".join(f"{age},1,flu\n" for age in range(7)),
        POLICY + '[schema.hierarchies]\nage = { kind = "taxonomy", paths = { "9" = ["x"] } }\n',
        "column 'age': 7 value(s) cannot be read: '0', '1', '2', '3', '4' and 2 more",
    ),
    "empty file": ("", POLICY, "rows.csv is empty"),
    "blank file": ("\n\n", POLICY, "rows.csv is empty"),
    "ragged rows": (DATA + "31,13053\n", POLICY, "rows.csv, line 4 has 2 fields, the header 3"),
    "too many fields": (DATA + "31,13053,flu,x\n", POLICY, "rows.csv, line 4"),
    "open quote": (DATA + '31,"13053,flu\n', POLICY, "rows.csv, line 4 has a quotation mark that is never closed"),
    "mixed types": (
        "age,zip,disease\n" + "".join(f"{age},1,flu\n" for age in (17, 18, 19, "4O")),
        POLICY,
        "column 'age' mixes numbers and text: 1 of its 4 distinct values are no number or range ('9a' (1))",
    ),
    "sensitive is quasi": (DATA, schema(quasi='["age", "zip", "disease"]'), "'disease' is listed as quasi and as sensitive"),
    "negative counts": (
        "age,zip,disease,n\n30,1,flu,-2\n", schema('count = "n"'), "count column 'n' holds a negative number in 1 row(s)",
    ),
    "fractional counts": (
        "age,zip,disease,n\n30,1,flu,1.5\n", schema('count = "n"'), "count column 'n' holds a fraction in 1 row(s)",
    ),
    "textual counts": (
        "age,zip,disease,n\n30,1,flu,many\n", schema('count = "n"'), "count column 'n' holds no number in 1 row(s)",
    ),
    "no rows": ("age,zip,disease\n", POLICY, "rows.csv holds 0 rows"),
    "duplicate columns": ("age,zip,age,disease\n1,2,3,x\n", POLICY, "rows.csv: column 3 of the header has the name of another"),
    "misspelt key": (DATA, POLICY.replace("k = 2", "kk = 2"), "[[require]] number 1 (k-anonymity): unknown key 'kk'; did you mean 'k'?"),
    "misspelt criterion": (DATA, POLICY.replace("k-anonymity", "k-anonimity"), "did you mean 'k-anonymity'?"),
    "missing parameter": (DATA, POLICY.replace("k = 2", ""), "(k-anonymity): k is missing"),
    "bad parameter": (DATA, POLICY.replace("k = 2", "k = 0"), "k = 0 is not allowed; it must be a whole number at least 1"),
    "not toml": (DATA, POLICY + "[[[", "policy.toml is not valid TOML"),
    "no schema": (DATA, '[[require]]\nkind = "k-anonymity"\nk = 2\n', "policy.toml has no [schema]"),
    "endless number": (DATA, f"suppression = {'9' * 5000}\n{POLICY}", "a number of thousands of"),
    "no criteria": (DATA, POLICY.split("[[require]]")[0], "require is missing"),
    "unknown hierarchy": (DATA, POLICY + '[schema.hierarchies]\nage = { kind = "interval" }\n', "kind 'interval' is not known; allowed: intervals, "),
    "hierarchy key": (DATA, POLICY + '[schema.hierarchies]\nage = { kind = "intervals", width = 5 }\n', "unknown key 'width'"),
    "wrong type": (DATA, schema("person = 3"), "schema.person = 3 is not allowed"),
    "person missing": ("age,zip,disease,who\n1,2,flu,\n", schema('person = "who"'), "person column 'who' is missing in 1 row(s)"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_line_exit_2_nothing_written(tmp_path: Path, case: str) -> None:
    data, policy, said = CASES[case]
    run = audit(tmp_path, data, policy)
    assert run.returncode == 2, run.stderr
    assert run.stdout == ""
    assert said in run.stderr
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1


def test_a_wrong_delimiter_names_the_right_one(tmp_path: Path) -> None:
    run = audit(tmp_path, DATA.replace(",", ";"), POLICY, "rows.csv", "--delimiter", ",")
    assert run.returncode == 2
    assert "has a single column when split at ',', but 3 at ';'" in run.stderr


def test_the_delimiter_is_found_unasked(tmp_path: Path) -> None:
    for delimiter in (",", ";", "\t", "|"):
        assert audit(tmp_path, DATA.replace(",", delimiter)).returncode == 0


def test_a_file_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    for name in ("rows.parquet", "rows.arrow"):
        run = audit(tmp_path, DATA, POLICY, name)
        assert run.returncode == 2
        assert run.stderr.count("\n") == 1
    run = audit(tmp_path, DATA, POLICY, "rows.docx")
    assert "unknown kind of file; known: CSV" in run.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    run = sfumato("audit", tmp_path / "nowhere.csv", "--policy", tmp_path / "policy.toml")
    assert run.returncode == 2
    assert "nowhere.csv does not exist" in run.stderr
    run = sfumato("audit", tmp_path / "policy.toml", "--policy", tmp_path / "nowhere.toml")
    assert run.returncode == 2
    assert "nowhere.toml does not exist" in run.stderr


def test_latin_1_is_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes("age,zip,disease\n1,2,Fi\xe8vre\n".encode("latin-1"))
    (tmp_path / "policy.toml").write_text(POLICY)
    run = sfumato("audit", tmp_path / "rows.csv", "--policy", tmp_path / "policy.toml")
    assert run.returncode == 2
    assert "not UTF-8" in run.stderr


def test_invalid_bytes_far_into_the_file_are_found_and_not_quoted(tmp_path: Path) -> None:
    lines = ["age,zip,disease"] + ["30,13053,flu"] * 5000
    content = "\n".join(lines).encode() + b"\n30,13053,secret\xe8value\n"
    (tmp_path / "rows.csv").write_bytes(content)
    (tmp_path / "policy.toml").write_text(POLICY)
    run = sfumato("audit", tmp_path / "rows.csv", "--policy", tmp_path / "policy.toml")
    assert run.returncode == 2
    assert "UTF-8" in run.stderr
    assert "secret" not in run.stderr


def test_an_error_never_quotes_a_row(tmp_path: Path) -> None:
    run = audit(tmp_path, DATA + "31,13053,secret,secret\n")
    assert run.returncode == 2
    assert "secret" not in run.stderr + run.stdout


def test_a_text_column_cannot_be_counts_in_parquet(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"age": [1], "zip": [2], "disease": ["x"], "n": ["one"]}),
        tmp_path / "rows.parquet",
    )
    (tmp_path / "policy.toml").write_text(schema('count = "n"'))
    run = sfumato("audit", tmp_path / "rows.parquet", "--policy", tmp_path / "policy.toml")
    assert run.returncode == 2
    assert "count column 'n' has the type string" in run.stderr


def test_memory_must_be_a_size(tmp_path: Path) -> None:
    run = audit(tmp_path, DATA, POLICY, "rows.csv", "--memory", "lots")
    assert run.returncode == 2
    assert "memory 'lots' is not a size" in run.stderr


def test_a_report_of_unknown_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(DATA)
    (tmp_path / "policy.toml").write_text(POLICY)
    run = sfumato(
        "audit",
        tmp_path / "rows.csv",
        "--policy",
        tmp_path / "policy.toml",
        "--report",
        tmp_path / "report.docx",
    )
    assert run.returncode == 2
    assert not (tmp_path / "report.docx").exists()


def test_demo_refuses_a_folder_that_exists(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    run = sfumato("demo", "--out", tmp_path / "mine")
    assert run.returncode == 2
    assert "exists; give another name" in run.stderr
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"
