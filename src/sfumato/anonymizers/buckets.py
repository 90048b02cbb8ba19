"""Which values go together in Anatomy's buckets, compiled (Xiao & Tao 2006, figure 3).

The paper draws l people at a time, one from each of the l largest classes, and then finds places
for the fewer than l who are left over. Here the sizes are fixed first, which leaves nobody over:
n people make b = floor(n / l) buckets of as equal sizes as n allows, the larger ones drawn first.

Why it always works when no class has more than b people. Let b' buckets be still to draw, the next
of size s, and suppose no class has more than b' people. (1) There are s classes to draw from:
fewer would have at most (s - 1) b' people, but more than that are left, as no later bucket has
fewer than s - 1 places. (2) No class keeps more than b' - 1: one that has b' and is not drawn would
mean more than s classes of b' people each, but at most s b' people are left, as no later bucket is
larger.

The classes lie in order of size and `reach[c]` says how many have at least c people, so a bucket
of s costs s steps however many values there are.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Ints

Floats = npt.NDArray[np.float64]


def sizes_of(people: int, l: int) -> Ints:  # noqa: E741
    """The buckets' sizes: all l or l + 1 unless more are left over than there are buckets."""
    buckets = people // l
    least, larger = divmod(people, buckets)
    return least + (np.arange(buckets) < larger).astype(np.int64)


@nb.njit(cache=True)
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
