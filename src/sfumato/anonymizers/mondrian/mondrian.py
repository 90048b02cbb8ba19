"""Mondrian (LeFevre, DeWitt, Ramakrishnan 2006): multidimensional partitioning from the top.

Everybody starts in one group; a group is split as long as every part satisfies every criterion.
Ordered columns are cut at the median that keeps equal values together, numbers and dates only where
a bound may be told (`schema/boundaries.py`), nested ones along their hierarchy. People without a
value are first parted from those who have one; if that is not allowed, the others are cut
and they stay on one side, which publishes "in this range, or missing". When no median cut of a
group is allowed, every other cut is tried, so that in strict mode no allowed split remains.
Criteria of scope "group" accept the splits of a level at once; those of scope "release" one after
another in the order of nodes, since two splits can each be safe and jointly unsafe. Criteria that
judge finished releases only (relative threat) choose among coarser and finer ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.anonymizers.anatomy import in_buckets, list_members, refuse_exact
from sfumato.anonymizers.base import (
    EVERYBODY_FAILS,
    FRAMES_FAIL,
    Anonymizer,
    Finished,
    Task,
    check_release,
    refused,
)
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.errors import PolicyError, ResourceError
from sfumato.numbers import Floats
from sfumato.progress import Ticker
from sfumato.release.build import build_release
from sfumato.release.description import Description, Regions
from sfumato.release.made import Findings, Placement
from sfumato.release.release import Release
from sfumato.utility.loss import Loss
from sfumato.utility.view import view_of

# From here on a compiled search pays: below, it takes longer to compile than it saves.
MANY_ROWS = 500_000

if TYPE_CHECKING:
    from sfumato.anonymizers.mondrian.cells import Columns
    from sfumato.anonymizers.mondrian.check_split import Describe, Safety
    from sfumato.anonymizers.mondrian.partition import Nodes, Split
    from sfumato.counts.stored import StoredCounts


@dataclass(frozen=True)
class MondrianFindings(Findings):
    """Everything Mondrian finds is in the groups it ends with."""

    anonymizer: ClassVar[str] = "mondrian"


@dataclass(frozen=True)
class Mondrian(Anonymizer):
    """Multidimensional partitioning: groups are split as long as every criterion holds."""

    name: ClassVar[str] = "mondrian"

    order: Literal["widest", "gain"] | Callable[[Floats, npt.NDArray[np.int64]], Floats] = "widest"
    """Which column to split first: "widest" (of its domain, times what the policy's use makes it
    worth), "gain" (most information about `target`); in Python also a function of (widths[nodes,
    columns], people[nodes]) that returns priorities of the same shape, higher first. Example:
    `order = "gain"` with `target = "disease"`.
    """
    target: str | None = None
    """The column that order "gain" is about. Example: `target = "disease"` with `order = "gain"`.
    """
    strict: bool = True
    """Equal values stay together. Example: `strict = false`."""
    regions: Literal["cell", "tight", "hierarchy"] = "cell"
    """What is published: the "cell" that was cut, the "tight" range of those inside, or labels of
    the "hierarchy". Example: `regions = "hierarchy"`.
    """
    scheme: Literal["generalized", "bucketized"] = "generalized"
    """"generalized"; or "bucketized": quasi-identifiers as they are with the number of a bucket,
    and apart from them each bucket's sensitive values. Example: `scheme = "bucketized"`.
    """

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
        if self.scheme not in ("generalized", "bucketized"):
            raise PolicyError(
                f"mondrian: scheme = {self.scheme!r} is not known; use generalized or bucketized"
            )

    def refuses_rows(self) -> str:
        if self.scheme == "bucketized" or not self.strict:
            return "mondrian does as scheme = 'generalized' and strict = true only"
        return ""

    def run(self, task: Task) -> Release:
        if self.scheme == "bucketized":
            return self._run_in_memory(in_buckets(self.name, task))
        return task.table.counts.either(
            in_memory=lambda _: self._run_in_memory(task),
            stored=partial(self._run_large, task),
        )

    def _run_in_memory(self, task: Task) -> Release:
        """The finest release that also holds by what only finished releases can be judged by.

        Some criteria are, and k-map where what is published overlaps.
        Groups of twice, four times, ... as many people as the smallest has are tried, by bisection:
        coarser ones usually tell less of their people, though that is no law. Whatever is returned
        was judged itself.
        """
        finished = Finished(task)
        finest = self._search(task)
        if self.scheme == "bucketized":
            refuse_exact(self.name, task, finest)
        if finished.holds(finest):
            return finest
        smallest, people = int(finest.groups.sizes.min()), finest.people
        sizes = [smallest << step for step in range(1, max(people // smallest, 1).bit_length())]
        finest_safe: Release | None = None
        low, high = 0, len(sizes)
        with Ticker("judging releases", len(sizes).bit_length()) as ticker:
            while low <= high:
                middle = (low + high) // 2
                least = sizes[middle] if middle < len(sizes) else people  # the last: one group
                made = self._search(replace(task, criteria=(*task.criteria, KAnonymity(least))))
                if finished.holds(made):
                    finest_safe, high = made, middle - 1
                else:
                    low = middle + 1
                ticker.add(1)
        if finest_safe is None:
            raise finished.refusal()
        return finest_safe

    def _search(self, task: Task) -> Release:
        """By the weights of columns and, as an order is no promise, without them: the better."""
        weighted = self._partition(task)
        if self.order != "widest" or np.ptp(task.column_weights) == 0:
            return weighted
        plain = self._partition(replace(task, utility=Loss()))
        return min(weighted, plain, key=lambda release: task.utility.cost(view_of(release)))

    def _partition(self, task: Task) -> Release:
        """Split until no split is allowed by the criteria that a search can carry along."""
        from sfumato.anonymizers.mondrian.cells import Columns, describe
        from sfumato.anonymizers.mondrian.check_split import Safety
        from sfumato.anonymizers.mondrian.choose_split import Choice
        from sfumato.anonymizers.mondrian.companions import Companions
        from sfumato.anonymizers.mondrian.partition import Partition, TupleRows, everybody

        table, counts = task.table, task.table.counts.in_memory(self.name)
        levels = tuple(table.levels[domain.name] for domain in counts.quasi)
        columns = Columns.of(table.schema, levels, counts, self.regions)
        rows = TupleRows.of(counts, columns, self.target, whole=self.strict)

        safety = Safety(task, counts, rows, self.published(columns))
        root = everybody(columns, rows)
        if counts.owner is not None:
            root = replace(root, companions=Companions.of(counts.rows_by_person, root))
        check_root(safety, root)
        choice = Choice(safety, columns, self.order, strict=self.strict)
        if self.strict and self.order == "widest" and len(rows.n) >= MANY_ROWS:
            from sfumato.anonymizers.mondrian import medians

            needed = medians.asked(task)
            root = root if needed is None else medians.split_at_medians(choice, root, *needed)
        partition = Partition(choice, root, strict=self.strict)
        partition.split_all()
        order, begins, low, high = partition.finished()
        group = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
        placement = Placement(table, rows.tuples[order], group, rows.n[order])
        # Strict cells are disjoint by construction, and tight regions lie inside them.
        disjoint = True if self.strict and self.regions != "hierarchy" else None
        described: Description
        if self.scheme == "bucketized":
            people = (np.repeat(of_tuple, placement.n) for of_tuple in (placement.tuples, group))
            described, disjoint = list_members(counts, *people)
        else:
            described = describe(self.regions, columns, rows.codes, order, begins, low, high)
        return build_release(
            placement, described, MondrianFindings(), seed=task.seed, disjoint=disjoint
        )

    def published(self, columns: Columns) -> Describe:
        """What the parts of candidate splits would publish."""
        from sfumato.anonymizers.mondrian.cells import describe, narrowed

        def published(batch: Nodes, split: Split) -> Regions:
            low, high = narrowed(
                columns,
                batch,
                split.nodes,
                split.column,
                split.cut,
                split.parts,
                split.order,
                split.begins,
                strict=self.strict,
            )
            codes = batch.rows.codes
            return describe(self.regions, columns, codes, split.order, split.begins, low, high)

        return published

    def _run_large(self, task: Task, stored: StoredCounts) -> Release:
        """The same on a table larger than memory."""
        from sfumato.anonymizers.base import Harvest
        from sfumato.anonymizers.mondrian.cells import Columns, describe
        from sfumato.anonymizers.mondrian.large import LargeSearch

        self._refuse_large(task)
        levels = tuple(task.table.levels[domain.name] for domain in stored.quasi)
        columns = Columns.of(task.table.schema, levels, stored, self.regions)
        search = LargeSearch(
            task, stored, columns, self.published(columns), self.order, self.target
        )
        check_root(search.safety, search.everybody)
        search.split_large()
        harvest = Harvest(task, stored)
        search.finish(harvest, partial(describe, self.regions, columns))
        disjoint = True if self.regions != "hierarchy" else None
        with stored.engine.yield_memory():
            return check_release(harvest.release(MondrianFindings(), disjoint=disjoint), task)

    def _refuse_large(self, task: Task) -> None:
        """What cannot be told from histograms."""
        needs = frozenset().union(*(criterion.needs for criterion in task.searched))
        for wrong, demand in (
            (not self.strict, "strict = false"),
            (self.regions != "cell" and "regions" in needs, "a criterion of what groups publish"),
        ):
            if wrong:
                raise ResourceError(
                    f"mondrian: {demand} works on tables that fit in memory; raise the memory "
                    "limit, or publish cells in strict mode"
                )


def check_root(safety: Safety, root: Nodes) -> None:
    """An unsafe group of everybody ends the search before it begins; so do people whom limits keep
    apart."""
    for criterion, verdict in safety.unsafe_root(root):
        raise refused(criterion, verdict, EVERYBODY_FAILS if len(root) == 1 else FRAMES_FAIL)
