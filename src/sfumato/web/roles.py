"""Step Data: the roles of columns, as guessed and as the owner has them; the draft's questions.

The policy's text says which role a column has, and its first comment which questions are open: an
answer changes the one and strikes out the other, as somebody with an editor would. What a guess
rests on is found out anew where it is asked for.

Stands apart: tasks for a worker; the server asks for them by name and loads none of what they use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sfumato.errors import InputError
from sfumato.web.columns import (
    examined,
    forget_older,
    looks_at,
    profiles_of,
    told_reading,
    will_be_read_so,
)
from sfumato.web.desk import Desk

if TYPE_CHECKING:
    from sfumato.engines.reading import Reading
    from sfumato.policy.draft.draft import Draft, Examined, OwnersQuestion
    from sfumato.policy.draft.profile import Profile
    from sfumato.policy.draft.roles import Roles

# What each role means to the people in the table, in the order they are offered.
ROLES: Mapping[str, tuple[str, str]] = {
    "quasi": ("Known to others", "an outsider may know it and find a person by it"),
    "sensitive": ("Sensitive", "what nobody may learn about a person"),
    "identifiers": ("Names people", "dropped before anything else"),
    "keep": ("Published as it is", "unprotected: everybody reads everybody's value"),
    "none": ("Left out", "not published"),
    "person": ("Person", "tells whose row it is: k counts people, not rows"),
    "household": ("Household", "whoever finds one of them finds the others"),
    "weight": ("Survey weight", "how many people of the population a row stands for"),
    "count": ("Number of people", "how many people a row stands for"),
}
OFFERED_FIRST = 5
Meaning = Literal["missing", "code", "value"]


@dataclass(frozen=True)
class RoleOfColumn:
    """The role a column has in the policy, the one that was guessed, and why."""

    name: str
    role: str
    guess: str
    why: str
    has_hierarchy: bool


@dataclass(frozen=True)
class MarkAsked:
    """A text of which it is asked what it means in a column, and what it is taken for now."""

    column: str
    text: str
    meaning: Meaning


@dataclass(frozen=True)
class QuestionAsked:
    """A question that is open: its number in the draft, and what an answer may say.

    `ways`: how dates or numbers of a column may be written, by what a policy calls it.
    """

    number: int
    text: str
    about: str
    columns: tuple[str, ...] = ()
    marks: tuple[MarkAsked, ...] = ()
    ways: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class RolesTold:
    """The roles of all columns, the questions that are open, and what is wrong with the policy."""

    columns: tuple[RoleOfColumn, ...]
    questions: tuple[QuestionAsked, ...]
    problem: str = ""
    waiting: bool = False  # for the guesses, which take a while


def drafted(desk: Desk, tried: Examined | None = None) -> Draft:
    """The draft that `sfumato init` makes of the chosen file, as it is read now or was `tried`."""
    from sfumato.policy.draft.draft import draft_of

    looked = examined(desk) if tried is None else tried
    drafts, key = looks_at(desk).drafts, repr(looked.reading)
    if key not in drafts:
        forget_older(drafts)
        drafts[key] = draft_of(looked)
    return drafts[key]


def draft(desk: Desk) -> str:
    """Task: the text of a policy for the chosen file: `sfumato init DATA`."""
    text = drafted(desk).text
    will_be_read_so(desk, text, examined(desk))
    return text


def roles(desk: Desk, *, quickly: bool = False) -> RolesTold:
    """Task: the roles that the policy gives, beside those that were guessed.

    `quickly`: without the guesses, where they are not known yet.
    """
    from sfumato.errors import SfumatoError
    from sfumato.policy.draft.change import check, role_in
    from sfumato.policy.edit_text import said_in

    text = desk.state().policy
    if text is None:
        raise InputError("there is no policy yet; have one drafted")
    schema = said_in(text, "schema")
    waits = quickly and repr(examined(desk).reading) not in looks_at(desk).drafts
    made = None if waits else drafted(desk)
    guesses = {} if made is None or made.roles is None else _guessed(made.roles)
    trees = schema.get("hierarchies", {})
    columns = tuple(
        RoleOfColumn(
            name,
            role_in(schema, name),
            *guesses.get(name, ("", "")),
            has_hierarchy=isinstance(trees, dict) and name in trees,
        )
        for name in profiles_of(desk)
    )
    problem = ""
    try:
        check(text, desk.project.folder)
        problem = _lost(schema, set(profiles_of(desk)))
    except SfumatoError as error:
        problem = str(error)
    asked = () if made is None else open_questions(desk, text, made)
    return RolesTold(columns, asked, problem, waiting=made is None)


def _lost(schema: Mapping[str, object], there: set[str]) -> str:
    """That the policy names columns which the file does not have."""
    named = [schema.get("quasi", []), schema.get("sensitive", []), schema.get("keep", [])]
    names = [
        name
        for columns in named
        for name in ([columns] if isinstance(columns, str) else columns)  # type: ignore[attr-defined]
    ]
    lost = [name for name in names if name not in there]
    if not lost:
        return ""
    return (
        f"the policy names {len(lost)} column(s) that this file does not have: was it made for "
        "another file? Draft it anew, or choose that file"
    )


def _guessed(found_roles: Roles) -> dict[str, tuple[str, str]]:
    """For each column the role of the draft, and the reason in words."""
    from sfumato.policy.draft.page import adds_little, quasi_reason

    guessed = {
        name: ("quasi", quasi_reason(profile, found_roles))
        for name, (profile, _) in found_roles.quasi.items()
    }
    guessed |= {
        name: ("sensitive", guess.why) for name, (guess, _) in found_roles.sensitive.items()
    }
    for name, guess in found_roles.others.items():
        # A draft writes weights and counts as comments, until the owner says yes.
        role = guess.role if guess.role in ("identifiers", "person") else "none"
        guessed[name] = role, guess.why or adds_little(found_roles)
    return guessed


def change_roles(desk: Desk, given: Mapping[str, str]) -> str:
    """Task: the policy's text with these roles."""
    from sfumato.policy.draft import change

    text = desk.state().policy
    if text is None:
        raise InputError("there is no policy yet; have one drafted")
    return change.change_roles(text, profiles_of(desk), given, desk.project.folder)


# -- questions -------------------------------------------------------------------------------------


def open_questions(desk: Desk, text: str, made: Draft) -> tuple[QuestionAsked, ...]:
    """The questions that the policy's text still has, with what an answer may say."""
    from sfumato.policy.draft.change import questions_in

    known = {" ".join(question.text.split()): question for question in made.asked}
    asked = []
    for number, words in enumerate(questions_in(text)):
        question = known.get(words)
        if question is None:
            asked.append(QuestionAsked(number, words, "note"))
        else:
            asked.append(_asked(desk, number, question))
    return tuple(asked)


def _asked(desk: Desk, number: int, question: OwnersQuestion) -> QuestionAsked:
    looked = examined(desk)
    stated_forms = looked.reading.stated_forms
    if question.about in ("missing", "codes"):
        marks = tuple(
            MarkAsked(name, mark, "missing" if mark in stated_forms.marks(name) else "code")
            for name in question.columns
            for mark in question.marks
            if mark in stated_forms.marks(name) or mark in stated_forms.codes.get(name, ())
        )
        return QuestionAsked(number, question.text, question.about, question.columns, marks)
    if question.about == "notation":
        return QuestionAsked(
            number, question.text, question.about, question.columns, ways=_ways(question.text)
        )
    return QuestionAsked(number, question.text, question.about, question.columns)


def _ways(doubt: str) -> tuple[tuple[str, str], ...]:
    """What may be said of cells whose notation is not plain."""
    if "1,234 may be" in doubt:
        return (("decimal:.", "1,234 is a thousand and more"), ("decimal:,", "1,234 is about 1.2"))
    orders = {"DMY": "day, month, year", "MDY": "month, day, year", "YMD": "year, month, day"}
    return tuple((f"dates:{order}", words) for order, words in orders.items())


def answer(
    desk: Desk, number: int, given: Mapping[str, str], fields: Mapping[str, object] | None = None
) -> str:
    """Task: the policy's text with the answer to a question: roles, or how cells are read."""
    from sfumato.policy.draft.change import strike_question

    text = desk.state().policy
    if text is None:
        raise InputError("there is no policy yet; have one drafted")
    if given:
        text = change_roles(desk, given)
    if fields:
        return _read_otherwise(desk, text, fields, struck=number)
    return strike_question(text, number)


@dataclass(frozen=True)
class ReadAnew:
    """How a file is to be read, and the policy for it, if there was one."""

    reading: dict[str, object]
    policy: str | None


def read_anew(desk: Desk, fields: Mapping[str, object]) -> ReadAnew:
    """Task: the file read as a form says, tried before it is believed."""
    from sfumato.engines.reading import Reading

    text = desk.state().policy
    if text is not None:
        return ReadAnew({}, _read_otherwise(desk, text, fields, whole=True))
    reading = Reading(**fields)  # type: ignore[arg-type]
    examined(desk, reading)
    kept = reading.about("file").given_fields()
    return ReadAnew(kept, None)


def _read_otherwise(
    desk: Desk,
    text: str,
    cell_fields: Mapping[str, object],
    struck: int | None = None,
    *,
    whole: bool = False,
) -> str:
    """The policy for a file that is read otherwise; `whole`: all that was said before is gone."""
    from sfumato.engines.reading import Reading
    from sfumato.policy.draft.change import change_reading, questions_in, with_questions
    from sfumato.policy.draft.change import change_roles as change_roles_in

    before = Reading() if whole else told_reading(desk).about("file")
    fields: dict[str, object] = {**before.given_fields(), **cell_fields}
    for option in ("dates", "missing", "codes"):  # of columns: what was said of others stays
        fields[option] = _joined(before, cell_fields, option)
    reading = Reading(**fields)  # type: ignore[arg-type]
    tried = examined(desk, reading)
    after = {profile.name: profile for profile in tried.profiles}
    engine = _engine_said(text)
    whole_reading = Reading(**{**engine, **reading.given_fields()})  # type: ignore[arg-type]
    folder, now = desk.project.folder, profiles_of(desk)
    made, anew = drafted(desk), drafted(desk, tried)
    text = change_roles_in(text, after, _moved(text, now, after, made, anew), folder)
    changed = change_reading(text, whole_reading, now, after, folder)
    asked_before = {" ".join(question.text.split()) for question in made.asked}
    asked_after = [
        " ".join(question.text.split())
        for question in anew.asked
        if question.about not in ("missing", "codes")  # what marks mean was said just now
    ]
    still = [words for nth, words in enumerate(questions_in(changed)) if nth != struck]
    # Of what a new look asks, only what the earlier one did not: the rest is open or answered.
    marks = {" ".join(question.text.split()) for question in made.asked if question.marks}
    left = [
        question
        for question in still
        if question in (*asked_after, *marks) or question not in asked_before
    ]
    will_be_read_so(desk, changed, tried)
    return with_questions(
        changed, [*left, *(words for words in asked_after if words not in asked_before)]
    )


def _moved(
    text: str,
    now: Mapping[str, Profile],
    after: Mapping[str, Profile],
    made: Draft,
    anew: Draft,
) -> dict[str, str]:
    """The roles of columns that are of another kind now, where the owner had left the guess."""
    from sfumato.policy.draft.change import role_in
    from sfumato.policy.edit_text import said_in

    assert made.roles is not None
    assert anew.roles is not None
    schema, old, new = said_in(text, "schema"), _guessed(made.roles), _guessed(anew.roles)
    return {
        name: new[name][0]
        for name in after
        if name in now
        and now[name].kind != after[name].kind
        and role_in(schema, name) == old[name][0]
    }


def _engine_said(text: str) -> dict[str, object]:
    from sfumato.policy.edit_text import said_in
    from sfumato.policy.toml import reading_told

    return reading_told(said_in(text, "read")).about("engine").given_fields()


def _joined(before: Reading, cell_fields: Mapping[str, object], option: str) -> object:
    """What is said of columns now, and what was said of others before."""
    from sfumato.engines.notations import ALL_COLUMNS

    old, new = getattr(before, option), cell_fields.get(option)
    if new is None or not isinstance(new, Mapping):
        return old if new is None else new
    by_column = old if isinstance(old, Mapping) else {} if old is None else {ALL_COLUMNS: old}
    joined = {**by_column, **new}
    return {name: setting for name, setting in joined.items() if setting} or None


def settle_marks(desk: Desk, given: Mapping[tuple[str, str], str]) -> dict[str, object]:
    """Task: what [read] says when the marks of columns mean this: no value, a code, a value."""
    stated_forms = examined(desk).reading.stated_forms
    missing: dict[str, list[str]] = {}
    codes: dict[str, list[str]] = {}
    for (name, mark), meaning in given.items():
        for kind, listed, now in (
            ("missing", missing, stated_forms.marks(name)),
            ("code", codes, stated_forms.codes.get(name, ())),
        ):
            marks = listed.setdefault(name, [*now])
            if meaning == kind and mark not in marks:
                marks.append(mark)
            elif meaning != kind and mark in marks:
                marks.remove(mark)
    return {"missing": missing, "codes": codes}
