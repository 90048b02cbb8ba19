"""Write the references in docs/, which are made of the code: of policies, commands and Python.

What a key of a policy means stands below its field in the code, with `Example: ...` at its end
(TOML in backticks; of several, the first is the key's own and the others go with it). Types,
defaults and what may be chosen are the field's own. `python scripts/write_reference.py` writes the
pages; tests/test_reference.py fails when they are not what the code says, or miss a key.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import typer
from pydantic import BaseModel
from typer.cli import get_docs_for_click

import sfumato
from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Anonymizer
from sfumato.cli.main import app
from sfumato.criteria import CRITERIA
from sfumato.criteria.base import Criterion
from sfumato.criteria.skyline_points import KnowledgePoint
from sfumato.engines.reading import OF_POLICIES, Reading, options_about
from sfumato.ledger.earlier import EarlierSource
from sfumato.perturbation import PERTURBATIONS
from sfumato.perturbation.base import Perturbation
from sfumato.perturbation.pseudonyms import PseudonymKey
from sfumato.policy.keys import CHOICES, field_texts, told_key
from sfumato.policy.linked_files import Link
from sfumato.policy.model import Policy
from sfumato.policy.rules import RULE_SETS
from sfumato.policy.rules.base import RuleSet
from sfumato.policy.toml_model import HIERARCHIES, PolicyModel
from sfumato.policy.toml_text import toml_value
from sfumato.release.release import Release
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.limits import Limits
from sfumato.schema.roles import Schema
from sfumato.table import Table
from sfumato.utility.use import Use

DOCS = Path(__file__).resolve().parent.parent / "docs"
REQUIRED = "**required**"

# What types are called in a policy; those that are left out no file can hold.
WORDS: dict[object, str] = {
    str: "text",
    bool: "true or false",
    int: "whole number",
    float: "number",
    Fraction: "number",
    object: "",
    Any: "text",
    Path: "path",
    Table: "[file](#files-of-people)",
    Release: "[file](#files-of-people)",
    KnowledgePoint: "list of four numbers",
    RealisticAdversary: "[table](#adversary)",
    Hierarchy: "[hierarchy](#hierarchies)",
    Limits: "[limits](#limits)",
    Criterion: "[criteria](#require)",
    Anonymizer: "[table](#anonymizer)",
    Schema: "[table](#schema)",
    Use: "[table](#use)",
    Reading: "[table](#read)",
    RuleSet: "name, or [table](#profile)",
    Perturbation: "[perturbation](#perturb)",
    PseudonymKey: "[table](#pseudonyms)",
    EarlierSource: "[file](#files-of-people)",
}


class Key(NamedTuple):
    """A key of a table of a policy; `examples` are lines of TOML, its own first."""

    name: str
    type: str
    default: str
    text: str
    examples: tuple[str, ...]

    @property
    def required(self) -> bool:
        return self.default == REQUIRED


class Section(NamedTuple):
    """A table of a policy: how a policy writes it, and its keys."""

    title: str
    table: str
    text: str
    keys: tuple[Key, ...]
    depth: int = 2

    def example(self, key: Key | None = None) -> str:
        """The lines of a table with what it needs, and perhaps one key more."""
        needed = [one for one in self.keys if one.required]
        if not needed and (key is None or INSIDE in self.table) and self.title in SHOWN:
            needed = [one for one in self.keys if one.name in SHOWN[self.title]]
        lines = [*(key.examples if key else ()), *(line for one in needed for line in one.examples)]
        own = list({line.partition(" = ")[0]: line for line in reversed(lines)}.values())[::-1]
        if INSIDE in self.table:
            return self.table.replace(INSIDE, f"{{ {', '.join(own)} }}")
        kind = [f"kind = {toml_value(self.title)}"] if self.is_kind else []
        return "\n".join([self.table, *kind, *own])

    @property
    def is_kind(self) -> bool:
        return self.title in KINDS


INSIDE = "{...}"  # where a table stands that is a value of another
SHOWN = {  # where one of several keys is needed, or an example without any says nothing
    "intervals": ["widths"],
    "taxonomy": ["file"],
    "top-bottom-coding": ["top"],
    "pram": ["stay"],
    "Adversary": ["shape", "stubbornness"],
    "Files of people": ["file", "count"],
}
KINDS = {*HIERARCHIES, *CRITERIA, *ANONYMIZERS, *PERTURBATIONS, *RULE_SETS}


# -- reading the code ------------------------------------------------------------------------------


def keys_of(kind: type, names: Sequence[str] | None = None) -> tuple[Key, ...]:
    """The keys of a table that becomes a dataclass, or is checked by a model of pydantic."""
    texts, hints = field_texts(kind), get_type_hints(kind)
    if issubclass(kind, BaseModel):
        models = kind.model_fields.items()
        defaults = {
            name: REQUIRED
            if one.is_required()
            else _default(one.get_default(call_default_factory=True))
            for name, one in models
            if name != "kind"
        }
    else:
        fields = dataclasses.fields(kind)  # type: ignore[arg-type]
        defaults = {one.name: _default_of(one) for one in fields}
    listed = [name for name in defaults if names is None or name in names]
    return tuple(
        _key(kind, name, hints[name], defaults[name], texts.get(name, "")) for name in listed
    )


def _key(kind: type, name: str, hint: object, default: str, text: str) -> Key:
    told = told_key(text)
    chosen = CHOICES.get((kind, name))
    words = _choices(chosen) if chosen else type_words(hint)
    return Key(name, words, default, told.text, told.examples)


def _default_of(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return _default(field.default)
    if field.default_factory in (dict, list, tuple):
        return _default(field.default_factory())
    return REQUIRED if field.default_factory is dataclasses.MISSING else ""


def _default(value: object) -> str:
    return "" if value in (None, (), [], {}) else f"`{toml_value(value)}`"


def _choices(names: Iterable[object]) -> str:
    return ", ".join(f"`{toml_value(name)}`" for name in names)


def type_words(hint: object) -> str:
    """What may stand in a policy where the code says this type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in WORDS:
        return WORDS[hint]
    if origin is Literal:
        return _choices(inner)
    if origin in (Union, types.UnionType):
        words = dict.fromkeys(filter(None, (type_words(one) for one in inner)))
        for wider, word in (("number", "whole number"), ("path", "text")):
            if wider in words:
                words.pop(word, None)
        return " or ".join(words)
    if origin is not None and hasattr(origin, "__mro__") and issubclass(origin, Mapping):
        return _of_several("table", type_words(inner[1]))
    if origin is not None and hasattr(origin, "__mro__") and issubclass(origin, Sequence):
        return _of_several("list", type_words(inner[0]))
    annotated = getattr(hint, "__metadata__", None)
    return type_words(inner[0]) if annotated else ""


def _of_several(what: str, each: str) -> str:
    plural = re.sub(r"\b(text|number|table|list|path|name)\b(?!s)", r"\1s", each)
    return f"{what} of {plural}" if each else what


# -- the policy reference --------------------------------------------------------------------------


def sections() -> Iterator[Section]:
    """All tables of a policy file, in the page's order."""
    top = [field.alias or name for name, field in PolicyModel.model_fields.items()]
    keys = {key.name: key for key in keys_of(Policy)}
    assert set(keys) == set(top), set(keys) ^ set(top)
    yield Section("Top of the file", "", "", tuple(keys[name] for name in keys))
    yield Section("Schema", "[schema]", _about(Schema), keys_of(Schema))
    yield Section("Hierarchies", "[schema.hierarchies]", TEXTS["Hierarchies"], (), 3)
    for kind, model in HIERARCHIES.items():
        table = f"[schema.hierarchies.{COLUMN_OF.get(kind, 'age')}]"
        yield Section(kind, table, _about(model), keys_of(model), 4)
    yield Section("Limits", "[schema.limits.age]", _about(Limits), keys_of(Limits), 3)
    common = ("sensitive",)
    yield Section("Require", "[[require]]", TEXTS["Require"], keys_of(Criterion, common))
    for kind, criterion in CRITERIA.items():
        own = [key for key in keys_of(criterion) if key.name not in common]
        ordered = sorted(own, key=lambda key: not key.required)
        yield Section(kind, "[[require]]", _about(criterion), tuple(ordered), 3)
    adversary = f'[[require]]\nkind = "epsilon-privacy"\nepsilon = 2.5\nadversary = {INSIDE}'
    yield Section("Adversary", adversary, TEXTS["Adversary"], keys_of(RealisticAdversary), 3)
    people = f'[[require]]\nkind = "k-map"\nk = 5\npopulation = {INSIDE}'
    yield Section("Files of people", people, TEXTS["Files of people"], keys_of(Link), 3)
    kinds: list[tuple[str, str, Mapping[str, type]]] = [
        ("Anonymizer", "[anonymizer]", ANONYMIZERS),
        ("Perturb", "[perturb.income]", PERTURBATIONS),
        ("Profile", "[profile]", RULE_SETS),
    ]
    for title, table, registry in kinds:
        yield Section(title, table, TEXTS[title], ())
        for kind, made in registry.items():
            yield Section(kind, table, _about(made), keys_of(made), 3)
    told = {option.name: option.metadata["about"] for option in options_about(*OF_POLICIES)}
    read = keys_of(Reading, tuple(told))
    yield Section(
        "Read",
        "[read]",
        TEXTS["Read"],
        tuple(key._replace(text=key.text or told[key.name]) for key in read),
    )
    yield Section("Use", "[use]", _about(Use), keys_of(Use))
    yield Section("Pseudonyms", "[pseudonyms]", _about(PseudonymKey), keys_of(PseudonymKey))


def _about(kind: type) -> str:
    """A class's docstring."""
    return inspect.getdoc(kind) or ""


COLUMN_OF = {"icd10": "disease", "zip3": "zip", "mask": "zip", "taxonomy": "sex", "dates": "born"}
TEXTS = {
    "Hierarchies": """
How far a column may be coarsened, step by step; without one the value or `*`. What each kind makes
of values: [hierarchies](hierarchies.md).""",
    "Require": """
What a release must satisfy: a table each, in any order. What they mean and whom they bound:
[criteria](criteria.md). This key every kind has:""",
    "Adversary": """
The table `adversary` of epsilon-privacy: what she has seen before, and whom she knows
([realistic adversaries](papers/realistic.md)).""",
    "Files of people": """
`population`, `prior` and `shape` may name a table of people, or a release about them; `earlier`
ledgers and releases. Names are relative to the policy: a text, or a table of these keys. A table
of people is read as `[read]` says of the policy's own, where it is written like that.""",
    "Anonymizer": """
What makes the release; `best` if it is left out. What each does: [anonymizers](anonymizers.md).""",
    "Perturb": """
What is done to a sensitive or kept column before anything is counted, a table for each column:
[perturbation](perturbation.md).""",
    "Profile": """
A published rule set that a release is held against, paragraph by paragraph:
[rule sets](rule-sets.md). `profile = "public-file"` says the same as a table with `kind` alone.""",
    "Read": """
How the file is to be read that the policy was written for; what leaves no doubt is found without a
word: [files](files.md). The same as the options of every command that reads, such as `--delimiter`.
""",
}
HEAD = """# Policy reference

Every key of a policy file. `sfumato init FILE --out policy.toml` drafts one, `sf.Policy.load` reads
it. It is [TOML](https://toml.io): a table may be written under a heading (`[schema.units]`) or in
one line (`units = { age = 1 }`), and what is not required may be left out. An unknown key, or a
value that is not allowed, ends with exit code 2 and one line that says what is.

*This page is made of the code by `make reference`.*
"""


def policy_reference() -> str:
    """The page."""
    parts = [HEAD]
    for section in sections():
        name = f"`{section.title}`" if section.is_kind else section.title
        parts.append(f"{'#' * section.depth} {name}\n")
        parts += [" ".join(one.split()) + "\n" for one in section.text.split("\n\n") if one]
        if section.is_kind or section.title in ("Schema", *SHOWN):
            parts.append(f"```toml\n{section.example()}\n```\n")
        if section.keys:
            parts.append("| key | what it is | default | meaning |\n|---|---|---|---|")
            parts += [_row(key) for key in section.keys]
            parts.append("")
    return "\n".join(parts)


def _row(key: Key) -> str:
    own, *others = key.examples
    beside = f" (with {' and '.join(f'`{line}`' for line in others)})" if others else ""
    cells = (f"`{key.name}`", key.type, key.default or "–", f"{key.text}<br>`{own}`{beside}")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


# -- the command line ------------------------------------------------------------------------------


def command_line() -> str:
    """What `--help` says of every command, put together by Typer."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="sfumato")
    page = get_docs_for_click(obj=command, ctx=context, name="sfumato", title="Command line")
    page = re.sub(r"(?<=.)(?<!\*)\*(?!\*)", r"\\*", page)  # a * is a *
    page = re.sub(r"^Example: (.+)$", r"Example: `\1`", page, flags=re.M)
    for name in re.findall(r"^\* `([\w-]+)`: .*\.\.\.$", page, re.M):  # cut short, told whole below
        whole = re.search(rf"^#+ `sfumato [\w ]*\b{name}`\n\n(.+)$", page, re.M)
        assert whole is not None, name
        page = re.sub(rf"^(\* `{name}`: ).*\.\.\.$", rf"\g<1>{whole[1]}", page, flags=re.M)
    title, _, rest = page.partition("\n")
    about = "*This page is made of the code by `make reference`.*"
    return f"{title}\n\n{about}\n{rest.rstrip()}\n"


# -- the public names ------------------------------------------------------------------------------

ROOMS = {
    "workflow": "What is done",
    "table": "Reading tables",
    "engines": "",
    "schema": "Columns",
    "policy": "Policies",
    "criteria": "Criteria",
    "anonymizers": "Anonymizers",
    "perturbation": "Perturbation",
    "utility": "What a release is for",
    "release": "Releases",
    "report": "Results",
    "ledger": "Ledgers",
    "adversaries": "Adversaries",
    "errors": "Errors",
}


def python() -> str:
    """Where mkdocstrings puts what each public name says of itself."""
    about = "Every name of `import sfumato as sf`; what stands behind *Example* is a policy's line."
    lines = ["# Python", "", about, "", "*This page is made of the code by `make reference`.*", ""]
    homes: dict[str, str] = vars(sfumato)["_HOME_OF"]
    assert {home.split(".")[1] for home in homes.values()} == set(ROOMS)
    for room, title in ROOMS.items():
        lines += [f"## {title}", ""] if title else []
        of_room = [name for name, home in homes.items() if home.split(".")[1] == room]
        for name in sorted(of_room, key=lambda name: (name[0].isupper(), name)):
            lines += [f"::: {homes[name]}.{name}", ""]
    return "\n".join(lines)


PAGES = {
    "policy-reference.md": policy_reference,
    "command-line.md": command_line,
    "python.md": python,
}


if __name__ == "__main__":
    for page, write in PAGES.items():
        (DOCS / page).write_text(write(), encoding="utf-8")
        print(f"docs/{page}")
    sys.exit()
