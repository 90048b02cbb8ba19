"""How commands show a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from sfumato.report.model import Report


def show_report(report: Report, *, json: bool) -> None:
    """As JSON for programs, as tables for people."""
    if json:
        typer.echo(report.to_json())
        return
    from rich.console import Console

    from sfumato.report.text import render

    Console().print(render(report))
