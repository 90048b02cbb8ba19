"""Files a policy names: through every command, to another place and back, changed and gone."""

from __future__ import annotations

import datetime as dt
import shutil
import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.criteria.base import Criterion, judge
from sfumato.ledger.ledger import Ledger
from sfumato.table import digest
from tests.program import sfumato

SCHEMA = """
[schema]
quasi = ["age", "sex"]
sensitive = "disease"
[schema.hierarchies]
age = { kind = "intervals", widths = [10, 20, 40] }
[anonymizer]
kind = "lattice"
[[require]]
kind = "k-anonymity"
k = 3
[[require]]
"""
EPSILON = 'kind = "epsilon-privacy"\nepsilon = 50\nadversary = '
LEAKAGE = 'kind = "distribution-leakage"\nepsilon = 1.4\nprior = '
BESIDE = 'kind = "composition"\nshare = 1\nconfidence = 1\nearlier = '
KEPT = {
    "shape": (EPSILON + '{ shape = { file = "data/census.csv" } }', "data/census.csv"),
    "shape by region": (
        EPSILON + '{ shape = { file = "data/census.csv" }, by_region = true }',
        "data/census.csv",
    ),
    "shape, counted": (
        EPSILON + '{ shape = { file = "data/counted.csv", count = "n" } }',
        "data/counted.csv",
    ),
    "shape, a release": (EPSILON + '{ shape = { file = "2023" } }', "2023/public/data.csv"),
    "shape, a release by region": (
        EPSILON + '{ shape = { file = "2023" }, by_region = true }',
        "2023/public/data.csv",
    ),
    "prior": (LEAKAGE + '{ file = "data/census.csv" }', "data/census.csv"),
    "prior, some columns": (
        LEAKAGE + '{ file = "data/counted.csv", columns = ["sex"], count = "n" }',
        "data/counted.csv",
    ),
    "prior, a release": (
        'kind = "distribution-leakage"\nepsilon = 1.4\nprior = { file = "top" }',
        "top/public/data.csv",
    ),
    "population": (
        'kind = "k-map"\nk = 5\npopulation = "data/census.csv"',
        "data/census.csv",
    ),
    "population, a release": (
        'kind = "k-map"\nk = 5\npopulation = { file = "2023" }',
        "2023/public/data.csv",
    ),
    "earlier, a ledger": (BESIDE + '"data/ledger.sqlite"', None),
    "earlier, a release": (BESIDE + '["2023"]', "2023/public/data.csv"),
}


def people(seed: int, many: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 60, many),
            "sex": rng.choice(["F", "M"], many),
            "disease": rng.choice(["cold", "flu", "gout"], many, p=[0.5, 0.3, 0.2]),
        }
    )


@pytest.fixture(scope="module")
def drawn_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project: a table, a census, a release of last year, a ledger that has it."""
    root = tmp_path_factory.mktemp("kept") / "project"
    (root / "data").mkdir(parents=True)
    people(1, 150).to_pandas().to_csv(root / "data" / "patients.csv", index=False)
    people(2, 400).to_pandas().to_csv(root / "data" / "census.csv", index=False)
    many = {"cold": 9, "flu": 5, "gout": 2}
    counted = [f"30,{sex},{disease},{n}" for sex in "FM" for disease, n in many.items()]
    (root / "data" / "counted.csv").write_text("\n".join(["age,sex,disease,n", *counted, ""]))
    schema = sf.Schema(["age", "sex"], "disease", hierarchies={"age": sf.intervals([10, 20, 40])})
    table = sf.read(people(3, 300), schema)
    k = sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Lattice(), schema=schema)
    earlier = sf.anonymize(table, k, seed=0)
    earlier.save(root / "2023", policy=k)
    sf.generalize(table, {"age": 3, "sex": 1}).save(root / "top")
    Ledger(root / "data" / "ledger.sqlite").add(earlier, "2023")
    return root


@pytest.fixture
def project(drawn_up: Path, tmp_path: Path) -> Path:
    return shutil.copytree(drawn_up, tmp_path / "project")


@pytest.mark.parametrize(
    "kept",
    [
        "shape",
        "shape, a release by region",
        "prior",
        "prior, a release",
        "population",
        "earlier, a ledger",
        "earlier, a release",
    ],
)
def test_a_file_goes_through_every_command_and_moves_with_its_project(
    project: Path, kept: str
) -> None:
    required, file = KEPT[kept]
    (project / "policy.toml").write_text(SCHEMA + required)
    data, policy, out = project / "data" / "patients.csv", project / "policy.toml", project / "out"
    run = sfumato("anonymize", data, "--policy", policy, "--out", out / "2024")
    assert run.returncode == 0, run.stderr
    saved = (out / "2024" / "private" / "policy.toml").read_text()
    assert "sha256" in saved
    assert str(project) not in saved

    moved = project.rename(project.with_name("elsewhere"))
    judged = ("audit", moved / "out" / "2024", "--policy")
    run = sfumato(*judged, moved / "out" / "2024" / "private" / "policy.toml")
    assert run.returncode == 0, run.stdout + run.stderr

    if file is None:
        return
    with (moved / file).open("a") as changed:
        changed.write("[20, 30),F,flu\n" if "public" in file else "30,F,flu,1\n")
    run = sfumato(*judged, moved / "out" / "2024" / "private" / "policy.toml")
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert "is not the file" in run.stderr


@pytest.mark.parametrize("kept", ["shape by region", "population"])
def test_compare_reads_them_too(project: Path, kept: str) -> None:
    (project / "policy.toml").write_text(SCHEMA + KEPT[kept][0])
    data, policy = project / "data" / "patients.csv", project / "policy.toml"
    assert sfumato("compare", data, "--policy", policy, "--sweep", "k=3").returncode == 0


def test_a_ledger_that_grew_does_not_change_what_a_release_was_judged_by(project: Path) -> None:
    (project / "policy.toml").write_text(SCHEMA + KEPT["earlier, a ledger"][0])
    policy = sf.Policy.load(project / "policy.toml")
    table = sf.read(project / "data" / "patients.csv", policy.schema)
    made = sf.anonymize(table, policy, seed=0)
    made.save(project / "new", policy=policy)
    ledger = Ledger(project / "data" / "ledger.sqlite")
    ledger.add(made, "2024")
    back = sf.Policy.load(project / "new" / "private" / "policy.toml")
    assert [one.label for one in back.require[1].before] == ["2023"]
    assert [one.label for one in sf.Policy.load(project / "policy.toml").require[1].before] == [
        "2023",
        "2024",
    ]
    ledger.path.unlink()
    Ledger(ledger.path).add(made, "2023")  # another one under that name
    with pytest.raises(sf.PolicyError, match="are not those the policy was saved with"):
        sf.Policy.load(project / "new" / "private" / "policy.toml")
    ledger.path.unlink()
    Ledger(ledger.path).add(made, "2024")
    with pytest.raises(sf.PolicyError, match="has no release '2023'"):
        sf.Policy.load(project / "new" / "private" / "policy.toml")


@pytest.mark.parametrize("required", [one for one, _ in KEPT.values()], ids=list(KEPT))
def test_a_policy_saved_elsewhere_is_read_back_as_an_equal_one(
    project: Path, required: str
) -> None:
    (project / "policy.toml").write_text(SCHEMA + required)
    policy = sf.Policy.load(project / "policy.toml")
    (project / "deep" / "down").mkdir(parents=True)
    policy.save(project / "deep" / "down" / "policy.toml")
    assert [path.name for path in (project / "deep" / "down").iterdir()] == ["policy.toml"]
    assert sf.Policy.load(project / "deep" / "down" / "policy.toml") == policy


def in_memory() -> list[Criterion]:
    """Criteria with people who are no file: frames, and a release just made."""
    schema = sf.Schema(["age", "sex"], "disease", hierarchies={"age": sf.intervals([10, 20, 40])})
    outside = sf.read(people(2, 400), schema)
    other = sf.read(people(2, 400).drop(["sex"]), sf.Schema(["age"], "disease"))
    earlier = sf.anonymize(outside, sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Lattice()), seed=0)
    top = sf.generalize(outside, {"age": 3, "sex": 1})
    adversary = sf.RealisticAdversary
    return [
        sf.EpsilonPrivacy(50, adversary(outside)),
        sf.EpsilonPrivacy(50, adversary(other)),
        sf.EpsilonPrivacy(50, adversary(outside, by_region=True)),
        sf.EpsilonPrivacy(50, adversary(earlier)),
        sf.EpsilonPrivacy(50, adversary(earlier, by_region=True)),
        sf.DistributionLeakage(1.4, prior=outside),
        sf.DistributionLeakage(1.4, prior=other),
        sf.DistributionLeakage(1.4, prior=top),
        sf.KMap(5, outside),
        sf.KMap(5, earlier),
        sf.CompositionBound(1, 1, [earlier]),
    ]


def test_people_who_are_no_file_are_kept_beside_the_policy(tmp_path: Path) -> None:
    """All the work is not lost to a frame: what was used of it is written, for the owner only."""
    schema = sf.Schema(["age", "sex"], "disease", hierarchies={"age": sf.intervals([10, 20, 40])})
    criteria = in_memory()
    policy = sf.Policy([sf.KAnonymity(3), *criteria], anonymizer=sf.Lattice())
    made = sf.anonymize(sf.read(people(1, 150), schema), policy, seed=0)
    made.save(tmp_path / "out", policy=policy, report=sf.audit(made, policy))
    private = tmp_path / "out" / "private"
    written = [path for path in private.iterdir() if path.suffix in (".parquet", ".release")]
    assert len(written) >= len(criteria)
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}
    back = sf.Policy.load(private / "policy.toml")
    for before, after in zip(policy.require, back.require, strict=True):
        one, other = judge(before, made), judge(after, made)
        assert (one.status, one.measured) == (other.status, other.measured), before
    # Once more into the same folder: what it holds goes with it.
    again = sf.anonymize(sf.read(people(1, 150), schema), back, seed=0)
    again.save(tmp_path / "out", policy=back, force=True)
    last = sf.Policy.load(private / "policy.toml")
    assert [judge(one, again).measured for one in last.require] == [
        judge(one, made).measured for one in policy.require
    ]


def test_a_file_that_changed_since_it_was_read_is_not_referred_to(project: Path) -> None:
    (project / "policy.toml").write_text(SCHEMA + KEPT["population"][0])
    policy = sf.Policy.load(project / "policy.toml")
    made = sf.anonymize(sf.read(project / "data" / "patients.csv", policy.schema), policy, seed=0)
    found = judge(policy.require[1], made).measured
    (project / "data" / "census.csv").write_text("age,sex,disease\n30,F,flu\n")
    made.save(project / "out", policy=policy)
    back = sf.Policy.load(project / "out" / "private" / "policy.toml")
    assert judge(back.require[1], made).measured == found
    (project / "data" / "census.csv").unlink()
    assert judge(back.require[1], made).measured == found


def test_earlier_releases_are_kept_as_they_were_when_they_were_judged_by(project: Path) -> None:
    """Not as they are when the work is done: a ledger grew, a folder was replaced meanwhile."""
    earlier = '["data/ledger.sqlite", "2023"]'
    (project / "policy.toml").write_text(SCHEMA + BESIDE + earlier)
    policy = sf.Policy.load(project / "policy.toml")
    made = sf.anonymize(sf.read(project / "data" / "patients.csv", policy.schema), policy, seed=0)
    before = [len(one.groups) for one in policy.require[1].before]
    other = sf.generalize(sf.read(people(5, 90), policy.schema), {"age": 3, "sex": 1})
    Ledger(project / "data" / "ledger.sqlite").add(other, "2024")
    other.save(project / "2023", force=True)
    assert len(other.groups) not in before
    made.save(project / "out", policy=policy)
    back = sf.Policy.load(project / "out" / "private" / "policy.toml")
    assert [len(one.groups) for one in back.require[1].before] == before


def test_a_file_read_by_hand_is_referred_to_if_the_policy_reads_it_alike(project: Path) -> None:
    schema = sf.Schema(["age", "sex"], "disease", hierarchies={"age": sf.intervals([10, 20, 40])})
    whole = sf.read(project / "data" / "census.csv", schema)
    coarser = sf.Schema(["age", "sex"], "disease", hierarchies={"age": sf.intervals([5])})
    policy = sf.Policy([sf.KMap(5, whole)], schema=schema)
    policy.save(project / "policy.toml")
    assert 'file" = "data/census.csv"' in (project / "policy.toml").read_text()
    odd = sf.read(project / "data" / "census.csv", coarser)
    sf.Policy([sf.KMap(5, odd)], schema=schema).save(project / "other.toml")
    assert "population-1.parquet" in (project / "other.toml").read_text()


WRONG = {
    "both": ('{ file = "data/census.csv", flu = 3 }', "it cannot name anything else as well"),
    "sum": ('{ file = "data/census.csv", sha256 = "0" }', "is not the file the policy was saved"),
    "kind": ('{ file = "data/census.csv", columns = "age" }', "columns = 'age' is not allowed"),
    "column": (
        '{ file = "data/census.csv", columns = ["zip"] }',
        "'zip' is not a quasi",
    ),
    "count": ('{ file = "2023", count = "n" }', "2023 is a release, which tells itself"),
    "folder": ('{ file = "data" }', "is a folder without manifest.json"),
    "gone": ('{ file = "nothing.csv" }', "nothing.csv"),
    "packed": ('{ file = "nothing.release" }', "nothing.release does not exist"),
}


@pytest.mark.parametrize(("given", "told"), WRONG.values(), ids=list(WRONG))
def test_a_mistake_about_a_file_is_told_before_anything_is_done(
    project: Path, given: str, told: str
) -> None:
    (project / "policy.toml").write_text(SCHEMA + LEAKAGE + given)
    data, out = project / "data" / "patients.csv", project / "out"
    run = sfumato("anonymize", data, "--policy", project / "policy.toml", "--out", out)
    assert run.returncode == 2
    assert told in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert not out.exists()


def test_a_sum_of_a_ledger_is_never_passed_over(project: Path) -> None:
    """It is that of releases; without their names nothing could be compared with it."""
    earlier = '[{ file = "data/ledger.sqlite", sha256 = "%s" }]' % ("0" * 64)
    (project / "policy.toml").write_text(SCHEMA + BESIDE + earlier)
    with pytest.raises(sf.PolicyError, match="is that of the releases named beside it") as told:
        sf.Policy.load(project / "policy.toml")
    assert "\n" not in str(told.value)


def test_a_sum_is_the_same_in_capitals(project: Path) -> None:
    census = project / "data" / "census.csv"
    given = f'{{ file = "data/census.csv", sha256 = "{digest(census).upper()}" }}'
    (project / "policy.toml").write_text(SCHEMA + f'kind = "k-map"\nk = 5\npopulation = {given}')
    assert sf.Policy.load(project / "policy.toml").require[1].population.people == 400


def test_a_function_does_not_cost_the_release_its_policy(tmp_path: Path) -> None:
    """No file holds a function; what is kept of the policy says so."""
    schema = sf.Schema(["age", "sex"], "disease")
    order = sf.Mondrian(order=lambda widths, people: widths)
    policy = sf.Policy([sf.KAnonymity(3)], anonymizer=order, schema=schema)
    sf.anonymize(sf.read(people(1, 60), schema), policy, seed=0).save(tmp_path / "a", policy=policy)
    kept = tmp_path / "a" / "private" / "policy.toml"
    assert "# order: a function" in kept.read_text()
    assert sf.Policy.load(kept).require == policy.require
    with pytest.raises(sf.PolicyError, match="order is no plain value"):
        policy.save(tmp_path / "policy.toml")


def test_a_policy_reached_by_a_link_means_the_files_beside_itself(tmp_path: Path) -> None:
    """Beside the link stands another file of that name, which nobody meant."""
    real, link = tmp_path / "real", tmp_path / "link"
    text = SCHEMA + 'kind = "k-map"\nk = 2\npopulation = "people.csv"\n'
    text += '[schema.hierarchies.sex]\nkind = "taxonomy"\nfile = "sexes.csv"\n'
    for folder, people in ((real, 4), (link, 1)):
        folder.mkdir()
        (folder / "people.csv").write_text("age,sex\n" + "30,F\n" * people)
        (folder / "sexes.csv").write_text(f"F,{folder.name}\nM,{folder.name}\n")
    (real / "policy.toml").write_text(text)
    (link / "policy.toml").symlink_to("../real/policy.toml")
    table = pa.table({"age": [30] * 3, "sex": ["F"] * 3, "disease": ["flu"] * 3})
    for folder in (real, link):
        policy = sf.Policy.load(folder / "policy.toml")
        assert policy.schema is not None
        read = sf.read(table, policy.schema)
        assert [region.text for region in read.levels["sex"][1].regions] == ["real"]
        verdicts = sf.audit(read, policy).verdicts
        assert [one.measured for one in verdicts if one.criterion.startswith("k-map")] == [4]
    (real / "policy.toml").unlink()
    with pytest.raises(sf.PolicyError, match="does not exist"):
        sf.Policy.load(link / "policy.toml")
    (real / "policy.toml").symlink_to(link / "policy.toml")
    with pytest.raises(sf.PolicyError, match="cannot be read"):
        sf.Policy.load(link / "policy.toml")


GERMAN = """
[read]
dates = { "born" = "DMY", "moved" = "DMY" }
missing = ["?"]
decimal = ","
delimiter = ";"
codes = { "weight" = ["N"] }
[schema]
quasi = ["born", "weight"]
sensitive = "disease"
[anonymizer]
kind = "mondrian"
[[require]]
"""
GERMAN_ROWS = "03.04.1980;70,5;flu\n?;N;cold\n03.04.1980;70,5;flu\n?;N;cold\n"
PLAIN_ROWS = "1980-04-03,70.5,flu\n,,cold\n"


@pytest.mark.parametrize(
    "required",
    [
        'kind = "k-map"\nk = 2\npopulation = "people.csv"',
        LEAKAGE + '{ file = "people.csv" }',
        EPSILON + '{ shape = { file = "people.csv" } }',
    ],
)
def test_a_file_of_people_is_read_as_the_table_of_its_policy_is(
    tmp_path: Path, required: str
) -> None:
    data, policy, out = tmp_path / "data.csv", tmp_path / "policy.toml", tmp_path / "out"
    policy.write_text(GERMAN + required)
    data.write_text("born;weight;disease;moved\n" + GERMAN_ROWS.replace("\n", ";03.04.2001\n"))
    (tmp_path / "people.csv").write_text("born;weight;disease\n" + GERMAN_ROWS)
    run = sfumato("anonymize", data, "--policy", policy, "--out", out)
    assert run.returncode == 0, run.stderr
    saved = out / "private" / "policy.toml"
    assert "people.csv" in saved.read_text()
    assert sfumato("audit", out, "--policy", saved).returncode == 0
    assert sf.Policy.load(saved).require == sf.Policy.load(policy).require


def test_a_file_of_people_that_is_written_otherwise_is_read_as_it_is(tmp_path: Path) -> None:
    kmap, people = 'kind = "k-map"\nk = 1\npopulation = ', tmp_path / "people.csv"

    def values(told: str) -> list[object]:
        (tmp_path / "policy.toml").write_text(GERMAN + kmap + told)
        policy = sf.Policy.load(tmp_path / "policy.toml")
        policy.save(tmp_path / "again.toml")
        again = sf.Policy.load(tmp_path / "again.toml")
        assert again.require == policy.require
        return [domain.values[0] for domain in again.require[0].population.counts.quasi]

    people.write_text("born,weight,disease\n" + PLAIN_ROWS)
    assert values('"people.csv"') == [dt.date(1980, 4, 3), 70.5]
    people.write_text("born;weight\n03/04/1980;70.500\n04/12/1980;N\n")
    own = '{ file = "people.csv", read = { dates = "MDY", decimal = "." } }'
    assert values(own) == [dt.date(1980, 3, 4), 70.5]
    for wrong in ("{ sheet = 'a' }", "{ decimal = ';' }", "3"):
        with pytest.raises(sf.PolicyError, match="population"):
            values(f'{{ file = "people.csv", read = {wrong} }}')
