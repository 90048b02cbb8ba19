"""The smallest epsilon of each group: ratios over all sets in question and admissible priors.

Vectorised over the stored counts; `worst_shift` answers the same for one group in fractions and
says what binds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.adversaries.realistic.predicates import Predicates, ValueSet, asked, in_question
from sfumato.adversaries.realistic.priors import Prior, RegionalPrior
from sfumato.adversaries.realistic.ratios import Shift, exact_shift, smallest_epsilon
from sfumato.release.groups import Floats, Groups


@dataclass(frozen=True)
class _Weights:
    """A prior at one stubbornness: weight and rest of each stored count, and of any set.

    `total` goes with stored counts, `of_groups` with groups; None is infinite.
    """

    total: Any
    of_groups: Any
    weight: Any
    rest: Any
    of_set: Callable[[ValueSet], tuple[Any, Any]]


def epsilons(
    groups: Groups,
    prior: Prior | RegionalPrior,
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
            found = smallest_epsilon(
                groups.data, sizes, weight, rest, total, known, theorem=theorem
            )
            if predicates == "all" and groups.width > 1:
                if isinstance(prior, Prior) and prior.shares is None:
                    rest, weight = weights.of_set(ValueSet(frozenset({0}), negated=True))
                complement = smallest_epsilon(
                    sizes - groups.data, sizes, rest, weight, total, known, theorem=theorem
                )
                np.maximum(found, complement, out=found)
                result[_rules_out(groups, prior)] = np.inf
            np.maximum(result, groups.max_of(found, 1.0), out=result)
            continue
        for values, where in asked(predicates, groups):
            weight, rest = weights.of_set(values)
            found = smallest_epsilon(
                _inside(groups, values),
                groups.sizes,
                weight,
                rest,
                weights.of_groups,
                known,
                theorem=theorem,
            )
            np.maximum(result, found if where is None else np.where(where, found, 1.0), out=result)
    if isinstance(prior, RegionalPrior):
        result[~judged(prior)] = np.inf
    return result


def beliefs_by_count(
    groups: Groups, prior: Prior | RegionalPrior, known: int
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


def judged(prior: RegionalPrior) -> Any:
    """Groups that somebody outside fits, with a stubbornness that is admissible there."""
    fine = prior.covered > 0
    if prior.at_most and prior.given is not None:
        fine &= float(prior.given) >= prior.sizes / (prior.outside.min(axis=1) + 1)
    return fine


def _inside(groups: Groups, values: ValueSet) -> Any:
    member = np.full(groups.width, values.negated)
    member[list(values.codes)] = not values.negated
    return groups.sum_of(np.where(member[groups.indices], groups.data, 0))


def _rules_out(groups: Groups, prior: Prior | RegionalPrior) -> Any:
    """Groups that show that nobody has some value she held possible."""
    if isinstance(prior, RegionalPrior) or prior.shares is None:
        return groups.distinct < groups.width
    possible = prior.floats[0] > 0
    return groups.sum_of(possible[groups.indices].astype(np.int64)) < int(possible.sum())


def _weights(groups: Groups, prior: Prior | RegionalPrior) -> Iterator[_Weights]:
    if isinstance(prior, RegionalPrior):
        yield from _regional(groups, prior)
        return
    for exact in prior.totals:

        def of_set(values: ValueSet, exact: Fraction | None = exact) -> tuple[float, float]:
            inside, rest = prior.weights(values, exact)
            return float(inside), float(rest)

        total = None if exact is None else float(exact)
        if prior.shares is None:
            weight, rest = of_set(ValueSet(frozenset({0})))
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

        def of_set(values: ValueSet, scale: Any = scale) -> tuple[Any, Any]:
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
    """What binds in one group: the set, the ratio, her beliefs, and her stubbornness."""

    group: int
    values: ValueSet
    shift: Shift
    total: Fraction | None


def worst_shift(
    groups: Groups,
    group: int,
    prior: Prior,
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
