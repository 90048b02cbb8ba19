"""What somebody must know who decides whether a release may go out, in a few sentences.

What is promised, what is knowingly not bounded, what it costs, what to do next: the closing lines
of the terminal and the first screen of the page say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.adversaries.catalogue import entry_of
from sfumato.criteria.base import Verdict
from sfumato.report.document import Answer, Document, Gist, Sheet, number
from sfumato.report.report import ABSENT, Report
from sfumato.report.sections.criteria import described
from sfumato.report.sections.next_steps import suggestions
from sfumato.report.sections.rule_set import rules_told
from sfumato.report.sections.threats import (
    FoldedThreat,
    ThreatRow,
    matrix,
    uncovered,
    worst_first,
)
from sfumato.report.sections.usefulness import (
    detail_gone,
    noise_of,
    warnings_of,
    what_would_help,
    worth_of,
)
from sfumato.utility.spread import SpreadLost

_PARTS = (
    (0.0, "nothing"),
    (1 / 20, "a twentieth"),
    (1 / 10, "a tenth"),
    (1 / 5, "a fifth"),
    (1 / 4, "a quarter"),
    (1 / 3, "a third"),
    (2 / 5, "two fifths"),
    (1 / 2, "half"),
    (3 / 5, "three fifths"),
    (2 / 3, "two thirds"),
    (3 / 4, "three quarters"),
    (4 / 5, "four fifths"),
    (9 / 10, "nine tenths"),
    (1.0, "all"),
)
_NAMED = 3  # of a list; the rest is counted
_ROWS = 5  # adversaries that a terminal shows, where they are not all that there are
_BUT = {"": "", "most": " But little is left to use.", "all": " But no detail is left."}


@dataclass(frozen=True)
class Decision:
    """Sentences, the most important first; where there is nothing to say, none."""

    promised: tuple[str, ...]
    unbounded: tuple[str, ...]
    not_measured: tuple[str, ...]
    cost: tuple[str, ...]
    warnings: tuple[str, ...]
    next_steps: tuple[str, ...]


def decide(report: Report) -> Decision:
    """What a report comes to."""
    folded = [] if report.noisy else worst_first(report)
    measured = {threat.name for threat in folded}
    silent = [row.adversary for row in matrix(report) if _asked_in_vain(report, row)]
    free = [threat for threat in folded if threat.unbounded]
    return Decision(
        promised=promised(report),
        unbounded=_free(*free) if free else (),
        not_measured=tuple(name for name in silent if name not in measured),
        cost=costs_in_words(report),
        warnings=tuple(warnings_of(report)),
        next_steps=_next_steps(report, free),
    )


def _asked_in_vain(report: Report, row: ThreatRow) -> bool:
    """Whether somebody who could make something of the release was not measured on it.

    Nor was she where nobody has worked out yet how; noise bounds whoever reads it.
    """
    entry, evidence = entry_of(row.adversary), report.evidence
    fits = entry is None or evidence is None or entry.applies(evidence.release)
    return row.belief is None and row.status != "measured" and fits and not report.noisy


def share_in_words(share: float) -> str:
    """A share as people say it, never told as all or nothing where it is not.

    >>> [share_in_words(share) for share in (0, 0.004, 0.34, 0.66, 0.999, 1)]
    ['nothing', 'hardly anything', 'a third', 'two thirds', 'nearly all', 'all']
    """
    nearest, words = min(_PARTS, key=lambda part: abs(part[0] - share))
    if nearest == 0:
        return words if share == 0 else "hardly anything"
    return "nearly all" if nearest == 1 and share < 1 else words


def promised(report: Report) -> tuple[str, ...]:
    """Each criterion that holds, once for all columns it is about."""
    criteria = () if report.evidence is None else report.evidence.criteria
    words = {(criterion.name, criterion.required): criterion.promise for criterion in criteria}
    of_all = {
        (criterion.name, criterion.required)
        for criterion in criteria
        if criterion.sensitive is None and not criterion.joint
    }
    about: dict[tuple[str, str], list[str]] = {}
    for verdict in report.verdicts:
        if verdict.holds:
            key = verdict.criterion, verdict.required
            columns = about.setdefault(key, [])
            # Of several columns the worst is named; that holds of all of them.
            worst = [verdict.attribute] if verdict.attribute else []
            of = report.summary.sensitive if worst and key in of_all else worst
            columns += [name for name in of if name not in columns]
            if verdict.of_row:  # and not what she has in any of several
                words[key] = f"{words.get(key, ' '.join(key))}, of a row"
    return tuple(
        f"{words.get(key, ' '.join(key))} ({key[0]}{f' of {_leading(columns)}' if columns else ''})"
        for key, columns in about.items()
    )


def _free(worst: FoldedThreat, *further: FoldedThreat) -> tuple[str, ...]:
    """Who learns something that nothing bounds, the worst in figures."""
    first = f"{worst.name} ({worst.sureness(with_value=False)})"
    named = [first, *(threat.name for threat in further)]
    return (_leading(named, 5),)


def costs_in_words(report: Report) -> tuple[str, ...]:
    """What is left of the table, in words first."""
    if report.raw:
        return ()
    if report.noisy and report.evidence is not None:
        moved, a_cell = noise_of(report.evidence.release)
        if moved is None:
            return ("not measured: how far noise moves a count is not known",)
        return (
            f"noise moves a count by up to {moved:.3g}, 19 times in 20",
            f"a cell counts {a_cell:.3g} people on average",
        )
    summary, costs, sentences = report.summary, report.costs, []
    exact = report.evidence is not None and report.evidence.release.regions.exact
    if (loss := costs.get("loss")) is not None and loss == loss and exact:
        together = summary.people / max(summary.groups, 1)
        sentences.append(
            "quasi-identifiers are published as they are, sensitive values of "
            f"{together:.3g} people together on average"
        )
    elif loss is not None and loss == loss:
        kept = 1 - loss
        sentences.append(f"{share_in_words(kept)} of the detail is kept ({kept:.0%})")
    elif (spread := costs.get(SpreadLost.name)) is not None:
        kept = 1 - spread
        sentences.append(
            f"{share_in_words(kept)} of the detail is kept ({kept:.0%} of how people differ)"
        )
    if (error := costs.get("query-error")) is not None and error == error:
        sentences.append(f"counts asked of it are off by {error:.0%} on average")
    if (lost := costs.get("use")) is not None and lost == lost:
        sentences.insert(
            0, f"{share_in_words(1 - lost)} of what it is for is kept ({1 - lost:.0%})"
        )
    for name, measured in costs.items():
        in_words = ("loss", "query-error", "use", SpreadLost.name)
        if name not in in_words and measured == measured:
            sentences.append(f"{name} {number(measured)}")
    if summary.suppressed and report.audience == "private":
        share = summary.suppressed / (summary.people + summary.suppressed)
        sentences.append(f"{summary.suppressed:,} people ({share:.1%}) are left out")
    if "loss" not in costs and not sentences:
        sentences.append("the detail that is lost is not measured: that needs the table")
    elif "loss" in costs and detail_gone(report) is None:
        sentences.append(
            "the detail that is lost is not measured: that takes who is in which group, which the "
            "report that anonymize writes knows"
        )
    return tuple(sentences)


def _next_steps(report: Report, free: Sequence[FoldedThreat]) -> tuple[str, ...]:
    """What its owner can do: mend what is violated, bound who is free, or tell what is left."""
    if report.audience == "public":
        return ()
    helping = filter(None, (what_would_help(report),))
    if not report.holds and report.advice is not None:
        return (*suggestions(report.advice, report), *helping)
    fitting = {threat.adversary: threat.criteria[0] for threat in uncovered(report)}
    bounds: dict[str, str] = {}
    for threat in free:
        if threat.worst.adversary in fitting:
            bounds.setdefault(fitting[threat.worst.adversary], threat.name)
    offers = [f"{criterion} bounds {adversary}" for criterion, adversary in bounds.items()]
    return (*helping, *([f"To promise more: {_leading(offers, 2)}."] if offers else []))


def _leading(words: Sequence[str], most: int = _NAMED) -> str:
    """The first of a list, and how many more."""
    if len(words) <= most:
        return ", ".join(words)
    return f"{', '.join(words[:most])} and {len(words) - most} more"


# -- on a terminal ---------------------------------------------------------------------------------


def short(report: Report, *, private: bool) -> Document:
    """What a terminal shows unless all is asked for: who learns most, and what it comes to."""
    decision = decide(report)
    folded = worst_first(report)
    about = ("about",) if len(report.summary.sensitive) > 1 else ()
    rows = tuple(
        (
            threat.question,
            threat.name,
            threat.belief.in_short,
            threat.worst.people_in_short,
            *([threat.about] if about else ()),
        )
        for threat in folded
    )
    columns = ("worst first", "known as", "before → after", "people", *about)
    failing = [
        finding for finding in report.findings if not finding.verdict.holds and finding.worst
    ]
    open_ = [
        verdict for verdict in report.verdicts if not verdict.holds and verdict.status != "violated"
    ]
    weakest = described(failing[0].worst[0]) if private and failing else ""
    return Document(
        "report",
        "",
        f"{report.summary.label}: {size_in_words(report)}",
        (),
        answer=Answer(report.status, f"{headline(report)}{but(report)}", but=bool(but(report))),
        gist=Gist(
            {
                "Worst group": weakest,
                "Not judged": "; ".join(map(_unjudged, open_))
                if report.status == "violated"
                else "",
                "Promised": "; ".join(decision.promised) or "nothing",
                "Not bounded": "; ".join(decision.unbounded),
                "Not measured": _leading(decision.not_measured),
                "Cost": "; ".join(decision.cost),
                "Beware": " ".join(decision.warnings),
                "Mind": "; ".join(report.notes),
                "Next": " ".join(decision.next_steps),
            },
            Sheet(columns, rows, keys=4),
            most=_ROWS,
        ),
    )


def but(report: Report) -> str:
    """What keeps a policy that holds from being a plain yes: nothing, or little, is left."""
    return _BUT[worth_of(report).gone] if report.holds else ""


def size_in_words(report: Report) -> str:
    """How many people are in how many groups."""
    release = report.summary
    if report.noisy:  # nobody is in a noisy cell, and how many are is noise too
        return f"{release.people:,} people by noisy counts, {release.groups:,} cells published"
    return (
        f"{release.people:,} people in {release.groups:,} "
        f"{report.group}{'s' * (release.groups != 1)} "
        f"(smallest {release.smallest:,}), {release.suppressed:,} suppressed"
    )


def headline(report: Report) -> str:
    """The verdict of the policy in one sentence."""
    verdicts = report.verdicts
    if report.status == "holds":
        all_hold = {1: "its only criterion holds", 2: "both criteria hold"}.get(
            len(verdicts), f"all {len(verdicts)} criteria hold"
        )
        if report.noisy:  # how many they are is not told
            return f"The policy holds: {all_hold} for everybody."
        people = "people of the table" if report.raw else "people published"
        sentence = f"The policy holds: {all_hold} for the {report.summary.people:,} {people}"
        if report.rules is None:
            return f"{sentence}."
        return f"{sentence}, and every paragraph of {report.rules.name} does."
    if report.status == "violated":
        failing = [verdict for verdict in verdicts if verdict.status == "violated"]
        ruled = report.rules is not None and report.rules.status == "violated"
        reasons = "; ".join([*map(_shortfall, failing), *([_ruled(report)] if ruled else ())])
        return f"The policy is violated: {reasons}."
    reasons = "; ".join(_unjudged(verdict) for verdict in verdicts if not verdict.holds)
    reasons = "; ".join(filter(None, (reasons, _ruled(report))))
    return f"The policy could not be judged in full, so it is not shown safe: {reasons}."


def _ruled(report: Report) -> str:
    return "" if report.rules is None else rules_told(report.rules)


def _shortfall(verdict: Verdict) -> str:
    if verdict.measured is None:
        return f"{verdict.criterion}{_about(verdict)}, required {verdict.required}"
    measured = number(verdict.measured, at_most=verdict.at_most, beside=verdict.required, digits=3)
    return f"{verdict.criterion}{_about(verdict)} is {measured}, required {verdict.required}"


def _unjudged(verdict: Verdict) -> str:
    why = verdict.note or verdict.status.replace("_", " ")
    return f"{verdict.criterion}{_about(verdict)} ({why})"


def _about(verdict: Verdict) -> str:
    if verdict.required == ABSENT:
        return f": {verdict.attribute}"
    return f" of {verdict.attribute}" if verdict.attribute else ""
