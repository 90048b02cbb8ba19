"""Files as hospitals and offices have them go from init to a release that holds, as they came.

Nothing of a draft is changed but the anonymizer, for one that takes no time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import openpyxl
import pyarrow.parquet as pq
import pyreadstat
import pytest

import sfumato as sf
from tests.messy_files import FILES, LABELS, PATIENTS, discharges
from tests.program import sfumato

ASKED = {"survey.xlsx": ("--sheet", "Answers", "--header", 2)}  # what init itself asks for
DATES = {
    "discharge.csv": "birth_date",
    "entlassung.csv": "Geburtsdatum",
    "excel.csv": "Date of Birth",
    "patients.parquet": "birth_date",
}
PERSONS = {
    "discharge.csv": "patient_id",
    "entlassung.csv": "Versichertennummer",
    "excel.csv": "MRN",
}


Journey = Callable[[str], tuple[sf.Policy, Path]]


@pytest.fixture(scope="module")
def journey(tmp_path_factory: pytest.TempPathFactory) -> Journey:
    """The journey of a file, made once: the draft, and the one file that is published."""
    return cache(lambda name: travelled(name, tmp_path_factory.mktemp("messy")))


def travelled(name: str, folder: Path) -> tuple[sf.Policy, Path]:
    """From a file to a release of it that holds."""
    data, draft, out = folder / name, folder / "policy.toml", folder / "out"
    FILES[name](data)
    run = sfumato("init", data, "--out", draft, "--seconds", 0, *ASKED.get(name, ()))
    assert run.returncode == 0, run.stderr
    text = draft.read_text(encoding="utf-8")
    draft.write_text(text.replace('kind = "best"\nseconds = 30', 'kind = "mondrian"'))
    run = sfumato("anonymize", data, "--policy", draft, "--out", out, "--no-price")
    assert run.returncode == 0, run.stderr
    run = sfumato("audit", out, "--policy", draft)
    assert run.returncode == 0, run.stdout + run.stderr
    manifest = json.loads((out / "public" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["people"] == PATIENTS
    (file,) = manifest["files"]
    assert file == f"data{data.suffix}"
    return sf.Policy.load(draft), out / "public" / file


@pytest.mark.parametrize("name", DATES)
def test_dates_are_not_given_up_and_people_are_found(name: str, journey: Journey) -> None:
    policy, data = journey(name)
    schema = policy.schema
    assert schema is not None
    assert schema.person == PERSONS.get(name)
    assert "Total Cost ($)" not in schema.identifiers
    assert schema.sensitive
    release = sf.read_release(data.parent.parent, schema)
    born = release.regions.require_regions()
    parts = born.parts[born.columns.index(DATES[name])]
    texts = {part.text for part in parts}
    assert len(texts) > 1
    assert all(re.search(r"\d{4}-\d\d-\d\d", text) for text in texts)


def test_the_german_file_stays_latin_1(journey: Journey) -> None:
    _, data = journey("entlassung.csv")
    content = data.read_bytes()
    lines = content.decode("latin-1").split("\r\n")
    assert "\n" not in "".join(lines)
    assert lines[0].replace('"', "").split(";")[-1] == "Diagnoseschlüssel"
    assert b"m\xe4nnlich" in content


def test_the_excel_export_stays_one(journey: Journey) -> None:
    _, data = journey("excel.csv")
    content = data.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    assert content.count(b"\n") == content.count(b"\r\n") == len(discharges(3)) + 1
    assert "Primary Dx" in content.splitlines()[0].decode()


def test_parquet_keeps_its_types(journey: Journey) -> None:
    _, data = journey("patients.parquet")
    came, comes = pq.read_schema(data.parents[2] / "patients.parquet"), pq.read_schema(data)
    assert {comes.field(name).type for name in ("sex", "zip")} == {came.field("sex").type}
    assert comes.field("diagnoses").type.value_type == came.field("diagnoses").type.value_type


def test_spss_keeps_its_labels(journey: Journey) -> None:
    _, data = journey("survey.sav")
    frame, about = pyreadstat.read_sav(data)
    for name, label in about.column_names_to_labels.items():
        assert label == LABELS.get(name)
    assert set(about.variable_value_labels["vote"].values()) == {
        "Left",
        "Greens",
        "Centre",
        "Right",
    }
    assert frame["vote"].dtype == float
    assert about.readstat_variable_types["age"] == "string"  # it holds ranges


@pytest.mark.parametrize("ending", ["dta", "xpt", "xlsx"])
def test_the_survey_of_other_programs(ending: str, journey: Journey) -> None:
    _, data = journey(f"survey.{ending}")
    if ending == "xlsx":
        assert openpyxl.load_workbook(data).sheetnames == ["Answers"]
    else:
        read = {"dta": pyreadstat.read_dta, "xpt": pyreadstat.read_xport}[ending]
        assert read(data)[1].column_names_to_labels["vote"] == LABELS["vote"]


def test_every_command_reads_them(journey: Journey) -> None:
    _, data = journey("survey.sav")
    folder = data.parents[2]
    table, rules = folder / "survey.sav", folder / "policy.toml"
    for words in (
        ("audit", table, "--policy", rules),
        ("audit", data, "--policy", rules),
        ("skyline", data, "--policy", rules, "--value", "1", "--confidence", "0.9"),
        ("characterize", table, "--policy", rules),
        ("compare", table, "--policy", rules, "--sweep", "k=5"),
        ("attack", "intersect", folder / "out", data, "--targets", table, "--policy", rules),
    ):
        import time

        t = time.time()
        run = sfumato(*words)
        print(words[0], time.time() - t)
        assert run.returncode in (0, 1, 3), run.stderr
        assert "error" not in run.stderr
