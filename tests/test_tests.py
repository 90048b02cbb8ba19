"""The tests' own house: what two test modules share stands in a module beside them."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent


def imported(path: Path) -> set[str]:
    """Every module that a file imports, and every name that it imports from one."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_no_test_module_imports_another() -> None:
    modules = {
        ".".join(("tests", *path.relative_to(TESTS).with_suffix("").parts))
        for path in TESTS.rglob("test_*.py")
    }
    assert len(modules) > 100
    for path in TESTS.rglob("*.py"):
        assert not imported(path) & modules, path.relative_to(TESTS)


# Folders that are about no single room: attacks, a browser, contracts of families,
# definitions by brute force, theorems of the papers.
ACROSS = {"attack", "browser", "contracts", "oracles", "theorems"}


def test_tests_stand_in_the_folder_of_the_room_that_they_test() -> None:
    rooms = TESTS.parent / "src" / "sfumato"
    for folder in {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}:
        room, module = rooms / folder / "__init__.py", rooms / f"{folder}.py"
        assert str(folder) in ACROSS or room.exists() or module.exists(), folder
