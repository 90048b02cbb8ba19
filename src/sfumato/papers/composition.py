"""Composition Attacks and Auxiliary Information in Data Privacy (Ganta, Kasiviswanathan, Smith, KDD
2008): the experiments on Adult, on the ACS excerpt, or on the embedded census.

Two random parts of a table share some people. Each part is anonymized by itself: Mondrian both,
along hierarchies as in print; microaggregation both; one of each. Somebody who knows the
quasi-identifiers of the people in both finds their groups in each release, as the paper assumes,
and keeps the values both show. How many are known then, against k; with entropy l-diversity and
t-closeness on top; and the same attack on differentially private tables of the same people.

The paper's second table (IPUMS) is replaced by the ACS excerpt. What print leaves open: which
bounds l and t, and by which distance closeness is measured (ours: all values equally far apart).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.papers import RunSettings
from sfumato.papers.composition_attacks import (
    ALONE,
    BOTH_MICRO,
    BOTH_MONDRIAN,
    BOUNDS,
    MIXED,
    PAIRS,
    AttackedTable,
    IntersectionTrial,
    Noisy,
    Overlap,
    TrialSurvey,
    declared,
    noise_section,
    right_when_sure,
    split,
    studies,
    survey,
    try_noise,
)
from sfumato.papers.composition_claims import compare_tables, judge_claims, worked
from sfumato.papers.evidence import EvidenceRow, Reproduction
from sfumato.report.document import Chart, Section, Series, Sheet

# What the trials of the composition experiment show: tables and charts, no single person.

_CURVE_VALUES = (1, 2, 3, 4, 5, 8, 10)  # values left: confidence 1, 1/2, ...
_CURVE_SIZES = (2, 3, 5, 10, 20)  # the k whose curves are drawn; the tables have all


def attack_sections(name: str, surveyed: TrialSurvey) -> list[Section]:
    """Breach, curves, group sizes and values left, for k-anonymity alone."""
    return [_breach(name, surveyed), _curves(name, surveyed), _values_left(name, surveyed)]


def _breach(name: str, surveyed: TrialSurvey) -> Section:
    columns = (
        "k",
        "one value left (perfect breach)",
        "by one release alone",
        "at most two left",
        "guess right",
    )

    def row(trial: IntersectionTrial) -> tuple[object, ...]:
        alone = trial.oracle.exposed_by_one / trial.oracle.located
        return trial.k, trial.breach, alone, trial.oracle.share_at(0.5), trial.oracle.precision

    series = [(pair, surveyed.of(pair)) for pair in PAIRS]
    return Section(
        f"{name}: breach against k",
        "Shares of the people who are in both releases. A guess takes the likeliest value left.",
        by_pair(surveyed, columns, row),
        (
            against_k(f"{name}: perfect breach against k", series, lambda trial: trial.breach),
            against_k(
                f"{name}: partial breach (confidence 1/2 or more) against k",
                series,
                lambda trial: trial.oracle.share_at(0.5),
            ),
        ),
    )


def by_pair(
    surveyed: TrialSurvey,
    columns: tuple[str, ...],
    row: Callable[[IntersectionTrial], tuple[object, ...]],
    pairs: Iterable[str] = PAIRS,
) -> tuple[Sheet, ...]:
    """A table for each pair of anonymizers, a row for each k."""
    return tuple(Sheet(columns, tuple(map(row, surveyed.of(pair))), pair) for pair in pairs)


def against_k(
    title: str,
    series: Sequence[tuple[str, list[IntersectionTrial]]],
    share: Callable[[IntersectionTrial], float],
) -> Chart:
    """Shares of people by k, a line each."""
    ends = "; ".join(
        f"{label} {share(trials[0]):.1%} at k = {trials[0].k}, {share(trials[-1]):.1%} at "
        f"{trials[-1].k}"
        for label, trials in series
    )
    lines = tuple(
        Series(label, [trial.k for trial in trials], [share(trial) for trial in trials])
        for label, trials in series
    )
    ticks = tuple(sorted({trial.k for _, trials in series for trial in trials}))
    return Chart(
        title,
        "lines",
        "k",
        "share of people in both",
        lines,
        log_x=True,
        alt=f"{ends}.",
        percent="y",
        ticks=ticks,
    )


def _curves(name: str, surveyed: TrialSurvey) -> Section:
    """PVP_c: the share of people known with confidence c or more."""
    confidence = [1 / left for left in _CURVE_VALUES]

    figures = []
    for pair in PAIRS:
        drawn = [trial for trial in surveyed.of(pair) if trial.k in _CURVE_SIZES]
        sure = ", ".join(f"{trial.breach:.1%} at k = {trial.k}" for trial in drawn)
        figures.append(
            Chart(
                f"{name}, {pair}: people by how surely their value is known",
                "steps",
                "confidence of at least",
                "share of people in both",
                tuple(Series(f"k = {trial.k}", confidence, _shares(trial)) for trial in drawn),
                alt=f"Known for sure: {sure}.",
                percent="y",
            )
        )
    columns = ("k", *("c = 1" if left == 1 else f"1/{left}" for left in _CURVE_VALUES))
    return Section(
        f"{name}: how surely",
        "The share of people (PVP_c) of whom at most 1 / c values are left.",
        by_pair(surveyed, columns, lambda trial: (trial.k, *_shares(trial))),
        tuple(figures),
    )


def _values_left(name: str, surveyed: TrialSurvey) -> Section:
    columns = (
        "k",
        "people a group, 1st",
        "2nd",
        "people of her group, 1st",
        "2nd",
        "values left, 1st",
        "2nd",
        "both",
        "drop",
    )

    def row(trial: IntersectionTrial) -> tuple[object, ...]:
        oracle = trial.oracle
        return trial.k, *trial.sizes, *oracle.group_size, *oracle.before, oracle.after, oracle.drop

    lines = []
    for pair in (BOTH_MONDRIAN, BOTH_MICRO):
        trials = surveyed.of(pair)
        at = [trial.k for trial in trials]
        lines += [
            Series(f"{pair}, one release", at, [trial.oracle.fewest_before for trial in trials]),
            Series(f"{pair}, both together", at, [trial.oracle.after for trial in trials]),
        ]
    first = surveyed.of(BOTH_MONDRIAN)[0].oracle
    figure = Chart(
        f"{name}: effective anonymity against k",
        "lines",
        "k",
        "sensitive values left (mean)",
        tuple(lines),
        log_x=True,
        alt=f"With the smallest k, Mondrian leaves {first.fewest_before:.2f} values in the release "
        f"that leaves fewer, {first.after:.2f} in both together.",
        ticks=tuple(trial.k for trial in surveyed.of(BOTH_MONDRIAN)),
    )
    words = (
        "Means: people a group over groups; people of her group and values left (effective "
        "anonymity) over the people in both. The drop is from the release that leaves fewer."
    )
    return Section(
        f"{name}: group sizes and values left", words, by_pair(surveyed, columns, row), (figure,)
    )


# What the trials show beyond k: l-diversity and t-closeness on top, groups found by distance.


def bounds_section(name: str, surveyed: TrialSurvey) -> Section:
    """Breach with a further bound on both releases, beside k alone."""
    asked = {trial.k for trial in surveyed.trials if trial.bound != ALONE}
    tried = {
        (pair, bound): [trial for trial in surveyed.of(pair, bound) if trial.k in asked]
        for pair in PAIRS
        for bound in surveyed.bounds
    }
    figures = tuple(
        against_k(
            f"{name}, {pair}: perfect breach with further bounds",
            [(bound, tried[pair, bound]) for bound in surveyed.bounds],
            lambda trial: trial.breach,
        )
        for pair in (BOTH_MONDRIAN, BOTH_MICRO)
    )
    curves = tuple(
        _bounded_curves(name, pair, [tried[pair, bound][0] for bound in surveyed.bounds])
        for pair in PAIRS
    )
    sheets = tuple(
        Sheet(
            ("figure", "k", *surveyed.bounds),
            tuple(
                (label, together[0].k, *(figure(trial) for trial in together))
                for label, figure in _FIGURES.items()
                for together in zip(*(tried[pair, bound] for bound in surveyed.bounds), strict=True)
            ),
            pair,
        )
        for pair in PAIRS
    )
    words = "Both releases keep the bound, each for itself. Distances of closeness are all equal."
    return Section(f"{name}: with l-diversity and t-closeness", words, sheets, (*figures, *curves))


def _bounded_curves(name: str, pair: str, trials: Sequence[IntersectionTrial]) -> Chart:
    """PVP_c with each bound at one k (Fig. 4a, b)."""
    confidence = [1 / left for left in _CURVE_VALUES]
    return Chart(
        f"{name}, {pair}, k = {trials[0].k}: how surely with further bounds",
        "steps",
        "confidence of at least",
        "share of people in both",
        tuple(Series(trial.bound, confidence, _shares(trial)) for trial in trials),
        alt="Known for sure: "
        + ", ".join(f"{trial.breach:.1%} with {trial.bound}" for trial in trials)
        + ".",
        percent="y",
    )


def _shares(trial: IntersectionTrial) -> list[float]:
    """PVP_c along `_CURVE_VALUES`."""
    return [trial.oracle.share_at(1 / left) for left in _CURVE_VALUES]


def _share_left(left: int, trial: IntersectionTrial) -> float:
    return trial.oracle.share_at(1 / left)


_FIGURES: dict[str, Callable[[IntersectionTrial], float]] = {
    "one value left": lambda trial: trial.breach,
    **{f"at most {left} left": partial(_share_left, left) for left in _CURVE_VALUES[1:]},
    "drop": lambda trial: trial.oracle.drop,
    "people of her group, 1st": lambda trial: trial.oracle.group_size[0],
}


def location_section(name: str, surveyed: TrialSurvey) -> Section:
    """How often the nearest centroid is that of the right group, and what that is worth."""
    columns = (
        "k",
        "rightly located, 1st",
        "2nd",
        "one value left, oracle",
        "nearest",
        "of these right, nearest",
        "guess right, oracle",
        "nearest",
        "nothing left, nearest",
    )

    def row(trial: IntersectionTrial) -> tuple[object, ...]:
        near = trial.nearest
        assert near is not None  # both pairs have centroids
        return (
            trial.k,
            *near.correctly_located,
            trial.breach,
            near.perfect_breach,
            right_when_sure(near),
            trial.oracle.precision,
            near.precision,
            near.inconsistent / near.people,
        )

    trials = surveyed.of(BOTH_MICRO)
    shares = [trial.nearest.correctly_located[0] or 0.0 for trial in trials if trial.nearest]
    figure = Chart(
        f"{name}: people whose nearest centroid is that of their own group",
        "lines",
        "k",
        "share of people in both",
        (Series("first release", [trial.k for trial in trials], shares),),
        log_x=True,
        alt=f"{shares[0]:.1%} at k = {trials[0].k}, {shares[-1]:.1%} at k = {trials[-1].k}.",
        percent="y",
        ticks=tuple(trial.k for trial in trials),
    )
    words = (
        "The paper assumes that she finds the right group (oracle); in a microaggregated release "
        "she takes the nearest centroid. The paper's figure, as it is remembered, is about 70 %; "
        f"here it is {min(shares):.0%} to {max(shares):.0%}. With one value left by the oracle it "
        "is always the right one."
    )
    return Section(
        f"{name}: does she find the right group?",
        words,
        by_pair(surveyed, columns, row, (BOTH_MICRO, MIXED)),
        (figure,),
    )


TITLE = "Composition: two releases about the same people, each anonymous by itself"
SIZES, FEW_SIZES = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50), (2, 5, 10)
BOUND_SIZES, FEW_BOUND_SIZES = (2, 3, 5, 7, 10), (2, 5)
EPSILONS, FEW_EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0), (1.0,)


def run(data: Path | None, settings: RunSettings) -> Reproduction:
    """The whole experiment; `quick` on 4,000 people of each table and for fewer k."""
    quick, seed = settings.quick, settings.seed
    sections: list[Section] = []
    facts: dict[str, Any] = {}
    summaries, evidence, surveys = [], worked(), {}
    for study in studies(data, seed):
        overlap = split(study, seed, quick=quick)
        on_top = dict.fromkeys(
            (name for name in BOUNDS if name != ALONE), FEW_BOUND_SIZES if quick else BOUND_SIZES
        )
        trials = survey(overlap, FEW_SIZES if quick else SIZES, on_top, seed)
        noisy = try_noise(declared(study, overlap), FEW_EPSILONS if quick else EPSILONS)
        judged = judge_claims(trials, study.name)
        surveys[study.name] = trials
        evidence += judged
        sections += [
            *attack_sections(study.name, trials),
            bounds_section(study.name, trials),
            location_section(study.name, trials),
            noise_section(study.name, noisy),
        ]
        facts[study.name] = _facts(overlap, trials, noisy, judged)
        summaries.append(_summary_of(study, overlap))
    evidence += compare_tables(surveys)
    stands_in = (
        "No data folder was given, so synthetic people stand in for Adult and ACS."
        if data is None
        else "The ACS excerpt of 2019 stands in for the paper's IPUMS table; Adult is its own."
    )
    about = f"{'. '.join(summaries)}. The two parts are drawn by chance, seed {seed}."
    return Reproduction(
        "composition", TITLE, about, stands_in, tuple(evidence), tuple(sections), facts
    )


def _summary_of(study: AttackedTable, overlap: Overlap) -> str:
    first, second = (part.people for part in overlap.parts)
    whole = first + second - overlap.shared.people
    drawn = "" if whole == study.table.people else f", {whole:,} of them drawn"
    return (
        f"{study.name}: {study.about} ({study.table.people:,} people{drawn}); releases of "
        f"{first:,} and {second:,} people, {overlap.shared.people:,} in both"
    )


def _facts(
    overlap: Overlap, surveyed: TrialSurvey, noisy: Noisy, judged: list[EvidenceRow]
) -> dict[str, Any]:
    return {
        "people": [part.people for part in overlap.parts],
        "in both": overlap.shared.people,
        "trials": [
            {
                "k": trial.k,
                "bound": trial.bound,
                "releases": trial.pair,
                "people a group": list(trial.sizes),
                "people of her group": list(trial.oracle.group_size),
                "values left": [*trial.oracle.before, trial.oracle.after],
                "drop": trial.oracle.drop,
                "perfect breach": trial.breach,
                "curve": [point.__dict__ for point in trial.oracle.curve],
                "nearest": None
                if trial.nearest is None
                else {
                    "rightly located": list(trial.nearest.correctly_located),
                    "perfect breach": trial.nearest.perfect_breach,
                    "guess right": trial.nearest.precision,
                },
            }
            for trial in surveyed.trials
        ],
        "randomised": noisy.why
        or {
            label: {
                "exposed": summary.exposed,
                "right": right_when_sure(summary),
                "guess right": summary.precision,
            }
            for label, summary in noisy.all.items()
        },
        "claims": {
            f"{row.item}: {row.printed}": row.outcome == "agrees"
            for row in judged
            if row.outcome in ("agrees", "differs")
        },
    }
