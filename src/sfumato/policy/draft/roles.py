"""The roles of all columns: what each said alone, and what they single out together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.counts.scan import MANY_ROWS
from sfumato.errors import InputError
from sfumato.policy.draft.fit import Fit, fit_quasi, fit_sensitive
from sfumato.policy.draft.guess import Guess, are_codes, guess
from sfumato.policy.draft.patterns import is_code
from sfumato.policy.draft.person import (
    Several,
    between_rows,
    count_rows_instead,
    find_person,
    leave_out,
)
from sfumato.policy.draft.profile import Profile
from sfumato.policy.draft.sample import Sample
from sfumato.policy.draft.uniqueness import (
    TOLD_ROWS,
    Chosen,
    Measured,
    Probe,
    choose,
    measure,
    probe,
)
from sfumato.policy.toml_values import toml_value

MOST_QUASI = 15
MOST_MEASURED = 12  # columns without a telling name are not added beyond these
MOST_SENSITIVE = 6
_COMPARED = 40  # known columns searched for others that follow from them
_FINE = 50  # categories from which a coarser column that follows is preferred


@dataclass(frozen=True)
class Roles:
    """Every column once: judged ones with the hierarchy that fits, the others with a reason."""

    quasi: dict[str, tuple[Guess, Fit]]
    sensitive: dict[str, tuple[Guess, Fit]]
    others: dict[str, Guess]
    chosen: Chosen
    measured: Measured
    several: frozenset[str] = frozenset()  # columns of which a person may have several values
    rows_each: int = 1  # rows that may be one person's, where rows are counted all the same

    def having(self, role: str) -> list[Guess]:
        return [found for found in self.others.values() if found.role == role]

    @property
    def person(self) -> str | None:
        return next((found.name for found in self.having("person")), None)


def decide(sample: Sample, profiles: Sequence[Profile]) -> Roles:
    """Guess every column's role."""
    guesses = {column.name: guess(column) for column in profiles}
    find_person(sample, guesses)
    _enough_sensitive(guesses, sample)
    known = [name for name, found in guesses.items() if found.role == "known"]
    others = [name for name, found in guesses.items() if found.role == "candidate"]
    if not known and not others:
        others = _resort(guesses, sample)
    several = _one_look_each(sample, guesses, known, others)
    person = next((g.profile.place for g in guesses.values() if g.role == "person"), None)
    found = probe(sample, {n: guesses[n].profile.place for n in [*known, *others]}, person)
    _drop_followers(guesses, found, known, others)
    if len(known) > MOST_QUASI:
        for name in known[MOST_QUASI:]:
            why = f"outsiders may know it, but beyond {MOST_QUASI} such columns no detail survives"
            guesses[name] = replace(guesses[name], role="none", why=why)
        known = known[:MOST_QUASI]
    chosen = choose(found, known, others, max(MOST_MEASURED, len(known)))
    places = {name: guesses[name].profile.place for name in chosen.columns}
    return Roles(
        quasi={
            name: (found, fit_quasi(found.profile))
            for name, found in guesses.items()
            if name in chosen.columns
        },
        sensitive={
            name: (found, fit_sensitive(found.profile))
            for name, found in guesses.items()
            if found.role == "sensitive" and name not in chosen.columns
        },
        others={
            name: found
            for name, found in guesses.items()
            if name not in chosen.columns and found.role != "sensitive"
        },
        chosen=chosen,
        measured=measure(probe(sample, places, person, TOLD_ROWS), chosen),
        several=frozenset(several.differing) if several and person is not None else frozenset(),
        rows_each=several.most_rows if several and person is None else 1,
    )


def _one_look_each(
    sample: Sample, guesses: dict[str, Guess], known: list[str], others: list[str]
) -> Several | None:
    """People who are counted once must look the same on all their rows: what differs is left out.

    Where that is everything, rows are counted, so many more that they are people enough.
    """
    person = next((found for found in guesses.values() if found.role == "person"), None)
    if person is None:
        return None
    sensitive = [name for name, found in guesses.items() if found.role == "sensitive"]
    single = [name for name in sensitive if guesses[name].profile.what != "list"]
    several = between_rows(sample, person.profile, [*known, *others, *single])
    if several.differing.keys() >= {*known, *others}:
        count_rows_instead(guesses, person, several)
        return several
    known[:] = leave_out(guesses, person, several, known)
    others[:] = leave_out(guesses, person, several, others)
    return several


def _enough_sensitive(guesses: dict[str, Guess], sample: Sample) -> None:
    found = [g for g in guesses.values() if g.role == "sensitive"]
    person = any(g.role == "person" for g in guesses.values())
    for one in found:
        if one.profile.what == "list" and (person or sample.rows >= MANY_ROWS):
            # The audit could not combine lists with these.
            why = "a list, which can be judged only in a smaller table without a person column"
            guesses[one.name] = Guess(one.profile, "none", why, f"{why}; unnest it to rows")
    found = [g for g in guesses.values() if g.role == "sensitive"]
    for one in found[MOST_SENSITIVE:]:
        why = f"{one.why}; {MOST_SENSITIVE} sensitive columns are enough to begin with"
        guesses[one.name] = Guess(one.profile, "none", why, f"{one.why}: is it needed too?")


def _resort(guesses: dict[str, Guess], sample: Sample) -> list[str]:
    """A policy needs a quasi-identifier: what to fall back on when no column suggests itself."""
    for roles in (("none",), ("sensitive",), ("weight", "count", "identifiers", "person")):
        usable = [
            g
            for g in guesses.values()
            if g.role in roles and g.profile.what not in ("unusable", "list")
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
    guesses: dict[str, Guess], measured: Probe, known: list[str], others: list[str]
) -> None:
    """Of two columns of which one follows from the other, one is enough.

    A city beside its zip code would give away the digits that a mask hides.
    """
    for one in known[:_COMPARED]:
        for other in [*known, *others]:
            if other == one or one not in known or other not in [*known, *others]:
                continue
            if not measured.determines(one, other):
                continue
            finer = _prefers_coarser(guesses, measured, one, other) and other in known
            gone, stays = (one, other) if finer else (other, one)
            spelt = toml_value(stays)
            why = (
                f"a finer form of {spelt}"
                if finer
                else f"follows from {spelt}, whose coarsening it would undo"
            )
            guesses[gone] = Guess(guesses[gone].profile, "none", why)
            (known if gone in known else others).remove(gone)


def _prefers_coarser(guesses: dict[str, Guess], measured: Probe, one: str, other: str) -> bool:
    """Whether of a column and one that follows from it the latter is the better to publish."""
    fine = guesses[one].profile
    if measured.determines(other, one):  # the same in other words: prefer words to numbers
        return fine.what == "numeric" and guesses[other].profile.what == "text"
    coded = fine.what == "text" or are_codes(fine)
    return coded and not is_code(fine.texts) and fine.distinct > _FINE
