"""Accounting: sums are sums, the tighter figure is true and tighter, and nothing is invented."""

from __future__ import annotations

import math
import sys

import pytest

import sfumato as sf
from sfumato.adversaries.randomised import DELTA, Composed, compose
from sfumato.anonymizers.noise import calibrated
from sfumato.release.guarantee import PrivacyLoss


def pure(epsilon: float, **more) -> sf.Guarantee:
    return sf.Guarantee(epsilon, 0.0, "geometric", **more)


def gaussian(epsilon: float, delta: float) -> sf.Guarantee:
    drawing = calibrated("gaussian", epsilon, delta, "replace-one")
    return drawing.guarantee("replace-one", delta, public_total=False, unit="row")


def test_epsilons_and_deltas_add_up_as_the_decimals_they_are() -> None:
    found = compose([pure(0.1)] * 3)
    assert found.basic == PrivacyLoss(0.3, 0.0)
    assert found.releases == 3
    mixed = compose([pure(0.1), sf.Guarantee(0.2, 1e-6, "unknown"), gaussian(0.5, 1e-6)])
    assert mixed.basic.epsilon == pytest.approx(0.8)
    assert mixed.basic.delta == 2e-6


def exact_epsilon(epsilon: float, times: int, delta: float) -> float:
    """The true epsilon of so many randomised responses together, from all their outcomes.

    The worst case of any pure mechanisms of that epsilon (Kairouz, Oh, Viswanath 2015).
    """
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    chances = [
        (
            math.comb(times, k) * p**k * (1 - p) ** (times - k),
            math.comb(times, k) * p ** (times - k) * (1 - p) ** k,
        )
        for k in range(times + 1)
    ]
    low, high = 0.0, times * epsilon
    for _ in range(60):
        middle = (low + high) / 2
        failing = sum(max(0.0, a - math.exp(middle) * b) for a, b in chances)
        low, high = (middle, high) if failing > delta else (low, middle)
    return high


@pytest.mark.parametrize("times", [1, 5, 40, 200])
@pytest.mark.parametrize("epsilon", [0.05, 0.3])
def test_the_tighter_figure_is_never_below_the_truth(times: int, epsilon: float) -> None:
    found = compose([pure(epsilon)] * times)
    assert found.tighter is not None
    assert found.tighter.delta == DELTA
    assert found.tighter.epsilon >= exact_epsilon(epsilon, times, DELTA) - 1e-9
    rho = times * epsilon**2 / 2
    assert found.tighter.rho == pytest.approx(rho)
    assert found.tighter.epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / DELTA)) + 1e-9


def test_many_small_releases_are_better_off_and_few_are_not() -> None:
    many, few = compose([pure(0.1)] * 100), compose([pure(0.1)] * 2)
    assert many.best is many.tighter
    assert many.best.epsilon < 0.6 * many.basic.epsilon
    assert few.best is few.basic


def test_gaussian_releases_add_up_by_their_rho() -> None:
    one = gaussian(1.0, 1e-6)
    alone, four = compose([one]), compose([one] * 4)
    assert alone.tighter.epsilon == pytest.approx(one.epsilon, rel=1e-6)
    assert alone.tighter.delta == one.delta
    assert four.tighter.rho == pytest.approx(4 * one.rho)
    assert four.tighter.delta == four.basic.delta
    assert four.tighter.epsilon < 0.6 * four.basic.epsilon


def test_a_delta_of_unknown_making_is_spent_and_never_traded() -> None:
    unknown = sf.Guarantee(0.1, 1e-7, "unknown")
    found = compose([unknown] * 50)
    assert found.tighter is not None
    assert found.tighter.delta == pytest.approx(50e-7 + DELTA)
    nothing = compose([unknown] * 50, delta=4e-6)
    assert nothing.tighter is None
    assert "leaves nothing of 4e-06" in nothing.why
    assert nothing.best is nothing.basic


def test_the_delta_may_be_said() -> None:
    loose, strict = (compose([pure(0.1)] * 50, delta=d).tighter for d in (1e-3, 1e-9))
    assert loose.epsilon < strict.epsilon


def test_each_relation_has_its_own_sum_and_one_of_them_may_be_missing() -> None:
    both = pure(1.0, other=PrivacyLoss(0.5, 0.0))
    assert compose([both, both]).basic.epsilon == 2.0
    assert compose([both, both], neighbours="add-remove").basic.epsilon == 1.0
    only = pure(1.0)  # such as one whose total is public
    found = compose([both, only], neighbours="add-remove")
    assert found.basic.epsilon == math.inf
    assert found.tighter is None
    assert found.why == "1 release(s) promise nothing by add-remove"
    assert compose([pure(0.5, neighbours="add-remove")]).basic.epsilon == 1.0


def test_without_opendp_the_sum_is_still_told(monkeypatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opendp", None)
    found = compose([pure(0.1)] * 3)
    assert found == Composed(3, "replace-one", PrivacyLoss(0.3, 0.0), None, found.why)
    assert "pip install" in found.why


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: compose([]), "no guarantee to add up"),
        (lambda: compose([pure(1)], neighbours="both"), "neighbours = 'both' is not known"),
        (lambda: compose([pure(1)], delta=0), "delta = 0 is not allowed"),
        (lambda: sf.Guarantee(-1, 0, "x"), "guarantee: epsilon = -1 is not allowed"),
        (lambda: sf.Guarantee(math.nan, 0, "x"), "epsilon = nan"),
        (lambda: sf.Guarantee(1, 1.5, "x"), "delta = 1.5 is not allowed"),
        (lambda: sf.Guarantee(1, 0, "x", "swap"), "neighbours = 'swap' is not known"),
        (lambda: sf.Guarantee(1, 0, "x", other=PrivacyLoss(True, 0)), "epsilon = True"),
    ],
)
def test_bad_input_is_one_line(call, said: str) -> None:
    with pytest.raises(sf.InputError) as told:
        call()
    assert said in str(told.value)
    assert "\n" not in str(told.value)
