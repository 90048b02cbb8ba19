"""k-anonymity (Sweeney 2002), (alpha, k)-anonymity (Wong et al. 2006) and k-map.

The adversary knows somebody's QIs and that she is in the table, and looks for her row. With k or
more people in every group she cannot narrow it down to fewer than k. That says nothing about what
those k people have in common, which is why (alpha, k) also bounds how frequent one sensitive value
may be in a group: every value's share is at most alpha.

A bucketized release publishes exact QIs, so its k is that of the exact tuples, however large its
buckets; alpha is judged on the buckets, which is what they are for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import combinations
from math import comb
from typing import ClassVar, Self

import numpy as np

from sfumato.adversaries.base import Asked
from sfumato.adversaries.linkage.risks import JOURNALIST, PROSECUTOR, WHOSE_ROW
from sfumato.adversaries.linkage.special_uniques import (
    BY_FEW_COLUMNS,
    MOST_SETS,
    FewColumns,
    fewest_alike,
    largest_sets,
)
from sfumato.adversaries.locating.people import (
    SLACK,
    WEIGHTS,
    Population,
    PopulationPerGroup,
    check_population,
    same_population,
    unknown_population,
)
from sfumato.adversaries.locating.signature_register import count_register, overlaps_apart
from sfumato.adversaries.random_worlds import NAME as RANDOM_WORLDS
from sfumato.counts.counts import TableCounts
from sfumato.criteria.base import (
    Criterion,
    GroupCriterion,
    Measure,
    Verdict,
    parameter,
    summarize,
)
from sfumato.criteria.count_rules import CountRule, fewest, largest_shares
from sfumato.criteria.exact import decide, sign
from sfumato.criteria.steps import PEOPLE, SHARES, Ladder
from sfumato.criteria.together import Together
from sfumato.criteria.verdict import EXACT
from sfumato.errors import PolicyError, ResourceError, did_you_mean, quoted
from sfumato.numbers import Bools, fraction, shortest
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.table import Table

# k-map (Sweeney 2002; El Emam and Dankar 2008): k people of the population behind every group.
#
# The adversary does not know whether her target is in the release. She has a register of the
# population it was drawn from and looks for the people who fit a group. If at least k of them do
# everywhere, she cannot narrow anybody's row down to fewer than k names, even if the group itself
# has a single row. Weaker than k-anonymity, which protects whoever is known to be in the release.
#
# Everything hangs on the population being the right one: it must contain the release, and an
# adversary who knows more about who was sampled has fewer candidates.


@dataclass(frozen=True)
class KMap(GroupCriterion):
    """Every group fits at least k people of the population.

    A group always fits its own people, whatever the population or the weights say; where those say
    less, the verdict tells of it.
    """

    name: ClassVar[str] = "k-map"
    plain: ClassVar[str] = "at least {0.k} people of the population fit every group"
    adversary: ClassVar[str] = JOURNALIST
    needs: ClassVar[frozenset[str]] = frozenset({"regions"})
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = True
    reads_values: ClassVar[bool] = False
    about_identity: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("k", PEOPLE),)

    alone: ClassVar[bool] = False  # True: whoever fits another group too does not count

    k: int
    """How many people of the population every group fits at least, 1 or more. Example: `k = 5`."""
    population: Population = field(hash=False)
    """A table of the population with the quasi-identifiers; or a release about it, whose people
    count where all that is published of them lies in the group; or "weights", what each group's
    survey weights add up to. Example: `population = "register.csv"`.
    """

    def __post_init__(self) -> None:
        parameter(self.name, "k", self.k, whole=True, least=1)
        check_population(self.name, self.population)

    def __eq__(self, other: object) -> bool:
        """Equal bounds by the same population: the same object, or the same file."""
        if not isinstance(other, KMap):
            return NotImplemented
        equal_population = same_population(self.population, other.population)
        return equal_population and (self.k, self.sensitive) == (other.k, other.sensitive)

    @property
    def required(self) -> str:
        return f"k ≥ {self.k} in the population"

    @property
    def reads_weights(self) -> bool:
        return self.population == WEIGHTS

    @property
    def population_table(self) -> Table | None:
        return self.population if isinstance(self.population, Table) else None

    def inapplicable(self, groups: Groups) -> str:
        return super().inapplicable(groups) or unknown_population(self.population, groups)

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        """Where regions overlap, a register rules people out of a group by where else they fit."""
        counted = count_register(release, self.population)
        if counted.reason:
            return self.unjudged("cannot_judge", counted.reason, groups)
        asked: KMap = self
        if self.population != WEIGHTS and overlaps_apart(release):
            asked = _KMapOfOverlap(self.k, self.population, sensitive=self.sensitive)
        if counted.groups is None:
            return asked.verdict(groups)
        verdict = asked.verdict(counted.groups)
        return verdict.without_groups() if counted.other else verdict

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        behind_group = PopulationPerGroup.behind(groups, self.population, alone=self.alone)
        parts = {}
        if behind_group.uncovered:
            parts["groups the population does not contain"] = float(behind_group.uncovered)
        enough = behind_group.people >= self.k * (1 - SLACK)
        return summarize(groups, behind_group.people, "at_least", parts), enough


@dataclass(frozen=True)
class _KMapOfOverlap(KMap):
    """k-map where people may fit several groups: only those who fit no other are counted."""

    alone: ClassVar[bool] = True


@dataclass(frozen=True)
class KAnonymity(GroupCriterion):
    """Every group has at least k people; or everybody shares what she shows of few columns with k.

    Whoever sees only some columns of her target finds all who show the same there, in whatever
    group. One of `columns`, `sets` and `up_to` may be given, and k is then asked of no more than
    that: whoever knows all columns may find fewer. What groups show must be equal, not only
    overlap, as between groups.
    """

    name: ClassVar[str] = "k-anonymity"
    plain: ClassVar[str] = "at least {0.k} people look alike{0.over}"
    adversary: ClassVar[str] = PROSECUTOR
    reads_values: ClassVar[bool] = False
    about_identity: ClassVar[bool] = True
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("k", PEOPLE),)

    k: int
    """How many people every group has at least, 1 or more. Example: `k = 5`."""
    _: KW_ONLY
    columns: Sequence[str] | None = None
    """Ask it of these quasi-identifiers alone: the adversary sees no others. Example: `columns =
    ["age", "sex"]`.
    """
    sets: Sequence[Sequence[str]] | None = None
    """Ask it of each of these lists: the adversary sees one of them. Example: `sets = [["age",
    "sex"], ["zip"]]`.
    """
    up_to: int | None = None
    """Ask it of every choice of so many quasi-identifiers, 1 or more. Example: `up_to = 2`."""

    def __post_init__(self) -> None:
        parameter(self.name, "k", self.k, whole=True, least=1)
        given = [key for key in ("columns", "sets", "up_to") if getattr(self, key) is not None]
        if len(given) > 1:
            raise PolicyError(
                f"{self.name}: {given[0]} and {given[1]} both say what is seen; give one"
            )
        if self.up_to is not None:
            parameter(self.name, "up_to", self.up_to, whole=True, least=1)
        for key in ("columns", "sets"):
            listed = getattr(self, key)
            if listed is None:
                continue
            column_lists = [listed] if key == "columns" else listed
            if (
                isinstance(column_lists, str)
                or not column_lists
                or not all(map(_names, column_lists))
            ):
                expected = "a list of columns" if key == "columns" else "lists of columns"
                raise PolicyError(
                    f"{self.name}: {key} = {quoted(listed)} is not allowed; it must be {expected}"
                )
            kept = tuple(map(tuple, column_lists))
            object.__setattr__(self, key, kept[0] if key == "columns" else kept)

    @property
    def of_some_columns(self) -> bool:
        """Whether k is asked of some columns at a time: then groups are judged together."""
        return not (self.columns is None and self.sets is None and self.up_to is None)

    @property
    def merge_closed(self) -> bool:  # type: ignore[override]
        return not self.of_some_columns

    @property
    def upward_closed(self) -> bool:  # type: ignore[override]
        return not self.of_some_columns

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({"regions"}) if self.of_some_columns else frozenset()

    @property
    def over(self) -> str:
        """Which columns it is about, unless all."""
        if self.columns is not None:
            return f" over {', '.join(self.columns)}"
        if self.sets is not None:
            return f" over each of {len(self.sets)} sets of columns"
        if self.up_to is not None:
            return f" over any {self.up_to} columns" if self.up_to > 1 else " over any column"
        return ""

    @property
    def required(self) -> str:
        return f"k ≥ {self.k}{self.over}"

    @property
    def against(self) -> str:
        return BY_FEW_COLUMNS if self.of_some_columns else PROSECUTOR

    @property
    def fewest_people(self) -> int:
        return 1 if self.of_some_columns else self.k

    @property
    def by_size_alone(self) -> bool:
        return not self.of_some_columns

    def bounds(self, adversary: str) -> bool:
        """A journalist is weaker; a marketer is right as often as prosecutors are on average."""
        return adversary == BY_FEW_COLUMNS or (adversary in WHOSE_ROW and not self.of_some_columns)

    def seen(self, columns: Sequence[str]) -> list[tuple[str, ...]]:
        """The sets of a release's columns that k is asked of; those that are part of others are
        left out, for k holds there if it does in these."""
        if self.up_to is not None:
            size = min(self.up_to, len(columns))
            if comb(len(columns), size) > MOST_SETS:
                raise ResourceError(
                    f"{self.name}: {len(columns)} columns have {comb(len(columns), size):,} sets "
                    f"of {size}, too many to count; ask for fewer columns at a time (at most "
                    f"{MOST_SETS:,} sets)"
                )
            return list(combinations(columns, size))
        self.check_columns(columns)
        return largest_sets(columns, [columns for _, columns in self._named])

    @property
    def _named(self) -> list[tuple[str, Sequence[str]]]:
        """Each set that is named, and the key that names it."""
        if self.columns is not None:
            return [("columns", self.columns)]
        return [("sets", names) for names in self.sets or ()]

    def check_columns(self, quasi: Sequence[str]) -> None:
        for key, name in ((key, name) for key, names in self._named for name in names):
            if name not in quasi:
                raise PolicyError(
                    f"{self.name}: {key} names {name!r}, which is no quasi-identifier; "
                    f"{did_you_mean(name, quasi)}"
                )

    def adversaries(self, release: Release) -> Iterator[Asked]:
        groups = release.indistinguishable
        if self.of_some_columns and not self.inapplicable(groups):
            assert groups.regions is not None
            yield Asked(FewColumns(tuple(self.seen(groups.regions.columns))), groups)

    def bind(self, counts: TableCounts) -> Criterion:
        if not self.of_some_columns:
            return super().bind(counts)
        self.seen([domain.name for domain in counts.quasi])
        return Together(self, KAnonymity(self.k))

    def inapplicable(self, groups: Groups) -> str:
        reason = super().inapplicable(groups)
        if reason or not self.of_some_columns:
            return reason
        if groups.regions is None:
            return "the groups do not publish what they show in each column"
        if groups.several is not None and not groups.several.listed:
            return "people are in several groups, and who they are is not known"
        return ""

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        people = groups.sizes
        if self.of_some_columns:
            assert groups.regions is not None
            people = fewest_alike(groups, self.seen(groups.regions.columns))
        return summarize(groups, people, "at_least"), people >= self.k

    def count_rules(self, everybody: Groups) -> Sequence[CountRule] | None:
        return None if self.of_some_columns else [fewest(self.k)]


def _names(given: object) -> bool:
    """Whether it is a list of one or more names."""
    listed = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    return listed and all(isinstance(name, str) for name in given)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class AlphaK(GroupCriterion):
    """Every group has at least k people and no value is had by more than a share alpha of them.

    Defined for several values per person too: the share is of people, not of occurrences. Of a bag
    of multisets nobody can tell how many people have a value that occurs twice: it is then known as
    at most so many.
    """

    name: ClassVar[str] = "alpha-k-anonymity"
    plain: ClassVar[str] = "at least {0.k} people look alike, {0.alpha:.0%} at most by one value"
    adversary: ClassVar[str] = RANDOM_WORLDS
    of_several: ClassVar[bool] = True
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("alpha", SHARES), Ladder("k", PEOPLE))

    alpha: float
    """The largest share of a group who may have the same value, above 0 and at most 1. Example:
    `alpha = 0.5`.
    """
    k: int
    """How many people every group has at least, 1 or more. Example: `k = 5`."""

    def __post_init__(self) -> None:
        parameter(self.name, "alpha", self.alpha, above=0, most=1)
        parameter(self.name, "k", self.k, whole=True, least=1)

    @property
    def required(self) -> str:
        return f"alpha ≤ {shortest(self.alpha)}, k ≥ {self.k}"

    @property
    def fewest_people(self) -> int:
        return self.k

    def inapplicable(self, groups: Groups) -> str:
        reason = super().inapplicable(groups)
        return "" if reason and groups.width and len(groups) else reason

    def readings(self, groups: Groups) -> tuple[Groups, ...]:
        """Of rows published one by one the share of rows, and that of people who have it."""
        rows = groups.beside.unlinked
        having = None if rows is None else rows.having(groups.sizes)
        return super().readings(groups) if rows is None or having is None else (rows.by_row, having)

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        if not release.regions.exact:
            return self.verdict(groups)
        shares = replace(self, k=1).verdict(groups)
        people = KAnonymity(self.k).verdict(release.indistinguishable)
        if shares.measured is None or people.measured is None:
            return replace(shares, required=self.required)
        smallest = f"at least {people.measured:g} people share exact quasi-identifiers; {EXACT}"
        notes = (shares.note, "" if people.holds else people.note, smallest)
        return replace(
            shares,
            status="holds" if shares.holds and people.holds else "violated",
            required=self.required,
            note="; ".join(filter(None, notes)),
        )

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        alpha = fraction(self.alpha)
        having = np.minimum(groups.max_of(groups.having), groups.sizes)
        share = having / groups.sizes
        share, fine = decide(
            groups,
            share,
            self.alpha,
            "at_most",
            lambda g: sign(int(having[g]) - alpha * int(groups.sizes[g])),
        )
        holds = fine & (groups.sizes >= self.k)
        parts = {"smallest group": float(groups.sizes.min())}
        loose = groups.case == "multiset" and not groups.linked
        return summarize(groups, share, "at_most", parts, having > 1 if loose else None), holds

    def count_rules(self, everybody: Groups) -> Sequence[CountRule]:
        return [fewest(self.k), largest_shares(np.full(everybody.width, self.alpha))]

    def tightened(self, share: float, everybody: Groups) -> Self:
        most = float((everybody.largest / everybody.sizes).max(initial=0.0))
        return replace(self, alpha=self.alpha - (1 - share) * max(self.alpha - most, 0.0))
