"""Registers of people with several rows, and releases of them, that test modules share."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.description import Regions
from sfumato.release.linked import LinkedRows, linked_release
from sfumato.release.release import Release
from sfumato.release.signatures import signatures_of
from sfumato.schema.region import Span
from sfumato.table import Table

SCHEMA = sf.Schema(["day"], "ill", person="who", rows="linked")
DAYS = st.integers(0, 3)
SPANS = [Span(0, 2), Span(1, 3), Span(2, 4), Span(0, 4), *(Span(n, n + 1) for n in range(4))]
PEOPLE = st.lists(st.lists(DAYS, min_size=1, max_size=3), min_size=1, max_size=3)
OTHERS = st.lists(st.lists(DAYS, min_size=1, max_size=3), max_size=3)


def rows_table(people: list[list[int]], schema: sf.Schema = SCHEMA, **more: object) -> Table:
    rows = [(number, day, "flu") for number, own in enumerate(people) for day in own]
    frame = pd.DataFrame(rows, columns=["who", "day", "ill"]).assign(**more)
    return sf.read(frame, schema)


def register_of(people: list[list[int]]) -> Table:
    return rows_table(people, SCHEMA.of_register())


def published_as(people: list[list[int]], draw: st.DataObject) -> tuple[Release, list, list[int]]:
    """Each row as one of the spans it lies in: the release, what it shows, everybody's group."""
    table = rows_table(people)
    assert table.rows is not None
    days = [int(table.rows.quasi[0].values[code]) for code in table.rows.codes[0]]
    chosen = [
        draw.draw(st.sampled_from([n for n in range(8) if SPANS[n].contains(day)])) for day in days
    ]
    regions = Regions(("day",), (tuple(SPANS),), np.array([chosen], dtype=np.int32))
    shown: list[list[frozenset[int]]] = [[] for _ in people]
    for person, at in zip(table.rows.person.tolist(), chosen, strict=True):
        shown[person].append(frozenset(day for day in range(4) if SPANS[at].contains(day)))
    group = signatures_of(regions, table.rows.person)[0]
    return linked_release(LinkedRows.as_they_stand(table, regions)), shown, group.tolist()
