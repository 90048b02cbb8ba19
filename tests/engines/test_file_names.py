"""A file name is a file: no pattern, no column from a folder's name, whatever stands beside it."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError
from tests.examples import few

SCHEMA = sf.Schema(quasi=["age"], sensitive="disease")
KINDS = ["csv", "csv.gz", "parquet", "arrow"]


def write(path: Path, ages: list[int]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"age": ages, "disease": ["flu"] * len(ages)})
    if path.name.endswith("parquet"):
        with path.open("wb") as stream:
            pq.write_table(table, stream)
    elif path.name.endswith("arrow"):
        with path.open("wb") as stream:
            feather.write_feather(table, stream)
    else:
        text = "age,disease\n" + "".join(f"{age},flu\n" for age in ages)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if path.name.endswith("gz") else data)
    return path


def ages(path: Path, **options: bool) -> list[int]:
    counts = sf.read(path, SCHEMA, **options).counts  # type: ignore[arg-type]
    found = [counts.quasi[0].values[code] for code in counts.codes[0]]
    assert len(sf.read_release(path, SCHEMA, **options).groups) == len(found)  # type: ignore[arg-type]
    return sorted(int(value) for value in found if isinstance(value, int))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("asked", "beside"),
    [("data[1]", "data1"), ("rel*", "relx"), ("q?", "qa"), ("{a,b}", "a"), ("**", "deep/er")],
)
def test_another_file_is_never_read(kind: str, asked: str, beside: str, tmp_path: Path) -> None:
    write(tmp_path / f"{beside}.{kind}", [50, 51])
    assert ages(write(tmp_path / f"{asked}.{kind}", [1, 2, 3])) == [1, 2, 3]
    write(tmp_path / beside / f"p.{kind}", [50, 51])
    assert ages(write(tmp_path / asked / f"p.{kind}", [4])) == [4]


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_name_is_no_column(kind: str, tmp_path: Path) -> None:
    file = write(tmp_path / "age=30" / "disease=hiv" / f"p.{kind}", [1, 2, 3])
    assert ages(file) == [1, 2, 3]


@settings(max_examples=few(12))
@given(
    name=st.binary(min_size=1, max_size=12).filter(
        lambda name: not set(name) & {0, 47} and not name.startswith(b".")
    ),
    kind=st.sampled_from(KINDS),
)
def test_any_name_that_a_file_may_have(
    name: bytes, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("d") / os.fsdecode(name + f".{kind}".encode())
    assert ages(write(file, [7, 8])) == [7, 8]
    sf.read(file, SCHEMA).source.label.encode()  # can be shown


def test_a_spill_folder_of_any_name(tmp_path: Path) -> None:
    (tmp_path / "s[1]*=2").mkdir()
    (tmp_path / "s1").mkdir()
    file = write(tmp_path / "data[1].csv", [1, 2])
    table = sf.read(file, SCHEMA, spill=tmp_path / "s[1]*=2")
    assert table.people == 2


def test_a_folder_of_parts_is_read_where_it_is_asked_for(tmp_path: Path) -> None:
    for year, zone in (("2019", "01"), ("2020", "1")):
        write(tmp_path / "table" / f"year={year}" / f"zo%20ne={zone}" / "x.parquet", [1, 2])
    with pytest.raises(InputError, match=r"is a folder; .*--partitioned"):
        sf.read(tmp_path / "table", SCHEMA)
    with pytest.raises(InputError, match="is a folder"):
        sf.read_release(tmp_path / "table", SCHEMA)
    schema = sf.Schema(quasi=["age", "year", "zo ne"], sensitive="disease")
    table = sf.read(tmp_path / "table", schema, partitioned=True)
    zones = [table.counts.quasi[2].values[code] for code in table.counts.codes[2]]
    assert (table.people, sorted(map(str, zones))) == (4, ["01", "01", "1", "1"])
    release = sf.read_release(tmp_path / "table", schema, partitioned=True)
    assert release.groups.sizes.tolist() == [1] * 4


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("year=2021/age=5/x.parquet", "folders of the same columns"),
        ("x.parquet", "folders of the same columns"),
        ("year=2021/notes.txt", "'notes.txt'"),
        ("more/x.parquet", "the folder 'more'"),
        ("manifest.json", "holds a release"),
    ],
)
def test_parts_that_do_not_fit(more: str, why: str, tmp_path: Path) -> None:
    write(tmp_path / "year=2020" / "x.parquet", [1])
    write(tmp_path / more, [1])
    with pytest.raises(InputError, match=why):
        sf.read(tmp_path, SCHEMA, partitioned=True)


@pytest.mark.parametrize("link", ["year=2020/y.parquet", "year=2021"])
@pytest.mark.parametrize("hard", [False, True])
def test_a_part_counts_once(link: str, hard: bool, tmp_path: Path) -> None:
    """A link to another part would make everybody in it two people."""
    part = tmp_path / "year=2020" / "x.parquet"
    write(part, [1, 2])
    target = part if link.endswith("t") else part.parent
    if hard and target is part:
        (tmp_path / link).hardlink_to(target)
    else:
        (tmp_path / link).symlink_to(target)
    with pytest.raises(InputError, match="1 of its 2 files are links"):
        sf.read(tmp_path, SCHEMA, partitioned=True)


@pytest.mark.parametrize("names", [(b"year=%FE", b"year=%FF"), (b"year=1", b"year=\xff")])
def test_folders_whose_names_are_no_text(names: tuple[bytes, ...], tmp_path: Path) -> None:
    for name in names:
        write(tmp_path / os.fsdecode(name) / "x.parquet", [1])
    with pytest.raises(InputError, match="names are not UTF-8"):
        sf.read(tmp_path, SCHEMA, partitioned=True)


def test_parts_of_other_columns_or_types(tmp_path: Path) -> None:
    for place, other in enumerate(({"disease": ["a"], "age": [1]}, {"age": [1.5]}, {"AGE": [1]})):
        folder = tmp_path / str(place)
        write(folder / "a.parquet", [1])
        pq.write_table(pa.table(other), folder / "b.parquet")
        with pytest.raises(InputError, match="same columns"):
            sf.read(folder, SCHEMA, partitioned=True)
    (tmp_path / "age=3").mkdir()
    write(tmp_path / "named" / "age=3" / "x.parquet", [1])
    with pytest.raises(InputError, match="column 3 has the name of another"):
        sf.read(tmp_path / "named", SCHEMA, partitioned=True)
