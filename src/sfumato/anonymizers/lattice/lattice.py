"""Full-domain generalization (Samarati 2001; LeFevre et al. 2005): one level per column for all.

The search itself, and what it may skip, is in lattice_search.py; it is loaded when first run.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar

from sfumato.anonymizers.base import Anonymizer, Task
from sfumato.errors import PolicyError
from sfumato.release.release import Release


@dataclass(frozen=True)
class Lattice(Anonymizer):
    """Optimal full-domain generalization; a best-first heuristic above `budget` nodes."""

    name: ClassVar[str] = "lattice"

    budget: int = 1_000_000

    def __post_init__(self) -> None:
        if not isinstance(self.budget, int) or self.budget < 1:
            raise PolicyError(f"lattice: budget = {self.budget!r} must be a whole number above 0")

    def run(self, task: Task) -> Release:
        from sfumato.anonymizers.lattice.large_judge import judge_of
        from sfumato.anonymizers.lattice.optimum import (
            most_useful_release,
            nothing_safe,
            release_of,
            search_lattice,
        )

        with closing(judge_of(task)) as judge:
            found = search_lattice(judge, self.budget)
            if found.best is None:
                raise nothing_safe(task, judge, found)
            if task.at_end:
                return most_useful_release(task, judge, found)
            return release_of(task, judge, found.best.levels, found)
