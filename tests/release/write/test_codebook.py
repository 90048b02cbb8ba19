"""The codebook: somebody who has nothing but public/ can read and reckon with it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

import sfumato as sf
from sfumato.datasets.census import census, census_schema
from sfumato.release.write.codebook import codebook_of
from tests.program import sfumato
from tests.report.pages import Page

CENSUS = census(300, seed=3)
SCHEMA = sf.Schema(
    quasi=["age", "sex", "zip"],
    sensitive="disease",
    identifiers=["name"],
    hierarchies={
        "age": sf.intervals([5, 10, 20]),
        "sex": sf.suppression(),
        "zip": census_schema().hierarchies["zip"],
    },
)
POLICY = sf.Policy([sf.KAnonymity(5)], suppression=0.2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = sf.read(CENSUS, SCHEMA)
    release = sf.generalize(table, {"age": 2, "zip": 4}, POLICY.require, POLICY.suppression)
    out = tmp_path_factory.mktemp("codebook") / "out"
    return release.save(out, report=sf.audit(release, POLICY), policy=POLICY)


def told(public: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((public / "codebook.json").read_text())
    return content


def test_a_recipient_gets_the_mean_by_following_the_codebook(folder: Path) -> None:
    """With pandas and codebook.json alone, as its words say: middles, half a step lower."""
    book = told(folder / "public")
    data = pd.read_csv(folder / "public" / book["files"][0], dtype=str, keep_default_na=False)
    (age,) = (one for one in book["columns"] if one["name"] == "age")
    labels = {label["text"]: label for label in age["labels"]}
    assert set(data["age"]) <= labels.keys()
    cells = [labels[cell] for cell in data["age"]]
    true = CENSUS.column("age").to_pylist()
    mean = sum(true) / len(true)
    assert pd.Series([cell["middle"] - 0.5 for cell in cells]).mean() == pytest.approx(mean, abs=1)
    low, high = (pd.Series([cell[end] for cell in cells]).mean() for end in ("low", "high"))
    assert low < mean < high


def test_labels_of_every_kind_say_what_they_stand_for(tmp_path: Path) -> None:
    schema = sf.Schema(
        quasi=["born", "zip", "zip3", "city", "ill", "big"],
        sensitive="s",
        keep=["note"],
        weight="w",
        publish_weight="group",
        hierarchies={
            "born": sf.dates("month", "year"),
            "zip": sf.mask(),
            "zip3": sf.zip3(["130"]),
            "city": sf.taxonomy({"ulm": "south", "bonn": "north", "kiel": "north"}),
            "ill": sf.icd10(),
            "big": sf.intervals([10], top=30),
        },
    )
    rows = {
        "born": [date(1990, 5, day) for day in (1, 2, 3, 4)],
        "zip": ["10115", "10117", "10119", None],
        "zip3": ["13053", "13068", "05901", "05902"],
        "city": ["bonn", "kiel", "bonn", "kiel"],
        "ill": ["I10", "I11", "I12", "I13"],
        "big": [31, 35, 39, 90],
        "s": ["a", "b", "a", "b"],
        "note": ["=1+1", "-cmd", "-7", "x"],
        "w": [1.0, 2.0, 3.0, 4.0],
    }
    table = sf.read(pa.table(rows), schema)
    release = sf.generalize(table, {"born": 1, "zip": 4, "zip3": 1, "city": 1, "ill": 2, "big": 1})
    public = release.save(tmp_path / "out", format="csv") / "public"
    book = told(public)
    columns = {one["name"]: one for one in book["columns"]}
    label = {name: columns[name]["labels"][-1] for name in schema.quasi}
    assert label["born"] == {
        "text": "1990-05",
        "kind": "range",
        "low": "1990-05-01",
        "high": "1990-06-01",
        "low_closed": True,
        "high_closed": False,
        "middle": "1990-05-16",
    }
    assert columns["zip"]["labels"] == [
        {"text": "1****", "kind": "mask"},
        {"text": "", "kind": "missing"},
    ]
    assert label["city"] == {"text": "north", "kind": "label", "values": ["bonn", "kiel"]}
    rest = {one["text"]: one for one in columns["zip3"]["labels"]}["000"]
    assert "too few people live there" in rest["values"][0]
    assert label["ill"]["kind"] == "family"
    assert (label["big"]["kind"], label["big"]["low"]) == ("bound", 30)
    assert "high" not in label["big"]
    assert "middle" not in label["big"]
    assert columns["note"]["what_was_done"] == "as it is, unprotected"
    assert any("number of people of the population" in words for words in book["analysis"])
    assert any(words.startswith("Import note as text") for words in book["analysis"])
    assert {"=1+1", "-cmd", "-7", "x"} == set(pd.read_csv(public / "data.csv", dtype=str)["note"])
    manifest = json.loads((public / "manifest.json").read_text())["columns"]
    assert {one["name"]: one["formula_cells"] for one in manifest if "formula_cells" in one} == {
        "note": 2
    }
    lines = pd.read_csv(public / "codebook.csv", dtype=str, keep_default_na=False)
    cells = lines[lines["cell"] != ""].set_index("cell")
    assert cells.loc["north", "means"] == "bonn; kiel"
    assert cells.loc[">=30", "means"] == "at least 30"
    assert cells.loc["1990-05", "middle"] == "1990-05-16"


def test_special_codes_are_told_from_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("pay,owes,s\n" + "50,N,a\nN,7,b\n-9,8,a\n60,9,b\n" * 3)
    schema = sf.Schema(["pay"], "s", keep=["owes"])
    table = sf.read(tmp_path / "t.csv", schema, codes={"pay": ["N", "-9"], "owes": ["N"]})
    book = told(sf.generalize(table, {}).save(tmp_path / "out") / "public")
    columns = {one["name"]: one for one in book["columns"]}
    assert {one["text"]: one["kind"] for one in columns["pay"]["labels"]} == {
        "N": "code",
        "-9": "code",
    }
    for name in ("pay", "owes"):
        (code,) = (one for one in columns[name]["notations"] if one["kind"] == "code")
        assert "no missing value" in code["use"]


def test_how_sure_counts_are_follows_from_the_cells(tmp_path: Path) -> None:
    table = sf.read(
        pa.table({"age": [*range(20, 40)] * 2, "sex": ["F", "M"] * 20, "s": ["a", "b"] * 20}),
        sf.Schema(["age", "sex"], "s", hierarchies={"age": sf.intervals([5, 10])}),
    )
    by_label = sf.generalize(table, {"age": 1}).save(tmp_path / "label") / "public"
    sure = {tuple(one["counts_by"]): one["sure"] for one in told(by_label)["questions"]}
    assert sure == {("age",): 1, ("sex",): 1, ("age", "sex"): 1, ("s",): 1}
    hidden = sf.generalize(table, {"age": 1, "sex": 1}).save(tmp_path / "hidden") / "public"
    answers = {tuple(one["counts_by"]): one for one in told(hidden)["questions"]}
    assert (answers[("sex",)]["sure"], answers[("age", "sex")]["sure"]) == (0, 0)
    assert answers[("sex",)]["words"].startswith("hardly")


def test_the_pages_are_small_open_offline_and_tell_no_suppressed_person(tmp_path: Path) -> None:
    table = sf.read(CENSUS, SCHEMA)
    policy = sf.Policy([sf.KAnonymity(5)], sf.Lattice(), suppression=0.1)
    release = sf.anonymize(table, policy, seed=1)
    assert release.suppressed
    out = release.save(tmp_path / "out", report=sf.audit(release, policy), policy=policy)
    for name in ("codebook.html", "report.html"):
        file = out / "public" / name
        assert file.stat().st_size < 100_000
        page = Page(file.read_text())
        assert [link for link in page.links if not link.startswith("#")] == []
        assert "default-src 'none'" in page.policy
        assert not any("Private" in text for text in page.texts)
    codebook = " ".join(Page((out / "public" / "codebook.html").read_text()).texts)
    assert f"{release.suppressed} people are not in the files" in codebook
    assert "name" not in {one["name"] for one in told(out / "public")["columns"]}


# -- guarded by the manifest -----------------------------------------------------------------------


def copied(folder: Path, tmp_path: Path) -> Path:
    public = tmp_path / "public"
    public.mkdir()
    for file in (folder / "public").iterdir():
        (public / file.name).write_bytes(file.read_bytes())
    return public


def test_the_manifest_lists_the_documents_which_may_be_left_out(
    folder: Path, tmp_path: Path
) -> None:
    public = copied(folder, tmp_path)
    beside = json.loads((public / "manifest.json").read_text())["beside"]
    assert beside.keys() == {"codebook.json", "codebook.csv", "codebook.html", "report.html"}
    assert sf.audit(sf.read_release(public, SCHEMA), POLICY).holds
    for name in beside:
        (public / name).unlink()
    assert sf.audit(sf.read_release(public, SCHEMA), POLICY).holds


@pytest.mark.parametrize("name", ["codebook.csv", "report.html"])
def test_a_document_that_was_changed_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    public = copied(folder, tmp_path)
    with (public / name).open("a") as file:
        file.write("Alice,34\n")
    with pytest.raises(sf.InputError, match=f"{name} was changed since the release was made"):
        sf.read_release(public, SCHEMA)


def test_no_other_file_passes_for_a_document(folder: Path, tmp_path: Path) -> None:
    public = copied(folder, tmp_path)
    manifest = json.loads((public / "manifest.json").read_text())
    (public / "people.csv").write_text("name\nAlice\n")
    with pytest.raises(sf.InputError, match="besides the data its manifest lists"):
        sf.read_release(public, SCHEMA)
    manifest["beside"]["people.csv"] = "0" * 64
    (public / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(sf.InputError, match="documents that are none of ours"):
        sf.read_release(public, SCHEMA)


def test_it_may_be_left_out(tmp_path: Path) -> None:
    release = sf.generalize(sf.read(CENSUS, SCHEMA), {"age": 3, "zip": 5})
    out = release.save(tmp_path / "out", codebook=False, format="csv")
    assert sorted(file.name for file in (out / "public").iterdir()) == [
        "data.csv",
        "manifest.json",
    ]
    assert "beside" not in json.loads((out / "public" / "manifest.json").read_text())


def test_the_command_writes_it_unless_told_not_to(tmp_path: Path) -> None:
    pcsv.write_csv(CENSUS, tmp_path / "people.csv")
    replace(POLICY, schema=SCHEMA, anonymizer=sf.Lattice()).save(tmp_path / "policy.toml")
    for name, more in (("with", ()), ("without", ("--no-codebook",))):
        out = tmp_path / name
        run = sfumato(
            "anonymize", tmp_path / "people.csv", "--policy", tmp_path / "policy.toml",
            "--out", out, *more,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        assert (out / "public" / "codebook.html").exists() == (name == "with")
        assert sfumato("audit", out, "--policy", tmp_path / "policy.toml").returncode == 0


def test_perturbed_columns_state_their_mechanism_and_nothing_of_the_table(tmp_path: Path) -> None:
    rows = {"age": [30] * 40, "s": ["a", "b"] * 20, "cost": [10.0 * n for n in range(40)]}
    schema = sf.Schema(["age"], ["s", "cost"])
    policy = sf.Policy(
        [sf.KAnonymity(5)], sf.Lattice(), perturb={"cost": sf.Rounding(100), "s": sf.Pram(stay=0.8)}
    )
    release = sf.anonymize(sf.read(pa.table(rows), schema), policy, seed=1)
    public = release.save(tmp_path / "out", report=sf.audit(release, policy)) / "public"
    book = told(public)
    assert any("each number is known to 50 either way" in words for words in book["analysis"])
    answers = {tuple(one["counts_by"]): one["words"] for one in book["questions"]}
    assert answers[("s",)] == "an estimate: values were altered by chance"
    assert answers[("cost",)] == "exact for those published"
    means = {one["name"]: one["notations"][0]["means"] for one in book["columns"]}
    assert means["s"].startswith("one value, after what was done: every value is kept with chance")
    assert means["age"] == "one value"
    shutil.rmtree(tmp_path / "out" / "private")
    manifest = json.loads((public / "manifest.json").read_text())
    seen = codebook_of(sf.read_release(public, schema), manifest)
    assert json.loads(seen.to_json()) == book


def test_centres_and_perturbed_columns_promise_no_more_than_they_keep(tmp_path: Path) -> None:
    """Sensitive values beside centres are exact; of perturbed columns only the table's is kept."""
    schema = sf.Schema(["age"], "disease", keep=["income"])
    for done in (sf.RankSwap(10), sf.ColumnMicroaggregation(3)):
        policy = sf.Policy([sf.KAnonymity(3)], sf.Microaggregation(3), perturb={"income": done})
        release = sf.anonymize(sf.read(CENSUS, schema), policy, seed=1)
        book = told(release.save(tmp_path / done.kind) / "public")
        assert [(one["counts_by"], one.get("sure")) for one in book["questions"]] == [
            (["age"], None),
            (["disease"], 1.0),
        ]
        (words,) = (line for line in book["analysis"] if line.startswith("income: "))
        assert "over everybody in the table" in words
