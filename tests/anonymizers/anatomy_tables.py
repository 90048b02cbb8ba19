"""Small tables for Anatomy, and sizes of classes of which buckets can be made."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.anatomy import Anatomy
from sfumato.anonymizers.base import Task
from sfumato.release.release import Release


def table_of(rows: list[tuple[int, str, str]], **schema) -> sf.Table:
    """Rows of (age, zip, disease)."""
    age, place, disease = (list(column) for column in zip(*rows, strict=True))
    return sf.read(
        pa.table({"age": age, "zip": place, "disease": disease}),
        sf.Schema(quasi=["age", "zip"], sensitive="disease", **schema),
    )


def bucketize(table: sf.Table, l: int, *require: object, seed: int = 0) -> Release:  # noqa: E741
    return Anatomy(l).run(Task(table, require, seed=seed))  # type: ignore[arg-type]


@st.composite
def eligible(draw: st.DrawFn, most: int) -> tuple[list[int], int]:
    """Sizes of classes, of which none has more than 1 in l of all people."""
    classes = draw(st.lists(st.integers(0, most), min_size=2, max_size=9))
    assume(sum(classes) >= 2 * max(classes) > 0)
    largest = sum(classes) // max(classes)
    return classes, draw(st.sampled_from([2, largest, draw(st.integers(2, largest))]))
