"""Anonymizers: ways of making releases. Each is registered here once, by its name."""

from __future__ import annotations

from sfumato.anonymizers.anatomy import Anatomy
from sfumato.anonymizers.base import Anonymizer
from sfumato.anonymizers.best import Best
from sfumato.anonymizers.blanking.local_suppression import LocalSuppression
from sfumato.anonymizers.deal.deal import Deal
from sfumato.anonymizers.lattice.lattice import Lattice
from sfumato.anonymizers.microaggregation import Microaggregation
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.anonymizers.noise import Noise

ANONYMIZERS: dict[str, type[Anonymizer]] = {
    anonymizer.name: anonymizer
    for anonymizer in (
        Best,
        Lattice,
        Mondrian,
        Deal,
        LocalSuppression,
        Anatomy,
        Microaggregation,
        Noise,
    )
}
