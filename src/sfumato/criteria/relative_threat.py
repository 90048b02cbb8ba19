"""A bound on relative threat: refrain from publishing what tells more of persons than of people.

Boreale, Corradi, Viscardi: Relative Privacy Threats and Learning From Anonymized Data (IEEE TIFS
2020). The attacker knows that her victim is in the release; the learner does not.
Ti = p_A / p_L is how much more surely she knows the true value of a threatened person, one whose
value is her best guess. No Ti may exceed `max_ti` (or, with `quantile` q, no more than a share
1 - q of the threatened people may), and with `max_rgt` the share of people guessed right may not be
that much larger for her than for the learner.

It is judged on finished releases and with the original table: whose value is guessed right cannot
be told without, and what the learner believes of anybody depends on all groups together. Splitting
and merging may both raise or lower it, so a search can infer nothing. The lattice makes the nodes
that keep every other criterion into releases, the cheapest first (their regions are nested, so
beliefs are exact, in milliseconds), and takes the first that holds; Mondrian, whose ranges cross
and must mostly be sampled, tries a few sizes of groups. Where beliefs were sampled, what lies
within three standard errors of the bound is not decided, and chains that did not converge decide
nothing.

Groups alone, without what they publish, are read as if each were one value of a single
quasi-identifier. That reading can show that the bound is violated; it never shows that it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.base import Attack
from sfumato.adversaries.relative_threat.learnt import SURE, Belief
from sfumato.adversaries.relative_threat.relative import relative_threat
from sfumato.adversaries.relative_threat.result import ATTACKER, RelativeThreat, exact_ti
from sfumato.criteria.base import Measure, ReleaseCriterion, Status, Verdict, parameter, worst_of
from sfumato.criteria.exact import NEAR
from sfumato.criteria.steps import FACTORS, SHARES, Ladder
from sfumato.errors import InputError, SfumatoError
from sfumato.numbers import Floats, fraction, shortest
from sfumato.release.description import Regions, Singletons
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.roles import Schema

MOST_TIES = 1_000  # cases decided in fractions; what is beyond counts as above the bound
NO_REGIONS = "what the groups publish is not known, only that they are told apart"
NO_TABLE = (
    "it takes the original table to tell whose value is guessed right: audit with --table, or "
    "attack relative with --table"
)


@dataclass(frozen=True)
class RelativeThreatBound(ReleaseCriterion):
    """No threatened person's Ti exceeds `max_ti`, but for a share 1 - `quantile` of them.

    `max_rgt`: GT_A - GT_L stays within it as well.
    """

    name: ClassVar[str] = "relative-threat"
    adversary: ClassVar[str] = ATTACKER
    at_end: ClassVar[bool] = True
    private: ClassVar[bool] = True
    merge_closed: ClassVar[bool] = False
    upward_closed: ClassVar[bool] = False
    ladders: ClassVar[tuple[Ladder, ...]] = (
        Ladder("max_ti", FACTORS),
        Ladder("quantile", (0.5, 0.75, 0.9, 0.95, 0.99, 1)),
        Ladder("max_rgt", SHARES),
    )

    max_ti: float
    _: KW_ONLY
    quantile: float | None = None
    max_rgt: float | None = None

    def __post_init__(self) -> None:
        parameter(self.name, "max_ti", self.max_ti, above=0)
        if self.quantile is not None:
            parameter(self.name, "quantile", self.quantile, above=0, most=1)
        if self.max_rgt is not None:
            parameter(self.name, "max_rgt", self.max_rgt, least=0, most=1)

    @property
    def required(self) -> str:
        which = "" if self.quantile is None else f" at quantile {shortest(self.quantile)}"
        also = "" if self.max_rgt is None else f", RGT ≤ {shortest(self.max_rgt)}"
        return f"Ti ≤ {shortest(self.max_ti)}{which}{also}"

    # A search leaves it out (`at_end`); whoever splits groups one by one is not held up by it.

    def start(self, groups: Groups) -> object:
        return ()

    def split(self, state: object, parent: Groups, children: Groups) -> object | None:
        return state

    # -- judging -------------------------------------------------------------------------------

    def measure(self, groups: Groups) -> Measure:
        reason = self.inapplicable(groups)
        if reason:
            raise InputError(f"{self.name} cannot be measured: {reason}")
        threat = relative_threat(_told_apart(groups))
        return self._measure(groups, threat, self._status(threat)[0])

    def verdict(self, groups: Groups) -> Verdict:
        reason = self.inapplicable(groups)
        if reason:
            return self.unjudged("not_applicable", reason, groups)
        decided = self._decided(groups, relative_threat(_told_apart(groups)))
        if decided.status == "violated":
            return decided
        return replace(decided, status="cannot_judge", note=NO_REGIONS, threats=())

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        reason = self.inapplicable(groups)
        if not reason and not release.regions.contains_people:
            reason = f"a {release.scheme} release has no regions that contain its people's values"
        if reason:
            return self.unjudged("not_applicable", reason, groups)
        try:
            threat = relative_threat(release, sensitive=groups.attribute)
        except SfumatoError as error:
            return self.unjudged("cannot_judge", str(error), groups)
        return self.judge_threat(groups, threat)

    def judge_attacks(self, release: Release, attacks: Sequence[Attack]) -> Verdict | None:
        verdicts = [
            self.judge_threat(release.groups_for(attack.attribute), attack)
            for attack in attacks
            if isinstance(attack, RelativeThreat) and self.sensitive in (None, attack.attribute)
        ]
        return worst_of(verdicts) if verdicts else None

    def judge_threat(self, groups: Groups, threat: RelativeThreat) -> Verdict:
        """The verdict on what was found already."""
        if threat.people is None:
            return self.unjudged("cannot_judge", NO_TABLE, groups)
        if not threat.people.total:
            return self.unjudged("cannot_judge", "nobody of the table is in the release", groups)
        return self._decided(groups, threat)

    def _decided(self, groups: Groups, threat: RelativeThreat) -> Verdict:
        status, words = self._status(threat)
        measure = self._measure(groups, threat, status)
        measures = threat.measures
        rgt = f"RGT {measures.rgt:.4g}"
        people = f"{measures.attacker.any_mode:,} of {measures.people:,} people threatened"
        note = "; ".join(text for text in (words, people, rgt) if text)
        verdict = self.decided(status, measure, groups, note)
        return replace(verdict, threats=tuple(threat.threats()))

    def _measure(self, groups: Groups, threat: RelativeThreat, status: Status) -> Measure:
        rows, people = threat.judged, threat.people
        assert people is not None
        chosen = np.flatnonzero(rows.attacker.hit > 0)
        per_group = np.zeros(len(groups))
        known = chosen[people.group[chosen] >= 0]
        np.maximum.at(per_group, people.group[known], rows.ti[known])
        for case in chosen[people.group[chosen] < 0].tolist():
            place = people.tuples[case]
            fits = people.where.groups[people.where.indptr[place] : people.where.indptr[place + 1]]
            per_group[fits] = np.maximum(per_group[fits], rows.ti[case])
        overall = self._quantile(rows.ti[chosen], people.n[chosen])
        if status == "holds":  # a tie that was decided in fractions
            overall = min(overall, float(self.max_ti))
        parts = {"RGT": threat.measures.rgt}
        return Measure(per_group, groups.sizes, "at_most", parts, overall=overall)

    def _quantile(self, ti: Floats, n: npt.NDArray[np.int64]) -> float:
        """The least bound that would be kept: 0 where nobody is threatened."""
        if not len(ti):
            return 0.0
        order = np.argsort(ti)
        running = np.cumsum(n[order])
        share = Fraction(1) if self.quantile is None else fraction(self.quantile)
        needed = share * int(running[-1])
        return float(ti[order][np.searchsorted(running, float(needed) * (1 - 1e-12))])

    def _status(self, threat: RelativeThreat) -> tuple[Status, str]:
        if threat.status == "not_converged":
            assert threat.diagnostics is not None
            return "not_converged", threat.diagnostics.reason
        rows, people = threat.judged, threat.people
        assert people is not None
        sure = np.flatnonzero(rows.attacker.hit > 0)
        allowed = Fraction(0) if self.quantile is None else 1 - fraction(self.quantile)
        if rows.ti_error.any() or rows.attacker.error.any():
            maybe = np.flatnonzero(rows.attacker.short == 0)
            margin = SURE * rows.ti_error
            high = maybe[rows.ti[maybe] + margin[maybe] > self.max_ti]
            low = sure[rows.ti[sure] - margin[sure] > self.max_ti]
            most, least = int(people.n[high].sum()), int(people.n[low].sum())
        else:
            above = self._above(threat, sure)
            most = least = int(people.n[above].sum())
        limit = allowed * int(people.n[sure].sum())
        rgt_above, rgt_within = self._rgt(threat)
        if least > limit or rgt_above:
            share = f"Ti above {shortest(self.max_ti)} for {least:,} people" if least else ""
            return "violated", share
        if most <= limit and rgt_within:
            return "holds", ""
        return "not_converged", "the bound lies within the error of sampling"

    def _above(self, threat: RelativeThreat, cases: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The cases whose Ti exceeds the bound, near ones decided in fractions."""
        ti, bound = threat.judged.ti, float(self.max_ti)
        near = np.abs(ti[cases] - bound) <= NEAR * bound
        above = (ti[cases] > bound) & ~near
        for place in np.flatnonzero(near).tolist()[:MOST_TIES]:
            exact = exact_ti(threat, int(cases[place]))
            above[place] = exact is None or exact > fraction(self.max_ti)
        above[np.flatnonzero(near)[MOST_TIES:]] = True
        return cases[above]

    def _rgt(self, threat: RelativeThreat) -> tuple[bool, bool]:
        """Whether RGT surely exceeds its bound, and whether it surely does not."""
        if self.max_rgt is None:
            return False, True
        bound, error = fraction(self.max_rgt), SURE * threat.measures.errors["rgt"]
        if error:
            gap = threat.measures.gt_attacker - threat.measures.gt_learner
            return gap - error > self.max_rgt, gap + error <= self.max_rgt
        rows, people = threat.judged, threat.people
        assert people is not None
        gap_exact = _hits(rows.attacker, people.n) - _hits(rows.learner, people.n)
        above = max(gap_exact, Fraction(0)) > bound * people.total
        return above, not above


def _hits(belief: Belief, n: npt.NDArray[np.int64]) -> Fraction:
    """The expected number of people guessed right, exactly: each counts 1 / modes."""
    hit = belief.hit > 0
    modes = np.rint(1 / belief.hit[hit]).astype(np.int64)
    by_modes = np.bincount(modes, weights=n[hit]) if len(modes) else np.zeros(1)
    return sum(
        (Fraction(int(people), many) for many, people in enumerate(by_modes) if people), Fraction(0)
    )


def _told_apart(groups: Groups) -> Release:
    """Groups as a release whose only quasi-identifier is the group itself."""
    place, name = "(group)", groups.attribute or "value"
    domain = Domain(place, "categorical", tuple(f"{g:09d}" for g in range(len(groups))))
    codes = np.arange(len(groups), dtype=np.int32)[None]
    regions = Regions((place,), (Singletons(domain),), codes)
    return Release(Schema([place], [name]), {name: groups}, regions)
