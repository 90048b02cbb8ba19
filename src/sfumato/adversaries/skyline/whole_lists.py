"""Whole lists, compiled: the closed forms where a release shows each person's list in one piece.

A file of rows shows n lists of a group and leaves open whose they are. With a of them having the
target value, n - a - k can be that of a target who lacks it when k others are known to lack it too;
and of the n - a lists without it only c(l) have none of l other values either, of which is known
that the target would have them only together with the target value. So

    T(l, k) = c(l) (n - a - k) / (a (n - a))        and V(m, k) is that of single values

She picks the l values that leave the fewest lists: maximum coverage. It is solved by branch and
bound, the value that covers most first; what r more values can cover is at most what the r best
cover each for itself, and at most what is left. Every look at a member of a list is counted, and
after `MOST_LOOKS` of one group, value and l the search ends: then c(l) lies between what the bounds
leave and what the best choice so far leaves, and the breach probability that is told is an upper
bound ("at most"). Up to one value it is always exact.

Factors come in pairs: `LEAST`, by the least that c(l) can be, and `REACHED`, by values that were
found. They differ only where the search ended early.

Apart from `kernel.py`, whose forms of single values it builds on: most releases show no lists, and
both together are more than a file should hold.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from sfumato.adversaries.skyline.breach import AIDED, BARE, KIN, KIN_AIDED, OWN, SINGLE
from sfumato.adversaries.skyline.kernel import NOBODY, K, L, M, by_target, kin
from sfumato.compiled import Int, inner, kernel
from sfumato.counts.counts import Sets
from sfumato.numbers import Codes, Floats, Ints
from sfumato.release.groups import Groups

MOST_LOOKS = 1 << 18
LEAST, REACHED = range(2)


class Stored(NamedTuple):
    """Groups as compiled code takes them: the values and the lists of each, and their people.

    Group g has the values `indices[indptr[g]:indptr[g + 1]]` and `people[at]` people with the list
    `lists[at]`, at from list_indptr[g] on; list i is `members[offsets[i]:offsets[i + 1]]`.
    """

    indptr: Ints
    indices: Codes
    sizes: Ints
    list_indptr: Ints
    lists: Codes
    people: Ints
    offsets: Ints
    members: Codes
    width: int


class Work(NamedTuple):
    """Work space for one group at a time.

    `covered` says of each list which choice covered it, from 1 (-1: it has the target value);
    `banned` of each value since which choice it is not to be chosen, from 1; `gain` what it would
    cover. Between groups all are zero.
    """

    covered: Ints
    banned: Ints
    gain: Ints
    listed: Ints
    choice: Ints


def stored(groups: Groups) -> Stored:
    """Groups that have lists."""
    lists = groups.lists
    assert lists is not None
    return Stored(
        groups.indptr,
        groups.indices,
        groups.sizes,
        lists.indptr,
        lists.indices,
        lists.data,
        lists.sets.offsets,
        lists.sets.members,
        groups.width,
    )


def always_exact(sets: Sets, values: int, facts: int, most_looks: int = MOST_LOOKS) -> bool:
    """Whether no group of these lists can take a longer search, whoever is in it."""
    if facts <= 1:
        return True
    choices = 0
    for chosen in range(min(facts, values)):
        choices += comb(values, chosen)
        if 2 * choices * (len(sets.members) + values) > most_looks:
            return False
    return True


@inner
def work_space(groups: Stored, group_numbers: Ints) -> Work:
    """Room for the largest of some groups."""
    longest = 1
    for g in group_numbers:
        longest = max(longest, groups.list_indptr[g + 1] - groups.list_indptr[g])
    width = groups.width
    return Work(
        np.zeros(longest, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
    )


@inner
def has_value(groups: Stored, listed: int, value: int) -> bool:
    """Whether a list has a value."""
    for place in range(groups.offsets[listed], groups.offsets[listed + 1]):
        if groups.members[place] == value:
            return True
    return False


@inner
def set_apart(groups: Stored, g: int, target: int, work: Work) -> int:
    """Mark the lists of a group that have the target value; returns how many people have it."""
    having, low = 0, groups.list_indptr[g]
    for at in range(low, groups.list_indptr[g + 1]):
        apart = has_value(groups, groups.lists[at], target)
        work.covered[at - low] = -1 if apart else 0
        if apart:
            having += groups.people[at]
    return having


@inner
def weigh_values(groups: Stored, g: int, work: Work) -> tuple[int, int, int]:
    """What each value that may be chosen would cover of the lists left, into `gain`.

    Returns how many such values there are (they are `shown`), how many people any of them covers,
    and how many members of lists were looked at.
    """
    number = reach = looks = 0
    low, members, gain = groups.list_indptr[g], groups.members, work.gain
    for at in range(low, groups.list_indptr[g + 1]):
        if work.covered[at - low] != 0:
            continue
        begin, end = groups.offsets[groups.lists[at]], groups.offsets[groups.lists[at] + 1]
        looks += end - begin
        reached = False
        for place in range(begin, end):
            value = members[place]
            if work.banned[value] != 0 or (place > begin and members[place - 1] == value):
                continue
            if gain[value] == 0:
                work.listed[number] = value
                number += 1
            gain[value] += groups.people[at]
            reached = True
        if reached:
            reach += groups.people[at]
    return number, reach, looks


@kernel
def best_of(number: int, reach: int, left: int, work: Work) -> tuple[int, int, int]:
    """The value that covers most, what it covers, and what `left` values can cover at most.

    Takes the gains of the `number` values that are shown, and leaves them zero.
    """
    top, most = -1, 0
    gains = np.empty(number, np.int64)
    for place in range(number):
        value = work.listed[place]
        gains[place] = work.gain[value]
        work.gain[value] = 0
        if gains[place] > most or (gains[place] == most and value < top):
            top, most = value, gains[place]
    if left == 1:
        return top, most, most
    if left >= number:
        return top, most, reach
    gains.sort()
    return top, most, min(reach, gains[number - left :].sum())


@inner
def keep_choice(chosen: Ints, taken: int, work: Work) -> None:
    """The values taken are the best choice so far."""
    for place in range(taken):
        work.choice[place] = chosen[place]


@inner
def most_covered(
    groups: Stored, g: int, facts: int, most_looks: int, work: Work
) -> tuple[int, int, int]:
    """How many people `facts` values cover: as found, and at most; and how many values it takes.

    Of the group's lists those count that are not set apart. The values go to `work.choice`.
    """
    low, high = groups.list_indptr[g], groups.list_indptr[g + 1]
    group_values = groups.indices[groups.indptr[g] : groups.indptr[g + 1]]
    facts = min(facts, len(group_values))
    if facts == 0:
        return 0, 0, 0
    chosen, gained = np.zeros(facts, np.int64), np.zeros(facts, np.int64)
    covered, banned = work.covered, work.banned
    best, taken, depth, base, looks = -1, 0, 0, 0, 0
    limit = 0  # what no choice can exceed that was not tried
    while True:
        number, reach, looked = weigh_values(groups, g, work)
        top, most, bound = best_of(number, reach, facts - depth, work)
        looks += looked + number
        if depth == 0:
            limit = bound
        deeper = number > 0 and base + bound > best
        if deeper and looks > most_looks and best >= 0:
            break
        if deeper and depth + 1 < facts:
            chosen[depth], gained[depth] = top, most
            for at in range(low, high):
                if covered[at - low] == 0 and has_value(groups, groups.lists[at], top):
                    covered[at - low] = depth + 1
            base += most
            depth += 1
            continue
        if deeper:  # the last value: the best one will do
            chosen[depth] = top
            best, taken = base + most, depth + 1
            keep_choice(chosen, taken, work)
        elif base > best:
            best, taken = base, depth
            keep_choice(chosen, taken, work)
        # Back: beside the values before it, the one chosen last is not to be chosen again.
        for at in range(high - low):
            if covered[at] == depth and depth > 0:
                covered[at] = 0
        for value in group_values:
            if banned[value] == depth + 1:
                banned[value] = 0
        if depth == 0:
            limit = best
            break
        depth -= 1
        base -= gained[depth]
        banned[chosen[depth]] = depth + 1
    for at in range(high - low):
        covered[at] = min(covered[at], 0)
    banned[group_values] = 0
    return best, max(best, limit), taken


@inner
def doubt(n: int, a: int, k: Int, spared: int) -> float:
    """T(l, k), `spared` being c(l)."""
    left = n - a - k
    return spared / (n - a) * (left / a) if left > 0 else 0.0


@inner
def lower_to(out: Floats, n: int, a: int, spared: int, k: int, m: int) -> None:
    """Five running minima, with the factors of one more group that has the target value."""
    aided, one_more = doubt(n, a, k, spared), kin(n, a, m, k + 1, np.int64(SINGLE))
    out[OWN] = min(out[OWN], aided * one_more if aided > 0.0 else 0.0)
    out[BARE] = min(out[BARE], doubt(n, a, NOBODY, spared))
    out[KIN_AIDED] = min(out[KIN_AIDED], kin(n, a, m, k, np.int64(SINGLE)))
    out[AIDED] = min(out[AIDED], aided)
    out[KIN] = min(out[KIN], kin(n, a, m, NOBODY, np.int64(SINGLE)))


@kernel
def shape_factors(shapes: Ints, k: int, m: int) -> Floats:
    """The factors of groups by n, a and c(l)."""
    out = np.full((len(shapes), 5), np.inf)
    for row in range(len(shapes)):
        lower_to(out[row], shapes[row, 0], shapes[row, 1], shapes[row, 2], k, m)
    return out


@kernel
def fill(
    groups: Stored,
    start: int,
    stop: int,
    targets: Ints,
    points: Ints,
    most_looks: int,
    out: Floats,
    reduce: bool,
) -> None:
    """The factors of groups start..stop into `out[:, group - start, column]`, LEAST and REACHED.

    With `reduce` every group goes to `out[:, 0]`. `out` comes filled with what a group without the
    target value has.
    """
    first, columns = by_target(targets, groups.width)
    work = work_space(groups, np.arange(start, stop))
    for g in range(start, stop):
        n, row = groups.sizes[g], 0 if reduce else g - start
        for target in groups.indices[groups.indptr[g] : groups.indptr[g + 1]]:
            if first[target] == first[target + 1]:
                continue
            a = set_apart(groups, g, target, work)
            last = most = covered = 0
            for column in range(first[target], first[target + 1]):
                p = columns[column]
                facts, k, m = points[p, L], points[p, K], points[p, M]
                if facts != last:
                    covered, most, _ = most_covered(groups, g, facts, most_looks, work)
                    last = facts
                lower_to(out[LEAST, row, p], n, a, n - a - most, k, m)
                lower_to(out[REACHED, row, p], n, a, n - a - covered, k, m)


@kernel
def spared_lists(
    groups: Stored, group_numbers: Ints, target: int, facts: Ints, most_looks: int
) -> tuple[Ints, Ints]:
    """All that the closed forms read of some groups: n, a, then c(l) for each l, ascending.

    c(l) as the least it can be; and once more, as what the values found leave.
    """
    least = np.zeros((len(group_numbers), 2 + len(facts)), np.int64)
    reached = np.zeros_like(least)
    work = work_space(groups, group_numbers)
    for row in range(len(group_numbers)):
        g = group_numbers[row]
        n, a = groups.sizes[g], set_apart(groups, g, target, work)
        number, reach, _ = weigh_values(groups, g, work)
        work.gain[work.listed[:number]] = 0
        least[row, 0], least[row, 1] = reached[row, 0], reached[row, 1] = n, a
        reached_people = most = 0
        for place in range(len(facts)):
            if reached_people < reach:  # else every list is covered that has a value at all
                reached_people, most, _ = most_covered(groups, g, facts[place], most_looks, work)
            least[row, 2 + place], reached[row, 2 + place] = n - a - most, n - a - reached_people
    return least, reached


@kernel
def telling_values(groups: Stored, g: int, target: int, facts: int, most_looks: int) -> Ints:
    """The values that leave the fewest lists of a group, or the best that were found."""
    work = work_space(groups, np.array([g]))
    set_apart(groups, g, target, work)
    _, _, taken = most_covered(groups, g, facts, most_looks, work)
    return work.choice[:taken]
