"""Adversaries with a prior: realistic ones, and the observer of classes.

What the release does to a realistic one, against what she has seen before.

Charts are drawn for exactly each stubbornness. `epsilon_chart` shows the smallest epsilon of the
whole release and where a bound is met; `belief_chart` what she believes of the people of one group,
with the target's row and without it: the farther apart, the more the row gives away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from sfumato.adversaries.base import FACTOR, chance
from sfumato.adversaries.catalogue import entry_of
from sfumato.adversaries.leakage.expectation import leakage
from sfumato.adversaries.leakage.observer import Observer
from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.adversaries.realistic.beliefs import Beliefs, in_words
from sfumato.adversaries.realistic.priors import SharedPrior
from sfumato.criteria.base import Verdict
from sfumato.errors import InputError
from sfumato.numbers import Bools, shortest
from sfumato.release.groups import Groups
from sfumato.release.kinds import one_per_kind
from sfumato.release.release import Release
from sfumato.report.document import (
    OF_TABLE,
    Answer,
    Chart,
    Document,
    Gist,
    Section,
    Series,
    Sheet,
    number,
)
from sfumato.report.report import Evidence, Report

# The observer: how much each group tells beyond what was known before, as bars. Private.

_LISTED, _DRAWN = 12, 6  # groups in the table and in charts, those that leak most
_DISTANCE, _BITS = "distribution leakage", "entropy leakage (bits)"


def observer_section(report: Report) -> Section | None:
    """The groups that leak most, for the observers of the policy or the usual one."""
    evidence = report.evidence
    if evidence is None or report.audience == "public" or evidence.release.regions.noisy:
        return None
    sheets: list[Sheet] = []
    figures: list[Chart] = []
    for observer, groups, described in _asked(evidence):
        fine = len(groups) and groups.width and groups.single_valued
        if not fine or observer.inapplicable(groups):
            continue
        leaked = leakage(groups, observer.expectation(groups))
        worst = np.lexsort((-groups.sizes, -leaked.distribution))[:_LISTED].tolist()
        title = f"{groups.attribute or 'The sensitive value'}, for {observer.name}"
        rows = tuple(
            (
                described.regions.name(group),
                int(groups.sizes[group]),
                float(leaked.distribution[group]),
                float(leaked.entropy[group]),
                int(leaked.ruled_out[group]) if np.isfinite(leaked.ruled_out[group]) else None,
            )
            for group in worst
        )
        counted = "people" if described is evidence.release else "rows"
        sheets.append(Sheet(("who", counted, _DISTANCE, _BITS, "values ruled out"), rows, title))
        figures += _leakage_charts(title, f"{groups.attribute}/{observer.name}", sheets[-1])
    if not sheets:
        return None
    return Section(
        "What a group tells",
        "Distribution leakage is how far the values of a group lie from what was expected: 0 is "
        "nothing new, 1.41 the most there is. Entropy leakage is how much surer (or less sure) it "
        "makes somebody, in bits: one bit halves the values she still doubts between, 0 is nothing "
        "new.",
        tuple(sheets),
        tuple(figures),
    )


def _asked(evidence: Evidence) -> list[tuple[Observer, Groups, Release]]:
    """Each observer a policy names, once on each of her targets; else the usual one on all.

    Last the release whose groups these are: where a pseudonym links rows, a policy's observer is
    asked of a row.
    """
    release = evidence.release
    named = {
        (observer.name, groups.attribute): (observer, groups, release.by_row or release)
        for _, observer, groups in evidence.naming(Observer)
    }
    default = [(Observer(), groups, release) for groups in release.by_attribute.values()]
    return list(named.values()) or default


def _leakage_charts(title: str, about: str, sheet: Sheet) -> Iterator[Chart]:
    """A chart for each measure: they have different units."""
    for column, unit, name in ((2, "distance", _DISTANCE), (3, "bits", _BITS)):
        leaks = [(str(row[0]), float(str(row[column]))) for row in sheet.rows]
        rows = sorted(leaks, key=lambda row: -row[1])[:_DRAWN]
        worst_group, most = rows[0]
        yield Chart(
            f"{name.capitalize()} of the groups that tell most: {title}",
            "bars",
            f"{name} ({unit}; 0: nothing new)" if unit == "distance" else f"{name}; 0: nothing new",
            "group",
            (Series(name, [leaked for _, leaked in rows], [group for group, _ in rows]),),
            name=f"leakage-{unit}/{about}",
            alt=f"Shorter is better. The most is told by {worst_group}: "
            f"{number(float(f'{most:.3g}'))}.",
        )


_TITLE = "Somebody with outside statistics"
_MOST_COUNTS = 1_000_000  # stored counts; beyond, curves over all groups take too long
SPAN = tuple(10 ** (step / 4) for step in range(4, 29))  # 10 to 10 million records
AXIS = "stubbornness (outside records)"
_GOOD = (
    "Lower is better: at 1 a row changes nothing, at 2 it at most doubles what she believes, or "
    "halves her doubt."
)
_MOST = 3  # values of a group that are drawn: those she changes her mind about most


def epsilon_chart(
    beliefs: Beliefs,
    epsilon: float,
    stubbornness: Sequence[float] = SPAN,
    *,
    title: str = "",
    name: str = "epsilon",
    asked: bool = False,
) -> Chart:
    """The smallest epsilon of the release against stubbornness, and the bound it is to keep.

    `asked`: bound and adversary are those of a question, not the policy's.
    """
    bound = "the bound" if asked else "the policy's line"
    sigma = _admissible(beliefs, stubbornness)
    epsilons = beliefs.curves(sigma).epsilon.tolist()
    series = [
        Series("smallest epsilon of this release", sigma, epsilons),
        Series(f"{bound}: at most {shortest(epsilon)}", sigma, [float(epsilon)] * len(sigma)),
    ]
    given = float(beliefs.adversary.stubbornness or inf)
    if sigma[0] <= given <= sigma[-1]:
        at_given = [float(beliefs.curves([given]).epsilon[0])]
        star_label = "the adversary who is asked" if asked else "the adversary the policy names"
        series.append(Series(star_label, [given], at_given, mark="star"))
    return Chart(
        title or "Smallest epsilon against stubbornness",
        "lines",
        AXIS,
        "smallest epsilon (factor)",
        tuple(series),
        log_x=True,
        log_y=True,
        name=name,
        alt=f"{_GOOD} Below {bound} it is kept: {private_words(beliefs, epsilon)}. It is "
        f"{_number(epsilons[0])} at a stubbornness of {_number(sigma[0])} and "
        f"{_number(epsilons[-1])} at {_number(sigma[-1])}. "
        f"{'She is' if asked else 'The policy names her as'} {beliefs.adversary}{_less(beliefs)}.",
    )


def _less(beliefs: Beliefs) -> str:
    """Why the curve begins where it does."""
    if beliefs.adversary.shape is None or not (least := _least(beliefs)) > 1:
        return ""
    return f"; less than {_number(least)}, and some value would rest on no whole record"


def belief_chart(
    beliefs: Beliefs,
    stubbornness: Sequence[float] = SPAN,
    *,
    group: int | None = None,
    title: str = "",
    name: str = "worst-beliefs",
) -> Chart:
    """p_in and p_out in one group (the worst unless told) against stubbornness."""
    chosen = beliefs.worst_group if group is None else group
    if not 0 <= chosen < len(beliefs.groups):
        raise InputError(f"there is no group {chosen} among {len(beliefs.groups)}")
    sigma = _admissible(beliefs, stubbornness)
    curves = beliefs.curves(sigma, [chosen])
    with np.errstate(divide="ignore", invalid="ignore"):
        raised = curves.p_in / curves.p_out
        cleared = (1 - curves.p_out) / (1 - curves.p_in)
    moved = np.nan_to_num(np.maximum(raised, cleared), nan=1.0, posinf=inf).max(axis=0)
    values = np.lexsort((np.arange(len(moved)), -moved))[:_MOST].tolist()
    series, words = [], []
    for at in values:
        value, with_row = curves.value[at], float(curves.p_in[at])
        without = curves.p_out[:, at].tolist()
        with_it = Series(f"{value}: with the row", sigma, [with_row] * len(sigma), of=value)
        series += [with_it, Series(f"{value}: without it", sigma, without, of=value)]
        words.append(
            f"{value!r}: {chance(with_row)} with the row, without it {chance(without[0])} at a "
            f"stubbornness of {_number(sigma[0])} and {chance(without[-1])} at {_number(sigma[-1])}"
        )
    people = int(beliefs.groups.sizes[chosen])
    left = len(moved) - len(values)
    undrawn = f"; {left} further value{'s are' if left > 1 else ' is'} moved less" if left else ""
    return Chart(
        title or f"What she believes of a group of {people:,} people",
        "lines",
        AXIS,
        "what she believes",
        tuple(series),
        log_x=True,
        percent="y",
        name=name,
        alt=f"The nearer two lines of a value, the less a row gives away. {'; '.join(words)}"
        f"{undrawn}.",
    )


def private_words(beliefs: Beliefs, epsilon: float) -> str:
    """For which stubbornness the release keeps a bound, in words."""
    private = beliefs.private_range(epsilon)
    if private is None:
        return f"for no stubbornness is it within {shortest(epsilon)}"
    low, high = private
    upper = "however stubborn she is" if high == inf else f"up to a stubbornness of {_number(high)}"
    lower = f"from {_number(low)} on, " if low > _least(beliefs) else ""
    return f"it is within {shortest(epsilon)} {lower}{upper}"


def _least(beliefs: Beliefs) -> float:
    """The smallest stubbornness there is: any shape gives each value a weight of at least 1.

    So it is where smaller ones than the policy's are judged as well.
    """
    adversary = beliefs.adversary
    if adversary.shape is None:
        return float(beliefs.groups.width)
    prior = (
        adversary.prior(beliefs.groups) if adversary.at_most and not adversary.by_region else None
    )
    totals = prior.totals if isinstance(prior, SharedPrior) else ()
    return min((float(total) for total in totals if total is not None), default=1.0)


def _admissible(beliefs: Beliefs, stubbornness: Sequence[float]) -> list[float]:
    """Those an adversary can have; infinity has no place on an axis."""
    least = _least(beliefs)
    kept = [float(sigma) for sigma in stubbornness if least <= sigma < inf]
    if kept and len(kept) < len(stubbornness) and stubbornness[0] < least < kept[0]:
        kept.insert(0, least)  # the end that is judged
    if not kept or not len(beliefs.groups):
        raise InputError("a chart of beliefs needs a group and a finite stubbornness to draw")
    return kept


def _number(value: float) -> str:
    return "infinity" if value == inf else f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"


def realistic_section(report: Report) -> Section | None:
    """For each epsilon-privacy of the policy its curve; without one, the usual two."""
    evidence = report.evidence
    if evidence is None or evidence.release.regions.noisy:
        return None
    drawable = {
        name: groups
        for name, groups in evidence.release.by_attribute.items()
        if groups.width > 1 and groups.single_valued and 0 < len(groups.data) <= _MOST_COUNTS
    }
    asked = list(evidence.naming(RealisticAdversary))
    figures: list[Chart] = []
    for name, groups in drawable.items():
        of_attribute = [
            (criterion, adversary)
            for criterion, adversary, about in asked
            if about.attribute == groups.attribute
        ]
        for place, (criterion, adversary) in enumerate(of_attribute, start=1):
            key = f"{name}#{place}" if place > 1 else name
            figures += _required(report, adversary, criterion.limit, name, groups, key)
        if not of_attribute:
            figures += _default_charts(name, groups)
    if not figures:
        large = any(len(g.data) > _MOST_COUNTS for g in evidence.release.by_attribute.values())
        words = f"Curves are not drawn: more than {_MOST_COUNTS:,} counts."
        return Section(_TITLE, words) if large else None
    return Section(
        _TITLE,
        "How far a row moves the belief of somebody who has formed one from outside data: by at "
        "most a factor epsilon. Stubbornness is the number of outside records it rests on.",
        (),
        tuple(figures),
    )


def _required(
    report: Report,
    adversary: RealisticAdversary,
    epsilon: float | None,
    name: str,
    groups: Groups,
    key: str,
) -> Iterator[Chart]:
    if epsilon is None or adversary.adversary_class == "IV" or not adversary.drawable:
        return
    if adversary.inapplicable(groups):
        return
    beliefs = Beliefs(adversary, groups)
    entry = entry_of(adversary.name)
    about = f"{name}, {adversary}" if entry is None else f"{name}: {entry.question}"
    curve = f"Smallest epsilon against stubbornness of {about}"
    yield epsilon_chart(beliefs, epsilon, title=curve, name=f"epsilon/{key}")
    if report.audience == "private":
        group = f"What she believes in the worst group of {about}"
        yield belief_chart(beliefs, title=group, name=f"worst-beliefs/{key}")


def _default_charts(name: str, groups: Groups) -> Iterator[Chart]:
    """Somebody who knows the table's distribution, and somebody with any opinion at all."""
    groups, people = one_per_kind(groups), float(groups.reference.sum())
    series, sentences = [], []
    for shape, words in (("table", "knows the table's distribution"), (None, "believes anything")):
        least = float(groups.width) if shape is None else 1.0
        sigma = [stubbornness for stubbornness in SPAN if stubbornness >= least]
        adversary = RealisticAdversary(shape, max(people, least), at_most=False)
        if not sigma or adversary.inapplicable(groups):
            continue
        epsilons = Beliefs(adversary, groups).curves(sigma).epsilon.tolist()
        series.append(Series(words, sigma, epsilons))
        sentences.append(
            f"who {words}: {number(float(f'{epsilons[0]:.3g}'))} at a stubbornness of "
            f"{number(round(sigma[0]))}, {number(float(f'{epsilons[-1]:.3g}'))} at "
            f"{number(round(sigma[-1]))}"
        )
    if series:
        ends = [min(float(str(line.x[0])) for line in series), SPAN[-1]]
        yardstick = Series(f"{FACTOR:g}: a belief doubles", ends, [FACTOR, FACTOR])
        yield Chart(
            f"Smallest epsilon against stubbornness: {name}",
            "lines",
            AXIS,
            "smallest epsilon (factor)",
            (*series, yardstick),
            log_x=True,
            log_y=True,
            name=f"epsilon/{name}",
            alt=f"{_GOOD} The policy asks for no epsilon: there is no line to keep. For somebody "
            f"{'; for somebody '.join(sentences)}.",
        )


# -- one adversary by herself ----------------------------------------------------------------------

_CLASSES = {
    "I": "somebody who has seen {seen} outside records of a known shape",
    "II": "somebody who has seen {seen} outside records of any shape",
    "III": "somebody with outside statistics of a known shape that nothing can move",
    "IV": "somebody with any opinion that nothing can move",
}
_ENDLESS = (
    "Nothing but noise holds against her: she may have been sure of the opposite of what any group "
    "shows, and no number of rows moves her."
)


def realistic_document(
    release: Release, beliefs: Beliefs, epsilon: float, verdict: Verdict
) -> Document:
    """What one adversary comes to believe, and which groups move her farther than `epsilon`.

    `verdict` is that of epsilon-privacy against her, on the same groups.
    """
    adversary, groups = beliefs.adversary, beliefs.groups
    name = groups.attribute or "the sensitive value"
    if verdict.measured is None or verdict.per_group is None:
        raise InputError(f"she cannot be judged: {verdict.note}")
    broken = np.asarray(verdict.per_group > epsilon)
    many, people = groups.number(broken), groups.headcount(broken)
    least = float(verdict.measured)
    far = "beyond any factor" if least == inf else f"by a factor of up to {number(_short(least))}"
    words = f"A row moves what she believes of somebody {far}. " + (
        f"It is more than {shortest(epsilon)} in {many:,} of {groups.number():,} groups, with "
        f"{people} people."
        if many
        else f"No group exceeds {shortest(epsilon)}."
    )
    binding = beliefs.binding(beliefs.worst_group)
    worst_case = _ENDLESS if adversary.adversary_class == "IV" else ""
    if binding is not None:
        worst = in_words(groups, binding, adversary.known)
        worst_case = f"{worst[0].upper()}{worst[1:]}."
    sections = [Section(f"How far a row moves her belief in {name}", worst_case or words)]
    charts = _drawn(beliefs, epsilon, name)
    if charts:
        sections.append(Section("By how many outside records", "", (), charts))
    sections.append(_groups(release, beliefs, broken))
    seen = (
        "any number of"
        if adversary.stubbornness is None
        else _number(float(adversary.stubbornness))
    )
    description = _CLASSES[adversary.adversary_class].format(
        seen=f"up to {seen}" if adversary.at_most else seen
    )
    return Document(
        "realistic",
        f"What {release.label} does to the belief of somebody with outside statistics",
        f"She is {description} ({adversary}), and asks for the {name} of somebody who is in it.",
        tuple(sections),
        facts={
            "release": release.label,
            "attribute": groups.attribute,
            "adversary": str(adversary),
            "class": adversary.adversary_class,
            "epsilon": least,
            "required": epsilon,
            "groups": groups.number(),
            "groups_beyond": many,
            "people_beyond": people.number,
        },
        private=OF_TABLE,
        answer=Answer("holds" if not many else "violated", words),
        gist=Gist({"Worst group": worst_case}),
    )


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _drawn(beliefs: Beliefs, epsilon: float, name: str) -> tuple[Chart, ...]:
    """Her curve and what she believes in the worst group, where they can be drawn."""
    adversary, groups = beliefs.adversary, beliefs.groups
    fine = (
        adversary.drawable
        and adversary.adversary_class != "IV"
        and 0 < len(groups.data) <= _MOST_COUNTS
    )
    if not fine or groups.width < 2:
        return ()
    worst = f"What she believes in the group that moves her most: {name}"
    curve = f"Smallest epsilon against stubbornness: {name}"
    of_all = epsilon_chart(beliefs, epsilon, title=curve, asked=True)
    drawable = any(isinstance(height, float) and height < inf for height in of_all.series[0].y)
    return (*((of_all,) if drawable else ()), belief_chart(beliefs, title=worst))


def _groups(release: Release, beliefs: Beliefs, broken: Bools) -> Section:
    """The groups that move her farthest: what she believes there without a row and with it."""
    groups, epsilons = beliefs.groups, beliefs.epsilons
    rows = []
    for group in np.lexsort((-groups.sizes, -epsilons))[:_LISTED].tolist():
        binding = beliefs.binding(group)
        value, before, after = "", None, None
        if binding is not None:
            value = binding.values.words(groups)
            before, after = float(binding.shift.believed_out), float(binding.shift.believed_in)
        rows.append(
            (
                release.regions.name(group),
                int(groups.sizes[group]),
                float(epsilons[group]),
                "violated" if broken[group] else "holds",
                value,
                before,
                after,
            )
        )
    columns = ("group", "people", "epsilon", "the bound", "what of", "without the row", "with it")
    return Section(
        "Groups, those that move her most first",
        f"The first {len(rows):,} of {len(groups):,}." if len(rows) < len(groups) else "",
        (Sheet(columns, tuple(rows), percent=columns[5:]),),
        private=True,
    )
