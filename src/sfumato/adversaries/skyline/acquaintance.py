"""An acquaintance: somebody who knows (l, k, m) facts, as a row of the threat matrix.

How sure she can become of a target in each group: what she knows may be about people of other
groups too, so the least doubt that relatives anywhere leave counts for every group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.skyline.breach import (
    AIDED,
    BARE,
    KIN,
    KIN_AIDED,
    NAME,
    OWN,
    Case,
    case_of,
    factors,
    minima,
    odds,
)
from sfumato.adversaries.threat import Moves, Threat
from sfumato.counts.contingency import Ints
from sfumato.release.groups import Floats, Groups

_CELLS = 1 << 20
Known = tuple[int, int, int]


def certainties(
    groups: Groups, targets: Ints, points: Ints, case: Case, least: Floats
) -> Iterator[tuple[slice, Floats]]:
    """For block after block of groups: how sure she becomes of a target there, [B, P]."""
    step = max(1, _CELLS // max(1, len(targets)))
    for start in range(0, len(groups), step):
        stop = min(start + step, len(groups))
        block = factors(groups, targets, points, case, start, stop)
        # Where nobody has the value the odds are infinite, whatever the family tells elsewhere.
        having = np.isfinite(block[..., BARE])
        apart = np.where(having, block[..., BARE], 1) * least[:, KIN_AIDED]
        beside = np.where(having, block[..., AIDED], 1) * least[:, KIN]
        against = np.minimum(block[..., OWN], np.minimum(apart, beside))
        yield slice(start, stop), np.where(having, 1 / (1 + against), 0.0)


@dataclass(frozen=True)
class Acquaintance:
    """Somebody who knows so much, and the values she asks about by their codes."""

    groups: Groups
    known: Known
    targets: Sequence[int]

    def threats(self) -> list[Threat]:
        groups, case = self.groups, case_of(self.groups)
        targets = np.asarray(self.targets, dtype=np.int64)
        points = np.tile(np.asarray(self.known, dtype=np.int64), (len(targets), 1))
        least = minima(groups, targets, points, case)
        before = self._without_release(targets, points, case)
        moves = Moves(groups)
        for block, found in certainties(groups, targets, points, case, least):
            rows = np.repeat(np.arange(block.start, block.stop), len(targets))
            expected = np.tile(before, block.stop - block.start)
            moves.see(rows, np.tile(targets, block.stop - block.start), expected, found.ravel())
        name = groups.attribute or "the sensitive value"
        learns = f"{name}: {moves.told}"
        return [
            Threat(NAME, words(self.known, case), learns, name, moves.people, moves.worst),
        ]

    def _without_release(self, targets: Ints, points: Ints, case: Case) -> Floats:
        """How sure so many facts make her where everybody is one group: the facts' own doing."""
        groups = self.groups
        counted = groups.by_value().astype(np.int64)
        present = np.flatnonzero(counted)
        everybody = Groups.from_sparse(
            np.array([0, len(present)]),
            present.astype(np.int32),
            counted[present],
            groups.width,
            sizes=np.array([groups.people()]),
            domain=groups.domain,
            attribute=groups.attribute,
            case=groups.case,
        )
        everybody.values = groups.values
        against = odds(minima(everybody, targets, points, case))
        believed: Floats = 1 / (1 + against)
        return believed


def words(known: Known, case: Case) -> str:
    """What she knows, for a table."""
    facts, others, family = known
    parts = ["the target's quasi-identifiers"]
    if facts:
        kind = "does not have" if case == "single" else "has only together with it"
        parts.append(f"{_some(facts, 'value')} the target {kind}")
    if others:
        kind = "value of" if case == "single" else "lack of it in"
        parts.append(f"the {kind} {_some(others, 'other person', 'other people')}")
    if family:
        parts.append(f"{_some(family, 'relative')} who would share it")
    return ", ".join(parts)


def _some(number: int, one: str, several: str = "") -> str:
    return f"one {one}" if number == 1 else f"{number:,} {several or one + 's'}"
