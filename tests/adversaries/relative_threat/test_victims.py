"""What may be known of a victim: some columns, coarser values, noise; and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.relative_threat.columns import domains_of
from sfumato.schema.region import Span
from tests.adversaries.relative_threat.tiny_releases import (
    bucketized,
    everyone,
    generalized,
    rows_of,
    victim,
)
from tests.oracles.relative_oracle import Urns, bucket_worlds, enumerate_beliefs, region_worlds

SIZES, WIDTH = [3, 2], 2
NESTED = [(((0, 1), (0, 1)), [2, 1]), (((0,), (1,)), [0, 1]), (((0, 1, 2), (0,)), [1, 1])]
CROSSING = [(((0, 1), (0, 1)), [1, 1]), (((1, 2), (0,)), [1, 1])]
BUCKETS = [((0, 1), ((0, 0), (1, 1))), ((0, 1, 1), ((2, 0), (1, 0), (0, 1)))]
# What is known, and P(it is seen | the true values).
KNOWN = {
    "nothing": ({}, lambda row: 1),
    "one column": ({"q1": "v0000"}, lambda row: row[1] == 0),
    "several values": (
        {"q0": ["v0000", "v0002"], "q1": "v0000"},
        lambda r: r[0] != 1 and r[1] == 0,
    ),
    "a noisy column": (
        {"q0": {"v0000": 0.25, "v0001": 0.5}, "q1": "v0000"},
        lambda row: {0: Fraction(1, 4), 1: Fraction(1, 2), 2: 0}[row[0]] * (row[1] == 0),
    ),
    "noise that ties columns": (
        [(victim((0, 0)), 0.75), (victim((1, 1)), 0.25)],
        lambda row: {(0, 0): Fraction(3, 4), (1, 1): Fraction(1, 4)}.get(row, 0),
    ),
}


def expected(release: str):
    worlds = {
        "nested": lambda: region_worlds(rows_of(NESTED)),
        "crossing": lambda: region_worlds(rows_of(CROSSING)),
        "buckets": lambda: bucket_worlds(BUCKETS),
    }[release]()
    asked = [
        {row: Fraction(seen(row)) for row in everyone(SIZES) if seen(row)}
        for _, seen in KNOWN.values()
    ]
    return dict(zip(KNOWN, enumerate_beliefs(worlds, Urns.even(WIDTH, SIZES), asked), strict=True))


RELEASES = {
    "nested": generalized(NESTED, SIZES, WIDTH),
    "crossing": generalized(CROSSING, SIZES, WIDTH),
    "buckets": bucketized(BUCKETS, SIZES, WIDTH),
}


@pytest.mark.parametrize("release", RELEASES)
def test_whatever_is_known_counts_for_what_it_is(release: str) -> None:
    found = sf.relative_threat(RELEASES[release])
    truth = expected(release)
    for name, (known, _) in KNOWN.items():
        for who in ("attacker", "learner"):
            shares = [float(share) for share in truth[name].shares(who)]
            assert list(getattr(found, who)(known).values()) == pytest.approx(shares, abs=1e-12)


@pytest.mark.parametrize("release", RELEASES)
def test_the_conditional_reading_of_partial_knowledge(release: str) -> None:
    """Alternatives are weighed inside each population, not averaged afterwards."""
    found = sf.relative_threat(RELEASES[release], learner="conditional", draws=8_000)
    parts = [found.learner(victim((0, 0))), found.learner(victim((1, 1)))]
    both = found.learner(KNOWN["noise that ties columns"][0])
    for value in both:
        low, high = sorted(part[value] for part in parts)
        assert low - 0.02 < both[value] < high + 0.02
    assert found.learner({}) == pytest.approx(
        dict(sf.relative_threat(RELEASES[release]).learner({})), abs=0.02
    )


def test_random_worlds_counts_values_of_regions_alike() -> None:
    found = sf.relative_threat(RELEASES["nested"])
    # (0, 0): group 1 with 1 / 4 of its people, group 3 with 1 / 3.
    weights = np.array([2 / 4 + 1 / 3, 1 / 4 + 1 / 3])
    expected_shares = (weights / weights.sum()).tolist()
    guess = found.random_worlds(victim((0, 0)))
    assert list(guess.values()) == pytest.approx(expected_shares, abs=1e-14)
    buckets = sf.relative_threat(RELEASES["buckets"])
    # (0, 1) is listed once, in the second bucket.
    assert list(buckets.random_worlds(victim((0, 1))).values()) == pytest.approx([1 / 3, 2 / 3])


def census() -> sf.RelativeThreat:
    schema = sf.Schema(
        quasi=["age", "zip"],
        sensitive="disease",
        hierarchies={"age": sf.intervals([10]), "zip": sf.mask()},
        domains={"age": list(range(20, 60)), "zip": [f"1305{d}" for d in range(10)]},
    )
    rows = pa.table(
        {
            "age": ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)", "*"],
            "zip": ["1305*", "1305*", "13053", "13053", "1305*"],
            "disease": ["flu", "cold", "flu", "flu", "cold"],
        }
    )
    return sf.relative_threat(sf.read_release(rows, schema))


def test_labels_notations_and_regions_are_read() -> None:
    found = census()
    ages = [found.attacker({"age": known}) for known in ("[30, 40)", Span(30, 40), "30-39")]
    assert ages[0] == ages[1] == ages[2]
    assert ages[0] == found.attacker({"age": list(range(30, 40))})
    assert found.attacker({"zip": "1305*"}) == pytest.approx(dict(found.attacker({})))
    assert found.attacker({"age": 34, "zip": "13053"})["flu"] > 0.9
    assert found.attacker({"age": "34"}) == found.attacker({"age": 34.0})


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"agee": 3}, "'agee' is not a quasi-identifier of the release; did you mean 'age'?"),
        ({"age": 17}, "age = 17 is outside the domain of that column, which has 40 values"),
        ({"age": "[60, 70)"}, r"age = '\[60, 70\)' is outside the domain"),
        ({"age": {34: -1}}, "the probability of age = 34 is -1"),
        ({"age": {34: 0}}, "every value of 'age' has probability 0"),
        ({"age": []}, "no value of 'age' is given"),
        (34, "a victim is a mapping"),
        ([], "a victim is a mapping"),
        ([({"age": 34},)], r"list of \(mapping, probability\) pairs"),
        ([({"age": 34}, 0)], "all alternatives of the victim have probability 0"),
        ({"age": 50, "zip": "13053"}, None),
    ],
)
def test_what_cannot_be_meant_is_refused(known, said: str | None) -> None:
    found = census()
    if said is None:
        assert found.attacker(known)["cold"] == 1.0  # only the row of * fits
        return
    with pytest.raises(sf.InputError, match=said) as caught:
        found.attacker(known)
    assert "\n" not in str(caught.value)


def test_a_victim_that_fits_no_group_is_told_so() -> None:
    release = generalized([(((0, 1), (0,)), [1, 1])], SIZES, WIDTH)
    found = sf.relative_threat(release)
    for who in (found.attacker, found.random_worlds):
        with pytest.raises(sf.InputError, match="no group of the release fits this victim"):
            who(victim((2, 1)))
    assert sum(found.learner(victim((2, 1))).values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        (0, "weight = 0.0 is not allowed; every weight must be above 0"),
        (-1, "every weight must be above 0"),
        ({"q0": 0}, "prior of column 'q0': weight = 0 is not allowed"),
        ({"q0": {"v0000": 0}}, "the weight of 'v0000' = 0 is not allowed"),
        ({"q0": {"v9": 1}}, "prior of column 'q0': 'v9' is not in its domain"),
        ({"q9": 1}, "prior: no column 'q9'; allowed: q0, q1, s"),
        ("even", "prior = 'even' is not allowed"),
    ],
)
def test_priors_that_cannot_be_meant(prior, said: str) -> None:
    with pytest.raises(sf.InputError, match=said):
        sf.relative_threat(RELEASES["nested"], prior=prior)


def test_releases_that_cannot_be_read_this_way() -> None:
    rows = pa.table({"q": ["1", "1", "2", "2"], "x": [1.0, 2.0, 3.0, 4.0], "s": list("abab")})
    table = sf.read(rows, sf.Schema(["x"], "s"))
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Microaggregation(2))
    with pytest.raises(sf.InputError, match="a microaggregated release has no regions"):
        sf.relative_threat(sf.anonymize(table, policy, seed=0))
    with pytest.raises(sf.InputError, match="needs a release with regions or buckets, not Groups"):
        sf.relative_threat(sf.Groups([[1, 1]]))
    plain = sf.read(rows, sf.Schema(["q"]))
    with pytest.raises(sf.InputError, match="no sensitive column"):
        sf.relative_threat(plain)
    with pytest.raises(sf.InputError, match="method = 'gibs' is not known; did you mean"):
        sf.relative_threat(RELEASES["nested"], method="gibs")
    with pytest.raises(sf.InputError, match="learner = 'both' is not known"):
        sf.relative_threat(RELEASES["nested"], learner="both")
    with pytest.raises(sf.InputError, match="'swap' is for bucketized releases"):
        sf.relative_threat(RELEASES["nested"], method="swap")
    with pytest.raises(sf.InputError, match="'row-gibbs' is for generalized releases"):
        sf.relative_threat(RELEASES["buckets"], method="row-gibbs")
    stars = sf.read_release(
        pa.table({"q": ["*", "1"], "s": ["a", "b"]}), sf.Schema(["q"], "s"), matching="wildcard"
    )
    with pytest.raises(sf.InputError, match="'wildcard', which counts people in several groups"):
        sf.relative_threat(stars)


def test_a_region_nobody_can_size_asks_for_the_domain() -> None:
    rows = pa.table({"age": ["[20, 30)", "[30, 40)"], "s": ["a", "b"]})
    release = sf.read_release(rows, sf.Schema(["age"], "s"))
    with pytest.raises(sf.SchemaError, match="column 'age': its domain is not known") as caught:
        sf.relative_threat(release)
    assert "\n" not in str(caught.value)
    declared = sf.Schema(["age"], "s", domains={"age": list(range(30, 50))})
    release = sf.read_release(rows, declared)
    with pytest.raises(sf.InputError, match=r"contain no value of its domain: '\[20, 30\)'"):
        sf.relative_threat(release)


def test_the_original_table_must_be_about_the_same_columns() -> None:
    rows = pa.table({"q0": ["v0000", "v0007"], "q1": ["v0000", "v0001"], "s": ["s0", "s1"]})
    table = sf.read(rows, sf.Schema(["q0", "q1"], "s"))
    with pytest.raises(sf.InputError, match=r"column 'q0': 1 value\(s\) are outside its domain"):
        sf.relative_threat(RELEASES["nested"], table)
    fewer = sf.read(rows, sf.Schema(["q0"], "s"))
    with pytest.raises(sf.InputError, match="lacks the quasi-identifier 'q1'"):
        sf.relative_threat(RELEASES["nested"], fewer)
    blind = sf.read(rows.slice(0, 1), sf.Schema(["q0", "q1"]))
    with pytest.raises(sf.InputError, match="lacks the sensitive column 's'"):
        sf.relative_threat(RELEASES["nested"], blind)
    found = sf.relative_threat(RELEASES["nested"])
    with pytest.raises(sf.InputError, match="only the original table tells people's true values"):
        found.measures  # noqa: B018
    assert {threat.status for threat in found.threats()} == {"not_measured"}


def test_a_range_that_takes_in_missing_values_makes_them_possible() -> None:
    """The declared values know no missing one; what is published does."""
    cells = {"age": ["<3 or (missing)"] * 2 + [">=3"] * 2, "s": ["a", "b"] * 2}
    schema = sf.Schema(quasi=["age"], sensitive="s", domains={"age": [1, 2, 3, 4]})
    release = sf.read_release(pa.table(cells), schema)
    ((domain,), notes) = domains_of(release, None)
    assert domain.values == (1, 2, 3, 4, None)
    assert notes == []
