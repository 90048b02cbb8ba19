"""A group has one name in every command, and whoever looks it up in the published file finds it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.csv
import pytest

import sfumato as sf
from sfumato.criteria.base import judge
from sfumato.workflow.advise import advise
from tests.program import sfumato

POLICY = """
anonymizer = {anonymizer}
[schema]
quasi = ["age", "zip"]
sensitive = "disease"
hierarchies = {{ age = {{ kind = "intervals", widths = [10, 20] }}, zip = {{ kind = "mask" }} }}
[[require]]
kind = "entropy-diversity"
l = 1.1
[[require]]
kind = "distinct-diversity"
l = 2
"""
ANONYMIZERS = {
    "generalized": '{ kind = "lattice" }',
    "anatomy": '{ kind = "anatomy", l = 3 }',
    "mondrian": '{ kind = "mondrian", scheme = "bucketized" }',
}
NAMES = ("age", "zip", "disease")
HARDER = sf.DistinctDiversity(9)  # no group holds it, so that all are among the worst


def people() -> pa.Table:
    chance = Random(5)
    diseases = ["flu", "cold", "gout", "HIV", "cough"]
    rows = [
        (20 + place, chance.choice(["1001", "1002", "2001"]), diseases[place % 5])
        for place in range(26)
    ]
    return pa.Table.from_pylist([dict(zip(NAMES, row, strict=True)) for row in rows])


class Published:
    """What anybody finds in the files: by group name its people, and how many have each value."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self.rows: dict[str, Counter[tuple[str, ...]]] = {}
        self.values: dict[str, Counter[str]] = {}
        quasi = tables.get("quasi", tables.get("data"))
        for row in quasi.to_pylist():
            named = {"group_id": row["group_id"]} if "group_id" in row else row
            cells = {column: named[column] for column in named if column != "disease"}
            name = ", ".join(f"{column} {cell}" for column, cell in cells.items())
            self.rows.setdefault(name, Counter())[str(row["age"]), str(row["zip"])] += 1
            if "disease" in row:
                self.values.setdefault(name, Counter())[row["disease"]] += 1
        for row in tables["sensitive"].to_pylist() if "sensitive" in tables else ():
            name = f"group_id {row['group_id']}"
            self.values.setdefault(name, Counter())[row["disease"]] += row["count"]

    def check(self, release: sf.Release, group: int, name: str) -> None:
        assert self.values[name] == release.groups.counts_of(group), name

    def check_size(self, name: str, size: int) -> None:
        assert self.values[name].total() == size, name


def named_by_the_library(
    release: sf.Release, table: sf.Table, published: Published
) -> Iterator[str]:
    """Every name that Python gives of a group, checked against the files."""
    for group in range(len(release.groups)):
        name = release.regions.name(group)
        published.check(release, group, name)
        yield name
    (finding,) = sf.audit(release, [HARDER]).findings
    for group, worst in zip(finding.verdict.worst, finding.worst, strict=True):
        name = ", ".join(f"{column} {cell}" for column, cell in worst.description.items())
        published.check(release, group, name)
        yield name
    grounding = sf.worst_grounding(release, "HIV", 1, 1, 1)
    told = grounding.to_dict()
    for part in ("target", "known", "family"):
        if (group := getattr(grounding, part)) is not None:
            published.check(release, group, told[part])
            assert told[part] in grounding.sentence
            yield told[part]
    for behind in sf.people_behind(release, grounding, table=table):
        assert behind.group in published.rows
        yield behind.group
    some = sf.DistinctDiversity(int(release.groups.distinct.min()) + 1)
    leaving_out = advise(release, [some], [judge(some, release)], None).suppress
    for name, size in leaving_out.largest if leaving_out is not None else ():
        published.check_size(name, size)
        yield name
    rows = sf.relative_threat(release, table, sweeps=750).rows.to_pylist()
    assert len({row["group"] for row in rows}) == len(release.groups)
    for row in rows:
        if release.scheme == "bucketized":
            assert published.rows[row["group"]][row["age"], row["zip"]]
        assert published.values[row["group"]][row["disease"]]
        yield row["group"]


@pytest.mark.parametrize("scheme", list(ANONYMIZERS))
def test_a_group_has_one_name_everywhere_and_the_published_file_has_it(
    scheme: str, tmp_path: Path
) -> None:
    policy_file, table_file, folder = (tmp_path / name for name in ("p.toml", "t.csv", "rel"))
    policy_file.write_text(POLICY.format(anonymizer=ANONYMIZERS[scheme]))
    pyarrow.csv.write_csv(people(), table_file)
    policy = sf.Policy.load(policy_file)
    table = sf.read(table_file, policy.schema)
    release = sf.anonymize(table, policy)
    release.save(folder)
    published = Published(release.tables())
    assert published.values == Published(release.tables(seed=99)).values  # whatever the row order
    names = set(named_by_the_library(release, table, published))
    read = sf.read_release(folder)
    assert set(named_by_the_library(read, table, published)) == names == set(published.values)

    ledger = sf.Ledger(tmp_path / "ledger")
    ledger.add(read, "first")
    (kept,) = ledger.releases()
    for group in range(len(kept.groups)):
        published.check(kept, group, kept.regions.name(group))
    if scheme == "mondrian":
        return

    harder = tmp_path / "harder.toml"
    harder.write_text(policy_file.read_text().replace("l = 2", "l = 9"))
    alike = ("--policy", policy_file, "--table", table_file)
    commands = {
        "skyline": ("skyline", folder, *alike, "--value", "HIV", "--point", "1,1,1"),
        "audit": ("audit", folder, "--policy", harder),
        "relative": ("attack", "relative", folder, *alike, "--sweeps", "750"),
        "intersect": ("attack", "intersect", folder, folder, *alike[:2], "--targets", table_file),
        "ledger": ("ledger", "check", ledger.path, folder, *alike[:2], "--targets", table_file),
        "characterize": ("characterize", folder, "--policy", policy_file),
    }
    said = {}
    for command, words in commands.items():
        run = sfumato(*words, "--json")
        assert run.returncode in (0, 1, 3), run.stderr
        said[command] = json.loads(run.stdout)
        # A number of ours, which is in no file, is no name.
        assert not re.search(r"\b[Gg]roup \d", run.stdout), command
    (grounding,) = said["skyline"]["facts"]["groundings"]
    assert grounding["target"] in names
    for verdict in said["audit"]["verdicts"]:
        for group in verdict["worst"]:
            cells = group["description"].items()
            published.check_size(", ".join(f"{c} {cell}" for c, cell in cells), group["people"])
