"""What was learnt from a release, whatever its scheme, and the two readings of p_L.

The *joint* reading takes the expected population, E[f(s, r)], and conditions on r. The
*conditional* reading takes the expectation of f(s|r) itself. They are not the same number. The
first is exact and cheap; the second always needs draws of the population. One result never mixes
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.relative_threat.generalized import Known
from sfumato.adversaries.relative_threat.model import normalised
from sfumato.adversaries.relative_threat.posterior import replicates
from sfumato.counts.counts import Ints

Floats = npt.NDArray[np.float64]
Reading = Literal["joint", "conditional"]
DRAWS = 4_000  # populations drawn where nothing else had to be sampled
_BATCHES = 20
_AT_ONCE = 1 << 22


class Learnt(Protocol):
    """Beliefs from one release: replicates by people by values; of one victim, unnormalised."""

    @property
    def factorises(self) -> bool: ...

    @property
    def kept(self) -> int | None: ...

    def learner(self, codes: Ints, where: Located) -> Floats: ...

    def log_joint(self, codes: Ints) -> Floats: ...

    def attacker(self, codes: Ints, where: Located) -> Floats: ...

    def random_worlds(self, codes: Ints, where: Located) -> Floats: ...

    def learner_of(self, known: Known) -> Floats: ...

    def attacker_of(self, known: Known) -> Floats: ...

    def random_worlds_of(self, known: Known) -> Floats: ...

    def populations(
        self, codes: Ints, rng: np.random.Generator, many: int
    ) -> tuple[Floats, list[Floats]]: ...

    def weights_drawn(
        self, known: Sequence[Known], rng: np.random.Generator, many: int
    ) -> Floats: ...


@dataclass(frozen=True)
class Conditional:
    """The learner who averages f(s|r) over drawn populations."""

    learnt: Learnt
    seed: int
    draws: int = DRAWS

    @property
    def many(self) -> int:
        return self.learnt.kept or self.draws

    def learner(self, codes: Ints) -> Floats:
        """E[f(s|r)]: replicates by people by values."""
        rng = np.random.default_rng([self.seed, 13])
        rows = [np.unique(row, return_inverse=True) for row in codes]
        width = max((len(distinct) for distinct, _ in rows), default=1)
        asked = np.zeros((len(rows), width), dtype=np.int64)
        for line, (distinct, _) in zip(asked, rows, strict=True):
            line[: len(distinct)] = distinct
            line[len(distinct) :] = distinct[:1]
        pi, thetas = self.learnt.populations(asked, rng, self.many)
        logs = [np.log(np.maximum(theta, 1e-300)) for theta in thetas]
        found = np.zeros((_BATCHES, codes.shape[1], pi.shape[1]))
        many = self.many // _BATCHES
        step = max(1, _AT_ONCE // max(codes.shape[1] * pi.shape[1], 1))
        for batch in range(_BATCHES):
            for start in range(batch * many, (batch + 1) * many, step):
                block = slice(start, min(start + step, (batch + 1) * many))
                total = np.log(np.maximum(pi[block], 1e-300))[:, None, :]
                for log, (_, place) in zip(logs, rows, strict=True):
                    total = total + np.swapaxes(log[block], 1, 2)[:, place, :]
                total -= total.max(axis=2, keepdims=True)
                found[batch] += normalised(np.exp(total)).sum(axis=0) / many
        return replicates(found)

    def learner_of(self, known: Sequence[tuple[float, Known]]) -> Floats:
        """The same of one victim: replicates by values."""
        rng = np.random.default_rng([self.seed, 17])
        drawn = self.learnt.weights_drawn([one for _, one in known], rng, self.many)
        shares = normalised(drawn @ np.array([weight for weight, _ in known]))
        many = self.many // _BATCHES
        by_batch = shares[: many * _BATCHES].reshape(_BATCHES, many, -1).mean(axis=1)
        return replicates(by_batch)
