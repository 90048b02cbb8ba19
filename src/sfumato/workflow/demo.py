"""The demo: a synthetic census goes the whole way, from raw table to a release judged anew.

Stands apart: the whole journey on embedded data, for the command of that name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow.csv as pa_csv

from sfumato.datasets.census import census, census_policy
from sfumato.files import check_new_folder, new_folder
from sfumato.policy.model import Policy
from sfumato.release.read.read_release import read_release
from sfumato.report.report import Report
from sfumato.table.load import read
from sfumato.utility import utility_named
from sfumato.utility.view import view_of
from sfumato.workflow.anonymize import anonymize
from sfumato.workflow.audit import audit

DEMO = "demo"  # what --force knows such folders by
TOLD = ("loss", "discernibility", "query-error")  # what the demo tells of a release's usefulness


@dataclass(frozen=True)
class Journey:
    """Where the demo's files are, and what was found before and after."""

    out: Path
    raw: Report
    released: Report
    costs: dict[str, float]

    @property
    def data(self) -> Path:
        return self.out / "input" / "census.csv"

    @property
    def policy(self) -> Path:
        return self.out / "input" / "policy.toml"

    @property
    def release(self) -> Path:
        return self.out / "release"


def demo(out: Path, *, people: int = 10_000, seed: int = 0, force: bool = False) -> Journey:
    """Make a census, judge it raw, anonymize it, and judge what anybody can read of the result."""
    check_new_folder(out, force=force, what=DEMO)
    table = census(people, seed)
    with new_folder(out, force=force, what=DEMO) as new:
        (new / "input").mkdir()
        pa_csv.write_csv(table, new / "input" / "census.csv")
        (new / "input" / "policy.toml").write_text(census_policy(), encoding="utf-8")
        policy = Policy.load(new / "input" / "policy.toml")
        assert policy.schema is not None
        raw = read(new / "input" / "census.csv", policy.schema)
        before = audit(raw, policy)
        release = anonymize(raw, policy, seed=seed)
        release.save(new / "release", report=audit(release, policy), policy=policy)
        after = audit(read_release(new / "release", policy.schema), policy)
        costs = {name: utility_named(name).cost(view_of(release)) for name in TOLD}
    return Journey(out, before, after, costs)
