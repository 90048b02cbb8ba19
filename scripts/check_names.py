"""Check that names say what they hold: none is a pronoun, or a word that fits whatever was at hand.

A variable, a parameter, an attribute, a function or a property of such a name is understood by
whoever has just read where it comes from, and by nobody else. `other`, `others`, `both`, `some` and
`same` are left to judgement: what compares two of a kind, as `__eq__` does, has no better word.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
# They point at something, and a reader has to find out at what.
PRONOUNS = (
    "it its this that these those they them their theirs he him his she her hers mine ours yours "
    "who whom whose what which one ones each every"
)
# What was done to something, or how it compares: not what it is.
EMPTY = "told found held shown stated alike usual beyond masses thing things stuff"
WORDS = frozenset([*PRONOUNS.split(), *EMPTY.split()])


def bound(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The names that a node gives to something, with their lines."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield node.lineno, name
        case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield node.lineno, name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield node.lineno, name
        case ast.ExceptHandler(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield node.lineno, name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            for alias in aliases:
                if alias.asname is not None:
                    yield alias.lineno, alias.asname


def problems(source: Path = SOURCE) -> list[str]:
    complaints = []
    for path in sorted(source.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = sorted({place for node in ast.walk(tree) for place in bound(node)})
        complaints += [
            f"{path.relative_to(source.parent)}:{line}: {name!r} says nothing of what it holds; "
            "name the thing"
            for line, name in names
            if name.strip("_").lower() in WORDS
        ]
    return complaints


if __name__ == "__main__":
    complaints = problems()
    print("\n".join(complaints) or "names: each says what it holds")
    sys.exit(bool(complaints))
