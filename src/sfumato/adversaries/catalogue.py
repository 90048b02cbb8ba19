"""The catalogue of adversaries, from weak to strong: each is registered here, once.

Audits run those who run by themselves, the threat matrix has a row for everybody in it, measured or
not, and `sfumato attack list` and the tables of the documentation tell it. What an entry says of an
adversary stands beside her code (`CatalogueEntry` in `base.py` tells what that is).

Stand-ins take the place of the real ones, whom nobody knows: outside statistics shaped as this
table is and as many records as it has, one fact of each kind about the target and others. A policy
that names one replaces its stand-in. Only what is cheap runs; samplers and attacks that need more
than the release run on request.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

from sfumato.adversaries import mechanism, random_worlds, randomised, several_rows
from sfumato.adversaries.base import CatalogueEntry, Runs, Threat
from sfumato.adversaries.composition import attack as composition
from sfumato.adversaries.leakage import observer
from sfumato.adversaries.linkage import presence
from sfumato.adversaries.linkage import risks as linkage
from sfumato.adversaries.realistic import beliefs as realistic
from sfumato.adversaries.relative_threat import result as relative_threat
from sfumato.adversaries.skyline import acquaintance
from sfumato.release.groups import Groups
from sfumato.release.release import Release

ADVERSARIES: dict[str, CatalogueEntry] = {
    entry.name: entry
    for entry in (
        presence.ENTRY,
        *linkage.ENTRIES,
        random_worlds.ENTRY,
        mechanism.ENTRY,
        several_rows.ENTRY,
        observer.ENTRY,
        *realistic.ENTRIES,
        acquaintance.ENTRY,
        *relative_threat.ENTRIES,
        composition.ENTRY,
        randomised.ENTRY,
    )
}
OUT_OF_REACH = (
    "Not in it: somebody whose outside belief may be anything and whom nothing can move (realistic "
    "IV), and any prior whatsoever. No release of people's groups holds against them; only noise "
    "does."
)


def entry_of(adversary: str) -> CatalogueEntry | None:
    """The entry of an adversary as threats name her, or of whom she is a variant."""
    return next((entry for entry in ADVERSARIES.values() if entry.owns(adversary)), None)


def knows_owners(threat: Threat, release: Release) -> bool:
    """Whether it tells which rows are one person's: not for who reads what is published."""
    entry = entry_of(threat.adversary)
    if entry is None or release.groups.beside.unlinked is None:
        return False
    return entry.of_rows_alone or entry.reads_several


def weak_to_strong(threats: Iterable[Threat]) -> list[Threat]:
    """Threats in the order of the catalogue, each once; of those it does not know, last."""
    places = {name: place for place, name in enumerate(ADVERSARIES)}

    def place(threat: Threat) -> int:
        entry = entry_of(threat.adversary)
        return len(places) if entry is None else places[entry.name]

    return sorted(dict.fromkeys(threats), key=place)


def stand_in_threats(
    release: Release, runs: Runs, named: Container[tuple[str, str]]
) -> list[Threat]:
    """The threats of stand-ins for those who run so, and were not named about a column.

    Give the release as anybody reads it: they know no more than is published, so that every
    command tells the same of them, whatever else it knows.
    """
    threats = []
    for name, groups in release.by_attribute.items():
        for entry in ADVERSARIES.values():
            if entry.runs != runs or not entry.applies(release):
                continue
            for source, asked in _readable(entry, release, name):
                for adversary in entry.stand_ins(groups):
                    if (adversary.name, name) not in named:
                        learnt = adversary.attack(source, asked).threats()
                        of_row = source is not release
                        threats += [replace(threat, of_row=of_row) for threat in learnt]
    return threats


def _readable(entry: CatalogueEntry, release: Release, name: str) -> list[tuple[Release, Groups]]:
    """Where she can be measured: on a release or, if she can make nothing of a person's linked
    rows, on the rows one by one. Of unlinked rows she knows one, and asks for that row's value."""
    groups = release.by_attribute[name]
    if entry.undoes_chance and not groups.beside.altered_by_chance:
        return []
    if not entry.unmeasurable(release, groups):
        unlinked = groups.beside.unlinked
        if unlinked is None or entry.of_rows_alone or entry.reads_several:
            return [(release, groups)]
        return [(release, unlinked.by_row)]
    by_row = release.by_row
    if by_row is None or entry.unmeasurable(by_row, by_row.by_attribute[name]):
        return []
    return [(by_row, by_row.by_attribute[name])]
