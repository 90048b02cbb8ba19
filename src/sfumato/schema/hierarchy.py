"""Generalization hierarchies: how a column's values may be coarsened, level by level.

A `Hierarchy` is a recipe that knows nothing of a particular file. Bound to a domain it becomes
`Levels`: for each level, which label every value of the domain gets. Level 0 is the value itself,
the last level is the single label `*`. Binding validates what every later search relies on: each
value has a label on each level, and levels are nested (values once together stay together), so
that groups of a coarser release are unions of groups of a finer one.

NULL and special codes have no place in intervals or masks: each stays itself on every level below
`*`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from sfumato.errors import SchemaError, name_some
from sfumato.numbers import Codes
from sfumato.schema.domain import Domain
from sfumato.schema.region import Anything, Coverage, Region, Value, ValueSet, cover


@dataclass(frozen=True)
class Level:
    """One level: the label index of each domain value, and what each label says."""

    codes: Codes
    regions: tuple[Region, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(region.text for region in self.regions)


@dataclass(frozen=True)
class LevelRange:
    """The levels that limits allow (`schema/limits.py`).

    `freely`: no level is meant, only that the column is never published as all of its values.
    """

    finest: int
    coarsest: int
    freely: bool = False


NodeLevels = tuple[int, ...]  # a level of each column: a node of the lattice


@dataclass(frozen=True)
class Levels:
    """A hierarchy bound to a domain, finest level first, `*` last; and which of them are allowed.

    Without limits `allowed` is None.
    """

    domain: Domain
    levels: tuple[Level, ...]
    allowed: LevelRange | None = None

    @property
    def finest(self) -> int:
        """The finest level that may be published."""
        return 0 if self.allowed is None else self.allowed.finest

    @property
    def coarsest(self) -> int:
        """The coarsest level that may be published."""
        return self.height - 1 if self.allowed is None else self.allowed.coarsest

    @property
    def height(self) -> int:
        return len(self.levels)

    def __getitem__(self, level: int) -> Level:
        return self.levels[level]

    @cached_property
    def _covers(self) -> dict[int, Coverage]:
        return {}

    def coverage(self, level: int) -> Coverage:
        """Which codes the labels of a level cover, worked out once."""
        if level not in self._covers:
            self._covers[level] = cover(self.domain, self[level].regions)
        return self._covers[level]


class Hierarchy(ABC):
    """A recipe for coarsening one column."""

    kind: ClassVar[str]

    def leaves(self) -> Sequence[str]:
        """Values the recipe itself knows; they widen the domain beyond the values seen."""
        return ()

    def level_names(self) -> Sequence[str]:
        """What the levels between the values and `*` are called; empty where they have no names."""
        return ()

    def landmarks(self) -> Sequence[Value]:
        """One value in every range the recipe makes of numbers or dates, in order.

        Empty where it does not bound them, so that only data could tell which ranges there are.
        """
        return ()

    def spelling(self, text: str) -> str:
        """The same for texts that mean the same value, however they are written."""
        return text

    def read_label(self, text: str) -> Region | None:
        """What a label says that no list of values is needed to understand; None for others."""
        return None

    @abstractmethod
    def regions(self, domain: Domain) -> list[list[Region]]:
        """For each level between the values and `*`: the region of each value of a domain that has
        no NULL and no special codes.

        Raise `SchemaError` where a value has none.
        """

    def bind(self, domain: Domain) -> Levels:
        whole: Region = Anything()
        identity = Level(
            np.arange(len(domain), dtype=np.int32),
            tuple(ValueSet(frozenset({value})) for value in domain.values),
        )
        levels = [identity]
        scale = replace(domain, values=domain.values[: domain.placed])
        for regions in self.regions(scale):
            top = bool(regions) and all(region == whole for region in regions)
            for special in domain.specials:
                regions = [*regions, whole if top else ValueSet(frozenset({special}))]
            level = _level(regions)
            _check_nested(domain, levels[-1], level, len(levels))
            # A taxonomy may spell out its top; heights must not depend on the data otherwise.
            if any(region != whole for region in level.regions):
                levels.append(level)
        levels.append(Level(np.zeros(len(domain), dtype=np.int32), (whole,)))
        return Levels(domain, tuple(levels))


def _level(regions: Sequence[Region]) -> Level:
    index: dict[Region, int] = {}
    codes = np.fromiter(
        (index.setdefault(region, len(index)) for region in regions), np.int32, len(regions)
    )
    return Level(codes, tuple(index))


def _check_nested(domain: Domain, finer: Level, coarser: Level, depth: int) -> None:
    """Values with one label on the finer level must share one on the coarser."""
    first = np.full(len(finer.regions), -1, dtype=np.int64)
    first[finer.codes[::-1]] = coarser.codes[::-1]
    broken = np.flatnonzero(first[finer.codes] != coarser.codes)
    if len(broken):
        labels = {finer.regions[finer.codes[code]].text for code in broken}
        raise SchemaError(
            f"hierarchy of column {domain.name!r} is not nested: level {depth} separates values "
            f"that level {depth - 1} puts together ({name_some(sorted(labels))}); "
            "give each label one parent"
        )
