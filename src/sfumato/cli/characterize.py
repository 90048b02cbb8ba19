"""`sfumato characterize`: which combination of columns gives people away?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import AsJson, Force, PageFile, PolicyFile, Verbose, reads
from sfumato.cli.show import say
from sfumato.engines.reading import OF_TABLES, Reading

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.table import Table


@reads(*OF_TABLES)
def characterize(
    data: Annotated[
        Path,
        typer.Argument(
            help="The table (CSV, Parquet, Excel, SPSS, ...), or a folder anonymize wrote."
        ),
    ],
    policy: PolicyFile,
    max_size: Annotated[
        int, typer.Option("--max-size", help="How many columns are combined at most.")
    ] = 3,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="What is learnt: a column (kept ones too), several joined by | as one, or * for "
            "every column; the sensitive ones otherwise. Repeatable.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="What is known: a column to combine; the quasi-identifiers otherwise."),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(help="A column whose distribution she knows already. Repeatable."),
    ] = None,
    prior: Annotated[
        str,
        typer.Option(
            help="What is expected: table, uniform, shares or counts (flu=70,HIV=30), or a file "
            "of other people; not beside --given."
        ),
    ] = "table",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="A further measure of leakage: kullback-leibler, jensen-shannon, hellinger, "
            "chi-square, total-variation, earth-mover, or all. Repeatable."
        ),
    ] = None,
    release: Annotated[
        bool, typer.Option("--release", help="The file is a release: read its cells, not values.")
    ] = False,
    json: AsJson = False,
    verbose: Verbose = False,
    html: PageFile = None,
    private: Annotated[
        Path | None,
        typer.Option(
            help="Also write what may show single people: worst classes (.html, .json), or the "
            "leakage of every person (.csv, .parquet)."
        ),
    ] = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Measure every combination of columns: how few share it, how much it tells about others.

    Example: sfumato characterize patients.csv --policy policy.toml --max-size 3 --html page.html
    """
    from sfumato.cli.options import load_rules, read_judged, read_table
    from sfumato.cli.show import show_document
    from sfumato.errors import InputError
    from sfumato.policy.linked_files import linked_prior
    from sfumato.report.characterization import check_files, save_private
    from sfumato.workflow.characterize import characterize as run

    if given and prior != "table":
        raise InputError("--prior and --given both say what is expected; give one of them")
    check_files(html, private, force=force)
    rules, schema = load_rules(policy)
    subject: Table | Release
    if release or (data.is_dir() and not reading.over(rules.read).partitioned):
        subject = read_judged([data], rules, schema, reading)
    else:
        subject = read_table(data, rules, schema, reading)
    characterization = run(
        subject,
        max_size,
        _targets(target),
        columns=column or None,
        prior={"given": given}
        if given
        else linked_prior("--prior", prior, Path(), schema, table_reading=reading.over(rules.read)),
        metrics=metric or (),
        individuals=private is not None,
    )
    if html is not None:
        characterization.save(html, force=force)
    if private is not None:
        save_private(characterization, private, force=force)
    show_document(characterization.document(), json=json, verbose=verbose)
    for written in (html, private):
        if written is not None:
            say(f"Saved: {written}", err=True)


def _targets(given: list[str] | None) -> str | list[str | tuple[str, ...]] | None:
    if not given:
        return None
    if given == ["*"]:
        return "*"
    return [
        tuple(part.strip() for part in text.split("|")) if "|" in text else text for text in given
    ]
