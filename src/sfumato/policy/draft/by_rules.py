"""A draft by a rule set: which columns it leaves at home, how far others go at least, which bounds.

What a rule set asks of a draft, beside what columns and numbers suggest.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from sfumato.errors import PolicyError, did_you_mean, expect, quoted
from sfumato.policy.draft.bounds import EPSILON, DraftedBound, Fit, K, bounds
from sfumato.policy.draft.guess import RoleGuess, is_foreign_date
from sfumato.policy.draft.profile import Profile
from sfumato.policy.draft.words import subjects_of
from sfumato.policy.rules import RULE_SETS
from sfumato.policy.rules.base import NO_ADVICE, RuleSet
from sfumato.policy.rules.conventions import PublicFile, RiskThreshold, StatisticsOffice
from sfumato.policy.rules.safe_harbor import OLDEST, SafeHarbor, is_part_of_date, is_small_place
from sfumato.policy.toml_text import toml_value
from sfumato.schema.calendar import Dates
from sfumato.schema.recipes import Intervals, Zip3
from sfumato.table import real_path


def rules_named(given: str | RuleSet | None, zip_population: str | Path | None) -> RuleSet | None:
    """The rule set of that name; `zip_population` is Safe Harbor's."""
    rules = given if isinstance(given, RuleSet) else None
    if rules is None and given is not None:
        if not isinstance(given, str) or given not in RULE_SETS:
            hint = did_you_mean(given, RULE_SETS)
            raise PolicyError(f"profile: {quoted(given)} is not known; {hint}")
        rules = RULE_SETS[given]()
    if zip_population is None:
        return rules
    if not isinstance(rules, SafeHarbor):
        raise PolicyError(f"zip_population is about ZIP codes by {SafeHarbor.name}; leave it out")
    expect("zip_population", zip_population, (str, Path), "the name of a CSV file")
    return replace(rules, zip_population=real_path(zip_population))


_UNBOUNDED = (
    "a person has several of its values, and no criterion drafted here bounds what outsiders learn "
    "of those"
)


@dataclass(frozen=True)
class DraftRules:
    """What a rule set, if there is one, asks of a draft."""

    rules: RuleSet | None = None

    def withheld(self, column: Profile) -> str:
        """Why a column stays at home; empty if it does not."""
        if isinstance(self.rules, PublicFile) and column.kind == "list":
            return _UNBOUNDED
        if not isinstance(self.rules, SafeHarbor):
            return ""
        topic = column.topic.name if column.topic else ""
        if topic == "zip code" and not self.rules.people:
            return (
                "without a table of people by ZIP code (--zip-population) every three digits count "
                "as too few of them"
            )
        if topic != "zip code" and is_small_place(column.name):
            return "a place smaller than a state, 45 CFR 164.514(b)(2)(i)(B)"
        foreign = column.kind == "text" and is_foreign_date(column.texts)
        if foreign or is_part_of_date(column.name):
            return "finer than a year, 45 CFR 164.514(b)(2)(i)(C)"
        return ""

    def withhold(self, guesses: dict[str, RoleGuess]) -> None:
        """Take away the roles of columns that stay at home; what is told in part is coarsened."""
        for name, guess in guesses.items():
            if guess.role not in ("known", "candidate", "sensitive"):
                continue
            if why := self.withheld(guess.profile):
                guesses[name] = replace(guess, role="none", why=why, question="")
            elif guess.role == "sensitive" and self._in_part(guess.profile):
                why = "an age or a date, told in part only, 45 CFR 164.514(b)(2)(i)(C)"
                guesses[name] = replace(guess, role="known", why=why, question="")

    def withhold_several(self, guesses: dict[str, RoleGuess], differing: Collection[str]) -> None:
        """The same of columns of which a person has several values, told on several rows."""
        for name in differing if isinstance(self.rules, PublicFile) else ():
            if guesses[name].role == "sensitive":
                guesses[name] = replace(guesses[name], role="none", why=_UNBOUNDED, question="")

    def _in_part(self, column: Profile) -> bool:
        """Whether a column may be published by its year, or with the oldest together, only."""
        aged = column.kind == "numeric" and bool(subjects_of(column.name) & {"age", "birth"})
        return isinstance(self.rules, SafeHarbor) and (aged or column.kind == "date")

    def fit(self, column: Profile, fit: Fit) -> Fit:
        """How a quasi-identifier is coarsened, at least as far as the rules ask."""
        if not isinstance(self.rules, SafeHarbor):
            return fit
        topic, about = column.topic.name if column.topic else "", subjects_of(column.name)
        last = self.rules.as_of - OLDEST + 1  # who was born before it is 90 or older
        if topic == "zip code":
            seen = sorted({text[:3] for text in map(str, column.values)})
            populous = tuple(digits for digits in seen if self.rules.populous(digits))
            why = "three digits where more than 20,000 people live, else 000"
            return Fit(Zip3(populous), why, "categorical", finest=1)
        if column.kind == "date":
            born = last if "birth" in about else None
            return Fit(Dates(("year", "decade"), bottom=born), "its year, then decade", finest=1)
        if column.kind == "numeric" and "age" in about:
            return Fit(Intervals((5, 10, 20, 40), top=OLDEST), "90 and over together", finest=1)
        if column.kind == "numeric" and "birth" in about:
            return Fit(Intervals((5, 10, 20), bottom=last), "the oldest together", finest=1)
        return fit

    def bounds(
        self,
        sensitive: dict[str, tuple[RoleGuess, Fit]],
        several: frozenset[str],
        rows: int,
        *,
        unlinked: bool,
    ) -> list[DraftedBound]:
        """The criteria of the draft: the usual ones, with the k of the rules and what they add."""
        listed = bounds(sensitive, several, unlinked=unlinked, k=self._k)
        if isinstance(self.rules, PublicFile):
            listed += [
                _outside(name, rows)
                for name, (guess, _) in sensitive.items()
                if name not in several and guess.profile.kind != "list"
            ]
        return listed

    @property
    def _k(self) -> int:
        match self.rules:
            case RiskThreshold(threshold=threshold, risk="maximum"):
                return max(2, math.ceil(1 / threshold - 1e-9))
            case StatisticsOffice(k=k) | PublicFile(k=k):
                return k
            case _:
                return K

    def lines(self) -> list[str]:
        """The table `[profile]` of the policy, without comments."""
        if self.rules is None:
            return []
        keys = {f.name: getattr(self.rules, f.name) for f in fields(self.rules)}  # type: ignore[arg-type]
        return [
            "[profile]",
            f"kind = {toml_value(self.rules.name)}",
            *(
                f"{key} = {toml_value(str(value) if isinstance(value, Path) else value)}"
                for key, value in keys.items()
                if value is not None
            ),
        ]

    @property
    def words(self) -> str:
        """What stands above it."""
        assert self.rules is not None
        words = (
            f"Rule set ({self.rules.source}): `sfumato audit` tells paragraph by paragraph whether "
            f"a file is as it asks. {NO_ADVICE}"
        )
        if isinstance(self.rules, SafeHarbor):
            words += (
                " no_actual_knowledge = true is your own statement of (ii); until you make it the "
                "audit says that it could not be judged."
            )
        return words


NO_RULES = DraftRules()


def _outside(name: str, rows: int) -> DraftedBound:
    """That nobody with statistics as large as the table moves far in what she believes."""
    adversary: Mapping[str, object] = {"shape": "table", "stubbornness": max(rows, 1)}
    why = (
        f"Somebody with outside statistics as large as this table: her belief in a value of "
        f"{toml_value(name)} moves by a factor epsilon at most (docs/papers/realistic.md)."
    )
    keys = {"kind": "epsilon-privacy", "epsilon": EPSILON, "sensitive": name}
    return DraftedBound({**keys, "adversary": adversary}, why)
