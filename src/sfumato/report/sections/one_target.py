"""One target as a document: the rows that may be hers, and what is believed of her.

It alone knows the search for one target (`adversaries/linkage/one_target`).
"""

from __future__ import annotations

from sfumato.adversaries.linkage.one_target import FoundTarget
from sfumato.numbers import percent
from sfumato.release.release import Release
from sfumato.report.document import Chart, Document, Gist, Section, Series, Sheet

_LISTED, _DRAWN = 12, 12  # groups, and values


def target_document(release: Release, target: FoundTarget) -> Document:
    """Where she may be, and how sure anybody is of her value who knows that much."""
    known = ", ".join(f"{column} {value}" for column, value in target.described.items())
    rows = target.candidates
    aside = ", facts aside" if target.knowing else ""
    where = (
        f"{rows:,} of {release.people:,} rows may be hers{aside}, in {len(target.groups):,} of "
        f"{len(release.groups):,} groups; who takes one of them for hers is right with a chance of "
        f"{percent(target.chance)}."
    )
    sections = [Section("Which rows may be hers", where, (_groups(release, target),), private=True)]
    closing = {"Rows": where}
    if target.beliefs:
        sections.append(_believed(target))
        closing["Belief"] = sections[-1].words
    besides = f"; besides: {' and '.join(target.knowing)}" if target.knowing else ""
    return Document(
        "target",
        f"Looking for one person in {release.label}",
        f"Known of her: {known or 'nothing but that she is in it'}{besides}.",
        tuple(sections),
        facts={
            "release": release.label,
            "target": dict(target.described),
            "knowing": list(target.knowing),
            "attribute": target.attribute,
            "rows": rows,
            "of_rows": release.people,
            "groups": len(target.groups),
            "chance": target.chance,
            "beliefs": [
                {
                    "value": belief.value,
                    "before": belief.before,
                    "least": belief.least,
                    "most": belief.most,
                }
                for belief in target.beliefs
            ],
        },
        private="tells of a person who was asked about",
        gist=Gist(closing, _values(target) if target.beliefs else None),
    )


def _believed(target: FoundTarget) -> Section:
    likely = target.beliefs[0]
    believed = (
        f"The likeliest {target.attribute} is {likely.value!r}: {likely.words}; of everybody in "
        f"the release {percent(likely.before)} have it."
    )
    if len(target.groups) > 1:
        believed += " She may be in any of the groups: told is the least and the most."
    title = f"What is believed of her {target.attribute}"
    return Section(title, believed, (_values(target),), _chart(target))


def _groups(release: Release, target: FoundTarget) -> Sheet:
    listed = sorted(
        zip(target.groups, target.rows, target.people, strict=True),
        key=lambda group_counts: -group_counts[1],
    )
    rows = tuple(
        (release.regions.name(group), many, people) for group, many, people in listed[:_LISTED]
    )
    left = len(listed) - len(rows)
    notes = (f"{left:,} more groups fit",) if left else ()
    return Sheet(("group", "rows that may be hers", "rows there"), rows, notes=notes)


def _values(target: FoundTarget) -> Sheet:
    rows = tuple(
        (belief.value, belief.before, belief.least, belief.most) for belief in target.beliefs
    )
    columns = (str(target.attribute), "of everybody", "of her, at least", "of her, at most")
    return Sheet(columns, rows, percent=columns[1:])


def _chart(target: FoundTarget) -> tuple[Chart, ...]:
    beliefs = target.beliefs[:_DRAWN]
    names = [belief.value for belief in beliefs]
    likely = beliefs[0]
    return (
        Chart(
            f"Belief in her {target.attribute}, before and after",
            "bars",
            "belief",
            str(target.attribute),
            (
                Series("before: of everybody", [belief.before for belief in beliefs], names),
                Series("after: of her, at most", [belief.most for belief in beliefs], names),
            ),
            percent="x",
            name="target-beliefs",
            alt=f"Most is believed of {likely.value!r}: {percent(likely.before)} before, "
            f"{likely.words} after.",
        ),
    )
