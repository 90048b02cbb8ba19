"""A release is characterized by what it publishes: nothing of suppressed people, overlaps told."""

from __future__ import annotations

import stat
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.report.characterization import save_private

SCHEMA = sf.Schema(quasi=["a", "b"], sensitive="s", keep=["job"])
POLICY = sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Lattice(), suppression=0.2)
ONLY_HERS = ("Aquake", "dumps#", "zzquake")  # sorts first, in the middle, last
# By value and class: published shares differ from class to class.
PUBLISHED = {"x": ["cold"] * 6 + ["flu"] * 2, "y": ["cold"] * 3 + ["flu"] * 5}


def made(value: str) -> sf.Release:
    """16 people are published; one who alone has a value is suppressed."""
    rows = [(a, "u", s) for a, values in PUBLISHED.items() for s in values] + [("q", "w", value)]
    a, b, s = zip(*rows, strict=True)
    table = sf.read(pa.table({"a": a, "b": b, "s": s, "job": ["j"] * 17}), SCHEMA, threads=1)
    release = sf.anonymize(table, POLICY, seed=1)
    assert (release.people, release.suppressed) == (16, 1)
    assert value in release.groups.values
    return release


def both(value: str, folder: Path) -> tuple[sf.Release, ...]:
    """As it was made, and read back with its private side, with and without the schema."""
    release = made(value)
    release.save(folder / "out")
    read = [sf.read_release(folder / "out", known) for known in (SCHEMA, None)]
    assert all(value in one.groups.values for one in read)
    return (release, *read)


@pytest.mark.parametrize("value", ONLY_HERS)
def test_what_is_expected_is_what_the_published_people_have(value: str, tmp_path: Path) -> None:
    for release in both(value, tmp_path):
        worst = sf.characterize(release, 2).finding(["a"]).worst
        assert dict(zip(worst.values, worst.expected.tolist(), strict=True)) == pytest.approx(
            {"cold": 9 / 16, "flu": 7 / 16}
        )
        shown = PUBLISHED[worst.cells["a"]]
        assert dict(zip(worst.values, worst.observed.tolist(), strict=True)) == pytest.approx(
            {one: shown.count(one) / 8 for one in ("cold", "flu")}
        )
        found = sf.characterize(release, 2).finding(["a"]).distribution
        assert found.largest == pytest.approx((2 * (3 / 16) ** 2) ** 0.5)


@pytest.mark.parametrize("value", ONLY_HERS)
@pytest.mark.parametrize("prior", ["table", "uniform", {"given": ["b"]}, {"flu": 1, "cold": 3}])
def test_a_suppressed_person_s_value_is_nowhere(value: str, prior, tmp_path: Path) -> None:
    for place, release in enumerate(both(value, tmp_path)):
        found = sf.characterize(release, 2, ["s"], prior=prior, individuals=True)
        page, private = tmp_path / f"{place}.html", tmp_path / f"{place}.json"
        found.save(page)
        save_private(found, private)
        told = [str(found), found.to_json(), found.document().text(), page.read_text("utf-8")]
        assert not any(value in text for text in [*told, private.read_text("utf-8")])
        every = sf.characterize(release, 1, "*")
        assert value not in every.to_json()
        assert '"q"' not in every.to_json()


def test_an_observer_may_expect_a_value_that_nobody_published_has(tmp_path: Path) -> None:
    for release in both("dumps#", tmp_path):
        found = sf.characterize(release, 2, prior={"cold": 1, "dumps#": 1}).finding(["a"])
        assert found.worst.ruled_out == ("dumps#",)
        # Expected (1/2, 0, 1/2) of cold, flu and dumps; shown (3/8, 5/8, 0) by the worse class.
        assert found.distribution.largest == pytest.approx((1 / 64 + 25 / 64 + 1 / 4) ** 0.5)
        with pytest.raises(sf.InputError, match="prior names 'dumps', not a value of 's'"):
            sf.characterize(release, 2, prior={"dumps": 1})


def test_buckets_tell_published_values_only() -> None:
    rows = {"a": list("xxyyz"), "s": ["flu", "cold", "flu", "cold", "gout"]}
    table = sf.read(pa.table(rows), sf.Schema(quasi=["a"], sensitive="s"), threads=1)
    release = sf.anonymize(
        table, sf.Policy([sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(2)), seed=1
    )
    found = sf.characterize(release, 1)
    published = {value for g in range(len(release.groups)) for value in release.groups.counts_of(g)}
    assert set(found.finding("a").worst.values) == published


def overlapping() -> sf.Release:
    rows = pa.table(
        {"a": ["[1, 5)", "[3, 9)", "[1, 5)", "[3, 9)"], "b": list("xxyy"), "s": list("uvuv")}
    )
    return sf.read_release(rows, sf.Schema(quasi=["a", "b"], sensitive="s"))


def test_cells_that_overlap_are_no_condition_as_in_the_criterion() -> None:
    release = overlapping()
    verdict = sf.DistributionLeakage(0.1, prior={"given": ["a"]}).verdict(release.groups)
    assert verdict.status == "not_applicable"
    with pytest.raises(sf.InputError) as caught:
        sf.characterize(release, 2, prior={"given": ["a"]})
    assert f"the prior given a is not applicable: {verdict.note}" == str(caught.value)
    sf.characterize(release, 2, prior={"given": ["b"]})


def test_cells_that_overlap_are_told() -> None:
    notes = sf.characterize(overlapping(), 2).notes
    assert any(note.startswith("cells of a overlap without being equal") for note in notes)
    apart = sf.read_release(
        pa.table({"a": ["[1, 3)", "[3, 9)"], "s": ["u", "v"]}),
        sf.Schema(quasi=["a"], sensitive="s"),
    )
    assert not any("overlap without" in note for note in sf.characterize(apart, 1).notes)


def test_why_a_column_of_a_release_is_no_target(tmp_path: Path) -> None:
    for release in both("zzquake", tmp_path):
        with pytest.raises(sf.InputError, match="column 'job' is published as it is; of a release"):
            sf.characterize(release, 1, "job")
        with pytest.raises(sf.InputError, match="column 'jab' is not in"):
            sf.characterize(release, 1, "jab")


@pytest.mark.parametrize("ending", ["json", "html", "csv", "parquet"])
def test_private_files_are_the_owner_s(tmp_path: Path, ending) -> None:
    found = sf.characterize(made("zzquake"), 1, individuals=True)
    path = tmp_path / f"private.{ending}"
    path.write_text("older")
    path.chmod(0o644)
    with pytest.raises(sf.InputError, match="exists"):
        save_private(found, path)
    assert path.read_text() == "older"
    save_private(found, path, force=True)
    assert path.stat().st_size > len("older")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
