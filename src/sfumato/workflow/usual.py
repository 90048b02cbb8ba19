"""Adversaries a policy does not name, run all the same: what a steward should have seen.

They stand in for the real ones, whom nobody knows: outside statistics shaped as this table is and
as many records as it has, one fact of each kind about the target and others. A policy that names
one replaces its stand-in. Only what is cheap runs here; samplers and attacks that need more than
the release run on request.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from math import inf

from sfumato.adversaries.leakage import observer as leakage
from sfumato.adversaries.leakage.observer import Observer
from sfumato.adversaries.realistic.adversary import TABLE, RealisticAdversary
from sfumato.adversaries.realistic.beliefs import Beliefs
from sfumato.adversaries.skyline import breach as skyline
from sfumato.adversaries.skyline.acquaintance import Acquaintance
from sfumato.adversaries.threat import Threat
from sfumato.release.groups import Groups
from sfumato.release.release import Release

MOST_COUNTS = 500_000  # stored counts; beyond, an audit would take noticeably longer
MOST_VALUES = 100
ONE_EACH = (1, 1, 1)  # a fact about the target, another person's value, a relative


def usual_threats(seen: Release, named: Container[tuple[str, str]]) -> list[Threat]:
    """The threats of stand-ins for the adversaries that were not named about a column.

    `seen` is the release as anybody reads it: they know no more than is published, so that every
    command tells the same of them, whatever else it knows.
    """
    if seen.scheme == "randomised":
        return []
    found: list[Threat] = []
    for name, groups in seen.by_attribute.items():
        if not groups.width or not 0 < len(groups.data) <= MOST_COUNTS:
            continue
        if (leakage.NAME, name) not in named:
            found += Observer().threats(groups)
        for her in _realistic(groups):
            if (her.name, name) not in named:
                found += Beliefs(her, groups).threats()
    return found


def late_threats(seen: Release, named: Container[tuple[str, str]]) -> list[Threat]:
    """Those whose code is slow to load: for a report that is shown, not for an exit code."""
    if seen.scheme == "randomised":
        return []
    return [
        threat
        for name, groups in seen.by_attribute.items()
        if (skyline.NAME, name) not in named
        and 0 < len(groups.data) <= MOST_COUNTS
        and groups.width <= MOST_VALUES
        for threat in Acquaintance(groups, ONE_EACH, range(groups.width)).threats()
    ]


def _realistic(groups: Groups) -> Iterator[RealisticAdversary]:
    """One of each class that a release can hold against, with as many records as people."""
    records = float(max(groups.reference.sum(), groups.width, 1))
    yield RealisticAdversary(TABLE, records, at_most=False)
    yield RealisticAdversary(None, records)
    yield RealisticAdversary(TABLE, inf, at_most=False)
