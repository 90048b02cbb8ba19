"""Realistic adversaries: the smallest epsilon against what they have seen before."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.adversaries.realistic.adversary import TABLE, RealisticAdversary
from sfumato.adversaries.realistic.beliefs import Beliefs
from sfumato.criteria.epsilon_privacy import EpsilonPrivacy
from sfumato.release.groups import Groups
from sfumato.report.belief_figure import AXIS, SPAN, belief_figure, epsilon_figure
from sfumato.report.exhibit import Section
from sfumato.report.figure import Figure, Series
from sfumato.report.model import Report
from sfumato.report.text import number

_TITLE = "Somebody with outside statistics"
_MOST_COUNTS = 1_000_000  # stored counts; beyond, curves over all groups take too long


def section(report: Report) -> Section | None:
    """For each epsilon-privacy of the policy its curve; without one, the usual two."""
    evidence = report.evidence
    if evidence is None or evidence.release.scheme == "randomised":
        return None
    drawable = {
        name: groups
        for name, groups in evidence.release.by_attribute.items()
        if groups.width > 1 and groups.single_valued and 0 < len(groups.data) <= _MOST_COUNTS
    }
    asked = [one for one in evidence.criteria if isinstance(one, EpsilonPrivacy)]
    figures: list[Figure] = []
    for name, groups in drawable.items():
        mine = [one for one in asked if one.sensitive in (None, name)]
        for criterion in mine:
            figures += _required(report, criterion, name, groups)
        if not mine:
            figures += _usual(name, groups)
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
    report: Report, criterion: EpsilonPrivacy, name: str, groups: Groups
) -> Iterator[Figure]:
    her = criterion.adversary
    if her.adversary_class == "IV" or her.inapplicable(groups):
        return
    beliefs = Beliefs(her, groups)
    about = f"{name}, {her}"
    yield epsilon_figure(
        beliefs, criterion.epsilon, title=f"Smallest epsilon against stubbornness: {about}"
    )
    if report.audience == "private":
        yield belief_figure(beliefs, title=f"What she believes in the worst group: {about}")


def _usual(name: str, groups: Groups) -> Iterator[Figure]:
    """Somebody who knows the table's distribution, and somebody with any opinion at all."""
    people = float(groups.reference.sum())
    series, told = [], []
    for shape, words in ((TABLE, "knows the table's distribution"), (None, "believes anything")):
        least = float(groups.width) if shape is None else 1.0
        sigma = [one for one in SPAN if one >= least]
        her = RealisticAdversary(shape, max(people, least), at_most=False)
        if not sigma or her.inapplicable(groups):
            continue
        found = Beliefs(her, groups).curves(sigma).epsilon.tolist()
        series.append(Series(words, sigma, found))
        told.append(
            f"who {words}: {number(float(f'{found[0]:.3g}'))} at a stubbornness of "
            f"{number(round(sigma[0]))}, {number(float(f'{found[-1]:.3g}'))} at "
            f"{number(round(sigma[-1]))}"
        )
    if series:
        yield Figure(
            f"Smallest epsilon against stubbornness: {name}",
            "lines",
            AXIS,
            "smallest epsilon",
            tuple(series),
            log_x=True,
            log_y=True,
            alt=f"The policy asks for no epsilon. For somebody {'; for somebody '.join(told)}.",
        )
