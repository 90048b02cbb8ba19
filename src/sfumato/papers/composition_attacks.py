"""Every trial of the composition experiment: two releases of overlapping people, intersected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sfumato.adversaries.composition.attack import intersection_attack
from sfumato.adversaries.composition.summary import Summary
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.microaggregation import Microaggregation
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.criteria.base import Criterion
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.diversity import EntropyDiversity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.papers.composition_data import Overlap
from sfumato.progress import Ticker
from sfumato.release.release import Release

MONDRIAN, MICRO = "Mondrian", "microaggregation"
BOTH_MONDRIAN, BOTH_MICRO, MIXED = "Mondrian both", "microaggregation both", "one of each"
PAIRS = {
    BOTH_MONDRIAN: (MONDRIAN, MONDRIAN),
    BOTH_MICRO: (MICRO, MICRO),
    MIXED: (MONDRIAN, MICRO),
}
ALONE = "k alone"
BOUNDS: dict[str, Criterion | None] = {
    ALONE: None,
    "entropy 2-diversity": EntropyDiversity(2),
    "entropy 3-diversity": EntropyDiversity(3),
    "0.6-closeness": TCloseness(0.6),
    "0.5-closeness": TCloseness(0.5),
}
DIVERSE = tuple(name for name in BOUNDS if name.endswith("diversity"))
CLOSE = tuple(name for name in BOUNDS if name.endswith("closeness"))


@dataclass(frozen=True)
class Trial:
    """One pair of releases and what intersecting them finds about the people in both.

    `sizes` are people a group, on average over groups. `oracle` takes everybody's own group, as
    the paper does; `nearest` the group of the nearest centroid, where there are centroids.
    """

    k: int
    bound: str
    pair: str
    sizes: tuple[float, ...]
    oracle: Summary
    nearest: Summary | None

    @property
    def breach(self) -> float:
        return self.oracle.perfect_breach


@dataclass(frozen=True)
class Survey:
    """All trials of one table, by what was asked of the releases."""

    trials: tuple[Trial, ...]

    def of(self, pair: str, bound: str = ALONE) -> list[Trial]:
        """In the order of k."""
        return [one for one in self.trials if (one.pair, one.bound) == (pair, bound)]

    @property
    def bounds(self) -> list[str]:
        return list(dict.fromkeys(one.bound for one in self.trials))


def right_when_sure(found: Summary) -> float | None:
    """Of those with one value left, how often that value is theirs; None where there are none."""
    if found.right is None or not found.exposed:
        return None
    return found.right[0] / found.exposed


def survey(
    overlap: Overlap, sizes: Sequence[int], bounds: Mapping[str, Sequence[int]], seed: int
) -> Survey:
    """Trials for every k of `sizes`, and for some with a further bound on top."""
    asked = [(ALONE, k) for k in sizes]
    asked += [(bound, k) for bound, chosen in bounds.items() for k in chosen]
    found: list[Trial] = []
    with Ticker("anonymizing and intersecting", len(asked)) as ticker:
        for bound, k in asked:
            found += _trials(overlap, k, bound, seed)
            ticker.add()
    return Survey(tuple(found))


def _trials(overlap: Overlap, k: int, bound: str, seed: int) -> Iterator[Trial]:
    made = {
        (name, place): _release(overlap, name, place, k, bound, seed)
        for name in (MONDRIAN, MICRO)
        for place in range(2)
    }
    for pair, names in PAIRS.items():
        releases = [made[name, place] for place, name in enumerate(names)]
        right = intersection_attack(
            releases, overlap.shared, overlap.sensitive, locate="oracle", seed=seed
        )
        near = None
        if MICRO in names:  # elsewhere regions tell the one group there is
            near = intersection_attack(releases, overlap.shared, overlap.sensitive).summary
        sizes = tuple(one.people / len(one.groups) for one in releases)
        yield Trial(k, bound, pair, sizes, right.summary, near)


def _release(overlap: Overlap, name: str, place: int, k: int, bound: str, seed: int) -> Release:
    """One part made into a release; the two parts know nothing of each other."""
    further = BOUNDS[bound]
    require: tuple[Criterion, ...] = (KAnonymity(k),)
    task = Task(
        overlap.parts[place],
        require if further is None else (*require, further),
        seed=2 * seed + place,
    )
    return (Mondrian() if name == MONDRIAN else Microaggregation(k)).run(task)
