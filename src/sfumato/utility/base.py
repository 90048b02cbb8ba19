"""The contract of a utility measure: one number that is lower when the release says more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from sfumato.counts.counts import TableCounts
from sfumato.numbers import Floats
from sfumato.schema.region import Coverage
from sfumato.utility.view import View

Known = TypeVar("Known")


@dataclass(frozen=True)
class Utility(ABC):
    """A measure of what a release costs; 0 or the least value for an unchanged table.

    `about` says in words what the number means. `seeded` measures draw chance from `seed` and give
    the same number for the same seed. `reads_tuples`: it compares with everybody's own values,
    part by part (`by_parts`, which a finished release is measured by whatever its table's size) or
    all of them in memory. `sizes_only`: it reads how large groups are and not what they publish,
    so it applies to centroids too, and nothing costs nothing. `share`: it is a part of the whole,
    0 to 1, and told in percent.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    seeded: ClassVar[bool] = False
    reads_tuples: ClassVar[bool] = False
    by_parts: ClassVar[bool] = False
    sizes_only: ClassVar[bool] = False
    share: ClassVar[bool] = False

    @abstractmethod
    def cost(self, view: View) -> float:
        """The cost of the release; lower is more useful; NaN when it does not apply."""

    def by_level(self, counts: TableCounts, covers: list[list[Coverage]]) -> list[Floats] | None:
        """For lattice searches: per column, what each level costs at the least.

        The sum over columns must never exceed the cost of that node, whoever is suppressed;
        `covers[column][level]` is given. None when there is no such bound.
        """
        return None

    def measures(self, counts: TableCounts) -> bool:
        """Whether a finished release of this table can be measured, whatever its size."""
        return counts.fits_memory or not self.reads_tuples or self.by_parts

    def column_weights(self, columns: int) -> Floats:
        """For searches that weigh widths: how much each column's counts, 1 on average."""
        return np.ones(columns)


class Remembered(Generic[Known]):
    """What a measure worked out about a table, kept as long as it is asked about the same one.

    A search measures thousands of releases of one table with one measure.
    """

    def __init__(self) -> None:
        self._about: tuple[object, ...] = ()
        self._known: Known | None = None

    def of(self, *about: object, make: Callable[[], Known]) -> Known:
        """What `make` gives for these very objects (the same objects, not equal ones)."""
        unchanged = len(about) == len(self._about) and all(
            now is before for now, before in zip(about, self._about, strict=True)
        )
        if not unchanged or self._known is None:
            self._known = make()
            self._about = about
        return self._known
