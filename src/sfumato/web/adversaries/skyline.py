"""Panel Skyline: how sure somebody becomes who knows facts, neighbours and relatives.

`sfumato skyline --point`. Three dials say how much she knows; what is safe at that many relatives
is drawn as a region, and where she stands in it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.errors import InputError, quoted
from sfumato.web.adversaries.panel import (
    Fields,
    PanelAnswer,
    answer,
    attacked,
    number,
    plain,
    shell_words,
    whole,
    word,
)
from sfumato.web.shell import shell_line

if TYPE_CHECKING:
    from sfumato.adversaries.skyline.knowledge import KnowledgeSkyline, Point
    from sfumato.report.document import Chart
    from sfumato.web.desk import Desk

MOST = 1_000  # of one kind that a dial may say
CONFIDENCE = 0.9


def ask_somebody_who_knows(desk: Desk, point: int, fields: Fields) -> PanelAnswer:
    """How sure she is at most, by whom and what; and how much more she may know."""
    from sfumato.adversaries.skyline.breach import check_confidence
    from sfumato.adversaries.skyline.grounding import worst_grounding
    from sfumato.adversaries.skyline.knowledge import skylines
    from sfumato.numbers import fraction
    from sfumato.report.sections.skyline import skyline_document

    at, colon, value = word(fields, "value").partition(":")  # the number of the column before it
    names = [name for name in desk.release(point).by_attribute if name]
    if colon and at not in map(str, range(len(names))):
        raise InputError(f"{quoted(at)} is not the number of a sensitive column")
    release, column = attacked(desk, point, names[int(at)] if colon else "")
    values = release.groups_for(column).values
    value = value if colon else _commonest(release.groups_for(column).reference, values)
    if value not in values:
        raise InputError(f"{quoted(value)} is not a value of {column} in the release")
    known = (
        whole(fields, "facts", 0, 0, MOST),
        whole(fields, "people", 0, 0, MOST),
        whole(fields, "family", 0, 0, MOST),
    )
    confidence = number(fields, "confidence", CONFIDENCE, 0.01, 1)
    check_confidence(confidence)
    asked = ("skyline", desk.project.release_folder(point), column, value, confidence)
    (skyline,) = desk.remember(asked, lambda: skylines(release, confidence, value, column))
    grounding = worst_grounding(release, value, *known, None, sensitive=column)
    document = skyline_document(release, [skyline], [grounding])
    safe, worst = document.sections[0], document.sections[-1]
    charts = (*(_region(skyline, known) or safe.charts[:1]), *safe.charts[1:])
    reached = fraction(grounding.confidence) >= fraction(confidence)
    line = [
        *(*shell_words(desk, point), "--sensitive", column, "--value", value),
        *("--confidence", plain(confidence), "--point", ",".join(map(str, known))),
    ]
    panel_answer = answer(document, shell_line("skyline", *line))
    most = "at most " if grounding.at_most else ""
    return replace(
        panel_answer,
        sections=(worst, replace(safe, charts=charts)),
        status="violated" if reached else "holds",
        headline=f"She becomes {most}{100 * float(grounding.confidence):.3g}% sure that somebody "
        f"has {value}: {'that reaches' if reached else 'that stays below'} "
        f"{100 * confidence:g}%.",
    )


def _commonest(reference: object, values: tuple[str, ...]) -> str:
    import numpy as np

    if not values:
        raise InputError("the sensitive column has no value in the release")
    return values[int(np.argmax(np.asarray(reference)))]


def _region(skyline: KnowledgeSkyline, known: Point) -> tuple[Chart, ...]:
    """What is safe together with so many relatives, as a region, and where she stands."""
    from sfumato.report.document import Chart, Series
    from sfumato.report.sections.skyline import KINDS

    facts, people, family = known
    corners: list[tuple[int, int]] = []
    for l, k, m in sorted(skyline.points, reverse=True):  # noqa: E741  # the paper's names
        if m >= family and (not corners or k > corners[-1][1]):
            corners.append((l, k))
    if not corners:  # nothing to draw: nothing is safe with so many relatives, or all is
        return ()
    line = [(corners[0][0], 0), *corners, (0, corners[-1][1])]
    inside = any(facts <= l and people <= k for l, k in corners)  # noqa: E741
    here = Series("what she knows now", [facts], [people], mark="star")
    edge = Series(f"safe up to here: {skyline.value}", [x for x, _ in line], [y for _, y in line])
    where = "inside what is safe" if inside else "outside what is safe"
    safe_corners = "; ".join(f"up to {x} and {y}" for x, y in corners)
    return (
        Chart(
            f"What may be known beside {family} {KINDS[2]}",
            "steps",
            f"{KINDS[0]} she knows (number)",
            f"{KINDS[1]} she knows (number)",
            (edge, here),
            name="safe-region",
            alt=f"She stands at {facts} {KINDS[0]} and {people} {KINDS[1]}: {where}. Safe is "
            f"{safe_corners}.",
        ),
    )
