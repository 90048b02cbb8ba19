"""`sfumato audit`: judge a file; the exit code is the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.options import AsJson, Decimal, Delimiter, Memory, PolicyFile, Spill

EXIT = {"holds": 0, "violated": 1, "could_not_judge": 3}


def audit(
    release: Annotated[
        list[Path],
        typer.Argument(
            help="The file to judge (CSV, Parquet, Arrow), a folder that anonymize wrote, or the "
            "two files of a bucketized release."
        ),
    ],
    policy: PolicyFile,
    json: AsJson = False,
    report: Annotated[
        Path | None, typer.Option(help="Also write the (private) report to this .json file.")
    ] = None,
    memory: Memory = None,
    spill: Spill = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    group: Annotated[
        str | None, typer.Option(help="The column of group ids of a bucketized release.")
    ] = None,
    matching: Annotated[
        str, typer.Option(help="Who counts as alike: exact, or wildcard (* fits everybody).")
    ] = "exact",
    separator: Annotated[
        str | None, typer.Option(help="What separates the members of a set, as in a~b.")
    ] = None,
    population: Annotated[
        Path | None, typer.Option(help="A register of the population, for journalist risk.")
    ] = None,
    sampling: Annotated[
        float | None,
        typer.Option(help="The share of the population in the file, for population uniqueness."),
    ] = None,
) -> None:
    """Judge a table or a release, made by any tool, by a policy.

    Exit code 0: the policy holds; 1: violated; 2: bad input; 3: could not judge.

    Example: sfumato audit patients.csv --policy policy.toml --json
    """
    from sfumato.cli.inputs import load_rules, read_population, reading_hints
    from sfumato.cli.show import show_report
    from sfumato.release.read import read_release
    from sfumato.workflow.audit import audit as run_audit

    rules, schema = load_rules(policy)
    reading: dict[str, Any] = {
        "memory": memory,
        "spill": spill,
        "delimiter": delimiter,
        "decimal": decimal,
    }
    for name, hint in reading_hints(rules, release).items():
        reading[name] = reading[name] or hint
    judged = read_release(
        release[0] if len(release) == 1 else tuple(release),
        schema,
        group=group,
        matching=matching,  # type: ignore[arg-type]  # checked by the reader
        separator=separator,
        **reading,
    )
    register = None if population is None else read_population(population, schema, reading)
    found = run_audit(judged, rules, population=register, sampling_fraction=sampling)
    if report is not None:
        found.save(report)
    show_report(found, json=json)
    raise typer.Exit(EXIT[found.status])
