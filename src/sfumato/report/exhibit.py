"""An exhibit: a result told in sections of words, tables and charts.

Commands that find more than a verdict (reproductions, skylines, attacks) make one; it is printed,
written as JSON or as a page that opens offline. Private sections, which may show single people, are
written to `private/` only and never printed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato.files import PRIVATE, new_folder, write_text
from sfumato.report.figure import Figure, plain
from sfumato.report.sheet import Sheet

RESULT, PAGE = "result.json", "page.html"
RESULTS = "folder of results"  # what --force knows such folders by


@dataclass(frozen=True)
class Section:
    """One finding: what it says, its tables and its charts."""

    title: str
    words: str = ""
    sheets: tuple[Sheet, ...] = ()
    figures: tuple[Figure, ...] = ()
    private: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The section for JSON."""
        return {
            "title": self.title,
            "words": self.words,
            "tables": [sheet.to_dict() for sheet in self.sheets],
            "charts": [figure.to_dict() for figure in self.figures],
        }


@dataclass(frozen=True)
class Exhibit:
    """A named result in sections. `facts` are further figures for programs, in JSON only.

    `of_table`: it was worked out on people's own data, so that even its public sections are for
    the owner of the table.
    """

    name: str
    title: str
    about: str
    sections: tuple[Section, ...]
    facts: Mapping[str, object] = field(default_factory=dict)
    of_table: bool = False

    def public(self) -> Exhibit:
        """The exhibit without its private sections."""
        kept = tuple(section for section in self.sections if not section.private)
        return replace(self, sections=kept)

    def to_dict(self, *, private: bool = False) -> dict[str, Any]:
        """The exhibit for JSON; without its private sections unless asked."""
        chosen = self if private else self.public()
        return {
            "exhibit": self.name,
            "title": self.title,
            "about": self.about,
            "facts": _deep(self.facts),
            "sections": [section.to_dict() for section in chosen.sections],
        }

    def to_json(self, *, private: bool = False) -> str:
        return json.dumps(
            self.to_dict(private=private), indent=2, ensure_ascii=False, allow_nan=False
        )

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write result.json and page.html, and all of it with private sections to private/."""
        target = Path(folder)
        with new_folder(target, force=force, what=RESULTS) as new:
            self._write(new, private=False)
            if any(section.private for section in self.sections):
                (new / PRIVATE).mkdir(mode=0o700)
                self._write(new / PRIVATE, private=True)
        return target

    def _write(self, folder: Path, *, private: bool) -> None:
        from sfumato.report.html.exhibit import exhibit_page

        (folder / RESULT).write_text(self.to_json(private=private), encoding="utf-8")
        page = exhibit_page(self if private else self.public(), beside_result=True)
        (folder / PAGE).write_text(page, encoding="utf-8")

    def save_page(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the page alone, without private sections; still its owner's file."""
        from sfumato.report.html.exhibit import exhibit_page

        write_text(path, exhibit_page(self.public()), force=force, what="page")
        return Path(path)

    def text(self, width: int = 100) -> str:
        """The public sections as plain text."""
        from rich.console import Console

        from sfumato.report.exhibit_text import show

        console = Console(width=width, color_system=None, force_terminal=False)
        with console.capture() as captured:
            show(self, console)
        return captured.get()


def _deep(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _deep(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_deep(one) for one in value]
    return plain(value)
