"""Check that a module is one idea: at most 500 lines, and not a shard of its only reader.

A module that exactly one other imports belongs into it, unless its docstring says why it stands
apart, in a line that begins with "Stands apart:". What a registry (its own package's
`__init__.py`), the public names or the console list by name has more readers than imports show.
Who has more readers says no such thing: a reason that nobody asks for is one that nobody checks.

The name of a class or of a type that is written out is given once: who reads it knows which is
meant.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

LIMIT = 500
REASON = "Stands apart:"
SOURCE = Path(__file__).parent.parent / "src"


def name_of(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def statements(tree: ast.Module) -> list[ast.AST]:
    """Every statement, however deep; most of a tree is expressions, where nobody need look."""
    found: list[ast.AST] = [*tree.body]
    for node in found:
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            found += getattr(node, part, [])
    return found


def readers(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Who imports each module, lazily or not."""
    found: dict[str, set[str]] = {name: set() for name in trees}
    for reader, tree in trees.items():
        for node in statements(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    found.get(whole if whole in trees else node.module, set()).add(reader)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    found.get(alias.name, set()).add(reader)
    return found


def found_by_name(name: str, path: Path, public: str) -> bool:
    """Whether others than its importers find it: packages, commands, homes of public names."""
    return (
        path.name == "__init__.py"
        or name.startswith("sfumato.cli.")
        or f"from {name} import" in public
    )


def named_type(node: ast.stmt) -> str:
    """The name of a class, or of a type that a module writes out; nothing of other statements."""
    if isinstance(node, ast.ClassDef):
        return node.name
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return ""
    name = node.targets[0].id
    written_out = isinstance(node.value, ast.Subscript | ast.BinOp | ast.Name)
    return name if written_out and re.fullmatch(r"[A-Z]\w*[a-z]\w*", name) else ""


def named_twice(trees: dict[str, ast.Module]) -> list[str]:
    """Names of classes and of types written out that stand for more than one thing."""
    homes: dict[str, list[str]] = {}
    for module, tree in trees.items():
        for node in statements(tree):
            if isinstance(node, ast.stmt) and (name := named_type(node)):
                homes.setdefault(name, []).append(f"{module}:{node.lineno}")
    return [
        f"{' and '.join(places)}: two types are called {name}; say in each name what it is, or "
        "write it once"
        for name, places in sorted(homes.items())
        if len(places) > 1
    ]


def problems(source: Path = SOURCE) -> list[str]:
    paths = {name_of(path, source): path for path in sorted(source.rglob("*.py"))}
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in paths.items()}
    stub = paths["sfumato"].with_suffix(".pyi")  # the public names, each with its home
    public = stub.read_text(encoding="utf-8") if stub.is_file() else ""
    imported_by = readers(trees)
    told = named_twice(trees)
    for name, path in paths.items():
        where = path.relative_to(source.parent)
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LIMIT:
            told.append(f"{where}: {lines} lines, more than {LIMIT}; split it by idea")
        by = imported_by[name]
        registered = name.rpartition(".")[0] in by  # its package's own list of members
        shard = len(by) == 1 and not registered and not found_by_name(name, path, public)
        says_why = REASON in (ast.get_docstring(trees[name]) or "")
        if shard and not says_why:
            told.append(
                f"{where}: only {next(iter(by))} imports it; merge them, or say in its docstring "
                f'why it stands apart ("{REASON} ...")'
            )
        if says_why and not shard:
            told.append(f'{where}: it has other readers; take "{REASON}" out of its docstring')
    return told


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "modules: each is one idea, each class has a name of its own")
    sys.exit(bool(found))
