"""Charts of beliefs: the figures are those of the model, and the words say the same."""

from __future__ import annotations

import math

import pytest

import sfumato as sf
from sfumato.adversaries.realistic.beliefs import Beliefs
from sfumato.report.sections.realistic import SPAN, belief_chart, epsilon_chart

GROUPS = sf.Groups([[36, 64], [90, 10]], ["flu", "cancer"], reference=[36, 64])
CLASS_I = sf.RealisticAdversary("table", 1e6, at_most=False)
CLASS_II = sf.RealisticAdversary(stubbornness=1e3)


def beliefs(her: sf.RealisticAdversary, groups: sf.Groups = GROUPS) -> Beliefs:
    return Beliefs(her, groups)


def test_the_worst_group_s_beliefs() -> None:
    figure = belief_chart(beliefs(CLASS_I), [10, 1e6])
    shown = {series.name: series for series in figure.series}
    assert set(shown) == {f"{v}: {how}" for v in ("flu", "cancer") for how in (
        "with the row", "without it")}  # fmt: skip
    assert list(shown["flu: with the row"].y) == [0.9, 0.9]
    # (a - 1 + sigma p) / (N - 1 + sigma)
    expected = [(89 + 10 * 0.36) / 109, (89 + 0.36e6) / (99 + 1e6)]
    assert list(shown["flu: without it"].y) == pytest.approx(expected)
    assert "a group of 100 people" in figure.title
    assert "'flu': 90% with the row, without it 85% at a stubbornness of 10" in figure.alt
    assert figure.log_x


def test_another_group_may_be_drawn_and_a_strange_one_not() -> None:
    assert belief_chart(beliefs(CLASS_I), group=0).series[0].y[0] in (0.36, 0.64)
    with pytest.raises(sf.InputError, match="there is no group 2 among 2"):
        belief_chart(beliefs(CLASS_I), group=2)


def test_of_many_values_those_she_changes_her_mind_about() -> None:
    many = sf.Groups([[40, 1, 9, 10, 10, 10]], reference=[10, 10, 10, 10, 10, 10])
    figure = belief_chart(beliefs(sf.RealisticAdversary("table", math.inf), many))
    assert figure.series[0].name == "0: with the row"
    assert len(figure.series) == 6
    assert "3 further values are moved less" in figure.alt


def test_the_smallest_epsilon_and_where_the_bound_is_met() -> None:
    one = beliefs(CLASS_I)
    figure = epsilon_chart(one, 2)
    found, bound, hers = figure.series
    assert list(found.x) == pytest.approx(list(SPAN))
    for sigma, epsilon in zip(found.x, found.y, strict=True):
        criterion = sf.EpsilonPrivacy(2, sf.RealisticAdversary("table", sigma, at_most=False))
        assert epsilon == pytest.approx(criterion.measure(GROUPS).value)
    assert set(bound.y) == {2.0}
    assert bound.name == "the policy's line: at most 2"
    assert (list(hers.x), hers.mark) == ([1e6], "star")
    assert list(hers.y) == pytest.approx([sf.EpsilonPrivacy(2, CLASS_I).measure(GROUPS).value])
    assert figure.alt.startswith("Lower is better: at 1 a row changes nothing")
    met = one.private_range(2)
    assert met is not None
    assert f"it is within 2 up to a stubbornness of {met[1]:.4g}" in figure.alt
    assert "however stubborn she is" in epsilon_chart(one, 100).alt
    homogeneous = beliefs(CLASS_I, sf.Groups([[5, 0]], reference=[1, 1]))
    assert "for no stubbornness is it within 2" in epsilon_chart(homogeneous, 2).alt


def test_any_shape_begins_at_a_weight_of_one_for_each_value() -> None:
    assert list(epsilon_chart(beliefs(CLASS_II), 2, [1, 2, 5, math.inf]).series[0].x) == [2, 5]
    with pytest.raises(sf.InputError, match="needs a group and a finite stubbornness"):
        epsilon_chart(beliefs(CLASS_II), 2, [1, math.inf])
    endless = beliefs(sf.RealisticAdversary(stubbornness=math.inf))
    assert endless.worst_group == 0  # all are infinite, both have 100 people
    assert belief_chart(endless).series


def test_the_worst_group_is_the_one_verdicts_name() -> None:
    groups = sf.Groups([[5, 0], [9, 0], [50, 50]])
    criterion = sf.EpsilonPrivacy(2, sf.RealisticAdversary("uniform", 9))
    assert (
        Beliefs(criterion.adversary, groups).worst_group == criterion.verdict(groups).worst[0] == 1
    )
