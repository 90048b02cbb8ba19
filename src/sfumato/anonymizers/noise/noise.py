"""Noise: a differentially private contingency table (Dwork, McSherry, Nissim, Smith, TCC 2006).

The adversary may know anything, hold any other release and be told everything about everybody but
one person; what she then concludes about that person is nearly what she would conclude if that
person's record were another's. No release that partitions people exactly can promise this, and
promises of this kind add up when several are made about the same people (composition paper).

What makes it true is that nothing published depends on the table but through the noise. The columns
and their levels are the policy's. The cells are all combinations of declared values, those nobody
has included (`release/declared.py`). A person is in one cell once: several rows or values a person
are refused. The total is the noisy one, or declared public. After the noise is drawn nothing can
reach the table: `run` hands only the plan and the noisy counts on, and the release has no origin.

OpenDP draws the noise from the operating system's randomness, so the seed of a run does not touch
it; a seed orders the rows of `publish="rows"`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np

from sfumato.anonymizers.base import Anonymizer, Task, no_safe_release
from sfumato.anonymizers.noise.cells import Cells, check_table, count_cells
from sfumato.anonymizers.noise.fitting import fit
from sfumato.anonymizers.noise.mechanism import MECHANISMS, Drawing, Mechanism, calibrated
from sfumato.counts.counts import Ints
from sfumato.criteria.base import Criterion, parameter
from sfumato.criteria.judge import judge
from sfumato.errors import PolicyError, did_you_mean, quoted
from sfumato.release.declared_values import WHOLE, Height
from sfumato.release.guarantee import RELATIONS, Guarantee, Relation
from sfumato.release.noisy import COUNT, Form, NoisyTable, check_rows, noisy_release
from sfumato.release.release import Release, standing_notes
from sfumato.schema.roles import Schema

Total = Literal["noisy", "public"]
LOOSE_DELTA = 1e-3  # from here on a delta is loose for any table worth the name
_ADVICE = "give the anonymizer a smaller epsilon or delta, or loosen that bound"


@dataclass(frozen=True)
class Plan:
    """What policy, schema and the public total settle; nothing of it is anybody's secret."""

    schema: Schema
    cells: Cells
    drawing: Drawing
    guarantee: Guarantee
    total: int | None
    label: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Noise(Anonymizer):
    """Noisy counts of people by quasi-identifiers at chosen levels and sensitive values.

    epsilon, delta: the guarantee, by `neighbours`: "replace-one" or "add-remove" (guarantee.py).
    delta is 0 but for mechanism "gaussian", which needs one.
    levels: the hierarchy level of each quasi-identifier, 0 where none is named; "*" leaves a
    column out.
    publish: "counts" of all cells, or "rows", as many as each cell counts.
    total: "noisy", or "public": the number of people is published as it is, by replace-one only.
    """

    name: ClassVar[str] = "noise"

    epsilon: float
    _: KW_ONLY
    delta: float = 0.0
    mechanism: Mechanism = "geometric"
    levels: Mapping[str, Height] = field(default_factory=dict, hash=False)
    publish: Form = "counts"
    total: Total = "noisy"
    neighbours: Relation = "replace-one"

    def __post_init__(self) -> None:
        parameter(self.name, "epsilon", self.epsilon, above=0)
        for option, allowed in (
            ("mechanism", MECHANISMS),
            ("publish", get_args(Form)),
            ("total", get_args(Total)),
            ("neighbours", RELATIONS),
        ):
            if getattr(self, option) not in allowed:
                given = getattr(self, option)
                raise PolicyError(
                    f"{self.name}: {option} = {given!r} is not known; "
                    f"{did_you_mean(str(given), allowed)}"
                )
        self._check_delta()
        if self.total == "public" and self.neighbours != "replace-one":
            raise PolicyError(
                f"{self.name}: total = 'public' tells exactly how many people there are, so "
                "neighbours = 'add-remove' promises nothing; use 'replace-one' or total = 'noisy'"
            )
        if not isinstance(self.levels, Mapping):
            raise PolicyError(
                f"{self.name}: levels = {quoted(self.levels)} is not allowed; give a level by "
                "column"
            )
        object.__setattr__(self, "levels", dict(self.levels))
        for column, level in self.levels.items():
            whole = isinstance(level, int) and not isinstance(level, bool) and level >= 0
            if not whole and level != WHOLE:
                raise PolicyError(
                    f"{self.name}: levels: column {column!r} has {level!r}; use 0, 1, 2, ..., or "
                    "'*' to leave it out"
                )

    def _check_delta(self) -> None:
        if self.mechanism == "gaussian":
            parameter(self.name, "delta", self.delta, above=0, most=1)
            if self.delta < 1:
                return
            raise PolicyError(f"{self.name}: delta = {self.delta!r} promises nothing; use 1e-6")
        parameter(self.name, "delta", self.delta, least=0)
        if self.delta:
            raise PolicyError(
                f"{self.name}: delta = {self.delta!r} is not allowed with mechanism = "
                f"{self.mechanism!r}, which needs none; leave it out, or use 'gaussian'"
            )

    def run(self, task: Task) -> Release:
        plan = self._plan(task)
        # Whatever can be refused is refused before noise is drawn: every draw spends the budget.
        self._check_promise(plan, task.require)
        self._check_rows(plan)
        noisy = plan.drawing.draw(count_cells(task.table, plan.cells))
        return self._publish(plan, noisy, task.seed, task.require)

    def _check_promise(self, plan: Plan, require: tuple[Criterion, ...]) -> None:
        """Refuse a bound that the planned noise does not keep: on cells without anybody."""
        nobody = self._release(plan, np.zeros(len(plan.cells), dtype=np.int64))
        for criterion in require:
            verdict = judge(criterion, nobody)
            if verdict.status == "violated":
                raise no_safe_release(criterion, verdict.measured, verdict.note, _ADVICE)

    def _check_rows(self, plan: Plan) -> None:
        """Refuse rows of which noise alone may make too many."""
        likely = plan.total
        if likely is None:
            likely = round(plan.drawing.accuracy() * math.sqrt(len(plan.cells)))
        if self.publish == "rows":
            check_rows(likely, f"noise of scale {plan.drawing.scale:.3g} may publish")

    def _plan(self, task: Task) -> Plan:
        """All that is settled before anybody is counted: shape, noise, promise, public total."""
        schema = task.table.schema
        check_table(task.table, self.name)
        self._check(schema, task.require)
        cells = Cells.of(schema, self.levels)
        drawing = calibrated(self.mechanism, self.epsilon, self.delta, self.neighbours)
        near = (
            f"{len(cells):,} cells; noise moves a count by at most about {drawing.accuracy():.3g} "
            "with a probability of 95 %"
        )
        total = task.table.people if self.total == "public" else None
        exact = ("the total number of people is exact, as declared public",)
        return Plan(
            schema,
            cells,
            drawing,
            drawing.guarantee(
                self.neighbours,
                self.delta,
                public_total=self.total == "public",
                unit="row" if schema.person is None and schema.count is None else "person",
            ),
            total,
            f"release of {task.table.source.label}",
            (
                near,
                *(() if total is None else exact),
                *self._loose(total),
                *standing_notes(task.table),
            ),
        )

    def _loose(self, total: int | None) -> tuple[str, ...]:
        """A warning of a delta that lets somebody's record be published outright.

        How many people there are may be told only where that is public.
        """
        most = LOOSE_DELTA if total is None else min(LOOSE_DELTA, 1 / max(total, 1))
        if self.delta < most:
            return ()
        return (
            f"delta {self.delta:g} is loose: a release that gives away one person's record in "
            f"every {1 / self.delta:,.0f} would keep it too; use one far below 1 / people",
        )

    def _publish(
        self, plan: Plan, noisy: Ints, seed: int, require: tuple[Criterion, ...]
    ) -> Release:
        """From here on there are noisy counts and nothing else."""
        counts = fit(noisy, plan.total)
        if self.publish == "rows":
            check_rows(int(counts.sum()), "the noisy counts are")
        release = self._release(plan, counts, seed)
        for criterion in require:
            verdict = judge(criterion, release)
            if not verdict.holds:
                raise no_safe_release(criterion, verdict.measured, verdict.note, _ADVICE)
        return release

    def _release(self, plan: Plan, counts: Ints, seed: int = 0) -> Release:
        table = NoisyTable(plan.cells.quasi, plan.cells.sensitive, counts, self.publish, seed)
        return noisy_release(table, plan.schema, plan.guarantee, plan.label, plan.notes)

    def _check(self, schema: Schema, require: tuple[Criterion, ...]) -> None:
        for criterion in require:
            if not criterion.of_noise:
                raise PolicyError(
                    f"{self.name}: {criterion.name} is not applicable: it counts people exactly, "
                    "and counts will be noisy; require differential-privacy instead"
                )
        if schema.keep:
            raise PolicyError(
                f"{self.name}: {schema.keep[0]!r} (keep) would be published as it is, and no row "
                "here is a person's; drop the role"
            )
        for column in self.levels:
            if column not in schema.quasi:
                raise PolicyError(
                    f"{self.name}: levels: {column!r} is not a quasi-identifier; "
                    f"{did_you_mean(column, schema.quasi)}"
                )
        if self.publish == "counts" and COUNT in schema.judged:
            raise PolicyError(
                f"{self.name}: column {COUNT!r} has the name of the published counts; rename it, "
                "or use publish = 'rows'"
            )
