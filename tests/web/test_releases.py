"""The step Release: it makes what the shell makes; cancelled, nothing; taken, remembered."""

from __future__ import annotations

import html
import re
import shlex
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sfumato.report.document import Chart, Section, Series, Sheet
from sfumato.web.bench import Bench
from sfumato.web.folder import Folder
from sfumato.web.guard import Door
from sfumato.web.kept_sections import kept, section_of
from sfumato.web.project import FOLDER, Project
from sfumato.web.section_html import section_html
from sfumato.web.server import make_app
from sfumato.web.tried import make_release
from sfumato.web.worker import Worker, WorkPlace
from tests.program import sfumato
from tests.web.conftest import HERE, PORT, Visitor
from tests.web.small_project import POLICY, Here, small_project, write_people


def visited(bench: Bench) -> tuple[TestClient, Visitor]:
    door = Door(PORT)
    client = TestClient(make_app(bench, door), base_url=HERE)
    client.__enter__()
    client.get(door.address)
    return client, Visitor(client, bench, door)


def inline(folder: Path, project: Project) -> Bench:
    here = Here(folder, project)
    return Bench(Folder(folder, project.folder), project, here, here)  # type: ignore[arg-type]


def wait_for(visitor: Visitor, seconds: float = 60) -> str:
    """Watch the errand as a page does, until it is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        told: str = visitor.get("/errand").text
        if "data-watch" not in told:
            return told
        time.sleep(0.05)
    raise AssertionError("still running")


def content_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_run_makes_what_the_shown_command_makes_and_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, visitor = visited(inline(tmp_path, small_project(tmp_path)))
    assert "--seed" not in visitor.get("/release").text  # drawn at random, by the shell as well
    assert visitor.post("/release/run", {"seed": "123456789012345678"}).status_code == 303
    assert "done" in wait_for(visitor)
    errand = visitor.bench.errand
    assert errand is not None
    assert errand.address == "/release/1"
    page = visitor.get("/release/1")
    assert page.status_code == 200
    for heading in ("Criteria", "How the release was chosen", "The weakest groups", "was done"):
        assert heading in page.text
    assert "private" in page.text
    assert "123456789012345678" in page.text
    words = shlex.split(errand.command)
    out = words[words.index("--out") + 1]
    words[words.index("--out") + 1] = "again"
    monkeypatch.chdir(tmp_path)
    done = sfumato(*words[1:])
    assert done.returncode == 0, done.stderr
    made, again = tmp_path / out / "public", tmp_path / "again" / "public"
    assert content_of(made) == content_of(again)
    assert content_of(made)
    (shown,) = re.findall(r"<code>(sfumato anonymize .*?)</code>", page.text)
    assert sfumato(*shlex.split(html.unescape(shown))[1:]).returncode == 0
    assert content_of(tmp_path / "release-1" / "public") == content_of(made)
    assert sfumato("audit", out, "--policy", f"{FOLDER}/policy.toml").returncode == 0

    # A second one, by another policy; then the first is taken, and the workbench opened anew.
    changed = POLICY.replace("k = 3", "k = 6")
    visitor.bench.project.save_policy(changed, visitor.revision)
    visitor.post("/release/run", {})
    wait_for(visitor)
    listed = visitor.get("/release").text
    assert "Take release 1" in listed
    assert "Take release 2" in listed
    assert "k ≥ 3" in listed
    assert "k ≥ 6" in listed
    assert "#2" in listed
    assert visitor.post("/release/1/take").status_code == 303
    assert visitor.post("/release/7/take").status_code == 422
    assert visitor.get("/release/7").status_code == 404
    client.__exit__(None, None, None)

    client, visitor = visited(inline(tmp_path, Project.open(tmp_path / FOLDER)))
    page = visitor.get("/release")
    assert "Take release 1" not in page.text
    assert "Take release 2" in page.text
    for risk in ("highest", "belief", "nonsense"):
        assert visitor.get(f"/release?risk={risk}").status_code == 200

    # Another file is worked on: what was made of the first one still says so.
    write_people(tmp_path / "others.csv", sex="gender")
    visitor.bench.project.choose_data("others.csv", {}, visitor.revision)
    assert "sfumato anonymize people.csv" in visitor.get("/release/1").text
    assert "sfumato anonymize people.csv" in visitor.get("/decide?point=1").text
    asked = visitor.get("/adversaries/composition?point=1&other=%232").text
    assert "--targets people.csv" in asked
    assert '<option value="1" selected>' in visitor.get("/policy").text
    client.__exit__(None, None, None)


def test_no_safe_release_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    policy = POLICY.replace("k = 3", "k = 1000")
    client, visitor = visited(inline(tmp_path, small_project(tmp_path, policy)))
    visitor.post("/release/run", {"seed": "1"})
    told = wait_for(visitor)
    assert "did not end well" in told
    assert "k-anonymity" in told
    assert not list((visitor.bench.project.folder / "tried").iterdir())
    assert visitor.post("/release/run", {"seed": "-1"}).status_code == 422
    assert visitor.post("/release/run", {"seed": "9" * 30}).status_code == 422
    client.__exit__(None, None, None)


def test_a_release_that_was_made_is_not_lost_with_its_server(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    bench = inline(tmp_path, project)
    desk = Here(tmp_path, project).desk
    facts = make_release(desk, point=1, seed=5)  # and nobody is left to remember it
    client, visitor = visited(bench)
    assert "Look at release 1 again" in visitor.get("/release").text
    assert visitor.post("/release/2/remember").status_code == 422
    assert visitor.post("/release/1/remember").status_code == 303
    assert "done" in wait_for(visitor)
    point = project.point(1)
    assert point is not None
    assert point.facts["figures"]["risks"] == facts["figures"]["risks"]
    assert point.facts["figures"]["costs"]["loss"] == pytest.approx(
        facts["figures"]["costs"]["loss"]
    )
    assert point.facts["seed"] == "5"
    assert visitor.get("/release/1").status_code == 200
    assert "again" not in visitor.get("/release").text
    assert visitor.post("/release/1/remember").status_code == 422
    client.__exit__(None, None, None)


SLOW = """
[anonymizer]
kind = "deal"
seconds = 60
"""


def test_cancel_leaves_nothing_and_the_next_run_works(tmp_path: Path) -> None:
    slow = POLICY.replace('\n[anonymizer]\nkind = "lattice"\n', SLOW)
    project = small_project(tmp_path, slow)
    place = WorkPlace(tmp_path, project.folder)
    here = Here(tmp_path, project)
    bench = Bench(
        Folder(tmp_path, project.folder),
        project,
        here,  # type: ignore[arg-type]
        Worker(place),
    )
    client, visitor = visited(bench)
    visitor.post("/release/run", {"seed": "1"})
    assert visitor.post("/release/run", {}).status_code == 422  # one at a time
    end = time.monotonic() + 60
    while "searching" not in (told := visitor.get("/errand").text):
        assert "data-watch" in told
        assert time.monotonic() < end
        time.sleep(0.05)
    room = project.folder / "tried" / ".1.part-0123456789abcdef"  # as a killed run leaves one
    room.mkdir()
    (room / ".sfumato-room.json").write_text('{"kind": "release"}')
    (room / "new").mkdir()
    assert visitor.post("/errand/cancel", {"back": "/release"}).status_code == 303
    assert "cancelled" in visitor.get("/release").text
    assert not list((project.folder / "tried").iterdir())
    project.save_policy(POLICY, visitor.revision)
    visitor.post("/release/run", {"seed": "1"})
    assert "done" in wait_for(visitor)
    client.__exit__(None, None, None)


def test_hostile_labels_are_text_in_a_release(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script><b x='"
    policy = POLICY.replace('"sex"]', f'"{evil}"]').replace("sex =", f'"{evil}" =')
    policy += '\n[[require]]\nkind = "distinct-diversity"\nl = 2\n'
    project = small_project(tmp_path, policy, sex=evil, flu="<img src=x onerror=alert(1)>")
    client, visitor = visited(inline(tmp_path, project))
    visitor.post("/release/run", {"seed": "1"})
    assert "done" in wait_for(visitor)
    for address in ("/release", "/release/1"):
        page = visitor.get(address).text
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "<b x=" not in page
    assert "alert(1)" in page
    client.__exit__(None, None, None)


def test_sections_are_kept_whole() -> None:
    sheet = Sheet(("a", "b"), (("x", 0.5), ("y", float("inf"))), "T", percent=("b",), starred=(1,))
    series = Series("s", [1, 2.5, None], [3.0, 4, 5], text=["p", "q", "r"], mark="star")
    chart = Chart("C", "points", "x", "y", (series,), alt="words", behind=(series,), bare="x")
    section = Section("S", "one\n\ntwo", (sheet,), (chart,), private=True)
    again = section_of(kept(section))
    assert kept(again) == kept(section)
    assert again.tables[0].texts() == sheet.texts()
    assert str(section_html(again)).count("<tr") == str(section_html(section)).count("<tr")
