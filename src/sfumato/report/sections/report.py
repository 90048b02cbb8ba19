"""A report as a document: the answer in a sentence, a few figures, and every section in order.

A section is made by a function from a report, or None where it has nothing to say. It asks the
report's `audience` where the public may not see what the owner sees, and knows only what it shows;
an adversary of a new paper is one more of them, registered here once. Attacks that are run beside
an audit have sections of their own if `document_of_attack` knows their results.

Stands apart: reports are made, judged by and passed on without it; it loads when one is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import singledispatch

from sfumato.adversaries.base import Attack
from sfumato.adversaries.composition.attack import IntersectionAttack
from sfumato.adversaries.linkage.risks import Linkage, Risk
from sfumato.adversaries.linkage.special_uniques import SpecialUniques
from sfumato.adversaries.relative_threat.result import RelativeThreat
from sfumato.progress import phase
from sfumato.report.document import (
    SCHEMA_VERSION,
    Answer,
    Document,
    FirstScreen,
    PolicyStatus,
    Section,
    cell_text,
    percentage,
)
from sfumato.report.price import price_section
from sfumato.report.report import CriterionFinding, Report, few, floor_of
from sfumato.report.sections.columns import (
    brief_treatments,
    treatment_facts,
    treatments_section,
    without_pictures,
)
from sfumato.report.sections.composition import attack_document
from sfumato.report.sections.criteria import (
    brief_worst_groups,
    criteria_section,
    worst_groups_section,
)
from sfumato.report.sections.decision import Decision, but, decide, headline, short, size_in_words
from sfumato.report.sections.linkage import (
    brief_columns,
    brief_linkage,
    group_sizes_section,
    linkage_section,
)
from sfumato.report.sections.next_steps import next_steps_section
from sfumato.report.sections.realistic import observer_section, realistic_section
from sfumato.report.sections.record_risks import records_section, uniques_document
from sfumato.report.sections.relative_threat import relative_document
from sfumato.report.sections.rule_set import rule_set_section, rules_facts
from sfumato.report.sections.search import (
    contest_section,
    lattice_section,
    taken_from_section,
)
from sfumato.report.sections.skyline import skyline_section
from sfumato.report.sections.threats import (
    brief_threats,
    matrix,
    threats_section,
    worst_first,
)
from sfumato.report.sections.usefulness import (
    closing_words,
    usefulness_section,
    warnings_of,
    worth_of,
)
from sfumato.utility import is_share
from sfumato.version import own_version

_LINES = 3  # of each part of the first screen
_REPLIES: dict[PolicyStatus, str] = {
    "holds": "By its policy, yes.",
    "violated": "No.",
    "could_not_judge": "Not as it stands: it is not shown safe.",
}
_THREATS = "Who could learn what"
Maker = Callable[[Report], Section | None]
KEPT = "people kept"  # told as a share
_READ = (
    "Holds: shown on this release. Violated: shown not to hold. Not applicable, not converged and "
    "cannot judge are never safe; not measured says nothing either way. inf: no finite bound "
    "holds. n/a: does not apply."
)
_ANSWERS = {
    "holds": "The policy holds.",
    "violated": "The policy is violated.",
    "could_not_judge": "The policy could not be judged in full: not shown safe.",
}


# -- attacks that were run beside the audit --------------------------------------------------------


@singledispatch
def document_of_attack(_result: Attack) -> Document | None:
    """What an attack's result tells, by the title of its section; None: the threat matrix does."""
    return None


@document_of_attack.register
def _(result: RelativeThreat) -> Document:
    return replace(relative_document(result, "the release"), title="Learner against attacker")


@document_of_attack.register
def _(result: IntersectionAttack) -> Document:
    return replace(attack_document(result), title="Other releases about the same people")


@document_of_attack.register
def _(result: SpecialUniques) -> Document:
    return replace(uniques_document(result), title="Special uniques")


def _attacks(report: Report) -> Iterator[Section]:
    """One section for each result: its words, tables and charts. They take the table: private."""
    if report.evidence is None or report.audience == "public":
        return
    for result in report.evidence.attacks:
        document = document_of_attack(result)
        if document is None:
            continue
        sections = document.public().sections
        yield Section(
            document.title,
            "\n\n".join([document.about, *(part.words for part in sections if part.words)]),
            tuple(
                replace(sheet, title=sheet.title or part.title)
                for part in sections
                for sheet in part.tables
            ),
            tuple(chart for part in sections for chart in part.charts),
        )


# -- sections --------------------------------------------------------------------------------------


def notes_section(report: Report) -> Section:
    """Notes of the release, and how statuses are to be read."""
    notes = [f"{note[:1].upper()}{note[1:]}." for note in report.notes]
    if report.audience == "public":
        notes.append(
            f"Counts from 1 to {floor_of(report) - 1} are told as <{floor_of(report)}; figures "
            "are measured on what is published."
        )
    return Section("Method and notes", "\n\n".join([*notes, _READ]))


SECTIONS: tuple[Maker, ...] = (
    criteria_section,
    rule_set_section,
    treatments_section,
    usefulness_section,
    lambda report: report.served,
    threats_section,
    linkage_section,
    records_section,
    group_sizes_section,
    worst_groups_section,
    observer_section,
    realistic_section,
    skyline_section,
    price_section,
    next_steps_section,
    taken_from_section,
    contest_section,
    lattice_section,
)


@phase("reporting")
def sections_of(report: Report) -> tuple[Section, ...]:
    """What every part has to say about a report, in the order of the page.

    What can be learnt, then the price of every promise, what to do and how it was chosen.
    """
    price = SECTIONS.index(price_section)
    made = [make(report) for make in SECTIONS]
    made[price:price] = _attacks(report)
    sections = (section for section in (*made, notes_section(report)) if section is not None)
    return tuple(map(_in_three_digits, sections))


def _in_three_digits(section: Section) -> Section:
    """Enough for who decides; where a bound stands beside a figure, as many as tell them apart."""
    return replace(section, tables=tuple(replace(sheet, digits=3) for sheet in section.tables))


# -- documents -------------------------------------------------------------------------------------


def document(report: Report) -> Document:
    """All of a report, for its page and for JSON."""
    public = report.audience == "public"
    return _framed(
        report,
        report.sections,
        facts=_facts(report),
        closing="Every figure was measured on the published data, or is promised with it."
        if public
        else "For programs: report.save writes the same figures to a .json file.",
    )


def summary(report: Report) -> Document:
    """What was released, the verdict, criteria, threats and what to do next, for a file."""
    next_steps = next_steps_section(report)
    threats = threats_section(report)
    contest = contest_section(report)
    rules = rule_set_section(report)
    sections = [
        replace(criteria_section(report), words=""),
        *([] if rules is None else [rules]),
        *without_pictures(treatments_section(report)),
        *([] if contest is None else [contest]),
        *([] if (served := _brief_use(report)) is None else [served]),
        replace(threats, words="", tables=threats.tables[:-1], charts=()),
        *([] if next_steps is None else [replace(next_steps, tables=())]),
        notes_section(report),
    ]
    return _framed(report, tuple(map(_in_three_digits, sections)))


def handed_out(report: Report) -> Document:
    """What goes with the data: what is promised, what was done, who could learn what.

    Its charts are those that are drawn without a script, so that the page stays small.
    """
    sections = [
        criteria_section(report),
        treatments_section(report),
        threats_section(report),
        linkage_section(report),
        notes_section(report),
    ]
    return _framed(
        report,
        tuple(
            replace(
                _in_three_digits(section),
                charts=tuple(chart for chart in section.charts if chart.scriptless),
            )
            for section in sections
            if section is not None
        ),
        closing="Every figure was measured on the published data, or is promised with it.",
    )


def _framed(
    report: Report,
    sections: tuple[Section, ...],
    facts: Mapping[str, object] | None = None,
    closing: str = "",
) -> Document:
    """Sections with what every written report begins with."""
    release = report.summary
    by = f", made by {release.anonymizer}" if release.anonymizer else ""
    lead = "A table as it stands." if release.raw else f"A {release.scheme} release{by}."
    lead += f" Quasi-identifiers: {', '.join(release.quasi)}."
    lead += f" Sensitive: {', '.join(release.sensitive) or 'none'}."
    if release.keep:
        lead += f" Published as they are: {', '.join(release.keep)}."
    private = report.audience == "private"
    return Document(
        "report",
        f"Report on {release.label}",
        lead,
        sections,
        private="describes single groups of people" if private else "",
        on_top=True,
        answer=Answer(report.status, headline(report), but=private and bool(worth_of(report).gone)),
        warnings=tuple(warnings_of(report)) if private else (),
        tiles={
            name: percentage(value) if name == KEPT or is_share(name) else cell_text(value)
            for name, value in glance(report).items()
        },
        facts=facts or {},
        closing=closing,
        first=_first_screen(report),
    )


def _first_screen(report: Report) -> FirstScreen:
    """What is decided by; what it costs, who made it and of what is the owner's."""
    version_told = {"Made with": f"Sfumato {own_version()}"}
    decision = decide(report)
    parts = {"What is promised": _lines(decision.promised, "nothing", "Criteria")}
    parts["What is knowingly left"] = _left(report, decision)
    if report.audience == "public":
        return FirstScreen(parts=parts, made=version_told)
    if decision.cost:
        parts["What it costs"] = _lines(decision.cost, "", "What it costs")
    provenance = report.provenance
    known = {
        f"{digest.subject.capitalize()} fingerprint": f"{digest.short} ({digest.name})"
        for digest in provenance.fingerprints()
    }
    by = {"By": provenance.by} if provenance.by else {}
    made = {"Date": provenance.on.isoformat(), **by, **version_told, **known}
    return FirstScreen("May it go out?", _reply(report), parts, made, to_sign=True)


def _reply(report: Report) -> str:
    """The policy's answer, and whether anything is left that is worth handing out."""
    reply = _REPLIES[report.status]
    if report.status != "holds":
        return reply
    return {"": reply, "most": f"{reply[:-1]}; but little is left to use."}.get(
        worth_of(report).gone, f"{reply[:-1]}; but of what it told about people nothing is left."
    )


def _left(report: Report, decision: Decision) -> tuple[str, ...]:
    """Who learns something that no criterion bounds, in plain words; who was not measured.

    Nobody can sign for what was not measured without having been told so: it has a line of its own.
    """
    folded = [] if report.noisy else worst_first(report)
    sentences = [f"{row.question} {row.sentence}" for row in folded if row.unbounded]
    silent = decision.not_measured
    left = _lines(sentences, "nothing that was measured", _THREATS, _LINES - bool(silent))
    return (*left, f"Not measured, so not shown safe: {', '.join(silent)}.") if silent else left


def _lines(
    sentences: Sequence[str], nothing: str, where: str, most: int = _LINES
) -> tuple[str, ...]:
    """At most three, each a sentence; where there are more, the last says so."""
    lines = [f"{words[:1].upper()}{words[1:].rstrip('.')}." for words in sentences or (nothing,)]
    if len(lines) <= most:
        return tuple(lines)
    more = f"{len(lines) - most + 1} more below: {where}."
    return (*lines[: most - 1], more)


def brief(report: Report, *, private: bool) -> Document:
    """What a terminal shows: the answer, criteria, worst groups, linkage, threats, notes."""
    release = report.summary
    contest = contest_section(report)
    sections = [
        replace(criteria_section(report), words=""),
        rule_set_section(report),
        brief_treatments(report),
        None if contest is None else replace(contest, words=""),
        brief_worst_groups(report, private=private),
        brief_linkage(report),
        brief_columns(report),
        brief_threats(report),
        _brief_use(report),
        Section("", "\n".join(f"note: {note}" for note in report.notes)) if report.notes else None,
    ]
    return Document(
        "report",
        "",
        f"{release.label}: {size_in_words(report)}\nquasi-identifiers {', '.join(release.quasi)}; "
        f"sensitive {', '.join(release.sensitive) or 'none'}",
        tuple(section for section in sections if section is not None),
        answer=Answer(
            report.status, f"{_ANSWERS[report.status]}{but(report)}", but=bool(but(report))
        ),
        gist=short(report, private=private).gist,
    )


def _brief_use(report: Report) -> Section | None:
    return None if report.served is None else replace(report.served, words="")


# -- the first things a reader sees ----------------------------------------------------------------


def glance(report: Report) -> dict[str, int | float | str]:
    """The release in a few numbers; usefulness as far as it was measured."""
    summary = report.summary
    everybody = summary.people + summary.suppressed
    figures: dict[str, int | float | str] = {
        "people" if report.raw else "people published": few(report, summary.people),
        f"{report.group}s": few(report, summary.groups),
    }
    if report.noisy:  # nobody is in a noisy cell, and how many are is noise too
        figures = {"people, by noisy counts": few(report, summary.people)}
        return figures | {"cells published": few(report, summary.groups)}
    # Anybody sees it in the data, and the risks told beside it say it too.
    whose_unknown = report.evidence is not None and report.evidence.release.groups.owners_unknown
    figures[f"{'rows of the ' if whose_unknown else ''}smallest {report.group}"] = summary.smallest
    if report.raw:
        return figures
    figures["people suppressed"] = few(report, summary.suppressed)
    if summary.suppressed == 0 or report.audience == "private":
        figures[KEPT] = summary.people / everybody if everybody else 0.0
    return figures | {name: cost for name, cost in report.costs.items() if cost == cost}


# -- facts: the keys of the schema -----------------------------------------------------------------


def _facts(report: Report) -> dict[str, object]:
    public = report.audience == "public"
    counts = ("people", "groups", "suppressed")
    return {
        "schema_version": SCHEMA_VERSION,
        "made_by": f"sfumato {own_version()}",
        "audience": report.audience,
        "provenance": None if public else report.provenance.to_dict(),
        "holds": report.holds,
        "status": report.status,
        "headline": headline(report),
        "release": asdict(report.summary)
        | {name: few(report, getattr(report.summary, name)) for name in counts},
        "glance": glance(report),
        "warnings": [] if public else closing_words(report),
        "verdicts": [_finding(finding) for finding in report.findings],
        "rule_set": None if report.rules is None else rules_facts(report.rules),
        # Shares of few people would tell how few; the section on linkage tells what may be told.
        "linkage": None if public or report.linkage is None else _linkage(report.linkage),
        "columns": [asdict(column) for column in report.columns],
        "treatments": treatment_facts(report),
        "threats": [row.to_dict() for row in matrix(report)],
        "notes": report.notes,
    }


def _finding(finding: CriterionFinding) -> dict[str, object]:
    verdict = finding.verdict
    return {
        "criterion": verdict.criterion,
        "attribute": verdict.attribute,
        "status": verdict.status,
        "holds": verdict.holds,
        "required": verdict.required,
        "measured": verdict.measured,
        "at_most": verdict.at_most,
        "note": verdict.note,
        "worst": [asdict(group) for group in finding.worst],
    }


def _linkage(linkage: Linkage) -> dict[str, object]:
    chosen = linkage.population_uniqueness
    return {
        "people": linkage.people,
        "groups": linkage.groups,
        "thresholds": linkage.thresholds,
        "prosecutor": _risk(linkage.prosecutor),
        "journalist": _risk(linkage.journalist),
        "marketer": {
            "in_release": linkage.marketer,
            "in_population": linkage.marketer_in_population,
        },
        "population": linkage.source,
        "sample_uniqueness": linkage.sample_uniqueness,
        "population_uniqueness": None
        if chosen is None
        else {
            "sampling_fraction": linkage.sampling_fraction,
            "chosen": chosen.model,
            "share": chosen.share,
            "estimates": [asdict(estimate) for estimate in linkage.estimates],
        },
        "notes": linkage.notes,
        "reason": linkage.reason,
    }


def _risk(risk: Risk | None) -> dict[str, object] | None:
    """A risk without its array per group: a report has worst groups, not everybody."""
    names = ("highest", "at_most", "mean", "above", "at_highest", "unique")
    return None if risk is None else {name: getattr(risk, name) for name in names}
