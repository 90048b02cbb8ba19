"""`sfumato skyline`: how much may somebody know before a release gives a value away?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import Exit
from sfumato.cli.options import AsJson, Force, PageFile, PolicyFile, ReleaseFiles, Verbose, reads
from sfumato.cli.show import say
from sfumato.engines.reading import OF_RELEASES, Reading

if TYPE_CHECKING:
    from sfumato.report.document import Document, Section


@reads(*OF_RELEASES)
def skyline(
    release: ReleaseFiles,
    policy: PolicyFile,
    value: Annotated[str | None, typer.Option(help="The sensitive value to ask about.")] = None,
    all_values: Annotated[
        bool, typer.Option("--all-values", help="A summary of every value instead.")
    ] = False,
    confidence: Annotated[
        float, typer.Option(help="How sure nobody may become: above 0 and at most 1.")
    ] = 0.95,
    point: Annotated[
        list[str] | None,
        typer.Option(
            metavar="L,K,M",
            help="Tell the worst case of somebody who knows that much, as in 0,4,1. Repeatable.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN=VALUE,...",
            help="Ask what is believed of this person instead; columns left out are unknown. Or "
            "#7: record 7 of --table, or whose it is. Several rows of one person: ROW; ROW.",
        ),
    ] = None,
    knows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACT",
            help="What she knows: 'not cancer', 'Gary has flu', 'if Ann has flu so has he'. "
            "Repeatable.",
        ),
    ] = None,
    person: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:COLUMN=VALUE,...",
            help="Whom a name in --knows means; or NAME:#7. Repeatable.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="The table the release was made of: people by their records, and with --point "
            "whose records a worst case is about (private)."
        ),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The sensitive column, where several have the value.")
    ] = None,
    case: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            help="Judge as if people's values were published so: single, set or multiset (in one "
            "bag a group), lists (each person's whole). As they are unless given.",
        ),
    ] = None,
    json: AsJson = False,
    verbose: Verbose = False,
    html: PageFile = None,
    private: Annotated[
        Path | None,
        typer.Option(
            help="Also write whose records they are to this private .parquet or .json file."
        ),
    ] = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Find all maximal safe knowledge (l, k, m) of a table or a release, made by any tool.

    With --target: how sure somebody is of one person, who knows what --knows says.

    Exit code 0: some knowledge is safe, or she stays below the confidence; 1: the release alone
    gives the value away, or she reaches it; 2: bad input.

    Example: sfumato skyline release --policy policy.toml --value HIV --confidence 0.95
    """
    from sfumato.adversaries.skyline.belief import beliefs
    from sfumato.adversaries.skyline.breach import check_case, check_confidence
    from sfumato.adversaries.skyline.grounding import people_behind, people_table, worst_grounding
    from sfumato.adversaries.skyline.knowledge import skylines
    from sfumato.cli.options import load_rules, read_judged, read_table
    from sfumato.cli.show import check_private, write_private
    from sfumato.errors import InputError
    from sfumato.files import check_new_file
    from sfumato.numbers import fraction
    from sfumato.report.sections.belief import belief_document
    from sfumato.report.sections.skyline import people_section, skyline_document

    # Every mistake is told before a large file is read.
    if (value is None) is not all_values:
        raise InputError("say which value: --value V for one, or --all-values, not both")
    points = [_point(text) for text in point or ()]
    if points and all_values:
        raise InputError("--point is about one value; give --value instead of --all-values")
    named = [_named(text) for text in person or ()]
    people = dict(named)
    if len(people) < len(named):
        raise InputError("--person explains a name twice; two people have two names")
    if target is None and (knows or people):
        raise InputError("--knows and --person are about a person; say who it is with --target")
    if target is not None and (value is None or points):
        raise InputError("--target is about one value and no --point; give --value V")
    if target is not None and case is not None:
        raise InputError("--target is about the release as it is published; leave --case out")
    if private is not None:
        if table is None or not points:
            raise InputError(
                "--private tells whose records a worst case is about: give --table and --point too"
            )
        check_private(private, force=force)
    check_confidence(confidence)
    form = None if case is None else check_case(case)
    if html is not None:
        if html.suffix != ".html":
            raise InputError(f"--html {html.name!r} is no page; use a name ending in .html")
        check_new_file(html, force=force)
    rules, schema = load_rules(policy)
    judged = read_judged(release, rules, schema, reading)
    original = None
    if table is not None:
        original = read_table(table, rules, schema, reading.about("engine"))
    if target is not None and value is not None:
        believed = beliefs(
            judged, target, value, knows or (), people=people, table=original, sensitive=sensitive
        )
        document = belief_document(judged, target, value, believed, confidence)
        _show(document, html, json=json, verbose=verbose, force=force)
        raise typer.Exit(Exit.VIOLATED if believed[-1] >= fraction(confidence) else Exit.HOLDS)
    judged_values = skylines(judged, confidence, value, sensitive, form)
    groundings = [
        worst_grounding(judged, value.value, *known, form, sensitive=value.attribute)
        for value in judged_values
        for known in points
    ]
    document = skyline_document(judged, judged_values, groundings)
    cast = []
    if original is not None:
        column = judged_values[0].attribute
        cast = [
            (grounding, people_behind(judged, grounding, column, original))
            for grounding in groundings
        ]
    if private is not None:
        write_private(people_table(cast), private, force=force)
    _show(document, html, json=json, verbose=verbose, force=force)
    if private is not None:
        say(f"Whose records they are (private): {private}", err=True)
    elif cast and not json:
        _show_people(people_section(cast))
    raise typer.Exit(
        Exit.VIOLATED if any(value.status == "none_safe" for value in judged_values) else Exit.HOLDS
    )


def _show(document: Document, html: Path | None, *, json: bool, verbose: bool, force: bool) -> None:
    from sfumato.cli.show import show_document

    if html is not None:
        document.save_page(html, force=force)
    show_document(document, json=json, verbose=verbose)
    if html is not None:
        say(f"The page: {html}", err=True)


def _show_people(people: Section) -> None:
    """On a terminal only: what is piped or logged may be read by others than the owner."""
    from sfumato.cli.show import open_console
    from sfumato.report.document import Document
    from sfumato.report.text import show

    if open_console().is_terminal:
        show(Document("people", "", "", (replace(people, private=False),)), open_console())
    else:
        say("Whose records they are is shown on a terminal only; --private FILE writes it.")


def _named(text: str) -> tuple[str, str]:
    """`Gary:age=31,zip=12453`: a name, and whom it means."""
    from sfumato.errors import InputError

    name, colon, meant = (part.strip() for part in text.partition(":"))
    if not colon or not name or not meant:
        raise InputError(f"--person {text!r} is not NAME:COLUMN=VALUE,... or NAME:#7")
    return name, meant


def _point(text: str) -> tuple[int, int, int]:
    from sfumato.adversaries.skyline.breach import check_point
    from sfumato.errors import InputError

    parts = text.split(",")
    try:
        l, k, m = (int(part) for part in parts)  # noqa: E741  # the paper's names
    except ValueError:
        raise InputError(f"--point {text!r} is not L,K,M; write three whole numbers") from None
    return check_point((l, k, m))
