"""sf.compare_nodes: every node judged as its release would be; what contains what."""

from __future__ import annotations

from itertools import product

import pytest

import sfumato as sf
from sfumato.criteria.base import judge
from sfumato.datasets.census import census
from sfumato.workflow import containment
from sfumato.workflow.containment import Containment

QUASI = {
    "age": sf.intervals([20, 40]),
    "sex": sf.suppression(),
    "marital": sf.taxonomy(
        {
            **dict.fromkeys(("Married", "Cohabiting"), "yes"),
            **dict.fromkeys(("Never married", "Separated", "Divorced", "Widowed"), "no"),
        }
    ),
}


@pytest.fixture(scope="module")
def table() -> sf.Table:
    schema = sf.Schema(quasi=list(QUASI), sensitive="disease", hierarchies=QUASI)
    return sf.read(census(600), schema)


POLICIES = {
    "k5": sf.KAnonymity(5),
    "k20": [sf.KAnonymity(20)],
    "close": sf.Policy([sf.KAnonymity(5), sf.TCloseness(0.3)]),
    "her": sf.EpsilonPrivacy(8, sf.RealisticAdversary("table", 1000)),
    "k20 of most": sf.Policy([sf.KAnonymity(20)], suppression=0.1),
    "nobody": sf.EpsilonPrivacy(2, sf.RealisticAdversary(stubbornness=float("inf"))),
}


@pytest.fixture(scope="module")
def found(table: sf.Table) -> sf.NodeMap:
    return sf.compare_nodes(table, POLICIES)


def test_nodes_are_judged_as_their_releases_are(table: sf.Table, found: sf.NodeMap) -> None:
    assert found.columns == ("age", "sex", "marital")
    assert found.heights == (4, 2, 3)
    assert found.nodes == tuple(product(range(4), range(2), range(3)))
    for name in ("k5", "k20", "close", "her", "nobody"):
        given = POLICIES[name]
        criteria = given.require if isinstance(given, sf.Policy) else given
        listed = criteria if isinstance(criteria, list | tuple) else [criteria]
        expected = {
            levels
            for levels in found.nodes
            if all(judge(one, sf.generalize(table, levels)).holds for one in listed)
        }
        assert found.satisfying[name] == expected
    for levels in found.nodes:
        small = sf.generalize(table, levels).groups.sizes
        fits = small[small < 20].sum() <= 60 and small.max() >= 20
        assert (levels in found.satisfying["k20 of most"]) == fits


def test_what_contains_what(found: sf.NodeMap) -> None:
    looser = found.compare("k5", "k20")
    assert looser.relation == "more useful"
    assert looser.contains
    assert looser.only_first == found.satisfying["k5"] - found.satisfying["k20"]
    assert str(looser).startswith("k5 is more useful than k20: both ")
    tighter = found.compare("k20", "k5")
    assert tighter.relation == "less useful"
    assert not tighter.contains
    assert found.compare("k5", "k5").relation == "equal"
    assert found.compare("k20 of most", "k20").contains
    assert not found.satisfying["nobody"]
    assert found.compare("nobody", "k5").relation == "less useful"
    apart = Containment("a", "b", frozenset(), frozenset({(0,)}), frozenset({(1,)}))
    assert apart.relation == "neither"
    assert "neither of a and b contains the other" in str(apart)


def test_every_two_are_compared_once(found: sf.NodeMap) -> None:
    pairs = [(one.first, one.second) for one in found.pairs()]
    assert len(pairs) == 15
    assert pairs[0] == ("k5", "k20")
    assert len({frozenset(pair) for pair in pairs}) == 15


def test_mistakes(table: sf.Table, found: sf.NodeMap, monkeypatch) -> None:
    with pytest.raises(sf.InputError, match="'k50' was not judged; did you mean 'k5'"):
        found.compare("k5", "k50")
    with pytest.raises(sf.PolicyError, match="no policy is given"):
        sf.compare_nodes(table, {})
    with pytest.raises(sf.PolicyError, match="is not a criterion"):
        sf.compare_nodes(table, {"a": ["k5"]})  # type: ignore[dict-item]
    monkeypatch.setattr(containment, "MOST_NODES", 23)
    with pytest.raises(sf.ResourceError, match="24 nodes, at most 23 are judged one by one"):
        sf.compare_nodes(table, {"a": sf.KAnonymity(2)})
