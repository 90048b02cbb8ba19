"""Whose rows a group holds, she says what it must not give away: unlinked and linked rows, by
definition."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.base import judge
from sfumato.criteria.verdict import Verdict
from sfumato.release.linked import LinkedPlacement
from sfumato.release.read.read_release import table_as_published
from tests.oracles import dirichlet_oracle
from tests.oracles.protect_oracle import (
    Prior,
    Row,
    linked_entries,
    needed_by_entries,
    needed_by_groups,
    priors_of_any_shape,
    priors_of_shape,
    unlinked_entries,
)

ILLS = ("HIV", "flu", "gout")
WISHES = {
    "some": [["flu"], {"not": ["HIV"]}],
    "two": [["HIV", "gout"]],
    "all": [["flu"], ["gout"], ["HIV"]],
    "none": [],
}
STATEMENTS = {
    "some": [{"flu"}, {"flu", "gout"}],
    "two": [{"HIV", "gout"}],
    "all": [{"flu"}, {"gout"}, {"HIV"}],
    "none": [],
}
EVEN = dict.fromkeys(ILLS, Fraction(1, 3))
UNEVEN = {"HIV": Fraction(1, 5), "flu": Fraction(1, 2), "gout": Fraction(3, 10)}
ADVERSARIES: dict[str, tuple[sf.RealisticAdversary, list[tuple[Prior, bool]]]] = {
    "uniform": (
        sf.RealisticAdversary("uniform", 10),
        priors_of_shape(EVEN, Fraction(10)),
    ),
    "endless": (
        sf.RealisticAdversary({"HIV": 0.2, "flu": 0.5, "gout": 0.3}, math.inf),
        priors_of_shape(UNEVEN, None),
    ),
    "any shape": (sf.RealisticAdversary(stubbornness=7), priors_of_any_shape(ILLS, 7)),
    "knows one": (
        sf.RealisticAdversary({"HIV": 0.2, "flu": 0.5, "gout": 0.3}, 12, known=1),
        priors_of_shape(UNEVEN, Fraction(12)),
    ),
}

rows_of_few = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.tuples(st.sampled_from("xy"), st.sampled_from("12")),
        st.sampled_from(ILLS),
    ),
    min_size=2,
    max_size=14,
)
wishes_of_all = st.fixed_dictionaries({who: st.sampled_from(sorted(WISHES)) for who in "abcdef"})
BOUND = 1.5


def asked(adversary: sf.RealisticAdversary, epsilon: float = BOUND) -> sf.EpsilonPrivacy:
    return sf.EpsilonPrivacy(epsilon, adversary, predicates={"protect": WISHES})


def stated(wishes: dict[str, str]) -> dict[str, list[frozenset[str]]]:
    return {who: [frozenset(s) for s in STATEMENTS[label]] for who, label in wishes.items()}


def agrees(verdict: Verdict, needed: Fraction | None) -> None:
    assert verdict.measured == pytest.approx(math.inf if needed is None else float(needed))
    holds = needed is not None and needed <= Fraction(BOUND)
    assert verdict.status == ("holds" if holds else "violated")


def read(rows: list[Row], wishes: dict[str, str], shown_as: str) -> sf.Table:
    table = pd.DataFrame(
        [(who, *cells, ill, wishes[who]) for who, cells, ill in rows],
        columns=["who", "ward", "floor", "ill", "wish"],
    )
    known = sf.Schema(
        ["ward", "floor"],
        "ill",
        person="who",
        rows=shown_as,
        protect="wish",
        domains={"ill": ILLS},
    )
    return sf.read(table, known)


@given(st.lists(st.sampled_from(ILLS), min_size=2, max_size=4), st.integers(0, 1))
def test_the_oracle_says_what_enumerating_everybody_s_value_says(entries, known) -> None:
    weights = [Fraction(2), Fraction(5), Fraction(3)]
    prior = dict(zip(ILLS, weights, strict=True))
    counts = tuple(entries.count(ill) for ill in ILLS)
    for about in ({0}, {1}, {0, 2}):
        statement = frozenset(ILLS[code] for code in about)
        needed = needed_by_entries(entries, [statement], [(prior, False)], known)
        assert needed == dirichlet_oracle.needed(counts, weights, about, known)


@pytest.mark.parametrize("who", ADVERSARIES)
@pytest.mark.parametrize(
    ("shown_as", "entries"), [("unlinked", unlinked_entries), ("linked", linked_entries)]
)
@given(rows=rows_of_few, wishes=wishes_of_all)
def test_what_the_people_of_a_group_protect_is_asked_of_it(
    who: str, shown_as: str, entries: Callable[..., Iterator], rows, wishes
) -> None:
    adversary, priors = ADVERSARIES[who]
    release = table_as_published(read(rows, wishes, shown_as))
    needed = needed_by_groups(entries(rows), stated(wishes), priors, adversary.known)
    agrees(judge(asked(adversary), release), needed)


def visits(people: int = 48, *, longest: int = 0) -> pd.DataFrame:
    """People with one to three rows; `longest`: one besides, with so many."""
    chance = np.random.default_rng(3)
    owner = np.repeat(np.arange(people), 1 + np.arange(people) % 3)
    owner = np.append(owner, np.full(longest, people))
    return pd.DataFrame(
        {
            "who": [f"p{number:03}" for number in owner],
            "age": chance.integers(20, 60, len(owner)),
            "ward": chance.choice(["A", "B"], len(owner)),
            "ill": chance.choice(ILLS, len(owner)),
            "wish": np.where(owner % 5 == 0, "some", np.where(owner % 7 == 0, "two", "none")),
        }
    )


def schema(shown_as: str, **more: object) -> sf.Schema:
    given_ = {"hierarchies": {"age": sf.intervals([10, 20])}, "protect": "wish", **more}
    return sf.Schema(["age", "ward"], "ill", person="who", rows=shown_as, **given_)


def kept_rows(folder: Path, shown_as: str) -> tuple[list[Row], dict[str, str]]:
    """Whose each published row is, by the owner's copy, and what each protects."""
    copy = pd.read_csv(folder / "private" / "rows.csv", dtype=str)
    owner = "pseudonym" if shown_as == "linked" else "whose row"
    rows = [(row[owner], (row["age"], row["ward"]), row["ill"]) for _, row in copy.iterrows()]
    wishes = dict(zip(copy[owner], copy["wish"], strict=True))
    assert len(set(zip(copy[owner], copy["wish"], strict=True))) == len(wishes)
    return rows, wishes


def by_person(owner: pd.Series, ill: pd.Series, wish: pd.Series) -> list[tuple]:
    """What each has and protects, whatever she is called."""
    gathered = pd.DataFrame({"o": owner, "ill": ill, "wish": wish}).groupby("o")
    return sorted((*sorted(own["ill"]), *sorted(set(own["wish"]))) for _, own in gathered)


ENTRIES = {"unlinked": unlinked_entries, "linked": linked_entries}


@pytest.mark.parametrize("shown_as", ENTRIES)
@pytest.mark.parametrize("maker", [sf.Lattice(), sf.Mondrian()], ids=["lattice", "mondrian"])
def test_releases_keep_what_people_protect_and_private_tells_it(
    shown_as: str, maker: sf.Lattice | sf.Mondrian, tmp_path: Path
) -> None:
    adversary, priors = ADVERSARIES["uniform"]
    criterion = asked(adversary)
    table, out = visits(), tmp_path / "out"
    policy = sf.Policy([criterion], anonymizer=maker)
    release = sf.anonymize(sf.read(table, schema(shown_as)), policy, seed=1)
    verdict = judge(criterion, release)
    assert verdict.holds
    release.save(out, report=sf.audit(release, policy), policy=policy)
    for file in (out / "public").iterdir():
        if file.suffix in (".csv", ".json"):  # a page has these words of its own
            assert not any(f"{label}" in file.read_text() for label in ("some", "none", "wish"))
    promised = json.loads((out / "public" / "manifest.json").read_text())["promises"]
    assert [(told["measured"], told["holds"]) for told in promised] == [(None, True)]
    rows, wishes = kept_rows(out, shown_as)
    needed = needed_by_groups(ENTRIES[shown_as](rows), stated(wishes), priors)
    agrees(verdict, needed)
    copy = pd.read_csv(out / "private" / "rows.csv", dtype=str)
    if len(copy) == len(table):
        owner = copy["pseudonym" if shown_as == "linked" else "whose row"]
        hers = by_person(owner, copy["ill"], copy["wish"])
        assert hers == by_person(table["who"], table["ill"], table["wish"])
    again = sf.read_release(out, schema(shown_as))
    agrees(judge(criterion, again), needed)
    handed_out = {column.name for column in again.stray.handed_out.columns}
    assert handed_out == set(release.to_arrow().column_names)
    if shown_as == "linked":
        plain = sf.read_release(out, schema(shown_as, protect=None))
        assert judge(criterion, plain).status == "not_applicable"
    shutil.rmtree(out / "private")
    public = sf.read_release(out, schema(shown_as))
    assert judge(criterion, public).status == "not_applicable"


@pytest.mark.parametrize("maker", [sf.Lattice(), sf.Mondrian()], ids=["lattice", "mondrian"])
def test_each_pseudonym_of_somebody_protects_what_she_does(
    maker: sf.Lattice | sf.Mondrian, tmp_path: Path
) -> None:
    adversary, priors = ADVERSARIES["uniform"]
    criterion, table = asked(adversary), visits(longest=7)
    table["wish"] = np.where(table["who"] == "p048", "all", "none")
    policy = sf.Policy([criterion, sf.KAnonymity(2)], anonymizer=maker)
    release = sf.anonymize(sf.read(table, schema("linked")), policy, seed=1)
    placement = release.placement
    assert isinstance(placement, LinkedPlacement)
    assert placement.linked.public()["people_of_several_pseudonyms"] == 1
    release.save(tmp_path / "out", policy=policy)
    rows, wishes = kept_rows(tmp_path / "out", "linked")
    hers = [who for who, label in wishes.items() if label == "all"]
    assert len(hers) > 1
    assert {ill for who, _, ill in rows if who in hers} <= set(table["ill"][-7:])
    needed = needed_by_groups(linked_entries(rows), stated(wishes), priors)
    for judged in (release, sf.read_release(tmp_path / "out", schema("linked"))):
        agrees(judge(criterion, judged), needed)


def test_evidence_that_was_changed_is_refused(tmp_path: Path) -> None:
    criterion = asked(ADVERSARIES["uniform"][0])
    policy = sf.Policy([criterion], anonymizer=sf.Mondrian())
    release = sf.anonymize(sf.read(visits(), schema("linked")), policy, seed=1)
    release.save(tmp_path / "out", policy=policy)
    copy = tmp_path / "out" / "private" / "rows.csv"
    copy.write_text(copy.read_text().replace("some", "none"))
    with pytest.raises(sf.InputError, match="was changed since the release was made"):
        sf.read_release(tmp_path / "out", schema("linked"))


@pytest.mark.parametrize("shown_as", ENTRIES)
def test_whose_rows_protect_different_things_is_refused(shown_as: str) -> None:
    table = visits()
    table.loc[len(table) - 1, "wish"] = "all"
    with pytest.raises(sf.InputError, match="1 people have rows of several labels; what") as error:
        sf.read(table, schema(shown_as))
    assert "p047" not in str(error.value)
