"""What a codebook says in sentences: what of the table is not there, how to reckon with the rest.

Like all of a codebook it follows from what is handed out alone. Stands apart: what columns and
cells mean is a table for programs as well, and these are sentences for people.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sfumato.release.description import GROUP_ID
from sfumato.release.linked import KEPT_BESIDE
from sfumato.release.release import Release
from sfumato.release.write.weights import words_of_weights

_ROW = {
    "gathered": "One row is one person.",
    "unlinked": "A person may have several rows, and nothing tells which are hers: count rows.",
    "linked": "A person's rows have one pseudonym: count pseudonyms for people, rows for events.",
}


def words_removed(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """What of the table is not there; nothing is told of columns that are not published."""
    hidden = manifest["suppressed"]
    words = ["Columns that name people, and those that were given no role, are not published."]
    if manifest["scheme"] == "randomised":
        return (*words, "No row is a person's: counts are noisy, and people are nowhere.")
    if hidden:
        be = "person is" if hidden == 1 else "people are"
        words.append(f"{hidden:,} {be} not in the files, and nothing is told of them.")
    else:
        words.append("Everybody of the table is in the files.")
    if rows := manifest.get("linked", manifest).get("rows_not_published"):
        words.append(f"{rows:,} row{'s are' if rows > 1 else ' is'} not in the files.")
    return tuple(words)


def _words_of_kept(kept: Sequence[str], manifest: Mapping[str, Any]) -> str:
    """What recipients must know of columns that stand as they were on linked rows."""
    linked, people = manifest["linked"], manifest["people"]
    alone, beside = linked.get("alone_by_kept"), linked.get("alone_by_kept_and_cells")
    words = f"Guard {', '.join(kept)}: {KEPT_BESIDE}."
    if alone is None or beside is None:
        return words
    return (
        f"{words} By them {alone:,} of {people:,} people are unlike anybody else, by them and "
        f"what the rows show of quasi-identifiers {beside:,}."
    )


def words_of_analysis(
    release: Release, manifest: Mapping[str, Any], kinds: Collection[str]
) -> tuple[str, ...]:
    """How to reckon with it, by the kinds of notation that its cells have."""
    described = release.regions
    words = []
    if described.exact:
        words.append(
            f"Rows and sensitive values are in two files, joined by {GROUP_ID}: a person of a "
            "bucket has each of its values with the share that it has there. Counts that do not "
            "ask for both are exact."
        )
    elif described.centroids:
        words.append(
            "Cells of quasi-identifiers are centres of groups: means by column are kept nearly, "
            "spreads and correlations within groups are gone, so variances come out too small."
        )
    elif described.noisy and release.guarantee is not None:
        words.append(
            f"Counts carry noise ({release.guarantee}): sums over many cells are better than "
            "single small cells, which may be of nobody."
        )
    else:
        words.append(_ROW[manifest.get("rows", "gathered")])
    kept = [entry["name"] for entry in manifest["columns"] if entry["role"] == "keep"]
    if kept and manifest.get("rows") == "linked":
        words.append(_words_of_kept(kept, manifest))
    if manifest["suppressed"] and not described.noisy:
        words.append(
            "Shares are shares of those who are published. Who is left out is not left out by "
            "chance: people unlike others are missing first."
        )
    if {"interval", "bound", "range"}.intersection(kinds):
        words.append(
            "Ranges: a mean by middles is off by at most half the mean width; regressions may take "
            "both ends (interval censoring). Ranges of one column may differ in width and overlap."
        )
    if "any" in kinds:
        words.append(
            "A cell * tells nothing: it is neither a category nor a missing value, and it is not "
            "there by chance. Where few cells of a column are *, they are those of people unlike "
            "others: leaving them out makes what is rare look rarer."
        )
    if formulas := [entry["name"] for entry in manifest["columns"] if "formula_cells" in entry]:
        words.append(
            f"Import {', '.join(formulas)} as text: some cells begin with =, +, - or @, and a "
            "spreadsheet program would run them as formulas. They are as they were."
        )
    words += [words_of_weights(entry) for entry in manifest["columns"] if entry["role"] == "weight"]
    words += [
        f"{'; '.join(filter(None, [f'{name}: {change.words}', change.for_recipients]))}."
        for name, change in sorted(release.perturbed.items())
    ]
    return tuple(words)
