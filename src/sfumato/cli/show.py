"""How commands show what they found, and what they may write beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.terminal import open_console, say
from sfumato.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.report.document import Document
    from sfumato.report.report import Report

TABLES = (".parquet", ".json")


def show_document(document: Document, *, json: bool) -> None:
    """As JSON for programs, as words and tables for people."""
    if json:
        say(document.to_json())
        return
    from sfumato.report.text import show

    show(document, open_console())


def show_report(report: Report, *, json: bool) -> None:
    """All of it for programs, in brief for people."""
    if json:
        show_document(report.document(), json=True)
        return
    # What is piped or logged may be read by others than the owner of the data.
    show_document(report.brief(private=open_console().is_terminal), json=False)


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


def check_private(path: Path, *, force: bool) -> None:
    """Refuse what cannot be written, before any work is done."""
    from sfumato.files import check_new_file

    if path.suffix not in TABLES:
        raise InputError(
            f"cannot write private evidence as {path.name!r}; use a name ending in "
            f"{' or '.join(TABLES)}"
        )
    check_new_file(path, force=force)


def write_private(table: pa.Table, path: Path, *, force: bool) -> None:
    """The table as its owner's file."""
    from sfumato.report.document import write_table

    write_table(table, path, force=force)
