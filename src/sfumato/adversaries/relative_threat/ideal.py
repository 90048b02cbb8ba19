"""The ideal learner: somebody who learns from the original table itself, in closed form.

p_I(s, r) = E[pi_s] prod_A E[theta_{A,s}(r_A)] with every count known. What she knows of the
population is the most any release can teach about people in general.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.generalized import Known
from sfumato.adversaries.relative_threat.model import soft_shares
from sfumato.adversaries.relative_threat.people import People
from sfumato.adversaries.relative_threat.prior import Prior
from sfumato.counts.counts import Ints
from sfumato.schema.domain import Domain

Floats = npt.NDArray[np.float64]


class Ideal:
    """Learnt from everybody's true values, suppressed people included."""

    def __init__(
        self, people: People, values: Domain, domains: Sequence[Domain], prior: Prior
    ) -> None:
        tuples, s, n = people.everybody
        self.seen = np.bincount(s, weights=n, minlength=len(values)).astype(np.float64)
        pi = prior.of_values(values) + self.seen
        self.log_pi: Floats = np.log(pi / pi.sum())
        self.log_theta: list[Floats] = []
        for domain, row in zip(domains, people.codes, strict=True):
            size = len(values) * len(domain)
            counts = np.bincount(s * len(domain) + row[tuples], weights=n, minlength=size)
            weights = counts.reshape(len(values), len(domain)) + prior.of_column(domain, values)
            self.log_theta.append(np.log(weights) - np.log(weights.sum(axis=1, keepdims=True)))

    def learner(self, codes: Ints) -> Floats:
        """p_I(s|r): people by values."""
        total = np.broadcast_to(self.log_pi, (codes.shape[1], len(self.log_pi)))
        for theta, row in zip(self.log_theta, codes, strict=True):
            total = total + theta[:, row].T
        return soft_shares(total)

    def learner_of(self, known: Known) -> Floats:
        """p_I(s, y), unnormalised, of one victim."""
        total = np.exp(self.log_pi)
        for theta, weights in zip(self.log_theta, known, strict=True):
            if weights is not None:
                total = total * (np.exp(theta) @ weights)
        return total
