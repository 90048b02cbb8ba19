"""How results show themselves: three lines of plain text, in a notebook the sections of their page.

Plain text says what a thing is and how large, never a value that somebody has. What a page says of
it only report/ knows, far below: it is asked through the public names, when something is shown.
"""

from __future__ import annotations

_LINES, _LETTERS = 3, 100


class Displayed:
    """A result that a notebook shows as its page does, and everything else in three lines."""

    def _in_short(self) -> tuple[str, ...]:
        """What it is, in at most three lines, without anything from a row."""
        raise NotImplementedError

    def __repr__(self) -> str:
        lines = [" ".join(line.split()) for line in self._in_short()[:_LINES]]
        cut = [line if len(line) <= _LETTERS else f"{line[: _LETTERS - 1]}…" for line in lines]
        return "\n  ".join(line for line in cut if line)

    def _repr_html_(self) -> str:
        import sfumato

        return sfumato.notebook_html(self)
