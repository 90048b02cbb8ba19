"""The engines that the contract holds for: all that are registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sfumato.engines.base import Engine
from sfumato.engines.choose import ENGINES
from sfumato.engines.reading import Reading


@pytest.fixture(params=list(ENGINES))
def made(request: pytest.FixtureRequest) -> Callable[..., Engine]:
    """How to make an engine, one kind after the other."""
    if request.param != "spark":
        entry = ENGINES[request.param]
        return lambda **options: entry.opened(Reading(**options), None)
    from sfumato.engines.spark import Spark

    session = request.getfixturevalue("spark")

    def open_spark(**options: Any) -> Spark:
        return Spark(Reading(**options), session=session)

    return open_spark


@pytest.fixture
def engine(made: Callable[..., Engine]) -> Engine:
    return made()
