"""Trees of values that somebody edits: each value with its labels, from fine to coarse.

An edit gives a new tree or one line that says why it cannot be. Whatever is done, every value stays
in the tree once, each group has one parent, and a label means one set of values wherever it stands:
only so can whoever reads a release tell what a cell says.

Stands apart: what an edit does to a tree needs neither a page nor a table.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sfumato.errors import InputError, quoted
from sfumato.schema.hierarchy import Levels
from sfumato.schema.recipes import Taxonomy
from sfumato.schema.region import MISSING

MOST_VALUES = 20_000  # of a tree that is edited value by value
MOST_LEVELS = 10
_LONGEST = 200  # characters of a label


@dataclass(frozen=True)
class Tree:
    """The values of a column, the rows of each, and the labels of each between it and `*`."""

    column: str
    values: tuple[str, ...]
    rows: tuple[int, ...]
    paths: tuple[tuple[str, ...], ...]

    @property
    def height(self) -> int:
        """How many levels there are between the values and `*`."""
        return len(self.paths[0]) if self.paths else 0

    def labels_at(self, level: int) -> tuple[str, ...]:
        """The label of each value on a level: 0 is the value itself, 1 the finest group."""
        return self._labels[level]

    @cached_property
    def _labels(self) -> list[tuple[str, ...]]:
        upper = zip(*self.paths, strict=True) if self.height else ()
        return [self.values, *upper]

    def groups_at(self, level: int) -> dict[str, list[int]]:
        """The groups of a level, in the order of their first values, and who is in each."""
        groups: dict[str, list[int]] = {}
        for place, label in enumerate(self.labels_at(level)):
            groups.setdefault(label, []).append(place)
        return groups

    def to_csv(self) -> str:
        """The lines `value;label;...;*` that ARX reads, and `sf.taxonomy`."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=";", lineterminator="\n")
        for value, path in zip(self.values, self.paths, strict=True):
            if value != value.strip() or not value.isprintable():
                raise InputError(
                    f"column {self.column!r}: a value begins or ends with a space or has a line "
                    "break, which a file of labels cannot say; correct the data"
                )
            writer.writerow([value, *path, "*"])
        return text.getvalue()

    def taxonomy(self) -> Taxonomy:
        """The hierarchy that this tree is."""
        return Taxonomy(
            {value: (*path, "*") for value, path in zip(self.values, self.paths, strict=True)}
        )


def tree_of(levels: Levels, rows: Sequence[int]) -> Tree:
    """The tree of a column's values; missing values and codes among numbers are in none."""
    domain = levels.domain
    size = domain.placed
    if size > MOST_VALUES:
        raise InputError(
            f"column {domain.name!r} has {size:,} values, too many to sort one by one; choose a "
            "rule instead"
        )
    inner = levels.levels[1:-1]
    labels = [level.labels for level in inner]
    paths = tuple(
        tuple(labels[nth][level.codes[code]] for nth, level in enumerate(inner))
        for code in range(size)
    )
    return Tree(domain.name, domain.labels[:size], tuple(int(n) for n in rows[:size]), paths)


# -- edits -----------------------------------------------------------------------------------------


def move(tree: Tree, level: int, names: Sequence[str], into: str) -> Tree:
    """Put values (level 1), or groups of the level below, into a group of a level.

    A group that is not there yet is made where the first of them was.
    """
    _check_level(tree, level)
    into = checked_label(into)
    below = tree.groups_at(level - 1)
    unknown = [name for name in names if name not in below]
    if unknown or not names:
        raise InputError(
            "choose what to move first"
            if not names
            else f"{quoted(unknown[0])} is not there any more; look at the tree again"
        )
    there = tree.groups_at(level).get(into)
    first = below[names[0]][0] if there is None else there[0]
    upper = (into, *tree.paths[first][level:])
    paths = list(tree.paths)
    for name in names:
        for place in below[name]:
            paths[place] = (*paths[place][: level - 1], *upper)
    return checked(replace(tree, paths=tuple(paths)))


def rename(tree: Tree, level: int, group: str, name: str) -> Tree:
    """Call a group otherwise, on every level where it is the same group."""
    _check_level(tree, level)
    name = checked_label(name)
    members = _members(tree, level, group)
    if name == group:
        return tree
    paths = [list(path) for path in tree.paths]
    for depth in range(1, tree.height + 1):
        groups = tree.groups_at(depth)
        if groups.get(group) != members:
            continue
        if name in groups:
            raise InputError(
                f"{quoted(name)} is another group of level {depth}; move the values into it instead"
            )
        for place in members:
            paths[place][depth - 1] = name
    return checked(replace(tree, paths=tuple(map(tuple, paths))))


def dissolve(tree: Tree, level: int, group: str) -> Tree:
    """Take a group away: what was in it stands for itself on this level."""
    _check_level(tree, level)
    members = _members(tree, level, group)
    below = tree.labels_at(level - 1)
    if {below[place] for place in members} == {group}:
        raise InputError(f"{quoted(group)} stands for itself already; there is no group to remove")
    paths = [list(path) for path in tree.paths]
    for place in members:
        paths[place][level - 1] = below[place]
    return checked(replace(tree, paths=tuple(map(tuple, paths))))


def add_level(tree: Tree, above: int) -> Tree:
    """Add a level above one (0: the values), on which everything still stands for itself."""
    if not 0 <= above <= tree.height:
        raise InputError(f"level {above} is not there; the tree has {tree.height}")
    if tree.height >= MOST_LEVELS:
        raise InputError(f"a tree has at most {MOST_LEVELS} levels")
    labels = tree.labels_at(above)
    return replace(
        tree,
        paths=tuple(
            (*path[:above], label, *path[above:])
            for path, label in zip(tree.paths, labels, strict=True)
        ),
    )


def remove_level(tree: Tree, level: int) -> Tree:
    """Take a level away with its groups."""
    _check_level(tree, level)
    return checked(
        replace(tree, paths=tuple((*path[: level - 1], *path[level:]) for path in tree.paths))
    )


EDITS: dict[str, Callable[[Tree, int, Sequence[str], str], Tree]] = {
    "move": move,
    "rename": lambda tree, level, names, label: rename(tree, level, _only(names), label),
    "dissolve": lambda tree, level, names, _: dissolve(tree, level, _only(names)),
    "add-level": lambda tree, level, *_: add_level(tree, level),
    "remove-level": lambda tree, level, *_: remove_level(tree, level),
}


def _only(names: Sequence[str]) -> str:
    if len(names) != 1:
        raise InputError("choose one group")
    return names[0]


def _check_level(tree: Tree, level: int) -> None:
    if not 1 <= level <= tree.height:
        raise InputError(
            f"level {level} is not there; the tree has {tree.height}: add a level first"
            if tree.height == 0
            else f"level {level} is not there; the tree has the levels 1 to {tree.height}"
        )


def _members(tree: Tree, level: int, group: str) -> list[int]:
    members = tree.groups_at(level).get(group)
    if members is None:
        raise InputError(f"{quoted(group)} is no group of level {level}; look at the tree again")
    return members


def checked_label(label: str) -> str:
    """A label that a file can hold and a reader tell from others."""
    plain = label.strip()
    if not plain:
        raise InputError("a group needs a name")
    if plain in ("*", MISSING):
        raise InputError(f"{plain} has a meaning of its own in a release; give another name")
    if not plain.isprintable():
        raise InputError("a name has a line break or an invisible sign; leave it out")
    if len(plain) > _LONGEST:
        raise InputError(f"a name has {len(plain)} characters; use at most {_LONGEST}")
    return plain


def checked(tree: Tree) -> Tree:
    """The tree, if each group has one parent and each label means one set of values."""
    meaning: dict[str, tuple[int, frozenset[int]]] = {}
    for level in range(tree.height + 1):
        for label, places in tree.groups_at(level).items():
            members = frozenset(places)
            known = meaning.setdefault(label, (level, members))
            if known[1] == members:
                continue
            if known[0] == 0:
                raise InputError(
                    f"{quoted(label)} is a value, so a group of several cannot be called so too; "
                    "give the group a name of its own"
                )
            raise InputError(
                f"{quoted(label)} would mean other values on level {level} than on level "
                f"{known[0]}; rename one of them first"
            )
    for level in range(1, tree.height):
        above = tree.labels_at(level + 1)
        for label, places in tree.groups_at(level).items():
            if len({above[place] for place in places}) > 1:
                raise InputError(
                    f"{quoted(label)} of level {level} would be in two groups of level {level + 1}"
                )
    return tree
