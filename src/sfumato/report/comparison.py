"""Comparison: what each of several policies would cost and leave to be found, as plain data.

It is for the owner of the data: it describes releases that were made to be compared, not published.

How it reads, as a document with its map, is the second half.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from sfumato.errors import InputError, list_some
from sfumato.files import write_text
from sfumato.policy.model import Policy
from sfumato.progress import phase
from sfumato.report.document import (
    Document,
    Documented,
    Gist,
    PolicyStatus,
    Section,
    Sheet,
    cell_text,
    percentage,
)
from sfumato.report.risk_map import RiskPoint, at_one_place, risk_map
from sfumato.utility import is_share

Value = int | float | bool | str
Status = Literal["released", "no_safe_release", "not_possible"]


@dataclass(frozen=True)
class RiskAxis:
    """A figure that may be the risk axis: its name in a sentence, its unit, what it means."""

    words: str
    unit: str
    about: str


RISKS: dict[str, RiskAxis] = {
    "mean": RiskAxis(
        "mean prosecutor risk",
        "chance of being found",
        "how likely a person's row is found by somebody who knows that she is in the release; "
        "mean over published people",
    ),
    "highest": RiskAxis(
        "highest prosecutor risk",
        "chance of being found",
        "how likely the least protected person's row is found by somebody who knows that she is "
        "in the release",
    ),
    "belief": RiskAxis(
        "strongest belief",
        "share of one value in a group",
        "the highest share of one sensitive value in a group: how surely it is read off without "
        "finding the row",
    ),
}


@dataclass(frozen=True)
class Figures:
    """What was measured of one release.

    `risks` by the names of RISKS, None where there is nothing to measure; `costs` by utility
    measure, NaN where it does not apply; `verdict` is the audit's.
    """

    groups: int
    people: int
    suppressed: int
    risks: Mapping[str, float | None]
    costs: Mapping[str, float]
    verdict: PolicyStatus

    @property
    def suppressed_share(self) -> float:
        everybody = self.people + self.suppressed
        return self.suppressed / everybody if everybody else 0.0


@dataclass(frozen=True)
class Outcome:
    """One point of the sweep: its settings, its policy, and what came of it.

    `number` is its name: 1, 2, ... in the order of the sweep. Without a release `figures` is None
    and `reason` says why. `pareto`: no other release compared has a lower risk without a higher
    cost, or a lower cost without a higher risk. `as_given`: it is the policy as it stands.
    """

    settings: Mapping[str, Value]
    anonymizer: str
    policy: Policy = field(repr=False)
    figures: Figures | None
    status: Status = "released"
    reason: str = ""
    pareto: bool = False
    number: int = 0
    as_given: bool = False

    @property
    def label(self) -> str:
        """The settings in one line; an anonymizer needs no further word."""
        return ", ".join(
            str(value) if name == "anonymizer" else f"{name}={value}"
            for name, value in self.settings.items()
        )


@dataclass(frozen=True)
class Fingerprints:
    """By which table and policy points were made: whoever publishes one must have the same."""

    table: str
    policy: str


@dataclass(frozen=True, repr=False)
class Comparison(Documented):
    """Releases of one table by several policies, on a map of risk and cost.

    `risk` and `cost` name the axes; lower is better for both.
    """

    label: str
    people: int
    sweep: Mapping[str, tuple[Value, ...]]
    outcomes: tuple[Outcome, ...]
    risk: str
    cost: str
    about: Mapping[str, str]
    notes: tuple[str, ...] = ()
    seed: int = 0
    made_of: Fingerprints | None = None

    @property
    def pareto(self) -> tuple[Outcome, ...]:
        """The releases worth choosing from."""
        return tuple(outcome for outcome in self.outcomes if outcome.pareto)

    def document(self) -> Document:
        """The map, the figures and what they mean, for the page and for JSON."""
        return document(self)

    def brief(self) -> Document:
        """The figures alone, for a terminal."""
        return brief(self)

    @phase("writing")
    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write a page (.html) or the figures (.json), whole or not at all."""
        target = Path(path)
        check_kind(target)
        page = target.suffix != ".json"
        text = self.to_html() if page else self.to_json() + "\n"
        write_text(target, text, force=force, what="map" if page else "comparison")

    def _in_short(self) -> tuple[str, ...]:
        best = list_some((outcome.label for outcome in self.pareto), 3) or "none"
        return (
            f"Comparison: {_counted(self)} of {self.label}, {self.people:,} people",
            f"sweep: {', '.join(self.sweep)}; risk: {self.risk}; cost: {self.cost}",
            f"worth choosing from: {best}",
        )


def check_kind(target: Path, endings: Sequence[str] = (".html", ".htm", ".json")) -> None:
    """Refuse a name whose ending does not say what to write."""
    if target.suffix not in endings:
        raise InputError(
            f"cannot write a comparison as {target.name!r}; use a name ending in "
            f"{' or '.join(ending for ending in endings if ending != '.htm')}"
        )


def position(outcome: Outcome, risk: str, cost: str) -> tuple[float, float] | None:
    """Where an outcome lies on the map; None if it is not on it."""
    if outcome.figures is None or outcome.figures.verdict != "holds":
        return None
    point = outcome.figures.risks[risk], outcome.figures.costs[cost]
    if point[0] is None or math.isnan(point[0]) or math.isnan(point[1]):
        return None
    return point[0], point[1]


# A comparison as a document: the map of risk and cost, the figures, what they mean.

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
        f"{_counted(comparison)} of {comparison.label}, {comparison.people:,} people. Lower is "
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
        f"{_counted(comparison)} of {comparison.label}, {comparison.people:,} people",
        f"risk: {RISKS[comparison.risk].words}; cost: {cost}; lower is better for both",
        tuple(sections),
        gist=_gist(comparison),
    )


def _gist(comparison: Comparison) -> Gist:
    """The releases worth choosing from, then the others; what lies at the two ends."""
    order = sorted(comparison.outcomes, key=lambda one: (not one.pareto, one.figures is None))
    sheet = _figures(replace(comparison, outcomes=tuple(order)))
    axes = comparison.risk, comparison.cost
    front = sorted(comparison.pareto, key=lambda one: position(one, *axes) or (math.inf, math.inf))
    ends = (
        [f"point {outcome.number} ({outcome.label})" for outcome in (front[0], front[-1])]
        if front
        else []
    )
    first = ("point", *comparison.sweep, _RISKS[comparison.risk], comparison.cost, "policy")
    told = {
        "*": sheet.star,
        "No release": "; ".join(sheet.notes),
        "Mind": "; ".join(comparison.notes),
        "Choose": f"least risk: {ends[0]}; least cost: {ends[1]}" if ends else "nothing holds",
    }
    return Gist(told, sheet.taking(*dict.fromkeys((*first, *sheet.columns))))


def _counted(comparison: Comparison) -> str:
    """How many of the points are releases, in words."""
    released = sum(outcome.figures is not None for outcome in comparison.outcomes)
    points = len(comparison.outcomes)
    number = f"{released:,}" if released == points else f"{released:,} of {points:,} possible"
    return f"{number} release{'s' if points != 1 else ''}"


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
        notes=tuple(f"{who}: {why}" for why, who in _reasons(comparison.outcomes).items()),
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
    return {why: _some(labels, 4) for why, labels in reasons.items()}


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
    """Every release by risk and cost, a shape per anonymizer."""
    risk, title = RISKS[comparison.risk].words, "Risk and cost"
    placed = _placed(comparison)
    if not placed:
        without = f"No release has both a {risk} and a cost by {comparison.cost}"
        return Section(title, f"{without}, so there is nothing to draw.")
    there = [outcome for outcome, _ in placed]
    off = [
        outcome.label for outcome in comparison.outcomes if outcome.figures and outcome not in there
    ]
    alt = (
        "#7 is the point with that number in the table below, which has all figures; anonymize "
        "--like MAP.json#7 publishes it."
    )
    if off:
        alt += f" Not on the map, for want of a {risk} or a cost by {comparison.cost}: "
        alt += f"{_some(off, _LISTED)}."
    labels = _labels(comparison, placed)
    points = [
        RiskPoint(
            where, outcome.anonymizer, label, _named(outcome), outcome.pareto, outcome.as_given
        )
        for (outcome, where), label in zip(placed, labels, strict=True)
    ]
    chart = risk_map(
        points,
        f"What each release of {comparison.label} costs and risks",
        f"{risk} ({RISKS[comparison.risk].unit})",
        comparison.cost,
        alt,
        chosen=_AS_GIVEN,
    )
    return Section(title, "", (), (chart,))


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


def _named(outcome: Outcome) -> str:
    """What a mark says when it is pointed at."""
    figures = outcome.figures
    assert figures is not None
    lines = [f"point {outcome.number}: {outcome.label}", outcome.anonymizer]
    lines += [_AS_GIVEN] if outcome.as_given else []
    lines += ["on the Pareto front"] if outcome.pareto else []
    lines += [f"{kind.words}: {percentage(figures.risks[name])}" for name, kind in RISKS.items()]
    lines += [
        f"{name}: {percentage(cost) if is_share(name) else cell_text(cost)}"
        for name, cost in figures.costs.items()
    ]
    lines.append(f"{figures.groups:,} groups, {percentage(figures.suppressed_share)} suppressed")
    return "\n".join(lines)


def _labels(comparison: Comparison, placed: Sequence[Placed]) -> list[str]:
    """The number and settings of each mark; points at one place share the label of the first.

    The policy as it was given has its own.
    """
    varied = [name for name, values in comparison.sweep.items() if len(values) > 1]
    labels = [""] * len(placed)
    for near in at_one_place([where for _, where in placed]):
        for as_given in (True, False):
            members = [at for at in near if placed[at][0].as_given is as_given]
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
