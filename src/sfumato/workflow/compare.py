"""`sf.compare`: one table by many policies, each release with its risks and its cost.

The Pareto front is that of the risk and the cost chosen as axes. The risk is by default the mean
prosecutor risk, the share of people somebody finds who knows that they are in the release. The
highest risk would put all releases with the same smallest group at one place; the mean tells them
apart, and no sensitive column is needed for it. The cost is the first utility measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import Any

from sfumato.adversaries.random_worlds import RandomWorlds
from sfumato.errors import (
    InputError,
    NoSafeRelease,
    PolicyError,
    ResourceError,
    SchemaError,
    SfumatoError,
    did_you_mean,
    expect,
)
from sfumato.policy.model import Policy
from sfumato.progress import Ticker
from sfumato.release.release import Release
from sfumato.report.comparison import (
    RISKS,
    Comparison,
    Figures,
    Outcome,
    pareto_front,
    position,
)
from sfumato.report.report import Report
from sfumato.table.load import Table
from sfumato.utility import utility_named
from sfumato.utility.base import Utility
from sfumato.utility.view import view_of
from sfumato.workflow.anonymize import anonymize
from sfumato.workflow.audit import audit
from sfumato.workflow.sweep import Point, plan_sweep

USUAL = ("loss", "discernibility", "query-error")


def compare(
    table: Table,
    policy: Policy,
    sweep: Mapping[str, object],
    utilities: Sequence[str] | None = None,
    *,
    risk: str = "mean",
    seed: int = 0,
) -> Comparison:
    """Anonymize by every point of the sweeps and tell what each release costs and risks.

    `sweep` maps parameters to lists of values: {"k": [2, 5, 10], "suppression": [0, 0.02]}; see
    `sfumato.workflow.sweep` for what can be named. Of `utilities` (default: the policy's own, loss,
    discernibility and query-error) the first is the cost by which Pareto points are marked; `risk`
    is "mean" or "highest" (prosecutor), or "belief" (random worlds).
    """
    planned = plan_sweep(policy, sweep)
    measures = choose_utilities(policy, utilities, seed)
    check_risk(risk)
    expect("table", table, Table, "a Table, as sf.read makes one")
    outcomes, notes, refused = [], dict.fromkeys(planned.notes), []
    if table.stored is not None and utilities is None:
        left_out = [measure.name for measure in measures if measure.reads_tuples]
        measures = tuple(measure for measure in measures if not measure.reads_tuples)
        if left_out:
            notes[f"not measured on a table larger than memory: {', '.join(left_out)}"] = None
    with Ticker("comparing releases", len(planned.points)) as ticker:
        for point in planned.points:
            try:
                release = anonymize(table, point.policy, seed=seed)
            except NoSafeRelease as error:
                outcomes.append(_failed(point, error))
            except (InputError, PolicyError, ResourceError, SchemaError) as error:
                refused.append(error)
                outcomes.append(_failed(point, error))
            else:
                report = audit(release, point.policy)
                outcomes.append(_measured(point, release, report, measures))
                notes |= dict.fromkeys(_notes(point, report))
            ticker.add()
    if len(refused) == len(outcomes):  # nothing could even be tried: the input is wrong
        raise refused[0]
    cost = measures[0].name
    front = pareto_front([position(outcome, risk, cost) for outcome in outcomes])
    return Comparison(
        label=table.source.label,
        people=table.people,
        sweep=planned.values,
        outcomes=tuple(
            replace(outcome, pareto=on) for outcome, on in zip(outcomes, front, strict=True)
        ),
        risk=risk,
        cost=cost,
        about={
            **{name: kind.about for name, kind in RISKS.items()},
            **{measure.name: measure.about for measure in measures},
        },
        notes=tuple(notes),
        seed=seed,
    )


def choose_utilities(
    policy: Policy, names: Sequence[str] | None = None, seed: int = 0
) -> tuple[Utility, ...]:
    """The measures, each once for all releases: they remember what they know of the table."""
    chosen = dict.fromkeys(names or (policy.utility, *USUAL))
    found = []
    for name in chosen:
        measure: Any = utility_named(name)
        found.append(replace(measure, seed=seed) if measure.seeded else measure)
    return tuple(found)


def check_risk(risk: str) -> None:
    if risk not in RISKS:
        raise PolicyError(f"risk = {risk!r} is not known; {did_you_mean(risk, RISKS)}")


def _failed(point: Point, error: SfumatoError) -> Outcome:
    return Outcome(
        point.settings,
        point.anonymizer.name,
        point.policy,
        figures=None,
        status="no_safe_release" if isinstance(error, NoSafeRelease) else "not_possible",
        reason=str(error),
    )


def _measured(
    point: Point, release: Release, report: Report, measures: Sequence[Utility]
) -> Outcome:
    # Nothing of the table is left to compare noise with, so no measure applies.
    view = None if release.regions.noisy else view_of(release)
    prosecutor = None if report.linkage is None else report.linkage.prosecutor
    counted = () if release.guarantee is not None else release.by_attribute.values()
    beliefs = [
        float(RandomWorlds(groups).strongest().max())
        for groups in counted
        if len(groups) and groups.width
    ]
    figures = Figures(
        groups=len(release.groups),
        people=release.people,
        suppressed=release.suppressed,
        risks={
            "mean": None if prosecutor is None else prosecutor.mean,
            "highest": None if prosecutor is None else prosecutor.highest,
            "belief": max(beliefs, default=None),
        },
        costs={m.name: nan if view is None else m.cost(view) for m in measures},
        verdict=report.status,
    )
    return Outcome(point.settings, point.anonymizer.name, point.policy, figures)


def _notes(point: Point, report: Report) -> list[str]:
    """What must be known of the table once, and of an anonymizer's releases once."""
    linked = () if report.linkage is None else report.linkage.notes
    return [*report.notes, *(f"{point.anonymizer.name}: {note}" for note in linked)]
