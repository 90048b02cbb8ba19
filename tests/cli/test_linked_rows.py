"""Linked rows and households from policy files: the page's own example, and mistakes."""

from __future__ import annotations

import json
import re
import shutil
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


def test_a_register_tells_who_fits_a_signature(folder: Path) -> None:
    visits = (folder / "visits.csv").read_text()
    others = [f"{n},4{n},{ward},\n" for n in range(3) for ward in ("north", "south")]
    (folder / "register.csv").write_text(visits + "".join(others))
    bound = '\n[[require]]\nkind = "k-map"\nk = 6\npopulation = "register.csv"\n'
    (folder / "mapped.toml").write_text((folder / "policy.toml").read_text() + bound)
    given = ("--policy", folder / "policy.toml")
    made = sfumato("anonymize", folder / "visits.csv", *given, "--out", folder / "release")
    assert made.returncode == 0, made.stderr
    asked = ("audit", folder / "release", "--policy", folder / "policy.toml", "--json")
    judged = sfumato(*asked, "--population", folder / "register.csv")
    journalist = next(
        row for row in json.loads(judged.stdout)["threats"] if row["adversary"] == "journalist"
    )
    assert journalist["status"] == "measured"
    mapped = sfumato("audit", folder / "visits.csv", "--policy", folder / "mapped.toml", "--json")
    verdict = json.loads(mapped.stdout)["verdicts"][-1]
    assert (verdict["criterion"], verdict["status"], verdict["measured"]) == (
        "k-map",
        "violated",
        1,
    )
    (folder / "register.csv").write_text("age,ward\n41,north\n")
    refused = sfumato(*asked, "--population", folder / "register.csv")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "so a file must say whose each is" in refused.stderr


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


@pytest.mark.parametrize("rows", ["gathered", "linked", "unlinked"])
def test_households_of_a_release_are_judged_from_its_folder(folder: Path, rows: str) -> None:
    bounds = re.findall(r"```toml\n(.*?)```", PAGE[PAGE.index("## Households") :], re.DOTALL)[0]
    policy = (folder / "policy.toml").read_text().replace('"age", "ward"', '"age"')
    shown = "" if rows == "gathered" else f'rows = "{rows}"\nknows = "all"'
    policy = policy.replace('rows = "linked"\nknows = "all"', f'household = "home"\n{shown}')
    (folder / "policy.toml").write_text(policy + bounds.replace("0.3", "0.4"))
    people = [f"{n},{n % 37},{n // 2},{'flu' if n % 3 else 'gout'}\n" for n in range(60)]
    visits = people + (people[::2] if shown else [])
    (folder / "visits.csv").write_text("patient,age,home,ill\n" + "".join(visits))
    asked = ("--policy", folder / "policy.toml")
    made = sfumato("anonymize", folder / "visits.csv", *asked, "--out", folder / "release")
    assert made.returncode == 0, made.stderr

    def judged(release: Path, *more: object) -> tuple[int, list[object]]:
        run = sfumato("audit", release, *asked, *more, "--json")
        content = json.loads(run.stdout)
        bounded = [
            (one["criterion"], one["status"], one["measured"]) for one in content["verdicts"]
        ]
        threats = [row for row in content["threats"] if "household" in row["adversary"]]
        return run.returncode, [bounded, threats]

    exit_code, from_folder = judged(folder / "release")
    assert exit_code == 0
    assert judged(folder / "release", "--table", folder / "visits.csv") == (0, from_folder)
    report = json.loads((folder / "release/private/report.json").read_text())
    in_memory = {one["criterion"]: one["measured"] for one in report["verdicts"]}
    assert {criterion: measured for criterion, _, measured in from_folder[0]} == in_memory
    threats = [row for row in report["threats"] if "household" in row["adversary"]]
    assert threats == from_folder[1] != []

    shutil.copytree(folder / "release/public", folder / "public")
    exit_code, (statuses, threats) = judged(folder / "public")
    assert (exit_code, threats) == (3, [])
    of_people = ["cannot_judge" if rows == "unlinked" else "holds"] * 2
    assert [status for _, status, _ in statuses] == [*of_people, "cannot_judge", "cannot_judge"]
    if rows == "unlinked":
        table = ("--table", folder / "visits.csv")
        run = sfumato("audit", folder / "public", *asked, *table, "--json")
        told = json.loads(run.stdout)["verdicts"][-1]
        assert (run.returncode, told["status"]) == (3, "cannot_judge")
        assert told["note"].startswith("rows are published one by one, and nothing here says which")
    kept = folder / "release/private/households.parquet"
    kept.write_bytes(kept.read_bytes() + b" ")
    refused = sfumato("audit", folder / "release", *asked)
    assert refused.returncode == 2
    assert "households.parquet was changed since the release was made" in refused.stderr
    assert refused.stderr.count("\n") == 1
    kept.unlink()
    assert judged(folder / "release")[0] == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('rows = "linkd"', "use 'gathered', 'unlinked' or 'linked'"),
        (
            'rows = "linked"\nweight = "age2"\npublish_weight = "keep"',
            "publish_weight = 'keep' and rows = 'linked' do not go together",
        ),
        (
            'rows = "unlinked"\nlists = {ill = ";"}',
            "lists and rows = 'unlinked' do not go",
        ),
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


@pytest.mark.parametrize(
    ("bound", "exit_code"),
    [
        ('kind = "distinct-diversity"\nl = 2', 1),
        ('kind = "distribution-leakage"\nepsilon = 1.4', 0),
    ],
)
def test_whoever_asks_of_people_or_of_rows_gets_a_report(
    tmp_path: Path, bound: str, exit_code: int
) -> None:
    """Of each of her rows something else is possible, and one value is had by everybody."""
    (tmp_path / "visits.csv").write_text(
        "who,age,ward,ill\na,30,A,hiv\na,31,B,flu\nb,30,A,gout\nb,31,B,hiv\nc,50,A,flu\nd,50,A,gout\n"
    )
    (tmp_path / "policy.toml").write_text(
        '[schema]\nquasi = ["age", "ward"]\nsensitive = "ill"\nperson = "who"\nrows = "linked"\n'
        f"[[require]]\n{bound}\n"
    )
    asked = ("--policy", tmp_path / "policy.toml", "--json")
    judged = sfumato("audit", tmp_path / "visits.csv", *asked)
    assert judged.returncode == exit_code, judged.stderr
    sections = {part["title"]: part for part in json.loads(judged.stdout)["sections"]}
    if exit_code == 0:
        (sheet,) = sections["What a group tells"]["tables"]
        assert sheet["columns"][:2] == ["who", "rows"]
        described = sorted((row[0], row[1]) for row in sheet["rows"])
        assert described == [("age 30, ward A", 2), ("age 31, ward B", 2), ("age 50, ward A", 2)]
