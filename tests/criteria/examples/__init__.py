"""Examples of criteria: a file for each module of criteria/, found by being here."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tests.criteria.examples.base import VALUES, Example

__all__ = ["EXAMPLES", "VALUES", "Example"]

EXAMPLES: dict[str, Example] = {}
for _module in iter_modules(__path__):
    if _module.name != "base":
        EXAMPLES |= import_module(f"{__name__}.{_module.name}").EXAMPLES
