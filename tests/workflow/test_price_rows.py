"""The price of promises where people have several rows, or live together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from sfumato.counts.counts import Counts
from sfumato.counts.households import Members
from sfumato.release.write.publish import rows_with_owners
from sfumato.report.price import OtherBound, PricedChange, WithoutColumn, WithoutCriterion
from sfumato.table import Table
from sfumato.utility import utility_named
from sfumato.utility.view import view_of
from sfumato.workflow.smaller_tables import sample_of, without_column
from tests.program import sfumato
from tests.table.beyond_memory import beyond

COLUMNS = ("age", "ward", "month")
SCHEMA = sf.Schema(
    COLUMNS,
    "ill",
    person="id",
    rows="linked",
    hierarchies={"age": sf.intervals([5, 10, 20]), "month": sf.intervals([3, 6])},
)
TWO = sf.Policy([sf.KAnonymity(3), sf.DistinctDiversity(2)], anonymizer=sf.Mondrian())


def visits(people: int = 60, seed: int = 1) -> pa.Table:
    """One to three rows of each person, three people to a home, two to a survey weight."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rng.integers(1, 4, people))
    return pa.table(
        {
            "id": who,
            "age": rng.integers(20, 60, people)[who],
            "ward": rng.choice(list("abc"), len(who)),
            "month": rng.integers(1, 13, len(who)),
            "ill": rng.choice(["flu", "HIV", "gout"], len(who)),
            "home": who // 3,
            "w": 1.0 + who // 2,
        }
    )


def cost(release: sf.Release) -> float:
    return utility_named("loss").cost(view_of(release))


def searched(one: PricedChange, policy: sf.Policy, schema: sf.Schema) -> float:
    """What a search of one's own comes to."""
    require, change = list(policy.require), one.change
    if isinstance(change, WithoutColumn):
        fewer = sf.read(visits(), schema.without(change.column))
        left = cost(sf.anonymize(fewer, policy, seed=0))
        return (left * (len(COLUMNS) - 1) + 1) / len(COLUMNS)
    if isinstance(change, OtherBound):
        require[change.place] = change.step.criterion
    else:
        assert isinstance(change, WithoutCriterion)
        del require[change.place]
    return cost(sf.anonymize(sf.read(visits(), schema), replace(policy, require=require), seed=0))


def hidden(column: str, policy: sf.Policy, schema: sf.Schema) -> float:
    """What the release of the policy as it is costs with `*` in a column, which it may show."""
    view = view_of(sf.anonymize(sf.read(visits(), schema), policy, seed=0))
    each = view.totals([view.coverage(at).widening() for at in range(len(COLUMNS))])
    each[COLUMNS.index(column)] = view.people - view.suppressed
    return sum(each) / len(COLUMNS) / view.people + view.suppressed / view.people


@pytest.mark.parametrize(
    ("policy", "schema"),
    [
        (TWO, SCHEMA),
        (replace(TWO, require=[sf.KAnonymity(3), sf.TCloseness(0.5)]), replace(SCHEMA, knows=2)),
        (replace(TWO, anonymizer=sf.Lattice(), suppression=0.5), SCHEMA),
        (TWO, replace(SCHEMA, rows="unlinked")),
    ],
    ids=["lists and rows", "two rows known", "a lattice that suppresses", "one by one"],
)
def test_every_figure_is_what_a_search_of_ones_own_finds(
    policy: sf.Policy, schema: sf.Schema
) -> None:
    price = sf.price(sf.read(visits(), schema), policy, seconds=60)
    own = {one.change: searched(one, policy, schema) for one in price.changes}
    tighter = [own[one.change] for one in price.changes if one.change.kind.endswith("tighter")]
    first = cost(sf.anonymize(sf.read(visits(), schema), policy, seed=0))
    assert price.people == price.everybody == 60
    assert price.cost == pytest.approx(min([first, *tighter]))
    looser = {
        one.change.place: own[one.change]
        for one in price.changes
        if isinstance(one.change, OtherBound) and one.change.step.way == "looser"
    }
    for one in price.changes:
        assert one.status == "priced", one.reason
        stricter = own[one.change]
        if isinstance(one.change, WithoutCriterion):
            stricter = min(stricter, price.cost, looser.get(one.change.place, price.cost))
        elif one.change.kind.endswith("looser"):
            stricter = min(stricter, price.cost)
        elif isinstance(one.change, WithoutColumn):
            stricter = min(stricter, hidden(one.change.column, policy, schema))
            assert one.others is not None
        assert one.cost == pytest.approx(stricter)
        assert one.at_most is (stricter < own[one.change] - 1e-12)


def test_the_release_without_a_column_holds_by_the_policy_as_it_is() -> None:
    """Nobody's rows are mixed up: each of hers shows what it did, and `*` in the column."""
    from sfumato.workflow.price import _Bench

    table = sf.read(visits(), SCHEMA)
    bench = _Bench(table, TWO, 0)
    for column in COLUMNS:
        release = bench._without_column(column)
        assert all(verdict.holds for verdict in sf.audit(release, TWO).verdicts)
        linked = release.made.placement.linked
        rows, shown = linked.rows, linked.regions
        assert rows is table.rows
        assert shown.columns == COLUMNS
        for place, domain in enumerate(rows.quasi):
            for code, part in zip(rows.codes[place], shown.codes[place], strict=True):
                region = shown.parts[place][part]
                assert region.contains(domain.values[code])
                assert (region.text == "*") or domain.name != column
        assert len(linked.published) == len(rows)


# -- whoever is drawn keeps all of her rows --------------------------------------------------------


def listed(table: Table) -> dict[int, list[list[int]]]:
    """The rows of each person by her number, in codes."""
    if table.rows is not None:
        owner, codes = table.rows.person, np.vstack([table.rows.codes, table.rows.values])
    else:
        counts = table.counts
        assert isinstance(counts, Counts)
        assert counts.owner is not None
        owner, codes = (
            counts.owner,
            np.repeat(np.vstack([counts.codes, counts.values]), counts.n, 1),
        )
    return {int(who): sorted(codes.T[owner == who].tolist()) for who in set(owner)}


def test_whose_rows_are_linked_is_drawn_with_all_of_them() -> None:
    schema = replace(SCHEMA, weight="w")
    table = sf.read(visits(), schema)
    some = sample_of(table, 20, 1)
    assert some.people == some.rows.people == 20
    assert set(listed(some)) == set(range(20))
    everybody = Counter(str(rows) for rows in listed(table).values())
    assert not Counter(str(rows) for rows in listed(some).values()) - everybody
    again = some.rows.counts(repeated=False)
    assert (again.n.tolist(), again.codes.tolist()) == (
        some.counts.n.tolist(),
        some.counts.codes.tolist(),
    )
    assert sample_of(table, 60, 1) is table
    price = sf.price(table, TWO, people=20, bounds=False)
    assert (price.people, price.everybody) == (20, 60)
    assert "a sample of 20 of 60 people" in price.brief().title


def test_what_is_kept_and_protected_is_drawn_with_the_rows() -> None:
    everybody = visits()
    everybody = everybody.append_column("row", pa.array([f"r{at}" for at in range(len(everybody))]))
    schema = replace(SCHEMA, keep=["row"], protect="home")
    levels = dict.fromkeys(COLUMNS, 0)
    for some in (
        sample_of(sf.read(everybody, schema), 20, 1),
        without_column(sf.read(everybody, schema), "age"),
    ):
        here = {name: levels[name] for name in some.schema.quasi}
        published = rows_with_owners(sf.generalize(some, here)).to_pylist()
        true = {row["row"]: row for row in everybody.to_pylist()}
        assert len({row["row"] for row in published}) == len(published) == len(some.rows)
        for row in published:
            for name in ("month", "ill", "home"):
                assert row[name] == true[row["row"]][name]


@pytest.mark.parametrize("rows", ["linked", "unlinked"])
def test_survey_weights_of_people_with_several_rows_are_raised(rows: str) -> None:
    schema = replace(SCHEMA, weight="w", rows=rows)
    table = sf.read(visits(), schema)
    some = sample_of(table, 20, 1)
    if rows == "linked":
        raised = dict(zip(map(str, listed(some).values()), some.rows.weights, strict=True))
        own = dict(zip(map(str, listed(table).values()), table.rows.weights, strict=True))
    else:
        raised = {str(mine): some.counts.weights[who] for who, mine in listed(some).items()}
        own = {str(mine): table.counts.weights[who] for who, mine in listed(table).items()}
    assert all(weight == pytest.approx(3 * own[mine]) for mine, weight in raised.items())


def test_every_person_is_drawn_equally_often() -> None:
    for rows in ("linked", "unlinked"):
        table = sf.read(visits(12), replace(SCHEMA, rows=rows))
        names = {str(mine): who for who, mine in listed(table).items()}
        assert len(names) == 12
        drawn = Counter(
            names[str(mine)]
            for seed in range(200)
            for mine in listed(sample_of(table, 6, seed)).values()
        )
        assert sum(drawn.values()) == 1200
        assert min(drawn.values()) > 65  # of 100, with a spread of 7


# -- households stay together ----------------------------------------------------------------------


def lives(table: Table) -> list[list[object]]:
    """The quasi-identifiers of everybody who lives together, home by home."""
    members, counts = table.households, table.counts
    assert members is not None
    homes: dict[int, list[object]] = {}
    present = set(members.person.tolist())
    if counts.of_rows:
        present = set(counts.owner.tolist())
    for person in sorted(present):
        codes = members.codes[:, members.person == person]
        homes.setdefault(int(members.household[person]), []).append(codes.T.tolist())
    return sorted(map(sorted, homes.values()))


@pytest.mark.parametrize(
    ("rows", "stored"),
    [("gathered", False), ("gathered", True), ("linked", False), ("unlinked", False)],
)
def test_who_lives_together_is_drawn_together(rows: str, stored: bool) -> None:
    data = visits()
    schema = replace(SCHEMA, rows=rows, household="home", weight="w")
    if rows == "gathered":  # one row each
        first = np.flatnonzero(np.diff(data["id"].to_numpy(), prepend=-1))
        data = data.take(pa.array(first))
    table = sf.read(data, schema)
    homes = lives(table)
    some = sample_of(beyond(table, 25) if stored else table, 20, 1)
    assert some.people == 18  # six homes of three: a seventh would be too many
    assert len(lives(some)) == 6
    assert all(home in homes for home in lives(some))
    if rows == "gathered":
        counts = some.counts
        assert isinstance(counts, Counts)
        there = Counter(map(tuple, np.repeat(counts.codes, counts.n, axis=1).T.tolist()))
        members = some.households
        assert there == Counter(map(tuple, members.codes.T.tolist()))
        assert counts.weights.sum() > 0
    assert sample_of(table, 1, 1).people == 3


def test_a_bound_on_households_has_a_price() -> None:
    """A sample of single people would all live alone, and no household would be found surer."""
    data = visits()
    policy = sf.Policy([sf.KAnonymity(2), sf.HouseholdRisk(0.4)], anonymizer=sf.Mondrian())
    for rows in ("linked", "unlinked", "gathered"):
        schema = replace(SCHEMA, rows=rows, household="home")
        if rows == "gathered":
            first = np.flatnonzero(np.diff(data["id"].to_numpy(), prepend=-1))
            data = data.take(pa.array(first))
        table = sf.read(data, schema)
        price = sf.price(table, policy, seconds=60)
        own = cost(sf.anonymize(table, policy, seed=0))
        assert price.cost <= own + 1e-12
        (without,) = (
            one
            for one in price.changes
            if isinstance(one.change, WithoutCriterion) and one.change.place == 1
        )
        free = cost(sf.anonymize(table, replace(policy, require=[sf.KAnonymity(2)]), seed=0))
        assert without.cost == pytest.approx(min(free, price.cost))
        assert {one.status for one in price.changes} == {"priced"}
        fewer = sf.price(table, policy, seconds=60, people=30, bounds=False)
        assert fewer.people == 30


def test_a_sample_of_members_numbers_households_as_its_people() -> None:
    table = sf.read(visits(), replace(SCHEMA, household="home"))
    some = sample_of(table, 20, 1)
    members = some.households
    assert isinstance(members, Members)
    assert members.person.tolist() == some.rows.person.tolist()
    assert len(members.household) == some.people
    assert set(np.bincount(members.household)[members.household]) == {3}


def test_what_earlier_releases_tell_of_linked_rows_is_not_asked_of_a_sample() -> None:
    """A sample lacks people of the earlier release, so no release of it could be judged."""
    table = sf.read(visits(), SCHEMA)
    lattice = replace(TWO, anonymizer=sf.Lattice(), suppression=0.5)
    bound = sf.CompositionBound(0.9, 1, sf.generalize(table, [3, 1, 2]))
    policy = replace(lattice, require=[sf.KAnonymity(3), bound])
    assert sf.price(table, policy, seconds=60).cost is not None
    with pytest.raises(sf.InputError, match="a sample of 20 lacks some; say people = 60"):
        sf.price(table, policy, people=20)
    assert sf.price(table, lattice, people=20, bounds=False).people == 20


# -- from the command line -------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["linked", "unlinked"])
def test_the_program_prices_compares_and_publishes_a_point(rows: str, tmp_path: Path) -> None:
    pa_csv.write_csv(visits(), tmp_path / "visits.csv")
    (tmp_path / "policy.toml").write_text(
        'suppression = 0.2\n[schema]\nquasi = ["age", "ward", "month"]\nsensitive = "ill"\n'
        f'person = "id"\nrows = "{rows}"\n[schema.hierarchies]\n'
        'age = {kind = "intervals", widths = [10, 20]}\n'
        '[anonymizer]\nkind = "mondrian"\n'
        '[[require]]\nkind = "k-anonymity"\nk = 3\n[[require]]\nkind = "t-closeness"\nt = 0.4\n'
    )
    asked = (tmp_path / "visits.csv", "--policy", tmp_path / "policy.toml")
    priced = sfumato("price", *asked, "--seconds", 60, "--html", tmp_path / "price.html")
    assert priced.returncode == 0, priced.stderr
    assert "What every promise costs: visits.csv, 60 people" in priced.stdout
    swept = ("--sweep", "k=2,5", "--sweep", "anonymizer=lattice,mondrian")
    compared = sfumato("compare", *asked, *swept, "--save", tmp_path / "map.json")
    assert compared.returncode == 0, compared.stderr
    like = (*asked, "--like", f"{tmp_path / 'map.json'}#3", "--out", tmp_path / "out", "--price")
    made = sfumato("anonymize", *like)
    assert made.returncode == 0, made.stderr
    assert "was not worked out" not in made.stdout + made.stderr
    assert sfumato("audit", tmp_path / "out", "--policy", tmp_path / "policy.toml").returncode == 0
    audited = sfumato("audit", *asked)
    assert audited.returncode == 1
    assert "Next" in audited.stdout
