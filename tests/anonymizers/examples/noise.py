"""How the contract tries noise."""

from __future__ import annotations

import sfumato as sf
from sfumato.anonymizers.noise import Noise
from tests.anonymizers.examples.base import Example

EXAMPLE = Example((Noise(1.0),), (sf.DifferentialPrivacy(1.0),), noisy=True)
