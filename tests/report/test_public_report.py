"""The public variant: nothing about single groups, small counts or suppressed people."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.criteria.base import judge
from sfumato.errors import InputError
from sfumato.report.report import FLOOR, Report, floor_of
from sfumato.schema.roles import ShownRows
from tests.report.zoo import ZOO

COUNTS = {"people", "groups", "suppressed"}


def test_no_worst_group_is_told(report: Report) -> None:
    told = json.loads(report.public().to_json())
    page, text = report.public().to_html(), report.public().to_markdown()
    for verdict in told["verdicts"]:
        assert verdict["worst"] == []
        assert verdict["note"] == ""
    assert told["columns"] == []
    titles = {section["title"] for section in told["sections"]}
    assert not titles & {"The weakest groups", "What to do next"}
    assert "How the release was chosen" not in titles
    for finding in report.findings:
        for group in finding.worst:
            who = ", ".join(f"{column} {value}" for column, value in group.description.items())
            assert who not in page
            assert who not in text


def small(value: Any, limit: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < limit


def test_no_small_count_is_told(report: Report) -> None:
    told, limit = json.loads(report.public().to_json()), floor_of(report)
    assert limit >= FLOOR
    for name in COUNTS:
        assert not small(told["release"][name], limit)
    for row in told["threats"]:
        assert not small(row["people"], limit)
    for section in told["sections"]:
        for table in section["tables"]:
            for at, column in enumerate(table["columns"]):
                if column in COUNTS:
                    assert not any(small(row[at], limit) for row in table["rows"])
        for chart in section["charts"]:
            if chart["axes"].get("y") == "people":
                assert not any(small(y, limit) for one in chart["series"] for y in one["y"])


def test_the_smallest_group_agrees_with_the_promise_told_beside_it(report: Report) -> None:
    told = json.loads(report.public().to_json())
    assert told["release"]["smallest"] == report.summary.smallest
    for verdict in told["verdicts"]:
        if verdict["criterion"] == "k-anonymity" and verdict["status"] == "holds":
            assert verdict["measured"] == told["release"]["smallest"]


def test_small_counts_do_occur_so_hiding_them_is_tested() -> None:
    told = json.loads(ZOO["weighted"]().public().to_json())
    assert told["release"]["people"] == f"<{FLOOR}"
    assert any(row["people"] == f"<{FLOOR}" for row in told["threats"])
    assert any(
        f"<{FLOOR}" in row
        for section in told["sections"]
        for table in section["tables"]
        for row in table["rows"]
    )


def test_a_large_k_raises_the_floor() -> None:
    table = sf.read(
        pa.table({"q": [1] * 30, "s": list("ab") * 15}), sf.Schema(quasi=["q"], sensitive="s")
    )
    report = sf.audit(table, [sf.KAnonymity(25)])
    assert floor_of(report) == 25
    assert json.loads(report.public().to_json())["release"]["smallest"] == 30
    assert (
        json.loads(sf.audit(table, [sf.KAnonymity(31)]).public().to_json())["release"]["people"]
        == "<31"
    )


def published(values: str) -> str:
    """The public report of a release that suppresses the three people with these values."""
    quasi = [1] * 12 + [2] * 12 + [3] * 3
    sensitive = list("abc" * 8) + list(values)
    table = sf.read(
        pa.table({"q": quasi, "s": sensitive}),
        sf.Schema(quasi=["q"], sensitive="s"),
    )
    criteria = [
        sf.KAnonymity(5),
        sf.TCloseness(0.5),
        sf.EpsilonPrivacy(9, sf.RealisticAdversary("table", 1000, at_most=False)),
    ]
    release = sf.generalize(table, {"q": 0}, [sf.KAnonymity(5)], suppression=0.2)
    assert release.suppressed == 3
    report = sf.audit(release, criteria)
    return report.public().to_json() + report.public().to_html() + report.public().to_markdown()


def test_suppressed_people_change_nothing_that_is_told() -> None:
    assert published("abc") == published("aaa") == published("ccb")
    assert published("abc") == published("xyz")  # values nobody else has


def test_the_private_variant_does_differ() -> None:
    def private(values: str) -> str:
        table = sf.read(
            pa.table({"q": [1] * 12 + [3] * 3, "s": list("abc" * 4) + list(values)}),
            sf.Schema(quasi=["q"], sensitive="s"),
        )
        release = sf.generalize(table, {"q": 0}, [sf.KAnonymity(5)], suppression=0.2)
        return sf.audit(release, [sf.TCloseness(0.5)]).to_json()

    assert private("abc") != private("aaa")


def test_a_register_of_the_population_stays_private() -> None:
    rows = pa.table({"q": [1] * 20 + [2] * 20, "s": list("ab") * 20})
    schema = sf.Schema(quasi=["q"], sensitive="s")
    register = sf.read(pa.table({"q": [1] * 70 + [2] * 90}), sf.Schema(quasi=["q"]))
    report = sf.audit(sf.read(rows, schema), [sf.KAnonymity(5)], population=register)
    assert "journalist: has a register" in report.to_html()
    assert "journalist: has a register" not in report.public().to_html()
    assert json.loads(report.public().to_json())["linkage"] is None


def test_public_of_public_is_itself_and_needs_the_release(report: Report) -> None:
    public = report.public()
    assert public.public() is public
    assert re.search(r"hand it out", report.to_markdown())
    bare = Report(report.summary, report.findings, report.threats, report.notes)
    with pytest.raises(InputError, match="needs the release"):
        bare.public()


def test_a_bare_report_is_still_written(report: Report) -> None:
    """One that was put together by hand knows its verdicts only."""
    bare = Report(report.summary, report.findings, report.threats, report.notes)
    titles = [section.title for section in bare.sections]
    assert "Criteria" in titles
    assert "Group sizes" not in titles
    assert json.loads(bare.to_json())["holds"] is report.holds
    assert "<h1" in bare.to_html()


def surveyed(rows: ShownRows, **publish: Any) -> sf.Table:
    """Somebody alone in her ward, whose weight is told nowhere."""
    wards, weights = "NNNNNS", [3.0, 4.0, 5.0, 6.0, 7.5, 13.247]
    people = [person for person in range(6) for _ in range(1 if rows == "gathered" else 2)]
    drawn = np.random.default_rng(1).choice(["flu", "cold"], len(people))
    table = pa.table(
        {
            "id": people,
            "ward": [wards[person] for person in people],
            "ill": drawn,
            "w": [weights[person] for person in people],
        }
    )
    given = sf.Schema(
        quasi=["ward"], sensitive="ill", person="id", rows=rows, weight="w", **publish
    )
    return sf.read(table, given)


@pytest.mark.parametrize("rows", ["gathered", "linked"])
@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize(
    "criterion", [sf.KMap(2, "weights"), sf.DeltaPresence(0, 0.5, "weights")], ids=lambda c: c.name
)
def test_what_weights_add_up_to_is_told_only_as_far_as_they_are_published(
    rows: ShownRows, *, published: bool, criterion: Any, tmp_path: Path
) -> None:
    table = surveyed(rows, **({"publish_weight": "group"} if published else {}))
    policy = sf.Policy([criterion])
    release = sf.generalize(table, {"ward": 0})
    report = sf.audit(release, policy)
    assert report.holds
    assert report.verdicts[0].measured is not None
    release.save(tmp_path / "out", report=report, policy=policy)
    (promise,) = json.loads((tmp_path / "out/public/manifest.json").read_text())["promises"]
    assert promise["holds"]
    (verdict,) = json.loads(report.public().to_json())["verdicts"]
    assert verdict["measured"] == promise["measured"]
    if published:
        read = sf.read_release(tmp_path / "out/public", table.schema)
        assert promise["measured"] == pytest.approx(judge(criterion, read).measured, rel=1e-12)
    else:
        assert promise["measured"] is None
        pages = [report.public().to_html(), report.public().to_markdown()]
        pages += [file.read_text() for file in (tmp_path / "out/public").iterdir()]
        assert not any(figure in page for figure in ("13.24", "0.1960") for page in pages)
