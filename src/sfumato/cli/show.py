"""How commands show what they found, and what they may write beside it.

Texts of people's files cannot steer a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.errors import InputError, refuse_handed_out

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from sfumato.report.document import Document
    from sfumato.report.report import Report

# What reaches a terminal: texts of people's files must not be able to steer it.
#
# A label or a column name may hold escapes that move the cursor, repaint a verdict or turn a line
# around. Whatever is printed goes through here, and such signs come out as `\u001b`, which is how
# JSON and TOML write them, too.

# Controls but line feed and tab, marks that turn text around, halves of characters.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff]"
)


def neutral(text: str) -> str:
    """The text with everything visible that would steer a terminal."""
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    """The same, on one line."""
    return neutral(text).replace("\n", "\\n")


def say(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text."""
    typer.echo(neutral(str(text)), err=err, nl=nl)


def open_console(**options: Any) -> Console:
    """A console whose own colours work, and nobody else's."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Neutral(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                if segment.control:
                    yield segment
                else:
                    yield Segment(neutral(segment.text), segment.style)

    return Neutral(**options)


TABLES = (".parquet", ".json")


def show_document(
    document: Document,
    *,
    json: bool,
    verbose: bool = False,
    err: bool = False,
    closing: Mapping[str, str] | None = None,
) -> None:
    """As JSON for programs; for people what matters most, or all: as words and tables.

    `closing`: further lines below, by what each is about. `err`: to stderr.
    """
    if json:
        say(document.to_json())
        return
    from sfumato.report.document import Gist
    from sfumato.report.text import show_all, show_gist

    gist = document.gist or Gist({})
    document = replace(document, gist=replace(gist, closing={**gist.closing, **(closing or {})}))
    (show_all if verbose else show_gist)(document, open_console(highlight=False, stderr=err))


def show_report(
    report: Report, *, json: bool, verbose: bool = False, closing: Mapping[str, str]
) -> None:
    """All of it for programs, in short for people."""
    if json:
        show_document(report.document(), json=True)
        return
    # What is piped or logged may be read by others than the owner of the data.
    private = open_console().is_terminal
    document = report.brief(private=private) if verbose else report.short(private=private)
    show_document(document, json=False, verbose=verbose, closing=closing)


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
    refuse_handed_out(path, "its rows are")
    check_new_file(path, force=force)


def write_private(table: pa.Table | Iterator[pa.Table], path: Path, *, force: bool) -> None:
    """The table as its owner's file."""
    from sfumato.report.characterization import write_table

    write_table(table, path, force=force)
