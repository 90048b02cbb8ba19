"""The command `attack relative`: what it prints, writes and answers with its exit code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.datasets.census import census, census_policy, census_schema
from tests.program import sfumato

BOUND = '\n[[require]]\nkind = "relative-threat"\nmax_ti = {}\n'
LEVELS = {"age": 3, "zip": 4, "education": 2, "marital": 2, "work": 2}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("relative")
    data, policy = folder / "census.csv", folder / "policy.toml"
    pa_csv.write_csv(census(300), data)
    policy.write_text(census_policy())
    for name, most in (("loose", 1000), ("tight", 0.01)):
        (folder / f"{name}.toml").write_text(census_policy() + BOUND.format(most))
    table = sf.read(data, census_schema())
    sf.generalize(table, LEVELS).save(folder / "release")
    return {"folder": folder, "data": data, "policy": policy, "release": folder / "release"}


def relative(files: dict[str, Path], *more: object, policy: str = "policy"):
    rules = files["folder"] / f"{policy}.toml"
    return sfumato("attack", "relative", files["release"], "--policy", rules, *more)


def test_everybody_as_json_a_page_and_a_private_table(files, tmp_path: Path) -> None:
    page, rows = tmp_path / "page.html", tmp_path / "rows.parquet"
    arguments = ("--table", files["data"], "--json", "--html", page, "--private", rows)
    run = relative(files, *arguments)
    assert run.returncode == 0, run.stderr
    content = json.loads(run.stdout)
    facts = content["facts"]
    assert facts["status"] == "exact"
    assert set(facts["method"].values()) == {"exact"}
    assert facts["measures"]["people"] == 300
    assert 0 < facts["measures"]["gt_learner"] <= facts["measures"]["gt_attacker"] < 1
    titles = [section["title"] for section in content["sections"]]
    assert titles == [
        "Everybody in the release",
        "How much better members are known",
        "Pictures",
        "How it was found",
    ]
    (table,) = content["sections"][0]["tables"]  # in words, the paper's names beside them
    assert {row[1]: row[2] for row in table["rows"] if row[1] in ("GT_A", "GT_L", "RGT")} == {
        "GT_A": facts["measures"]["gt_attacker"],
        "GT_L": facts["measures"]["gt_learner"],
        "RGT": facts["measures"]["rgt"],
    }
    assert table["rows"][0][0] == "guessed right by the attacker, who knows that she is in it"
    charts = [chart["title"] for section in content["sections"] for chart in section["charts"]]
    assert len(charts) == 5
    assert "Plotly.newPlot" in page.read_text(encoding="utf-8")
    private = pq.read_table(rows)
    assert sum(private.column("people").to_pylist()) == 300
    assert (rows.stat().st_mode & 0o077) == 0
    again = relative(files, *arguments)
    assert again.returncode == 2
    assert "--force to replace it" in again.stderr
    assert relative(files, *arguments, "--force").returncode == 0


def test_a_victim_in_words(files) -> None:
    run = relative(files, "--table", files["data"], "--victim", "age=[30, 40),sex=F")
    assert run.returncode == 0, run.stderr
    assert "Known: age=[30, 40),sex=F. The attacker's best guess is" in " ".join(run.stdout.split())
    assert "random worlds" in run.stdout


def test_the_policys_bound_is_the_exit_code(files) -> None:
    assert relative(files, "--table", files["data"], policy="loose").returncode == 0
    violated = relative(files, "--table", files["data"], "--json", policy="tight")
    assert violated.returncode == 1
    assert json.loads(violated.stdout)["facts"]["verdicts"][0]["status"] == "violated"


def test_a_bucketized_release(files, tmp_path: Path) -> None:
    table = sf.read(files["data"], census_schema())
    policy = sf.Policy([sf.DistinctDiversity(3)], anonymizer=sf.Anatomy(3))
    sf.anonymize(table, policy, seed=0).save(tmp_path / "buckets")
    run = sfumato(
        *("attack", "relative", tmp_path / "buckets", "--policy", files["policy"]),
        *("--table", files["data"], "--sweeps", 750, "--json"),
    )
    facts = json.loads(run.stdout)["facts"]
    assert run.returncode == (0 if facts["status"] == "converged" else 3)
    assert facts["method"] == {"buckets": "sampled (whole buckets)"}
    assert facts["diagnostics"]["chains"] == 4
    assert facts["measures"]["errors"]["gt_attacker"] > 0


CASES = {
    "nothing asked": ((), "nothing is asked: give --table FILE, or --victim"),
    "no table": (
        ("--victim", "age=34", "--private", "x.json"),
        "--private needs --table",
    ),
    "no victim": (
        ("--table", "DATA", "--victim", "age"),
        "victim 'age' is not understood at 'age'",
    ),
    "twice": (("--table", "DATA", "--victim", "age=3,age=4"), "names 'age' twice"),
    "no column": (("--table", "DATA", "--victim", "aeg=34"), "did you mean 'age'?"),
    "outside": (("--table", "DATA", "--victim", "age=340"), "age = '340' is outside the domain"),
    "method": (("--table", "DATA", "--method", "exakt"), "method = 'exakt' is not known"),
    "learner": (("--table", "DATA", "--learner", "both"), "learner = 'both' is not known"),
    "weight": (("--table", "DATA", "--prior", 0), "every weight must be above 0"),
    "check": (("--table", "DATA", "--check", "eyes"), "checks: 'eyes' is not known"),
    "not a page": (("--table", "DATA", "--html", "p.pdf"), "use a name ending in .html"),
    "not evidence": (("--table", "DATA", "--private", "r.csv"), "ending in .parquet or .json"),
    "sensitive": (("--table", "DATA", "--sensitive", "x"), "'x' is not a sensitive column"),
    "joint": (("--table", "DATA", "--joint", "income"), "two or more different sensitive columns"),
    "gain": (("--table", "DATA", "--gain", "top"), "gain = 'top' is not allowed; use 'value'"),
    "gain's value": (("--table", "DATA", "--gain", "flue=2"), "gain names 'flue', not a value of"),
    "no lists": (("--table", "DATA", "--gain", "list"), "people have one value each of 'disease'"),
    "known": (("--table", "DATA", "--known", "agee"), "known: 'agee' is not a quasi-identifier"),
    "noise": (("--table", "DATA", "--noise", "1.5"), "noise = 1.5 is not allowed"),
    "noise's text": (("--table", "DATA", "--noise", "age:2"), "noise 'age:2' is not understood"),
    "chains": (("--table", "DATA", "--chains", 2), "chains = 2 is not allowed; use 4 or more"),
    "seconds": (("--table", "DATA", "--seconds", -1), "seconds = -1.0 is not allowed"),
    "draws": (("--table", "DATA", "--draws", 5), "draws = 5 is not allowed; use 100 or more"),
    "prior's column": (("--table", "DATA", "--prior", "aeg=2"), "prior: no column 'aeg'"),
    "prior's value": (("--table", "DATA", "--prior", "sex:X=2"), "'X' is not in its domain"),
    "chances": (("--table", "DATA", "--victim", "age=34@x"), "not understood at '34@x'"),
    "no chance": (("--table", "DATA", "--victim", "age=34@.7|35"), "and with its chance"),
    "two chances": (("--table", "DATA", "--victim", "age=34@.7|34@.1"), "each value once"),
    "a chance": (("--table", "DATA", "--victim", "age=34@1.7"), "is 1.7; use one from 0 to 1"),
    "seed": (("--table", "DATA", "--seed", -1), "seed = -1 is not allowed"),
    "none known": (("--table", "DATA", "--known", ""), "known = [''] is not allowed"),
    "prior of nothing": (("--table", "DATA", "--prior", ""), "prior = '' is not allowed"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_exit_2(files, case: str) -> None:
    arguments, said = CASES[case]
    run = relative(files, *(files["data"] if one == "DATA" else one for one in arguments))
    assert run.returncode == 2, run.stderr
    assert run.stdout == ""
    assert said in run.stderr
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1


def test_which_of_several_columns_is_asked_about_must_be_said(tmp_path: Path) -> None:
    data, schema = tmp_path / "data.csv", sf.Schema(["q"], ["ill", "job"])
    data.write_text("q,ill,job\na,flu,cook\na,gout,nurse\nb,flu,nurse\nb,gout,nurse\n")
    release = sf.generalize(sf.read(data, schema), {"q": 0})
    said = "2 sensitive columns: 'ill', 'job'; name the one that is asked about"
    with pytest.raises(sf.InputError, match=said):
        sf.relative_threat(release)
    release.save(tmp_path / "release")
    roles = '[schema]\nquasi = ["q"]\nsensitive = ["ill", "job"]\n'
    roles += '[[require]]\nkind = "k-anonymity"\nk = 2\n'
    bound = roles + BOUND.format(1000)
    for policy, more, about in (
        (roles, (), None),
        (bound, (), None),
        (roles, ("--sensitive", "job"), "job"),
        (bound, ("--sensitive", "job"), "job"),
        (bound + 'sensitive = "job"\n', (), "job"),
        (bound, ("--joint", "ill,job"), "ill | job"),
        (bound + 'joint = ["ill", "job"]\n', (), "ill | job"),
    ):
        (tmp_path / "policy.toml").write_text(policy)
        run = sfumato(
            "attack", "relative", tmp_path / "release", "--policy", tmp_path / "policy.toml",
            "--table", data, "--json", *more,
        )  # fmt: skip
        if about is None:
            assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
            assert said in run.stderr
        else:
            assert json.loads(run.stdout)["facts"]["attribute"] == about, policy


def test_a_victim_that_fits_no_group(files, tmp_path: Path) -> None:
    release = tmp_path / "release.csv"
    release.write_text("q,s\na,x\na,y\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[schema]\nquasi = ["q"]\nsensitive = ["s"]\n[schema.domains]\nq = ["a", "b"]\n'
        '[[require]]\nkind = "k-anonymity"\nk = 2\n'
    )
    run = sfumato("attack", "relative", release, "--policy", policy, "--victim", "q=b")
    assert run.returncode == 2
    assert "no group of the release fits this victim's quasi-identifiers" in run.stderr
    fits = sfumato("attack", "relative", release, "--policy", policy, "--victim", "q=a")
    assert fits.returncode == 0, fits.stderr


def test_help_has_an_example() -> None:
    run = sfumato("attack", "relative", "--help")
    assert "sfumato attack relative release --table patients.csv" in run.stdout
    assert "relative" in sfumato("attack", "--help").stdout


def test_a_victim_of_our_own_release_without_its_table(files, tmp_path: Path) -> None:
    """What columns may be is kept in private/; who has no more than public/ must say it."""
    person = ("--victim", "age=34,sex=F", "--json")
    alone, with_table = relative(files, *person), relative(files, *person, "--table", files["data"])
    assert alone.returncode == 0, alone.stderr
    sections = [json.loads(run.stdout)["sections"][0] for run in (alone, with_table)]
    assert sections[0] == sections[1]
    handed_out = tmp_path / "handed-out"
    shutil.copytree(files["release"] / "public", handed_out / "public")
    run = sfumato("attack", "relative", handed_out, "--policy", files["policy"], *person)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert "column 'age': its domain is not known" in run.stderr
    broken = tmp_path / "broken"
    shutil.copytree(files["release"], broken)
    (broken / "private" / "manifest.sha256").unlink()
    (broken / "private" / "domains.json").write_text('{"age": 7}')
    run = sfumato("attack", "relative", broken, "--policy", files["policy"], *person)
    assert run.returncode == 2
    assert "domains.json is broken; restore it, or remove it" in run.stderr


def answer(files: dict[str, Path], *more: object, policy: str = "policy") -> dict[str, dict]:
    run = relative(files, "--table", files["data"], "--json", *more, policy=policy)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_every_option_asks_what_python_asks(files) -> None:
    """One option at a time: the same measures, and the same of one victim."""
    table = sf.read(files["data"], census_schema())
    release = sf.read_release(files["release"], census_schema())
    person = ("--victim", "age=34@0.7|35@0.3,sex=F")
    seen = {"age": {"34": 0.7, "35": 0.3}, "sex": "F"}
    usual = sf.relative_threat(release, table)
    asked = {
        ("--prior", "age=2,sex:F=3"): {"prior": {"age": 2, "sex": {"F": 3}}},
        ("--prior", "0.5"): {"prior": 0.5},
        ("--prior", files["data"], "--weight", "0.5"): {"prior": table, "weight": 0.5},
        ("--gain", "top 2"): {"gain": "top 2"},
        ("--known", "age, sex"): {"known": ["age", "sex"]},
        ("--noise", "age=0.2"): {"noise": {"age": 0.2}},
    }
    for options, given in asked.items():
        expected = sf.relative_threat(release, table, **given)
        content = answer(files, *options, *person)
        measures = content["facts"]["measures"]
        assert measures["gt_attacker"] == pytest.approx(expected.measures.gt_attacker)
        assert measures["attacker"]["highest"] == pytest.approx(expected.measures.attacker.highest)
        assert expected.measures != usual.measures
        told = {row[0]: row[1] for row in content["sections"][0]["tables"][0]["rows"]}
        assert told == pytest.approx(expected.attacker(seen))


def test_the_policys_keys_are_the_options_unless_told(files) -> None:
    keys = BOUND.format(1000) + 'prior = 0.5\ngain = "top 2"\n'
    (files["folder"] / "keys.toml").write_text(census_policy() + keys)
    content = answer(files, policy="keys")
    table = sf.read(files["data"], census_schema())
    release = sf.read_release(files["release"], census_schema())
    expected = sf.relative_threat(release, table, prior=0.5, gain="top 2").measures
    assert content["facts"]["gain"] == "top 2"
    assert content["facts"]["measures"]["rgt"] == pytest.approx(expected.rgt)
    # Asked otherwise, the bound is still judged as the policy has it.
    other = answer(files, "--gain", "value", policy="keys")
    assert other["facts"]["gain"] == "value"
    (verdict,) = other["facts"]["verdicts"]
    assert (verdict["status"], "2 best guesses" in verdict["required"]) == ("holds", True)
