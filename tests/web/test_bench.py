"""What all pages share: long work beside which pages live, failures told, hostile texts as text."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sfumato.errors import InputError
from sfumato.progress import Ticker, phase
from sfumato.report.document import Chart, Section, Series, Sheet
from sfumato.web.bench import bench_of, page, read_form
from sfumato.web.desk import Desk
from sfumato.web.folder import Folder
from sfumato.web.section_html import section_html
from sfumato.web.server import Attentive
from sfumato.web.shell import path_word, reading_words, shell_line, shell_note
from tests.web.conftest import Visitor

# What a label may be, if somebody means harm or nobody thought of it.
HOSTILE = (
    "<b>bold</b><img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "{{ 7 * 7 }} {% raise %} ${y}",
    '"it\'s" `so`',
    "' onmouseover='alert(1)",
    "مرض القلب \u202egnorw\u202c",
    "&lt;i&gt; &amp; &#x3c;",
)


def work(desk: Desk, seconds: float) -> str:
    with phase("searching"), Ticker("trying <b>cells</b>", 100) as ticker:
        for _ in range(100):
            time.sleep(seconds / 100)
            ticker.add()
    return "/release/1"


def refuse(desk: Desk) -> str:
    raise InputError("no release keeps <b>this</b>")


async def start(request: Request) -> Response:
    bench = bench_of(request)
    form = await read_form(request)
    if form.text("task") == "refuse":
        bench.begin("Making release 1", lambda: bench.runner.ask(refuse), page="/release")
    else:
        seconds = form.number("seconds")
        bench.begin("Making release 1", lambda: bench.runner.ask(work, seconds), page="/release")
    return RedirectResponse("/release", 303)


async def stumble(request: Request) -> Response:
    raise KeyError("Ada Lovelace, 36")


async def hostile(request: Request) -> Response:
    raise InputError(f"column {HOSTILE[0]!r} is no column")


async def state(request: Request) -> Response:
    return page(request, "layout.html", step=HOSTILE[1])


@pytest.fixture
def busy(visitor: Visitor) -> Visitor:
    visitor.client.app.router.routes[:0] = [  # type: ignore[attr-defined]
        Route("/run", start, methods=["POST"]),
        Route("/stumble", stumble),
        Route("/hostile", hostile),
        Route("/state", state),
    ]
    return visitor


def ended(visitor: Visitor) -> str:
    """What is shown once the errand is over."""
    for _ in range(600):
        text = str(visitor.get("/errand").text)
        if "data-over" in text:
            return text
        time.sleep(0.05)
    raise AssertionError(text)


def progress(visitor: Visitor) -> str:
    """What is shown once the work counts its steps."""
    for _ in range(600):
        text = str(visitor.get("/errand").text)
        if 'max="1"' in text:
            return text
        time.sleep(0.05)
    raise AssertionError(text)


def test_pages_live_while_something_is_done(busy: Visitor) -> None:
    assert busy.post("/run", {"seconds": "60"}).status_code == 303
    told = progress(busy)
    assert "trying &lt;b&gt;cells&lt;/b&gt;" in told
    assert "data-watch" in told
    for path in ("/data", "/policy", "/static/workbench.js"):
        assert busy.get(path).status_code == 200
    assert busy.bench.errand is not None
    assert busy.bench.errand.status == "running"
    assert "is being done" in busy.get("/data").text
    second = busy.post("/run", {"seconds": "1"})  # one at a time
    assert second.status_code == 422
    assert "still being done" in second.text
    assert busy.post("/errand/cancel", {"back": "/release"}).headers["location"] == "/release"
    assert "was cancelled; nothing was written" in ended(busy)
    assert busy.post("/run", {"seconds": "0"}).status_code == 303
    assert 'data-over="/release/1"' in ended(busy)


def test_a_killed_worker_kills_no_page(busy: Visitor) -> None:
    busy.post("/run", {"seconds": "60"})
    progress(busy)
    process = busy.bench.runner.process_id
    assert process is not None
    os.kill(process, signal.SIGKILL)
    assert "ended from outside" in ended(busy)
    assert busy.get("/data").status_code == 200
    busy.post("/run", {"seconds": "0"})
    assert 'data-over="/release/1"' in ended(busy)


def test_work_that_fails_says_why(busy: Visitor) -> None:
    busy.post("/run", {"task": "refuse"})
    told = ended(busy)
    assert "no release keeps &lt;b&gt;this&lt;/b&gt;" in told
    assert 'role="alert"' in told


def test_a_mistake_of_ours_quotes_nobody(busy: Visitor, capfd: pytest.CaptureFixture[str]) -> None:
    answer = busy.get("/stumble")
    assert answer.status_code == 500
    assert "KeyError" in answer.text
    assert "Ada" not in answer.text
    assert capfd.readouterr() == ("", "")


def test_errors_are_told_on_the_page_or_in_its_part(busy: Visitor) -> None:
    whole, part = busy.get("/hostile"), busy.get("/hostile", headers={"X-Live": "yes"})
    assert whole.status_code == part.status_code == 422
    for text in (whole.text, part.text):
        assert "<img" not in text
        assert "&lt;img" in text
    assert "<html" in whole.text
    assert "<html" not in part.text


def test_a_damaged_project_is_told_by_every_page(busy: Visitor) -> None:
    (busy.bench.project.folder / "project.json").write_text("{")
    answer = busy.get("/")
    assert answer.status_code == 422
    assert "damaged" in answer.text


# -- a browser that goes away ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "live", "stopped"),
    [("GET", False, True), ("POST", True, True), ("POST", False, False)],
)
def test_what_is_looked_at_is_given_up_and_what_is_saved_is_not(
    method: str, live: bool, stopped: bool
) -> None:
    ends: list[str] = []

    async def app(scope, receive, send) -> None:
        body = await receive()
        assert body["body"] == b"x"
        try:
            await asyncio.sleep(0.3)
            ends.append("done")
        except asyncio.CancelledError:
            ends.append("stopped")
            raise

    sent = [{"type": "http.request", "body": b"x"}, {"type": "http.disconnect"}]

    async def receive():
        return sent.pop(0) if sent else await asyncio.sleep(60)

    async def send(message) -> None:
        raise AssertionError

    headers = [(b"x-live", b"yes")] if live else []
    scope = {"type": "http", "path": "/data", "method": method, "headers": headers}
    asyncio.run(asyncio.wait_for(Attentive(app)(scope, receive, send), 10))  # type: ignore[arg-type]
    assert ends == ["stopped" if stopped else "done"]


# -- hostile texts ---------------------------------------------------------------------------------


class Tags(HTMLParser):
    """The elements of a piece of HTML, and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag == "script":
            assert dict(attrs)["type"] == "application/json"


@pytest.mark.parametrize("label", HOSTILE)
def test_whatever_a_label_is_it_is_text(label: str) -> None:
    numbers = (1.0, 2.0)
    series = (Series(label, (label, label), numbers), Series("x", ("a", label), numbers))
    kinds = ("bars", "shares", "points", "lines")
    section = Section(
        label,
        label,
        (Sheet((label, "n"), ((label, 1),), label, (label,)),),
        tuple(Chart(label, kind, label, label, series, alt=label) for kind in kinds),
        private=True,
    )
    shown = section_html(section)
    assert isinstance(shown, Markup)
    found = Tags(shown)
    assert "img" not in found.tags
    assert not [name for name in found.attributes if name.startswith("on")]
    assert "49" not in Markup(shown).striptags() or "7 * 7" in shown
    assert "private" in shown
    assert len(set(_ids(shown))) == len(_ids(shown))


def _ids(text: str) -> list[str]:
    return [part.split('"')[0] for part in text.split(' id="')[1:]]


def test_sections_shown_twice_have_charts_of_their_own() -> None:
    series = (Series("x", (1, 2), (3, 4)),)
    section = Section("A", charts=(Chart("c", "lines", "x", "y", series, alt="told"),))
    both = section_html(section) + section_html(section, level=3)
    assert len(set(_ids(both))) == 4
    assert "<h2>" in both
    assert "<h3>" in both


# -- the same from a shell -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a b.csv", "$(rm -rf x).csv", "'; ls #.csv", "-rf.csv", "é.csv"])
def test_a_command_names_a_file_and_nothing_else(tmp_path: Path, name: str) -> None:
    folder = Folder(tmp_path, tmp_path / "sfumato-project")
    line = shell_line("audit", path_word(folder, tmp_path / name), "--policy", "p.toml")
    words = shlex.split(line)
    assert words[:2] == ["sfumato", "audit"]
    assert (tmp_path / words[2]).resolve() == tmp_path / name
    assert not words[2].startswith("-")
    assert words[3:] == ["--policy", "p.toml"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell")
@pytest.mark.parametrize(
    "name", ["a\nrm x", "a\x15rm x\r", "\x1b[201~b'\\n", "\u202egpj.csv", "é\n\x07f", "\udce9"]
)
def test_a_terminal_obeys_nothing_that_a_name_holds(name: str) -> None:
    line = shell_line("audit", name)
    assert line.isprintable()
    words = line.replace("sfumato audit", "printf %s")
    said = subprocess.run(["bash", "-c", words], capture_output=True, check=True)
    assert said.stdout == os.fsencode(name)
    assert shell_note(name).isprintable()


def test_how_a_file_is_read_is_said_as_options() -> None:
    reading = {
        "delimiter": ";",
        "partitioned": True,
        "dates": {"*": "DMY", "born": "MDY"},
        "missing": ["?", "NA"],
        "header": 3,
    }
    assert reading_words(reading, "2GB") == [
        *("--delimiter", ";", "--partitioned", "--dates", "DMY", "--dates", "born=MDY"),
        *("--missing", "?", "--missing", "NA", "--header", "3", "--memory", "2GB"),
    ]
