"""Composition, print beside ours: the two hospitals, and what the paper says of its figures.

Its percentages are not at hand, so of figures it is what is said of their shapes that is judged.

Stands apart: what is printed and how it is judged; the paper beside it makes the tables and charts.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise, product
from math import exp, expm1, isclose, sqrt

import pyarrow as pa

from sfumato.adversaries.composition.attack import intersection_attack
from sfumato.adversaries.randomised import semantic_privacy
from sfumato.papers.composition_attacks import (
    BOTH_MICRO,
    BOTH_MONDRIAN,
    CLOSE,
    DIVERSE,
    PAIRS,
    IntersectionTrial,
    TrialSurvey,
)
from sfumato.papers.evidence import EvidenceRow, beside, claimed, unprinted
from sfumato.release.guarantee import PrivacyLoss
from sfumato.release.read.read_release import read_release
from sfumato.release.release import Release
from sfumato.schema.roles import Schema

WELL_ABOVE = 1.5  # times k: what "well above" is taken to mean
FAR_BELOW = 0.5  # of it: what "far below" is taken to mean
_PERCENTAGES = "the paper's percentages are not at hand"

# Table 1: in both, zip codes are masked and nationalities are not told.
_FIRST = {
    "<30": ("AIDS", "Heart", "Viral", "Viral"),
    ">=40": ("Cancer", "Heart", "Viral", "Viral"),
    "[30, 40)": ("Cancer",) * 4,
}
_SECOND = {
    "<35": ("AIDS", "TB", "TB", "Flu", "Cancer", "Cancer"),
    ">=35": ("Cancer", "Cancer", "Cancer", "TB", "Viral", "Viral"),
}


def worked() -> list[EvidenceRow]:
    """Alice, of whom her employer knows age and zip code; what differential privacy promises."""
    hospitals = [_hospital(_FIRST), _hospital(_SECOND)]
    attack = intersection_attack(hospitals, [{"age": 28, "zip": "13012"}])
    (alice,) = attack.targets.to_pylist()
    rows = [
        beside("Table 1, k of the first hospital", "4", min(hospitals[0].groups.sizes)),
        beside("Table 1, k of the second", "6", min(hospitals[1].groups.sizes)),
        claimed(
            "Table 1, what is left for Alice (28, 13012)",
            "AIDS alone",
            alice["values"] == ["AIDS"],
            f"{', '.join(alice['values'])}: from {alice['before'][0]} and {alice['before'][1]} "
            f"values to {alice['after']}",
        ),
    ]
    for age in (32, 37, 45):
        attack = intersection_attack(hospitals, [{"age": age, "zip": "13012"}])
        (person,) = attack.targets.to_pylist()
        left = f"{', '.join(person['values'])}: from {person['before'][0]} and "
        left += f"{person['before'][1]} values to {person['after']}"
        rows.append(
            unprinted(f"Table 1, what is left at {age}", left, "the paper tells of Alice only")
        )
    for epsilon in (0.1, 0.5):
        loose, tight = semantic_privacy(PrivacyLoss(epsilon, 0.0)).bounds
        rows.append(
            beside(
                f"Semantic privacy of {epsilon:g}-differential privacy",
                f"e^{epsilon:g} - 1",
                loose.distance,
                value=expm1(epsilon),
            )
        )
        rows.append(
            unprinted(
                f"The same, tight: tanh({epsilon:g} / 2)",
                f"{tight.distance:.4f}",
                "the paper has the looser bound only",
            )
        )
    return [*rows, *_theorem_1(), *_one_record()]


BitTable = tuple[int, ...]
ToyMechanism = dict[BitTable, dict[object, float]]  # of each table, how likely it shows what


def _theorem_1() -> list[EvidenceRow]:
    """(epsilon, delta): the bound, and two people's answers that are told as they are at times."""
    epsilon, delta, people = 0.05, 1e-12, 1000
    named = f"({epsilon:g}, {delta:g})-differential privacy of {people:,} people"
    paper, anybody, each_person = semantic_privacy(PrivacyLoss(epsilon, delta), people).bounds
    assert paper.failing is not None
    moved = expm1(3 * epsilon) + 2 * sqrt(delta)
    rows = [
        beside(
            f"Theorem 1, {named}: posteriors",
            f"e^{3 * epsilon:g} - 1 + 2 sqrt({delta:g})",
            paper.distance,
            value=moved,
        ),
        claimed(
            "The same, how often it may fail",
            "O(n sqrt(delta))",
            paper.failing == 4 * people * sqrt(delta),
            f"{paper.failing:g}: 4 n sqrt(delta), the constant of the authors' later version",
        ),
        unprinted(
            "The same, tight",
            f"{anybody}, about anybody of them; {each_person}, about each",
            "the paper has the looser bound only",
        ),
    ]
    truthful, lying = 1e-4, 1 / (1 + exp(epsilon))
    answers: ToyMechanism = {}
    for table in product((0, 1), repeat=2):
        answers[table] = {("as they are", table): truthful}
        for answered in product((0, 1), repeat=2):
            lies = sum(answer != bit for answer, bit in zip(answered, table, strict=True))
            answers[table][answered] = (1 - truthful) * lying**lies * (1 - lying) ** (2 - lies)
    bound, most = expm1(3 * epsilon) + 2 * sqrt(truthful), 4 * 2 * sqrt(truthful)
    games = _games(answers)
    failing = sum(chance for chance, distance in games if distance > bound)
    farthest = max(distance for _, distance in games if distance <= bound)
    rows.append(
        claimed(
            "Theorem 1 counted out: two randomised answers, told as they are 1 time in 10,000",
            "posteriors are near each other, but for O(n sqrt(delta)) of what is shown",
            failing <= most,
            f"({epsilon:g}, {truthful:g}): {farthest:.4f} apart (bound {bound:.4f}), but for a "
            f"probability of {failing:.2g} (bound {most:.2g})",
        )
    )
    return rows


def _one_record() -> list[EvidenceRow]:
    """Nearness in total variation is no privacy: one person's record, drawn at random, is shown."""
    people = 8
    shows: ToyMechanism = {
        table: dict.fromkeys(enumerate(table), 1 / people)
        for table in product((0, 1), repeat=people)
    }
    apart = max(
        sum(
            abs(shows[table].get(outcome, 0.0) - shows[other].get(outcome, 0.0))
            for outcome in shows[table] | shows[other]
        )
        / 2
        for table in shows
        for other in (_replaced(table, person, 1) for person in range(people))
    )
    games = _games(shows)
    exposed = sum(chance for chance, distance in games if distance >= 0.5)
    item = f"One record of {people}, drawn at random and shown"
    return [
        beside(f"{item}: total variation of neighbours", "1/n", apart, value=1 / people),
        claimed(
            f"{item}: privacy",
            "none: closeness in total variation does not do",
            isclose(exposed, 1),
            f"whatever is shown, of somebody she is certain whose bit was 1/2 to her "
            f"(posteriors {min(distance for _, distance in games):g} apart or more, "
            f"with probability {exposed:g})",
        ),
    ]


def _games(mechanism: ToyMechanism) -> list[tuple[float, float]]:
    """Of all that may be shown, how likely it is and how far it takes her beliefs of all tables,
    alike likely to her, from those of the game without somebody: of him for whom that is most."""
    tables = list(mechanism)
    games = []
    for outcome in {chance for chances in mechanism.values() for chance in chances}:
        seen = [mechanism[table].get(outcome, 0.0) for table in tables]
        distances = []
        for person in range(len(tables[0])):
            without = [mechanism[_replaced(table, person)].get(outcome, 0.0) for table in tables]
            if not sum(without):  # that game never shows it
                distances.append(1.0)
                continue
            pairs = zip(seen, without, strict=True)
            distances.append(sum(abs(a / sum(seen) - b / sum(without)) for a, b in pairs) / 2)
        games.append((sum(seen) / len(tables), max(distances)))
    return games


def _replaced(table: BitTable, person: int, bit: int = 0) -> BitTable:
    return (*table[:person], bit, *table[person + 1 :])


def _hospital(groups: Mapping[str, tuple[str, ...]]) -> Release:
    ages = [age for age, conditions in groups.items() for _ in conditions]
    conditions = [condition for listed in groups.values() for condition in listed]
    masked = {"zip": ["130**"] * len(ages), "nationality": ["*"] * len(ages)}
    rows = pa.table({"age": ages, **masked, "condition": conditions})
    return read_release(rows, Schema(quasi=["age", *masked], sensitive="condition"))


def judge_claims(surveyed: TrialSurvey, name: str) -> list[EvidenceRow]:
    """What the paper says of one table."""
    return [
        _falls(surveyed, name),
        *_percentages(surveyed, name),
        *_helps(surveyed, DIVERSE, "entropy l-diversity", name),
        *_helps(surveyed, CLOSE, "t-closeness", name),
        _above(surveyed, name),
        _effective(surveyed, name),
        _narrowed(surveyed, name),
        _larger(surveyed, name),
        _located(surveyed, name),
    ]


def compare_tables(surveys: dict[str, TrialSurvey]) -> list[EvidenceRow]:
    """What the paper says of its second table beside the first."""
    if len(surveys) < 2:
        return []
    (first, first_survey), (second, second_survey) = surveys.items()
    pairs = [
        (a, b)
        for pair in PAIRS
        for a, b in zip(first_survey.of(pair), second_survey.of(pair), strict=True)
        if a.breach or b.breach
    ]
    worse = sum(b.breach > a.breach for a, b in pairs)
    return [
        claimed(
            "Fig. 1, the two tables",
            "the second table is breached more",
            worse == len(pairs),
            f"{second} more than {first} in {worse} of {len(pairs)} pairs of releases",
            f"{second} stands in for IPUMS",
            data=f"{first}, {second}",
        )
    ]


def _percent(shares: list[float]) -> str:
    return ", ".join(f"{share:.1%}" for share in shares)


def _falls(surveyed: TrialSurvey, name: str) -> EvidenceRow:
    shares = {pair: [trial.breach for trial in surveyed.of(pair)] for pair in PAIRS}
    falling = all(later <= earlier for by_k in shares.values() for earlier, later in pairwise(by_k))
    at = ", ".join(str(trial.k) for trial in surveyed.of(BOTH_MONDRIAN))
    return claimed(
        "Fig. 1, perfect breach",
        "falls with k",
        falling and all(by_k[0] > by_k[-1] for by_k in shares.values()),
        f"k = {at}: {_percent(shares[BOTH_MONDRIAN])} ({BOTH_MONDRIAN}; the others alike)",
        "it rises somewhere",
        data=name,
    )


def _percentages(surveyed: TrialSurvey, name: str) -> list[EvidenceRow]:
    """Fig. 1 (a) to (d), at every third k."""
    rows = []
    for pair in PAIRS:
        chosen = surveyed.of(pair)[:: max(1, len(surveyed.of(pair)) // 3)]
        at = ", ".join(str(trial.k) for trial in chosen)
        for label, confidence in (("perfect", 1.0), ("partial (1/2)", 0.5)):
            shares = [trial.oracle.share_at(confidence) for trial in chosen]
            item = f"Fig. 1, {label} breach, {pair}, k = {at}"
            rows.append(unprinted(item, _percent(shares), _PERCENTAGES, data=name))
    return rows


def _helps(
    surveyed: TrialSurvey, bounds: tuple[str, ...], named: str, name: str
) -> list[EvidenceRow]:
    """Fewer people are known with a bound on top than without, but some are."""
    compared: list[tuple[IntersectionTrial, IntersectionTrial]] = [
        (bounded, plain)
        for bound in bounds
        for pair in PAIRS
        for bounded in surveyed.of(pair, bound)
        for plain in surveyed.of(pair)
        if plain.k == bounded.k
    ]
    fewer = sum(bounded.breach < plain.breach for bounded, plain in compared)
    more = sum(bounded.breach > plain.breach for bounded, plain in compared)
    breached = [bounded for bounded, _ in compared if bounded.breach]
    worst = max((bounded for bounded, _ in compared), key=lambda trial: trial.breach)
    narrowed = sum(bounded.oracle.vulnerable > 0 for bounded, _ in compared)
    return [
        claimed(
            f"Fig. 4, {named}",
            "helps",
            not more and fewer > 0,
            f"breaches fewer people in {fewer} of {len(compared)} pairs of releases, more in "
            f"{more}",
            data=name,
        ),
        claimed(
            f"Fig. 4, {named}",
            "does not prevent it",
            bool(breached),
            f"perfect breach in {len(breached)} of {len(compared)} pairs of releases, up to "
            f"{worst.breach:.1%} ({worst.bound}, {worst.pair}, k = {worst.k}); somebody is "
            f"narrowed down in {narrowed}",
            data=name,
        ),
    ]


def _above(surveyed: TrialSurvey, name: str) -> EvidenceRow:
    """Averaged over the people in both, as print says, with Mondrian alone, as its figure has."""
    times = {
        trial.k: min(trial.oracle.group_size) / trial.k for trial in surveyed.of(BOTH_MONDRIAN)
    }
    below = [str(k) for k, ratio in times.items() if ratio < WELL_ABOVE]
    return claimed(
        "Fig. 2, partition size",
        "well above k",
        not below,
        f"{min(times.values()):.2f} to {max(times.values()):.2f} times k, over the people in both; "
        f"{WELL_ABOVE} times is taken as well above",
        f"not at k = {', '.join(below)}",
        data=name,
    )


def _effective(surveyed: TrialSurvey, name: str) -> EvidenceRow:
    shares = [
        max(trial.oracle.before) / min(trial.oracle.group_size)
        for trial in surveyed.of(BOTH_MONDRIAN)
    ]
    return claimed(
        "Fig. 2, effective anonymity",
        "far below the partition size",
        max(shares) <= FAR_BELOW,
        f"values left by one release are {min(shares):.0%} to {max(shares):.0%} of the people of "
        f"the group; {FAR_BELOW:.0%} is taken as far below",
        "not for small k, where a group has not many more people than values",
        data=name,
    )


def _narrowed(surveyed: TrialSurvey, name: str) -> EvidenceRow:
    falls = {
        pair: [trial.oracle.after / trial.oracle.fewest_before for trial in surveyed.of(pair)]
        for pair in PAIRS
    }
    return claimed(
        "Fig. 3, drop",
        "intersecting leaves fewer values than the better release alone",
        all(share < 1 for ratios in falls.values() for share in ratios),
        "; ".join(
            f"{pair} {min(ratios):.0%} to {max(ratios):.0%}" for pair, ratios in falls.items()
        )
        + " of them are left",
        data=name,
    )


def _larger(surveyed: TrialSurvey, name: str) -> EvidenceRow:
    """k alone, then l, then t: the strictest of each."""
    sizes: dict[int, list[float]] = {}
    for bounds in (None, DIVERSE[-1:], CLOSE[-1:]):
        trials = (
            surveyed.of(BOTH_MONDRIAN) if bounds is None else surveyed.of(BOTH_MONDRIAN, bounds[0])
        )
        for trial in trials:
            sizes.setdefault(trial.k, []).append(min(trial.oracle.group_size))
    whole = {k: means for k, means in sizes.items() if len(means) == 3}
    unordered = [str(k) for k, means in whole.items() if any(b <= a for a, b in pairwise(means))]
    return claimed(
        "Fig. 4(c), partition sizes",
        "k-anonymity < l-diversity < t-closeness",
        not unordered,
        "; ".join(
            f"k = {k}: {', '.join(f'{size:.1f}' for size in means)}" for k, means in whole.items()
        ),
        f"not at k = {', '.join(unordered)}; which l and t is not printed, these are "
        f"{DIVERSE[-1]} and {CLOSE[-1]}",
        data=name,
    )


def _located(surveyed: TrialSurvey, name: str) -> EvidenceRow:
    shares = [
        share
        for trial in surveyed.of(BOTH_MICRO)
        if trial.nearest is not None
        for share in trial.nearest.correctly_located
        if share is not None
    ]
    return claimed(
        "Locating by the nearest centroid",
        "right about 70 % of the time (as it is remembered)",
        min(shares) <= 0.7 <= max(shares),
        f"{min(shares):.0%} to {max(shares):.0%}, the fewer the larger k",
        "at which k and by which distance is not at hand",
        data=name,
    )
