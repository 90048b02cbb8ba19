"""Releases that publish each person's list whole are judged as that, not as loose values."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.random_worlds import RandomWorlds
from sfumato.adversaries.skyline import whole_lists
from sfumato.adversaries.skyline.breach import safe
from sfumato.errors import InputError
from sfumato.release.groups import Groups
from sfumato.release.release import as_it_stands
from tests.examples import few
from tests.oracles.whole_rows_oracle import WholeRows, random_rows

VALUES = "ABC"


def as_table(rows: list[list[str]], several: str) -> sf.Table:
    people = {"x": [1] * len(rows), "ill": pa.array(rows, pa.list_(pa.string()))}
    schema = sf.Schema(["x"], "ill", domains={"ill": list(VALUES)}, several=several)
    return sf.read(pa.table(people), schema)


def test_what_is_told_is_what_every_assignment_of_rows_tells() -> None:
    """And the worst grounding, evaluated literally, reproduces it."""
    source, asked = random.Random(20), 0
    while asked < 1_200:
        rows = random_rows(source)
        groups = rows.published
        for _ in range(6):
            point = (source.randint(0, 3), source.randint(0, 3), source.randint(0, 2))
            sigma = source.randrange(rows.width)
            value, truth = groups.values[sigma], rows.breach(sigma, point)
            told = sf.breach_probability(groups, value, *point)
            assert not told.at_most
            assert told == pytest.approx(float(truth), abs=1e-12)
            # At the bound itself it is decided in fractions.
            for limit in (truth, truth + Fraction(1, 10**12)):
                if 0 < limit <= 1:
                    _, good = safe(groups, [sigma], [point], [limit], "lists")
                    assert bool(good[0]) is (truth < limit)
            found = sf.worst_grounding(groups, value, *point)
            assert found.confidence == told
            assert not found.at_most
            if truth:
                assert rows.literally(found) == truth
            asked += 1


def test_as_a_table_gives_it() -> None:
    source = random.Random(4)
    for _ in range(25):
        several = source.choice(["set", "multiset"])
        rows = [
            [source.choice(VALUES) for _ in range(source.randint(0, 3))]
            for _ in range(source.randint(2, 5))
        ]
        point = (source.randint(0, 2), source.randint(0, 2), source.randint(0, 2))
        groups = as_it_stands(as_table(rows, several)).groups
        coded = [[tuple(VALUES.index(value) for value in row) for row in rows]]
        truth = WholeRows.of(coded, 3, repeated=several == "multiset").breach(0, point)
        assert sf.breach_probability(groups, "A", *point) == pytest.approx(float(truth), abs=1e-12)


def test_one_person_who_lists_a_value_four_times_is_one_of_four() -> None:
    rows = [["flu"] * 4, ["cold"], ["cold"], ["cough"]]
    groups = Groups.of_lists([rows], repeated=True)
    assert sf.breach_probability(groups, "flu", 0, 0, 0) == 0.25
    assert RandomWorlds(groups).belief(0) == {"cold": 0.5, "cough": 0.25, "flu": 0.25}
    assert RandomWorlds(groups).strongest().tolist() == [0.5]
    assert sf.SkylinePrivacy([(0, 0, 0, 0.9)]).verdict(groups).holds
    assert not sf.SkylinePrivacy([(0, 0, 0, 0.5)]).verdict(groups).holds  # two of four have a cold
    assert sf.SkylinePrivacy([(0, 0, 0, 0.5)], value="flu").verdict(groups).holds


def test_values_that_come_together_anyway_tell_nothing() -> None:
    groups = Groups.of_lists([[["HIV", "TB", "hepatitis"]] * 3 + [[]] * 6])
    assert sf.breach_probability(groups, "HIV", 2, 0, 0) == pytest.approx(1 / 3)


def few_looks(rows: WholeRows, sigma: int, facts: int, looks: int) -> tuple[int, int, int]:
    """What a short search says of c(l) in the first group, and the truth."""
    least, reached = whole_lists.spared_lists(
        whole_lists.stored(rows.published), np.array([0]), sigma, np.array([facts]), looks
    )
    lacking = [set(row) for row in rows.rows[0] if sigma not in row]
    others = [value for value in range(rows.width) if value != sigma]
    truth = min(
        sum(not row & set(chosen) for row in lacking)
        for chosen in combinations(others, min(facts, len(others)))
    )
    return int(least[0, 2]), truth, int(reached[0, 2])


@settings(max_examples=few(300))
@given(
    rows=st.lists(st.sets(st.integers(0, 7), max_size=4), min_size=1, max_size=9),
    facts=st.integers(0, 5),
    looks=st.integers(0, 60),
)
def test_a_search_that_ends_early_never_says_less_than_the_truth(rows, facts, looks) -> None:
    given = WholeRows.of([[tuple(sorted(row)) for row in rows]], 8, repeated=False)
    least, truth, reached = few_looks(given, 0, facts, looks)
    assert least <= truth <= reached
    least, truth, reached = few_looks(given, 0, facts, whole_lists.MOST_LOOKS)
    assert least == truth == reached


def tangled(people: int = 400, values: int = 45, each: int = 3) -> list[list[str]]:
    """Lists among which the best ten values are not found in the time there is."""
    source = random.Random(1)
    names = [f"v{place:02}" for place in range(values)]
    return [source.sample(names, each) for _ in range(people)]


def test_where_her_best_facts_are_not_found_the_word_is_at_most() -> None:
    groups = Groups.of_lists([tangled()])
    told = sf.breach_probability(groups, "v00", 10, 2, 1)
    assert told.at_most
    assert 0 < told < 1
    assert repr(told).startswith("at most ")
    found = sf.worst_grounding(groups, "v00", 10, 2, 1)
    assert found.at_most
    assert len(found.facts) == 10
    assert "is at most" in found.sentence
    assert found.to_dict()["at_most"] is True
    # The facts it names take her nearly as far, and no further.
    lists = [set(row) for row in tangled()]
    left = [row for row in lists if "v00" in row or not row & set(found.facts)]
    assert sum("v00" in row for row in left) / len(left) <= told
    assert not sf.breach_probability(groups, "v00", 1, 2, 1).at_most
    verdict = sf.SkylinePrivacy([(10, 2, 1, 0.5)], value="v00").verdict(groups)
    assert verdict.at_most
    assert verdict.measured == told
    assert "at most" in verdict.note
    skyline = sf.knowledge_skyline(groups, "v00", float(told) - 1e-6)
    assert skyline.at_most
    assert "at most" in skyline.sentence
    assert skyline.to_dict()["case"].endswith("list published whole")


def test_lists_that_nobody_gave_are_not_made_up() -> None:
    groups = Groups([[1, 2]], sizes=[3], case="set")
    with pytest.raises(InputError, match="of_lists"):
        sf.breach_probability(groups, "0", 0, 0, 0, case="lists")


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
        assert one == pytest.approx(other, abs=1e-15)
