"""The measures over everybody, against plain sums over all combinations of values."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.relative_threat import measures
from sfumato.adversaries.relative_threat.result import exact_ti
from sfumato.datasets.census import census, census_schema
from tests.oracles.containing import containing

VALUES = {"a": [f"a{i}" for i in range(6)], "b": [f"b{i}" for i in range(4)], "c": ["c0", "c1"]}


def people(seed: int = 0, many: int = 60) -> sf.Table:
    rng = np.random.default_rng(seed)
    columns = {
        name: [values[i] for i in rng.integers(0, len(values), many)]
        for name, values in VALUES.items()
    }
    columns["s"] = [f"s{i}" for i in rng.choice(3, many, p=[0.5, 0.3, 0.2])]
    hierarchies = {
        "a": sf.taxonomy({f"a{i}": [f"A{i // 3}"] for i in range(6)}),
        "b": sf.taxonomy({f"b{i}": [f"B{i // 2}"] for i in range(4)}),
    }
    schema = sf.Schema(list(VALUES), "s", hierarchies=hierarchies, domains={"c": VALUES["c"]})
    return sf.read(pa.table(columns), schema)


def rows_of(table: sf.Table) -> list[tuple[dict[str, str], str, int]]:
    counts = table.counts
    return [
        (
            {d.name: d.labels[c] for d, c in zip(counts.quasi, counts.codes[:, i], strict=True)},
            counts.sensitive[0].domain.labels[counts.values[0, i]],
            int(counts.n[i]),
        )
        for i in range(len(counts))
    ]


LEVELS = [{"a": 1, "b": 1, "c": 0}, {"a": 2, "b": 0, "c": 1}, {"a": 0, "b": 0, "c": 0}]


@pytest.mark.parametrize("levels", LEVELS)
def test_measures_are_what_one_would_count_person_by_person(levels: dict[str, int]) -> None:
    table = people()
    release = sf.generalize(table, levels)
    found = sf.relative_threat(release)
    total, hits, missed = (
        0,
        dict.fromkeys(("attacker", "learner", "random_worlds", "ideal"), 0.0),
        {},
    )
    highest, threatened = 0.0, 0
    for who, value, n in rows_of(table):
        total += n
        guesses = {name: getattr(found, name)(who) for name in hits}
        for name, guess in guesses.items():
            best = max(guess.values())
            modes = [one for one, p in guess.items() if p >= best * (1 - 1e-9)]
            hits[name] += n * (value in modes) / len(modes)
            missed[name] = missed.get(name, 0.0) + n * (1 - guess[value])
        attacker = guesses["attacker"]
        if attacker[value] >= max(attacker.values()) * (1 - 1e-9):
            threatened += n
            highest = max(highest, attacker[value] / guesses["learner"][value])
    measures = found.measures
    assert measures.people == total == table.people
    assert measures.gt_attacker == pytest.approx(hits["attacker"] / total, abs=1e-12)
    assert measures.gt_learner == pytest.approx(hits["learner"] / total, abs=1e-12)
    assert measures.gt_random_worlds == pytest.approx(hits["random_worlds"] / total, abs=1e-12)
    assert measures.gt_ideal == pytest.approx(hits["ideal"] / total, abs=1e-12)
    rgt = max(0.0, hits["attacker"] - hits["learner"]) / total
    assert measures.rgt == pytest.approx(rgt, abs=1e-12)
    assert measures.abs_attacker == pytest.approx(2 * missed["attacker"], rel=1e-12)
    assert measures.abs_random_worlds == pytest.approx(2 * missed["random_worlds"], rel=1e-12)
    assert measures.attacker.highest == pytest.approx(highest, rel=1e-12)
    assert measures.attacker.any_mode == threatened
    assert set(measures.errors.values()) == {0.0}
    seen = np.bincount(table.counts.values[0], weights=table.counts.n)
    assert measures.baseline == pytest.approx(seen.max() / seen.sum())


def joint(found: sf.RelativeThreat, table: sf.Table) -> tuple[np.ndarray, np.ndarray]:
    """p_I and p_L of every combination of a sensitive value and quasi-identifiers."""
    sizes = [len(domain) for domain in table.counts.quasi]
    codes = np.array(list(product(*map(range, sizes)))).T
    log_learnt = found.learnt.log_joint(codes)[0]
    ideal = found.known_ideal
    log_ideal = ideal.log_pi[None, :] + sum(
        theta[:, row].T for theta, row in zip(ideal.log_theta, codes, strict=True)
    )
    return np.exp(log_ideal), np.exp(log_learnt)


@pytest.mark.parametrize("levels", LEVELS)
def test_faithfulness_is_one_minus_the_sum_over_all_combinations(levels, monkeypatch) -> None:
    table = people()
    found = sf.relative_threat(sf.generalize(table, levels))
    p_i, p_l = joint(found, table)
    assert p_i.sum() == pytest.approx(1)
    assert p_l.sum() == pytest.approx(1)
    expected = 1 - np.maximum(p_i - p_l, 0).sum()
    assert found.faithfulness.value == pytest.approx(expected, abs=1e-12)
    assert found.faithfulness.bound == 0
    monkeypatch.setattr(measures, "LIMIT", 4)
    coarse = measures.faithfulness(found.learnt, found.known_ideal, 0)
    if levels != LEVELS[2]:
        assert coarse.bound > 0
    assert abs(coarse.value - expected) <= coarse.bound + 1e-12


def test_a_release_that_hides_nothing_is_wholly_faithful() -> None:
    found = sf.relative_threat(people())
    assert found.measures.rf == pytest.approx(1, abs=1e-12)


def test_the_estimate_of_faithfulness_for_buckets_is_within_its_error() -> None:
    table = people(many=120)
    policy = sf.Policy([sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(2))
    found = sf.relative_threat(sf.anonymize(table, policy, seed=1))
    p_i, p_l = joint(found, table)
    expected = 1 - np.maximum(p_i - p_l, 0).sum()
    assert 0 < found.measures.errors["rf"] < 0.03
    assert abs(found.measures.rf - expected) < 4 * found.measures.errors["rf"]


def test_ties_count_their_share_and_any_mode_is_kept_beside_it() -> None:
    rows = pa.table({"q": ["x"] * 4 + ["y"], "s": ["u", "u", "v", "v", "w"]})
    table = sf.read(rows, sf.Schema(["q"], "s", domains={"q": ["x", "y"]}))
    found = sf.relative_threat(table)
    assert found.measures.gt_attacker == pytest.approx((4 * 0.5 + 1) / 5)
    assert found.measures.attacker.any_mode == 5
    assert found.rows.column("threatened_attacker").to_pylist() == [0.5, 0.5, 1.0]


def test_rows_are_everybody_once_with_the_group_they_are_in() -> None:
    table = people()
    release = sf.generalize(table, LEVELS[0])
    rows = sf.relative_threat(release).rows
    assert sum(rows.column("people").to_pylist()) == table.people
    regions = release.regions
    for row in rows.to_pylist():
        fits = containing(regions, {name: row[name] for name in VALUES})
        assert [regions.name(group) for group in fits] == [row["group"]]
        assert row["ti"] == pytest.approx(row["p_attacker"] / row["p_learner"])


def test_a_release_read_back_with_its_table_gives_the_same_figures(tmp_path) -> None:
    table = people()
    release = sf.generalize(table, LEVELS[0])
    release.save(tmp_path / "out")
    ours = sf.relative_threat(release)
    read = sf.read_release(tmp_path / "out", table.schema)
    assert sf.relative_threat(read, table).measures == ours.measures
    with pytest.raises(sf.InputError, match="only the original table"):
        sf.relative_threat(read).measures  # noqa: B018


def test_suppressed_people_are_not_judged_but_taught_the_ideal_learner() -> None:
    rows = pa.table({"q": ["a0"] * 4 + ["b0"], "s": ["u", "u", "v", "v", "u"]})
    taxonomy = sf.taxonomy({"a0": ["A"], "b0": ["B"]})
    table = sf.read(rows, sf.Schema(["q"], "s", hierarchies={"q": taxonomy}))
    release = sf.generalize(table, {"q": 1}, [sf.KAnonymity(2)], suppression=0.2)
    assert release.suppressed == 1
    found = sf.relative_threat(release)
    assert found.measures.people == 4
    assert any("1 people of the table are in no group" in note for note in found.notes)
    assert found.ideal({"q": "b0"})["u"] > 0.5
    assert found.measures.rf < 1


def test_overlapping_regions_sum_over_all_groups_a_person_fits() -> None:
    rows = pa.table({"q": ["*", "*", "a", "a"], "s": ["u", "v", "v", "v"]})
    release = sf.read_release(rows, sf.Schema(["q"], "s", domains={"q": ["a", "b"]}))
    assert not release.disjoint
    original = pa.table({"q": ["a", "b", "a", "a"], "s": ["u", "v", "v", "v"]})
    table = sf.read(original, sf.Schema(["q"], "s", domains={"q": ["a", "b"]}))
    found = sf.relative_threat(release, table)
    # theta_u(a): one row of *, nothing learnt: 1/2. theta_v(a): two rows of a: 3/4.
    weights = np.array([1 / 2, 3 / 4 + 2])
    assert list(found.attacker({"q": "a"}).values()) == pytest.approx(
        (weights / weights.sum()).tolist(), abs=1e-14
    )
    by_row = {(row["q"], row["s"]): row for row in found.rows.to_pylist()}
    assert by_row["a", "u"]["p_attacker"] == pytest.approx(weights[0] / weights.sum())
    assert by_row["a", "u"]["group"] is None
    assert by_row["b", "v"]["p_attacker"] == pytest.approx(0.25 / (0.5 + 0.25))


def test_ti_in_fractions_is_the_same_number() -> None:
    table = people()
    for levels in LEVELS:
        found = sf.relative_threat(sf.generalize(table, levels), prior=0.5)
        for case in range(0, len(found.judged.ti), 7):
            assert float(exact_ti(found, case)) == pytest.approx(found.judged.ti[case], rel=1e-12)
    conditional = sf.relative_threat(sf.generalize(table, LEVELS[0]), learner="conditional")
    assert exact_ti(conditional, 0) is None


def test_threats_of_learner_and_attacker() -> None:
    found = sf.relative_threat(people())
    learner, attacker = found.threats()
    assert (learner.adversary, attacker.adversary) == ("population learner", "membership attacker")
    rows = found.rows.to_pylist()
    far = max(row["p_attacker"] / row["p_learner"] for row in rows)
    assert attacker.belief.factor >= far
    assert any(
        (row["p_learner"], row["p_attacker"]) == (attacker.belief.before, attacker.belief.after)
        and row["s"] == attacker.belief.value
        for row in rows
    )
    assert attacker.about == learner.about == "s"
    assert "s: guessed right for" in attacker.learns


def test_a_mondrian_release_is_sampled_where_ranges_cross_and_measured_with_errors() -> None:
    table = sf.read(census(800), census_schema())
    release = sf.anonymize(table, sf.Policy([sf.KAnonymity(5)], anonymizer=sf.Mondrian()), seed=0)
    found = sf.relative_threat(release)
    assert found.status == "converged"
    assert found.method["age"] == "sampled (counts and slices)"
    assert found.method["sex"] == "exact"
    measures = found.measures
    assert 0 < measures.errors["gt_attacker"] < 0.02
    assert measures.gt_random_worlds > measures.baseline
    assert (found.judged.attacker.error > 0).any()
    assert 0 < measures.rf < 1


def test_memory_does_not_grow_with_the_product_of_domains() -> None:
    """Thirty columns of fifty values: 50^30 combinations, none of which is ever listed."""
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(30)]
    tree = sf.taxonomy({f"v{i:02d}": [f"g{i // 10}"] for i in range(50)})
    rows = {name: [f"v{i:02d}" for i in rng.integers(0, 50, 300)] for name in names}
    rows["s"] = [f"s{i}" for i in rng.integers(0, 5, 300)]
    schema = sf.Schema(names, "s", hierarchies=dict.fromkeys(names, tree))
    table = sf.read(pa.table(rows), schema)
    coarse = {
        name: rows[name] if place == 0 else [f"g{int(value[1:]) // 10}" for value in rows[name]]
        for place, name in enumerate(names)
    }
    release = sf.read_release(pa.table({**coarse, "s": rows["s"]}), schema)
    tracemalloc.start()
    found = sf.relative_threat(release, table)
    measures = found.measures
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 600e6
    assert 0 <= measures.rf <= 1
    assert measures.errors["rf"] < 0.05
