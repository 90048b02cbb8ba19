"""Discernibility (Bayardo, Agrawal 2005) and average group size (LeFevre, DeWitt, Ramakrishnan
2006): how large the crowds are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.utility.base import Utility
from sfumato.utility.view import View


@dataclass(frozen=True)
class Discernibility(Utility):
    """Each person costs the size of her group; a suppressed one the size of the table."""

    name: ClassVar[str] = "discernibility"
    about: ClassVar[str] = "sum of squared group sizes; a suppressed person costs the whole table"
    sizes_only: ClassVar[bool] = True

    def cost(self, view: View) -> float:
        return view.squares + float(view.suppressed) * view.people


@dataclass(frozen=True)
class AverageGroupSize(Utility):
    """C_avg without its division by k: people per group; the whole table if nobody is left."""

    name: ClassVar[str] = "average-group-size"
    about: ClassVar[str] = "published people per group"
    sizes_only: ClassVar[bool] = True

    def cost(self, view: View) -> float:
        if view.number == 0:
            return float(view.people)
        return float(view.people - view.suppressed) / view.number
