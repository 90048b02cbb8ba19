"""Relative threat as a document: what everybody may learn, and what members risk beyond it.

Charts show no single person's quasi-identifiers; a point is a case, and of many cases a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.by_row import OF_ROW
from sfumato.adversaries.relative_threat.guesses import Belief, Gain
from sfumato.adversaries.relative_threat.measures import Measures, threatened
from sfumato.adversaries.relative_threat.result import RelativeThreat
from sfumato.criteria.base import Verdict
from sfumato.numbers import percent
from sfumato.report.document import OF_TABLE, Chart, Document, Gist, Section, Series, Sheet, number

Party = Literal["attacker", "learner"]
MOST_POINTS = 2_000
_BIN = 0.25  # of log2 Ti


def scatter(threat: RelativeThreat, role: Party, title: str = "") -> Chart:
    """p_A against p_L of the true value, for people threatened under one of the two beliefs."""
    rows = threat.judged
    chosen = np.flatnonzero(_belief(threat, role).hit > 0)
    drawn = chosen
    if len(chosen) > MOST_POINTS:
        drawn = np.sort(np.random.default_rng(0).permutation(chosen)[:MOST_POINTS])
    p_l, p_a = rows.learner.p[drawn], rows.attacker.p[drawn]
    above = float(rows.people.n[chosen][rows.ti[chosen] > 1].sum())
    people = float(rows.people.n[chosen].sum())
    share = percent(above / people) if people else "none"
    sample = f", {len(drawn):,} of {len(chosen):,} cases drawn" if len(drawn) < len(chosen) else ""
    return Chart(
        title or f"Learner against attacker, {threat.counted} threatened by the {role}",
        "points",
        "the learner's belief in the true value",
        "the attacker's belief in the true value",
        (Series(f"threatened by the {role}", p_l.tolist(), p_a.tolist()),),
        behind=(Series("equal: being in it tells nothing more", [0.0, 1.0], [0.0, 1.0]),),
        percent="xy",
        name=f"learner-attacker/{role}",
        alt="A point is a case; above the diagonal the attacker, who knows that her victim is in "
        f"the release, is surer than the learner. For {share} of them she is{sample}.",
    )


def histogram(threat: RelativeThreat, role: Party, title: str = "") -> Chart:
    """People by log2 Ti."""
    rows, belief = threat.judged, _belief(threat, role)
    chosen = (belief.hit > 0) & (rows.ti > 0)
    logs, n = np.log2(rows.ti[chosen]), rows.people.n[chosen]
    figures = threatened(rows, role)
    edges, counts = _bins(logs, n)
    return Chart(
        title or f"How much surer the attacker is of {threat.counted} threatened by the {role}",
        "bars",
        "how often the learner's belief must double to be the attacker's (log2 Ti)",
        threat.counted,
        (Series(f"threatened by the {role}", edges, counts),),
        name=f"ratio/{role}",
        alt=(
            "Right of 0 the attacker is surer than the learner, at 1 twice as sure. "
            f"{figures.any_mode:,} {threat.counted}; skewness {figures.skewness:.2f}, "
            f"{percent(figures.doubled)} of "
            f"them at 1 or more; at most the attacker is {figures.highest:.3g} times as sure (Ti)."
        ),
    )


def _bins(
    logs: npt.NDArray[np.float64], n: npt.NDArray[np.int64]
) -> tuple[list[float], list[float]]:
    if not len(logs):
        return [], []
    first = int(np.floor(logs.min() / _BIN))
    place = np.floor(logs / _BIN).astype(np.int64) - first
    counts = np.bincount(place, weights=n)
    return [(first + bar + 0.5) * _BIN for bar in range(len(counts))], counts.tolist()


def by_group(threat: RelativeThreat, title: str = "") -> Chart:
    """The share of every group's people who are threatened, from most to least."""
    rows = threat.judged
    known = rows.people.group >= 0
    group, n = rows.people.group[known], rows.people.n[known]
    size = np.bincount(group, weights=n)
    there = size > 0
    whole, series, all_of = int(there.sum()), [], 0
    for role, belief in (("attacker", rows.attacker), ("learner", rows.learner)):
        hit = np.bincount(group, weights=n * (belief.hit[known] > 0), minlength=len(size))
        shares = np.sort(hit[there] / size[there])[::-1].tolist()
        series.append(Series(f"threatened by the {role}", list(range(1, whole + 1)), shares))
        if role == "attacker":
            all_of = sum(share >= 1 for share in shares)
    missing = int(rows.people.n[~known].sum())
    many = f"{missing:,} {threat.counted}"
    left = f" {many} fit several groups and are left out." if missing else ""
    return Chart(
        title or f"Threatened {threat.counted} by group",
        "steps",
        "group, the most threatened first",
        f"share of its {threat.counted}",
        tuple(series),
        percent="y",
        name="threatened-groups",
        alt=f"In {all_of:,} of {whole:,} groups everybody is threatened by the attacker.{left}",
    )


def _belief(threat: RelativeThreat, role: Party) -> Belief:
    return threat.judged.attacker if role == "attacker" else threat.judged.learner


_STATUS = {
    "exact": "Exact: every figure is the posterior's own.",
    "converged": "Sampled; the chains agree.",
    "not_converged": "NOT CONVERGED: no figure below is to be relied on.",
}
_MEASURES = {
    "GT_A": "gt_attacker",
    "GT_L": "gt_learner",
    "GT_RW": "gt_random_worlds",
    "ideal": "gt_ideal",
    "baseline": "baseline",
    "RGT": "rgt",
    "RF": "rf",
    "ABS_A": "abs_attacker",
    "ABS_RW": "abs_random_worlds",
}
_DISTANCES = ("ABS_A", "ABS_RW")  # all others are shares
_MEANT = (
    "GT: share of people whose true value is the best guess of attacker, learner, random worlds, "
    "and of the ideal learner who saw the table; baseline: guessing the most frequent value",
    "RGT: GT_A beyond GT_L. RF: how much of the population is taught, 100% is all. ABS: distance "
    "of the beliefs from the truth, summed. ±: standard error of sampling",
)
_GUESSES = (
    ("the attacker, who knows that she is in it", "GT_A"),
    ("the learner, who asks about anybody", "GT_L"),
    ("random worlds, from her group's counts", "GT_RW"),
    ("the ideal learner, who saw the table", "ideal"),
    ("whoever says the commonest value", "baseline"),
)
_ROUNDED = 1e-12  # a difference of two shares that is none
_POSSESSIVE = {"people": "people's", "rows": "rows'"}
_FURTHER = (
    ("what the attacker gets beyond the learner", "RGT"),
    ("how much of the population is taught (100%: all)", "RF"),
    ("how far the attacker's beliefs are from the truth, summed", "ABS_A"),
    ("how far those of random worlds are, summed", "ABS_RW"),
)
_VICTIM = "A victim"
_DOUBLED = "twice as sure or more"
_TI = ("highest", "doubled", "mean_log2", "skewness")
VictimLine = tuple[str, object]


def relative_document(
    threat: RelativeThreat,
    label: str,
    victims: Sequence[VictimLine] = (),
    verdicts: Sequence[Verdict] = (),
) -> Document:
    """`victims` are (text, what is known of them); without the original only they can be told."""
    about = (
        f"What {label} tells of {threat.attribute!r}: a learner, who asks about people in general, "
        "against an attacker, who knows that her victim is in it. " + _status(threat)
    )
    if threat.of_row is not None:
        about += f" It is {OF_ROW}; what is told of people is counted by row."
    sections = [_victim(threat, *victim) for victim in victims]
    figures: dict[str, Any] = {}
    if threat.people is not None:
        sections += [_everybody(threat), _ti(threat), _charts(threat)]
        figures = {"measures": asdict(threat.measures)}
    if verdicts:
        sections.insert(0, _judged(verdicts))
    sections.append(_how(threat))
    facts = {
        "attribute": threat.attribute,
        "learner": threat.reading,
        "gain": threat.question.gain.plain,
        "seen": None if threat.question.known is None else list(threat.question.known),
        "noise": dict(threat.question.noise),
        "status": threat.status,
        "method": dict(threat.method),
        "diagnostics": None if threat.diagnostics is None else asdict(threat.diagnostics),
        "verdicts": [
            {"criterion": verdict.criterion, "status": verdict.status, "required": verdict.required}
            for verdict in verdicts
        ],
        "of_row": threat.of_row is not None,
        "notes": list(threat.notes),
        **figures,
    }
    asked = "tells of people who were asked about" if victims else ""
    private = OF_TABLE if threat.people is not None else asked
    gist = _gist(threat, sections, verdicts, f"What {label} tells of {threat.attribute!r}")
    return Document(
        "relative", "Relative threat", about, tuple(sections), facts, private, gist=gist
    )


def _gist(
    threat: RelativeThreat, sections: Sequence[Section], verdicts: Sequence[Verdict], about: str
) -> Gist:
    """Whose value is guessed right by whom; or what is believed of the first victim."""
    victims = [section for section in sections if section.title == _VICTIM]
    closing = {"Victim": " ".join(victim.words for victim in victims)}
    table = victims[0].tables[0] if victims else None
    if table is not None:
        table = replace(table, percent=table.columns[1:])
    if threat.people is not None:
        measures = threat.measures
        rows = tuple((words, sign, getattr(measures, _MEASURES[sign])) for words, sign in _GUESSES)
        measured = "right" if threat.question.gain.is_default else "of all there is to gain"
        table = Sheet(("who guesses", "known as", measured), rows, percent=(measured,), keys=3)
        gained = measures.gt_attacker - measures.gt_learner
        closing["Being in it"] = (
            f"lets the attacker {_more(gained, threat)} than the "
            "learner; at most she is "
            f"{number(measures.attacker.highest, digits=3)} times as sure (Ti)"
        )
    closing["Policy"] = "; ".join(
        f"{verdict.criterion} {verdict.required}: {verdict.status.replace('_', ' ')}"
        for verdict in verdicts
    )
    return Gist(
        {**closing, "Mind": "; ".join(threat.notes), "Figures": _status(threat)}, table, about
    )


def _more(gained: float, threat: RelativeThreat) -> str:
    more = f"{percent(abs(gained))} {'more' if gained > 0 else 'less'}"
    many = more if abs(gained) > _ROUNDED else "no more"
    if not threat.question.gain.is_default:
        return f"gain {many} of all there is"
    return f"guess {many} of {_POSSESSIVE[threat.counted]} values"


def _status(threat: RelativeThreat) -> str:
    """Whether figures are exact; beliefs may be, and the RF over all combinations not."""
    words = _STATUS[threat.status]
    if threat.status == "converged" and threat.diagnostics is None:
        drawn = threat.sampling.draws
        return f"Exact, but for the learner, who averages over {drawn:,} populations drawn."
    if threat.status == "exact" and threat.people is not None and threat.measures.errors["rf"]:
        if "buckets" in threat.method:
            return "Exact, but for RF, which was averaged over people drawn at random."
        return "Exact, but for RF, in whose sum nearly equal terms were taken for one."
    return words


def _judged(verdicts: Sequence[Verdict]) -> Section:
    rows = tuple(
        (verdict.criterion, verdict.required, verdict.measured, verdict.status, verdict.note)
        for verdict in verdicts
    )
    columns = ("criterion", "required", "measured", "status", "note")
    return Section("The policy's bound", tables=(Sheet(columns, rows),))


def _victim(threat: RelativeThreat, text: str, known: object) -> Section:
    guesses = (threat.attacker(known), threat.learner(known), threat.random_worlds(known))
    attacker = guesses[0]
    order = sorted(attacker, key=lambda value: -attacker[value])
    columns: tuple[str, ...] = (threat.attribute, "attacker", "learner", "random worlds")
    rows: list[tuple[object, ...]] = [
        (value, *(guess[value] for guess in guesses)) for value in order
    ]
    if threat.diagnostics is not None:
        columns = (*columns, "error of attacker")
        rows = [(*row, attacker.error[value]) for row, value in zip(rows, order, strict=True)]
    likely = order[0]
    words = (
        f"Known: {text or 'nothing but that she is in the release'}. The attacker's best guess is "
        f"{likely!r} ({percent(attacker[likely])}; the learner gives it "
        f"{percent(guesses[1][likely])})."
    )
    return Section(_VICTIM, words, tables=(Sheet(columns, tuple(rows), percent=columns[1:]),))


def _everybody(threat: RelativeThreat) -> Section:
    measures, gain = threat.measures, threat.question.gain
    return Section(
        "Everybody in the release",
        f"{measures.people:,} {threat.counted}. {_after(gain)}",
        tables=(_in_words(measures, guessing=gain.is_default),),
    )


def _in_words(measures: Measures, *, guessing: bool) -> Sheet:
    """What each measure says, its name in the paper beside it, and its error where it has one."""
    got = "guessed right by" if guessing else "gained by"
    meant = [(f"{got} {guesser}", sign) for guesser, sign in _GUESSES] + list(_FURTHER)
    names = [_MEASURES[sign] for _, sign in meant]
    errors = [measures.errors.get(name) or "" for name in names]
    sampled = ("±",) if any(errors) else ()
    rows = tuple(
        (words, sign, getattr(measures, name), *([error] if sampled else ()))
        for (words, sign), name, error in zip(meant, names, errors, strict=True)
    )
    return Sheet(
        ("what", "known as", "this release", *sampled),
        rows,
        notes=("±: standard error of sampling",) if sampled else (),
        percent_rows=tuple(at for at, (_, sign) in enumerate(meant) if sign not in _DISTANCES),
        keys=2,
    )


def _after(gain: Gain) -> str:
    """What threatens somebody."""
    if gain.is_default:
        return (
            "A person is threatened if the true value is a best guess; of several best guesses "
            "each counts its share."
        )
    return (
        f"They are after this: {gain.words}. GT is the share of all there is to gain that the "
        "attacker, learner, random worlds and ideal learner get, each by the best action of their "
        "own; baseline: by one action for everybody."
    )


def measures_sheet(listed: Sequence[tuple[str, Measures]], title: str = "") -> Sheet:
    """The paper's measures, a column a release; what was sampled has its error below it."""
    rows: list[tuple[object, ...]] = []
    for sign, name in _MEASURES.items():
        rows.append((sign, *(getattr(measures, name) for _, measures in listed)))
        errors = [measures.errors.get(name, 0.0) for _, measures in listed]
        if any(errors):
            rows.append((f"  ± {sign}", *(error or None for error in errors)))
    shares = tuple(at for at, row in enumerate(rows) if str(row[0]).strip("± ") not in _DISTANCES)
    columns = ("measure", *(name for name, _ in listed))
    return Sheet(columns, tuple(rows), title, _MEANT, percent_rows=shares)


def _ti(threat: RelativeThreat) -> Section:
    return Section(
        "How much better members are known",
        "Ti = p_A / p_L of the true value: above 1 the attacker is surer than the learner."
        if threat.question.gain.is_default
        else "Ti is what the attacker expects of her best action over what the learner expects of "
        "that very action: above 1 she is surer.",
        tables=(ti_sheet([("this release", threat.measures)], counted=threat.counted),),
    )


def ti_sheet(
    listed: Sequence[tuple[str, Measures]], title: str = "", counted: str = "people"
) -> Sheet:
    """Ti over people threatened under either belief."""
    columns = (
        "release",
        "threatened by",
        counted,
        "times as sure, at most",
        _DOUBLED,
        "mean doublings",
        "skewness",
    )
    rows: list[tuple[object, ...]] = []
    for name, measures in listed:
        for role, ti in (("attacker", measures.attacker), ("learner", measures.learner)):
            row = (ti.any_mode, ti.highest, ti.doubled, ti.mean_log2, ti.skewness)
            rows.append((name, role, *row))
            errors = [ti.errors.get(name, 0.0) for name in _TI]
            if any(errors):
                rows.append((name, f"  ± {role}", None, *(error or None for error in errors)))
    notes = ("times as sure: Ti; doublings: log2 Ti, whose skewness it is",)
    return Sheet(columns, tuple(rows), title, notes, percent=(_DOUBLED,))


def _charts(threat: RelativeThreat) -> Section:
    figures: list[Chart] = [scatter(threat, "attacker"), histogram(threat, "attacker")]
    figures += [scatter(threat, "learner"), histogram(threat, "learner"), by_group(threat)]
    return Section("Pictures", charts=tuple(figures))


def _how(threat: RelativeThreat) -> Section:
    ways = tuple(threat.method.items())
    sheets = [Sheet(("column", "learnt"), ways, notes=threat.notes)]
    words = ""
    if threat.diagnostics is not None:
        diagnostics = threat.diagnostics
        tempering = diagnostics.tempering
        runs = "chains" if tempering is None else "ensembles"
        passes = "sweeps" if tempering is None else "iterations"
        words = (
            f"{diagnostics.chains} {runs}, {diagnostics.sweeps:,} {passes} each, "
            f"{diagnostics.kept:,} draws kept; over {diagnostics.watched} people watched: R-hat at "
            f"most {diagnostics.rhat:.4f}, effective draws at "
            f"least {diagnostics.ess:,.0f}, Monte Carlo error at most {diagnostics.mcse:.2g}."
        )
        if tempering is not None:
            words += (
                f" Each ensemble has {tempering.rungs} rungs down to the power "
                f"{tempering.lowest_power:.2f}, of which neighbours exchange at least "
                f"{tempering.exchanged:.0%} of the time, and made at least "
                f"{min(tempering.round_trips):,} round trips between its ends; together they began "
                f"with what {tempering.climbs} independent climbs from the lowest power came to."
            )
        for name, share in (("Geweke", diagnostics.geweke), ("Weiss", diagnostics.weiss)):
            if share is not None:
                words += f" {name}: {percent(share)} beyond the 5% level."
    return Section("How it was found", words, tables=tuple(sheets))
