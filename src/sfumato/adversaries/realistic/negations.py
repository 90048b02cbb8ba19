"""Negations together with a prior: she knows of some values that her target does not have them.

Chen, LeFevre and Ramakrishnan's adversary (`adversaries/skyline`) rules out values of her target
but has no statistics; Machanavajjhala, Gehrke and Goetz's (VLDB 2009) has statistics and knows
people outright. This one has both. Who rules out the values F, in a group of N people of whom h(F)
have one of them, with a prior of weight W and w(F), believes in another value s with

    p_in  = h(s) / (N - h(F))
    p_out = (h(s) - 1 + w(s)) / (N - 1 - h(F) + W - w(F)),

which is the group without F under the prior without F: exchangeable people stay exchangeable, and
a Dirichlet distribution given "none of F" is one of the other weights. So every formula, the worst
people she knows, and "at most" by its two ends hold as they are; of any shape the worst has the
weight 1 on each of F as on s. Tried are all sets F of at most so many values.

Only for one prior for all groups and statements about single values; what else is asked for is not
applicable. Implications ("if Ann has s, so has he") are not judged. Whom they are about decides:
for people of *other* groups, with q the probability that none of them has s, a belief p becomes
p / (p + (1 - p) q) with the row and without it, so that her belief rises by less than before and
her doubt falls by at most R1 times R2, whatever q is: epsilon squared covers them. For people of
the same group q itself hangs on the target's row, and what she would have believed of them without
it; that is not cheap for more than one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from sfumato.adversaries.realistic.priors import SharedPrior, ValuePredicate
from sfumato.adversaries.realistic.ratios import Binding, beliefs_by_count, epsilons, worst_shift
from sfumato.numbers import Floats, Ints, tallied_offsets
from sfumato.release.groups import Groups

MOST_SETS = 2_000  # sets of values to rule out


def number_of_sets(width: int, negations: int) -> int:
    """How many sets of values may be ruled out; somebody must be left to have another."""
    return sum(comb(width, many) for many in range(min(negations, width - 1) + 1))


@dataclass(frozen=True)
class Remaining:
    """Groups and prior without some values: group i is group `of[i]`, value v is `codes[v]`."""

    groups: Groups
    prior: SharedPrior
    of: Ints
    codes: Ints


def remaining(groups: Groups, prior: SharedPrior, negations: int) -> Iterator[Remaining]:
    """What is left for every set of values she may rule out, the empty one first."""
    everybody = np.arange(len(groups))
    yield Remaining(groups, prior, everybody, np.arange(groups.width))
    for many in range(1, min(negations, groups.width - 1) + 1):
        for ruled_out in combinations(range(groups.width), many):
            left = _without(groups, prior, ruled_out)
            if left is not None:
                yield left


def _without(groups: Groups, prior: SharedPrior, ruled_out: tuple[int, ...]) -> Remaining | None:
    """None where nobody has any other value, or her prior has none."""
    kept = np.ones(groups.width, dtype=bool)
    kept[list(ruled_out)] = False
    stored = kept[groups.indices]
    of, row = np.unique(groups.row[stored], return_inverse=True)
    less = _prior_without(prior, kept.nonzero()[0].tolist())
    if not len(of) or less is None:
        return None
    number = np.cumsum(kept) - 1
    return Remaining(
        Groups.from_sparse(
            tallied_offsets(row, len(of)),
            number[groups.indices[stored]].astype(np.int32),
            groups.data[stored],
            int(kept.sum()),
            case="single",
        ),
        less,
        of,
        np.flatnonzero(kept),
    )


def _prior_without(prior: SharedPrior, kept: list[int]) -> SharedPrior | None:
    if prior.shares is None:
        gone = prior.width - len(kept)
        totals = tuple(None if total is None else total - gone for total in prior.totals)
        return SharedPrior(len(kept), None, totals)
    ruled_out = [share for code, share in enumerate(prior.shares) if code not in set(kept)]
    left = 1 - sum(ruled_out, Fraction(0))
    if left <= 0:
        return None
    shares = tuple(prior.shares[code] / left for code in kept)
    totals = tuple(None if total is None else total * left for total in prior.totals)
    return SharedPrior(len(kept), shares, totals)


def epsilons_ruling_out(groups: Groups, prior: SharedPrior, negations: int, known: int) -> Floats:
    """The smallest epsilon of each group, whatever so many values she rules out."""
    result = np.ones(len(groups))
    for left in remaining(groups, prior, negations):
        needed = epsilons(left.groups, left.prior, "values", known)
        result[left.of] = np.maximum(result[left.of], needed)
    return result


def worst_ruling_out(
    groups: Groups, group: int, prior: SharedPrior, negations: int, known: int
) -> Binding | None:
    """What binds in one group, exactly, with the values ruled out that make it worst."""
    worst: Binding | None = None
    for left in remaining(groups.take(np.array([group])), prior, negations):
        binding = worst_shift(left.groups, 0, left.prior, "values", known)
        if binding is not None and (worst is None or binding.shift.order > worst.shift.order):
            gone = frozenset(range(groups.width)) - frozenset(left.codes.tolist())
            codes = frozenset(int(left.codes[code]) for code in binding.values.codes)
            predicate = ValuePredicate(codes, binding.values.negated)
            total = prior.totals[left.prior.totals.index(binding.total)]  # of all values
            worst = replace(binding, group=group, values=predicate, total=total, ruled_out=gone)
    return worst


def beliefs_ruling_out(
    groups: Groups, prior: SharedPrior, negations: int, known: int
) -> Iterator[tuple[Ints, Ints, Floats, Floats]]:
    """Group, value, p_out and p_in of each count that is left, for all that may bind."""
    for left in remaining(groups, prior, negations):
        rows, codes = left.of[left.groups.row], left.codes[left.groups.indices]
        for p_out, p_in in beliefs_by_count(left.groups, left.prior, known):
            yield rows, codes, p_out, p_in
