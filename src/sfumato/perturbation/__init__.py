"""Perturbations: what may be done to sensitive and kept columns. Each is registered here, once."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.errors import InputError
from sfumato.perturbation.base import Perturbation
from sfumato.perturbation.chance import AddedNoise, Pram, RankSwap
from sfumato.perturbation.functions import ColumnMicroaggregation, Rounding, TopBottomCoding
from sfumato.perturbation.pseudonyms import KeyedPseudonym

PERTURBATIONS: dict[str, type[Perturbation]] = {
    perturbation.kind: perturbation
    for perturbation in (
        TopBottomCoding,
        Rounding,
        ColumnMicroaggregation,
        AddedNoise,
        Pram,
        RankSwap,
    )
}


def perturbation_of(described: object) -> Perturbation:
    """What a manifest tells of a column, by its own constructor."""
    kinds: dict[str, type[Perturbation]] = {**PERTURBATIONS, KeyedPseudonym.kind: KeyedPseudonym}
    kind = described.get("kind") if isinstance(described, Mapping) else None
    if not isinstance(described, Mapping) or not isinstance(kind, str) or kind not in kinds:
        raise InputError("this is no perturbation")
    return kinds[kind](**{key: value for key, value in described.items() if key != "kind"})
