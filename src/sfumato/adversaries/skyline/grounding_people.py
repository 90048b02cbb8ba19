"""Private: the people of the table whom a worst grounding speaks of.

Of everybody in the groups in question some fit the part: a target who really has the value, others
whose values are those to be known, and whoever else is there for the family. People with equal
quasi-identifiers and values are told as one record with their number. Rows never leave the
data owner's hands: this is for private reports only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.skyline.grounding import Grounding
from sfumato.errors import InputError
from sfumato.release.origin import Origin
from sfumato.release.release import Release
from sfumato.schema.region import text_of


@dataclass(frozen=True)
class Record:
    """So many people of the table, by their part in the grounding, with all their values."""

    part: str
    people: int
    group: int
    quasi: dict[str, str]
    values: tuple[str, ...]


def people_behind(
    release: Release, grounding: Grounding, sensitive: str | None = None
) -> list[Record]:
    """Records of people who would play the parts of a grounding, the target first."""
    if release.origin is None:
        raise InputError(
            "who the people of a group are is only known of a release made here, from its table"
        )
    if grounding.target is None:
        return []
    place = 0 if sensitive is None else release.origin.counts.attribute(sensitive)
    cast = _Cast(release.origin, place)
    own, value = grounding.target, grounding.value
    cast.give("target", own, 1, having=value)
    if grounding.known is not None and grounding.case == "single":
        for known, number in grounding.known_values:
            cast.give("known", grounding.known, number, having=known)
    elif grounding.known is not None:
        cast.give("known", grounding.known, grounding.people, lacking=value)
    if grounding.family is not None:
        cast.give("family", grounding.family, grounding.members)
    return cast.records


class _Cast:
    """Gives out parts to people of the table, nobody two."""

    def __init__(self, origin: Origin, attribute: int) -> None:
        self.records: list[Record] = []
        self._origin, self._left = origin, origin.n.copy()
        self._described = origin.counts.sensitive[attribute]
        self._codes = origin.counts.values[attribute]

    def give(self, part: str, group: int, number: int, having: str = "", lacking: str = "") -> None:
        """A part for so many people of a group who have, or lack, a value; fewer if there are."""
        origin = self._origin
        for at in np.flatnonzero((origin.groups == group) & (self._left > 0)).tolist():
            if number == 0:
                return
            values = self._values(int(origin.tuples[at]))
            if (having and having not in values) or (lacking and lacking in values):
                continue
            people = min(number, int(self._left[at]))
            number -= people
            self._left[at] -= people
            quasi = self._quasi(int(origin.tuples[at]))
            self.records.append(Record(part, people, group, quasi, values))

    def _values(self, number: int) -> tuple[str, ...]:
        code, sets = int(self._codes[number]), self._described.sets
        held = [code] if sets is None else sets.members[sets.offsets[code] : sets.offsets[code + 1]]
        return tuple(self._described.domain.labels[one] for one in held)

    def _quasi(self, number: int) -> dict[str, str]:
        counts = self._origin.counts
        return {
            domain.name: text_of(domain.values[code])
            for domain, code in zip(counts.quasi, counts.codes[:, number], strict=True)
        }
