"""Texts that a reader takes for one value: `flu`, `flu ` and `flu` with an invisible sign in it.

Among quasi-identifiers they stay apart, which is careful: whoever reads the file can tell people
apart by them. Among sensitive values the careful side is the other one: a group in which everybody
has the flu, written in two ways, is not diverse. What they are cannot be guessed, so they are
refused until somebody writes them one way or lists them as values.

Stands apart: what makes two texts one to a reader is a question of its own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from sfumato.schema.region import MISSING

# Spaces of other widths, and signs without any width, as people's tables have them around ids.
WIDE_SPACES = "\t\n\r\v\f\u00a0\u2002\u2003\u2009\u202f\u3000"
INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"


def appearance(text: str | None) -> str:
    """What a reader sees: no spaces at the ends, invisible signs or forms of one letter."""
    if text is None or text == MISSING:
        return ""
    if text.isascii():
        return text if text.isalnum() else " ".join(text.split())
    shown = unicodedata.normalize("NFKC", text)
    kept = "".join(sign for sign in shown if unicodedata.category(sign) != "Cf")
    return " ".join(unicodedata.normalize("NFC", kept).split())


def count_look_alikes(texts: Iterable[str | None]) -> int:
    """How many of some distinct texts look like another one before them."""
    given = list(texts)
    return len(given) - len({appearance(text) for text in given})
