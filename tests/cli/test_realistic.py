"""Realistic adversaries from a policy file: each mistake in one line, infinity as a verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.small_audit import audit

ROWS = "age,zip,disease\n" + "".join(
    f"{age},13053,{disease}\n" for age in (30, 40) for disease in ("flu", "cold", "cold", "ulcer")
)


def policy(adversary: str, more: str = "") -> str:
    return f"""
[schema]
quasi = ["age", "zip"]
sensitive = ["disease"]

[[require]]
kind = "epsilon-privacy"
epsilon = 2.5
adversary = {adversary}
{more}
"""


MISTAKES = {
    "class II below the number of values": (
        "{ stubbornness = 2 }",
        "stubbornness = 2 is below the 3 values of 'disease': with any shape every value has a "
        "weight of at least 1; give 3 or more, or a shape",
    ),
    "negative share": (
        "{ shape = { flu = -0.1, cold = 0.6, ulcer = 0.5 }, stubbornness = 100 }",
        "shape of 'flu' = -0.1 is not allowed; it must be a share or a count, 0 or more",
    ),
    "strange value": (
        "{ shape = { flue = 0.1, cold = 0.4, ulcer = 0.5 }, stubbornness = 100 }",
        "shape names 'flue', not a value of 'disease'; did you mean 'flu'?",
    ),
    "sum": (
        "{ shape = { flu = 0.1, cold = 0.4, ulcer = 0.4 }, stubbornness = 100 }",
        "shape: the shares sum to 0.9, not to 1; correct them, or give counts",
    ),
    "text": ('{ shape = "table", stubbornness = "inf" }', "or inf (no text)"),
    "word": ('"strong"', "or a table such as { shape = 'table', stubbornness = 1e6 }"),
    "file": ('{ shape = { file = "nowhere.csv" } }', "nowhere.csv does not exist"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_one_line_exit_2_nothing_written(tmp_path: Path, case: str) -> None:
    adversary, said = MISTAKES[case]
    run = audit(tmp_path, ROWS, policy(adversary))
    assert run.returncode == 2
    assert run.stdout == ""
    assert said in run.stderr
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1


INFINITE = {
    "she may know everybody": (
        '{ shape = "uniform", stubbornness = 100, known = 4 }',
        "she may know everybody: 4 people",
    ),
    "a share of 0 on a value that is present": (
        "{ shape = { flu = 0.5, cold = 0.5, ulcer = 0.0 }, stubbornness = 100 }",
        "somebody has 'ulcer', which her prior rules out",
    ),
}


@pytest.mark.parametrize("case", INFINITE)
def test_infinity_is_a_verdict_with_a_note(tmp_path: Path, case: str) -> None:
    adversary, said = INFINITE[case]
    run = audit(tmp_path, ROWS, policy(adversary), "rows.csv", "--json")
    assert run.returncode == 1, run.stderr
    (verdict,) = json.loads(run.stdout)["verdicts"]
    assert verdict["status"] == "violated"
    assert verdict["measured"] == "inf"
    assert said in verdict["note"]


def test_no_admissible_prior_is_not_judged(tmp_path: Path) -> None:
    run = audit(tmp_path, ROWS, policy('{ shape = "table", stubbornness = 2 }'))
    assert run.returncode == 3
    assert "not shown safe: epsilon-privacy of disease (" in " ".join(run.stdout.split())
