"""A page of docs/ followed as a reader would: its files written, its commands and Python run.

What blocks with a fence mean:

- with a title: a file of that name; of one in docs/tutorials/files, the very text;
- `sh`: commands, one after another. Each ends with exit code 0, or with what the comment behind it
  says (`# exit code 1`). `sfumato` runs in this process, everything else by bash; what a script
  starts of ours ends as it did when the page ran it before;
- `python`: run, in one namespace a page;
- `text` right below one of those two: what it prints.

A block below `<!-- not run: why -->` is only shown; indented blocks are, too.

`python -m tests.walkthrough` writes into the pages what is printed now.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from tests.program import sfumato

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    [*(DOCS / "tutorials").glob("*.md"), *(DOCS / "papers").glob("*.md")]
    + [page for name in ("coming-from", "faq") if (page := DOCS / f"{name}.md").exists()]
)
_FENCE = re.compile(
    r'^(?P<skip><!-- not run: [^\n]*-->\n)?```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n'
    r"(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_EXIT = re.compile(r"# exit code (\d)")
_PIPED = re.compile(r"(sfumato .*?)( (?:\||>) .*)?")  # what it prints goes on, or to a file


@dataclass(frozen=True)
class Shown:
    """What a page says that is printed, where it stands, and what is printed."""

    page: Path
    place: slice
    said: str
    printed: str

    def __str__(self) -> str:
        line = self.page.read_text(encoding="utf-8").count("\n", 0, self.place.start) + 1
        return f"{self.page.relative_to(ROOT)}, line {line}"


def follow(page: Path, folder: Path) -> list[Shown]:
    """Do in this folder what a page says; what it shows of that, beside what was printed."""
    text, printed, after = page.read_text(encoding="utf-8"), "", -1
    namespace: dict[str, Any] = {}
    codes: dict[str, int] = {}
    shown: list[Shown] = []
    with chdir(folder), mock.patch.dict(os.environ, COLUMNS="80"):
        for block in _FENCE.finditer(text):
            language, title, content = block["language"], block["title"], block["text"]
            if block["skip"]:
                continue
            if title:
                _write(Path(title), content)
            elif language == "text" and text[max(after, 0) : block.start()].strip() == "":
                place = slice(*block.span("text"))
                shown.append(Shown(page, place, content, printed))
            elif language == "sh":
                commands = content.replace("\\\n", " ").splitlines()
                printed = _stripped("".join(_command(line, codes) for line in commands))
            elif language == "python":
                printed = _stripped(_python(content, f"{page.name}: {block.start()}", namespace))
            after = block.end() if language in ("sh", "python") and not title else -1
    return shown


def _write(path: Path, content: str) -> None:
    ours = DOCS / "tutorials" / "files" / path
    if ours.exists():
        assert ours.read_text(encoding="utf-8") == content, f"{path} is not what the page shows"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def _command(line: str, codes: dict[str, int]) -> str:
    expected = int(stated[1]) if (stated := _EXIT.search(line)) else 0
    piped = _PIPED.fullmatch(line.split("  #")[0].strip())
    if piped is None:
        ended = _bash(line, codes)
    else:
        words = shlex.split(piped[1])[1:]
        ended = sfumato(*words)
        codes[" ".join(words)] = ended.returncode
        if piped[2]:
            passed_on = _bash(f"cat{piped[2]}", codes, ended.stdout)
            assert passed_on.returncode == 0, f"{line} prints nothing"
            ended.stdout = passed_on.stdout
    assert ended.returncode == expected, (line, ended.returncode, ended.stdout + ended.stderr)
    return ended.stdout + ended.stderr


def _bash(line: str, codes: dict[str, int], given: str = "") -> subprocess.CompletedProcess[str]:
    as_before = [f"{shlex.quote(words)}) exit {code};;" for words, code in codes.items()]
    ours = Path(".bin/sfumato")
    ours.parent.mkdir(exist_ok=True)
    ours.write_text("\n".join(["#!/bin/sh", 'case "$*" in', *as_before, "esac", "exit 99", ""]))
    ours.chmod(0o755)
    return subprocess.run(
        ["bash", "-c", line],
        env={
            **os.environ,
            "LC_ALL": "C",
            "PATH": f"{ours.parent.resolve()}{os.pathsep}{os.environ['PATH']}",
        },
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def _python(code: str, where: str, namespace: dict[str, Any]) -> str:
    out = StringIO()
    with redirect_stdout(out):
        exec(compile(code, where, "exec", dont_inherit=True), namespace)
    return out.getvalue()


def _stripped(printed: str) -> str:
    lines = [line.rstrip() for line in printed.splitlines()]
    return "".join(f"{line}\n" for line in lines).strip("\n") + "\n"


def rewrite(page: Path) -> None:
    """Write into a page what is printed now."""
    with TemporaryDirectory() as folder:
        shown = follow(page, Path(folder))
    text = page.read_text(encoding="utf-8")
    for block in reversed(shown):
        text = text[: block.place.start] + block.printed + text[block.place.stop :]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for each in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        rewrite(each)
