"""The workbench at a million census rows: first view, sliders, panels, memory.

Starts `sfumato serve` as an owner does and asks it over HTTP as her browser would. Seconds are from
a request to its whole answer; memory is that of the server and its workers together, their own
pages only, at the highest seen. The floor of the first view is DuckDB counting the values of every
column of the same file. Run it on a quiet machine: `python benchmarks/workbench.py`.
"""

from __future__ import annotations

import argparse
import html
import http.client
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import duckdb
import pyarrow.csv as pa_csv
from results import tell

from sfumato.datasets.census import census

POLICY = """
[schema]
quasi = ["age", "sex", "zip", "education", "marital", "work"]
sensitive = ["disease"]
identifiers = ["name"]

[schema.hierarchies]
age = { kind = "intervals", widths = [5, 10, 20, 40] }
zip = { kind = "mask" }

[anonymizer]
kind = "mondrian"

[[require]]
kind = "k-anonymity"
k = 5

[[require]]
kind = "t-closeness"
t = 0.4
"""
GIGABYTE = 1 << 30


class Visitor:
    """A browser of few words."""

    def __init__(self, address: str) -> None:
        found = re.match(r"http://([\d.]+):(\d+)/\?token=(\S+)", address)
        assert found is not None
        self._host, self._port = found[1], int(found[2])
        self._cookie = self._csrf = ""
        self.ask("GET", f"/?token={found[3]}")

    def ask(self, method: str, path: str, live: bool = False, **fields: str) -> tuple[float, str]:
        """Seconds until the answer is whole, and the page; redirects are followed."""
        begun = time.monotonic()
        headers = {"Cookie": self._cookie, "X-CSRF": self._csrf}
        if live:
            headers["X-Live"] = "yes"
        body = None
        if method == "POST":
            body = urlencode({"csrf": self._csrf, **fields})
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection(self._host, self._port, timeout=600)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if cookie := answer.getheader("set-cookie"):
            self._cookie = cookie.split(";")[0]
        if word := re.search(r'name="csrf" (?:content|value)="([^"]+)"', text):
            self._csrf = word[1]
        if answer.status == 303:
            _, text = self.ask("GET", answer.getheader("location") or "/")
        elif answer.status >= 400:
            words = re.sub(r"<[^>]+>|\s+", " ", text)
            raise SystemExit(f"{method} {path}: {answer.status} {words[:300]}")
        return time.monotonic() - begun, text


def memory_of(process: int) -> int:
    """Bytes of a process and all below it that are their own."""
    total, left = 0, [process]
    while left:
        one = left.pop()
        try:
            _, resident, shared, *_ = Path(f"/proc/{one}/statm").read_text().split()
            total += (int(resident) - int(shared)) * 4096
            for thread in Path(f"/proc/{one}/task").iterdir():
                left += map(int, (thread / "children").read_text().split())
        except OSError:
            continue
    return total


def fields_of(page: str) -> dict[str, str]:
    """What the form of the step Policy would send, as far as sliders need it."""
    found: dict[str, str] = {}
    form = page[page.index('data-policy="/policy/live"') :].partition("</form>")[0]
    for tag in re.findall(r"<input[^>]*>", form):
        name = re.search(r'\bname="([^"]+)"', tag)
        value = re.search(r'\bvalue="([^"]*)"', tag)
        ticked = 'type="checkbox"' not in tag or " checked" in tag
        if name and value and ticked:
            found[html.unescape(name[1])] = html.unescape(value[1])
    for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', form, re.S):
        chosen = re.search(r'<option value="([^"]*)" selected', options)
        first = re.search(r'<option value="([^"]*)"', options)
        if one := chosen or first:
            found[html.unescape(name)] = html.unescape(one[1])
    for name, text in re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>(.*?)</textarea>', page, re.S):
        found[html.unescape(name)] = html.unescape(text)
    return found


def floor(file: Path) -> float:
    """Counting the values of every column, and nothing else."""
    begun = time.monotonic()
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    read = f"read_csv('{file}')"
    for column, *_ in connection.execute(f"DESCRIBE SELECT * FROM {read}").fetchall():
        counted = f'SELECT "{column}", count(*) FROM {read} GROUP BY 1'
        connection.sql(counted).to_arrow_table()
    return time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=1_000_000)
    people = parser.parse_args().people
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        pa_csv.write_csv(census(people, seed=1), folder / "census.csv")
        size = (folder / "census.csv").stat().st_size
        print(f"{people:,} people, {size / 1e6:.0f} MB of CSV")
        bare = min(floor(folder / "census.csv") for _ in range(2))
        process = subprocess.Popen(
            [sys.executable, "-m", "sfumato", "serve", "--no-browser"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        highest = 0
        over = threading.Event()

        def watch() -> None:
            nonlocal highest
            while not over.wait(0.1):
                highest = max(highest, memory_of(process.pid))

        threading.Thread(target=watch, daemon=True).start()
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "")
            address = next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
            journey(Visitor(address), bare)
        finally:
            over.set()
            process.send_signal(signal.SIGINT)
            process.wait(30)
        tell("workbench: memory of server and workers", highest / GIGABYTE, at_most=2, unit="GB")


def journey(visitor: Visitor, bare: float) -> None:
    page = visitor.ask("GET", "/data")[1]
    revision = re.search(r'name="revision" value="([^"]+)"', page)
    assert revision is not None, page
    seconds, page = visitor.ask("POST", "/data/file", file="census.csv", revision=revision[1])
    assert 'id="questions"' in page or "Columns" in page
    tell("workbench: first view", seconds, at_most=5)
    tell("the same", seconds, other=bare, against="counting every column's values")
    seconds, page = visitor.ask("GET", "/data")
    tell("workbench: the same again", seconds)
    revision = re.search(r'name="revision" value="([^"]+)"', page)
    assert revision is not None
    seconds, page = visitor.ask("POST", "/data/draft", revision=revision[1])
    tell("workbench: roles guessed, a policy drafted", seconds)
    seconds, page = visitor.ask("GET", "/policy")
    tell("workbench: step Policy, first", seconds)
    text = fields_of(page) | {"action": "text", "text": POLICY}
    seconds, page = visitor.ask("POST", "/policy", **text)
    tell("workbench: another policy's text is saved", seconds)
    slide(visitor, "the table as it stands", page)
    seconds, page = visitor.ask("GET", "/release")
    begun = time.monotonic()
    visitor.ask("POST", "/release/run", seed="1")
    while "data-watch" in visitor.ask("GET", "/errand")[1]:
        time.sleep(0.2)
    tell("workbench: a release by mondrian", time.monotonic() - begun)
    visitor.ask("POST", "/release/1/take")
    slide(visitor, "the release", visitor.ask("GET", "/policy")[1])
    for panel in ("realistic", "skyline", "leakage", "linkage"):
        answers = []
        for _ in range(3):
            begun = time.monotonic()
            address = f"/adversaries/{panel}?point=1"
            while "data-pending" in visitor.ask("GET", address, live=True)[1]:
                time.sleep(0.1)
            answers.append(time.monotonic() - begun)
        first = f"first {answers[0]:.1f} s"
        tell(f"workbench: panel {panel}", min(answers[1:]), at_most=1, why=first)


def slide(visitor: Visitor, what: str, page: str) -> None:
    """Move k and t ten times."""
    fields = fields_of(page)
    bounds = [name for name in fields if re.fullmatch(r"require\.\d+\.[kt]", name)]
    assert bounds, sorted(fields)
    taken = []
    for k in range(2, 12):
        told = (
            fields
            | {"changed": "form"}
            | {name: str(k) if name.endswith("k") else str(k / 20) for name in bounds}
        )
        seconds, answer = visitor.ask("POST", "/policy/live", live=True, **told)
        assert f"required k ≥ {k}" in answer, answer[:400]
        taken.append(seconds)
    tell(f"workbench: slider on {what}", max(taken[1:]), at_most=1, why=f"first {taken[0]:.1f} s")


if __name__ == "__main__":
    main()
