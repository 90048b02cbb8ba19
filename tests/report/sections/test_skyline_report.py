"""Skylines as tables and charts: what is unbounded, cut or never safe is told as such."""

from __future__ import annotations

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.skyline.knowledge import MOST, KnowledgeSkyline
from sfumato.report.sections.skyline import (
    KINDS,
    skyline_chart,
    skyline_charts,
    skyline_plane,
    skyline_section,
    skyline_sheet,
    summary_sheet,
)

SINGLE = sf.Groups([[1, 1, 2]], ["HIV", "flu", "cold"], attribute="disease")
SETS = sf.Groups([[1, 2, 2]], ["HIV", "flu", "cold"], [9], case="set", attribute="disease")
NOBODY = sf.Groups([[0, 3, 3]], ["HIV", "flu", "cold"], attribute="disease")


def test_a_table_has_a_row_for_each_point() -> None:
    found = sf.knowledge_skyline(SINGLE, "HIV", 0.5)
    sheet = skyline_sheet(found)
    assert sheet.rows == ((0, 0, 1), (0, 1, 0))
    assert sheet.notes == (found.sentence,)


def test_an_axis_without_a_bound_reads_any() -> None:
    found = sf.knowledge_skyline(SETS, "HIV", 0.9)
    assert {row[0] for row in skyline_sheet(found).rows} == {"any"}
    assert "HIV: any facts about the target, " in skyline_chart([found]).series[0].text[0]


def test_a_point_where_the_walk_stopped_reads_or_more() -> None:
    many = KnowledgeSkyline("HIV", None, 0.9, "single", ((0, MOST, 3),), (0, 5_000, 3), cut=("k",))
    assert skyline_sheet(many).rows == ((0, "1,000 or more", 3),)


def test_a_long_skyline_is_cut_in_the_table_and_says_so() -> None:
    points = tuple((0, k, 99 - k) for k in range(100))
    sheet = skyline_sheet(KnowledgeSkyline("HIV", None, 0.9, "single", points, (0, 99, 99)))
    assert len(sheet.rows) == 40
    assert sheet.notes[-1] == "60 more points are in the JSON"


def test_the_summary_tells_the_three_kinds_apart() -> None:
    found = [
        sf.knowledge_skyline(SINGLE, "HIV", 0.5),
        sf.knowledge_skyline(SINGLE, "cold", 0.5),
        sf.knowledge_skyline(NOBODY, "HIV", 0.5),
    ]
    assert summary_sheet(found).rows == (
        ("disease", "HIV", "up to", 0, 1, 1, 2),
        ("disease", "cold", "nothing: it is told", None, None, None, 0),
        ("disease", "HIV", "anything: nobody has it", "any", "any", "any", 0),
    )


def test_the_chart_is_in_space_and_told_in_words() -> None:
    figure = skyline_chart([sf.knowledge_skyline(SINGLE, "HIV", 0.5)])
    assert figure.kind == "cloud"
    (series,) = figure.series
    assert (list(series.x), list(series.y), list(series.z)) == ([0, 0], [0, 1], [1, 0])
    assert figure.alt == (
        "HIV: 2 points, at most 0 facts about the target, 1 other people, 1 family members"
    )


POINTS = st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=1, max_size=6)


@given(POINTS)
def test_a_plane_is_what_is_safe_without_the_third_kind(points) -> None:
    """Below its line and on it is exactly what some point allows."""
    figure = skyline_plane([KnowledgeSkyline("v", None, 0.9, "single", tuple(points), (9, 9, 9))])
    across, up = (
        next(axis for axis, kind in enumerate(KINDS) if title.startswith(kind))
        for title in (figure.x, figure.y)
    )
    (line,) = figure.series
    corners = list(zip(line.x, line.y, strict=True))
    for x in range(8):
        for y in range(8):
            allowed = any(point[across] >= x and point[up] >= y for point in points)
            assert any(right >= x and top >= y for right, top in corners) is allowed
    # Drawn from one axis to the other, each step across before it goes up.
    assert corners[0][1] == corners[-1][0] == 0
    assert list(line.x) == sorted(line.x, reverse=True)
    assert list(line.y) == sorted(line.y)
    assert figure.kind == "steps"


def test_nothing_is_drawn_where_nothing_is_safe() -> None:
    assert skyline_charts([sf.knowledge_skyline(SINGLE, "cold", 0.5)]) == ()
    plane, in_space = skyline_charts([sf.knowledge_skyline(SINGLE, "HIV", 0.5)])
    assert (plane.name, in_space.name) == ("skyline", "skyline-in-space")
    assert in_space.kind == "cloud"


def test_of_many_values_those_with_the_least_room_are_drawn() -> None:
    values = [f"v{n}" for n in range(9)]
    found = [
        KnowledgeSkyline(value, None, 0.9, "single", ((0, n, 0),), (0, 9, 9))
        for n, value in enumerate(values)
    ]
    assert [one.name for one in skyline_chart(found[::-1]).series] == values[:6]


def test_rows_published_one_by_one_are_told_where_their_skyline_is() -> None:
    """It takes knowing whose rows they are, which no public page may use."""
    rows = [("a", 21, "flu"), ("a", 25, "HIV"), ("b", 22, "flu"), ("c", 23, "gout")]
    frame = pd.DataFrame(rows, columns=["id", "age", "ill"])
    ages = {"age": sf.intervals([10])}
    schema = sf.Schema(["age"], "ill", person="id", rows="unlinked", hierarchies=ages)
    release = sf.generalize(sf.read(frame, schema), {"age": 1})
    section = skyline_section(sf.audit(release, [sf.KAnonymity(2)]))
    assert section is not None
    assert "sfumato skyline RELEASE" in section.words
    assert not section.tables
    assert not section.charts
