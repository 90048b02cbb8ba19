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

from sfumato.adversaries.several_rows import known_parts, owned_rows
from sfumato.counts.counts import rank_rows
from sfumato.counts.households import Members
from sfumato.numbers import Floats, Ints, rows_of
from sfumato.release.beside import Inside
from sfumato.release.made import Placement, ReadFrom
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
        made = release.made
        if isinstance(made, ReadFrom) and made.households is not None and made.people is not None:
            if release.schema.rows == "unlinked":  # people's rows have other numbers there
                return None
            return _placed(release, made.people, made.households)
        rows = release.by_row or release
        placed = rows.counted_from
        if not isinstance(placed, Placement) or placed.table.households is None:
            return None
        members = placed.table.households
        if release.schema.rows == "unlinked":
            return _unlinked(release, members)
        if isinstance(release.regions, Signatures):
            return _linked(release.regions, placed, members)
        return _placed(release, placed.inside(len(release.groups)), members)

    @cached_property
    def chance(self) -> Floats:
        """The chance that somebody of a household is found, and so all of it."""
        missed = np.ones(int(self.household.max(initial=-1)) + 1)
        np.multiply.at(missed, self.household, 1 - self.risk)
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


def _linked(described: Signatures, placed: Placement, members: Members) -> Households:
    """Rows that a pseudonym links: who is found by all that may be known of her rows."""
    distinct = np.array(
        [
            len(np.unique(described.sets.members[low:high]))
            for low, high in zip(
                described.sets.offsets[:-1], described.sets.offsets[1:], strict=True
            )
        ],
        dtype=np.int64,
    )
    signature_of = np.repeat(np.arange(len(described)), distinct)  # of rows that look alike in it
    published = np.flatnonzero(placed.groups >= 0)
    person, group = members.person[published], signature_of[placed.groups[published]]
    risk = np.zeros(len(members.household))
    np.maximum.at(risk, person, 1 / described.fewest[group])
    return Households(members.household, risk, at_most=False, person=person, group=group)


def _unlinked(release: Release, members: Members) -> Households | None:
    """Rows published one by one: each person by the fewest people who fit what may be known."""
    rows, parts = owned_rows(release), known_parts(release, release.schema.knows)
    if rows is None or parts is None:
        return None
    risk = np.zeros(len(members.household))
    risk[parts.persons] = parts.risks[parts.kind_of]
    return Households(members.household, risk, parts.at_least, rows.person, rows.group)


def _placed(release: Release, inside: Inside, members: Members) -> Households:
    """By quasi-identifiers, which say in which group somebody is, or in which of several."""
    counts = inside.counts
    stacked = np.hstack([members.codes, counts.codes[:, inside.tuples]])
    number, first = rank_rows(stacked, [len(domain) for domain in counts.quasi])
    of_member, of_tuple = np.split(number, [members.codes.shape[1]])
    groups = rows_of(inside.indptr)
    if release.regions.exact:
        sizes = np.bincount(of_tuple, weights=inside.n, minlength=len(first))[of_tuple]
    else:
        sizes = release.groups.sizes[groups].astype(np.float64)
    fewest, most = np.full(len(first), np.inf), np.zeros(len(first))
    np.minimum.at(fewest, of_tuple, sizes)
    np.maximum.at(most, of_tuple, sizes)
    group = np.full(len(first), -1, dtype=np.int64)
    group[of_tuple] = groups
    parted = bool((group[of_tuple] != groups).any())
    risk = np.zeros(len(members.household))
    np.maximum.at(risk, members.person, 1 / fewest[of_member])
    known = np.flatnonzero(group[of_member] >= 0)
    at_most = bool((fewest < most)[of_member].any())
    if parted:
        known = known[:0]
    return Households(
        members.household, risk, at_most, members.person[known], group[of_member][known]
    )
