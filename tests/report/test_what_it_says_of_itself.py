"""What pages and tables say of themselves: methods, errors, banners, footers, advice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.bayes.buckets import LARGEST
from sfumato.report.relative import relative_exhibit, ti_sheet
from sfumato.report.text import to_text
from sfumato.workflow.advise import advise
from tests.report.zoo import people


def bucketized(size: int, number: int = 3) -> tuple[sf.Table, sf.Release]:
    """Buckets of so many people, half of whom share one value: nothing a bucket is dealt by."""
    rng = np.random.default_rng(4)
    many = size * number
    rows = pa.table(
        {
            "q": rng.integers(0, 4, many),
            "s": [str(value) for _ in range(number) for value in [*range(size // 2)] * 2],
        }
    )
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive="s"))
    policy = sf.Policy([sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(size // 2))
    return table, sf.anonymize(table, policy, seed=1)


def test_whole_buckets_are_only_told_where_they_are_dealt_whole() -> None:
    table, release = bucketized(4)
    found = sf.relative_threat(release, table, method="sample", sweeps=750)
    assert int(release.groups.sizes.max()) <= LARGEST
    assert found.method == {"buckets": "sampled (whole buckets)"}
    from sfumato.adversaries.bayes.bucket_chains import BucketChains

    chains = BucketChains.__new__(BucketChains)
    for blocks, told in (
        ([False, False], "sampled (swaps within buckets)"),
        ([True, False], "sampled (whole buckets, 1 of 2 by swaps)"),
    ):
        chains.buckets = type("Dealt", (), {"blocks": np.array(blocks)})()
        assert chains.told == told


def test_every_sampled_figure_has_its_error_and_exact_ones_have_none() -> None:
    table, release = bucketized(4)
    found = sf.relative_threat(release, table, method="sample", sweeps=750)
    errors = found.measures.attacker.errors
    assert set(errors) == {"highest", "doubled", "mean_log2", "skewness"}
    assert errors["highest"] > 0
    assert errors["mean_log2"] > 0
    marked = [row for row in ti_sheet([("r", found.measures)]).rows if "±" in str(row[1])]
    assert marked
    exact = sf.relative_threat(sf.generalize(people(60), [1, 0, 1]), people(60))
    assert exact.status == "exact"
    assert not any(exact.measures.attacker.errors.values())


def test_exact_is_not_said_beside_an_error() -> None:
    exact = sf.relative_threat(sf.generalize(people(60), [1, 0, 1]), people(60))
    told = relative_exhibit(exact, "r")
    if exact.measures.errors["rf"]:
        assert "every figure is the posterior's own" not in told.about
        assert "but for RF" in told.about
    else:
        assert "every figure is the posterior's own" in told.about


def test_pages_about_the_table_are_marked_and_name_no_file_that_is_not_there(
    tmp_path: Path,
) -> None:
    exact = sf.relative_threat(sf.generalize(people(60), [1, 0, 1]), people(60))
    told = relative_exhibit(exact, "r")
    page = told.save_page(tmp_path / "page.html").read_text()
    assert "Private: this page was worked out on the original table" in page
    assert "result.json" not in page
    folder = told.save(tmp_path / "out")
    assert "result.json" in (folder / "page.html").read_text()
    assert (folder / "result.json").exists()
    scatter = next(figure for one in told.sections for figure in one.figures)
    assert [one.name for one in scatter.behind] == ["equal"]  # a line, not two marks


@pytest.mark.parametrize("width", [80, 100])
def test_no_name_is_broken_on_a_terminal(width: int) -> None:
    schema = sf.Schema(quasi=["marital-status"], sensitive=["PINCP_DECILE", "disease"])
    rows = pa.table(
        {
            "marital-status": [1] * 6 + [2] * 6,
            "PINCP_DECILE": list("abcabcabcabc"),
            "disease": list("uvwxyzuvwxyz"),
        }
    )
    criteria = [sf.DistinctDiversity(2, sensitive="PINCP_DECILE"), sf.TCloseness(0.9)]
    told = to_text(sf.audit(sf.read(rows, schema), criteria), width)
    for name in ("PINCP_DECILE", "marital-status", "distinct-diversity", "t-closeness"):
        assert name in told
    assert "violated by" not in told
    assert "remark" in told


def test_a_bound_names_its_column() -> None:
    rows = pa.table({"q": [1] * 6, "a": list("uvuvuv"), "b": list("xyzxyz")})
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive=["a", "b"]))
    criteria = [sf.TCloseness(0.5, sensitive="a"), sf.TCloseness(0.5, sensitive="b")]
    report = sf.audit(table, [*criteria, sf.KAnonymity(2)])
    assert report.evidence is not None
    assert report.evidence.advise is not None
    assert [one.about for one in report.evidence.advise().bounds] == ["a", "b", None]
    told = report.to_markdown()
    assert "t-closeness of a with t" in told
    assert "t-closeness of b with t" in told


def test_steps_do_not_begin_with_a_column_that_buys_nothing() -> None:
    """Everybody is unique by age; sex, the first column, mends nothing by being left out."""
    rows = pa.table(
        {"sex": ["F", "M"] * 8, "age": [20 + n for n in range(16)], "s": list("uvwx") * 4}
    )
    schema = sf.Schema(
        quasi=["sex", "age"],
        sensitive="s",
        hierarchies={"sex": sf.suppression(), "age": sf.intervals([2, 4, 8, 16])},
    )
    release = sf.generalize(sf.read(rows, schema), [0, 0])
    criteria = [sf.KAnonymity(4)]
    found = advise(release, criteria, sf.audit(release, criteria).verdicts)
    assert found.steps[0].column == "age"
    assert found.steps[-1].left.holds


def test_noise_gets_no_advice_that_noise_refuses() -> None:
    policy = sf.Policy([sf.DifferentialPrivacy(1.0)], anonymizer=sf.Noise(epsilon=1.0))
    domains = {"q": ["a", "b"], "s": ["u", "v", "w"]}
    schema = sf.Schema(quasi=["q"], sensitive="s", domains=domains)
    table = sf.read(pa.table({"q": ["a", "b"] * 30, "s": list("uvw") * 20}), schema)
    report = sf.audit(sf.anonymize(table, policy), policy)
    told = report.to_markdown() + report.to_html()
    for wrong in (
        "name a sensitive column",
        "require epsilon-privacy",
        "require distribution-leakage",
        "The report that anonymize writes has it",
        "people kept",
        "group sizes",
        "smallest group",
    ):
        assert wrong not in told, wrong
