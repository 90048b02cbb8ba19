"""How the contract tries anatomy."""

from __future__ import annotations

import sfumato as sf
from sfumato.anonymizers.anatomy import Anatomy
from tests.anonymizers.examples.base import Example

EXAMPLE = Example((Anatomy(3),), (sf.DistinctDiversity(3), sf.AlphaK(0.4, 1)))
