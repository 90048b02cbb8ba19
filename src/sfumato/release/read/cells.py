"""The cells of one published column: distinct texts become regions, equal regions one.

What a column's values are is taken from the schema where it says so (a domain, a hierarchy) and
otherwise from the texts together: numbers when every cell reads as a number or a range of them,
dates likewise, else words, beside which ranges are still ranges. `13053` next to `130**` is a word:
a mask hides characters, so its column holds codes.

Cells of centroids that somebody else made are points.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.engines.reading import Separator
from sfumato.errors import InputError, SchemaError, did_you_mean, forms_of, name_some
from sfumato.numbers import Codes, exact, told_apart
from sfumato.release.description import Regions
from sfumato.schema.domain import Declared, Domain, build_domain
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.notation import KNOWN, Notation, NotationKind, has_word_like_range, members
from sfumato.schema.recipes import Taxonomy
from sfumato.schema.region import (
    OR,
    Anything,
    Mask,
    Region,
    Span,
    Value,
    ValueSet,
    meaning,
    place_of,
)
from sfumato.schema.roles import Schema

# A file of centroids, made by somebody else: cells are points, not values of anybody's.
#
# A mean is rarely a value of the column, so neither the values that a schema declares for numbers
# nor the labels of a hierarchy say anything about it. The order of words stays: a median is one of
# them.


def point_schema(schema: Schema) -> Schema:
    """The schema by which cells are read as points."""

    def stays(name: str) -> bool:
        declared = schema.domains[name]
        return (
            name not in schema.quasi
            or isinstance(declared, str)
            or any(isinstance(value, str) for value in declared)
        )

    return replace(
        schema,
        hierarchies={
            name: recipe for name, recipe in schema.hierarchies.items() if name not in schema.quasi
        },
        domains={name: declared for name, declared in schema.domains.items() if stays(name)},
    )


def point_of(name: str, part: Region) -> Value:
    """The point that a cell shows; refuses one that shows a range, a set or anything."""
    if not isinstance(part, ValueSet) or len(part.values) != 1:
        raise InputError(
            f"column {name!r} shows {part.text!r}, which is no centroid; a microaggregated "
            "release publishes one value a cell"
        )
    return next(iter(part.values))


def check_points(regions: Regions) -> None:
    """Refuse regions that are no points."""
    for name, parts in zip(regions.columns, regions.parts, strict=True):
        for part in parts:
            point_of(name, part)


Texts = Sequence[str | None]
_LEADING_ZERO = re.compile(r"[+-]?0[0-9][0-9.]*")
_WORD = re.compile(r"[^\W\d](?:[^*]*[^\s*])?")  # what no notation has a meaning for
_AXIS_OF: dict[str, NotationKind] = {"intervals": "numeric", "dates": "date"}


@dataclass(frozen=True)
class ReadColumn:
    """The distinct regions of a column and, for each distinct text, which of them it shows."""

    parts: tuple[Region, ...]
    code_of: Codes
    ambiguous: tuple[str, ...] = ()  # labels of several hierarchy levels that differ in extent
    twice: tuple[str, str] | None = None  # two texts of one region, if there are such

    @property
    def plain(self) -> bool:
        """Whether every cell shows one value: the column of a table, not of a release."""
        return all(isinstance(part, ValueSet) and len(part.values) == 1 for part in self.parts)

    @property
    def hidden(self) -> list[int]:
        """The texts that tell nothing, by their places."""
        anything = [isinstance(part, Anything) for part in self.parts]
        return [place for place, part in enumerate(self.code_of.tolist()) if anything[part]]


def shown_parts(columns: Sequence[ReadColumn], texts: Codes) -> Codes:
    """The regions that tuples of texts show, column by column."""
    return np.vstack([cells.code_of[row] for cells, row in zip(columns, texts, strict=True)])


def read_cells(
    name: str,
    texts: Texts,
    schema: Schema,
    separator: str | None,
    *,
    untyped: bool = True,
    in_folder: bool = False,
    specials: Sequence[str] = (),
) -> ReadColumn:
    """Read a column's distinct texts; `untyped`: they come from a text file.

    `in_folder`: in a release folder, so that a word beside ranges is no slip of anybody's pen, and
    `06-07502` a code. `specials`: codes that stand beside its numbers or dates.
    """
    notation, ambiguous = _notation(
        name, texts, schema, separator, untyped, in_folder=in_folder, specials=specials
    )
    regions = [notation.read(text) for text in texts]
    unread = [text for text, region in zip(texts, regions, strict=True) if region is None]
    if unread:
        # A label that a hierarchy lacks must be known to be added; elsewhere the form will do.
        odd = name_some(unread) if notation.closed else forms_of(unread)
        raise InputError(
            f"column {name!r}: {len(unread)} value(s) cannot be read: {odd}; write "
            f"{_wanted(notation)}, or a notation: {KNOWN}"
        )
    index: dict[object, int] = {}
    first: list[int] = []
    codes = np.zeros(len(texts), dtype=np.int32)
    twice, again = None, 0
    for place, region in enumerate(regions):
        assert region is not None
        key = meaning(region)
        if key not in index:
            index[key] = len(first)
            first.append(place)
        else:
            writings = [str(texts[first[index[key]]]), str(texts[place])]
            twice = twice or (writings[0], writings[1])
            again += not (_same_number(region, writings) or _declared(notation, writings))
        codes[place] = index[key]
    if again:
        # Spaces, brackets or an empty cell beside (missing): all that tells two people apart.
        raise said_twice(name, again, "cells")
    parts = tuple(region for place in first if (region := regions[place]) is not None)
    several = tuple(text for text in texts if text in ambiguous)
    return ReadColumn(parts, codes, tuple(text for text in several if text is not None), twice)


def said_twice(name: str, many: int, noun: str) -> InputError:
    """The error for cells or values of which readers take some for one."""
    return InputError(
        f"column {name!r}: {many:,} of its distinct {noun} say the same as others in another "
        "way (spaces around them, another notation, or another sign for a missing value), by "
        "which people can be told apart; write it one way"
    )


def check_values(domain: Domain) -> None:
    """Refuse a column to be published that has values which are read as one."""
    notation = Notation("mixed", zeros=False)
    seen: dict[object, str] = {}
    again = 0
    for value in domain.values:
        if value is not None and (not isinstance(value, str) or _WORD.fullmatch(value)):
            continue
        text = ValueSet(frozenset({value})).text
        region = notation.read(None if value is None else text)
        if region is not None:
            before = seen.setdefault(meaning(region), text)
            again += before is not text and not _same_number(region, [before, text])
    if again:
        raise said_twice(domain.name, again, "values")


def _same_number(region: Region, texts: list[str]) -> bool:
    """Whether texts are one number or date: 5 and 5.0 are one value wherever they are read."""
    if not isinstance(region, ValueSet) or region.label is not None:
        return False
    plain = all(isinstance(value, int | float | dt.date) for value in region.values)
    return plain and all(text == text.strip() for text in texts)


def _declared(notation: Notation, texts: list[str]) -> bool:
    """Whether texts are declared as they stand: the only child of a label has its meaning."""
    return all(text in notation.labels for text in texts)


def says_nothing(region: Region) -> bool:
    """Whether a cell is suppressed or missing: `*`, `****`, NULL."""
    if isinstance(region, Mask):
        return set(region.pattern) == {"*"}
    return isinstance(region, Anything) or (
        isinstance(region, ValueSet) and region.values == {None}
    )


def separators(separator: Separator, schema: Schema) -> Mapping[str, str]:
    """The declared separator of each column that has one, checked."""
    if separator is None:
        return {}
    if isinstance(separator, str):
        separator = dict.fromkeys(schema.quasi, separator)
    for name, text in separator.items():
        if name not in schema.quasi:
            raise InputError(
                f"separator: column {name!r} is not a quasi-identifier; "
                f"{did_you_mean(name, schema.quasi)}"
            )
        if not isinstance(text, str) or text in ("", "*"):
            raise InputError(f"separator of column {name!r}: {text!r}; use a text such as '~'")
    return separator


def published_order(
    name: str, texts: Texts, schema: Schema, specials: Sequence[str] = ()
) -> Declared | None:
    """The domain of a sensitive column that shows labels of its level, not values any more.

    None when it shows plain values, which are yet to be put at their level.
    """
    notation, _ = _notation(name, texts, schema, None, True, specials=specials)
    present = [text for text in texts if text is not None and text not in specials]
    regions = [notation.read(text) for text in present]
    if all(isinstance(region, ValueSet) and region.label is None for region in regions):
        return None
    if any(region is None for region in regions):
        read_cells(name, texts, schema, None, specials=specials)  # says what cannot be read
    places = [_begin(region) for region in regions]
    known = [place for place in places if place is not None]
    if len(known) < len(places):
        return "categorical"
    order = sorted(range(len(present)), key=lambda place: known[place])
    return [*(present[place] for place in order), *(code for code in specials if code in texts)]


def _begin(region: Region | None) -> float | None:
    if isinstance(region, Span):
        return place_of(region.low)
    if not isinstance(region, ValueSet):
        return None
    ends = [value for value in region.values if value is not None and not isinstance(value, str)]
    return min(place_of(value) for value in ends) if len(ends) == len(region.values) else None


def _notation(
    name: str,
    texts: Texts,
    schema: Schema,
    separator: str | None,
    untyped: bool,
    *,
    in_folder: bool = False,
    specials: Sequence[str] = (),
) -> tuple[Notation, frozenset[str]]:
    if specials:
        plain_texts = list(_without_codes(texts, specials))
        plain, ambiguous = _notation(
            name, plain_texts, schema, separator, untyped, in_folder=in_folder
        )
        if plain.axis == "categorical" and not plain_texts:
            plain = replace(plain, axis="numeric")
        return replace(plain, specials=frozenset(specials)), ambiguous
    declared, recipe = schema.domains.get(name), schema.hierarchies.get(name)
    domain = known_domain(name, declared, recipe)
    if domain is not None:
        labels, ambiguous = _labels(domain, recipe)
        axis: NotationKind = "categorical"
        if domain.kind == "numeric":
            axis = "numeric"
        elif domain.kind == "date":
            axis = "date"
        return Notation(axis, labels, True, separator), ambiguous
    axis_of: dict[object, NotationKind] = {
        "numeric": "numeric",
        "date": "date",
        "categorical": "categorical",
    }
    declared_axis = axis_of.get(declared) if isinstance(declared, str) else None
    if declared_axis is None and recipe is not None:
        declared_axis = _AXIS_OF.get(recipe.kind)
    if recipe is not None:
        known = {text: recipe.read_label(text) for text in texts if text is not None}
        labels = {text: region for text, region in known.items() if region is not None}
        if labels:
            return Notation("categorical", labels, separator=separator), frozenset()
    if declared_axis == "numeric" and not _told_apart(texts, separator):
        raise InputError(
            f"column {name!r} holds numbers with more digits than can be told apart as quantities; "
            "round them, or declare the column in domains as 'categorical'"
        )
    if declared_axis is not None:
        return Notation(declared_axis, separator=separator), frozenset()
    guess = declared is None and untyped
    return _inferred(name, texts, separator, guess=guess, in_folder=in_folder), frozenset()


def _without_codes(texts: Texts, specials: Sequence[str]) -> Iterator[str | None]:
    """What cells show beside special codes: nothing of `{N, -9}`, the range of `[2, 3) or {N}`."""
    for text in texts:
        body = (text or "").strip()
        before, _, behind = "", "", body
        if not body.startswith("{") and body not in specials:  # these may have an `or` of their own
            before, _, behind = body.partition(OR)
        pieces = [piece for piece, _ in members(behind.strip())]
        if not any(piece in specials for piece in pieces):
            yield text
        elif before:
            yield before
        else:
            yield from (piece for piece in pieces if piece not in specials)


def _told_apart(texts: Texts, separator: str | None) -> bool:
    """Whether different numbers among the texts, and in sets, stay different as quantities."""
    plain = (text.strip() for text in texts if text is not None)
    numbers = (exact(member) for text in plain for member, _ in members(text, separator))
    return told_apart(number for number in numbers if number is not None)


def _wanted(notation: Notation) -> str:
    if notation.closed:
        return "a value or label it knows, or add it to the hierarchy or domain"
    if notation.axis == "date":
        return "a date such as 2024-05-31"
    return "a number such as 12 or 3.5" if notation.axis == "numeric" else "a value"


def known_domain(name: str, declared: Declared | None, recipe: Hierarchy | None) -> Domain | None:
    """The domain the schema alone tells: a declared list, or a taxonomy's leaves."""
    leaves = list(recipe.leaves()) if recipe is not None else []
    if declared is not None and not (leaves and isinstance(declared, str)):
        # Built from no values at all: a list is its own domain, a word is only checked.
        listed = build_domain(name, pa.array([], pa.string()), untyped=True, declared=declared)[0]
        return None if isinstance(declared, str) else listed
    if not leaves:
        return None
    raw = pa.array(leaves, pa.string())
    try:
        return build_domain(name, raw, untyped=True, declared=declared, extra=leaves)[0]
    except (InputError, SchemaError):
        if declared is not None:
            raise
        return build_domain(name, raw, untyped=True, declared="categorical", extra=leaves)[0]


def _labels(domain: Domain, recipe: Hierarchy | None) -> tuple[dict[str, Region], frozenset[str]]:
    """Every value and label by its text. One that stands for several sets stands for the widest."""
    labels: dict[str, Region] = {}
    ambiguous = set()
    if recipe is None:
        values = (ValueSet(frozenset({value})) for value in domain.values)
        return {region.text: region for region in values}, frozenset()
    for level in recipe.bind(domain).levels:  # from fine to coarse
        for region in level.regions:
            if isinstance(region, Anything) or region.text == "*":
                continue
            finer = labels.get(region.text)
            if finer is None:
                labels[region.text] = region
            elif meaning(finer) != meaning(region):
                ambiguous.add(region.text)
                labels[region.text] = region
    if isinstance(recipe, Taxonomy):
        for value, texts in recipe.spellings.items():
            if value in labels:
                labels = {**dict.fromkeys(texts, labels[value]), **labels}
    return labels, frozenset(ambiguous)


def _inferred(
    name: str, texts: Texts, separator: str | None, *, guess: bool, in_folder: bool
) -> Notation:
    """What the texts agree on, in the way of a text file's columns (schema/domain.py)."""
    if in_folder and any(map(has_word_like_range, texts)):
        return Notation("categorical", separator=separator)
    numeric = Notation("numeric", separator=separator, zeros=False)
    numbers = [numeric.read(text) for text in texts]
    telling = [region for region in numbers if region is not None and not says_nothing(region)]
    masks = sum(isinstance(region, Mask) for region in telling)
    words = [text for text, read in zip(texts, numbers, strict=True) if read is None and text]
    if telling and not words and not masks:
        if _told_apart(texts, separator):
            return numeric
        return Notation("categorical", separator=separator, exact_numbers=True)
    # A bare 1999 beside masks or words is no evidence of dates; 1999-05 and 1990s are.
    date = Notation("date", separator=separator)
    if words and all(date.read(text) is not None for text in texts):
        return date
    ranges = any(isinstance(region, Span) for region in telling)
    codes = any(_LEADING_ZERO.fullmatch(word) for word in words)
    many = len(telling) - masks >= max(3, len(texts) / 2)
    if words and many and not codes and (guess or ranges) and not in_folder:
        raise InputError(
            f"column {name!r} mixes numbers and text: {len(words)} of its {len(texts)} distinct "
            f"values are no number or range ({forms_of(words)}); leave a missing value empty, "
            f"write a notation ({KNOWN}), or declare the column in domains as 'categorical'"
        )
    mixed = Notation("mixed", separator=separator, zeros=False)
    if any(region is None or isinstance(region, Span) for region in map(mixed.read, texts)):
        return mixed
    return Notation("categorical", separator=separator)  # words, sets of words and masks


def two_ways_notes(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [
        f"{name_some(names)}: some values are written in two ways (5 and 5.0) and counted as one; "
        "whoever reads the file can tell such people apart, so write each one way"
    ]


def reading_notes(
    names: Sequence[str], columns: list[ReadColumn], everybody: int, *, in_folder: bool
) -> list[str]:
    """`everybody`: how many people are published with nothing told of them.

    `in_folder`: a manifest beside the file says how many were suppressed.
    """
    notes = []
    if not in_folder:
        notes.append(
            "people who were not published are not in the file and are not counted as suppressed"
        )
    labels = sorted({text for cells in columns for text in cells.ambiguous})
    if labels:
        notes.append(
            f"labels of several hierarchy levels are read as the widest: {name_some(labels)}"
        )
    notes += two_ways_notes(
        [name for name, cells in zip(names, columns, strict=True) if cells.twice is not None]
    )
    if everybody:
        notes.append(
            f"{everybody:,} people are published with every quasi-identifier suppressed; they are "
            "a group which everybody fits"
        )
    return notes
