"""What was learnt from a release, whatever its scheme, and the two readings of p_L.

The *joint* reading takes the expected population, E[f(s, r)], and conditions on r. The
*conditional* reading takes the expectation of f(s|r) itself. They are not the same number. The
first is exact and cheap; the second always needs draws of the population. One result never mixes
them.

Beside them what stands for a person's value, the people of the release as far as their true values
are known, the ideal learner, who has the original table, and how clearly she who asks sees people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np

from sfumato.adversaries.locating.locate import Located, locate
from sfumato.adversaries.locating.targets import Targets
from sfumato.adversaries.relative_threat.atoms import Known
from sfumato.adversaries.relative_threat.columns import recode
from sfumato.adversaries.relative_threat.model import (
    DirichletWeights,
    mixed,
    normalised,
    replicates,
    soft_shares,
)
from sfumato.counts.counts import Attribute, Counts, rank_rows
from sfumato.errors import InputError, did_you_mean
from sfumato.numbers import Bools, Codes, Floats, Ints, offsets_of, sums_by
from sfumato.release.beside import Headcount
from sfumato.release.build import joint_attribute
from sfumato.release.groups import Groups
from sfumato.release.made import Placement
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.table import Table

# What stands for a person's value: one value, a combination of several columns', or a whole list.
#
# The model has one sensitive attribute S with one value a person. Several columns are one S whose
# values are the combinations that occur; people with several values of a column have one list each,
# and the lists that occur are the values of S. What nobody has is not thought possible.

_TOGETHER = "judging combinations and lists of sensitive values"


@dataclass(frozen=True)
class States:
    """The values of S, the groups by them, and of lists what each holds (else None)."""

    columns: tuple[str, ...]
    values: Domain
    groups: Groups
    lists: tuple[tuple[str, ...], ...] | None = None

    @property
    def plain(self) -> bool:
        """Whether they are the values of one column as they stand."""
        return self.lists is None and len(self.columns) == 1

    def table(self, table: Table) -> Table:
        """A table whose only sensitive attribute is S."""
        if self.plain:
            return table
        counts = table.counts.in_memory(_TOGETHER)
        domain, codes = _state_codes(counts, self.columns)
        return replace(
            table, counts=replace(counts, sensitive=(Attribute(domain),), values=codes[None])
        )


def states_of(groups: Groups, columns: Sequence[str], table: Table | None) -> States:
    """S of groups by one column, or by the combinations of several; with those of their table."""
    if groups.single_valued and len(columns) == 1:
        domain = groups.domain
        if domain is None:
            domain = Domain(columns[0], "categorical", groups.values)
        return States(tuple(columns), domain, groups)
    lists: dict[str, tuple[str, ...]] = {}
    name, texts = groups.attribute or columns[0], groups.values
    if groups.lists is not None:
        domain = groups.domain or Domain(name, "categorical", groups.values)
        lists = _lists(Attribute(domain, groups.lists.sets))
        texts, by_list = tuple(lists), groups.lists
        beside = replace(groups.beside, everyone=None)
        groups = Groups.from_sparse(
            by_list.indptr, by_list.indices, by_list.data, len(texts), values=texts, beside=beside
        )
    labels = set(texts)
    if table is not None:
        counts = table.counts.in_memory(_TOGETHER)
        labels |= set(_state_codes(counts, columns)[0].labels)
        if lists:
            lists |= _lists(counts.sensitive[counts.attribute(name)])
    values = Domain(name, "categorical", tuple(sorted(labels)))
    place = {text: code for code, text in enumerate(values.labels)}
    codes = np.array([place[text] for text in texts], dtype=np.int64)
    wider = groups.relabel(codes, values.labels, values)
    known = tuple(lists[text] for text in values.labels) if lists else None
    return States(tuple(columns), values, wider, known)


def _state_codes(counts: Counts, columns: Sequence[str]) -> tuple[Domain, Codes]:
    """S of every tuple of a table."""
    places = [counts.attribute(name) for name in columns]
    if len(places) > 1:
        attribute, codes = joint_attribute(counts, places)
        return attribute.domain, codes
    attribute = counts.sensitive[places[0]]
    return Domain(attribute.name, "categorical", tuple(_lists(attribute))), counts.values[places[0]]


def _lists(attribute: Attribute) -> dict[str, tuple[str, ...]]:
    """The lists of an attribute by how they are written, in the order of their codes."""
    sets, labels = attribute.sets, attribute.domain.labels
    if sets is None:
        return {f"{{{label}}}": (label,) for label in labels}
    ends = sets.offsets.tolist()
    lists = [
        tuple(sorted(labels[member] for member in sets.members[start:stop]))
        for start, stop in pairwise(ends)
    ]
    written = {"{" + ", ".join(listed) + "}": listed for listed in lists}
    if len(written) < len(lists):
        raise InputError(
            f"two different lists of {attribute.name!r} are written alike, for a value holds a "
            "comma; write its values without"
        )
    return written


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
    states: States,
    domains: Sequence[Domain],
    own: Placement | None = None,
) -> People | None:
    """Everybody whose true values are known; None where nobody's are.

    `own`: every tuple of a table with the one group it is in, though its values may fit others.
    """
    groups, values = states.groups, states.values
    placement = release.placement
    if own is not None:
        original, rows, n, group = own.table, own.tuples, own.n, own.groups
    elif placement is not None and (table is None or table is placement.table):
        known = placement.in_memory("asking what is believed of everybody")
        original, rows, n, group = known.table, known.tuples, known.n, known.groups
    elif table is not None:
        n = table.counts.in_memory("asking what is believed of everybody").n
        original, rows, group = table, np.arange(len(n)), None
    else:
        return _of_release(release, groups, domains)
    for name in states.columns:
        _check_attribute(original, name, states)
    original = states.table(original)
    place = original.counts.attribute(values.name)
    counts = original.counts.in_memory("asking what is believed of everybody")
    names = [domain.name for domain in counts.quasi]
    wanted = [names.index(domain.name) for domain in domains]
    codes = np.array(
        [
            recode(domain.name, counts.codes[at], counts.quasi[at], domain)
            for at, domain in zip(wanted, domains, strict=True)
        ],
        dtype=np.int64,
    )
    told_apart, sizes = codes.astype(np.int32), [len(domain) for domain in domains]
    if own is not None:
        in_group = np.zeros(len(counts.n), dtype=np.int32)
        in_group[own.tuples] = own.groups + 1
        told_apart, sizes = np.vstack([told_apart, in_group]), [*sizes, len(groups) + 1]
    number, first = rank_rows(told_apart, sizes)
    distinct = np.ascontiguousarray(codes[:, first])
    s = recode(values.name, counts.values[place], counts.sensitive[place].domain, values)
    where = _where(release, distinct, domains, number[rows], group, apart=own is not None)
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


def _check_attribute(table: Table, column: str, states: States) -> None:
    names = [attribute.name for attribute in table.counts.sensitive]
    if column not in names:
        raise InputError(
            f"the table {table.source.label} lacks the sensitive column {column!r}; "
            f"{did_you_mean(column, names)}"
        )
    if states.plain and table.counts.sensitive[names.index(column)].sets is not None:
        raise InputError(
            f"people of the table {table.source.label} have several values of {column!r} each, "
            "those of the release one"
        )


def _where(
    release: Release,
    codes: Ints,
    domains: Sequence[Domain],
    of_row: Ints,
    group: Ints | None,
    *,
    apart: bool,
) -> Located:
    """The groups each tuple fits; where groups, or tuples, are apart, the one it went into."""
    if group is not None and (apart or release.disjoint):
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
    for parts, part_of_group, domain in zip(regions.parts, regions.codes, domains, strict=True):
        code_of_part = np.full(len(parts), -1, dtype=np.int64)
        for part in np.unique(part_of_group).tolist():
            values = getattr(parts[part], "values", ())
            code = domain.code(next(iter(values))) if len(values) == 1 else None
            if code is None:
                return None
            code_of_part[part] = code
        rows.append(code_of_part[part_of_group])
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

    def learner_of(self, asked: Sequence[tuple[float, Known]]) -> Floats:
        """p_I(s, y), unnormalised, of a victim who is each of these with a weight."""
        logs = np.repeat(self.log_pi[:, None], len(asked), axis=1)
        for at, (_, known) in enumerate(asked):
            for theta, weights in zip(self.log_theta, known, strict=True):
                if weights is not None:
                    with np.errstate(divide="ignore"):
                        logs[:, at] += np.log(np.exp(theta) @ weights)
        return mixed(logs, [weight for weight, _ in asked])


LearnerReading = Literal["joint", "conditional"]
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

    def learner_of(self, asked: Sequence[tuple[float, Known]]) -> Floats: ...

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
        drawn = self.learnt.weights_drawn([victim for _, victim in known], rng, self.many)
        shares = normalised(drawn @ np.array([weight for weight, _ in known]))
        many = self.many // _BATCHES
        by_batch = shares[: many * _BATCHES].reshape(_BATCHES, many, -1).mean(axis=1)
        return replicates(by_batch)


# How she who asks sees people: exactly, or some columns only, or not surely.


def blurred(weights: Floats, noise: float) -> Floats:
    """P(seen | value) where the column is seen wrong with a chance, any other value as likely.

    `weights` are those of what is seen; 1 for one value, or for each of several.
    """
    others = (weights.sum() - weights) / max(len(weights) - 1, 1)
    seen: Floats = (1 - noise) * weights + noise * others
    return seen


@dataclass(frozen=True)
class Sight:
    """What everybody believes of people whose quasi-identifiers are known exactly."""

    learnt: Learnt
    ideal: Ideal
    conditional: Conditional | None

    def beliefs(self, codes: Ints, where: Located) -> dict[str, Floats]:
        """By whose they are: replicates by people by values."""
        learnt, conditional = self.learnt, self.conditional
        return {
            "attacker": learnt.attacker(codes, where),
            "learner": learnt.learner(codes, where)
            if conditional is None
            else conditional.learner(codes),
            "random_worlds": learnt.random_worlds(codes, where),
            "ideal": self.ideal.learner(codes)[None],
        }


@dataclass(frozen=True)
class BlurredSight(Sight):
    """The same of people who are seen as they are, by somebody who is not sure of what she sees.

    `noise` has for each column the chance that what is seen of it is wrong; None: it is not seen.
    """

    domains: tuple[Domain, ...]
    noise: tuple[float | None, ...]

    def beliefs(self, codes: Ints, where: Located) -> dict[str, Floats]:
        seen = [place for place, noise in enumerate(self.noise) if noise is not None]
        kinds, kind = np.unique(codes[seen], axis=1, return_inverse=True)
        known = [self._known(dict(zip(seen, values, strict=True))) for values in kinds.T.tolist()]
        learnt, learner = self.learnt, self.conditional or self.learnt
        asked: dict[str, Callable[[Known], Floats]] = {
            "attacker": learnt.attacker_of,
            "learner": lambda victim: learner.learner_of([(1.0, victim)]),
            "random_worlds": learnt.random_worlds_of,
            "ideal": lambda victim: self.ideal.learner_of([(1.0, victim)])[None],
        }
        return {
            name: normalised(np.stack([ask(victim) for victim in known], axis=1))[:, kind.ravel()]
            for name, ask in asked.items()
        }

    def _known(self, seen: dict[int, int]) -> Known:
        known: list[Floats | None] = [None] * len(self.domains)
        for place, code in seen.items():
            exact = np.zeros(len(self.domains[place]))
            exact[code] = 1.0
            known[place] = blurred(exact, self.noise[place] or 0.0)
        return known
