"""Origin: where a release we made comes from. Private; nothing of it is ever published.

A release read from a file has none. A release of ours knows its table and which of the table's
distinct tuples went into which group (-1: suppressed), which is what writing it, measuring its
utility and telling who is threatened need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.counts.contingency import Counts, Ints
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
        return self.table.counts

    @property
    def suppressed(self) -> int:
        return int(self.n[self.groups < 0].sum())


def whole_tuples(table: Table, group_of_tuple: Ints, **more: Any) -> Origin:
    """The usual case: every person of a tuple is in the same group."""
    counts = table.counts
    return Origin(table, np.arange(len(counts)), group_of_tuple.astype(np.int64), counts.n, **more)
