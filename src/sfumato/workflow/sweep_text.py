"""Sweeps as text: `k=2,5,10` from the command line, and values as tables and JSON tell them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import fields
from re import fullmatch
from typing import Any

from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.anonymizers.base import Anonymizer
from sfumato.errors import PolicyError
from sfumato.schema.hierarchy import Hierarchy

Value = int | float | bool | str
_WORD = r"[A-Za-z][\w-]*"  # a name may stand without the quotation marks TOML asks for
_EXACT = 1e15  # whole numbers up to here are told digit by digit


def parse_sweeps(texts: Iterable[str]) -> dict[str, list[Value]]:
    """From `k=2,5,10` as on the command line; numbers are written as in TOML."""
    found: dict[str, list[Value]] = {}
    for text in texts:
        name, sign, values = (part.strip() for part in text.partition("="))
        if not sign or not name:
            raise PolicyError(f"sweep {text!r} is not understood; write NAME=VALUE,VALUE,...")
        if name in found:
            raise PolicyError(f"{name} is swept twice; give all its values at once")
        found[name] = [_parse(name, value.strip()) for value in values.split(",")]
    return found


def _parse(name: str, text: str) -> Value:
    if fullmatch(_WORD, text) and text not in ("true", "false", "inf", "nan"):
        return text
    try:
        content = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        content = {}
    value = content.get("value")
    if len(content) != 1 or not isinstance(value, int | float | str):
        shown = repr(text) if text else "an empty value"
        raise PolicyError(f"sweep {name}: {shown} is not a number or name, such as 5, 0.5 or inf")
    return value


def plain(value: Any) -> Value:
    """A value as tables and JSON tell it."""
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)  # 1e6 is told as 1000000
    if isinstance(value, int | float | str):
        return value
    if isinstance(value, Anonymizer):
        given = [
            f"{f.name}={plain(getattr(value, f.name))}"
            for f in fields(value)
            if getattr(value, f.name) != f.default
        ]
        return f"{value.name}({', '.join(given)})" if given else value.name
    if isinstance(value, RealisticAdversary):
        return str(value)
    if isinstance(value, Hierarchy):
        return value.kind
    if isinstance(value, Sequence):
        return "+".join(str(plain(entry)) for entry in value)
    return getattr(value, "__name__", None) or type(value).__name__
