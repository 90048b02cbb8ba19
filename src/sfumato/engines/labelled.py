"""Files of statistics packages, by pyreadstat: SPSS (.sav), Stata (.dta), SAS (.xpt, .sas7bdat).

They say what columns are and what codes stand for, and that goes on to a release: a column left
with single values keeps its type, its label and the labels of the values that are published; one
that holds ranges or sets is text, and keeps its own label alone. What a file declares missing is.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from sfumato.engines.files import WholeFile, shown_name
from sfumato.engines.form import FileForm
from sfumato.errors import InputError, MissingExtra

NAMES = {"sav": "SPSS", "dta": "Stata", "xpt": "SAS transport", "sas7bdat": "SAS"}
_READERS = {
    "sav": "read_sav",
    "zsav": "read_sav",
    "dta": "read_dta",
    "xpt": "read_xport",
    "sas7bdat": "read_sas7bdat",
}
_WRITERS = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}
_NUMBERS = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "float": pa.float32(),
    "double": pa.float64(),
}


def _pyreadstat() -> ModuleType:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra(
            "files of SPSS, Stata and SAS need pyreadstat: pip install 'sfumato[files]'"
        ) from None
    module: ModuleType = pyreadstat
    return module


def read_labelled(path: Path) -> WholeFile:
    """A file of a statistics package: its rows, what it says of them, what became of them."""
    ending = path.suffix.lower()[1:]
    reader = getattr(_pyreadstat(), _READERS[ending])
    missing = {} if ending == "xpt" else {"user_missing": True}
    try:
        try:
            columns, about = reader(str(path), output_format="dict", **missing)
        except (OverflowError, ValueError):  # a date that it cannot hold, such as seconds for days
            numbers = {"disable_datetime_conversion": True}
            columns, about = reader(str(path), output_format="dict", **missing, **numbers)
    except Exception:  # it has no one error for what a damaged file may lead it to
        kind = NAMES.get(ending, "SPSS")
        raise InputError(
            f"{shown_name(path)} is damaged, or not a {kind} file; write it again"
        ) from None
    arrays, declared = [], {}
    for name, cells in columns.items():
        number = _NUMBERS.get(about.readstat_variable_types[name])
        ranges, letters = about.missing_ranges.get(name), about.missing_user_values.get(name)
        if number is not None and letters:
            cells = [None if isinstance(cell, str) else cell for cell in cells]
            declared[name] = ", ".join(f".{letter}" for letter in letters)
        elif ranges:
            cells = [None if _within(cell, ranges) else cell for cell in cells]
            declared[name] = ", ".join(map(_range_text, ranges))
        shown_as = _scale_of(ending, about.original_variable_types.get(name) or "")
        array = _array(cells, number)
        arrays.append(array if shown_as is None else _as_moments(array, *shown_as))
    table = pa.table(arrays, names=list(columns))
    format = {"sav": "sav", "dta": "dta"}.get(ending[-3:], "xpt")
    form = FileForm(
        format=format,  # type: ignore[arg-type]  # one of these
        labels={name: label for name, label in about.column_names_to_labels.items() if label},
        value_labels=about.variable_value_labels,
        types=dict(zip(table.schema.names, table.schema.types, strict=True)),
        formats={name: way for name, way in about.original_variable_types.items() if way},
        measures={name: way for name, way in about.variable_measure.items() if way != "unknown"},
        file_label=about.file_label or "",
    )
    return WholeFile(table, form, _notes(path, ending, declared))


def _notes(path: Path, ending: str, declared: Mapping[str, str]) -> tuple[str, ...]:
    notes = []
    if declared:
        missing_values = "; ".join(f"{name} {values}" for name, values in declared.items())
        notes.append(
            f"{shown_name(path)} declares values missing, and so they are read: {missing_values}"
        )
    if ending == "sas7bdat":
        notes.append(
            "no program but SAS writes .sas7bdat: a release of it is written as .xpt, or as "
            "--format says; labels of values are in a catalogue of SAS's and are not read"
        )
    return tuple(notes)


def _within(cell: Any, ranges: Sequence[Mapping[str, Any]]) -> bool:
    return cell is not None and any(
        isinstance(cell, str) == isinstance(bounds["lo"], str)
        and bounds["lo"] <= cell <= bounds["hi"]
        for bounds in ranges
    )


def _range_text(bounds: Mapping[str, Any]) -> str:
    low, high = (f"{end:g}" if isinstance(end, float) else str(end) for end in bounds.values())
    return low if low == high else f"{low} to {high}"


def _array(cells: list[Any], number: pa.DataType | None) -> pa.Array:
    """Cells in the type that the file declares; a blank text is how these files say missing."""
    present = next((cell for cell in cells if cell is not None), None)
    if isinstance(present, dt.time):
        return pa.array([None if cell is None else cell.isoformat() for cell in cells])
    if isinstance(present, dt.date):
        return pa.array(cells)
    if number is None:
        return pa.array([cell or None for cell in cells], pa.string())
    return pa.array(cells, number)


# Dates that pyreadstat leaves as numbers: it knows a few of the ways in which they are shown.
_ZERO = {"sav": dt.datetime(1582, 10, 14)}  # Stata and SAS count from 1960 on
_SAS_DAYS = re.compile(
    r"DATE|(YYMMDD|DDMMYY|MMDDYY|MMYY|YYMM)[BCDNPS]?|WEEKDAT[EX]|WORDDAT[EX]|"
    r"(IS|E|B)8601DA|DAY|WEEKDAY|DOWNAME|MONNAME|MONTH|MONYY|YEAR|QTRR?|YYMON|YYQR?[CDNPS]?|YYWEEK[UVW]|WEEK[UVW]|"
    r"JULDAY|JULIAN|MINGUO|NENGO|PDJUL[GI]|NLDATE(L|M|MD|MDL|MDM|MDS|MN|S|W|WN|YM|YML|YMM|YMS|YQ|YR)?|"
    r"EURDF(DD|DE|DN|DWN|MN|MY|WDX|WKX)"
)
_SAS_SECONDS = re.compile(
    r"DATETIME|DATEAMPM|MDYAMPM|DT(DATE|MONYY|WKDATX|YEAR|YYQC)|(IS|E|B)8601(DT|DX|DZ|LX|DN)|"
    r"NLDATM[A-Z]*|EURDFDT"
)
_SPSS_DAYS = re.compile("DATE|[AEJS]DATE|MOYR|QYR|WKYR")


def _scale_of(ending: str, format: str) -> tuple[dt.datetime, float, bool] | None:
    """What a format says that numbers are: moments, from when on, in how many seconds; or days."""
    zero = _ZERO.get(ending[-3:], dt.datetime(1960, 1, 1))
    if ending == "dta":
        kind = re.match(r"%-?(t?d|t[cC])", format)
        if kind is None:
            return None
        return (zero, 1 / 1000, False) if kind[1][-1] in "cC" else (zero, 86_400, True)
    name = re.sub(r"\d+(\.\d*)?\.?$", "", format.upper())
    if ending[-3:] == "sav":
        days = _SPSS_DAYS.fullmatch(name) is not None
        moments = name in ("DATETIME", "YMDHMS")
        return (zero, 1, days) if days or moments else None
    if _SAS_SECONDS.fullmatch(name):
        return zero, 1, False
    return (zero, 86_400, True) if _SAS_DAYS.fullmatch(name) else None


def _as_moments(array: pa.Array, zero: dt.datetime, unit: float, days: bool) -> pa.Array:
    """Numbers as the dates that they are shown as; as they are, where some lie in no calendar."""
    if not pa.types.is_floating(array.type) and not pa.types.is_integer(array.type):
        return array
    moments = []
    for number in array.to_pylist():
        try:
            moments.append(None if number is None else zero + dt.timedelta(seconds=number * unit))
        except (OverflowError, ValueError):
            return array
    if days:
        return pa.array([moment and moment.date() for moment in moments], pa.date32())
    return pa.array(moments, pa.timestamp("us"))


def write_labelled(table: pa.Table, path: Path, form: FileForm) -> None:
    """One published table as such a file, with labels of what it holds."""
    program = _pyreadstat()
    try:
        import pandas
    except ImportError:
        raise MissingExtra(
            "to write files of SPSS, Stata and SAS takes pandas: pip install 'sfumato[files]'"
        ) from None
    nullable = {
        pa.int8(): pandas.Int8Dtype(),
        pa.int16(): pandas.Int16Dtype(),
        pa.int32(): pandas.Int32Dtype(),
    }
    numbers = [field.name for field in table.schema if not pa.types.is_string(field.type)]
    named = {name: form.labels[name] for name in table.schema.names if name in form.labels}
    about: dict[str, Any] = {"column_labels": named, "file_label": _short_label(form)}
    formats = {name: form.formats[name] for name in numbers if name in form.formats}
    if form.format != "xpt":
        about["variable_value_labels"] = _fitting(table, form)
    if form.format == "sav":
        measures = {name: form.measures.get(name) for name in table.schema.names}
        about["variable_measure"] = {
            name: measure if name in numbers else "nominal"
            for name, measure in measures.items()
            if measure is not None
        }
    if form.types:  # formats are those of the file it came from, if that is of the same program
        about["variable_format"] = formats
    wide = [pa.float64() if pa.types.is_int64(kind) else kind for kind in table.schema.types]
    fields = zip(table.schema.names, wide, strict=True)
    try:
        frame = table.cast(pa.schema(list(fields))).to_pandas(types_mapper=nullable.get)
        getattr(program, _WRITERS[form.format])(frame, str(path), **about)
    except Exception:  # what it says may name a value
        raise InputError(
            f"these columns cannot be a {NAMES[form.format]} file: names must begin with a letter "
            "and hold letters, digits and _ alone, texts may not be too long, nor whole numbers "
            "beyond 2^53; change them, or name another --format"
        ) from None


def _short_label(form: FileForm) -> str:
    """What the file is, as far as its format has room: no sign is cut in half."""
    if form.format == "dta":
        return form.file_label[:80]
    room = 64 if form.format == "sav" else 40
    return form.file_label.encode()[:room].decode(errors="ignore")


def _fitting(table: pa.Table, form: FileForm) -> dict[str, dict[Any, str]]:
    """The labels of values, of columns that still hold such values."""
    kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
    return {
        name: dict(labels)
        for name, labels in form.value_labels.items()
        if labels
        and name in kinds
        and all(isinstance(value, str) == pa.types.is_string(kinds[name]) for value in labels)
    }
