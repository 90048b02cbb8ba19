"""The workbench as its owner starts it: a program that is opened, interrupted, killed."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.program import sfumato

POLICY = """
[schema]
quasi = ["age"]
sensitive = "disease"

[[require]]
kind = "k-anonymity"
k = 2
"""
ROWS = "age,disease\n30,flu\n30,cold\n40,flu\n40,cold\n"


@dataclass
class Opened:
    """A workbench that was started, and a browser in it."""

    process: subprocess.Popen[str]
    port: int
    token: str
    said: str
    cookie: str = ""

    def ask(self, path: str, fields: dict[str, str] | None = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Cookie": self.cookie} if self.cookie else {}
        if fields is None:
            connection.request("GET", path, headers=headers)
        else:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            connection.request("POST", path, urlencode(fields), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        if cookie := answer.getheader("set-cookie"):
            self.cookie = cookie.split(";")[0]
        connection.close()
        return answer.status, text

    def enter(self) -> None:
        assert self.ask(f"/?token={self.token}")[0] == 200

    def end(self, by: int = signal.SIGINT) -> int:
        self.process.send_signal(by)
        return self.process.wait(30)


def opened(*words: object, cwd: Path) -> Opened:
    program = [sys.executable, "-m", "sfumato", "serve", "--no-browser", *map(str, words)]
    process = subprocess.Popen(
        program, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = ""
    while "Ctrl-C" not in said:
        line = process.stdout.readline()
        assert line or process.poll() is None, (said, process.stderr and process.stderr.read())
        said += line
    found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", said)
    assert found is not None
    return Opened(process, int(found[1]), found[2], said)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(ROWS)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


@pytest.fixture
def running(folder: Path) -> Iterator[Opened]:
    found = opened("people.csv", "--policy", "policy.toml", cwd=folder)
    yield found
    if found.process.poll() is None:
        found.process.kill()
        found.process.wait()
    for stream in (found.process.stdout, found.process.stderr):
        if stream is not None:
            stream.close()


def children(process: int) -> list[int]:
    told = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True)
    return [int(word) for word in told.stdout.split()]


def is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def gone(processes: list[int]) -> bool:
    for _ in range(100):
        if not any(map(is_there, processes)):
            return True
        time.sleep(0.1)
    return False


def test_it_begins_with_what_was_given_and_ends_by_ctrl_c(running: Opened, folder: Path) -> None:
    project = folder / "sfumato-project"
    settings = json.loads((project / "project.json").read_text())
    assert settings["data"] == "people.csv"
    assert (project / "policy.toml").read_text() == POLICY
    assert running.ask("/data")[0] == 403
    running.enter()
    status, text = running.ask("/policy")
    assert status == 200
    assert "people.csv" in text
    workers = children(running.process.pid)
    assert workers
    listed = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [place for _, place, _, state, *_ in listed if state == "0A"]
    port = f":{running.port:04X}"
    assert {place for place in listening if place.endswith(port)} == {f"0100007F{port}"}
    # The same command again is another way in.
    again = sfumato_in(folder, "serve", "--no-browser")
    token = re.search(r"token=(\S+)", again.stdout)
    assert again.returncode == 0
    assert token is not None
    running.cookie, running.token = "", token[1]
    running.enter()
    assert running.ask("/policy")[0] == 200
    assert running.end() == 0
    assert gone(workers)
    assert sorted(path.name for path in project.iterdir()) == [
        ".lock",
        "policy.toml",
        "project.json",
        "tried",
    ]


def sfumato_in(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "sfumato", *map(str, words)]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)


def test_killed_it_leaves_no_process_and_loses_nothing(running: Opened, folder: Path) -> None:
    workers = children(running.process.pid)
    assert workers
    project = folder / "sfumato-project"
    assert running.end(signal.SIGKILL) == -signal.SIGKILL
    assert gone(workers)
    assert (project / "policy.toml").read_text() == POLICY
    (folder / "policy.toml").write_text(POLICY.replace("k = 2", "k = 1"))
    again = opened("--policy", "policy.toml", cwd=folder)
    try:
        assert "k = 1" in (project / "policy.toml").read_text()
        (aside,) = (project / "earlier").iterdir()
        assert aside.read_text() == POLICY
        again.cookie = running.cookie
        assert again.ask("/data")[0] == 403  # sessions die with the server
        again.enter()
        assert "people.csv" in again.ask("/data")[1]
    finally:
        assert again.end(signal.SIGTERM) == 0
        for stream in (again.process.stdout, again.process.stderr):
            assert stream is not None
            stream.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.csv"], "nothing.csv is not there"),
        (["--policy", "nothing.toml"], "nothing.toml is no file"),
        (["--policy", "people.csv"], "is not valid TOML"),
        (["--memory", "much"], "is not a size"),
        (["--project", "people.csv"], "is a file, not a folder"),
        (["--project", "no/where"], "is no folder"),
        (["--port", "70000"], "65535"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(folder)
    run = sfumato("serve", "--no-browser", *words)
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stdout == ""


def test_a_port_that_is_taken_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.chdir(folder)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        run = sfumato("serve", "--no-browser", "--port", taken.getsockname()[1])
    assert run.returncode == 2
    assert "cannot be used" in run.stderr


def test_without_the_extra_the_pip_line_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for name in [name for name in sys.modules if name.startswith("sfumato.web")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    run = sfumato("serve", "--no-browser")
    assert run.returncode == 2
    assert "pip install 'sfumato[web]'" in run.stderr
