"""Mondrian (LeFevre, DeWitt, Ramakrishnan 2006): multidimensional partitioning from the top.

Everybody starts in one group; a group is split as long as every part satisfies every criterion.
Ordered columns are cut at the median that keeps equal values together, nested ones along their
hierarchy. When no median cut of a group is allowed, every other cut is tried, so that in strict
mode no allowed split remains. Criteria of scope "group" accept the splits of a level at once;
those of scope "release" one after another in the order of nodes, since two splits can each be safe
and jointly unsafe.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.anonymizers.base import Anonymizer, Task, check_release, no_safe_release
from sfumato.errors import PolicyError
from sfumato.release.build import build_release
from sfumato.release.origin import Origin
from sfumato.release.release import Release

Floats = npt.NDArray[np.float64]
Priority = Callable[[Floats, npt.NDArray[np.int64]], Floats]
Style = Literal["cell", "tight", "hierarchy"]


@dataclass(frozen=True)
class Mondrian(Anonymizer):
    """Multidimensional partitioning.

    order: which column to split first: "widest" (of its domain), "gain" (most information about
    the `target` column), or a function of (widths[nodes, columns], people[nodes]) that returns
    priorities of the same shape, higher first. strict: equal values stay together. regions: what
    is published, "cell", "tight" or "hierarchy".
    """

    name: ClassVar[str] = "mondrian"

    order: Literal["widest", "gain"] | Priority = "widest"
    target: str | None = None
    strict: bool = True
    regions: Style = "cell"

    def __post_init__(self) -> None:
        if not callable(self.order) and self.order not in ("widest", "gain"):
            raise PolicyError(
                f"mondrian: order = {self.order!r} is not known; use 'widest', 'gain' or a function"
            )
        if (self.order == "gain") != (self.target is not None):
            raise PolicyError("mondrian: order 'gain' and a target column go together")
        if self.regions not in ("cell", "tight", "hierarchy"):
            raise PolicyError(
                f"mondrian: regions = {self.regions!r} is not known; use cell, tight or hierarchy"
            )

    def run(self, task: Task) -> Release:
        from sfumato.anonymizers.cells import (
            Columns,
            cell_regions,
            hierarchy_regions,
            tight_regions,
        )
        from sfumato.anonymizers.choice import Choice
        from sfumato.anonymizers.partition import Partition
        from sfumato.anonymizers.rows import Rows
        from sfumato.anonymizers.safety import Safety

        for criterion in task.require:
            if criterion.needs:
                raise PolicyError(
                    f"{criterion.name} judges what groups publish, which Mondrian does not know "
                    "before it is done; use the lattice"
                )
        table = task.table
        levels = tuple(table.levels[domain.name] for domain in table.counts.quasi)
        columns = Columns.of(table.schema, levels)
        rows = Rows.of(table.counts, self.target, whole=self.strict)
        safety = Safety(task)
        for criterion, measured, note in safety.unsafe_root(rows):
            raise no_safe_release(criterion, measured, note)
        choice = Choice(safety, columns, self.order, strict=self.strict)
        partition = Partition(choice, rows, strict=self.strict)
        partition.split_all()
        order, begins, low, high = partition.finished()
        if self.regions == "cell":
            described = cell_regions(columns, low, high)
        elif self.regions == "tight":
            described = tight_regions(columns, rows.codes, order, begins)
        else:
            described = hierarchy_regions(columns, rows.codes, order, begins)
        group = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
        origin = Origin(
            table,
            rows.tuples[order],
            group,
            rows.n[order],
            task.seed,
            {"anonymizer": self.name, "groups": len(begins) - 1},
        )
        # Strict cells are disjoint by construction, and tight regions lie inside them.
        disjoint = True if self.strict and self.regions != "hierarchy" else None
        return check_release(build_release(origin, described, disjoint=disjoint), task)
