"""The synthetic census: columns that depend on each other, a schema that covers them, a policy."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv

from sfumato.datasets.census import (
    DISEASE_TILTS,
    EDUCATION,
    MARITAL,
    WORK,
    ZIPS,
    census,
    census_policy,
    census_schema,
)
from sfumato.errors import InputError
from sfumato.schema.recipes import Intervals, Taxonomy
from sfumato.table import read


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return census(20_000, seed=3)


def column(table: pa.Table, name: str) -> npt.NDArray[Any]:
    return table[name].to_numpy(zero_copy_only=False)


# -- the table -----------------------------------------------------------------------------------


def test_same_seed_same_table() -> None:
    assert census(500, seed=7).equals(census(500, seed=7))
    assert not census(500, seed=7).equals(census(500, seed=8))


def test_the_default_is_ten_thousand_people() -> None:
    assert census().num_rows == 10_000


@pytest.mark.parametrize("n", [0, -5])
def test_nobody_is_refused_in_one_line(n: int) -> None:
    with pytest.raises(InputError, match=f"n = {n}") as caught:
        census(n)
    assert "\n" not in str(caught.value)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InputError, match="seed -1"):
        census(5, seed=-1)


def test_one_person_is_enough() -> None:
    assert read(census(1), census_schema()).people == 1


def test_values_lie_where_they_should(people: pa.Table) -> None:
    age, income = column(people, "age"), column(people, "income")
    assert (age.min(), age.max()) == (17, 90)
    assert people.schema.field("age").type == people.schema.field("income").type == pa.int64()
    assert set(column(people, "sex")) == {"F", "M"}
    assert (income >= 0).all()
    assert (income % 100 == 0).all()
    for name, known in (
        ("zip", ZIPS),
        ("education", EDUCATION),
        ("marital", MARITAL),
        ("work", WORK),
        ("disease", DISEASE_TILTS),
    ):
        assert set(column(people, name)) == set(known), name
    assert people.drop_null().num_rows == people.num_rows


def test_names_are_shuffled_identifiers(people: pa.Table) -> None:
    names = column(people, "name")
    assert sorted(names) == [f"P{number:06d}" for number in range(1, people.num_rows + 1)]
    places = np.array([int(name[1:]) for name in names])
    assert abs(np.corrcoef(places, np.arange(len(places)))[0, 1]) < 0.05


def test_zip_codes_are_text_that_masks_well() -> None:
    assert len(set(ZIPS)) == 60
    assert {len(code) for code in ZIPS} == {5}
    assert any(code.startswith("0") for code in ZIPS)
    shared = [len({code[:shown] for code in ZIPS}) for shown in range(5, 0, -1)]
    assert shared == [60, 30, 15, 5, 3]


# -- the columns depend on each other ------------------------------------------------------------


def test_age_decides_marital_status(people: pa.Table) -> None:
    age, marital = column(people, "age"), column(people, "marital")
    mean = {status: age[marital == status].mean() for status in MARITAL}
    assert mean["Widowed"] > mean["Divorced"] > mean["Never married"]
    assert mean["Widowed"] > mean["Never married"] + 25


def test_education_depends_on_age_and_region(people: pa.Table) -> None:
    level = np.array([list(EDUCATION).index(value) for value in column(people, "education")])
    age = column(people, "age")
    region = np.array([code[:2] for code in column(people, "zip")])
    assert level[region == "10"].mean() > level[region == "24"].mean() + 0.5
    assert level[(age >= 30) & (age < 45)].mean() > level[age >= 75].mean() + 0.3
    assert level[age < 18].max() <= list(EDUCATION).index("Lower secondary")


def test_work_depends_on_education_sex_and_age(people: pa.Table) -> None:
    work, sex = column(people, "work"), column(people, "sex")
    higher = np.array([EDUCATION[value][1] == "Higher" for value in column(people, "education")])
    age = column(people, "age")
    assert (work[higher] == "Teaching").mean() > 3 * (work[~higher] == "Teaching").mean()
    assert (sex[work == "Construction"] == "M").mean() > 0.8
    assert (sex[work == "Health and social care"] == "F").mean() > 0.7
    assert age[work == "Student"].mean() < 30
    assert age[work == "Retired"].mean() > 65


def test_income_depends_on_education_and_work(people: pa.Table) -> None:
    income, education = column(people, "income"), column(people, "education")
    work = column(people, "work")
    by_school = {value: np.median(income[education == value]) for value in EDUCATION}
    by_work = {value: np.median(income[work == value]) for value in WORK}
    assert by_school["Master"] > 1.5 * by_school["Primary"]
    assert by_work["Information technology"] > 2 * by_work["Student"]
    assert income.mean() > np.median(income)  # a long right tail, as incomes have


def test_disease_depends_on_age_and_sex(people: pa.Table) -> None:
    disease, age, sex = (column(people, name) for name in ("disease", "age", "sex"))
    old, young = disease[age >= 70], disease[age < 30]
    assert (old == "Heart disease").mean() > 10 * (young == "Heart disease").mean()
    assert (young == "Asthma").mean() > 2 * (old == "Asthma").mean()
    women, men = disease[sex == "F"], disease[sex == "M"]
    assert (women == "Migraine").mean() > 2 * (men == "Migraine").mean()


def test_some_diseases_are_rare_and_some_frequent(people: pa.Table) -> None:
    counted = pc.value_counts(people["disease"])
    shares = {row["values"].as_py(): row["counts"].as_py() / people.num_rows for row in counted}
    assert shares["Influenza"] > 0.15
    assert 0 < shares["Tuberculosis"] < 0.01
    assert 0 < shares["HIV"] < 0.02


# -- the schema and the policy -------------------------------------------------------------------


def test_every_value_is_covered_by_its_hierarchy(people: pa.Table) -> None:
    table = read(people, census_schema())
    assert table.people == people.num_rows
    assert {name: bound.height for name, bound in table.levels.items()} == {
        "age": 6,
        "sex": 2,
        "zip": 6,
        "education": 4,
        "marital": 4,
        "work": 4,
    }
    assert ">=80" in table.levels["age"][1].labels


def test_every_level_is_coarser_than_the_one_before(people: pa.Table) -> None:
    for name, bound in read(people, census_schema()).levels.items():
        widths = [len(level.regions) for level in bound.levels]
        assert widths == sorted(set(widths), reverse=True), name


def test_income_is_not_published_by_default() -> None:
    assert "income" not in {name for _, name in census_schema().roles()}


def test_income_can_be_a_second_sensitive_column(people: pa.Table) -> None:
    table = read(people, census_schema(income=True))
    disease, income = (attribute.domain for attribute in table.counts.sensitive)
    assert disease.name == "disease"
    assert income.values[:2] == ("[0, 10000)", "[10000, 20000)")


def test_zip_keeps_its_zeros_through_a_text_file(people: pa.Table, tmp_path: Path) -> None:
    file = tmp_path / "census.csv"
    csv.write_csv(people, file)
    table = read(file, census_schema())
    zips = next(domain for domain in table.counts.quasi if domain.name == "zip")
    assert set(zips.values) == set(ZIPS)
    assert table.people == people.num_rows


def test_the_policy_agrees_with_the_schema() -> None:
    policy, schema = tomllib.loads(census_policy()), census_schema()
    written = policy["schema"]
    assert tuple(written["quasi"]) == schema.quasi
    assert tuple(written["sensitive"]) == schema.sensitive
    assert tuple(written["identifiers"]) == schema.identifiers
    assert written["nulls"] == schema.nulls
    assert set(written["hierarchies"]) == set(schema.hierarchies)
    for name, recipe in schema.hierarchies.items():
        told = written["hierarchies"][name]
        assert told["kind"] == recipe.kind, name
        if isinstance(recipe, Intervals):
            assert (tuple(told["widths"]), told["top"]) == (recipe.widths, recipe.top)
        if isinstance(recipe, Taxonomy):
            assert {leaf: tuple(path) for leaf, path in told["paths"].items()} == recipe.paths


def test_the_policy_requires_three_criteria() -> None:
    assert tomllib.loads(census_policy())["require"] == [
        {"kind": "k-anonymity", "k": 5},
        {"kind": "distinct-diversity", "l": 3},
        {"kind": "t-closeness", "t": 0.4},
    ]
