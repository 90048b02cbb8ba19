"""Five files as hospitals and offices have them: `python -m tests.messy_files FOLDER` writes them.

Discharges with several rows a patient; their German twin in Latin-1; an Excel export with a byte
order mark, CRLF, American dates and dollars; Parquet with types of every kind; an SPSS survey with
labels and declared missing values. And the survey once more as Stata, SAS and Excel have it.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

PATIENTS = 240
DIAGNOSES = ("A09", "E11.9", "I10", "I21.4", "J18.9", "K35.8", "M54.5", "S72.0")
TOWNS = ("01301", "01307", "04109", "04229", "10115", "10119")
PARTIES = {1.0: "Left", 2.0: "Greens", 3.0: "Centre", 4.0: "Right"}
SCHOOLS = {1.0: "none", 2.0: "primary", 3.0: "secondary", 4.0: "university"}


def discharges(seed: int = 1) -> list[dict[str, object]]:
    """One to three stays each of many patients, with dates and costs that differ between them."""
    random = Random(seed)
    rows: list[dict[str, object]] = []
    for patient in range(PATIENTS):
        born = dt.date(1930, 1, 1) + dt.timedelta(random.randrange(27_000))
        sex, town = random.choice("FM"), random.choice(TOWNS)
        for _ in range(random.choice((1, 1, 2, 3))):
            rows.append(
                {
                    "patient": f"P{100_000 + patient * 37}",
                    "born": born,
                    "sex": sex,
                    "town": town,
                    "admitted": dt.date(2023, 1, 1) + dt.timedelta(random.randrange(365)),
                    "diagnosis": random.choice(DIAGNOSES),
                    "cost": random.randrange(20_000, 1_500_000) / 100,
                }
            )
    random.shuffle(rows)
    return rows


def _text(rows: list[list[object]], delimiter: str, line_end: str) -> str:
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    return written.getvalue()


def discharge_file(path: Path) -> None:
    """discharge.csv: several rows a patient."""
    head = ["patient_id", "birth_date", "sex", "zip", "admission_date", "diagnosis", "total_cost"]
    rows = [[*row.values()] for row in discharges()]
    path.write_text(_text([head, *rows], ",", "\n"), encoding="utf-8")


def german_file(path: Path) -> None:
    """entlassung.csv: Latin-1, semicolons, decimal commas, 31.12.2023, umlauts, `k.A.`."""
    head = ["Versichertennummer", "Geburtsdatum", "Geschlecht", "PLZ", "Aufnahmedatum"]
    head += ["Diagnoseschlüssel", "Kosten"]
    rows: list[list[object]] = []
    for row in discharges(2):
        born, admitted = (f"{row[name]:%d.%m.%Y}" for name in ("born", "admitted"))
        cost = f"{row['cost']:.2f}".replace(".", ",")
        sex = {"F": "weiblich", "M": "männlich"}[str(row["sex"])]
        rows.append([row["patient"], born, sex, row["town"], admitted, row["diagnosis"], cost])
    path.write_bytes(_text([head, *rows], ";", "\r\n").encode("latin-1"))


def excel_export(path: Path) -> None:
    """excel.csv: byte order mark, CRLF, 12/31/2023, "$1,234.56", spaces in names."""
    head = ["MRN", "Date of Birth", "Sex", "Zip Code", "Admit Date", "Primary Dx", "Total Cost ($)"]
    rows: list[list[object]] = []
    for row in discharges(3):
        born, admitted = (f"{row[name]:%m/%d/%Y}" for name in ("born", "admitted"))
        cost = f"${row['cost']:,.2f}"
        rows.append(
            [row["patient"], born, row["sex"], row["town"], admitted, row["diagnosis"], cost]
        )
    path.write_bytes(b"\xef\xbb\xbf" + _text([head, *rows], ",", "\r\n").encode("utf-8"))


def parquet_file(path: Path) -> None:
    """patients.parquet: categorical, timestamp with a time zone, decimal, list, bool."""
    random = Random(4)
    days = [dt.date(1930, 1, 1) + dt.timedelta(random.randrange(27_000)) for _ in range(PATIENTS)]
    midnight = dt.datetime(2023, 1, 1, tzinfo=dt.UTC)
    seconds = [dt.timedelta(seconds=random.randrange(365 * 86_400)) for _ in range(PATIENTS)]
    costs = [Decimal(random.randrange(2_000_000)) / 100 for _ in range(PATIENTS)]
    table = pa.table(
        {
            "patient_id": pa.array(range(1, PATIENTS + 1), pa.int64()),
            "birth_date": pa.array(days, pa.date32()),
            "sex": pa.array(random.choices("FM", k=PATIENTS)).dictionary_encode(),
            "zip": pa.array(random.choices(TOWNS, k=PATIENTS)).dictionary_encode(),
            "admitted": pa.array(
                [midnight + later for later in seconds], pa.timestamp("us", "Europe/Berlin")
            ),
            "insured": pa.array([random.random() < 0.8 for _ in range(PATIENTS)], pa.bool_()),
            "total_cost": pa.array(costs, pa.decimal128(10, 2)),
            "diagnoses": pa.array(
                [random.sample(DIAGNOSES, random.choice((1, 2))) for _ in range(PATIENTS)]
            ),
        }
    )
    pq.write_table(table, path)


def survey() -> dict[str, list[object]]:
    """Answers to a survey: codes, of which 98 and 99 say that there is no answer."""
    random = Random(5)
    schools = [random.choice((1.0, 2.0, 3.0, 4.0, 99.0)) for _ in range(PATIENTS)]
    days = [dt.date(2023, 3, 1) + dt.timedelta(random.randrange(60)) for _ in range(PATIENTS)]
    return {
        "resp_id": [float(number) for number in range(PATIENTS)],
        "age": [float(random.randrange(18, 90)) for _ in range(PATIENTS)],
        "sex": [random.choice((1.0, 2.0)) for _ in range(PATIENTS)],
        "school": [*schools],
        "region": [random.choice(("N", "E", "S", "W")) for _ in range(PATIENTS)],
        "asked": [*days],
        "vote": [random.choice((1.0, 2.0, 3.0, 4.0, 98.0)) for _ in range(PATIENTS)],
    }


LABELS = {
    "resp_id": "Respondent",
    "age": "Age in years",
    "sex": "Sex of respondent",
    "school": "Highest school",
    "vote": "Vote in the last election (Stimme für)",
}
VALUE_LABELS = {
    "sex": {1.0: "male", 2.0: "female"},
    "school": {**SCHOOLS, 99.0: "refused"},
    "vote": {**PARTIES, 98.0: "don't know"},
}
MISSING = {"school": [99.0], "vote": [{"lo": 97.0, "hi": 99.0}]}


def spss_file(path: Path) -> None:
    """survey.sav: labels of variables and values, declared missing values, a date."""
    import pandas
    import pyreadstat

    pyreadstat.write_sav(
        pandas.DataFrame(survey()),
        str(path),
        column_labels=LABELS,
        variable_value_labels=VALUE_LABELS,
        missing_ranges=MISSING,
        variable_measure={"sex": "nominal", "school": "ordinal", "vote": "nominal", "age": "scale"},
        variable_format=dict.fromkeys(("age", "sex", "school", "vote"), "F3.0"),
    )


def stata_file(path: Path) -> None:
    """survey.dta: the same, missing answers as Stata's `.r` and `.d`."""
    import pandas
    import pyreadstat

    answers = survey()
    for name, code, letter in (("school", 99.0, "r"), ("vote", 98.0, "d")):
        answers[name] = [letter if answer == code else answer for answer in answers[name]]
    values = {
        name: {value: label for value, label in labels.items() if value < 98}
        for name, labels in VALUE_LABELS.items()
    }
    pyreadstat.write_dta(
        pandas.DataFrame(answers),
        str(path),
        column_labels=LABELS,
        variable_value_labels={
            name: {int(value): label for value, label in labels.items()}
            for name, labels in values.items()
        },
        missing_user_values={"school": ["r"], "vote": ["d"]},
    )


def sas_file(path: Path) -> None:
    """survey.xpt: labels of variables; of values SAS keeps none in the file."""
    import pandas
    import pyreadstat

    pyreadstat.write_xport(pandas.DataFrame(survey()), str(path), column_labels=LABELS)


def workbook(path: Path) -> None:
    """survey.xlsx: a sheet beside another, a title above the names, ages stored as text."""
    import xlsxwriter

    book = xlsxwriter.Workbook(str(path))
    book.add_worksheet("Notes").write_column(0, 0, ["Survey 2023", "Do not pass on"])
    page = book.add_worksheet("Answers")
    page.write_string(0, 0, "Survey 2023")
    day = book.add_format({"num_format": "dd.mm.yyyy"})
    for place, (name, answers) in enumerate(survey().items()):
        page.write_string(1, place, name)
        for row, answer in enumerate(answers, start=2):
            if isinstance(answer, dt.date):
                page.write_datetime(row, place, answer, day)
            elif name == "age" and row < 12:
                page.write_string(row, place, f"{answer:.0f}")
            else:
                page.write(row, place, answer)
    book.close()


FILES: dict[str, Callable[[Path], None]] = {
    "discharge.csv": discharge_file,
    "entlassung.csv": german_file,
    "excel.csv": excel_export,
    "patients.parquet": parquet_file,
    "survey.sav": spss_file,
    "survey.dta": stata_file,
    "survey.xpt": sas_file,
    "survey.xlsx": workbook,
}


def write_all(folder: Path) -> None:
    for name, write in FILES.items():
        write(folder / name)


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
