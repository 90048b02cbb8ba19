"""The threat matrix: every adversary we know, weak to strong, and what the policy says to her."""

from __future__ import annotations

from sfumato.adversaries.base import FACTOR, NEARLY_SURE, BeliefChange, chance
from sfumato.adversaries.catalogue import ADVERSARIES, BEYOND
from sfumato.report.document import Chart, Document, Section, Series, Sheet
from sfumato.report.report import Report
from sfumato.report.threat_matrix import BRIEF_COLUMNS, COLUMNS, ThreatRow, matrix


def catalogue_document() -> Document:
    """Every adversary of the catalogue, from weak to strong, whatever the release."""
    rows = tuple(
        (
            entry.name,
            entry.question,
            entry.knows,
            entry.runs,
            ", ".join(entry.criteria) or "no criterion",
            entry.measure,
        )
        for entry in ADVERSARIES.values()
    )
    columns = ("adversary", "asks", "knows", "runs", "bounded by", "to have her measured")
    words = (
        "By itself: in every audit. When shown: in reports. When required: by a policy, or given "
        f"more than a release. On request: by a command of her own.\n\n{BEYOND}"
    )
    section = Section("Who is asked", words, (Sheet(columns, rows),))
    return Document("adversaries", "Adversaries, from weak to strong", "", (section,))


def threats_section(report: Report) -> Section:
    """One row an adversary, and a picture of the worst cases."""
    rows = matrix(report)
    cells = tuple(tuple(tell(row) for tell in COLUMNS.values()) for row in rows)
    sheet = Sheet(tuple(COLUMNS), cells)
    measured = [row for row in rows if row.belief is not None]
    words = (
        "Adversaries from weak to strong. Before and after: what she believes without the release "
        "and with it, of the person and the value for which that moves most. People: for how many "
        f"it moves by more than a factor {FACTOR:g}, counting how much larger the belief or how "
        f"much smaller the doubt becomes (less doubt than {chance(NEARLY_SURE)} is not told "
        "apart). What was not measured is not shown safe."
    )
    return Section(
        "Who could learn what",
        words if report.noisy else f"{words}\n\n{BEYOND}",
        (sheet,),
        (_picture(measured),) if measured else (),
    )


def brief_threats(report: Report) -> Section:
    """Who was measured, in one line each; what was not, in one line for all."""
    shown = [COLUMNS[column] for column in BRIEF_COLUMNS.values()]
    rows = tuple(
        tuple(tell(row) for tell in shown) for row in matrix(report) if row.status == "measured"
    )
    others: dict[str, list[str]] = {}
    for threat in report.every_threat:
        if threat.status != "measured":
            about = f" ({threat.about})" if threat.about else ""
            others.setdefault(threat.learns, []).append(f"{threat.adversary}{about}")
    notes = [f"{', '.join(dict.fromkeys(who))}: {why}" for why, who in others.items()]
    headings = tuple(BRIEF_COLUMNS)
    sheet = Sheet(headings, rows, notes=(*notes, *(() if report.noisy else (BEYOND,))), keys=2)
    return Section("Threats: belief about the person for whom it moves most", "", (sheet,))


def _picture(rows: list[ThreatRow]) -> Chart:
    """The belief of each that moves farthest: before, after, bounded by the policy or not."""
    best: dict[str, tuple[ThreatRow, BeliefChange]] = {}
    for row in rows:
        assert row.belief is not None
        known = best.get(row.adversary)
        if known is None or (row.belief.factor, row.belief.after) > (
            known[1].factor,
            known[1].after,
        ):
            best[row.adversary] = row, row.belief
    moves = list(best.values())
    bounded = [one for one in moves if one[0].covered]
    named = (
        ("before the release", [(row, belief.before) for row, belief in moves]),
        ("after, bounded by the policy", [(row, belief.after) for row, belief in bounded]),
        (
            "after, bounded by no criterion",
            [(row, belief.after) for row, belief in moves if not row.covered],
        ),
    )
    told = ", ".join(f"{row.adversary} {belief}" for row, belief in moves)
    return Chart(
        "Where each adversary's belief moves most",
        "points",
        "belief about the person for whom it moves most",
        "adversary",
        tuple(
            Series(name, [belief for _, belief in some], [row.adversary for row, _ in some])
            for name, some in named
            if some
        ),
        percent="x",
        alt=f"Weak to strong: {told}. {len(bounded)} of {len(best)} are bounded by the policy.",
    )
