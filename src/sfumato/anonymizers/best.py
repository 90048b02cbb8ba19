"""Best: every way of making a release that applies to the policy, and the most useful one is kept.

Which anonymizer serves a policy best depends on its criteria, the columns and how many people there
are, and nobody can tell without trying. Quick ones come first, so that a release is there within
seconds; the lattice has a share of the time and keeps the best node it has seen; dealing has the
rest. Each release is judged by the criteria before it counts, and measured by the policy's utility.
What every way came to is told with the release: its cost, or why there is none.

The first release is finished whatever the clock says. Where no time limit bites, the same seed
gives the same release; what a limit cuts short depends on the machine, and the attempts tell it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from math import inf, isfinite, nan
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from sfumato.adversaries.linkage.risks import linkage
from sfumato.anonymizers.anatomy import Anatomy
from sfumato.anonymizers.base import Anonymizer, Task
from sfumato.anonymizers.blanking.local_suppression import LocalSuppression
from sfumato.anonymizers.deal.deal import Deal, DealFindings
from sfumato.anonymizers.lattice.lattice import Lattice, LatticeFindings
from sfumato.anonymizers.microaggregation import Microaggregation
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.anonymizers.noise import Noise
from sfumato.criteria.base import parameter
from sfumato.criteria.differential_privacy import DifferentialPrivacy
from sfumato.criteria.diversity import DistinctDiversity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.errors import NoSafeRelease, PolicyError, ResourceError, SfumatoError, quoted
from sfumato.progress import Compiling, OutOfTime, TimeBar, time_limit
from sfumato.release.made import DistanceUnits, Findings, MadeHere
from sfumato.release.release import Release
from sfumato.schema.roles import Schema
from sfumato.table import read
from sfumato.utility.loss import Loss
from sfumato.utility.view import view_of

TriedScheme = Literal["generalized", "bucketized", "microaggregated", "blanked"]
SCHEMES: tuple[TriedScheme, ...] = ("generalized", "bucketized", "microaggregated", "blanked")
TryOutcome = Literal["chosen", "holds", "refused", "does not apply", "stopped", "not begun"]

_SPARED = 0.6  # of the time is for dealing, which gains most
FEW = 100  # people: so few are dealt only where little is left, for it takes a compiler to load
_MUCH = 0.5  # of the detail gone: its price is then searched, by dealing whoever there is
_INTERRUPTED = "you interrupted the search"
_TIME_OVER = "the time was over"


@dataclass(frozen=True)
class Attempt:
    """What one way of making the release came to.

    `cost` is by the policy's utility and `loss` by widths; NaN where a measure does not apply, None
    where there is no release. `seconds`: how long it took, None where it was not begun. `why`: the
    reason of an outcome that is no release, or what to know of one that is. `maker`: the way as it
    was asked for. `risk`: how likely a person's row is found by somebody who knows that she is in
    the release, on average; None where that cannot be told.
    """

    anonymizer: str
    outcome: TryOutcome
    why: str = ""
    cost: float | None = None
    loss: float | None = None
    groups: int | None = None
    suppressed: int | None = None
    seconds: float | None = None
    maker: Anonymizer | None = None
    risk: float | None = None

    @property
    def rank(self) -> tuple[float, float, float]:
        """By the policy's utility; by loss where that does not apply; the rest at the end."""
        cost = inf if self.cost is None or not isfinite(self.cost) else self.cost
        loss = inf if self.loss is None or not isfinite(self.loss) else self.loss
        return cost, loss, self.suppressed or 0


@dataclass(frozen=True)
class BestFindings(Findings):
    """Every attempt, in the order they were made, and what the chosen anonymizer found itself."""

    anonymizer: ClassVar[str] = "best"

    chosen: Findings
    utility: str
    attempts: tuple[Attempt, ...]
    interrupted: bool = False

    @property
    def inner(self) -> Findings:
        return self.chosen

    @property
    def made_by(self) -> str:
        return f"{self.anonymizer} ({self.chosen.made_by})"

    @property
    def distances(self) -> DistanceUnits | None:
        return self.chosen.distances

    @property
    def was_interrupted(self) -> bool:
        return self.interrupted

    @property
    def points(self) -> list[dict[str, object]]:
        return [
            {
                "point": number,
                "name": attempt.anonymizer,
                "anonymizer": None if attempt.maker is None else _settings(attempt.maker),
                "outcome": attempt.outcome,
                "why": attempt.why,
                "groups": attempt.groups,
                "suppressed": attempt.suppressed,
                "risks": {"mean": attempt.risk},
                "costs": {self.utility: _finite(attempt.cost)},
            }
            for number, attempt in enumerate(self.attempts, start=1)
        ]

    @property
    def cut_short(self) -> bool:
        """Whether the time was over before every way was tried to its end."""
        return any(attempt.why == _TIME_OVER for attempt in self.attempts)

    @property
    def winner(self) -> Attempt:
        return next(attempt for attempt in self.attempts if attempt.outcome == "chosen")

    @property
    def next_best(self) -> Attempt | None:
        """The most useful release that was not chosen."""
        alternatives = [attempt for attempt in self.attempts if attempt.outcome == "holds"]
        return min(alternatives, key=lambda attempt: attempt.rank, default=None)


def _finite(cost: float | None) -> float | None:
    """As JSON can hold it."""
    return cost if cost is not None and isfinite(cost) else None


def _settings(maker: Anonymizer) -> dict[str, object]:
    """An anonymizer as a policy names it."""
    given = {declared.name: getattr(maker, declared.name) for declared in fields(maker)}
    return {"kind": maker.name, **{name: value for name, value in given.items() if value != ()}}


@dataclass(frozen=True)
class _Way:
    """An anonymizer that may be tried, as it is told."""

    label: str
    anonymizer: Anonymizer


@dataclass(frozen=True)
class Best(Anonymizer):
    """The most useful of what applies: lattice, Mondrian's forms, dealing; others if allowed."""

    name: ClassVar[str] = "best"
    suppresses: ClassVar[bool] = True  # as the lattice and deal do

    seconds: float = 30.0
    """For all of them together; small tables take less. The first release is made whatever the
    clock says. Example: `seconds = 60.0`.
    """
    schemes: Sequence[TriedScheme] = ("generalized",)
    """What may be published: "generalized" regions, and where the owner allows it "bucketized"
    (Anatomy), "microaggregated" (centroids) and "blanked" (values as they are, single cells
    suppressed). Example: `schemes = ["generalized", "blanked"]`.
    """

    def __post_init__(self) -> None:
        parameter(self.name, "seconds", self.seconds, above=0)
        given = (self.schemes,) if isinstance(self.schemes, str) else tuple(self.schemes)
        object.__setattr__(self, "schemes", given)
        for scheme in given:
            if not isinstance(scheme, str) or scheme not in SCHEMES:
                raise PolicyError(
                    f"{self.name}: schemes = {quoted(scheme)} is not known; allowed: "
                    f"{', '.join(SCHEMES)}"
                )
        if not given:
            raise PolicyError(f"{self.name}: schemes is empty; allowed: {', '.join(SCHEMES)}")

    def briefly(self) -> Anonymizer:
        return Deal().briefly() if "generalized" in self.schemes else self

    def refuses_rows(self) -> str:
        return "" if "generalized" in self.schemes else super().refuses_rows()

    def run(self, task: Task) -> Release:
        with TimeBar("searching", self.seconds) as bar:
            contest = _Contest(task, bar, self.seconds)
            for way in self._ways(task):
                contest.enter(way)
            return contest.result()

    def _ways(self, task: Task) -> Iterator[_Way]:
        """What may be tried, quick ones first."""
        promised = [
            criterion for criterion in task.require if isinstance(criterion, DifferentialPrivacy)
        ]
        if promised:  # kept by noise alone: whoever requires it has asked for noise
            epsilon = min(criterion.epsilon for criterion in promised)
            yield _Way("noise", Noise(epsilon, neighbours=promised[0].neighbours))
            return
        if "bucketized" in self.schemes:
            asked = [int(getattr(criterion, "l", 2)) for criterion in task.require]
            yield _Way("anatomy", Anatomy(max(2, *asked, 2)))
            if any(attribute.sets is not None for attribute in task.table.counts.sensitive):
                # Dealing is not guided by what is asked of bags of values; cutting is.
                yield _Way("cut (buckets)", Mondrian(scheme="bucketized"))
        if "generalized" in self.schemes:
            yield _Way("mondrian (tight)", Mondrian(regions="tight"))
            yield _Way("mondrian (cells)", Mondrian())
            yield _Way("mondrian (relaxed)", Mondrian(strict=False, regions="tight"))
            yield _Way("mondrian (hierarchy)", Mondrian(regions="hierarchy"))
        if "microaggregated" in self.schemes:
            least = max(criterion.fewest_people for criterion in task.require)
            yield _Way("microaggregation", Microaggregation(max(2, least)))
        if "bucketized" in self.schemes:  # widens nothing, so it ends soon where it can be done
            yield _Way("deal (buckets)", Deal(self.seconds / 2, scheme="bucketized"))
        if "blanked" in self.schemes:
            yield _Way("local suppression", LocalSuppression())
        if "generalized" in self.schemes:
            yield _Way("lattice", Lattice())
            yield _Way("deal", Deal(self.seconds))


@dataclass
class _Contest:
    """The attempts so far and the best release among them."""

    task: Task
    bar: TimeBar
    seconds: float
    compiling: Compiling = field(default_factory=Compiling)
    began: float = field(default_factory=time.monotonic)
    attempts: list[Attempt] = field(default_factory=list)
    best: Release | None = None
    leader: int = -1
    refusals: list[SfumatoError] = field(default_factory=list)
    interrupted: bool = False

    @property
    def left(self) -> float:
        """Seconds that are left; compiling, and loading what was compiled, is not counted."""
        return self.began + self.seconds + self.compiling.seconds - time.monotonic()

    @property
    def _few(self) -> bool:
        return self.task.table.counts.memberships < FEW

    @property
    def spared(self) -> float:
        """Seconds that are kept for dealing."""
        return 0.0 if self._few else _SPARED * self.seconds

    def enter(self, way: _Way) -> None:
        """Try one way, if there is reason and time to."""
        idle = self._idle(way)
        if idle:
            self.attempts.append(Attempt(way.label, "not begun", idle, maker=way.anonymizer))
            return
        self.bar.tell(way.label, self._so_far())
        started = time.monotonic()

        def tell(outcome: TryOutcome, why: str) -> None:
            spent = time.monotonic() - started
            maker = way.anonymizer
            self.attempts.append(Attempt(way.label, outcome, why, seconds=spent, maker=maker))

        try:
            release = self._run(way)
            self._measure(way, release, started)
        except OutOfTime:
            tell("stopped", _TIME_OVER)
        except KeyboardInterrupt:
            tell("stopped", _INTERRUPTED)
            self.interrupted = True
            if self.best is None:
                raise
        except MemoryError:
            tell("does not apply", "there is not memory enough")
            self.refusals.append(ResourceError(f"{way.label}: there is not memory enough"))
        except SfumatoError as error:
            tell("refused" if isinstance(error, NoSafeRelease) else "does not apply", str(error))
            self.refusals.append(error)

    def _run(self, way: _Way) -> Release:
        if isinstance(way.anonymizer, Deal):  # has a clock of its own, and ends well
            self.bar.pass_on("compiling, for the first time only")
            _compile_deal()
            self.bar.pass_on("")
            return way.anonymizer.within(max(self.left, 1e-3)).run(self.task)
        # The first release is finished whatever the clock says: there must be one.
        spared = -inf if self.best is None else self.spared
        with time_limit(lambda: self.left - spared):
            return way.anonymizer.run(self.task)

    def _idle(self, way: _Way) -> str:
        """Why a way is not worth trying; empty if it is."""
        deals = isinstance(way.anonymizer, Deal)
        if self.interrupted:
            return _INTERRUPTED
        if self.task.table.schema.rows == "unlinked" and (why := way.anonymizer.refuses_rows()):
            return f"rows are published one by one, which {why}"
        if self.best is None:
            few = f"there are fewer than {FEW} people" if deals and self._few else ""
            return few or self._hopeless()
        winner = self.attempts[self.leader]
        if deals and self._few and self._keeps_much(winner.loss, self.best):
            return f"there are fewer than {FEW} people"
        # Buckets widen nothing, and yet not all that a policy's utility measures is told by them.
        if winner.loss == 0 and (winner.cost == 0 or not self.best.regions.exact):
            return "nothing is lost, so nothing can be gained"
        return _TIME_OVER if self.left <= (0 if deals else self.spared) else ""

    def _keeps_much(self, loss: float | None, release: Release) -> bool:
        """Whether more than little of the detail is left, in every column that had some."""
        several = {domain.name for domain in self.task.table.counts.quasi if len(domain) > 1}
        regions = release.regions.each_region
        columns = () if regions is None else zip(regions.columns, regions.codes, strict=True)
        one_label = any(name in several and not np.ptp(codes) for name, codes in columns)
        return loss is not None and loss <= _MUCH and not one_label

    def _hopeless(self) -> str:
        """What fails for everybody together fails for any groups, if merging does no harm."""
        merges = all(self.task.merge_closed(criterion) for criterion in self.task.require)
        generalized = any(
            attempt.outcome == "refused" and attempt.anonymizer.startswith("mondrian")
            for attempt in self.attempts
        )
        if merges and generalized and self.task.suppression == 0 and not self.task.at_end:
            return "what fails for everybody together fails for any groups"
        return ""

    def _measure(self, way: _Way, release: Release, started: float) -> None:
        seconds = time.monotonic() - started
        view = view_of(release) if isinstance(release.made, MadeHere) else None
        utility = self.task.utility
        loss = nan if view is None else Loss().cost(view)
        cost = loss
        if view is not None and utility != Loss() and utility.measures(self.task.table.counts):
            cost = utility.cost(view)
        prosecutor = linkage(release).prosecutor
        attempt = Attempt(
            way.label,
            "holds",
            _caveat(release),
            cost,
            loss,
            release.groups.number(),
            release.suppressed,
            seconds,
            way.anonymizer,
            None if prosecutor is None else prosecutor.mean,
        )
        self.attempts.append(attempt)
        if self.best is None or attempt.rank < self.attempts[self.leader].rank:
            self.best, self.leader = release, len(self.attempts) - 1
        dealt = DealFindings.of(release.made)
        self.interrupted |= dealt is not None and dealt.interrupted

    def _so_far(self) -> str:
        if self.best is None:
            return ""
        leader = self.attempts[self.leader]
        cost = f"{self.task.utility.name} {leader.cost:.4g}"
        return f"best so far {leader.anonymizer}, {cost}"

    def result(self) -> Release:
        """The best release with all attempts; the most helpful refusal where there is none."""
        if self.best is None:
            raise next(
                (error for error in self.refusals if isinstance(error, NoSafeRelease)),
                self.refusals[0],
            )
        made = self.best.made
        if not isinstance(made, MadeHere):
            return self.best
        self.attempts[self.leader] = replace(self.attempts[self.leader], outcome="chosen")
        findings = BestFindings(
            made.findings, self.task.utility.name, tuple(self.attempts), self.interrupted
        )
        return replace(self.best, made=replace(made, findings=findings))


@cache
def _compile_deal() -> None:
    """Dealing counts its time from the start: what it must compile is compiled before that."""
    rows = pa.table({"age": [20, 20, 30, 30] * 2, "sex": [*"FMFM"] * 2, "ill": [*"yynn"] * 2})
    few = read(rows, Schema(quasi=["age", "sex"], sensitive="ill"))
    Deal(sweeps=1).run(Task(few, (KAnonymity(2), DistinctDiversity(2))))


def _caveat(release: Release) -> str:
    """What to know of a release that holds."""
    lattice = LatticeFindings.of(release.made)
    if lattice is not None and lattice.search is not None and not lattice.search.exact:
        return lattice.search.seen
    dealt = DealFindings.of(release.made)
    if dealt is None:
        return ""
    if dealt.interrupted:
        return _INTERRUPTED
    return "nothing better than Mondrian's release was found" if dealt.mondrian else ""
