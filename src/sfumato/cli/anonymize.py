"""`sfumato anonymize`: from a table and a policy to a release folder."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from sfumato.cli.options import AsJson, By, Force, Limit, PolicyFile, Verbose, reads
from sfumato.engines.form import FORMATS
from sfumato.engines.reading import OF_TABLES, Reading


class ListsAnonymizers(TyperCommand):
    """A command whose help ends with the anonymizers there are, which are loaded for that alone."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from sfumato.anonymizers import ANONYMIZERS

        with formatter.section("Anonymizers (kind under [anonymizer] in the policy)"):
            formatter.write_dl(
                [
                    (name, inspect.cleandoc(anonymizer.__doc__ or "").splitlines()[0])
                    for name, anonymizer in ANONYMIZERS.items()
                ]
            )


SHAPE = ListsAnonymizers


@reads(*OF_TABLES)
def anonymize(
    data: Annotated[Path, typer.Argument(help="The table: CSV, Parquet, Excel, SPSS, ...")],
    policy: PolicyFile,
    out: Annotated[Path, typer.Option(help="Folder to write public/ and private/ to.")],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(FORMATS), help="Left out, the data are written the way they came."
        ),
    ] = None,
    limit: Limit = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="FILE#POINT",
            help="Publish a point of a comparison (map.json#7), or a way that best tried "
            "(release/private/run.json#2): its settings, its anonymizer and its seed.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of all chance but noise; drawn at random when left out."),
    ] = None,
    price: Annotated[
        bool | None,
        typer.Option(
            help="Work out what each promise costs, in about ten seconds; otherwise where little "
            "is left.",
            show_default=False,
        ),
    ] = None,
    record_risks: Annotated[
        bool,
        typer.Option("--record-risks", help="Also write the risk of every record to OUT/private."),
    ] = False,
    codebook: Annotated[
        bool,
        typer.Option(
            help="Say in public/ what columns and cells mean, and put the public report there."
        ),
    ] = True,
    by: By = "",
    force: Force = False,
    json: AsJson = False,
    verbose: Verbose = False,
    *,
    reading: Reading,
) -> None:
    """Make the most useful release the policy allows.

    Writes OUT/public (may be handed out) and OUT/private (evidence). Exit code 0: done; 1: no
    release satisfies the policy (nothing is written); 2: bad input.

    Example: sfumato anonymize patients.csv --policy policy.toml --out release
    """
    from sfumato.cli.options import load_rules, read_table
    from sfumato.cli.show import show_report
    from sfumato.report.sections.search import choice_words
    from sfumato.workflow.publish import Publication

    publication = Publication(
        out, format, like, seed, price, record_risks, codebook, by=by, force=force
    )
    rules, schema = load_rules(policy, limit)
    publication.check()
    table = read_table(data, rules, schema, reading)
    report = publication.publish(table, rules).report
    show_report(
        report,
        json=json,
        verbose=verbose,
        closing={
            "Chosen": choice_words(report),
            "Hand out": str(out / "public"),
            "Private report": str(out / "private" / "report.html"),
        },
    )
