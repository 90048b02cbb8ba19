"""Knowledge skylines as tables and charts, and as an exhibit with their worst groundings."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.adversaries.skyline.grounding import Grounding
from sfumato.adversaries.skyline.knowledge import KnowledgeSkyline
from sfumato.release.release import Release
from sfumato.report.exhibit import Exhibit, Section
from sfumato.report.figure import Figure, Series
from sfumato.report.sheet import Sheet
from sfumato.report.worth import shows_all

_SHOWN = 40  # points of a table; all are in the JSON
_DRAWN = 6  # values of one chart
_EXACTLY = "is safe, any more is not."
_BOUNDED = (
    "is safe; more may be, where what she believes is known as at most so much only: finding the "
    "facts that tell her most took too long."
)
_ABOUT = (
    "How much may somebody know before she is so sure of a value? l: facts about her target; k: "
    "other people, none of them of the family, whose value she knows; m: relatives who would share "
    f"it with the target. Knowing no more than a point of the skyline {_EXACTLY}"
)
_SEVERAL = (
    "How much may somebody know before she is so sure of a value? l: other values that come with "
    "it if her target has them; k: other people without it, none of them of the family; m: "
    "relatives who would share it with the target. Knowing no more than a point of the skyline "
    f"{_EXACTLY}"
)


def skyline_sheet(found: KnowledgeSkyline) -> Sheet:
    """The maximal safe points, a row each."""
    rows = [tuple(_cell(found, axis, n) for axis, n in enumerate(p)) for p in found.points]
    notes = [found.sentence]
    if len(rows) > _SHOWN:
        notes.append(f"{len(rows) - _SHOWN:,} more points are in the JSON")
    return Sheet(("l", "k", "m"), tuple(rows[:_SHOWN]), notes=tuple(notes))


def skyline_figure(skylines: Sequence[KnowledgeSkyline], title: str = "") -> Figure:
    """Points in space; of many values those that allow the least knowledge."""
    drawn = sorted((one for one in skylines if one.points), key=_room)[:_DRAWN]
    return Figure(
        title or "What may be known",
        "cloud",
        "l: facts about the target",
        "k: other people",
        tuple(
            Series(
                one.value,
                [point[0] for point in one.points],
                [point[1] for point in one.points],
                z=[point[2] for point in one.points],
                text=[f"{one.value}: {_told(one, point)}" for point in one.points],
            )
            for one in drawn
        ),
        z="m: relatives",
        alt="; ".join(
            f"{one.value}: {len(one.points):,} point{'s' * (len(one.points) > 1)}, at most "
            f"{_told(one, _largest(one))}"
            for one in drawn
        )
        or "No point is safe, or all are.",
    )


def summary_sheet(skylines: Sequence[KnowledgeSkyline]) -> Sheet:
    """A row for each value: how far each kind of knowledge alone may go."""
    rows = []
    for one in skylines:
        alone: list[object] = ["any"] * 3 if one.bounds is None else [None] * 3
        if one.points:
            alone = [_cell(one, axis, number) for axis, number in enumerate(_largest(one))]
        rows.append((one.attribute or "", one.value, _STATUS[one.status], *alone, len(one.points)))
    columns = ("column", "value", "safe", "most l", "most k", "most m", "points")
    return Sheet(columns, tuple(rows), title="Every value")


_STATUS = {"all_safe": "always (nobody has it)", "none_safe": "no", "some_safe": "up to"}


def skyline_exhibit(
    release: Release, skylines: Sequence[KnowledgeSkyline], groundings: Sequence[Grounding] = ()
) -> Exhibit:
    """All of it: a summary of several values, or one value's points; then the groundings."""
    confidence = skylines[0].confidence
    sections = []
    if len(skylines) > 1:
        figures = (skyline_figure(skylines),) if any(one.points for one in skylines) else ()
        sections.append(Section("Summary", sheets=(summary_sheet(skylines),), figures=figures))
    else:
        (one,) = skylines
        figures = (skyline_figure(skylines),) if one.points else ()
        sections.append(Section(f"Skyline of {one.value}", "", (skyline_sheet(one),), figures))
    sections += [_grounding(release, found) for found in groundings]
    several = any(one.case != "single" for one in skylines)
    about = _SEVERAL if several else _ABOUT
    if any(one.at_most for one in skylines):
        about = about.replace(_EXACTLY, _BOUNDED)
    return Exhibit(
        "skyline",
        f"Knowledge skyline of {release.label} at {100 * confidence:g}% confidence",
        about,
        tuple(sections),
        facts={
            "release": release.label,
            "confidence": confidence,
            "skylines": [one.to_dict() for one in skylines],
            "groundings": [one.to_dict() for one in groundings],
        },
        of_table=shows_all(release),
    )


def _grounding(release: Release, found: Grounding) -> Section:
    rows = []
    for part, group in (
        ("target", found.target),
        ("people known", found.known),
        ("family", found.family),
    ):
        if group is not None:
            described = release.regions.describe(group)
            text = ", ".join(f"{column} {label}" for column, label in described.items())
            rows.append((part, group, int(release.groups.sizes[group]), text))
    sheets = (Sheet(("part", "group", "people", "described as"), tuple(rows)),) if rows else ()
    return Section(f"Worst case of {found.value} knowing {found.point}", found.sentence, sheets)


def _largest(found: KnowledgeSkyline) -> tuple[int, ...]:
    return tuple(max(point[axis] for point in found.points) for axis in range(3))


def _room(found: KnowledgeSkyline) -> int:
    return sum(_largest(found))


def _cell(found: KnowledgeSkyline, axis: int, number: int) -> object:
    name = "lkm"[axis]
    if found.bounds is not None and name in found.unbounded and number == found.bounds[axis]:
        return "any"
    return f"{number:,} or more" if name in found.cut and number == found.most else number


def _told(found: KnowledgeSkyline, point: Sequence[int]) -> str:
    return ", ".join(
        f"{name} {_cell(found, axis, number)}"
        for axis, (name, number) in enumerate(zip("lkm", point, strict=True))
    )
