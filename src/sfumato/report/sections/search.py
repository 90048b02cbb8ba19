"""How the release was chosen: what each anonymizer came to, and which nodes of the lattice hold.

Private: it tells what other releases of the table would have shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING

from sfumato.numbers import percent
from sfumato.report.comparison import TakenFrom
from sfumato.report.document import Chart, Section, Series, Sheet
from sfumato.report.report import Report
from sfumato.report.risk_map import RiskPoint, cost_text, pareto_front, risk_map
from sfumato.report.sections.comparison import taken_section
from sfumato.utility import is_share

if TYPE_CHECKING:  # a mere audit need not load it
    from sfumato.anonymizers.best import Attempt, BestFindings
    from sfumato.anonymizers.lattice.lattice import LatticeOutcome
    from sfumato.anonymizers.lattice.nodes import Node
    from sfumato.schema.hierarchy import Levels, NodeLevels

MOST_NODES = 300  # a larger picture could not be read
_EDGES = 150  # up to so many nodes the steps between them are drawn
_LISTED = 5

SAFE, INFERRED_SAFE, INFERRED_BAD, OPEN = (
    "satisfies the policy",
    "inferred to satisfy it",
    "inferred to fail",
    "not judged",
)


def _contest(report: Report) -> BestFindings | None:
    """What each anonymizer came to, where several were tried."""
    evidence = report.evidence
    if evidence is None or evidence.release.placement is None or report.audience == "public":
        return None
    from sfumato.anonymizers.best import BestFindings  # whoever made it has loaded it

    return BestFindings.of(evidence.release.made)


def contest_section(report: Report) -> Section | None:
    """A row for each anonymizer: what its release would have cost, or why there is none."""
    contest = _contest(report)
    if contest is None:
        return None
    by_utility = contest.utility != "loss"

    def row(attempt: Attempt) -> tuple[object, ...]:
        cost = (attempt.cost, attempt.loss) if by_utility else (attempt.loss,)
        seconds = None if attempt.seconds is None else round(attempt.seconds, 1)
        sizes = attempt.groups, attempt.suppressed, seconds
        return attempt.anonymizer, *cost, *sizes, attempt.outcome, attempt.why

    costs = (contest.utility, "loss") if by_utility else ("loss",)
    tried = "Every way that applies was tried within the time allowed"
    if contest.interrupted or contest.cut_short:
        tried = "Not every way that applies was tried to its end"
    return Section(
        "What each anonymizer would have cost",
        f"{tried}; the release that costs least by {contest.utility} was kept. "
        "They are numbered in this order: anonymize --like private/run.json#2 takes the second.",
        (
            Sheet(
                (
                    "anonymizer",
                    *costs,
                    "groups",
                    "suppressed",
                    "seconds",
                    "outcome",
                    "why",
                ),
                tuple(row(attempt) for attempt in contest.attempts),
                percent=tuple(filter(is_share, costs)),
                remark="why",
                starred=(contest.attempts.index(contest.winner),),
                star="chosen",
            ),
        ),
        _contest_map(contest),
    )


_RISK = "mean prosecutor risk (chance of being found)"
_RISK_MEANS = (
    "Risk is how likely a person's row is found by somebody who knows that she is in the release, "
    "on average."
)


def _contest_map(contest: BestFindings) -> tuple[Chart, ...]:
    """What each release that holds would have risked and cost."""
    placed = [
        (number, attempt, (attempt.risk, attempt.cost))
        for number, attempt in enumerate(contest.attempts, start=1)
        if attempt.risk is not None and attempt.cost is not None and isfinite(attempt.cost)
    ]
    if not placed:
        return ()
    front = pareto_front([place for _, _, place in placed])
    points = [
        RiskPoint(
            place,
            attempt.anonymizer.partition(" (")[0],
            f"#{number} {attempt.anonymizer}",
            f"#{number} {attempt.anonymizer}\nrisk {percent(place[0])}\n"
            f"{cost_text(contest.utility, place[1])}\n{attempt.groups:,} groups, "
            f"{attempt.suppressed:,} people suppressed",
            on_front,
            attempt is contest.winner,
        )
        for (number, attempt, place), on_front in zip(placed, front, strict=True)
    ]
    chart = risk_map(
        points,
        "What each way would have risked and cost",
        _RISK,
        contest.utility,
        _RISK_MEANS,
        chosen="the release that was chosen",
    )
    return (chart,)


def taken_from_section(report: Report) -> Section | None:
    """The map of the comparison that the release is a point of."""
    taken = _taken(report)
    return None if taken is None else taken_section(taken)


def _taken(report: Report) -> TakenFrom | None:
    owner = report.evidence is not None and report.audience == "private"
    return report.evidence.taken_from if owner and report.evidence is not None else None


def choice_words(report: Report) -> str:
    """Which way won, and by how much; empty where only one was tried."""
    if (taken := _taken(report)) is not None:
        return taken.words
    contest = _contest(report)
    if contest is None:
        return ""
    winner, second = contest.winner, contest.next_best
    cut = ""
    if contest.interrupted:
        cut = " The search was interrupted before every way was tried."
    elif contest.cut_short:
        cut = " The time was over before every way was tried."
    made_by = f"Made by {winner.anonymizer}"
    if second is None:
        return f"{made_by}{cut and '.'}{cut or ', the one way that led to a release.'}"
    if winner.cost is None or second.cost is None or not isfinite(winner.cost + second.cost):
        return f"{made_by}; {second.anonymizer} would hold too, but cannot be compared.{cut}"
    many = sum(attempt.seconds is not None for attempt in contest.attempts)
    return (
        f"{made_by}, the best of {many} ways: {cost_text(contest.utility, winner.cost)}; the next "
        f"best, {second.anonymizer}, would have {cost_text(contest.utility, second.cost)}.{cut}"
    )


def lattice_section(report: Report) -> Section | None:
    """The best choices of levels and a picture of all; nothing for releases found otherwise."""
    evidence = report.evidence
    if evidence is None or evidence.release.placement is None or report.audience == "public":
        return None
    from sfumato.anonymizers.lattice.lattice import LatticeFindings  # whoever made it has loaded it

    findings = LatticeFindings.of(evidence.release.made)
    if findings is None or findings.search is None:
        return None
    outcome = findings.search.whole
    chosen = tuple(findings.levels[name] for name in outcome.columns)
    measure = "loss" if evidence.policy is None else evidence.policy.utility
    size = outcome.size
    words = (
        "Every column is published at one level of its hierarchy. The cheapest choice of levels "
        f"that satisfies the policy was taken: {_levels(outcome, chosen)}. {outcome.seen}"
    )
    if outcome.exact:
        words += "; the others follow from what is inherited, or cannot cost less"
    if outcome.finished:
        words += (
            f"; of those that keep everything else, {outcome.finished:,} were made into releases, "
            "the cheapest first, until one held by all; costlier ones were not judged by all"
        )
    figures = _lattice_map(outcome, chosen, evidence.release.people, measure)
    figures += (_picture(outcome, chosen),) if size <= MOST_NODES else ()
    return Section(
        "How the release was chosen",
        f"{words}.",
        (_cheapest(outcome, chosen, measure),),
        figures,
    )


def _cheapest(outcome: LatticeOutcome, chosen: NodeLevels, measure: str) -> Sheet:
    """The chosen node and the next best by cost, each by what its columns would show."""
    safe = [node for node in outcome.nodes if node.satisfied and node.levels != chosen]
    safe.sort(key=lambda node: (not isfinite(node.cost), node.cost, node.levels))
    first = next(node for node in outcome.nodes if node.levels == chosen)
    rows = tuple(
        (place, *_labels(outcome, node.levels), node.groups, node.suppressed, node.cost)
        for place, node in enumerate([first, *safe[: _LISTED - 1]], start=1)
    )
    more = len(safe) - (_LISTED - 1)
    return Sheet(
        ("choice", *outcome.columns, "groups", "people left out", measure),
        rows,
        "The best choices by cost, each by one of the labels its columns would show",
        (f"{more:,} others satisfy the policy and cost as much or more.",) if more > 0 else (),
        percent=(measure,) if is_share(measure) else (),
        starred=(0,),
        star="chosen",
    )


def _labels(outcome: LatticeOutcome, levels: NodeLevels) -> list[str]:
    """What each column shows at its level: a label as it would stand in a cell."""
    return [
        _label(column, level) for column, level in zip(outcome.judge.levels, levels, strict=True)
    ]


def _label(column: Levels, level: int) -> str:
    """The label of the middle of a column's values; nothing is coarser than *."""
    if level == 0:
        return "as it is"
    codes = column[level].codes
    return column[level].regions[int(codes[len(codes) // 2])].text if len(codes) else "*"


def _lattice_map(
    outcome: LatticeOutcome, chosen: NodeLevels, people: int, measure: str
) -> tuple[Chart, ...]:
    """The nodes that satisfy the policy, by risk and cost; of many those that cost least.

    Somebody is found with the chance of one in her group: on average groups by people.
    """
    safe = sorted((node for node in outcome.nodes if node.satisfied), key=lambda node: node.cost)
    everybody = people + sum(node.suppressed for node in safe if node.levels == chosen)
    drawn = [node for node in safe[:MOST_NODES] if node.suppressed < everybody and node.groups]
    places = [(node.groups / (everybody - node.suppressed), node.cost) for node in drawn]
    if len(drawn) < 2 or not all(isfinite(cost) for _, cost in places):
        return ()
    points = [
        RiskPoint(
            place,
            "satisfies the policy",
            "chosen" if node.levels == chosen else "",
            _named(outcome, node.levels, node, "chosen" if node.levels == chosen else SAFE),
            on_front,
            node.levels == chosen,
        )
        for node, place, on_front in zip(drawn, places, pareto_front(places), strict=True)
    ]
    left = len(safe) - len(drawn)
    more = f" {left:,} choices that cost more are not drawn." if left else ""
    chart = risk_map(
        points,
        "What each safe choice of levels risks and costs",
        _RISK,
        measure,
        f"{_RISK_MEANS} The cheapest is chosen: every one here satisfies the policy.{more}",
        chosen="the release that was chosen",
        name="map/lattice",
    )
    return (chart,)


def _picture(outcome: LatticeOutcome, chosen: NodeLevels) -> Chart:
    """Nodes by the sum of their levels, finest at the bottom, side by side in order."""
    words = dict(_node_words(outcome))
    rows: dict[int, list[NodeLevels]] = {}
    for levels in words:
        rows.setdefault(sum(levels), []).append(levels)
    spot = {
        levels: (at - (len(row) - 1) / 2, height)
        for height, row in rows.items()
        for at, levels in enumerate(sorted(row, reverse=True))
    }
    kinds: dict[str, list[NodeLevels]] = {}
    for levels, finding in words.items():
        if levels != chosen:
            kinds.setdefault(finding, []).append(levels)
    costs = {node.levels: node for node in outcome.nodes}
    series = [
        Series(
            finding,
            [spot[levels][0] for levels in nodes],
            [spot[levels][1] for levels in nodes],
            text=[_named(outcome, levels, costs.get(levels), finding) for levels in nodes],
        )
        for finding, nodes in sorted(kinds.items(), key=lambda kind: _rank(kind[0]))
    ]
    x, y = spot[chosen]
    name = _named(outcome, chosen, costs[chosen], "chosen")
    series.append(Series("chosen", [x], [y], text=[name], mark="star"))
    counted = ", ".join(f"{finding}: {len(nodes):,}" for finding, nodes in kinds.items())
    return Chart(
        "Every choice of levels",
        "points",
        "choices as coarse as each other side by side",
        "steps coarser than the table, all columns together",
        tuple(series),
        alt=f"Of {len(words):,} choices of levels one is taken: {_levels(outcome, chosen)}. The "
        f"others: {counted}.",
        behind=(_steps(spot),) if len(words) <= _EDGES else (),
        bare="x",
        name="lattice",
    )


def _rank(finding: str) -> tuple[int, str]:
    order = (SAFE, INFERRED_SAFE, "", INFERRED_BAD, OPEN)
    return (order.index(finding) if finding in order else 2, finding)


def _node_words(outcome: LatticeOutcome) -> Iterator[tuple[NodeLevels, str]]:
    """Every node and what is known of it."""
    judged = {node.levels: node for node in outcome.nodes}
    doomed = [node.levels for node in outcome.nodes if node.outcome == "fails below too"]
    safe = [node.levels for node in outcome.nodes if node.safe_above]
    for levels in outcome.listed:
        node = judged.get(levels)
        if node is not None:
            yield levels, SAFE if node.satisfied else f"fails {node.why}"
        elif any(_finer(levels, failing) for failing in doomed):
            yield levels, INFERRED_BAD
        elif any(_finer(holding, levels) for holding in safe):
            yield levels, INFERRED_SAFE
        else:
            yield levels, OPEN


def _finer(finer: NodeLevels, coarser: NodeLevels) -> bool:
    return all(a <= b for a, b in zip(finer, coarser, strict=True))


def _steps(spot: dict[NodeLevels, tuple[float, int]]) -> Series:
    """A line from every node to each that is one step coarser."""
    x: list[float | None] = []
    y: list[float | None] = []
    for levels, (left, low) in spot.items():
        for column in range(len(levels)):
            coarser = (*levels[:column], levels[column] + 1, *levels[column + 1 :])
            if coarser in spot:
                x += [left, spot[coarser][0], None]
                y += [low, spot[coarser][1], None]
    return Series("one step coarser", x, y)


def _levels(outcome: LatticeOutcome, levels: NodeLevels) -> str:
    labels = zip(outcome.columns, _labels(outcome, levels), strict=True)
    return ", ".join(f"{name}: {label}" for name, label in labels)


def _named(outcome: LatticeOutcome, levels: NodeLevels, node: Node | None, finding: str) -> str:
    if node is None or not node.satisfied:
        return f"{_levels(outcome, levels)}: {finding}"
    return (
        f"{_levels(outcome, levels)}: {finding}, cost {node.cost:.4g}, {node.groups:,} groups, "
        f"{node.suppressed:,} people suppressed"
    )
