"""`sfumato compare`: which parameters are worth their cost?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Force, Limit, PageFile, PolicyFile, Verbose, reads
from sfumato.cli.show import say
from sfumato.engines.reading import OF_TABLES, Reading


@reads(*OF_TABLES)
def compare(
    data: Annotated[Path, typer.Argument(help="The table: CSV, Parquet, Excel, SPSS, ...")],
    policy: PolicyFile,
    limit: Limit = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="A parameter and its values: k=2,5,10, t-closeness.t=0.2,0.4, "
            "stubbornness=1e3,1e6,inf, skyline-privacy.m=0,2, suppression=0,0.02, "
            "anonymizer=lattice,mondrian. Several make every combination.",
        ),
    ] = None,
    utility: Annotated[
        list[str] | None,
        typer.Option(help="A cost to measure; the first decides the Pareto front. Repeatable."),
    ] = None,
    risk: Annotated[
        str,
        typer.Option(help="The risk that decides it: mean or highest (prosecutor), or belief."),
    ] = "mean",
    seed: Annotated[int, typer.Option(help="Seed of all chance.")] = 0,
    json: AsJson = False,
    verbose: Verbose = False,
    html: PageFile = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Also write it to this .json file, of which anonymize --like takes one."),
    ] = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Anonymize with many parameters; tell what each release costs and leaves to be found.

    Nothing is published. Points for which there is no safe release are shown as such.

    Example: sfumato compare patients.csv --policy policy.toml --sweep k=2,5,10,25 --html map.html
    """
    from sfumato.cli.options import load_rules, read_table
    from sfumato.cli.show import show_document
    from sfumato.files import check_new_file
    from sfumato.report.comparison import check_kind
    from sfumato.workflow.compare import check_risk, choose_utilities, parse_sweeps, plan_sweep
    from sfumato.workflow.compare import compare as run_compare

    # Every mistake is told before a large file is read.
    for target, endings in ((html, (".html", ".htm")), (save, (".json",))):
        if target is not None:
            check_kind(target, endings)
            check_new_file(target, force=force)
    rules, schema = load_rules(policy, limit)
    swept = parse_sweeps(sweep or ())
    plan_sweep(rules, swept)
    choose_utilities(rules, utility)
    check_risk(risk)
    table = read_table(data, rules, schema, reading)
    comparison = run_compare(table, rules, swept, utility or None, risk=risk, seed=seed)
    for target in (html, save):
        if target is not None:
            comparison.save(target, force=force)
    show_document(comparison.document() if json else comparison.brief(), json=json, verbose=verbose)
    if html is not None:
        say(f"The map: {html}", err=True)
    if save is not None:
        say(f"To publish a point: sfumato anonymize ... --like {save}#POINT --out DIR", err=True)
