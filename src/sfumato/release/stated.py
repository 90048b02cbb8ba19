"""Groups that somebody states in numbers: checked before anything is judged by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Case
from sfumato.errors import InputError, did_you_mean
from sfumato.numbers import Ints

if TYPE_CHECKING:
    from sfumato.release.groups import Groups


def check_groups(groups: Groups) -> None:
    """Refuse labels, sizes, a case or a reference that cannot be those of the counts."""
    if len(groups.values) != groups.width:
        raise InputError(f"{groups.width} columns of counts but {len(groups.values)} value labels")
    if groups.case not in get_args(Case):
        raise InputError(
            f"case {groups.case!r} is not known; {did_you_mean(str(groups.case), get_args(Case))}"
        )
    fewer = groups.case != "multiset" and bool((groups.largest > groups.sizes).any())
    if len(groups) and (groups.sizes.min() <= 0 or fewer):
        raise InputError(
            "a group must have at least one individual, and no fewer individuals than have "
            "any one value unless case is 'multiset'"
        )
    if groups.case == "single" and (groups.occurrences != groups.sizes).any():
        raise InputError("case 'single': the counts of a group must add up to its size")
    fine = np.isfinite(groups.reference).all() and not (groups.reference < 0).any()
    if groups.reference.shape != (groups.width,) or not fine:
        raise InputError(f"reference must hold {groups.width} non-negative weights")


def numbers(given: npt.ArrayLike, what: str) -> npt.NDArray[np.float64]:
    """Weights, as floats."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be a list of numbers") from None


def whole_numbers(numbers: npt.ArrayLike, what: str) -> Ints:
    """Numbers of people, as integers."""
    try:
        array = np.asarray(numbers)
        floats = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be whole numbers of people, in rows of one length") from None
    if array.size and not np.issubdtype(array.dtype, np.integer):
        if not np.isfinite(floats).all() or (floats != np.floor(floats)).any():
            raise InputError(f"{what} must be whole numbers of people")
        array = floats
    whole = array.astype(np.int64)
    if whole.size and whole.min() < 0:
        raise InputError(f"{what} must not be negative")
    return whole
