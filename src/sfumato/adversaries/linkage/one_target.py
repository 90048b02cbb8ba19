"""One target: whose rows may be hers, and what these say of her.

Somebody knows some quasi-identifiers of one person who is in the release. She keeps the groups that
fit; every row there may be her target's, and the sensitive values of these rows are what she comes
to believe. Who fits several groups may be in any of them: then what is believed lies between the
least and the most that one of them says (`sfumato.adversaries.skyline.belief`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.skyline.belief import belief_in_each
from sfumato.adversaries.skyline.breach import case_of
from sfumato.adversaries.skyline.places import ReleasePlaces
from sfumato.errors import InputError
from sfumato.numbers import Ints, percent
from sfumato.progress import phase
from sfumato.release.groups import Groups
from sfumato.release.release import Release


@dataclass(frozen=True)
class ValueBelief:
    """How sure she is that her target has a value: from `least` to `most`.

    `before` is the share of all published people who have it, which anybody can count.
    """

    value: str
    before: float
    least: float
    most: float

    @property
    def words(self) -> str:
        """As one says it."""
        if self.least == self.most:
            return percent(self.most)
        return f"{percent(self.least)} to {percent(self.most)}"


@dataclass(frozen=True)
class FoundTarget:
    """The rows that may be one target's.

    `groups` are those that fit, `rows[i]` of `people[i]` rows of each may be hers; `beliefs` are
    about the values of `attribute`, the likeliest first; None and none where nothing is sensitive.
    """

    attribute: str | None
    described: Mapping[str, str]
    knowing: tuple[str, ...]
    groups: tuple[int, ...]
    rows: tuple[int, ...]
    people: tuple[int, ...]
    beliefs: tuple[ValueBelief, ...]

    @property
    def candidates(self) -> int:
        """How many rows may be hers."""
        return sum(self.rows)

    @property
    def chance(self) -> float:
        """That of finding her row by taking one of them."""
        return 1 / self.candidates


@phase("attacking")
def find_target(
    release: Release,
    described: Mapping[str, str],
    sensitive: str | None = None,
    knowing: Sequence[str] = (),
) -> FoundTarget:
    """Look for somebody by what is known of her; columns that are left out are not known.

    `knowing` are facts besides, as `sfumato.belief` takes them: "not cancer".
    """
    names = [name for name in release.by_attribute if name]
    attribute = next(iter(names), None) if sensitive is None else sensitive
    if attribute is None and knowing:
        raise InputError("the release has no sensitive column that facts could be about")
    room = ReleasePlaces(release).room(described)
    if not room:
        raise InputError("nobody in the release is so described; check the values, or tell fewer")
    fits = tuple(sorted(room))
    beliefs = [] if attribute is None else _beliefs(release, attribute, fits, described, knowing)
    return FoundTarget(
        attribute,
        dict(described),
        tuple(knowing),
        fits,
        tuple(sum(room[group].values()) for group in fits),
        tuple(int(release.groups.sizes[group]) for group in fits),
        tuple(sorted(beliefs, key=lambda belief: (-belief.most, -belief.least, belief.value))),
    )


def _beliefs(
    release: Release,
    attribute: str,
    fits: tuple[int, ...],
    described: Mapping[str, str],
    knowing: Sequence[str],
) -> list[ValueBelief]:
    """What is believed of each value of a column."""
    groups = release.groups_for(attribute)
    shares = groups.by_value() / max(groups.people(), 1)
    before = dict(zip(groups.values, shares.tolist(), strict=True))
    if not knowing and case_of(groups) == "single":
        bounds = _shares(groups, np.array(fits))
    else:
        posteriors = belief_in_each(release, described, attribute, knowing)
        bounds = {value: (float(share.least), float(share)) for value, share in posteriors.items()}
    return [ValueBelief(value, before[value], *bounds[value]) for value in groups.values]


def _shares(groups: Groups, fits: Ints) -> dict[str, tuple[float, float]]:
    """The least and the largest share of each value in these groups, one value a person."""
    chosen = groups.take(fits)
    most, least = np.zeros(groups.width), np.ones(groups.width)
    np.maximum.at(most, chosen.indices, chosen.share)
    np.minimum.at(least, chosen.indices, chosen.share)
    everywhere = np.bincount(chosen.indices, minlength=groups.width) == len(fits)
    least = np.where(everywhere, least, 0.0)
    return dict(zip(groups.values, zip(least.tolist(), most.tolist(), strict=True), strict=True))
