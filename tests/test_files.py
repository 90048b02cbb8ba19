"""Whole or not at all, nothing of anybody else's replaced, nothing of a killed run left behind."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sfumato import files
from sfumato.errors import InputError, ResourceError
from sfumato.files import MARK, check_new_folder, new_file, new_folder, write_text


@pytest.fixture(params=["renameat2", "plain renames"])
def system(request, monkeypatch) -> str:
    """A system that can exchange folders in one step, and one that cannot."""
    if request.param == "plain renames":
        monkeypatch.setattr(files, "_renameat2", lambda: None)
    return request.param


def fill(target: Path, text: str = "x", **how) -> None:
    with new_folder(target, **how) as new:
        (new / "public").mkdir()
        (new / "private").mkdir()
        (new / "public" / "data.csv").write_text(text)
        (new / "private" / "run.json").write_text(text)


def content(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MARK
    }


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_is_marked_private_where_it_says_so_and_replaced_whole(system, tmp_path) -> None:
    out = tmp_path / "out"
    fill(out)
    assert json.loads((out / MARK).read_text())["files"] == ["private/run.json", "public/data.csv"]
    assert mode(out / "private") == 0o700
    assert mode(out / "private" / "run.json") == 0o600
    assert mode(out) == mode(out / "public")
    assert mode(out / "public") & 0o500 == 0o500
    with pytest.raises(InputError, match="exists"):
        fill(out, "y")
    fill(out, "y", force=True)
    assert content(out) == {"public/data.csv": "y", "private/run.json": "y"}
    assert names(tmp_path) == ["out"]


THEIRS = {
    "a project with a release in it": ["thesis.txt", "src/a.py", "release/public/manifest.json"],
    "a web app": ["public/manifest.json", "src/index.js", "package.json"],
    "an old release": ["public/manifest.json", "public/data.csv", "private/run.json"],
    "a false mark": [MARK, "notes.txt"],
}


@pytest.mark.parametrize("case", THEIRS)
def test_force_deletes_no_folder_that_is_not_ours(tmp_path, case: str) -> None:
    out = tmp_path / "out"
    for name in THEIRS[case]:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text('{"short_name": "React App"}')
    before = sorted(out.rglob("*"))
    with pytest.raises(InputError, match="was not written by Sfumato") as told:
        fill(out, force=True)
    assert str(THEIRS[case][0].split("/")[0]) in str(told.value)
    assert sorted(out.rglob("*")) == before


@pytest.mark.parametrize("name", ["notes.txt", "public/notes.txt", "private/mine/notes.txt"])
def test_force_deletes_nothing_that_was_put_beside_ours(tmp_path, name: str) -> None:
    out = tmp_path / "out"
    fill(out)
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("mine")
    with pytest.raises(InputError, match="holds more than was written to it: '") as told:
        fill(out, "y", force=True)
    assert name.rsplit("/", 1)[0] in str(told.value)
    assert content(out)[name] == "mine"
    assert content(out)["public/data.csv"] == "x"


def test_folders_of_another_kind_links_files_and_empty_folders(tmp_path) -> None:
    fill(tmp_path / "demo", kind="demo")
    with pytest.raises(InputError, match="is no release but a demo"):
        fill(tmp_path / "demo", force=True)
    (tmp_path / "link").symlink_to(tmp_path / "demo")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for link in ("link", "dangling"):
        for force in (True, False):
            with pytest.raises(InputError, match="is a symbolic link"):
                fill(tmp_path / link, kind="demo", force=force)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        fill(tmp_path / "file", force=True)
    (tmp_path / "empty").mkdir()
    fill(tmp_path / "empty", force=True)
    assert content(tmp_path / "empty")
    mark = tmp_path / "demo" / MARK
    mark.write_text(mark.read_text().replace('"schema": 1', '"schema": 2'))
    with pytest.raises(InputError, match="another version"):
        check_new_folder(tmp_path / "demo", force=True, kind="demo")


@pytest.mark.parametrize("force", [False, True])
def test_what_came_meanwhile_is_not_replaced(system, tmp_path, force: bool) -> None:
    out = tmp_path / "out"

    def write() -> None:
        with new_folder(out, force=force) as new:
            (new / "data.csv").write_text("x")
            out.mkdir()
            (out / "my-notes.txt").write_text("mine")

    with pytest.raises(InputError, match=r"exists|my-notes"):
        write()
    assert content(out) == {"my-notes.txt": "mine"}
    assert names(tmp_path) == ["out"]


def test_what_came_after_the_last_look_is_put_back(system, tmp_path, monkeypatch) -> None:
    """Somebody writes into the old folder between the check and the exchange."""
    out = tmp_path / "out"
    fill(out)
    look = files.check_new_folder

    def late(target: Path, **how) -> None:
        look(target, **how)
        if any(tmp_path.glob(".out.part-*/new/" + MARK)):
            (out / "late.txt").write_text("mine")

    monkeypatch.setattr(files, "check_new_folder", late)
    with pytest.raises(InputError, match=r"late\.txt"):
        fill(out, "y", force=True)
    assert content(out) == {"late.txt": "mine", "public/data.csv": "x", "private/run.json": "x"}
    assert names(tmp_path) == ["out"]


def test_of_several_runs_without_force_one_wins(system, tmp_path) -> None:
    out, start, told = tmp_path / "out", threading.Barrier(4), []

    def run(text: str) -> None:
        try:
            with new_folder(out) as new:
                (new / "data.csv").write_text(text)
                start.wait()
            told.append(text)
        except InputError as error:
            assert "exists" in str(error)  # noqa: PT017

    runs = [threading.Thread(target=run, args=(str(number),)) for number in range(4)]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    assert len(told) == 1
    assert content(out) == {"data.csv": told[0]}
    assert names(tmp_path) == ["out"]


def test_files_are_private_and_replaced_only_by_force(system, tmp_path) -> None:
    page = tmp_path / "page.html"
    write_text(page, "one")
    assert mode(page) == 0o600
    with pytest.raises(InputError, match="exists"):
        write_text(page, "two")

    def late() -> None:
        with new_file(tmp_path / "late") as new:
            new.write_text("x")
            (tmp_path / "late").write_text("mine")

    with pytest.raises(InputError, match="exists"):
        late()
    assert (tmp_path / "late").read_text() == "mine"
    page.chmod(0o644)
    write_text(page, "two", force=True)
    assert (page.read_text(), mode(page)) == ("two", 0o600)
    write_text(tmp_path / "public.html", "x", private=False)
    (tmp_path / "plain").write_text("x")
    assert mode(tmp_path / "public.html") == mode(tmp_path / "plain")
    (tmp_path / "link").symlink_to(page)
    for other in (tmp_path / "link", Path("/dev/null")):
        with pytest.raises(InputError, match="not a plain file"):
            write_text(other, "x", force=True)
    assert names(tmp_path) == ["late", "link", "page.html", "plain", "public.html"]


# A run that ends without any clearing up, in a process of its own: one forked from this, where
# libraries have threads, may die of what they left half-way.
KILLED = """
import os
import sys
from pathlib import Path

from sfumato import files

target, killed_after = Path(sys.argv[1]), sys.argv[2]
rename = Path.rename


class Killed(files._Room):
    def place(self, check):
        if killed_after == "writing":
            os._exit(0)
        super().place(check)
        os._exit(0)


def first_rename(old, new):
    rename(old, new)
    os._exit(0)


files._Room = Killed
if killed_after == "first of two renames":
    files._renameat2 = lambda: None
    Path.rename = first_rename
with files.new_folder(target, force=True) as new:
    for folder, file in (("public", "data.csv"), ("private", "run.json")):
        (new / folder).mkdir()
        (new / folder / file).write_text("killed")
sys.exit(1)
"""


def leave(target: Path, killed_after: str) -> None:
    """What a run leaves that is killed there."""
    subprocess.run([sys.executable, "-c", KILLED, str(target), killed_after], check=True)


@pytest.mark.parametrize(
    ("killed_after", "stands"),
    [("writing", "x"), ("exchange", "killed"), ("first of two renames", None)],
)
def test_a_killed_run_leaves_old_or_new_and_the_next_run_clears_up(
    tmp_path, killed_after: str, stands: str | None
) -> None:
    out = tmp_path / "out"
    fill(out)
    leave(out, killed_after)
    assert re.match(r"\.out\.part-[0-9a-f]{16}", names(tmp_path)[0])
    if stands is None:
        assert not out.exists()
        stands = "x"  # is brought back
    with pytest.raises(InputError, match="exists"):
        fill(out)
    assert content(out)["public/data.csv"] == stands
    fill(out, "y", force=True)
    assert content(out)["public/data.csv"] == "y"
    assert names(tmp_path) == ["out"]


def test_rooms_of_others_and_of_live_runs_stay(tmp_path) -> None:
    out = tmp_path / "out"
    theirs = tmp_path / ".out.part-0123456789abcdef"
    theirs.mkdir()
    (theirs / "thesis.txt").write_text("mine")
    linked = tmp_path / "elsewhere"
    linked.mkdir()
    (linked / "kept.txt").write_text("mine")
    (tmp_path / ".out.part-fedcba9876543210").symlink_to(linked)
    with new_folder(out, force=True) as new:
        (new / "data.csv").write_text("live")
        fill(out)  # another run, quicker
        assert (new / "data.csv").read_text() == "live"
    assert content(out) == {"data.csv": "live"}
    assert (theirs / "thesis.txt").exists()
    assert (linked / "kept.txt").exists()


def test_a_full_disk_is_told_of_the_target(tmp_path) -> None:
    def full() -> None:
        with new_folder(tmp_path / "out") as new:
            (new / "private").mkdir()
            with new_file(new / "private" / "report.html") as report:
                report.unlink()
                report.symlink_to("/dev/full")
                report.write_text("x" * 100_000)

    with pytest.raises(ResourceError, match=r"/out: the disk is full") as told:
        full()
    assert "part-" not in str(told.value)
    assert not names(tmp_path)


def test_what_stands_is_told_as_it_is(tmp_path) -> None:
    fill(tmp_path / "stands")
    with pytest.raises(KeyError), new_folder(tmp_path / "not"):
        raise KeyError
    told = [one.path.name for one in files.standing() if one.path.parent == tmp_path]
    assert told == ["stands"]
