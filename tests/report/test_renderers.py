"""One document, four renderers: each tells every cell, none knows what the document is about."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.report import document as document_module
from sfumato.report.characterization import write_table
from sfumato.report.document import Answer, Document, Section, Sheet, cleaned, plain
from sfumato.report.sections.composition import attack_document
from sfumato.report.sections.relative_threat import relative_document
from sfumato.report.sections.skyline import skyline_document
from tests.examples import few
from tests.report.conftest import made
from tests.report.pages import Page
from tests.report.zoo import people

REPORT = Path(document_module.__file__).parent
RENDERERS = (
    "document.py",
    "text.py",
    "json.py",
    "html/page.py",
    "html/draw.py",
    "html/axes.py",
    "html/maps.py",
    "html/pictures.py",
)


def comparison() -> Document:
    policy = sf.Policy([sf.KAnonymity(5), sf.TCloseness(0.5)])
    sweep = {"k": [3, 10_000], "anonymizer": ["mondrian", "microaggregation"], "anonymizer.k": [4]}
    return sf.compare(people(200), policy, sweep).document()


def attacked(kind: str) -> Document:
    evidence = made("attacked").evidence
    assert evidence is not None
    (result,) = [one for one in evidence.attacks if type(one).__name__ == kind]
    return relative_document(result, "r") if kind == "RelativeThreat" else attack_document(result)


def skyline() -> Document:
    release = sf.generalize(people(60), [1, 0, 1])
    return skyline_document(release, [sf.knowledge_skyline(release, release.groups.values[0], 0.9)])


DOCUMENTS: dict[str, Callable[[], Document]] = {
    "report": lambda: made("lattice").document(),
    "public report": lambda: made("lattice").public().document(),
    "brief report": lambda: made("raw").brief(),
    "comparison": comparison,
    "characterization": lambda: sf.characterize(people(200), individuals=True).document(),
    "relative threat": lambda: attacked("RelativeThreat"),
    "intersection": lambda: attacked("IntersectionAttack"),
    "skyline": skyline,
}


@cache
def told(name: str) -> Document:
    return DOCUMENTS[name]()


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_renderer_tells_every_cell(name: str) -> None:
    document = told(name)
    public = document.public()
    sheets = [sheet for section in public.sections for sheet in section.tables]
    assert sheets
    page = Page(document.to_html())
    markdown = squeezed(re.sub(r"\\([\\`*_{}\[\]<>#|~])", r"\1", document.to_markdown()))
    text = document.text(1_000)
    content = json.loads(document.to_json())
    written = [table for section in content["sections"] for table in section["tables"]]
    assert [table["rows"] for table in written] == [cleaned(sheet.rows) for sheet in sheets]
    for sheet in sheets:
        star = [""] if sheet.starred else []
        rows = [list(row) for row in sheet.texts()]
        assert any(
            [row[len(star) :] for row in table] == [list(sheet.columns), *rows]
            for table in page.tables
        )
        for row in rows:
            assert squeezed(" | ".join(row)) in markdown
            for cell in row:
                assert squeezed(cell) in squeezed(text)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_private_sections_are_told_by_no_renderer_unless_asked(name: str) -> None:
    document = told(name)
    private = {section.title for section in document.sections if section.private}
    texts = [document.to_json(), document.to_markdown(), document.text(1_000)]
    texts.append(" ".join(Page(document.to_html()).texts))
    for title in private:
        assert not any(title in text for text in texts)
        assert title in document.to_json(private=True)
    assert bool(private) is (name == "characterization")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_page_says_whether_it_may_be_handed_out_and_cites_no_file(name: str) -> None:
    page = Page(told(name).to_html())
    text = " ".join(page.texts)
    private = bool(told(name).private)
    assert ("Private: this page" in text, "Public: this page" in text) == (private, not private)
    cells = " ".join(cell for table in page.tables for row in table for cell in row)
    assert not re.search(r"result\.json|\bclass \d|\bnode \d", f"{text} {cells}")


def test_renderers_know_documents_only() -> None:
    """A page of any document is written without the code of another; so a new one needs none."""
    allowed = {f"sfumato.report.{name[:-3].replace('/', '.')}" for name in RENDERERS}
    allowed.add("sfumato.report.glossary")
    for name in RENDERERS:
        tree = ast.parse((REPORT / name).read_text(encoding="utf-8"))
        imported = {
            node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module and "sfumato.report" in node.module
        }
        assert imported <= allowed, name


def test_nothing_in_the_room_calls_a_command_of_the_workflow() -> None:
    """What an audit can find out later is asked by a typed protocol; no field is a function."""
    for path in REPORT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                of_class = node.col_offset > 0
                assert not (of_class and "Callable" in ast.unparse(node.annotation)), path


NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.integers(-(10**12), 10**12), st.none()
)
WORDS = st.lists(st.text("abcdefghij-", min_size=1, max_size=20), min_size=0, max_size=5)


@st.composite
def sheets(draw: st.DrawFn) -> Sheet:
    wordy = draw(st.lists(st.booleans(), min_size=1, max_size=7))
    names = [" ".join(draw(WORDS)) or "x" for _ in wordy]
    columns = tuple(f"{name} {at}" for at, name in enumerate(names))
    many = draw(st.integers(1, 4))
    rows = tuple(
        tuple(" ".join(draw(WORDS)) if words else draw(NUMBERS) for words in wordy)
        for _ in range(many)
    )
    starred = tuple(at for at in range(many) if draw(st.booleans()))
    return Sheet(columns, rows, starred=starred, star="better", keys=draw(st.integers(1, 2)))


@settings(max_examples=few(60))
@given(sheets(), st.integers(20, 130))
def test_a_terminal_cuts_no_cell_and_breaks_no_word(sheet: Sheet, width: int) -> None:
    document = Document("x", "X", "", (Section("S", "", (sheet,)),))
    text = document.text(width)
    assert "…" not in text
    lines = text.splitlines()
    words = text.split()
    for row, cells in zip(sheet.texts(), sheet.rows, strict=True):
        for shown, cell in zip(row, cells, strict=True):
            if isinstance(cell, str):
                assert all(word in words for word in shown.split())
            else:
                assert any(shown in line for line in lines)


@given(
    st.recursive(
        NUMBERS | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
    )
)
def test_whatever_is_told_is_json(value: object) -> None:
    """Infinity and what does not apply have one spelling, wherever they stand."""
    read = json.loads(json.dumps(cleaned(value), allow_nan=False))
    assert read == cleaned(value)


def test_infinity_and_gaps_are_spelt_alike_everywhere() -> None:
    gaps = [math.inf, -math.inf, math.nan, 5.0, 0.5, True]
    spelt = ["inf", "-inf", None, 5, 0.5, True]
    sheet = Sheet(tuple("abcdef"), (tuple(gaps),))
    facts = {"facts": {"deep": gaps}}
    document = Document("x", "X", "", (Section("S", "", (sheet,)),), facts, on_top=True)
    content = json.loads(document.to_json())
    assert content["facts"]["deep"] == content["sections"][0]["tables"][0]["rows"][0] == spelt
    assert plain(math.nan) is None


def test_a_document_may_begin_with_an_answer_in_every_form() -> None:
    document = Document(
        "x",
        "X",
        "about",
        (),
        private="was made up",
        answer=Answer("violated", "It is violated."),
        warnings=("Beware.",),
        tiles={"people": "12"},
    )
    assert document.text().startswith("It is violated.\nX\nabout\n")
    for text in (document.to_html(), document.to_markdown()):
        for words in (
            "It is violated.",
            "Beware.",
            "12",
            "was made up. Keep it, do not hand it out",
        ):
            assert words in text


def test_private_rows_are_json_whatever_their_numbers(tmp_path: Path) -> None:
    """Infinity is a value and written "inf", what does not apply is null: as in reports."""
    rows = pa.table({"risk": [math.nan, math.inf, 0.5], "seen": [[1.0], [-math.inf], [math.nan]]})
    write_table(rows, tmp_path / "rows.json")
    told = (tmp_path / "rows.json").read_text(encoding="utf-8")
    assert "NaN" not in told
    assert json.loads(told) == [
        {"risk": None, "seen": [1]},
        {"risk": "inf", "seen": ["-inf"]},
        {"risk": 0.5, "seen": [None]},
    ]
