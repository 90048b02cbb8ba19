"""Origin: where a release we made comes from. Private; nothing of it is ever published.

A release read from a file has none. A release of ours knows its table and which of the table's
distinct tuples went into which group (-1: suppressed), which is what writing it, measuring its
utility and telling who is threatened need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.errors import ResourceError
from sfumato.numbers import Ints
from sfumato.table.load import Table


@dataclass(frozen=True)
class Origin:
    """`n[i]` people of tuple `tuples[i]` went into group `groups[i]`.

    A tuple stands once, unless an anonymizer may part people with equal values. `search` tells how
    the release was found, `seed` what chance was used.
    """

    table: Table
    tuples: Ints
    groups: Ints
    n: Ints
    seed: int = 0
    search: Mapping[str, Any] | None = None

    @property
    def counts(self) -> Counts:
        return self.table.counts.in_memory("telling whose tuple is in which group")

    @property
    def suppressed(self) -> int:
        return int(self.n[self.groups < 0].sum())


class HeldOrigin(Origin):
    """Where a release of a table larger than memory comes from: what matters stays in the engine.

    `cells` is the engine's table of people: columns g (their group), s0, s1, ... (codes of the
    sensitive attributes) and n. `placed` tells the group of every tuple (q0, ..., s0, ..., g); it
    is there if the schema keeps columns, which are each person's own.
    """

    def __init__(
        self,
        table: Table,
        cells: str,
        *,
        placed: str | None = None,
        suppressed: int = 0,
        seed: int = 0,
        search: Mapping[str, Any] | None = None,
    ) -> None:
        given = {"table": table, "cells": cells, "placed": placed, "seed": seed, "search": search}
        for field, value in {**given, "_suppressed": suppressed}.items():
            object.__setattr__(self, field, value)

    cells: str
    placed: str | None
    _suppressed: int

    @property
    def suppressed(self) -> int:
        return self._suppressed

    @property
    def tuples(self) -> Ints:
        self._refuse()

    @property
    def groups(self) -> Ints:
        self._refuse()

    @property
    def n(self) -> Ints:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ResourceError(
            "this needs everybody's tuple in memory, and the table is larger than memory; raise "
            "the memory limit, or use a part of the rows"
        )

    def __repr__(self) -> str:
        return f"HeldOrigin({self.table.source.label})"


def whole_tuples(table: Table, group_of_tuple: Ints, **more: Any) -> Origin:
    """The usual case: every person of a tuple is in the same group."""
    counts = table.counts.in_memory("telling whose tuple is in which group")
    return Origin(table, np.arange(len(counts)), group_of_tuple.astype(np.int64), counts.n, **more)
