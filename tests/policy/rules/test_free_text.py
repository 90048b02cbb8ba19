"""Free text: found by its form, counted, never quoted, published where its owner insists."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.engines.duckdb import DuckDB
from sfumato.release.handed_out import ColumnCells
from sfumato.schema.identifier_forms import FORMS
from tests.program import sfumato

ROWS = 60
SECRET = "Zwirbelfurt"  # stands in cells only
POLICY = """
[schema]
quasi = ["age"]
sensitive = ["disease"]
identifiers = ["name"]
keep = ["note"]
{insist}
[schema.hierarchies.age]
kind = "intervals"
widths = [20, 40]

[anonymizer]
kind = "lattice"

[[require]]
kind = "k-anonymity"
k = 2
"""


def hospital(folder: Path) -> Path:
    """A file with names in a column, and in a note beside other things."""
    random = Random(5)
    lines = ["age,disease,name,note"]
    for row in range(ROWS):
        name = f"Anke Kessel{row}"
        lines.append(
            f"{random.randrange(20, 60)},{random.choice(['flu', 'cold'])},{name},"
            f"Was seen in {SECRET} on 3.4.2021 by Dr. Vogt; call {name} at 617-555-01{row:02d}"
        )
    path = folder / "hospital.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def policy(folder: Path, insist: str = "") -> Path:
    path = folder / "policy.toml"
    path.write_text(POLICY.format(insist=insist))
    return path


FOUND = ("own identifiers in 60", "phone numbers in 60", "a title in 60", "dates in 60")


def test_it_stays_at_home_unless_its_owner_insists(tmp_path: Path) -> None:
    data, out = hospital(tmp_path), tmp_path / "out"
    refused = sfumato("anonymize", data, "--policy", policy(tmp_path), "--out", out)
    assert refused.returncode == 2
    assert not out.exists()
    assert all(words in refused.stderr for words in FOUND)
    assert refused.stderr.count("\n") == 1
    audited = sfumato("audit", data, "--policy", policy(tmp_path))
    assert "free text" in audited.stdout
    rules = policy(tmp_path, 'insist = ["note"]')
    made = sfumato("anonymize", data, "--policy", rules, "--out", out, "--no-price")
    assert made.returncode == 0
    assert "FREE TEXT IS PUBLISHED" in made.stdout
    told = json.loads((out / "private" / "report.json").read_text())
    assert all(words in told["warnings"][0] for words in FOUND)
    manifest = (out / "public" / "manifest.json").read_text()
    again = sfumato("audit", out, "--policy", rules)  # what was insisted on is so when read back
    assert again.returncode == 0
    assert "FREE TEXT IS PUBLISHED" in again.stdout
    for text in (
        refused.stderr,
        again.stdout,
        audited.stdout,
        made.stdout,
        json.dumps(told),
        manifest,
    ):
        assert SECRET not in text
        assert "Kessel" not in text
    for page in (out / "private").iterdir():
        if page.is_file() and page.suffix in (".html", ".json", ".md", ".toml"):
            assert SECRET not in page.read_text()


def test_a_draft_gives_it_no_role_and_says_what_is_in_it(tmp_path: Path) -> None:
    drafted = sfumato("init", hospital(tmp_path), "--seconds", "0")
    assert drafted.returncode == 0
    schema = sf.draft_policy(tmp_path / "hospital.csv").policy.schema
    assert schema is not None
    assert "note" not in (*schema.quasi, *schema.sensitive, *schema.keep)
    said = " ".join(drafted.stderr.split())
    assert all(words in said for words in FOUND)
    assert SECRET not in drafted.stdout + drafted.stderr


def test_a_sensitive_column_of_free_text_is_refused_too() -> None:
    rows = 40
    table = pa.table(
        {
            "age": [20, 40] * (rows // 2),
            "told": [f"she said that number {row} was hers" for row in range(rows)],
        }
    )
    schema = sf.Schema(["age"], "told")
    with pytest.raises(sf.InputError, match=r"'told' \(sensitive\) is free text"):
        sf.anonymize(sf.read(table, schema), sf.Policy([sf.KAnonymity(2)]))
    report = sf.audit(sf.read(table, schema), [sf.KAnonymity(2)])
    assert report.status == "could_not_judge"
    insisted = sf.Schema(["age"], "told", insist=["told"])
    report = sf.audit(sf.read(table, insisted), [sf.KAnonymity(2)])
    assert report.holds
    assert report.insisted[0].column == "told"
    assert report.public().insisted == ()


@pytest.mark.parametrize(
    "texts",
    [
        [f"malignant neoplasm of lobe {place % 12} of the lung" for place in range(400)],
        ["no complaints at all today"] * 40,
        [f"code{place}" for place in range(40)],
    ],
)
def test_categories_however_long_are_no_free_text(texts: list[str]) -> None:
    table = pa.table({"age": [20, 40] * (len(texts) // 2), "kept": texts})
    report = sf.audit(sf.read(table, sf.Schema(["age"], keep=["kept"])), [sf.KAnonymity(2)])
    assert report.holds


def test_notes_of_which_most_are_the_same_are_free_text_all_the_same() -> None:
    notes = ["no complaints at all today"] * 900
    notes += [f"her brother called number {row} about it" for row in range(100)]
    table = pa.table({"age": [20, 40] * 500, "kept": notes})
    report = sf.audit(sf.read(table, sf.Schema(["age"], keep=["kept"])), [sf.KAnonymity(2)])
    assert not report.holds


def test_who_insists_names_a_column_that_is_published() -> None:
    with pytest.raises(sf.SchemaError, match="insist: column 'note' is not published"):
        sf.Schema(["age"], identifiers=["note"], insist=["note"])


def scanned(texts: list[str]) -> dict[str, int]:
    engine = DuckDB()
    source = engine.register(pa.table({"text": texts}))
    return ColumnCells("text", "keep", pa.string(), engine, source).forms


def test_hostile_cells_take_no_longer_than_they_are_long() -> None:
    """Texts on which a pattern that goes back and forth would never end."""
    long = 200_000
    bombs = ["a" * long + "!", "1-" * long, "@" * long, "+1" + " 1" * long, ":" * long + "g"]
    bombs += ["Dr. " * long, "A1" * long, "\x00\n\t" * 50, "{" * long, "%s${x}'; DROP TABLE x; --"]
    found = scanned([*bombs, "write to a@b.de"])
    assert found["mail"] == 1


def test_each_form_is_found_inside_a_sentence_and_counted_by_cells() -> None:
    examples = {
        "mail": "a.b+c@example.co.uk",
        "url": "see www.example.org/x",
        "ip": "2001:db8::1",
        "ssn": "123-45-6789",
        "phone": "+49 (0)89 123456-7",
        "iban": "GB29 NWBK 6016 1331 9268 19",
        "card": "4111-1111-1111-1111",
        "kvnr": "A123456780",
        "mbi": "1EG4-TE5-MK73",
        "record": "Patientennummer 00412",
        "vin": "1M8GDM9AXKP042788",
        "device": "00-1B-44-11-3A-B7",
        "uuid": "550e8400-e29b-41d4-a716-446655440000",
        "image": "photo.JPG",
        "sequence": "ACGT" * 8,
        "titled": "Frau von Öztürk",
        "date": "on the 5th of it, March 5, 2020",
        "address": "221 Baker Street",
    }
    assert set(examples) == set(FORMS)
    for form, text in examples.items():
        before = "" if form == "image" else " and more"
        found = scanned([f"it says {text}{before}", f"again {text}{before}", "nothing here"])
        assert found.get(form) == 2, form


def test_wrong_check_digits_are_chance() -> None:
    texts = ["pay GB29 NWBK 6016 1331 9268 18 now", "card 4111-1111-1111-1112", "no. A123456781"]
    assert scanned(texts) == {}
