"""Descriptions answer for their scheme, so that nobody else asks which one it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import sfumato
from sfumato.errors import InputError, ResourceError
from sfumato.release.description import (
    Buckets,
    Centroids,
    Description,
    Examples,
    NoisyCells,
    Regions,
    Scheme,
    of_scheme,
)
from sfumato.schema.domain import Domain
from sfumato.schema.region import ValueSet
from tests.oracles.containing import containing

VALUES = tuple(ValueSet(frozenset({value})) for value in ("a", "b"))
SHOWN = ("x",), (VALUES,), np.array([[0, 1]], dtype=np.int32)
TWO = np.array([0, 1, 2])
LISTED = Buckets(
    (Domain("x", "categorical", ("a", "b")),), TWO, np.array([[0, 1]], dtype=np.int32), TWO[1:]
)
KINDS: list[Description] = [Regions(*SHOWN), Centroids(*SHOWN), NoisyCells(*SHOWN), LISTED]


def answers(one: Description) -> tuple[bool, ...]:
    return one.generalizes, one.centroids, one.noisy, one.exact


def test_every_scheme_has_one_description_and_is_one_thing() -> None:
    assert [one.scheme for one in KINDS] == [
        "generalized",
        "microaggregated",
        "randomised",
        "bucketized",
    ]
    assert {one.scheme for one in KINDS} == set(get_args(Scheme))
    assert [answers(one).index(True) for one in KINDS] == [0, 1, 2, 3]
    assert all(sum(answers(one)) == 1 for one in KINDS)
    assert [one.contains_people for one in KINDS] == [True, False, False, True]


@pytest.mark.parametrize("one", KINDS, ids=lambda one: one.scheme)
def test_some_of_the_groups_are_described_in_the_same_way(one: Description) -> None:
    taken = one.take(np.array([1]))
    assert type(taken) is type(one)
    assert (len(taken), taken.scheme, taken.columns) == (1, one.scheme, ("x",))
    assert taken.describe(0) == one.describe(1) == {"x": "b"}
    assert containing(one, {"x": "b"}) == [1]
    assert one.disjoint()


@pytest.mark.parametrize("one", KINDS[:3], ids=lambda one: one.scheme)
def test_examples_say_what_they_are_examples_of_but_are_no_regions(one: Description) -> None:
    examples = Examples(one.require_regions())
    assert answers(examples) == answers(one)
    assert not isinstance(examples, Regions)
    assert examples.each_region is None
    assert not examples.disjoint()
    for asked in (examples.require_regions, lambda: containing(examples, {"x": "a"})):
        with pytest.raises(ResourceError, match="larger than memory"):
            asked()
    assert of_scheme(examples, "generalized").scheme == "generalized"


def test_buckets_have_no_regions_and_stay_buckets() -> None:
    with pytest.raises(InputError, match="exact values, not regions"):
        LISTED.require_regions()
    assert LISTED.buckets is of_scheme(LISTED, "bucketized")
    assert all(one.buckets is None for one in KINDS[:3])


def test_nobody_else_asks_a_release_for_its_scheme_by_name() -> None:
    """What follows from a scheme is a question to the description."""
    root = Path(sfumato.__file__).parent
    asks = re.compile(r"(release|seen|new|one|subject|population|self)\.scheme (==|!=|in|not in) ")
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if asks.search(path.read_text(encoding="utf-8"))
    }
    own = {"papers/relative.py"}  # a record's scheme
    settings = {"anonymizers/deal/deal.py", "anonymizers/mondrian/mondrian.py"}
    assert found <= {"release/description.py", *own, *settings}
