"""Survey weights that are published: sums by group are the table's, and nothing else is told."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage.risks import linkage
from sfumato.anonymizers.base import Anonymizer
from sfumato.criteria.base import judge
from sfumato.criteria.verdict import ROUNDED
from sfumato.schema.roles import Schema
from tests.program import sfumato

NEAR = 1e-5  # as the manifest tells
QUASI = ["age", "sex"]


def schema(publish: Any = "group", **more: Any) -> Schema:
    return Schema(
        quasi=QUASI,
        sensitive="disease",
        weight="w",
        publish_weight=publish,
        hierarchies={"age": sf.intervals(10, 20), "sex": sf.suppression()},
        **more,
    )


def people(number: int = 40, seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "age": draw.integers(20, 60, number),
            "sex": draw.choice(["f", "m"], number),
            "disease": draw.permutation(["flu", "cold", "ulcer", "asthma"] * (number // 4)),
            "w": np.round(draw.lognormal(3, 1, number), 2),
        }
    )


@given(
    st.lists(
        st.tuples(
            st.integers(20, 59), st.sampled_from("fm"), st.floats(0, 1e6, allow_subnormal=False)
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(0, 3),
    st.integers(0, 1),
    st.integers(1, 3),
)
def test_every_published_cell_counts_what_the_table_counts(
    rows: list[tuple[int, str, float]], age: int, sex: int, k: int
) -> None:
    ages, sexes, weights = zip(*rows, strict=True)
    table = pa.table({"age": ages, "sex": sexes, "disease": ["flu"] * len(rows), "w": weights})
    try:
        release = sf.generalize(
            sf.read(table, schema()), {"age": age, "sex": sex}, [sf.KAnonymity(k)], suppression=1.0
        )
    except sf.NoSafeRelease:  # nobody would be left
        return
    regions = release.regions.require_regions()
    by_cell: dict[tuple[str, ...], list[float]] = {}
    for row in release.to_arrow().to_pylist():
        by_cell.setdefault((str(row["age"]), row["sex"]), []).append(row["w"])
    for group in range(len(regions)):
        cell = [
            parts[codes[group]] for parts, codes in zip(regions.parts, regions.codes, strict=True)
        ]
        truth = [w for *qi, w in rows if all(p.contains(v) for p, v in zip(cell, qi, strict=True))]
        published = by_cell[cell[0].text, cell[1].text]
        assert len(set(published)) == 1  # nothing beyond the group
        assert len(published) == len(truth)
        assert sum(published) == pytest.approx(sum(truth), rel=NEAR)
        assert sum(published) <= sum(truth) * (1 + 1e-9)  # never more people than there are
    assert len(by_cell) == len(regions)


@pytest.mark.parametrize(
    "anonymizer", [sf.Lattice(), sf.Mondrian(), sf.Anatomy(l=2), sf.Microaggregation(k=4)]
)
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_reader_of_the_public_file_finds_the_same_sums(
    anonymizer: Anonymizer, format: str, tmp_path: Path
) -> None:
    table = sf.read(people(), schema())
    bucketized = isinstance(anonymizer, sf.Anatomy)
    require = sf.DistinctDiversity(2) if bucketized else sf.KAnonymity(4)
    release = sf.anonymize(table, sf.Policy([require], anonymizer=anonymizer), seed=1)
    release.save(tmp_path / "out", format=format)
    assert release.population is not None
    for known in (schema(), None):
        read = sf.read_release(tmp_path / "out", known)
        assert read.population is not None
        np.testing.assert_allclose(
            sorted(read.population), sorted(release.population), rtol=NEAR, atol=0
        )
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    (told,) = (column for column in manifest["columns"] if column["role"] == "weight")
    assert told["weights"] == "mean of the group"
    assert told["sums_kept_to"] == NEAR


def read_by_anybody(weights: list[float]) -> tuple[sf.Release, sf.Release]:
    """One group of people of these weights, and what is read of it from public/ alone."""
    many = len(weights)
    table = pa.table({"age": [30] * many, "sex": ["f"] * many, "disease": ["flu"] * many})
    table = table.append_column("w", pa.array(weights))
    release = sf.generalize(sf.read(table, schema()), {"age": 1})
    with TemporaryDirectory() as folder:
        release.save(f"{folder}/out")
        return release, sf.read_release(f"{folder}/out/public", schema())


@given(st.integers(2, 12), st.integers(2, 60))
def test_a_k_map_that_holds_exactly_is_violated_for_nobody(people: int, k: int) -> None:
    release, read = read_by_anybody([k / people] * people)
    assert judge(sf.KMap(k, "weights"), release).holds
    verdict = judge(sf.KMap(k, "weights"), read)
    shown_whole = 10**5 * k % people == 0 and k / people < 10
    assert verdict.status in ({"holds"} if shown_whole else {"holds", "cannot_judge"})


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=9), st.integers(-2, 2))
def test_nothing_holds_for_who_reads_it_that_does_not_hold(many: list[int], off: int) -> None:
    release, read = read_by_anybody([weight / 1000 for weight in many])
    true, k = Fraction(sum(many), 1000), max(1, round(sum(many) / 1000) + off)
    share = float(len(many) / (true + Fraction(off, 1000))) if 1000 * true + off > 0 else 1.0
    share = min(share, 1.0)
    for criterion in (sf.KMap(k, "weights"), sf.DeltaPresence(0, share, "weights")):
        own, told = judge(criterion, release), judge(criterion, read)
        assert not told.holds or own.holds
        assert told.status != "violated" or not own.holds
    if k > true and k > len(many):
        assert not judge(sf.KMap(k, "weights"), read).holds
    risks = [linkage(one).journalist for one in (release, read)]
    assert risks[0] is not None
    assert risks[1] is not None
    assert risks[1].highest >= risks[0].highest * (1 - 1e-9)


def test_an_unsure_bound_says_why() -> None:
    release, read = read_by_anybody([3.0, 3.0, 4.0])
    assert judge(sf.KMap(10, "weights"), release).holds
    verdict = judge(sf.KMap(10, "weights"), read)
    assert (verdict.status, verdict.note) == ("cannot_judge", ROUNDED)
    assert verdict.measured == pytest.approx(9.99999, abs=1e-7)
    assert judge(sf.KMap(11, "weights"), read).status == "violated"


def test_an_engine_that_writes_the_rows_writes_the_same_weights(tmp_path: Path) -> None:
    from sfumato.release.write.by_engine import engine_rows

    release = sf.generalize(sf.read(people(), schema()), {"age": 2, "sex": 1})
    with engine_rows(release) as rows:
        assert rows.fetch().sort_by("w").column("w") == release.to_arrow().sort_by("w").column("w")
    kept = sf.generalize(sf.read(people(), schema("keep")), {"age": 2, "sex": 1})
    with engine_rows(kept) as rows:
        written = sorted(rows.fetch().column("w").to_pylist())
    assert written == sorted(people().column("w").to_pylist())


@pytest.mark.parametrize(("lone", "told"), [(12, True), (3, False)])
def test_weights_of_the_suppressed_are_told_as_a_factor_if_they_are_many(
    lone: int, told: bool
) -> None:
    ages = [*[25] * 40, *range(60, 60 + lone)]
    table = pa.table(
        {
            "age": ages,
            "sex": ["f"] * len(ages),
            "disease": ["flu"] * len(ages),
            "w": [2.0] * 40 + [10.0] * lone,
        }
    )
    release = sf.generalize(
        sf.read(table, schema()), {"age": 0}, [sf.KAnonymity(2)], suppression=0.9
    )
    assert release.suppressed == lone
    assert any(f"those of the {lone} suppressed" in note for note in release.notes)
    with TemporaryDirectory() as folder:
        release.save(f"{folder}/out")
        manifest = json.loads(Path(f"{folder}/out/public/manifest.json").read_text())
    (column,) = (column for column in manifest["columns"] if column["role"] == "weight")
    assert column.get("times_for_suppressed") == (2.5 if told else None)


def test_weights_as_they_are_come_with_a_warning() -> None:
    release = sf.generalize(sf.read(people(), schema("keep")), {"age": 2})
    assert any("finds them as a name does" in note for note in release.notes)
    published = release.to_arrow()
    assert sorted(published.column("w").to_pylist()) == sorted(people().column("w").to_pylist())
    silent = sf.generalize(sf.read(people(), schema(None)), {"age": 2})
    assert not any("weight" in note for note in silent.notes)
    assert "w" not in silent.to_arrow().column_names


def test_what_cannot_be_published_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(sf.SchemaError, match="publish_weight needs weight"):
        Schema(quasi=["age"], publish_weight="group")
    with pytest.raises(sf.SchemaError, match=r"'group' .the mean of each group. or 'keep'"):
        schema("rounded")
    noise = sf.Noise(epsilon=1.0)
    with pytest.raises(sf.PolicyError, match="publish_weight is not possible"):
        sf.anonymize(
            sf.read(people(), schema(domains={"age": list(range(20, 60)), "sex": ["f", "m"]})),
            sf.Policy([sf.DifferentialPrivacy(1.0)], anonymizer=noise),
        )


def test_from_the_command_line(tmp_path: Path) -> None:
    import pyarrow.csv as pa_csv

    pa_csv.write_csv(people(), tmp_path / "survey.csv")
    (tmp_path / "policy.toml").write_text(
        """
[schema]
quasi = ["age", "sex"]
sensitive = "disease"
weight = "w"
publish_weight = "group"
[schema.hierarchies]
age = { kind = "intervals", widths = [10, 20] }
[anonymizer]
kind = "lattice"
[[require]]
kind = "k-anonymity"
k = 3
"""
    )
    out = tmp_path / "out"
    policy = tmp_path / "policy.toml"
    run = sfumato("anonymize", tmp_path / "survey.csv", "--policy", policy, "--out", out)
    assert run.returncode == 0, run.stderr
    with (out / "public/data.csv").open() as file:
        rows = list(csv.DictReader(file))
    whole = sum(people().column("w").to_pylist())
    assert sum(float(row["w"]) for row in rows) == pytest.approx(whole, rel=NEAR)
    assert "Survey weights are published as the mean" in (out / "private/report.md").read_text()
    audit = sfumato("audit", out, "--policy", policy)
    assert audit.returncode == 0, audit.stderr
