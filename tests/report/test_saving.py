"""Saving a report: the ending decides, whole or not at all."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.errors import InputError
from tests.report.conftest import made


def test_the_ending_says_what_is_written(tmp_path: Path) -> None:
    report = made("mondrian")
    for ending in (".html", ".json", ".md"):
        report.save(tmp_path / f"report{ending}")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.to_html()
    assert json.loads((tmp_path / "report.json").read_text())["audience"] == "private"
    assert (tmp_path / "report.md").read_text().startswith("# Report on ")
    with pytest.raises(InputError, match=r"report\.json exists; .* --force"):
        report.save(tmp_path / "report.json")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    report.save(str(tmp_path / "report.json"), public=True, force=True)
    assert json.loads((tmp_path / "report.json").read_text())["audience"] == "public"
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "report.json", "report.md"}


def test_what_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    report = made("mondrian")
    (tmp_path / "folder.html").mkdir()
    for name, said in {
        "report.pdf": r"cannot write a report as 'report\.pdf'; use a name ending in \.html, ",
        "report": "use a name ending in",
        "folder.html": "is a folder",
        "nowhere/report.md": "is no folder",
    }.items():
        with pytest.raises(InputError, match=said):
            report.save(tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"folder.html"}


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")

    def fail(path: Path, *_: object) -> None:
        raise OSError(errno.EIO, "Input/output error", str(path))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match=r"report\.json cannot be written: Input/output error"):
        made("mondrian").save(target, force=True)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_an_audit_alone_loads_nothing_heavy() -> None:
    """An exit code must not wait for charts or compiled code; what is printed beside it may."""
    script = (
        "import sys, pyarrow as pa, sfumato as sf\n"
        "rows = pa.table({'q': [1, 1, 2], 's': list('aab')})\n"
        "table = sf.read(rows, sf.Schema(quasi=['q'], sensitive='s'))\n"
        "assert not sf.audit(table, [sf.KAnonymity(2)]).holds\n"
        "print([name for name in ('numba', 'plotly', 'jinja2', 'scipy') if name in sys.modules])\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
