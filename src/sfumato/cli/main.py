"""`sfumato`: the program. Exit codes: 0 holds, 1 violated, 2 bad input, 3 could not judge."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.errors import SfumatoError

EXIT = {"holds": 0, "violated": 1, "could_not_judge": 3}
BAD_INPUT, INTERNAL, INTERRUPTED = 2, 70, 130

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


@app.command()
def audit(
    data: Annotated[Path, typer.Argument(help="The file to judge: CSV, Parquet or Arrow.")],
    policy: Annotated[Path, typer.Option(help="The policy, a TOML file with a [schema].")],
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="Also write the (private) report to this .json file.")
    ] = None,
    memory: Annotated[str | None, typer.Option(help="Memory the engine may use, e.g. 2GB.")] = None,
    spill: Annotated[
        Path | None, typer.Option(help="Folder for what does not fit in memory.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="What separates the fields of a text file.")
    ] = None,
) -> None:
    """Judge a file by a policy, as it stands.

    Exit code 0: the policy holds; 1: violated; 2: bad input; 3: could not judge.

    Example: sfumato audit patients.csv --policy policy.toml --json
    """
    from sfumato.errors import PolicyError
    from sfumato.policy.model import Policy
    from sfumato.table.load import read
    from sfumato.workflow.audit import audit as run_audit

    rules = Policy.load(policy)
    if rules.schema is None:
        raise PolicyError(f"{policy.name} has no [schema]; name the columns' roles in it")
    table = read(data, rules.schema, memory=memory, spill=spill, delimiter=delimiter)
    found = run_audit(table, rules)
    if report is not None:
        found.save(report)
    if json:
        typer.echo(found.to_json())
    else:
        from rich.console import Console

        from sfumato.report.text import render

        Console().print(render(found))
    raise typer.Exit(EXIT[found.status])


@app.command()
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


def run() -> None:
    """The program's entry: our errors in one line, nobody's data in a traceback."""
    try:
        app()
    except SfumatoError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except Exception as error:
        if os.environ.get("SFUMATO_DEBUG"):
            raise
        print(
            f"error: internal error ({type(error).__name__}); set SFUMATO_DEBUG=1 for the "
            "traceback, which may quote data",
            file=sys.stderr,
        )
        sys.exit(INTERNAL)
