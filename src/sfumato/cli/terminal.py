"""What reaches a terminal: texts of people's files must not be able to steer it.

A label or a column name may hold escapes that move the cursor, repaint a verdict or turn a line
around. Whatever is printed goes through here, and such signs come out as `\\u001b`, which is how
JSON and TOML write them, too.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

# Controls but line feed and tab, marks that turn text around, halves of characters.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff]"
)


def neutral(text: str) -> str:
    """The text with everything visible that would steer a terminal."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    """The same, on one line."""
    return neutral(text).replace("\n", "\\n")


def say(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text."""
    typer.echo(neutral(str(text)), err=err, nl=nl)


def say_sentence(text: str) -> None:
    """Print a sentence: between words where a terminal is narrower, else on one line."""
    if sys.stdout.isatty():
        columns = shutil.get_terminal_size().columns
        text = textwrap.fill(text, columns, break_long_words=False, break_on_hyphens=False)
    say(text)


def open_console(**options: Any) -> Console:
    """A console whose own colours work, and nobody else's."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Neutral(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                if segment.control:
                    yield segment
                else:
                    yield Segment(neutral(segment.text), segment.style)

    return Neutral(**options)
