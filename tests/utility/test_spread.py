"""What is gone with centroids, against figures worked out by hand and by a loop over people."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.report.sections.decision import decide
from sfumato.utility.loss import Loss
from sfumato.utility.spread import SpreadLost
from sfumato.utility.view import view_of
from tests.utility.releases import random_rows, table_of, unchanged

# Two groups of six: 20, 22, 24 and 60, 62, 64 are published as 22 and 62, cities as a and b.
# Everybody has a twin, for what one person alone has is never published.
AGES: list[object] = [20, 22, 24, 60, 62, 64] * 2
CITIES: list[object] = ["a", "a", "b", "b", "b", "a"] * 2


def _released(columns: dict[str, list[object]], k: int) -> sf.Release:
    table = pa.table({**columns, "ill": ["x", "y"] * (len(columns["age"]) // 2)})
    read = sf.read(table, sf.Schema(quasi=list(columns), sensitive="ill", units={"age": 1}))
    policy = sf.Policy(require=[sf.KAnonymity(k)], anonymizer=sf.Microaggregation(k))
    return sf.anonymize(read, policy, seed=1)


def test_worked_out_by_hand() -> None:
    release = _released({"age": AGES, "city": CITIES}, 6)
    shown = Counter(zip(release.to_pandas()["age"], release.to_pandas()["city"], strict=True))
    assert shown == {(22, "a"): 6, (62, "b"): 6}
    lost = SpreadLost().by_column(view_of(release))
    # Without twins: squared distances 4 + 0 + 4, twice, are 16. The mean is 42, and from that
    # they are 22² + 20² + 18², twice: 2416.
    assert lost["age"] == pytest.approx(16 / 2416)
    # Two of six are shown the other city; if all were shown the commonest, three would be.
    assert lost["city"] == pytest.approx(2 / 3)
    assert SpreadLost().cost(view_of(release)) == pytest.approx((16 / 2416 + 2 / 3) / 2)


def test_missing_values_that_are_filled_in_are_lost() -> None:
    """One of three has no age and is shown the others' mean; everybody of the other group fits."""
    release = _released({"age": [20, 20, 20, 60, 60, None]}, 3)
    assert set(release.to_pandas()["age"]) == {20, 60}
    assert SpreadLost().by_column(view_of(release)) == {"age": pytest.approx(1 / 6)}


@pytest.mark.parametrize("k", [2, 7, 60])
def test_as_a_loop_over_people_says(k: int) -> None:
    """Numbers, categories and ordered values, each person by her own."""
    rows = random_rows(60, seed=k)
    policy = sf.Policy(require=[sf.KAnonymity(k)], anonymizer=sf.Microaggregation(k))
    release = sf.anonymize(table_of(rows), policy, seed=3)
    placement = release.placement.in_memory("a test")
    grades = ["low", "mid", "high"]
    people = []  # what each has, and what is shown of her
    for tuple_, group, n in zip(placement.tuples, placement.groups, placement.n, strict=True):
        codes = placement.counts.codes[:, tuple_]
        has = [d.values[c] for d, c in zip(placement.counts.quasi, codes, strict=True)]
        shown = release.regions.describe(group)
        people += [(has, [float(shown["age"]), shown["city"], shown["grade"]])] * int(n)

    def gone(have: list[float], seen: list[float]) -> float:
        mean = fmean(have)
        apart = fmean((a - b) ** 2 for a, b in zip(have, seen, strict=True))
        return min(1.0, apart / fmean((a - mean) ** 2 for a in have))

    age = gone([has[0] for has, _ in people], [shown[0] for _, shown in people])
    grade = gone(*([grades.index(who[side][2]) for who in people] for side in (0, 1)))
    wrong = sum(has[1] != shown[1] for has, shown in people)
    commonest = Counter(has[1] for has, _ in people).most_common(1)[0][1]
    city = wrong / (len(people) - commonest)
    lost = SpreadLost().by_column(view_of(release))
    assert lost == {
        "age": pytest.approx(age),
        "city": pytest.approx(city),
        "grade": pytest.approx(grade),
    }


def test_ranges_have_a_width_instead() -> None:
    view = view_of(unchanged(table_of(random_rows(20))))
    assert Loss().cost(view) == 0
    assert SpreadLost().cost(view) != SpreadLost().cost(view)  # NaN


def test_reports_tell_it_everywhere() -> None:
    release = _released({"age": AGES, "city": CITIES}, 6)
    report = sf.audit(release, [sf.KAnonymity(6)])
    lost = (16 / 2416 + 2 / 3) / 2
    assert report.costs["spread-lost"] == pytest.approx(lost)
    words = "two thirds of the detail is kept (66% of how people differ)"
    assert decide(report).cost[0] == words
    assert words in " ".join(report.short().text(80).split())
    assert "Two thirds of the detail is kept (66% of how people differ)." in report.to_html()
    tables = [table for part in report.sections for table in part.tables]
    told = next(table for table in tables if table.columns == ("column", "detail gone"))
    assert told.texts() == [("city", "66.7%"), ("age", "0.662%")]


def test_everybody_at_one_point_is_no_plain_yes() -> None:
    """A release that tells nothing about anybody holds any k."""
    release = _released({"age": AGES, "city": CITIES}, 12)
    report = sf.audit(release, [sf.KAnonymity(12)])
    assert report.holds
    assert report.costs["spread-lost"] == pytest.approx(1)
    first = report.document().first
    assert first.reply == "By its policy, yes; but of what it told about people nothing is left."
    assert "No detail is left" in report.document().warnings[0]
