"""Whose rows are these: the column that names a person, by its name or by what its rows agree in.

Who has several rows is several people to whoever counts rows, and k is then worth less than it
says. A column whose values repeat is taken for the person when its name says so, or when rows that
share a value agree in what lasts (birth, sex, origin), as rows of one person do and rows of one
price do not. Until the owner answers, the draft counts by it: to count by a key that is coarser
than people, such as a household, errs to the safe side.

Stands apart: which column names the person is the question that decides every figure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sfumato.engines.base import named, select
from sfumato.errors import list_some
from sfumato.policy.draft.guess import NEARLY_ALL, RoleGuess, agreed_person
from sfumato.policy.draft.profile import TABLE, Profile, Sample
from sfumato.policy.toml_text import toml_value

_LASTING = ("birth", "sex", "origin", "name", "stature")
_PLACES = ("place", "zip code", "institution")
_FEWEST = 50  # values of a column that is taken for a key without its name saying so
_REPEATS = 0.1  # values per row below which such a column is a category
_SHARED = 20  # rows that must share a value with another before agreement can be told from chance
_AGREES = 0.8  # of what chance leaves open


@dataclass(frozen=True)
class Several:
    """What differs between the rows of one person: how many people that is, column by column."""

    differing: dict[str, int]
    people: int
    unlinked: bool = False  # and so rows are published one by one


def find_person(sample: Sample, guesses: dict[str, RoleGuess]) -> None:
    """Give one column the role `person` if any deserves it; the others stay identifiers."""
    keys = [guess for guess in guesses.values() if guess.role == "person"]
    keys.sort(key=lambda guess: guess.profile.says != "person")
    if not keys:
        candidates = [guess for guess in guesses.values() if _may_be_key(guess)]
        keys = [
            agreed_person(candidate.profile, agreeing)
            for candidate in candidates
            if (agreeing := _agreeing(sample, candidate.profile, guesses))
            and (candidate.profile.says != "household" or _one_body(guesses, agreeing))
        ]
        lasting = _lasting(guesses)
        if not keys and lasting:  # a number that could be a measure: all that lasts must agree
            keys = [
                agreed_person(guess.profile, agreeing)
                for guess in guesses.values()
                if _may_be_key(guess, "candidate")
                and len(agreeing := _agreeing(sample, guess.profile, guesses, known=True)) > 1
                and lasting - {guess.name} <= set(agreeing)
            ]
        if not keys and not lasting:  # nothing speaks against an id that repeats
            ids = [candidate for candidate in candidates if candidate.profile.says == "id"]
            keys = [agreed_person(candidate.profile, []) for candidate in ids]
        keys.sort(key=lambda guess: guess.profile.distinct)
    for key in keys[:1]:
        guesses[key.name] = key
    for key in keys[1:]:
        asked = f"does it name the person, rather than {toml_value(keys[0].name)}?"
        guesses[key.name] = replace(key, role="identifiers", question=asked)


def _one_body(guesses: dict[str, RoleGuess], agreeing: list[str]) -> bool:
    """Whether rows agree in what people of one household, of one name and origin, do not."""
    topics = [guesses[name].profile.topic for name in agreeing]
    return any(topic is not None and topic.name in ("birth", "sex") for topic in topics)


def _may_be_key(guess: RoleGuess, *roles: str) -> bool:
    column = guess.profile
    return (
        guess.role in (roles or ("identifiers", "none"))
        and column.says not in ("sensitive", "quasi")
        and (column.kind == "text" or column.integral)
        and column.missing == 0
        and column.distinct >= _FEWEST
        and _REPEATS <= column.share < NEARLY_ALL
    )


def _agreeing(
    sample: Sample, key: Profile, guesses: dict[str, RoleGuess], *, known: bool = False
) -> list[str]:
    """Columns in which rows that share a value of the key agree, far beyond chance.

    Those that last, if there are any; `known`: also others that an outsider may know, such as age.
    """
    candidates = [
        guess.profile
        for guess in guesses.values()
        if guess.role in ("known", "candidate", "identifiers")
        and guess.name != key.name
        and guess.profile.kind not in ("list", "unusable")
        and guess.profile.share < NEARLY_ALL
    ]
    lasting = _lasting(guesses)
    elsewhere = [
        candidate
        for candidate in candidates
        if not (candidate.topic and candidate.topic.name in _PLACES)
    ]
    if known:
        lasting |= {profile.name for profile in elsewhere if guesses[profile.name].role == "known"}
    tested = (
        [profile for profile in candidates if profile.name in lasting] if lasting else elsewhere
    )
    return [profile.name for profile in tested if _agrees(sample, key, profile)]


def _lasting(guesses: dict[str, RoleGuess]) -> set[str]:
    """Columns that are the same on all rows of a person."""
    return {
        guess.name
        for guess in guesses.values()
        if guess.role in ("known", "identifiers")
        and guess.profile.topic is not None
        and guess.profile.topic.name in _LASTING
    }


def _agrees(sample: Sample, key: Profile, tested: Profile) -> bool:
    key_column, two = f"c{key.place}", f"c{tested.place}"
    rows = key.present + key.missing
    shared = rows - key.distinct
    chance = float(np.square(tested.counts / max(int(tested.counts.sum()), 1)).sum())
    if shared < _SHARED or chance > 1 - 1 / _SHARED:
        return False
    pairs = f"(SELECT {key_column}, {two} FROM {TABLE} GROUP BY {key_column}, {two}) AS pairs"
    pairs_counted = sample.engine.fetch(select([named("COUNT(*)", "n")], pairs))
    differing = (int(pairs_counted.column("n")[0].as_py()) - key.distinct) / shared
    return 1 - differing >= chance + _AGREES * (1 - chance)


def between_rows(sample: Sample, person: Profile, columns: Iterable[str]) -> Several:
    """Look at all rows of every person: in which columns do they differ, for how many people?"""
    listed = list(columns)
    if sample.one_in == 1:
        table, names = TABLE, [f"c{sample.columns.index(name)}" for name in listed]
        key = f"c{person.place}"
    else:
        table, names = sample.source.name, [sample.source.column(name) for name in listed]
        key = sample.source.column(person.name)
    differs = [
        named(
            f"CASE WHEN MIN({name}) <> MAX({name}) OR "
            f"(COUNT({name}) > 0 AND COUNT({name}) < COUNT(*)) THEN 1 ELSE 0 END",
            f"d{place}",
        )
        for place, name in enumerate(names)
    ]
    people = select(differs, table, group=[key])
    sums = [named(f"SUM(d{place})", f"s{place}") for place in range(len(names))]
    sums_fetched = sample.engine.fetch(
        select([*sums, named("COUNT(*)", "n")], f"({people}) AS people")
    )
    numbers = [int(column[0].as_py() or 0) for column in sums_fetched.columns]
    differing = {name: many for name, many in zip(listed, numbers, strict=False) if many}
    return Several(differing, numbers[-1])


def leave_out(guesses: dict[str, RoleGuess], several: Several, columns: list[str]) -> list[str]:
    """Columns that are the same on all rows of a person; the others lose their role, and say so."""
    for name in several.differing.keys() & {*columns}:
        why = (
            f"differs between the rows of one person ({several.differing[name]:,} of "
            f"{several.people:,} people): whoever is counted once must look the same once"
        )
        guesses[name] = RoleGuess(guesses[name].profile, "none", why)
    return [name for name in columns if name not in several.differing]


def keep_rows(
    guesses: dict[str, RoleGuess], person: RoleGuess, several: Several, columns: list[str]
) -> Several:
    """Rows that differ in what is known of people are published one by one, and that is asked."""
    names = [toml_value(name) for name in columns if name in several.differing]
    guesses[person.name] = replace(
        person,
        question=f"{person.question} Rows of one person differ in {list_some(names)}, so every "
        'row is published by itself (rows = "unlinked") and k counts different people; knows says '
        "how many of her rows somebody may know, all unless told. If readers must follow people "
        'through the file, say rows = "linked": a pseudonym tells whose rows they are, and k is '
        "about all rows of a person together",
    )
    return replace(several, unlinked=True)
