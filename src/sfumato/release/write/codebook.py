"""The codebook of a release: what each column is, what its cells mean, and how to reckon with them.

It goes with the data to people who have nothing else. All of it follows from the published files
and their manifest, so it tells nobody more than these: the codebook of a release that was read back
from public/ is the same one. How far answers are off is told by what the cells leave open, never by
comparing them with the table: errors against the table are figures about the table, and enough of
them give it away; they stand in the owner's report.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from sfumato.release.description import GROUP_ID, PSEUDONYM
from sfumato.release.distribution import NO_VALUE, decided
from sfumato.release.made import Randomised
from sfumato.release.noisy import COUNT
from sfumato.release.release import Release
from sfumato.release.treatment import (
    ColumnTreatment,
    ShownColumn,
    column_treatments,
    is_one_value,
    shown_columns,
)
from sfumato.release.write.codebook_words import words_of_analysis, words_removed
from sfumato.schema.icd10 import CodeFamily
from sfumato.schema.notation import JSON
from sfumato.schema.recipes import Taxonomy, Zip3
from sfumato.schema.region import (
    Anything,
    End,
    Mask,
    Region,
    Span,
    place_of,
    reading_key,
    text_of,
)
from sfumato.schema.roles import Schema

VERSION = 1  # of codebook.json
MOST_LABELS = 2_000  # of a column that are listed though their notation says how to read them
_MOST_MEMBERS = 200  # of a label that are listed
_ZIP3_REST = (
    "a ZIP code of any area that is not told by its first three digits, because too few people "
    "live there, or it is not known that enough do; these lie all over the country"
)
_MOST_PAIRED = 6  # columns that are asked about in pairs

EntryKind = Literal["value", "code", "interval", "bound", "range", "set", "mask", "label", "family",
               "any", "missing", "list"]  # fmt: skip

# How a cell of each kind is found in a file, what it says, and what to do with it.
_END = r"[^,\[\]()]+"
_PATTERNS: dict[EntryKind, str] = {
    "interval": rf"^([\[(])({_END}), ({_END})([\])])( or .+)?$",
    "bound": rf"^(<=|>=|<|>)({_END})( or .+)?$",
    "set": r"^\{.+\}$",
    "mask": r"^[^*]+\*+$",
    "any": r"^\*$",
}
_MEANS: dict[EntryKind, str] = {
    "value": "one value",
    "code": "a code that stands among numbers or dates, and is none of them",
    "interval": "a value between the two ends; [ and ] include their end, ( and ) do not",
    "bound": "a value below or above the number; = includes it",
    "range": "a value of this range; its ends are those of its label",
    "set": "one of the values listed; a value with a comma or a brace in it stands in quotes",
    "mask": "a text that begins like this; each * hides one sign",
    "label": "one of the values that the label stands for",
    "family": "one of the codes of this family of ICD-10",
    "any": "not told: every value is possible",
    "missing": "the person has no value",
    "list": "several values of one person",
}
_USE: dict[EntryKind, str] = {
    "value": "as it is",
    "code": "apart from the numbers: not one of them, and no missing value; leave it out of means",
    "interval": "the middle for means and sums, or both ends for bounds; of whole numbers in "
    "[a, b) the middle is half a step lower",
    "bound": "there is no middle: take the bound, or a value known from elsewhere, and say so",
    "range": "the middle for means and sums, or both ends for bounds",
    "set": "give each value the same weight, or keep the set as a category of its own",
    "mask": "compare what is shown; group finer cells by what they begin with",
    "label": "as a category; it says nothing of which value it is",
    "family": "as a category; it says nothing of which code it is",
    "any": "leave the cell out of whatever asks for this column; it is not a missing value",
    "missing": "as a missing value",
    "list": "one entry for each value",
}


@dataclass(frozen=True)
class CellLabel:
    """A cell as it stands in the file, and what it says.

    `low`, `high` and `middle` of a range, None where it is open; `beside`: or one of these special
    codes, or missing. `values` that a label or a set stands for.
    """

    text: str
    kind: EntryKind
    low: float | str | None = None
    high: float | str | None = None
    low_closed: bool | None = None
    high_closed: bool | None = None
    middle: float | str | None = None
    values: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    @property
    def means(self) -> str:
        """In words."""
        low = "at least" if self.low_closed else "above"
        high = "at most" if self.high_closed else "below"
        ends = [(low, self.low), (high, self.high)]
        range_words = " and ".join(f"{bound} {end}" for bound, end in ends if end is not None)
        words = range_words or "; ".join(self.values) or _MEANS[self.kind]
        return ", or ".join([words, *self.beside])


@dataclass(frozen=True)
class CellNotation:
    """A way in which cells of a column are written; `pattern` is a regular expression for it."""

    kind: EntryKind
    example: str
    means: str
    use: str
    pattern: str | None = None


@dataclass(frozen=True)
class CodebookColumn:
    """A published column: what was done to it, and what stands in its cells.

    `labels` are told one by one unless they are too many; single values are not.
    """

    name: str
    role: str
    type: str
    what_was_done: str
    label: str = ""
    value_labels: Mapping[str, str] | None = None
    notations: tuple[CellNotation, ...] = ()
    labels: tuple[CellLabel, ...] = ()


@dataclass(frozen=True)
class CountQuestion:
    """Counts by some columns: the share of people of whom cells say for sure where they count."""

    counts_by: tuple[str, ...]
    sure: float | None
    words: str


@dataclass(frozen=True)
class Codebook:
    """All of it; `files` are the data."""

    scheme: str
    people: int
    suppressed: int
    files: tuple[str, ...]
    form: Mapping[str, object]
    columns: tuple[CodebookColumn, ...]
    removed: tuple[str, ...]
    analysis: tuple[str, ...]
    questions: tuple[CountQuestion, ...]

    def to_json(self) -> str:
        content = {"codebook": VERSION, **_plain(asdict(self))}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)

    def to_csv(self) -> str:
        """A line for each column, and for each of its labels."""
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(_CSV)
        for column in self.columns:
            head = (column.name, column.role, column.type, column.label, column.what_was_done)
            lines.writerow((*head, *[""] * (len(_CSV) - len(head))))
            for code, label in (column.value_labels or {}).items():
                lines.writerow((column.name, *[""] * 4, code, "value", label, *[""] * 3))
            for cell in column.labels:
                ends = ["" if end is None else end for end in (cell.low, cell.high, cell.middle)]
                lines.writerow((column.name, *[""] * 4, cell.text, cell.kind, cell.means, *ends))
        return text.getvalue()


_CSV = ("column", "role", "type", "label", "what was done", "cell", "kind", "means", "low", "high",
        "middle")  # fmt: skip


def _plain(value: Any) -> Any:
    """As JSON has it, without what says nothing; an empty text of a cell is a cell."""
    if isinstance(value, Mapping):
        kept = {key: item for key, item in value.items() if key == "text" or item not in _NOTHING}
        return {key: _plain(item) for key, item in kept.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


_NOTHING: tuple[object, ...] = (None, "", (), {})


def codebook_of(release: Release, manifest: Mapping[str, Any]) -> Codebook:
    """The codebook of a release with this manifest: a function of what is handed out alone."""
    by_name = {column.name: column for column in shown_columns(release.by_row or release) or ()}
    treatments = {treatment.column: treatment for treatment in column_treatments(release)}
    columns = tuple(
        _column(entry, manifest["form"], treatments.get(name), by_name.get(name), release)
        for name, entry in ((entry["name"], entry) for entry in manifest["columns"])
    )
    return Codebook(
        manifest["scheme"],
        manifest["people"],
        manifest["suppressed"],
        tuple(manifest["files"]),
        manifest["form"],
        columns,
        words_removed(manifest),
        words_of_analysis(release, manifest, {n.kind for c in columns for n in c.notations}),
        _questions(release, tuple(by_name.values())),
    )


# -- columns ---------------------------------------------------------------------------------------

_OF_OURS = {
    GROUP_ID: "the number of the bucket that a row is in; numbers say nothing",
    PSEUDONYM: "a random number, the same on all rows of a person; other releases draw others",
    COUNT: "how many people the row stands for",
}


def _column(
    entry: Mapping[str, Any],
    form: Mapping[str, Any],
    treatment: ColumnTreatment | None,
    column: ShownColumn | None,
    release: Release,
) -> CodebookColumn:
    name, role = entry["name"], entry["role"]
    missing, codes = form.get("missing", {}).get(name, ""), form.get("codes", {}).get(name, ())
    own = {"group": GROUP_ID}.get(role, role)
    how = _OF_OURS.get(own, "" if treatment is None else treatment.how)
    means, done = dict(_MEANS), release.perturbed.get(name)
    how = done.words if done is not None and own == PSEUDONYM else how
    labels: tuple[CellLabel, ...] = ()
    kinds: dict[EntryKind, str] = {"value": ""}
    if column is not None and not release.regions.exact:
        parts = _parts(release, column)
        all_labels = [_label(name, part, release.schema, missing, codes) for part in parts]
        kinds = {label.kind: label.text for label in sorted(all_labels, key=_order, reverse=True)}
        unlisted = {"value"} if len(all_labels) <= MOST_LABELS else {"value", *_PATTERNS}
        listed = (label for label in all_labels if label.kind not in unlisted)
        labels = tuple(sorted(listed, key=_order))
    if "list" in entry or "several" in entry:
        separator = entry.get("list", "")
        kinds = {"list": JSON if separator == JSON else f"a{separator}b" if separator else ""}
    elif codes and (column is None or release.regions.exact):
        kinds["code"] = ", ".join(codes)
    kinds |= {} if own in _OF_OURS else {"missing": kinds.get("missing", missing)}
    if release.regions.centroids and column is not None:
        means["value"] = "the centre of the person's group, not her own value"
    elif done is not None:
        role = "pseudonym" if done.done == "pseudonym" else role
        means["value"] = f"one value, after what was done: {done.words}"
    return CodebookColumn(
        name,
        role,
        entry["type"],
        how,
        entry.get("label", ""),
        entry.get("labels"),
        tuple(
            CellNotation(kind, example, means[kind], _USE[kind], _PATTERNS.get(kind))
            for kind, example in sorted(kinds.items(), key=lambda entry: _KINDS.index(entry[0]))
        ),
        labels,
    )


def _parts(release: Release, column: ShownColumn) -> Sequence[Region]:
    """What stands in the cells of a column; of a noisy table also where nobody is."""
    if isinstance(release.made, Randomised):
        return next(axis.parts for axis in release.made.table.axes if axis.name == column.name)
    return [part for part, _ in column.used]


_KINDS = tuple(_MEANS)


def _order(label: CellLabel) -> tuple[int, float, tuple[float, str, str]]:
    low = label.low if isinstance(label.low, int | float) else -math.inf
    return _KINDS.index(label.kind), low, reading_key(label.text)


def _label(
    column: str, part: Region, schema: Schema, missing: str, codes: Sequence[str]
) -> CellLabel:
    """What a cell says."""
    if part == NO_VALUE:
        return CellLabel(missing, "missing")
    if isinstance(part, Anything) or part.text == "*":
        return CellLabel("*", "any")
    if isinstance(part, Span):
        return _range(part)
    if isinstance(part, Mask):
        return CellLabel(part.text, "mask")
    if isinstance(part, CodeFamily):
        return CellLabel(part.text, "family")
    if is_one_value(part):
        return CellLabel(part.text, "code" if part.text in codes else "value")
    if part.label is None:
        members = sorted(map(text_of, part.values), key=reading_key)
        return CellLabel(part.text, "set", values=tuple(members))
    recipe = schema.hierarchies.get(column)
    if isinstance(recipe, Zip3):
        return CellLabel(part.text, "label", values=(_ZIP3_REST,))
    leaves = (
        [leaf for leaf, path in recipe.paths.items() if part.label in path]
        if isinstance(recipe, Taxonomy)
        else []
    )
    return CellLabel(
        part.text, "label", values=tuple(leaves if len(leaves) <= _MOST_MEMBERS else ())
    )


def _range(span: Span) -> CellLabel:
    low, high = place_of(span.low), place_of(span.high)
    closed = not (math.isinf(low) or math.isinf(high))
    dated = any(isinstance(end, dt.date) for end in (span.low, span.high))
    middle: float | str | None = (low + high) / 2 if closed else None
    if dated and middle is not None:
        middle = dt.date.fromordinal(int(middle)).isoformat()
    return CellLabel(
        span.text,
        "range" if span.label is not None else "interval" if closed else "bound",
        _end(span.low),
        _end(span.high),
        span.low_closed if not math.isinf(low) else None,
        span.high_closed if not math.isinf(high) else None,
        middle,
        beside=tuple(sorted(map(text_of, span.beside))),
    )


def _end(end: End) -> float | str | None:
    if isinstance(end, dt.date):
        return text_of(end)
    return None if math.isinf(end) else end


# -- questions -------------------------------------------------------------------------------------


def _questions(release: Release, published: Sequence[ShownColumn]) -> tuple[CountQuestion, ...]:
    """Counts by each column and by pairs of them, and how much of the answer is sure."""
    described = release.regions
    names, sensitive = [column.name for column in published], list(release.schema.sensitive)
    if described.noisy:
        return (CountQuestion((*names, *sensitive), None, "off by the noise alone"),)
    if described.centroids:
        words = "an estimate: centres are near people's values, and nothing says how near"
        return (*(CountQuestion((name,), None, words) for name in names), *_of_sensitive(release))
    release = release.by_row or release
    rows = release.groups.published_rows.astype(np.float64)
    sure = dict(zip(names, _sure(release, published), strict=True))
    asked = [(name,) for name in names] + list(combinations(names[:_MOST_PAIRED], 2))
    questions = []
    for columns in asked:
        sure_in_all = np.prod([sure[name] for name in columns], axis=0)
        share = round(float((rows * sure_in_all).sum()) / (float(rows.sum()) or 1.0), 2)
        questions.append(CountQuestion(columns, share, _in_words(share)))
    if described.exact:
        words = "an estimate: whose value it is, is told by bucket only"
        return (*questions, *(CountQuestion((name, *sensitive), None, words) for name in names))
    return (*questions, *_of_sensitive(release))


def _of_sensitive(release: Release) -> Iterator[CountQuestion]:
    """Counts by sensitive columns whose values stand beside people."""
    by_chance = {name for name, done in release.perturbed.items() if done.by_chance}
    altered = "an estimate: values were altered by chance"
    for name in release.schema.sensitive:
        sure, words = (None, altered) if name in by_chance else (1.0, _in_words(1.0))
        yield CountQuestion((name,), sure, words)


def _sure(release: Release, published: Sequence[ShownColumn]) -> list[np.ndarray[Any, Any]]:
    """Of each column, whether the cell of each group says where its people count."""
    regions = release.regions.each_region
    if regions is None:  # buckets show everybody's own values
        return [np.ones(len(release.groups)) for _ in published]
    sure = []
    for column, codes in zip(published, regions.codes, strict=True):
        by_part = np.zeros(len(column.parts))
        by_part[np.flatnonzero(column.people)] = decided(column.used)
        sure.append(by_part[codes])
    return sure


def _in_words(share: float) -> str:
    if share >= 0.995:
        return "exact for those published"
    if share >= 0.9:
        return "close"
    return "rough" if share >= 0.5 else "hardly: most people could count elsewhere"
