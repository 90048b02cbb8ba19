"""Progress: silent unless somebody watches, one bar at a time."""

from __future__ import annotations

import pytest

from sfumato import progress
from sfumato.progress import Ticker


def test_nothing_is_shown_when_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    with Ticker("work", 3) as ticker:
        for _ in range(3):
            ticker.add()
    assert capfd.readouterr() == ("", "")


def test_only_the_outermost_bar_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with Ticker("outer", 2) as outer:
        outer.add()
        with Ticker("inner", 2) as inner:
            inner.add()
            assert inner._bar is None
        assert outer._bar is not None
    with Ticker("next", 1) as later:
        later.add()
        assert later._bar is not None
