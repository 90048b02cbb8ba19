"""Frames on their way to an engine: as Arrow tables, their columns checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sfumato.errors import InputError, list_some


def check_names(names: list[str], label: str) -> None:
    """Refuse columns that cannot be told apart."""
    if len(set(names)) < len(names):  # told by places: names may be somebody's row
        twice = [at for at, name in enumerate(names, start=1) if name in names[: at - 1]]
        raise InputError(
            f"{label}: column {list_some(twice)} has the name of another before it; rename the "
            "columns"
        )


def left_out(names: Sequence[str], needed: tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns of a source that are not needed."""
    return () if needed is None else tuple(name for name in names if name not in needed)


def is_pandas(source: object) -> bool:
    return type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns")


def from_pandas(frame: Any, needed: tuple[str, ...] | None) -> pa.Table:
    """A frame's columns without its index: labels of rows are nobody's attribute."""
    names = [str(name) for name in frame.columns]
    check_names(names, "the table")
    wanted = [n for n in frame.columns if needed is None or str(n) in needed]
    arrays = []
    for name in wanted:
        try:
            arrays.append(pa.array(frame[name], from_pandas=True))
        except OverflowError:  # whole numbers beyond 64 bits are codes, not quantities
            missing = frame[name].isna()
            texts = [None if no else str(v) for v, no in zip(frame[name], missing, strict=True)]
            arrays.append(pa.array(texts, pa.string()))
        except UnicodeEncodeError:
            raise InputError(
                f"column {str(name)!r} holds half a sign (a surrogate without its other half), "
                "which no file can hold; correct its texts"
            ) from None
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            kinds = sorted({type(value).__name__ for value in frame[name].dropna().head(10_000)})
            raise InputError(
                f"column {str(name)!r} mixes types ({', '.join(kinds)}); convert it to one type"
            ) from None
    return pa.table(arrays, names=[str(name) for name in wanted])
