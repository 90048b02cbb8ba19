"""Kept columns of linked rows: every row has its own cell, and what that gives away is told."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.linked import LinkedPlacement
from sfumato.release.read.read_release import table_as_published

AGES = {"age": sf.intervals([10, 20])}
MAKERS = {"mondrian": sf.Mondrian(), "lattice": sf.Lattice(), "best": None}
visits = st.lists(
    st.lists(
        st.tuples(
            st.integers(20, 60), st.sampled_from("FM"), st.sampled_from("AB"), st.integers(1, 3)
        ),
        min_size=1,
        max_size=4,
    ),
    min_size=4,
    max_size=12,
)


def schema(**more: object) -> sf.Schema:
    roles = {"quasi": ["age", "sex"], "sensitive": "ill", "person": "who", "rows": "linked"}
    return sf.Schema(**{**roles, "hierarchies": AGES, "keep": ["row", "stay"], **more})


def frame(people: list[list[tuple]]) -> pd.DataFrame:
    """`row` is another text on each row: it tells which row of the table a published one is."""
    rows = [(f"p{number:02}", *row) for number, own in enumerate(people) for row in own]
    table = pd.DataFrame(rows, columns=["who", "age", "sex", "ill", "stay"])
    return table.assign(row=[f"r{number:03}" for number in range(len(table))])


def alone(published: pd.DataFrame, columns: list[str]) -> int:
    """How many pseudonyms have rows that, all together, nobody else has."""
    together = defaultdict(list)
    for row in published.astype(str).itertuples():
        together[row.pseudonym].append(tuple(getattr(row, column) for column in columns))
    kinds = Counter(tuple(sorted(rows)) for rows in together.values())
    return sum(people == 1 for people in kinds.values())


def noted(release: sf.Release, people: int, figures: tuple[int, int]) -> None:
    notes = "\n".join(release.notes)
    assert "published as they are, unprotected and unjudged: row, stay" in notes
    assert "stand beside each other" in notes
    assert f"{figures[0]:,} of {people:,} people are unlike anybody else" in notes
    assert f"show of quasi-identifiers {figures[1]:,}" in notes


@given(visits, st.sampled_from(sorted(MAKERS)), st.integers(2, 3))
def test_every_published_row_has_its_own_kept_cells(people, maker: str, k: int) -> None:
    table = frame(people)
    policy = sf.Policy([sf.KAnonymity(k)], anonymizer=MAKERS[maker], suppression=0.5)
    try:
        release = sf.anonymize(sf.read(table, schema()), policy, seed=3)
    except sf.NoSafeRelease:
        return
    published, rows = release.to_arrow().to_pandas(), table.set_index("row")
    assert published["row"].is_unique
    for pseudonym, own in published.groupby("pseudonym"):
        true = rows.loc[own["row"]]
        assert true["who"].nunique() == 1, pseudonym
        assert true["ill"].tolist() == own["ill"].tolist()
        assert true["stay"].tolist() == own["stay"].tolist()
    placement = release.placement
    assert isinstance(placement, LinkedPlacement)
    told = placement.linked.public()
    assert len(published) == told["rows"] == len(table) - told["rows_not_published"]
    # What is not published leaves nothing behind.
    assert set(published["row"]) <= set(table["row"])


@given(visits, st.booleans())
def test_who_is_alone_by_kept_cells_is_counted_from_what_is_published(people, raw: bool) -> None:
    table, known = frame(people), schema(keep=["stay"])
    read = sf.read(table, known)
    if raw:
        release = table_as_published(read)
        published = table.rename(columns={"who": "pseudonym"})
    else:
        release = sf.generalize(read, {"age": 2, "sex": 1}, suppression=0.0)
        published = release.to_arrow().to_pandas()
    figures = alone(published, ["stay"]), alone(published, ["stay", "age", "sex"])
    notes = [note for note in release.notes if "are unlike anybody else" in note]
    assert len(notes) == 1
    assert f"{figures[0]:,} of {len(people):,} people are unlike" in notes[0]
    assert notes[0].endswith(f"show of quasi-identifiers {figures[1]:,}")


def people_of(number: int, longest: int = 7) -> list[list[tuple]]:
    chance = np.random.default_rng(1)
    sizes = [1 + at % 3 for at in range(number)] + [longest]
    return [
        [
            (
                int(chance.integers(20, 60)),
                str(chance.choice(list("FM"))),
                str(chance.choice(list("AB"))),
                int(chance.integers(1, 4)),
            )
            for _ in range(size)
        ]
        for size in sizes
    ]


@pytest.mark.parametrize("maker", ["mondrian", "lattice"])
@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "xlsx", "sav", "dta"])
def test_kept_cells_are_written_and_read_back(tmp_path: Path, maker: str, form: str) -> None:
    table, out = frame(people_of(40)), tmp_path / "out"
    policy = sf.Policy(
        [sf.KAnonymity(3), sf.TCloseness(0.7)],
        anonymizer=MAKERS[maker],
        schema=schema(),
        suppression=0.1,
    )
    release = sf.anonymize(sf.read(table, schema()), policy, seed=5)
    report = sf.audit(release, policy)
    release.save(out, report=report, policy=policy, format=form)
    published = release.to_arrow().to_pandas()
    figures = tuple(
        alone(published, columns) for columns in (["row", "stay"], ["row", "stay", "age", "sex"])
    )
    assert figures[0] == release.people  # each row says which it is
    manifest = json.loads((out / "public/manifest.json").read_text())
    assert manifest["linked"]["people_of_several_pseudonyms"] == 1
    assert manifest["linked"]["alone_by_kept"] == figures[0]
    assert manifest["linked"]["alone_by_kept_and_cells"] == figures[1]
    roles = {column["name"]: column["role"] for column in manifest["columns"]}
    assert roles["row"] == roles["stay"] == "keep"
    noted(release, release.people, figures)
    for known in (schema(), None):
        read = sf.read_release(out, known)
        noted(read, release.people, figures)
        assert read.schema.keep == ("row", "stay")
        again = sf.audit(read, policy)
        assert [v.measured for v in again.verdicts] == [v.measured for v in report.verdicts]
        assert again.summary.keep == ("row", "stay")
    book = json.loads((out / "public/codebook.json").read_text())
    guarded = [words for words in book["analysis"] if words.startswith("Guard row, stay: kept")]
    assert len(guarded) == 1
    assert f"By them {figures[0]:,} of {release.people:,} people" in guarded[0]
    done = {column["name"]: column["what_was_done"] for column in book["columns"]}
    assert done["stay"] == "as it is, unprotected; those of a person's rows stand beside each other"
    page = (out / "public/report.html").read_text()
    assert "stand beside each other" in page
    assert "are unlike anybody else" not in page.split("Guard row")[0]


def test_the_data_file_alone_tells_the_same(tmp_path: Path) -> None:
    table = frame(people_of(30, longest=1))
    known = schema(keep=["stay"])
    release = sf.generalize(sf.read(table, known), {"age": 1, "sex": 1})
    release.save(tmp_path / "out")
    foreign = schema(keep=["stay"], person="pseudonym")
    read = sf.read_release(tmp_path / "out/public/data.csv", foreign)
    told = [[note for note in r.notes if "unlike anybody" in note] for r in (release, read)]
    assert told[0] == told[1]
    assert len(told[0]) == 1
    assert read.schema.keep == ("stay",)


def test_kept_cells_keep_their_types(tmp_path: Path) -> None:
    people = [f"p{number // 2}" for number in range(8)]
    cells = {
        "when": pa.array([dt.datetime(2024, 1, 1 + at, 5) for at in range(8)], pa.timestamp("us")),
        "cost": pa.array([Decimal(f"{at}.50") for at in range(8)], pa.decimal128(6, 2)),
        "kind": pa.array(["a", None, "c", "a"] * 2).dictionary_encode(),
        "rate": pa.array([0.5, None, float("nan"), 1.5] * 2),
        "late": pa.array([True, False, None, True] * 2),
    }
    table = pa.table({"who": people, "ward": ["x", "y"] * 4, "ill": list("ABABABAB"), **cells})
    known = sf.Schema(["ward"], "ill", person="who", rows="linked", keep=list(cells))
    release = sf.generalize(sf.read(table, known), {"ward": 0})
    published = release.to_arrow()
    for name, array in cells.items():
        plain = array.cast(array.type.value_type) if name == "kind" else array
        assert published.column(name).type == plain.type
        assert Counter(map(repr, published.column(name).to_pylist())) == Counter(
            map(repr, plain.to_pylist())
        )
    release.save(tmp_path / "out", format="parquet")
    assert sf.read_release(tmp_path / "out", known).people == 4


def test_the_order_of_the_table_does_not_matter() -> None:
    table = frame(people_of(20))
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian())
    one, other = (
        sf.anonymize(sf.read(given_, schema()), policy, seed=2).to_arrow()
        for given_ in (table, table.sample(frac=1, random_state=4))
    )
    assert one.equals(other)


def test_lists_are_not_kept() -> None:
    table = pa.table({"who": ["a", "b"], "ward": ["x", "x"], "ill": ["A", "B"], "all": [[1], [2]]})
    known = sf.Schema(["ward"], "ill", person="who", rows="linked", keep=["all"])
    with pytest.raises(sf.SchemaError, match="keep: column 'all' holds lists"):
        sf.read(table, known)


def test_kept_columns_are_offered_to_characterize() -> None:
    table = sf.read(frame(people_of(20)), schema(keep=["stay"]))
    named = sf.characterize(table, targets="stay")
    assert named.targets == ("stay",)
    everything = sf.characterize(table, targets="*")
    assert "stay" in everything.targets
    plain = sf.read(frame(people_of(20)), schema(sensitive=["ill", "stay"], keep=[]))
    judged = sf.characterize(plain, targets="stay")
    assert repr(named.findings) == repr(judged.findings)


def test_kept_columns_may_be_perturbed_value_by_value() -> None:
    table = frame(people_of(20)).assign(row="r")
    policy = sf.Policy(
        [sf.KAnonymity(2)],
        anonymizer=sf.Mondrian(),
        schema=schema(keep=["stay"]),
        perturb={"stay": sf.Rounding(2)},
    )
    release = sf.anonymize(sf.read(table, schema(keep=["stay"])), policy, seed=1)
    published = release.to_arrow().to_pandas()
    assert set(published["stay"]) <= {0, 2, 4}
    notes = "\n".join(release.notes)
    assert "unprotected and unjudged" not in notes
    assert f"{alone(published, ['stay']):,} of {release.people:,} people are unlike" in notes


def test_cells_of_a_text_file_stay_as_they_are_written(tmp_path: Path) -> None:
    """With what people protect besides, which the owner's copy keeps beside them."""
    text = "who,ward,ill,code,more cells,wish\n"
    for at in range(16):
        code = "007" if at % 4 else ""
        text += f"p{at // 2},{'xy'[at % 2]},{'AB'[at % 3 // 2]},{code},v {at},{at // 4}\n"
    (tmp_path / "visits.csv").write_text(text)
    known = sf.Schema(
        ["ward"],
        "ill",
        person="who",
        rows="linked",
        keep=["code", "more cells"],
        protect="wish",
        weight=None,
    )
    release = sf.generalize(sf.read(tmp_path / "visits.csv", known), {"ward": 1})
    release.save(tmp_path / "out")
    rows = pd.read_csv(tmp_path / "out/public/data.csv", dtype=str, keep_default_na=False)
    original = pd.read_csv(tmp_path / "visits.csv", dtype=str, keep_default_na=False)
    columns = ["ill", "code", "more cells"]
    assert sorted(map(tuple, rows[columns].to_numpy())) == sorted(
        map(tuple, original[columns].to_numpy())
    )
    copy = pd.read_csv(tmp_path / "out/private/rows.csv", dtype=str, keep_default_na=False)
    assert sorted(map(tuple, copy[[*columns, "wish"]].to_numpy())) == sorted(
        map(tuple, original[[*columns, "wish"]].to_numpy())
    )
    read = sf.read_release(tmp_path / "out", known)
    assert read.notes[:2] == release.notes[:2]
    assert read.by_row is not None
    assert read.by_row.groups.protected is not None


def test_rows_one_by_one_say_that_kept_values_may_link_them(tmp_path: Path) -> None:
    table = frame([[(20, "f", "flu", 1), (21, "f", "gout", 2)], [(20, "m", "flu", 3)]])
    schema = sf.Schema(["sex"], "ill", person="who", rows="unlinked", keep=["row"])
    release = sf.generalize(sf.read(table, schema), {"sex": 0})
    release.save(tmp_path / "out")
    without = sf.generalize(sf.read(table, replace(schema, keep=[])), {"sex": 0})
    for read, said in (
        (release, True),
        (sf.read_release(tmp_path / "out"), True),
        (without, False),
    ):
        assert any("as a pseudonym would" in note for note in read.notes) == said
