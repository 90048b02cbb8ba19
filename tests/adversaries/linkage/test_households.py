"""Households: whoever finds one member finds all, against every way of guessing."""

from __future__ import annotations

import shutil
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage.households import UNKNOWN, Households
from sfumato.adversaries.linkage.risks import BY_HOUSEHOLD, linkage
from sfumato.criteria.verdict import UNOWNED
from sfumato.release.households_file import HOUSEHOLDS
from sfumato.release.release import as_it_stands
from sfumato.release.write.publish import OWNER, rows_with_owners
from tests.oracles.linked_oracle import candidates

people = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("xyz")), min_size=1, max_size=7)


def table_of(listed, columns=("home", "ward"), **schema: object) -> sf.Table:
    frame = pd.DataFrame(listed, columns=list(columns))
    return sf.read(frame, sf.Schema(["ward"], household="home", **schema))


def found_by_guessing(rows) -> dict[int, Fraction]:
    """The share of all ways of guessing each member's row in which some guess is right."""
    found = {}
    for home in {home for home, _ in rows}:
        members = [number for number, (other, _) in enumerate(rows) if other == home]
        alike = [[n for n, (_, ward) in enumerate(rows) if ward == rows[m][1]] for m in members]
        right = [any(g == m for g, m in zip(way, members, strict=True)) for way in product(*alike)]
        found[home] = Fraction(sum(right), len(right))
    return found


@given(people)
def test_a_household_is_found_as_often_as_all_ways_of_guessing_say(rows) -> None:
    release = as_it_stands(table_of(rows))
    risk = linkage(release, thresholds=(0.5,)).households
    assert risk is not None
    found = found_by_guessing(rows)
    each = [found[home] for home, _ in rows]
    assert risk.highest == pytest.approx(float(max(each)))
    assert risk.mean == pytest.approx(float(sum(each) / len(each)))
    assert risk.above[0] == pytest.approx(sum(one > Fraction(1, 2) for one in each) / len(each))
    verdicts = sf.audit(release, [sf.HouseholdRisk(0.5), sf.HouseholdAnonymity(2)]).verdicts
    fewest = min(len({home for home, other in rows if other == ward}) for _, ward in rows)
    assert verdicts[0].holds == (max(each) <= Fraction(1, 2))
    assert verdicts[1].measured == fewest


members = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.sampled_from("xyz"), min_size=1, max_size=3)),
    min_size=1,
    max_size=6,
)


@given(members, st.sampled_from(["all", 1, 2]))
def test_linked_rows_are_found_by_their_signatures(listed, knows) -> None:
    rows = [(who, home, ward) for who, (home, wards) in enumerate(listed) for ward in wards]
    columns = ("who", "home", "ward")
    release = as_it_stands(table_of(rows, columns, person="who", rows="linked", knows=knows))
    fewest = candidates([[(ward, "") for ward in wards] for _, wards in listed], knows)
    known = Households.of(release)
    assert known is not None
    assert (1 / known.risk).round().astype(int).tolist() == fewest
    homes = [home for home, _ in listed]
    assert known.household.tolist() == np.unique(homes, return_inverse=True)[1].tolist()


@given(members, st.sampled_from(["all", 1, 2]))
def test_rows_published_one_by_one_find_a_household_by_what_is_known_of_each(listed, knows) -> None:
    rows = [(who, home, ward) for who, (home, wards) in enumerate(listed) for ward in wards]
    columns = ("who", "home", "ward")
    release = as_it_stands(table_of(rows, columns, person="who", rows="unlinked", knows=knows))
    owned = [Counter(wards) for _, wards in listed]
    missed = dict.fromkeys((home for home, _ in listed), Fraction(1))
    for home, wards in listed:
        size = len(wards) if knows == "all" else min(knows, len(wards))
        parts = [Counter(part) for part in combinations(wards, size)]
        fewest = min(sum(part <= other for other in owned) for part in parts)
        missed[home] *= 1 - Fraction(1, fewest)
    each = [float(1 - missed[home]) for home, _ in listed]
    risk = linkage(release).households
    assert risk is not None
    assert risk.highest == pytest.approx(max(each))
    assert risk.mean == pytest.approx(sum(each) / len(each))
    homes = min(len({h for h, wards in listed if ward in wards}) for _, _, ward in rows)
    asked = [sf.HouseholdAnonymity(2), sf.HouseholdRisk(0.5)]
    by_homes, by_risk = sf.audit(release, asked).verdicts
    assert by_homes.measured == homes
    assert by_risk.measured == pytest.approx(max(each))


@given(members)
def test_who_has_several_rows_is_at_the_highest_of_their_risks(listed) -> None:
    rows = [(who, home, ward) for who, (home, wards) in enumerate(listed) for ward in wards]
    release = as_it_stands(table_of(rows, ("who", "home", "ward"), person="who"))
    sizes = Counter(ward for _, wards in listed for ward in set(wards))
    known = Households.of(release)
    assert known is not None
    assert known.risk == pytest.approx(
        [max(1 / sizes[one] for one in wards) for _, wards in listed]
    )


@pytest.mark.parametrize("maker", [sf.Mondrian(), sf.Lattice()])
@pytest.mark.parametrize("rows", ["gathered", "linked", "unlinked"])
def test_a_bound_on_households_is_kept(maker, rows: str, tmp_path: Path) -> None:
    chance = np.random.default_rng(2)
    listed = [(n, n // 3, int(chance.integers(20, 60)), "AB"[n % 2]) for n in range(45)]
    if rows != "gathered":
        listed += [(who, home, age + 1, ill) for who, home, age, ill in listed[::2]]
    frame = pd.DataFrame(listed, columns=["who", "home", "age", "ill"])
    schema = sf.Schema(
        ["age"],
        "ill",
        person="who",
        household="home",
        rows=rows,
        hierarchies={"age": sf.intervals([10, 20])},
    )
    asked = [sf.KAnonymity(2), sf.HouseholdRisk(0.4), sf.HouseholdAnonymity(3)]
    policy = sf.Policy(asked, anonymizer=maker, schema=schema, suppression=0.2)
    table = sf.read(frame, schema)
    release = sf.anonymize(table, policy, seed=1)
    report = sf.audit(release, policy)
    assert report.holds
    assert report.linkage.households.highest <= 0.4
    release.save(tmp_path / "out", report=report, policy=policy)
    assert "home" not in pd.read_csv(tmp_path / "out/public/data.csv").columns
    saved = sf.read_release(tmp_path / "out", schema)
    again, with_table = sf.audit(saved, policy), sf.audit(saved, policy, table=table)
    assert figures(again) == figures(with_table) == figures(report)
    shutil.copytree(tmp_path / "out/public", tmp_path / "handed out")
    alone = sf.read_release(tmp_path / "handed out", schema)
    # Nobody else knows: but for the table it was made of, which must be that one.
    by_anybody = sf.audit(alone, policy)
    of_people = "cannot_judge" if rows == "unlinked" else "holds"
    statuses = [one.status for one in by_anybody.verdicts]
    assert statuses == [of_people, "cannot_judge", "cannot_judge"]
    assert by_anybody.linkage.households is None
    if rows == "gathered":
        assert figures(sf.audit(alone, policy, table=table)) == figures(report)
    other = sf.read(frame.assign(age=frame.age + 7), schema)
    without = sf.audit(alone, policy, table=other)
    assert [one.status for one in without.verdicts[1:]] == ["cannot_judge", "cannot_judge"]


def figures(report: sf.Report) -> list[object]:
    """What was measured, and the row of households in the threat matrix."""
    judged = [(one.criterion, one.status, one.measured, one.note) for one in report.verdicts]
    threats = [one for one in report.threats if one.adversary == BY_HOUSEHOLD]
    assert len(threats) == (report.linkage.households is not None)
    return [*judged, report.linkage.households, *threats]


ASKED = [sf.HouseholdRisk(0.9), sf.HouseholdAnonymity(2)]


def homes(rows: int = 120, values: int = 40) -> pd.DataFrame:
    """People of households of three, with cells that files write in several ways."""
    chance = np.random.default_rng(rows + values)
    days = pd.to_timedelta(chance.integers(0, values, rows) * 100, "D")
    return pd.DataFrame(
        {
            "home": [f"Elm Street {n // 3}" for n in range(rows)],
            "age": chance.integers(20, 20 + values, rows),
            "income": chance.integers(4, 4 + values, rows) / 4,
            "sex": chance.choice(["f", "m", None], rows),
            "born": pd.to_datetime("1960-01-01") + days,
            "ill": chance.choice(list("ABCD"), rows),
        }
    )


HOMES = sf.Schema(["age", "income", "sex", "born"], "ill", household="home")
MAKERS = {
    "strict": (sf.Mondrian(), sf.KAnonymity(4)),
    "relaxed": (sf.Mondrian(strict=False), sf.KAnonymity(4)),
    "centroids": (sf.Microaggregation(4), sf.KAnonymity(4)),
    "buckets": (sf.Anatomy(3), sf.DistinctDiversity(3)),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("values", [3, 40])  # equal people are parted, or there are none
@pytest.mark.parametrize("form", ["csv", "semicolons", "parquet"])
def test_a_release_read_back_says_of_households_what_it_said(
    maker: str, values: int, form: str, tmp_path: Path
) -> None:
    frame, file = homes(values=values), tmp_path / "people.csv"
    if form == "parquet":
        frame.to_parquet(file := tmp_path / "people.parquet")
    elif form == "csv":
        frame.to_csv(file, index=False)
    else:
        written = frame.assign(born=frame.born.dt.strftime("%d.%m.%Y"))
        written.to_csv(file, index=False, sep=";", decimal=",", na_rep="NA")
    anonymizer, criterion = MAKERS[maker]
    policy = sf.Policy([criterion], anonymizer=anonymizer, schema=HOMES)
    release = sf.anonymize(sf.read(file, HOMES), policy, seed=1)
    report = sf.audit(release, ASKED)
    assert report.linkage.households is not None
    release.save(tmp_path / "out", report=report, policy=policy)
    assert figures(sf.audit(sf.read_release(tmp_path / "out", HOMES), ASKED)) == figures(report)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("xyz"), st.lists(st.sampled_from("AB"))),
        min_size=2,
        max_size=9,
    ),
    st.integers(0, 3),
)
def test_suppressed_people_and_several_values_read_back(listed, seed: int) -> None:
    rows = [
        (who, home, ward, ill)
        for who, (home, ward, ills) in enumerate(listed)
        for ill in ills or ["C"]
    ]
    frame = pd.DataFrame(rows, columns=["who", "home", "ward", "ill"])
    schema = sf.Schema(["ward"], "ill", person="who", household="home")
    maker = sf.Lattice()
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=maker, schema=schema, suppression=0.5)
    release = sf.anonymize(sf.read(frame, schema), policy, seed=seed)
    with TemporaryDirectory() as folder:
        out = release.save(Path(folder) / "out", policy=policy)
        saved = sf.read_release(out, schema)
        assert figures(sf.audit(saved, ASKED)) == figures(sf.audit(release, ASKED))


@given(members, st.sampled_from(["all", 1, 2]), st.sampled_from(["csv", "parquet"]))
def test_rows_published_one_by_one_read_back_are_those_of_the_same_households(
    listed, knows, form: str
) -> None:
    rows = [(who, home, ward) for who, (home, wards) in enumerate(listed) for ward in wards]
    frame = pd.DataFrame(rows, columns=["who", "home", "ward"]).assign(ill="A")
    roles = {"person": "who", "household": "home", "rows": "unlinked", "knows": knows}
    schema = sf.Schema(["ward"], "ill", **roles)
    asked = [sf.KAnonymity(2)]
    policy = sf.Policy(asked, anonymizer=sf.Lattice(), schema=schema, suppression=0.5)
    try:
        release = sf.anonymize(sf.read(frame, schema), policy, seed=1)
    except sf.NoSafeRelease:
        return
    report = sf.audit(release, ASKED)
    # By hand: who fits what may be known of each member's published rows.
    published = rows_with_owners(release).to_pandas()
    left = {who: list(shown) for who, shown in published.groupby(OWNER)["ward"]}
    owned = [Counter(wards) for wards in left.values()]
    missed = dict.fromkeys((home for home, _ in listed), Fraction(1))
    for who, wards in left.items():
        size = len(wards) if knows == "all" else min(knows, len(wards))
        parts = [Counter(part) for part in combinations(wards, size)]
        fewest = min(sum(part <= other for other in owned) for part in parts)
        missed[listed[who][0]] *= 1 - Fraction(1, fewest)
    worst = max(1 - missed[listed[who][0]] for who in left)
    assert report.verdicts[0].measured == pytest.approx(float(worst))
    with TemporaryDirectory() as folder:
        out = release.save(Path(folder) / "out", policy=policy, format=form)
        saved = sf.read_release(out, schema)
        assert figures(sf.audit(saved, ASKED)) == figures(report)
        kept_rows = pq.read_table(out / "private" / HOUSEHOLDS)
        assert kept_rows.schema.names == ["person", "household", "kind", "rows", "shown"]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    policy = sf.Policy([sf.KAnonymity(4)], anonymizer=sf.Mondrian(), schema=HOMES)
    table = sf.read(homes(), HOMES)
    for name, seed in (("out", 1), ("again", 1), ("other", 2)):
        release = sf.anonymize(table, policy, seed=1)
        release.save(tmp_path / name, policy=policy, seed=seed)
    return tmp_path / "out"


def test_what_is_kept_of_households_names_nobody_and_is_the_owners_alone(saved: Path) -> None:
    kept = saved / "private" / HOUSEHOLDS
    assert kept.stat().st_mode & 0o777 == 0o600
    rows = pq.read_table(kept)
    assert rows.schema.names == ["person", "household", "kind", "people", "shown"]
    assert sorted(rows["person"].to_pylist()) == list(range(120))
    numbers = dict(zip(rows["person"].to_pylist(), rows["household"].to_pylist(), strict=True))
    assert Counter(Counter(numbers.values()).values()) == {3: 40}
    in_order = [numbers[who] == who // 3 for who in range(120)]
    assert sum(in_order) < 20  # as many as chance has it
    assert b"Elm Street" not in kept.read_bytes()
    again, other = (saved.parent / name / "private" / HOUSEHOLDS for name in ("again", "other"))
    assert pq.read_table(again).equals(rows)
    assert not pq.read_table(other).equals(rows)
    for file in (saved / "public").rglob("*"):
        text = file.read_text()
        assert "Elm Street" not in text
        assert HOUSEHOLDS not in text


def changed(saved: Path, **columns: object) -> None:
    """Other numbers, and no list of sums that would tell."""
    kept = saved / "private" / HOUSEHOLDS
    rows = pq.read_table(kept)
    for name, number in columns.items():
        values = [number, *rows[name].to_pylist()[1:]]
        column = pa.array(values, rows.schema.field(name).type)
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    pq.write_table(rows, kept)
    (saved / "private/manifest.sha256").unlink()


@pytest.mark.parametrize(
    ("column", "number"),
    [
        ("person", 1),
        ("person", -1),
        ("household", 10**12),
        ("kind", 10**12),
        ("people", 0),
        ("people", 9),
        ("shown", "elsewhere"),
    ],
)
def test_households_that_do_not_fit_are_refused(saved: Path, column: str, number: object) -> None:
    changed(saved, **{column: number})
    with pytest.raises(sf.InputError, match=f"{HOUSEHOLDS} does not fit the published data"):
        sf.read_release(saved, HOMES)


ONE_BY_ONE = sf.Schema(["age", "sex"], "ill", household="home", person="who", rows="unlinked")


@pytest.fixture
def saved_rows(tmp_path: Path) -> Path:
    frame = homes().assign(who=[f"who {n}" for n in range(120)])
    frame = pd.concat([frame, frame[::3].assign(age=frame.age + 1), frame[::3]])
    policy = sf.Policy([sf.KAnonymity(4)], anonymizer=sf.Mondrian(), schema=ONE_BY_ONE)
    release = sf.anonymize(sf.read(frame, ONE_BY_ONE), policy, seed=1)
    report = sf.audit(release, ASKED)
    assert report.linkage.households is not None
    out = release.save(tmp_path / "out", policy=policy)
    assert figures(sf.audit(sf.read_release(out, ONE_BY_ONE), ASKED)) == figures(report)
    return out


def test_of_rows_one_by_one_it_is_not_told_which_rows_are_whose(saved_rows: Path) -> None:
    kept = saved_rows / "private" / HOUSEHOLDS
    assert kept.stat().st_mode & 0o777 == 0o600
    rows = pq.read_table(kept)
    assert b"who 1" not in kept.read_bytes()
    owners = pd.read_csv(saved_rows / "private/rows.csv")[OWNER]
    numbers = rows.to_pandas().groupby("person")["rows"].sum()
    beside = owners.value_counts().sort_index()
    assert sorted(numbers) == sorted(beside)
    assert (numbers.to_numpy() == beside.to_numpy()).mean() < 0.8  # as often as chance has it


@pytest.mark.parametrize(
    ("column", "number"),
    [("person", 1), ("household", 10**12), ("kind", 1), ("rows", 0), ("rows", 9), ("shown", "?")],
)
def test_households_that_do_not_fit_peoples_rows_are_refused(
    saved_rows: Path, column: str, number: object
) -> None:
    changed(saved_rows, **{column: number})
    with pytest.raises(sf.InputError, match=f"{HOUSEHOLDS} does not fit the published data"):
        sf.read_release(saved_rows, ONE_BY_ONE)


def test_without_whose_rows_they_are_nobody_knows_who_lives_together(saved_rows: Path) -> None:
    (saved_rows / "private/rows.csv").unlink()
    verdicts = sf.audit(sf.read_release(saved_rows, ONE_BY_ONE), ASKED).verdicts
    assert [one.status for one in verdicts] == ["cannot_judge", "cannot_judge"]
    assert {one.note for one in verdicts} == {UNOWNED}  # which no table mends


def test_changed_and_missing_evidence_of_households(saved: Path) -> None:
    kept = saved / "private" / HOUSEHOLDS
    content = kept.read_bytes()
    kept.write_bytes((saved.parent / "other/private" / HOUSEHOLDS).read_bytes())
    with pytest.raises(sf.InputError, match=f"{HOUSEHOLDS} was changed since the release was made"):
        sf.read_release(saved, HOMES)
    sums = saved / "private/manifest.sha256"
    listed = sums.read_text()
    sums.unlink()
    with pytest.raises(sf.InputError, match=f"{HOUSEHOLDS} was written for other data"):
        sf.read_release(saved, HOMES)
    kept.write_bytes(content[:-9])
    with pytest.raises(sf.InputError, match=f"{HOUSEHOLDS} is broken"):
        sf.read_release(saved, HOMES)
    kept.write_bytes(content)
    unchecked = sf.audit(sf.read_release(saved, HOMES), ASKED)
    assert any("not checked whether" in note and HOUSEHOLDS in note for note in unchecked.notes)
    pq.write_table(pq.read_table(kept).drop_columns(["kind"]), kept)
    with pytest.raises(sf.InputError, match=f"{HOUSEHOLDS} has other columns"):
        sf.read_release(saved, HOMES)
    sums.write_text(listed)
    kept.unlink()
    report = sf.audit(sf.read_release(saved, HOMES), ASKED)
    assert [one.status for one in report.verdicts] == ["cannot_judge", "cannot_judge"]
    assert {one.note for one in report.verdicts} == {UNKNOWN}
    assert report.linkage.households is None


def test_who_lives_together_must_be_known() -> None:
    release = sf.anonymize(
        sf.read(pd.DataFrame({"ward": list("xxyy")}), sf.Schema(["ward"])),
        sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian()),
    )
    few, many = sf.audit(release, [sf.HouseholdAnonymity(2), sf.HouseholdAnonymity(3)]).verdicts
    assert few.status == "cannot_judge"
    assert few.measured is None
    assert many.status == "violated"  # no group has more households than people
    assert linkage(release).households is None


def test_households_that_cannot_be_meant() -> None:
    with pytest.raises(sf.InputError, match="'home' is missing in 1 row"):
        table_of([(1, "x"), (None, "y")])
    with pytest.raises(sf.InputError, match="1 people have rows of several households"):
        table_of([(7, 1, "x"), (7, 2, "y")], ("who", "home", "ward"), person="who")


def test_published_household_ids_are_judged_by_their_signatures() -> None:
    rows = [(1, "x"), (1, "y"), (2, "x"), (2, "y"), (3, "x")]
    frame = pd.DataFrame(rows, columns=["home", "ward"])
    schema = sf.Schema(["ward"], person="home", rows="linked")
    release = sf.read_release(frame, schema)
    assert sorted(release.groups.sizes.tolist()) == [1, 2]
