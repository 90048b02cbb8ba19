"""The risk-utility map: releases by what they risk and what they cost, the chosen one marked.

Lower is better for both. Those on the Pareto front are filled and joined by a staircase: no other
release there is better in one without being worse in the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.report.document import Chart, Series, percentage
from sfumato.utility import is_share

_WIDE = 10  # beyond this ratio of largest to smallest an axis is logarithmic
_NEAR = (445, 225)  # parts of the axes: points in the same part of both are at one place
_READING = (
    "Filled marks lie on the Pareto front: everything to the right of the staircase and above it "
    "is worse than something on it. A mark without a label is named when pointed at."
)

Place = tuple[float, float]


@dataclass(frozen=True)
class RiskPoint:
    """A release on the map.

    `label` is written beside it where there is room, its first word ("#7") alone on a phone;
    `details` are said when it is pointed at; `kind` are those of one shape.
    """

    place: Place
    kind: str
    label: str
    details: str
    front: bool = False
    chosen: bool = False


def pareto_front(points: Sequence[Place | None]) -> list[bool]:
    """Which points no other one dominates (as good in both, better in one); None never is.

    >>> pareto_front([(1, 3), (2, 2), (2, 4), None, (2, 2)])
    [True, True, False, False, True]
    """
    front = [False] * len(points)
    order = sorted((point, place) for place, point in enumerate(points) if point is not None)
    last: Place | None = None
    for point, place in order:  # by risk, then cost: a lower cost than ever, or a twin of the last
        if last is None or point == last or point[1] < last[1]:
            front[place] = True
            last = point
    return front


def risk_map(
    points: Sequence[RiskPoint],
    title: str,
    risk: str,
    measure: str,
    alt: str,
    *,
    chosen: str,
    name: str = "map",
) -> Chart:
    """The map of some releases by a risk and the cost by a measure.

    `chosen` is what the one is called that stands out.
    """
    front = sorted({point.place for point in points if point.front})
    kinds = dict.fromkeys(point.kind for point in points if not point.chosen)
    by_kind = {kind: [p for p in points if p.kind == kind and not p.chosen] for kind in kinds}
    series = [_series(kind, members) for kind, members in by_kind.items()]
    chosen_points = [point for point in points if point.chosen]
    if chosen_points:
        series.append(_series(chosen, chosen_points, mark="star"))
        risked, costs = chosen_points[0].place
        alt = (
            f"{alt} A star marks {chosen}: risk {percentage(risked)}, {cost_text(measure, costs)}."
        )
    log_x, log_y = (_is_wide([point.place[axis] for point in points]) for axis in (0, 1))
    return Chart(
        title,
        "map",
        risk,
        f"cost: {measure} (lower is more useful)",
        tuple(series),
        log_x=log_x,
        log_y=log_y,
        alt=f"{_READING} {alt}".strip(),
        percent="xy" if is_share(measure) else "x",
        behind=(Series("Pareto front", [x for x, _ in front], [y for _, y in front]),),
        name=name,
    )


def cost_text(measure: str, cost: float) -> str:
    """A cost by its measure, a share in percent: loss 12.3%."""
    return f"{measure} {percentage(cost) if is_share(measure) else f'{cost:.3g}'}"


def at_one_place(places: Sequence[Place]) -> list[list[int]]:
    """Which points lie so near each other that they share a mark."""
    parts = [_parts([place[axis] for place in places], parts=_NEAR[axis]) for axis in (0, 1)]
    together: dict[tuple[int, ...], list[int]] = {}
    for at, part in enumerate(zip(*parts, strict=True)):
        together.setdefault(part, []).append(at)
    return list(together.values())


def _parts(values: Sequence[float], parts: int) -> list[int]:
    """In which part of an axis each value lies."""
    spread = [math.log10(value) for value in values] if _is_wide(values) else values
    least, most = min(spread), max(spread)
    return [round((value - least) / ((most - least) or 1.0) * parts) for value in spread]


def _is_wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > _WIDE


def _series(name: str, points: Sequence[RiskPoint], mark: str = "") -> Series:
    return Series(
        name,
        [point.place[0] for point in points],
        [point.place[1] for point in points],
        text=[point.details for point in points],
        labels=[point.label for point in points],
        strong=[point.front or point.chosen for point in points],
        mark=mark,
    )
