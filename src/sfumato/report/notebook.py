"""Results in a notebook: the sections of their pages, small.

`document_of` says by which document a result is told; `notebook_html` makes a fragment of it that
stands among other cells. It has no head and no script, and its styles touch nothing else; sections
are folded, long tables cut, private sections left out, and charts that take a script told in words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import singledispatch

from sfumato.adversaries.composition.attack import IntersectionAttack
from sfumato.adversaries.relative_threat.result import RelativeThreat
from sfumato.adversaries.skyline.knowledge import KnowledgeSkyline
from sfumato.criteria.base import Verdict
from sfumato.errors import InputError, SfumatoError
from sfumato.ledger.ledger import Ledger
from sfumato.notebook import Displayed
from sfumato.policy.draft.draft import Draft
from sfumato.release.release import Release
from sfumato.release.treatment import column_treatments
from sfumato.report.document import Document, Documented, Section, Sheet
from sfumato.report.html.page import template
from sfumato.report.sections.composition import attack_document, list_document
from sfumato.report.sections.criteria import verdicts_sheet
from sfumato.report.sections.relative_threat import relative_document
from sfumato.report.sections.skyline import skyline_charts, skyline_sheet
from sfumato.schema.domain import Domain
from sfumato.schema.roles import Schema
from sfumato.table import Table

_ROWS = 10  # of a table
_HEAD = 5  # published rows of a release
_LOOKED_AT = 100_000  # people: the rows of a larger release are not made for a look at them


def notebook_html(result: Displayed) -> str:
    """What a notebook shows of a result, for whoever puts it elsewhere."""
    document = document_of(result).public()
    sections = tuple(
        replace(section, tables=tuple(_cut(sheet) for sheet in section.tables))
        for section in document.sections
    )
    small = replace(document, sections=sections)
    return template("fragment.html").render(document=small)


def _cut(sheet: Sheet) -> Sheet:
    """The first rows of a long table, and how many more there are."""
    more = len(sheet.rows) - _ROWS
    if more <= 0:
        return sheet
    left = tuple(row for row in sheet.starred if row < _ROWS)
    notes = (*sheet.notes, f"{more:,} more row{'s' * (more > 1)}")
    return replace(sheet, rows=sheet.rows[:_ROWS], starred=left, notes=notes)


# -- by which document each is told ----------------------------------------------------------------


@singledispatch
def document_of(result: object) -> Document:
    """The document that tells a result."""
    raise InputError(f"nothing is known of how to show {type(result).__name__}")


@document_of.register
def _(result: Document) -> Document:
    return result


@document_of.register
def _(result: Documented) -> Document:
    return result.document()


@document_of.register
def _(result: RelativeThreat) -> Document:
    return relative_document(result, "the release")


@document_of.register
def _(result: IntersectionAttack) -> Document:
    return attack_document(result)


@document_of.register
def _(result: KnowledgeSkyline) -> Document:
    sheets, charts = (skyline_sheet(result),), skyline_charts([result])
    section = Section(f"Skyline of {result.value}", "", sheets, charts)
    title = f"Knowledge skyline at {100 * result.confidence:g}% confidence"
    return Document("skyline", title, "", (section,))


@document_of.register
def _(result: Verdict) -> Document:
    section = Section("Criterion", "", (verdicts_sheet([result]),))
    return Document(
        "verdict", f"{result.criterion}: {result.status.replace('_', ' ')}", "", (section,)
    )


@document_of.register
def _(result: Ledger) -> Document:
    if not result.path.exists():
        return Document("ledger", "Ledger", f"{result.path} is not there yet: .add makes it", ())
    return list_document(str(result.path), result.list(), result.spent())


@document_of.register
def _(result: Draft) -> Document:
    policy = result.policy
    asked = Section("Questions for the owner of the data", "\n\n".join(result.questions))
    promises = Section("What is promised", "\n\n".join(map(str, policy.require)))
    sections = [asked, promises]
    if policy.schema is not None:
        sections.insert(0, Section("Columns", "", (_columns(policy.schema),)))
    return Document(
        "draft",
        "Draft of a policy",
        f"For a table of {result.rows:,} rows. .text has it all, .save(path) writes it.",
        tuple(section for section in sections if section.words or section.tables),
    )


@document_of.register
def _(result: Table) -> Document:
    domains = (*result.counts.quasi, *(attribute.domain for attribute in result.counts.sensitive))
    return Document(
        "table",
        f"Table of {result.people:,} people",
        f"From {result.source.label}. No row of it is shown.",
        (Section("Columns", "", (_columns(result.schema, domains),)),),
        private="describes the original table",
    )


@document_of.register
def _(result: Release) -> Document:
    rows = tuple(
        (treatment.column, treatment.role, treatment.how, treatment.values_after)
        for treatment in column_treatments(result)
        if treatment.published
    )
    columns = Sheet(("column", "role", "what was done", "values published"), rows)
    title, *more = result._in_short()
    return Document(
        "release",
        title,
        ". ".join(filter(None, more)),
        (Section("What is published", "", (columns, *_first_rows(result))),),
    )


def _first_rows(release: Release) -> Iterable[Sheet]:
    """Some rows as they are handed out, of a release that was made here and is not too large."""
    if release.people > _LOOKED_AT:
        return
    try:
        tables = release.tables()
    except SfumatoError:  # it was read, or altered: nobody hands it out
        return
    for name, table in tables.items():
        rows = zip(*(column.to_pylist() for column in table.slice(0, _HEAD).columns), strict=True)
        cells = tuple(tuple("" if cell is None else str(cell) for cell in row) for row in rows)
        title = f"The first of {table.num_rows:,} rows" + f" of {name}" * (len(tables) > 1)
        yield Sheet(tuple(table.column_names), cells, title)


def _columns(schema: Schema, domains: Iterable[Domain] = ()) -> Sheet:
    """Every column that has a role; of a table what kind it is and how many values it has."""
    known = {domain.name: domain for domain in domains}
    names = {"quasi": "quasi-identifier", "identifiers": "identifier", "pseudonyms": "pseudonym"}
    rows: list[tuple[object, ...]] = []
    for role, name in schema.roles():
        row: tuple[object, ...] = (name, names.get(role, role))
        if known:
            row += (known[name].kind, len(known[name])) if name in known else ("", None)
        hierarchy = schema.hierarchies.get(name)
        rows.append((*row, "" if hierarchy is None else hierarchy.kind))
    domain_columns = ("kind", "values") if known else ()
    return Sheet(("column", "role", *domain_columns, "hierarchy"), tuple(rows))
