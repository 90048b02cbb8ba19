"""A policy drafted from data: sensible guesses, nobody's values, and it runs as it is."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.datasets.census import census
from sfumato.policy.draft.guess import is_code, luhn, pattern_of
from sfumato.policy.draft.words import topic_of
from tests.examples import few
from tests.policy.draft.drafted_tables import german, lists_and_dates, two_hundred


def run(source: object, draft: sf.Draft) -> sf.Report:
    """Audit the source by the draft, unedited."""
    policy = draft.policy
    assert policy.schema is not None
    return sf.audit(sf.read(source, policy.schema, **policy.read.given_fields()), policy)


def schema_of(draft: sf.Draft) -> sf.Schema:
    assert draft.policy.schema is not None
    return draft.policy.schema


def criteria_of(draft: sf.Draft) -> list[sf.KAnonymity]:
    return list(draft.policy.require)


# -- data we know ---------------------------------------------------------------------------------


def test_the_census() -> None:
    table = census(5000)
    draft = sf.draft_policy(table)
    schema = schema_of(draft)
    assert schema.identifiers == ("name",)
    assert schema.quasi == ("age", "sex", "zip", "education", "marital", "work")
    assert schema.sensitive == ("income", "disease")
    assert schema.hierarchies["age"].widths == (5, 10, 20, 40)
    assert schema.hierarchies["zip"] == sf.mask()
    assert schema.hierarchies["sex"] == sf.suppression()
    assert schema.levels == {"income": 1}
    assert {c.name for c in draft.policy.require} == {
        "k-anonymity",
        "distinct-diversity",
        "t-closeness",
    }
    assert sf.KAnonymity(5) in draft.policy.require
    assert sf.TCloseness(0.2, sensitive="income", distance="ordered") in draft.policy.require
    assert run(table, draft).status == "violated"
    assert any("disease" in question for question in draft.questions)


def test_adult(data_folder: Path) -> None:
    file = data_folder / "adult" / "adult.csv"
    draft = sf.draft_policy(file)
    schema = schema_of(draft)
    assert set(schema.quasi) == {
        *("sex", "age", "race", "marital-status", "education"),
        *("native-country", "workclass", "occupation"),
    }
    assert schema.sensitive == ("salary-class",)
    assert draft.policy.read.given_fields() == {"delimiter": ";"}
    assert schema.hierarchies["age"] == sf.intervals([5, 10, 20, 40], top=75)
    assert sf.DistinctDiversity(2, sensitive="salary-class") in draft.policy.require
    assert '# "Married-civ-spouse" = ["fill me in"]' in draft.text
    assert "single out 46.5 % of rows" in draft.text
    assert run(file, draft).status == "violated"


def test_acs(data_folder: Path) -> None:
    file = data_folder / "acs2019" / "national.csv"
    draft = sf.draft_policy(file)
    schema = schema_of(draft)
    assert {"PUMA", "AGEP", "SEX", "MSP", "RAC1P", "HISP", "EDU", "INDP_CAT"} <= set(schema.quasi)
    # Population density follows from the place, the industry's code from its category's finer form.
    assert not {"DENSITY", "INDP", "PWGTP", "WGTP"} & {name for _, name in schema.roles()}
    assert set(schema.sensitive) == {"PINCP", "PINCP_DECILE", "POVPIP", "DVET", "DREM", "DPHY"}
    assert draft.policy.read.codes["PINCP"] == ("N",)  # under 15: no number, and not missing
    assert schema.domains["RAC1P"] == "categorical"  # codes
    assert schema.domains["MSP"] == "categorical"  # numbers and N
    assert "AGEP" not in schema.domains
    assert schema.hierarchies["PUMA"] == sf.mask()
    assert '# weight = "PWGTP"' in draft.text
    assert any('"PWGTP", "WGTP": a survey weight?' in question for question in draft.questions)
    assert any('"PINCP"' in question for question in draft.questions)
    asked = {(c.name, c.sensitive) for c in draft.policy.require}
    assert ("distinct-diversity", "PINCP_DECILE") in asked
    assert ("t-closeness", "PINCP") in asked
    # 98.7 % have the code N there: nobody can ask every group for three values of it.
    assert ("distinct-diversity", "DVET") not in asked
    assert ("t-closeness", "DVET") in asked
    assert run(file, draft).status == "violated"


# -- awkward data ---------------------------------------------------------------------------------


def test_semicolons_and_german_decimals(tmp_path: Path) -> None:
    file = tmp_path / "klinik.csv"
    file.write_text(german(), encoding="utf-8")
    draft = sf.draft_policy(file)
    schema = schema_of(draft)
    assert draft.policy.read.given_fields() == {"delimiter": ";", "decimal": ","}
    assert schema.person == "Patienten-Nr"
    assert schema.identifiers == ("Nachname",)
    assert {"PLZ", "Geburtsdatum", "Geschlecht"} <= set(schema.quasi)
    assert schema.sensitive == ("Jahreseinkommen", "Diagnose")
    assert schema.hierarchies["PLZ"] == sf.mask()
    assert schema.hierarchies["Geburtsdatum"].kind == "dates"
    assert schema.hierarchies["Jahreseinkommen"].kind == "intervals"
    table = sf.read(file, schema, **draft.policy.read.given_fields())
    assert table.people < 600
    assert sf.audit(table, draft.policy).status == "violated"


def test_lists_and_dates(tmp_path: Path) -> None:
    table = lists_and_dates()
    draft = sf.draft_policy(table)
    schema = schema_of(draft)
    assert {"born", "admitted", "sex"} <= set(schema.quasi)
    assert schema.hierarchies["born"].kind == "dates"
    assert schema.hierarchies["admitted"] == sf.dates("day", "month", "quarter", "year")
    assert {"diagnoses", "smoker"} == set(schema.sensitive)
    assert not {"visits", "where"} & {name for _, name in schema.roles()}
    assert run(table, draft).status == "violated"


def test_two_hundred_columns() -> None:
    table = two_hundred()
    draft = sf.draft_policy(table)
    schema = schema_of(draft)
    assert schema.identifiers == ("respondent_id",)
    assert {"age", "region"} <= set(schema.quasi)
    assert 3 <= len(schema.quasi) <= 12  # some answers single people out
    assert schema.sensitive == ("voted for",)
    assert '# weight = "survey_wgt"' in draft.text
    assert max(map(len, draft.text.splitlines())) <= 110
    assert run(table, draft).status == "violated"


NAMES = ['qu"ote', "back\\slash", "new\nline", "a.b [c]", "#hash", "=", "ümlaut 😀", "\x7f", " "]


def test_columns_of_any_name_and_kind() -> None:
    rng = random.Random(6)
    values = [rng.choice(["a", 'b"', "c\\", "\n", "\x7f"]) for _ in range(200)]
    table = pa.table(dict.fromkeys(NAMES, values))
    kinds = {
        "huge": pa.array([rng.randint(-(2**62), 2**62) for _ in range(200)]),
        "beyond": pa.array([2**64 - 1 - row % 3 for row in range(200)], pa.uint64()),
        "money": pa.array(
            [decimal.Decimal(row % 7) / 4 for row in range(200)], pa.decimal128(20, 9)
        ),
        "flag": pa.array([row % 3 == 0 for row in range(200)]),
        "nothing": pa.nulls(200),
        "always": pa.array(["x"] * 200),
        "time": pa.array([dt.time(row % 24) for row in range(200)]),
        "bytes": pa.array([b"\x00\xff"] * 200),
        "endless": pa.array([float("inf"), float("nan"), -1.5, 2.5] * 50),
    }
    for name, array in kinds.items():
        table = table.append_column(name, array)
    draft = sf.draft_policy(table)
    assert not {"nothing", "always", "time", "bytes"} & {n for _, n in schema_of(draft).roles()}
    assert run(table, draft).status in ("holds", "violated")


@pytest.mark.parametrize("name", ["name", "age", "x", "disease", "nothing", "zip"])
def test_one_column(name: str) -> None:
    values: dict[str, list[object]] = {
        "name": [f"Anna B{row}" for row in range(50)],
        "age": list(range(50)),
        "x": ["a"] * 50,
        "disease": ["flu", "cold"] * 25,
        "nothing": [None] * 50,
        "zip": ["01067"] * 50,
    }
    table = pa.table({name: values[name]})
    draft = sf.draft_policy(table)
    assert schema_of(draft).quasi == (name,)
    assert run(table, draft).status in ("holds", "violated")
    for rows in (1, 2):
        run(table.slice(0, rows), sf.draft_policy(table.slice(0, rows)))


@pytest.mark.parametrize("seed", range(few(30)))
def test_any_selection_of_columns_runs_as_it_is(seed: int, tmp_path: Path) -> None:
    """Tables put together at random, as Arrow and as text, drafted from all rows and from few."""
    rng = random.Random(seed)
    rows = rng.choice([1, 2, 10, 60, 400])
    makers = {
        "age": lambda row: rng.randint(0, 100),
        "zip": lambda row: f"{rng.randint(0, 99_999):05d}",
        "patient_id": lambda row: row // 3,
        "id": lambda row: row,
        "disease": lambda row: rng.choice(["flu", "cold", None]),
        "income": lambda row: round(rng.lognormvariate(10, 1), 2),
        "tax": lambda row: 0 if rng.random() < 0.98 else rng.randint(1, 10**6),
        "weight": lambda row: rng.random(),
        "n": lambda row: rng.randint(0, 4),
        "mixed": lambda row: rng.choice(["N", str(rng.randint(0, 300))]),
        "text": lambda row: "".join(rng.choices("abc ,;'\"äß", k=rng.randint(0, 90))),
        "tiny": lambda row: rng.random() * 1e-9,
        "vast": lambda row: rng.random() * 1e30,
        "day": lambda row: dt.date(rng.choice([1, 1970, 9999]), 1, 1),
        "when": lambda row: f"{rng.randint(1, 28):02d}.{rng.randint(1, 12):02d}.1980",
    }
    chosen = rng.sample(sorted(makers), rng.randint(1, len(makers)))
    table = pa.table({name: [makers[name](row) for row in range(rows)] for name in chosen})
    file = tmp_path / "any.csv"
    with file.open("w", encoding="utf-8") as stream:
        import csv

        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerows([chosen, *zip(*table.to_pydict().values(), strict=True)])
    for source in (table, file):
        for most in (1_000_000, 20):
            draft = sf.draft_policy(source, rows=most)
            assert draft.text == sf.draft_policy(source, rows=most).text
            run(source, draft)


# -- guesses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a@b.org", "c.d@e.de", "x+y@z.info"], "mail addresses"),
        (["4111 1111 1111 1111", "5500-0000-0000-0004", "340000000000009"], "card numbers (Luhn)"),
        (["123-45-6789", "987-65-4320"], "social security numbers"),
        (["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"], "IBANs"),
        (["+49 30 1234567", "(555) 123-4567", "0171/1234567"], "phone numbers"),
        (["Ada Lovelace", "O'Neill, Jack", "Otto von Bismarck"], "names of people"),
        (["10.0.0.1", "192.168.1.77"], "IP addresses"),
        (["2024-05-31", "2023-01-01"], None),
        (["01-01301", "24-01004"], None),
        (["4111111111111112", "1234567812345678"], None),
        (["Divorced", "Never married"], None),
        ([], None),
    ],
)  # fmt: skip
def test_values_that_name_people(values: list[str], kind: str | None) -> None:
    found = pattern_of(values, 1.0)
    assert (found.name if found else None) == kind


def test_luhn() -> None:
    assert luhn("79927398713")
    assert not luhn("79927398710")
    assert not luhn("")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("dateOfBirth", "quasi"),
        ("PLZ", "quasi"),
        ("Familienstand", "quasi"),
        ("Jahreseinkommen", "sensitive"),
        ("Religionszugehörigkeit", "sensitive"),
        ("sexual_orientation", "sensitive"),
        ("sex", "quasi"),
        ("HIV-status", "sensitive"),
        ("Vorstrafen", "sensitive"),
        ("Straße", "identifier"),
        ("first name", "identifier"),
        ("hospital_name", "quasi"),
        ("PatientID", "person"),
        ("Kunden-Nr", "person"),
        ("PWGTP", "weight"),
        ("sample_weight", "weight"),
        # Words inside other words say nothing.
        *((word, None) for word in ("usage", "selection", "learning", "environmental", "paid")),
        ("weight_kg", None),
    ],
)
def test_what_a_name_says(name: str, says: str | None) -> None:
    topic = topic_of(name)
    assert (topic.says if topic else None) == says


def test_codes_and_decimal_commas() -> None:
    assert is_code(["01067", "10115"])
    assert not is_code(["1067", "10115"])
    assert not is_code(["abcd", "efgh"])


def test_direct_identifiers_are_found_by_value() -> None:
    rng = random.Random(7)
    table = pa.table(
        {
            "a": [f"p{row}@mail.org" for row in range(300)],
            "b": [f"{rng.randint(100, 999)}-{rng.randint(10, 99)}-{row:04d}" for row in range(300)],
            "c": [f"+49 170 {1000000 + row}" for row in range(300)],
            "d": [f"{rng.choice(['Anna', 'Bert'])} Burman{row}" for row in range(300)],
            "e": list(range(300)),
            "age": [rng.randint(20, 60) for _ in range(300)],
        }
    )  # fmt: skip
    assert schema_of(sf.draft_policy(table)).identifiers == ("a", "b", "c", "d", "e")


def test_an_id_that_repeats_is_counted_by_and_asked_about() -> None:
    ids = [row // 3 for row in range(300)]
    age = [20 + row // 3 % 50 for row in range(300)]
    for name in ("patient_id", "id"):
        draft = sf.draft_policy(pa.table({name: ids, "age": age}))
        assert schema_of(draft).person == name
        assert any("does it name the person?" in question for question in draft.questions)
    lacking = sf.draft_policy(pa.table({"patient_id": [None, *ids[1:]], "age": age}))
    assert schema_of(lacking).person is None
    assert any("1 rows lack it" in question for question in lacking.questions)


def test_an_id_whose_rows_differ_in_sex_is_no_person() -> None:
    """Two rows a doctor, say: they are not about one person."""
    rng = random.Random(7)
    table = pa.table(
        {
            "id": [row // 2 for row in range(300)],
            "sex": [rng.choice("MF") for _ in range(300)],
            "age": [rng.randint(20, 69) for _ in range(300)],
        }
    )
    draft = sf.draft_policy(table)
    assert schema_of(draft).identifiers == ("id",)
    assert any("if it names a person, say person" in question for question in draft.questions)


def test_columns_without_a_telling_name_are_measured() -> None:
    rng = random.Random(8)
    rows = 2000
    table = pa.table(
        {
            "sex": [rng.choice("MF") for _ in range(rows)],
            "v1": [rng.randint(0, 40) for _ in range(rows)],
            "v2": [rng.randint(0, 40) for _ in range(rows)],
            "v3": [rng.choice([0] * 99 + [1]) for _ in range(rows)],
        }
    )
    draft = sf.draft_policy(table)
    assert schema_of(draft).quasi == ("sex", "v1", "v2")
    assert '"v3": adds little' in draft.text
    assert any('"v1", "v2"' in question for question in draft.questions)


def test_of_columns_that_say_the_same_one_is_enough() -> None:
    rng = random.Random(9)
    zips = [rng.choice(["10115", "10117", "20095", "20097", "80331"]) for _ in range(500)]
    cities = {"10": "Berlin", "20": "Hamburg", "80": "München"}
    table = pa.table({"zip": zips, "city": [cities[code[:2]] for code in zips]})
    draft = sf.draft_policy(table)
    assert schema_of(draft).quasi == ("zip",)
    assert '"city": follows from "zip"' in draft.text


# -- what the text shows and does not show --------------------------------------------------------


def test_no_values_of_people_beyond_few_categories() -> None:
    rng = random.Random(10)
    table = pa.table(
        {
            "name": [f"Xanthippe{row}" for row in range(400)],
            "city": [f"Town{rng.randint(0, 200)}" for _ in range(400)],
            "notes": [f"Saw Ms Quux{row} who told us a long story about everything" + "." * 20
                      for row in range(400)],
            "job": [rng.choice(["baker", "nurse", "judge", "pilot"]) for _ in range(400)],
            "disease": [rng.choice(["flu", "lupus", "gout"]) for _ in range(400)],
        }
    )  # fmt: skip
    draft = sf.draft_policy(table)
    shown = draft.text + "".join(draft.questions)
    for secret in ("Xanthippe", "Town1", "Quux"):
        assert secret not in shown
    assert '# "baker" = ["fill me in"]' in draft.text
    assert '# file = "city.csv"' in draft.text


def test_the_stubs_are_valid_once_uncommented() -> None:
    table = census(2000)
    text = sf.draft_policy(table).text
    for column in ("education", "marital", "work"):
        start = text.index(f"# [schema.hierarchies.{column}]")
        end = text.index("\n\n", start)
        stub = text[start:end].replace("# ", "")
        text = text[:start] + stub + text[end:]
    draft = sf.Draft(text, ())
    assert schema_of(draft).hierarchies["work"].kind == "taxonomy"
    assert run(table, draft).status == "violated"


def uncommented(text: str) -> tuple[str, str]:
    """The draft with its adversary active, and what was commented about her."""
    about, lines = text.split("# [[require]]\n")
    block = "\n".join(line.removeprefix("# ") for line in lines.splitlines())
    return about + "[[require]]\n" + block + "\n", about.rsplit("\n\n", 1)[1]


def test_an_adversary_waits_to_be_chosen_with_advice_and_loads_once_uncommented() -> None:
    table = census(2000)
    draft = sf.draft_policy(table)
    assert "epsilon-privacy" not in {c.name for c in draft.policy.require}
    text, advice = uncommented(draft.text)
    for word in (
        "previous release or a census",
        "size of that release or census",
        "less for old data",
        "Unsure of the shape: leave it out",
        "(class II)",
        "inf, which with at_most (the default) means every size",
    ):
        assert word in " ".join(advice.replace("#", "").split())
    chosen = sf.Draft(text, ())
    (criterion,) = [c for c in chosen.policy.require if c.name == "epsilon-privacy"]
    assert criterion == sf.EpsilonPrivacy(
        2.5, sf.RealisticAdversary("table", 2000), sensitive="income"
    )
    verdicts = {v.criterion: v for v in run(table, chosen).verdicts}
    assert verdicts["epsilon-privacy"].status == "violated"  # judged, not refused
    assert len(chosen.policy.require) == len(draft.policy.require) + 1


def test_the_choices_the_advice_names_load_as_well(tmp_path: Path) -> None:
    table = census(500)
    pq.write_table(census(700, seed=1), tmp_path / "last-year.parquet")
    text, _ = uncommented(sf.draft_policy(table).text)
    known = 'adversary = { shape = "table", stubbornness = 500 }'
    assert known in text
    classes = {
        '{ shape = { file = "last-year.parquet" } }': "I",
        "{ stubbornness = 500 }": "II",
        '{ shape = "table", stubbornness = inf }': "III",
    }
    for adversary, named in classes.items():
        path = tmp_path / "policy.toml"
        path.write_text(text.replace(known, f"adversary = {adversary}"), encoding="utf-8")
        policy = sf.Policy.load(path)
        (criterion,) = [c for c in policy.require if c.name == "epsilon-privacy"]
        assert criterion.adversary.adversary_class == named
        assert policy.schema is not None
        report = sf.audit(sf.read(table, policy.schema), policy)
        assert {v.criterion: v.status for v in report.verdicts}["epsilon-privacy"] == "violated"


def test_no_adversary_where_nothing_of_one_value_is_sensitive() -> None:
    table = pa.table({"age": list(range(20, 60)), "zip": ["10115", "20095"] * 20})
    assert "epsilon-privacy" not in sf.draft_policy(table).text


def test_a_sample_is_told_repeatable_and_tried_on_the_whole(tmp_path: Path) -> None:
    """One cell of 20,000 is no number: a share of the rows does not show it, the trial does."""
    rng = random.Random(11)
    ages = [str(rng.randint(18, 90)) for _ in range(20_000)]
    ages[12_345] = "4O"
    lines = [f"{age},{rng.choice('MF')},{rng.randint(0, 10**6)}" for age in ages]
    file = tmp_path / "rows.csv"
    file.write_text("age,sex,score\n" + "\n".join(lines) + "\n")
    drafts = {rows: sf.draft_policy(file, rows=rows) for rows in (500, 500, 1_000_000)}
    assert "Values were looked at in 1 of " in drafts[500].text
    assert "Values were looked at" not in drafts[1_000_000].text
    assert drafts[500].text == sf.draft_policy(file, rows=500).text
    for draft in drafts.values():
        assert schema_of(draft).domains["age"] == "categorical"
        run(file, draft)


def test_few_distinct_rows_need_no_sample() -> None:
    table = pa.table({"sex": ["M", "F"] * 7500, "age": [30, 31, 32] * 5000})
    draft = sf.draft_policy(table, rows=100)
    assert "Values were looked at" not in draft.text
    assert set(schema_of(draft).quasi) == {"sex", "age"}
    assert "single out 0.0 %" in draft.text


# -- reading, saving ------------------------------------------------------------------------------


def test_a_decimal_comma_is_read_where_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("x;code;day\n3,5;01.234;2024-01-01\n1.234,5;02.345;2024-01-02\n-7;A;\n;;\n")
    schema = sf.Schema(quasi=["x", "code", "day"])
    domains = sf.read(file, schema, decimal=",").counts.quasi
    assert domains[0].values == (-7, 3.5, 1234.5, None)
    assert domains[1].values == ("01.234", "02.345", "A", None)
    assert domains[2].kind == "date"
    assert sf.read(file, schema).counts.quasi == domains
    with pytest.raises(sf.InputError, match="decimal ';' is not allowed"):
        sf.read(file, schema, decimal=";")


def test_a_decimal_comma_keeps_the_guard_against_mixed_columns(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("x\n" + "".join(f'"{row},5"\n' for row in range(9)) + "4O\n")
    with pytest.raises(sf.InputError, match="mixes numbers and text"):
        sf.read(file, sf.Schema(quasi=["x"]), decimal=",")


def test_a_policy_keeps_how_its_file_is_read(tmp_path: Path) -> None:
    policy = sf.Policy([sf.KAnonymity(2)], read=sf.Reading(delimiter=";", decimal=","))
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml") == policy
    (tmp_path / "policy.toml").write_text('[read]\ndezimal = ","\n[[require]]\nkind = "k"\n')
    with pytest.raises(sf.PolicyError, match=r"unknown key 'dezimal' in \[read\]; did you mean"):
        sf.Policy.load(tmp_path / "policy.toml")


def test_thousands_are_asked_about(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(
        "age|paid\n" + "".join(f"{20 + row % 40}|{row},{row:03d}\n" for row in range(1, 99))
    )
    draft = sf.draft_policy(file)
    assert any("1,234 may be a thousand" in question for question in draft.questions)
    assert "decimal" not in draft.policy.read.given_fields()


def test_saving_is_whole_or_not_at_all(tmp_path: Path) -> None:
    draft = sf.draft_policy(census(200))
    file = tmp_path / "policy.toml"
    draft.save(file)
    assert file.read_text(encoding="utf-8") == draft.text
    assert [path.name for path in tmp_path.iterdir()] == ["policy.toml"]
    with pytest.raises(sf.InputError, match="exists"):
        draft.save(file)
    draft.save(file, force=True)
    with pytest.raises(sf.InputError, match="is a folder"):
        draft.save(tmp_path, force=True)
    with pytest.raises(sf.InputError, match="is no folder"):
        draft.save(tmp_path / "nowhere" / "policy.toml")


def test_what_cannot_be_drafted() -> None:
    with pytest.raises(sf.InputError, match="holds 0 rows"):
        sf.draft_policy(census(5).slice(0, 0))
    with pytest.raises(sf.InputError, match="no column that can be a category"):
        sf.draft_policy(pa.table({"x": [{"a": 1}]}))
    with pytest.raises(sf.InputError, match="rows = 0"):
        sf.draft_policy(census(5), rows=0)


def test_frames_are_drafted_like_files(tmp_path: Path) -> None:
    table = census(500)
    pq.write_table(table, tmp_path / "census.parquet")
    texts = [
        sf.draft_policy(source).text.split("\n", 1)[1]
        for source in (table, table.to_pandas(), tmp_path / "census.parquet")
    ]
    assert texts[0] == texts[1] == texts[2]


def test_codes_of_diseases_are_recognised_and_other_categories_may_be_cut_in_their_order() -> None:
    codes = ["I10.90", "E11.9", "C50.1", "J45.0"]
    table = pa.table(
        {
            "age": [20 + n % 60 for n in range(200)],
            "education": [str(n % 16 + 1) for n in range(200)],
            "diagnosis": [codes[n * 7 % 11 % 4] for n in range(200)],
        }
    )
    draft = sf.draft_policy(table)
    schema = schema_of(draft)
    assert schema.hierarchies["diagnosis"] == sf.icd10()
    assert "education" in schema.quasi
    assert "education" not in schema.hierarchies
    assert '# "10" = ["fill me in"]' in draft.text
