"""How far a release moves a belief (Machanavajjhala, Gehrke, Goetz, VLDB 2009, Theorems 1 and 2).

Of a group of N people A have one of the values of a set S. Her prior about them is a Dirichlet
distribution of weight `weight` on S and `rest` on all other values, `total` together. She knows b
people of the group. If her target is in the release, she believes "the target has one of S" with

    p_in  = A / (N - b)                        (the worst b people are those without S)
    p_out = (A - 1 + weight) / (N - 1 + total)  when the target (who has one of S) is left out.

R1 = p_in / p_out and R2 = (1 - p_out) / (1 - p_in) are what the release does to her belief and to
her doubt; the smallest epsilon is the larger of both, and at least 1. A prior of infinite weight
does not move: p_out is her share of S. The prior is whole in each group (it is not divided among
them).

Errata. Theorem 1 as printed has N + total in R1 and one more in the numerator of R2: `theorem`
gives that form, which is only sound when every present value has a weight of at least 1. Its left
side turns negative for N <= b: such groups are refused first. For sets, Eq. 9 subtracts |S| where
the minimum is at A - 1.

`worst_shift` answers for one group in fractions; the smallest epsilon of all groups is vectorised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.realistic.priors import (
    Predicates,
    RegionalPrior,
    SharedPrior,
    ValuePredicate,
    asked,
    in_question,
)
from sfumato.numbers import Bools, Floats
from sfumato.release.groups import Groups


def smallest_epsilon(
    inside: npt.NDArray[Any],
    size: npt.NDArray[Any],
    weight: Any,
    rest: Any,
    total: Any,
    known: int,
    *,
    theorem: bool = False,
) -> Floats:
    """The smallest epsilon of each (group, set); `total` None: infinite, the weights are shares.

    1 where nobody has the set, and where she was certain of it before. Infinite where she knows
    everybody without it, and where her prior rules out what somebody has.
    """
    left = size - known
    others = size - inside
    if total is None:
        believed, doubted, certain = weight, rest, rest == 0
    else:
        # As printed, a weight below 1 counts as 1 in R1.
        least = np.maximum(weight, 1) if theorem else weight
        believed = (inside - 1 + least) / (size + (total if theorem else total - 1))
        doubted = (others + rest + int(theorem)) / (size - 1 + total)
        certain = others + rest == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        epsilon: Floats = np.maximum(inside / (left * believed), doubted * left / (left - inside))
    np.maximum(epsilon, 1.0, out=epsilon)
    cornered = left <= inside
    if cornered.any():
        epsilon[cornered] = np.inf
        epsilon[cornered & certain] = 1.0
    epsilon[np.broadcast_to(np.asarray(weight) <= 0, epsilon.shape)] = np.inf
    if known:
        epsilon[left <= 0] = np.inf
    epsilon[inside == 0] = 1.0
    return epsilon


@dataclass(frozen=True)
class Shift:
    """What the release does to her belief in one set of values in one group, exactly.

    `epsilon` None is infinity; `ratio` is "R1" or "R2", whichever binds. `believed_in` and
    `believed_out` are p_in and p_out.
    """

    epsilon: Fraction | None
    ratio: str
    believed_in: Fraction
    believed_out: Fraction

    @property
    def order(self) -> tuple[bool, Fraction]:
        """Infinity last."""
        return self.epsilon is None, self.epsilon or Fraction(0)


@lru_cache(maxsize=4096)  # most values of a wide column are as frequent as others
def exact_shift(
    inside: int,
    size: int,
    weight: Fraction,
    rest: Fraction,
    total: Fraction | None,
    known: int,
    *,
    theorem: bool = False,
) -> Shift:
    """The same for one group and set, in fractions; somebody must have the set."""
    left, others = size - known, size - inside
    if total is None:
        believed, doubted, certain = weight, rest, rest == 0
        p_out = weight
    else:
        least = max(weight, Fraction(1)) if theorem else weight
        believed = (inside - 1 + least) / (size + total - (0 if theorem else 1))
        doubted = (others + rest + int(theorem)) / (size - 1 + total)
        certain = others + rest == 0
        p_out = (inside - 1 + weight) / (size + total - 1)
    p_in = Fraction(inside, left) if left > inside else Fraction(1)
    if left <= 0 or weight <= 0:
        return Shift(None, "R1" if weight <= 0 else "R2", p_in, p_out)
    if left <= inside:
        return Shift(Fraction(1) if certain else None, "R2", p_in, p_out)
    raised = p_in / believed
    cleared = doubted * left / (left - inside)
    ratio = "R1" if raised >= cleared else "R2"
    return Shift(max(raised, cleared, Fraction(1)), ratio, p_in, p_out)


# The smallest epsilon of each group: ratios over all sets in question and admissible priors.
#
# Vectorised over the stored counts; `worst_shift` answers the same for one group in fractions and
# says what binds.


@dataclass(frozen=True)
class _Weights:
    """A prior at one stubbornness: weight and rest of each stored count, and of any set.

    `total` goes with stored counts, `of_groups` with groups; None is infinite.
    """

    total: Any
    of_groups: Any
    weight: Any
    rest: Any
    of_set: Callable[[ValuePredicate], tuple[Any, Any]]


def epsilons(
    groups: Groups,
    prior: SharedPrior | RegionalPrior,
    predicates: Predicates,
    known: int,
    *,
    theorem: bool = False,
) -> Floats:
    """The smallest epsilon of each group."""
    result = np.ones(len(groups))
    sizes = groups.sizes[groups.row]
    for weights in _weights(groups, prior):
        total, weight, rest = weights.total, weights.weight, weights.rest
        if isinstance(predicates, str):
            epsilon = smallest_epsilon(
                groups.data, sizes, weight, rest, total, known, theorem=theorem
            )
            if predicates == "all" and groups.width > 1:
                if isinstance(prior, SharedPrior) and prior.shares is None:
                    rest, weight = weights.of_set(ValuePredicate(frozenset({0}), negated=True))
                complement = smallest_epsilon(
                    sizes - groups.data, sizes, rest, weight, total, known, theorem=theorem
                )
                np.maximum(epsilon, complement, out=epsilon)
                result[_rules_out(groups, prior)] = np.inf
            np.maximum(result, groups.max_of(epsilon, 1.0), out=result)
            continue
        for values, where in asked(predicates, groups):
            weight, rest = weights.of_set(values)
            epsilon = smallest_epsilon(
                _inside(groups, values),
                groups.sizes,
                weight,
                rest,
                weights.of_groups,
                known,
                theorem=theorem,
            )
            np.maximum(
                result, epsilon if where is None else np.where(where, epsilon, 1.0), out=result
            )
    if isinstance(prior, RegionalPrior):
        result[~judged(prior)] = np.inf
    return result


def beliefs_by_count(
    groups: Groups, prior: SharedPrior | RegionalPrior, known: int
) -> Iterator[tuple[Floats, Floats]]:
    """p_out and p_in of each stored count, for each stubbornness that may bind."""
    inside, sizes = groups.data, groups.sizes[groups.row]
    left = np.maximum(sizes - known, 1)
    p_in = np.minimum(inside / left, 1.0)
    for weights in _weights(groups, prior):
        if weights.total is None:
            p_out = np.broadcast_to(weights.weight, p_in.shape)
        else:
            p_out = (inside - 1 + weights.weight) / (sizes - 1 + weights.total)
        yield p_out, p_in


def judged(prior: RegionalPrior) -> Bools:
    """Groups that somebody outside fits, with a stubbornness that is admissible there."""
    fine: Bools = prior.covered > 0
    if prior.at_most and prior.given is not None:
        fine &= float(prior.given) >= prior.sizes / (prior.outside.min(axis=1) + 1)
    return fine


def _inside(groups: Groups, values: ValuePredicate) -> Any:
    member = np.full(groups.width, values.negated)
    member[list(values.codes)] = not values.negated
    return groups.sum_of(np.where(member[groups.indices], groups.data, 0))


def _rules_out(groups: Groups, prior: SharedPrior | RegionalPrior) -> Any:
    """Groups that show that nobody has some value she held possible, of the table's or beyond."""
    if isinstance(prior, RegionalPrior):
        return (groups.distinct < groups.width) | (prior.further > 0)
    if prior.shares is None:
        return groups.distinct < groups.width
    possible = prior.floats[0] > 0
    absent = groups.sum_of(possible[groups.indices].astype(np.int64)) < int(possible.sum())
    return absent | (sum(prior.shares) < 1)


def _weights(groups: Groups, prior: SharedPrior | RegionalPrior) -> Iterator[_Weights]:
    if isinstance(prior, RegionalPrior):
        yield from _regional(groups, prior)
        return
    for exact in prior.totals:

        def of_set(values: ValuePredicate, exact: Fraction | None = exact) -> tuple[float, float]:
            inside, rest = prior.weights(values, exact)
            return float(inside), float(rest)

        total = None if exact is None else float(exact)
        if prior.shares is None:
            weight, rest = of_set(ValuePredicate(frozenset({0})))
            yield _Weights(total, total, weight, rest, of_set)
        else:
            scaled = prior.floats if total is None else prior.floats * total
            weights = scaled[0][groups.indices], scaled[1][groups.indices]
            yield _Weights(total, total, *weights, of_set)


def _regional(groups: Groups, prior: RegionalPrior) -> Iterator[_Weights]:
    size = prior.sizes
    counts = prior.outside + 1
    most = np.full(len(groups), float(prior.given)) if prior.given else size.astype(np.float64)
    tried: list[Floats | None] = [None] if prior.infinite else [most]
    if prior.at_most:
        least = size / counts.min(axis=1)
        tried.append(least if prior.infinite else np.minimum(most, least))
    for total in tried:
        scale = 1.0 / size if total is None else total / size

        def of_set(values: ValuePredicate, scale: Any = scale) -> tuple[Any, Any]:
            inside = counts[:, sorted(values.codes)].sum(axis=1)
            parts = inside * scale, (size - inside) * scale
            return parts[::-1] if values.negated else parts

        row = groups.row
        cells = counts[row, groups.indices]
        yield _Weights(
            None if total is None else total[row],
            total,
            cells * scale[row],
            (size[row] - cells) * scale[row],
            of_set,
        )


@dataclass(frozen=True)
class Binding:
    """What binds in one group: the set, the ratio, her beliefs, and her stubbornness.

    `ruled_out`: the values she knows the target has not. `impossible`: she sees what she held to be
    impossible, so that there is no saying what she believes.
    """

    group: int
    values: ValuePredicate
    shift: Shift
    total: Fraction | None
    ruled_out: frozenset[int] = frozenset()
    impossible: bool = False


def worst_shift(
    groups: Groups,
    group: int,
    prior: SharedPrior,
    predicates: Predicates,
    known: int,
    *,
    theorem: bool = False,
) -> Binding | None:
    """The set and stubbornness that bind in one group, exactly; None if nobody has any set."""
    size = int(groups.sizes[group])
    counts = dict(
        zip(
            groups.indices[groups.indptr[group] : groups.indptr[group + 1]].tolist(),
            groups.data[groups.indptr[group] : groups.indptr[group + 1]].tolist(),
            strict=True,
        )
    )
    worst: Binding | None = None
    for values in in_question(predicates, groups, group):
        named = sum(counts.get(code, 0) for code in values.codes)
        inside = size - named if values.negated else named
        if inside == 0:
            continue
        for total in prior.totals:
            weight, rest = prior.weights(values, total)
            shift = exact_shift(inside, size, weight, rest, total, known, theorem=theorem)
            if worst is None or shift.order > worst.shift.order:
                worst = Binding(group, values, shift, total)
    return worst
