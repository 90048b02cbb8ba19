"""The files that pages may see: no path, link or name leads out of the started folder."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato.web.folder import Folder, TooLarge, plain_name
from tests.web.conftest import Visitor

ROWS = "age,sex\n30,F\n40,M\n"
SECRET = "name,disease\nAda,flu\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    root = tmp_path / "started"
    (root / "sub").mkdir(parents=True)
    (root / "sfumato-project" / "data").mkdir(parents=True)
    (root / "people.csv").write_text(ROWS)
    (root / "sub" / "more.parquet").write_bytes(b"PAR1")
    (root / "notes.md").write_text("not a table")
    (root / ".hidden.csv").write_text(ROWS)
    (root / "sfumato-project" / "secret.csv").write_text(SECRET)
    (tmp_path / "elsewhere.csv").write_text(SECRET)
    return Folder(root, root / "sfumato-project")


def test_only_tables_are_listed(folder: Folder) -> None:
    assert [one.name for one in folder.tables()] == ["people.csv", "sub/more.parquet"]


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../elsewhere.csv",
        "sub/../../elsewhere.csv",
        "/etc/passwd",
        "~/x.csv",
        "people.csv\0.txt",
        "nothing.csv",
        "people.csv/",
        "people.csv/../../elsewhere.csv",
        "sfumato-project/secret.csv",
        "sfumato-project/data/../secret.csv",
        "sfumato-project/data",
        "\ud800.csv",
        "x" * 5_000,
    ],
)
def test_a_name_leads_nowhere_else(folder: Folder, name: str) -> None:
    if name == ".":
        assert folder.resolve(name) == folder.root
        return
    if name == "people.csv/":
        assert folder.resolve(name).name == "people.csv"
        return
    with pytest.raises(InputError, match="no file below") as refused:
        folder.resolve(name)
    assert "Ada" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_link_out_of_the_folder_is_as_if_it_were_not_there(folder: Folder) -> None:
    outside = folder.root.parent
    (folder.root / "link.csv").symlink_to(outside / "elsewhere.csv")
    (folder.root / "door").symlink_to(outside, target_is_directory=True)
    (folder.root / "sub" / "up.csv").symlink_to("../../elsewhere.csv")
    (folder.root / "loop.csv").symlink_to("loop.csv")
    (folder.root / "project.csv").symlink_to("sfumato-project/secret.csv")
    (folder.root / "alias.csv").symlink_to("people.csv")
    listed = [one.name for one in folder.tables()]
    assert listed == ["alias.csv", "people.csv", "sub/more.parquet"]
    for name in ("link.csv", "door/elsewhere.csv", "sub/up.csv", "loop.csv", "project.csv"):
        with pytest.raises(InputError, match="no file below"):
            folder.resolve(name)
    assert folder.resolve("alias.csv") == folder.root / "people.csv"


def test_what_is_not_listed_is_not_chosen(folder: Folder) -> None:
    (folder.uploads / "mine.csv").write_text(ROWS)
    (folder.root / ".cache").mkdir()
    (folder.root / ".cache" / "ab12").write_text(ROWS)
    (folder.root / "kept.csv").symlink_to(".cache/ab12")
    (folder.root / "plain.csv").mkdir()
    listed = [one.name for one in folder.tables()]
    assert {"kept.csv", "people.csv", "sfumato-project/data/mine.csv"} <= set(listed)
    for name in listed:
        assert folder.resolve_table(name).is_file()
    for name in (".", "sub", "notes.md", ".hidden.csv", ".cache/ab12", "plain.csv", "sub/.."):
        with pytest.raises(InputError, match="no table that may be chosen"):
            folder.resolve_table(name)


def test_a_pipe_is_no_file(folder: Folder) -> None:
    os.mkfifo(folder.root / "pipe.csv")
    assert "pipe.csv" not in [one.name for one in folder.tables()]
    with pytest.raises(InputError, match="no file below"):
        folder.resolve("pipe.csv")


def test_release_folders_are_found_by_their_mark(folder: Folder) -> None:
    for name, mark in (
        ("out", '{"kind": "release"}'),
        ("price", '{"kind": "results"}'),
        ("odd", "["),
        ("sfumato-project/tried", '{"kind": "release"}'),
    ):
        (folder.root / name).mkdir()
        (folder.root / name / ".sfumato.json").write_text(mark)
    assert folder.releases() == ["out"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("patients.csv", "patients.csv"),
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\patients.csv", "patients.csv"),
        ("..", "table"),
        ("...csv", "csv"),
        (".hidden.csv", "hidden.csv"),
        ("-rf.csv", "_-rf.csv"),
        ("a<b>&'\"\n.csv", "a_b_.csv"),
        ("é\u202eb.csv", "é_b.csv"),
        ("Größe 2024 (neu).tar.csv.gz", "Größe 2024 (neu).tar.csv.gz"),
        ("x" * 400 + ".csv", "x" * 120 + ".csv"),
        ("\0", "table"),
    ],
)
def test_the_name_of_an_upload_means_nothing_but_itself(sent: str, kept: str) -> None:
    assert plain_name(sent) == kept


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


def test_an_upload_is_kept_whole_or_not_at_all(folder: Folder) -> None:
    name = asyncio.run(folder.upload("p.csv", pieces(b"a,b\n", b"1,2\n"), 100))
    assert name == "sfumato-project/data/p.csv"
    path = folder.resolve(name)
    assert path.read_bytes() == b"a,b\n1,2\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = asyncio.run(folder.upload("p.csv", pieces(b"other"), 100))
    assert again == "sfumato-project/data/p-2.csv"
    assert path.read_bytes() == b"a,b\n1,2\n"  # nothing is replaced

    async def broken() -> AsyncIterator[bytes]:
        yield b"a,b\n"
        raise ConnectionError

    for failing, error in (
        (pieces(b"x" * 60, b"x" * 60), TooLarge),
        (broken(), ConnectionError),
        (pieces(), InputError),
    ):
        with pytest.raises(error):
            asyncio.run(folder.upload("q.csv", failing, 100))
    assert sorted(path.name for path in folder.uploads.iterdir()) == ["p-2.csv", "p.csv"]


# -- by the page -----------------------------------------------------------------------------------


def test_a_file_is_uploaded_by_a_form(visitor: Visitor) -> None:
    answer = visitor.post("/data/upload", files={"file": ("people.csv", ROWS * 10_000)})
    assert answer.status_code == 303
    assert (visitor.bench.folder.uploads / "people.csv").read_text() == ROWS * 10_000


def test_an_upload_without_the_word_first_is_not_read(visitor: Visitor) -> None:
    files = {"file": ("people.csv", ROWS)}
    for fields in ({}, {"csrf": "wrong"}, {"other": "x", "csrf": visitor.csrf}):
        answer = visitor.client.post("/data/upload", data=fields, files=files)
        assert answer.status_code == 403
    assert not visitor.bench.folder.uploads.exists()


BOUNDARY = "xyz"


def malformed(csrf: str) -> dict[str, bytes]:
    first = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{csrf}\r\n--{BOUNDARY}'
    ).encode()
    file = b'\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s'
    return {
        "no file": first + b"--\r\n",
        "broken off in its head": first + b"\r\nContent-Dispo",
        "broken off in the file": first + file % (b"p.csv", b"a,b\n1,2"),
        "no name": first + file % (b"", b"a,b") + b"\r\n--xyz--\r\n",
        "empty": first + file % (b"p.csv", b"") + b"\r\n--xyz--\r\n",
        "garbage": first + b"garbage",
        "long headers": first + b"\r\n" + b"X-Long: " + b"x" * 100_000,
        "many headers": first + b"\r\n" + b"X: y\r\n" * 10_000,
    }


@pytest.mark.parametrize("how", malformed(""))
def test_a_malformed_upload_leaves_nothing(visitor: Visitor, how: str) -> None:
    answer = visitor.client.post(
        "/data/upload",
        content=malformed(visitor.csrf)[how],
        headers={"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"},
        follow_redirects=False,
    )
    assert answer.status_code in (403, 422), answer.text
    uploads = visitor.bench.folder.uploads
    assert not uploads.exists() or not list(uploads.iterdir())


def test_an_upload_beyond_the_limit_leaves_nothing(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = visitor.post(
        "/data/upload",
        files={"file": ("p.csv", ROWS)},
        headers={"Content-Length": str(1 << 40)},
    )
    assert told.status_code == 413
    monkeypatch.setattr("sfumato.web.upload.keep_upload.__defaults__", (1_000,))
    answer = visitor.post("/data/upload", files={"file": ("p.csv", ROWS * 1_000)})
    assert answer.status_code == 413
    uploads = visitor.bench.folder.uploads
    assert not uploads.exists() or not list(uploads.iterdir())
