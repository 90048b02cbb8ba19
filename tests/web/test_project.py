"""The project folder: written whole or not at all, never over what another tab saved."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sfumato.errors import InputError
from sfumato.web.bench import bench_of, read_form
from sfumato.web.project import FOLDER, Project, Stale, Taken
from tests.web.conftest import Visitor

POLICY = '[schema]\nquasi = ["age"]\n'


@pytest.fixture
def project(tmp_path: Path):
    made = Project.open(tmp_path / FOLDER)
    yield made
    made.close()


def test_only_the_owner_can_read_a_project(project: Project) -> None:
    project.save_policy(POLICY, project.state().revision)
    project.add_hierarchy("zip", "a,b\n")
    project.keep_point(1, {"loss": 0.5})
    for path in (project.folder, *project.folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_what_is_saved_is_there_after_a_restart(tmp_path: Path) -> None:
    one = Project.open(tmp_path / FOLDER)
    state = one.choose_data("people.csv", {"delimiter": ";"}, one.state().revision)
    state = one.save_policy(POLICY, state.revision)
    one.save_decisions({"by": "me"})
    one.close()
    other = Project.open(tmp_path / FOLDER)
    assert other.state() == state
    assert (state.data, state.reading, state.policy) == ("people.csv", {"delimiter": ";"}, POLICY)
    assert other.decisions() == {"by": "me"}
    other.close()


def test_two_tabs_do_not_overwrite_each_other(project: Project) -> None:
    seen = project.state().revision
    project.save_policy("# one\n", seen)
    with pytest.raises(Stale):
        project.save_policy("# other\n", seen)
    with pytest.raises(Stale):
        project.choose_data("x.csv", {}, seen)
    assert project.state().policy == "# one\n"
    now = project.state().revision
    project.policy_file.write_text("# by an editor\n")
    with pytest.raises(Stale):
        project.save_policy("# other\n", now)


def test_releases_do_not_make_a_page_stale(project: Project) -> None:
    seen = project.state().revision
    (project.folder / "tried" / "1").mkdir()
    project.keep_point(1, {})
    project.save_policy(POLICY, seen)


def test_a_release_counts_once_it_is_remembered(project: Project) -> None:
    assert (project.points(), project.next_point()) == ((), 1)
    for number in (1, 2, 10):
        (project.folder / "tried" / str(number)).mkdir()
    assert (project.points(), project.next_point()) == ((), 11)  # killed before they were done
    project.keep_point(10, {"loss": 0.1})
    project.keep_point(2, {"loss": 0.2})
    project.keep_point(3, {"loss": 0.3})  # its folder is gone
    assert [point.number for point in project.points()] == [2, 10]
    assert project.point(3) is None


def test_the_tree_of_a_column_has_a_name_of_its_own(project: Project) -> None:
    one = project.add_hierarchy("zip", "a,b\n")
    assert one == project.add_hierarchy("zip", "a,b\n")
    others = {project.add_hierarchy(name, "a,b\n") for name in ("../zip", "Zip", "ß/..", "\n")}
    assert len(others | {one}) == 5
    for name in (one, *others):
        assert (project.folder / name).resolve().parent == project.folder / "hierarchies"


@pytest.mark.parametrize("text", ["{", "[]", "\x00", '{"data": 3}'])
def test_a_damaged_project_is_told_and_left_alone(project: Project, text: str) -> None:
    path = project.folder / "project.json"
    path.write_text(text)
    if text.startswith('{"'):
        assert project.state().data is None
        return
    with pytest.raises(InputError, match="damaged"):
        project.state()
    assert path.read_text() == text


def test_a_linked_file_of_a_project_is_not_followed(project: Project, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("Ada has flu")
    project.policy_file.symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="cannot be read") as refused:
        project.state()
    assert "Ada" not in str(refused.value)


def test_a_folder_with_other_things_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-ada.txt").write_text("Dear Ada")
    with pytest.raises(InputError, match="holds other things"):
        Project.open(tmp_path / "letters")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        Project.open(tmp_path / "file")
    with pytest.raises(InputError, match="is no folder"):
        Project.open(tmp_path / "no" / "where")


def test_one_server_holds_a_project(project: Project) -> None:
    project.tell_running(4321)
    with pytest.raises(Taken) as taken:
        Project.open(project.folder)
    assert taken.value.port == 4321


def test_a_killed_server_leaves_no_way_in(tmp_path: Path) -> None:
    killed = Project.open(tmp_path / FOLDER)
    killed.tell_running(40_000)
    token = killed.leave_token()
    killed.write_opening("http://127.0.0.1:40000/?token=x")
    os.close(killed._lock)  # as the system does
    other = Project.open(tmp_path / FOLDER)
    assert not other.admits(token)
    assert other.running() is None
    assert not (other.folder / "open.html").exists()
    other.close()


def test_who_has_closed_a_project_touches_it_no_more(tmp_path: Path) -> None:
    one = Project.open(tmp_path / FOLDER)
    one.close()
    other = Project.open(tmp_path / FOLDER)
    other.tell_running(4321)
    one.close()
    assert other.running() == 4321
    with pytest.raises(Taken):
        Project.open(tmp_path / FOLDER)
    other.close()


KILLED = """
    import os, sys
    from pathlib import Path
    from sfumato import files
    from sfumato.web.project import Project
    project = Project.open(Path(sys.argv[1]))
    real = files._sync
    calls = int(sys.argv[2])
    def sync(path):
        global calls
        calls -= 1
        if calls == 0:
            os._exit(9)
        real(path)
    files._sync = sync
    for number in range(20):
        project.save_policy(f"# {number}\\n" * 1000, project.state().revision)
        project.keep_point(number + 1, {"loss": number})
"""


@pytest.mark.parametrize("writes", [1, 2, 7])
def test_a_server_killed_while_it_writes_loses_nothing(tmp_path: Path, writes: int) -> None:
    folder = tmp_path / FOLDER
    Project.open(folder).close()
    program = [sys.executable, "-c", textwrap.dedent(KILLED), str(folder), str(writes)]
    assert subprocess.run(program, check=False).returncode == 9
    project = Project.open(folder)
    written = (writes - 1 + 1) // 2
    text = project.state().policy
    assert text == (None if written == 0 else f"# {written - 1}\n" * 1000)
    project.save_policy("# on\n", project.state().revision)
    left = [path.name for path in folder.rglob("*") if ".part-" in path.name]
    assert not [name for name in left if "policy" in name]  # cleared by the next write
    project.close()


# -- two tabs --------------------------------------------------------------------------------------


async def save(request: Request) -> Response:
    form = await read_form(request)
    bench_of(request).project.save_policy(form.text("policy"), form.revision)
    return RedirectResponse("/policy", 303)


def test_a_second_tab_is_told_and_keeps_what_it_sent(visitor: Visitor) -> None:
    app = visitor.client.app
    app.router.routes.insert(0, Route("/policy/save", save, methods=["POST"]))  # type: ignore[attr-defined]
    seen = visitor.revision
    first = {"revision": seen, "policy": "# first\n"}
    second = {"revision": seen, "policy": "# second <b>&\n"}
    assert visitor.post("/policy/save", first).status_code == 303
    answer = visitor.post("/policy/save", second)
    assert answer.status_code == 409
    assert "Another tab" in answer.text
    assert "# second &lt;b&gt;&amp;" in answer.text
    assert visitor.bench.project.state().policy == "# first\n"
    assert visitor.revision in answer.text  # its button saves over what is there now
    assert visitor.post("/policy/save", {**second, "revision": visitor.revision}).status_code == 303
    assert visitor.bench.project.state().policy == "# second <b>&\n"
