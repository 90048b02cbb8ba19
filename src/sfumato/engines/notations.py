"""How dates and numbers are written in texts, how an engine reads them, and what was said of it.

Notations of the world alone: what the cells of a table are is decided in `cell_forms`.
"""

from __future__ import annotations

import codecs
import datetime as dt
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sfumato.engines.base import literal
from sfumato.errors import InputError, quoted

ALL_COLUMNS = "*"  # in place of a column's name: all of them
ORDERS = ("DMY", "MDY", "YMD")
CENTURY = 100
_PARTS = {
    "%d": r"\d{1,2}",
    "%m": r"\d{1,2}",
    "%Y": r"\d{4}",
    "%y": r"\d{2}",
    "%H": r"\d{1,2}",
    "%I": r"\d{1,2}",
    "%M": r"\d{2}",
    "%S": r"\d{2}",
    "%f": r"\d{1,6}",
    "%p": r"(?i:[AP]M)",
    "%b": r"(?i:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)",
    "%B": r"(?i:January|February|March|April|May|June|July|August|September|October|November|"
    r"December)",
}
_DIRECTIVE = re.compile(r"%-?[A-Za-z%]")
_NUMERIC_DATE = re.compile(
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})"
    r"(?:([ T])(\d{1,2}):\d{2}(:\d{2}(\.\d{1,6})?)?( ?[AaPp][Mm])?)?"
)
_NAMED_DATE = re.compile(
    r"(?:(\d{1,2})([ ./-]?)([A-Za-z]{3,9})\2(\d{4}|\d{2})|([A-Za-z]{3,9}) (\d{1,2}), (\d{4}))"
)
_MAY_BE_DATE = re.compile(r"\d{1,4}[ ./-]?(\d{1,2}|[A-Za-z]{3,9})[ ./-]?\d+.*|[A-Za-z]{3,9} \d.*")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?Z?)?")

_SPACE = " \u00a0\u202f\u2009"
_CURRENCY = (
    r"(?:US\$|R\$|[$€£¥₹₽₺₩₪]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF|"
    r"kr\.?|zł|Kč|Ft|Fr\.)"
)
PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_THREES = re.compile(r"-?[1-9]\d{0,2}(\.\d{3})?")
_ANY_NUMBER = re.compile(rf"[^\w]*{_CURRENCY}?[^\w]*\d.*")
_GROUPS = {".": (",", f"[{_SPACE}]", "['’]"), ",": (r"\.", f"[{_SPACE}]", "['’]")}


_NO_TEXT = ("unicode", "raw", "idna", "punycode", "utf-7", "utf_7", "undefined", "mbcs", "oem")


def check_encoding(name: str) -> None:
    """Refuse what is no encoding of texts."""
    try:
        codec = codecs.lookup(name)
        known = codec._is_text_encoding and not codec.name.startswith(_NO_TEXT)
        "a".encode(codec.name)
    except (LookupError, ValueError, TypeError):
        known = False
    if not known:
        raise InputError(
            f"encoding {quoted(name)} is not known; use one such as 'utf-8', 'latin-1', 'cp1252', "
            "'cp1250', 'utf-16', 'shift_jis' or 'gb18030'"
        )


@dataclass(frozen=True)
class StatedForms:
    """What was said of how cells are written, by column or of all of them (`ALL_COLUMNS`).

    `exact`: that is all there is to know, and nothing else is looked for.
    """

    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dates: Mapping[str, str] = field(default_factory=dict)
    first_year: int | None = None
    decimal: str | None = None
    decimals: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    exact: bool = False

    def marks(self, column: str) -> tuple[str, ...]:
        """What stands for no value in a column."""
        codes = self.codes.get(column, ())
        marks = (*self.missing.get(column, ()), *self.missing.get(ALL_COLUMNS, ()))
        return tuple(mark for mark in marks if mark not in codes)

    def dates_of(self, column: str) -> str | None:
        return self.dates.get(column, self.dates.get(ALL_COLUMNS))


# -- dates -----------------------------------------------------------------------------------------


def check_date_form(form: str) -> None:
    """Refuse what says nothing of how dates are written."""
    if form in ORDERS:
        return
    parts = [part.replace("-", "") for part in _DIRECTIVE.findall(form)]
    bare = form.replace("%-", "%")
    needed = {"%d": ("%d",), "%m": ("%m", "%b", "%B"), "%Y": ("%Y", "%y")}
    complete = all(sum(parts.count(part) for part in any_of) == 1 for any_of in needed.values())
    if not complete or any(part not in _PARTS for part in parts) or len(set(parts)) < len(parts):
        raise InputError(
            f"dates {form!r} is no way of writing dates; use DMY, MDY or YMD, or a pattern such as "
            "'%d.%m.%Y', '%m/%d/%Y' or '%Y/%m/%d %H:%M' (also %y, %b, %B, %S, %f, %I, %p)"
        )
    if ("%p" in bare) != ("%I" in bare):
        raise InputError(f"dates {form!r}: %I and %p (2 PM) go together; use %H for 14")


@dataclass(frozen=True)
class DateForm:
    """A pattern as of strftime; years of two digits are of the hundred from `first_year` on."""

    pattern: str
    first_year: int | None = None

    @property
    def two_digits(self) -> bool:
        return "%y" in self.pattern

    @property
    def has_time(self) -> bool:
        return "%H" in self._bare or "%I" in self._bare

    @property
    def order(self) -> str:
        """Which comes first: day, month or year."""
        named = re.sub("%[bB]", "%m", self._bare)
        return "".join(part[1].upper() for part in re.findall("%[dmYy]", named))

    @property
    def _bare(self) -> str:
        return self.pattern.replace("%-", "%")

    def _regex(self, pattern: str) -> str:
        texts = _DIRECTIVE.split(pattern)
        parts = [_PARTS[part] for part in _DIRECTIVE.findall(pattern)]
        made = [re.escape(texts[0])]
        for part, text in zip(parts, texts[1:], strict=True):
            made += [part, re.escape(text)]
        return "".join(made)

    def fits(self, text: str) -> bool:
        """Whether a text has the shape of such a date; the engine decides if there is that day."""
        return re.fullmatch(self._regex(self._bare), text) is not None

    def read(self, text: str) -> str | None:
        """The same as text, of a text that tells such a moment; None of another."""
        if not self.fits(text) or (self.two_digits and self.first_year is None):
            return None
        bare = self._bare
        if self.two_digits and self.first_year is not None:
            before, after = (self._regex(part) for part in bare.split("%y"))
            shape = re.fullmatch(f"({before})(\\d{{2}})({after})", text)
            assert shape is not None  # it fits
            year = self.first_year + (int(shape[2]) - self.first_year) % CENTURY
            text, bare = f"{shape[1]}{year}{shape[3]}", bare.replace("%y", "%Y")
        try:
            moment = dt.datetime.strptime(text, bare)
        except ValueError:
            return None
        time = f" {moment:%H:%M:%S}" if self.has_time else ""
        finer = f".{moment:%f}" if "%f" in bare else ""
        return f"{moment.date().isoformat()}{time}{finer}"

    def moment(self, cell: str) -> str:
        """SQL expression: the moment a cell tells, NULL where it tells none."""
        shape, text, pattern = self._regex(self._bare), cell, self._bare
        if self.two_digits and self.first_year is not None:
            before, after = (self._regex(part) for part in pattern.split("%y"))
            whole = literal(f"({before})(\\d{{2}})({after})")
            first = self.first_year
            year = (
                f"{first} + (CAST(regexp_extract({cell}, {whole}, 2) AS INT) "
                f"- {first % CENTURY} + {CENTURY}) % {CENTURY}"
            )
            text = (
                f"regexp_extract({cell}, {whole}, 1) || CAST({year} AS VARCHAR) || "
                f"regexp_extract({cell}, {whole}, 3)"
            )
            pattern = pattern.replace("%y", "%Y")
        parsed = f"try_strptime({text}, {literal(pattern)})"
        return f"CASE WHEN regexp_full_match({cell}, {literal(shape)}) THEN {parsed} END"

    def iso(self, cell: str) -> str:
        """SQL expression: the same as text."""
        time = " %H:%M:%S" if self.has_time else ""
        finer = ".%f" if "%f" in self.pattern else ""
        return f"strftime({self.moment(cell)}, '%Y-%m-%d{time}{finer}')"


def is_iso(texts: Sequence[str]) -> bool:
    """Whether these texts are written like 2023-12-31, which everybody reads."""
    return all(map(_ISO.fullmatch, texts))


def date_forms(texts: Sequence[str]) -> list[DateForm]:
    """The ways in which all these texts are dates, but for 2023-12-31, which everybody reads."""
    if not texts or not _MAY_BE_DATE.fullmatch(texts[0]) or is_iso(texts):
        return []
    named = [_named(text) for text in texts]
    if None not in named:
        # May is short and long.
        without_may = [
            notation
            for notation, text in zip(named, texts, strict=True)
            if "may" not in text.lower()
        ]
        forms = [DateForm(pattern) for pattern in {*(without_may or named)} if pattern]
    else:
        shapes = [_NUMERIC_DATE.fullmatch(text) for text in texts]
        matches = [shape for shape in shapes if shape is not None]
        if len(matches) < len(shapes):
            return []
        forms = _numeric_forms(matches)
    return [form for form in forms if all(map(form.fits, texts))]


def are_days(texts: Sequence[str]) -> bool:
    """Whether each of these texts is a day of the calendar, whatever way each is written."""

    def is_day(text: str, pattern: str) -> bool:
        try:
            dt.datetime.strptime(text, pattern)
        except ValueError:
            return False
        return True

    return all(
        _ISO.fullmatch(text) or any(is_day(text, form._bare) for form in date_forms([text]))
        for text in texts
    )


def _named(text: str) -> str | None:
    match = _NAMED_DATE.fullmatch(text)
    if match is None:
        return None
    name = "%b" if len(match[3] or match[5]) == 3 else "%B"
    if match[5]:
        return f"{name} %d, %Y"
    return f"%d{match[2]}{name}{match[2]}{'%Y' if len(match[4]) == 4 else '%y'}"


def _numeric_forms(shapes: Sequence[re.Match[str]]) -> list[DateForm]:
    first = shapes[0]
    lengths = [(len(shape[1]), len(shape[4])) for shape in shapes]
    if any(
        (shape[2], shape[5], shape[7] is None, shape[8] is None, shape[9] is None)
        != (first[2], first[5], first[7] is None, first[8] is None, first[9] is None)
        for shape in shapes
    ):
        return []
    if all(year == 4 and last <= 2 for year, last in lengths):
        orders, year, places = ["YMD"], "%Y", (3, 4)
    elif all(day <= 2 and year == 4 for day, year in lengths):
        orders, year, places = ["DMY", "MDY"], "%Y", (1, 3)
    elif all(first_digits <= 2 and last_digits == 2 for first_digits, last_digits in lengths):
        orders, year, places = ["DMY", "MDY", "YMD"], "%y", (1, 3)
    else:
        return []
    bare = "-" if any(len(shape[place]) == 1 for shape in shapes for place in places) else ""
    parts = {"D": f"%{bare}d", "M": f"%{bare}m", "Y": year}
    time = ""
    if first[5]:
        half = first[9] is not None
        short = "-" if any(len(shape[6]) == 1 for shape in shapes) else ""
        time = f"{first[5]}%{short}{'I' if half else 'H'}:%M"
        time += (":%S" if first[7] else "") + (".%f" if first[8] else "")
        time += (" %p" if first[9].startswith(" ") else "%p") if half else ""
    return [DateForm(first[2].join(parts[part] for part in order) + time) for order in orders]


# -- numbers ---------------------------------------------------------------------------------------


def _number_regex(decimal: str, group: str) -> str:
    """Numbers with this decimal sign, in threes or not, with a currency or not; not 007."""
    number = rf"(?:0|[1-9]\d*|[1-9]\d{{0,2}}(?:{group}\d{{3}})+)(?:{re.escape(decimal)}\d+)?"
    number += r"(?:[eE][+-]?\d+)?"
    # A space only beside a currency: " 3" beside "3" is one thing written in two ways.
    around = rf"(?:{_CURRENCY}[{_SPACE}]?)?[+\-−]?{number}(?:[{_SPACE}]?{_CURRENCY})?"
    return rf"(?:[+\-−]?{around}|\({around}\))"


@functools.cache
def number_regex(decimal: str) -> str:
    """Numbers with this decimal sign."""
    return "(?:" + "|".join(_number_regex(decimal, group) for group in _GROUPS[decimal]) + ")"


def plain_number(cell: str, decimal: str) -> str:
    """SQL expression: such a number as 1234.5."""
    kept = f"regexp_replace({cell}, {literal(_CURRENCY)}, '', 'g')"
    gone = f"()'’{_SPACE}" + ("," if decimal == "." else ".")
    # What has no counterpart is left out.
    plain = f"translate({kept}, {literal('−,' + gone if decimal == ',' else '−' + gone)}, "
    plain += "'-.')" if decimal == "," else "'-')"
    return f"CASE WHEN {cell} LIKE '(%' THEN '-' || {plain} ELSE {plain} END"


def number_text(text: str, decimal: str) -> str:
    """The same of a text."""
    plain = re.sub(_CURRENCY, "", text)
    gone = f"()'’{_SPACE}" + ("," if decimal == "." else ".")
    signs = {"−": "-", ",": "."} if decimal == "," else {"−": "-"}
    plain = plain.translate(str.maketrans({**dict.fromkeys(gone), **signs}))
    return f"-{plain}" if text.startswith("(") else plain


def foreign_currency(cell: str, samples: Sequence[str]) -> str:
    """SQL condition: a cell names another currency than the first of some cells that names any."""
    names = (currency[0] for text in samples if (currency := re.search(_CURRENCY, text)))
    own_currency = f"regexp_extract({cell}, {literal(_CURRENCY)})"
    return f"{own_currency} NOT IN ('', {literal(next(names, ''))})"


def may_be_thousands(texts: Sequence[str]) -> bool:
    """Whether plain numbers would all be numbers in threes, too: 950 and 1.234."""
    return any("." in text for text in texts) and all(map(_THREES.fullmatch, texts))


def sure_sign(decimal: str) -> str:
    """A regular expression: where the sign can be no other than the decimal one."""
    sign, other_sign = re.escape(decimal), re.escape("." if decimal == "," else ",")
    return rf"{sign}\d{{1,2}}(?:\D|$)|{sign}\d{{4}}|{other_sign}\d{{3}}{sign}\d"


def decimals_of(texts: Sequence[str]) -> list[str]:
    """The decimal signs with which all these texts are numbers."""
    if not _ANY_NUMBER.fullmatch(texts[0]):
        return []
    shapes = {decimal: re.compile(number_regex(decimal)) for decimal in _GROUPS}
    return [decimal for decimal, shape in shapes.items() if all(map(shape.fullmatch, texts))]
