"""What is done to the values of a column that is not a quasi-identifier, before it is published.

A perturbation is a frozen dataclass that says what it does, in full: it stands in the policy and,
with what it took from the data filled in, in the manifest, so that whoever receives the release can
correct for it. Its chance does not: that is in private/.

Two kinds. A *function* of the value (rounding, top and bottom coding, microaggregation) makes
coarser values: whatever a criterion says of these is true of people's own values as well, as it is
of a level of a hierarchy. What is altered *by chance* (noise, PRAM, rank swaps) is read by who
undoes it (`undo`): she weighs what each published value says of the true one.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from math import isfinite
from typing import ClassVar, Literal, Self, TypeGuard

import numpy as np
import pyarrow as pa

from sfumato.errors import InputError, PolicyError, quoted
from sfumato.numbers import Bools, Floats, exact, exact_text
from sfumato.schema.domain import Domain, build_domain
from sfumato.schema.region import MISSING, Value, text_of

_MOST_DECIMALS = 9  # that the values of a column are told by
_MOST_TOLD = 10_000  # values of which it is kept how many people had each
_WHOLE = float(1 << 53)
_ROUNDS = 500  # of estimating how true values are distributed
_STILL = 1e-10
_NOBODY = 1e-3  # people


@dataclass(frozen=True)
class Changed:
    """What a perturbation did to a table (private): cells whose value is another one now, and how
    many people had each value before and have it after, where that is few enough to be told."""

    cells: int
    before: Mapping[str, int] | None
    after: Mapping[str, int] | None

    @classmethod
    def between(cls, own: pa.Array, published: pa.Array) -> Changed:
        """What differs between a column's cells and those that are published."""
        texts = [texts_of(cells) for cells in (own, published)]
        cells = sum(
            before_text != after_text for before_text, after_text in zip(*texts, strict=True)
        )
        counted = [
            Counter(MISSING if text is None else text for text in column_texts)
            for column_texts in texts
        ]
        before, after = (tally if len(tally) <= _MOST_TOLD else None for tally in counted)
        return cls(cells, before, after)


def texts_of(cells: pa.Array) -> list[str | None]:
    """Values by their canonical texts: 5, 5.0 and "5" are one."""
    coded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode("encode")
    labels = [
        None if value is None else _canonical(value) for value in coded.dictionary.to_pylist()
    ]
    return [labels[code] for code in coded.indices.to_pylist()]


def _canonical(value: Value) -> str:
    text = text_of(value)
    number = exact(text)
    return text if number is None else exact_text(number)


@dataclass(frozen=True)
class Undone:
    """What a published value says: `belief[y, x]`, where x goes through the true `values`."""

    values: tuple[str, ...]
    belief: Floats


@dataclass(frozen=True)
class Perturbation(ABC):
    """What is done to a column's values, in full. A missing value stays missing."""

    kind: ClassVar[str]
    by_chance: ClassVar[bool] = False
    done: ClassVar[Literal["perturbed", "pseudonym"]] = "perturbed"
    by_value: ClassVar[bool] = False  # True: what becomes of a value does not depend on people

    @abstractmethod
    def apply(
        self, column: str, cells: pa.Array, chance: np.random.Generator
    ) -> tuple[pa.Array, Self]:
        """The cells as they are published, and this with what it took from the data filled in."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What is done, as a sentence goes on after the column's name and a colon."""

    @property
    def for_recipients(self) -> str:
        """How the column is to be analysed."""
        return ""

    def undo(
        self, domain: Domain, people: Floats, prior: Mapping[str, float] | None = None
    ) -> Undone:
        """What each published value says to who knows this, of one altered by chance.

        `people` have each of them; `prior` is what she believes of people's values before, by
        default what all published ones together say.
        """
        raise InputError(f"{self.kind} alters nothing by chance, so there is nothing to undo")

    def public(self) -> dict[str, object]:
        """As the manifest tells it."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            "kind": self.kind,
            **{name: value for name, value in given.items() if value is not None},
        }


@dataclass(frozen=True)
class NumberPerturbation(Perturbation):
    """One of numbers: `changed` is given those that are there."""

    def apply(
        self, column: str, cells: pa.Array, chance: np.random.Generator
    ) -> tuple[pa.Array, Self]:
        numbers, decimals = numbers_of(column, cells, self.kind)
        there = ~np.isnan(numbers)
        if not there.any():
            raise InputError(f"{self.kind}: column {column!r} holds no number at all")
        if np.isinf(numbers).any():
            raise InputError(
                f"{self.kind}: column {column!r} holds infinite numbers, which nothing changes; "
                "list them in missing"
            )
        changed, completed, decimals = self.changed(numbers[there], decimals, chance)
        published = np.full(len(numbers), np.nan)
        published[there] = np.round(changed, decimals) + 0.0  # no -0
        return number_cells(published, ~there), completed

    @abstractmethod
    def changed(
        self, numbers: Floats, decimals: int, chance: np.random.Generator
    ) -> tuple[Floats, Self, int]:
        """The numbers as published, this with all filled in, and how many decimals they have.

        `decimals`: how many the given numbers have.
        """


def numbers_of(column: str, cells: pa.Array, kind: str) -> tuple[Floats, int]:
    """A column's numbers, NaN where there is none, and how many decimals they have."""
    coded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode("encode")
    text = str(coded.dictionary.type) in ("string", "large_string", "string_view")
    domain, codes = build_domain(column, coded.dictionary, untyped=text)
    any_value = any(value is not None for value in domain.values)
    if any_value and domain.kind != "numeric":
        odd = sum(isinstance(value, str) and not _is_number(value) for value in domain.values)
        trouble = f"{odd:,} of its {len(domain):,} distinct values are no numbers"
        if domain.kind == "date":
            trouble = "it holds dates"
        raise InputError(
            f"{kind}: column {column!r} is to hold numbers, and {trouble}; list marks for no value "
            "in missing, choose another column, or use pram for words"
        )
    decimals = max((_decimals(value) for value in domain.values), default=0)
    return domain.numbers()[codes[coded.indices.to_numpy()]], min(decimals, _MOST_DECIMALS)


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def decimals_of(number: float) -> int:
    """How many decimals a number is written with."""
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def _decimals(value: object) -> int:
    return decimals_of(value) if isinstance(value, float) else 0


def number_cells(numbers: Floats, missing: Bools) -> pa.Array:
    """Numbers as cells: whole ones where all are."""
    known = numbers[~missing]
    if (known == np.rint(known)).all() and (np.abs(known) < _WHOLE).all():
        whole = np.where(missing, 0, numbers).astype(np.int64)
        return pa.array(whole, mask=missing)
    return pa.array(numbers, mask=missing)


def _is_finite_number(value: object) -> TypeGuard[float]:
    """Whether it is one, and not too large for a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return bool(abs(value) <= sys.float_info.max)


def positive(kind: str, name: str, value: object) -> None:
    """Refuse what is no number above 0."""
    if not (_is_finite_number(value) and value > 0):
        raise PolicyError(f"{kind}: {name} = {quoted(value)} is not allowed; use a number above 0")


def finite(kind: str, name: str, value: object) -> None:
    """Refuse what is no number."""
    if not _is_finite_number(value):
        raise PolicyError(f"{kind}: {name} = {quoted(value)} is not allowed; use a number")


def posterior(likelihood: Floats, people: Floats, prior: Floats | None) -> Floats:
    """belief[y, x] by Bayes' rule: prior[x] likelihood[y, x], over its sum.

    Without a prior: how true values are distributed, as all published ones make most likely (by
    expectation and maximisation), but for those of which it is less than a thousandth of a person.
    A published value that the prior does not explain is read by likelihood alone.
    """
    if prior is None:
        prior = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
        for _ in range(_ROUNDS):
            again = people @ _by_bayes(likelihood, prior) / people.sum()
            still = np.abs(again - prior).max() < _STILL
            prior = again
            if still:
                break
        prior = np.where(prior * people.sum() < _NOBODY, 0.0, prior)
    return _by_bayes(likelihood, prior)


def _by_bayes(likelihood: Floats, prior: Floats) -> Floats:
    joint = likelihood * prior
    total = joint.sum(axis=1)
    unexplained = total <= 0
    if unexplained.any():
        joint[unexplained] = likelihood[unexplained]
        total = joint.sum(axis=1)
    belief: Floats = joint / np.maximum(total, np.finfo(float).tiny)[:, None]
    return belief


def given_prior(prior: Mapping[str, float] | None, values: tuple[str, ...]) -> Floats | None:
    """A prior by value, as shares."""
    if prior is None:
        return None
    weights = np.array([float(prior.get(value, 0.0)) for value in values])
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise InputError("prior: give the values of the column, with numbers of 0 or more")
    shares: Floats = weights / weights.sum()
    return shares
