"""A report on a terminal: the answer first, then criteria, worst groups, threats, notes."""

from __future__ import annotations

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sfumato.adversaries.linkage.risks import Linkage, Risk
from sfumato.adversaries.linkage.uniqueness import Uniqueness
from sfumato.adversaries.threat import FACTOR
from sfumato.criteria.base import Verdict
from sfumato.report.model import Report, Summary
from sfumato.schema.exact import told_beside

_MARK = {
    "holds": "[green]holds[/]",
    "violated": "[bold red]violated[/]",
    "not_applicable": "[yellow]not applicable[/]",
    "not_converged": "[yellow]not converged[/]",
    "cannot_judge": "[yellow]cannot judge[/]",
}
_ANSWER = {
    "holds": "[bold green]The policy holds.[/]",
    "violated": "[bold red]The policy is violated.[/]",
    "could_not_judge": "[bold yellow]The policy could not be judged in full: not shown safe.[/]",
}

_SHORT = 48  # a longer note than this does not fit into a column beside the others


def longest_word(texts: Iterable[str], most: int = 24) -> int:
    """How wide a column must be for no word in it to be broken, but for very long ones."""
    words = [len(word) for text in texts for word in text.split()]
    return min(max(words, default=1), most)


def number(value: float | None, *, at_most: bool = False, beside: str = "") -> str:
    """A figure short enough for a table, exact when it is whole; infinity as such.

    `at_most`: it is an upper bound, and says so. `beside`: what stands next to it, where it does
    not look like a number that it is not.
    """
    if value is None:
        return "–"
    if at_most:
        return f"at most {number(value, beside=beside)}"
    if value in (float("inf"), float("-inf")):
        return "inf"
    if float(value).is_integer():
        return f"{int(value):,}"
    return told_beside(value, beside, 6)


def measured(verdict: Verdict) -> str:
    """What was measured, in as many digits as tell it from what is required."""
    return number(verdict.measured, at_most=verdict.at_most, beside=verdict.required)


def render(report: Report, *, private: bool = True) -> RenderableType:
    """What the terminal shows; where others may read it (a log), not who is worst off."""
    summary = report.summary
    head = Text.from_markup(
        f"{_ANSWER[report.status]}\n{escape(summary.label)}: {_size(summary)}\n"
        f"quasi-identifiers {escape(', '.join(summary.quasi))}; "
        f"sensitive {escape(', '.join(summary.sensitive) or 'none')}"
    )
    parts: list[RenderableType] = [head, *_verdicts(report)]
    if any(finding.worst for finding in report.findings if not finding.verdict.holds):
        parts.append(_worst(report, private=private))
    if report.linkage is not None:
        parts += linkage_parts(report.linkage)
    if report.columns:
        parts.append(_columns(report))
    parts += _threats(report)
    parts += [Text(f"note: {note}", style="dim") for note in report.notes]
    return Group(*parts)


def _size(summary: Summary) -> str:
    if summary.scheme == "randomised":  # nobody is in a noisy cell, and how many are is noise too
        return f"{summary.people:,} people by noisy counts, {summary.groups:,} cells published"
    group = "bucket" if summary.scheme == "bucketized" else "group"
    return (
        f"{summary.people:,} people in {summary.groups:,} {group}{'s' * (summary.groups != 1)} "
        f"(smallest {summary.smallest:,}), {summary.suppressed:,} suppressed"
    )


def _table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )


def _verdicts(report: Report) -> list[RenderableType]:
    """The criteria; if a note takes a sentence, all notes stand numbered under the table."""
    table = _table("Criteria")
    table.add_column("criterion", no_wrap=True)
    everything = "everybody" if report.summary.scheme == "randomised" else "sizes"
    abouts = [verdict.attribute or everything for verdict in report.verdicts]
    table.add_column("about", min_width=longest_word(abouts))
    table.add_column("required")
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("verdict", min_width=len("applicable"))
    below = any(len(verdict.note) > _SHORT for verdict in report.verdicts)
    if not below:
        table.add_column("remark")
    notes = Table.grid(padding=(0, 1, 0, 0))
    notes.add_column(no_wrap=True)
    notes.add_column(overflow="fold")
    for verdict in report.verdicts:
        mark, last = _MARK[verdict.status], [escape(verdict.note)]
        if below and verdict.note:
            mark = f"{mark} ({notes.row_count + 1})"
            notes.add_row(f"({notes.row_count + 1})", *last)
        table.add_row(
            verdict.criterion,
            escape(verdict.attribute or everything),
            verdict.required,
            measured(verdict),
            mark,
            *([] if below else last),
        )
    return [table, notes, Text()] if below else [table]


def _worst(report: Report, *, private: bool) -> Table:
    table = _table("Worst group by criterion (private)")
    table.add_column("criterion", no_wrap=True)
    table.add_column("measured", justify="right")
    table.add_column("people", justify="right")
    table.add_column("who")
    for finding in report.findings:
        if finding.verdict.holds or not finding.worst:
            continue
        group = finding.worst[0]  # the JSON report has more of them
        who = "shown on a terminal only; --html and --report tell it"
        if private:
            who = ", ".join(f"{column} {value}" for column, value in group.description.items())
        told = number(group.measured, at_most=group.at_most, beside=finding.verdict.required)
        table.add_row(finding.verdict.criterion, told, f"{group.people:,}", escape(who))
    return table


def _columns(report: Report) -> Table:
    table = _table("Columns, the weakest first: what is left without each")
    table.add_column("column", min_width=longest_word(one.name for one in report.columns))
    for column in ("values shown", "rows found", "unique people"):
        table.add_column(column, justify="right")
    for one in report.columns:
        found, alone = f"{one.success:.1%}", f"{one.unique:.1%}"
        table.add_row(escape(one.name), f"{one.shows:,}", found, alone)
    return table


def linkage_parts(linkage: Linkage) -> list[RenderableType]:
    """Who can link rows to names, how surely, and what is estimated of the population."""
    table = _table("Linkage: risk of being found")
    limits = [f"above {limit:g}" for limit in linkage.thresholds]
    for place, column in enumerate(
        ("adversary", "highest", "mean", *limits, "at highest", "unique")
    ):
        table.add_column(column, justify="right" if place else "left", overflow="fold")
    many = len(linkage.thresholds)
    table.add_row("prosecutor", *_risk(linkage.prosecutor, many))
    table.add_row("journalist" + _from(linkage.source), *_risk(linkage.journalist, many))
    blank = [""] * (many + 2)
    at_most = linkage.prosecutor is not None and linkage.prosecutor.at_most
    table.add_row("marketer", "", number(linkage.marketer, at_most=at_most), *blank)
    if linkage.journalist is not None:
        found = number(linkage.marketer_in_population, at_most=linkage.journalist.at_most)
        table.add_row("marketer" + _from(linkage.source), "", found, *blank)
    told = [*linkage.notes]
    if linkage.reason:
        told.append(f"linkage not measured: {linkage.reason}")
    chosen = linkage.population_uniqueness
    if chosen is not None:
        others = ", ".join(_estimate(one) for one in linkage.estimates if one is not chosen)
        told.append(
            f"unique in the population (sampling fraction {linkage.sampling_fraction:g}): "
            f"{_estimate(chosen)}; {others}"
        )
    return [table, *(Text(f"note: {text}", style="dim") for text in told)]


def _risk(risk: Risk | None, thresholds: int) -> list[str]:
    if risk is None:
        return ["–"] * (thresholds + 4)
    shares = (risk.mean, *risk.above, risk.at_highest, risk.unique)
    bounded = (number(share, at_most=risk.at_most and share > 0) for share in shares)
    return [number(risk.highest), *bounded]


def _from(source: str | None) -> str:
    return {None: "", "table": " (population)", "weights": " (survey weights)"}[source]


def _estimate(estimate: Uniqueness) -> str:
    shown = "not converged" if estimate.share is None else f"{estimate.share:.6g}"
    return f"{estimate.model} {shown}"


def _threats(report: Report) -> list[RenderableType]:
    """Who was measured, in one line each; what was not, in one line for all."""
    from sfumato.report.ladder import BEYOND, about_of, noisy

    table = _table("Threats: belief about the person for whom it moves most")
    ran = [threat for threat in report.every_threat if threat.status == "measured"]
    table.add_column("adversary", min_width=longest_word(one.adversary for one in ran))
    table.add_column("about", min_width=longest_word(about_of(one) or "–" for one in ran))
    table.add_column("before → after", justify="right", no_wrap=True)
    table.add_column(f"people moved\nmore than {FACTOR:g}×", justify="right", no_wrap=True)
    bounds = [name for one in ran for name in one.covered]
    table.add_column("bounded by", min_width=longest_word(bounds) + 1)
    for threat in ran:
        table.add_row(
            threat.adversary,
            escape(about_of(threat) or "–"),
            "–" if threat.belief is None else str(threat.belief),
            "–" if threat.people is None else str(threat.people),
            ", ".join(threat.covered) or "no criterion",
        )
    others: dict[str, list[str]] = {}
    for threat in report.every_threat:
        if threat.status != "measured":
            about = f" ({threat.about})" if threat.about else ""
            others.setdefault(threat.learns, []).append(f"{threat.adversary}{about}")
    told = [
        Text(f"note: {', '.join(dict.fromkeys(who))}: {why}", style="dim")
        for why, who in others.items()
    ]
    if not noisy(report):
        told.append(Text(f"note: {BEYOND}", style="dim"))
    return [table, *told]


def to_text(report: Report, width: int = 120) -> str:
    """The report as plain text."""
    console = Console(width=width, color_system=None, force_terminal=False, record=False)
    with console.capture() as captured:
        console.print(render(report))
    return captured.get()
