"""What the step Policy shows, as plain data: cards, fields, verdicts and prices.

Workers find it out with all of the library, the server only shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sfumato.report.document import Section, mood_of

TABLE = 0  # in the place of a release's number: the table as it stands
PRICE = "price.json"  # where a project keeps prices
FieldKind = Literal["whole", "number", "yes", "choice", "column", "text", "any"]


@dataclass(frozen=True)
class FormField:
    """One thing to fill in.

    `path` leads to it in its table (adversary, stubbornness); `example` and `default` are texts as
    they are typed. `rungs` are sensible values for a slider; `loose_to_tight`: in that order.
    What comes `first` is asked of everybody, the others of who wants more.
    """

    path: tuple[str, ...]
    kind: FieldKind
    about: str
    example: str
    required: bool
    default: str = ""
    choices: tuple[str, ...] = ()
    rungs: tuple[str, ...] = ()
    loose_to_tight: bool = False
    first: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True)
class Card:
    """What may be chosen, in a few words: a criterion, an anonymizer, a rule set.

    Of a criterion: `question` is what people would ask about its adversary, `story` who she is in
    a sentence, and it is judged `live` where each group is judged alone.
    """

    kind: str
    about: str
    fields: tuple[FormField, ...]
    question: str = ""
    story: str = ""
    live: bool = False


TOP = (
    FormField(("utility",), "choice", "What is made best.", "loss", False, "loss"),
    FormField(
        ("suppression",),
        "number",
        "The share of people whom the anonymizer may leave out, from 0 to 1.",
        "0.02",
        False,
        "0",
        rungs=("0", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2"),
    ),
    FormField(("format",), "choice", "In which format it is written.", "parquet", False),
)


@dataclass(frozen=True)
class Filled:
    """A card with what the policy says: each field's name and what is typed there."""

    card: Card
    values: Mapping[str, str]
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class PolicyForm:
    """All that a policy's text says, as a form shows it."""

    require: tuple[Filled, ...]
    anonymizer: Filled | None
    profile: Filled | None
    top: Mapping[str, str]
    limits: Mapping[str, Mapping[str, str]]
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]


@dataclass(frozen=True)
class LiveVerdict:
    """What the current release says to one criterion, in texts."""

    criterion: str
    about: str
    required: str
    measured: str
    status: str
    note: str = ""

    @property
    def mood(self) -> str:
        return mood_of(self.status)


@dataclass(frozen=True)
class CardPrice:
    """What one criterion costs, a sentence each: without it, and one step looser or tighter."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class PriceView:
    """What each promise costs; `stale`: it was worked out for another policy than this one."""

    words: str
    cards: tuple[CardPrice | None, ...]
    sections: tuple[Section, ...]
    stale: bool


@dataclass(frozen=True)
class Story:
    """An adversary, by what people would ask about her, and the promises against her."""

    question: str
    words: str
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Choices:
    """Everything that may be chosen."""

    stories: tuple[Story, ...]
    anonymizers: Mapping[str, Card]
    profiles: Mapping[str, Card]
    utilities: Mapping[str, str]


@dataclass(frozen=True)
class PolicyView:
    """A policy's text, what it says as a form, and what the current release says to it.

    `error` is the one line that is wrong; the form is then that of the text as far as it goes, or
    None. `unjudged` says why there is no verdict at all. `levels` are what each quasi-identifier
    looks like from level to level.
    """

    text: str
    error: str = ""
    form: PolicyForm | None = None
    verdicts: tuple[LiveVerdict, ...] = ()
    unjudged: str = ""
    levels: Mapping[str, tuple[str, ...]] | None = None
    price: PriceView | None = None
