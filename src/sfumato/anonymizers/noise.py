"""Noise: a differentially private contingency table (Dwork, McSherry, Nissim, Smith, TCC 2006).

The adversary may know anything, hold any other release and be told everything about everybody but
one person; what she then concludes about that person is nearly what she would conclude if that
person's record were another's. No release that partitions people exactly can promise this, and
promises of this kind add up when several are made about the same people (composition paper).

What makes it true is that nothing published depends on the table but through the noise. The columns
and their levels are the policy's. The cells are all combinations of declared values, those nobody
has included (`release/noisy.py`). A person is in one cell once: several rows or values a
person are refused. The total is the noisy one, or declared public. After the noise is drawn nothing
can reach the table: `run` hands only the plan and the noisy counts on, and the release keeps no
placement of people (`release/made.py`, `Randomised`).

OpenDP draws the noise from the operating system's randomness: a seed only orders published rows.

In this order: OpenDP's measurement, the cells, from noisy counts to people, the anonymizer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from math import prod
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from sfumato.adversaries.randomised import opendp
from sfumato.anonymizers.base import Anonymizer, Task, no_safe_release
from sfumato.counts.counts import Counts
from sfumato.criteria.base import Criterion, judge, parameter
from sfumato.engines.form import FileForm
from sfumato.errors import InputError, PolicyError, ResourceError, did_you_mean, quoted
from sfumato.numbers import Ints, sums_by
from sfumato.release.guarantee import RELATIONS, Guarantee, PrivacyLoss, PrivacyUnit, Relation
from sfumato.release.made import Randomised
from sfumato.release.noisy import (
    COUNT,
    WHOLE,
    Height,
    NoisyForm,
    NoisyTable,
    TableAxis,
    allowed_height,
    check_rows,
    noisy_release,
    quasi_axis,
    sensitive_axis,
)
from sfumato.release.release import Release, standing_notes
from sfumato.schema.region import ValueSet
from sfumato.schema.roles import Schema
from sfumato.table import Table

# Noise for a vector of counts: OpenDP's measurement, its scale and what its own map promises.
#
# A person is in exactly one cell. Put in or taken out, she changes one count by 1; replaced, at
# most two counts by 1 each. In the distance that a mechanism's noise answers to, that is
#
#     geometric, laplace   sum of changes          add-remove 1    replace-one 2
#     gaussian             root of summed squares  add-remove 1    replace-one sqrt(2)
#
# (Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009; Bun, Steinke 2016.)
# OpenDP finds the smallest scale whose map stays within the epsilon and delta asked for, and its
# map is what the guarantee tells.

Mechanism = Literal["geometric", "laplace", "gaussian"]
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)
MOST_SCALE = 1e9  # beyond, no table of people leaves a trace, and sums would overflow

_ROOT = math.nextafter(math.sqrt(2), 2)  # rounded up: the change is never understated
_CHANGE: dict[Mechanism, dict[Relation, int | float]] = {
    "geometric": {"add-remove": 1, "replace-one": 2},
    "laplace": {"add-remove": 1.0, "replace-one": 2.0},
    "gaussian": {"add-remove": 1.0, "replace-one": _ROOT},
}


@dataclass(frozen=True)
class Drawing:
    """A mechanism at its scale: `draw` is the one step from true counts to noisy ones."""

    mechanism: Mechanism
    scale: float
    measurement: Any

    def draw(self, raw: Ints) -> Ints:
        """The counts with noise, by OpenDP; every cell of them, whatever it holds."""
        if self.mechanism == "laplace":
            drawn = self.measurement(raw.astype(np.float64).tolist())
            return np.rint(np.asarray(drawn, dtype=np.float64)).astype(np.int64)
        return np.asarray(self.measurement(raw.tolist()), dtype=np.int64)

    def accuracy(self, alpha: float = 0.05) -> float:
        """How far noise moves one count at most, about, but for a probability alpha."""
        # Those of continuous noise: OpenDP's for whole numbers sum up tails one number at a time.
        tell = "gaussian" if self.mechanism == "gaussian" else "laplacian"
        accuracy_of = getattr(opendp("accuracy"), f"{tell}_scale_to_accuracy")
        return float(accuracy_of(scale=self.scale, alpha=alpha))

    def guarantee(
        self, relation: Relation, delta: float, *, public_total: bool, unit: PrivacyUnit
    ) -> Guarantee:
        """The promise by the relation asked for, and by the other one where there is one."""
        own = self.loss(relation, delta)
        (second_relation,) = (neighbours for neighbours in RELATIONS if neighbours != relation)
        return Guarantee(
            own.epsilon,
            own.delta,
            self.mechanism,
            relation,
            own.rho,
            # Who knows the exact number of people sees that somebody joined or left.
            None if public_total else self.loss(second_relation, delta),
            self.scale,
            unit,
        )

    def loss(self, relation: Relation, delta: float) -> PrivacyLoss:
        """What OpenDP's own map says of this measurement."""
        change = _CHANGE[self.mechanism][relation]
        mapped = self.measurement.map(change)
        if self.mechanism != "gaussian":
            return PrivacyLoss(float(mapped), 0.0)
        epsilon, spent = _at_delta(self.measurement, delta).map(change)
        return PrivacyLoss(float(epsilon), float(spent), float(mapped))


@lru_cache(maxsize=64)
def calibrated(mechanism: Mechanism, epsilon: float, delta: float, relation: Relation) -> Drawing:
    """The least noise that keeps within epsilon and delta by this relation of neighbours."""
    wanted = (float(epsilon), float(delta)) if mechanism == "gaussian" else float(epsilon)

    def made(scale: float) -> Any:
        measurement = _measurement(mechanism, scale)
        return measurement if mechanism != "gaussian" else _at_delta(measurement, delta)

    change, library = _CHANGE[mechanism][relation], opendp("mod")
    try:
        if not made(MOST_SCALE).check(change, wanted):
            raise PolicyError(
                f"noise: epsilon = {epsilon!r} would take noise of a scale above {MOST_SCALE:g}, "
                "in which any table drowns; use a larger one"
            )
        scale = library.binary_search_param(
            made, d_in=change, d_out=wanted, bounds=(0.0, MOST_SCALE), T=float
        )
    except library.OpenDPException:
        raise PolicyError(
            f"noise: OpenDP finds no {mechanism} noise for epsilon = {epsilon!r}, delta = "
            f"{delta!r}; use an epsilon between 0.001 and 100"
        ) from None
    return Drawing(mechanism, float(scale), _measurement(mechanism, float(scale)))


def _measurement(mechanism: Mechanism, scale: float) -> Any:
    domains, metrics, make = opendp("domains"), opendp("metrics"), opendp("measurements")
    if mechanism == "laplace":
        space = domains.vector_domain(domains.atom_domain(T="f64", nan=False))
        return make.make_laplace(space, metrics.l1_distance(T="f64"), scale=scale)
    space = domains.vector_domain(domains.atom_domain(T="i64"))
    if mechanism == "geometric":
        return make.make_geometric(space, metrics.l1_distance(T="i64"), scale=scale)
    return make.make_gaussian(space, metrics.l2_distance(T="f64"), scale=scale)


def _at_delta(measurement: Any, delta: float) -> Any:
    """A zero-concentrated measurement as (epsilon, delta), at this delta."""
    combine = opendp("combinators")
    return combine.make_fix_delta(combine.make_zCDP_to_approxDP(measurement), delta=delta)


# The cells of a contingency table, fixed by schema and policy, and how many people are in each.
#
# `CellGrid.of` never sees a table. `count_cells` is the only place where people are counted for
# noise, and what it returns goes nowhere but into the noise.

MOST_CELLS = 1_000_000  # seven seconds of geometric noise, 25 of Laplace's


@dataclass(frozen=True)
class CellGrid:
    """All combinations of what the columns can show; `heights` are those of the QI columns."""

    quasi: tuple[TableAxis, ...]
    sensitive: tuple[TableAxis, ...]
    heights: tuple[Height, ...]

    @classmethod
    def of(cls, schema: Schema, levels: Mapping[str, Height]) -> CellGrid:
        heights = tuple(allowed_height(schema, name, levels.get(name)) for name in schema.quasi)
        cells = cls(
            tuple(
                quasi_axis(schema, name, height)
                for name, height in zip(schema.quasi, heights, strict=True)
            ),
            tuple(sensitive_axis(schema, name) for name in schema.sensitive),
            heights,
        )
        if len(cells) > MOST_CELLS:
            sizes = ", ".join(f"{axis.name} {len(axis):,}" for axis in cells.axes)
            raise ResourceError(
                f"noise: {len(cells):,} cells ({sizes}), at most {MOST_CELLS:,} are allowed; "
                "choose higher levels, or leave columns out with level '*'"
            )
        return cells

    @property
    def axes(self) -> tuple[TableAxis, ...]:
        return (*self.quasi, *self.sensitive)

    def __len__(self) -> int:
        return prod(len(axis) for axis in self.axes)


def check_table(table: Table, name: str) -> None:
    """Refuse a table in which somebody may be in several cells, or in one more than once."""
    counts = table.counts
    several = [attribute.name for attribute in counts.sensitive if attribute.sets is not None]
    if counts.extra_memberships or several:
        about = "some people have rows with different quasi-identifiers"
        if several:
            about = f"people have several rows or several values of {several[0]!r}"
        raise InputError(
            f"{name}: {about}; the promise is about one row a person, so give each one row with "
            "one value"
        )


def count_cells(table: Table, cells: CellGrid) -> Ints:
    """The people in each cell, in the order of the axes: the true counts."""
    people: Ints = np.zeros(len(cells), dtype=np.int64)
    for part in table.counts.parts():
        people += _count_part(table, part, cells)
    return people


def _count_part(table: Table, counts: Counts, cells: CellGrid) -> Ints:
    place = np.zeros(len(counts), dtype=np.int64)
    for axis, height, codes in zip(cells.quasi, cells.heights, counts.codes, strict=True):
        if height == WHOLE:
            continue
        level = table.levels[axis.name][height]
        here = np.array(axis.places(level.regions), dtype=np.int64)
        place = place * len(axis) + here[level.codes[codes]]
    for axis, attribute, codes in zip(
        cells.sensitive, counts.sensitive, counts.values, strict=True
    ):
        regions = tuple(ValueSet(frozenset({value})) for value in attribute.domain.values)
        place = place * len(axis) + np.array(axis.places(regions), dtype=np.int64)[codes]
    return sums_by(place, counts.n, len(cells))


# From noisy counts to numbers of people: whole, not negative, adding up to a total.
#
# Cutting off what is negative would add people: noise around an empty cell would only ever count
# upwards, and there are many empty cells. Instead the nearest counts (least squares) that are not
# negative and have the right sum: every count is lowered by the same amount and cut off at 0. What
# is left of a person then goes to the largest counts, one each (largest remainder; remainders are
# all equal). Everything here is made from noisy counts alone.


def fit(noisy: Ints, total: int | None = None) -> Ints:
    """The nearest whole, non-negative counts with this total; by default, that of the noisy ones.

    The sum of noisy counts is as often above the true total as below it.
    """
    people = int(noisy.sum()) if total is None else total
    if people <= 0:
        return np.zeros_like(noisy)
    order = np.argsort(-noisy, kind="stable")
    falling = noisy[order]
    excess = np.cumsum(falling) - people
    place = np.arange(1, len(falling) + 1)
    kept = int(np.flatnonzero(falling > excess // place)[-1]) + 1
    lowered, remainder = divmod(-int(excess[kept - 1]), kept)  # how much each count rises, exactly
    fitted = np.zeros_like(noisy)
    fitted[order[:kept]] = falling[:kept] + lowered
    fitted[order[:remainder]] += 1
    return fitted


Total = Literal["noisy", "public"]
LOOSE_DELTA = 1e-3  # from here on a delta is loose for any table worth the name
_ADVICE = "give the anonymizer a smaller epsilon or delta, or loosen that bound"


@dataclass(frozen=True)
class NoisePlan:
    """What policy, schema and the public total settle; nothing of it is anybody's secret."""

    schema: Schema
    cells: CellGrid
    drawing: Drawing
    guarantee: Guarantee
    total: int | None
    label: str
    form: FileForm
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Noise(Anonymizer):
    """Noisy counts of people by quasi-identifiers at chosen levels and sensitive values."""

    name: ClassVar[str] = "noise"

    epsilon: float
    """The guarantee: less is safer, and noisier; above 0. Example: `epsilon = 1.0`."""
    _: KW_ONLY
    delta: float = 0.0
    """For "gaussian" noise only. Example: `delta = 1e-6` with `mechanism = "gaussian"`."""
    mechanism: Mechanism = "geometric"
    """What noise is drawn; "gaussian" needs delta. Example: `mechanism = "laplace"`."""
    levels: Mapping[str, Height] = field(default_factory=dict, hash=False)
    """By column, else the finest allowed; "*" leaves it out. Example: `levels = { age = 1 }`."""
    publish: NoisyForm = "counts"
    """The "counts" of all cells, or as many "rows" as each counts. Example: `publish = "rows"`."""
    total: Total = "noisy"
    """The number of people: "noisy", or "public" (replace-one). Example: `total = "public"`."""
    neighbours: Relation = "replace-one"
    """Which tables are alike by it, as in the criterion. Example: `neighbours = "add-remove"`."""

    def __post_init__(self) -> None:
        parameter(self.name, "epsilon", self.epsilon, above=0)
        for option, allowed in (
            ("mechanism", MECHANISMS),
            ("publish", get_args(NoisyForm)),
            ("total", get_args(Total)),
            ("neighbours", RELATIONS),
        ):
            if getattr(self, option) not in allowed:
                given = getattr(self, option)
                raise PolicyError(
                    f"{self.name}: {option} = {given!r} is not known; "
                    f"{did_you_mean(given, allowed)}"
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

    def _check_promise(self, plan: NoisePlan, require: tuple[Criterion, ...]) -> None:
        """Refuse a bound that the planned noise does not keep: on cells without anybody."""
        nobody = self._release(plan, np.zeros(len(plan.cells), dtype=np.int64))
        for criterion in require:
            verdict = judge(criterion, nobody)
            if verdict.status == "violated":
                raise no_safe_release(criterion, verdict.measured, verdict.note, _ADVICE)

    def _check_rows(self, plan: NoisePlan) -> None:
        """Refuse rows of which noise alone may make too many."""
        likely = plan.total
        if likely is None:
            likely = round(plan.drawing.accuracy() * math.sqrt(len(plan.cells)))
        if self.publish == "rows":
            check_rows(likely, f"noise of scale {plan.drawing.scale:.3g} may publish")

    def _plan(self, task: Task) -> NoisePlan:
        """All that is settled before anybody is counted: shape, noise, promise, public total."""
        schema = task.table.schema
        check_table(task.table, self.name)
        self._check(schema, task.require)
        for name in {*schema.judged} & {*task.table.source.codes}:
            raise PolicyError(
                f"{self.name}: column {name!r} has codes, which its declared values lack; list "
                "them in missing of [read]"
            )
        cells = CellGrid.of(schema, self.levels)
        drawing = calibrated(self.mechanism, self.epsilon, self.delta, self.neighbours)
        near = (
            f"{len(cells):,} cells; noise moves a count by at most about {drawing.accuracy():.3g} "
            "with a probability of 95%"
        )
        total = task.table.people if self.total == "public" else None
        exact = ("the total number of people is exact, as declared public",)
        return NoisePlan(
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
            task.table.source.form.written_as(task.table.source.form.format),
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
        self, plan: NoisePlan, noisy: Ints, seed: int, require: tuple[Criterion, ...]
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

    def _release(self, plan: NoisePlan, counts: Ints, seed: int = 0) -> Release:
        table = NoisyTable(plan.cells.quasi, plan.cells.sensitive, counts, self.publish, seed)
        made = Randomised(plan.guarantee, table, plan.form)
        return noisy_release(made, plan.schema, plan.label, plan.notes)

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
        if schema.publish_weight is not None:
            raise PolicyError(
                f"{self.name}: publish_weight is not possible: no row here is a person's, and sums "
                "of weights would need noise of their own; leave it out"
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
