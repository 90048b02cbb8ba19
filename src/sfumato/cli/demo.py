"""`sfumato demo`: a synthetic census goes the whole way, from raw table to a judged release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import By, Force, Verbose
from sfumato.cli.show import say, show_report

if TYPE_CHECKING:
    from sfumato.report.report import Report

DEMO = "demo"  # what --force knows such folders by


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to; it must not exist.")] = Path(
        "demo"
    ),
    people: Annotated[int, typer.Option(help="How many synthetic people.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the synthetic census.")] = 0,
    by: By = "",
    force: Force = False,
    verbose: Verbose = False,
) -> None:
    """The whole journey on synthetic people: make a census, anonymize it, judge the release.

    Example: sfumato demo --out demo
    """
    journey = _travel(out, people=people, seed=seed, by=by, force=force)
    raw = journey.raw.summary
    say(
        f"A synthetic census of {raw.people:,} people. As it stands, the policy is "
        f"{journey.raw.status}:\n{raw.groups:,} groups, the smallest of {raw.smallest}. Anonymized:"
    )
    show_report(
        journey.released,
        json=False,
        verbose=verbose,
        closing={
            "Input": f"{journey.data}\n{journey.policy}",
            "Hand out": str(journey.release / "public"),
            "Judge it": f"sfumato audit {journey.release} --policy {journey.policy}",
            "Private report": str(journey.release / "private" / "report.html"),
        },
    )


@dataclass(frozen=True)
class Journey:
    """Where the demo's files are, and what was found before and after."""

    out: Path
    raw: Report
    released: Report

    @property
    def data(self) -> Path:
        return self.out / "input" / "census.csv"

    @property
    def policy(self) -> Path:
        return self.out / "input" / "policy.toml"

    @property
    def release(self) -> Path:
        return self.out / "release"


def _travel(
    out: Path, *, people: int = 10_000, seed: int = 0, by: str = "", force: bool = False
) -> Journey:
    """Make a census, judge it raw, anonymize it, and judge the result."""
    import pyarrow.csv as pa_csv

    from sfumato.datasets.census import census, census_policy
    from sfumato.files import check_new_folder, new_folder
    from sfumato.policy.model import Policy
    from sfumato.table import read
    from sfumato.workflow.anonymize import anonymize
    from sfumato.workflow.audit import audit

    check_new_folder(out, force=force, kind=DEMO)
    table = census(people, seed)
    with new_folder(out, force=force, kind=DEMO) as new:
        (new / "input").mkdir()
        pa_csv.write_csv(table, new / "input" / "census.csv")
        (new / "input" / "policy.toml").write_text(census_policy(), encoding="utf-8")
        policy = Policy.load(new / "input" / "policy.toml")
        assert policy.schema is not None
        raw = read(new / "input" / "census.csv", policy.schema)
        before = audit(raw, policy)
        release = anonymize(raw, policy, seed=seed)
        after = audit(release, policy, by=by)
        release.save(new / "release", report=after, policy=policy)
    return Journey(out, before, after)
