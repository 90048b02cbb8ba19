"""What to do next: suggestions that were worked out on this release. Private.

The words of advice. What they say is found in `workflow/advise.py`, and they change
with that, not with the page that they are a section of.
"""

from __future__ import annotations

from sfumato.numbers import percent
from sfumato.report.document import Section, Sheet, number
from sfumato.report.report import Advice, CoarserColumn, Report, Suppressing
from sfumato.report.sections.threats import uncovered
from sfumato.report.sections.usefulness import worth_of


def next_steps_section(report: Report) -> Section | None:
    """Words first, then the tables they were taken from."""
    advice = report.advice
    if advice is None:
        return None
    sheets = []
    if advice.coarsen:
        sheets.append(_coarsenings("One column coarser: what is left to mend", advice.coarsen))
    if len(advice.steps) > 1:
        sheets.append(_coarsenings("Step by step, always the column that buys most", advice.steps))
    if advice.suppress is not None and advice.suppress.largest:
        sheets.append(_groups(advice.suppress))
    if advice.bounds:
        sheets.append(_bounds(advice))
    return Section(
        "What to do next",
        "\n\n".join([*suggestions(advice, report), *_free(report)]),
        tuple(sheets),
    )


def suggestions(advice: Advice, report: Report) -> list[str]:
    """The advice in sentences, the most useful first."""
    sentences = []
    if report.holds:
        sentences.append("Nothing must be changed for the policy's sake.")
    elif advice.now.people:
        sentences.append(
            f"{_many(advice.now.groups, 'group')} with {_many(advice.now.people, 'person')} "
            f"violate{'s' if advice.now.groups == 1 else ''} {_listed(advice.now.failing)}."
        )
    if advice.coarsen:
        sentences.append(_first(advice, report))
    if len(advice.steps) > 1:
        sentences.append(_way(advice.steps, _all(advice, report)))
    if advice.suppress is not None:
        sentences.append(_suppress(advice.suppress, _all(advice, report)))
    # k = 1 or l = 1 would be no promise at all.
    loose = [bound for bound in advice.bounds if not bound.holds_now and bound.tightest != 1]
    if loose:
        words = [
            f"{bound.named} with {bound.parameter} = {number(bound.tightest)} (asked: "
            f"{number(bound.asked)})"
            for bound in loose
        ]
        sentences.append(f"Or promise less: {_listed(words)} would hold as it stands.")
    elif report.holds and not worth_of(report).little:
        room = [bound for bound in advice.bounds if bound.tightest != bound.asked]
        words = [
            f"{bound.named} with {bound.parameter} = {number(bound.tightest)}" for bound in room
        ]
        if words:
            sentences.append(f"More could be promised without any change: {_listed(words)}.")
    return [*sentences, *(f"{why[:1].upper()}{why[1:]}." for why in advice.silent)]


def _free(report: Report) -> list[str]:
    """Whom the policy says nothing about, and what would bound them."""
    free: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for threat in uncovered(report):
        columns = free.setdefault(threat.criteria, {}).setdefault(threat.adversary, [])
        columns += [threat.about] if threat.about is not None else []
    return [
        f"The policy sets no bound for {_listed(_adversary_words(adversaries))}; "
        f"criteria that would: {', '.join(criteria)}."
        for criteria, adversaries in free.items()
    ]


def _adversary_words(adversaries: dict[str, list[str]]) -> list[str]:
    """Each adversary with the columns she learns about."""
    return [
        f"{adversary} (about {', '.join(columns)})" if columns else adversary
        for adversary, columns in adversaries.items()
    ]


def _all(advice: Advice, report: Report) -> str:
    """What holds where every criterion that was tried does; the policy, where each was."""
    untried = list(advice.untried)
    if report.rules is not None and report.rules.status != "holds":
        untried.append("the rule set")
    if not untried:
        return "the policy holds"
    return f"all that was tried holds, but not shown: {_listed(untried)}"


def _first(advice: Advice, report: Report) -> str:
    best = advice.coarsen[0]
    if best.left.holds:
        return f"{_column(best)}: then {_all(advice, report)}."
    if best.left.people >= advice.now.people:
        return "No single column, one step coarser, leaves fewer people to mend."
    return (
        f"{_column(best)} first: of the {_many(advice.now.people, 'person')} in groups "
        f"that violate something, {best.left.people:,} would be left."
    )


def _way(steps: tuple[CoarserColumn, ...], holds: str) -> str:
    last = steps[-1]
    columns: dict[str, int] = {}
    for step in steps:
        columns[step.column] = columns.get(step.column, 0) + 1
    listed = _listed([f"{name} by {_many(count, 'step')}" for name, count in columns.items()])
    end = holds if last.left.holds else f"{last.left.people:,} people are left to mend"
    return (
        f"Going on with the column that buys most, {listed}, in {len(steps)} steps: then {end}, "
        "with "
        f"{last.groups:,} groups. An anonymizer will find a finer release."
    )


def _column(step: CoarserColumn) -> str:
    if step.how == "not published":
        return f"Leave {step.column} out"
    return f"Coarsen {step.column} by one step (to labels such as {step.label})"


def _suppress(suppressing: Suppressing, holds: str) -> str:
    share = suppressing.people / suppressing.everybody if suppressing.everybody else 0.0
    sentence = (
        f"Or do not publish the {_many(suppressing.groups, 'group')} "
        f"that violate{'s' if suppressing.groups == 1 else ''} something: that costs "
        f"{_many(suppressing.people, 'person')}, {percent(share)} of all"
    )
    if suppressing.allowed is not None:
        within = suppressing.people <= suppressing.allowed
        relation = "within" if within else "more than"
        sentence += f" ({relation} the {suppressing.allowed:,} the policy allows)"
    if not suppressing.left.holds:
        return f"{sentence}; the rest would still violate {_listed(suppressing.left.failing)}."
    return f"{sentence}; then {holds}."


def _coarsenings(title: str, steps: tuple[CoarserColumn, ...]) -> Sheet:
    rows = tuple(
        (
            step.column,
            step.how,
            step.label,
            step.groups,
            step.left.groups,
            step.left.people,
            ", ".join(step.left.failing) or "nothing",
        )
        for step in steps
    )
    columns = ("column", "change", "label such as", "groups", "bad groups", "people in them")
    return Sheet((*columns, "still violated"), rows, title)


def _groups(suppressing: Suppressing) -> Sheet:
    more = suppressing.groups - len(suppressing.largest)
    return Sheet(
        ("group", "people"),
        suppressing.largest,
        "Groups that violate something, the largest first",
        (f"{more:,} further groups are not listed.",) if more else (),
    )


def _bounds(advice: Advice) -> Sheet:
    rows = tuple(
        (
            bound.criterion,
            bound.about or "group sizes",
            bound.parameter,
            bound.asked,
            bound.tightest,
            bound.holds_now,
        )
        for bound in advice.bounds
    )
    columns = ("criterion", "about", "parameter", "asked", "tightest that holds", "holds as asked")
    return Sheet(columns, rows, "How tight each bound could be on this release")


def _many(count: int, noun: str) -> str:
    several = {"person": "people", "group": "groups", "step": "steps"}
    return f"{count:,} {noun if count == 1 else several[noun]}"


def _listed(words: tuple[str, ...] | list[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
