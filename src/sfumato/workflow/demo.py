"""The demo: a synthetic census, its policy, and an audit of the table as it stands."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow.csv as pa_csv

from sfumato.datasets.census import census, census_policy
from sfumato.errors import InputError
from sfumato.policy.model import Policy
from sfumato.report.model import Report
from sfumato.table.load import read
from sfumato.workflow.audit import audit


@dataclass(frozen=True)
class Journey:
    """Where the demo's files are, and what it found."""

    data: Path
    policy: Path
    evidence: Path
    report: Report


def demo(out: Path, *, people: int = 10_000, seed: int = 0, force: bool = False) -> Journey:
    """Write the census and its policy to a folder, judge it, and keep the evidence in private/."""
    if out.exists() and not force:
        raise InputError(f"{out} exists; give another --out, or --force to replace it")
    table = census(people, seed)
    partial = out.with_name(f"{out.name}.part-{os.getpid()}")
    (partial / "private").mkdir(parents=True)
    try:
        # The raw table is nobody's to hand out: it lies with the evidence.
        pa_csv.write_csv(table, partial / "private" / "census.csv")
        (partial / "policy.toml").write_text(census_policy(), encoding="utf-8")
        policy = Policy.load(partial / "policy.toml")
        assert policy.schema is not None
        report = audit(read(partial / "private" / "census.csv", policy.schema), policy)
        report.save(partial / "private" / "report.json")
        if out.exists():
            shutil.rmtree(out)
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return Journey(
        out / "private" / "census.csv", out / "policy.toml", out / "private" / "report.json", report
    )
