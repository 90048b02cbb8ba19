"""Intersection attacks: the golden cases, odd cases, bad input."""
# ruff: noqa: E501 (a table of cases reads best one a line)

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.composition.attack import IntersectionAttack, intersection_attack
from sfumato.errors import InputError, SchemaError
from sfumato.release.groups import Groups
from sfumato.schema.region import Mask, Span
from tests.adversaries.releases import buckets, release

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "composition.json").read_text())
ZIP = Mask("130**")
FIRST = release(
    ["age", "zip"],
    [
        ((Span(high=30), ZIP), {"AIDS": 1, "Heart": 1, "Viral": 2}),
        ((Span(low=40), ZIP), {"Cancer": 1, "Heart": 1, "Viral": 2}),
        (((30, 39), ZIP), {"Cancer": 4}),
    ],
    label="first hospital",
)
SECOND = release(
    ["age", "zip"],
    [
        ((Span(high=35), ZIP), {"AIDS": 1, "TB": 2, "Flu": 1, "Cancer": 2}),
        ((Span(low=35), ZIP), {"Cancer": 3, "TB": 1, "Viral": 2}),
    ],
    label="second hospital",
)
THIRD = release(
    ["age"],
    [
        (((20, 49),), {"Cancer": 1, "Viral": 1, "Flu": 1, "AIDS": 1}),
        ((Span(low=50),), {"TB": 4}),
    ],
    label="third hospital",
)
A = release(["x"], [(((20, 29),), {"a": 2, "b": 2}), (((25, 44),), {"b": 1, "c": 3})])
B = release(["x"], [(((20, 39),), {"b": 2, "c": 1, "d": 1})])
M = release(
    ["x", "y"],
    [
        ((30.0, 2.0), {"a": 2, "b": 1}),
        ((40.0, 2.0), {"b": 2, "c": 1}),
        ((60.0, 5.0), {"d": 3}),
    ],
    scheme="microaggregated",
)
SCALE = {"x": 10.0, "y": 1.0}


def one(attack: IntersectionAttack) -> dict[str, Any]:
    (row,) = attack.targets.to_pylist()
    return row


def check_golden(name: str, attack: IntersectionAttack) -> None:
    wanted, row = GOLDEN[name], one(attack)
    assert row["before"] == wanted["EA_prior"]
    assert row["values"] == wanted["intersection"]
    assert row["after"] == wanted["EA_post"]
    assert row["drop"] == wanted["AnonDrop"]
    assert row["status"] == "located"
    assert Fraction(row["confidence"]).limit_denominator(100) == Fraction(wanted["C_uniform"])
    posterior = dict(zip(row["values"], row["posterior"], strict=True))
    exact = {label: float(Fraction(text)) for label, text in wanted["posterior"].items()}
    assert posterior == pytest.approx(exact, abs=1e-14)
    assert row["belief"] == pytest.approx(float(Fraction(wanted["C_weighted"])), abs=1e-14)


@pytest.mark.parametrize(
    ("name", "age"),
    [("alice_28_13012", 28), ("45_13012", 45), ("37_13012", 37), ("32_13012", 32)],
)
def test_two_hospitals(name: str, age: int) -> None:
    check_golden(name, intersection_attack([FIRST, SECOND], [{"age": age, "zip": "13012"}]))


def test_a_population_prior() -> None:
    prior = {label: float(Fraction(p)) for label, p in GOLDEN["45_prior_pooled"]["prior"].items()}
    target = [{"age": 45, "zip": "13012"}]
    check_golden("45_prior_pooled", intersection_attack([FIRST, SECOND], target, prior=prior))
    check_golden("45_prior_pooled", intersection_attack([FIRST, SECOND], target, prior="pooled"))


def test_three_hospitals() -> None:
    attack = intersection_attack([FIRST, SECOND, THIRD], [{"age": 45, "zip": "13012"}])
    check_golden("45_three_releases", attack)


@pytest.mark.parametrize(
    ("name", "overlap"), [("overlap_unweighted", "count"), ("overlap_inverse_volume", "volume")]
)
def test_overlapping_regions(name: str, overlap: Any) -> None:
    check_golden(name, intersection_attack([A, B], [{"x": 27}], overlap=overlap))


@pytest.mark.parametrize(("name", "x"), [("centroid_34", 34), ("centroid_35_tie", 35)])
def test_centroids(name: str, x: int) -> None:
    check_golden(name, intersection_attack([M, B], [{"x": x, "y": 2}], scale=SCALE))


def test_the_population_of_four() -> None:
    people = pa.table({"age": [28, 45, 37, 32], "zip": ["13012"] * 4})
    summary = intersection_attack([FIRST, SECOND], people).summary
    wanted = GOLDEN["population4"]
    assert summary.vulnerable == wanted["VP(AnonDrop>=1)"]
    assert 100 * summary.perfect_breach == float(wanted["PVP_c=1"])
    assert 100 * summary.share_at(0.5) == float(wanted["PVP_c=1/2"])
    assert [(point.confidence, point.share) for point in summary.curve] == [(1, 0.75), (0.5, 1)]
    assert summary.exposed_by_one == 2
    assert summary.left == (3, 1)
    assert summary.fewest_before == (3 + 3 + 1 + 1) / 4
    assert summary.before == ((3 + 3 + 1 + 1) / 4, (4 + 3 + 3 + 4) / 4)
    assert summary.after == 1.25
    assert summary.drop == 0.75
    assert summary.group_size == (4, 6)


def test_an_empty_intersection_is_inconsistent() -> None:
    wanted = GOLDEN["empty_intersection"]
    one_value = release(["x"], [((1,), {"a": 2}), ((2,), {"b": 2})])
    other = release(["x"], [((1,), {"b": 3}), ((2,), {"a": 2})])
    attack = intersection_attack([one_value, other], [{"x": 1}])
    row = one(attack)
    assert row["before"] == wanted["EA_prior"]
    assert row["values"] == wanted["intersection"] == row["posterior"]
    assert (row["after"], row["drop"]) == (wanted["EA_post"], wanted["AnonDrop"])
    assert row["confidence"] is wanted["C_uniform"]
    assert row["status"] == "inconsistent"
    assert (attack.summary.inconsistent, attack.summary.located) == (1, 0)
    assert np.isnan(attack.summary.perfect_breach)
    assert attack.threats()[0].status == "not_measured"


# -- where people are not found -------------------------------------------------------------------


def test_somebody_who_cannot_be_located_is_not_safe() -> None:
    narrow = release(["x"], [(((20, 30),), {"a": 1, "b": 1})])
    sure = release(["x"], [(((20, 50),), {"a": 3})])
    attack = intersection_attack([narrow, sure], [{"x": 25}, {"x": 45}, {"x": 99}])
    found, half, nowhere = attack.targets.to_pylist()
    assert found["status"] == "located"
    assert (half["status"], half["before"], half["values"]) == ("not_locatable", [None, 1], ["a"])
    assert half["confidence"] == 1
    assert (nowhere["status"], nowhere["before"]) == ("not_locatable", [None, None])
    assert nowhere["after"] is nowhere["drop"] is nowhere["confidence"] is None
    summary = attack.summary
    assert (summary.people, summary.located, summary.not_locatable) == (3, 1, 2)
    assert summary.not_locatable_exposed == 1
    assert summary.perfect_breach == 1


def test_a_missing_value_is_found_where_it_is_published() -> None:
    one_release = release(["x"], [((None,), {"a": 1, "b": 1}), (((1, 9),), {"c": 1, "a": 1})])
    other = release(["x"], [(("*",), {"b": 1, "c": 1, "a": 1})])
    rows = intersection_attack([one_release, other], [{"x": None}, {"x": 3}]).targets.to_pylist()
    assert [row["values"] for row in rows] == [["a", "b"], ["a", "c"]]


def test_a_bucketized_release_lists_people() -> None:
    listed = buckets(
        ["x", "sex"],
        [([(1, "F"), (2, "M")], {"a": 1, "b": 1}), ([(1, "F"), (3, "F")], {"b": 1, "c": 1})],
    )
    wide = release(["x"], [(((1, 2),), {"b": 1, "d": 1}), (((3, 9),), {"c": 1, "b": 4})])
    people = [{"x": 1, "sex": "F"}, {"x": 2, "sex": "M"}, {"x": 3, "sex": "M"}]
    rows = intersection_attack([listed, wide], people).targets.to_pylist()
    assert [row["before"] for row in rows] == [[3, 2], [2, 2], [None, 2]]
    assert [row["values"] for row in rows] == [["b"], ["b"], ["b", "c"]]
    assert [row["status"] for row in rows] == ["located", "located", "not_locatable"]


# -- the truth ------------------------------------------------------------------------------------


def test_right_is_the_chance_of_a_guess() -> None:
    first = release(["x"], [((1,), {"a": 3, "b": 1, "c": 1}), ((2,), {"a": 1, "b": 1})])
    second = release(["x"], [((1,), {"a": 1, "b": 1, "d": 9}), ((2,), {"a": 1, "b": 1, "c": 1})])
    people = [{"x": 1, "s": "a"}, {"x": 1, "s": "b"}, {"x": 2, "s": "b"}, {"x": 2, "s": "zz"}]
    attack = intersection_attack([first, second], people, truth="s")
    assert attack.targets["right"].to_pylist() == [1, 0, 0.5, 0]
    assert attack.targets["guess"].to_pylist() == ["a", "a", "a", "a"]
    assert attack.summary.precision == 1.5 / 4
    assert [point.precision for point in attack.summary.curve] == [1.5 / 4]
    listed = intersection_attack([first, second], people, truth=["a", "b", "b", "zz"])
    assert listed.targets["right"].to_pylist() == [1, 0, 0.5, 0]


def test_without_the_truth_nothing_is_right_or_wrong() -> None:
    attack = intersection_attack([A, B], [{"x": 27}])
    assert one(attack)["right"] is None
    assert attack.summary.precision is None


def test_the_paper_s_confidence_may_be_wrong() -> None:
    """Centroid (30, 2) is nearest to somebody who is really in the second group."""
    attack = intersection_attack([M, B], [{"x": 34, "y": 2, "s": "c"}], truth="s", scale=SCALE)
    assert attack.summary.perfect_breach == 1
    assert attack.summary.precision == 0


# -- what may be given ----------------------------------------------------------------------------


def test_targets_in_any_form_are_the_same_people() -> None:
    rows = [{"age": age, "zip": "13012", "s": "Viral"} for age in (28, 45, 37, 45)]
    frame = pa.Table.from_pylist(rows)
    table = sf.read(frame, sf.Schema(["age", "zip"], "s"))
    forms = [rows, frame, frame.to_pandas(), table]
    found = [intersection_attack([FIRST, SECOND], form, truth="s") for form in forms]
    for attack in found[1:]:
        assert attack.summary == found[0].summary
    assert found[0].targets.num_rows == 4
    by_case = found[3].targets.to_pylist()
    assert sorted((row["target"]["age"], row["people"]) for row in by_case) == [
        (28, 1),
        (37, 1),
        (45, 2),
    ]


def test_numbers_written_as_text_are_numbers() -> None:
    row = one(intersection_attack([FIRST, SECOND], [{"age": "45", "zip": 13012}]))
    assert row["values"] == ["Cancer", "Viral"]


def test_a_threat_tells_how_many_are_exposed() -> None:
    people = pa.table({"age": [28, 45, 37, 32], "zip": ["13012"] * 4})
    (threat,) = intersection_attack([FIRST, SECOND], people).threats()
    assert threat.adversary == "composition"
    assert (threat.about, threat.belief.after, threat.belief.at_most) == ("s", 1, False)
    assert threat.people.number >= 3
    assert "one value is left of 3 of 4 people, 1 of them by no release alone" in threat.learns
    assert "first hospital, second hospital" in threat.knows


def test_labels_that_only_one_release_shows_are_told() -> None:
    notes = intersection_attack([FIRST, SECOND], [{"age": 45, "zip": "13012"}]).notes
    assert notes == (
        "only first hospital shows 'Heart'",
        "only second hospital shows 'Flu', 'TB'",
    )


MANY = release(["x"], [((1,), {"a": 1, "b": 1})], sensitive="t")
SEVERAL = sf.Release(
    sf.Schema(["x"], ["s", "t"]),
    {"s": A.by_attribute["s"], "t": A.by_attribute["s"]},
    A.regions,
)
SETS = sf.Release(
    sf.Schema(["x"], "s"), {"s": Groups([[2, 2], [1, 1]], ["a", "b"], sizes=[3, 2])}, A.regions
)
SPELT = release(["x"], [((1,), {"A": 1, "b ": 1, "c": 2})], label="other")
STRANGE = release(["x"], [((1,), {"u": 1, "v": 1})], label="strange")

BAD = {
    "one release": (lambda: intersection_attack([A], [{"x": 1}]), "1 release given; the attack intersects two or more"),
    "no release": (lambda: intersection_attack([], [{"x": 1}]), "0 release given"),
    "a path": (lambda: intersection_attack(["a.csv", A], [{"x": 1}]), "str is not a release; read it with sf.read_release"),
    "no common attribute": (lambda: intersection_attack([A, MANY], [{"x": 1}]), "no sensitive attribute in common (release has s; release has t)"),
    "several attributes": (lambda: intersection_attack([SEVERAL, SEVERAL], [{"x": 1}]), "share several sensitive attributes: s, t; name the one"),
    "several values a person": (lambda: intersection_attack([SETS, A], [{"x": 1}]), "people have several values of 's' each"),
    "spelling": (lambda: intersection_attack([A, SPELT], [{"x": 1}]), "'s' is spelt differently in release and other: 'a' and 'A', 'b' and 'b '"),
    "no common value": (lambda: intersection_attack([A, STRANGE], [{"x": 1}]), "release and strange share no value of 's': 'a', 'b', 'c' against 'u', 'v'"),
    "no targets": (lambda: intersection_attack([A, B], pa.table({"x": pa.array([], pa.int64())})), "there are no targets"),
    "targets of no kind": (lambda: intersection_attack([A, B], 7), "targets: int is not allowed"),
    "mixed targets": (lambda: intersection_attack([A, B], [{"x": 1}, {"x": "old"}]), "column 'x' mixes kinds of values"),
    "overlap": (lambda: intersection_attack([A, B], [{"x": 1}], overlap="size"), "overlap = 'size' is not known"),
    "locate": (lambda: intersection_attack([A, B], [{"x": 1}], locate="best"), "locate = 'best' is not known; allowed: nearest, oracle"),
    "prior": (lambda: intersection_attack([A, B], [{"x": 27}], prior={"a": 1, "b": 1}), "prior gives no weight to 'c', 'd'"),
    "negative prior": (lambda: intersection_attack([A, B], [{"x": 27}], prior={"a": -1}), "prior of 'a' = -1 is not allowed"),
    "prior of no kind": (lambda: intersection_attack([A, B], [{"x": 27}], prior="flat"), "prior = 'flat' is not allowed"),
    "truth": (lambda: intersection_attack([A, B], [{"x": 27, "t": "a"}], truth="s"), "1 of 1 targets have no 's'"),
    "truth of a frame": (lambda: intersection_attack([A, B], pa.table({"x": [27]}), truth="s"), "truth: column 's' is not in the targets"),
    "short truth": (lambda: intersection_attack([A, B], [{"x": 27}], truth=["a", "b"]), "truth: 2 values for 1 targets"),
    "scale": (lambda: intersection_attack([M, B], [{"x": 3, "y": 1}], scale={"z": 1}), "scale: 'z' is not a quasi-identifier"),
    "no scale": (lambda: intersection_attack([M, B], [{"x": 3, "y": 1}], scale={"x": 0, "y": 1}), "scale of column 'x' is 0.0; it must be a number above 0"),
    "oracle of a file": (lambda: intersection_attack([A, B], [{"x": 27}], locate="oracle"), "was read from a file"),
    "a confidence above 1": (lambda: intersection_attack([A, B], [{"x": 27}]).summary.share_at(1.5), "confidence = 1.5 is not allowed"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "text"), BAD.values(), ids=list(BAD))
def test_bad_input_is_told_in_one_line(call: Any, text: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_attribute_that_is_not_there_is_refused() -> None:
    with pytest.raises(SchemaError, match="'u' is not a sensitive column of release"):
        intersection_attack([SEVERAL, SEVERAL], [{"x": 1}], sensitive="u")
    attack = intersection_attack([SEVERAL, SEVERAL], [{"x": 27}], sensitive="t")
    assert attack.attribute == "t"
