"""`sfumato serve`: the workbench, a local page from a file to a signed release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.show import say


def serve(
    data: Annotated[
        Path | None,
        typer.Argument(help="A table to begin with, or the folder whose tables may be chosen."),
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="A policy to begin with.")] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen at; 0 takes a free one.")
    ] = 0,
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where all that is decided and made is kept; sfumato-project beside the data.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory that work may take, e.g. 2GB; the rest spills."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open it in the browser.")] = True,
) -> None:
    """Open the workbench: a page on this machine, from a file to a signed release.

    Only this machine can reach it, and only the browser that opens the printed address. Started
    again with the same project, it prints a new address to the workbench that runs.

    Example: sfumato serve patients.csv --policy policy.toml
    """
    from sfumato.engines.memory import in_bytes
    from sfumato.errors import InputError, MissingExtra

    if memory is not None:
        in_bytes(memory)
    if policy is not None and not policy.is_file():
        raise InputError(f"{policy} is no file; give a policy, or leave --policy out")
    try:
        from sfumato.web.server import serve as run_server
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn", "python_multipart"):
            raise
        raise MissingExtra(
            "the workbench needs Starlette: pip install 'sfumato[web]' (or: pip install starlette "
            "uvicorn python-multipart)"
        ) from None

    def tell(words: str) -> None:
        say(words)
        sys.stdout.flush()  # whoever reads it waits for the address

    run_server(data, policy, port=port, project=project, memory=memory, browser=browser, say=tell)
