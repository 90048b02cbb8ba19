"""A bound on composition (Ganta et al., 2008) where people have several rows.

Published one by one or linked by a pseudonym; `composition.py` makes these of what a policy asks,
release by release. Stands apart: each reads other things of a release than groups, and both are
criteria of their own that `composition.py` becomes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from sfumato.adversaries.composition.exposure import Exposed
from sfumato.adversaries.composition.intersection import of_one_value
from sfumato.adversaries.composition.linked_exposure import (
    WatchedSignatures,
    exposed_by_signature,
)
from sfumato.adversaries.composition.rows_exposure import WatchedRows
from sfumato.criteria.composition import CompositionBound
from sfumato.errors import InputError
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.release.signatures import Knows


@dataclass(frozen=True)
class CompositionOfRows(CompositionBound):
    """The same of people with several rows, so many of which are known."""

    at_end: ClassVar[bool] = True  # whose rows lie where is known of a whole release

    knows: Knows = field(default="all", kw_only=True, repr=False, compare=False)

    @cached_property
    def _rows(self) -> dict[str | None, WatchedRows]:
        return {}

    def _watch_rows(self, groups: Groups) -> WatchedRows:
        inside = groups.inside
        if inside is None or inside.counts.owner is None:
            raise InputError(
                "whose rows are in which group is not known; give the table it was made of "
                "(--table), beside the private side of its folder"
            )
        watched = self._rows.get(groups.attribute)
        if watched is None or watched.counts is not inside.counts:
            read = of_one_value(groups)
            watched = WatchedRows.of(inside.counts, read, self.before, self.knows)
            self._rows[groups.attribute] = watched
        return watched

    def exposed(self, groups: Groups, most: int | None = None) -> Exposed:
        rule = self.rule if most is None else replace(self.rule, most=most)
        return self._watch_rows(groups).exposed(groups, rule)

    def _exposed_before(self, groups: Groups) -> int:
        return self._watch_rows(groups).exposed_before(groups, self.rule)

    def _beyond_mending(self, groups: Groups, limit: int) -> str:
        return ""  # what any release leaves of rows together is not worked out


@dataclass(frozen=True)
class CompositionOfLinked(CompositionBound):
    """The same of one release in which a pseudonym links people's rows."""

    at_end: ClassVar[bool] = True
    of_one_value: ClassVar[bool] = False

    release: Release = field(kw_only=True, repr=False, compare=False)

    @cached_property
    def _signatures(self) -> dict[str, WatchedSignatures]:
        return {}

    def _watch_signatures(self, groups: Groups) -> WatchedSignatures:
        name = groups.attribute or ""
        if name not in self._signatures:
            watched = WatchedSignatures.of(self.release, name, self.before)
            self._signatures[name] = watched
        return self._signatures[name]

    def exposed(self, groups: Groups, most: int | None = None) -> Exposed:
        rule = self.rule if most is None else replace(self.rule, most=most)
        return self._watch_signatures(groups).exposed(rule)

    def inapplicable(self, groups: Groups) -> str:
        return ""  # one list a person

    def _knows_people(self, groups: Groups) -> bool:
        return True

    def _exposed_alone(self, groups: Groups) -> Exposed:
        return exposed_by_signature(self.release, groups.attribute or "", self.rule)

    def _exposed_before(self, groups: Groups) -> int:
        return self._watch_signatures(groups).exposed_before(self.rule)

    def _told_before(self, before: int, sure: int) -> str:
        words = super()._told_before(before, sure)
        return (
            f"{words}; known by the list of all values or by that of a row, of people whose rows "
            "are taken to be the same in all releases, as their counts are"
        )

    def _beyond_mending(self, groups: Groups, limit: int) -> str:
        return ""  # what any release leaves of signatures is not worked out
