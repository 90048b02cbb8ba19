"""What somebody believes who knows facts of people, by every world there is: slow and plain.

A published group has slots for its people, and a world says what each of them has. People she
knows are put into slots that they fit, no two into one, in every way. Nothing of sfumato's
counting is here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product

Having = frozenset[str]
World = tuple[Having, ...]  # what the person of each slot has
Fact = Callable[[Mapping[str, Having]], bool]  # whether it is so, by what people have


@dataclass(frozen=True)
class Slots:
    """One group: what is published of the person of each slot, and all its worlds, alike likely."""

    published: Sequence[Mapping[str, object]]
    worlds: Sequence[World]


def single(values: Sequence[str]) -> list[World]:
    """One value each: every order of the group's values."""
    return [tuple(frozenset({value}) for value in order) for order in permutations(values)]


def bag(people: int, counts: Mapping[str, int], *, repeated: bool) -> list[World]:
    """Loose values: so many people have each; `repeated`: each occurrence is anybody's."""
    having: list[list[tuple[str, tuple[int, ...]]]] = []
    for value, n in counts.items():
        ways = product(range(people), repeat=n) if repeated else combinations(range(people), n)
        having.append([(value, way) for way in ways])
    return [
        tuple(frozenset(value for value, way in dealt if slot in way) for slot in range(people))
        for dealt in product(*having)
    ]


def beliefs(
    groups: Sequence[Slots],
    fits: Mapping[str, Callable[[Mapping[str, object]], bool]],
    facts: Sequence[Fact],
    asked: Fact,
) -> Iterator[Fraction]:
    """How sure she is by each way to put people into groups; none where the facts cannot be so."""
    everywhere = [
        (g, slot) for g, group in enumerate(groups) for slot in range(len(group.published))
    ]
    placed: set[tuple[int, ...]] = set()
    for slots in permutations(everywhere, len(fits)):
        mine = dict(zip(fits, slots, strict=True))
        key = tuple(g for g, _ in slots)
        if key in placed or not all(
            fit(groups[mine[name][0]].published[mine[name][1]]) for name, fit in fits.items()
        ):
            continue
        placed.add(key)  # slots of a group are alike but for whom they fit
        concerned = sorted({g for g, _ in slots})
        seen: Counter[bool] = Counter()
        for worlds in product(*(groups[g].worlds for g in concerned)):
            by_group = dict(zip(concerned, worlds, strict=True))
            has = {name: by_group[g][slot] for name, (g, slot) in mine.items()}
            if all(fact(has) for fact in facts):
                seen[asked(has)] += 1
        if seen:
            yield Fraction(seen[True], seen.total())
