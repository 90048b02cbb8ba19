"""A damaged ledger is refused in one line; it never says that nothing was released before."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.ledger.content import pack, unpack
from tests.attack.damaged_ledgers import damaged_bytes, damaged_cells


def made(extra: str) -> sf.Release:
    rows = pa.table({"age": [30, 30, 40, 40], "disease": ["flu", "cold", "flu", extra]})
    schema = sf.Schema(quasi=["age"], sensitive="disease")
    return sf.anonymize(
        sf.read(rows, schema), sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian()), seed=1
    )


@pytest.fixture
def ledger(tmp_path: Path) -> sf.Ledger:
    kept = sf.Ledger(tmp_path / "ledger.sqlite")
    kept.add(made("cold"), "2023")
    kept.add(made("hiv"), "2024")
    return kept


def content(ledger: sf.Ledger) -> object:
    """What the ledger tells, or None if it is refused in one line."""
    try:
        entries = ledger.list()
        return entries, [pack(release) for release in ledger.releases()]
    except SfumatoError as error:
        return None if "\n" not in str(error) else str(error)


def test_damaged_files_are_refused_or_tell_the_truth(ledger: sf.Ledger) -> None:
    truth, good = content(ledger), ledger.path.read_bytes()
    refused = 0
    for label, changed in damaged_bytes(good, 150):
        ledger.path.write_bytes(changed)
        found = content(ledger)
        assert found is None or found == truth, label  # damage may lie in bytes nobody uses
        refused += found is None
    assert refused > 100


def test_damaged_entries_are_refused(ledger: sf.Ledger) -> None:
    later = made("hiv")
    for label in damaged_cells(ledger.path):
        assert content(ledger) is None, label
        with pytest.raises(SfumatoError):
            ledger.add(later, "2025")
    assert content(ledger) is not None


def test_an_empty_file_is_no_new_ledger(ledger: sf.Ledger) -> None:
    ledger.path.write_bytes(b"")
    for use in (ledger.list, lambda: ledger.add(made("hiv"), "2025")):
        with pytest.raises(sf.InputError, match="is empty, which no ledger ever is"):
            use()


def test_content_that_somebody_made_up_is_refused_before_it_is_used() -> None:
    good = pack(made("hiv"))
    refused = 0
    for label, changed in damaged_bytes(good, 0):
        try:
            assert pack(unpack(changed, label)) == good, label  # only the end mark is gone
        except SfumatoError:
            refused += 1
    assert refused >= 11
