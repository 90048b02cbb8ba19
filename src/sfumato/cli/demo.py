"""`sfumato demo`: a synthetic census goes the whole way, from raw table to a judged release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import By, Force
from sfumato.cli.show import open_console

if TYPE_CHECKING:
    from sfumato.report.report import Report

DEMO = "demo"  # what --force knows such folders by
TOLD = ("loss", "discernibility", "query-error")  # what the demo tells of a release's usefulness


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to; it must not exist.")] = Path(
        "demo"
    ),
    people: Annotated[int, typer.Option(help="How many synthetic people.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the synthetic census.")] = 0,
    by: By = "",
    force: Force = False,
) -> None:
    """The whole journey on synthetic people: make a census, anonymize it, judge the release.

    Example: sfumato demo --out demo
    """
    from sfumato.report.document import number
    from sfumato.report.text import show
    from sfumato.utility import UTILITIES

    journey = _travel(out, people=people, seed=seed, by=by, force=force)
    console = open_console(highlight=False)
    raw, released = journey.raw.summary, journey.released.summary
    console.print(
        f"A synthetic census of {raw.people:,} people. As it stands, the policy is "
        f"{journey.raw.status}: {raw.groups:,} groups, the smallest of {raw.smallest}.\n"
        f"Anonymized: {released.groups:,} groups, the smallest of {released.smallest}. "
        "What anybody can read of the release:\n"
    )
    show(journey.released.brief(), console)
    for name, cost in journey.costs.items():
        console.print(f"{name}: {number(cost)} ({UTILITIES[name].about})", soft_wrap=True)
    console.print(
        f"\nThe table and its policy: {journey.data}, {journey.policy}\n"
        f"What may be handed out: {journey.release / 'public'}\n"
        f"Judge it yourself: sfumato audit {journey.release} --policy {journey.policy}\n"
        f"The whole report (private): {journey.release / 'private' / 'report.html'}",
        soft_wrap=True,
    )


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


def _travel(
    out: Path, *, people: int = 10_000, seed: int = 0, by: str = "", force: bool = False
) -> Journey:
    """Make a census, judge it raw, anonymize it, and judge what anybody can read of the result."""
    import pyarrow.csv as pa_csv

    from sfumato.datasets.census import census, census_policy
    from sfumato.files import check_new_folder, new_folder
    from sfumato.policy.model import Policy
    from sfumato.release.read.read_release import read_release
    from sfumato.table import read
    from sfumato.utility import utility_named
    from sfumato.utility.view import view_of
    from sfumato.workflow.anonymize import anonymize
    from sfumato.workflow.audit import audit

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
        report = audit(release, policy, by=by)
        release.save(new / "release", report=report, policy=policy)
        after = audit(read_release(new / "release", policy.schema), policy)
        costs = {name: utility_named(name).cost(view_of(release)) for name in TOLD}
    return Journey(out, before, after, costs)
