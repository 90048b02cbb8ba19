"""`sf.characterize`: every combination of columns against every target, from one scan."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sfumato.adversaries.leakage.metrics import named_metrics
from sfumato.adversaries.priors import FewerColumns, PriorGiven, parse_prior
from sfumato.counts.marginals import Marginal, OwnedMarginal, StoredMarginal
from sfumato.errors import InputError
from sfumato.progress import Ticker, phase
from sfumato.release.build import BETWEEN
from sfumato.release.release import Release
from sfumato.report.characterization import Characterization, CombinationFinding, RankedClass
from sfumato.table import Table
from sfumato.workflow.coded_columns import CodedColumns, check_apart, coded_columns
from sfumato.workflow.combination_findings import (
    LargestLeakage,
    Naming,
    class_cells,
    coarsenings,
    contributions,
    finding,
)
from sfumato.workflow.combinations import (
    OTHERS,
    CombinationPlan,
    LeakageTarget,
    Set,
    TargetsAsked,
    check_given,
    choose_columns,
    choose_targets,
    named_targets,
    plan,
)
from sfumato.workflow.observed_classes import (
    CHARACTERIZE,
    MeasuredClasses,
    TargetPriors,
    measure,
    readings_of,
    words,
)

_RANKED = 12  # classes a table can show


@phase("measuring combinations")
def characterize(
    subject: Table | Release,
    max_size: int = 3,
    targets: TargetsAsked = None,
    *,
    columns: Sequence[str] | None = None,
    prior: PriorGiven = "table",
    metrics: str | Sequence[str] = (),
    individuals: bool = False,
) -> Characterization:
    """Which combination of columns gives people away?

    Every combination of `columns` (the quasi-identifiers unless named) up to `max_size` of them is
    measured against every target: the sensitive columns; columns named, kept ones too, tuples of
    them being one joint target; or "*", every column in turn. A target is never part of what is
    known, and what is known is always one of `columns`.

    `prior`: what an observer expects. "table", how everybody is distributed (of a release, the
    published people: what is published must not tell of suppressed ones); "uniform"; shares or
    counts by value, for a single target; {"given": columns}, the distribution among those who show
    the same in these columns, which she knows already; an outside Table, the distribution there
    among those who show the same. `metrics`: further measures of leakage, by name or "all" that
    apply: see `sfumato.adversaries.leakage.metrics`. `individuals`: also the leakage of every
    person, private.
    """
    checked = parse_prior(prior, CHARACTERIZE)
    wanted = {
        *(columns or ()),
        *(name for members in named_targets(targets) or () for name in members),
    }
    if targets == OTHERS and isinstance(subject, Table):
        wanted |= set(subject.schema.keep)
    coded = coded_columns(subject, wanted)
    chosen = choose_columns(coded, columns)
    aims = choose_targets(coded, targets, chosen, explicit=columns is not None)
    known: Set = ()
    if isinstance(checked, FewerColumns):
        if targets == OTHERS:
            aims = [aim for aim in aims if coded.names[aim.column] not in checked.columns]
        known = check_given(coded, checked.columns, chosen, aims)
        if isinstance(subject, Release):
            check_apart(subject, checked.columns)
    base, naming = _with_joints(coded, chosen, aims)
    sizes = dict(zip(base.columns, base.sizes, strict=True))
    planned = plan(chosen, aims, sizes, max_size, known)
    priors = [TargetPriors.of(checked, coded, read, aims, known) for read in readings_of(base)]
    further = priors[0].further  # values are the same in every reading
    ordered = all(aim.name in coded.ordered for aim in aims) and not any(further.values())
    asked = named_metrics(metrics, ordered=ordered)
    naming = replace(naming, labels=priors[0].labels(naming.labels), metrics=asked)
    exposure = None
    if individuals:
        if isinstance(base, OwnedMarginal) and base.known is not None:
            raise InputError(
                "individuals are told by what one row shows, and linked rows are known together; "
                "leave them out"
            )
        everybody = base.in_memory("telling what everybody's own classes leak")
        exposure = LargestLeakage(everybody, planned)
    run = _Run(base, planned, priors, naming, exposure)
    findings = run.all()
    return Characterization(
        label=coded.label,
        people=coded.people,
        columns=tuple(coded.names[column] for column in chosen),
        targets=tuple(aim.name for aim in aims),
        max_size=min(max_size, len(chosen)),
        prior=words(checked, coded),
        findings=findings,
        contributions=contributions(findings),
        coarsenings=coarsenings(findings, base, coded.levels, aims, priors, naming),
        notes=coded.notes,
        public=coded.public,
        whose_rows=isinstance(base, OwnedMarginal) and base.known is None,
        one_for_all=all(prior.fixed for prior in priors),
        individuals=None if exposure is None else exposure.result(naming, len(coded.names)),
    )


def _with_joints(
    coded: CodedColumns, columns: Set, targets: Sequence[LeakageTarget]
) -> tuple[Marginal | StoredMarginal | OwnedMarginal, Naming]:
    """The columns that are needed, and one more for each joint target."""
    needed = tuple(sorted({*columns, *(place for target in targets for place in target.members)}))
    base = coded.base.among(needed)
    names, labels = list(coded.names), list(coded.labels)
    for target in targets:
        if len(target.members) > 1:
            base, codes = base.with_joint(target.column, target.members)
            texts_of_members = [
                [coded.labels[place][code] for code in row]
                for place, row in zip(target.members, codes.tolist(), strict=True)
            ]
            names.append(target.name)
            labels.append([BETWEEN.join(texts) for texts in zip(*texts_of_members, strict=True)])
    return base, Naming(tuple(names), tuple(labels))


@dataclass(frozen=True)
class _Run:
    """The work: sets of columns side by side, each with the narrower sets summed up from it."""

    base: Marginal | StoredMarginal | OwnedMarginal
    plan: CombinationPlan
    priors: Sequence[TargetPriors]
    naming: Naming
    exposure: LargestLeakage | None

    def all(self) -> tuple[CombinationFinding, ...]:
        """Every finding, smaller combinations first."""
        findings: list[CombinationFinding] = []
        many = sum(len(targets) for targets in self.plan.asked.values())
        threads = min(len(self.plan.roots), os.cpu_count() or 1)
        with (
            Ticker("combinations", many) as ticker,
            ThreadPoolExecutor(threads) as pool,
        ):
            for several in pool.map(partial(self._from, self.base), self.plan.roots):
                findings += several
                ticker.add(len(several))
        order = {name: place for place, name in enumerate(self.naming.names)}
        aims = {aim.name: place for place, aim in enumerate(self.plan.targets)}
        return tuple(
            sorted(
                findings,
                key=lambda finding: (
                    aims[finding.target],
                    len(finding.columns),
                    [order[name] for name in finding.columns],
                ),
            )
        )

    def _from(
        self, wider: Marginal | StoredMarginal | OwnedMarginal, columns: Set
    ) -> list[CombinationFinding]:
        """One set of columns and all that are summed up from it."""
        cells = wider.onto(columns)
        findings = []
        for target in self.plan.asked[columns]:
            measured = measure(cells, target, *self.priors)
            ranked = _ranked_classes(measured, self.naming)
            findings.append(replace(finding(measured, self.naming), ranked=ranked))
            if self.exposure is not None:
                self.exposure.add(measured)
        for narrower in self.plan.below.get(columns, ()):
            findings += self._from(cells, narrower)
        return findings


def _ranked_classes(measured: MeasuredClasses, naming: Naming) -> tuple[RankedClass, ...]:
    """The classes that leak most; of equal ones those with most people first."""
    leakage, people = measured.leakage, measured.people
    many = min(_RANKED, len(people))
    first = np.argpartition(-leakage.distribution, many - 1)[:many]
    order = first[np.lexsort((-people[first], -leakage.distribution[first]))]
    return tuple(
        RankedClass(
            class_cells(measured, group, naming),
            round(float(people[group])),
            float(leakage.distribution[group]),
            float(leakage.entropy[group]),
            int(leakage.ruled_out[group]),
        )
        for group in order.tolist()
    )
