"""Buckets of people with several values each: a bag of values for a number of people.

By every way in which the values of a bag can be people's (`tests/oracles/skyline_oracle.py`).
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.random_worlds import RandomWorlds
from sfumato.anonymizers import Anatomy, Best, Mondrian
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.best import BestFindings
from sfumato.anonymizers.kernel import deal_lists
from sfumato.counts.value_sets import code_sets
from sfumato.numbers import offsets_of
from sfumato.release.release import Release
from sfumato.utility.classification import Classification
from sfumato.utility.divergence import Divergence
from sfumato.utility.queries import QueryError
from sfumato.utility.use import FitForQueries
from sfumato.utility.view import view_of
from tests.examples import few
from tests.oracles.skyline_oracle import Tiny

CASES = ["set", "multiset"]
VALUES = "ABC"
DOMAIN = {"ill": list(VALUES)}


def table_of(lists: list[list[str]], several: str = "set", ages: list[int] | None = None):
    people = {
        "age": ages or [20 + place for place in range(len(lists))],
        "ill": pa.array(lists, pa.list_(pa.string())),
    }
    schema = sf.Schema(["age"], "ill", several=several, domains=DOMAIN)
    return sf.read(pa.table(people), schema)


def tiny_of(release: Release) -> Tiny:
    """What is published, for the oracle."""
    groups = release.groups
    counts = [tuple(row) for row in groups.dense().tolist()]
    return Tiny(tuple(zip(groups.sizes.tolist(), counts, strict=True)), groups.case)


lists_of_people = st.lists(st.lists(st.sampled_from(VALUES), max_size=3), min_size=2, max_size=9)


@given(lists_of_people, st.sampled_from(CASES), st.integers(2, 3), st.integers(0, 3))
def test_no_value_occurs_more_often_than_once_for_l_people(
    lists: list[list[str]],
    several: str,
    l: int,  # noqa: E741
    seed: int,
) -> None:
    codes = [VALUES.index(value) for person in lists for value in person]
    ends = offsets_of([len(person) for person in lists])
    repeated = several == "multiset"
    number, sets = code_sets(ends, np.array(codes, dtype=np.int32), repeated=repeated)
    held = [
        Counter(sets.members[sets.offsets[i] : sets.offsets[i + 1]].tolist())
        for i in number.tolist()
    ]
    most = max(sum(held, Counter()).values(), default=0)
    assume(max(most, 1) * l <= len(lists))
    luck = np.random.default_rng(seed).random(len(lists))
    bucket = deal_lists(number, sets.offsets, sets.members, len(VALUES), l, luck)
    for one in np.unique(bucket):
        mine = [held[person] for person in np.flatnonzero(bucket == one)]
        assert len(mine) >= l
        assert max(sum(mine, Counter()).values(), default=0) * l <= len(mine)


def test_too_few_people_without_a_value_are_no_bucket() -> None:
    with pytest.raises(sf.NoSafeRelease, match="no buckets with l = 3 exist: there are 2 people"):
        Anatomy(3).run(Task(table_of([[], []]), ()))


def test_people_whose_lists_share_nothing_go_together_l_at_a_time() -> None:
    source = Random(1)
    often = list(range(40))
    lists = [sorted(source.sample(often, source.choice([0, 1, 2, 3]))) for _ in range(3_001)]
    ends = offsets_of([len(person) for person in lists])
    flat = np.array([value for person in lists for value in person], dtype=np.int32)
    number, sets = code_sets(ends, flat, repeated=False)
    luck = np.random.default_rng(0).random(len(lists))
    bucket = deal_lists(number, sets.offsets, sets.members, 40, 4, luck)
    sizes = np.unique(bucket, return_counts=True)[1]
    assert sorted(sizes.tolist()) == [4] * 749 + [5]


@settings(max_examples=few(40))
@given(lists_of_people, st.sampled_from(CASES), st.data())
def test_what_is_made_is_judged_as_every_world_tells(
    lists: list[list[str]], several: str, data: st.DataObject
) -> None:
    release = _made(table_of(lists, several), Anatomy(2))
    assume(release is not None)
    groups, placement = release.groups, release.placement
    assert release.scheme == "bucketized"
    assert groups.case == several
    assert not groups.linked
    assert release.people == len(lists)
    # The bag is that of the bucket's people, whose exact quasi-identifiers are listed.
    for group in range(len(groups)):
        mine = placement.counts.codes[0][placement.tuples[placement.groups == group]]
        held = [lists[code] if several == "multiset" else set(lists[code]) for code in mine]
        assert groups.counts_of(group) == Counter(value for person in held for value in person)
    tiny = tiny_of(release)
    assume(tiny.worlds <= 3_000)
    sigma = data.draw(st.sampled_from(range(len(VALUES))))
    point = data.draw(st.tuples(*[st.integers(0, 2)] * 3))
    truth = tiny.breach(sigma, point)
    told = sf.breach_probability(release, VALUES[sigma], *point)
    assert told == pytest.approx(float(truth), abs=1e-12)
    # And so is what anybody reads who is handed the two tables.
    if (groups.occurrences != groups.sizes).any() and groups.occurrences.any():
        pair = release.tables()
        schema = sf.Schema(
            ["age"], "ill", several=several, count="count", lists={"ill": ";"}, domains=DOMAIN
        )
        again = sf.read_release((pair["quasi"], pair["sensitive"]), schema, group="group_id")
        assert sorted(tiny_of(again).groups) == sorted(tiny.groups)
        assert sf.breach_probability(again, VALUES[sigma], *point) == told
    believed = [RandomWorlds(groups).belief(g).get(VALUES[sigma], 0) for g in range(len(groups))]
    assert max(believed) == pytest.approx(float(tiny.breach(sigma, (0, 0, 0))), abs=1e-12)


def _made(table: sf.Table, anonymizer, *require) -> Release | None:
    try:
        return anonymizer.run(Task(table, require))
    except sf.NoSafeRelease:
        return None


def test_a_search_may_split_what_is_unsafe_as_one_group() -> None:
    # Spec: merging may harm. One person with B and C, three with A: 16/43 together, 1/3 apart.
    table = table_of([["B", "C"], ["A"], [], []])
    bound = sf.SkylinePrivacy([(2, 0, 0, 0.35)], value="A", case="set")
    release = _made(table, Mondrian(scheme="bucketized"), bound)
    assert sorted(release.groups.sizes.tolist()) == [1, 3]
    assert sf.audit(release, [bound]).verdicts[0].measured == pytest.approx(1 / 3)
    whole = sf.Groups([[1, 1, 1]], VALUES, [4], case="set")
    assert sf.breach_probability(whole, "A", 2, 0, 0) == pytest.approx(16 / 43)
    # Where none is found it is not said that there is none.
    with pytest.raises(sf.NoSafeRelease, match="no release was found that satisfies"):
        Mondrian(scheme="bucketized").run(
            Task(table, (sf.SkylinePrivacy([(2, 0, 0, 0.3)], value="A", case="set"),))
        )


@settings(max_examples=few(40))
@given(
    st.lists(st.lists(st.sampled_from("AB"), max_size=2), min_size=3, max_size=8),
    st.sampled_from(CASES),
    st.tuples(*[st.integers(0, 1)] * 3),
    st.sampled_from([0.4, 0.5, 0.7, 0.9]),
)
def test_a_search_keeps_what_every_world_asks(
    lists: list[list[str]], several: str, point: tuple[int, int, int], c: float
) -> None:
    bound = sf.SkylinePrivacy([(*point, c)], case=several)
    release = _made(table_of(lists, several), Mondrian(scheme="bucketized"), bound)
    assume(release is not None)
    tiny = tiny_of(release)
    assume(tiny.worlds <= 3_000)
    worst = max(tiny.breach(sigma, point) for sigma in range(tiny.width))
    assert worst < Fraction(str(c))
    assert sf.audit(release, [bound]).verdicts[0].measured == pytest.approx(float(worst))


def test_rows_are_no_bags() -> None:
    """Nobody is told that rows which show lists whole keep what is asked of bags."""
    table = table_of([["A", "B"], ["A"], ["B"], [], ["C"], []])
    bound = sf.SkylinePrivacy([(0, 0, 0, 0.9)], case="set")
    with pytest.raises(sf.NoSafeRelease, match=r"list published whole.*scheme = 'bucketized'"):
        Mondrian().run(Task(table, (bound,)))
    verdict = sf.audit(table, [bound]).verdicts[0]
    assert verdict.status == "not_applicable"
    assert verdict.measured is None


def test_the_best_buckets_are_cut_where_anatomy_cannot_keep_a_bound() -> None:
    lists = [["A"], [], ["B"], [], ["C", "A"], [], [], ["B"], ["A"], [], [], ["C"]]
    bound = sf.SkylinePrivacy([(0, 0, 0, 0.45)], case="set")
    release = Best(schemes="bucketized").run(Task(table_of(lists), (bound,)))
    found = BestFindings.of(release.made)
    assert found is not None
    told = {attempt.anonymizer: attempt.outcome for attempt in found.attempts}
    assert (told["anatomy"], told["cut (buckets)"]) == ("refused", "chosen")
    assert len(release.groups) > 1
    assert sf.audit(release, [bound]).holds


def test_where_k_fails_the_advice_is_what_can_be_judged() -> None:
    task = Task(table_of([["A"], ["B"], ["A", "B"], []]), (sf.KAnonymity(2),))
    for anonymizer in (Anatomy(2), Mondrian(scheme="bucketized")):
        with pytest.raises(sf.NoSafeRelease, match="require skyline-privacy instead"):
            anonymizer.run(task)


def test_a_query_is_answered_as_a_reader_of_bags_would() -> None:
    """Not by the lists, which are not published."""
    for several in CASES:
        lists = [["A", "B"], ["C"], [], ["A"], ["B"], []]
        if several == "multiset":
            lists[0] = ["A", "A"]
        release = Mondrian(scheme="bucketized").run(
            Task(table_of(lists, several), (sf.AlphaK(0.7, 1), sf.SkylinePrivacy([(0, 2, 0, 1)])))
        )
        tiny = tiny_of(release)
        expected = QueryError(queries=3, columns=1, selectivity=0.9)
        view = view_of(release)
        work = expected.workload(view.tuples)
        answers = []
        for query in work.queries:
            fits = query.wanted[0]
            chance = 0.0
            for group in range(len(tiny.groups)):
                some = 0
                for value in np.flatnonzero(query.values).tolist():
                    some |= tiny.has[(group, 0), value]
                mine = release.placement.groups == group
                people = fits[view.tuples.codes[0][release.placement.tuples[mine]]].sum()
                chance += people * some.bit_count() / tiny.worlds
            answers.append(chance)
        errors = np.abs(np.array(answers) - work.truth) / np.maximum(work.truth, 0.001 * 6)
        assert expected.cost(view) == pytest.approx(float(np.minimum(errors, 1).mean()))


def test_what_needs_whole_lists_is_not_measured_of_bags() -> None:
    release = Anatomy(2).run(Task(table_of([["A", "B"], [], ["C"], [], ["A"], []]), ()))
    view = view_of(release)
    listed = FitForQueries(weights=(1.0,), queries=(("age",), ("ill",)))
    for measure in (Divergence(), Classification(), listed):
        assert np.isnan(measure.cost(view))
    exact, unknown = listed.answers(view)
    assert not exact.errors.any()
    assert np.isnan(unknown.errors).all()
    with pytest.raises(sf.InputError, match="nobody's list can be learnt"):
        Classification().measure(view)
