"""How runs end: the exit code and the last line are true, whatever happens to the output."""

from __future__ import annotations

import codecs
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.cli import main
from sfumato.cli.main import run
from sfumato.errors import InputError
from sfumato.files import write_text

RUN = "from sfumato.cli.main import run; run()"
POLICY = """
[schema]
quasi = ["age"]
sensitive = ["disease"]

[anonymizer]
kind = "mondrian"

[[require]]
kind = "k-anonymity"
k = 2
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("age,disease\n30,grippé\n30,cold \u2264 \U0001f600\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def ended(*arguments: object, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        run()
    return left.value.code  # type: ignore[return-value]


def test_an_interrupt_tells_what_stands(tmp_path: Path, capsys) -> None:
    def before() -> None:
        signal.raise_signal(signal.SIGINT)

    def after() -> None:
        write_text(tmp_path / "page.html", "x", kind="page")
        signal.raise_signal(signal.SIGTERM)

    def during_a_query() -> None:
        try:
            signal.raise_signal(signal.SIGHUP)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None

    def translated() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise InputError("the engine refused a query") from None

    for command in (before, during_a_query, translated):
        assert main.ending_of(command) == 130
        assert capsys.readouterr().err == "interrupted; nothing was written\n"
    assert main.ending_of(after) == 130
    assert capsys.readouterr().err == (
        f"interrupted; the page stands at {tmp_path / 'page.html'}\n"
    )


def test_no_other_exit_code_even_for_a_mistake_of_ours(capsys, monkeypatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError("somebody's value")

    monkeypatch.delenv("SFUMATO_DEBUG", raising=False)
    assert main.ending_of(fail) == 3
    told = capsys.readouterr().err
    assert told.startswith("error: could not judge: internal error (ZeroDivisionError)")
    assert "somebody" not in told


def test_wrong_options_are_bad_input(monkeypatch, capsys) -> None:
    assert ended("audit", "--nonsense", monkeypatch=monkeypatch) == 2
    assert "No such option" in capsys.readouterr().err
    assert ended("--version", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out.startswith("sfumato ")


@pytest.mark.parametrize(("encoding", "more"), [("cp1252", ["--json"]), ("ascii", [])])
def test_signs_that_an_alphabet_lacks_are_replaced(home: Path, encoding: str, more) -> None:
    arguments = ["audit", str(home / "rows.csv"), "--policy", str(home / "policy.toml"), *more]
    found = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, b"")
    if more:
        told = json.loads(found.stdout.decode(encoding))
        assert told["status"] == "holds"
        assert b"\\u2265" in found.stdout  # k at least 2
        assert "\u2265" in str(told)


def test_replaced_signs_are_those_of_json() -> None:
    codecs.register_error("told as JSON", main._escaped)
    text = "gripp\u00e9 \u2264 \U0001f600 \udcff"
    found = text.encode("ascii", "told as JSON").decode()
    assert found == r"gripp\u00e9 \u2264 \ud83d\ude00 \udcff"
    assert json.loads(f'"{found}"') == text


@pytest.mark.parametrize("output", ["closed pipe", "/dev/full"])
def test_the_answer_does_not_depend_on_who_reads_it(home: Path, output: str) -> None:
    arguments = [
        "anonymize",
        home / "rows.csv",
        "--policy",
        home / "policy.toml",
        "--out",
        home / "out",
        "--no-price",
    ]
    if output == "closed pipe":
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open("/dev/full", os.O_WRONLY)
    found = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        stdout=writer, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writer)
    assert found.returncode == 0, found.stderr
    assert (home / "out" / "public" / "data.csv").exists()
    told = "" if output == "closed pipe" else "note: the output could not be written: No space"
    assert found.stderr.startswith(told)
    assert "internal" not in found.stderr


def test_an_interrupt_while_the_program_is_imported(home: Path) -> None:
    """The door is light: a signal is answered before anything heavy is there."""
    early = """
import signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "sfumato.cli.main":
            signal.raise_signal(getattr(signal, sys.argv[1]))
sys.meta_path.insert(0, Interrupting())
from sfumato.cli.entry import run
assert "typer" not in sys.modules and "pyarrow" not in sys.modules
run()
"""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        done = subprocess.run(
            [sys.executable, "-c", early, name], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (130, "interrupted; nothing was written\n")


def test_signals_that_a_run_was_started_without_stay_ignored() -> None:
    """As nohup does it: the terminal may close."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert main.ending_of(lambda: signal.raise_signal(signal.SIGHUP)) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_odd_names_of_files_end_in_one_line(home: Path, monkeypatch, capsys) -> None:
    (home / "loop.csv").symlink_to("loop.csv")
    policy = ("--policy", home / "policy.toml")
    assert ended("audit", home / "loop.csv", *policy, monkeypatch=monkeypatch) == 2
    assert "does not exist" in capsys.readouterr().err
    out = os.fsdecode(os.fsencode(home) + b"/out\xff")
    line = ("anonymize", home / "rows.csv", *policy, "--out", out)
    assert ended(*line, monkeypatch=monkeypatch) == 2
    assert "no name in UTF-8" in capsys.readouterr().err
    page = ("--html", home / "page.html", "--report", home / "page.html")
    assert ended("audit", home / "rows.csv", *policy, *page, monkeypatch=monkeypatch) == 2
    assert "twice" in capsys.readouterr().err
    assert not (home / "page.html").exists()
