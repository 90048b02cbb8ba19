"""What the contract needs to know of a criterion: the shape of an example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.criteria.base import Criterion

VALUES = ("a", "b", "c", "d", "e")  # labels of every table here, so that trees fit


@dataclass(frozen=True)
class Example:
    """What the contract needs to know of a criterion.

    `settings`: instances the properties are tried on, loose and strict ones. `strict`: one that a
    homogeneous group must violate (None only if the criterion reads no values). `wrong`: calls
    that must be refused, with the parameter to blame.
    """

    settings: tuple[Criterion, ...]
    strict: Criterion | None
    wrong: tuple[tuple[Callable[[], Criterion], str], ...]
