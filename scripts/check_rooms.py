"""Check that a room imports only rooms above it, and that only engines/ imports an engine."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOMS = [
    "errors",
    "progress",
    "numbers",
    "files",
    "schema",
    "engines",
    "counts",
    "table",
    "release",
    "adversaries",
    "ledger",
    "criteria",
    "utility",
    "anonymizers",
    "policy",
    "report",
    "datasets",
    "workflow",
    "papers",
    "cli",
]
ENGINES = {"duckdb", "pyspark"}
SOURCE = Path(__file__).parent.parent / "src" / "sfumato"


def imported(path: Path) -> list[tuple[int, str]]:
    """Every module a file imports, lazily or not, with the line."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def problems() -> list[str]:
    told = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        room = parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        if room not in ROOMS:
            told.append(f"{path.name}: {room!r} is not a room; the rooms are {', '.join(ROOMS)}")
            continue
        for line, module in imported(path):
            names = module.split(".")
            where = f"src/sfumato/{'/'.join(parts)}:{line}"
            if names[0] in ENGINES and room != "engines":
                told.append(f"{where}: only engines/ may import {names[0]}")
            if names[0] != "sfumato" or len(names) < 2:
                continue
            if names[1] not in ROOMS:
                told.append(f"{where}: import the room that defines {names[1]}, not the package")
            elif ROOMS.index(names[1]) > ROOMS.index(room):
                told.append(f"{where}: {room} must not import {names[1]}, a room below it")
    return told


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "rooms: every import points upwards")
    sys.exit(bool(found))
