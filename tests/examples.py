"""How many examples a property is tried on: all tests say it by the usual number, 60."""

from __future__ import annotations

import os

USUAL = 60
# The same examples on every run; SFUMATO_EXAMPLES=1000 looks further, everywhere in proportion.
EXAMPLES = int(os.environ.get("SFUMATO_EXAMPLES", str(USUAL)))


def few(usually: int) -> int:
    """The examples of a property whose every example is dear: so many of the usual 60."""
    return max(1, usually * EXAMPLES // USUAL)
