"""How the contract tries mondrian."""

from __future__ import annotations

from sfumato.anonymizers.mondrian.mondrian import Mondrian
from tests.anonymizers.examples.base import Example

EXAMPLE = Example(
    (
        Mondrian(),
        Mondrian(strict=False),
        Mondrian(regions="tight"),
        Mondrian(regions="hierarchy"),
        Mondrian(order="gain", target="disease"),
    ),
    steady=True,
)
