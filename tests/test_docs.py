"""What the documentation says of the house is so."""

from __future__ import annotations

import ast
import re

import pytest

from tests.conftest import ROOT

SOURCE = ROOT / "src" / "sfumato"
PAGE = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
STEPS = sorted(set(re.findall(r"`([a-z_/]+\.py)::([A-Za-z_.]+)`", PAGE)))


def test_the_tree_has_every_room() -> None:
    tree = PAGE.split("## The house")[1].split("###")[0]
    told = {
        word.strip("/,")
        for line in re.findall(r"^    (\S.*?)  ", tree, re.M)
        for word in line.split()
    }
    rooms = {
        path.stem for path in SOURCE.iterdir() if path.stem != "__init__" and path.stem[0] != "_"
    }
    assert told == rooms


def test_a_walk_names_functions_in_order() -> None:
    assert len(STEPS) > 30


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
