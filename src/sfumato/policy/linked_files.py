"""Files a policy names: a register of the population, an adversary's data, earlier releases.

Their names are relative to the policy. A policy that is saved tells where its files are from its
new place, with the SHA-256 they had when they were read: a file that is no longer the same is
refused when the policy is loaded again. What is no file (a frame, a release just made) is written
beside the policy: the counts that were used, or what the release publishes; for its owner only.

    population = "register.csv"
    population = { file = "register.csv", read = { delimiter = "," } }  # where [read] says another
    prior = { file = "census.csv", columns = ["age", "sex"] }  # the quasi-identifiers it has
    adversary = { shape = { file = "census.csv", count = "people" } }  # people a row stands for
    adversary = { shape = { file = "release-2023" }, by_region = true }  # a release folder of ours
    earlier = ["ledger.sqlite", "release-2023"]
    earlier = [{ file = "ledger.sqlite", releases = ["2022", "2023"], sha256 = "..." }]
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.adversaries.locating.people import WEIGHTS
from sfumato.adversaries.priors import FILE, Outside, Prior, PriorGiven, file_named, plain_prior
from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.adversaries.relative_threat.guesses import Gain
from sfumato.engines.files import check_sheet
from sfumato.engines.reading import Reading, form_stated
from sfumato.engines.textfile import reading_of_another
from sfumato.errors import InputError, PolicyError, ResourceError, did_you_mean, other_than_file
from sfumato.files import new_file
from sfumato.ledger.content import pack, unpack
from sfumato.ledger.earlier import PACKED, Earlier, SomeOfLedger
from sfumato.release.read.folder import find_manifest
from sfumato.release.read.read_release import read_release
from sfumato.release.release import Release
from sfumato.schema.roles import Schema
from sfumato.table import FileStamp, Table, digest, load_register, load_table, real_path

_PLAIN = Reading()
Slot = Literal["population", "prior", "shape", "shape by region"]


@dataclass(frozen=True)
class Link:
    """A file as a policy names it."""

    file: Path
    """The file, or the folder of a release. Example: `file = "register.csv"`."""
    sha256: str | None = None
    """What its SHA-256 must be; a policy that is saved says it. Example: `sha256 = "9f86d0..."`."""
    count: str | None = None
    """The column that says how many people a row stands for. Example: `count = "people"`."""
    columns: tuple[str, ...] | None = None
    """The quasi-identifiers it has, if not all. Example: `columns = ["age", "sex"]`."""
    releases: tuple[str, ...] | None = None
    """Of a ledger, these releases alone. Example: `releases =
    ["2022", "2023"]` with `file = "ledger.sqlite"`.
    """
    read: Mapping[str, Any] | None = None
    """How it is written, where that is not what `[read]` says of the policy's table. Example:
    `read = { delimiter = ",", decimal = "." }`.
    """


# -- loading ---------------------------------------------------------------------------------------


def linked(
    where: str,
    entry: Mapping[str, Any],
    folder: Path,
    schema: Schema | None,
    table_reading: Reading = _PLAIN,
) -> dict[str, Any]:
    """A `[[require]]` table with what its files hold in the place of their names.

    `table_reading`: what `[read]` says, which is likely to be so of a file of other people as well.
    """
    entry_read = dict(entry)
    population = entry.get("population")
    if population is not None and population != WEIGHTS:
        link = _link(where, "population", population, folder)
        entry_read["population"] = (
            _people(where, "population", link, schema, table_reading) if link else population
        )
    if "prior" in entry:
        entry_read["prior"] = linked_prior(
            where, entry["prior"], folder, schema, table_reading=table_reading
        )
    adversary = entry.get("adversary")
    if isinstance(adversary, Mapping) and "shape" in adversary:
        slot: Slot = (
            "shape by region" if adversary.get("by_region") or adversary.get("by_cell") else "shape"
        )
        entry_read["adversary"] = {
            **adversary,
            "shape": linked_prior(where, adversary["shape"], folder, schema, slot, table_reading),
        }
    if "earlier" in entry:
        entry_read["earlier"] = _earlier(where, entry["earlier"], folder, schema)
    return entry_read


def linked_prior(
    where: str,
    given: PriorGiven,
    folder: Path,
    schema: Schema | None,
    slot: Slot = "prior",
    table_reading: Reading = _PLAIN,
) -> PriorGiven:
    """A prior with the people of its file in the place of the file's name."""
    named = file_named(given)
    key = "prior" if slot == "prior" else "shape"
    link = None if named is None else _link(where, key, named, folder)
    return given if link is None else _people(where, slot, link, schema, table_reading)


_ALSO = {
    "population": "anything else",
    "prior": "anything else",
    "shape": "shares or counts",
    "earlier": "anything else",
}
_TEXTS = dict.fromkeys(("sha256", "count"), str)
_KEYS: dict[str, type] = {**_TEXTS, "columns": list, "releases": list, "read": dict}


def _link(where: str, key: str, given: object, folder: Path) -> Link | None:
    """The file that is named; None where none is."""
    if isinstance(given, str):
        return Link(folder / given)
    if not isinstance(given, Mapping) or not isinstance(given.get(FILE), str):
        return None
    allowed = ("sha256", "releases") if key == "earlier" else ("sha256", "count", "columns", "read")
    for option, value in given.items():
        if option == FILE:
            continue
        if option not in allowed:
            raise PolicyError(
                f"{where}: {key} names a file; it cannot name {_ALSO[key]} as well "
                f"({option!r}; allowed beside file: {', '.join(allowed)})"
            )
        listed = not isinstance(value, list) or all(isinstance(path, str) for path in value)
        if not isinstance(value, _KEYS[option]) or not value or not listed:
            raise PolicyError(f"{where}: {key}: {option} = {value!r} is not allowed")
    options: dict[str, Any] = {name: given[name] for name in given if name != FILE}
    options |= {name: tuple(given[name]) for name in ("columns", "releases") if name in given}
    return Link(folder / given[FILE], **options)


def _check_same(where: str, link: Link, content: Path) -> None:
    """Refuse a file that is not the one the policy was saved with."""
    if link.sha256 is None or not content.is_file() or digest(content) == link.sha256.lower():
        return
    raise PolicyError(
        f"{where}: {link.file.name} is not the file the policy was saved with, its sha256 differs; "
        "restore it, or take sha256 out of the policy to use it as it is now"
    )


def _people(
    where: str, slot: Slot, link: Link, schema: Schema | None, table_reading: Reading
) -> Table | Release:
    """People from outside: a table of them, or a release about them."""
    if link.file.is_dir() or link.file.suffix == PACKED:
        for option in ("count", "columns", "read"):
            if getattr(link, option) is not None:
                raise PolicyError(
                    f"{where}: {option} is about a table; {link.file.name} is a release, which "
                    "tells itself what it counts, and how it is written"
                )
        return _release(where, link, schema)
    if schema is None or (slot != "population" and not schema.sensitive):
        raise PolicyError(f"{where}: {link.file.name} needs the [schema] of its columns")
    _check_same(where, link, link.file)
    wanted = slot_schema(slot, schema, link.columns)
    wanted = wanted if link.count is None else replace(wanted, count=link.count)
    try:
        own = form_stated(link.read or {})
        check_sheet(own, (link.file,))
    except InputError as error:
        raise PolicyError(f"{where}: {slot}: {error}") from None
    reading = _reading_of_link(slot, link.file, wanted, schema, table_reading, own)
    if slot == "population":
        people = load_register(link.file, wanted, schema.person, reading)
    else:
        people = load_table(link.file, wanted, reading)
    return replace(people, file=FileStamp.of(link.file), read_as=reading)


def _reading_of_link(
    slot: Slot, file: Path, wanted: Schema, schema: Schema, table_reading: Reading, own: Reading
) -> Reading:
    """How a file of people is read: as its own entry says, else as the policy's table is.

    What `[read]` says of which sheet and engine is of that table alone.
    """
    needed = {name for role, name in wanted.roles() if slot != "shape" or role == "sensitive"}
    likely = own.over(table_reading.of_others({*needed, str(schema.person)}))
    in_file = {name for _, name in wanted.roles()}
    return own.over(reading_of_another(likely, [file], in_file))


def _release(where: str, link: Link, schema: Schema | None) -> Release:
    if link.file.is_dir():
        manifest = find_manifest(link.file)
        assert manifest is not None
        _check_same(where, link, manifest)
        return read_release(link.file, schema)
    _check_same(where, link, link.file)
    if not link.file.is_file():
        raise InputError(f"{link.file} {other_than_file(link.file) or 'does not exist'}")
    return unpack(link.file.read_bytes(), link.file.stem, FileStamp.of(link.file))


def slot_schema(slot: Slot, schema: Schema, columns: Sequence[str] | None = None) -> Schema:
    """How a file of people is read, by what it is for.

    `columns`: the quasi-identifiers it has. Where only its sensitive values matter the first of
    them is read along as plain text.
    """
    for name in columns or ():
        if name not in schema.quasi:
            raise PolicyError(
                f"columns: {name!r} is not a quasi-identifier; {did_you_mean(name, schema.quasi)}"
            )
    quasi = tuple(name for name in schema.quasi if columns is None or name in columns)
    if slot == "population":
        return schema.of_register(quasi)
    if slot != "shape":
        return schema.part(quasi, tuple(schema.sensitive))
    first = quasi[0]
    values = schema.part((first,), tuple(schema.sensitive))
    hierarchies = {
        name: hierarchy for name, hierarchy in values.hierarchies.items() if name != first
    }
    return replace(
        values, hierarchies=hierarchies, domains={**values.domains, first: "categorical"}
    )


def _earlier(where: str, given: object, folder: Path, schema: Schema | None) -> Earlier:
    """A ledger, or a list of ledgers and release folders."""
    names = given if isinstance(given, list) else [given]
    links = [_link(where, "earlier", name, folder) for name in names]
    if not links or None in links:
        raise PolicyError(
            f"{where}: earlier = {given!r} is not allowed; name a ledger, or list ledgers and "
            "release folders"
        )
    try:
        sources = [_source(where, link) for link in links if link is not None]
        return Earlier(sources, schema)
    except InputError as error:
        raise PolicyError(f"{where}: earlier: {error}") from None


def _source(where: str, link: Link) -> Path | SomeOfLedger:
    if link.releases is not None:
        kept = SomeOfLedger(link.file, link.releases, link.sha256)
        kept.check()
        return kept
    if link.file.is_dir() or link.file.suffix == PACKED:
        _check_same(where, link, find_manifest(link.file) or link.file)
    elif link.sha256 is not None:
        raise PolicyError(
            f"{where}: earlier: a ledger grows, so its sha256 is that of the releases named beside "
            f"it; name them ({link.file.name}: releases = [...]), or leave sha256 out"
        )
    return link.file


# -- saving ----------------------------------------------------------------------------------------


class Links:
    """Tells a policy file that is being written where the files are, and writes what is none.

    `beside`: the folder the policy is written to; `home` the one it will be in, if that is another.
    Files in `gone`, a folder that is being replaced, are copied. `pinned`: earlier releases are
    those that were read, whatever a ledger holds later. `table_reading`: what `[read]` says.
    """

    def __init__(
        self,
        beside: Path,
        schema: Schema | None,
        *,
        home: Path | None = None,
        gone: Path | None = None,
        pinned: bool = False,
        table_reading: Reading = _PLAIN,
    ) -> None:
        self._beside, self._schema, self.pinned = beside, schema, pinned
        self._table_reading = table_reading
        self._home = real_path(beside if home is None else home)
        self._gone = None if gone is None else real_path(gone)

    def plain(self, name: str, value: Any) -> Any:
        """A criterion's option as a policy file holds it."""
        if isinstance(value, RealisticAdversary):
            settings = value.settings()
            slot: Slot = "shape by region" if value.by_region or value.by_cell else "shape"
            if isinstance(value.shape, Outside):
                settings["shape"] = self._people_entry(slot, value.shape.people)
            return settings
        if isinstance(value, Outside):
            return self._people_entry("prior", value.people)
        if isinstance(value, Prior):
            return plain_prior(value)
        if isinstance(value, Gain):
            return value.plain
        if isinstance(value, Earlier):
            return [
                plain_source
                for source in value.sources
                for plain_source in self._sources(value, source)
            ]
        if isinstance(value, Table | Release):
            return self._people_entry("population", value)
        return self._relative(value) if isinstance(value, Path) else value

    def any_in(self, criteria: Sequence[Any]) -> bool:
        """Whether some criterion holds people from outside, whom a schema must describe."""
        for criterion in criteria:
            for value in vars(criterion).values():
                people = value.shape if isinstance(value, RealisticAdversary) else value
                if isinstance(people, Table | Release | Outside):
                    return True
        return False

    def _people_entry(self, slot: Slot, value: Table | Release) -> dict[str, Any]:
        if isinstance(value, Release):
            return self._of_release(slot, value)
        if self._schema is None:
            raise PolicyError(
                f"{slot}: a file needs the [schema] of its columns; give the policy its schema"
            )
        read_options = _read_alike(slot, value, self._schema, self._table_reading)
        named = None
        if value.file is not None and read_options is not None:
            named = self._named(value.file)
        if named is None:
            return self._write_counts(slot, value, self._schema)
        return {**named, **(read_options or {})}

    def _of_release(self, slot: str, release: Release) -> dict[str, Any]:
        named = None if release.file is None else self._named(release.file)
        if named is not None:
            return named
        path = self._free(slot, PACKED)
        _write_private(path, pack(release))
        return self._written(path)

    def _sources(self, earlier: Earlier, source: Any) -> list[Any]:
        if isinstance(source, Release):
            return [self._of_release("earlier", source)]
        path = Path(source if isinstance(source, str | Path) else source.path)
        if self._is_going(path):
            return [self._of_release("earlier", release) for release in earlier.read(source)]
        if isinstance(source, SomeOfLedger):
            return [self._of_ledger(source)]
        if earlier.was_read(source) and earlier.of_ledger(source) is None:
            return [self._of_release("earlier", release) for release in earlier.read(source)]
        if path.is_dir() or path.suffix == PACKED:
            stamp = FileStamp.of(path, find_manifest(path))
            return [self._relative(path) if stamp is None else self._named(stamp)]
        part_of_ledger = earlier.of_ledger(source) if self.pinned else None
        return [self._relative(path) if part_of_ledger is None else self._of_ledger(part_of_ledger)]

    def _of_ledger(self, part_of_ledger: SomeOfLedger) -> dict[str, Any]:
        return {
            FILE: self._relative(part_of_ledger.path),
            "releases": list(part_of_ledger.names),
            **({} if part_of_ledger.sha256 is None else {"sha256": part_of_ledger.sha256}),
        }

    def _named(self, stamp: FileStamp) -> dict[str, Any] | None:
        """A file by its name; None where it is not, or will not be, what was read."""
        if self._is_going(stamp.path):
            return None
        sha256 = stamp.sha256()
        return None if sha256 is None else {FILE: self._relative(stamp.path), "sha256": sha256}

    def _is_going(self, path: Path) -> bool:
        """Whether a file lies in the folder that is being replaced."""
        return self._gone is not None and real_path(path).is_relative_to(self._gone)

    def _relative(self, path: Path) -> str:
        there = real_path(path)
        try:
            return Path(os.path.relpath(there, self._home)).as_posix()
        except ValueError:  # another drive
            return there.as_posix()

    def _free(self, name: str, suffix: str) -> Path:
        """A name beside the policy that nothing has yet."""
        stem, number = name.replace(" ", "-"), 1
        while (path := self._beside / f"{stem}-{number}{suffix}").exists():
            number += 1
        return path

    def _written(self, path: Path) -> dict[str, Any]:
        return {FILE: path.name, "sha256": digest(path)}

    def _write_counts(self, slot: Slot, table: Table, schema: Schema) -> dict[str, Any]:
        """The people of a table by what matters of them: distinct combinations, and how many."""
        if table.rows is not None:
            raise PolicyError(
                f"{slot}: a policy cannot keep whose rows are whose in {table.source.label}; name "
                "a file of them"
            )
        if not table.counts.fits_memory:
            raise ResourceError(
                f"{slot}: {table.source.label} is no file and larger than memory, so the policy "
                "cannot keep it; read it from a file"
            )
        counts = table.counts.in_memory("keeping a table beside its policy")
        columns: dict[str, Any] = {}
        for domain, codes in zip(counts.quasi, counts.codes, strict=True):
            if slot != "shape" and domain.name in schema.quasi:
                columns[domain.name] = pa.array(list(domain.values)).take(pa.array(codes))
        known = [name for name in schema.quasi if name in columns]
        if slot == "shape":  # only the sensitive values matter
            known = [schema.quasi[0]]
            columns[known[0]] = pa.array(["*"] * len(counts))
        for place, attribute in enumerate(counts.sensitive):
            if slot != "population" and attribute.name in schema.sensitive:
                if attribute.sets is not None:
                    raise PolicyError(f"{slot}: people of the table have several values each")
                values = pa.array(list(attribute.domain.values))
                columns[attribute.name] = values.take(pa.array(counts.values[place]))
        people = "people"
        while people in {*schema.quasi, *schema.sensitive}:
            people += "_"
        rows = pa.table({**columns, people: pa.array(counts.n.astype(np.int64))})
        merged = rows.group_by(list(columns)).aggregate([(people, "sum")])
        path = self._free(slot, ".parquet")
        sink = pa.BufferOutputStream()
        pq.write_table(merged.rename_columns([*columns, people]).sort_by(people), sink)
        _write_private(path, sink.getvalue().to_pybytes())
        whole = len(known) == len(schema.quasi) or slot == "shape"
        column_option = {} if whole else {"columns": known}
        return {**self._written(path), "count": people, **column_option}


def _read_alike(
    slot: Slot, table: Table, schema: Schema, table_reading: Reading
) -> dict[str, Any] | None:
    """The options with which a policy reads a file as it was read; None if it reads otherwise."""
    read_with = table.schema
    if not set(schema.sensitive) <= {
        *read_with.sensitive,
        *(schema.sensitive if slot == "population" else ()),
    }:
        return None
    default_schema = slot_schema(slot, schema)
    shared_columns = [name for name in schema.quasi if name in read_with.quasi]
    if not shared_columns:
        return None
    columns = (
        default_schema.quasi
        if set(default_schema.quasi) <= set(shared_columns)
        else tuple(shared_columns)
    )
    asked = slot_schema(slot, schema, columns)
    matter = [*asked.sensitive, *(asked.quasi if slot != "shape" else ())]
    for by_column in ("hierarchies", "domains", "levels", "lists"):
        file_options, policy_options = getattr(read_with, by_column), getattr(asked, by_column)
        if any(file_options.get(name) != policy_options.get(name) for name in matter):
            return None
    for option in ("nulls", "several", "person", "rows"):
        if getattr(read_with, option) != getattr(asked, option):
            return None
    options: dict[str, Any] = {} if columns == default_schema.quasi else {"columns": list(columns)}
    options |= {} if read_with.count is None else {"count": read_with.count}
    if table.file is None:
        return options
    wanted = asked if read_with.count is None else replace(asked, count=read_with.count)
    for own in (Reading(), table.read_as):
        reading = _reading_of_link(slot, table.file.path, wanted, schema, table_reading, own)
        if reading == table.read_as:
            return {**options, "read": own.given_fields()} if own.given_fields() else options
    return None


def _write_private(path: Path, content: bytes) -> None:
    with new_file(path, kind="policy's file") as new:
        new.write_bytes(content)
