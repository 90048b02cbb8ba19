"""Candidate splits as a release-scope criterion weighs them for a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.numbers import Bools
from sfumato.release.groups import Groups

if TYPE_CHECKING:
    from sfumato.criteria.base import ReleaseCriterion


class CandidateSplits(Protocol):
    """Splits that a search may make, weighed all at once and then taken one after another.

    `hopeful` are those the state in which they were weighed does not rule out already.
    """

    @property
    def hopeful(self) -> Bools: ...

    def allows(self, state: object, at: int) -> bool:
        """Whether candidate `at` may be made in this state."""

    def take(self, state: object, at: int) -> object:
        """The state after it is made. The old one is not used again, so it may be changed."""


@dataclass(frozen=True)
class OneByOne:
    """Splits of a criterion that only knows how to split one group."""

    criterion: ReleaseCriterion
    parents: Groups
    children: Groups
    first: npt.NDArray[np.int64]

    @property
    def hopeful(self) -> Bools:
        return np.ones(len(self.parents), dtype=bool)

    def allows(self, state: object, at: int) -> bool:
        return self.take(state, at) is not None

    def take(self, state: object, at: int) -> object:
        kept = np.arange(self.first[at], self.first[at + 1])
        parent = self.parents.take(np.array([at]))
        return self.criterion.split(state, parent, self.children.take(kept))
