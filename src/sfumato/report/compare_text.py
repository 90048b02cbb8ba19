"""A comparison on a terminal: the table, what its signs mean, why some points have no release."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sfumato.report.compare_table import FRONT, WORDS, Grid, counted, grid_of, reasons
from sfumato.report.comparison import RISKS, Comparison

_MARK = "*"
_RISKS = 5  # the first figures are about risk, the others about cost


def show(comparison: Comparison, console: Console) -> None:
    """Print one table, or two where one is too wide, what the signs mean, and the notes."""
    grid = grid_of(comparison)
    console.print(
        f"[bold]{counted(comparison)}[/] of {escape(comparison.label)}, "
        f"{comparison.people:,} people\n"
        f"risk: {RISKS[comparison.risk].words}; cost: {comparison.cost} "
        f"({escape(comparison.about[comparison.cost])}); lower is better for both",
        highlight=False,
    )
    figures = len(grid.figures)
    tables = [_table(grid, range(figures))]
    if _width(tables[0]) > console.width:
        tables = [_table(grid, range(_RISKS)), _table(grid, range(_RISKS, figures))]
    usual = console.width
    for table in tables:  # if still too wide, the terminal may wrap it; nothing is cut off
        console.width = max(usual, _width(table))
        console.print(table)
    console.width = usual
    if comparison.pareto:
        console.print(Text(f"{_MARK} on the Pareto front: {FRONT}"))
    for message, points in reasons(grid).items():
        console.print(Text.assemble((points, "bold"), ": ", (message, "yellow")))
    for note in comparison.notes:
        console.print(Text(f"note: {note}", style="dim"))


def _table(grid: Grid, chosen: range) -> Table:
    """The settings and some of the figures, each column as wide as its longest word."""
    headings = [*grid.settings, *(grid.figures[place] for place in chosen)]
    rows = [[*row.settings, *(row.figures[place] for place in chosen)] for row in grid.rows]
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("", width=1)
    for heading, column in zip(headings, zip(*rows, strict=True), strict=True):
        lines = "-\n".join(heading.split("-")) if "." not in heading else heading
        lines = lines.replace(" ", "\n")
        table.add_column(
            lines,
            justify="left" if heading in WORDS else "right",
            width=max(len(text) for text in (*lines.split("\n"), *column)),
        )
    for row, cells in zip(grid.rows, rows, strict=True):
        table.add_row(
            _MARK if row.pareto else "",
            *map(escape, cells),
            style="bold" if row.pareto else "yellow" if row.message else "",
        )
    return table


def _width(table: Table) -> int:
    vast = Console(width=10_000)
    return vast.measure(table).maximum


def to_text(comparison: Comparison, width: int = 120) -> str:
    """The comparison as plain text."""
    console = Console(width=width, color_system=None, force_terminal=False, record=False)
    with console.capture() as captured:
        show(comparison, console)
    return captured.get()
