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
from sfumato.adversaries.several_rows import RowsReader
from sfumato.errors import InputError, SfumatoError
from sfumato.numbers import percent
from sfumato.release.beside import Headcount
from sfumato.release.release import Release
from sfumato.release.signatures import Knows
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
_MOST_VALUES = 3  # values that the terminal tells of somebody's rows
_SIZE = 3  # columns of special uniques in a report
_MOST_COUNTED = 200_000_000  # descriptions by combinations, a second or so of counting


def records_section(report: Report) -> Section | None:
    """Who is easiest to find, by every way of asking that was measured."""
    linked = report.linkage
    if linked is None or linked.prosecutor is None:
        return None
    people, limit = linked.people, linked.thresholds[0]
    rows: list[tuple[object, ...]] = []

    def tell(risk_words: str, share: float, *, at_most: bool = False) -> None:
        figures: tuple[object, object] = (
            few(report, round(share * people)),
            few_of(report, share, people),
        )
        if at_most and figures[0]:
            figures = f"at most {cell_text(figures[0])}", f"at most {percentage(figures[1])}"
        rows.append((risk_words, *figures))

    by_all = linked.prosecutor
    tell("alone by all quasi-identifiers", by_all.unique, at_most=by_all.at_most)
    uniques = _special(report)
    if uniques is not None:
        tell(f"alone by {uniques.size} columns or fewer", uniques.special / people)
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
    if uniques is not None and uniques.special and report.audience == "private":
        most = sorted(uniques.shares.items(), key=lambda column_share: -column_share[1])[:3]
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


def uniques_document(uniques: SpecialUniques) -> Document:
    """Special uniques as a document; what single values add is private."""
    people = uniques.people
    words = (
        f"{uniques.special:,} of {people:,} people are alone by {uniques.size} columns or fewer; "
        f"{uniques.unique:,} by all {len(uniques.columns)} together."
    )
    sections = [Section("Who is alone by few columns?", f"{words}\n\n{_READ}", (_sizes(uniques),))]
    if uniques.special:
        sections.append(Section("Which columns tell people apart", "", (_columns(uniques),)))
        sections.append(Section("Which combinations", "", (_combinations(uniques),)))
        values = tuple(
            (value.column, value.value, value.share) for value in uniques.values(_RANKED)
        )
        sheet = Sheet(("column", "value", "share of scores"), values, percent=("share of scores",))
        sections.append(Section("Which values (private)", "", (sheet,), private=True))
    listed = ", ".join(f"{row[0]} {percentage(row[1])}" for row in _columns(uniques).rows)
    return Document(
        "special-uniques",
        f"Special uniques of {uniques.label}",
        f"SUDA scores by {', '.join(uniques.columns)}, up to {uniques.size} columns at once.",
        tuple(sections),
        facts={
            "people": people,
            "columns": uniques.columns,
            "size": uniques.size,
            "special": uniques.special,
            "unique": uniques.unique,
            "uniques_by_size": uniques.by_size,
            "share_of_scores": uniques.shares,
            "highest_score": float(uniques.score.max(initial=0.0)),
            "sampling_fraction": uniques.sampling_fraction,
            "combinations": [
                {"columns": combination.columns, "people": combination.people}
                for combination in uniques.combinations
            ],
        },
        private=OF_TABLE,
        gist=Gist(
            {
                "Columns": f"by their share of the scores: {listed}" if uniques.special else "",
                "In all": words,
            },
            _combinations(uniques),
        ),
    )


def _sizes(uniques: SpecialUniques) -> Sheet:
    rows = []
    for place, many in enumerate(uniques.by_size):
        here = uniques.fewest == place + 1
        highest = float(uniques.score[here].max(initial=0.0)) if here.any() else None
        rows.append((place + 1, many, int(here.sum()), highest))
    notes = []
    if uniques.disclosure is not None:
        chances = uniques.disclosure[uniques.disclosure > 0]
        highest = float(chances.max(initial=0.0))
        notes.append(
            f"DIS-SUDA at a sampling fraction of {percentage(uniques.sampling_fraction)}: highest "
            f"{percent(highest)}, above 10% for {int(np.sum(chances > 0.1)):,} people."
        )
    return Sheet(
        ("columns", "MSUs", "people who need no fewer", "highest score"),
        tuple(rows),
        notes=tuple(notes),
    )


def _columns(uniques: SpecialUniques) -> Sheet:
    ranked = sorted(uniques.shares.items(), key=lambda column_share: -column_share[1])
    return Sheet(("column", "share of scores"), tuple(ranked), percent=("share of scores",))


def _combinations(uniques: SpecialUniques) -> Sheet:
    rows = tuple(
        (", ".join(combination.columns), combination.people)
        for combination in uniques.combinations[:_RANKED]
    )
    more = len(uniques.combinations) - len(rows)
    notes = (f"{more:,} further combinations; all are in the JSON.",) if more > 0 else ()
    return Sheet(("alone by", "people"), rows, notes=notes)


def _rows(known: object) -> str:
    return "1 row" if known == "1" else f"{known} rows"


def rows_document(release: Release, knows: Sequence[Knows]) -> Document:
    """What somebody learns who knows so many rows of a person, one after another."""
    fitting: list[tuple[object, ...]] = []
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
        fitting.append((str(known), int(parts.candidates.min()), str(alone), share))
        for threat in (row for attack in attacks for row in attack.threats()[1:]):
            change = threat.learns if threat.belief is None else str(threat.belief)
            people = None if threat.people is None else str(threat.people)
            way = threat.adversary.removeprefix(f"{reader.name}, ")
            values.append((str(known), threat.about, way, change, people))
    fits = ("rows known", "people who fit, at least", "people alone", "most of a group's rows")
    learns = ("rows known", "about", "a value that is", "before → after", "people moved")
    fits_sheet = Sheet(fits, tuple(fitting), percent=fits[3:])
    words = "Who fits has as many rows in each of the groups that the known rows lie in."
    sections = [Section("Whose rows are they?", words, (fits_sheet,))]
    if values:
        sections.append(Section("What do they say?", "", (Sheet(learns, tuple(values), keys=3),)))
    return Document(
        "several-rows",
        f"Several rows a person: {release.label}",
        "Somebody knows the quasi-identifiers of some of a person's rows, and of everybody else's.",
        tuple(sections),
        facts={
            "knows": [str(knowledge) for knowledge in knows],
            "fewest": [row[1] for row in fitting],
        },
        private=OF_TABLE,
        gist=Gist(
            {
                "Values": "; ".join(
                    f"knowing {_rows(row[0])}, {row[1]}, {row[2]}: {row[3]}"
                    for row in values[:_MOST_VALUES]
                ),
                "Found": "; ".join(
                    f"by {_rows(row[0])} {row[2]} people are alone" for row in fitting
                ),
            },
            fits_sheet,
        ),
    )
