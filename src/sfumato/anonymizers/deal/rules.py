"""The count rules of all criteria as one table, and the compiled test of a group against it.

One function of one signature tests whatever the policy requires: rules are rows of numbers, not
code. A person adds to some columns of a group's counts (one for each sensitive attribute; several
where she has several values), and every rule sums some of these columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfumato.compiled import Int, by_address, inner, kernel
from sfumato.criteria.count_rules import CountRule, RuleKind
from sfumato.numbers import Codes, Floats, Ints

_FEWEST, _UPPER, _LOWER, _DISTANCE = (
    int(RuleKind.FEWEST),
    int(RuleKind.UPPER),
    int(RuleKind.LOWER),
    int(RuleKind.DISTANCE),
)
_SQUARES, _ENTROPY, _DISTINCT, _TAIL = (
    int(RuleKind.SQUARES),
    int(RuleKind.ENTROPY),
    int(RuleKind.DISTINCT),
    int(RuleKind.TAIL),
)
_NEAR = 1e-10  # nearer to a bound than this, relatively, is on it


@by_address
class Rules(NamedTuple):
    """Rules of a policy, packed. Row r of `table`: kind, first sum, end of sums, first number,
    running, strict. Sum i adds up the columns `members[starts[i]:starts[i + 1]]` of the counts.

    `logs[y]` is y log y. `least` is what no group may have fewer people than.
    """

    table: Ints
    starts: Ints
    members: Codes
    numbers: Floats
    logs: Floats
    least: int


def pack(rules: Sequence[tuple[int, CountRule]], people: int) -> Rules:
    """Each rule with the first column of its attribute's counts."""
    table: list[list[int]] = []
    starts, members = [0], list[int]()
    numbers: list[float] = []
    least = 1
    for column, rule in rules:
        if rule.kind == RuleKind.FEWEST:
            least = max(least, int(rule.numbers[0]))
            continue
        first = len(starts) - 1
        for summed in rule.sums:
            members += [column + code for code in summed]
            starts.append(len(members))
        end, at = len(starts) - 1, len(numbers)
        table.append([int(rule.kind), first, end, at, int(rule.running), int(rule.strict)])
        numbers += list(rule.numbers)
    counts = np.arange(people + 1, dtype=np.float64)
    return Rules(
        np.array(table, dtype=np.int64).reshape(-1, 6),
        np.array(starts, dtype=np.int64),
        np.array(members, dtype=np.int32),
        np.array(numbers, dtype=np.float64),
        counts * np.log(np.maximum(counts, 1.0)),
        least,
    )


@kernel
def holds(counts: Codes, g: Int, size: Int, rules: Rules) -> bool:
    """Whether a group of `size` people with the counts of row g keeps every rule."""
    if size < rules.least:
        return False
    people = float(size)
    for r in range(rules.table.shape[0]):
        kind, first, end = rules.table[r, 0], rules.table[r, 1], rules.table[r, 2]
        at, running = rules.table[r, 3], rules.table[r, 4]
        strict = rules.table[r, 5] == 1
        total, most, carried = 0.0, 0.0, 0.0
        if _DISTANCE <= kind <= _SQUARES:
            most = rules.numbers[at] * people
            if kind == _SQUARES:
                most *= people
            most += _NEAR * (people if kind == _DISTANCE else people * people)
        for i in range(first, end):
            y = carried
            for place in range(rules.starts[i], rules.starts[i + 1]):
                y += counts[g, rules.members[place]]
            if running == 1:
                carried = y
            if kind == _DISTANCE:
                total += abs(y - rules.numbers[at + 1 + i - first] * people)
                if total > most:
                    return False
            elif kind == _SQUARES:
                total += (y - rules.numbers[at + 1 + i - first] * people) ** 2
                if total > most:
                    return False
            elif kind == _ENTROPY:
                total += rules.logs[int(y)]
            elif kind == _DISTINCT:
                total += y > 0
            elif kind <= _LOWER and not _capped(
                y, people, rules.numbers, at + 6 * (i - first), kind, strict
            ):
                return False
        if kind == _ENTROPY:
            entropy = rules.logs[size] - total
            near = _NEAR * people * (1.0 + np.log(people))
            low, high = rules.numbers[at] * people, rules.numbers[at + 1] * people
            if entropy < low - near or entropy > high + near:
                return False
        elif kind == _DISTINCT:
            if total < rules.numbers[at]:
                return False
        elif kind == _TAIL and not _spread(counts, g, people, rules, r):
            return False
    return True


@inner
def _capped(y: float, people: float, numbers: Floats, at: Int, kind: Int, strict: bool) -> bool:
    """One UPPER or LOWER sum."""
    if numbers[at + 5] == 1.0:
        y = people - y
    if y == 0 and kind == _UPPER:
        return True
    square, line, fixed = numbers[at] * people * people, numbers[at + 1] * people, numbers[at + 2]
    slope, rest = y * numbers[at + 3] * people, y * numbers[at + 4]
    near = _NEAR * (abs(square) + abs(line) + abs(fixed) + abs(slope) + abs(rest))
    room = square + line + fixed - slope - rest
    if kind == _LOWER:
        room = -room
    return bool(room > near if strict else room >= -near)


@inner
def _spread(counts: Codes, g: Int, people: float, rules: Rules, r: Int) -> bool:
    """TAIL: the largest count against all but the l - 1 largest."""
    first, end, at = rules.table[r, 1], rules.table[r, 2], rules.table[r, 3]
    many = int(rules.numbers[at + 1]) - 1
    largest, taken, above, times = 0.0, 0.0, np.inf, 0
    # The next largest in turn; counts that are equal come as often as they stand there.
    while times < many and above > 0:
        best, tied = 0.0, 0
        for i in range(first, end):
            y = float(counts[g, rules.members[rules.starts[i]]])
            if y < above:
                if y > best:
                    best, tied = y, 1
                elif y == best:
                    tied += 1
        if times == 0:
            largest = best
        here = min(tied, many - times)
        taken += best * here
        times += here
        above = best
    tail = rules.numbers[at] * (people - taken)
    return bool(largest < tail - _NEAR * tail)
