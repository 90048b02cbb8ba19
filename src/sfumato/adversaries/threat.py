"""Threat: one row of the report's threat matrix, the one result every adversary shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Threat:
    """What one adversary knows, what she would learn, about how many people, and how surely.

    `worst` is her strongest belief (or None when not measured); `covered` names the criteria of
    the policy that bound her; `status` says whether this was measured at all, and if not, why not
    is in `learns`.
    """

    adversary: str
    knows: str
    learns: str
    people: int | None
    worst: float | None
    covered: tuple[str, ...] = ()
    status: Literal["measured", "not_measured", "not_applicable", "not_converged"] = "measured"
