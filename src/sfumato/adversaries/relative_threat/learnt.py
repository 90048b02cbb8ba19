"""What was learnt from a release, whatever its scheme, and the two readings of p_L.

The *joint* reading takes the expected population, E[f(s, r)], and conditions on r. The
*conditional* reading takes the expectation of f(s|r) itself. They are not the same number. The
first is exact and cheap; the second always needs draws of the population. One result never mixes
them.

Beside them the ideal learner, who has the original table, and how clearly she who asks sees people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.relative_threat.atoms import Clues
from sfumato.adversaries.relative_threat.model import (
    DirichletWeights,
    mixed,
    normalised,
    replicates,
    soft_shares,
)
from sfumato.adversaries.relative_threat.people import Everybody
from sfumato.numbers import Floats, Ints
from sfumato.schema.domain import Domain

# The ideal learner: somebody who learns from the original table itself, in closed form.
#
# p_I(s, r) = E[pi_s] prod_A E[theta_{A,s}(r_A)] with every count known. What she knows of the
# population is the most any release can teach about people in general.


class Ideal:
    """Learnt from everybody's true values, suppressed people included."""

    def __init__(
        self,
        everybody: Everybody,
        values: Domain,
        domains: Sequence[Domain],
        prior: DirichletWeights,
    ) -> None:
        self.seen = everybody.seen
        pi = prior.of_values(values) + self.seen
        self.log_pi: Floats = np.log(pi / pi.sum())
        self.log_theta: list[Floats] = []
        for domain, people in zip(domains, everybody.by_column, strict=True):
            weights = people + prior.of_column(domain, values)
            self.log_theta.append(np.log(weights) - np.log(weights.sum(axis=1, keepdims=True)))

    def learner(self, codes: Ints) -> Floats:
        """p_I(s|r): people by values."""
        total = np.broadcast_to(self.log_pi, (codes.shape[1], len(self.log_pi)))
        for theta, row in zip(self.log_theta, codes, strict=True):
            total = total + theta[:, row].T
        return soft_shares(total)

    def learner_of(self, asked: Sequence[tuple[float, Clues]]) -> Floats:
        """p_I(s, y), unnormalised, of a victim who is each of these with a weight."""
        logs = np.repeat(self.log_pi[:, None], len(asked), axis=1)
        for at, (_, known) in enumerate(asked):
            for theta, weights in zip(self.log_theta, known, strict=True):
                if weights is not None:
                    with np.errstate(divide="ignore"):
                        logs[:, at] += np.log(np.exp(theta) @ weights)
        return mixed(logs, [weight for weight, _ in asked])


LearnerReading = Literal["joint", "conditional"]
DRAWS = 4_000  # populations drawn where nothing else had to be sampled
_BATCHES = 20
_AT_ONCE = 1 << 22  # cells of p_L held at once


class Learnt(Protocol):
    """Beliefs from one release: replicates by people by values; of one victim, unnormalised."""

    @property
    def kept(self) -> int | None: ...

    def learner(self, codes: Ints, where: Located) -> Floats: ...

    def log_joint(self, codes: Ints) -> Floats: ...

    def attacker(self, codes: Ints, where: Located) -> Floats: ...

    def random_worlds(self, codes: Ints, where: Located) -> Floats: ...

    def learner_of(self, asked: Sequence[tuple[float, Clues]]) -> Floats: ...

    def attacker_of(self, known: Clues) -> Floats: ...

    def random_worlds_of(self, known: Clues) -> Floats: ...

    def populations(
        self, codes: Ints, rng: np.random.Generator, many: int
    ) -> tuple[Floats, list[Floats]]: ...

    def weights_drawn(
        self, known: Sequence[Clues], rng: np.random.Generator, many: int
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
        sums = np.zeros((_BATCHES, codes.shape[1], pi.shape[1]))
        many = self.many // _BATCHES
        step = max(1, _AT_ONCE // max(codes.shape[1] * pi.shape[1], 1))
        for batch in range(_BATCHES):
            for start in range(batch * many, (batch + 1) * many, step):
                block = slice(start, min(start + step, (batch + 1) * many))
                total = np.log(np.maximum(pi[block], 1e-300))[:, None, :]
                for log, (_, place) in zip(logs, rows, strict=True):
                    total = total + np.swapaxes(log[block], 1, 2)[:, place, :]
                total -= total.max(axis=2, keepdims=True)
                sums[batch] += normalised(np.exp(total)).sum(axis=0) / many
        return replicates(sums)

    def learner_of(self, known: Sequence[tuple[float, Clues]]) -> Floats:
        """The same of one victim: replicates by values."""
        rng = np.random.default_rng([self.seed, 17])
        drawn = self.learnt.weights_drawn([victim for _, victim in known], rng, self.many)
        shares = normalised(drawn @ np.array([weight for weight, _ in known]))
        many = self.many // _BATCHES
        by_batch = shares[: many * _BATCHES].reshape(_BATCHES, many, -1).mean(axis=1)
        return replicates(by_batch)


# How she who asks sees people: exactly, or some columns only, or not surely.


def blurred(weights: Floats, noise: float) -> Floats:
    """P(seen | value) where the column is seen wrong with a chance, any other value as likely.

    `weights` are those of what is seen; 1 for one value, or for each of several.
    """
    others = (weights.sum() - weights) / max(len(weights) - 1, 1)
    seen: Floats = (1 - noise) * weights + noise * others
    return seen


@dataclass(frozen=True)
class Sight:
    """What everybody believes of people whose quasi-identifiers are known exactly."""

    learnt: Learnt
    ideal: Ideal
    conditional: Conditional | None

    def beliefs(self, codes: Ints, where: Located) -> dict[str, Floats]:
        """By whose they are: replicates by people by values."""
        learnt, conditional = self.learnt, self.conditional
        return {
            "attacker": learnt.attacker(codes, where),
            "learner": learnt.learner(codes, where)
            if conditional is None
            else conditional.learner(codes),
            "random_worlds": learnt.random_worlds(codes, where),
            "ideal": self.of_ideal(codes),
        }

    def of_ideal(self, codes: Ints) -> Floats:
        """What the ideal learner believes alone."""
        return self.ideal.learner(codes)[None]


@dataclass(frozen=True)
class BlurredSight(Sight):
    """The same of people who are seen as they are, by somebody who is not sure of what she sees.

    `noise` has for each column the chance that what is seen of it is wrong; None: it is not seen.
    """

    domains: tuple[Domain, ...]
    noise: tuple[float | None, ...]

    def beliefs(self, codes: Ints, where: Located) -> dict[str, Floats]:
        learnt, learner = self.learnt, self.conditional or self.learnt
        asked: dict[str, Callable[[Clues], Floats]] = {
            "attacker": learnt.attacker_of,
            "learner": lambda victim: learner.learner_of([(1.0, victim)]),
            "random_worlds": learnt.random_worlds_of,
            "ideal": self._ideal_of,
        }
        return self._asked(codes, asked)

    def of_ideal(self, codes: Ints) -> Floats:
        return self._asked(codes, {"ideal": self._ideal_of})["ideal"]

    def _ideal_of(self, victim: Clues) -> Floats:
        return self.ideal.learner_of([(1.0, victim)])[None]

    def _asked(self, codes: Ints, asked: dict[str, Callable[[Clues], Floats]]) -> dict[str, Floats]:
        seen = [place for place, noise in enumerate(self.noise) if noise is not None]
        kinds, kind = np.unique(codes[seen], axis=1, return_inverse=True)
        known = [self._known(dict(zip(seen, values, strict=True))) for values in kinds.T.tolist()]
        return {
            name: normalised(np.stack([ask(victim) for victim in known], axis=1))[:, kind.ravel()]
            for name, ask in asked.items()
        }

    def _known(self, seen: dict[int, int]) -> Clues:
        known: list[Floats | None] = [None] * len(self.domains)
        for place, code in seen.items():
            exact = np.zeros(len(self.domains[place]))
            exact[code] = 1.0
            known[place] = blurred(exact, self.noise[place] or 0.0)
        return known
