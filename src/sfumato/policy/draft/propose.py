"""`sf.propose_hierarchy`: how one column may be coarsened, proposed from its values and counts.

What is known is recognised: dates, ICD-10, ages, codes of places. Other numbers are cut at round
bounds between about equally many rows, other categories are put together by how they begin or with
their neighbours. No bound, and no end that a label names, is a value that one row alone has.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Unpack

import numpy as np

from sfumato.counts.leaves import texts_of_values
from sfumato.engines.base import check_columns_named, missing_column, named, select
from sfumato.engines.files import check_sheet
from sfumato.engines.reading import FileOptions, Reading
from sfumato.errors import InputError, quoted
from sfumato.files import write_text
from sfumato.numbers import Bools, Ints
from sfumato.policy.draft.bounds import FEW, are_icd10, date_periods
from sfumato.policy.draft.guess import are_codes, is_code
from sfumato.policy.draft.page import recipe_lines
from sfumato.policy.draft.profile import Profile, profile, take
from sfumato.policy.toml_text import toml_value
from sfumato.schema.calendar import Dates
from sfumato.schema.hierarchy import Hierarchy, Levels
from sfumato.schema.recipes import Intervals, Number, Taxonomy, age_groups, icd10, prefix
from sfumato.schema.region import reading_key
from sfumato.table import refuse_part

LEVELS = 3
ROWS = 1_000_000
_FEWER = 5  # rows of which no number is told to others
_OLDEST = 130
_MOST_VALUES = 100_000  # that a file lists
_BEGINNING = re.compile(r"[^\W_]+(?=[-./:_ ,])")


@dataclass(frozen=True)
class ProposedHierarchy:
    """A hierarchy for one column, bound to its values, and why it is proposed.

    `texts`: what stands in the file, and which value each text means by its code; as Sfumato reads
    them where no file is known.
    """

    column: str
    hierarchy: Hierarchy
    why: str
    levels: Levels
    rows: Ints  # of each value
    texts: Sequence[tuple[str, int]] = ()

    def to_csv(self) -> str:
        """The lines `value;label;...;*` that ARX reads, and `sf.taxonomy`.

        Every value is told, in each way that the file writes it; so are special codes and what
        stands for no value, which are their own labels.
        """
        texts = self.texts or [
            (label, code) for code, label in enumerate(self.levels.domain.labels[: len(self.rows)])
        ]
        if len(texts) > _MOST_VALUES:
            raise InputError(
                f"column {self.column!r} has {len(texts):,} values, too many to list; use the "
                "hierarchy itself"
            )
        text = io.StringIO()
        writer = csv.writer(text, delimiter=";", lineterminator="\n")
        codes = [level.codes for level in self.levels.levels[1:]]
        level_labels = [level.labels for level in self.levels.levels[1:]]
        if len(codes) == 1 and any(code >= len(self.rows) for _, code in texts):
            # Without a level between, nothing would tell them from values.
            codes, level_labels = (
                [self.levels[0].codes, *codes],
                [self.levels[0].labels, *level_labels],
            )
        for value, code in texts:
            labels = [
                listed[of_level[code]] for listed, of_level in zip(level_labels, codes, strict=True)
            ]
            if any(label != label.strip() or not label.isprintable() for label in (value, *labels)):
                raise InputError(
                    f"column {self.column!r}: a value begins or ends with a space or has a line "
                    "break, which a file of labels cannot say; correct it"
                )
            writer.writerow([value, *labels])
        return text.getvalue()

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the file that ARX reads; only its owner may, since it lists every value."""
        write_text(path, self.to_csv(), force=force, kind="hierarchy")

    def policy_lines(self, file: str | None = None) -> list[str]:
        """What a policy says of it; `file` is where its labels are, if they must be listed."""
        if isinstance(self.hierarchy, Taxonomy):
            listed = toml_value(file) if file else '"FILE.csv"  # --out writes it'
            return [*recipe_lines(self.column, Taxonomy.kind), f"file = {listed}"]
        return recipe_lines(self.column, self.hierarchy.kind, self.hierarchy)

    def labels_by_level(self, *, private: bool) -> list[tuple[int, int | None]]:
        """Of each level between the values and `*`: labels, and the rows of the smallest one.

        None where these are fewer than others may be told.
        """
        counts_by_level = []
        for level in self.levels.levels[1:-1]:
            codes = level.codes[: len(self.rows)]
            smallest = int(np.bincount(codes, weights=self.rows)[np.unique(codes)].min())
            may_be_told = private or smallest >= _FEWER
            counts_by_level.append((len(np.unique(codes)), smallest if may_be_told else None))
        return counts_by_level


def propose_hierarchy(
    source: object, column: str, *, levels: int | None = None, **options: Unpack[FileOptions]
) -> ProposedHierarchy:
    """Propose a hierarchy for a column of a file or frame, with so many levels below `*`.

    `delimiter`, `decimal` and `partitioned` are those of `sf.read`.
    """
    return propose_for(source, column, levels, Reading(**options))


def propose_for(
    source: object, column: str, levels: int | None, reading: Reading
) -> ProposedHierarchy:
    """The same for a file that is read as `reading` says."""
    from sfumato.engines.duckdb import DuckDB

    if not isinstance(column, str):
        raise InputError(f"column = {quoted(column)} is no name of a column")
    refuse_part(source)
    check_sheet(reading, (source,))
    engine = DuckDB(reading)
    registered = engine.register(source)
    check_columns_named(registered, reading.columns_named())
    if column not in registered.types:
        raise missing_column(registered, column, "hierarchy")
    (column_profile,) = profile(take(engine, registered, ROWS, column))
    proposed = proposal_of(column_profile, levels)
    if registered.is_untyped(column):
        table = registered.as_stands or registered.name
        cell = registered.column(column)
        cells = engine.fetch(select([named(cell, "v")], table, group=[cell])).column(0).to_pylist()
        texts = texts_of_values(registered, proposed.levels.domain, cells, reading.stated_forms)
        proposed = replace(proposed, texts=texts)
    return proposed


def proposal_of(column: Profile, levels: int | None = None) -> ProposedHierarchy:
    """The same for a column that was looked at."""
    whole = isinstance(levels, int) and not isinstance(levels, bool)
    if levels is not None and (not whole or not 1 <= levels <= 10):
        raise InputError(f"levels = {quoted(levels)} is not allowed; use 1 to 10")
    if not len(column.counts) or column.kind in ("list", "unusable"):
        raise InputError(f"column {column.name!r} holds no values that could be put together")
    hierarchy, why = _fitting(column, levels)
    levels_bound = hierarchy.bind(column.domain)
    return ProposedHierarchy(column.name, hierarchy, why, levels_bound, column.counts)


def _fitting(column: Profile, levels: int | None) -> tuple[Hierarchy, str]:
    topic = column.topic.name if column.topic else ""
    if column.kind == "date":
        periods = date_periods(column)
        units = periods.units[-levels:] if levels else periods.units
        return Dates(units, periods.top, periods.bottom), f"dates, then {', '.join(units)}"
    if are_icd10(column):
        if levels not in (None, 3):
            raise InputError(
                f"column {column.name!r} holds ICD-10 codes, whose levels are three: category, "
                "block, chapter; leave levels out"
            )
        return icd10(), "ICD-10 codes, then category, block and chapter"
    coded = column.kind == "text" and is_code(column.texts)
    if (coded or (topic == "zip code" and column.longest > 2)) and column.distinct > FEW:
        return _shown_beginnings(column, levels), "codes, by how they begin"
    if column.kind == "numeric" and not are_codes(column):
        years = column.integral and column.numbers[0] >= 0 and column.numbers[-1] <= _OLDEST
        if topic == "age" and years and levels in (None, 1, 2, 3):
            groups = ("five", "ten", "broad")[-(levels or LEVELS) :]
            return age_groups(groups), "years of age, in the groups of statistical offices"
        cuts = _balanced_cuts(column, levels or LEVELS)
        if cuts:
            return Intervals(cuts=cuts), "numbers, cut at round bounds into about equal parts"
    return _tree(column, levels or LEVELS)


def _shown_beginnings(column: Profile, levels: int | None) -> Hierarchy:
    """Fewer characters on every level, evenly."""
    lengths = list(range(column.longest - 1, 0, -1))
    wanted = min(levels or len(lengths), len(lengths))
    return prefix([lengths[(place + 1) * len(lengths) // wanted - 1] for place in range(wanted)])


# -- numbers ----------------------------------------------------------------------------------


def _balanced_cuts(column: Profile, levels: int) -> tuple[tuple[Number, ...], ...]:
    """Cuts into 2, 4, 8, ... parts of about equally many rows, the finest first."""
    numbers = [Decimal(str(value)) for value in column.values]
    if not all(number.is_finite() for number in numbers):
        return ()
    upto = np.cumsum(column.counts) / column.counts.sum()
    alone = {number for number, rows in zip(numbers, column.counts, strict=True) if rows == 1}
    parts = 2 ** (levels + 1)
    cuts: dict[int, Decimal] = {}
    for place in range(1, parts):
        ends = [np.searchsorted(upto, (place + half) / parts) for half in (-0.5, 0.5)]
        low, high = (numbers[min(int(end), len(numbers) - 1)] for end in ends)
        cut = _roundest(low, high, alone, whole=column.integral)
        if cut is not None and cut not in cuts.values():
            cuts[place] = cut
    nested: list[tuple[Number, ...]] = []
    for level in range(levels):
        here = tuple(_plain(cut) for place, cut in sorted(cuts.items()) if place % 2**level == 0)
        if here and (not nested or len(here) < len(nested[-1])):
            nested.append(here)
    return tuple(nested)


def _roundest(low: Decimal, high: Decimal, alone: set[Decimal], *, whole: bool) -> Decimal | None:
    """The roundest number above `low` and not above `high` that not exactly one row has."""
    if low >= high:
        return None
    largest = max(abs(low), abs(high)).adjusted() + 1
    for power in range(largest, 0 if whole else largest - 12, -1):
        for digit in (5, 2, 1):
            step = Decimal(digit).scaleb(power - 1)
            first, last = low // step - 1, high // step + 1
            near = [step * (first + more) for more in range(min(int(last - first), 20) + 1)]
            middle = (low + high) / 2
            inside = [point for point in near if low < point <= high and point not in alone]
            if inside:
                return min(inside, key=lambda point: abs(point - middle)).normalize()
    return None


def _plain(number: Decimal) -> Number:
    return int(number) if number == number.to_integral_value() else float(number)


# -- categories -------------------------------------------------------------------------------


def _tree(column: Profile, levels: int) -> tuple[Hierarchy, str]:
    """Categories by their first word where that puts them together, then with their neighbours."""
    labels = list(column.domain.labels[: len(column.counts)])
    order = sorted(range(len(labels)), key=lambda code: reading_key(labels[code]))
    values = [labels[code] for code in order]
    weights = column.counts[order].astype(np.float64)
    if len(values) <= FEW:
        return Taxonomy(dict.fromkeys(values, ())), "so few values that all or none are told"
    words = [match[0] if (match := _BEGINNING.match(value)) else value for value in values]
    begins, why = list(range(len(values))), "categories with their neighbours in the order"
    named: list[list[str]] = []
    if 2 <= len(set(words)) <= len(values) / 2:
        begins, why = _numbered(words), "categories by their first word, then with their neighbours"
        alone = {word for word in words if words.count(word) == 1}
        word_labels = [
            value if word in alone else f"{word} ..."
            for word, value in zip(words, values, strict=True)
        ]
        named.append(word_labels)
        levels -= 1
    total = len(set(begins))
    group = np.array(begins)
    for level in range(1, levels + 1):
        wanted = round(total ** (1 - level / (levels + 1)))
        if not 2 <= wanted < len(np.unique(group)):
            continue
        group = _together(group, weights, wanted)
        named.append(_ranges(values, weights > 1, group))
    return Taxonomy(
        {value: tuple(labels) for value, *labels in zip(values, *named, strict=True)}
    ), why


def _numbered(words: Sequence[str]) -> list[int]:
    """Runs of equal words, which stand together in the order, by number."""
    place = {word: number for number, word in enumerate(dict.fromkeys(words))}
    return [place[word] for word in words]


def _together(
    group: Ints, weights: np.ndarray[tuple[int], np.dtype[np.float64]], wanted: int
) -> Ints:
    """Neighbouring groups put together, so that about `wanted` of about equal weight are left."""
    sums = np.bincount(group, weights=weights)
    middle = np.cumsum(sums) - sums / 2
    part = np.minimum((middle / sums.sum() * wanted).astype(np.int64), wanted - 1)
    _, dense = np.unique(part, return_inverse=True)
    return np.asarray(dense[group], dtype=np.int64)


def _ranges(values: Sequence[str], often: Bools, group: Ints) -> list[str]:
    """Each group by its first and last value; one that a single row has is not named as an end."""
    parts = int(group.max()) + 1
    names: list[str] = []
    for part in range(parts):
        (inside,) = np.nonzero(group == part)
        ends = inside[often[inside]][[0, -1]] if often[inside].any() else inside[:0]
        label = " .. ".join(dict.fromkeys(values[end] for end in ends))
        if len(inside) == 1:
            label = values[inside[0]]
        elif not len(ends):
            label = f"part {part + 1} of {parts}"
        elif ends.tolist() != [inside[0], inside[-1]]:
            label += f" ({len(inside)} values)"
        names.append(label)
    return [names[part] for part in group.tolist()]
