"""Thresholds of agencies and offices, and the strictest file: at and beside each bound."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.policy.rules import RULE_SETS
from sfumato.policy.rules.base import RuleFinding, RuleSet
from tests.cli.small_audit import DATA, POLICY
from tests.cli.small_audit import audit as run_audit


def of_sizes(*sizes: int) -> sf.Table:
    """Groups of so many people, half of whom are ill."""
    place = [group for group, size in enumerate(sizes) for _ in range(size)]
    ill = [row % 2 == 0 for size in sizes for row in range(size)]
    table = pa.table({"place": [f"p{group}" for group in place], "ill": ill})
    return sf.read(table, sf.Schema(["place"], "ill"))


def judged(
    table: sf.Table, rules: RuleSet, *more: object, population: sf.Table | None = None
) -> RuleFinding:
    policy = sf.Policy([sf.KAnonymity(1), *more], profile=rules)  # type: ignore[list-item]
    found = sf.audit(table, policy, population=population).rules
    assert found is not None
    return found


def status(finding: RuleFinding, name: str) -> str:
    return next(one.status for one in finding.paragraphs if one.name == name)


@pytest.mark.parametrize(
    ("sizes", "options", "expected"),
    [
        ((12, 40), {}, "holds"),
        ((11, 40), {}, "violated"),  # 1/11 is .0909
        ((11, 40), {"risk": "average"}, "holds"),  # two of 51 are right
        ((5, 5), {"risk": "average"}, "violated"),
        ((5, 40), {"threshold": 0.2}, "holds"),
        ((12, 40), {"attack": "journalist"}, "cannot_judge"),  # no register
    ],
)
def test_a_risk_of_nine_hundredths_is_groups_of_twelve(
    sizes: tuple[int, ...], options: dict[str, object], expected: str
) -> None:
    rules = sf.RiskThreshold(**options)  # type: ignore[arg-type]
    assert status(judged(of_sizes(*sizes), rules), "risk") == expected


def test_a_journalist_looks_among_the_population() -> None:
    rules = sf.RiskThreshold(attack="journalist")
    found = judged(of_sizes(5, 6), rules, population=of_sizes(12, 30))
    assert status(found, "risk") == "holds"


def test_that_no_adjustment_is_made_is_said() -> None:
    found = judged(of_sizes(12, 12), sf.RiskThreshold())
    context = next(one for one in found.paragraphs if one.name == "context")
    assert context.status == "not_applicable"
    assert "taken for certain" in context.reason
    assert found.status == "holds"


@pytest.mark.parametrize(
    ("sizes", "k", "expected"),
    [((3, 4), 3, "holds"), ((2, 4), 3, "violated"), ((3, 4), 5, "violated")],
)
def test_group_sizes_of_an_office(sizes: tuple[int, ...], k: int, expected: str) -> None:
    found = judged(of_sizes(*sizes), sf.StatisticsOffice(k=k))
    assert status(found, "group size") == expected
    assert status(found, "special uniques") == "holds"


def test_who_is_unique_is_counted() -> None:
    found = judged(of_sizes(1, 1, 5), sf.StatisticsOffice())
    special = next(one for one in found.paragraphs if one.name == "special uniques")
    assert special.status == "violated"
    assert special.reason.startswith("2 unique, 2 of them by 3 columns or fewer")


@pytest.mark.parametrize(
    ("incomes", "expected"),
    [
        ([10] * 10 + [20] * 10 + [30] * 10, "holds"),
        ([10] * 10 + [20] * 19 + [999], "violated"),
        ([1] + [20] * 19 + [30] * 10, "violated"),
        (["<10"] + ["20"] * 29, "holds"),  # already in ranges
    ],
)
def test_extreme_values_are_shared(incomes: list[object], expected: str) -> None:
    table = pa.table({"sex": ["f", "m"] * 15, "income": incomes})
    schema = sf.Schema(["sex"], keep=["income"])
    found = judged(sf.read(table, schema), sf.StatisticsOffice())
    assert status(found, "top coding") == expected


@pytest.mark.parametrize(
    ("publish", "expected"), [(None, "violated"), ("group", "holds"), ("keep", "violated")]
)
def test_weights_of_single_people(publish: str | None, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text("sex,wgt\n" + "".join(f"{'fm'[row % 2]},{row}.5\n" for row in range(30)))
    schema = sf.Schema(["sex"], weight="wgt", publish_weight=publish)  # type: ignore[arg-type]
    assert status(judged(sf.read(path, schema), sf.StatisticsOffice()), "weights") == expected


def test_a_public_file_bounds_every_sensitive_column_also_against_outside_knowledge() -> None:
    table, rules = of_sizes(20, 20), sf.PublicFile()
    bare = judged(table, rules)
    assert status(bare, "group size") == "holds"
    assert status(bare, "values") == status(bare, "outside knowledge") == "violated"
    close = judged(table, rules, sf.TCloseness(0.2))
    assert (status(close, "values"), status(close, "outside knowledge")) == ("holds", "violated")
    her = sf.RealisticAdversary(shape="table", stubbornness=100)
    assert judged(table, rules, sf.EpsilonPrivacy(2.5, her)).status == "holds"


def test_a_public_file_has_no_column_as_it_is_unless_insisted_upon() -> None:
    table = pa.table({"sex": ["f", "m"] * 15, "town": ["a", "b", "c"] * 10})
    for insist, expected in (([], "violated"), (["town"], "holds")):
        schema = sf.Schema(["sex"], keep=["town"], insist=insist)
        found = judged(sf.read(table, schema), sf.PublicFile(k=2))
        assert status(found, "columns as they are") == expected


@pytest.mark.parametrize("name", RULE_SETS)
def test_direct_identifiers_and_free_text_stand_in_every_rule_set(name: str) -> None:
    notes = [f"call her again at 617-555-01{row:02d} please" for row in range(40)]
    table = pa.table({"sex": ["f", "m"] * 20, "note": notes})
    schema = sf.Schema(["sex"], keep=["note"], insist=["note"])
    found = judged(sf.read(table, schema), RULE_SETS[name]())
    assert found.status == "violated"
    text = next(one for one in found.paragraphs if one.name == "free text")
    assert text.status == "cannot_judge"
    assert "40" in text.reason


def test_a_policy_keeps_its_rule_set(tmp_path: Path) -> None:
    (tmp_path / "zips.csv").write_text("13053,30000\n")
    zips = sf.SafeHarbor(zip_population=tmp_path / "zips.csv", as_of=2024)
    for rules in (
        zips,
        sf.RiskThreshold(0.2, risk="average"),
        sf.StatisticsOffice(k=5),
        sf.PublicFile(),
    ):
        policy = sf.Policy([sf.KAnonymity(2)], profile=rules)
        policy.save(tmp_path / "policy.toml")
        again = sf.Policy.load(tmp_path / "policy.toml")
        assert again.profile == rules
        assert policy.public()["profile"] == rules.name


@pytest.mark.parametrize(
    ("profile", "code", "said"),
    [
        ("ema-0.09", 1, "does not hold"),
        ("statistics-office", 1, "does not hold"),
        ("hipaa-safe-harbour", 2, "did you mean 'hipaa-safe-harbor'?"),
    ],
)
def test_the_exit_code_is_the_verdict(tmp_path: Path, profile: str, code: int, said: str) -> None:
    run = run_audit(tmp_path, DATA, f"profile = '{profile}'\n{POLICY}")
    assert run.returncode == code
    assert said in run.stdout + run.stderr


@pytest.mark.parametrize(
    "keys",
    [
        'kind = "ema-0.09"\nrisk = "mean"',
        'kind = "public-file"\nk = 1',
        "k = 3",
        'kind = "ema-0.09"\nl = 2',
    ],
)
def test_wrong_keys_of_a_profile_are_refused_in_one_line(tmp_path: Path, keys: str) -> None:
    run = run_audit(tmp_path, DATA, f"{POLICY}\n[profile]\n{keys}\n")
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1


def test_the_public_are_told_no_reasons() -> None:
    policy = sf.Policy([sf.KAnonymity(1)], profile=sf.RiskThreshold())
    report = sf.audit(of_sizes(3, 12), policy).public()
    assert report.rules is not None
    assert {one.reason for one in report.rules.paragraphs} == {""}
    assert report.status == "violated"


def test_a_release_that_violates_a_paragraph_is_not_made() -> None:
    table = pa.table({"sex": ["f", "m"] * 15, "city": ["a", "b", "c"] * 10})
    schema = sf.Schema(["sex"], keep=["city"])
    policy = sf.Policy([sf.KAnonymity(2)], sf.Lattice(), profile=sf.SafeHarbor())
    with pytest.raises(sf.NoSafeRelease, match=r"\(B\).*city: 30 cells of places"):
        sf.anonymize(sf.read(table, schema), policy)
