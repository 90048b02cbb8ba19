"""The role of one column, guessed from its name and its values, with the reason in words.

What a single column cannot tell, whether it singles people out together with others, is measured
in `uniqueness.py`; here such columns become candidates. Where in doubt a column gets no role, and
so is not published: the owner loses a column until she decides, nobody loses his privacy.

What a column's values look like is told by patterns of things that name a person directly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sfumato.engines.notations import date_forms, decimals_of, is_iso
from sfumato.policy.draft.profile import Profile
from sfumato.policy.draft.words import OFFICIAL, counts_something
from sfumato.policy.toml_text import toml_value
from sfumato.release.handed_out import LONG, CellSizes

# What a column's values look like: patterns of things that name a person directly.
#
# Each test takes one text. A column is of a kind when most of a sample of its values pass;
# checksums (Luhn for cards, mod 97 for IBAN) keep arbitrary digits from being taken for a card.

_MAIL = re.compile(r"[^@\s,;]+@[^@\s,;]+\.[A-Za-z]{2,}")
_URL = re.compile(r"(https?://|www\.)\S+", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
_IPV4 = re.compile(r"(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}")
_CARD = re.compile(r"\d{4}([ -]?)\d{4}\1\d{4}\1\d{1,7}|3\d{3}([ -]?)\d{6}\2\d{5}")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_PHONE = re.compile(r"(\+|00?|\()[\d\s()/.-]{7,}\d|\d{3}[-. ]\d{3}[-. ]\d{4}")
_DATE_LIKE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T].*)?")
_PERSON_NAME = re.compile(
    r"[^\W\d_][\w'’-]+,? (?:[^\W\d_]\.? )?(?:(?:von|van|de|der|da|di) )*[^\W\d_][\w'’-]+"
)
_OFFICIAL = re.compile(
    r"\d{3}-\d{2}-\d{4}"  # United States: social security
    r"|[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"  # United Kingdom: NINO
    r"|\d{2} ?[0-3]\d[01]\d\d{2} ?[A-Z] ?\d{3}"  # Germany: Rentenversicherungsnummer
    r"|756\.\d{4}\.\d{4}\.\d{2}"  # Switzerland: AHV
    r"|[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"  # Italy: codice fiscale
    r"|[12] ?\d{2} ?[01]\d ?\d{2} ?\d{3} ?\d{3} ?\d{2}"  # France: NIR
    r"|\d{3}\.\d{3}\.\d{3}-\d{2}"  # Brazil: CPF
)


def luhn(text: str) -> bool:
    """The check digit of payment cards."""
    digits = [int(c) for c in reversed(text) if c.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[1::2]]
    return bool(digits) and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _card(text: str) -> bool:
    return _CARD.fullmatch(text) is not None and luhn(text)


def _iban(text: str) -> bool:
    packed = text.replace(" ", "").upper()
    if _IBAN.fullmatch(packed) is None:
        return False
    return int("".join(str(int(c, 36)) for c in packed[4:] + packed[:4])) % 97 == 1


def _phone(text: str) -> bool:
    if _PHONE.fullmatch(text) is None or _DATE_LIKE.fullmatch(text):
        return False
    return 9 <= sum(c.isdigit() for c in text) <= 15


def _name(text: str) -> bool:
    return _PERSON_NAME.fullmatch(text) is not None and all(
        word[0].isupper() for word in (text.split()[0], text.split()[-1])
    )


@dataclass(frozen=True)
class Pattern:
    """A kind of identifying value: the share of values that must pass, and of distinct ones.

    `distinct` guards the weak patterns: twelve districts called "New Town" are not names.
    """

    name: str
    passes: Callable[[str], bool]
    share: float
    distinct: float = 0.0
    official: bool = False  # given to one person each


PATTERNS: tuple[Pattern, ...] = (
    Pattern("mail addresses", lambda text: _MAIL.fullmatch(text) is not None, 0.2),
    Pattern("IBANs", _iban, 0.2),
    Pattern("card numbers (Luhn)", _card, 0.6),
    Pattern(
        "social security numbers",
        lambda text: _OFFICIAL.fullmatch(text) is not None,
        0.6,
        official=True,
    ),
    Pattern("UUIDs", lambda text: _UUID.fullmatch(text) is not None, 0.6),
    Pattern("IP addresses", lambda text: _IPV4.fullmatch(text) is not None, 0.6),
    Pattern("web addresses", lambda text: _URL.fullmatch(text) is not None, 0.6, 0.1),
    Pattern("phone numbers", _phone, 0.6, 0.1),
    Pattern("names of people", _name, 0.8, 0.5),
)


def pattern_of(values: Sequence[str], distinct_share: float) -> Pattern | None:
    """The first pattern most of the values have; `distinct_share` is that of the whole column."""
    texts = [value.strip() for value in values]
    if not texts:
        return None
    for pattern in PATTERNS:
        if distinct_share < pattern.distinct:
            continue
        if sum(map(pattern.passes, texts)) >= pattern.share * len(texts):
            return pattern
    return None


def is_code(values: Sequence[str]) -> bool:
    """Digits (and capitals, - or .) of one length, 4 to 12: a code whose tail may be masked."""
    lengths = {len(value) for value in values}
    if len(lengths) != 1 or not 4 <= min(lengths) <= 12:
        return False
    return all(re.fullmatch(r"[A-Z0-9.-]*\d[A-Z0-9.-]*", value) for value in values)


def is_key(values: Sequence[str]) -> bool:
    """Nothing but digits, all of one length."""
    return len({len(value) for value in values}) == 1 and all(v.isdigit() for v in values)


_AMOUNT = re.compile(
    r"\(?[+-]?(?:[$€£¥]|USD|EUR|GBP|CHF)? ?[+-]?\d{1,3}(?:[.,' ]?\d{3})*(?:[.,]\d{1,2})?"
    r" ?(?:[$€£¥]|USD|EUR|GBP|CHF)?\)?"
)


def are_amounts(values: Sequence[str]) -> bool:
    """Sums of money: numbers with a currency, or in groups of three digits with a fraction."""
    signs = re.compile(r"[$€£¥]|USD|EUR|GBP|CHF|\d[.,' ]\d{3}[.,]\d|\d[.,]\d\d$")
    return bool(values) and all(_AMOUNT.fullmatch(v) and signs.search(v) for v in values)


def is_foreign_date(values: Sequence[str]) -> bool:
    """Dates that are not written 2024-05-31."""
    dotted = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}( .*)?|\d{4}[./]\d{1,2}[./]\d{1,2}( .*)?")
    return bool(values) and all(dotted.fullmatch(value) for value in values)


Role = Literal[
    "identifiers", "person", "sensitive", "weight", "count", "known", "candidate", "none"
]

PHONES = "phone numbers"
UNIQUE = 0.95  # distinct values per row from which a column names its row
NEARLY_ALL = 0.999  # from which it names nothing but its row
SEVERAL_ROWS = 10  # below, every column looks unique
FREE_TEXT_ASKED = "free text, in which anything may stand: left out"
_SHARED_BY = 0.05  # values per row from which a number is a household's: twenty people at most
MANY = 60  # more categories than these cannot be listed, nor told apart by a reader
_CODED_TOPICS = {"sex", "place", "origin", "marital status", "education", "work", "institution"}


MISSING_MARKS = frozenset(
    {"?", "-", ".", "NA", "N/A", "n/a", "na", "null", "NULL", "nan", "NaN", "#N/A"}
)


FOREIGN_DATES = (
    "dates that are not all written one way can only be suppressed whole; correct them, or list "
    "what stands for no value in missing, and what is a value of its own in codes"
)


def missing_marks(profiles: Sequence[Profile]) -> dict[str, list[str]]:
    """The columns of text with marks that stand for no value, where most cells are none of them."""
    marked = {}
    for profile in profiles:
        counts = dict(zip(profile.values, profile.counts.tolist(), strict=True))
        marks = [value for value in counts if isinstance(value, str)]
        marks = [value for value in marks if value.strip() in MISSING_MARKS]
        few = 2 * sum(counts[mark] for mark in marks) < profile.present
        if marks and few and profile.kind == "text":
            marked[profile.name] = sorted({mark.strip() for mark in marks})
    return marked


_MOST_CODES = 5  # different words among the numbers of a column that may be its codes
_CODE_ROWS = 3  # rows that each of them has at least: what one person has may be a slip of the pen


def special_codes(profiles: Sequence[Profile]) -> dict[str, list[str]]:
    """The columns of numbers or dates with a few words among them, each in several rows."""
    coded = {}
    for profile in profiles:
        if profile.kind != "text":
            continue
        texts = [str(value).strip() for value in profile.values]
        rows = list(zip(texts, profile.counts.tolist(), strict=True))
        words = sorted({text for text in texts if not any(map(str.isdigit, text))})
        figures = sorted({*texts} - {*words})
        common = all(n >= _CODE_ROWS for text, n in rows if text in words)
        few = 0 < len(words) <= _MOST_CODES and len(figures) >= max(3, len(words))
        if few and common and _on_a_scale(figures):
            coded[profile.name] = words
    return coded


def _on_a_scale(texts: Sequence[str]) -> bool:
    """Whether all are numbers, or all dates, in some way of writing them."""
    padded = any(re.match(r"[+-]?0\d", text) for text in texts)  # 01301 is no number
    return is_iso(texts) or bool(date_forms(texts)) or bool(not padded and decimals_of(texts))


@dataclass(frozen=True)
class RoleGuess:
    """A role, why, and the question it leaves (empty when there is none)."""

    profile: Profile
    role: Role
    why: str
    question: str = ""

    @property
    def name(self) -> str:
        return self.profile.name


def are_codes(column: Profile) -> bool:
    """Whole numbers that stand for categories: race 3 does not lie between races 2 and 4."""
    if not column.integral or counts_something(column.name):
        return False
    topic = column.topic.name if column.topic else ""
    if topic in _CODED_TOPICS:
        return True
    return column.distinct <= 12 and topic not in ("age", "birth")


def guess(column: Profile) -> RoleGuess:
    """The role of a column looked at alone."""
    for rule in (_says_nothing, _names_directly, _numbers_people, _unique, _sensitive, _known):
        decided = rule(column)
        if decided is not None:
            return decided
    return _rest(column)


def _says_nothing(column: Profile) -> RoleGuess | None:
    if column.kind == "unusable":
        return RoleGuess(column, "none", "its type can be no category, number or date")
    if column.present == 0:
        return RoleGuess(column, "none", "it is empty")
    if column.distinct == 1 and column.missing == 0:
        return RoleGuess(column, "none", "it has the same value in every row")
    return None


def _names_directly(column: Profile) -> RoleGuess | None:
    """Mail addresses, cards, names, ...: by values, or by name if the values may be such."""
    tested = column.kind == "text" or (column.integral and column.longest >= 9)
    pattern = pattern_of(column.texts, column.share) if tested and not column.mixed else None
    if column.kind != "list" and (_names_people(column) or (pattern and pattern.official)):
        decided = _id(column)
        if decided is not None:
            return decided
    if pattern is not None and not (pattern.name == PHONES and _is_a_key(column)):
        return RoleGuess(column, "identifiers", f"its values look like {pattern.name}")
    flag = column.kind == "boolean" or column.distinct <= 3
    if column.says == "identifier" and column.topic and not flag and column.kind != "list":
        return RoleGuess(column, "identifiers", f"its name says {column.topic.name}")
    return None


def _names_people(column: Profile) -> bool:
    return column.topic is not None and (column.says == "person" or column.topic.name == OFFICIAL)


def _is_a_key(column: Profile) -> bool:
    """Digits of one length: a number somebody was given, unless the name says it can be dialled."""
    return is_key(column.texts) and not (column.topic and column.says == "identifier")


def _numbers_people(column: Profile) -> RoleGuess | None:
    """Columns about rows and people rather than about what a person is like."""
    if column.kind in ("list", "boolean", "date"):
        return None
    if column.says in ("person", "id"):
        return _id(column)
    if column.says == "household":
        return _household(column)
    numeric = column.kind == "numeric" and column.distinct > 2 and column.numbers[0] >= 0
    if column.says == "weight" and numeric:
        return RoleGuess(
            column,
            "weight",
            "a survey weight by its name: the people of the population a record stands for",
            "a survey weight? Then say weight = ... (one column). Published it is only with "
            'publish_weight = "group", as the mean of each group',
        )
    if column.says == "count" and numeric and column.integral:
        return RoleGuess(
            column,
            "count",
            "by its name the number of people a row stands for",
            "does a row stand for that many people? Then say count = ..., or k is wrong",
        )
    return None


def _id(column: Profile) -> RoleGuess | None:
    if column.share >= NEARLY_ALL or (column.says == "id" and column.share >= UNIQUE):
        return RoleGuess(column, "identifiers", "an id: nearly every row has its own")
    if column.distinct <= 10 or column.share < 0.0005 or column.kind in ("boolean", "date"):
        return None  # few values name no person
    if column.says == "id":
        return RoleGuess(
            column, "identifiers", f"an id that repeats: {rows_each(column)}", _REPEATS
        )
    if column.topic and column.topic.bare and column.distinct <= MANY:
        return None  # subjects taught, clients served: categories
    if column.missing:
        asked = f"{_REPEATS}; {column.missing:,} rows lack it, so the draft counts rows"
        return RoleGuess(column, "identifiers", f"an id that repeats: {rows_each(column)}", asked)
    why = f"names the person: {rows_each(column)}, so rows are not people"
    return RoleGuess(column, "person", why, asked_person(column))


def _household(column: Profile) -> RoleGuess | None:
    """A number that the people of a household share; None where it tells of them, as a size does.

    Sizes and kinds of families are few, and each is had by many rows.
    """
    few = column.distinct <= SEVERAL_ROWS and (counts_something(column.name) or _bare(column))
    if column.share < _SHARED_BY or few or column.distinct < 2:
        return None
    if column.share >= NEARLY_ALL:
        return RoleGuess(column, "identifiers", "an id: nearly every row has its own")
    return RoleGuess(
        column,
        "identifiers",
        f"names the household: {rows_each(column)}",
        f"does it name a household, whose people share it ({rows_each(column)})? Whoever finds one "
        "of them finds the others, so it is not published, and k counts people; say household = "
        f"{toml_value(column.name)} to have that risk told. If it names the person, say person = "
        "...; if it tells something about people, list it in quasi.",
    )


def _bare(column: Profile) -> bool:
    return column.topic is not None and column.topic.bare


_REPEATS = (
    "an id that repeats: if it names a person, say person = ... (no row may lack it), since "
    "several rows of one person are not several people"
)


def rows_each(column: Profile) -> str:
    return f"each value stands in {1 / column.share:.3g} rows on average"


def asked_person(column: Profile) -> str:
    return (
        f"does it name the person? Its values repeat ({rows_each(column)}), so until you answer k "
        "counts its values, not rows. If it does not, list it in identifiers and strike out person."
    )


def agreed_person(column: Profile, agreeing: list[str]) -> RoleGuess:
    """A column whose name says little, but whose rows agree as those of one person do."""
    listed = ", ".join(toml_value(name) for name in agreeing)
    why = f"may name the person: {rows_each(column)}"
    if agreeing:
        why += f", and they agree in {listed}"
    return RoleGuess(column, "person", why, asked_person(column))


def is_free_text(column: Profile) -> bool:
    """Sentences that were written for one person, by the same measure as an audit's."""
    if column.kind != "text":
        return False
    words = sum(text.count(" ") + 1 for text in column.texts) / max(len(column.texts), 1)
    alone = int((column.counts == 1).sum())
    sizes = CellSizes(column.present, column.distinct, alone, words, column.longest)
    return sizes.is_free_text or (column.longest > LONG and column.distinct > 20)


def _unique(column: Profile) -> RoleGuess | None:
    if is_free_text(column):
        return RoleGuess(column, "none", "free text, in which anything may stand", FREE_TEXT_ASKED)
    if (
        column.share < UNIQUE
        or column.present < SEVERAL_ROWS
        or column.says in ("sensitive", "quasi")
    ):
        return None
    if column.kind == "text" and are_amounts(column.texts):
        return RoleGuess(
            column,
            "none",
            "amounts, which are read as text: most rows have their own value",
            "amounts that are read as text: written as plain numbers they could be cut into ranges",
        )
    if column.kind == "text":
        return RoleGuess(column, "identifiers", "nearly every row has its own value")
    if counts_something(column.name):
        return None
    if column.integral and column.present >= 2 * SEVERAL_ROWS:
        return RoleGuess(
            column,
            "identifiers",
            "whole numbers, nearly every row has its own",
            "a number of the row, or a measurement? It is dropped as if the former",
        )
    return None


def _sensitive(column: Profile) -> RoleGuess | None:
    if column.says != "sensitive" or column.topic is None or column.kind == "date":
        return None
    why = f"by its name about {column.topic.name}"
    if column.mixed and column.distinct > MANY:
        return RoleGuess(
            column,
            "none",
            f"{why}, but mixes numbers with text in {column.mixed:,} rows",
            f"{why}, but some rows hold text among numbers, so it cannot be cut into ranges: name "
            "the text in codes or missing of [read], then list it as sensitive",
        )
    few = column.distinct <= 2 * MANY or column.share <= 0.1
    if column.kind in ("numeric", "boolean", "list") or few:
        asked = f"is it what nobody may learn? Guessed from the name: {column.topic.name}"
        return RoleGuess(column, "sensitive", why, asked)
    return RoleGuess(
        column,
        "none",
        f"{why}, but with {column.distinct:,} different values",
        f"{why}, but nearly free text: group its values, then list it as sensitive",
    )


def _known(column: Profile) -> RoleGuess | None:
    """What neighbours, employers or registers know about a person."""
    if column.kind == "list":
        return None
    if column.kind == "date":
        return RoleGuess(column, "known", "a date")
    if column.kind == "text" and is_foreign_date(column.texts):
        return RoleGuess(
            column,
            "known",
            "a date",
            FOREIGN_DATES,
        )
    if column.says in ("quasi", "household") and column.topic:
        return RoleGuess(column, "known", column.topic.name)
    return None


def _rest(column: Profile) -> RoleGuess:
    if column.kind == "list":
        return RoleGuess(column, "none", "a list", "a list of values: sensitive? It is left out")
    few = column.distinct <= 20
    if column.kind == "text" and not few and (column.share > 0.2 or column.distinct > 1000):
        return RoleGuess(
            column, "none", f"{column.distinct:,} different texts, of which its name says nothing"
        )
    if column.kind == "numeric" and not few and column.share > 0.5:
        return RoleGuess(
            column,
            "none",
            "a measurement: most rows have their own value. As sensitive it would be judged in "
            "ranges: give it a hierarchy and a level in [schema.levels]",
        )
    return RoleGuess(column, "candidate", "")
