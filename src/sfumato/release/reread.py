"""A folder that we wrote, read back: the published content, exactly as it was published.

What the public side cannot know comes from the private side when it is there: the distribution of
the whole table, suppressed people included. Without it the published counts stand in, and a note
says so.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.engines.base import Engine
from sfumato.engines.sql import named, select
from sfumato.errors import InputError, name_some
from sfumato.release.bucketized import read_pair
from sfumato.release.groups import Floats, Groups
from sfumato.release.guarantee import Guarantee
from sfumato.release.publish import GROUP_ID
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.region import Value
from sfumato.schema.roles import Schema
from sfumato.table.file_stamp import FileStamp, digest
from sfumato.table.noisy_part import MANIFEST


def find_manifest(path: object) -> Path | None:
    """The manifest of a release folder (or its public/ part); None if this is no folder."""
    if not isinstance(path, str | Path) or not Path(path).is_dir():
        return None
    for public in (Path(path) / "public", Path(path)):
        if (public / MANIFEST).is_file():
            return public / MANIFEST
    raise InputError(f"{path} is a folder without {MANIFEST}; give a file or a release folder")


def folder_schema(manifest: dict[str, Any], schema: Schema | None) -> Schema:
    """What the published columns are; hierarchies and domains come from the owner's schema."""
    roles: dict[str, list[str]] = {"quasi": [], "sensitive": [], "keep": []}
    for column in manifest["columns"]:
        listed = roles.get(column["role"])
        if listed is not None and column["name"] not in listed:
            listed.append(column["name"])
    # How people's several values were counted and written the folder itself knows.
    several = [column["several"] for column in manifest["columns"] if "several" in column]
    lists = {column["name"]: column["list"] for column in manifest["columns"] if "list" in column}
    # Centroids are points that need not be values of any domain.
    if schema is None or manifest["scheme"] == "microaggregated":
        known = Schema(roles["quasi"], roles["sensitive"], keep=roles["keep"])
    else:
        known = schema.part(roles["quasi"], roles["sensitive"], roles["keep"])
    people = [column["name"] for column in manifest["columns"] if column["role"] == "count"]
    named = {name for names in roles.values() for name in names} | set(people)
    return replace(
        known,
        identifiers=[] if schema is None else [n for n in schema.identifiers if n not in named],
        lists=lists,
        several=several[0] if several else known.several,
        count=people[0] if people else None,
    )


def one_row_each(manifest: dict[str, Any], schema: Schema | None) -> bool:
    """Whether a row is known to be one person: people were counted, not taken for rows.

    Folders of before say nothing of it; the owner's schema then does.
    """
    by_schema = schema is not None and (schema.person or schema.count) is not None
    told = manifest.get("counted_by")
    return by_schema if told is None else told != "row"


def load_manifest(path: Path) -> dict[str, Any]:
    """The manifest, after checking that the files are the ones it was written for."""
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        files = manifest["files"]
        for name in files:
            if digest(path.parent / name) != files[name]:
                raise InputError(
                    f"{name} is not the file its manifest was written for; restore it, or read "
                    "the file itself as a release of unknown origin"
                )
    except FileNotFoundError as error:
        raise InputError(f"{Path(str(error.filename)).name} is missing beside {path}") from None
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError):
        raise InputError(f"{path} is not a manifest of a release") from None
    return manifest


def data_file(manifest: dict[str, Any], public: Path) -> Path:
    """The data: one file, or the folder of its parts, which must hold them and nothing else."""
    names = [Path(name) for name in manifest["files"]]
    if len(names) == 1:
        return public / names[0]
    folders = {name.parent for name in names}
    folder = public / next(iter(folders), public)
    if len(folders) != 1 or folder == public:
        raise InputError(f"{public / MANIFEST} lists no data that belongs together")
    more = sorted({one.name for one in folder.iterdir()} - {name.name for name in names})
    if more:
        raise InputError(
            f"{folder} holds {name_some(more)} besides the parts its manifest lists; take it away"
        )
    return folder


def read_buckets(engine: Engine, manifest: dict[str, Any], folder: Path, schema: Schema) -> Release:
    """Our own bucketized pair."""
    quasi, sensitive = (folder / name for name in sorted(manifest["files"]))
    return read_pair(engine, quasi, sensitive, replace(schema, count="count"), GROUP_ID)


def no_people(engine: Engine, file: object, count: str | None) -> bool:
    """Whether noise left nobody: no row, or counts that are all 0."""
    source = engine.register(file)
    some = ""
    if count is not None:
        if count not in source.types:
            return False
        some = f" FILTER (WHERE TRY_CAST({source.column(count)} AS DOUBLE) IS DISTINCT FROM 0)"
    told = engine.fetch(select([named(f"COUNT(*){some}", "cells")], source.name))
    return not told.column(0)[0].as_py()


def with_manifest(release: Release, manifest: dict[str, Any], public: Path) -> Release:
    """What the manifest and the private side know besides."""
    folder = public.parent if public.name == "public" else public
    known = public.parent / "private" / "reference.json"
    by_attribute = dict(release.by_attribute)
    notes = [note for note in release.notes if "not counted as suppressed" not in note]
    if known.is_file():
        told = _reference(known)
        by_attribute = {
            name: _with_reference(groups, told[name]) if name in told else groups
            for name, groups in by_attribute.items()
        }
    elif manifest["scheme"] == "randomised":
        notes += [
            f"differentially private: {_guarantee(manifest)}",
            "that its counts are noisy, and how, is its manifest's word; no file shows it",
        ]
    elif manifest["suppressed"]:
        notes.append("the whole table's distribution is not known; the published one stands in")
    return replace(
        release,
        by_attribute=by_attribute,
        scheme=manifest["scheme"],
        suppressed=manifest["suppressed"],
        guarantee=_guarantee(manifest),
        notes=tuple(notes),
        label=public.parent.name,
        file=FileStamp.of(folder, public / MANIFEST),
    )


def _guarantee(manifest: dict[str, Any]) -> Guarantee | None:
    if manifest["scheme"] != "randomised":
        return None
    return Guarantee.read(manifest.get("guarantee"))


def _reference(path: Path) -> dict[str, dict[str, float]]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: {value: float(weight) for value, weight in weights.items()}
            for name, weights in told.items()
        }
    except (json.JSONDecodeError, AttributeError, TypeError, ValueError):
        raise InputError(f"{path} is broken; restore it, or remove it") from None


def _with_reference(groups: Groups, weights: dict[str, float]) -> Groups:
    """The same groups over the whole table's domain, in its order, with its distribution."""
    domain = groups.domain
    if domain is None or not set(groups.values) <= set(weights):
        raise InputError("private/reference.json does not fit the published data; remove it")
    values: dict[str, Value] = dict(zip(domain.labels, domain.values, strict=True))
    wider = Domain(domain.name, domain.kind, tuple(values.get(label, label) for label in weights))
    place = {label: code for code, label in enumerate(weights)}
    codes = np.array([place[label] for label in groups.values], dtype=np.int64)
    reference: Floats = np.array(list(weights.values()), dtype=np.float64)
    return groups.relabel(codes, wider.labels, wider, reference)
