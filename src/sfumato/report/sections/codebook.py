"""The page of a codebook: what goes with the data to people who have nothing else.

Stands apart: it shows what `release/write/codebook.py` says, and knows no report.
"""

from __future__ import annotations

from sfumato.release.write.codebook import Codebook, CodebookColumn
from sfumato.report.document import Document, Section, Sheet

_LISTED = 40  # labels of a column on the page; codebook.json and codebook.csv have them all


def codebook_document(codebook: Codebook) -> Document:
    """Columns, what stands in their cells, what is not there, how to reckon, what it answers."""
    counted_by = "by noisy counts " if codebook.scheme == "randomised" else ""
    files = " and ".join(codebook.files[:2]) + " and more" * (len(codebook.files) > 2)
    return Document(
        "codebook",
        "Codebook",
        f"A {codebook.scheme} release of {codebook.people:,} people {counted_by}in {files}. The "
        "same for programs is in codebook.json and codebook.csv.",
        (
            Section("Columns", tables=(_columns(codebook),)),
            Section(
                "What stands in the cells",
                "Each way in which cells are written, what it says, and what to do with it.",
                (_notations(codebook), *_labels(codebook)),
            ),
            Section("What was removed", "\n\n".join(codebook.removed)),
            Section("How to analyse it", "\n\n".join(codebook.analysis)),
            _questions(codebook),
        ),
        closing="Everything here follows from the published files and their manifest.",
    )


def _columns(codebook: Codebook) -> Sheet:
    labelled = any(column.label for column in codebook.columns)
    return Sheet(
        ("column", *(["label"] if labelled else []), "what was done", "role", "type"),
        tuple(
            (
                column.name,
                *([column.label] if labelled else []),
                column.what_was_done,
                column.role,
                column.type,
            )
            for column in codebook.columns
        ),
    )


def _notations(codebook: Codebook) -> Sheet:
    """The ways of writing, each once, with the columns that have it."""
    rows: dict[tuple[str, str, str], tuple[list[str], list[str]]] = {}
    for column in codebook.columns:
        for notation in column.notations:
            names, examples = rows.setdefault(
                (notation.kind, notation.means, notation.use), ([], [])
            )
            names.append(column.name)
            examples += [notation.example] if notation.example else []
    return Sheet(
        ("cell", "means", "to reckon with it", "columns"),
        tuple(
            (
                ", ".join(dict.fromkeys(examples[:3])) or ("empty" if kind == "missing" else kind),
                means,
                use,
                ", ".join(names),
            )
            for (kind, means, use), (names, examples) in rows.items()
        ),
    )


def _labels(codebook: Codebook) -> list[Sheet]:
    """Ranges with their middles, and labels with what they stand for; codes with their labels."""
    return [sheet for column in codebook.columns for sheet in _of_column(column)]


def _of_column(column: CodebookColumn) -> list[Sheet]:
    more = f"All of them are in codebook.csv: {len(column.labels):,}."
    notes = (more,) if len(column.labels) > _LISTED else ()
    listed = column.labels[:_LISTED]
    sheets = []
    if any(label.low is not None or label.high is not None for label in listed):
        ends = tuple(
            (notation.text or "empty", notation.low, notation.high, notation.middle)
            for notation in listed
        )
        title = f"{column.name}: ranges and their middles"
        sheets.append(Sheet(("cell", "from", "to", "middle"), ends, title, notes))
    elif any(label.values and label.kind == "label" for label in listed):
        stands = tuple(
            (notation.text or "empty", ", ".join(notation.values)) for notation in listed
        )
        title = f"{column.name}: what labels stand for"
        sheets.append(Sheet(("cell", "one of"), stands, title, notes))
    if column.value_labels:
        codes = tuple(column.value_labels.items())
        sheets.append(Sheet(("code", "label"), codes, f"{column.name}: codes"))
    return sheets


def _questions(codebook: Codebook) -> Section:
    rows = tuple(
        (", ".join(question.counts_by), question.sure, question.words)
        for question in codebook.questions
    )
    return Section(
        "Which questions it answers",
        "Counts of people by these columns, in the ranges and labels that the public report shows. "
        "Sure: the share of people whose cells leave no doubt where they count; the others are "
        "spread over what their cells allow. It is worked out from the published cells alone.",
        (Sheet(("counts by", "sure", "answer"), rows, percent=("sure",)),),
    )
