"""Releases with perturbed columns: the file, its groups and whoever reads it tell the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from sfumato.perturbation.base import Perturbation
from sfumato.release.treatment import column_treatments
from sfumato.schema.region import text_of
from tests.program import sfumato

SCHEMA = sf.Schema(
    quasi=["age", "sex"],
    sensitive=["disease", "cost"],
    keep=["stay"],
    identifiers=["name"],
    hierarchies={"age": sf.intervals([10, 40])},
)
CLOSE = [sf.KAnonymity(3), sf.TCloseness(0.6, sensitive="disease")]


def people(number: int = 60) -> pa.Table:
    chance = np.random.default_rng(7)
    costs = chance.integers(100, 900, number) / 4
    return pa.table(
        {
            "name": [f"person {place}" for place in range(number)],
            "age": chance.integers(20, 60, number),
            "sex": chance.choice(["F", "M"], number),
            "disease": chance.choice(["flu", "cold", "hiv"], number),
            "cost": pa.array(costs, mask=np.arange(number) == 4),
            "stay": chance.integers(1, 40, number),
        }
    )


def release_of(perturb: dict[str, Perturbation], **more: object) -> tuple[sf.Release, sf.Policy]:
    policy = sf.Policy(CLOSE, anonymizer=sf.Mondrian(), perturb=perturb)
    return sf.anonymize(sf.read(people(), SCHEMA), policy, seed=3), policy


KINDS: list[dict[str, Perturbation]] = [
    {"disease": sf.Pram(stay=0.6), "cost": sf.AddedNoise(20, step=10), "stay": sf.RankSwap(20)},
    {"cost": sf.RankSwap(30), "stay": sf.AddedNoise(3, "normal", least=0)},
    {"cost": sf.ColumnMicroaggregation(5), "stay": sf.TopBottomCoding(top=30, bottom=3)},
    {"cost": sf.Rounding(12.5), "stay": sf.Pram(stay=0.5)},
]


@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: " ".join(o.kind for o in kinds.values()))
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_read_back_it_is_judged_as_it_was_made(
    kinds: dict[str, Perturbation], format: str, tmp_path: Path
) -> None:
    release, policy = release_of(kinds)
    report = sf.audit(release, policy)
    release.save(tmp_path / "out", format=format)
    assert report.holds
    (tmp_path / "out" / "private").rename(tmp_path / "away")
    again = sf.read_release(tmp_path / "out", SCHEMA)
    assert again.perturbed == release.perturbed
    assert {*again.perturbed} == {*kinds}
    judged = sf.audit(again, policy)
    assert [(one.status, one.measured) for one in judged.verdicts] == [
        (one.status, one.measured) for one in report.verdicts
    ]
    assert {one for one in judged.threats if one.about} == {
        one for one in report.threats if one.about
    }
    # The file shows what its groups count.
    rows = release.to_arrow()
    for name, groups in release.by_attribute.items():
        whole = groups.everybody()
        values = [groups.values[code] for code in whole.indices]
        shown = Counter("(missing)" if x is None else text_of(x) for x in rows[name].to_pylist())
        assert dict(zip(values, whole.data.tolist(), strict=True)) == shown


def test_who_reads_altered_values_as_true_is_not_asked() -> None:
    release, policy = release_of({"disease": sf.Pram(stay=0.6)})
    threats = {(one.adversary, one.about) for one in sf.audit(release, policy).threats}
    assert ("mechanism reader", "disease") in threats
    assert ("random worlds", "disease") not in threats
    assert ("random worlds", "cost") in threats
    assert ("mechanism reader", "cost") not in threats
    covered = {one.adversary: one.covered for one in sf.audit(release, policy).threats}
    assert covered["mechanism reader"] == ("t-closeness",)


@pytest.mark.parametrize(
    "criterion",
    [
        sf.DistinctDiversity(2, sensitive="disease"),
        sf.EntropyDiversity(1.1),
        sf.TCloseness(0.9, distance="ordered", sensitive="disease"),
        sf.BetaLikeness(9, enhanced=True, sensitive="disease"),
    ],
    ids=str,
)
def test_what_counts_values_says_nothing_of_altered_ones(criterion: object) -> None:
    release, _ = release_of({"disease": sf.Pram(stay=0.01)})
    (verdict,) = sf.audit(release, [criterion]).verdicts  # type: ignore[list-item]
    assert not verdict.holds
    if verdict.attribute == "disease":
        assert verdict.status == "not_applicable"
    policy = sf.Policy([criterion], perturb={"disease": sf.Pram(stay=0.01)})  # type: ignore[list-item]
    with pytest.raises(sf.PolicyError, match="'disease' are altered by chance"):
        sf.anonymize(sf.read(people(), SCHEMA), policy)


def test_attacks_that_take_values_for_true_are_refused() -> None:
    release, _ = release_of({"disease": sf.Pram(stay=0.6)})
    altered = "altered by chance"
    with pytest.raises(sf.InputError, match=altered):
        sf.intersection_attack([release, release], people(), sensitive="disease")
    with pytest.raises(sf.InputError, match=altered):
        sf.relative_threat(release, sensitive="disease")
    with pytest.raises(sf.InputError, match=altered):
        sf.knowledge_skyline(release.groups_for("disease"), "hiv", 0.5)
    with pytest.raises(sf.InputError, match="nothing to undo"):
        sf.MechanismReader().attack(release, release.groups_for("cost"))


def test_the_column_table_tells_what_was_done() -> None:
    release, _ = release_of({"disease": sf.Pram(stay=0.5), "stay": sf.TopBottomCoding(top=20)})
    own, rows = people(), release.to_arrow()
    told = {one.column: one for one in column_treatments(release, sf.read(own, SCHEMA))}
    assert told["disease"].done == told["stay"].done == "perturbed"
    assert told["stay"].how == "numbers above 20 are published as 20"
    assert told["stay"].changed == sum(value > 20 for value in own["stay"].to_pylist())
    assert told["stay"].cells == 60
    assert told["stay"].values_before == len({*own["stay"].to_pylist()})
    assert told["stay"].values_after == len({*rows["stay"].to_pylist()})
    assert sum(share.after or 0 for share in told["stay"].shares) == pytest.approx(1)
    before = {share.label: share.before for share in told["disease"].shares}
    after = {share.label: share.after for share in told["disease"].shares}
    for value in ("flu", "cold", "hiv"):
        assert before[value] == pytest.approx(
            own["disease"].to_pylist().count(value) / 60, abs=1e-6
        )
        assert after[value] == pytest.approx(
            rows["disease"].to_pylist().count(value) / 60, abs=1e-6
        )
    public = {one.column: one for one in column_treatments(release)}
    assert public["disease"].changed is public["stay"].changed is None
    assert public["stay"].values_before is None
    assert public["stay"].shares == ()
    assert all(share.before is None for share in public["disease"].shares)


def test_functions_of_values_are_judged_like_values() -> None:
    release, _ = release_of({"cost": sf.Rounding(100)})
    assert {
        verdict.status for verdict in sf.audit(release, [sf.DistinctDiversity(1)]).verdicts
    } == {"holds"}


def test_the_same_seed_publishes_the_same_and_is_told_nobody(tmp_path: Path) -> None:
    policy = sf.Policy(CLOSE, anonymizer=sf.Mondrian(), perturb=KINDS[0])
    table = sf.read(people(), SCHEMA)
    files = []
    for place, seed in enumerate((987654321987, 987654321987, 5)):
        out = tmp_path / str(place)
        sf.anonymize(table, policy, seed=seed).save(out)
        files.append((out / "public" / "data.csv").read_bytes())
    assert files[0] == files[1] != files[2]
    manifest = (tmp_path / "0" / "public" / "manifest.json").read_text()
    assert "987654321987" not in manifest
    assert "987654321987" in (tmp_path / "0" / "private" / "run.json").read_text()
    told = {one["name"]: one.get("perturbed") for one in json.loads(manifest)["columns"]}
    assert told["cost"] == {
        "kind": "noise",
        "scale": 20,
        "distribution": "laplace",
        "step": 10,
    }
    assert told["disease"]["stay"] == 0.6
    assert sum(told["disease"]["draw"].values()) == pytest.approx(1)
    assert told["age"] is None


def shown(table: sf.Table, column: str) -> list[float]:
    place = [*table.source.types].index(column)
    cells = table.engine.fetch(f"SELECT c{place} FROM {table.source.name}", in_order=True)
    return [float("nan") if cell is None else cell for cell in cells.column(0).to_pylist()]


def test_two_releases_of_one_seed_are_not_subtracted() -> None:
    own = people()
    table = sf.read(own, SCHEMA)

    def noisy(scale: float, rows: sf.Table = table) -> np.ndarray:
        changed = sf.perturb(rows, {"stay": sf.AddedNoise(scale, step=0.001)}, seed=1)
        return np.array(shown(changed, "stay"))

    true = np.array(own["stay"].to_pylist())
    once, twice = noisy(50), noisy(100)
    assert (noisy(50.0) == once).all()  # the same once more, however it is written
    assert (np.abs(2 * once - twice - true) > 1).mean() > 0.8
    # Nor those of two years, of which somebody knows the first.
    later = own.set_column(own.schema.get_field_index("stay"), "stay", pa.array(true + 1))
    assert (np.abs(noisy(50, sf.read(later, SCHEMA)) - (once - true) - true - 1) > 1).mean() > 0.8


def test_buckets_list_altered_values_too(tmp_path: Path) -> None:
    schema = sf.Schema(quasi=["age", "sex"], sensitive="disease", identifiers=["name"])
    policy = sf.Policy(
        [sf.TCloseness(0.6)], anonymizer=sf.Anatomy(2), perturb={"disease": sf.Pram(stay=0.6)}
    )
    table = sf.read(people(), schema)
    release = sf.anonymize(table, policy, seed=1)
    release.save(tmp_path / "out", report=sf.audit(release, policy), policy=policy)
    again = sf.read_release(tmp_path / "out", schema)
    assert again.perturbed == release.perturbed
    assert {one.adversary for one in sf.audit(again, policy).threats if one.about == "disease"} == {
        "mechanism reader"
    }


POLICY = """
[schema]
quasi = ["age", "sex"]
sensitive = ["disease"]
keep = ["cost", "stay"]
identifiers = ["name"]
[schema.hierarchies]
age = { kind = "intervals", widths = [10, 40] }
[anonymizer]
kind = "mondrian"
[perturb.disease]
kind = "pram"
matrix.flu = { flu = 0.8, cold = 0.2 }
matrix.cold = { cold = 0.7, hiv = 0.3 }
matrix.hiv = { hiv = 0.8, flu = 0.2 }
[perturb.cost]
kind = "noise"
distribution = "laplace"
scale = 10
[perturb.stay]
kind = "top-bottom-coding"
top = 30
[[require]]
kind = "k-anonymity"
k = 3
"""


def test_from_the_command_line(tmp_path: Path) -> None:
    pa_csv.write_csv(people(), tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    policy = sf.Policy.load(tmp_path / "policy.toml")
    policy.save(tmp_path / "again.toml")
    assert sf.Policy.load(tmp_path / "again.toml") == policy
    rules, out = ("--policy", tmp_path / "policy.toml"), tmp_path / "out"
    made = sfumato("anonymize", tmp_path / "people.csv", *rules, "--out", out, "--verbose")
    assert made.returncode == 0
    assert "Laplace noise of scale 10" in " ".join(made.stdout.split())
    changed = next(line for line in made.stdout.splitlines() if line.startswith("cost "))
    assert float(changed.split()[-1].rstrip("%")) > 90  # of the cells, almost all
    audited = sfumato("audit", out, *rules)
    assert audited.returncode == 0
    assert "mechanism reader" in audited.stdout
    rows = pa_csv.read_csv(out / "public" / "data.csv")
    assert max(rows["stay"].to_pylist()) == 30
    assert {*rows["cost"].to_pylist()} - {*people()["cost"].to_pylist()}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("top = 30", "[perturb.stay]: top-bottom-coding: give top, bottom or both"),
        ("scale = 10", "[perturb.cost] (noise): scale is missing"),
        ('kind = "noise"', "[perturb.cost]: kind is missing; allowed: top-bottom-coding, rounding"),
        ("matrix.hiv = { hiv = 0.8, flu = 0.2 }", "no row for: 'hiv'"),
        ('keep = ["cost", "stay"]', "column 'cost' is neither sensitive nor kept"),
    ],
)
def test_mistakes_are_answered_in_one_line(change: str, why: str, tmp_path: Path) -> None:
    pa_csv.write_csv(people(), tmp_path / "people.csv")
    assert POLICY.count(change) == 1
    (tmp_path / "policy.toml").write_text(POLICY.replace(change, ""))
    out = tmp_path / "out"
    rules = ("--policy", tmp_path / "policy.toml", "--out", out)
    made = sfumato("anonymize", tmp_path / "people.csv", *rules)
    assert made.returncode == 2
    assert why in " ".join(made.stderr.split())
    assert not out.exists()


@pytest.mark.parametrize(
    ("schema", "perturb", "why"),
    [
        ({}, {"age": sf.Rounding(5)}, "'age' is a quasi-identifier"),
        ({}, {"disease": sf.Rounding(5)}, "3 of its 3 distinct values are no numbers"),
        ({}, {"cots": sf.Rounding(5)}, "did you mean 'cost'"),
        (
            {"domains": {"cost": [n / 4 for n in range(900)]}},
            {"cost": sf.Rounding(5)},
            "listed in domains",
        ),
        ({"person": "name"}, {"cost": sf.AddedNoise(5)}, "takes one row a person"),
        ({"identifiers": (), "count": "stay", "keep": ()}, {"cost": sf.AddedNoise(5)}, "one row a"),
    ],
)
def test_what_cannot_be_perturbed_is_refused(
    schema: dict[str, object], perturb: dict[str, Perturbation], why: str
) -> None:
    from dataclasses import replace

    rows = people()
    if "person" in schema:
        schema = {**schema, "identifiers": (), "keep": ()}
        rows = pa.concat_tables([rows, rows])
    table = sf.read(rows, replace(SCHEMA, **schema))
    with pytest.raises(sf.SfumatoError, match=why):
        sf.perturb(table, perturb)


@pytest.mark.parametrize("perturbation", [sf.Rounding(10), sf.AddedNoise(5)], ids=str)
def test_codes_beside_numbers_are_no_numbers(perturbation: Perturbation, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    rows = [f"{20 + number},{number}" for number in range(9)]
    file.write_text("\n".join(["age,cost", *rows, "30,-9", "31,-9"]) + "\n")
    schema = sf.Schema(quasi=["age"], keep=["cost"])
    coded = sf.read(file, schema, codes={"cost": ["-9"]})
    with pytest.raises(sf.InputError, match="codes beside its numbers"):
        sf.perturb(coded, {"cost": perturbation})
    missing = sf.perturb(sf.read(file, schema, missing=["-9"]), {"cost": perturbation}, seed=1)
    cells = missing.engine.fetch(f"SELECT c1 FROM {missing.source.name}", in_order=True)
    assert cells.column(0).to_pylist()[-2:] == [None, None]


def test_a_column_is_drawn_once() -> None:
    table = sf.perturb(sf.read(people(), SCHEMA), {"cost": sf.AddedNoise(50)}, seed=1)
    assert sf.perturb(table, {"cost": sf.AddedNoise(50)}, seed=2) is table
    with pytest.raises(sf.InputError, match="perturbed already"):
        sf.perturb(table, {"cost": sf.Rounding(50)})


def test_a_manifest_that_states_nonsense_is_refused(tmp_path: Path) -> None:
    release, _ = release_of({"cost": sf.Rounding(5)})
    release.save(tmp_path / "out")
    manifest = tmp_path / "out" / "public" / "manifest.json"
    told = manifest.read_text()
    (tmp_path / "out" / "private").rename(tmp_path / "away")
    for wrong in ('"to": -5', '"by": 5'):
        manifest.write_text(told.replace('"to": 5', wrong))
        with pytest.raises(sf.InputError, match="'cost' is perturbed in no known way"):
            sf.read_release(tmp_path / "out", SCHEMA)
