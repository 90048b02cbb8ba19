"""What the step Policy shows: the text as a form, what the current release says, and prices.

Tasks of a worker. A verdict here is what an audit would say of the same release: the same criterion
judges the same groups, and nothing else of an audit is run, so that a slider is answered at once.
Criteria that judge all groups together may take long; they are judged when somebody asks.

Stands apart: a worker has loaded the library for it, the server has not.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sfumato.criteria.base import Criterion, Verdict, judge
from sfumato.errors import PolicyError, SfumatoError, quoted
from sfumato.policy.model import Policy
from sfumato.release.read.read_release import table_as_published
from sfumato.release.release import Release
from sfumato.report.document import as_json, number
from sfumato.report.price import price_facts
from sfumato.report.risk_map import cost_text
from sfumato.table import Table
from sfumato.web.form_fields import (
    anonymizer_cards,
    criterion_cards,
    profile_cards,
    utility_choices,
)
from sfumato.web.kept_sections import kept, section_of
from sfumato.web.policy_text import read_form, with_criterion, with_fields, without_criterion
from sfumato.web.policy_view import (
    PRICE,
    TABLE,
    Card,
    CardPrice,
    Choices,
    LiveVerdict,
    PolicyView,
    PriceView,
    Story,
)
from sfumato.workflow.price import check_price, price

if TYPE_CHECKING:
    from sfumato.web.desk import Desk

NONE_YET = "There is no policy yet; choose a file and what its columns are at the step Data."
ON_REQUEST = "judged when asked: it looks at all groups together"


def choices(_desk: Desk) -> Choices:
    """The cards of all criteria, anonymizers and rule sets."""
    by_question: dict[str, list[Card]] = {}
    for card in criterion_cards().values():
        by_question.setdefault(card.question, []).append(card)
    stories = tuple(
        Story(question, cards[0].story, tuple(cards)) for question, cards in by_question.items()
    )
    return Choices(stories, anonymizer_cards(), profile_cards(), utility_choices())


def view_policy(
    desk: Desk,
    *,
    text: str | None = None,
    fields: Mapping[str, str] | None = None,
    add: str = "",
    drop: int | None = None,
    point: int = TABLE,
    everything: bool = False,
) -> PolicyView:
    """A text with what was changed in its form, and what the release of a point says to it.

    Without a text it is the project's. A mistake leaves the text as it was given.
    """
    text = (desk.project.state().policy or "") if text is None else text
    if not text.strip():
        return PolicyView(text, NONE_YET)
    form = None
    try:
        changed = with_fields(text, fields) if fields else text
        changed = with_criterion(changed, add) if add else changed
        text = changed if drop is None else without_criterion(changed, drop)
        form = read_form(text)
        policy = policy_of(desk, text)
    except SfumatoError as error:
        return PolicyView(text, str(error), form, levels=_levels(desk))
    verdicts, unjudged = _verdicts(desk, policy.require, point, everything=everything)
    prices = priced_before(desk, policy)
    return PolicyView(text, "", form, verdicts, unjudged, _levels(desk), prices)


def policy_of(desk: Desk, text: str) -> Policy:
    """The policy that a text means; files that it names lie beside the project's policy.

    Pages read nothing outside the opened folder. What the saved policy names already came from the
    owner's own shell.
    """
    for name in sorted(_named_outside(desk, text)):
        if name not in _named_outside(desk, desk.project.state().policy or ""):
            raise PolicyError(
                f"{quoted(name)} lies outside the opened folder, and pages read nothing there; put "
                "the file below it, or start sfumato serve with a --policy that names it"
            )
    policy = Policy.parse(text, desk.project.folder)
    if policy.schema is None:
        raise PolicyError("it has no [schema]; name the columns' roles in it")
    return policy


def _named_outside(desk: Desk, text: str) -> frozenset[str]:
    """Texts in a policy by which a file or folder outside the opened folder would be found."""
    try:
        left: list[object] = [tomllib.loads(text)]
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return frozenset()  # whoever reads it says so
    outside = set()
    for part in left:
        if isinstance(part, dict):
            left += [*part.keys(), *part.values()]
        elif isinstance(part, list):
            left += part
        elif isinstance(part, str) and _leads_outside(desk, part):
            outside.add(part)
    return frozenset(outside)


def _leads_outside(desk: Desk, name: str) -> bool:
    path = desk.project.folder / name.partition("#")[0]
    if not any(sign.isalnum() for sign in name):
        return False  # a mark or a separator of the data
    try:
        true = path.resolve()
        inside = any(true.is_relative_to(home) for home in (desk.folder.root, desk.project.folder))
        return not inside and true.exists()
    except (OSError, ValueError, RuntimeError):
        return False


# -- verdicts --------------------------------------------------------------------------------------


def _verdicts(
    desk: Desk, criteria: Sequence[Criterion], point: int, *, everything: bool
) -> tuple[tuple[LiveVerdict, ...], str]:
    """What a release says to each criterion; or why none could be judged."""
    try:
        release = judged_release(desk, point)
    except SfumatoError as error:
        return (), f"Nothing could be judged: {error}"
    cards = criterion_cards()
    verdicts = [
        _live_verdict(criterion, verdict_on(criterion, release))
        if everything or cards[criterion.name].live
        else LiveVerdict(criterion.name, "", criterion.required, "", "not judged", ON_REQUEST)
        for criterion in criteria
    ]
    return tuple(verdicts), ""


_standing: list[tuple[Table, Release]] = []  # the table that was published as it stands last


def judged_release(desk: Desk, point: int) -> Release:
    """The release of a point, or the table as it stands."""
    if point != TABLE:
        return desk.release(point)
    table = desk.table()
    if not _standing or _standing[0][0] is not table:
        _standing[:] = [(table, table_as_published(table))]
    return _standing[0][1]


def verdict_on(criterion: Criterion, release: Release) -> Verdict:
    """What an audit would say; where it would refuse, that it cannot be judged and why."""
    try:
        return judge(criterion, release)
    except SfumatoError as error:
        return criterion.unjudged("cannot_judge", str(error))


def _live_verdict(criterion: Criterion, verdict: Verdict) -> LiveVerdict:
    measured = ""
    if verdict.measured is not None:
        measured = number(verdict.measured, at_most=verdict.at_most, beside=verdict.required)
    status = verdict.status.replace("_", " ")
    about = verdict.attribute or ("" if criterion.reads_values else "group sizes")
    return LiveVerdict(verdict.criterion, about, verdict.required, measured, status, verdict.note)


def _levels(desk: Desk) -> dict[str, tuple[str, ...]]:
    """What a cell of each quasi-identifier looks like at each level; nothing without a table."""
    with suppress(SfumatoError):
        return {
            name: tuple(_label(levels, at) for at in range(levels.height))
            for name, levels in desk.table().levels.items()
        }
    return {}


def _label(levels: Any, at: int) -> str:
    if at == 0:
        return "as it is"
    codes = levels[at].codes
    return str(levels[at].regions[int(codes[len(codes) // 2])].text) if len(codes) else "*"


# -- prices ----------------------------------------------------------------------------------------


def price_policy(desk: Desk, *, seconds: float, seed: int = 0) -> str:
    """What every promise of the project's policy costs, as the project keeps it."""
    check_price(seconds, seed, None)
    policy = desk.policy()
    prices = price(desk.table(), policy, seconds=seconds, seed=seed)
    sections = [kept(section) for section in prices.document().sections]
    return as_json({"policy": policy.fingerprint, **price_facts(prices), "sections": sections})


def priced_before(desk: Desk, policy: Policy) -> PriceView | None:
    """What was worked out last, beside the criteria that are still the same."""
    try:
        prices = json.loads(desk.project.kept(PRICE) or "")
        changes = prices["changes"]
        cards = tuple(_card_price(criterion, prices, changes) for criterion in policy.require)
        sections = tuple(section_of(section) for section in prices["sections"])
        return PriceView(prices["words"], cards, sections, prices["policy"] != policy.fingerprint)
    except (SfumatoError, ValueError, KeyError, TypeError, AttributeError):
        return None  # there is none, or somebody changed the file


def _card_price(
    criterion: Criterion, prices: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]
) -> CardPrice | None:
    about = (criterion.name, criterion.sensitive, criterion.required)
    own = [
        change
        for change in changes
        if (change["criterion"], change["about"], change["required"]) == about
    ]
    lines = [
        f"{change['change']}: {_cost(prices, change)}"
        for change in own
        if change["status"] != "no_step"
    ]
    return CardPrice(tuple(lines)) if lines else None


def _cost(prices: Mapping[str, Any], change: Mapping[str, Any]) -> str:
    """What the best release would cost then, beside what it costs now."""
    if change["cost"] is None:
        return str(change["reason"])
    most = "at most " if change["at_most"] else ""
    then = f"{most}{cost_text(prices['utility'], float(change['cost']))}"
    if prices["cost"] is None:
        return then
    now = cost_text(prices["utility"], float(prices["cost"]))
    figure = now.removeprefix(f"{prices['utility']} ")
    return f"{then}, as it is now" if then.endswith(now) else f"{then} instead of {figure}"
