"""The bound on relative threat: ties, what decides it, and that doubt never passes."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.criteria.base import judge
from sfumato.datasets.census import census, census_schema
from sfumato.release.release import as_it_stands
from sfumato.report.sections.relative_threat import relative_document
from sfumato.utility import utility_named
from sfumato.utility.view import view_of


def table(rows: list[tuple[str, str]], domain: list[str] | None = None) -> sf.Table:
    columns = pa.table({"q": [row[0] for row in rows], "s": [row[1] for row in rows]})
    schema = sf.Schema(["q"], "s", domains={"q": domain} if domain else {})
    return sf.read(columns, schema)


# p_A = 1 for both; p_L = (2 * 2/3) / (2 * 2/3 + 2 * 1/3) = 2/3: Ti is 3/2 exactly.
TWO = [("a", "u"), ("b", "v")]


def test_a_tie_at_the_bound_is_decided_in_fractions() -> None:
    release = as_it_stands(table(TWO))
    assert judge(sf.RelativeThreatBound(1.5), release).status == "holds"
    assert judge(sf.RelativeThreatBound(1.5), release).measured == 1.5
    assert judge(sf.RelativeThreatBound(1.4999999999), release).status == "violated"


def test_the_verdict_names_the_worst_groups_and_who_is_threatened() -> None:
    rows = [("a", "u")] * 3 + [("b", "v")] + [("b", "u")] * 2
    verdict = judge(sf.RelativeThreatBound(1.05), as_it_stands(table(rows)))
    assert verdict.status == "violated"
    assert verdict.worst[0] == verdict.per_group.argmax()
    assert "people threatened; RGT" in verdict.note
    assert "Ti above 1.05 for" in verdict.note
    assert [threat.adversary for threat in verdict.threats] == [
        "population learner",
        "membership attacker",
    ]


def test_a_quantile_lets_a_share_of_the_threatened_exceed_the_bound() -> None:
    rows = [("a", "u")] * 8 + [("b", "v"), ("b", "v")] + [("c", "u")] * 10
    release = as_it_stands(table(rows))
    found = sf.relative_threat(release)
    threatened = found.measures.attacker
    high = threatened.highest
    n = {row["ti"]: row["people"] for row in found.rows.to_pylist()}
    share = Fraction(n[high], threatened.any_mode)
    below = max(ti for ti in n if ti < high)
    between = round((high + below) / 2, 3)
    assert not judge(sf.RelativeThreatBound(between), release).holds
    allowed = float(1 - share)
    assert judge(sf.RelativeThreatBound(between, quantile=allowed), release).holds
    assert not judge(sf.RelativeThreatBound(between, quantile=allowed + 1e-6), release).holds


def test_rgt_is_bounded_as_well_where_asked() -> None:
    # Everybody in b is guessed right by the attacker alone.
    rows = [("a", "u")] * 6 + [("b", "v"), ("b", "v"), ("b", "u")]
    domain = [f"q{i}" for i in range(40)] + ["a", "b"]
    release = as_it_stands(table(rows, domain))
    measures = sf.relative_threat(release).measures
    assert measures.rgt > 0
    high = measures.attacker.highest + 1
    assert judge(sf.RelativeThreatBound(high), release).holds
    exact = Fraction(measures.rgt).limit_denominator(1000)
    assert judge(sf.RelativeThreatBound(high, max_rgt=1), release).holds
    assert judge(sf.RelativeThreatBound(high, max_rgt=float(exact) + 1e-12), release).holds
    verdict = judge(sf.RelativeThreatBound(high, max_rgt=float(exact) - 1e-6), release)
    assert verdict.status == "violated"


def test_without_the_original_table_it_cannot_be_judged(tmp_path) -> None:
    whole = sf.read(census(300), census_schema())
    release = sf.generalize(whole, {"age": 3, "zip": 4, "education": 2, "marital": 2, "work": 2})
    release.save(tmp_path / "out")
    declared = sf.Schema(
        quasi=whole.schema.quasi,
        sensitive=whole.schema.sensitive,
        hierarchies=whole.schema.hierarchies,
        domains={
            "age": list(range(17, 91)),
            "zip": list(whole.counts.quasi[2].values),
            "sex": list(whole.counts.quasi[1].values),
        },
    )
    read = sf.read_release(tmp_path / "out", declared)
    verdict = judge(sf.RelativeThreatBound(100), read)
    assert verdict.status == "cannot_judge"
    assert "original table" in verdict.note
    (tmp_path / "out" / "private" / "domains.json").unlink()
    blind = judge(sf.RelativeThreatBound(100), sf.read_release(tmp_path / "out", whole.schema))
    assert blind.status == "cannot_judge"
    assert "its domain is not known" in blind.note
    report = sf.audit(read, [sf.RelativeThreatBound(100)])
    assert report.status == "could_not_judge"


def test_groups_alone_can_be_shown_unsafe_but_never_safe() -> None:
    groups = sf.Groups([[1, 0], [0, 1]])
    assert sf.RelativeThreatBound(1.4).verdict(groups).status == "violated"
    loose = sf.RelativeThreatBound(9).verdict(groups)
    assert (loose.status, loose.holds) == ("cannot_judge", False)


def test_chains_that_did_not_converge_decide_nothing() -> None:
    """Two values that may change places in every bucket: two worlds, both as likely."""
    rows = pa.table(
        {"a": ["x", "y"] * 60, "b": ["x", "y"] * 60, "c": ["x", "y"] * 60, "s": ["u", "v"] * 60}
    )
    original = sf.read(rows, sf.Schema(["a", "b", "c"], "s"))
    policy = sf.Policy([sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(2))
    release = sf.anonymize(original, policy, seed=0)
    report = sf.audit(release, [sf.RelativeThreatBound(1e6, seconds=2)])
    assert report.verdicts[0].status == "not_converged"
    assert report.status == "could_not_judge"
    told = {threat.adversary: threat for threat in report.threats}
    for name in ("population learner", "membership attacker"):
        assert told[name].status == "not_converged"
        assert "not converged after" in told[name].learns


def test_microaggregated_releases_are_not_applicable() -> None:
    rows = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "s": list("uvuv")})
    whole = sf.read(rows, sf.Schema(["x"], "s"))
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Microaggregation(2))
    release = sf.anonymize(whole, policy, seed=0)
    assert judge(sf.RelativeThreatBound(2), release).status == "not_applicable"


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Lattice()])
def test_a_search_leaves_it_to_the_end_and_then_it_decides(anonymizer) -> None:
    whole = sf.read(census(400), census_schema())
    loose = sf.Policy([sf.KAnonymity(20), sf.RelativeThreatBound(1e6)], anonymizer, suppression=0.1)
    plain = sf.Policy([sf.KAnonymity(20)], anonymizer, suppression=0.1)
    release = sf.anonymize(whole, loose, seed=0)
    assert len(release.groups) == len(sf.anonymize(whole, plain, seed=0).groups)
    assert sf.audit(release, loose).holds
    tight = sf.Policy(
        [sf.KAnonymity(20), sf.RelativeThreatBound(0.01)], anonymizer, suppression=0.1
    )
    with pytest.raises(sf.NoSafeRelease, match="relative-threat"):
        sf.anonymize(whole, tight, seed=0)


def test_its_figure_is_measured_on_true_values_and_never_promised(tmp_path) -> None:
    release = as_it_stands(table(TWO))
    report = sf.audit(release, [sf.RelativeThreatBound(2)])
    assert report.verdicts[0].measured == 1.5
    (promise,) = report.promises()
    assert promise["holds"] is True
    assert promise["measured"] is None
    covered = {threat.adversary: threat.covered for threat in report.threats}
    assert covered["membership attacker"] == ("relative-threat",)
    assert covered["population learner"] == ()


def test_it_is_saved_in_a_policy_and_loaded(tmp_path) -> None:
    policy = sf.Policy(
        [sf.RelativeThreatBound(4.5, quantile=0.95, max_rgt=0.1), sf.RelativeThreatBound(9)],
        anonymizer=sf.Mondrian(),
    )
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml").require == policy.require
    (tmp_path / "bad.toml").write_text('[[require]]\nkind = "relative-threat"\nmax_ti = 0\n')
    with pytest.raises(sf.PolicyError, match="relative-threat: max_ti = 0 is not allowed"):
        sf.Policy.load(tmp_path / "bad.toml")


def test_an_audit_with_the_original_judges_a_release_read_back(tmp_path) -> None:
    rows = pa.table({"q": ["a0", "a1", "b0", "b1"] * 3, "s": ["u", "v", "u", "v", "w", "u"] * 2})
    tree = sf.taxonomy({name: [name[0]] for name in ("a0", "a1", "b0", "b1")})
    whole = sf.read(rows, sf.Schema(["q"], "s", hierarchies={"q": tree}))
    sf.generalize(whole, {"q": 1}).save(tmp_path / "out")
    read = sf.read_release(tmp_path / "out", whole.schema)
    bound = sf.RelativeThreatBound(1000)
    assert sf.audit(read, [bound]).status == "could_not_judge"
    found = sf.relative_threat(read, whole)
    assert sf.audit(read, [bound], attacks=[found]).holds
    assert sf.audit(read, [sf.RelativeThreatBound(0.1)], attacks=[found]).status == "violated"


# -- searches ------------------------------------------------------------------------------------


def some_people(seed: int, many: int = 160) -> sf.Table:
    """What somebody has depends on age and zip: fine groups tell more of her than of others."""
    rng = np.random.default_rng(seed)
    age, zips = rng.integers(0, 16, many), rng.choice(["11", "12", "21", "22"], many)
    ill = rng.random(many) < np.where(zips < "2", age, 16 - age) / 16
    s = np.where(ill, rng.choice(["u", "v"], many), "w")
    hierarchies = {"age": sf.intervals([2, 4, 8]), "zip": sf.mask()}
    schema = sf.Schema(["age", "zip"], "s", hierarchies=hierarchies)
    return sf.read(pa.table({"age": age, "zip": zips, "s": s}), schema)


def every_node(whole: sf.Table, k: int, suppression: float) -> dict[tuple[int, ...], sf.Release]:
    """The release of each node of the lattice that keeps k."""
    found = {}
    for levels in product(*(range(whole.levels[name].height) for name in whole.schema.quasi)):
        try:
            found[levels] = sf.generalize(whole, levels, [sf.KAnonymity(k)], suppression)
        except sf.NoSafeRelease:
            continue
    return found


@pytest.mark.parametrize(("seed", "suppression"), [(0, 0.0), (1, 0.0), (1, 0.05)])
def test_the_lattice_finds_the_most_useful_release_that_holds(
    seed: int, suppression: float
) -> None:
    """Every node made, judged and priced by hand."""
    whole = some_people(seed)
    loss, nodes = utility_named("loss"), every_node(whole, 3, suppression)
    ti = {levels: judge(sf.RelativeThreatBound(1e6), one).measured for levels, one in nodes.items()}
    cost = {levels: loss.cost(view_of(one)) for levels, one in nodes.items()}
    cheapest = min(cost, key=lambda levels: cost[levels])
    bounds = sorted({round(value, 3) for value in ti.values() if value < ti[cheapest]})
    for bound in bounds[:: max(1, len(bounds) // 4)]:
        criterion = sf.RelativeThreatBound(bound)
        holding = [levels for levels, one in nodes.items() if judge(criterion, one).holds]
        policy = sf.Policy(
            [sf.KAnonymity(3), criterion], anonymizer=sf.Lattice(), suppression=suppression
        )
        if not holding:
            with pytest.raises(sf.NoSafeRelease, match=f"nearest of {len(nodes)} releases that"):
                sf.anonymize(whole, policy, seed=0)
            continue
        made = sf.anonymize(whole, policy, seed=0)
        least = min(cost[levels] for levels in holding)
        assert loss.cost(view_of(made)) == pytest.approx(least, rel=1e-12)
        assert judge(criterion, made).holds
        found = made.made.findings.search
        # Nothing is told of nodes that nobody judged by everything.
        assert {node.levels for node in found.nodes if node.satisfied} == {found.best.levels}
        failing = {node.levels for node in found.nodes if node.why == "relative-threat"}
        assert failing.isdisjoint(holding)
        assert found.finished == len(failing) + 1


def test_neither_failure_nor_safety_is_inherited() -> None:
    """Why it is neither merge-closed nor upward-closed: a coarser release may be worse."""
    rows = pa.table({"x": [4, 6, 7, 0, 1, 6, 7, 1, 2], "s": list("wvuwuvvvu")})
    schema = sf.Schema(
        ["x"], "s", domains={"x": list(range(8))}, hierarchies={"x": sf.intervals([2, 4])}
    )
    whole, bound = sf.read(rows, schema), sf.RelativeThreatBound(2.5)
    held = [judge(bound, sf.generalize(whole, [level])).holds for level in range(4)]
    assert held == [True, False, True, True]
    assert not bound.merge_closed
    assert not bound.upward_closed


def test_mondrian_takes_groups_that_are_large_enough() -> None:
    rng = np.random.default_rng(3)
    age = rng.integers(0, 64, 200)
    s = np.where(rng.random(200) < age / 64, "u", rng.choice(["v", "w"], 200))
    whole = sf.read(pa.table({"age": age, "s": s}), sf.Schema(["age"], "s"))
    fine = sf.anonymize(whole, sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Mondrian()), seed=0)
    bound = sf.RelativeThreatBound(round(judge(sf.RelativeThreatBound(9), fine).measured * 0.8, 3))
    assert not judge(bound, fine).holds
    made = sf.anonymize(
        whole, sf.Policy([sf.KAnonymity(3), bound], anonymizer=sf.Mondrian()), seed=0
    )
    assert 1 < len(made.groups) < len(fine.groups)
    assert sf.audit(made, [sf.KAnonymity(3), bound]).holds
    with pytest.raises(sf.NoSafeRelease, match=r"nearest of \d releases that were judged came to"):
        sf.anonymize(
            whole,
            sf.Policy([sf.KAnonymity(3), sf.RelativeThreatBound(0.1)], anonymizer=sf.Mondrian()),
            seed=0,
        )


# -- what it asks ----------------------------------------------------------------------------------


def test_every_key_of_a_policy_is_an_option_of_the_attack(tmp_path) -> None:
    """Each alone: written, read again, and asked as `relative_threat` asks it."""
    keys = {
        "prior": {"q": 3, "s": {"u": 2}},
        "weight": 0.5,
        "learner": "conditional",
        "gain": {"u": 4},
        "known": ["q"],
        "noise": {"q": 0.25},
        "method": "exact",
        "seed": 7,
        "chains": 6,
        "ess": 200,
        "sweeps": 900,
        "seconds": 3,
        "draws": 500,
    }
    whole = table([("a", "u"), ("a", "v"), ("b", "v"), ("b", "u"), ("b", "u")], ["a", "b", "c"])
    usual = judge(sf.RelativeThreatBound(9), as_it_stands(whole)).measured
    for key, value in keys.items():
        bound = sf.RelativeThreatBound(9, **{key: value})
        policy = sf.Policy([bound], schema=whole.schema)
        policy.save(tmp_path / f"{key}.toml")
        (again,) = sf.Policy.load(tmp_path / f"{key}.toml").require
        assert again == bound
        asked = sf.relative_threat(whole, **{key: value})
        assert again.attacker.question == asked.question
        measured = judge(again, as_it_stands(whole)).measured
        assert measured == pytest.approx(asked.measures.attacker.highest)
        if key in ("prior", "weight", "noise"):
            assert measured != pytest.approx(usual)
    with pytest.raises(sf.PolicyError, match="relative-threat: prior: weight = 0"):
        sf.RelativeThreatBound(2, prior=0)


def test_a_prior_from_a_file_is_named_in_the_policy(tmp_path) -> None:
    (tmp_path / "others.csv").write_text("q,s\na,u\na,u\nb,v\n")
    text = (
        '[schema]\nquasi = ["q"]\nsensitive = ["s"]\n[schema.domains]\nq = ["a", "b"]\n'
        '[[require]]\nkind = "relative-threat"\nmax_ti = 9\nprior = "others.csv"\nweight = 0.5\n'
    )
    (tmp_path / "policy.toml").write_text(text)
    policy = sf.Policy.load(tmp_path / "policy.toml")
    whole = sf.read(pa.table({"q": ["a", "b"], "s": ["u", "v"]}), policy.schema)
    others = sf.read(tmp_path / "others.csv", policy.schema)
    found = sf.relative_threat(whole, prior=others, weight=0.5)
    assert judge(policy.require[0], as_it_stands(whole)).measured == pytest.approx(
        found.measures.attacker.highest
    )
    # A weight of 1/2 and what was seen: pi is (2.5, 1.5) of 4 people before, (3.5, 2.5) of 6 after.
    theta_u, theta_v = (3.5 / 4) * (3.5 / 6), (0.5 / 3) * (2.5 / 6)
    assert found.learner({"q": "a"})["u"] == pytest.approx(theta_u / (theta_u + theta_v))


def test_an_attack_that_asked_something_else_does_not_decide() -> None:
    release = as_it_stands(table(TWO))
    loose = sf.relative_threat(release, prior=0.01)
    assert loose.measures.attacker.highest < 1.1 < 1.5
    bound = sf.RelativeThreatBound(1.4)
    assert bound.judge_attacks(release, [loose]) is None
    assert sf.audit(release, [bound], attacks=[loose]).status == "violated"
    same = sf.RelativeThreatBound(1.4, weight=0.01)
    assert same.judge_attacks(release, [loose]).holds


def test_an_attack_that_sampled_less_does_not_decide() -> None:
    rows = {"a": list("xyxyxx"), "s": list("uvuvuw")}
    original = sf.read(pa.table(rows), sf.Schema(["a"], "s"))
    policy = sf.Policy([sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(2))
    release = sf.anonymize(original, policy, seed=0)
    less = {"method": "sample", "sweeps": 750}
    attack = sf.relative_threat(release, ess=10, **less)
    assert attack.status == "converged"
    assert sf.RelativeThreatBound(1e6, ess=10, **less).judge_attacks(release, [attack]).holds
    bound = sf.RelativeThreatBound(1e6, ess=1e9, **less)
    assert bound.judge_attacks(release, [attack]) is None
    assert sf.audit(release, [bound], attacks=[attack]).verdicts[0].status == "not_converged"
    # What is exact is the same however else it might have been sampled.
    exact = sf.relative_threat(release, seed=3)
    assert exact.status == "exact"
    assert bound.judge_attacks(release, [exact]).holds


def test_what_never_moves_has_no_error_and_is_decided_exactly() -> None:
    """GT does not change between draws, so RGT is decided in fractions, on its bound too."""
    release = as_it_stands(table([("a", "u")] * 5 + [("a", "v")] * 2 + [("b", "u")] * 3))
    free = sf.relative_threat(release, learner="conditional", draws=200)
    assert free.status == "converged"
    assert free.learner({"q": "a"}).error["u"] > 0
    assert free.measures.errors["gt_learner"] == free.measures.errors["rgt"] == 0
    words = relative_document(free, "this").about
    assert "but for the learner, who averages over 200 populations" in words
    bound = sf.RelativeThreatBound(1e6, max_rgt=0, learner="conditional", draws=200)
    assert judge(bound, release).holds


def test_an_attack_on_one_column_does_not_decide_about_another() -> None:
    rows = pa.table({"q": list("aabb"), "s": list("uuuv"), "t": list("kmkm")})
    whole = sf.read(rows, sf.Schema(["q"], ["s", "t"]))
    about_t = sf.relative_threat(whole, sensitive="t")
    bound = sf.RelativeThreatBound(about_t.measures.attacker.highest + 0.01)
    release = as_it_stands(whole)
    assert not judge(bound, release).holds
    assert not bound.judge_attacks(release, [about_t]).holds
    assert sf.RelativeThreatBound(bound.max_ti, sensitive="t").judge_attacks(release, [about_t])


def test_joint_columns_and_lists_are_searched_by() -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 8, 60)
    s = np.where(age < 4, "u", rng.choice(["u", "v"], 60))
    hierarchies = {"age": sf.intervals([2, 4])}
    columns = {"age": age, "s": s, "t": rng.choice(["k", "m"], 60)}
    whole = sf.read(pa.table(columns), sf.Schema(["age"], ["s", "t"], hierarchies=hierarchies))
    lists = pa.table({"age": age, "s": [[one, "w"] if one == "v" else [one] for one in s]})
    several = sf.read(lists, sf.Schema(["age"], "s", hierarchies=hierarchies))
    for people, options in (
        (whole, {"joint": ["s", "t"]}),
        (several, {}),
        (several, {"gain": "list"}),
    ):
        nodes = [sf.generalize(people, [level]) for level in range(4)]
        free = sf.RelativeThreatBound(1e6, **options)
        ti = [judge(free, node).measured for node in nodes]
        bound = sf.RelativeThreatBound(round(ti[0] - 1e-3, 4), **options)
        made = sf.anonymize(people, sf.Policy([bound], anonymizer=sf.Lattice()), seed=0)
        held = [level for level, node in enumerate(nodes) if judge(bound, node).holds]
        assert 0 not in held
        assert len(made.groups) == len(nodes[held[0]].groups)
        assert sf.audit(made, [bound]).holds
