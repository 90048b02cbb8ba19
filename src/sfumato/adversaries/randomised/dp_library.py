"""The one door to OpenDP, which draws all noise and does all accounting; none is written by hand.

Its parts are imported one by one: all of it together takes ten times as long to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sfumato.errors import MissingExtra


def opendp(part: str) -> Any:
    """A module of OpenDP by its name: "measurements", "combinators", "domains", ..."""
    try:
        features = import_module("opendp.mod")
        module = import_module(f"opendp.{part}")
    except ImportError:
        raise MissingExtra(
            "differential privacy needs OpenDP: pip install 'sfumato[dp]' (or: pip install opendp)"
        ) from None
    # "honest-but-curious": accounting states losses as numbers, which OpenDP takes at our word.
    features.enable_features("contrib", "honest-but-curious")
    return module
