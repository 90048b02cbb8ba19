"""Which combinations of columns are measured against which targets, and in what order.

A set of columns with its target is counted once, whatever roles its columns play in it. The widest
sets are summed up from the table, every narrower one from the set that has one column more, the one
with the fewest values: that is the smallest table there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from sfumato.errors import InputError, ResourceError, did_you_mean
from sfumato.release.build import BETWEEN
from sfumato.workflow.coded_columns import CodedColumns

OTHERS = "*"  # every column as a target of all others
MOST = 200_000  # combinations and targets at once
Set = tuple[int, ...]
TargetsAsked = str | Sequence[str | Sequence[str]] | None


@dataclass(frozen=True)
class LeakageTarget:
    """A target: the columns it consists of; `column` is where its values are coded."""

    members: tuple[int, ...]
    column: int
    name: str


@dataclass(frozen=True)
class CombinationPlan:
    """`asked[s]`: the targets of a set s of columns; `below[s]`: the sets summed up from it."""

    columns: tuple[int, ...]
    targets: tuple[LeakageTarget, ...]
    asked: dict[Set, list[LeakageTarget]]
    below: dict[Set, list[Set]]
    roots: tuple[Set, ...]


def named_targets(targets: TargetsAsked) -> list[tuple[str, ...]] | None:
    """The targets as tuples of columns; None where they follow from the schema."""
    if targets is None or targets == OTHERS:
        return None
    listed = [targets] if isinstance(targets, str) else list(targets)
    if not listed:
        raise InputError("targets is empty: name the columns to be protected, or '*' for all")
    asked = []
    for target in listed:
        members = (target,) if isinstance(target, str) else tuple(target)
        if not members or len(set(members)) < len(members):
            raise InputError(f"target {list(members)!r} is not allowed; name columns, each once")
        asked.append(members)
    if len(set(map(frozenset, asked))) < len(asked):
        raise InputError("targets lists the same target twice; name each once")
    return asked


def choose_columns(coded: CodedColumns, columns: Sequence[str] | None) -> tuple[int, ...]:
    """The columns that are combined: the quasi-identifiers, unless others are named."""
    names = coded.quasi if columns is None else columns
    if isinstance(names, str) or not names or len(set(names)) < len(names):
        raise InputError(f"columns = {names!r} is not allowed; list columns, each once")
    return tuple(coded.place(name) for name in names)


def choose_targets(
    coded: CodedColumns, targets: TargetsAsked, columns: tuple[int, ...], *, explicit: bool
) -> list[LeakageTarget]:
    """The targets; `explicit`: the columns were named, so that none may be a target as well."""
    named = named_targets(targets)
    if named is None:
        chosen = coded.names if targets == OTHERS else coded.sensitive
        named = [(name,) for name in chosen]
        if not named:
            raise InputError(
                f"{coded.label} has no sensitive column; name targets, or '*' for every column"
            )
        explicit = False
    chosen_targets: list[LeakageTarget] = []
    joints = len(coded.names)
    for members in named:
        places = tuple(coded.place(name) for name in members)
        inside = [coded.names[place] for place in places if place in columns]
        if explicit and inside:
            raise InputError(
                f"target {inside[0]!r} is one of the columns that are combined; what is known "
                "cannot be a target as well: leave it out of one of the two"
            )
        column = places[0]
        if len(places) > 1:
            column, joints = joints, joints + 1
        chosen_targets.append(LeakageTarget(places, column, BETWEEN.join(members)))
    return chosen_targets


def plan(
    columns: tuple[int, ...],
    targets: Sequence[LeakageTarget],
    sizes: Mapping[int, int],
    max_size: int,
    known: Set = (),
) -> CombinationPlan:
    """Every combination that has the columns `known`, up to a size, against every target.

    `sizes`: how many values each column has.
    """
    _check_number(columns, targets, max_size)
    asked: dict[Set, list[LeakageTarget]] = defaultdict(list)
    for target in targets:
        left = [column for column in columns if column not in target.members]
        for size in range(1, min(max_size, len(left)) + 1):
            for combination in combinations(left, size):
                if set(known) <= set(combination) and len(combination) > len(known):
                    asked[tuple(sorted((*combination, target.column)))].append(target)
    if not asked:
        raise InputError(
            "there is no combination to measure: every column is a target, or already known; name "
            "more columns"
        )
    below: dict[Set, list[Set]] = defaultdict(list)
    roots = []
    adding = sorted(
        {column for combination in asked for column in combination},
        key=lambda column: sizes[column],
    )
    for combination in asked:
        wider = (
            tuple(sorted((*combination, column))) for column in adding if column not in combination
        )
        above = next((candidate for candidate in wider if candidate in asked), None)
        if above is None:
            roots.append(combination)
        else:
            below[above].append(combination)
    return CombinationPlan(columns, tuple(targets), dict(asked), dict(below), tuple(roots))


def _check_number(
    columns: Sequence[int], targets: Sequence[LeakageTarget], max_size: object
) -> None:
    if not isinstance(max_size, int) or isinstance(max_size, bool) or max_size < 1:
        raise InputError(f"max_size = {max_size!r} is not allowed; use a whole number, 1 or more")
    sizes = range(1, min(max_size, len(columns)) + 1)
    many = sum(comb(len(columns), size) for size in sizes) * len(targets)
    if many > MOST:
        raise ResourceError(
            f"{many:,} combinations and targets, more than {MOST:,}: lower max_size, or name the "
            "columns to combine"
        )


def check_given(
    coded: CodedColumns, given: Sequence[str], columns: Set, targets: list[LeakageTarget]
) -> Set:
    """The columns she knows already: some of those combined, and no target."""
    for name in given:
        place = coded.place(name)
        inside = [target.name for target in targets if place in target.members]
        if inside:
            raise InputError(f"prior: {name!r} is the target {inside[0]!r} itself; leave it out")
        if place not in columns:
            names = [coded.names[column] for column in columns]
            raise InputError(
                f"prior: {name!r} is not one of the columns combined; {did_you_mean(name, names)}"
            )
    return tuple(coded.place(name) for name in given)
