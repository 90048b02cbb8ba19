"""What was learnt from a release, whatever its scheme, and the two readings of p_L.

The *joint* reading takes the expected population, E[f(s, r)], and conditions on r. The
*conditional* reading takes the expectation of f(s|r) itself. They are not the same number. The
first is exact and cheap; the second always needs draws of the population. One result never mixes
them.

Beside them the people of the release as far as their true values are known, the ideal learner, who
has the original table, and everybody's own value as each would guess it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.locating.locate import Located, locate
from sfumato.adversaries.locating.targets import Targets
from sfumato.adversaries.relative_threat.atoms import Known
from sfumato.adversaries.relative_threat.columns import recode
from sfumato.adversaries.relative_threat.model import (
    DirichletWeights,
    jackknife,
    normalised,
    replicates,
    soft_shares,
)
from sfumato.counts.counts import rank_rows
from sfumato.errors import InputError, did_you_mean
from sfumato.numbers import Bools, Floats, Ints, offsets_of, sums_by
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.table import Table

# The people of a release with their true values, as far as they are known to the owner.
#
# Of a release we made, its placement knows them; of another one, the original table. Where every
# group shows a single combination of values the release itself tells them. People with equal values
# in one group are one case.


@dataclass(frozen=True)
class People:
    """Distinct tuples of exact values `codes` (a row by column), and cases of people who have them.

    Case i: `n[i]` people of group `group[i]` (-1: of one of several) with tuple `tuples[i]` and
    sensitive value `s[i]`, sorted by tuple. `where` are the groups a tuple fits. `everybody` holds
    tuples, s and n of the whole table, suppressed people included: what the ideal learner sees.
    `persons` is how many people there are where some are in several cases, else None.
    """

    codes: Ints
    where: Located
    tuples: Ints
    s: Ints
    n: Ints
    group: Ints
    everybody: tuple[Ints, Ints, Ints]
    left_out: int = 0
    persons: int | None = None

    @property
    def total(self) -> int:
        return int(self.n.sum())

    def headcount(self, chosen: Bools) -> Headcount:
        """The people of some cases; at most so many where some are in several."""
        places = int(self.n[chosen].sum())
        if self.persons is None:
            return Headcount(places)
        return Headcount(min(places, self.persons), at_most=places > 1)


def people_of(
    release: Release,
    table: Table | None,
    groups: Groups,
    values: Domain,
    domains: Sequence[Domain],
) -> People | None:
    """Everybody whose true values are known; None where nobody's are."""
    placement = release.placement
    if placement is not None and (table is None or table is placement.table):
        known = placement.in_memory("asking what is believed of everybody")
        held, rows, n, group = known.table, known.tuples, known.n, known.groups
    elif table is not None:
        n = table.counts.in_memory("asking what is believed of everybody").n
        held, rows, group = table, np.arange(len(n)), None
    else:
        return _of_release(release, groups, domains)
    place = _attribute(held, values)
    counts = held.counts.in_memory("asking what is believed of everybody")
    names = [domain.name for domain in counts.quasi]
    wanted = [names.index(domain.name) for domain in domains]
    codes = np.array(
        [
            recode(domain.name, counts.codes[at], counts.quasi[at], domain)
            for at, domain in zip(wanted, domains, strict=True)
        ],
        dtype=np.int64,
    )
    number, first = rank_rows(codes.astype(np.int32), [len(domain) for domain in domains])
    distinct = np.ascontiguousarray(codes[:, first])
    s = recode(values.name, counts.values[place], counts.sensitive[place].domain, values)
    where = _where(release, distinct, domains, number[rows], group)
    if group is None:
        group = _only_group(where)[number[rows]]
        published = (np.diff(where.indptr) > 0)[number[rows]]
    else:
        published = group >= 0
    kept = np.array([number[rows], s[rows], group + 1], dtype=np.int64)[:, published]
    sizes = [len(first), len(values), len(groups) + 1]
    of_case, of_each = rank_rows(kept.astype(np.int32), sizes)
    summed = sums_by(of_case, n[published], len(of_each))
    tuples, s_of, group_of = kept[:, of_each]
    return People(
        distinct,
        where,
        tuples,
        s_of,
        summed,
        group_of - 1,
        (number, s, counts.n),
        int(n[~published].sum()),
        counts.people if counts.extra_memberships else None,
    )


def _only_group(where: Located) -> Ints:
    """The group of tuples that fit only one, -1 for others."""
    many = np.diff(where.indptr)
    if not len(where.groups):
        return np.full(len(many), -1, dtype=np.int64)
    first = where.groups[np.minimum(where.indptr[:-1], len(where.groups) - 1)]
    return np.where(many == 1, first, -1)


def _attribute(table: Table, values: Domain) -> int:
    names = [attribute.name for attribute in table.counts.sensitive]
    if values.name not in names:
        raise InputError(
            f"the table {table.source.label} lacks the sensitive column {values.name!r}; "
            f"{did_you_mean(values.name, names)}"
        )
    place = names.index(values.name)
    if table.counts.sensitive[place].sets is not None:
        raise InputError(
            f"people have several values of {values.name!r} each; relative threat is defined for "
            "one"
        )
    return place


def _where(
    release: Release, codes: Ints, domains: Sequence[Domain], of_row: Ints, group: Ints | None
) -> Located:
    """The groups each tuple fits; where groups are apart, the one its people went into."""
    if group is not None and release.disjoint:
        known = np.full(codes.shape[1], -1, dtype=np.int64)
        known[of_row] = group
        fits = known >= 0
        return Located(offsets_of(fits), known[fits])
    none = np.zeros(0, dtype=np.int64)
    return locate(release, Targets(tuple(domains), codes.astype(np.int32), none, none))


def _of_release(release: Release, groups: Groups, domains: Sequence[Domain]) -> People | None:
    """A release that hides nothing but who is who tells everybody's values."""
    if release.regions.exact:
        return None
    regions = release.regions.require_regions()
    rows = []
    for parts, shown, domain in zip(regions.parts, regions.codes, domains, strict=True):
        code_of_part = np.full(len(parts), -1, dtype=np.int64)
        for part in np.unique(shown).tolist():
            values = getattr(parts[part], "values", ())
            code = domain.code(next(iter(values))) if len(values) == 1 else None
            if code is None:
                return None
            code_of_part[part] = code
        rows.append(code_of_part[shown])
    codes = np.array(rows, dtype=np.int64).reshape(len(domains), len(groups))
    where = Located(np.arange(len(groups) + 1), np.arange(len(groups)))
    tuples, s, n = groups.row, groups.indices.astype(np.int64), groups.data
    persons = None if groups.several is None else groups.people()
    return People(codes, where, tuples, s, n, tuples, (tuples, s, n), persons=persons)


# The ideal learner: somebody who learns from the original table itself, in closed form.
#
# p_I(s, r) = E[pi_s] prod_A E[theta_{A,s}(r_A)] with every count known. What she knows of the
# population is the most any release can teach about people in general.


class Ideal:
    """Learnt from everybody's true values, suppressed people included."""

    def __init__(
        self, people: People, values: Domain, domains: Sequence[Domain], prior: DirichletWeights
    ) -> None:
        tuples, s, n = people.everybody
        self.seen = np.bincount(s, weights=n, minlength=len(values)).astype(np.float64)
        pi = prior.of_values(values) + self.seen
        self.log_pi: Floats = np.log(pi / pi.sum())
        self.log_theta: list[Floats] = []
        for domain, row in zip(domains, people.codes, strict=True):
            size = len(values) * len(domain)
            counts = np.bincount(s * len(domain) + row[tuples], weights=n, minlength=size)
            weights = counts.reshape(len(values), len(domain)) + prior.of_column(domain, values)
            self.log_theta.append(np.log(weights) - np.log(weights.sum(axis=1, keepdims=True)))

    def learner(self, codes: Ints) -> Floats:
        """p_I(s|r): people by values."""
        total = np.broadcast_to(self.log_pi, (codes.shape[1], len(self.log_pi)))
        for theta, row in zip(self.log_theta, codes, strict=True):
            total = total + theta[:, row].T
        return soft_shares(total)

    def learner_of(self, known: Known) -> Floats:
        """p_I(s, y), unnormalised, of one victim."""
        total = np.exp(self.log_pi)
        for theta, weights in zip(self.log_theta, known, strict=True):
            if weights is not None:
                total = total * (np.exp(theta) @ weights)
        return total


Reading = Literal["joint", "conditional"]
DRAWS = 4_000  # populations drawn where nothing else had to be sampled
_BATCHES = 20
_AT_ONCE = 1 << 22  # cells of p_L held at once


class Learnt(Protocol):
    """Beliefs from one release: replicates by people by values; of one victim, unnormalised."""

    @property
    def kept(self) -> int | None: ...

    def learner(self, codes: Ints, where: Located) -> Floats: ...

    def log_joint(self, codes: Ints) -> Floats: ...

    def attacker(self, codes: Ints, where: Located) -> Floats: ...

    def random_worlds(self, codes: Ints, where: Located) -> Floats: ...

    def learner_of(self, known: Known) -> Floats: ...

    def attacker_of(self, known: Known) -> Floats: ...

    def random_worlds_of(self, known: Known) -> Floats: ...

    def populations(
        self, codes: Ints, rng: np.random.Generator, many: int
    ) -> tuple[Floats, list[Floats]]: ...

    def weights_drawn(
        self, known: Sequence[Known], rng: np.random.Generator, many: int
    ) -> Floats: ...


@dataclass(frozen=True)
class Conditional:
    """The learner who averages f(s|r) over drawn populations."""

    learnt: Learnt
    seed: int
    draws: int = DRAWS

    @property
    def many(self) -> int:
        return self.learnt.kept or self.draws

    def learner(self, codes: Ints) -> Floats:
        """E[f(s|r)]: replicates by people by values."""
        rng = np.random.default_rng([self.seed, 13])
        rows = [np.unique(row, return_inverse=True) for row in codes]
        width = max((len(distinct) for distinct, _ in rows), default=1)
        asked = np.zeros((len(rows), width), dtype=np.int64)
        for line, (distinct, _) in zip(asked, rows, strict=True):
            line[: len(distinct)] = distinct
            line[len(distinct) :] = distinct[:1]
        pi, thetas = self.learnt.populations(asked, rng, self.many)
        logs = [np.log(np.maximum(theta, 1e-300)) for theta in thetas]
        sums = np.zeros((_BATCHES, codes.shape[1], pi.shape[1]))
        many = self.many // _BATCHES
        step = max(1, _AT_ONCE // max(codes.shape[1] * pi.shape[1], 1))
        for batch in range(_BATCHES):
            for start in range(batch * many, (batch + 1) * many, step):
                block = slice(start, min(start + step, (batch + 1) * many))
                total = np.log(np.maximum(pi[block], 1e-300))[:, None, :]
                for log, (_, place) in zip(logs, rows, strict=True):
                    total = total + np.swapaxes(log[block], 1, 2)[:, place, :]
                total -= total.max(axis=2, keepdims=True)
                sums[batch] += normalised(np.exp(total)).sum(axis=0) / many
        return replicates(sums)

    def learner_of(self, known: Sequence[tuple[float, Known]]) -> Floats:
        """The same of one victim: replicates by values."""
        rng = np.random.default_rng([self.seed, 17])
        drawn = self.learnt.weights_drawn([one for _, one in known], rng, self.many)
        shares = normalised(drawn @ np.array([weight for weight, _ in known]))
        many = self.many // _BATCHES
        by_batch = shares[: many * _BATCHES].reshape(_BATCHES, many, -1).mean(axis=1)
        return replicates(by_batch)


# Everybody's own value as each of the three would guess it: private, one line a case.
#
# A row is *threatened* under a belief if its true value is a mode of that belief. Ties are not
# drawn for: a value that is one of m modes counts 1/m (what guessing among them gives on average),
# and whether it is any mode at all is kept beside it.

TWICE = 2 * (1 - 1e-12)  # log2 Ti of 1 or more
TIE = 1e-9  # beliefs that differ by less, relatively, are equal
SURE = 3.0  # standard errors within which nothing is taken for decided
_BELIEFS_AT_ONCE = 1 << 20  # beliefs about people held at once


@dataclass(frozen=True)
class Belief:
    """What one of them believes of each case: its probability, and 1/modes if it is a mode, else 0.

    `error` is the Monte Carlo error of `p`. `short` is how far it lies below the highest belief, at
    most so far as sampling may be off (0: it may be a mode). By replicate: `hits`, the expected
    number of people guessed right, and `missed`, the sum of (1 - p).
    """

    p: Floats
    hit: Floats
    error: Floats
    short: Floats
    hits: Floats
    missed: Floats


@dataclass(frozen=True)
class CaseBeliefs:
    """The beliefs about every case, and Ti = p_A / p_L with its error.

    `ti_sums`, by replicate, of the people threatened under the attacker's and under the learner's
    belief: how many, how many with Ti of 2 or more, and the sums of log2 Ti, its square and cube.
    """

    people: People
    attacker: Belief
    learner: Belief
    random_worlds: Belief
    ideal: Belief
    ti: Floats
    ti_error: Floats
    ti_sums: Mapping[str, Floats]


def judge_rows(
    learnt: Learnt, people: People, ideal: Ideal, conditional: Conditional | None
) -> CaseBeliefs:
    """Work out every belief, block by block of tuples."""
    names = ("attacker", "learner", "random_worlds", "ideal")
    blocks: dict[str, list[Belief]] = {name: [] for name in names}
    ratios: list[Floats] = []
    errors: list[Floats] = []
    sums: dict[str, list[Floats]] = {name: [] for name in names[:2]}
    width = len(ideal.log_pi)
    total = people.codes.shape[1]
    step = max(1, _BELIEFS_AT_ONCE // (width * (1 if learnt.kept is None else 21)))
    for start in range(0, total, step):
        stop = min(start + step, total)
        low, high = np.searchsorted(people.tuples, [start, stop])
        if low == high:
            continue
        asked = np.unique(people.tuples[low:high])
        codes = np.ascontiguousarray(people.codes[:, asked])
        where = people.where.take(asked)
        place = np.searchsorted(asked, people.tuples[low:high])
        cases = (place, people.s[low:high], people.n[low:high])
        p_a = learnt.attacker(codes, where)
        p_l = learnt.learner(codes, where) if conditional is None else conditional.learner(codes)
        blocks["attacker"].append(_belief(p_a, *cases))
        blocks["learner"].append(_belief(p_l, *cases))
        blocks["random_worlds"].append(_belief(learnt.random_worlds(codes, where), *cases))
        blocks["ideal"].append(_belief(ideal.learner(codes)[None], *cases))
        ratio = _paired(p_a[:, place, cases[1]], p_l[:, place, cases[1]])
        ratios.append(ratio[0])
        errors.append(jackknife(ratio))
        for name, listed in sums.items():
            listed.append(_ti_sums(ratio, cases[2], blocks[name][-1].hit > 0))
    joined = {name: _joined(blocks[name]) for name in names}
    return CaseBeliefs(
        people,
        **joined,
        ti=_concatenated(ratios),
        ti_error=_concatenated(errors),
        ti_sums={name: np.sum(listed, axis=0) for name, listed in sums.items() if listed},
    )


def _ti_sums(ratio: Floats, n: Ints, chosen: npt.NDArray[np.bool_]) -> Floats:
    """Replicates by five sums over the chosen cases; a Ti of 0 has no logarithm."""
    ti, weights = ratio[:, chosen], n[chosen].astype(np.float64)
    possible = (ti > 0) & np.isfinite(ti)
    logs = np.log2(np.where(possible, ti, 1.0))
    parts = (possible, ti >= TWICE, logs, logs**2, logs**3)
    summed: Floats = np.stack([part @ weights for part in parts], axis=1)
    return summed


def _paired(p_a: Floats, p_l: Floats) -> Floats:
    """p_A / p_L by replicate; one that is exact goes with every replicate of the other."""
    many = max(len(p_a), len(p_l))
    # The errors of two samplings are independent: what the longer has no partner for stays put.
    a = p_a if len(p_a) == many else np.repeat(p_a[:1], many, axis=0)
    b = p_l if len(p_l) == many else np.repeat(p_l[:1], many, axis=0)
    ratio: Floats = np.divide(a, b, out=np.full(a.shape, np.inf), where=b > 0)
    return ratio


def _belief(beliefs: Floats, place: Ints, s: Ints, n: Ints) -> Belief:
    """What replicates by tuples by values say of cases at these tuples."""
    highest = beliefs.max(axis=2)
    modes = beliefs >= (highest * (1 - TIE))[:, :, None]
    own = beliefs[:, place, s]
    hit = np.where(modes[:, place, s] & (own > 0), 1 / modes.sum(axis=2)[:, place], 0.0)
    below = highest[:, place] - own
    short = np.maximum(below[0] - SURE * jackknife(below), 0.0)
    short[hit[0] > 0] = 0.0
    return Belief(own[0], hit[0], jackknife(own), short, hit @ n, (1 - own) @ n)


def _joined(blocks: list[Belief]) -> Belief:
    none = np.zeros(0)
    if not blocks:
        return Belief(none, none, none, none, np.zeros(1), np.zeros(1))
    return Belief(
        np.concatenate([block.p for block in blocks]),
        np.concatenate([block.hit for block in blocks]),
        np.concatenate([block.error for block in blocks]),
        np.concatenate([block.short for block in blocks]),
        np.sum([block.hits for block in blocks], axis=0),
        np.sum([block.missed for block in blocks], axis=0),
    )


def _concatenated(arrays: list[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *arrays])
