"""An intersection attack and a check of the ledger, as documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.adversaries.composition.attack import IntersectionAttack
from sfumato.ledger.check import MOST_PAIRED
from sfumato.ledger.finding import Check, Finding
from sfumato.ledger.ledger import LedgerEntry
from sfumato.ledger.spent import Spent
from sfumato.numbers import fraction, percent, shortest
from sfumato.report.document import OF_TABLE, Answer, Chart, Document, Gist, Section, Series, Sheet
from sfumato.schema.region import text_of

_BASIS = {
    "targets": "the people given",
    "people": "the people the new release was made of",
    "population": "the population given",
    "combinations": "every combination of quasi-identifiers its groups allow, since its people are "
    "not known",
}


def attack_document(attack: IntersectionAttack) -> Document:
    """What somebody learns who holds all these releases; no single person is shown."""
    summary = attack.summary
    about = (
        f"Somebody knows {'some of ' if summary.partly_known else ''}the quasi-identifiers of "
        f"{summary.people:,} {summary.unit} and that they are in "
        f"all of {', '.join(attack.releases)}. She finds each of them in every release and keeps "
        f"the values of {attack.attribute!r} that all of them show."
    )
    facts = {
        "attribute": attack.attribute,
        "releases": list(attack.releases),
        **{name: value for name, value in summary.__dict__.items() if name != "curve"},
        "exposed": summary.exposed,
        "perfect_breach": summary.perfect_breach,
        "precision": summary.precision,
        "curve": [point.__dict__ for point in summary.curve],
        "beliefs": [point.__dict__ for point in summary.beliefs],
        "notes": list(attack.notes),
    }
    sections = [_people(attack), _by_release(attack)]
    if summary.located:
        sections[1:1] = [_curve(attack), _beliefs(attack)]
    title = "What these releases give away together"
    return Document("intersect", title, about, tuple(sections), facts, OF_TABLE, gist=_gist(attack))


def _gist(attack: IntersectionAttack) -> Gist:
    """Who is exposed, and by how much that is more than any one release does."""
    summary, (people, *_) = attack.summary, (_people(attack),)
    by_one = summary.exposed_by_one
    exposure = (
        f"one value is left for {summary.exposed:,} of the {summary.located:,} {summary.unit} "
        f"located; by one release alone for {by_one:,}"
    )
    return Gist(
        {
            "Guessing": people.words,
            "Values left": _by_release(attack).words,
            "Mind": "; ".join(attack.notes),
            "Together": exposure if summary.located else "nobody could be located in every release",
        },
        replace(people.tables[0], percent=("share",)),
    )


def _people(attack: IntersectionAttack) -> Section:
    summary = attack.summary

    def row(group: str, people: int, of: int) -> tuple[object, ...]:
        return group, people, people / of if of else None

    rows = [
        row("located in every release", summary.located, summary.people),
        row("not locatable in some release (not safe)", summary.not_locatable, summary.people),
        row(
            "of these, one value left by the others", summary.not_locatable_exposed, summary.people
        ),
        row("no value left: not in all of them", summary.inconsistent, summary.people),
        row("one value left (perfect breach)", summary.exposed, summary.located),
        row("one value left by one release alone", summary.exposed_by_one, summary.located),
        row("fewer values left than by any one release", summary.vulnerable, summary.located),
    ]
    words = ""
    if summary.precision is not None:
        right = percent(summary.precision)
        words = f"Guessing the likeliest value is right for {right} of those located."
    notes = (*attack.notes, f"shares of the last three are of {summary.unit} located")
    sheet = Sheet((summary.unit, "number", "share"), tuple(rows), notes=notes, percent=("share",))
    return Section("Who is found, and who is exposed", words, (sheet,))


_EXPOSED = 20  # people told one by one


def exposed_section(attack: IntersectionAttack) -> Section:
    """Private: of whom one value is left, those first whom no release exposes by itself."""
    people = alone = number = 0
    first: list[pa.Table] = []
    for targets in attack.targets_by_part():
        left = targets.filter((pc.field("status") == "located") & (pc.field("after") == 1))
        people += int(pc.sum(left["people"]).as_py() or 0)
        alone += int(pc.sum(left.filter(pc.field("drop") == 0)["people"]).as_py() or 0)
        number += left.num_rows
        first = [pa.concat_tables([*first, left]).sort_by([("drop", "descending")])[:_EXPOSED]]
    rows = tuple(
        (
            ", ".join(f"{name} {text_of(value)}" for name, value in row["target"].items()),
            row["people"],
            row["values"][0],
            " and ".join("?" if n is None else f"{n:,}" for n in row["before"]),
        )
        for row in first[0].to_pylist()
    )
    columns = ("who", attack.summary.unit, attack.attribute, "values left by each release")
    hidden = number - len(rows)
    notes = (f"{hidden:,} more are exposed so",) if hidden else ()
    words = (
        f"Of {people:,} {attack.summary.unit} one value is left; {alone:,} of them are exposed by "
        "one release alone. Those come first whom only all together expose."
        if people
        else "Nobody: of everybody several values are left."
    )
    sheets = (Sheet(columns, rows, notes=notes),) if rows else ()
    return Section("Whom they expose", words, sheets, private=True)


def _curve(attack: IntersectionAttack) -> Section:
    curve, unit = attack.summary.curve, attack.summary.unit
    names = ("confidence at least", f"share of {unit}", "guess right")
    rows = tuple((p.confidence, p.share, p.precision) for p in curve)
    sheet = Sheet(names, rows, percent=names)
    steps = [p.confidence for p in curve]
    lines = [Series("known with at least this confidence", steps, [p.share for p in curve])]
    if attack.summary.precision is not None:
        lines.append(Series("guess right among them", steps, [p.precision for p in curve]))
    alt = (
        f"{percent(curve[0].share)} of {unit} are known with confidence "
        f"{percent(curve[0].confidence)} or more, all with {percent(curve[-1].confidence)} or more."
    )
    figure = Chart(
        f"{unit.capitalize()} by how surely their value is known",
        "lines",
        "confidence",
        f"share of {unit}",
        tuple(lines),
        alt=alt,
        percent="xy",
        name="confidence",
    )
    return Section("How surely", "", (sheet,), (figure,))


def _beliefs(attack: IntersectionAttack) -> Section:
    """By what counts tell beyond which values are left."""
    columns = ("belief at least", f"share of {attack.summary.unit}", "guess right")
    rows = tuple((p.confidence, p.share, p.precision) for p in attack.summary.beliefs)
    words = "Her belief in the likeliest value, by the counts that all releases tell."
    return Section("How likely", words, (Sheet(columns, rows, percent=columns),))


def _by_release(attack: IntersectionAttack) -> Section:
    summary = attack.summary
    figures = (attack.releases, summary.before, summary.group_size, summary.correctly_located)
    rows: list[tuple[object, ...]] = list(zip(*figures, strict=True))
    rows.append(("all together", summary.after, None, None))
    columns = ("release", "values left (mean)", "people of the group (mean)", "correctly located")
    return Section(
        "Release by release",
        f"The release that leaves fewest leaves {summary.fewest_before:.3g} values on average, all "
        f"together {summary.after:.3g}."
        if summary.located
        else "",
        (Sheet(columns, tuple(rows), percent=columns[3:]),),
    )


def check_document(check: Check) -> Document:
    """What a new release adds up to with those of the ledger."""
    allowed_people = (
        f"at most {shortest(100 * fraction(check.share))}% of people" if check.share else "nobody"
    )
    if check.counting == "added":
        allowed_people += ", beyond those whom earlier releases expose by themselves,"
    bound = (
        f"{check.label} together with {_releases(len(check.earlier), 'earlier release')}, for "
        f"{_BASIS[check.basis]}: {allowed_people} may {check.who_counts}."
    )
    about = f"{bound} {_STATUS[check.status]}"
    if check.partly_known:
        about += (
            f" Not everything is known of {check.partly_known:,} of them: whoever knows more may "
            "learn more."
        )
    sections = [_finding(finding, check) for finding in check.findings]
    if check.notes:
        sections.append(Section("Besides", "; ".join(check.notes)))
    if check.spent:
        sections.append(_promises(check.spent))
    gist = Gist(
        {
            "Mind": "; ".join(check.notes),
            "Promises": _in_all(check.spent),
            "Next": " ".join(
                f"{finding.attribute}: {words}"
                for finding in check.findings
                if (words := finding.reason or _blame(finding, check))
            ),
        },
        _together(check),
        bound,
    )
    return Document(
        "ledger-check",
        "What this adds up to",
        about,
        tuple(sections),
        check.to_dict(),
        "tells how many people are exposed",
        answer=Answer(check.status, _STATUS[check.status]),
        gist=gist,
    )


def _together(check: Check) -> Sheet:
    """People exposed, a row an attribute; the worst first."""
    rows = [
        (
            finding.attribute,
            _between(*finding.together),
            _between(0 if finding.alone.at_most else finding.alone.number, finding.alone.number),
            finding.before,
            str(finding.people),
        )
        for finding in sorted(check.findings, key=lambda finding: -finding.together[1])
    ]
    columns = ("about", "exposed by all", "by the new one", "by those before", "of people")
    return Sheet(columns, tuple(rows), keys=2)


def _between(low: int, high: int) -> int | str:
    return high if low == high else f"{low:,} to {high:,}"


_STATUS = {
    "holds": "That holds.",
    "violated": "That is violated.",
    "could_not_judge": "That cannot be judged.",
}


def _releases(many: int, noun: str = "release") -> str:
    return f"{many or 'no'} {noun}{'' if many in (0, 1) else 's'}"


def _blame(finding: Finding, check: Check) -> str:
    """Which earlier releases are to blame where the bound is violated, and what can be done."""
    allowed = fraction(check.share) * finding.people.number
    if finding.counted(check.counting)[0] <= allowed:
        return ""
    words = "Which earlier release is to blame cannot be told."
    if len(finding.culprits) == 1 and (many := len(finding.culprits[0])) > 2:
        few = "any one of them (pairs of so many were not tried)"
        few = few if many > MOST_PAIRED else "any one or two of them"
        words = f"It would hold without all {many} earlier releases, but not without {few}."
    elif finding.culprits:
        named = [" and ".join(map(repr, releases)) for releases in finding.culprits]
        words = f"It would hold without {', or without '.join(named)}."
    elif finding.alone.number > allowed:
        words = "The new release exceeds it by itself: coarsen it."
    already = finding.before or 0
    if check.counting == "all" and already > allowed:
        words += (
            f" Earlier releases expose {already:,} people by themselves, more than it allows: "
            "bound what the new one adds (counting = added)."
        )
    return words


def _finding(finding: Finding, check: Check) -> Section:
    low, high = finding.together
    regions = check.basis == "combinations"  # whose people are not known
    together: list[tuple[object, ...]] = [("all together", low)]
    if low < high:
        together = [("all together, at least", low), ("all together, at most", high)]
    rows: list[tuple[object, ...]] = [
        (
            f"the new release by itself{', at most' if finding.alone.at_most else ''}",
            finding.alone.number,
        ),
        ("all earlier ones by themselves", finding.before),
        *(
            (f"the new one and {name}{', at most' if regions and people else ''}", people)
            for name, people in finding.by_release
        ),
        *together,
    ]
    if finding.added is not None:
        low, high = finding.added
        label = "of these, by no earlier ones alone: added"
        added: list[tuple[object, ...]] = [(label, low)]
        if low < high:
            added = [(f"{label}, at least", low), (f"{label}, at most", high)]
        rows += added
    notes = [f"of {finding.people} people"]
    if finding.not_located:
        notes.append(f"{finding.not_located:,} more were not found in the new release")
    sheet = Sheet(("exposed by", "people"), tuple(rows), notes=tuple(notes))
    return Section(finding.attribute, finding.reason or _blame(finding, check), (sheet,))


def _in_all(spent: Sequence[Spent]) -> str:
    totalled = (budget for budget in spent if budget.basic is not None)
    return "; ".join(
        f"{budget.about} ({budget.neighbours}): {budget.basic} in all" for budget in totalled
    )


def _promises(spent: Sequence[Spent]) -> Section:
    """What the promises of randomised releases add up to."""
    columns = ("about", "neighbours", "releases", "sum", "OpenDP", "others")
    rows = tuple(
        (
            budget.about,
            budget.neighbours,
            budget.releases,
            None if budget.basic is None else str(budget.basic),
            None if budget.tighter is None else str(budget.tighter),
            budget.unprotected,
        )
        for budget in spent
    )
    words = (
        "What randomised releases about the same people promise together: by the sum, and by "
        "OpenDP at a small delta, which is the smaller epsilon where releases are many. Others are "
        "releases without such a promise."
    )
    notes = tuple(dict.fromkeys(budget.note for budget in spent if budget.note))
    return Section("Promises", words, (Sheet(columns, rows, notes=notes),))


def list_document(
    path: str, entries: Sequence[LedgerEntry], spent: Sequence[Spent] = ()
) -> Document:
    """The releases of a ledger."""
    columns = ("name", "about", "added", "scheme", "people", "groups")
    rows = tuple(tuple(getattr(entry, column) for column in columns) for entry in entries)
    sections = [Section("Releases", "", (Sheet(columns, rows),))]
    if spent:
        sections.append(_promises(spent))
    facts = {
        "releases": [entry.to_dict() for entry in entries],
        "spent": [budget.to_dict() for budget in spent],
    }
    about = f"{_releases(len(entries))} in {path}"
    gist = Gist(
        {
            "Promises": _in_all(spent),
            "Mind": "; ".join(dict.fromkeys(budget.note for budget in spent if budget.note)),
            "In all": about,
        },
        Sheet(columns, tuple(reversed(rows))),
        "",
    )
    return Document("ledger", "Ledger", about, tuple(sections), facts, gist=gist)
