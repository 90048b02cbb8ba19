"""Policies: what is saved is what is loaded, through the same constructors."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf

SCHEMA = sf.Schema(
    quasi=["age", "zip", "edu", "born", "sex"],
    sensitive=["disease", "pay"],
    identifiers=['na"me'],
    keep=["ward"],
    person="who",
    hierarchies={
        "age": sf.intervals([5, 10], top=90, bottom=18),
        "zip": sf.mask(),
        "edu": sf.taxonomy({"B\\A": ["Higher"], "9th": ["School"]}),
        "born": sf.dates("year", "decade"),
        "sex": sf.suppression(),
        "pay": sf.intervals(cuts=[[10.5, 20], [20]]),
        "disease": sf.taxonomy({"flu": ["lung"], "cold": ["nose"]}),
    },
    domains={"sex": ["F", "M"], "age": "numeric"},
    units={"age": 0.5, "born": "month"},
    levels={"pay": 1},
)
CRITERIA = [
    sf.KAnonymity(5),
    sf.AlphaK(0.5, 3, sensitive="disease"),
    sf.DistinctDiversity(3),
    sf.EntropyDiversity(2.5),
    sf.RecursiveDiversity(3.0, 2),
    sf.TCloseness(0.2, distance="ordered", sensitive="pay"),
    sf.TCloseness(0.2, distance=SCHEMA.hierarchies["disease"], sensitive="disease"),
    sf.BetaLikeness(2.0, enhanced=True),
    sf.DeltaDisclosure(1.5),
]


def test_save_and_load_give_an_equal_policy(tmp_path) -> None:
    policy = sf.Policy(CRITERIA, schema=SCHEMA)
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml") == policy


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ('"fortnight"', "units: column 'born' has 'fortnight'"),
        ("-1", "larger than 0"),
        ("[1]", "born"),
    ],
)
def test_a_wrong_unit_is_told_in_one_line(tmp_path, unit: str, words: str) -> None:
    path = tmp_path / "policy.toml"
    text = f'[schema]\nquasi = ["born"]\n[schema.units]\nborn = {unit}\n'
    path.write_text(f'{text}[[require]]\nkind = "k-anonymity"\nk = 2\n')
    with pytest.raises(sf.SfumatoError, match=words) as told:
        sf.Policy.load(path)
    assert "\n" not in str(told.value)


def test_a_hierarchy_file_is_found_beside_the_policy(tmp_path) -> None:
    (tmp_path / "sex.csv").write_text("M;*\nF;*\n")
    (tmp_path / "policy.toml").write_text(
        '[schema]\nquasi = ["sex"]\n[schema.hierarchies]\n'
        'sex = { kind = "taxonomy", file = "sex.csv" }\n'
        '[[require]]\nkind = "k-anonymity"\nk = 2\n'
    )
    loaded = sf.Policy.load(tmp_path / "policy.toml")
    assert loaded.schema is not None
    assert loaded.schema.hierarchies["sex"].leaves() == ["M", "F"]


def test_a_policy_needs_criteria_about_its_own_columns() -> None:
    with pytest.raises(sf.PolicyError, match="at least one criterion"):
        sf.Policy([])
    with pytest.raises(sf.PolicyError, match="'x' is not a sensitive column; allowed: disease"):
        sf.Policy([sf.TCloseness(0.2, sensitive="x")], schema=SCHEMA)
    with pytest.raises(sf.PolicyError, match="'k=5' is not a criterion"):
        sf.Policy(["k=5"])  # type: ignore[list-item]


def test_a_table_says_its_kind_and_the_old_word_is_answered(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[[require]]\ncriterion = "k-anonymity"\nk = 5\n')
    with pytest.raises(sf.PolicyError) as told:
        sf.Policy.load(file)
    assert str(told.value).endswith(
        "[[require]] number 1: 'criterion' is called kind; write kind = \"k-anonymity\""
    )
    sf.Policy([sf.KAnonymity(5)], anonymizer=sf.Mondrian()).save(file)
    assert [line for line in file.read_text().splitlines() if line.startswith("kind")] == [
        'kind = "mondrian"',
        'kind = "k-anonymity"',
    ]


def test_a_key_of_the_policy_is_sent_to_its_top(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    asked = '[[require]]\nkind = "k-anonymity"\nk = 5\n'
    file.write_text(asked + '[anonymizer]\nkind = "mondrian"\nsuppression = 0.1\n')
    with pytest.raises(sf.PolicyError, match=r"suppression is no key .* at the top of the"):
        sf.Policy.load(file)
    file.write_text("suppression = 0.1\n" + asked + '[anonymizer]\nkind = "mondrian"\n')
    assert sf.Policy.load(file).suppression == 0.1


def test_a_fingerprint_does_not_depend_on_the_order_of_columns_in_a_file(tmp_path: Path) -> None:
    trees = {"zip": sf.mask(), "age": sf.intervals([5, 10]), "sex": sf.suppression()}
    made = [
        sf.Policy(
            [sf.KAnonymity(5)],
            schema=sf.Schema(["age", "zip", "sex"], "ill", hierarchies=dict(listed)),
        )
        for listed in (trees.items(), sorted(trees.items()))
    ]
    made[0].save(tmp_path / "policy.toml")
    again = sf.Policy.load(tmp_path / "policy.toml")
    assert len({policy.fingerprint for policy in (*made, again)}) == 1
    other = sf.Policy([sf.KAnonymity(5)], schema=sf.Schema(["age", "sex", "zip"], "ill"))
    assert other.fingerprint != made[0].fingerprint
