"""Take this one: a point of a comparison, or a way that `best` tried, as a policy to publish by.

A point is named by the file that tells of it and its number, `map.json#7`. It stands for the policy
with what the point changed, its anonymizer and its seed: the release made by that is the one that
was measured, unless the clock ended the search (deal and best have one: give them sweeps). Whoever
publishes it must have the table and the policy of the file, which their fingerprints tell.

Comparing needs no such file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, PolicyError, expect, other_than_file, quoted
from sfumato.policy.model import Policy
from sfumato.policy.toml import anonymizer_of
from sfumato.report.comparison import (
    RISKS,
    Comparison,
    Figures,
    Outcome,
    SweptValue,
    TakenFrom,
    position,
)
from sfumato.report.risk_map import pareto_front
from sfumato.table import Table
from sfumato.workflow.compare import SweepPoint, plan_sweep

_MADE_BY = "sfumato compare --save, or run.json in the private/ of a release by best"


@dataclass(frozen=True)
class ChosenPoint:
    """A point by its number: the policy and the seed that make its release."""

    number: int
    policy: Policy
    seed: int


@dataclass(frozen=True)
class PointFile:
    """A file that tells of points, and the one that is meant."""

    path: Path
    number: int
    content: Mapping[str, Any]

    @classmethod
    def read(cls, named: str) -> PointFile:
        """From `map.json#7`; every mistake of the name and the file is told."""
        name, sign, number = named.rpartition("#")
        if not sign or not name or not re.fullmatch("[0-9]{1,9}", number):
            raise InputError(
                f"{quoted(named)} names no point; write FILE#POINT, such as map.json#7"
            )
        path = Path(name)
        try:
            if problem := other_than_file(path):
                raise InputError(f"{name} {problem}")
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"{name} does not exist; it is made by {_MADE_BY}") from None
        except (OSError, ValueError, RecursionError):
            content = None
        if not isinstance(content, dict) or not _tells_points(content):
            raise InputError(f"{name} tells of no points; it is made by {_MADE_BY}")
        return cls(path, int(number), content)

    def point(self, table: Table, policy: Policy) -> ChosenPoint:
        """What the point stands for, of the table and the policy that the file was made of."""
        expect("table", table, Table, "a Table, as sf.read makes one")
        expect("policy", policy, Policy, "a Policy")
        made_of, points = self.content["made_of"], self.content["points"]
        for subject, fingerprint in (("table", table.fingerprint), ("policy", policy.fingerprint)):
            if made_of.get(subject) != fingerprint:
                raise InputError(
                    f"{self.path} was made of another {subject}; give the one it was made of, or "
                    "compare again"
                )
        if not 1 <= self.number <= len(points):
            raise InputError(
                f"{self.path} has points 1 to {len(points)}, not {self.number}; the table that was "
                "shown when it was made tells which is which"
            )
        chosen = self._policy(policy, points[self.number - 1])
        return ChosenPoint(self.number, chosen, self.content["seed"])

    def taken(self, table: Table, policy: Policy) -> TakenFrom:
        """The comparison that the file tells of, for the page of what is taken from it."""
        try:
            outcomes = [
                _outcome(number, point, policy, table.counts.memberships)
                for number, point in enumerate(self.content["points"], start=1)
            ]
            swept = "sweep" in self.content
            axes = self.content["axes"] if swept else _axes(outcomes)
            places = [position(outcome, axes["risk"], axes["cost"]) for outcome in outcomes]
            comparison = Comparison(
                table.source.label,
                table.counts.memberships,
                _sweep(self.content["sweep"]) if swept else {"anonymizer": ()},
                tuple(
                    replace(outcome, pareto=front)
                    for outcome, front in zip(outcomes, pareto_front(places), strict=True)
                ),
                axes["risk"],
                axes["cost"],
                {},
            )
            if axes["risk"] not in RISKS:
                raise KeyError(axes["risk"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(
                f"{self.path}: what its points risk and cost cannot be read; it is of another "
                "version, or the file was changed; compare again"
            ) from None
        return TakenFrom(self.path.name, self.number, comparison)

    def _policy(self, policy: Policy, point: Mapping[str, Any]) -> Policy:
        try:
            if "settings" in point:
                planned = plan_sweep(policy, _sweep(self.content["sweep"]))
                swept = planned.points[self.number - 1]
                if len(planned.points) != len(self.content["points"]) or not _is_point(
                    swept, point
                ):
                    raise InputError(
                        f"{self.path}: point {self.number} is not what its sweep makes of it, so "
                        "the file was changed; compare again"
                    )
                return swept.policy
            named = anonymizer_of(point["anonymizer"])
        except (PolicyError, IndexError, KeyError, TypeError, AttributeError) as error:
            why = f": {error}" if isinstance(error, PolicyError) else ""
            raise InputError(
                f"{self.path}: point {self.number} cannot be read from it{why}; in Python "
                "`comparison.outcomes` has its policy"
            ) from None
        return replace(policy, anonymizer=named)


def _outcome(number: int, point: Mapping[str, Any], policy: Policy, people: int) -> Outcome:
    """What a file tells of a point, of a comparison or of a way that `best` tried."""
    settings = {name: _number(value) for name, value in point.get("settings", {}).items()}
    figures = None
    if point["groups"] is not None:
        suppressed = int(point["suppressed"])
        figures = Figures(
            int(point["groups"]),
            people - suppressed,
            suppressed,
            {name: _measured(point["risks"].get(name)) for name in RISKS},
            {
                name: math.nan if cost is None else float(_number(cost))
                for name, cost in point["costs"].items()
            },
            point.get("verdict", "holds"),
        )
    return Outcome(
        settings or {"anonymizer": point["name"]},
        point["anonymizer"] if settings else point["name"].partition(" (")[0],
        policy,
        figures,
        point.get("status", "not_possible"),
        point.get("reason", "") if settings else point["why"],
        number=number,
    )


def _measured(risk: Any) -> float | None:
    return None if risk is None else float(_number(risk))


def _axes(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Of ways that best tried: all are measured alike."""
    costs = [outcome.figures.costs for outcome in outcomes if outcome.figures is not None]
    return {"risk": "mean", "cost": next(iter(costs[0]))}


def _is_point(swept: SweepPoint, point: Mapping[str, Any]) -> bool:
    """Whether a point that is told is the one that was swept."""
    settings = {name: _number(value) for name, value in point["settings"].items()}
    return settings == swept.settings and point["anonymizer"] == swept.anonymizer.name


def _sweep(swept: Mapping[str, Any]) -> dict[str, tuple[SweptValue, ...]]:
    """As it was swept."""
    return {name: tuple(_number(value) for value in values) for name, values in swept.items()}


def _number(value: Any) -> Any:
    """JSON has no number for infinity."""
    return math.inf if value == "inf" else value


def _tells_points(content: Mapping[str, Any]) -> bool:
    known = isinstance(content.get("made_of"), dict) and isinstance(content.get("seed"), int)
    points = content.get("points")
    return known and isinstance(points, list) and all(isinstance(point, dict) for point in points)


def point(named: str, table: Table, policy: Policy) -> ChosenPoint:
    """The point that `map.json#7` names, for `sf.anonymize(table, point.policy, seed=point.seed)`.

    `table` and `policy` are those that were compared.
    """
    expect("named", named, str, "a text such as 'map.json#7'")
    return PointFile.read(named).point(table, policy)
