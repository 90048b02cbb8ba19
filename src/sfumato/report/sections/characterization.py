"""A characterization as a document: rankings, columns, advice; worst classes and people apart."""

from __future__ import annotations

from dataclasses import asdict
from math import isinf
from typing import Any

import numpy as np

from sfumato.adversaries.leakage.metrics import METRICS
from sfumato.numbers import percent
from sfumato.report.characterization import (
    Characterization,
    ColumnCoarsening,
    CombinationFinding,
    Individuals,
    WorstClass,
)
from sfumato.report.document import OF_TABLE, Chart, Document, Gist, Section, Series, Sheet

_FEW = 4
_ADVISED = 3  # targets of which the terminal tells what to do


def advice(found: Characterization, target: str) -> str:
    """Which column to coarsen first, and what that buys."""
    worst = found.ranking(target)[0]
    mean, most = _two(worst.distribution.weighted), _two(worst.distribution.largest)
    if worst.distribution.largest <= 1e-12:
        return f"No combination tells anything about {target}: all classes show what was expected."
    leaks = (
        f"To who knows {_and(worst.columns)}, the distribution of {target} is off by {mean} from "
        f"what was expected, averaged over people (at most {most}); {percent(worst.unique)} of "
        "people are alone."
    )
    mine = [coarsening for coarsening in found.coarsenings if coarsening.target == target]
    if not mine:
        return f"{leaks} There is no coarser form of {worst.label} to try: leave it out."
    first, *others = mine
    what = (
        f"Drop {first.column} first"
        if first.dropped
        else f"Coarsen {first.column} first ({first.to})"
    )
    text = (
        f"{leaks} {what}: that leaves {_two(first.after.distribution.weighted)} on average and "
        f"{percent(first.after.unique)} alone, groups of {first.after.k:,} or more."
    )
    text += _rest("Others one level coarser", [other for other in others if not other.dropped])
    text += _rest("Others dropped", [remedy for remedy in others if remedy.dropped])
    least = min(remedy.after.distribution.weighted for remedy in mine)
    if least >= worst.distribution.weighted - 1e-12:
        text += " None of them lessens the leakage: publish fewer columns."
    return text


def _rest(what: str, steps: list[ColumnCoarsening]) -> str:
    """What further steps of one kind would leave."""
    listed = ", ".join(
        f"{step.column}{'' if step.dropped else f' ({step.to})'} "
        f"{_two(step.after.distribution.weighted)}"
        for step in steps
    )
    return f" {what} would leave: {listed}." if steps else ""


def worst_class(finding: CombinationFinding) -> str:
    """The worst class of a combination in words."""
    worst = finding.worst
    cells = ", ".join(f"{column} {cell}" for column, cell in worst.cells.items())
    people = "1 person" if worst.people == 1 else f"{worst.people:,} people"
    return f"Of {cells} ({people}): {'; '.join(_told(worst, finding.target))}."


def _told(worst: WorstClass, target: str) -> list[str]:
    gains = [
        f"{value} {percent(now)} where {percent(before)} was expected"
        for value, before, now in worst.gains
    ]
    if worst.ruled_out:
        gains.append(f"ruled out: {_some(worst.ruled_out)}")
    if worst.only_here:
        gains.append(f"whoever has this {target} is here: {_some(worst.only_here)}")
    return gains or ["what was expected"]


def _some(values: tuple[str, ...]) -> str:
    more = f" and {len(values) - _FEW} more" if len(values) > _FEW else ""
    return ", ".join(values[:_FEW]) + more


def _and(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _two(number: float) -> str:
    return f"{number:.2g}" if number < 0.1 else f"{number:.2f}"


_RANKED = 10  # combinations shown; all are in the JSON
_BARS = 20
_EXPOSED = 20
_ALONE = "alone"
_WHO = ("columns", "classes", "k", _ALONE, "ruled out", "pinned")
_HOW_MUCH = (
    "columns",
    *(f"{over} {kind}" for kind in ("distance", "bits") for over in ("mean", "class mean", "most")),
)
_INF = "inf: a class shows a value that was not expected at all."
_READ = (
    "Distance is distribution leakage (L_D): how far the distribution that a class shows is from "
    "the one expected, by Euclid. Bits are entropy leakage (L_E): the difference of their "
    "entropies. Mean: over people; class mean: over classes; most: of the worst class. alone: "
    "share of people in a class of their own; ruled out: share of people for whom some value can "
    "be ruled out; pinned: values that occur in one class only."
)


def document(found: Characterization) -> Document:
    """The result in sections."""
    sections = [section for target in found.targets for section in _target(found, target)]
    if found.individuals is not None:
        sections.append(_people(found.individuals))
    return Document(
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
            "findings": [_fact(finding) for finding in found.findings],
            "advice": {target: found.advice(target) for target in found.targets},
        },
        private=_why_private(found),
        gist=_gist(found),
    )


def _why_private(found: Characterization) -> str:
    """Why it is its owner's alone to know; empty where a release says all of it."""
    if not found.public:
        return OF_TABLE
    return "tells of people by whose rows they are" if found.whose_rows else ""


def _gist(found: Characterization) -> Gist:
    """The combination that tells most of each target first; which column to coarsen."""
    ranked = [combination for target in found.targets for combination in found.ranking(target)]
    ranked.sort(key=lambda one: -one.distribution.weighted)
    about = ("about",) if len(found.targets) > 1 else ()
    rows = tuple(
        (
            combination.label,
            *([combination.target] if about else ()),
            combination.distribution.weighted,
            combination.unique,
            combination.k,
            combination.ruled_out,
        )
        for combination in ranked
    )
    columns = ("who knows", *about, "is off by", "people alone", "fewest alike", "ruled out")
    told = {f"About {target}": found.advice(target) for target in found.targets[:_ADVISED]}
    if len(found.targets) > _ADVISED:
        told["Besides"] = f"{len(found.targets) - _ADVISED} more targets; --verbose shows them"
    return Gist(
        {
            "Off by": "how far the values of those who look alike are from what was expected "
            f"({found.prior}), averaged over people; 0 tells nothing",
            "Mind": "; ".join(found.notes),
            **told,
        },
        Sheet(columns, rows, percent=("people alone", "ruled out"), digits=3, keys=1 + len(about)),
        f"Combinations of up to {found.max_size} of {', '.join(found.columns)}, the worst first",
    )


def _fact(one: CombinationFinding) -> dict[str, Any]:
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
        "metrics": {name: asdict(spread) for name, spread in one.metrics.items()},
    }


def _target(found: Characterization, target: str) -> list[Section]:
    ranking = found.ranking(target)
    ranked = ranking[:_RANKED]
    rest = f" The first {len(ranked)} of {len(ranking)}." if len(ranked) < len(ranking) else ""
    public = Section(
        f"About {target}",
        found.advice(target) + rest,
        (
            Sheet(
                _HOW_MUCH,
                tuple(_leaks(combination) for combination in ranked),
                "Combinations, by what they leak",
            ),
            Sheet(
                _WHO,
                tuple(_counts(combination) for combination in ranked),
                "The same: how many people share one",
                percent=(_ALONE, "ruled out"),
            ),
            *_further(ranked),
            _columns(found, target),
            *_steps(found, target),
        ),
        (_against_sets(ranked, target),),
    )
    worst = ranked[0]
    private = Section(
        f"The worst class of {worst.label}, about {target}",
        worst_class(worst),
        (_side_by_side(worst), _classes(worst)),
        (compared(worst), per_class(worst)),
        private=bool(_why_private(found)),
    )
    return [public, private]


def _leaks(one: CombinationFinding) -> tuple[object, ...]:
    d, e = one.distribution, one.entropy
    return one.label, d.weighted, d.mean, d.largest, e.weighted, e.mean, e.largest


def _counts(one: CombinationFinding) -> tuple[object, ...]:
    return one.label, one.classes, one.k, one.unique, one.ruled_out, one.pinned


def _further(ranked: tuple[CombinationFinding, ...]) -> tuple[Sheet, ...]:
    """Leakage by the further metrics, averaged over people and at most."""
    if not ranked[0].metrics:
        return ()
    names = ("columns", *(METRICS[name].sign for name in ranked[0].metrics))

    def rows(figure: str) -> tuple[tuple[object, ...], ...]:
        return tuple(
            (
                combination.label,
                *(getattr(spread, figure) for spread in combination.metrics.values()),
            )
            for combination in ranked
        )

    about = ", ".join(f"{METRICS[name].sign} {name}" for name in ranked[0].metrics)
    endless = any(
        isinf(combination.metrics[name].largest)
        for combination in ranked
        for name in combination.metrics
    )
    return (
        Sheet(names, rows("weighted"), f"By further metrics, averaged over people ({about})"),
        Sheet(names, rows("largest"), "The same, the largest", (_INF,) if endless else ()),
    )


def _columns(found: Characterization, target: str) -> Sheet:
    return Sheet(
        ("column", "alone leaks", "adds to others", "adds people alone"),
        tuple(
            (contribution.column, contribution.alone, contribution.adds, contribution.adds_unique)
            for contribution in found.contributions
            if contribution.target == target
        ),
        "Columns, by what they add on average to the leakage of the others (mean distance)",
        percent=("adds people alone",),
    )


def _steps(found: Characterization, target: str) -> tuple[Sheet, ...]:
    mine = [coarsening for coarsening in found.coarsenings if coarsening.target == target]
    if not mine:
        return ()
    figures = ("mean distance", "most distance", "k", _ALONE)
    before, label = _after(mine[0].before), mine[0].before.label
    coarser = tuple(
        (remedy.column, remedy.to, *_after(remedy.after)) for remedy in mine if not remedy.dropped
    )
    dropped = tuple((remedy.column, *_after(remedy.after)) for remedy in mine if remedy.dropped)
    sheets = []
    if coarser:
        rows = (("as it is", "", *before), *coarser)
        title = f"{label} with one column a level coarser"
        sheets.append(Sheet(("coarser", "to", *figures), rows, title, percent=(_ALONE,)))
    if dropped:
        rows = (("none", *before), *dropped)
        title = f"{label} with one column dropped"
        sheets.append(Sheet(("dropped", *figures), rows, title, percent=(_ALONE,)))
    return tuple(sheets)


def _after(one: CombinationFinding) -> tuple[object, ...]:
    return one.distribution.weighted, one.distribution.largest, one.k, one.unique


def _against_sets(shown: tuple[CombinationFinding, ...], target: str) -> Chart:
    labels = [combination.label for combination in shown]
    best = shown[0]
    return Chart(
        f"Leakage of {target} against sets of columns",
        "bars",
        "distribution leakage (distance)",
        "columns",
        (
            Series(
                "averaged over people",
                [combination.distribution.weighted for combination in shown],
                labels,
            ),
            Series(
                "of the worst class",
                [combination.distribution.largest for combination in shown],
                labels,
            ),
        ),
        name=f"leakage-of/{target}",
        alt=f"{best.label} leaks most: {best.distribution.weighted:.3g} averaged over people, "
        f"{best.distribution.largest:.3g} at most.",
    )


def _side_by_side(one: CombinationFinding) -> Sheet:
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
        (one.target, "expected", "shown", "only here"),
        rows,
        f"{one.target} in the worst class",
        percent=("expected", "shown"),
    )


def _classes(one: CombinationFinding) -> Sheet:
    """The classes that leak most, with what they show."""
    rows = tuple(
        (
            ", ".join(f"{column} {cell}" for column, cell in ranked.cells.items()),
            ranked.people,
            ranked.distribution,
            ranked.entropy,
            ranked.ruled_out,
        )
        for ranked in one.ranked
    )
    left = one.classes - len(rows)
    return Sheet(
        ("class", "people", "L_D", "L_E", "values ruled out"),
        rows,
        "Classes, by what they leak",
        (f"{left:,} more classes leak less",) if left else (),
    )


def compared(one: CombinationFinding) -> Chart:
    """What was expected of the worst class and what it shows."""
    worst = one.worst
    shown = worst.shown
    order = np.argsort(-np.maximum(worst.expected, shown), kind="stable")[:_BARS].tolist()
    values = [worst.values[at] for at in order]
    return Chart(
        f"{one.target} expected and shown by the worst class of {one.label}",
        "bars",
        "share of people",
        one.target,
        (
            Series("expected", [float(worst.expected[at]) for at in order], values),
            Series("shown", [float(shown[at]) for at in order], values),
        ),
        percent="x",
        name=f"worst-class/{one.target}/{one.label}",
        alt=worst_class(one),
    )


def per_class(one: CombinationFinding) -> Chart:
    """How much each class leaks."""
    places = [str(place) for place in range(1, len(one.per_class) + 1)]
    return Chart(
        f"Leakage of the classes of {one.label}",
        "bars",
        "class, the worst first",
        "distribution leakage (distance)",
        (Series("classes", places, one.per_class.tolist()),),
        name=f"classes/{one.target}/{one.label}",
        alt=f"Classes: {one.classes:,}; the worst leaks {one.distribution.largest:.3g}, the mean "
        f"{one.distribution.mean:.3g}.",
    )


def _people(people: Individuals) -> Section:
    table = people.to_arrow().slice(0, _EXPOSED)
    rows = zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    return Section(
        "People",
        "The most that the classes of each person leak about her, over all combinations; the most "
        "exposed first. People with equal values are one row; whoever has several rows of her own "
        "stands in each.",
        (Sheet(tuple(table.column_names), tuple(rows), "The most exposed people"),),
        private=True,
    )
