"""Documents: the same content printed, as JSON and as a page; private sections stay private."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.report.document import Chart, Document, Section, Series, Sheet, percentage


def document() -> Document:
    sheet = Sheet(("who", "eps"), (("A", np.float64(1.25)), ("B", float("inf"))), notes=("so",))
    line = Chart(
        "Growth", "lines", "x", "y", (Series("a", [1, 2], [0.5, float("inf")]),), alt="It grows."
    )
    cloud = Chart("Room", "cloud", "l", "k", (Series("a", [1], [2], [3]),), z="m", alt="A point.")
    bars = Chart("Bars", "bars", "<x>", "y", (Series("a", ["p"], [2], text=["<b>"]),), alt="One.")
    return Document(
        "test",
        "A title",
        "About it.",
        (
            Section("Open", "Words.", (sheet,), (line, cloud, bars)),
            Section("Closed", "somebody", private=True),
        ),
        {"deep": {"value": [float("nan"), float("inf")]}},
    )


def test_private_sections_are_only_in_private(tmp_path: Path) -> None:
    document().save(tmp_path / "out")
    assert "somebody" not in document().text()
    assert "somebody" not in document().to_json()
    for name in ("result.json", "page.html"):
        assert "somebody" not in (tmp_path / "out" / name).read_text()
        assert "somebody" in (tmp_path / "out" / "private" / name).read_text()
    document().save_page(tmp_path / "page.html")
    assert "somebody" not in (tmp_path / "page.html").read_text()


def test_json_holds_infinity_and_gaps() -> None:
    told = json.loads(document().to_json())
    assert told["facts"] == {"deep": {"value": [None, "inf"]}}
    assert told["sections"][0]["tables"][0]["rows"] == [["A", 1.25], ["B", "inf"]]
    assert told["sections"][0]["charts"][0]["series"][0]["y"] == [0.5, "inf"]


def test_the_page_fetches_nothing_and_escapes() -> None:
    page = document().to_html(private=True)
    body = page[page.index("<body>") : page.index("<script>")]  # scripts stand below the text
    assert "It grows." in body
    assert "https://" not in body
    assert "<x>" not in body
    assert "<b>" not in body


def test_text_shows_cells_and_names_charts() -> None:
    text = document().text(80)
    assert "1.25" in text
    assert "inf" in text
    assert "chart: Growth. It grows." in text


def test_folders_that_are_not_ours_are_never_replaced(tmp_path: Path) -> None:
    document().save(tmp_path / "ours")
    with pytest.raises(InputError, match="exists"):
        document().save(tmp_path / "ours")
    document().save(tmp_path / "ours", force=True)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="was not written by Sfumato"):
        document().save(tmp_path / "theirs", force=True)
    assert (tmp_path / "theirs" / "thesis.txt").read_text() == "precious"


def test_ragged_data_are_refused() -> None:
    with pytest.raises(InputError, match="differ in length"):
        Series("a", [1, 2], [1])
    with pytest.raises(InputError, match="2 cells for 1 columns"):
        Sheet(("a",), ((1, 2),))
    with pytest.raises(InputError, match="third coordinate"):
        Chart("t", "cloud", "x", "y", (Series("a", [1], [1]),), alt="no z")
    with pytest.raises(InputError, match="cannot see"):
        Chart("t", "lines", "x", "y", (Series("a", [1], [1]),))


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (0.0, "0%"),
        (1.0, "100%"),
        (0.2063, "20.6%"),
        (1 / 3, "33.3%"),
        (0.9996, "99.96%"),
        (0.99995, "99.995%"),
        (0.999999, "over 99.999%"),
        (2e-6, "under 0.001%"),
        (0.000123, "0.0123%"),
        (-0.25, "-25%"),
        (1.5, "150%"),
        (123.4, "12,340%"),
        ("<10", "<10"),
        (None, "n/a"),
    ],
)
def test_shares_are_percentages_of_three_digits_and_exact_at_both_ends(
    share: object, told: str
) -> None:
    assert percentage(share) == told
