"""Examples of anonymizers, found by being here: a file for each of which there is more to try.

Any other is tried as it is made without arguments.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from sfumato.anonymizers import ANONYMIZERS
from tests.anonymizers.examples.base import Example

__all__ = ["EXAMPLES", "Example", "example_of"]

EXAMPLES: dict[str, Example] = {
    module.name: import_module(f"{__name__}.{module.name}").EXAMPLE
    for module in iter_modules(__path__)
    if module.name != "base"
}


def example_of(name: str) -> Example:
    """Of the anonymizer of this name; its file is called as it is."""
    return EXAMPLES.get(name.replace("-", "_")) or Example((ANONYMIZERS[name](),))
