"""Attacks that an audit does not run by itself: they take the original table, and their time.

Stands apart: which attacks an audit is asked to run besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.errors import InputError
from sfumato.release.release import Release
from sfumato.table.load import Table


def attacks_on(
    release: Release, original: Table, earlier: Sequence[Release] = (), *, seed: int = 0
) -> tuple[Any, ...]:
    """Learner against attacker, and what earlier releases add; for every sensitive attribute.

    `original` is the table the release was made of: it has the people who are attacked. Where
    learner and attacker are not defined they are left out, and the threat matrix says why.
    """
    from sfumato.adversaries.relative_threat.relative import relative_threat
    from sfumato.adversaries.relative_threat.result import undefined

    names = [name for name in release.by_attribute if name]
    if not names:
        raise InputError("the release has no sensitive column, so nothing could be learnt from it")
    found: list[Any] = [
        relative_threat(release, original, sensitive=name, seed=seed)
        for name in names
        if not undefined(release, release.groups_for(name))
    ]
    if earlier:
        from sfumato.adversaries.composition.attack import intersection_attack

        found += [
            intersection_attack(
                [release, *earlier], original, truth=name, sensitive=name, seed=seed
            )
            for name in names
        ]
    return tuple(found)
