"""A worker's desk: what is open is read once, and again when its file is another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from sfumato.datasets.census import census
from sfumato.errors import InputError, PolicyError
from sfumato.web.desk import Desk
from sfumato.web.project import FOLDER, Project

POLICY = """
[schema]
quasi = ["age", "sex"]
sensitive = "disease"
hierarchies = { age = { kind = "intervals", widths = [10, 20] } }

[anonymizer]
kind = "mondrian"

[[require]]
kind = "k-anonymity"
k = 3
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    pa_csv.write_csv(census(200, seed=5), tmp_path / "people.csv")
    made = Project.open(tmp_path / FOLDER)
    made.choose_data("people.csv", {}, made.state().revision)
    made.save_policy(POLICY, made.state().revision)
    yield made
    made.close()


@pytest.fixture
def desk(project: Project, tmp_path: Path) -> Desk:
    return Desk(tmp_path, project.folder)


def test_nothing_is_open_at_first(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="step Data"):
        Desk(tmp_path, tmp_path / FOLDER).data()
    with pytest.raises(InputError, match="step Data"):
        Desk(tmp_path, tmp_path / FOLDER).policy()


def test_a_table_is_read_once(desk: Desk, project: Project, tmp_path: Path) -> None:
    table = desk.table()
    assert desk.table() is table
    project.save_policy(POLICY.replace("k = 3", "k = 5"), project.state().revision)
    assert desk.policy().require == (sf.KAnonymity(5),)
    assert desk.table() is table  # other promises, the same columns
    project.save_policy(POLICY.replace('"age", "sex"', '"age"'), project.state().revision)
    assert desk.table() is not table
    other = desk.table()
    pa_csv.write_csv(census(150, seed=6), tmp_path / "people.csv")
    assert desk.table() is not other


def test_a_release_is_read_back_with_its_own_policy(desk: Desk, project: Project) -> None:
    with pytest.raises(InputError, match="no release 1"):
        desk.release(1)
    policy = desk.policy()
    made = sf.anonymize(desk.table(), policy, seed=1)
    made.save(project.release_folder(1), report=sf.audit(made, policy), policy=policy)
    project.save_policy(POLICY.replace('"age", "sex"', '"age"'), project.state().revision)
    release = desk.release(1)
    assert desk.release(1) is release
    assert len(release.groups) == len(made.groups)
    assert sf.audit(release, desk.policy_of(1)).holds


def test_a_data_file_that_leads_elsewhere_is_refused(
    desk: Desk, project: Project, tmp_path: Path
) -> None:
    project.choose_data("../elsewhere.csv", {}, project.state().revision)
    with pytest.raises(InputError, match="no file below"):
        desk.table()


def test_what_a_page_says_of_reading_is_heeded_and_nothing_else(
    desk: Desk, project: Project
) -> None:
    told = {"delimiter": ",", "spill": "/tmp", "nonsense": 3, "facts": "/etc/passwd"}
    project.choose_data("people.csv", told, project.state().revision)
    reading = desk.reading()
    assert reading.given_fields() == {"delimiter": ","}


def test_a_broken_policy_is_told(desk: Desk, project: Project) -> None:
    project.save_policy("[schema\n", project.state().revision)
    with pytest.raises(PolicyError, match="not valid TOML"):
        desk.policy()


def test_findings_are_remembered_the_latest_ones(desk: Desk) -> None:
    asked: list[int] = []

    def find(number: int) -> int:
        asked.append(number)
        return number

    for number in (1, 1, *range(2, 40), 1):
        assert desk.remember(("square", number), lambda number=number: find(number)) == number
    assert asked == [*range(1, 40), 1]
