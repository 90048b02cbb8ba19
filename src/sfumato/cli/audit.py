"""`sfumato audit`: judge a file; the exit code is the answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import (
    AsJson,
    Decimal,
    Delimiter,
    EngineName,
    Facts,
    FileScheme,
    GroupColumn,
    Master,
    Matching,
    Memory,
    Partitioned,
    PolicyFile,
    ReleaseFiles,
    Separator,
    Spill,
)
from sfumato.cli.terminal import say, say_sentence
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.schema.roles import Schema
    from sfumato.table.load import Table

EXIT = {"holds": 0, "violated": 1, "could_not_judge": 3}


def audit(
    release: ReleaseFiles,
    policy: PolicyFile,
    json: AsJson = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write the report as a page that opens offline.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write the report to this .json, .md or .html file.")
    ] = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="Let --html, --report and --json tell only what may be handed out: no worst "
            "groups, no small counts.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the files.")] = False,
    facts: Facts = None,
    engine: EngineName = None,
    master: Master = None,
    memory: Memory = None,
    spill: Spill = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    partitioned: Partitioned = None,
    group: GroupColumn = None,
    scheme: FileScheme = "generalized",
    matching: Matching = "exact",
    separator: Separator = None,
    population: Annotated[
        Path | None, typer.Option(help="A register of the population, for journalist risk.")
    ] = None,
    sampling: Annotated[
        float | None,
        typer.Option(help="The share of the population in the file, for population uniqueness."),
    ] = None,
    original: Annotated[
        Path | None,
        typer.Option(
            "--table",
            "--original",
            help="The table the release was made of: it tells who is in which group, and its "
            "people are attacked by a learner and an attacker, which may take long.",
        ),
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(help="With --original: an earlier release about the same people. Repeatable."),
    ] = None,
) -> None:
    """Judge a table or a release, made by any tool, by a policy.

    Exit code 0: the policy holds; 1: violated; 2: bad input; 3: could not judge.

    Example: sfumato audit patients.csv --policy policy.toml --html report.html
    """
    from sfumato.cli.inputs import load_rules, read_judged, read_population, read_table, stated
    from sfumato.cli.show import check_written, show_report
    from sfumato.report.sections.usefulness import closing_words
    from sfumato.workflow.audit import audit as run_audit

    written = [target for target in (html, report) if target is not None]
    check_written(html, written, public=public, json=json, force=force)
    if earlier and original is None:
        raise InputError("--earlier needs --original: the people who are in all of the releases")
    rules, schema = load_rules(policy)
    where = stated(engine=engine, master=master, memory=memory, spill=spill)
    reading = {**where, **stated(delimiter=delimiter, decimal=decimal, partitioned=partitioned)}
    how = {
        "group": group,
        "facts": facts,
        "scheme": scheme,
        "matching": matching,
        "separator": separator,
    }
    judged = read_judged(release, rules, schema, reading, **how)
    register = None if population is None else read_population(population, schema, reading)
    table = None if original is None else read_table(original, rules, schema, **where)
    attacks = () if table is None else _attacks(judged, table, earlier or [], schema, **where)
    found = run_audit(
        judged,
        rules,
        population=register,
        sampling_fraction=sampling,
        attacks=attacks,
        table=table,
    )
    for target in written:
        found.save(target, public=public, force=force)
    show_report(found.public() if public and json else found, json=json)
    if not json:
        for words in closing_words(found):
            say_sentence(words)
        for target in written:
            say(f"Report ({'public' if public else 'private'}): {target}")
    raise typer.Exit(EXIT[found.status])


def _attacks(
    judged: Release, table: Table, earlier: list[Path], schema: Schema, **reading: Any
) -> tuple[Any, ...]:
    """What an audit runs on request only."""
    from sfumato.release.read.read_release import read_release
    from sfumato.workflow.attacks import attacks_on

    others = [read_release(path, schema, **reading) for path in earlier]
    return attacks_on(judged, table, others)
