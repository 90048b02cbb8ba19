"""Households: whoever finds one member finds all of them.

The prosecutor knows who lives together. She looks for each member and needs to be right about one:
with members at risks r1, r2, ... she finds the household with probability 1 - (1 - r1)(1 - r2)...,
if she guesses each by itself, and that is everybody's risk in it. Members who are not published
are at none, and are found with the others.

Of rows published one by one she knows some of each member's, or all, and a member's risk is that of
being found by the worst of what she may know (`adversaries/several_rows.py`).

Linkage measures it, and criteria of households bound it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.adversaries.several_rows import known_parts
from sfumato.numbers import Floats, Ints
from sfumato.release.beside import PlacedMembers
from sfumato.release.households_file import placed_members
from sfumato.release.made import Placement
from sfumato.release.release import Release
from sfumato.release.signatures import Signatures

PARTED = "people with equal quasi-identifiers are in several groups, and who is where is not known"
UNKNOWN = "which people are one household is not known of this release"


@dataclass(frozen=True)
class Households:
    """The `household` of each person, and her `risk` of being found by what is published of her.

    `at_most`: it is not known in which of several groups somebody is, and the smallest counts.
    `person[i]` is in group `group[i]`, where all of that is known.
    """

    household: Ints
    risk: Floats
    at_most: bool
    person: Ints
    group: Ints

    @classmethod
    def of(cls, release: Release) -> Households | None:
        """None where nobody knows who lives together."""
        if release.schema.rows == "unlinked":
            return _unlinked(release)
        placed = placed_members(release)
        return None if placed is None else _members_at_risk(release, placed)

    @cached_property
    def chance(self) -> Floats:
        """The chance that somebody of a household is found, and so all of it."""
        missed = np.ones(int(self.household.max(initial=-1)) + 1)
        order = np.argsort(self.risk)  # products of floats: the same in whatever order people are
        np.multiply.at(missed, self.household[order], 1 - self.risk[order])
        return 1 - missed

    @cached_property
    def published(self) -> Ints:
        """The people with something published of them."""
        return np.flatnonzero(self.risk > 0)

    def per_group(self, total: int) -> Ints:
        """How many households each of so many groups has people of."""
        pairs = np.unique(np.vstack([self.group, self.household[self.person]]), axis=1)
        return np.bincount(pairs[0], minlength=total).astype(np.int64)

    def worst_per_group(self, total: int) -> Floats:
        """The highest risk of a household with people in each group."""
        worst = np.zeros(total)
        np.maximum.at(worst, self.group, self.chance[self.household[self.person]])
        return worst


def _unlinked(release: Release) -> Households | None:
    """Rows published one by one: each person by the fewest people who fit what may be known."""
    placed, members = release.counted_from, placed_members(release)
    if not isinstance(placed, Placement) or members is None:
        return None
    rows, parts = placed.owned_rows, known_parts(release, release.schema.knows)
    if rows is None or parts is None:
        return None
    household = members.household
    risk = np.zeros(len(household))
    risk[parts.persons] = parts.risks[parts.kind_of]
    return Households(household, risk, parts.at_least, rows.person, rows.group)


def _members_at_risk(release: Release, placed: PlacedMembers) -> Households:
    """By what is published of people's kinds, each of which is in one group, or in several."""
    groups, kinds = placed.group, placed.kinds
    if release.regions.exact:
        sizes = np.bincount(placed.placed, weights=placed.n, minlength=kinds)[placed.placed]
    elif isinstance(release.regions, Signatures):  # by all that may be known of her rows
        sizes = release.regions.fewest[groups].astype(np.float64)
    else:
        sizes = release.groups.sizes[groups].astype(np.float64)
    fewest, most = np.full(kinds, np.inf), np.zeros(kinds)
    np.minimum.at(fewest, placed.placed, sizes)
    np.maximum.at(most, placed.placed, sizes)
    group = np.full(kinds, -1, dtype=np.int64)
    group[placed.placed] = groups
    parted = bool((group[placed.placed] != groups).any())
    risk = np.zeros(len(placed.household))
    np.maximum.at(risk, placed.person, 1 / fewest[placed.kind])
    known = np.flatnonzero(group[placed.kind] >= 0)
    at_most = bool((fewest < most)[placed.kind].any())
    if parted:
        known = known[:0]
    person, of_person = placed.person[known], group[placed.kind][known]
    return Households(placed.household, risk, at_most, person, of_person)
