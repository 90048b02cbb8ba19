"""Perturbations by chance: noise on numbers, PRAM, rank swaps; and how each is undone.

Everybody's value is altered by itself (noise, PRAM) or exchanged with somebody's of a near rank.
She who undoes it believes of a target in a group of n people, each as likely to be any of its rows,

    belief(x) = mean over the group's rows i of p(x) P(y_i | x) / sum over x' of p(x') P(y_i | x')

where p is what she believed of everybody before and P the mechanism, which the manifest states. For
rank swaps the table's own values are known (they are all published), and what is weighed is at
which rank the target's own value was.

(PRAM: Gouweleeuw, Kooiman, Willenborg, de Wolf 1998. Rank swapping: Moore 1996; here in blocks of
ranks whose places are drawn, so that the chance of every exchange is known exactly.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import erf, floor, sqrt
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa

from sfumato.errors import InputError, PolicyError, name_some, quoted
from sfumato.numbers import Floats, Ints, fraction, offsets_of, shortest
from sfumato.perturbation.base import (
    NumberPerturbation,
    Perturbation,
    Undone,
    decimals_of,
    finite,
    given_prior,
    positive,
    posterior,
)
from sfumato.schema.domain import Domain
from sfumato.schema.region import MISSING, text_of

_MOST_VALUES = 512  # that somebody weighs who undoes it; of more, neighbours count as one
_FREQUENT = 5  # people who have a value that others may be published with
_MOST_OFFSETS = 64  # of blocks of ranks that she tries, where there are more
_TO_UNDO = "estimates of shares are put right by the inverse of the matrix"
DISTRIBUTIONS = ("laplace", "normal")


@dataclass(frozen=True)
class AddedNoise(NumberPerturbation):
    """To every number one of its own is added, drawn from a Laplace or normal distribution.

    It is no differential privacy: a number far from all others stays far from them.
    """

    kind: ClassVar[str] = "noise"
    by_chance: ClassVar[bool] = True

    scale: float
    """Mean deviation of Laplace, standard deviation of normal noise. Example: `scale = 1000`."""
    distribution: str = "laplace"
    """What noise is drawn. Example: `distribution = "normal"`."""
    step: float | None = None
    """Publish multiples of it, else the numbers' decimals. Example: `step = 100`."""
    least: float | None = None
    """Nothing below is published. Example: `least = 0`."""
    most: float | None = None
    """Nothing above is published. Example: `most = 100000`."""

    def __post_init__(self) -> None:
        positive(self.kind, "scale", self.scale)
        if not isinstance(self.distribution, str) or self.distribution not in DISTRIBUTIONS:
            raise PolicyError(
                f"{self.kind}: distribution = {quoted(self.distribution)} is not known; use "
                f"{' or '.join(map(repr, DISTRIBUTIONS))}"
            )
        if self.step is not None:
            positive(self.kind, "step", self.step)
        for name in ("least", "most"):
            if getattr(self, name) is not None:
                finite(self.kind, name, getattr(self, name))
        if self.least is not None and self.most is not None and self.least >= self.most:
            raise PolicyError(f"{self.kind}: least is not below most")

    def changed(
        self, numbers: Floats, decimals: int, chance: np.random.Generator
    ) -> tuple[Floats, Self, int]:
        step = 10.0**-decimals if self.step is None else self.step
        completed = replace(self, step=int(step) if step == 1 else step)
        draw = chance.laplace if self.distribution == "laplace" else chance.normal
        noisy = np.rint((numbers + draw(0.0, self.scale, len(numbers))) / step) * step
        low = -np.inf if self.least is None else self.least
        high = np.inf if self.most is None else self.most
        ends = [end for end in (step, self.least, self.most) if end is not None]
        return np.clip(noisy, low, high), completed, max(map(decimals_of, ends))

    @property
    def words(self) -> str:
        name = "Laplace" if self.distribution == "laplace" else "normal"
        spread = "scale" if self.distribution == "laplace" else "standard deviation"
        text = f"{name} noise of {spread} {shortest(self.scale)} was added to every number"
        if self.step is not None:
            text += f", told to {shortest(self.step)}"
        ends = [("below", self.least), ("above", self.most)]
        cut = [f"{side} {shortest(end)}" for side, end in ends if end is not None]
        return f"{text}; nothing is published {' or '.join(cut)}" if cut else text

    @property
    def for_recipients(self) -> str:
        factor = 2 if self.distribution == "laplace" else 1
        variance = shortest(float(f"{factor * self.scale**2:.6g}"))
        kept = "kept" if self.least is None and self.most is None else "nearly kept"
        return f"means are {kept}; take {variance} from the variance"

    def undo(
        self, domain: Domain, people: Floats, prior: Mapping[str, float] | None = None
    ) -> Undone:
        published = np.array([_as_number(value) for value in domain.values])
        there = ~np.isnan(published)
        if not there.any():
            return Undone((MISSING,), np.ones((len(published), 1)))
        numbers, read = np.unique(published[there], return_inverse=True)
        having: Floats = np.bincount(read, people[there]).astype(np.float64)
        step = self.step or 1.0
        steps = np.arange(np.rint(numbers[0] / step), np.rint(numbers[-1] / step) + 1)
        if prior is not None:
            labels = [value for value in prior if value != MISSING]
            likelihood = self.chances(numbers, np.array([_as_number(value) for value in labels]))
        elif len(steps) <= _MOST_VALUES:
            labels = [shortest(round(float(times) * step, decimals_of(step))) for times in steps]
            likelihood = self.chances(numbers, steps * step)
        else:
            run, labels = _runs(list(map(shortest, numbers)), having)
            read, having = run[read], np.bincount(run, having).astype(np.float64)
            likelihood = self._chances_of_runs(numbers, run)
        missing = not there.all()
        row_of = np.full(len(published), len(likelihood))
        row_of[there] = read
        if missing:  # stays missing
            likelihood = np.pad(likelihood, ((0, 1), (0, 1)))
            likelihood[-1, -1] = 1.0
            having = np.append(having, people[~there].sum())
            labels = [*labels, MISSING]
        belief = posterior(likelihood, having, given_prior(prior, tuple(labels)))
        return Undone(tuple(labels), belief[row_of])

    def _chances_of_runs(self, numbers: Floats, run: Ints) -> Floats:
        """How likely a number is published in each run, of one in the middle of each."""
        first = np.flatnonzero(np.diff(run, prepend=-1))
        cuts = (numbers[first[1:]] + numbers[first[1:] - 1]) / 2
        middle = np.bincount(run, numbers) / np.bincount(run)
        below = self._up_to(cuts[:, None] - middle)
        return np.diff(below, axis=0, prepend=0.0, append=1.0)

    def chances(self, published: Floats, true: Floats) -> Floats:
        """P(y | x): how likely each published number is to come of each true one."""
        half = (self.step or 1.0) / 2
        below, above = published - half, published + half
        if self.most is not None:
            above = np.where(published >= self.most, np.inf, above)
            below = np.where(published >= self.most, _cut(self.most, half), below)
        if self.least is not None:
            below = np.where(published <= self.least, -np.inf, below)
            above = np.where(published <= self.least, _cut(self.least, half, up=True), above)
        chances = self._up_to(above[:, None] - true) - self._up_to(below[:, None] - true)
        return np.maximum(chances, 0.0)

    def _up_to(self, noise: Floats) -> Floats:
        scaled = noise / self.scale
        if self.distribution == "normal":
            summed: Floats = 0.5 * (1 + np.vectorize(erf, otypes=[float])(scaled / sqrt(2)))
            return summed
        tail = 0.5 * np.exp(-np.abs(scaled))
        return np.where(scaled < 0, tail, 1 - tail)


def _runs(numbers: Sequence[str], people: Floats) -> tuple[Ints, list[str]]:
    """The run of each sorted number, and what runs are called; each its own, if they are few.

    As many people in each: who is sure of one of several numbers is sure of no more of each, and
    where most people are near each other a run is as narrow as it can be.
    """
    run = np.arange(len(numbers))
    if len(numbers) > _MOST_VALUES:
        ranks = np.cumsum(people) - people
        run = np.unique(ranks * _MOST_VALUES // people.sum(), return_inverse=True)[1]
    first = np.flatnonzero(np.diff(run, prepend=-1))
    last = np.append(first[1:], len(numbers)) - 1
    named = [
        numbers[a] if a == b else f"{numbers[a]} to {numbers[b]}"
        for a, b in zip(first.tolist(), last.tolist(), strict=True)
    ]
    return run, named


def _cut(end: float, half: float, *, up: bool = False) -> float:
    """Where the rounded numbers begin that an end stands for."""
    step = 2 * half
    last = floor(end / step) if up else -floor(-end / step)
    return last * step + half if up else last * step - half


def _as_number(value: object) -> float:
    if value is None or value == MISSING:
        return float("nan")
    try:
        return float(str(value))
    except ValueError:
        raise InputError(f"{quoted(value)} is no number, and noise was added to numbers") from None


RowChances = Mapping[str, float]


@dataclass(frozen=True)
class Pram(Perturbation):
    """Every value becomes another one by the chances of a matrix, each by itself.

    Either by `matrix`, or by `stay` and `draw`. Without `draw` others are drawn from the column
    itself, so that how frequent each value is stays as it is, on average ("invariant"). These
    shares depend on the data and are published, so people are counted in fives for them, without
    values that fewer than five have.
    """

    kind: ClassVar[str] = "pram"
    by_chance: ClassVar[bool] = True

    matrix: Mapping[str, RowChances] | None = None
    """For each value the chances of others. Example: `matrix = { F = { F = 0.9, M = 0.1 } }`."""
    stay: float | None = None
    """The chance that a value is kept, below 1. Example: `stay = 0.8`."""
    draw: RowChances | None = None
    """What others become, by shares. Example: `draw = { F = 0.5, M = 0.5 }` with `stay = 0.8`."""

    def __post_init__(self) -> None:
        if (self.matrix is None) == (self.stay is None):
            raise PolicyError(f"{self.kind}: give either matrix or stay")
        if self.matrix is not None:
            if self.draw is not None:
                raise PolicyError(f"{self.kind}: draw goes with stay, not with matrix")
            if not isinstance(self.matrix, Mapping) or not self.matrix:
                raise PolicyError(
                    f"{self.kind}: matrix = {quoted(self.matrix)} is not allowed; give every value "
                    "the chances of what it is published as"
                )
            for value, row in self.matrix.items():
                self._check_shares(f"the chances of {quoted(value)}", row)
        elif (
            isinstance(self.stay, bool)
            or not isinstance(self.stay, int | float)
            or not 0 <= self.stay < 1
        ):
            raise PolicyError(
                f"{self.kind}: stay = {quoted(self.stay)} is not allowed; use a chance of 0 or "
                "more and below 1"
            )
        if self.draw is not None:
            self._check_shares("the shares of draw", self.draw)

    def _check_shares(self, shares: str, row: object) -> None:
        good = isinstance(row, Mapping) and all(
            isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1
            for share in row.values()
        )
        if not good:
            raise PolicyError(f"{self.kind}: {shares} are not allowed; use numbers from 0 to 1")
        assert isinstance(row, Mapping)
        total = sum((fraction(share) for share in row.values()), Fraction(0))
        if total != 1:
            raise PolicyError(f"{self.kind}: {shares} sum to {shortest(total)}, not to 1")

    def apply(
        self, column: str, cells: pa.Array, chance: np.random.Generator
    ) -> tuple[pa.Array, Self]:
        coded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode("encode")
        values = coded.dictionary.to_pylist()
        texts = [None if value is None else text_of(value) for value in values]
        own = coded.indices.to_numpy()
        completed = self._completed(texts, np.bincount(own, minlength=len(texts)))
        unknown = [text for text in texts if text is not None and not completed._knows(text)]
        if unknown:
            raise InputError(
                f"{self.kind}: column {column!r} has {len(unknown):,} values that the matrix has "
                f"no row for: {name_some(unknown)}"
            )
        known = {text: value for text, value in zip(texts, values, strict=True) if text is not None}
        outcomes = list(dict.fromkeys([*known, *completed._published()]))
        place = {text: number for number, text in enumerate(outcomes)}
        published = np.full(len(own), -1, dtype=np.int64)
        drawn = chance.random(len(own))
        for code, text in enumerate(texts):
            if text is None:
                continue
            rows = np.flatnonzero(own == code)
            row = completed.row(text)
            last = np.cumsum([row[outcome] for outcome in row])
            chosen = np.minimum(np.searchsorted(last, drawn[rows], side="right"), len(row) - 1)
            published[rows] = np.array([place[outcome] for outcome in row])[chosen]
        if all(outcome in known for outcome in outcomes):
            labels = pa.array([known[outcome] for outcome in outcomes], coded.dictionary.type)
        else:
            labels = pa.array(outcomes, pa.string())
        return labels.take(pa.array(published, mask=published < 0)), completed

    def _completed(self, texts: list[str | None], people: Ints) -> Self:
        if self.matrix is not None or self.draw is not None:
            return self
        there = {text: int(n) for text, n in zip(texts, people, strict=True) if text is not None}
        return replace(self, draw=_rounded_shares(there))

    def _knows(self, text: str) -> bool:
        return self.matrix is None or text in self.matrix

    def _published(self) -> list[str]:
        if self.matrix is not None:
            return [text for row in self.matrix.values() for text in row]
        return list(self.draw or ())

    def row(self, text: str) -> dict[str, float]:
        """What a value is published as, by chance."""
        if self.matrix is not None:
            return {to: float(share) for to, share in self.matrix[text].items()}
        assert self.stay is not None
        row = {to: (1 - self.stay) * float(share) for to, share in (self.draw or {}).items()}
        row[text] = row.get(text, 0.0) + float(self.stay)
        return row

    @property
    def words(self) -> str:
        if self.matrix is not None:
            return (
                f"each of {len(self.matrix)} values is published as another one by the chances of "
                "a stated matrix (PRAM)"
            )
        return (
            f"every value is kept with chance {shortest(self.stay or 0)} and otherwise drawn from "
            "stated shares (PRAM)"
        )

    @property
    def for_recipients(self) -> str:
        if self.matrix is not None:
            return _TO_UNDO
        if not self.stay:
            return "a published value says nothing of the person's own one"
        keep = shortest(self.stay)
        return f"a published share s was (s - (1 - {keep}) x draw) / {keep}; manifest.json has draw"

    def undo(
        self, domain: Domain, people: Floats, prior: Mapping[str, float] | None = None
    ) -> Undone:
        labels = [MISSING if value is None else text_of(value) for value in domain.values]
        named = list(self.matrix if self.matrix is not None else (self.draw or {}))
        known = [label for label in labels if label != MISSING and self._knows(label)]
        true = list(dict.fromkeys([*known, *named, *(prior or {})]))
        true = [label for label in true if self._knows(label)]
        missing = any(value is None for value in domain.values)
        place = {label: number for number, label in enumerate(labels)}
        likelihood = np.zeros((len(labels), len(true) + missing))
        for column, label in enumerate(true):
            for to, chance in self.row(label).items():
                if to in place:
                    likelihood[place[to], column] += chance
        values = tuple(true)
        if missing:
            likelihood[place[MISSING]] = 0.0
            likelihood[place[MISSING], -1] = 1.0
            values = (*values, MISSING)
        return Undone(values, posterior(likelihood, people, given_prior(prior, values)))


def _rounded_shares(people: Mapping[str, int]) -> dict[str, float]:
    """Shares that sum to 1 exactly, of people counted in fives, of values that five or more have.

    They are published, and tell no single person; each of them is above 0.
    """
    fives = {
        value: (n + _FREQUENT // 2) // _FREQUENT for value, n in people.items() if n >= _FREQUENT
    }
    if not fives:
        raise InputError("pram: no value is frequent enough to be drawn; state the shares in draw")
    among = sum(fives.values())
    unit = 10 ** (len(str(among)) + 1)
    wanted = {value: Fraction(n * unit, among) for value, n in fives.items()}
    parts = {value: floor(part) for value, part in wanted.items()}
    # What is left goes to those who lost most, of equals by name.
    order = sorted(wanted, key=lambda value: (parts[value] - wanted[value], value))
    for value in order[: unit - sum(parts.values())]:
        parts[value] += 1
    return {value: parts[value] / unit for value in sorted(parts)}


@dataclass(frozen=True)
class RankSwap(NumberPerturbation):
    """Numbers are exchanged between people whose ranks differ by less than `percent` of all.

    The sorted numbers are cut into blocks of that many ranks, the first cut at a place that is
    drawn; within a block people are paired at random and exchange their numbers (an odd one keeps
    hers). So the column's values stay what they are, whoever has them.
    """

    kind: ClassVar[str] = "rank-swap"
    by_chance: ClassVar[bool] = True

    percent: float
    """Of all ranks, above 0 and at most 100. Example: `percent = 5`."""
    ranks: int | None = None
    """A block's size, which is filled in. Example: `ranks = 50`."""

    def __post_init__(self) -> None:
        positive(self.kind, "percent", self.percent)
        if self.percent > 100:
            raise PolicyError(
                f"{self.kind}: percent = {shortest(self.percent)} is not allowed; use at most 100"
            )
        good = isinstance(self.ranks, int) and not isinstance(self.ranks, bool) and self.ranks >= 2
        if self.ranks is not None and not good:
            raise PolicyError(f"{self.kind}: ranks = {quoted(self.ranks)} is not allowed")

    def changed(
        self, numbers: Floats, decimals: int, chance: np.random.Generator
    ) -> tuple[Floats, Self, int]:
        total = len(numbers)
        ranks = 2 * int(total * float(fraction(self.percent) / 100) / 2)
        if ranks < 2:
            raise InputError(
                f"{self.kind}: percent = {shortest(self.percent)} of {total:,} people is fewer "
                "than two, so nobody could exchange; use more"
            )
        by_rank = np.lexsort((chance.random(total), numbers))
        offset = int(chance.integers(ranks))
        swapped = numbers.copy()
        for block in _blocks(total, ranks, offset):
            mixed = by_rank[block][chance.permutation(block.stop - block.start)]
            pairs = mixed[: len(mixed) // 2 * 2].reshape(-1, 2)
            swapped[pairs[:, 0]], swapped[pairs[:, 1]] = numbers[pairs[:, 1]], numbers[pairs[:, 0]]
        return swapped, replace(self, ranks=ranks), decimals

    @property
    def words(self) -> str:
        within = f"less than {shortest(self.percent)} percent of all ranks"
        return f"numbers were exchanged between people whose ranks differ by {within}"

    @property
    def for_recipients(self) -> str:
        return "over everybody in the table it is as it was; ties to other columns are weaker"

    def undo(
        self, domain: Domain, people: Floats, prior: Mapping[str, float] | None = None
    ) -> Undone:
        if prior is not None:
            raise InputError(f"{self.kind}: all values are published, so there is no prior to give")
        published = np.array([_as_number(value) for value in domain.values])
        labels = tuple(MISSING if value is None else text_of(value) for value in domain.values)
        order = np.argsort(published, kind="stable")  # NaN, the missing one, comes last
        there = order[(people[order] > 0) & ~np.isnan(published[order])]
        run, named = _runs([labels[code] for code in there], people[there])
        having = np.bincount(run, weights=people[there]).astype(np.int64)
        belief = np.zeros((len(labels), len(named) + 1))
        belief[there, :-1] = swap_chances(having, self.ranks or 2)[run]
        if (missing := np.isnan(published)).any():
            belief[missing, -1] = 1.0
            return Undone((*named, MISSING), belief)
        return Undone(tuple(named), belief[:, :-1])


def _blocks(total: int, ranks: int, offset: int) -> list[slice]:
    """The ranks 0 to total - 1 in blocks, of which the first ends at the offset."""
    ends = [*range(offset, total, ranks), total]
    begins = [0, *ends[:-1]]
    return [slice(a, b) for a, b in zip(begins, ends, strict=True) if a < b]


def swap_chances(people: Ints, ranks: int) -> Floats:
    """chances[y, x]: who is published with the y-th number had the x-th one of her own.

    So many `people` have each number, in their order. The offset is drawn from all, or where there
    are many from some at equal distances; where there are many numbers, neighbours count as one.
    """
    total, width = int(people.sum()), len(people)
    first = offsets_of(people)
    exchanged = np.zeros((width, width))
    step = max(1, -(-ranks // _MOST_OFFSETS))
    offsets = range(0, ranks, step)
    for offset in offsets:
        for block in _blocks(total, ranks, offset):
            size = block.stop - block.start
            low = int(np.searchsorted(first, block.start, side="right")) - 1
            high = int(np.searchsorted(first, block.stop, side="left"))
            here = np.minimum(first[low + 1 : high + 1], block.stop)
            n = (here - np.maximum(first[low:high], block.start)).astype(np.float64)
            part = np.outer(n, n)
            if size % 2 == 0:  # nobody keeps her own
                part -= np.diag(n)
                part /= size - 1
            else:
                part /= size
            exchanged[low:high, low:high] += part
    chances: Floats = exchanged / len(offsets) / people[:, None]
    return chances
