"""Special codes among numbers and dates: values of their own, whoever anonymizes and reads them."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.locating.targets import read_targets
from sfumato.schema.boundaries import boundaries_of
from sfumato.schema.domain import Domain
from sfumato.schema.notation import Notation
from sfumato.schema.recipes import suppression
from sfumato.schema.region import Span, cover, meaning
from tests.examples import few

CODES = {"income": ["N", "-9", "not told"], "seen": ["never"]}
SCHEMA = sf.Schema(["age", "income", "seen"], "ill")
SPECIALS = st.sets(st.sampled_from(["N", "-9", "not told", "a, b", "x or y", None]), min_size=1)


def people(path: Path, seed: int, rows: int = 120) -> Path:
    """A German file in which many have a code, or nothing, where others have a number or date."""
    chance = random.Random(seed)
    lines = ["age;income;seen;ill"]
    for _ in range(rows):
        income = chance.choice([*CODES["income"], "", *[f"{chance.randrange(40, 99)},5"] * 6])
        day = f"{chance.randrange(1, 29):02}.0{chance.randrange(1, 10)}.2021"
        seen = chance.choice(["never", "", day, day, day])
        lines.append(f"{chance.randrange(20, 60)};{income};{seen};{chance.choice(['flu', 'gout'])}")
    path.write_text("\n".join(lines) + "\n")
    return path


def read(path: Path) -> sf.Table:
    return sf.read(path, SCHEMA, codes=CODES)


@pytest.mark.parametrize(
    "maker",
    [
        sf.Mondrian(),
        sf.Mondrian(regions="cell"),
        sf.Mondrian(regions="hierarchy"),
        sf.Mondrian(strict=False),
        sf.Lattice(),
        sf.Deal(),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_cell_holds_its_people_and_is_read_back(
    tmp_path: Path, maker: Any, seed: int
) -> None:
    table = read(people(tmp_path / "a.csv", seed))
    release = sf.anonymize(table, sf.Policy([sf.KAnonymity(4)], maker), seed=seed)
    placement, regions = release.placement, release.regions.require_regions()
    assert placement is not None
    for column, domain in enumerate(table.counts.quasi):
        parts = regions.parts[column]
        for which, group in zip(placement.tuples, placement.groups, strict=True):
            value = domain.values[table.counts.codes[column][which]]
            region = parts[regions.codes[column][group]]
            assert region.contains(value), (region, value)
    release.save(tmp_path / "out")
    again = sf.read_release(tmp_path / "out", SCHEMA)
    assert sorted(again.groups.sizes.tolist()) == sorted(release.groups.sizes.tolist())
    shown = [{meaning(part) for part in parts} for parts in regions.parts]
    for mine, parts in zip(shown, again.regions.require_regions().parts, strict=True):
        assert {meaning(part) for part in parts} <= mine
    first, second = (sf.audit(one, [sf.KAnonymity(4)]) for one in (release, again))
    assert first.verdicts[0].measured == second.verdicts[0].measured
    alone = sf.read_release(tmp_path / "out" / "public" / "data.csv", SCHEMA, codes=CODES)
    for kinds, parts in zip(shown, alone.regions.require_regions().parts, strict=True):
        assert {meaning(part) for part in parts} <= kinds


def test_a_data_file_alone_may_show_codes_together(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    cells = ["{-9, N}", "[20, 30) or {-9, N}", "[30, 40)", '{N, "x or y"}', "x or y"]
    lines = [f'"{cell.replace(chr(34), 2 * chr(34))}",a' for cell in cells]
    file.write_text("\n".join(["income,ill", *lines * 2, ""]))
    codes = {"income": ["N", "-9", "x or y"]}
    release = sf.read_release(file, sf.Schema(["income"], "ill"), codes=codes)
    (parts,) = release.regions.require_regions().parts
    assert {part.text for part in parts} == set(cells)
    assert sum(isinstance(part, Span) for part in parts) == 2


def test_values_come_out_as_they_went_in(tmp_path: Path) -> None:
    file = people(tmp_path / "a.csv", 3)
    table = read(file)
    sf.generalize(table, {}).save(tmp_path / "out")
    came, went = (path.read_text() for path in (file, tmp_path / "out" / "public" / "data.csv"))
    plain = sorted(went.replace('"', "").splitlines()[1:])
    assert plain == sorted(came.splitlines()[1:])
    for levels in ({"income": 1}, {"seen": 1}):
        sf.generalize(table, levels).save(tmp_path / f"out{len(str(levels))}")


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "xlsx", "sav", "dta", "xpt"])
def test_codes_are_no_words_in_whatever_format_they_were_published(
    tmp_path: Path, form: str
) -> None:
    file = people(tmp_path / "a.csv", 5)
    schema = sf.Schema(["age"], "income", keep=["seen"], hierarchies={"age": sf.intervals([5])})
    bounds = [sf.KAnonymity(1), sf.TCloseness(0.9, distance="ordered")]
    release = sf.generalize(sf.read(file, schema, codes=CODES), {"age": 1}, bounds)
    release.save(tmp_path / "out", format=form)
    again = sf.read_release(tmp_path / "out", schema)
    first, second = (sf.audit(one, bounds).verdicts for one in (release, again))
    assert [verdict.measured for verdict in first] == [verdict.measured for verdict in second]
    assert second[1].measured is not None


def test_a_workbook_has_codes_among_its_numbers_and_dates(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    chance = random.Random(6)
    book = openpyxl.Workbook()
    rows = [
        [
            chance.randrange(20, 60),
            chance.choice([-9, "N", *[chance.randrange(40, 99) + 0.5] * 5]),
            chance.choice(["never", *[dt.datetime(2021, 5, chance.randrange(1, 29))] * 5]),
            chance.choice(["flu", "gout"]),
        ]
        for _ in range(120)
    ]
    for row in [["age", "income", "seen", "ill"], *rows]:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    draft = sf.draft_policy(tmp_path / "a.xlsx")
    assert draft.policy.read.codes == {"income": ("N",), "seen": ("never",)}
    schema = sf.Schema(["age", "income", "seen"], "ill", hierarchies={"income": sf.intervals([20])})
    table = sf.read(tmp_path / "a.xlsx", schema, codes={"income": ["N", "-9"], "seen": ["never"]})
    assert table.counts.quasi[1].specials == ("N", "-9")
    sf.generalize(table, {}).save(tmp_path / "out")
    page = openpyxl.load_workbook(tmp_path / "out" / "public" / "data.xlsx").active
    told = [[cell.value for cell in row] for row in page.iter_rows(min_row=2)]
    assert sorted(map(str, told)) == sorted(map(str, rows))
    sf.generalize(table, {"income": 1}).save(tmp_path / "ranges")
    page = openpyxl.load_workbook(tmp_path / "ranges" / "public" / "data.xlsx").active
    # Beside ranges all are texts.
    assert {cell.value for cell in page["B"]} > {"N", "-9", "[40, 60)"}


def test_sensitive_codes_are_values_of_their_own(tmp_path: Path) -> None:
    schema = sf.Schema(
        ["age"], "income", hierarchies={"income": sf.intervals([20])}, levels={"income": 1}
    )
    table = sf.read(people(tmp_path / "a.csv", 4), schema, codes=CODES)
    release = sf.generalize(table, {"age": 1})
    assert set(release.groups.values) >= {"N", "-9", "not told", "(missing)", "[40, 60)"}
    release.save(tmp_path / "out")
    again = sf.read_release(tmp_path / "out", schema)
    assert again.groups.values == release.groups.values
    assert (again.groups.dense() == release.groups.dense()).all()


@given(SPECIALS, st.integers(-50, 50), st.integers(1, 9), st.booleans())
@settings(max_examples=few(60))
def test_ranges_with_codes_beside_them_are_read_as_written(
    specials: set[str | None], low: int, width: int, one_sided: bool
) -> None:
    span = Span(low, float("inf") if one_sided else low + width, beside=frozenset(specials))
    words = frozenset(special for special in specials if special is not None)
    known = Notation("numeric", specials=words).read(span.text)
    assert known is not None
    assert meaning(known) == meaning(span)
    for value in (low, low - 1, low + width, None, "N", "-9", "other"):
        assert known.contains(value) == span.contains(value)
        assert span.contains(value) == (
            value in specials
            if value is None or isinstance(value, str)
            else low <= value and (one_sided or value < low + width)
        )
    if words:
        assert not isinstance(Notation("numeric").read(span.text), Span)  # nothing is guessed


@given(st.integers(2, 7), st.integers(0, 3), st.booleans(), st.data())
@settings(max_examples=few(60))
def test_cells_of_blocks_tell_the_codes_of_the_blocks(
    numbers: int, codes: int, null: bool, data: st.DataObject
) -> None:
    """By counting: which values of the domain lie in the cell of every run of blocks."""
    values = (*range(0, 10 * numbers, 10), *"NRX"[:codes], *([None] if null else []))
    domain = Domain("x", "numeric", values)
    bounded = boundaries_of(suppression().bind(domain), None, np.full(len(values), 5))
    assert bounded is not None
    assert len(bounded) == len(values)
    low = data.draw(st.integers(0, len(values) - 1))
    high = data.draw(st.integers(low, len(values) - 1))
    cell = bounded.cell(low, high)
    inside = {value for value in values if cell.contains(value)}
    runs = set(values[low : high + 1])
    if low < numbers <= high:  # values and codes together: all codes
        runs = {*values[low:numbers], *values[numbers:]}
    assert inside == runs
    # Widening, by its definition: the extent of the values; with codes, a step for each of them.
    measured = cover(domain, [cell]).widening()[0]
    held = [value for value in inside if isinstance(value, int)]
    steps = (max(held) - min(held)) / 10 if held else -1
    wider = (steps + len(inside) - len(held)) / (len(values) - 1)
    assert measured == pytest.approx(wider if high >= numbers else steps / (numbers - 1))


def test_targets_may_have_codes() -> None:
    rows = [{"income": "N", "home": "01"}, {"income": "52.5", "home": "N"}]
    targets = read_targets(rows, ("income", "home"))
    income, home = targets.domains
    assert (income.kind, income.values) == ("numeric", (52.5, "N"))
    assert (home.kind, home.values) == ("categorical", ("01", "N"))  # 01 is no number
