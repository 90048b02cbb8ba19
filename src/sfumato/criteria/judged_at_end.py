"""Criteria that no search can carry along: they are judged once, on the finished release.

A search leaves them out (`at_end`), and whoever splits groups one by one is not held up by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.counts.counts import TableCounts
from sfumato.criteria.base import ReleaseCriterion
from sfumato.release.groups import Groups


@dataclass(frozen=True, kw_only=True)
class JudgedAtEnd(ReleaseCriterion):
    """A criterion of whole releases that allows every step of a search."""

    at_end: ClassVar[bool] = True

    def bind(self, counts: TableCounts) -> Self:
        return self

    def start(self, groups: Groups) -> object:
        return ()

    def split(self, state: object, parent: Groups, children: Groups) -> object:
        return state
