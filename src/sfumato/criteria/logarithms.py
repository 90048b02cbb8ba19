"""The exact sign of a sum of logarithms of whole numbers with rational factors.

Entropies of counts are such sums. Whether one is exactly zero is a question of integers: pairwise
coprime numbers have independent logarithms, so the sum is zero if and only if, with every number
written as powers of a coprime base, each base number's factors add up to zero. What is not zero is
computed with more and more digits until its sign is plain.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import gcd

_DIGITS = (50, 100, 400, 1600)
_SURE = 20  # digits by which a value must exceed what rounding may have done


def log_sign(terms: Iterable[tuple[Fraction, int]]) -> int | None:
    """The sign of the sum of factor * log(number), numbers at least 1; None if undecided."""
    factors: dict[int, Fraction] = {}
    for factor, number in terms:
        factors[number] = factors.get(number, Fraction(0)) + factor
    kept = {number: f for number, f in factors.items() if f and number > 1}
    for digits in _DIGITS:
        found = _rounded_sign(kept, digits)
        if found is not None:
            return found
        if digits == _DIGITS[0] and _is_zero(kept):
            return 0
    return None


def _rounded_sign(factors: dict[int, Fraction], digits: int) -> int | None:
    with localcontext() as context:
        context.prec = digits
        value, size = Decimal(0), Decimal(0)
        for number, factor in factors.items():
            term = Decimal(number).ln() * factor.numerator / factor.denominator
            value += term
            size += abs(term)
        sure = size * Decimal(10) ** (_SURE - digits)
        return None if abs(value) <= sure else 1 if value > 0 else -1


def _is_zero(factors: dict[int, Fraction]) -> bool:
    base = _coprime_base(list(factors))
    for number in base:
        power = Fraction(0)
        for whole, factor in factors.items():
            times = 0
            while whole % number == 0:
                whole //= number
                times += 1
            power += factor * times
        if power:
            return False
    return True


def _coprime_base(numbers: list[int]) -> list[int]:
    """Pairwise coprime numbers above 1 of which every given number is a product of powers."""
    base: list[int] = []
    waiting = [number for number in numbers if number > 1]
    while waiting:
        number = waiting.pop()
        for place, other in enumerate(base):
            shared = gcd(number, other)
            if shared > 1:
                del base[place]
                waiting += [
                    part for part in (shared, number // shared, other // shared) if part > 1
                ]
                break
        else:
            base.append(number)
    return base
