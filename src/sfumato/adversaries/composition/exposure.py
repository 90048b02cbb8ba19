"""How few values does a new release leave of a person, given what was released before?

Whoever is in a group with the values V, and whom earlier releases locate, has her value in V and in
what every earlier release that she is in shows of her. In which of them she is, nobody outside
knows; so every choice of earlier releases that leaves something is taken into account, and the
fewest values any of them leaves is what she must be judged by. Where her value is in all of them,
that is the plain intersection; where the intersection is empty ("inconsistent": nobody is in all)
it is still a true bound for everybody who may be there.

Let T(v) be the earlier releases that show v of her. The choices that leave v are those within T(v),
and the whole of T(v) leaves the fewest: so the answer is the least, over v in V, of the number of
u in V with T(u) containing T(v). No choice needs to be tried.

Where nobody knows the people, every combination of values that a group's regions allow is tried.
What searches and verdicts ask is how many people of each group are known too well (`Watched`).
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sfumato.adversaries.base import Counting
from sfumato.adversaries.composition.intersection import (
    SharedValues,
    common_attribute,
    match_values,
    stack,
)
from sfumato.adversaries.locating.locate import Located, Scale, locate, value_classes
from sfumato.adversaries.locating.targets import Targets, targets_of
from sfumato.counts.counts import Counts, rank_rows
from sfumato.errors import InputError, ResourceError
from sfumato.numbers import Bools, Codes, Ints, Words, offsets_of, sums_by_row
from sfumato.release.description import Description, Regions
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain, Kind
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
    spans = [one for one in regions if isinstance(one, Span)]
    masks = {one.pattern for one in regions if isinstance(one, Mask)}
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
    if not (numbers or dates) or words or masks:
        words += [pattern.replace("*", _OTHER) for pattern in sorted(_meets(name, masks))]
        words.append(_OTHER)
    values: list[Value] = [*numbers, *dates, *dict.fromkeys(words)]
    kind: Kind = "categorical"
    if not words and not (numbers and dates):
        kind = "numeric" if numbers else "date"
    missing = [None] if any(one.contains(None) for one in regions) else []
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
            both for one in new for other in all_masks if (both := _meet(one, other)) is not None
        }
        new = met - all_masks
        all_masks |= new
        if len(all_masks) > _MOST_MASKS:
            raise ResourceError(
                f"column {name!r}: its masks meet in more than {_MOST_MASKS:,} ways; give the "
                "people, or a population"
            )
    return all_masks


def _meet(one: str, other: str) -> str | None:
    if len(one) != len(other):
        return None
    signs = []
    for a, b in zip(one, other, strict=True):
        if a != b and "*" not in (a, b):
            return None
        signs.append(b if a == "*" else a)
    return "".join(signs)


# All combinations of values that the people of a release may have, as far as releases differ.
#
# Whoever has no table of the people can still go through everything a group's regions allow.
# Values that no release tells apart need be tried once: of numbers and dates the ends of all
# ranges and one value between each two of them, of words those that some release names and one
# that none does.

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
    many = np.prod([[len(one) for one in column] for column in choices], axis=0, dtype=np.float64)
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
    said = [_parts(one, name) for one in (regions, *(release.regions for release in earlier))]
    said = [parts for parts in said if parts]
    domain = examples(name, [part for parts in said for part in parts])
    classes = np.array(
        [
            value_classes(domain, parts, np.arange(len(parts), dtype=np.int32)).class_of
            for parts in said
        ]
    ).astype(np.int32)
    _, first = rank_rows(classes + 1, [int(row.max()) + 2 for row in classes])
    return Domain(name, domain.kind, tuple(domain.values[place] for place in sorted(first)))


@dataclass(frozen=True)
class EarlierExposure:
    """What earlier releases show of each case, ready for any group of a new one.

    Of case i they show the values `values[ends[i]:ends[i + 1]]`, each in the releases whose bits
    are set beside it; `located[i]` are the releases that locate her at all. Values are numbered as
    the new release numbers them, those it does not know come after.
    """

    labels: tuple[str, ...]
    ends: Ints
    values: Ints
    shown_by: Words
    located: Words

    def fewest(self, indptr: Ints, codes: Ints | Codes, begins: Ints, cases: Ints) -> Ints:
        """The fewest values left of each member.

        Group g shows the values `codes[indptr[g]:indptr[g + 1]]` and has the members
        `cases[begins[g]:begins[g + 1]]`.
        """
        from sfumato.adversaries.composition.kernel import fewest  # its compiler loads slowly

        return fewest(
            np.asarray(indptr, dtype=np.int64),
            np.asarray(codes, dtype=np.int64),
            np.asarray(begins, dtype=np.int64),
            np.asarray(cases, dtype=np.int64),
            len(self.labels),
            self.ends,
            self.values,
            self.shown_by,
            self.located,
        )

    def alone(self) -> Ints:
        """The fewest values the earlier releases leave of each case by themselves."""
        cases = len(self.ends) - 1
        every = np.arange(len(self.labels))
        return self.fewest(np.array([0, len(every)]), every, np.array([0, cases]), np.arange(cases))

    def located_anywhere(self) -> Bools:
        """The cases that some earlier release locates."""
        anywhere: Bools = np.logical_or.reduce(self.located != 0, axis=1)
        return anywhere

    def left_at_most(self, cases: Ints, own: Ints) -> Ints:
        """The most values that any new release leaves of people of these cases and own values.

        Whatever group somebody is published in shows her own value v, so what is left of her is at
        most the u with T(u) containing T(v), over all values u there are.
        """
        from sfumato.adversaries.composition.kernel import left_at_most  # its compiler is slow

        return left_at_most(
            np.asarray(cases, dtype=np.int64),
            np.asarray(own, dtype=np.int64),
            len(self.labels),
            self.ends,
            self.values,
            self.shown_by,
        )


def expose(
    new: Groups,
    earlier: Sequence[Release],
    people: Targets,
    *,
    label: str = "the new release",
    scale: Scale | None = None,
) -> EarlierExposure:
    """Locate people in the earlier releases, about the attribute of the new groups.

    An earlier release without that attribute tells nothing about it and is left out.
    """
    chosen = [release for release in earlier if _about(new.attribute, release) is not None]
    sources = [(one.label, one.groups_for(_about(new.attribute, one) or "")) for one in chosen]
    for name, groups in sources:
        if not groups.single_valued:
            raise InputError(
                f"{name}: people have several values of {groups.attribute!r} each; composition "
                "is judged for one value a person"
            )
    shared = match_values(new.attribute or "", [(label, new), *sources])
    located = [locate(release, people, scale) for release in chosen]
    return _remember(shared, located, people.cases)


def _about(attribute: str | None, release: Release) -> str | None:
    """The column of an earlier release that is about the same attribute, if it has one."""
    if attribute is None:
        return common_attribute([release])
    return attribute if attribute in release.by_attribute else None


def _remember(shared: SharedValues, found: Sequence[Located], cases: int) -> EarlierExposure:
    from sfumato.adversaries.composition.kernel import remember  # its compiler loads slowly

    words = max(1, -(-len(found) // 64))
    if not found:
        none = np.zeros(0, dtype=np.int64)
        located = np.zeros((cases, words), dtype=np.uint64)
        return EarlierExposure(
            shared.labels, np.zeros(cases + 1, np.int64), none, located[:0], located
        )
    before = SharedValues(
        shared.attribute, shared.labels, shared.numbers[1:], shared.groups[1:], ()
    )
    laid = stack(before, found)
    shows = np.concatenate([group.data for group in before.groups]) > 0
    ends, values, shown_by, located = remember(
        laid.indptr,
        laid.codes,
        shows,
        laid.begins,
        laid.groups,
        laid.units,
        len(shared.labels),
        words,
    )
    return EarlierExposure(shared.labels, ends, values, shown_by, located)


# How many people of each group are known too well, together with what was released before.
#
# If it is known who is inside a group, each tuple is judged by the earlier releases that locate
# it, and the count is exact. If only regions are known, every combination of values they allow is
# tried: a group none of whose combinations is exposed has nobody exposed, one all of whose are has
# everybody. If not even those are known, only what a group gives away by itself is sure.
#
# Counted are all who are known too well, or only those whom the new release adds: people whom the
# earlier releases, by themselves, do not expose.


@dataclass(frozen=True)
class Exposed:
    """People of each group who are surely exposed, and those who possibly are."""

    sure: Ints
    possible: Ints

    @property
    def exact(self) -> bool:
        return bool((self.sure == self.possible).all())

    def people(self, groups: Groups) -> tuple[int, int]:
        """At least and at most how many of all groups; one who is in several counts once."""
        sure, possible = int(self.sure.sum()), int(self.possible.sum())
        if groups.several is None:
            return sure, possible
        whole = groups.headcount(self.sure >= groups.sizes)
        least = int(self.sure.max(initial=0))
        return (
            least if whole.at_most else max(least, whole.number),
            min(possible, groups.people(self.possible > 0)),
        )


@dataclass(frozen=True)
class Watched:
    """A table's people as earlier releases know them, about one attribute."""

    counts: Counts
    case: Ints
    people: Targets
    exposure: EarlierExposure
    _already: dict[int, Bools] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, counts: Counts, groups: Groups, earlier: Sequence[Release]) -> Watched:
        """`groups` tell the attribute and its labels; any groups of that table do."""
        people = targets_of(counts)
        return cls(counts, counts.group_of[0], people, expose(groups, earlier, people))

    def exposed(self, groups: Groups, most: int, counting: Counting = "all") -> Ints:
        """The people inside each group of whom at most so many values are left.

        This is what a search calls, again and again: linear in the people inside the groups.
        """
        inside = groups.inside
        assert inside is not None
        cases = self.case[inside.tuples]
        left = self.exposure.fewest(groups.indptr, groups.indices, inside.indptr, cases)
        counted = left <= most
        if counting == "added":
            counted &= ~self.exposed_already(most)[cases]
        return sums_by_row(np.where(counted, inside.n, 0), inside.indptr)

    def exposed_already(self, most: int) -> Bools:
        """The cases whom the earlier releases expose by themselves."""
        if most not in self._already:
            self._already[most] = exposed_already(self.exposure, most)
        return self._already[most]

    def exposed_before(self, groups: Groups, most: int) -> int:
        """The people inside the groups whom the earlier releases expose by themselves."""
        inside = groups.inside
        assert inside is not None
        return int(inside.n[self.exposed_already(most)[self.case[inside.tuples]]].sum())

    def exposed_whatever(self, groups: Groups, most: int) -> int | None:
        """The people inside the groups whom no release can hide; None where values are unknown.

        Fewer than those exposed before: what a group shows may tell that somebody is not one of an
        earlier release's people. Of these, what is left is too little in any group they may be in.
        """
        inside = groups.inside
        assert inside is not None
        names = [attribute.name for attribute in self.counts.sensitive]
        if groups.attribute not in names:  # a release that was read lists people without values
            return None
        own = self.counts.values[names.index(groups.attribute)][inside.tuples]
        left = self.exposure.left_at_most(self.case[inside.tuples], own)
        return int(inside.n[left <= most].sum())


def exposed_already(exposure: EarlierExposure, most: int) -> Bools:
    """The cases of whom earlier releases by themselves leave so few values; they must have them."""
    return exposure.located_anywhere() & (exposure.alone() <= most)


def exposed_by_regions(
    groups: Groups, earlier: Sequence[Release], most: int, counting: Counting = "all"
) -> Exposed:
    """What can be said of groups whose people are not known."""
    alone = exposed_alone(groups, most, counting)
    if groups.regions is None:
        return Exposed(alone, groups.sizes)
    tried = combinations(groups.regions, earlier)
    exposure = expose(groups, earlier, tried.targets)
    left = exposure.fewest(groups.indptr, groups.indices, tried.begins, tried.cases)
    counted = left <= most
    if counting == "added":
        counted &= ~exposed_already(exposure, most)[tried.cases]
    many = np.diff(tried.begins)
    hits = sums_by_row(counted, tried.begins)
    # A group that allows nothing we can think of says nothing about its people.
    sure = np.where((hits == many) & (many > 0), groups.sizes, alone)
    return Exposed(sure, np.where((hits > 0) | (many == 0), groups.sizes, alone))


def exposed_alone(groups: Groups, most: int, counting: Counting) -> Ints:
    """The people whom groups give away by themselves; nobody knows whether that is new."""
    exposed = np.where(groups.distinct <= most, groups.sizes, 0)
    return exposed if counting == "all" else np.zeros_like(exposed)
