"""A characterization as an exhibit: rankings, columns, advice; worst classes and people apart."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from sfumato.report.characterization import Characterization, Finding, Individuals
from sfumato.report.characterize_words import worst_class
from sfumato.report.exhibit import Exhibit, Section
from sfumato.report.figure import Figure, Series
from sfumato.report.sheet import Sheet

_RANKED = 10  # combinations shown; all are in the JSON
_BARS = 20
_EXPOSED = 20
_WHO = ("columns", "classes", "k", "alone", "ruled out", "pinned")
_HOW_MUCH = (
    "columns",
    *(f"{kind} {over}" for kind in ("L_D", "L_E") for over in ("people", "classes", "max")),
)
_READ = (
    "L_D is the Euclidean distance between the distribution expected and the one a class shows, "
    "L_E the difference of their entropies in bits; averaged over people and over classes, and the "
    "largest. alone: share of people in a class of their own; ruled out: share of people for whom "
    "some value can be ruled out; pinned: values that occur in one class only."
)


def exhibit(found: Characterization) -> Exhibit:
    """The result in sections."""
    sections = [section for target in found.targets for section in _target(found, target)]
    if found.individuals is not None:
        sections.append(_people(found.individuals))
    return Exhibit(
        "characterize",
        f"Which columns give people away? {found.label}, {found.people:,} people",
        f"Combinations of up to {found.max_size} of {', '.join(found.columns)} against "
        f"{', '.join(found.targets)}; expected: {found.prior}. {_READ}"
        + "".join(f" Note: {note}." for note in found.notes),
        tuple(sections),
        facts={
            "people": found.people,
            "columns": found.columns,
            "targets": found.targets,
            "max_size": found.max_size,
            "findings": [_fact(one) for one in found.findings],
            "advice": {target: found.advice(target) for target in found.targets},
        },
        of_table=not found.public,
    )


def _fact(one: Finding) -> dict[str, Any]:
    return {
        "columns": one.columns,
        "target": one.target,
        "classes": one.classes,
        "k": one.k,
        "unique": one.unique,
        "distribution": asdict(one.distribution),
        "entropy": asdict(one.entropy),
        "ruled_out": one.ruled_out,
        "pinned": one.pinned,
    }


def _target(found: Characterization, target: str) -> list[Section]:
    ranking = found.ranking(target)
    shown = ranking[:_RANKED]
    rest = f" The first {len(shown)} of {len(ranking)}." if len(shown) < len(ranking) else ""
    public = Section(
        f"About {target}",
        found.advice(target) + rest,
        (
            Sheet(
                _HOW_MUCH, tuple(_leaks(one) for one in shown), "Combinations, by what they leak"
            ),
            Sheet(
                _WHO, tuple(_counts(one) for one in shown), "The same: how many people share one"
            ),
            _columns(found, target),
            *_steps(found, target),
        ),
        (_against_sets(shown, target),),
    )
    worst = shown[0]
    private = Section(
        f"The worst class of {worst.label}, about {target}",
        worst_class(worst),
        (_side_by_side(worst),),
        (compared(worst), per_class(worst)),
        private=not found.public,
    )
    return [public, private]


def _leaks(one: Finding) -> tuple[object, ...]:
    d, e = one.distribution, one.entropy
    return one.label, d.weighted, d.mean, d.largest, e.weighted, e.mean, e.largest


def _counts(one: Finding) -> tuple[object, ...]:
    return one.label, one.classes, one.k, one.unique, one.ruled_out, one.pinned


def _columns(found: Characterization, target: str) -> Sheet:
    return Sheet(
        ("column", "alone leaks", "adds to others", "adds people alone"),
        tuple(
            (one.column, one.alone, one.adds, one.adds_unique)
            for one in found.contributions
            if one.target == target
        ),
        "Columns, by what they add on average to the leakage of the others (L_D, people)",
    )


def _steps(found: Characterization, target: str) -> tuple[Sheet, ...]:
    mine = [one for one in found.coarsenings if one.target == target]
    if not mine:
        return ()
    figures = ("L_D people", "L_D max", "k", "alone")
    before, label = _after(mine[0].before), mine[0].before.label
    coarser = tuple((one.column, one.to, *_after(one.after)) for one in mine if not one.dropped)
    dropped = tuple((one.column, *_after(one.after)) for one in mine if one.dropped)
    sheets = []
    if coarser:
        rows = (("as it is", "", *before), *coarser)
        sheets.append(
            Sheet(("coarser", "to", *figures), rows, f"{label} with one column a level coarser")
        )
    if dropped:
        rows = (("none", *before), *dropped)
        sheets.append(Sheet(("dropped", *figures), rows, f"{label} with one column dropped"))
    return tuple(sheets)


def _after(one: Finding) -> tuple[object, ...]:
    return one.distribution.weighted, one.distribution.largest, one.k, one.unique


def _against_sets(shown: tuple[Finding, ...], target: str) -> Figure:
    labels = [one.label for one in shown]
    best = shown[0]
    return Figure(
        f"Leakage of {target} against sets of columns",
        "bars",
        "columns",
        "distribution leakage",
        (
            Series("people", labels, [one.distribution.weighted for one in shown]),
            Series("largest", labels, [one.distribution.largest for one in shown]),
        ),
        alt=f"{best.label} leaks most: {best.distribution.weighted:.3g} averaged over people, "
        f"{best.distribution.largest:.3g} at most.",
    )


def _side_by_side(one: Finding) -> Sheet:
    worst = one.worst
    order = np.argsort(worst.expected - worst.shown, kind="stable")
    kept = [at for at in order.tolist() if worst.expected[at] > 0 or worst.shown[at] > 0]
    shown = worst.shown
    rows = tuple(
        (worst.values[at], float(worst.expected[at]), float(shown[at]), worst.values[at] in here)
        for here in (set(worst.only_here),)
        for at in kept
    )
    return Sheet(
        (one.target, "expected", "shown", "only here"), rows, f"{one.target} in the worst class"
    )


def compared(one: Finding) -> Figure:
    """What was expected of the worst class and what it shows."""
    worst = one.worst
    shown = worst.shown
    order = np.argsort(-np.maximum(worst.expected, shown), kind="stable")[:_BARS].tolist()
    values = [worst.values[at] for at in order]
    return Figure(
        f"{one.target} expected and shown by the worst class of {one.label}",
        "bars",
        one.target,
        "share",
        (
            Series("expected", values, [float(worst.expected[at]) for at in order]),
            Series("shown", values, [float(shown[at]) for at in order]),
        ),
        alt=worst_class(one),
    )


def per_class(one: Finding) -> Figure:
    """How much each class leaks."""
    places = [str(place) for place in range(1, len(one.per_class) + 1)]
    return Figure(
        f"Leakage of the classes of {one.label}",
        "bars",
        "class, the worst first",
        "distribution leakage",
        (Series("classes", places, one.per_class.tolist()),),
        alt=f"Classes: {one.classes:,}; the worst leaks {one.distribution.largest:.3g}, the mean "
        f"{one.distribution.mean:.3g}.",
    )


def _people(people: Individuals) -> Section:
    table = people.to_arrow().slice(0, _EXPOSED)
    rows = zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    return Section(
        "People",
        "The most that the classes of each person leak about her, over all combinations; the most "
        "exposed first. People with equal values are one row.",
        (Sheet(tuple(table.column_names), tuple(rows), "The most exposed people"),),
        private=True,
    )
