"""`sfumato demo`: the journey on synthetic people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.show import open_console


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to; it must not exist.")] = Path(
        "demo"
    ),
    people: Annotated[int, typer.Option(help="How many synthetic people.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the synthetic census.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder.")] = False,
) -> None:
    """The whole journey on synthetic people: make a census, anonymize it, judge the release.

    Example: sfumato demo --out demo
    """
    from sfumato.report.document import number
    from sfumato.report.text import show
    from sfumato.utility import UTILITIES
    from sfumato.workflow.demo import demo as run_demo

    journey = run_demo(out, people=people, seed=seed, force=force)
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
