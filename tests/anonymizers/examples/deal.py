"""How the contract tries deal."""

from __future__ import annotations

from sfumato.anonymizers.deal.deal import Deal
from tests.anonymizers.examples.base import Example

EXAMPLE = Example((Deal(sweeps=3), Deal(sweeps=2, regions="hierarchy")))
