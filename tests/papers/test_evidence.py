"""Print beside ours: every row has a verdict with its reason, and the page is what we get."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato.papers import PAPERS, RunSettings
from sfumato.papers.evidence import (
    OUTCOMES,
    EvidenceRow,
    Reproduction,
    beside,
    claimed,
    evidence_page,
    figure,
    not_run,
    several_beside,
    unprinted,
)
from sfumato.papers.realistic_claims import without_acs
from sfumato.papers.skyline import ScaleUp, _fig_8
from sfumato.report.text import plain_text

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"


@cache
def examples(paper: str) -> list[EvidenceRow]:
    """What needs nothing but the package."""
    rows: list[EvidenceRow] = import_module(f"sfumato.papers.{paper}").worked()
    return rows


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_tells_what_a_fresh_run_gets(paper: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    start = page.index(f"\n## {paper}: ")
    lines = set(page[start : page.find("\n## ", start + 1)].splitlines())
    for row in examples(paper):
        assert f"| {' | '.join(map(plain_text, row.row))} |" in lines
        assert not row.data


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_of_the_page_has_a_verdict(paper: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    start = page.index(f"\n## {paper}: ")
    section = page[start : page.find("\n## ", start + 1)]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if line[:1] == "|"]
    assert len(rows) > 10
    for item, _, _, verdict, because in rows[2:]:
        assert item.strip()
        assert verdict.strip() in OUTCOMES
        assert because.strip() or verdict.strip() == "agrees"


def test_figures_agree_if_rounded_or_cut_off_they_are_the_printed_ones() -> None:
    assert beside("a", ".11", 0.1156).outcome == "agrees"
    assert beside("a", ".12", 0.1156).outcome == "agrees"
    assert beside("a", ".13", 0.1156).outcome == "differs"
    assert beside("a", "8", 8).outcome == "agrees"
    assert beside("a", "8", 7).outcome == "differs"
    assert beside("a", "4", 4.00008).outcome == "agrees"
    assert beside("a", "1.5", 1.45).outcome == "agrees"
    assert beside("a", "1.5", 1.599).outcome == "agrees"
    assert beside("a", "1.6", 1.53).outcome == "differs"  # rounded up it is neither
    assert beside("a", "1/3", 1 / 3).outcome == "agrees"
    assert beside("a", "1,000", 1000).outcome == "agrees"
    assert beside("a", "none", float("inf")).outcome == "agrees"
    assert beside("a", "none", 1e9).outcome == "differs"
    assert beside("a", "e", 2.71828, value=2.71828).outcome == "agrees"
    both = several_beside("a", (".5", ".25"), (0.5, 0.3), "other people")
    assert (both.outcome, both.because) == ("differs", "1 of 2 agree: other people")
    assert several_beside("a", (".5",), (0.5, 0.3), "more classes").outcome == "differs"
    assert [figure(number) for number in (4.00008, 0.013377, 8.0, 12345.6, float("inf"))] == [
        "4.00008",
        "0.01338",
        "8",
        "12,346",
        "inf",
    ]


def test_whatever_does_not_agree_says_why() -> None:
    with pytest.raises(InputError, match="needs its reason"):
        EvidenceRow("a", "1", "2", "differs")
    assert claimed("a", "grows", False, "falls").because
    assert beside("a", "1.0", 2.0).because
    assert unprinted("a", "2").because
    assert claimed("a", "grows", True, "grows", "never told").because == ""


def test_one_model_for_terminal_json_markdown_and_page() -> None:
    rows = (
        beside("Table 1", "1.0", 2.0, "a slip of print"),
        claimed("Fig. 1", "grows", True, "at 3 of 3", data="Adult"),
        not_run("Fig. 2", "4", "needs UCI Adult: give the data folder, which holds adult and acs"),
    )
    one = Reproduction("leakage", "Title", "About.", "These stand in for those.", rows)
    document = evidence_page([one])
    told = (document.text(80), document.to_json(), document.to_markdown(), document.to_html())
    for text in told:
        for words in ("Table 1", "Fig. 1 (Adult)", "a slip of print", "These stand in for those."):
            assert words in text
    assert all(len(line) <= 80 for line in told[0].splitlines())
    glance, paper = json.loads(told[1])["sections"]
    assert glance["tables"][0]["rows"] == [["leakage", 3, 1, 1, 0, 1]]
    assert paper["tables"][0]["rows"][0] == ["Table 1", "1.0", "2", "differs", "a slip of print"]
    assert one.tally == "Of 3 rows: 1 agree, 1 differ, 1 not run."


def test_a_reason_that_many_rows_have_is_told_once() -> None:
    needs = "needs UCI Adult: give the data folder, which holds adult and acs2019"
    rows = [not_run(f"Fig. {number}", "4", needs) for number in range(1, 6)]
    paper = Reproduction(
        "leakage", "Title", "", "", (*rows, beside("a", "1", 3, "a slip of print"))
    )
    text = paper.document.text(80)
    assert text.count("(1)") == 6
    assert text.count("(2)") == 2
    assert text.count("needs UCI Adult") == 1


def test_printed_rows_are_there_without_the_data_too() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for row in without_acs():
        assert f"| {plain_text(row.item)} (ACS) | {plain_text(row.printed)} |" in page
    assert page.count("| Table 5, ") == len(without_acs()) + 1  # ours alone


def test_less_and_more_are_not_asked_for_together() -> None:
    with pytest.raises(InputError, match="choose one"):
        RunSettings(quick=True, long=True)
    with pytest.raises(InputError, match="lots"):
        RunSettings(memory="lots")


def test_large_tables_are_asked_for_with_the_memory_they_may_take() -> None:
    assert RunSettings(memory="2GB").people == 10_000_000
    assert RunSettings(memory="2GB", people=100_000_000, long=True).people == 100_000_000
    with pytest.raises(InputError, match="need a memory"):
        RunSettings(people=30_000_000)
    with pytest.raises(InputError, match="10,000,000 or more"):
        RunSettings(memory="2GB", people=1_000_000)


def test_the_page_tells_of_fig_8_what_was_run_and_how_to_run_the_rest() -> None:
    def row(people: int, stored: bool) -> ScaleUp:
        return ScaleUp(people, "k-anonymity 1,002", 1.5, 7, stored)

    small, large = [row(100_000, False), row(1_000_000, False)], row(10_000_000, True)
    alone, rest = _fig_8(small, RunSettings())
    assert alone.item == "Fig. 8, k-anonymity 1,002, 1,000,000 people"
    assert (rest.outcome, rest.item) == ("not run", "Fig. 8, 10, 30, 100 million people")
    assert rest.because.endswith("reproduce skyline --memory 2GB --people 100000000")
    million, stored, rest = _fig_8([*small, large], RunSettings(memory="1GB"))
    assert (million.measured, stored.measured) == ("1.5 s, 7 groups", "1.5 s, 7 groups, in 1GB")
    assert rest.item == "Fig. 8, 30, 100 million people"
    whole = [*small, large, row(30_000_000, True), row(100_000_000, True)]
    told = _fig_8(whole, RunSettings(memory="2GB", people=100_000_000))
    assert [line.outcome for line in told] == ["no print at hand"] * 4


def test_what_print_is_not_at_hand_is_told_in_a_line() -> None:
    rows = [unprinted(f"Fig. 8, {size}", "1 s", "the seconds are not at hand") for size in range(3)]
    rows.append(unprinted("Table 5", "17", "the other rows are not at hand"))
    paper = Reproduction("skyline", "Title", "", "These stand in.", (*rows, beside("a", "1", 1)))
    told = (
        "Without print at hand: the seconds are not at hand (rows: 3); "
        "the other rows are not at hand (rows: 1)."
    )
    assert paper.without_print == told
    assert told in evidence_page([paper]).to_markdown()
    assert Reproduction("skyline", "Title", "", "", (beside("a", "1", 1),)).without_print == ""
