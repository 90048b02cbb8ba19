"""A proposed hierarchy's file lists every text of the data file, for ARX, and Sfumato reads it.

ARX matches leaves with cells literally: so each text that stands in the file, read here as nothing
but text, is a leaf.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.policy.draft.change import change_hierarchy
from tests.program import sfumato

COLUMNS = {
    "german": ("Aufnahme", "Kosten", "Betrag", "Einkommen"),
    "us": ("admitted", "cost"),
}
OPTIONS = {"german": ("--codes", "Einkommen=N", "--codes", "Einkommen=-9", "--missing", "?")}
ENCODING = {"german": "cp1252", "us": "utf-8"}


def write(kind: str, path: Path) -> None:
    draw = random.Random(21)
    if kind == "german":
        lines = ["Aufnahme;Kosten;Betrag;Einkommen;Diagnose"]
        for _ in range(300):
            whole, thousands = draw.randint(1, 9), f"1.{draw.randint(0, 9)}00"
            cells = [
                f"{draw.randint(1, 28):02}.{draw.randint(1, 12):02}.2023",
                draw.choice([f"{whole},5", f"{whole},50", f"{whole}", f"{whole},0"]),
                draw.choice([thousands, "950", "700"]),
                draw.choice(["N", "-9", "?", "", "1.200,00 EUR", "900,00 EUR", "2.400,50 EUR"]),
                draw.choice(["Grippe", "Röteln", "Masern"]),
            ]
            lines.append(";".join(cells))
    else:
        lines = ["admitted,cost,diagnosis"]
        for _ in range(300):
            cost = draw.choice(['"$1,234.56"', "$999.99", "$999.990", '"$2,500.00"', ""])
            day = f"{draw.randint(1, 12)}/{draw.randint(1, 28)}/2023"
            lines.append(f"{day},{cost},{draw.choice(['flu', 'rubella', 'measles'])}")
    path.write_text("\r\n".join(lines) + "\r\n", encoding=ENCODING[kind], newline="")


def texts_of(path: Path, kind: str, column: str) -> set[str]:
    """What stands in a column, read as nothing but text."""
    with path.open(encoding=ENCODING[kind], newline="") as stream:
        delimiter = ";" if kind == "german" else ","
        return {row[column] for row in csv.DictReader(stream, delimiter=delimiter)}


@pytest.mark.parametrize("kind", ["german", "us"])
def test_from_a_file_to_its_hierarchies_to_a_release(kind: str, tmp_path: Path) -> None:
    data, draft, out = tmp_path / "data.csv", tmp_path / "policy.toml", tmp_path / "out"
    write(kind, data)
    options = OPTIONS.get(kind, ())
    run = sfumato("init", data, "--out", draft, "--seconds", 0, *options)
    assert run.returncode == 0, run.stderr
    text = draft.read_text(encoding="utf-8")
    schema = sf.Policy.load(draft).schema
    assert schema is not None
    for column in COLUMNS[kind]:
        file = tmp_path / f"{column}.csv"
        run = sfumato("hierarchy", data, column, "--out", file, *options)
        assert run.returncode == 0, run.stderr
        with file.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream, delimiter=";"))
        leaves = [row[0] for row in rows]
        assert {*leaves} == texts_of(data, kind, column)  # each, and nothing else
        assert len(leaves) == len({*leaves})
        assert len({len(row) for row in rows}) == 1
        assert {row[-1] for row in rows} == {"*"}
        if column in schema.quasi:
            text = change_hierarchy(text, column, file.name, tmp_path)
    text = text.replace('kind = "best"\nseconds = 30', 'kind = "mondrian"')
    draft.write_text(text, encoding="utf-8")
    policy = sf.Policy.load(draft)
    assert policy.schema is not None
    kinds = {policy.schema.hierarchies[name].kind for name in COLUMNS[kind] if name in schema.quasi}
    assert kinds == {"taxonomy"}
    run = sfumato("anonymize", data, "--policy", draft, "--out", out, "--no-price")
    assert run.returncode == 0, run.stderr
    published = next(file for file in (out / "public").iterdir() if file.name == "data.csv")
    first_lines = []
    for release in (out, out / "public", published):
        run = sfumato("audit", release, "--policy", draft)
        assert run.returncode == 0, (release, run.stdout, run.stderr)
        first_lines.append(run.stdout.partition(":")[2].splitlines()[0])
    assert len({*first_lines}) == 1  # the same groups, whoever reads it
