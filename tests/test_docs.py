"""What the documentation says of the house is so."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import pytest
from typer.main import get_command

import sfumato as sfumato_package
from scripts import write_docs
from sfumato.cli.main import app
from tests.conftest import ROOT
from tests.program import sfumato

SOURCE = ROOT / "src" / "sfumato"
PAGE = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
_STEP = re.compile(r"`([a-z_/]+\.py)::([A-Za-z_.]+)`")
STEPS = sorted(set(_STEP.findall(PAGE)))
Step = tuple[str, str]  # a file and a function or class in it

POLICY = """
[schema]
quasi = ["age", "zip", "sex"]
sensitive = "disease"
hierarchies = { age = { kind = "intervals", widths = [5, 10] } }

[[require]]
kind = "k-anonymity"
k = 2

[anonymizer]
kind = "mondrian"
"""


def test_the_tree_has_every_room() -> None:
    tree = PAGE.split("## The house")[1].split("###")[0]
    told = {
        word.strip("/,")
        for line in re.findall(r"^    (\S.*?)  ", tree, re.M)
        for word in line.split()
    }
    rooms = {
        path.stem
        for path in SOURCE.iterdir()
        if (path.is_dir() or path.suffix == ".py") and path.stem[0] != "_"
    }
    assert told == rooms


def test_files_that_texts_name_are_there() -> None:
    """Wherever a docstring, a comment or a page says `x.py`."""
    files = {f"/{path.relative_to(ROOT).as_posix()}" for path in ROOT.glob("[a-z]*/**/*.py")}
    invented = {"adversaries/gambler.py"}  # a page shows what it would be
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *SOURCE.rglob("*.py")]
    gone = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in (*pages, *(ROOT / "benchmarks").glob("*.py"))
        for name in re.findall(r"`([\w/.]+\.py)\b", page.read_text(encoding="utf-8"))
        if name not in invented and not any(file.endswith(f"/{name}") for file in files)
    ]
    assert gone == []


def test_what_benchmarks_and_scripts_import_of_the_house_is_there() -> None:
    """Nothing else runs them, and most import only where they need it."""
    for path in (*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "scripts").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sfumato"):
                module = import_module(node.module or "")
                for alias in node.names:
                    home = f"{node.module}.{alias.name}"
                    assert hasattr(module, alias.name) or find_spec(home), (path.name, home)


@pytest.mark.parametrize("name", write_docs.PAGES)
def test_pages_that_follow_from_the_code_are_what_it_says_now(name: str) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert page == write_docs.written(name), "run `make reference`"


SHOWN = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_COMMAND = re.compile(r"^(?: {4}|\$ )?(sfumato [a-z].*)$|`(sfumato [a-z][^`]*)`", re.MULTILINE)


def test_names_of_ours_that_pages_show_are_public() -> None:
    unknown = [
        f"{page.name}: sf.{name}"
        for page in SHOWN
        for name in re.findall(r"\bsf\.([A-Za-z_]\w*)", page.read_text(encoding="utf-8"))
        if name not in sfumato_package.__all__
    ]
    assert unknown == []


def test_commands_that_pages_show_exist_with_their_options() -> None:
    parser, unknown, commands = get_command(app), [], 0
    for page in SHOWN:
        for match in _COMMAND.finditer(page.read_text(encoding="utf-8").replace("\\\n", " ")):
            words = (match[1] or match[2]).split(" #")[0].split()[1:]
            command: Any = parser
            while words and words[0] in getattr(command, "commands", {}):
                command = command.commands[words.pop(0)]
            commands += 1
            known = {name for option in command.params for name in option.opts}
            known |= {name for option in command.params for name in option.secondary_opts}
            asked = [word.split("=")[0] for word in words if word.startswith("--")]
            if hasattr(command, "commands") and words and words[0].isalpha():
                asked = [words[0]]
            unknown += [
                f"{page.name}: {match[0].strip()}: {word}"
                for word in asked
                if word not in known | {"--help"}
            ]
    assert unknown == []
    assert commands > 150


@pytest.mark.parametrize(("module", "name"), STEPS)
def test_every_step_of_a_walk_is_there(module: str, name: str) -> None:
    body = ast.parse((SOURCE / module).read_text(encoding="utf-8")).body
    for part in name.split("."):
        [found] = [
            node
            for node in body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
        ]
        body = found.body


# -- the walks, compared with what happens --------------------------------------------------------


def walk(title: str) -> list[Step]:
    """What the page names under a heading, in its order, each once."""
    section = PAGE.split(f"### {title}")[1].split("\n### ")[0]
    return list(dict.fromkeys(_STEP.findall(section)))


class Watch:
    """Which functions of ours are entered, in which order, and how many calls are beneath each."""

    def __init__(self) -> None:
        self.entered: list[Step] = []
        self.beneath: Counter[Step] = Counter()
        self.from_elsewhere: set[Step] = set()
        self._open: list[Step] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if not file.startswith(str(SOURCE)) or event not in ("call", "return"):
            return
        if event == "return":
            if self._open:
                self._open.pop()
            return
        # What is made inside a function is part of it.
        name = frame.f_code.co_qualname.split(".<locals>")[0]
        step = Path(file).relative_to(SOURCE).as_posix(), name
        if step not in self.beneath:
            self.entered.append(step)
        if self._open and self._open[-1][0] != step[0]:
            self.from_elsewhere.add(step)
        self._open.append(step)
        self.beneath.update(set(self._open))

    def first(self, step: Step) -> int:
        """When a function was first entered; of a class, anything of it."""
        file, name = step
        for place, (where, what) in enumerate(self.entered):
            if where == file and (what == name or what.startswith(f"{name}.")):
                return place
        raise AssertionError(f"how-it-works.md names {file}::{name}, which is not entered")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("patients")
    chance = Random(1)
    choices = (("30", "31", "40", "41"), ("10115", "20095"), "FM", ("flu", "cold", "gout"))
    rows = [",".join(chance.choice(some) for some in choices) for _ in range(60)]
    (made / "patients.csv").write_text("\n".join(["age,zip,sex,disease", *rows, ""]))
    (made / "policy.toml").write_text(POLICY)
    return made


def watched(*words: object) -> Watch:
    sfumato(*words)  # what is imported on the way is no step of it
    watch = Watch()
    sys.setprofile(watch)
    try:
        ended = sfumato(*words)
    finally:
        sys.setprofile(None)
    assert ended.returncode in (0, 1), ended.stderr
    return watch


def test_an_audit_goes_the_way_that_the_page_tells(folder: Path) -> None:
    watch = watched("audit", folder / "patients.csv", "--policy", folder / "policy.toml")
    steps = walk("One audit")
    in_order = sorted(steps, key=watch.first)
    assert in_order == steps
    calls = max(watch.beneath.values())
    large = [step for step in watch.from_elsewhere if watch.beneath[step] > calls / 20]
    assert len(large) > 10
    assert set(large) <= set(steps)


def test_it_is_a_short_way() -> None:
    steps = walk("One audit")
    functions, files = len(steps), len({file for file, _ in steps})
    assert f"{functions} functions in {files} files" in PAGE
    assert functions <= 40
    assert files <= 25


def test_a_release_is_made_in_the_way_that_the_page_tells(folder: Path) -> None:
    words = ["anonymize", folder / "patients.csv", "--policy", folder / "policy.toml"]
    watch = watched(*words, "--out", folder / "out", "--force")
    steps = walk("One release")
    assert len(steps) > 10
    in_order = sorted(steps, key=watch.first)
    assert in_order == steps
