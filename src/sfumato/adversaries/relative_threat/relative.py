"""`sf.relative_threat`: from a release to what learner and attacker make of it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from sfumato.adversaries.priors import OutsideTable
from sfumato.adversaries.relative_threat.atoms import Generalized, problems_of
from sfumato.adversaries.relative_threat.bucketized import (
    Bucketized,
    BucketModel,
    PowerLadder,
    buckets_of,
)
from sfumato.adversaries.relative_threat.by_row import judged_units, notes_on, table_by_row
from sfumato.adversaries.relative_threat.chains import (
    CHAINS,
    ESS,
    RHAT,
    SWEEPS,
    Diagnostics,
    Goal,
    StageTooLong,
    run_chains,
)
from sfumato.adversaries.relative_threat.columns import RegionColumn, domains_of
from sfumato.adversaries.relative_threat.exact_posterior import DirichletTree, expanded, tree_shape
from sfumato.adversaries.relative_threat.guesses import GainGiven, parse_gain
from sfumato.adversaries.relative_threat.learnt import (
    DRAWS,
    Conditional,
    Ideal,
    LearnerReading,
)
from sfumato.adversaries.relative_threat.model import (
    DirichletWeights,
    LearnerPrior,
    Model,
    Posterior,
    model_of,
    prior_of,
)
from sfumato.adversaries.relative_threat.people import People, States, people_of, states_of
from sfumato.adversaries.relative_threat.result import (
    ALL_COLUMNS,
    ATTACKER,
    Question,
    RelativeThreat,
    Sampling,
    SamplingOutcome,
    VictimReader,
    undefined,
)
from sfumato.adversaries.relative_threat.samplers import (
    CrossingChains,
    WatchedPeople,
    made_up_cases,
)
from sfumato.errors import InputError, ResourceError, did_you_mean, expect, name_some, quoted
from sfumato.progress import phase
from sfumato.release.build import checked_joint, joint_groups
from sfumato.release.groups import Groups
from sfumato.release.release import Release, as_it_stands
from sfumato.table import Table

Method = Literal["auto", "exact", "sample", "tempered", "row-gibbs", "swap", "permutation"]
ELSEWHERE = (
    "not converged: the chains agree, but others begun elsewhere stay there (R-hat of all together "
    "{:.3f}), so no figure here is to be relied on"
)
DISAGREE = 1.1  # R-hat of plain chains over buckets that are given up for tempered ensembles
SELDOM = 100  # sweeps for an effective draw, above which ensembles take less for it
EXACT, SAMPLED = "exact", "sampled (counts and slices)"


VictimNoise = float | Mapping[str, float]


@dataclass(frozen=True)
class MembershipAttacker:
    """Who knows that her victim is in the release, beside a learner who does not.

    All as `relative_threat` takes it.
    """

    table: Table | None = None
    joint: Sequence[str] = ()
    prior: LearnerPrior = "uniform"
    weight: float = 1.0
    learner: LearnerReading = "joint"
    gain: GainGiven = "value"
    known: Sequence[str] | None = None
    noise: VictimNoise = 0.0
    method: Method = "auto"
    seed: int = 0
    chains: int = CHAINS
    ess: float = ESS
    rhat: float = RHAT
    sweeps: int = SWEEPS
    seconds: float | None = None
    checks: Sequence[str] = ()
    draws: int = DRAWS

    def __post_init__(self) -> None:
        expect("table", self.table, (Table, type(None)), "a Table, as sf.read makes one")
        if self.learner not in get_args(LearnerReading):
            raise InputError(
                f"learner = {quoted(self.learner)} is not known; use 'joint' or 'conditional'"
            )
        if self.method not in get_args(Method):
            hint = did_you_mean(self.method, get_args(Method))
            raise InputError(f"method = {quoted(self.method)} is not known; {hint}")
        if not isinstance(self.draws, int) or self.draws < 100:
            raise InputError(f"draws = {quoted(self.draws)} is not allowed; use 100 or more")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(
                f"seed = {quoted(self.seed)} is not allowed; use a whole number from 0"
            )
        assert self.goal
        assert self.question

    @property
    def name(self) -> str:
        return ATTACKER

    @property
    def goal(self) -> Goal:
        """When sampling stops."""
        checks = tuple(self.checks)
        return Goal(self.ess, self.rhat, self.sweeps, self.chains, self.seconds, checks)

    @property
    def sampling(self) -> Sampling:
        """How beliefs are sampled that are not exact; checks change nothing."""
        return Sampling(self.method, self.seed, replace(self.goal, checks=()), self.draws)

    @cached_property
    def weights(self) -> DirichletWeights:
        """What is believed of the population before."""
        return prior_of(self.prior, self.weight)

    @cached_property
    def question(self) -> Question:
        """What she is asked, whatever the release."""
        known, noise = self.known, self.noise
        if known is not None and (
            isinstance(known, str) or not all(known or [None]) or len(set(known)) < len(known)
        ):
            raise InputError(
                f"known = {quoted(known)} is not allowed; list the columns that are seen, each once"
            )
        by_column = noise if isinstance(noise, Mapping) else {ALL_COLUMNS: noise}
        for column, chance in by_column.items():
            number = isinstance(chance, int | float) and not isinstance(chance, bool)
            if not number or not 0 <= chance < 1:
                raise InputError(
                    f"noise{'' if column == ALL_COLUMNS else f' of {column!r}'} = {quoted(chance)} "
                    "is not allowed; it is the chance that what is seen is wrong, from 0 to below 1"
                )
        weights, outside = self.weights, self.weights.outside
        people = None if outside is None else OutsideTable(outside)
        return Question(
            (weights.weight, dict(weights.columns), people),
            self.learner,
            parse_gain(self.gain),
            None if known is None else tuple(known),
            {column: float(chance) for column, chance in by_column.items() if chance},
        )

    @phase("attacking")
    def attack(self, release: Release, groups: Groups | None = None) -> RelativeThreat:
        if self.joint:
            groups = joint_groups(release.by_row or release, self.joint)
        elif groups is None:
            groups = _the_only(release)
        return _attack(self, release, groups)


def relative_threat(
    release: Release | Table,
    table: Table | None = None,
    *,
    sensitive: str | None = None,
    joint: Sequence[str] = (),
    prior: LearnerPrior = "uniform",
    weight: float = 1.0,
    learner: LearnerReading = "joint",
    gain: GainGiven = "value",
    known: Sequence[str] | None = None,
    noise: VictimNoise = 0.0,
    method: Method = "auto",
    seed: int = 0,
    chains: int = CHAINS,
    ess: float = ESS,
    rhat: float = RHAT,
    sweeps: int = SWEEPS,
    seconds: float | None = None,
    checks: Sequence[str] = (),
    draws: int = DRAWS,
) -> RelativeThreat:
    """What a release teaches about people in general, against what it gives away about its own.

    `table` is the original, for the measures over everybody; a release of ours knows it already.
    `sensitive` is the column in question, or `joint` several that are one together.
    `prior`: "uniform", a weight, {column: weight or {value: weight}}, a table of other people, or
    DirichletWeights; `weight` is that of every value it says nothing of. `learner`: "joint"
    conditions the expected population, "conditional" averages over populations (`draws` of them).
    `gain` is what they are after: "value", "top 3" (it is among three that are named),
    {value: worth}, {action: {value: gain}}; of people with several values "value" is any of them
    and "list" all. `known` are the columns they see of people, and `noise` the chance that what
    they see of a column is wrong, one for all or by column.

    `method`: "auto" is exact where a column's regions are nested or apart and where little is to be
    summed up, and samples else (crossing regions, buckets); "exact" refuses to sample; "sample"
    samples everything; "row-gibbs", "swap" and "permutation" are the paper's own samplers. Buckets
    between whose likely dealings chains do not move get tempered ensembles, "tempered" at once.
    Sampling runs at least 4 `chains` until the worst belief watched has `ess` effective draws and
    its R-hat is below `rhat`, or until each has made `sweeps` (or `seconds` have passed); `checks`
    adds "geweke" and "weiss".
    """
    subject = release
    if isinstance(subject, Table):
        release, table = as_it_stands(subject), subject if table is None else table
    attacker = MembershipAttacker(
        table,
        checked_joint("relative threat", joint, sensitive),
        prior,
        weight,
        learner,
        gain,
        known,
        noise,
        method,
        seed,
        chains,
        ess,
        rhat,
        sweeps,
        seconds,
        checks,
        draws,
    )
    if not isinstance(release, Release):
        raise InputError(
            f"relative_threat needs a release with regions or buckets, not "
            f"{type(release).__name__}; see anonymize and read_release"
        )
    return attacker.attack(release, None if sensitive is None else release.groups_for(sensitive))


def _the_only(release: Release) -> Groups:
    """The groups by the one sensitive column; which of several is asked about must be said."""
    names = list(release.by_attribute)
    if len(names) > 1:
        raise InputError(
            f"{release.label} has {len(names)} sensitive columns: {name_some(names)}; name the one "
            "that is asked about (sensitive), or those that are one together (joint)"
        )
    return release.groups


def _attack(attacker: MembershipAttacker, release: Release, groups: Groups) -> RelativeThreat:
    _check_method(release, attacker.method)
    if len(groups) == 0:
        raise InputError("the release has no group")
    if groups.width == 0:
        raise InputError("the release has no sensitive column")
    if why := undefined(release, groups):
        raise InputError(why)
    question, method, seed = attacker.question, attacker.method, attacker.seed
    units = judged_units(release, groups, attacker.table, clear=question.clear)
    release, groups, table = units.release, units.groups, units.table
    original = release.placement.table if release.placement is not None else table
    states = states_of(groups, attacker.joint or (groups.attribute or "value",), original)
    values, weights = states.values, attacker.weights
    domains, notes = domains_of(release, table)
    names = tuple(domain.name for domain in domains)
    weights.check_columns((*names, values.name))
    _check_seen(question, names)
    outside = table_by_row(weights.outside)
    if outside is not None and _tells(outside, states):
        outside = states.table(outside)
    weights = replace(weights, outside=outside)
    guesses = question.gain.of(values, states.lists)
    learnt: Generalized | Bucketized
    if release.regions.buckets is not None:
        people = units.owned(people_of(release, table, states, domains, units.own))
        buckets = buckets_of(values, states.groups, release.regions.buckets, domains, weights)
        learnt, ways, diagnostics = _learn_buckets(buckets, method, attacker.goal, seed)
    else:
        regions = release.regions.require_regions()
        model = model_of(values, states.groups, regions, domains, weights)
        atom_codes = model.atom_codes(question.noise_of) if question.reading == "joint" else None
        people = units.owned(people_of(release, table, states, domains, units.own, atom_codes))
        learnt, ways, diagnostics = _learn_regions(model, people, method, attacker.goal, seed)
    status: SamplingOutcome = "exact" if question.reading == "joint" else "converged"
    if diagnostics is not None:
        status = "converged" if diagnostics.converged else "not_converged"
        notes += [diagnostics.reason] if diagnostics.reason else []
    notes = [*units.notes, *notes, *notes_on(units, people, domains, question.reading)]
    notes += _notes_on(states, question)
    conditional = Conditional(learnt, seed, attacker.draws)
    return RelativeThreat(
        values.name,
        question,
        attacker.sampling,
        ways,
        status,
        diagnostics,
        tuple(notes),
        values,
        seed,
        VictimReader(domains, release.schema, {name: question.noise_of(name) for name in names}),
        learnt,
        conditional if question.reading == "conditional" else None,
        people,
        None if people is None else Ideal(people.everybody, values, domains, weights),
        guesses,
        release.regions,
        units.of_row,
    )


def _check_seen(question: Question, columns: Sequence[str]) -> None:
    for option, names in (("known", question.known or ()), ("noise", question.noise)):
        for name in names:
            if name not in (ALL_COLUMNS, *columns):
                raise InputError(
                    f"{option}: {name!r} is not a quasi-identifier of the release; "
                    f"{did_you_mean(name, columns)}"
                )


def _notes_on(states: States, question: Question) -> list[str]:
    """What must be told of lists and combinations, and of what is not seen."""
    notes = []
    if not states.plain:
        form = "lists" if states.lists is not None else "combinations"
        notes.append(
            f"a person's value of {states.values.name} is one of the {len(states.values):,} {form} "
            "that somebody has; others are not thought possible"
        )
    if states.lists is not None and not (question.gain.whole or question.gain.actions):
        notes.append("people have lists: a guess is right where the person has what it names")
    if question.known is not None:
        notes.append(f"of people only {', '.join(question.known)} are seen")
    if question.noise:
        named = [f"{name or 'each column'} {noise:.3g}" for name, noise in question.noise.items()]
        notes.append(
            f"what is seen may be wrong (chance: {', '.join(named)}); people are judged as they "
            "are believed to be where it is right"
        )
    return notes


def _tells(outside: Table, states: States) -> bool:
    """Whether a table of other people has the sensitive columns."""
    return {*states.columns} <= {attribute.name for attribute in outside.counts.sensitive}


def observer_of(release: Release, table: Table | None = None) -> VictimReader:
    """Reads victims in the terms of a release, before anything is learnt from it."""
    release, table = release.by_row or release, table_by_row(table)
    return VictimReader(domains_of(release, table)[0], release.schema)


def _check_method(release: Release, method: Method) -> None:
    release.refuse_wildcards()
    if method in ("swap", "permutation", "tempered") and not release.regions.exact:
        raise InputError(f"method {method!r} is for bucketized releases; use 'auto'")
    if method == "row-gibbs" and release.regions.exact:
        raise InputError("method 'row-gibbs' is for generalized releases; use 'auto' or 'swap'")


def _learn_regions(
    model: Model, people: People | None, method: Method, goal: Goal, seed: int
) -> tuple[Generalized, dict[str, str], Diagnostics | None]:
    learnt: list[Posterior | None] = []
    for column in model.columns:
        learnt.append(_closed_form(model, column) if method in ("auto", "exact") else None)
    missing = [
        c.name for c, posterior in zip(model.columns, learnt, strict=True) if posterior is None
    ]
    known = [posterior for posterior in learnt if posterior is not None]
    if not missing:
        return Generalized(model, known), {c.name: EXACT for c in model.columns}, None
    if method == "exact":
        raise InputError(
            f"regions of {name_some(missing)} cross, so there is no closed form; use method='auto'"
        )
    from sfumato.adversaries.relative_threat.paper_samplers import ROW_GIBBS, RowGibbs

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


def _seldom(diagnostics: Diagnostics) -> bool:
    """Whether chains that agree move so seldom that ensembles come to more draws in the time."""
    return diagnostics.ess * SELDOM < diagnostics.sweeps * diagnostics.chains


def _learn_buckets(
    buckets: BucketModel, method: Method, goal: Goal, seed: int
) -> tuple[Bucketized, dict[str, str], Diagnostics | None]:
    from sfumato.adversaries.relative_threat.exact_posterior import every_world
    from sfumato.adversaries.relative_threat.paper_samplers import Permutations, Swaps
    from sfumato.adversaries.relative_threat.samplers import BucketChains
    from sfumato.adversaries.relative_threat.tempering import TemperedChains, shortest_run

    if method in ("auto", "exact"):
        exact = every_world(buckets)
        if exact is not None:
            return exact, {"buckets": EXACT}, None
    if method == "exact":
        raise InputError(
            "there are too many ways of dealing the buckets' values to go through; use "
            "method='auto'"
        )
    begun: Sequence[PowerLadder] = ()
    spent, started = 0.0, time.monotonic()
    if method != "tempered":
        kinds = {"swap": Swaps, "permutation": Permutations}
        plain = kinds.get(method, BucketChains)(buckets, goal.chains, seed, goal.seconds)
        only = method in kinds or not goal.allows_ensembles
        diagnostics = run_chains(plain, goal, seed, math.inf if only else DISAGREE)
        learnt, begun = plain.learnt, plain.ladders
        if diagnostics.converged:
            rhat, ladders = plain.look_elsewhere(goal.sweeps_in_time(diagnostics))
            diagnostics = replace(diagnostics, seconds=time.monotonic() - started)
            if rhat > DISAGREE:
                reason = ELSEWHERE.format(rhat)
                diagnostics = replace(diagnostics, converged=False, rhat=rhat, reason=reason)
                begun = ladders
        spent = time.monotonic() - started
        # Ensembles that could not end in time are not begun: what chains have is told as it is.
        least = spent / diagnostics.sweeps * shortest_run(buckets)
        late = goal.seconds is not None and spent + least > goal.seconds
        assert learnt is not None
        by_chains = learnt, {"buckets": plain.method}, diagnostics
        agree = diagnostics.converged or (diagnostics.rhat < goal.rhat and not _seldom(diagnostics))
        if agree or late or only:
            return by_chains
    # Chains that disagree show where the likely dealings are, and so do those that go from one to
    # the other, but seldom.
    left = goal.tempered(spent)
    tempered = TemperedChains(buckets, goal.chains, seed, begun, left.seconds)
    try:
        diagnostics = run_chains(tempered, left, seed)
    except StageTooLong:
        if method == "tempered":
            raise ResourceError(
                f"tempered ensembles were not through their first stage after {goal.seconds:g} "
                "seconds; allow more, or fewer chains"
            ) from None
        return by_chains
    diagnostics = replace(diagnostics, seconds=spent + diagnostics.seconds)
    assert tempered.learnt is not None
    return tempered.learnt, {"buckets": tempered.method}, diagnostics
