"""Whole lists go with groups wherever these go: no way from groups to groups loses them."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError
from sfumato.ledger.content import pack, unpack
from sfumato.release.beside import Beside
from sfumato.release.groups import Groups
from sfumato.release.release import Release, as_it_stands
from sfumato.workflow.advise import coarsened, next_step
from sfumato.workflow.audit import as_read
from tests.examples import few
from tests.table.beyond_memory import beyond

People = list[list[list[str]]]  # groups of people's lists


def told(groups: Groups) -> list[dict[tuple[str, ...], int]]:
    """How many people of each group have which list; everything the groups say fits it."""
    lists = groups.lists
    assert groups.linked
    assert lists is not None
    assert len(lists) == len(groups)
    found = []
    for g in range(len(groups)):
        here: dict[tuple[str, ...], int] = {}
        for at in range(lists.indptr[g], lists.indptr[g + 1]):
            low, high = lists.sets.offsets[lists.indices[at] :][:2]
            values = tuple(groups.values[code] for code in lists.sets.members[low:high])
            here[values] = here.get(values, 0) + int(lists.data[at])
        occurrences: dict[str, int] = {}
        for values, people in here.items():
            for value in values:
                occurrences[value] = occurrences.get(value, 0) + people
        assert occurrences == groups.counts_of(g)
        assert sum(here.values()) == groups.sizes[g]
        found.append({tuple(sorted(values)): n for values, n in here.items()})
    return found


def expected(people: People, *, repeated: bool) -> list[dict[tuple[str, ...], int]]:
    found = []
    for group in people:
        lists = [tuple(sorted(one if repeated else set(one))) for one in group]
        found.append({one: lists.count(one) for one in lists})
    return found


lists_of_people = st.lists(
    st.lists(st.lists(st.sampled_from("ABCD"), max_size=3), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)


@settings(max_examples=few(80))
@given(lists_of_people, st.booleans(), st.data())
def test_take_merge_and_relabel_keep_whose_values_stand_together(people, repeated, data) -> None:
    groups = Groups.of_lists(people, "ABCD", repeated=repeated)
    assert told(groups) == expected(people, repeated=repeated)
    kept = data.draw(st.lists(st.integers(0, len(people) - 1), min_size=1, max_size=5))
    taken = groups.take(np.array(kept))
    assert told(taken) == expected([people[g] for g in kept], repeated=repeated)
    number = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(people), max_size=5)))
    number = np.unique(number[: len(people)], return_inverse=True)[1]
    total = int(number.max()) + 1
    joined = [
        [one for g, group in enumerate(people) if number[g] == made for one in group]
        for made in range(total)
    ]
    assert told(groups.merge(number, total)) == expected(joined, repeated=repeated)
    order = data.draw(st.permutations("ABCDE"))
    codes = np.array([order.index(value) for value in "ABCD"])
    renamed = groups.relabel(codes, tuple(order), None)
    assert told(renamed) == expected(people, repeated=repeated)
    for same in (groups.unreferenced(), groups.with_beside(Beside())):
        assert told(same) == expected(people, repeated=repeated)


def test_groups_keep_all_else_that_is_known_of_them() -> None:
    protected = ("p", "q"), np.array([[True, False], [False, True], [False, False]])
    known = Beside(population=np.ones(3), protected=protected)
    groups = Groups.of_lists([[["A"]], [["B"], []], [["A", "B"]]]).with_beside(known)
    merged = groups.merge(np.array([0, 1, 0]), 2)
    assert merged.population is not None
    assert merged.population.tolist() == [2.0, 1.0]
    assert merged.protected is not None
    assert merged.protected[1].tolist() == [[True, False], [False, True]]
    assert merged.sizes.tolist() == [2, 2]
    many = groups.with_beside(replace(known, multiplicity=np.array([1, 2, 3])))
    assert many.relabel(np.array([1, 0]), ("B", "A"), None).multiplicity is many.multiplicity
    with pytest.raises(InputError, match="stand for many"):
        many.merge(np.array([0, 0, 0]), 1)


def test_what_cannot_be_lists_is_refused() -> None:
    with pytest.raises(InputError, match="'C' is in a list"):
        Groups.of_lists([[["A"], ["C"]]], "AB")
    with pytest.raises(InputError, match="at least one individual"):
        Groups.of_lists([[]])


# -- every way that a release takes ---------------------------------------------------------------


def table(several: str = "set", people: int = 60) -> sf.Table:
    source = random.Random(5)
    ages = [source.randrange(20, 60) for _ in range(people)]
    ill = [source.choices("ABCDE", k=source.randint(0, 3)) for _ in range(people)]
    schema = sf.Schema(
        ["age", "sex"],
        "ill",
        hierarchies={"age": sf.intervals([5, 10, 20]), "sex": sf.suppression()},
        several=several,
    )
    sexes = [source.choice("FM") for _ in range(people)]
    columns = {"age": ages, "sex": sexes, "ill": pa.array(ill, pa.list_(pa.string()))}
    return sf.read(pa.table(columns), schema)


def everybody(release: Release) -> dict[tuple[str, ...], int]:
    """All lists of a release; each of its ways to tell them is checked."""
    found: dict[tuple[str, ...], int] = {}
    for here in told(release.groups):
        for values, n in here.items():
            found[values] = found.get(values, 0) + n
    return found


@pytest.mark.parametrize("several", ["set", "multiset"])
@pytest.mark.parametrize(
    "anonymizer", [sf.Mondrian(), sf.Lattice(), sf.Microaggregation(4)], ids=lambda one: one.name
)
def test_releases_keep_lists_however_made_saved_read_told_or_coarsened(
    tmp_path: Path, several: str, anonymizer
) -> None:
    source = table(several)
    whole = everybody(as_it_stands(source))
    release = sf.anonymize(source, sf.Policy([sf.KAnonymity(4)], anonymizer=anonymizer))
    assert everybody(release) == whole
    assert everybody(as_read(release)) == whole
    back = unpack(pack(release), "held")
    assert told(back.groups) == told(release.groups)
    release.save(tmp_path / "out")
    schema = source.schema
    if release.scheme != "microaggregated":
        assert everybody(sf.read_release(tmp_path / "out", schema)) == whole
        for column in ("age", "sex"):
            step = next_step(release, column)
            if step is not None:
                assert everybody(coarsened(release, column, step)) == whole


@pytest.mark.parametrize("several", ["set", "multiset"])
def test_a_table_larger_than_memory_keeps_lists(several: str) -> None:
    source = table(several)
    stands = told(as_it_stands(source).groups)
    kinds = as_it_stands(beyond(source, 1_000)).groups
    assert kinds.multiplicity is not None
    assert sorted(
        sorted(here.items())
        for here, times in zip(told(kinds), kinds.multiplicity.tolist(), strict=True)
        for _ in range(times)
    ) == sorted(sorted(here.items()) for here in stands)
    for anonymizer in (sf.Mondrian(), sf.Lattice()):
        policy = sf.Policy([sf.KAnonymity(4)], anonymizer=anonymizer)
        made = sf.anonymize(beyond(source, 30), policy)
        assert everybody(made) == everybody(as_it_stands(source))
