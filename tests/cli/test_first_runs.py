"""What a first run waits for: small tables load no compiler, and compiled code stays cheap to make.

No clocks here: what is loaded and how kernels are written decides (benchmarks/first_runs.py times).
"""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import sfumato
from sfumato.datasets.census import census

POLICY = """
[schema]
quasi = ["age", "sex", "zip"]
sensitive = ["disease"]
hierarchies = { age = { kind = "intervals", widths = [5, 20] }, zip = { kind = "mask" } }

[anonymizer]
kind = "mondrian"

[[require]]
kind = "k-anonymity"
k = 3

[[require]]
kind = "t-closeness"
t = 0.5
"""
HEAVY = ("numba", "pandas", "scipy", "scipy.linalg", "polars", "plotly")
PROGRAM = f"""
import atexit, sys
tell = lambda: print("loaded:", *(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)
atexit.register(tell)
from sfumato.cli.entry import run
run()
"""


def loaded(*command: object) -> list[str]:
    """The heavy libraries that a command of its own process has loaded by its end."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stderr.splitlines()[-1].split()[1:]


def test_a_small_table_is_anonymized_and_judged_without_the_compiler(tmp_path: Path) -> None:
    pytest.importorskip("pandas")  # which Arrow would load with the first list that it is given
    from pyarrow import csv

    rows, policy, out = tmp_path / "rows.csv", tmp_path / "policy.toml", tmp_path / "release"
    csv.write_csv(census(200).select(["age", "sex", "zip", "disease"]), rows)
    policy.write_text(POLICY)
    # Its page carries Plotly's own code.
    assert loaded("anonymize", rows, "--policy", policy, "--out", out) in ([], ["plotly"])
    assert loaded("audit", out, "--policy", policy) == []
    assert loaded("price", rows, "--policy", policy) == []
    # Numba asks for SciPy, and would for its linear algebra, which no compiled function here needs.
    attack = ("attack", "intersect", out, out, "--targets", rows, "--policy", policy)
    assert loaded(*attack) == ["numba", "scipy"]


@cache
def kernels() -> list[tuple[str, ast.FunctionDef]]:
    """Every compiled function, with its module."""
    found = []
    for path in sorted(Path(sfumato.__file__).parent.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "@kernel" not in text and "@inner" not in text:
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                marks = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
                if marks & {"kernel", "inner"}:
                    found.append((path.name, node))
    return found


def test_compiled_code_assigns_no_slice_from_an_array() -> None:
    """Numba would compile the text of a complaint about shapes besides: seconds of a first run."""
    assert len(kernels()) > 80
    for name, function in kernels():
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign) or isinstance(
                node.value, ast.Constant | ast.UnaryOp
            ):
                continue
            for target in ast.walk(ast.Tuple(node.targets)):
                sliced = isinstance(target, ast.Subscript) and any(
                    isinstance(part, ast.Slice) for part in ast.walk(target.slice)
                )
                assert not sliced, f"{name}, {function.name}: {ast.unparse(node)}"


def test_compiled_code_passes_no_written_number_to_what_makes_room() -> None:
    """A number that is written down is a type of its own: one more function to be compiled."""
    for name, function in kernels():
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "with_room":
                plain = [part for part in node.args if isinstance(part, ast.Constant)]
                assert not plain, f"{name}, {function.name}: {ast.unparse(node)}"
