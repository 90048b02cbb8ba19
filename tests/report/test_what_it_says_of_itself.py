"""What pages and tables say of themselves: methods, errors, banners, footers, advice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.relative_threat.bucketized import LARGEST
from sfumato.release.release import as_it_stands
from sfumato.report.sections.relative_threat import relative_document, ti_sheet
from sfumato.report.sections.skyline import skyline_document
from sfumato.report.sections.threats import matrix, uncovered
from sfumato.workflow.advise import advise
from sfumato.workflow.audit import attacks_on
from tests.report.zoo import people


def dealt(values: list[str], at_least: int) -> tuple[sf.Table, sf.Release]:
    """Buckets of so many different values each; who is left over joins one."""
    rng = np.random.default_rng(4)
    rows = pa.table({"q": rng.integers(0, 4, len(values)), "s": values})
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive="s"))
    policy = sf.Policy([sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(at_least))
    return table, sf.anonymize(table, policy, seed=1)


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


@pytest.mark.parametrize(
    ("values", "sizes", "told"),
    [
        ([*map(str, range(13))] * 2, [13, 13], "sampled (blocks within buckets)"),
        (
            [*map(str, range(12))] * 2 + ["x"],
            [12, 13],
            "sampled (whole buckets, 1 of 2 in blocks)",
        ),
    ],
)
def test_buckets_too_large_to_be_dealt_whole_are_told(
    values: list[str], sizes: list[int], told: str
) -> None:
    table, release = dealt(values, min(sizes))
    assert sorted(release.groups.sizes.tolist()) == sizes
    found = sf.relative_threat(release, table, method="sample", sweeps=750)
    assert found.method == {"buckets": told}


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
    """RF of buckets is an average of draws; in that of many columns near terms are put together."""
    table, release = dealt(list("abcabc"), 3)
    buckets = sf.relative_threat(release, table)
    rng = np.random.default_rng(0)
    values = np.repeat(np.arange(40), np.arange(1, 41))  # forty values, each of its own frequency
    names = [f"q{place}" for place in range(8)]
    schema = sf.Schema(
        quasi=names, sensitive="s", hierarchies=dict.fromkeys(names, sf.intervals([10]))
    )
    rows = {name: rng.permutation(values) for name in names}
    wide = sf.read(pa.table({**rows, "s": rng.choice(["a", "b"], len(values))}), schema)
    many = sf.relative_threat(sf.generalize(wide, [1] * 8), wide)
    plain = sf.relative_threat(sf.generalize(people(60), [1, 0, 1]), people(60))
    for found, told, off in (
        (buckets, "Exact, but for RF, which was averaged over people drawn at random.", True),
        (many, "Exact, but for RF, in whose sum nearly equal terms were taken for one.", True),
        (plain, "Exact: every figure is the posterior's own.", False),
    ):
        assert found.status == "exact"
        assert (found.measures.errors["rf"] > 0) == off
        assert relative_document(found, "r").about.endswith(told)


def test_pages_about_the_table_are_marked_and_name_no_file_that_is_not_there(
    tmp_path: Path,
) -> None:
    exact = sf.relative_threat(sf.generalize(people(60), [1, 0, 1]), people(60))
    told = relative_document(exact, "r")
    page = told.save_page(tmp_path / "page.html").read_text()
    assert "Private: this page was worked out on the original table" in page
    assert "result.json" not in page
    folder = told.save(tmp_path / "out")
    assert "result.json" in (folder / "page.html").read_text()
    assert (folder / "result.json").exists()
    scatter = next(figure for one in told.sections for figure in one.charts)
    assert [one.name.split(":")[0] for one in scatter.behind] == ["equal"]  # a line, not two marks


def test_a_skyline_of_a_raw_table_is_marked_and_one_of_a_release_is_not(tmp_path: Path) -> None:
    coarse = sf.generalize(people(60), [1, 0, 1])
    for release, marked in ((as_it_stands(people(60)), True), (coarse, False)):
        value = release.groups.values[0]
        told = skyline_document(release, [sf.knowledge_skyline(release, value, 0.9)])
        page = told.save_page(tmp_path / f"{marked}.html").read_text()
        assert ("Private: this page was worked out on the original table" in page) == marked


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
    told = sf.audit(sf.read(rows, schema), criteria).brief().text(width)
    for name in ("PINCP_DECILE", "marital-status", "distinct-diversity", "t-closeness"):
        assert name in told
    assert "violated by" not in told


def test_a_list_of_columns_is_not_broken_within_a_name(tmp_path: Path) -> None:
    """Columns without a role are told in one cell; a comma belongs to the width of its word."""
    names = ["race", "marital-status", "native-country", "salary-class"]
    (tmp_path / "t.csv").write_text(",".join(["sex", *names]) + "\n" + "f,a,b,c,d\n" * 4)
    schema = sf.Schema(quasi=["sex"])
    report = sf.audit(sf.read_release(tmp_path / "t.csv", schema), [sf.KAnonymity(2)])
    told = report.brief().text(80)
    assert all(name in told for name in names)
    assert "…" not in told


def test_a_bound_names_its_column() -> None:
    rows = pa.table({"q": [1] * 6, "a": list("uvuvuv"), "b": list("xyzxyz")})
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive=["a", "b"]))
    criteria = [sf.TCloseness(0.5, sensitive="a"), sf.TCloseness(0.5, sensitive="b")]
    report = sf.audit(table, [*criteria, sf.KAnonymity(2)])
    assert report.advice is not None
    assert [one.about for one in report.advice.bounds] == ["a", "b", None]
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
    told = report.to_markdown() + report.to_html() + str(report)
    for wrong in (
        "name a sensitive column",
        "require epsilon-privacy",
        "require distribution-leakage",
        "The report that anonymize writes has it",
        "people kept",
        "group sizes",
        "smallest group",
        "(smallest",
        "people published",
    ):
        assert wrong not in told, wrong
    rows = [line for line in str(report).splitlines() if "differential-privacy" in line]
    assert all("sizes" not in line and "whose row" not in line for line in rows)


def test_attacks_that_are_not_defined_are_told_and_stop_no_audit() -> None:
    """Centroids contain nobody: the rest of the audit stands, and nobody is sent to be refused."""
    rows = pa.table({"q": [1.0, 2.0, 3.0, 4.0] * 2, "s": list("abcdabcd")})
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive="s"))
    policy = sf.Policy([sf.KAnonymity(4)], anonymizer=sf.Microaggregation(4))
    release = sf.anonymize(table, policy, seed=0)
    attacks = attacks_on(release, table)
    assert attacks == ()
    report = sf.audit(release, policy, attacks=attacks, table=table)
    assert report.status == "holds"
    told = {row.adversary: row for row in matrix(report)}
    for name in ("population learner", "membership attacker"):
        assert told[name].status == "not_applicable"
        assert "defined for generalized and bucketized releases" in told[name].learns
    page = report.to_markdown()
    assert "sfumato attack relative" not in page
    assert "whose row" not in page[page.index("| population learner") :]


def test_people_with_lists_are_attacked_as_well() -> None:
    schema = sf.Schema(quasi=["q"], sensitive="s", person="p")
    rows = {"p": [*range(8)] * 2, "q": [0, 0, 0, 0, 1, 1, 1, 1] * 2, "s": list("abcdabcd") * 2}
    rows["s"][8:] = list("bcdabcda")
    table = sf.read(pa.table(rows), schema)
    release = sf.generalize(table, [0])
    report = sf.audit(release, [sf.KAnonymity(4)], attacks=attacks_on(release, table), table=table)
    told = {row.adversary: row for row in matrix(report)}
    assert told["membership attacker"].status == "measured"
    assert "s: guessed right for" in told["membership attacker"].learns


def test_no_k_is_advised_for_buckets() -> None:
    _, release = dealt(list("abcabc"), 3)
    report = sf.audit(release, [sf.DistinctDiversity(3)])
    assert any(row.adversary == "prosecutor" and not row.covered for row in matrix(report))
    assert not any("k-anonymity" in one.criteria for one in uncovered(report))


def test_bounds_that_are_one_person_s_value_are_told_in_one_line() -> None:
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian())
    table = sf.read(pa.table({"age": [*range(1, 9)]}), sf.Schema(quasi=["age"]))
    report = sf.audit(sf.anonymize(table, policy), policy)
    line = "published bounds and centres that are the value of exactly one person: age 3"
    assert line in report.notes
    assert line in str(report)
    assert line.capitalize() in report.to_markdown()
    room = sf.read(pa.table({"age": [1, 2, 2, 4, 5, 5, 8, 9, 9]}), sf.Schema(quasi=["age"]))
    report = sf.audit(sf.anonymize(room, policy), policy)
    assert not any("exactly one person" in note for note in report.notes)
