"""Every report of the zoo, made once, in both variants."""

from __future__ import annotations

from functools import cache

import pytest

from sfumato.report.report import Report
from tests.report.zoo import ZOO


@cache
def made(name: str) -> Report:
    return ZOO[name]()


@pytest.fixture(params=ZOO)
def report(request: pytest.FixtureRequest) -> Report:
    """The private variant."""
    return made(request.param)


@pytest.fixture(params=[f"{name}-{audience}" for name in ZOO for audience in ("private", "public")])
def variant(request: pytest.FixtureRequest) -> Report:
    name, _, audience = request.param.rpartition("-")
    return made(name).public() if audience == "public" else made(name)
