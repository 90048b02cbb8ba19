"""Numbers told apart exactly: two different values must never become one, or nobody is unique.

Text files and decimal columns hold more digits than a float has. Numbers are kept as whole numbers
or floats where that loses nobody's identity; where it would, each keeps its exact digits as a text,
written one way (0.50 and 5e-1 are one value), and is a code rather than a quantity.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import SupportsFloat

import pyarrow as pa

# ASCII digits only: others are told apart from them by whoever reads the file.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_TOLD = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")  # numbers as we write them
_SHORT = 15  # characters of which a float keeps every digit
_LONGEST = 300  # digits of a number that may still be a quantity: more than a float can reach
_INT64 = 1 << 63


def exact(text: str) -> Decimal | None:
    """The number that a text is, to its last digit; None if it is none."""
    if _NUMBER.fullmatch(text) is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        return None


def exact_text(number: Decimal) -> str:
    """The one text of an exact number: 0.5 for 0.50, 5e-1 and +.5; 0 for -0."""
    if not number:
        return "0"
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    figures = "".join(map(str, digits)).lstrip("0")
    short = figures.rstrip("0")
    exponent += len(figures) - len(short)
    if -_LONGEST < exponent < _LONGEST:
        return format(Decimal((sign, tuple(map(int, short)), exponent)), "f")
    return f"{'-' if sign else ''}{short}e{exponent}"


def shortest(number: SupportsFloat) -> str:
    """The shortest text that reads back as the same number: 1.0001 is not told as 1."""
    value = float(number)
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)


def told_beside(value: float, others: str, digits: int) -> str:
    """A number in so many digits, or more: above and below the numbers of a text as it truly is.

    A difference in the last bits is none: it is how the number was worked out.
    """
    known = [float(one.replace(",", "")) for one in _TOLD.findall(others)]
    above = {one: value > one for one in known if not math.isclose(one, value, rel_tol=1e-12)}
    for many in range(digits, 18):
        text = f"{value:.{many}g}"
        told = float(text)
        if all(told > one if over else told < one for one, over in above.items()):
            break
    return text


def as_quantity(number: Decimal) -> int | float | None:
    """A whole number, or the nearest float; None beyond what a float can reach."""
    if number.adjusted() >= _LONGEST:
        return None
    if number == number.to_integral_value():
        return int(number)
    value = float(number)
    return value if value != 0 else None


def told_apart(numbers: Iterable[Decimal]) -> bool:
    """Whether different numbers stay different as quantities."""
    distinct = set(numbers)
    quantities = [as_quantity(number) for number in distinct]
    return None not in quantities and len(set(quantities)) == len(distinct)


def number_array(texts: Sequence[str | None]) -> pa.Array:
    """Numbers written as texts: whole numbers, floats, or exact texts where those lose identity."""
    present = [text for text in texts if text is not None]
    if all(len(text) <= _SHORT and text.isascii() and text.isdecimal() for text in present):
        return pa.array([None if text is None else int(text) for text in texts], pa.int64())
    numbers = [None if text is None else exact(text) for text in texts]
    known = [number for number in numbers if number is not None]
    if len(known) == len(present) and told_apart(known):
        values = [None if number is None else as_quantity(number) for number in numbers]
        whole = [value for value in values if isinstance(value, int)]
        if all(-_INT64 <= value < _INT64 for value in whole):
            if len(whole) == len(present):
                return pa.array(values, pa.int64())
            # Beside fractions whole numbers become floats, too.
            if all(int(float(value)) == value for value in whole):
                floats = [None if value is None else float(value) for value in values]
                return pa.array(floats, pa.float64())
    written = [
        text if number is None else exact_text(number)
        for text, number in zip(texts, numbers, strict=True)
    ]
    return pa.array(written, pa.string())
