"""What was done to each column, against small releases whose cells can be counted by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.release.distribution import Had, shares_of
from sfumato.release.made import Treated
from sfumato.release.treatment import ColumnTreatment, column_treatments, extent_words
from sfumato.schema.domain import Domain
from sfumato.schema.region import Anything, Mask, Span, ValueSet

AGES = [21, 22, 23, 24, 35, 36, 37, 38, 59, 59, 59, 60]
SCHEMA = sf.Schema(
    quasi=["age", "zip"],
    sensitive="ill",
    identifiers=["name"],
    keep=["note"],
    hierarchies={"age": sf.intervals([10, 20]), "zip": sf.mask()},
)


def table(schema: sf.Schema = SCHEMA, **more: list[object]) -> sf.Table:
    columns = {
        "name": [f"n{place}" for place in range(12)],
        "age": AGES,
        "zip": ["10115"] * 6 + ["10999"] * 6,
        "ill": ["flu", "gout"] * 6,
        "note": ["x"] * 12,
        "desk": list(range(12)),
    }
    return sf.read(pa.table(columns | more), schema)


def by_column(release: sf.Release, before: sf.Table | None) -> dict[str, ColumnTreatment]:
    return {one.column: one for one in column_treatments(release, before)}


def values(*ones: object) -> ValueSet:
    return ValueSet(frozenset(ones))  # type: ignore[arg-type]


def told(*shares: object) -> list[tuple[str, float | None, float | None]]:
    return [(one.label, one.before, one.after) for one in shares_of(*shares)]  # type: ignore[arg-type]


def test_a_column_at_a_level_of_its_hierarchy() -> None:
    before = table()
    release = sf.generalize(before, {"age": 1, "zip": 2}, [sf.KAnonymity(2)], suppression=0.1)
    assert release.suppressed == 1  # the one of 60
    seen = by_column(release, before)
    assert (seen["age"].done, seen["age"].how) == ("generalized", "level 1 of 3: ranges of 10")
    assert (seen["age"].values_before, seen["age"].values_after) == (10, 3)
    assert (seen["age"].cells, seen["age"].changed) == (11, 11)
    shares = [(one.label, one.before, one.after) for one in seen["age"].shares]
    assert shares == [
        ("[20, 30)", round(4 / 12, 6), round(4 / 11, 6)),
        ("[30, 40)", round(4 / 12, 6), round(4 / 11, 6)),
        ("[50, 60)", round(3 / 12, 6), round(3 / 11, 6)),
        ("other values", round(1 / 12, 6), 0.0),
    ]
    assert seen["age"].shift == pytest.approx(1 / 12, abs=1e-5)
    assert seen["zip"].how == "level 2 of 5: last 2 signs hidden"
    assert seen["ill"].changed == 0
    assert {name: one.done for name, one in seen.items()} == {
        "age": "generalized",
        "zip": "generalized",
        "ill": "as it is",
        "note": "as it is",
        "name": "removed",
        "desk": "left at home",
    }


def test_the_public_is_told_neither_levels_nor_columns_that_are_not_published() -> None:
    before = table()
    release = sf.generalize(before, {"age": 1, "zip": 5})
    seen = by_column(release, None)
    assert seen.keys() == {"age", "zip", "ill", "note"}
    assert (seen["age"].how, seen["zip"].how) == ("ranges of 10", "* for everybody")
    assert seen["zip"].shares[0].label == "*"
    assert [share.label for share in by_column(release, before)["zip"].shares] == [
        "10115",
        "10999",
        "*",
    ]


def test_people_whose_centre_is_not_their_own_value() -> None:
    before = table()
    release = sf.anonymize(before, sf.Policy([sf.KAnonymity(4)], sf.Microaggregation(4)), seed=1)
    seen = by_column(release, before)
    rows = release.to_arrow().to_pylist()
    centres = {row["age"] for row in rows}
    assert seen["age"].values_after == len(centres)
    own = sum(age in centres for age in AGES)
    assert seen["age"].changed is not None
    assert 12 - own <= seen["age"].changed <= 12
    assert by_column(release, None)["age"].changed is None  # who is where is not published


def test_what_is_entered_stands_beside_what_is_seen() -> None:
    before = table()
    release = sf.generalize(before, {"age": 1})
    release = replace(
        release,
        treated=(
            Treated("ill", "perturbed", "PRAM, kept with 0.8", 3, {"flu": 9, "ague": 3}),
            Treated("age", "cells blanked", "cells blanked one by one", 2),
        ),
    )
    seen = by_column(release, before)
    ill = seen["ill"]
    assert (ill.done, ill.how, ill.changed) == ("perturbed", "PRAM, kept with 0.8", 3)
    assert [(one.label, one.before, one.after) for one in ill.shares] == [
        ("flu", 0.75, 0.5),
        ("gout", 0.0, 0.5),
        ("other values", 0.25, 0.0),
    ]
    assert seen["age"].how == "level 1 of 3: ranges of 10; cells blanked one by one"
    public = by_column(release, None)["ill"]
    assert (public.done, public.changed, public.shares[0].before) == ("perturbed", None, None)


@pytest.mark.parametrize("rows", ["unlinked", "linked"])
def test_several_rows_of_a_person_are_told_row_by_row(rows: str) -> None:
    schema = sf.Schema(
        quasi=["age"],
        sensitive="ill",
        person="who",
        rows=rows,  # type: ignore[arg-type]
        hierarchies={"age": sf.intervals([10])},
    )
    people = [f"p{place // 2}" for place in range(12)]
    before = sf.read(pa.table({"who": people, "age": AGES, "ill": ["a", "b"] * 6}), schema)
    policy = sf.Policy([sf.KAnonymity(2)], sf.Lattice(), suppression=0.5)
    release = sf.anonymize(before, policy, seed=1)
    seen = by_column(release, before)
    published = release.to_arrow()
    assert seen["age"].cells == len(published)
    assert seen["age"].values_before == len(set(AGES))
    assert seen["age"].values_after == len(set(published.column("age").to_pylist()))
    assert seen["who"].done == ("removed" if rows == "unlinked" else "pseudonym")
    assert sum(share.after or 0 for share in seen["ill"].shares) == pytest.approx(1)


def test_lists_weights_and_levels_of_sensitive_columns() -> None:
    schema = sf.Schema(
        quasi=["age"],
        sensitive=["ill", "cost"],
        lists={"ill": ";"},
        weight="w",
        publish_weight="group",
        levels={"cost": 1},
        hierarchies={"age": sf.intervals([40]), "cost": sf.intervals([100])},
    )
    lists = pa.table(
        {"age": AGES, "ill": ["a;b", "b"] * 6, "cost": [50, 150, 250] * 4, "w": [2.0, 1.0] * 6}
    )
    before = sf.read(lists, schema)
    seen = by_column(sf.generalize(before, {"age": 1}), before)
    assert [(one.label, one.before, one.after) for one in seen["ill"].shares] == [
        ("a", round(1 / 3, 6), round(1 / 3, 6)),
        ("b", round(2 / 3, 6), round(2 / 3, 6)),
    ]
    assert seen["ill"].how == "as it is, several values a person"
    assert (seen["cost"].done, seen["cost"].values_after) == ("generalized", 3)
    assert seen["w"].done == "mean of the group"


# -- distributions ---------------------------------------------------------------------------------


def test_ranges_that_overlap_are_spread_along_their_length() -> None:
    shown = [(Span(0, 40), 8), (Span(20, 60), 8), (Span(high=20), 4), (values(59), 4)]
    seen = told(shown)
    assert sum(after for _, _, after in seen if after) == pytest.approx(1)
    edges = [label for label, _, _ in seen]
    assert edges == ["<10", *(f"[{low}, {low + 10})" for low in (10, 20, 30, 40)), ">=50"]
    people = {label: after for label, _, after in seen}
    assert people["[30, 40)"] == pytest.approx((2 + 2) / 24, abs=1e-5)
    assert people[">=50"] == pytest.approx((2 + 4) / 24, abs=1e-5)


def test_a_set_counts_for_each_of_its_members_and_a_star_for_none() -> None:
    domain = Domain("city", "categorical", ("bonn", "kiel", "ulm", None))
    had = Had(domain, np.array([2, 2, 4, 2]))
    shown = [(values("bonn", "kiel"), 4), (values("kiel", "ulm"), 2), (Anything(), 4)]
    assert told(shown, had) == [
        ("bonn", 0.2, 0.2),
        ("kiel", 0.2, 0.3),
        ("ulm", 0.4, 0.1),
        ("(missing)", 0.2, 0.0),
        ("*", 0.0, 0.4),
    ]


def test_finer_labels_are_told_within_coarser_ones() -> None:
    shown = [(Mask("1****"), 4), (Mask("10***"), 4), (Mask("20***"), 2)]
    assert told(shown) == [("1****", None, 0.8), ("2****", None, 0.2)]


def test_many_values_are_told_by_the_commonest_and_dates_by_months() -> None:
    shown = [(values(f"v{place}"), place + 1) for place in range(30)]
    seen = told(shown)
    assert [label for label, _, _ in seen] == [*(f"v{place}" for place in range(21, 30)),
                                               "other values"]  # fmt: skip
    days = [(values(date(2023, month, 5)), 1) for month in range(1, 13)]
    labels = [label for label, _, _ in told(days)]
    assert labels[:2] == ["<2023-03-01", "[2023-03-01, 2023-05-01)"]
    years = [(Span(date(1900 + ten, 1, 1), date(1910 + ten, 1, 1)), 1) for ten in range(0, 120, 5)]
    assert len(told(years)) <= 10
    assert extent_words(years) == "ranges of 10 years"


def test_nobody_published_and_nothing_known() -> None:
    assert shares_of([]) == ()
    domain = Domain("n", "numeric", (1, 2))
    assert told([], Had(domain, np.array([1, 3]))) == [("1", 0.25, None), ("2", 0.75, None)]
    same = [(values(5), 3)]
    assert told([*same, (Span(4, 6), 1), (Span(5, 7), 1)])[0][0].startswith("<")


def test_a_blank_cell_is_no_value_that_is_left() -> None:
    rows = pa.table({"age": ["*", "30", "30", "40"] * 3, "s": ["a", "b"] * 6})
    for cells, left in ((rows, 2), (rows.set_column(0, "age", pa.array(["*"] * 12)), 1)):
        seen = by_column(sf.read_release(cells, sf.Schema(["age"], "s")), None)
        assert seen["age"].values_after == left
