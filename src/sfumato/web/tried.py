"""What the step Release does and shows: a release is made, every one that was made is on the map.

Tasks of a worker. A release is made by the same road as `sfumato anonymize` (`workflow/publish`);
what is known of a run only while it lasts (which choices were tried, columns before and after) is
kept beside it as sections of its report.

Stands apart: a worker has loaded the library for it, the server has not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from sfumato.policy.model import Policy
from sfumato.report.comparison import RISKS, Figures
from sfumato.report.document import Section, as_json, percentage
from sfumato.report.report import Report
from sfumato.report.risk_map import (
    Place,
    RiskPoint,
    at_one_place,
    cost_text,
    pareto_front,
    risk_map,
)
from sfumato.report.sections.columns import treatments_section
from sfumato.report.sections.criteria import criteria_section, worst_groups_section
from sfumato.report.sections.decision import headline
from sfumato.report.sections.search import choice_words, contest_section, lattice_section
from sfumato.web.kept_sections import kept, section_of
from sfumato.web.release_view import PointView, TriedRow, TriedView
from sfumato.workflow.audit import audit
from sfumato.workflow.compare import choose_utilities, figures_of
from sfumato.workflow.publish import Publication

if TYPE_CHECKING:
    from sfumato.web.desk import Desk

COST = "loss"  # by which all releases are compared; each may have been made best by another
PARTS = ("criteria", "search", "columns", "worst")
PRIVATE = ("search", "worst")  # other releases of the table, and single groups
_SHARING, _WORDS = 3, 36  # numbers and letters beside a mark


# -- making ----------------------------------------------------------------------------------------


def make_release(desk: Desk, *, point: int, seed: int) -> dict[str, Any]:
    """Make the release of the project's policy, write its folder, and tell what it is like."""
    policy, table = desk.policy(), desk.table()
    publication = Publication(desk.project.release_folder(point), seed=seed)
    published = publication.publish(table, policy)
    measures = choose_utilities(policy, [policy.utility, COST])
    if policy.use is not None:
        measures = (policy.measure(table), *measures)
    figures = figures_of(published.release, published.report, measures)
    return _facts(published.report, policy, figures, str(seed))


def find_release(desk: Desk, *, point: int) -> dict[str, Any]:
    """What can still be told of a release that stands there, though its run was not ended well.

    How it was found is known to nobody any more.
    """
    release, policy = desk.release(point), desk.policy_of(point)
    report = audit(release, policy, table=desk.table())
    figures = replace(figures_of(release, report, ()), costs=report.costs)
    run = desk.project.release_folder(point) / "private" / "run.json"
    seed = json.loads(run.read_text(encoding="utf-8")).get("seed", "")
    return _facts(report, policy, figures, str(seed))


def _facts(report: Report, policy: Policy, figures: Figures, seed: str) -> dict[str, Any]:
    encoded = as_json(
        {
            "require": [str(criterion) for criterion in policy.require],
            "anonymizer": report.summary.anonymizer or policy.maker.name,
            "utility": policy.utility,
            "suppression": policy.suppression,
            "seed": seed,  # a text: it has more digits than every reader of JSON keeps
            "headline": headline(report),
            "choice": choice_words(report),
            "figures": asdict(figures),
            "suppressed_share": figures.suppressed_share,
            "sections": _sections(report),
        }
    )
    facts: dict[str, Any] = json.loads(encoded)
    return facts


def _sections(report: Report) -> dict[str, list[dict[str, object]]]:
    """What a page shows of it; the weakest groups are its owner's."""
    sections: dict[str, tuple[Section | None, ...]] = {
        "criteria": (criteria_section(report),),
        "search": (contest_section(report), lattice_section(report)),
        "columns": (treatments_section(report),),
        "worst": (worst_groups_section(report),),
    }
    return {
        name: [
            kept(replace(section, private=name in PRIVATE))
            for section in parts
            if section is not None
        ]
        for name, parts in sections.items()
    }


# -- everything that was tried ---------------------------------------------------------------------


def view_tried(desk: Desk, *, risk: str = "mean") -> TriedView:
    """The map of everything that was made, and the same as a list."""
    risk = risk if risk in RISKS else "mean"
    taken = desk.project.decisions().get("taken")
    points = [(point.number, point.facts) for point in desk.project.points()]
    places = [_place(facts, risk) for _, facts in points]
    front = pareto_front(
        [place if _holds(facts) else None for place, (_, facts) in zip(places, points, strict=True)]
    )
    rows = tuple(
        _row(number, facts, risk, front=on, taken=number == taken)
        for (number, facts), on in zip(points, front, strict=True)
    )
    return TriedView(
        rows,
        _map(points, places, front, taken, risk),
        risk,
        {name: axis.words for name, axis in RISKS.items()},
    )


def _holds(facts: Mapping[str, Any]) -> bool:
    return bool(facts["figures"]["verdict"] == "holds")


def _place(facts: Mapping[str, Any], risk: str) -> Place | None:
    """Where it lies on the map; nowhere, if it has no risk or no cost."""
    risked, cost = facts["figures"]["risks"].get(risk), facts["figures"]["costs"].get(COST)
    known = all(isinstance(figure, int | float) for figure in (risked, cost))
    return (float(risked), float(cost)) if known else None


def _row(number: int, facts: Mapping[str, Any], risk: str, *, front: bool, taken: bool) -> TriedRow:
    figures = facts["figures"]
    cost = figures["costs"].get(COST)
    return TriedRow(
        number,
        tuple(facts["require"]),
        str(facts["anonymizer"]),
        percentage(figures["risks"].get(risk)),
        percentage(cost),
        f"{figures['groups']:,}",
        percentage(facts["suppressed_share"]),
        str(figures["verdict"]).replace("_", " ").replace("could not judge", "not judged"),
        str(facts.get("made", "")),
        front,
        taken,
    )


def _map(
    points: Sequence[tuple[int, Mapping[str, Any]]],
    places: Sequence[Place | None],
    front: Sequence[bool],
    taken: object,
    risk: str,
) -> Section | None:
    """Every release by risk and cost, a shape per anonymizer."""
    drawn = [
        (number, facts, place, on)
        for (number, facts), place, on in zip(points, places, front, strict=True)
        if place is not None
    ]
    if not drawn:
        return None
    labels = _labels(drawn)
    chart = risk_map(
        [
            RiskPoint(
                place,
                str(facts["anonymizer"]).partition(" (")[0],
                label,
                _hover_text(number, facts, place, risk),
                on,
                number == taken,
            )
            for (number, facts, place, on), label in zip(drawn, labels, strict=True)
        ],
        "What each release that was made risks and costs",
        f"{RISKS[risk].words} ({RISKS[risk].unit})",
        COST,
        "A click on a mark shows that release; the list beside it has the same as buttons.",
        chosen="the release that was taken",
        name="map/tried",
    )
    return Section("Everything that was tried", "", (), (chart,))


def _labels(drawn: Sequence[tuple[int, Mapping[str, Any], Place, bool]]) -> list[str]:
    """The number of each mark, and what it promises that not all do; once for those at one place.

    The release that was taken stands out, and is told by its star.
    """
    shared = set.intersection(*(set(facts["require"]) for _, facts, _, _ in drawn))
    labels = [""] * len(drawn)
    for near in at_one_place([place for _, _, place, _ in drawn]):
        numbers = "/".join(str(drawn[at][0]) for at in near[:_SHARING])
        own = [rule for rule in drawn[near[0]][1]["require"] if rule not in shared]
        words = ", ".join(rule.partition(" ")[2] or rule for rule in own)
        labels[near[0]] = f"#{numbers} {words if len(words) <= _WORDS else ''}".strip()
    return labels


def _hover_text(number: int, facts: Mapping[str, Any], place: Place, risk: str) -> str:
    figures = facts["figures"]
    return "\n".join(
        [
            f"#{number} {facts['anonymizer']}",
            *facts["require"],
            f"{RISKS[risk].words} {percentage(place[0])}",
            cost_text(COST, place[1]),
            f"{figures['groups']:,} groups, {percentage(facts['suppressed_share'])} left out",
        ]
    )


# -- one of them -----------------------------------------------------------------------------------


def view_point(desk: Desk, *, number: int) -> PointView | None:
    """What is remembered of a release; None where there is none of that number."""
    point = desk.project.point(number)
    if point is None:
        return None
    facts = point.facts
    row = _row(number, facts, "mean", front=False, taken=False)
    sections = {
        name: tuple(section_of(section) for section in facts["sections"].get(name, ()))
        for name in PARTS
    }
    return PointView(
        number,
        str(facts["headline"]),
        str(facts["choice"]),
        row.verdict,
        str(facts["seed"]),
        row.made,
        {
            "groups": row.groups,
            "people left out": row.left_out,
            RISKS["mean"].words: row.risk,
            COST: row.cost,
        },
        **sections,
    )
