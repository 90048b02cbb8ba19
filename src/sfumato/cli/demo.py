"""`sfumato demo`: the journey on synthetic people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to; it must not exist.")] = Path(
        "demo"
    ),
    people: Annotated[int, typer.Option(help="How many synthetic people.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the synthetic census.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder.")] = False,
) -> None:
    """Make a synthetic census and judge it as it stands.

    Example: sfumato demo --out demo
    """
    from rich.console import Console

    from sfumato.report.text import render
    from sfumato.workflow.demo import demo as run_demo

    journey = run_demo(out, people=people, seed=seed, force=force)
    console = Console()
    console.print(render(journey.report))
    console.print(
        f"\nThe data: {journey.data}\nThe policy: {journey.policy}\n"
        f"The whole report (private): {journey.evidence}\n"
        f"Judge it yourself: sfumato audit {journey.data} --policy {journey.policy}",
        soft_wrap=True,
        highlight=False,
    )
