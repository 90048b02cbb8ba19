"""Whatever file comes in: an answer or one line, and nobody's row in it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.engines.files import read_arrow
from tests.attack.hostile_files import QUASI, SENSITIVE, all_files, odd_texts, plain_text

SCHEMA = sf.Schema(quasi=QUASI, sensitive=SENSITIVE)
POLICY = """[schema]
quasi = ["age", "zip"]
sensitive = "disease"
[anonymizer]
kind = "mondrian"
[[require]]
kind = "k-anonymity"
k = 2
"""
CODES = {0, 1, 2, 3}


@pytest.fixture
def signals() -> Iterator[None]:
    """The program takes over signals; a test gives them back."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def called(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        run()
    return int(ended.value.code or 0)


def test_every_file_is_read_or_refused_in_one_line(tmp_path: Path) -> None:
    """As a table; `test_families.py` has them judged as releases."""
    answered = refused = 0
    for name, data in all_files(24):
        file = tmp_path / name
        file.write_bytes(data)
        try:
            sf.read(file, SCHEMA)
            answered += 1
        except sf.SfumatoError as error:
            refused += 1
            told = str(error)
            assert "SECRET" not in told.replace(name, ""), name
            assert "\n" not in told, name
            assert "SELECT" not in told, name
    assert answered > 30
    assert refused > 30


@pytest.mark.parametrize("command", ["audit", "anonymize", "init"])
def test_a_file_without_a_header_is_not_quoted(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    signals: None,
) -> None:
    policy, out = tmp_path / "policy.toml", tmp_path / "out"
    policy.write_text(POLICY)
    shown = {"no header.csv", "no header, words.csv"}
    shown |= {"quote never closed in the header.csv", "quote closed rows later.csv"}
    for name, data in odd_texts():
        if name not in shown:
            continue
        file = tmp_path / name
        file.write_bytes(data)
        arguments = [command, file, "--policy", policy]
        if command == "init":
            arguments = [command, file, "--seconds", 0]
        if command != "audit":
            arguments += ["--out", out]
        assert called(monkeypatch, *arguments) == 2
        told = capsys.readouterr()
        assert "SECRET" not in told.out + told.err
        assert told.err.count("\n") == 1
        assert not out.exists()


@pytest.mark.parametrize(
    "name",
    ["control signs.csv", "all 2b35.csv", "bomb.csv.gz", "long header.csv", "long field.csv"],
)
def test_the_program_ends_with_a_code_of_its_own(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    signals: None,
) -> None:
    policy, file = tmp_path / "policy.toml", tmp_path / name
    policy.write_text(POLICY.replace("age", "a\\u001b[2Jge") if "control" in name else POLICY)
    file.write_bytes(dict(odd_texts())[name])
    assert called(monkeypatch, "audit", file, "--policy", policy) in CODES
    told = capsys.readouterr()
    assert "\x1b[2J" not in told.out + told.err
    out = tmp_path / "out"
    assert called(monkeypatch, "anonymize", file, "--policy", policy, "--out", out) in CODES


def test_the_name_of_a_column_is_told_where_it_was_nearly_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(plain_text())
    with pytest.raises(sf.InputError, match="none of its 4 column"):
        sf.read(file, sf.Schema(quasi=["age", "country"]))
    with pytest.raises(sf.InputError, match="did you mean 'disease'"):
        sf.read(file, sf.Schema(quasi=["diseases"]))


@pytest.mark.parametrize("memory", ["9" * 400 + "GB", "0GB", "1e9GB", "2EB", "99999999999TB"])
def test_sizes_that_nobody_means(memory: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(plain_text())
    with pytest.raises(sf.InputError, match="is not a size"):
        sf.read(file, SCHEMA, memory=memory)


def test_values_that_cannot_be_read_are_told_by_their_form(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("born\n12/31/1977\n01/02/1980\n?\n")
    for schema in (
        sf.Schema(quasi=["born"], hierarchies={"born": sf.dates()}),
        sf.Schema(quasi=["born"], domains={"born": "date"}),
    ):
        for read in (sf.read, sf.read_release):
            with pytest.raises(sf.SfumatoError, match="2024-05-31") as refused:
                read(file, schema)
            assert "1977" not in str(refused.value)


def test_an_arrow_file_may_be_cut_while_it_is_in_use(tmp_path: Path) -> None:
    file = tmp_path / "people.arrow"
    ages = list(range(100_000))
    feather.write_feather(pa.table({"age": ages}), file, compression="uncompressed")
    table = read_arrow(file)
    file.write_bytes(b"")
    assert table["age"].to_pylist() == ages
