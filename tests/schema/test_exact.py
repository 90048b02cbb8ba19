"""Numbers as they are told: a bound is that number, and what is measured is on its side of it."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.base import Verdict
from sfumato.numbers import shortest, told_beside
from sfumato.report.document import number
from sfumato.report.report import CriterionFinding, ReleaseSummary, Report
from sfumato.report.sections.criteria import criteria_section
from sfumato.report.sections.decision import headline

positive = st.floats(1e-12, 1e12, allow_subnormal=False)


@given(positive)
def test_a_bound_reads_back_as_itself(number: float) -> None:
    assert float(shortest(number)) == number


@given(positive, st.sampled_from([-1e-3, -1e-6, -1e-9, 0.0, 1e-9, 1e-6, 1e-3]), st.integers(1, 6))
def test_a_figure_lies_where_it_is_told_to_lie(bound: float, off: float, digits: int) -> None:
    value = bound * (1 + off)
    told = float(told_beside(value, f"t ≤ {shortest(bound)} (equal)", digits))
    if value != bound:
        assert (told > bound, told < bound) == (value > bound, value < bound)


def test_a_difference_of_the_last_bits_is_none() -> None:
    assert told_beside(0.1 + 0.2, "t ≤ 0.3", 6) == "0.3"


ODD = 1.00012345


@pytest.mark.parametrize(
    "criterion",
    [
        sf.TCloseness(ODD - 1),
        sf.EntropyDiversity(ODD),
        sf.RecursiveDiversity(ODD, 2),
        sf.BetaLikeness(ODD),
        sf.DeltaDisclosure(ODD),
        sf.AlphaK(ODD - 1, 2),
        sf.EpsilonPrivacy(ODD, sf.RealisticAdversary("table", 9)),
        sf.DistributionLeakage(ODD - 1),
        sf.EntropyLeakage(ODD),
        sf.SkylinePrivacy([(1, 0, 0, ODD - 1)]),
        sf.RelativeThreatBound(ODD, quantile=ODD - 1, max_rgt=ODD - 1),
    ],
    ids=lambda one: one.name,
)
def test_a_criterion_tells_its_very_bound(criterion: sf.Criterion) -> None:
    told = {float(text) for text in re.findall(r"[0-9.]+(?:e-?[0-9]+)?", criterion.required)}
    assert told & {ODD, ODD - 1}


def test_what_is_measured_does_not_look_like_the_bound() -> None:
    """Measured 1.00009 and 1.0002 under a bound of 1.0001: nobody reads 1 and 1."""
    rows = pa.table({"x": [1, 1], "s": ["a", "b"]})
    report = sf.audit(sf.read(rows, sf.Schema(["x"], "s")), [sf.KAnonymity(2)])
    verdict = Verdict("relative-threat", "violated", 1.0002, "Ti ≤ 1.0001")
    assert number(verdict.measured, beside=verdict.required) == "1.0002"
    found = Report(report.summary, (CriterionFinding(verdict, ()),), (), ())
    assert isinstance(found.summary, ReleaseSummary)
    assert "is 1.0002, required Ti ≤ 1.0001" in headline(found)
    assert "1.0002" in str(found)
    assert "1.0002" in repr(verdict)
    (sheet,) = criteria_section(found).tables
    assert "1.0002" in sheet.texts()[0]
    close = Verdict("relative-threat", "violated", 1.0000001, "Ti ≤ 1")
    assert number(close.measured, beside=close.required) == "1.0000001"
