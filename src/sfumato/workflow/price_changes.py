"""Which changes of a policy have a price, and which of them are searched first.

The time may not do for all, so what may help comes first: one change of each kind after another, of
promises those that bind, of columns those that have lost most. A promise binds where the groups of
the release by the policy as it is lie at its bound: they would break the next tighter one.

Stands apart: `price` makes releases and compares them, this looks at one and makes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

import numpy as np

from sfumato.criteria.base import Criterion, GroupCriterion, groups_about
from sfumato.errors import SfumatoError
from sfumato.policy.model import Policy
from sfumato.release.release import Release
from sfumato.report.price import (
    Change,
    NoOtherBound,
    OtherBound,
    WithoutColumn,
    WithoutCriterion,
    WithoutLimits,
    promises,
)


def changes_of(policy: Policy, columns: Sequence[str], limited: Iterable[str]) -> Iterator[Change]:
    """Every change that has a price, criterion after criterion, then column after column."""
    for place, name in enumerate(promises(policy.require)):
        criterion = policy.require[place]
        yield WithoutCriterion(place, criterion, name)
        steps = criterion.steps()
        yield from (OtherBound(place, criterion, name, step) for step in steps)
        if not steps:
            yield NoOtherBound(place, criterion, name)
    yield from map(WithoutColumn, columns)
    yield from map(WithoutLimits, limited)


def way_of(change: Change) -> str:
    """Whether it makes the policy "looser" or "tighter"; empty where something is left out."""
    if isinstance(change, OtherBound):
        return change.step.way
    return "looser" if isinstance(change, WithoutLimits) else ""


def in_turn(
    changes: Sequence[Change], release: Release | None, loss: Mapping[str, float]
) -> list[Change]:
    """The changes in the turn in which they are searched.

    `release` is that of the policy as it is, if there is one, `loss` what each column loses in it.
    """
    about = {
        change.place: change.criterion for change in changes if isinstance(change, WithoutCriterion)
    }
    binding = {
        place: 1.0 if release is None else at_bound(criterion, release)
        for place, criterion in about.items()
    }

    def promise_of_help(change: Change) -> float:
        if isinstance(change, WithoutCriterion | OtherBound | NoOtherBound):
            return binding[change.place]
        return loss.get(change.column, 0.0)

    kinds: dict[str, list[Change]] = {}
    for change in sorted(changes, key=promise_of_help, reverse=True):  # of equals as they stand
        kinds.setdefault(change.kind, []).append(change)
    tighter = [change for change in changes if way_of(change) == "tighter"]
    helping = [change for in_round in zip_longest(*kinds.values()) for change in in_round if change]
    return [*(change for change in helping if change not in tighter), *tighter]


def at_bound(criterion: Criterion, release: Release) -> float:
    """The share of people whose groups would break the next tighter bound; 1 if nobody knows."""
    tighter = [step.criterion for step in criterion.steps() if step.way == "tighter"]
    shares = []
    for stricter in tighter:
        if not isinstance(stricter, GroupCriterion):
            return 1.0  # of whole releases: judging one may take as long as a search
        try:
            for groups in groups_about(stricter, release):
                people = groups.sizes / max(groups.sizes.sum(), 1)
                shares.append(float(people[~np.asarray(stricter.holds(groups))].sum()))
        except SfumatoError:  # that bound does not apply here
            return 1.0
    return max(shares, default=1.0)
