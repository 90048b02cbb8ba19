"""Who made a report, when and of what: checkable, and never in what is handed out."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import InputError
from sfumato.report.provenance import today
from sfumato.report.report import Report

BY = "Ada Example, data protection"
DAY = dt.date(2001, 9, 9)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    folder = tmp_path_factory.mktemp("signed")
    rows = [f"{20 + at % 10},{'FM'[at % 2]},{'xyz'[at % 3]}" for at in range(60)]
    (folder / "people.csv").write_text("\n".join(["age,sex,disease", *rows]), encoding="utf-8")
    schema = sf.Schema(quasi=["age", "sex"], sensitive="disease")
    policy = sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Mondrian(), schema=schema)
    table = sf.read(folder / "people.csv", schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1000000000")
        release = sf.anonymize(table, policy, seed=1)
        report = sf.audit(release, policy, by=BY)
        release.save(folder / "out", report=report, policy=policy)
    return folder, report


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_owner_reads_by_whom_when_and_of_what(saved: tuple[Path, Report]) -> None:
    folder, report = saved
    private = folder / "out" / "private"
    told = json.loads((private / "report.json").read_text())["provenance"]
    assert told["by"] == BY
    assert told["on"] == DAY.isoformat()
    known = {one["of"]: one["sha256"] for one in told["fingerprints"]}
    assert known["table"] == sha256(folder / "people.csv")
    assert known["release"] == sha256(folder / "out" / "public" / "manifest.json")
    policy = sf.Policy.load(private / "policy.toml")
    assert known["policy"] == policy.fingerprint
    for ending in ("html", "md"):
        text = (private / f"report.{ending}").read_text().replace("\\", "")
        assert BY in text
        assert DAY.isoformat() in text
        assert all(fingerprint[:16] in text for fingerprint in known.values())
    assert report.provenance.on == DAY


def test_nothing_of_it_is_handed_out(saved: tuple[Path, Report]) -> None:
    folder, report = saved
    known = [one.short for one in report.provenance.fingerprints()]
    assert len(known) == 2
    public = report.public()
    told = [path.read_text(encoding="utf-8") for path in (folder / "out" / "public").iterdir()]
    for text in (*told, public.to_html(), public.to_json(), public.to_markdown()):
        for secret in (*known, BY, DAY.isoformat()):
            assert secret not in text


def test_the_same_seed_and_day_make_the_same_files(saved: tuple[Path, Report]) -> None:
    folder, report = saved
    assert report.evidence is not None
    before = folder / "out"
    report.evidence.release.save(
        folder / "again", report=report, policy=report.provenance.policy, seed=1
    )
    for name in ("public/report.html", "private/report.json", "private/report.html"):
        assert (folder / "again" / name).read_bytes() == (before / name).read_bytes()


def test_who_reads_a_file_knows_it_by_its_hash_until_it_changes(saved: tuple[Path, Report]) -> None:
    folder, _ = saved
    copy = folder / "copy.csv"
    copy.write_bytes((folder / "people.csv").read_bytes())
    schema = sf.Schema(quasi=["age", "sex"], sensitive="disease")
    audited = sf.audit(sf.read_release(copy, schema), [sf.KAnonymity(3)])
    assert [one.sha256 for one in audited.provenance.fingerprints()] == [sha256(copy)]
    again = sf.audit(sf.read_release(folder / "out", schema), [sf.KAnonymity(3)])
    assert [one.name for one in again.provenance.fingerprints()] == ["manifest.json"]
    copy.write_text("age,sex,disease\n1,F,x\n", encoding="utf-8")
    assert audited.provenance.fingerprints() == []


def test_a_table_that_is_no_file_is_known_by_its_people() -> None:
    rows = pa.table({"age": [1, 2, 1, 2], "s": list("uuvv")})
    schema = sf.Schema(quasi=["age"], sensitive="s")
    told = [
        sf.audit(sf.read(frame, schema), [sf.KAnonymity(2)]).provenance.fingerprints()[0]
        for frame in (rows, rows.take([3, 1, 2, 0]))
    ]
    assert told[0].sha256 == told[1].sha256


def test_a_bad_date_or_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH = 'yesterday'"):
        today()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    rows = sf.read(pa.table({"a": [1, 1], "s": ["u", "v"]}), sf.Schema(quasi=["a"], sensitive="s"))
    for by in ("two\nlines", "x" * 300, 7):
        with pytest.raises(InputError, match="give a name in one line"):
            sf.audit(rows, [sf.KAnonymity(1)], by=by)


def test_the_first_screen_is_three_lines_each_and_is_signed_by_its_owner_only(
    saved: tuple[Path, Report],
) -> None:
    _, report = saved
    first, public = report.document().first, report.public().document().first
    assert first.reply == "By its policy, yes."
    assert list(first.parts) == ["What is promised", "What is knowingly left", "What it costs"]
    assert all(1 <= len(lines) <= 3 for lines in (*first.parts.values(), *public.parts.values()))
    assert first.parts["What is promised"] == ("At least 3 people look alike (k-anonymity).",)
    assert first.to_sign
    assert not public.to_sign
    assert list(public.parts) == ["What is promised", "What is knowingly left"]
    assert list(public.made) == ["Made with"]
    unsafe = sf.audit(report.evidence.release, [sf.KAnonymity(50)]).document().first
    assert unsafe.reply == "No."
    assert unsafe.parts["What is promised"] == ("Nothing.",)
