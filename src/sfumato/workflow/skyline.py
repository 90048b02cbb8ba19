"""Knowledge skylines of a release: of one value, or of every value of its sensitive columns.

Stands apart: what `sfumato skyline` asks of a release, without its printing.
"""

from __future__ import annotations

from sfumato.adversaries.skyline.breach import check_confidence
from sfumato.adversaries.skyline.knowledge import KnowledgeSkyline, knowledge_skyline
from sfumato.errors import InputError
from sfumato.release.release import Release


def skylines(
    release: Release, confidence: float, value: str | None = None, sensitive: str | None = None
) -> list[KnowledgeSkyline]:
    """The skyline of a value, or of all of them, at one confidence.

    Of several sensitive columns the one that has the value is taken, unless `sensitive` names it.
    """
    check_confidence(confidence)
    columns = [sensitive] if sensitive is not None else list(release.schema.sensitive)
    if not columns:
        raise InputError("the release has no sensitive column")
    if release.regions.noisy:
        raise InputError("counts of a randomised release are noisy; it carries its own guarantee")
    if value is None:
        return [
            knowledge_skyline(release, label, confidence, sensitive=column)
            for column in columns
            for label in release.groups_for(column).values
        ]
    return [
        knowledge_skyline(release, value, confidence, sensitive=column_of(release, value, columns))
    ]


def column_of(release: Release, value: str, columns: list[str]) -> str:
    """The one of the columns that has a value."""
    having = [name for name in columns if value in release.groups_for(name).values]
    if len(having) > 1:
        raise InputError(
            f"{value!r} is a value of {' and '.join(having)}; say which with sensitive"
        )
    return having[0] if having else columns[0]
