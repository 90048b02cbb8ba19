"""Who knows how values were altered by chance, and undoes it as far as that goes.

She knows her target's QIs, that the target is in the release, and the mechanism, which its manifest
states. She finds the group; the target may be any of its rows; and of each row she asks how likely
each true value is to have been published as what stands there (`perturbation/chance.py`). So she
believes in x with the mean over the group's rows i of p(x) P(y_i | x) / sum of p(x') P(y_i | x').
Rows are altered each by itself, or exchanged without regard to groups, so this is her belief given
the whole release. What she believes of everybody, p, is what all published values together make
most likely, or what is given. For values that were not altered she is who reads random worlds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.adversaries.base import CatalogueEntry, Moves, Threat
from sfumato.errors import InputError
from sfumato.numbers import Floats
from sfumato.perturbation.base import Undone
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain

NAME = "mechanism reader"
KNOWS = "target's QIs, the target is in it, and how values were altered by chance"
_AT_ONCE = 1 << 20  # beliefs


@dataclass(frozen=True)
class MechanismReader:
    """Somebody who finds her target's group, and undoes what chance did to its values.

    `prior`: what she believes of anybody before, by value; by default what the release tells.
    """

    prior: Mapping[str, float] | None = None

    @property
    def name(self) -> str:
        return NAME

    def attack(self, release: Release, groups: Groups | None = None) -> UndoneChance:
        asked = release.groups if groups is None else groups
        if not asked.beside.altered_by_chance:
            raise InputError(
                f"the values of {asked.attribute or 'the release'} were not altered by chance, so "
                "there is nothing to undo"
            )
        return UndoneChance(asked, self.prior)


@dataclass(frozen=True)
class UndoneChance:
    """Her beliefs about one sensitive attribute."""

    groups: Groups
    prior: Mapping[str, float] | None = None

    @cached_property
    def undone(self) -> Undone:
        """What each published value says of the true one."""
        groups, perturbed = self.groups, self.groups.beside.perturbed
        assert perturbed is not None
        domain = groups.domain
        if domain is None:
            domain = Domain(groups.attribute or "", "categorical", tuple(groups.values))
        return perturbed.undo(domain, self._people(), self.prior)

    def _people(self) -> Floats:
        whole = self.groups.everybody()
        counted = np.bincount(whole.indices, weights=whole.data, minlength=self.groups.width)
        return counted.astype(np.float64)

    def belief(self, group: int) -> dict[str, float]:
        """What she believes about anybody in a group."""
        (believed,) = self._beliefs(slice(group, group + 1))
        return dict(zip(self.undone.values, believed.tolist(), strict=True))

    def before(self) -> Floats:
        """What she believes of somebody of whom she does not know the group."""
        people = self._people()
        believed: Floats = people @ self.undone.belief / people.sum()
        return believed

    def _beliefs(self, chosen: slice) -> Floats:
        groups = self.groups
        first, last, _ = chosen.indices(len(groups))
        stored = slice(groups.indptr[first], groups.indptr[last])
        shares = np.zeros((last - first, groups.width))
        shares[groups.row[stored] - first, groups.indices[stored]] = groups.data[stored]
        shares /= np.maximum(groups.sizes[first:last], 1)[:, None]
        believed: Floats = shares @ self.undone.belief
        return believed

    def threats(self) -> list[Threat]:
        groups = self.groups
        if len(groups) == 0 or groups.width == 0:
            return [Threat(NAME, KNOWS, "no group", groups.attribute, status="not_applicable")]
        name, moves = groups.attribute or "the sensitive value", self.moves()
        learns = f"{name}, undone: {moves.words}"
        return [
            Threat(NAME, KNOWS, learns, name, moves.people, moves.worst, surest=moves.surest_moved)
        ]

    def moves(self) -> Moves:
        """From what she believes of everybody to what she believes of a group."""
        groups, before = self.groups, self.before()
        gathered = Moves(groups, self.undone.values)
        width = len(before)
        step = max(1, _AT_ONCE // max(width, groups.width))
        for first in range(0, len(groups), step):
            after = self._beliefs(slice(first, first + step))
            rows = np.repeat(np.arange(first, first + len(after)), width)
            codes = np.tile(np.arange(width), len(after))
            gathered.see(rows, codes, np.tile(before, len(after)), after.ravel())
        return gathered


ENTRY = CatalogueEntry(
    NAME,
    "Could her true value be worked back?",
    KNOWS,
    "the target's true value, as far as what was done to it can be undone",
    "alter a sensitive column by chance (perturb in the policy)",
    "by itself",
    ("t-closeness", "beta-likeness", "delta-disclosure"),
    stand_ins=lambda _: (MechanismReader(),),
    undoes_chance=True,
)
