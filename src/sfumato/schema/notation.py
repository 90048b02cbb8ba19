"""Published cells read back: `[20, 30)`, `130**`, `{a, b}`, `<30` and their like become regions.

Tools publish the same range in many ways; each way is read here, and nowhere else. Two rules keep
the reading honest. Labels first: what the column's domain or hierarchy knows is that value or
label, however much it looks like a notation (Adult has the values `<=50K` and `1st-4th`). And
nothing is guessed: a text that is neither a known label nor a notation is `None` here, an error to
the reader of the file.

    *  ***                       everything
    130**  2021-05-**            a mask; on a number its decimal text
    [20, 30)  [20, 30[  (20, 30]  ]20, 30]     ends of numbers or dates, also inf and -inf
    20-29  20 - 29  -5-3         both ends included; the dash may be an en dash
    <30  <=30  >=40  >40  90+    also ≤ and ≥
    {a, b}  a~b                  a set; the second with a separator that was declared
    2021-W07  2021-05  2021-Q2  2021  2020s    a period, in a column of dates
    (empty)  (missing)           the value is missing
    [20, 30) or (missing)        a range or period, or the value is missing
    [20, 30) or {N, (missing)}   or one of the special codes that were declared

`read(region.text)` is the region again, given the column's labels; a `Span` without any end is
written `*` and read as anything.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sfumato.errors import InputError
from sfumato.numbers import as_quantity, exact, exact_text
from sfumato.schema.calendar import Period, period
from sfumato.schema.region import (
    MISSING,
    OR,
    Anything,
    End,
    Mask,
    Region,
    Span,
    Value,
    ValueSet,
    place_of,
    text_of,
)

# A list of values written as one text: `flu;ulcer`, or `["flu", "ulcer"]`.
#
# The form is declared, never guessed: a separator, or "json". In separated text an empty cell
# lists nothing, spaces around a value do not count, one separator may end the list, and
# `(missing)` is the missing value; in JSON that is null. A JSON list is no separated text: it is
# refused there. `read_list(write_list(values, form), form)` gives the values.

JSON = "json"


def read_list(text: str, form: str) -> list[str | None] | None:
    """The texts of the values that a cell lists, in its order; None where it cannot be read."""
    if form == JSON:
        return _read_json(text)
    body = text.strip()
    if not body:
        return []
    if looks_like_json([body]):
        return None
    pieces = [piece.strip() for piece in body.split(form)]
    if len(pieces) > 1 and not pieces[-1]:
        pieces.pop()
    if "" in pieces:
        return None  # missing, or a slip of the hand? Nobody can tell
    return [None if piece == MISSING else piece for piece in pieces]


def fault_of(text: str, form: str) -> str:
    """Why a cell cannot be read, in words that tell nothing of what it holds."""
    if form != JSON:
        return "a JSON list" if looks_like_json([text]) else f"nothing before a {form!r}"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return "not JSON"
    if not isinstance(content, list):
        return "JSON but no list"
    return "a JSON list of more than texts, numbers, true, false and null"


def write_list(values: Sequence[Value], form: str) -> str | None:
    """The text that lists these values; None where it would not be read as them."""
    if form == JSON:
        return json.dumps([_plain(value) for value in values], ensure_ascii=False)
    texts = [None if value is None else text_of(value) for value in values]
    written = form.join(MISSING if text is None else text for text in texts)
    return written if read_list(written, form) == texts else None


def looks_like_json(texts: Sequence[str]) -> bool:
    """Whether texts nobody has declared are JSON lists; `[20, 30]` may as well be a range."""
    lists = [_read_json(text) if text.lstrip().startswith("[") else None for text in texts[:100]]
    return all(parts is not None for parts in lists) and any(
        parts is not None and not _may_be_range(parts) for parts in lists
    )


def _may_be_range(ends: list[str | None]) -> bool:
    return len(ends) == 2 and all(end is not None and _is_number(end) for end in ends)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_json(text: str) -> list[str | None] | None:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, list):
        return None
    for value in content:
        plain = value is None or isinstance(value, str | int | float)  # a bool is an int
        if not plain or (isinstance(value, float) and not math.isfinite(value)):
            return None
    return [None if value is None else text_of(value) for value in content]


def _plain(value: Value) -> str | int | float | bool | None:
    return value if value is None or isinstance(value, str | int | float) else text_of(value)


NotationKind = Literal["numeric", "date", "mixed", "categorical"]
KNOWN = (
    "*, 130**, [20, 30), [20, 30[, (20, 30], ]20, 30], 20-29, <30, <=30, >=40, >40, 90+, {a, b}, "
    "a~b with separator='~', [20, 30) or (missing), and in dates 2021-W07, 2021-05, 2021-Q2, 2021, "
    "2020s"
)

_DECIMAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_NUMBER = rf"{_DECIMAL}(?:[eE][+-]?[0-9]+)?"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)?"
_END = rf"(?:{_DAY}|{_NUMBER}|[+-]?(?:inf|∞))"
_IS_DAY = re.compile(_DAY)
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
_INTERVAL = re.compile(rf"([\[\](])\s*({_END})\s*[,;]\s*({_END})\s*([\])\[])")
_BOUND = re.compile(rf"(<=|>=|≤|≥|<|>)\s*({_END})")
_AND_MORE = re.compile(rf"({_DECIMAL})\+")
_RANGE = re.compile(rf"({_DAY}|{_DECIMAL})\s*[-–]\s*({_DAY}|{_DECIMAL})")
_PERIODS: tuple[tuple[Period, re.Pattern[str]], ...] = (
    ("week", re.compile(r"(?P<year>[0-9]{4})-?W(?P<week>0[1-9]|[1-4][0-9]|5[0-3])")),
    ("month", re.compile(r"(?P<year>[0-9]{4})-(?P<month>0[1-9]|1[0-2])")),
    ("quarter", re.compile(r"(?P<year>[0-9]{4})-?Q(?P<quarter>[1-4])")),
    ("year", re.compile(r"(?P<year>[0-9]{4})")),
    ("decade", re.compile(r"(?P<year>[0-9]{3}0)s")),
)
_MEMBER = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,"][^,]*?|))\s*(?:,|\Z)')
_NO_VALUE = ValueSet(frozenset({None}))


@dataclass(frozen=True)
class Notation:
    """How the cells of one column are read.

    axis: what its values are. "numeric" and "date" columns hold nothing else; "categorical" ones
    have no ranges, so that `20-29` is a category; "mixed" ones (nobody said what they are) hold
    words beside numbers, dates and ranges of them. labels: the values of the column's domain and
    the labels of its hierarchy, by text; closed: there are no other values. separator: what stands
    between the members of a set. specials: codes that stand beside numbers or dates. zeros: whether
    `007` may be a number. exact_numbers: numbers have too many digits to be told apart as
    quantities, so that each is a word, written one way.
    """

    axis: NotationKind = "mixed"
    labels: Mapping[str, Region] = field(default_factory=dict)
    closed: bool = False
    separator: str | None = None
    zeros: bool = True
    exact_numbers: bool = False
    specials: frozenset[str] = frozenset()

    def read(self, text: str | None) -> Region | None:
        """The region a cell publishes, or None where it cannot be read."""
        if text is None:
            return _NO_VALUE
        body = text.strip()
        known = self.labels.get(text) or self.labels.get(body)
        if known is not None:
            return known
        if body in self.specials:
            return ValueSet(frozenset({body}))
        if body in ("", MISSING):
            return _NO_VALUE
        if body == "*":
            return Anything()
        if (wider := self._or_beside(body)) is not None:
            return wider
        region = self._number_or_day(body) or self._notation(body)
        if region is None and self._takes_words and not self._is_set(body):
            return ValueSet(frozenset({text}))
        return region

    @property
    def _takes_words(self) -> bool:
        return not self.closed and self.axis in ("mixed", "categorical")

    def _is_set(self, body: str) -> bool:
        declared = self.separator is not None and self.separator in body
        return declared or (body.startswith("{") and body.endswith("}"))

    def _notation(self, body: str) -> Region | None:
        """Everything but a plain value, `*` and the missing value."""
        if body.startswith("{") and body.endswith("}"):
            return self._set(members(body), body)
        region = self._interval(body) or self._bound(body)
        if region is None and self.separator is not None and self.separator in body:
            return self._set(members(body, self.separator), body)
        region = region or self._range(body) or self._period(body)
        if region is not None:
            return _as_published(region, body)
        masked = "*" in body and not set("[]{}<>") & set(body)
        return Mask(body) if masked and self._split(body) is None else None

    def _split(self, body: str) -> tuple[str, frozenset[str | None]] | None:
        """What stands before `or`, and the special codes or the missing value behind it."""
        before, _, behind = body.partition(OR)
        if not behind:
            return None
        known: set[str | None] = set()
        for piece, _ in members(behind.strip()):
            if piece not in self.specials and piece != MISSING:
                return None
            known.add(piece if piece in self.specials else None)
        return (before.strip(), frozenset(known)) if known else None

    def _or_beside(self, body: str) -> Span | None:
        """`[20, 30) or (missing)`: a range, a period or a label of one; or none of its scale."""
        if (split := self._split(body)) is None:
            return None
        range_text, beside = split
        region = self.labels.get(range_text) or self._notation(range_text)
        return replace(region, beside=beside) if isinstance(region, Span) else None

    def _number_or_day(self, body: str) -> ValueSet | None:
        """A plain number or date, where the column holds such."""
        value: Value = None
        if self.exact_numbers and (digits := exact(body)) is not None:
            return ValueSet(frozenset({exact_text(digits)}))
        if self.axis in ("numeric", "mixed") and (self.zeros or not _LEADING_ZERO.match(body)):
            value = number(body)
        if value is None and self.axis in ("date", "mixed"):
            value = day(body)
        if value is None:
            return None
        if self.closed:
            known = self.labels.get(text_of(value))
            return known if isinstance(known, ValueSet) else None
        return ValueSet(frozenset({value}))

    def _set(self, pieces: list[tuple[str, bool]], body: str) -> Region | None:
        """The union of values and of labels that stand for values; sets of ranges are no region.

        Each piece comes with whether it was quoted, that is: meant as it stands.
        """
        values: set[Value] = set()
        for piece, quoted in pieces:
            region = self.labels.get(piece)
            if region is None and piece in self.specials:
                region = ValueSet(frozenset({piece}))
            if region is None and piece == MISSING:
                region = _NO_VALUE
            if region is None:
                region = self._number_or_day(piece)
            if region is None and self._takes_words and piece:
                region = None if quoted else self._notation(piece)
                region = ValueSet(frozenset({piece})) if region is None else region
            if not isinstance(region, ValueSet):
                return None
            values |= region.values
        return _as_published(ValueSet(frozenset(values)), body) if values else None

    def _interval(self, body: str) -> Region | None:
        match = _INTERVAL.fullmatch(body)
        if match is None:
            return None
        left, low, high, right = match.groups()
        return _span(self._end(low), self._end(high), left == "[", right == "]")

    def _bound(self, body: str) -> Region | None:
        if match := _AND_MORE.fullmatch(body):
            return _span(self._end(match[1]), math.inf, True, False)
        match = _BOUND.fullmatch(body)
        if match is None:
            return None
        sign, end = match[1], self._end(match[2])
        if sign[0] in "<≤":
            return _span(-math.inf, end, True, sign in ("<=", "≤"))
        return _span(end, math.inf, sign in (">=", "≥"), False)

    def _range(self, body: str) -> Region | None:
        match = _RANGE.fullmatch(body)
        return _span(self._end(match[1]), self._end(match[2]), True, True) if match else None

    def _period(self, body: str) -> Region | None:
        if self.axis != "date":
            return None
        for unit, pattern in _PERIODS:
            match = pattern.fullmatch(body)
            if match is not None and int(match["year"]) > 0:
                parts = match.groupdict()
                if unit == "week":
                    return _week(int(match["year"]), int(match["week"]))
                month = int(parts.get("month") or 3 * int(parts.get("quarter") or 1) - 2)
                return period(dt.date(int(match["year"]), month, 1), unit)
        return None

    def _end(self, text: str) -> End | None:
        """One end of a range, of the column's sort; categories have none."""
        if self.axis == "categorical":
            return None
        if text.lstrip("+-") in ("inf", "∞"):
            return -math.inf if text.startswith("-") else math.inf
        end = day(text) if self.axis != "numeric" else None
        return number(text) if end is None and self.axis != "date" else end


def number(text: str) -> int | float | None:
    """A plain number, whole where it can be; None for anything else."""
    value = exact(text)
    return None if value is None else as_quantity(value)


def day(text: str) -> dt.date | None:
    """An ISO date, with a time of day if it has one; None for anything else."""
    if _IS_DAY.fullmatch(text) is None or len(text.partition(".")[2].rstrip("0")) > 6:
        return None  # a clock finer than microseconds would make two moments one
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.time() != dt.time() else moment.date()


def _week(year: int, number: int) -> Span | None:
    """A week of ISO 8601; None for the 53rd of a year that has 52."""
    try:
        return period(dt.date.fromisocalendar(year, number, 1), "week")
    except ValueError:
        return None


def _span(low: End | None, high: End | None, with_low: bool, with_high: bool) -> Region | None:
    """An interval whose ends are of one sort and not crossed."""
    if low is None or high is None:
        return None
    begin, end = place_of(low), place_of(high)
    free_low, free_high = begin == -math.inf, end == math.inf
    if free_low and free_high:
        return Anything()
    if isinstance(low, dt.date) != isinstance(high, dt.date) and not (free_low or free_high):
        return None
    if begin > end or (begin == end and not (with_low and with_high and math.isfinite(begin))):
        return None
    return Span(low, high, with_low or free_low, with_high and not free_high)


def members(body: str, separator: str | None = None) -> list[tuple[str, bool]]:
    """The members of a set and whether each was quoted; any other text is a set of one.

    >>> members('{a, "b, c"}'), members("a~b", "~")
    ([('a', False), ('b, c', True)], [('a', False), ('b', False)])
    """
    if not (body.startswith("{") and body.endswith("}")):
        pieces = [body] if separator is None else body.split(separator)
        return [(piece.strip(), False) for piece in pieces]
    inside, listed, place = body[1:-1], [], 0
    while place < len(inside):
        match = _MEMBER.match(inside, place)
        if match is None:
            return []  # malformed
        quoted = match[1] is not None
        listed.append((match[1].replace('""', '"') if quoted else match[2], quoted))
        place = match.end()
    return listed


def has_word_like_range(text: str | None) -> bool:
    """Whether a cell we wrote shows words that look like ranges: `06-07502`, `{<18, 65+}`.

    Ranges of numbers are written in brackets or by their one bound, and never in a set.
    """
    body = (text or "").strip()
    pieces = [piece for piece, _ in members(body)]
    if any(_RANGE.fullmatch(piece) for piece in pieces):
        return True
    notation = Notation()
    return body.startswith("{") and any(isinstance(notation.read(piece), Span) for piece in pieces)


def _as_published(region: Region, text: str) -> Region:
    """Keep the text of the file where it is not how we would write the region."""
    if isinstance(region, Span | ValueSet) and region.text != text:
        return replace(region, label=text)
    return region


def read_description(text: str, description: str) -> dict[str, str]:
    """`age=34,zip=13012` as a mapping; a comma inside a notation such as [30, 40) is its own."""
    known: dict[str, str] = {}
    for piece in re.split(r",(?=\s*[^,=\[\](){}]+=)", text):
        name, equals, value = piece.partition("=")
        if not equals or not name.strip():
            raise InputError(
                f"{description} {text!r} is not understood at {piece!r}; write age=34,zip=13012"
            )
        if name.strip() in known:
            raise InputError(f"{description} {text!r} names {name.strip()!r} twice")
        known[name.strip()] = value.strip()
    return known
