"""`sfumato audit`: judge a file; the exit code is the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import EXIT_OF
from sfumato.cli.options import (
    AsJson,
    By,
    Force,
    Limit,
    PageFile,
    PolicyFile,
    ReleaseFiles,
    Verbose,
    reads,
)
from sfumato.engines.reading import OF_RELEASES, Reading
from sfumato.errors import InputError

_NO_PAGE = "not written: --html FILE writes it; --verbose shows all here"


@reads(*OF_RELEASES)
def audit(
    release: ReleaseFiles,
    policy: PolicyFile,
    limit: Limit = None,
    json: AsJson = False,
    html: PageFile = None,
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
    by: By = "",
    force: Force = False,
    population: Annotated[
        Path | None, typer.Option(help="A register of the population, for journalist risk.")
    ] = None,
    sampling_fraction: Annotated[
        float | None,
        typer.Option(help="The share of the population in the file, for population uniqueness."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="The table the release was made of: it tells who is in which group, and its "
            "people are attacked by a learner and an attacker, which may take long.",
        ),
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(help="With --table: an earlier release about the same people. Repeatable."),
    ] = None,
    record_risks: Annotated[
        Path | None,
        typer.Option(
            help="Also write the risk of every record to this private .csv or .parquet file; of a "
            "release with --table."
        ),
    ] = None,
    verbose: Verbose = False,
    *,
    reading: Reading,
) -> None:
    """Judge a table or a release, made by any tool, by a policy.

    Exit code 0: the policy holds; 1: violated; 2: bad input; 3: could not judge.

    Example: sfumato audit patients.csv --policy policy.toml --html report.html
    """
    from sfumato.adversaries.linkage.record_risks import check_risks_file
    from sfumato.cli.options import load_rules, read_judged, read_population, read_table
    from sfumato.cli.show import check_written, show_report
    from sfumato.workflow.audit import attacks_on
    from sfumato.workflow.audit import audit as run_audit

    written = [target for target in (html, report) if target is not None]
    check_written(html, written, public=public, json=json, force=force)
    if record_risks is not None:
        check_risks_file(record_risks, force=force)
    if earlier and table is None:
        raise InputError("--earlier needs --table: the people who are in all of the releases")
    rules, schema = load_rules(policy, limit)
    judged = read_judged(release, rules, schema, reading)
    register = None if population is None else read_population(population, rules, schema, reading)
    engine = reading.about("engine")
    people = None if table is None else read_table(table, rules, schema, engine)
    earlier_releases = [read_judged([path], rules, schema, engine) for path in earlier or ()]
    attacks = () if people is None else attacks_on(judged, people, earlier_releases, rules.require)
    audited = run_audit(
        judged,
        rules,
        population=register,
        sampling_fraction=sampling_fraction,
        attacks=attacks,
        table=people,
        by=by,
    )
    risks = None if record_risks is None else audited.record_risks()
    for target in written:
        audited.save(target, public=public, force=force)
    if risks is not None and record_risks is not None:
        risks.save(record_risks, force=force)
    files = "\n".join(map(str, written))
    show_report(
        audited.public() if public and json else audited,
        json=json,
        verbose=verbose,
        closing={
            "Every record": "" if record_risks is None else str(record_risks),
            f"{'Public' if public else 'Private'} report": files or _NO_PAGE,
        },
    )
    raise typer.Exit(EXIT_OF[audited.status])
