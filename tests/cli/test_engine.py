"""`--engine` and `--master`: one line for what cannot be.

That Spark answers as DuckDB does is a test of tests/engines/test_spark_session.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.small_audit import DATA, POLICY
from tests.program import fake_java, in_a_process, sfumato

MORE = {
    "anonymize": ["--out", "out"],
    "audit": [],
    "characterize": [],
    "compare": ["--sweep", "k=2,3"],
    "price": [],
    "skyline": ["--value", "flu", "--confidence", "0.5"],
}
WHY = {
    "--master local[2]": "master 'local[2]' is Spark's; choose the engine spark with it",
    "--engine sparc": "engine 'sparc' is not known; did you mean 'spark'?",
    "--engine spark": "Spark needs Java 17 or newer; ",
    "--engine spark --master spark:7": "master 'spark:7' has no port; write it like spark://host:7077",
}


@pytest.mark.parametrize(
    ("command", "options"),
    [*((command, "--master local[2]") for command in MORE), *(("anonymize", one) for one in WHY)],
)
def test_what_cannot_be(
    command: str, options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(DATA)
    Path("policy.toml").write_text(POLICY)
    fake_java(tmp_path / "old", 'openjdk version "11.0.2" 2019-01-15')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    before = sorted(tmp_path.rglob("*"))
    # Beside a session that runs already nobody looks for Java.
    program = in_a_process if "--engine spark" in options else sfumato
    run = program(
        command, "rows.csv", "--policy", "policy.toml", *MORE[command], *options.split(" ")
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert WHY[options] in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before
