"""Portable SQL, as text: one dialect for DuckDB and Spark, built by pure functions."""

from __future__ import annotations

from collections.abc import Sequence


def quote(name: str) -> str:
    """A column or table name as it must stand in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text constant."""
    return "'" + text.replace("'", "''") + "'"


def select(columns: Sequence[str], source: str, *, group: Sequence[str] = ()) -> str:
    """SELECT columns FROM source [GROUP BY ...]."""
    text = f"SELECT {', '.join(columns)} FROM {source}"
    return f"{text} GROUP BY {', '.join(group)}" if group else text


def named(expression: str, name: str) -> str:
    return f"{expression} AS {quote(name)}"
