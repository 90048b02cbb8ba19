"""Realistic adversaries (Machanavajjhala, Gehrke, Goetz: Data Publishing against Realistic
Adversaries, VLDB 2009): people whose beliefs come from a limited amount of outside data.

She formed an opinion about the sensitive value from data of her own: a census, last year's release,
a newspaper. The more data, the more stubborn she is, and the less a group's counts move her; but
what she holds for unlikely and a group shows to be common, moves her far. She also knows some
people of the group outright. Her prior is a Dirichlet distribution with a shape (share of each
value) and a stubbornness (how many records stand behind it):

    class I    stubbornness at most a number, the shape given
    class II   stubbornness at most a number, any shape with a weight of at least 1 for each value
    class III  infinite stubbornness, the shape given: she never learns, only compares; with
               `at_most` any stubbornness at all
    class IV   infinite, any shape: differential privacy's adversary, no generalization holds

Unsure of the shape: class II. Unsure of the size: infinite *with* `at_most` (the default).
Otherwise the previous release or a census, with its size, less for old data.

Errata. "At most sigma" is not covered by checking sigma alone (counts (1, 4), shape (1/5, 4/5):
sigma 500 needs 126/125, sigma 5 needs 9/5), and neither is it by checking infinity: there these
counts need 1. So the paper's Fig. 1, which draws class I inside class III, and Section 4.1's claim
that class I needs less, are false in general. Each ratio is monotone in sigma at a fixed shape, so
the two ends are enough: with `at_most` the smallest admissible stubbornness (every value has a
weight of at least 1) is checked beside the largest, infinite or not; without it exactly sigma,
which is what the paper's own tables show.

A value whose share is 0 has a weight of at least 1 under no stubbornness. She rules it out: if
somebody has it, no epsilon is enough. The smallest stubbornness is then taken by the values she
holds possible, which tries more priors than are admissible, never fewer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import lru_cache
from math import inf, isinf
from sys import float_info
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np

from sfumato.adversaries.priors import (
    ByClass,
    OfTable,
    Outside,
    OutsideTable,
    Prior,
    PriorGiven,
    Uniform,
    ValueCounts,
    ValueShares,
    check_values,
    counts_in,
    parse_prior,
    plain_prior,
)
from sfumato.adversaries.realistic.priors import (
    NAME,
    SHAPE,
    RegionalPrior,
    SharedPrior,
    by_region,
    shares_of,
    totals_of,
)
from sfumato.errors import PolicyError, did_you_mean, quoted
from sfumato.numbers import fraction
from sfumato.release.groups import Groups
from sfumato.release.release import Release

if TYPE_CHECKING:
    from sfumato.adversaries.realistic.beliefs import Beliefs
    from sfumato.adversaries.realistic.cells import CellPrior

Class = Literal["I", "II", "III", "IV"]


@dataclass(frozen=True)
class RealisticAdversary:
    """What she has seen before, and whom she knows."""

    shape: PriorGiven = field(default=None, hash=False)
    """How she thinks values are distributed: "uniform", "table" (as in the table itself), shares by
    value that sum to 1, counts by value (whole numbers), an outside table or an earlier release in
    a file; without it any shape. Example: `shape = { flu = 0.9, ulcer = 0.1 }`.
    """
    stubbornness: float | Fraction | None = None
    """How many records stand behind it: 1 or more, or inf; without it those of the counts. Example:
    `stubbornness = 1e6`.
    """
    known: int = 0
    """How many people of a group she knows. Example: `known = 2`."""
    at_most: bool = True
    """A smaller stubbornness counts as well; with inf that is every size. Example: `at_most =
    false`.
    """
    by_region: bool = False
    """One prior for each group, from the people of the outside table who fit its description, or
    those of an earlier release who may. Example: `by_region = true` with `shape = { file =
    "register.csv" }`.
    """
    by_cell: bool = False
    """One prior for each cell of quasi-identifiers, from the outside table's people of the cell or
    as listed; exactly the stubbornness given, on finished releases. Example: `by_cell = true` with
    `at_most = false` and `shape = [{ class = { sex = "F" }, shares = { flu = 1.0 } }]`.
    """
    negations: int = 0
    """How many values she knows her target has not, whichever are worst. Example: `negations = 1`.
    """

    def __post_init__(self) -> None:
        if self.shape is not None:
            object.__setattr__(self, "shape", parse_prior(self.shape, SHAPE))
        counted = isinstance(self.shape, Outside | ValueCounts)
        if isinstance(self.shape, ByClass):
            object.__setattr__(self, "by_cell", self.by_cell or self.by_cell is False)
            counted = all(isinstance(cell.shares, ValueCounts) for cell in self.shape.classes)
        self._check_stubbornness(counted)
        for count, noun in (("known", "people"), ("negations", "values")):
            given = getattr(self, count)
            whole = isinstance(given, int) and not isinstance(given, bool)
            if not whole or not 0 <= given < 2**63:
                raise PolicyError(
                    f"{NAME}: {count} = {quoted(given)} is not allowed; it must be a whole "
                    f"number of {noun}, at least 0"
                )
        for switch in ("at_most", "by_region", "by_cell"):
            if not isinstance(getattr(self, switch), bool):
                raise PolicyError(
                    f"{NAME}: {switch} = {quoted(getattr(self, switch))} is not allowed; it "
                    "must be true or false"
                )
        if self.by_region and not isinstance(self.shape, Outside):
            raise PolicyError(
                f"{NAME}: by_region needs an outside table with the release's quasi-identifiers, "
                "or an earlier release, as shape"
            )
        if self.by_cell and (self.by_region or not isinstance(self.shape, ByClass | OutsideTable)):
            raise PolicyError(
                f"{NAME}: by_cell needs an outside table with the release's quasi-identifiers, or "
                "a list of { class = cells, shares = {...} }, as shape, and no by_region"
            )
        if self.by_cell and self.at_most:
            raise PolicyError(
                f"{NAME}: priors by cell are judged for exactly the stubbornness given; say so "
                "with at_most = false"
            )

    def _check_stubbornness(self, counted: bool) -> None:
        given: Any = self.stubbornness
        if given is None:
            if not counted:
                raise PolicyError(
                    f"{NAME}: stubbornness is missing; give the number of outside records, or inf"
                )
            return
        fine = isinstance(given, int | float | Fraction) and not isinstance(given, bool)
        if not fine or not (1 <= given <= float_info.max or given == inf):
            raise PolicyError(
                f"{NAME}: stubbornness = {quoted(given)} is not allowed; it must be a number "
                f"of at least 1, or inf{' (no text)' if isinstance(given, str) else ''}"
            )

    @classmethod
    def from_settings(cls, settings: Mapping[str, object]) -> Self:
        """From the inline table of a policy file."""
        allowed = [setting.name for setting in fields(cls)]
        for key in settings:
            if key not in allowed:
                raise PolicyError(f"{NAME}: unknown key {key!r}; {did_you_mean(key, allowed)}")
        return cls(**settings)  # type: ignore[arg-type]  # checked there

    def settings(self) -> dict[str, object]:
        """What a policy file holds of her: everything that is not the default.

        A shape that is people from outside is left as it is; a file names where they are.
        """
        given = {
            declared.name: getattr(self, declared.name)
            for declared in fields(self)
            if getattr(self, declared.name) != declared.default
        }
        if self.shape is not None:
            given["shape"] = plain_prior(self._shape)
        if isinstance(self.stubbornness, Fraction):
            given["stubbornness"] = _plain(self.stubbornness)
        return given

    @property
    def adversary_class(self) -> Class:
        """I to IV, from what is given."""
        endless = self.stubbornness is not None and isinf(self.stubbornness)
        if self.shape is None:
            return "IV" if endless else "II"
        return "III" if endless else "I"

    @property
    def name(self) -> str:
        """As the threat matrix names her."""
        return f"realistic {self.adversary_class}"

    def attack(self, release: Release, groups: Groups | None = None) -> Beliefs:
        """What she believes about one sensitive attribute, with and without the target's row."""
        from sfumato.adversaries.realistic.beliefs import Beliefs

        return Beliefs(self, release.groups if groups is None else groups)

    def __str__(self) -> str:
        """Her parameters in one breath."""
        match self.shape:
            case None:
                shape: object = "any"
            case ValueShares() | ValueCounts():
                shape = "given"
            case Outside() | ByClass():
                fineness = ", by region" if self.by_region else ", by cell" if self.by_cell else ""
                shape = f"{'outside' if isinstance(self.shape, Outside) else 'given'}{fineness}"
            case _:
                shape = plain_prior(self._shape)
        seen = "their size" if self.stubbornness is None else f"{float(self.stubbornness):,.10g}"
        limit = "≤ " if self.at_most and self.adversary_class != "IV" else ""
        knows = f", knows {self.known}" if self.known else ""
        knows += f", rules out {self.negations}" if self.negations else ""
        return f"class {self.adversary_class}, shape {shape}, σ {limit}{seen}{knows}"

    @property
    def _shape(self) -> Prior:
        """The shape that was given."""
        return cast(Prior, self.shape)

    def prior(self, groups: Groups) -> SharedPrior | RegionalPrior:
        """Her prior about these groups, one for all people of a group; class IV has none."""
        given = self.stubbornness
        total = None if given is None or given == inf else fraction(given)
        if self.by_region:
            assert isinstance(self.shape, Outside)
            return by_region(groups, self.shape.people, total, given == inf, self.at_most)
        if self.shape is None:
            assert total is not None
            if total < groups.width:
                raise PolicyError(
                    f"{NAME}: stubbornness = {float(total):g} is below the {groups.width} values "
                    f"of {groups.attribute or 'the sensitive column'!r}: with any shape every "
                    f"value has a weight of at least 1; give {groups.width} or more, or a shape"
                )
            return SharedPrior(groups.width, None, (total,))
        if isinstance(self.shape, Uniform):
            return _uniform(groups.width, given == inf, total, self.at_most)
        if isinstance(self.shape, OfTable):
            return _by_reference(groups.reference.tobytes(), given == inf, total, self.at_most)
        return _counted(self, tuple(groups.values), groups.attribute)

    @property
    def drawable(self) -> bool:
        """Whether her beliefs can be drawn against stubbornness: one prior a group, no more."""
        return not self.by_cell and not self.negations

    def cell_prior(self, groups: Groups) -> CellPrior:
        """Her priors about the people of these groups by their cells."""
        from sfumato.adversaries.realistic.cells import by_cell

        given = self.stubbornness
        total = None if given is None or given == inf else fraction(given)
        assert isinstance(self.shape, ByClass | OutsideTable)
        return by_cell(groups, self.shape, total, given == inf)

    def _inapplicable_by_cell(self, groups: Groups, *, theorem: bool) -> str:
        from sfumato.adversaries.realistic.cells import MOST_STATES

        if theorem or not self.known == self.negations == 0:
            knowledge = "the theorem" if theorem else "people she knows and values she rules out"
            return f"{knowledge} cannot be combined with priors by cell"
        if groups.inside is None:
            return (
                "it is not known who is in each group: give the table (--table), if it fits memory"
            )
        large = self.cell_prior(groups).too_large(groups)
        if not large:
            return ""
        return (
            f"{large:,} of {len(groups):,} groups mix cells in more than {MOST_STATES:,} ways to "
            "count (the product of each value's people + 1), or have more than 5,000 people"
        )

    def _inapplicable_negations(self, groups: Groups, *, theorem: bool) -> str:
        from sfumato.adversaries.realistic.negations import MOST_SETS, number_of_sets

        if theorem or self.by_region:
            knowledge = "the theorem" if theorem else "priors by region"
            return f"values she rules out cannot be combined with {knowledge}"
        sets = number_of_sets(groups.width, self.negations)
        if sets <= MOST_SETS:
            return ""
        return (
            f"{self.negations} of {groups.width} values can be ruled out in {sets:,} ways, and "
            f"at most {MOST_SETS:,} are tried"
        )

    def inapplicable(self, groups: Groups, *, theorem: bool = False) -> str:
        """Why she cannot be judged on these groups; empty when she can."""
        if self.by_cell:
            return self._inapplicable_by_cell(groups, theorem=theorem)
        if self.negations:
            reason = self._inapplicable_negations(groups, theorem=theorem)
            if reason:
                return reason
        if self.by_region:
            if groups.regions is None:
                return "the groups do not publish regions the outside table could be matched with"
            assert isinstance(self.shape, Outside)
            if isinstance(self.shape.people, Release) and self.shape.people.regions.exact:
                return "the earlier release is bucketized and shows no regions to compare"
            return "theorem mode knows no priors by region" if theorem else ""
        if self.adversary_class == "IV":
            return ""
        if isinstance(self.shape, OfTable) and not groups.reference.sum() > 0:
            return "the reference distribution is empty"
        prior = self.prior(groups)
        assert isinstance(prior, SharedPrior)
        total = prior.totals[0]
        if prior.shares is None or total is None:
            return ""
        least = min(share for share in prior.shares if share > 0)
        if total * least < 1 and (self.at_most or theorem):
            why = (
                "Theorem 1 is unsound there; use mode='exact'"
                if theorem
                else "no prior of at most that stubbornness has them all; give more, or "
                "at_most=False for exactly this one"
            )
            return (
                f"with stubbornness {float(total):g} some value has a weight of "
                f"{float(total * least):.3g}, below 1: {why}"
            )
        return ""


@lru_cache(maxsize=64)
def _counted(
    adversary: RealisticAdversary, values: tuple[str, ...], attribute: str | None
) -> SharedPrior:
    """From shares or counts; a value nobody was seen with has the 1 of no opinion."""
    shape = adversary.shape
    if isinstance(shape, ValueShares | ValueCounts):
        check_values(shape, values, attribute, SHAPE)
    else:
        assert isinstance(shape, Outside)
        shape = ValueCounts(counts_in(shape.people, attribute, SHAPE))
    shares, own = shares_of(shape, values)
    listed = tuple(shares.get(value, Fraction(0)) for value in values)
    given = adversary.stubbornness
    total = own if given is None else None if given == inf else fraction(given)
    return SharedPrior(len(values), listed, totals_of(listed, total, adversary.at_most))


def _plain(number: float | Fraction) -> float:
    if isinstance(number, Fraction):
        return int(number) if number.denominator == 1 and number > 1 else float(number)
    return number


@lru_cache(maxsize=256)
def _uniform(width: int, endless: bool, total: Fraction | None, at_most: bool) -> SharedPrior:
    shares = (Fraction(1, width),) * width
    return SharedPrior(width, shares, totals_of(shares, None if endless else total, at_most))


@lru_cache(maxsize=256)
def _by_reference(
    reference: bytes, endless: bool, total: Fraction | None, at_most: bool
) -> SharedPrior:
    weights = [fraction(weight) for weight in np.frombuffer(reference).tolist()]
    whole = sum(weights, Fraction(0))
    shares = tuple(weight / whole for weight in weights)
    return SharedPrior(len(shares), shares, totals_of(shares, None if endless else total, at_most))
