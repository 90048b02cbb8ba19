"""The smallest audit there is: two rows, one policy, run in the test's own process."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.program import sfumato

POLICY = """
[schema]
quasi = ["age", "zip"]
sensitive = ["disease"]

[[require]]
kind = "k-anonymity"
k = 2
"""


DATA = "age,zip,disease\n30,13053,flu\n30,13053,cold\n"


def audit(
    folder: Path, data: str = DATA, policy: str = POLICY, name: str = "rows.csv", *more: object
) -> subprocess.CompletedProcess[str]:
    (folder / name).write_text(data)
    (folder / "policy.toml").write_text(policy)
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    run = sfumato(
        "audit", folder / name, "--policy", folder / "policy.toml", "--report", report, *more
    )
    if run.returncode == 2:
        assert not report.exists()
    return run
