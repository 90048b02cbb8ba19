"""What of somebody's rows one pseudonym links: all, or pieces of lengths that enough people have.

Lengths that too few people have are cut: a person's rows become two or more pseudonyms of lengths
that enough people have, each length once for a person, so that no group holds two pieces of one
person and k counts people. Rows that are left over are not published. Where it is asked whether
somebody is in the release at all nobody's rows are cut, since how many people's were is published
and may be so of one of the population alone; who has such a length is then left out.

Stands apart: `linked.py` makes records of these pieces, however they came about.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from sfumato.anonymizers.base import Task
from sfumato.errors import NoSafeRelease
from sfumato.numbers import Ints
from sfumato.release.linked import rows_of

LONGEST = 12  # rows of a pseudonym: beyond, hardly anything could be told of them all


def cut(
    lengths: Ints, fewest: int, unfit: frozenset[int] = frozenset(), seed: int = 0
) -> list[list[int]]:
    """The lengths of the pieces that people's rows are cut into, no two of one person's alike.

    From the longest down: whoever has that many rows left, or more, takes a piece of them where at
    least `fewest` people do. `unfit` lengths are not used. What is left over is in no piece. Where
    that would leave out somebody altogether, others are drawn to publish a single row as she does.
    """
    left = lengths.copy()
    pieces: list[list[int]] = [[] for _ in lengths]
    for length in range(min(int(left.max(initial=0)), LONGEST), 0, -1):
        here = np.flatnonzero(left >= length)
        if length not in unfit and len(here) >= fewest:
            for person in here.tolist():
                pieces[person].append(length)
            left[here] -= length
    _join_single_rows(pieces, fewest, np.random.default_rng(seed))
    return pieces


def _join_single_rows(pieces: list[list[int]], fewest: int, chance: np.random.Generator) -> None:
    """Give whoever has no piece one of a single row, and enough others with her, if there are."""
    alone = [person for person, own in enumerate(pieces) if not own]
    missing = fewest - len(alone)
    if not alone or missing <= 0:
        return
    used = Counter(length for own in pieces for length in own)
    commonest, people = max(used.items(), key=lambda item: item[1], default=(0, 0))
    if people < fewest + missing:
        return
    donors = [person for person, own in enumerate(pieces) if commonest in own]
    for person in alone:
        pieces[person] = [1]
    for place in chance.permutation(len(donors))[:missing].tolist():
        own = pieces[donors[place]]
        own[own.index(commonest)] = 1


def uncut(lengths: Ints, fewest: int, unfit: frozenset[int] = frozenset()) -> list[list[int]]:
    """All rows of whoever has as many as enough people, and none of anybody else's."""
    people = np.bincount(lengths)
    return [
        [length] if length <= LONGEST and length not in unfit and people[length] >= fewest else []
        for length in lengths.tolist()
    ]


@dataclass(frozen=True)
class Pieces:
    """`piece[i]` numbers the pseudonym of row i, whatever is left over besides; `length` of each.

    Left-over rows are pieces of length 0.
    """

    piece: Ints
    length: Ints

    @classmethod
    def of(cls, task: Task, unfit: frozenset[int] = frozenset(), *, whole: bool = False) -> Pieces:
        """Somebody's rows, which are in order, become pieces one after another; `whole`: one piece.

        An error where more people are left out than the policy allows.
        """
        rows = np.bincount(rows_of(task.table).person)
        fewest = max([1, *(criterion.fewest_people for criterion in task.criteria)])
        pieces = uncut(rows, fewest, unfit) if whole else cut(rows, fewest, unfit, task.seed)
        out = sum(not own for own in pieces)
        if out > task.suppression * len(pieces):
            mended = "also if others' rows are cut"
            if whole:
                mended = "and rows are not cut where it is asked who is in the release"
            raise NoSafeRelease(
                f"{out:,} of {len(pieces):,} people have numbers of rows that fewer than "
                f"{fewest:,} people share, {mended}; allow suppression, or ask for fewer"
            )
        lengths, sizes = [], []
        for own, total in zip(pieces, rows.tolist(), strict=True):
            over = total - sum(own)
            lengths += [*own, *([0] if over else [])]
            sizes += [*own, *([over] if over else [])]
        piece = np.repeat(np.arange(len(sizes)), sizes)
        return cls(piece.astype(np.int64), np.array(lengths, dtype=np.int64))

    @property
    def pseudonym(self) -> Ints:
        """Of each row, -1 where it is left over."""
        kept = self.length > 0
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        return number[self.piece]
