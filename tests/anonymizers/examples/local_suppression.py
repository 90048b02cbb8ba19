"""How the contract tries local-suppression."""

from __future__ import annotations

from sfumato.anonymizers.blanking.local_suppression import LocalSuppression
from tests.anonymizers.examples.base import Example

EXAMPLE = Example((LocalSuppression(), LocalSuppression(levels={"age": 2})))
