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


def advice(characterization: Characterization, target: str) -> str:
    """Which column to coarsen first, and what that buys."""
    worst = characterization.ranking(target)[0]
    mean, most = _two(worst.distribution.weighted), _two(worst.distribution.largest)
    if worst.distribution.largest <= 1e-12:
        return f"No combination tells anything about {target}: all classes show what was expected."
    leaks = (
        f"To who knows {_and(worst.columns)}, the distribution of {target} is off by {mean} from "
        f"what was expected, averaged over people (at most {most}); {percent(worst.unique)} of "
        "people are alone."
    )
    coarsenings = [
        coarsening for coarsening in characterization.coarsenings if coarsening.target == target
    ]
    if not coarsenings and not characterization.one_for_all:
        return (
            f"{leaks} What coarser columns would leave is not worked out, since it is not the same "
            "that was expected of every class: characterize without that prior, or leave one out."
        )
    if not coarsenings:
        return f"{leaks} There is no coarser form of {worst.label} to try: leave it out."
    first, *rest = coarsenings
    proposal = (
        f"Drop {first.column} first"
        if first.dropped
        else f"Coarsen {first.column} first ({first.to})"
    )
    text = (
        f"{leaks} {proposal}: that leaves {_two(first.after.distribution.weighted)} on average and "
        f"{percent(first.after.unique)} alone, groups of {first.after.k:,} or more."
    )
    text += _rest("Others one level coarser", [remedy for remedy in rest if not remedy.dropped])
    text += _rest("Others dropped", [remedy for remedy in rest if remedy.dropped])
    least = min(remedy.after.distribution.weighted for remedy in coarsenings)
    if least >= worst.distribution.weighted - 1e-12:
        text += " None of them lessens the leakage: publish fewer columns."
    return text


def _rest(which_steps: str, steps: list[ColumnCoarsening]) -> str:
    """What further steps of one kind would leave."""
    listed = ", ".join(
        f"{step.column}{'' if step.dropped else f' ({step.to})'} "
        f"{_two(step.after.distribution.weighted)}"
        for step in steps
    )
    return f" {which_steps} would leave: {listed}." if steps else ""


def worst_class(finding: CombinationFinding) -> str:
    """The worst class of a combination in words."""
    worst = finding.worst
    cells = ", ".join(f"{column} {cell}" for column, cell in worst.cells.items())
    people = "1 person" if worst.people == 1 else f"{worst.people:,} people"
    return f"Of {cells} ({people}): {'; '.join(_gain_words(worst, finding.target))}."


def _gain_words(worst: WorstClass, target: str) -> list[str]:
    gains = [
        f"{value} {percent(now)} where {percent(before)} was expected"
        for value, before, now in worst.gains
    ]
    if worst.ruled_out:
        gains.append(f"ruled out: {_first_few(worst.ruled_out)}")
    if worst.only_here:
        gains.append(f"whoever has this {target} is here: {_first_few(worst.only_here)}")
    return gains or ["what was expected"]


def _first_few(values: tuple[str, ...]) -> str:
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
_PEOPLE = ("columns", "classes", "k", _ALONE, "ruled out", "pinned")
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


def document(characterization: Characterization) -> Document:
    """The result in sections."""
    sections = [
        section
        for target in characterization.targets
        for section in _target(characterization, target)
    ]
    if characterization.individuals is not None:
        sections.append(_people(characterization.individuals))
    return Document(
        "characterize",
        f"Which columns give people away? {characterization.label}, {characterization.people:,} "
        "people",
        f"Combinations of up to {characterization.max_size} of "
        f"{', '.join(characterization.columns)} against {', '.join(characterization.targets)}; "
        f"expected: {characterization.prior}. {_READ}"
        + "".join(f" Note: {note}." for note in characterization.notes),
        tuple(sections),
        facts={
            "people": characterization.people,
            "columns": characterization.columns,
            "targets": characterization.targets,
            "max_size": characterization.max_size,
            "findings": [_fact(finding) for finding in characterization.findings],
            "advice": {
                target: characterization.advice(target) for target in characterization.targets
            },
        },
        private=_why_private(characterization),
        gist=_gist(characterization),
    )


def _why_private(characterization: Characterization) -> str:
    """Why it is its owner's alone to know; empty where a release says all of it."""
    if not characterization.public:
        return OF_TABLE
    return "tells of people by whose rows they are" if characterization.whose_rows else ""


def _gist(characterization: Characterization) -> Gist:
    """The combination that tells most of each target first; which column to coarsen."""
    ranked = [
        combination
        for target in characterization.targets
        for combination in characterization.ranking(target)
    ]
    ranked.sort(key=lambda finding: -finding.distribution.weighted)
    about = ("about",) if len(characterization.targets) > 1 else ()
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
    closing = {
        f"About {target}": characterization.advice(target)
        for target in characterization.targets[:_ADVISED]
    }
    if len(characterization.targets) > _ADVISED:
        closing["Besides"] = (
            f"{len(characterization.targets) - _ADVISED} more targets; --verbose shows them"
        )
    return Gist(
        {
            "Off by": "how far the values of those who look alike are from what was expected "
            f"({characterization.prior}), averaged over people; 0 tells nothing",
            "Mind": "; ".join(characterization.notes),
            **closing,
        },
        Sheet(columns, rows, percent=("people alone", "ruled out"), digits=3, keys=1 + len(about)),
        f"Combinations of up to {characterization.max_size} of "
        f"{', '.join(characterization.columns)}, the worst first",
    )


def _fact(finding: CombinationFinding) -> dict[str, Any]:
    return {
        "columns": finding.columns,
        "target": finding.target,
        "classes": finding.classes,
        "k": finding.k,
        "unique": finding.unique,
        "distribution": asdict(finding.distribution),
        "entropy": asdict(finding.entropy),
        "ruled_out": finding.ruled_out,
        "pinned": finding.pinned,
        "metrics": {name: asdict(spread) for name, spread in finding.metrics.items()},
    }


def _target(characterization: Characterization, target: str) -> list[Section]:
    ranking = characterization.ranking(target)
    ranked = ranking[:_RANKED]
    rest = f" The first {len(ranked)} of {len(ranking)}." if len(ranked) < len(ranking) else ""
    public = Section(
        f"About {target}",
        characterization.advice(target) + rest,
        (
            Sheet(
                _HOW_MUCH,
                tuple(_leaks(combination) for combination in ranked),
                "Combinations, by what they leak",
            ),
            Sheet(
                _PEOPLE,
                tuple(_counts(combination) for combination in ranked),
                "The same: how many people share one",
                percent=(_ALONE, "ruled out"),
            ),
            *_further(ranked),
            _columns(characterization, target),
            *_steps(characterization, target),
        ),
        (_against_sets(ranked, target),),
    )
    worst = ranked[0]
    private = Section(
        f"The worst class of {worst.label}, about {target}",
        worst_class(worst),
        (_side_by_side(worst), _classes(worst)),
        (compared(worst), per_class(worst)),
        private=bool(_why_private(characterization)),
    )
    return [public, private]


def _leaks(finding: CombinationFinding) -> tuple[object, ...]:
    d, e = finding.distribution, finding.entropy
    return finding.label, d.weighted, d.mean, d.largest, e.weighted, e.mean, e.largest


def _counts(finding: CombinationFinding) -> tuple[object, ...]:
    return (
        finding.label,
        finding.classes,
        finding.k,
        finding.unique,
        finding.ruled_out,
        finding.pinned,
    )


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


def _columns(characterization: Characterization, target: str) -> Sheet:
    return Sheet(
        ("column", "alone leaks", "adds to others", "adds people alone"),
        tuple(
            (contribution.column, contribution.alone, contribution.adds, contribution.adds_unique)
            for contribution in characterization.contributions
            if contribution.target == target
        ),
        "Columns, by what they add on average to the leakage of the others (mean distance)",
        percent=("adds people alone",),
    )


def _steps(characterization: Characterization, target: str) -> tuple[Sheet, ...]:
    coarsenings = [
        coarsening for coarsening in characterization.coarsenings if coarsening.target == target
    ]
    if not coarsenings:
        return ()
    figures = ("mean distance", "most distance", "k", _ALONE)
    before, label = _after(coarsenings[0].before), coarsenings[0].before.label
    coarser = tuple(
        (remedy.column, remedy.to, *_after(remedy.after))
        for remedy in coarsenings
        if not remedy.dropped
    )
    dropped = tuple(
        (remedy.column, *_after(remedy.after)) for remedy in coarsenings if remedy.dropped
    )
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


def _after(finding: CombinationFinding) -> tuple[object, ...]:
    return finding.distribution.weighted, finding.distribution.largest, finding.k, finding.unique


def _against_sets(combinations: tuple[CombinationFinding, ...], target: str) -> Chart:
    labels = [combination.label for combination in combinations]
    best = combinations[0]
    return Chart(
        f"Leakage of {target} against sets of columns",
        "bars",
        "distribution leakage (distance)",
        "columns",
        (
            Series(
                "averaged over people",
                [combination.distribution.weighted for combination in combinations],
                labels,
            ),
            Series(
                "of the worst class",
                [combination.distribution.largest for combination in combinations],
                labels,
            ),
        ),
        name=f"leakage-of/{target}",
        alt=f"{best.label} leaks most: {best.distribution.weighted:.3g} averaged over people, "
        f"{best.distribution.largest:.3g} at most.",
    )


def _side_by_side(finding: CombinationFinding) -> Sheet:
    worst = finding.worst
    order = np.argsort(worst.expected - worst.observed, kind="stable")
    kept = [at for at in order.tolist() if worst.expected[at] > 0 or worst.observed[at] > 0]
    observed = worst.observed
    rows = tuple(
        (worst.values[at], float(worst.expected[at]), float(observed[at]), worst.values[at] in here)
        for here in (set(worst.only_here),)
        for at in kept
    )
    return Sheet(
        (finding.target, "expected", "shown", "only here"),
        rows,
        f"{finding.target} in the worst class",
        percent=("expected", "shown"),
    )


def _classes(finding: CombinationFinding) -> Sheet:
    """The classes that leak most, with what they show."""
    rows = tuple(
        (
            ", ".join(f"{column} {cell}" for column, cell in ranked.cells.items()),
            ranked.people,
            ranked.distribution,
            ranked.entropy,
            ranked.ruled_out,
        )
        for ranked in finding.ranked
    )
    left = finding.classes - len(rows)
    return Sheet(
        ("class", "people", "L_D", "L_E", "values ruled out"),
        rows,
        "Classes, by what they leak",
        (f"{left:,} more classes leak less",) if left else (),
    )


def compared(finding: CombinationFinding) -> Chart:
    """What was expected of the worst class and what it shows."""
    worst = finding.worst
    observed = worst.observed
    order = np.argsort(-np.maximum(worst.expected, observed), kind="stable")[:_BARS].tolist()
    values = [worst.values[at] for at in order]
    return Chart(
        f"{finding.target} expected and shown by the worst class of {finding.label}",
        "bars",
        "share of people",
        finding.target,
        (
            Series("expected", [float(worst.expected[at]) for at in order], values),
            Series("shown", [float(observed[at]) for at in order], values),
        ),
        percent="x",
        name=f"worst-class/{finding.target}/{finding.label}",
        alt=worst_class(finding),
    )


def per_class(finding: CombinationFinding) -> Chart:
    """How much each class leaks."""
    places = [str(place) for place in range(1, len(finding.per_class) + 1)]
    return Chart(
        f"Leakage of the classes of {finding.label}",
        "bars",
        "class, the worst first",
        "distribution leakage (distance)",
        (Series("classes", places, finding.per_class.tolist()),),
        name=f"classes/{finding.target}/{finding.label}",
        alt=f"Classes: {finding.classes:,}; the worst leaks {finding.distribution.largest:.3g}, "
        f"the mean {finding.distribution.mean:.3g}.",
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
