"""The code that a page of docs/ shows, as it stands there."""

from __future__ import annotations

import re
import sys
from textwrap import dedent
from types import ModuleType

import pytest

from tests.conftest import ROOT

_BLOCK = re.compile(r"^( *)```(\S+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str = "python") -> list[str]:
    """The blocks of a page in one language, in their order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [dedent(code) for _, kind, code in _BLOCK.findall(text) if kind == language]


def module(name: str, code: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Code of a page as the module that it would be, as long as a test runs."""
    made = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, made)
    exec(compile(code, name, "exec", dont_inherit=True), made.__dict__)
    return made
