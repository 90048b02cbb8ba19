"""Criteria to begin with: common thresholds, lowered where a column's values cannot reach them.

Before them, the hierarchy that fits a column's range; among them, commented out, an epsilon-privacy
bound.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.policy.draft.guess import MANY, RoleGuess, are_codes, is_code, is_foreign_date
from sfumato.policy.draft.profile import Profile
from sfumato.policy.toml_text import toml_value
from sfumato.schema.calendar import Dates, Period
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.icd10 import category_of
from sfumato.schema.recipes import Icd10, Intervals, Masking, Number, Suppression

# A hierarchy that fits a column: how its values may be coarsened, proposed from their range.

FEW = 3  # categories that need no taxonomy
TAIL = 0.005  # the share of people the highest (lowest) label should hold at least
_FEW_MONTHS = 120  # days
_ROWS_PER_VALUE = 5  # values held by fewer people on average are not written into a policy


@dataclass(frozen=True)
class Fit:
    """What the policy says of a column's values; `values` are categories to make a tree of.

    `finest`: the least level at which a rule set lets it be published.
    """

    hierarchy: Hierarchy | None
    why: str = ""
    declared: str | None = None
    level: int | None = None
    values: tuple[str, ...] = ()
    finest: int | None = None


def plain() -> Fit:
    """What always works: every value a category, or `*`."""
    return Fit(Suppression(), "the value or *", "categorical")


def fit_quasi(column: Profile) -> Fit:
    """How a quasi-identifier may be coarsened."""
    topic = column.topic.name if column.topic else ""
    codes = are_codes(column)
    declared = "categorical" if codes or column.mixed else None
    if topic == "zip code" and any(c.isdigit() for text in column.texts for c in text):
        return Fit(Masking(), "13053, 1305*, 130**: neighbouring codes share their beginning")
    if column.kind == "numeric" and not codes:
        ranges = _ranges(column, 15)
        return (
            Fit(ranges, _range_words(ranges)) if ranges else Fit(Suppression(), "the number or *")
        )
    if column.kind == "date":
        spans = date_periods(column)
        return Fit(spans, f"a date, then its {', '.join(spans.units)}")
    if column.kind == "text" and is_foreign_date(column.texts):
        return Fit(
            Suppression(), "the date or *; written 2024-05-31 it could become a month or year"
        )
    if are_icd10(column):
        return Fit(Icd10(), "ICD-10: the code, its category, block and chapter")
    if column.distinct > 12 and not column.mixed and is_code(column.texts):
        return Fit(Masking(), "codes of one length: their tail is hidden step by step", declared)
    if column.distinct <= FEW:
        return Fit(Suppression(), "there is no half-way between so few values and *", declared)
    listed: tuple[str, ...] = ()
    often = column.present >= _ROWS_PER_VALUE * column.distinct
    if column.distinct <= MANY and often and column.longest <= MANY:
        listed = tuple(sorted(column.domain.labels[: len(column.counts)], key=_in_order))
    why = "cut in the order of its values, until you sort them into a tree"
    return Fit(None, why, declared, None, listed)


def are_icd10(column: Profile) -> bool:
    """Codes of diseases: by their form, if some have a point or the name is about health."""
    if column.kind != "text" or column.distinct < FEW:
        return False
    about = column.topic is not None and column.topic.name == "health"
    pointed = about or any(text[3:4] == "." for text in column.texts)
    return pointed and all(category_of(text) for text in column.texts)


def _in_order(label: str) -> tuple[float, str]:
    return (float(label), "") if label.isdecimal() else (math.inf, label)


def fit_sensitive(column: Profile) -> Fit:
    """At which detail a sensitive column is judged and published."""
    if column.kind == "list":
        return Fit(None)
    if column.kind == "numeric" and not are_codes(column):
        ranges = _ranges(column, 12)
        if ranges is not None:
            ranges = replace(ranges, widths=ranges.widths[:2])
            return Fit(ranges, f"judged and published in {_range_words(ranges)}", None, 1)
    if are_icd10(column):
        why = "ICD-10: a level in [schema.levels] would publish the category (1), block or chapter"
        return Fit(Icd10(), why)
    return Fit(None, "", "categorical" if column.mixed or are_codes(column) else None)


def _range_words(ranges: Intervals) -> str:
    tails = [f"from {ranges.top} on together"] if ranges.top is not None else []
    if ranges.bottom is not None:
        tails.append(f"below {ranges.bottom} together")
    widths = ", ".join(f"{width}" for width in ranges.widths)
    return f"ranges of {widths}" + (f"; {' and '.join(tails)}, as they are few" if tails else "")


def _ranges(column: Profile, parts: int) -> Intervals | None:
    """About `parts` ranges over the bulk of the values, doubling; sparse tails in one label."""
    numbers = column.numbers
    if not np.isfinite(numbers).all():
        return None
    upto = np.cumsum(column.counts) / column.counts.sum()
    tail = _tail(column)
    low, high = _at(numbers, upto, tail), _at(numbers, upto, 1 - tail)
    if low == high:
        low, high = float(numbers[0]), float(numbers[-1])
    width = round_width((high - low) / parts)
    if column.topic and column.topic.name == "age" and high - low > 20:
        width = 5
    if column.integral:
        width = max(width, 2)
    widths = [width]
    while len(widths) < 4 and widths[-1] * 2.5 < high - low:
        widths.append(widths[-1] * 2)
    top, bottom = _tails(numbers, low, high, width)
    return Intervals(tuple(_clean(width) for width in widths), top=top, bottom=bottom)


def _tail(column: Profile) -> float:
    """The share of people a tail must hold: five at least, of a small table more than `TAIL`."""
    return min(max(TAIL, 5 / max(int(column.counts.sum()), 1)), 0.05)


def _at(numbers: np.ndarray[Any, Any], upto: np.ndarray[Any, Any], share: float) -> float:
    return float(numbers[min(int(np.searchsorted(upto, share)), len(numbers) - 1)])


def _tails(
    numbers: np.ndarray[Any, Any], low: float, high: float, width: float
) -> tuple[Number | None, Number | None]:
    """Where the last range that still holds enough people begins, and the first ends."""
    top = math.floor(high / width) * width
    bottom = math.ceil(low / width) * width
    sparse_top = numbers[-1] >= top + width and top > numbers[0]
    sparse_bottom = numbers[0] < bottom - width and bottom < numbers[-1]
    if sparse_top and sparse_bottom and top <= bottom:
        return None, None
    return (_clean(top) if sparse_top else None, _clean(bottom) if sparse_bottom else None)


def round_width(width: float) -> float:
    """The nearest of ..., 1, 2, 5, 10, 20, 50, ..."""
    if width <= 0:
        return 1
    power = math.floor(math.log10(width))
    steps = [mantissa * 10.0 ** (power + more) for more in (0, 1) for mantissa in (1, 2, 5)]
    return min(steps, key=lambda step: abs(math.log(step / width)))


def _clean(number: float) -> Number:
    """Whole numbers as such, others without the dust of binary fractions."""
    rounded = float(f"{number:.10g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def date_periods(column: Profile) -> Dates:
    """Months to years or decades of dates, years that few have together; of moments days first.

    Where all lie within some months, weeks and what is made of whole weeks.
    """
    days = [value for value in column.values if isinstance(value, dt.date)]
    years = np.array([day.year for day in days])
    units: tuple[Period, ...] = ("month", "quarter", "year")
    if days[-1].toordinal() - days[0].toordinal() < _FEW_MONTHS:
        units = ("week", "month", "quarter")
    if any(isinstance(day, dt.datetime) for day in days):
        units = ("day", *units)
    if years[-1] - years[0] < 15:
        return Dates(units)
    upto = np.cumsum(column.counts) / column.counts.sum()
    tail = _tail(column)
    first, last = int(_at(years, upto, tail)), int(_at(years, upto, 1 - tail))
    bottom = first + 1 if years[0] < first else None
    top = last if years[-1] > last else None
    if bottom is not None and top is not None and top <= bottom:
        bottom = top = None
    return Dates((*units, "decade"), top, bottom)


# Whom to fear: an epsilon-privacy bound to fill in, with advice on the prior and its size.
#
# It stays commented out. Bounds on counts can be guessed from the table; what an outsider has seen
# cannot, and a guess that runs would pass for knowledge. The advice is that of the paper's Section
# 3.2 (realistic), in short.

EPSILON = 2.5  # the paper's
ABOUT = (
    "Somebody with outside statistics about {name}: no group may move her belief in a value, or "
    "her doubt of it, by more than a factor epsilon. Only you know what data is about, so "
    "nothing is asked yet: choose her, then take the # from the lines below "
    "(docs/papers/realistic.md)."
)
ADVICE = (
    "shape: what she believes beforehand. Best the previous release or a census, a file beside "
    'this policy: { file = "last-year.csv" }. "table" stands for one distributed as this table '
    "is. Unsure of the shape: leave it out, any is then allowed (class II).",
    "stubbornness: how many outside records that rests on, so the size of that release or census "
    "(below: as large as this table); less for old data, a tenth for one ten years old. Unsure of "
    "the size: inf, which with at_most (the default) means every size; a large number instead of "
    "it covers no smaller one by itself. inf and no shape is too much: only noise would do (class "
    "IV).",
    "known: people of a group she knows outright, 0 unless told. Several adversaries: several "
    "blocks.",
)


def adversary_block(
    sensitive: dict[str, tuple[RoleGuess, Fit]], rows: int
) -> tuple[str, tuple[str, ...], list[str]] | None:
    """What it is, advice on its keys, its lines; about the first column with one value a person."""
    single = [name for name, (guess, _) in sensitive.items() if guess.profile.kind != "list"]
    if not single:
        return None
    adversary = f'{{ shape = "table", stubbornness = {max(rows, 1)} }}'
    lines = ["[[require]]", 'kind = "epsilon-privacy"', f"epsilon = {EPSILON}"]
    lines += [f"adversary = {adversary}", f"sensitive = {toml_value(single[0])}"]
    comment = ABOUT.replace("{name}", toml_value(single[0]))
    return comment, ADVICE, lines


K = 5
T = 0.2
_MOST = 0.7  # a value that more people have leaves a group of K little else to show
_SECOND, _THIRD = 0.1, 0.05  # what must be left beside the first value, and the first two


@dataclass(frozen=True)
class DraftedBound:
    """One `[[require]]` of the draft: its keys, and in words what it says and why."""

    keys: Mapping[str, object]
    why: str

    @property
    def about(self) -> tuple[str, str | None]:
        """What tells it apart from the others: the criterion and its column."""
        name = self.keys.get("sensitive")
        return str(self.keys["kind"]), None if name is None else str(name)


def bounds(
    sensitive: dict[str, tuple[RoleGuess, Fit]],
    several: frozenset[str] = frozenset(),
    *,
    unlinked: bool = False,
    k: int = K,
) -> list[DraftedBound]:
    """k-anonymity always; diversity and closeness of every sensitive column with one value.

    `several` names columns of which a person may have several values; `unlinked`: people have
    several rows, which are published one by one; `k`: how many are to look alike.
    """
    listed = [_indistinguishable(k, unlinked=unlinked)]
    for name, (guess, fit) in sensitive.items():
        if guess.profile.kind == "list" or name in several:
            continue  # people have several values: the criteria below are defined for one
        kinds = {bound.keys["kind"] for bound in listed}
        listed += _of(name, guess, fit, kinds)
    return listed


def _indistinguishable(k: int, *, unlinked: bool) -> DraftedBound:
    faced = (
        f"Everybody looks like at least {k - 1} others in the quasi-identifiers, so finding "
        f"her row is a guess of 1 in {k} at best."
    )
    if unlinked:
        faced = (
            f"Whoever knows one row of somebody faces at least {k} people who have rows that look "
            "like it. Who knows several of her rows may face fewer: see the end of this file."
        )
    why = (
        f"{faced} {K} is a common floor for files given to "
        "known researchers; for files anybody may download 10 and more is usual, and 12 "
        "(a risk of at most 0.09) is what medicines agencies ask for."
    )
    return DraftedBound({"kind": "k-anonymity", "k": k}, why)


def _of(name: str, guess: RoleGuess, fit: Fit, explained_kinds: set[object]) -> list[DraftedBound]:
    shares = _shares(guess, fit)
    l = _diversity(shares)  # noqa: E741 (the literature's letter)
    listed = []
    if l > 1:
        why = f"Every group shows at least {l} different values"
        if "distinct-diversity" not in explained_kinds:
            why += (
                ": to find her group is not to find her value. Raise l if the release allows it; "
                "it cannot exceed the number of values"
            )
        keys: dict[str, object] = {"kind": "distinct-diversity", "l": l}
        listed.append(DraftedBound({**keys, "sensitive": name}, f"{why}."))
    why = "No group's values are distributed very differently from everybody's"
    if "t-closeness" not in explained_kinds:
        why += (
            ", so being in it says little. 0 allows no difference, 1 any; "
            f"{T} is common, 0.1 strict, 0.4 lenient"
        )
    if l < 2:
        why += f". Diversity is not asked for: {_undiverse(shares)}"
    keys = {"kind": "t-closeness", "t": T, "sensitive": name}
    if guess.profile.domain.is_ordered and fit.declared is None:
        keys["distance"] = "ordered"
    return [*listed, DraftedBound(keys, f"{why}.")]


def _diversity(shares: list[float]) -> int:
    """The l that groups of about K people can be expected to show.

    Values are diverse when none is everybody's, not when the second is frequent: of 25 values that
    4 % have each, five people show nearly five.
    """
    if len(shares) < 2 or shares[0] > 1 - _SECOND:
        return 1
    if len(shares) > 2 and shares[0] <= _MOST and 1 - shares[0] - shares[1] >= _THIRD:
        return 3
    return 2


def _undiverse(shares: list[float]) -> str:
    if len(shares) < 2:
        return "there is only one value"
    return (
        f"{100 * shares[0]:.0f} % have the same value, so many groups of {K} would show nothing "
        "else and be merged until little detail is left"
    )


def _shares(guess: RoleGuess, fit: Fit) -> list[float]:
    """The shares of the values as they are judged, commonest first; NULL and codes are values."""
    counts = guess.profile.counts.astype(np.float64)
    if fit.level is not None and isinstance(fit.hierarchy, Intervals):
        ranges = fit.hierarchy
        numbers = guess.profile.domain.numbers()[: len(counts)]
        cut = np.clip(numbers, _or(ranges.bottom, -np.inf), _or(ranges.top, np.inf))
        _, place = np.unique(np.floor(cut / ranges.widths[fit.level - 1]), return_inverse=True)
        counts = np.bincount(place, weights=counts).astype(np.float64)
    counts = np.append(counts, [*guess.profile.coded, guess.profile.missing])
    counts = counts[counts > 0]
    ranked = np.sort(counts)[::-1] / max(float(counts.sum()), 1.0)
    return [float(share) for share in ranked]


def _or(end: Number | None, otherwise: float) -> float:
    return otherwise if end is None else float(end)
