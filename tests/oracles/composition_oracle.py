"""The intersection attack from its definition: every person against every group, in fractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from sfumato.release.description import Buckets
from sfumato.release.release import Release
from sfumato.schema.region import Value

Person = Mapping[str, Value]


@dataclass(frozen=True)
class Learnt:
    """What is learnt about one person."""

    before: tuple[int | None, ...]
    values: tuple[str, ...]
    posterior: dict[str, Fraction]


WHATEVER = tuple(half / 2 for half in range(-2, 30))  # what an unknown number may be, in tests


def groups_of(release: Release, person: Person, scale: Mapping[str, float]) -> list[int]:
    """The groups she may be in, each looked at; whatever the columns are that she lacks."""
    lacking = [name for name in release.regions.columns if name not in person]
    if lacking:
        return sorted(
            {
                g
                for values in completions(release, lacking)
                for g in groups_of(release, {**person, **dict(zip(lacking, values))}, scale)  # noqa: B905
            }
        )
    regions = release.regions
    if release.scheme == "microaggregated":
        assert not isinstance(regions, Buckets)
        distances = []
        for g in range(len(regions)):
            total = Fraction(0)
            for column, parts, codes in zip(
                regions.columns, regions.parts, regions.codes, strict=True
            ):
                (middle,) = parts[codes[g]].values  # type: ignore[union-attr]
                gap = Fraction(str(middle)) - Fraction(str(person[column]))
                total += (gap / Fraction(str(scale[column]))) ** 2
            distances.append(total)
        return [g for g, distance in enumerate(distances) if distance == min(distances)]
    if isinstance(regions, Buckets):
        found = []
        for g in range(len(regions)):
            for place in range(regions.indptr[g], regions.indptr[g + 1]):
                listed = [
                    str(domain.values[code])
                    for domain, code in zip(regions.domains, regions.codes[:, place], strict=True)
                ]
                if listed == [str(person[name]) for name in regions.columns]:
                    found.append(g)
        return found
    return [
        g
        for g in range(len(regions))
        if all(
            parts[codes[g]].contains(person[column])
            for column, parts, codes in zip(
                regions.columns, regions.parts, regions.codes, strict=True
            )
        )
    ]


def completions(release: Release, lacking: Sequence[str]) -> list[tuple[Value, ...]]:
    """Everything that somebody may have in the columns that are not known of her."""
    regions = release.regions
    places = [regions.columns.index(name) for name in lacking]
    if release.scheme == "microaggregated":
        assert not isinstance(regions, Buckets)
        shown = []
        for g in range(len(regions)):
            points = [regions.parts[c][regions.codes[c][g]].values for c in places]  # type: ignore[union-attr]
            shown.append(tuple(value for (value,) in points))
        return shown
    if isinstance(regions, Buckets):
        return list(product(*(regions.domains[place].values for place in places)))
    return list(product(WHATEVER, repeat=len(lacking)))


def learn(
    releases: Sequence[Release],
    person: Person,
    *,
    scale: Mapping[str, float] | None = None,
    prior: Mapping[str, Fraction] | None = None,
) -> Learnt:
    """Effective anonymity, the intersection and the posterior, release by release."""
    masses: list[dict[str, int] | None] = []
    for release in releases:
        found = groups_of(release, person, scale or {})
        mass: dict[str, int] = {}
        for g in found:
            for label, n in release.groups.counts_of(g).items():
                mass[label] = mass.get(label, 0) + n
        masses.append(mass if found else None)
    told = [mass for mass in masses if mass is not None]
    left = set.intersection(*map(set, told)) if told else set()
    weights = {}
    for label in left:
        weights[label] = Fraction(1)
        for mass in told:
            weights[label] *= Fraction(mass[label], sum(mass.values()))
        if prior is not None:
            weights[label] *= prior[label] ** (1 - len(told))
    total = sum(weights.values())
    return Learnt(
        tuple(None if mass is None else len(mass) for mass in masses),
        tuple(sorted(left)),
        {label: weight / total for label, weight in weights.items()},
    )


def by_pairs(
    releases: Sequence[Release], person: Person, scale: Mapping[str, float] | None = None
) -> dict[str, Fraction]:
    """The posterior as a uniform choice among ways to pick one matching record from each release,
    all with the same value."""
    records = [
        [
            label
            for g in groups_of(release, person, scale or {})
            for label, n in release.groups.counts_of(g).items()
            for _ in range(n)
        ]
        for release in releases
    ]
    agreeing = [picked[0] for picked in product(*records) if len(set(picked)) == 1]
    return {label: Fraction(agreeing.count(label), len(agreeing)) for label in set(agreeing)}
