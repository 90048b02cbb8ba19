"""k-map through a policy file, a search and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from sfumato.policy.model import Policy
from tests.program import sfumato

ROWS = pa.table({"age": [30, 31, 32, 45], "s": ["a", "b", "c", "d"], "w": [9.0, 1.0, 1.0, 50.0]})
REGISTER = pa.table({"age": [30] * 9 + [31, 32, 33] + [45] * 9})
POLICY = """
[schema]
quasi = ["age"]
sensitive = "s"
{more}
[schema.hierarchies]
age = {{ kind = "intervals", widths = [5, 10] }}

[anonymizer]
kind = "lattice"

[[require]]
kind = "k-map"
k = {k}
population = "{population}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pa_csv.write_csv(ROWS, tmp_path / "rows.csv")
    pa_csv.write_csv(REGISTER, tmp_path / "register.csv")
    return tmp_path


def rules(folder: Path, k: int, population: str, more: str = "") -> Path:
    path = folder / "policy.toml"
    path.write_text(POLICY.format(k=k, population=population, more=more))
    return path


def test_a_register_beside_the_policy_is_the_population(folder: Path) -> None:
    policy = Policy.load(rules(folder, 9, "register.csv"))
    assert policy.schema is not None
    table = sf.read(folder / "rows.csv", policy.schema)
    raw = sf.audit(table, policy)
    # The weights in the file have no role here: that is a verdict of its own.
    assert [one.measured for one in raw.verdicts if one.criterion == "k-map"] == [1]
    release = sf.anonymize(table, policy)
    assert sf.audit(release, policy).verdicts[0].measured == 9
    # 30 to 34 has 12 people of the register, 45 to 49 has 9: one step up the hierarchy suffices.
    assert release.made.findings.levels == {"age": 1}


def test_survey_weights_are_the_population(folder: Path) -> None:
    policy = Policy.load(rules(folder, 11, "weights", 'weight = "w"'))
    assert policy.schema is not None
    table = sf.read(folder / "rows.csv", policy.schema)
    release = sf.anonymize(table, policy)
    assert sf.audit(release, policy).verdicts[0].measured == 11
    assert release.tables()["data"].column_names == ["age", "s"]


def test_mondrian_looks_into_the_register_too(folder: Path) -> None:
    text = rules(folder, 2, "register.csv").read_text().replace("lattice", "mondrian")
    (folder / "policy.toml").write_text(text)
    policy = Policy.load(folder / "policy.toml")
    assert policy.schema is not None
    release = sf.anonymize(sf.read(folder / "rows.csv", policy.schema), policy)
    assert sf.audit(release, policy).holds
    assert len(release.groups) > 1


def test_the_command_line_takes_a_register_for_journalist_risk(folder: Path) -> None:
    run = sfumato(
        "audit",
        folder / "rows.csv",
        "--policy",
        rules(folder, 1, "register.csv", 'weight = "w"'),
        "--population",
        folder / "register.csv",
        "--json",
    )
    assert run.returncode == 0, run.stderr
    journalist = json.loads(run.stdout)["linkage"]["journalist"]
    assert journalist["highest"] == 1
    missing = sfumato(
        "audit",
        folder / "rows.csv",
        "--policy",
        folder / "policy.toml",
        "--population",
        folder / "nowhere.csv",
    )
    assert missing.returncode == 2
    assert "nowhere.csv does not exist" in missing.stderr


def test_a_register_that_is_missing_is_named(folder: Path) -> None:
    with pytest.raises(sf.InputError, match=r"nobody\.csv does not exist"):
        Policy.load(rules(folder, 2, "nobody.csv"))
