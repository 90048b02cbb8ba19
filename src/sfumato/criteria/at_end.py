"""Criteria of whole releases that are judged once, when a search is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.counts.counts import TableCounts
from sfumato.criteria.base import ReleaseCriterion
from sfumato.release.groups import Groups


@dataclass(frozen=True, kw_only=True)
class JudgedAtEnd(ReleaseCriterion):
    """A criterion of whole releases that no search can carry along: it allows every step, is left
    out of the search (`at_end`) and judged once, on what was found."""

    at_end: ClassVar[bool] = True

    def bind(self, counts: TableCounts) -> Self:
        return self

    def start(self, groups: Groups) -> object:
        return ()

    def split(self, state: object, parent: Groups, children: Groups) -> object:
        return state
