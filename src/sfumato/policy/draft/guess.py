"""The role of one column, guessed from its name and its values, with the reason in words.

What a single column cannot tell, whether it singles people out together with others, is measured
in `uniqueness.py`; here such columns become candidates. Where in doubt a column gets no role, and
so is not published: the owner loses a column until she decides, nobody loses his privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfumato.policy.draft.patterns import are_amounts, is_foreign_date, is_key, pattern_of
from sfumato.policy.draft.profile import Profile
from sfumato.policy.draft.words import OFFICIAL, counts_something
from sfumato.policy.toml_values import toml_value

Role = Literal[
    "identifiers", "person", "sensitive", "weight", "count", "known", "candidate", "none"
]

PHONES = "phone numbers"
UNIQUE = 0.95  # distinct values per row from which a column names its row
NEARLY_ALL = 0.999  # from which it names nothing but its row
SEVERAL_ROWS = 10  # below, every column looks unique
FREE_TEXT = 60  # characters
MANY = 60  # more categories than these cannot be listed, nor told apart by a reader
_CODED_TOPICS = {"sex", "place", "origin", "marital status", "education", "work", "institution"}


MISSING_MARKS = frozenset(
    {"?", "-", ".", "NA", "N/A", "n/a", "na", "null", "NULL", "nan", "NaN", "#N/A"}
)


@dataclass(frozen=True)
class Guess:
    """A role, why, and the question it leaves (empty when there is none)."""

    profile: Profile
    role: Role
    why: str
    question: str = ""

    @property
    def name(self) -> str:
        return self.profile.name


def are_codes(found: Profile) -> bool:
    """Whole numbers that stand for categories: race 3 does not lie between races 2 and 4."""
    if not found.integral or counts_something(found.name):
        return False
    topic = found.topic.name if found.topic else ""
    if topic in _CODED_TOPICS:
        return True
    return found.distinct <= 12 and topic not in ("age", "birth")


def guess(found: Profile) -> Guess:
    """The role of a column looked at alone."""
    for rule in (_says_nothing, _names_directly, _numbers_people, _unique, _sensitive, _known):
        decided = rule(found)
        if decided is not None:
            return decided
    return _rest(found)


def _says_nothing(found: Profile) -> Guess | None:
    if found.what == "unusable":
        return Guess(found, "none", "its type can be no category, number or date")
    if found.present == 0:
        return Guess(found, "none", "it is empty")
    if found.distinct == 1 and found.missing == 0:
        return Guess(found, "none", "it has the same value in every row")
    return None


def _names_directly(found: Profile) -> Guess | None:
    """Mail addresses, cards, names, ...: by values, or by name if the values may be such."""
    tested = found.what == "text" or (found.integral and found.longest >= 9)
    pattern = pattern_of(found.texts, found.share) if tested and not found.mixed else None
    if found.what != "list" and (_names_people(found) or (pattern and pattern.official)):
        decided = _id(found)
        if decided is not None:
            return decided
    if pattern is not None and not (pattern.name == PHONES and _is_a_key(found)):
        return Guess(found, "identifiers", f"its values look like {pattern.name}")
    flag = found.what == "boolean" or found.distinct <= 3
    if found.says == "identifier" and found.topic and not flag and found.what != "list":
        return Guess(found, "identifiers", f"its name says {found.topic.name}")
    return None


def _names_people(found: Profile) -> bool:
    return found.topic is not None and (found.says == "person" or found.topic.name == OFFICIAL)


def _is_a_key(found: Profile) -> bool:
    """Digits of one length: a number somebody was given, unless the name says it can be dialled."""
    return is_key(found.texts) and not (found.topic and found.says == "identifier")


def _numbers_people(found: Profile) -> Guess | None:
    """Columns about rows and people rather than about what a person is like."""
    if found.what in ("list", "boolean", "date"):
        return None
    if found.says in ("person", "id"):
        return _id(found)
    numeric = found.what == "numeric" and found.distinct > 2 and float(found.values[0]) >= 0
    if found.says == "weight" and numeric:
        return Guess(
            found,
            "weight",
            "a survey weight by its name: the people of the population a record stands for",
            "a survey weight? Then say weight = ... (one column); it is never published",
        )
    if found.says == "count" and numeric and found.integral:
        return Guess(
            found,
            "count",
            "by its name the number of people a row stands for",
            "does a row stand for that many people? Then say count = ..., or k is wrong",
        )
    return None


def _id(found: Profile) -> Guess | None:
    if found.share >= NEARLY_ALL or (found.says == "id" and found.share >= UNIQUE):
        return Guess(found, "identifiers", "an id: nearly every row has its own")
    if found.distinct <= 10 or found.share < 0.0005 or found.what in ("boolean", "date"):
        return None  # few values name no person
    if found.says == "id":
        return Guess(found, "identifiers", f"an id that repeats: {rows_each(found)}", _REPEATS)
    if found.topic and found.topic.bare and found.distinct <= MANY:
        return None  # subjects taught, clients served: categories
    if found.missing:
        asked = f"{_REPEATS}; {found.missing:,} rows lack it, so the draft counts rows"
        return Guess(found, "identifiers", f"an id that repeats: {rows_each(found)}", asked)
    why = f"names the person: {rows_each(found)}, so rows are not people"
    return Guess(found, "person", why, asked_person(found))


_REPEATS = (
    "an id that repeats: if it names a person, say person = ... (no row may lack it), since "
    "several rows of one person are not several people"
)


def rows_each(found: Profile) -> str:
    return f"each value stands in {1 / found.share:.3g} rows on average"


def asked_person(found: Profile) -> str:
    return (
        f"does it name the person? Its values repeat ({rows_each(found)}), so until you answer k "
        "counts its values, not rows. If it does not, list it in identifiers and strike out person."
    )


def agreed_person(found: Profile, agreeing: list[str]) -> Guess:
    """A column whose name says little, but whose rows agree as those of one person do."""
    listed = ", ".join(toml_value(name) for name in agreeing)
    why = f"may name the person: {rows_each(found)}"
    if agreeing:
        why += f", and they agree in {listed}"
    return Guess(found, "person", why, asked_person(found))


def _unique(found: Profile) -> Guess | None:
    if found.what == "text" and found.longest > FREE_TEXT and found.distinct > 20:
        return Guess(found, "none", "free text, which may name people", "free text: left out")
    if found.share < UNIQUE or found.present < SEVERAL_ROWS or found.says in ("sensitive", "quasi"):
        return None
    if found.what == "text" and are_amounts(found.texts):
        return Guess(
            found,
            "none",
            "amounts, which are read as text: most rows have their own value",
            "amounts that are read as text: written as plain numbers they could be cut into ranges",
        )
    if found.what == "text":
        return Guess(found, "identifiers", "nearly every row has its own value")
    if counts_something(found.name):
        return None
    if found.integral and found.present >= 2 * SEVERAL_ROWS:
        return Guess(
            found,
            "identifiers",
            "whole numbers, nearly every row has its own",
            "a number of the row, or a measurement? It is dropped as if the former",
        )
    return None


def _sensitive(found: Profile) -> Guess | None:
    if found.says != "sensitive" or found.topic is None or found.what == "date":
        return None
    why = f"by its name about {found.topic.name}"
    if found.mixed and found.distinct > MANY:
        return Guess(
            found,
            "none",
            f"{why}, but mixes numbers with text in {found.mixed:,} rows",
            f"{why}, but some rows hold text among numbers, so it cannot be cut into ranges: leave "
            "those cells empty, then list it as sensitive",
        )
    few = found.distinct <= 2 * MANY or found.share <= 0.1
    if found.what in ("numeric", "boolean", "list") or few:
        asked = f"is it what nobody may learn? Guessed from the name: {found.topic.name}"
        return Guess(found, "sensitive", why, asked)
    return Guess(
        found,
        "none",
        f"{why}, but with {found.distinct:,} different values",
        f"{why}, but nearly free text: group its values, then list it as sensitive",
    )


def _known(found: Profile) -> Guess | None:
    """What neighbours, employers or registers know about a person."""
    if found.what == "list":
        return None
    if found.what == "date":
        return Guess(found, "known", "a date")
    if found.what == "text" and is_foreign_date(found.texts):
        return Guess(
            found,
            "known",
            "a date",
            "dates that are not written 2024-05-31 can only be suppressed whole; rewrite them",
        )
    if found.says == "quasi" and found.topic:
        return Guess(found, "known", found.topic.name)
    return None


def _rest(found: Profile) -> Guess:
    if found.what == "list":
        return Guess(found, "none", "a list", "a list of values: sensitive? It is left out")
    few = found.distinct <= 20
    if found.what == "text" and not few and (found.share > 0.2 or found.distinct > 1000):
        return Guess(
            found, "none", f"{found.distinct:,} different texts, of which its name says nothing"
        )
    if found.what == "numeric" and not few and found.share > 0.5:
        return Guess(
            found,
            "none",
            "a measurement: most rows have their own value. As sensitive it would be judged in "
            "ranges: give it a hierarchy and a level in [schema.levels]",
        )
    return Guess(found, "candidate", "")
