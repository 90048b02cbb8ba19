"""How the contract tries lattice."""

from __future__ import annotations

from sfumato.anonymizers.lattice.lattice import Lattice
from tests.anonymizers.examples.base import Example

EXAMPLE = Example((Lattice(), Lattice(budget=5)), steady=True)
