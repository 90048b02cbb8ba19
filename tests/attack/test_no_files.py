"""Pipes, sockets and devices in the place of a file: named as what they are, never waited for."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from tests.program import sfumato

if not hasattr(os, "mkfifo"):
    pytest.skip("this system has no named pipes", allow_module_level=True)

ROWS = "age,zip,disease\n" + "30,1,flu\n30,1,cold\n" * 4
SCHEMA = '[schema]\nquasi = ["age", "zip"]\nsensitive = "disease"\n'
POLICY = SCHEMA + '[anonymizer]\nkind = "mondrian"\n[[require]]\nkind = "k-anonymity"\nk = 2\n'


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """Whoever opens a pipe waits for a writer that never comes."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise AssertionError("still waiting")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(path: Path) -> str:
    os.mkfifo(path)
    return "a named pipe"


def plugged(path: Path) -> str:
    home = Path.cwd()
    os.chdir(path.parent)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(home)
    return "a socket"


def device(path: Path) -> str:
    path.symlink_to("/dev/zero")
    return "a device"


@pytest.fixture(params=[pipe, plugged, device])
def make(request: pytest.FixtureRequest) -> Callable[[Path], str]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def refused(what: str, *arguments: object) -> None:
    ended = sfumato(*arguments)
    assert ended.returncode == 2
    assert f"is {what}, not a file" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["odd.csv", "odd.csv.gz", "odd.parquet", "odd.arrow", "odd"])
def test_as_data_or_release(home: Path, make: Callable[[Path], str], name: str) -> None:
    odd, policy = home / name, home / "policy.toml"
    what = make(odd)
    for command in ("audit", "characterize"):
        refused(what, command, odd, "--policy", policy)
    refused(what, "anonymize", odd, "--policy", policy, "--out", home / "out")
    refused(what, "init", odd, "--out", home / "drafted.toml")
    assert not (home / "out").exists()


def test_as_policy_or_ledger(home: Path, make: Callable[[Path], str]) -> None:
    odd = home / "odd.db"
    what = make(odd)
    refused(what, "audit", home / "rows.csv", "--policy", odd)
    refused(what, "ledger", "list", odd)
    with pytest.raises(sf.InputError, match=what):
        sf.Ledger(odd).releases()
    with pytest.raises(sf.PolicyError, match=what):
        sf.CompositionBound(0.5, 0.9, earlier=odd)


@pytest.mark.parametrize("entry", ["hierarchy", "population", "shape", "earlier"])
def test_as_file_that_a_policy_names(home: Path, make: Callable[[Path], str], entry: str) -> None:
    what = make(home / "odd.csv")
    text = {
        "hierarchy": POLICY
        + '[schema.hierarchies]\nage = { kind = "taxonomy", file = "odd.csv" }\n',
        "population": SCHEMA + '[[require]]\nkind = "k-map"\nk = 2\npopulation = "odd.csv"\n',
        "shape": SCHEMA + '[[require]]\nkind = "epsilon-privacy"\nepsilon = 9\n'
        'adversary = { shape = { file = "odd.csv" } }\n',
        "earlier": SCHEMA + '[[require]]\nkind = "composition"\nshare = 0.5\n'
        'confidence = 0.9\nearlier = "odd.csv"\n',
    }[entry]  # fmt: skip
    (home / "policy.toml").write_text(text)
    refused(what, "audit", home / "rows.csv", "--policy", home / "policy.toml")


def test_inside_a_release_folder(home: Path, make: Callable[[Path], str]) -> None:
    out, policy = home / "out", home / "policy.toml"
    assert sfumato("anonymize", home / "rows.csv", "--policy", policy, "--out", out).returncode == 0
    data = out / "public" / "data.csv"
    data.unlink()
    make(data)
    assert sfumato("audit", out, "--policy", policy).returncode == 2
    (out / "public" / "manifest.json").unlink()
    make(out / "public" / "manifest.json")
    assert sfumato("audit", out, "--policy", policy).returncode == 2
    (home / "manifest.json").unlink(missing_ok=True)
    make(home / "manifest.json")  # beside a file that is judged
    assert sfumato("audit", home / "rows.csv", "--policy", policy).returncode == 0


def test_among_the_parts_of_a_table(tmp_path: Path, make: Callable[[Path], str]) -> None:
    pq.write_table(pa.table({"age": [1]}), tmp_path / "a.parquet")
    what = make(tmp_path / "b.parquet")
    with pytest.raises(sf.InputError, match=what):
        sf.read(tmp_path, sf.Schema(quasi=["age"]), partitioned=True)
