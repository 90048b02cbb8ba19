"""How many examples a property is tried on: all tests say it by the usual number, 60."""

from __future__ import annotations

import os

USUAL = 60
# `make test` tries about an eighth of them, the same ones on every run; SFUMATO_EXAMPLES looks
# further, everywhere in proportion (`make test-deep` does).
EXAMPLES = int(os.environ.get("SFUMATO_EXAMPLES", "8"))


def few(usually: int) -> int:
    """The examples of a property that takes so many of the usual 60; the first is the simplest."""
    return max(min(usually, 2), usually * EXAMPLES // USUAL)
