"""The roles of all columns: what each said alone, and what they single out together.

Which columns single people out together is measured (`Probe`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.counts.scan import MANY_ROWS
from sfumato.engines.base import named
from sfumato.errors import InputError
from sfumato.numbers import Ints
from sfumato.policy.draft.bounds import Fit, fit_quasi, fit_sensitive
from sfumato.policy.draft.by_rules import DraftRules
from sfumato.policy.draft.guess import RoleGuess, are_codes, guess, is_code
from sfumato.policy.draft.person import (
    Several,
    between_rows,
    find_person,
    keep_rows,
    leave_out,
)
from sfumato.policy.draft.profile import Profile, Sample
from sfumato.policy.toml_text import toml_value

# Which columns single people out together: measured, not guessed.
#
# A person is singled out by columns when nobody else has her combination of values. The columns
# whose names say that outsiders know them are taken first; of the others, greedily, the one that
# singles out most further people (as long as nobody is, the one that splits them into most groups),
# until none adds enough or nearly everybody is unique. What turns out to add nothing is left out.

ROWS = 50_000  # people among whom columns are chosen; fewer if there are very many columns
TOLD_ROWS = 1_000_000  # people among whom the chosen ones are measured
GAIN = 0.01  # a column that singles out fewer further people is left alone
ENOUGH = 0.95  # beyond it, what further columns would add cannot be seen
STARTED = 0.05  # as long as fewer people are unique, a column may add none and still be a step
_PAIRED = 12  # columns whose pairs are measured


@dataclass(frozen=True)
class Probe:
    """Codes of some columns for some people, and how many people each row stands for."""

    codes: dict[str, Ints]
    n: Ints
    one_in: int

    @property
    def people(self) -> int:
        return int(self.n.sum())

    @cached_property
    def _keys(self) -> dict[str, npt.NDArray[np.uint64]]:
        """Each code as a fixed random number: their sum is a combination's key (Zobrist 1970).

        Two of 50,000 combinations share a key by chance once in ten billion tables.
        """
        rng = np.random.default_rng(0)
        return {
            name: rng.integers(0, 1 << 64, int(codes.max(initial=0)) + 1, np.uint64)[codes]
            for name, codes in self.codes.items()
        }

    def unique(self, columns: Sequence[str]) -> float:
        """The share of people whose combination of values nobody else has."""
        return self._alone(self._sum(columns))[0]

    def gains(self, columns: Sequence[str], more: Sequence[str]) -> dict[str, tuple[float, int]]:
        """With each further column added: the share of unique people, and the number of groups."""
        before = self._sum(columns)
        return {name: self._alone(before + self._keys[name]) for name in more}

    def _sum(self, columns: Sequence[str]) -> npt.NDArray[np.uint64]:
        total = np.zeros(len(self.n), dtype=np.uint64)
        for name in columns:
            total += self._keys[name]  # wraps around, as it should
        return total

    def _alone(self, key: npt.NDArray[np.uint64]) -> tuple[float, int]:
        # A row that stands for several people stands twice: nobody in it is alone.
        ordered = np.sort(np.concatenate([key, key[self.n > 1]]))
        new = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]])
        return int((new[1:] & new[:-1]).sum()) / max(self.people, 1), int(new[:-1].sum())

    def determines(self, column: str, other: str) -> bool:
        """Whether whoever knows `column` knows `other`: not by chance, but through five rows or
        more of each value, and although `other` varies.
        """
        finer, coarser = self.codes[column], self.codes[other]
        size = int(finer.max(initial=0)) + 1
        commonest = np.bincount(coarser, weights=self.n).max(initial=0)
        if 5 * size > self.people or commonest > 0.95 * self.people:
            return False
        first = np.zeros(size, dtype=np.int64)
        first[finer] = coarser
        return bool((first[finer] == coarser).all())


@dataclass(frozen=True)
class Chosen:
    """The columns that single people out."""

    columns: tuple[str, ...]
    measured: frozenset[str]  # taken for what they add, not for their name
    pair: tuple[str, str] | None  # the two columns that single out most


@dataclass(frozen=True)
class Measured:
    """How far they do: shares of people nobody else is like."""

    unique: float
    without: dict[str, float]  # if a column were left out
    pair: float  # by the strongest pair alone
    one_in: int  # measured in this share of the rows


def probe(
    sample: Sample, columns: dict[str, int], person: int | None = None, rows: int = ROWS
) -> Probe:
    """Fetch codes of the columns (name to place); with `person`, one row a person."""
    most = min(rows, rows * 80 // max(len(columns), 1))
    kept = sample.rows // sample.one_in
    one_in = max(1, -(-kept // most))
    if person is None:
        listed = [named(f"c{place}", f"c{place}") for place in columns.values()]
        table = sample.fetch([*listed, "n"], group=[], one_in=one_in)
        n = table.column("n").to_numpy().astype(np.int64)
    else:
        # MIN makes one row of a person's several, the same on every run.
        listed = [named(f"MIN(c{place})", f"c{place}") for place in columns.values()]
        table = sample.fetch(listed, group=[f"c{person}"], one_in=one_in)
        n = np.ones(table.num_rows, dtype=np.int64)
    codes = {}
    for name, place in columns.items():
        encoded = table.column(f"c{place}").combine_chunks()
        encoded = encoded.dictionary_encode(null_encoding="encode")
        codes[name] = encoded.indices.to_numpy().astype(np.int64)
    return Probe(codes, n, one_in * sample.one_in)


def choose(probe: Probe, known: Sequence[str], candidates: Sequence[str], most: int) -> Chosen:
    """The known columns and those of the others that single out many further people."""
    columns, left = list(known), list(candidates)
    if not columns:  # a policy needs one quasi-identifier at least
        gains = probe.gains([], left)
        columns.append(max(left, key=lambda name: gains[name]))
        left.remove(columns[0])
    share, reachable = probe.unique(columns), probe.unique([*columns, *left])
    while left and len(columns) < most and share < ENOUGH and reachable - share >= GAIN:
        gains = probe.gains(columns, left)
        best = max(left, key=lambda name: gains[name])
        if gains[best][0] - share < GAIN and share >= STARTED:
            break
        columns.append(best)
        left.remove(best)
        share = gains[best][0]
    for name in [name for name in columns if name not in known]:
        rest = [column for column in columns if column != name]
        if rest and share - probe.unique(rest) < GAIN:
            columns, share = rest, probe.unique(rest)
    return Chosen(tuple(columns), frozenset(columns) - frozenset(known), _pair(probe, columns))


def measure(probe: Probe, chosen: Chosen) -> Measured:
    """How far the chosen columns single people out."""
    columns = chosen.columns
    return Measured(
        unique=probe.unique(columns),
        without={name: probe.unique([c for c in columns if c != name]) for name in columns},
        pair=probe.unique(chosen.pair) if chosen.pair else 0.0,
        one_in=probe.one_in,
    )


def _pair(probe: Probe, columns: Sequence[str]) -> tuple[str, str] | None:
    """The two columns that single out most people."""
    widest = sorted(columns, key=lambda name: -int(probe.codes[name].max(initial=0)))[:_PAIRED]
    return max(combinations(widest, 2), key=probe.unique, default=None)


MOST_QUASI = 15
MOST_MEASURED = 12  # columns without a telling name are not added beyond these
MOST_SENSITIVE = 6
_UNDATED = "of which hundred years its dates are nobody said, see above"
_COMPARED = 40  # known columns searched for others that follow from them
_FINE = 50  # categories from which a coarser column that follows is preferred


@dataclass(frozen=True)
class Roles:
    """Every column once: judged ones with the hierarchy that fits, the others with a reason."""

    quasi: dict[str, tuple[RoleGuess, Fit]]
    sensitive: dict[str, tuple[RoleGuess, Fit]]
    others: dict[str, RoleGuess]
    chosen: Chosen
    measured: Measured
    several: frozenset[str] = frozenset()  # columns of which a person may have several values
    unlinked: bool = False  # a person's rows differ in what is known, and are published one by one

    def having(self, role: str) -> list[RoleGuess]:
        return [guessed for guessed in self.others.values() if guessed.role == role]

    @property
    def person(self) -> str | None:
        return next((person.name for person in self.having("person")), None)


def decide(sample: Sample, profiles: Sequence[Profile], asked: DraftRules) -> Roles:
    """Guess every column's role; some a rule set leaves at home, or coarsens."""
    guesses = {column.name: guess(column) for column in profiles}
    asked.withhold(guesses)
    for name in sample.source.undated:
        guesses[name] = replace(guesses[name], role="none", why=_UNDATED, question="")
    find_person(sample, guesses)
    _enough_sensitive(guesses, sample)
    known = [name for name, guessed in guesses.items() if guessed.role == "known"]
    candidates = [name for name, guessed in guesses.items() if guessed.role == "candidate"]
    if not known and not candidates:
        candidates = _resort(guesses, sample)
    several = _one_look_each(sample, guesses, known, candidates)
    person = next((g.profile.place for g in guesses.values() if g.role == "person"), None)
    unlinked = several is not None and several.unlinked
    if several is not None and not unlinked:
        asked.withhold_several(guesses, several.differing)
    person = None if unlinked else person  # rows are told apart, not people by one of theirs
    probed = probe(sample, {n: guesses[n].profile.place for n in [*known, *candidates]}, person)
    _drop_followers(guesses, probed, known, candidates)
    if len(known) > MOST_QUASI:
        for name in known[MOST_QUASI:]:
            why = f"outsiders may know it, but beyond {MOST_QUASI} such columns no detail survives"
            guesses[name] = replace(guesses[name], role="none", why=why)
        known = known[:MOST_QUASI]
    chosen = choose(probed, known, candidates, max(MOST_MEASURED, len(known)))
    places = {name: guesses[name].profile.place for name in chosen.columns}
    return Roles(
        quasi={
            name: (guessed, asked.fit(guessed.profile, fit_quasi(guessed.profile)))
            for name, guessed in guesses.items()
            if name in chosen.columns
        },
        sensitive={
            name: (guessed, fit_sensitive(guessed.profile))
            for name, guessed in guesses.items()
            if guessed.role == "sensitive" and name not in chosen.columns
        },
        others={
            name: guessed
            for name, guessed in guesses.items()
            if name not in chosen.columns and guessed.role != "sensitive"
        },
        chosen=chosen,
        measured=measure(probe(sample, places, person, TOLD_ROWS), chosen),
        several=frozenset(several.differing) if several and not unlinked else frozenset(),
        unlinked=unlinked,
    )


def _one_look_each(
    sample: Sample, guesses: dict[str, RoleGuess], known: list[str], candidates: list[str]
) -> Several | None:
    """People who are counted once look the same on all their rows, or rows are kept one by one.

    What differs and is not known by its name is left out where all else is the same.
    """
    person = next((guessed for guessed in guesses.values() if guessed.role == "person"), None)
    if person is None:
        return None
    sensitive = [name for name, guessed in guesses.items() if guessed.role == "sensitive"]
    single = [name for name in sensitive if guesses[name].profile.kind != "list"]
    several = between_rows(sample, person.profile, [*known, *candidates, *single])
    differing = {*several.differing}
    if differing & {*known} or (candidates and not known and differing >= {*candidates}):
        return keep_rows(guesses, person, several, [*known, *candidates])
    candidates[:] = leave_out(guesses, several, candidates)
    return several


def _enough_sensitive(guesses: dict[str, RoleGuess], sample: Sample) -> None:
    sensitive = [g for g in guesses.values() if g.role == "sensitive"]
    person = any(g.role == "person" for g in guesses.values())
    for guessed in sensitive:
        if guessed.profile.kind == "list" and (person or sample.rows >= MANY_ROWS):
            # The audit could not combine lists with these.
            why = "a list, which can be judged only in a smaller table without a person column"
            guesses[guessed.name] = RoleGuess(
                guessed.profile, "none", why, f"{why}; unnest it to rows"
            )
    sensitive = [g for g in guesses.values() if g.role == "sensitive"]
    for guessed in sensitive[MOST_SENSITIVE:]:
        why = f"{guessed.why}; {MOST_SENSITIVE} sensitive columns are enough to begin with"
        guesses[guessed.name] = RoleGuess(
            guessed.profile, "none", why, f"{guessed.why}: is it needed too?"
        )


def _resort(guesses: dict[str, RoleGuess], sample: Sample) -> list[str]:
    """A policy needs a quasi-identifier: what to fall back on when no column suggests itself."""
    for roles in (("none",), ("sensitive",), ("weight", "count", "identifiers", "person")):
        usable = [
            g
            for g in guesses.values()
            if g.role in roles and g.profile.kind not in ("unusable", "list")
        ]
        if usable:
            best = max(usable, key=lambda g: g.profile.distinct)
            guesses[best.name] = replace(
                best,
                role="candidate",
                question=f"no column suggests itself as quasi-identifier, and a policy needs one: "
                f"this one ({best.why}) stands in; name the columns an outsider may know",
            )
            return [best.name]
    raise InputError(
        f"{sample.source.label} has no column that can be a category, number or date; convert one"
    )


def _drop_followers(
    guesses: dict[str, RoleGuess], measured: Probe, known: list[str], candidates: list[str]
) -> None:
    """Of two columns of which one follows from the other, one is enough.

    A city beside its zip code would give away the digits that a mask hides.
    """
    for column in known[:_COMPARED]:
        for other in [*known, *candidates]:
            if other == column or column not in known or other not in [*known, *candidates]:
                continue
            if not measured.determines(column, other):
                continue
            finer = _prefers_coarser(guesses, measured, column, other) and other in known
            gone, stays = (column, other) if finer else (other, column)
            spelt = toml_value(stays)
            why = (
                f"a finer form of {spelt}"
                if finer
                else f"follows from {spelt}, whose coarsening it would undo"
            )
            guesses[gone] = RoleGuess(guesses[gone].profile, "none", why)
            (known if gone in known else candidates).remove(gone)


def _prefers_coarser(
    guesses: dict[str, RoleGuess], measured: Probe, column: str, other: str
) -> bool:
    """Whether of a column and one that follows from it the latter is the better to publish."""
    fine = guesses[column].profile
    if measured.determines(other, column):  # the same in other words: prefer words to numbers
        return fine.kind == "numeric" and guesses[other].profile.kind == "text"
    coded = fine.kind == "text" or are_codes(fine)
    return coded and not is_code(fine.texts) and fine.distinct > _FINE
