"""A draft is tried: what would be left of the data, and what each promise and column costs.

A policy that nobody can pay leads nowhere: whoever drafts one learns within seconds how much of the
detail would be gone, and where that is much what the questions of the draft are worth. Figures are
of some of the people and short searches, so they are told as what is lost at most.

Stands apart: `sfumato init` asks for it; to draft a policy takes no search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.anonymizers.base import Anonymizer
from sfumato.anonymizers.best import FEW
from sfumato.errors import SfumatoError
from sfumato.policy.draft.draft import Draft
from sfumato.policy.model import Policy
from sfumato.report.price import Price, PricedChange, WithoutColumn
from sfumato.table import Table
from sfumato.utility.view import view_of
from sfumato.workflow.anonymize import anonymize
from sfumato.workflow.price import brief_maker, price
from sfumato.workflow.smaller_tables import sample_of

PEOPLE = 1_000  # of whom a release is made
PRICED = 400  # of whom, where much is lost, one is made without each promise and column
MUCH = 0.25  # of the detail gone: where it is more, the way out is priced
_FIRST = 0.4  # of the time is for the release by the draft as it is
_MOST_WAYS = 5  # of the changes that help


@dataclass(frozen=True)
class Trial:
    """The loss of a release by the draft, None with a `reason` where there is none.

    `price`: what would help, where much is lost.
    """

    draft: Draft
    people: int = 0
    loss: float | None = None
    groups: int = 0
    price: Price | None = None
    reason: str = ""

    @property
    def words(self) -> str:
        """What would be left of the data, in a sentence."""
        if self.loss is None:
            return f"What it would leave of the data was not found out: {self.reason}."
        stage = self.draft.stage
        part = stage is not None and (
            self.people < stage.people or stage.source.rows < self.draft.rows
        )
        of_all = f" of {self.draft.rows:,} rows; all of them usually lose less" if part else ""
        return (
            f"At most {self.loss:.0%} of the detail would be gone "
            f"({self.groups:,} group{'s' * (self.groups != 1)}; tried briefly on {self.people:,} "
            f"people{of_all})."
        )

    @property
    def helpful(self) -> tuple[PricedChange, ...]:
        """What would help most, where much is lost."""
        return () if self.price is None else self.price.helpful

    @property
    def questions(self) -> list[str]:
        """Those of the draft with their price, after one that tells what would help most."""
        questions = [self._priced(question) for question in self.draft.questions]
        if self.price is None:
            return questions
        asked = "What can you do without?"
        if self.helpful and self.price.cost is not None:
            ways = "; ".join(_words(change) for change in self.helpful[:_MOST_WAYS])
            late = self.price.not_begun
            more = f" ({late} more were not priced: give more --seconds)" if late else ""
            questions.insert(
                0,
                f"{asked} By short searches of {self.price.people:,} people, loss instead of "
                f"{self.price.cost:.2f}: {ways}{more}",
            )
        elif self.price.not_begun:
            priced = any(change.cost is not None for change in self.price.changes)
            unpriced = "all of it" if priced else "it"
            questions.insert(
                0, f"{asked} There was no time to price {unpriced}: give more --seconds"
            )
        return questions

    def _priced(self, question: str) -> str:
        """A question about columns, with what leaving each out would save."""
        named = question.partition(": ")[0].split(", ")
        for priced in self.helpful:
            change = priced.change
            if isinstance(change, WithoutColumn) and f'"{change.column}"' in named:
                assert self.price is not None
                question += f" ({_words(priced)} instead of {self.price.cost:.2f})"
        return question

    def to_dict(self) -> dict[str, object]:
        """For programs."""
        return {
            "words": self.words,
            "loss": self.loss,
            "groups": self.groups,
            "people": self.people,
            "rows": self.draft.rows,
            "reason": self.reason,
            "short_search": None if self.price is None else self.price.cost,
            "without": [
                {"change": priced.change.sentence, "loss": priced.cost} for priced in self.helpful
            ],
            "not_begun": 0 if self.price is None else self.price.not_begun,
        }


def _words(priced: PricedChange) -> str:
    return f"{priced.change.sentence} {priced.cost:.2f}"


def _brief(policy: Policy, sample: Table, seconds: float) -> Anonymizer:
    """The quick search by which all that is said of a draft is found; its own where none does.

    Few people are not dealt, as `best` does not deal them.
    """
    own = policy.maker.within(seconds)
    keeps = sample.schema.rows == "gathered" or not own.briefly().refuses_rows()
    return brief_maker(own, sample) if keeps and sample.people >= FEW else own


def try_draft(draft: Draft, seconds: float) -> Trial:
    """Make releases by a draft of some of its people, within about so many seconds."""
    if draft.stage is None:
        return Trial(draft, reason="no release could be made of the rows it was tried on")
    policy = draft.policy
    sample = sample_of(draft.stage, PEOPLE, seed=0)
    try:
        brief = replace(policy, anonymizer=_brief(policy, sample, _FIRST * seconds))
        release = anonymize(sample, brief, seed=0)
        loss = policy.measure(sample).cost(view_of(release))
        trial = Trial(draft, sample.people, loss, len(release.groups))
        if loss <= MUCH:
            return trial
        left = (1 - _FIRST) * seconds
        return replace(
            trial, price=price(sample, policy, seconds=left, people=PRICED, bounds=False)
        )
    except SfumatoError as error:
        return Trial(draft, sample.people, reason=str(error).rstrip("."))
