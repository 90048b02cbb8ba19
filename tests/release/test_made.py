"""How a release came to be: what every way of reading says of it, and what stays when groups do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.ledger.content import pack, unpack
from sfumato.release.made import (
    ExactMatching,
    MadeHere,
    Placement,
    ReadFrom,
    StoredPlacement,
    WildcardMatching,
)
from sfumato.release.release import Release, as_it_stands
from sfumato.workflow.advise import coarsened, next_step
from tests.table.beyond_memory import beyond

SCHEMA = sf.Schema(["age"], "ill", hierarchies={"age": sf.intervals([10, 20])})
ROWS = pa.table({"age": [21, 22, 23, 34, 35, 36, 47, 48], "ill": list("abcabcab")})


@pytest.fixture
def table() -> sf.Table:
    return sf.read(ROWS, SCHEMA)


def sizes_by(release: Release) -> list[int]:
    """The people of each group, by who is said to be inside."""
    inside = release.inside()
    assert inside is not None
    return np.add.reduceat(inside.n, inside.indptr[:-1]).tolist()


# -- read -----------------------------------------------------------------------------------------


def test_a_file_knows_the_tuples_it_published() -> None:
    shown = pa.table({"age": ["20-29"] * 3 + ["*"] * 2, "ill": list("abcab"), "id": range(5)})
    back = sf.read_release(shown, SCHEMA)
    assert isinstance(back.made, ReadFrom)
    assert isinstance(back.made.matching, ExactMatching)
    assert not back.shares_people
    assert isinstance(back.counted_from, Placement)
    assert back.counted_from.n.sum() == 5
    assert back.stray.without_role == ("id",)
    assert back.placement is back.inside() is back.file is back.guarantee is None


def test_wildcards_say_how_many_are_published_with_each_description() -> None:
    shown = pa.table({"age": ["20-29"] * 3 + ["*"] * 2, "ill": list("abcab")})
    back = sf.read_release(shown, SCHEMA, matching="wildcard")
    assert isinstance(back.made, ReadFrom)
    assert isinstance(back.made.matching, WildcardMatching)
    assert back.shares_people
    assert sorted(back.made.matching.published.tolist()) == [2, 3]
    assert back.groups.sizes.tolist() == [5, 5]
    # Which of the groups stay, or go together, is which of their people do.
    one = back.made.take(np.array([1]), 2)
    both = back.made.merge(np.array([0, 0]), 1)
    assert one.matching.published.tolist() == back.made.matching.published[1:].tolist()
    assert both.matching.published.tolist() == [5]
    assert set(one.counted_from.groups.tolist()) == {-1, 0}


def test_a_table_as_it_stands_and_a_ledger_s_release_were_read(table: sf.Table) -> None:
    stands = as_it_stands(table)
    assert isinstance(stands.made, ReadFrom)
    assert isinstance(stands.counted_from, Placement)
    assert stands.counted_from.table is table
    assert stands.placement is None
    made = sf.generalize(table, [1])
    back = unpack(pack(made), "back")
    assert back.made == ReadFrom()


def test_people_of_a_folder_follow_their_groups(table: sf.Table, tmp_path: Path) -> None:
    """The file of who is where, read back; then a coarser column."""
    earlier = sf.generalize(table, [1])
    earlier.save(tmp_path / "earlier")
    policy = sf.Policy([sf.CompositionBound(1.0, 1.0, [tmp_path / "earlier"])], sf.Lattice())
    made = sf.anonymize(table, policy, seed=1)
    made.save(tmp_path / "out", policy=policy)
    back = sf.read_release(tmp_path / "out", SCHEMA)
    assert isinstance(back.made, ReadFrom)
    assert sizes_by(back) == back.groups.sizes.tolist() == sizes_by(made)
    # A manifest says how many were suppressed; a file alone does not, and its reading says so.
    alone = sf.read_release(tmp_path / "earlier" / "public" / "data.csv", SCHEMA)
    told = ["counted as suppressed" in " ".join(one.notes) for one in (back, alone)]
    assert told == [False, True]
    step = next_step(back, "age")
    assert step is not None
    wider = coarsened(back, "age", step)
    assert len(wider.groups) < len(back.groups)
    assert sizes_by(wider) == wider.groups.sizes.tolist()
    assert wider.file == back.file


# -- made of a table larger than memory -----------------------------------------------------------


def test_a_stored_placement_says_what_it_has_and_refuses_the_rest_by_name(
    table: sf.Table,
) -> None:
    release = sf.Mondrian().run(Task(beyond(table, 2), (sf.KAnonymity(2),)))
    assert isinstance(release.made, MadeHere)
    placement = release.placement
    assert isinstance(placement, StoredPlacement)
    assert not hasattr(placement, "tuples")
    assert placement.suppressed == 0
    with pytest.raises(sf.ResourceError, match=r"^telling who is in which group needs everybody's"):
        release.inside()
    with pytest.raises(sf.ResourceError, match=r"^putting groups together needs everybody's"):
        release.made.merge(np.zeros(len(release.groups), dtype=int), 1)
    # The engine's tables tell of all groups; of some of them nothing more is known.
    assert release.made.take(np.array([0]), len(release.groups)) == ReadFrom()


def test_advice_on_a_large_release_says_what_was_not_tried(table: sf.Table) -> None:
    release = sf.Mondrian().run(Task(beyond(table, 2), (sf.KAnonymity(2),)))
    report = sf.audit(release, [sf.KAnonymity(5)])
    assert not report.holds
    assert "was not worked out: the table is larger than memory" in report.to_json()


def test_what_is_replaced_does_not_change_how_it_was_made(table: sf.Table) -> None:
    release = sf.generalize(table, [1])
    other = replace(release, label="other", notes=())
    assert other.made is release.made
    assert other.by_attribute.keys() == release.by_attribute.keys()
    assert other.to_arrow() == release.to_arrow()
