"""A folder that we wrote, read back: the published content, exactly as it was published.

What the public side cannot know comes from the private side when it is there: the distribution of
the whole table, suppressed people included. Without it the published counts stand in, and a note
says so.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.engines.base import Engine, named, select
from sfumato.engines.files import kind_of, read_whole, schema_of
from sfumato.engines.form import FileForm
from sfumato.engines.reading import Reading
from sfumato.engines.textfile import inspect_text
from sfumato.errors import InputError, SfumatoError
from sfumato.numbers import Floats
from sfumato.release.beside import SeveralGroups
from sfumato.release.description import GROUP_ID, of_scheme
from sfumato.release.groups import Groups
from sfumato.release.households_file import HOUSEHOLDS, read_households
from sfumato.release.made import ReadFrom
from sfumato.release.manifest import (
    BY_PERSON,
    COUNT,
    DOMAINS,
    MOST_PEOPLE,
    REFERENCE,
    SUM,
    Manifest,
    read_json,
)
from sfumato.release.people_file import PEOPLE, read_people
from sfumato.release.read.bucketized import read_pair
from sfumato.release.release import Release, kept_notes
from sfumato.release.signatures import Signatures
from sfumato.release.write.data_files import OWNED_ROWS, PARTS
from sfumato.release.write.publish import OWNER
from sfumato.schema.domain import Domain, build_domain
from sfumato.schema.notation import looks_like_json
from sfumato.schema.region import Value
from sfumato.schema.roles import Schema
from sfumato.table import MANIFEST, FileStamp, digest


def find_manifest(path: object, *, parts: bool = False) -> Path | None:
    """The manifest of a release folder (or its public/ part); None if this is no folder.

    `parts`: it may also be a folder of files that are one table.
    """
    if not isinstance(path, str | Path) or not Path(path).is_dir():
        return None
    for public in (Path(path) / "public", Path(path)):
        if (public / MANIFEST).is_file():
            return public / MANIFEST
    if parts:
        return None
    raise InputError(f"{path} is a folder without {MANIFEST}; give a file or a release folder")


def _folder_name(public: Path) -> str:
    """What a release is called: its folder, or what its public part was copied to."""
    here = public.resolve()
    return here.parent.name if here.name == "public" else here.name


def data_file(manifest: Manifest) -> Path:
    """The data: one file, or the folder of its parts."""
    public = manifest.path.parent
    if len(manifest.files) == 1:
        return public / manifest.files[0]
    return public / PARTS


def one_row_each(manifest: Manifest) -> bool:
    """Whether a row is known to be one person: people were counted, not taken for rows."""
    return manifest.counted_by != "row"


def check_columns(manifest: Manifest) -> None:
    """Refuse files whose columns are not those of the manifest: nobody would judge the others.

    And documents beside them that are not those that were written; they may be left out.
    """
    for name, sum_of_bytes in manifest.documents.items():
        file = manifest.path.parent / name
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise InputError(f"{file} is no plain file; restore it, or take it away")
        if file.exists() and digest(file) != sum_of_bytes:
            raise InputError(
                f"{file} was changed since the release was made; restore it, or take it away"
            )
    listed = [column.name for column in manifest.columns]
    public = manifest.path.parent
    columns = [_columns_of(public / name, manifest.form) for name in manifest.files]
    if manifest.scheme == "bucketized":
        columns = [[*columns[0], *columns[1]]]
    if any(names != listed for names in columns):
        raise InputError(
            f"{manifest.path} does not list the columns that its files have; restore it, or read "
            "the file itself as a release of unknown origin"
        )


def _columns_of(file: Path, form: FileForm) -> list[str]:
    try:
        if form.is_text:
            return list(inspect_text(file, form.delimiter, form.encoding).columns)
        if form.is_columnar:
            return list(schema_of(file, form.format).names)
        return list(read_whole(file, kind_of(file), Reading()).table.schema.names)
    except (OSError, pa.ArrowException):
        raise InputError(f"{file} cannot be read as the file its name says it is") from None


def read_buckets(engine: Engine, manifest: Manifest, schema: Schema) -> Release:
    """Our own bucketized pair."""
    quasi, sensitive = (manifest.path.parent / name for name in manifest.files)
    exact = replace(words_as_told(manifest, schema), count=COUNT)
    bags = any(column.several is not None for column in manifest.columns)
    return read_pair(engine, quasi, sensitive, exact, GROUP_ID, bags=bags)


def with_owners(
    manifest: Manifest, schema: Schema, given: Schema | None
) -> tuple[Path | None, Schema]:
    """The owner's copy of several rows a person, and the schema that reads it.

    `given`: the policy's, which names the column that tells what people protect; the copy has it.
    None where there is no such copy, or it may not be read: then nobody knows what people protect,
    nor whose the rows are that are published one by one.
    """
    protect = None if given is None else given.protect
    if manifest.rows == "gathered" or (manifest.rows == "linked" and protect is None):
        return None, schema
    file = manifest.path.parent.parent / "private" / f"{OWNED_ROWS}{manifest.form.ending}"
    if manifest.path.parent.name != "public" or not file.is_file() or not os.access(file, os.R_OK):
        return None, schema
    _check_sums(manifest.path, file.parent)
    known = replace(schema, protect=protect)
    if manifest.rows == "unlinked":
        known = replace(known, person=OWNER, rows="unlinked", knows=manifest.knows)
    return file, known


def words_as_told(manifest: Manifest, schema: Schema) -> Schema:
    """For cells that are one value each: words where the manifest says so, whatever they look like.

    A band of ages that came as text, `20-29`, is a word there and no range.
    """
    words = {
        column.name: "categorical"
        for column in manifest.columns
        if column.words and column.role == "quasi" and column.name not in schema.hierarchies
    }
    return replace(schema, domains={**words, **schema.domains})


def no_people(engine: Engine, file: object, count: str | None) -> bool:
    """Whether noise left nobody: no row, or counts that are all 0."""
    source = engine.register(file)
    counted_rows = ""
    if count is not None:
        if count not in source.types:
            return False
        counted_rows = (
            f" FILTER (WHERE TRY_CAST({source.column(count)} AS DOUBLE) IS DISTINCT FROM 0)"
        )
    cells = engine.fetch(select([named(f"COUNT(*){counted_rows}", "cells")], source.name))
    return not cells.column(0)[0].as_py()


def with_manifest(release: Release, manifest: Manifest) -> Release:
    """What the manifest and the private side know besides, where it fits what was published."""
    public = manifest.path.parent
    folder = public.parent if public.name == "public" else public
    if release.groups.owners_unknown:
        release = replace(release, several=SeveralGroups(manifest.people))
    if release.people != manifest.people:
        raise InputError(
            f"{manifest.path} tells of {manifest.people:,} people, its files of "
            f"{release.people:,}; restore it, or read the data file itself"
        )
    for name, groups in release.by_attribute.items():
        if groups.case == "single" and groups.values and looks_like_json(groups.values):
            raise InputError(
                f"{manifest.path} says that column {name!r} holds one value a person, but it holds "
                "lists; restore it"
            )
    by_row, whole_unknown = release.by_row, False
    by_attribute = dict(release.by_attribute)
    notes = list(release.notes)
    private, reason, unchecked = _private_side(manifest, public.parent / "private")
    notes += unchecked
    if private is not None and by_row is not None:
        by_row = replace(
            by_row,
            counted_groups={
                name: _with_reference(groups, private.get(name), manifest.hidden_rows)
                for name, groups in by_row.by_attribute.items()
            },
        )
        if isinstance(release.regions, Signatures) and release.regions.one_each:
            by_attribute = dict(by_row.counted_groups)
    elif private is not None:
        suppressed = manifest.suppressed
        if manifest.rows == "unlinked":  # rows may be left out of people who are there
            suppressed = max(suppressed, 1)
        by_attribute = {
            name: _by_person(_with_reference(groups, private.get(name), suppressed), private)
            for name, groups in by_attribute.items()
        }
    elif manifest.guarantee is not None:
        notes += [
            f"differentially private: {manifest.guarantee}",
            "that its counts are noisy, and how, is its manifest's word; no file shows it",
        ]
    elif whole_unknown := bool(
        manifest.suppressed or manifest.hidden_rows or manifest.rows == "unlinked"
    ):
        notes.append(
            f"the whole table's distribution is not known{reason}; the published one stands in"
        )
    perturbed = {
        column.name: column.perturbed for column in manifest.columns if column.perturbed is not None
    }
    if perturbed:  # the file alone did not say so
        as_they_stood = kept_notes(release.schema, {})
        notes = [note for note in notes if note not in as_they_stood]
        notes += kept_notes(release.schema, perturbed)
    people = public.parent / "private" / PEOPLE
    made = release.made
    assert isinstance(made, ReadFrom)
    kept = os.access(people, os.R_OK) and people.is_file()
    if kept and made.counted_from is not None and not release.shares_people:
        files = {name: digest(public / name) for name in manifest.files}
        inside = read_people(people, release, made.counted_from, files, manifest.form.codes)
        made = replace(made, people=inside)
    homes = public.parent / "private" / HOUSEHOLDS
    if os.access(homes, os.R_OK) and homes.is_file() and not release.shares_people:
        files = {name: digest(public / name) for name in manifest.files}
        made = replace(made, households=read_households(homes, release, files))
    listed = {column.name for column in manifest.columns}  # the owner's copy of rows has more
    made = replace(made, stray=made.stray.of_these(listed))
    return replace(
        release,
        counted_groups=by_attribute,
        by_row=None
        if by_row is None
        else replace(
            by_row,
            suppressed=manifest.hidden_rows,
            made=replace(by_row.made, whole_unknown=whole_unknown)
            if isinstance(by_row.made, ReadFrom)
            else by_row.made,
        ),
        regions=of_scheme(release.regions, manifest.scheme),
        suppressed=manifest.suppressed,
        notes=tuple(notes),
        label=_folder_name(public),
        made=replace(
            made,
            guarantee=manifest.guarantee,
            file=(stamp := FileStamp.of(folder, manifest.path)),
            files=() if stamp is None else (stamp,),
            domains=_domains(public.parent / "private" / DOMAINS, release.regions.columns),
            perturbed=perturbed,
            cut=manifest.may_cut,
            whole_unknown=whole_unknown,
        ),
    )


def _domains(path: Path, columns: Sequence[str]) -> dict[str, Domain]:
    """What quasi-identifiers may be, as the owner kept it and may read it."""
    domains = {}
    try:
        kept = read_json(path)
        for name in columns:
            if kept is not None and name in kept:
                values = pa.array(kept[name]["values"], pa.string())
                kind, specials = str(kept[name]["kind"]), kept[name].get("specials", ())
                domain, _ = build_domain(
                    name, values, untyped=True, declared=kind, specials=specials
                )
                domains[name] = domain
    except PermissionError:
        return {}
    except (SfumatoError, pa.ArrowException, TypeError, KeyError, AttributeError):
        raise InputError(f"{path} is broken; restore it, or remove it") from None
    return domains


def _private_side(
    manifest: Manifest, private: Path
) -> tuple[dict[str, Any] | None, str, list[str]]:
    """The whole table's distribution, if it is kept here and may be read; or why it may not.

    Also notes of what nobody could check.
    """
    try:
        notes = _check_sums(manifest.path, private)
        reference = read_json(private / REFERENCE)
    except PermissionError:
        return None, " (private/ may not be read)", []
    if reference is None:
        return None, "", notes
    if not isinstance(reference, dict) or manifest.guarantee is not None:
        raise InputError(f"{private / 'reference.json'} is broken; restore it, or remove it")
    return reference, "", notes


def _check_sums(manifest: Path, private: Path) -> list[str]:
    """Refuse a manifest and evidence that are not what was written with the release.

    What there is no sum of is noted: it may have been changed.
    """
    if not private.is_dir():
        return []
    known = private / SUM
    sums = dict(line.split(maxsplit=1)[::-1] for line in _lines(known)) if known.is_file() else {}
    unchecked = []
    copies = sorted(path.name for path in private.glob(f"{OWNED_ROWS}.*"))
    for name in (f"../public/{MANIFEST}", REFERENCE, DOMAINS, PEOPLE, HOUSEHOLDS, *copies):
        path = manifest if name.endswith(MANIFEST) else private / name
        if not path.is_file():
            continue
        if not known.is_file() or (name not in sums and path is not manifest):
            unchecked.append(path.name)
        elif digest(path) != sums.get(name):
            raise InputError(
                f"{path} was changed since the release was made, by its {known.name}; restore it"
            )
    if not unchecked:
        return []
    why = "lists no sum of it" if known.is_file() else "is missing"
    return [
        f"not checked whether {' and '.join(unchecked)} "
        f"{'is' if len(unchecked) == 1 else 'are'} as written with the release: private/{SUM} {why}"
    ]


def _lines(known: Path) -> list[str]:
    """The lines of a list of hashes; those that are none of its lines tell nothing."""
    lines = known.read_text("utf-8", errors="replace").splitlines()
    return [line for line in lines if len(line.split(maxsplit=1)) == 2]


def _fits(groups: Groups, weights: object, suppressed: int) -> bool:
    """Whether a whole table's distribution can be that of these people and the suppressed ones."""
    if not isinstance(weights, dict) or not set(groups.values) <= set(weights):
        return False
    if any(
        isinstance(weight, bool) or not isinstance(weight, int | float)
        for weight in weights.values()
    ):
        return False
    if any(not 0 <= weight < MOST_PEOPLE for weight in weights.values()):
        return False
    # Until now the published counts stood in.
    published = dict.fromkeys(weights, 0.0)
    published |= dict(zip(groups.values, groups.reference.tolist(), strict=True))
    left = [weights[value] - published[value] for value in weights]
    if any(count < 0 for count in left):
        return False
    if groups.case == "single" or not suppressed:
        return bool(np.isclose(sum(left), suppressed, rtol=0, atol=0.5))
    return True


def _by_person(groups: Groups, private: dict[str, Any]) -> Groups:
    """With how many people of the whole table have each value, where they have several rows."""
    rows, known = groups.beside.unlinked, private.get(BY_PERSON)
    if rows is None or rows.by_person is None or groups.attribute is None:
        return groups
    having = known.get(groups.attribute) if isinstance(known, dict) else None
    try:
        reference = np.array(having, dtype=np.float64)
    except (TypeError, ValueError):
        reference = np.zeros(0)
    fits = reference.shape == (groups.width,) and np.isfinite(reference).all()
    if not fits or (reference < 0).any():
        raise InputError("private/reference.json does not fit the published data; remove it")
    return groups.with_beside(replace(groups.beside, unlinked=rows.referring_to(reference)))


def _with_reference(groups: Groups, weights: object, suppressed: int) -> Groups:
    """The same groups over the whole table's domain, in its order, with its distribution."""
    domain = groups.domain
    if domain is None and weights is None:
        return groups
    if domain is None or not _fits(groups, weights, suppressed):
        raise InputError("private/reference.json does not fit the published data; remove it")
    assert isinstance(weights, dict)
    values: dict[str, Value] = dict(zip(domain.labels, domain.values, strict=True))
    wider = Domain(domain.name, domain.kind, tuple(values.get(label, label) for label in weights))
    place = {label: code for code, label in enumerate(weights)}
    codes = np.array([place[label] for label in groups.values], dtype=np.int64)
    reference: Floats = np.array(list(weights.values()), dtype=np.float64)
    return groups.relabel(codes, wider.labels, wider, reference)
