"""`sfumato`: the program. Exit codes: 0 holds, 1 violated, 2 bad input, 3 could not judge."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from sfumato.cli.anonymize import anonymize
from sfumato.cli.attack import attack
from sfumato.cli.audit import audit
from sfumato.cli.characterize import characterize
from sfumato.cli.compare import compare
from sfumato.cli.demo import demo
from sfumato.cli.init import init
from sfumato.cli.ledger import ledger
from sfumato.cli.reproduce import reproduce
from sfumato.cli.skyline import skyline
from sfumato.errors import NoSafeRelease, SfumatoError

NOT_SAFE, BAD_INPUT, INTERNAL, INTERRUPTED = 1, 2, 70, 130

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


def _interrupted(*_: object) -> None:
    """Ctrl-C: say so, undo what is half done, leave."""
    print("interrupted; nothing was written", file=sys.stderr)
    sys.exit(INTERRUPTED)


def _ended(number: int, _: object) -> None:
    """Told to end: leave as after Ctrl-C, so that nothing of anybody's data stays behind."""
    sys.exit(128 + number)


def run() -> None:
    """The program's entry: our errors in one line, nobody's data in a traceback."""
    signal.signal(signal.SIGINT, _interrupted)
    for name in ("SIGTERM", "SIGHUP"):  # not every system has both
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _ended)
    try:
        app()
    except SfumatoError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(NOT_SAFE if isinstance(error, NoSafeRelease) else BAD_INPUT)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        print(f"error: {what}{error.strerror or type(error).__name__}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except Exception as error:
        if os.environ.get("SFUMATO_DEBUG"):
            raise
        print(
            f"error: internal error ({type(error).__name__}); set SFUMATO_DEBUG=1 for the "
            "traceback, which may quote data",
            file=sys.stderr,
        )
        sys.exit(INTERNAL)
