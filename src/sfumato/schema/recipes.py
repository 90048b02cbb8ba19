"""Hierarchies by rule (intervals, mask, suppression, ICD-10) and by list (taxonomy).

Those of dates are in `calendar.py`.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from sfumato.errors import SchemaError, did_you_mean, forms_of, name_some, other_than_file, quoted
from sfumato.numbers import fraction
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.icd10 import families_of, family_labelled
from sfumato.schema.region import MISSING, Anything, Mask, Region, Span, Value, ValueSet, text_of

# Hierarchies by list: a taxonomy gives every value its path of labels towards `*`.


@dataclass(frozen=True)
class Taxonomy(Hierarchy):
    """A tree of labels given value by value: the path from each value towards `*`.

    `spellings`: by value other texts of it, as a file wrote them.
    """

    kind: ClassVar[str] = "taxonomy"
    paths: Mapping[str, tuple[str, ...]]
    source: str = "taxonomy"
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        depths = {len(path) for path in self.paths.values()}
        if not self.paths:
            raise SchemaError(f"{self.source} is empty; give a line 'value;label;...' per value")
        if len(depths) > 1:
            commonest = max(depths, key=[len(path) for path in self.paths.values()].count)
            odd = [leaf for leaf, path in self.paths.items() if len(path) != commonest]
            raise SchemaError(
                f"{self.source}: paths differ in length (most have {commonest} labels, not so "
                f"{name_some(odd)}); repeat a label to fill a level"
            )

        ends = [path[-1] == "*" for path in self.paths.values() if path]
        if any("*" in path[:-1] for path in self.paths.values()) or len(set(ends)) > 1:
            raise SchemaError(
                f"{self.source}: '*' may only stand as the last label, and then of every value"
            )

    def __hash__(self) -> int:
        return hash((self.source, tuple(self.paths.items())))

    def leaves(self) -> Sequence[str]:
        return list(self.paths)

    def of_texts(self, column: str, values: Mapping[str, str], aside: Collection[str]) -> Taxonomy:
        """The same where these texts mean these values; those `aside` mean none."""
        paths: dict[str, tuple[str, ...]] = {}
        spellings: dict[str, tuple[str, ...]] = {}
        for text, path in self.paths.items():
            if text in aside:
                continue
            value = values.get(text, text)
            if paths.setdefault(value, path) != path:
                raise SchemaError(
                    f"hierarchy of column {column!r}: value {value!r} stands there twice, as "
                    f"{text!r} too, with other labels; give it the same"
                )
            spellings[value] = (*spellings.get(value, ()), text)
        if list(paths) == list(self.paths):
            return self
        return Taxonomy(paths, self.source, spellings)

    def regions(self, domain: Domain) -> list[list[Region]]:
        values = [value for value in domain.values if value is not None]
        missing = [text_of(value) for value in values if text_of(value) not in self.paths]
        if missing:
            raise SchemaError(
                f"column {domain.name!r}: {len(missing)} value(s) are not covered by its "
                f"hierarchy: {name_some(sorted(missing))}; add a line for each, or correct the data"
            )
        depth = len(next(iter(self.paths.values())))
        levels: list[list[Region]] = []
        for level in range(depth):
            members: dict[str, set[Value]] = {}
            for value in values:
                members.setdefault(self.paths[text_of(value)][level], set()).add(value)
            sets = {label: self._labelled(label, of_label) for label, of_label in members.items()}
            levels.append([sets[self.paths[text_of(value)][level]] for value in values])
        return levels

    def _labelled(self, label: str, values: set[Value]) -> Region:
        return Anything() if label == "*" else ValueSet(frozenset(values), label)


def taxonomy(tree: Mapping[str, str | Sequence[str]] | str | Path) -> Taxonomy:
    """From a file of `value;level1;level2...` lines (`;` or `,`), or a mapping.

    A mapping gives each value its labels from fine to coarse, or each value and label its parent.
    """
    if isinstance(tree, str | Path):
        return _read_taxonomy(Path(tree))
    if not isinstance(tree, Mapping):
        raise SchemaError(
            f"taxonomy = {quoted(tree)} is not allowed; give a mapping from values to labels, or "
            "a file"
        )
    paths: dict[str, tuple[str, ...]] = {}
    for leaf, path in tree.items():
        if not isinstance(path, str | Sequence):
            raise SchemaError(
                f"taxonomy: {quoted(leaf)} has {quoted(path)}; give its label, or its labels from "
                "fine to coarse"
            )
    parents = {text_of(child) for child in tree}
    labels = {text_of(label) for label in tree.values() if isinstance(label, str)}
    for leaf, path in tree.items():
        if isinstance(path, str):
            if text_of(leaf) in labels:
                continue  # an inner label, not a value
            chain = [path]
            while chain[-1] in parents and len(chain) <= len(parents):
                chain.append(text_of(tree[chain[-1]]))
            if len(chain) > len(parents):
                raise SchemaError(f"taxonomy: {chain[0]!r} is its own ancestor; break the circle")
            paths[text_of(leaf)] = tuple(chain)
        else:
            paths[text_of(leaf)] = tuple(text_of(label) for label in path)
    return Taxonomy(paths)


def _read_taxonomy(path: Path) -> Taxonomy:
    where = f"hierarchy file {quoted(path.name)}"
    if problem := "is a folder, not a file" if path.is_dir() else other_than_file(path):
        raise SchemaError(f"{where} {problem}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(f"{where} does not exist in {str(path.parent)!r}") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{where} is not UTF-8 text; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        raise SchemaError(f"{where} cannot be read: {type(error).__name__}") from None
    lines = [line for line in text.splitlines() if line.strip()]
    delimiter = ";" if any(";" in line for line in lines) else ","
    paths: dict[str, tuple[str, ...]] = {}
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        raise SchemaError(
            f"{where} has a label of more than {csv.field_size_limit():,} characters, or a "
            "quotation mark that is never closed"
        ) from None
    for number, row in enumerate(rows, start=1):
        leaf, *labels = (cell.strip() for cell in row)
        if MISSING in labels and {*labels} <= {MISSING, "*"}:
            continue  # what the file writes for no value, which is told apart anyway
        if leaf in paths and paths[leaf] != tuple(labels):
            raise SchemaError(f"{where}, line {number}: value {leaf!r} stands there twice")
        paths[leaf] = tuple(labels)
    return Taxonomy(paths, where)


Number = int | float
MOST_LANDMARKS = 1_000_000
ELSEWHERE = "000"  # what stands for the first three digits of a ZIP code where few people live


@dataclass(frozen=True)
class Suppression(Hierarchy):
    """The value, or `*`."""

    kind: ClassVar[str] = "suppression"

    def regions(self, domain: Domain) -> list[list[Region]]:
        return []


@dataclass(frozen=True)
class Intervals(Hierarchy):
    """Numbers to ranges: of growing width, or between given cut points.

    `top` and `bottom` put everything from there on into `>=top` and `<bottom` on every level.
    """

    kind: ClassVar[str] = "intervals"
    widths: tuple[Number, ...] = ()
    cuts: tuple[tuple[Number, ...], ...] = ()
    origin: Number = 0
    top: Number | None = None
    bottom: Number | None = None

    def __post_init__(self) -> None:
        if bool(self.widths) == bool(self.cuts):
            raise SchemaError("intervals needs either widths or cuts, e.g. widths = [5, 10, 20]")
        for width in self.widths:
            if not _is_number(width) or not width > 0:
                raise SchemaError(f"intervals: width {quoted(width)} must be a positive number")
        marks = [("origin", self.origin), ("top", self.top), ("bottom", self.bottom)]
        for name, mark in [*marks, *(("a cut", cut) for cuts in self.cuts for cut in cuts)]:
            if not _is_number(mark) and (mark is not None or name == "origin"):
                raise SchemaError(f"intervals: {name} = {quoted(mark)} must be a number")
        for finer, coarser in zip(self.widths, self.widths[1:], strict=False):
            ratio = fraction(coarser) / fraction(finer)
            if ratio.denominator != 1 or ratio < 2:
                raise SchemaError(
                    f"intervals: width {coarser} is not a multiple of {finer}, so its ranges "
                    "would cut finer ones apart; use widths such as 5, 10, 20, 40"
                )
        for cuts in self.cuts:
            if list(cuts) != sorted(set(cuts)) or not cuts:
                raise SchemaError(f"intervals: cuts {list(cuts)} must rise strictly")
        for fine, coarse in zip(self.cuts, self.cuts[1:], strict=False):
            if not set(coarse) < set(fine):
                raise SchemaError(
                    f"intervals: cuts {list(coarse)} must be some of the cuts {list(fine)} "
                    "of the level before"
                )
        if self.top is not None and self.bottom is not None and self.top <= self.bottom:
            raise SchemaError(f"intervals: top {self.top} must lie above bottom {self.bottom}")

    def regions(self, domain: Domain) -> list[list[Region]]:
        numbers = _numbers(domain, "intervals")
        if self.cuts:
            return [[self._between(number, cuts) for number in numbers] for cuts in self.cuts]
        start = fraction(self.origin)
        above = [fraction(number) - start for number in numbers]
        levels: list[list[Region]] = []
        for width in self.widths:
            step = fraction(width)
            ends: dict[int, tuple[Number, Number]] = {}
            regions = []
            for number, distance in zip(numbers, above, strict=True):
                place = distance // step
                if place not in ends:
                    low = start + place * step
                    ends[place] = _plain(low), _plain(low + step)
                regions.append(self._capped(number, *ends[place]))
            levels.append(regions)
        return levels

    def level_names(self) -> Sequence[str]:
        if self.widths:
            return [f"width {text_of(width)}" for width in self.widths]
        names = {cuts: name for name, cuts in _AGES.items()}
        return [names[cuts] for cuts in self.cuts] if set(self.cuts) <= set(names) else []

    def landmarks(self) -> Sequence[Value]:
        ends = [end for end in (self.bottom, self.top) if end is not None]
        marks = {*ends, *(cut for cuts in self.cuts for cut in cuts)}
        if self.widths:
            if self.top is None or self.bottom is None:
                return ()
            start, step = fraction(self.origin), fraction(self.widths[0])
            first = (fraction(self.bottom) - start) // step + 1
            last = -((start - fraction(self.top)) // step)  # the first one not below top
            if last - first > MOST_LANDMARKS:
                raise SchemaError(
                    f"intervals: more than {MOST_LANDMARKS:,} ranges of width {self.widths[0]} lie "
                    f"between bottom {self.bottom} and top {self.top}; use wider ones"
                )
            marks |= {_plain(start + place * step) for place in range(first, last)}
        return [min(marks) - 1, *sorted(marks)]

    def _between(self, number: Number, cuts: Sequence[Number]) -> Region:
        low = max((cut for cut in cuts if cut <= number), default=-math.inf)
        high = min((cut for cut in cuts if cut > number), default=math.inf)
        return self._capped(number, low, high)

    def _capped(self, number: Number, low: Number, high: Number) -> Region:
        if self.top is not None:
            if number >= self.top:
                return Span(low=self.top)
            high = min(high, self.top)
        if self.bottom is not None:
            if number < self.bottom:
                return Span(high=self.bottom)
            low = max(low, self.bottom)
        return Span(low, high)


@dataclass(frozen=True)
class Masking(Hierarchy):
    """Hide one more character from the right on each level: 13053, 1305*, 130**, ...

    keep: how many characters each level shows instead, such as 3 and 2: 130**, 13***.
    """

    kind: ClassVar[str] = "mask"
    keep: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        lengths = list(self.keep)
        whole = all(isinstance(length, int) and not isinstance(length, bool) for length in lengths)
        if not whole or min(lengths, default=1) < 1 or lengths != sorted(set(lengths))[::-1]:
            raise SchemaError(
                f"mask: keep = {quoted(lengths)} is not allowed; give the numbers of characters "
                "that each level shows, falling, such as [5, 3, 2]"
            )

    def level_names(self) -> Sequence[str]:
        return [f"first {characters}" for characters in self.keep]

    def regions(self, domain: Domain) -> list[list[Region]]:
        texts = [text_of(value) for value in domain.values if value is not None]
        if self.keep:
            return [[_masked(text, characters) for text in texts] for characters in self.keep]
        longest = max((len(text) for text in texts), default=0)
        return [
            [_masked(text, len(text) - hidden) for text in texts] for hidden in range(1, longest)
        ]


def _masked(text: str, characters: int) -> Mask:
    return Mask(text[: max(characters, 0)].ljust(len(text), "*"))


@dataclass(frozen=True)
class Icd10(Hierarchy):
    """Codes of diseases to their category, block and chapter (`schema/icd10.py`)."""

    kind: ClassVar[str] = "icd10"

    def level_names(self) -> Sequence[str]:
        return ("category", "block", "chapter")

    def spelling(self, text: str) -> str:
        return text.upper().replace(".", "")

    def regions(self, domain: Domain) -> list[list[Region]]:
        texts = [text_of(value) for value in domain.values if value is not None]
        families = [lineage for text in texts if (lineage := families_of(text)) is not None]
        if len(families) < len(texts):
            odd = sorted(text for text in texts if families_of(text) is None)
            raise SchemaError(
                f"column {domain.name!r}: {len(odd)} value(s) are no ICD-10 codes such as E11.9: "
                f"{name_some(odd)}; correct them, or use taxonomy, mask or suppression"
            )
        return [[family[level] for family in families] for level in range(3)]

    def read_label(self, text: str) -> Region | None:
        return family_labelled(text)


@dataclass(frozen=True)
class Zip3(Hierarchy):
    """ZIP codes to their first three digits where those are `populous`, else to 000."""

    kind: ClassVar[str] = "zip3"
    populous: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for digits in self.populous:
            if not isinstance(digits, str) or not re.fullmatch(r"[0-9]{3}", digits):
                raise SchemaError(f"zip3: populous: {quoted(digits)} is not three digits")

    def regions(self, domain: Domain) -> list[list[Region]]:
        texts = [text_of(value) for value in domain.values if value is not None]
        odd = sorted(text for text in texts if not re.fullmatch(r"[0-9]{5}", text))
        if odd:
            raise SchemaError(
                f"column {domain.name!r}: {len(odd)} value(s) are no ZIP codes of five digits: "
                f"{forms_of(odd)}; correct them, or use mask or suppression"
            )
        known = {*self.populous}
        rest = ValueSet(frozenset(text for text in texts if text[:3] not in known), ELSEWHERE)
        return [[Mask(f"{text[:3]}**") if text[:3] in known else rest for text in texts]]

    def read_label(self, text: str) -> Region | None:
        if text != ELSEWHERE:
            return None
        rest = {f"{digits:03d}" for digits in range(1000)} - {*self.populous}
        codes = (f"{digits}{last:02d}" for digits in rest for last in range(100))
        return ValueSet(frozenset(codes), ELSEWHERE)


def _plain(number: Fraction) -> Number:
    return int(number) if number.denominator == 1 else float(number)


def _numbers(domain: Domain, recipe: str) -> list[Number]:
    values = [value for value in domain.values if value is not None]
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(values):
        odd = [v for v in values if isinstance(v, bool) or not isinstance(v, int | float)]
        raise SchemaError(
            f"column {domain.name!r}: {recipe} needs numbers, found {forms_of(odd)}; "
            "correct them or use taxonomy, mask or suppression"
        )
    return numbers


def _is_number(given: object) -> bool:
    """A finite number of ordinary size."""
    number = isinstance(given, int | float) and not isinstance(given, bool)
    return number and abs(given) < 1e300  # type: ignore[arg-type]


def _check_listed(option: str, given: object) -> None:
    if given is not None and (isinstance(given, str) or not isinstance(given, Sequence)):
        raise SchemaError(f"intervals: {option} = {quoted(given)} is not a list of numbers")


def suppression() -> Suppression:
    """The value, or `*`."""
    return Suppression()


def intervals(
    *widths: Number | Sequence[Number] | None,
    cuts: Sequence[Number] | Sequence[Sequence[Number]] | None = None,
    origin: Number = 0,
    top: Number | None = None,
    bottom: Number | None = None,
) -> Intervals:
    """Ranges of growing `widths`, one by one or as a list, or between `cuts`.

    `cuts` is one list, or one list a level.
    """
    nested: list[tuple[Number, ...]] = []
    _check_listed("cuts", cuts)
    listed: list[Number] = []
    for width in widths:
        if isinstance(width, str):
            raise SchemaError(f"intervals: widths = {quoted(width)} is not a list of numbers")
        listed += width if isinstance(width, Sequence) else [] if width is None else [width]
    if cuts:
        flat = [cut for cut in cuts if isinstance(cut, int | float)]
        nested = (
            [tuple(flat)]
            if flat
            else [tuple(level) for level in cuts if not isinstance(level, int | float)]
        )
    return Intervals(tuple(listed), tuple(nested), origin, top, bottom)


# Groups of ages as statistical offices publish them. Each but decades nests in the one after it.
_AGES: Mapping[str, tuple[Number, ...]] = {
    "five": (1, *range(5, 86, 5)),  # 0, 1-4, 5-9, ..., 80-84, 85 and more
    "ten": tuple(range(15, 76, 10)),  # 0-14, 15-24, ..., 65-74, 75 and more
    "broad": (15, 25, 55, 65),  # 0-14, 15-24, 25-54, 55-64, 65 and more
    "decades": tuple(range(10, 81, 10)),  # 0-9, 10-19, ..., 80 and more
}


def age_groups(*groups: str | Sequence[str]) -> Intervals:
    """Years of age in the groups of statistical offices, from fine to coarse.

    "five" (0, 1-4, 5-9, ..., 85 and more), then "ten" (0-14, 15-24, ..., 75 and more) and "broad"
    (0-14, 15-24, 25-54, 55-64, 65 and more), or after "five" "decades" (0-9, ..., 80 and more).
    """
    named: list[Any] = []
    for group in groups:
        named += group if isinstance(group, list | tuple) else [group]
    for name in named:
        if not isinstance(name, str) or name not in _AGES:
            raise SchemaError(
                f"age_groups: {quoted(name)} is not known; {did_you_mean(name, _AGES)}"
            )
    try:
        return Intervals(cuts=tuple(_AGES[name] for name in named or ("five", "ten", "broad")))
    except SchemaError:
        raise SchemaError(
            f"age_groups: {quoted(named)} do not nest; give some of five, ten, broad, or of five, "
            "decades, in this order"
        ) from None


def mask(keep: Sequence[int] = ()) -> Masking:
    """Hide characters from the right, one by one, or but for the first few (`keep`)."""
    return prefix(keep)


def prefix(*lengths: int | Sequence[int]) -> Masking:
    """Show the first characters, fewer on each level: `prefix(3, 2)` of 13053: 130**, 13***."""
    kept: list[int] = []
    for length in lengths:
        kept += length if isinstance(length, Sequence) else [length]
    return Masking(tuple(kept))


def zip3(populous: Sequence[str]) -> Zip3:
    """ZIP codes to three digits where they are listed as `populous`, all others to 000."""
    if isinstance(populous, str) or not isinstance(populous, Sequence):
        raise SchemaError(f"zip3: populous = {quoted(populous)} is not a list of three digits each")
    return Zip3(tuple(populous))


def icd10() -> Icd10:
    """ICD-10 codes to their category, block and chapter."""
    return Icd10()
