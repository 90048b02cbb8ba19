"""A first line that is somebody's row, in whole or in part: no message tells any of it."""

from __future__ import annotations

import io
import string
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from tests.program import sfumato

NAMES = ("age", "zip", "sex", "disease")
SCHEMA = sf.Schema(quasi=["age", "zip", "sex"], sensitive="disease")
POLICY = """[schema]
quasi = ["age", "zip", "sex"]
sensitive = "disease"
[anonymizer]
kind = "mondrian"
[[require]]
kind = "k-anonymity"
k = 2
"""
# Neither in our messages nor in names of columns: a cell that is told is seen.
CELL = st.one_of(
    st.integers(3_000_000, 9_000_000).map(str),
    st.text(string.ascii_uppercase + "ÄÖÜ", min_size=6, max_size=12),
)
ROW = st.tuples(CELL, CELL, CELL, CELL)
ROWS = st.lists(ROW, min_size=2, max_size=4, unique_by=lambda row: row)


def line(cells: Sequence[str]) -> str:
    return ",".join(cells) + "\n"


def without_header(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Texts in which the first line holds cells, with some or no names of columns among them."""
    first, body = rows[0], "".join(map(line, rows))
    rest = "".join(map(line, rows[1:]))
    yield "no header", body
    yield "header below", line(first) + line(NAMES) + rest
    yield "glued", ",".join(NAMES) + body
    yield "glued by a comma", line([*NAMES, *first]) + rest
    yield "glued, short", line([*NAMES[:3], NAMES[3] + first[0][-2:], *first[1:]]) + rest
    yield "row before", first[3] + ",".join(NAMES) + "\n" + body
    yield "shifted left", line([*NAMES[1:], first[3]]) + body
    yield "shifted right", line([first[0], *NAMES[:3]]) + body
    yield "a name too few", line(NAMES[:3]) + body
    yield "mixed", line([NAMES[0], first[1], NAMES[2], first[3]]) + rest


KINDS = [kind for kind, _ in without_header([NAMES, NAMES])]


def as_given(how: str, text: str, folder: Path) -> object:
    """A text as a file, or as what others make of it."""
    file = folder / "people.csv"
    file.write_text(text, encoding="utf-8")
    if how == "text":
        return file
    if how == "pandas":
        return pd.read_csv(io.StringIO(text), dtype=str)
    table = pa_csv.read_csv(pa.BufferReader(text.encode()))
    if how == "arrow":
        return table
    pq.write_table(table, folder / "people.parquet")
    return folder / "people.parquet"


@given(ROWS, st.sampled_from(KINDS), st.sampled_from(["text", "pandas", "arrow", "parquet"]))
def test_no_cell_is_told(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], kind: str, how: str
) -> None:
    try:
        source = as_given(how, dict(without_header(rows))[kind], tmp_path_factory.getbasetemp())
    except (pd.errors.ParserError, pa.ArrowException):
        return  # more fields than names: no frame comes of it
    for read in (sf.read, sf.read_release):
        try:
            read(source, SCHEMA)  # type: ignore[operator]
            assert how == "pandas", kind  # pandas fills rows up to the names of the first line
            continue
        except sf.SfumatoError as refused:
            told = str(refused)
        assert "\n" not in told
        assert not [cell for row in rows for cell in row if cell in told]
        # what is glued to a name may be short, but then stands beside it
        assert NAMES[3] + rows[0][0][-2:] not in told


@pytest.mark.parametrize("command", ["audit", "anonymize", "characterize", "compare", "init"])
def test_no_command_tells_a_cell(command: str, tmp_path: Path) -> None:
    file, policy, out = tmp_path / "p.csv", tmp_path / "policy.toml", tmp_path / "out"
    policy.write_text(POLICY)
    rows = [("7311941", "8100321", "QUINCE", "PLEURISY"), ("7311942", "8100329", "ADA", "GOITRE")]
    options: list[object] = ["--seconds", 0] if command == "init" else ["--policy", policy]
    options += ["--out", out] if command in ("anonymize", "init") else []
    for kind, text in without_header(rows * 3 if command == "init" else rows):
        file.write_text(text)
        ended = sfumato(command, file, *options)
        assert ended.returncode == 2, kind
        assert not [cell for row in rows for cell in row if cell in ended.stdout + ended.stderr]
        assert ended.stderr.count("\n") == 1, kind
        assert not out.exists()


@given(ROWS, st.sampled_from(["text", "pandas", "arrow", "parquet"]))
def test_a_draft_tells_no_cell_in_front_of_a_name(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], how: str
) -> None:
    """A row without a line break before the header, whether or not others have its last value."""
    glued = rows[0][3] + ",".join(NAMES) + "\n"
    for text in (glued + "".join(map(line, rows)), glued + "".join(map(line, rows[1:]))):
        source = as_given(how, text, tmp_path_factory.getbasetemp())
        with pytest.raises(sf.InputError, match="name of column 1 begins") as refused:
            sf.draft_policy(source)
        assert not [cell for row in rows for cell in row if cell in str(refused.value)]


def test_a_name_that_is_a_value_of_its_column_is_the_owners_to_insist_on(tmp_path: Path) -> None:
    file, policy = tmp_path / "people.csv", tmp_path / "policy.toml"
    file.write_text("age,d\n" + "".join(f"{20 + n % 30},{'abcd'[n % 4]}\n" for n in range(60)))
    refused = sfumato("init", file, "--out", policy, "--seconds", 0)
    assert refused.returncode == 2
    assert "--header 1" in refused.stderr
    drafted = sfumato("init", file, "--out", policy, "--seconds", 0, "--header", 1)
    assert drafted.returncode == 0, drafted.stderr
    assert sfumato("audit", file, "--policy", policy).returncode in (0, 1)
    assert '"d"' in sf.draft_policy(file, header=1).text


def test_a_number_of_nobody_below_among_names(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(
        "age,13997,sex,disease\n" + "".join(f"30,131{n},F,flu\n" for n in range(10, 40))
    )
    with pytest.raises(sf.InputError, match="looks like a row") as refused:
        sf.draft_policy(file)
    assert "13997" not in str(refused.value)
    file.write_text("age,2019,sex,disease\n" + "".join(f"30,13{n},F,flu\n" for n in range(10, 40)))
    assert "2019" in sf.draft_policy(file).text  # a column of a year


@pytest.mark.parametrize("first", ["flu", "5", "HIV", "in remission", "2020-01-31", "chronic"])
def test_a_word_in_front_of_a_name_is_told_apart(tmp_path: Path, first: str) -> None:
    rows = "".join(f"{20 + place},1305{place % 3},F,{first}\n" for place in range(9))
    for head, fine in {"": True, first: False, "vill": True, "mile": True, "dos": True}.items():
        file = tmp_path / "people.csv"
        file.write_text(f"{head}age,zip,sex,disease\n{rows}")
        if fine:
            assert f"{head}age" in sf.draft_policy(file).text
            continue
        with pytest.raises(sf.InputError, match="name of column 1 begins"):
            sf.draft_policy(file)


def test_a_name_that_was_nearly_asked_for_is_told(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    for header, why in {
        "Age,zip": "did you mean 'Age'",
        "agge,zip": "did you mean 'agge'",
        "age31,zip": "none of its 2 column",
        "ages,zip": "did you mean its column 1,",
        "years,zip": "none of its 2 column",
    }.items():
        file.write_text(f"{header}\n30,1\n")
        with pytest.raises(sf.InputError, match=why):
            sf.read(file, sf.Schema(quasi=["age", "zip"]))
