"""Spark Connect: a session without a Java of its own counts the same people."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.conftest import ROOT, require


def test_spark_connect_finds_the_same_people(java: None, tmp_path: Path) -> None:
    """In a process of its own: one that has had a Connect session can have no other."""
    missing = [name for name in ("grpc", "grpc_status", "zstandard") if find_spec(name) is None]
    require("connect", not missing, "pip install 'pyspark[connect]'")
    program = ROOT / "tests" / "engines" / "spark" / "connect_driver.py"
    run = subprocess.run(
        [sys.executable, str(program), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    assert run.returncode == 0, run.stderr[-2000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert "differ only in case" in found.pop("names")
    error = found.pop("error")
    assert error
    assert "secret" not in error
    assert "\n" not in error
    assert all(value is True for value in found.values()), found
