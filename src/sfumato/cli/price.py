"""`sfumato price`: what does every promise cost?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Force, Limit, PageFile, PolicyFile, Verbose, reads
from sfumato.cli.show import say
from sfumato.engines.reading import OF_TABLES, Reading


@reads(*OF_TABLES)
def price(
    data: Annotated[Path, typer.Argument(help="The table: CSV, Parquet, Excel, SPSS, ...")],
    policy: PolicyFile,
    limit: Limit = None,
    seconds: Annotated[
        float, typer.Option(help="For all searches together, after that of the policy as it is.")
    ] = 30.0,
    seed: Annotated[int, typer.Option(help="Seed of all chance.")] = 0,
    people: Annotated[
        int | None,
        typer.Option(
            help="A table of more people is priced by a sample of so many: 30,000; of linked rows "
            "10,000; 2,000 where the anonymizer is deal or best, or a lattice of linked rows."
        ),
    ] = None,
    json: AsJson = False,
    verbose: Verbose = False,
    html: PageFile = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write it to this .json, .md or .html file.")
    ] = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Tell what each promise and each column costs, and what would help most.

    Of each criterion: the best release without it, and with its bound one step looser or tighter;
    of each quasi-identifier: the best release without it. Nothing is published.

    Example: sfumato price patients.csv --policy policy.toml --html price.html
    """
    from sfumato.cli.options import load_rules, read_table
    from sfumato.cli.show import check_written, show_document
    from sfumato.workflow.price import check_price
    from sfumato.workflow.price import price as run_price

    # Every mistake is told before a large file is read.
    written = [target for target in (html, report) if target is not None]
    check_written(html, written, public=False, json=json, force=force)
    check_price(seconds, seed, people)
    rules, schema = load_rules(policy, limit)
    table = read_table(data, rules, schema, reading)
    priced = run_price(table, rules, seconds=seconds, seed=seed, people=people)
    for target in written:
        priced.save(target, force=force)
    show_document(priced.document() if json else priced.brief(), json=json, verbose=verbose)
    for target in written:
        say(f"Price (private): {target}", err=True)
