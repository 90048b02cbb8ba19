"""The ledger: what it keeps, what it refuses, and that nothing is lost whatever happens."""

from __future__ import annotations

import datetime as dt
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import sfumato as sf
from sfumato.adversaries.composition.attack import intersection_attack
from sfumato.adversaries.randomised import compose
from sfumato.anonymizers.base import Task
from sfumato.criteria.base import judge
from sfumato.datasets.census import census, census_schema
from sfumato.errors import InputError, SchemaError, SfumatoError
from sfumato.ledger import ledger as ledger_module
from sfumato.ledger.check import check_release
from sfumato.ledger.content import pack, unpack
from sfumato.ledger.earlier import Earlier, SomeOfLedger
from sfumato.release.description import Buckets, of_scheme
from sfumato.release.guarantee import Guarantee
from sfumato.release.made import ReadFrom
from sfumato.report.sections.composition import check_document
from sfumato.schema.region import Anything, Mask, Span, ValueSet
from tests.adversaries.releases import buckets, generalized, release
from tests.oracles.exposure_oracle import table_of

OLD = release(["x"], [(((1, 5),), {"a": 2, "b": 1}), (((6, 9),), {"c": 3})], label="old")
NEW = release(["x"], [(((1, 3),), {"a": 1, "c": 1}), (((4, 9),), {"b": 2, "c": 1})], label="new")


def same(one: sf.Release, other: sf.Release) -> None:
    """Whatever anybody could see is the same."""
    assert (one.scheme, one.suppressed, one.disjoint, one.guarantee) == (
        other.scheme,
        other.suppressed,
        other.disjoint,
        other.guarantee,
    )
    assert one.regions.columns == other.regions.columns
    assert [one.regions.describe(g) for g in range(len(one.regions))] == [
        other.regions.describe(g) for g in range(len(other.regions))
    ]
    assert one.by_attribute.keys() == other.by_attribute.keys()
    for name, groups in one.by_attribute.items():
        theirs = other.by_attribute[name]
        assert groups.sizes.tolist() == theirs.sizes.tolist()
        assert [groups.counts_of(g) for g in range(len(groups))] == [
            theirs.counts_of(g) for g in range(len(theirs))
        ]


# -- what is kept --------------------------------------------------------------------------------


@given(one=generalized())
def test_regions_of_every_kind_come_back(one: sf.Release) -> None:
    back = unpack(pack(one), "back")
    same(one, back)
    for column, parts in enumerate(back.regions.parts):
        shown = [one.regions.parts[column][code] for code in one.regions.codes[column]]
        assert [parts[code] for code in back.regions.codes[column]] == shown


def test_ends_dates_labels_and_lists_come_back() -> None:
    shown = [
        Span(dt.date(2020, 1, 1), dt.date(2021, 1, 1), label="2020"),
        Span(low=dt.datetime(2020, 5, 1, 12, 30)),
        Span(high=3.5, high_closed=True),
        Span(high=3.5, beside=frozenset({"N", None})),
        ValueSet(frozenset({True, None, 2, "x"}), "all sorts"),
        Mask("13**"),
        Anything(),
    ]
    one = release(["d"], [((region,), {"a": 1}) for region in shown])
    back = unpack(pack(one), "back")
    assert [back.regions.parts[0][code] for code in back.regions.codes[0]] == shown
    listed = buckets(["x", "w"], [([(1, "F"), (1, "F"), (2, "M")], {"a": 2, "b": 1})])
    back = unpack(pack(listed), "back")
    same(listed, back)
    assert isinstance(back.regions, Buckets)
    assert back.regions.n.tolist() == [2, 1]


@pytest.mark.parametrize(
    "made",
    [sf.Mondrian(), sf.Anatomy(2), sf.Microaggregation(5)],
    ids=lambda anonymizer: anonymizer.name,
)
def test_an_attack_on_what_the_ledger_holds_is_the_attack(tmp_path: Path, made) -> None:
    rows = census(400, seed=3)
    schema = sf.Schema(["age", "sex", "zip"], "disease")
    tables = [sf.read(rows.slice(start, 300), schema) for start in (0, 100)]
    require = (sf.KAnonymity(5),) if made.name == "mondrian" else ()
    releases = [made.run(Task(table, require, seed=1)) for table in tables]
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    for place, one in enumerate(releases):
        ledger.add(one, f"release {place}")
    kept = ledger.releases()
    shared = rows.slice(100, 200)
    # Centroids are read on their published scale, so tell both the same one.
    scale = {"age": 15.0, "sex": 0.5, "zip": 10.0} if made.name == "microaggregation" else None
    before = intersection_attack(releases, shared, scale=scale)
    after = intersection_attack(kept, shared, scale=scale)
    for column in ("status", "before", "after", "belief"):
        if made.name == "microaggregation":  # words lie where the domain puts them
            continue
        assert after.targets[column].equals(before.targets[column])
    assert [one.label for one in kept] == ["release 0", "release 1"]
    for one, other in zip(releases, kept, strict=True):
        same(one, other)


def test_nothing_of_the_table_is_kept() -> None:
    """No value nobody shows, no distribution of the suppressed, no member, no source."""
    rows = pa.table({"x": [1, 1, 2, 2, 7], "s": ["a", "b", "a", "b", "rare"]})
    schema = sf.Schema(["x"], "s", domains={"s": ["a", "b", "rare", "declared"]})
    table = sf.read(rows, schema)
    made = sf.generalize(table, [0], [sf.KAnonymity(2)], suppression=0.2)
    assert made.suppressed == 1
    content = pack(made)
    back = unpack(content, "back")
    assert back.groups.values == ("a", "b")
    assert back.groups.reference.tolist() == [2, 2]
    assert back.placement is None
    for secret in (b"rare", b"declared", b"7"):
        assert secret not in content


def test_the_file_is_its_owner_s_alone(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(OLD, "old")
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]


def test_listing(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    first = ledger.add(OLD, " old ", about="clinic")
    ledger.add(NEW, "new")
    assert ledger.list()[0] == first
    assert (first.name, first.about, first.scheme) == ("old", "clinic", "generalized")
    assert (first.people, first.groups, first.quasi, first.sensitive) == (6, 2, ("x",), ("s",))
    assert [entry.name for entry in ledger.list()] == ["old", "new"]
    assert [entry.name for entry in ledger.list("clinic")] == ["old"]
    assert [one.label for one in ledger.releases("everybody")] == ["new"]
    with pytest.raises(InputError, match="no release about 'ward'; populations: 'clinic', 'every"):
        ledger.list("ward")


# -- what is refused -----------------------------------------------------------------------------


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(OLD, "old")
    with pytest.raises(InputError, match="already has a release named 'old'"):
        ledger.add(NEW, "old")
    assert len(ledger.list()) == 1
    for name in ("", "  ", None):
        with pytest.raises(InputError, match=r"name = .* is not allowed"):
            ledger.add(NEW, name)  # type: ignore[arg-type]


def test_the_same_release_is_kept_once_and_can_be_taken_back(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(OLD, "old")
    with pytest.raises(InputError, match="already has this very release, as 'old'"):
        ledger.add(OLD, "again")
    ledger.add(OLD, "of others", about="ward")  # said to be about other people
    with pytest.raises(InputError, match="no release named 'odl'; did you mean 'old'"):
        ledger.remove("odl")
    assert ledger.remove("old").name == "old"
    assert [entry.name for entry in ledger.list()] == ["of others"]
    ledger.add(OLD, "again")
    assert len(ledger.releases()) == 2


def test_a_ledger_that_is_not_there_or_not_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist; `sfumato ledger add` makes a ledger"):
        sf.Ledger(tmp_path / "none").list()
    for use in (lambda: sf.Ledger(tmp_path).add(OLD, "old"), sf.Ledger(tmp_path).list):
        with pytest.raises(InputError, match="is a folder; name a file for the ledger"):
            use()
    with pytest.raises(InputError, match="does not exist; make the folder first"):
        sf.Ledger(tmp_path / "no" / "ledger").add(OLD, "old")
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to look like one " * 20)
    with pytest.raises(InputError, match="is not a ledger, or is damaged; name another"):
        sf.Ledger(text).list()
    with pytest.raises(InputError, match="is not a ledger, or is damaged"):
        sf.Ledger(text).add(OLD, "old")
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()
    with pytest.raises(InputError, match="is a database, but not a ledger"):
        sf.Ledger(other).add(OLD, "old")
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    with pytest.raises(InputError, match="is empty, which no ledger ever is"):
        sf.Ledger(empty).list()


def test_a_file_from_a_newer_version_is_refused(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(OLD, "old")
    connection = sqlite3.connect(ledger.path)
    connection.execute(f"PRAGMA user_version = {ledger_module.VERSION + 1}")
    connection.close()
    for use in (ledger.list, lambda: ledger.add(NEW, "new"), ledger.releases):
        with pytest.raises(InputError) as caught:
            use()
        assert "was written by a newer Sfumato (ledger format 3, this one knows 2)" in str(
            caught.value
        )
        assert "update Sfumato" in str(caught.value)


def test_a_damaged_release_is_told(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(OLD, "old")
    connection = sqlite3.connect(ledger.path)
    connection.execute("UPDATE releases SET content = 'nonsense'")
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="is damaged: it is not what was written"):
        ledger.releases()


def test_a_release_without_a_sensitive_column_does_not_compose(tmp_path: Path) -> None:
    table = sf.read(pa.table({"x": [1, 1]}), sf.Schema(["x"]))
    with pytest.raises(InputError, match="has no sensitive column, so nothing of it composes"):
        sf.Ledger(tmp_path / "ledger").add(sf.generalize(table, [0]), "one")
    assert not (tmp_path / "ledger").exists()


# -- whatever happens ----------------------------------------------------------------------------

ADDING = """
import os, signal, sys
import sfumato as sf
from tests.adversaries.releases import release
OLD = release(["x"], [(((1, 5),), {{"a": 2, "b": 1}}), (((6, 9),), {{"c": 3}})])
{before}
ledger = sf.Ledger(sys.argv[1])
for number in range(int(sys.argv[3])):
    name = f"{{sys.argv[2]}} {{number}}"
    ledger.add(OLD, name, about=name)  # the same about the same people is refused
    print(number, flush=True)
"""
KILLED_INSIDE = """
import sqlite3
from sfumato.ledger import ledger as store
class Killed(sqlite3.Connection):
    def execute(self, sql, *more):
        if sql == "COMMIT" and os.environ.get("AT") == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = super().execute(sql, *more)
        if sql == "COMMIT" and os.environ.get("AT") == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result
connect = sqlite3.connect
store.sqlite3.connect = lambda *a, **k: connect(*a, **k, factory=Killed)
"""


def adding(path: Path, who: str, times: int, before: str = "", **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ADDING.format(before=before), str(path), who, str(times)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
        env={**os.environ, **env},
    )


@pytest.mark.parametrize(("at", "kept"), [("before", 1), ("after", 2)])
def test_killed_in_the_middle_of_adding(tmp_path: Path, at: str, kept: int) -> None:
    """kill -9 before the change is made final leaves the ledger as it was, after it whole."""
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(OLD, "first")
    process = adding(ledger.path, "killed", 1, KILLED_INSIDE, AT=at)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert len(ledger.list()) == kept
    ledger.add(NEW, "later")
    assert len(ledger.releases()) == kept + 1
    check_whole(ledger)


def test_killed_at_any_moment_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    done = 0
    for trial in range(3):
        with adding(ledger.path, f"run {trial}", 10_000) as process:
            assert process.stdout is not None
            process.stdout.readline()  # it is at work
            time.sleep(0.02 * (trial + 1))
            process.kill()
            finished = 1 + len(process.stdout.read().split())
        names = {entry.name for entry in ledger.list()}
        assert {f"run {trial} {number}" for number in range(finished)} <= names
        assert len(names) - done in (finished, finished + 1)  # kept, but killed before saying so
        done = len(names)
    check_whole(ledger)


def test_two_processes_adding_at_once_lose_nothing(tmp_path: Path) -> None:
    """Both begin with no file at all."""
    path = tmp_path / "ledger.sqlite"
    processes = [adding(path, who, 12) for who in ("one", "other")]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    names = [entry.name for entry in sf.Ledger(path).list()]
    assert sorted(names) == sorted(f"{who} {n}" for who in ("one", "other") for n in range(12))
    assert len(sf.Ledger(path).releases()) == 24
    check_whole(sf.Ledger(path))


def check_whole(ledger: sf.Ledger) -> None:
    connection = sqlite3.connect(ledger.path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    for one in ledger.releases():
        same(one, NEW if one.label in ("new", "later") else OLD)


# -- accounting ----------------------------------------------------------------------------------


def noisy(epsilon: float, delta: float = 0.0, draw: int = 0) -> sf.Release:
    return sf.Release(
        OLD.schema,
        OLD.by_attribute,
        of_scheme(OLD.regions, "randomised"),
        suppressed=draw,  # what tells one draw from another here
        made=ReadFrom(guarantee=Guarantee(epsilon, delta, "laplace")),
    )


def test_promises_add_up_by_population(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    for number in range(3):
        ledger.add(noisy(0.1, 1e-6, number), f"clinic {number}", about="clinic")
    ledger.add(OLD, "exact", about="clinic")
    ledger.add(noisy(1), "ward", about="ward")
    ledger.add(OLD, "other", about="others")
    spent = {(one.about, one.neighbours): one for one in ledger.spent()}
    clinic = spent["clinic", "replace-one"]
    assert (clinic.epsilon, clinic.delta) == (0.3, 3e-6)  # by the decimals that were written
    assert (clinic.releases, clinic.unprotected) == (3, 1)
    assert spent["ward", "replace-one"].epsilon == 1
    assert spent["ward", "add-remove"].epsilon is None  # nothing is promised by it
    assert not any(population == "others" for population, _ in spent)
    (back,) = ledger.releases("ward")
    assert back.guarantee == Guarantee(1, 0.0, "laplace")


def test_the_tighter_figure_stands_beside_the_sum(tmp_path: Path) -> None:
    """OpenDP's, by population and relation; many small releases are better off with it."""
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    for number in range(40):
        ledger.add(noisy(0.1, draw=number), f"small {number}", about="many")
    ledger.add(noisy(1), "large", about="few")
    many, few = (ledger.spent(name)[0] for name in ("many", "few"))
    assert many.tighter == compose([Guarantee(0.1, 0.0, "laplace")] * 40).tighter
    assert many.tighter.epsilon < many.epsilon == 4
    assert few.tighter.epsilon > few.epsilon == 1
    assert (many.note, few.note) == ("", "")
    assert many.to_dict()["tighter"]["delta"] == 1e-6
    nothing = ledger.spent("few")[1]
    assert (nothing.neighbours, nothing.basic, nothing.tighter) == ("add-remove", None, None)
    assert nothing.note == "1 release(s) promise nothing by add-remove"


def test_without_opendp_the_sum_alone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(noisy(0.5), "one")
    for name in [name for name in sys.modules if name.split(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opendp", None)
    spent = ledger.spent()[0]
    assert (spent.epsilon, spent.tighter) == (0.5, None)
    assert "pip install 'sfumato[dp]'" in spent.note


def test_a_check_adds_the_new_promise_to_the_old(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(noisy(0.5), "one", about="clinic")
    ledger.add(noisy(2), "other", about="ward")
    check = ledger.check(noisy(0.25), about="clinic")
    told = {(one.about, one.neighbours): one for one in check.spent}
    assert told.keys() == {("clinic", "replace-one"), ("clinic", "add-remove")}
    assert told["clinic", "replace-one"].epsilon == 0.75
    assert check.to_dict()["spent"][0]["releases"] == 2
    exact = ledger.check(NEW, [{"x": 2}], about="ward")
    assert (exact.spent[0].releases, exact.spent[0].unprotected) == (1, 1)
    assert len(ledger.list()) == 2  # nothing was added


def test_a_promise_belongs_to_a_randomised_release(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    promise = Guarantee(1, 0.0, "laplace")
    with pytest.raises(InputError, match="only a randomised release has a guarantee"):
        ledger.add(OLD, "old", guarantee=promise)
    bare = sf.Release(OLD.schema, OLD.by_attribute, of_scheme(OLD.regions, "randomised"))
    with pytest.raises(InputError, match="is randomised but promises nothing"):
        ledger.add(bare, "bare")
    assert ledger.add(bare, "bare", guarantee=promise).guarantee == promise


# -- checking ------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> sf.Ledger:
    kept = sf.Ledger(tmp_path / "ledger.sqlite")
    kept.add(OLD, "old")
    return kept


def test_a_check_for_people_who_are_given(ledger: sf.Ledger) -> None:
    people = [{"x": 2}, {"x": 2}, {"x": 4}, {"x": 8}, {"x": 99}]
    check = ledger.check(NEW, people, share=0.5)
    (finding,) = check.findings
    # x = 2: {a, c} and {a, b} leave a; 4: {b, c} and {a, b} leave b; 8: {b, c} and {c} leave c.
    assert (check.basis, check.status) == ("targets", "violated")
    assert (finding.people.number, finding.not_located) == (4, 1)
    assert (finding.alone.number, finding.before, finding.together) == (0, 1, (4, 4))
    assert finding.by_release == (("old", 4),)
    assert ledger.check(NEW, people, share=1).status == "holds"
    assert check.to_dict()["findings"][0]["together"] == {"at_least": 4, "at_most": 4}
    (threat,) = check.threats()
    assert "of 4 of 4 people (0 by the new release alone)" in threat.learns


def test_a_check_for_a_population(ledger: sf.Ledger) -> None:
    register = sf.read(pa.table({"x": [2, 4, 8, 8]}), sf.Schema(["x"]))
    check = ledger.check(NEW, population=register)
    assert (check.basis, check.status) == ("population", "violated")
    assert check.findings[0].together == (4, 4)


def test_a_check_for_the_people_it_was_made_of(ledger: sf.Ledger) -> None:
    rows = pa.table({"x": [1, 2, 7, 8], "s": list("abcb")})
    made = sf.generalize(sf.read(rows, sf.Schema(["x"], "s")), [1])  # everybody together
    check = ledger.check(made, confidence=0.5)
    (finding,) = check.findings
    assert (check.basis, finding.people.number, finding.together) == ("people", 4, (4, 4))
    assert (finding.alone.number, finding.before) == (0, 4)
    assert ledger.check(made, share=0.5).status == "holds"
    assert ledger.check(made, share=0.4).status == "violated"


def test_a_check_without_any_people(ledger: sf.Ledger) -> None:
    check = ledger.check(NEW)
    (finding,) = check.findings
    assert check.basis == "combinations"
    assert finding.before is None
    # 1 to 3 leaves a whoever it is; of 4 to 9 the ages between 5 and 6 are in no old group.
    assert finding.together == (2, 5)
    assert check.status == "violated"
    assert ledger.check(NEW, share=0.4).status == "could_not_judge"
    assert ledger.check(NEW, share=1).status == "holds"
    assert check.findings[0].by_release == (("old", 5),)


def test_a_check_of_what_the_new_release_adds(ledger: sf.Ledger) -> None:
    people = [{"x": 2}, {"x": 2}, {"x": 4}, {"x": 8}]
    check = ledger.check(NEW, people, share=0.75, counting="added")
    # All four are exposed; 8 has been since the old release showed c of everybody there.
    assert (check.findings[0].together, check.findings[0].added) == ((4, 4), (3, 3))
    assert check.holds
    assert ledger.check(NEW, people, share=0.75).status == "violated"
    assert ledger.check(NEW, people, share=0.7, counting="added").status == "violated"
    told = check.to_dict()
    assert told["required"]["counting"] == "added"
    assert told["findings"][0]["added"] == {"at_least": 3, "at_most": 3}
    words = check_document(check)
    assert "beyond those whom earlier releases expose by themselves" in words.about
    with pytest.raises(InputError, match="counting = 'new' is not allowed; use 'all', or 'added'"):
        ledger.check(NEW, people, counting="new")


def test_a_check_without_people_of_what_the_new_release_adds(ledger: sf.Ledger) -> None:
    (finding,) = ledger.check(NEW, counting="added").findings
    low, high = finding.added
    assert low <= high <= finding.together[1]
    assert ledger.check(NEW, share=1, counting="added").holds


def test_a_check_and_the_criterion_count_the_same(ledger: sf.Ledger) -> None:
    """Whoever adds is counted by both alike, at every confidence."""
    rows = pa.table({"x": [1, 2, 3, 4, 7, 8, 9], "s": list("abbaccb")})
    made = sf.generalize(sf.read(rows, sf.Schema(["x"], "s")), [0])
    for confidence in (1.0, 0.5, 0.3):
        for counting in ("all", "added"):
            bound = sf.CompositionBound(1, confidence, OLD, counting=counting)
            (finding,) = ledger.check(made, confidence=confidence, counting=counting).findings
            measured = judge(bound, made).measured
            assert finding.counted(counting) == (round(measured * 7), round(measured * 7))


# -- links that lead back to themselves ----------------------------------------------------------


@pytest.mark.parametrize(("counting", "drop"), [("all", 0), ("all", 1), ("added", 0)])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.4])
def test_culprits_are_the_releases_without_which_it_would_hold(
    share: float, counting: Any, drop: int
) -> None:
    """Every subset of earlier releases, checked by itself."""
    earlier = [
        replace(release_, label=f"r{place}")
        for place, release_ in enumerate(
            sf.Mondrian().run(Task(table_of(seed), (sf.KAnonymity(k),)))
            for seed, k in ((5, 12), (6, 3), (7, 2))
        )
    ]
    new = sf.Mondrian().run(Task(table_of(5, 60), (sf.KAnonymity(6),)))

    def checked(some: Any) -> Any:
        return check_release(new, some, share=share, counting=counting, drop=drop)

    found = checked(earlier)
    (finding,) = found.findings
    expected: list[tuple[str, ...]] = []
    if found.status == "violated" and checked([]).holds:
        for many in (1, 2, 3):
            expected = [
                tuple(one.label for one in some)
                for some in combinations(earlier, many)
                if checked([one for one in earlier if one not in some]).holds
            ]
            if expected:
                break
    assert finding.culprits == tuple(expected)
    for label, people in finding.by_release:
        (before,) = (one for one in earlier if one.label == label)
        assert people == checked([before]).findings[0].together[1]


def test_a_culprit_is_told(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    wide = release(["x"], [(((1, 9),), {"a": 1, "b": 1, "c": 1})])
    for name, kept in (("wide", wide), ("old", OLD)):
        ledger.add(kept, name)
    found = ledger.check(NEW, [{"x": 2}, {"x": 8}])
    words = " ".join(check_document(found).text().split())
    assert "It would hold without 'old'." in words
    # Of x = 8 the old one shows c alone, whatever is published now.
    assert "Earlier releases expose 1 people by themselves, more than it allows" in words
    narrow = release(["x"], [(((1, 9),), {"a": 3})])
    words = " ".join(check_document(ledger.check(narrow, [{"x": 2}])).text().split())
    assert "The new release exceeds it by itself: coarsen it." in words


@pytest.mark.parametrize("many", [3, 25])
def test_blame_that_no_two_explain(many: int) -> None:
    """Three or more releases that each leave one value; pairs of very many are not tried."""
    earlier = [
        release(["x"], [(((1, 9),), {"a": 1, "b": 1})], label=f"r{place}") for place in range(many)
    ]
    other = release(["x"], [(((1, 9),), {"d": 1})], sensitive="other", label="of something else")
    new = release(["x"], [(((1, 9),), {"a": 1, "c": 1})])
    found = check_release(new, [*earlier, other], [{"x": 2}])
    words = " ".join(check_document(found).text().split())
    few = "any one or two of them." if many == 3 else "any one of them (pairs of so many"
    assert f"It would hold without all {many} earlier releases, but not without {few}" in words


def test_what_each_earlier_release_adds_up_to_is_a_bound_where_people_are_unknown() -> None:
    new = release(["x"], [(((1, 9),), {"a": 1, "b": 1, "c": 2})])
    old = release(["x"], [(((1, 4),), {"a": 1}), (((5, 9),), {"a": 1, "b": 1})], label="old")
    words = " ".join(check_document(check_release(new, [old])).text().split())
    assert "the new one and old, at most 4" in words


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    return tmp_path / "one"


def test_a_link_that_leads_nowhere_is_one_line(loop: Path) -> None:
    for kept in (loop, loop / "release", sf.Ledger(loop), SomeOfLedger(loop, ("old",))):
        with pytest.raises(InputError, match="a link that leads back to itself"):
            hash(Earlier(kept))
        with pytest.raises(SfumatoError, match="a link that leads back to itself"):
            repr(sf.CompositionBound(0, 1, kept))


def test_a_policy_is_not_saved_with_a_link_that_leads_nowhere(tmp_path: Path, loop: Path) -> None:
    kept = sf.Ledger(tmp_path / "ledger.sqlite")
    kept.add(OLD, "old")
    policy = sf.Policy([sf.CompositionBound(0, 1, kept)])
    kept.path.rename(tmp_path / "moved.sqlite")
    (tmp_path / "ledger.sqlite").symlink_to("ledger.sqlite")
    with pytest.raises(SfumatoError, match="a link that leads back to itself"):
        policy.save(tmp_path / "policy.toml")
    assert not (tmp_path / "policy.toml").exists()
    with pytest.raises(SfumatoError):
        sf.Policy([sf.KAnonymity(2)]).save(loop / "policy.toml")


def test_a_check_tells_what_it_leaves_out(ledger: sf.Ledger) -> None:
    ledger.add(noisy(1), "noise")
    ledger.add(release(["x"], [((1,), {"q": 2})], sensitive="other"), "else")
    check = ledger.check(NEW, [{"x": 2}])
    assert check.earlier == ("old", "noise", "else")
    assert check.notes == (
        "randomised, bounded by their promise: noise",
        "tell nothing about 's': else",
    )
    quiet = ledger.check(noisy(1))
    assert quiet.status == "could_not_judge"
    assert "counts of the new release are noisy" in quiet.notes[0]


def test_a_check_that_cannot_be_made(ledger: sf.Ledger) -> None:
    people = [{"x": 2}]
    for call, text in (
        (lambda: ledger.check(NEW, people, share=2), "share = 2 is not allowed"),
        (lambda: ledger.check(NEW, people, confidence=0), "confidence = 0 is not allowed"),
        (
            lambda: ledger.check(NEW, [{"y": 2}]),
            "no quasi-identifier of the releases is there ('x')",
        ),
        (lambda: ledger.check(NEW, people, about="nobody"), "no release about 'nobody'"),
        (
            lambda: ledger.check(release(["x"], [((1,), {"A": 1})]), people),
            "old share no value of 's'",
        ),
        (
            lambda: ledger.check(
                NEW, people, population=sf.read(pa.table({"x": [1]}), sf.Schema(["x"]))
            ),
            "give targets or a population, not both",
        ),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert text in str(caught.value)
    with pytest.raises(SchemaError, match="'t' is not a sensitive column"):
        ledger.check(NEW, people, sensitive="t")


def test_a_check_beside_centroids_needs_people(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    points = release(["x"], [((2.0,), {"a": 1, "b": 1})], scheme="microaggregated")
    ledger.add(points, "points")
    check = ledger.check(NEW)
    assert check.status == "could_not_judge"
    assert "points publishes centroids" in check.findings[0].reason
    assert ledger.check(NEW, [{"x": 2}]).findings[0].together == (1, 1)


def test_a_first_release_is_judged_by_itself(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger_module._make(ledger.path)  # as a run that was killed before its entry leaves it
    assert ledger.check(OLD, share=0.5).status == "holds"
    check = ledger.check(OLD, share=0.4)
    assert check.findings[0].together == (3, 3)
    assert check.notes == ("nothing was released before, so the new release is judged by itself",)
    assert check.threats()[0].knows == "the target's quasi-identifiers"


def test_the_whole_way_on_a_census(tmp_path: Path) -> None:
    """Two yearly releases, each k-anonymous, expose people together whom neither does alone."""
    rows = census(1500, seed=1)
    schema = census_schema()
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    years = [sf.read(rows.slice(start, 1000), schema) for start in (0, 500)]
    releases = [sf.Mondrian().run(Task(year, (sf.KAnonymity(4),))) for year in years]
    ledger.add(releases[0], "first year")
    check = ledger.check(releases[1], sensitive="disease")
    (finding,) = check.findings
    assert check.status == "violated"
    assert finding.people.number == 1000
    assert finding.together[0] > finding.alone.number
    shared = rows.slice(500, 500)
    attack = intersection_attack(
        [ledger.releases()[0], releases[1]], shared, sensitive="disease", truth="disease"
    )
    assert attack.summary.located == attack.summary.people == 500
    assert attack.summary.inconsistent == 0
    # Whoever is left with one value in the attack is exposed in the check as well.
    assert attack.summary.exposed <= finding.together[0]
    exact = [p for p in attack.summary.curve if p.confidence == 1]
    assert exact[0].precision == 1
    assert np.isclose(exact[0].share, attack.summary.perfect_breach)


def test_shares_are_of_people_though_some_are_in_many_groups(tmp_path: Path) -> None:
    """One of three people is alone with her value; the other two share nine groups."""
    rows = [("p0", "a", "x")]
    rows += [(who, f"b{group}", s) for group in range(9) for who, s in (("p1", "x"), ("p2", "y"))]
    path = tmp_path / "release.csv"
    path.write_text("\n".join(",".join(row) for row in [("id", "q", "s"), *rows]))
    told = sf.read_release(path, sf.Schema(["q"], "s", person="id"))
    found = check_release(told, [], share=0.1)
    assert [(str(one.people), str(one.alone), one.together) for one in found.findings] == [
        ("3", "1", (1, 1))
    ]
    assert found.status == "violated"
    verdict = judge(sf.CompositionBound(0.1, 1.0, [told]), told)
    assert (verdict.status, verdict.measured) == ("violated", pytest.approx(1 / 3))


def test_who_is_in_several_groups_is_not_kept_and_the_figure_is_at_most(tmp_path: Path) -> None:
    """Two people share nine groups of one value: exposed are 2, of an entry at most so many."""
    rows = [(who, f"b{group}", "x") for group in range(9) for who in ("p1", "p2")]
    rows += [(f"r{n}", "c", value) for n, value in enumerate("xyz")]
    path = tmp_path / "release.csv"
    path.write_text("\n".join(",".join(row) for row in [("id", "q", "s"), *rows]))
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    new = sf.read_release(path, sf.Schema(["q"], "s", person="id"))
    ledger.add(new, "kept")
    for told, words, at_most in ((new, "2", False), (ledger.releases()[0], "at most 5", True)):
        found = check_release(told, [], share=1.0)
        (finding,) = found.findings
        assert str(finding.alone) == words
        (listed,) = found.to_dict()["findings"]
        assert (listed["alone"], listed["alone_at_most"]) == (finding.alone.number, at_most)
        assert f"({words} by the new release alone)" in found.threats()[0].learns
        row = check_document(found).sections[0].tables[0].rows[0][0]
        assert row == "the new release by itself" + at_most * ", at most"


def test_of_people_who_are_not_counted_a_share_is_of_the_fewest_there_may_be(
    tmp_path: Path,
) -> None:
    """Two of five people are exposed; the other three are in nine groups, so they look like more.

    Whoever leaves out some groups of an entry no longer knows how many people there are.
    """
    rows = [("p1", "b", "x"), ("p2", "b", "x")]
    rows += [(f"r{n}", f"c{place}", value) for place in range(9) for n, value in enumerate("xyz")]
    path = tmp_path / "release.csv"
    path.write_text("\n".join(",".join(row) for row in [("id", "q", "s"), *rows]))
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(sf.read_release(path, sf.Schema(["q"], "s", person="id")), "kept")
    (kept,) = ledger.releases()
    some = kept.groups.take(np.arange(len(kept.groups) - 1))
    assert some.headcount().at_most
    assert some.fewest_people <= 5 < some.people()
    before = release(["q"], [((Anything(),), {"x": 9, "y": 9, "z": 9})])
    bound = sf.CompositionBound(0.1, 1, [before])
    assert bound.verdict(kept.groups).status == "violated"
    verdict = bound.verdict(some)
    assert verdict.status == "cannot_judge"
    assert "of at most 26" in verdict.note
