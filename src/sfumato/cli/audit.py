"""`sfumato audit`: judge a file; the exit code is the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXIT = {"holds": 0, "violated": 1, "could_not_judge": 3}


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
