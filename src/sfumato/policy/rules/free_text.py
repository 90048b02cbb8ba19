"""Columns of free text: what was found in them, as numbers of cells; whether they may be published.

Anything may stand in a sentence somebody wrote about a patient, and no scan finds all of it: such a
column is never shown safe, and is published only where its owner insists. What a scan does find is
counted by form, and by what the identifiers of the same row hold; no cell is ever quoted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sfumato.policy.rules.base import Against, JudgedRelease, Paragraph, settled, unread
from sfumato.release.handed_out import CellSizes, ColumnCells, HandedOut, columns_of
from sfumato.release.made import ReadFrom
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.identifier_forms import FORMS
from sfumato.schema.roles import Schema
from sfumato.table import Table

_NAMING = ("identifiers", "person")


@dataclass(frozen=True)
class FreeText:
    """A column of free text: `hits` are cells by what was found in them."""

    column: str
    role: str
    cells: int
    hits: dict[str, int]

    @classmethod
    def of(cls, column: ColumnCells, beside: Iterable[str] = ()) -> FreeText:
        """What a scan finds; `beside` are the columns that name people."""
        hits = {FORMS[form].called: cells for form, cells in column.forms.items()}
        own = column.naming(list(beside))
        return cls(
            column.name,
            column.role,
            column.counts.cells,
            {**({"the person's own identifiers": own} if own else {}), **hits},
        )

    @property
    def words(self) -> str:
        """What was found, in words."""
        form_counts = ", ".join(f"{form} in {cells:,}" for form, cells in self.hits.items())
        many = f"{self.cells:,} text{'s' * (self.cells != 1)}"
        return f"{many}, {form_counts or 'in which a scan found nothing'}"


def text_paragraph(judged: JudgedRelease, name: str) -> Paragraph:
    """That no column of free text is handed out; where one is, nobody can tell what is in it."""
    statement = "no column in which anything may stand"
    if judged.handed_out is None:
        return unread(name, statement)
    texts = [
        FreeText.of(column)
        for column in judged.columns
        if column.is_text and column.counts.is_free_text
    ]
    reasons = (f"{text.column}: {text.words}" for text in texts)
    return settled(name, statement, (Against(reason, sure=False) for reason in reasons))


def texts_of(release: Release) -> tuple[FreeText, ...]:
    """The columns of free text that a release publishes as they are, or as sensitive values."""
    if isinstance(release.made, ReadFrom):
        domains = {name: groups.domain for name, groups in release.by_attribute.items()}
        return _free_texts(release.made.stray.handed_out, release.schema, domains)
    placed = release.placement
    return () if placed is None else texts_in(placed.table)


def texts_in(table: Table) -> tuple[FreeText, ...]:
    """The same of a table that a release is made of, by its own cells: who is suppressed counts,
    too."""
    columns = columns_of(table.engine, table.source, table.schema, whole=True)
    domains = {attribute.name: attribute.domain for attribute in table.counts.sensitive}
    return _free_texts(columns, table.schema, domains)


def _free_texts(
    published: HandedOut, schema: Schema, domains: Mapping[str, Domain | None]
) -> tuple[FreeText, ...]:
    naming = [column.name for column in published.columns if column.role in _NAMING]
    texts = []
    for column in published.columns:
        if column.role not in ("keep", "sensitive") or not column.is_text:
            continue
        if column.role == "sensitive" and not _may_be(
            schema, domains.get(column.name), column.name
        ):
            continue
        if column.counts.is_free_text:
            texts.append(FreeText.of(column, naming))
        column.forget()
    return tuple(texts)


def _may_be(schema: Schema, domain: Domain | None, name: str) -> bool:
    """Whether sensitive values may be free text, by what is known of them without a look."""
    if name in schema.levels or name in schema.lists:
        return False
    if domain is None:
        return True
    texts = [value for value in domain.values if isinstance(value, str)]
    words = sum(text.count(" ") + 1 for text in texts) / max(len(texts), 1)
    longest = max(map(len, texts), default=0)
    return CellSizes(0, len(texts), 0, words, longest).are_sentences
