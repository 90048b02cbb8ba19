"""`sfumato reproduce`: the papers' experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Verbose
from sfumato.cli.show import say
from sfumato.papers import ALL, PAPERS, SMALLEST_STORED


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            help=f"Which paper: {', '.join(PAPERS)}; or {ALL}: print beside ours of every one."
        ),
    ],
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
    long: Annotated[bool, typer.Option("--long", help="Also what takes minutes.")] = False,
    memory: Annotated[
        str | None,
        typer.Option(help="Skyline, Fig. 8: 10 million people from a file, in this much memory."),
    ] = None,
    people: Annotated[
        int,
        typer.Option(help="With --memory: up to so many people; 30000000 or 100000000 take long."),
    ] = SMALLEST_STORED,
    markdown: Annotated[
        Path | None, typer.Option(help="Write it all as Markdown, too.", show_default=False)
    ] = None,
    json: AsJson = False,
    verbose: Verbose = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder.")] = False,
) -> None:
    """Run the experiments of one of the papers behind Sfumato, and put print beside ours.

    Example: sfumato reproduce leakage --quick --out leakage
    """
    from sfumato.cli.show import show_document
    from sfumato.files import check_new_file, check_new_folder, write_text
    from sfumato.papers import check_paper
    from sfumato.papers import reproduce as run
    from sfumato.report.document import RESULTS

    check_paper(paper)
    if out is not None:
        check_new_folder(out, force=force, kind=RESULTS)
    if markdown is not None:
        check_new_file(markdown, force=force)
    document = run(paper, data, seed=seed, quick=quick, long=long, memory=memory, people=people)
    if out is not None:
        document.save(out, force=force)
    if markdown is not None:
        write_text(markdown, document.to_markdown(), force=force, kind="page")
    show_document(document, json=json, verbose=verbose)
    if out is not None:
        say(f"Saved: {out}", err=True)
    if markdown is not None:
        say(f"Saved: {markdown}", err=True)
