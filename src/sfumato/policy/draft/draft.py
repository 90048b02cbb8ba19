"""`sf.draft_policy`: a commented policy proposed from the data, and what it could not decide."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sfumato.engines.base import Source
from sfumato.engines.files import checked_path, is_text
from sfumato.engines.textfile import check_header, inspect_text
from sfumato.files import write_text
from sfumato.policy.draft.guess import MISSING_MARKS
from sfumato.policy.draft.page import write
from sfumato.policy.draft.patterns import decimal_comma
from sfumato.policy.draft.profile import profile
from sfumato.policy.draft.rehearsal import Rehearsal, rehearse
from sfumato.policy.draft.roles import Roles, decide
from sfumato.policy.draft.sample import take
from sfumato.policy.draft.trial import settle
from sfumato.policy.model import Policy
from sfumato.policy.toml import parse_policy
from sfumato.policy.toml_values import toml_value

ROWS = 1_000_000
_PERHAPS = "1,234 may be a thousand or a little more than one: say which with --decimal"


@dataclass(frozen=True)
class Draft:
    """A proposed policy: its text, and the questions only the owner can answer."""

    text: str
    questions: tuple[str, ...]

    @cached_property
    def policy(self) -> Policy:
        """The draft as a policy, unedited."""
        return Policy(**parse_policy(self.text, Path("draft.toml")))

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the text to a file, whole or not at all."""
        write_text(path, self.text, force=force, private=False, what="policy")


def draft_policy(
    source: object,
    *,
    rows: int = ROWS,
    delimiter: str | None = None,
    decimal: str | None = None,
    partitioned: bool = False,
) -> Draft:
    """Propose a policy for a file, frame or relation: roles, hierarchies and criteria.

    Of tables with more than `rows` distinct rows (fewer if there are many columns) a share chosen
    by hashing is looked at, the same on every run.
    """
    from sfumato.engines.duckdb import DuckDB

    if (
        isinstance(source, str | Path)
        and (path := checked_path(source)).is_file()
        and is_text(path)
    ):
        check_header(path, delimiter)
    engine = DuckDB(delimiter=delimiter, decimal=decimal, partitioned=partitioned)
    registered = engine.register(source)
    sample = take(engine, registered, rows)
    profiles = profile(sample)
    unsure: list[str] = []
    if registered.untyped and decimal is None:
        signs = {found.name: decimal_comma(found.texts) for found in profiles}
        if True in signs.values():
            return draft_policy(
                source, rows=rows, delimiter=delimiter, decimal=",", partitioned=partitioned
            )
        unsure = [_ask(name, _PERHAPS) for name, comma in signs.items() if comma is None]
    roles = settle(sample, decide(sample, profiles))
    questions = [*_questions(roles), *unsure]
    written = _reading(source, registered, delimiter, decimal)
    if partitioned:
        written["partitioned"] = True
    untried = Draft(write(sample, roles, written, questions, Rehearsal()), ())
    tried = rehearse(sample, roles, untried.policy)
    questions = [*tried.questions, *questions]
    draft = Draft(write(sample, roles, written, questions, tried), tuple(questions))
    assert draft.policy.schema is not None  # a draft that is no policy is our mistake, not hers
    return draft


def _reading(
    source: object, registered: Source, delimiter: str | None, decimal: str | None
) -> dict[str, str | bool]:
    if not registered.untyped or not isinstance(source, str | Path):
        return {}
    sign = inspect_text(Path(source), delimiter).delimiter
    told: dict[str, str | bool] = (
        {"delimiter": sign} if delimiter is not None or sign != "," else {}
    )
    return {**told, "decimal": decimal} if decimal == "," else told


def _ask(name: str, question: str) -> str:
    return f"{toml_value(name)}: {question}"


def _questions(roles: Roles) -> list[str]:
    """What only the owner can answer, the weightiest first."""
    asked = roles.having("person")
    asked += [found for found, _ in [*roles.sensitive.values(), *roles.quasi.values()]]
    asked += [found for found in roles.others.values() if found.role != "person"]
    together: dict[str, list[str]] = {}
    for found in asked:
        if found.question:
            together.setdefault(found.question, []).append(toml_value(found.name))
    told = [f"{', '.join(names)}: {question}" for question, names in together.items()]
    if not roles.sensitive:
        told.insert(
            0, "What must nobody learn? No column's name suggests it; name it in sensitive."
        )
    marked = [
        toml_value(found.name)
        for found, _ in [*roles.sensitive.values(), *roles.quasi.values()]
        if found.profile.what == "text" and MISSING_MARKS & set(found.profile.texts)
    ]
    if marked:
        told.append(
            f"{', '.join(marked)}: a mark such as ? or NA is taken for a value like any other. "
            "Missing? Leave such cells empty"
        )
    measured = [toml_value(name) for name in roles.quasi if name in roles.chosen.measured]
    if measured and len(roles.quasi) > 1:
        told.append(
            f"{', '.join(measured)}: a quasi-identifier because it singles people out, not for its "
            "name. Strike it out if no outsider can know it, or the release does not need it"
        )
    return told
