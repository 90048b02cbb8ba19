"""How a file is written: its format, the dialect of a text, the types and labels of its columns.

The form of what was read stands beside its rows (`Source.form`) and goes on to what is published of
them: a release comes out the way its table came in, unless somebody says otherwise. It tells
nothing of anybody: types are those that a file declares, and labels are published only of values
that are published or declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal, get_args

from sfumato.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

Format = Literal["csv", "parquet", "arrow"]
Packing = Literal["", "gz", "zst"]
FORMATS: tuple[Format, ...] = get_args(Format)
_PLAIN_TEXTS = ("delimiter", "decimal", "encoding", "line_end", "missing")


@dataclass(frozen=True, kw_only=True)
class FileForm:
    """How a file is written.

    Of a text: `packing` is how it is packed, `missing` what stands for no value, `dates` how the
    dates of a column are written (as strftime says it). Of a file with types: `types` are those of
    its columns. `labels` say what a column is, `value_labels` what its codes stand for.
    """

    format: Format = "csv"
    packing: Packing = ""
    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    line_end: str = "\n"
    missing: str = ""
    dates: Mapping[str, str] = field(default_factory=dict)
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

    def public(self, columns: Sequence[str]) -> dict[str, object]:
        """What a manifest tells of it: whatever is not plain, and of published columns alone."""
        content: dict[str, object] = {"format": self.format}
        if self.packing:
            content["packing"] = self.packing
        for name in _PLAIN_TEXTS if self.is_text else ():
            if getattr(self, name) != getattr(FileForm, name):
                content[name] = getattr(self, name)
        dates = {name: self.dates[name] for name in columns if name in self.dates}
        if dates and self.is_text:
            content["dates"] = dates
        return content

    @classmethod
    def told(cls, content: Mapping[str, object]) -> FileForm:
        """What a manifest says; a ValueError where it says what no form of ours is."""
        known = {one.name for one in fields(cls) if one.name not in ("labels", "value_labels")}
        form = cls(**{n: value for n, value in content.items() if n in known})  # type: ignore[arg-type]
        texts = [form.format, form.packing, *(getattr(form, name) for name in _PLAIN_TEXTS)]
        texts += [*form.dates, *form.dates.values()] if isinstance(form.dates, dict) else [None]
        if (
            "format" not in content
            or form.types
            or not all(isinstance(text, str) for text in texts)
        ):
            raise ValueError("a field is missing, or no text")
        if form.format not in FORMATS or form.packing not in get_args(Packing):
            raise ValueError("no format of ours")
        if len(form.delimiter) != 1 or form.decimal not in (".", ","):
            raise ValueError("no dialect of ours")
        return form


def check_format(format: str) -> None:
    """Refuse what cannot be written."""
    if format not in FORMATS:
        raise InputError(f"format {format!r} is not known; {did_you_mean(format, FORMATS)}")
