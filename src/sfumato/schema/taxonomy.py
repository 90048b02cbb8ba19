"""Hierarchies by list: a taxonomy gives every value its path of labels towards `*`."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from sfumato.errors import SchemaError, name_some, quoted
from sfumato.no_file import other_than_file
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.region import Anything, Region, Value, ValueSet, text_of


@dataclass(frozen=True)
class Taxonomy(Hierarchy):
    """A tree of labels given value by value: the path from each value towards `*`."""

    kind: ClassVar[str] = "taxonomy"
    paths: Mapping[str, tuple[str, ...]]
    source: str = "taxonomy"

    def __post_init__(self) -> None:
        depths = {len(path) for path in self.paths.values()}
        if not self.paths:
            raise SchemaError(f"{self.source} is empty; give a line 'value;label;...' per value")
        if len(depths) > 1:
            usual = max(depths, key=[len(path) for path in self.paths.values()].count)
            odd = [leaf for leaf, path in self.paths.items() if len(path) != usual]
            raise SchemaError(
                f"{self.source}: paths differ in length (most have {usual} labels, not so "
                f"{name_some(odd)}); repeat a label to fill a level"
            )

        ends = [path[-1] == "*" for path in self.paths.values() if path]
        if any("*" in path[:-1] for path in self.paths.values()) or len(set(ends)) > 1:
            raise SchemaError(
                f"{self.source}: '*' may only stand as the last label, and then of every value"
            )

    def __hash__(self) -> int:
        return hash((self.source, tuple(self.paths.items())))

    def leaves(self) -> Sequence[str]:
        return list(self.paths)

    def regions(self, domain: Domain) -> list[list[Region]]:
        values = [value for value in domain.values if value is not None]
        missing = [text_of(value) for value in values if text_of(value) not in self.paths]
        if missing:
            raise SchemaError(
                f"column {domain.name!r}: {len(missing)} value(s) are not covered by its "
                f"hierarchy: {name_some(sorted(missing))}; add a line for each, or correct the data"
            )
        depth = len(next(iter(self.paths.values())))
        levels: list[list[Region]] = []
        for level in range(depth):
            members: dict[str, set[Value]] = {}
            for value in values:
                members.setdefault(self.paths[text_of(value)][level], set()).add(value)
            sets = {label: self._labelled(label, found) for label, found in members.items()}
            levels.append([sets[self.paths[text_of(value)][level]] for value in values])
        return levels

    def _labelled(self, label: str, found: set[Value]) -> Region:
        return Anything() if label == "*" else ValueSet(frozenset(found), label)


def taxonomy(tree: Mapping[str, str | Sequence[str]] | str | Path) -> Taxonomy:
    """From a file of `value;level1;level2...` lines (`;` or `,`), or a mapping.

    A mapping gives each value its labels from fine to coarse, or each value and label its parent.
    """
    if isinstance(tree, str | Path):
        return _read_taxonomy(Path(tree))
    if not isinstance(tree, Mapping):
        raise SchemaError(
            f"taxonomy = {quoted(tree)} is not allowed; give a mapping from values to labels, or "
            "a file"
        )
    paths: dict[str, tuple[str, ...]] = {}
    for leaf, path in tree.items():
        if not isinstance(path, str | Sequence):
            raise SchemaError(
                f"taxonomy: {quoted(leaf)} has {quoted(path)}; give its label, or its labels from "
                "fine to coarse"
            )
    parents = {text_of(child) for child in tree}
    labels = {text_of(label) for label in tree.values() if isinstance(label, str)}
    for leaf, path in tree.items():
        if isinstance(path, str):
            if text_of(leaf) in labels:
                continue  # an inner label, not a value
            chain = [path]
            while chain[-1] in parents and len(chain) <= len(parents):
                chain.append(text_of(tree[chain[-1]]))
            if len(chain) > len(parents):
                raise SchemaError(f"taxonomy: {chain[0]!r} is its own ancestor; break the circle")
            paths[text_of(leaf)] = tuple(chain)
        else:
            paths[text_of(leaf)] = tuple(text_of(label) for label in path)
    return Taxonomy(paths)


def _read_taxonomy(path: Path) -> Taxonomy:
    where = f"hierarchy file {quoted(path.name)}"
    if problem := "is a folder, not a file" if path.is_dir() else other_than_file(path):
        raise SchemaError(f"{where} {problem}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(f"{where} does not exist in {str(path.parent)!r}") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{where} is not UTF-8 text; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        raise SchemaError(f"{where} cannot be read: {type(error).__name__}") from None
    lines = [line for line in text.splitlines() if line.strip()]
    delimiter = ";" if any(";" in line for line in lines) else ","
    paths: dict[str, tuple[str, ...]] = {}
    for number, row in enumerate(csv.reader(lines, delimiter=delimiter), start=1):
        leaf, *labels = (cell.strip() for cell in row)
        if leaf in paths and paths[leaf] != tuple(labels):
            raise SchemaError(f"{where}, line {number}: value {leaf!r} stands there twice")
        paths[leaf] = tuple(labels)
    return Taxonomy(paths, where)
