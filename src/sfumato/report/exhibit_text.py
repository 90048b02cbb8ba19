"""An exhibit on a terminal: words and tables; charts are named, their data are in the JSON."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfumato.report.exhibit import Exhibit
from sfumato.report.sheet import Sheet


def show(exhibit: Exhibit, console: Console) -> None:
    """Print the public sections."""
    console.print(Text(exhibit.title, style="bold"))
    if exhibit.about:
        console.print(Text(exhibit.about))
    for section in exhibit.public().sections:
        console.print()
        console.print(Text(section.title, style="bold underline"))
        if section.words:
            console.print(Text(section.words))
        for sheet in section.sheets:
            show_sheet(sheet, console)
        for figure in section.figures:
            console.print(Text(f"chart: {figure.title}. {figure.alt}", style="dim"))


def show_sheet(sheet: Sheet, console: Console) -> None:
    """One table; too wide a one may be wrapped by the terminal, nothing is cut off."""
    if sheet.title:
        console.print()
        console.print(Text(sheet.title, style="italic"))
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column, wordy in zip(sheet.columns, sheet.wordy, strict=True):
        table.add_column(Text(column), justify="left" if wordy else "right", overflow="fold")
    for row in sheet.texts():
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    for note in sheet.notes:
        console.print(Text(f"note: {note}", style="dim"))
