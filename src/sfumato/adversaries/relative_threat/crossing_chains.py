"""Chains over the columns whose regions cross, and the p_A of people they are watched by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.relative_threat.atoms import Drawn, Problems, problems_of
from sfumato.adversaries.relative_threat.chains import BATCHES, POOL, keepable, side_by_side
from sfumato.adversaries.relative_threat.columns import RegionColumn
from sfumato.adversaries.relative_threat.generalized import Generalized
from sfumato.adversaries.relative_threat.model import Model, Posterior, entries_of, jackknife
from sfumato.numbers import Floats, Ints

_PARAMETERS = 200  # followed for Geweke
_ROWS = 50  # followed for Weiss


@dataclass(frozen=True)
class WatchedPeople:
    """People to watch: exact values, a row by column, their sensitive value, groups they fit."""

    codes: Ints
    s: Ints
    where: Located

    def take(self, some: Ints) -> WatchedPeople:
        return WatchedPeople(self.codes[:, some], self.s[some], self.where.take(some))


def made_up_cases(model: Model, rng: np.random.Generator) -> WatchedPeople:
    """People who might be in the release, where nobody's true values are known.

    A group, one of its values, and exact values inside the group's regions.
    """
    groups = model.groups
    stored = rng.permutation(len(groups.data))[:POOL]
    group = groups.row[stored]
    rows = []
    for column in model.columns:
        parts = column.shown[group]
        atoms = [column.of_part(part)[0] for part in parts.tolist()]
        rows.append(column.first[np.array(atoms, dtype=np.int64)])
    codes = np.array(rows, dtype=np.int64).reshape(len(model.columns), len(stored))
    where = Located(np.arange(len(stored) + 1), group)
    return WatchedPeople(codes, groups.indices[stored].astype(np.int64), where)


class CrossingChains:
    """Counts and slices (`crossing_kernel`) for some columns, the others learnt already."""

    slices = True
    merge = True

    def __init__(
        self,
        model: Model,
        learnt: Sequence[Posterior | None],
        cases: WatchedPeople,
        chains: int,
        seed: int,
    ) -> None:
        """`learnt` holds the posterior of each column, None for those to be sampled."""
        self.model, self._learnt = model, list(learnt)
        rng = np.random.default_rng([seed, 3])
        some = np.sort(rng.permutation(len(cases.s))[:POOL])
        self.cases = cases.take(some)
        self.pool = len(some)
        self.chains = chains
        self.columns: list[tuple[int, RegionColumn, Problems]] = [
            (place, column, problems_of(column, model.cells(column), merge=self.merge))
            for place, column in enumerate(model.columns)
            if learnt[place] is None
        ]
        self._rngs = [np.random.default_rng([seed, 5, chain]) for chain in range(chains)]
        self._thetas = [
            [_start(problems, chain, self._rngs[chain]) for _, _, problems in self.columns]
            for chain in range(chains)
        ]
        size = sum(len(problems.prior) for _, _, problems in self.columns)
        self.most_kept = keepable(chains, 8 * size)
        self.learnt: Generalized | None = None

    def warm_up(self, sweeps: int) -> None:
        side_by_side(lambda chain: self._run(chain, sweeps, sweeps), self.chains)

    def stage(self, sweeps: int, thin: int, watched: Ints) -> list[Floats]:
        kept = side_by_side(lambda chain: self._run(chain, sweeps, thin), self.chains)
        posteriors = list(self._learnt)
        for number, (place, column, problems) in enumerate(self.columns):
            draws = np.concatenate([one[number] for one in kept])
            drawn = np.ascontiguousarray(draws.T)
            posteriors[place] = Drawn(column, problems, drawn, self.chains * BATCHES)
        self.learnt = Generalized(self.model, [one for one in posteriors if one is not None])
        cases = self.cases.take(watched)
        found = [self._attacker(cases), self._learner(cases)]
        return [one.reshape(len(watched), self.chains, -1).transpose(1, 2, 0) for one in found]

    def _run(self, chain: int, sweeps: int, thin: int) -> list[Floats]:
        from sfumato.adversaries.relative_threat.crossing_kernel import sweep_all

        found = []
        for number, (_, _, problems) in enumerate(self.columns):
            kept = np.empty((sweeps // thin, len(problems.prior)))
            sweep_all(
                self._rngs[chain],
                sweeps,
                thin,
                self._thetas[chain][number],
                problems.begins,
                problems.beta,
                problems.part_begins,
                problems.people,
                problems.atom_begins,
                problems.atoms,
                problems.pair_begins,
                problems.pair_parts,
                problems.pair_sides,
                self.slices,
                kept,
            )
            found.append(kept)
        return found

    def _learner(self, cases: WatchedPeople) -> Floats:
        """p_L of each case's own value in every draw of the population: cases by draws."""
        assert self.learnt is not None
        total: Floats = self.model.mean_pi[:, None, None]
        for posterior, row in zip(self.learnt.posteriors, cases.codes, strict=True):
            if isinstance(posterior, Drawn):
                total = total * posterior.mean_draws(row)
            else:
                total = total * np.exp(posterior.log_mean(row)[0])[:, :, None]
        found: Floats = total[cases.s, np.arange(len(cases.s))] / total.sum(axis=0)
        return found

    def _attacker(self, cases: WatchedPeople) -> Floats:
        """p_A of each case's own value in every draw: cases by draws."""
        assert self.learnt is not None
        entries = entries_of(self.model.groups, cases.where)
        weight: Floats = entries.n[:, None].astype(np.float64)
        for posterior, row in zip(self.learnt.posteriors, cases.codes, strict=True):
            parts = posterior.column.shown[entries.group].astype(np.int64)
            if isinstance(posterior, Drawn):
                weight = weight * posterior.inside_draws(entries.s, parts, row[entries.who])
            else:
                inside = posterior.log_inside(entries.s, parts, row[entries.who])
                weight = weight * np.exp(inside[0])[:, None]
        if not len(cases.s):
            return np.zeros((0, weight.shape[1]))
        starts = np.flatnonzero(np.diff(entries.who, prepend=-1))
        own = np.where((entries.s == cases.s[entries.who])[:, None], weight, 0.0)
        found: Floats = np.add.reduceat(own, starts, axis=0) / np.add.reduceat(
            weight, starts, axis=0
        )
        return found

    def errors(self) -> Floats:
        assert self.learnt is not None
        beliefs = self.learnt.attacker(self.cases.codes, self.cases.where)
        return jackknife(beliefs[:, np.arange(self.pool), self.cases.s])

    def parameters(self) -> Floats:
        found = [
            posterior.thetas[:_PARAMETERS].reshape(-1, self.chains, self._kept(posterior))
            for posterior in self._sampled()
        ]
        return np.concatenate(found).transpose(1, 2, 0)

    def categories(self) -> npt.NDArray[np.int64]:
        """The atom of the first cases' rows in the first sampled column, drawn given theta."""
        posterior = self._sampled()[0]
        problems, rng = posterior.problems, np.random.default_rng(11)
        cells = np.flatnonzero(np.diff(problems.cell_begins) > 1)[:_ROWS]
        rows = []
        for cell in cells.tolist():
            atoms = problems.cell_atoms[problems.cell_begins[cell] : problems.cell_begins[cell + 1]]
            running = np.cumsum(posterior.thetas[atoms], axis=0)
            chance = rng.random(running.shape[1]) * running[-1]
            rows.append((running < chance).sum(axis=0))
        shape = (len(cells), self.chains, self._kept(posterior))
        return np.array(rows, dtype=np.int64).reshape(shape).transpose(1, 2, 0)

    def _sampled(self) -> list[Drawn]:
        assert self.learnt is not None
        return [one for one in self.learnt.posteriors if isinstance(one, Drawn)]

    def _kept(self, posterior: Drawn) -> int:
        return int(posterior.thetas.shape[1]) // self.chains


def _start(problems: Problems, chain: int, rng: np.random.Generator) -> Floats:
    """A start of its own for each chain: even, or with most of the mass on few atoms."""
    theta = np.ones(len(problems.prior))
    if chain % 2:
        theta = np.maximum(rng.standard_gamma(0.3, size=len(theta)), 1e-12)
    elif chain:
        theta = rng.standard_exponential(len(theta))
    total = np.add.reduceat(theta, problems.begins[:-1])
    started: Floats = theta / np.repeat(total, np.diff(problems.begins))
    return started
