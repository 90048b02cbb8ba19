"""Section 7: the quick run on the embedded census; whose records they are stays private."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.datasets.census import census, census_schema
from sfumato.files import MARK
from sfumato.papers import reproduce
from sfumato.report.document import Document

CONFIDENCE = 0.95


@pytest.fixture(scope="module")
def exhibit() -> Document:
    return reproduce("skyline", None, quick=True)


@pytest.fixture(scope="module")
def release() -> sf.Release:
    """The release of the case study, made again."""
    table = sf.read(census(20_000, 0), census_schema())
    return Mondrian().run(Task(table, (sf.RecursiveDiversity(3, 6),)))


def test_without_data_synthetic_people_stand_in_and_it_says_so(exhibit) -> None:
    assert "synthetic people stand in" in exhibit.about
    assert exhibit.facts["study"]["people"] == 20_000


def test_records_are_in_the_private_folder_and_nowhere_else(exhibit, tmp_path) -> None:
    (private,) = [section for section in exhibit.sections if section.private]
    records = {str(row[3]) for row in private.tables[0].rows}
    assert len(records) > 10
    folder = exhibit.save(tmp_path / "out")
    files = {path for path in folder.rglob("*") if path.is_file()}
    kept = {folder / "private" / name for name in ("result.json", "page.html")}
    public = {folder / name for name in ("result.json", "page.html")}
    assert files == kept | public | {folder / MARK}
    told = [path.read_text(encoding="utf-8") for path in public]
    told += [exhibit.text(1_000), exhibit.to_json()]
    for record in records:
        assert "zip" in record
        assert all(record not in text for text in told)
        assert all(record in path.read_text(encoding="utf-8") for path in kept)
    assert all(private.title not in text for text in told)


def test_the_skyline_is_as_far_as_one_may_go(exhibit, release) -> None:
    found = exhibit.facts["study"]["skyline"]
    assert len(release.groups) == exhibit.facts["study"]["groups"]
    assert (found["confidence"], found["value"]) == (CONFIDENCE, "Hypertension")
    points = [(point["l"], point["k"], point["m"]) for point in found["points"]]
    assert points
    for point in points:
        assert sf.breach_probability(release, found["value"], *point) < CONFIDENCE
        for axis in range(3):
            beyond = list(point)
            beyond[axis] += 1
            assert sf.breach_probability(release, found["value"], *beyond) >= CONFIDENCE


def test_every_step_beyond_is_told(exhibit, release) -> None:
    study = exhibit.facts["study"]
    points = [(point["l"], point["k"], point["m"]) for point in study["skyline"]["points"]]
    steps = {(l + 1, k, m) for l, k, m in points}  # noqa: E741
    steps |= {(l, k + 1, m) for l, k, m in points} | {(l, k, m + 1) for l, k, m in points}  # noqa: E741
    told = {tuple(one["point"]): one["confidence"] for one in study["groundings"]}
    assert set(told) == steps
    for point, confidence in told.items():
        found = sf.breach_probability(release, study["skyline"]["value"], *point)
        assert confidence == pytest.approx(found)


def test_the_check_agrees_with_the_baseline(exhibit) -> None:
    rows = [row for section in exhibit.sections[1:5] for row in section.tables[0].rows]
    assert len(rows) == 20
    assert all(row[5] is True for row in rows)
