"""Files of Excel, SPSS, Stata and SAS: read as they are meant, and written as they came."""

from __future__ import annotations

import datetime as dt
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pandas
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pyreadstat
import pytest
import xlsxwriter

import sfumato as sf
from tests.messy_files import FILES, LABELS, PATIENTS, VALUE_LABELS, survey
from tests.program import sfumato

SCHEMA = sf.Schema(
    quasi=["age", "sex", "asked"],
    sensitive="vote",
    keep=["school"],
    domains={"sex": "categorical"},
    hierarchies={
        "age": sf.intervals([5, 100]),
        "sex": sf.suppression(),
        "asked": sf.dates(["month", "year"]),
    },
)
WRITERS = {"sav": "sav", "dta": "dta", "xpt": "xport"}
HOW = {"xlsx": {"sheet": "Answers", "header": 2}}
READERS = {
    "sav": pyreadstat.read_sav,
    "dta": pyreadstat.read_dta,
    "xpt": pyreadstat.read_xport,
}


def _cut(label: str, ending: str) -> str:
    """As much of a label as a file of this kind holds, without half a sign."""
    if ending == "dta":
        return label[:80].rstrip()
    while len(label.encode()) > {"sav": 64, "xpt": 40}[ending]:
        label = label[:-1]
    return label.rstrip()


def written(folder: Path, ending: str) -> Path:
    path = folder / f"survey.{ending}"
    FILES[path.name](path)
    return path


def released(folder: Path, ending: str, **levels: int) -> Path:
    """The data file of a release of the survey, which reads back as it was published."""
    table = sf.read(written(folder, ending), SCHEMA, **HOW.get(ending, {}))
    release = sf.generalize(table, levels)
    release.save(folder / "out")
    back = sf.read_release(folder / "out", SCHEMA)
    assert back.people == release.people == PATIENTS
    assert sorted(back.groups.sizes.tolist()) == sorted(release.groups.sizes.tolist())
    assert dict(zip(back.groups.values, back.groups.reference, strict=True)) == dict(
        zip(release.groups.values, release.groups.reference, strict=True)
    )
    assert sf.audit(back, [sf.KAnonymity(1)]).holds
    return folder / "out" / "public" / f"data.{ending}"


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt", "xlsx"])
def test_counts_are_those_of_the_same_rows_in_a_frame(tmp_path: Path, ending: str) -> None:
    answers = survey()
    if ending in ("sav", "dta"):  # which declare these as missing
        answers["vote"] = [None if answer == 98 else answer for answer in answers["vote"]]
    schema = sf.Schema(quasi=["age", "sex", "region", "asked"], sensitive="vote")
    plain = sf.read(pa.table(answers), schema)
    table = sf.read(written(tmp_path, ending), schema, **HOW.get(ending, {}))
    assert [domain.labels for domain in table.counts.quasi] == [
        domain.labels for domain in plain.counts.quasi
    ]
    kept = [table.counts.in_memory("a test"), plain.counts.in_memory("a test")]
    tuples = [
        sorted(zip(*counts.codes.tolist(), *counts.values.tolist(), counts.n.tolist(), strict=True))
        for counts in kept
    ]
    assert tuples[0] == tuples[1]


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_single_codes_keep_type_and_labels_and_ranges_are_text(tmp_path: Path, ending: str) -> None:
    data = released(tmp_path, ending, age=1, asked=1)
    frame, about = READERS[ending](data)
    kinds = about.readstat_variable_types
    assert kinds == {
        **dict.fromkeys(("age", "asked"), "string"),
        **dict.fromkeys(("sex", "vote", "school"), "double"),
    }
    assert set(frame["sex"]) == {1.0, 2.0}
    labels = {name: label for name, label in about.column_names_to_labels.items() if label}
    assert labels == {name: label for name, label in LABELS.items() if name != "resp_id"}
    if ending == "xpt":
        return
    assert about.variable_value_labels == {
        name: {value: label for value, label in values.items() if value < 98}
        for name, values in VALUE_LABELS.items()
    }


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_dates_that_are_left_as_they_are_stay_dates(tmp_path: Path, ending: str) -> None:
    frame, about = READERS[ending](released(tmp_path, ending, age=2))
    assert set(frame["asked"]) == {*survey()["asked"]}
    came = READERS[ending](tmp_path / f"survey.{ending}")[1].original_variable_types
    assert about.original_variable_types["asked"] == came["asked"]


@pytest.mark.parametrize("label", ["Survey of 2023", "Umfrage über Köln und Düren, " * 20])
@pytest.mark.parametrize(("ending", "room"), [("sav", 64), ("dta", 80), ("xpt", 40)])
@pytest.mark.parametrize("came", ["sav", "dta", "xpt"])
def test_what_a_file_is_said_to_be_goes_on(
    tmp_path: Path, label: str, came: str, ending: str, room: int
) -> None:
    """As far as there is room for it: of SPSS and SAS in bytes."""
    source, came_with = tmp_path / f"survey.{came}", _cut(label, came)
    frame = pandas.DataFrame({"sex": [1.0, 2.0] * 4, "vote": [1.0, 2.0, 3.0, 4.0] * 2})
    getattr(pyreadstat, f"write_{WRITERS[came]}")(frame, str(source), file_label=came_with)
    table = sf.read(source, sf.Schema(["sex"], "vote"))
    sf.generalize(table, {}).save(tmp_path / "out", format=None if came == ending else ending)
    about = READERS[ending](tmp_path / f"out/public/data.{ending}")[1]
    assert about.file_label == _cut(came_with, ending)
    assert 0 < len(about.file_label) <= room


def test_a_sheet_keeps_numbers_dates_and_its_name(tmp_path: Path) -> None:
    page = openpyxl.load_workbook(released(tmp_path, "xlsx", age=1)).active
    rows = [[cell.value for cell in row] for row in page.iter_rows()]
    assert page.title == "Answers"
    assert rows[0] == ["age", "sex", "asked", "vote", "school"]
    assert {type(value) for row in rows[1:] for value in row[1:2] + row[3:]} == {int}
    assert page["C2"].number_format == "dd.mm.yyyy"
    assert {row[2].date() for row in rows[1:]} == {*survey()["asked"]}


def test_labels_of_values_that_nobody_is_published_with_are_not(tmp_path: Path) -> None:
    """A label tells that somebody who is not in the release answered so."""
    answers = {"age": [30.0] * 6 + [70.0], "vote": [1.0, 2.0] * 3 + [7.0]}
    source = tmp_path / "few.sav"
    frame = pa.table(answers).to_pandas()
    labels = {"vote": {1.0: "Left", 2.0: "Right", 7.0: "Monarchist"}}
    pyreadstat.write_sav(frame, str(source), variable_value_labels=labels)
    for declared, expected in ((None, {1.0, 2.0}), ([1, 2, 7], {1.0, 2.0, 7.0})):
        domains = {} if declared is None else {"vote": declared}
        schema = sf.Schema(quasi=["age"], sensitive="vote", domains=domains)
        release = sf.generalize(
            sf.read(source, schema), {}, require=[sf.KAnonymity(2)], suppression=0.5
        )
        assert release.suppressed == 1
        out = release.save(tmp_path / f"out{len(expected)}") / "public"
        told = pyreadstat.read_sav(out / "data.sav")[1].variable_value_labels
        assert set(told["vote"]) == expected
        hidden = b"Monarchist" not in (out / "data.sav").read_bytes()
        assert hidden == (declared is None)
        assert hidden == ("Monarchist" not in (out / "manifest.json").read_text())


def test_other_formats_tell_labels_in_the_manifest(tmp_path: Path) -> None:
    table = sf.read(written(tmp_path, "sav"), SCHEMA)
    out = sf.generalize(table, {"age": 1}).save(tmp_path / "out", format="csv")
    columns = json.loads((out / "public" / "manifest.json").read_text())["columns"]
    told = {column["name"]: column for column in columns}
    assert told["sex"]["label"] == LABELS["sex"]
    assert told["sex"]["labels"] == {"1": "male", "2": "female"}
    assert "labels" not in told["age"]


def test_what_is_read_as_missing_is_told(tmp_path: Path) -> None:
    for ending, expected in (("sav", "school 99; vote 97 to 99"), ("dta", "school .r; vote .d")):
        table = sf.read(written(tmp_path, ending), SCHEMA)
        assert any(expected in note for note in table.source.notes), table.source.notes
        report = sf.audit(sf.generalize(table, {"age": 2}), [sf.KAnonymity(1)])
        assert any(expected in note for note in report.notes)


@pytest.mark.parametrize("format", ["xlsx", "sav", "dta", "xpt"])
def test_any_table_can_be_written_so(tmp_path: Path, format: str) -> None:
    """Lists are texts there, as in a CSV file; texts that look like formulas are texts."""
    table = pa.table(
        {
            "town": pa.array(["=1+1", "=1+1", None, None]).dictionary_encode(),
            "day": [dt.date(1850, 1, 1)] * 4,
            "ill": pa.array([["flu"], ["flu", "gout"], [], ["gout"]]),
        }
    )
    schema = sf.Schema(quasi=["town", "day"], sensitive="ill")
    release = sf.generalize(sf.read(table, schema), {})
    release.save(tmp_path / "out", format=format)
    back = sf.read_release(tmp_path / "out", schema)
    assert sorted(back.groups.sizes.tolist()) == [2, 2]
    assert back.groups.values == release.groups.values
    assert back.groups.case == release.groups.case == "set"


def test_a_policy_may_name_the_format(tmp_path: Path) -> None:
    table = sf.read(written(tmp_path, "sav"), SCHEMA)
    policy = sf.Policy([sf.KAnonymity(1)], format="xlsx")
    policy.save(tmp_path / "policy.toml")
    policy = sf.Policy.load(tmp_path / "policy.toml")
    release = sf.generalize(table, {"age": 2})
    release.save(tmp_path / "out", policy=policy)
    assert (tmp_path / "out" / "public" / "data.xlsx").is_file()
    release.save(tmp_path / "csv", policy=policy, format="csv")
    assert (tmp_path / "csv" / "public" / "data.csv").is_file()
    (tmp_path / "policy.toml").write_text(
        'format = "docx"\n[[require]]\nkind = "k-anonymity"\nk = 2'
    )
    with pytest.raises(sf.InputError, match="format 'docx' is not known"):
        sf.Policy.load(tmp_path / "policy.toml")


@pytest.mark.parametrize(
    ("format", "name", "value"), [("sav", "a b", 1), ("dta", "a-b", 1), ("sav", "n", 2**60)]
)
def test_what_a_program_cannot_hold_is_refused_in_a_line(
    tmp_path: Path, format: str, name: str, value: int
) -> None:
    schema = sf.Schema(quasi=[name], sensitive="ill")
    table = pa.table({name: [value, value], "ill": ["flu", "gout"]})
    release = sf.generalize(sf.read(table, schema), {})
    with pytest.raises(sf.InputError, match="these columns cannot be a"):
        release.save(tmp_path / "out", format=format)
    assert not (tmp_path / "out").exists()


def sheet(path: Path, fill: Callable[[Any, Any], None]) -> Path:
    book = xlsxwriter.Workbook(str(path))
    fill(book, book.add_worksheet("People"))
    book.close()
    return path


def rows_of(page: Any, *rows: list[object], at: int = 0) -> None:
    for place, row in enumerate(rows, start=at):
        page.write_row(place, 0, row)


def with_margins(book: Any, page: Any) -> None:
    """A merged title, an empty column at the left and one between, and ids with leading zeros."""
    page.merge_range("A1:E1", "Clinic at the lake")
    page.write_row("B3", ["plz", "age", None, "ill"])
    for place, row in enumerate([["01301", 30, None, "flu"], ["01307", 31, None, "gout"]], start=3):
        page.write_row(place, 1, row)


def test_titles_and_empty_columns_are_no_part_of_a_table(tmp_path: Path) -> None:
    file = sheet(tmp_path / "people.xlsx", with_margins)
    schema = sf.Schema(quasi=["plz", "age"], sensitive="ill")
    with pytest.raises(sf.InputError, match=r"merged cells \(A1:E1\).*names the columns: --header"):
        sf.read(file, schema)
    table = sf.read(file, schema, header=3)
    assert [domain.values for domain in table.counts.quasi] == [("01301", "01307"), (30, 31)]
    assert not table.source.notes  # codes stored as text are no numbers


def merged(book: Any, page: Any) -> None:
    rows_of(page, ["age", "ill"], [30, "flu"], [31, "gout"])
    page.merge_range("A4:A5", 40)


def with_a_gap(book: Any, page: Any) -> None:
    rows_of(page, ["age", "ill"], [30, "flu"])
    rows_of(page, ["sum", 1], at=3)


def without_a_name(book: Any, page: Any) -> None:
    rows_of(page, ["age", "", "ill"], [30, 2, "flu"])


def below_a_title(book: Any, page: Any) -> None:
    rows_of(page, ["Our patients"], ["age", "ill"], [30, "flu"])


def named_twice(book: Any, page: Any) -> None:
    rows_of(page, ["age", "ill", "age"], [30, "flu", 3])


def uncomputed(path: Path) -> Path:
    book = openpyxl.Workbook()
    for row in (["age", "ill"], ["=1+1", "flu"]):
        book.active.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        (merged, "merged cells (A4:A5)"),
        (with_a_gap, "row 3 between others is empty"),
        (without_a_name, "row 1 names no column B"),
        (below_a_title, "row 1 names no column B"),
        (named_twice, "column 3 has the name of another before it"),
        (lambda book, page: None, "is empty: expected a row"),
    ],
)
def test_sheets_that_are_no_table_are_refused_in_a_line(
    tmp_path: Path, fill: Callable[[Any, Any], None], expected: str
) -> None:
    run = sfumato("init", sheet(tmp_path / "people.xlsx", fill))
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert expected in run.stderr
    assert "flu" not in run.stderr


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("people.csv", ("--sheet", "People"), "people.csv is no workbook, so it has no sheet"),
        ("people.csv", ("--header", 2), "a text file's first line does (header 1)"),
        ("people.parquet", ("--header", 1), "people.parquet is no workbook"),
        ("people.xlsx", ("--header", 15), "14 rows above it fill all columns"),
        ("few.xlsx", ("--header", 4), "no row is below it"),
        ("people.csv", ("--first-year", 30), "use a year of four digits, such as 1930"),
    ],
)
def test_an_option_that_could_do_nothing_is_refused_in_a_line(
    tmp_path: Path, name: str, more: tuple[object, ...], expected: str
) -> None:
    table = pa.table({"age": list(range(20, 50)), "ill": ["flu", "gout"] * 15})
    if name.endswith("csv"):
        pa_csv.write_csv(table, tmp_path / name)
    elif name.endswith("parquet"):
        pq.write_table(table, tmp_path / name)
    else:
        rows = [list(row.values()) for row in table.to_pylist()]
        sheet(
            tmp_path / name,
            lambda _, page: rows_of(page, ["age", "ill"], *rows[: 3 if name == "few.xlsx" else 30]),
        )
    run = sfumato("init", tmp_path / name, *more, "--out", tmp_path / "policy.toml")
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert expected in run.stderr
    assert not (tmp_path / "policy.toml").exists()


def test_dates_of_a_sheet_are_dates_also_where_their_form_is_told_as_it_shows_them(
    tmp_path: Path,
) -> None:
    book, file = openpyxl.Workbook(), tmp_path / "a.xlsx"
    for cell in ("x", dt.datetime(2023, 12, 31), dt.datetime(2024, 2, 29), "?"):
        book.active.append([cell])
    book.save(file)
    told = {"dates": {"x": "%d.%m.%Y"}, "missing": ["?"]}
    for options in ({}, told):
        options = {"missing": ["?"], **options}
        column = sf.read(file, sf.Schema(["x"]), **options).counts.quasi[0]
        assert column.values[:2] == (dt.date(2023, 12, 31), dt.date(2024, 2, 29))
    texts = sheet(
        tmp_path / "b.xlsx", lambda _, page: rows_of(page, ["x"], ["2023-12-31"], ["04/03/24"])
    )
    with pytest.raises(sf.InputError, match="no dates written"):
        sf.read(texts, sf.Schema(["x"]), **told)


def test_a_register_on_another_sheet_is_named_beside_its_file(tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    rows_of(book.add_worksheet("Register"), ["x", "y"], *[["a", "b"]] * 5)
    rows_of(book.add_worksheet("Answers"), ["x", "y"], *[["a", "b"]] * 3)
    book.close()
    policy, kmap = tmp_path / "policy.toml", '[[require]]\nkind = "k-map"\nk = 5\npopulation = '
    roles = '[read]\nsheet = "Answers"\n[schema]\nquasi = ["x", "y"]\n'
    policy.write_text(f'{roles}{kmap}{{ file = "a.xlsx", read = {{ sheet = "Register" }} }}\n')
    made = ("anonymize", tmp_path / "a.xlsx", "--policy", policy, "--out", tmp_path / "out")
    assert sfumato(*made).returncode == 0
    (verdict,) = sf.audit(
        sf.read_release(tmp_path / "out"), sf.Policy.load(tmp_path / "out/private/policy.toml")
    ).verdicts
    assert verdict.holds
    assert verdict.measured == 5
    for said, why in (
        ('"a.xlsx"', "2 sheets"),
        ('{ file = "b.csv", read = { sheet = "c" } }', "b.csv"),
    ):
        (tmp_path / "b.csv").write_text("x,y\na,b\n")
        policy.write_text(f"{roles}{kmap}{said}\n")
        run = sfumato(*made, "--force")
        assert run.returncode == 2
        assert why in run.stderr


def test_a_sheet_that_a_policy_or_a_command_names_is_not_passed_over(tmp_path: Path) -> None:
    table = pa.table({"age": ["20", "30"] * 15, "ill": ["flu"] * 20 + ["gout"] * 10})
    file, policy = tmp_path / "people.csv", tmp_path / "policy.toml"
    pa_csv.write_csv(table, file)
    columns = '[schema]\nquasi = ["age"]\nsensitive = "ill"\n'
    plain = f'{columns}[[require]]\nkind = "k-anonymity"\nk = 2\n'
    policy.write_text(plain)
    made = ("anonymize", file, "--policy", policy, "--out", tmp_path / "out")
    assert sfumato(*made).returncode == 0
    again = (*made, "--force", "--sheet", "People")  # --out is a folder, and --by says nothing
    for run in (sfumato(*again), sfumato("audit", file, "--policy", policy, "--sheet", "People")):
        assert run.returncode == 2
        assert (
            run.stderr == "error: people.csv is no workbook, so it has no sheet; leave sheet out\n"
        )
    with pytest.raises(sf.InputError, match="no workbook"):
        sf.read_release(file, sf.Policy.load(policy).schema, sheet="People")
    for said in ('sheet = "People"', "header = 3"):
        policy.write_text(f"[read]\n{said}\n{plain}")
        run = sfumato(*made, "--force")
        assert run.returncode == 2
        assert "people.csv is no workbook" in run.stderr
        with pytest.raises(sf.InputError, match="no workbook"):
            sf.read(file, sf.Policy.load(policy))
        told = sfumato("audit", file, "--policy", policy, "--json")  # it may be a release
        assert told.returncode == 0
        assert "people.csv has none" in told.stdout
    sheet(
        tmp_path / "made.xlsx",
        lambda _, page: rows_of(page, ["age", "ill"], *[["20", "flu"], ["30", "gout"]] * 6),
    )
    policy.write_text(plain)
    both = ("audit", tmp_path / "made.xlsx", "--table", file, "--policy", policy)
    assert sfumato(*both, "--sheet", "People").returncode != 2  # of the one that has sheets


def test_what_excel_shows_decides_and_no_single_cell_does(tmp_path: Path) -> None:
    """Zeros before a code, dates that are published as they are, the way most dates are shown."""

    def fill(book: Any, page: Any) -> None:
        padded, own = (book.add_format({"num_format": way}) for way in ("00000", '"Ann" yyyy'))
        usual = book.add_format({"num_format": "dd.mm.yyyy"})
        rows_of(page, ["zip", "seen"])
        for row in range(1, 5):
            page.write_number(row, 0, 1301, padded)
            page.write_datetime(row, 1, dt.date(2023, 5, row), own if row == 1 else usual)

    file = sheet(tmp_path / "zip.xlsx", fill)
    table = sf.read(file, sf.Schema(["zip"], keep=["seen"]))
    assert table.counts.quasi[0].values == ("01301",)
    sf.generalize(table, {}).save(tmp_path / "out")
    page = openpyxl.load_workbook(tmp_path / "out" / "public" / "data.xlsx").active
    assert {cell.value for cell in page["A"][1:]} == {"01301"}
    assert {cell.value for cell in page["B"][1:]} == {dt.datetime(2023, 5, d) for d in range(1, 5)}
    assert {cell.number_format for cell in page["B"][1:]} == {"dd.mm.yyyy"}


def test_a_small_workbook_that_holds_very_much_is_refused(tmp_path: Path) -> None:
    file = sheet(tmp_path / "a.xlsx", lambda book, page: rows_of(page, ["x"], [1]))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet2.xml", b" " * 20_000_000)
    assert file.stat().st_size < 100_000
    with pytest.raises(sf.InputError, match=r"may take 0\.2 GB; convert it"):
        sf.read(file, sf.Schema(["x"]), memory="100MB")


def test_formulas_are_their_values_and_errors_are_missing(tmp_path: Path) -> None:
    def fill(book: Any, page: Any) -> None:
        rows_of(page, ["age", "ill"], [30, "flu"], [31, "gout"])
        page.write_formula("A4", "=A2+1", None, 31)
        page.write_formula("A5", "=1/0", None, "#DIV/0!")
        page.write_column("B4", ["flu", "gout"])

    schema = sf.Schema(quasi=["age"], sensitive="ill")
    table = sf.read(sheet(tmp_path / "people.xlsx", fill), schema)
    assert table.counts.quasi[0].values == (30, 31, None)
    assert any("1 cells with #DIV/0! are read as missing" in note for note in table.source.notes)
    with pytest.raises(sf.InputError, match="1 formulas have no value yet"):
        sf.read(uncomputed(tmp_path / "open.xlsx"), schema)


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt", "xlsx", "sas7bdat"])
def test_damaged_and_too_large_files_are_refused_in_a_line(tmp_path: Path, ending: str) -> None:
    broken = tmp_path / f"broken.{ending}"
    broken.write_bytes(b"somebody's row" * 50)
    with pytest.raises(sf.InputError, match="is damaged") as refused:
        sf.read(broken, SCHEMA)
    assert "somebody" not in str(refused.value)
    with pytest.raises(sf.InputError, match="convert it to Parquet or CSV"):
        sf.read(broken, SCHEMA, memory="10KB")


@pytest.mark.parametrize(("ending", "library"), [("sav", "pyreadstat"), ("xlsx", "openpyxl")])
def test_without_the_extra_the_pip_line_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, library: str
) -> None:
    path = written(tmp_path, ending)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(sf.MissingExtra, match=r"pip install 'sfumato\[files\]'"):
        sf.read(path, SCHEMA)
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    release = sf.generalize(sf.read(pa.table(survey()), SCHEMA), {"age": 2})
    with pytest.raises(sf.MissingExtra, match=r"pip install 'sfumato\[files\]'"):
        release.save(tmp_path / "out", format=ending)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("ending", "format", "day", "unit"),
    [
        ("dta", "%tdDD.NN.CCYY", 22645, 1),
        ("dta", "%tdnn/dd/CCYY", 22645, 1),
        ("dta", "%tcDD.NN.CCYY_HH:MM", 22645, 86_400_000),
        ("xpt", "MONYY7", 22645, 1),
        ("xpt", "WORDDATE18", 22645, 1),
        ("xpt", "MONNAME3", 22645, 1),
        ("xpt", "DTMONYY7", 22645, 86_400),
        ("xpt", "DTDATE9", 22645, 86_400),  # which pyreadstat takes for days
        ("sav", "MOYR8", 22645 + 137_775, 86_400),
        ("sav", "QYR8", 22645 + 137_775, 86_400),
    ],
)
def test_dates_are_dates_however_the_program_shows_them(
    tmp_path: Path, ending: str, format: str, day: int, unit: int
) -> None:
    file = tmp_path / f"dates.{ending}"
    days = [day, day + 31, None]
    frame = pandas.DataFrame({"day": [None if at is None else float(at) * unit for at in days]})
    frame["code"] = [1.0, 2.0, 3.0]
    writer = getattr(pyreadstat, f"write_{WRITERS[ending]}")
    writer(frame, str(file), variable_format={"day": format})
    schema = sf.Schema(quasi=["day", "code"])
    table = sf.read(file, schema)
    assert table.counts.quasi[0].labels == ("2021-12-31", "2022-01-31", "(missing)")
    assert table.counts.quasi[1].kind == "numeric"
    sf.generalize(table, {}).save(tmp_path / "out")
    data = tmp_path / "out" / "public" / f"data.{ending}"
    about = READERS[ending](data, metadataonly=True)[1]
    assert about.original_variable_types["day"] == format
    back = sf.read(data, schema)
    assert back.counts.quasi[0].labels == table.counts.quasi[0].labels
