"""`sfumato hierarchy`: how could this column be coarsened?"""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from sfumato.cli.options import Force, reads
from sfumato.cli.show import open_console, say
from sfumato.engines.reading import Reading


@reads("file")
def hierarchy(
    data: Annotated[Path, typer.Argument(help="The file to look at: CSV, Parquet or Arrow.")],
    column: Annotated[str, typer.Argument(help="The column to put together.")],
    levels: Annotated[
        int | None, typer.Option(help="How many levels there are between the values and *.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write a line value;label;...;* for every value, as ARX reads it, to this file."
        ),
    ] = None,
    force: Force = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    *,
    reading: Reading,
) -> None:
    """Propose a hierarchy: what a policy says of it, or the file that ARX reads.

    Dates, ICD-10 codes, ages and codes of places are recognised; other numbers are cut at round
    bounds into about equal parts, other categories put together with their neighbours.

    Example: sfumato hierarchy patients.csv age --out age.csv
    """
    from sfumato.files import check_new_file
    from sfumato.policy.draft.propose import propose_for

    if out is not None:
        check_new_file(out, force=force)
    proposed = propose_for(data, column, levels, reading)
    if out is not None:
        proposed.save(out, force=force)
    # What is piped or logged may be read by others than the owner of the data.
    label_counts = proposed.labels_by_level(private=open_console().is_terminal)
    lines = proposed.policy_lines(None if out is None else out.name)
    if json:
        from json import dumps

        by_level = [{"labels": labels, "rows_of_smallest": rows} for labels, rows in label_counts]
        proposal = {"column": column, "why": proposed.why, "policy": lines, "levels": by_level}
        say(dumps(proposal, indent=2, ensure_ascii=False))
    else:
        say(f"# {column}: {proposed.why}")
        for place, (labels, rows) in enumerate(label_counts, start=1):
            smallest = "fewer than 5" if rows is None else f"{rows:,}"
            many = "1 label" if labels == 1 else f"{labels:,} labels"
            say(f"# level {place}: {many}, the smallest of {smallest} row{'s' * (smallest != '1')}")
        say("\n".join(map(_wrapped, lines)))
    if out is not None:
        say(f"Saved (private, it lists every value): {out}", err=True)


def _wrapped(line: str) -> str:
    """A line of a policy for a terminal: a list of numbers may go on below, a text stays whole."""
    if '"' in line:
        return line
    return fill(line, 80, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
