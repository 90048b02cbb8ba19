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
Status = Literal["priced", "no_safe_release", "not_possible", "not_begun", "no_step"]
LOSS = "loss"
_SLIGHT = 0.03  # of what the policy costs: a smaller gain is not told as one
_DRAWN = 30  # bars of the picture
_TOLD: dict[Status, str] = {
    "priced": "",
    "no_safe_release": "no safe release",
    "not_possible": "not possible",
    "not_begun": "not begun",
    "no_step": "no step",
}


# -- changes ---------------------------------------------------------------------------------------


def promises(require: Sequence[Criterion]) -> list[str]:
    """Each criterion with the column it is about; of several alike it is the n-th."""
    named = [f"{one.name} of {one.sensitive}" if one.sensitive else one.name for one in require]
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
    status: Status
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
            return (list(_TOLD).index(self.status), 0.0, kind)
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
            return tuple(one for one in self.changes if one.cost is not None)
        least = _SLIGHT * self.cost
        return tuple(one for one in self.changes if one.gain is not None and one.gain > least)

    @property
    def not_begun(self) -> int:
        return sum(one.status == "not_begun" for one in self.changes)

    def words(self) -> str:
        """What would help most, in a sentence or two."""
        return price_words(self)

    def document(self) -> Document:
        """The picture, the table and what they mean, for the page and for JSON."""
        return price_document(self)

    def brief(self) -> Document:
        """The table alone, for a terminal."""
        told = {"As it is": _as_it_is(self), "Mind": "; ".join(self.notes)}
        told |= {"Nearly free": _free(self).removeprefix("Nearly free: "), "Next": self.words()}
        sheet = _sheet(self)
        gist = Gist(told, replace(sheet, remark=""))
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
        write_text(target, text, force=force, what="price")

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
    for one in price.helpful:
        best.setdefault(one.change.kind, one)
    told = []
    for at, one in enumerate(best.values()):
        assert one.cost is not None
        gone = _gone(price, one.cost, whole=not at)
        if not at and price.cost is not None:
            gone += f" instead of {_figure(price, price.cost)}"
        told.append(f"{one.change.sentence}, {gone}{_others(one)}")
    many, more = price.not_begun, ""
    if many:
        changes = "1 change was" if many == 1 else f"{many} changes were"
        more = f" ({changes} not tried in {price.seconds:g} seconds: give more, or fewer people)"
    if not told:
        tried = any(one.cost is not None for one in price.changes)
        none = "No single change helps" if tried else "Which change would help was not found out"
        return f"{none}{more}."
    start = "What would help most" if price.cost is not None else "A release there would be"
    return f"{start}: {'; '.join(told)}{more}."


def _free(price: Price) -> str:
    """What could be promised besides at next to no cost."""
    free = [
        one.change.sentence
        for one in price.changes
        if one.change.kind == _KINDS[-1] and one.gain is not None and price.cost is not None
        if one.gain >= -_SLIGHT * price.cost
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


def _others(one: PricedChange) -> str:
    if one.others is None:
        return ""
    return f" (the other columns lose {one.others.after:.0%} instead of {one.others.before:.0%})"


def _title(price: Price) -> str:
    return f"What every promise costs: {price.label}, {_people(price)}"


def _people(price: Price) -> str:
    if price.people == price.everybody:
        return f"{price.people:,} people"
    return f"a sample of {price.people:,} of {price.everybody:,} people"


def _as_it_is(price: Price) -> str:
    if price.cost is None:
        return f"By the policy as it is there is no release: {price.reason}."
    what = "share of the detail that is gone" if price.utility == LOSS else price.about
    return (
        f"By the policy as it is: {price.utility} {_figure(price, price.cost)} ({what}), "
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
    told = " ".join(filter(None, (_as_it_is(price), price.words(), _free(price))))
    words = [told, *_noted(price), _MEANING]
    title = "What every promise costs"
    return Section(title, "\n\n".join(words), (_sheet(price),), _charts(price))


def _noted(price: Price) -> list[str]:
    return [f"{note[:1].upper()}{note[1:]}." for note in price.notes]


def _sheet(price: Price) -> Sheet:
    rows = tuple(
        (one.change.subject, one.change.words, *_rounded(price, one), _remark(one))
        for one in price.changes
        if one.status != "not_begun"
    )
    for remark, many in Counter(
        _remark(one) for one in price.changes if one.status == "not_begun"
    ).items():
        rows += (
            (
                "all others" if rows else "all",
                f"{many:,} change{'s' * (many != 1)}",
                None,
                None,
                remark,
            ),
        )
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


def _rounded(price: Price, one: PricedChange) -> tuple[float | None, ...]:
    """Shares in tenths of a percent, as finely as they mean anything."""
    figures = (one.cost, one.gain)
    if not is_share(price.utility):
        return figures
    return tuple(None if figure is None else round(figure, 3) for figure in figures)


def _remark(one: PricedChange) -> str:
    if one.status != "priced":
        return f"{_TOLD[one.status]}: {one.reason}" if one.reason else _TOLD[one.status]
    others = one.others
    told = ["at most"] if one.at_most else []
    told += [] if others is None else [f"the others {others.before:.0%} → {others.after:.0%}"]
    return "; ".join(told)


def _charts(price: Price) -> tuple[Chart, ...]:
    """Bars by gain, a row each; a kind of change has a colour and a pattern of its own."""
    figure = {id(one): one.cost if price.cost is None else one.gain for one in price.changes}
    drawn = [one for one in price.changes if figure[id(one)] is not None][:_DRAWN]
    if not drawn:
        return ()
    series = []
    for kind in dict.fromkeys(one.change.kind for one in drawn):
        mine = [one for one in drawn if one.change.kind == kind]
        series.append(
            Series(
                kind,
                [figure[id(one)] for one in mine],
                [f"{one.change.subject}: {one.change.words}" for one in mine],
                text=[f"{one.change.sentence}, {_gone(price, one.cost or 0.0)}" for one in mine],
            )
        )
    what = "cost" if price.cost is None else "gain"
    points = ", percentage points" if is_share(price.utility) else ""
    chart = Chart(
        "What each change would buy",
        "bars",
        f"{what} in {price.utility}{points}",
        "",
        tuple(series),
        alt=f"{price.words()} All figures are in the table.",
        percent="x" if is_share(price.utility) else "",
        name="price",
        ticks=tuple(f"{one.change.subject}: {one.change.words}" for one in drawn),
    )
    return (chart,)


def price_facts(price: Price) -> dict[str, object]:
    """The figures for programs."""
    names = ("label", "people", "everybody", "utility", "anonymizer", "seconds", "seed")
    told = {name: getattr(price, name) for name in (*names, "cost", "groups", "reason", "notes")}
    return told | {"words": price.words(), "changes": [_fact(one) for one in price.changes]}


def _fact(one: PricedChange) -> dict[str, object]:
    change = one.change
    criterion = None if isinstance(change, WithoutColumn | WithoutLimits) else change.criterion
    return {
        "kind": change.kind,
        "criterion": None if criterion is None else criterion.name,
        "about": None if criterion is None else criterion.sensitive,
        "required": None if criterion is None else criterion.required,
        "becomes": change.step.criterion.required if isinstance(change, OtherBound) else None,
        "column": change.column if isinstance(change, WithoutColumn | WithoutLimits) else None,
        "change": change.words,
        **{name: getattr(one, name) for name in ("status", "cost", "gain", "groups", "at_most")},
        "other_columns": None
        if one.others is None
        else {"before": one.others.before, "after": one.others.after},
        "reason": one.reason,
    }


def in_order(changes: Sequence[PricedChange]) -> tuple[PricedChange, ...]:
    """What helps most first."""
    return tuple(sorted(changes, key=lambda one: one.rank))
