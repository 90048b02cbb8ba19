"""Differential privacy (Dwork, McSherry, Nissim, Smith 2006; with delta: Dwork et al. 2006).

The adversary knows what she likes, everybody else's record included, and sees the release. Had one
person's record been another one, every outcome would have been nearly as likely, within a factor
e^epsilon but for a probability delta; so nothing she sees tells her much about that person
(`adversaries/randomised.py` says how much). This is a promise of how a release was made,
not a property of its counts: it is read from the release's guarantee. A release that was not
randomised makes no such promise, however its counts look: epsilon is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import ClassVar

import numpy as np

from sfumato.adversaries.randomised import NAME
from sfumato.criteria.at_end import JudgedAtEnd
from sfumato.criteria.base import Measure, Verdict, parameter, summarize
from sfumato.errors import InputError, PolicyError, did_you_mean
from sfumato.numbers import shortest
from sfumato.release.groups import Groups
from sfumato.release.guarantee import RELATIONS, PrivacyLoss, Relation

_LARGEST = 30.0  # epsilon whose factor is told as a number


@dataclass(frozen=True)
class DifferentialPrivacy(JudgedAtEnd):
    """The release was made with at most this epsilon and delta, by this relation of neighbours."""

    name: ClassVar[str] = "differential-privacy"
    plain: ClassVar[str] = "one person makes nothing over {0.factor} times as likely{0.but_for}"
    adversary: ClassVar[str] = NAME
    reads_values: ClassVar[bool] = False
    of_noise: ClassVar[bool] = True
    # Merging cells of a noisy table is post-processing, and no other release holds.
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = True

    epsilon: float
    """The largest epsilon, 0 or more. Example: `epsilon = 1.0`."""
    delta: float = 0.0
    """The largest delta, from 0 to 1. Example: `delta = 1e-6`."""
    neighbours: Relation = "replace-one"
    """Tables that differ in one person: hers is another's ("replace-one"), or she is not in it
    ("add-remove"). Example: `neighbours = "add-remove"`.
    """

    def __post_init__(self) -> None:
        parameter(self.name, "epsilon", self.epsilon, least=0)
        parameter(self.name, "delta", self.delta, least=0, most=1)
        if self.neighbours not in RELATIONS:
            raise PolicyError(
                f"{self.name}: neighbours = {self.neighbours!r} is not known; "
                f"{did_you_mean(self.neighbours, RELATIONS)}"
            )

    @property
    def required(self) -> str:
        delta = f", delta ≤ {shortest(self.delta)}" if self.delta else ""
        return f"epsilon ≤ {shortest(self.epsilon)}{delta} ({self.neighbours})"

    @property
    def factor(self) -> str:
        """By how much one person's record may change the chance of whatever is published."""
        return f"{exp(self.epsilon):.3g}" if self.epsilon < _LARGEST else "any number of"

    @property
    def but_for(self) -> str:
        return f", but for a chance of {self.delta:.2g}" if self.delta else ""

    def inapplicable(self, groups: Groups) -> str:
        # A noisy table may have lost all its people; its promise stands.
        return "" if groups.guarantee is not None else super().inapplicable(groups)

    def _promised(self, groups: Groups) -> PrivacyLoss | None:
        return None if groups.guarantee is None else groups.guarantee.under(self.neighbours)

    def measure(self, groups: Groups) -> Measure:
        reason = self.inapplicable(groups)
        if reason:
            raise InputError(f"{self.name} cannot be measured: {reason}")
        loss = self._promised(groups)
        epsilon = np.inf if loss is None else loss.epsilon
        parts = {} if loss is None else {"delta": loss.delta}
        return summarize(groups, np.full(len(groups), epsilon), "at_most", parts)

    def verdict(self, groups: Groups) -> Verdict:
        reason = self.inapplicable(groups)
        if reason:
            return self.unjudged("not_applicable", reason)
        loss = self._promised(groups)
        holds = loss is not None and loss.epsilon <= self.epsilon and loss.delta <= self.delta
        measure = self.measure(groups)
        to_everybody = groups.guarantee is not None  # a promise to everybody: no group is worse off
        return Verdict(
            self.name,
            "holds" if holds else "violated",
            np.inf if loss is None else loss.epsilon,
            self.required,
            () if to_everybody else measure.worst,
            None if to_everybody else np.asarray(measure.per_group, dtype=np.float64),
            measure.sense,
            note=self._note(groups, loss),
        )

    def _note(self, groups: Groups, loss: PrivacyLoss | None) -> str:
        if loss is not None:
            return f"delta {loss.delta:g}" if loss.delta else ""
        if groups.guarantee is None:
            return "the release was not randomised: no guarantee of this kind"
        return f"its guarantee is by {groups.guarantee.neighbours} only"
