"""The same attack on randomised releases of the same people: what differential privacy changes.

Two noisy tables, one of each part, cells fixed by schema and levels. Beside them the same tables
without noise: what an adversary then takes for sure is so; with noise it often is not. What she can
learn about one person is bounded by the promise, which adds up over both releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.adversaries.composition.attack import intersection_attack
from sfumato.adversaries.composition.summary import Summary
from sfumato.adversaries.randomised.accounting import Composed, compose
from sfumato.adversaries.randomised.semantic import semantic_privacy
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.noise.noise import Noise
from sfumato.errors import MissingExtra
from sfumato.papers.composition_attacks import right_when_sure
from sfumato.papers.composition_data import Overlap
from sfumato.release.release import Release
from sfumato.report.exhibit import Section
from sfumato.report.figure import Figure, Series
from sfumato.report.sheet import Sheet
from sfumato.workflow.anonymize import generalize

EXACT = "exact counts"


@dataclass(frozen=True)
class Noisy:
    """The attack on the tables without noise, and with noise by epsilon; `why` not with it.

    `cells` there are, `composed` is what both noisy releases promise together.
    """

    exact: Summary
    by_epsilon: dict[float, Summary]
    composed: dict[float, Composed]
    commonest: float
    cells: int = 0
    why: str = ""

    @property
    def all(self) -> dict[str, Summary]:
        told = {f"epsilon {epsilon:g} each": one for epsilon, one in self.by_epsilon.items()}
        return {EXACT: self.exact, **told}


def try_noise(overlap: Overlap, epsilons: Sequence[float]) -> Noisy:
    """Attack exact and noisy tables of the same cells; `overlap` has declared values."""
    tops = {name: levels.height - 1 for name, levels in overlap.parts[0].levels.items()}
    heights = {
        name: level if isinstance(level, int) else tops[name]
        for name, level in overlap.levels.items()
    }
    exact = _attack(overlap, [generalize(part, heights) for part in overlap.parts])
    by_epsilon, composed, cells, why = {}, {}, 0, ""
    for epsilon in epsilons:
        try:
            made = [
                Noise(epsilon, levels=overlap.levels).run(Task(part, ())) for part in overlap.parts
            ]
        except MissingExtra as missing:
            why = str(missing)
            break
        cells = 0 if made[0].noisy is None else made[0].noisy.counts.size
        by_epsilon[epsilon] = _attack(overlap, made)
        composed[epsilon] = compose([one.guarantee for one in made if one.guarantee is not None])
    return Noisy(exact, by_epsilon, composed, overlap.commonest, cells, why)


def _attack(overlap: Overlap, releases: Sequence[Release]) -> Summary:
    return intersection_attack(releases, overlap.shared, overlap.sensitive).summary


def noise_section(name: str, found: Noisy) -> Section:
    """The attack with and without noise, and what the noisy releases promise together."""
    title = f"{name}: the same attack on randomised releases"
    if found.why:
        return Section(f"{title}: not run", found.why)
    rows = tuple(
        (
            label,
            one.located / one.people,
            one.not_locatable / one.people,
            one.inconsistent / one.people,
            one.exposed,
            right_when_sure(one),
            one.after,
            one.precision,
        )
        for label, one in found.all.items()
    )
    columns = (
        "releases",
        "located",
        "not locatable",
        "nothing left",
        "people with one value left",
        "and right",
        "values left (mean)",
        "guess right",
    )
    return Section(
        title, _words(found), (Sheet(columns, rows), _promises(found)), _figure(name, found)
    )


def _words(found: Noisy) -> str:
    sure = [one for one in map(right_when_sure, found.by_epsilon.values()) if one is not None]
    shares = dict.fromkeys(f"{share:.0%}" for share in (min(sure), max(sure))) if sure else {}
    return (
        f"Noisy counts of {found.cells:,} cells, geometric noise; no seed, so figures differ from "
        f"run to run. Without noise {found.exact.exposed:,} people have one value left, and it is "
        "theirs. With noise a value may be missing or made up: what then looks sure is right for "
        f"{' to '.join(shares) or 'nobody'} of those it is said of. That a guess is right more "
        f"often than the most frequent value ({found.commonest:.1%}) is what the tables tell about "
        "people like her, whether or not she is in them."
    )


def _promises(found: Noisy) -> Sheet:
    rows = []
    for epsilon, together in found.composed.items():
        bounds = semantic_privacy(together.basic).bounds
        tighter = together.tighter
        rows.append(
            (
                epsilon,
                together.basic.epsilon,
                None if tighter is None else tighter.epsilon,
                None if tighter is None else tighter.delta,
                *(str(bound) for bound in bounds),
            )
        )
    return Sheet(
        (
            "epsilon each",
            "both, basic",
            "both, OpenDP",
            "at delta",
            "semantic, paper",
            "semantic, tight",
        ),
        tuple(rows),
        "What both promise together, by replace-one",
        ("semantic: how far her conclusions can be from those without the person's record",),
    )


def _figure(name: str, found: Noisy) -> tuple[Figure, ...]:
    right = {label: right_when_sure(one) for label, one in found.all.items()}
    told = [f"{label} {share:.0%}" for label, share in right.items() if share is not None]
    return (
        Figure(
            f"{name}: how often the one value left is the right one",
            "bars",
            "releases",
            "share of people with one value left",
            (Series("right", list(right), list(right.values())),),
            alt=f"{', '.join(told)}." if told else "Nobody has one value left.",
            percent="y",
            ticks=tuple(right),
        ),
    )
