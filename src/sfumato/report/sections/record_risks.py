"""Records at risk as sections and documents: who is alone by few columns, and by which.

Stands apart: it alone knows special uniques, which the command line and reports show.
"""

from __future__ import annotations

import numpy as np

from sfumato.adversaries.linkage.special_uniques import SpecialUniques
from sfumato.report.document import OF_TABLE, Document, Section, Sheet

_RANKED = 10  # combinations and values shown; all combinations are in the JSON
_READ = (
    "A minimal sample unique (MSU) is a set of columns by which somebody is alone in this file, "
    "and is not by fewer of them. A score adds up somebody's MSUs, the more the smaller they are: "
    "it ranks records, and is no chance. Shares of columns add up to more than 1, for an MSU "
    "counts for each of its columns."
)


def uniques_document(found: SpecialUniques) -> Document:
    """Special uniques as a document; what single values add is private."""
    people = found.people
    words = (
        f"{found.special:,} of {people:,} people are alone by {found.size} columns or fewer; "
        f"{found.unique:,} by all {len(found.columns)} together."
    )
    sections = [Section("Who is alone by few columns?", f"{words}\n\n{_READ}", (_sizes(found),))]
    if found.special:
        sections.append(Section("Which columns tell people apart", "", (_columns(found),)))
        sections.append(Section("Which combinations", "", (_combinations(found),)))
        values = tuple((one.column, one.value, one.share) for one in found.values(_RANKED))
        sheet = Sheet(("column", "value", "share of scores"), values, percent=("share of scores",))
        sections.append(Section("Which values (private)", "", (sheet,), private=True))
    return Document(
        "special-uniques",
        f"Special uniques of {found.label}",
        f"SUDA scores by {', '.join(found.columns)}, up to {found.size} columns at once.",
        tuple(sections),
        facts={
            "people": people,
            "columns": found.columns,
            "size": found.size,
            "special": found.special,
            "unique": found.unique,
            "uniques_by_size": found.by_size,
            "share_of_scores": found.shares,
            "highest_score": float(found.score.max(initial=0.0)),
            "sampling_fraction": found.sampling_fraction,
            "combinations": [
                {"columns": one.columns, "people": one.people} for one in found.combinations
            ],
        },
        private=OF_TABLE,
    )


def _sizes(found: SpecialUniques) -> Sheet:
    rows = []
    for place, many in enumerate(found.by_size):
        here = found.fewest == place + 1
        highest = float(found.score[here].max(initial=0.0)) if here.any() else None
        rows.append((place + 1, many, int(here.sum()), highest))
    notes = []
    if found.disclosure is not None:
        chances = found.disclosure[found.disclosure > 0]
        highest = float(chances.max(initial=0.0))
        notes.append(
            f"DIS-SUDA at a sampling fraction of {found.sampling_fraction:g}: highest "
            f"{highest:.4f}, above 0.1 for {int(np.sum(chances > 0.1)):,} people."
        )
    return Sheet(
        ("columns", "MSUs", "people who need no fewer", "highest score"),
        tuple(rows),
        notes=tuple(notes),
    )


def _columns(found: SpecialUniques) -> Sheet:
    ranked = sorted(found.shares.items(), key=lambda one: -one[1])
    return Sheet(("column", "share of scores"), tuple(ranked), percent=("share of scores",))


def _combinations(found: SpecialUniques) -> Sheet:
    rows = tuple((", ".join(one.columns), one.people) for one in found.combinations[:_RANKED])
    more = len(found.combinations) - len(rows)
    notes = (f"{more:,} further combinations; all are in the JSON.",) if more > 0 else ()
    return Sheet(("alone by", "people"), rows, notes=notes)
