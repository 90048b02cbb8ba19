"""The smallest epsilon of published rows whose owners protect different things, by definition.

A group publishes its entries, an entry a value; an adversary who knows some of the others exactly
looks for the one that is her target's. What she believes now is counted out: each entry that she
does not know is as likely hers as any other. What she would believe if that entry were left out is
asked of an urn that begins with her prior's weights and has seen the others. Both for every entry
that may be the target's, every choice of others she may know, every statement that anybody with an
entry in the group wants protected, and every prior that she may have. Nothing here knows a formula
of the paper, and nothing is read but rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

Statement = frozenset[str]  # of the values of which somebody has one
Prior = Mapping[str, Fraction]  # the weight of each value
Row = tuple[str, tuple[str, ...], str]  # whose it is, what it shows, its value


def priors_of_shape(shape: Prior, stubbornness: Fraction | None) -> list[tuple[Prior, bool]]:
    """Her priors of at most that stubbornness, all values weighing 1 or more; and if endless.

    Besides the smallest and the largest some between, which must not be worse.
    """
    least = 1 / min(shape.values())
    sizes = [least]
    if stubbornness is not None:
        sizes += [least + (stubbornness - least) * Fraction(part, 3) for part in (1, 2, 3)]
    scaled = [({value: p * size for value, p in shape.items()}, False) for size in sizes]
    return [*scaled, (shape, True)] if stubbornness is None else scaled


def priors_of_any_shape(values: Sequence[str], stubbornness: int) -> list[tuple[Prior, bool]]:
    """The whole numbers that add up to it, each value weighing 1 or more."""
    return [
        (dict(zip(values, weights, strict=True)), False)
        for weights in _sums(len(values), stubbornness)
    ]


def _sums(parts: int, total: int) -> Iterator[tuple[Fraction, ...]]:
    if parts == 1:
        yield (Fraction(total),)
        return
    for first in range(1, total - parts + 2):
        for rest in _sums(parts - 1, total - first):
            yield (Fraction(first), *rest)


def needed_by_entries(
    entries: Sequence[str],
    statements: Collection[Statement],
    priors: Sequence[tuple[Prior, bool]],
    known: int = 0,
) -> Fraction | None:
    """The smallest epsilon that holds for whoever's each entry is; None is infinity."""
    worst, known = Fraction(1), min(known, len(entries) - 1)
    for statement in statements:
        for target in range(len(entries)):
            others = [place for place in range(len(entries)) if place != target]
            for friends in combinations(others, known):
                unknown = [v for place, v in enumerate(entries) if place not in friends]
                now = Fraction(sum(value in statement for value in unknown), len(unknown))
                for prior, endless in priors:
                    before = _from_urn(prior, [entries[o] for o in others], statement, endless)
                    for more, less in ((now, before), (1 - before, 1 - now)):
                        if more == less == 0:
                            continue
                        if less == 0:
                            return None
                        worst = max(worst, more / less)
    return worst


def _from_urn(prior: Prior, seen: Sequence[str], statement: Statement, endless: bool) -> Fraction:
    """How likely the next draw has a value of the statement; endless urns learn nothing."""
    urn = dict(prior)
    for value in seen:
        urn[value] += 0 if endless else 1
    inside = sum((weight for value, weight in urn.items() if value in statement), Fraction(0))
    return inside / sum(urn.values())


def worst_of(measured: Sequence[Fraction | None]) -> Fraction | None:
    """The largest, None being infinity."""
    finite = [epsilon for epsilon in measured if epsilon is not None]
    return max(finite, default=Fraction(1)) if len(finite) == len(measured) else None


def unlinked_entries(rows: Sequence[Row]) -> Iterator[tuple[list[str], set[str]]]:
    """Of rows published one by one: entries and people of each group, by row and by person."""
    for shown in {shown for _, shown, _ in rows}:
        inside = [(who, value) for who, cell, value in rows if cell == shown]
        people = {who for who, _ in inside}
        yield [value for _, value in inside], people
        yield [value for _, value in set(inside)], people


def linked_entries(rows: Sequence[Row]) -> Iterator[tuple[list[str], set[str]]]:
    """Of linked rows: the rows that show the same among people all of whose rows do."""
    signatures = {
        who: tuple(sorted(shown for owner, shown, _ in rows if owner == who)) for who, _, _ in rows
    }
    for signature in set(signatures.values()):
        people = {who for who, own in signatures.items() if own == signature}
        for shown in set(signature):
            yield [v for who, cell, v in rows if who in people and cell == shown], people


def needed_by_groups(
    groups: Iterator[tuple[list[str], set[str]]],
    wishes: Mapping[str, Collection[Statement]],
    priors: Sequence[tuple[Prior, bool]],
    known: int = 0,
) -> Fraction | None:
    """The smallest epsilon of all groups; `wishes` are the statements that each person protects."""
    return worst_of(
        [
            needed_by_entries(
                entries, {wish for who in people for wish in wishes[who]}, priors, known
            )
            for entries, people in groups
        ]
    )
