"""A comparison as a document: the map of risk and cost, the figures, what they mean.

Stands apart: one subject of a report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sfumato.report.comparison import RISKS, Comparison, Outcome, Status, position
from sfumato.report.document import Chart, Document, Section, Series, Sheet, percentage, shown

_VERDICTS = {"holds": "holds", "violated": "violated", "could_not_judge": "not judged"}
_NOT_RELEASED: dict[Status, str] = {
    "no_safe_release": "no safe release",
    "not_possible": "not possible",
}
_RISKS = {"mean": "mean risk", "highest": "highest risk", "belief": "strongest belief"}
_SHARES = ("suppressed", *_RISKS.values())
_FRONT = (
    "on the Pareto front: no other release here is better in risk or cost without being worse in "
    "the other"
)
_WIDE = 10  # beyond this ratio of largest to smallest an axis is logarithmic
_NEAR = (445, 225)  # parts of the axes: points in the same part of both are at one place
_LISTED = 6

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
        f"{_counted(comparison)} of {comparison.label}, {comparison.people:,} people. Lower is "
        "better for both risk and cost.",
        tuple(sections),
        facts={
            "table": comparison.label,
            "people": comparison.people,
            "seed": comparison.seed,
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
        f"{_counted(comparison)} of {comparison.label}, {comparison.people:,} people",
        f"risk: {RISKS[comparison.risk].words}; cost: {cost}; lower is better for both",
        tuple(sections),
    )


def _counted(comparison: Comparison) -> str:
    """How many of the points are releases, in words."""
    released = sum(outcome.figures is not None for outcome in comparison.outcomes)
    points = len(comparison.outcomes)
    number = f"{released:,}" if released == points else f"{released:,} of {points:,} possible"
    return f"{number} release{'s' if points != 1 else ''}"


def _point(outcome: Outcome) -> dict[str, object]:
    """An outcome for programs."""
    found = outcome.figures
    names = ("verdict", "groups", "people", "suppressed", "suppressed_share", "risks", "costs")
    return {
        "settings": outcome.settings,
        "anonymizer": outcome.anonymizer,
        "status": outcome.status,
        "reason": outcome.reason,
        "pareto": outcome.pareto,
        **{name: None if found is None else getattr(found, name) for name in names},
    }


# -- the table -------------------------------------------------------------------------------------


def _figures(comparison: Comparison) -> Sheet:
    """One row an outcome; why some have no release stands below."""
    measured = [one.figures.costs for one in comparison.outcomes if one.figures is not None]
    costs = tuple(measured[0]) if measured else (comparison.cost,)
    rows = []
    for outcome in comparison.outcomes:
        settings = [_setting(outcome.settings.get(name, "–")) for name in comparison.sweep]
        found = outcome.figures
        if found is None:
            blank = (None,) * (5 + len(costs))
            rows.append((*settings, *blank, _NOT_RELEASED[outcome.status]))
            continue
        risks = [found.risks[name] for name in _RISKS]
        told = (found.groups, found.suppressed_share, *risks, *found.costs.values())
        rows.append((*settings, *told, _VERDICTS[found.verdict]))
    front = tuple(at for at, outcome in enumerate(comparison.outcomes) if outcome.pareto)
    return Sheet(
        (*comparison.sweep, "groups", *_SHARES, *costs, "policy"),
        tuple(rows),
        notes=tuple(f"{who}: {why}" for why, who in _reasons(comparison.outcomes).items()),
        percent=_SHARES,
        keys=len(comparison.sweep),
        starred=front,
        star=_FRONT if front else "",
    )


def _setting(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _reasons(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Why points have no release, and which points: one reason may be that of many."""
    found: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.figures is None:
            why = f"{_NOT_RELEASED[outcome.status]}: {outcome.reason}"
            found.setdefault(why, []).append(outcome.label)
    return {why: _some(labels, 4) for why, labels in found.items()}


def _some(labels: Sequence[str], most: int) -> str:
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
    """Every release by risk and cost, a shape per anonymizer, the Pareto front as a staircase."""
    risk, title = RISKS[comparison.risk].words, "Risk and cost"
    placed = _placed(comparison)
    if not placed:
        without = f"No release has both a {risk} and a cost by {comparison.cost}"
        return Section(title, f"{without}, so there is nothing to draw.")
    there = [outcome for outcome, _ in placed]
    off = [one.label for one in comparison.outcomes if one.figures and one not in there]
    alt = (
        "Filled marks lie on the Pareto front: everything to the right of the staircase and above "
        "it is worse than something on it. A mark without a label is named when pointed at; all "
        "figures are in the table."
    )
    if off:
        alt += f" Not on the map, for want of a {risk} or a cost by {comparison.cost}: "
        alt += f"{_some(off, _LISTED)}."
    logs = [_is_wide([where[axis] for _, where in placed]) for axis in (0, 1)]
    labels = _labels(comparison, placed, logs)
    names = dict.fromkeys(outcome.anonymizer for outcome in there)
    front = sorted({where for outcome, where in placed if outcome.pareto})
    chart = Chart(
        f"What each release of {comparison.label} costs and risks",
        "map",
        f"{risk} ({RISKS[comparison.risk].unit})",
        f"cost: {comparison.cost} (lower is more useful)",
        tuple(_series(name, placed, labels) for name in names),
        log_x=logs[0],
        log_y=logs[1],
        alt=alt,
        percent="x",
        behind=(Series("Pareto front", [x for x, _ in front], [y for _, y in front]),),
    )
    return Section(title, "", (), (chart,))


def _placed(comparison: Comparison) -> list[Placed]:
    """The outcomes that have a place on the map; infinity has none."""
    found = [(one, position(one, comparison.risk, comparison.cost)) for one in comparison.outcomes]
    return [
        (outcome, where)
        for outcome, where in found
        if where is not None and all(math.isfinite(value) for value in where)
    ]


def _is_wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > _WIDE


def _series(name: str, placed: Sequence[Placed], labels: Sequence[str]) -> Series:
    mine = [at for at, (outcome, _) in enumerate(placed) if outcome.anonymizer == name]
    return Series(
        name,
        [placed[at][1][0] for at in mine],
        [placed[at][1][1] for at in mine],
        text=[_named(placed[at][0]) for at in mine],
        labels=[labels[at] for at in mine],
        strong=[placed[at][0].pareto for at in mine],
    )


def _named(outcome: Outcome) -> str:
    """What a mark says when it is pointed at."""
    found = outcome.figures
    assert found is not None
    lines = [outcome.label, outcome.anonymizer]
    lines += ["on the Pareto front"] if outcome.pareto else []
    lines += [f"{kind.words}: {percentage(found.risks[name])}" for name, kind in RISKS.items()]
    lines += [f"{name}: {shown(value)}" for name, value in found.costs.items()]
    lines.append(f"{found.groups:,} groups, {percentage(found.suppressed_share)} suppressed")
    return "\n".join(lines)


def _labels(comparison: Comparison, placed: Sequence[Placed], logs: Sequence[bool]) -> list[str]:
    """What is written beside each mark; points at one place share the label of the first."""
    varied = [name for name, values in comparison.sweep.items() if len(values) > 1]
    together: dict[tuple[int, ...], list[int]] = {}
    parts = [
        _parts([where[axis] for _, where in placed], log=logs[axis], parts=_NEAR[axis])
        for axis in (0, 1)
    ]
    for at, part in enumerate(zip(*parts, strict=True)):
        together.setdefault(part, []).append(at)
    labels = [""] * len(placed)
    for members in together.values():
        labels[members[0]] = shared_label([placed[at][0] for at in members], varied)
    return labels


def _parts(values: Sequence[float], *, log: bool, parts: int) -> list[int]:
    """In which part of an axis each value lies."""
    spread = [math.log10(value) for value in values] if log else values
    least, most = min(spread), max(spread)
    return [round((value - least) / ((most - least) or 1.0) * parts) for value in spread]


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
    told = []
    for name, value in settings.items():
        if name in varied and name != "anonymizer":
            tail = name.rpartition(".")[2]  # t will do for t-closeness.t where it is the only t
            told.append(f"{tail if tails.count(tail) == 1 else name}={value}")
    if len(kinds) > 1 or not told:
        told.insert(0, str(settings.get("anonymizer", kinds[0])))
    return ", ".join(told)
