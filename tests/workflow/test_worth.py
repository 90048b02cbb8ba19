"""A release that tells nothing says so, and which promise is to blame."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from sfumato.datasets.census import census, census_policy
from sfumato.report.report import Report
from sfumato.report.sections.decision import costs_in_words
from sfumato.report.sections.usefulness import closing_words, worth_of
from tests.program import sfumato
from tests.report.zoo import people


def released(*criteria: sf.KAnonymity | sf.TCloseness, many: int = 300) -> tuple[Report, sf.Policy]:
    policy = sf.Policy(list(criteria), anonymizer=sf.Mondrian())
    return sf.audit(sf.anonymize(people(many), policy, seed=1), policy), policy


def test_nothing_is_said_where_much_is_left() -> None:
    report, _ = released(sf.KAnonymity(2))
    assert closing_words(report) == []
    assert "But " not in report.short().text(80)
    assert report.costs["loss"] < 0.5
    kept, counts = costs_in_words(report)
    assert kept.endswith(f"of the detail is kept ({1 - report.costs['loss']:.0%})")
    assert "on average" in counts


def test_a_release_of_stars_says_so_everywhere() -> None:
    report, _ = released(sf.KAnonymity(5), sf.TCloseness(0.001))
    (words,) = closing_words(report)
    told = "3 of 3 columns are * for everybody (age, sex, zip); 100% of the detail is gone"
    assert words == f"No detail is left: {told}."
    assert told in report.to_html()
    assert "3 of 3 columns" in report.to_markdown()
    first = report.document().first
    assert first.reply == "By its policy, yes; but of what it told about people nothing is left."
    for shown in (report.short(), report.brief()):  # on a terminal
        assert shown.answer is not None
        assert shown.answer.words.endswith(" But no detail is left.")
        assert shown.answer.mood != "holds"
    assert json.loads(report.to_json())["warnings"] == [words]
    assert not any("% of the detail" in words for words in closing_words(report.public()))
    assert "More could be promised" not in report.to_markdown()


def test_a_column_that_never_differed_is_nobody_s_loss() -> None:
    rows = pa.table({"q": [1, 1, 2, 2], "same": ["x"] * 4, "s": list("uvuv")})
    table = sf.read(rows, sf.Schema(quasi=["q", "same"], sensitive="s"))
    report = sf.audit(
        sf.anonymize(table, sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian())),
        [sf.KAnonymity(2)],
    )
    assert not worth_of(report).little


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:  # type: ignore[no-untyped-def]
    home = tmp_path_factory.mktemp("worth")
    pa_csv.write_csv(census(400, seed=2), home / "census.csv")
    (home / "policy.toml").write_text(census_policy().replace("t = 0.4", "t = 0.001"))
    run = sfumato(
        *("anonymize", home / "census.csv", "--policy", home / "policy.toml"),
        *("--out", home / "out", "--seed", 1),
    )
    assert run.returncode == 0, run.stderr
    (home / "told").write_text(run.stdout)
    return home


def test_anonymize_ends_with_the_cost_and_the_warning(folder: Path) -> None:
    told = " ".join((folder / "told").read_text().split())
    assert "Cost nothing of the detail is kept (0%); counts asked of it are off by" in told
    assert "No detail is left: 6 of 6 columns are * for everybody" in told
    assert "What would help most: without t-closeness (t ≤ 0.001 (equal)), " in told
    page = (folder / "out" / "private" / "report.html").read_text()
    assert "What would help most" in page
    assert "What every promise costs" in page


def test_an_audit_beside_the_table_says_it_too(folder: Path) -> None:
    plain = sfumato("audit", folder / "out", "--policy", folder / "policy.toml")
    assert "6 of 6 columns are * for everybody" in " ".join(plain.stdout.split())
    assert "of the detail is" not in plain.stdout
    beside = sfumato(
        *("audit", folder / "out", "--policy", folder / "policy.toml"),
        *("--table", folder / "census.csv"),
    )
    assert "100% of the detail is gone" in " ".join(beside.stdout.split())


def test_a_raw_table_is_no_release(folder: Path) -> None:
    report = sf.audit(people(60), [sf.KAnonymity(2)])
    for told in (report.to_html(), report.public().to_html(), report.to_markdown()):
        assert "table as it stands" in told
        assert "generalized release" not in told
        assert "people published" not in told
        assert "people kept" not in told
    run = sfumato(
        *("audit", folder / "census.csv", "--policy", folder / "policy.toml"),
        *("--html", folder / "raw.html"),
    )
    assert run.returncode == 1, run.stderr
    assert "A table as it stands" in (folder / "raw.html").read_text()


@pytest.mark.parametrize(("missing", "told"), [(2, True), (6, False), (0, False)])
def test_a_column_hidden_by_a_few_missing_values_is_told(missing: int, told: bool) -> None:
    """Whole columns must be hidden for them; Mondrian tells ranges beside who lacks a value."""
    ages = [*range(20, 80)] * 2 + [None] * missing
    schema = sf.Schema(quasi=["age"], hierarchies={"age": sf.intervals([10, 20])})
    table = sf.read(pa.table({"age": ages}), schema)
    policy = sf.Policy([sf.KAnonymity(5)], anonymizer=sf.Lattice())
    report = sf.audit(sf.anonymize(table, policy), policy)
    words = closing_words(report)
    assert not any("missing" in one for one in closing_words(report.public()))
    assert any("age is missing for fewer people than a group needs" in one for one in words) is told
    assert bool(words) is told
    policy = sf.Policy([sf.KAnonymity(5)], anonymizer=sf.Mondrian())
    assert closing_words(sf.audit(sf.anonymize(table, policy), policy)) == []
