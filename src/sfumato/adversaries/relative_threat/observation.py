"""What somebody knows of a victim: exact values, coarser ones, some columns only, or with noise.

For each column she knows a weight by value: P(what she saw | the true value). An exact value is
weight 1 on it; a region or a hierarchy's label is weight 1 on all it contains; an unknown column
has no weights; a noisy observation gives them outright. Noise that ties columns together is a list
of alternatives, each with its own weight.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.locating.population import inside_by_part
from sfumato.adversaries.relative_threat.generalized import Known
from sfumato.errors import InputError, did_you_mean, name_some
from sfumato.numbers import Floats
from sfumato.schema.domain import Domain
from sfumato.schema.notation import Axis, Notation
from sfumato.schema.region import Anything, Mask, Region, Span, ValueSet
from sfumato.schema.roles import Schema


@dataclass(frozen=True)
class Observer:
    """Reads what is known of a victim in the terms of a release's columns."""

    domains: tuple[Domain, ...]
    schema: Schema

    def read(self, victim: object) -> list[tuple[float, Known]]:
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

    def _known(self, victim: Mapping[object, object]) -> Known:
        names = [domain.name for domain in self.domains]
        for name in victim:
            if name not in names:
                raise InputError(
                    f"victim: {name!r} is not a quasi-identifier of the release; "
                    f"{did_you_mean(str(name), names)}"
                )
        return [
            self._weights(domain, victim[domain.name]) if domain.name in victim else None
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
        if isinstance(value, Anything | ValueSet | Span | Mask):
            region: Region | None = value
        else:
            code = domain.code(value)
            if code is not None:
                return [code]
            region = self._region(domain, value)
        if region is not None:
            ((_, codes),) = inside_by_part((region,), np.zeros(1, dtype=np.int64), domain)
            if len(codes):
                return list(codes)
        shown = value.text if isinstance(value, Anything | ValueSet | Span | Mask) else value
        raise InputError(
            f"victim: {domain.name} = {shown!r} is outside the domain of that column, which has "
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
        axes: dict[str, Axis] = {"numeric": "numeric", "date": "date"}
        return Notation(axes.get(domain.kind, "categorical"), closed=True).read(text)


def _weight(given: object, what: str) -> float:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not 0 <= given < math.inf:  # type: ignore[operator]
        raise InputError(f"victim: the probability of {what} is {given!r}; use a number from 0 on")
    return float(given)  # type: ignore[arg-type]
