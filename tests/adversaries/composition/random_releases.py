"""Random releases of two columns in each scheme, and the people an attack asks about."""

from __future__ import annotations

from hypothesis import strategies as st

import sfumato as sf
from tests.adversaries.releases import buckets, release

COLUMNS = ["x", "y"]
EVERYBODY = [{"x": x, "y": y} for x in range(6) for y in range(3)]
SCALE = {"x": 2.0, "y": 1.0}

counts = st.dictionaries(st.sampled_from("stu"), st.integers(1, 3), min_size=1)
halves = st.integers(0, 10).map(lambda twice: twice / 2)
ranges = st.tuples(st.integers(0, 5), st.integers(0, 3)).map(lambda t: (t[0], t[0] + t[1]))
values = tuple("stu")


@st.composite
def microaggregated(draw: st.DrawFn) -> sf.Release:
    points = st.tuples(halves, st.integers(0, 2).map(float))
    shown = draw(st.lists(points, min_size=1, max_size=5, unique=True))
    groups = [(regions, draw(counts)) for regions in shown]
    return release(COLUMNS, groups, values=values, scheme="microaggregated")


@st.composite
def generalized(draw: st.DrawFn) -> sf.Release:
    shown = draw(st.lists(st.tuples(ranges, ranges), min_size=1, max_size=4, unique=True))
    return release(COLUMNS, [(regions, draw(counts)) for regions in shown], values=values)


@st.composite
def bucketized(draw: st.DrawFn) -> sf.Release:
    people = st.tuples(st.integers(0, 5), st.integers(0, 2))
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        listed = draw(st.lists(people, min_size=1, max_size=6))
        mine = draw(st.lists(st.sampled_from("stu"), min_size=len(listed), max_size=len(listed)))
        groups.append((listed, {value: mine.count(value) for value in mine}))
    return buckets(COLUMNS, groups)
