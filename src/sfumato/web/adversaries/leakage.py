"""Panel Leakage: what a combination of columns tells about another one, class by class.

`sfumato characterize` of the release, with the columns that are known and the one that is learnt.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.errors import InputError, quoted
from sfumato.web.adversaries.panel import (
    Fields,
    PanelAnswer,
    answer,
    attacked,
    shell_words,
    word,
    words,
)
from sfumato.web.shell import shell_line

if TYPE_CHECKING:
    from sfumato.web.desk import Desk

MOST = 6  # columns at a time: their combinations double with each


def ask_observer(desk: Desk, point: int, fields: Fields) -> PanelAnswer:
    """Every combination of the columns that are known against the one that is learnt."""
    from sfumato.workflow.characterize import characterize

    release, column = attacked(desk, point, "")
    target = word(fields, "target", column)
    quasi = tuple(release.regions.columns)
    if target not in (*release.by_attribute, *quasi):
        raise InputError(f"{quoted(target)} is not a column of the release")
    known = [name for name in words(fields, "column") if name != target]
    for name in known:
        if name not in quasi:
            raise InputError(f"{quoted(name)} is not a quasi-identifier of the release")
    known = known or [name for name in quasi if name != target][:3]
    if not known:
        raise InputError("nothing is known that could tell anything; choose another column")
    if len(known) > MOST:
        raise InputError(f"{len(known)} columns are too many at a time; choose {MOST} or fewer")
    characterization = characterize(release, len(known), [target], columns=known)
    column_options = [part for name in known for part in ("--column", name)]
    line = [*shell_words(desk, point), "--max-size", str(len(known)), *column_options]
    asked = shell_line("characterize", *line, "--target", target)
    return replace(
        answer(characterization.document(), asked), headline=characterization.advice(target)
    )
