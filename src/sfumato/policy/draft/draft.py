"""`sf.draft_policy`: a commented policy proposed from the data, and what it could not decide.

Its schema is tried on every distinct value of each column (`settle`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.columns import domain_of, is_list
from sfumato.engines.base import Source, check_columns_named, named, select
from sfumato.engines.files import check_sheet, checked_path, is_text
from sfumato.engines.form import FileForm
from sfumato.engines.reading import FileOptions, Reading
from sfumato.engines.textfile import check_header, inspect_text
from sfumato.errors import InputError, SfumatoError
from sfumato.files import write_text
from sfumato.notebook import Displayed
from sfumato.policy.draft.bounds import Fit, plain
from sfumato.policy.draft.by_rules import NO_RULES, DraftRules, rules_named
from sfumato.policy.draft.guess import (
    FOREIGN_DATES,
    FREE_TEXT_ASKED,
    RoleGuess,
    missing_marks,
    special_codes,
)
from sfumato.policy.draft.page import write
from sfumato.policy.draft.profile import TABLE, Profile, Sample, profile, take
from sfumato.policy.draft.rehearsal import Rehearsal, rehearse
from sfumato.policy.draft.roles import Roles, decide
from sfumato.policy.draft.words import may_begin_with_a_cell
from sfumato.policy.model import Policy
from sfumato.policy.rules.base import RuleSet
from sfumato.policy.rules.free_text import FreeText
from sfumato.policy.toml import parse_policy
from sfumato.policy.toml_text import toml_value
from sfumato.progress import phase
from sfumato.release.handed_out import ColumnCells
from sfumato.schema.domain import Domain
from sfumato.schema.recipes import Intervals
from sfumato.schema.region import text_of
from sfumato.schema.roles import Schema
from sfumato.table import Table

# Does the draft fit the whole table? Its schema is tried on every distinct value of each column.
#
# A draft made from a share of the rows has not seen the one cell that is no number. What does not
# fit is replaced by what always does.

JudgedRoles = dict[str, tuple[RoleGuess, Fit]]


def settle(sample: Sample, roles: Roles) -> Roles:
    """The roles with hierarchies and domains that an audit of the whole table will accept."""
    values = _distinct(sample, [*roles.quasi, *roles.sensitive])
    unjudged = dict(roles.others)

    def settled(judged: JudgedRoles) -> JudgedRoles:
        kept: JudgedRoles = {}
        for name, (guess, fit) in judged.items():
            if _fits(sample, name, fit, values[name]):
                kept[name] = guess, fit
            elif fit.finest is None and _fits(sample, name, plain(), values[name]):
                asked = guess.question or "some values are not what most are: all are categories"
                kept[name] = replace(guess, question=asked), plain()
            else:
                unjudged[name] = RoleGuess(guess.profile, "none", "its values cannot be read")
        return kept

    quasi, sensitive = settled(roles.quasi), settled(roles.sensitive)
    if not quasi:
        raise InputError(f"{sample.source.label} has no column that can be read as a category")
    return replace(roles, quasi=quasi, sensitive=sensitive, others=unjudged)


def _fits(sample: Sample, name: str, fit: Fit, values: pa.Array) -> bool:
    schema = Schema(
        quasi=[name],
        hierarchies={name: fit.hierarchy} if fit.hierarchy else {},
        domains={name: fit.declared} if fit.declared else {},
    )
    try:
        domain, _ = domain_of(name, values, sample.source, schema)
        if isinstance(fit.hierarchy, Intervals) and domain.kind == "numeric":
            domain = _ends(domain)
        schema.hierarchy(name).bind(domain)
    except (SfumatoError, pa.ArrowInvalid, OverflowError):
        return False
    return True


def _ends(domain: Domain) -> Domain:
    """Ranges fit all numbers when they fit the least and the greatest."""
    numbers = domain.values[: domain.placed]
    return Domain(domain.name, domain.kind, (numbers[0], numbers[-1]) if numbers else ())


def _distinct(sample: Sample, names: list[str]) -> dict[str, pa.Array]:
    """The distinct values of columns, in one scan of the whole table."""
    table, columns = sample.source.name, [sample.source.column(name) for name in names]
    if sample.one_in == 1:
        table, columns = TABLE, [f"c{sample.columns.index(name)}" for name in names]
    sets = ", ".join(f"({column})" for column in columns)
    listed = [named(column, f"v{place}") for place, column in enumerate(columns)]
    listed += [named(f"GROUPING({column})", f"g{place}") for place, column in enumerate(columns)]
    distinct = sample.engine.fetch(f"{select(listed, table)} GROUP BY GROUPING SETS ({sets})")
    values = {}
    for place, name in enumerate(names):
        column_values = distinct.filter(pc.equal(distinct.column(f"g{place}"), 0)).column(
            f"v{place}"
        )
        array = column_values.combine_chunks()
        values[name] = pc.list_flatten(array) if is_list(sample.source, name) else array
    return values


ROWS = 1_000_000


@dataclass(frozen=True)
class OwnersQuestion:
    """What a draft could not decide, in words, and what an answer to it is about.

    A role of the columns, which column is sensitive, how their cells are written (notation), or
    whether `marks` stand for no value (missing) or for a value among numbers (codes).
    """

    text: str
    about: Literal["role", "sensitive", "notation", "missing", "codes", "note"] = "note"
    columns: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Draft(Displayed):
    """A proposed policy: its text, and the questions only the owner can answer.

    `stage` are the rows it was tried on, all rows of a person or none; None where no release could
    be made of them. The table has `rows`. `roles` tell of every column why it has its role,
    `asked` what an answer to each question is about.
    """

    text: str
    questions: tuple[str, ...]
    stage: Table | None = field(default=None, repr=False, compare=False)
    rows: int = 0
    roles: Roles | None = field(default=None, repr=False, compare=False)
    asked: tuple[OwnersQuestion, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def policy(self) -> Policy:
        """The draft as a policy, unedited."""
        return Policy(**parse_policy(self.text, Path("draft.toml")))

    def _in_short(self) -> tuple[str, ...]:
        many = len(self.questions)
        return (
            f"Draft of a policy for a table of {self.rows:,} rows",
            f"{many} question{'s' * (many != 1)} for the owner of the data: .questions",
            ".text has it all, .save(path) writes it",
        )

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the text to a file, whole or not at all."""
        write_text(path, self.text, force=force, private=False, kind="policy")


def draft_policy(
    source: object,
    *,
    rows: int = ROWS,
    profile: str | RuleSet | None = None,
    zip_population: str | Path | None = None,
    **options: Unpack[FileOptions],
) -> Draft:
    """Propose a policy for a file, frame or relation: roles, hierarchies and criteria.

    Of tables with more than `rows` distinct rows (fewer if there are many columns) a share chosen
    by hashing is looked at, the same on every run. `profile` is a rule set the draft keeps to and
    is judged by: "hipaa-safe-harbor" (with `zip_population`, a file of people by ZIP code),
    "ema-0.09", "statistics-office" or "public-file". The options are those of `sf.read`; what is
    left out of them and found is written into the draft.
    """
    asked = DraftRules(rules_named(profile, zip_population))
    return draft_for(source, Reading(**options), rows, asked=asked)


@dataclass(frozen=True)
class Examined:
    """A table that was looked at: its rows or a share of them, and what each column holds.

    `reading` is how it was read in the end: `marks` for no value and `codes` among numbers are
    taken for such because a first look found them.
    """

    sample: Sample
    profiles: tuple[Profile, ...]
    reading: Reading
    marks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    codes: Mapping[str, Sequence[str]] = field(default_factory=dict)


def examine(
    source: object, reading: Reading, rows: int = ROWS, *, as_told: bool = False
) -> Examined:
    """Look at the columns of a file, frame or relation.

    `as_told`: marks and codes are those that `reading` names, and no others are looked for.
    """
    from sfumato.engines.duckdb import DuckDB

    check_sheet(reading, (source,))
    if (
        isinstance(source, str | Path)
        and (path := checked_path(source)).is_file()
        and is_text(path)
        and reading.header is None  # else its owner said where the names stand
    ):
        check_header(inspect_text(path, reading.delimiter, reading.encoding))
    engine = DuckDB(reading)
    registered = engine.register(source)
    check_columns_named(registered, reading.columns_named())
    sample = take(engine, registered, rows)
    profiles = profile(sample)
    _check_glued(registered, profiles)
    if as_told:
        marks = reading.missing if isinstance(reading.missing, Mapping) else {}
        return Examined(sample, tuple(profiles), reading, marks, reading.codes or {})
    if reading.missing is None and (marks := missing_marks(profiles)):
        again = examine(source, replace(reading, missing=marks), rows)
        return replace(again, marks=marks)
    if reading.codes is None and registered.untyped and (codes := special_codes(profiles)):
        again = examine(source, replace(reading, codes=codes), rows)
        return replace(again, codes=codes)
    return Examined(sample, tuple(profiles), reading)


@phase("drafting a policy")
def draft_for(
    source: object, reading: Reading, rows: int = ROWS, *, asked: DraftRules = NO_RULES
) -> Draft:
    """The same for a file that is read as `reading` says; `asked`: what a rule set asks of it."""
    return draft_of(examine(source, reading, rows), asked)


_LEFT_OUT = ", and stay at home; sfumato init --first-year 1930 drafts them as dates"


def draft_of(examined: Examined, asked: DraftRules = NO_RULES) -> Draft:
    """The same for a table that was looked at."""
    sample, registered = examined.sample, examined.sample.source
    roles = _scanned(sample, settle(sample, decide(sample, examined.profiles, asked)))
    questions = [*_questions(roles, [*registered.doubts])]
    questions += [
        OwnersQuestion(
            f"{toml_value(name)}: {doubt}{_LEFT_OUT * (name in registered.undated)}",
            "notation",
            (name,),
        )
        for name, doubt in registered.doubts.items()
    ]
    questions += [*_marked(examined.marks), *_coded(examined.codes)]
    questions += _far_numbers(examined.profiles, may_be_codes=registered.untyped)
    questions += [OwnersQuestion(note) for note in registered.notes]
    written = _written(registered, examined.reading).given_fields()

    def page(tried: Rehearsal, open_questions: Sequence[OwnersQuestion]) -> str:
        return write(
            sample, roles, written, [question.text for question in open_questions], tried, asked
        )

    tried = rehearse(sample, roles, Draft(page(Rehearsal(), questions), ()).policy)
    questions = [*map(OwnersQuestion, tried.questions), *questions]
    text, words = page(tried, questions), tuple(question.text for question in questions)
    draft = Draft(text, words, tried.stage, sample.rows, roles, tuple(questions))
    assert draft.policy.schema is not None  # a draft that is no policy is our mistake, not hers
    return draft


def _scanned(sample: Sample, roles: Roles) -> Roles:
    """The roles with what was found in columns of free text, as numbers of cells."""
    unjudged = dict(roles.others)
    naming = [guess.name for guess in [*roles.having("identifiers"), *roles.having("person")]]
    for name, guess in roles.others.items():
        if guess.question != FREE_TEXT_ASKED:
            continue
        kind = sample.source.types[name]
        column = ColumnCells(name, "", kind, sample.engine, sample.source)
        question = (
            f"{FREE_TEXT_ASKED} ({FreeText.of(column, naming).words}). To publish it all the same "
        )
        unjudged[name] = replace(guess, question=f"{question}list it in keep and in insist")
        column.forget()
    return replace(roles, others=unjudged)


def _check_glued(registered: Source, profiles: list[Profile]) -> None:
    """Refuse a header that goes on where a row ended: its first name would be told."""
    last = profiles[-1]
    if may_begin_with_a_cell(profiles[0].name, map(str, last.values)):
        raise InputError(
            f"{registered.label}: the name of column 1 begins like a value of column "
            f"{last.place + 1}, or with a number; is a row glued to the header? Put a line break "
            "between them, or rename the column"
        )


def _written(registered: Source, reading: Reading) -> Reading:
    """What the policy is to say of how its file is written, where that is not plain to see."""
    form = registered.form
    stated_reading = reading.about("file")
    if not registered.untyped:
        return stated_reading
    plain = FileForm()
    detected = Reading(
        delimiter=form.delimiter if form.delimiter != plain.delimiter else None,
        decimal=form.decimal if form.decimal != plain.decimal else None,
        encoding=None if form.encoding in ("utf-8", "utf-8-sig") else form.encoding,
        dates=form.dates,
    )
    return stated_reading.over(detected)


def _marked(marks_by_column: Mapping[str, Sequence[str]]) -> list[OwnersQuestion]:
    """That marks are taken for no value, where nobody said so."""
    if not marks_by_column:
        return []
    marks = tuple(
        dict.fromkeys(mark for column_marks in marks_by_column.values() for mark in column_marks)
    )
    question = (
        f"{', '.join(map(toml_value, marks_by_column))}: {', '.join(map(toml_value, marks))} "
        "is read as no value ([read] missing). Strike out what is a value of its own"
    )
    return [OwnersQuestion(question, "missing", tuple(marks_by_column), marks)]


def _coded(codes_by_column: Mapping[str, Sequence[str]]) -> list[OwnersQuestion]:
    """That words are taken for codes among numbers, where nobody said so."""
    together: dict[tuple[str, ...], list[str]] = {}
    for name, codes in codes_by_column.items():
        together.setdefault(tuple(codes), []).append(name)
    return [
        OwnersQuestion(
            f"{', '.join(map(toml_value, names))}: {', '.join(map(toml_value, codes))} among "
            "numbers or dates is read as a value of its own ([read] codes). What means that there "
            "is no value belongs in missing",
            "codes",
            tuple(names),
            codes,
        )
        for codes, names in together.items()
    ]


_BELOW_ZERO = re.compile(r"-(\d|(\d)\2+|9+[6-8])")  # -9, -8, -88, -999, -998
_NINES = re.compile(r"9+[7-9]")  # 99, 98, 997
_MOST_MARKS, _MARK_ROWS = 5, 3  # of a column; rows that each has: one may be a slip of the pen


def far_from_others(column: Profile) -> tuple[str, ...]:
    """Numbers that may be codes for no answer: alone below zero, or nines far above all others."""
    if column.kind != "numeric" or column.says in ("person", "id", "household", "weight"):
        return ()
    texts = [text_of(value) for value in column.values]
    far = np.zeros(len(texts), dtype=bool)
    for form in (_BELOW_ZERO, _NINES):
        is_mark = np.array([form.fullmatch(text) is not None for text in texts], dtype=bool)
        marks, others = column.numbers[is_mark], column.numbers[~is_mark & ~far]
        if not 0 < len(marks) <= _MOST_MARKS or len(others) < 2 or others.min() < 0:
            continue
        fewest, rows = column.counts[is_mark].min(), column.counts[is_mark | far].sum()
        several = fewest >= _MARK_ROWS and 2 * rows < column.present
        if several and (marks.max() < 0 or marks.min() > 2 * others.max()):
            far |= is_mark
    return tuple(text for text, mark in zip(texts, far, strict=True) if mark)


def _far_numbers(profiles: Sequence[Profile], *, may_be_codes: bool) -> list[OwnersQuestion]:
    """Whether numbers far from all others are such: they are taken for numbers."""
    own = ", what is a value of its own in codes" if may_be_codes else ""  # typed files have none
    together: dict[tuple[str, ...], list[str]] = {}
    for column in profiles:
        if marks := far_from_others(column):
            together.setdefault(marks, []).append(column.name)
    return [
        OwnersQuestion(
            f"{_listed(names)}: {', '.join(marks)} among numbers that are all far from it, and "
            "read as a number. What means that there is no value belongs in missing of "
            f"[read]{own}",
            columns=tuple(names),
        )
        for marks, names in together.items()
    ]


def _questions(roles: Roles, doubted: list[str]) -> list[OwnersQuestion]:
    """What only the owner can answer, the weightiest first."""
    asked = roles.having("person")
    asked += [guess for guess, _ in [*roles.sensitive.values(), *roles.quasi.values()]]
    asked += [guess for guess in roles.others.values() if guess.role != "person"]
    together: dict[str, list[str]] = {}
    for guess in asked:
        if guess.question and not (guess.question == FOREIGN_DATES and guess.name in doubted):
            together.setdefault(guess.question, []).append(guess.name)
    questions = [
        OwnersQuestion(f"{_listed(names)}: {question}", "role", tuple(names))
        for question, names in together.items()
    ]
    if not roles.sensitive:
        question = "What must nobody learn? No column's name suggests it; name it in sensitive."
        questions.insert(0, OwnersQuestion(question, "sensitive"))
    measured = [name for name in roles.quasi if name in roles.chosen.measured]
    if measured and len(roles.quasi) > 1:
        question = (
            f"{_listed(measured)}: a quasi-identifier because it singles people out, not for its "
            "name. Strike it out if no outsider can know it, or the release does not need it"
        )
        questions.append(OwnersQuestion(question, "role", tuple(measured)))
    return questions


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(toml_value, names))
