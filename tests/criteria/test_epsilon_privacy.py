"""epsilon-privacy: every golden value, both modes, all classes; errata; words; bad input."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.realistic.ratios import epsilons
from sfumato.criteria.base import judge
from sfumato.criteria.epsilon_privacy import EpsilonPrivacy
from sfumato.release.release import as_it_stands
from tests.examples import few
from tests.oracles.dirichlet_oracle import needed

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "golden" / "epsilon_privacy.json").read_text()
)
GROUPS = [pytest.param(case, id=f"{case['group']}-b{case['b']}") for case in GOLDEN["groups"]]


def number(text: str) -> Fraction | None:
    return None if text == "inf" else Fraction(text)


def groups_of(counts: dict[str, int]) -> sf.Groups:
    return sf.Groups([list(counts.values())], list(counts))


def same(criterion: EpsilonPrivacy, groups: sf.Groups, expected: Fraction | None) -> None:
    """The float measure within 1e-12, the fraction exactly."""
    measured = criterion.measure(groups).value
    binding = criterion.binding(groups, 0)
    if expected is None:
        assert measured == math.inf
        assert binding is None or binding.shift.epsilon is None
        return
    assert measured == pytest.approx(float(expected), rel=1e-12)
    assert binding is not None
    assert binding.shift.epsilon == expected


def class_one(sigma: dict[str, str], known: int) -> sf.RealisticAdversary:
    weights = {value: Fraction(weight) for value, weight in sigma.items()}
    total = sum(weights.values())
    shares = {value: weight / total for value, weight in weights.items()}
    return sf.RealisticAdversary(shares, total, known=known, at_most=False)


@pytest.mark.parametrize("case", GROUPS)
def test_class_one(case: dict[str, Any]) -> None:
    groups = groups_of(case["counts"])
    for prior in case["classI"]:
        her = class_one(prior["sigma"], case["b"])
        same(EpsilonPrivacy(2, her), groups, number(prior["exact"]["min_eps"]))
        every = EpsilonPrivacy(2, her, predicates="all")
        same(every, groups, number(prior["exact_all_subsets_min_eps"]))
        theorem = EpsilonPrivacy(2, her, mode="theorem")
        if min(map(Fraction, prior["sigma"].values())) < 1:
            assert theorem.verdict(groups).status == "not_applicable"
            with pytest.raises(sf.InputError, match="Theorem 1 is unsound"):
                theorem.measure(groups)
        else:
            same(theorem, groups, number(prior["theorem"]["min_eps"]))
        if not prior["theorem_valid"]:
            # The literal theorem all the same: the formulas are those of the paper.
            found = epsilons(groups, her.prior(groups), "values", case["b"], theorem=True)
            printed = number(prior["theorem"]["min_eps"])
            assert found[0] == pytest.approx(math.inf if printed is None else float(printed))


@pytest.mark.parametrize("case", GROUPS)
def test_class_two(case: dict[str, Any]) -> None:
    groups = groups_of(case["counts"])
    for prior in case["classII"]:
        her = sf.RealisticAdversary(stubbornness=prior["sigma"], known=case["b"])
        same(EpsilonPrivacy(2, her), groups, number(prior["exact"]))
        same(EpsilonPrivacy(2, her, mode="theorem"), groups, number(prior["theorem"]))


@pytest.mark.parametrize("case", GROUPS)
def test_class_three_and_four(case: dict[str, Any]) -> None:
    groups = groups_of(case["counts"])
    for prior in case["classIII"]:
        shares = {value: Fraction(share) for value, share in prior["shape"].items()}
        her = sf.RealisticAdversary(shares, math.inf, known=case["b"], at_most=False)
        assert her.adversary_class == "III"
        same(EpsilonPrivacy(2, her), groups, number(prior["min_eps"]))
        same(EpsilonPrivacy(2, her, mode="theorem"), groups, number(prior["min_eps"]))
    assert case["classIV"] == "inf"
    her = sf.RealisticAdversary(stubbornness=math.inf, known=case["b"])
    assert her.adversary_class == "IV"
    same(EpsilonPrivacy(2, her), groups, None)


TABLE3 = {
    "M<40": {"flu": 200, "cancer": 300},
    "M>=40": {"flu": 1800, "cancer": 2700},
    "F>=40": {"flu": 18000, "cancer": 2000},
}


def table3(*names: str) -> sf.Groups:
    return sf.Groups([list(TABLE3[name].values()) for name in names], ["flu", "cancer"])


def test_the_paper_s_table_3() -> None:
    printed = GOLDEN["paper_table3"]
    everybody = table3(*TABLE3)
    # Counts as seen: D(12000, 18000) is 11,999 and 17,999 records.
    seen = sf.RealisticAdversary({"flu": 11_999, "cancer": 17_999}, at_most=False)
    assert seen.prior(everybody).totals == (30_000,)
    for mode in ("exact", "theorem"):
        worst = EpsilonPrivacy(2.5, seen, mode=mode).measure(everybody).value
        expected = Fraction(printed["classI_D(12000,18000)"][mode])
        assert worst == pytest.approx(float(expected), rel=1e-12)
        for key, size, group in (
            ("classII_30000_M<40", 30_000, "M<40"),
            ("classII_30000_F", 30_000, "F>=40"),
            ("classII_1000_M<40", 1_000, "M<40"),
        ):
            her = sf.RealisticAdversary(stubbornness=size)
            same(EpsilonPrivacy(2, her, mode=mode), table3(group), Fraction(printed[key][mode]))
    assert not EpsilonPrivacy(2.5, seen).verdict(everybody).holds
    assert not EpsilonPrivacy(4, seen).verdict(everybody).holds  # 4.00008
    endless = sf.RealisticAdversary({"flu": 0.4, "cancer": 0.6}, math.inf, at_most=False)
    assert EpsilonPrivacy(6, endless).verdict(everybody).holds
    assert EpsilonPrivacy(2, endless).measure(everybody).value == float(printed["classIII"])


def test_a_bound_met_exactly_holds_and_just_below_it_does_not() -> None:
    groups = sf.Groups([[1, 4]])
    her = sf.RealisticAdversary({"0": 0.2, "1": 0.8}, 5, at_most=False)
    assert EpsilonPrivacy(1.8, her).verdict(groups).holds
    assert EpsilonPrivacy(1.8, her).verdict(groups).measured == 1.8
    assert not EpsilonPrivacy(1.7999999999, her).verdict(groups).holds
    assert not EpsilonPrivacy(1.799999999999999, her).verdict(groups).holds


def test_erratum_1_the_theorem_is_refused_where_it_is_unsound() -> None:
    groups = sf.Groups([[1, 1]])
    her = sf.RealisticAdversary(
        {"0": Fraction(3, 103), "1": Fraction(100, 103)}, Fraction(103, 4), at_most=False
    )
    exact = EpsilonPrivacy(2, her).binding(groups, 0)
    assert exact is not None
    assert exact.shift.epsilon == Fraction(107, 6)
    assert epsilons(groups, her.prior(groups), "values", 0, theorem=True)[0] == 111 / 8
    assert "Theorem 1" in EpsilonPrivacy(2, her, mode="theorem").verdict(groups).note


def test_erratum_3_at_most_counts_smaller_stubbornness_too() -> None:
    groups, shape = sf.Groups([[1, 4]]), {"0": 0.2, "1": 0.8}
    alone = EpsilonPrivacy(2, sf.RealisticAdversary(shape, 500, at_most=False))
    same(alone, groups, Fraction(126, 125))
    same(EpsilonPrivacy(2, sf.RealisticAdversary(shape, 500)), groups, Fraction(9, 5))
    rare = {"0": 0.01, "1": 0.99}
    for sigma, least in ((50, 21.6), (10, 28), (1, 100)):
        one = EpsilonPrivacy(2, sf.RealisticAdversary(rare, sigma, at_most=False))
        assert one.measure(groups).value == pytest.approx(least, rel=1e-12)
        verdict = EpsilonPrivacy(200, sf.RealisticAdversary(rare, sigma)).verdict(groups)
        assert verdict.status == "not_applicable"
        assert "below 1" in verdict.note


def test_infinity_covers_no_smaller_stubbornness_unless_at_most() -> None:
    groups = sf.Groups([[1, 4]] * 20)
    paper = EpsilonPrivacy(1.5, sf.RealisticAdversary("table", math.inf, at_most=False))
    assert paper.verdict(groups).measured == 1
    assert "σ inf" in paper.required
    any_size = EpsilonPrivacy(1.5, sf.RealisticAdversary("table", math.inf))
    verdict = any_size.verdict(groups)
    assert (verdict.status, verdict.measured) == ("violated", pytest.approx(1.8))
    same(any_size, groups, Fraction(9, 5))
    assert "σ ≤ inf" in any_size.required
    assert "who has seen 5 outside records" in verdict.note
    # A value nobody has and her prior rules out does not count; one that somebody has does.
    ruled_out = sf.RealisticAdversary({"0": 0.2, "1": 0.8, "2": 0.0}, math.inf)
    assert EpsilonPrivacy(2, ruled_out).measure(sf.Groups([[1, 4, 0]])).value == pytest.approx(1.8)
    assert EpsilonPrivacy(2, ruled_out).measure(sf.Groups([[1, 3, 1]])).value == math.inf


def test_lemma_1_counterexamples_need_more_than_the_paper_says() -> None:
    for case in GOLDEN["lemma1_counterexamples"]:
        groups = sf.Groups(case["groups"])
        her = sf.RealisticAdversary("table", math.inf, at_most=False)
        needed = Fraction(case["eps_needed"])
        assert needed > Fraction(case["eps_t_paper"])
        criterion = EpsilonPrivacy(2, her)
        found = max(criterion.binding(groups, g).shift.epsilon for g in range(len(groups)))
        assert found == needed
        assert criterion.measure(groups).value == pytest.approx(float(needed), rel=1e-12)
        ground = "equal" if case["distance"].startswith("equal") else "ordered"
        near = sf.TCloseness(0.5, distance=ground).measure(groups).value
        assert near == pytest.approx(float(Fraction(case["t"])))


# -- predicates -----------------------------------------------------------------------------------


def test_given_sets_and_negative_disclosure() -> None:
    groups = sf.Groups([[4, 4, 2]], ["ulcer", "dyspepsia", "flu"])
    her = sf.RealisticAdversary("uniform", 30, at_most=False)
    stomach = EpsilonPrivacy(2, her, predicates=[["ulcer", "dyspepsia"]])
    # A = 8 of 10, weight 20 of 30: p_out = 27/39.
    binding = stomach.binding(groups, 0)
    assert binding is not None
    assert (binding.shift.believed_in, binding.shift.believed_out) == (
        Fraction(8, 10),
        Fraction(27, 39),
    )
    assert binding.shift.epsilon == Fraction(12, 39) / Fraction(2, 10)
    without = EpsilonPrivacy(2, her, predicates={"not": "flu"})
    assert without.measure(groups).value == stomach.measure(groups).value
    assert "not 'flu'" in without.verdict(groups).note
    assert "'dyspepsia' or 'ulcer'" in stomach.verdict(groups).note or "'ulcer' or" in (
        stomach.verdict(groups).note
    )
    mixed = EpsilonPrivacy(2, her, predicates=["flu", ["ulcer"], {"not": ["flu", "ulcer"]}])
    assert mixed.measure(groups).value >= 1


def test_a_value_nobody_has_is_a_negative_disclosure() -> None:
    groups = sf.Groups([[4, 4, 0]])
    for her in (
        sf.RealisticAdversary("uniform", 30),
        sf.RealisticAdversary(stubbornness=30),
        sf.RealisticAdversary("uniform", math.inf),
    ):
        assert EpsilonPrivacy(9, her).measure(groups).value < 9
        assert EpsilonPrivacy(9, her, predicates="all").measure(groups).value == math.inf
        assert EpsilonPrivacy(9, her, predicates=[{"not": "2"}]).measure(groups).value == math.inf
        # Nobody has it: nothing becomes more believable.
        assert EpsilonPrivacy(9, her, predicates=["2"]).measure(groups).value == 1


def test_all_sets_of_class_two_by_the_least_frequent_value() -> None:
    groups = sf.Groups([[10, 5, 3]])
    for b in (0, 2):
        her = sf.RealisticAdversary(stubbornness=50, known=b)
        n, sigma, k, a = 18, 50, 3, 3
        second = Fraction((n - b) * (a + sigma - k + 1), (a - b) * (n + sigma - 1))
        first = Fraction(n + sigma - 1, n - b)
        same(EpsilonPrivacy(2, her, predicates="all"), groups, max(first, second))


# -- infinity, words, bad input -------------------------------------------------------------------


def test_infinity_is_a_value_with_a_note() -> None:
    her = sf.RealisticAdversary("uniform", 100, known=5)
    verdict = EpsilonPrivacy(2, her).verdict(sf.Groups([[2, 2], [50, 50]]))
    assert (verdict.status, verdict.measured) == ("violated", math.inf)
    assert "she may know everybody: 4 people" in verdict.note
    ruled_out = sf.RealisticAdversary({"0": 1.0, "1": 0.0}, math.inf)
    verdict = EpsilonPrivacy(2, ruled_out).verdict(sf.Groups([[9, 1]]))
    assert (verdict.status, verdict.measured) == ("violated", math.inf)
    assert "which her prior rules out" in verdict.note
    verdict = EpsilonPrivacy(2, sf.RealisticAdversary("uniform", 9)).verdict(sf.Groups([[9, 0]]))
    assert "certainty" in verdict.note
    endless = EpsilonPrivacy(2, sf.RealisticAdversary(stubbornness=math.inf))
    assert "never kept" in endless.verdict(sf.Groups([[5, 5]])).note


def test_the_worst_group_in_plain_words() -> None:
    groups = sf.Groups([[36, 64], [90, 10]], ["flu", "cancer"], reference=[36, 64])
    verdict = EpsilonPrivacy(2, sf.RealisticAdversary("table", 1e6, at_most=False)).verdict(groups)
    assert verdict.status == "violated"
    assert (
        "in the worst group an adversary who has seen 1,000,000 outside records would raise her "
        "belief in 'flu' from .36 to .90, her doubt falling 6.399 times"
    ) in verdict.note


def test_several_attributes_name_the_one_meant() -> None:
    her = sf.RealisticAdversary({"flu": 0.5, "cold": 0.5}, 100)
    with pytest.raises(sf.PolicyError, match="shape names 'cold'") as caught:
        EpsilonPrivacy(2, her).verdict(sf.Groups([[1, 1]], ["flu", "cough"], attribute="disease"))
    assert "\n" not in str(caught.value)
    with pytest.raises(sf.PolicyError, match=r"predicates names 'flue'.*did you mean 'flu'"):
        EpsilonPrivacy(2, sf.RealisticAdversary("uniform", 9), predicates=["flue"]).verdict(
            sf.Groups([[1, 1]], ["flu", "cough"])
        )
    with pytest.raises(sf.PolicyError, match=r"stubbornness = 2 is below the 3 values"):
        EpsilonPrivacy(2, sf.RealisticAdversary(stubbornness=2)).verdict(sf.Groups([[1, 1, 1]]))


def test_it_equals_itself_by_its_parameters() -> None:
    shape = {"a": 0.5, "b": 0.5}
    one = EpsilonPrivacy(2, sf.RealisticAdversary(shape, 9), predicates=[["a", "b"]])
    assert one == EpsilonPrivacy(2, {"shape": shape, "stubbornness": 9}, predicates=[("b", "a")])
    assert one != EpsilonPrivacy(2, sf.RealisticAdversary(shape, 10), predicates=[["a", "b"]])
    assert len({one, EpsilonPrivacy(2, sf.RealisticAdversary(shape, 9), predicates=[["a", "b"]])})


def test_closures_and_needs_follow_the_prior() -> None:
    fixed = EpsilonPrivacy(2, sf.RealisticAdversary("table", 100))
    assert (fixed.merge_closed, fixed.upward_closed, fixed.needs) == (True, False, frozenset())
    assert fixed.against == "realistic I"


def test_many_groups_are_one_vectorised_pass() -> None:
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 40, (2_000, 6)) + 1
    groups = sf.Groups(counts)
    for her in (
        sf.RealisticAdversary("table", 1e3),
        sf.RealisticAdversary(stubbornness=1e3, known=1),
        sf.RealisticAdversary("uniform", math.inf),
    ):
        for predicates in ("values", "all", [["0", "3"], {"not": ["1", "2"]}]):
            criterion = EpsilonPrivacy(3, her, predicates=predicates)
            measured = criterion.measure(groups).per_group
            for g in range(0, 2_000, 97):
                binding = criterion.binding(groups, g)
                needed = binding.shift.epsilon if binding else Fraction(1)
                expected = math.inf if needed is None else float(needed)
                assert measured[g] == pytest.approx(expected, rel=1e-12)


# -- per person -----------------------------------------------------------------------------------

BY_PERSON = {"protect": {"all": "values", "stomach": [["ulcer", "dyspepsia"]], "none": []}}


def people(labels: list[str], diseases: list[str], ages: list[int]) -> sf.Table:
    schema = sf.Schema(
        quasi=["age"],
        sensitive="disease",
        protect="wish",
        hierarchies={"age": sf.intervals([10, 100])},
    )
    rows = pa.table({"age": ages, "disease": diseases, "wish": labels})
    return sf.read(rows, schema)


def test_a_group_is_checked_on_what_its_members_protect() -> None:
    diseases = ["ulcer", "dyspepsia", "flu", "flu"]
    her = sf.RealisticAdversary("uniform", 30)
    criterion = EpsilonPrivacy(2, her, predicates=BY_PERSON)
    assert (criterion.merge_closed, criterion.needs) == (False, frozenset({"protect"}))
    assert "by person" in criterion.required

    def epsilon(labels: list[str]) -> float:
        groups = as_it_stands(people(labels, diseases, [1] * 4)).groups
        value = criterion.measure(groups).value
        binding = criterion.binding(groups, 0)
        assert value == pytest.approx(float(binding.shift.epsilon) if binding else 1)
        return value

    groups = as_it_stands(people(["none"] * 4, diseases, [1] * 4)).groups
    values = EpsilonPrivacy(2, her).measure(groups).value
    stomach = EpsilonPrivacy(2, her, predicates=[["ulcer", "dyspepsia"]]).measure(groups).value
    assert epsilon(["none"] * 4) == 1
    assert epsilon(["none", "none", "none", "stomach"]) == stomach
    assert epsilon(["none", "all", "none", "none"]) == values
    assert epsilon(["stomach", "all", "none", "none"]) == max(values, stomach)


def test_per_person_predicates_in_the_lattice_and_in_a_policy_file(tmp_path) -> None:
    table = people(
        ["all", "none"] * 6, ["flu", "ulcer", "ulcer", "flu"] * 3, [1, 2, 3, 11, 12, 13] * 2
    )
    predicates = {"protect": {"all": "values", "none": []}}
    criterion = EpsilonPrivacy(1.5, sf.RealisticAdversary("table", 9), predicates=predicates)
    policy = sf.Policy([criterion], anonymizer=sf.Lattice())
    release = sf.anonymize(table, policy)
    assert sf.audit(release, policy).holds
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml").require == policy.require


def test_what_is_not_said_of_protected_people_is_an_error_or_not_applicable() -> None:
    her = sf.RealisticAdversary("uniform", 30)
    criterion = EpsilonPrivacy(2, her, predicates={"protect": {"all": "values"}})
    verdict = criterion.verdict(sf.Groups([[1, 1]]))
    assert (verdict.status, "no protect column" in verdict.note) == ("not_applicable", True)
    groups = as_it_stands(people(["all", "some"], ["flu", "ulcer"], [1, 1])).groups
    with pytest.raises(sf.PolicyError, match="do not say what 'some' protects"):
        criterion.verdict(groups)
    for wrong in ({"protect": "values"}, {"protect": {}}, {"protect": {"a": 3}}, [], {}):
        with pytest.raises(sf.PolicyError, match="epsilon-privacy: predicates"):
            EpsilonPrivacy(2, her, predicates=wrong)


# -- several columns as one -----------------------------------------------------------------------

PEOPLE = [
    ("x", "flu", "poor"), ("x", "flu", "rich"), ("x", "HIV", "poor"), ("x", "HIV", "poor"),
    ("y", "flu", "poor"), ("y", "HIV", "rich"), ("y", "flu", "rich"), ("y", "flu", "rich"),
]  # fmt: skip
TWO = sf.Schema(quasi=["q"], sensitive=["ill", "income"])
ONE = sf.Schema(quasi=["q"], sensitive="both")


def two(rows: Any = PEOPLE) -> sf.Table:
    columns = dict(zip(("q", "ill", "income"), zip(*rows, strict=True), strict=True))
    return sf.read(pa.table(columns), TWO, threads=1)


def together(rows: Any = PEOPLE) -> sf.Table:
    joined = {"q": [q for q, _, _ in rows], "both": [f"{ill} | {inc}" for _, ill, inc in rows]}
    return sf.read(pa.table(joined), ONE, threads=1)


@pytest.mark.parametrize(
    "her",
    [
        {"shape": "table", "stubbornness": 40},
        {"shape": "uniform", "stubbornness": math.inf},
        {"stubbornness": 9, "known": 1},
        {"shape": {"flu | poor": 3, "HIV | poor": 2}},
        {"shape": "an outside table"},
        {"shape": "an outside table", "by_region": True},
        {"shape": "an earlier release"},
        {"shape": "an earlier release", "by_region": True},
    ],
    ids=str,
)
def test_several_columns_as_one_are_a_column_of_their_values_together(her: dict[str, Any]) -> None:
    """As if the table had one column that says both; outside people are read the same way."""
    outside = [*PEOPLE, ("x", "flu", "poor"), ("y", "cold", "rich")]

    def asked(read: Any) -> sf.RealisticAdversary:
        shapes = {
            "an outside table": lambda: read(outside),
            "an earlier release": lambda: as_it_stands(read(outside)),
        }
        shape = her.get("shape")
        given = shapes[shape]() if isinstance(shape, str) and shape in shapes else shape
        return sf.RealisticAdversary(**{**her, "shape": given})

    joint = EpsilonPrivacy(2, asked(two), joint=["ill", "income"])
    found = judge(joint, as_it_stands(two()))
    right = judge(EpsilonPrivacy(2, asked(together)), as_it_stands(together()))
    assert found.measured == right.measured
    assert found.status == right.status
    assert found.attribute == "ill | income"
    assert "ill and income together" in found.required
    alone = judge(EpsilonPrivacy(2, sf.RealisticAdversary("table", 40)), as_it_stands(two()))
    assert alone.measured is not None
    assert "together" not in alone.required


pairs = st.tuples(*map(st.sampled_from, ("xy", ("flu", "HIV"), ("poor", "rich"))))


@settings(max_examples=few(40))
@given(st.lists(pairs, min_size=3, max_size=7), st.sampled_from((3, 20)), st.integers(0, 1))
def test_several_columns_as_one_by_every_world(
    rows: list[tuple[str, str, str]], sigma: int, known: int
) -> None:
    """What people have of both is drawn from an urn; whoever is suppressed stays in the table."""
    small = {q for q in "xy" if [row[0] for row in rows].count(q) < 2}
    assume(small != {row[0] for row in rows})
    release = sf.generalize(two(rows), {"q": 0}, require=[sf.KAnonymity(2)], suppression=0.5)
    have = Counter((ill, income) for _, ill, income in rows)
    values = sorted(have)
    weights = [Fraction(sigma * have[value], len(rows)) for value in values]
    needs: list[Fraction | None] = []
    for q in {row[0] for row in rows} - small:
        mine = Counter((ill, income) for own, ill, income in rows if own == q)
        counts = tuple(mine[value] for value in values)
        needs += [needed(counts, weights, {code}, known) for code in range(len(values))]
    right = None if None in needs else max(filter(None, needs))
    her = sf.RealisticAdversary("table", sigma, known=known, at_most=False)
    with TemporaryDirectory() as folder:
        release.save(Path(folder) / "out")
        read = sf.read_release(Path(folder) / "out", TWO)
    for judged in (release, read):
        verdict = judge(EpsilonPrivacy(2, her, joint=["ill", "income"]), judged)
        if judged is read and release.suppressed:  # what they have together is kept nowhere
            assert (verdict.status, verdict.measured) == ("cannot_judge", None)
            continue
        exact = math.inf if right is None else float(right)
        assert verdict.measured == pytest.approx(exact, rel=1e-12)
        assert verdict.holds is (right is not None and right <= 2)


def test_joint_columns_are_for_finished_releases_and_fit_a_policy(tmp_path: Path) -> None:
    criterion = EpsilonPrivacy(5, sf.RealisticAdversary("table", 40), joint=["ill", "income"])
    policy = sf.Policy([criterion], schema=TWO, anonymizer=sf.Lattice())
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml") == policy
    with pytest.raises(sf.PolicyError, match="judged on a finished release only"):
        sf.anonymize(two(), policy)
    report = sf.audit(as_it_stands(two()), policy)
    assert report.verdicts[0].attribute == "ill | income"
    with pytest.raises(sf.PolicyError, match="joint = 'work' is not a sensitive column"):
        sf.Policy([EpsilonPrivacy(5, criterion.adversary, joint=["ill", "work"])], schema=TWO)
    lacking = sf.RealisticAdversary(together(), math.inf)
    with pytest.raises(sf.PolicyError, match=r"no sensitive column 'ill \| income'"):
        judge(EpsilonPrivacy(5, lacking, joint=["ill", "income"]), as_it_stands(two()))
