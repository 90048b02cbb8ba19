"""How a table or a release is read: one object, from the command line down to the engine.

A new way of reading is a field of `Reading` (with what the command line and a policy say of it) and
a key of the options beside it, both here, and the code that heeds it. Commands take their options,
policies the keys of `[read]`, and `sf.read` and `sf.read_release` their keywords from here. The
string below a field has its example in a policy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypedDict, get_args

from sfumato.engines.choose import ENGINES, engines_told
from sfumato.engines.form import FileForm
from sfumato.engines.memory import in_bytes, machine_memory
from sfumato.engines.notations import (
    ALL_COLUMNS,
    CENTURY,
    StatedForms,
    check_date_form,
    check_encoding,
)
from sfumato.errors import InputError, did_you_mean, expect, quoted

_MOST_THREADS = 1024  # beyond, a machine has none to give

MatchingName = Literal["exact", "wildcard"]
FileScheme = Literal["generalized", "microaggregated"]
Separator = str | Mapping[str, str] | None
DateForms = str | Mapping[str, str] | None
MissingMarks = Sequence[str] | Mapping[str, Sequence[str]] | None
SpecialCodes = Mapping[str, Sequence[str]] | None

# What an option is about: how a file is written; what reads it, and where; a table of people that
# is in two files; a release.
OptionSubject = Literal["file", "engine", "facts", "release", "manifest"]
OF_FORM = ("delimiter", "decimal", "encoding", "dates", "first_year", "missing", "codes")
OF_ONE_FILE = (*OF_FORM, "sheet", "header")
OF_TABLES: tuple[OptionSubject, ...] = ("file", "engine", "facts")
OF_POLICIES: tuple[OptionSubject, ...] = ("file", "engine")
OF_RELEASES: tuple[OptionSubject, ...] = ("file", "engine", "facts", "release")


def _option(
    subject: OptionSubject, kind: type, about: str, *only: str, shape: str | None = None
) -> dict[str, Any]:
    """What the command line and a policy say of a field: text that is a value of this kind.

    `only` these engines heed it, and the others refuse it; all do where none is named. `shape` is
    what an option's help shows in its place, above all what may be chosen.
    """
    return {"subject": subject, "kind": kind, "about": about, "only": only, "shape": shape}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What was said of how to read; the defaults are what is done without a word.

    `facts` may also be a frame, and `separator` a text for each column; so may `dates`, and
    `missing` a list for each, with "*" for all columns.
    """

    delimiter: str | None = field(
        default=None,
        metadata=_option("file", str, "What separates the fields of a text file.", shape="SIGN"),
    )
    """Example: `delimiter = ";"`."""
    decimal: str | None = field(
        default=None,
        metadata=_option("file", str, "The decimal sign of a text file: . or ,", shape=".|,"),
    )
    """Example: `decimal = ","`."""
    encoding: str | None = field(
        default=None,
        metadata=_option(
            "file",
            str,
            "The encoding of a text file, such as cp1252 or utf-16; found where it is left out.",
            "duckdb",
            shape="NAME",
        ),
    )
    """Example: `encoding = "cp1252"`."""
    dates: DateForms = field(
        default=None,
        metadata=_option(
            "file",
            list[str],
            "How dates are written: DMY, MDY, YMD or a pattern such as %d.%m.%Y; COLUMN=... says "
            "it of one column. Found where it is left out and only one way is possible.",
            "duckdb",
            shape="[COLUMN=]ORDER",
        ),
    )
    """How dates are written, of all columns or by column: DMY, MDY, YMD or a pattern such as
    %d.%m.%Y. Found where it is left out and only one way is possible. Example: `dates = { admitted
    = "%d.%m.%Y" }`.
    """
    first_year: int | None = field(
        default=None,
        metadata=_option(
            "file",
            int,
            "The first of the hundred years that two digits stand for: 1930 reads 29 as 2029.",
            "duckdb",
            shape="YEAR",
        ),
    )
    """Example: `first_year = 1930`."""
    missing: MissingMarks = field(
        default=None,
        metadata=_option(
            "file",
            list[str],
            "A mark such as ? or NA that stands for no value; COLUMN=... says it of one column. "
            "May be given several times.",
            "duckdb",
            shape="[COLUMN=]MARK",
        ),
    )
    """Marks that stand for no value, in all columns or by column. Example: `missing = ["?", "NA"]`.
    """
    codes: SpecialCodes = field(
        default=None,
        metadata=_option(
            "file",
            list[str],
            "COLUMN=CODE: a code such as N or 9999999 that stands among a column's numbers and is "
            "none of them.",
            "duckdb",
            shape="COLUMN=CODE",
        ),
    )
    """By column, codes that stand among its numbers and are none of them. Example: `codes = {
    income = ["N", "9999999"] }`.
    """
    partitioned: bool = field(
        default=False,
        metadata=_option(
            "file",
            bool,
            "The path is a folder of Parquet files that are one table; inner folders such as "
            "year=2020 name a column.",
        ),
    )
    """Example: `partitioned = true`."""
    sheet: str | None = field(
        default=None,
        metadata=_option(
            "file", str, "The sheet of an Excel file that is the table.", shape="NAME"
        ),
    )
    """Example: `sheet = "Patients"`."""
    header: int | None = field(
        default=None,
        metadata=_option(
            "file",
            int,
            "The row of a sheet that names the columns; the first. Of a text file 1: its first "
            "line does, even if it looks like a row.",
            shape="ROW",
        ),
    )
    """Example: `header = 3`."""
    engine: str | None = field(
        default=None,
        metadata=_option(
            "engine", str, f"What counts the rows: {engines_told()}.", shape="|".join(ENGINES)
        ),
    )
    """Example: `engine = "duckdb"`."""
    master: str | None = field(
        default=None,
        metadata=_option(
            "engine",
            str,
            "With --engine spark, where it runs: local[*] (the default), spark://HOST:PORT, yarn "
            "or k8s://URL. Every machine must see the file under the same path.",
            "spark",
            shape="ADDRESS",
        ),
    )
    """With Spark, where it runs: local[*] (the default), spark://HOST:PORT, yarn or k8s://URL.
    Every machine must see the file under the same path. Example: `master = "local[4]"`."""
    memory: str | None = field(
        default=None,
        metadata=_option(
            "engine", str, "Memory that may be taken, e.g. 2GB; the rest spills.", shape="SIZE"
        ),
    )
    """Example: `memory = "2GB"`."""
    spill: str | Path | None = field(
        default=None,
        metadata=_option("engine", Path, "Folder for what does not fit in memory.", shape="FOLDER"),
    )
    """Example: `spill = "/scratch"`."""
    threads: int | None = field(
        default=None,
        metadata=_option(
            "engine", int, "How many threads DuckDB may use.", "duckdb", shape="NUMBER"
        ),
    )
    """Example: `threads = 4`."""
    facts: object = field(
        default=None,
        metadata=_option(
            "facts",
            Path,
            "A second table with the sensitive values, one row a value; the policy's person "
            "column names the people in both.",
            shape="FILE",
        ),
    )
    group: str | None = field(
        default=None,
        metadata=_option(
            "release", str, "The column of group ids of a bucketized release.", shape="COLUMN"
        ),
    )
    scheme: str = field(
        default="generalized",
        metadata=_option(
            "release",
            str,
            "How a file of another tool was made: generalized, or microaggregated (its cells are "
            "centroids). Our own folders and bucketized pairs tell it themselves.",
            shape="|".join(get_args(FileScheme)),
        ),
    )
    matching: str = field(
        default="exact",
        metadata=_option(
            "release",
            str,
            "Who counts as alike: exact, or wildcard (* fits everybody).",
            shape="|".join(get_args(MatchingName)),
        ),
    )
    separator: Separator = field(
        default=None,
        metadata=_option(
            "release", str, "What separates the members of a set, as in a~b.", shape="TEXT"
        ),
    )

    form: FileForm | None = field(
        default=None, metadata=_option("manifest", FileForm, "What a manifest says of its files.")
    )

    def __post_init__(self) -> None:
        texts = ("delimiter", "decimal", "encoding", "sheet", "engine", "master", "memory", "group")
        for name in texts:
            expect(name, getattr(self, name), (str, NoneType), "a text")
        for name in ("scheme", "matching"):
            expect(name, getattr(self, name), (str,), "a text")
        expect("partitioned", self.partitioned, (bool,), "true or false")
        expect("spill", self.spill, (str, Path, NoneType), "the path of a folder")
        expect("separator", self.separator, (str, Mapping, NoneType), "a text, or one a column")
        whole = isinstance(self.threads, int) and not isinstance(self.threads, bool)
        if self.threads is not None and not (whole and 1 <= self.threads <= _MOST_THREADS):
            raise InputError(
                f"threads {quoted(self.threads)} is not allowed; use a whole number from 1 to "
                f"{_MOST_THREADS:,}"
            )
        if self.header is not None and (type(self.header) is not int or self.header < 1):
            raise InputError(f"header {quoted(self.header)} is not the number of a row, 1 or more")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise InputError(
                f"delimiter {self.delimiter!r} must be one character, such as ',' or ';'"
            )
        if self.decimal not in (None, ".", ","):
            raise InputError(f"decimal {self.decimal!r} is not allowed; use '.' or ','")
        if self.encoding is not None:
            check_encoding(self.encoding)
        object.__setattr__(self, "dates", _by_column("dates", self.dates, several=False))
        object.__setattr__(self, "missing", _by_column("missing", self.missing, several=True))
        object.__setattr__(self, "codes", _by_column("codes", self.codes, several=True))
        if self.codes is not None and (
            not isinstance(self.codes, Mapping) or ALL_COLUMNS in self.codes
        ):
            raise InputError("codes are of one column each: give them by column, as in income = N")
        for form in self.stated_forms.dates.values():
            check_date_form(form)
        year = self.first_year
        expect("first_year", year, (int, NoneType), "a year such as 1930")
        if year is not None and not 1000 <= year <= 9999 - CENTURY:  # 30 is a year, not meant
            raise InputError(
                f"first_year {quoted(year)} is not allowed; use a year of four digits, such as 1930"
            )
        _check_known("engine", self.engine, ENGINES)
        _check_known("scheme", self.scheme, get_args(FileScheme))
        if self.memory is not None:
            in_bytes(self.memory)
        if self.matching not in get_args(MatchingName):
            allowed = ", ".join(map(repr, get_args(MatchingName)))
            raise InputError(f"matching {quoted(self.matching)} is not known; allowed: {allowed}")

    @property
    def stated_forms(self) -> StatedForms:
        """What it says of how cells are written."""
        if self.form is not None:
            marks = {name: (mark,) for name, mark in self.form.missing.items()}
            return StatedForms(
                marks,
                self.form.dates,
                decimals=self.form.decimals,
                codes=self.form.codes,
                exact=True,
            )
        dates = {ALL_COLUMNS: self.dates} if isinstance(self.dates, str) else self.dates or {}
        missing = self.missing or {}
        if not isinstance(missing, Mapping):
            missing = {ALL_COLUMNS: missing}
        return StatedForms(missing, dates, self.first_year, self.decimal, codes=self.codes or {})

    def columns_named(self) -> list[tuple[str, str]]:
        """Of which columns it says something: (option, column)."""
        forms = self.stated_forms
        named = [("dates", name) for name in forms.dates]
        named += [("missing", name) for name in forms.missing]
        named += [("codes", name) for name in forms.codes]
        return [(option, name) for option, name in named if name != ALL_COLUMNS]

    def of_columns(self, columns: Collection[str]) -> Reading:
        """The same, but for what it says of columns that are not there."""
        known = {ALL_COLUMNS, *columns}

        def part(option_value: object) -> object:
            if not isinstance(option_value, Mapping):
                return option_value
            return {name: value for name, value in option_value.items() if name in known} or None

        return replace(
            self,
            **{name: part(getattr(self, name)) for name in ("dates", "missing", "codes")},  # type: ignore[arg-type]
        )

    def of_others(self, columns: Collection[str]) -> Reading:
        """What it says of how lines and cells are written, which other files are likely to share.

        Of which sheet and in which engine it says of its own table alone.
        """
        shared = {name: value for name, value in self.given_fields().items() if name in OF_FORM}
        return Reading(**shared).of_columns(columns)  # type: ignore[arg-type]  # of these fields

    def given_fields(self) -> dict[str, object]:
        """What was said: the fields that are not what they are without a word."""
        values = {option.name: getattr(self, option.name) for option in fields(self)}
        plain = {option.name: option.default for option in fields(self)}
        return {
            name: value
            for name, value in values.items()
            if value is not plain[name] and (plain[name] is None or value != plain[name])
        }

    def particular(self) -> dict[str, tuple[str, ...]]:
        """What was said that only some engines heed, and which ones."""
        only = {option.name: option.metadata["only"] for option in fields(self)}
        return {name: only[name] for name in self.given_fields() if only[name]}

    def over(self, other: Reading) -> Reading:
        """This, and what the other says where this says nothing."""
        return replace(other, **self.given_fields())  # type: ignore[arg-type]  # of these fields

    def about(self, *subjects: OptionSubject) -> Reading:
        """What it says of some subjects alone."""
        names = {option.name for option in options_about(*subjects)}
        chosen_fields = {
            name: value for name, value in self.given_fields().items() if name in names
        }
        return Reading(**chosen_fields)  # type: ignore[arg-type]  # of these fields

    def of_form(self, form: FileForm) -> Reading:
        """The same, of a file that is written like this, whatever was said of it."""
        plain = Reading()
        file_fields = {option.name: getattr(plain, option.name) for option in options_about("file")}
        if form.is_text:
            file_fields |= {"delimiter": form.delimiter, "form": form}
            file_fields |= {} if form.encoding == "utf-8" else {"encoding": form.encoding}
        elif form.codes:  # in whatever format they were published, they are no words
            file_fields |= {"form": form}
        return replace(self, **file_fields)

    def memory_limit(self) -> int:
        """How many bytes may be taken."""
        return machine_memory() if self.memory is None else in_bytes(self.memory)

    def of_a_table(self) -> Reading:
        """The same, if it says nothing that only a release has."""
        if strange := self.about("release").given_fields():
            raise InputError(
                f"{', '.join(strange)}: that is about a release; read it with read_release, or "
                "leave it out"
            )
        return self


def _by_column(name: str, given: object, *, several: bool) -> Any:
    """What is said of all columns, or of each: texts, or `several` of them."""
    if given is None or (isinstance(given, Sequence | Mapping) and not given):
        return None
    by_column = given if isinstance(given, Mapping) else {ALL_COLUMNS: given}
    plain: dict[str, Any] = {}
    for column, texts in by_column.items():
        listed: Any = [texts] if isinstance(texts, str) else texts
        good = isinstance(column, str) and isinstance(listed, Sequence) and len(listed) > 0
        if not good or not all(type(text) in (str, int, float) for text in listed):
            expected = "a list of texts" if several else "a text"
            raise InputError(
                f"{name} = {quoted(given)} is not allowed; give {expected}, or one a column"
            )
        if not several and len(listed) > 1:
            raise InputError(f"{name}: column {column!r} has {len(listed)} entries; give one")
        plain[column] = tuple(map(str, listed)) if several else str(listed[0])
    return plain[ALL_COLUMNS] if set(plain) == {ALL_COLUMNS} else plain


def by_column(words: Sequence[str]) -> dict[str, list[str]]:
    """What COLUMN=... and words without a column say, as options are given."""
    listed: dict[str, list[str]] = {}
    for word in words:
        column, _, text = word.partition("=")
        if text and column:
            listed.setdefault(column, []).append(text)
        else:
            listed.setdefault(ALL_COLUMNS, []).append(word)
    return listed


def _check_known(name: str, word: str | None, allowed: Collection[str]) -> None:
    if word is not None and word not in allowed:
        raise InputError(f"{name} {word!r} is not known; {did_you_mean(word, allowed)}")


def form_stated(entries: Mapping[str, object]) -> Reading:
    """What the entry of a file of people says of how it is written."""
    for name in entries:
        if name not in OF_ONE_FILE:
            raise InputError(f"unknown key {name!r} in read; {did_you_mean(name, OF_ONE_FILE)}")
    return Reading(**entries)  # type: ignore[arg-type]  # each is checked there


def options_about(*subjects: OptionSubject) -> list[Field[object]]:
    """The fields of Reading about these subjects."""
    return [option for option in fields(Reading) if option.metadata["subject"] in subjects]


class FileOptions(TypedDict, total=False):
    """The keywords of `sf.draft_policy`: the fields of Reading about how a file is written."""

    delimiter: str | None
    decimal: str | None
    encoding: str | None
    dates: DateForms
    first_year: int | None
    missing: MissingMarks
    codes: SpecialCodes
    partitioned: bool
    sheet: str | None
    header: int | None


class TableOptions(FileOptions, total=False):
    """The keywords of `sf.read`: the fields of Reading about tables."""

    engine: str | None
    master: str | None
    memory: str | None
    spill: str | Path | None
    threads: int | None
    facts: object


class ReleaseOptions(TableOptions, total=False):
    """The keywords of `sf.read_release`: all fields of Reading."""

    group: str | None
    scheme: FileScheme
    matching: MatchingName
    separator: Separator
