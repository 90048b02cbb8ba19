"""Measures that compare with everybody's own values, part by part: the figures of memory."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymizers.lattice.lattice import Lattice
from sfumato.errors import ResourceError
from sfumato.utility import UTILITIES, utility_named
from sfumato.utility.view import Tally, tally, view_of
from tests.table.beyond_memory import SCHEMA, beyond, rows

BY_PARTS = [name for name, one in UTILITIES.items() if one.by_parts]


@pytest.mark.parametrize("anonymizer", [Lattice(), sf.Mondrian()])
@pytest.mark.parametrize("suppression", [0.0, 0.05])
def test_the_figures_are_those_of_memory(anonymizer: object, suppression: float) -> None:
    table = sf.read(rows(2), SCHEMA, threads=1)
    policy = sf.Policy(
        [sf.KAnonymity(6), sf.DistinctDiversity(2)], anonymizer, suppression=suppression
    )
    memory, large = (sf.anonymize(one, policy, seed=1) for one in (table, beyond(table, 60)))
    assert len(list(large.placement.table.counts.parts())) > 1
    assert BY_PARTS == ["divergence", "query-error"]
    for name in BY_PARTS:
        measure = utility_named(name)
        assert measure.measures(large.placement.table.counts)
        cost = measure.cost(view_of(memory))
        assert cost > 0
        assert measure.cost(view_of(large)) == pytest.approx(cost, rel=1e-12)


def test_groups_that_overlap_give_what_each_of_them_gives() -> None:
    """Dealt groups: regions need not be apart."""
    table = sf.read(rows(3), SCHEMA, threads=1)
    policy = sf.Policy([sf.KAnonymity(5)], sf.Deal(sweeps=2))
    memory = sf.anonymize(table, policy, seed=1)
    stored = beyond(table, 100)
    view, other = view_of(memory), view_of(memory)
    other.counts = stored.counts
    for name in BY_PARTS:
        measure = utility_named(name)
        assert measure.cost(other) == pytest.approx(measure.cost(view), rel=1e-12)


def test_what_needs_all_tuples_says_so() -> None:
    table = beyond(sf.read(rows(2), SCHEMA, threads=1), 60)
    release = sf.anonymize(table, sf.Policy([sf.KAnonymity(6)], sf.Mondrian()), seed=1)
    measure = utility_named("classification")
    assert not measure.measures(table.counts)
    with pytest.raises(ResourceError, match="raise the memory limit"):
        measure.cost(view_of(release))


def test_workloads_ask_the_same_of_every_part() -> None:
    table = sf.read(rows(4), SCHEMA, threads=1)
    one, other = (
        utility_named("query-error").workload(t.counts) for t in (table, beyond(table, 9))
    )
    assert one.truth.tolist() == other.truth.tolist()
    assert np.count_nonzero(one.truth) > len(one.truth) / 2


def test_what_groups_hold_is_not_counted_again() -> None:
    """Values of a group may stand there in any order."""
    groups = sf.Groups(np.array([[2, 0, 1], [0, 3, 4], [5, 0, 0]]))
    shuffled = type(groups).from_sparse(
        groups.indptr, groups.indices[[1, 0, 3, 2, 4]], groups.data[[1, 0, 3, 2, 4]], 3
    )
    expected = tally(np.array([0, 0, 1, 1, 2]), np.array([0, 2, 1, 2, 0]), groups.data, 3)
    for held in map(Tally.held_by, (groups, shuffled)):
        assert held.look_up(expected.groups, expected.values).tolist() == [2, 1, 3, 4, 5]
        assert held.look_up(np.array([0, 1, 2]), np.array([1, 0, 2])).tolist() == [0, 0, 0]
