"""Somebody who knows some of her target's quasi-identifiers: every group that fits them counts."""
# ruff: noqa: E501 (a table of cases reads best one a line)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.locating.locate import locate
from sfumato.adversaries.locating.targets import read_targets
from sfumato.errors import InputError
from tests.adversaries.composition.random_releases import (
    EVERYBODY,
    SCALE,
    bucketized,
    generalized,
    microaggregated,
)
from tests.adversaries.releases import buckets, release
from tests.examples import few
from tests.oracles.composition_oracle import by_pairs, groups_of, learn
from tests.program import sfumato

PARTLY = [{"x": x} for x in range(6)] + [{"y": y} for y in range(3)] + [{}]
PEOPLE = [*EVERYBODY, *PARTLY]
any_release = st.one_of(microaggregated(), generalized(), bucketized())


def shares_values(releases: list[sf.Release]) -> bool:
    shown = [
        {label for g in range(len(one.groups)) for label in one.groups.counts_of(g)}
        for one in releases
    ]
    return all(mine & theirs for mine in shown for theirs in shown)


@given(first=any_release, second=any_release)
@settings(max_examples=few(40))
def test_whatever_is_unknown_every_group_that_may_be_hers_counts(
    first: sf.Release, second: sf.Release
) -> None:
    releases = [first, second]
    if not shares_values(releases):
        return  # refused, and tested elsewhere
    attack = sf.intersection_attack(releases, PEOPLE, scale=SCALE)
    for person, row in zip(PEOPLE, attack.targets.to_pylist(), strict=True):
        expected = learn(releases, person, scale=SCALE)
        assert tuple(row["before"]) == expected.before
        assert tuple(sorted(row["values"])) == expected.values
        posterior = dict(zip(row["values"], row["posterior"], strict=True))
        assert posterior == pytest.approx({k: float(p) for k, p in expected.posterior.items()})
        if None not in expected.before:
            pairs = by_pairs(releases, person, SCALE)
            assert posterior == pytest.approx({k: float(p) for k, p in pairs.items()})
        assert row["unknown"] == [name for name in ("x", "y") if name not in person]
    assert attack.summary.partly_known == len(PARTLY)


@given(first=st.one_of(generalized(), bucketized()))
@settings(max_examples=few(40))
def test_knowing_less_never_finds_fewer_groups(first: sf.Release) -> None:
    located = locate(first, read_targets(PEOPLE, ("x", "y")))
    case = read_targets(PEOPLE, ("x", "y")).case
    found = [set(located.groups[located.indptr[i] : located.indptr[i + 1]].tolist()) for i in case]
    for person, groups in zip(EVERYBODY, found, strict=False):
        assert groups == set(groups_of(first, person, SCALE))
        for partly, more in zip(PARTLY, found[len(EVERYBODY) :], strict=True):
            if partly.items() <= person.items():
                assert groups <= more


FIRST = release(
    ["age", "sex"],
    [(((20, 29), "F"), {"flu": 2}), (((20, 29), "M"), {"hiv": 1, "tb": 1}), (((30, 39), "*"), {"tb": 3})],
)  # fmt: skip
SECOND = release(["age"], [(((20, 34),), {"flu": 1, "hiv": 2}), (((35, 39),), {"tb": 2})])
KNOWN = {"age": 25, "sex": "F"}


def rows(targets: Any, **more: Any) -> list[dict[str, Any]]:
    return sf.intersection_attack([FIRST, SECOND], targets, **more).targets.to_pylist()


def test_unknown_is_neither_a_value_nor_missing() -> None:
    whole, partly, missing = rows([KNOWN, {"age": 25}, {"age": 25, "sex": None}])
    assert whole["values"] == ["flu"]
    assert (partly["values"], partly["status"], partly["unknown"]) == (
        ["flu", "hiv"],
        "located",
        ["sex"],
    )
    # two ways each to pick a record of both releases that agree
    assert partly["posterior"] == [0.5, 0.5]
    assert (missing["status"], missing["unknown"]) == ("not_locatable", [])
    (old,) = rows([{"age": 80}])
    assert old["status"] == "not_locatable"  # what is known fits no group


def test_a_cell_may_say_that_it_is_unknown() -> None:
    by_key = rows([KNOWN, {"age": 25}, {"sex": "F"}])
    text = pa.table({"age": ["25", "25", "unknown"], "sex": ["F", "unknown", "F"]})
    assert rows(text) == by_key
    assert rows([KNOWN, {"age": 25, "sex": "unknown"}, {"age": "unknown", "sex": "F"}]) == by_key
    mark = pa.table({"age": ["25", "25", "?"], "sex": ["F", "?", "F"]})
    assert rows(mark, unknown="?") == by_key
    by_table = rows(
        sf.read(pa.table({"age": [25, 25], "sex": ["F", "unknown"]}), sf.Schema(["age", "sex"]))
    )
    assert sorted(map(str, by_table)) == sorted(map(str, by_key[:2]))
    without = rows(sf.read(pa.table({"age": [25]}), sf.Schema(["age"])))
    assert without == [by_key[1]]


def test_what_is_not_known_is_told() -> None:
    attack = sf.intersection_attack([FIRST, SECOND], [KNOWN, {"age": 25}])
    assert attack.notes[0].startswith("not known: 'sex' of 1 of 2 people")
    assert "some of the target's quasi-identifiers" in attack.threats()[0].knows
    nobody = sf.intersection_attack([FIRST, SECOND], [{"age": 25}])
    assert nobody.notes[0].startswith("not known: 'sex' of anybody")


UNKNOWN_SEX = release(["age", "sex"], [(((20, 29), "unknown"), {"flu": 2})])
LISTS = buckets(["sex"], [([("unknown",)], {"flu": 1})])
BAD = {
    "nothing known": (lambda: rows([{"weight": 70}]), "no quasi-identifier of the releases is there"),
    "nothing known of a frame": (lambda: rows(pa.table({"weight": [70]})), "no quasi-identifier"),
    "a misspelt key": (lambda: rows([{"age": 25, "sx": "F"}, {"age": 25, "sex": "F"}][:1]), "did you mean 'sx'?"),
    "a misspelt column": (lambda: rows(pa.table({"age": [25], "Sex ": ["F"]})), "did you mean 'Sex '?"),
    "a longer name": (lambda: rows(pa.table({"age_years": [25], "sex": ["F"]})), "did you mean the one whose name is that and some signs more?"),
    "a misspelt mark": (lambda: rows([{"age": 25, "sex": "Unknown"}]), "column 'sex' says 'Unknown'; write 'unknown'"),
    "a published text": (lambda: sf.intersection_attack([UNKNOWN_SEX, SECOND], [{"age": 25, "sex": "unknown"}]), "publishes 'unknown' as a value of 'sex'"),
    "a listed text": (lambda: sf.intersection_attack([LISTS, SECOND], [{"age": 25, "sex": "unknown"}]), "publishes 'unknown' as a value of 'sex'"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "text"), BAD.values(), ids=list(BAD))
def test_bad_input_is_told_in_one_line(call: Any, text: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


# -- the paper's employer, as it is typed ----------------------------------------------------------

POLICY = """
[schema]
quasi = ["zip", "age", "nationality"]
sensitive = "condition"
[schema.hierarchies]
age = { kind = "intervals", widths = [10] }
[[require]]
kind = "k-anonymity"
k = 4
"""
H1 = [("130**", "<30", "*", "AIDS Heart Viral Viral"), ("130**", ">=40", "*", "Cancer Heart Viral Viral"), ("130**", "30-39", "*", "Cancer Cancer Cancer Cancer")]  # fmt: skip
H2 = [("130**", "<35", "*", "AIDS TB Flu TB Cancer Cancer"), ("130**", ">=35", "*", "Cancer Cancer Cancer TB Viral Viral")]  # fmt: skip


@pytest.fixture
def hospitals(tmp_path: Path) -> Path:
    for name, groups in (("h1.csv", H1), ("h2.csv", H2)):
        lines = [f"{z},{a},{n},{value}" for z, a, n, values in groups for value in values.split()]
        (tmp_path / name).write_text("zip,age,nationality,condition\n" + "\n".join(lines) + "\n")
    (tmp_path / "hp.toml").write_text(POLICY)
    return tmp_path


def employer(folder: Path, targets: str, *more: object) -> Any:
    (folder / "ht2.csv").write_text(targets)
    releases = (folder / "h1.csv", folder / "h2.csv")
    people = ("--targets", folder / "ht2.csv", "--policy", folder / "hp.toml")
    return sfumato("attack", "intersect", *releases, *people, "--json", *more)


@pytest.mark.parametrize(
    ("targets", "more"),
    [
        ("zip,age\n13012,28\n13012,45\n", ()),
        ("zip,age,nationality\n13012,28,unknown\n13012,45,unknown\n", ()),
        ("zip,age,nationality\n13012,28,?\n13012,45,?\n", ("--unknown", "?")),
        ("zip,age,condition\n13012,28,AIDS\n13012,45,Viral\n", ("--truth", "condition")),
    ],
)
def test_the_papers_employer_knows_age_and_zip(
    hospitals: Path, targets: str, more: tuple[object, ...]
) -> None:
    private = hospitals / "rows.json"
    run = employer(hospitals, targets, *more, "--private", private)
    assert run.returncode == 0, run.stderr
    facts = json.loads(run.stdout)["facts"]
    assert (facts["located"], facts["exposed"], facts["partly_known"]) == (2, 1, 2)
    assert facts["notes"][0].startswith("not known: 'nationality' of anybody")
    assert facts["precision"] == (1.0 if more[:1] == ("--truth",) else None)
    learnt = {row["target"]["age"]: row["values"] for row in json.loads(private.read_text())}
    assert learnt == {28: ["AIDS"], 45: ["Cancer", "Viral"]}


@pytest.mark.parametrize(
    ("targets", "text"),
    [
        # Misspelt is not unknown,
        ("zip,Age\n13012,28\n", "did you mean 'Age'?"),
        ("zip,age,nationalty\n13012,28,US\n", "did you mean 'nationalty'?"),
        ("Zip code,age\n13012,28\n", "column 'zip' (quasi) is not in ht2.csv; did you mean the"),
        # nor is a mark that is misspelt, nor what is no number where the policy needs one.
        ("zip,age\n13012,28\n13012,Unknown\n", "'age' says 'Unknown'; write 'unknown'"),
        ("zip,age\n13012,28\n13012,young\n", "column 'age': intervals needs numbers"),
        ("weight\n70\n", "column 'zip' (quasi) is not in ht2.csv"),
    ],
)
def test_targets_that_cannot_be_meant(hospitals: Path, targets: str, text: str) -> None:
    run = employer(hospitals, targets)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert text in run.stderr


def test_a_column_of_another_meaning_may_stand_there(hospitals: Path) -> None:
    run = employer(hospitals, "name,zip,age,salary\nAnn,13012,28,3000\n")
    assert run.returncode == 0, run.stderr
    run = employer(hospitals, "nation,zip,age,nationality\nx,13012,28,unknown\n")
    assert run.returncode == 0, run.stderr


def test_the_ledger_judges_people_of_whom_not_everything_is_known(hospitals: Path) -> None:
    ledger, policy = hospitals / "ledger.sqlite", ("--policy", hospitals / "hp.toml")
    assert sfumato("ledger", "add", ledger, hospitals / "h1.csv", *policy).returncode == 0
    (hospitals / "ht2.csv").write_text("zip,age\n13012,28\n13012,45\n")
    people = ("--targets", hospitals / "ht2.csv", "--json")
    run = sfumato("ledger", "check", ledger, hospitals / "h2.csv", *policy, *people)
    assert run.returncode == 1, run.stderr
    facts = json.loads(run.stdout)["facts"]
    assert facts["findings"][0]["together"] == {"at_least": 1, "at_most": 1}
    assert facts["notes"][0].startswith("not known: 'nationality' of anybody")
    assert facts["partly_known"] == 2
    assert "Not everything is known of 2 of them" in json.loads(run.stdout)["about"]
