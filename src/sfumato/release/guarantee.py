"""Guarantee: what a randomised release promises, whatever its table was and whoever reads it.

(epsilon, delta)-differential privacy: on two tables that are neighbours, no set of outcomes is more
than e^epsilon times likelier, plus delta. Which tables are neighbours is half of the promise.
"replace-one": one person's record is exchanged for any other, the number of people is the same.
"add-remove": one person is there or not. A replacement is a removal and an addition, so a promise
by add-remove is one by replace-one of twice the epsilon; the reverse does not follow.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from sfumato.errors import InputError

Relation = Literal["replace-one", "add-remove"]
PrivacyUnit = Literal["person", "row"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
UNITS: tuple[PrivacyUnit, ...] = get_args(PrivacyUnit)
_GAUSSIAN, _LAPLACE = 1.959964, math.log(20)  # deviations, and scales, that 95% lie within


@dataclass(frozen=True)
class PrivacyLoss:
    """What one relation of neighbours promises; `rho` is the same as zero-concentrated privacy."""

    epsilon: float
    delta: float
    rho: float | None = None

    def __str__(self) -> str:
        delta = f", delta {self.delta:g}" if self.delta else ""
        return f"epsilon {self.epsilon:g}{delta}"


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy by `neighbours`, and how it was brought about.

    `other`: the figures by the other relation; None where nothing is promised by it, as when the
    number of people is published exactly. `scale` is that of the noise. `unit`: what one neighbour
    differs in, a "person" (the table names them) or a "row" that is taken for one.
    """

    epsilon: float
    delta: float
    mechanism: str
    neighbours: Relation = "replace-one"
    rho: float | None = None
    other: PrivacyLoss | None = None
    scale: float | None = None
    unit: PrivacyUnit = "row"

    def __post_init__(self) -> None:
        _check(PrivacyLoss(self.epsilon, self.delta, self.rho))
        if self.other is not None:
            _check(self.other)
        if self.scale is not None and not _is_number(self.scale, above=0):
            raise InputError(
                f"guarantee: scale = {self.scale!r} is not allowed; it must be a number above 0"
            )
        if not isinstance(self.mechanism, str):
            raise InputError(
                f"guarantee: mechanism = {self.mechanism!r} is not allowed; it must be a name"
            )
        for name, allowed in (("neighbours", RELATIONS), ("unit", UNITS)):
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"guarantee: {name} = {getattr(self, name)!r} is not known; "
                    f"allowed: {', '.join(allowed)}"
                )

    @property
    def reach(self) -> float | None:
        """How far noise moves one count at most, about, 19 times in 20; None where that is unknown.

        Noise of whole numbers reaches about as far as that of fractions.
        """
        if self.scale is None:
            return None
        return self.scale * (_GAUSSIAN if self.mechanism == "gaussian" else _LAPLACE)

    def under(self, relation: Relation) -> PrivacyLoss | None:
        """What is promised by a relation of neighbours; None if nothing is."""
        if relation == self.neighbours:
            return PrivacyLoss(self.epsilon, self.delta, self.rho)
        if self.other is not None or relation == "add-remove":
            return self.other
        # Two steps of add-remove: group privacy for two.
        delta = self.delta * (1 + math.exp(min(self.epsilon, 700)))
        rho = None if self.rho is None else 4 * self.rho
        return PrivacyLoss(2 * self.epsilon, min(delta, 1.0), rho)

    def public(self) -> dict[str, object]:
        """As a manifest tells it; `read` gives it back."""
        fields_ = asdict(self)
        return {name: value for name, value in fields_.items() if value is not None}

    @classmethod
    def read(cls, content: object) -> Guarantee:
        """What a manifest tells, checked: a promise that cannot be read is none."""
        try:
            given = dict(content)  # type: ignore[call-overload]
            other_loss = given.pop("other", None)
            return cls(**given, other=None if other_loss is None else PrivacyLoss(**other_loss))
        except (TypeError, ValueError):
            raise InputError("the guarantee in the manifest cannot be read; restore it") from None

    def __str__(self) -> str:
        own = PrivacyLoss(self.epsilon, self.delta)
        (relation,) = (name for name in RELATIONS if name != self.neighbours)
        other_loss = "nothing" if self.under(relation) is None else str(self.under(relation))
        scale = "" if self.scale is None else f" of scale {self.scale:.4g}"
        return (
            f"{own} by {self.neighbours} of a {self.unit} ({other_loss} by {relation}), "
            f"{self.mechanism} noise{scale}"
        )


def _is_number(value: object, above: float | None = None) -> bool:
    """Whether it is a finite number, not negative, or above a bound."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return value >= 0 if above is None else value > above


def _check(loss: PrivacyLoss) -> None:
    for name, value, most in (
        ("epsilon", loss.epsilon, math.inf),
        ("delta", loss.delta, 1),
        ("rho", loss.rho or 0, math.inf),
    ):
        if not _is_number(value) or value > most:
            raise InputError(
                f"guarantee: {name} = {value!r} is not allowed; it must be a number, 0 or more"
                + (", at most 1" if most == 1 else "")
            )
