"""`sfumato ledger`: what went out before, and what the next release adds up to with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sfumato.cli import EXIT_OF
from sfumato.cli.options import UNKNOWN, AsJson, PolicyFile, UnknownCell, Verbose, reads
from sfumato.cli.show import say, show_document
from sfumato.engines.reading import OF_RELEASES, Reading

ledger = typer.Typer(
    name="ledger",
    help="Keep what was released, and judge a new release together with it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
LedgerFile = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger, a private file.")]
ReleasePath = Annotated[
    str,
    typer.Argument(
        metavar="RELEASE",
        help="A file, a folder that anonymize wrote, or QUASI.csv+SENSITIVE.csv with --group.",
    ),
]


@ledger.command()
@reads(*OF_RELEASES)
def add(
    file: LedgerFile,
    release: ReleasePath,
    policy: PolicyFile,
    name: Annotated[str | None, typer.Option(help="Its name; default: the file's.")] = None,
    about: Annotated[
        str, typer.Option(help="The people it is about; promises add up over the same.")
    ] = "everybody",
    json: AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Keep a release that goes out; makes the ledger if there is none.

    Example: sfumato ledger add ledger.sqlite release-2024 --policy policy.toml --name 2024
    """
    from sfumato.cli.options import load_rules, read_one
    from sfumato.ledger.ledger import Ledger
    from sfumato.report.sections.composition import list_document

    rules, schema = load_rules(policy)
    made = read_one(release, rules, schema, reading)
    kept = Ledger(file)
    entry = kept.add(made, made.label if name is None else name, about)
    if json:
        say(list_document(str(file), [entry]).to_json())
    else:
        say(f"{entry.name}: {entry.people:,} people in {entry.groups:,} groups, kept")


@ledger.command()
def remove(
    file: LedgerFile,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The release, by its name.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it: there is no way back.")] = False,
) -> None:
    """Forget a release that was added by mistake.

    What really went out must stay: without it, the ledger calls safe what is not.

    Example: sfumato ledger remove ledger.sqlite 2024 --yes
    """
    from sfumato.errors import InputError
    from sfumato.ledger.ledger import Ledger

    if not yes:
        raise InputError(
            f"removing {name!r} is for what never went out, and cannot be undone; say --yes to do "
            "it"
        )
    entry = Ledger(file).remove(name)
    typer.echo(f"{entry.name}: removed")


@ledger.command("list", short_help="List the releases and what they add up to.")
def show_list(
    file: LedgerFile,
    about: Annotated[str | None, typer.Option(help="Only releases about these.")] = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """List the releases, and what the promises of randomised ones add up to.

    Example: sfumato ledger list ledger.sqlite --json
    """
    from sfumato.ledger.ledger import Ledger
    from sfumato.report.sections.composition import list_document

    kept = Ledger(file)
    show_document(
        list_document(str(file), kept.list(about), kept.spent(about)), json=json, verbose=verbose
    )


@ledger.command(short_help="Judge a new release with all before it.")
@reads(*OF_RELEASES)
def check(
    file: LedgerFile,
    release: ReleasePath,
    policy: PolicyFile,
    targets: Annotated[
        Path | None, typer.Option(help="A table of the people the releases share.")
    ] = None,
    population: Annotated[
        Path | None, typer.Option(help="A register of the population, instead of targets.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="The table the new release was made of, which tells who is in it."),
    ] = None,
    about: Annotated[
        str | None, typer.Option(help="Only releases about this population of the ledger.")
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(help="The share of people allowed; default: the policy's, else 0."),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="Known with this confidence or more; default: the policy's, else 1."),
    ] = None,
    counting: Annotated[
        Literal["all", "added"] | None,
        typer.Option(
            help="Count all who are known so well, or those this release added to whom the "
            "earlier ones expose by themselves; default: the policy's, else all."
        ),
    ] = None,
    drop: Annotated[
        int | None,
        typer.Option(
            help="Count only people left with at least so many values fewer than by any one "
            "release (with --confidence 0: however many); default: the policy's, else 0."
        ),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="Only this attribute; default: every one.")
    ] = None,
    unknown: UnknownCell = UNKNOWN,
    json: AsJson = False,
    verbose: Verbose = False,
    *,
    reading: Reading,
) -> None:
    """Judge a new release with all that the ledger holds, and say which of them is to blame.

    Exit code 0: holds; 1: violated; 2: bad input; 3: could not judge.

    Example: sfumato ledger check ledger.sqlite release-2025 --policy policy.toml
    """
    from sfumato.adversaries.base import KnownTogether
    from sfumato.cli.options import load_rules, read_one, read_table, read_targets
    from sfumato.errors import InputError
    from sfumato.ledger.ledger import Ledger
    from sfumato.report.sections.composition import check_document

    files = {"--targets": targets, "--population": population, "--table": table}
    given = [option for option, file in files.items() if file is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)}: give one of them")
    rules, schema = load_rules(policy)
    bounds = [criterion.together for criterion in rules.require if criterion.together is not None]
    bound = bounds[0] if bounds else KnownTogether()
    kept = Ledger(file)
    earlier = kept.releases(about)
    new = read_one(release, rules, schema, reading)
    people = targets or population
    asked = None
    if people is not None:
        asked = read_targets(people, rules, schema, [new, *earlier], reading, unknown=unknown)
    made_of = None
    if table is not None:
        made_of = read_table(table, rules, schema, reading.about("engine"))
    checked = kept.check(
        new,
        asked if targets is not None else None,
        population=asked if targets is None else None,
        table=made_of,
        about=about,
        share=bound.share if share is None else share,
        confidence=bound.confidence if confidence is None else confidence,
        sensitive=sensitive,
        counting=bound.counting if counting is None else counting,
        drop=bound.drop if drop is None else drop,
        unknown=unknown,
    )
    show_document(check_document(checked), json=json, verbose=verbose)
    raise typer.Exit(EXIT_OF[checked.status])
