"""Every combination of values that the groups of a release allow, as far as releases differ.

Whoever has no table of the people can still go through everything a group's regions allow. Values
that no release tells apart need be tried once: of numbers and dates the ends of all ranges and one
value between each two of them, of words those that some release names and one that none does.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.adversaries.locating.targets import Targets
from sfumato.adversaries.locating.value_classes import value_classes
from sfumato.counts.counts import rank_rows
from sfumato.errors import InputError, ResourceError
from sfumato.numbers import Ints, offsets_of
from sfumato.release.description import Description, Regions
from sfumato.release.release import Release
from sfumato.schema.domain import Domain, DomainKind
from sfumato.schema.icd10 import CodeFamily, categories_of
from sfumato.schema.region import End, Mask, Region, Span, Value, ValueSet, codes_inside, place_of

# Examples of everything that regions of one column tell apart.
#
# A domain such that any value whatever lies in the same regions as one of its values: the ends of
# ranges, something between and beyond them, every word that is named, a text for every mask and for
# every two masks that meet, a word that is none of these, and NULL where some region contains it.

_OTHER = "\uffff"  # a sign that stands in no value
_MOST_MASKS = 2_000


def examples(name: str, regions: Sequence[Region]) -> Domain:
    """Values of which one lies wherever any value may lie."""
    named = {value for region in regions if isinstance(region, ValueSet) for value in region.values}
    spans = [region for region in regions if isinstance(region, Span)]
    masks = {region.pattern for region in regions if isinstance(region, Mask)}
    ends: list[End] = [end for span in spans for end in (span.low, span.high)]
    ends += [value for value in named if _on_axis(value)]  # type: ignore[misc]
    finite = [end for end in ends if math.isfinite(place_of(end))]
    if masks and spans:
        raise InputError(
            f"column {name!r} is masked in one release and a range in another, so what they have "
            "in common cannot be gone through; give the people, or a population"
        )
    numbers = _between([end for end in finite if not isinstance(end, dt.date)])
    dates = _between_dates([end for end in finite if isinstance(end, dt.date)])
    words: list[Value] = [value for value in named if value is not None and not _on_axis(value)]
    for family in {region for region in regions if isinstance(region, CodeFamily)}:
        words += [f"{category}.-" for category in categories_of(family)]
    if not (numbers or dates) or words or masks:
        words += [pattern.replace("*", _OTHER) for pattern in sorted(_meets(name, masks))]
        words.append(_OTHER)
    values: list[Value] = [*numbers, *dates, *dict.fromkeys(words)]
    kind: DomainKind = "categorical"
    if not words and not (numbers and dates):
        kind = "numeric" if numbers else "date"
    missing = [None] if any(region.contains(None) for region in regions) else []
    return Domain(name, kind, (*values, *missing))


def _on_axis(value: Value) -> bool:
    return isinstance(value, int | float | dt.date) and not isinstance(value, bool)


def _between(ends: Iterable[End]) -> list[float]:
    """The places of the ends, one between each two, and one beyond either.

    Whether all values are whole is not known, so there is always something between.
    """
    places = sorted({place_of(end) for end in ends})
    if not places:
        return []
    middles = [(low + high) / 2 for low, high in pairwise(places)]
    return sorted([places[0] - 1, *places, *middles, places[-1] + 1])


def _between_dates(ends: Sequence[dt.date]) -> list[Value]:
    """The same for dates; what lies between them may have a time of day."""
    start = dt.datetime(1, 1, 1)
    days: dict[float, dt.date] = {
        place: start + dt.timedelta(days=place - 1) for place in _between(ends)
    }
    days |= {place_of(end): end for end in ends}
    return [days[place] for place in sorted(days)]


def _meets(name: str, masks: set[str]) -> set[str]:
    """The masks, and what any of them have in common."""
    all_masks, new = set(masks), set(masks)
    while new:
        met = {
            common
            for new_mask in new
            for mask in all_masks
            if (common := _meet(new_mask, mask)) is not None
        }
        new = met - all_masks
        all_masks |= new
        if len(all_masks) > _MOST_MASKS:
            raise ResourceError(
                f"column {name!r}: its masks meet in more than {_MOST_MASKS:,} ways; give the "
                "people, or a population"
            )
    return all_masks


def _meet(left: str, right: str) -> str | None:
    if len(left) != len(right):
        return None
    signs = []
    for a, b in zip(left, right, strict=True):
        if a != b and "*" not in (a, b):
            return None
        signs.append(b if a == "*" else a)
    return "".join(signs)


MOST = 2_000_000  # combinations that are tried


@dataclass(frozen=True)
class Combinations:
    """The cases that may be in each group: group g may hold `cases[begins[g]:begins[g + 1]]`."""

    targets: Targets
    begins: Ints
    cases: Ints


def combinations(regions: Regions, earlier: Sequence[Release]) -> Combinations:
    """Everything the groups allow; columns only earlier releases have may take any value."""
    for release in earlier:
        if release.regions.centroids:
            raise InputError(
                f"{release.label} publishes centroids, which any combination of values may be near "
                "to; give the people, or a population"
            )
    columns = list(regions.columns)
    for release in earlier:
        columns += [name for name in release.regions.columns if name not in columns]
    domains = [_domain(name, regions, earlier) for name in columns]
    choices = [
        _choices(regions, name, domain) for name, domain in zip(columns, domains, strict=True)
    ]
    many = np.prod(
        [[len(texts) for texts in column] for column in choices], axis=0, dtype=np.float64
    )
    if many.sum() > MOST:
        raise ResourceError(
            f"the groups allow {many.sum():.3g} combinations of quasi-identifiers that the "
            f"releases tell apart, of which at most {MOST:,} are tried; give the people, or a "
            "population"
        )
    blocks = [
        np.stack(np.meshgrid(*group, indexing="ij")).reshape(len(columns), -1)
        for group in zip(*choices, strict=True)
    ]
    codes = np.concatenate([np.zeros((len(columns), 0), np.int64), *blocks], axis=1)
    number, first = rank_rows(codes.astype(np.int32), [len(domain) for domain in domains])
    none = np.zeros(0, dtype=np.int64)
    targets = Targets(tuple(domains), codes[:, first].astype(np.int32), none, none)
    return Combinations(targets, offsets_of(many), number)


def _choices(regions: Regions, name: str, domain: Domain) -> list[Ints]:
    """The values each group allows in a column."""
    if name not in regions.columns:
        return [np.arange(len(domain))] * len(regions)
    place = regions.columns.index(name)
    codes = regions.codes[place]
    fits = dict(codes_inside(regions.parts[place], np.unique(codes), domain))
    return [np.asarray(fits[code], dtype=np.int64) for code in codes.tolist()]


def _parts(described: Description, name: str) -> Sequence[Region]:
    """What a release says in a column: its regions, or every value it lists."""
    if name not in described.columns:
        return ()
    place = described.columns.index(name)
    if described.buckets is not None:
        listed = described.buckets.domains[place]
        return [ValueSet(frozenset({value})) for value in listed.values]
    return described.require_regions().parts[place]


def _domain(name: str, regions: Regions, earlier: Sequence[Release]) -> Domain:
    """The values of a column to be tried: one of each class that no release tells apart."""
    parts_by_release = [
        _parts(description, name)
        for description in (regions, *(release.regions for release in earlier))
    ]
    parts_by_release = [parts for parts in parts_by_release if parts]
    domain = examples(name, [part for parts in parts_by_release for part in parts])
    classes = np.array(
        [
            value_classes(domain, parts, np.arange(len(parts), dtype=np.int32)).class_of
            for parts in parts_by_release
        ]
    ).astype(np.int32)
    _, first = rank_rows(classes + 1, [int(row.max()) + 2 for row in classes])
    return Domain(name, domain.kind, tuple(domain.values[place] for place in sorted(first)))
