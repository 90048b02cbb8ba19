"""How cells of text are written: marks for no value, dates, numbers with signs of their own.

What the first rows suggest is believed only if every cell of the column agrees, and only if nothing
else could be meant: 03/04/2023 is a day in March or in April, 1,234 a thousand or little more than
one, and 23 the end of some century. Such columns stay as they are, with a note (`Findings.doubts`),
until their owner says which it is. The engine then reads dates as 2023-12-31 and numbers as 1234.5,
so that nobody behind it meets another notation.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from sfumato.engines.base import Source, literal
from sfumato.errors import InputError

EVERY = "*"  # in place of a column's name: all of them
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
_SOME = 50  # cells that are looked at where the first rows have none
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ANY_NUMBER = re.compile(rf"[^\w]*{_CURRENCY}?[^\w]*\d.*")
_GROUPS = {".": (",", f"[{_SPACE}]", "['’]"), ",": (r"\.", f"[{_SPACE}]", "['’]")}


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


def date_forms(texts: Sequence[str]) -> list[DateForm]:
    """The ways in which all these texts are dates, but for 2023-12-31, which everybody reads."""
    if not texts or not _MAY_BE_DATE.fullmatch(texts[0]) or all(map(_ISO.fullmatch, texts)):
        return []
    named = [_named(text) for text in texts]
    if None not in named:
        # May is short and long.
        told = [one for one, text in zip(named, texts, strict=True) if "may" not in text.lower()]
        forms = [DateForm(pattern) for pattern in {*(told or named)} if pattern]
    else:
        shapes = [_NUMERIC_DATE.fullmatch(text) for text in texts]
        found = [shape for shape in shapes if shape is not None]
        if len(found) < len(shapes):
            return []
        forms = _numeric_forms(found)
    return [form for form in forms if all(map(form.fits, texts))]


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
    elif all(one <= 2 and other == 2 for one, other in lengths):
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
    around = rf"{_CURRENCY}?[{_SPACE}]?[+\-−]?{number}[{_SPACE}]?{_CURRENCY}?"
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


def _seen(decimal: str) -> str:
    """A regular expression: where the sign can be no other than the decimal one."""
    sign, other = re.escape(decimal), re.escape("." if decimal == "," else ",")
    return rf"{sign}\d{{1,2}}(?:\D|$)|{sign}\d{{4}}|{other}\d{{3}}{sign}\d"


def _decimals(texts: Sequence[str]) -> list[str]:
    """The decimal signs with which all these texts are numbers."""
    if not _ANY_NUMBER.fullmatch(texts[0]):
        return []
    shapes = {decimal: re.compile(number_regex(decimal)) for decimal in _GROUPS}
    return [decimal for decimal, shape in shapes.items() if all(map(shape.fullmatch, texts))]


# -- the cells of a table --------------------------------------------------------------------------


@dataclass(frozen=True)
class StatedForms:
    """What was said of how cells are written, by column or of all of them (`EVERY`)."""

    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dates: Mapping[str, str] = field(default_factory=dict)
    first_year: int | None = None
    decimal: str | None = None

    def marks(self, column: str) -> tuple[str, ...]:
        """What stands for no value in a column."""
        return (*self.missing.get(column, ()), *self.missing.get(EVERY, ()))

    def dates_of(self, column: str) -> str | None:
        return self.dates.get(column, self.dates.get(EVERY))


@dataclass(frozen=True)
class Findings:
    """What the cells of a table turned out to be.

    `cells` are SQL expressions by column, of those that are not taken as they stand; `doubts` say
    why a column was, although it holds dates or numbers.
    """

    cells: Mapping[str, str]
    dates: Mapping[str, DateForm]
    decimal: str | None
    doubts: Mapping[str, str]


Counted = Callable[[list[str]], Sequence[int]]  # SQL conditions to how many rows have each


@dataclass(frozen=True)
class Column:
    """A column of text on its way: its name, its cells in SQL, and some of them.

    One that is not `needed` may still tell which decimal sign the file has.
    """

    name: str
    cell: str
    some: Sequence[str]
    needed: bool = True


def is_string(kind: pa.DataType) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def as_written(
    source: Source,
    some: Mapping[str, Sequence[str]],
    needed: Collection[str] | None,
    stated: StatedForms,
    fetch: Callable[[str], pa.Table],
) -> tuple[Source, dict[str, str]]:
    """A source whose cells mean what they say, and these cells in SQL; none if it is that already.

    `some` are cells of the columns whose dates and numbers are looked at, as far as known.
    """
    if not (some or stated.missing):
        return source, {}
    cells = {
        name: with_marks(source.column(name), stated.marks(name), text=is_string(kind))
        for name, kind in source.types.items()
    }
    columns = []
    for name, texts in some.items():
        marks = stated.marks(name)
        known = [text for text in dict.fromkeys(texts) if not marks or text.strip() not in marks]
        wanted = needed is None or name in needed
        if not known and wanted:
            few = f"SELECT x FROM (SELECT {cells[name]} AS x FROM {source.name}) WHERE x <> ''"
            known = fetch(f"{few} LIMIT {_SOME}").column(0).to_pylist()
        columns.append(Column(name, cells[name], known, wanted))

    def counted(tests: list[str]) -> list[int]:
        listed = [f"COUNT(*) FILTER (WHERE {test})" for test in tests]
        counts = fetch(f"SELECT {', '.join(listed)} FROM {source.name}")
        return [column[0].as_py() for column in counts.columns]

    found = find_forms(columns, stated, counted, numbers=source.untyped)
    types = dict(source.types)
    meant = {**cells, **found.cells}
    if not source.untyped:
        for name, form in found.dates.items():
            kind = "TIMESTAMP" if form.has_time else "DATE"
            meant[name] = f"CAST({form.moment(cells[name])} AS {kind})"
            types[name] = pa.timestamp("us") if form.has_time else pa.date32()
    changed = any(cell != source.column(name) for name, cell in meant.items())
    return replace(source, types=types, doubts=found.doubts), meant if changed else {}


def with_marks(cell: str, marks: Sequence[str], *, text: bool = True) -> str:
    """SQL expression: a cell, NULL where it is one of the marks."""
    if not marks:
        return cell
    shown = f"TRIM({cell})" if text else f"CAST({cell} AS VARCHAR)"
    return f"CASE WHEN {shown} IN ({', '.join(map(literal, marks))}) THEN NULL ELSE {cell} END"


def find_forms(
    columns: Sequence[Column], stated: StatedForms, counted: Counted, *, numbers: bool
) -> Findings:
    """How dates and numbers are written; asks the engine once, if there is anything to ask."""
    dates = {c.name: _date_candidates(c, stated) if c.needed else [] for c in columns}
    decimals = {
        column.name: signs
        for column in columns
        if numbers and not dates[column.name] and (signs := _number_candidates(column, stated))
    }
    loud = [c for c in columns if c.name in decimals and not all(map(_PLAIN.fullmatch, c.some))]
    quiet = [c for c in columns if c not in loud and any("." in text for text in c.some)]
    if not (loud and any(c.needed for c in (*loud, *quiet))) and stated.decimal is None:
        decimals = {}
    decimals = {
        c.name: decimals[c.name] for c in columns if c.name in decimals if c.needed or c in loud
    }
    tests: dict[tuple[str, object], str] = {}
    for column in columns:
        if dates[column.name] or column.name in decimals:
            tests[column.name, None] = f"{column.cell} IS NOT NULL"
        for form in dates[column.name]:
            tests[column.name, form] = f"{form.moment(column.cell)} IS NOT NULL"
        for sign in decimals.get(column.name, ()):
            shape = literal(number_regex(sign))
            tests[column.name, sign] = f"regexp_full_match({column.cell}, {shape})"
            tests[column.name, "signed"] = f"regexp_matches({column.cell}, '[.,]')"
            tests[column.name, f"{sign} seen"] = (
                f"regexp_matches({column.cell}, {literal(_seen(sign))})"
            )
    fits = dict(zip(tests, counted(list(tests.values())), strict=True)) if tests else {}
    cells, doubts = {}, {}
    chosen: dict[str, DateForm] = {}
    for column in columns:
        if dates[column.name]:
            decided = _decide_date(column.name, dates[column.name], fits, stated)
            if isinstance(decided, str):
                doubts[column.name] = decided
            else:
                chosen[column.name] = decided
                cells[column.name] = decided.iso(column.cell)
    signs_of = {name: _whole(name, signs, fits, stated) for name, signs in decimals.items()}
    evident = {
        signs[0]
        for name, signs in signs_of.items()
        if len(signs) == 1 and fits[name, f"{signs[0]} seen"] and name in {c.name for c in loud}
    }
    decimal = stated.decimal or (next(iter(evident)) if len(evident) == 1 else None)
    for column in columns:
        signs = signs_of.get(column.name, []) if column.needed else []
        is_loud, signed = column in loud, fits.get((column.name, "signed"), 0) > 0
        sign = decimal if decimal in signs else signs[0] if len(signs) == 1 and is_loud else None
        if sign is None and len(signs) > 1 and not signed and is_loud:
            sign = signs[0]  # 1 234 and $12 are the same with both
        if sign is not None and (is_loud or signed):
            shape = literal(number_regex(sign))
            plain = plain_number(column.cell, sign)
            cells[column.name] = (
                f"CASE WHEN regexp_full_match({column.cell}, {shape}) THEN {plain} "
                f"ELSE {column.cell} END"
            )
        elif len(signs) > 1 and is_loud:
            doubts[column.name] = (
                "1,234 may be a thousand or a little more than one: say which with decimal"
            )
    return Findings(cells, chosen, decimal, doubts)


def _date_candidates(column: Column, stated: StatedForms) -> list[DateForm]:
    said = stated.dates_of(column.name)
    own = column.name in stated.dates
    if said is not None and said not in ORDERS:
        form = DateForm(said, stated.first_year)
        if form.two_digits and stated.first_year is None:
            raise InputError(
                f"dates {said!r} has years of two digits; say of which hundred years they are: "
                "first_year = 1930 reads 30 as 1930 and 29 as 2029"
            )
        return [form] if own or (column.some and all(map(form.fits, column.some))) else []
    forms = date_forms(column.some)
    if said is not None:
        forms = [form for form in forms if form.order == said]
        if own and not forms:
            raise InputError(
                f"column {column.name!r}: its cells are no dates in the order {said}; say how they "
                "are written, such as '%d.%m.%Y', or leave it out of dates"
            )
    return [DateForm(form.pattern, stated.first_year) for form in forms]


def _decide_date(
    name: str, forms: list[DateForm], fits: Mapping[tuple[str, object], int], stated: StatedForms
) -> DateForm | str:
    """How a column's dates are written, or why that is not known."""
    present = fits[name, None]
    whole = [form for form in forms if fits[name, form] == present]
    if name in stated.dates and not whole:
        wrong = present - max(fits[name, form] for form in forms)
        raise InputError(
            f"column {name!r}: {wrong:,} of its {present:,} cells are no dates written "
            f"{forms[0].pattern}; correct them, or list what stands for no value in missing"
        )
    if not whole:
        wrong = present - max(fits[name, form] for form in forms)
        return (
            f"{wrong:,} of its {present:,} cells are no dates as the others are, so all are texts: "
            "correct them, or list what stands for no value in missing"
        )
    if len(whole) > 1:
        ways = " or ".join(form.pattern for form in whole)
        more = ", and first_year = 1930 or another" if whole[0].two_digits else ""
        return f"dates that may be {ways}: say which with dates{more}; until then they are texts"
    if whole[0].two_digits and whole[0].first_year is None:
        return (
            f"dates with years of two digits ({whole[0].pattern}): say of which hundred years they "
            "are with first_year, such as first_year = 1930; until then they are texts"
        )
    return whole[0]


def _number_candidates(column: Column, stated: StatedForms) -> list[str]:
    if stated.decimal == ",":
        return [","]
    signs = _decimals(column.some) if column.some else []
    return [sign for sign in signs if stated.decimal in (None, sign)]


def _whole(
    name: str, signs: Sequence[str], fits: Mapping[tuple[str, object], int], stated: StatedForms
) -> list[str]:
    """The signs with which a column's cells are numbers: all, or most where the sign was stated."""
    present = fits[name, None]
    share = 2 if stated.decimal == "," else 1
    return [sign for sign in signs if present and share * fits[name, sign] >= present]
