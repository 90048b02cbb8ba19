"""Realistic adversaries: classes, bad input, priors, the model by enumeration, beliefs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.realistic.beliefs import Beliefs
from sfumato.adversaries.realistic.priors import RegionalPrior, SharedPrior
from sfumato.release.beside import Beside
from sfumato.release.description import Regions
from sfumato.release.release import as_it_stands
from sfumato.schema.region import Span
from tests.examples import few
from tests.oracles.dirichlet_oracle import needed

CLASSES = {
    "I": sf.RealisticAdversary("uniform", 1e6),
    "II": sf.RealisticAdversary(stubbornness=1e6),
    "III": sf.RealisticAdversary({"a": 0.5, "b": 0.5}, math.inf),
    "IV": sf.RealisticAdversary(stubbornness=math.inf),
}


@pytest.mark.parametrize("name", CLASSES)
def test_the_class_follows_from_what_is_given(name: str) -> None:
    her = CLASSES[name]
    assert her.adversary_class == name
    assert her.name == f"realistic {name}"
    assert f"class {name}" in str(her)


WRONG = {
    "nothing": ({}, "stubbornness is missing"),
    "shape only": ({"shape": "uniform"}, "stubbornness is missing"),
    "below one": ({"shape": "uniform", "stubbornness": 0.5}, "stubbornness = 0.5"),
    "not a number": ({"stubbornness": "many"}, "stubbornness = 'many'"),
    "nan": ({"stubbornness": math.nan}, "stubbornness = nan"),
    "truth": ({"stubbornness": True}, "stubbornness = True"),
    "word": ({"shape": "gaussian", "stubbornness": 9}, "shape = 'gaussian' is not allowed"),
    "object": ({"shape": 3, "stubbornness": 9}, "shape = 3 is not allowed"),
    "empty": ({"shape": {}, "stubbornness": 9}, "shape = {} is not allowed"),
    "negative": ({"shape": {"a": -0.5, "b": 1.5}, "stubbornness": 9}, "'a' = -0.5 is not allowed"),
    "sum": ({"shape": {"a": 0.5, "b": 0.25}, "stubbornness": 9}, "sum to 0.75, not to 1"),
    "mixed": ({"shape": {"a": 0.5, "b": 2}, "stubbornness": 9}, "'a' = 0.5 is neither a share nor"),
    "text": ({"shape": {"a": "x"}, "stubbornness": 9}, "'a' = 'x' is not allowed"),
    "infinite": ({"shape": {"a": math.inf}, "stubbornness": 9}, "'a' = inf is not allowed"),
    "known": ({"stubbornness": 9, "known": -1}, "known = -1"),
    "half known": ({"stubbornness": 9, "known": 1.5}, "known = 1.5"),
    "switch": ({"stubbornness": 9, "at_most": "no"}, "at_most = 'no'"),
    "region": ({"shape": "table", "stubbornness": 9, "by_region": True}, "by_region needs"),
}


@pytest.mark.parametrize(("given_", "told"), WRONG.values(), ids=list(WRONG))
def test_bad_input_is_told_in_one_line(given_, told: str) -> None:
    with pytest.raises(sf.PolicyError) as caught:
        sf.RealisticAdversary(**given_)
    text = str(caught.value)
    assert text.startswith("realistic adversary: ")
    assert told in text
    assert "\n" not in text


def test_a_misspelt_setting_is_guessed() -> None:
    with pytest.raises(sf.PolicyError, match="unknown key 'stubborness'; did you mean"):
        sf.EpsilonPrivacy(2, {"stubborness": 9})


# -- priors ---------------------------------------------------------------------------------------


def test_shares_and_counts_are_told_apart() -> None:
    groups = sf.Groups([[1, 1]], ["a", "b"])
    shares = sf.RealisticAdversary({"a": 0.25, "b": 0.75}, 8, at_most=False).prior(groups)
    assert shares == SharedPrior(2, (Fraction(1, 4), Fraction(3, 4)), (Fraction(8),))
    counted = sf.RealisticAdversary({"a": 1, "b": 5}, at_most=False).prior(groups)
    assert counted == SharedPrior(2, (Fraction(1, 4), Fraction(3, 4)), (Fraction(8),))
    scaled = sf.RealisticAdversary({"a": 1, "b": 5}, 100, at_most=False).prior(groups)
    assert scaled.totals == (Fraction(100),)
    # A value left out of counts was seen 0 times; one left out of shares has no share.
    assert sf.RealisticAdversary({"b": 5}).prior(groups).shares == (Fraction(1, 7), Fraction(6, 7))
    assert sf.RealisticAdversary({"b": 1.0}, 9).prior(groups).shares == (0, 1)
    thirds = dict.fromkeys("abc", 1 / 3)
    three = sf.RealisticAdversary(thirds, math.inf).prior(sf.Groups([[1, 1, 1]], list("abc")))
    assert three.shares == (Fraction(1, 3),) * 3


def test_at_most_also_tries_the_smallest_admissible_stubbornness() -> None:
    groups = sf.Groups([[1, 4]], ["a", "b"], reference=[1, 4])
    assert sf.RealisticAdversary("table", 500).prior(groups).totals == (500, 5)
    assert sf.RealisticAdversary("uniform", 2).prior(groups).totals == (2,)


def patients(ages: list[int], diseases: list[str]) -> sf.Table:
    schema = sf.Schema(quasi=["age"], sensitive="disease")
    return sf.read(pa.table({"age": ages, "disease": diseases}), schema)


def test_an_earlier_release_or_table_is_a_prior() -> None:
    earlier = patients([1, 1, 2, 3], ["flu", "flu", "flu", "gout"])
    now = as_it_stands(patients([1, 1, 1], ["flu", "cold", "cold"])).groups
    # flu 3 + 1, cold 0 + 1, and gout 1 + 1, which nobody has now: 7 in all.
    for outside in (earlier, as_it_stands(earlier)):
        prior = sf.RealisticAdversary(outside, at_most=False).prior(now)
        assert dict(zip(now.values, prior.shares, strict=True)) == {
            "cold": Fraction(1, 7),
            "flu": Fraction(4, 7),
        }
        assert prior.totals == (7,)
        her = sf.RealisticAdversary(outside, 1e6)
        assert her.adversary_class == "I"
        assert her == sf.RealisticAdversary(outside, 1e6)
        assert sf.EpsilonPrivacy(9, her).verdict(now).status in ("holds", "violated")
    assert sf.RealisticAdversary(earlier, math.inf).adversary_class == "III"
    lacking = sf.read(pa.table({"age": [1]}), sf.Schema(quasi=["age"]))
    with pytest.raises(sf.PolicyError, match="no sensitive column 'disease'"):
        sf.RealisticAdversary(lacking).prior(now)
    with pytest.raises(sf.PolicyError, match="no sensitive column 'disease'"):
        sf.RealisticAdversary(as_it_stands(lacking)).prior(now)


# -- the model by enumeration ---------------------------------------------------------------------

WEIGHTS = st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5)])


def subsets(width: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(width), n) for n in range(1, width)))


def measured(criterion: sf.EpsilonPrivacy, groups: sf.Groups, group: int = 0) -> Fraction | None:
    binding = criterion.binding(groups, group)
    exact = Fraction(1) if binding is None else binding.shift.epsilon
    value = criterion.measure(groups).per_group[group]
    assert value == pytest.approx(math.inf if exact is None else float(exact), rel=1e-12)
    return exact


def larger(found: list[Fraction | None]) -> Fraction | None:
    return None if None in found else max(found)


@settings(max_examples=few(60))
@given(data=st.data())
def test_the_formulas_are_those_of_the_model(data) -> None:
    width = data.draw(st.integers(2, 3))
    counts = data.draw(
        st.tuples(*[st.integers(0, 4)] * width).filter(lambda n: 1 <= sum(n) <= (6, 5)[width - 2])
    )
    weights = [data.draw(WEIGHTS) for _ in range(width)]
    known = data.draw(st.integers(0, min(3, sum(counts) - 1)))
    total = sum(weights)
    assume(total >= 1)
    values = [str(code) for code in range(width)]
    groups = sf.Groups([counts], values)
    her = sf.RealisticAdversary(
        {value: weight / total for value, weight in zip(values, weights, strict=True)},
        total,
        known=known,
        at_most=False,
    )
    single = [needed(counts, weights, {s}, known) for s in range(width) if counts[s]]
    assert measured(sf.EpsilonPrivacy(2, her), groups) == larger(single)
    every = [needed(counts, weights, set(about), known) for about in subsets(width)]
    assert measured(sf.EpsilonPrivacy(2, her, predicates="all"), groups) == larger(every)
    about = data.draw(st.sampled_from(subsets(width)))
    listed = [[values[code] for code in about]]
    given_set = sf.EpsilonPrivacy(2, her, predicates=listed)
    if any(counts[code] for code in about):
        assert measured(given_set, groups) == needed(counts, weights, set(about), known)
    rest = {"not": [value for value in values if value not in listed[0]]}
    complement = sf.EpsilonPrivacy(2, her, predicates=rest)
    assert measured(complement, groups) == measured(given_set, groups)


@settings(max_examples=few(25))
@given(data=st.data())
def test_class_two_is_the_worst_of_all_shapes(data) -> None:
    """No admissible prior on a grid needs more, and the worst one is on it."""
    counts = data.draw(st.tuples(*[st.integers(0, 3)] * 2).filter(any))
    known = data.draw(st.integers(0, min(2, sum(counts) - 1)))
    total = data.draw(st.integers(2, 6))
    groups = sf.Groups([counts])
    found = measured(
        sf.EpsilonPrivacy(2, sf.RealisticAdversary(stubbornness=total, known=known)), groups
    )
    grid = [
        needed(counts, (Fraction(one), Fraction(other)), {s}, known)
        for one in range(1, total)
        for other in range(1, total + 1 - one)
        for s in range(2)
        if counts[s]
    ]
    assert found == larger(grid)


@settings(max_examples=few(25))
@given(data=st.data())
def test_at_most_covers_every_smaller_stubbornness(data) -> None:
    counts = data.draw(st.tuples(*[st.integers(0, 6)] * 3).filter(any))
    parts = data.draw(st.tuples(*[st.integers(1, 6)] * 3))
    shares = {str(code): Fraction(part, sum(parts)) for code, part in enumerate(parts)}
    least = 1 / min(shares.values())
    most = least + data.draw(st.integers(0, 40))
    known = data.draw(st.integers(0, 2))
    groups = sf.Groups([counts])

    def epsilon(sigma: Fraction, at_most: bool) -> float:
        her = sf.RealisticAdversary(shares, sigma, known=known, at_most=at_most)
        return sf.EpsilonPrivacy(2, her).measure(groups).value

    covered = epsilon(most, True)
    tried = [epsilon(least + (most - least) * Fraction(step, 8), False) for step in range(9)]
    assert covered == max(tried)


@settings(max_examples=few(25))
@given(data=st.data())
def test_any_size_by_enumeration_at_both_ends(data) -> None:
    """The fewest records by the urn; infinitely many never move: p_out is her share."""
    counts = data.draw(st.tuples(*[st.integers(0, 4)] * 2).filter(lambda n: 1 <= sum(n) <= 6))
    parts = data.draw(st.tuples(*[st.integers(1, 5)] * 2))
    known = data.draw(st.integers(0, min(2, sum(counts) - 1)))
    shares = [Fraction(part, sum(parts)) for part in parts]
    fewest = [share / min(shares) for share in shares]
    left = sum(counts) - known
    tried: list[Fraction | None] = []
    for s, inside in enumerate(counts):
        if inside:
            tried.append(needed(counts, fewest, {s}, known))
            certain = left <= inside
            doubt = None if certain else (1 - shares[s]) / (1 - Fraction(inside, left))
            raised = min(Fraction(inside, left), Fraction(1)) / shares[s]
            tried.append(None if doubt is None else max(raised, doubt, Fraction(1)))
    shape = {str(code): share for code, share in enumerate(shares)}
    her = sf.RealisticAdversary(shape, math.inf, known=known)
    assert measured(sf.EpsilonPrivacy(2, her), sf.Groups([counts])) == larger(tried)


# -- one prior per region -------------------------------------------------------------------------


def regional(groups: list[list[int]], outside: sf.Table, **more) -> tuple:
    """Groups of people aged under 50 and from 50 on, and an adversary by region."""
    regions = Regions(("age",), ((Span(0, 50), Span(50, 100)),), np.array([[0, 1]], dtype=np.int32))
    described = sf.Groups(groups, ["cold", "flu"], attribute="disease").with_beside(Beside(regions))
    return described, sf.RealisticAdversary(outside, by_region=True, at_most=False, **more)


@settings(max_examples=few(20))
@given(data=st.data())
def test_priors_by_region_are_those_of_somebody_who_saw_the_region(data) -> None:
    """Enumerated: she starts without opinion and sees the outside people of the region first."""
    counts = [list(data.draw(st.tuples(*[st.integers(0, 3)] * 2).filter(any))) for _ in range(2)]
    seen = [data.draw(st.tuples(*[st.integers(0, 3)] * 2).filter(any)) for _ in range(2)]
    known = data.draw(st.integers(0, 1))
    assume(all(sum(c) > known for c in counts))
    ages, diseases = [], []
    for age, (cold, flu) in zip((20, 70), seen, strict=True):
        ages += [age] * (cold + flu)
        diseases += ["cold"] * cold + ["flu"] * flu
    groups, her = regional(counts, patients(ages, diseases), known=known)
    criterion = sf.EpsilonPrivacy(2, her)
    assert (criterion.merge_closed, criterion.needs) == (False, frozenset({"regions"}))
    flat = (Fraction(1), Fraction(1))
    for g in range(2):
        before = [0] * seen[g][0] + [1] * seen[g][1]
        expected = [
            needed(tuple(counts[g]), flat, {s}, known, before) for s in range(2) if counts[g][s]
        ]
        assert measured(criterion, groups, g) == larger(expected)
        listed = sf.EpsilonPrivacy(2, her, predicates=[["flu"], {"not": "flu"}])
        assert measured(listed, groups, g) == larger(expected)


def test_a_region_nobody_outside_fits_is_infinite_and_told() -> None:
    groups, her = regional([[5, 5], [5, 5]], patients([20] * 4, ["cold", "flu"] * 2))
    verdict = sf.EpsilonPrivacy(50, her).verdict(groups)
    assert (verdict.status, verdict.measured) == ("violated", math.inf)
    assert "1 of 2 groups have no admissible prior in the outside table" in verdict.note
    plain = sf.Groups([[5, 5]], ["cold", "flu"], attribute="disease")
    beliefs = Beliefs(her, groups)
    assert beliefs.private_range(50) is None
    assert beliefs.curves([10, math.inf]).epsilon.tolist() == [math.inf] * 2
    assert beliefs.curves([10], groups=[0]).epsilon[0] < 50  # the region somebody fits
    verdict = sf.EpsilonPrivacy(50, her).verdict(plain)
    assert verdict.status == "not_applicable"
    assert "do not publish regions" in verdict.note


def test_stubbornness_may_be_given_for_priors_by_region() -> None:
    outside = patients([20] * 3 + [70] * 3, ["cold", "flu", "flu", "cold", "cold", "gout"])
    groups, her = regional([[5, 5], [6, 4]], outside, stubbornness=60)
    prior = her.prior(groups)
    assert isinstance(prior, RegionalPrior)
    # By region cold, flu and gout: (1, 2, 0) + 1 and (2, 0, 1) + 1, of 6.
    assert prior.of(0) == SharedPrior(2, (Fraction(2, 6), Fraction(3, 6)), (Fraction(60),))
    assert prior.of(1) == SharedPrior(2, (Fraction(3, 6), Fraction(1, 6)), (Fraction(60),))
    for g in range(2):
        assert measured(sf.EpsilonPrivacy(2, her), groups, g) is not None
    endless = sf.RealisticAdversary(outside, math.inf, at_most=False, by_region=True)
    assert measured(sf.EpsilonPrivacy(2, endless), groups, 0) == Fraction(3, 2)
    any_size = sf.RealisticAdversary(outside, math.inf, by_region=True)
    # The least weight is 2 of 6 and 1 of 6: 3 and 6 records are the fewest.
    assert [any_size.prior(groups).of(g).totals for g in range(2)] == [(None, 3), (None, 6)]
    for g, fewest in enumerate((3, 6)):
        few = sf.RealisticAdversary(outside, fewest, at_most=False, by_region=True)
        ends = [measured(sf.EpsilonPrivacy(2, one), groups, g) for one in (endless, few)]
        assert measured(sf.EpsilonPrivacy(2, any_size), groups, g) == max(ends)
    small = sf.RealisticAdversary(outside, 2, by_region=True)
    assert sf.EpsilonPrivacy(99, small).measure(groups).value == math.inf
    both = sf.RealisticAdversary(outside, 60, by_region=True)
    assert measured(sf.EpsilonPrivacy(2, both), groups, 0) is not None
    # That nobody has gout is a disclosure.
    assert measured(sf.EpsilonPrivacy(2, both, predicates="all"), groups, 0) is None


def test_priors_by_region_in_the_lattice() -> None:
    ages = [20, 21, 22, 23, 70, 71, 72, 73] * 3
    diseases = ["cold", "flu", "cold", "flu", "flu", "flu", "cold", "cold"] * 3
    schema = sf.Schema(
        quasi=["age"], sensitive="disease", hierarchies={"age": sf.intervals([10, 50])}
    )
    table = sf.read(pa.table({"age": ages, "disease": diseases}), schema)
    criterion = sf.EpsilonPrivacy(1.5, sf.RealisticAdversary(table, by_region=True))
    release = sf.anonymize(table, sf.Policy([criterion], anonymizer=sf.Lattice()))
    assert sf.audit(release, [criterion]).holds


# -- beliefs --------------------------------------------------------------------------------------

TABLE3 = sf.Groups(
    [[200, 300], [1800, 2700], [18000, 2000]], ["flu", "cancer"], attribute="disease"
)


def test_curves_of_belief_against_stubbornness() -> None:
    her = sf.RealisticAdversary({"flu": 0.4, "cancer": 0.6}, 1e6)
    grid = [1.0, 100.0, 30_000.0, math.inf]
    curves = Beliefs(her, TABLE3).curves(grid)
    assert curves.p_out.shape == (4, 6)
    assert curves.value == ("flu", "cancer") * 3
    assert curves.group.tolist() == [0, 0, 1, 1, 2, 2]
    assert curves.p_in.tolist() == pytest.approx([0.4, 0.6, 0.4, 0.6, 0.9, 0.1])
    assert curves.p_out[2, 4] == pytest.approx((17_999 + 12_000) / (19_999 + 30_000))
    assert curves.p_out[3].tolist() == pytest.approx([0.4, 0.6] * 3)
    for place, sigma in enumerate(grid):
        alone = sf.RealisticAdversary({"flu": 0.4, "cancer": 0.6}, sigma, at_most=False)
        expected = sf.EpsilonPrivacy(2, alone).measure(TABLE3).value
        assert curves.epsilon[place] == pytest.approx(expected)
    some = Beliefs(her, TABLE3).curves(grid, groups=[2])
    assert some.p_out.shape == (4, 2)
    anything = Beliefs(sf.RealisticAdversary(stubbornness=1e3), TABLE3).curves([10, math.inf])
    expected = sf.EpsilonPrivacy(2, sf.RealisticAdversary(stubbornness=10)).measure(TABLE3).value
    assert anything.epsilon.tolist() == [pytest.approx(expected), math.inf]


@settings(max_examples=few(60))
@given(data=st.data())
def test_the_release_is_private_exactly_inside_its_range(data) -> None:
    counts = data.draw(
        st.lists(st.tuples(*[st.integers(0, 30)] * 2).filter(any), min_size=1, max_size=3)
    )
    groups = sf.Groups(counts)
    known = data.draw(st.integers(0, 2))
    epsilon = data.draw(st.sampled_from([1.2, 2.0, 5.0]))
    shape = data.draw(st.sampled_from([{"0": 0.5, "1": 0.5}, {"0": 0.1, "1": 0.9}, None]))
    her = sf.RealisticAdversary(shape, 100, known=known, at_most=False)
    beliefs = Beliefs(her, groups)
    found = beliefs.private_range(epsilon)
    for sigma in (2.0, 3.0, 10.0, 55.0, 1e3, 1e7, math.inf):
        needed_here = beliefs.curves([sigma]).epsilon[0]
        if abs(needed_here - epsilon) < 1e-6:
            continue
        inside = found is not None and found[0] <= sigma <= found[1]
        assert inside is bool(needed_here < epsilon)


@pytest.mark.parametrize("shape", ["table", None])
def test_one_value_only_moves_nobody_who_expected_no_other(shape: str | None) -> None:
    alone = sf.Groups([[4], [3]])
    her = sf.RealisticAdversary(shape, 9, at_most=False)
    assert sf.EpsilonPrivacy(2, her).verdict(alone).measured == 1
    assert Beliefs(her, alone).private_range(2) == (1, math.inf)
    everybody = sf.RealisticAdversary(shape, 9, known=3, at_most=False)
    assert sf.EpsilonPrivacy(2, everybody).verdict(alone).measured == math.inf
    assert Beliefs(everybody, alone).private_range(2) is None


def test_where_the_papers_table_stops_being_private() -> None:
    her = sf.RealisticAdversary({"flu": 0.4, "cancer": 0.6}, 1e6)
    low, high = Beliefs(her, TABLE3).private_range(2.5)
    assert low == 1
    edge = Beliefs(her, TABLE3).curves([high]).epsilon[0]
    assert edge == pytest.approx(2.5)
    assert Beliefs(her, TABLE3).private_range(6) == (1, math.inf)


def test_her_row_of_the_threat_matrix() -> None:
    (threat,) = Beliefs(sf.RealisticAdversary({"flu": 0.4, "cancer": 0.6}, 3e4), TABLE3).threats()
    assert threat.adversary == "realistic I"
    assert (threat.people.number, threat.status) == (20_000, "measured")
    assert (threat.belief.value, threat.about) == ("flu", "disease")
    assert (threat.belief.before, threat.belief.after) == pytest.approx((0.6, 0.9), abs=1e-4)
    # Nothing but noise holds against class IV: that is no finding about a release.
    assert Beliefs(sf.RealisticAdversary(stubbornness=math.inf), TABLE3).threats() == []
    for groups in (sf.Groups(np.zeros((0, 2))), sf.Groups(np.zeros((1, 0)), sizes=[2])):
        (nothing,) = Beliefs(sf.RealisticAdversary(stubbornness=9), groups).threats()
        assert (nothing.status, nothing.belief) == ("not_applicable", None)
    (small,) = Beliefs(sf.RealisticAdversary({"flu": 0.1, "cancer": 0.9}, 2), TABLE3).threats()
    assert small.status == "not_applicable"


# -- policy files ---------------------------------------------------------------------------------

POLICY = """
[[require]]
kind = "epsilon-privacy"
epsilon = 2.5
adversary = { shape = "table", stubbornness = 1e6, known = 0, at_most = true }

[[require]]
kind = "epsilon-privacy"
epsilon = 4
adversary = { stubbornness = inf, shape = { flu = 0.25, "cold, bad" = 0.75 } }
predicates = [["flu", "cold, bad"], { not = "flu" }]

[[require]]
kind = "epsilon-privacy"
epsilon = 3
adversary = { stubbornness = 1000, known = 2 }
mode = "theorem"
predicates = "values"

[[require]]
kind = "epsilon-privacy"
epsilon = 3
adversary = { shape = { flu = 120, cold = 80 }, at_most = false }
"""


def test_a_policy_file_names_several_adversaries_and_is_written_back(tmp_path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    policy = sf.Policy.load(path)
    assert [criterion.against for criterion in policy.require] == [
        "realistic I",
        "realistic III",
        "realistic II",
        "realistic I",
    ]
    assert policy.require[0] == sf.EpsilonPrivacy(2.5, sf.RealisticAdversary("table", 1e6))
    policy.save(path)
    assert sf.Policy.load(path).require == policy.require
    again = sf.Policy.load(path)
    again.save(path)
    assert sf.Policy.load(path).require == policy.require


BROKEN = {
    "key": ("{ stubborness = 5 }", "unknown key 'stubborness'; did you mean 'stubbornness'?"),
    "word": ("'strong'", "adversary = 'strong' is not allowed"),
    "shape": ("{ shape = 'unifrm', stubbornness = 5 }", "shape = 'unifrm' is not allowed"),
    "sum": ("{ shape = { a = 0.5 }, stubbornness = 5 }", "sum to 0.5, not to 1"),
    "small": ("{ shape = 'uniform', stubbornness = 0 }", "stubbornness = 0 is not allowed"),
}


@pytest.mark.parametrize(("text", "told"), BROKEN.values(), ids=list(BROKEN))
def test_a_mistake_in_a_policy_file_is_told(tmp_path, text: str, told: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(f'[[require]]\nkind = "epsilon-privacy"\nepsilon = 2\nadversary = {text}')
    with pytest.raises(sf.PolicyError) as caught:
        sf.Policy.load(path)
    assert told in str(caught.value)
    assert str(caught.value).startswith("policy.toml: [[require]] number 1")
    assert "\n" not in str(caught.value)


def test_a_table_is_kept_beside_the_policy(tmp_path) -> None:
    outside = patients([1, 1, 2], ["flu", "flu", "cold"])
    policy = sf.Policy(
        [sf.EpsilonPrivacy(2, sf.RealisticAdversary(outside))], schema=outside.schema
    )
    policy.save(tmp_path / "policy.toml")
    (back,) = sf.Policy.load(tmp_path / "policy.toml").require
    now = as_it_stands(patients([1], ["flu"])).groups
    assert back.adversary.prior(now) == policy.require[0].adversary.prior(now)
    with pytest.raises(sf.PolicyError, match=r"needs the \[schema\] of its columns"):
        sf.Policy(policy.require).save(tmp_path / "other.toml")


def test_lattice_and_mondrian_keep_several_adversaries_out() -> None:
    rng = np.random.default_rng(3)
    schema = sf.Schema(
        quasi=["age"], sensitive="disease", hierarchies={"age": sf.intervals([5, 10, 20])}
    )
    ages = rng.integers(20, 80, 600)
    diseases = np.where(rng.random(600) < ages / 100, "flu", "cold")
    table = sf.read(pa.table({"age": ages, "disease": diseases}), schema)
    require = [
        sf.EpsilonPrivacy(2.5, sf.RealisticAdversary("table", 1e6)),
        sf.EpsilonPrivacy(3, sf.RealisticAdversary(stubbornness=100, known=1)),
    ]
    for anonymizer in (sf.Lattice(), sf.Mondrian()):
        release = sf.anonymize(table, sf.Policy(require, anonymizer=anonymizer))
        assert len(release.groups) > 1
        assert sf.audit(release, require).holds


OUTSIDE = """
[schema]
quasi = ["age"]
sensitive = "disease"

[[require]]
kind = "epsilon-privacy"
epsilon = 9
adversary = { shape = { file = "census.csv" }, at_most = false }

[[require]]
kind = "epsilon-privacy"
epsilon = 9
adversary = { shape = { file = "census.csv" }, by_region = true, stubbornness = 50 }
"""


def test_a_policy_file_names_an_outside_table(tmp_path) -> None:
    (tmp_path / "census.csv").write_text("age,disease\n1,flu\n1,flu\n2,flu\n3,gout\n")
    path = tmp_path / "policy.toml"
    path.write_text(OUTSIDE)
    plain, by_region = sf.Policy.load(path).require
    now = as_it_stands(patients([1, 1, 1], ["flu", "cold", "cold"])).groups
    assert plain.adversary.prior(now).totals == (7,)
    assert by_region.adversary.prior(now).outside.tolist() == [[0, 2]]
    path.write_text(OUTSIDE.replace("census.csv", "missing.csv"))
    with pytest.raises(sf.InputError, match=r"missing\.csv"):
        sf.Policy.load(path)
    path.write_text(OUTSIDE.replace('file = "census.csv" }', 'file = "census.csv", flu = 3 }'))
    with pytest.raises(sf.PolicyError, match="cannot name shares or counts as well"):
        sf.Policy.load(path)
    path.write_text(OUTSIDE[OUTSIDE.index("[[require]]") :])
    with pytest.raises(sf.PolicyError, match=r"needs the \[schema\]"):
        sf.Policy.load(path)
