"""Every report of the zoo, made once, in both variants."""

from __future__ import annotations

from functools import cache

import pytest

from sfumato.report.report import Report
from tests.report.pages import Page
from tests.report.zoo import ZOO


@cache
def made(name: str) -> Report:
    return ZOO[name]()


@pytest.fixture(params=ZOO)
def report(request: pytest.FixtureRequest) -> Report:
    """The private variant."""
    return made(request.param)


@cache
def _of(which: str) -> Report:
    name, _, audience = which.rpartition("-")
    return made(name).public() if audience == "public" else made(name)


@cache
def _page_of(which: str) -> Page:
    return Page(_of(which).to_html())


@pytest.fixture(params=[f"{name}-{audience}" for name in ZOO for audience in ("private", "public")])
def which(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def variant(which: str) -> Report:
    return _of(which)


@pytest.fixture
def page(which: str) -> Page:
    """The page of the variant, taken apart; some megabytes that nobody should draw up twice."""
    return _page_of(which)
