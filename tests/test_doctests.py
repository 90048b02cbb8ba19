"""What docstrings show is what happens.

Found by their text: pytest's own search asks every object of every module, in each of its workers.
"""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

from tests.conftest import ROOT

SOURCE = ROOT / "src"
SHOWING = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", SHOWING)
def test_examples_of_docstrings_are_true(module: str) -> None:
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
