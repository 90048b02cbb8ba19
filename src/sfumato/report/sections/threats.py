"""The threat matrix: every adversary we know, weak to strong, and what the policy says to her."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sfumato.adversaries.base import (
    FACTOR,
    NEARLY_SURE,
    BeliefChange,
    CatalogueEntry,
    Threat,
    chance,
)
from sfumato.adversaries.catalogue import ADVERSARIES, OUT_OF_REACH, entry_of
from sfumato.adversaries.linkage.presence import NAME as PRESENCE
from sfumato.criteria import CRITERIA
from sfumato.report.document import Chart, Document, Gist, Section, Series, Sheet
from sfumato.report.report import Report, few

# Rows come from the audit's threats, by name. An adversary who was not run on a release is still a
# row, which says how to have her measured.


@dataclass(frozen=True)
class ThreatRow:
    """One row of the matrix: the fields of a Threat, as a reader may be told of them.

    `people` is a text where a public report may not tell the number; `people_at_most`: so many or
    fewer. `broken` are those of `covered` that were not shown to hold, and so bound nobody.
    """

    adversary: str
    knows: str
    learns: str
    about: str | None
    people: int | str | None
    belief: BeliefChange | None
    covered: tuple[str, ...]
    status: str
    people_at_most: bool = False
    of_row: bool = False
    surest: BeliefChange | None = None
    broken: tuple[str, ...] = ()

    @property
    def highest(self) -> BeliefChange | None:
        """What she ends surest of, having moved; where nothing moved far, what moved most."""
        return self.belief if self.surest is None else self.surest

    @property
    def holding(self) -> tuple[str, ...]:
        """What bounds her and was shown to hold."""
        return tuple(name for name in self.covered if name not in self.broken)

    @property
    def people_told(self) -> int | str | None:
        """The people as a reader is told of them."""
        if not self.people_at_most:
            return self.people
        return f"at most {self._counted}"

    @property
    def people_in_short(self) -> int | str | None:
        """The same where there is little room."""
        return f"≤{self._counted}" if self.people_at_most else self.people

    @property
    def _counted(self) -> str:
        return self.people if isinstance(self.people, str) else f"{self.people:,}"

    def to_dict(self) -> dict[str, Any]:
        belief = self.belief
        moved: dict[str, Any] = {
            "value": None if belief is None else belief.value or None,
            "before": None if belief is None else belief.before,
            "after": None if belief is None else belief.after,
            "at_most": belief is not None and belief.at_most,
            "factor": None if belief is None else belief.factor,
            "surest": None if self.surest is None else asdict(self.surest),
        }
        row = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("belief", "surest")
        }
        return row | moved


def matrix(report: Report) -> list[ThreatRow]:
    """Every adversary we know, weak to strong; those unknown to the catalogue come last."""
    rows = []
    for entry in ADVERSARIES.values():
        own = [threat for threat in report.every_threat if entry.owns(threat.adversary)]
        rows += [_measured(report, threat, entry) for threat in own]
        if not own and not entry.of_rows_alone and (report.noisy or not entry.of_noise_alone):
            rows.append(_open(report, entry))
    uncatalogued = [threat for threat in report.every_threat if entry_of(threat.adversary) is None]
    return rows + [_measured(report, threat, None) for threat in uncatalogued]


@dataclass(frozen=True)
class FoldedThreat:
    """One adversary: the row that is worst for people, and how many columns she learns less of."""

    entry: CatalogueEntry | None
    worst: ThreatRow
    rows: tuple[ThreatRow, ...]

    @property
    def name(self) -> str:
        return self.worst.adversary if self.entry is None else self.entry.name

    @property
    def question(self) -> str:
        return f"{self.name}?" if self.entry is None else self.entry.question

    @property
    def about(self) -> str:
        """The column she learns most of, and how many others."""
        columns = list(dict.fromkeys(row.about for row in (self.worst, *self.rows) if row.about))
        more = f" and {len(columns) - 1} more" if len(columns) > 1 else ""
        return f"{columns[0]}{more}" if columns else about_of(self.worst) or ""

    @property
    def variants(self) -> str:
        """Her name, and those of variants of hers, the worst first."""
        return "; ".join(dict.fromkeys(row.adversary for row in (self.worst, *self.rows)))

    @property
    def covered(self) -> tuple[str, ...]:
        """What bounds her in every column that she learns of."""
        return tuple(
            name for name in self.worst.covered if all(name in row.covered for row in self.rows)
        )

    @property
    def sentence(self) -> str:
        """What she would be surest of, and what else moved most, in plain words."""
        most_moved = self.worst.belief
        assert most_moved is not None
        moved = "" if str(self.belief) == str(most_moved) else f"; most moved: {_moved(most_moved)}"
        return f"Worst case: {self.sureness(with_value=True)}{moved}."

    def sureness(self, *, with_value: bool) -> str:
        """How sure she would be, of what, and how sure she was before."""
        belief, about = self.belief, about_of(self.worst)
        subject = "which row is somebody's"
        if belief.value:
            subject = f"of somebody's {about}" + (f" ({belief.value})" if with_value else "")
        elif self.name == PRESENCE:
            subject = "that somebody is in it"
        most = "at most " if belief.at_most else ""
        return f"{most}{chance(belief.after)} sure {subject}, instead of {chance(belief.before)}"

    @property
    def belief(self) -> BeliefChange:
        """What she ends surest of."""
        belief = self.worst.highest
        assert belief is not None
        return belief

    @property
    def unbounded(self) -> bool:
        """Whether she learns something that no criterion of the policy bounds."""
        return any(row.people and not row.holding for row in self.rows)


def _moved(belief: BeliefChange) -> str:
    return f"{belief.value}, {belief}" if belief.value else str(belief)


def danger(row: ThreatRow) -> tuple[bool, float, float]:
    """What is worse is larger: she learns something, how sure she becomes, how far it moved."""
    if row.highest is None or row.belief is None:
        return False, 0.0, 0.0
    return bool(row.people), row.highest.after, row.belief.factor


def worst_first(report: Report) -> list[FoldedThreat]:
    """Who was measured, each once by the worst that she learns; the most dangerous first."""
    together: dict[str, list[ThreatRow]] = {}
    for row in matrix(report):
        if row.status == "measured" and row.belief is not None:
            entry = entry_of(row.adversary)
            together.setdefault(row.adversary if entry is None else entry.name, []).append(row)
    folded = [
        FoldedThreat(entry_of(rows[0].adversary), max(rows, key=danger), tuple(rows))
        for rows in together.values()
    ]
    return sorted(folded, key=lambda threat: danger(threat.worst), reverse=True)


def about_of(threat: Threat | ThreatRow) -> str | None:
    """What she would learn of: a column, or whose row it is; None where neither was measured."""
    entry = entry_of(threat.adversary)
    return entry.about if threat.about is None and entry is not None else threat.about


def _bounds(covered: Sequence[str], broken: Sequence[str]) -> str:
    bounds = (f"{name} (not kept)" if name in broken else name for name in covered)
    return ", ".join(bounds) or "no criterion"


# The columns of the matrix, by what heads them on a page. JSON has the fields of ThreatRow.
COLUMNS: dict[str, Callable[[ThreatRow], object]] = {
    "adversary": lambda row: row.adversary,
    "knows": lambda row: row.knows,
    "about": lambda row: f"{about_of(row)} of a row" if row.of_row else about_of(row),
    "before → after": lambda row: None if row.belief is None else str(row.belief),
    "people": lambda row: row.people_told,
    "would learn": lambda row: row.learns,
    "bounded by": lambda row: _bounds(row.covered, row.broken),
    "status": lambda row: row.status.replace("_", " "),
}
# Those that a terminal has room for, by what heads them there.
BRIEF_COLUMNS = {
    "adversary": "adversary",
    "about": "about",
    "before → after": "before → after",
    f"people moved more than {FACTOR:g}×": "people",
    "bounded by": "bounded by",
}


def _measured(report: Report, threat: Threat, entry: CatalogueEntry | None) -> ThreatRow:
    """A threat as the reader of this report may be told of it."""
    learns = threat.learns
    if report.audience == "public" and any(sign.isdigit() for sign in learns):
        # The adversary's own words hold counts.
        learns = entry.learns if entry is not None else "told to the owner of the data only"
    people = threat.people
    cells: dict[str, Any] = {field.name: getattr(threat, field.name) for field in fields(threat)}
    cells |= {
        "learns": learns,
        "people": None if people is None else few(report, people.number),
        "people_at_most": people is not None and people.at_most,
        "broken": _broken(report, threat),
    }
    return ThreatRow(**cells)


def _broken(report: Report, threat: Threat) -> tuple[str, ...]:
    """Criteria that should bound her in this column, and were not shown to hold there."""
    failing = {
        verdict.criterion
        for verdict in report.verdicts
        if not verdict.holds and verdict.attribute in (None, "", threat.about)
    }
    return tuple(name for name in threat.covered if name in failing)


def _open(report: Report, entry: CatalogueEntry) -> ThreatRow:
    if report.noisy:
        why = "not measured: counts are noisy, and whatever she knows the guarantee bounds her"
        return ThreatRow(entry.name, entry.knows, why, None, None, None, (), "not_applicable")
    if why := _undefined(report, entry):
        return ThreatRow(entry.name, entry.knows, why, None, None, None, (), "not_applicable")
    criteria = report.evidence.criteria if report.evidence is not None else ()
    covered = tuple(
        dict.fromkeys(criterion.name for criterion in criteria if criterion.against == entry.name)
    )
    why = f"not measured on this release; to have it measured, {entry.measure}"
    return ThreatRow(entry.name, entry.knows, why, None, None, None, covered, "not_measured")


def _undefined(report: Report, entry: CatalogueEntry) -> str:
    """Why she cannot be measured on this release at all; empty where she can, or may be."""
    if report.evidence is None:
        return ""
    release = report.evidence.release
    if entry.undoes_chance and not entry.applies(release):
        return "nothing was altered by chance, so there is nothing to undo"
    reasons = [entry.unmeasurable(release, groups) for groups in release.by_attribute.values()]
    return reasons[0] if all(reasons) else ""


@dataclass(frozen=True)
class Unbounded:
    """An adversary who learns something of a column, and the criteria that could bound that."""

    adversary: str
    about: str | None
    criteria: tuple[str, ...]


def uncovered(report: Report) -> list[Unbounded]:
    """The adversaries that were measured and are bounded by nothing, though they could be.

    Only criteria that can judge the column are named: not every one can where people have several
    values.
    """
    unbounded = []
    for row in matrix(report):
        if row.status != "measured" or row.covered or not row.people:
            continue
        entry = ADVERSARIES.get(row.adversary)
        fit = () if entry is None else entry.criteria
        fit = tuple(name for name in fit if _applies(name, row.about, report))
        if fit:
            unbounded.append(Unbounded(row.adversary, row.about, fit))
    return list(dict.fromkeys(unbounded))


def _applies(name: str, about: str | None, report: Report) -> bool:
    """Whether a criterion of this name could judge the column; most take one value a person."""
    criterion = CRITERIA[name]
    if report.evidence is None:
        return True
    if report.evidence.release.regions.exact and criterion.about_identity:
        return False  # it asks about exact quasi-identifiers, which no bucket changes
    if about is None:
        return True
    release = report.evidence.release
    groups = release.by_attribute.get(about)
    if groups is None or groups.single_valued or criterion.of_several or release.by_row is not None:
        return True
    return groups.beside.unlinked is not None and (
        criterion.scope == "group" or criterion.of_rows  # by row and by person
    )


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
        f"more than a release. On request: by a command of her own.\n\n{OUT_OF_REACH}"
    )
    section = Section("Who is asked", words, (Sheet(columns, rows),))
    brief = Sheet(
        ("from weak to strong", "known as", "runs", "bounded by"),
        tuple(
            (entry.question, entry.name, entry.runs, ", ".join(entry.criteria) or "no criterion")
            for entry in ADVERSARIES.values()
        ),
        keys=2,
    )
    closing = {
        "Runs": words.partition("\n")[0],
        "More": "--verbose tells what each knows, how to have her measured, and who is beyond",
    }
    why = "is about adversaries, not about any data"
    title = "Adversaries, from weak to strong"
    gist = Gist(closing, brief)
    return Document("adversaries", title, "", (section,), may_go_out=why, gist=gist)


def threats_section(report: Report) -> Section:
    """One row an adversary, the most dangerous first, and a picture of the worst cases."""
    rows = matrix(report)
    picture = beliefs_chart(rows)
    words = (
        "The most dangerous first. Before and after: what the adversary believes without the "
        "release and with it, of the person and the value that she ends surest of, among those of "
        "whom it moved far. People: for how many "
        f"it moves by more than a factor {FACTOR:g}, counting how much larger the belief or how "
        f"much smaller the doubt becomes (less doubt than {chance(NEARLY_SURE)} is not told "
        "apart). What was not measured is not shown safe."
    )
    return Section(
        "Who could learn what",
        words if report.noisy else f"{words}\n\n{OUT_OF_REACH}",
        (*_folded_sheets(report), _every_row(rows)),
        () if picture is None else (picture,),
    )


def _folded_sheets(report: Report) -> Iterator[Sheet]:
    """Who was measured, by the worst that she learns; and who was not, by how to have that done."""
    measured = tuple(
        (
            threat.question,
            threat.variants,
            str(threat.belief),
            threat.worst.people_told,
            threat.sentence,
            _bounds(threat.covered, [name for row in threat.rows for name in row.broken]),
        )
        for threat in worst_first(report)
    )
    columns = ("asks", "known as", "before → after", "people", "in words", "bounded by")
    if measured:
        yield Sheet(columns, measured, keys=2)
    known = {threat.name for threat in worst_first(report)}
    unmeasured: dict[str, tuple[str, str, str]] = {}
    for row in matrix(report):
        entry = entry_of(row.adversary)
        name = row.adversary if entry is None else entry.name
        if row.belief is None and name not in known:
            question = name if entry is None else entry.question
            unmeasured.setdefault(name, (question, name, row.learns))
    if unmeasured:
        title = "Not measured, which is not to say safe"
        yield Sheet(("asks", "known as", "why"), tuple(unmeasured.values()), title, keys=2)


def _every_row(rows: Sequence[ThreatRow]) -> Sheet:
    """Each adversary about each column, weak to strong: for who wants to know it all."""
    cells = tuple(tuple(tell(row) for tell in COLUMNS.values()) for row in rows)
    title = "Every adversary about every column, from weak to strong"
    return Sheet(tuple(COLUMNS), cells, title, folded=True)


def brief_threats(report: Report) -> Section:
    """Who was measured, in one line each; what was not, in one line for all."""
    columns = [COLUMNS[column] for column in BRIEF_COLUMNS.values()]
    rows = tuple(
        tuple(tell(row) for tell in columns) for row in matrix(report) if row.status == "measured"
    )
    unmeasured: dict[str, list[str]] = {}
    for threat in report.every_threat:
        if threat.status != "measured":
            about = f" ({threat.about})" if threat.about else ""
            unmeasured.setdefault(threat.learns, []).append(f"{threat.adversary}{about}")
    notes = [
        f"{', '.join(dict.fromkeys(adversaries))}: {why}" for why, adversaries in unmeasured.items()
    ]
    headings = tuple(BRIEF_COLUMNS)
    sheet = Sheet(
        headings, rows, notes=(*notes, *(() if report.noisy else (OUT_OF_REACH,))), keys=2
    )
    return Section("Threats: belief about the person for whom it moves most", "", (sheet,))


def beliefs_chart(rows: Sequence[ThreatRow]) -> Chart | None:
    """A slope for each adversary: what she ends surest of, of those of whom it moved far."""
    worst: dict[str, tuple[ThreatRow, BeliefChange]] = {}
    for row in rows:
        belief, known = row.highest, worst.get(row.adversary)
        if belief is not None and (known is None or danger(row) > danger(known[0])):
            worst[row.adversary] = row, belief
    if not worst:
        return None
    moves = sorted(worst.values(), key=lambda move: -move[1].after)
    bounded = sum(bool(row.holding) for row, _ in moves)
    return Chart(
        "What each adversary believes of one person, before and after",
        "slopes",
        "",
        "what the adversary believes of the person of whom she is surest",
        tuple(_slope(row, belief) for row, belief in moves),
        percent="y",
        name="beliefs",
        alt="The steeper a line, the more the release tells the adversary; each is about the "
        f"person of whom she is surest. Surest: {_asked(moves[0][0])} {moves[0][1]}. Least sure: "
        f"{_asked(moves[-1][0])} {moves[-1][1]}. {bounded} of {len(moves)} are bounded by the "
        "policy.",
    )


def _asked(row: ThreatRow) -> str:
    entry = entry_of(row.adversary)
    return row.adversary if entry is None else entry.question


def _slope(row: ThreatRow, belief: BeliefChange) -> Series:
    about = about_of(row)
    learnt = f"{about}: {belief.value}" if about and belief.value else about
    at_most = "at most " * belief.at_most
    return Series(
        _asked(row),
        ["before", "after"],
        [belief.before, belief.after],
        text=["", f"{row.adversary}, {learnt}" if learnt else row.adversary],
        labels=[chance(belief.before), f"{at_most}{chance(belief.after)}"],
        strong=[False, not row.holding],
    )
