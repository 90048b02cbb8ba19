"""The whole road: known tables to known verdicts."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.release import as_it_stands

HOSPITAL_1 = {
    "<30": ["AIDS", "Heart", "Viral", "Viral"],
    ">=40": ["Cancer", "Heart", "Viral", "Viral"],
    "30-39": ["Cancer"] * 4,
}
HOSPITAL_2 = {
    "<35": ["AIDS", "TB", "TB", "Flu", "Cancer", "Cancer"],
    ">=35": ["Cancer", "Cancer", "Cancer", "TB", "Viral", "Viral"],
}


def hospital(groups: dict[str, list[str]]) -> sf.Table:
    rows = [(age, "130**", value) for age, values in groups.items() for value in values]
    columns = dict(zip(("age", "zip", "condition"), zip(*rows, strict=True), strict=True))
    return sf.read(
        pa.table({name: list(values) for name, values in columns.items()}),
        sf.Schema(quasi=["age", "zip"], sensitive="condition"),
    )


@pytest.mark.parametrize(("groups", "k"), [(HOSPITAL_1, 4), (HOSPITAL_2, 6)])
def test_the_two_hospitals_are_4_and_6_anonymous(groups, k: int) -> None:
    report = sf.audit(hospital(groups), [sf.KAnonymity(k)])
    assert report.holds
    assert report.verdicts[0].measured == k
    assert not sf.audit(hospital(groups), [sf.KAnonymity(k + 1)]).holds


def test_the_homogeneous_group_is_named_as_the_worst() -> None:
    report = sf.audit(hospital(HOSPITAL_1), [sf.DistinctDiversity(2)])
    assert report.status == "violated"
    assert report.findings[0].worst[0].description == {"age": "30-39", "zip": "130**"}
    (believed,) = [one for one in report.threats if one.adversary == "random worlds"]
    assert believed.belief.after == 1.0
    assert believed.people == Headcount(8)
    assert believed.covered == ("distinct-diversity",)


def test_of_several_sensitive_attributes_the_worst_counts_unless_one_is_named() -> None:
    rows = pa.table({"q": [1, 1, 1, 1], "a": list("wxyz"), "b": list("uuuv")})
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive=["a", "b"]))
    worst = sf.audit(table, [sf.DistinctDiversity(3)]).verdicts[0]
    assert (worst.attribute, worst.measured, worst.status) == ("b", 2.0, "violated")
    named = sf.audit(table, [sf.DistinctDiversity(3, sensitive="a")]).verdicts[0]
    assert (named.attribute, named.measured, named.status) == ("a", 4.0, "holds")
    assert as_it_stands(table).groups_for("b").counts_of(0) == {"u": 3, "v": 1}
    with pytest.raises(sf.SchemaError, match="'c' is not a sensitive column"):
        sf.audit(table, [sf.DistinctDiversity(3, sensitive="c")])


def test_suppressed_people_stay_in_the_reference_and_form_no_group() -> None:
    whole = Groups([[2, 2], [0, 4]])
    published = Groups([[2, 2]], reference=[2, 6])
    assert len(published) == 1
    # Against the published rows alone the distance would be 0; the table says 1/4.
    assert sf.TCloseness(0.2).verdict(published).measured == pytest.approx(0.25, abs=1e-15)
    assert sf.TCloseness(0.2).verdict(whole).measured == pytest.approx(0.25, abs=1e-15)
    assert not sf.TCloseness(0.2).verdict(published).holds


def test_the_order_of_rows_changes_nothing() -> None:
    rows = [(i % 3, "abc"[i % 2]) for i in range(9)]
    reports = []
    for order in (rows, rows[::-1]):
        table = pa.table({"q": [r[0] for r in order], "s": [r[1] for r in order]})
        read = sf.read(table, sf.Schema(quasi=["q"], sensitive="s"))
        reports.append(json.loads(sf.audit(read, [sf.KAnonymity(2), sf.TCloseness(0.1)]).to_json()))
    assert reports[0] == reports[1]


def test_repr_tells_the_answer_first() -> None:
    report = sf.audit(hospital(HOSPITAL_1), [sf.KAnonymity(4)])
    assert repr(report).startswith("Report on the table: holds\n  12 people in 3 groups")
    assert str(report).startswith("The policy holds.")
    assert "12 people in 3 groups (smallest 4)" in str(report)


def test_adult_as_it_stands(data_folder) -> None:
    from sfumato.datasets.public_files import adult

    table = sf.read(*adult(data_folder))
    release = as_it_stands(table)
    assert table.people == 30_162
    assert len(release.groups) == 12_458
    unique = int((release.groups.sizes == 1).sum())
    assert unique / table.people == pytest.approx(0.293117, abs=5e-7)
