"""Priors: every form by every consumer, from Python, policies and options, and every mistake."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.composition.attack import intersection_attack
from sfumato.adversaries.composition.intersection import INTERSECTION
from sfumato.adversaries.leakage.expectation import OBSERVER
from sfumato.adversaries.leakage.observer import Observer
from sfumato.adversaries.priors import (
    ColumnWeights,
    PriorUse,
    ValueCounts,
    ValueShares,
    parse_prior,
    plain_prior,
)
from sfumato.adversaries.realistic.priors import SHAPE
from sfumato.adversaries.relative_threat.model import LEARNER
from sfumato.release.release import as_it_stands
from sfumato.workflow.observed_classes import CHARACTERIZE
from tests.program import sfumato

ROWS = [
    ("young", "F", "flu"),
    ("young", "F", "cold"),
    ("young", "M", "flu"),
    ("old", "F", "cold"),
    ("old", "M", "cold"),
    ("old", "M", "flu"),
]
SCHEMA = sf.Schema(quasi=["age", "sex"], sensitive="ill")
CSV = "age,sex,ill\n" + "".join(f"{','.join(row)}\n" for row in ROWS)


def table() -> sf.Table:
    columns = zip(*ROWS, strict=True)
    return sf.read(pa.table(dict(zip(["age", "sex", "ill"], columns, strict=True))), SCHEMA)


TABLE = table()
RELEASE = as_it_stands(TABLE)
LISTED = [{"class": {"age": age}, "shares": {"flu": 0.5, "cold": 0.5}} for age in ("young", "old")]
FORMS: dict[str, Any] = {
    "Uniform": "uniform",
    "OfTable": "table",
    "Pooled": "pooled",
    "ValueShares": {"flu": 0.25, "cold": 0.75},
    "ValueCounts": {"flu": 3, "cold": 5},
    "FewerColumns": {"given": ["age"]},
    "ByClass": LISTED,
    "OutsideTable": table(),
    "EarlierRelease": as_it_stands(table()),
    "EqualWeights": 0.5,
}
TEXTS = {
    "ValueShares": "flu=0.25,cold=0.75",
    "ValueCounts": "flu=3, cold=5",
    "FewerColumns": "given=age",
    "EqualWeights": "0.5",
}
CONSUMERS: dict[str, tuple[PriorUse, Callable[[Any], object]]] = {
    "realistic": (
        SHAPE,
        lambda prior: sf.EpsilonPrivacy(9, sf.RealisticAdversary(prior, 50, at_most=False)).verdict(
            RELEASE.groups
        ),
    ),
    "observer": (OBSERVER, lambda prior: Observer(prior).attack(RELEASE).threats()),
    "distribution-leakage": (
        OBSERVER,
        lambda prior: sf.DistributionLeakage(1.4, prior=prior).verdict(RELEASE.groups),
    ),
    "entropy-leakage": (
        OBSERVER,
        lambda prior: sf.EntropyLeakage(2, prior=prior).verdict(RELEASE.groups),
    ),
    "characterize": (CHARACTERIZE, lambda prior: sf.characterize(TABLE, 2, prior=prior)),
    "intersection": (
        INTERSECTION,
        lambda prior: intersection_attack(
            [RELEASE, RELEASE], [{"age": "old", "sex": "M"}], prior=prior
        ),
    ),
    "relative threat": (LEARNER, lambda prior: sf.relative_threat(RELEASE, prior=prior)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_every_consumer_uses_a_form_or_names_what_she_uses(consumer: str, form: str) -> None:
    use, ask = CONSUMERS[consumer]
    takes = {one.__name__ for one in use.forms}
    for prior in filter(None, (FORMS[form], TEXTS.get(form))):
        if form in takes:
            assert type(parse_prior(prior, use)).__name__ == form
            ask(prior)
        elif ColumnWeights in use.forms and ("Value" in form):  # a column of that name
            with pytest.raises(sf.InputError, match="no column 'flu'; allowed: age, ill, sex"):
                ask(prior)
        else:
            with pytest.raises(use.error) as caught:
                ask(prior)
            said = str(caught.value)
            assert said.endswith(f" is not allowed; use {use.allowed}")
            assert "\n" not in said


@pytest.mark.parametrize("form", TEXTS)
def test_a_text_means_what_the_object_means(form: str) -> None:
    for use, _ in CONSUMERS.values():
        if form in {one.__name__ for one in use.forms}:
            assert parse_prior(TEXTS[form], use) == parse_prior(FORMS[form], use)


WRONG: dict[str, tuple[Any, str]] = {
    "word": ("census", " = 'census' is not allowed; use "),
    "nothing": ([], " = [] is not allowed; use "),
    "empty": ({}, " = {} is not allowed; use "),
    "truth": (True, " = True is not allowed; use "),
    "a set": ({"flu"}, " = {'flu'} is not allowed; use "),
    "a weight beyond floats": (10**400, " = 1000"),
    "text": ("flu=many", " = 'flu=many' is not allowed; use "),
    "twice": ("flu=1,flu=2", " = 'flu=1,flu=2' is not allowed; use "),
    "file": ("nowhere.csv", " = 'nowhere.csv' names a file"),
    "path": (Path("nowhere"), " names a file"),
}
WRONG_NUMBERS: dict[str, tuple[Any, str]] = {
    "negative": ({"flu": -1}, " of 'flu' = -1 is not allowed; it must be a share or a count"),
    "no number": ({"flu": "many"}, " of 'flu' = 'many' is not allowed; it must be a share or"),
    "no end": ({"flu": math.inf}, " of 'flu' = inf is not allowed"),
    "no number at all": ({"flu": math.nan}, " of 'flu' = nan is not allowed"),
    "beyond floats": ({"flu": 10**400}, " of 'flu' = 1000"),
    "sum": ({"flu": 0.5, "cold": 0.4}, ": the shares sum to 0.9, not to 1; correct them, or give"),
    "mixed": ({"flu": 0.5, "cold": 2}, " of 'flu' = 0.5 is neither a share nor a count"),
    "one value twice": ({"1": 0.5, 1: 0.5}, " names '1' twice"),
    "stranger": ({"flux": 1, "cold": 2}, " names 'flux', not a value of 'ill'; did you mean 'flu'"),
}


@pytest.mark.parametrize("case", [*WRONG, *WRONG_NUMBERS])
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_the_same_mistake_is_told_alike(consumer: str, case: str) -> None:
    use, ask = CONSUMERS[consumer]
    prior, said = {**WRONG, **WRONG_NUMBERS}[case]
    if case in WRONG_NUMBERS and ValueShares not in use.forms:
        return
    if case == "stranger" and use is INTERSECTION:  # a population may have further values
        said = "gives no weight to 'flu'"
    with pytest.raises(use.error) as caught:
        ask(prior)
    told = str(caught.value)
    assert said in told
    assert "\n" not in told
    assert consumer in told or use.user in told or use is INTERSECTION


def test_whole_numbers_and_those_above_one_are_counts() -> None:
    for given in ({"a": 1}, {"a": 2.0, "b": 3}, {"a": Fraction(4), "b": 0}):
        assert isinstance(parse_prior(given, OBSERVER), ValueCounts)
    for given in ({"a": 1.0}, {"a": Fraction(1, 3), "b": Fraction(2, 3)}, {"a": 0.5, "b": 0.5}):
        assert isinstance(parse_prior(given, OBSERVER), ValueShares)
    assert parse_prior({5.0: 3}, OBSERVER) == parse_prior({"5": 3}, OBSERVER)
    # Nobody seen is no opinion; of nobody there is no distribution.
    assert parse_prior({"a": 0}, SHAPE) == ValueCounts({"a": 0})
    with pytest.raises(sf.PolicyError, match="the shares sum to 0, not to 1"):
        parse_prior({"a": 0}, OBSERVER)


@pytest.mark.parametrize("form", FORMS)
def test_the_plain_form_is_read_again(form: str) -> None:
    use = next(use for use, _ in CONSUMERS.values() if form in {f.__name__ for f in use.forms})
    prior = parse_prior(FORMS[form], use)
    assert parse_prior(prior, use) == prior == parse_prior(plain_prior(prior), use)


# -- policies and options --------------------------------------------------------------------------

POLICY = '[schema]\nquasi = ["age", "sex"]\nsensitive = "ill"\n'
IN_TOML = {
    '"uniform"': "uniform",
    '"table"': "table",
    "{ flu = 0.25, cold = 0.75 }": FORMS["ValueShares"],
    '"flu=0.25,cold=0.75"': FORMS["ValueShares"],
    "{ flu = 3, cold = 5 }": FORMS["ValueCounts"],
    '"census"': "census",
    "{ flu = -1 }": {"flu": -1},
    "{ flu = 0.5, cold = 2 }": {"flu": 0.5, "cold": 2},
}


@pytest.mark.parametrize("written", IN_TOML)
def test_a_policy_means_what_python_means(written: str, tmp_path: Path) -> None:
    for entry, make in (
        (f"adversary = {{ shape = {written}, stubbornness = 9 }}\nepsilon = 9", _epsilon),
        (f"prior = {written}\nepsilon = 0.5", _leakage),
    ):
        kind = "epsilon-privacy" if make is _epsilon else "distribution-leakage"
        file = tmp_path / "policy.toml"
        file.write_text(f'{POLICY}[[require]]\nkind = "{kind}"\n{entry}\n')
        refused = refusal(make, IN_TOML[written])
        if refused is None:
            assert sf.Policy.load(file).require == (make(IN_TOML[written]),)
        else:
            with pytest.raises(sf.PolicyError) as caught:
                sf.Policy.load(file)
            assert str(caught.value).endswith(refused)


def refusal(ask: Callable[[Any], object], prior: Any) -> str | None:
    """What Python says against it."""
    try:
        ask(prior)
    except sf.SfumatoError as error:
        return str(error)
    return None


def _epsilon(prior: Any) -> sf.EpsilonPrivacy:
    return sf.EpsilonPrivacy(9, sf.RealisticAdversary(prior, 9))


def _leakage(prior: Any) -> sf.DistributionLeakage:
    return sf.DistributionLeakage(0.5, prior=prior)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("priors")
    (folder / "people.csv").write_text(CSV)
    (folder / "policy.toml").write_text(f'{POLICY}[[require]]\nkind = "k-anonymity"\nk = 1\n')
    return folder


COMMANDS = {
    "characterize": ("characterize", "people.csv"),
    "intersection": (
        "attack", "intersect", "people.csv", "people.csv", "--targets", "people.csv",
    ),
    "relative threat": ("attack", "relative", "people.csv", "--table", "people.csv"),
}  # fmt: skip
OPTIONS = ["uniform", "table", "pooled", "flu=1,cold=1", "given=age", "0.5", "people.csv", "census"]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_means_what_python_means(command: str, files: Path) -> None:
    _, ask = CONSUMERS[command]
    words = [str(files / one) if one.endswith(".csv") else one for one in COMMANDS[command]]
    for option in OPTIONS:
        given = str(files / option) if option.endswith(".csv") else option
        run = sfumato(*words, "--policy", files / "policy.toml", "--prior", given)
        refused = refusal(ask, table() if option.endswith(".csv") else option)
        assert run.returncode == (0 if refused is None else 2), run.stderr
        assert (refused or "") in run.stderr
