"""Utility: what a release costs in usefulness. Each measure is registered here once."""

from __future__ import annotations

from sfumato.errors import PolicyError, did_you_mean
from sfumato.utility.base import Utility
from sfumato.utility.classification import Classification
from sfumato.utility.divergence import Divergence
from sfumato.utility.group_size import AverageGroupSize, Discernibility
from sfumato.utility.loss import Loss
from sfumato.utility.nonuniform_entropy import NonUniformEntropy
from sfumato.utility.precision import Precision
from sfumato.utility.queries import QueryError
from sfumato.utility.spread import SpreadLost
from sfumato.utility.use import FitForUse

UTILITIES: dict[str, type[Utility]] = {
    measure.name: measure
    for measure in (
        Loss,
        Discernibility,
        AverageGroupSize,
        Precision,
        NonUniformEntropy,
        Divergence,
        QueryError,
        Classification,
    )
}
# Reports have these too, though no policy can name them as its measure.
_MEASURED: dict[str, type[Utility]] = UTILITIES | {
    measure.name: measure for measure in (FitForUse, SpreadLost)
}


def is_share(measure: str) -> bool:
    """Whether a cost by this measure is a part of the whole, to be told in percent."""
    return measure in _MEASURED and _MEASURED[measure].share


def meaning_of(measure: str) -> str:
    """What a cost by this measure says, in words."""
    return _MEASURED[measure].about


def utility_named(name: str) -> Utility:
    """The measure a policy names."""
    if name not in UTILITIES:
        raise PolicyError(f"utility = {name!r} is not known; {did_you_mean(name, UTILITIES)}")
    return UTILITIES[name]()
