"""Classification: a model learns from the release what the release still says."""

from __future__ import annotations

import math
import sys

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import MissingExtra, PolicyError
from sfumato.utility.classification import Classification
from sfumato.utility.view import view_of
from tests.utility.releases import (
    Piece,
    bucketized,
    nothing,
    random_rows,
    release_at,
    release_of,
    table_of,
    unchanged,
)

TABLE = table_of(random_rows(400))


def test_an_unchanged_table_teaches_the_very_same_tree() -> None:
    for target in (None, "city", "age"):
        result = Classification(target=target).measure(view_of(unchanged(TABLE)))
        assert result.release == result.original
        assert result.lost == 0
        assert result.tested == 120


def test_what_can_be_learnt_is_lost_with_the_columns_that_tell_it() -> None:
    measure = Classification()
    some = measure.measure(view_of(release_at(TABLE, (1, 0, 0))))
    none = measure.measure(view_of(release_at(TABLE, (4, 2, 1))))
    assert some.target == "disease"
    assert some.original > some.majority + 0.2
    assert some.release > none.release + 0.1
    assert none.release == none.majority  # nothing but the commonest value is left to say
    assert some.original == none.original  # the same people are held out
    assert measure.cost(view_of(release_at(TABLE, (4, 2, 1)))) == none.lost > 0.2


def test_without_learners_there_is_only_a_guess() -> None:
    result = Classification().measure(view_of(nothing(TABLE)))
    assert result.release == pytest.approx(1 / 3)


def test_a_quasi_identifier_may_be_the_target() -> None:
    measure = Classification(target="city")
    exact, hidden = (measure.measure(view_of(release_at(TABLE, (0, up, 0)))) for up in (0, 2))
    assert exact.target == "city"
    assert exact.release == exact.original
    assert hidden.release <= hidden.majority + 0.1  # a city published as `*` teaches nothing
    # The label x covers a, c and e: each in equal parts.
    halved = measure.measure(view_of(release_at(TABLE, (0, 1, 0))))
    assert 0 <= halved.lost <= 1


def test_buckets_teach_their_values_in_proportion() -> None:
    group, first = TABLE.counts.group_of
    measure = Classification()
    alone = measure.measure(view_of(bucketized(TABLE, group.tolist())))
    assert alone.release == alone.original  # each combination its own bucket: nothing is hidden
    together = measure.measure(view_of(bucketized(TABLE, [0] * len(group))))
    assert together.release == together.majority  # one bucket: the same values for everybody
    by_city = Classification(target="city")
    assert by_city.cost(view_of(bucketized(TABLE, [0] * len(group)))) == 0  # published as they are
    assert len(first) > 1


def test_people_of_one_tuple_may_be_parted() -> None:
    rows = [(30, "a", "low", "flu")] * 40 + [(60, "b", "low", "hiv")] * 40
    table = table_of(tuple(rows))
    pieces = [
        Piece(place, n, levels)
        for place in range(2)
        for n, levels in ((15, (0, 0, 0)), (15, (2, 1, 0)), (10, None))
    ]
    result = Classification().measure(view_of(release_of(table, pieces)))
    assert result.original == result.release == 1


def test_missing_values_are_features_too() -> None:
    rows = [(None, None, "low", "flu")] * 50 + [(30, "a", "low", "hiv")] * 50
    result = Classification().measure(view_of(unchanged(table_of(tuple(rows)))))
    assert result.release == 1


def test_a_column_of_many_values_keeps_its_commonest() -> None:
    chance = np.random.default_rng(0)
    town = [f"t{int(place):03d}" for place in chance.geometric(0.05, 2000)]
    ill = ["yes" if int(name[1:]) % 2 else "no" for name in town]
    table = sf.read(
        pa.table({"town": town, "ill": ill}), sf.Schema(quasi=["town"], sensitive="ill")
    )
    assert len(table.counts.quasi[0]) > 50
    assert Classification(depth=60).measure(view_of(unchanged(table))).original > 0.9


def test_a_target_must_be_known() -> None:
    view = view_of(unchanged(TABLE))
    with pytest.raises(PolicyError, match="target = 'cities' is not judged; did you mean 'city'"):
        Classification(target="cities").cost(view)
    plain = sf.read(pa.table({"age": [30, 40]}), sf.Schema(quasi=["age"]))
    assert math.isnan(Classification().cost(view_of(unchanged(plain))))
    with pytest.raises(PolicyError, match="name a target"):
        Classification().measure(view_of(unchanged(plain)))
    assert Classification(target="age").cost(view_of(unchanged(plain))) == 0


def test_scikit_learn_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sfumato\[learn\]'"):
        Classification().cost(view_of(unchanged(TABLE)))


@pytest.mark.parametrize(
    ("name", "value"), [("test", 0), ("test", 1), ("depth", 0), ("depth", 2.5), ("seed", -1)]
)
def test_wrong_parameters_are_refused(name: str, value: float) -> None:
    with pytest.raises(PolicyError, match=f"classification: {name} = {value}"):
        Classification(**{name: value})  # type: ignore[arg-type]
