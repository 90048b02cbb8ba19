"""How a file is written: its format, the dialect of a text, the types and labels of its columns.

The form of what was read stands beside its rows (`Source.form`) and goes on to what is published of
them: a release comes out the way its table came in, unless somebody says otherwise. It tells
nothing of anybody: types are those that a file declares, and labels are published only of values
that are published or declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal, get_args

from sfumato.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa


Format = Literal["csv", "parquet", "arrow"]
Packing = Literal["", "gz", "zst"]
FORMATS: tuple[Format, ...] = get_args(Format)
_PLAIN_TEXTS = ("delimiter", "decimal", "encoding", "line_end")
_BY_COLUMN = ("missing", "dates", "decimals")


@dataclass(frozen=True, kw_only=True)
class FileForm:
    """How a file is written.

    Of a text: `packing` is how it is packed, `missing` what stands for no value in a column,
    `dates` how its dates are written (as strftime says it), `decimals` the decimal sign of its
    numbers once it is known which columns are published as such. Of a file with types: `types` are
    those of its columns. `labels` say what a column is, `value_labels` what its codes stand for.
    """

    format: Format = "csv"
    packing: Packing = ""
    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    line_end: str = "\n"
    missing: Mapping[str, str] = field(default_factory=dict)
    dates: Mapping[str, str] = field(default_factory=dict)
    decimals: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[str | float, str]] = field(default_factory=dict)
    types: Mapping[str, pa.DataType] = field(default_factory=dict)

    @property
    def ending(self) -> str:
        """What the name of such a file ends with."""
        return f".{self.format}" + (f".{self.packing}" if self.packing else "")

    @property
    def is_text(self) -> bool:
        """Whether its cells are texts without types."""
        return self.format == "csv"

    def written_as(self, format: str | None) -> FileForm:
        """This form, or another format in its plainest form; labels stay what they are."""
        if format is None:
            return self
        check_format(format)
        return FileForm(
            format=format,  # type: ignore[arg-type]  # checked
            labels=self.labels,
            value_labels=self.value_labels,
            types=self.types,
        )

    def published(self, columns: Sequence[pa.Field], *, points: bool) -> FileForm:
        """The form of these columns: of dates and numbers where every cell is one.

        `points`: a cell may be a mean.
        Years of two digits come out with four: nobody need be told of which century they are.
        """
        kinds = {column.name: str(column.type) for column in columns}
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
            told = getattr(self, field_name)
            if told := {name: told[name] for name in columns if name in told}:
                content[field_name] = told
        return content

    @classmethod
    def told(cls, content: Mapping[str, object]) -> FileForm:
        """What a manifest says; a ValueError where it says what no form of ours is."""
        known = {one.name for one in fields(cls) if one.name not in ("labels", "value_labels")}
        form = cls(**{n: value for n, value in content.items() if n in known})  # type: ignore[arg-type]
        texts = [form.format, form.packing, *(getattr(form, name) for name in _PLAIN_TEXTS)]
        for name in _BY_COLUMN:
            told = getattr(form, name)
            texts += [*told, *told.values()] if isinstance(told, dict) else [None]
        if (
            "format" not in content
            or form.types
            or not all(isinstance(text, str) for text in texts)
        ):
            raise ValueError("a field is missing, or no text")
        if form.format not in FORMATS or form.packing not in get_args(Packing):
            raise ValueError("no format of ours")
        if len(form.delimiter) != 1 or not {form.decimal, *form.decimals.values()} <= {".", ","}:
            raise ValueError("no dialect of ours")
        return form


def check_format(format: str) -> None:
    """Refuse what cannot be written."""
    if format not in FORMATS:
        raise InputError(f"format {format!r} is not known; {did_you_mean(format, FORMATS)}")
