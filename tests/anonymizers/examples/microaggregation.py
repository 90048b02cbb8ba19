"""How the contract tries microaggregation."""

from __future__ import annotations

from sfumato.anonymizers.microaggregation import Microaggregation
from tests.anonymizers.examples.base import Example

EXAMPLE = Example((Microaggregation(3),))
