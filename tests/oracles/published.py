"""A published file as anybody reads it: rows of cells, what each cell allows, and who may be where.

Nothing of sfumato is imported: csv, a parser of cells of its own, and counting. `placements` counts
every way to put people into groups in which the file shows them; it is slow, for tables of few.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

Person = Mapping[str, object]


@dataclass(frozen=True)
class Shown:
    """One group: what it shows of quasi-identifiers, and its people's sensitive values."""

    cells: tuple[str, ...]
    people: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.people)

    def counts(self, attribute: int = 0) -> Counter[str]:
        return Counter(values[attribute] for values in self.people)


def read_groups(
    folder: Path, quasi: Sequence[str], sensitive: Sequence[str] = ("ill",)
) -> list[Shown]:
    """The groups of the folder that was handed out: rows that show the same."""
    with (folder / "public" / "data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for row in rows:
        cells = tuple(row[name] for name in quasi)
        found.setdefault(cells, []).append(tuple(row[name] for name in sensitive))
    return [Shown(cells, tuple(people)) for cells, people in found.items()]


def allows(cell: str, value: object) -> bool:
    """Whether a cell may stand for a value: itself, `*`, `{a, b}`, `[low, high)`, `>=low`, `<high`;
    `... or (missing)`, or an empty cell, for somebody who has none."""
    if cell == "*":
        return True
    if value is None:
        return cell == "" or cell.endswith(" or (missing)")
    cell = cell.removesuffix(" or (missing)")
    if cell.startswith("{"):
        return str(value) in cell[1:-1].split(", ")
    if cell.startswith(">="):
        return float(cell[2:]) <= float(str(value))
    if cell.startswith("<"):
        return float(str(value)) < float(cell[1:])
    if cell.startswith("["):
        low, high = cell[1:-1].split(", ")
        return float(low) <= float(str(value)) < float(high)
    return cell == str(value)


def fitting(groups: Sequence[Shown], quasi: Sequence[str], person: Person) -> list[int]:
    """The groups that she may be in."""
    return [
        place
        for place, group in enumerate(groups)
        if all(allows(cell, person[name]) for cell, name in zip(group.cells, quasi, strict=True))
    ]


def placements(
    sizes: Sequence[int], fits: Sequence[Sequence[int]], *, sampled: bool = False
) -> list[list[Fraction]]:
    """Each person's chance of being in each group, all ways to place people being alike.

    Groups are filled; `sampled`: people may be in none.
    """

    @cache
    def ways(person: int, room: tuple[int, ...], fixed: tuple[int, int]) -> int:
        if person == len(fits):
            return int(not any(room))
        places = [fixed[1]] if person == fixed[0] else list(fits[person])
        total = ways(person + 1, room, fixed) if sampled and person != fixed[0] else 0
        for place in places:
            if room[place]:
                left = (*room[:place], room[place] - 1, *room[place + 1 :])
                total += ways(person + 1, left, fixed)
        return total

    room = tuple(sizes)
    everything = ways(0, room, (-1, -1))
    found = []
    for person, own in enumerate(fits):
        chances = [Fraction(0)] * len(sizes)
        for place in own:
            chances[place] = Fraction(ways(0, room, (person, place)), everything)
        found.append(chances)
    return found


def all_placements(
    sizes: Sequence[int], fits: Sequence[Sequence[int]]
) -> Iterator[tuple[int, ...]]:
    """Every way to put everybody into a group she fits, the groups filled."""

    def fill(done: tuple[int, ...], room: list[int]) -> Iterator[tuple[int, ...]]:
        if len(done) == len(fits):
            yield done
            return
        for place in fits[len(done)]:
            if room[place]:
                room[place] -= 1
                yield from fill((*done, place), room)
                room[place] += 1

    yield from fill((), list(sizes))
