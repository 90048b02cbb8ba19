"""A document as Markdown, such as the summary of a report that is kept with a data-protection file.

Charts are told by their words; their pictures are on the page, their numbers in the JSON.

Stands apart: one of the four renderers of a document.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.report.document import Document, Section, Sheet

_SIGNS = "\\`*_{}[]<>#|~"


def to_markdown(document: Document) -> str:
    """Every section that is given."""
    lines = [f"# {plain_text(document.title)}", ""]
    if document.private:
        lines += [f"**Private: this file {document.private}. Keep it, do not hand it out.**", ""]
    head = [document.answer.words] if document.answer is not None else []
    for words in (*head, *document.warnings, *document.about.split("\n\n")):
        if words:
            lines += [plain_text(words), ""]
    for name, value in document.tiles.items():
        lines.append(f"- {plain_text(name)}: {plain_text(value)}")
    for section in document.sections:
        lines += ["", f"## {plain_text(section.title)}", *_section(section)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(section: Section) -> Iterator[str]:
    told = section.paragraphs
    if told:
        yield ""
        yield from (f"{'- ' if len(told) > 1 else ''}{plain_text(words)}" for words in told)
    for sheet in section.tables:
        yield ""
        if sheet.title:
            yield from (f"*{plain_text(sheet.title)}*", "")
        yield from _table(sheet)
        for note in sheet.notes:
            yield from ("", plain_text(note))
    for chart in section.charts:
        yield from ("", f"*{plain_text(chart.title)}.* {plain_text(chart.alt)}")


def _table(sheet: Sheet) -> Iterator[str]:
    star = [""] if sheet.starred else []
    columns = [*star, *(plain_text(column) for column in sheet.columns)]
    rules = [*("---" for _ in star), *("---" if wordy else "--:" for wordy in sheet.wordy)]
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join(rules)}|"
    for at, row in enumerate(sheet.texts()):
        sign = ["★" if at in sheet.starred else ""] if star else []
        yield f"| {' | '.join([*sign, *(plain_text(cell) for cell in row)])} |"
    if sheet.starred:
        yield from ("", f"★ {plain_text(sheet.star)}")


def plain_text(text: str) -> str:
    """A text that no reader of Markdown takes for anything but text, in one line."""
    escaped = "".join(f"\\{sign}" if sign in _SIGNS else sign for sign in text)
    return " ".join(escaped.split())
