"""Check that rooms keep to themselves.

- A room imports only rooms above it, and only engines/ imports an engine.
- What crosses rooms says what it is: no `Any` in the signature of a function, or of a public method
  of a class, that another room imports. An array's own type parameter may be open.
- report/ is given results, never functions: nothing below it hands it one to call back.
- report/, workflow/, web/ and cli/ ask the contract of criteria, not which criterion it is: they
  import the base and the registry of criteria/, no criterion.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOMS = [
    "errors",
    "version",
    "progress",
    "notebook",
    "numbers",
    "compiled",
    "files",
    "schema",
    "engines",
    "counts",
    "perturbation",
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
    "web",
    "cli",
    "__main__",
]
ENGINES = {"duckdb", "pyspark"}
ASKS_THE_CONTRACT = {"report", "workflow", "web", "cli"}
CONTRACT = ["sfumato.criteria", "sfumato.criteria.base"]
ARRAYS = {"NDArray", "integer", "floating", "ndarray", "dtype"}
SOURCE = Path(__file__).parent.parent / "src" / "sfumato"

Module = tuple[str, ast.Module]  # where it is, and what it says
Modules = dict[str, Module]
Callable = ast.FunctionDef | ast.AsyncFunctionDef


def modules_of(source: Path) -> Modules:
    """Every module by its full name."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(("sfumato", *parts)).removesuffix(".__init__")
        where = f"src/sfumato/{path.relative_to(source).as_posix()}"
        found[name] = (where, ast.parse(path.read_text(encoding="utf-8")))
    return found


def room_of(module: str) -> str:
    """The room of a full name; empty for the package itself, which lists what is public."""
    return module.split(".")[1] if "." in module else ""


@cache
def imported(tree: ast.Module) -> list[tuple[int, str, str]]:
    """All that a module imports, lazily or not: the line, the module, the name (or nothing)."""
    found: list[tuple[int, str, str]] = []
    left: list[ast.AST] = [*tree.body]
    for node in left:  # statements only: most of a tree is expressions, and those import nothing
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [(node.lineno, node.module, alias.name) for alias in node.names]
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, part, [])
    return found


def wrong_imports(modules: Modules) -> Iterator[str]:
    for name, (where, tree) in modules.items():
        room = room_of(name)
        if not room:
            continue
        if room not in ROOMS:
            yield f"{where}: {room!r} is not a room; the rooms are {', '.join(ROOMS)}"
            continue
        for line, module, part in imported(tree):
            names = f"{module}.{part}".rstrip(".").split(".")
            if names[0] in ENGINES and room != "engines":
                yield f"{where}:{line}: only engines/ may import {names[0]}"
            if names[0] != "sfumato" or len(names) < 2:
                continue
            if names[1] not in ROOMS:
                yield f"{where}:{line}: import the room that defines {names[1]}, not the package"
            elif ROOMS.index(names[1]) > ROOMS.index(room):
                yield f"{where}:{line}: {room} must not import {names[1]}, a room below it"
            elif names[1] == "criteria" and room in ASKS_THE_CONTRACT and module not in CONTRACT:
                yield f"{where}:{line}: {room} asks the contract of criteria; do not import {part}"


def open_signatures(modules: Modules) -> Iterator[str]:
    """Functions that cross rooms and take or give `Any`."""
    crossing = {
        (module, part)
        for name, (_, tree) in modules.items()
        for _, module, part in imported(tree)
        if room_of(module) != room_of(name)
    }
    for name, (where, tree) in modules.items():
        for node in tree.body:
            if (name, getattr(node, "name", "")) not in crossing:
                continue
            for function in _functions(node):
                if told := [part for part, said in _annotations(function) if _is_open(said)]:
                    yield (
                        f"{where}:{function.lineno}: {function.name} crosses rooms with Any "
                        f"({', '.join(told)}); give it a type, or a Protocol"
                    )


def _functions(node: ast.stmt) -> Iterator[Callable]:
    if isinstance(node, Callable):
        yield node
    elif isinstance(node, ast.ClassDef):
        for part in node.body:
            if isinstance(part, Callable) and (part.name == "__init__" or part.name[0] != "_"):
                yield part


def _annotations(function: Callable) -> Iterator[tuple[str, ast.expr | None]]:
    given = function.args
    for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if one is not None:
            yield one.arg, one.annotation
    yield "what it returns", function.returns


def _is_open(said: ast.AST | None) -> bool:
    if said is None:
        return False
    if isinstance(said, ast.Subscript) and ast.unparse(said.value).split(".")[-1] in ARRAYS:
        return False
    if isinstance(said, ast.Name | ast.Attribute) and ast.unparse(said).split(".")[-1] == "Any":
        return True
    return any(_is_open(part) for part in ast.iter_child_nodes(said))


def callbacks(modules: Modules) -> Iterator[str]:
    """Calls from below that hand report/ a function of their own."""
    functions = {
        (name, node.name)
        for name, (_, tree) in modules.items()
        for node in tree.body
        if isinstance(node, Callable)
    }
    below = ROOMS[ROOMS.index("report") + 1 :]
    for name, (where, tree) in modules.items():
        if room_of(name) not in below:
            continue
        given = [(module, part) for _, module, part in imported(tree)]
        of_report = {part for module, part in given if room_of(module) == "report"}
        own = {
            part
            for module, part in given
            if room_of(module) in below and (module, part) in functions
        }
        own |= {part for module, part in functions if module == name}
        for node in ast.walk(tree) if of_report else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[0] in of_report:
                for argument in (*node.args, *(one.value for one in node.keywords)):
                    if _is_function(argument, own):
                        yield (
                            f"{where}:{argument.lineno}: {ast.unparse(node.func)} of report/ is "
                            "handed a function to call back; give it the result, or an Inquiry"
                        )


def _is_function(argument: ast.expr, own: set[str]) -> bool:
    if isinstance(argument, ast.Lambda) or (isinstance(argument, ast.Name) and argument.id in own):
        return True
    return isinstance(argument, ast.Call) and ast.unparse(argument.func).endswith("partial")


def problems(source: Path = SOURCE) -> list[str]:
    modules = modules_of(source)
    return [*wrong_imports(modules), *open_signatures(modules), *callbacks(modules)]


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "rooms: every import points upwards, all that crosses says its type")
    sys.exit(bool(found))
