"""What all tests share: where the optional data lies; a required thing is never skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent

settings.register_profile("sfumato", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("sfumato")


def require(what: str, present: bool, hint: str) -> None:
    """Skip a test for want of something, unless SFUMATO_REQUIRE says that it must be there."""
    if present:
        return
    if what in os.environ.get("SFUMATO_REQUIRE", "").split(","):
        pytest.fail(f"{what} is required here but missing: {hint}")
    pytest.skip(f"{what} is missing: {hint}")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder that holds adult/ and acs2019/."""
    given = os.environ.get("SFUMATO_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    require("data", (folder / "adult" / "adult.csv").exists(), "set SFUMATO_DATA to its folder")
    return folder
