"""Progress: silent unless somebody watches, one bar at a time."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from sfumato import progress
from sfumato.progress import Stand, Ticker, TimeBar
from tests.program import sfumato


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


def test_the_bar_is_whole_however_long_its_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    for width in (50, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        with TimeBar("searching", 30) as bar:
            bar.tell("mondrian, tight [one]", "best so far mondrian, cells, loss 0.2854")
            with Ticker("dealing", 300) as ticker:
                ticker.reach(100, "dealing, loss 0.1094")
            bar._bar.update(bar._task, completed=150)
            paper = StringIO()
            Console(file=paper, width=width).print(bar._bar.get_renderable())
        line = paper.getvalue().rstrip("\n")
        assert len(line) <= width
        assert line.count("━") == 8  # half of the bar
        assert " 50% " in line
        assert "mondrian, tight [o" in line
        assert line.endswith("…")


# -- who watches ----------------------------------------------------------------------------------


def test_whoever_watches_is_told_of_phases_and_of_the_outermost_steps() -> None:
    seen: list[Stand] = []
    with progress.watched(seen.append):
        with progress.phase("searching"), Ticker("outer", 2) as outer:
            outer.add()
            with progress.phase("judging"), Ticker("inner", 4) as inner:
                inner.add()
            outer.reach(2, "nearly")
        with TimeBar("within a minute", 60) as bar, Ticker("dealing", 10) as ticker:
            bar.tell("deal", "best so far 0.2")
            ticker.reach(5, "dealing, loss 0.1")
    assert seen[:6] == [
        Stand("searching"),
        Stand("searching", "outer", 0.5),
        Stand("judging"),
        Stand("searching"),
        Stand("searching", "nearly", 1.0),
        Stand(),
    ]
    last = seen[-1]
    assert (last.phase, last.label) == (None, "deal: dealing, loss 0.1; best so far 0.2")
    assert last.share is not None
    assert last.share < 0.5  # of the minute
    told = len(seen)
    with Ticker("nobody watches", 1) as ticker:
        ticker.add()
    assert len(seen) == told


def test_whoever_waits_is_told_that_something_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato import compiled

    told: list[str] = []

    class Line:
        def update(self, words: str) -> None:
            told.append(words)

        def stop(self) -> None:
            told.append("stopped")

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress.phase("searching"):
        monkeypatch.setattr(progress._line, "_status", Line())
        compiled.inner(_doubled).compile("int64(int64)")  # type: ignore[attr-defined]
    assert "searching, compiling, once ..." in told
    assert told[-2:] == ["searching ...", "stopped"]


def _doubled(number: int) -> int:
    return 2 * number


# -- phases ---------------------------------------------------------------------------------------

DATA = "age,zip,disease\n" + "".join(
    f"{30 + row % 4},1305{row % 3},{'flu' if row % 2 else 'cold'}\n" for row in range(48)
)
POLICY = """
[schema]
quasi = ["age", "zip"]
sensitive = ["disease"]
[anonymizer]
kind = "mondrian"
[[require]]
kind = "k-anonymity"
k = 4
"""


def phases_of(folder: Path, *arguments: object) -> list[str]:
    """What a command says it is doing, each phase once, in the order they begin."""
    (folder / "rows.csv").write_text(DATA)
    (folder / "policy.toml").write_text(POLICY)
    found: list[str] = []
    with progress.heard(found.append):
        run = sfumato(*arguments, "--policy", folder / "policy.toml")
    assert run.returncode in (0, 1), run.stderr
    assert run.stderr == "" or "map" in run.stderr  # nobody watches
    return list(dict.fromkeys(found))


def test_every_phase_of_a_command_is_told(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.csv", tmp_path / "out"
    whole = ["reading", "searching", "judging", "writing"]
    shown = ["reporting", "looking for advice", "attacking", "drawing the page"]
    told = phases_of(tmp_path, "anonymize", rows, "--out", out)
    assert (told[:4], sorted(told[4:])) == (whole, sorted(shown))
    page = tmp_path / "page.html"
    told = phases_of(tmp_path, "audit", out, "--html", page)
    assert (told[:3], sorted(told[3:])) == (["reading", "judging", "writing"], sorted(shown))
    sheet = tmp_path / "map.html"
    told = phases_of(tmp_path, "compare", rows, "--sweep", "k=2,4", "--html", sheet)
    assert told == [*whole, "drawing the page"]
    for words, doing in (
        (("price", rows, "--seconds", 0.1), ["reading", "pricing", "searching"]),
        (("characterize", rows), ["reading", "measuring combinations"]),
        (("skyline", out, "--value", "flu"), ["reading", "attacking"]),
        (("attack", "uniques", rows), ["reading", "attacking"]),
        (("attack", "intersect", out, out, "--targets", rows), ["reading", "attacking"]),
        (("attack", "relative", out, "--victim", "age=30"), ["reading", "attacking"]),
    ):
        assert phases_of(tmp_path, *words)[: len(doing)] == doing


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)


def line_of(phase: str) -> str:
    """What stands on the line once the timer has run."""
    with progress._line._lock:
        timer = progress._line._timer
    if timer is not None:
        timer.join()
    assert progress._line._status is not None
    assert phase in progress._line._status.status
    return str(progress._line._status.status)


@pytest.mark.usefixtures("watched")
def test_the_line_tells_the_phase_that_was_begun_last() -> None:
    with progress.phase("writing"):
        assert line_of("writing") == "writing ..."
        with progress.phase("reporting"):
            line_of("reporting")
        line_of("writing")
    assert progress._line._status is None


@pytest.mark.usefixtures("watched")
def test_a_bar_takes_the_place_of_the_line_and_gives_it_back() -> None:
    with progress.phase("searching"):
        line_of("searching")
        with Ticker("judging nodes", 2) as ticker:
            ticker.add()
            assert progress._line._status is None
            with progress.phase("judging"):
                assert progress._line._timer is None
        line_of("searching")
    assert progress._line._status is None
    assert not Ticker.showing


@pytest.mark.usefixtures("watched")
def test_a_phase_that_fails_leaves_no_line() -> None:
    @progress.phase("reading")
    def reads() -> None:
        line_of("reading")
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        reads()
    assert progress._line._status is None
    assert progress._line._timer is None


def test_a_short_phase_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 3600.0)
    with progress.phase("reading"):
        assert progress._line._status is None
    assert progress._line._timer is None
