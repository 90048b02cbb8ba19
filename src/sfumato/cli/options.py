"""Options that several commands share, each told once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PolicyFile = Annotated[
    Path, typer.Option("--policy", help="The policy, a TOML file with a [schema].")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Memory = Annotated[
    str | None, typer.Option("--memory", help="Memory the engine may use, e.g. 2GB.")
]
Spill = Annotated[
    Path | None, typer.Option("--spill", help="Folder for what does not fit in memory.")
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="What separates the fields of a text file.")
]
Decimal = Annotated[
    str | None, typer.Option("--decimal", help="The decimal sign of a text file: . or ,")
]
