"""The sensitive values of several releases, matched by label.

Releases need not show the same values: what only one of them shows can be nobody's value who is in
both. But labels that mean the same and are spelt differently would do the same without a word, so
they are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.errors import InputError, SchemaError, did_you_mean, name_some
from sfumato.numbers import Codes
from sfumato.release.groups import Groups
from sfumato.release.release import Release


@dataclass(frozen=True)
class SharedValues:
    """All labels, and for each release what number each of its own labels has among them.

    `unmatched` tells the labels each release shows and no other does.
    """

    attribute: str
    labels: tuple[str, ...]
    numbers: tuple[Codes, ...]
    groups: tuple[Groups, ...]
    unmatched: tuple[tuple[str, ...], ...]

    @property
    def of(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}


def share_values(releases: Sequence[Release], sensitive: str | None = None) -> SharedValues:
    """Match the values of the attribute that all releases have."""
    name = common_attribute(releases, sensitive)
    sources = [(one.label, _usable(one, name)) for one in releases]
    _refuse_strangers(name, sources)
    return match_values(name, sources)


def match_values(name: str, sources: Sequence[tuple[str, Groups]]) -> SharedValues:
    """Match the labels of groups, each with the name of its release."""
    groups = tuple(one for _, one in sources)
    shown = [_shown(one) for one in groups]
    _refuse_spellings(name, [label for label, _ in sources], shown)
    labels = tuple(dict.fromkeys(label for one in groups for label in one.values))
    number = {label: place for place, label in enumerate(labels)}
    return SharedValues(
        name,
        labels,
        tuple(np.array([number[label] for label in one.values], np.int32) for one in groups),
        groups,
        tuple(_alone(shown, place) for place in range(len(shown))),
    )


def _usable(release: Release, name: str) -> Groups:
    groups = release.groups_for(name)
    if not groups.single_valued:
        raise InputError(
            f"{release.label}: people have several values of {name!r} each; the attack is defined "
            "for one value a person"
        )
    release.refuse_wildcards()
    return groups


def common_attribute(releases: Sequence[Release], sensitive: str | None = None) -> str:
    """The sensitive attribute of all releases."""
    if sensitive is not None:
        for release in releases:
            if sensitive not in release.by_attribute:
                raise SchemaError(
                    f"{sensitive!r} is not a sensitive column of {release.label}; "
                    f"{did_you_mean(sensitive, release.schema.sensitive)}"
                )
        return sensitive
    every = [list(filter(None, release.by_attribute)) for release in releases]
    common = [name for name in every[0] if all(name in names for names in every)]
    if not common:
        listed = "; ".join(
            f"{release.label} has {', '.join(names) or 'none'}"
            for release, names in zip(releases, every, strict=True)
        )
        raise InputError(
            f"the releases have no sensitive attribute in common ({listed}); rename the columns "
            "that mean the same"
        )
    if len(common) > 1:
        raise InputError(
            f"the releases share several sensitive attributes: {', '.join(common)}; name the one "
            "to attack with sensitive="
        )
    return common[0]


def _shown(groups: Groups) -> tuple[str, ...]:
    """The labels that somebody has."""
    return tuple(groups.values[code] for code in np.unique(groups.indices[groups.data > 0]))


def _alone(shown: Sequence[Sequence[str]], place: int) -> tuple[str, ...]:
    others = {label for other, mine in enumerate(shown) if other != place for label in mine}
    return tuple(label for label in shown[place] if label not in others)


def _refuse_strangers(name: str, sources: Sequence[tuple[str, Groups]]) -> None:
    for place, (label, groups) in enumerate(sources):
        for other, theirs in sources[:place]:
            here, there = _shown(groups), _shown(theirs)
            if here and there and not set(here) & set(there):
                raise InputError(
                    f"{other} and {label} share no value of {name!r}: {name_some(there)} against "
                    f"{name_some(here)}; write the same labels in both"
                )


def _refuse_spellings(name: str, labels: Sequence[str], shown: Sequence[Sequence[str]]) -> None:
    for one in range(len(shown)):
        for other in range(one):
            mine, theirs = set(shown[one]), set(shown[other])
            plain = {_plain(label): label for label in theirs - mine}
            twins = [
                f"{plain[_plain(label)]!r} and {label!r}"
                for label in sorted(mine - theirs)
                if _plain(label) in plain
            ]
            if twins:
                raise InputError(
                    f"{name!r} is spelt differently in {labels[other]} and "
                    f"{labels[one]}: {', '.join(twins[:5])}; write the same labels in both"
                )


def _plain(label: str) -> str:
    return " ".join(label.casefold().split())
