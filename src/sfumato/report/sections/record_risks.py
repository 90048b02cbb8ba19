"""Records at risk as sections and documents: who is alone, in the file and in the population.

One section of the report gathers what is known of the records that are easiest to find; special
uniques, and who is found by several rows, have documents of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from sfumato.adversaries.linkage.presence import NAME as PRESENCE
from sfumato.adversaries.linkage.special_uniques import SpecialUniques, special_uniques
from sfumato.adversaries.several_rows import Knows, RowsReader
from sfumato.errors import InputError, SfumatoError
from sfumato.numbers import percent
from sfumato.release.beside import Headcount
from sfumato.release.release import Release
from sfumato.report.document import OF_TABLE, Document, Gist, Section, Sheet, cell_text, percentage
from sfumato.report.report import Report, few, few_of

_RANKED = 10  # combinations and values shown; all combinations are in the JSON
_READ = (
    "A minimal sample unique (MSU) is a set of columns by which somebody is alone in this file, "
    "and is not by fewer of them. A score adds up somebody's MSUs, the more the smaller they are: "
    "it ranks records, and is no chance. Shares of columns add up to more than 100%, for an MSU "
    "counts for each of its columns."
)


_SHARE = "share of people"
_TOLD = 3  # values that the terminal tells of somebody's rows
_SIZE = 3  # columns of special uniques in a report
_MOST_COUNTED = 200_000_000  # descriptions by combinations, a second or so of counting


def records_section(report: Report) -> Section | None:
    """Who is easiest to find, by every way of asking that was measured."""
    linked = report.linkage
    if linked is None or linked.prosecutor is None:
        return None
    people, limit = linked.people, linked.thresholds[0]
    rows: list[tuple[object, ...]] = []

    def tell(what: str, share: float, *, at_most: bool = False) -> None:
        told: tuple[object, object] = (
            few(report, round(share * people)),
            few_of(report, share, people),
        )
        if at_most and told[0]:
            told = f"at most {cell_text(told[0])}", f"at most {percentage(told[1])}"
        rows.append((what, *told))

    by_all = linked.prosecutor
    tell("alone by all quasi-identifiers", by_all.unique, at_most=by_all.at_most)
    found = _special(report)
    if found is not None:
        tell(f"alone by {found.size} columns or fewer", found.special / people)
    if linked.households is not None:
        household = linked.households
        tell(
            f"of a household found with a chance above {percent(limit)}",
            household.above[0],
            at_most=household.at_most,
        )
    if linked.journalist is not None:
        risk = f"found by a journalist with a chance above {percent(limit)}"
        tell(risk, linked.journalist.above[0], at_most=linked.journalist.at_most)
    notes = []
    chosen = linked.population_uniqueness
    if chosen is None:
        notes.append("Unique in the population: not estimated; give a sampling fraction.")
    elif chosen.share is not None and report.audience == "private":
        tell(f"alone in the population, estimated ({chosen.model})", chosen.share)
    for threat in report.threats:
        if threat.adversary == PRESENCE and threat.belief is not None:
            notes.append(f"To who has a register, {threat.learns}.")
    if found is not None and found.special and report.audience == "private":
        most = sorted(found.shares.items(), key=lambda one: -one[1])[:3]
        listed = ", ".join(f"{name} {percentage(share)}" for name, share in most)
        notes.append(f"Columns by their share of the SUDA scores: {listed}.")
    return Section(
        "Records at risk",
        "The people who are easiest to find, by who looks for them; one may count in more than one "
        "row.",
        (
            Sheet(
                ("at risk", "people", _SHARE),
                tuple(rows),
                notes=tuple(notes),
                percent=(_SHARE,),
            ),
        ),
    )


def _special(report: Report) -> SpecialUniques | None:
    """Special uniques, where they can be told and are soon counted."""
    evidence = report.evidence
    if evidence is None:
        return None
    columns = len(evidence.release.regions.columns)
    sets = sum(comb(columns, size) for size in range(1, min(_SIZE, columns) + 1))
    if sets * len(evidence.release.indistinguishable) > _MOST_COUNTED:
        return None
    try:
        return special_uniques(evidence.release, _SIZE)
    except SfumatoError:
        return None


def uniques_document(found: SpecialUniques) -> Document:
    """Special uniques as a document; what single values add is private."""
    people = found.people
    words = (
        f"{found.special:,} of {people:,} people are alone by {found.size} columns or fewer; "
        f"{found.unique:,} by all {len(found.columns)} together."
    )
    sections = [Section("Who is alone by few columns?", f"{words}\n\n{_READ}", (_sizes(found),))]
    if found.special:
        sections.append(Section("Which columns tell people apart", "", (_columns(found),)))
        sections.append(Section("Which combinations", "", (_combinations(found),)))
        values = tuple((value.column, value.value, value.share) for value in found.values(_RANKED))
        sheet = Sheet(("column", "value", "share of scores"), values, percent=("share of scores",))
        sections.append(Section("Which values (private)", "", (sheet,), private=True))
    listed = ", ".join(f"{row[0]} {percentage(row[1])}" for row in _columns(found).rows)
    return Document(
        "special-uniques",
        f"Special uniques of {found.label}",
        f"SUDA scores by {', '.join(found.columns)}, up to {found.size} columns at once.",
        tuple(sections),
        facts={
            "people": people,
            "columns": found.columns,
            "size": found.size,
            "special": found.special,
            "unique": found.unique,
            "uniques_by_size": found.by_size,
            "share_of_scores": found.shares,
            "highest_score": float(found.score.max(initial=0.0)),
            "sampling_fraction": found.sampling_fraction,
            "combinations": [
                {"columns": combination.columns, "people": combination.people}
                for combination in found.combinations
            ],
        },
        private=OF_TABLE,
        gist=Gist(
            {
                "Columns": f"by their share of the scores: {listed}" if found.special else "",
                "In all": words,
            },
            _combinations(found),
        ),
    )


def _sizes(found: SpecialUniques) -> Sheet:
    rows = []
    for place, many in enumerate(found.by_size):
        here = found.fewest == place + 1
        highest = float(found.score[here].max(initial=0.0)) if here.any() else None
        rows.append((place + 1, many, int(here.sum()), highest))
    notes = []
    if found.disclosure is not None:
        chances = found.disclosure[found.disclosure > 0]
        highest = float(chances.max(initial=0.0))
        notes.append(
            f"DIS-SUDA at a sampling fraction of {percentage(found.sampling_fraction)}: highest "
            f"{percent(highest)}, above 10% for {int(np.sum(chances > 0.1)):,} people."
        )
    return Sheet(
        ("columns", "MSUs", "people who need no fewer", "highest score"),
        tuple(rows),
        notes=tuple(notes),
    )


def _columns(found: SpecialUniques) -> Sheet:
    ranked = sorted(found.shares.items(), key=lambda one: -one[1])
    return Sheet(("column", "share of scores"), tuple(ranked), percent=("share of scores",))


def _combinations(found: SpecialUniques) -> Sheet:
    rows = tuple(
        (", ".join(combination.columns), combination.people)
        for combination in found.combinations[:_RANKED]
    )
    more = len(found.combinations) - len(rows)
    notes = (f"{more:,} further combinations; all are in the JSON.",) if more > 0 else ()
    return Sheet(("alone by", "people"), rows, notes=notes)


def _rows(known: object) -> str:
    return "1 row" if known == "1" else f"{known} rows"


def rows_document(release: Release, knows: Sequence[Knows]) -> Document:
    """What somebody learns who knows so many rows of a person, one after another."""
    whose: list[tuple[object, ...]] = []
    values: list[tuple[object, ...]] = []
    for known in knows:
        reader = RowsReader(known)
        about = list(release.by_attribute.values()) or [release.groups]
        attacks = [reader.attack(release, groups) for groups in about]
        parts = attacks[0].parts
        if parts is None:
            raise InputError(
                f"{release.label}: whose rows they are is not known; give the table, or the folder "
                "of a release with its private side"
            )
        alone = Headcount(parts.people_where(parts.candidates == 1), at_most=parts.at_least)
        share = parts.most_of_a_group(attacks[0].by_row.sizes)
        whose.append((str(known), int(parts.candidates.min()), str(alone), share))
        for threat in (row for attack in attacks for row in attack.threats()[1:]):
            told = threat.learns if threat.belief is None else str(threat.belief)
            people = None if threat.people is None else str(threat.people)
            way = threat.adversary.removeprefix(f"{reader.name}, ")
            values.append((str(known), threat.about, way, told, people))
    fits = ("rows known", "people who fit, at least", "people alone", "most of a group's rows")
    learns = ("rows known", "about", "a value that is", "before → after", "people moved")
    found = Sheet(fits, tuple(whose), percent=fits[3:])
    words = "Who fits has as many rows in each of the groups that the known rows lie in."
    sections = [Section("Whose rows are they?", words, (found,))]
    if values:
        sections.append(Section("What do they say?", "", (Sheet(learns, tuple(values), keys=3),)))
    return Document(
        "several-rows",
        f"Several rows a person: {release.label}",
        "Somebody knows the quasi-identifiers of some of a person's rows, and of everybody else's.",
        tuple(sections),
        facts={
            "knows": [str(knowledge) for knowledge in knows],
            "fewest": [row[1] for row in whose],
        },
        private=OF_TABLE,
        gist=Gist(
            {
                "Values": "; ".join(
                    f"knowing {_rows(row[0])}, {row[1]}, {row[2]}: {row[3]}"
                    for row in values[:_TOLD]
                ),
                "Found": "; ".join(
                    f"by {_rows(row[0])} {row[2]} people are alone" for row in whose
                ),
            },
            found,
        ),
    )
