"""Whatever texts a table holds: its release is read again as what was published, or refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.release.release import Release
from tests.examples import few

SCHEMA = sf.Schema(
    quasi=["q"], sensitive="s", keep=["k"], domains=dict.fromkeys(["q", "s"], "categorical")
)
SIGNS = "\0\r\n\t\x0b\x0c\x1a\x1b\x1c\x85\u2028\ufeff\uffff\"'`,;|*{}[]()-<>=\\#+ a1é"
NOTATION = ["*", "{a, b}", "{}", "[1, 2)", "(missing)", ">=90", "1-5", "12*", "NA", "\\N", ""]
TEXT = st.one_of(st.text(SIGNS, max_size=4), st.sampled_from(NOTATION), st.none())


def content(release: Release) -> list[object]:
    groups = release.groups
    return sorted(
        (sorted(groups.counts_of(group).items()), int(groups.sizes[group]))
        for group in range(len(groups))
    )


@settings(max_examples=few(60))
@given(TEXT, TEXT, st.sampled_from(["csv", "parquet"]))
@example("a\0b", "y", "csv")
@example("y", "a\0b", "parquet")
@example("y", "", "csv")
@example("\ufeffa", "\r", "csv")
@example("\n", "\ufeff", "csv")
def test_a_release_is_read_as_it_was_published(
    tmp_path_factory: pytest.TempPathFactory, known: str | None, told: str | None, form: str
) -> None:
    quasi, sensitive = [known, known, "x", "x"], [told, "x", told, told]
    data = pa.table({name: pa.array(texts, pa.string()) for name, texts in
                     {"q": quasi, "s": sensitive, "k": sensitive}.items()})  # fmt: skip
    table = sf.read(data, SCHEMA)
    release = sf.generalize(table, {"q": 0}, [sf.KAnonymity(2)])
    out = tmp_path_factory.mktemp("release") / "out"
    if form == "csv" and any(text == "" or "\0" in (text or "") for text in (known, told)):
        with pytest.raises(sf.InputError, match=r"column '[qsk]' holds texts") as refused:
            release.save(out, format=form)
        assert "\0" not in str(refused.value)
        assert not out.exists()
        return
    release.save(out, format=form)
    again = sf.read_release(out)
    assert again.groups.values == release.groups.values
    assert content(again) == content(release)
    assert sf.audit(again, [sf.KAnonymity(2)]).holds


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "a\rb", " ", "\t", "\u2028", "a\x85", '"', "a,b"])
def test_a_name_that_no_header_can_have_is_not_written_as_text(tmp_path: Path, name: str) -> None:
    table = sf.read(pa.table({name: ["x", "x"]}), sf.Schema(quasi=[name]))
    release = sf.generalize(table, [0])
    if name in ("a\x85", '"', "a,b"):
        release.save(tmp_path / "text", format="csv")
        assert sf.read_release(tmp_path / "text").schema.quasi == (name,)
    else:
        with pytest.raises(sf.InputError, match="a CSV file cannot say so") as refused:
            release.save(tmp_path / "text", format="csv")
        assert "\n" not in str(refused.value)
        assert not (tmp_path / "text").exists()
    release.save(tmp_path / "out", format="parquet")
    assert sf.read_release(tmp_path / "out").schema.quasi == (name,)


def test_empty_texts_of_a_kept_column_are_published(tmp_path: Path) -> None:
    data = pa.table({"q": ["x", "x"], "s": ["u", "v"], "k": ["", "y"]})
    sf.generalize(sf.read(data, SCHEMA), [0]).save(tmp_path / "out")
    assert sf.read_release(tmp_path / "out").people == 2


def test_half_a_sign_in_pandas_is_one_line() -> None:
    frame = pd.DataFrame({"q": ["a\ud800", "b"], "s": ["u", "v"], "k": ["", ""]}, dtype=object)
    with pytest.raises(sf.InputError, match="column 'q'") as refused:
        sf.read(frame, SCHEMA)
    assert "\n" not in str(refused.value)


def test_an_empty_list_is_published_as_one(tmp_path: Path) -> None:
    schema = sf.Schema(quasi=["q"], sensitive="s", lists={"s": ";"})
    data = pa.table({"q": ["a"] * 3, "s": ["u;v", "", "u"]})
    sf.generalize(sf.read(data, schema), [0]).save(tmp_path / "out")
    assert sf.read_release(tmp_path / "out").people == 3


WAYS = [None, "", " ", "(missing)", "*", " *", "12*", "12* ", "{a}", " {a}", "a", "a ", "1-5"]
WAYS += [
    "1 - 5",
    "[1, 2)",
    "[1,2)",
    "20-29",
    "30-39",
    "90+",
    ">=90",
    "unknown",
    "[1, 2) or (missing)",
]
MAKERS = {
    "mondrian": (sf.Mondrian(), sf.KAnonymity(2)),
    "lattice": (sf.Lattice(), sf.KAnonymity(2)),
    "anatomy": (sf.Anatomy(2), sf.DistinctDiversity(2)),
    "microaggregation": (sf.Microaggregation(2), sf.KAnonymity(2)),
}


@settings(max_examples=few(60))
@given(
    st.lists(st.sampled_from(WAYS), min_size=2, max_size=5, unique=True),
    st.sampled_from(sorted(MAKERS)),
    st.sampled_from(["csv", "parquet"]),
)
@example(["20-29", "30-39", "90+", "unknown"], "mondrian", "csv")
@example(["20-29", "30-39", "90+", "unknown"], "anatomy", "csv")
@example(["", None], "mondrian", "parquet")
@example(["1-5", "a"], "microaggregation", "csv")
def test_values_that_say_the_same_are_refused_or_read_again(
    tmp_path_factory: pytest.TempPathFactory, values: list[str | None], maker: str, form: str
) -> None:
    schema = sf.Schema(quasi=["q"], sensitive="s")
    known = pa.array([value for value in values for _ in range(3)], pa.string())
    table = sf.read(pa.table({"q": known, "s": ["u", "v", "w"] * len(values)}), schema)
    anonymizer, promised = MAKERS[maker]
    out = tmp_path_factory.mktemp("release") / "out"
    told = None
    try:
        release = sf.anonymize(table, sf.Policy([promised], anonymizer), seed=1)
        release.save(out, format=form)
    except sf.InputError as refused:
        told = str(refused)
    if told is not None:
        assert told.startswith("column 'q'")
        assert "\n" not in told
        assert not out.exists()
        return
    assert content(sf.read_release(out)) == content(release)
    assert content(sf.read_release(out, schema)) == content(release)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_bands_that_are_words_are_microaggregated_and_read_again(tmp_path: Path, form: str) -> None:
    bands = ["20-29", "30-39", "40-49", "unknown"]
    rows = {"band": [bands[i % 4] for i in range(24)], "s": ["ab"[i % 5 == 0] for i in range(24)]}
    table = sf.read(pa.table(rows), sf.Schema(quasi=["band"], sensitive="s"))
    release = sf.Microaggregation(3).run(Task(table, (sf.KAnonymity(3),)))
    release.save(tmp_path / "out", format=form)
    again = sf.read_release(tmp_path / "out")
    assert {again.regions.describe(group)["band"] for group in range(len(again.groups))} <= {*bands}
    assert content(again) == content(release)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_long_fractions_are_read_again(tmp_path: Path, maker: str, form: str) -> None:
    """They are codes, told apart to the last digit: in the sets that Mondrian publishes, too."""
    data = tmp_path / "people.csv"
    fractions = [f"0.1234567890123456789{digit}" for digit in range(10)]
    data.write_text("q,s\n" + "".join(f"{q},{s}\n" for q in fractions for s in "uv"))
    schema = sf.Schema(quasi=["q"], sensitive="s")
    anonymizer, promised = MAKERS[maker]
    release = sf.anonymize(sf.read(data, schema), sf.Policy([promised], anonymizer), seed=1)
    release.save(tmp_path / "out", format=form)
    assert content(sf.read_release(tmp_path / "out")) == content(release)


def test_sets_of_numbers_that_differ_in_their_last_digits() -> None:
    """Two people whom a float would make one: exactly read, or refused where it is a quantity."""
    begin = "0.1234567890123456789"
    shown = pa.table({"q": [f"{{{begin}1, {begin}2}}", f"{{{begin}3, {begin}4}}"], "s": ["u", "v"]})
    release = sf.read_release(shown, sf.Schema(quasi=["q"], sensitive="s"))
    assert len(release.groups) == 2
    split = pa.table({"q": [f"{begin}1~{begin}20", f"{begin}10~{begin}2"], "s": ["u", "v"]})
    with pytest.raises(sf.InputError, match="say the same"):
        sf.read_release(split, sf.Schema(quasi=["q"], sensitive="s"), separator="~")
    with pytest.raises(sf.InputError, match="more digits than can be told apart"):
        sf.read_release(shown, sf.Schema(["q"], "s", domains={"q": "numeric"}))


@pytest.mark.parametrize(
    "bands", [["06-07502", "06-08507", "06-01234"], ["18-64", "65+", "<18"], ["65+", "<18", "x"]]
)
def test_sets_of_words_that_look_like_ranges_are_published_and_read_again(
    tmp_path: Path, bands: list[str]
) -> None:
    frame = pd.DataFrame({"q": bands[:2] * 2 + bands[2:] * 4, "s": ["a", "b", "b", "a"] * 2})
    table = sf.read(frame, sf.Schema(quasi=["q"], sensitive="s"))
    tight = sf.Mondrian(regions="tight")
    release = sf.anonymize(table, sf.Policy([sf.KAnonymity(4)], anonymizer=tight))
    assert len(release.groups) == 2
    release.save(tmp_path / "out")
    again = sf.read_release(tmp_path / "out")
    assert sorted(part.text for part in again.regions.parts[0]) == sorted(
        part.text for part in release.regions.parts[0]
    )
    assert content(again) == content(release)
    assert again.disjoint


def test_a_copy_of_the_public_part_is_called_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = sf.read(pa.table({"age": [1, 1, 2, 2]}), sf.Schema(["age"]))
    sf.generalize(table, {}).save(tmp_path / "june")
    shutil.copytree(tmp_path / "june" / "public", tmp_path / "handed-out")
    monkeypatch.chdir(tmp_path)
    for place, label in (("june", "june"), ("june/public", "june"), ("handed-out", "handed-out")):
        assert sf.read_release(place).label == label
    monkeypatch.chdir(tmp_path / "june" / "public")
    assert sf.read_release(".").label == "june"
