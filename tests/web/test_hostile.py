"""A hostile file: its name, its columns and its values go through every step, and stay text."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from sfumato.web.bench import Bench
from sfumato.web.folder import Folder
from sfumato.web.guard import Door
from sfumato.web.project import FOLDER, Project
from sfumato.web.server import make_app
from tests.web.conftest import HERE, PORT, Visitor
from tests.web.small_project import Here

FILE = "people' onmouseover='harm() <img src=x onerror=harm()>.csv"
AGE = '<img src=x onerror="harm()">'
PLACE = "../../etc/passwd"
SICK = "</script><script>harm()</script>"
VALUES = ("<b>flu</b>", "' onfocus='harm()", "{{ 7 * 191 }}{% raise %}", "javascript:harm()")
ANNOUNCED = {"text/html; charset=utf-8"}


class Elements(HTMLParser):
    """What a browser would make of a page, and what of it could run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.strange: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag in ("img", "iframe", "object", "embed", "base"):
            self.strange.append(tag)
        if tag == "script" and told.get("type") != "application/json":
            source = told.get("src") or ""
            if not re.fullmatch(r"/static/[\w./-]+\.js", source):
                self.strange.append(f"script {source}")
        for name, value in attrs:
            leads = name in ("href", "src", "action", "formaction")
            if (
                leads
                and value
                and (not value.startswith(("/", "#", "?", "data:,")) or value[:2] == "//")
            ):
                self.strange.append(f"{tag} {name}={value}")
            if name.startswith("on"):
                self.strange.append(f"{tag} {name}")


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A browser in a project about the file, with one release of it."""
    folder = tmp_path_factory.mktemp("hostile")
    with (folder / FILE).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([AGE, PLACE, SICK])
        for n in range(40):
            writer.writerow([20 + n % 20, VALUES[n % 2], VALUES[(n // 2) % 4]])
    names = [json.dumps(name) for name in (AGE, PLACE, SICK)]
    policy = (
        f"[schema]\nquasi = [{names[0]}, {names[1]}]\nsensitive = [{names[2]}]\n\n"
        f'[schema.hierarchies]\n{names[0]} = {{ kind = "intervals", widths = [10] }}\n\n'
        '[anonymizer]\nkind = "lattice"\n\n[[require]]\nkind = "k-anonymity"\nk = 3\n'
    )
    project = Project.open(folder / FOLDER)
    project.choose_data(FILE, {}, project.state().revision)
    project.save_policy(policy, project.state().revision)
    here = Here(folder, project)
    bench = Bench(Folder(folder, project.folder), project, here, here)  # type: ignore[arg-type]
    door = Door(PORT)
    with TestClient(make_app(bench, door), base_url=HERE) as client:
        client.get(door.address)
        found = Visitor(client, bench, door)
        assert found.post("/release/run", {"seed": "1"}).status_code == 303
        for _ in range(600):
            if bench.errand is not None and bench.errand.status != "running":
                break
            time.sleep(0.05)
        assert bench.errand is not None
        assert bench.errand.status == "done", bench.errand.words
        yield found


@pytest.mark.parametrize(
    "path",
    [
        "/data",
        *(f"/data/column/{quote(name, safe='')}" for name in (AGE, PLACE, SICK)),
        "/data/column/nothing",
        "/policy",
        "/release",
        "/release/1",
        *(
            f"/adversaries/{panel}"
            for panel in ("realistic", "skyline", "composition", "leakage", "relative", "linkage")
        ),
        f"/adversaries/skyline?value={quote('0:' + VALUES[0])}",
        "/decide",
        f"/decide?by={quote(AGE)}&folder={quote(PLACE)}",
        "/errand",
    ],
)
def test_on_every_page_a_label_is_text(visitor: Visitor, path: str) -> None:
    answer = visitor.client.get(path)
    assert answer.status_code == (422 if "nothing" in path else 200), answer.text
    assert answer.headers["content-type"] in ANNOUNCED
    assert Elements(answer.text).strange == []
    assert "1337" not in answer.text  # nobody works out what a label says
    assert "root:" not in answer.text


def test_what_could_run_would_be_seen() -> None:
    for label in (AGE, SICK, f"<a href={VALUES[3]!r}>", f"<input value='{VALUES[1]}'>"):
        assert Elements(label).strange


def test_what_forms_send_back_is_text_too(visitor: Visitor) -> None:
    for path, fields in (
        ("/policy", {"text": f"# {SICK}\n[schema", "revision": "old", "how": AGE}),
        ("/policy/live", {"text": SICK}),
        ("/data/file", {"file": PLACE, "name": PLACE, "revision": visitor.revision}),
        ("/data/roles", {AGE: SICK, "revision": visitor.revision}),
        ("/decide/export", {"point": "1", "folder": PLACE, "by": AGE}),
        ("/release/run", {"seed": SICK}),
    ):
        answer = visitor.post(path, fields)
        assert answer.status_code < 500, (path, answer.text)
        assert Elements(answer.text).strange == [], path
    folder = visitor.bench.folder.root
    assert sorted(one.name for one in folder.iterdir()) == sorted([FILE, FOLDER])
