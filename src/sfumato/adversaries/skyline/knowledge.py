"""The knowledge skyline: how much somebody may know before a release gives a value away (Chen,
LeFevre, Ramakrishnan: Privacy Skyline, VLDB 2007).

All maximal safe (l, k, m) at one confidence: whoever knows no more than one of these points stays
below it, and any more, on any axis, takes her to it. More knowledge never makes her less sure, so
the safe points below a value of l form a staircase in k and m, and that of l + 1 lies inside it.
Staircases are halved until two neighbours are equal: all between are then equal too. So the number
of checks grows with the number of steps there are, not with how far the axes reach.

Single values bound every axis. With several values per person no number of facts about the target
settles it, so l may be unbounded; the walk stops at the number of other values there are. Rows
published one by one are asked of a release that knows whose they are, what is told being *at most*
so (`unlinked_rows.py`).

Only groups that can decide are looked at, one of each shape.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from sfumato.adversaries.skyline.breach import (
    CASE_WORDS,
    NEAR,
    AnyCase,
    SkylineForm,
    case_of,
    check_confidence,
    code_of,
    groups_of,
    odds,
    odds_at,
    safe,
)
from sfumato.adversaries.skyline.few_groups import shapes_of
from sfumato.adversaries.skyline.unlinked_rows import RowsOfValue, judged_rows
from sfumato.errors import InputError
from sfumato.notebook import Displayed
from sfumato.numbers import Ints, tallied_offsets
from sfumato.progress import phase
from sfumato.release.groups import Groups
from sfumato.release.release import Release

# The groups of a release that can decide how sure somebody becomes of one value.
#
# What the closed forms read of a group is its shape: its people n, how many have the value, a, and
# its other counts in descending order. Groups without the value never decide; of equal shapes one
# is enough; and a shape that another is worse than in every way (no more people, no fewer with the
# value, no more left when the same facts are known) is never the least of anything.
#
# Of whole lists it is n, a, and c(l), the fewest lists that l facts leave, for every l (see
# `whole_lists`): found once for each group, for the search is the long part.

_CELLS = 1 << 22  # numbers of shapes that are made at a time
_LARGEST = 1 << 31  # products of two counts must fit 64 bits


def deciding(groups: Groups, target: int, case: AnyCase) -> Groups:
    """Groups of the shapes that decide, the target value being their first."""
    having = groups.row[groups.indices == target]
    most = int(groups.distinct[having].max(initial=1)) - 1
    step = max(1, _CELLS // (most + 2))
    parts = [
        _distinct(shapes_of(groups, having[start : start + step], target, most))
        for start in range(0, len(having), step)
    ]
    distinct = _distinct(np.concatenate(parts)) if parts else np.empty((0, 2 + most), np.int64)
    kept = worst_shapes(distinct, case)
    rows, columns = np.nonzero(kept[:, 1:])
    indptr = tallied_offsets(rows, len(kept))
    return Groups.from_sparse(
        indptr,
        columns.astype(np.int32),
        kept[:, 1:][rows, columns],
        most + 1,
        sizes=np.ascontiguousarray(kept[:, 0]),
        case=case if case != "lists" else None,
    )


def _distinct(rows: Ints) -> Ints:
    """The different rows. By their bytes: a column each is slow where rows have thousands."""
    if len(rows) < 2:
        return rows
    rows = np.ascontiguousarray(rows)
    whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    return rows[np.unique(whole, return_index=True)[1]]


def worst_shapes(shapes: Ints, case: AnyCase) -> Ints:
    """The shapes that no other one is worse than."""
    if len(shapes) < 2:
        return shapes
    # A worse one comes first: fewer people, then more with the value, then larger other counts,
    # or fewer lists left.
    keys = [-shapes[:, column] for column in range(shapes.shape[1] - 1, 0, -1)]
    if case == "lists":
        keys[:-1] = [-key for key in keys[:-1]]
    left = shapes[np.lexsort((*keys, shapes[:, 0]))]
    if int(left[:, 0].max()) > _LARGEST:
        return left
    kept: list[Ints] = []
    while len(left):
        first, left = left[0], left[1:]
        kept.append(first)
        left = left[~_worse(first, left, case)]
    return np.stack(kept)


def _worse(shape: Ints, others: Ints, case: AnyCase) -> Ints:
    """Which of the others never have a factor below this one's."""
    worse = (shape[0] <= others[:, 0]) & (shape[1] >= others[:, 1])
    if case == "lists":
        shares = shape[2:] <= others[:, 2:]
    elif case == "set":
        # Shares of people, value by value: their products then compare alike.
        shares = shape[2:] * others[:, :1] >= others[:, 2:] * shape[0]
    else:
        taken, limits = np.cumsum(shape[2:]), np.cumsum(others[:, 2:], axis=1)
        if case == "single":
            taken, limits = taken - shape[0] + shape[1], limits - others[:, :1] + others[:, 1:2]
        shares = taken >= limits
    return np.asarray(worse & shares.all(axis=1))


@dataclass(frozen=True)
class ListShapes:
    """The shapes that decide of whole lists, rows of n, a, c(0), c(1), ...; l beyond is the last.

    `least` by the least that c(l) can be, `reached` by the facts that were found.
    """

    least: Ints
    reached: Ints
    occurring: int  # facts beyond the values that occur beside this one change nothing

    @classmethod
    def of(cls, groups: Groups, target: int, most: int | None = None) -> ListShapes:
        """Of all groups that have the value, up to `most` facts."""
        from sfumato.adversaries.skyline.whole_lists import MOST_LOOKS, spared_lists, stored

        having = groups.row[groups.indices == target]
        values = int(groups.distinct[having].max(initial=1))
        facts = np.arange(values if most is None else min(values, most + 1))
        step = max(1, _CELLS // (len(facts) + 2))
        kept: tuple[list[Ints], list[Ints]] = ([], [])
        for start in range(0, len(having), step):
            part = having[start : start + step]
            least, reached = spared_lists(stored(groups), part, target, facts, MOST_LOOKS)
            # More facts never leave more: what is known of one number bounds the next.
            least[:, 2:] = np.maximum.accumulate(least[:, :1:-1], axis=1)[:, ::-1]
            reached[:, 2:] = np.minimum.accumulate(reached[:, 2:], axis=1)
            for parts, made in zip(kept, (least, reached), strict=True):
                parts.append(_distinct(made))
        nothing = np.empty((0, 2 + len(facts)), np.int64)
        worst = [
            worst_shapes(_distinct(np.concatenate([nothing, *parts])), "lists") for parts in kept
        ]
        return cls(worst[0], worst[1], values - 1)

    def __len__(self) -> int:
        return len(self.least)

    def bounds(self, values: int) -> tuple[int, int, int]:
        """The largest l, k and m that could be safe; -1 where not even none."""
        people = max(int((self.least[:, 0] - self.least[:, 1]).min()) - 1, -1)
        return values, people, people

    def safe(self, point: tuple[int, int, int], confidence: Fraction) -> bool:
        """Whether she stays below a confidence, whatever her facts."""
        return _stays_below(self.least, point, confidence)

    def may_be_safe(self, point: tuple[int, int, int], confidence: Fraction) -> bool:
        """Whether none of the facts that were found take her to it."""
        return _stays_below(self.reached, point, confidence)


def _stays_below(shapes: Ints, point: tuple[int, int, int], confidence: Fraction) -> bool:
    from sfumato.adversaries.skyline.breach import compare_shapes
    from sfumato.adversaries.skyline.whole_lists import shape_factors

    facts, k, m = point
    kept = shapes[:, [0, 1, 2 + min(facts, shapes.shape[1] - 3)]]
    factors = shape_factors(np.ascontiguousarray(kept), k, m)
    least, bound = factors.min(axis=0), odds_at(confidence)
    against, limit = float(odds(least)), float(bound)
    if abs(against - limit) > NEAR * limit:
        return against > limit
    near = {factor: kept[factors[:, factor] <= least[factor] * (1 + NEAR)] for factor in range(5)}
    sign = compare_shapes(near, k, m, "lists", bound)
    return sign is not None and sign > 0


Axis = Literal["l", "k", "m"]
AXES: tuple[Axis, ...] = ("l", "k", "m")
MOST = 1_000  # people she may know; beyond that the walk does not look unless told to
Point = tuple[int, int, int]


@dataclass(frozen=True, repr=False)
class KnowledgeSkyline(Displayed):
    """The maximal safe points of one value at one confidence.

    `bounds` are the largest l, k and m that could be safe by themselves (-1: none); None for a
    value nobody has. `unbounded` axes: any number is as safe as the one given. `cut` axes were not
    followed beyond `most`, the limit of the walk: points at it may go on. `checks` is how many
    points the walk has judged. `at_most`: some point was left out by an upper bound of what she
    may believe, so more may be safe than is told.
    """

    value: str
    attribute: str | None
    confidence: float
    case: SkylineForm
    points: tuple[Point, ...]
    bounds: Point | None
    unbounded: tuple[Axis, ...] = ()
    cut: tuple[Axis, ...] = ()
    most: int = MOST
    at_most: bool = False
    checks: int = field(default=0, compare=False, repr=False)

    @property
    def status(self) -> Literal["all_safe", "none_safe", "some_safe"]:
        """Whether anything must be known before the value is given away, and whether that helps."""
        if self.bounds is None:
            return "all_safe"
        return "some_safe" if self.points else "none_safe"

    @property
    def sentence(self) -> str:
        """What the skyline says."""
        sure = f"{100 * self.confidence:g}% sure"
        if self.bounds is None:
            return f"Nobody has {self.value!r}: no knowledge makes anybody sure of it."
        if not self.points:
            return f"The release alone makes somebody {sure} that a person has {self.value!r}."
        words = (
            f"Whoever knows no more than one of these points stays below {sure} of {self.value!r}"
        )
        notes = [
            f"no number of facts about the target changes that where {axis} is {self.bounds[0]}"
            for axis in self.unbounded
        ]
        notes += [f"{axis} was followed up to {self.most:,} only" for axis in self.cut]
        if self.at_most:
            notes.append(
                "some certainties are known as at most so much only, so more knowledge may be safe"
            )
        return "; ".join([words, *notes]) + "."

    def to_dict(self) -> dict[str, object]:
        """The skyline for JSON."""
        return {
            "value": self.value,
            "sensitive": self.attribute,
            "confidence": self.confidence,
            "case": CASE_WORDS[self.case],
            "at_most": self.at_most,
            "status": self.status,
            "points": [dict(zip(AXES, point, strict=True)) for point in self.points],
            "bounds": None if self.bounds is None else dict(zip(AXES, self.bounds, strict=True)),
            "unbounded": list(self.unbounded),
            "cut": list(self.cut),
            "about": self.sentence,
        }

    def _in_short(self) -> tuple[str, ...]:
        many = len(self.points)
        column = f"{self.attribute} " if self.attribute else ""
        return (
            f"Knowledge skyline of {column}{self.value!r} at {100 * self.confidence:g}% "
            f"confidence: {many:,} point{'s' * (many != 1)}",
            self.sentence,
        )

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)


def knowledge_skyline(
    groups: Groups | Release,
    value: str,
    confidence: float | Fraction,
    case: AnyCase | None = None,
    *,
    sensitive: str | None = None,
    most: int | None = None,
) -> KnowledgeSkyline:
    """All maximal (l, k, m) at which nobody becomes `confidence` sure that somebody has `value`.

    `most` is how far every axis is followed; unless given, people are followed up to 1,000 and
    facts to the end.
    """
    judged_groups = groups_of(groups, sensitive)
    rows = None
    if isinstance(groups, Release) and judged_groups.beside.unlinked is not None:
        rows = judged_rows(groups, judged_groups, case)
    given: SkylineForm = case_of(judged_groups, case) if rows is None else "rows"
    target, limit = code_of(judged_groups, value), check_confidence(confidence)
    if most is not None and most < 0:
        raise InputError(f"most = {most} is not allowed; use 0 or more")
    described = (value, judged_groups.attribute, float(confidence), given)
    judged: ListShapes | _LooseValues | RowsOfValue
    if rows is not None:
        judged = RowsOfValue(rows, target, limit)
    elif given == "lists":
        judged = ListShapes.of(judged_groups, target, most)
    else:
        loose = case_of(judged_groups, case)
        judged = _LooseValues(deciding(judged_groups, target, loose), loose)
    if len(judged) == 0:
        return KnowledgeSkyline(*described, (), None, AXES)
    bounds = judged.bounds(len(np.unique(judged_groups.indices)) - 1)
    people = MOST if most is None else most
    occurring = min(bounds[0], judged.occurring)
    facts = occurring if most is None else min(occurring, most)
    reach = (facts, min(bounds[1], people), min(bounds[2], people))
    checks, undecided = 0, False

    def is_safe(point: Point) -> bool:
        nonlocal checks, undecided
        checks += 1
        if judged.safe(point, limit):
            return True
        undecided = undecided or judged.may_be_safe(point, limit)
        return False

    points = _walk(is_safe, reach)
    ended = facts == occurring
    endless = given not in ("single", "rows") and ended  # a row has one value
    top = bounds[0] if endless else facts
    listed = [(top if known == facts else known, k, m) for known, k, m in points]
    free = endless and any(point[0] == top for point in listed)
    far = [not ended, bounds[1] > people, bounds[2] > people]
    cut = [axis for axis, too_far in zip(AXES, far, strict=True) if too_far]
    return KnowledgeSkyline(
        *described,
        tuple(sorted(listed)),
        bounds,
        ("l",) if free else (),
        tuple(cut),
        people,
        undecided,
        checks,
    )


@dataclass(frozen=True)
class _LooseValues:
    """Groups of the shapes that decide, one value a person or several in one bag."""

    groups: Groups
    case: AnyCase

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def occurring(self) -> int:
        """Facts beyond the values that occur beside this one change nothing."""
        return self.groups.width - 1

    def bounds(self, values: int) -> Point:
        """The largest l, k and m that could be safe; -1 where not even none."""
        small = self.groups
        having = small.data[small.indptr[:-1]]  # the target value comes first in every shape
        if self.case == "multiset":
            people = int(small.sizes.min()) - 2
        else:
            people = int((small.sizes - having).min()) - 1
        facts = int(small.distinct.min()) - 2 if self.case == "single" else values
        return facts, max(people, -1), max(people, -1)

    def safe(self, point: Point, confidence: Fraction) -> bool:
        return bool(safe(self.groups, [0], [point], [confidence], self.case)[1][0])

    def may_be_safe(self, point: Point, confidence: Fraction) -> bool:
        """What is not safe is known not to be."""
        return False


@phase("attacking")
def skylines(
    release: Release,
    confidence: float,
    value: str | None = None,
    sensitive: str | None = None,
    case: AnyCase | None = None,
) -> list[KnowledgeSkyline]:
    """The skyline of a value, in the column that has it or `sensitive` names, or of all of them."""
    check_confidence(confidence)
    columns = [sensitive] if sensitive is not None else list(release.schema.sensitive)
    if not columns:
        raise InputError("the release has no sensitive column")
    if release.regions.noisy:
        raise InputError("counts of a randomised release are noisy; it carries its own guarantee")
    if value is None:
        return [
            knowledge_skyline(release, label, confidence, case, sensitive=column)
            for column in columns
            for label in release.groups_for(column).values
        ]
    column = column_of(release, value, columns)
    return [knowledge_skyline(release, value, confidence, case, sensitive=column)]


def column_of(release: Release, value: str, columns: list[str]) -> str:
    """The one of the columns that has a value."""
    having = [name for name in columns if value in release.groups_for(name).values]
    if len(having) > 1:
        raise InputError(
            f"{value!r} is a value of {' and '.join(having)}; say which with sensitive"
        )
    return having[0] if having else columns[0]


def _walk(is_safe: Callable[[Point], bool], reach: Point) -> list[Point]:
    """The maximal safe points: the staircase of each l, which contains that of every larger l.

    A staircase is the largest safe m of every k, -1 where none is, and falls as k grows.
    """
    if min(reach) < 0:
        return []
    points: list[Point] = []
    nowhere = np.full(reach[1] + 1, -1)
    above = nowhere

    def emit(facts: int, here: Ints) -> None:
        nonlocal above
        after = np.append(here[1:], -1)
        corners = np.flatnonzero((here > after) & (here > above))
        points.extend((facts, int(k), int(here[k])) for k in corners)
        above = here

    def between(low: int, ceiling: Ints, high: int, floor: Ints) -> None:
        """Emit what lies between two values of l, the larger first."""
        if high - low < 2 or np.array_equal(ceiling, floor):
            return
        middle = (low + high) // 2
        here = _staircase(is_safe, middle, floor, ceiling)
        between(middle, here, high, floor)
        emit(middle, here)
        between(low, ceiling, middle, here)

    anywhere = np.full(reach[1] + 1, reach[2])
    innermost = _staircase(is_safe, reach[0], nowhere, anywhere)
    emit(reach[0], innermost)
    if reach[0] > 0:
        outermost = _staircase(is_safe, 0, innermost, anywhere)
        between(0, outermost, reach[0], innermost)
        emit(0, outermost)
    return points


def _staircase(is_safe: Callable[[Point], bool], facts: int, floor: Ints, ceiling: Ints) -> Ints:
    """The largest safe m of every k, known to lie between two staircases."""
    here = floor.copy()
    open_ks = np.flatnonzero(floor != ceiling)
    # Spans of open k whose heights lie within bounds; a flat span needs no look inside.
    spans = [(0, len(open_ks) - 1, -1, int(ceiling.max(initial=-1)))]
    while spans:
        first, last, lowest, highest = spans.pop()
        if first > last:
            continue
        if lowest == highest:
            here[open_ks[first : last + 1]] = lowest
            continue
        middle = (first + last) // 2
        k = int(open_ks[middle])
        height = _highest(
            lambda m: is_safe((facts, k, m)),  # noqa: B023 (called before k changes)
            max(lowest, int(floor[k])),
            min(highest, int(ceiling[k])),
        )
        here[k] = height
        spans.append((first, middle - 1, height, highest))
        spans.append((middle + 1, last, lowest, height))
    return here


def _highest(is_safe: Callable[[int], bool], safe_at: int, most: int) -> int:
    """The largest safe number between one known to be safe and the most possible."""
    if safe_at < most and is_safe(most):
        return most
    while most - safe_at > 1:
        middle = (safe_at + most) // 2
        if is_safe(middle):
            safe_at = middle
        else:
            most = middle
    return safe_at
