"""Random worlds: the plain reading of a group's counts.

The adversary knows her target's QIs and that the target is in the release. She finds the group and
takes every assignment of its sensitive values to its people as equally likely, so she believes
that the target has s with probability n(g, s) / n(g), n(g, s) being people who have it. Where a
value may occur several times with one person and a group publishes loose values, each of its
n(g, s) occurrences is anybody's, and she believes 1 - (1 - 1/n(g))^n(g, s). She knows nothing else:
the weakest adversary who reads the sensitive column at all, and the baseline of every stronger one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.adversaries.base import IN_IT, CatalogueEntry, Moves, Threat
from sfumato.numbers import Floats
from sfumato.release.groups import Groups
from sfumato.release.kinds import one_per_kind
from sfumato.release.release import Release

NAME = "random worlds"


@dataclass(frozen=True)
class GroupReader:
    """Somebody who finds her target's group, and reads its counts."""

    @property
    def name(self) -> str:
        return NAME

    def attack(self, release: Release, groups: Groups | None = None) -> RandomWorlds:
        return RandomWorlds(release.groups if groups is None else groups)


@dataclass(frozen=True)
class RandomWorlds:
    """Her beliefs about one sensitive attribute."""

    groups: Groups

    def belief(self, group: int) -> dict[str, float]:
        """What she believes about anybody in a group."""
        groups, size = self.groups, np.float64(self.groups.sizes[group])
        stored = slice(groups.indptr[group], groups.indptr[group + 1])
        return {
            groups.values[code]: float(self._believed(np.float64(n), size))
            for code, n in zip(groups.indices[stored], groups.having[stored], strict=True)
        }

    def strongest(self) -> Floats:
        """Her strongest belief in each group."""
        largest = self.groups.max_of(self.groups.having).astype(np.float64)
        beliefs: Floats = self._believed(largest, self.groups.sizes.astype(np.float64))
        return beliefs

    def _believed(self, n: Any, size: Any) -> Any:
        if self.groups.case == "multiset" and not self.groups.linked:
            return 1 - (1 - 1 / size) ** n
        return n / size

    def threats(self) -> list[Threat]:
        groups = self.groups
        if len(groups) == 0 or groups.width == 0:
            why = "nothing: there is no sensitive column" if len(groups) else "no group"
            return [Threat(NAME, IN_IT, why, groups.attribute, status="not_applicable")]
        name = groups.attribute or "the sensitive value"
        moves = self.moves()
        return [
            Threat(
                NAME,
                IN_IT,
                f"{name}: {moves.words}",
                name,
                moves.people,
                moves.worst,
                surest=moves.surest_moved,
            )
        ]

    def moves(self) -> Moves:
        """From how common a value is among everybody to how common it is in a group."""
        groups = one_per_kind(self.groups)
        everybody = np.float64(max(groups.places, 1))
        gathered = Moves(groups)
        having = groups.having.astype(np.float64)
        # Groups that share people do not add up to everyone.
        counted = groups if groups.everyone is None else groups.everyone
        n, many = counted.having, counted.multiplicity
        n = n if many is None else n * many[counted.row]
        summed = np.bincount(counted.indices, weights=n, minlength=groups.width)
        before = self._believed(summed.astype(np.float64), everybody)
        gathered.see_counts(
            before[groups.indices], self._believed(having, groups.sizes[groups.row])
        )
        return gathered


ENTRY = CatalogueEntry(
    NAME,
    "Could her group give her value away?",
    IN_IT,
    "the target's sensitive value, from the counts of the target's group",
    "name a sensitive column",
    "by itself",
    ("t-closeness", "entropy-diversity", "alpha-k-anonymity"),
    stand_ins=lambda _: (GroupReader(),),
)
