"""Characterizing a table or release larger than memory: every figure is that of memory."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ResourceError
from sfumato.report.characterization import WorstClass
from tests.table.beyond_memory import SCHEMA, beyond, rows


def by_value(worst: WorstClass) -> dict[str, Any]:
    """The worst class, whatever order its values stand in."""
    there = {worst.values[at]: share for at, share in zip(worst.places, worst.there, strict=True)}
    expected = dict(zip(worst.values, worst.expected, strict=True))
    return {
        "cells": dict(worst.cells),
        "people": worst.people,
        "there": dict(sorted(there.items())),
        "expected": dict(sorted(expected.items())),
        "only here": sorted(worst.only_here),
    }


def check_same(one: Any, other: Any, at: str = "") -> None:
    """Equal in every field: whole numbers and words exactly, others to the last digits."""
    if isinstance(one, WorstClass):  # values of a joint target stand in any order
        check_same(by_value(one), by_value(other), at)
    elif dataclasses.is_dataclass(one):
        assert type(one) is type(other), at
        for field in dataclasses.fields(one):
            if field.compare:
                name = f"{at}.{field.name}"
                check_same(getattr(one, field.name), getattr(other, field.name), name)
    elif isinstance(one, float):
        assert one == other or math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12), at
    elif isinstance(one, np.ndarray):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=at)
    elif isinstance(one, dict):
        assert list(one) == list(other), at
        for key in one:
            check_same(one[key], other[key], f"{at}[{key!r}]")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), at
        for place, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            check_same(mine, theirs, f"{at}[{place}]")
    else:
        assert one == other, at


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"max_size": 2, "targets": "*"},
        {"targets": ["ill", ("ill", "pay")], "prior": "uniform"},
        {"targets": ["pay"], "prior": {"given": ["sex"]}, "metrics": "all"},
        {"columns": ["age", "pay"], "targets": "ill"},
    ],
)
def test_every_figure_is_that_of_memory(how: dict[str, Any]) -> None:
    table = sf.read(rows(), SCHEMA, threads=1)
    expected = sf.characterize(table, **how)
    assert len(expected.findings) >= 3
    check_same(expected, sf.characterize(beyond(table, 250), **how))


def test_kept_columns_are_counted_by_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = dataclasses.replace(SCHEMA, sensitive=("ill",), keep=("pay",))
    expected = sf.characterize(sf.read(rows(), schema, threads=1), targets=["pay"])
    from sfumato.counts import stored

    monkeypatch.setattr(stored, "COPIES", 10**9)
    table = sf.read(rows(), schema, threads=1)
    assert not table.counts.fits_memory
    check_same(expected, sf.characterize(table, targets=["pay"]))


def test_a_release_of_such_a_table() -> None:
    table = sf.read(rows(), SCHEMA, threads=1)
    policy = sf.Policy([sf.KAnonymity(20)], sf.Lattice())
    memory, large = (sf.anonymize(one, policy, seed=1) for one in (table, beyond(table, 250)))
    assert memory.made.findings.levels == large.made.findings.levels
    check_same(sf.characterize(memory), sf.characterize(large))


def test_what_does_not_fit_says_so() -> None:
    table = sf.read(rows(), SCHEMA, threads=1)
    with pytest.raises(ResourceError, match="everybody's own classes leak needs all"):
        sf.characterize(beyond(table, 250), individuals=True)
    with pytest.raises(ResourceError, match=r"^4 columns have .* combinations of values, too many"):
        sf.characterize(beyond(table, 20))
