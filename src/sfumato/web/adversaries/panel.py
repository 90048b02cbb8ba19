"""What all panels of adversaries share: the release they are about, their answer, their fields.

A panel is a form and an answer. The answer is sections of the document that a command of the shell
would show, and that command. A task runs in a worker; the form's fields come as they were typed, so
that a mistake is told in one line by whoever understands them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING

from sfumato.errors import InputError, quoted
from sfumato.web.shell import path_word

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.report.document import Document, PolicyStatus, Section
    from sfumato.schema.region import Region
    from sfumato.table import Table
    from sfumato.web.desk import Desk

Fields = Mapping[str, Sequence[str]]  # a form as it was sent, each name with all that it was given
_VALUES = 500  # of a column that a form offers; others may be typed


@dataclass(frozen=True)
class PanelAnswer:
    """What an adversary makes of the release, and how to ask her the same from a shell."""

    about: str
    sections: tuple[Section, ...]
    commands: tuple[str, ...]
    status: PolicyStatus | None = None
    headline: str = ""


@dataclass(frozen=True)
class AttackedRelease:
    """What forms must know of a release: its columns, and the values of the sensitive ones."""

    point: int
    label: str
    people: int
    groups: int
    quasi: tuple[str, ...]
    sensitive: Mapping[str, tuple[str, ...]]
    examples: Mapping[str, tuple[str, ...]]
    noisy: bool


def describe_release(desk: Desk, point: int) -> AttackedRelease:
    """The columns of a release, and labels that its cells show."""
    release = desk.release(point)
    described = release.regions
    regions = described.regions_at_hand
    examples: dict[str, tuple[str, ...]] = {}
    for at, column in enumerate(described.columns):
        examples[column] = () if regions is None else _values_in(regions.parts[at])
        if described.buckets is not None:
            examples[column] = described.buckets.domains[at].labels[:_VALUES]
    sensitive: dict[str, tuple[str, ...]] = {}
    for name, groups in release.by_attribute.items():
        if name:
            common = sorted(range(groups.width), key=lambda code: -groups.reference[code])
            sensitive[name] = tuple(groups.values[code] for code in common[:_VALUES])
    return AttackedRelease(
        point,
        release.label,
        release.people,
        len(release.groups),
        tuple(described.columns),
        sensitive,
        examples,
        bool(described.noisy),
    )


def _values_in(parts: Sequence[Region]) -> tuple[str, ...]:
    """Values that the cells of a column name one by one; ranges name none."""
    from sfumato.schema.region import ValueSet, text_of

    values: dict[str, None] = {}
    for code in range(min(len(parts), _VALUES)):
        part = parts[code]
        if isinstance(part, ValueSet) and len(values) < _VALUES:
            values |= dict.fromkeys(text_of(value) for value in part.values)
    return tuple(sorted(values))


def table_of(desk: Desk, point: int) -> Table:
    """The data that the release was made of, read by the policy it was made by."""
    from sfumato.table import load_table
    from sfumato.web.desk import identity

    rules = desk.policy_of(point)
    path, reading = desk.data(point), desk.reading(point).over(rules.read)
    schema = rules.schema
    if schema is None:
        raise InputError(f"the policy of release {point} has no [schema]")
    now = desk.policy()
    same_policy = repr(schema) == repr(now.schema) and repr(rules.read) == repr(now.read)
    if same_policy and desk.project.data_of(point) == desk.project.data_of():
        return desk.table()
    key = ("table", identity(path), repr(schema), repr(reading))
    return desk.remember(key, lambda: load_table(path, schema, reading))


def attacked(desk: Desk, point: int, sensitive: str) -> tuple[Release, str]:
    """The release, and the column that is asked about: the first unless it is named."""
    release = desk.release(point)
    names = [name for name in release.by_attribute if name]
    if not names:
        raise InputError("the release has no sensitive column, so nothing could be learnt from it")
    if sensitive and sensitive not in names:
        raise InputError(f"{quoted(sensitive)} is not a sensitive column of the release")
    return release, sensitive or names[0]


def shell_words(desk: Desk, point: int) -> tuple[str, str, str]:
    """The release and the policy it was made by, as a command names both."""
    name = path_word(desk.folder, desk.project.release_folder(point))
    return name, "--policy", f"{name}/private/policy.toml"


def data_word(desk: Desk, point: int) -> str:
    """The data that the release was made of, as a command names it."""
    return path_word(desk.folder, desk.data(point))


def answer(document: Document, *commands: str) -> PanelAnswer:
    """A document as a panel shows it."""
    verdict = document.answer
    return PanelAnswer(
        document.about,
        document.sections,
        commands,
        None if verdict is None else verdict.status,
        "" if verdict is None else verdict.words,
    )


# -- fields ----------------------------------------------------------------------------------------


def word(fields: Fields, name: str, default: str = "") -> str:
    """A field that is given once; empty is as good as left out."""
    given = [text.strip() for text in fields.get(name, ()) if text.strip()]
    return given[-1] if given else default


def words(fields: Fields, name: str) -> list[str]:
    """A field that may be given several times, each once."""
    return list(dict.fromkeys(text for text in fields.get(name, ()) if text.strip()))


def number(fields: Fields, name: str, default: float, least: float, most: float = inf) -> float:
    """A number between two others."""
    text = word(fields, name)
    if not text:
        return default
    try:
        given = float(text)
    except ValueError:
        given = inf
    if not isfinite(given) or not least <= given <= most:
        to = f" to {most:g}" if isfinite(most) else " on"
        raise InputError(
            f"{name} = {quoted(text)} is not allowed; give a number from {least:g}{to}"
        )
    return given


def whole(fields: Fields, name: str, default: int, least: int, most: int) -> int:
    """A whole number between two others."""
    given = number(fields, name, default, least, most)
    if given != int(given):
        raise InputError(f"{name} = {given:g} is not allowed; give a whole number")
    return int(given)


def plain(value: float) -> str:
    """A number as a command takes it."""
    return f"{int(value)}" if isfinite(value) and value == int(value) else f"{value:g}"
