"""JSON is made piece by piece: the same text, and never all of it in memory."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pyarrow as pa

from sfumato.report.characterization import write_table
from sfumato.report.document import Chart, Document, Section, Series, Sheet

ROWS = 20_000


def large() -> Document:
    rows = tuple((f"group {place}", place, place / 7) for place in range(ROWS))
    sheet = Sheet(("group", "people", "risk"), rows, "Groups")
    line = Series("all", [1.0, 2.5], [3, float("inf")])
    chart = Chart("Shares", "lines", "x", "y", (line,), alt="rises without end")
    sections = (Section("Empty"), Section("Worst", "words", (sheet,), (chart,)))
    return Document("x", "Title", "About", sections, facts={"none": [], "of": {"k": (1.0, None)}})


def peak_of_writing(document: Document, path: Path) -> int:
    tracemalloc.start()
    document.write_json(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_a_file_holds_the_same_as_the_text_and_takes_a_tenth_of_its_memory(tmp_path: Path) -> None:
    document = large()
    peak = peak_of_writing(document, tmp_path / "all.json")
    text = (tmp_path / "all.json").read_text()
    assert text == document.to_json() + "\n"
    assert peak < len(text) / 10
    content = json.loads(text)
    assert text == json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    assert content["facts"] == {"none": [], "of": {"k": [1, None]}}
    assert len(content["sections"][1]["tables"][0]["rows"]) == ROWS
    assert content["sections"][1]["charts"][0]["series"][0]["y"] == [3, "inf"]


def test_a_table_is_written_row_by_row(tmp_path: Path) -> None:
    table = pa.table({"who": pa.array(range(ROWS)), "risk": [0.5] * ROWS, "no": [None] * ROWS})
    write_table(table, tmp_path / "rows.json")
    text = (tmp_path / "rows.json").read_text()
    assert text == json.dumps(table.to_pylist(), indent=1) + "\n"
    write_table(table.slice(0, 0), tmp_path / "nobody.json")
    assert json.loads((tmp_path / "nobody.json").read_text()) == []
