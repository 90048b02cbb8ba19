"""The pages that are made of the code are what the code says, and leave no key out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from scripts import write_reference as reference
from sfumato.adversaries.priors import FILE
from sfumato.engines.reading import OF_POLICIES, options_about
from sfumato.policy.linked_files import _KEYS
from sfumato.policy.model import Policy
from sfumato.policy.toml import parse_policy
from sfumato.policy.toml_model import (
    HIERARCHIES,
    HierarchyModel,
    LimitsModel,
    PolicyModel,
    PseudonymModel,
    SchemaModel,
    UseModel,
)
from tests.conftest import ROOT

SECTIONS = list(reference.sections())
REGISTER = "age,zip,sex,born,disease,people\n30,10115,F,1990,flu,2\n40,10117,M,1980,ulcer,1\n"
TESTED_ELSEWHERE = ("sha256", "releases")  # which must be those of the file: test_linked_files.py


@pytest.mark.parametrize("page", reference.PAGES)
def test_the_page_is_what_the_code_says(page: str) -> None:
    committed = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert committed == reference.PAGES[page](), "run `make reference`"


def test_every_key_says_what_it_is_and_has_an_example() -> None:
    for section in SECTIONS:
        for key in section.keys:
            assert key.type, (section.title, key.name)
            assert len(key.text) > 10, (section.title, key.name)
            assert key.examples[0].startswith(f"{key.name} = "), (section.title, key.name)


MODELS = {
    "Schema": SchemaModel,
    "Limits": LimitsModel,
    "Use": UseModel,
    "Pseudonyms": PseudonymModel,
}


def test_every_key_that_a_policy_takes_is_there() -> None:
    """Also where the reader knows other keys than the object that is made of them."""
    listed = {section.title: {key.name for key in section.keys} for section in SECTIONS}
    assert listed.keys() >= reference.KINDS
    assert listed["Top of the file"] == {
        field.alias or name for name, field in PolicyModel.model_fields.items()
    }
    for title, model in MODELS.items():
        assert listed[title] == set(model.model_fields)
    (kinds, _) = get_args(HierarchyModel)
    assert set(get_args(kinds)) == set(HIERARCHIES.values())
    assert listed["Files of people"] == {FILE, *_KEYS}
    assert listed["Read"] == {option.name for option in options_about(*OF_POLICIES)}


# -- the examples ----------------------------------------------------------------------------------


def examples() -> Iterator[tuple[str, str]]:
    """A policy for every example of the page: its name and its text."""
    for section in SECTIONS:
        shown = section.is_kind or section.title in reference.SHOWN
        for key in (*((None,) if shown else ()), *section.keys):
            if key and key.name in TESTED_ELSEWHERE:
                continue
            text = section.example(key)
            if section.title == "Require":
                text = f"[[require]]\nkind = 'k-anonymity'\nk = 5\n{key.examples[0]}"
            if section.title == "Schema":
                also = () if "sensitive = " in text else ("sensitive = ['disease']",)
                text = "\n".join([text, *also])
            yield f"{section.title}-{key.name if key else ''}", text


def whole(text: str) -> str:
    """A policy with an example in it, and what it needs beside."""
    roles = "[schema]\nquasi = ['age', 'zip', 'sex', 'born']\nsensitive = ['disease']"
    if "joint" in text:
        roles = roles.replace("'disease'", "'disease', 'income'")
    elif "[perturb.income]" in text or "perturb = " in text:
        roles += "\nkeep = ['income']"
    beside = "" if re.search(r"^(\[schema\]|schema = )", text, re.M) else roles
    asked = "" if "require" in text else "[[require]]\nkind = 'k-anonymity'\nk = 5"
    return "\n\n".join((text, beside, asked))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples name: a register, a taxonomy, a ledger."""
    made = tmp_path_factory.mktemp("policies")
    (made / "register.csv").write_text(REGISTER)
    (made / "work.csv").write_text("F;any;*\nM;any;*\n")
    (made / "ledger.sqlite").touch()
    return made


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in examples()])
def test_the_example_is_a_policy(text: str, folder: Path) -> None:
    Policy(**parse_policy(whole(text), folder / "policy.toml"))
