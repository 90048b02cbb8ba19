"""The price of every promise: each figure is what a search of one's own finds."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from html import unescape
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from sfumato.counts.counts import Counts
from sfumato.datasets.census import census, census_policy
from sfumato.report.price import (
    NoOtherBound,
    OtherBound,
    PricedChange,
    WithoutColumn,
    WithoutCriterion,
    WithoutLimits,
)
from sfumato.utility import utility_named
from sfumato.utility.view import view_of
from sfumato.workflow.price import add_price
from sfumato.workflow.price_changes import at_bound, changes_of, in_turn, way_of
from sfumato.workflow.smaller_tables import sample_of
from tests.criteria.toy_criteria import EvenSizes
from tests.program import sfumato
from tests.report.zoo import SMALL, people
from tests.table.beyond_memory import beyond

TWO = sf.Policy([sf.KAnonymity(3), sf.TCloseness(0.3)], anonymizer=sf.Mondrian(regions="tight"))


def cost(release: sf.Release, utility: str = "loss") -> float:
    return utility_named(utility).cost(view_of(release))


def searched(one: PricedChange, policy: sf.Policy, many: int) -> float:
    """What a search of one's own comes to."""
    require, change = list(policy.require), one.change
    if isinstance(change, WithoutColumn):
        fewer = sf.read(census(many, seed=3), SMALL.without(change.column))
        left = cost(sf.anonymize(fewer, policy, seed=0))
        return (left * len(fewer.schema.quasi) + 1) / (len(fewer.schema.quasi) + 1)
    if isinstance(change, OtherBound):
        require[change.place] = change.step.criterion
    else:
        assert isinstance(change, WithoutCriterion)
        del require[change.place]
    return cost(sf.anonymize(people(many), replace(policy, require=require), seed=0))


def hidden(column: str, policy: sf.Policy, many: int) -> float:
    """What the release of the policy as it is costs with `*` in a column, which it may show."""
    view = view_of(sf.anonymize(people(many), policy, seed=0))
    each = view.totals([view.coverage(at).widening() for at in range(3)])
    each[SMALL.quasi.index(column)] = view.people - view.suppressed
    return sum(each) / 3 / view.people + view.suppressed / view.people


def of(price: sf.Price, kind: type, **about: object) -> list[PricedChange]:
    return [
        one
        for one in price.changes
        if isinstance(one.change, kind)
        and all(getattr(one.change, name) == value for name, value in about.items())
    ]


@pytest.mark.parametrize(
    "policy",
    [
        TWO,
        replace(TWO, require=[sf.KAnonymity(4), sf.EntropyDiversity(3), sf.TCloseness(0.5)]),
        replace(TWO, anonymizer=sf.Lattice(), suppression=0.1),
    ],
    ids=["two promises", "three promises", "a lattice that suppresses"],
)
def test_every_figure_is_what_a_search_of_ones_own_finds(policy: sf.Policy) -> None:
    price = sf.price(people(150), policy, seconds=60)
    own = {one.change: searched(one, policy, 150) for one in price.changes}
    tighter = [own[one.change] for one in price.changes if one.change.kind.endswith("tighter")]
    first = cost(sf.anonymize(people(150), policy, seed=0))
    assert price.cost == pytest.approx(min([first, *tighter]))
    assert len(price.changes) == 3 * len(policy.require) + 3
    for one in price.changes:
        assert one.status == "priced"
        assert one.cost is not None
        assert one.gain == pytest.approx(price.cost - one.cost)
        stricter = own[one.change]
        if isinstance(one.change, WithoutCriterion):
            (step,) = [
                two
                for two in of(price, OtherBound, place=one.change.place)
                if two.change.step.way == "looser"
            ]
            stricter = min(stricter, price.cost, own[step.change])
        elif one.change.kind.endswith("looser"):
            stricter = min(stricter, price.cost)
        elif isinstance(one.change, WithoutColumn):
            stricter = min(stricter, hidden(one.change.column, policy, 150))
        assert one.cost == pytest.approx(stricter)
        assert one.at_most is (stricter < own[one.change] - 1e-12)


def test_the_limits_of_a_column_have_a_price() -> None:
    limits = {"age": sf.Limits(finest=1), "sex": sf.Limits(star=False)}
    limited = sf.read(census(150, seed=3), replace(SMALL, limits=limits))
    policy = replace(TWO, require=[sf.KAnonymity(3)])
    price = sf.price(limited, policy, seconds=60, bounds=False)
    without = {one.change.column: one for one in of(price, WithoutLimits)}  # type: ignore[union-attr]
    assert without.keys() == limits.keys()
    for column, one in without.items():
        kept = {name: limit for name, limit in limits.items() if name != column}
        freer = sf.read(census(150, seed=3), replace(SMALL, limits=kept))
        own = cost(sf.anonymize(freer, policy, seed=0))
        assert one.cost == pytest.approx(min(own, price.cost))
    assert "limits of age" in price.brief().text(80)


def test_what_gains_most_comes_first_and_looser_never_costs_more() -> None:
    price = sf.price(people(300), TWO, seconds=60)
    gains = [one.gain for one in price.changes]
    assert gains == sorted(gains, reverse=True)
    for place in range(2):
        (without,) = of(price, WithoutCriterion, place=place)
        steps = {one.change.step.way: one for one in of(price, OtherBound, place=place)}
        assert without.cost <= steps["looser"].cost <= price.cost <= steps["tighter"].cost
    assert price.changes[0].change.words == "without it"
    told = price.words()
    assert told.startswith("What would help most: without t-closeness (t ≤ 0.3 (equal)), ")
    assert f"instead of {100 * price.cost:.3g}%" in told


def test_a_tighter_bound_that_costs_nothing_is_told() -> None:
    policy = replace(TWO, require=[sf.KAnonymity(3), sf.TCloseness(0.01)])  # nothing is left
    price = sf.price(people(100), policy, seconds=60)
    told = "with k-anonymity tighter (k = 5 instead of 3)"
    assert f"Nearly free {told}" in " ".join(price.brief().text(80).split())
    assert f"Nearly free: {told}" in price.document().sections[0].words
    assert "Nearly free" not in price.words()


def test_a_column_that_is_left_out_is_lost_and_the_others_are_told() -> None:
    price = sf.price(people(200), TWO, seconds=60)
    for one in of(price, WithoutColumn):
        assert one.others is not None
        assert one.cost == pytest.approx((2 * one.others.after + 1) / 3)
        assert price.cost >= 2 * one.others.before / 3 - 1e-12
        assert one.others.after <= one.others.before  # it cannot harm them
    for utility in ("discernibility", "query-error"):
        other = sf.price(people(200), replace(TWO, utility=utility), seconds=60)
        (zip_code,) = of(other, WithoutColumn, column="zip")
        fewer = sf.read(census(200, seed=3), SMALL.without("zip"))
        left = cost(sf.anonymize(fewer, TWO, seed=0), utility)
        if utility == "discernibility":  # how large groups are does not depend on what they show
            assert zip_code.cost == pytest.approx(left)
        else:  # but questions about zip are answered worse
            assert zip_code.cost > left


def test_what_the_time_is_not_enough_for_is_told() -> None:
    price = sf.price(people(100), TWO, seconds=1e-9)
    assert price.cost is not None
    assert {one.status for one in price.changes} == {"not_begun"}
    told = "(9 changes were not tried in 1e-09 seconds: give more, or fewer people)"
    assert told in price.words()
    (row,) = [line for line in price.brief().text(200).splitlines() if "not begun" in line]
    assert " ".join(row.split()) == "all 9 changes n/a n/a not begun: the time was over"


def test_what_binds_is_searched_first() -> None:
    """With time for few searches, those are of what may help, wherever it stands in the policy."""
    table = people(100)
    require = [sf.KAnonymity(2), sf.DistinctDiversity(2), sf.TCloseness(0.2)]
    policy = replace(TWO, require=require)
    release = sf.anonymize(table, policy, seed=0)
    table_shares = Counter[str]()
    for group in range(len(release.groups)):
        table_shares.update(release.groups.counts_of(group))
    broken = 0  # people whose group is farther than 0.15 from everybody, by counting
    for group in range(len(release.groups)):
        counts, size = release.groups.counts_of(group), int(release.groups.sizes[group])
        far = sum(
            abs(Fraction(counts.get(label, 0), size) - Fraction(n, 100))
            for label, n in table_shares.items()
        )
        broken += size * (far / 2 > Fraction(15, 100))
    shares = [at_bound(criterion, release) for criterion in require]
    assert shares[2] == pytest.approx(broken / 100)
    assert shares[2] > max(shares[:2])
    assert at_bound(EvenSizes(), release) == 1  # names no bounds: nobody knows

    columns = list(SMALL.quasi)
    changes = list(changes_of(policy, columns, ()))
    turn = in_turn(changes, release, {columns[1]: 0.9, columns[2]: 0.4})
    assert sorted(map(str, turn)) == sorted(map(str, changes))
    of_promises = [one.place for one in turn if isinstance(one, WithoutCriterion)]
    assert of_promises[0] == 2
    of_columns = [one.column for one in turn if isinstance(one, WithoutColumn)]
    assert of_columns == [columns[1], columns[2], columns[0]]
    tighter = [way_of(one) == "tighter" for one in turn]
    assert tighter == sorted(tighter)
    without = in_turn(changes, None, {})
    assert [one.place for one in without if isinstance(one, WithoutCriterion)] == [0, 1, 2]


def test_where_two_promises_are_to_blame_no_single_change_helps() -> None:
    twice = sf.Policy([sf.TCloseness(0.001), sf.TCloseness(0.001)], sf.Mondrian())
    price = sf.price(people(60), twice, seconds=60)
    assert price.cost == 1
    assert not price.helpful
    assert price.words() == "No single change helps."


def test_without_any_release_it_tells_what_would_make_one() -> None:
    policy = sf.Policy([sf.KAnonymity(5), sf.TCloseness(0.9), sf.KAnonymity(1000)], sf.Mondrian())
    price = sf.price(people(60), policy, seconds=60)
    assert price.cost is None
    assert "k-anonymity" in price.reason
    assert "there is no release" in price.brief().text(120)
    assert price.words().startswith("A release there would be: without k-anonymity #2 (k ≥ 1000), ")
    (rescue, *others) = price.changes
    assert rescue.change == of(price, WithoutCriterion, place=2)[0].change
    assert rescue.gain is None
    assert {one.status for one in others} == {"no_safe_release"}
    assert "no safe release" in price.to_html()


def test_a_criterion_without_steps_is_priced_as_a_whole() -> None:
    price = sf.price(
        people(100), sf.Policy([sf.KAnonymity(2), EvenSizes()], sf.Mondrian()), seconds=60
    )
    (row,) = of(price, NoOtherBound)
    assert (row.status, row.change.subject) == ("no_step", "even-sizes")
    assert price.changes[-1] == row
    assert of(price, WithoutCriterion, place=1)[0].status == "priced"


def test_without_the_only_promise_the_table_itself_is_left() -> None:
    price = sf.price(people(80), sf.Policy([sf.KAnonymity(4)], sf.Mondrian()), seconds=60)
    (without,) = of(price, WithoutCriterion)
    assert without.cost == 0
    alone = sf.read(pa.table({"q": [1, 1, 2, 2], "s": list("uvuv")}), sf.Schema(["q"], "s"))
    (column,) = of(sf.price(alone, sf.Policy([sf.KAnonymity(2)], sf.Mondrian())), WithoutColumn)
    assert (column.cost, column.groups, column.others) == (1, 1, None)  # everybody alike


def test_what_has_no_cost_is_refused_and_buckets_have_no_columns_to_hide() -> None:
    centroids = sf.Policy([sf.KAnonymity(4)], anonymizer=sf.Microaggregation(4))
    with pytest.raises(sf.InputError, match="loss does not apply to a microaggregated release"):
        sf.price(people(60), centroids)
    buckets = sf.Policy(
        [sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(2), utility="discernibility"
    )
    price = sf.price(people(60), buckets, seconds=60)
    assert {one.status for one in of(price, WithoutColumn)} == {"not_possible"}


# -- samples ---------------------------------------------------------------------------------------


def test_a_large_table_is_priced_by_a_sample_that_says_so() -> None:
    price = sf.price(people(600), TWO, seconds=60, people=100, seed=7)
    assert (price.people, price.everybody) == (100, 600)
    assert "a sample of 100 of 600 people" in price.brief().title
    assert "figures are of a sample of 100 of 600 people" in price.notes[0]
    again = sf.price(people(600), TWO, seconds=60, people=100, seed=7)
    assert again.changes == price.changes
    assert sf.price(people(600), TWO, seconds=60, people=100, seed=8).cost != price.cost


@pytest.mark.parametrize("stored", [False, True])
def test_a_sample_has_people_of_the_table_each_at_most_once(stored: bool) -> None:
    rows = pa.table(
        {"q": [value % 7 for value in range(500)], "r": [*range(250)] * 2, "w": [2.0] * 500}
    )
    schema = sf.Schema(["q", "r"], weight="w")
    table = sf.read(rows, schema)
    table = beyond(table, 60) if stored else table
    sample = sample_of(table, 120, 1)
    whole = sf.read(rows, schema).counts.in_memory("a test")
    some = sample.counts.in_memory("a test")
    assert sample.people == some.memberships == 120
    known = dict(zip(map(tuple, whole.codes.T.tolist()), whole.n.tolist(), strict=True))
    for key, n in zip(map(tuple, some.codes.T.tolist()), some.n.tolist(), strict=True):
        assert 0 < n <= known[key]
    assert some.weights is not None
    assert some.weights.sum() == pytest.approx(1000)  # they stand for as many people
    assert sample_of(table, 1000, 1).people == 500
    drawn = [sample_of(table, 250, seed).counts.by_code(0) for seed in range(40)]
    assert np.mean(drawn, axis=0) == pytest.approx(whole.by_code(0) / 2, abs=3)


def test_whose_rows_are_published_one_by_one_is_drawn_with_all_of_them() -> None:
    rng = np.random.default_rng(1)
    rows = pa.table(
        {
            "id": np.arange(150) // 3,
            "q": rng.integers(0, 6, 150),
            "r": rng.integers(0, 3, 150),
            "ill": rng.choice(["flu", "HIV"], 150),
        }
    )
    schema = sf.Schema(["q", "r"], "ill", person="id", rows="unlinked")
    table = sf.read(rows, schema)
    whole, some = table.counts, sample_of(table, 20, 1).counts
    assert isinstance(whole, Counts)
    assert isinstance(some, Counts)

    def listed(counts: Counts) -> dict[int, list[list[int]]]:
        """The rows of each person."""
        assert counts.owner is not None
        cells = np.repeat(np.vstack([counts.codes, counts.values]), counts.n, axis=1).T
        return {who: sorted(cells[counts.owner == who].tolist()) for who in set(counts.owner)}

    assert some.people == len(listed(some)) == 20
    assert listed(some).items() <= listed(whole).items()
    # `best` is priced by one of its ways that keep such rows.
    policy = sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Best(seconds=1))
    price = sf.price(table, policy, people=20, bounds=False)
    assert (price.people, price.anonymizer) == (20, "mondrian, briefly")
    assert price.cost is not None


# -- how it reads ----------------------------------------------------------------------------------


def test_it_is_a_document_in_every_form(tmp_path: Path) -> None:
    price = sf.price(people(200), TWO, seconds=60)
    content = json.loads(price.to_json())
    assert content["cost"] == price.cost
    assert [one["gain"] for one in content["changes"]] == [one.gain for one in price.changes]
    assert {one["kind"] for one in content["changes"]} == {
        "without a promise",
        "without a column",
        "a bound one step looser",
        "a bound one step tighter",
    }
    (chart,) = content["sections"][0]["charts"]
    drawn = [pair for one in chart["series"] for pair in zip(one["y"], one["x"], strict=True)]
    assert dict(drawn) == {
        f"{one.change.subject}: {one.change.words}": one.gain for one in price.changes
    }
    assert "Private: this file" in price.to_markdown()
    page = price.to_html()
    picture = unescape(page.split('<table class="rows"')[1].split("</table>")[0])
    places = [picture.index(f">{one.change.subject}: {one.change.words}<") for one in price.changes]
    assert all(before < after for before, after in pairwise(places))
    for width in (40, 80, 120):
        assert max(map(len, price.brief().text(width).splitlines())) <= width
    for name in ("price.html", "price.json", "price.md"):
        price.save(tmp_path / name)
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    with pytest.raises(sf.InputError, match="use a name ending in"):
        price.save(tmp_path / "price.txt")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("price")
    pa_csv.write_csv(census(200, seed=2), home / "census.csv")
    (home / "policy.toml").write_text(census_policy().replace("t = 0.4", "t = 0.3"))
    return home


def run(home: Path, *words: object):  # type: ignore[no-untyped-def]
    return sfumato("price", home / "census.csv", "--policy", home / "policy.toml", *words)


def test_the_command_prints_a_table_and_writes_a_page(files: Path, tmp_path: Path) -> None:
    page, text = tmp_path / "price.html", tmp_path / "price.md"
    ended = run(files, "--seconds", 60, "--html", page, "--report", text)
    assert ended.returncode == 0, ended.stderr
    assert "What every promise costs: census.csv, 200 people" in ended.stdout
    assert "What would help most: without t-closeness" in ended.stdout
    assert f"Price (private): {page}" in ended.stderr
    assert '<table class="rows" aria-label="What each change would buy' in page.read_text("utf-8")
    told = json.loads(run(files, "--seconds", 60, "--seed", 3, "--people", 90, "--json").stdout)
    assert (told["seed"], told["people"], told["everybody"]) == (3, 90, 200)
    again = run(files, "--html", page)
    assert (again.returncode, again.stdout) == (2, "")
    assert "price.html exists; give another name, or --force" in again.stderr
    assert "sfumato price patients.csv" in sfumato("price", "--help").stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--seconds", 0), "seconds = 0.0 is not allowed; it must be a number above 0"),
        (("--seed", -1), "seed = -1 is not allowed; it must be a whole number at least 0"),
        (("--people", 0), "people = 0 is not allowed"),
        (("--html", "price.txt"), "--html 'price.txt' is no page; use a name ending in .html"),
        (("--report", "price.txt"), "use a name ending in .html, .json or .md"),
    ],
)
def test_a_mistake_is_told_in_one_line(files: Path, words: tuple[object, ...], told: str) -> None:
    before = sorted(files.iterdir())
    ended = run(files, *words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert told in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize(("option", "told"), [("--price", True), ("--no-price", False)])
def test_anonymize_tells_it_when_asked(
    files: Path, tmp_path: Path, option: str, told: bool
) -> None:
    ended = sfumato(
        *("anonymize", files / "census.csv", "--policy", files / "policy.toml"),
        *("--out", tmp_path / "out", option),
    )
    assert ended.returncode == 0, ended.stderr
    assert ("What would help most" in ended.stdout) is told
    report = json.loads((tmp_path / "out" / "private" / "report.json").read_text())
    titles = [section["title"] for section in report["sections"]]
    assert ("What every promise costs" in titles) is told
    for file in (tmp_path / "out" / "public").iterdir():
        assert "promise costs" not in file.read_text()


def test_what_the_release_is_for_decides_what_a_column_costs() -> None:
    use = sf.Use(weights={"zip": 8}, queries=[["zip"], ["age", "sex"]])
    price = sf.price(people(200), replace(TWO, use=use), seconds=60)
    assert price.utility == "use"
    first = sf.anonymize(people(200), replace(TWO, use=use), seed=0)
    measure = use.measure(people(200).counts)
    assert price.cost <= measure.cost(view_of(first))
    by_column = {one.change.column: one.cost for one in of(price, WithoutColumn)}
    assert by_column.keys() == {"age", "sex", "zip"}
    assert by_column["zip"] == max(by_column.values())
    assert sf.Use(weights={"zip": 8}, queries=[["zip"]]).without("zip") is None
    assert use.without("age") == sf.Use({"zip": 8}, [["zip"], ["sex"]])


@pytest.mark.parametrize("anonymizer", [sf.Deal(), sf.Best()], ids=["deal", "best"])
def test_searches_by_the_clock_are_compared_by_equal_work(anonymizer: sf.Deal | sf.Best) -> None:
    policy = replace(TWO, anonymizer=anonymizer)
    price = sf.price(people(60), policy, seconds=120)
    assert price.anonymizer == "deal, briefly"
    brief = replace(TWO, anonymizer=sf.Deal(sweeps=2, starts=2))
    assert price.cost <= cost(sf.anonymize(people(60), brief, seed=0))
    again = sf.price(people(60), policy, seconds=120)
    assert (again.cost, again.changes) == (price.cost, price.changes)


def test_noise_has_no_price() -> None:
    policy = sf.Policy([sf.DifferentialPrivacy(1)], anonymizer=sf.Best())
    with pytest.raises(sf.InputError, match="what noise costs, as differential-privacy asks for"):
        sf.price(people(60), policy)


def test_a_release_that_had_no_time_is_told_beside_its_price() -> None:
    table = people(120)
    hurried = replace(TWO, anonymizer=sf.Best(seconds=1e-9))
    release = sf.anonymize(table, hurried, seed=0)
    report = add_price(sf.audit(release, hurried), table, hurried, asked=True)
    price = report.evidence.price
    assert price.cost < cost(release, "loss")
    assert f"found one of {price.cost:.3g} by the same policy: give" in report.notes[-1]
    cut = add_price(sf.audit(release, hurried), table, TWO, asked=True)
    assert not any("give the anonymizer more" in note for note in cut.notes)
