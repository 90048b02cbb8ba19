"""Hierarchies: labels, nesting, coverage, top and bottom coding, NULL."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Hierarchy, Levels


def bind(hierarchy: Hierarchy, values: list[object], kind: str = "numeric") -> Levels:
    return hierarchy.bind(Domain("column", kind, tuple(values)))  # type: ignore[arg-type]


def labels(levels: Levels, level: int) -> list[str]:
    return [levels[level].labels[code] for code in levels[level].codes]


def test_widths_give_the_experiments_six_levels() -> None:
    levels = bind(sf.intervals([5, 10, 20, 40]), list(range(17, 90)))
    assert levels.height == 6
    assert labels(levels, 1)[:4] == ["[15, 20)", "[15, 20)", "[15, 20)", "[20, 25)"]
    assert labels(levels, 4)[0] == "[0, 40)"
    assert set(labels(levels, 5)) == {"*"}


def test_top_and_bottom_coding_cut_every_level() -> None:
    levels = bind(sf.intervals([20], top=90, bottom=18), [15, 18, 25, 85, 90, 99])
    assert labels(levels, 1) == ["<18", "[18, 20)", "[20, 40)", "[80, 90)", ">=90", ">=90"]


def test_cut_points_on_one_and_on_several_levels() -> None:
    assert labels(bind(sf.intervals(cuts=[18, 65]), [3, 18, 70]), 1) == ["<18", "[18, 65)", ">=65"]
    nested = bind(sf.intervals(cuts=[[10, 20, 30], [20]]), [5, 15, 25, 35])
    assert labels(nested, 2) == ["<20", "<20", ">=20", ">=20"]


def test_fractional_widths_are_exact() -> None:
    levels = bind(sf.intervals([0.1, 0.3]), [0.1, 0.2, 0.3, 0.30000001])
    assert labels(levels, 1) == ["[0.1, 0.2)", "[0.2, 0.3)", "[0.3, 0.4)", "[0.3, 0.4)"]


def test_mask_hides_from_the_right_and_reads_numbers_as_text() -> None:
    levels = bind(sf.mask(), ["13053", "13068", "14850"], "categorical")
    assert [labels(levels, level)[0] for level in range(levels.height)] == [
        "13053",
        "1305*",
        "130**",
        "13***",
        "1****",
        "*",
    ]
    assert labels(bind(sf.mask(), [30, 35, 41]), 1) == ["3*", "3*", "4*"]


def test_mask_never_puts_texts_of_different_length_together_below_the_top() -> None:
    levels = bind(sf.mask(), ["12", "123"], "categorical")
    assert labels(levels, 2) == ["**", "1**"]
    assert labels(levels, levels.height - 1) == ["*", "*"]


@pytest.mark.parametrize("delimiter", [";", ","])
def test_taxonomy_from_a_file(tmp_path, delimiter: str) -> None:
    lines = ["Bachelors;Undergraduate;Higher", "Masters;Graduate;Higher", "9th;High;Secondary"]
    path = tmp_path / "education.csv"
    path.write_text("\n".join(lines).replace(";", delimiter))
    levels = bind(sf.taxonomy(path), ["Bachelors", "9th"], "categorical")
    assert labels(levels, 1) == ["Undergraduate", "High"]
    assert labels(levels, 2) == ["Higher", "Secondary"]
    assert levels.height == 4
    path.write_text(f"Bachelors{delimiter}{'x' * 140_000}\n")
    with pytest.raises(sf.SchemaError, match=r"education\.csv' has a label of more") as caught:
        sf.taxonomy(path)
    assert "xx" not in str(caught.value)


def test_taxonomy_from_parents_and_from_paths_agree() -> None:
    paths = sf.taxonomy({"cat": ["feline", "animal"], "dog": ["canine", "animal"]})
    parents = sf.taxonomy(
        {"cat": "feline", "dog": "canine", "feline": "animal", "canine": "animal"}
    )
    assert dict(paths.paths) == dict(parents.paths)


def test_a_taxonomy_whose_last_label_is_a_star_has_no_second_top() -> None:
    levels = bind(sf.taxonomy({"M": ["*"], "F": ["*"]}), ["F", "M"], "categorical")
    assert levels.height == 2


def test_dates_to_month_quarter_year_decade() -> None:
    days = [dt.date(1999, 12, 31), dt.date(2021, 5, 2)]
    levels = bind(sf.dates(), days, "date")
    assert [labels(levels, level)[1] for level in range(levels.height)] == [
        "2021-05-02",
        "2021-05",
        "2021-Q2",
        "2021",
        "2020s",
        "*",
    ]
    assert labels(bind(sf.dates("year", bottom=2000), days, "date"), 1) == ["<2000-01-01", "2021"]


def test_null_stays_itself_below_the_top() -> None:
    levels = bind(sf.intervals([10]), [3, 14, None])
    assert labels(levels, 1) == ["[0, 10)", "[10, 20)", "(missing)"]
    assert labels(levels, 2) == ["*"] * 3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sf.intervals([5, 7]), "7 is not a multiple of 5"),
        (lambda: sf.intervals([0]), "width 0 must be a positive number"),
        (lambda: sf.intervals(), "either widths or cuts"),
        (lambda: sf.intervals([5], cuts=[5]), "either widths or cuts"),
        (lambda: sf.intervals(cuts=[[10, 20], [15]]), "must be some of the cuts"),
        (lambda: sf.intervals(cuts=[20, 10]), "must rise strictly"),
        (lambda: sf.intervals([5], top=10, bottom=20), "top 10 must lie above bottom 20"),
        (lambda: sf.dates("year", "month"), "from fine to coarse"),
        (lambda: sf.dates("fortnight"), "unknown unit 'fortnight'"),
        (lambda: sf.taxonomy({}), "is empty"),
        (lambda: sf.taxonomy({"a": ["x", "y"], "b": ["x"]}), "paths differ in length"),
        (lambda: sf.taxonomy({"a": "b", "b": "c", "c": "b"}), "its own ancestor"),
        (lambda: sf.taxonomy({"a": ["x", "*"], "b": ["x", "y"]}), "may only stand as the last"),
        (lambda: sf.taxonomy({"a": ["*", "x"], "b": ["y", "x"]}), "may only stand as the last"),
        (lambda: sf.taxonomy("nowhere.csv"), "'nowhere.csv' does not exist"),
    ],
)
def test_a_recipe_that_cannot_work_says_why_in_one_line(make, said: str) -> None:
    with pytest.raises(sf.SchemaError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_labels_that_are_cut_apart_above_are_not_nested() -> None:
    tree = sf.taxonomy({"a": ["x", "1"], "b": ["x", "2"]})
    with pytest.raises(sf.SchemaError, match=r"not nested: level 2 separates.*'x'"):
        bind(tree, ["a", "b"], "categorical")


def test_uncovered_values_are_listed_five_at_most() -> None:
    said = r"7 value\(s\) are not covered.*'0', '1', '2', '3', '4' and 2"
    with pytest.raises(sf.SchemaError, match=said):
        bind(sf.taxonomy({"x": ["y"]}), [str(i) for i in range(7)], "categorical")


def test_intervals_on_text_name_the_text() -> None:
    with pytest.raises(sf.SchemaError, match="needs numbers, found 'old'"):
        bind(sf.intervals([5]), ["old"], "categorical")


@given(
    st.lists(st.integers(-500, 500), min_size=1, max_size=30, unique=True),
    st.lists(st.integers(2, 4), min_size=1, max_size=3),
    st.integers(-10, 10),
)
def test_levels_are_nested_and_regions_contain_their_values(values, factors, origin) -> None:
    widths = list(np.cumprod([3, *factors]).tolist())
    levels = bind(sf.intervals(widths, origin=origin), sorted(values))
    for finer, coarser in zip(levels.levels, levels.levels[1:], strict=False):
        pairs = set(zip(finer.codes.tolist(), coarser.codes.tolist(), strict=True))
        assert len(pairs) == len({fine for fine, _ in pairs})
    for level in levels.levels:
        for value, code in zip(sorted(values), level.codes, strict=True):
            assert level.regions[code].contains(value)
