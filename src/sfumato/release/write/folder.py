"""A release on disk: `public/` may be handed out, `private/` is the owner's evidence.

public/: the data (one file, two for buckets, a folder of parts where an engine wrote several), what
their columns and cells mean (`codebook.py`), and a manifest of what was promised. private/: the
report, the policy, the chance that was used, the distribution of the whole table. A killed run
leaves nothing or a whole release (`files.py`).
Stands apart: releases are read and judged without anything that writes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sfumato.files import PRIVATE, check_new_folder, new_folder
from sfumato.perturbation.pseudonyms import KEY, key_name
from sfumato.progress import phase
from sfumato.release.description import GROUP_ID, PSEUDONYM
from sfumato.release.households_file import HOUSEHOLDS, write_households
from sfumato.release.linked import LinkedPlacement, pseudonym_column
from sfumato.release.made import MadeHere, Randomised
from sfumato.release.manifest import (
    BESIDE,
    BY_PERSON,
    COUNT,
    DOMAINS,
    REFERENCE,
    SUM,
    VERSION,
)
from sfumato.release.people_file import PEOPLE, write_people
from sfumato.release.read.cells import known_domain
from sfumato.release.release import Release
from sfumato.release.unlinked import people_references
from sfumato.release.write.by_engine import made_to_publish
from sfumato.release.write.cells import own_values
from sfumato.release.write.codebook import Codebook, codebook_of
from sfumato.release.write.data_files import OWNED_ROWS, Data, data_of, write_rows
from sfumato.release.write.publish import rows_with_owners
from sfumato.release.write.weights import told_of_weights
from sfumato.schema.notation import JSON
from sfumato.schema.region import text_of
from sfumato.schema.roles import Schema
from sfumato.table import MANIFEST, FileStamp, Table, digest, stamps_of
from sfumato.version import own_version

_MOST_VALUES = 100_000  # of a column, to keep them in private/


class EvidenceReport(Protocol):
    """All that is asked of a report, which belongs to a room below this one."""

    def promises(self) -> list[dict[str, object]]:
        """What may be told to anybody."""
        ...

    def save(self, path: str | Path) -> None:
        """Write it in the format that the ending of the name says."""
        ...

    def published_as(self, *files: FileStamp) -> EvidenceReport:
        """The same, about a release that is now in these files."""
        ...

    def public_pages(self, codebook: Codebook) -> dict[str, str]:
        """The pages that may be handed out, by the names of their files."""
        ...


class EvidencePolicy(Protocol):
    """All that is asked of the policy a release was made by."""

    @property
    def format(self) -> str | None:
        """The format in which it is to be written, if not the way its table came."""
        ...

    @property
    def needs_people(self) -> bool:
        """Whether judging by it again takes who is in which group."""
        ...

    @property
    def fingerprint(self) -> str:
        """The same for policies by which the same releases are made."""
        ...

    def public(self) -> dict[str, object]:
        """What may be told of it."""
        ...

    def save_evidence(self, private: Path, out: Path, schema: Schema | None) -> None:
        """Write it into a folder that becomes `out`/private."""
        ...


class EvidenceRecords(Protocol):
    """All that is asked of the risks of records."""

    def to_arrow(self) -> pa.Table:
        """One row a record."""
        ...


@dataclass(frozen=True)
class PrivateEvidence:
    """What a release was judged by, as far as its owner gives it away to private/."""

    report: EvidenceReport | None
    policy: EvidencePolicy | None
    records: EvidenceRecords | None = None


@phase("writing")
def write_folder(
    release: Release,
    out: str | Path,
    evidence: PrivateEvidence,
    format: str | None,
    seed: int | None,
    *,
    force: bool,
    codebook: bool,
) -> Path:
    """Write public/ and private/, as `Release.save` says."""
    report, policy = evidence.report, evidence.policy
    if format is None and policy is not None:
        format = policy.format
    form = release.form.written_as(format)
    target = Path(out)
    check_new_folder(target, force=force)
    lists = {} if form.is_columnar else _lists(release)
    with data_of(release, seed, lists, form) as data, new_folder(target, force=force) as folder:
        public, private = folder / "public", folder / PRIVATE
        public.mkdir()
        private.mkdir(mode=0o700)
        data.write(public)
        promises = [] if report is None else report.promises()
        manifest = _manifest(release, data, _files(public), promises, lists)
        if policy is not None:
            manifest["policy"] = policy.public()
        if codebook:
            manifest[BESIDE] = _write_codebook(release, manifest, public, report)
        _write(public / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False))
        for name, content in _private(release, policy).items():
            _write(private / name, content)
        if (key := _key(release)) is not None:
            _write(private / KEY, key.hex())
            (private / KEY).chmod(0o600)
        for old in _earlier_keys(target / PRIVATE):  # of a release that others may have by now
            _write(private / key_name(old), old.hex())
            (private / key_name(old)).chmod(0o600)
        if report is not None:
            published_report = report.published_as(*stamps_of(public / MANIFEST))
            for ending in ("html", "json", "md"):
                published_report.save(private / f"report.{ending}")
        if evidence.records is not None:
            _write_records(evidence.records.to_arrow(), private, parquet=form.is_columnar)
        if _keeps_rows(release.schema):
            write_rows(release, rows_with_owners(release, seed), private, form)
        write_households(release, private, manifest["files"], seed)
        if policy is not None:
            policy.save_evidence(private, target, release.schema)
            if policy.needs_people and release.schema.rows == "gathered":
                write_people(release, private, manifest["files"])
        kept = [f"../public/{MANIFEST}", REFERENCE, DOMAINS, PEOPLE, HOUSEHOLDS]
        kept.append(f"{OWNED_ROWS}{form.ending}")
        there = [name for name in kept if (private / name).is_file()]
        _write(private / SUM, "\n".join(f"{digest(private / name)}  {name}" for name in there))
    return target


def _keeps_rows(schema: Schema) -> bool:
    """Whether the owner's copy of the rows tells more of people than the published ones."""
    return schema.rows == "unlinked" or (schema.rows == "linked" and schema.protect is not None)


def _write_records(records: pa.Table, private: Path, *, parquet: bool) -> None:
    """The risks of records, in the owner's folder and nowhere else."""
    if parquet:
        pq.write_table(records, private / "record-risks.parquet")
    else:
        pa_csv.write_csv(records, private / "record-risks.csv")


def _files(public: Path) -> dict[str, str]:
    """The data files, however deep, and how to check them."""
    paths = sorted(path for path in public.rglob("*") if path.is_file())
    return {path.relative_to(public).as_posix(): digest(path) for path in paths}


def _write_codebook(
    release: Release, manifest: Mapping[str, Any], public: Path, report: EvidenceReport | None
) -> dict[str, str]:
    """The codebook, and the pages of a report; how to check each."""
    book = codebook_of(release, manifest)
    texts = {"codebook.json": book.to_json(), "codebook.csv": book.to_csv()}
    if report is not None:
        texts |= report.public_pages(book)
    for name, text in texts.items():
        _write(public / name, text)
    return {name: digest(public / name) for name in texts}


def _lists(release: Release) -> dict[str, str]:
    """The columns that hold each person's several values, and how a text file lists them.

    As the schema declares it, so that it reads the release as it reads the table; JSON otherwise.
    """
    return {
        name: release.schema.lists.get(name, JSON)
        for name, groups in release.by_attribute.items()
        if groups.linked and release.by_row is None
    }


def _write(path: Path, content: str) -> None:
    path.write_text(content.rstrip("\n") + "\n", encoding="utf-8")


def _counted_by(schema: Schema) -> str:
    """What stood for a person in the table: a person column, a count, or the row itself."""
    if schema.person is not None:
        return "person"
    return "row" if schema.count is None else "count"


def _manifest(
    release: Release,
    data: Data,
    files: Mapping[str, str],
    promises: list[dict[str, object]],
    lists: Mapping[str, str],
) -> dict[str, Any]:
    """What may be told: what was promised, what the columns are, how to check the files."""
    schema, columns, form = release.schema, data.columns, data.form
    formulas = data.formula_cells
    roles = {GROUP_ID: "group", COUNT: COUNT}  # of a bucketized release, and of a noisy one
    roles |= {name: role for role, name in schema.roles()}
    if release.by_row is not None:
        roles[pseudonym_column(schema)] = PSEUDONYM
    several = {
        name: groups.case
        for name, groups in release.by_attribute.items()
        if name and not groups.single_valued and groups.beside.unlinked is None
        if release.by_row is None
    }
    own = {name: values.public() for name, values in own_values(release).items()}
    blank = release.made.findings.blank_cells if isinstance(release.made, MadeHere) else {}
    content: dict[str, Any] = {
        "sfumato": own_version(),
        "version": VERSION,
        "scheme": release.scheme,
        "people": release.people,
        "counted_by": _counted_by(schema),
        "suppressed": release.suppressed,
        **({} if schema.rows == "gathered" else {"rows": schema.rows, "knows": schema.knows}),
        **({"guarantee": release.guarantee.public()} if release.guarantee is not None else {}),
        **_linked(release),
        "promises": promises,
        "columns": [
            {
                "name": field.name,
                "role": roles[field.name],
                "type": str(field.type),
                **({"several": several[field.name]} if field.name in several else {}),
                **({"list": lists[field.name]} if field.name in lists else {}),
                **own.get(field.name, {}),
                **({"cells_blank": blank[field.name]} if blank.get(field.name) else {}),
                **({"formula_cells": formulas[field.name]} if formulas[field.name] else {}),
                **(told_of_weights(release) if roles[field.name] == "weight" else {}),
                **form.labels_of(field.name),
                **(
                    {"perturbed": release.perturbed[field.name].public()}
                    if field.name in release.perturbed
                    else {}
                ),
            }
            for field in columns
        ],
        "form": form.public([field.name for field in columns]),
        "files": dict(files),
    }
    return content


def _key(release: Release) -> bytes | None:
    """The key of pseudonyms, if no file of the owner's has it."""
    return None if release.placement is None else release.placement.table.key


def _earlier_keys(private: Path) -> set[bytes]:
    """The keys of pseudonyms in the folder that is to be replaced."""
    texts = (path.read_text(encoding="ascii").strip() for path in private.glob("pseudonym*.key"))
    return {bytes.fromhex(text) for text in texts}


def _linked(release: Release) -> dict[str, Any]:
    """Of people's several rows: that a pseudonym links them, and how many are not published."""
    placement = release.placement
    if isinstance(placement, LinkedPlacement):
        linked = placement.linked
        alone = linked.alone_by_kept()
        return {"linked": {**linked.public(), **({} if alone is None else alone.public())}}
    if placement is None or release.schema.rows != "unlinked" or not placement.suppressed:
        return {}
    return {"rows_not_published": placement.suppressed}


def _private(release: Release, policy: EvidencePolicy | None) -> dict[str, str]:
    """The chance that was used and the whole table's distribution, suppressed people included."""
    if isinstance(release.made, Randomised):
        # The order of rows is all the chance that can be told; what was counted is kept nowhere.
        seed = release.made.table.seed
        noise = {"seed": seed, "groups": len(release.groups), "source": release.label}
        return {"run.json": json.dumps(noise, indent=2)}
    made = made_to_publish(release)
    units = made.findings.distances
    run = {
        "seed": made.seed,
        **({} if units is None else units.named()),
        "suppressed": release.suppressed,
        "groups": release.groups.number(),
        "source": made.placement.table.source.label,
    }
    if policy is not None and (points := made.findings.points):
        ways = {"table": made.placement.table.fingerprint, "policy": policy.fingerprint}
        run |= {"made_of": ways, "points": points}
    reference: dict[str, Any] = {
        name: dict(zip(groups.values, groups.reference.tolist(), strict=True))
        for name, groups in (release.by_row or release).by_attribute.items()
        if name
    }
    if people := people_references(made.placement.table.counts):
        reference[BY_PERSON] = {name: having.tolist() for name, having in people.items()}
    return {
        "run.json": json.dumps(run, indent=2),
        REFERENCE: json.dumps(reference, indent=2, ensure_ascii=False),
        DOMAINS: json.dumps(_domains(made.placement.table), ensure_ascii=False),
    }


def _domains(table: Table) -> dict[str, object]:
    """What quasi-identifiers may be, where only the table told that: for whoever judges it again.

    It says which values somebody has, suppressed people included.
    """
    schema = table.schema
    return {
        domain.name: {
            "kind": domain.kind,
            "values": [None if value is None else text_of(value) for value in domain.values],
            "specials": [special for special in domain.specials if special is not None],
        }
        for domain in table.counts.quasi
        if known_domain(
            domain.name, schema.domains.get(domain.name), schema.hierarchies.get(domain.name)
        )
        is None
        and len(domain) <= _MOST_VALUES
    }
