"""How many people a row stands for: one, a stated count, or one however many rows she has.

Checked before anything is counted: a negative or fractional count, a weight that is no number or
a row without a person would all end as a k that is not true.
"""

from __future__ import annotations

import pyarrow as pa

from sfumato.engines.base import Engine, Source
from sfumato.engines.sql import literal, named, select
from sfumato.errors import InputError
from sfumato.schema.look_alikes import INVISIBLE, WIDE_SPACES
from sfumato.schema.roles import Schema


def people_of(source: Source, schema: Schema) -> str:
    """SQL aggregate: the people behind a group of rows."""
    if schema.count is None:
        return "CAST(COUNT(*) AS BIGINT)"
    return f"CAST(SUM({_number(source, schema.count)}) AS BIGINT)"


def weight_of(source: Source, column: str, aggregate: str = "SUM") -> str:
    """SQL aggregate: the people of the population behind a group of rows.

    MAX over one person's rows: her weight stands once for her, however many rows she has.
    """
    return f"{aggregate}({_number(source, column)})"


def check_people(engine: Engine, source: Source, schema: Schema) -> None:
    """Refuse counts, weights and persons that cannot mean what their role says."""
    if schema.person is not None:
        person = source.column(schema.person)
        missing = _first(engine, source, f"COUNT(*) - COUNT({person})")
        if missing:
            raise InputError(
                f"person column {schema.person!r} is missing in {missing} row(s); give every row "
                "its person, or drop the role"
            )
        _refuse_people_alike(engine, source, schema.person)
    if schema.count is not None:
        _check_number(engine, source, schema.count, "count", "whole numbers of people, 0 or more")
        number = _number(source, schema.count)
        broken = _first(
            engine, source, f"SUM(CASE WHEN {number} <> FLOOR({number}) THEN 1 ELSE 0 END)"
        )
        if broken:
            raise InputError(
                f"count column {schema.count!r} holds a fraction in {broken} row(s); counts are "
                "whole numbers of people (survey weights have the role weight)"
            )
    if schema.weight is not None:
        _check_number(engine, source, schema.weight, "weight", "numbers, 0 or more")


def _refuse_people_alike(engine: Engine, source: Source, column: str) -> None:
    """One person written in two ways would be counted as two."""
    if str(source.types[column]) not in ("string", "large_string", "string_view"):
        return
    person = source.column(column)
    spaces = " " * len(WIDE_SPACES)  # signs for which none is given are left out
    plain = f"TRIM(TRANSLATE({person}, {literal(WIDE_SPACES + INVISIBLE)}, '{spaces}'))"
    if not _first(engine, source, f"SUM(CASE WHEN {plain} <> {person} THEN 1 ELSE 0 END)"):
        return
    alike = _first(engine, source, f"COUNT(DISTINCT {person}) - COUNT(DISTINCT {plain})")
    if alike:
        raise InputError(
            f"person column {column!r}: {alike:,} of its values differ from others only in spaces "
            "or invisible signs, so that one person may be counted as two; write each person one "
            "way"
        )


def _check_number(engine: Engine, source: Source, column: str, role: str, allowed: str) -> None:
    if not is_numeric(source.types[column]) and not source.is_untyped(column):
        raise InputError(
            f"{role} column {column!r} has the type {source.types[column]}; it must hold {allowed}"
        )
    number = _number(source, column)
    for problem, condition in (
        ("no number", f"{number} IS NULL OR isnan({number})"),
        ("a negative number", f"{number} < 0"),
        ("a number above 1e15", f"{number} > 1e15"),
    ):
        rows = _first(engine, source, f"SUM(CASE WHEN {condition} THEN 1 ELSE 0 END)")
        if rows:
            raise InputError(
                f"{role} column {column!r} holds {problem} in {rows} row(s); it must hold {allowed}"
            )


def is_numeric(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _number(source: Source, column: str) -> str:
    if source.is_untyped(column):
        # TRIM also keeps DuckDB from moving the cast into its CSV reader, where it would fail hard.
        text = f"TRIM({source.column(column)})"
        # One engine reads 5d and 0x5p0 as numbers, another 5_0: nobody writes people so.
        odd = (
            f"LOWER(RIGHT({text}, 1)) IN ('d', 'f') "
            f"OR LENGTH(TRANSLATE(LOWER({text}), 'x_', '')) < LENGTH({text})"
        )
        return f"CASE WHEN {odd} THEN NULL ELSE TRY_CAST({text} AS DOUBLE) END"
    return f"CAST({source.column(column)} AS DOUBLE)"


def _first(engine: Engine, source: Source, aggregate: str) -> int:
    return int(engine.fetch(select([named(aggregate, "x")], source.name)).column(0)[0].as_py() or 0)
