"""Rows of the threat matrix: by how much a belief moves, whom it is about, who bounds it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.base import BeliefChange, Threat, chance, factors, moved
from sfumato.adversaries.leakage.observer import Observation, Observer
from sfumato.adversaries.random_worlds import RandomWorlds
from sfumato.adversaries.realistic.beliefs import Beliefs
from sfumato.adversaries.skyline.acquaintance import Acquainted
from sfumato.report.sections.next_steps import next_steps_section as next_steps
from sfumato.report.sections.threats import matrix
from tests.examples import few
from tests.report.zoo import SMALL, people


@pytest.mark.parametrize(
    ("before", "after", "factor"),
    [
        (0.1, 0.2, 2),
        (0.4, 0.8, 3),  # the doubt falls three times
        (0.98, 0.99, 0.99 / 0.98),  # a base rate is no news
        (0.97, 1.0, 1 / 0.97),
        (0.6, 1.0, 8),  # of a doubt of .4, a twentieth is left at most
        (0.5, 0.4, 1),  # a fall: some other value rises
        (0.0, 0.3, np.inf),
        (0.0, 0.0, 1),
    ],
)
def test_a_belief_moves_by_how_much_larger_it_or_smaller_the_doubt_becomes(
    before: float, after: float, factor: float
) -> None:
    assert BeliefChange(before, after).factor == pytest.approx(factor)
    assert bool(moved(np.array([before]), np.array([after]))[0]) is (factor > 2)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_belief_never_moves_less(before: float, after: float, more: float) -> None:
    low, high = sorted((after, more))
    ends = factors(np.array([before, before]), np.array([low, high]))
    assert ends[0] <= ends[1]


def test_chances_are_told_with_the_digits_that_matter() -> None:
    told = [chance(p) for p in (0, 0.2, 0.034, 0.00033, 0.998, 0.9996, 1)]
    assert told == ["0%", "20%", "3.4%", "0.033%", "99.8%", "99.96%", "100%"]


counts = st.integers(2, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, 6), min_size=width, max_size=width).filter(any),
        min_size=2,
        max_size=6,
    )
)


def rows_of(groups: sf.Groups) -> list[Threat]:
    """What every adversary finds who needs nothing but groups."""
    her = [sf.RealisticAdversary("table", 50, at_most=False), sf.RealisticAdversary(None, 50)]
    return [
        *RandomWorlds(groups).threats(),
        *Observation(Observer(), groups).threats(),
        *(threat for one in her for threat in Beliefs(one, groups).threats()),
        *Acquainted(groups, (1, 1, 1), range(groups.width)).threats(),
    ]


@settings(max_examples=few(30))
@given(counts, st.randoms(use_true_random=False))
def test_the_row_does_not_depend_on_the_order_of_groups(found, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = random.sample(found, len(found))
    assert rows_of(sf.Groups(found)) == rows_of(sf.Groups(shuffled))


@pytest.fixture(scope="module")
def suppressing() -> tuple[sf.Release, sf.Policy]:
    policy = sf.Policy(
        [sf.KAnonymity(5), sf.DistinctDiversity(2)], anonymizer=sf.Lattice(), suppression=0.1
    )
    release = sf.anonymize(people(400), policy, seed=1)
    assert release.suppressed
    return release, policy


def test_every_command_tells_the_same_of_a_release(
    suppressing: tuple[sf.Release, sf.Policy], tmp_path: Path
) -> None:
    release, policy = suppressing
    made = sf.audit(release, policy)
    release.save(tmp_path / "out", report=made)
    read = sf.audit(sf.read_release(tmp_path / "out", SMALL), policy)
    alone = sf.audit(sf.read_release(tmp_path / "out" / "public" / "data.csv", SMALL), policy)
    told = [
        [
            (row.adversary, row.about, row.belief, row.covered, row.status)
            for row in matrix(report)
            if row.adversary != "journalist"
        ]
        for report in (made, read, alone, made.public(), read.public())
    ]
    assert next(row[2] for row in told[0] if row[0] == "acquaintance") is not None
    for other in told[1:]:
        assert other == told[0]


def test_a_criterion_bounds_the_columns_it_judges() -> None:
    rows = pa.table(
        {
            "q": [1, 1, 1, 2, 2, 2],
            "a": list("uvwuvv"),
            "b": list("xyxyxy"),
            "c": [["p"]] * 3 + [["q"]] * 3,
        }
    )
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive=["a", "b", "c"]))
    report = sf.audit(
        table,
        [
            sf.DistinctDiversity(2, sensitive="a"),
            sf.TCloseness(0.9),
            sf.EpsilonPrivacy(9, sf.RealisticAdversary("table", 9), sensitive="b"),
            sf.KAnonymity(2),
        ],
    )
    covered = {
        (row.adversary, row.about): row.covered
        for row in matrix(report)
        if row.status == "measured"
    }
    assert covered["random worlds", "a"] == ("distinct-diversity", "t-closeness")
    assert covered["random worlds", "b"] == ("t-closeness",)
    assert covered["random worlds", "c"] == ()  # not defined for lists
    assert covered["prosecutor", None] == ("k-anonymity",)
    assert covered["realistic I", "a"] == ()  # a stand-in: the policy asks about b only
    assert covered["realistic I", "b"] == ("epsilon-privacy",)
    told = next_steps(report)
    assert told is not None
    (about_lists,) = [one for one in told.words.split("\n\n") if "random worlds (about c)" in one]
    assert "t-closeness" not in about_lists
    assert "entropy-diversity" not in about_lists
    assert "alpha-k-anonymity" in about_lists


def test_whoever_nothing_but_noise_stops_is_a_note() -> None:
    table = sf.read(
        pa.table({"q": [1] * 6, "s": list("uvwuvw")}), sf.Schema(quasi=["q"], sensitive="s")
    )
    report = sf.audit(table, [sf.KAnonymity(2)])
    assert not {"realistic IV", "any prior"} & {row.adversary for row in matrix(report)}
    told = str(report)
    assert "only noise does" in " ".join(told.split())
    # One group says no more than its column: nobody is moved.
    assert {row.people for row in matrix(report) if row.about == "s"} == {0}


def test_the_terminal_tells_before_and_after_of_the_acquaintance_too(
    suppressing: tuple[sf.Release, sf.Policy],
) -> None:
    release, policy = suppressing
    report = sf.audit(release, policy)
    (row,) = [row for row in matrix(report) if row.adversary == "acquaintance"]
    assert row.belief is not None
    (line,) = [
        one for one in report.brief().text(80).splitlines() if one.startswith("acquaintance")
    ]
    assert str(row.belief) in line
    assert f"{row.people:,}" in line
