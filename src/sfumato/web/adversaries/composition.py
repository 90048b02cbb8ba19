"""Panel Composition: somebody who holds another release about the same people, and the ledger.

`sfumato attack intersect` with the project's data as the people who are in all of them, and
`sfumato ledger`. Who is exposed is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import InputError, quoted
from sfumato.web.adversaries.panel import (
    Fields,
    PanelAnswer,
    answer,
    attacked,
    data_word,
    shell_words,
    word,
    words,
)
from sfumato.web.shell import shell_line

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.web.desk import Desk

TRIED = "#"  # before the number of a release of the project
LEDGER = "ledger.sqlite"
_LONGEST = 200  # bytes of a ledger's name


@dataclass(frozen=True)
class OtherReleases:
    """What may be added: releases of the project, folders below the started one, ledgers."""

    tried: tuple[int, ...]
    folders: tuple[str, ...]
    ledgers: tuple[str, ...]
    keeping: str  # the command that keeps the release as the form offers it


def list_others(desk: Desk, point: int) -> OtherReleases:
    """All that the panel offers beside a release."""
    ledgers = sorted(
        path.name
        for path in desk.folder.root.glob("*.sqlite")
        if path.is_file() and not path.is_symlink()
    )
    offered = {"ledger": ledgers[:1], "name": [f"release-{point}"], "about": ["everybody"]}
    return OtherReleases(
        tuple(tried.number for tried in desk.project.points() if tried.number != point),
        tuple(desk.folder.releases()),
        tuple(ledgers),
        keeping_words(desk, point, offered),
    )


def _named_release(desk: Desk, point: int, name: str) -> tuple[str, Release]:
    """A release by the name that the panel offers: as a command calls it, and read."""
    from sfumato.counts.leaves import leaves_as_stated
    from sfumato.release.read.read_release import load_release
    from sfumato.web.desk import identity

    rules = desk.policy_of(point)
    if name.startswith(TRIED):
        number = name.removeprefix(TRIED)
        if number not in {str(point.number) for point in desk.project.points()}:
            raise InputError(f"there is no release {quoted(number)} of this project")
        path = desk.project.release_folder(int(number))
    else:
        path = desk.folder.resolve(name)
        if not path.is_dir():
            raise InputError(f"{quoted(name)} is no release folder")
    reading = rules.reading_of([path], desk.reading().about("engine"))
    key = ("other release", str(path), identity(path), repr(rules.schema), repr(reading))
    schema = rules.schema and leaves_as_stated(rules.schema, rules.read.stated_forms)
    return desk.folder.name_of(path), desk.remember(
        key, lambda: load_release(path, schema, reading)
    )


def _people(desk: Desk, point: int, releases: list[Release], truth: str | None) -> object:
    """The data of the release as the people who are in all of them."""
    from sfumato.adversaries.locating.targets import UNKNOWN, targets_in_file
    from sfumato.web.desk import identity

    rules, path = desk.policy_of(point), desk.data(point)
    schema = rules.schema
    if schema is None:
        raise InputError(f"the policy of release {point} has no [schema]")
    columns = list(dict.fromkeys(name for release in releases for name in release.regions.columns))
    settings = rules.reading_of([path], desk.reading(point).about("file", "engine"))
    key = ("targets", identity(path), tuple(columns), truth, repr(schema), repr(settings))
    return desk.remember(
        key, lambda: targets_in_file(path, columns, schema, settings, truth, UNKNOWN)
    )


def intersect_with(desk: Desk, point: int, fields: Fields) -> PanelAnswer:
    """What the release gives away together with others, and about whom."""
    from dataclasses import replace

    from sfumato.adversaries.composition.attack import intersection_attack
    from sfumato.report.sections.composition import attack_document, exposed_section

    release, column = attacked(desk, point, word(fields, "sensitive"))
    names = words(fields, "other")
    if not names:
        raise InputError("one release alone cannot be intersected; choose another one")
    named_releases = [_named_release(desk, point, name) for name in names]
    together = [release, *(read for _, read in named_releases)]
    people = _people(desk, point, together, column)
    attack = intersection_attack(together, people, column, sensitive=column)
    document = attack_document(attack)
    own_folder, *policy = shell_words(desk, point)
    line = [
        *(own_folder, *(name for name, _ in named_releases), *policy),
        *("--targets", data_word(desk, point), "--sensitive", column),
        *("--truth", column),
    ]
    panel_answer = answer(document, shell_line("attack intersect", *line))
    first, *rest = panel_answer.sections
    summary = attack.summary
    return replace(
        panel_answer,
        sections=(first, exposed_section(attack), *rest),
        headline=f"Of {summary.exposed:,} of {summary.located:,} people one value is left; by one "
        f"release alone, of {summary.exposed_by_one:,}.",
        status="violated" if summary.exposed > summary.exposed_by_one else "holds",
    )


# -- the ledger ------------------------------------------------------------------------------------


def _ledger_file(desk: Desk, name: str) -> Path:
    """A ledger by its name, directly in the started folder."""
    strange = "/" in name or "\\" in name or name.startswith((".", "-")) or not name.isprintable()
    strange = strange or len(name.encode()) > _LONGEST
    path = desk.folder.root / name
    if strange or not name.endswith(".sqlite") or path.is_symlink():
        raise InputError(f"{quoted(name)} is no name of a ledger here; write one such as {LEDGER}")
    return path


def check_ledger(desk: Desk, point: int, fields: Fields) -> PanelAnswer:
    """The releases of a ledger, and what this one adds up to with them."""
    from dataclasses import replace

    from sfumato.adversaries.base import KnownTogether
    from sfumato.ledger.ledger import Ledger
    from sfumato.report.sections.composition import check_document, list_document

    name = word(fields, "ledger", LEDGER)
    path = _ledger_file(desk, name)
    if not path.is_file():
        raise InputError(f"there is no ledger {quoted(name)} yet; keep a release in it first")
    release = desk.release(point)
    kept = Ledger(path)
    listed = list_document(name, kept.list(None), kept.spent(None))
    bounds = [
        criterion.together
        for criterion in desk.policy_of(point).require
        if criterion.together is not None
    ]
    bound = bounds[0] if bounds else KnownTogether()
    people = _people(desk, point, [release, *kept.releases(None)], None)
    checked = kept.check(
        release,
        people,
        share=bound.share,
        confidence=bound.confidence,
        counting=bound.counting,
        drop=bound.drop,
    )
    line = [name, *shell_words(desk, point)]
    line += ["--targets", data_word(desk, point)]
    panel_answer = answer(
        check_document(checked), shell_line("ledger list", name), shell_line("ledger check", *line)
    )
    return replace(panel_answer, sections=(*listed.sections, *panel_answer.sections))


def keep_in_ledger(desk: Desk, point: int, fields: Fields) -> str:
    """Add a release to the ledger, which is made if there is none; what was done, in one line."""
    from sfumato.ledger.ledger import Ledger

    path = _ledger_file(desk, word(fields, "ledger", LEDGER))
    release = desk.release(point)
    entry = Ledger(path).add(
        release, word(fields, "name", release.label), word(fields, "about", "everybody")
    )
    return f"{entry.name}: {entry.people:,} people in {entry.groups:,} groups, kept"


def keeping_words(desk: Desk, point: int, fields: Fields) -> str:
    """What keeps it from a shell."""
    ledger = word(fields, "ledger", LEDGER)
    line = [ledger, *shell_words(desk, point)]
    for key in ("name", "about"):
        line += [f"--{key}", text] if (text := word(fields, key)) else []
    return shell_line("ledger add", *line)
