"""sf.compare: sweeps become policies, releases become points, the front is what none beats."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers import Anatomy, Lattice, Microaggregation, Mondrian
from sfumato.datasets.census import census, census_schema
from sfumato.errors import InputError, PolicyError
from sfumato.report.comparison import Comparison, Figures, Outcome
from sfumato.report.html import maps as label_module
from sfumato.report.risk_map import pareto_front
from sfumato.report.sections.comparison import shared_label
from sfumato.utility import utility_named
from sfumato.utility.view import view_of
from sfumato.workflow.anonymize import anonymize
from sfumato.workflow.compare import MOST_POINTS, parse_sweeps, plan_sweep
from tests.examples import few

K5 = sf.Policy([sf.KAnonymity(5)], anonymizer=sf.Mondrian())
STRICT = sf.Policy(
    [sf.KAnonymity(5), sf.DistinctDiversity(3), sf.TCloseness(0.5)], anonymizer=sf.Mondrian()
)


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return sf.read(census(400), census_schema())


@pytest.fixture(scope="module")
def wide(table: sf.Table) -> Comparison:
    """Three anonymizers, releases that do not exist, costs that do not apply."""
    return sf.compare(
        table,
        sf.Policy([sf.KAnonymity(2)], anonymizer=Lattice()),
        {
            "k": [2, 10, 500],
            "anonymizer": ["lattice", "mondrian", "microaggregation"],
            "suppression": [0, 0.1],
        },
        risk="mean",
    )


# -- the Pareto front ------------------------------------------------------------------------------

figure = st.one_of(st.integers(0, 4), st.just(math.inf), st.floats(0, 1))


@given(st.lists(st.one_of(st.none(), st.tuples(figure, figure)), max_size=14))
def test_the_front_is_what_nothing_dominates(points) -> None:
    def dominated(one) -> bool:
        return any(
            other is not None
            and other[0] <= one[0]
            and other[1] <= one[1]
            and (other[0] < one[0] or other[1] < one[1])
            for other in points
        )

    expected = [point is not None and not dominated(point) for point in points]
    assert pareto_front(points) == expected


def test_the_marks_are_the_front_of_the_chosen_axes(wide: Comparison) -> None:
    places = [
        None
        if o.figures is None or math.isnan(o.figures.costs["loss"])
        else (o.figures.risks["mean"], o.figures.costs["loss"])
        for o in wide.outcomes
    ]
    assert [o.pareto for o in wide.outcomes] == pareto_front(places)
    assert 0 < len(wide.pareto) < len(wide.outcomes)


# -- sweeps ----------------------------------------------------------------------------------------


def test_sweeps_are_read_like_toml() -> None:
    found = parse_sweeps(
        ["k=2, 5,10", "c=0.5,inf,1e3", "strict=true,false", "anonymizer=lattice", 'x="a b"']
    )
    assert found == {
        "k": [2, 5, 10],
        "c": [0.5, math.inf, 1000.0],
        "strict": [True, False],
        "anonymizer": ["lattice"],
        "x": ["a b"],
    }
    assert [type(value) for value in found["k"]] == [int] * 3


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["k"], "sweep 'k' is not understood; write NAME=VALUE,VALUE"),
        (["=2"], "not understood"),
        (["k="], "sweep k: an empty value is not a number or name"),
        (["k=2,,3"], "sweep k: an empty value"),
        (["k=.5"], "sweep k: '.5' is not a number or name, such as 5, 0.5 or inf"),
        (["k=2..5"], "'2..5' is not a number"),
        (["k=[2]"], "'[2]' is not a number"),
        (["k=2024-01-01"], "'2024-01-01' is not a number"),
        (["k=2\nl = 3"], "is not a number or name"),
        (["k=2", "k=3"], "k is swept twice; give all its values at once"),
    ],
)
def test_what_cannot_be_read_is_said(texts: list[str], said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_sweeps(texts)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("policy", "sweep", "said"),
    [
        (STRICT, {}, "nothing is swept; this policy can sweep: k, up_to, l, t, distance, order"),
        (
            STRICT,
            {"q": [1]},
            "'q' cannot be swept; this policy can sweep: k, up_to, l, t, distance, order",
        ),
        (STRICT, {"beta": [1]}, "'beta' cannot be swept"),
        (STRICT, {"sensitive": ["x"]}, "'sensitive' cannot be swept"),
        (STRICT, {"t-closeness.k": [1]}, "'t-closeness.k' cannot be swept"),
        (STRICT, {"beta-likeness.beta": [1]}, "'beta-likeness.beta' cannot be swept"),
        (STRICT, {"anonymizer.k": [1]}, "'anonymizer.k' cannot be swept"),
        (STRICT, {"k": []}, "sweep k: no value is given"),
        (STRICT, {"k": [5, 0]}, "k-anonymity: k = 0 is not allowed; it must be a whole number"),
        (STRICT, {"k": ["two"]}, "k-anonymity: k = 'two' is not allowed"),
        (STRICT, {"k": [True]}, "k-anonymity: k = True is not allowed"),
        (STRICT, {"t": [0.2, 1.5]}, "t-closeness: t = 1.5 is not allowed"),
        (STRICT, {"t": [math.nan]}, "t-closeness: t = nan is not allowed"),
        (STRICT, {"suppression": [2]}, "suppression = 2 is not allowed"),
        (STRICT, {"suppression": [True]}, "is not allowed; it must be a share from 0 to 1"),
        (STRICT, {"strict": ["no"]}, "mondrian: strict = 'no' is not allowed; it must be true or"),
        (STRICT, {"regions": ["oval"]}, "mondrian: regions = 'oval' is not known"),
        (STRICT, {"anonymizer": ["latice"]}, "anonymizer = 'latice' is not known; did you mean"),
        (STRICT, {"anonymizer": [3]}, "anonymizer = 3 is not known"),
        (
            sf.Policy([sf.TCloseness(0.5)], anonymizer=sf.Mondrian()),
            {"anonymizer": ["mondrian", "anatomy"]},
            "anonymizer anatomy: l is missing; sweep anonymizer.l too",
        ),
        (K5, {"anonymizer": ["anatomy"], "anonymizer.l": [1]}, "anatomy: l = 1 is not allowed"),
        (K5, {"k": range(1, 35), "suppression": [i / 50 for i in range(30)]}, "1,020 points"),
    ],
)
def test_every_mistake_is_told_before_anything_runs(policy, sweep, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        plan_sweep(policy, sweep)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_mistakes_come_before_the_table_is_touched() -> None:
    for more in ({"utilities": ["los"]}, {"risk": "men"}):
        with pytest.raises(PolicyError, match="is not known; did you mean"):
            sf.compare(None, K5, {"k": [2]}, **more)  # type: ignore[arg-type]


def test_a_plain_name_is_set_wherever_it_occurs() -> None:
    policy = sf.Policy(
        [sf.KAnonymity(5), sf.AlphaK(0.5, 7), sf.TCloseness(0.5)], anonymizer=Microaggregation(3)
    )
    (two, nine) = plan_sweep(policy, {"k": [2, 9]}).points
    assert two.policy.require == (sf.KAnonymity(2), sf.AlphaK(0.5, 2), sf.TCloseness(0.5))
    assert two.policy.anonymizer == Microaggregation(2)
    assert nine.policy.anonymizer == Microaggregation(9)
    assert policy.require[0] == sf.KAnonymity(5)


def test_a_longer_name_means_one_place_and_decides() -> None:
    policy = sf.Policy([sf.KAnonymity(5), sf.AlphaK(0.5, 7)], anonymizer=Microaggregation(3))
    (point,) = plan_sweep(policy, {"k": 2, "alpha-k-anonymity.k": [4], "anonymizer.k": [6]}).points
    assert point.policy.require == (sf.KAnonymity(2), sf.AlphaK(0.5, 4))
    assert point.policy.anonymizer == Microaggregation(6)
    assert point.settings == {"k": 2, "alpha-k-anonymity.k": 4, "anonymizer.k": 6}


HERS = sf.Policy(
    [
        sf.EpsilonPrivacy(2.5, sf.RealisticAdversary("table", 1e6)),
        sf.EpsilonPrivacy(4, sf.RealisticAdversary(stubbornness=1000, known=1)),
    ],
    anonymizer=Lattice(),
)


def adversaries(point) -> list[sf.RealisticAdversary]:
    return [criterion.adversary for criterion in point.policy.require]


def test_what_adversaries_take_is_swept_like_a_parameter_of_their_criteria() -> None:
    planned = plan_sweep(HERS, {"stubbornness": [100.0, 1e6, math.inf], "known": 2})
    assert planned.values["stubbornness"] == (100, 1_000_000, math.inf)
    assert [adversaries(point) for point in planned.points] == [
        [
            sf.RealisticAdversary("table", sigma, known=2),
            sf.RealisticAdversary(None, sigma, known=2),
        ]
        for sigma in (100, 1e6, math.inf)
    ]
    assert [point.policy.require[0].epsilon for point in planned.points] == [2.5] * 3
    assert HERS.require[0].adversary.known == 0


def test_of_several_adversaries_one_is_named_by_its_number_and_the_longest_name_decides() -> None:
    sweep = {
        "stubbornness": 50,
        "epsilon-privacy.stubbornness": 60,
        "epsilon-privacy#2.stubbornness": [70, 80],
        "epsilon-privacy#1.shape": "uniform",
        "epsilon-privacy#2.epsilon": 9,
    }
    points = plan_sweep(HERS, sweep).points
    assert [adversaries(point) for point in points] == [
        [sf.RealisticAdversary("uniform", 60), sf.RealisticAdversary(None, last, known=1)]
        for last in (70, 80)
    ]
    assert [one.epsilon for one in points[0].policy.require] == [2.5, 9]
    # A plain name that longer ones leave nothing to is told as idle, not as a setting.
    assert "stubbornness" not in points[0].settings


def test_a_whole_adversary_is_swept_and_told_in_her_words() -> None:
    chosen = [sf.RealisticAdversary("uniform", 10), sf.RealisticAdversary("uniform", math.inf)]
    planned = plan_sweep(HERS, {"adversary": chosen, "epsilon-privacy#2.known": 3})
    assert [adversaries(point)[0] for point in planned.points] == chosen
    assert [adversaries(point)[1].known for point in planned.points] == [3, 3]
    assert planned.points[1].settings["adversary"] == "class III, shape uniform, σ ≤ inf"


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        ({"stubborness": [2]}, "cannot be swept; this policy can sweep: epsilon, adversary,"),
        ({"stubbornness": [0.5]}, "stubbornness = 0.5 is not allowed; it must be a number of at"),
        ({"stubbornness": ["big"]}, "stubbornness = 'big' is not allowed"),
        ({"known": [-1]}, "known = -1 is not allowed"),
        ({"at_most": [1]}, "at_most = 1 is not allowed; it must be true or false"),
        ({"epsilon-privacy#3.known": [1]}, "'epsilon-privacy#3.known' cannot be swept"),
        ({"epsilon-privacy.k": [1]}, "CRITERION.NAME, CRITERION#2.NAME or anonymizer.NAME"),
        ({"adversary": ["me"]}, "adversary = 'me' is not allowed"),
    ],
)
def test_mistakes_about_adversaries(sweep, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        plan_sweep(HERS, sweep)
    assert said in str(caught.value)


def test_releases_cost_more_the_more_stubborn_she_is(table: sf.Table) -> None:
    policy = sf.Policy(
        [sf.EpsilonPrivacy(3, sf.RealisticAdversary(None, 10))], anonymizer=Lattice()
    )
    sweep = {"stubbornness": [10, 100, 1000, math.inf]}
    found = sf.compare(table, policy, sweep, ["discernibility"])
    costs = [o.figures.costs["discernibility"] for o in found.outcomes if o.figures is not None]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]
    assert found.outcomes[-1].status == "no_safe_release"  # endless, of any shape: class IV
    assert "class IV" in found.outcomes[-1].reason


def test_all_combinations_in_the_order_given() -> None:
    policy = sf.Policy([sf.KAnonymity(5)], anonymizer=Lattice())
    points = plan_sweep(policy, {"k": [2, 5], "suppression": [0, 0.02]}).points
    assert [tuple(p.settings.values()) for p in points] == [(2, 0), (2, 0.02), (5, 0), (5, 0.02)]
    assert [p.policy.suppression for p in points] == [0, 0.02, 0, 0.02]


@pytest.mark.parametrize(
    ("name", "swept"), [("lattice", True), ("best", True), ("deal", True), ("mondrian", False)]
)
def test_suppression_is_swept_for_whoever_may_suppress(name: str, swept: bool) -> None:
    points = plan_sweep(K5, {"anonymizer": [name], "suppression": [0, 0.1]}).points
    assert [point.policy.suppression for point in points] == ([0, 0.1] if swept else [0])


def test_what_does_not_concern_an_anonymizer_is_left_out_and_said() -> None:
    planned = plan_sweep(
        K5, {"anonymizer": ["mondrian", "lattice", "anatomy"], "l": [2, 3], "suppression": [0, 0.1]}
    )
    assert [dict(p.settings) for p in planned.points] == [
        {"anonymizer": "mondrian"},
        {"anonymizer": "lattice", "suppression": 0},
        {"anonymizer": "lattice", "suppression": 0.1},
        {"anonymizer": "anatomy", "l": 2},
        {"anonymizer": "anatomy", "l": 3},
    ]
    assert "suppression changes nothing with mondrian: its points are without it" in planned.notes


def test_an_anonymizer_is_the_policys_own_by_name_or_given_whole() -> None:
    own = Mondrian(regions="tight")
    policy = sf.Policy([sf.KAnonymity(5)], anonymizer=own)
    chosen = ["lattice", "mondrian", Mondrian(), Microaggregation(4)]
    points = plan_sweep(policy, {"anonymizer": chosen}).points
    assert [p.anonymizer for p in points] == [Lattice(), own, Mondrian(), Microaggregation(4)]
    assert points[3].settings == {"anonymizer": "microaggregation(k=4)"}


def test_the_limit_is_on_points() -> None:
    assert len(plan_sweep(K5, {"k": range(1, MOST_POINTS + 1)}).points) == MOST_POINTS


# -- comparing -------------------------------------------------------------------------------------


def test_each_point_is_the_release_of_its_policy(table: sf.Table) -> None:
    names = ("discernibility", "query-error")
    found = sf.compare(table, STRICT, {"k": [2, 25], "t": [0.5]}, names, seed=3)
    assert found.people == 400
    for outcome, k in zip(found.outcomes, (2, 25), strict=True):
        policy = sf.Policy(
            [sf.KAnonymity(k), sf.DistinctDiversity(3), sf.TCloseness(0.5)],
            anonymizer=sf.Mondrian(),
        )
        release = anonymize(table, policy, seed=3)
        report = sf.audit(release, policy)
        view = view_of(release)
        figures = outcome.figures
        assert figures is not None
        assert (figures.groups, figures.people, figures.suppressed) == (
            len(release.groups),
            400,
            0,
        )
        assert figures.verdict == report.status == "holds"
        assert figures.risks["mean"] == len(release.groups) / 400
        assert figures.risks["highest"] == 1 / release.groups.sizes.min()
        surest = (release.groups.largest / release.groups.sizes).max()
        assert figures.risks["belief"] == surest
        assert figures.costs["discernibility"] == utility_named("discernibility").cost(view)
        assert list(figures.costs) == list(names)
        assert sf.audit(anonymize(table, outcome.policy), outcome.policy).holds
    assert found.cost == "discernibility"


def test_the_policys_utility_comes_first_when_none_is_named(table: sf.Table) -> None:
    policy = sf.Policy([sf.KAnonymity(5)], utility="precision", anonymizer=sf.Mondrian())
    found = sf.compare(table, policy, {"k": [5]})
    assert found.cost == "precision"
    assert list(found.outcomes[0].figures.costs) == [
        "precision",
        "loss",
        "discernibility",
        "query-error",
    ]


def test_no_safe_release_is_a_row(wide: Comparison) -> None:
    missing = [o for o in wide.outcomes if o.figures is None]
    assert {o.settings["k"] for o in missing} == {500}
    assert {o.status for o in missing} == {"no_safe_release"}
    assert all("k-anonymity" in o.reason for o in missing)
    assert not any(o.pareto for o in missing)
    assert "no safe release: no release satisfies k-anonymity" in str(wide)
    assert f"{len(wide.outcomes) - len(missing)} of {len(wide.outcomes)} possible" in str(wide)


def test_a_point_that_cannot_be_tried_is_a_row_unless_none_can() -> None:
    rows = {"q": [1, 1, 2, 2], "a": ["x", "y", "x", "y"], "b": ["u", "v", "v", "u"]}
    table = sf.read(pa.table(rows), sf.Schema(quasi=["q"], sensitive=["a", "b"]))
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=Anatomy(2))
    found = sf.compare(table, policy, {"anonymizer": ["anatomy", "mondrian"]})
    assert [o.status for o in found.outcomes] == ["not_possible", "released"]
    assert "needs exactly one sensitive column" in found.outcomes[0].reason
    assert "not possible: anatomy needs exactly one" in str(found)
    with pytest.raises(PolicyError, match="needs exactly one sensitive column"):
        sf.compare(table, policy, {"anonymizer.l": [2, 3]})


def test_without_a_sensitive_column_there_is_no_belief(table: sf.Table) -> None:
    bare = sf.read(pa.table({"q": [1, 1, 2, 2]}), sf.Schema(quasi=["q"]))
    found = sf.compare(
        bare, sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian()), {"k": [2]}, risk="belief"
    )
    assert found.outcomes[0].figures.risks["belief"] is None
    assert not found.pareto
    assert "n/a" in str(found)
    assert "nothing to draw" in found.to_html()


def test_the_same_seed_gives_the_same_figures(table: sf.Table) -> None:
    sweep = {"k": [3, 6], "anonymizer": ["mondrian", "microaggregation"]}
    one, other = (sf.compare(table, K5, sweep, seed=7).to_json() for _ in range(2))
    assert one == other


# -- what is shown ---------------------------------------------------------------------------------


def test_json(wide: Comparison) -> None:
    content = json.loads(wide.to_json())
    assert content["axes"] == {"risk": "mean", "cost": "loss"}
    assert content["sweep"]["k"] == [2, 10, 500]
    assert len(content["points"]) == len(wide.outcomes) == 12
    keys = {"settings", "anonymizer", "status", "reason", "pareto", "verdict", "groups", "people"}
    assert all(keys < set(point) for point in content["points"])
    by_status = {point["status"]: point for point in content["points"]}
    assert by_status["no_safe_release"]["risks"] is None
    assert set(by_status["released"]["risks"]) == {"mean", "highest", "belief"}
    clustered = next(
        p for p in content["points"] if p["anonymizer"] == "microaggregation" and p["risks"]
    )
    assert clustered["costs"]["loss"] is None
    assert "suppression" not in clustered["settings"]
    assert set(content["about"]) >= {"mean", "highest", "belief", "loss"}


def test_infinity_is_written_as_inf_and_is_not_drawn() -> None:
    found = Comparison(
        label="rows",
        people=10,
        sweep={"order": (math.inf, "b")},
        outcomes=(outcome("a", 0.2, math.inf), outcome("b", 0.1, 0.4)),
        risk="mean",
        cost="loss",
        about={"mean": "a risk", "loss": "a cost"},
    )
    content = json.loads(found.to_json())
    assert content["sweep"]["order"] == ["inf", "b"]
    assert content["points"][0]["costs"]["loss"] == "inf"
    assert "inf" in str(found)
    assert "Not on the map" in found.to_html()


@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_no_figure_is_cut_off_however_narrow_the_terminal(wide: Comparison, width: int) -> None:
    text = wide.brief().text(width)
    assert "…" not in text
    for outcome in wide.outcomes:
        if outcome.figures is not None:
            assert f"{outcome.figures.costs['discernibility']:,.0f}" in text
    starred = [line for line in text.splitlines() if line.startswith("*  ")]
    # Once in the whole table and, the worst of them, once more in the closing lines.
    assert len(starred) >= len(wide.pareto)
    assert "n/a" in text
    assert "* on the Pareto front" in text


class Fetched(HTMLParser):
    """Every address a page would fetch from or lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.cells: list[str] = []
        self.policy = ""
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.addresses += [
            f"{tag} {name}"
            for name in ("src", "href", "srcset", "data", "action")
            if not str(given.get(name, "#")).startswith("#")  # words lead to the page's own end
        ]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""


def test_the_page_is_whole_in_itself(wide: Comparison) -> None:
    page = wide.to_html()
    found = Fetched()
    found.feed(page)
    assert found.addresses == []
    assert "link" not in found.tags
    assert "default-src 'none'" in found.policy
    assert "@import" not in page.split("<script>")[0]
    assert '"showSendToCloud": false' in page
    assert "Plotly.newPlot" in page
    assert page.count("★") == len(wide.pareto) + 2  # the heading, and what it means
    for text in ("no safe release: ", "n/a", "mean prosecutor risk", "Cost: loss", "diamond"):
        assert text.lower() in page.lower()


def outcome(label: str, risk: float, cost: float, pareto: bool = True) -> Outcome:
    figures = Figures(
        1, 10, 0, {"mean": risk, "highest": risk, "belief": None}, {"loss": cost}, "holds"
    )
    return Outcome({"order": label}, "mondrian", K5, figures, pareto=pareto)


def test_what_the_user_named_cannot_become_script() -> None:
    bad = "</script><script>alert(1)</script><img src=x>"
    found = Comparison(
        label=bad,
        people=10,
        sweep={"order": (bad, "b")},
        outcomes=(outcome(bad, 0.2, 0.3), outcome("b", 0.1, 0.4)),
        risk="mean",
        cost="loss",
        about={"mean": bad, "loss": bad},
        notes=(bad,),
    )
    page = Fetched()
    text = found.to_html()
    page.feed(text)
    assert page.tags.count("img") == 0
    assert page.tags.count("script") == text.count("<script") - text.count("script><script>alert")
    assert "<script>alert" not in text


@settings(max_examples=few(50))
@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 300)), min_size=1, max_size=25))
def test_labels_cover_neither_each_other_nor_a_point(spots) -> None:
    texts = [f"choice-{i}" for i in range(len(spots))]
    first = [i % 2 == 0 for i in range(len(spots))]
    placed = label_module.place_labels(texts, first, spots, (400, 300))
    boxes = [
        label_module._box(spot, text, label_module._PLACES[where])
        for spot, text, where in zip(spots, texts, placed, strict=True)
        if where
    ]
    for place, box in enumerate(boxes):
        assert not any(label_module._meet(box, other) for other in boxes[:place])
        assert label_module._inside(box, (400, 300))


def test_the_map_names_its_points_and_marks_the_policy_as_it_stands(table: sf.Table) -> None:
    found = sf.compare(table, K5, {"k": [3, 5, 10]})
    assert [one.as_given for one in found.outcomes] == [False, True, False]
    (chart,) = found.document().sections[0].charts
    others, given = chart.series
    assert [label.partition(" ")[0] for label in others.labels] == ["#1", "#3"]
    assert (given.name, given.mark) == ("the policy as it stands", "star")
    assert list(given.labels) == ["#2 k=5"]
    drawn = [trace for trace in label_module.map_spec(chart)["data"] if "meta" in trace]
    assert drawn[-1]["text"] == ["<b>#2 k=5</b>"]
    assert drawn[-1]["meta"]["narrow"]["text"] == ["<b>#2</b>"]  # on a phone


def test_points_at_one_place_share_a_label() -> None:
    def point(**given) -> Outcome:
        return Outcome(given, given.get("anonymizer", "mondrian"), K5, None)

    def label(*points: Outcome) -> str:
        return shared_label(points, ["anonymizer", "k", "t-closeness.t"])

    assert label(point(k=2)) == "k=2"
    assert label(point(k=2), point(k=5)) == "k=2/5"
    assert label(point(k=2, **{"t-closeness.t": 0.1})) == "k=2, t=0.1"
    square = [point(k=k, **{"t-closeness.t": t}) for k in (2, 5) for t in (0.1, 0.2)]
    assert label(*square) == "k=2/5, t=0.1/0.2"
    assert label(*square[:3]) == "k=2, t=0.1 | k=2, t=0.2 | 1 more"
    both = [point(anonymizer=name, k=2) for name in ("lattice", "mondrian")]
    assert label(*both) == "lattice/mondrian, k=2"


def test_saving_refuses_what_is_there_and_leaves_nothing_half(
    wide: Comparison, tmp_path: Path
) -> None:
    page = tmp_path / "map.html"
    wide.save(page)
    wide.save(tmp_path / "map.json")
    assert json.loads((tmp_path / "map.json").read_text())["people"] == 400
    with pytest.raises(InputError, match="exists; give another name, or --force"):
        wide.save(page)
    page.write_text("old")
    wide.save(page, force=True)
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with pytest.raises(InputError, match=r"cannot write a comparison as 'map\.docx'"):
        wide.save(tmp_path / "map.docx")
    with pytest.raises(InputError, match="is no folder"):
        wide.save(tmp_path / "nowhere" / "map.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        wide.save(tmp_path / "folder.html", force=True)
    assert {path.name for path in tmp_path.iterdir()} == {"map.html", "map.json", "folder.html"}


def test_the_coordinates_of_a_skyline_are_swept() -> None:
    """By their own names, or the criterion's where another one has the name."""
    skyline = sf.SkylinePrivacy([(1, 0, 0, 0.9)], value={"HIV": [(0, 2, 0, 0.5)]})
    alone = sf.Policy([skyline], sf.Mondrian())
    swept = plan_sweep(alone, {"k": [3, 4], "c": [0.4]}).points
    assert [point.settings for point in swept] == [{"k": 3, "c": 0.4}, {"k": 4, "c": 0.4}]
    for k, point in zip((3, 4), swept, strict=True):
        (criterion,) = point.policy.require
        assert criterion.points == ((1, k, 0, 0.4),)
        assert criterion.value == {"HIV": ((0, k, 0, 0.4),)}
    both = sf.Policy([sf.KAnonymity(2), skyline], sf.Mondrian())
    (point,) = plan_sweep(both, {"k": [7], "skyline-privacy.k": [1], "m": [2]}).points
    people, facts = point.policy.require
    assert people.k == 7
    assert facts.points == ((1, 1, 2, 0.9),)
    (point,) = plan_sweep(both, {"k": [7]}).points
    assert point.policy.require == (sf.KAnonymity(7), skyline)
    with pytest.raises(PolicyError, match="k = -1 is not allowed"):
        plan_sweep(alone, {"k": [-1]})
