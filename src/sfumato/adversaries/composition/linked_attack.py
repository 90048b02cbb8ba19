"""The intersection attack on releases whose rows a pseudonym links: whole people are looked for.

She knows all rows of her target, and finds the pseudonyms with the target's signature in every
release. What all of them leave are worlds, ways to give the target's rows values
(`linked_worlds.py`), and she asks of them what `linked_exposure.py` counts: which lists of all
values there are, and which values one of the rows has. Everybody is told by the one of these
respects in which the fewest are left, by its surest belief among equals; that a release exposes
somebody, or all together narrow her, is counted in whichever respect.

Beliefs. Beforehand any value is as likely as any other of any row. Release j says of a world in how
many ways it comes about there, m_j(w): a pseudonym with her signature, and an order of its rows
that look alike. As of one row a person, releases are taken for independent given her values, so the
posterior of giving each row its value is proportional to prod_j m_j(w).

Nothing is said where the criterion says nothing: what of somebody's rows a release holds must be
known, by what a table of everybody in these releases tells (`SignedPatterns.find`).

Stands apart: unlike in `attack.py` whole people are laid on whole pseudonyms, not rows on groups.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import factorial, prod
from typing import Literal

import numpy as np
import pyarrow as pa

from sfumato.adversaries.composition.attack import IntersectionAttack
from sfumato.adversaries.composition.intersected_people import IntersectedPeople
from sfumato.adversaries.composition.intersection import (
    IntersectedCases,
    common_attribute,
    match_values,
)
from sfumato.adversaries.composition.linked_worlds import (
    SOME_KNOWN,
    FoundSignatures,
    RowKinds,
    RowsCase,
    RowValues,
    RowWorlds,
    SignedPatterns,
    World,
    cases_of,
    list_of,
    respects_of,
)
from sfumato.adversaries.composition.summary import SummedFigures
from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.locating.targets import Targets, Truth
from sfumato.adversaries.priors import Prior, Uniform
from sfumato.counts.rows import PersonRows
from sfumato.errors import InputError
from sfumato.numbers import Floats, Ints, offsets_of
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.table import Table

NOT_WHOSE = (
    "the targets do not tell whose each row is, and people of linked rows are found by all of "
    "theirs; give the table the releases are about, with its person column (rows = 'linked')"
)
_NOTE = (
    "a pseudonym links rows, and everybody is told by the list of all her values or by the value "
    "of one of her rows, whichever has fewer left, of people whose rows are taken to be the same "
    "in all releases, as their counts are"
)
_JOINED = (
    "pseudonyms of one key join {0} and {1}: whoever has both has a person's rows together, which "
    "tell more than is worked out here; give each release a key of its own"
)
_BETWEEN = "; "  # the values of a list, and of a column in several rows


@dataclass(frozen=True, repr=False)
class LinkedIntersection(IntersectionAttack):
    """The same of people whose rows a pseudonym links: `_asked[i]` is what is told of case i."""

    _asked: tuple[str, ...] = field(repr=False, kw_only=True)

    @cached_property
    def targets(self) -> pa.Table:
        """Private: what is learnt about each target, `of` the list of all values or of a row."""
        assert self._whole is not None
        asked = pa.array(self._asked, pa.string()).take(pa.array(self._whole.people.case))
        return super().targets.append_column("of", asked)


@dataclass(frozen=True)
class _Respect:
    """What is left of somebody in one respect: `beliefs` by the values, one or a whole list."""

    cell: int  # -1: of all values
    before: tuple[int, ...]  # by release that has her
    beliefs: dict[RowValues, Fraction]

    @property
    def after(self) -> int:
        return len(self.beliefs)

    @property
    def surest(self) -> Fraction:
        return max(self.beliefs.values(), default=Fraction(0))

    @property
    def drop(self) -> int:
        return min(self.before) - self.after

    def right(self, truth: World) -> float:
        """The chance that guessing the likeliest is right, of any of the rows it is about."""
        likeliest = [values for values, belief in self.beliefs.items() if belief == self.surest]
        if self.cell < 0:
            return float(list_of(truth) in likeliest) / len(likeliest)
        own = Counter(truth[self.cell])
        return sum(own[label] for (label,) in likeliest) / own.total() / len(likeliest)


@dataclass(frozen=True)
class _Told:
    """What is told of a case: by its worst respect, and what is so in any of them."""

    worst: _Respect | None  # None: no release has her
    narrowed: bool = False
    exposed_by_one: bool = False

    @classmethod
    def of(cls, case: RowsCase, worlds: dict[int, dict[World, int]]) -> _Told:
        if not case.there:
            return cls(None)
        posterior = _posterior(list(worlds.values()))
        sizes = list(case.cells.values())
        by_release = [respects_of(set(worlds[j]), len(sizes) + 1) for j in case.there]
        respects = [
            _Respect(at - 1, before, _asked_of(posterior, at - 1, sizes))
            for at, before in enumerate(zip(*by_release, strict=True))
        ]
        return cls(
            min(respects, key=lambda left: (left.after, -left.surest, left.cell)),
            any(left.after and left.drop > 0 for left in respects),
            any(1 in left.before for left in respects),
        )


def _posterior(by_release: list[dict[World, int]]) -> dict[World, Fraction]:
    """How likely each world is that all releases allow; of cells, whose rows nobody tells apart."""
    left = set.intersection(*map(set, by_release))
    totals = [sum(_orders(world) * ways for world, ways in worlds.items()) for worlds in by_release]
    weights = {}
    for world in left:
        weights[world] = Fraction(_orders(world))
        for worlds, total in zip(by_release, totals, strict=True):
            weights[world] *= Fraction(worlds[world], total)
    everything = sum(weights.values())
    return {world: weight / everything for world, weight in weights.items()}


def _orders(world: World) -> int:
    """In how many orders the rows of each cell may have its values."""
    return prod(
        factorial(len(labels)) // prod(factorial(many) for many in Counter(labels).values())
        for labels in world
    )


def _asked_of(
    posterior: dict[World, Fraction], cell: int, sizes: list[int]
) -> dict[RowValues, Fraction]:
    """The belief in each list of all values or, of a cell, in each value of one of its rows."""
    beliefs: dict[RowValues, Fraction] = defaultdict(Fraction)
    for world, chance in posterior.items():
        if cell < 0:
            beliefs[list_of(world)] += chance
            continue
        for label, many in Counter(world[cell]).items():
            beliefs[(label,)] += chance * Fraction(many, sizes[cell])
    return dict(sorted(beliefs.items()))


def attack_linked(
    releases: Sequence[Release],
    targets: object,
    truth: Truth,
    prior: Prior,
    locate: Literal["nearest", "oracle"],
    sensitive: str | None,
) -> LinkedIntersection:
    """Attack everybody of a table who is in all of these releases, by all of her rows."""
    attribute = common_attribute(releases, sensitive)
    signed = [SignedPatterns.of(release, attribute) for release in releases]
    by_row = [release.by_row.groups_for(attribute) for release in releases if release.by_row]
    labels = [patterns.label for patterns in signed]
    shared = match_values(attribute, list(zip(labels, by_row, strict=True)))
    for place, release in enumerate(releases):
        for joined in release.joined_with(releases[:place]):
            raise InputError(_JOINED.format(joined, release.label))
    if not isinstance(targets, Table) or targets.rows is None:
        raise InputError(NOT_WHOSE)
    if targets.schema.knows != "all":
        raise InputError(SOME_KNOWN.format("ask"))
    if not isinstance(prior, Uniform):
        raise InputError(
            "a prior is of one value a person, and here a pseudonym links several; leave it out, "
            "and every value is as likely as any other beforehand"
        )
    if truth not in (None, attribute):
        raise InputError(
            f"truth: people of linked rows are told by their values of {attribute!r}; name that "
            "column, or leave the truth out"
        )
    if locate == "oracle":
        raise InputError("locate='oracle' tells people with one row each apart; use 'nearest'")
    located = [patterns.find(targets, attribute) for patterns in signed]
    everybody = _Everybody.of(targets.rows, located, attribute)
    row_worlds = RowWorlds(tuple(signed))
    answer_of: dict[RowsCase, _Told] = {}
    for case in everybody.cases:
        if case not in answer_of:
            answer_of[case] = _Told.of(case, row_worlds.of(case))
    by_case = [answer_of[case] for case in everybody.cases]
    people, number = everybody.targets(known=truth is not None), _numbered(by_case)
    cases = _intersected(everybody.cases, by_case, number)
    right = everybody.right(by_case) if truth is not None else None
    groups = [_located(everybody.cases, j) for j in range(len(releases))]
    sizes = [patterns.signatures.people for patterns in signed]
    none: list[tuple[float, int] | None] = [None] * len(releases)
    summary = SummedFigures.of(people, cases, groups, sizes, right, none).summary()
    counted = np.bincount(people.case, people.people, people.cases) * (cases.status == 0)
    whole = IntersectedPeople(people, cases, right)
    return LinkedIntersection(
        attribute,
        tuple(labels),
        replace(
            summary,
            vulnerable=int(counted[[case.narrowed for case in by_case]].sum()),
            exposed_by_one=int(counted[[case.exposed_by_one for case in by_case]].sum()),
        ),
        (_NOTE,),
        tuple(_BETWEEN.join(values) for values in number),
        _chances(number, len(shared.labels)),
        whole,
        (whole,),
        _asked=tuple(map(everybody.asked, range(len(by_case)), by_case)),
    )


RowTexts = tuple[tuple[str, ...], ...]  # row by row the values of its columns


@dataclass(frozen=True)
class _Everybody:
    """People by their rows: equal ones are a case; those of a case differ in their values.

    `rows[i]` are the rows of case i, `kinds[i]` their kinds by release; `truths` are the cases and
    values of people, so many of each.
    """

    columns: tuple[str, ...]
    rows: tuple[RowTexts, ...]
    kinds: tuple[tuple[RowKinds, ...], ...]
    cases: tuple[RowsCase, ...]
    truths: Counter[tuple[int, RowValues]]

    @classmethod
    def of(cls, rows: PersonRows, located: Sequence[FoundSignatures], attribute: str) -> _Everybody:
        texts = [
            [domain.labels[code] for code in codes.tolist()]
            for domain, codes in zip(rows.quasi, rows.codes, strict=True)
        ]
        place = [known.name for known in rows.sensitive].index(attribute)
        labels = rows.sensitive[place].domain.labels
        values = [labels[code] for code in rows.values[place].tolist()]
        by_row = list(zip(*texts, strict=True))
        number: dict[RowTexts, int] = {}
        kinds: list[tuple[RowKinds, ...]] = []
        cases: list[RowsCase] = []
        truths: Counter[tuple[int, RowValues]] = Counter()
        ends = offsets_of(np.bincount(rows.person)).tolist()
        own_cases = cases_of(list(located))
        for person, (low, high) in enumerate(pairwise(ends)):
            own = tuple(by_row[low:high])
            if own not in number:
                number[own] = len(number)
                kinds.append(tuple(zip(*(of[1][person] for of in located), strict=True)))
                cases.append(own_cases[person])
            truths[number[own], tuple(values[low:high])] += 1
        columns = tuple(domain.name for domain in rows.quasi)
        return cls(columns, tuple(number), tuple(kinds), tuple(cases), truths)

    def targets(self, *, known: bool) -> Targets:
        """As of one row a person: each column tells her values in all of her rows."""
        domains, codes = [], []
        for column, name in enumerate(self.columns):
            texts = [_BETWEEN.join(row[column] for row in own) for own in self.rows]
            code = {text: place for place, text in enumerate(dict.fromkeys(texts))}
            domains.append(Domain(name, "categorical", tuple(code)))
            codes.append([code[text] for text in texts])
        of_case = Counter[int]()
        for (case, _), many in self.truths.items():
            of_case[case] += many
        chosen = (
            [(case, many) for (case, _), many in self.truths.items()]
            if known
            else list(of_case.items())
        )
        case, people = np.array(chosen, dtype=np.int64).T
        return Targets(tuple(domains), np.array(codes, dtype=np.int32), case, people)

    def right(self, answers: Sequence[_Told]) -> Floats:
        """The chance that the likeliest value is that of the people of each row of the targets."""
        chances = []
        for case, values in self.truths:
            worst, by_cell = answers[case].worst, defaultdict[RowKinds, list[str]](list)
            for kinds, label in zip(self.kinds[case], values, strict=True):
                by_cell[kinds].append(label)
            world = tuple(tuple(sorted(by_cell[cell])) for cell in self.cases[case].cells)
            guessed = worst is not None and worst.after
            chances.append(worst.right(world) if worst is not None and guessed else np.nan)
        return np.array(chances)

    def asked(self, case: int, answer: _Told) -> str:
        """What is told of a case, in words."""
        if answer.worst is None or answer.worst.cell < 0:
            return "all values"
        cell = list(self.cases[case].cells)[answer.worst.cell]
        places = [
            f"{place:,}" for place, kinds in enumerate(self.kinds[case], start=1) if kinds == cell
        ]
        return f"row {' or '.join(places)}"


def _numbered(answers: Sequence[_Told]) -> dict[RowValues, int]:
    """A number for every value, one or a whole list, that is left of anybody."""
    number: dict[RowValues, int] = {}
    for case in answers:
        for values in () if case.worst is None else case.worst.beliefs:
            number.setdefault(values, len(number))
    return number


def _intersected(
    cases: Sequence[RowsCase], answers: Sequence[_Told], number: dict[RowValues, int]
) -> IntersectedCases:
    releases = len(cases[0].signatures)
    there = np.array([[signature >= 0 for signature in case.signatures] for case in cases]).T
    before = np.zeros((releases, len(cases)), dtype=np.int64)
    values: list[int] = []
    posterior: list[float] = []
    many = []
    for at, (case, of_case) in enumerate(zip(cases, answers, strict=True)):
        worst = of_case.worst
        if worst is not None:
            before[case.there, at] = worst.before
            values += [number[value] for value in worst.beliefs]
            posterior += map(float, worst.beliefs.values())
        many.append(0 if worst is None else worst.after)
    return IntersectedCases(
        there, before, offsets_of(many), np.array(values, dtype=np.int64), np.array(posterior)
    )


def _located(cases: Sequence[RowsCase], j: int) -> Located:
    """Whose signature each case has in a release."""
    signatures = [case.signatures[j] for case in cases]
    ends: Ints = offsets_of([int(signature >= 0) for signature in signatures])
    return Located(ends, np.array([at for at in signatures if at >= 0], dtype=np.int64))


def _chances(number: dict[RowValues, int], labels: int) -> Floats:
    """How likely each value or list was beforehand, any value of any row being as likely."""
    return np.array([_orders((values,)) / labels ** len(values) for values in number])
