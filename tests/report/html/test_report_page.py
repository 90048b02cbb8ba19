"""The page without a browser: whole in itself, marked private, escaped, small."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.catalogue import ADVERSARIES, entry_of
from sfumato.criteria import CRITERIA
from sfumato.errors import InputError
from sfumato.report.document import Chart, Series
from sfumato.report.html.draw import spec
from sfumato.report.report import Report
from sfumato.report.sections.linkage import bins
from sfumato.report.sections.report import SECTIONS, document_of_attack
from sfumato.report.sections.threats import danger, matrix, threats_section
from tests.report.conftest import made
from tests.report.pages import Page

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def test_the_page_leads_nowhere_and_fetches_nothing(page: Page) -> None:
    assert all(link.startswith(("#section-", "#term-")) for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.places)
    assert "default-src 'none'" in page.policy
    assert not {"link", "iframe", "object", "embed", "img"} & set(page.tags)


def test_only_the_private_page_is_marked_private(variant: Report, page: Page) -> None:
    text = " ".join(page.texts)
    assert ("do not hand it out" in text) is (variant.audience == "private")
    assert ("Public: this page" in text) is (variant.audience == "public")
    assert ("do not hand it out" in variant.to_markdown()) is (variant.audience == "private")


def test_every_word_of_ours_on_the_page_is_explained_where_it_stands_and_at_the_end(
    page: Page,
) -> None:
    told = " ".join(page.glossary)
    assert len(page.explained) > 10
    for link, meaning in page.explained.items():
        assert link[1:] in page.places
        assert meaning.partition(" In the papers")[0] in told
    said = " ".join(
        [*page.texts, *(cell for table in page.tables for row in table for cell in row)]
    )
    for word in ("quasi-identifier", "group", "k-anonymity", "prosecutor", "t-closeness"):
        assert (f"term-{word}" in page.places) is (f"{word}" in said), word


def test_every_chart_has_its_text(variant: Report, page: Page) -> None:
    figures = [figure for section in variant.sections for figure in section.charts]
    assert len(page.charts) == len(page.labels) <= len(figures)
    for label in page.labels:
        assert len(label) > 20


def test_labels_are_text_wherever_they_come_from() -> None:
    values = [NASTY, "plain", "a", "b"]
    rows = pa.table({NASTY: values * 2, "s": [NASTY] * 4 + values})
    report = sf.audit(sf.read(rows, sf.Schema(quasi=[NASTY], sensitive="s")), [sf.KAnonymity(3)])
    clean = made("several")
    for told in (report, report.public()):
        found, without = Page(told.to_html()), Page(clean.to_html())
        assert "alert(1)" in " ".join(found.texts)
        assert "<script>alert" not in told.to_html()
        assert found.tags.count("img") == 0
        scripts = found.tags.count("script") - len(found.charts)
        assert scripts == without.tags.count("script") - len(without.charts)
        assert "<script>" not in told.to_markdown().replace("\\<", "")


def test_markdown_tables_keep_their_shape_whatever_is_in_them() -> None:
    rows = pa.table({"a|b": ["x|y\nz", "`*_", "x|y\nz", "`*_"], "s": list("uvuv")})
    report = sf.audit(sf.read(rows, sf.Schema(quasi=["a|b"], sensitive="s")), [sf.KAnonymity(3)])
    for line in report.to_markdown().splitlines():
        if line.startswith("|"):
            cells = len(re.findall(r"(?<!\\)\|", line)) - 1
            assert cells in (3, 5, 6, 7, 8)


def test_the_catalogue_knows_every_adversary_a_criterion_bounds() -> None:
    names = list(ADVERSARIES)
    for criterion in CRITERIA.values():
        adversary = getattr(criterion, "adversary", None)
        if isinstance(adversary, str):
            assert entry_of(adversary) is not None, criterion.name
    for shape, stubbornness in (("uniform", 100), ("uniform", np.inf), (None, 100)):
        assert sf.RealisticAdversary(shape, stubbornness).name in names
    assert sf.RealisticAdversary(None, np.inf).name not in names  # nothing but noise bounds her
    for entry in ADVERSARIES.values():
        assert set(entry.criteria) <= set(CRITERIA)


def test_every_known_adversary_is_a_row_from_weak_to_strong(variant: Report) -> None:
    rows = matrix(variant)
    noisy = variant.summary.scheme == "randomised"
    absent = {"rows"} if noisy else {"rows", "noisy"}  # nobody has several rows here
    order = [name for name, entry in ADVERSARIES.items() if entry.releases not in absent]
    places = [order.index(row.adversary) for row in rows if row.adversary in order]
    assert places == sorted(places)
    assert set(order) <= {row.adversary for row in rows}
    for row in rows:
        if row.status == "measured":
            assert row.belief is not None
        else:
            assert row.belief is None
            assert row.learns


def test_each_adversary_is_one_row_the_most_dangerous_first(variant: Report) -> None:
    tables = threats_section(variant).tables
    rows = matrix(variant)
    measured = {row.adversary: row for row in rows if row.belief is not None}
    if measured:
        told = tables[0].rows
        questions = [str(row[0]) for row in told]
        assert len(set(questions)) == len(questions)
        for question, named, moved, people, words, bounded in told:
            worst = max(
                (row for row in rows if row.adversary in str(named).split("; ") and row.belief),
                key=danger,
            )
            assert (moved, people) == (str(worst.highest), worst.people_told)
            assert str(moved).split(" → ")[0] in str(words)
            assert bounded == "no criterion" or set(
                str(bounded).replace(" (not kept)", "").split(", ")
            ) <= set(worst.covered)
            assert question
        order = [danger(measured[str(row[1]).split("; ")[0]]) for row in told]
        if len(variant.summary.sensitive) == 1:
            assert order == sorted(order, reverse=True)
    assert [len(table.rows) for table in tables if table.folded] == [len(rows)]


def test_a_threat_is_covered_by_the_criteria_of_the_policy() -> None:
    by_name = {row.adversary: row for row in matrix(made("realistic"))}
    assert by_name["realistic I"].covered == ("epsilon-privacy",)
    assert by_name["realistic III"].covered == ()
    assert by_name["realistic III"].status == "measured"  # run though nobody asked
    assert by_name["membership attacker"].status == "not_measured"
    assert "sfumato attack relative" in by_name["membership attacker"].learns


def test_what_was_attacked_is_told_with_its_charts() -> None:
    report = made("attacked")
    titles = [section.title for section in report.sections]
    assert "Learner against attacker" in titles
    assert "Other releases about the same people" in titles
    by_name = {row.adversary: row for row in matrix(report)}
    for name in ("population learner", "membership attacker", "composition"):
        assert by_name[name].status == "measured"
        assert by_name[name].people is not None
    public = [section.title for section in report.public().sections]
    assert "Learner against attacker" not in public
    assert "Other releases about the same people" not in public
    with pytest.raises(InputError, match="str is not the result of an attack"):
        sf.audit(report.evidence.release, [sf.KAnonymity(2)], attacks=["none"])


def test_an_attack_without_a_section_is_told_in_the_matrix() -> None:
    release = made("attacked").evidence.release
    report = sf.audit(release, [sf.KAnonymity(2)], attacks=[sf.linkage(release)])
    assert "marketer" in report.to_markdown()
    assert report.to_html()


def test_every_result_of_an_attack_has_an_document() -> None:
    from sfumato.adversaries.composition.attack import NAME
    from sfumato.adversaries.relative_threat.result import ATTACKER, LEARNER

    assert {LEARNER, ATTACKER, NAME} <= set(ADVERSARIES)
    told = [document_of_attack(result) for result in made("attacked").evidence.attacks]
    assert {document.name for document in told} == {"relative", "intersect"}


def test_sizes_are_gathered_and_none_is_lost(variant: Report) -> None:
    assert variant.evidence is not None
    sections = {section.title: section for section in variant.sections}
    if "Group sizes" not in sections:
        return
    sizes = variant.evidence.release.indistinguishable.sizes  # of buckets: of exact tuples
    rows = sections["Group sizes"].tables[0].rows
    assert len(rows) <= 30
    if variant.audience == "private":
        assert sum(row[1] for row in rows) == len(sizes)
        assert sum(row[2] for row in rows) == sizes.sum()


def test_a_bin_never_mixes_sizes_below_k_with_others() -> None:
    sizes = np.arange(1, 5000)
    for k in (1, 3, 7, 10, 33, 4000):
        starts, labels = bins(sizes, k)
        assert k in starts
        assert starts[0] == 1
        assert len(labels) == len(starts) <= 20
    assert bins(np.array([3, 3, 9]), 5)[1] == ["3", "9"]


def test_ten_thousand_groups_make_a_small_page() -> None:
    many = 12_000
    rows = pa.table(
        {"q": np.repeat(np.arange(many), 2), "s": np.tile(["a", "b", "c", "d"], many // 2)}
    )
    report = sf.audit(sf.read(rows, sf.Schema(quasi=["q"], sensitive="s")), [sf.KAnonymity(3)])
    page = report.to_html()
    assert report.summary.groups == many
    assert len(page.encode()) < 6e6
    assert len(report.to_json()) < 1e6


@pytest.mark.parametrize("value", [1, 15, 16, 24_000, 10**9])
def test_an_axis_has_few_marks_however_large_its_only_value(value: int) -> None:
    figure = Chart("t", "bars", "x", "y", (Series("s", ["a"], [value]),), alt="one bar")
    axis = spec(figure)["layout"]["yaxis"]
    assert ("dtick" in axis) is (value <= 15)


def test_every_part_says_something_somewhere() -> None:
    said = {make.__name__: 0 for make in SECTIONS}
    for name in ("raw", "lattice", "best", "priced", "taken", "realistic", "by_rules"):
        for make in SECTIONS:
            said[make.__name__] += make(made(name)) is not None
    assert all(said.values()), said


@pytest.mark.parametrize("name", ["raw", "lattice"])
def test_the_same_report_gives_the_same_page(name: str) -> None:
    from tests.report.zoo import ZOO

    assert ZOO[name]().to_html() == made(name).to_html()
