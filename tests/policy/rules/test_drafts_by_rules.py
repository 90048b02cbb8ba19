"""Drafts by a rule set: they keep to it, load, and their releases satisfy its paragraphs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.release.within_limits import limit_findings
from tests.program import sfumato

ROWS = 160


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hospital's file, with the people of its ZIP codes beside it."""
    random = Random(3)
    folder = tmp_path_factory.mktemp("patients")
    lines = ["name,age,zip,city,sex,birth_date,month,diagnosis,age_at_dx"]
    for row in range(ROWS):
        born = dt.date(1930, 1, 1) + dt.timedelta(random.randrange(27_000))
        cells = [
            f"Ann Berg{row}",
            random.randrange(20, 98),
            random.choice(["13053", "13068", "05901"]),
        ]
        cells += [random.choice(["Ithaca", "Utica"]), "fm"[row % 2], born, random.randrange(1, 13)]
        cells += [random.choice(["flu", "cold", "asthma", "gout"]), 20 + row % 75]
        lines.append(",".join(map(str, cells)))
    (folder / "patients.csv").write_text("\n".join(lines) + "\n")
    (folder / "zips.csv").write_text("zip,people\n13053,15000\n13068,9000\n05901,900\n")
    return folder / "patients.csv"


def drafted(path: Path, **options: object) -> tuple[sf.Policy, sf.Schema]:
    policy = sf.draft_policy(path, **options).policy  # type: ignore[arg-type]
    assert policy.schema is not None
    return policy, policy.schema


def test_safe_harbor_keeps_small_places_and_parts_of_dates_at_home(patients: Path) -> None:
    zips = patients.parent / "zips.csv"
    policy, schema = drafted(patients, profile="hipaa-safe-harbor", zip_population=zips)
    assert isinstance(policy.profile, sf.SafeHarbor)
    assert policy.profile.populous("130")
    assert {"age", "zip", "birth_date", "age_at_dx"} <= {*schema.quasi}
    assert not {"city", "month", "name"} & {*schema.quasi, *schema.sensitive, *schema.keep}
    assert schema.hierarchies["zip"] == sf.zip3(["130"])
    for age in ("age", "age_at_dx"):
        assert schema.hierarchies[age] == sf.intervals(5, 10, 20, 40, top=90)
    born = schema.hierarchies["birth_date"]
    assert born == sf.dates("year", "decade", bottom=dt.date.today().year - 89)


def test_without_people_by_zip_code_none_is_published(patients: Path) -> None:
    policy, schema = drafted(patients, profile="hipaa-safe-harbor")
    assert "zip" not in schema.quasi
    assert policy.profile is not None


@pytest.mark.parametrize(
    ("profile", "k"), [("ema-0.09", 12), ("statistics-office", 3), ("public-file", 10)]
)
def test_a_draft_asks_for_what_its_rule_set_does(patients: Path, profile: str, k: int) -> None:
    policy, _ = drafted(patients, profile=profile)
    assert policy.profile is not None
    assert policy.profile.name == profile
    assert policy.require[0] == sf.KAnonymity(k)
    outside = [one for one in policy.require if isinstance(one, sf.EpsilonPrivacy)]
    assert bool(outside) == (profile == "public-file")


def test_a_public_file_has_no_column_that_its_draft_does_not_bound(tmp_path: Path) -> None:
    """Of lists, and of what differs between a person's rows, it could bound nothing."""
    random = Random(4)
    people = [(f"P{n // 2:04}", 20 + n // 2 % 60, "fm"[n // 2 % 2]) for n in range(ROWS)]
    ills = ["flu", "cold", "gout", "asthma"]
    rows = {
        "patient_id": [person for person, *_ in people],
        "age": [age for _, age, _ in people],
        "sex": [sex for *_, sex in people],
        "diagnosis": [random.choice(ills) for _ in people],
        "income": [1000 * (n // 2 % 7) for n in range(ROWS)],
    }
    lists = {name: rows[name][::2] for name in ("age", "sex", "income")}
    lists["diagnoses"] = [random.sample(ills, 2) for _ in people[::2]]
    for name, columns in (("rows", rows), ("lists", lists)):
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        policy, schema = drafted(tmp_path / f"{name}.parquet", profile="public-file")
        assert [*schema.sensitive] == ["income"]
        bounded = {one.sensitive for one in policy.require if isinstance(one, sf.EpsilonPrivacy)}
        assert bounded == {"income"}


def test_a_release_by_the_coarsest_levels_of_the_draft_satisfies_safe_harbor(
    patients: Path,
) -> None:
    zips = patients.parent / "zips.csv"
    policy, schema = drafted(patients, profile="hipaa-safe-harbor", zip_population=zips)
    table = sf.read(patients, schema)
    coarse = sf.generalize(table, {name: 1 for name in schema.quasi if name != "sex"})
    found = sf.audit(coarse, policy).rules
    assert found is not None
    assert found.having("violated") == []
    assert [one.name for one in found.having("cannot_judge")] == ["(ii)"]
    as_it_is = sf.audit(table, policy).rules
    assert as_it_is is not None
    assert {"(A)", "(B)", "(C)"} <= {one.name for one in as_it_is.having("violated")}


def test_mistakes_of_the_command_are_answered_in_one_line(patients: Path) -> None:
    zips = patients.parent / "zips.csv"
    for words, said in (
        (("--profile", "hipaa"), "allowed: ema-0.09, hipaa-safe-harbor"),
        (("--profile", "ema-0.09", "--zip-population", zips), "zip_population is about ZIP codes"),
        (("--zip-population", zips), "zip_population is about ZIP codes"),
        (
            ("--profile", "hipaa-safe-harbor", "--zip-population", patients),
            "'patients.csv', line 2",
        ),
        (("--profile", "hipaa-safe-harbor", "--zip-population", "none.csv"), "does not exist"),
    ):
        run = sfumato("init", patients, "--seconds", "0", *words)
        assert run.returncode == 2
        assert run.stderr.count("\n") == 1
        assert said in run.stderr
        assert "Berg" not in run.stderr


def test_zip_codes_that_are_none_are_refused_and_000_is_read_back() -> None:
    recipe = sf.zip3(["130"])
    rest = recipe.read_label("000")
    assert rest is not None
    assert rest.contains("05901")
    assert not rest.contains("13053")
    for wrong in (["13"], [130], "130"):
        with pytest.raises(sf.SchemaError):
            sf.zip3(wrong)  # type: ignore[arg-type]


def test_a_published_000_is_held_against_the_limits_once_not_by_each_code_it_stands_for() -> None:
    """By each code it takes hours: 000 stands for nearly 100,000 of them."""
    cells = {"zip": ["130**", "000"] * 5, "sick": list("ab" * 5)}
    limits = {"zip": sf.Limits(finest=1)}
    schema = sf.Schema(["zip"], ["sick"], hierarchies={"zip": sf.zip3(["130"])}, limits=limits)
    found = limit_findings(sf.read_release(pa.table(cells), schema))
    assert [(each.column, each.broken) for each in found] == [("zip", "")]
