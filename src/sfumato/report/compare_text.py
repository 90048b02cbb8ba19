"""A comparison on a terminal: the table, what its signs mean, why some points have no release."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sfumato.report.compare_table import FRONT, Grid, counted, grid_of
from sfumato.report.comparison import RISKS, Comparison

_MARK = "*"


def render(comparison: Comparison) -> RenderableType:
    """What the terminal shows."""
    grid = grid_of(comparison)
    head = Text.from_markup(
        f"[bold]{counted(comparison)}[/] of {escape(comparison.label)}, "
        f"{comparison.people:,} people\n"
        f"risk: {RISKS[comparison.risk][0]}; cost: {comparison.cost} "
        f"({escape(comparison.about[comparison.cost])}); lower is better for both"
    )
    parts: list[RenderableType] = [head, _table(grid)]
    if comparison.pareto:
        parts.append(Text(f"{_MARK} on the Pareto front: {FRONT}"))
    parts += [
        Text.assemble((row.label, "bold"), ": ", (row.message, "yellow"))
        for row in grid.rows
        if row.message
    ]
    parts += [Text(f"note: {note}", style="dim") for note in comparison.notes]
    return Group(*parts)


def _table(grid: Grid) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("", no_wrap=True)
    for place, heading in enumerate((*grid.settings, *grid.figures)):
        told = [(*row.settings, *row.figures)[place] for row in grid.rows]
        # Headings may fold in a narrow terminal, figures never.
        table.add_column(
            heading,
            justify="left" if heading in ("anonymizer", "policy") else "right",
            min_width=max(len(cell) for cell in told),
            overflow="fold",
        )
    for row in grid.rows:
        cells = [escape(cell) for cell in (*row.settings, *row.figures)]
        if row.message:
            cells[-1] = "none"
        table.add_row(
            _MARK if row.pareto else "",
            *cells,
            style="bold" if row.pareto else "yellow" if row.message else "",
        )
    return table


def to_text(comparison: Comparison, width: int = 120) -> str:
    """The comparison as plain text."""
    console = Console(width=width, color_system=None, force_terminal=False, record=False)
    with console.capture() as captured:
        console.print(render(comparison))
    return captured.get()
