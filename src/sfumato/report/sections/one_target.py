"""One target as a document: the rows that may be hers, and what is believed of her.

Stands apart: it alone knows the search for one target (`adversaries/linkage/one_target`).
"""

from __future__ import annotations

from sfumato.adversaries.linkage.one_target import FoundTarget
from sfumato.numbers import percent
from sfumato.release.release import Release
from sfumato.report.document import Chart, Document, Gist, Section, Series, Sheet

_SHOWN, _DRAWN = 12, 12  # groups, and values


def target_document(release: Release, found: FoundTarget) -> Document:
    """Where she may be, and how sure anybody is of her value who knows that much."""
    known = ", ".join(f"{column} {value}" for column, value in found.described.items())
    rows = found.candidates
    aside = ", facts aside" if found.knowing else ""
    where = (
        f"{rows:,} of {release.people:,} rows may be hers{aside}, in {len(found.groups):,} of "
        f"{len(release.groups):,} groups; who takes one of them for hers is right with a chance of "
        f"{percent(found.chance)}."
    )
    sections = [Section("Which rows may be hers", where, (_groups(release, found),), private=True)]
    told = {"Rows": where}
    if found.beliefs:
        sections.append(_believed(found))
        told["Belief"] = sections[-1].words
    besides = f"; besides: {' and '.join(found.knowing)}" if found.knowing else ""
    return Document(
        "target",
        f"Looking for one person in {release.label}",
        f"Known of her: {known or 'nothing but that she is in it'}{besides}.",
        tuple(sections),
        facts={
            "release": release.label,
            "target": dict(found.described),
            "knowing": list(found.knowing),
            "attribute": found.attribute,
            "rows": rows,
            "of_rows": release.people,
            "groups": len(found.groups),
            "chance": found.chance,
            "beliefs": [
                {
                    "value": belief.value,
                    "before": belief.before,
                    "least": belief.least,
                    "most": belief.most,
                }
                for belief in found.beliefs
            ],
        },
        private="tells of a person who was asked about",
        gist=Gist(told, _values(found) if found.beliefs else None),
    )


def _believed(found: FoundTarget) -> Section:
    likely = found.beliefs[0]
    believed = (
        f"The likeliest {found.attribute} is {likely.value!r}: {likely.told}; of everybody in the "
        f"release {percent(likely.before)} have it."
    )
    if len(found.groups) > 1:
        believed += " She may be in any of the groups: told is the least and the most."
    title = f"What is believed of her {found.attribute}"
    return Section(title, believed, (_values(found),), _chart(found))


def _groups(release: Release, found: FoundTarget) -> Sheet:
    listed = sorted(
        zip(found.groups, found.rows, found.people, strict=True), key=lambda one: -one[1]
    )
    rows = tuple(
        (release.regions.name(group), many, people) for group, many, people in listed[:_SHOWN]
    )
    left = len(listed) - len(rows)
    notes = (f"{left:,} more groups fit",) if left else ()
    return Sheet(("group", "rows that may be hers", "rows there"), rows, notes=notes)


def _values(found: FoundTarget) -> Sheet:
    rows = tuple(
        (belief.value, belief.before, belief.least, belief.most) for belief in found.beliefs
    )
    columns = (str(found.attribute), "of everybody", "of her, at least", "of her, at most")
    return Sheet(columns, rows, percent=columns[1:])


def _chart(found: FoundTarget) -> tuple[Chart, ...]:
    shown = found.beliefs[:_DRAWN]
    names = [belief.value for belief in shown]
    likely = shown[0]
    return (
        Chart(
            f"Belief in her {found.attribute}, before and after",
            "bars",
            "belief",
            str(found.attribute),
            (
                Series("before: of everybody", [belief.before for belief in shown], names),
                Series("after: of her, at most", [belief.most for belief in shown], names),
            ),
            percent="x",
            name="target-beliefs",
            alt=f"Most is believed of {likely.value!r}: {percent(likely.before)} before, "
            f"{likely.told} after.",
        ),
    )
