"""docs/how-it-works.md, "What a change touches": made to a copy of the house, as the page says.

No file but those of the page is changed, and each change shows wherever it must.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.contracts.pages import blocks

READING, COLUMN = blocks("how-it-works.md", "diff")
POLICY = """{}
[schema]
quasi = ["age"]
sensitive = "disease"

[[require]]
kind = "k-anonymity"
k = 1
"""


def files_of(change: str) -> dict[str, list[tuple[str, str]]]:
    """What is to be replaced by what, file by file."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, hunks in re.findall(r"^\+\+\+ (\S+)\n((?:(?!\+\+\+).*\n)+)", change, re.MULTILINE):
        for hunk in hunks.split("@@\n"):
            lines = hunk.splitlines(keepends=True)
            before = "".join(line[1:] for line in lines if line[0] == " ")
            found.setdefault(name, []).append((before, "".join(line[1:] for line in lines)))
    return found


def changed(change: str, folder: Path) -> None:
    """A copy of the house with a change of the page made to it."""
    shutil.copytree(ROOT / "src" / "sfumato", folder / "sfumato")
    for name, parts in files_of(change).items():
        file = folder / "sfumato" / name
        text = file.read_text(encoding="utf-8")
        for before, after in parts:
            assert text.count(before) == 1, f"how-it-works.md shows other lines of {name}: {before}"
            text = text.replace(before, after)
        file.write_text(text, encoding="utf-8")


def python(folder: Path, program: str) -> str:
    """What a program prints that runs in the changed house."""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        # Compiled code is kept by the path of its source, and here is little to run.
        env={**os.environ, "PYTHONPATH": str(folder), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize(("change", "files"), [(READING, 2), (COLUMN, 3)])
def test_it_touches_so_many_files(change: str, files: int) -> None:
    assert len(files_of(change)) == files


SAID = """
import io, json, sys
from contextlib import redirect_stdout
import sfumato as sf
from sfumato.cli.main import run
from sfumato.engines.choose import open_engine
from sfumato.engines.reading import Reading

def program(*words):
    sys.argv, out = ["sfumato", *words], io.StringIO()
    with redirect_stdout(out):
        try:
            run()
        except SystemExit as left:
            return left.code, out.getvalue()

schema = sf.Schema(["age"], "disease")
try:
    open_engine("people.csv", Reading(engine="spark", comment="#"))
except sf.InputError as error:
    refused = str(error)
table = sf.read("people.csv", schema, comment="#")
release = sf.read_release("people.csv", schema, comment="#")
kept = sf.Policy.load("hash.toml")
kept.save("again.toml")
judged = ["audit", "people.csv", "--json", "--policy"]
print(json.dumps({
    "refused": refused,
    "python": [one.regions.describe(group)["age"]
               for one in (release, sf.generalize(table, {})) for group in range(2)],
    "help": program("compare", "--help")[1],
    "option": program(*judged, "policy.toml", "--comment", "#"),
    "policy": program(*judged, "hash.toml"),
    "neither": program(*judged, "policy.toml"),
    "kept": sf.Policy.load("again.toml") == kept and kept.read == Reading(comment="#"),
}))
"""


def test_a_way_of_reading(tmp_path: Path) -> None:
    changed(READING, tmp_path)
    (tmp_path / "people.csv").write_text("age,disease\n30,flu\n#0,flu\n40,cold\n")
    (tmp_path / "policy.toml").write_text(POLICY.format(""))
    (tmp_path / "hash.toml").write_text(POLICY.format('[read]\ncomment = "#"\n'))
    told = json.loads(python(tmp_path, SAID))
    assert told["refused"] == "comment '#' is DuckDB's; choose the engine duckdb with it"
    assert sorted(told["python"]) == ["30"] * 2 + ["40"] * 2
    assert "--comment <str>" in told["help"]
    assert told["option"] == told["policy"] != told["neither"]
    assert told["kept"]


SHOWN = """
import io, json
import pyarrow as pa
import sfumato as sf
from sfumato.report.text import show
from rich.console import Console

rows = pa.table({"age": [30, 30, 40, 40], "disease": list("abab")})
report = sf.audit(sf.read(rows, sf.Schema(["age"], "disease")), [sf.KAnonymity(1)])
console = Console(record=True, width=200, file=io.StringIO())
show(report.brief(private=False), console)
print(json.dumps({
    "terminal": console.export_text(),
    "json": report.to_json(),
    "html": report.to_html(),
    "public": report.public().to_html(),
}))
"""


def test_a_column_of_the_threat_matrix(tmp_path: Path) -> None:
    changed(COLUMN, tmp_path)
    told = json.loads(python(tmp_path, SHOWN))
    for form in ("terminal", "html", "public"):
        assert "rows compared" in told[form], form
    found = {row["adversary"]: row["compared"] for row in json.loads(told["json"])["threats"]}
    assert found.pop("marketer") == 4
    assert set(found.values()) == {None}
