"""How a file is written: its format, the dialect of a text, the types and labels of its columns.

The form of what was read stands beside its rows (`Source.form`) and goes on to what is published of
them: a release comes out the way its table came in, unless somebody says otherwise. It tells
nothing of anybody: types are those that a file declares, and labels are published only of values
that are published or declared.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

from sfumato.errors import InputError, did_you_mean, expect

if TYPE_CHECKING:
    import pyarrow as pa


Format = Literal["csv", "parquet", "arrow", "xlsx", "sav", "dta", "xpt"]
Packing = Literal["", "gz", "zst"]
TextEnding = Literal["csv", "tsv", "txt"]
FORMATS: tuple[Format, ...] = get_args(Format)
_PLAIN_TEXTS = ("text_ending", "delimiter", "decimal", "encoding", "line_end")
_BY_COLUMN = ("missing", "dates", "decimals")


@dataclass(frozen=True, kw_only=True)
class FileForm:
    """How a file is written.

    Of a text: `text_ending` is what its name ends with, `packing` how it is packed, `missing` what
    stands for no value in a column, `dates` how its dates are written (as strftime says it),
    `decimals` the decimal sign of its numbers once it is known which columns are published as such.
    `codes` are texts that stand among the numbers or dates of a column and are none. Of a file with
    types: `types` are those of its columns. `file_label` says what the file is, `labels` what a
    column is, `value_labels` what its codes stand for, `formats` and `measures` how the program it
    is of shows a column and what it takes it for; `sheet` is the one of a workbook.
    """

    format: Format = "csv"
    packing: Packing = ""
    text_ending: TextEnding = "csv"
    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    line_end: str = "\n"
    missing: Mapping[str, str] = field(default_factory=dict)
    dates: Mapping[str, str] = field(default_factory=dict)
    decimals: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[str | float, str]] = field(default_factory=dict)
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)
    file_label: str = ""
    sheet: str = ""

    @property
    def ending(self) -> str:
        """What the name of such a file ends with."""
        kind = self.text_ending if self.is_text else self.format
        return f".{kind}" + (f".{self.packing}" if self.packing else "")

    @property
    def is_text(self) -> bool:
        """Whether its cells are texts without types."""
        return self.format == "csv"

    @property
    def is_columnar(self) -> bool:
        """Whether it holds types, lists and texts of no character as they are."""
        return self.format in ("parquet", "arrow")

    def written_as(self, format: str | None) -> FileForm:
        """This form, or another format in its plainest form; labels stay what they are."""
        if format is None:
            return self
        check_format(format)
        return FileForm(
            format=format,  # type: ignore[arg-type]  # checked
            codes=self.codes,
            labels=self.labels,
            value_labels=self.value_labels,
            types=self.types,
            formats=self.formats if format == self.format else {},
            measures=self.measures,
            file_label=self.file_label,
            sheet=self.sheet,
        )

    def labelling(self, cells: Mapping[str, Collection[object]]) -> FileForm:
        """The same, with labels of no other values than these: others would tell who is absent."""
        return replace(
            self,
            value_labels={
                name: {
                    value: label
                    for value, label in self.value_labels[name].items()
                    if _code(value) in codes
                }
                for name, codes in ((name, {*map(_code, cells[name])}) for name in cells)
                if name in self.value_labels
            },
        )

    def published(
        self, columns: Sequence[pa.Field], *, points: bool, scales: Mapping[str, str]
    ) -> FileForm:
        """The form of these columns: of dates and numbers where every cell is one.

        `points`: a cell may be a mean. `scales`: the type of texts that are numbers or dates but
        for special codes. Years of two digits come out with four: nobody need be told of which
        century they are.
        """
        kinds = {**{column.name: str(column.type) for column in columns}, **scales}
        if not self.is_text:
            return self
        return replace(
            self,
            missing={name: mark for name, mark in self.missing.items() if name in kinds},
            dates={
                name: pattern.replace("%y", "%Y")
                for name, pattern in self.dates.items()
                if kinds.get(name, "").startswith("date" if points else ("date", "timestamp"))
            },
            decimals={
                name: self.decimal
                for name, kind in kinds.items()
                if self.decimal != "." and kind in ("double", "float")
            },
        )

    def public(self, columns: Sequence[str]) -> dict[str, object]:
        """What a manifest tells of it: whatever is not plain, and of published columns alone."""
        content: dict[str, object] = {"format": self.format}
        if self.packing:
            content["packing"] = self.packing
        for name in _PLAIN_TEXTS if self.is_text else ():
            if getattr(self, name) != getattr(FileForm, name):
                content[name] = getattr(self, name)
        for field_name in _BY_COLUMN if self.is_text else ():
            by_column = getattr(self, field_name)
            if by_column := {name: by_column[name] for name in columns if name in by_column}:
                content[field_name] = by_column
        if codes := {name: list(self.codes[name]) for name in columns if name in self.codes}:
            content["codes"] = codes
        return content

    def labels_of(self, column: str) -> dict[str, object]:
        """What a manifest tells of a column: what it is, and what its codes stand for."""
        content: dict[str, object] = {}
        if column in self.labels:
            content["label"] = self.labels[column]
        if labels := self.value_labels.get(column):
            content["labels"] = {_code(value): label for value, label in labels.items()}
        return content

    @classmethod
    def from_manifest(cls, content: Mapping[str, object]) -> FileForm:
        """What a manifest says; a ValueError where it says what no form of ours is."""
        known = {"format", "packing", "codes", *_PLAIN_TEXTS, *_BY_COLUMN}
        form = cls(**{n: value for n, value in content.items() if n in known})  # type: ignore[arg-type]
        texts = [form.format, form.packing, *(getattr(form, name) for name in _PLAIN_TEXTS)]
        for name in _BY_COLUMN:
            by_column = getattr(form, name)
            texts += [*by_column, *by_column.values()] if isinstance(by_column, dict) else [None]
        for name, codes in form.codes.items() if isinstance(form.codes, dict) else [("", None)]:
            texts += [name, *codes] if isinstance(codes, list) else [None]
        if "format" not in content or not all(isinstance(text, str) for text in texts):
            raise ValueError("a field is missing, or no text")
        if form.format not in FORMATS or form.packing not in get_args(Packing):
            raise ValueError("no format of ours")
        if form.text_ending not in get_args(TextEnding):
            raise ValueError("no name of ours")
        if len(form.delimiter) != 1 or not {form.decimal, *form.decimals.values()} <= {".", ","}:
            raise ValueError("no dialect of ours")
        return form


def _code(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def check_format(format: str) -> None:
    """Refuse what cannot be written."""
    expect("format", format, str, "a text")
    if format not in FORMATS:
        raise InputError(f"format {format!r} is not known; {did_you_mean(format, FORMATS)}")
