"""One table of figures, the same for terminal, JSON and page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sfumato.errors import InputError
from sfumato.report.figure import plain
from sfumato.report.text import number
from sfumato.schema.exact import told_beside

FEW = re.compile(r"<\d+")  # a count that is not told exactly


@dataclass(frozen=True)
class Sheet:
    """Columns and rows. A cell is a text, a number, a yes or no, or None: does not apply."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InputError(
                    f"sheet {self.title!r}: {len(row)} cells for {len(self.columns)} columns"
                )

    @property
    def wordy(self) -> tuple[bool, ...]:
        """Which columns hold words, to be set left."""
        return tuple(
            any(is_word(plain(row[at])) for row in self.rows) for at in range(len(self.columns))
        )

    def texts(self) -> list[tuple[str, ...]]:
        """The cells as people read them; a number does not look like another one in its row."""
        beside = [" ".join(cell for cell in row if isinstance(cell, str)) for row in self.rows]
        return [
            tuple(shown(cell, words) for cell in row)
            for row, words in zip(self.rows, beside, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The table for JSON."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [[plain(cell) for cell in row] for row in self.rows],
            "notes": list(self.notes),
        }


def is_word(value: object) -> bool:
    """Whether a cell is text; infinity and "<10" stand for numbers."""
    return isinstance(value, str) and value != "inf" and not FEW.fullmatch(value)


def shown(cell: object, beside: str = "") -> str:
    """A cell as people read it, beside the words of its row."""
    value = plain(cell)
    if value is None:
        return "n/a"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        short = value if value.is_integer() else float(told_beside(value, beside, 4))
        return number(short, beside=beside)
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
