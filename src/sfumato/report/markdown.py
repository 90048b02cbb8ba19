"""The report as a short Markdown summary, to be kept with a data-protection file.

What was released, the verdict, criteria, threats, costs and what to do next; the charts and the
worst groups are in the page and the JSON.
"""

from __future__ import annotations

from sfumato.report.headline import KEPT, glance, headline
from sfumato.report.model import Report
from sfumato.report.parts import criteria, next_steps, notes, threats
from sfumato.report.sheet import Sheet, shown
from sfumato.report.worth import closing_words

_SIGNS = "\\`*_{}[]<>#|~"


def to_markdown(report: Report) -> str:
    """The summary; private, unless the report is public."""
    summary = report.summary
    lines = [f"# Report on {plain(summary.label)}", ""]
    if report.audience == "private":
        lines += ["**Private: keep it, do not hand it out.**", ""]
    lines += [plain(headline(report)), ""]
    if report.audience == "private":
        lines += [line for words in closing_words(report) for line in (plain(words), "")]
    lines += [f"- scheme: {'a table as it stands' if summary.raw else plain(summary.scheme)}"]
    for name, columns in (
        ("quasi-identifiers", summary.quasi),
        ("sensitive", summary.sensitive),
        ("published as they are", summary.keep),
    ):
        if columns:
            lines.append(f"- {name}: {', '.join(plain(column) for column in columns)}")
    for name, value in glance(report).items():
        lines.append(f"- {plain(name)}: {f'{value:.1%}' if name == KEPT else plain(shown(value))}")
    for part in (criteria.section, threats.section, next_steps.section, notes.section):
        section = part(report)
        if section is None:
            continue
        lines += ["", f"## {plain(section.title)}", ""]
        if part is next_steps.section or part is notes.section:
            lines += [f"- {plain(words)}" for words in section.words.split("\n\n")]
        else:
            lines += _table(section.sheets[0])
    return "\n".join(lines) + "\n"


def _table(sheet: Sheet) -> list[str]:
    head = f"| {' | '.join(plain(column) for column in sheet.columns)} |"
    rule = "|" + "|".join("---" if wordy else "--:" for wordy in sheet.wordy) + "|"
    rows = [f"| {' | '.join(plain(cell) for cell in row)} |" for row in sheet.texts()]
    return [head, rule, *rows]


def plain(text: str) -> str:
    """A text that no reader of Markdown takes for anything but text, in one line."""
    escaped = "".join(f"\\{sign}" if sign in _SIGNS else sign for sign in text)
    return " ".join(escaped.split())
