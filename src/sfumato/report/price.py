"""Price: what every promise of a policy and every quasi-identifier costs, as plain data.

A change is one thing done otherwise: a criterion left out, its bound one step looser or tighter, a
column left out, or its limits. Its gain is by how much cheaper the best release becomes. All costs
are on one scale, that of all columns of the policy: a column that is left out is lost entirely, as
if it were `*` for everybody, so leaving it out pays only where the others gain more than is lost.

Every cost was reached by a release that was made, so the best there is costs at most that. It is
its owner's to know; how it reads, as a document with its picture, is the second half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sfumato.criteria.base import BoundStep, Criterion
from sfumato.errors import InputError
from sfumato.files import write_text
from sfumato.progress import phase
from sfumato.report.document import (
    OF_TABLE,
    Chart,
    Document,
    Documented,
    Gist,
    Section,
    Series,
    Sheet,
    percentage,
)
from sfumato.utility import is_share

if TYPE_CHECKING:
    from sfumato.report.report import Report

ENDINGS = (".html", ".json", ".md")
PriceStatus = Literal["priced", "no_safe_release", "not_possible", "not_begun", "no_step"]
LOSS = "loss"
_SLIGHT = 0.03  # of what the policy costs: a smaller gain is not told as one
_DRAWN = 30  # bars of the picture
_STATUS_WORDS: dict[PriceStatus, str] = {
    "priced": "",
    "no_safe_release": "no safe release",
    "not_possible": "not possible",
    "not_begun": "not begun",
    "no_step": "no step",
}


# -- changes ---------------------------------------------------------------------------------------


def promises(require: Sequence[Criterion]) -> list[str]:
    """Each criterion with the column it is about; of several alike it is the n-th."""
    named = [
        f"{criterion.name} of {criterion.sensitive}" if criterion.sensitive else criterion.name
        for criterion in require
    ]
    return [
        f"{name} #{named[:place].count(name) + 1}" if named.count(name) > 1 else name
        for place, name in enumerate(named)
    ]


@dataclass(frozen=True)
class WithoutCriterion:
    """The policy without the criterion at this place."""

    place: int
    criterion: Criterion
    subject: str
    kind = "without a promise"
    words = "without it"

    @property
    def sentence(self) -> str:
        return f"without {self.subject} ({self.criterion.required})"


@dataclass(frozen=True)
class OtherBound:
    """The criterion at this place with its bound one step looser or tighter."""

    place: int
    criterion: Criterion
    subject: str
    step: BoundStep

    @property
    def kind(self) -> str:
        return f"a bound one step {self.step.way}"

    @property
    def words(self) -> str:
        return self.step.words

    @property
    def sentence(self) -> str:
        return f"with {self.subject} {self.step.way} ({self.words})"


@dataclass(frozen=True)
class NoOtherBound:
    """A criterion that names no other bounds: only what it costs as a whole can be told."""

    place: int
    criterion: Criterion
    subject: str
    kind = "no step"
    words = "another bound"

    @property
    def sentence(self) -> str:
        return f"with another bound of {self.subject}"


@dataclass(frozen=True)
class WithoutColumn:
    """A quasi-identifier left out: not published, or `*` for everybody, which is the same."""

    column: str
    kind = "without a column"
    words = "left out"

    @property
    def subject(self) -> str:
        return f"column {self.column}"

    @property
    def sentence(self) -> str:
        return f"without the column {self.column}"


@dataclass(frozen=True)
class WithoutLimits:
    """A quasi-identifier that may be published at every level."""

    column: str
    kind = "without limits"
    words = "without them"

    @property
    def subject(self) -> str:
        return f"limits of {self.column}"

    @property
    def sentence(self) -> str:
        return f"without the limits of {self.column}"


Change = WithoutCriterion | OtherBound | NoOtherBound | WithoutColumn | WithoutLimits
_KINDS = (
    "a bound one step looser",
    "without limits",
    "without a column",
    "without a promise",
    "a bound one step tighter",
)


@dataclass(frozen=True)
class OtherColumns:
    """What the columns that stay lose, by the policy as it is and without the column."""

    before: float
    after: float


@dataclass(frozen=True)
class PricedChange:
    """What the best release costs that was found after a change; a reason where there is none.

    `gain`: by how much less than by the policy as it is. `at_most`: no search of its own came so
    low; the release of a stricter policy is one of this, too.
    """

    change: Change
    status: PriceStatus
    cost: float | None = None
    gain: float | None = None
    groups: int | None = None
    at_most: bool = False
    reason: str = ""
    others: OtherColumns | None = None

    @property
    def rank(self) -> tuple[object, ...]:
        """By what helps most; of equals what gives up least. What was not priced comes last."""
        kind = _KINDS.index(self.change.kind) if self.change.kind in _KINDS else len(_KINDS)
        if self.cost is None:
            return (list(_STATUS_WORDS).index(self.status), 0.0, kind)
        return (0, round(self.cost, 12), kind)


# -- the price -------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Price(Documented):
    """What each change of a policy would buy, what helps most first.

    `cost` is that of the best release found by the policy as it is, None with a `reason` where
    there is none. `people` were priced, of `everybody`; `seconds` is what the searches were given.
    """

    label: str
    people: int
    everybody: int
    utility: str
    about: str
    anonymizer: str
    seconds: float
    seed: int
    cost: float | None
    groups: int | None
    reason: str
    changes: tuple[PricedChange, ...]
    notes: tuple[str, ...] = ()

    @property
    def helpful(self) -> tuple[PricedChange, ...]:
        """The changes that gain something worth telling, the best first."""
        if self.cost is None:
            return tuple(change for change in self.changes if change.cost is not None)
        least = _SLIGHT * self.cost
        return tuple(
            change for change in self.changes if change.gain is not None and change.gain > least
        )

    @property
    def not_begun(self) -> int:
        return sum(change.status == "not_begun" for change in self.changes)

    def words(self) -> str:
        """What would help most, in a sentence or two."""
        return price_words(self)

    def document(self) -> Document:
        """The picture, the table and what they mean, for the page and for JSON."""
        return price_document(self)

    def brief(self) -> Document:
        """The table alone, for a terminal."""
        closing = {"As it is": _as_it_is(self), "Mind": "; ".join(self.notes)}
        closing |= {"Nearly free": _free(self).removeprefix("Nearly free: "), "Next": self.words()}
        sheet = _sheet(self)
        gist = Gist(closing, replace(sheet, remark=""))
        return Document("price", _title(self), "", (Section("", "", (sheet,)),), gist=gist)

    def to_markdown(self) -> str:
        return self.document().to_markdown()

    @phase("writing")
    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write a page (.html), the figures (.json) or a text (.md), whole or not at all."""
        target = Path(path)
        check_price_file(target)
        write = {".html": self.to_html, ".json": self.to_json, ".md": self.to_markdown}
        text = write[target.suffix]().rstrip("\n") + "\n"
        write_text(target, text, force=force, kind="price")

    def _in_short(self) -> tuple[str, ...]:
        return _title(self), self.words()


def check_price_file(target: Path) -> None:
    """Refuse a name whose ending does not say what to write; before any work is done."""
    if target.suffix not in ENDINGS:
        raise InputError(
            f"cannot write a price as {target.name!r}; use a name ending in "
            f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        )


# -- words -----------------------------------------------------------------------------------------


def price_words(price: Price) -> str:
    """What would help most: the best change of each kind that helps."""
    best: dict[str, PricedChange] = {}
    for priced in price.helpful:
        best.setdefault(priced.change.kind, priced)
    sentences = []
    for at, priced in enumerate(best.values()):
        assert priced.cost is not None
        gone = _gone(price, priced.cost, whole=not at)
        if not at and price.cost is not None:
            gone += f" instead of {_figure(price, price.cost)}"
        sentences.append(f"{priced.change.sentence}, {gone}{_other_columns(priced)}")
    many, more = price.not_begun, ""
    if many:
        changes = "1 change was" if many == 1 else f"{many} changes were"
        more = f" ({changes} not tried in {price.seconds:g} seconds: give more, or fewer people)"
    if not sentences:
        tried = any(change.cost is not None for change in price.changes)
        none = "No single change helps" if tried else "Which change would help was not found out"
        return f"{none}{more}."
    start = "What would help most" if price.cost is not None else "A release there would be"
    return f"{start}: {'; '.join(sentences)}{more}."


def _free(price: Price) -> str:
    """What could be promised besides at next to no cost."""
    free = [
        priced.change.sentence
        for priced in price.changes
        if priced.change.kind == _KINDS[-1] and priced.gain is not None and price.cost is not None
        if priced.gain >= -_SLIGHT * price.cost
    ]
    return f"Nearly free: {'; '.join(free)}." if free else ""


def _figure(price: Price, cost: float) -> str:
    return percentage(cost) if is_share(price.utility) else f"{cost:.4g}"


def _gone(price: Price, cost: float, *, whole: bool = True) -> str:
    if not whole:
        return _figure(price, cost)
    if price.utility == LOSS:
        return f"{_figure(price, cost)} of the detail would be gone"
    return f"{price.utility} would be {_figure(price, cost)}"


def _other_columns(priced: PricedChange) -> str:
    loss = priced.others
    if loss is None:
        return ""
    return f" (the other columns lose {loss.after:.0%} instead of {loss.before:.0%})"


def _title(price: Price) -> str:
    return f"What every promise costs: {price.label}, {_people(price)}"


def _people(price: Price) -> str:
    if price.people == price.everybody:
        return f"{price.people:,} people"
    return f"a sample of {price.people:,} of {price.everybody:,} people"


def _as_it_is(price: Price) -> str:
    if price.cost is None:
        return f"By the policy as it is there is no release: {price.reason}."
    meaning = "share of the detail that is gone" if price.utility == LOSS else price.about
    return (
        f"By the policy as it is: {price.utility} {_figure(price, price.cost)} ({meaning}), "
        f"{price.groups:,} group{'s' * (price.groups != 1)} (by {price.anonymizer})."
    )


# -- the document ----------------------------------------------------------------------------------

_MEANING = (
    "Every change was searched for as thoroughly as the policy as it is, with one seed. A cost was "
    "reached by a release that was made: the best there is costs at most that. Where the search of "
    "a stricter policy came lower, its release counts, which is one of the looser policy, too (at "
    "most). A column that is left out counts as lost entirely, so all costs are on one scale; what "
    "the other columns lose is told beside it."
)


def price_document(price: Price) -> Document:
    """All of it."""
    words = " ".join(filter(None, (price.words(), _free(price))))
    sections = [Section("What would help most", words, (_sheet(price),), _charts(price))]
    sections.append(Section("How to read it", "\n\n".join([_MEANING, *_noted(price)])))
    return Document(
        "price",
        _title(price),
        _as_it_is(price),
        tuple(sections),
        facts=price_facts(price),
        private=OF_TABLE,
        on_top=True,
    )


def price_section(report: Report) -> Section | None:
    """The price in a report, where it was worked out; its owner's alone."""
    price = None if report.evidence is None else report.evidence.price
    if price is None or report.audience == "public":
        return None
    summary = " ".join(filter(None, (_as_it_is(price), price.words(), _free(price))))
    words = [summary, *_noted(price), _MEANING]
    title = "What every promise costs"
    return Section(title, "\n\n".join(words), (_sheet(price),), _charts(price))


def _noted(price: Price) -> list[str]:
    return [f"{note[:1].upper()}{note[1:]}." for note in price.notes]


def _sheet(price: Price) -> Sheet:
    rows = tuple(
        (priced.change.subject, priced.change.words, *_rounded(price, priced), _remark(priced))
        for priced in price.changes
        if priced.status != "not_begun"
    )
    for remark, many in Counter(
        _remark(priced) for priced in price.changes if priced.status == "not_begun"
    ).items():
        subject, change = "all others" if rows else "all", f"{many:,} change{'s' * (many != 1)}"
        rows += ((subject, change, None, None, remark),)
    helpful = len(price.helpful) if price.cost is not None else 0
    return Sheet(
        ("promise or column", "change", price.utility, "gain", "remark"),
        rows,
        percent=(price.utility, "gain") if is_share(price.utility) else (),
        keys=2,
        remark="remark",
        starred=tuple(range(helpful)),
        star="gains something worth telling" if helpful else "",
    )


def _rounded(price: Price, priced: PricedChange) -> tuple[float | None, ...]:
    """Shares in tenths of a percent, as finely as they mean anything."""
    figures = (priced.cost, priced.gain)
    if not is_share(price.utility):
        return figures
    return tuple(None if figure is None else round(figure, 3) for figure in figures)


def _remark(priced: PricedChange) -> str:
    if priced.status != "priced":
        words = _STATUS_WORDS[priced.status]
        return f"{words}: {priced.reason}" if priced.reason else words
    rest = priced.others
    remarks = ["at most"] if priced.at_most else []
    remarks += [] if rest is None else [f"the others {rest.before:.0%} → {rest.after:.0%}"]
    return "; ".join(remarks)


def _charts(price: Price) -> tuple[Chart, ...]:
    """Bars by gain, a row each; a kind of change has a colour and a pattern of its own."""
    figure = {id(bar): bar.cost if price.cost is None else bar.gain for bar in price.changes}
    drawn = [bar for bar in price.changes if figure[id(bar)] is not None][:_DRAWN]
    if not drawn:
        return ()
    series = []
    for kind in dict.fromkeys(bar.change.kind for bar in drawn):
        of_kind = [bar for bar in drawn if bar.change.kind == kind]
        series.append(
            Series(
                kind,
                [figure[id(bar)] for bar in of_kind],
                [f"{bar.change.subject}: {bar.change.words}" for bar in of_kind],
                text=[f"{bar.change.sentence}, {_gone(price, bar.cost or 0.0)}" for bar in of_kind],
            )
        )
    measured = "cost" if price.cost is None else "gain"
    points = ", percentage points" if is_share(price.utility) else ""
    chart = Chart(
        "What each change would buy",
        "bars",
        f"{measured} in {price.utility}{points}",
        "",
        tuple(series),
        alt=f"{price.words()} All figures are in the table.",
        percent="x" if is_share(price.utility) else "",
        name="price",
        ticks=tuple(f"{bar.change.subject}: {bar.change.words}" for bar in drawn),
    )
    return (chart,)


def price_facts(price: Price) -> dict[str, object]:
    """The figures for programs."""
    names = ("label", "people", "everybody", "utility", "anonymizer", "seconds", "seed")
    facts = {name: getattr(price, name) for name in (*names, "cost", "groups", "reason", "notes")}
    return facts | {"words": price.words(), "changes": [_fact(priced) for priced in price.changes]}


def _fact(priced: PricedChange) -> dict[str, object]:
    change = priced.change
    criterion = None if isinstance(change, WithoutColumn | WithoutLimits) else change.criterion
    return {
        "kind": change.kind,
        "criterion": None if criterion is None else criterion.name,
        "about": None if criterion is None else criterion.sensitive,
        "required": None if criterion is None else criterion.required,
        "becomes": change.step.criterion.required if isinstance(change, OtherBound) else None,
        "column": change.column if isinstance(change, WithoutColumn | WithoutLimits) else None,
        "change": change.words,
        **{name: getattr(priced, name) for name in ("status", "cost", "gain", "groups", "at_most")},
        "other_columns": None
        if priced.others is None
        else {"before": priced.others.before, "after": priced.others.after},
        "reason": priced.reason,
    }


def in_order(changes: Sequence[PricedChange]) -> tuple[PricedChange, ...]:
    """What helps most first."""
    return tuple(sorted(changes, key=lambda priced: priced.rank))
