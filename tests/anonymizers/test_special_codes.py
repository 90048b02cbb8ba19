"""Special codes among numbers and dates: values of their own, whoever anonymizes and reads them."""

from __future__ import annotations

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


def test_values_come_out_as_they_went_in(tmp_path: Path) -> None:
    file = people(tmp_path / "a.csv", 3)
    table = read(file)
    sf.generalize(table, {}).save(tmp_path / "out")
    came, went = (path.read_text() for path in (file, tmp_path / "out" / "public" / "data.csv"))
    plain = sorted(went.replace('"', "").splitlines()[1:])
    assert plain == sorted(came.splitlines()[1:])
    for levels in ({"income": 1}, {"seen": 1}):
        sf.generalize(table, levels).save(tmp_path / f"out{len(str(levels))}")


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
