"""Limits of columns: every anonymizer keeps to them, by what it publishes."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Anonymizer, Task
from sfumato.criteria.base import Criterion
from sfumato.release.within_limits import keeps_limits, limit_findings
from sfumato.schema.limits import parse_limit
from sfumato.utility.loss import Loss
from sfumato.utility.view import view_of
from tests.table.beyond_memory import beyond, told

PLACES = {
    "Bonn": ["west", "land"],
    "Koeln": ["west", "land"],
    "Jena": ["east", "land"],
    "Gera": ["east", "land"],
    "Kiel": ["coast", "sea"],
    "Emden": ["coast", "sea"],
}
HIERARCHIES = {
    "age": sf.intervals(5, 10, 20, 40, bottom=10, top=90),
    "born": sf.dates("month", "year", "decade", bottom=1930, top=2010),
    "place": sf.taxonomy(PLACES),
}


def people(total: int = 160, seed: int = 0, *, missing: bool = False) -> pa.Table:
    chance = np.random.default_rng(seed)
    age = chance.integers(20, 80, total).tolist()
    day = [
        dt.date(1950, 1, 1) + dt.timedelta(int(days)) for days in chance.integers(0, 7300, total)
    ]
    if missing:
        age = [None if at % 9 == 0 else one for at, one in enumerate(age)]
    return pa.table(
        {
            "age": age,
            "born": day,
            "place": chance.choice(list(PLACES), total).tolist(),
            "ill": chance.choice(["flu", "gout", "none"], total).tolist(),
        }
    )


def read(limits: dict[str, sf.Limits], source: pa.Table | None = None, **given: Any) -> sf.Table:
    schema = sf.Schema(
        given.pop("quasi", ("age", "born", "place")),
        "ill",
        hierarchies=given.pop("hierarchies", HIERARCHIES),
        limits=limits,
        **given,
    )
    return sf.read(people() if source is None else source, schema)


LIMITS: dict[str, dict[str, sf.Limits]] = {
    "coarsest": {"age": sf.Limits(coarsest=3), "place": sf.Limits(coarsest=2)},
    "finest": {"age": sf.Limits(finest="width 10"), "born": sf.Limits(finest="year")},
    "both": {"age": sf.Limits(1, "width 20"), "born": sf.Limits("month", "decade")},
    "never star": {"age": sf.Limits(star=False), "place": sf.Limits(star=False)},
    "labels": {"place": sf.Limits(1, 2)},
}
NEEDED: dict[str, dict[str, Any]] = {
    "best": {"seconds": 1.0},
    "deal": {"sweeps": 1, "starts": 1},
    "anatomy": {"l": 2},
    "microaggregation": {"k": 2},
    "noise": {"epsilon": 20.0},  # so little that no run loses every cell
}
FORMS: list[Anonymizer] = [  # that publish something else than the anonymizer's usual one does
    *(sf.Mondrian(regions=style) for style in ("tight", "hierarchy")),  # type: ignore[arg-type]
    sf.Mondrian(strict=False),
    sf.Mondrian(scheme="bucketized"),
    sf.Deal(sweeps=1, starts=1, regions="hierarchy"),
]
ALL = [*(kind(**NEEDED.get(name, {})) for name, kind in ANONYMIZERS.items()), *FORMS]


def publishes_values(maker: Anonymizer) -> bool:
    """Whether it has nothing coarser to publish than somebody's values."""
    exact = getattr(maker, "scheme", "") == "bucketized"
    return exact or isinstance(maker, sf.Anatomy | sf.Microaggregation)


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("maker", ALL, ids=map(str, ALL))
def test_every_anonymizer_keeps_to_limits(maker: Anonymizer, limits: dict[str, sf.Limits]) -> None:
    """Over the registry: whoever is added there is asked, too."""
    rule: Criterion = sf.DistinctDiversity(2)
    given: dict[str, Any] = {}
    if isinstance(maker, sf.Noise):  # of columns that are declared, and few cells
        rule = sf.DifferentialPrivacy(20.0)
        given = {"quasi": ("age", "place"), "nulls": "error"}
        given["domains"] = {"age": list(range(10, 100)), "ill": ["flu", "gout", "none"]}
        given["hierarchies"] = {name: HIERARCHIES[name] for name in given["quasi"]}
        limits = {name: one for name, one in limits.items() if name in given["quasi"]}
    table = read(limits, **given)
    finest = any(table.levels[name].finest for name in limits)
    if publishes_values(maker) and finest:
        # Centroids of numbers and dates can be bounds of a level; a category is a value.
        numbers = isinstance(maker, sf.Microaggregation) and not table.levels["place"].finest
        if not numbers:
            with pytest.raises(sf.PolicyError, match="limits allow"):
                maker.run(Task(table, (rule,)))
            return
    ages = table.levels["age"]
    if isinstance(maker, sf.LocalSuppression) and ages.coarsest < ages.height - 1:
        # It has nothing between an age and *, and few people are of one age.
        with pytest.raises(sf.NoSafeRelease, match="limits"):
            maker.run(Task(table, (rule,)))
        return
    release = maker.run(Task(table, (rule,)))
    assert len(release.groups) > 0
    assert {found.column for found in limit_findings(release)} == set(limits)
    assert [found for found in limit_findings(release) if found.broken] == []


def test_people_behind_a_centroid_have_one_label() -> None:
    table = read(LIMITS["both"])
    release = sf.anonymize(table, sf.Policy([sf.KAnonymity(3)], sf.Microaggregation(3)), seed=1)
    assert release.placement is not None
    placed = release.placement.in_memory("the test")
    for column, codes in zip(("age", "born"), placed.counts.codes, strict=False):
        levels = table.levels[column]
        label = levels[levels.coarsest].codes[codes[placed.tuples]]
        for group in range(len(release.groups)):
            assert len(set(label[placed.groups == group].tolist())) == 1


def test_cells_that_must_not_be_star_are_not_blanked() -> None:
    table = read({"place": sf.Limits(star=False), "age": sf.Limits("width 20")})
    maker = sf.LocalSuppression(levels={"born": 3})
    release = sf.anonymize(table, sf.Policy([sf.KAnonymity(4)], maker), seed=1)
    shown = release.to_arrow().to_pydict()
    assert "*" not in shown["place"]
    assert set(shown["age"]) <= {"[20, 40)", "[40, 60)", "[60, 80)", "*"}
    wrong = sf.LocalSuppression(levels={"age": 1})
    with pytest.raises(sf.PolicyError, match="limits allow 'age' levels 3 to 5, not 1"):
        sf.anonymize(table, sf.Policy([sf.KAnonymity(4)], wrong), seed=1)


def test_cells_are_blanked_wherever_that_keeps_limits() -> None:
    """There is a release if enough people share each value that must be shown: all else can go."""
    seen = set()
    for seed in range(12):
        source = people(30, seed)
        must_be_shown = ("place",) if seed % 2 else ("age",)
        level = 3 if seed % 2 else 4  # of the age: [20, 40), ..., or [0, 40), [40, 80)
        table = read({name: sf.Limits(star=False) for name in must_be_shown}, source)
        shared = Counter(source["place"].to_pylist())
        if seed % 2 == 0:
            shared = Counter(age // 40 for age in source["age"].to_pylist())
        k = sorted(shared.values())[0] + seed % 3 // 2  # the rarest just do, or just do not
        policy = sf.Policy([sf.KAnonymity(k)], sf.LocalSuppression(levels={"age": level}))
        seen.add((must_be_shown, possible := k <= min(shared.values())))
        if not possible:
            with pytest.raises(sf.NoSafeRelease, match="no choice of cells keeps the limits"):
                sf.anonymize(table, policy, seed=seed)
            continue
        for maker in (policy.maker, sf.LocalSuppression(levels="search")):
            release = sf.anonymize(table, replace(policy, anonymizer=maker), seed=seed)
            shown = release.to_arrow()
            assert "*" not in shown[must_be_shown[0]].to_pylist()
            cells = Counter(zip(*(shown[name].to_pylist() for name in HIERARCHIES), strict=True))
            assert min(cells.values()) >= k
    assert len(seen) == 4


@pytest.mark.parametrize("missing", [False, True])
def test_the_lattice_finds_the_best_node_within_limits(missing: bool) -> None:
    """Against all nodes, each made by itself."""
    limits = {
        "age": sf.Limits(1, 4),
        "born": sf.Limits("month", "decade"),
        "place": sf.Limits(0, 2),
    }
    for seed in range(4):
        table = read(limits, people(60, seed, missing=missing))
        rules, suppression = [sf.KAnonymity(3), sf.TCloseness(0.5)], 0.1
        costs = {}
        for node in product(range(1, 5), range(1, 4), range(3)):
            try:
                made = sf.generalize(table, node, rules, suppression)
            except sf.NoSafeRelease:
                continue
            costs[node] = Loss().cost(view_of(made))
        policy = sf.Policy(rules, sf.Lattice(), suppression=suppression)
        if not costs:
            with pytest.raises(sf.NoSafeRelease):
                sf.anonymize(table, policy)
            continue
        found = sf.anonymize(table, policy, seed=1)
        assert Loss().cost(view_of(found)) == pytest.approx(min(costs.values()))
        few = sf.Lattice(budget=12)  # searched from both ends
        assert keeps_limits(few.run(Task(table, tuple(rules), suppression=suppression)))


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
def test_tables_larger_than_memory(limits: dict[str, sf.Limits]) -> None:
    table = read(limits)
    for maker in (sf.Lattice(), sf.Mondrian(), sf.Mondrian(regions="tight")):
        in_memory = maker.run(Task(table, (sf.KAnonymity(3),)))
        beyond_it = maker.run(Task(beyond(table, 40), (sf.KAnonymity(3),)))
        assert keeps_limits(beyond_it)
        assert told(beyond_it) == told(in_memory)


def test_limits_that_allow_everything_change_nothing() -> None:
    free, bound = read({}), read({name: sf.Limits(0, "*") for name in HIERARCHIES})
    for maker in (sf.Lattice(), sf.Mondrian(), sf.Mondrian(regions="tight")):
        task = Task(free, (sf.KAnonymity(4),))
        assert told(maker.run(replace(task, table=bound))) == told(maker.run(task))


def test_a_column_cut_freely_is_never_told_as_all_of_its_values() -> None:
    names = ("age", "born", "place")
    table = read(
        {name: sf.Limits(star=False) for name in names}, people(missing=True), hierarchies={}
    )
    for maker in (sf.Mondrian(), sf.Mondrian(regions="tight"), sf.Deal(sweeps=1, starts=1)):
        release = sf.anonymize(table, sf.Policy([sf.KAnonymity(8)], maker), seed=1)
        shown = release.to_arrow()
        assert not any("*" in shown[name].to_pylist() for name in names)
        assert int(release.groups.sizes.min()) >= 8


def test_units_keep_to_the_labels_of_a_coarsest_level() -> None:
    table = read({"age": sf.Limits(coarsest="width 20")}, units={"age": 1})
    release = sf.anonymize(table, sf.Policy([sf.KAnonymity(3)], sf.Mondrian()), seed=1)
    assert keeps_limits(release)
    wide = read({"age": sf.Limits(coarsest="width 5")}, units={"age": 10})
    with pytest.raises(sf.SchemaError, match="whose bounds its unit does not allow"):
        sf.anonymize(wide, sf.Policy([sf.KAnonymity(3)], sf.Mondrian()), seed=1)


def test_rows_that_a_pseudonym_links() -> None:
    rows = people(60)
    rows = rows.append_column("who", pa.array([at // 2 for at in range(60)]))
    limits = {"age": sf.Limits("width 20", "width 40"), "place": sf.Limits(star=False)}
    table = read(
        limits,
        rows,
        person="who",
        rows="linked",
        quasi=("age", "place"),
        hierarchies={name: HIERARCHIES[name] for name in ("age", "place")},
    )
    for maker in (sf.Mondrian(), sf.Lattice()):
        policy = sf.Policy([sf.KAnonymity(2)], maker, suppression=0.9)
        release = sf.anonymize(table, policy, seed=1)
        assert [found.broken for found in limit_findings(release)] == ["", ""]


def test_few_people_whom_limits_keep_apart_are_suppressed_where_that_is_allowed() -> None:
    old = pa.table({"age": [95], "born": [dt.date(1950, 1, 1)], "place": ["Kiel"], "ill": ["flu"]})
    table = read({"age": sf.Limits(coarsest=3)}, pa.concat_tables([people(), old]))
    for maker in (sf.Lattice(), sf.Deal(sweeps=1, starts=1)):
        policy = sf.Policy([sf.KAnonymity(4)], maker, suppression=0.05)
        release = sf.anonymize(table, policy, seed=1)
        assert 1 <= release.suppressed <= 8
    with pytest.raises(sf.NoSafeRelease, match="let lattice or deal suppress them"):
        sf.anonymize(table, sf.Policy([sf.KAnonymity(4)], sf.Mondrian()), seed=1)


# -- what is said where limits stand in the way, and of what others published ------------------


def test_the_message_names_the_limit_that_would_have_to_give() -> None:
    limits = {"age": sf.Limits(coarsest=1), "place": sf.Limits(star=False)}
    for maker in (sf.Lattice(), sf.Mondrian()):
        with pytest.raises(sf.NoSafeRelease, match=r"without the limits of 'age' there is one$"):
            sf.anonymize(read(limits), sf.Policy([sf.KAnonymity(20)], maker), seed=1)
    with pytest.raises(sf.NoSafeRelease) as nothing_helps:
        sf.anonymize(read(limits), sf.Policy([sf.KAnonymity(500)], sf.Mondrian()), seed=1)
    assert "without the limits" not in str(nothing_helps.value)


def test_best_names_a_limit_without_which_only_the_lattice_finds_a_release() -> None:
    rows = pa.table(
        {
            "zip": [str(100 + at) for at in range(12)],
            "age": [*range(81, 89), 61, 62, 63, 64],
            "sex": [*"ffffmmmm", *"fmmm"],
            "ill": ["flu", "gout", "none"] * 4,
        }
    )
    limits = {
        "zip": sf.Limits(coarsest=0),
        "age": sf.Limits(coarsest=3),
        "sex": sf.Limits(star=False),
    }
    hierarchies = {"age": HIERARCHIES["age"]}
    table = read(limits, rows, quasi=("zip", "age", "sex"), hierarchies=hierarchies)
    policy = sf.Policy([sf.KAnonymity(4)], sf.Best(seconds=1), suppression=0.4)
    with pytest.raises(sf.NoSafeRelease, match=r"without the limits of 'zip' there is one$"):
        sf.anonymize(table, policy, seed=1)


def test_a_node_outside_the_limits_is_refused() -> None:
    table = read({"age": sf.Limits(1, 3)})
    with pytest.raises(sf.InputError, match="limits allow 'age' levels 1 to 3, not 4"):
        sf.generalize(table, {"age": 4})
    assert sf.generalize(table, {}).regions.describe(0)["age"].startswith("[")


@pytest.mark.parametrize(
    ("ages", "broken"),
    [
        (["[20, 30)", "[40, 60)"], ""),
        (["[20, 30)", "[40, 70)"], "[40, 70) is in no label of level 3"),
        (["[20, 30)", "*"], "* is in no label of level 3"),
        (["[22, 30)", "[40, 60)"], "[22, 30) cuts [20, 25) of level 1"),
        (["25", "[40, 60)"], "25 cuts [25, 30) of level 1"),
    ],
)
def test_an_audit_says_whether_a_file_keeps_to_limits(
    tmp_path: Path, ages: list[str], broken: str
) -> None:
    """By the words of the published file alone."""
    file = tmp_path / "release.csv"
    pa_csv.write_csv(pa.table({"age": ages * 3, "ill": ["flu", "gout", "none"] * 2}), file)
    schema = sf.Schema(
        ["age"], "ill", hierarchies={"age": HIERARCHIES["age"]}, limits={"age": sf.Limits(1, 3)}
    )
    report = sf.audit(sf.read_release(file, schema), sf.Policy([sf.KAnonymity(2)], schema=schema))
    (verdict,) = [one for one in report.verdicts if one.criterion == "limits"]
    assert (verdict.attribute, verdict.required) == ("age", "levels 1 to 3")
    assert verdict.note == broken
    assert report.holds == (not broken)


def test_a_policy_keeps_its_limits(tmp_path: Path) -> None:
    schema = read({"age": sf.Limits("width 5", 3), "place": sf.Limits(star=False)}).schema
    policy = sf.Policy([sf.KAnonymity(2)], schema=schema)
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml") == policy


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (sf.Limits(9), "has levels 0 to 5, not 9 (finest)"),
        (sf.Limits("years"), "finest = 'years' is no level of its hierarchy"),
        (sf.Limits(3, 1), "at least at level 3 and at most at level 1"),
    ],
)
def test_limits_that_no_hierarchy_has(limit: sf.Limits, words: str) -> None:
    with pytest.raises(sf.SchemaError, match=re.escape(words)):
        read({"age": limit})


def test_limits_as_text() -> None:
    assert parse_limit("age=1..3") == ("age", sf.Limits(1, 3))
    assert parse_limit("born = year..") == ("born", sf.Limits("year"))
    assert parse_limit("zip=..first 3") == ("zip", sf.Limits(0, "first 3"))
    assert parse_limit("sex=no-star") == ("sex", sf.Limits(star=False))
    for wrong in ("age", "age=", "age=3", "=1..2", "age=.."):
        with pytest.raises(sf.SchemaError, match="is not understood; write COLUMN=FINEST"):
            parse_limit(wrong)
