"""Query error: what is asked, and by what rules."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.utility import queries
from sfumato.utility.queries import QueryError
from sfumato.utility.view import view_of
from tests.utility.releases import (
    bucketized,
    nothing,
    random_rows,
    release_at,
    table_of,
    unchanged,
)

TABLE = table_of((*random_rows(60), (None, None, "low", "flu")))


def test_ordered_columns_are_asked_for_runs_without_null_others_for_subsets() -> None:
    age, city, grade = TABLE.counts.quasi
    gapped = 0
    for query in QueryError(selectivity=0.3, columns=3).workload(TABLE.counts).queries:
        for column, domain in ((0, age), (2, grade)):
            asked = np.flatnonzero(query.wanted[column])
            assert len(asked) == asked[-1] - asked[0] + 1
            assert not (domain.has_null and query.wanted[column][-1])
        asked = np.flatnonzero(query.wanted[1])
        gapped += len(asked) != asked[-1] - asked[0] + 1
        assert len(asked) == math.ceil(0.3 ** (1 / 4) * len(city))
    assert gapped


def test_each_query_restricts_as_many_columns_as_asked() -> None:
    for columns in (1, 2, 3, 9):
        work = QueryError(columns=columns, sensitive=False).workload(TABLE.counts)
        assert {len(query.wanted) for query in work.queries} == {min(columns, 3)}
        assert all(query.values is None for query in work.queries)


def test_queries_do_not_depend_on_the_release() -> None:
    one, other = QueryError(), QueryError()
    one.cost(view_of(unchanged(TABLE)))
    other.cost(view_of(release_at(TABLE, (4, 2, 1))))
    first, second = one.workload(TABLE.counts), other.workload(TABLE.counts)
    assert np.array_equal(first.truth, second.truth)
    assert not np.array_equal(first.truth, QueryError(seed=1).workload(TABLE.counts).truth)


@pytest.mark.parametrize("narrow", [0, 256])
@pytest.mark.parametrize("few_cells", [0, 1 << 12])
def test_answers_do_not_depend_on_how_many_are_worked_on_at_a_time(
    narrow: int, few_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = view_of(release_at(TABLE, (1, 1, 0)))
    plain = QueryError(queries=50).workload(TABLE.counts)
    answers = queries.answer_spread(view, plain)
    for name, size in (
        *(("_AT_ONCE", 7), ("_GROUPS", 3)),
        *(("_NARROW", narrow), ("_FEW_CELLS", few_cells)),
    ):
        monkeypatch.setattr(queries, name, size)
    parted = QueryError(queries=50).workload(TABLE.counts)
    assert np.array_equal(parted.truth, plain.truth)
    assert len(view.sizes) > 3
    assert queries.answer_spread(view, parted) == pytest.approx(answers)


def test_buckets_answer_questions_about_quasi_identifiers_exactly() -> None:
    buckets = bucketized(TABLE, [place % 5 for place in range(len(TABLE.counts))])
    assert QueryError(sensitive=False).cost(view_of(buckets)) == pytest.approx(0)
    assert QueryError().cost(view_of(buckets)) > 0.01


def test_without_a_release_every_answer_is_all_wrong() -> None:
    view = view_of(nothing(TABLE))
    measure = QueryError(columns=1, selectivity=1.0, sensitive=False)
    assert measure.cost(view) == 1


def test_a_wild_answer_counts_no_more_than_the_cap() -> None:
    view = view_of(release_at(TABLE, (4, 2, 1)))
    plain, capped = QueryError(cap=math.inf).cost(view), QueryError().cost(view)
    assert capped < plain
    assert capped <= 1


def test_a_person_with_several_values_has_any_of_them() -> None:
    rows = pa.table(
        {
            "who": [1, 1, 2, 3],
            "age": [30, 30, 30, 40],
            "disease": ["flu", "gout", "flu", "hiv"],
        }
    )
    table = sf.read(rows, sf.Schema(quasi=["age"], sensitive="disease", person="who"))
    measure = QueryError(queries=100, columns=1, selectivity=0.1)
    work = measure.workload(table.counts)
    sets = table.counts.sensitive[0].sets
    assert sets is not None
    assert len(sets) == 3
    assert max(work.truth) <= 2
    assert 2 in work.truth  # both people of 30 have the flu
    assert measure.cost(view_of(unchanged(table))) == 0
    merged = view_of(release_at(table, (1,)))
    assert 0 < measure.cost(merged) < 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("queries", 0),
        ("queries", 1.5),
        ("columns", 0),
        ("selectivity", 0),
        ("selectivity", 1.1),
        ("sanity", 0),
        ("cap", 0),
        ("seed", -1),
    ],
)
def test_wrong_parameters_are_refused(name: str, value: float) -> None:
    with pytest.raises(PolicyError, match=f"query-error: {name} = {value}"):
        QueryError(**{name: value})  # type: ignore[arg-type]
