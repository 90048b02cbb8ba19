"""A draft counts people: keys that repeat are found, asked about, and counted by until answered."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import cycle
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.write.publish import OWNER, rows_with_owners
from tests.examples import few

ICD = [f"{letter}{number:02d}" for letter in "AEIJK" for number in (1, 10, 20, 45, 63)]


def discharges(key: str, patients: int = 1_100, rows: int = 2_000, seed: int = 1) -> pa.Table:
    """Discharges of a hospital: 1.8 rows a patient, some columns hers, some the stay's."""
    rng = random.Random(seed)
    people = [
        (
            f"0{30_000_000 + 7 * number}1",
            dt.date(1930, 1, 1) + dt.timedelta(days=rng.randint(0, 28_000)),
            rng.choice("MF"),
            f"0{rng.randint(1_000, 1_099)}",
        )
        for number in range(patients)
    ]
    order = [*range(patients), *(rng.randrange(patients) for _ in range(rows - patients))]
    rng.shuffle(order)
    return pa.table(
        {
            key: [people[one][0] for one in order],
            "birth_date": [people[one][1] for one in order],
            "sex": [people[one][2] for one in order],
            "zip": [people[one][3] for one in order],
            "admission_date": [
                dt.date(2023, 1, 1) + dt.timedelta(days=rng.randint(0, 364)) for _ in order
            ],
            "diagnosis": [rng.choice(ICD) for _ in order],
            "Total Cost ($)": [f"${rng.lognormvariate(9, 0.7):,.2f}" for _ in order],
        }
    )


def made(table: pa.Table, draft: sf.Draft) -> sf.Release:
    """Anonymize by the draft, unedited."""
    assert draft.policy.schema is not None
    return sf.anonymize(sf.read(table, draft.policy.schema), draft.policy, seed=1)


def flat(draft: sf.Draft) -> str:
    """Its text without line breaks and signs of comments."""
    return " ".join(draft.text.replace("#", "").split())


NAMES = [
    *("patient_id", "subject_id", "MRN", "SSN", "Versichertennummer", "Versicherten-Nr"),
    *("Patientennummer", "KVNR", "member", "person", "account", "Kundennummer", "NHS number"),
    *("numéro patient", "código paciente", "codice fiscale", "BSN", "x17"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_key_that_repeats_is_counted_by_and_asked_about(name: str) -> None:
    draft = sf.draft_policy(discharges(name, 220, 400))
    schema = draft.policy.schema
    assert schema is not None
    assert schema.person == name
    assert "does it name the person?" in draft.questions[0]
    assert "until you answer k counts its values, not rows" in draft.questions[0]
    assert "phone" not in draft.text


@pytest.mark.parametrize("each", [1.3, 2.5, 4])
def test_a_number_that_says_nothing_is_the_person_if_all_that_lasts_agrees(each: float) -> None:
    rng = random.Random(3)
    people = [(1_000_000 + 7919 * n, rng.randint(18, 90), rng.choice("MF")) for n in range(300)]
    order = [people[n % 300] for n in range(int(300 * each))]
    table = pa.table(
        {
            "ref": [one[0] for one in order],
            "age": [one[1] for one in order],
            "sex": [one[2] for one in order],
            "diagnosis": [rng.choice(ICD) for _ in order],
            "dose": [rng.randint(100, 400) for _ in order],
        }
    )
    schema = sf.draft_policy(table).policy.schema
    assert schema is not None
    assert schema.person == "ref"
    without = sf.draft_policy(table.drop_columns("ref")).policy.schema
    assert without is not None
    assert without.person is None  # a dose repeats, too, and is nobody's name


def test_a_discharge_file_can_be_published_by_its_draft_and_k_counts_patients() -> None:
    table = discharges("MRN")
    draft = sf.draft_policy(table)
    schema = draft.policy.schema
    assert schema is not None
    assert schema.quasi == ("birth_date", "sex", "zip", "admission_date")
    assert (schema.rows, schema.knows) == ("unlinked", "all")
    assert schema.identifiers == ()  # an amount of money names nobody
    assert any('differ in "admission_date"' in asked for asked in draft.questions)
    # k is promised to who knows one row; who knows more is told of, and can be bounded.
    assert "knows one row of somebody faces at least 5 people" in flat(draft)
    assert "1 in 5 at best" not in flat(draft)
    asked_too = draft.text.split("# [[require]]")[-1].replace("# ", "")
    assert 'kind = "several-rows"' in asked_too
    release = made(table, draft)
    assert release.people == 1_100
    assert release.to_arrow().num_rows == 2_000
    assert int(release.groups.sizes.min()) >= 5
    assert "They run as they are (tried on 2,000 rows)" in flat(draft)


@settings(max_examples=few(8), deadline=None)
@given(
    patients=st.integers(60, 160),
    more=st.floats(0.05, 2.0),
    name=st.sampled_from(["MRN", "x17", "member", "Versicherten-Nr"]),
    seed=st.integers(0, 2**20),
)
def test_groups_of_the_drafted_release_hold_k_different_people(
    patients: int, more: float, name: str, seed: int
) -> None:
    """Whatever the file looks like: k of the draft is a number of people."""
    table = discharges(name, patients, patients + max(20, int(patients * more)), seed)
    draft = sf.draft_policy(table)
    release = made(table, draft)
    assert draft.policy.schema is not None
    if draft.policy.schema.person == name:
        rows = rows_with_owners(release).to_pylist()
        assert len(rows) == table.num_rows
        groups: dict[tuple[str, ...], set[int]] = {}
        for row in rows:
            shown = tuple(row[column] for column in release.schema.quasi)
            groups.setdefault(shown, set()).add(row[OWNER])
        assert min(map(len, groups.values())) >= 5
    else:  # hardly any value repeats
        assert len(set(table[name].to_pylist())) / table.num_rows >= 0.999


def test_where_nothing_lasts_rows_are_published_one_by_one() -> None:
    rng = random.Random(2)
    table = pa.table(
        {
            "patient_id": [row // 3 for row in range(600)],
            "age": [rng.randint(20, 80) for _ in range(600)],
            "disease": [rng.choice(["flu", "cold", "gout"]) for _ in range(600)],
        }
    )
    draft = sf.draft_policy(table)
    assert draft.policy.schema is not None
    assert draft.policy.schema.person == "patient_id"
    assert draft.policy.schema.rows == "unlinked"
    release = made(table, draft)
    assert int(release.groups.sizes.min()) >= 5
    assert release.people == 200


def test_a_column_that_lasts_is_judged_by_diversity_although_rows_repeat() -> None:
    table = discharges("MRN", 300, 500)
    chronic = {
        key: ICD[place % 25] for place, key in enumerate(sorted(set(table["MRN"].to_pylist())))
    }
    lasting = [chronic[key] for key in table["MRN"].to_pylist()]
    table = table.set_column(5, "diagnosis", pa.array(lasting))
    draft = sf.draft_policy(table)
    assert sf.DistinctDiversity(3, sensitive="diagnosis") in draft.policy.require
    assert made(table, draft).people == 300


@pytest.mark.parametrize(
    ("weights", "l", "reason"),
    [
        ([1] * 25, 3, ""),
        ([75, 25], 2, ""),
        ([60, 30, 10], 3, ""),
        ([85, 8, 7], 2, ""),
        ([97, 3], 0, "97 % have the same value"),
    ],
)
def test_diversity_is_asked_for_where_values_are_diverse(
    weights: list[int],
    l: int,  # noqa: E741 (the literature's letter)
    reason: str,
) -> None:
    rng = random.Random(3)
    values = rng.choices([f"d{place}" for place in range(len(weights))], weights, k=2_000)
    values[: len(weights)] = [f"d{place}" for place in range(len(weights))]
    table = pa.table({"age": [rng.randint(20, 80) for _ in values], "disease": values})
    draft = sf.draft_policy(table)
    asked = [c.l for c in draft.policy.require if isinstance(c, sf.DistinctDiversity)]
    assert asked == ([l] if l else [])
    assert ("Diversity is not asked for" in flat(draft)) is (not l)
    assert reason in flat(draft)


def test_codes_among_numbers_count_as_values_where_diversity_is_asked_for(tmp_path: Path) -> None:
    """A rating that one in fifty has, and the others a code that says it is not about them."""
    rng = random.Random(4)
    rated = ["N" if rng.random() < 0.98 else str(10 * rng.randint(1, 6)) for _ in range(2_000)]
    file = tmp_path / "ratings.csv"
    rows = "\n".join(f"{rng.randint(20, 80)},{one}" for one in rated)
    file.write_text(f"age,disability\n{rows}\n", encoding="utf-8")
    draft = sf.draft_policy(file)
    assert draft.policy.read is not None
    assert draft.policy.read.codes == {"disability": ("N",)}
    assert not [c for c in draft.policy.require if isinstance(c, sf.DistinctDiversity)]
    assert "98 % have the same value" in flat(draft)


def test_a_table_too_small_for_k_says_so() -> None:
    draft = sf.draft_policy(pa.table({"age": [30, 31, 32], "disease": ["flu", "cold", "gout"]}))
    assert "no release can be made by this policy" in draft.questions[0]
    assert "They run as they are" not in draft.text
    with pytest.raises(sf.NoSafeRelease):
        made(pa.table({"age": [30, 31, 32], "disease": ["flu", "cold", "gout"]}), draft)


# -- households ----------------------------------------------------------------------------------


SPELLINGS: dict[str, Callable[[int], int | str]] = {
    "number": lambda one: 10_000 + one,
    "text": lambda one: f"H-{one:05d}",
    "small": lambda one: one,
    "long": lambda one: 2_023_000_000_000 + 17 * one,
}


def survey(key: str, spell: str = "number", households: int = 150) -> pa.Table:
    """Everybody of some households, one row a person."""
    rng = random.Random(5)
    spelt = SPELLINGS[spell]
    lives = [one for one in range(households) for _ in range(rng.choice((1, 2, 2, 3, 4, 5)))]
    origin = [rng.choice(["here", "north", "south", "abroad"]) for _ in range(households)]
    return pa.table(
        {
            key: [spelt(one) for one in lives],
            "birth_date": [
                dt.date(1930 + rng.randrange(85), 1 + rng.randrange(12), 3) for _ in lives
            ],
            "sex": [rng.choice("MF") for _ in lives],
            "origin": [origin[one] for one in lives],  # a household's alike
            "diagnosis": [rng.choice(ICD) for _ in lives],
        }
    )


HOUSEHOLDS = [
    *("household", "household_id", "householdId", "HH_ID", "hhid", "hh_nr", "family_id", "famid"),
    *("household_number", "Haushalt", "Haushaltsnr", "haushalt_id", "Familien-Nr", "id_menage"),
    *("idhogar", "family"),
]


@pytest.mark.parametrize(("name", "spell"), list(zip(HOUSEHOLDS, cycle(SPELLINGS), strict=False)))
def test_a_household_s_number_is_asked_about_and_not_published(name: str, spell: str) -> None:
    draft = sf.draft_policy(survey(name, spell))
    schema = draft.policy.schema
    assert schema is not None
    assert name in schema.identifiers
    assert name not in schema.quasi
    assert schema.person is None
    assert "does it name a household" in flat(draft)


@pytest.mark.parametrize("name", ["household_size", "household", "family", "persons_in_household"])
def test_how_many_live_together_is_still_told(name: str) -> None:
    table = survey("id_of_home")
    sizes = Counter(table.column("id_of_home").to_pylist())
    many = [sizes[one] for one in table.column("id_of_home").to_pylist()]
    told = table.drop_columns(["id_of_home"]).append_column(name, pa.array(many))
    draft = sf.draft_policy(told)
    assert draft.policy.schema is not None
    assert name not in draft.policy.schema.identifiers
    assert "does it name a household" not in flat(draft)


def test_a_family_number_whose_rows_are_one_body_s_is_taken_for_the_person() -> None:
    """Whoever is born on one day and has one sex is no family."""
    draft = sf.draft_policy(discharges("family_id"))
    assert draft.policy.schema is not None
    assert draft.policy.schema.person == "family_id"


@pytest.mark.parametrize(
    ("marks", "others", "asked"),
    [
        (["-9"] * 4, range(20, 90), ["-9"]),
        (["-9"] * 4 + ["-8"] * 3, range(20, 90), ["-9", "-8"]),
        (["999"] * 3, range(20, 90), ["999"]),
        (["98"] * 3 + ["99"] * 5, [1, 2, 3, 4] * 10, ["98", "99"]),
        (["-9"] * 4 + ["99"] * 5, [1, 2, 3, 4] * 10, ["-9", "99"]),
        (["-9"] * 4 + ["99"] * 2, [1, 2, 3, 4] * 10, ["-9"]),
        (["-9"] * 2, range(20, 90), []),  # a slip of the pen
        (["99"] * 5, range(20, 90), []),  # an age
        (["-9"] * 4, range(-5, 65), []),  # degrees
        (["-9"] * 80, range(20, 90), []),  # most rows
        (["-45"] * 5, range(20, 90), []),
    ],
)
def test_numbers_far_from_all_others_are_asked_about_and_stay_numbers(
    tmp_path: Path, marks: list[str], others: Iterable[int], asked: list[str]
) -> None:
    rows = [*marks, *map(str, others)]
    lines = [f"{'FM'[place % 2]},{cell},{'abc'[place % 3]}" for place, cell in enumerate(rows)]
    file = tmp_path / "survey.csv"
    file.write_text("\n".join(["sex,score,vote", *lines, ""]), encoding="utf-8")
    draft = sf.draft_policy(file)
    questions = [question for question in draft.asked if "far from it" in question.text]
    assert [question.columns for question in questions] == ([("score",)] if asked else [])
    assert all(f'"score": {", ".join(asked)} among' in question.text for question in questions)
    assert draft.policy.read.missing is None
    answered = sf.draft_policy(file, missing={"score": asked}) if asked else draft
    assert not any("far from it" in question for question in answered.questions)
    # Codes are of text: what the question advises must be accepted.
    typed = sf.draft_policy(pd.read_csv(file))
    assert sum("far from it" in question for question in typed.questions) == bool(asked)
    assert not any("in codes" in question for question in typed.questions)
