"""How commands show a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.terminal import open_console, say
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato.report.report import Report


def show_report(report: Report, *, json: bool) -> None:
    """As JSON for programs, as tables for people."""
    if json:
        say(report.to_json())
        return
    from sfumato.report.text import show

    console = open_console()
    # What is piped or logged may be read by others than the owner of the data.
    show(report.brief(private=console.is_terminal), console)


def check_written(
    html: Path | None, written: list[Path], *, public: bool, json: bool, force: bool = False
) -> None:
    """Refuse what cannot be written, before any work is done."""
    from sfumato.files import check_new_file
    from sfumato.report.report import check_kind

    if html is not None and html.suffix != ".html":
        raise InputError(f"--html {html.name!r} is no page; use a name ending in .html")
    if len({target.absolute() for target in written}) < len(written):
        raise InputError(f"{written[0]} is to be written twice; give two names")
    for target in written:
        check_kind(target)
        check_new_file(target, force=force)
    if public and not written and not json:
        raise InputError("--public is about what is written: give --html, --report or --json too")
