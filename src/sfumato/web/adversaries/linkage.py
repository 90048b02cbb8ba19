"""Panel Linkage: one target, by what is known of her: which rows may be hers.

`sfumato attack find`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.errors import InputError
from sfumato.web.adversaries.panel import (
    Fields,
    PanelAnswer,
    answer,
    shell_words,
    word,
)
from sfumato.web.shell import shell_line

if TYPE_CHECKING:
    from sfumato.web.desk import Desk

KNOWN = "known "  # what the field of a column is called


def look_for_target(desk: Desk, point: int, fields: Fields) -> PanelAnswer:
    """The groups she fits, the rows there, and what is believed of her."""
    from sfumato.adversaries.linkage.one_target import find_target
    from sfumato.report.sections.one_target import target_document
    from sfumato.schema.notation import read_description

    release = desk.release(point)
    column = word(fields, "sensitive") or next((name for name in release.by_attribute if name), "")
    described = {
        name: text for name in release.regions.columns if (text := word(fields, f"{KNOWN}{name}"))
    }
    facts = [line.strip() for line in word(fields, "facts").splitlines() if line.strip()]
    found_target = find_target(release, described, column or None, facts)
    target = ",".join(f"{name}={text}" for name, text in described.items())
    if target and read_description(target, "target") != described:
        raise InputError("what is known holds a comma that reads like another column; leave it out")
    line = [
        *shell_words(desk, point),
        *(("--sensitive", column) if column else ()),
        *(("--target", target) if target else ()),
        *(part for fact in facts for part in ("--knows", fact)),
    ]
    headline = f"{found_target.candidates:,} of {release.people:,} rows may be hers"
    headline += ", facts aside" if facts else ""
    if found_target.beliefs:
        likely = found_target.beliefs[0]
        headline += f"; the likeliest {column} is {likely.value}: {likely.words}"
    panel_answer = answer(target_document(release, found_target), shell_line("attack find", *line))
    return replace(panel_answer, headline=f"{headline}.")
