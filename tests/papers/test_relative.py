"""Tables IV and V: the quick run on the embedded census, its sheets and its charts."""

from __future__ import annotations

import pytest

from sfumato.papers import PAPERS, reproduce


@pytest.fixture(scope="module")
def exhibit():
    return reproduce("relative", None, quick=True)


def test_it_is_listed() -> None:
    assert "relative" in PAPERS


def test_without_data_synthetic_people_stand_in_and_it_says_so(exhibit) -> None:
    assert "1,000 synthetic people stand in for Adult" in exhibit.about


def test_both_tables_with_every_measure(exhibit) -> None:
    four, five = exhibit.sections[1:3]
    assert (four.title, five.title) == ("Table IV: generalized releases", "Table V: Anatomy")
    for section in (four, five):
        measures, ti = section.tables
        named = [str(row[0]) for row in measures.rows]
        for name in ("GT_A", "GT_L", "GT_RW", "ideal", "baseline", "RGT", "RF", "ABS_A", "ABS_RW"):
            assert name in named
        told = [str(row[1]) for row in ti.rows]
        assert {who for who in told if "±" not in who} == {"attacker", "learner"}
    names = [*four.tables[0].columns[1:], *five.tables[0].columns[1:]]
    assert names[:2] == ["lattice, k = l = 4", "Mondrian, k = l = 4"]
    assert names[2].startswith("Anatomy, l = 3")


def test_figures_are_those_of_the_releases(exhibit) -> None:
    for facts in exhibit.facts.values():
        measures = facts["measures"]
        assert measures["baseline"] <= measures["gt_ideal"] <= 1
        assert measures["rgt"] == pytest.approx(
            max(0.0, measures["gt_attacker"] - measures["gt_learner"])
        )
        assert 0 < measures["rf"] < 1
        assert facts["status"] in ("exact", "converged", "not_converged")
    lattice = exhibit.facts["lattice, k = l = 4"]["measures"]
    assert lattice["gt_attacker"] == pytest.approx(lattice["gt_random_worlds"])


def test_a_scatter_and_a_histogram_for_each_release_and_belief(exhibit) -> None:
    for section in exhibit.sections[4:]:
        assert [figure.kind for figure in section.charts] == ["points", "bars"] * 2
        histogram = section.charts[1]
        assert "skewness" in histogram.alt
        people = exhibit.facts[section.title]["measures"]["attacker"]["any_mode"]
        assert sum(histogram.series[0].y) == people
