"""SkylinePrivacy: what a point demands, of which values, and what a search may rely on."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.skyline.breach import factor_bounds, minima
from sfumato.counts.counts import TableCounts
from sfumato.criteria.base import Measure
from sfumato.criteria.skyline_points import KnowledgePoint, undominated
from sfumato.errors import PolicyError
from sfumato.release.groups import Groups
from tests.adversaries.skyline.tiny_releases import CASES, golden, golden_groups, groups_of, tinies
from tests.examples import few

VALUES = ["HIV", "Flu", "Cold"]
GROUPS = sf.Groups([[1, 2, 1], [2, 2, 4]], VALUES)
each_case = pytest.mark.parametrize("case", CASES)


def table(tmp_path, *, several: bool = False) -> sf.Table:
    file = tmp_path / "people.csv"
    file.write_text("id,zip,disease\n1,1,HIV\n2,1,Flu\n3,1,Flu\n4,2,Cold\n4,2,Flu\n5,2,HIV\n")
    person = "id" if several else None
    return sf.read(file, sf.Schema(quasi="zip", sensitive="disease", person=person))


# -- what is judged -------------------------------------------------------------------------------


@each_case
def test_it_decides_every_golden_point_strictly(case) -> None:
    for candidate in golden(case):
        groups = golden_groups(candidate, case)
        for point in candidate["points"][::7]:
            known = (point["l"], point["k"], point["m"])
            exact = Fraction(point["bp"])
            for c in (0.1, 0.25, 0.5, 0.75, 0.95, 1.0):
                criterion = sf.SkylinePrivacy([(*known, c)], value=candidate["sigma"])
                verdict = criterion.verdict(groups)
                assert verdict.holds is (exact < Fraction(str(c))), (candidate["name"], known, c)
                assert verdict.measured == pytest.approx(float(exact), abs=1e-12)
                assert (verdict.measured < c) is verdict.holds


def test_equality_is_not_safe() -> None:
    halves = sf.Groups([[1, 1]], ["a", "b"])
    assert not sf.SkylinePrivacy([(0, 0, 0, 0.5)]).verdict(halves).holds
    assert sf.SkylinePrivacy([(0, 0, 0, 0.5000001)]).verdict(halves).holds
    tenths = sf.Groups([[3, 7]], ["a", "b"])
    assert not sf.SkylinePrivacy([(0, 0, 0, 0.3)], value="a").verdict(tenths).holds


def test_the_extremes_of_confidence() -> None:
    certain = sf.SkylinePrivacy([(0, 0, 0, 1)])
    assert certain.verdict(GROUPS).holds
    assert not certain.verdict(sf.Groups([[2, 2], [3, 0]], ["a", "b"])).holds
    hardly = sf.SkylinePrivacy([(0, 0, 0, 1e-9)], value="a")
    assert not hardly.verdict(sf.Groups([[1, 10**6]], ["a", "b"])).holds
    assert hardly.verdict(sf.Groups([[0, 5]], ["a", "b"])).holds


def test_points_are_for_every_value_or_for_some() -> None:
    point = (0, 0, 0, 0.5)
    assert (
        not sf.SkylinePrivacy([point]).verdict(GROUPS).holds
    )  # half of each group has Flu or Cold
    assert sf.SkylinePrivacy([point], value="HIV").verdict(GROUPS).holds
    assert not sf.SkylinePrivacy([point], value=["HIV", "Cold"]).verdict(GROUPS).holds
    own = {"Flu": [(0, 0, 0, 0.6)], "Cold": [(0, 0, 0, 0.6)]}
    assert sf.SkylinePrivacy([point], value=own).verdict(GROUPS).holds
    assert not sf.SkylinePrivacy([point], value={"Flu": [(0, 0, 0, 0.6)]}).verdict(GROUPS).holds
    assert sf.SkylinePrivacy([], value={"HIV": [point]}).verdict(GROUPS).holds
    assert sf.SkylinePrivacy([point], value={"Flu": [], "Cold": []}).verdict(GROUPS).holds


def test_nothing_asked_of_the_values_there_are_holds() -> None:
    criterion = sf.SkylinePrivacy([(0, 0, 0, 0.5)], value={"a": []})
    verdict = criterion.verdict(sf.Groups([[3]], ["a"]))
    assert (verdict.holds, verdict.measured) == (True, 0.0)


def test_a_value_that_is_not_one_is_refused() -> None:
    for value in ("HIVV", ["HIV", "HIVV"], {"HIVV": [(0, 0, 0, 0.5)]}):
        with pytest.raises(PolicyError) as caught:
            sf.SkylinePrivacy([(0, 0, 0, 0.5)], value=value).verdict(GROUPS)
        assert "value: 'HIVV' is not a value of" in str(caught.value)
        assert "did you mean 'HIV'?" in str(caught.value)


def test_several_values_per_person_are_judged_by_their_case(tmp_path) -> None:
    release = sf.generalize(table(tmp_path, several=True), {"zip": 0})
    assert release.groups.case == "set"
    report = sf.audit(release, [sf.SkylinePrivacy([(1, 0, 0, 0.9)])])
    assert report.verdicts[0].status in ("holds", "violated")
    repeated = sf.Groups([[2]], ["A"], [2], case="multiset")
    assert sf.SkylinePrivacy([(0, 0, 0, 1)]).measure(repeated).value == pytest.approx(0.75)


# -- what is measured and told --------------------------------------------------------------------


@each_case
@settings(max_examples=few(40))
@given(data=st.data())
def test_a_groups_figure_is_how_sure_she_becomes_of_a_target_there(case, data) -> None:
    tiny = data.draw(tinies(case))
    point = data.draw(st.tuples(*[st.integers(0, 2)] * 3))
    measure: Measure = sf.SkylinePrivacy([(*point, 1)], value="A").measure(groups_of(tiny))
    for group, found in enumerate(measure.per_group):
        expected = tiny._breach((group, 0), 0, point)
        assert found == pytest.approx(float(expected), abs=1e-12)


@given(data=st.data())
def test_different_confidences_are_put_on_one_scale(data) -> None:
    groups = groups_of(data.draw(tinies("single", people=20, worlds=10**9)))
    point = st.tuples(*[st.integers(0, 2)] * 3, st.sampled_from([0.25, 0.4, 0.5, 0.75, 0.8, 1]))
    points = data.draw(st.lists(point, min_size=1, max_size=4))
    criterion = sf.SkylinePrivacy(points)
    alone = [sf.SkylinePrivacy([one]).verdict(groups).holds for one in points]
    verdict = criterion.verdict(groups)
    assert verdict.holds is all(alone)
    assert (verdict.measured < criterion.strictest) is verdict.holds


def test_the_worst_grounding_is_told() -> None:
    verdict = sf.SkylinePrivacy([(1, 1, 0, 0.6)], value="HIV").verdict(GROUPS)
    assert verdict.status == "violated"
    assert "2 of 2 groups, 12 people" in verdict.note
    assert "Looking for 'HIV', somebody whose target is in the worst group" in verdict.note
    assert "is certain that the target has it" in verdict.note
    assert verdict.worst[0] == 0


def test_implied_points_are_dropped_and_named() -> None:
    criterion = sf.SkylinePrivacy([(0, 1, 0, 0.9), (1, 1, 0, 0.9), (0, 0, 3, 0.9), (1, 1, 0, 0.9)])
    assert criterion.points_for("HIV") == (
        KnowledgePoint(1, 1, 0, 0.9),
        KnowledgePoint(0, 0, 3, 0.9),
    )
    note = criterion.verdict(GROUPS).note
    assert "(0, 1, 0) below 0.9 is implied by (1, 1, 0) below 0.9" in note
    assert len(criterion.questions(GROUPS).targets) == 6


@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 3, st.sampled_from([0.5, 0.7, 1])), max_size=6),
    st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any),
)
def test_dropping_implied_points_changes_no_verdict(given_points, counts) -> None:
    points = [KnowledgePoint(*one) for one in given_points]
    kept, dropped = undominated(points)
    assert {*kept, *(point for point, _ in dropped)} == set(points)
    assert all(other.dominates(point) and other in kept for point, other in dropped)
    assert not any(a.dominates(b) for a in kept for b in kept if a is not b)
    groups = sf.Groups([counts])
    holds = {p: sf.SkylinePrivacy([p]).verdict(groups).holds for p in points}
    assert all(holds[p] for p in kept) is all(holds.values())


def test_what_is_required_is_said() -> None:
    one = sf.SkylinePrivacy([(3, 10, 2, 0.5)])
    assert one.required == "certainty < 0.5 knowing (3, 10, 2)"
    named = sf.SkylinePrivacy([(0, 1, 0, 0.5)], value=["HIV", "Flu"])
    assert named.required == "certainty < 0.5 knowing (0, 1, 0) (HIV, Flu)"
    own = sf.SkylinePrivacy([(0, 1, 0, 0.5)], value={"HIV": [(0, 0, 0, 0.1)]})
    assert "< 0.1 knowing (0, 0, 0) of 'HIV'" in own.required
    many = sf.SkylinePrivacy([(n, 9 - n, 0, 0.5) for n in range(9)])
    assert all(f"({n}, {9 - n}, 0)" in many.required for n in range(9))


# -- in a policy ----------------------------------------------------------------------------------


def test_a_policy_file_holds_it(tmp_path) -> None:
    criteria = [
        sf.SkylinePrivacy([(3, 10, 2, 0.5), (0, 20, 0, 1)]),
        sf.SkylinePrivacy([(0, 1, 0, 0.5)], value="HIV", sensitive="disease"),
        sf.SkylinePrivacy([(0, 1, 0, 0.5)], value=["HIV", "Flu"]),
        sf.SkylinePrivacy([], value={"HIV": [(1, 1, 1, 0.25)], "a b": [(0, 0, 0, 1)]}),
    ]
    file = tmp_path / "policy.toml"
    sf.Policy(criteria).save(file)
    assert list(sf.Policy.load(file).require) == criteria


def test_a_policy_file_may_use_tables(tmp_path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(
        '[[require]]\nkind = "skyline-privacy"\n'
        "points = [{ l = 3, k = 10, m = 2, c = 0.5 }]\n"
        "[require.value]\nHIV = [[5, 20, 5, 0.1]]\n"
    )
    expected = sf.SkylinePrivacy([(3, 10, 2, 0.5)], value={"HIV": [(5, 20, 5, 0.1)]})
    assert sf.Policy.load(file).require == (expected,)


def test_a_mistake_in_a_policy_file_is_one_line(tmp_path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[[require]]\nkind = "skyline-privacy"\npoints = [[0, 1, 0, 1.5]]\n')
    with pytest.raises(PolicyError) as caught:
        sf.Policy.load(file)
    assert str(caught.value) == (
        "policy.toml: [[require]] number 1: skyline-privacy: points has a point with c = 1.5; it "
        "must be a number above 0 and at most 1"
    )


# -- what a search may rely on --------------------------------------------------------------------


def test_merging_is_promised_of_single_values_and_of_lists_that_are_judged_exactly(
    tmp_path,
) -> None:
    criterion = sf.SkylinePrivacy([(0, 0, 0, 0.5)])
    assert not criterion.merge_closed
    assert criterion.bind(table(tmp_path).counts).merge_closed
    several = table(tmp_path, several=True).counts
    assert criterion.bind(several).merge_closed
    assert sf.SkylinePrivacy([(3, 1, 1, 0.5)]).bind(several).merge_closed
    source = random.Random(1)
    people = [source.sample([f"v{place}" for place in range(45)], 3) for _ in range(400)]
    lists = pa.table({"zip": [1] * 400, "disease": pa.array(people, pa.list_(pa.string()))})
    many = sf.read(lists, sf.Schema("zip", "disease")).counts
    assert sf.SkylinePrivacy([(1, 5, 5, 0.5)]).bind(many).merge_closed
    assert not sf.SkylinePrivacy([(10, 5, 5, 0.5)]).bind(many).merge_closed
    assert criterion.bind(table(tmp_path).counts).required == criterion.required


def test_merging_whole_lists_never_makes_anybody_surer() -> None:
    source, points = random.Random(3), list(product(range(3), range(3), range(3)))
    for _ in range(150):
        repeated = source.random() < 0.5
        rows = [
            [source.choices("ABCD", k=source.randint(0, 3)) for _ in range(source.randint(1, 5))]
            for _ in range(3)
        ]
        apart = Groups.of_lists(rows, "ABCD", repeated=repeated)
        together = apart.merge(np.array([0, 0, 1]), 2)
        asked = ([0] * len(points), points, "lists")
        assert (minima(together, *asked) >= minima(apart, *asked) * (1 - 1e-12)).all()


def test_merging_groups_of_single_values_keeps_them_safe() -> None:
    rng, held = np.random.default_rng(3), 0
    for _ in range(400):
        counts = rng.integers(0, 9, (3, int(rng.integers(2, 6)))) + rng.integers(0, 2)
        counts[:, 0] += 1
        point = (*rng.integers(0, 4, 3).tolist(), float(rng.choice([0.5, 0.75, 0.9, 1.0])))
        criterion = sf.SkylinePrivacy([point])
        if criterion.verdict(sf.Groups(counts)).holds:
            merged = np.vstack([counts[2:], counts[:2].sum(axis=0, keepdims=True)])
            assert criterion.verdict(sf.Groups(merged)).holds
            held += 1
    assert held > 40


def test_an_unsafe_group_of_sets_may_have_a_safe_split() -> None:
    merged = sf.Groups([[1, 1, 1]], list("ABC"), [4], case="set")
    apart = sf.Groups([[0, 1, 1], [1, 0, 0]], list("ABC"), [1, 3], case="set")
    criterion = sf.SkylinePrivacy([(2, 0, 0, 0.35)], value="A")
    assert not criterion.verdict(merged).holds
    assert criterion.verdict(apart).holds
    state = criterion.start(merged)
    assert criterion.split(state, merged, apart) is not None


@each_case
@settings(max_examples=few(60))
@given(data=st.data())
def test_a_split_is_allowed_if_what_comes_of_it_is_safe(case, data) -> None:
    """Split after split, the state knows what judging the whole partition anew would say."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    points = [
        (int(rng.integers(3)), int(rng.integers(3)), int(rng.integers(3)), c) for c in (0.7, 0.9)
    ]
    criterion = sf.SkylinePrivacy(points)

    def made(rows: list[tuple[int, list[int]]]) -> sf.Groups:
        return sf.Groups([c for _, c in rows], sizes=[n for n, _ in rows], case=case)

    counts = [int(n) for n in rng.integers(1, 9, 3)]
    root = (sum(counts) if case == "single" else max(counts) + int(rng.integers(9)), counts)
    present = [root]
    state = criterion.start(made(present))
    if not criterion.verdict(made(present)).holds and case == "single":
        return
    for _ in range(6):
        n, counts = present[at := int(rng.integers(len(present)))]
        left = [int(rng.integers(c + 1)) for c in counts]
        right = [c - one for c, one in zip(counts, left, strict=True)]
        sizes = (sum(left), sum(right))
        if case != "single":
            low = max(max(left), n - max(n - max(right), 0), 1)
            sizes = (low, n - low)
        if min(sizes) < 1 or (case == "set" and (max(left) > sizes[0] or max(right) > sizes[1])):
            continue
        parts = [(sizes[0], left), (sizes[1], right)]
        after = present[:at] + present[at + 1 :] + parts
        moved = criterion.split(state, made([present[at]]), made(parts))
        assert (moved is not None) is criterion.verdict(made(after)).holds
        if moved is not None:
            state, present = moved, after


def test_as_printed_the_update_of_fig_6_would_let_an_unsafe_split_pass() -> None:
    """A5 = min{A4, ...} forgets the family's group; min{A5, ...} does not."""
    x, y, z = [3, 3, 2, 5], [1, 2, 4, 0], [1, 20, 20, 20]
    criterion = sf.SkylinePrivacy([(1, 1, 1, 0.56)], value="0")

    def made(*rows: list[int]) -> sf.Groups:
        return sf.Groups(np.array(rows))

    rest = np.add(y, z).tolist()
    root = made(np.add(x, rest).tolist())
    printed = factor_bounds(root, [0], [(1, 1, 1)], "single").least.min(axis=(0, 1))
    for split in (made(x, rest), made(y, z)):
        found = factor_bounds(split, [0], [(1, 1, 1)], "single").least.min(axis=(0, 1))
        updated = np.minimum(printed, found)
        updated[4] = min(updated[3], found[4])
        printed = updated
    odds = min(printed[0], printed[1] * printed[2], printed[3] * printed[4])
    assert 1 / (1 + odds) < 0.56

    state = criterion.split(criterion.start(root), root, made(x, rest))
    assert state is not None
    assert criterion.split(state, made(rest), made(y, z)) is None
    assert not criterion.verdict(made(x, y, z)).holds


@cache
def one_value_each() -> TableCounts:
    """The counts of a table whose people have one value each, which a search binds it to."""
    rows = pa.table({"q": [1, 1], "s": ["0", "1"]})
    return sf.read(rows, sf.Schema(quasi=["q"], sensitive="s")).counts


@given(data=st.data())
def test_no_smaller_group_could_hold(data) -> None:
    point = data.draw(st.tuples(*[st.integers(0, 3)] * 3, st.sampled_from([0.1, 0.5, 0.8, 1])))
    bound = sf.SkylinePrivacy([point]).bind(one_value_each())
    assert bound.fewest_people > 1
    width = data.draw(st.integers(1, 6))
    counts = data.draw(st.lists(st.integers(0, 4), min_size=width, max_size=width).filter(any))
    if sum(counts) < bound.fewest_people:
        assert not bound.verdict(sf.Groups([counts])).holds
    for value in ("0", ["0", "1"], {"0": []}):
        some = sf.SkylinePrivacy([point], value=value).bind(one_value_each())
        assert some.fewest_people == 1


def test_the_fewest_people_are_enough_at_best() -> None:
    for point in ((0, 0, 0, 0.5), (2, 1, 0, 0.5), (0, 1, 3, 1), (1, 2, 1, 1)):
        criterion = sf.SkylinePrivacy([point]).bind(one_value_each())
        best = sf.Groups([[1] * criterion.fewest_people])
        assert criterion.verdict(best).holds, point
