"""A list of values written as one text: `flu;ulcer`, or `["flu", "ulcer"]`.

The form is declared, never guessed: a separator, or "json". In separated text an empty cell lists
nothing, spaces around a value do not count, one separator may end the list, and `(missing)` is the
missing value; in JSON that is null. A JSON list is no separated text: it is refused there.
`read_list(write_list(values, form), form)` gives the values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from sfumato.schema.region import MISSING, Value, text_of

JSON = "json"


def read_list(text: str, form: str) -> list[str | None] | None:
    """The texts of the values that a cell lists, in its order; None where it cannot be read."""
    if form == JSON:
        return _read_json(text)
    body = text.strip()
    if not body:
        return []
    if looks_like_json([body]):
        return None
    pieces = [piece.strip() for piece in body.split(form)]
    if len(pieces) > 1 and not pieces[-1]:
        pieces.pop()
    if "" in pieces:
        return None  # missing, or a slip of the hand? Nobody can tell
    return [None if piece == MISSING else piece for piece in pieces]


def fault_of(text: str, form: str) -> str:
    """Why a cell cannot be read, in words that tell nothing of what it holds."""
    if form != JSON:
        return "a JSON list" if looks_like_json([text]) else f"nothing before a {form!r}"
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "not JSON"
    if not isinstance(found, list):
        return "JSON but no list"
    return "a JSON list of more than texts, numbers, true, false and null"


def write_list(values: Sequence[Value], form: str) -> str | None:
    """The text that lists these values; None where it would not be read as them."""
    if form == JSON:
        return json.dumps([_plain(value) for value in values], ensure_ascii=False)
    texts = [None if value is None else text_of(value) for value in values]
    written = form.join(MISSING if text is None else text for text in texts)
    return written if read_list(written, form) == texts else None


def looks_like_json(texts: Sequence[str]) -> bool:
    """Whether texts nobody has declared are JSON lists; `[20, 30]` may as well be a range."""
    lists = [_read_json(text) if text.lstrip().startswith("[") else None for text in texts[:100]]
    return all(found is not None for found in lists) and any(
        found is not None and not _may_be_range(found) for found in lists
    )


def _may_be_range(found: list[str | None]) -> bool:
    return len(found) == 2 and all(end is not None and _is_number(end) for end in found)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_json(text: str) -> list[str | None] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    for value in found:
        plain = value is None or isinstance(value, str | int | float)  # a bool is an int
        if not plain or (isinstance(value, float) and not math.isfinite(value)):
            return None
    return [None if value is None else text_of(value) for value in found]


def _plain(value: Value) -> str | int | float | bool | None:
    return value if value is None or isinstance(value, str | int | float) else text_of(value)
