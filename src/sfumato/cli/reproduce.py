"""`sfumato reproduce`: the papers' experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson
from sfumato.cli.show import say
from sfumato.papers import PAPERS


def reproduce(
    paper: Annotated[str, typer.Argument(help=f"Which paper: {', '.join(PAPERS)}.")],
    data: Annotated[
        Path | None,
        typer.Option(
            envvar="SFUMATO_DATA",
            help="Folder with adult/ and acs2019/; without it synthetic people stand in.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for result.json and page.html, which opens offline."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all chance.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller experiments.")] = False,
    json: AsJson = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder.")] = False,
) -> None:
    """Run the experiments of one of the papers behind Sfumato on our own code.

    Example: sfumato reproduce realistic --data data --out realistic
    """
    from sfumato.cli.show import show_document
    from sfumato.files import check_new_folder
    from sfumato.papers import check_paper
    from sfumato.papers import reproduce as run
    from sfumato.report.document import RESULTS

    check_paper(paper)
    if out is not None:
        check_new_folder(out, force=force, what=RESULTS)
    document = run(paper, data, seed=seed, quick=quick)
    if out is not None:
        document.save(out, force=force)
    show_document(document, json=json)
    if out is not None:
        say(f"Saved: {out}", err=True)
