"""Releases of linked rows: made alike by signatures, cut where too few people are alike."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.leakage.observer import Observer
from sfumato.anonymizers.base import Anonymizer
from sfumato.anonymizers.pieces import LONGEST, cut

visits = st.lists(
    st.lists(
        st.tuples(st.integers(20, 60), st.sampled_from(["F", "M"]), st.sampled_from("ABC")),
        min_size=1,
        max_size=4,
    ),
    min_size=6,
    max_size=14,
)
MAKERS = {"mondrian": sf.Mondrian(), "lattice": sf.Lattice(), "best": None}


def visits_table(people, **more: object) -> sf.Table:
    rows = [(f"p{number}", *row) for number, own in enumerate(people) for row in own]
    frame = pd.DataFrame(rows, columns=["who", "age", "sex", "ill"])
    schema = sf.Schema(
        ["age", "sex"],
        "ill",
        person="who",
        rows="linked",
        hierarchies={"age": sf.intervals([10, 20])},
        **more,
    )
    return sf.read(frame, schema)


def by_pseudonym(release: sf.Release) -> dict[int, list[tuple]]:
    listed = defaultdict(list)
    for row in release.to_arrow().to_pylist():
        listed[row["pseudonym"]].append((str(row["age"]), str(row["sex"]), row["ill"]))
    return listed


@settings(deadline=None)
@given(visits, st.sampled_from(sorted(MAKERS)), st.integers(2, 3))
def test_everybodys_signature_is_shared_as_the_public_rows_show(people, maker: str, k: int) -> None:
    table = visits_table(people)
    policy = sf.Policy([sf.KAnonymity(k)], anonymizer=MAKERS[maker], suppression=0.5)
    try:
        release = sf.anonymize(table, policy, seed=3)
    except sf.NoSafeRelease:
        return
    listed = by_pseudonym(release)
    signatures = Counter(tuple(sorted(row[:2] for row in rows)) for rows in listed.values())
    assert min(signatures.values()) >= k
    assert min(signatures.values()) == int(release.groups.sizes.min())
    published = sum(map(len, listed.values()))
    assert published <= sum(map(len, people))
    assert len(listed) == release.people


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=40),
    st.integers(1, 6),
    st.frozensets(st.integers(2, 6), max_size=2),
)
def test_pieces_are_of_lengths_that_enough_people_have(rows, fewest: int, unfit) -> None:
    pieces = cut(np.array(rows), fewest, unfit)
    having = Counter(length for own in pieces for length in own)
    assert all(len(set(own)) == len(own) for own in pieces)  # no group has two of one person's
    assert all(people >= fewest for people in having.values())
    assert not unfit & having.keys()
    assert max(having, default=0) <= LONGEST
    assert all(sum(own) <= total for own, total in zip(pieces, rows, strict=True))


def test_who_has_enough_people_beside_her_is_not_cut() -> None:
    assert cut(np.array([3, 3, 3, 1, 1]), 2) == [[3], [3], [3], [1], [1]]
    assert cut(np.array([5, 3, 3, 3, 2, 2]), 2) == [[3, 2], [3], [3], [3], [2], [2]]
    lonely = cut(np.array([3, 3, 3, 3, 1]), 2)  # somebody drops two rows to be with her
    assert Counter(map(tuple, lonely)) == {(3,): 3, (1,): 2}


@pytest.mark.parametrize("maker", ["mondrian", "lattice"])
def test_what_is_written_is_read_back_and_judged_alike(tmp_path: Path, maker: str) -> None:
    chance = np.random.default_rng(1)
    people = [
        [
            (
                int(chance.integers(20, 60)),
                str(chance.choice(["F", "M"])),
                str(chance.choice(list("ABCD"))),
            )
            for _ in range(1 + number % 3)
        ]
        for number in range(40)
    ]
    people.append([(20 + number, "F", "A") for number in range(7)])
    table = visits_table(people)
    asked = [sf.KAnonymity(3), sf.DistinctDiversity(2), sf.AlphaK(0.9, 2), sf.TCloseness(0.7)]
    policy = sf.Policy(asked, anonymizer=MAKERS[maker], schema=table.schema, suppression=0.1)
    release = sf.anonymize(table, policy, seed=5)
    report = sf.audit(release, policy)
    assert report.holds
    release.save(tmp_path / "out", report=report, policy=policy)
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    told = manifest["linked"]
    assert told["rows"] + told["rows_not_published"] == sum(map(len, people))
    assert told["people_of_several_pseudonyms"] == 1  # the one with seven rows
    for schema in (table.schema, None):
        again = sf.audit(sf.read_release(tmp_path / "out", schema), policy)
        assert [one.measured for one in again.verdicts] == [one.measured for one in report.verdicts]
    # Anybody reads the file itself so, the pseudonym being the person.
    foreign = sf.Schema(["age", "sex"], "ill", person="pseudonym", rows="linked")
    alone = sf.read_release(tmp_path / "out/public/data.csv", foreign)
    assert sf.audit(alone, asked[:1]).verdicts[0].measured == report.verdicts[0].measured
    columns = sorted(pd.read_csv(tmp_path / "out/public/data.csv").columns)
    assert columns == ["age", "ill", "pseudonym", "sex"]


def test_pieces_of_one_person_are_not_taken_for_two_who_have_a_row(tmp_path: Path) -> None:
    people = [[(30, "F", "A")] * 3] + [[(30, "F", "B")] * 2] * 2 + [[(50, "M", "A")]] * 2
    table = visits_table(people, knows=1)
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Lattice(), schema=table.schema)
    release = sf.anonymize(table, policy, seed=1)  # three rows are cut into two and one
    assert release.people == 6
    report = sf.audit(release, policy)
    assert report.verdicts[0].measured == int(release.groups.sizes.min())
    release.save(tmp_path / "out", report=report, policy=policy)
    again = sf.audit(sf.read_release(tmp_path / "out", table.schema), policy)
    assert again.verdicts[0].measured == report.verdicts[0].measured


def test_pseudonyms_are_new_with_every_release_and_say_nothing() -> None:
    people = [[(30, "F", "A"), (40, "M", "B")]] * 6
    table = visits_table(people)
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian())
    made = [sf.anonymize(table, policy, seed=seed).to_arrow().to_pylist() for seed in (1, 2, 1)]
    assert made[0] == made[2] != made[1]
    assert {row["pseudonym"] for row in made[0]} == set(range(1, 7))


def test_a_column_called_pseudonym_keeps_its_name() -> None:
    frame = pd.DataFrame(
        {"who": [1, 1, 2, 2], "pseudonym": ["x", "y", "x", "y"], "ill": list("ABBA")}
    )
    schema = sf.Schema(["pseudonym"], "ill", person="who", rows="linked")
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian())
    made = sf.anonymize(sf.read(frame, schema), policy)
    assert made.to_arrow().column_names == ["pseudonym_", "pseudonym", "ill"]


@pytest.mark.parametrize("maker", [sf.Deal(), sf.Anatomy(2), sf.Mondrian(scheme="bucketized")])
def test_anonymizers_that_do_not_link_rows(maker: Anonymizer) -> None:
    table = visits_table([[(30, "F", "A"), (40, "M", "B")]] * 4)
    with pytest.raises(sf.PolicyError, match="does not make releases of linked rows"):
        sf.anonymize(table, sf.Policy([sf.KAnonymity(2)], anonymizer=maker))


def test_too_few_people_for_any_signature() -> None:
    table = visits_table([[(30, "F", "A")], [(40, "M", "B")] * 2])
    with pytest.raises(sf.NoSafeRelease, match="people have numbers of rows that fewer than 3"):
        sf.anonymize(table, sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Mondrian()))


def signature(rows, width: int, star: bool) -> tuple:
    """What is published of somebody's rows at one node."""
    return tuple(sorted((age // width, "*" if star else sex) for age, sex, _ in rows))


@settings(deadline=None)
@given(visits, st.integers(0, 2), st.integers(0, 1), st.integers(1, 3))
def test_a_node_that_is_named_publishes_the_signatures_of_the_table(
    people, age: int, sex: int, k: int
) -> None:
    """Whoever has 12 rows or fewer is not cut where nothing is asked; whom too few share goes."""
    wanted = Counter(signature(own, (1, 10, 20)[age], sex == 1) for own in people)
    lengths = Counter(map(len, people))
    table, node = visits_table(people), {"age": age, "sex": sex}
    release = sf.generalize(table, node)
    assert sorted(release.groups.sizes.tolist()) == sorted(wanted.values())
    assert release.people == len(people)
    if min(lengths.values()) < k:
        return  # some are cut then
    few = sum(many for many in wanted.values() if many < k)
    if few:
        with pytest.raises(sf.NoSafeRelease):
            sf.generalize(table, node, [sf.KAnonymity(k)])
    if few < len(people):
        kept = sf.generalize(table, node, [sf.KAnonymity(k)], suppression=few / len(people))
        shared = [many for many in wanted.values() if many >= k]
        assert sorted(kept.groups.sizes.tolist()) == sorted(shared)


def test_a_node_of_linked_rows_keeps_to_limits_and_names() -> None:
    table = visits_table([[(20, "F", "A")], [(21, "F", "B")]])
    with pytest.raises(sf.InputError, match="not a quasi-identifier"):
        sf.generalize(table, {"ward": 1})
    with pytest.raises(sf.InputError, match="levels 0 to 3"):
        sf.generalize(table, {"age": 9})
    with pytest.raises(sf.PolicyError, match="one description of each person"):
        sf.generalize(table, {"age": 1}, [sf.KAnonymity(2, columns=["age"])])


def test_linked_rows_that_came_out_one_each_are_judged_alike_when_read_back(tmp_path: Path) -> None:
    people = [[(20 + n, "F", "ABC"[n % 3])] for n in range(6)]
    people.append([(21, "F", "A"), (22, "F", "B")])  # the only one with two: one is left over
    table = visits_table(people)
    policy = sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Mondrian())
    release = sf.anonymize(table, policy, seed=1)
    assert {len(rows) for rows in by_pseudonym(release).values()} == {1}
    release.save(tmp_path / "out")
    read = sf.read_release(tmp_path / "out", table.schema)
    made, again = (
        Observer().attack(one, one.groups_for("ill")).threats()[0] for one in (release, read)
    )
    assert (made.status, made.learns) == (again.status, again.learns)
    assert made.status == "measured"
    assert (again.people, again.belief) == (made.people, made.belief)
