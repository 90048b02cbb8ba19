"""Kinds of files, told by their names; what is wrong with one is told before an engine opens it.

A table may be a folder of Parquet files, where somebody asks for that.
"""

from __future__ import annotations

import gzip
import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.engines.form import FileForm, Format, Packing, TextEnding
from sfumato.errors import InputError, list_some, other_than_file, quoted

if TYPE_CHECKING:
    from sfumato.engines.reading import Reading

# What Parquet files say of their columns, and what engines cannot tell apart in them.

SchemaNode = tuple[Any, ...]  # name, number of children, physical type, ...: rows of parquet_schema


def top_level(nodes: Sequence[SchemaNode]) -> list[str]:
    """The columns of a file: of its nodes, root first, those that are in no other."""
    return [str(column[0][0]) for column in _columns(nodes)]


def _columns(nodes: Sequence[SchemaNode]) -> Iterator[list[SchemaNode]]:
    """The nodes of each column, its own first."""
    column: list[SchemaNode] = []
    inside = 0  # nodes yet to come that belong to this column
    for node in nodes[1:]:
        column.append(node)
        inside += (node[1] or 0) - (len(column) > 1)
        if not inside:
            yield column
            column = []


def check_told_apart(
    label: str, nodes: Sequence[SchemaNode], types: Sequence[pa.DataType], paths: Sequence[Path]
) -> None:
    """Refuse columns of which the engine makes one value of several.

    It reads decimals of more than 38 digits as floats, and times in twelve bytes (INT96) as
    microseconds, though they hold nanoseconds.
    """
    for (node, *inner), kind in zip(_columns(nodes), types, strict=False):  # then those of folders
        name, stored = node[0], {element[2] for element in (node, *inner)}
        if "DOUBLE" not in stored and pa.float64() in _leaves(kind):
            raise InputError(
                f"{label}: column {name!r} holds decimals of more than 38 digits, which cannot be "
                "told apart; convert it to text, or leave it out"
            )
    if any(node[2] == "INT96" for node in nodes):
        check_old_times(label, paths)


def check_old_times(label: str, paths: Sequence[Path]) -> None:
    """Refuse times in twelve bytes that are finer than any engine reads them."""
    if not all(map(_whole_microseconds, paths)):
        raise InputError(
            f"{label} holds times finer than a microsecond in an old form (INT96), which cannot be "
            "told apart; write them in the form of today (INT64), or as text"
        )


def _leaves(kind: pa.DataType) -> list[pa.DataType]:
    if not kind.num_fields:
        return [kind]
    return [leaf for at in range(kind.num_fields) for leaf in _leaves(kind.field(at).type)]


def _whole_microseconds(path: Path) -> bool:
    """Whether no time in twelve bytes has a part below a microsecond."""
    with path.open("rb") as fine_file, path.open("rb") as coarse_file:
        fine = pq.ParquetFile(fine_file, coerce_int96_timestamp_unit="ns")
        coarse = pq.ParquetFile(coarse_file, coerce_int96_timestamp_unit="us")
        described = [fine.schema.column(at) for at in range(len(fine.schema))]
        old = [column.path for column in described if column.physical_type == "INT96"]
        if not old:
            return True
        for part in range(fine.num_row_groups):
            exact, cut = (_times(file.read_row_group(part, columns=old)) for file in (fine, coarse))
            # Far from 1970 nanoseconds run over; so does the product, to the same number.
            if not np.array_equal(exact, cut * 1000):
                return False
    return True


def _times(table: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The numbers behind all times of a table."""
    times = [np.empty(0, np.int64)]
    for column in table.flatten().columns:
        while pa.types.is_list(column.type):
            column = pa.chunked_array([part.flatten() for part in column.chunks])
        if pa.types.is_timestamp(column.type):
            times.append(column.drop_null().cast(pa.int64()).to_numpy())
    return np.concatenate(times)


# Frames on their way to an engine: as Arrow tables, their columns checked.


def check_names(names: list[str], label: str) -> None:
    """Refuse columns that cannot be told apart."""
    if len(set(names)) < len(names):  # told by places: names may be somebody's row
        twice = [at for at, name in enumerate(names, start=1) if name in names[: at - 1]]
        raise InputError(
            f"{label}: column {list_some(twice)} has the name of another before it; rename the "
            "columns"
        )


def left_out(names: Sequence[str], needed: tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns of a source that are not needed."""
    return () if needed is None else tuple(name for name in names if name not in needed)


def called_by_place(reader: pa.RecordBatchReader, names: list[str]) -> pa.RecordBatchReader:
    """Some columns of a stream under the names c0, c1, ..."""
    places = [reader.schema.get_field_index(name) for name in names]
    fields = [reader.schema.field(at).with_name(f"c{n}") for n, at in enumerate(places)]
    schema = pa.schema(fields)
    batches = (
        pa.RecordBatch.from_arrays([batch.column(at) for at in places], schema=schema)
        for batch in reader
    )
    return pa.RecordBatchReader.from_batches(schema, batches)


def is_pandas(source: object) -> bool:
    return type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns")


def from_pandas(frame: Any, needed: tuple[str, ...] | None) -> pa.Table:
    """A frame's columns without its index: labels of rows are nobody's attribute."""
    names = [str(name) for name in frame.columns]
    check_names(names, "the table")
    wanted = [n for n in frame.columns if needed is None or str(n) in needed]
    arrays = []
    for name in wanted:
        try:
            arrays.append(pa.array(frame[name], from_pandas=True))
        except OverflowError:  # whole numbers beyond 64 bits are codes, not quantities
            missing = frame[name].isna()
            texts = [None if no else str(v) for v, no in zip(frame[name], missing, strict=True)]
            arrays.append(pa.array(texts, pa.string()))
        except UnicodeEncodeError:
            raise InputError(
                f"column {str(name)!r} holds half a sign (a surrogate without its other half), "
                "which no file can hold; correct its texts"
            ) from None
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            kinds = sorted({type(value).__name__ for value in frame[name].dropna().head(10_000)})
            raise InputError(
                f"column {str(name)!r} mixes types ({', '.join(kinds)}); convert it to one type"
            ) from None
    return pa.table(arrays, names=[str(name) for name in wanted])


FileKind = Literal["text", "parquet", "arrow", "workbook", "labelled"]
_ENDINGS: dict[FileKind, tuple[str, ...]] = {
    "text": tuple(
        f"{ending}{packing}"
        for ending in (".csv", ".tsv", ".txt")
        for packing in ("", ".gz", ".zst")
    ),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "workbook": (".xlsx",),
    "labelled": (".sav", ".zsav", ".dta", ".xpt", ".sas7bdat"),
}
_MAPPED = 1 << 28  # bytes beyond which an Arrow file is mapped rather than read
KNOWN_FILES = (
    "CSV (.csv, .tsv, .txt, also .gz and .zst), Parquet (.parquet, .pq), Arrow (.arrow, .feather), "
    "Excel (.xlsx), SPSS (.sav), Stata (.dta), SAS (.xpt, .sas7bdat)"
)
_GROWTH = 30  # how many times its size a file of these kinds takes in memory, at most about
_UNPACKED_GROWTH = 12  # how many times its unpacked size a workbook takes


def shown_name(path: Path) -> str:
    """A file's name as it may be shown, also where its bytes are no text."""
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")


def unreadable(path: Path, error: Exception) -> InputError:
    """What to say of a text file whose bytes do not come: of a packed one mostly half is there."""
    if packing_of(path) and not isinstance(error, PermissionError | FileNotFoundError):
        return InputError(
            f"{shown_name(path)} is damaged or not whole, or not packed as its name says; fetch or "
            "pack it again"
        )
    return InputError(f"{shown_name(path)} cannot be read: {type(error).__name__}")


def shown_path(path: Path) -> str:
    """The same of a whole path."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def packing_of(path: Path) -> Packing:
    """How a text file is packed."""
    return next(
        (
            packing
            for packing in get_args(Packing)
            if packing and path.suffix.lower() == f".{packing}"
        ),
        "",
    )


def text_ending_of(path: Path) -> TextEnding:
    """What the name of a text file ends with, but for how it is packed."""
    name = path.with_suffix("").name if packing_of(path) else path.name
    endings = (ending for ending in get_args(TextEnding) if name.lower().endswith(f".{ending}"))
    return next(endings, "csv")


def unpacked(path: Path) -> Any:
    """The bytes of a text file, unpacked if it is packed."""
    packing = packing_of(path)
    if packing == "gz":
        return gzip.open(path, "rb")
    file = path.open("rb")
    return file if not packing else pa.CompressedInputStream(pa.PythonFile(file), "zstd")


def types_of(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types of columns by their names."""
    return dict(zip(schema.names, schema.types, strict=True))


def parquet_form(path: Path) -> FileForm:
    """How a Parquet file, or the first of several, is written."""
    try:
        return FileForm(format="parquet", types=types_of(pq.read_schema(path)))
    except (pa.ArrowException, OSError):  # engines read it without what it says in Arrow's words
        return FileForm(format="parquet")


def schema_of(path: Path, format: Format) -> pa.Schema:
    """The columns of a Parquet or Arrow file, as it declares them."""
    if format == "parquet":
        return pq.read_schema(path)
    with path.open("rb") as file:
        return pa.ipc.open_file(file).schema


def kind_of(path: Path) -> FileKind:
    """How a file is to be read, or why it cannot be."""
    if not path.exists():
        raise InputError(f"{shown_path(path)} does not exist")
    if path.is_dir():
        raise InputError(
            f"{shown_name(path)} is a folder; give a file: {KNOWN_FILES}; for a folder of Parquet "
            "files that are one table, say so: --partitioned, or partitioned=True"
        )
    if problem := other_than_file(path):
        raise InputError(f"{shown_name(path)} {problem}")
    if path.stat().st_size == 0:
        raise InputError(f"{shown_name(path)} is empty: expected a header line and rows")
    for kind, endings in _ENDINGS.items():
        if path.name.lower().endswith(endings):
            return kind
    raise InputError(f"{shown_name(path)}: unknown kind of file; known: {KNOWN_FILES}")


def is_data(name: str) -> bool:
    """Whether a file of this name would be read as a table."""
    return any(name.lower().endswith(endings) for endings in _ENDINGS.values())


def is_text(path: Path) -> bool:
    """Whether a file that is there is to be read as delimited text."""
    return path.is_file() and path.stat().st_size > 0 and kind_of(path) == "text"


def check_sheet(reading: Reading, sources: Sequence[object]) -> None:
    """Refuse a sheet, or a row of one that names the columns, where no file has sheets."""
    paths = [Path(source) for source in sources if isinstance(source, str | Path) and source]
    files = [path for path in paths if path.is_file() and is_data(path.name)]
    kinds = {kind_of(path) for path in files}
    if not files or "workbook" in kinds:
        return
    label = shown_name(files[0])
    if reading.sheet is not None:
        raise InputError(f"{label} is no workbook, so it has no sheet; leave sheet out")
    if reading.header not in (None, 1) or (reading.header and "text" not in kinds):
        raise InputError(
            f"{label} is no workbook, where any row may name the columns: a text file's first line "
            "does (header 1), other files tell their names; leave header out"
        )


def read_arrow(path: Path) -> pa.Table:
    """An Arrow file, read (a large one is mapped), and looked through.

    Arrow believes what a file says of its offsets, lengths and dictionaries; of a damaged one that
    leads it outside the file, and the process with it. So does a mapped one that is cut while it
    is in use.
    """
    try:
        if path.stat().st_size > _MAPPED:
            content = pa.memory_map(os.fsencode(path))
        else:
            content = pa.BufferReader(path.read_bytes())
        with content:
            table = pa.ipc.open_file(content).read_all()
        table.validate(full=True)
        list(table.schema.names)  # texts, too, are believed until they are looked at
    except (pa.ArrowException, OSError, MemoryError, UnicodeError):
        raise InputError(
            f"{shown_name(path)} is damaged, or not an Arrow file; write it again"
        ) from None
    return table


@dataclass(frozen=True)
class WholeFile:
    """A file that is read into memory: its rows, its form, and what must be said of the reading."""

    table: pa.Table
    form: FileForm
    notes: tuple[str, ...] = ()
    untyped: bool = False


def read_whole(path: Path, kind: FileKind, reading: Reading) -> WholeFile:
    """A file of a kind that is read into memory."""
    if kind == "arrow":
        table = read_arrow(path)
        return WholeFile(table, FileForm(format="arrow", types=types_of(table.schema)))
    size = path.stat().st_size
    taken = max(
        size * _GROWTH, _unpacked_size(path) * _UNPACKED_GROWTH if kind == "workbook" else 0
    )
    if taken > reading.memory_limit():
        raise InputError(
            f"{shown_name(path)} has {size / 1e6:,.1f} MB and is read into memory whole, where it "
            f"may take {taken / 1e9:,.1f} GB; convert it to Parquet or CSV"
        )
    if kind == "workbook":
        from sfumato.engines.workbook import read_workbook

        return read_workbook(path, reading.sheet, reading.header)
    from sfumato.engines.labelled import read_labelled

    return read_labelled(path)


def _unpacked_size(path: Path) -> int:
    """What the parts of a packed workbook say they hold: a small file may hold very much."""
    try:
        with zipfile.ZipFile(path) as packed:
            return sum(part.file_size for part in packed.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return 0  # its reader will say so


def checked_path(given: str | Path) -> Path:
    """A path that the system can be asked about."""
    try:
        written = os.fsencode(given)
    except UnicodeEncodeError:
        written = b"\0"
    if not written or b"\0" in written:
        raise InputError(f"{quoted(str(given))} cannot be the name of a file")
    return Path(given)


# A table in parts: Parquet files in a folder, as engines on clusters write them.
#
# A folder is read only where somebody asks for it: the names of inner folders such as `year=2020`
# become columns then, and a folder that merely happens to be called so must never change a table.

_MISSING = "__HIVE_DEFAULT_PARTITION__"  # how engines write NULL in the name of a folder


@dataclass(frozen=True)
class Parts:
    """The files of one table; with `folder`, the folders between it and them name columns."""

    label: str
    files: tuple[Path, ...]
    folder: Path | None = None


def listed(folder: Path) -> Parts:
    """The Parquet files that stand in a folder of ours, whose manifest lists them."""
    return Parts(shown_name(folder), tuple(sorted(folder.glob("*.parquet"))))


def partitioned(folder: Path) -> Parts:
    """All Parquet files under a folder that holds nothing else, but folders like year=2020.

    Hidden files and those with a leading underscore are notes that engines leave for themselves.
    """
    label = shown_name(folder)
    files: list[Path] = []
    pending = [folder]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.name.startswith((".", "_")):
                continue
            if path.name == "manifest.json":
                raise InputError(f"{label} holds a release; read it as a release, not as a table")
            if path.is_dir():
                if "=" not in path.name:
                    raise InputError(
                        f"{label} has the folder {shown_name(path)!r}; parts of a table are "
                        "Parquet files, or folders like year=2020"
                    )
                pending.append(path)
            elif problem := other_than_file(path):
                raise InputError(f"{label}: {shown_name(path)} {problem}")
            elif path.suffix != ".parquet":
                raise InputError(
                    f"{label} holds {shown_name(path)!r}; a table in parts is Parquet files and "
                    "nothing else"
                )
            else:
                files.append(path)
    if not files:
        raise InputError(f"{label} holds no Parquet file")
    status = [path.stat() for path in files]
    again = len(files) - len({(about.st_dev, about.st_ino) for about in status})
    if again:
        raise InputError(
            f"{label}: {again} of its {len(files)} files are links to others of them, whose people "
            "would be counted twice; remove the links"
        )
    return Parts(label, tuple(sorted(files)), folder)


def partition_values(folder: Path, files: Sequence[Path]) -> list[dict[str, str | None]]:
    """For each file the columns that its folders name, as text."""
    by_file: list[dict[str, str | None]] = []
    for file in files:
        steps = [step.split("=", 1) for step in file.relative_to(folder).parent.parts]
        try:
            values = {_unquoted(name): _unquoted(value) for name, value in steps}
        except UnicodeError:  # two of them could become one value
            raise InputError(
                f"{shown_name(folder)} has folders whose names are not UTF-8; rename them"
            ) from None
        by_file.append({n: None if value == _MISSING else value for n, value in values.items()})
        if len(values) < len(steps) or list(by_file[-1]) != list(by_file[0]):
            raise InputError(
                f"{shown_name(folder)}: its files do not all stand in folders of the same columns"
            )
    return by_file


def _unquoted(text: str) -> str:
    """A name without its percent signs; an error where it is no text."""
    plain = unquote(text, errors="strict")
    plain.encode()  # fails for bytes that the file system could not decode
    return plain
