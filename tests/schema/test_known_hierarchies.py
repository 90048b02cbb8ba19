"""Hierarchies that come with us: ICD-10, ages, prefixes, periods of the calendar."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.overlap import apart
from sfumato.release.read.cells import read_cells
from sfumato.schema.boundaries import calendar_floor
from sfumato.schema.calendar import PERIODS, period
from sfumato.schema.domain import Domain, DomainKind
from sfumato.schema.hierarchy import Hierarchy, Levels
from sfumato.schema.icd10 import BLOCKS, CHAPTERS, categories_of, families_of
from sfumato.schema.region import codes_inside, contains_region, overlaps
from sfumato.schema.roles import Schema

CODES = [f"{letter}{n:02}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for n in range(100)]


def bound(
    hierarchy: Hierarchy, values: Sequence[object], kind: DomainKind = "categorical"
) -> Levels:
    return hierarchy.bind(Domain("column", kind, tuple(values)))  # type: ignore[arg-type]


def labels(levels: Levels, value: object) -> list[str]:
    """From the value to `*`."""
    code = levels.domain.code(value)
    return [level.labels[level.codes[code]] for level in levels.levels]


def test_every_code_is_in_one_block_and_one_chapter() -> None:
    assert len(CHAPTERS) == 22
    for code in CODES:
        blocks = [family for family in BLOCKS if family.first <= code <= family.last]
        chapters = [family for family in CHAPTERS if family.first <= code <= family.last]
        families = families_of(f"{code}.9")
        assert len(blocks) <= 1
        if blocks:  # no national edition moves what the WHO's edition has
            assert families is not None
            assert families[1:] == (*blocks, *chapters)
        elif families is not None:  # an addition: its chapter is the nearest one's
            assert families[2].first[0] <= code[0] <= families[2].last[0]
    for block in BLOCKS:
        assert block.first in categories_of(block)
        assert block.last in categories_of(block)


@pytest.mark.parametrize(
    ("code", "block"),
    [
        ("I10.90", "I10-I15 Hypertension"),
        ("i10", "I10-I15 Hypertension"),
        ("E119", "E10-E14 Diabetes mellitus"),
        (" E11.9+ ", "E10-E14 Diabetes mellitus"),
        ("H36.0*", "H30-H36 Choroid and retina"),
        ("I10.90 G", "I10-I15 Hypertension"),
        ("S72.001A", "S70-S79 Injuries to hip and thigh"),
        ("C4A.9", "C43-C44 Skin cancer"),
        ("U07.1", "U00-U49 New diseases of uncertain cause"),
    ],
)
def test_codes_as_hospitals_write_them(code: str, block: str) -> None:
    levels = bound(sf.icd10(), [code])
    value, category, told, chapter, top = labels(levels, code)
    assert told == block
    assert value == code
    assert category == f"{code.strip()[:3].upper()}.-"
    assert chapter.split("-")[0] <= category[:3] <= chapter.split("-")[1][:3]
    assert top == "*"


def test_what_is_no_code_is_named_in_one_line() -> None:
    with pytest.raises(sf.SchemaError, match=r"2 value.*no ICD-10 codes.*'A29', 'flu'") as caught:
        bound(sf.icd10(), ["I10", "flu", "A29"])
    assert "\n" not in str(caught.value)


@given(
    st.lists(
        st.sampled_from([c for c in CODES if families_of(c)]), min_size=1, max_size=6, unique=True
    )
)
def test_families_of_codes_read_back_are_the_same_regions(codes: list[str]) -> None:
    known = [f"{code}.1" for code in codes]
    levels = bound(sf.icd10(), known)
    schema = Schema(
        quasi=["column"], hierarchies={"column": sf.icd10()}, domains={"column": "categorical"}
    )
    regions = [region for level in levels.levels[1:4] for region in level.regions]
    read = read_cells("column", [region.text for region in regions], schema, None)
    assert [read.parts[code] for code in read.code_of] == regions
    for one in regions:
        ((_, inside),) = codes_inside([one], read.code_of[:1] * 0, levels.domain)
        assert list(inside) == [c for c, value in enumerate(known) if one.contains(value)]
        for other in regions:
            mine, others = set(categories_of(one)), set(categories_of(other))  # type: ignore[arg-type]
            assert overlaps(one, other) == bool(mine & others)
            assert one == other or apart([one, other]) == (not mine & others)
            assert contains_region(one, other) <= (mine >= others)


def test_a_release_by_icd10_is_judged_from_its_folder(tmp_path: Path) -> None:

    codes = ["I10.90", "I11", "E11.9", "E10.1", "C50.1", "C50.9"] * 4
    table = pa.table({"code": codes, "sick": ["yes", "no"] * 12})
    schema = Schema(quasi=["code"], sensitive="sick", hierarchies={"code": sf.icd10()})
    people = sf.read(table, schema)
    for level in (2, 3):
        release = sf.generalize(people, {"code": level})
        release.save(tmp_path / str(level))
        read = sf.read_release(tmp_path / str(level) / "public", schema)
        regions = read.regions.require_regions().parts[0]
        assert set(regions) == set(release.regions.require_regions().parts[0])
        assert all(sum(one.contains(code) for one in regions) == 1 for code in codes)


def test_ages_as_statistical_offices_group_them() -> None:
    ages = list(range(100))
    levels = bound(sf.age_groups(), ages, "numeric")
    assert labels(levels, 0) == ["0", "<1", "<15", "<15", "*"]
    assert labels(levels, 30) == ["30", "[30, 35)", "[25, 35)", "[25, 55)", "*"]
    assert labels(levels, 90) == ["90", ">=85", ">=75", ">=65", "*"]
    assert labels(bound(sf.age_groups("five", "decades"), ages, "numeric"), 37)[2] == "[30, 40)"
    with pytest.raises(sf.SchemaError, match="do not nest; give some of five, ten, broad"):
        sf.age_groups(["decades", "broad"])
    with pytest.raises(sf.SchemaError, match="'fives' is not known; did you mean 'five'"):
        sf.age_groups("fives")


def test_places_by_prefix() -> None:
    levels = bound(sf.prefix(4, 2), ["80331", "80469", "81241"])
    assert labels(levels, "80331") == ["80331", "8033*", "80***", "*"]
    assert sf.prefix([4, 2]) == sf.prefix(4, 2) == sf.mask([4, 2])
    with pytest.raises(sf.SchemaError, match=r"such as \[5, 3, 2\]"):
        sf.prefix(2, 4)


def test_widths_and_units_one_by_one_or_listed() -> None:
    assert sf.intervals(5, 10) == sf.intervals([5, 10])
    assert sf.dates("year", "decade") == sf.dates(["year", "decade"])


def test_a_moment_becomes_a_day_then_a_week() -> None:
    moment = dt.datetime(2024, 12, 30, 14, 30)
    levels = bound(sf.dates("day", "week"), [moment], "date")
    assert labels(levels, moment)[1:] == ["[2024-12-30, 2024-12-31)", "2025-W01", "*"]
    with pytest.raises(sf.SchemaError, match="leave out week"):
        sf.dates("week", top=2020)


moments = st.dates() | st.datetimes()


@given(st.lists(moments.map(lambda one: dt.date(one.year, one.month, one.day)), min_size=1))
def test_periods_hold_their_dates_and_nest_also_beside_weeks(days: list[dt.date]) -> None:
    values = sorted(set(days))
    for units in (("day", "week", "month", "quarter", "year", "decade"), ("week", "year")):
        levels = bound(sf.dates(units), values, "date")  # type: ignore[arg-type]
        for level in levels.levels:
            assert all(
                level.regions[code].contains(value)
                for code, value in zip(level.codes, values, strict=True)
            )


@given(st.datetimes(min_value=dt.datetime(1, 1, 8)), st.sampled_from(PERIODS))
def test_a_period_is_read_back_and_begins_where_bounds_may_lie(
    moment: dt.datetime, unit: str
) -> None:
    told = period(moment, unit)  # type: ignore[arg-type]
    schema = Schema(quasi=["day"], hierarchies={"day": sf.dates(unit)})  # type: ignore[arg-type]
    (read,) = read_cells("day", [told.text], schema, None).parts
    assert read == told
    assert unit == "decade" or calendar_floor(moment, unit) == told.low


def test_a_policy_names_them(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        """
[schema]
quasi = ["diagnosis", "age", "plz", "admitted"]
[schema.hierarchies]
diagnosis = { kind = "icd10" }
age = { kind = "age_groups", groups = ["five", "broad"] }
plz = { kind = "mask", keep = [3, 2] }
admitted = { kind = "dates", units = ["day", "week"] }
[[require]]
kind = "k-anonymity"
k = 2
"""
    )
    policy = sf.Policy.load(path)
    assert policy.schema is not None
    assert policy.schema.hierarchies == {
        "diagnosis": sf.icd10(),
        "age": sf.age_groups("five", "broad"),
        "plz": sf.prefix(3, 2),
        "admitted": sf.dates("day", "week"),
    }
    policy.save(tmp_path / "again.toml")
    assert sf.Policy.load(tmp_path / "again.toml").schema == policy.schema


def test_mondrian_cuts_numbers_only_where_their_taxonomy_does() -> None:
    paths = {str(age): [f"{age // 10 * 10}s"] for age in range(20, 60)}
    schema = Schema(quasi=["age"], hierarchies={"age": sf.taxonomy(paths)})
    table = sf.read(pa.table({"age": [20 + n * 7 % 40 for n in range(120)]}), schema)
    release = sf.anonymize(table, sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Mondrian()), seed=1)
    told = set(release.to_arrow().column("age").to_pylist())
    assert told == {"<30", "[30, 40)", "[40, 50)", ">=50"}


def test_a_sensitive_code_that_is_written_in_two_ways_is_not_two_values() -> None:
    schema = sf.Schema(["a"], "ill", hierarchies={"ill": sf.icd10()})
    for other in ("e11.9", "E119", "e119"):
        rows = {"a": [1, 1, 1, 1], "ill": ["E11.9", other, "I10", "I10"]}
        with pytest.raises(sf.InputError, match="write each code one way") as raised:
            sf.read(pd.DataFrame(rows), schema)
        assert "1 of its 3 distinct codes" in str(raised.value)
    quasi = sf.Schema(["ill"], hierarchies={"ill": sf.icd10()})  # there it finds people, not hides
    assert len(sf.read(pd.DataFrame({"ill": ["E11.9", "e11.9"]}), quasi).counts) == 2
