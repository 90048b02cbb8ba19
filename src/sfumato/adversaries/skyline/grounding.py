"""The worst grounding of a point (l, k, m): whom and what she would have to know (Chen, LeFevre,
Ramakrishnan: Privacy Skyline, VLDB 2007).

The most revealing facts are all about one group, or about two: her target's, and another one with
the family. Which, follows from where the odds are least (see `kernel.py`):

    own      target, known people and family are of one group
    family   the target alone in his group; the known people and the family in another
    target   the target and the known people in one group; the family in another

About the target: the most frequent other values; with whole lists those that leave the fewest lists
or, where finding them takes too long, the best that were found, and then what she believes is told
as an upper bound (`at_most`). Single values: known people have values that are neither the target
value nor among those l, so that what is left for the target shrinks. Several values: known people
lack the target value. Where fewer people or values than (l, k, m) settle it, the grounding names
only those.

Private: whom of the table it speaks of (`grounding_people`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

from sfumato.adversaries.skyline.breach import (
    AIDED,
    BARE,
    CASE_WORDS,
    KIN,
    KIN_AIDED,
    OWN,
    Case,
    case_of,
    check_point,
    code_of,
    factor_bounds,
    groups_of,
    minima_bounds,
    odds,
)
from sfumato.errors import InputError, name_some
from sfumato.numbers import Floats
from sfumato.release.groups import Groups
from sfumato.release.made import Placement
from sfumato.release.release import Release
from sfumato.schema.region import text_of

_TIE = 1 + 1e-12  # of equally revealing groundings the simplest is told: one group


@dataclass(frozen=True)
class Grounding:
    """Which facts make her surest that her target has `value`.

    `target`, `known` and `family` are groups (None: nobody is needed, or the value is absent);
    `facts` the values she knows about her target; `known_values` how many of the known people have
    which value (single values only); `people` and `members` how many of the known people and of
    the family it takes. `at_most`: she is no surer than `confidence`, and perhaps less sure.
    """

    value: str
    point: tuple[int, int, int]
    case: Case
    confidence: float
    target: int | None = None
    facts: tuple[str, ...] = ()
    known: int | None = None
    people: int = 0
    known_values: tuple[tuple[str, int], ...] = ()
    family: int | None = None
    members: int = 0
    at_most: bool = False

    def to_dict(self) -> dict[str, object]:
        """The grounding for JSON."""
        return {**asdict(self), "case": CASE_WORDS[self.case], "sentence": self.sentence}

    @property
    def sentence(self) -> str:
        """All of it in plain words."""
        if self.target is None:
            return (
                f"Nobody in the release has {self.value!r}, so nothing makes anybody surer of it."
            )
        learnt = [part for part in (self._about_target(), self._about_others()) if part]
        if self.members:
            who = "one of the family" if self.members == 1 else f"any of {self.members:,} relatives"
            learnt.append(f"that the target has it if {who} {self._at(self.family)} has")
        knows = _joined(learnt) if learnt else "nothing but the release"
        return (
            f"Looking for {self.value!r}, somebody whose target is in group {self.target} and who "
            f"knows {knows} is {'at most ' * self.at_most}{_surely(self.confidence)} that the "
            "target has it."
        )

    def _at(self, group: int | None) -> str:
        return "there" if group == self.target else f"in group {group}"

    def _about_target(self) -> str:
        if not self.facts:
            return ""
        several = len(self.facts) > 1
        listed = name_some(self.facts, 10)
        if self.case == "single":
            return f"that the target has {f'none of {listed}' if several else f'not {listed}'}"
        return f"that the target has it if he has {'any of ' if several else ''}{listed}"

    def _about_others(self) -> str:
        if not self.people:
            return ""
        where, alone = self._at(self.known), self.people == 1
        if self.case != "single":
            return f"{'one other' if alone else f'{self.people:,} others'} {where} without it"
        listed = ", ".join(f"{n:,} with {value!r}" for value, n in self.known_values[:10])
        more = len(self.known_values) - 10
        rest = f" and {more} more values" if more > 0 else ""
        who = "value of one other" if alone else f"values of {self.people:,} others"
        return f"the {who} {where} ({listed}{rest})"


def worst_grounding(
    groups: Groups | Release,
    value: str,
    l: int,  # noqa: E741  # the paper's name
    k: int,
    m: int,
    case: Case | None = None,
    *,
    sensitive: str | None = None,
) -> Grounding:
    """The facts that make somebody who knows (l, k, m) surest that a target has `value`."""
    judged = groups_of(groups, sensitive)
    given, point = case_of(judged, case), check_point((l, k, m))
    return ground(judged, code_of(judged, value), point, given)


def ground(groups: Groups, target: int, point: tuple[int, int, int], case: Case) -> Grounding:
    """The worst grounding of a value by its code."""
    value = groups.values[target]
    bounds = minima_bounds(groups, [target], [point], case)
    least = bounds.least[0]
    against = float(odds(least))
    if np.isinf(against):
        return Grounding(value, point, case, 0.0)
    where = _where(groups, target, point, case, least)
    apart = float(least[BARE] * least[KIN_AIDED])
    beside = float(least[AIDED] * least[KIN])
    if least[OWN] <= min(apart, beside) * _TIE:
        his = known = family = where[OWN]
    elif apart <= beside:
        his, known, family = where[BARE], where[KIN_AIDED], where[KIN_AIDED]
    else:
        his, known, family = where[AIDED], where[AIDED], where[KIN]
    grounding = _tell(groups, target, point, case, 1 / (1 + against), his, known, family)
    return replace(grounding, at_most=bool(bounds.at_most[0]))


def _surely(confidence: float) -> str:
    if confidence == 1:
        return "certain"
    percent = f"{100 * confidence:.3g}%"
    return f"{'over 99.9%' if percent == '100%' else percent} sure"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _where(
    groups: Groups, target: int, point: tuple[int, int, int], case: Case, least: Floats
) -> list[int]:
    """The first group that attains the minimum of each factor."""
    places = [-1] * 5
    for start, stop in groups.blocks():
        block = factor_bounds(groups, [target], [point], case, start, stop).least[:, 0]
        for factor in range(5):
            here = np.flatnonzero(block[:, factor] <= least[factor])
            if places[factor] < 0 and len(here):
                places[factor] = start + int(here[0])
    return places


def _tell(
    groups: Groups,
    target: int,
    point: tuple[int, int, int],
    case: Case,
    confidence: float,
    his: int,
    known: int,
    family: int,
) -> Grounding:
    most, k, m = point
    value = groups.values[target]
    facts = _facts(groups, his, target, most, case)
    people = min(k, _without(groups, known, value, facts if known == his else (), case))
    # Somebody of the group must be the target, if it is his; known people are not the family.
    room = int(groups.sizes[family]) - int(family == his) - (people if known == family else 0)
    own = factor_bounds(groups, [target], [point], case, his, his + 1).least
    settled = own[0, 0, AIDED] == 0.0
    members = 0 if settled and known == his else min(m, room)
    values: tuple[tuple[str, int], ...] = ()
    if case == "single":
        values = _values(groups, known, {value, *(facts if known == his else ())}, people)
    return Grounding(
        value,
        point,
        case,
        confidence,
        his,
        facts,
        known if people else None,
        people,
        values,
        family if members else None,
        members,
    )


def _facts(groups: Groups, group: int, target: int, most: int, case: Case) -> tuple[str, ...]:
    """The other values of a group that tell most about somebody in it."""
    if case == "lists":
        from sfumato.adversaries.skyline.whole_lists import MOST_LOOKS, stored, telling_values

        codes = telling_values(stored(groups), group, target, most, MOST_LOOKS)
        return tuple(groups.values[code] for code in codes)
    others = groups.counts_of(group)
    del others[groups.values[target]]
    ranked = sorted(others, key=lambda one: (-others[one], groups.values.index(one)))
    return tuple(ranked[:most])


def _having(groups: Groups, group: int, value: str, case: Case) -> int:
    """How many people of a group have a value; of multisets in a bag, how often it occurs."""
    if case != "lists":
        return groups.counts_of(group).get(value, 0)
    from sfumato.adversaries.skyline.whole_lists import MOST_LOOKS, spared_lists, stored

    some, none = np.array([group]), np.zeros(0, dtype=np.int64)
    code = groups.values.index(value)
    return int(spared_lists(stored(groups), some, code, none, MOST_LOOKS)[0][0, 1])


def _without(groups: Groups, group: int, value: str, facts: tuple[str, ...], case: Case) -> int:
    """How many people of a group can be known to lack the value and what is known of the target."""
    counts, size = groups.counts_of(group), int(groups.sizes[group])
    if case == "single":
        return size - sum(counts.get(one, 0) for one in {value, *facts})
    if case == "multiset":
        return size - 1
    return max(size - _having(groups, group, value, case), 0)


def _values(groups: Groups, group: int, but: set[str], people: int) -> tuple[tuple[str, int], ...]:
    """Values of so many people of a group, the most frequent first."""
    left = {one: n for one, n in groups.counts_of(group).items() if one not in but}
    listed: list[tuple[str, int]] = []
    for value in sorted(left, key=lambda one: (-left[one], groups.values.index(one))):
        taken = min(left[value], people - sum(n for _, n in listed))
        if taken:
            listed.append((value, taken))
    return tuple(listed)


# Private: the people of the table whom a worst grounding speaks of.
#
# Of everybody in the groups in question some fit the part: a target who really has the value,
# others whose values are those to be known, and whoever else is there for the family. People with
# equal quasi-identifiers and values are told as one record with their number. Rows never leave the
# data owner's hands: this is for private reports only.


@dataclass(frozen=True)
class GroundedPeople:
    """So many people of the table, by their part in the grounding, with all their values."""

    part: str
    people: int
    group: int
    quasi: dict[str, str]
    values: tuple[str, ...]


def people_behind(
    release: Release, grounding: Grounding, sensitive: str | None = None
) -> list[GroundedPeople]:
    """Records of people who would play the parts of a grounding, the target first."""
    if release.placement is None:
        raise InputError(
            "who the people of a group are is only known of a release made here, from its table"
        )
    if grounding.target is None:
        return []
    placement = release.placement.in_memory("naming people of a group")
    place = 0 if sensitive is None else placement.counts.attribute(sensitive)
    cast = _Cast(placement, place)
    own, value = grounding.target, grounding.value
    cast.give("target", own, 1, having=value)
    if grounding.known is not None and grounding.case == "single":
        for known, number in grounding.known_values:
            cast.give("known", grounding.known, number, having=known)
    elif grounding.known is not None:
        cast.give("known", grounding.known, grounding.people, lacking=value)
    if grounding.family is not None:
        cast.give("family", grounding.family, grounding.members)
    return cast.records


class _Cast:
    """Gives out parts to people of the table, nobody two."""

    def __init__(self, placement: Placement, attribute: int) -> None:
        self.records: list[GroundedPeople] = []
        self._placement, self._left = placement, placement.n.copy()
        self._described = placement.counts.sensitive[attribute]
        self._codes = placement.counts.values[attribute]

    def give(self, part: str, group: int, number: int, having: str = "", lacking: str = "") -> None:
        """A part for so many people of a group who have, or lack, a value; fewer if there are."""
        placement = self._placement
        for at in np.flatnonzero((placement.groups == group) & (self._left > 0)).tolist():
            if number == 0:
                return
            values = self._values(int(placement.tuples[at]))
            if (having and having not in values) or (lacking and lacking in values):
                continue
            people = min(number, int(self._left[at]))
            number -= people
            self._left[at] -= people
            quasi = self._quasi(int(placement.tuples[at]))
            self.records.append(GroundedPeople(part, people, group, quasi, values))

    def _values(self, number: int) -> tuple[str, ...]:
        code, sets = int(self._codes[number]), self._described.sets
        held = [code] if sets is None else sets.members[sets.offsets[code] : sets.offsets[code + 1]]
        return tuple(self._described.domain.labels[code] for code in held)

    def _quasi(self, number: int) -> dict[str, str]:
        counts = self._placement.counts
        return {
            domain.name: text_of(domain.values[code])
            for domain, code in zip(counts.quasi, counts.codes[:, number], strict=True)
        }
