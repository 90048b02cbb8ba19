"""Columns of free text among what is handed out: what was found in them, as numbers of cells.

Anything may stand in a sentence somebody wrote about a patient, and no scan finds all of it: such a
column is never shown safe. What a scan does find is counted by form; no cell is ever quoted.
"""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.policy.rules.base import Against, JudgedRelease, Paragraph, settled, unread
from sfumato.release.handed_out import ColumnCells
from sfumato.schema.identifier_forms import FORMS


def free_text_columns(columns: Iterable[ColumnCells]) -> list[ColumnCells]:
    """The columns in which anything may stand."""
    return [column for column in columns if column.is_text and column.counts.is_free_text]


def hits_told(column: ColumnCells) -> str:
    """What was found in a column of free text: numbers of cells, by form."""
    hits = ", ".join(f"{FORMS[form].called} in {cells:,}" for form, cells in column.forms.items())
    return f"{column.name}: {column.counts.cells:,} texts; {hits or 'nothing was found in them'}"


def text_paragraph(judged: JudgedRelease, name: str) -> Paragraph:
    """That no column of free text is handed out; where one is, nobody can tell what is in it."""
    statement = "no column in which anything may stand"
    if judged.handed_out is None:
        return unread(name, statement)
    texts = free_text_columns(judged.columns)
    return settled(name, statement, (Against(hits_told(text), sure=False) for text in texts))
