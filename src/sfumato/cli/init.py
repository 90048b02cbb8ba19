"""`sfumato init`: a policy drafted from the data, for its owner to read and correct."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Force, reads
from sfumato.cli.show import say
from sfumato.engines.reading import Reading


@reads("file")
def init(
    data: Annotated[Path, typer.Argument(help="The file to look at: CSV, Parquet or Arrow.")],
    out: Annotated[
        Path | None, typer.Option(help="Write the policy to this file instead of the screen.")
    ] = None,
    force: Force = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the policy and the questions as JSON.")
    ] = False,
    *,
    reading: Reading,
) -> None:
    """Draft a policy: roles, hierarchies and criteria guessed from the data, with reasons.

    What it could not decide goes to stderr. The draft runs as it is; read it before you rely on it.

    Example: sfumato init patients.csv --out policy.toml
    """
    from sfumato.files import check_new_file
    from sfumato.policy.draft.draft import draft_for

    if out is not None:
        check_new_file(out, force=force)
    draft = draft_for(data, reading)
    if out is not None:
        draft.save(out, force=force)
    if json:
        from json import dumps

        say(dumps({"policy": draft.text, "questions": draft.questions}, indent=2))
    elif out is None:
        say(draft.text, nl=False)
    for place, question in enumerate(draft.questions, start=1):
        if place == 1:
            say("For you to decide:", err=True)
        say(f"  {place}. {question}", err=True)
    if out is not None:
        say(f"Read {out}, then: sfumato audit {data} --policy {out}", err=True)
