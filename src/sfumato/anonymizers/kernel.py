"""MDAV, compiled: clusters of at least k near points (Domingo-Ferrer & Torra 2005, algorithm MDAV).

While 3k or more points are left: take the point farthest from their mean and make a cluster of
the k nearest to it, then do the same around the point farthest from that one. Of fewer, one more
cluster of k is split off if 2k are left, and the rest is the last. So every cluster has k points,
the last k to 2k - 1.

Ties are decided once for all: around any place the points are ordered by (squared distance,
number); the nearest come first in that order, the farthest is last. The two ends of one order
never meet, the result does not depend on how the work is laid out, and where numbers were dealt
at random a tie says nothing about anybody.

The work is three passes over the remaining points per pair of clusters, quadratic on the whole.
Points lie column by column and a block at a time in the cache, so that the processor computes
several distances at once; a removed point is overwritten by the last. One thread: sharing a pass
between two was tried and was slower (3,000 to 100,000 points, other work on the machine), since a
pass lasts only some tens of microseconds.

And Anatomy's choice of the values that go together in a bucket.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiled import inner, kernel
from sfumato.numbers import Codes, Floats, Ints
from sfumato.progress import Ticker

# Which values go together in Anatomy's buckets, compiled (Xiao & Tao 2006, figure 3).
#
# The paper draws l people at a time, one from each of the l largest classes, and then finds places
# for the fewer than l who are left over. Here the sizes are fixed first, which leaves nobody over:
# n people make b = floor(n / l) buckets of as equal sizes as n allows, the larger ones drawn
# first.
#
# Why it always works when no class has more than b people. Let b' buckets be still to draw, the
# next of size s, and suppose no class has more than b' people. (1) There are s classes to draw
# from: fewer would have at most (s - 1) b' people, but more than that are left, as no later bucket
# has fewer than s - 1 places. (2) No class keeps more than b' - 1: one that has b' and is not
# drawn would mean more than s classes of b' people each, but at most s b' people are left, as no
# later bucket is larger.
#
# The classes lie in order of size and `reach[c]` says how many have at least c people, so a bucket
# of s costs s steps however many values there are.


def sizes_of(people: int, l: int) -> Ints:  # noqa: E741
    """The buckets' sizes: all l or l + 1 unless more are left over than there are buckets."""
    buckets = people // l
    least, larger = divmod(people, buckets)
    return least + (np.arange(buckets) < larger).astype(np.int64)


@kernel
def draw_values(classes: Ints, sizes: Ints, luck: Floats) -> Ints:
    """The values of all buckets, one bucket after the other; all of a bucket's are distinct.

    `classes[v]` people have value v. Among classes of equal size chance decides: `luck` holds a
    number from [0, 1) per person. The outcome depends on the classes' sizes alone, on nobody's QIs.
    """
    left = classes.copy()
    order = np.argsort(-left, kind="mergesort")
    reach = np.zeros(left.max() + 2, np.int64)
    for count in left:
        reach[count] += 1
    for count in range(len(reach) - 2, -1, -1):
        reach[count] += reach[count + 1]
    drawn = np.empty(len(luck), np.int64)
    at = 0
    for size in sizes:
        level = left[order[size - 1]]
        above, end = reach[level + 1], reach[level]
        taken = size - above  # of those at the level; they go to its end, so the order stays
        for last in range(end - 1, end - taken - 1, -1):
            pick = above + int(luck[at] * (last - above + 1))
            order[last], order[pick] = order[pick], order[last]
            left[order[last]] -= 1
            drawn[at] = order[last]
            at += 1
        reach[level] -= taken
        for place in range(above):
            value = order[place]
            reach[left[value]] -= 1
            left[value] -= 1
            drawn[at] = value
            at += 1
    return drawn


# The same where people have several values each: whose lists go together in a bucket.
#
# A bucket of n people may hold a value at most n / l times. First l people at a time are put
# together whose lists share no value; the people come in order of their most frequent value, so
# that those who fit in fewest buckets choose first. Then buckets that break the bound, as those
# with too few people do, are put together with others: two buckets that keep it keep it together,
# and all people together keep it, so this ends.

_PROBES = 512  # buckets that are looked at for somebody, or for a bucket to be put together with


def deal_lists(
    lists: Codes,
    offsets: Ints,
    members: Codes,
    width: int,
    l: int,  # noqa: E741
    luck: Floats,
) -> Ints:
    """The bucket of each person, who has the values `members[offsets[i]:offsets[i + 1]]` of list i.

    Bucket numbers may have gaps. `luck` holds a number from [0, 1) per person.
    """
    bucket = _first_places(lists, offsets, members, width, l)
    return _put_together(bucket, lists, offsets, members, width, l, luck)


@kernel
def _first_places(lists: Codes, offsets: Ints, members: Codes, width: int, l: int) -> Ints:  # noqa: E741
    """Whoever fits into one of n / l buckets of l people; everybody else has one of her own."""
    people = len(lists)
    total = max(people // l, 1)
    bucket = np.arange(total, total + people)
    size = np.zeros(total, np.int64)
    # The people of a bucket: the last one placed, and for each the one before.
    last, before = np.full(total, -1, np.int64), np.full(people, -1, np.int64)
    last_asker = np.full(width, -1, np.int64)  # who asked for a value last
    free, left, cursor = np.arange(total), total, 0  # buckets with a place; the next to be tried
    for person in range(people):
        own = members[offsets[lists[person]] : offsets[lists[person] + 1]]
        repeated = False
        for value in own:
            repeated = repeated or last_asker[value] == person
            last_asker[value] = person
        if repeated:
            continue
        for _ in range(min(left, _PROBES)):
            cursor = (cursor + 1) % left
            place = free[cursor]
            placed = last[place]
            shares = False
            while placed >= 0 and not shares:
                for value in members[offsets[lists[placed]] : offsets[lists[placed] + 1]]:
                    shares = shares or last_asker[value] == person
                placed = before[placed]
            if not shares:
                bucket[person] = place
                size[place] += 1
                before[person], last[place] = last[place], person
                if size[place] == l:
                    left -= 1
                    free[cursor] = free[left]
                break
    return bucket


@kernel
def _put_together(
    bucket: Ints,
    lists: Codes,
    offsets: Ints,
    members: Codes,
    width: int,
    l: int,  # noqa: E741
    luck: Floats,
) -> Ints:
    """Buckets that break the bound with others, until none does."""
    people = len(lists)
    total = bucket.max() + 1
    # The people of a bucket: the first, the last, and for each the next one.
    first, end = np.full(total, -1, np.int64), np.full(total, -1, np.int64)
    after, size = np.full(people, -1, np.int64), np.zeros(total, np.int64)
    for person in range(people):
        place = bucket[person]
        after[person], first[place] = first[place], person
        if end[place] < 0:
            end[place] = person
        size[place] += 1
    alive, left, turn, at = np.empty(total, np.int64), 0, 0, 0
    for place in range(total):
        if size[place]:
            alive[left] = place
            left += 1
    tally = np.zeros(width, np.int64)  # how often the bucket at its turn has each value
    present = np.empty(width, np.int64)
    while turn < left:
        merging = alive[turn]
        many = _add(first[merging], after, lists, offsets, members, tally, present, 0)
        while True:
            over = 0  # values that occur too often, which come first among those held
            for at_value in range(many):
                value = present[at_value]
                if tally[value] * l > size[merging]:
                    present[at_value], present[over] = present[over], value
                    over += 1
            broken = present[:over]
            if size[merging] >= l and over == 0:
                break
            best, least = -1, -1
            start = int(luck[at % people] * left)
            at += 1
            for step in range(min(left, _PROBES)):
                where = (start + step) % left
                partner = alive[where]
                if partner == merging:
                    continue
                n = size[merging] + size[partner]
                excess = max(l - n, 0)
                _add(first[partner], after, lists, offsets, members, tally, present, many)
                for value in broken:
                    excess += max(tally[value] * l - n, 0)
                person = first[partner]
                while person >= 0:
                    for value in members[offsets[lists[person]] : offsets[lists[person] + 1]]:
                        excess += tally[value] * l > n
                    person = after[person]
                _take_away(first[partner], after, lists, offsets, members, tally)
                if least < 0 or excess < least:
                    best, least = where, excess
                if excess == 0:
                    break
            if best < 0:
                break  # everybody is in one bucket
            partner = alive[best]
            many = _add(first[partner], after, lists, offsets, members, tally, present, many)
            after[end[merging]] = first[partner]
            end[merging] = end[partner]
            size[merging] += size[partner]
            if best < turn:  # those before it keep the bound: they stay before it
                turn -= 1
                alive[best], alive[turn] = alive[turn], merging
                best = turn + 1
            alive[best] = alive[left - 1]
            left -= 1
        for value in present[:many]:
            tally[value] = 0
        turn += 1
    for turn in range(left):
        person = first[alive[turn]]
        while person >= 0:
            bucket[person] = alive[turn]
            person = after[person]
    return bucket


@inner
def _add(
    person: int,
    after: Ints,
    lists: Codes,
    offsets: Ints,
    members: Codes,
    tally: Ints,
    present: Ints,
    many: int,
) -> int:
    """Count the values of somebody and of all who come after; how many different ones are held."""
    while person >= 0:
        for value in members[offsets[lists[person]] : offsets[lists[person] + 1]]:
            if tally[value] == 0:
                present[many] = value
                many += 1
            tally[value] += 1
        person = after[person]
    return many


@inner
def _take_away(
    person: int, after: Ints, lists: Codes, offsets: Ints, members: Codes, tally: Ints
) -> None:
    while person >= 0:
        for value in members[offsets[lists[person]] : offsets[lists[person] + 1]]:
            tally[value] -= 1
        person = after[person]


_BLOCK = 2048
_STEPS = 100  # how often a progress bar may move


def mdav(points: Floats, k: int) -> Ints:
    """The cluster of each point; `points` has a row per column, a column per point."""
    total = points.shape[1]
    left = np.ascontiguousarray(points, dtype=np.float64).copy()
    numbers = np.arange(total, dtype=np.int64)
    sums = left.sum(axis=1)
    cluster = np.full(total, -1, dtype=np.int64)
    made, alive = 0, total
    pairs = max(1, total // (2 * k) // _STEPS)
    with Ticker("clustering", total) as ticker:
        while alive >= 3 * k:
            before = alive
            made, alive = _pairs(left, numbers, sums, cluster, k, made, alive, pairs)
            ticker.add(before - alive)
    return _rest(left, numbers, sums, cluster, k, made, alive)


@inner
def _distances(left: Floats, start: int, stop: int, at: Floats, out: Floats) -> None:
    """Squared distances of points start..stop from a place, summed column by column."""
    size = stop - start
    for i in range(size):
        out[i] = 0.0
    for c in range(left.shape[0]):
        row, place = left[c, start:stop], at[c]
        for i in range(size):
            gap = row[i] - place
            out[i] += gap * gap


@inner
def _farthest(left: Floats, numbers: Ints, alive: int, at: Floats) -> int:
    """Where the last point lies in the order around a place."""
    out = np.empty(_BLOCK)
    best, where = -1.0, -1
    for start in range(0, alive, _BLOCK):
        stop = min(start + _BLOCK, alive)
        _distances(left, start, stop, at, out)
        for i in range(stop - start):
            if out[i] >= best and (
                out[i] > best or where < 0 or numbers[start + i] > numbers[where]
            ):
                best, where = out[i], start + i
    return where


@inner
def _nearest(left: Floats, numbers: Ints, alive: int, at: Floats, near: Ints) -> int:
    """Fill `near` with where the first points in the order around a place lie; return the last."""
    out = np.empty(_BLOCK)
    k = len(near)
    kept = np.full(k, np.inf)
    filled = 0
    best, where = -1.0, -1
    for start in range(0, alive, _BLOCK):
        stop = min(start + _BLOCK, alive)
        _distances(left, start, stop, at, out)
        for i in range(stop - start):
            d, p = out[i], start + i
            if d >= best and (d > best or where < 0 or numbers[p] > numbers[where]):
                best, where = d, p
            if d > kept[k - 1]:
                continue
            if filled == k and d == kept[k - 1] and numbers[p] > numbers[near[k - 1]]:
                continue
            slot = min(filled, k - 1)
            while slot > 0 and (
                kept[slot - 1] > d or (kept[slot - 1] == d and numbers[near[slot - 1]] > numbers[p])
            ):
                kept[slot], near[slot] = kept[slot - 1], near[slot - 1]
                slot -= 1
            kept[slot], near[slot] = d, p
            filled = min(filled + 1, k)
    return where


@inner
def _remove(
    left: Floats, numbers: Ints, sums: Floats, cluster: Ints, near: Ints, made: int, alive: int
) -> int:
    """Make points a cluster; each is overwritten by the last that remains."""
    for p in np.sort(near)[::-1]:
        alive -= 1
        cluster[numbers[p]] = made
        numbers[p] = numbers[alive]
        for c in range(left.shape[0]):
            sums[c] -= left[c, p]
            left[c, p] = left[c, alive]
    return alive


@kernel
def _pairs(
    left: Floats,
    numbers: Ints,
    sums: Floats,
    cluster: Ints,
    k: int,
    made: int,
    alive: int,
    most: int,
) -> tuple[int, int]:
    """At most so many pairs of clusters, while 3k points are left."""
    near = np.empty(k, np.int64)
    for _ in range(most):
        if alive < 3 * k:
            break
        extreme = left[:, _farthest(left, numbers, alive, sums / alive)].copy()
        opposite = left[:, _nearest(left, numbers, alive, extreme, near)].copy()
        alive = _remove(left, numbers, sums, cluster, near, made, alive)
        _nearest(left, numbers, alive, opposite, near)
        alive = _remove(left, numbers, sums, cluster, near, made + 1, alive)
        made += 2
    return made, alive


@kernel
def _rest(
    left: Floats, numbers: Ints, sums: Floats, cluster: Ints, k: int, made: int, alive: int
) -> Ints:
    """The last cluster, or the last two."""
    if alive >= 2 * k:
        near = np.empty(k, np.int64)
        extreme = left[:, _farthest(left, numbers, alive, sums / alive)].copy()
        _nearest(left, numbers, alive, extreme, near)
        alive = _remove(left, numbers, sums, cluster, near, made, alive)
        made += 1
    for p in range(alive):
        cluster[numbers[p]] = made
    return cluster


@kernel
def nearest_others(centres: Floats, wanted: Ints) -> tuple[Ints, Floats]:
    """For each wanted centre the nearest other one (the first of equals), and how far it is."""
    total = centres.shape[1]
    partner = np.full(len(wanted), -1, np.int64)
    gap = np.full(len(wanted), np.inf)
    out = np.empty(_BLOCK)
    for place in range(len(wanted)):
        at = centres[:, wanted[place]].copy()
        for start in range(0, total, _BLOCK):
            stop = min(start + _BLOCK, total)
            _distances(centres, start, stop, at, out)
            for i in range(stop - start):
                if out[i] < gap[place] and start + i != wanted[place]:
                    gap[place], partner[place] = out[i], start + i
    return partner, gap
