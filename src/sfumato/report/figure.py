"""One chart as data: series, axes, and what it shows in words. Drawing is `report/html/draw.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sfumato.errors import InputError

Kind = Literal["lines", "steps", "bars", "points", "cloud"]
Number = float | int | str | None


@dataclass(frozen=True)
class Series:
    """One line, row of bars or kind of mark; `text` names the marks.

    `mark` is their shape ("star"); without it each series of a chart has a shape of its own.
    """

    name: str
    x: Sequence[Number]
    y: Sequence[Number]
    z: Sequence[Number] | None = None
    text: Sequence[str] | None = None
    mark: str = ""

    def __post_init__(self) -> None:
        lengths = {len(given) for given in (self.x, self.y, self.z, self.text) if given is not None}
        if len(lengths) != 1:
            raise InputError(f"series {self.name!r}: its coordinates differ in length")

    def to_dict(self) -> dict[str, Any]:
        """The series for JSON."""
        parts = {"x": self.x, "y": self.y, "z": self.z, "text": self.text}
        listed = {
            part: [plain(value) for value in given]
            for part, given in parts.items()
            if given is not None
        }
        return {"name": self.name, **listed}


@dataclass(frozen=True)
class Figure:
    """A chart: `x`, `y` and `z` are what the axes show, `alt` says it all without the picture.

    "cloud" is points in space; the others are flat. `percent` names the axes that show shares
    ("x", "y", "xy"); `behind` are thin lines behind it all, None where one ends; `ticks` are the
    places marked along x, in this order where they are texts. The numbers along a `bare` axis mean
    nothing and are not shown.
    """

    title: str
    kind: Kind
    x: str
    y: str
    series: tuple[Series, ...]
    z: str = ""
    log_x: bool = False
    log_y: bool = False
    alt: str = ""
    percent: str = ""
    behind: tuple[Series, ...] = ()
    ticks: tuple[Number, ...] = ()
    bare: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"figure: {self.kind!r} is no kind; use {', '.join(get_args(Kind))}")
        if not self.alt:
            raise InputError(f"figure {self.title!r} has no text for those who cannot see it")
        if (self.kind == "cloud") != all(one.z is not None for one in self.series):
            raise InputError(f"figure {self.title!r}: only a cloud has a third coordinate")

    def to_dict(self) -> dict[str, Any]:
        """The chart for JSON."""
        return {
            "title": self.title,
            "kind": self.kind,
            "axes": {
                name: text for name, text in (("x", self.x), ("y", self.y), ("z", self.z)) if text
            },
            "logarithmic": [name for name, on in (("x", self.log_x), ("y", self.log_y)) if on],
            "about": self.alt,
            "series": [one.to_dict() for one in self.series],
            **({"behind": [one.to_dict() for one in self.behind]} if self.behind else {}),
        }


def plain(value: object) -> Any:
    """A value as JSON may hold it: infinity is "inf", what does not apply is null."""
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
    return value
