"""What a release costs in usefulness, and what is left of its table.

Costs are measured where the original table is at hand. A release that tells nothing may hold any
policy: a column that shows the same for everybody tells nothing any more, and the loss is the share
of the detail that is gone. Where little is left, the closing lines and the page say so, and what
would help most, if that was found out (`workflow/price.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.errors import InputError, MissingExtra, SfumatoError
from sfumato.release.made import Randomised
from sfumato.release.release import Release
from sfumato.report.document import Section, Sheet
from sfumato.report.report import Report, each_told
from sfumato.schema.region import Anything
from sfumato.table import Table
from sfumato.utility import is_share, meaning_of, utility_named
from sfumato.utility.classification import Classification
from sfumato.utility.spread import SpreadLost
from sfumato.utility.use import WRONG, FitForQueries, FitForUse, QueryAnswers
from sfumato.utility.view import View, view_of, view_with_table

MUCH = 0.5  # of the detail gone: more than this must be said
ALL = 0.995  # gone: what is told as all of it


@dataclass(frozen=True)
class Worth:
    """The quasi-identifiers that show the same for everybody, and the loss where it is known.

    `noise`: how far noise moves a count, where it moves it farther than `a_cell` counts on average.
    """

    columns: int
    hidden: tuple[str, ...]
    one_label: tuple[str, ...]
    loss: float | None
    noise: float | None = None
    a_cell: float = 0.0

    @property
    def little(self) -> bool:
        much = self.noise is not None or (self.loss is not None and self.loss > MUCH)
        return bool(self.hidden or self.one_label) or much

    @property
    def gone(self) -> Literal["", "most", "all"]:
        """Whether most of the detail is gone, or all of it: then a promise kept is worth little."""
        constant = len(self.hidden) + len(self.one_label)
        if (constant and constant == self.columns) or (self.loss or 0.0) >= ALL:
            return "all"
        if self.noise is not None:
            return "most"
        return "most" if max(self.loss or 0.0, constant / max(self.columns, 1)) > MUCH else ""

    def __str__(self) -> str:
        """What is left, in words; empty where there is nothing to warn of."""
        if not self.little:
            return ""
        parts = []
        for names, shown_cell in ((self.hidden, "*"), (self.one_label, "the same")):
            if names:
                be = "is" if len(names) == 1 else "are"
                parts.append(
                    f"{len(names)} of {self.columns} columns {be} {shown_cell} for everybody "
                    f"({', '.join(names)})"
                )
        if self.loss is not None:
            parts.append(f"{self.loss:.0%} of the detail is gone")
        if self.noise is not None:
            parts.append(
                f"noise moves a count by up to {self.noise:.3g}, and a cell counts "
                f"{self.a_cell:.3g} people on average"
            )
        return "; ".join(parts)


def worth_of(report: Report) -> Worth:
    """What is left of the quasi-identifiers in the release of a report."""
    evidence = report.evidence
    loss = detail_gone(report)
    if evidence is None or report.raw:
        return Worth(0, (), (), None)
    release = evidence.release
    if report.noisy:
        moved, a_cell = noise_of(release)
        drowned = moved if moved is not None and moved > a_cell else None
        return Worth(len(release.schema.quasi), (), (), None, drowned, a_cell)
    hidden, one_label = _told_nothing(release)
    return Worth(len(release.schema.quasi), hidden, one_label, loss)


def detail_gone(report: Report) -> float | None:
    """The share of the detail that is gone, as far as it was measured: by width, or by distance."""
    measured = (report.costs.get(name) for name in ("loss", SpreadLost.name))
    return next((lost for lost in measured if lost is not None and lost == lost), None)


def noise_of(release: Release) -> tuple[float | None, float]:
    """How far noise moves a count, and how many people a cell counts on average."""
    made, guarantee = release.made, release.guarantee
    cells = sum(len(groups) * groups.width for groups in release.by_attribute.values())
    if isinstance(made, Randomised):
        cells = made.table.counts.size
    moved = None if guarantee is None else guarantee.reach
    return moved, release.people / max(cells, 1)


def _told_nothing(release: Release) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns that are * for everybody, and those that show one other label."""
    regions = release.regions.each_region
    if regions is None or not each_told(release):
        return (), ()
    several = None
    if release.placement is not None:  # what was the same for everybody before is nobody's loss
        quasi = release.placement.table.counts.quasi
        several = {domain.name for domain in quasi if len(domain) > 1}
    hidden, one_label = [], []
    for column, parts, codes in zip(regions.columns, regions.parts, regions.codes, strict=True):
        if np.ptp(codes) or (several is not None and column not in several):
            continue
        only = parts[int(codes[0])]
        if isinstance(only, Anything):
            hidden.append(column)
        elif several is not None:
            one_label.append(column)
    return tuple(hidden), tuple(one_label)


def closing_words(report: Report) -> list[str]:
    """What a reader must know before handing it out: that little is left, what would help."""
    helping = what_would_help(report)
    return [*warnings_of(report), *([helping] if helping else [])]


def what_would_help(report: Report) -> str:
    """Which change would buy most, where that was worked out; its owner's alone."""
    price = report.evidence.price if report.evidence is not None else None
    return "" if price is None or report.audience == "public" else price.words()


def warnings_of(report: Report) -> list[str]:
    """What nobody may overlook: free text is published, little is left."""
    worth = worth_of(report)
    sentences = [
        f"FREE TEXT IS PUBLISHED, because its owner insists, and anything may stand in it: "
        f"{text.column} ({text.words})."
        for text in report.insisted
    ]
    if worth.little:
        begins = {"": "What is left", "most": "Little is left to use", "all": "No detail is left"}
        sentences.append(f"{begins[worth.gone]}: {worth}.")
        sentences += _missing_values(report, worth.hidden)
    return sentences


def _missing_values(report: Report, hidden: tuple[str, ...]) -> list[str]:
    """Columns that a few people lack: too few for a group of their own, so nobody's is told.

    So it is where a whole column is at one level of its hierarchy; ranges may be told beside those
    who lack a value.
    """
    evidence = report.evidence
    placement = None if evidence is None else evidence.release.placement
    if evidence is None or placement is None or report.audience == "public":
        return []
    from sfumato.anonymizers.lattice.lattice import LatticeFindings  # whoever made it has loaded it

    if LatticeFindings.of(evidence.release.made) is None:
        return []
    k = max((criterion.fewest_people for criterion in evidence.criteria), default=1)
    sentences = []
    for column, domain in enumerate(placement.table.counts.quasi):
        ordered = domain.kind in ("numeric", "date")
        if domain.name not in hidden or not ordered or not domain.specials:
            continue
        having = placement.table.counts.people_by_code(column)[domain.placed :]
        for special, people in zip(domain.specials, having.tolist(), strict=True):
            if 0 < people < k:
                state = "is missing" if special is None else f"is {special}"
                sentences.append(
                    f"{domain.name} {state} for fewer people than a group needs, who would stand "
                    "out if it were told of the others: fill it in, or leave out those rows."
                )
    return sentences


ALWAYS = ("loss", "query-error")
_MOST_TUPLES = 1_000_000  # above, only what the policy itself asks for: queries take seconds there


def costs_of(report: Report) -> dict[str, float]:
    """Loss, query error and the policy's own measure; NaN where one does not apply."""
    evidence = report.evidence
    if evidence is None or report.audience == "public" or report.noisy:
        return {}
    placement = evidence.release.placement
    if placement is None:
        return {} if evidence.table is None else _beside(evidence.release, evidence.table)
    table, policy = placement.table, evidence.policy
    asked = utility_named(ALWAYS[0]) if policy is None else policy.measure(table)
    small = len(table.counts) <= _MOST_TUPLES
    measures = {asked.name: asked}
    if small:
        measures |= {name: utility_named(name) for name in ALWAYS if name != asked.name}
    view = view_of(evidence.release)
    if view.points:  # they have no width, and people need not be in them
        measures[SpreadLost.name] = SpreadLost()
    return {
        name: measure.cost(view)
        for name, measure in measures.items()
        # Of a larger table everybody's own values are not in memory to compare with.
        if measure.measures(table.counts)
    }


def _beside(release: Release, table: Table) -> dict[str, float]:
    """What can be told of a release that was read and its table; nothing where they do not fit."""
    try:
        return {ALWAYS[0]: utility_named(ALWAYS[0]).cost(view_with_table(release, table))}
    except SfumatoError:
        return {}


def usefulness_section(report: Report) -> Section | None:
    """One row a measure, and a warning where little is left."""
    if report.audience == "public" or report.raw:
        return None
    title = "What it costs"
    if report.noisy:
        return Section(
            title,
            "Not measured: nothing of the table is left in noisy counts to compare it with. The "
            "notes tell how far noise moves a count.",
        )
    warning = "".join(f"{words}\n\n" for words in closing_words(report))
    if not report.costs:
        return Section(
            title,
            f"{warning}Not measured: that needs the original table. The report that anonymize "
            "writes has it, and compare measures several releases.",
        )
    rows = tuple((name, cost, meaning_of(name)) for name, cost in report.costs.items())
    shares = tuple(at for at, name in enumerate(report.costs) if is_share(name))
    return Section(
        title,
        f"{warning}What the release has lost against the original table; lower is more useful. "
        "Other measures, classification among them, are measured by compare.",
        (
            Sheet(("measure", "cost", "what it means"), rows, percent_rows=shares),
            *_spread_of_columns(report),
        ),
    )


def _spread_of_columns(report: Report) -> tuple[Sheet, ...]:
    """What is gone of each column with its centroids."""
    if SpreadLost.name not in report.costs or report.evidence is None:
        return ()
    lost = SpreadLost().by_column(view_of(report.evidence.release))
    order = sorted(lost, key=lambda column: -lost[column])
    return (
        Sheet(
            ("column", "detail gone"),
            tuple((column, lost[column]) for column in order),
            "How much of what people differ in is gone, the most first",
            percent=("detail gone",),
        ),
    )


# -- what it is for --------------------------------------------------------------------------------


def use_section(report: Report) -> Section | None:
    """How the release serves what the policy says it is for; told of the table, so to its owner."""
    evidence = report.evidence
    if evidence is None or evidence.policy is None or report.audience == "public" or report.raw:
        return None
    use, placement = evidence.policy.use, evidence.release.placement
    if use is None or placement is None or not placement.table.counts.fits_memory:
        return None
    view = view_of(evidence.release)
    fitted = use.measure(placement.table.counts)
    if not view.covering or not isinstance(fitted, FitForUse):
        return None
    sheets = [_columns(view, fitted)]
    if isinstance(fitted, FitForQueries):
        sheets.append(_answers(fitted.answers(view)))
    if use.target is not None:
        sheets.append(_learnt(view, use.target))
    return Section(
        "What it is for",
        "How the release serves the use that the policy names. Columns weigh what they are worth "
        "for it, 1 on average; answers to queries spread everybody evenly over what is published "
        "of her.",
        tuple(sheets),
    )


def _columns(view: View, fitted: FitForUse) -> Sheet:
    names = [domain.name for domain in view.counts.quasi]
    lost = [float(view.suppressed)] * len(names)
    if not view.exact:
        wide = view.totals([view.coverage(column).widening() for column in range(len(names))])
        lost = [view.suppressed + widening for widening in wide]
    order = sorted(range(len(names)), key=lambda column: -fitted.weights[column])
    return Sheet(
        ("column", "weight", "detail gone"),
        tuple((names[c], fitted.weights[c], lost[c] / view.people) for c in order),
        "What each column is worth, and what is gone of it",
        percent=("detail gone",),
    )


def _answers(answers: Sequence[QueryAnswers]) -> Sheet:
    off, rows = f"off by > {WRONG:.0%}", []
    for answer in answers:
        errors = answer.errors
        wrong = float((errors > WRONG).mean()) if not np.isnan(errors).any() else float("nan")
        errors_summary = float(errors.mean()), float(np.median(errors)), wrong
        rows.append((", ".join(answer.columns), len(errors), *errors_summary))
    return Sheet(
        ("counts by", "cells", "mean error", "median", off),
        tuple(rows),
        "Answers to the policy's queries: relative errors over cells that have people",
        percent=("mean error", "median", off),
    )


def _learnt(view: View, target: str) -> Sheet:
    title = f"How well a decision tree predicts {target}, on people it has not seen"
    columns = ("learnt from", "right")
    try:
        accuracy = Classification(target).measure(view)
    except (MissingExtra, InputError) as error:
        return Sheet(columns, (), title, (f"Not measured: {error}.",))
    rows = (
        ("the table", accuracy.original),
        ("the release", accuracy.release),
        ("nothing: always the commonest value", accuracy.majority),
    )
    gained, kept = accuracy.original - accuracy.majority, accuracy.release - accuracy.majority
    note = "Nothing can be learnt of it from the table either."
    if gained > 0:
        note = f"{min(max(kept / gained, 0.0), 1.0):.0%} of what the table teaches is kept."
    return Sheet(columns, rows, title, (note,), percent=("right",))
