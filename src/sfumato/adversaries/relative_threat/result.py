"""RelativeThreat: what was found, for the owner of the table.

Here too: what somebody knows of a victim, read from exact or coarse values; Ti in fractions, for
bounds that floating point cannot decide; the entries of the catalogue.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.adversaries.base import ALTERED, CatalogueEntry, Threat, ThreatStatus, farthest, moved
from sfumato.adversaries.priors import OutsideTable
from sfumato.adversaries.relative_threat.atoms import Clues, Generalized
from sfumato.adversaries.relative_threat.bucketized import Bucketized
from sfumato.adversaries.relative_threat.by_row import RowReading, judged_groups
from sfumato.adversaries.relative_threat.chains import Diagnostics, Goal
from sfumato.adversaries.relative_threat.exact_posterior import DirichletTree
from sfumato.adversaries.relative_threat.guesses import (
    CaseBeliefs,
    Gain,
    Guesses,
    judge_rows,
)
from sfumato.adversaries.relative_threat.learnt import (
    BlurredSight,
    Conditional,
    Ideal,
    LearnerReading,
    Sight,
    blurred,
)
from sfumato.adversaries.relative_threat.measures import (
    Faithfulness,
    Measures,
    faithfulness,
    measure,
)
from sfumato.adversaries.relative_threat.model import Weights, jackknife, normalised
from sfumato.adversaries.relative_threat.people import People
from sfumato.errors import InputError, did_you_mean, name_some
from sfumato.notebook import Displayed
from sfumato.numbers import Floats, fraction
from sfumato.release.description import Description
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.notation import Notation, NotationKind
from sfumato.schema.region import Region, codes_inside
from sfumato.schema.roles import Schema

# What somebody knows of a victim: exact values, coarser ones, some columns only, or with noise.
#
# For each column she knows a weight by value: P(what she saw | the true value). An exact value is
# weight 1 on it; a region or a hierarchy's label is weight 1 on all it contains; an unknown column
# has no weights; a noisy observation gives them outright. Noise that ties columns together is a
# list of alternatives, each with its own weight.


@dataclass(frozen=True)
class VictimReader:
    """Reads what is known of a victim in the terms of a release's columns.

    `noise`: the chance that what is seen of a column is wrong.
    """

    domains: tuple[Domain, ...]
    schema: Schema
    noise: Mapping[str, float] = field(default_factory=dict)

    def read(self, victim: object) -> list[tuple[float, Clues]]:
        """Alternatives with their weights; one of weight 1 unless several are given."""
        if isinstance(victim, Mapping):
            return [(1.0, self._known(victim))]
        if not isinstance(victim, Sequence) or isinstance(victim, str) or not victim:
            raise InputError(
                "a victim is a mapping of columns to what is known, such as {'age': 34}, or a list "
                "of (mapping, probability) pairs"
            )
        read = []
        for pair in victim:
            if not isinstance(pair, Sequence) or len(pair) != 2 or not isinstance(pair[0], Mapping):
                raise InputError("a noisy victim is a list of (mapping, probability) pairs")
            read.append((_weight(pair[1], "an alternative"), self._known(pair[0])))
        if not any(weight for weight, _ in read):
            raise InputError("all alternatives of the victim have probability 0")
        return read

    def _known(self, victim: Mapping[object, object]) -> Clues:
        names = [domain.name for domain in self.domains]
        for name in victim:
            if name not in names:
                raise InputError(
                    f"victim: {name!r} is not a quasi-identifier of the release; "
                    f"{did_you_mean(name, names)}"
                )
        return [
            blurred(self._weights(domain, victim[domain.name]), self.noise.get(domain.name, 0.0))
            if domain.name in victim
            else None
            for domain in self.domains
        ]

    def _weights(self, domain: Domain, given: object) -> Floats:
        if isinstance(given, Mapping):
            weights = np.zeros(len(domain))
            for value, weight in given.items():
                chosen = self._inside(domain, value)
                weights[chosen] = _weight(weight, f"{domain.name} = {value!r}")
            if not weights.any():
                raise InputError(f"victim: every value of {domain.name!r} has probability 0")
            return weights
        weights = np.zeros(len(domain))
        several = isinstance(given, list | tuple | set | frozenset)
        for value in given if several else [given]:  # type: ignore[attr-defined]
            weights[self._inside(domain, value)] = 1.0
        if not weights.any():
            raise InputError(f"victim: no value of {domain.name!r} is given")
        return weights

    def _inside(self, domain: Domain, value: object) -> list[int]:
        """The codes of what a value, a label or a notation stands for."""
        if isinstance(value, Region):
            region: Region | None = value
        else:
            code = domain.code(value)
            if code is not None:
                return [code]
            region = self._region(domain, value)
        if region is not None:
            ((_, codes),) = codes_inside((region,), np.zeros(1, dtype=np.int64), domain)
            if len(codes):
                return list(codes)
        written = value.text if isinstance(value, Region) else value
        raise InputError(
            f"victim: {domain.name} = {written!r} is outside the domain of that column, which has "
            f"{len(domain):,} values: {name_some(domain.labels)}"
        )

    def _region(self, domain: Domain, value: object) -> Region | None:
        """A label of the column's hierarchy, or a notation such as [30, 40) or 130**."""
        if not isinstance(value, str | int | float | dt.date):
            return None
        text = str(value)
        for level in self.schema.hierarchy(domain.name).bind(domain).levels:
            for region in level.regions:
                if region.text == text:
                    return region
        axes: dict[str, NotationKind] = {"numeric": "numeric", "date": "date"}
        return Notation(axes.get(domain.kind, "categorical"), closed=True).read(text)


def _weight(given: object, event: str) -> float:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not 0 <= given <= 1:  # type: ignore[operator]
        raise InputError(f"victim: the probability of {event} is {given!r}; use one from 0 to 1")
    return float(given)  # type: ignore[arg-type]


_OF_TARGET = "the target's quasi-identifiers"
LEARNER, ATTACKER = "population learner", "membership attacker"
ALL_COLUMNS = ""  # of all columns: the noise of each
SamplingOutcome = Literal["exact", "converged", "not_converged"]


class ValueProbabilities(dict[str, float]):
    """The probability of each sensitive value; `error` holds their Monte Carlo errors."""

    def __init__(self, labels: tuple[str, ...], figures: Floats) -> None:
        super().__init__(zip(labels, figures[0].tolist(), strict=True))
        self.error = dict(zip(labels, jackknife(figures).tolist(), strict=True))


@dataclass(frozen=True)
class Question:
    """What learner and attacker know before, how they see people, and what they are after.

    `prior`: weight, weights by column, and other people. `known`: the columns of which something is
    seen, None for all. `noise` by column, or of `ALL_COLUMNS`: the chance that it is seen wrong.
    """

    prior: tuple[float, Mapping[str, Weights], OutsideTable | None]
    reading: LearnerReading
    gain: Gain
    known: tuple[str, ...] | None
    noise: Mapping[str, float]

    def noise_of(self, column: str) -> float:
        return self.noise.get(column, self.noise.get(ALL_COLUMNS, 0.0))

    @property
    def clear(self) -> bool:
        """Whether everything is seen, and as it is."""
        return self.known is None and not self.noise


@dataclass(frozen=True)
class Sampling:
    """How beliefs are drawn where they are not exact; `draws` are those of a conditional p_L."""

    method: str
    seed: int
    goal: Goal
    draws: int


@dataclass(frozen=True, repr=False)
class RelativeThreat(Displayed):
    """What learner, attacker and random worlds believe after a release, and how they compare.

    A victim is a mapping of quasi-identifiers to what is known of them: an exact value, a label or
    notation (`"[30, 40)"`), several values, or {value: P(seen | value)}; columns left out are
    unknown. A list of (mapping, probability) pairs is a noisy observation of all columns together.

    `method` says how each column was learnt, `status` whether that can be trusted: "exact" where
    nothing was drawn, neither p_A nor p_L. `measures` and the private `rows` need the original
    table. `of_row`: people have several rows, one of which is asked about wherever people are.
    """

    attribute: str
    question: Question
    sampling: Sampling = field(repr=False)
    method: Mapping[str, str]
    status: SamplingOutcome
    diagnostics: Diagnostics | None
    notes: tuple[str, ...]
    values: Domain = field(repr=False)
    seed: int = field(repr=False)
    observer: VictimReader = field(repr=False)
    learnt: Generalized | Bucketized = field(repr=False)
    conditional: Conditional | None = field(repr=False)
    people: People | None = field(repr=False)
    known_ideal: Ideal | None = field(repr=False)
    guesses: Guesses = field(repr=False)
    described: Description = field(repr=False)
    of_row: RowReading | None = field(default=None, repr=False)

    @property
    def reading(self) -> LearnerReading:
        return self.question.reading

    @property
    def counted(self) -> str:
        """What is judged, as it is counted."""
        return "people" if self.of_row is None else "rows"

    def _in_short(self) -> tuple[str, ...]:
        subject = "ask it about a victim: .attacker({...}), .learner({...})"
        if self.people is not None:
            many = f"{self.people.n.sum():,} {self.counted}"
            subject = f"{many} of the table: .measures tells of them"
        return f"Relative threat to {self.attribute}: {self.status}", subject

    def attacker(self, victim: object) -> ValueProbabilities:
        """p_A: what somebody believes who knows that the victim is in the table."""
        asked = self.observer.read(victim)
        weights = sum((w * self.learnt.attacker_of(y) for w, y in asked), np.zeros((1, 1)))
        return self._guess(weights)

    def learner(self, victim: object) -> ValueProbabilities:
        """p_L: what somebody believes who does not know whether the victim is in the table."""
        asked = self.observer.read(victim)
        if self.conditional is not None:
            return self._guess(self.conditional.learner_of(asked))
        return self._guess(self.learnt.learner_of(asked))

    def random_worlds(self, victim: object) -> ValueProbabilities:
        """p_RW: what counting alone says, every value of a region being as likely."""
        asked = self.observer.read(victim)
        weights = sum((w * self.learnt.random_worlds_of(y) for w, y in asked), np.zeros((1, 1)))
        return self._guess(weights)

    def ideal(self, victim: object) -> ValueProbabilities:
        """p_I: what somebody believes who learnt from the original table."""
        asked: list[tuple[float, Clues]] = self.observer.read(victim)
        return self._guess(self._ideal.learner_of(asked)[None])

    def _guess(self, weights: Floats) -> ValueProbabilities:
        if not weights[0].sum() > 0:
            raise InputError(
                "no group of the release fits this victim's quasi-identifiers: she is not in it, "
                "or what is known of her is wrong"
            )
        return ValueProbabilities(self.values.labels, normalised(weights))

    @property
    def _ideal(self) -> Ideal:
        if self.known_ideal is None:
            raise InputError(
                "only the original table tells people's true values; give it: "
                "relative_threat(release, table)"
            )
        return self.known_ideal

    @cached_property
    def judged(self) -> CaseBeliefs:
        """Every case with all beliefs about it; private."""
        learnt = (self.learnt, self._ideal, self.conditional)
        assert self.people is not None
        if self.question.clear:
            return judge_rows(Sight(*learnt), self.people, self.guesses)
        known, domains = self.question.known, self.observer.domains
        noise = tuple(
            self.question.noise_of(domain.name) if known is None or domain.name in known else None
            for domain in domains
        )
        sight = BlurredSight(*learnt, domains, noise)
        return judge_rows(sight, self.people, self.guesses)

    @cached_property
    def faithfulness(self) -> Faithfulness | None:
        """RF; None in the conditional reading, which has no joint distribution to compare."""
        if self.conditional is not None:
            return None
        return faithfulness(self.learnt, self._ideal, self.seed)

    @cached_property
    def measures(self) -> Measures:
        """The paper's measures over everybody in the release."""
        seen, guesses = self._ideal.seen, self.guesses
        # One action for everybody, who is known to be in the table and no more.
        everybody = np.zeros(len(seen), dtype=np.int64), np.arange(len(seen))
        gained = guesses.judge((seen / seen.sum())[None, None], *everybody)[0][0] @ seen
        return measure(self.judged, self.faithfulness, float(gained / (guesses.most @ seen or 1)))

    @cached_property
    def rows(self) -> pa.Table:
        """One row a case, for the owner only: true values, beliefs, threatened or not, Ti."""
        rows, people = self.judged, self._people.require_each()
        columns: dict[str, object] = {}
        for domain, codes in zip(self.observer.domains, people.codes, strict=True):
            columns[domain.name] = pa.array(domain.labels).take(pa.array(codes[people.tuples]))
        columns[self.attribute] = pa.array(self.values.labels).take(pa.array(people.s))
        groups, place = np.unique(people.group, return_inverse=True)
        names = [None if group < 0 else self.described.name(group) for group in groups.tolist()]
        columns |= {"people": people.n, "group": pa.array(names, pa.string()).take(pa.array(place))}
        for name in ("attacker", "learner", "random_worlds", "ideal"):
            belief = getattr(rows, name)
            columns[f"p_{name}"] = belief.p
            columns[f"threatened_{name}"] = belief.hit
        columns |= {"ti": rows.ti, "ti_error": rows.ti_error}
        return pa.table(columns)

    @property
    def _people(self) -> People:
        assert self.people is not None
        return self.people

    def threats(self) -> list[Threat]:
        """The rows of the threat matrix."""
        by_row = self.of_row is not None
        known_of = "the quasi-identifiers of a row of the target" if by_row else _OF_TARGET
        knows = {
            LEARNER: f"{known_of}, and what the release tells of the population",
            ATTACKER: "the same, and that the target is in the release",
        }
        if self.status == "not_converged" or self.people is None:
            missing = "it takes the original table to tell who is guessed right"
            why = f"not measured: {missing if self.people is None else self._reason}"
            status: ThreatStatus = "not_measured" if self.people is None else "not_converged"
            return [
                Threat(name, known, why, self.attribute, status=status, of_row=by_row)
                for name, known in knows.items()
            ]
        rows, measures = self.judged, self.measures
        limits = "" if self.people.persons is None else " (who is in several groups, in each)"
        limits = limits if self.of_row is None else self.of_row.limits
        right = {
            name: f"{self.attribute}: {self._gained(share)}{limits}"
            for name, share in ((LEARNER, measures.gt_learner), (ATTACKER, measures.gt_attacker))
        }
        attacker = (
            f"{right[ATTACKER]}; knows somebody up to {measures.attacker.highest:.3g} times better "
            "than the population tells"
        )
        return [
            Threat(
                name,
                knows[name],
                learns,
                self.attribute,
                rows.people.headcount(moved(before, after)),
                farthest(before, after, rows.people.s, self.values.labels),
                of_row=by_row,
            )
            # What the attacker has beyond the learner is what the release says of its own people.
            for name, learns, before, after in (
                (LEARNER, right[LEARNER], self._base_rate(rows.people.s), rows.learner.p),
                (ATTACKER, attacker, rows.learner.p, rows.attacker.p),
            )
        ]

    def _base_rate(self, codes: npt.NDArray[np.int64]) -> Floats:
        """How common each of these values is in the table."""
        seen = self._ideal.seen
        return np.asarray(seen[codes] / seen.sum(), dtype=np.float64)

    def _gained(self, share: float) -> str:
        gain, many = self.question.gain, self.measures.people
        if gain.worth or gain.actions:
            return f"{share:.1%} of all there is to gain, {gain.words}"
        return f"{gain.words} for {round(share * many):,} of {many:,} {self.counted}"

    @property
    def _reason(self) -> str:
        return self.diagnostics.reason if self.diagnostics is not None else ""


# Ti of one person in fractions, for bounds that floating point cannot decide.


def exact_ti(threat: RelativeThreat, case: int) -> Fraction | None:
    """Ti of a case; None where beliefs are estimates, or people are not seen clearly."""
    learnt, people = threat.learnt, threat.people
    estimated = threat.conditional is not None or not threat.question.clear
    if estimated or people is None or not isinstance(learnt, Generalized):
        return None
    trees = [posterior for posterior in learnt.posteriors if isinstance(posterior, DirichletTree)]
    if len(trees) < len(learnt.posteriors):
        return None
    model, groups = learnt.model, learnt.model.groups
    place, own = int(people.tuples[case]), int(people.s[case])
    codes = [int(code) for code in people.codes[:, place]]
    weights = [
        (fraction(model.alpha[s]) + int(model.people[s]))
        * prod((tree.exact_mean(s, code) for tree, code in zip(trees, codes, strict=True)), start=1)
        for s in range(model.width)
    ]
    attacker: dict[int, Fraction] = {}
    where = people.where
    for group in where.groups[where.indptr[place] : where.indptr[place + 1]].tolist():
        for at in range(groups.indptr[group], groups.indptr[group + 1]):
            s = int(groups.indices[at])
            inside = (
                tree.exact_inside(s, int(tree.column.region_of[group]), code)
                for tree, code in zip(trees, codes, strict=True)
            )
            more = prod(inside, start=Fraction(int(groups.data[at])))
            attacker[s] = attacker.get(s, Fraction(0)) + more
    everybody = [attacker.get(s, Fraction(0)) for s in range(model.width)]
    p = [normalised(np.array([[float(w) for w in row]])) for row in (everybody, weights)]
    action = threat.guesses.choose(p[0], p[1], np.zeros(1, dtype=np.int64), np.array([own]))[0]
    gains = [fraction(gain) for gain in threat.guesses.payoffs(action).tolist()]
    p_a, p_l = (
        sum((gain * w for gain, w in zip(gains, row, strict=True) if gain), Fraction(0))
        / sum(row, Fraction(0))
        for row in (everybody, weights)
    )
    return p_a / p_l


def undefined(release: Release, groups: Groups) -> str:
    """Why nothing of the kind can be said of these groups; empty where it can."""
    if groups.beside.altered_by_chance:
        return ALTERED
    release, groups = judged_groups(release, groups)
    if not release.regions.contains_people:
        return (
            f"a {release.scheme} release has no regions that contain its people's values; relative "
            "threat is defined for generalized and bucketized releases"
        )
    if groups.width and not groups.single_valued and groups.lists is None:
        return (
            "people have several values each, and which of them one person has is not published; "
            "relative threat is defined for one value, or for whole lists"
        )
    return ""


_MEASURE = "audit with --table TABLE, or run: sfumato attack relative"
ENTRIES = (
    CatalogueEntry(
        LEARNER,
        "Does it teach about people not in it?",
        f"{_OF_TARGET}, and what the release tells of the population",
        "the sensitive value of anybody with given quasi-identifiers, in the release or not",
        _MEASURE,
        "on request",
        undefined=undefined,
    ),
    CatalogueEntry(
        ATTACKER,
        "Does being in it tell more about her?",
        "what the learner knows, and that the target is in the release",
        "the target's sensitive value, beyond what a learner would know",
        _MEASURE,
        "on request",
        ("relative-threat",),
        undefined=undefined,
    ),
)
