"""Text files as people have them: each says the same as the clean file, or is asked about."""

from __future__ import annotations

import datetime as dt
import gzip
import itertools
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.engines.encoding import encoding_of
from sfumato.engines.textfile import inspect_text
from sfumato.table import Table
from tests.program import sfumato

SCHEMA = sf.Schema(["city", "admitted", "cost"], "diagnosis")
PEOPLE = [
    # city, admitted, cost, diagnosis: None is missing
    ("München", dt.date(2023, 12, 31), 1234.5, "Grippe"),
    ("Köln", dt.date(2023, 1, 13), 12.0, "Röteln"),
    ("Köln", dt.date(2024, 2, 28), 0.75, "Grippe"),
    ("Würzburg", None, 1234567.25, "Röteln"),
    (None, dt.date(2023, 12, 31), None, "Grippe"),
    ("München", dt.date(2023, 12, 31), 1234.5, "Röteln"),
]
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-32", "utf-16-be", "cp850", "gb18030")
DELIMITERS = (";", "\t", ",", "|")
DECIMALS = (".", ",")
DATES = ("%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%d %b %Y", "%d.%m.%Y %H:%M")
MARKS = ("", "?", "NA", "-9")
LINE_ENDS = ("\n", "\r\n")
NUMBERS = {".": ("{:.2f}", "${:,.2f}"), ",": ("{:.2f}", "{:,.2f} EUR")}


def written(
    encoding: str, delimiter: str, decimal: str, dates: str, mark: str, line_end: str, kind: int
) -> bytes:
    """The people of this module in a dialect."""

    def cells(city: str | None, day: dt.date | None, cost: float | None, what: str) -> list[str]:
        number = "" if cost is None else NUMBERS[decimal][kind].format(cost)
        if decimal == ",":
            number = number.translate(str.maketrans(".,", ",."))
        moment = None if day is None else dt.datetime.combine(day, dt.time(0, 0))
        texts = [city or mark, moment.strftime(dates) if moment else mark, number or mark, what]
        return [f'"{text}"' if delimiter in text else text for text in texts]

    lines = [["city", "admitted", "cost", "diagnosis"], *(cells(*row) for row in PEOPLE)]
    return "".join(delimiter.join(line) + line_end for line in lines).encode(encoding)


def meaning(table: Table) -> list[tuple[object, ...]]:
    """Everybody's values, as counted."""
    counts = table.counts.in_memory("a test")
    told = [
        (
            *(d.values[code] for d, code in zip(counts.quasi, codes, strict=True)),
            counts.sensitive[0].domain.values[value],
            n,
        )
        for codes, value, n in zip(counts.codes.T, counts.values[0], counts.n, strict=True)
    ]
    return sorted(told, key=repr)


def dialects() -> list[tuple[str, str, str, str, str, str, int]]:
    """200 of all, each value of each sign among them equally often."""
    every = list(
        itertools.product(ENCODINGS, DELIMITERS, DECIMALS, DATES, MARKS, LINE_ENDS, (0, 1))
    )
    return [every[place * 5003 % len(every)] for place in range(200)]


def test_two_hundred_dialects_give_the_counts_of_the_clean_file(tmp_path: Path) -> None:
    clean = tmp_path / "clean.csv"
    clean.write_bytes(written("utf-8", ",", ".", "%Y-%m-%d", "", "\n", 0))
    expected = meaning(sf.read(clean, SCHEMA))
    assert {kind for *_, kind in expected} == {1}
    for number, dialect in enumerate(dialects()):
        file = tmp_path / f"{number}.csv"
        file.write_bytes(written(*dialect))
        mark = dialect[4]
        table = sf.read(file, SCHEMA, missing=[mark] if mark else None)
        assert meaning(table) == expected, dialect
        assert not table.source.doubts
        file.unlink()


def text(tmp_path: Path, content: str, encoding: str = "utf-8", name: str = "a.csv") -> Path:
    file = tmp_path / name
    file.write_bytes(content.encode(encoding))
    return file


@pytest.mark.parametrize(
    ("content", "encoding", "name"),
    [
        ("ort\nMünchen\nKöln\n", "latin-1", "cp1252"),
        ("imię;miasto\nŁukasz;Łódź\nŚwięty;Gdańsk\n", "iso8859-2", "iso8859_2"),
        ("имя,город\nИван,Москва\nМария,Самара\n", "cp1251", "cp1251"),
        ("имя,город\nИван,Москва\nМария,Самара\n", "koi8-r", "koi8_r"),
        ("名前,都市\n山田太郎,東京\n鈴木花子,大阪\n", "shift_jis", "cp932"),
        ("Ort;Name\nMünchen;Jäger\nKöln;Müller\n", "mac_roman", "mac_roman"),
        ("a,b\n1,2\n", "utf-16-le", "utf-16-le"),
    ],
)
def test_an_encoding_is_found(tmp_path: Path, content: str, encoding: str, name: str) -> None:
    file = text(tmp_path, content, encoding)
    assert encoding_of(file).name == name
    assert inspect_text(file).columns == tuple(content.splitlines()[0].replace(";", ",").split(","))


def test_letters_far_down_and_packed(tmp_path: Path) -> None:
    lines = ["ort,n", *(f"Bonn,{n}" for n in range(5000)), "Köln,1", "München,2"]
    file = text(tmp_path, "\n".join(lines), "cp1252")
    domain = sf.read(file, sf.Schema(["ort"])).counts.quasi[0]
    assert domain.values == ("Bonn", "Köln", "München")
    packed = tmp_path / "b.csv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert sf.read(packed, sf.Schema(["ort"])).counts.quasi[0] == domain


def test_an_encoding_in_doubt_is_asked(tmp_path: Path) -> None:
    file = text(tmp_path, "jméno,město\nJiří,Plzeň\nŘehoř,Budějovice\n", "cp1250")
    with pytest.raises(sf.InputError, match=r"may be cp1252, cp1250.*--encoding"):
        sf.read(file, sf.Schema(["město"]))
    table = sf.read(file, sf.Schema(["město"]), encoding="cp1250")
    assert table.counts.quasi[0].values == ("Budějovice", "Plzeň")


def test_letters_of_an_old_mac_are_not_taken_for_slavic_ones(tmp_path: Path) -> None:
    file = text(tmp_path, "ort\rKöln\rDüsseldorf\rMünster\rBonn\r" * 9, "mac_roman")
    with pytest.raises(sf.InputError, match=r"may be cp1250, mac_roman.*--encoding"):
        encoding_of(file)
    file = text(tmp_path, "ort\rKöln\rDüsseldorf\rMünster\rBonn\r" * 9, "cp1252")
    assert encoding_of(file).name == "cp1252"


def test_letters_of_a_mac_are_asked_about_however_its_lines_end(tmp_path: Path) -> None:
    towns = "ort\nKöln\nDüsseldorf\nMünster\nBonn\n" * 9
    with pytest.raises(sf.InputError, match=r"may be cp1250, mac_roman.*--encoding"):
        encoding_of(text(tmp_path, towns, "mac_roman"))
    with pytest.raises(sf.InputError, match=r"may be cp1252, mac_roman.*--encoding"):
        encoding_of(text(tmp_path, "ime\nŽiga\nŠiška\nUroš\n" * 9, "cp1250"))
    for content in (towns, "ort;x\n" + "Bonn;don’t\n" * 20):
        assert encoding_of(text(tmp_path, content, "cp1252")).name == "cp1252"


def test_bytes_that_are_no_text_are_told_by_their_line(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"name,ort\nAnna,Bonn\nBerta\x81,Bonn\n")
    with pytest.raises(sf.InputError, match=r"a\.csv, line 3 is no text in cp1252") as raised:
        sf.read(file, sf.Schema(["ort"]), encoding="cp1252")
    assert "Berta" not in str(raised.value)
    with pytest.raises(sf.InputError, match="encoding 'klingon' is not known"):
        sf.read(file, sf.Schema(["ort"]), encoding="klingon")
    file.write_bytes("ort\nBonn\n".encode("utf-8-sig"))
    with pytest.raises(sf.InputError, match="begins with the mark of utf-8-sig"):
        sf.read(file, sf.Schema(["ort"]), encoding="latin-1")


def test_utf8_that_is_called_latin_1_is_not_believed(tmp_path: Path) -> None:
    file = text(tmp_path, "ort\nKöln\nMünchen\nWürzburg\n", "utf-8")
    for said in ("latin-1", "cp1252"):
        with pytest.raises(sf.InputError, match=r"UTF-8 throughout.*or say utf-8"):
            sf.read(file, sf.Schema(["ort"]), encoding=said)
    for codec in ("latin-1", "cp1252", "utf-8"):
        file = text(tmp_path, "ort\nKöln\nMünchen\nWürzburg\n", codec)
        values = sf.read(file, sf.Schema(["ort"]), encoding=codec).counts.quasi[0].values
        assert values == ("Köln", "München", "Würzburg")
    plain = text(tmp_path, "ort\nBonn\nTrier\n", "utf-8")
    assert sf.read(plain, sf.Schema(["ort"]), encoding="latin-1").people == 2


def kinds(file: Path, **options: object) -> tuple[object, ...]:
    """The first column of a file: its kind and values, and the doubt about it."""
    table = sf.read(file, sf.Schema(["x"]), **options)  # type: ignore[arg-type]
    domain = table.counts.quasi[0]
    return domain.kind, domain.values, table.source.doubts.get("x", "")


def column(tmp_path: Path, *cells: str) -> Path:
    return text(tmp_path, "x;y\n" + "".join(f"{cell};1\n" for cell in cells))


def test_dates_that_may_be_two_days_are_asked(tmp_path: Path) -> None:
    file = column(tmp_path, "03/04/2023", "05/06/2023")
    kind, values, doubt = kinds(file)
    assert (kind, values) == ("categorical", ("03/04/2023", "05/06/2023"))
    assert "%d/%m/%Y or %m/%d/%Y" in str(doubt)
    april = (dt.date(2023, 4, 3), dt.date(2023, 6, 5))
    assert kinds(file, dates="DMY") == kinds(file, dates={"x": "%d/%m/%Y"}) == ("date", april, "")
    assert kinds(file, dates="MDY")[1] == (dt.date(2023, 3, 4), dt.date(2023, 5, 6))
    # A day above 12 settles it, wherever it stands.
    long = column(tmp_path, *["03/04/2023"] * 300, "13/04/2023")
    assert kinds(long)[1] == (dt.date(2023, 4, 3), dt.date(2023, 4, 13))
    wrong = column(tmp_path, *["03/04/2023"] * 300, "31/31/2023")
    assert "1 of its 301 cells are no dates" in str(kinds(wrong)[2])
    with pytest.raises(sf.InputError, match="'x': 1 of its 301 cells are no dates written %d/%m"):
        kinds(wrong, dates={"x": "DMY"})
    file = column(tmp_path, "03/04/2023", "05/06/2023")
    report = sf.audit(sf.read(file, sf.Schema(["x"])), [sf.KAnonymity(1)])
    assert any("say which with dates" in note for note in report.notes)


def test_years_of_two_digits_are_not_published_until_their_century_is_told(tmp_path: Path) -> None:
    lines = [f"{1 + n % 28:02}.{1 + n % 12:02}.{n % 90 + 10};{n % 7}" for n in range(60)]
    file = text(tmp_path, "born;ward\n" + "\n".join(lines) + "\n")
    draft = sf.draft_policy(file)
    assert any('"born"' in one and "--first-year" in one for one in draft.questions)
    assert draft.policy.schema is not None
    assert "born" not in {name for _, name in draft.policy.schema.roles()}
    policy = sf.Policy([sf.KAnonymity(5)], anonymizer=sf.Lattice())
    with pytest.raises(sf.InputError, match="'born': dates with years of two digits") as error:
        sf.anonymize(sf.read(file, sf.Schema(["born", "ward"])), policy)
    assert "first_year" in str(error.value)
    assert "\n" not in str(error.value)
    insisted = sf.Schema(["born", "ward"], insist=["born"])
    assert len(sf.anonymize(sf.read(file, insisted), policy).groups)
    answered = sf.read(file, sf.Schema(["born", "ward"]), first_year=1930)
    assert len(sf.anonymize(answered, policy).groups)


def test_years_of_two_digits_need_their_century(tmp_path: Path) -> None:
    file = column(tmp_path, "31.12.23", "29.02.00", "01.01.45")
    assert "first_year" in str(kinds(file)[2])
    days = (dt.date(1945, 1, 1), dt.date(2000, 2, 29), dt.date(2023, 12, 31))
    assert kinds(file, first_year=1930) == ("date", days, "")
    assert kinds(file, first_year=1930, dates={"x": "%d.%m.%y"})[1] == days
    with pytest.raises(sf.InputError, match="first_year = 1930 reads 30 as 1930"):
        kinds(file, dates={"x": "%d.%m.%y"})
    assert "1 of its 3 cells" in str(kinds(file, first_year=1850)[2])  # 1900 had no such day


def test_times_months_and_moments(tmp_path: Path) -> None:
    noon = dt.datetime(2023, 12, 31, 14, 5)
    for cell, other in (
        ("31.12.2023 14:05", "01.01.2024 00:00"),
        ("12/31/2023 2:05 PM", "1/1/2024 12:00 AM"),
        ("31-Dec-2023", "01-May-2024"),
        ("December 31, 2023", "May 1, 2024"),
        ("2023-12-31", "2024-1-1"),
    ):
        kind, values, doubt = kinds(column(tmp_path, cell, other))
        assert (kind, doubt) == ("date", ""), cell
        assert values[0] == (noon if ":" in cell else noon.date())  # type: ignore[index]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("$1,234.56", "$0.99"), (0.99, 1234.56)),
        (("1.234,56 €", "0,99 €"), (0.99, 1234.56)),
        (("1 234,56", "7"), (7, 1234.56)),
        (("1'234.56", "7"), (7, 1234.56)),
        (("1 234", "12 345 678"), (1234, 12345678)),
        (("(1,234.50)", "10.25"), (-1234.5, 10.25)),
        (("1.234.567", "7"), (7, 1234567)),
    ],
)
def test_numbers_in_threes_with_a_currency(
    tmp_path: Path, cells: tuple[str, ...], values: tuple[float, ...]
) -> None:
    assert kinds(column(tmp_path, *cells)) == ("numeric", values, "")


def test_a_thousand_or_little_more_than_one(tmp_path: Path) -> None:
    file = column(tmp_path, "1,234", "2,500")
    kind, _, doubt = kinds(file)
    assert kind == "categorical"
    assert "say which with decimal" in str(doubt)
    assert kinds(file, decimal=".")[1] == (1234, 2500)
    assert kinds(file, decimal=",")[1] == (1.234, 2.5)
    # Another column of the file may leave no doubt; a plain number stays what it is without.
    settled = text(tmp_path, "x;y\n1,234;3,5\n2,500;4,5\n")
    assert kinds(settled)[1] == (1.234, 2.5)
    assert kinds(column(tmp_path, "1.234", "2.500"))[1] == (1.234, 2.5)
    assert kinds(column(tmp_path, "01301", "02134"))[0] == "categorical"
    assert kinds(column(tmp_path, "12-34-5678", "45-67-8901"))[::2] == ("categorical", "")


def test_marks_for_no_value(tmp_path: Path) -> None:
    file = text(tmp_path, "x;y\n1;-9\n ? ;3\n-9;N\n2;4\n")
    both = sf.Schema(["x", "y"])

    def values(**options: object) -> list[tuple[object, ...]]:
        return [d.values for d in sf.read(file, both, **options).counts.quasi]  # type: ignore[arg-type]

    assert values(missing=["?", "N", "-9"]) == [(1, 2, None), (3, 4, None)]
    assert values(missing={"*": ["?", "N"], "y": [-9]}) == [(-9, 1, 2, None), (3, 4, None)]
    with pytest.raises(sf.InputError, match=r"column 'z' \(missing\) is not in a.csv"):
        values(missing={"z": ["?"]})
    import pyarrow as pa

    frame = pa.table({"x": ["31.12.2023", "NA"], "y": [1, -9]})
    read = sf.read(frame, both, missing=["NA", "-9"], dates={"x": "DMY"}).counts.quasi
    assert [d.values for d in read] == [(dt.date(2023, 12, 31), None), (1, None)]
    moments = [dt.datetime(2020, 1, 1, 5), dt.datetime(1900, 1, 1)]
    typed = pa.table({"x": [1.5, -9.0], "y": moments})
    read = sf.read(typed, both, missing=["-9", "1900-01-01"]).counts.quasi
    assert [d.values for d in read] == [(1.5, None), (moments[0], None)]
    exact = pa.table({"x": pa.array([Decimal("1.50"), Decimal(-9)], pa.decimal128(6, 2))})
    read = sf.read(exact, sf.Schema(["x"]), missing=["-9"]).counts.quasi
    assert read[0].values[1:] == (None,)


def coded(tmp_path: Path, *, rows: int = 40) -> Path:
    """People some of whom have no income but a code."""
    lines = ["sex;income;illness"]
    for row in range(rows):
        income = "N" if row % 5 == 0 else str(1000 + row % 4 * 250)
        lines.append(f"{'mw'[row % 2]};{income};{('flu', 'cold', 'gout')[row % 3]}")
    return text(tmp_path, "\n".join(lines) + "\n", name="coded.csv")


@pytest.mark.parametrize("maker", [sf.Lattice(), sf.Mondrian()])
def test_a_code_beside_numbers_is_no_number(tmp_path: Path, maker: Any) -> None:
    schema = sf.Schema(["sex", "income"], "illness", hierarchies={"income": sf.intervals([500])})
    file = coded(tmp_path)
    with pytest.raises(sf.InputError, match="mixes numbers and text"):
        sf.read(file, schema)
    table = sf.read(file, schema, codes={"income": ["N", "9999999"]})
    domain = table.counts.quasi[1]
    assert domain.values == (1000, 1250, 1500, 1750, "N")
    release = sf.anonymize(table, sf.Policy([sf.KAnonymity(3)], maker), seed=1)
    release.save(tmp_path / "out")
    lines = (tmp_path / "out" / "public" / "data.csv").read_text().splitlines()
    cells = [line.split(";")[1].strip('"') for line in lines[1:]]
    assert cells.count("N") == 8  # each of them, none in a range or a mean
    read = sf.read_release(tmp_path / "out", schema)
    measured = [sf.audit(one, [sf.KAnonymity(3)]).verdicts[0].measured for one in (read, release)]
    assert measured[0] == measured[1]
    assert sorted(read.groups.sizes.tolist()) == sorted(release.groups.sizes.tolist())


def test_a_code_has_no_place_in_a_centre(tmp_path: Path) -> None:
    schema = sf.Schema(["sex", "income"], "illness")
    policy = sf.Policy([sf.KAnonymity(3)], sf.Microaggregation(3))
    table = sf.read(coded(tmp_path), schema, codes={"income": ["N"]})
    with pytest.raises(sf.InputError, match="'income' holds a code among its numbers"):
        sf.anonymize(table, policy)
    unknown = sf.read(coded(tmp_path), schema, missing={"income": ["N"]})
    assert len(sf.anonymize(unknown, policy, seed=1).groups) > 1


def test_amounts_in_two_currencies_are_not_one_number(tmp_path: Path) -> None:
    for cells in (("12 USD", "12 EUR"), ("$5.00", *["$1.50"] * 300, "€5.00")):
        kind, values, doubt = kinds(column(tmp_path, *cells))
        assert (kind, len(values)) == ("categorical", len({*cells}))  # type: ignore[arg-type]
        assert "several currencies" in str(doubt)
    assert kinds(column(tmp_path, "12.50", "$12.75"))[0] == "numeric"


def test_dates_written_in_several_ways_are_told_of(tmp_path: Path) -> None:
    for cells in (("31.12.2023", "12/31/2023"), ("2023-12-31", "31.12.23 14:05")):
        kind, _, doubt = kinds(column(tmp_path, *cells))
        assert kind == "categorical"
        assert "not all of them written alike" in str(doubt)
    for cells in (("12-34-5678", "1.2.3"), ("2023-12-31",) * 2):
        assert kinds(column(tmp_path, *cells))[2] == ""


def test_points_that_may_be_thousands_are_told_of(tmp_path: Path) -> None:
    def notes(*cells: str, **options: Any) -> tuple[str, ...]:
        return sf.read(column(tmp_path, *cells), sf.Schema(["x"]), **options).source.notes

    assert "1.234 is read as little more than one" in notes("950", "1.234", "12.500")[0]
    assert notes("950", "1.25") == notes("950", "1.234", decimal=",") == ()


def test_first_lines_that_name_no_columns(tmp_path: Path) -> None:
    with pytest.raises(sf.InputError, match=r"a\.csv: the first line is empty"):
        kinds(text(tmp_path, "\nx;y\n1;2\n"))
    with pytest.raises(sf.InputError, match="only names the delimiter"):
        kinds(text(tmp_path, "sep=;\nx;y\n1;2\n"))


@pytest.mark.parametrize(("before", "line"), [(1, "3"), (300, "the last")])
def test_a_line_longer_than_any_is_not_left_out(tmp_path: Path, before: int, line: str) -> None:
    """Engines end before a last line that fills their buffer, and whoever it is about is gone."""
    file = text(tmp_path, "x;y\n" + "Bonn;1\n" * before + "a" * (1 << 23) + ";1")
    with pytest.raises(sf.InputError, match=f"line {line} has more than 2,097,152 characters"):
        sf.read(file, sf.Schema(["y"]))


def test_several_codes_beside_numbers_are_not_mixed_up(tmp_path: Path) -> None:
    file = column(tmp_path, "1", "2", "N", "9999999", "", "3")
    assert kinds(file, codes={"x": ["9999999", "N", "R"]})[1] == (1, 2, 3, "9999999", "N", None)
    assert kinds(file, missing={"x": ["N", "9999999"]})[1] == (1, 2, 3, None)
    kind, values, _ = kinds(
        column(tmp_path, "31.12.2023", "never", "", "1.2.2024"), codes={"x": ["never"]}
    )
    assert (kind, values[2:]) == ("date", ("never", None))
    with pytest.raises(sf.InputError, match="neither numbers nor dates beside them"):
        kinds(column(tmp_path, "red", "N"), codes={"x": ["N"]})
    with pytest.raises(sf.InputError, match="the code '-9' also stands there as a number"):
        kinds(column(tmp_path, "1", "-9", "-9.0"), codes={"x": ["-9"]})
    with pytest.raises(sf.InputError, match="codes are of one column each"):
        kinds(file, codes={"*": ["N"]})


def test_a_draft_writes_what_it_finds(tmp_path: Path) -> None:
    lines = ["Stadt;Geburtstag;Aufnahme;Einkommen;Diagnose"]
    for row in range(120):
        city = "?" if row % 10 == 0 else ("Köln", "München", "Würzburg")[row % 3]
        born = f"{1 + row % 28:02}.{1 + row % 12:02}.{30 + row % 60}"
        income = "N" if row % 7 == 0 else f"{1000 + row}"
        day = f"{1 + row % 12:02}/{1 + row % 11:02}/2023"
        lines.append(f"{city};{born};{day};{income};{('Röteln', 'Grippe')[row % 2]}")
    file = text(tmp_path, "\r\n".join(lines) + "\r\n", "cp1252")
    draft = sf.draft_policy(file)
    read = draft.policy.read
    assert (read.delimiter, read.encoding) == (";", "cp1252")
    assert read.missing == {"Stadt": ("?",)}
    questions = "\n".join(draft.questions)
    assert read.codes == {"Einkommen": ("N",)}
    for words in ('"?" is read as no value', "first_year", "%m/%d/%Y: say", "[read] codes"):
        assert words in questions
    answered = sf.draft_policy(file, dates="DMY", first_year=1930).policy.read
    assert answered.dates == "DMY"
    table = sf.read(file, sf.Schema(["Geburtstag", "Aufnahme"]), **answered.given_fields())
    assert [domain.kind for domain in table.counts.quasi] == ["date", "date"]


def test_a_draft_finds_codes_in_every_way_of_writing(tmp_path: Path) -> None:
    lines = ["plz;lohn;besuch;notiz;diagnose"]
    for row in range(60):
        pay = ("N", "k.A.")[row % 2] if row % 5 == 0 else f"{1 + row}.{100 + 7 * row},50"
        day = "nie" if row % 4 == 0 else f"{13 + row % 15}.{1 + row % 12:02}.2023"
        note = "alone" if row == 7 else str(row)  # one row: a slip of the pen, perhaps
        lines.append(f"0{row:04};{pay};{day};{note};{('flu', 'gout')[row % 2]}")
    read = sf.draft_policy(text(tmp_path, "\n".join(lines) + "\n")).policy.read
    assert read.codes == {"lohn": ("N", "k.A."), "besuch": ("nie",)}
    assert read.dates == {"besuch": "%d.%m.%Y"}
    assert read.decimal == ","


DIALECT = ("cp1252", ";", ",", "%d.%m.%Y", "NA", "\r\n", 1)


def test_a_release_comes_out_as_its_table_went_in(tmp_path: Path) -> None:
    file = tmp_path / "klinik.csv"
    file.write_bytes(written(*DIALECT))
    table = sf.read(file, SCHEMA, missing=["NA"])
    release = sf.generalize(table, {})
    release.save(tmp_path / "out")
    lines = (tmp_path / "out" / "public" / "data.csv").read_bytes().decode("cp1252").split("\r\n")
    rows = {line.replace('"', "") for line in lines if line}
    assert {"Würzburg;NA;1234567,25;Röteln", "NA;31.12.2023;NA;Grippe"} <= rows
    read = sf.read_release(tmp_path / "out", SCHEMA)
    told = [read.regions.describe(group) for group in range(len(read.groups))]
    assert told == [release.regions.describe(group) for group in range(len(release.groups))]
    release.save(tmp_path / "plain", format="csv")
    plain = (tmp_path / "plain" / "public" / "data.csv").read_text("utf-8")
    assert '"Würzburg",,1234567.25,"Röteln"' in plain
    # Letters that an encoding has not.
    cities = {city: ["Łódź"] for city, *_ in PEOPLE if city}
    schema = sf.Schema(["city"], hierarchies={"city": sf.taxonomy(cities)})
    coarse = sf.generalize(sf.read(file, schema, missing=["NA"]), {"city": 1})
    with pytest.raises(sf.InputError, match="letters that its table's encoding, cp1252, has not"):
        coarse.save(tmp_path / "letters")
    assert not (tmp_path / "letters").exists()


def test_a_policy_tells_of_its_own_table(tmp_path: Path) -> None:
    """Another file of the same columns may be written otherwise, and lack some of them."""
    table = text(tmp_path, "ort;tag;x\nKöln;03.04.2023;1\nBonn;05.06.2023;N\n", "cp1252")
    other = text(tmp_path, "ort;tag\nKöln;13.04.2023\nBonn;05.06.2023\n", "utf-8", "b.csv")
    read = sf.Reading(encoding="cp1252", dates={"tag": "DMY", "x": "DMY"}, missing=["N"])
    policy = sf.Policy([sf.KAnonymity(1)], schema=sf.Schema(["ort", "tag"]), read=read)
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml") == policy
    assert policy.reading_of([table], sf.Reading()) == read
    settings = policy.reading_of([other], sf.Reading())
    assert settings == sf.Reading(dates={"tag": "DMY"}, missing=["N"])
    domain = sf.read(other, sf.Schema(["ort"]), **settings.given_fields()).counts.quasi[0]
    assert domain.values == ("Bonn", "Köln")


def test_the_command_line_says_it_by_column(tmp_path: Path) -> None:
    file = text(tmp_path, "age;day;illness\n" + "30;03/04/2023;flu\n-9;05/06/2023;?\n" * 3)
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[schema]\nquasi = ["age", "day"]\nsensitive = "illness"\n'
        '[schema.hierarchies.day]\nkind = "dates"\n'
        '[anonymizer]\nkind = "lattice"\n[[require]]\nkind = "k-anonymity"\nk = 3\n'
    )
    words = ["anonymize", file, "--policy", policy, "--out", tmp_path / "out"]
    refused = sfumato(*words, "--missing", "age=-9", "--missing", "?")
    assert refused.returncode == 2
    assert "needs dates such as 2024-05-31" in refused.stderr
    done = sfumato(*words, "--missing", "age=-9", "--missing", "?", "--dates", "day=MDY")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out" / "public" / "data.csv").read_text().replace('"', "").splitlines()
    assert set(lines[1:]) == {"30;03/04/2023;flu", "-9;05/06/2023;?"}


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_half_of_a_packed_file_is_told_to_be_damaged(tmp_path: Path, packing: str) -> None:
    text = "\n".join(["city,cost", *(f"Bonn {n * n},{n * 7919 % 1000}" for n in range(3_000))])
    whole, half = tmp_path / f"whole.csv.{packing}", tmp_path / f"half.csv.{packing}"
    with pa.output_stream(str(whole), compression={"gz": "gzip", "zst": "zstd"}[packing]) as out:
        out.write(text.encode())
    assert inspect_text(whole).columns == ("city", "cost")
    for content in (whole.read_bytes()[: whole.stat().st_size // 2], text.encode()):
        half.write_bytes(content)
        with pytest.raises(sf.InputError, match=r"half\.csv\.\w+ is damaged or not whole, or not"):
            sf.read(half, sf.Schema(["city"], "cost"))
