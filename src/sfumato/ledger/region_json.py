"""Published values and regions as JSON, and back."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

from sfumato.errors import InputError
from sfumato.schema.region import Anything, Mask, Region, Span, Value, ValueSet, text_of


def spell_value(value: Value) -> Any:
    """A value; dates and endless ends are tagged."""
    if isinstance(value, dt.datetime):
        return {"time": value.isoformat()}
    if isinstance(value, dt.date):
        return {"date": value.isoformat()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def read_value(told: Any) -> Any:
    if not isinstance(told, dict):
        return told
    ((kind, text),) = told.items()
    if kind == "time":
        return dt.datetime.fromisoformat(text)
    return dt.date.fromisoformat(text) if kind == "date" else float(text)


def spell_region(region: Region) -> dict[str, Any]:
    """A region; the values of a set in the order of their texts."""
    if isinstance(region, ValueSet):
        values = sorted(region.values, key=lambda value: (value is None, text_of(value)))
        return _labelled({"set": [spell_value(value) for value in values]}, region.label)
    if isinstance(region, Span):
        ends = [spell_value(region.low), spell_value(region.high)]
        told = {"span": ends, "closed": [region.low_closed, region.high_closed]}
        return _labelled(told, region.label)
    return {"mask": region.pattern} if isinstance(region, Mask) else {"any": True}


def _labelled(told: dict[str, Any], label: str | None) -> dict[str, Any]:
    return told if label is None else {**told, "label": label}


def read_region(told: dict[str, Any]) -> Region:
    if "set" in told:
        values = frozenset(read_value(value) for value in told["set"])
        return ValueSet(values, told.get("label"))
    if "span" in told:
        low, high = (read_value(end) for end in told["span"])
        with_low, with_high = told["closed"]
        return Span(low, high, with_low, with_high, told.get("label"))
    if "mask" in told:
        return Mask(told["mask"])
    if "any" in told:
        return Anything()
    raise InputError("a region of the ledger cannot be read; it was written by something else")
