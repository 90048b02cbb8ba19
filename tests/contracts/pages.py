"""The code that a page of docs/ shows, as it stands there."""

from __future__ import annotations

import re
from textwrap import dedent

from tests.conftest import ROOT

_BLOCK = re.compile(r"^( *)```(\S+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str = "python") -> list[str]:
    """The blocks of a page in one language, in their order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [dedent(code) for _, kind, code in _BLOCK.findall(text) if kind == language]
