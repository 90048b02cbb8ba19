"""The acquaintance as a threat, and the people of the table a worst grounding speaks of."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.skyline.acquaintance import Acquainted, words
from sfumato.errors import InputError
from tests.adversaries.skyline.tiny_releases import CASES, groups_of, tinies
from tests.examples import few

GROUPS = sf.Groups([[1, 1, 2], [1, 4, 5]], ["HIV", "flu", "cold"], attribute="disease")


def test_she_is_measured_by_what_she_can_become_sure_of() -> None:
    (threat,) = Acquainted(GROUPS, (1, 0, 0), [0]).threats()
    assert (threat.adversary, threat.about) == ("acquaintance", "disease")
    # Of all 14, once the 7 with a cold are ruled out, 2 of 7; of the first group's, 1 of 2.
    assert (threat.belief.value, threat.belief.before) == ("HIV", pytest.approx(2 / 7))
    assert threat.belief.after == pytest.approx(1 / 2)
    assert threat.people.number == 0
    (threat,) = Acquainted(GROUPS, (1, 1, 0), [0, 1]).threats()
    assert (threat.belief.before, threat.belief.after) == (pytest.approx(2 / 6), 1)
    assert threat.people.number == 14


def test_facts_that_settle_it_by_themselves_are_not_the_doing_of_the_release() -> None:
    """Whoever has no cold has the flu: she needs no release for that."""
    groups = sf.Groups([[3, 1], [2, 2]], ["flu", "cold"])
    (threat,) = Acquainted(groups, (1, 0, 0), [0, 1]).threats()
    assert (threat.belief.before, threat.belief.after, threat.people.number) == (1, 1, 0)


def test_what_she_knows_is_told() -> None:
    assert words((0, 0, 0), "single") == "the target's quasi-identifiers"
    assert words((1, 1, 1), "single") == (
        "the target's quasi-identifiers, one value the target does not have, the value of one "
        "other person, one relative who would share it"
    )
    assert words((2, 3, 4), "set") == (
        "the target's quasi-identifiers, 2 values the target has only together with it, the lack "
        "of it in 3 other people, 4 relatives who would share it"
    )


def test_an_audit_has_a_row_for_each_point_the_policy_requires() -> None:
    release = release_of("zip,disease\n" + "1,HIV\n1,flu\n1,cold\n1,cold\n2,flu\n2,HIV\n2,cold\n")
    criteria = [
        sf.SkylinePrivacy([(0, 1, 0, 0.9), (1, 0, 0, 0.9), (0, 0, 0, 0.95)]),
        sf.SkylinePrivacy([(0, 1, 0, 0.9)]),
    ]
    report = sf.audit(release, criteria)
    found = [threat for threat in report.threats if threat.adversary == "acquaintance"]
    assert len(found) == 2
    assert {threat.covered for threat in found} == {("skyline-privacy",)}
    surest = sf.breach_probability(release, found[0].belief.value, 0, 1, 0)
    assert found[0].belief.after == pytest.approx(surest)


def release_of(rows: str, **more: object) -> sf.Release:
    from io import BytesIO

    import pyarrow.csv as pc

    table = sf.read(
        pc.read_csv(BytesIO(rows.encode())), sf.Schema(quasi="zip", sensitive="disease", **more)
    )
    return sf.generalize(table, {"zip": 0})


def test_the_people_of_a_grounding_are_those_of_the_table() -> None:
    rows = "zip,disease\n1,HIV\n1,flu\n1,flu\n1,cold\n1,gout\n2,flu\n2,flu\n"
    release = release_of(rows)
    found = sf.worst_grounding(release, "HIV", 1, 1, 1)
    records = sf.people_behind(release, found)
    assert [(one.part, one.people, one.values) for one in records] == [
        ("target", 1, ("HIV",)),
        ("known", 1, ("cold",)),
        ("family", 1, ("flu",)),
    ]
    assert all(one.quasi == {"zip": "1"} for one in records)


def test_nobody_plays_two_parts() -> None:
    release = release_of("zip,disease\n" + "1,HIV\n" * 2 + "1,flu\n" * 4 + "1,cold\n" * 5)
    found = sf.worst_grounding(release, "HIV", 1, 3, 2)
    records = sf.people_behind(release, found)
    given = {
        part: sum(one.people for one in records if one.part == part)
        for part in ("target", "known", "family")
    }
    assert given == {"target": 1, "known": found.people, "family": found.members}
    for value, there in (("HIV", 2), ("flu", 4), ("cold", 5)):
        assert sum(one.people for one in records if one.values == (value,)) <= there


def test_people_with_several_values_lack_the_value_to_be_known() -> None:
    rows = "id,zip,disease\n1,1,HIV\n1,1,flu\n2,1,flu\n3,1,cold\n3,1,flu\n4,1,gout\n"
    release = release_of(rows, person="id")
    found = sf.worst_grounding(release, "HIV", 1, 2, 0)
    assert found.case == "lists"
    known = [one for one in sf.people_behind(release, found) if one.part == "known"]
    assert sum(one.people for one in known) == 2
    assert all("HIV" not in one.values for one in known)


def test_a_value_nobody_has_involves_nobody() -> None:
    release = release_of("zip,disease\n1,HIV\n1,flu\n", domains={"disease": ["HIV", "flu", "gout"]})
    assert sf.people_behind(release, sf.worst_grounding(release, "gout", 1, 1, 1)) == []


ROWS = "zip,disease\n2,flu\n1,HIV\n1,flu\n2,HIV\n1,flu\n1,cold\n1,gout\n2,flu\n"


def parts_of(people: list) -> list[tuple[str, tuple[int, ...], str, bool]]:
    return [(one.part, one.records, one.group, one.sure) for one in people]


def test_a_release_that_was_read_needs_the_table_to_name_people(tmp_path: Path) -> None:
    """And the same records are named as by the release just made."""
    (tmp_path / "rows.csv").write_text(ROWS)
    schema = sf.Schema(quasi="zip", sensitive="disease")
    table = sf.read(tmp_path / "rows.csv", schema)
    made = sf.generalize(table, {"zip": 0})
    made.save(tmp_path / "out")
    read = sf.read_release(tmp_path / "out", schema)
    grounding = sf.worst_grounding(read, "HIV", 1, 1, 1)
    assert "whose target is in the group zip " in grounding.sentence
    with pytest.raises(InputError, match="known by the table alone"):
        sf.people_behind(read, grounding)
    told = parts_of(sf.people_behind(read, grounding, table=table))
    assert told == parts_of(sf.people_behind(made, sf.worst_grounding(made, "HIV", 1, 1, 1)))
    lines = ROWS.splitlines()
    for part, records, group, sure in told:
        assert sure
        assert len(records) == 1
        assert lines[records[0]].split(",")[0] == group.removeprefix("zip ")
        assert part != "target" or lines[records[0]].endswith("HIV")
    (tmp_path / "other.csv").write_text("zip,disease\n1,HIV\n")
    with pytest.raises(InputError, match="does not have the people of the release"):
        sf.people_behind(read, grounding, table=sf.read(tmp_path / "other.csv", schema))


def test_who_fits_two_groups_is_perhaps_in_this_one(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("age,ill\n25,A\n30,A\n30,B\n35,B\n35,C\n28,C\n")
    shown = {"[20, 31)": ["A", "A", "C"], "[30, 40)": ["B", "B", "C"]}
    lines = [f'"{age}",{ill}\n' for age, ills in shown.items() for ill in ills]
    (tmp_path / "release.csv").write_text("age,ill\n" + "".join(lines))
    schema = sf.Schema(quasi="age", sensitive="ill")
    release = sf.read_release(tmp_path / "release.csv", schema)
    table = sf.read(tmp_path / "rows.csv", schema)
    grounding = sf.worst_grounding(release, "A", 0, 1, 1)
    told = parts_of(sf.people_behind(release, grounding, table=table))
    assert told
    assert not any(sure for *_, sure in told)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=few(30))
@given(data=st.data())
def test_exposed_are_those_of_whom_facts_tell_so_much(case, data) -> None:
    """Group by group, by every world and every grounding."""
    tiny = data.draw(tinies(case, people=7, worlds=300))
    points = data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=2))
    confidence = data.draw(st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(1)]))
    told = sf.exposed_people(groups_of(tiny), "A", points, confidence)
    for point, people in zip(points, told, strict=True):
        surest = [tiny._breach((group, 0), 0, point) for group in range(len(tiny.groups))]
        reached = [
            n for (n, _), sure in zip(tiny.groups, surest, strict=True) if sure >= confidence
        ]
        assert people.number == sum(reached)
        assert not people.at_most


def test_a_verdict_tells_how_many_each_point_exposes() -> None:
    groups = sf.Groups([[2, 0, 2], [1, 1, 2]], ["AIDS", "cancer", "flu"])
    note = sf.SkylinePrivacy([(1, 0, 0, 0.9), (0, 2, 0, 0.5)]).verdict(groups).note
    assert "8 people; 4 people not (1, 0, 0) below 0.9; 8 people not (0, 2, 0) below 0.5" in note
