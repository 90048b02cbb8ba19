"""`sf.compare`: one table by many policies, each release with its risks and its cost.

The Pareto front is that of the risk and the cost chosen as axes. The risk is by default the mean
prosecutor risk, the share of people somebody finds who knows that they are in the release. The
highest risk would put all releases with the same smallest group at one place; the mean tells them
apart, and no sensitive column is needed for it. The cost is the first utility measure.

A sweep varies parameters of a policy, every combination a point of its own.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from itertools import product
from math import nan, prod
from re import fullmatch
from typing import Any, TypeVar

from sfumato.adversaries.random_worlds import RandomWorlds
from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Anonymizer
from sfumato.anonymizers.best import Best
from sfumato.criteria.base import Criterion, OfPoints
from sfumato.errors import (
    InputError,
    NoSafeRelease,
    PolicyError,
    ResourceError,
    SchemaError,
    SfumatoError,
    did_you_mean,
    expect,
    quoted,
)
from sfumato.policy.model import Policy
from sfumato.progress import Ticker
from sfumato.release.release import Release
from sfumato.report.comparison import (
    RISKS,
    Comparison,
    Figures,
    Fingerprints,
    Outcome,
    SweptValue,
    position,
)
from sfumato.report.report import Report
from sfumato.report.risk_map import pareto_front
from sfumato.schema.hierarchy import Hierarchy
from sfumato.table import Table
from sfumato.utility import utility_named
from sfumato.utility.base import Utility
from sfumato.utility.view import view_of
from sfumato.workflow.anonymize import anonymize, perturbed_by
from sfumato.workflow.audit import audit

# Sweeps as text: `k=2,5,10` from the command line, and values as tables and JSON tell them.

_WORD = r"[A-Za-z][\w-]*"  # a name may stand without the quotation marks TOML asks for
_EXACT = 1e15  # whole numbers up to here are told digit by digit


def parse_sweeps(texts: Iterable[str]) -> dict[str, list[SweptValue]]:
    """From `k=2,5,10` as on the command line; numbers are written as in TOML."""
    sweeps: dict[str, list[SweptValue]] = {}
    for text in texts:
        name, sign, values = (part.strip() for part in text.partition("="))
        if not sign or not name:
            raise PolicyError(f"sweep {text!r} is not understood; write NAME=VALUE,VALUE,...")
        if name in sweeps:
            raise PolicyError(f"{name} is swept twice; give all its values at once")
        sweeps[name] = [_parse(name, value.strip()) for value in values.split(",")]
    return sweeps


def _parse(name: str, text: str) -> SweptValue:
    if fullmatch(_WORD, text) and text not in ("true", "false", "inf", "nan"):
        return text
    try:
        content = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        content = {}
    value = content.get("value")
    if len(content) != 1 or not isinstance(value, int | float | str):
        written = repr(text) if text else "an empty value"
        raise PolicyError(f"sweep {name}: {written} is not a number or name, such as 5, 0.5 or inf")
    return value


def plain(value: Any) -> SweptValue:
    """A value as tables and JSON tell it."""
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)  # 1e6 is told as 1000000
    if isinstance(value, int | float | str):
        return value
    if isinstance(value, Anonymizer):
        given = [
            f"{f.name}={plain(getattr(value, f.name))}"
            for f in fields(value)
            if getattr(value, f.name) != f.default
        ]
        return f"{value.name}({', '.join(given)})" if given else value.name
    if isinstance(value, RealisticAdversary):
        return str(value)
    if isinstance(value, Hierarchy):
        return value.kind
    if isinstance(value, Sequence):
        return "+".join(str(plain(entry)) for entry in value)
    return getattr(value, "__name__", None) or type(value).__name__


# Sweeps: a policy with some of its parameters varied, every combination a point of its own.
#
# A sweep names a parameter and its values. A plain name sets the parameter wherever it occurs: in
# every criterion of the policy that has it, and in the anonymizer (microaggregation's k is the k
# of k-anonymity). What a criterion's adversary takes (her stubbornness, whom she knows) is named
# like a parameter of the criterion. `t-closeness.t` names that of one criterion,
# `epsilon-privacy#2.known` that of the second epsilon-privacy of the policy, and `anonymizer.l`
# that of the anonymizer only; where several are given, the longest name decides. l, k, m and c of
# a skyline's points are named so too (of all its points), or `skyline-privacy.k` where another one
# has the name. `anonymizer`
# itself and `suppression` can be swept too. What does not concern a point's anonymizer is left out
# of the point, and points that become the same are one.

MOST_POINTS = 1_000
SECONDS = 120  # that points share whose anonymizer is the best of what applies
_ABOUT = ("sensitive", "joint", "columns", "sets")
SUPPRESSION, ANONYMIZER, ADVERSARY = "suppression", "anonymizer", "adversary"
Configured = TypeVar("Configured", Criterion, Anonymizer, RealisticAdversary)


@dataclass(frozen=True)
class SweepPoint:
    """One combination: what was set, and the policy that follows from it."""

    settings: Mapping[str, SweptValue]
    policy: Policy
    anonymizer: Anonymizer


@dataclass(frozen=True)
class Sweep:
    """All points, in the order given, and what did not concern some of them."""

    values: Mapping[str, tuple[SweptValue, ...]]
    points: tuple[SweepPoint, ...]
    notes: tuple[str, ...]


def plan_sweep(policy: Policy, sweep: Mapping[str, object]) -> Sweep:
    """Every point of the sweeps; all are checked by their own constructors."""
    expect("policy", policy, Policy, "a Policy")
    expect("sweep", sweep, Mapping, "a mapping from parameters to the values they take")
    own = policy.maker
    values = {name: _values(name, given) for name, given in sweep.items()}
    kinds = [_kind(choice) for choice in values.get(ANONYMIZER, (own,))]
    known = _sweepable(policy.require, kinds)
    if not values:
        raise PolicyError(f"nothing is swept; this policy can sweep: {', '.join(known)}")
    for name in values:
        swept = isinstance(name, str) and (name in known or _is_dotted(name, policy.require, kinds))
        if not swept:
            raise PolicyError(
                f"{quoted(name)} cannot be swept; this policy can sweep: {', '.join(known)} "
                "(in one place only: CRITERION.NAME, CRITERION#2.NAME or anonymizer.NAME)"
            )
    many = prod(len(choices) for choices in values.values())
    if many > MOST_POINTS:
        raise PolicyError(
            f"the sweeps make {many:,} points, at most {MOST_POINTS:,} are allowed; give fewer "
            "values"
        )
    points: dict[tuple[int | None, ...], SweepPoint] = {}
    notes: dict[str, None] = {}
    if isinstance(own, Best) and own.seconds * many > SECONDS:
        own = replace(own, seconds=max(SECONDS / many, 1.0))
        notes[f"best has {own.seconds:.3g} s a point, {SECONDS} s for all"] = None
    for places in product(*(range(len(choices)) for choices in values.values())):
        chosen = dict(zip(values, places, strict=True))
        point = _point(policy, own, {name: values[name][place] for name, place in chosen.items()})
        heeded = tuple(place if name in point.settings else None for name, place in chosen.items())
        points.setdefault(heeded, point)
        notes |= {
            f"{name} changes nothing with {point.anonymizer.name}: its points are without it": None
            for name in chosen
            if name not in point.settings
        }
    spelt = {name: tuple(plain(value) for value in choices) for name, choices in values.items()}
    return Sweep(spelt, tuple(points.values()), tuple(notes))


def _values(name: str, given: object) -> tuple[Any, ...]:
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    values: list[Any] = []
    for value in given if listed else (given,):  # type: ignore[attr-defined]
        if value not in values:
            values.append(value)
    if not values:
        raise PolicyError(f"sweep {name}: no value is given")
    return tuple(values)


def _kind(choice: object) -> type[Anonymizer]:
    if isinstance(choice, Anonymizer):
        return type(choice)
    if not isinstance(choice, str) or choice not in ANONYMIZERS:
        raise PolicyError(
            f"anonymizer = {quoted(choice)} is not known; {did_you_mean(choice, ANONYMIZERS)}"
        )
    return ANONYMIZERS[choice]


def _names(configured: object) -> list[str]:
    """The parameters of a criterion or anonymizer, and the coordinates of its points."""
    named = _parameters(configured)
    return [*named, *configured.coordinates] if isinstance(configured, OfPoints) else named


def _parameters(configured: object) -> list[str]:
    """What it takes; which columns it is about is none of that."""
    own = [f.name for f in fields(configured) if f.init and f.name not in _ABOUT]  # type: ignore[arg-type]
    adversary = getattr(configured, ADVERSARY, None)
    return [*own, *_parameters(adversary)] if isinstance(adversary, RealisticAdversary) else own


def _sweepable(require: Sequence[Criterion], kinds: Sequence[type[Anonymizer]]) -> list[str]:
    names = [name for configured in (*require, *kinds) for name in _names(configured)]
    return list(dict.fromkeys([*names, SUPPRESSION, ANONYMIZER]))


def _is_dotted(name: str, require: Sequence[Criterion], kinds: Sequence[type[Anonymizer]]) -> bool:
    place, _, field = name.rpartition(".")
    if place == ANONYMIZER:
        return any(field in _names(kind) for kind in kinds)
    return any(
        place in places and field in _names(criterion) for criterion, places in _placed(require)
    )


def _placed(require: Sequence[Criterion]) -> Iterator[tuple[Criterion, tuple[str, ...]]]:
    """Each criterion with its names, the longest first: of several alike it is the n-th."""
    seen: Counter[str] = Counter()
    for criterion in require:
        seen[criterion.name] += 1
        yield criterion, (f"{criterion.name}#{seen[criterion.name]}", criterion.name)


def _point(policy: Policy, own: Anonymizer, settings: Mapping[str, Any]) -> SweepPoint:
    used: set[str] = set()
    makers = (_kind(settings.get(ANONYMIZER, own)),)
    taken = {name for named in (*policy.require, *makers) for name in _parameters(named)}
    require = tuple(
        _set(criterion, _meant(criterion, places, settings, used, taken))
        for criterion, places in _placed(policy.require)
    )
    anonymizer = _anonymizer(settings.get(ANONYMIZER, own), own, settings, used)
    suppression = policy.suppression
    if SUPPRESSION in settings:
        _check_share(policy, settings[SUPPRESSION])
        if anonymizer.suppresses:
            suppression = settings[SUPPRESSION]
            used.add(SUPPRESSION)
    kept = {n: plain(v) for n, v in settings.items() if n in used or n == ANONYMIZER}
    changed = replace(policy, require=require, anonymizer=anonymizer, suppression=suppression)
    return SweepPoint(kept, changed, anonymizer)


def _meant(
    configured: object,
    places: Sequence[str],
    settings: Mapping[str, Any],
    used: set[str],
    taken: Container[str] = (),
) -> dict[str, Any]:
    """What the settings say about one criterion or anonymizer; the longest name decides.

    A coordinate goes by its plain name unless that is `taken`: k is then the k of k-anonymity.
    """
    meant = {}
    own = _parameters(configured)
    for field in _names(configured):
        bare = () if field in taken and field not in own else (field,)
        spelt = (*(f"{place}.{field}" for place in places), *bare)
        name = next((name for name in spelt if name in settings), None)
        if name is not None:
            meant[field] = settings[name]
            used.add(name)
    return meant


def _anonymizer(
    choice: Anonymizer | str, own: Anonymizer, settings: Mapping[str, Any], used: set[str]
) -> Anonymizer:
    kind = _kind(choice)
    meant = _meant(kind, (ANONYMIZER,), settings, used)
    if isinstance(choice, Anonymizer):
        return _set(choice, meant)
    if choice == own.name:
        return _set(own, meant)
    for f in fields(kind):
        if f.default is MISSING and f.default_factory is MISSING and f.name not in meant:
            raise PolicyError(
                f"anonymizer {choice}: {f.name} is missing; sweep anonymizer.{f.name} too"
            )
    for f in fields(kind):
        _check_truth(choice, f.name, f.default, meant.get(f.name, f.default))
    return kind(**meant)


def _set(configured: Configured, meant: Mapping[str, Any]) -> Configured:
    own = {f.name for f in fields(configured)}
    own_values = {name: value for name, value in meant.items() if name in own}
    for name, value in own_values.items():
        _check_truth(configured.name, name, getattr(configured, name), value)
    changed = replace(configured, **own_values) if own_values else configured
    inner_values = {name: value for name, value in meant.items() if name not in own}
    if isinstance(changed, OfPoints):
        return changed.at(inner_values) if inner_values else changed
    if not inner_values:
        return changed
    return replace(changed, **{ADVERSARY: _set(getattr(changed, ADVERSARY), inner_values)})


def _check_truth(kind: str, name: str, current: object, value: object) -> None:
    """A switch takes true and false only; Python would take 'no' for a yes."""
    if isinstance(current, bool) and not isinstance(value, bool):
        raise PolicyError(f"{kind}: {name} = {value!r} is not allowed; it must be true or false")


def _check_share(policy: Policy, value: Any) -> None:
    """As Policy checks it, even where no anonymizer suppresses; true is no share."""
    share: Any = str(value) if isinstance(value, bool) else value
    replace(policy, suppression=share)


DEFAULT_UTILITIES = ("loss", "discernibility", "query-error")


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

    `sweep` maps parameters to lists of values: {"k": [2, 5, 10], "suppression": [0, 0.02]}; the
    module says what can be named. Of `utilities` (default: the policy's own, loss,
    discernibility and query-error) the first is the cost by which Pareto points are marked; `risk`
    is "mean" or "highest" (prosecutor), or "belief" (random worlds).
    """
    planned = plan_sweep(policy, sweep)
    measures = choose_utilities(policy, utilities, seed)
    check_risk(risk)
    expect("table", table, Table, "a Table, as sf.read makes one")
    table = perturbed_by(table, policy, seed)
    if policy.use is not None and utilities is None:
        measures = (policy.measure(table), *measures)
    outcomes, notes, refused = [], dict.fromkeys(planned.notes), []
    if utilities is None:
        left_out = [measure.name for measure in measures if not measure.measures(table.counts)]
        measures = tuple(measure for measure in measures if measure.measures(table.counts))
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
    as_given = replace(policy, anonymizer=policy.maker).fingerprint
    return Comparison(
        label=table.source.label,
        people=table.people,
        sweep=planned.values,
        outcomes=tuple(
            replace(
                outcome,
                pareto=on,
                number=number,
                as_given=outcome.policy.fingerprint == as_given,
            )
            for number, (outcome, on) in enumerate(zip(outcomes, front, strict=True), start=1)
        ),
        risk=risk,
        cost=cost,
        about={
            **{name: kind.about for name, kind in RISKS.items()},
            **{measure.name: measure.about for measure in measures},
        },
        notes=tuple(notes),
        seed=seed,
        made_of=Fingerprints(table.fingerprint, policy.fingerprint),
    )


def choose_utilities(
    policy: Policy, names: Sequence[str] | None = None, seed: int = 0
) -> tuple[Utility, ...]:
    """The measures, each once for all releases: they remember what they know of the table."""
    chosen = dict.fromkeys(names or (policy.utility, *DEFAULT_UTILITIES))
    utilities = []
    for name in chosen:
        measure: Any = utility_named(name)
        utilities.append(replace(measure, seed=seed) if measure.seeded else measure)
    return tuple(utilities)


def check_risk(risk: str) -> None:
    if risk not in RISKS:
        raise PolicyError(f"risk = {risk!r} is not known; {did_you_mean(risk, RISKS)}")


def _failed(point: SweepPoint, error: SfumatoError) -> Outcome:
    return Outcome(
        point.settings,
        point.anonymizer.name,
        point.policy,
        figures=None,
        status="no_safe_release" if isinstance(error, NoSafeRelease) else "not_possible",
        reason=str(error),
    )


def _measured(
    point: SweepPoint, release: Release, report: Report, measures: Sequence[Utility]
) -> Outcome:
    figures = figures_of(release, report, measures)
    return Outcome(point.settings, point.anonymizer.name, point.policy, figures)


def figures_of(release: Release, report: Report, measures: Sequence[Utility]) -> Figures:
    """What a release that was made here risks and costs, so that it has a place on a map."""
    # Nothing of the table is left to compare noise with, so no measure applies.
    view = None if release.regions.noisy or not measures else view_of(release)
    prosecutor = None if report.linkage is None else report.linkage.prosecutor
    counted = () if release.guarantee is not None else release.by_attribute.values()
    beliefs = [
        float(RandomWorlds(groups).strongest().max())
        for groups in counted
        if len(groups) and groups.width
    ]
    return Figures(
        groups=release.groups.number(),
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


def _notes(point: SweepPoint, report: Report) -> list[str]:
    """What must be known of the table once, and of an anonymizer's releases once."""
    linked = () if report.linkage is None else report.linkage.notes
    return [*report.notes, *(f"{point.anonymizer.name}: {note}" for note in linked)]
