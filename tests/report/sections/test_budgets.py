"""The sections of a report have budgets: wide columns end in seconds, and say what is left."""

from __future__ import annotations

import pyarrow as pa

import sfumato as sf
from sfumato.report.sections import skyline


def wide(rows: int = 2_000) -> sf.Report:
    """Everybody in one group, nearly everybody with a cost of his own."""
    table = pa.table(
        {
            "age": [30 + row % 3 for row in range(rows)],
            "cost": [round(100 + row * 1.37, 2) for row in range(rows)],
            "disease": [f"d{row % 9}" for row in range(rows)],
        }
    )
    schema = sf.Schema(
        quasi=["age"], sensitive=["cost", "disease"], hierarchies={"age": sf.suppression()}
    )
    release = sf.generalize(sf.read(table, schema), [1])
    return sf.audit(release, sf.Policy([sf.KAnonymity(5)], schema=schema))


def test_skylines_stop_at_their_budget_and_say_how_to_get_the_rest(monkeypatch) -> None:
    asked: list[sf.KnowledgeSkyline] = []

    def counted(*args: object, **named: object) -> sf.KnowledgeSkyline:
        asked.append(sf.knowledge_skyline(*args, **named))  # type: ignore[arg-type]
        return asked[-1]

    monkeypatch.setattr(skyline, "knowledge_skyline", counted)
    report = wide()
    section = skyline.skyline_section(report)
    assert section is not None
    assert sum(one.checks for one in asked) <= skyline._CHECKS + max(one.checks for one in asked)
    assert {one.attribute for one in asked} == {"cost", "disease"}
    (sheet,) = section.tables
    left = 2_000 + 9 - len(sheet.rows)
    assert f"{left:,} rarer values are not shown" in section.words
    assert "Each was followed up to 50 only" in section.words
    assert "cost: nearly a value each; judged in ranges ([schema.levels]" in section.words
    assert "sfumato skyline RELEASE --policy POLICY --value VALUE" in section.words


def test_the_budget_is_the_same_on_every_run() -> None:
    first, again = skyline.skyline_section(wide()), skyline.skyline_section(wide())
    assert first is not None
    assert again is not None
    assert first == again


def test_a_small_column_is_told_whole() -> None:
    table = pa.table({"age": [1, 2] * 10, "disease": ["a", "b", "c", "d"] * 5})
    schema = sf.Schema(quasi=["age"], sensitive=["disease"])
    section = skyline.skyline_section(sf.audit(sf.read(table, schema), [sf.KAnonymity(2)]))
    assert section is not None
    assert "sfumato skyline" not in section.words
    assert len(section.tables[0].rows) == 4
