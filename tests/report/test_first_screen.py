"""The first screen: what somebody signs must not look better than it is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.report.document import Document, Section
from sfumato.report.html.page import Explained
from sfumato.report.report import Report
from sfumato.report.sections.decision import decide, headline
from tests.report.pages import Page

AGES = pa.table(
    {
        "age": [20 + n for n in range(24)],
        "zip": ["1001", "1002", "2001", "2002"] * 6,
        "s": list("uvwxyz") * 4,
    }
)
SCHEMA = sf.Schema(
    quasi=["age", "zip"],
    sensitive="s",
    hierarchies={"age": sf.intervals([4, 8, 16]), "zip": sf.mask()},
)


def released(k: int, *more: sf.Criterion) -> Report:
    policy = sf.Policy([sf.KAnonymity(k), *more], anonymizer=sf.Lattice())
    return sf.audit(sf.anonymize(sf.read(AGES, SCHEMA), policy, seed=1), policy)


@pytest.mark.parametrize(
    ("k", "reply", "warned"),
    [
        (24, "By its policy, yes; but of what it told about people nothing is left.", "No detail"),
        (12, "By its policy, yes; but little is left to use.", "Little is left to use"),
        (2, "By its policy, yes.", ""),
    ],
)
def test_a_release_that_keeps_its_promises_and_little_else_says_so(
    k: int, reply: str, warned: str
) -> None:
    report = released(k)
    document = report.document()
    assert report.holds
    assert document.first.reply == reply
    assert any(words.startswith(warned) for words in document.warnings) is bool(warned)
    assert document.answer is not None
    assert (document.answer.mood == "holds") is not bool(warned)
    assert Page(document.to_html()).texts.count(reply) == 1
    short = report.short().answer
    assert short is not None
    assert (short.mood == "holds") is not bool(warned)


def test_what_was_not_measured_has_a_line_of_its_own_however_much_else_is_left() -> None:
    report = sf.audit(sf.read(AGES, SCHEMA), [sf.KAnonymity(1)])
    decision = decide(report)
    assert decision.not_measured
    left = report.document().first.parts["What is knowingly left"]
    assert len(left) == 3
    assert left[1].endswith("more below: Who could learn what.")
    assert left[2] == f"Not measured, so not shown safe: {', '.join(decision.not_measured)}."


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        ([sf.KAnonymity(1)], "its only criterion holds"),
        ([sf.KAnonymity(1), sf.DistinctDiversity(1)], "both criteria hold"),
        ([sf.KAnonymity(1), sf.DistinctDiversity(1), sf.TCloseness(1)], "all 3 criteria hold"),
    ],
)
def test_the_verdict_counts_as_people_do(criteria: list[sf.Criterion], said: str) -> None:
    assert said in headline(sf.audit(sf.read(AGES, SCHEMA), criteria))


def test_words_are_explained_in_headings_and_in_lists_of_them() -> None:
    explain = Explained()
    cell = explain("distinct-diversity, t-closeness (not kept)", "cell")
    assert cell.count('class="term"') == 2
    assert cell.endswith("(not kept)")
    assert "term" not in explain("distinct-diversity, nothing of ours", "cell")
    for _ in range(2):  # a heading is explained wherever it stands
        assert "<abbr" in explain("t-closeness", "heading")
    assert "<script>" not in explain("<script>, t-closeness", "cell")


def test_the_title_of_a_section_is_explained() -> None:
    page = Document("d", "T", "", (Section("What k-anonymity promises", "Words."),)).to_html()
    assert "<h2>What <abbr" in page


@pytest.mark.parametrize(("epsilon", "drowned"), [(0.1, True), (8.0, False)])
def test_counts_that_are_mostly_noise_are_no_plain_yes(epsilon: float, drowned: bool) -> None:
    domains = {"q": ["a", "b"], "s": ["u", "v", "w"]}
    schema = sf.Schema(quasi=["q"], sensitive="s", domains=domains)
    table = sf.read(pa.table({"q": ["a", "b"] * 30, "s": list("uvw") * 20}), schema)
    policy = sf.Policy([sf.DifferentialPrivacy(epsilon)], anonymizer=sf.Noise(epsilon=epsilon))
    report = sf.audit(sf.anonymize(table, policy), policy)
    first = report.document().first
    assert ("but little is left to use" in first.reply) is drowned
    reach = 2 / epsilon * 2.9957  # noise of scale 2 / epsilon: 19 in 20 lie within ln 20 of these
    cost = f"Noise moves a count by up to {reach:.3g}, 19 times in 20."
    assert first.parts["What it costs"][0] == cost


def test_a_promise_about_several_columns_names_them() -> None:
    rows = pa.table({"q": [1] * 6, "a": list("uvuvuv"), "b": list("xyzxyz")})
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive=["a", "b"]))
    every = decide(sf.audit(table, [sf.DistinctDiversity(2)])).promised
    assert every == ("at least 2 values are possible for everybody (distinct-diversity of a, b)",)
    one = decide(sf.audit(table, [sf.DistinctDiversity(3, sensitive="b")])).promised
    assert one == ("at least 3 values are possible for everybody (distinct-diversity of b)",)


def test_a_cost_that_no_measure_fits_is_said_not_to_be_measured(tmp_path: Path) -> None:
    policy = sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Microaggregation(3))
    schema = sf.Schema(quasi=["age"], sensitive="s")
    table = sf.read(AGES, schema)
    sf.anonymize(table, policy, seed=1).save(tmp_path / "out", policy=policy)
    read = sf.read_release(tmp_path / "out", schema)
    (cost,) = sf.audit(read, policy, table=table).document().first.parts["What it costs"]
    assert cost.startswith("The detail that is lost is not measured: that takes who is in which")
