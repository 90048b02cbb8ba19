"""What notebooks and consoles show of results: their page's sections, three lines, nothing else."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.notebook import Displayed
from sfumato.report.html import page
from sfumato.report.notebook import document_of
from tests.report.pages import Page

QUASI, SENSITIVE = "<script>alert('q')</script>", "<img src=x\nonerror=alert('s')>"
ROWS = {
    "number": [1, 2, 3, 4, 5, 6] * 4,
    QUASI: [f"row-value <b>{at % 2}</b>" for at in range(24)],
    SENSITIVE: [f"row-value <i>{at % 5}</i>" for at in range(24)],
}
SCHEMA = sf.Schema(quasi=["number", QUASI], sensitive=SENSITIVE)
POLICY = sf.Policy([sf.KAnonymity(2), sf.DistinctDiversity(2)], anonymizer=sf.Mondrian())
SMALL = 60_000  # letters


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Displayed]:
    """One of each kind, of a table whose every text is meant to be more than a text."""
    rows = pa.table(ROWS)
    table = sf.read(rows, SCHEMA)
    coarse = sf.Policy([sf.KAnonymity(4)], anonymizer=sf.Mondrian())
    release, other = (sf.anonymize(table, policy, seed=1) for policy in (POLICY, coarse))
    ledger = sf.Ledger(tmp_path_factory.mktemp("ledger") / "ledger <u>.sqlite")
    ledger.add(release, QUASI)
    report = sf.audit(release, POLICY)
    listed: tuple[Displayed, ...] = (
        table,
        release,
        report,
        report.verdicts[0],
        sf.compare(table, POLICY, {"k": [2, 4]}),
        sf.characterize(table),
        sf.knowledge_skyline(release, ROWS[SENSITIVE][0], 0.9),
        sf.relative_threat(release, table),
        sf.intersection_attack([release, other], table),
        sf.draft_policy(rows),
        ledger,
    )
    return {type(result).__name__: result for result in listed}


KINDS = (
    "Table", "Release", "Report", "Verdict", "Comparison", "Characterization", "KnowledgeSkyline",
    "RelativeThreat", "IntersectionAttack", "Draft", "Ledger",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_shows_the_sections_of_the_page_in_small(results, kind: str) -> None:
    fragment = results[kind]._repr_html_()
    assert 500 < len(fragment) < SMALL
    document = document_of(results[kind]).public()
    assert document.sections
    for section in document.sections:
        assert f"<summary>{escape(section.title)}</summary>".replace("&#x27;", "&#39;") in fragment
    seen = Page(fragment)
    assert {"html", "head", "body", "script", "img", "link"}.isdisjoint(seen.tags)
    assert seen.links == []
    assert len(seen.tables) >= len([sheet for one in document.sections for sheet in one.tables])


@pytest.mark.parametrize("kind", KINDS)
def test_plain_text_is_three_lines_without_anybodys_value(results, kind: str) -> None:
    lines = repr(results[kind]).splitlines()
    assert 1 <= len(lines) <= 3
    assert all(0 < len(line) <= 103 for line in lines)
    assert "array(" not in repr(results[kind])
    asked = kind == "KnowledgeSkyline"  # by its value
    assert ("row-value" in repr(results[kind])) == asked


@pytest.mark.parametrize("kind", ["Table", "Draft", "Verdict", "Ledger"])
def test_no_value_of_a_row_is_shown_of_what_is_not_published(results, kind: str) -> None:
    assert "row-value" not in results[kind]._repr_html_()


def test_only_published_rows_are_shown_of_a_release(results) -> None:
    release = results["Release"]
    published = release.to_pandas().astype(str)
    rows = Page(release._repr_html_()).tables[1][1:]
    assert rows == published.head(5).to_numpy().tolist()
    assert release.head(3).equals(release.to_pandas().head(3))


def test_the_head_of_buckets_is_their_quasi_identifiers() -> None:
    table = sf.read(pa.table({"q": [1, 2, 3, 4], "s": list("abab")}), sf.Schema(["q"], "s"))
    made = sf.anonymize(table, sf.Policy([sf.DistinctDiversity(2)], sf.Anatomy(2)), seed=1)
    assert list(made.head(2).columns) == list(made.tables()["quasi"].column_names)
    assert len(made.head(2)) == 2
    assert len(Page(made._repr_html_()).tables) == 3  # columns, and the first rows of both


def test_private_sections_are_left_out_and_long_tables_cut(results) -> None:
    found = results["Characterization"]
    private = [section for section in found.document().sections if section.private]
    assert private
    fragment = found._repr_html_()
    assert all(f"<summary>{escape(one.title)}</summary>" not in fragment for one in private)
    many = sf.Schema(quasi=[f"q{at}" for at in range(14)])
    table = sf.read(pa.table({name: [1, 2] for name in many.quasi}), many)
    assert len(Page(table._repr_html_()).tables[0]) == 11
    assert "4 more rows" in table._repr_html_()


def test_styles_touch_nothing_outside() -> None:
    styles = (Path(page.__file__).parent / "templates" / "fragment.css").read_text(encoding="utf-8")
    bare = re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL)
    selectors = [
        one.strip() for rule in bare.split("}")[:-1] for one in rule.split("{")[0].split(",")
    ]
    assert len(selectors) > 20
    assert all(".sfumato" in selector.split() for selector in selectors)


def test_there_is_one_way_to_be_shown(results) -> None:
    assert set(results) == set(KINDS)
    for result in results.values():
        own = [kind.__name__ for kind in type(result).__mro__ if "_repr_html_" in vars(kind)]
        assert own == ["Displayed"]


def test_a_chart_is_a_figure_by_its_name(results) -> None:
    report = results["Report"]
    figure = report.chart("size of their group")
    (chart,) = (
        chart
        for section in report.sections
        for chart in section.charts
        if "size of their group" in chart.title
    )
    assert list(figure.data[0].y) == list(chart.series[0].y)
    assert report.chart("NUMBER").data[0].type == "bar"  # one that its page draws by itself
    with pytest.raises(sf.InputError, match=r"'none' is no chart of .* 'People by the size of"):
        report.chart("none")
    with pytest.raises(sf.InputError, match="'e' is the name of several charts"):
        report.chart("e")
    assert results["Comparison"].chart("release").data


def test_what_is_not_there_yet_is_shown_too(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "new.sqlite")
    assert "is not there yet" in ledger._repr_html_()
    assert repr(ledger).startswith("Ledger in ")
