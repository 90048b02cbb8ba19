"""`sfumato`: the program and its commands."""

from __future__ import annotations

import sys
from functools import cache
from typing import Annotated, Any

import typer

from sfumato.cli import Exit
from sfumato.cli.anonymize import anonymize
from sfumato.cli.attack import attack
from sfumato.cli.audit import audit
from sfumato.cli.characterize import characterize
from sfumato.cli.compare import compare
from sfumato.cli.demo import demo
from sfumato.cli.ending import ending_of
from sfumato.cli.init import init
from sfumato.cli.ledger import ledger
from sfumato.cli.reproduce import reproduce
from sfumato.cli.skyline import skyline

app = typer.Typer(
    name="sfumato",
    help="Publish microdata that stands up to realistic adversaries.",
    epilog="Start with: sfumato demo --out demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # they print local variables: somebody's data
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"sfumato {version('sfumato')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Publish microdata that stands up to realistic adversaries."""


app.command()(anonymize)
app.command()(audit)
app.command()(characterize)
app.command()(compare)
app.command()(demo)
app.command()(init)
app.command()(reproduce)
app.command()(skyline)
app.add_typer(attack)
app.add_typer(ledger)


def run() -> None:
    """The program's entry: our errors in one line, nobody's data in a traceback."""
    try:
        code = ending_of(_command)
    except KeyboardInterrupt:  # once more, while the first was being told
        code = Exit.INTERRUPTED
    sys.exit(code)


@cache
def _parser() -> Any:
    """The commands with their options; to put them together takes as long as a small audit."""
    return typer.main.get_command(app)


def _command() -> Any:
    """What was asked for; the exit code it asks for, if any."""
    try:
        return _parser()(standalone_mode=False)
    except SystemExit as left:
        return left.code
    except Exception as error:
        # A mistake in the options: the parser shows it as it sees fit.
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        return Exit.BAD_INPUT
