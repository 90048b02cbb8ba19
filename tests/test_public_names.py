"""The public names: one list, which type checkers and `import sfumato` both read."""

from __future__ import annotations

import ast
from pathlib import Path

import sfumato as sf


def test_the_list_is_read_whole() -> None:
    """As Python reads a stub, whatever a formatter makes of its lines."""
    stub = Path(sf.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    listed = [
        (name.asname, name.name, node.module)
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    ]
    assert listed == [(name, name, home) for name, home in sf._HOME_OF.items()]
    assert len({name for name, _, _ in listed}) == len(listed) == len(sf.__all__)


def test_every_public_name_is_there() -> None:
    assert set(sf.__all__) <= set(dir(sf))
    for name in sf.__all__:
        assert getattr(sf, name).__name__ == name


def test_type_checkers_read_the_types() -> None:
    """Of an installed package only where it says that it has them."""
    assert Path(sf.__file__).with_name("py.typed").exists()
