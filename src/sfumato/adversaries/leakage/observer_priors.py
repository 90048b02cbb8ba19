"""The forms in which an observer's prior may be given, checked and put into plain shape.

Plain: what a policy file can hold too. "table", "uniform", {value: share or count},
{"given": [columns]} and [{"class": cells, "shares": {...}}, ...]; outside tables and earlier
releases are held as they are. Cells are those a class publishes, by column or, in the order of the
quasi-identifiers, as a list; {cells: shares} is another way of writing that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Literal

from sfumato.adversaries.leakage.expectation import Listed
from sfumato.errors import PolicyError, quoted
from sfumato.release.release import Release, same_people
from sfumato.schema.region import text_of
from sfumato.table.load import Table

Prior = str | Mapping[Any, Any] | Sequence[Mapping[str, Any]] | Table | Release
Kind = Literal["table", "uniform", "shares", "given", "listed", "table outside", "release"]
GIVEN = "given"
_ROUNDING = 1e-9  # shares written as decimals may miss 1 by this much


def kind_of(prior: object) -> Kind:
    """Which of the forms a checked prior has."""
    if isinstance(prior, str):
        return "table" if prior == "table" else "uniform"
    if isinstance(prior, Table):
        return "table outside"
    if isinstance(prior, Release):
        return "release"
    if isinstance(prior, Mapping):
        return "given" if not _numbers(prior.get(GIVEN)) and GIVEN in prior else "shares"
    return "listed"


def same(one: object, other: object) -> bool:
    """Equal priors; tables and releases if they are the very same, or the same file."""
    if isinstance(one, Table | Release) or isinstance(other, Table | Release):
        return same_people(one, other)
    return bool(one == other)


def normal(who: str, prior: object) -> Prior:
    """A prior in its plain form; PolicyError where it has none."""
    if isinstance(prior, Table | Release):
        return prior
    if isinstance(prior, str) and prior in ("table", "uniform"):
        return prior
    if isinstance(prior, Mapping) and prior:
        if GIVEN in prior and not _numbers(prior[GIVEN]):
            return {GIVEN: _columns(who, prior)}
        if all(isinstance(shares, Mapping) for shares in prior.values()):
            return tuple(
                _entry(who, {"class": _cells(cells), "shares": shares})
                for cells, shares in prior.items()
            )
        return _shares(who, prior)
    if isinstance(prior, list | tuple) and prior and all(isinstance(e, Mapping) for e in prior):
        entries = tuple(_entry(who, entry) for entry in prior)
        _check_alike(who, entries)
        return entries
    raise PolicyError(
        f"{who}: prior = {quoted(prior)} is not allowed; use 'table', 'uniform', shares or counts "
        "by value, { given = [columns] }, a list of { class = cells, shares = {...} }, an outside "
        "table or an earlier release"
    )


def listed_entries(prior: Sequence[Mapping[str, Any]]) -> list[Listed]:
    """The entries of a listed prior; columns are "" where cells follow the release's order."""
    return [
        Listed(
            tuple(entry["class"].items())
            if isinstance(entry["class"], Mapping)
            else tuple(("", cell) for cell in entry["class"]),
            tuple(entry["shares"].items()),
        )
        for entry in prior
    ]


def _numbers(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _columns(who: str, prior: Mapping[Any, Any]) -> list[str]:
    columns = prior[GIVEN]
    columns = [columns] if isinstance(columns, str) else columns
    named = isinstance(columns, list | tuple) and all(isinstance(c, str) and c for c in columns)
    if len(prior) > 1 or not named or not columns or len(set(columns)) < len(columns):
        raise PolicyError(
            f"{who}: prior = {quoted(prior)} is not allowed; given lists the columns she knows, "
            "each once: { given = ['age'] }"
        )
    return list(columns)


def _cells(cells: object) -> list[str]:
    return [text_of(cell) for cell in cells] if isinstance(cells, tuple) else [text_of(cells)]


def _entry(who: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    if set(entry) != {"class", "shares"} or not isinstance(entry["shares"], Mapping):
        raise PolicyError(
            f"{who}: prior: an entry has the keys {', '.join(map(repr, entry)) or 'none'}; it "
            "must have class = cells and shares = {...}"
        )
    cells = entry["class"]
    plain: dict[str, str] | list[str]
    if isinstance(cells, Mapping):
        plain = {str(column): text_of(cell) for column, cell in cells.items()}
    elif isinstance(cells, list | tuple):
        plain = [text_of(cell) for cell in cells]
    else:
        plain = [text_of(cells)]
    if not plain:
        raise PolicyError(f"{who}: prior: an entry's class is empty; give its cells")
    return {"class": plain, "shares": _shares(who, entry["shares"])}


def _check_alike(who: str, entries: Sequence[Mapping[str, Any]]) -> None:
    """All entries name the same columns, and no class twice."""
    seen: set[tuple[str, ...]] = set()
    first = entries[0]["class"]
    for entry in entries:
        cells = entry["class"]
        alike = (
            isinstance(cells, Mapping) and isinstance(first, Mapping) and set(cells) == set(first)
        )
        if not alike and not (isinstance(cells, list) and isinstance(first, list)):
            raise PolicyError(
                f"{who}: prior: classes name different columns; name the same in every entry"
            )
        key = tuple(cells[column] for column in first) if alike else tuple(cells)
        if key in seen:
            raise PolicyError(f"{who}: prior: the class {', '.join(key)} is listed twice")
        seen.add(key)


def _shares(who: str, shares: Mapping[Any, Any]) -> dict[str, int | float]:
    """Whole numbers are counts, others shares that sum to 1."""
    for value, number in shares.items():
        if not _numbers(number) or not isfinite(number) or number < 0:
            raise PolicyError(
                f"{who}: prior of {value!r} = {quoted(number)} is not allowed; it must be a share "
                "or a count, 0 or more"
            )
    total = sum(shares.values())
    counts = all(isinstance(number, int) for number in shares.values())
    if total <= 0 or (not counts and abs(total - 1) > _ROUNDING):
        raise PolicyError(f"{who}: prior: the shares sum to {total:.10g}, not to 1")
    return {text_of(value): number for value, number in shares.items()}
