"""Linked rows and households from policy files: the page's own example, and mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from tests.program import sfumato

PAGE = (Path(__file__).parents[2] / "docs" / "several-rows.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    linked = PAGE[PAGE.index("## Linked rows") :]
    for name, kind in (("visits.csv", "csv"), ("policy.toml", "toml")):
        (tmp_path / name).write_text(re.findall(rf"```{kind}\n(.*?)```", linked, re.DOTALL)[0])
    return tmp_path


def test_the_journey_of_linked_rows(folder: Path) -> None:
    policy = ("--policy", folder / "policy.toml")
    made = sfumato("anonymize", folder / "visits.csv", *policy, "--out", folder / "release")
    assert made.returncode == 0, made.stderr
    rows = pd.read_csv(folder / "release/public/data.csv")
    assert "patient" not in rows.columns
    assert rows.groupby("pseudonym").size().value_counts().to_dict() == {1: 4, 2: 3}
    judged = sfumato("audit", folder / "release", *policy, "--json")
    assert judged.returncode == 0, judged.stderr
    assert json.loads(judged.stdout)["release"]["people"] == 7


def test_a_bound_on_households_in_a_policy(folder: Path) -> None:
    households = PAGE[PAGE.index("## Households") :]
    bounds = re.findall(r"```toml\n(.*?)```", households, re.DOTALL)[0]
    policy = (folder / "policy.toml").read_text()
    policy = policy.replace('rows = "linked"\nknows = "all"', 'household = "ward"')
    (folder / "policy.toml").write_text(policy.replace('"age", "ward"', '"age"') + bounds)
    (folder / "visits.csv").write_text(
        "patient,age,ward,ill\n" + "".join(f"{n},{n},{n // 2},flu\n" for n in range(40, 50))
    )
    judged = sfumato("audit", folder / "visits.csv", "--policy", folder / "policy.toml", "--json")
    assert judged.returncode == 1, judged.stderr
    verdicts = {one["criterion"]: one for one in json.loads(judged.stdout)["verdicts"]}
    assert verdicts["household-anonymity"]["measured"] == 1
    assert verdicts["household-risk"]["measured"] == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('rows = "linkd"', "use 'gathered', 'unlinked' or 'linked'"),
        ('rows = "linked"\nweight = "age2"', "weight and rows = 'linked' do not go together"),
        ('rows = "unlinked"\nweight = "age2"', "weight and rows = 'unlinked' do not go together"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, change: str, said: str) -> None:
    policy = (folder / "policy.toml").read_text().replace('rows = "linked"', change)
    (folder / "policy.toml").write_text(policy)
    table = pd.read_csv(folder / "visits.csv").assign(age2=1, home=1)
    table.to_csv(folder / "visits.csv", index=False)
    asked = ("--policy", folder / "policy.toml", "--out", folder / "release")
    made = sfumato("anonymize", folder / "visits.csv", *asked)
    assert made.returncode == 2
    assert said in made.stderr
    assert made.stderr.count("\n") == 1
    assert not (folder / "release").exists()
