"""Pictures: each has a name, one unit an axis, and says what the figures say."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.adversaries.base import BeliefChange
from sfumato.adversaries.catalogue import entry_of
from sfumato.report.document import Chart, Document, Section, Series
from sfumato.report.html.draw import spec
from sfumato.report.html.pictures import bars_of, height, picture, slopes_of
from sfumato.report.report import Report
from sfumato.report.sections.report import handed_out
from sfumato.report.sections.search import contest_section, lattice_section
from sfumato.report.sections.threats import matrix
from tests.report.conftest import made
from tests.report.pages import Page

SHARES = st.floats(0, 1)


def charts_of(report: Report) -> dict[str, Chart]:
    return {chart.name: chart for section in report.sections for chart in section.charts}


def test_every_chart_has_a_name_of_its_own(variant: Report) -> None:
    charts = [chart for section in variant.sections for chart in section.charts]
    assert len(charts_of(variant)) == len(charts)
    for chart in charts:
        assert chart.name.partition("/")[0].replace("-", "").isalpha(), chart.name


def test_each_adversary_has_one_slope_named_by_her_question(variant: Report, page: Page) -> None:
    measured = [row for row in matrix(variant) if row.belief is not None]
    chart = charts_of(variant).get("beliefs")
    assert (chart is None) is (not measured)
    if chart is None:
        return
    surest: dict[str, tuple[bool, float, float, BeliefChange]] = {}
    for row in measured:
        assert row.belief is not None
        belief = row.surest or row.belief
        worse = (bool(row.people), belief.after, row.belief.factor, belief)
        if row.adversary not in surest or worse[:3] > surest[row.adversary][:3]:
            surest[row.adversary] = worse
    expected = []
    for adversary, (*_, belief) in surest.items():
        entry = entry_of(adversary)
        assert entry is not None
        expected.append((entry.question, belief.before, belief.after))
    assert sorted((one.name, *one.y) for one in chart.series) == sorted(expected)
    assert {question for question, _, _ in expected} <= set(page.texts)


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=12))
def test_slopes_stand_where_their_shares_are_and_labels_do_not_meet(moves) -> None:
    chart = Chart(
        "t",
        "slopes",
        "",
        "belief",
        tuple(Series(f"q{at}", ["before", "after"], move) for at, move in enumerate(moves)),
        alt="moves",
    )
    slopes = slopes_of(chart)
    assert sorted((one.start, one.end) for one in slopes) == sorted(
        (height(before), height(after)) for before, after in moves
    )
    for above, below in pairwise(slopes):
        assert above.end <= below.end  # leaders do not cross
        assert below.row - above.row == pytest.approx(100 / len(moves))
    html = picture(chart)
    assert all(f"q{at}</span>" in html for at in range(len(moves)))


def test_bars_that_lie_are_text_and_as_long_as_their_figures() -> None:
    long = "<b>age [20, 30), sex F, zip 02***</b> " * 5
    bars = Series("gain", [0.5, -0.25, float("inf"), None], [long, "b", "c", "d"])
    chart = Chart("t", "bars", "gain", "group", (bars,), alt="Bars of all.")
    page = Document("x", "X", "", (Section("S", charts=(chart,)),)).to_html()
    assert len(page) < 30_000  # nothing to draw it with
    table = Page(page).tables[0]
    assert [row[0] for row in table[1:]] == [long, "b", "c", "d"]
    assert [row[1] for row in table[1:]] == ["0.5", "-0.25", "inf", "n/a"]
    drawn = [(row.bars[0].start, row.bars[0].length) for row in bars_of(chart)]
    third = pytest.approx(1 / 3)  # where losses end and gains begin
    assert drawn == [
        (third, pytest.approx(2 / 3)),
        (0, third),
        (third, pytest.approx(2 / 3)),
        (third, 0),
    ]


def test_small_multiples_share_one_scale() -> None:
    report = made("lattice")
    page = report.to_html()
    columns = [chart for name, chart in charts_of(report).items() if name.startswith("column/")]
    assert len(columns) > 3
    shares = [share for chart in columns for one in chart.series for share in one.y]
    longest = max(share for share in shares if isinstance(share, float))
    for chart in columns:
        assert chart.y == "share of people"
        assert picture(chart, longest) in page


def test_a_page_to_hand_out_has_its_pictures_and_no_script_to_draw_them() -> None:
    page = handed_out(made("mondrian").public()).to_html()
    assert "Could a colleague find her row?" in page
    assert 'class="slopes"' in page
    assert len(page) < 100_000


def test_what_groups_tell_is_drawn_by_their_descriptions_a_chart_for_each_unit() -> None:
    report = made("acquainted")
    assert report.evidence is not None
    regions = report.evidence.release.regions
    names = {regions.name(group) for group in range(len(report.evidence.release.groups))}
    charts = [chart for name, chart in charts_of(report).items() if name.startswith("leakage-")]
    assert {
        name.partition("/")[0] for name in charts_of(report) if name.startswith("leakage-")
    } == {
        "leakage-distance",
        "leakage-bits",
    }
    for chart in charts:
        assert len(chart.series) == 1
        assert set(chart.series[0].y) <= names
    assert "class 1" not in " ".join(Page(report.to_html()).texts)


def test_equal_is_a_line_from_corner_to_corner() -> None:
    chart = charts_of(made("attacked"))["learner-attacker/attacker"]
    drawn = spec(chart)
    (equal,) = [trace for trace in drawn["data"] if trace["name"].startswith("equal")]
    assert (equal["x"], equal["y"], equal["mode"]) == ([0, 1], [0, 1], "lines")
    assert equal["showlegend"]
    assert drawn["layout"]["xaxis"]["tickformat"] == drawn["layout"]["yaxis"]["tickformat"] == "~%"


def test_the_map_of_what_was_tried_marks_the_chosen_one() -> None:
    for name, make in (("best", contest_section), ("lattice", lattice_section)):
        report = made(name)
        section = make(report)
        assert section is not None
        chart = section.charts[0]
        assert chart.kind == "map"
        (chosen,) = [series for series in chart.series if series.mark == "star"]
        assert report.linkage is not None
        assert list(chosen.x) == pytest.approx([report.linkage.prosecutor.mean])
        (cost,) = chosen.y
        assert cost == min(y for series in chart.series for y in series.y)
        assert cost == pytest.approx(report.costs["loss"])
