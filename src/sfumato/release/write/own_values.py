"""How many published bounds and centroids are the value of exactly one person.

Anonymizers avoid it (`schema/boundaries.py`, `schema/centres.py`). Where the data leave no choice,
or a declared hierarchy has its ends there, the manifest says how often.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.release.release import Release
from sfumato.release.write.cells import occurring
from sfumato.schema.region import Span, Value, ValueSet, text_of


@dataclass(frozen=True)
class OwnValues:
    """Of one column: published bounds, centroids and values that exactly one person has.

    `declared`: those among them that are ends of the column's hierarchy, whoever is in the table.
    """

    total: int
    declared: int

    def public(self) -> dict[str, int]:
        """As a manifest tells it."""
        told = {"ends_of_one_person": self.total}
        return {**told, "of_these_declared": self.declared} if self.declared else told


def own_values(release: Release) -> dict[str, OwnValues]:
    """By quasi-identifier of numbers or dates; empty where nothing of the making is known."""
    origin, regions = release.origin, release.regions.each_region
    if origin is None or regions is None:
        return {}
    found = {}
    for column, domain in enumerate(origin.table.counts.quasi):
        if domain.kind not in ("numeric", "date"):
            continue
        people = origin.table.counts.by_code(column)
        told: set[Value] = set()
        parts = regions.parts[column]
        for place in occurring(regions.codes[column], len(parts)):
            told |= _ends(parts[place])
        codes = {code for end in told if (code := domain.code(end)) is not None}
        own = {code for code in codes if domain.values[code] is not None and people[code] == 1}
        levels = origin.table.levels[domain.name].levels[1:]
        declared = {text_of(end) for one in levels for part in one.regions for end in _ends(part)}
        known = [code for code in own if domain.labels[code] in declared]
        found[domain.name] = OwnValues(len(own), len(known))
    return found


def own_values_note(release: Release) -> tuple[str, ...]:
    """One line where some bound is one person's value; none where none is."""
    told = []
    for name, own in own_values(release).items():
        if own.total:
            known = f" ({own.declared} of them by its declared hierarchy)" if own.declared else ""
            told.append(f"{name} {own.total:,}{known}")
    if not told:
        return ()
    return (
        f"published bounds and centres that are the value of exactly one person: {', '.join(told)}",
    )


def _ends(region: object) -> set[Value]:
    if isinstance(region, Span):
        return {region.low, region.high}
    # What a label stands for is told by nobody's value.
    return set(region.values) if isinstance(region, ValueSet) and region.label is None else set()
