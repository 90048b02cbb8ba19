"""The loaders of Adult and ACS: the known figures where the files are, one plain line where not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato.datasets.public_files import acs, acs_income, acs_industry, adult, adult_uci
from sfumato.errors import InputError
from sfumato.schema.region import ValueSet
from sfumato.table import read

Loader = Callable[..., object]
LOADERS: list[tuple[Loader, str]] = [
    (adult, "adult/adult.csv"),
    (adult_uci, "adult/adult_uci.csv.gz"),
    (acs, "acs2019/national.csv"),
    (acs_income, "acs2019/national.csv"),
    (acs_industry, "acs2019/national.csv"),
]


# -- the folder ----------------------------------------------------------------------------------


@pytest.mark.parametrize("loader", [loader for loader, _ in LOADERS])
def test_no_folder_at_all_is_said(loader: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    with pytest.raises(InputError, match="SFUMATO_DATA") as caught:
        loader()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("loader", "file"), LOADERS)
def test_a_missing_file_is_named(loader: Loader, file: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=file) as caught:
        loader(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_missing_hierarchy_is_named(tmp_path: Path) -> None:
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult" / "adult.csv").write_text("sex;age\n")
    with pytest.raises(InputError, match=r"adult/hierarchies/adult_hierarchy_sex\.csv"):
        adult(tmp_path)


def test_the_environment_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "acs2019").mkdir()
    (tmp_path / "acs2019" / "national.csv").write_text("AGEP\n")
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    file, _ = acs()
    assert file == tmp_path / "acs2019" / "national.csv"


def test_a_path_goes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SFUMATO_DATA", "/elsewhere")
    with pytest.raises(InputError, match=tmp_path.name):
        acs(str(tmp_path))


@pytest.mark.parametrize(
    ("loader", "file", "content"),
    [
        (adult_uci, "adult/adult_uci.csv.gz", "this is not a packed file"),
        (acs_income, "acs2019/national.csv", "AGEP,MSP\nSecret,1\n"),
        (acs_industry, "acs2019/national.csv", "AGEP,MSP\nSecret,1\n"),
        (acs_income, "acs2019/national.csv", "AGEP,MSP,RAC1P,SEX,PINCP\nSecret,1,1,1,0\n"),
    ],
)
def test_a_damaged_file_is_refused_without_quoting_it(
    loader: Loader, file: str, content: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(InputError, match=path.name) as caught:
        loader(tmp_path)
    assert "Secret" not in str(caught.value)


# -- Adult ---------------------------------------------------------------------------------------


def test_adult_has_its_30162_people(data_folder: Path) -> None:
    table = read(*adult(data_folder))
    assert table.people == 30_162
    assert len(table.schema.quasi) == 8
    assert table.schema.sensitive == ("occupation",)
    assert len(table.counts.sensitive[0].domain) == 14


def test_adult_hierarchies_have_the_known_heights(data_folder: Path) -> None:
    table = read(*adult(data_folder))
    heights = {name: bound.height for name, bound in table.levels.items()}
    # 4,320 nodes; times occupation's three levels, the 12,960 of papers with nine columns
    assert heights == {
        "sex": 2,
        "age": 5,
        "race": 2,
        "marital-status": 3,
        "education": 4,
        "native-country": 3,
        "workclass": 3,
        "salary-class": 2,
    }
    assert "35-39" in table.levels["age"][1].labels


def test_uci_file_whole_and_complete(data_folder: Path) -> None:
    whole, complete = adult_uci(data_folder), adult_uci(data_folder, complete=True)
    assert (whole.num_rows, complete.num_rows) == (48_842, 45_222)
    assert len(whole.column_names) == 15
    assert whole["workclass"].null_count > 0
    assert sum(whole[name].null_count for name in ("age", "fnlwgt", "sex")) == 0
    assert all(complete[name].null_count == 0 for name in complete.column_names)
    assert whole.schema.field("age").type == pa.int64()
    assert "?" not in whole["workclass"].unique().to_pylist()


# -- ACS -----------------------------------------------------------------------------------------


def test_acs_has_its_27253_people(data_folder: Path) -> None:
    table = read(*acs(data_folder))
    assert table.people == 27_253
    assert table.counts.sensitive[0].domain.values == (*"0123456789", "N")
    assert not any(domain.has_null for domain in table.counts.quasi)


def test_acs_codes_are_not_numbers(data_folder: Path) -> None:
    table = read(*acs(data_folder))
    kinds = {domain.name: domain.kind for domain in table.counts.quasi}
    assert kinds == {
        "AGEP": "numeric",
        "MSP": "categorical",
        "RAC1P": "categorical",
        "SEX": "categorical",
    }


def test_acs_marital_status_keeps_children_apart_then_joins_them(data_folder: Path) -> None:
    bound = read(*acs(data_folder)).levels["MSP"]
    assert set(bound[1].labels) == {"Married", "Was married", "Never married", "Under 15"}
    assert set(bound[2].regions) == {
        ValueSet(frozenset("12345"), "Ever married"),
        ValueSet(frozenset("6N"), "Not married yet"),
    }


def test_acs_income_is_cut_at_fifty_thousand(data_folder: Path) -> None:
    rows, schema = acs_income(data_folder)
    table = read(rows, schema)
    assert table.people == 27_253
    domain = table.counts.sensitive[0].domain
    assert domain.values == ("<50000", ">=50000", None)
    people = [int(table.counts.n[table.counts.values[0] == code].sum()) for code in range(3)]
    assert people[2] == 4_247  # those under 15
    assert sum(people) == 27_253
    assert "N" in rows["MSP"].unique().to_pylist()  # a category of its own, not a gap


def test_acs_industry_leaves_out_those_without_one(data_folder: Path) -> None:
    table = read(*acs_industry(data_folder))
    assert table.people == 16_324
    assert len(table.counts.sensitive[0].domain) == 19
    kinds = {domain.name: domain.kind for domain in table.counts.quasi}
    assert kinds.pop("AGEP") == "numeric"
    assert kinds.pop("EDU") == "ordered"
    assert set(kinds.values()) == {"categorical"}
    education = next(one for one in table.counts.quasi if one.name == "EDU")
    assert education.values[1:4] == ("1", "2", "3")  # in their order, not that of their texts
