"""The repaired cut tree, compiled: where dealing starts from.

Mondrian stops where both sides of every cut break a rule, since near people share sensitive values.
Here a cut may be repaired: every value has its own share that goes left, between where the cut of
space would put it (theta = 1) and its proportional share (theta = 0), where both sides hold
whatever the whole cell holds. The least repair that is enough is taken, in three families: one
side stays pure and leaves its misfits to the other, or both give way.

Also here: locality orders, along which near people are found, the cost of groups, and which groups
are cut anew together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.anonymizers.deal.people import RANGE, SET, DealtColumns, DealtPeople
from sfumato.anonymizers.deal.rules import Rules, holds
from sfumato.compiled import Int, by_address, inner, kernel
from sfumato.numbers import Bools, Codes, Floats, Ints

BOUNDARIES = 4  # cuts tried in each column, those nearest to the median
THETAS = np.array([1, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0])
_SHORT = 24  # so few are sorted by inserting
NOBODY = 1 << 30  # beyond every code

by_address(DealtColumns)
by_address(DealtPeople)
# Whatever is passed on is an np.int64 from the beginning, and what kernels work in is made by
# Python (`compiled.py` says why).


@by_address
class CuttingRoom(NamedTuple):
    """What cutting works in: lines of people, cells yet to cut, and tallies of codes and values.

    `having`, `natural`, `left`, `best` and `taken` count people by value, `sides` by column of
    counts; `seen` holds marks by cell of a histogram.
    """

    line: Codes
    gone: Codes
    stay: Codes
    starts: Ints
    stops: Ints
    cuts: Ints
    tally: Ints
    seen: Ints
    side: Bools
    present: Codes
    sides: Codes
    having: Ints
    natural: Ints
    left: Ints
    best: Ints
    taken: Ints

    @classmethod
    def of(cls, total: int, people: DealtPeople, columns: DealtColumns) -> CuttingRoom:
        """For so many of the people."""
        values = len(people.starts) - 1
        return cls(
            line=np.empty(total, dtype=np.int32),
            gone=np.empty(total, dtype=np.int32),
            stay=np.empty(total, dtype=np.int32),
            starts=np.zeros(total + 1, dtype=np.int64),
            stops=np.zeros(total + 1, dtype=np.int64),
            cuts=np.zeros(BOUNDARIES, dtype=np.int64),
            tally=np.zeros(columns.most + 2, dtype=np.int64),
            seen=marks(columns),
            side=np.zeros(len(people.value), dtype=np.bool_),
            present=np.zeros(values, dtype=np.int32),
            sides=np.zeros((3, people.width), dtype=np.int32),
            having=np.zeros(values, dtype=np.int64),
            natural=np.zeros(values, dtype=np.int64),
            left=np.zeros(values, dtype=np.int64),
            best=np.zeros(values, dtype=np.int64),
            taken=np.zeros(values, dtype=np.int64),
        )


def marks(columns: DealtColumns) -> Ints:
    """Room for marks by cell of a histogram."""
    return np.zeros(max(columns.cells, 1), dtype=np.int64)


@inner
def span_width(columns: DealtColumns, j: Int, low: Int, high: Int) -> float:
    """What a column that is no SET costs a group whose codes lie between these two."""
    at = columns.at[j]
    if columns.kind[j] == RANGE:
        return float(min(columns.high[at + high] - columns.low[at + low], columns.cost[j]))
    size = columns.size[j]
    for level in range(columns.levels[j] - 1):
        place = at + level * size
        if columns.labels[place + low] == columns.labels[place + high]:
            return float(columns.widths[place + low])
    return float(columns.widths[at + (columns.levels[j] - 1) * size + low])


@inner
def width_of(
    members: Codes,
    start: Int,
    stop: Int,
    places: Codes,
    columns: DealtColumns,
    seen: Ints,
    mark: Int,
) -> float:
    """The summed width of these people as one group. `seen` holds marks below `mark`."""
    width = 0.0
    for j in range(places.shape[1]):
        at = columns.at[j]
        if columns.kind[j] == SET:
            further = -1
            for i in range(start, stop):
                cell = at + places[members[i], j]
                if seen[cell] != mark:
                    seen[cell] = mark
                    further += 1
            width += columns.cost[j] * further
        else:
            low, high = np.int64(NOBODY), np.int64(-1)
            for i in range(start, stop):
                code = np.int64(places[members[i], j])
                low, high = min(low, code), max(high, code)
            width += span_width(columns, j, low, high)
    return width


@kernel
def weigh(
    members: Codes,
    begins: Ints,
    people: DealtPeople,
    columns: DealtColumns,
    seen: Ints,
    costs: Floats,
) -> None:
    """People times width of each group: group g has `members[begins[g]:begins[g + 1]]`."""
    for g in range(len(costs)):
        start, stop = begins[g], begins[g + 1]
        width = width_of(members, start, stop, people.places, columns, seen, g + 1)
        costs[g] = (stop - start) * width


@inner
def _sort_by(
    members: Codes, start: Int, stop: Int, places: Codes, j: Int, line: Codes, tally: Ints
) -> None:
    """Lay the people from start to stop on `line` by a column; ties stay in order."""
    total = stop - start
    if total <= _SHORT:
        for i in range(total):
            person = members[start + i]
            code, at = np.int64(places[person, j]), i
            while at > 0 and places[line[at - 1], j] > code:
                line[at] = line[at - 1]
                at -= 1
            line[at] = person
        return
    low, high = np.int64(NOBODY), np.int64(-1)
    for i in range(start, stop):
        code = np.int64(places[members[i], j])
        low, high = min(low, code), max(high, code)
    for slot in range(high - low + 2):
        tally[slot] = 0
    for i in range(start, stop):
        tally[places[members[i], j] - low + 1] += 1
    for slot in range(high - low + 1):
        tally[slot + 1] += tally[slot]
    for i in range(start, stop):
        slot = places[members[i], j] - low
        line[tally[slot]] = members[i]
        tally[slot] += 1


@inner
def _boundaries(line: Codes, total: Int, places: Codes, j: Int, most: Int, cuts: Ints) -> int:
    """The `most` positions nearest to the middle where the column's code changes; how many."""
    listed, left, right = 0, total // 2, total // 2 + 1
    while listed < most and (left > 0 or right < total):
        # The nearer of the next position on either side.
        if left > 0 and (right >= total or total - 2 * left <= 2 * right - total):
            if places[line[left - 1], j] != places[line[left], j]:
                cuts[listed] = left
                listed += 1
            left -= 1
        else:
            if places[line[right - 1], j] != places[line[right], j]:
                cuts[listed] = right
                listed += 1
            right += 1
    return listed


@kernel
def sort_by_place(
    members: Codes, people: DealtPeople, columns: DealtColumns, lean: Floats, room: CuttingRoom
) -> None:
    """Sort people so that near ones are near on the line: halved again and again, as a k-d tree is.

    Ties stay in order; `lean` multiplies what columns cost.
    """
    total, places, mark = len(members), people.places, np.int64(0)
    line, tally, seen, cuts = room.line, room.tally, room.seen, room.cuts
    starts, stops = room.starts, room.stops
    starts[0], stops[0], depth = 0, total, 1
    while depth > 0:
        depth -= 1
        start, stop = starts[depth], stops[depth]
        if stop - start <= 2:
            continue
        widest, column = 0.0, np.int64(-1)
        for j in range(places.shape[1]):
            mark += 1
            low, high, further = np.int64(NOBODY), np.int64(-1), -1
            for i in range(start, stop):
                code = np.int64(places[members[i], j])
                low, high = min(low, code), max(high, code)
                if columns.kind[j] == SET and seen[columns.at[j] + code] != mark:
                    seen[columns.at[j] + code] = mark
                    further += 1
            if columns.kind[j] == SET:
                width = columns.cost[j] * further
            else:
                width = span_width(columns, j, low, high)
            if width * lean[j] > widest and low < high:
                widest, column = width * lean[j], np.int64(j)
        if column < 0:
            continue
        _sort_by(members, start, stop, places, column, line, tally)
        for i in range(start, stop):
            members[i] = line[i - start]
        _boundaries(line, stop - start, places, column, np.int64(1), cuts)
        middle = start + cuts[0]
        starts[depth], stops[depth] = start, middle
        starts[depth + 1], stops[depth + 1] = middle, stop
        depth += 2


@inner
def _repaired(
    family: Int,
    theta: float,
    share: float,
    having: Ints,
    natural: Ints,
    present: Codes,
    many: Int,
    left: Ints,
) -> int:
    """How many people of each value go left; returns how many together, -1 if `left` is as it was.

    Rounding carries its error from value to value, so that the sum is as near as each.
    """
    total, error, other = np.int64(0), 0.0, False
    for i in range(many):
        v = np.int64(present[i])
        if family == 0:  # the left side stays pure
            wanted = min(float(natural[v]), theta * having[v])
        elif family == 1:  # the right side stays pure
            wanted = having[v] - min(float(having[v] - natural[v]), theta * having[v])
        else:
            wanted = theta * natural[v] + (1.0 - theta) * share * having[v]
        # No whole number before its end: each value waits for the one before.
        rounded = min(max(np.floor(wanted + error + 0.5), 0.0), float(having[v]))
        error += wanted - rounded
        going = np.int64(rounded)
        if left[v] != going:
            other = True
        left[v] = going
        total += going
    return int(total) if other else -1


@inner
def _both_hold(
    left: Ints,
    going: Int,
    total: Int,
    present: Codes,
    many: Int,
    sides: Codes,
    people: DealtPeople,
    rules: Rules,
) -> bool:
    """Whether both sides keep the rules; `sides` has the counts of left, right and whole cell."""
    if going < rules.least or total - going < rules.least:
        return False
    for column in range(people.width):
        sides[0, column] = 0
    for i in range(many):
        v = np.int64(present[i])
        for place in range(people.starts[v], people.starts[v + 1]):
            sides[0, people.adds[place]] += left[v]
    for column in range(people.width):
        sides[1, column] = sides[2, column] - sides[0, column]
    # Nearly all repairs are refused, most of them for the smaller side.
    side = np.int64(2 * going > total)
    for _ in range(2):
        if not holds(sides, side, total - going if side == 1 else going, rules):
            return False
        side = 1 - side
    return True


@kernel
def cut_tree(
    members: Codes,
    begins: Ints,
    people: DealtPeople,
    columns: DealtColumns,
    rules: Rules,
    thetas: Floats,
    small: Int,
    begun: Bools,
    halt: Bools,
    room: CuttingRoom,
) -> None:
    """Split cells until no repaired cut is left; marks in `begun` where groups begin.

    Cell c has the people `members[begins[c]:begins[c + 1]]`, in a locality order; `members` is
    rearranged within cells, so that every group is a run, in the same order. Cells of `small`
    people or fewer stay whole, and all that are left when `halt[0]` is set. `thetas` fall from 1.
    """
    places, mark = people.places, np.int64(0)
    line, gone, stay, side = room.line, room.gone, room.stay, room.side
    starts, stops, cuts, tally, seen = room.starts, room.stops, room.cuts, room.tally, room.seen
    present, sides, having, natural = room.present, room.sides, room.having, room.natural
    left, best, taken = room.left, room.best, room.taken
    depth = 0
    for c in range(len(begins) - 1):
        starts[depth], stops[depth] = begins[c], begins[c + 1]
        depth += 1
        while depth > 0:
            depth -= 1
            start, stop = starts[depth], stops[depth]
            begun[start] = True
            size = stop - start
            if size < 2 * rules.least or size <= small or halt[0]:
                continue
            many = np.int64(0)
            for i in range(start, stop):
                v = people.value[members[i]]
                if having[v] == 0:
                    present[many] = v
                    many += 1
                having[v] += 1
            # Rare values first: what their rounding takes or gives, frequent ones make good.
            for i in range(1, many):
                v, at = np.int64(present[i]), i
                while at > 0 and having[present[at - 1]] > having[v]:
                    present[at] = present[at - 1]
                    at -= 1
                present[at] = v
            for i in range(people.width):
                sides[2, i] = 0
            for i in range(many):
                for place in range(people.starts[present[i]], people.starts[present[i] + 1]):
                    sides[2, people.adds[place]] += having[present[i]]
            cheapest, column = np.inf, np.int64(-1)
            for j in range(places.shape[1]):
                _sort_by(members, start, stop, places, j, line, tally)
                for b in range(_boundaries(line, size, places, j, np.int64(len(cuts)), cuts)):
                    middle = cuts[b]
                    for i in range(many):
                        natural[present[i]] = 0
                    for i in range(middle):
                        natural[people.value[line[i]]] += 1
                    # Repairs that differ little often send the same people left: if that broke a
                    # rule it does again, and if another family took it its cost is known.
                    left[present[0]], allowed = -1, False
                    for family in range(3):
                        repair = -1
                        for t in range(min(family, 1), len(thetas)):  # all have the first one
                            if family < 2 and thetas[t] * size + 1.0 < rules.least:
                                break  # the pure side is too small, and smaller with every next
                            share = middle / size
                            going = _repaired(
                                family, thetas[t], share, having, natural, present, many, left
                            )
                            if going >= 0:
                                allowed = _both_hold(
                                    left, going, size, present, many, sides, people, rules
                                )
                                repair = t if allowed else -1
                            if allowed:
                                break
                        if repair < 0:
                            continue
                        mark += 1
                        cost = _cost_of_cut(
                            line,
                            size,
                            left,
                            taken,
                            present,
                            many,
                            people,
                            columns,
                            seen,
                            mark,
                            gone,
                            stay,
                        )
                        mark += 1
                        if cost < cheapest:
                            cheapest, column = cost, np.int64(j)
                            for i in range(many):
                                best[present[i]] = left[present[i]]
                        if repair == 0:  # not repaired: the same cut in every family
                            break
            if column >= 0:
                _sort_by(members, start, stop, places, column, line, tally)
                for i in range(size):
                    v = people.value[line[i]]
                    side[line[i]] = best[v] <= 0
                    best[v] -= 1
                middle, rest = start, 0
                for i in range(start, stop):
                    person = members[i]
                    if side[person]:
                        line[rest] = person
                        rest += 1
                    else:
                        members[middle] = person
                        middle += 1
                for i in range(rest):
                    members[middle + i] = line[i]
                starts[depth], stops[depth] = middle, stop
                starts[depth + 1], stops[depth + 1] = start, middle
                depth += 2
            for i in range(many):
                having[present[i]] = 0


@inner
def _cost_of_cut(
    line: Codes,
    size: Int,
    left: Ints,
    taken: Ints,
    present: Codes,
    many: Int,
    people: DealtPeople,
    columns: DealtColumns,
    seen: Ints,
    mark: Int,
    gone: Codes,
    stay: Codes,
) -> float:
    """People times width on both sides, if the first `left[v]` people of each value go left."""
    for i in range(many):
        taken[present[i]] = 0
    going, staying, places = np.int64(0), np.int64(0), people.places
    for i in range(size):
        v = people.value[line[i]]
        if taken[v] < left[v]:
            taken[v] += 1
            gone[going] = line[i]
            going += 1
        else:
            stay[staying] = line[i]
            staying += 1
    cost = going * width_of(gone, np.int64(0), going, places, columns, seen, mark)
    return cost + staying * width_of(stay, np.int64(0), staying, places, columns, seen, mark + 1)


@kernel
def match_groups(group: Codes, order: Codes, turns: Ints, away: Ints, partner: Codes) -> None:
    """Give each group a partner for this time: somebody of it is near somebody of the other.

    `turns` are the places of the order in the turn in which they are asked, `away` how far each
    looks; `partner[g]` is g where nobody was found.
    """
    for place in turns:
        g = group[order[place]]
        if g >= 0 and partner[g] == g and place + away[place] < len(order):
            h = group[order[place + away[place]]]
            if h >= 0 and h != g and partner[h] == h:
                partner[g] = h
                partner[h] = g
