"""`sfumato skyline`: how much may somebody know before a release gives a value away?"""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli import Exit
from sfumato.cli.options import AsJson, Force, PageFile, PolicyFile, ReleaseFiles, reads
from sfumato.cli.show import say
from sfumato.engines.reading import OF_RELEASES, Reading


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
    sensitive: Annotated[
        str | None, typer.Option(help="The sensitive column, where several have the value.")
    ] = None,
    json: AsJson = False,
    html: PageFile = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Find all maximal safe knowledge (l, k, m) of a table or a release, made by any tool.

    Exit code 0: some knowledge is safe; 1: the release alone gives the value away; 2: bad input.

    Example: sfumato skyline release --policy policy.toml --value HIV --confidence 0.95
    """
    from sfumato.adversaries.skyline.breach import check_confidence
    from sfumato.adversaries.skyline.grounding import worst_grounding
    from sfumato.adversaries.skyline.knowledge import skylines
    from sfumato.cli.options import load_rules, read_judged
    from sfumato.cli.show import show_document
    from sfumato.errors import InputError
    from sfumato.files import check_new_file
    from sfumato.report.sections.skyline import skyline_document

    # Every mistake is told before a large file is read.
    if (value is None) is not all_values:
        raise InputError("say which value: --value V for one, or --all-values, not both")
    points = [_point(text) for text in point or ()]
    if points and all_values:
        raise InputError("--point is about one value; give --value instead of --all-values")
    check_confidence(confidence)
    if html is not None:
        if html.suffix != ".html":
            raise InputError(f"--html {html.name!r} is no page; use a name ending in .html")
        check_new_file(html, force=force)
    rules, schema = load_rules(policy)
    judged = read_judged(release, rules, schema, reading)
    judged_values = skylines(judged, confidence, value, sensitive)
    groundings = [
        worst_grounding(judged, one.value, *known, sensitive=one.attribute)
        for one in judged_values
        for known in points
    ]
    document = skyline_document(judged, judged_values, groundings)
    if html is not None:
        document.save_page(html, force=force)
    show_document(document, json=json)
    if html is not None:
        say(f"The page: {html}", err=True)
    raise typer.Exit(
        Exit.VIOLATED if any(one.status == "none_safe" for one in judged_values) else Exit.HOLDS
    )


def _point(text: str) -> tuple[int, int, int]:
    from sfumato.adversaries.skyline.breach import check_point
    from sfumato.errors import InputError

    parts = text.split(",")
    try:
        l, k, m = (int(part) for part in parts)  # noqa: E741  # the paper's names
    except ValueError:
        raise InputError(f"--point {text!r} is not L,K,M; write three whole numbers") from None
    return check_point((l, k, m))
