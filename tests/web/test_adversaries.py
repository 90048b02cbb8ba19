"""Step Adversaries: what each panel tells is what its command tells, whatever the labels hold."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.errors import InputError
from sfumato.report.json import section_dict
from sfumato.web.adversaries import PANELS
from sfumato.web.adversaries.composition import (
    check_ledger,
    intersect_with,
    keep_in_ledger,
    keeping_words,
    list_others,
)
from sfumato.web.adversaries.leakage import ask_observer
from sfumato.web.adversaries.linkage import look_for_target
from sfumato.web.adversaries.panel import PanelAnswer, describe_release
from sfumato.web.adversaries.realistic import ask_somebody_realistic
from sfumato.web.adversaries.relative import compare_with_learner
from sfumato.web.adversaries.skyline import ask_somebody_who_knows
from sfumato.web.desk import Desk
from sfumato.web.project import FOLDER
from tests.program import sfumato
from tests.web.small_release import HOSTILE, make_project


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("adversaries")
    make_project(made)
    return made


@pytest.fixture(scope="module")
def desk(folder: Path) -> Desk:
    return Desk(folder, folder / FOLDER)


def shell(folder: Path, monkeypatch: pytest.MonkeyPatch, command: str):
    """Run a command that a panel shows, where the workbench was started."""
    monkeypatch.chdir(folder)
    program, *words = shlex.split(command)
    assert program == "sfumato"
    return sfumato(*words, "--json")


def tables(told: PanelAnswer) -> list[object]:
    """The figures of a panel, as JSON holds them."""
    public = [section_dict(one) for one in told.sections if not one.private]
    return [
        table
        for section in json.loads(json.dumps(public, default=str))
        for table in section["tables"]
    ]


def same_figures(told: PanelAnswer, run) -> None:
    """Every public table of the panel is one of the command's."""
    printed = [
        table for section in json.loads(run.stdout)["sections"] for table in section["tables"]
    ]
    rows = [table["rows"] for table in printed]
    for table in tables(told):
        assert _plain(table["rows"]) in _plain(rows)


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return "inf" if value == float("inf") else round(value, 9)
    return value


QUESTIONS = {
    "realistic": (ask_somebody_realistic, {"records": ["2"], "epsilon": ["3"], "known": ["1"]}),
    "realistic, any shape": (ask_somebody_realistic, {"records": ["3"], "shape": ["any"]}),
    "realistic, own shape": (
        ask_somebody_realistic,
        {
            "shape": ["own"],
            "records": ["2"],
            "weight of cold": ["90"],
            "weight of HIV": ["20"],
            "weight of ulcer": ["20"],
            f"weight of {HOSTILE}": ["7"],
        },
    ),
    "realistic, endless": (ask_somebody_realistic, {"endless": ["on"], "fewer": ["on"]}),
    "skyline": (ask_somebody_who_knows, {"value": ["0:HIV"], "facts": ["1"], "people": ["2"]}),
    "skyline, hostile": (ask_somebody_who_knows, {"value": [f"0:{HOSTILE}"], "family": ["1"]}),
    "leakage": (ask_observer, {"column": ["age"], "target": ["disease"]}),
    "linkage": (look_for_target, {"known age": ["34"], "facts": ["not HIV\nnot cold"]}),
    "linkage, nothing known": (look_for_target, {}),
    "composition": (intersect_with, {"other": ["#2"]}),
    "relative": (compare_with_learner, {"victim age": ["34"]}),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_figures_are_those_of_the_command(question, desk, folder, monkeypatch) -> None:
    task, fields = QUESTIONS[question]
    told = task(desk, 1, fields)
    (command,) = told.commands
    run = shell(folder, monkeypatch, command)
    assert run.returncode in (0, 1), run.stderr
    assert tables(told) or question.startswith("realistic")
    if "skyline" not in question:
        assert run.returncode == 0 or told.status == "violated"
    same_figures(told, run)


def test_the_realistic_panel_asks_epsilon_privacy(desk) -> None:
    told = ask_somebody_realistic(desk, 1, {"records": ["2"], "epsilon": ["1.05"]})
    groups = desk.release(1).groups
    her = sf.RealisticAdversary("table", 100, at_most=False)
    verdict = sf.EpsilonPrivacy(1.05, her).verdict(groups)
    assert told.status == verdict.status == "violated"
    (private,) = (one for one in told.sections if one.private)
    assert [row[2] for row in private.tables[0].rows] == sorted(verdict.per_group, reverse=True)
    assert f"{(verdict.per_group > 1.05).sum()} of {len(groups)} groups" in told.headline
    charts = {chart.name for one in told.sections for chart in one.charts}
    assert {"epsilon", "worst-beliefs"} <= charts


def test_her_slider_stands_at_the_records_she_is_said_to_have_seen(open_bench) -> None:
    page = open_bench.get("/adversaries/realistic?point=1").text
    slider = re.search(r'name="records"[^>]* value="([^"]+)"', page)
    assert slider is not None
    assert f"has seen {round(10 ** float(slider[1])):,} outside records" in page


def test_the_skyline_panel_stands_where_the_dials_say(desk) -> None:
    release = desk.release(1)
    for known in ((0, 0, 0), (1, 0, 0), (2, 2, 1)):
        l, k, m = known  # noqa: E741
        fields = {"value": ["0:HIV"], "facts": [str(l)], "people": [str(k)], "family": [str(m)]}
        told = ask_somebody_who_knows(desk, 1, fields)
        sure = sf.breach_probability(release, "HIV", l, k, m)
        assert f"{100 * float(sure):.3g}% sure" in told.headline
        assert told.status == ("violated" if sure >= 0.9 else "holds")
        region = told.sections[1].charts[0]
        assert region.series[-1].x == [l]
        assert region.series[-1].y == [k]
        assert ("inside what is safe" in region.alt) == (told.status == "holds")


def test_who_is_exposed_together_is_private(desk) -> None:
    told = intersect_with(desk, 1, {"other": ["#2"]})
    attack = sf.intersection_attack(
        [desk.release(1), desk.release(2)], desk.table(), "disease", sensitive="disease"
    )
    assert f"Of {attack.summary.exposed:,} of {attack.summary.located:,} people" in told.headline
    (private,) = (one for one in told.sections if one.private)
    assert private.title == "Whom they expose"
    listed = sum(row[1] for table in private.tables for row in table.rows)
    assert listed <= attack.summary.exposed


def test_a_release_elsewhere_below_the_folder_can_be_added(desk, folder, monkeypatch) -> None:
    shutil.copytree(folder / FOLDER / "tried" / "2", folder / "last-year")
    assert list_others(desk, 1).folders == ("last-year",)
    told = intersect_with(desk, 1, {"other": ["last-year"]})
    assert "last-year" in told.commands[0]
    assert shell(folder, monkeypatch, told.commands[0]).returncode == 0
    outside = folder.parent / "outside"
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    for name in ("link", "..", "../outside", "/etc", "patients.csv", f"{FOLDER}/tried/2", "#9"):
        with pytest.raises(InputError):
            intersect_with(desk, 1, {"other": [name]})


def test_the_ledger_keeps_and_checks(desk, folder, monkeypatch) -> None:
    with pytest.raises(InputError, match="there is no ledger"):
        check_ledger(desk, 1, {"ledger": ["ours.sqlite"]})
    fields = {"ledger": ["ours.sqlite"], "name": ["first"], "about": ["patients"]}
    assert "60 people" in keep_in_ledger(desk, 2, fields)
    assert list_others(desk, 1).keeping == keeping_words(
        desk, 1, {"ledger": ["ours.sqlite"], "name": ["release-1"], "about": ["everybody"]}
    )
    run = shell(folder, monkeypatch, keeping_words(desk, 1, {**fields, "name": ["again"]}))
    assert run.returncode == 0, run.stderr
    told = check_ledger(desk, 1, {"ledger": ["ours.sqlite"]})
    listing, check = told.commands
    assert {
        one["name"]
        for one in json.loads(shell(folder, monkeypatch, listing).stdout)["facts"]["releases"]
    } == {"first", "again"}
    assert shell(folder, monkeypatch, check).returncode in (0, 1)
    for name in ("../x.sqlite", ".x.sqlite", "x.txt", "-x.sqlite", "a/b.sqlite"):
        with pytest.raises(InputError, match="no name of a ledger"):
            keep_in_ledger(desk, 1, {"ledger": [name]})


def test_classes_are_ranked(desk) -> None:
    told = ask_observer(desk, 1, {"column": ["age", "zip"], "target": ["disease"]})
    (ranked,) = (
        table
        for one in told.sections
        for table in one.tables
        if table.title == "Classes, by what they leak"
    )
    leaks = [float(row[2]) for row in ranked.rows]
    assert leaks == sorted(leaks, reverse=True)
    found = sf.characterize(desk.release(1), 2, ["disease"], columns=["age", "zip"])
    assert leaks[0] == found.ranking()[0].distribution.largest


WRONG = {
    "realistic": (
        {"records": ["many"]},
        {"shape": ["round"]},
        {"epsilon": ["0"]},
        {"known": ["1.5"]},
        {"sensitive": ["age"]},
        {"shape": ["any"], "records": ["0"]},
        {"shape": ["own"]},
        {"records": ["nan"]},
    ),
    "skyline": (
        {"value": ["9:HIV"]},
        {"value": ["0:nothing"]},
        {"facts": ["-1"]},
        {"confidence": ["2"]},
    ),
    "composition": ({}, {"other": ["#x"]}, {"sensitive": ["zip"], "other": ["#2"]}),
    "leakage": (
        {"column": ["name"]},
        {"target": ["name"]},
        {"column": ["disease"], "target": ["x"]},
    ),
    "linkage": ({"known age": ["never"]}, {"facts": ["gibberish"]}, {"known zip": ["1,age=3"]}),
}


@pytest.mark.parametrize("panel", WRONG)
def test_wrong_fields_are_one_line(panel, desk) -> None:
    for fields in WRONG[panel]:
        with pytest.raises(sf.SfumatoError) as told:
            PANELS[panel].task(desk, 1, fields)
        assert str(told.value)
        assert "\n" not in str(told.value)


# -- pages -----------------------------------------------------------------------------------------


def test_every_panel_has_a_page(open_bench) -> None:
    for name, panel in PANELS.items():
        answer = open_bench.get(f"/adversaries/{name}")
        assert answer.status_code == 200, answer.text
        assert panel.story.split(".")[0].replace("'", "&#39;") in answer.text
        assert HOSTILE not in answer.text
        assert "onerror=" not in answer.text
    answer = open_bench.get("/adversaries/skyline?point=2&value=0:HIV&facts=1")
    assert "The same from a shell" in answer.text
    assert "--point 1,0,0" in answer.text
    assert open_bench.get("/adversaries/nobody").status_code == 404
    assert open_bench.get("/adversaries/realistic?point=7").status_code == 422
    assert open_bench.get("/adversaries/realistic?point=../1").status_code == 422


def test_a_live_form_is_answered_by_its_answer_alone(open_bench) -> None:
    live = {"X-Live": "yes"}
    answer = open_bench.get("/adversaries/linkage?point=1&known+age=34", headers=live)
    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert "rows may be hers" in answer.text
    assert "facts aside" not in answer.text
    knowing = open_bench.get("/adversaries/linkage?point=1&facts=not+HIV", headers=live)
    assert knowing.text.count("rows may be hers, facts aside") == 2  # a fact rules out rows as well
    assert "private" in answer.text
    wrong = open_bench.get("/adversaries/linkage?point=1&known+age=99", headers=live)
    assert 'role="alert"' in wrong.text
    assert wrong.text.count("\n") < 8


def test_hostile_labels_are_text(open_bench) -> None:
    answer = open_bench.get(f"/adversaries/skyline?value=0:{HOSTILE.replace('/', '%2F')}")
    assert answer.status_code == 200
    assert "&lt;script&gt;alert" in answer.text
    assert HOSTILE not in answer.text


def test_comparing_is_an_errand(open_bench) -> None:
    before = open_bench.get("/adversaries/relative")
    assert "Nothing is compared yet" in before.text
    sent = open_bench.post("/adversaries/relative/run", {"point": "1", "victim age": "34"})
    assert sent.status_code == 303
    address = sent.headers["location"]
    open_bench.get("/errand")
    answer = open_bench.get(address)
    assert "Learner against attacker" in answer.text or "Pictures" in answer.text
    assert "A victim" in answer.text
    assert (
        open_bench.client.post("/adversaries/relative/run", data={"point": "1"}).status_code == 403
    )


def test_asking_can_be_given_up(open_bench) -> None:
    sent = open_bench.post("/adversaries/give-up", {"panel": "skyline"})
    assert sent.headers["location"] == "/adversaries/skyline"
    assert open_bench.bench.quick.cancelled == 1


def test_forms_know_the_columns(desk) -> None:
    told = describe_release(desk, 1)
    assert told.quasi == ("age", "zip")
    assert set(told.sensitive["disease"]) == {"cold", "ulcer", "HIV", HOSTILE}
    assert set(told.examples) == {"age", "zip"}
