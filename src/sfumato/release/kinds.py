"""Kinds of groups in memory: groups that count the same, judged once.

Of a raw table nearly everybody is alone, and a million groups are a few hundred kinds. Criteria
and adversaries that read nothing of a group but its counts are asked about one group of each kind,
which stands for all of its kind (`Groups.multiplicity`), as they are where a table is larger than
memory. Kinds are in the order of their first groups, so that whoever takes the first of equals
takes the same group either way.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from sfumato.numbers import Ints
from sfumato.release.beside import Beside
from sfumato.release.groups import Groups

_BLOCK = 1 << 16  # groups that are looked through at once
_MANY = 20_000  # groups: fewer are judged one by one as quickly
_OTHER_FIELDS = tuple(beside for beside in fields(Beside) if beside.name != "regions")
_LIKES = 4  # groups a kind: with fewer nothing is gained


@dataclass(frozen=True)
class GroupKinds:
    """One group of each kind, with the number of its likes; `of` is the kind of every group."""

    groups: Groups
    of: Ints

    def first_of(self, kind: int, most: int) -> Ints:
        """The first groups of a kind, at most so many."""
        groups, start = np.zeros(0, dtype=np.int64), 0
        while len(groups) < most and start < len(self.of):
            here = np.flatnonzero(self.of[start : start + _BLOCK] == kind) + start
            groups, start = np.append(groups, here), start + _BLOCK
        return groups[:most]


def kinds_of(groups: Groups) -> GroupKinds | None:
    """Groups by kind; None where they are told apart by more than counts, or little is gained."""
    if len(groups) < _MANY or groups.lists is not None or not groups.single_valued:
        return None
    if any(getattr(groups.beside, beside.name) is not None for beside in _OTHER_FIELDS):
        return None
    of, first = groups.kinds_of_counts
    if _LIKES * len(first) > len(groups):
        return None
    beside = Beside(multiplicity=np.bincount(of, minlength=len(first)))
    return GroupKinds(groups.take(first).with_beside(beside), of)


def one_per_kind(groups: Groups) -> Groups:
    """The groups, or where that is less work one of each kind."""
    kinds = kinds_of(groups)
    return groups if kinds is None else kinds.groups
