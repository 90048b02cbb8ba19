"""Releases that publish each person's values together are judged as that, not as loose values."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.release import as_it_stands

VALUES = "ABC"


def surest(rows: list[frozenset[str]], facts: int, k: int, m: int) -> Fraction:
    """How sure she becomes of A, every order of the whole rows being equally likely to her.

    Person 0 is her target, the next k lack A, the m after them share it with the target.
    """
    best = Fraction(0)
    worlds = list(permutations(rows))
    for chosen in combinations(VALUES[1:], min(facts, 2)):
        kept = [
            world
            for world in worlds
            if not any("A" in person for person in world[1 : 1 + k])
            and ("A" in world[0] or not any("A" in one for one in world[1 + k : 1 + k + m]))
            and ("A" in world[0] or not any(value in world[0] for value in chosen))
        ]
        if kept:
            best = max(best, Fraction(sum("A" in world[0] for world in kept), len(kept)))
    return best


def as_table(rows: list[list[str]], several: str) -> sf.Table:
    people = {"x": [1] * len(rows), "ill": pa.array(rows, pa.list_(pa.string()))}
    schema = sf.Schema(["x"], "ill", domains={"ill": list(VALUES)}, several=several)
    return sf.read(pa.table(people), schema)


@settings(max_examples=150)
@given(
    rows=st.lists(st.lists(st.sampled_from(VALUES), max_size=3), min_size=2, max_size=5),
    several=st.sampled_from(["set", "multiset"]),
    data=st.data(),
)
def test_the_bound_is_never_below_what_whole_rows_tell(rows, several: str, data) -> None:
    facts = data.draw(st.integers(0, 2))
    k = data.draw(st.integers(0, len(rows) - 1))
    m = data.draw(st.integers(0, len(rows) - 1 - k))
    groups = as_it_stands(as_table(rows, several)).groups
    assert groups.linked
    found = sf.breach_probability(groups, "A", facts, k, m)
    assert found >= float(surest([frozenset(row) for row in rows], facts, k, m)) - 1e-12
    for case in ("set", "multiset"):
        if case == "multiset" or several == "set":
            loose = sf.breach_probability(groups, "A", facts, k, m, case)
            assert found >= loose - 1e-12


@pytest.mark.parametrize("several", ["set", "multiset"])
def test_a_group_of_one_disease_is_never_safe(tmp_path: Path, several: str) -> None:
    """The paper's multiset would say 1 - (4/5)^5 = .67 where five rows of five show A."""
    table = as_table([["A"]] * 5, several)
    criterion = sf.SkylinePrivacy([(0, 0, 0, 1)])
    report = sf.audit(table, [criterion])
    assert not report.holds
    assert report.verdicts[0].measured == 1
    with pytest.raises(sf.NoSafeRelease):
        sf.anonymize(table, sf.Policy([criterion], anonymizer=sf.Mondrian()))
    release = sf.anonymize(table, sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian()))
    release.save(tmp_path / "out")
    back = sf.read_release(tmp_path / "out", table.schema)
    assert back.groups.linked
    assert not sf.audit(back, [criterion]).holds


def test_one_value_each_is_judged_alike_as_text_and_as_list() -> None:
    lists = as_table([["A"], *[["B"]] * 5], "set")
    plain = sf.read(pa.table({"x": [1] * 6, "ill": list("ABBBBB")}), sf.Schema(["x"], "ill"))
    for point in ((0, 0, 0), (1, 0, 0), (0, 2, 1), (0, 1, 2)):
        one, other = (
            sf.breach_probability(as_it_stands(table), "A", *point) for table in (lists, plain)
        )
        assert one == other
