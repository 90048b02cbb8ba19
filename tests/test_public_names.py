"""The public names: one table, and what type checkers are told is the same."""

from __future__ import annotations

import ast
import inspect

import sfumato as sf


def test_type_checkers_are_told_the_names_of_the_table() -> None:
    tree = ast.parse(inspect.getsource(sf))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    told = {
        (node.module, name.name, name.asname)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert told == {(home, name, name) for name, home in sf._HOME_OF.items()}


def test_every_public_name_is_there() -> None:
    assert set(sf.__all__) <= set(dir(sf))
    for name in sf.__all__:
        assert getattr(sf, name).__name__ == name
