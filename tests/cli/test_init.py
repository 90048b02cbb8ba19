"""The init command: a draft on stdout or in a file, questions on stderr, and it can be audited."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.datasets.census import census
from sfumato.report.price import PricedChange, WithoutColumn
from sfumato.utility.loss import Loss
from sfumato.utility.view import view_of
from sfumato.workflow.trial import Trial, try_draft
from tests.cli.small_audit import DATA
from tests.policy.draft.drafted_tables import german, lists_and_dates, two_hundred
from tests.program import sfumato


def drafted_and_audited(data: Path, folder: Path) -> tuple[str, str]:
    """Draft a policy and audit by it, unedited; gives back the policy and what was said."""
    policy = folder / "draft.toml"
    run = sfumato("init", data, "--out", policy, "--seconds", 0)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    audit = sfumato("audit", data, "--policy", policy)
    assert audit.returncode in (0, 1, 3), audit.stderr
    return policy.read_text(encoding="utf-8"), " ".join(run.stderr.split())


def test_the_census(tmp_path: Path) -> None:
    pa_csv.write_csv(census(2000), tmp_path / "census.csv")
    text, said = drafted_and_audited(tmp_path / "census.csv", tmp_path)
    assert '"name",  # its name says name' in text
    assert '"disease": is it what nobody may learn?' in said
    assert "sfumato audit" in said


@pytest.mark.parametrize(
    ("name", "expected"),
    [("adult/adult.csv", '"salary-class"'), ("acs2019/national.csv", '# weight = "PWGTP"')],
)
def test_public_files(data_folder: Path, tmp_path: Path, name: str, expected: str) -> None:
    text, _ = drafted_and_audited(data_folder / name, tmp_path)
    assert expected in text


def test_awkward_files(tmp_path: Path) -> None:
    (tmp_path / "klinik.csv").write_text(german(), encoding="utf-8")
    pq.write_table(lists_and_dates(), tmp_path / "lists.parquet")
    pa_csv.write_csv(two_hundred(), tmp_path / "wide.csv")
    for name, expected in {
        "klinik.csv": 'decimal = ","',
        "lists.parquet": 'kind = "dates"',
        "wide.csv": '"respondent_id",  # ',
    }.items():
        folder = tmp_path / name.split(".")[0]
        folder.mkdir()
        text, _ = drafted_and_audited(tmp_path / name, folder)
        assert expected in text


def test_the_draft_goes_to_stdout_and_the_questions_to_stderr(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(DATA)
    run = sfumato("init", tmp_path / "rows.csv")
    assert run.returncode == 0
    assert run.stdout.startswith("# A policy drafted by `sfumato init` from rows.csv (2 rows")
    assert run.stdout.endswith("\n")
    assert "Question 1" in run.stderr
    as_json = json.loads(sfumato("init", tmp_path / "rows.csv", "--json").stdout)
    assert as_json["policy"] == run.stdout
    assert as_json["questions"]


def test_a_delimiter_and_decimal_given_are_kept(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('age,paid\n30,"1,234"\n31,"2,345"\n')
    run = sfumato("init", tmp_path / "rows.csv", "--delimiter", ",", "--decimal", ",")
    assert 'delimiter = ","\ndecimal = ","' in run.stdout


def test_an_existing_file_is_refused_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(DATA)
    out = tmp_path / "policy.toml"
    out.write_text("precious")
    run = sfumato("init", tmp_path / "rows.csv", "--out", out)
    assert run.returncode == 2
    assert run.stderr == f"error: {out} exists; give another name, or --force to replace it\n"
    assert out.read_text() == "precious"
    assert sfumato("init", tmp_path / "rows.csv", "--out", out, "--force").returncode == 0
    assert out.read_text().startswith("# A policy drafted")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.toml", "rows.csv"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("nowhere.csv", None, "nowhere.csv does not exist"),
        ("empty.csv", "", "empty.csv is empty"),
        ("header.csv", "age,zip\n", "header.csv holds 0 rows"),
        ("ragged.csv", "age,zip\n1,2\n3\n", "ragged.csv, line 3 has 1 fields, the header 2"),
        ("rows.docx", "x", "unknown kind of file"),
        ("rows.parquet", "x", "rows.parquet cannot be read"),
        ("twice.csv", "a,a\n1,2\n", "column 2 of the header has the name of another"),
    ],
)
def test_bad_input(tmp_path: Path, name: str, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    out = tmp_path / "policy.toml"
    run = sfumato("init", tmp_path / name, "--out", out, "--seconds", 0)
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""
    assert not out.exists()


def test_bad_options(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(DATA)
    run = sfumato("init", tmp_path / "rows.csv", "--decimal", "x")
    assert (run.returncode, run.stderr) == (
        2,
        "error: decimal 'x' is not allowed; use '.' or ','\n",
    )


@pytest.mark.parametrize(
    ("option", "value"), [("--dates", "borm=DMY"), ("--missing", "borm=9"), ("--codes", "borm=N")]
)
def test_an_option_about_a_column_that_is_not_there(
    tmp_path: Path, option: str, value: str
) -> None:
    data, policy = tmp_path / "people.csv", tmp_path / "policy.toml"
    data.write_text(DATA)
    for run in (
        sfumato("init", data, option, value, "--out", policy, "--seconds", 0),
        sfumato("hierarchy", data, data.read_text().split(",")[0], option, value),
    ):
        assert run.returncode == 2
        assert run.stderr.startswith(f"error: column 'borm' ({option[2:]}) is not in people.csv")
        assert len(run.stderr.splitlines()) == 1
    assert not policy.exists()


def test_help_has_an_example() -> None:
    assert "init" in sfumato("--help").stdout
    assert "sfumato init patients.csv --out policy.toml" in sfumato("init", "--help").stdout


# -- the draft is tried ---------------------------------------------------------------------------


def patients(people: int) -> str:
    """Few people, many columns: little can be left of them."""
    chance = Random(5)
    rows = ["age,sex,zip,job,race,disease"]
    for _ in range(people):
        age, place = chance.randrange(20, 80), chance.randrange(20)
        job, race = chance.choice("abcdefgh"), chance.choice("wxyz")
        ill = chance.choice(["flu", "cold", "gout", "hiv"])
        rows.append(f"{age},{chance.choice('FM')},100{place:02},{job},{race},{ill}")
    return "\n".join(rows) + "\n"


def test_it_says_what_would_be_left_and_what_that_is_the_price_of(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(patients(90))
    run = sfumato("init", tmp_path / "rows.csv", "--json", "--seconds", 60)
    told = json.loads(run.stdout)
    trial = told["trial"]
    assert trial["words"] in " ".join(run.stderr.split())
    assert trial["people"] == trial["rows"] == 90
    assert 0.25 < trial["loss"] <= 1
    assert f"At most {trial['loss']:.0%} of the detail would be gone" in trial["words"]
    assert "usually" not in trial["words"]  # no sample
    assert trial["not_begun"] == 0
    losses = [change["loss"] for change in trial["without"]]
    assert losses
    assert losses == sorted(losses)
    assert losses[-1] < trial["short_search"]
    assert told["questions"][0].startswith(
        "What can you do without? By short searches of 90 people, loss instead of"
    )
    first = trial["without"][0]
    assert f": {first['change']} {first['loss']:.2f}" in told["questions"][0]
    # What is told of a change is what a search without it finds.
    policy = sf.Policy.load(_saved(tmp_path, told["policy"]))
    kept = [one for one in policy.require if one.name not in first["change"]]
    if len(kept) < len(policy.require):
        table = sf.read(tmp_path / "rows.csv", policy.schema)
        brief = replace(policy, require=kept, anonymizer=policy.maker.briefly())
        found = sf.anonymize(table, brief, seed=0)
        assert Loss().cost(view_of(found)) == pytest.approx(first["loss"])


def _saved(folder: Path, text: str) -> Path:
    (folder / "saved.toml").write_text(text, encoding="utf-8")
    return folder / "saved.toml"


def test_a_question_about_a_column_has_its_price() -> None:
    draft = sf.draft_policy(pa.table({"age": [30, 31] * 20, "ill": ["flu", "cold"] * 20}))
    assert draft.stage is not None
    policy = sf.Policy([sf.KAnonymity(2)], sf.Mondrian(), schema=draft.policy.schema)
    found = sf.price(draft.stage, policy, bounds=False)
    change = PricedChange(WithoutColumn("age"), "priced", cost=0.25, gain=0.5)
    asked = replace(draft, questions=('"age", "sex": is it known?', '"ill": is it secret?'))
    trial = Trial(asked, 40, 0.75, 3, replace(found, cost=0.75, changes=(change,)))
    assert trial.questions == [
        "What can you do without? By short searches of 40 people, loss instead of 0.75: "
        "without the column age 0.25",
        '"age", "sex": is it known? (without the column age 0.25 instead of 0.75)',
        '"ill": is it secret?',
    ]


def test_a_sample_is_told_as_such_and_a_draft_that_costs_little_is_not_priced() -> None:
    rows = pa.table({"age": [20, 30, 40, 50] * 400, "disease": [*"aaaabbbbccccdddd"] * 100})
    draft = sf.draft_policy(rows)
    trial = try_draft(replace(draft, rows=9_000), seconds=5)
    assert trial.loss == 0
    assert trial.price is None
    assert trial.questions == list(draft.questions)
    assert "briefly on 1,000 people of 9,000 rows; all of them usually lose less" in trial.words
    again = try_draft(draft, seconds=5)
    assert (again.loss, again.groups) == (trial.loss, trial.groups)
    assert "was not found out" in try_draft(replace(draft, stage=None), seconds=5).words


def test_the_time_of_a_trial_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    run = sfumato("init", tmp_path / "none.csv", "--seconds", -1)
    assert run.returncode == 2
    assert "--seconds -1 is not allowed; use 0 or more" in run.stderr
    (tmp_path / "rows.csv").write_text(DATA)
    assert (
        json.loads(sfumato("init", tmp_path / "rows.csv", "--json", "--seconds", 0).stdout)["trial"]
        is None
    )
