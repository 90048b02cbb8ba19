"""What an adversary is after, and what everybody's own value is worth to each of them; private.

A *gain* g(a, s) >= 0 is what an action a brings her where the victim's true value is s. Believing p
she expects E_p[g(a, .)] = sum over s of p(s) g(a, s) of it, and takes an action that promises most.
Of person i with quasi-identifiers r_i and true value s_i:

    G_i(p) = the mean of g(a, s_i) over the best actions a of p(.|r_i): what she gains
    GT(p)  = sum of G_i(p) / sum of max_a g(a, s_i): her share of all there is to gain
    RGT    = max(0, GT(p_A) - GT(p_L)); i is threatened under p where G_i(p) > 0
    Ti     = E_A[g(a, .)] / E_L[g(a, .)], a being the action that promises the attacker most among
             those that gain anything from s_i (of several, the one the learner expects least of)

So attacker and learner each take the best action of their own, and Ti asks both about the very same
one, hers. Nothing is drawn for ties. Guessing the value, g(a, s) = 1 if a = s and else 0, makes the
modes the best actions, GT the share of people guessed right (one of m modes counts 1/m) and Ti the
quotient p_A / p_L of the true value: the figures of the paper.

Other gains: any of several values named together (`top`), values that are worth more or less than 1
(`worth`), or actions written out with what they gain from each value (`actions`), others gaining
nothing. Where s is a *list* of values, an action names one value, or `top` of them, and gains the
most that one of them is worth if the person has it; whoever has none is told so by naming that.
`whole`: only the whole list counts. Several columns together (joint) are one value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.learnt import Sight
from sfumato.adversaries.relative_threat.model import jackknife
from sfumato.adversaries.relative_threat.people import People, TruePeople
from sfumato.errors import InputError, SfumatoError, did_you_mean, quoted
from sfumato.numbers import Floats, Ints, shortest
from sfumato.schema.domain import Domain

TWICE = 2 * (1 - 1e-12)  # log2 Ti of 1 or more
TIE = 1e-9  # beliefs that differ by less, relatively, are equal
SURE = 3.0  # standard errors within which nothing is taken for decided
NOTHING = "(none)"  # what is guessed of somebody with an empty list
_MOST_ACTIONS = 5_000  # sets of values that may be named where people have lists
_BELIEFS_AT_ONCE = 1 << 20  # beliefs about people held at once

ValueLists = Sequence[Sequence[str]]  # the values of each list


class Guesses(Protocol):
    """Actions on the values of a column. Cases are (place among the tuples, value s)."""

    @property
    def most(self) -> Floats:
        """max_a g(a, s) of every value."""

    def judge(self, beliefs: Floats, place: Ints, s: Ints) -> tuple[Floats, Floats]:
        """What is gained, and by how much an action that gains falls short of the best ones.

        Replicates by cases, from replicates by tuples by values.
        """

    def choose(self, p_a: Floats, p_l: Floats, place: Ints, s: Ints) -> Ints:
        """The attacker's action that Ti is about, a row a case; from tuples by values."""

    def expected(self, beliefs: Floats, place: Ints, actions: Ints) -> Floats:
        """What each case's action promises: replicates by cases."""

    def payoffs(self, action: Ints) -> Floats:
        """What one action gains from every value."""


@dataclass(frozen=True)
class Named:
    """An action names `top` values and gains what the true one is worth, if it is among them."""

    worth: Floats
    top: int = 1

    @property
    def most(self) -> Floats:
        return self.worth

    def judge(self, beliefs: Floats, place: Ints, s: Ints) -> tuple[Floats, Floats]:
        scores = beliefs * self.worth
        top = min(self.top, len(self.worth))
        edge = np.partition(scores, -top, axis=2)[:, :, -top]
        above = scores > (edge * (1 + TIE))[:, :, None]
        tied = (scores >= (edge * (1 - TIE))[:, :, None]) & ~above
        share = (top - above.sum(axis=2)) / tied.sum(axis=2)
        own = scores[:, place, s]
        chance = np.where(tied[:, place, s], share[:, place], above[:, place, s])
        return np.where(own > 0, chance * self.worth[s], 0.0), edge[:, place] - own

    def choose(self, p_a: Floats, p_l: Floats, place: Ints, s: Ints) -> Ints:
        if self.top == 1:
            return s[:, None]
        scores = p_a * self.worth
        order = np.argsort(-scores, axis=1)
        sorted_ = np.take_along_axis(scores, order, axis=1)
        lower = sorted_[:, :-1] - sorted_[:, 1:] > TIE * sorted_[:, :1]
        level = np.zeros(scores.shape, dtype=np.int64)
        np.put_along_axis(level, order[:, 1:], np.cumsum(lower, axis=1), axis=1)
        named = np.lexsort((p_l * self.worth, level), axis=1)[:, : self.top][place]
        missing = ~(named == s[:, None]).any(axis=1)
        named[missing, -1] = s[missing]
        return named

    def expected(self, beliefs: Floats, place: Ints, actions: Ints) -> Floats:
        if self.top == 1:  # what the value is worth is the same to both
            return beliefs[:, place, actions[:, 0]]
        promised: Floats = (beliefs * self.worth)[:, place[:, None], actions].sum(axis=2)
        return promised

    def payoffs(self, action: Ints) -> Floats:
        gained = np.zeros(len(self.worth))
        gained[action] = self.worth[action] if self.top > 1 else 1.0
        return gained


@dataclass(frozen=True)
class Listed:
    """Actions that are written out: `gains[a, s]`."""

    gains: Floats

    @property
    def most(self) -> Floats:
        most: Floats = self.gains.max(axis=0)
        return most

    def judge(self, beliefs: Floats, place: Ints, s: Ints) -> tuple[Floats, Floats]:
        promised = beliefs @ self.gains.T
        best = promised.max(axis=2)
        tied = promised >= (best * (1 - TIE))[:, :, None]
        gained = (tied[:, place] * self.gains.T[s]).sum(axis=2) / tied.sum(axis=2)[:, place]
        reach = np.where(self.gains.T[s] > 0, promised[:, place], -1.0).max(axis=2)
        return np.where(best[:, place] > 0, gained, 0.0), best[:, place] - reach

    def choose(self, p_a: Floats, p_l: Floats, place: Ints, s: Ints) -> Ints:
        allowed = self.gains.T[s] > 0
        promised = np.where(allowed, (p_a @ self.gains.T)[place], -1.0)
        best = promised >= promised.max(axis=1, keepdims=True) * (1 - TIE)
        least = np.where(best & allowed, (p_l @ self.gains.T)[place], np.inf)
        chosen: Ints = np.argmin(least, axis=1)[:, None]
        return chosen

    def expected(self, beliefs: Floats, place: Ints, actions: Ints) -> Floats:
        promised: Floats = (beliefs @ self.gains.T)[:, place, actions[:, 0]]
        return promised

    def payoffs(self, action: Ints) -> Floats:
        gained: Floats = self.gains[int(action[0])]
        return gained


@dataclass(frozen=True)
class Gain:
    """What is gained by which action, as the module says; by default that the value is guessed."""

    top: int = 1
    worth: Mapping[str, float] = field(default_factory=dict, hash=False)
    whole: bool = False
    actions: Mapping[str, Mapping[str, float]] = field(default_factory=dict, hash=False)

    @property
    def plain(self) -> object:
        """As a policy holds it."""
        if self.actions:
            return {action: dict(gained) for action, gained in self.actions.items()}
        if self.worth:
            return dict(self.worth)
        return "list" if self.whole else "value" if self.top == 1 else f"top {self.top}"

    @property
    def words(self) -> str:
        """What somebody is threatened by, as a report says it."""
        if self.actions:
            return "gained by one of the actions listed"
        if self.worth:
            named = ", ".join(f"{value} {shortest(worth)}" for value, worth in self.worth.items())
            return f"guessed right, weighed by what the value is worth ({named}; others 1)"
        if self.whole:
            return "the whole list guessed right"
        return "guessed right" if self.top == 1 else f"among the {self.top} best guesses"

    @property
    def is_default(self) -> bool:
        """Whether it is the paper's."""
        return self == Gain()

    def of(self, values: Domain, lists: ValueLists | None) -> Guesses:
        """The actions on these values, or on lists of some."""
        guesses = self._guesses(values, lists)
        if not guesses.most.any():
            raise InputError(f"gain: no value of {values.name!r} is worth anything; one must be")
        return guesses

    def _guesses(self, values: Domain, lists: ValueLists | None) -> Guesses:
        if self.actions:
            rows = [self._weights(values, gained, 0.0) for gained in self.actions.values()]
            return Listed(np.array(rows))
        if self.whole and lists is None:
            raise InputError(
                f"gain = 'list': people have one value each of {values.name!r}; use 'value', or "
                "name with sensitive a column whose people have several"
            )
        if lists is None or self.whole:
            return Named(self._weights(values, self.worth, 1.0), self.top)
        members = [tuple(listed) or (NOTHING,) for listed in lists]
        known = sorted({value for listed in members for value in listed})
        for value in self.worth:
            _check_value(value, known, values.name)
        if math.comb(len(known), self.top) > _MOST_ACTIONS:
            raise InputError(
                f"gain = 'top {self.top}': {len(known)} values of {values.name!r} can be named in "
                f"more than {_MOST_ACTIONS:,} ways, of people who have several each; name fewer"
            )
        worth = [{value: self.worth.get(value, 1.0) for value in listed} for listed in members]
        return Listed(
            np.array(
                [
                    [max((by.get(value, 0.0) for value in named), default=0.0) for by in worth]
                    for named in combinations(known, min(self.top, len(known)))
                ]
            )
        )

    def _weights(self, values: Domain, given: Mapping[str, float], rest: float) -> Floats:
        weights = np.full(len(values), rest)
        for value, weight in given.items():
            _check_value(value, values.labels, values.name)
            weights[values.code(value)] = weight
        return weights


GainGiven = Gain | str | Mapping[str, float] | Mapping[str, Mapping[str, float]]
_FORMS = "'value', 'top 3', { value = worth }, { action = { value = gain } } or, of lists, 'list'"


def parse_gain(
    given: object, subject: str = "relative threat", error: type[SfumatoError] = InputError
) -> Gain:
    """A gain from what somebody wrote; refused in one line where none can be meant."""
    gain = given if isinstance(given, Gain) else None
    if isinstance(given, str):
        gain = _of_text(given)
    elif isinstance(given, Mapping) and given:
        named = {str(key): value for key, value in given.items()}
        if all(isinstance(value, Mapping) and value for value in named.values()):
            gain = Gain(actions={action: dict(gained) for action, gained in named.items()})
        elif not any(isinstance(value, Mapping) for value in named.values()):
            gain = Gain(worth=named)
    if gain is None or not _is_whole(gain.top) or gain.top < 1:
        raise error(f"{subject}: gain = {quoted(given)} is not allowed; use {_FORMS}")
    for weights in (gain.worth, *gain.actions.values()):
        for value, weight in weights.items():
            number = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not number or not 0 <= weight < math.inf:
                raise error(
                    f"{subject}: gain of {value!r} = {quoted(weight)} is not allowed; it must be a "
                    "number, 0 or more"
                )
    if any(gain.actions.values()) and not any(
        weight for weights in gain.actions.values() for weight in weights.values()
    ):
        raise error(f"{subject}: gain: no action gains anything; one must gain more than 0")
    return gain


def _of_text(text: str) -> Gain | None:
    words = text.split()
    if text in ("value", "list"):
        return Gain(whole=text == "list")
    if len(words) == 2 and words[0] == "top" and words[1].isdecimal():
        return Gain(top=int(words[1]))
    pairs = [part.rpartition("=")[::2] for part in text.split(",")]
    try:
        worth = {name.strip(): float(number) for name, number in pairs}
    except ValueError:
        return None
    return Gain(worth=worth) if len(worth) == len(pairs) and all(worth) else None


def _is_whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _check_value(value: str, known: Sequence[str], column: str) -> None:
    if value not in known:
        raise InputError(
            f"gain names {value!r}, not a value of {column!r}; {did_you_mean(value, known)}"
        )


# -- everybody's own value -------------------------------------------------------------------------


@dataclass(frozen=True)
class Belief:
    """What one of them believes of each case: its probability, and what it gains her.

    `hit` is 1 / modes or 0 where she guesses the value. `error` is the Monte Carlo error of `p`.
    `short` is how far what gains anything lies below the best, at most so far as sampling may be
    off (0: it may be a best one). By replicate: `hits`, what she gains of all people, and `missed`,
    the sum of (1 - p).
    """

    p: Floats
    hit: Floats
    error: Floats
    short: Floats
    hits: Floats
    missed: Floats


@dataclass(frozen=True)
class CaseBeliefs:
    """The beliefs about every case, and Ti with its error; `possible` is all there is to gain.

    `ti_sums`, by replicate, of the people threatened under the attacker's and under the learner's
    belief: how many, how many with Ti of 2 or more, and the sums of log2 Ti, its square and cube.
    """

    people: People
    attacker: Belief
    learner: Belief
    random_worlds: Belief
    ideal: Belief
    ti: Floats
    ti_error: Floats
    ti_sums: Mapping[str, Floats]
    possible: float


def judge_rows(sight: Sight, people: People, guesses: Guesses) -> CaseBeliefs:
    """Work out every belief, block by block of tuples."""
    names = ("attacker", "learner", "random_worlds", "ideal")
    blocks: dict[str, list[Belief]] = {name: [] for name in names}
    ratios: list[Floats] = []
    errors: list[Floats] = []
    sums: dict[str, list[Floats]] = {name: [] for name in names[:2]}
    width = len(sight.ideal.log_pi)
    total = people.codes.shape[1]
    step = max(1, _BELIEFS_AT_ONCE // (width * (1 if sight.learnt.kept is None else 21)))
    for start in range(0, total, step):
        stop = min(start + step, total)
        low, high = np.searchsorted(people.tuples, [start, stop])
        if low == high:
            continue
        asked = np.unique(people.tuples[low:high])
        codes = np.ascontiguousarray(people.codes[:, asked])
        where = people.where.take(asked)
        place = np.searchsorted(asked, people.tuples[low:high])
        s, n = people.s[low:high], people.n[low:high]
        beliefs = sight.beliefs(codes, where)
        for name in names:
            blocks[name].append(_belief(beliefs[name], guesses, place, s, n))
        p_a, p_l = beliefs["attacker"], beliefs["learner"]
        actions = guesses.choose(p_a[0], p_l[0], place, s)
        ratio = _paired(*(guesses.expected(belief, place, actions) for belief in (p_a, p_l)))
        ratios.append(ratio[0])
        errors.append(jackknife(ratio))
        for name, listed in sums.items():
            listed.append(_ti_sums(ratio, n, blocks[name][-1].hit > 0))
    joined = {name: _joined(blocks[name]) for name in names}
    if people.parts is not None:
        joined["ideal"] = _ideal_by_parts(sight, people.parts(), guesses, joined["ideal"])
    return CaseBeliefs(
        people,
        **joined,
        ti=_concatenated(ratios),
        ti_error=_concatenated(errors),
        ti_sums={name: np.sum(listed, axis=0) for name, listed in sums.items() if listed},
        possible=float(guesses.most[people.s] @ people.n),
    )


def _ideal_by_parts(
    sight: Sight, parts: Iterator[TruePeople], guesses: Guesses, by_case: Belief
) -> Belief:
    """With all that the ideal learner gains, who tells people of one case apart."""
    hits, missed, step = np.zeros(1), np.zeros(1), _BELIEFS_AT_ONCE // len(sight.ideal.log_pi)
    for codes, s, n in parts:
        for start in range(0, len(n), max(step, 1)):
            block = slice(start, start + max(step, 1))
            place = np.arange(len(n[block]))
            beliefs = sight.of_ideal(codes[:, block])
            belief = _belief(beliefs, guesses, place, s[block], n[block])
            hits, missed = hits + belief.hits, missed + belief.missed
    unknown = np.full(len(by_case.p), np.nan)
    return replace(by_case, p=unknown, hit=unknown, hits=hits, missed=missed)


def _ti_sums(ratio: Floats, n: Ints, chosen: npt.NDArray[np.bool_]) -> Floats:
    """Replicates by five sums over the chosen cases; a Ti of 0 has no logarithm."""
    ti, weights = ratio[:, chosen], n[chosen].astype(np.float64)
    possible = (ti > 0) & np.isfinite(ti)
    logs = np.log2(np.where(possible, ti, 1.0))
    parts = (possible, ti >= TWICE, logs, logs**2, logs**3)
    summed: Floats = np.stack([part @ weights for part in parts], axis=1)
    return summed


def _paired(p_a: Floats, p_l: Floats) -> Floats:
    """p_A / p_L by replicate; one that is exact goes with every replicate of the other."""
    many = max(len(p_a), len(p_l))
    # The errors of two samplings are independent: what the longer has no partner for stays put.
    a = p_a if len(p_a) == many else np.repeat(p_a[:1], many, axis=0)
    b = p_l if len(p_l) == many else np.repeat(p_l[:1], many, axis=0)
    ratio: Floats = np.divide(a, b, out=np.full(a.shape, np.inf), where=b > 0)
    return ratio


def _belief(beliefs: Floats, guesses: Guesses, place: Ints, s: Ints, n: Ints) -> Belief:
    """What replicates by tuples by values say of cases at these tuples."""
    own = beliefs[:, place, s]
    hit, below = guesses.judge(beliefs, place, s)
    short = np.maximum(below[0] - SURE * jackknife(below), 0.0)
    short[hit[0] > 0] = 0.0
    return Belief(own[0], hit[0], jackknife(own), short, hit @ n, (1 - own) @ n)


def _joined(blocks: list[Belief]) -> Belief:
    none = np.zeros(0)
    if not blocks:
        return Belief(none, none, none, none, np.zeros(1), np.zeros(1))
    return Belief(
        np.concatenate([block.p for block in blocks]),
        np.concatenate([block.hit for block in blocks]),
        np.concatenate([block.error for block in blocks]),
        np.concatenate([block.short for block in blocks]),
        np.sum([block.hits for block in blocks], axis=0),
        np.sum([block.missed for block in blocks], axis=0),
    )


def _concatenated(arrays: list[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *arrays])
