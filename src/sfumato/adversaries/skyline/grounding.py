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

Private: whom of the table it speaks of (`people_behind`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import pyarrow as pa

from sfumato.adversaries.skyline.breach import (
    AIDED,
    BARE,
    CASE_WORDS,
    KIN,
    KIN_AIDED,
    OWN,
    AnyCase,
    SkylineForm,
    case_of,
    check_point,
    code_of,
    factor_bounds,
    groups_of,
    minima_bounds,
    odds,
)
from sfumato.adversaries.skyline.unlinked_rows import judged_rows
from sfumato.counts.counts import Counts
from sfumato.errors import InputError, expect, name_some
from sfumato.numbers import Floats, Ints
from sfumato.release.groups import Groups
from sfumato.release.made import Placement
from sfumato.release.release import Release
from sfumato.release.write.cells import rows_and_tuples
from sfumato.schema.region import MISSING, codes_inside, text_of
from sfumato.table import Table

_TIE = 1 + 1e-12  # of equally revealing groundings the simplest is told: one group


@dataclass(frozen=True)
class Grounding:
    """Which facts make her surest that her target has `value`.

    `target`, `known` and `family` are groups (None: nobody is needed, or the value is absent; of
    rows one by one the target's alone), which `names` calls by what they publish; `facts` are the
    values she knows about her target; `known_values` how many of the known people have which value
    (single values only); `people` and `members` how many of the known people and of the family it
    takes. `at_most`: she is no surer than `confidence`, and perhaps less sure.
    """

    value: str
    point: tuple[int, int, int]
    case: SkylineForm
    confidence: float
    target: int | None = None
    facts: tuple[str, ...] = ()
    known: int | None = None
    people: int = 0
    known_values: tuple[tuple[str, int], ...] = ()
    family: int | None = None
    members: int = 0
    at_most: bool = False
    names: Mapping[int, str] = field(default_factory=dict, compare=False)

    def to_dict(self) -> dict[str, object]:
        """The grounding for JSON; groups by their names."""
        content = asdict(self) | {"case": CASE_WORDS[self.case], "sentence": self.sentence}
        del content["names"]
        parts = {"target": self.target, "known": self.known, "family": self.family}
        return content | {
            part: None if group is None else self.names.get(group, f"group {group}")
            for part, group in parts.items()
        }

    @property
    def sentence(self) -> str:
        """All of it in plain words, groups by their names."""
        return self.in_words(
            lambda group: (
                f"the group {self.names[group]}" if group in self.names else f"group {group}"
            )
        )

    def in_words(self, name: Callable[[int], str]) -> str:
        """All of it in plain words; `name` says how a group is called."""
        if self.target is None:
            return (
                f"Nobody in the release has {self.value!r}, so nothing makes anybody surer of it."
            )
        if self.case == "rows":
            sure = f"{'at most ' * self.at_most}{_surely(self.confidence)}"
            target = f"whose target has a row in {name(self.target)}"
            return f"Who knows {self.point}, {target}, is {sure} that one says {self.value!r}."
        where = {
            group: "there" if group == self.target else f"in {name(group)}"
            for group in (self.known, self.family)
            if group is not None
        }
        learnt = [part for part in (self._about_target(), self._about_others(where)) if part]
        if self.family is not None:
            kin = "one of the family" if self.members == 1 else f"any of {self.members:,} relatives"
            learnt.append(f"that the target has it if {kin} {where[self.family]} has")
        knows = _joined(learnt) if learnt else "nothing but the release"
        return (
            f"Looking for {self.value!r}, somebody whose target is in {name(self.target)} and who "
            f"knows {knows} is {'at most ' * self.at_most}{_surely(self.confidence)} that the "
            "target has it."
        )

    def _about_target(self) -> str:
        if not self.facts:
            return ""
        several = len(self.facts) > 1
        listed = name_some(self.facts, 10)
        if self.case == "single":
            return f"that the target has {f'none of {listed}' if several else f'not {listed}'}"
        return f"that the target has it if he has {'any of ' if several else ''}{listed}"

    def _about_others(self, places: Mapping[int, str]) -> str:
        if self.known is None:
            return ""
        where, alone = places[self.known], self.people == 1
        if self.case != "single":
            return f"{'one other' if alone else f'{self.people:,} others'} {where} without it"
        listed = ", ".join(f"{n:,} with {value!r}" for value, n in self.known_values[:10])
        more = len(self.known_values) - 10
        rest = f" and {more} more values" if more > 0 else ""
        values = "value of one other" if alone else f"values of {self.people:,} others"
        return f"the {values} {where} ({listed}{rest})"


def worst_grounding(
    groups: Groups | Release,
    value: str,
    l: int,  # noqa: E741  # the paper's name
    k: int,
    m: int,
    case: AnyCase | None = None,
    *,
    sensitive: str | None = None,
) -> Grounding:
    """The facts that make somebody who knows (l, k, m) surest that a target has `value`."""
    judged = groups_of(groups, sensitive)
    code, point = code_of(judged, value), check_point((l, k, m))
    if isinstance(groups, Release) and judged.beside.unlinked is not None:
        certainty, exact = judged_rows(groups, judged, case).ask(code, point)
        surest = float(certainty.max(initial=0.0))
        target = int(certainty.argmax()) if surest else None
        grounding = Grounding(value, point, "rows", surest, target, at_most=not exact)
    else:
        grounding = ground(judged, code, point, case_of(judged, case))
    concerned = {grounding.target, grounding.known, grounding.family}
    if (described := groups.regions) is None:
        return grounding
    return replace(grounding, names={g: described.name(g) for g in concerned if g is not None})


def ground(groups: Groups, target: int, point: tuple[int, int, int], case: AnyCase) -> Grounding:
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
        own_group = known = family = where[OWN]
    elif apart <= beside:
        own_group, known, family = where[BARE], where[KIN_AIDED], where[KIN_AIDED]
    else:
        own_group, known, family = where[AIDED], where[AIDED], where[KIN]
    grounding = _tell(groups, target, point, case, 1 / (1 + against), own_group, known, family)
    return replace(grounding, at_most=bool(bounds.at_most[0]))


def _surely(confidence: float) -> str:
    if confidence == 1:
        return "certain"
    percent = f"{100 * confidence:.3g}%"
    return f"{'over 99.9%' if percent == '100%' else percent} sure"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _where(
    groups: Groups, target: int, point: tuple[int, int, int], case: AnyCase, least: Floats
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
    case: AnyCase,
    confidence: float,
    own_group: int,
    known: int,
    family: int,
) -> Grounding:
    most, k, m = point
    value = groups.values[target]
    facts = _facts(groups, own_group, target, most, case)
    people = min(k, _without(groups, known, value, facts if known == own_group else (), case))
    # Somebody of the group must be the target, if it is his; known people are not the family.
    room = int(groups.sizes[family]) - int(family == own_group) - (people if known == family else 0)
    own = factor_bounds(groups, [target], [point], case, own_group, own_group + 1).least
    settled = own[0, 0, AIDED] == 0.0
    members = 0 if settled and known == own_group else min(m, room)
    values: tuple[tuple[str, int], ...] = ()
    if case == "single":
        values = _values(groups, known, {value, *(facts if known == own_group else ())}, people)
    return Grounding(
        value,
        point,
        case,
        confidence,
        own_group,
        facts,
        known if people else None,
        people,
        values,
        family if members else None,
        members,
    )


def _facts(groups: Groups, group: int, target: int, most: int, case: AnyCase) -> tuple[str, ...]:
    """The other values of a group that tell most about somebody in it."""
    if case == "lists":
        from sfumato.adversaries.skyline.whole_lists import MOST_LOOKS, stored, telling_values

        codes = telling_values(stored(groups), group, target, most, MOST_LOOKS)
        return tuple(groups.values[code] for code in codes)
    others = groups.counts_of(group)
    del others[groups.values[target]]
    ranked = sorted(others, key=lambda label: (-others[label], groups.values.index(label)))
    return tuple(ranked[:most])


def _having(groups: Groups, group: int, value: str, case: AnyCase) -> int:
    """How many people of a group have a value; of multisets in a bag, how often it occurs."""
    if case != "lists":
        return groups.counts_of(group).get(value, 0)
    from sfumato.adversaries.skyline.whole_lists import MOST_LOOKS, spared_lists, stored

    only_group, none = np.array([group]), np.zeros(0, dtype=np.int64)
    code = groups.values.index(value)
    return int(spared_lists(stored(groups), only_group, code, none, MOST_LOOKS)[0][0, 1])


def _without(groups: Groups, group: int, value: str, facts: tuple[str, ...], case: AnyCase) -> int:
    """How many people of a group can be known to lack the value and what is known of the target."""
    counts, size = groups.counts_of(group), int(groups.sizes[group])
    if case == "single":
        return size - sum(counts.get(fact, 0) for fact in {value, *facts})
    if case == "multiset":
        return size - 1
    return max(size - _having(groups, group, value, case), 0)


def _values(groups: Groups, group: int, but: set[str], people: int) -> tuple[tuple[str, int], ...]:
    """Values of so many people of a group, the most frequent first."""
    left = {label: n for label, n in groups.counts_of(group).items() if label not in but}
    listed: list[tuple[str, int]] = []
    for value in sorted(left, key=lambda label: (-left[label], groups.values.index(label))):
        taken = min(left[value], people - sum(n for _, n in listed))
        if taken:
            listed.append((value, taken))
    return tuple(listed)


# Private: the people of the table whom a worst grounding speaks of.
#
# Of everybody in the groups in question some fit the part: a target who really has the value,
# others whose values are those to be known, and whoever else is there for the family. People with
# equal quasi-identifiers and values are told together, with the numbers of their records. Of a
# release that was read, the table tells who fits a group, and the owner's files who of them is
# there, where they were kept. Rows never leave the data owner's hands: this is for private reports
# only.


@dataclass(frozen=True)
class GroundedPeople:
    """So many people of the table, by their part in the grounding, with all their values.

    `group` is its name; `records` are the numbers of their rows, 1 being the first, where a row is
    a person. Not `sure`: they fit the group, and may be in another one that they fit as well.
    """

    part: str
    people: int
    group: str
    quasi: dict[str, str]
    values: tuple[str, ...]
    records: tuple[int, ...] = ()
    sure: bool = True


def people_behind(
    release: Release,
    grounding: Grounding,
    sensitive: str | None = None,
    table: Table | None = None,
) -> list[GroundedPeople]:
    """Records of people who would play the parts of a grounding, the target first.

    `table` is the one the release was made of; a release just made knows it.
    """
    expect("release", release, Release, "a Release")
    expect("grounding", grounding, Grounding, "a Grounding, as sf.worst_grounding makes one")
    expect("table", table, (Table, type(None)), "a Table, as sf.read makes one")
    placement = None
    if release.placement is not None and table in (None, release.placement.table):
        placement = release.placement.in_memory("naming people of a group")
        table = placement.table
    if table is None:
        raise InputError(
            "who the people of a group are is known by the table alone that the release was made "
            "of; give it (table=, --table)"
        )
    if grounding.target is None:
        return []
    if grounding.case == "rows":
        raise InputError("rows are published one by one: whose a worst case is about is not told")
    cast = _Cast(release, table, sensitive, placement)
    own, value = grounding.target, grounding.value
    cast.give("target", own, 1, having=value)
    if grounding.known is not None and grounding.case == "single":
        for known, number in grounding.known_values:
            cast.give("known", grounding.known, number, having=known)
    elif grounding.known is not None:
        cast.give("known", grounding.known, grounding.people, lacking=value)
    if grounding.family is not None:
        cast.give("family", grounding.family, grounding.members)
    return cast.parts


class _Cast:
    """Gives out parts to people of the table, nobody two."""

    def __init__(
        self, release: Release, table: Table, sensitive: str | None, placement: Placement | None
    ) -> None:
        self.parts: list[GroundedPeople] = []
        self._release, self._placement = release, placement
        self._counts = table.counts.in_memory("naming people of a group")
        attribute = 0 if sensitive is None else self._counts.attribute(sensitive)
        self._described = self._counts.sensitive[attribute]
        self._codes = self._counts.values[attribute]
        self._left = self._counts.n.copy()
        self._rows: Ints | None = None
        # Rows of a second table, and several of one person, are nobody's own.
        if table.schema.person is None and table.schema.count is None:
            self._rows = rows_and_tuples(table, in_order=True)[1]

    def give(self, part: str, group: int, number: int, having: str = "", lacking: str = "") -> None:
        """A part for so many people of a group who have, or lack, a value; fewer if there are."""
        for at, most, sure in self._members(group):
            values = self._values(at)
            people = min(number, most, int(self._left[at]))
            if (having and having not in values) or (lacking and lacking in values) or not people:
                continue
            records: tuple[int, ...] = ()
            if self._rows is not None:
                taken = int(self._counts.n[at] - self._left[at])
                rows = np.flatnonzero(self._rows == at)[taken : taken + people]
                records = tuple((rows + 1).tolist())
            number -= people
            self._left[at] -= people
            name = self._release.regions.name(group)
            quasi = self._quasi(at)
            self.parts.append(GroundedPeople(part, people, name, quasi, values, records, sure))

    def _members(self, group: int) -> list[tuple[int, int, bool]]:
        """Tuples of the table that are in a group, how many people of each; those surely first."""
        placed, counts = self._placement, self._counts
        if placed is not None:
            here = np.flatnonzero(placed.groups == group)
            return [(int(placed.tuples[i]), int(placed.n[i]), True) for i in here]
        fits = _fitting(self._release, counts, group)
        if sum(int(counts.n[at]) for at, _ in fits) < self._release.groups.sizes[group]:
            raise InputError(
                "the table does not have the people of the release: fewer than a group has fit it; "
                "give the table it was made of"
            )
        ordered = sorted(fits, key=lambda fit: not fit[1])
        return [(at, int(counts.n[at]), sure) for at, sure in ordered]

    def _values(self, number: int) -> tuple[str, ...]:
        code, sets = int(self._codes[number]), self._described.sets
        own = [code] if sets is None else sets.members[sets.offsets[code] : sets.offsets[code + 1]]
        return tuple(self._described.domain.labels[code] for code in own)

    def _quasi(self, number: int) -> dict[str, str]:
        columns = [domain.name for domain in self._counts.quasi]
        return dict(zip(columns, _texts(self._counts, columns, number), strict=True))


def _fitting(release: Release, counts: Counts, group: int) -> list[tuple[int, bool]]:
    """Tuples of a table whose people fit a group of a release, and whether they are surely there.

    Nobody fits another group where groups are apart; where it is known who is in them, people are
    surely there if all of their quasi-identifiers are.
    """
    columns = [domain.name for domain in counts.quasi]
    inside, described = release.inside(), release.regions
    if inside is None:
        regions = described.require_regions()
        if described.centroids:
            raise InputError(
                "the people of a group of a microaggregated release are not those near its "
                "centroid; ask of the release as it is made (Python), or read a folder whose "
                "private/ tells them: it does where a criterion of the policy needs them"
            )
        fits = np.ones(len(counts), dtype=bool)
        for name, parts, codes in zip(regions.columns, regions.parts, regions.codes, strict=True):
            at = columns.index(name)
            ((_, meant),) = codes_inside(parts, codes[[group]], counts.quasi[at])
            fits &= np.isin(counts.codes[at], np.asarray(meant, dtype=np.int64))
        return [(int(at), release.disjoint) for at in np.flatnonzero(fits)]
    members = slice(int(inside.indptr[group]), int(inside.indptr[group + 1]))
    there: Counter[tuple[str, ...]] = Counter()
    for at, n in zip(inside.tuples[members].tolist(), inside.n[members].tolist(), strict=True):
        there[_texts(inside.counts, columns, at)] += n
    everybody: Counter[tuple[str, ...]] = Counter()
    likely = np.ones(len(counts), dtype=bool)
    for place, (domain, codes) in enumerate(zip(counts.quasi, counts.codes, strict=True)):
        published = {texts[place] for texts in there}
        known = {domain.code(None if text == MISSING else text) for text in published}
        likely &= np.isin(codes, [code for code in known if code is not None])
    listed = [(at, _texts(counts, columns, at)) for at in np.flatnonzero(likely).tolist()]
    for at, texts in listed:
        everybody[texts] += int(counts.n[at])
    return [(at, there[texts] >= everybody[texts]) for at, texts in listed if texts in there]


def _texts(counts: Counts, columns: Sequence[str], at: int) -> tuple[str, ...]:
    """The quasi-identifiers of a tuple."""
    known = {
        domain.name: text_of(domain.values[code])
        for domain, code in zip(counts.quasi, counts.codes[:, at], strict=True)
    }
    return tuple(known[name] for name in columns)


def people_table(groundings: Sequence[tuple[Grounding, Sequence[GroundedPeople]]]) -> pa.Table:
    """Who would play the parts, with all that is known of them: for the owner's file."""
    return pa.Table.from_pylist(
        [
            {
                "value": grounding.value,
                "point": ",".join(map(str, grounding.point)),
                "part": person.part,
                "sure": person.sure,
                "people": person.people,
                "records": list(person.records),
                "group": person.group,
                "quasi": json.dumps(person.quasi, ensure_ascii=False),
                "values": list(person.values),
            }
            for grounding, people in groundings
            for person in people
        ]
    )
