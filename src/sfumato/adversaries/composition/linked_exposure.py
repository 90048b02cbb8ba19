"""How few values are left of people whose rows a pseudonym links, beside earlier releases.

The adversary knows all rows of her target, and that every release her target is in holds all of
them. In each she faces the pseudonyms with the target's signature. What such a pseudonym says is
more than a list of values: row by row which value, but for rows that look alike there. A release
leaves the worlds (ways to give her rows values, `linked_worlds.py`) that one of these pseudonyms
allows, all releases together those that each of them allows; and whoever is asked is exposed if
there are few in either of two respects:

*by person*: the lists (multisets) of all her values in these worlds;
*of a row*: the values that one of her rows has in them.

Lists that both releases show, or values that rows which look like it have in both, would be more
than that: two releases that generalize her rows differently may each show a list, and none of the
ways of the one to lay it on her rows be one of the other's. So neither is intersected by itself.

In which earlier releases she is nobody outside knows. Every choice that leaves a world counts, as
in `exposure.py`: with T(w) the earlier releases that allow w, it is the fewest over worlds w of the
new release that the worlds u of it with T(u) containing T(w) leave.

Whose rows the new release shows is told by its table, and everything rests on an earlier one
holding the same rows of whoever is in both (`SignedPatterns.find`).

Unlike in `exposure.py` and `rows_exposure.py` values left are those of whole people, told one by
one, and no release is asked by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from sfumato.adversaries.composition.exposure import Exposed, ExposureRule
from sfumato.adversaries.composition.intersection import match_values
from sfumato.adversaries.composition.linked_worlds import (
    SOME_KNOWN,
    FoundSignatures,
    RowWorlds,
    SignedPatterns,
    World,
    cases_of,
    respects_of,
)
from sfumato.errors import InputError
from sfumato.numbers import Ints
from sfumato.release.linked import LinkedPlacement
from sfumato.release.made import ReadFrom
from sfumato.release.release import Release
from sfumato.table import Table


@dataclass(frozen=True)
class Left:
    """What is left of somebody in one respect: values by her group, beside earlier releases, by the
    one of all these that leaves fewest; and by the earlier ones alone, all and the fewest."""

    own: int
    together: int
    by_one: int
    before: int | None
    by_one_before: int

    def exposed(self, rule: ExposureRule) -> bool:
        exposed = self.together <= rule.most and self.by_one - self.together >= rule.drop
        return exposed and not (rule.counting == "added" and self.exposed_before(rule))

    def exposed_before(self, rule: ExposureRule) -> bool:
        if self.before is None:  # none of them has her
            return False
        return self.before <= rule.most and self.by_one_before - self.before >= rule.drop


@dataclass(frozen=True)
class WatchedSignatures:
    """People of a new release as it and the earlier ones show them: `people[i]` of each case.

    `worlds[i]` are those that each release with her allows, the new one being release 0; `chosen`
    the earlier ones that count.
    """

    signature: Ints
    people: Ints
    worlds: tuple[dict[int, set[World]], ...]
    chosen: frozenset[int]
    total: int

    @classmethod
    def of(cls, release: Release, attribute: str, earlier: Sequence[Release]) -> WatchedSignatures:
        about = [before for before in earlier if attribute in before.by_attribute]
        patterns = [SignedPatterns.of(source, attribute) for source in (release, *about)]
        by_row = [
            source.by_row.groups_for(attribute) for source in (release, *about) if source.by_row
        ]
        match_values(attribute, [(s.label, g) for s, g in zip(patterns, by_row, strict=True)])
        table, own = _people_of(release, patterns[0], attribute)
        located = [own, *(before.find(table, attribute) for before in patterns[1:])]
        cases = Counter(case for case in cases_of(located) if case.signatures[0] >= 0)
        row_worlds = RowWorlds(tuple(patterns))
        return cls(
            np.array([case.signatures[0] for case in cases], dtype=np.int64),
            np.array(list(cases.values()), dtype=np.int64),
            tuple(
                {j: set(allowed) for j, allowed in row_worlds.of(case).items()} for case in cases
            ),
            frozenset(range(1, len(patterns))),
            len(release.groups),
        )

    def only(self, places: Collection[int]) -> WatchedSignatures:
        """Beside some of the earlier releases, told by their numbers: 0, 1, 2, ..."""
        return replace(self, chosen=frozenset(place + 1 for place in places))

    @cached_property
    def left(self) -> tuple[tuple[Left, ...], ...]:
        """What is left of each case: of the list of all values, and of each row."""
        return tuple(
            _left({j: allowed for j, allowed in worlds.items() if j in {0, *self.chosen}})
            for worlds in self.worlds
        )

    def exposed(self, rule: ExposureRule) -> Exposed:
        """The people of each signature who are exposed in some respect, each once."""
        chosen = [any(left.exposed(rule) for left in case) for case in self.left]
        people = np.bincount(self.signature, self.people * np.array(chosen), self.total)
        exposed = people.astype(np.int64)
        return Exposed(exposed, exposed)

    def exposed_before(self, rule: ExposureRule) -> int:
        """The people whom the earlier releases expose by themselves."""
        chosen = [any(left.exposed_before(rule) for left in case) for case in self.left]
        return int(self.people[chosen].sum())


def exposed_by_signature(release: Release, attribute: str, rule: ExposureRule) -> Exposed:
    """Who is exposed by the new release alone, where no more is known of it."""
    total, sizes = len(release.groups), release.groups.sizes
    sure = np.zeros(total, dtype=np.int64)
    if rule.counting == "all" and not rule.drop:
        try:
            signed = SignedPatterns.of(release, attribute).by_signature
        except InputError:
            signed = ()
        for at, patterns in enumerate(signed):
            rows: dict[int, set[str]] = {}
            for pattern in patterns:
                for kind, label in pattern:
                    rows.setdefault(kind, set()).add(label)
            lists = {tuple(sorted(label for _, label in pattern)) for pattern in patterns}
            if min([len(lists), *map(len, rows.values())]) <= rule.most:
                sure[at] = sizes[at]
    return Exposed(sure, sizes)


def _people_of(
    release: Release, signed: SignedPatterns, attribute: str
) -> tuple[Table, FoundSignatures]:
    """The table of a new release, and everybody's signature there with the kinds of her rows."""
    if release.schema.knows != "all":
        raise InputError(SOME_KNOWN.format("judge"))
    placement = release.placement
    if isinstance(placement, LinkedPlacement):
        return placement.table, signed.placed(release)
    table = release.made.linked_table if isinstance(release.made, ReadFrom) else None
    if table is None or table.rows is None:
        raise InputError(
            "whose rows a pseudonym links is not known; give the table it was made of (--table)"
        )
    return table, signed.find(table, attribute)


def _left(worlds: dict[int, set[World]]) -> tuple[Left, ...]:
    """What is left of somebody by the worlds of the new release, 0, and of earlier ones."""
    there = [j for j in worlds if j]
    respects = len(next(iter(worlds[0]))) + 1
    before = set().union(*(worlds[j] for j in there)) if there else set()
    in_earlier = {
        world: frozenset(j for j in there if world in worlds[j]) for world in worlds[0] | before
    }
    together = _fewest(worlds[0], in_earlier, respects)
    alone = _fewest(before, in_earlier, respects)
    own = respects_of(worlds[0], respects)
    by_each = [respects_of(worlds[j], respects) for j in there]
    by_earlier = [min(counts) for counts in zip(*by_each, strict=True)] or [0] * respects
    by_all = bool(there) and any(in_earlier[world] == set(there) for world in worlds[0])
    by_one = [min(pair) for pair in zip(own, by_earlier, strict=True)] if by_all else own
    return tuple(
        Left(own[at], together[at], by_one[at], alone[at] if there else None, by_earlier[at])
        for at in range(respects)
    )


def _fewest(
    worlds: set[World], in_earlier: dict[World, frozenset[int]], respects: int
) -> list[int]:
    """In each respect the fewest that any choice of earlier releases leaves."""
    choices = {in_earlier[world] for world in worlds}
    counts: Iterator[list[int]] = (
        respects_of({world for world in worlds if choice <= in_earlier[world]}, respects)
        for choice in choices
    )
    return reduce(
        lambda a, b: [min(pair) for pair in zip(a, b, strict=True)], counts, [2**62] * respects
    )
