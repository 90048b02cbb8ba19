"""Pictures without a script: bars beside their labels, and slopes from before to after.

They are tables and lists whose parts are as long as their figures: labels wrap as text does, on a
phone and on paper too, colours are the page's, and nothing need be drawn. A page of these alone
carries no Plotly.

Whoever shows a single chart, in a notebook say, needs no page.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from sfumato.report.document import CellNumber, Chart, Series, cell_text, percentage, plain

TEMPLATES = Path(__file__).parent / "templates"
_TOP, _BOTTOM, _TURN = 4, 96, 70  # percent of a slope's picture: its scale, and where lines end
_TICKS = (1.0, 0.75, 0.5, 0.25, 0.0)


@cache
def environment() -> Any:
    """Where templates are; whatever is put into them is text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def picture(chart: Chart, longest: float | None = None) -> str:
    """A chart that needs no script, as HTML; the page's style sheet gives it its look.

    `longest`: the longest bar of all charts that share its scale.
    """
    macros = environment().get_template("pictures.html").module
    if chart.kind == "slopes":
        return str(macros.slopes(chart, slopes_of(chart), _TICKS, height))
    rows = bars_of(chart, longest)
    return str(macros.shares(chart, rows) if chart.kind == "shares" else macros.rows(chart, rows))


@dataclass(frozen=True)
class PictureBar:
    """A bar of a label: whose it is, where it begins and how long it is, the number beside it.

    Both are parts of the room there is; bars of losses end where those of gains begin.
    """

    series: int
    name: str
    start: float
    length: float
    text: str
    title: str = ""


@dataclass(frozen=True)
class PictureRow:
    """A label and its bars."""

    label: str
    bars: tuple[PictureBar, ...]


def bars_of(chart: Chart, longest: float | None = None) -> list[PictureRow]:
    """Of each label its bars; the longest of the chart (or of several) takes all the room.

    "shares" have labels along x, bars that lie along y.
    """
    lying = chart.kind != "shares"
    places = [line.y if lying else line.x for line in chart.series]
    figures = [line.x if lying else line.y for line in chart.series]
    labels = list(dict.fromkeys(str(label) for of_series in places for label in of_series))
    if chart.ticks:
        labels = [str(tick) for tick in chart.ticks]
    drawn = [_figure(value) for of_series in figures for value in of_series]
    least = min([0.0, *drawn])
    room = longest or (max([0.0, *drawn]) - least) or 1.0
    percent = ("x" if lying else "y") in chart.percent or not lying
    rows: dict[str, list[PictureBar]] = {label: [] for label in labels}
    for number, (series, where, values) in enumerate(
        zip(chart.series, places, figures, strict=True)
    ):
        hover = series.text or [""] * len(values)
        for label, value, title in zip(where, values, hover, strict=True):
            text = percentage(value) if percent else cell_text(value, digits=3)
            figure, zero = _figure(value), -least / room
            start = zero + figure / room if figure < 0 else zero
            length = 1 - zero if _is_endless(value) else min(abs(figure) / room, 1.0)
            rows[str(label)].append(PictureBar(number, series.name, start, length, text, title))
    return [PictureRow(label, tuple(bars)) for label, bars in rows.items()]


def longest_of(charts: list[Chart]) -> float:
    """The longest bar of several charts that share a scale."""
    return max(
        (_figure(share) for chart in charts for line in chart.series for share in line.y),
        default=0.0,
    )


def _figure(value: CellNumber) -> float:
    """A number that is drawn; what is endless or does not apply is none."""
    number = plain(value)
    return float(number) if isinstance(number, int | float) else 0.0


def _is_endless(value: CellNumber) -> bool:
    return isinstance(value, float) and not isfinite(value)


@dataclass(frozen=True)
class Slope:
    """A line from before to after, and the row its label stands in: heights in percent."""

    name: str
    about: str
    before: str
    after: str
    stands_out: bool
    start: float
    end: float
    row: float

    @property
    def line(self) -> str:
        return f"M0 {self.start:.2f}L{_TURN} {self.end:.2f}"

    @property
    def leader(self) -> str:
        return f"M{_TURN} {self.end:.2f}L100 {self.row:.2f}"

    @property
    def dots(self) -> str:
        """Lines without length: round ends make dots of them, however the picture is stretched."""
        return f"M0 {self.start:.2f}h0M{_TURN} {self.end:.2f}h0"


def slopes_of(chart: Chart) -> list[Slope]:
    """From the highest after to the lowest: labels stand in rows of one height, so none collide."""
    drawn = sorted(
        (line for line in chart.series if _is_drawn(line)), key=lambda line: -_figure(line.y[-1])
    )
    slopes = []
    for at, series in enumerate(drawn):
        before, after = series.labels or [percentage(value) for value in series.y]
        slopes.append(
            Slope(
                series.name,
                (series.text or ("",))[-1],
                before,
                after,
                bool(series.strong and series.strong[-1]),
                height(_figure(series.y[0])),
                height(_figure(series.y[-1])),
                100 * (at + 0.5) / len(drawn),
            )
        )
    return slopes


def _is_drawn(series: Series) -> bool:
    return all(isinstance(plain(value), int | float) for value in series.y)


def height(share: float) -> float:
    """Where a share lies, in percent from the top."""
    return _BOTTOM - (_BOTTOM - _TOP) * share
