"""Thresholds that offices and agencies work by: conventions, whose numbers their owner may change.

`ema-0.09`: European Medicines Agency, policy 0070 (and Health Canada's guidance on public release):
the risk of finding somebody is at most 0.09. Read strictly that is groups of 12, as 1/11 = 0.0909.
`statistics-office`: files for science as handbooks of disclosure control describe them: groups of
3 (5 in others), extreme values in one category, no weights that tell how somebody was sampled.
`public-file`: a file anybody may download, by the strictest of what is measured here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Literal, get_args

from sfumato.adversaries.linkage.special_uniques import special_uniques
from sfumato.criteria.base import Criterion, Ruling, Verdict, judge, parameter
from sfumato.criteria.epsilon_privacy import EpsilonPrivacy
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.errors import PolicyError, SfumatoError, quoted
from sfumato.policy.rules.base import (
    FREE_TEXT,
    Against,
    JudgedRelease,
    Paragraph,
    RuleSet,
    counted,
    settled,
    unread,
)
from sfumato.policy.rules.free_text import text_paragraph
from sfumato.policy.rules.identifying_columns import KINDS, identifying
from sfumato.release.release import Release

RiskSummary = Literal["maximum", "average"]
Attacker = Literal["prosecutor", "journalist"]
_FEW = 3  # columns, by which SUDA looks for special uniques
_NUMBER = r"^[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?$"


def _identifiers(judged: JudgedRelease) -> Paragraph:
    """No direct identifiers: what names people by its column's name or by its cells."""
    name, statement = "identifiers", "nothing that names people directly"
    if judged.handed_out is None:
        return unread(name, statement)
    pairs = product(judged.columns, KINDS)
    objections = (against for column, kind in pairs for against in identifying(kind, column))
    return settled(name, statement, objections)


def _smallest(judged: JudgedRelease, k: int) -> Paragraph:
    """k-anonymity, judged as the criterion does."""
    verdict = judge(KAnonymity(k), judged.release)
    return _of_verdict("group size", f"everybody looks like {k - 1} others or more", verdict)


def _of_verdict(name: str, statement: str, verdict: Verdict) -> Paragraph:
    measured = "" if verdict.measured is None else f"measured {verdict.measured:g}"
    reason = "; ".join(filter(None, (measured if not verdict.holds else "", verdict.note)))
    return Paragraph(name, statement, verdict.status, reason)


@dataclass(frozen=True)
class RiskThreshold(RuleSet):
    """The risk of finding somebody is at most 0.09 (EMA policy 0070, Health Canada)."""

    name: ClassVar[str] = "ema-0.09"
    source: ClassVar[str] = "EMA policy 0070, external guidance 3.3; a convention"

    threshold: float = 0.09
    """The largest risk, above 0 and at most 1. Example: `threshold = 0.05`."""
    risk: RiskSummary = "maximum"
    """The "maximum" over people or the "average". Example: `risk = "average"`."""
    attack: Attacker = "prosecutor"
    """By a "prosecutor", who knows that her target is in the file, or a "journalist" with a
    register of the population. Example: `attack = "journalist"`.
    """

    def __post_init__(self) -> None:
        parameter(self.name, "threshold", self.threshold, above=0, most=1)
        for key, allowed in (("risk", get_args(RiskSummary)), ("attack", get_args(Attacker))):
            given = getattr(self, key)
            if not isinstance(given, str) or given not in allowed:
                raise PolicyError(
                    f"{self.name}: {key} = {quoted(given)} is not allowed; use "
                    f"{' or '.join(map(repr, allowed))}"
                )

    def paragraphs(self, judged: JudgedRelease) -> Iterator[Paragraph]:
        yield _identifiers(judged)
        yield text_paragraph(judged, FREE_TEXT)
        yield self._risk(judged)
        yield Paragraph(
            "context",
            "what the data are used for, by whom, under which contract",
            "not_applicable",
            "no adjustment is made: an attempt is taken for certain",
        )

    def _risk(self, judged: JudgedRelease) -> Paragraph:
        statement = f"{self.risk} risk ≤ {self.threshold:g} ({self.attack})"
        linkage = judged.linkage
        linkage_risk = linkage.prosecutor if self.attack == "prosecutor" else linkage.journalist
        if linkage_risk is None:
            reason = linkage.reason or (
                "no register of the population was given (--population)"
                if self.attack == "journalist"
                else "group sizes are not known"
            )
            return Paragraph("risk", statement, "cannot_judge", reason)
        value = linkage_risk.highest if self.risk == "maximum" else linkage_risk.mean
        status: Ruling = "holds" if value <= self.threshold else "violated"
        at_most = "at most " if linkage_risk.at_most and self.risk == "average" else ""
        if status == "violated" and at_most:
            status = "cannot_judge"
        return Paragraph("risk", statement, status, f"measured {at_most}{value:.4g}")


@dataclass(frozen=True)
class StatisticsOffice(RuleSet):
    """A file for science: groups of `k`, extreme values shared, no weights, nobody special."""

    name: ClassVar[str] = "statistics-office"
    source: ClassVar[str] = "handbooks of statistical disclosure control; a convention"

    k: int = 3
    """How many people look alike, 2 or more; others ask for 5. Example: `k = 5`."""
    top: int = 3
    """How many people share the highest value of a number, and the lowest; 1 or more. Example: `top
    = 5`.
    """

    def __post_init__(self) -> None:
        parameter(self.name, "k", self.k, least=2, whole=True)
        parameter(self.name, "top", self.top, least=1, whole=True)

    def paragraphs(self, judged: JudgedRelease) -> Iterator[Paragraph]:
        yield _identifiers(judged)
        yield text_paragraph(judged, FREE_TEXT)
        yield _smallest(judged, self.k)
        yield self._special(judged)
        yield self._extremes(judged)
        yield self._weights(judged)
        yield Paragraph(
            "dominance",
            "nobody makes up most of a published sum",
            "not_applicable",
            "values are published one by one, no sums of them",
        )

    def _special(self, judged: JudgedRelease) -> Paragraph:
        """Who is unique by few columns is unique by all of them: none where nobody is."""
        statement = "nobody is unique, by few columns or by all"
        alone = judged.linkage.sample_uniqueness
        if alone is None:
            return Paragraph("special uniques", statement, "cannot_judge", judged.linkage.reason)
        if not alone:
            return Paragraph("special uniques", statement, "holds")
        people = round(alone * judged.linkage.people)
        reason = f"{people:,} unique{_by_few(judged.release)}"
        return Paragraph("special uniques", statement, "violated", reason)

    def _extremes(self, judged: JudgedRelease) -> Paragraph:
        """Top coding: the highest and the lowest number of a column are shared."""
        name, statement = "top coding", f"extreme values are shared by {self.top} or more"
        if judged.handed_out is None:
            return unread(name, statement)
        objections = []
        for column in judged.columns:
            cells = column.counts.cells
            if column.role in ("count", "weight") or not cells:
                continue
            if column.matching(_NUMBER) < cells:
                continue  # ranges and words: the group's size tells how many share them
            if column.listed is None:
                many = counted(column.name, cells, "of numbers, too many to list")
                objections.append(Against(many, sure=False))
                continue
            people = {float(text): n for text, n in column.listed.items()}
            few = [n for end in (min(people), max(people)) if (n := people[end]) < self.top]
            if few and len(people) > 2:
                objections.append(Against(counted(column.name, sum(few), "with an extreme number")))
        return settled(name, statement, objections)

    def _weights(self, judged: JudgedRelease) -> Paragraph:
        statement = "no survey weights of single people"
        schema = judged.release.schema
        if schema.weight is None or schema.publish_weight == "group":
            return Paragraph("weights", statement, "holds")
        there = any(column.name == schema.weight for column in judged.columns)
        if not there and schema.publish_weight is None:
            return Paragraph("weights", statement, "holds")
        reason = f"{schema.weight}: a weight tells how somebody was sampled, and few have it"
        return Paragraph("weights", statement, "violated", reason)


def _by_few(release: Release) -> str:
    """How many of those who are unique are so by few columns: the ones to coarsen first."""
    try:
        uniques = special_uniques(release, _FEW)
    except SfumatoError:
        return ""
    return f", {uniques.special:,} of them by {_FEW} columns or fewer: coarsen these first"


@dataclass(frozen=True)
class PublicFile(RuleSet):
    """A file anybody may download: groups of `k`, every sensitive column bounded, none kept."""

    name: ClassVar[str] = "public-file"
    source: ClassVar[str] = "the strictest of what is measured here; a convention"

    k: int = 10
    """How many people look alike, 2 or more. Example: `k = 20`."""

    def __post_init__(self) -> None:
        parameter(self.name, "k", self.k, least=2, whole=True)

    def paragraphs(self, judged: JudgedRelease) -> Iterator[Paragraph]:
        yield _identifiers(judged)
        yield text_paragraph(judged, FREE_TEXT)
        yield self._kept(judged)
        yield _smallest(judged, self.k)
        values = [
            criterion
            for criterion in judged.criteria
            if criterion.reads_values and not criterion.about_identity
        ]
        yield self._bounded(judged, "values", "every sensitive column is bounded", values)
        priors: list[Criterion] = [
            criterion for criterion in values if isinstance(criterion, EpsilonPrivacy)
        ]
        statement = "nobody with statistics from outside learns much"
        yield self._bounded(judged, "outside knowledge", statement, priors)

    def _kept(self, judged: JudgedRelease) -> Paragraph:
        schema = judged.release.schema
        unasked = [name for name in schema.kept if name not in schema.insist]
        objections = [
            Against(f"{name}: published as it is (insist = [...] allows it)") for name in unasked
        ]
        return settled("columns as they are", "none but insisted upon", objections)

    def _bounded(
        self, judged: JudgedRelease, name: str, statement: str, criteria: list[Criterion]
    ) -> Paragraph:
        """Whether for every sensitive column some criterion of these is required, and holds."""
        sensitive = judged.release.schema.sensitive
        if not sensitive:
            return Paragraph(name, statement, "not_applicable", "there is no sensitive column")
        verdicts = dict(zip(map(id, judged.criteria), judged.verdicts, strict=True))
        objections = []
        for column in sensitive:
            about = [
                criterion
                for criterion in criteria
                if column in (criterion.sensitive or column, *criterion.joint)
            ]
            if not about:
                objections.append(Against(f"{column}: the policy requires nothing of it"))
            elif not any(verdicts[id(criterion)].holds for criterion in about):
                objections.append(Against(f"{column}: {about[0].name} does not hold"))
        return settled(name, statement, objections)
