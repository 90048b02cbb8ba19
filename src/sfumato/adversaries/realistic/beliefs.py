"""The belief view of realistic adversaries: what they believe with and without the target's row.

p_in and p_out of each group and value against stubbornness are the data of a chart; the range of
stubbornness for which the release is epsilon-private is where its curves cross. Every ratio is a
quotient of two linear functions of the stubbornness, so each bound is one linear inequality and
the release is private on one interval, found without any search.

Her stand-ins, for policies that name none, and her entries of the catalogue stand at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from sfumato.adversaries.base import IN_IT, MOST_COUNTS, CatalogueEntry, Moves, Threat
from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.adversaries.realistic.negations import beliefs_ruling_out
from sfumato.adversaries.realistic.priors import RegionalPrior, SharedPrior, ValuePredicate
from sfumato.adversaries.realistic.ratios import (
    Binding,
    beliefs_by_count,
    epsilons,
    judged,
    smallest_epsilon,
    worst_shift,
)
from sfumato.errors import InputError
from sfumato.numbers import Floats, Ints
from sfumato.release.groups import Groups
from sfumato.release.kinds import one_per_kind


@dataclass(frozen=True)
class Curves:
    """Beliefs against stubbornness, one curve for each value that a group has.

    `group[c]`, `value[c]`: whose curve c is; `p_in[c]` does not depend on stubbornness,
    `p_out[i, c]` belongs to `stubbornness[i]`; `epsilon[i]` is the smallest of the release there.
    """

    stubbornness: Floats
    group: Ints
    value: tuple[str, ...]
    p_in: Floats
    p_out: Floats
    epsilon: Floats


@dataclass(frozen=True)
class Beliefs:
    """What one adversary believes about one sensitive attribute."""

    adversary: RealisticAdversary
    groups: Groups

    def curves(self, stubbornness: Sequence[float], groups: Sequence[int] | None = None) -> Curves:
        """Beliefs of exactly each stubbornness (inf allowed), in all groups or some of them."""
        self._check_drawable()
        all_groups = self.groups
        share, rest = self._shares()
        sizes, inside = all_groups.sizes[all_groups.row], all_groups.data
        kept = np.ones(len(inside), dtype=bool)
        if groups is not None:
            kept = np.isin(all_groups.row, np.asarray(groups))
        p_in = np.minimum(inside / np.maximum(sizes - self.adversary.known, 1), 1.0)
        p_out, epsilon = [], []
        for sigma in stubbornness:
            if sigma == inf:
                total: Any = None
                weight, others = (
                    (share, rest) if share is not None else (0.0 * p_in, 1 + 0.0 * p_in)
                )
                believed = weight
            else:
                total = float(sigma)
                least = 1.0 if all_groups.width > 1 else total
                weight = share * total if share is not None else least + 0.0 * p_in
                others = rest * total if rest is not None else total - weight
                believed = (inside - 1 + weight) / (sizes - 1 + total)
            smallest = smallest_epsilon(inside, sizes, weight, others, total, self.adversary.known)
            smallest[self._unjudged[all_groups.row]] = inf
            p_out.append(believed[kept])
            epsilon.append(float(smallest[kept].max(initial=1.0)))
        return Curves(
            np.asarray(stubbornness, dtype=np.float64),
            all_groups.row[kept],
            tuple(all_groups.values[code] for code in all_groups.indices[kept]),
            p_in[kept],
            np.array(p_out),
            np.array(epsilon),
        )

    def private_range(self, epsilon: float) -> tuple[float, float] | None:
        """The stubbornness for which the release is epsilon-private; None if there is none.

        From the smallest to the largest (inf included when it is), for exactly that stubbornness.
        """
        self._check_drawable()
        groups, b = self.groups, self.adversary.known
        share, _ = self._shares()
        a, n = groups.data, groups.sizes[groups.row]
        if self._unjudged.any() or (b > 0 and (n <= b).any()):
            return None
        # The prior weight of a value is fixed + slope * sigma.
        any_shape = share is None
        slope = np.zeros(len(a)) if share is None else share
        fixed = 1.0 if any_shape else 0.0
        # Whoever held no other value possible before is not moved.
        open_minded = (a < n) | (slope < 1 if not any_shape else groups.width > 1)
        a, n, slope = a[open_minded], n[open_minded], slope[open_minded]
        left = n - b
        if (left <= a).any() or (slope + fixed <= 0).any():
            return None
        # R1: a (n - 1 + sigma) <= epsilon left (a - 1 + fixed + slope sigma), and R2 likewise.
        factors = [
            a - epsilon * left * slope,
            left * (1 - slope) - epsilon * (left - a),
        ]
        bounds = [
            epsilon * left * (a - 1 + fixed) - a * (n - 1.0),
            epsilon * (left - a) * (n - 1.0) - left * (n - a - fixed),
        ]
        low, high = float(groups.width) if any_shape else 1.0, inf
        for factor, bound in zip(factors, bounds, strict=True):
            flat = np.abs(factor) <= 1e-12 * left
            if (bound[flat] < -1e-9 * n[flat]).any():
                return None
            up, down = ~flat & (factor > 0), ~flat & (factor < 0)
            high = min(high, float((bound[up] / factor[up]).min(initial=inf)))
            low = max(low, float((bound[down] / factor[down]).max(initial=low)))
        return (low, high) if low <= high else None

    def _check_drawable(self) -> None:
        if not self.adversary.drawable:
            raise InputError(
                "beliefs against stubbornness are of one prior a group and nothing ruled out; ask "
                "epsilon-privacy about priors by cell and negations"
            )

    @cached_property
    def _unjudged(self) -> Any:
        """Groups of which there is no saying what she believes: no bound holds there."""
        prior = self.adversary.prior(self.groups) if self.adversary.by_region else None
        if isinstance(prior, RegionalPrior):
            return ~judged(prior)
        return np.zeros(len(self.groups), dtype=bool)

    @cached_property
    def epsilons(self) -> Floats:
        """The smallest epsilon of each group."""
        adversary = self.adversary
        if adversary.adversary_class == "IV":
            return np.full(len(self.groups), inf)
        return epsilons(self.groups, adversary.prior(self.groups), "values", adversary.known)

    @property
    def worst_group(self) -> int:
        """Where she is moved farthest; of equally bad groups the largest, as verdicts name it."""
        by_group, sizes = self.epsilons, self.groups.sizes
        return int(np.lexsort((-sizes, -by_group))[0])

    def binding(self, group: int) -> Binding | None:
        """What moves her most in a group, exactly; None where nothing can be told of one value."""
        adversary = self.adversary
        if adversary.adversary_class == "IV" or not adversary.drawable or self._unjudged[group]:
            return None
        return worst_shift(
            self.groups, group, adversary.prior(self.groups).of(group), "values", adversary.known
        )

    def _shares(self) -> tuple[Any, Any]:
        """The share of each stored count under her prior, and the rest; None for any shape."""
        if self.adversary.shape is None:
            return None, None
        prior = self.adversary.prior(self.groups)
        if isinstance(prior, RegionalPrior):
            size = prior.sizes[self.groups.row]
            cells = prior.outside[self.groups.row, self.groups.indices] + 1
            return cells / size, 1 - cells / size
        return prior.floats[0][self.groups.indices], prior.floats[1][self.groups.indices]

    def threats(self) -> list[Threat]:
        """Her row of the threat matrix."""
        adversary, groups = self.adversary, self.groups
        knows = f"the target's quasi-identifiers, and outside statistics ({adversary})"
        reason = "there is no sensitive column" if groups.width == 0 else ""
        reason = reason if len(groups) else "no group"
        if not reason and not groups.single_valued:
            reason = "people have several values each; this adversary is defined for one"
        reason = reason or adversary.inapplicable(groups)
        if reason:
            about = groups.attribute
            return [Threat(adversary.name, knows, reason, about, status="not_applicable")]
        if adversary.adversary_class == "IV":
            return []  # no release but noise holds against her: nothing to measure
        name = groups.attribute or "the sensitive value"
        if not (adversary.by_cell or adversary.by_region):
            groups = one_per_kind(groups)
        moves = Moves(groups)
        if adversary.by_cell:
            by_cell = adversary.cell_prior(groups)
            moves.see_counts(*by_cell.by_count(groups))
            moves.unknown(~by_cell.covered(groups))
        else:
            prior = adversary.prior(groups)
            if adversary.negations and isinstance(prior, SharedPrior):
                for belief in beliefs_ruling_out(
                    groups, prior, adversary.negations, adversary.known
                ):
                    moves.see(*belief)
            else:
                for p_out, p_in in beliefs_by_count(groups, prior, adversary.known):
                    moves.see_counts(p_out, p_in)
            if adversary.by_region:
                moves.unknown(self._unjudged)
        return [
            Threat(
                adversary.name,
                knows,
                f"{name}: {moves.words}",
                name,
                moves.people,
                moves.worst,
                surest=moves.surest_moved,
            )
        ]


def in_words(groups: Groups, binding: Binding, known: int) -> str:
    """What happens in one group, as one tells it."""
    shift, predicate_words = binding.shift, binding.values.words(groups)
    size = int(groups.sizes[binding.group])
    if size <= known and not binding.ruled_out:
        return f"in the worst group she may know everybody: {size} people"
    if binding.impossible:
        return "the worst group shows what her prior holds impossible, or all but"
    if shift.epsilon is None and shift.ratio == "R1":
        return f"in the worst group somebody has {predicate_words}, which her prior rules out"
    seen = "an adversary whose prior nothing can move"
    if binding.total is not None:
        many = f"{int(binding.total):,}" if binding.total.denominator == 1 else ""
        seen = f"an adversary who has seen {many or f'{float(binding.total):,.6g}'} outside records"
    if known:
        seen += f" and knows {known} of its people"
    if binding.ruled_out:
        seen += f" and rules out {ValuePredicate(binding.ruled_out).words(groups)}"
    verb = "raise" if shift.believed_in >= shift.believed_out else "lower"
    moved = (
        f"in the worst group {seen} would {verb} her belief in {predicate_words} from "
        f"{share_text(shift.believed_out)} to {share_text(shift.believed_in)}"
    )
    if shift.epsilon is None:
        return f"{moved}: certainty"
    if shift.ratio == "R2":
        return f"{moved}, her doubt falling {float(shift.epsilon):.4g} times"
    return moved


def share_text(p: Fraction) -> str:
    """A share as one reads it: .36, with more digits only near 0 and 1."""
    if p in (0, 1):
        return str(int(p))
    digits = 2
    while digits < 9 and round(min(float(p), float(1 - p)), digits) == 0:
        digits += 1
    return f"{float(p):.{digits}f}".removeprefix("0")


# Her stand-ins, where no policy names one: outside statistics shaped as this table is, or of any
# shape, and as many records as there are people.


def _limited(groups: Groups) -> Iterator[RealisticAdversary]:
    if _judgeable(groups):
        yield RealisticAdversary("table", _records(groups), at_most=False)


def _of_any_shape(groups: Groups) -> Iterator[RealisticAdversary]:
    if _judgeable(groups):
        yield RealisticAdversary(None, _records(groups))


def _unmoved(groups: Groups) -> Iterator[RealisticAdversary]:
    if _judgeable(groups):
        yield RealisticAdversary("table", inf, at_most=False)


def _judgeable(groups: Groups) -> bool:
    return groups.width > 0 and 0 < len(groups.data) <= MOST_COUNTS


def _records(groups: Groups) -> float:
    return float(max(groups.reference.sum(), groups.width, 1))


_LEARNS = "the sensitive value: how far the row moves a belief formed outside"
ENTRIES = (
    CatalogueEntry(
        "realistic I",
        "Could known figures help guess her value?",
        f"{IN_IT}, and outside statistics of known shape and limited size",
        _LEARNS,
        "require epsilon-privacy with a shape and a stubbornness",
        "by itself",
        ("epsilon-privacy",),
        stand_ins=_limited,
    ),
    CatalogueEntry(
        "realistic II",
        "Could any figures help guess her value?",
        f"{IN_IT}, and outside statistics of any shape and limited size",
        _LEARNS,
        "require epsilon-privacy with a stubbornness and no shape",
        "by itself",
        ("epsilon-privacy",),
        stand_ins=_of_any_shape,
    ),
    CatalogueEntry(
        "realistic III",
        "Could firm figures help guess her value?",
        f"{IN_IT}, and outside statistics of known shape that nothing can move",
        _LEARNS,
        "require epsilon-privacy with a shape and stubbornness inf",
        "by itself",
        ("epsilon-privacy",),
        stand_ins=_unmoved,
    ),
)
