"""Keyed pseudonyms: linkable by their key, reversible by nobody else, in no file with a name."""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from sfumato.perturbation.pseudonyms import KeyedPseudonym, pseudonym
from sfumato.release.treatment import column_treatments
from tests.program import sfumato

SCHEMA = sf.Schema(
    quasi=["age"],
    sensitive="disease",
    pseudonyms=["patient"],
    hierarchies={"age": sf.intervals([10, 40])},
)
PEOPLE = pa.table(
    {
        "patient": [f"MRN-{1000 + 7 * place}" for place in range(40)],
        "age": [20 + place % 30 for place in range(40)],
        "disease": [("flu", "cold", "ulcer")[place % 3] for place in range(40)],
    }
)
POLICY = sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Mondrian())


def saved(
    out: Path, policy: sf.Policy = POLICY, rows: pa.Table = PEOPLE, **more: object
) -> pa.Table:
    release = sf.anonymize(sf.read(rows, SCHEMA), policy, seed=1)
    release.save(out, policy=policy)
    return pa_csv.read_csv(out / "public" / "data.csv")


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_pseudonyms_are_keyed_and_the_key_stays_at_home(tmp_path: Path) -> None:
    rows = saved(tmp_path / "out")
    key_file = tmp_path / "out" / "private" / "pseudonym.key"
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    key = bytes.fromhex(key_file.read_text())
    expected = {
        hmac.new(key, f"patient\0{name}".encode(), hashlib.sha256).hexdigest()[:16]
        for name in PEOPLE["patient"].to_pylist()
    }
    assert {*rows["patient"].to_pylist()} == expected
    public = everything_in(tmp_path / "out" / "public")
    assert key.hex().encode() not in public
    assert key not in public
    assert b"MRN-" not in public
    # Who tries every identifier without the key finds nobody.
    for name in PEOPLE["patient"].to_pylist():
        for guess in (name, f"patient\0{name}"):
            assert hashlib.sha256(guess.encode()).hexdigest()[:16].encode() not in public
    told = json.loads((tmp_path / "out" / "public" / "manifest.json").read_text())
    (column,) = [one for one in told["columns"] if one["name"] == "patient"]
    assert {name: column["perturbed"][name] for name in ("kind", "length")} == {
        "kind": "pseudonym",
        "length": 16,
    }


def test_the_same_key_joins_releases_and_another_does_not(tmp_path: Path) -> None:
    one = replace(POLICY, pseudonyms=sf.PseudonymKey(tmp_path / "one.key"))
    first = saved(tmp_path / "first", one)["patient"].to_pylist()
    again = saved(tmp_path / "again", one)["patient"].to_pylist()
    other = saved(tmp_path / "other")["patient"].to_pylist()
    assert {*first} == {*again}
    assert not {*first} & {*other}
    assert stat.S_IMODE((tmp_path / "one.key").stat().st_mode) == 0o600
    assert not (tmp_path / "first" / "private" / "pseudonym.key").exists()
    ledger = replace(POLICY, pseudonyms=sf.PseudonymKey(ledger=tmp_path / "ledger.sqlite"))
    kept = saved(tmp_path / "kept", ledger)["patient"].to_pylist()
    assert (tmp_path / "ledger.sqlite.key").exists()
    assert {*kept} == {*saved(tmp_path / "later", ledger)["patient"].to_pylist()}


def test_the_key_of_a_release_that_is_replaced_is_kept(tmp_path: Path) -> None:
    out, keys = tmp_path / "out", []
    for _ in range(3):
        release = sf.anonymize(sf.read(PEOPLE, SCHEMA), POLICY, seed=1)
        release.save(out, policy=POLICY, force=True)
        keys.append((out / "private" / "pseudonym.key").read_text())
    kept = [*(out / "private").glob("pseudonym-*.key")]
    assert {path.read_text() for path in kept} == {*keys[:2]}
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}


def test_rows_stand_in_an_order_that_tells_nothing_of_theirs(tmp_path: Path) -> None:
    policy = replace(POLICY, pseudonyms=sf.PseudonymKey(tmp_path / "key"))
    straight = saved(tmp_path / "straight", policy)
    reverse = saved(tmp_path / "reverse", policy, PEOPLE.take(list(range(39, -1, -1))))
    assert straight.equals(reverse)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    kept = sf.PseudonymKey(tmp_path / "hospital.key")
    made = kept.key()
    assert kept.key() == made
    (tmp_path / "hospital.key").chmod(0o640)
    with pytest.raises(sf.InputError, match="chmod 600"):
        kept.key()


def test_a_key_is_not_put_into_what_is_handed_out(tmp_path: Path) -> None:
    saved(tmp_path / "out")
    (tmp_path / "link").symlink_to(tmp_path / "out" / "public")
    for folder in (tmp_path / "out" / "public", tmp_path / "link"):
        with pytest.raises(sf.InputError, match="would be handed out"):
            sf.PseudonymKey(folder / "x.key").key()
    assert not list((tmp_path / "out" / "public").glob("*.key"))


def test_a_pseudonym_belongs_to_its_person(tmp_path: Path) -> None:
    rows = saved(tmp_path / "out")
    key = bytes.fromhex((tmp_path / "out" / "private" / "pseudonym.key").read_text())
    keyed = KeyedPseudonym.of(key, 16)
    own = dict(
        zip(
            keyed.cells("patient", PEOPLE["patient"].combine_chunks(), key).to_pylist(),
            PEOPLE["disease"].to_pylist(),
            strict=True,
        )
    )
    assert own == dict(zip(rows["patient"].to_pylist(), rows["disease"].to_pylist(), strict=True))


def test_read_back_it_is_judged_the_same_and_told_in_plain_words(tmp_path: Path) -> None:
    saved(tmp_path / "out")
    release = sf.read_release(tmp_path / "out", SCHEMA)
    report = sf.audit(release, POLICY)
    assert report.holds
    (note,) = [note for note in report.notes if note.startswith("patient")]
    assert "who holds the key can go back" in note
    assert "releases with the same key can be joined" in note
    told = {one.column: one.done for one in column_treatments(release)}
    assert told["patient"] == "pseudonym"


def test_an_identifier_is_never_published_by_another_way(tmp_path: Path) -> None:
    table = sf.read(PEOPLE, SCHEMA)
    rows = sf.generalize(table, {"age": 1}).to_arrow()
    assert "patient" not in rows.schema.names
    pa_csv.write_csv(PEOPLE, tmp_path / "raw.csv")
    raw = sf.audit(sf.read_release(tmp_path / "raw.csv", SCHEMA), POLICY)
    (finding, *_) = raw.findings
    assert (finding.verdict.criterion, finding.verdict.attribute) == ("identifiers", "patient")


def test_identifiers_are_taken_as_a_reader_sees_them() -> None:
    key = b"k" * 32
    keyed = KeyedPseudonym.of(key, 12)
    texts = [" Ann ", "Ann", "A\u200bnn", "ann", "\uff21nn", None, ""]
    shown = keyed.cells("x", pa.array(texts), key).to_pylist()
    assert len({shown[0], shown[1], shown[2], shown[4]}) == 1
    assert shown[3] != shown[0]
    assert shown[5] is shown[6] is None
    numbers = keyed.cells("x", pa.array([5.0, 7.0]), key).to_pylist()
    assert numbers == keyed.cells("x", pa.array([5, 7]), key).to_pylist()
    assert numbers[0] != keyed.cells("y", pa.array([5, 7]), key).to_pylist()[0]
    written = keyed.cells("x", pa.array(["5", "05", "5.0"]), key).to_pylist()
    assert written[0] == numbers[0]
    assert len({*written}) == 3  # who writes 05 may mean somebody else


def test_two_identifiers_with_one_pseudonym_are_refused() -> None:
    key, seen = b"k" * 32, dict[str, str]()
    for number in range(1_000_000):  # of eight digits some hundred thousand make a pair
        shown = pseudonym(key, "x", str(number), 8)
        if shown in seen:
            break
        seen[shown] = str(number)
    two = pa.array([seen[shown], str(number)])
    with pytest.raises(sf.InputError, match="take a greater length"):
        KeyedPseudonym.of(key, 8).cells("x", two, key)
    assert KeyedPseudonym.of(key, 16).cells("x", two, key).to_pylist()[0][:8] == shown


@pytest.mark.parametrize(
    ("schema", "rows", "why"),
    [
        ({}, pa.concat_tables([PEOPLE, PEOPLE]), "stand on several rows"),
        ({"keep": ["patient"]}, PEOPLE, "listed as keep and as pseudonyms"),
        ({"pseudonyms": ["pateint"]}, PEOPLE, "did you mean 'patient'"),
    ],
)
def test_what_would_give_more_away_is_refused(
    schema: dict[str, object], rows: pa.Table, why: str
) -> None:
    with pytest.raises(sf.SfumatoError, match=why):
        sf.anonymize(sf.read(rows, replace(SCHEMA, **schema)), POLICY)


FILE = """
[schema]
quasi = ["age"]
sensitive = ["disease"]
pseudonyms = ["patient"]
[schema.hierarchies]
age = { kind = "intervals", widths = [10, 40] }
[anonymizer]
kind = "mondrian"
[pseudonyms]
key_file = "hospital.key"
length = 20
[[require]]
kind = "k-anonymity"
k = 3
"""


def test_from_the_command_line(tmp_path: Path) -> None:
    pa_csv.write_csv(PEOPLE, tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(FILE)
    rules, out = ("--policy", tmp_path / "policy.toml"), tmp_path / "out"
    made = sfumato("anonymize", tmp_path / "people.csv", *rules, "--out", out, "--verbose")
    assert made.returncode == 0, made.stderr
    assert "keyed pseudonyms (HMAC-SHA256, 20 digits)" in " ".join(made.stdout.split())
    assert (tmp_path / "hospital.key").is_file()  # beside the policy
    assert sfumato("audit", out, *rules).returncode == 0
    rows = pa_csv.read_csv(out / "public" / "data.csv")
    assert Counter(map(len, rows["patient"].to_pylist())) == {20: 40}
    policy = sf.Policy.load(tmp_path / "policy.toml")
    assert sf.Policy.load(out / "private" / "policy.toml").pseudonyms == policy.pseudonyms


@pytest.mark.parametrize(
    ("change", "to", "why"),
    [
        ("length = 20", "length = 4", "use 8 to 64 digits"),
        ("length = 20", 'ledger = "l.sqlite"', "give key_file or ledger, not both"),
        ("length = 20", "lenght = 20", "did you mean 'length'"),
        ('"hospital.key"', '"words.txt"', "is no key of ours"),
        ('"hospital.key"', '"people.csv"', "others than its owner may read"),
    ],
)
def test_mistakes_are_answered_in_one_line(change: str, to: str, why: str, tmp_path: Path) -> None:
    pa_csv.write_csv(PEOPLE, tmp_path / "people.csv")
    (tmp_path / "people.csv").chmod(0o644)
    (tmp_path / "words.txt").touch(0o600)
    (tmp_path / "policy.toml").write_text(FILE.replace(change, to))
    rules = ("--policy", tmp_path / "policy.toml", "--out", tmp_path / "out")
    made = sfumato("anonymize", tmp_path / "people.csv", *rules)
    assert made.returncode == 2
    assert why in " ".join(made.stderr.split())
    assert not (tmp_path / "out").exists()


def test_nothing_is_said_to_hold_beside_releases_that_pseudonyms_join(tmp_path: Path) -> None:
    shared = replace(POLICY, pseudonyms=sf.PseudonymKey(tmp_path / "shared.key"))
    older, newer, apart = (
        sf.anonymize(sf.read(PEOPLE, SCHEMA), policy, seed=1) for policy in (shared, shared, POLICY)
    )
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(older, "older")
    joined, by_itself = ledger.check(newer), ledger.check(apart)
    assert (by_itself.status, joined.status) == ("holds", "could_not_judge")
    assert joined.joined == ("older",)
    assert any("pseudonyms of one key join" in note for note in joined.notes)
    bound = sf.CompositionBound(0.0, 1.0, ledger.path)
    assert sf.audit(apart, [bound]).holds
    (verdict,) = sf.audit(newer, [bound]).verdicts
    assert verdict.status == "cannot_judge"
    assert "join the new release to older" in verdict.note


# -- rows that a pseudonym links -------------------------------------------------------------------

VISITS = pa.table(
    {
        "patient": [f"MRN-{1000 + 7 * (place // 2)}" for place in range(60)],
        "age": [20 + place % 30 for place in range(60)],
        "disease": [("flu", "cold", "ulcer")[place % 3] for place in range(60)],
    }
)
LINKED = sf.Schema(
    quasi=["age"],
    sensitive="disease",
    person="patient",
    rows="linked",
    pseudonyms=["patient"],
    hierarchies={"age": sf.intervals([10, 40])},
)


def linked(out: Path, rows: pa.Table = VISITS, **key: object) -> dict[str, int]:
    """How many rows each published pseudonym has."""
    policy = replace(POLICY, pseudonyms=sf.PseudonymKey(**key))
    release = sf.anonymize(sf.read(rows, LINKED), policy, seed=1)
    release.save(out, policy=policy)
    return Counter(pa_csv.read_csv(out / "public" / "data.csv")["pseudonym"].to_pylist())


def test_linked_rows_have_the_pseudonym_of_their_person(tmp_path: Path) -> None:
    found = linked(tmp_path / "out")
    key = bytes.fromhex((tmp_path / "out" / "private" / "pseudonym.key").read_text())
    names = set(VISITS["patient"].to_pylist())
    assert found == {pseudonym(key, "patient", name, 16): 2 for name in names}
    public = everything_in(tmp_path / "out" / "public")
    assert key.hex().encode() not in public
    assert b"MRN-" not in public
    assert b"HMAC-SHA256" in (tmp_path / "out" / "public" / "codebook.csv").read_bytes()
    back = sf.read_release(tmp_path / "out")
    assert isinstance(back.perturbed["pseudonym"], KeyedPseudonym)
    assert sf.audit(back, [sf.KAnonymity(3)]).holds


def test_linked_pseudonyms_of_one_ledger_agree_over_releases_and_forms(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    first = linked(tmp_path / "first", ledger=ledger)
    later = linked(tmp_path / "later", VISITS.slice(20), ledger=ledger)
    assert {*later} < {*first}
    assert not {*linked(tmp_path / "other")} & {*first}
    gathered = replace(POLICY, pseudonyms=sf.PseudonymKey(ledger=ledger))
    each = saved(tmp_path / "gathered", gathered)["patient"].to_pylist()  # the same 30 among 40
    assert {*first} < {*each}


def test_a_cut_person_has_pseudonyms_that_do_not_tell_of_each_other(tmp_path: Path) -> None:
    lengths = [1] * 10 + [2] * 10 + [5]  # of five rows there is one person: she is cut
    person = [f"p{place}" for place, many in enumerate(lengths) for _ in range(many)]
    rows = pa.table(
        {
            "patient": person,
            "age": [20 + place % 20 for place in range(len(person))],
            "disease": [("flu", "cold", "ulcer")[place % 3] for place in range(len(person))],
        }
    )
    found = linked(tmp_path / "out", rows, key_file=tmp_path / "key", length=64)
    key = bytes.fromhex((tmp_path / "key").read_text())
    firsts = {pseudonym(key, "patient", f"p{place}", 64) for place in range(len(lengths))}
    others = {*found} - firsts
    assert others  # of the one who was cut
    secret = hmac.new(key, b"patient\0p20\0cut", hashlib.sha256).digest()
    derived = {hmac.new(secret, str(nth).encode(), hashlib.sha256).hexdigest() for nth in (1, 2, 3)}
    assert others <= derived
    again = linked(tmp_path / "again", rows, key_file=tmp_path / "key", length=64)
    assert {*again} == {*found}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pseudonyms": ["age2"]}, "it is by person; name 'patient' alone"),
        ({"rows": "unlinked", "pseudonyms": ["name"]}, "do not go together"),
    ],
)
def test_what_links_rows_is_the_person_column(change: dict[str, object], words: str) -> None:
    with pytest.raises(sf.SchemaError, match=words):
        replace(LINKED, **change)


def test_a_person_written_in_two_ways_has_no_keyed_pseudonym(tmp_path: Path) -> None:
    names = [f"p{place // 2}{' ' if place == 9 else ''}" for place in range(60)]
    rows = VISITS.set_column(0, "patient", pa.array(names))
    with pytest.raises(sf.SfumatoError, match="write each person one way"):
        linked(tmp_path / "out", rows)
