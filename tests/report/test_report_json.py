"""The JSON of a report: valid by its schema, and nothing on the page that it does not have."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from sfumato.report.document import (
    SCHEMA,
    SCHEMA_VERSION,
    Chart,
    Series,
    Sheet,
    cell_text,
    percentage,
)
from sfumato.report.html.axes import places_of
from sfumato.report.html.page import numbers_of
from sfumato.report.html.pictures import bars_of
from sfumato.report.report import Report
from tests.report.pages import Page


@pytest.fixture(scope="module")
def checker() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema_version"] == {"const": SCHEMA_VERSION}
    return jsonschema.Draft202012Validator(schema)


def test_every_report_is_valid_by_the_schema(variant: Report, checker) -> None:
    told = json.loads(variant.to_json())
    checker.validate(told)
    assert told["holds"] is variant.holds
    assert told["audience"] == variant.audience


@pytest.mark.parametrize(
    "spoil",
    [
        lambda told: told.pop("threats"),
        lambda told: told.update(schema_version=1),
        lambda told: told["threats"][0].pop("before"),
        lambda told: told["verdicts"][0].update(status="fine"),
        lambda told: told["verdicts"][0].update(measured="many"),
        lambda told: told["release"].update(smallest="few"),
        lambda told: told["sections"][0]["tables"][0].pop("rows"),
        lambda told: told["sections"][0].update(charts=[{"title": "no series"}]),
    ],
)
def test_the_schema_refuses_what_is_no_report(checker, spoil) -> None:
    from tests.report.conftest import made

    told = json.loads(made("mondrian").to_json())
    spoil(told)
    assert list(checker.iter_errors(told))


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.items() for part in one for text in strings(part)]
    return [text for one in value for text in strings(one)] if isinstance(value, list) else []


def figure_of(chart: dict[str, Any]) -> Chart:
    axes = {"x": "", "y": "", "z": ""} | chart["axes"]
    series = tuple(
        Series(one["name"], one["x"], one["y"], one.get("z"), one.get("text"))
        for one in chart["series"]
    )
    return Chart(chart["title"], chart["kind"], axes["x"], axes["y"], series, axes["z"], alt="-")


SCALE = {"0%", "25%", "50%", "75%", "100%"}  # the axis of beliefs


def lying_bars(chart: Chart) -> Sheet:
    rows = [(row.label, "".join(bar.text for bar in row.bars)) for row in bars_of(chart)]
    return Sheet((chart.y, chart.x), tuple(rows))


def cells_of(sheet: Sheet) -> list[list[str]]:
    """As the page shows it: a sign before rows that stand out."""
    cells = [list(sheet.columns), *map(list, sheet.texts())]
    if sheet.starred:
        signs = ["★" if at in sheet.starred else "" for at in range(len(sheet.rows))]
        cells = [[sign, *row] for sign, row in zip(["★", *signs], cells, strict=True)]
    return cells


def test_every_number_on_the_page_is_in_the_json(variant: Report, page: Page) -> None:
    told = json.loads(variant.to_json())
    expected, drawn = [], []
    for section, own in zip(told["sections"], variant.sections, strict=True):
        expected += [
            replace(sheet, columns=tuple(t["columns"]), rows=tuple(map(tuple, t["rows"])))
            for t, sheet in zip(section["tables"], own.tables, strict=True)
        ]
        for chart, mine in zip(section["charts"], own.charts, strict=True):
            drawn.append(chart)
            figure = replace(mine, series=figure_of(chart).series)
            numbers = numbers_of(figure)
            expected += [numbers] if numbers is not None else []
            if mine.lying:  # a table itself
                expected.append(lying_bars(figure))
    assert page.tables == [cells_of(sheet) for sheet in expected]

    known = {
        value
        for chart in drawn
        for one in [*chart["series"], *chart.get("behind", [])]
        for axis in ("x", "y", "z")
        for value in places_of(one.get(axis))
    }
    for chart in page.charts:
        for trace in chart["data"]:
            assert set(trace["x"]) | set(trace["y"]) | set(trace.get("z", ())) <= known | {None}

    said = " ".join(" ".join(strings(told)).split())
    glance = {cell_text(value) for value in told["glance"].values()}
    glance |= {percentage(value) for value in told["glance"].values()}
    for text in page.texts:
        if re.search(r"\d", text):
            plain = " ".join(text.split())
            assert plain in said or plain in glance or plain in SCALE, plain


def test_the_walk_would_notice_a_number_that_is_not_told() -> None:
    from tests.report.conftest import made

    report = made("mondrian")
    page = report.to_html().replace(" must hold. ", " must hold 4711 times. ")
    assert any("4711" in text for text in Page(page).texts)
    assert "4711" not in report.to_json()


def test_the_page_and_markdown_say_the_same(variant: Report, page: Page) -> None:
    told, text = json.loads(variant.to_json()), variant.to_markdown()
    spoken = re.sub(
        r"(?<=\() | (?=[,.;:)])", "", " ".join(page.texts)
    )  # explained words stand apart
    assert told["headline"] in spoken
    unescaped = re.sub(r"\\([\\`*_{}\[\]<>#|~])", r"\1", text)
    assert told["headline"] in unescaped
    for verdict in told["verdicts"]:
        assert verdict["required"] in unescaped
    for row in told["threats"]:
        assert row["adversary"] in unescaped
