"""Which column gives people away: equal to reading the rows without it."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage.risks import weakest_columns
from sfumato.release.release import as_it_stands


def of(rows) -> sf.Release:
    columns = [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)]
    table = sf.read(
        pa.table(columns, names=["a", "b", "c"]), sf.Schema(quasi=["a", "b", "c"]), threads=1
    )
    return as_it_stands(table)


@given(st.lists(st.tuples(*[st.sampled_from([0, 1, 2, None])] * 3), min_size=1, max_size=20))
def test_without_a_column_the_rest_is_counted_as_if_it_were_not_there(rows) -> None:
    found = {column.name: column for column in weakest_columns(of(rows))}
    for place, name in enumerate("abc"):
        rest = Counter(row[:place] + row[place + 1 :] for row in rows)
        assert found[name].success == len(rest) / len(rows)
        assert found[name].unique == sum(n == 1 for n in rest.values()) / len(rows)
        assert found[name].shows == len({row[place] for row in rows})


def test_the_weakest_comes_first() -> None:
    rows = [(i, i % 2, 0) for i in range(10)]
    assert [column.name for column in weakest_columns(of(rows))] == ["a", "b", "c"]


def test_the_report_names_it() -> None:
    report = sf.audit(of([(i, i % 2, 0) for i in range(10)]), [sf.KAnonymity(2)])
    assert report.columns[0].name == "a"
    assert "Columns, the weakest first" in str(report)
