"""Knowledge skylines as tables and charts, and as a document with their worst groundings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sfumato.adversaries.base import chance
from sfumato.adversaries.skyline.acquaintance import exposed_people
from sfumato.adversaries.skyline.breach import CASE_WORDS, case_of, groups_of, unfit_for_facts
from sfumato.adversaries.skyline.breach import NAME as ACQUAINTANCE
from sfumato.adversaries.skyline.grounding import GroundedPeople, Grounding
from sfumato.adversaries.skyline.knowledge import KnowledgeSkyline, knowledge_skyline
from sfumato.errors import list_some
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.report.document import OF_TABLE, Chart, Document, Gist, Section, Series, Sheet
from sfumato.report.report import Report, shows_all

KINDS = ("facts about the target", "other people", "family members")  # the paper's l, k, m
_LISTED = 40  # points of a table; all are in the JSON
_MOST_LOOKS = 1 << 25  # at stored counts, to tell how many people one fact more exposes
_LONG = 1_000  # looks at a list
_DRAWN = 6  # values of one chart
_TITLE = "Somebody who knows some facts"
CONFIDENCE = 0.9  # where a policy names none
_COMMAND = "sfumato skyline RELEASE --policy POLICY --value VALUE"
_MORE = f"To have the rest: {_COMMAND}."
_VALUES = 40  # of each attribute, the most frequent
_CHECKS = 5_000  # points judged in all: a second or two
_MOST = 50  # how far each kind of knowledge is followed; `sfumato skyline` goes on
_MOST_COUNTS = 500_000  # stored counts; beyond, walks along skylines take too long
_EXACTLY = "is safe; any more, and she may be that sure."
_BOUNDED = (
    "is safe; more may be, where what she believes is known as at most so much only: finding the "
    "facts that tell her most took too long."
)
_ABOUT = (
    "How much may somebody know before she is so sure of a value? Facts about her target (l); "
    "other people, none of them of the family, whose value she knows (k); family members who would "
    f"share theirs with the target (m). Knowing no more than a row of the table {_EXACTLY}"
)
_SEVERAL = (
    "How much may somebody know before she is so sure of a value? Facts about her target: other "
    "values that come with it if her target has them (l); other people without it, none of them of "
    "the family (k); family members who would share it with the target (m). Knowing no more than a "
    f"row of the table {_EXACTLY}"
)
_OF_ROWS = (
    "Rows are published one by one, and she knows whose they are: asked is whether the value "
    "stands in any of the known rows of her target or, of one row, whether it is its value, and "
    "the worse counts. In each group the other people are those with the most rows there, whoever "
    "they are elsewhere, so she is at most as sure as is told."
)
_TAKES_OWNERS = "takes knowing whose rows they are"  # why a document is private


def skyline_sheet(skyline: KnowledgeSkyline, release: Release | None = None) -> Sheet:
    """The maximal safe points, a row each; of a release, how many people one fact more exposes."""
    points = skyline.points[:_LISTED]
    rows = [tuple(_cell(skyline, axis, n) for axis, n in enumerate(point)) for point in points]
    columns: tuple[str, ...] = KINDS
    notes = [skyline.sentence]
    if len(skyline.points) > _LISTED:
        notes.append(f"{len(skyline.points) - _LISTED:,} more points are in the JSON")
    if release is None or not rows:
        return Sheet(columns, tuple(rows), notes=tuple(notes))
    groups = groups_of(release, skyline.attribute)
    next_points = [
        (l + more[0], k + more[1], m + more[2])
        for l, k, m in points  # noqa: E741  # the paper's name
        for more in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    ]
    looks = int(groups.published_rows.sum()) if skyline.case == "rows" else len(groups.data)
    if looks * len(next_points) * (_LONG if groups.linked else 1) <= _MOST_LOOKS:
        exposed = _exposed_at(release, skyline, next_points)
        exposed_people = [
            people.number if not people.at_most else str(people) for people in exposed
        ]
        rows = [(*row, *exposed_people[3 * at : 3 * at + 3]) for at, row in enumerate(rows)]
        columns += ("one fact more exposes", "one person more exposes", "one relative more exposes")
        notes.append("exposes: of so many people she could be that sure, knowing one more of these")
    return Sheet(columns, tuple(rows), notes=tuple(notes), keys=3)


def skyline_charts(skylines: Sequence[KnowledgeSkyline]) -> tuple[Chart, ...]:
    """One plane of it, and all of it in space; nothing where no point is safe, or all are."""
    if not any(skyline.points for skyline in skylines):
        return ()
    return skyline_plane(skylines), skyline_chart(skylines)


def _tightest(skylines: Sequence[KnowledgeSkyline]) -> list[KnowledgeSkyline]:
    """The values that allow the least knowledge."""
    return sorted((skyline for skyline in skylines if skyline.points), key=_room)[:_DRAWN]


def skyline_plane(skylines: Sequence[KnowledgeSkyline], title: str = "") -> Chart:
    """How far two kinds of knowledge may go together without the third: a staircase each.

    Of the three planes the one with most steps is drawn. Values with the same line share it.
    """
    named = _names(skylines)
    drawn = _tightest([skyline for skyline in skylines if _room(skyline)] or skylines)
    across, up, without = max(
        ((0, 1, 2), (1, 2, 0), (0, 2, 1)),
        key=lambda plane: sum(len(_staircase(skyline, *plane[:2])) for skyline in drawn),
    )
    by_staircase: dict[tuple[tuple[int, int], ...], list[KnowledgeSkyline]] = {}
    for skyline in drawn:
        by_staircase.setdefault(tuple(_staircase(skyline, across, up)), []).append(skyline)
    series, words = [], []
    for corners, members in by_staircase.items():
        name, of_them = ", ".join(named(skyline) for skyline in members), members[0]
        line = [(corners[0][0], 0), *corners, (0, corners[-1][1])]  # from one axis to the other
        hover = [
            f"{name}: {_cell(of_them, across, x)} {KINDS[across]}, {_cell(of_them, up, y)} "
            f"{KINDS[up]}"
            for x, y in line
        ]
        series.append(Series(name, [x for x, _ in line], [y for _, y in line], text=hover))
        reach = _cell(of_them, across, corners[0][0]), _cell(of_them, up, corners[-1][1])
        words.append(f"{name}: up to {reach[0]} {KINDS[across]} or {reach[1]} {KINDS[up]}")
    return Chart(
        title or "What may be known together",
        "steps",
        f"{KINDS[across]} she knows (number)",
        f"{KINDS[up]} she knows (number)",
        tuple(series),
        name="skyline",
        alt=f"Knowing no {KINDS[without]}: up to the line of a value she is not yet that sure of "
        "it, beyond it she may be; the farther out a line, the better. "
        f"{'; '.join(words)}.{_told_at_once(skylines, drawn)}",
    )


def _names(skylines: Sequence[KnowledgeSkyline]) -> Callable[[KnowledgeSkyline], str]:
    """What a value is called: by its column too where there are several."""
    several = len({skyline.attribute for skyline in skylines}) > 1
    return lambda skyline: f"{skyline.attribute} {skyline.value}" if several else skyline.value


def _told_at_once(skylines: Sequence[KnowledgeSkyline], drawn: Sequence[KnowledgeSkyline]) -> str:
    """Values without a line: the first thing that she learns may be enough."""
    named = _names(skylines)
    left = [skyline for skyline in skylines if skyline.points and skyline not in drawn]
    none = [named(skyline) for skyline in left if not _room(skyline)]
    return f" Not drawn, for any fact may be enough: {list_some(none, 5)}." if none else ""


def _staircase(skyline: KnowledgeSkyline, across: int, up: int) -> list[tuple[int, int]]:
    """Corners of what is safe in a plane, the most of the first kind first."""
    corners: list[tuple[int, int]] = []
    for point in sorted(skyline.points, key=lambda point: (-point[across], -point[up])):
        if not corners or point[up] > corners[-1][1]:
            corners.append((point[across], point[up]))
    return corners


def skyline_chart(skylines: Sequence[KnowledgeSkyline], title: str = "") -> Chart:
    """Points in space; of many values those that allow the least knowledge."""
    drawn, named = _tightest(skylines), _names(skylines)
    return Chart(
        title or "What may be known, of all three kinds",
        "cloud",
        KINDS[0],
        KINDS[1],
        tuple(
            Series(
                named(skyline),
                [point[0] for point in skyline.points],
                [point[1] for point in skyline.points],
                z=[point[2] for point in skyline.points],
                text=[
                    f"{named(skyline)}: {_point_words(skyline, point)}" for point in skyline.points
                ],
            )
            for skyline in drawn
        ),
        z=KINDS[2],
        name="skyline-in-space",
        alt="; ".join(
            f"{named(skyline)}: {len(skyline.points):,} point{'s' * (len(skyline.points) > 1)}, "
            f"at most {_point_words(skyline, _largest(skyline))}"
            for skyline in drawn
        )
        or "No point is safe, or all are.",
    )


def summary_sheet(skylines: Sequence[KnowledgeSkyline]) -> Sheet:
    """A row for each value: how far each kind of knowledge may go alone."""
    rows = []
    for skyline in skylines:
        alone: list[object] = ["any"] * 3 if skyline.bounds is None else [None] * 3
        if skyline.points:
            alone = [_cell(skyline, axis, number) for axis, number in enumerate(_largest(skyline))]
        rows.append(
            (
                skyline.attribute or "",
                skyline.value,
                _STATUS[skyline.status],
                *alone,
                len(skyline.points),
            )
        )
    columns = ("column", "value", "she may know", *KINDS, "combinations")
    return Sheet(
        columns,
        tuple(rows),
        title="How much she may know of one kind alone, and not be that sure of the value",
        keys=2,
    )


_STATUS = {
    "all_safe": "anything: nobody has it",
    "none_safe": "nothing: it is told",
    "some_safe": "up to",
}


def skyline_document(
    release: Release, skylines: Sequence[KnowledgeSkyline], groundings: Sequence[Grounding] = ()
) -> Document:
    """All of it: a summary of several values, or one value's points; then the groundings."""
    confidence = skylines[0].confidence
    sections = []
    if len(skylines) > 1:
        tables = (summary_sheet(skylines),)
        sections.append(Section("Summary", tables=tables, charts=skyline_charts(skylines)))
    else:
        (only,) = skylines
        figures = skyline_charts(skylines)
        sheet = skyline_sheet(only, release)
        sections.append(Section(f"Skyline of {only.value}", "", (sheet,), figures))
    exposed = _exposed(release, skylines[0], groundings)
    sections += [
        _grounding(release, grounding, people, confidence)
        for grounding, people in zip(groundings, exposed, strict=True)
    ]
    several = any(skyline.case != "single" for skyline in skylines)
    about = _SEVERAL if several else _ABOUT
    by_rows = any(skyline.case == "rows" for skyline in skylines)
    if by_rows:
        about = f"{about.replace(_EXACTLY, 'is safe; more may be.')} {_OF_ROWS}"
    elif any(of_value.at_most for of_value in skylines):
        about = about.replace(_EXACTLY, _BOUNDED)
    as_if = _as_if(release, skylines)
    about = " ".join([about, *as_if])
    return Document(
        "skyline",
        f"Knowledge skyline of {release.label} at {100 * confidence:g}% confidence",
        about,
        tuple(sections),
        facts={
            "release": release.label,
            "confidence": confidence,
            "as_if": list(as_if),
            "skylines": [of_value.to_dict() for of_value in skylines],
            "groundings": [
                grounding.to_dict() | {"exposed": people.number, "exposed_at_most": people.at_most}
                for grounding, people in zip(groundings, exposed, strict=True)
            ],
        },
        private=OF_TABLE if shows_all(release) else _TAKES_OWNERS if by_rows else "",
        gist=_gist(skylines, groundings, as_if),
    )


def _gist(
    skylines: Sequence[KnowledgeSkyline], groundings: Sequence[Grounding], as_if: Sequence[str]
) -> Gist:
    """The points that allow least, or the values that do; how sure a worst case is."""
    sure = [
        f"who knows {grounding.point} is {'at most ' * grounding.at_most}"
        f"{chance(float(grounding.confidence))} sure"
        for grounding in groundings
    ]
    closing = {"Mind": " ".join(as_if), "Worst case": "; ".join(sure)}
    if len(skylines) > 1:
        given = [skyline.value for skyline in skylines if skyline.status == "none_safe"]
        closing["Given away"] = list_some(given, 5) if given else "no value, by the release alone"
        order = sorted(
            skylines,
            key=lambda skyline: (skyline.status != "none_safe", not skyline.points, _room(skyline)),
        )
        sheet = summary_sheet(order)
        return Gist(closing, sheet.taking(*sheet.columns[1:], sheet.columns[0]), "")
    (only,) = skylines
    points = sorted(only.points, key=sum)
    rows = tuple(tuple(_cell(only, axis, n) for axis, n in enumerate(point)) for point in points)
    return Gist(closing | {"Safe": only.sentence}, Sheet(KINDS, rows), "")


def _as_if(release: Release, skylines: Sequence[KnowledgeSkyline]) -> tuple[str, ...]:
    """What is judged as if it were published in another form than it is."""
    own = {
        (skyline.attribute, skyline.case): case_of(release.groups_for(str(skyline.attribute)))
        for skyline in skylines
        if skyline.case != "rows"
    }
    return tuple(
        f"{column} is judged as if the release published {CASE_WORDS[case]}; it publishes "
        f"{CASE_WORDS[published]}."
        for (column, case), published in own.items()
        if case != published
    )


def _exposed(
    release: Release, judged: KnowledgeSkyline, groundings: Sequence[Grounding]
) -> list[Headcount]:
    """Of how many people somebody can become so sure, at the point of each worst case."""
    return _exposed_at(release, judged, [grounding.point for grounding in groundings])


def _exposed_at(
    release: Release, judged: KnowledgeSkyline, points: Sequence[tuple[int, int, int]]
) -> list[Headcount]:
    if not points:
        return []
    form = None if judged.case == "rows" else judged.case
    asked = (judged.value, points, judged.confidence, form)
    return exposed_people(release, *asked, sensitive=judged.attribute)


def _grounding(
    release: Release, grounding: Grounding, exposed: Headcount, confidence: float
) -> Section:
    rows = []
    for part, group in (
        ("target", grounding.target),
        ("people known", grounding.known),
        ("family", grounding.family),
    ):
        if group is not None:
            people = int(release.groups.sizes[group])
            rows.append((part, release.regions.name(group), people))
    sheets = (Sheet(("part", "group", "people there"), tuple(rows)),) if rows else ()
    words = (
        f"{grounding.sentence} By that much, of {exposed} of {release.people:,} people somebody "
        f"can be {100 * confidence:g}% sure."
    )
    return Section(f"Worst case of {grounding.value} knowing {grounding.point}", words, sheets)


def people_section(groundings: Sequence[tuple[Grounding, Sequence[GroundedPeople]]]) -> Section:
    """Private: records of the table who would play the parts of worst cases."""
    sheets = tuple(
        Sheet(
            ("part", "people", "records", "group"),
            tuple(
                (
                    person.part if person.sure else f"{person.part}, perhaps",
                    person.people,
                    _records(person),
                    person.group,
                )
                for person in people
            ),
            title=f"{grounding.value} knowing {grounding.point}",
        )
        for grounding, people in groundings
    )
    unsure = any(not person.sure for _, people in groundings for person in people)
    words = "Rows of the table who would play the parts, 1 being the first." + unsure * (
        " Perhaps: they fit the group, and may be in another one that they fit as well."
    )
    return Section("Who they would be (private)", words, sheets, private=True)


def _records(people: GroundedPeople) -> str:
    return list_some(people.records, 8) if people.records else "not numbered"


def _largest(skyline: KnowledgeSkyline) -> tuple[int, ...]:
    return tuple(max(point[axis] for point in skyline.points) for axis in range(3))


def _room(skyline: KnowledgeSkyline) -> int:
    return sum(_largest(skyline)) if skyline.points else 0


def _cell(skyline: KnowledgeSkyline, axis: int, number: int) -> object:
    name = "lkm"[axis]
    if skyline.bounds is not None and name in skyline.unbounded and number == skyline.bounds[axis]:
        return "any"
    return f"{number:,} or more" if name in skyline.cut and number == skyline.most else number


def _point_words(skyline: KnowledgeSkyline, point: Sequence[int]) -> str:
    return ", ".join(
        f"{_cell(skyline, axis, number)} {KINDS[axis]}" for axis, number in enumerate(point)
    )


def skyline_section(report: Report) -> Section | None:
    """A row for each value, and the points of those that allow least, in space."""
    evidence = report.evidence
    if evidence is None or evidence.release.regions.noisy:
        return None
    asked = [criterion.limit for criterion in evidence.criteria if criterion.bounds(ACQUAINTANCE)]
    confidence = min((float(bound) for bound in asked if bound is not None), default=CONFIDENCE)
    judged = [
        groups
        for groups in evidence.release.by_attribute.values()
        if len(groups) and groups.width and not unfit_for_facts(groups)
    ]
    if not judged and any(
        groups.beside.unlinked is not None for groups in evidence.release.by_attribute.values()
    ):
        words = (
            "Not measured on this page: rows are published one by one, and how much somebody may "
            f"know takes knowing whose they are. The owner is told by {_COMMAND}."
        )
        return Section(_TITLE, words)
    small = [groups for groups in judged if len(groups.data) <= _MOST_COUNTS]
    if not small:
        words = f"Not measured: more than {_MOST_COUNTS:,} counts. {_MORE}"
        return Section(_TITLE, words) if judged else None
    skylines, left = [], 0
    for groups in small:
        followed = _followed(groups, confidence, _CHECKS // len(small))
        skylines += followed
        left += groups.width - len(followed)
    words = (
        f"How much may somebody know before she is {chance(confidence)} sure of a value? Facts "
        f"about the target are {_facts(skylines)}; other people are those, none of the family, "
        "whose value she knows; family members would share theirs with the target. "
        "The table says how far each may go alone, the chart how far two may go together."
    )
    if any(skyline.cut for skyline in skylines):
        words += f" Each was followed up to {_MOST} only."
    if left:
        words += f" {left:,} rarer values are not shown."
    fine = [groups.attribute for groups in judged if _is_fine(groups)]
    if fine:
        words += (
            f" {', '.join(map(str, fine))}: nearly a value each; judged in ranges ([schema.levels] "
            "of the policy) it would tell more."
        )
    if left or len(small) < len(judged) or any(skyline.cut for skyline in skylines):
        words += f" {_MORE}"
    return Section(_TITLE, words, (summary_sheet(skylines),), skyline_charts(skylines))


def _facts(skylines: Sequence[KnowledgeSkyline]) -> str:
    if any(skyline.case != "single" for skyline in skylines):
        return "values that come with it if the target has them"
    return "values that the target does not have"


def _is_fine(groups: Groups) -> bool:
    """Numbers of which nearly everybody has one of his own."""
    numeric = groups.domain is not None and groups.domain.kind == "numeric"
    return numeric and groups.width > 100 and 2 * groups.width > groups.people()


def _followed(groups: Groups, confidence: float, checks: int) -> list[KnowledgeSkyline]:
    """The skylines of the most frequent values, as many as so many checks allow; one at least."""
    skylines: list[KnowledgeSkyline] = []
    order = sorted(range(groups.width), key=lambda code: -groups.reference[code])
    for code in order[:_VALUES]:
        skylines.append(knowledge_skyline(groups, groups.values[code], confidence, most=_MOST))
        checks -= skylines[-1].checks
        if checks <= 0:
            break
    return skylines
