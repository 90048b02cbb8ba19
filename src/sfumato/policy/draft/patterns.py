"""What a column's values look like: patterns of things that name a person directly.

Each test takes one text. A column is of a kind when most of a sample of its values pass; checksums
(Luhn for cards, mod 97 for IBAN) keep arbitrary digits from being taken for a card.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


_WITH_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_NO_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)")


def decimal_comma(values: Sequence[str]) -> bool | None:
    """Whether the numbers have a decimal comma; None when 1,234 may be a thousand."""
    with_comma = [v for v in values if _WITH_COMMA.fullmatch(v) or _THOUSANDS.fullmatch(v)]
    rest = sum(_NO_COMMA.fullmatch(value) is not None for value in values)
    if not with_comma or len(with_comma) + rest < 0.8 * len(values):
        return False
    return True if any(not _THOUSANDS.fullmatch(value) for value in with_comma) else None
