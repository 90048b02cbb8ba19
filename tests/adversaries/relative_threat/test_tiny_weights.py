"""Products over many columns that no float holds: beliefs are those of enumeration all the same."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import sfumato as sf
from sfumato.adversaries.relative_threat.convergence import judge_traces, rhat_of
from tests.adversaries.relative_threat.tiny_releases import bucketized, victim
from tests.oracles.relative_oracle import Beliefs, Urns, bucket_worlds, enumerate_beliefs

Buckets = list[tuple[tuple[int, ...], list[tuple[int, ...]]]]
SIZE = 7  # values of a column
# Columns and prior weight: somebody like nobody else has a weight of 1e-384 or less for every
# value, who is like somebody in half of the columns one of 1e-192 or less.
TINY = [(32, Fraction(1, 10**12)), (40, Fraction(1, 10**20))]


def buckets_of(case: str, columns: int) -> Buckets:
    """Four people whose values are known, and some of whom one or more are like none of them."""

    def like(first: int, second: int) -> tuple[int, ...]:
        return (first,) * (columns // 2) + (second,) * (columns - columns // 2)

    known: Buckets = [((s,), [like(s, s)]) for s in range(3)]
    known.append(((0,), [(0, *like(4, 3)[1:])]))
    like_none = like(3, 4)
    unknown: dict[str, Buckets] = {
        "distinct": [((0, 1, 2), [like_none, like(0, 1), like(2, 0)])],
        "repeats": [((0, 1, 2, 2), [like_none, like(0, 1), like(2, 0), like(1, 2)])],
        "two buckets": [
            ((0, 1, 2), [like_none, like(0, 1), like(2, 0)]),
            ((0, 1), [like(5, 6), like(6, 5)]),
        ],
    }
    return known + unknown[case]


def asked_about(case: str, columns: int) -> list[tuple[int, ...]]:
    return sorted({row for _, people in buckets_of(case, columns)[4:] for row in people})


@cache  # all methods are compared with it
def enumerated(case: str, columns: int, weight: Fraction) -> list[Beliefs]:
    return enumerate_beliefs(
        bucket_worlds(buckets_of(case, columns)),
        Urns.even(3, [SIZE] * columns, weight),
        [{row: Fraction(1)} for row in asked_about(case, columns)],
    )


@pytest.mark.parametrize("method", ["sample", "auto", "tempered"])
@pytest.mark.parametrize("case", ["distinct", "repeats", "two buckets"])
@pytest.mark.parametrize(("columns", "weight"), TINY)
def test_beliefs_are_those_of_enumeration(
    columns: int, weight: Fraction, case: str, method: str
) -> None:
    asked, expected = asked_about(case, columns), enumerated(case, columns, weight)
    release = bucketized(buckets_of(case, columns), [SIZE] * columns, 3)
    found = sf.relative_threat(release, prior=float(weight), method=method, sweeps=3_000)
    assert found.status == ("exact" if method == "auto" else "converged")
    if method == "sample":  # a bucket that cannot be dealt anew stays as it is until it is tempered
        assert "tempered" not in found.method["buckets"]
    # What a learner makes of two buckets hangs on worlds so unlikely that no draws show them.
    known_by_draws = ("attacker",) if case == "two buckets" else ("attacker", "learner")
    for row, truth in zip(asked, expected, strict=True):
        for who in ("attacker", "learner") if method == "auto" else known_by_draws:
            believed = [float(share) for share in truth.shares(who)]
            answer = list(getattr(found, who)(victim(row)).values())
            assert answer == pytest.approx(believed, abs=1e-7 if method == "auto" else 0.04)
    shares = [share for truth in expected for share in truth.shares("attacker")]
    assert any(0.1 < share < 0.9 for share in shares)


def test_what_is_no_number_has_not_converged() -> None:
    traces = np.random.default_rng(0).normal(size=(4, 200, 2))
    traces[1, 7, 0] = np.nan
    rhat, ess, error = judge_traces(traces)
    assert (rhat[0], ess[0], error[0]) == (np.inf, 0, np.inf)
    assert rhat[1] < 1.1
    assert rhat_of(np.full((4, 50, 1), np.nan))[0] == np.inf
