"""t-closeness (Li, Li, Venkatasubramanian 2007).

The adversary knows how the sensitive values are distributed over everybody and sees how they are
distributed in her target's group. The further the two lie apart, the more she learns; the earth
mover's distance between them must be at most t. Three ground distances: "equal" (any two values
are 1 apart), "ordered" (positions among the values that occur, over their number less one) and a
hierarchy (level of the lowest common label over the height).

All three distances are norms of (group - reference), hence convex: with one fixed reference two
groups that are close stay close when merged.

Which epsilon it gives (Machanavajjhala, Gehrke, Goetz, VLDB 2009, Lemma 1 corrected): whoever knows
the table's distribution and is not moved by any group (class III, exactly infinite stubbornness)
believes in a value of share p with at most p + t where groups are t-close with equal distances. So
t-closeness gives epsilon = max over values of (p + t) / p and (1 - p) / (1 - p - t), and no less,
since a group may have p + t of any value; none where p + t reaches 1, since that group is certain.
As printed the lemma is false where t exceeds a share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cache
from math import inf, nextafter
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.adversaries.random_worlds import NAME as RANDOM_WORLDS
from sfumato.counts.leaves import leaves_as_values
from sfumato.criteria.base import GroupCriterion, Measure, parameter, summarize
from sfumato.criteria.count_rules import CountRule, RuleKind, each_value, flows, near
from sfumato.criteria.exact import decide, sign
from sfumato.criteria.steps import SHARES, Ladder
from sfumato.criteria.whole_table import MissingPeople, holds_of
from sfumato.errors import InputError, PolicyError, quoted
from sfumato.numbers import Bools, Codes, Floats, fraction, shortest
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.recipes import Taxonomy
from sfumato.table import Table

_UNSURE = 1e-9  # below the bound, where what is rounded must stay


@dataclass(frozen=True)
class TCloseness(GroupCriterion):
    """Every group's values are distributed as in the whole table, up to a distance t."""

    name: ClassVar[str] = "t-closeness"
    plain: ClassVar[str] = "values of every group are within {0.t:.4g} of everybody's"
    adversary: ClassVar[str] = RANDOM_WORLDS
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False
    reads_reference: ClassVar[bool] = True
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("t", SHARES),)

    t: float
    """The largest distance, from 0 (the same) to 1. Example: `t = 0.3`."""
    _: KW_ONLY
    distance: str | Hierarchy = "equal"
    """How far values are from each other: "equal", all alike; "ordered", by their ranks; in Python
    a hierarchy of the column, in a policy "hierarchy" for the one that the schema gives it, by how
    far up they meet. Example: `distance = "ordered"`.
    """

    def __post_init__(self) -> None:
        parameter(self.name, "t", self.t, least=0, most=1)
        named = isinstance(self.distance, str) and self.distance in ("equal", "ordered")
        if not named and not isinstance(self.distance, Hierarchy):
            raise PolicyError(
                f"{self.name}: distance {quoted(self.distance)} is not known; use 'equal', "
                "'ordered' or a hierarchy of the sensitive column"
            )

    @property
    def required(self) -> str:
        ground = self.distance if isinstance(self.distance, str) else self.distance.kind
        return f"t ≤ {shortest(self.t)} ({ground})"

    def inapplicable(self, groups: Groups) -> str:
        reason = super().inapplicable(groups)
        if not reason and groups.reference.sum() == 0:
            return "the reference distribution is empty"
        domain = groups.domain
        unordered = self.distance == "ordered" and domain is not None and not domain.is_ordered
        if not reason and unordered:
            return (
                f"{groups.attribute!r} has no order; declare its values in order in domains, or "
                "use distance 'equal'"
            )
        return reason

    @property
    def survives_undoing(self) -> bool:
        return self.distance == "equal"

    def holds_whatever_missing(self, groups: Groups, missing: MissingPeople) -> bool:
        if missing.closed:
            return super().holds_whatever_missing(groups, missing)
        if self.distance == "equal":  # the sum of what a group has more of than the table
            return all(holds_of(self, whole) for whole in missing.unseen(groups))
        if self.t >= 1:
            return True
        # Nobody is further from a group than 1, and values that are new lengthen no other way: a
        # hierarchy's they may only make higher, and of an order's they double the longest step.
        share, ordered = missing.share(groups), self.distance == "ordered"
        apart = _ordered(groups, missing.people) if ordered else self.judge(groups)[0].per_group
        return bool(((1 - share) * apart + share < self.t - _UNSURE).all())

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        exact: Callable[[Groups, list[Fraction]], Fraction]
        if self.distance == "equal":
            measured, exact = _equal(groups), _equal_exact
        elif self.distance == "ordered":
            measured, exact = _ordered(groups), _ordered_exact
        else:
            assert isinstance(self.distance, Hierarchy)
            steps = _steps(groups, self.distance)
            measured = _nested(groups, steps)
            exact = _nested_exact(steps)
        bound = fraction(self.t)

        @cache  # only asked where a group comes near the bound
        def reference() -> list[Fraction]:
            weights = [fraction(weight) for weight in groups.reference.tolist()]
            total = sum(weights, Fraction(0))
            return [weight / total for weight in weights]

        def compare(g: int) -> int:
            size = int(groups.sizes[g])
            gap = [-share for share in reference()]
            for place in range(groups.indptr[g], groups.indptr[g + 1]):
                gap[groups.indices[place]] += Fraction(int(groups.data[place]), size)
            return sign(exact(groups, gap) - bound)

        measured, holds = decide(groups, measured, self.t, "at_most", compare)
        return summarize(groups, measured, "at_most"), holds

    def lost_below(self, groups: Groups, measured: Floats) -> Floats:
        """Distances are convex; nobody is further from all than one who has the rarest value.

        Other distances are not where a value has no place.
        """
        furthest = 1.0
        if self.distance == "equal":
            furthest -= float(groups.reference_share.min(initial=1.0))
        elif (groups.reference[groups.indices] == 0).any():
            return super().lost_below(groups, measured)
        if self.t >= furthest:
            return super().lost_below(groups, measured)
        lost: Floats = np.maximum((measured - self.t) / (furthest - self.t), 0.0)
        return lost * groups.sizes.astype(np.float64)

    def count_rules(self, everybody: Groups) -> Sequence[CountRule]:
        if self.t >= 1:  # further apart no two distributions are
            return []
        expected, width = everybody.reference_share, everybody.width
        if self.distance == "equal":
            return [near(RuleKind.DISTANCE, each_value(width), expected, 2 * self.t)]
        if self.distance == "ordered":
            return flows(everybody.reference > 0, expected, self.t)
        assert isinstance(self.distance, Hierarchy)
        steps = _steps(everybody, self.distance)
        sums = [
            np.flatnonzero(step == label).tolist() for step in steps for label in np.unique(step)
        ]
        shares = np.array([expected[codes].sum() for codes in sums])
        return [near(RuleKind.DISTANCE, sums, shares, 2 * self.t * max(len(steps), 1))]

    def tightened(self, share: float, everybody: Groups) -> Self:
        return replace(self, t=self.t * share)


def _equal(groups: Groups) -> Floats:
    """Half the sum of |p - q|; values absent from the group contribute q each."""
    expected = groups.reference_share[groups.indices]
    present = groups.sum_of(np.abs(groups.share - expected) - expected)
    return np.maximum((present + 1.0) / 2.0, 0.0)


def _equal_exact(groups: Groups, gap: list[Fraction]) -> Fraction:  # noqa: ARG001
    return sum((abs(g) for g in gap), Fraction(0)) / 2


def _ordered(groups: Groups, further: int = 0) -> Floats:
    """Positions count among the values the reference has; unseen ones would dilute distances.

    `further`: so many more may stand between any two, where distances are then the largest.
    """
    places = np.flatnonzero(groups.reference > 0)
    result = np.zeros(len(groups))
    for start, stop in groups.blocks():
        gap = groups.dense(start, stop) / groups.sizes[start:stop, None] - groups.reference_share
        moved = np.abs(np.cumsum(gap[:, places], axis=1)[:, :-1])
        work = moved.sum(axis=1) + further * moved.max(axis=1, initial=0.0)
        result[start:stop] = work / max(len(places) - 1 + further, 1)
    # A value the reference lacks has no position: as far from all others as can be.
    result[groups.row[groups.reference[groups.indices] == 0]] = 1.0
    return result


def _ordered_exact(groups: Groups, gap: list[Fraction]) -> Fraction:
    places = [i for i, weight in enumerate(groups.reference) if weight > 0]
    placed = set(places)
    if any(gap[i] > 0 for i in range(len(gap)) if i not in placed):
        return Fraction(1)
    moved, work = Fraction(0), Fraction(0)
    for place in places[:-1]:
        moved += gap[place]
        work += abs(moved)
    return work / max(len(places) - 1, 1)


def _steps(groups: Groups, hierarchy: Hierarchy) -> list[Codes]:
    """The label of each value on every level below the root.

    A label that all values share is the root, whatever a file calls it: distances are relative to
    the height, and a root told twice would shrink them all.
    """
    domain = groups.domain or Domain(groups.attribute or "sensitive", "categorical", groups.values)
    if isinstance(hierarchy, Taxonomy):
        hierarchy = leaves_as_values(hierarchy, domain)
    levels = [level.codes for level in hierarchy.bind(domain).levels[:-1]]
    return [codes for codes in levels if (codes != codes[0]).any()]


def _nested(groups: Groups, steps: list[Codes]) -> Floats:
    """On a tree of even depth each level carries 1 / (2 height) per unit of surplus."""
    result = np.zeros(len(groups))
    for start, stop in groups.blocks():
        gap = groups.dense(start, stop) / groups.sizes[start:stop, None] - groups.reference_share
        for codes in steps:
            member = np.zeros((groups.width, int(codes.max()) + 1))
            member[np.arange(groups.width), codes] = 1.0
            result[start:stop] += np.abs(gap @ member).sum(axis=1)
    return result / max(2 * len(steps), 1)


def _nested_exact(steps: list[Codes]) -> Callable[[Groups, list[Fraction]], Fraction]:
    def exact(groups: Groups, gap: list[Fraction]) -> Fraction:  # noqa: ARG001
        work = Fraction(0)
        for codes in steps:
            surplus = [Fraction(0)] * (int(codes.max()) + 1)
            for code, g in zip(codes.tolist(), gap, strict=True):
                surplus[code] += g
            work += sum((abs(s) for s in surplus), Fraction(0))
        return work / max(2 * len(steps), 1)

    return exact


# Which epsilon a t gives, and back.

SharesGiven = Groups | Release | Table | Mapping[str, float] | Sequence[float]


def epsilon_of_closeness(t: float, shares: SharesGiven) -> float:
    """The epsilon that t-closeness (equal distances) gives; infinite where it gives none.

    Against an adversary of class III who knows the table's distribution and whom nothing moves:
    `RealisticAdversary("table", inf, at_most=False)`. `shares`: how the sensitive values are
    distributed, as shares or counts, or a Table, Release or Groups about one attribute.

    >>> epsilon_of_closeness(0.2, {"flu": 0.5, "HIV": 0.5})
    1.6666666666666667
    >>> epsilon_of_closeness(0.2, [0.9, 0.1])
    inf
    """
    parameter("epsilon_of_closeness", "t", t, least=0, most=1)
    far = fraction(t)
    listed = _listed(shares)
    if len(listed) < 2:  # nothing but one value is possible: everybody knew
        return 1.0
    if any(p + far >= 1 for p in listed):
        return inf
    exact = max(max((p + far) / p, (1 - p) / (1 - p - far)) for p in listed)
    epsilon = float(exact)
    return epsilon if fraction(epsilon) >= exact else nextafter(epsilon, inf)


def closeness_of_epsilon(epsilon: float, shares: SharesGiven) -> float:
    """The largest t whose t-closeness gives this epsilon: the inverse of `epsilon_of_closeness`.

    >>> closeness_of_epsilon(2, {"flu": 0.5, "HIV": 0.5})
    0.25
    """
    parameter("closeness_of_epsilon", "epsilon", epsilon, least=1)
    factor = fraction(epsilon)
    listed = _listed(shares)
    if len(listed) < 2:
        return 1.0
    exact = min(min(p * (factor - 1), (1 - p) * (1 - 1 / factor)) for p in listed)
    t = float(exact)
    return t if fraction(t) <= exact else nextafter(t, 0.0)


def _listed(shares: SharesGiven) -> list[Fraction]:
    """The shares of the values that somebody has."""
    weights: Sequence[Any]
    if isinstance(shares, Table):
        if len(shares.counts.sensitive) != 1:
            raise InputError("shares: the table has not one sensitive column; give its counts")
        weights = shares.counts.by_value(0).tolist()
    elif isinstance(shares, Release | Groups):
        groups = shares.groups if isinstance(shares, Release) else shares
        weights = groups.reference.tolist()
    else:
        weights = list(shares.values() if isinstance(shares, Mapping) else shares)
    fine = all(isinstance(w, Real) and 0 <= float(w) < inf for w in weights)
    if not fine or not any(weights):
        raise InputError("shares must be numbers, 0 or more, and some above 0: shares or counts")
    total = sum(map(fraction, weights), Fraction(0))
    return [fraction(weight) / total for weight in weights if weight > 0]
