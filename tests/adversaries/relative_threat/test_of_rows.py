"""Learner against attacker where people have several rows: what is asked is the value of a row."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.lattice.lattice import LatticeFindings
from sfumato.release.description import Regions
from sfumato.release.linked import LinkedRows, linked_release

AGES, WARDS = list(range(20, 40)), ["A", "B"]
LEVELS = [{"age": 1, "ward": 0}, {"age": 2, "ward": 1}]


def visits(seed: int, people: int = 9) -> pa.Table:
    rng = np.random.default_rng(seed)
    who = [f"p{one:02d}" for one in range(people) for _ in range(1 + one % 3)]
    return pa.table(
        {
            "who": who,
            "age": rng.choice(AGES, len(who)),
            "ward": rng.choice(WARDS, len(who)),
            "ill": rng.choice(["flu", "gout", "HIV"], len(who)),
        }
    )


def read(rows: pa.Table, kind: str | None) -> sf.Table:
    schema = sf.Schema(
        ["age", "ward"],
        "ill",
        hierarchies={"age": sf.intervals([5, 10])},
        domains={"age": AGES, "ward": WARDS},
        **({} if kind is None else {"person": "who", "rows": kind}),
    )
    return sf.read(rows.drop_columns(["who"]) if kind is None else rows, schema)


@pytest.mark.parametrize("levels", LEVELS)
def test_unlinked_rows_are_judged_as_if_each_were_somebody(
    levels: dict[str, int], tmp_path: Path
) -> None:
    rows = visits(1)
    plain, unlinked = read(rows, None), read(rows, "unlinked")
    expected = sf.relative_threat(sf.generalize(plain, levels))
    release = sf.generalize(unlinked, levels)
    found = sf.relative_threat(release)
    assert found.measures == expected.measures
    assert found.rows.drop_columns(["group"]).equals(expected.rows.drop_columns(["group"]))
    victim = {"age": 23, "ward": "A"}
    assert found.attacker(victim) == expected.attacker(victim)
    assert "any of her rows is not bounded" in found.notes[0]
    for threat, plainly in zip(found.threats(), expected.threats(), strict=True):
        assert threat.of_row
        assert not plainly.of_row
        assert threat.belief == plainly.belief
        assert f"of {rows.num_rows} rows" in threat.learns
        assert threat.people.number <= 9  # people, however many rows of theirs
    bound = sf.RelativeThreatBound(float(expected.measures.attacker.highest) + 0.01)
    release.save(tmp_path / "saved")
    back = sf.read_release(tmp_path / "saved", unlinked.schema)
    for judged, attacks in ((release, ()), (back, [sf.relative_threat(back, unlinked)])):
        (verdict,) = sf.audit(judged, [bound], attacks=attacks).verdicts
        (one_each,) = sf.audit(sf.generalize(plain, levels), [bound]).verdicts
        assert (verdict.status, verdict.measured) == ("holds", one_each.measured)
        assert verdict.of_row
        assert "of a row" in verdict.note
    (tight,) = sf.audit(release, [sf.RelativeThreatBound(bound.max_ti - 0.05)]).verdicts
    assert tight.status == "violated"


def test_combinations_of_a_row_are_judged_as_if_each_row_were_somebody() -> None:
    rows = visits(1)
    jobs = np.random.default_rng(0).choice(["x", "y"], rows.num_rows)
    rows = rows.append_column("job", pa.array(jobs.tolist()))
    tables = [
        sf.read(rows, replace(read(visits(1), kind).schema, sensitive=["ill", "job"]))
        for kind in (None, "unlinked")
    ]
    plain, unlinked = (
        sf.relative_threat(sf.generalize(table, LEVELS[1]), joint=["ill", "job"])
        for table in tables
    )
    assert plain.measures == unlinked.measures
    assert unlinked.of_row is not None


def by_hand(rows: pa.Table, width: int) -> list[tuple[Fraction, Fraction]]:
    """p_A and p_L of the true value of every row, ages in ranges of a width, wards as they are.

    Everybody's own group is the rows of her ward and range whose owner's rows all look as hers do.
    """
    listed = rows.to_pylist()
    shown = [((row["age"] - 20) // width, row["ward"]) for row in listed]
    own = [
        tuple(sorted(cell for cell, other in zip(shown, listed, strict=True) if other["who"] == w))
        for w in (row["who"] for row in listed)
    ]
    values = sorted({row["ill"] for row in listed})
    total = len(listed)

    def theta(column: str, cell: object, value: str, region: int, many: int) -> Fraction:
        # Of a range of so many values, each is as likely; Dirichlet weights of 1 for every value.
        having = [at for at, row in enumerate(listed) if row["ill"] == value]
        there = sum(shown[at][("age", "ward").index(column)] == cell for at in having)
        return Fraction(there + region, len(having) + many) / region

    beliefs = []
    for at, row in enumerate(listed):
        alike = [
            other for other in range(total) if shown[other] == shown[at] and own[other] == own[at]
        ]
        inside = Fraction(sum(listed[other]["ill"] == row["ill"] for other in alike), len(alike))
        weights = {
            value: Fraction(sum(one["ill"] == value for one in listed) + 1, total + len(values))
            * theta("age", shown[at][0], value, width, len(AGES))
            * theta("ward", shown[at][1], value, 1, len(WARDS))
            for value in values
        }
        beliefs.append((inside, weights[row["ill"]] / sum(weights.values())))
    return beliefs


def in_tens(table: sf.Table) -> sf.Release:
    """Ages in ranges of ten, as an anonymizer publishes linked rows."""
    rows, chosen = table.rows, (table.levels["age"][2], table.levels["ward"][0])
    codes = np.vstack([level.codes[row] for level, row in zip(chosen, rows.codes, strict=True)])
    regions = Regions(("age", "ward"), tuple(level.regions for level in chosen), codes)
    linked = LinkedRows(table, rows.person, rows.person, regions)
    return linked_release(linked, LatticeFindings({"age": 2, "ward": 0}))


@pytest.mark.parametrize("seed", [2, 3])
def test_linked_rows_are_judged_among_those_that_look_alike_in_equal_signatures(seed: int) -> None:
    rows = visits(seed, people=14)
    table = read(rows, "linked")
    for width, judged in ((1, table), (10, in_tens(table))):
        found = sf.relative_threat(judged, table)
        told = sorted(
            (int(row["age"]), row["ward"], row["ill"], row["p_attacker"], row["p_learner"])
            for row in found.rows.to_pylist()
            for _ in range(row["people"])
        )
        counted = sorted(
            (row["age"], row["ward"], row["ill"], float(attacker), float(learner))
            for row, (attacker, learner) in zip(rows.to_pylist(), by_hand(rows, width), strict=True)
        )
        assert [row[:3] for row in told] == [row[:3] for row in counted]
        assert np.array([row[3:] for row in told]) == pytest.approx(
            np.array([row[3:] for row in counted])
        )
        assert found.of_row.own_signature
        assert all(threat.of_row for threat in found.threats())


def test_a_linked_release_that_was_read_is_judged_as_it_was_made(tmp_path: Path) -> None:
    table = read(visits(3, people=14), "linked")
    release = in_tens(table)
    made = sf.relative_threat(release)
    bound = sf.RelativeThreatBound(float(made.measures.attacker.highest) + 0.01)
    report = sf.audit(release, [bound])
    (verdict,) = report.verdicts
    assert (verdict.status, verdict.per, verdict.of_row) == ("holds", "row", True)
    assert report.promises()[0]["of_row"]
    release.save(tmp_path / "saved")
    back = sf.read_release(tmp_path / "saved", table.schema)
    attack = sf.relative_threat(back, table)
    assert attack.of_row.own_signature
    assert attack.measures.gt_attacker == pytest.approx(made.measures.gt_attacker)
    (read_back,) = sf.audit(back, [bound], attacks=[attack]).verdicts
    assert read_back.status == "holds"
    assert read_back.measured == pytest.approx(verdict.measured)


def test_who_does_not_find_the_signature_never_shows_that_the_bound_holds() -> None:
    table = read(visits(3, people=14), "linked")
    release = in_tens(table)
    unclear = {"known": ["age"]}
    attack = sf.relative_threat(release, table, **unclear)
    assert attack.of_row.only_less
    bound = sf.RelativeThreatBound(1000.0, **unclear)
    (verdict,) = sf.audit(release, [bound], attacks=[attack]).verdicts
    assert (verdict.status, verdict.measured) == ("cannot_judge", None)
    assert "may learn more" in verdict.note
    (broken,) = sf.audit(release, [sf.RelativeThreatBound(0.01, **unclear)]).verdicts
    assert broken.status == "violated"


def test_whose_signature_it_is_is_not_guessed_where_rows_were_cut(tmp_path: Path) -> None:
    table = read(visits(3, people=14), "linked")
    whole = in_tens(table).placement.linked
    alone = len(whole.pseudonym) - 1  # the last row of the last person: a pseudonym of its own
    cut = whole.pseudonym.copy()
    cut[alone] += 1
    release = linked_release(replace(whole, pseudonym=cut, piece=cut), LatticeFindings({}))
    assert sf.relative_threat(release).of_row.own_signature  # whoever made it knows
    release.save(tmp_path / "saved")
    back = sf.read_release(tmp_path / "saved", table.schema)
    assert sf.relative_threat(back, table).of_row.only_less
