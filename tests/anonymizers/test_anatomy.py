"""Anatomy: the exact statement about its buckets, and everything it must refuse."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.anatomy import Anatomy
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.kernel import draw_values, sizes_of
from sfumato.release.description import Buckets
from sfumato.release.release import Release
from tests.anonymizers.anatomy_tables import bucketize, eligible, table_of
from tests.examples import few
from tests.oracles.containing import containing


def buckets_of(release: Release) -> list[tuple[list[tuple[int, str]], dict[str, int]]]:
    """What is published: each bucket's QI tuples, and its values."""
    members = release.regions
    assert isinstance(members, Buckets)
    found = []
    for group in range(len(members)):
        listed = [
            tuple(domain.values[code] for domain, code in zip(members.domains, codes, strict=True))
            for place in range(members.indptr[group], members.indptr[group + 1])
            for codes in [members.codes[:, place]]
            for _ in range(members.n[place])
        ]
        found.append((listed, release.groups.counts_of(group)))
    return found


@given(eligible(60), st.integers(0, 5))
def test_values_are_distinct_and_sizes_as_equal_as_they_can_be(
    case: tuple[list[int], int],
    seed: int,
) -> None:
    classes, l = case  # noqa: E741
    people = sum(classes)
    sizes = sizes_of(people, l)
    drawn = draw_values(np.array(classes), sizes, np.random.default_rng(seed).random(people))
    assert Counter(drawn.tolist()) == {v: n for v, n in enumerate(classes) if n}
    for bucket in np.split(drawn, np.cumsum(sizes)[:-1]):
        assert len(set(bucket.tolist())) == len(bucket)
    assert len(sizes) == people // l
    assert sizes.max() - sizes.min() <= 1
    assert sizes.min() >= l
    # l or l + 1 people, unless more are left over than there are buckets to take them.
    assert (sizes.max() <= l + 1) == (people % l <= people // l)


@settings(max_examples=few(50))  # each reads a table
@given(eligible(6), st.randoms(use_true_random=False), st.integers(0, 3))
def test_everybody_is_in_one_bucket_with_exact_qis(
    case: tuple[list[int], int], random, seed: int
) -> None:
    classes, l = case  # noqa: E741
    values = [f"v{v}" for v, n in enumerate(classes) for _ in range(n)]
    rows = [(random.randint(20, 23), random.choice("ab"), value) for value in values]
    table = table_of(rows)
    release = bucketize(table, l, sf.DistinctDiversity(l), sf.EntropyDiversity(l), seed=seed)
    assert release.scheme == "bucketized"
    assert release.suppressed == 0
    listed: Counter[tuple[int, str]] = Counter()
    shown: Counter[str] = Counter()
    for qis, counts in buckets_of(release):
        assert set(counts.values()) == {1}
        assert len(qis) == len(counts)
        listed.update(qis)
        shown.update(counts)
    assert listed == Counter((age, place) for age, place, _ in rows)
    assert shown == Counter(values)
    placement = release.placement
    assert placement is not None
    summed = np.bincount(placement.tuples, weights=placement.n, minlength=len(table.counts))
    assert (summed == table.counts.n).all()
    assert release.disjoint == release.regions.disjoint()
    assert sf.audit(release, [sf.DistinctDiversity(l)]).holds


def test_seven_people_at_l_4_are_one_bucket_of_seven() -> None:
    release = bucketize(table_of([(20 + i, "a", f"v{i}") for i in range(7)]), 4)
    assert release.groups.sizes.tolist() == [7]


def test_nobody_is_left_over_where_the_paper_would_make_a_bucket_of_five() -> None:
    # Drawn 3 at a time, the two left over may both have values of the first bucket, and both must
    # join the second.
    values = ["a", "a", "b", "b", "c", "c", "d", "e"]
    for seed in range(20):
        release = bucketize(table_of([(i, "p", v) for i, v in enumerate(values)]), 3, seed=seed)
        assert release.groups.distinct.tolist() == [4, 4]


def test_buckets_with_equal_lists_stay_apart() -> None:
    release = bucketize(table_of([(30, "a", f"v{i % 4}") for i in range(40)]), 4)
    assert len(release.groups) == 10
    assert not release.disjoint
    assert len(containing(release.regions, {"age": 30, "zip": "a"})) == 10


def test_a_counted_table_is_the_same_as_its_rows() -> None:
    rows = [(20 + i % 3, "a", f"v{i % 5}") for i in range(60)]
    counted = Counter(rows)
    columns = dict(zip(("age", "zip", "disease"), zip(*counted, strict=True), strict=True))
    table = sf.read(
        pa.table({**{name: list(c) for name, c in columns.items()}, "n": list(counted.values())}),
        sf.Schema(quasi=["age", "zip"], sensitive="disease", count="n"),
    )
    release = bucketize(table, 5)
    assert release.groups.sizes.tolist() == [5] * 12
    assert release.people == 60


def test_survey_weights_follow_the_people() -> None:
    table = sf.read(
        pa.table(
            {
                "age": [1, 1, 2, 2],
                "disease": ["a", "a", "b", "b"],
                "w": [10.0, 20.0, 1.0, 3.0],
            }
        ),
        sf.Schema(quasi=["age"], sensitive="disease", weight="w"),
    )
    release = bucketize(table, 2)
    assert release.population is not None
    assert release.population.tolist() == [17.0, 17.0]


def test_same_seed_same_release_and_another_seed_another() -> None:
    table = table_of([(i, "a", f"v{i % 6}") for i in range(120)])
    first, again, other = (buckets_of(bucketize(table, 4, seed=s)) for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_every_partner_is_equally_likely() -> None:
    """Two people with a, two with b: who is put with whom, and where, is a matter of chance."""
    table = table_of([(0, "p", "a"), (1, "p", "a"), (2, "p", "b"), (3, "p", "b")])
    seen: Counter[tuple[int, ...]] = Counter()
    for seed in range(400):
        qis, _ = buckets_of(bucketize(table, 2, seed=seed))[0]
        seen[tuple(sorted(age for age, _ in qis))] += 1
    assert set(seen) == {(0, 2), (0, 3), (1, 2), (1, 3)}
    assert min(seen.values()) > 65  # 100 expected, standard deviation below 9


def test_a_value_too_frequent_is_named_with_what_is_possible() -> None:
    table = table_of([(i, "a", "flu" if i < 4 else f"v{i}") for i in range(10)])
    with pytest.raises(
        sf.NoSafeRelease, match=r"'flu'.*4 of 10 people \(40.0%\).*largest l possible is 2"
    ):
        bucketize(table, 3)
    assert len(bucketize(table, 2).groups) == 5


@pytest.mark.parametrize("people", [1, 6])
def test_everybody_alike_has_no_buckets(people: int) -> None:
    with pytest.raises(sf.NoSafeRelease, match="no l above 1 is possible"):
        bucketize(table_of([(i, "a", "flu") for i in range(people)]), 2)


def test_fewer_people_than_l() -> None:
    with pytest.raises(sf.NoSafeRelease, match="largest l possible is 3"):
        bucketize(table_of([(i, "a", f"v{i}") for i in range(3)]), 4)


def test_a_further_criterion_is_judged_on_the_result() -> None:
    table = table_of([(i, "a", f"v{i % 6}") for i in range(60)])
    assert len(bucketize(table, 4, sf.DistinctDiversity(4), sf.TCloseness(0.4)).groups) == 15
    with pytest.raises(
        sf.NoSafeRelease, match=r"distinct-diversity, required l ≥ 5, measured 4.*at most 6 here"
    ):
        bucketize(table, 4, sf.DistinctDiversity(5))
    with pytest.raises(sf.NoSafeRelease, match="distinct-diversity") as told:
        bucketize(table, 6, sf.TCloseness(0.0), sf.DistinctDiversity(7))
    assert "larger l" not in str(told.value)


# -- who can be told apart ------------------------------------------------------------------------


@settings(max_examples=few(15))
@given(eligible(6), st.randoms(use_true_random=False), st.integers(0, 3))
def test_k_and_linkage_are_those_of_the_published_quasi_identifiers(
    case: tuple[list[int], int], random, seed: int
) -> None:
    """By the rows of the published table, whatever the buckets; and the same when read back."""
    classes, l = case  # noqa: E741
    values = [f"v{v}" for v, n in enumerate(classes) for _ in range(n)]
    rows = [(random.choice([20, 21, None]), random.choice("ab"), value) for value in values]
    release = bucketize(table_of(rows), l, seed=seed)
    published = release.tables()
    quasi = [(row["age"], row["zip"]) for row in published["quasi"].to_pylist()]
    alike = Counter(quasi)
    k = min(alike.values())
    pair = published["quasi"], published["sensitive"]
    schema = sf.Schema(quasi=["age", "zip"], sensitive="disease", count="count")
    back = sf.read_release(pair, schema, group=published["quasi"].column_names[0])
    register = table_of([*rows, (20, "a", "v0")])
    for subject in (release, back):
        policy = [sf.KAnonymity(k + 1), sf.AlphaK(1.0, k + 1), sf.KMap(k + 1, register)]
        report = sf.audit(subject, policy)
        wanted, both, known = report.verdicts
        assert (wanted.status, wanted.measured) == ("violated", k)
        assert both.status == "violated"
        behind = min(n + (who == (20, "a")) for who, n in alike.items())
        assert known.measured == behind
        assert wanted.note.startswith(f"{sum(n == k for n in alike.values())} of {len(alike)} ")
        found = report.linkage
        assert found.prosecutor.mean == pytest.approx(len(alike) / len(rows))
        assert found.prosecutor.unique == sum(n == 1 for n in alike.values()) / len(rows)
        assert (found.people, found.prosecutor.highest) == (len(rows), 1 / k)
        for worst in report.findings[0].worst:
            who = worst.description["age"], worst.description["zip"]
            assert alike[int(who[0]) if who[0].isdigit() else None, who[1]] == worst.people
        enough = sf.audit(subject, [sf.KAnonymity(k), sf.AlphaK(1.0, k), sf.KMap(k, register)])
        assert enough.holds
        assert report.to_html()


def test_anatomy_says_plainly_that_it_gives_no_k(tmp_path) -> None:
    table = table_of([(i, "a", f"v{i % 6}") for i in range(60)])
    for criterion in (sf.KAnonymity(5), sf.AlphaK(0.5, 5)):
        with pytest.raises(sf.NoSafeRelease, match=r"publishes exact quasi-identifiers") as told:
            bucketize(table, 5, criterion)
        assert "k is theirs (1), not the size of a bucket" in str(told.value)
        assert "require distinct-diversity l = 5 instead" in str(told.value)
        assert "\n" not in str(told.value)
    with pytest.raises(sf.NoSafeRelease, match=r"alpha-k-anonymity, required alpha ≤ 0\.1"):
        bucketize(table, 5, sf.AlphaK(0.1, 1))
    # Where exact quasi-identifiers are k-anonymous, so is the release, and its manifest says so.
    pairs = table_of([(i % 10, "a", f"v{i % 6}") for i in range(60)])
    rules = sf.Policy([sf.KAnonymity(6), sf.DistinctDiversity(3)], Anatomy(3))
    release = sf.anonymize(pairs, rules, seed=1)
    report = sf.audit(release, rules)
    release.save(tmp_path / "out", report=report)
    assert [one["measured"] for one in report.promises()] == [6, 3]
    assert "20 buckets (smallest 3)" in str(report)


def test_weights_of_a_bucketized_release_are_those_of_the_tuples() -> None:
    rows = {"q": [1, 1, 2, 3], "s": list("abab"), "w": [2.5, 3.0, 4.0, 1.5]}
    schema = sf.Schema(quasi=["q"], sensitive="s", weight="w")
    release = Anatomy(2).run(Task(sf.read(pa.table(rows), schema), (), seed=0))
    behind = release.indistinguishable.population
    assert behind is not None
    assert behind.tolist() == [5.5, 4.0, 1.5]
    assert sf.audit(release, [sf.KMap(2, "weights")]).verdicts[0].measured == 1.5
    listed = pa.table({"gid": [1, 1, 2, 2], "q": [1, 2, 1, 3], "w": [2.5, 4.0, 3.0, 1.5]})
    values = pa.table({"gid": [1, 1, 2, 2], "s": list("abab")})
    back = sf.read_release((listed, values), schema, group="gid")
    assert back.indistinguishable.population.tolist() == [5.5, 4.0, 1.5]
    assert sf.audit(back, [sf.KMap(2, "weights")]).linkage.journalist.highest == 1 / 1.5


def test_what_cannot_be_bucketized_is_refused() -> None:
    rows = pa.table({"age": [1, 2], "a": ["x", "y"], "b": ["x", "y"], "c": [["x"], ["x", "y"]]})
    two = sf.read(rows, sf.Schema(quasi=["age"], sensitive=["a", "b"]))
    with pytest.raises(sf.PolicyError, match="exactly one sensitive column, the table has: a, b"):
        Anatomy(2).run(Task(two, ()))
    with pytest.raises(sf.PolicyError, match="exactly one"):
        Anatomy(2, "a").run(Task(two, ()))
    with pytest.raises(sf.PolicyError, match="the table has: none"):
        Anatomy(2).run(Task(sf.read(rows, sf.Schema(quasi=["age"])), ()))
    with pytest.raises(sf.NoSafeRelease, match="'x' is a value of 'c' for 2 of 2 people"):
        Anatomy(2).run(Task(sf.read(rows, sf.Schema(quasi=["age"], sensitive="c")), ()))
    with pytest.raises(sf.PolicyError, match="'b' is not the sensitive column; that is 'a'"):
        Anatomy(2, "b").run(Task(sf.read(rows, sf.Schema(quasi=["age"], sensitive="a")), ()))
    assert len(Anatomy(2, "a").run(Task(sf.read(rows, sf.Schema(["age"], "a")), ())).groups) == 1


@pytest.mark.parametrize("l", [1, 0, 2.5, True, "3"])
def test_l_must_be_a_whole_number_from_two(l: object) -> None:  # noqa: E741
    with pytest.raises(sf.PolicyError, match="anatomy: l"):
        Anatomy(l)  # type: ignore[arg-type]


def test_null_is_a_value_to_hide_like_any_other() -> None:
    table = sf.read(
        pa.table({"age": [1, 2, 3, None], "disease": [None, None, "flu", "flu"]}),
        sf.Schema(quasi=["age"], sensitive="disease"),
    )
    release = bucketize(table, 2)
    assert [counts for _, counts in buckets_of(release)] == [{"flu": 1, "(missing)": 1}] * 2
