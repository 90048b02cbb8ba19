"""Limits: how fine and how coarse a quasi-identifier may be published.

A limit is the owner's word on one column: nobody needs it finer than years, and coarser than
decades it is of no use. Levels are those of the column's hierarchy, by number (0 the value itself)
or by name. What they mean is the same for every anonymizer, of what is published:

- **coarsest**: a published region lies inside one label of that level;
- **finest**: it takes each label of that level whole or not at all, and its bounds are theirs;
- **star = false**: the coarsest level is the one before `*`. A column without levels between value
  and `*` that is cut freely must only not be published as all of its values.

The schema says what limits there are, hierarchies and whoever searches what they do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.errors import SchemaError, did_you_mean, quoted
from sfumato.schema.hierarchy import Hierarchy, LevelRange, Levels

VALUE, STAR = "value", "*"
_NO_STAR = "no-star"


@dataclass(frozen=True)
class Limits:
    """The finest and the coarsest level a column may be published at, and whether as `*`.

    Levels by number, 0 the value itself, or by name: "value", "*", and those of the hierarchy
    ("month" of dates, "width 5" of intervals, "five" of age groups, "chapter" of ICD-10).
    """

    finest: int | str = 0
    """The finest level it may be published at. Example: `finest = 1`."""
    coarsest: int | str | None = None
    """The coarsest level; without it the last, `*`. Example: `coarsest = "width 20"`."""
    star: bool = True
    """Whether it may be published as `*`. Example: `star = false`."""

    def __post_init__(self) -> None:
        for end in ("finest", "coarsest"):
            level = getattr(self, end)
            number = isinstance(level, int) and not isinstance(level, bool) and level >= 0
            if not (number or isinstance(level, str) or (level is None and end == "coarsest")):
                raise SchemaError(
                    f"limits: {end} = {quoted(level)} is not allowed; give a level of the "
                    "hierarchy, 0, 1, 2, ... or its name"
                )
        if not isinstance(self.star, bool):
            raise SchemaError(f"limits: star = {quoted(self.star)} must be true or false")

    def bind(self, recipe: Hierarchy, levels: Levels) -> Levels:
        """The levels of a column within these limits."""
        column, top = levels.domain.name, levels.height - 1
        names = [VALUE, *recipe.level_names(), STAR]
        named = dict(zip(names, range(levels.height), strict=True)) if len(names) == top + 1 else {}
        named |= {VALUE: 0, STAR: top}
        finest = _number(column, "finest", self.finest, named, top)
        coarsest = top
        if self.coarsest is not None:
            coarsest = _number(column, "coarsest", self.coarsest, named, top)
        # Whoever cuts freely needs no label to tell less than everything.
        freely = not self.star and top == 1 and coarsest == top and finest == 0
        if not self.star:
            coarsest = min(coarsest, top - 1)
        if finest > coarsest:
            limit = "star = false allows" if not self.star and self.coarsest is None else "coarsest"
            raise SchemaError(
                f"limits: column {column!r} must be at least at level {finest} and at most at "
                f"level {coarsest} ({limit}); give a coarsest level that is no finer than the "
                "finest"
            )
        return replace(levels, allowed=LevelRange(finest, coarsest, freely=freely))


def _number(column: str, end: str, level: int | str, named: dict[str, int], top: int) -> int:
    if isinstance(level, str):
        if level not in named:
            raise SchemaError(
                f"limits: column {column!r}: {end} = {quoted(level)} is no level of its hierarchy; "
                f"{did_you_mean(level, named)}, or a number from 0 to {top}"
            )
        return named[level]
    if level > top:
        raise SchemaError(
            f"limits: column {column!r} has levels 0 to {top}, not {level} ({end}); levels are "
            "those of its hierarchy"
        )
    return level


def parse_limit(text: str) -> tuple[str, Limits]:
    """From `age=1..3`, `birth=year..decade` or `sex=no-star`, as on the command line."""
    column, sign, range_text = (part.strip() for part in text.partition("="))
    if sign and column and range_text == _NO_STAR:
        return column, Limits(star=False)
    finest, dots, coarsest = (part.strip() for part in range_text.partition(".."))
    if not sign or not column or not dots or not (finest or coarsest):
        raise SchemaError(
            f"limit {quoted(text)} is not understood; write COLUMN=FINEST..COARSEST, such as "
            f"age=1..3, age=..3 or age=1.., or COLUMN={_NO_STAR}"
        )
    return column, Limits(_level(finest or "0"), _level(coarsest) if coarsest else None)


def _level(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text
