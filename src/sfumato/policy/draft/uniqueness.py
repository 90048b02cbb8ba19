"""Which columns single people out together: measured, not guessed.

A person is singled out by columns when nobody else has her combination of values. The columns
whose names say that outsiders know them are taken first; of the others, greedily, the one that
singles out most further people (as long as nobody is, the one that splits them into most groups),
until none adds enough or nearly everybody is unique. What turns out to add nothing is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Ints
from sfumato.engines.sql import named
from sfumato.policy.draft.sample import Sample

ROWS = 50_000  # people among whom columns are chosen; fewer if there are very many columns
TOLD_ROWS = 1_000_000  # people among whom the chosen ones are measured
GAIN = 0.01  # a column that singles out fewer further people is left alone
ENOUGH = 0.95  # beyond it, what further columns would add cannot be seen
STARTED = 0.05  # as long as fewer people are unique, a column may add none and still be a step
_PAIRED = 12  # columns whose pairs are measured


@dataclass(frozen=True)
class Probe:
    """Codes of some columns for some people, and how many people each row stands for."""

    codes: dict[str, Ints]
    n: Ints
    one_in: int

    @property
    def people(self) -> int:
        return int(self.n.sum())

    @cached_property
    def _keys(self) -> dict[str, npt.NDArray[np.uint64]]:
        """Each code as a fixed random number: their sum is a combination's key (Zobrist 1970).

        Two of 50,000 combinations share a key by chance once in ten billion tables.
        """
        rng = np.random.default_rng(0)
        return {
            name: rng.integers(0, 1 << 64, int(codes.max(initial=0)) + 1, np.uint64)[codes]
            for name, codes in self.codes.items()
        }

    def unique(self, columns: Sequence[str]) -> float:
        """The share of people whose combination of values nobody else has."""
        return self._alone(self._sum(columns))[0]

    def gains(self, columns: Sequence[str], more: Sequence[str]) -> dict[str, tuple[float, int]]:
        """With each further column added: the share of unique people, and the number of groups."""
        before = self._sum(columns)
        return {name: self._alone(before + self._keys[name]) for name in more}

    def _sum(self, columns: Sequence[str]) -> npt.NDArray[np.uint64]:
        total = np.zeros(len(self.n), dtype=np.uint64)
        for name in columns:
            total += self._keys[name]  # wraps around, as it should
        return total

    def _alone(self, key: npt.NDArray[np.uint64]) -> tuple[float, int]:
        # A row that stands for several people stands twice: nobody in it is alone.
        ordered = np.sort(np.concatenate([key, key[self.n > 1]]))
        new = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]])
        return int((new[1:] & new[:-1]).sum()) / max(self.people, 1), int(new[:-1].sum())

    def determines(self, one: str, other: str) -> bool:
        """Whether whoever knows `one` knows `other`: not by chance, but through five rows or more
        of each value, and although `other` varies.
        """
        finer, coarser = self.codes[one], self.codes[other]
        size = int(finer.max(initial=0)) + 1
        commonest = np.bincount(coarser, weights=self.n).max(initial=0)
        if 5 * size > self.people or commonest > 0.95 * self.people:
            return False
        first = np.zeros(size, dtype=np.int64)
        first[finer] = coarser
        return bool((first[finer] == coarser).all())


@dataclass(frozen=True)
class Chosen:
    """The columns that single people out."""

    columns: tuple[str, ...]
    measured: frozenset[str]  # taken for what they add, not for their name
    pair: tuple[str, str] | None  # the two columns that single out most


@dataclass(frozen=True)
class Measured:
    """How far they do: shares of people nobody else is like."""

    unique: float
    without: dict[str, float]  # if a column were left out
    pair: float  # by the strongest pair alone
    one_in: int  # measured in this share of the rows


def probe(
    sample: Sample, columns: dict[str, int], person: int | None = None, rows: int = ROWS
) -> Probe:
    """Fetch codes of the columns (name to place); with `person`, one row a person."""
    most = min(rows, rows * 80 // max(len(columns), 1))
    kept = sample.rows // sample.one_in
    one_in = max(1, -(-kept // most))
    if person is None:
        listed = [named(f"c{place}", f"c{place}") for place in columns.values()]
        table = sample.fetch([*listed, "n"], group=[], one_in=one_in)
        n = table.column("n").to_numpy().astype(np.int64)
    else:
        # MIN makes one row of a person's several, the same on every run.
        listed = [named(f"MIN(c{place})", f"c{place}") for place in columns.values()]
        table = sample.fetch(listed, group=[f"c{person}"], one_in=one_in)
        n = np.ones(table.num_rows, dtype=np.int64)
    codes = {}
    for name, place in columns.items():
        encoded = table.column(f"c{place}").combine_chunks()
        encoded = encoded.dictionary_encode(null_encoding="encode")
        codes[name] = encoded.indices.to_numpy().astype(np.int64)
    return Probe(codes, n, one_in * sample.one_in)


def choose(found: Probe, known: Sequence[str], others: Sequence[str], most: int) -> Chosen:
    """The known columns and those of the others that single out many further people."""
    columns, left = list(known), list(others)
    if not columns:  # a policy needs one quasi-identifier at least
        gains = found.gains([], left)
        columns.append(max(left, key=lambda name: gains[name]))
        left.remove(columns[0])
    share, reachable = found.unique(columns), found.unique([*columns, *left])
    while left and len(columns) < most and share < ENOUGH and reachable - share >= GAIN:
        gains = found.gains(columns, left)
        best = max(left, key=lambda name: gains[name])
        if gains[best][0] - share < GAIN and share >= STARTED:
            break
        columns.append(best)
        left.remove(best)
        share = gains[best][0]
    for name in [name for name in columns if name not in known]:
        rest = [column for column in columns if column != name]
        if rest and share - found.unique(rest) < GAIN:
            columns, share = rest, found.unique(rest)
    return Chosen(tuple(columns), frozenset(columns) - frozenset(known), _pair(found, columns))


def measure(found: Probe, chosen: Chosen) -> Measured:
    """How far the chosen columns single people out."""
    columns = chosen.columns
    return Measured(
        unique=found.unique(columns),
        without={name: found.unique([c for c in columns if c != name]) for name in columns},
        pair=found.unique(chosen.pair) if chosen.pair else 0.0,
        one_in=found.one_in,
    )


def _pair(found: Probe, columns: Sequence[str]) -> tuple[str, str] | None:
    """The two columns that single out most people."""
    widest = sorted(columns, key=lambda name: -int(found.codes[name].max(initial=0)))[:_PAIRED]
    return max(combinations(widest, 2), key=found.unique, default=None)
