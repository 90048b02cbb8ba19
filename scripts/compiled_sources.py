"""Print the files that decide what compiled code does: `make` keeps a cache for each state of them.

Numba looks at the file of a compiled function only, not at those whose functions it calls or whose
constants it holds. So these are all files that compile something, and the homes of the constants
(names in capitals, enumerations) that they import.
"""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"


def home_of(module: str, source: Path) -> Path:
    path = source.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def constants_from(path: Path, source: Path) -> set[Path]:
    """Files whose constants this one imports."""
    homes = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sfumato"):
            home = home_of(str(node.module), source)
            text = home.read_text(encoding="utf-8")
            if any(
                alias.name.isupper() or f"class {alias.name}(IntEnum" in text
                for alias in node.names
            ):
                homes.add(home)
    return homes


def compiled_sources(source: Path = SOURCE) -> list[Path]:
    waiting = [
        path
        for path in source.rglob("*.py")
        if "from sfumato.compiled import" in path.read_text(encoding="utf-8")
    ]
    files = {home_of("sfumato.compiled", source)}
    while waiting:
        path = waiting.pop()
        if path not in files:
            files.add(path)
            waiting += constants_from(path, source)
    return sorted(files)


if __name__ == "__main__":
    print("\n".join(map(str, compiled_sources())))
