"""A comparison as a document: the map of risk and cost, the figures, what they mean.

The page of a release that was taken from a comparison shows its map too, with a star for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, replace

from sfumato.report.comparison import (
    RISKS,
    Comparison,
    Outcome,
    SweepStatus,
    TakenFrom,
    counted,
    position,
)
from sfumato.report.document import (
    Chart,
    Document,
    Gist,
    Section,
    Sheet,
    cell_text,
    percentage,
)
from sfumato.report.risk_map import RiskPoint, at_one_place, risk_map
from sfumato.utility import is_share

_VERDICTS = {"holds": "holds", "violated": "violated", "could_not_judge": "not judged"}
_NOT_RELEASED: dict[SweepStatus, str] = {
    "no_safe_release": "no safe release",
    "not_possible": "not possible",
}
_RISKS = {"mean": "mean risk", "highest": "highest risk", "belief": "strongest belief"}
_SHARES = ("suppressed", *_RISKS.values())
_FRONT = (
    "on the Pareto front: no other release here is better in risk or cost without being worse in "
    "the other"
)
_AS_GIVEN = "the policy as it stands"
_LISTED = 6
_SHARING = 3  # numbers of points at one place that are told beside it

Placed = tuple[Outcome, tuple[float, float]]


def document(comparison: Comparison) -> Document:
    """All of it: the map, the table, the meaning of its columns and the notes."""
    sections = [_map_section(comparison), Section("The figures", "", (_figures(comparison),))]
    sections.append(Section("What the figures mean", "", (_meanings(comparison),)))
    if comparison.notes:
        sections.append(Section("Notes", "\n\n".join(comparison.notes)))
    return Document(
        "comparison",
        "What each release costs, and what it leaves to be found",
        f"{counted(comparison)} of {comparison.label}, {comparison.people:,} people. Lower is "
        "better for both risk and cost.",
        tuple(sections),
        facts={
            "table": comparison.label,
            "people": comparison.people,
            "seed": comparison.seed,
            "made_of": None if comparison.made_of is None else asdict(comparison.made_of),
            "sweep": comparison.sweep,
            "axes": {"risk": comparison.risk, "cost": comparison.cost},
            "about": comparison.about,
            "points": [_point(outcome) for outcome in comparison.outcomes],
            "notes": comparison.notes,
        },
        private="describes the original table",
        on_top=True,
    )


def brief(comparison: Comparison) -> Document:
    """What a terminal shows: the table alone, and how to read it."""
    cost = f"{comparison.cost} ({comparison.about[comparison.cost]})"
    sheet = _figures(comparison)
    sections = [Section("", "", (sheet,))]
    if comparison.notes:
        sections.append(Section("", "\n".join(f"note: {note}" for note in comparison.notes)))
    return Document(
        "comparison",
        f"{counted(comparison)} of {comparison.label}, {comparison.people:,} people",
        f"risk: {RISKS[comparison.risk].words}; cost: {cost}; lower is better for both",
        tuple(sections),
        gist=_gist(comparison),
    )


def _gist(comparison: Comparison) -> Gist:
    """The releases worth choosing from, then the others; what lies at the two ends."""
    order = sorted(
        comparison.outcomes, key=lambda outcome: (not outcome.pareto, outcome.figures is None)
    )
    sheet = _figures(replace(comparison, outcomes=tuple(order)))
    axes = comparison.risk, comparison.cost
    front = sorted(
        comparison.pareto, key=lambda outcome: position(outcome, *axes) or (math.inf, math.inf)
    )
    ends = (
        [f"point {outcome.number} ({outcome.label})" for outcome in (front[0], front[-1])]
        if front
        else []
    )
    first = ("point", *comparison.sweep, _RISKS[comparison.risk], comparison.cost, "policy")
    closing = {
        "*": sheet.star,
        "No release": "; ".join(sheet.notes),
        "Mind": "; ".join(comparison.notes),
        "Choose": f"least risk: {ends[0]}; least cost: {ends[1]}" if ends else "nothing holds",
    }
    return Gist(closing, sheet.taking(*dict.fromkeys((*first, *sheet.columns))))


def _point(outcome: Outcome) -> dict[str, object]:
    """An outcome for programs."""
    figures = outcome.figures
    names = ("verdict", "groups", "people", "suppressed", "suppressed_share", "risks", "costs")
    return {
        "point": outcome.number,
        "settings": outcome.settings,
        "anonymizer": outcome.anonymizer,
        "status": outcome.status,
        "reason": outcome.reason,
        "pareto": outcome.pareto,
        "as_given": outcome.as_given,
        **{name: None if figures is None else getattr(figures, name) for name in names},
    }


# -- the table -------------------------------------------------------------------------------------


def _figures(comparison: Comparison) -> Sheet:
    """One row an outcome; why some have no release stands below."""
    measured = [
        outcome.figures.costs for outcome in comparison.outcomes if outcome.figures is not None
    ]
    costs = tuple(measured[0]) if measured else (comparison.cost,)
    rows = []
    for outcome in comparison.outcomes:
        settings = [_setting(outcome.settings.get(name, "–")) for name in comparison.sweep]
        figures = outcome.figures
        if figures is None:
            blank = (None,) * (5 + len(costs))
            rows.append((outcome.number, *settings, *blank, _NOT_RELEASED[outcome.status]))
            continue
        risks = [figures.risks[name] for name in _RISKS]
        cells = (figures.groups, figures.suppressed_share, *risks, *figures.costs.values())
        rows.append((outcome.number, *settings, *cells, _VERDICTS[figures.verdict]))
    front = tuple(at for at, outcome in enumerate(comparison.outcomes) if outcome.pareto)
    return Sheet(
        ("point", *comparison.sweep, "groups", *_SHARES, *costs, "policy"),
        tuple(rows),
        notes=tuple(f"{points}: {why}" for why, points in _reasons(comparison.outcomes).items()),
        percent=(*_SHARES, *filter(is_share, costs)),
        keys=len(comparison.sweep) + 1,
        starred=front,
        star=_FRONT if front else "",
    )


def _setting(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _reasons(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Why points have no release, and which points: one reason may be that of many."""
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.figures is None:
            why = f"{_NOT_RELEASED[outcome.status]}: {outcome.reason}"
            reasons.setdefault(why, []).append(outcome.label)
    return {why: _first_few(labels, 4) for why, labels in reasons.items()}


def _first_few(labels: Sequence[str], most: int) -> str:
    more = f"; {len(labels) - most} more" if len(labels) > most else ""
    return "; ".join(labels[:most]) + more


def _meanings(comparison: Comparison) -> Sheet:
    axes = (comparison.risk, comparison.cost)
    rows = [
        (_RISKS.get(name, name), f"{about} (an axis of the map)" if name in axes else about)
        for name, about in comparison.about.items()
    ]
    rows.append(("n/a", "the measure does not apply to this kind of release, or there is none"))
    return Sheet(("figure", "what it is"), tuple(rows))


# -- the map ---------------------------------------------------------------------------------------


def _map_section(comparison: Comparison) -> Section:
    """Every release by risk and cost, a shape per anonymizer; a star for the policy as given."""
    title = "Risk and cost"
    given = {outcome.number for outcome in comparison.outcomes if outcome.as_given}
    alt = (
        "#7 is the point with that number in the table below, which has all figures; anonymize "
        "--like MAP.json#7 publishes it."
    )
    charts = _map(comparison, given, _AS_GIVEN, alt)
    if not charts:
        risk = RISKS[comparison.risk].words
        without = f"No release has both a {risk} and a cost by {comparison.cost}"
        return Section(title, f"{without}, so there is nothing to draw.")
    return Section(title, "", (), charts)


def taken_section(taken: TakenFrom) -> Section:
    """The map that a release was taken from, with a star for it, and what was worth choosing."""
    comparison, outcome = taken.comparison, taken.outcome
    words = f"Of the releases that were compared, {taken.words} was taken."
    if outcome.pareto:
        words += " It lies on the Pareto front: no other one risks less without costing more."
    elif where := position(outcome, comparison.risk, comparison.cost):
        better = [
            f"#{rival.number} ({rival.label})"
            for rival, place in _placed(comparison)
            if rival.pareto and place[0] <= where[0] and place[1] <= where[1]
        ]
        words += (
            f" It does not lie on the Pareto front: {_first_few(better, 3)} would risk and cost as "
            "little or less."
        )
    listed = tuple(
        listed_outcome
        for listed_outcome in comparison.outcomes
        if listed_outcome.pareto or listed_outcome is outcome
    )
    sheet = _figures(replace(comparison, outcomes=listed))
    sheet = replace(sheet, starred=(listed.index(outcome),), star="taken")
    alt = f"#{taken.number} is the one that was taken."
    return Section(
        "Which release was taken",
        words,
        (replace(sheet, title="It, and those on the Pareto front"),),
        _map(comparison, {taken.number}, "the release that was taken", alt, name="map/taken"),
    )


def _map(
    comparison: Comparison, starred: Set[int], chosen: str, alt: str, name: str = "map"
) -> tuple[Chart, ...]:
    """The map, if anything lies on it; `chosen` is what the starred points are called."""
    risk, placed = RISKS[comparison.risk].words, _placed(comparison)
    if not placed:
        return ()
    there = [outcome for outcome, _ in placed]
    off = [
        outcome.label for outcome in comparison.outcomes if outcome.figures and outcome not in there
    ]
    if off:
        alt += f" Not on the map, for want of a {risk} or a cost by {comparison.cost}: "
        alt += f"{_first_few(off, _LISTED)}."
    labels = _labels(comparison, placed, starred)
    points = [
        RiskPoint(
            where,
            outcome.anonymizer,
            label,
            _named(outcome, chosen if outcome.number in starred else ""),
            outcome.pareto,
            outcome.number in starred,
        )
        for (outcome, where), label in zip(placed, labels, strict=True)
    ]
    chart = risk_map(
        points,
        f"What each release of {comparison.label} costs and risks",
        f"{risk} ({RISKS[comparison.risk].unit})",
        comparison.cost,
        alt,
        chosen=chosen,
        name=name,
    )
    return (chart,)


def _placed(comparison: Comparison) -> list[Placed]:
    """The outcomes that have a place on the map; infinity has none."""
    placed = [
        (outcome, position(outcome, comparison.risk, comparison.cost))
        for outcome in comparison.outcomes
    ]
    return [
        (outcome, where)
        for outcome, where in placed
        if where is not None and all(math.isfinite(value) for value in where)
    ]


def _named(outcome: Outcome, chosen: str) -> str:
    """What a mark says when it is pointed at."""
    figures = outcome.figures
    assert figures is not None
    lines = [f"point {outcome.number}: {outcome.label}", outcome.anonymizer]
    lines += [chosen] if chosen else []
    lines += ["on the Pareto front"] if outcome.pareto else []
    lines += [f"{kind.words}: {percentage(figures.risks[name])}" for name, kind in RISKS.items()]
    lines += [
        f"{name}: {percentage(cost) if is_share(name) else cell_text(cost)}"
        for name, cost in figures.costs.items()
    ]
    lines.append(f"{figures.groups:,} groups, {percentage(figures.suppressed_share)} suppressed")
    return "\n".join(lines)


def _labels(comparison: Comparison, placed: Sequence[Placed], starred: Set[int]) -> list[str]:
    """The number and settings of each mark; points at one place share the label of the first.

    Those that are starred have their own.
    """
    varied = [name for name, values in comparison.sweep.items() if len(values) > 1]
    labels = [""] * len(placed)
    for near in at_one_place([where for _, where in placed]):
        for star in (True, False):
            members = [at for at in near if (placed[at][0].number in starred) is star]
            outcomes = [placed[at][0] for at in members]
            if outcomes:
                numbers = "/".join(str(outcome.number) for outcome in outcomes[:_SHARING])
                labels[members[0]] = f"#{numbers} {shared_label(outcomes, varied)}"
    return labels


def shared_label(outcomes: Sequence[Outcome], varied: Sequence[str]) -> str:
    """Only what differs between points: `k=2/5, l=3` for two of them at one place.

    The anonymizer is told by its shape, and named where points of several lie together.
    """
    kinds = list(dict.fromkeys(outcome.anonymizer for outcome in outcomes))
    texts = list(dict.fromkeys(_short(outcome.settings, varied, kinds) for outcome in outcomes))
    values: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        for name in varied:
            values.setdefault(name, {})[str(outcome.settings.get(name, ""))] = None
    if len(texts) > 1 and len(texts) == math.prod(len(several) for several in values.values()):
        joined = {n: "/".join(several) for n, several in values.items() if list(several) != [""]}
        return _short(joined, varied, kinds)
    more = f" | {len(texts) - 2} more" if len(texts) > 2 else ""
    return " | ".join(texts[:2]) + more


def _short(settings: Mapping[str, object], varied: Sequence[str], kinds: Sequence[str]) -> str:
    tails = [name.rpartition(".")[2] for name in varied]
    parts = []
    for name, value in settings.items():
        if name in varied and name != "anonymizer":
            tail = name.rpartition(".")[2]  # t will do for t-closeness.t where it is the only t
            parts.append(f"{tail if tails.count(tail) == 1 else name}={value}")
    if len(kinds) > 1 or not parts:
        parts.insert(0, str(settings.get("anonymizer", kinds[0])))
    return ", ".join(parts)
