"""Best: the most useful of what applies, held to each of its candidates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from math import nan
from random import Random
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.base import Anonymizer, Task
from sfumato.anonymizers.best import Attempt, Best, BestFindings
from sfumato.anonymizers.lattice.lattice import LatticeFindings
from sfumato.criteria.base import Criterion
from sfumato.release.release import Release
from sfumato.report.sections.search import choice_words, contest_section
from sfumato.utility import utility_named
from sfumato.utility.base import Utility
from sfumato.utility.loss import Loss
from sfumato.utility.view import View, view_of
from sfumato.workflow.compare import plan_sweep
from tests.table.beyond_memory import beyond

GENERALIZED: dict[str, Anonymizer] = {
    "mondrian (tight)": sf.Mondrian(regions="tight"),
    "mondrian (cells)": sf.Mondrian(),
    "mondrian (relaxed)": sf.Mondrian(strict=False, regions="tight"),
    "mondrian (hierarchy)": sf.Mondrian(regions="hierarchy"),
    "lattice": sf.Lattice(),
}
EVERY = [*GENERALIZED, "deal"]


def read(seed: int, people: int = 60, **more: Any) -> sf.Table:
    chance = Random(seed)
    rows = pa.table(
        {
            "age": [chance.randrange(20, 60) for _ in range(people)],
            "city": [chance.choice(["ulm", "bonn", "kiel"]) for _ in range(people)],
            "sex": [chance.choice("FM") for _ in range(people)],
            "ill": [chance.choice(["flu", "gout", "cold", "hiv"]) for _ in range(people)],
        }
    )
    roles = sf.Schema(
        quasi=["age", "city", "sex"],
        sensitive="ill",
        hierarchies={"age": sf.intervals([5, 10, 20])},
    )
    return sf.read(rows, roles, **more)


def findings_of(release: Release) -> BestFindings:
    findings = BestFindings.of(release.made)
    assert findings is not None
    return findings


POLICIES: dict[str, tuple[Criterion, ...]] = {
    "k": (sf.KAnonymity(4),),
    "close": (sf.KAnonymity(3), sf.TCloseness(0.3)),
    "diverse": (sf.EntropyDiversity(2.5),),
    "skyline": (sf.SkylinePrivacy([(1, 1, 1, 0.9)]),),
}


@pytest.mark.parametrize("named", POLICIES)
@pytest.mark.parametrize("utility", ["loss", "discernibility"])
def test_it_is_never_worse_than_any_of_its_candidates(named: str, utility: str) -> None:
    for seed in range(3):
        task = Task(read(seed), POLICIES[named], utility_named(utility), 0.1, seed)
        release = Best().run(task)
        assert sf.audit(release, task.require).holds
        told = {attempt.anonymizer: attempt for attempt in findings_of(release).attempts}
        assert list(told) == EVERY
        cost = task.utility.cost(view_of(release))
        for label, anonymizer in GENERALIZED.items():
            try:
                other = task.utility.cost(view_of(anonymizer.run(task)))
            except sf.SfumatoError:
                assert told[label].outcome in ("refused", "does not apply")
                assert told[label].why
                continue
            assert told[label].cost == other
            assert cost <= other


def test_dealing_is_among_them_where_there_are_people_enough() -> None:
    task = Task(read(1, 150), (sf.KAnonymity(3), sf.TCloseness(0.4)), seed=2)
    first, again = (Best().run(task) for _ in range(2))
    assert first.to_arrow().equals(again.to_arrow())
    findings = findings_of(first)
    assert findings.attempts[-1].anonymizer == "deal"
    assert findings.winner.anonymizer == "deal"
    assert findings.made_by == "best (deal)"
    assert findings.winner.cost == Loss().cost(view_of(first))
    second = findings.next_best
    assert second is not None
    assert second.cost is not None
    assert findings.winner.cost is not None
    assert findings.winner.cost < second.cost
    assert all(attempt.seconds is not None for attempt in findings.attempts)


def test_the_chosen_anonymizers_own_findings_stay_at_hand() -> None:
    rows = pa.table({"city": ["ulm", "bonn"] * 4, "ill": ["flu", "flu", "cold", "cold"] * 2})
    table = sf.read(rows, sf.Schema(quasi=["city"], sensitive="ill"))
    release = Best().run(Task(table, (sf.KAnonymity(4),)))
    assert findings_of(release).winner.loss == 0
    idle = [a for a in findings_of(release).attempts if a.outcome == "not begun"]
    assert all("nothing" in a.why or "fewer than" in a.why for a in idle)
    only = Best().run(Task(read(0), (sf.KAnonymity(60),), suppression=0.5))
    chosen = findings_of(only).chosen
    assert type(chosen).of(only.made) is chosen
    assert LatticeFindings.of(Best().run(Task(table, (sf.KAnonymity(8),))).made) is None


def test_few_people_are_dealt_where_else_little_is_left() -> None:
    """The price of a promise is searched by dealing then: it must not find a better release."""
    rows = pa.table(
        {
            "city": ["ulm", "bonn"] * 6 + ["ulm"],
            "cost": [1234 + n // 2 if n % 2 == 0 else 99 + n // 2 for n in range(12)] + [2000],
            "ill": ["measles", "flu"] * 6 + ["flu"],
        }
    )
    schema = sf.Schema(["city", "cost"], "ill", hierarchies={"cost": sf.intervals([100, 800])})
    require = (sf.KAnonymity(5), sf.DistinctDiversity(2), sf.TCloseness(0.2))
    task = Task(sf.read(rows, schema), require)
    brief = sf.Deal().briefly().run(task)
    assert Loss().cost(view_of(brief)) < 1
    assert Loss().cost(view_of(Best().run(task))) <= Loss().cost(view_of(brief))


# -- when it is cut short -------------------------------------------------------------------------


def test_the_first_release_is_made_whatever_the_clock_says() -> None:
    release = Best(seconds=1e-9).run(Task(read(2), (sf.KAnonymity(3),)))
    first, *others = findings_of(release).attempts
    assert first.outcome == "chosen"
    assert [(a.outcome, a.why) for a in others[:-1]] == [("not begun", "the time was over")] * 4
    assert sf.audit(release, [sf.KAnonymity(3)]).holds


@dataclass(frozen=True)
class Interrupting(Utility):
    """Somebody presses Ctrl-C while the n-th release is measured."""

    name: ClassVar[str] = "interrupting"
    about: ClassVar[str] = "loss, until somebody interrupts"

    at: int = 1
    measured: Iterator[int] = field(default_factory=lambda: count(1), compare=False)

    def cost(self, view: View) -> float:
        if next(self.measured) == self.at:
            raise KeyboardInterrupt
        return Loss().cost(view)


def test_an_interrupt_keeps_the_best_so_far() -> None:
    task = Task(read(3), (sf.KAnonymity(3),), Interrupting(3))
    release = Best().run(task)
    findings = findings_of(release)
    assert findings.interrupted
    outcomes = [attempt.outcome for attempt in findings.attempts]
    assert sorted(outcomes[:2]) == ["chosen", "holds"]
    assert outcomes[2:] == ["stopped", "not begun", "not begun", "not begun"]
    assert all("interrupted" in attempt.why for attempt in findings.attempts[2:])
    assert sf.audit(release, task.require).holds


def test_an_interrupt_before_there_is_any_release_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt):
        Best().run(Task(read(3), (sf.KAnonymity(3),), Interrupting(1)))


# -- what applies ---------------------------------------------------------------------------------


def test_other_schemes_are_tried_only_where_the_owner_allows_them() -> None:
    task = Task(read(4), (sf.DistinctDiversity(2),))
    assert Best().run(task).scheme == "generalized"
    release = Best(schemes=["generalized", "bucketized"]).run(task)
    assert release.scheme == "bucketized"
    assert findings_of(release).winner.anonymizer == "anatomy"
    assert Best(schemes="bucketized").run(task).scheme == "bucketized"
    only = Best(schemes=["microaggregated"]).run(task)
    assert only.scheme == "microaggregated"
    assert only.made.findings.distances is not None  # type: ignore[union-attr]


def test_buckets_are_dealt_where_anatomy_cannot_keep_a_bound() -> None:
    task = Task(read(4, 120), (sf.TCloseness(0.3),))
    release = Best(seconds=10, schemes=["generalized", "bucketized"]).run(task)
    told = {attempt.anonymizer: attempt.outcome for attempt in findings_of(release).attempts}
    assert (told["anatomy"], told["deal (buckets)"]) == ("refused", "chosen")
    assert release.scheme == "bucketized"
    assert sf.audit(release, task.require).holds


def test_a_release_that_the_utility_cannot_measure_comes_last() -> None:
    task = Task(read(4), (sf.KAnonymity(3),))
    release = Best(schemes=["generalized", "microaggregated"]).run(task)
    told = {attempt.anonymizer: attempt for attempt in findings_of(release).attempts}
    assert told["microaggregation"].outcome == "holds"
    assert str(told["microaggregation"].cost) == str(nan)
    assert release.scheme == "generalized"


def test_on_a_table_larger_than_memory_it_tries_what_can_work_there() -> None:
    require = (sf.KAnonymity(3), sf.DistinctDiversity(2))
    release = Best(seconds=5).run(Task(beyond(read(9, 140), 200), require, suppression=0.1))
    told = {attempt.anonymizer: attempt.outcome for attempt in findings_of(release).attempts}
    assert told["mondrian (relaxed)"] == "does not apply"
    labels = told["mondrian (hierarchy)"]
    assert {"chosen", "holds"} >= {told["mondrian (tight)"], labels, told["lattice"], told["deal"]}
    assert sf.audit(release, require).holds


def test_whom_no_group_can_hold_is_suppressed() -> None:
    """Two people whom no group can hold: who may be left out, is."""
    ages = [*([20] * 30), *([40] * 30)]
    ills = [*(["flu", "cold"] * 15), *(["flu"] * 30)]
    rows = pa.table({"age": ages, "ill": ills})
    table = sf.read(rows, sf.Schema(quasi=["age"], sensitive="ill"))
    require = (sf.AlphaK(0.6, 3),)
    with pytest.raises(sf.NoSafeRelease, match="alpha-k"):
        Best().run(Task(table, require))
    release = Best().run(Task(table, require, suppression=0.5))
    assert findings_of(release).winner.anonymizer == "lattice"
    assert release.suppressed == 30


def test_a_refusal_names_the_criterion_once_for_all() -> None:
    with pytest.raises(sf.NoSafeRelease, match="k-anonymity, required k"):
        Best().run(Task(read(5), (sf.KAnonymity(100),)))


def test_a_criterion_of_finished_releases_is_kept() -> None:
    task = Task(read(6, 40), (sf.KAnonymity(3), sf.RelativeThreatBound(1.2)), seed=1)
    release = Best(seconds=5).run(task)
    assert sf.audit(release, task.require).holds


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"seconds": 0}, "seconds"),
        ({"schemes": []}, "schemes is empty"),
        ({"schemes": ["noisy"]}, "'noisy' is not known; allowed: generalized"),
    ],
)
def test_what_is_not_allowed_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(sf.PolicyError, match=told):
        Best(**given)


def test_it_is_read_from_a_policy_and_written_to_one(tmp_path: Any) -> None:
    policy = sf.Policy([sf.KAnonymity(2)], Best(seconds=7, schemes=["generalized", "bucketized"]))
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml") == policy
    assert replace(policy.anonymizer, seconds=8) != policy.anonymizer  # type: ignore[type-var]


# -- what is told of it ---------------------------------------------------------------------------


def test_the_report_tells_what_each_would_have_cost() -> None:
    policy = sf.Policy([sf.KAnonymity(3)], Best(), "discernibility")
    release = sf.anonymize(read(7), policy, seed=0)
    report = sf.audit(release, policy)
    (table,) = next(
        section["tables"]
        for section in json.loads(report.to_json())["sections"]
        if section["title"] == "What each anonymizer would have cost"
    )
    told = findings_of(release)
    assert table["columns"][:3] == ["anonymizer", "discernibility", "loss"]
    assert [row[0] for row in table["rows"]] == EVERY
    assert [row[-2] for row in table["rows"]] == [attempt.outcome for attempt in told.attempts]
    assert table["starred"] == [told.attempts.index(told.winner)]
    lines = report.brief().text(80).splitlines()
    assert max(map(len, lines)) <= 80
    for text in (report.brief().text(80), report.to_markdown(), report.to_html()):
        assert "What each anonymizer would have cost" in text
        assert all(label in text for label in EVERY)
    assert "would have cost" not in report.public().to_html()
    assert report.summary.anonymizer == told.made_by


def test_it_is_what_a_policy_uses_that_names_no_other() -> None:
    policy = sf.Policy([sf.KAnonymity(3)])
    assert policy.maker == Best()
    assert policy.public()["anonymizer"] == "best"
    findings_of(sf.anonymize(read(8), policy, seed=0))
    assert sf.Policy([sf.KAnonymity(3)], sf.Mondrian()).maker == sf.Mondrian()


def test_points_of_a_comparison_share_its_time() -> None:
    swept = plan_sweep(sf.Policy([sf.KAnonymity(3)]), {"k": list(range(2, 12))})
    assert {point.anonymizer for point in swept.points} == {Best(seconds=12)}
    assert swept.notes == ("best has 12 s a point, 120 s for all",)
    few = plan_sweep(sf.Policy([sf.KAnonymity(3)], suppression=0.1), {"suppression": [0, 0.1]})
    assert {point.anonymizer for point in few.points} == {Best()}
    assert {point.policy.suppression for point in few.points} == {0, 0.1}


def test_the_closing_lines_say_which_way_won_and_by_how_much() -> None:
    def words(policy: sf.Policy) -> str:
        release = sf.anonymize(read(7), policy, seed=0)
        return choice_words(sf.audit(release, policy))

    told = words(sf.Policy([sf.KAnonymity(3)], Best()))
    assert "the best of 5 ways: loss " in told
    assert "; the next best, mondrian (" in told
    assert words(sf.Policy([sf.KAnonymity(3)], sf.Mondrian())) == ""
    only = words(sf.Policy([sf.DistinctDiversity(2)], Best(schemes="bucketized")))
    assert only == "Made by anatomy, the one way that led to a release."
    first = words(sf.Policy([sf.KAnonymity(3)], Best(seconds=1e-9)))
    assert first == ("Made by mondrian (tight). The time was over before every way was tried.")


def test_the_table_of_attempts_says_what_was_not_tried_and_where_dealing_found_nothing() -> None:
    table = sf.read(
        pa.table({"n": list(range(100)), "s": ["a", "b"] * 50}),
        sf.Schema(quasi=["n"], sensitive="s"),
    )

    def told(seconds: float) -> tuple[str, Attempt]:
        policy = sf.Policy([sf.KAnonymity(50)], Best(seconds=seconds))
        release = sf.anonymize(table, policy, seed=0)
        section = contest_section(sf.audit(release, policy))
        assert section is not None
        return section.words, findings_of(release).attempts[-1]

    words, dealt = told(6)
    assert words.startswith("Every way that applies was tried within the time allowed;")
    assert dealt.why == "nothing better than Mondrian's release was found"
    words, dealt = told(1e-9)
    assert words.startswith("Not every way that applies was tried to its end;")
    assert dealt.outcome == "not begun"


def test_buckets_that_widen_nothing_are_not_yet_the_best_for_queries() -> None:
    """Regions of people who are alike tell who has what; a bucket of unlike ones does not."""
    rows = pa.table(
        {"sex": [*"FFFMMM"] * 2, "ill": ["flu", "cold", "cold", "gout", "hiv", "hiv"] * 2}
    )
    table = sf.read(rows, sf.Schema(quasi=["sex"], sensitive="ill"))
    use = sf.Use(queries=[["sex", "ill"]])
    best = sf.Best(seconds=5, schemes=("bucketized", "generalized"))
    release = sf.anonymize(table, sf.Policy([sf.DistinctDiversity(2)], best, use=use), seed=1)
    assert findings_of(release).winner.cost == 0
    assert release.scheme == "generalized"
