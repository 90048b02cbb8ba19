"""The contract of an anonymizer: from a table and criteria to a release that satisfies them.

Whatever an anonymizer returns holds by every criterion it was given; it raises `NoSafeRelease`
rather than return anything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from sfumato.criteria.base import Criterion, GroupCriterion, ReleaseCriterion, Verdict, judge
from sfumato.errors import NoSafeRelease, PolicyError, quoted
from sfumato.numbers import Floats
from sfumato.release.release import Release
from sfumato.table.load import Table
from sfumato.utility.base import Utility
from sfumato.utility.loss import Loss


def check_suppression(given: object) -> None:
    """The share of people who may be left out: a number from 0 to 1."""
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not 0 <= given <= 1:  # type: ignore[operator]
        raise PolicyError(
            f"suppression = {quoted(given)} is not allowed; it must be a share from 0 to 1"
        )


@dataclass(frozen=True)
class Task:
    """What is to be anonymized, and by which criteria."""

    table: Table
    criteria: tuple[Criterion, ...]
    utility: Utility = field(default_factory=Loss)
    suppression: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_suppression(self.suppression)
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or self.seed < 0:
            raise PolicyError(
                f"seed = {quoted(self.seed)} is not allowed; use a whole number, 0 or more"
            )
        _ = self.require  # a criterion that cannot be searched for at all is refused at once

    @cached_property
    def require(self) -> tuple[Criterion, ...]:
        """The criteria as they are searched for, each knowing the table."""
        return tuple(criterion.bind(self.table.counts) for criterion in self.criteria)

    @property
    def column_weights(self) -> Floats:
        """How much the width of each quasi-identifier counts, 1 on average."""
        return self.utility.column_weights(len(self.table.counts.quasi))

    @property
    def by_group(self) -> tuple[GroupCriterion, ...]:
        return tuple(c for c in self.require if isinstance(c, GroupCriterion))

    @property
    def by_release(self) -> tuple[ReleaseCriterion, ...]:
        return tuple(c for c in self.searched if isinstance(c, ReleaseCriterion))

    @property
    def searched(self) -> tuple[Criterion, ...]:
        """Those a search can carry along; the others are judged when it is done."""
        return (*self.by_group, *(c for c in self.require if _carried(c)))

    @property
    def at_end(self) -> tuple[ReleaseCriterion, ...]:
        """Those a search cannot carry along: it makes releases, and they choose among them."""
        return tuple(c for c in self.require if isinstance(c, ReleaseCriterion) and c.at_end)

    def about(self, criterion: Criterion) -> tuple[int | None, ...]:
        """The positions of the sensitive attributes a criterion is about."""
        counts = self.table.counts
        if not criterion.reads_values or not counts.sensitive:
            return (0 if counts.sensitive else None,)
        if criterion.sensitive is not None:
            return (counts.attribute(criterion.sensitive),)
        return tuple(range(len(counts.sensitive)))


def _carried(criterion: Criterion) -> bool:
    return isinstance(criterion, ReleaseCriterion) and not criterion.at_end


@dataclass(frozen=True)
class Anonymizer(ABC):
    """A way of making releases; `suppresses`: it may leave people out, up to the task's limit."""

    name: ClassVar[str]
    suppresses: ClassVar[bool] = False

    @abstractmethod
    def run(self, task: Task) -> Release:
        """The most useful release this way finds; every criterion holds on it."""

    def within(self, seconds: float) -> Self:
        """The same with at most so many seconds; itself where it has no such parameter."""
        own = [one for one in fields(self) if one.name == "seconds"]
        given: dict[str, Any] = {one.name: min(getattr(self, one.name), seconds) for one in own}
        return replace(self, **given)


def check_release(release: Release, task: Task) -> Release:
    """The last word before a release is returned: judge it as anybody would."""
    return Finished(task).first_safe([release])


class Finished:
    """Judges finished releases, the most useful first, and remembers the nearest miss."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.judged = 0
        self._nearest: tuple[Criterion, Verdict] | None = None

    def first_safe(self, releases: Iterable[Release]) -> Release:
        """The first on which every criterion holds."""
        for release in releases:
            if self.holds(release):
                return release
        raise self.refusal()

    def holds(self, release: Release) -> bool:
        """Whether every criterion holds; an error where no other release could do better."""
        failing = self._failing(release)
        self.judged += 1
        if failing is None:
            return True
        criterion, verdict = failing
        if verdict.measured is None or verdict.beyond_mending:
            raise refused(criterion, verdict)
        if self._nearest is None or _nearer(failing, self._nearest):
            self._nearest = failing
        return False

    def _failing(self, release: Release) -> tuple[Criterion, Verdict] | None:
        for criterion in self._task.require:
            verdict = judge(criterion, release)
            if not verdict.holds:
                return criterion, verdict
        return None

    def refusal(self) -> NoSafeRelease:
        """Why none of them will do."""
        assert self._nearest is not None
        criterion, verdict = self._nearest
        if criterion not in self._task.at_end:
            return refused(criterion, verdict)
        came = (
            "the one release that was judged came to"
            if self.judged == 1
            else f"the nearest of {self.judged:,} releases that were judged came to"
        )
        return no_safe_release(criterion, verdict.measured, verdict.note, came=came)


def _nearer(one: tuple[Criterion, Verdict], other: tuple[Criterion, Verdict]) -> bool:
    """Whether one came nearer to the same bound."""
    (criterion, verdict), (before, nearest) = one, other
    if criterion != before or verdict.measured is None or nearest.measured is None:
        return False
    if verdict.sense in ("at_most", "below"):
        return verdict.measured < nearest.measured
    return verdict.measured > nearest.measured


def no_safe_release(
    criterion: Criterion,
    nearest: float | None,
    why: str = "",
    advice: str = "loosen that bound, or coarsen what is published",
    came: str = "the nearest any release came is",
) -> NoSafeRelease:
    """Which criterion stands in the way, how near one came, what to change."""
    detail = f" ({why})" if why else ""
    # Where merging may harm, a partition that nobody tried may still be safe.
    found = "satisfies" if criterion.merge_closed else "was found that satisfies"
    if nearest is None:
        return NoSafeRelease(
            f"no release satisfies {criterion.name}, required {criterion.required}: it cannot be "
            f"judged here{detail}; drop it, or require another criterion of that column"
        )
    return NoSafeRelease(
        f"no release {found} {criterion.name}, required {criterion.required}; {came} "
        f"{nearest:.6g}{detail}; {advice}"
    )


def refused(criterion: Criterion, verdict: Verdict, *advice: str) -> NoSafeRelease:
    """The same for a verdict; one that nothing can mend gets no advice that would not help."""
    if verdict.beyond_mending:
        return NoSafeRelease(
            f"no release satisfies {criterion.name}, required {criterion.required}: {verdict.note}"
        )
    return no_safe_release(criterion, verdict.measured, verdict.note, *advice)
