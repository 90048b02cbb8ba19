"""What each key of a policy means, read off the code that takes it.

The string below a field says what it is, with `Example: ...` at its end (TOML in backticks; of
several, the first is the key's own and the others go with it). The reference of policies is made of
it, and the form of the workbench: a criterion that is registered has its keys told in both.

Stands apart: a policy is read and written without a word of it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from sfumato.adversaries.leakage.metrics import METRICS
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.leakage import DistributionLeakage
from sfumato.engines.choose import ENGINES
from sfumato.engines.form import FORMATS
from sfumato.engines.reading import Reading
from sfumato.perturbation.chance import DISTRIBUTIONS, AddedNoise
from sfumato.policy.model import Policy
from sfumato.utility import UTILITIES

# What may be chosen where the field's type says no more than that it is a text.
CHOICES: dict[tuple[type, str], Collection[str]] = {
    (Policy, "utility"): UTILITIES,
    (Policy, "format"): FORMATS,
    (Reading, "engine"): ENGINES,
    (Reading, "decimal"): (".", ","),
    (TCloseness, "distance"): ("equal", "ordered", "hierarchy"),
    (DistributionLeakage, "metric"): METRICS,
    (AddedNoise, "distribution"): DISTRIBUTIONS,
}


@dataclass(frozen=True)
class ToldKey:
    """What a key means; `examples` are lines of TOML, its own first."""

    text: str
    examples: tuple[str, ...]


@cache
def _classes(module: str) -> dict[str, list[ast.stmt]]:
    """What stands in the classes of a module of ours."""
    if not module.startswith("sfumato."):
        return {}
    tree = ast.parse(Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8"))
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


def field_texts(kind: type) -> dict[str, str]:
    """The strings below the fields of a class and of those it is made of."""
    texts: dict[str, str] = {}
    for parent in kind.__mro__:
        body = _classes(parent.__module__).get(parent.__name__, [])
        for field, below in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                value = below.value
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    texts.setdefault(ast.unparse(field.target), " ".join(value.value.split()))
    return texts


def told_key(text: str) -> ToldKey:
    """A text below a field, and the examples it ends with.

    >>> told_key("How many, 1 or more. Example: `k = 5`.")
    ToldKey(text='How many, 1 or more.', examples=('k = 5',))
    """
    explanation, _, after = text.partition("Example: ")
    return ToldKey(explanation.strip(), tuple(re.findall(r"`([^`]*)`", after)))
