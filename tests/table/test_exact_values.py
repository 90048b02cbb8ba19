"""Different values never become one: as many groups as distinct exact numbers, on every path."""

from __future__ import annotations

import csv
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.release import as_it_stands
from tests.examples import few

SCHEMA = sf.Schema(quasi=["q"])


def written(number: Fraction | Decimal | int, way: int) -> str:
    """One of the ways to write a number."""
    text = format(Decimal(str(number)), "f") if not isinstance(number, int) else str(number)
    if way == 1 and not text.startswith("-"):
        return f"+{text}"
    if way == 2:
        return f"{text}0" if "." in text else f"{text}.0"
    return text


BASE = st.sampled_from(
    [
        Decimal(0),
        Decimal(2**53),
        Decimal(10**18),
        Decimal(2**63 - 2),
        Decimal(4 * 10**19),
        Decimal("0.1234567890123456789"),
        Decimal("1e-20"),
        Decimal("4917123412341234567.5"),
        Decimal("3.5"),
    ]
)
STEP = st.sampled_from([Decimal(1), Decimal("1e-19")])
NUMBERS = st.lists(
    st.tuples(BASE, st.integers(-3, 3), STEP, st.integers(0, 2)),
    min_size=1,
    max_size=8,
)


def groups(source: Any) -> tuple[int, int]:
    """As a table and as a release."""
    judged = sf.read_release(source, SCHEMA).groups
    return len(sf.read(source, SCHEMA).counts), len(judged)


@settings(max_examples=few(25))
@given(NUMBERS)
def test_texts_of_numbers(tmp_path_factory: pytest.TempPathFactory, drawn: Any) -> None:
    with localcontext(prec=60):
        numbers = [(base + steps * step, way) for base, steps, step, way in drawn]
    file = tmp_path_factory.mktemp("n") / "people.csv"
    file.write_text("q\n" + "".join(f"{written(number, way)}\n" for number, way in numbers))
    truth = len({Fraction(number) for number, _ in numbers})
    assert groups(file) == (truth, truth)


@settings(max_examples=few(20))
@given(st.lists(st.tuples(BASE, st.integers(-3, 3)), min_size=1, max_size=8), st.booleans())
def test_decimals_and_whole_numbers(
    tmp_path_factory: pytest.TempPathFactory, drawn: Any, fractions: bool
) -> None:
    scale = 17 if fractions else 0
    with localcontext(prec=60):
        unit = Decimal(10) ** -scale
        numbers = [(base + step * unit).quantize(unit) for base, step in drawn]
    column = pa.array(numbers, pa.decimal128(38, scale))
    file = tmp_path_factory.mktemp("n") / "people.parquet"
    pq.write_table(pa.table({"q": column}), file)
    truth = len(set(map(Fraction, numbers)))
    for source in (file, pa.table({"q": column}), pl.DataFrame({"q": column})):
        assert groups(source) == (truth, truth)
    whole = [int(number) for number in numbers]
    frame = pd.DataFrame({"q": pd.Series(whole, dtype=object)})
    assert groups(frame) == (len(set(whole)), len(set(whole)))


@pytest.mark.parametrize(
    "texts",
    [
        [f"4{'0' * 18}{place}" for place in range(10)],
        [f"0.1234567890123456789{place}" for place in range(10)],
        [f"{place}e-400" for place in range(1, 10)],
        [f"{place}e400" for place in range(1, 10)],
        [f"+4917123412341234{place}" for place in range(10)],
        ["+5", "+6", "7"],
        [f"1{'0' * 5000}{place}" for place in range(1, 4)],
        ["1e99999999999999999999999", "2e99999999999999999999999"],
        [f"9007199254740993.{place}" for place in range(1, 5)],
    ],
)
def test_long_numbers_in_a_text_file(texts: list[str], tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("q\n" + "\n".join(texts) + "\n")
    assert groups(file) == (len(texts), len(texts))
    release = sf.generalize(sf.read(file, SCHEMA), {"q": 0})
    shown = {str(value).lstrip("+") for value in release.to_arrow()["q"].to_pylist()}
    if all(text.lstrip("+").isdecimal() for text in texts):
        assert shown == {text.lstrip("+") for text in texts}
    else:
        assert len(shown) == len(texts)


def test_zero_is_one_value_however_it_is_written(tmp_path: Path) -> None:
    for texts in (["0", "-0", "0.0", "-0.0", "0e5"], ["0", "-0", "1.5"]):
        file = tmp_path / "people.csv"
        file.write_text("q\n" + "\n".join(texts) + "\n")
        assert groups(file) == (len({Fraction(text) for text in texts}),) * 2


def test_a_number_written_in_two_ways_in_a_release_is_told(tmp_path: Path) -> None:
    for texts, told in ((["5", "5.0"], True), (["5", "6"], False)):
        release = sf.read_release(people(tmp_path / "people.csv", texts), SCHEMA)
        assert any("'q': some values are written in two ways" in n for n in release.notes) == told


def test_quantities_that_would_be_one_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("q\n0.12345678901234567891\n0.12345678901234567892\n")
    for schema in (
        sf.Schema(quasi=["q"], domains={"q": "numeric"}),
        sf.Schema(quasi=["q"], hierarchies={"q": sf.intervals([1, 2])}),
    ):
        for read in (sf.read, sf.read_release):
            with pytest.raises(sf.SfumatoError, match="'q'") as refused:
                read(file, schema)
            assert "0.12345" not in str(refused.value)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 1001], pa.timestamp("ns")),
        pa.array([3_000_000, 3_000_001, 0], pa.date32()),
        pa.array([-800_000, -800_001, 0], pa.date32()),
        pa.array([400_000_000_000_000_000, 400_000_000_000_000_001, 0], pa.timestamp("us")),
    ],
)
def test_odd_times_keep_their_identity(column: pa.Array, tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(pa.table({"q": column}), file)
    assert groups(file) == (3, 3)
    assert groups(pa.table({"q": column})) == (3, 3)


@pytest.mark.parametrize("kind", ["struct", "map"])
@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep"])
def test_cells_of_several_fields_are_refused(kind: str, role: str, tmp_path: Path) -> None:
    values: Any = [{"a": 1}] if kind == "struct" else [[("a", 1)]]
    made = pa.struct([("a", pa.int64())]) if kind == "struct" else pa.map_(pa.string(), pa.int64())
    table = pa.table({"x": pa.array(values, made), "q": [1]})
    pq.write_table(table, tmp_path / "people.parquet")
    roles = {"quasi": ["x"]} if role == "quasi" else {"quasi": ["q"], role: ["x"]}
    for source in (table, tmp_path / "people.parquet"):
        with pytest.raises(sf.InputError, match=r"'x' .* a column of its own"):
            sf.read(source, sf.Schema(**roles))


@pytest.mark.parametrize("in_lists", [False, True])
def test_what_the_engine_reads_as_fewer_values_is_refused(tmp_path: Path, in_lists: bool) -> None:
    file = tmp_path / "people.parquet"

    def keep(values: list[Any], kind: pa.DataType) -> None:
        column = [[one] for one in values] if in_lists else values
        kind = pa.list_(kind) if in_lists else kind
        table = pa.table({"q": [1] * len(values), "v": pa.array(column, kind)})
        pq.write_table(table, file, use_deprecated_int96_timestamps=True)

    schema = sf.Schema(quasi=["q"], sensitive=["v"])
    wide = [4 * 10**60 + step for step in range(3)]
    keep([Decimal(one) for one in wide], pa.decimal256(70, 0))
    with pytest.raises(sf.InputError, match="column 'v' holds decimals of more than 38 digits"):
        sf.read(file, schema)
    keep([10**18 + step for step in range(3)], pa.timestamp("ns"))
    with pytest.raises(sf.InputError, match="finer than a microsecond in an old form"):
        sf.read(file, schema)
    # Beyond the years that nanoseconds reach, too, microseconds are told apart.
    keep([-62_135_596_800_000_000, 0, 253_402_300_799_999_999], pa.timestamp("us"))
    assert len(sf.read(file, schema).counts) == 3


def people(file: Path, cells: list[str]) -> Path:
    """Twenty people who have the cells in turn, beside one of two values."""
    rows = [(cells[place % len(cells)], "ab"[place // 2 % 2]) for place in range(20)]
    if file.suffix == ".parquet":
        columns = zip(*rows, strict=True)
        made = {n: [one or None for one in column] for n, column in zip("qs", columns, strict=True)}
        pq.write_table(pa.table(made), file)
    else:
        with file.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([("q", "s"), *rows])
    return file


KINDS = pytest.mark.parametrize("kind", ["csv", "parquet"])


@KINDS
@pytest.mark.parametrize(
    "cells",
    [
        ["3", "\u0663"],  # an Arabic-Indic three
        ["3", "\uff13"],  # a wide one
        ["caf\u00e9", "cafe\u0301"],
        ["Ulm", "Ulm\u200b"],
        ["Ulm", " Ulm"],
        ["1000", "1_000"],
        ["5", "05"],
    ],
)
def test_cells_that_look_alike_are_not_one(tmp_path: Path, cells: list[str], kind: str) -> None:
    """Whoever reads the file can tell them apart; so must we."""
    file = people(tmp_path / f"people.{kind}", cells)
    schema = sf.Schema(quasi=["q"], sensitive="s")
    assert len(sf.audit(sf.read(file, schema), [sf.KAnonymity(11)]).evidence.release.groups) == 2
    assert len(sf.read_release(file, schema).groups) == 2


@KINDS
@pytest.mark.parametrize(
    "cells",
    [
        ["3", " 3"],
        ["3 ", " 3 "],
        ["3", "3\u00a0"],
        ["3", "3\t"],
        ["[20, 30)", " [20, 30)"],
        ["[20, 30)", "[20, 30["],
        ["20-29", "20  -  29"],
        ["{a, b}", "{b, a}"],
        ["", "(missing)"],
        ["", "  "],
        ["*", " *"],
        ["F", " F"],
    ],
)
def test_a_release_says_a_thing_one_way(tmp_path: Path, cells: list[str], kind: str) -> None:
    """Ten people each by what the file shows, not twenty."""
    file = people(tmp_path / f"people.{kind}", cells)
    domains = {"q": ["F", "M"]} if "F" in cells else {}
    with pytest.raises(sf.InputError, match=r"'q': 1 of .* one way$"):
        sf.read_release(file, sf.Schema(quasi=["q"], sensitive="s", domains=domains))


@KINDS
@pytest.mark.parametrize(
    "cells",
    [
        ["flu", "flu "],
        ["flu", "flu\u00a0"],
        ["flu", "\ufeffflu"],
        ["caf\u00e9", "cafe\u0301"],
        ["old flu", "old  flu"],
        ["E1", "E\uff11"],
        ["", "(missing)"],
        ["", " "],
    ],
)
def test_one_sensitive_value_in_two_ways_is_not_diverse(
    tmp_path: Path, cells: list[str], kind: str
) -> None:
    """The columns change places: q is the sensitive one."""
    file = people(tmp_path / f"people.{kind}", cells)
    for read in (sf.read, sf.read_release):
        with pytest.raises(sf.InputError, match="'q': 1 of its 2 distinct values look like"):
            read(file, sf.Schema(quasi=["s"], sensitive="q"))
    if all(cells):  # who says that they are different is believed
        listed = sf.Schema(quasi=["s"], sensitive="q", domains={"q": cells})
        assert sf.read(file, listed).counts.people == 20


@pytest.mark.parametrize("other", ["P1 ", "P1\u200b", "\u00a0P1", "\tP1"])
@pytest.mark.parametrize("role", ["person", "household"])
@pytest.mark.parametrize("categories", [False, True])
def test_one_person_in_two_ways_is_not_two(other: str, role: str, categories: bool) -> None:
    schema = sf.Schema(quasi=["q"], sensitive="s", **{role: "who"})

    def visits(*who: str) -> pa.Table:
        names = pa.array(who).dictionary_encode() if categories else pa.array(who)
        return pa.table({"who": names, "q": ["u"] * len(who), "s": ["a", "b", "a"][: len(who)]})

    with pytest.raises(sf.InputError, match=f"{role} column 'who': 1 of its values differ from ot"):
        as_it_stands(sf.read(visits("P1", other, "P2"), schema))
    assert sf.read(visits("P0", other, "P2"), schema).counts.people == 3


@pytest.mark.parametrize("kind", [pa.int64(), pa.decimal128(20, 0)])
@pytest.mark.parametrize(("other", "many"), [(pa.float64(), 2**53), (pa.float32(), 2**24)])
@pytest.mark.parametrize("exchanged", [False, True])
def test_facts_are_of_one_person(
    kind: pa.DataType, other: pa.DataType, many: int, exchanged: bool
) -> None:
    """Compared as floats, the fact about one would be told of both."""
    schema = sf.Schema(quasi=["q"], sensitive="s", person="who")

    def read(first: int) -> sf.Table:
        two, one = pa.array([first, first + 1]).cast(kind), pa.array([first]).cast(other)
        who, about = (one, two) if exchanged else (two, one)
        people = pa.table({"who": who, "q": ["u"] * len(who)})
        facts = pa.table({"who": about, "s": ["a", "b"][: len(about)]})
        return sf.read(people, schema, facts=facts)

    with pytest.raises(sf.InputError, match=r"'who' has the type .* give both one type"):
        read(many)
    if not exchanged:
        assert read(5).people == 2
