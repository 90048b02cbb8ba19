"""The privacy skyline (Chen, LeFevre, Ramakrishnan: Privacy Skyline: Privacy with Multidimensional
Adversarial Knowledge, VLDB 2007): how sure somebody becomes who knows a few facts.

Somebody looks for her target in a release, and knows facts about him, his neighbours and his
family. (l, k, m) says how much:

    single values      l values the target does not have; the values of k other people; m people of
                       whom each, having the target value, would have given it to the target
    several values     l values that come with the target value if the target has them; k other
    (set or multiset)  people who do not have the target value; m family members, as above

The k people are none of the family: whoever knows the value of somebody of whom she also knows that
he shares it with the target knows more than (k, m) says.

`breach_probability` is the surest she can become that the target has the value, over every target,
every choice of people and every choice of facts, all reconstructions of the table being equally
likely to her. A release is safe at a point if it lies strictly below the confidence c.

One pass over the groups keeps five running minima (see `kernel.py`); the odds against her are

    min(own, bare * kin_aided, aided * kin)        and the breach probability 1 / (1 + odds)

Sets and multisets are those of the paper: a group publishes its values, not whose they are
together. A release that publishes each person's list whole (`Groups.lists`: every release of rows)
has a form of its own (see `whole_lists`), with sets and multisets alike: a person has a value or
not. It is exact but where finding her best facts takes too long: then what is told is an upper
bound, `at_most`.

Multiset counts labelled occurrences: two people and {A, A} give 3/4. Errata. A group without the
target value has V = 1 even where k + m reach its size (not 0 / 0). Theorem 4 (merging groups never
raises the probability) is true of single values only: with sets, {1 person: B, C} and {3 people:
A} at (2, 0, 0) give 1/3 apart and 16/43 merged. For Fig. 6 see `criteria.skyline_privacy`.

What floating point cannot decide is decided in fractions, at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from math import comb, inf, prod
from typing import Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.base import ALTERED
from sfumato.counts.counts import rank_rows
from sfumato.errors import InputError, did_you_mean, quoted
from sfumato.numbers import Bools, Floats, Ints, fraction
from sfumato.release.groups import Groups
from sfumato.release.release import Release

NAME = "acquaintance"
AnyCase = Literal["single", "set", "multiset", "lists"]
CASES: tuple[AnyCase, ...] = get_args(AnyCase)
SINGLE, SET, MULTISET, LISTS = range(4)
SkylineForm = Literal["single", "set", "multiset", "lists", "rows"]  # rows: no form of groups alone
CASE_WORDS: dict[SkylineForm, str] = {
    "single": "one value a person",
    "set": "several values a person, published as one bag a group",
    "multiset": "several values a person, repeated ones counted, published as one bag a group",
    "lists": "several values a person, each person's list published whole",
    "rows": "several rows a person, published one by one",
}
OWN, BARE, KIN_AIDED, AIDED, KIN = range(5)  # the factors of a group; told in forms
NEAR = 1e-9
_WORTH_A_THREAD = 1 << 21  # counts to look at
_LONG = 16  # a list is looked at so often, for each value of a group
_FEW = 8  # questions up to which a pass for each is faster than one for all
_BEYOND_ALL_ODDS = Fraction(10**300)  # no group has so many people; fits a float
MOST_KNOWN = 10**9  # more facts than people; keeps sums of counts within 64 bits


def columns(targets: npt.ArrayLike, points: npt.ArrayLike) -> tuple[Ints, Ints]:
    """P questions as the compiled code takes them: value codes, and P rows of (l, k, m)."""
    codes = np.ascontiguousarray(targets, dtype=np.int64).reshape(-1)
    known = np.ascontiguousarray(points, dtype=np.int64).reshape(-1, 3)
    return codes, known


@dataclass(frozen=True)
class Bounds:
    """Factors [..., P, 5]: the least they can be, and what facts that were found make of them.

    Only with whole lists may they differ, where it took too long to find her best facts.
    """

    least: Floats
    reached: Floats

    @property
    def at_most(self) -> npt.NDArray[np.bool_]:
        """Of minima: whether the breach probability is an upper bound only, [..., P]."""
        return np.asarray(odds(self.reached) != odds(self.least))


class BreachProbability(float):
    """How sure she can become; `at_most`: no surer than that, and perhaps less sure."""

    at_most: bool

    def __new__(cls, value: float, *, at_most: bool = False) -> Self:
        made = super().__new__(cls, value)
        made.at_most = at_most
        return made

    def __repr__(self) -> str:
        return f"{'at most ' if self.at_most else ''}{float(self)!r}"

    __str__ = __repr__


def factor_bounds(
    groups: Groups,
    targets: npt.ArrayLike,
    points: npt.ArrayLike,
    case: AnyCase,
    start: int = 0,
    stop: int | None = None,
) -> Bounds:
    """The five factors of groups start..stop for P (target value, point) columns: [B, P, 5].

    `targets` are P value codes, `points` P rows of (l, k, m). In the order OWN, BARE, KIN_AIDED,
    AIDED, KIN. The minimum over the groups of each is what `breach` takes.
    """
    stop = len(groups) if stop is None else stop
    codes, known = columns(targets, points)
    out = np.tile(nothing(len(codes)), (2, stop - start, 1, 1))
    _run(groups, codes, known, case, start, stop, out, reduce=False)
    return Bounds(out[0], out[1] if case == "lists" else out[0])


def minima(groups: Groups, targets: npt.ArrayLike, points: npt.ArrayLike, case: AnyCase) -> Floats:
    """The least that the minimum of each factor over all groups can be: [P, 5]."""
    return minima_bounds(groups, targets, points, case).least


def minima_bounds(
    groups: Groups, targets: npt.ArrayLike, points: npt.ArrayLike, case: AnyCase
) -> Bounds:
    """The minimum of each factor over all groups: [P, 5]; memory does not grow with the groups."""
    codes, known = columns(targets, points)
    cells = len(groups.data) if groups.lists is None else len(groups.lists.data) * _LONG
    workers = min(os.cpu_count() or 1, 1 + cells * len(codes) // _WORTH_A_THREAD, len(groups) or 1)
    ends = np.linspace(0, len(groups), workers + 1).astype(np.int64).tolist()

    def run(part: int) -> Floats:
        out = np.tile(nothing(len(codes)), (2, 1, 1, 1))
        _run(groups, codes, known, case, ends[part], ends[part + 1], out, reduce=True)
        return out

    if workers == 1:
        parts = [run(0)]
    else:
        with ThreadPoolExecutor(workers) as pool:
            parts = list(pool.map(run, range(workers)))
    least: Floats = np.concatenate(parts, axis=1).min(axis=1)
    return Bounds(least[0], least[1] if case == "lists" else least[0])


def nothing(columns: int) -> Floats:
    """The minima of no group at all: where a running minimum begins."""
    out = np.full((columns, 5), np.inf)
    out[:, [KIN_AIDED, KIN]] = 1.0
    return out


def odds(least: Floats) -> Floats:
    """The odds against her (the paper's NR) from minima [..., 5]; infinite: the value is absent."""
    apart = least[..., BARE] * least[..., KIN_AIDED]
    together: Floats = np.minimum(least[..., OWN], least[..., AIDED] * least[..., KIN])
    return np.minimum(together, apart)


def breach(least: Floats) -> Floats:
    """The breach probability from minima [..., 5]."""
    certainty: Floats = 1.0 / (1.0 + odds(least))
    return certainty


def odds_at(confidence: Fraction) -> Fraction:
    """The odds that a confidence leaves: a release is safe iff its odds are strictly above."""
    return min((1 - confidence) / confidence, _BEYOND_ALL_ODDS)


def safe(
    groups: Groups,
    targets: npt.ArrayLike,
    points: npt.ArrayLike,
    confidences: Sequence[Fraction],
    case: AnyCase,
    least: Floats | None = None,
) -> tuple[Floats, Bools]:
    """The breach probability of each column and whether it is strictly below its confidence.

    Near the bound it is decided in fractions, on the groups that attain the minima; values there
    lie on their side of the confidence. What cannot be decided is not safe.
    """

    codes, known = columns(targets, points)
    least = minima(groups, codes, known, case) if least is None else least
    against, certainty = odds(least), breach(least)
    bounds = np.array([float(odds_at(c)) for c in confidences])
    good = against > bounds
    near = np.abs(against - bounds) <= NEAR * bounds  # a bound of 0: only odds of 0 are in doubt
    for p in np.flatnonzero(near & np.isfinite(against)).tolist():
        bound = odds_at(confidences[p])
        sign = compare(groups, int(codes[p]), known[p], case, least[p], bound)
        good[p] = sign is not None and sign > 0
        if sign == 0:
            certainty[p] = float(confidences[p])
    limits = np.array([float(c) for c in confidences])
    certainty = np.where(
        good, np.minimum(certainty, np.nextafter(limits, 0)), np.maximum(certainty, limits)
    )
    return certainty, good


def breach_probability(
    groups: Groups | Release,
    value: str,
    l: int,  # noqa: E741  # the paper's name
    k: int,
    m: int,
    case: AnyCase | None = None,
    *,
    sensitive: str | None = None,
) -> BreachProbability:
    """How sure she can become that somebody has `value`, knowing (l, k, m); 0 if nobody has it.

    `case` is that of the groups unless given; `sensitive` names the column of a release. A number
    whose `at_most` says whether it is an upper bound only.
    """
    judged = groups_of(groups, sensitive)
    point = check_point((l, k, m))
    if isinstance(groups, Release) and judged.beside.unlinked is not None:
        from sfumato.adversaries.skyline.unlinked_rows import judged_rows

        rows = judged_rows(groups, judged, case)
        certainty, exact = rows.ask(code_of(judged, value), point)
        return BreachProbability(certainty.max(initial=0.0), at_most=not exact)
    given = case_of(judged, case)
    bounds = minima_bounds(judged, [code_of(judged, value)], [point], given)
    return BreachProbability(breach(bounds.least)[0], at_most=bool(bounds.at_most[0]))


def groups_of(subject: Groups | Release, sensitive: str | None = None) -> Groups:
    """The groups in question."""
    if isinstance(subject, Groups):
        return subject
    if not isinstance(subject, Release):
        raise InputError(f"Groups or a Release are needed, not {type(subject).__name__}")
    return subject.groups if sensitive is None else subject.groups_for(sensitive)


def unfit_for_facts(groups: Groups) -> str:
    """Why facts are not worked out where rows are one by one, or values altered by chance."""
    if groups.beside.altered_by_chance:
        return ALTERED
    if groups.beside.unlinked is None:
        return ""
    return (
        "rows of one person are published one by one and lie in several groups; what facts about "
        "people tell is asked of a release, which knows whose they are, and not of its groups alone"
    )


def case_of(groups: Groups, case: AnyCase | None = None) -> AnyCase:
    """Whether people have one value each, a set, a multiset, or lists that are published whole."""
    if why := unfit_for_facts(groups):
        raise InputError(why)
    if case is None:
        return "lists" if groups.linked else groups.case
    check_case(case)
    if case == "single" and not groups.single_valued:
        raise InputError(
            "people have several values each: case must be 'set', 'multiset' or 'lists'"
        )
    if case == "lists" and not groups.linked:
        raise InputError(
            "case 'lists' needs each person's list, and these groups know counts of values only; "
            "make them with Groups.of_lists"
        )
    if case == "set" and (groups.largest > groups.sizes).any():
        raise InputError("a value occurs more often than a group has people: case is 'multiset'")
    return case


def check_case(case: object) -> AnyCase:
    """One of the forms in which people's values may be published."""
    for known in CASES:
        if isinstance(case, str) and case == known:
            return known
    raise InputError(f"case = {quoted(case)} is not known; {did_you_mean(case, CASES)}")


def code_of(groups: Groups, value: str) -> int:
    """The code of a value, by its label."""
    if not isinstance(value, str) or value not in groups.values:
        raise InputError(unknown_value(groups, value))
    return groups.values.index(value)


def unknown_value(groups: Groups, value: str) -> str:
    """What to say of a value that is none; the others are not listed, for rare ones may tell."""
    hint = did_you_mean(value, groups.values)
    if not hint.startswith("did you mean"):
        hint = f"it has {groups.width:,} others"
    return (
        f"{quoted(value)} is not a value of {groups.attribute or 'the sensitive column'!r}; {hint}"
    )


def check_point(point: Sequence[object]) -> tuple[int, int, int]:
    """(l, k, m) as whole numbers that are not negative."""
    if isinstance(point, str) or not isinstance(point, Sequence) or len(point) != 3:
        raise InputError(f"a point {quoted(point)} is not (l, k, m): three whole numbers")
    for name, known in zip("lkm", point, strict=True):
        whole = isinstance(known, int | np.integer) and not isinstance(known, bool)
        if not whole or not 0 <= known <= MOST_KNOWN:  # type: ignore[operator]
            raise InputError(
                f"{name} = {quoted(known)} is not allowed; it must be a whole number from 0"
            )
    l, k, m = (int(known) for known in point)  # type: ignore[call-overload]  # noqa: E741
    return l, k, m


def check_confidence(confidence: object) -> Fraction:
    """A confidence as the decimal somebody wrote."""
    number = isinstance(confidence, int | float | Fraction) and not isinstance(confidence, bool)
    if not number or not 0 < confidence <= 1:  # type: ignore[operator]
        raise InputError(
            f"confidence = {quoted(confidence)} is not allowed; it must be above 0 and at most 1"
        )
    return fraction(confidence)  # type: ignore[arg-type]


def _run(
    groups: Groups,
    codes: Ints,
    known: Ints,
    case: AnyCase,
    start: int,
    stop: int,
    out: Floats,
    *,
    reduce: bool,
) -> None:
    """Into `out[0]`, and with whole lists `out[1]`: the least factors, and those reached."""
    if case == "lists":
        from sfumato.adversaries.skyline import whole_lists

        stored_lists = whole_lists.stored(groups)
        looks = whole_lists.MOST_LOOKS
        whole_lists.fill(stored_lists, start, stop, codes, known, looks, out, reduce)
        return
    from sfumato.adversaries.skyline import few_groups

    if case == "single" and few_groups.fits(groups, known):
        few_groups.fill(groups, start, stop, codes, known, out[0], reduce)
        return
    from sfumato.adversaries.skyline.kernel import fill, scan  # Numba is slow to import

    stored = (groups.indptr, groups.indices, groups.data, groups.sizes, start, stop, groups.width)
    number = CASES.index(case)
    if reduce and len(codes) <= _FEW:
        for p, code in enumerate(codes):
            scan(*stored, code, known[p], number, out[0, 0, p])
    elif len(codes):
        fill(*stored, codes, known, number, out[0], reduce)


# The closed forms of `kernel.py` in fractions, for what floating point cannot decide.
#
# Only groups whose factor lies within 1e-9 of the minimum are looked at, and of equal ones one.
# Numbers of more than a hundred thousand bits are not worked out: undecided, which is unsafe.

Odds = Fraction | float  # a fraction, or infinity
MOST_BITS = 100_000
MOST_SHAPES = 10_000


def doubt(n: int, a: int, others: Iterable[int], k: int, case: AnyCase) -> Odds:
    """T(l, k), `others` being the counts of the l most frequent other values, or c(l) of lists."""
    if a == 0:
        return inf
    if case == "single":
        return Fraction(max(n - a - sum(others) - k, 0), a)
    if case == "lists":
        (left,) = others
        return Fraction(left * (n - a - k), a * (n - a)) if n - a > k else Fraction(0)
    if case == "set":
        spared = prod((Fraction(n - o, n) for o in others), start=Fraction(1))
        return Fraction(max(n - a - k, 0), a) * spared
    if k >= n - 1:
        return Fraction(0)
    stay, all_ = (n - k - 1) ** a, (n - k) ** a
    return Fraction(stay, all_ - stay) * Fraction(n - 1, n) ** sum(others)


def kin(n: int, a: int, m: int, k: int, case: AnyCase) -> Fraction:
    """V(m, k)."""
    if a == 0 or m == 0:
        return Fraction(1)
    people = n - k
    if case == "multiset":
        return Fraction(max(people - m, 0), people) ** a if people > 0 else Fraction(0)
    return Fraction(comb(people - a, m), comb(people, m)) if people - a >= m else Fraction(0)


def exact_factor(factor: int, shape: Ints, k: int, m: int, case: AnyCase) -> Odds:
    """One of the five factors of a group of a shape: n, a and its largest other counts, or c(l)."""
    n, a, *others = (int(number) for number in shape)
    if factor == OWN:
        left = doubt(n, a, others, k, case)
        return left * kin(n, a, m, k + 1, case) if left > 0 else left
    if factor in (BARE, AIDED):
        return doubt(n, a, others, k if factor == AIDED else 0, case)
    return kin(n, a, m, k if factor == KIN_AIDED else 0, case)


def combine(least: Callable[[int], Odds]) -> Odds:
    """The odds from the minimum of each factor."""
    return min(least(OWN), least(BARE) * least(KIN_AIDED), least(AIDED) * least(KIN))


def compare(
    groups: Groups, target: int, point: Ints, case: AnyCase, least: Floats, bound: Fraction
) -> int | None:
    """The sign of (odds - bound) at one column, or None if it is too large to be worked out."""
    shapes = nearest(groups, target, point, case, least)
    return compare_shapes(shapes, int(point[1]), int(point[2]), case, bound)


def compare_shapes(
    nearest_shapes: Mapping[int, Ints], k: int, m: int, case: AnyCase, bound: Fraction
) -> int | None:
    """The same from the shapes that attain the minimum of each factor."""
    orders: dict[int, Odds] = {}
    for factor, shapes in nearest_shapes.items():
        if len(shapes) > MOST_SHAPES or (_bits(shapes, m, case) > MOST_BITS).any():
            return None
        orders[factor] = inf
        for shape in shapes:
            orders[factor] = min(orders[factor], exact_factor(factor, shape, k, m, case))
            if orders[factor] == 0:  # none is below, and of a raw table nearly all are 0
                break
    gap = combine(orders.__getitem__) - bound
    return (gap > 0) - (gap < 0)


def nearest(
    groups: Groups, target: int, point: Ints, case: AnyCase, least: Floats
) -> dict[int, Ints]:
    """The distinct shapes of the groups that attain the minimum of each factor, or nearly so."""
    kept: list[list[Ints]] = [[] for _ in range(5)]
    limits = least * (1 + NEAR)
    for start, stop in groups.blocks():
        block = factor_bounds(groups, [target], [point], case, start, stop).least[:, 0]
        for factor in range(5):
            nearest_groups = start + np.flatnonzero(block[:, factor] <= limits[factor])
            kept[factor].append(
                _distinct(_shapes(groups, nearest_groups, target, int(point[0]), case))
            )
    return {factor: _distinct(np.concatenate(kept[factor])) for factor in range(5)}


def _shapes(groups: Groups, group_numbers: Ints, target: int, facts: int, case: AnyCase) -> Ints:
    if case == "lists":
        from sfumato.adversaries.skyline.whole_lists import MOST_LOOKS, spared_lists, stored

        return spared_lists(stored(groups), group_numbers, target, np.array([facts]), MOST_LOOKS)[0]
    from sfumato.adversaries.skyline.few_groups import shapes_of

    return shapes_of(groups, group_numbers, target, min(facts, groups.width))


def _distinct(shapes: Ints) -> Ints:
    """Every shape once; millions of groups may attain a minimum."""
    if not len(shapes):
        return shapes
    _, first = rank_rows(shapes.T, [int(column.max()) + 1 for column in shapes.T])
    return shapes[first]


def _bits(shapes: Ints, m: int, case: AnyCase) -> Floats:
    """How large the numbers of each shape's fractions get, roughly."""
    n, others = shapes[:, 0], shapes[:, 2:]
    powers = shapes[:, 1:].sum(axis=1) if case == "multiset" else others.shape[1] + np.minimum(m, n)
    bits: Floats = powers * np.log2(n + 1.0)
    return bits
