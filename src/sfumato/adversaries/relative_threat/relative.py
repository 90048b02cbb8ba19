"""`sf.relative_threat`: from a release to what learner and attacker make of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sfumato.adversaries.relative_threat.atoms import Generalized, problems_of
from sfumato.adversaries.relative_threat.bucketized import Bucketized, BucketModel, buckets_of
from sfumato.adversaries.relative_threat.chains import (
    CHAINS,
    ESS,
    RHAT,
    Diagnostics,
    Goal,
    run_chains,
)
from sfumato.adversaries.relative_threat.columns import RegionColumn, domains_of
from sfumato.adversaries.relative_threat.exact_posterior import DirichletTree, expanded, tree_shape
from sfumato.adversaries.relative_threat.learnt import (
    DRAWS,
    Conditional,
    Ideal,
    People,
    Reading,
    people_of,
)
from sfumato.adversaries.relative_threat.model import (
    LearnerPrior,
    Model,
    Posterior,
    model_of,
    prior_of,
)
from sfumato.adversaries.relative_threat.result import (
    ATTACKER,
    Outcome,
    RelativeThreat,
    VictimReader,
    undefined,
)
from sfumato.adversaries.relative_threat.samplers import (
    CrossingChains,
    WatchedPeople,
    made_up_cases,
)
from sfumato.errors import InputError, did_you_mean, expect, name_some, quoted
from sfumato.release.groups import Groups
from sfumato.release.release import Release, as_it_stands
from sfumato.schema.domain import Domain
from sfumato.table import Table

Method = Literal["auto", "exact", "sample", "row-gibbs", "swap", "permutation"]
EXACT, SAMPLED = "exact", "sampled (counts and slices)"


@dataclass(frozen=True)
class MembershipAttacker:
    """Who knows that her victim is in the release, beside a learner who does not.

    `table`, `prior`, `learner`, `method`, `seed`: as `relative_threat` takes them.
    """

    table: Table | None = None
    prior: LearnerPrior = "uniform"
    learner: Reading = "joint"
    method: Method = "auto"
    seed: int = 0

    @property
    def name(self) -> str:
        return ATTACKER

    def attack(self, release: Release, groups: Groups | None = None) -> RelativeThreat:
        return relative_threat(
            release,
            self.table,
            sensitive=None if groups is None else groups.attribute,
            prior=self.prior,
            learner=self.learner,
            method=self.method,
            seed=self.seed,
        )


def relative_threat(
    release: Release | Table,
    table: Table | None = None,
    *,
    sensitive: str | None = None,
    prior: LearnerPrior = "uniform",
    learner: Reading = "joint",
    method: Method = "auto",
    seed: int = 0,
    chains: int = CHAINS,
    ess: float = ESS,
    rhat: float = RHAT,
    sweeps: int = 32_000,
    seconds: float | None = None,
    checks: Sequence[str] = (),
    draws: int = DRAWS,
) -> RelativeThreat:
    """What a release teaches about people in general, against what it gives away about its own.

    `table` is the original, for the measures over everybody; a release of ours knows it already.
    `prior`: "uniform", a weight, {column: weight or {value: weight}}, a table of other people, or
    DirichletWeights. `learner`: "joint" conditions the expected population, "conditional" averages
    over populations (`draws` of them).

    `method`: "auto" is exact where a column's regions are nested or apart and where little is to be
    summed up, and samples else (crossing regions, buckets); "exact" refuses to sample; "sample"
    samples everything; "row-gibbs", "swap" and "permutation" are the paper's own samplers.
    Sampling runs at least 4 `chains` until the worst belief watched has `ess` effective draws and
    its R-hat is below `rhat`, or until each has made `sweeps` (or `seconds` have passed); `checks`
    adds "geweke" and "weiss".
    """
    subject = release
    if isinstance(subject, Table):
        release, table = as_it_stands(subject), subject if table is None else table
    _check(release, table, learner, method)
    assert isinstance(release, Release)
    groups = release.groups if sensitive is None else release.groups_for(sensitive)
    if why := undefined(release, groups):
        raise InputError(why)
    values = _values(groups)
    goal = Goal(ess, rhat, sweeps, chains, seconds, tuple(checks))
    if draws < 100:
        raise InputError(f"draws = {draws!r} is not allowed; use 100 or more")
    weights = prior_of(prior)
    domains, notes = domains_of(release, table)
    weights.check_columns((*(domain.name for domain in domains), values.name))
    people = people_of(release, table, groups, values, domains)
    learnt: Generalized | Bucketized
    if release.regions.buckets is not None:
        buckets = buckets_of(values, groups, release.regions.buckets, domains, weights)
        learnt, ways, diagnostics = _learn_buckets(buckets, method, goal, seed)
    else:
        model = model_of(values, groups, release.regions.require_regions(), domains, weights)
        learnt, ways, diagnostics = _learn_regions(model, people, method, goal, seed)
    status: Outcome = "exact"
    if diagnostics is not None:
        status = "converged" if diagnostics.converged else "not_converged"
        notes += [diagnostics.reason] if diagnostics.reason else []
    notes += _notes(people, domains, learner)
    return RelativeThreat(
        values.name,
        learner,
        ways,
        status,
        diagnostics,
        tuple(notes),
        values,
        seed,
        VictimReader(domains, release.schema),
        learnt,
        Conditional(learnt, seed, draws) if learner == "conditional" else None,
        people,
        None if people is None else Ideal(people, values, domains, weights),
    )


def observer_of(release: Release, table: Table | None = None) -> VictimReader:
    """Reads victims in the terms of a release, before anything is learnt from it."""
    return VictimReader(domains_of(release, table)[0], release.schema)


def _check(release: object, table: object, learner: object, method: object) -> None:
    expect("table", table, (Table, type(None)), "a Table, as sf.read makes one")
    if not isinstance(release, Release):
        raise InputError(
            f"relative_threat needs a release with regions or buckets, not "
            f"{type(release).__name__}; see anonymize and read_release"
        )
    if learner not in get_args(Reading):
        raise InputError(f"learner = {quoted(learner)} is not known; use 'joint' or 'conditional'")
    if method not in get_args(Method):
        raise InputError(
            f"method = {quoted(method)} is not known; {did_you_mean(method, get_args(Method))}"
        )
    release.refuse_wildcards()
    if method in ("swap", "permutation") and not release.regions.exact:
        raise InputError(f"method {method!r} is for bucketized releases; use 'auto'")
    if method == "row-gibbs" and release.regions.exact:
        raise InputError("method 'row-gibbs' is for generalized releases; use 'auto' or 'swap'")


def _values(groups: Groups) -> Domain:
    if len(groups) == 0:
        raise InputError("the release has no group")
    if groups.width == 0:
        raise InputError("the release has no sensitive column")
    if groups.domain is not None:
        return groups.domain
    return Domain(groups.attribute or "value", "categorical", groups.values)


def _learn_regions(
    model: Model, people: People | None, method: Method, goal: Goal, seed: int
) -> tuple[Generalized, dict[str, str], Diagnostics | None]:
    learnt: list[Posterior | None] = []
    for column in model.columns:
        learnt.append(_closed_form(model, column) if method in ("auto", "exact") else None)
    missing = [c.name for c, one in zip(model.columns, learnt, strict=True) if one is None]
    known = [one for one in learnt if one is not None]
    if not missing:
        return Generalized(model, known), {c.name: EXACT for c in model.columns}, None
    if method == "exact":
        raise InputError(
            f"regions of {name_some(missing)} cross, so there is no closed form; use method='auto'"
        )
    from sfumato.adversaries.relative_threat.samplers import ROW_GIBBS, RowGibbs

    rng = np.random.default_rng([seed, 2])
    cases = made_up_cases(model, rng) if people is None else _cases(people)
    kind = RowGibbs if method == "row-gibbs" else CrossingChains
    sampler = kind(model, learnt, cases, goal.chains, seed)
    diagnostics = run_chains(sampler, goal, seed)
    assert sampler.learnt is not None
    sampled = ROW_GIBBS if method == "row-gibbs" else SAMPLED
    ways = {c.name: sampled if c.name in missing else EXACT for c in model.columns}
    return sampler.learnt, ways, diagnostics


def _closed_form(model: Model, column: RegionColumn) -> Posterior | None:
    """The exact posterior of a column, where there is one or it is little work."""
    cells, shape = model.cells(column), tree_shape(column)
    if shape is not None:
        return DirichletTree(column, shape, cells)
    return expanded(column, problems_of(column, cells))


def _cases(people: People) -> WatchedPeople:
    """People to watch: those who are in some group."""
    return WatchedPeople(people.codes[:, people.tuples], people.s, people.where.take(people.tuples))


def _learn_buckets(
    buckets: BucketModel, method: Method, goal: Goal, seed: int
) -> tuple[Bucketized, dict[str, str], Diagnostics | None]:
    from sfumato.adversaries.relative_threat.exact_posterior import every_world
    from sfumato.adversaries.relative_threat.samplers import BucketChains, Permutations, Swaps

    if method in ("auto", "exact"):
        exact = every_world(buckets)
        if exact is not None:
            return exact, {"buckets": EXACT}, None
    if method == "exact":
        raise InputError(
            "there are too many ways of dealing the buckets' values to go through; use "
            "method='auto'"
        )
    kinds = {"swap": Swaps, "permutation": Permutations}
    sampler = kinds.get(method, BucketChains)(buckets, goal.chains, seed)
    diagnostics = run_chains(sampler, goal, seed)
    assert sampler.learnt is not None
    return sampler.learnt, {"buckets": sampler.method}, diagnostics


def _notes(people: People | None, domains: Sequence[Domain], learner: Reading) -> list[str]:
    notes = []
    if people is not None:
        unused = []
        for domain, row in zip(domains, people.codes, strict=True):
            missing = len(domain) - len(np.unique(row))
            if missing:
                unused.append(f"{domain.name} ({missing:,} of {len(domain):,})")
        if unused:
            notes.append(
                f"nobody has some values of {', '.join(unused)}: where regions contain such "
                "values, an attacker who knows the narrower domain learns at least as much as p_A"
            )
        if people.left_out:
            notes.append(
                f"{people.left_out:,} people of the table are in no group and are not judged"
            )
    else:
        notes.append(
            "p_A takes every value of a region as possible; an attacker who knows which values "
            "nobody has learns at least as much"
        )
    if learner == "conditional":
        notes.append("p_L is E[f(s|r)]; RF is not defined for this reading")
    return notes
