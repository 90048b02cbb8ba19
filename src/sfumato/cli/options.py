"""Options that several commands share, each told once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.engines.reading import Reading, Subject, options_about

PolicyFile = Annotated[
    Path, typer.Option("--policy", help="The policy, a TOML file with a [schema].")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
ReleaseFiles = Annotated[
    list[Path],
    typer.Argument(
        help="The file to judge (CSV, Parquet, Arrow), a folder that anonymize wrote, or the two "
        "files of a bucketized release."
    ),
]
Command = Callable[..., None]


def reads(*subjects: Subject, but: str = "") -> Callable[[Command], Command]:
    """Give a command the options of Reading about these subjects, as its argument `reading`.

    `but` is one that the command takes itself, for it means more there.
    """

    def with_options(command: Command) -> Command:
        own = [
            one
            for one in inspect.signature(command, eval_str=True).parameters.values()
            if one.name != "reading"
        ]
        shared = [_parameter(one) for one in options_about(*subjects) if one.name != but]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            told = {one.name: given.pop(one.name) for one in shared}
            command(**given, reading=Reading(**told))

        # What a command takes is read off its signature.
        parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*own, *shared)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return with_options


def _parameter(option: Any) -> inspect.Parameter:
    kind, flag = option.metadata["kind"], f"--{option.name.replace('_', '-')}"
    told = typer.Option(flag, help=option.metadata["about"])
    type_ = kind if option.default is not None else kind | None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[type_, told],
    )
