"""A document as text: on a terminal, or as Markdown.

On a terminal its gist stands in at most thirty lines, the worst first and the answer last. Where
all is asked for the answer comes first, then words and tables, however narrow it is.

Charts are named; their data are in the JSON. No cell is cut off and no short word is broken: a
table that is too wide is broken into several, each with the columns that say what a row is about.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from sfumato.report.document import Document, Mood, PolicyStatus, Section, Sheet, mood_of

# A document as Markdown, such as the summary of a report that is kept with a data-protection file.
#
# Charts are told by their words; their pictures are on the page, their numbers in the JSON.

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
    for name, sentences in document.first.parts.items():
        lines += [f"**{plain_text(name)}**", ""]
        lines += [*(f"- {plain_text(sentence)}" for sentence in sentences), ""]
    for name, value in (*document.tiles.items(), *document.first.made.items()):
        lines.append(f"- {plain_text(name)}: {plain_text(value)}")
    for section in document.sections:
        lines += ["", f"## {plain_text(section.title)}", *_section(section)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(section: Section) -> Iterator[str]:
    paragraphs = section.paragraphs
    if paragraphs:
        yield ""
        yield from (
            f"{'- ' if len(paragraphs) > 1 else ''}{plain_text(words)}" for words in paragraphs
        )
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


_STYLES: dict[Mood, str] = {"": "", "good": "green", "bad": "bold red", "unsure": "yellow"}
_ANSWERS: dict[PolicyStatus, str] = {
    "holds": "bold green",
    "violated": "bold red",
    "could_not_judge": "bold yellow",
}
_STAR = "*"
_GAP = 2  # between columns
_WORD, _PIECE = 24, 12  # letters of a word that stays whole; of a longer one at least in a line
_HEADING = 16  # letters of a heading in one line
LINES = 27  # of a gist: two more are for what is written beside it
_ABOUT, _PART_LINES = 3, 3  # lines of what it is about; of the answer and of each closing line
_LONGEST = 4  # of them where there is room
_ROWS, _HEADING_LINES = 5, 3  # rows of its table that closing lines leave room for
_CUT = " ..."
_SHORT = 48  # a longer remark than this does not fit into a column beside the others


def show(document: Document, console: Console) -> None:
    """Print the public sections."""
    if document.answer is not None:
        console.print(Text(document.answer.words, style=_ANSWERS[document.answer.mood]))
    if document.title:
        console.print(Text(document.title, style="bold"))
    if document.about:
        console.print(Text(document.about))
    for section in document.public().sections:
        console.print()
        _show_section(section, console)


def show_gist(document: Document, console: Console) -> None:
    """Print what matters most in at most `LINES` lines; all of it where it has no gist."""
    gist = document.gist
    if gist is None:
        show(document, console)
        return
    width = console.width
    about = _wrapped(document.about if gist.about is None else gist.about, width, _ABOUT)
    head = [*(Text(line, style="bold") for line in _wrapped(document.title, width, 2))]
    head += [Text(line) for line in about]
    foot, lines_each = list(_closing(document, width)), _PART_LINES
    if gist.table is not None and gist.table.rows:
        around = len(head) + 2 * bool(head) + bool(foot)
        wanted = min(len(gist.table.rows), _ROWS) + _HEADING_LINES
        room = LINES - around - _lines(foot, lines_each)
        if room < wanted:
            lines_each -= 1
            room = min(wanted, LINES - around - _lines(foot, lines_each))
        rows = len(gist.table.rows)
        if gist.most is not None and rows > gist.most + 1:  # a line tells how many more there are
            rows = gist.most
        table = _cut_table(gist.table, console, room, rows)
        head += [Text(""), *table] if head else table
    if head and foot:
        head.append(Text(""))
    for line in (*head, *_fitted(foot, lines_each, LINES - len(head) - _lines(foot, lines_each))):
        console.print(line, soft_wrap=True)  # what is wider is one word, such as a path


def show_all(document: Document, console: Console) -> None:
    """Print the public sections, and after them the closing lines in full."""
    show(document, console)
    if document.gist is not None:
        console.print()
        for part in _closing(document, console.width):
            for line in part.first_lines(sys.maxsize):
                console.print(line, soft_wrap=True)


@dataclass(frozen=True)
class _Closing:
    """The answer, or something that it comes to beside what it is about, in lines."""

    about: str
    lines: Sequence[str]
    width: int
    beside: int = 0
    style: str = ""

    def first_lines(self, most: int) -> Iterator[Text]:
        """At most so many of its lines."""
        for at, line in enumerate(_cut(self.lines, self.width - self.beside, most)):
            about = "" if at else self.about
            between = " " * (self.beside - len(about))
            yield Text.assemble((about, "bold"), between, (line, self.style))


def _closing(document: Document, width: int) -> Iterator[_Closing]:
    gist, answer = document.gist, document.answer
    assert gist is not None
    if answer is not None:
        yield _Closing("", _wrapped(answer.words, width), width, style=_ANSWERS[answer.mood])
    closing = {about: words for about, words in gist.closing.items() if words}
    beside = max(map(len, closing), default=0) + _GAP
    for about, words in closing.items():
        yield _Closing(about, _wrapped(words, width - beside), width, beside)


def _lines(parts: Sequence[_Closing], lines_each: int) -> int:
    return sum(min(len(part.lines), lines_each) for part in parts)


def _fitted(parts: Sequence[_Closing], lines_each: int, spare: int) -> Iterator[Text]:
    """A few lines of each; the first that have more take those that are to spare."""
    for part in parts:
        more = max(0, min(len(part.lines), _LONGEST) - lines_each)
        taken = max(0, min(more, spare))
        spare -= taken
        yield from part.first_lines(lines_each + taken)


def _wrapped(words: str, width: int, most: int = sys.maxsize) -> list[str]:
    """Lines of whole words, at most so many; what is longer ends before a word."""
    lines = [
        line
        for paragraph in words.split("\n")
        for line in textwrap.wrap(
            paragraph, max(width, _WORD), break_long_words=False, break_on_hyphens=False
        )
    ]
    return _cut(lines, width, most)


def _cut(lines: Sequence[str], width: int, most: int) -> list[str]:
    if len(lines) <= most:
        return list(lines)
    last = lines[most - 1]
    while len(last) + len(_CUT) > width and " " in last:
        last = last.rpartition(" ")[0]
    return [*lines[: most - 1], f"{last.rstrip(',;:')}{_CUT}"]


def _cut_table(sheet: Sheet, console: Console, room: int, most: int) -> list[Text]:
    """As many rows as are wanted and there is room for, of the columns that fit; how many more."""
    columns, _ = _columns(replace(sheet, remark=""))
    keys = sheet.keys + bool(sheet.starred)
    while len(columns) > keys and _most(columns) > console.width:
        columns.pop()
    while len(columns) > 1 and _least(columns) > console.width:
        columns.pop()
    for many in range(min(most, room), 0, -1):
        cut_sheet = replace(sheet, rows=sheet.rows[:many])
        left = len(sheet.rows) - many
        with console.capture() as captured:
            console.print(_grid(columns, cut_sheet, console.width))
        lines = list(Text.from_ansi(captured.get().rstrip("\n")).split("\n"))
        for line in lines:
            line.rstrip()
        more = [Text(f"and {left:,} more; --verbose shows all", style="dim")] if left else []
        if many == 1 or len(lines) + len(more) <= room:
            return [*lines, *more]
    return []


def to_text(document: Document, width: int = 100) -> str:
    """The public sections and the closing lines as plain text."""
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        show_all(document, console)
    return captured.get()


def _show_section(section: Section, console: Console) -> None:
    if section.title:
        console.print(Text(section.title, style="bold underline"))
    if section.words:
        console.print(Text(section.words))
    for sheet in section.tables:
        _show_sheet(sheet, console)
    for chart in section.charts:
        console.print(Text(f"chart: {chart.title}. {chart.alt}", style="dim"))


def _show_sheet(sheet: Sheet, console: Console) -> None:
    if sheet.title:
        console.print()
        console.print(Text(sheet.title, style="italic"))
    columns, remarks = _columns(sheet)
    own_width = console.width
    for at, block in enumerate(_blocks(columns, sheet.keys + bool(sheet.starred), own_width)):
        if at:
            console.print()
        # If one column is wider than the terminal, that wraps it: nothing is cut off.
        console.width = max(own_width, _least(block))
        console.print(_grid(block, sheet, console.width))
    console.width = own_width
    if remarks:
        console.print(_below(remarks))
    if sheet.starred:
        console.print(Text(f"{_STAR} {sheet.star}"))
    for note in sheet.notes:
        console.print(Text(f"note: {note}", style="dim"))


@dataclass(frozen=True)
class _Column:
    """A column of a table: its heading, its cells and how each is marked."""

    heading: str
    cells: Sequence[str]
    moods: Sequence[Mood]
    wordy: bool

    @cached_property
    def least(self) -> int:
        """How narrow it may be: no number broken, no word either unless it is very long."""
        head = [len(piece) for piece in re.findall(r"[^\s-]+-?|-", self.heading)]
        cells = [
            _PIECE if self.wordy and len(word) > _WORD else len(word)
            for cell in self.cells
            for word in (cell.split() if self.wordy else (cell,))
        ]
        return max([*head, *cells], default=1)

    @cached_property
    def most(self) -> int:
        """How wide it likes to be; a long heading stands above numbers in two lines."""
        many = len(self.heading)
        heading = many if self.wordy or many <= _HEADING else many // 2 + 2
        lines = (line for cell in self.cells for line in cell.split("\n"))
        return max(self.least, heading, *map(len, lines))


def _columns(sheet: Sheet) -> tuple[list[_Column], list[str]]:
    """The columns, and the remarks that stand below them because one takes a sentence."""
    rows = sheet.texts()
    names, wordy = list(sheet.columns), list(sheet.wordy)
    moods = [[mood_of(cell) for cell in row] for row in rows]
    cells = [list(row) for row in rows]
    remarks: list[str] = []
    if sheet.remark and any(len(row[names.index(sheet.remark)]) > _SHORT for row in cells):
        at = names.index(sheet.remark)
        remarks = list(dict.fromkeys(row[at] for row in cells if row[at]))
        for row in cells:
            if row[at]:
                row[at - 1] += f" ({remarks.index(row[at]) + 1})"
        for part in (names, wordy, *cells, *moods):
            del part[at]  # type: ignore[attr-defined]
    columns = [
        _Column(name, [row[at] for row in cells], [row[at] for row in moods], wordy[at])
        for at, name in enumerate(names)
    ]
    if sheet.starred:
        signs = [_STAR if at in sheet.starred else "" for at in range(len(rows))]
        columns.insert(0, _Column("", signs, [""] * len(rows), wordy=True))
    return columns, remarks


def _least(columns: Sequence[_Column]) -> int:
    return sum(column.least for column in columns) + _GAP * (len(columns) - 1)


def _most(columns: Sequence[_Column]) -> int:
    return sum(column.most for column in columns) + _GAP * (len(columns) - 1)


def _blocks(columns: list[_Column], keys: int, width: int) -> Iterator[list[_Column]]:
    """All columns, or where they are too wide some at a time, each beside the keys."""
    if _least(columns) <= width:
        yield columns
        return
    head, block = columns[:keys], columns[:keys]
    for column in columns[keys:]:
        if len(block) > keys and _least([*block, column]) > width:
            yield block
            block = list(head)
        block = [*block, column]
    yield block


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """As wide as each likes to be where there is room; else numbers, then the widest, give way."""
    room = width - _GAP * (len(columns) - 1)
    most = [column.most for column in columns]
    if sum(most) > room:
        most = [column.most if column.wordy else column.least for column in columns]
    limit = max(most)

    def widths() -> list[int]:
        liked = zip(columns, most, strict=True)
        return [max(column.least, min(wide, limit)) for column, wide in liked]

    while limit > 1 and sum(widths()) > room:
        limit -= 1
    return widths()


def _grid(columns: Sequence[_Column], sheet: Sheet, width: int) -> Grid:
    grid = Grid(box=SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    for column, wide in zip(columns, _widths(columns, width), strict=True):
        heading = textwrap.wrap(column.heading, wide, break_long_words=False)
        justify = "left" if column.wordy else "right"
        grid.add_column(
            Text("\n".join(heading)),
            justify=justify,  # type: ignore[arg-type]
            overflow="fold",
            width=wide,
        )
    for at in range(len(sheet.rows)):
        row = [Text(column.cells[at], style=_STYLES[column.moods[at]]) for column in columns]
        grid.add_row(*row, style="bold" if at in sheet.starred else "")
    return grid


def _below(remarks: Sequence[str]) -> RenderableType:
    notes = Grid.grid(padding=(0, 1, 0, 0))
    notes.add_column(no_wrap=True)
    notes.add_column(overflow="fold")
    for at, remark in enumerate(remarks, start=1):
        notes.add_row(f"({at})", Text(remark))
    return notes
