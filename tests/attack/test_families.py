"""A part of every family of attacks; `make attack` makes all of their tries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attack.families import FAMILIES

# Which share of the tries is made here, and how many that must be at least.
PARTS = {
    "wrong calls of the Python interface": (2, 2000),
    "hostile policies": (24, 100),
    "hostile and damaged data files": (83, 160),
    "tampered manifests": (8, 75),
    "damaged ledgers": (20, 100),
    "releases judged again by counting": (15, 40),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_nothing_goes_wrong(name: str, tmp_path: Path) -> None:
    share, least = PARTS[name]
    tally = FAMILIES[name](tmp_path, share)
    assert tally.wrong == []
    assert tally.tries >= least
