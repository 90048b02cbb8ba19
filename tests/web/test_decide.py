"""Step Decide: what is exported is what was made, whole, signed, and judged the same by a shell."""

from __future__ import annotations

import filecmp
import json
import shlex
from pathlib import Path
from unittest import mock

import pytest

import sfumato as sf
from sfumato.errors import InputError
from sfumato.web import decide
from sfumato.web.desk import Desk
from sfumato.web.project import FOLDER, Project
from tests.program import sfumato
from tests.web.small_project import bench_of_project
from tests.web.small_release import DATA, HOSTILE, POLICY, make_project


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("decide")
    make_project(made)
    return made


@pytest.fixture
def desk(folder: Path) -> Desk:
    return Desk(folder, folder / FOLDER)


def files_of(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for part in ("public", "private")
        for path in (folder / part).rglob("*")
        if path.is_file()
    }


def test_what_is_exported_is_what_was_made(desk, folder) -> None:
    exported = decide.export_release(desk, 1, "out/first", "B. Owner")
    target, made = folder / "out" / "first", folder / FOLDER / "tried" / "1"
    assert exported.folder == "out/first"
    assert exported.status == "holds"
    signed = {"private/decision.html", "private/decision.json"}
    assert files_of(target) == files_of(made) | signed
    same, differing, failed = filecmp.cmpfiles(made, target, files_of(made), shallow=False)
    assert (set(same), differing, failed) == (files_of(made), [], [])
    assert (target / "private").stat().st_mode & 0o077 == 0
    told = json.loads((target / "private" / "decision.json").read_text())
    assert told["provenance"]["by"] == "B. Owner"
    assert told["holds"] is True


def test_an_existing_folder_is_refused(desk, folder) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"is there already; give another name$"):
        decide.export_release(desk, 1, "mine", "B. Owner")
    assert (folder / "mine" / "thesis.txt").read_text() == "years of work"
    assert not (folder / "mine" / "public").exists()


def test_a_failure_midway_leaves_nothing(desk, folder) -> None:
    broken = mock.patch("shutil.copytree", side_effect=OSError(28, "No space left on device"))
    with broken, pytest.raises((OSError, sf.SfumatoError)):
        decide.export_release(desk, 1, "half", "B. Owner")
    assert not (folder / "half").exists()
    assert not [path for path in folder.iterdir() if "half" in path.name]


STRANGE = (
    "..",
    "../out",
    "a/../../out",
    "/tmp/out",
    ".hidden",
    "a/.b",
    "-rf",
    "",
    " ",
    "a\nb",
    "a//b",
    "C:\\x",
    "..\\x",
    "x" * 300,
    FOLDER,
    f"{FOLDER}/tried/9",
    "link/x",
)


@pytest.mark.parametrize("name", STRANGE)
def test_nothing_leaves_the_folder(name, desk, folder) -> None:
    link = folder / "link"
    if not link.is_symlink():
        link.symlink_to(folder.parent)
    with pytest.raises(InputError) as told:
        decide.export_release(desk, 1, name, "B. Owner")
    assert "\n" not in str(told.value)


def test_a_release_that_was_tampered_with_does_not_go_out(tmp_path: Path) -> None:
    make_project(tmp_path)
    data = tmp_path / FOLDER / "tried" / "2" / "public" / "data.csv"
    data.write_text(data.read_text().replace("HIV", "flu"))
    with pytest.raises(InputError):
        decide.export_release(Desk(tmp_path, tmp_path / FOLDER), 2, "out", "B. Owner")
    assert not (tmp_path / "out").exists()


def test_the_first_screen_is_the_reports(open_bench, folder) -> None:
    answer = open_bench.get("/decide?point=1")
    assert answer.status_code == 200, answer.text
    told = json.loads((folder / FOLDER / "tried" / "1" / "private" / "report.json").read_text())
    assert "May it go out? <b>By its policy, yes.</b>" in answer.text
    for lines in told["first_screen"]["parts"].values():
        for words in lines:
            assert words.replace("'", "&#39;").replace("<", "&lt;")[:40] in answer.text.replace(
                "&gt;", ">"
            )
    assert HOSTILE not in answer.text


def test_the_report_runs_its_own_scripts_and_no_others(open_bench) -> None:
    answer = open_bench.get("/decide/report/1")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "'sha256-" in policy
    assert "script-src 'self'" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    assert "sandbox allow-scripts allow-downloads;" in policy  # whose origin is nobody's
    assert answer.headers["cross-origin-opener-policy"] == "unsafe-none"
    assert answer.headers["cache-control"] == "no-store"
    assert open_bench.get("/decide/report/9").status_code == 422
    assert open_bench.get("/decide/report/..%2F1").status_code in (404, 422)


def test_a_decision_is_signed_exported_and_kept(open_bench, folder, monkeypatch) -> None:
    why = f"the board agreed {HOSTILE}"
    fields = {"point": "2", "by": "Ada <b>", "folder": "release-ada", "why": why}
    sent = open_bench.post("/decide/export", fields)
    assert sent.status_code == 303, sent.text
    answer = open_bench.get("/decide?done=yes")
    assert "was exported to" in answer.text
    assert "Ada &lt;b&gt;" in answer.text
    assert HOSTILE not in answer.text
    (kept,) = open_bench.bench.project.decisions()["decisions"]
    assert (kept["point"], kept["folder"], kept["by"]) == (2, "release-ada", "Ada <b>")
    assert open_bench.bench.project.decisions()["taken"] == 2
    # From a shell: it audits, and the shown commands make the same.
    monkeypatch.chdir(folder)
    exported = sfumato("audit", "release-ada", "--policy", "release-ada/private/policy.toml")
    assert exported.returncode == 0, exported.stderr
    made, judged = (shlex.split(line) for line in kept["commands"])
    assert made[:2] == ["sfumato", "anonymize"]
    again = [word.replace("release-ada", "again") for word in judged[1:]]
    (folder / "again").mkdir()
    (folder / "release-ada" / "public").rename(folder / "again" / "public")
    (folder / "release-ada" / "private").rename(folder / "again" / "private")
    (folder / "again" / "private" / "decision.html").unlink()
    run = sfumato(*again)
    assert run.returncode == 0, run.stderr
    assert "Ada &lt;b&gt;" in (folder / "again" / "private" / "decision.html").read_text()


def test_the_shown_command_makes_the_same_release(tmp_path: Path, monkeypatch) -> None:
    make_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    rules = sf.Policy.load(FOLDER + "/policy.toml")
    table = sf.read("patients.csv", rules.schema)
    release = sf.anonymize(table, rules, seed=11)
    project = Project.open(tmp_path / FOLDER)
    release.save(project.release_folder(3), report=sf.audit(release, rules), policy=rules)
    project.keep_point(3, {"seed": "11"})
    bench = bench_of_project(tmp_path, project)
    screen = decide.read_decision(Desk(tmp_path, project.folder), 3)
    line, _ = decide.export_commands(bench, screen, "out", "")
    run = sfumato(*shlex.split(line)[1:])
    assert run.returncode == 0, run.stderr
    made = project.release_folder(3)
    for name in ("data.csv", "codebook.csv", "codebook.json"):
        assert (made / "public" / name).read_bytes() == (
            tmp_path / "out" / "public" / name
        ).read_bytes()
    project.close()


def test_the_commands_follow_the_form(open_bench) -> None:
    fields = {"point": "1", "by": "Ada; rm -rf", "folder": "next year"}
    answer = open_bench.live("/decide/commands", fields)
    assert answer.status_code == 200
    assert "--by &#39;Ada; rm -rf&#39;" in answer.text
    assert "--out &#39;next year&#39; --seed" in answer.text


def test_a_policy_that_names_files_finds_them_from_its_new_place(tmp_path, monkeypatch) -> None:
    make_project(tmp_path)
    (tmp_path / "register.csv").write_text(
        "age,zip\n" + "".join(f"{20 + n % 40},{13050 + n % 35}\n" for n in range(900))
    )
    project = Project.open(tmp_path / FOLDER)
    linked = '\n[[require]]\nkind = "k-map"\nk = 2\npopulation = "../register.csv"\n'
    project.save_policy(POLICY + linked, project.state().revision)
    rules = sf.Policy.load(project.policy_file)
    assert rules.schema is not None
    release = sf.generalize(sf.read(tmp_path / DATA, rules.schema), {"age": 2, "zip": 3})
    release.save(project.release_folder(3), report=sf.audit(release, rules), policy=rules)
    project.keep_point(3, {})
    project.close()
    decide.export_release(Desk(tmp_path, tmp_path / FOLDER), 3, "deep/er/out", "B. Owner")
    monkeypatch.chdir(tmp_path)
    run = sfumato("audit", "deep/er/out", "--policy", "deep/er/out/private/policy.toml")
    assert run.returncode == 0, run.stderr


def test_wrong_decisions_are_one_line(open_bench) -> None:
    for fields, said in (
        ({"by": "", "folder": "a"}, "say who decides"),
        ({"by": "A", "folder": "../a"}, "no name of a folder"),
        ({"by": "A", "folder": "a", "why": "x" * 3000}, "longer than 2,000"),
        ({"by": "A", "folder": "a", "point": "8"}, "there is no release"),
    ):
        answer = open_bench.post("/decide/export", {"point": "1", **fields})
        assert answer.status_code == 422
        assert said in answer.text
    assert open_bench.client.post("/decide/export", data={"point": "1"}).status_code == 403
