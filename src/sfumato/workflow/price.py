"""`sf.price`: what every promise of a policy costs, by searching once more without each of them.

For each criterion, each quasi-identifier and its limits the best release is looked for that the
policy would allow without it, and for each criterion one step looser and tighter. All searches do
the same work and the same seed, the policy as it is too; what does not fit into the time is not
begun, and said so. A release of a stricter policy is one of the looser, too, so a looser one never
costs more.

Without a column the table is searched that lacks it; the release is then measured beside the whole
table, with the column as `*` for everybody, and must hold so by the policy as it is. The release of
the policy as it is, with `*` in the column, is another. But that of the policy as it is may not be
one without a column: to withhold one is its owner's choice. A large table
is priced on a sample of its people, with all rows of theirs. Bounds are asked of the sample as they
are: a group of k has k people of the sample, who lie farther apart than those of the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from sfumato.anonymizers.base import Anonymizer, Task, check_release
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.criteria.base import parameter
from sfumato.errors import InputError, NoSafeRelease, SfumatoError, expect
from sfumato.policy.model import Policy
from sfumato.progress import Compiling, OutOfTime, Ticker, phase, time_limit
from sfumato.release.build import build_release
from sfumato.release.linked import LinkedPlacement, LinkedRows, linked_release
from sfumato.release.made import Findings, MadeHere
from sfumato.release.release import Release
from sfumato.report.price import (
    Change,
    NoOtherBound,
    OtherBound,
    OtherColumns,
    Price,
    PricedChange,
    PriceStatus,
    WithoutColumn,
    WithoutCriterion,
    WithoutLimits,
    in_order,
)
from sfumato.report.report import Report
from sfumato.report.sections.usefulness import worth_of
from sfumato.table import Table
from sfumato.utility.view import View, view_of
from sfumato.workflow.anonymize import anonymize, check_people, generalize, perturbed_by
from sfumato.workflow.anonymize import without_limits as unlimited
from sfumato.workflow.price_changes import changes_of, in_turn, way_of
from sfumato.workflow.smaller_tables import (
    among_finer,
    among_finer_rows,
    everybody_alike,
    sample_of,
    with_column_hidden,
    without_column,
)

SECONDS = 30.0  # for all searches together
BRIEFLY = 10.0  # the same at the end of `anonymize`
PEOPLE = 30_000  # more are priced by a sample
LINKED = 10_000  # whose rows a pseudonym links: signatures take longer than single rows
DEALT = 2_000  # where a search is long: deal takes a second or two for so many
_AT_EASE = 16  # changes that half a minute is enough for; where there are more, people are fewer
_FEWEST = 500
_LATE = "the time was over"
_FARTHER = 0.97  # of a release's cost: a search that came lower had more time


@dataclass(frozen=True)
class _Tried:
    """What came of one search: a cost, or why there is none."""

    status: PriceStatus
    cost: float | None = None
    groups: int | None = None
    by_column: tuple[float, ...] = ()  # the loss of each quasi-identifier
    reason: str = ""


@phase("pricing")
def price(
    table: Table,
    policy: Policy,
    *,
    seconds: float = SECONDS,
    seed: int = 0,
    people: int | None = None,
    bounds: bool = True,
) -> Price:
    """What the best release would cost without each promise and column, or one step from a bound.

    `seconds` are for all searches together but the first, that of the policy as it is. A table of
    more than so many `people` is priced by a sample (30,000; of linked rows 10,000; where dealt, or
    linked rows are looked for in a lattice, 2,000, of a policy with many promises and columns down
    to 500). `bounds`: other bounds are priced too.
    """
    expect("table", table, Table, "a Table, as sf.read makes one")
    expect("policy", policy, Policy, "a Policy")
    check_price(seconds, seed, people)
    check_people(table)
    table = perturbed_by(table, policy, seed)
    own = policy.maker
    anonymizer = brief_maker(own, table)
    for criterion in policy.require:
        if criterion.of_noise:
            raise InputError(
                f"price: what noise costs, as {criterion.name} asks for it, is not measured"
            )
    columns = [domain.name for domain in table.counts.quasi]
    changes = [
        change
        for change in changes_of(policy, columns, table.schema.limits)
        if bounds or not isinstance(change, OtherBound | NoOtherBound)
    ]
    searches = 1 + sum(not isinstance(change, NoOtherBound) for change in changes)
    linked = table.rows is not None
    if people is None and anonymizer == own and not (linked and not isinstance(own, Mondrian)):
        people = LINKED if linked else PEOPLE
    elif people is None:
        people = min(DEALT, max(DEALT * _AT_EASE // searches, _FEWEST))
    sample = sample_of(table, people, seed)
    if linked and sample.people < table.people:
        _refuse_what_asks_everybody(policy, table, sample)
    bench = _Bench(sample, replace(policy, anonymizer=anonymizer), seed)
    with Ticker("pricing", searches) as ticker:
        as_it_is = bench.search(None)
        ticker.add()
        tried: dict[Change, _Tried] = {}
        hidden: dict[Change, _Tried | None] = {}
        bench.spent = 0.0
        loss = dict(zip(columns, as_it_is.by_column, strict=False))  # of buckets no column's
        for change in in_turn(changes, bench.as_it_is, loss):
            if isinstance(change, NoOtherBound):
                tried[change] = _Tried("no_step", reason="it names no other bounds")
            elif bench.interrupted or bench.spent + bench.shortest > seconds:
                tried[change] = _Tried("not_begun", reason=bench.interrupted or _LATE)
            else:
                tried[change] = bench.search(change, seconds - bench.spent)
                if isinstance(change, WithoutColumn):
                    hidden[change] = bench.hide(change.column)
                ticker.add()
    best = _cheapest(
        [as_it_is, *(tried[change] for change in changes if way_of(change) == "tighter")]
    )
    return Price(
        label=table.source.label,
        people=sample.people,
        everybody=table.people,
        utility=bench.utility.name,
        about=bench.utility.about,
        anonymizer=anonymizer.name if anonymizer == own else f"{anonymizer.name}, briefly",
        seconds=seconds,
        seed=seed,
        cost=best.cost,
        groups=best.groups,
        reason=best.reason,
        changes=in_order(
            [
                _priced(change, columns, tried, hidden.get(change), as_it_is, best)
                for change in changes
            ]
        ),
        notes=tuple(_notes(table, sample)),
    )


def brief_maker(own: Anonymizer, table: Table) -> Anonymizer:
    """By which searches that are compared are made: as much work for each, and for the table."""
    if table.rows is not None:
        return own  # those that link rows do the same work whatever the clock says
    quick = own.briefly()
    if table.schema.rows == "unlinked" and quick.refuses_rows() and not own.refuses_rows():
        return Mondrian()  # the quick one that keeps a person's several rows
    return quick


def check_price(seconds: float, seed: int, people: int | None) -> None:
    """Refuse what cannot be meant, before any work is done."""
    parameter("price", "seconds", seconds, above=0)
    parameter("price", "seed", seed, whole=True, least=0)
    if people is not None:
        parameter("price", "people", people, whole=True, least=1)


def _refuse_what_asks_everybody(policy: Policy, table: Table, sample: Table) -> None:
    """Of people whose rows a pseudonym links an earlier release must show all: none is a sample."""
    for criterion in policy.require:
        if criterion.together is not None:
            raise InputError(
                f"price: {criterion.name} of linked rows is judged of all people, and a sample of "
                f"{sample.people:,} lacks some; say people = {table.people} (--people "
                f"{table.people}), or price the policy without it"
            )


def add_price(report: Report, table: Table, policy: Policy, *, asked: bool | None) -> Report:
    """The report with the price of the policy: if `asked`, or not said, where little is left."""
    if asked is None:
        asked = worth_of(report).little and worth_of(report).loss is not None
    if not asked or report.evidence is None:
        return report
    try:
        priced = price(table, policy, seconds=BRIEFLY)
    except SfumatoError as error:
        why = f"what each promise costs was not worked out: {error}"
        return replace(report, notes=(*report.notes, why))
    evidence = replace(report.evidence, price=priced)
    hurried: tuple[str, ...] = ()
    all_dealt = priced.people == priced.everybody and policy.maker.briefly() != policy.maker
    if all_dealt and priced.cost is not None:
        cost = policy.measure(table).cost(view_of(evidence.release))
        if priced.cost < _FARTHER * cost:
            hurried = (
                f"this release has {priced.utility} {cost:.3g}, but the search for its price found "
                f"one of {priced.cost:.3g} by the same policy: give the anonymizer more seconds",
            )
    return replace(report, evidence=evidence, notes=(*report.notes, *hurried))


# -- what is told of a change ----------------------------------------------------------------------


def _priced(
    change: Change,
    columns: Sequence[str],
    tried: dict[Change, _Tried],
    hidden: _Tried | None,
    as_it_is: _Tried,
    best: _Tried,
) -> PricedChange:
    """What was found of a change, or of a stricter policy if that costs less.

    Stricter than a bound is each tighter one and the policy as it is; than none, every bound. The
    release of the policy as it is, with `*` in a column (`hidden`), is one without the column.
    """
    own = tried[change]
    stricter = [] if hidden is None else [hidden]
    if own.status != "not_begun" and isinstance(change, WithoutCriterion):
        looser = [bound for bound in tried if _loosens(bound, change.place)]
        stricter = [best, *(tried[bound] for bound in looser)]
    elif own.status != "not_begun" and way_of(change) == "looser":
        stricter = [best]
    cheapest = _cheapest([own, *stricter])
    rest = None
    if isinstance(change, WithoutColumn) and cheapest.by_column and len(as_it_is.by_column) > 1:
        place = columns.index(change.column)
        rest = OtherColumns(
            _without(as_it_is.by_column, place), _without(cheapest.by_column, place)
        )
    gain = None if best.cost is None or cheapest.cost is None else best.cost - cheapest.cost
    return PricedChange(
        change,
        cheapest.status,
        cheapest.cost,
        gain,
        cheapest.groups,
        cheapest is not own,
        cheapest.reason,
        rest,
    )


def _loosens(change: Change, place: int) -> bool:
    return isinstance(change, OtherBound) and change.step.way == "looser" and change.place == place


def _cheapest(tried: Sequence[_Tried]) -> _Tried:
    """The first that costs least; the first of all where none has a cost."""
    return min(tried, key=lambda attempt: math.inf if attempt.cost is None else attempt.cost)


def _without(by_column: Sequence[float], place: int) -> float:
    """The mean loss of the other columns."""
    rest = [*by_column[:place], *by_column[place + 1 :]]
    return sum(rest) / len(rest)


# -- searches --------------------------------------------------------------------------------------


class _Bench:
    """Where releases are made to be measured, all alike."""

    def __init__(self, table: Table, policy: Policy, seed: int) -> None:
        self.table, self.policy, self.seed = table, policy, seed
        self.utility = policy.measure(table)
        self.shortest = math.inf  # of all searches; seconds without what had to be compiled
        self.spent = 0.0
        self.interrupted = ""
        self.as_it_is: Release | None = None

    def search(self, change: Change | None, seconds: float = math.inf) -> _Tried:
        """The cost of the best release found after a change; None: by the policy as it is."""
        began, compiling = monotonic(), Compiling()

        def took() -> float:
            return monotonic() - began - compiling.seconds

        def left() -> float:
            return seconds - took()

        try:
            with time_limit(left):
                release = self._release(change)
            measured = self._measured(release)
        except OutOfTime:
            return _Tried("not_begun", reason=_LATE)
        except NoSafeRelease as error:
            return _Tried("no_safe_release", reason=str(error))
        except SfumatoError as error:
            if change is None:
                raise
            return _Tried("not_possible", reason=str(error))
        finally:
            self.shortest, self.spent = min(self.shortest, took()), self.spent + took()
        self.as_it_is = release if change is None else self.as_it_is
        made = release.made
        if isinstance(made, MadeHere) and made.findings.was_interrupted:
            self.interrupted = "it was interrupted"
        return measured

    def _measured(self, release: Release) -> _Tried:
        view = view_of(release)
        cost = self.utility.cost(view)
        if math.isnan(cost):
            raise InputError(
                f"{self.utility.name} does not apply to a {release.scheme} release; name another "
                "utility in the policy"
            )
        return _Tried("priced", cost, len(release.groups), _by_column(view))

    def hide(self, column: str) -> _Tried | None:
        """The release of the policy as it is with `*` in a column; None where it does not do."""
        release = self.as_it_is
        if release is None or not release.regions.generalizes:
            return None
        made = release.made
        assert isinstance(made, MadeHere)
        try:
            if isinstance(made.placement, LinkedPlacement):
                linked = made.placement.linked
                hidden = replace(linked, regions=everybody_alike(linked.regions, column))
                return self._measured(self._linked(hidden, made.findings))
            regions = everybody_alike(release.regions.require_regions(), column)
            placed = made.placement.in_memory("pricing")
            changed = build_release(placed, regions, made.findings, seed=self.seed)
            return self._measured(self._checked(changed))
        except NoSafeRelease:
            return None

    def _linked(self, linked: LinkedRows, findings: Findings) -> Release:
        return self._checked(linked_release(linked, findings, self.seed))

    def _checked(self, release: Release) -> Release:
        """A release with other descriptions, if it holds by the policy as it is."""
        require, suppression = tuple(self.policy.require), self.policy.suppression
        return check_release(release, Task(self.table, require, suppression=suppression))

    def _release(self, change: Change | None) -> Release:
        policy, require = self.policy, list(self.policy.require)
        if isinstance(change, WithoutColumn):
            return self._without_column(change.column)
        if isinstance(change, OtherBound):
            require[change.place] = change.step.criterion
        if isinstance(change, WithoutCriterion):
            del require[change.place]
            if not require:  # nothing is asked: the table itself
                return generalize(self.table, {})
        table = self.table
        if isinstance(change, WithoutLimits):
            table, policy = unlimited(table, [change.column]), replace(policy, schema=None)
        return anonymize(table, replace(policy, require=require), seed=self.seed)

    def _without_column(self, column: str) -> Release:
        """The best release of the table that lacks it, with the column as `*` for everybody."""
        table = self.table
        narrower = without_column(table, column)
        use = self.policy.use and self.policy.use.without(column)
        policy = replace(self.policy, schema=None, use=use)
        narrow_release = anonymize(narrower, policy, seed=self.seed)
        made = narrow_release.made
        if not narrow_release.regions.generalizes or not isinstance(made, MadeHere):
            raise InputError(
                f"a {narrow_release.scheme} release has no column that is * for everybody"
            )
        if isinstance(made.placement, LinkedPlacement):
            assert table.rows is not None
            linked = among_finer_rows(made.placement.linked, table, table.rows, column)
            return self._linked(linked, made.findings)
        regions = with_column_hidden(narrow_release.regions.require_regions(), table, column)
        placed = among_finer(made.placement.in_memory("pricing"), table, column)
        return self._checked(build_release(placed, regions, made.findings, seed=self.seed))


def _by_column(view: View) -> tuple[float, ...]:
    """The share of each column's detail that is gone."""
    if not view.covering or view.exact or not view.people:
        return ()
    by_column = view.totals([view.coverage(at).widening() for at in range(len(view.counts.quasi))])
    return tuple((lost + view.suppressed) / view.people for lost in by_column)


def _notes(table: Table, sample: Table) -> Iterator[str]:
    if sample.people < table.people:
        yield (
            f"figures are of a sample of {sample.people:,} of {table.people:,} people; bounds are "
            "asked of it as they are, and its people lie farther apart than those of the table, so "
            "costs are higher than the table's: read their differences, and their order"
        )
