"""A bound on relative threat: refrain from publishing what tells more of persons than of people.

Boreale, Corradi, Viscardi: Relative Privacy Threats and Learning From Anonymized Data (IEEE TIFS
2020). The attacker knows that her victim is in the release; the learner does not.
Ti = p_A / p_L is how much more surely she knows the true value of a threatened person, one whose
value is her best guess. No Ti may exceed `max_ti` (or, with `quantile` q, no more than a share
1 - q of the threatened people may), and with `max_rgt` the share of people guessed right may not be
that much larger for her than for the learner.

What both believe before, how the learner is read, what they are after, how they see people and
how beliefs are sampled is as `relative_threat` takes it. An attack that asked the same decides, or
one of its own.

It is judged on finished releases and with the original table: whose value is guessed right cannot
be told without, and what the learner believes of anybody depends on all groups together. Splitting
and merging may both raise or lower it, so a search can infer nothing. The lattice makes the nodes
that keep every other criterion into releases, the cheapest first (their regions are nested, so
beliefs are exact, in milliseconds), and takes the first that holds; Mondrian, whose ranges cross
and must mostly be sampled, tries a few sizes of groups. Where beliefs were sampled, what lies
within three standard errors of the bound is not decided, and chains that did not converge decide
nothing.

Where people have several rows, it bounds what is learnt of the value of a row that is known by its
quasi-identifiers, and says so; not whether somebody has the value in any of her rows
(`adversaries.relative_threat.by_row`).

Groups alone, without what they publish, are read as if each were one value of a single
quasi-identifier. That reading can show that the bound is violated; it never shows that it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.base import Asked, Attack
from sfumato.adversaries.priors import PriorGiven, parse_prior
from sfumato.adversaries.relative_threat.by_row import judged_groups
from sfumato.adversaries.relative_threat.chains import CHAINS, ESS, SWEEPS
from sfumato.adversaries.relative_threat.guesses import SURE, Belief, GainGiven, parse_gain
from sfumato.adversaries.relative_threat.learnt import DRAWS, LearnerReading
from sfumato.adversaries.relative_threat.model import LEARNER
from sfumato.adversaries.relative_threat.relative import MembershipAttacker, Method, VictimNoise
from sfumato.adversaries.relative_threat.result import (
    ATTACKER,
    RelativeThreat,
    exact_ti,
    undefined,
)
from sfumato.criteria.at_end import JudgedAtEnd
from sfumato.criteria.base import (
    Measure,
    Ruling,
    Verdict,
    groups_about,
    parameter,
    worst_of,
)
from sfumato.criteria.exact import NEAR
from sfumato.criteria.steps import FACTORS, SHARES, Ladder
from sfumato.errors import InputError, PolicyError, SfumatoError
from sfumato.numbers import Floats, fraction, shortest
from sfumato.release.build import checked_joint
from sfumato.release.description import Regions, Singletons
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.roles import Schema
from sfumato.table import Table

MOST_TIES = 1_000  # cases decided in fractions; what is beyond counts as above the bound
_DENOMINATORS = 10**6  # of what somebody gains, as a fraction
NO_REGIONS = "what the groups publish is not known, only that they are told apart"
NO_TABLE = (
    "it takes the original table to tell whose value is guessed right: audit with --table, or "
    "attack relative with --table"
)


@dataclass(frozen=True)
class RelativeThreatBound(JudgedAtEnd):
    """No threatened person's Ti exceeds `max_ti`, but for a share 1 - `quantile` of them."""

    name: ClassVar[str] = "relative-threat"
    plain: ClassVar[str] = "being in it makes no value over {0.max_ti:.4g} times as likely"
    adversary: ClassVar[str] = ATTACKER
    private: ClassVar[bool] = True
    of_several: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    merge_closed: ClassVar[bool] = False
    upward_closed: ClassVar[bool] = False
    ladders: ClassVar[tuple[Ladder, ...]] = (
        Ladder("max_ti", FACTORS),
        Ladder("quantile", (0.5, 0.75, 0.9, 0.95, 0.99, 1)),
        Ladder("max_rgt", SHARES),
    )

    max_ti: float
    """The largest Ti = p_A / p_L, above 0. Example: `max_ti = 2.0`."""
    _: KW_ONLY
    quantile: float | None = None
    """The share of threatened people who must keep it, above 0 and at most 1; without it all.
    Example: `quantile = 0.95`.
    """
    max_rgt: float | None = None
    """The largest GT_A - GT_L, from 0 to 1: how many more people the attacker guesses right.
    Example: `max_rgt = 0.1`.
    """
    joint: Sequence[str] = ()  # type: ignore[misc]
    prior: PriorGiven = "uniform"
    """What both believe before: "uniform", a weight, weights by column or value, or a table of
    other people in a file. Example: `prior = { age = 2.0 }`.
    """
    weight: float = 1.0
    """The prior weight of every value that `prior` says nothing of, above 0. Example: `weight =
    0.5`.
    """
    learner: LearnerReading = "joint"
    """She conditions the expected population ("joint") or averages over populations
    ("conditional"). Example: `learner = "conditional"`.
    """
    gain: GainGiven = "value"
    """What they are after: "value", "top 3" (it is among three that are named), worths by value,
    gains by action and value, or of people's several values the whole "list". Example: `gain = "top
    3"`.
    """
    known: Sequence[str] | None = None
    """The columns they see of people; without it all. Example: `known = ["age", "sex"]`."""
    noise: VictimNoise = 0.0
    """The chance that what they see of a column is wrong, one for all or by column; from 0 to below
    1. Example: `noise = 0.05`.
    """
    method: Method = "auto"
    """Exact where that can be done and sampled else ("auto"), "exact" or nothing, or one of the
    samplers. Example: `method = "exact"`.
    """
    seed: int = 0
    """Of the samplers. Example: `seed = 7`."""
    chains: int = CHAINS
    """How many are sampled. Example: `chains = 6`."""
    ess: float = ESS
    """Effective draws that the worst belief must have. Example: `ess = 1000.0`."""
    sweeps: int = SWEEPS
    """The most that each chain makes. Example: `sweeps = 64000`."""
    seconds: float | None = None
    """The longest that sampling may take. Example: `seconds = 60.0`."""
    draws: int = DRAWS
    """Populations that a "conditional" learner averages over. Example: `draws = 10000`."""

    def __post_init__(self) -> None:
        parameter(self.name, "max_ti", self.max_ti, above=0)
        if self.quantile is not None:
            parameter(self.name, "quantile", self.quantile, above=0, most=1)
        if self.max_rgt is not None:
            parameter(self.name, "max_rgt", self.max_rgt, least=0, most=1)
        object.__setattr__(self, "joint", checked_joint(self.name, self.joint, self.sensitive))
        use = replace(LEARNER, user=self.name, error=PolicyError)
        object.__setattr__(self, "prior", parse_prior(self.prior, use))
        object.__setattr__(self, "gain", parse_gain(self.gain, self.name, PolicyError))
        for name in ("seed", "chains", "sweeps", "draws"):
            parameter(self.name, name, getattr(self, name), whole=True, least=0)
        for name in ("weight", "ess", "seconds"):
            if getattr(self, name) is not None:
                parameter(self.name, name, getattr(self, name), above=0)
        try:
            question = self.attacker.question
        except InputError as error:
            raise PolicyError(f"{self.name}: {error}") from None
        object.__setattr__(self, "known", question.known)

    @cached_property
    def attacker(self) -> MembershipAttacker:
        """Whose beliefs are bounded, without the table that tells people's true values."""
        given = {f.name for f in fields(MembershipAttacker)} & {f.name for f in fields(self)}
        return MembershipAttacker(**{name: getattr(self, name) for name in given})

    @property
    def required(self) -> str:
        at_quantile = "" if self.quantile is None else f" at quantile {shortest(self.quantile)}"
        also = "" if self.max_rgt is None else f", RGT ≤ {shortest(self.max_rgt)}"
        return f"Ti ≤ {shortest(self.max_ti)}{at_quantile}{also}{self._asked}"

    @property
    def _asked(self) -> str:
        """What is asked otherwise than usually."""
        default = MembershipAttacker().question
        question = self.attacker.question
        words = {
            "a prior of its own": question.prior != default.prior,
            "learner conditional": question.reading != default.reading,
            f"gain: {question.gain.words}": not question.gain.is_default,
            f"{' and '.join(self.joint)} together": bool(self.joint),
            f"seen: {', '.join(question.known or ())}": question.known is not None,
            "seen with noise": bool(question.noise),
        }
        listed = [text for text, asked in words.items() if asked]
        return f" ({'; '.join(listed)})" if listed else ""

    def inapplicable(self, groups: Groups) -> str:
        listed = len(groups) > 0 and groups.width > 0 and groups.lists is not None
        return "" if listed else super().inapplicable(groups)

    # -- judging -------------------------------------------------------------------------------

    def measure(self, groups: Groups) -> Measure:
        reason = self.inapplicable(groups)
        if reason:
            raise InputError(f"{self.name} cannot be measured: {reason}")
        threat = self._alone(groups)
        return self._measure(groups, threat, self._status(threat)[0])

    def verdict(self, groups: Groups) -> Verdict:
        reason = self.inapplicable(groups)
        if reason:
            return self.unjudged("not_applicable", reason, groups)
        decided = self._decided(groups, self._alone(groups))
        if decided.status == "violated":
            return decided
        return replace(decided, status="cannot_judge", note=NO_REGIONS, threats=())

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        judged, about = judged_groups(release, groups)
        reason = self.inapplicable(about)
        if not reason and not judged.regions.contains_people:
            reason = f"a {release.scheme} release has no regions that contain its people's values"
        if reason:
            return self.unjudged("not_applicable", reason, groups)
        try:
            threat = self.attacker.attack(release, groups)
        except SfumatoError as error:
            return self.unjudged("cannot_judge", str(error), groups)
        return self.judge_threat(release, groups, threat)

    def judge_attacks(self, release: Release, attacks: Sequence[Attack]) -> Verdict | None:
        about = {groups.attribute: groups for groups in groups_about(self, release)}
        verdicts = {
            attack.attribute: self.judge_threat(release, about[attack.attribute], attack)
            for attack in attacks
            if isinstance(attack, RelativeThreat)
            and attack.attribute in about
            and self._asked_as(attack)
        }
        if not verdicts:
            return None
        others = [groups for name, groups in about.items() if name not in verdicts]
        return worst_of(
            [*verdicts.values(), *(self.of_release(release, groups) for groups in others)]
        )

    def _asked_as(self, attack: RelativeThreat) -> bool:
        """Whether the attack asked what is bounded; what it sampled, until the same goal."""
        if attack.question != self.attacker.question:
            return False
        return attack.status == "exact" or attack.sampling == self.attacker.sampling

    def asked_with(self, release: Release, table: Table | None) -> Iterator[Asked]:
        attacker = replace(self.attacker, table=table)
        for groups in groups_about(self, release):
            if not undefined(release, groups):
                yield Asked(attacker, groups)

    def _alone(self, groups: Groups) -> RelativeThreat:
        """Of groups of which nothing is known but that they are told apart."""
        return replace(self.attacker, joint=(), known=None, noise=0.0).attack(_told_apart(groups))

    def judge_threat(self, release: Release, groups: Groups, threat: RelativeThreat) -> Verdict:
        """The verdict on what was found already."""
        groups = judged_groups(release, groups)[1]
        if threat.people is None:
            return self.unjudged("cannot_judge", NO_TABLE, groups)
        if not threat.people.total:
            return self.unjudged("cannot_judge", "nobody of the table is in the release", groups)
        verdict = self._decided(groups, threat)
        if threat.of_row is None:
            return verdict
        per: Literal["group", "row"] = "group" if release.by_row is None else "row"
        note = "; ".join((*threat.of_row.notes, verdict.note))
        verdict = replace(verdict, note=note, per=per, of_row=True)
        if verdict.holds and threat.of_row.only_less:
            return replace(verdict, status="cannot_judge", measured=None)
        return verdict

    def _decided(self, groups: Groups, threat: RelativeThreat) -> Verdict:
        status, words = self._status(threat)
        measure = self._measure(groups, threat, status)
        measures = threat.measures
        rgt = f"RGT {measures.rgt:.4g}"
        many = f"{measures.people:,} {threat.counted}"
        people = f"{measures.attacker.any_mode:,} of {many} threatened"
        note = "; ".join(text for text in (words, people, rgt) if text)
        verdict = self.decided(status, measure, groups, note)
        return replace(verdict, threats=tuple(threat.threats()))

    def _measure(self, groups: Groups, threat: RelativeThreat, status: Ruling) -> Measure:
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

    def _status(self, threat: RelativeThreat) -> tuple[Ruling, str]:
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
            share = f"Ti above {shortest(self.max_ti)} for {least:,} {threat.counted}"
            return "violated", share if least else ""
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
        possible = Fraction(rows.possible).limit_denominator(_DENOMINATORS)
        above = max(gap_exact, Fraction(0)) > bound * possible
        return above, not above


def _hits(belief: Belief, n: npt.NDArray[np.int64]) -> Fraction:
    """What is gained of all people, exactly: a gain divided among a few best actions is short."""
    gains, kind = np.unique(belief.hit, return_inverse=True)
    people = np.bincount(kind, weights=n, minlength=len(gains)).astype(np.int64)
    return sum(
        (
            Fraction(gain).limit_denominator(_DENOMINATORS) * many
            for gain, many in zip(gains.tolist(), people.tolist(), strict=True)
        ),
        Fraction(0),
    )


def _told_apart(groups: Groups) -> Release:
    """Groups as a release whose only quasi-identifier is the group itself."""
    place, name = "(group)", groups.attribute or "value"
    domain = Domain(place, "categorical", tuple(f"{g:09d}" for g in range(len(groups))))
    codes = np.arange(len(groups), dtype=np.int32)[None]
    regions = Regions((place,), (Singletons(domain),), codes)
    return Release(Schema([place], [name]), {name: groups}, regions)
