"""Which promise of a policy costs most: the same search once more without each of them.

Stands apart: what each promise costs is asked after a release is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from sfumato.criteria.base import Criterion
from sfumato.errors import SfumatoError
from sfumato.policy.model import Policy
from sfumato.release.release import Release
from sfumato.report.report import Report
from sfumato.report.sections.usefulness import worth_of
from sfumato.table.load import Table
from sfumato.utility import utility_named
from sfumato.utility.view import view_of

SECONDS = 20.0  # for all searches together; none is begun that is likely to end later
Search = Callable[[Table, Policy], Release]


def tell_dearest(
    report: Report, table: Table, policy: Policy, search: Search, took: float
) -> Report:
    """The report with the promise that costs most, where little is left; `took`: one search."""
    loss = worth_of(report).loss
    if report.evidence is None or loss is None or not worth_of(report).little:
        return report
    told = dearest(table, policy, search, loss, took)
    return replace(report, evidence=replace(report.evidence, dearest=told))


def dearest(table: Table, policy: Policy, search: Search, loss: float, took: float) -> str:
    """The promise without which least would be lost, in a sentence."""
    promises = list(policy.require)
    if len(promises) < 2:
        return f"That is the price of the policy's only promise, {_named(promises[0])}."
    start = monotonic()
    without: dict[int, float] = {}
    left_out = 0
    for place in range(len(promises)):
        if monotonic() - start + took > SECONDS:
            left_out += 1
            continue
        rest = promises[:place] + promises[place + 1 :]
        try:
            release = search(table, replace(policy, require=rest))
            cost = utility_named("loss").cost(view_of(release))
        except SfumatoError:
            continue  # the anonymizer cannot do without it
        if cost == cost:
            without[place] = cost
    more = f" ({left_out} of {len(promises)} were not tried: it takes too long)" if left_out else ""
    if not without:
        return f"Which promise costs most was not found out{more}."
    place = min(without, key=lambda one: without[one])
    if without[place] >= loss - 0.005:
        return f"No single promise is to blame: without any one of them as much is lost{more}."
    return (
        f"{_named(promises[place])} costs most: without it {without[place]:.0%} of the detail "
        f"would be gone{more}."
    )


def _named(criterion: Criterion) -> str:
    about = f" of {criterion.sensitive}" if criterion.sensitive else ""
    return f"{criterion.name}{about} ({criterion.required})"
