"""What an attacker sees of a release, packed into one piece and back.

Groups, what they publish of their people, and their sensitive counts; nothing of the table behind:
no value that no group shows, no distribution of suppressed people, no member of a group that the
release does not list itself. One row of an Arrow table, whose columns are whole arrays, with the
descriptions as JSON beside it.

Of a release whose rows a pseudonym links it is the published rows, pseudonym by pseudonym: which of
them stand together, and with which values. The pseudonyms themselves are left out, and so is the
order in which these rows were published or read.

Published values and regions have a form in JSON.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts.counts import Attribute, Sets
from sfumato.counts.rows import PersonRows
from sfumato.engines.choose import open_engine
from sfumato.engines.reading import Reading
from sfumato.errors import InputError
from sfumato.numbers import Ints, offsets_of, rows_of
from sfumato.perturbation import perturbation_of
from sfumato.perturbation.base import Perturbation
from sfumato.release.beside import SeveralGroups
from sfumato.release.description import REGIONS_OF, BucketIds, Buckets, Description, Regions
from sfumato.release.groups import Groups
from sfumato.release.guarantee import Guarantee
from sfumato.release.linked import (
    LinkedRows,
    cuts_people,
    linked_release,
    pseudonym_column,
    published_rows,
)
from sfumato.release.made import ReadFrom
from sfumato.release.release import Release
from sfumato.release.sparse import Lists
from sfumato.release.unlinked import owners_unknown
from sfumato.schema.domain import Domain
from sfumato.schema.icd10 import CodeFamily, family_labelled
from sfumato.schema.region import Anything, Mask, Region, Span, Value, ValueSet, text_of
from sfumato.schema.roles import Schema
from sfumato.table import FileStamp, Table

# Published values and regions as JSON, and back.


def spell_value(value: Value) -> Any:
    """A value; dates and endless ends are tagged."""
    if isinstance(value, dt.datetime):
        return {"time": value.isoformat()}
    if isinstance(value, dt.date):
        return {"date": value.isoformat()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def read_value(spelt: Any) -> Any:
    if not isinstance(spelt, dict):
        return spelt
    ((kind, text),) = spelt.items()
    if kind == "time":
        return dt.datetime.fromisoformat(text)
    return dt.date.fromisoformat(text) if kind == "date" else float(text)


def spell_region(region: Region) -> dict[str, Any]:
    """A region; the values of a set in the order of their texts."""
    if isinstance(region, ValueSet):
        values = sorted(region.values, key=lambda value: (value is None, text_of(value)))
        return _labelled({"set": [spell_value(value) for value in values]}, region.label)
    if isinstance(region, Span):
        ends = [spell_value(region.low), spell_value(region.high)]
        spelt = {"span": ends, "closed": [region.low_closed, region.high_closed]}
        beside = sorted(region.beside, key=lambda special: (special is None, special or ""))
        return _labelled({**spelt, **({"beside": beside} if beside else {})}, region.label)
    if isinstance(region, CodeFamily):
        return {"codes": region.text}
    return {"mask": region.pattern} if isinstance(region, Mask) else {"any": True}


def _labelled(spelt: dict[str, Any], label: str | None) -> dict[str, Any]:
    return spelt if label is None else {**spelt, "label": label}


def read_region(spelt: dict[str, Any]) -> Region:
    if "set" in spelt:
        values = frozenset(read_value(value) for value in spelt["set"])
        return ValueSet(values, spelt.get("label"))
    if "span" in spelt:
        low, high = (read_value(end) for end in spelt["span"])
        with_low, with_high = spelt["closed"]
        beside = frozenset(spelt.get("beside", ()))
        return Span(low, high, with_low, with_high, spelt.get("label"), beside)
    if "mask" in spelt:
        return Mask(spelt["mask"])
    if "codes" in spelt and (family := family_labelled(str(spelt["codes"]))) is not None:
        return family
    if "any" in spelt:
        return Anything()
    raise InputError("a region of the ledger cannot be read; it was written by something else")


_HEAD = b"sfumato release"


def pack(release: Release, guarantee: Guarantee | None = None) -> bytes:
    """The published content of a release; `guarantee`: what is promised, where it does not say."""
    promised = release.guarantee if guarantee is None else guarantee
    if not release.schema.sensitive:
        raise InputError(f"{release.label} has no sensitive column, so nothing of it composes")
    arrays: dict[str, Any] = {}
    head: dict[str, Any] = {
        "scheme": release.scheme,
        "suppressed": release.suppressed,
        "disjoint": release.disjoint,
        "guarantee": None if promised is None else promised.public(),
    }
    if release.pseudonym_keys:  # by which its rows are joined to those of other releases
        head["pseudonyms"] = {
            name: done.public()
            for name, done in release.perturbed.items()
            if done.done == "pseudonym"
        }
    changed = {
        name: done.public()
        for name, done in release.perturbed.items()
        if name in release.by_attribute
    }
    if changed:  # its values are not people's own
        head["perturbed"] = changed
    if release.by_row is not None:
        arrays, of_rows = _linked_rows(release)
        return _write(arrays, head | of_rows)
    if release.several is not None:  # who is in several groups is not published
        head["people"] = release.people
    listed = release.regions.buckets
    if listed is not None:
        arrays |= {"members": listed.indptr, "people": listed.n}
        head["listed"] = []
        if (ids := listed.numbered) is not None:
            head["ids"] = {"column": ids.column, "ids": [str(bucket_id) for bucket_id in ids.ids]}
        for place, domain in enumerate(listed.domains):
            used, codes = np.unique(listed.codes[place], return_inverse=True)
            head["listed"].append(_spell_domain(domain, used))
            arrays[f"codes {place}"] = codes
    else:
        regions = release.regions.require_regions()
        head["columns"] = []
        for place, name in enumerate(regions.columns):
            used, codes = np.unique(regions.codes[place], return_inverse=True)
            parts = [spell_region(regions.parts[place][int(part)]) for part in used]
            head["columns"].append({"name": name, "parts": parts})
            arrays[f"codes {place}"] = codes
    head["attributes"] = []
    if release.groups.beside.unlinked is not None:
        head["rows"] = "unlinked"  # what is counted are rows, and whose they are is not published
    for place, (name, judged) in enumerate(release.by_attribute.items()):
        rows = judged.beside.unlinked
        groups = judged if rows is None else rows.by_row
        domain = groups.domain or Domain(name, "categorical", groups.values)
        used, codes = np.unique(groups.indices, return_inverse=True)
        attribute = {**_spell_domain(domain, used), "name": name, "case": groups.case}
        head["attributes"].append(attribute)
        arrays |= {
            f"indptr {place}": groups.indptr,
            f"indices {place}": codes,
            f"data {place}": groups.data,
            f"sizes {place}": groups.sizes,
        }
        if groups.lists is not None:
            among = np.zeros(groups.width, dtype=np.int64)
            among[used] = np.arange(len(used))
            lists = groups.lists.relabel(among)
            arrays |= {
                f"list indptr {place}": lists.indptr,
                f"list indices {place}": lists.indices,
                f"list data {place}": lists.data,
                f"list offsets {place}": lists.sets.offsets,
                f"list members {place}": lists.sets.members,
            }
    return _write(arrays, head)


def unpack(content: bytes, label: str, file: FileStamp | None = None) -> Release:
    """The release again, as anybody who holds it reads it; `file`: where it was kept."""
    head, arrays = _read(content)
    if head.get("rows") == "linked":
        return _read_linked(head, arrays, label, file)
    regions: Description
    columns = head["listed"] if "listed" in head else head["columns"]
    codes = np.vstack([arrays[f"codes {place}"] for place in range(len(columns))]).astype(np.int32)
    if "listed" in head:
        domains = tuple(_read_domain(column) for column in columns)
        kept_ids = head.get("ids")  # an earlier version did not keep them
        ids = None if kept_ids is None else BucketIds(kept_ids["column"], np.array(kept_ids["ids"]))
        regions = Buckets(domains, arrays["members"], codes, arrays["people"], numbered=ids)
    else:
        parts = tuple(tuple(read_region(part) for part in column["parts"]) for column in columns)
        kind = REGIONS_OF[head["scheme"]]
        regions = kind(tuple(column["name"] for column in columns), parts, codes)
    by_attribute = {}
    for place, attribute in enumerate(head["attributes"]):
        domain = _read_domain(attribute)
        by_attribute[domain.name] = Groups.from_sparse(
            arrays[f"indptr {place}"],
            arrays[f"indices {place}"].astype(np.int32),
            arrays[f"data {place}"],
            len(domain),
            sizes=arrays[f"sizes {place}"],
            domain=domain,
            case=attribute["case"],
            lists=_lists(arrays, place),
        )
    told_guarantee = head["guarantee"]
    several = None if head.get("people") is None else SeveralGroups(head["people"])
    if head.get("rows") == "unlinked":
        by_attribute = {name: owners_unknown(rows) for name, rows in by_attribute.items()}
    return Release(
        Schema([column["name"] for column in columns], list(by_attribute)),
        by_attribute,
        regions,
        suppressed=head["suppressed"],
        disjoint=head["disjoint"],
        label=label,
        made=ReadFrom(
            guarantee=None if told_guarantee is None else Guarantee.read(told_guarantee),
            file=file,
            perturbed=_perturbed(head),
        ),
        several=several,
    )


# Releases whose rows a pseudonym links: the rows themselves, since only they tell signatures with
# their values.


def _linked_rows(release: Release) -> tuple[dict[str, Any], dict[str, Any]]:
    """The published rows of each pseudonym, in an order that only these rows tell."""
    published = published_rows(release)
    codes: list[Ints] = []
    columns, attributes = [], []
    for name, parts, column in zip(
        published.regions.columns, published.regions.parts, published.regions.codes, strict=True
    ):
        used, among = np.unique(column, return_inverse=True)
        regions = [spell_region(parts[int(part)]) for part in used]
        columns.append({"name": name, "parts": regions})
        codes.append(among.astype(np.int64))
    for domain, column in zip(published.domains, published.values, strict=True):
        used, among = np.unique(column, return_inverse=True)
        attributes.append(_spell_domain(domain, used))
        codes.append(among.astype(np.int64))
    rows = np.vstack(codes)
    own_order = np.lexsort((*rows[::-1], published.pseudonym))
    rows, ends = rows[:, own_order], offsets_of(np.bincount(published.pseudonym)).tolist()
    told_rows = list(zip(*rows.tolist(), strict=True))
    everybody = sorted(range(len(ends) - 1), key=lambda at: told_rows[ends[at] : ends[at + 1]])
    lengths = np.diff(ends)[everybody]
    places = np.concatenate([np.arange(ends[at], ends[at + 1]) for at in everybody])
    arrays: dict[str, Any] = {"ends": offsets_of(lengths)}
    arrays |= {f"row {place}": column[places] for place, column in enumerate(rows)}
    head: dict[str, Any] = {
        "rows": "linked",
        "columns": columns,
        "attributes": attributes,
        "several": release.schema.several,
        "cut": cuts_people(release),
    }
    return arrays, head


def _read_linked(
    head: dict[str, Any], arrays: dict[str, Ints], label: str, file: FileStamp | None
) -> Release:
    names = [column["name"] for column in head["columns"]]
    parts = [tuple(map(read_region, column["parts"])) for column in head["columns"]]
    domains = [_read_domain(attribute) for attribute in head["attributes"]]
    width = len(names)
    codes, values = (
        np.vstack([arrays[f"row {place}"] for place in places]).astype(np.int32)
        for places in (range(width), range(width, width + len(domains)))
    )
    sensitive = [domain.name for domain in domains]
    column = pseudonym_column(Schema(names, sensitive))
    schema = Schema(names, sensitive, person=column, rows="linked", several=head["several"])
    person = rows_of(arrays["ends"])
    texts = [
        Domain(name, "categorical", tuple(part.text for part in of_column))
        for name, of_column in zip(names, parts, strict=True)
    ]
    attributes = tuple(map(Attribute, domains))
    rows = PersonRows(tuple(texts), attributes, person, codes, values)
    table = _table_of(rows, schema, label)
    release = linked_release(
        LinkedRows.as_they_stand(table, Regions(tuple(names), tuple(parts), codes))
    )
    by_row, perturbed = release.by_row, _perturbed(head)
    assert by_row is not None
    assert isinstance(release.made, ReadFrom)
    assert isinstance(by_row.made, ReadFrom)
    return replace(
        release,
        suppressed=head["suppressed"],
        by_row=replace(by_row, made=replace(by_row.made, perturbed=perturbed)),
        made=replace(release.made, file=file, perturbed=perturbed, cut=head["cut"]),
    )


def _perturbed(head: dict[str, Any]) -> dict[str, Perturbation]:
    """What was done to columns, pseudonyms among them."""
    spelt = {**head.get("perturbed", {}), **head.get("pseudonyms", {})}
    return {name: perturbation_of(described) for name, described in spelt.items()}


def _table_of(rows: PersonRows, schema: Schema, label: str) -> Table:
    """The published rows as a table of texts, as anybody has them who reads the file."""
    cells = {str(schema.person): pa.array(rows.person)}
    domains = (*rows.quasi, *(attribute.domain for attribute in rows.sensitive))
    for domain, codes in zip(domains, (*rows.codes, *rows.values), strict=True):
        cells[domain.name] = pa.array(domain.labels).take(pa.array(codes))
    published = pa.table(cells)
    engine = open_engine(published, Reading(threads=1))
    source = replace(engine.register(published), label=label)
    return Table(
        schema, rows.counts(repeated=schema.several == "multiset"), {}, source, engine, rows=rows
    )


def _lists(arrays: dict[str, Ints], place: int) -> Lists | None:
    """Whole lists of an attribute, where people have several values each."""
    if f"list indptr {place}" not in arrays:
        return None
    named = ("indptr", "indices", "data", "offsets", "members")
    indptr, indices, data, offsets, members = (arrays[f"list {name} {place}"] for name in named)
    sets = Sets(offsets, members.astype(np.int32))
    return Lists(indptr, indices.astype(np.int32), data, sets)


def _spell_domain(domain: Domain, used: Sequence[int] | Ints) -> dict[str, Any]:
    values = [spell_value(domain.values[int(code)]) for code in used]
    return {"name": domain.name, "kind": domain.kind, "values": values}


def _read_domain(spelt: dict[str, Any]) -> Domain:
    return Domain(
        spelt["name"], spelt["kind"], tuple(read_value(value) for value in spelt["values"])
    )


def _write(arrays: dict[str, Any], head: dict[str, Any]) -> bytes:
    columns = {
        name: pa.LargeListArray.from_arrays(
            pa.array([0, len(numbers)], pa.int64()), pa.array(numbers.astype(np.int64))
        )
        for name, numbers in arrays.items()
    }
    header = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
    table = pa.table(columns).replace_schema_metadata({_HEAD: header})
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _read(content: bytes) -> tuple[dict[str, Any], dict[str, Ints]]:
    try:
        with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
            table = reader.read_all()
        table.validate(full=True)  # before any offset of it is followed
        head: dict[str, Any] = json.loads(table.schema.metadata[_HEAD])
        arrays = {
            name: table.column(name).chunk(0).flatten().to_numpy().copy()
            for name in table.column_names
        }
    except (pa.ArrowException, OSError, KeyError, IndexError, TypeError, ValueError):
        raise InputError("a release of the ledger is damaged; restore the file") from None
    return head, arrays
