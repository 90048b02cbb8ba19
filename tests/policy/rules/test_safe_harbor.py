"""Safe Harbor by what a file shows: each of the eighteen kinds, and what only looks like one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.engines.choose import open_engine
from sfumato.engines.reading import Reading
from sfumato.release.handed_out import columns_of

ROWS = 40


def judged(columns: dict[str, list[object]], **options: object) -> dict[str, sf.Paragraph]:
    """The paragraphs of a file that has these columns as they are."""
    table = pa.table({"group": ["a", "b"] * (ROWS // 2), **columns})
    schema = sf.Schema(["group"], keep=list(columns), insist=list(columns))
    rules = sf.SafeHarbor(**{"as_of": 2026, **options})  # type: ignore[arg-type]
    report = sf.audit(sf.read(table, schema), sf.Policy([sf.KAnonymity(1)], profile=rules))
    assert report.rules is not None
    return {paragraph.name: paragraph for paragraph in report.rules.paragraphs}


def some(form: str) -> list[object]:
    """Forty different cells of a form."""
    return [form.format(number, number % 28 + 1) for number in range(ROWS)]


NAMES = [f"{first} {last}" for first in ("Ann", "Bob", "Eva", "Tim") for last in (
    "Abel", "Berg", "Cole", "Dorn", "Ebel", "Funk", "Gray", "Hart", "Iver", "Jost")]  # fmt: skip
OF_EACH = [
    ("A", "surname", some("Mill{}er")),
    ("A", "who", NAMES),
    ("B", "city", some("Town {}")),
    ("B", "zip", some("130{0:02d}")),
    ("B", "area code", some("130{0:02d}-1234")),
    ("C", "admission", some("2020-03-{1:02d}")),
    ("C", "seen", some("{1}.3.2020")),
    ("C", "birth_date", some("199003{1:02d}")),
    ("C", "month", some("{1}")),
    ("D", "contact", some("617-555-01{0:02d}")),
    ("D", "phone", some("61755501{0:02d}")),
    ("E", "fax", some("617 5550 1{0:02d}")),
    ("F", "contact", some("p{}@example.org")),
    ("G", "number given", some("123-45-67{0:02d}")),
    ("G", "ssn", some("1234567{0:02d}")),
    ("H", "mrn", some("{0:07d}")),
    ("H", "remark", some("MRN: 00{0:05d}")),
    ("I", "insurance_no", some("Z{0:08d}")),
    ("I", "insured", ["A123456780"] * 10 + [None] * 30),
    ("J", "acct_no", some("{0:08d}")),
    ("J", "paid to", ["DE89370400440532013000", *[None] * 39]),
    ("K", "drivers_license", some("D{0:07d}")),
    ("L", "vin", some("1HGCM82633A0{0:05d}")),
    ("L", "car", ["1M8GDM9AXKP042788", *[None] * 39]),
    ("M", "device_id", some("SN-{0:06d}")),
    ("M", "sent by", some("00:1B:44:11:3A:{0:02d}")),
    ("N", "link", some("https://example.org/{}")),
    ("O", "from", some("192.168.0.{}")),
    ("P", "fingerprint", some("loop {}")),
    ("Q", "picture_file", some("face{}")),
    ("Q", "scan", some("{}.jpg")),
    ("R", "patient_key", some("P{0:06d}")),
    ("R", "patient_id", some("{}")),  # no long numbers, but each is one person's
    ("R", "code", some("QX-{0:04d}-Z")),
]


ODD_FORMS = {
    "date": "Jan 5|5-Jan-20|5-Jan-2020|05JAN2020|01/2020|2020 Q3|Q3 2020|January the 5th, 2020"
    "|2020/1|JAN 5 2020|Jan-2020|2020-Jan-05|2020, March 3|x-2020-03-04|5. Januar"
    "|3 de mayo de 2020",
    "address": "12 Main St, Ithaca|Ithaca, NY 14850|NY 14850-1234|see 14850-1234|P.O. Box 12"
    "|Hauptstraße 12|42.4431, -76.5019",
    "phone": "617-555-0123 ext. 12|617–555–0123|617-5550123|617/555-0123|tel 555-0123|01511234567",
    "ip": "::1|2001:db8::|fe80::1ff:fe23:4567:890a|::ffff:12",
    "url": "example.org/people/ann|facebook.com/ann|see example.com.|@annberg",
    "mail": "ann(at)example.org|ann @ example.org|ann [at] example.org",
    "ssn": "123 45 6789|SSN 123456789",
    "record": "chart no. 12345|File No 12345",
    "image": "face.webp|face.jpg?size=2",
}
NO_FORMS = (
    "Marker 2020|Main street|2020|2020-2021|120/80|Stage 2|10:30|may be|1.2020|M54.5"
    "|[20, 30)|pH 7.40, 7.41|1 to 5 dr visits|std::sort|mean 12.50 13.25|Type 2 diabetes"
    "|10 mg de facto"
)


def test_forms_are_found_however_odd_and_are_not_found_where_there_are_none() -> None:
    cells = {form: texts.split("|") for form, texts in ODD_FORMS.items()}
    cells["none"] = NO_FORMS.split("|")
    longest = max(map(len, cells.values()))
    table = pa.table({form: each + [None] * (longest - len(each)) for form, each in cells.items()})
    engine = open_engine(table, Reading())
    published = columns_of(engine, engine.register(table), sf.Schema(["none"]), whole=True)
    found = {column.name: column.forms for column in published.columns}
    assert found.pop("none") == {}
    assert {form: found[form].get(form) for form in found} == {
        form: len(cells[form]) for form in found
    }


def test_a_name_may_be_about_several_things_and_a_category_of_the_oldest_is_one() -> None:
    apart = judged(
        {
            "age_at_diagnosis": [91, *range(40, 79)],
            "hospital zip": some("130{0:02d}"),
            "gps": some("42.4{0:02d}"),
            "birth_year": ["<1930", "<1936", "<=1935", *["[1990, 2000)"] * 37],
            "pupil": [f"{one}{other}" for one in "abcd" for other in "klmnopqrst"],
            "next of kin": ["Berg", "Cole", "Abel", "Hart"] * 10,
        }
    )
    assert "age_at_diagnosis: 1 cell that tell ages of 90" in apart["(C)"].reason
    assert "birth_year: 1 cell that tell an age of 90" in apart["(C)"].reason
    assert {"hospital zip", "gps"} <= {
        part.split(":")[0] for part in apart["(B)"].reason.split("; ")
    }
    assert apart["(R)"].status == "cannot_judge"
    assert apart["(A)"].reason.startswith("next of kin")


def each_apart(columns: Iterable[tuple[str, list[object]]]) -> dict[str, list[object]]:
    """Columns of one file; of equal names the later ones are numbered."""
    apart: dict[str, list[object]] = {}
    for name, cells in columns:
        taken = sum(other.split(" no ")[0] == name for other in apart)
        apart[f"{name} no {taken}" if taken else name] = cells
    return apart


def test_each_of_the_eighteen_is_found_and_no_cell_is_quoted() -> None:
    columns = each_apart((name, cells) for _, name, cells in OF_EACH)
    found = judged(columns)
    for (letter, *_), name in zip(OF_EACH, columns, strict=True):
        cells = [str(cell) for cell in columns[name] if cell is not None]
        paragraph = found[f"({letter})"]
        assert paragraph.status == "violated"
        assert f"{name}: {len(cells)} cell" in paragraph.reason
        assert not any(cell in paragraph.reason for cell in cells if len(cell) > 3)
    assert {letter for letter, *_ in OF_EACH} == set("ABCDEFGHIJKLMNOPQR")


NEAR_MISSES = [
    ("shop", some("130{0:02d}")[:3] + ["13000"] * 37),  # five digits that are no ZIP code
    ("has_phone", ["yes", "no"] * 20),
    ("phone", ["yes", "no"] * 20),
    ("year", ["1990", "2001"] * 20),
    ("birth_year", ["1990-1994", "2000-2004"] * 20),
    ("birth", ["<1937", "[1940, 1950)"] * 20),
    ("admission", ["2019", "[2020-01-01, 2022-01-01)"] * 20),
    ("admission", ["2010s", "*"] * 20),
    ("admission", ["*"] * 40),
    ("age", ["89", "17"] * 20),
    ("age", ["[85, 90)", ">=90", "80-89", "90+"] * 10),
    ("state", ["NY", "MA"] * 20),
    ("country", ["US", "CA"] * 20),
    ("zip", ["000", "***"] * 20),
    ("zip", ["1****", "*"] * 20),
    ("cost", some("1{}.25")),
    ("drug_name", ["Aspirin", "Ibuprofen", "Paracetamol", "None"] * 10),
    ("payee", ["DE88370400440532013000", *[None] * 39]),  # wrong check digits
    ("insured", ["A123456781"] * 40),
    ("account_balance", ["-", "+"] * 20),
    ("pressure", ["120/80", "130/85"] * 20),
    ("dose", ["1.2.0", "0.5.1"] * 20),
    ("icd", ["I25.10", "E11.9"] * 20),
    ("length_of_stay_days", some("{}")),
]


def test_what_only_looks_like_one_is_let_through() -> None:
    found = judged(each_apart(NEAR_MISSES), no_actual_knowledge=True).values()
    assert [paragraph for paragraph in found if not paragraph.answered] == []


AGES = {"90": 1, "91": 1, "[85, 95)": 1, "85-94": 1, "9*": 1, ">=95": 1, "89": 0, ">=85": 0}


def test_ages_of_ninety_and_over_are_one_category() -> None:
    columns = {f"age {place}": [age, *["30"] * (ROWS - 1)] for place, age in enumerate(AGES)}
    reason = judged(columns)["(C)"].reason
    told = [f"{name}: 1 cell that" in reason for name in columns]
    assert told == [bool(cells) for cells in AGES.values()]


def test_a_year_of_birth_that_tells_an_age_of_ninety_does_not_hold() -> None:
    years = ["1936", *["1990"] * (ROWS - 1)]
    assert judged({"birth_year": years})["(C)"].status == "violated"
    assert judged({"birth_year": years}, as_of=2025)["(C)"].status == "holds"


ZIPS = {
    "130**": "",
    "130": "",
    "059**": "areas not known",  # 20,000 people are not more than 20,000
    "777**": "areas not known",  # nobody said how many live there
    "13***": "",  # all of 130 are in it
    "1305*": "more than three digits",
    "{130**, 059**}": "areas not known",
    "Ithaca": "no ZIP codes",
}


@pytest.mark.parametrize("file", [True, False])
def test_three_digits_of_a_zip_code_need_more_than_20_000_people(
    tmp_path: Path, *, file: bool
) -> None:
    listed = tmp_path / "zips.csv"
    listed.write_text("zip,people\n13053,15000\n13068,5001\n05901,20000\n")
    people = str(listed) if file else {"130": 20_001, "059": 20_000}
    columns = {f"zip {place}": [cell, *["*"] * (ROWS - 1)] for place, cell in enumerate(ZIPS)}
    reasons = judged(columns, zip_population=people)["(B)"].reason.split("; ")
    told = {reason.split(":")[0]: reason for reason in reasons}
    for name, why in zip(columns, ZIPS.values(), strict=True):
        assert (name in told) == bool(why)
        assert why in told.get(name, "")


def test_without_a_population_every_three_digits_are_too_few_people() -> None:
    found = judged({"zip": ["130**"] * ROWS})["(B)"]
    assert found.status == "violated"
    assert "no zip_population" in found.reason


def test_what_nobody_can_judge_is_not_safe_until_its_owner_states_it() -> None:
    assert judged({"sex": ["F", "M"] * 20})["(ii)"].status == "cannot_judge"
    stated = judged({"sex": ["F", "M"] * 20}, no_actual_knowledge=True)["(ii)"]
    assert stated.status == "holds"
    assert "not checked" in stated.reason


def test_what_may_be_an_identifier_is_asked() -> None:
    """Bytes may be a picture, ten digits a phone number or the seconds since 1970."""
    found = judged(
        {
            "blob": [bytes([number]) for number in range(ROWS)],
            "remark": ["2125551234", *["7"] * (ROWS - 1)],
            "logged": ["1700000000", *["7"] * (ROWS - 1)],
        }
    )
    for letter, name in (("Q", "blob"), ("D", "remark"), ("C", "logged")):
        paragraph = found[f"({letter})"]
        assert paragraph.status == "cannot_judge"
        assert paragraph.reason.startswith(f"{name}: ")


@pytest.mark.parametrize(
    "given",
    [
        {"as_of": "2020"},
        {"zip_population": 3},
        {"zip_population": {"13": 5}},
        {"zip_population": "no"},
        {"no_identifiers": "steps"},
    ],
)
def test_wrong_keys_are_refused_in_one_line(given: dict[str, object]) -> None:
    with pytest.raises(sf.PolicyError) as refused:
        sf.SafeHarbor(**given)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_the_owner_may_answer_what_only_she_can_tell(tmp_path: Path) -> None:
    """Ten digits that are no phones; whatever can be told from the cells stays against it."""
    columns = {"balance": some("61755501{0:02d}"), "contact": some("617-555-01{0:02d}")}
    asked = judged(columns)["(D)"].reason
    assert "balance: 40 cells with ten digits" in asked
    assert "no_identifiers = [...]" in asked
    answered = judged(columns, no_identifiers=["balance", "contact"])["(D)"]
    assert answered.status == "violated"
    alone = {"balance": columns["balance"]}
    assert judged(alone)["(D)"].status == "cannot_judge"
    with pytest.raises(sf.PolicyError, match="'ballance' is not published; published are group"):
        judged(alone, no_identifiers=["ballance"])

    rules = sf.SafeHarbor(no_actual_knowledge=True, no_identifiers=["balance"])
    policy = sf.Policy([sf.KAnonymity(1)], sf.Lattice(), profile=rules)
    schema = sf.Schema(["group"], keep=["balance"])
    table = pa.table({"group": ["a", "b"] * (ROWS // 2), **alone})
    release = sf.anonymize(sf.read(table, schema), policy)
    report = sf.audit(release, policy)
    assert report.rules is not None
    assert report.rules.status == "holds"
    told = {one.name: one.reason for one in report.public().rules.paragraphs}  # type: ignore[union-attr]
    assert [name for name, reason in told.items() if reason] == ["(D)", "(R)", "(ii)"]
    assert {*told.values()} == {"", "stated by the owner, not checked"}
    release.save(tmp_path / "out", policy=policy)
    manifest = json.loads((tmp_path / "out" / "public" / "manifest.json").read_text())
    said = {"no_actual_knowledge": True, "no_identifiers": ["balance"]}
    assert manifest["policy"]["stated_by_owner"] == said
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml").profile == rules


def test_whose_rows_they_are_is_handed_out_with_a_file_and_not_with_its_release(
    tmp_path: Path,
) -> None:
    """Where rows are published one by one, the file they come from still names the person."""
    rows = [f"P{100 + row % 20},{row % 3},{'fm'[row % 2]}" for row in range(ROWS)]
    (tmp_path / "stays.csv").write_text("\n".join(["patient_id,ward,sex", *rows]) + "\n")
    schema = sf.Schema(["sex"], "ward", person="patient_id", rows="unlinked")
    policy = sf.Policy([sf.KAnonymity(2)], sf.Mondrian(), profile=sf.SafeHarbor())
    table = sf.read(tmp_path / "stays.csv", schema)
    for raw in (table, sf.read_release(tmp_path / "stays.csv", schema)):
        found = sf.audit(raw, policy).rules
        assert found is not None
        assert [one.name for one in found.having("violated")] == ["(H)"]
    release = sf.anonymize(table, policy)
    release.save(tmp_path / "out", policy=policy)
    for published in (release, sf.read_release(tmp_path / "out", schema)):
        found = sf.audit(published, policy).rules
        assert found is not None
        assert found.having("violated") == []
