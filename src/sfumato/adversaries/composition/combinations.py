"""All combinations of values that the people of a release may have, as far as releases differ.

Whoever has no table of the people can still go through everything a group's regions allow. Values
that no release tells apart need be tried once: of numbers and dates the ends of all ranges and one
value between each two of them, of words those that some release names and one that none does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.composition.examples import examples
from sfumato.adversaries.locating.population import inside_by_part
from sfumato.adversaries.locating.targets import Targets
from sfumato.adversaries.locating.value_classes import alike
from sfumato.counts.counts import Ints, rank_rows
from sfumato.errors import InputError, ResourceError
from sfumato.release.members import Members
from sfumato.release.regions import Regions
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.region import Region, ValueSet

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
        if release.scheme == "microaggregated":
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
    return Combinations(targets, np.concatenate([[0], np.cumsum(many)]).astype(np.int64), number)


def _choices(regions: Regions, name: str, domain: Domain) -> list[Ints]:
    """The values each group allows in a column."""
    if name not in regions.columns:
        return [np.arange(len(domain))] * len(regions)
    place = regions.columns.index(name)
    codes = regions.codes[place]
    fits = dict(inside_by_part(regions.parts[place], np.unique(codes), domain))
    return [np.asarray(fits[code], dtype=np.int64) for code in codes.tolist()]


def _parts(described: Regions | Members, name: str) -> Sequence[Region]:
    """What a release says in a column: its regions, or every value it lists."""
    if name not in described.columns:
        return ()
    place = described.columns.index(name)
    if isinstance(described, Members):
        return [ValueSet(frozenset({value})) for value in described.domains[place].values]
    return described.parts[place]


def _domain(name: str, regions: Regions, earlier: Sequence[Release]) -> Domain:
    """The values of a column to be tried: one of each class that no release tells apart."""
    said = [_parts(one, name) for one in (regions, *(release.regions for release in earlier))]
    said = [parts for parts in said if parts]
    domain = examples(name, [part for parts in said for part in parts])
    classes = np.array(
        [alike(domain, parts, np.arange(len(parts), dtype=np.int32)).class_of for parts in said]
    ).astype(np.int32)
    _, first = rank_rows(classes + 1, [int(row.max()) + 2 for row in classes])
    return Domain(name, domain.kind, tuple(domain.values[place] for place in sorted(first)))
