"""Noise: the shape is the policy's, the promise is OpenDP's, and the table is out of reach."""

from __future__ import annotations

import dataclasses
import datetime as dt
import gc
import math
import sys
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.noise import CellGrid, Drawing, Noise, count_cells
from sfumato.counts.counts import Counts
from sfumato.engines.duckdb import DuckDB
from sfumato.release.made import Placement, Randomised
from sfumato.release.release import Release
from tests.anonymizers.noisy import CITIES, DISEASES, Person, cells, noise, people, read, release

ALL = [
    noise(),
    noise(total="public"),
    noise(mechanism="laplace", neighbours="add-remove"),
    noise(delta=1e-6, mechanism="gaussian"),
]
each = pytest.mark.parametrize("anonymizer", ALL, ids=lambda one: f"{one.mechanism}-{one.total}")

# -- the shape ------------------------------------------------------------------------------------

OTHERS: list[Person] = [
    (25, "ulm", "hiv"),  # a disease nobody had
    (25, "ulm", None),  # a missing value where there was none
    (None, None, "flu"),
    (5, "kiel", "cold"),  # below every age
    (999, "bonn", "cold"),  # above
]


@each
@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_changing_one_person_leaves_the_published_cells_as_they_are(anonymizer, other) -> None:
    rows = people(40)
    first = release(read(rows), anonymizer)
    for neighbour in ([other, *rows[1:]], [*rows, other], rows[1:]):
        second = release(read(neighbour), anonymizer)
        assert cells(second) == cells(first)
        assert second.to_arrow().schema == first.to_arrow().schema


def test_a_whole_other_table_has_the_same_cells() -> None:
    """One person or three hundred, all values or one."""
    first = cells(release(read(people()), noise()))
    assert cells(release(read([(30, "ulm", "flu")]), noise())) == first
    assert len(first) == len(set(first)) == 7 * 3 * 5  # <20, 4 x 10, >=60, missing; 2 + 1; 4 + 1


def test_what_a_taxonomy_declares_does_not_depend_on_what_the_data_look_like() -> None:
    """With numbers only, the column is numeric; with one word it is text: the cells must agree."""
    tree = sf.taxonomy({"1": "low", "2": "low", "unknown": "none"})
    changes = {"hierarchies": {"city": tree}, "domains": {"disease": ["x"], "age": [1]}}
    rows = {"age": [1, 1], "disease": ["x", "x"]}
    made = []
    for city in (["1", "2"], ["1", "unknown"]):
        table = sf.read(
            pa.table({**rows, "city": city}),
            sf.Schema(["age", "city"], "disease", nulls="error", **changes),
        )
        made.append(cells(release(table, Noise(1.0))))
    assert made[0] == made[1]
    assert {row[1] for row in made[0]} == {"1", "2", "unknown"}


def test_without_missing_values_allowed_there_is_no_cell_for_them() -> None:
    made = release(read(people(), nulls="error"), noise())
    assert len(cells(made)) == 6 * 2 * 4
    assert not any(None in row for row in cells(made))


def test_a_column_that_is_left_out_needs_no_declaration() -> None:
    table = read(people(), hierarchies={})
    made = release(table, noise(levels={"age": "*", "city": "*"}))
    assert {row[:2] for row in cells(made)} == {("*", "*")}
    assert len(made.groups) == 1


def test_no_sensitive_column_and_several_of_them() -> None:
    rows = {"age": [1] * 400, "a": ["x"] * 400, "b": ["p"] * 300 + ["q"] * 100}
    domains = {"age": [1, 2], "a": ["x", "y"], "b": ["p", "q"]}
    both = sf.Schema("age", ["a", "b"], domains=domains, nulls="error")
    made = release(sf.read(pa.table(rows), both), Noise(1.0))
    assert len(cells(made)) == 8
    published = made.to_pandas()
    for name in ("a", "b"):
        summed = published.groupby(name, sort=False)["count"].sum()
        assert summed.to_dict() == {
            value: int(made.groups_for(name).dense().sum(axis=0)[code])
            for code, value in enumerate(domains[name])
        }
    alone = sf.Schema("age", domains={"age": [1, 2]}, nulls="error")
    made = release(sf.read(pa.table(rows), alone), Noise(1.0))
    assert cells(made) == [(1,), (2,)]
    assert made.groups.sizes[0] == made.to_pandas()["count"][0]


@pytest.mark.parametrize("publish", ["counts", "rows"])
def test_numbers_dates_and_levels_of_the_sensitive_column(publish: str) -> None:
    days = [dt.date(2020, 1, 5), dt.date(2020, 7, 1), dt.date(2021, 2, 2)] * 50
    rows = pa.table({"day": days, "pay": [1, 25, 99] * 50})
    about = sf.Schema(
        "day",
        "pay",
        hierarchies={
            "day": sf.dates("quarter", "year", bottom=2020, top=2022),
            "pay": sf.intervals(cuts=[10, 50]),
        },
        levels={"pay": 1},
        nulls="error",
    )
    made = release(sf.read(rows, about), Noise(1.0, levels={"day": 2}, publish=publish))
    table = made.to_pandas()
    shown = {"day": {"<2020-01-01", "2020", "2021", ">=2022-01-01"}, "pay": {"<10", "[10, 50)"}}
    if publish == "counts":
        assert set(table["day"]) == shown["day"]
        assert set(table["pay"]) == shown["pay"] | {">=50"}
    else:
        assert set(table["day"]) <= shown["day"]
    assert dict(made.groups.counts_of(0)).keys() <= shown["pay"] | {">=50"}


# -- the counts -----------------------------------------------------------------------------------


def test_people_are_counted_in_the_cell_of_their_values() -> None:
    rows = people(200)
    table = read(rows)
    counted = count_cells(table, (space := CellGrid.of(table.schema, {"age": 1, "city": 1})))
    labels = [axis.parts for axis in space.axes]
    found: Counter[tuple[str, ...]] = Counter()
    for place, n in zip(np.ndindex(*map(len, labels)), counted.tolist(), strict=True):
        if n:
            found[tuple(parts[at].text for parts, at in zip(labels, place, strict=True))] = n

    def label(person: Person) -> tuple[str, str, str]:
        age, city, disease = person
        assert age is not None
        low = age // 10 * 10
        band = ">=60" if age >= 60 else f"[{low}, {low + 10})"
        return band, "south" if city == "ulm" else "north", str(disease)

    assert found == Counter(map(label, rows))


def test_the_public_total_is_kept_and_the_noisy_one_is_not_the_true_one() -> None:
    table = read(people(300))
    totals = {release(table, noise(total="public", publish=p)).people for p in ("counts", "rows")}
    assert totals == {300}
    assert len({release(table, noise()).people for _ in range(12)}) > 1


def test_rows_are_as_many_as_each_cell_counts() -> None:
    table = read(people())
    made = release(table, noise(publish="rows"), seed=4)
    assert made.schema.count is None
    rows = Counter(map(repr, made.to_arrow().to_pylist()))
    assert rows.total() == made.people
    assert isinstance(made.made, Randomised)
    noisy = dataclasses.replace(made.made.table, form="counts")
    counts = dataclasses.replace(made, made=dataclasses.replace(made.made, table=noisy))
    published = {
        repr({k: v for k, v in row.items() if k != "count"}): row["count"]
        for row in counts.to_arrow().to_pylist()
        if row["count"]
    }
    assert rows == published


def test_a_seed_orders_rows_and_never_touches_the_noise() -> None:
    table = read(people())
    first, again = (release(table, noise(publish="rows"), seed=9) for _ in range(2))
    assert (
        first.made.table.counts != again.made.table.counts
    ).any()  # 105 cells: equal by chance 1e-60
    assert first.to_arrow() == first.to_arrow()
    assert first.tables(seed=1)["data"] != first.tables(seed=2)["data"]
    assert Counter(map(repr, first.tables(seed=1)["data"].to_pylist())) == Counter(
        map(repr, first.tables(seed=2)["data"].to_pylist())
    )


def test_groups_are_the_cells_with_people() -> None:
    made = release(read(people()), noise())
    assert made.scheme == "randomised"
    assert made.disjoint
    assert made.groups.values == (*DISEASES, "(missing)")
    published: dict[tuple[str, ...], dict[str, int]] = {}
    for row in made.to_arrow().to_pylist():
        key = tuple("(missing)" if row[n] is None else row[n] for n in ("age", "city"))
        if row["count"]:
            disease = row["disease"] or "(missing)"
            published.setdefault(key, {})[disease] = row["count"]
    own = {
        tuple(made.regions.describe(g).values()): made.groups.counts_of(g)
        for g in range(len(made.groups))
    }
    assert own == published


def test_a_table_that_noise_leaves_empty_is_a_release_of_nobody(tmp_path) -> None:
    table = read([(30, "ulm", "flu")], nulls="error")
    one = noise(levels={"age": "*", "city": "*"})
    seen = {release(table, one).people for _ in range(60)}
    assert 0 in seen  # a run's noisy total is 0 or less about 4 times in 10
    while (empty := release(table, one)).people:
        pass
    assert len(empty.groups) == 0
    report = sf.audit(empty, [sf.DifferentialPrivacy(1.0)])
    assert report.holds
    assert len(cells(empty)) == 4
    empty.save(tmp_path / "out", report=report)
    assert sf.read_release(tmp_path / "out").people == 0


# -- nothing of the table after the noise ----------------------------------------------------------


class Sealed:
    """Stands for counts or a table, and breaks as soon as it is touched after the noise."""

    def __init__(self, inside: Any, seal: dict[str, bool]) -> None:
        object.__setattr__(self, "_inside", inside)
        object.__setattr__(self, "_seal", seal)

    def __getattr__(self, name: str) -> Any:
        assert not self._seal["closed"], f"{name} was read after the noise was drawn"
        return getattr(self._inside, name)

    def __len__(self) -> int:
        assert not self._seal["closed"], "the length was read after the noise was drawn"
        return len(self._inside)


@each
@pytest.mark.parametrize("publish", ["counts", "rows"])
def test_no_code_reads_the_raw_counts_after_the_noise_is_drawn(
    anonymizer: Noise, publish: str, monkeypatch, tmp_path
) -> None:
    """The table is sealed and the true counts are overwritten the moment noise exists."""
    seal = {"closed": False}
    table = read(people())
    hidden = dataclasses.replace(table, counts=Sealed(table.counts, seal))
    sealed = Sealed(hidden, seal)
    drawn: list[Any] = []
    real = Drawing.draw

    def draw(self: Drawing, raw: Any) -> Any:
        noisy = real(self, raw)
        raw[:] = 10**9
        seal["closed"] = True
        drawn.append(noisy.copy())
        return noisy

    monkeypatch.setattr(Drawing, "draw", draw)
    task = Task(
        read(people()),
        (sf.DifferentialPrivacy(1.0, anonymizer.delta, neighbours=anonymizer.neighbours),),
    )
    object.__setattr__(task, "table", sealed)
    made = dataclasses.replace(anonymizer, publish=publish).run(task)
    assert seal["closed"]
    assert len(drawn) == 1
    assert made.people < 10**6
    report = sf.audit(made, [sf.DifferentialPrivacy(1.0, anonymizer.delta), sf.KAnonymity(2)])
    made.save(tmp_path / "out", report=report)
    with pytest.raises(AssertionError, match="after the noise was drawn"):
        sealed.people  # noqa: B018 (the seal itself works)


def reachable(start: object) -> list[object]:
    """Everything a release holds on to; modules, classes and functions are no data."""
    seen: dict[int, object] = {}
    waiting = [start]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type | type(sys) | type(reachable)):
            continue
        seen[id(one)] = one
        waiting += gc.get_referents(one)
    return list(seen.values())


def test_the_release_holds_on_to_nothing_of_the_table() -> None:
    table = read(people())
    made = release(table, noise())
    assert made.placement is None
    held = reachable(made)
    assert any(one is made.made.table for one in held)  # the walk does find things
    assert not any(isinstance(one, sf.Table | Counts | DuckDB | Placement) for one in held)
    raw = count_cells(table, CellGrid.of(table.schema, {"age": 1, "city": 1}))
    arrays = [one for one in held if isinstance(one, np.ndarray) and one.shape == raw.shape]
    assert arrays
    assert not any((one == raw).all() for one in arrays)


def test_its_utility_cannot_be_measured_and_says_so() -> None:
    from sfumato.utility.view import view_of

    with pytest.raises(sf.InputError, match="keeps nothing of its table"):
        view_of(release(read(people()), noise()))


def test_in_a_comparison_it_stands_without_risk_and_cost() -> None:
    policy = sf.Policy([sf.DifferentialPrivacy(1.0)], noise())
    found = sf.compare(read(people(1000)), policy, {"epsilon": [0.5, 1.0]})
    for outcome in found.outcomes:
        assert outcome.figures is not None
        assert outcome.figures.verdict == "holds"
        assert all(math.isnan(cost) for cost in outcome.figures.costs.values())
        assert set(outcome.figures.risks.values()) == {None}
        assert not outcome.pareto


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Noise(0), "epsilon = 0 is not allowed; it must be a number above 0"),
        (lambda: Noise(-1.5), "epsilon = -1.5 is not allowed"),
        (lambda: Noise(float("inf")), "epsilon = inf is not allowed"),
        (lambda: Noise(True), "epsilon = True is not allowed"),
        (lambda: Noise("1"), "epsilon = '1' is not allowed"),
        (lambda: Noise(1, delta=1e-6), "not allowed with mechanism = 'geometric'"),
        (lambda: Noise(1, delta=-1), "delta = -1 is not allowed"),
        (lambda: Noise(1, mechanism="gaussian"), "delta = 0.0 is not allowed"),
        (lambda: Noise(1, delta=1, mechanism="gaussian"), "delta = 1 promises nothing"),
        (lambda: Noise(1, mechanism="geometrical"), "did you mean 'geometric'?"),
        (lambda: Noise(1, publish="row"), "did you mean 'rows'?"),
        (lambda: Noise(1, total="exact"), "total = 'exact' is not known"),
        (lambda: Noise(1, neighbours="add_remove"), "did you mean 'add-remove'?"),
        (lambda: Noise(1, total="public", neighbours="add-remove"), "promises nothing; use"),
        (lambda: Noise(1, levels={"age": -1}), "column 'age' has -1; use 0, 1, 2, ..., or '*'"),
        (lambda: Noise(1, levels={"age": "top"}), "column 'age' has 'top'"),
        (lambda: Noise(1, levels={"age": True}), "column 'age' has True"),
    ],
)
def test_parameters_that_cannot_be_meant(call: Any, said: str) -> None:
    with pytest.raises(sf.PolicyError) as told:
        call()
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def refused(anonymizer: Noise, table: sf.Table, said: str, *require: Any) -> None:
    with pytest.raises(sf.SfumatoError) as told:
        anonymizer.run(Task(table, require or (sf.DifferentialPrivacy(1.0),)))
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_a_domain_that_only_the_data_tell_is_refused() -> None:
    rows = people(20)
    refused(noise(), read(rows, hierarchies={}), "column 'age': its values are not declared")
    refused(
        noise(),
        read(rows, hierarchies={"age": sf.intervals([10, 20]), "city": sf.suppression()}),
        "intervals (cuts, or widths with bottom and top)",
    )
    refused(noise(), read(rows, domains={}), "column 'disease': its values are not declared")
    refused(noise(), read(rows, domains={"disease": "categorical"}), "column 'disease'")
    refused(noise(levels={"age": 0}), read(rows), "'age': its single values are not declared, only")
    refused(noise(levels={"age": 4}), read(rows), "column 'age' has levels 0 to 3, not 4")


def test_too_many_cells_name_the_columns_to_coarsen() -> None:
    table = read(
        people(5),
        domains={"disease": list(DISEASES), "age": list(range(1000)), "city": CITIES},
        hierarchies={},
        nulls="error",
    )
    wide = dataclasses.replace(
        table.schema, domains={**table.schema.domains, "city": [f"c{n}" for n in range(300)]}
    )
    with pytest.raises(sf.ResourceError) as told:
        CellGrid.of(wide, {})
    assert "1,200,000 cells (age 1,000, city 300, disease 4), at most 1,000,000" in str(told.value)


def test_several_rows_or_values_a_person_are_refused() -> None:
    rows = pa.table({"who": [1, 1, 2], "age": [1, 1, 1], "s": ["x", "y", "x"]})
    about = sf.Schema("age", "s", person="who", domains={"age": [1, 2], "s": ["x", "y"]})
    refused(Noise(1.0), sf.read(rows, about), "several rows or several values of 's'")
    spanning = rows.set_column(1, "age", pa.array([1, 2, 1])).set_column(
        2, "s", pa.array(["x"] * 3)
    )
    refused(Noise(1.0), sf.read(spanning, about), "one row a person")
    lists = pa.table({"age": [1, 1], "s": [["x"], ["x", "y"]]})
    refused(Noise(1.0), sf.read(lists, dataclasses.replace(about, person=None)), "several values")
    single = rows.slice(1, 2)
    assert release(sf.read(single, about), Noise(1.0)).guarantee.unit == "person"


def test_a_row_that_is_taken_for_a_person_is_said_to_be() -> None:
    made = release(read(people(10)), noise())
    assert made.guarantee.unit == "row"
    assert any("one row is taken for one person" in note for note in made.notes)


def test_what_cannot_go_with_noise() -> None:
    table = read(people(10))
    refused(
        noise(), table, "k-anonymity is not applicable: it counts people exactly", sf.KAnonymity(2)
    )
    refused(
        noise(levels={"agee": 1}), table, "'agee' is not a quasi-identifier; did you mean 'age'?"
    )
    rows = pa.table({"age": [1], "s": ["x"], "ward": ["w"], "count": [1]})
    about = sf.Schema("age", "s", domains={"age": [1], "s": ["x"]}, keep=["ward"])
    refused(Noise(1.0), sf.read(rows, about), "'ward' (keep) would be published as it is")
    clash = sf.Schema(["age", "count"], "s", domains={"age": [1], "s": ["x"], "count": [1]})
    refused(Noise(1.0), sf.read(rows, clash), "'count' has the name of the published counts")
    assert release(sf.read(rows, clash), Noise(1.0, publish="rows")).schema.count is None


def test_a_tighter_bound_than_the_noise_is_no_safe_release() -> None:
    table = read(people(10))
    with pytest.raises(
        sf.NoSafeRelease, match=r"differential-privacy.*came is 1;.*smaller epsilon"
    ):
        noise(1.0).run(Task(table, (sf.DifferentialPrivacy(0.5),)))
    with pytest.raises(sf.NoSafeRelease, match="by replace-one only"):
        noise(1.0, total="public").run(
            Task(table, (sf.DifferentialPrivacy(9, neighbours="add-remove"),))
        )


def test_epsilons_beyond_sense_are_one_line() -> None:
    table = read(people(10))
    refused(noise(1e-12), table, "in which any table drowns", sf.DifferentialPrivacy(1.0))
    far = noise(1e6, delta=1e-6, mechanism="gaussian")
    refused(far, table, "OpenDP finds no gaussian noise", sf.DifferentialPrivacy(1.0))


def test_without_opendp_the_pip_line_is_told(monkeypatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(sf.MissingExtra, match=r"pip install 'sfumato\[dp\]'"):
        release(read(people(10)), noise(0.77))  # a scale nobody has asked for yet


def test_frozen_equal_hashable_and_through_a_policy_file(tmp_path) -> None:
    one = noise(
        0.5, delta=1e-7, mechanism="gaussian", levels={"age": 1, "city": "*"}, publish="rows"
    )
    assert dataclasses.replace(one) == one
    assert hash(dataclasses.replace(one)) == hash(one)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.epsilon = 2  # type: ignore[misc]
    policy = sf.Policy([sf.DifferentialPrivacy(1, 1e-6, neighbours="add-remove")], one)
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml") == policy


def test_two_kinds_of_release_are_never_mixed_up() -> None:
    made = release(read(people()), noise())
    assert isinstance(made, Release)
    assert "Randomised release" in repr(made)
    assert "epsilon 1 by replace-one of a row (epsilon 0.5 by add-remove)" in repr(made)


# -- before noise is drawn ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("anonymizer", "bound", "kind"),
    [
        (noise(), sf.DifferentialPrivacy(0.5), sf.NoSafeRelease),
        (noise(total="public"), sf.DifferentialPrivacy(9, 0, "add-remove"), sf.NoSafeRelease),
        (noise(1e-7, publish="rows"), sf.DifferentialPrivacy(1), sf.ResourceError),
    ],
    ids=["tighter", "another relation", "too many rows"],
)
def test_what_can_be_refused_is_refused_before_a_draw(monkeypatch, anonymizer, bound, kind) -> None:
    """Every draw spends the budget, also one that is not published."""
    monkeypatch.setattr(Drawing, "draw", lambda self, raw: pytest.fail("noise was drawn"))
    with pytest.raises(kind):
        anonymizer.run(Task(read(people(40)), (bound,)))


def test_more_noisy_rows_than_memory_are_not_written(monkeypatch) -> None:
    monkeypatch.setattr(Drawing, "draw", lambda self, raw: raw + 10**9)
    bound = sf.DifferentialPrivacy(1)
    with pytest.raises(sf.ResourceError, match="at most 50,000,000 can be written") as caught:
        noise(publish="rows").run(Task(read(people(40)), (bound,)))
    assert "\n" not in str(caught.value)
    assert noise().run(Task(read(people(40)), (bound,))).people > 10**9


@pytest.mark.parametrize(
    ("delta", "total", "loose"),
    [
        (1e-6, "noisy", False),
        (9e-4, "noisy", False),  # how many people there are is nobody's business
        (1e-3, "noisy", True),
        (1e-6, "public", False),
        (1e-3, "public", True),  # one of a thousand people
        (9e-4, "public", False),
    ],
)
def test_a_loose_delta_is_told(delta: float, total: str, loose: bool) -> None:
    made = release(read(people(1000)), noise(delta=delta, mechanism="gaussian", total=total))
    assert any("is loose" in note for note in made.notes) == loose
