"""Random worlds: the plain reading of a group's counts.

The adversary knows her target's QIs and that the target is in the release. She finds the group and
takes every assignment of its sensitive values to its people as equally likely, so she believes
that the target has s with probability n(g, s) / n(g). She knows nothing else: the weakest
adversary who reads the sensitive column at all, and the baseline of every stronger one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.threat import Threat
from sfumato.release.groups import Groups

NAME = "random worlds"
LIKELY = 0.5  # "more likely than not" is where a guess becomes a finding


@dataclass(frozen=True)
class RandomWorlds:
    """Her beliefs about one sensitive attribute."""

    groups: Groups

    def belief(self, group: int) -> dict[str, float]:
        """What she believes about anybody in a group."""
        size = int(self.groups.sizes[group])
        return {value: n / size for value, n in self.groups.counts_of(group).items()}

    def strongest(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Her strongest belief in each group."""
        return self.groups.largest / self.groups.sizes

    def threats(self) -> list[Threat]:
        knows = "the target's quasi-identifiers, and that the target is in the release"
        if len(self.groups) == 0 or self.groups.width == 0:
            why = "nothing: there is no sensitive column" if len(self.groups) else "no group"
            return [Threat(NAME, knows, why, None, None, status="not_applicable")]
        strongest = self.strongest()
        people = int(self.groups.sizes[strongest > LIKELY].sum())
        certain = int(self.groups.sizes[self.groups.largest == self.groups.sizes].sum())
        name = self.groups.attribute or "the sensitive value"
        learns = f"{name}: more likely than not for {people:,} people, for sure for {certain:,}"
        return [Threat(NAME, knows, learns, people, float(strongest.max()))]
