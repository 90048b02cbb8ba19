"""A document as JSON: its facts and every section, all that is on its page and more.

It is made piece by piece, each cell when its turn comes: the text of a large result is never in
memory as a whole unless somebody asks for it as one text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.report.document import Chart, Document, Section, Series, Sheet, cleaned

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 1 << 14  # rows of a table that are made into Python's values


class _Entries(Protocol):
    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[object]: ...


class _Cells(list[Any]):
    """A list whose entries are made when they are written; the encoder knows lists only."""

    def __init__(self, entries: _Entries) -> None:
        super().__init__()
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        return map(_when_written, self._entries)


def _when_written(value: object) -> Any:
    """As `cleaned`, but for what a list holds."""
    if isinstance(value, Section):
        value = section_dict(value)
    if isinstance(value, Mapping):
        return {str(key): _when_written(entry) for key, entry in value.items()}
    return _Cells(value) if isinstance(value, list | tuple) else cleaned(value)


def pieces_of(document: Document) -> Iterator[str]:
    """The text of every section that is given, private ones too: callers choose what they pass."""
    head: Mapping[str, object] = document.facts
    if not document.on_top:
        head = {
            "exhibit": document.name,
            "title": document.title,
            "about": document.about,
            "facts": document.facts,
        }
    first = document.first
    if first.parts or first.made:
        head = {**head, "first_screen": {"parts": first.parts, "made": first.made}}
    encoder = json.JSONEncoder(indent=2, ensure_ascii=False, allow_nan=False)
    return encoder.iterencode(_when_written({**head, "sections": document.sections}))


class _Rows:
    """The rows of a table that comes in parts, some at a time; at least so many."""

    def __init__(self, parts: Iterable[pa.Table], least: int) -> None:
        self._parts, self._least = parts, least

    def __len__(self) -> int:
        return self._least

    def __iter__(self) -> Iterator[object]:
        for part in self._parts:
            for batch in part.to_batches(max_chunksize=_AT_ONCE):
                yield from batch.to_pylist()


def pieces_of_rows(parts: Iterable[pa.Table], least: int) -> Iterator[str]:
    """The rows of a table that comes in parts as a list; at least so many there are."""
    encoder = json.JSONEncoder(indent=1, ensure_ascii=False, allow_nan=False, default=str)
    return encoder.iterencode(_Cells(_Rows(parts, least)))


def section_dict(section: Section) -> dict[str, object]:
    return {
        "title": section.title,
        "words": section.words,
        "tables": [_table(sheet) for sheet in section.tables],
        "charts": [_chart(chart) for chart in section.charts],
    }


def _table(sheet: Sheet) -> dict[str, object]:
    starred = {"starred": sheet.starred, "star": sheet.star} if sheet.starred else {}
    names = ("title", "columns", "rows", "notes")
    return {name: getattr(sheet, name) for name in names} | starred


def _chart(chart: Chart) -> dict[str, object]:
    axes = (("x", chart.x), ("y", chart.y), ("z", chart.z))
    return {
        "name": chart.name,
        "title": chart.title,
        "kind": chart.kind,
        "axes": {name: text for name, text in axes if text},
        "logarithmic": [name for name, on in (("x", chart.log_x), ("y", chart.log_y)) if on],
        "about": chart.alt,
        "series": [_series(line) for line in chart.series],
        **({"behind": [_series(line) for line in chart.behind]} if chart.behind else {}),
    }


def _series(series: Series) -> dict[str, object]:
    names = ("x", "y", "z", "text", "labels", "strong")
    given = {name: getattr(series, name) for name in names}
    return {
        "name": series.name,
        **{name: list(values) for name, values in given.items() if values is not None},
    }
