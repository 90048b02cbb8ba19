"""Random worlds: the plain reading of a group's counts.

The adversary knows her target's QIs and that the target is in the release. She finds the group and
takes every assignment of its sensitive values to its people as equally likely, so she believes
that the target has s with probability n(g, s) / n(g). Where a value may occur several times with
one person, each of its n(g, s) occurrences is anybody's, and she believes 1 - (1 - 1/n(g))^n(g, s).
She knows nothing else: the weakest adversary who reads the sensitive column at all, and the
baseline of every stronger one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.adversaries.threat import Threat
from sfumato.release.groups import Floats, Groups

NAME = "random worlds"
LIKELY = 0.5  # "more likely than not" is where a guess becomes a finding


@dataclass(frozen=True)
class RandomWorlds:
    """Her beliefs about one sensitive attribute."""

    groups: Groups

    def belief(self, group: int) -> dict[str, float]:
        """What she believes about anybody in a group."""
        size = int(self.groups.sizes[group])
        return {
            value: float(self._believed(np.float64(n), np.float64(size)))
            for value, n in self.groups.counts_of(group).items()
        }

    def strongest(self) -> Floats:
        """Her strongest belief in each group."""
        largest = self.groups.largest.astype(np.float64)
        found: Floats = self._believed(largest, self.groups.sizes.astype(np.float64))
        return found

    def _believed(self, n: Any, size: Any) -> Any:
        if self.groups.case == "multiset":
            return 1 - (1 - 1 / size) ** n
        return n / size

    def threats(self) -> list[Threat]:
        knows = "the target's quasi-identifiers, and that the target is in the release"
        if len(self.groups) == 0 or self.groups.width == 0:
            why = "nothing: there is no sensitive column" if len(self.groups) else "no group"
            return [Threat(NAME, knows, why, None, None, status="not_applicable")]
        strongest = self.strongest()
        people = self.groups.people(strongest > LIKELY)
        certain = self.groups.people(strongest == 1)
        name = self.groups.attribute or "the sensitive value"
        learns = f"{name}: more likely than not for {people:,} people, for sure for {certain:,}"
        return [Threat(NAME, knows, learns, people, float(strongest.max()))]
