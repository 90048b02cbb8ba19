"""Killed at any line, a run leaves the old release or the new one, and the next run clears up."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato import files
from tests.attack.kill_points import killed_at

STEP = 29  # every how many lines; the long form takes each


def fill(out: Path, text: str, *, force: bool) -> None:
    with files.new_folder(out, force=force) as new:
        (new / "private").mkdir()
        (new / "private" / "run.json").write_text(text)
        (new / "data.csv").write_text(text)


def told(out: Path) -> set[str]:
    return {(out / name).read_text() for name in ("private/run.json", "data.csv")}


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("exchange", [True, False])
def test_a_kill_at_any_line(tmp_path: Path, monkeypatch, existing: bool, exchange: bool) -> None:
    if not exchange:
        monkeypatch.setattr(files, "_renameat2", lambda: None)
    point = 1
    while True:
        out = tmp_path / str(point) / "out"
        out.parent.mkdir()
        if existing:
            fill(out, "old", force=False)
        killed = killed_at(point, lambda out=out: fill(out, "new", force=True))  # type: ignore[misc]
        if exchange or not existing:
            assert not out.exists() or not any(out.iterdir()) or told(out) in ({"old"}, {"new"})
            assert out.exists() or not existing
        files.check_new_folder(out, force=True)  # the next run's first step
        if existing:
            assert told(out) in ({"old"}, {"new"})
        assert [path.name for path in out.parent.iterdir()] in ([], ["out"])
        if not killed:
            break
        point += STEP
    assert point > 5 * STEP
