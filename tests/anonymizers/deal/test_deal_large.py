"""Deal on tables larger than memory: by cells, safe as a whole, never worse than Mondrian."""

from __future__ import annotations

import csv
from collections import Counter
from random import Random
from typing import Any, Literal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.deal.deal import NO_BETTER, DealFindings
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.criteria.base import Criterion
from sfumato.release.made import StoredPlacement
from sfumato.release.release import Release
from sfumato.utility.loss import Loss
from sfumato.utility.view import view_of
from tests.anonymizers.deal.few_people import press_ctrl_c
from tests.criteria.toy_criteria import NoMajority
from tests.examples import few
from tests.table.beyond_memory import beyond, told

ILLS = ["flu", "gout", "cold", "hiv"]
MOST = 300  # tuples that fit for Mondrian: about a fifth of them can be dealt at a time


def table_of(seed: int, count: int = 240, **roles: Any) -> sf.Table:
    """Illnesses follow ages, so that near people share them."""
    chance = Random(seed)
    ages = [chance.choice([*range(20, 80), None]) for _ in range(count)]
    columns = {
        "age": ages,
        "town": [chance.choice(["ulm", "bonn", "kiel"]) for _ in range(count)],
        "ill": [ILLS[((age or 20) // 20 + chance.choice([0, 0, 1, 2, 3])) % 4] for age in ages],
        "weight": [chance.choice([1.0, 2.5]) for _ in range(count)],
    }
    named = {"quasi": ["age", "town"], "sensitive": "ill", **roles}
    used = {*named["quasi"], "ill", *named.get("keep", ()), named.get("weight", "ill")}
    rows = pa.table({name: columns[name] for name in columns if name in used})
    return sf.read(rows, sf.Schema(**named))


def loss(release: Release) -> float:
    return Loss().cost(view_of(release))


def findings_of(release: Release) -> DealFindings:
    found = DealFindings.of(release.made)
    assert found is not None
    return found


CRITERIA: list[tuple[Criterion, ...]] = [
    (sf.KAnonymity(3),),
    (sf.KAnonymity(3), sf.TCloseness(0.45)),
    (sf.KAnonymity(2), sf.BetaLikeness(2)),
    (sf.KAnonymity(2), sf.EntropyDiversity(2)),
    (sf.KAnonymity(2), sf.EpsilonPrivacy(2.5, sf.RealisticAdversary("table", 100))),
]


HIERARCHIES = {
    "age": sf.intervals([5, 20]),
    "town": sf.taxonomy({"ulm": "south", "bonn": "west", "kiel": "north"}),
}


@settings(max_examples=few(8))
@given(
    seed=st.integers(0, 99),
    require=st.sampled_from(CRITERIA),
    suppression=st.sampled_from([0.0, 0.05]),
    regions=st.sampled_from(["tight", "hierarchy"]),
)
def test_what_is_dealt_by_cells_holds_and_is_no_worse(
    seed: int,
    require: tuple[Criterion, ...],
    suppression: float,
    regions: Literal["tight", "hierarchy"],
) -> None:
    table = table_of(seed, 160, hierarchies=HIERARCHIES if regions == "hierarchy" else {})
    large = beyond(table, MOST)
    task = Task(large, require, suppression=suppression, seed=seed)
    release = sf.Deal(sweeps=1, starts=1, regions=regions).run(task)
    assert isinstance(release.placement, StoredPlacement)
    assert sf.audit(release, require).holds
    assert loss(release) <= loss(Mondrian(regions=regions).run(task)) + 1e-12
    assert release.people + release.suppressed == table.people
    assert release.suppressed <= suppression * table.people
    assert (release.groups.reference == table.counts.by_value(0)).all()
    # What is handed out is what was judged.
    cells = large.engine.fetch(f"SELECT g, s0, n FROM {release.placement.people}").to_pylist()
    groups, handed_out = release.groups, Counter[tuple[int, str]]()
    for cell in cells:
        handed_out[cell["g"], groups.values[cell["s0"]]] += cell["n"]
    assert handed_out == {
        (group, value): n
        for group in range(len(groups))
        for value, n in groups.counts_of(group).items()
    }


@pytest.mark.parametrize("require", [*CRITERIA, (NoMajority(),)], ids=lambda r: r[-1].name)
def test_every_cell_is_dealt_by_the_shares_of_the_whole_table(
    require: tuple[Criterion, ...],
) -> None:
    """By its own shares, a cell's groups would fail the criteria of the whole table."""
    table = table_of(1)
    task = Task(beyond(table, MOST), require, seed=3)
    release, again = (sf.Deal(sweeps=1, starts=1).run(task) for _ in range(2))
    found = findings_of(release)
    assert (found.mondrian, found.undealt, found.cells > 1) == (False, 0, True)
    assert loss(release) < loss(Mondrian(regions="tight").run(task))
    assert not release.disjoint
    assert told(release) == told(again)


def test_labels_of_hierarchies_are_published_of_cells_too(tmp_path: Any) -> None:
    """Groups of two cells that show the same labels are one, in the file as well."""
    table = table_of(1, hierarchies=HIERARCHIES)
    require = (sf.KAnonymity(3), sf.TCloseness(0.45))
    task = Task(beyond(table, MOST), require, seed=3)
    release = sf.Deal(sweeps=1, starts=1, regions="hierarchy").run(task)
    found = findings_of(release)
    assert (found.mondrian, found.undealt, found.cells > 1) == (False, 0, True)
    assert loss(release) < loss(Mondrian(regions="hierarchy").run(task))
    labels = {region.text for level in range(1, 4) for region in table.levels["age"][level].regions}
    for group in range(len(release.groups)):
        age = release.regions.describe(group)["age"]
        assert age in labels or age.isdigit()
    release.save(tmp_path / "out", report=sf.audit(release, require))
    with (tmp_path / "out" / "public" / "data.csv").open(newline="") as file:
        shown = Counter((row["age"], row["town"]) for row in csv.DictReader(file))
    assert sorted(shown.values()) == sorted(release.groups.sizes)
    assert sum(shown.values()) == 240


def test_it_is_written_and_read_back(tmp_path: Any) -> None:
    table = table_of(4, weight="weight")
    require = (sf.KAnonymity(3), sf.TCloseness(0.45))
    release = sf.Deal(sweeps=1, starts=1).run(Task(beyond(table, MOST), require, suppression=0.02))
    assert findings_of(release).cells > 1
    assert table.counts.weights is not None
    assert release.population is not None
    assert release.population.sum() <= table.counts.weights.sum()
    assert release.population.min() > 0
    report = sf.audit(release, require)
    release.save(tmp_path / "out", report=report)
    read = sf.read_release(tmp_path / "out", table.schema)
    assert not read.disjoint
    assert sorted(read.groups.sizes) == sorted(release.groups.sizes)
    assert [verdict.measured for verdict in sf.audit(read, require).verdicts] == pytest.approx(
        [verdict.measured for verdict in report.verdicts]
    )


def test_what_no_cell_holds_stays_as_mondrian_leaves_it() -> None:
    task = Task(beyond(table_of(2, 160), MOST // 3), (sf.KAnonymity(70),))
    release = sf.Deal(sweeps=1).run(task)
    found = findings_of(release)
    assert (found.mondrian, found.undealt) == (True, 160)
    assert NO_BETTER in release.notes
    assert told(release) == told(Mondrian(regions="tight").run(task))


def test_many_people_of_few_tuples_are_not_dealt_at_once() -> None:
    rows = [(20, "flu"), (20, "gout")] * 200 + [(age, ILLS[age % 4]) for age in range(30, 90)]
    columns = dict(zip(("age", "ill"), map(list, zip(*rows, strict=True)), strict=True))
    table = sf.read(pa.table(columns), sf.Schema(quasi=["age"], sensitive="ill"))
    task = Task(beyond(table, MOST // 2), (sf.KAnonymity(4), sf.DistinctDiversity(2)))
    release = sf.Deal(sweeps=1, starts=1).run(task)
    assert 400 <= findings_of(release).undealt < 460
    assert release.people == 460
    assert sf.audit(release, task.require).holds


@pytest.mark.parametrize(
    ("roles", "require", "why"),
    [
        ({"keep": ["weight"]}, (sf.KAnonymity(3),), "whose kept values are whose"),
        (
            {},
            (sf.KAnonymity(3), sf.SkylinePrivacy([(0, 0, 1, 0.95)])),
            "skyline-privacy judges whole releases",
        ),
        ({}, (sf.KMap(4, table_of(6, 300)),), "k-map cannot be judged by the counts"),
    ],
)
def test_where_cells_do_not_apply_it_is_mondrian_s_release_and_says_so(
    roles: dict[str, Any], require: tuple[Criterion, ...], why: str
) -> None:
    task = Task(beyond(table_of(5, 90, **roles), MOST), require)
    release = sf.Deal(sweeps=1).run(task)
    found = findings_of(release)
    assert (found.mondrian, found.cells, found.undealt) == (True, 0, 90)
    assert any(why in note and "Mondrian's release" in note for note in release.notes)
    mondrian = Mondrian() if "k-map" in why else Mondrian(regions="tight")
    assert told(release) == told(mondrian.run(task))


def test_what_needs_all_tuples_is_refused_with_what_to_use() -> None:
    task = Task(beyond(table_of(5, 30), MOST), (sf.KAnonymity(3),))
    with pytest.raises(sf.ResourceError, match=r"deal: .* fit in memory; raise .*, or use "):
        sf.Deal(scheme="bucketized").run(task)


def test_an_interrupt_leaves_the_other_cells_to_mondrian(monkeypatch: pytest.MonkeyPatch) -> None:
    press_ctrl_c(monkeypatch)
    task = Task(beyond(table_of(1), MOST), (sf.KAnonymity(3), sf.TCloseness(0.45)))
    release = sf.Deal(sweeps=10**7).run(task)
    found = findings_of(release)
    assert found.interrupted
    assert found.undealt > 0
    assert any("interrupted" in note for note in release.notes)
    assert release.people == 240
    assert sf.audit(release, task.require).holds
