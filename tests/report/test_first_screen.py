"""The first screen: what somebody signs must not look better than it is."""

from __future__ import annotations

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
