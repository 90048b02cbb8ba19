"""The one shape of adversaries, and Threat: the row of the threat matrix they all share.

An adversary is a frozen dataclass of what she knows. `attack` has her read a release, and what she
makes of it tells its `threats()`. Her `CatalogueEntry` is in the catalogue (`catalogue.py`), once:
audits, the threat matrix, `sfumato attack list` and the tables of the documentation go through
that.

What a release does to somebody is told by a belief before it and the belief after it, about the
same person and the same value. A belief *moves* by a factor: how many times larger it becomes, or
how many times smaller the doubt, whichever is more. A doubt below `NEARLY_SURE` counts as that
much, so that a base rate alarms nobody: of a value that 98 % have, 99 % is no news, nor is 100 %.
A fall is not counted: what one value loses another one gains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.numbers import Floats
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.release import Release

FACTOR = 2.0  # a belief that moved by more than this is a finding
NEARLY_SURE = 0.05  # less doubt than this is not told apart
LIKELY = 0.5  # "more likely than not" is where a guess becomes a finding
_EQUAL = 1e-9  # relative: the same quotient of counts, divided otherwise
_AT_ONCE = 1 << 20

MOST_COUNTS = 500_000  # stored counts; beyond, an audit would take noticeably longer
IN_IT = "the target's quasi-identifiers, and that the target is in the release"

ThreatStatus = Literal["measured", "not_measured", "not_applicable", "not_converged"]
Runs = Literal["by itself", "when shown", "when required", "on request"]


@dataclass(frozen=True)
class BeliefChange:
    """What she believes of one person before the release and after it.

    `value` is the sensitive value it is about; empty where it is about whose row it is. `at_most`:
    she believes this or less, it is not known to be reached.
    """

    before: float
    after: float
    value: str = ""
    at_most: bool = False

    @property
    def factor(self) -> float:
        return float(factors(np.array(self.before), np.array(self.after)))

    @property
    def in_short(self) -> str:
        """Where there is little room: 8.7% → ≤100% of a bound."""
        return f"{chance(self.before)} → {'≤' if self.at_most else ''}{chance(self.after)}"

    def __str__(self) -> str:
        return self.in_short.replace("≤", "at most ")


@dataclass(frozen=True)
class Threat:
    """What one adversary knows, what she would learn, about how many people, and how surely.

    `about` is the column she learns; None where she finds out whose row it is. `belief` is that
    about the person for whom it moves most (of equals the surest), None when not measured; for
    `people` it moved by more than `FACTOR`, each counted once, in however many groups she is: at
    most so many, where it is not known who is in several. `covered` names the criteria of the
    policy that bound her in this column; `status` says whether this was measured at all, and if
    not, why not is in `learns`. `of_row`: it is about the value of one row that a pseudonym links.
    `surest` is the belief that ends highest among those that moved so far, where there is one.
    """

    adversary: str
    knows: str
    learns: str
    about: str | None = None
    people: Headcount | None = None
    belief: BeliefChange | None = None
    covered: tuple[str, ...] = ()
    status: ThreatStatus = "measured"
    of_row: bool = False
    surest: BeliefChange | None = None


class Attack(Protocol):
    """What an adversary made of a release."""

    def threats(self) -> list[Threat]: ...


class Adversary(Protocol):
    """Somebody, by what she knows: a frozen dataclass.

    `attack` has her read a release. `groups` are those by the column she is after, by default the
    first sensitive one; who asks whose row it is needs none.
    """

    @property
    def name(self) -> str:
        """As threats name her."""

    def attack(self, release: Release, groups: Groups | None = None) -> Attack: ...


Counting = Literal["all", "added"]


class Asked(NamedTuple):
    """An adversary, and the groups she is asked about."""

    adversary: Adversary
    groups: Groups


@dataclass(frozen=True)
class KnownTogether:
    """At most a `share` of people may be known this surely by all releases together.

    `counting`: all who are known so well, or those a new release "added" to whom the earlier ones
    expose by themselves. `drop`: only those of whom all together leave at least so many values
    fewer than any one release does.
    """

    share: float = 0.0
    confidence: float = 1.0
    counting: Counting = "all"
    drop: int = 0


ALTERED = (
    "values were altered by chance, and who takes them for true errs; who undoes it is measured "
    "instead (mechanism reader)"
)


def _nobody(_groups: Groups) -> Iterable[Adversary]:
    return ()


def _always(_release: Release, _groups: Groups) -> str:
    return ""


@dataclass(frozen=True)
class CatalogueEntry:
    """One adversary of the catalogue: the one place that says who she is.

    Threats are hers if they are named `name`, or begin so: who expects something else is a variant
    of hers. `question` is what the people in the table would ask about her, in plain words that
    fit beside figures: reports name her by it. `knows` and `learns` tell of her where
    she was not measured, and `measure` how to have that done. `about` is what she learns where
    that is no column.

    `releases` she applies to: "exact" counts, "noisy" ones, "rows" that are published one by one
    though several are one person's, or any. `runs`: "by itself" in every
    audit, "when shown" only for a report that is shown (her code is slow to load), "when required"
    by a policy or given more than a release, "on request" by a command of her own. `stand_ins` are
    the adversaries of her kind who run on a column where no policy names one. `undefined` says why
    she can never be measured on some groups.

    `criteria` bound her, the one to suggest first; one that no release of ours can keep has none.
    `undoes_chance`: she, and nobody else, reads values that were altered by chance.
    """

    name: str
    question: str
    knows: str
    learns: str
    measure: str
    runs: Runs
    criteria: tuple[str, ...] = ()
    about: str | None = None
    releases: Literal["exact", "noisy", "rows", "any"] = "exact"
    stand_ins: Callable[[Groups], Iterable[Adversary]] = _nobody
    undefined: Callable[[Release, Groups], str] = _always
    undoes_chance: bool = False
    reads_several: bool = False  # True: of rows one by one she reads several of a person

    def unmeasurable(self, release: Release, groups: Groups) -> str:
        """Why she can never be measured on some groups; empty where she can."""
        if groups.beside.altered_by_chance and not self.undoes_chance:
            return ALTERED
        return self.undefined(release, groups)

    def applies(self, release: Release) -> bool:
        """Whether she can make anything of a release of this kind."""
        if self.undoes_chance:
            return any(groups.beside.altered_by_chance for groups in release.by_attribute.values())
        if self.of_noise_alone:
            return release.guarantee is not None
        if self.of_rows_alone:
            return release.groups.beside.unlinked is not None
        # Who reads noisy counts as if they were exact errs.
        return self.releases == "any" or not release.regions.noisy

    @property
    def of_noise_alone(self) -> bool:
        """Whether only a randomised release tells her anything."""
        return self.releases == "noisy"

    @property
    def of_rows_alone(self) -> bool:
        """Whether only a release of people's rows one by one tells her anything."""
        return self.releases == "rows"

    def owns(self, threat: str) -> bool:
        """Whether a threat of this name is hers, or a variant's of hers."""
        return threat == self.name or threat.startswith((f"{self.name} ", f"{self.name},"))


def factors(before: Floats, after: Floats) -> Floats:
    """By how much beliefs move: 1 where they stay or fall, infinite where nothing was believed."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        raised = np.where(after > 0, after / before, 1.0)
    cleared = np.maximum(1 - before, NEARLY_SURE) / np.maximum(1 - after, NEARLY_SURE)
    factor: Floats = np.maximum(np.maximum(raised, cleared), 1.0)
    return factor


def moved(before: Floats, after: Floats) -> npt.NDArray[np.bool_]:
    """Which beliefs move by more than `FACTOR`."""
    far: npt.NDArray[np.bool_] = factors(before, after) > FACTOR * (1 + _EQUAL)
    return far


class Moves:
    """Moves of beliefs, gathered block by block: whom they concern, and those that say most.

    Nothing in it depends on the order in which people or groups are seen.
    """

    def __init__(self, groups: Groups, values: Sequence[str] | None = None) -> None:
        """`values`: those that are believed in, by default the ones that the groups count."""
        self.groups = groups
        self.values = groups.values if values is None else values
        self.moved, self.likely, self.certain = (np.zeros(len(groups), dtype=bool) for _ in "mlc")
        self.worst: BeliefChange | None = None
        self.surest: BeliefChange | None = None
        self.surest_moved: BeliefChange | None = None

    def see_counts(self, before: Floats, after: Floats) -> None:
        """Beliefs about each stored count: of everybody in its group, in its value."""
        groups = self.groups
        for start in range(0, len(groups.data), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            self.see(groups.row[part], groups.indices[part], before[part], after[part])

    def see(
        self, rows: npt.NDArray[Any], codes: npt.NDArray[Any], before: Floats, after: Floats
    ) -> None:
        """Beliefs of everybody in a group, in a value."""
        far = moved(before, after)
        self.moved[rows[far]] = True
        self.likely[rows[far & (after > LIKELY)]] = True
        self.certain[rows[far & (after == 1)]] = True
        values = self.values
        self.worst = farther(self.worst, farthest(before, after, codes, values))
        self.surest = _surer(self.surest, _first(after, before, after, codes, values))
        surest_moved = _first(after[far], before[far], after[far], codes[far], values)
        self.surest_moved = _surer(self.surest_moved, surest_moved)

    def unknown(self, chosen: npt.NDArray[np.bool_]) -> None:
        """Groups of which there is no saying what she believed: nobody there is shown safe."""
        self.moved |= chosen

    @property
    def people(self) -> Headcount:
        return self.groups.headcount(self.moved)

    @property
    def words(self) -> str:
        """In words, for a table."""
        groups = self.groups
        words = (
            f"moved more than {FACTOR:g} times for {self.people} people (more likely than not of "
            f"{groups.headcount(self.likely)}, for sure of {groups.headcount(self.certain)})"
        )
        if self.worst is None or self.surest is None:
            return words
        words += f"; most for {self.worst.value!r}, {self.worst}"
        if self.surest.after > self.worst.after * (1 + _EQUAL):
            words += f"; surest of {self.surest.value!r}, {self.surest}"
        return words


def farthest(
    before: Floats, after: Floats, codes: npt.NDArray[Any], labels: Sequence[str]
) -> BeliefChange | None:
    """The belief that moves most; of equals the surest, then the one that was least likely."""
    return _first(factors(before, after), before, after, codes, labels)


def _first(
    key: Floats, before: Floats, after: Floats, codes: npt.NDArray[Any], labels: Sequence[str]
) -> BeliefChange | None:
    """The largest by a key; of equals by belief, then by what was believed before, then by name."""
    if not len(key):
        return None
    chosen = np.flatnonzero(_largest(key))
    chosen = chosen[_largest(after[chosen])]
    chosen = chosen[before[chosen] <= before[chosen].min() * (1 + _EQUAL)]
    named = np.unique(codes[chosen], return_index=True)
    place = min(
        zip(*(part.tolist() for part in named), strict=True),
        key=lambda code_and_place: labels[code_and_place[0]],
    )
    where = chosen[place[1]]
    return BeliefChange(float(before[where]), float(after[where]), labels[place[0]])


def _largest(numbers: Floats) -> npt.NDArray[np.bool_]:
    largest: npt.NDArray[np.bool_] = numbers >= numbers.max() * (1 - _EQUAL)
    return largest


def farther(first: BeliefChange | None, second: BeliefChange | None) -> BeliefChange | None:
    """The one that `farthest` would take of both."""
    return _preferred(first, second, lambda belief: belief.factor)


def _surer(first: BeliefChange | None, second: BeliefChange | None) -> BeliefChange | None:
    return _preferred(first, second, lambda belief: belief.after)


def _preferred(
    first: BeliefChange | None, second: BeliefChange | None, key: Callable[[BeliefChange], float]
) -> BeliefChange | None:
    if first is None or second is None:
        return first or second
    for of_first, of_second in (
        (key(first), key(second)),
        (first.after, second.after),
        (second.before, first.before),
    ):
        if of_first != of_second and not math.isclose(of_first, of_second, rel_tol=_EQUAL):
            return first if of_first > of_second else second
    return min(first, second, key=lambda belief: belief.value)


def chance(p: float) -> str:
    """A belief as one reads it: 36%, with more digits only near 0 and 1."""
    if p in (0, 1):
        return f"{p:.0%}"
    digits = 0
    while digits < 9 and min(p, 1 - p) * 10 ** (digits + 2) < 9.5:
        digits += 1
    percent = f"{p:.{digits}%}"
    return f"{percent[:-1].rstrip('0').rstrip('.')}%" if digits else percent
