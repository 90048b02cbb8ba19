"""A document as a page that opens offline: its head, tables that sort, charts that are drawn.

Jinja and the page; other forms of a document do not load it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from sfumato.errors import InputError, name_some
from sfumato.progress import phase
from sfumato.report.document import (
    BOUND,
    Chart,
    ChartKind,
    Document,
    Section,
    Sheet,
    is_word,
    mood_of,
    plain,
)
from sfumato.report.glossary import Term, Words, is_term
from sfumato.report.html.draw import draw, drawable, spec
from sfumato.report.html.pictures import TEMPLATES, environment, longest_of, picture

if TYPE_CHECKING:
    from jinja2 import Template
    from plotly.graph_objects import Figure

_MOST_NUMBERS = 400  # points of a chart that are also listed below it; the JSON has them all
_BOUND_NAMED = re.compile(r"\w+ [≤≥<>=] ")  # a bound of ours: t ≤ 0.4 (equal)
_BROKEN = " (not kept)"  # of a criterion that should bound somebody
_CONTENTS = 6  # so many sections have a list of them above


class Explained:
    """Texts of a page with the words of the glossary explained: once a section, and at the end.

    A word leads to its entry at the end of the page and says what it means when pointed at; in a
    heading, which is a button, it only says so.
    """

    def __init__(self) -> None:
        self._words = Words()
        self._here: set[str] = set()

    def begin(self) -> str:
        """A new section, where words are explained again."""
        self._here.clear()
        return ""

    @property
    def met(self) -> list[Term]:
        return self._words.met

    @staticmethod
    def place(term: Term) -> str:
        return "term-" + re.sub(r"\W+", "-", term.word)

    def __call__(self, text: str, where: Literal["words", "heading", "cell"] = "words") -> str:
        """As HTML; of a cell only what is a word of ours as a whole, or several that are listed."""
        from markupsafe import Markup, escape

        if where != "cell" or is_term(text) or _BOUND_NAMED.match(text):
            return Markup("").join(self._pieces(text, heading=where == "heading"))
        between = "; " if "; " in text else ", "
        listed = [word.removesuffix(_BROKEN) for word in text.split(between)]
        if not all(map(is_term, listed)):
            return escape(text)
        explained = (Markup("").join(self._pieces(word, heading=False)) for word in listed)
        kept = (_BROKEN * word.endswith(_BROKEN) for word in text.split(between))
        return Markup(between).join(a + b for a, b in zip(explained, kept, strict=True))

    def _pieces(self, text: str, *, heading: bool) -> Iterator[str]:
        from markupsafe import Markup, escape

        for piece, term in self._words.pieces(text):
            if term is None:
                yield escape(piece)
            elif heading:
                yield Markup('<abbr title="{}">{}</abbr>').format(term.explained, piece)
            elif term.word in self._here:
                yield escape(piece)
            else:
                self._here.add(term.word)
                yield Markup('<a class="term" href="#{}" title="{}">{}</a>').format(
                    self.place(term), term.explained, piece
                )


@phase("drawing the page")
def document_page(document: Document) -> str:
    """Every section of the document, private ones too: callers choose what they pass."""
    charts = [chart for section in document.sections for chart in section.charts]
    drawn = any(not chart.scriptless for chart in charts)
    single = any(section.private for section in document.sections)
    return _fill(
        plotly_script() if drawn else "",
        document=document,
        private="shows single people" if single else document.private,
        sections=[
            {"id": f"section-{at}", **section_parts(section, f"chart-{at}")}
            for at, section in enumerate(document.sections)
        ],
        contents=len(document.sections) >= _CONTENTS,
        explain=Explained(),
    )


def section_parts(section: Section, place: str) -> dict[str, object]:
    """A section with its charts drawn; `place` is how the ids of their places begin."""
    shares = [chart for chart in section.charts if chart.kind == "shares"]
    longest = longest_of(shares)
    return {
        "title": section.title,
        "private": section.private,
        "paragraphs": section.paragraphs,
        "tables": section.tables,
        "shares": [picture(chart, longest) for chart in shares],
        "charts": [
            {
                "title": chart.title,
                "alt": chart.alt,
                "scriptless": chart.scriptless,
                "in_space": chart.kind == "cloud",
                "html": _drawn(chart, f"{place}-{no}"),
                "numbers": numbers_of(chart),
            }
            for no, chart in enumerate(section.charts)
            if chart.kind != "shares"
        ],
    }


def _drawn(chart: Chart, place: str) -> str:
    """The chart as HTML; empty where nothing of it has a place on its axes."""
    if not drawable(chart):
        return ""
    return picture(chart) if chart.scriptless else draw(chart, place)


@dataclass(frozen=True)
class TableCell:
    """A cell of a table: its text, the number it is sorted by, and how it is marked."""

    text: str
    sort: str | None
    mood: str


def cells_of(sheet: Sheet) -> list[list[TableCell]]:
    """The cells of a table."""
    return [
        [TableCell(text, _sort(cell), mood_of(text)) for text, cell in zip(texts, row, strict=True)]
        for texts, row in zip(sheet.texts(), sheet.rows, strict=True)
    ]


def _sort(cell: object) -> str | None:
    """A number for the script to sort by, nothing for what does not apply; None: by its text."""
    value = plain(cell)
    if value is None or value == "":
        return ""
    if isinstance(value, bool) or is_word(value):
        return None
    if not isinstance(value, str):
        return repr(value)
    bound = BOUND.fullmatch(value)
    if bound is None:
        return "-Infinity" if value == "-inf" else "Infinity"
    return "0.5" if "<" in value else bound[1].replace(",", "")


def numbers_of(chart: Chart) -> Sheet | None:
    """The points of a chart as a table; None where they are too many to be read.

    Bars that lie are one.
    """
    many = sum(len(line.x) for line in chart.series)
    if chart.lying or not 0 < many <= _MOST_NUMBERS:
        return None
    first = chart.series[0]
    same_x = all(list(line.x) == list(first.x) and line.text is None for line in chart.series)
    if chart.kind == "slopes":
        return Sheet(
            ("question", "whose", *(str(place) for place in first.x)),
            tuple((line.name, (line.text or ("",))[-1], *line.y) for line in chart.series),
            percent=tuple(str(place) for place in first.x),
        )
    if same_x and chart.kind != "cloud":
        names = tuple(line.name for line in chart.series)
        rows = zip(first.x, *(line.y for line in chart.series), strict=True)
        shares = names if chart.kind == "shares" or "y" in chart.percent else ()
        across = (chart.x,) if "x" in chart.percent else ()
        return Sheet((chart.x, *names), tuple(rows), percent=(*across, *shares))
    columns = ["series", chart.x, chart.y]
    columns += [chart.z] if chart.kind == "cloud" else []
    named = any(line.text is not None for line in chart.series)
    listed = []
    for line in chart.series:
        for at in range(len(line.x)):
            row: list[object] = [line.name, line.x[at], line.y[at]]
            row += [line.z[at]] if line.z is not None else []
            label = "" if line.text is None else line.text[at].replace("\n", ", ")
            row += [label] if named else []
            listed.append(tuple(row))
    columns += ["what it is"] if named else []
    in_percent = [
        title for axis, title in zip("xy", columns[1:3], strict=True) if axis in chart.percent
    ]
    return Sheet(tuple(columns), tuple(listed), percent=tuple(in_percent))


def figure_named(document: Document, name: str) -> Figure:
    """The chart of this name or title, or whose title has it as a part."""
    from plotly.graph_objects import Figure

    charts = [chart for section in document.sections for chart in section.charts]
    asked = str(name).casefold()
    meant = [chart for chart in charts if asked in (chart.name.casefold(), chart.title.casefold())]
    meant = meant or [chart for chart in charts if asked in chart.title.casefold()]
    if len(meant) != 1:
        complaint = "is the name of several charts" if meant else "is no chart"
        known = name_some([chart.title for chart in meant or charts], len(charts)) or "none"
        raise InputError(f"{name!r} {complaint} of {document.title!r}; its charts are {known}")
    (chart,) = meant
    if chart.scriptless:  # a page draws these without any script
        kind: ChartKind = "lines" if chart.kind == "slopes" else "bars"
        chart = replace(chart, kind=kind, percent=chart.percent or "y" * (not chart.lying))
    drawing = spec(chart)
    return Figure({"data": drawing["data"], "layout": drawing["layout"]})


@cache
def plotly_script() -> str:
    """Plotly's own JavaScript, to stand once in a page; its Python is not needed."""
    return files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")


def _fill(script: str, **content: Any) -> str:
    """The template with its content; `script` is what draws its charts, empty where it has none.

    Only scripts of ours run: the page's security policy names each by its hash, taken here of the
    scripts themselves and not of the page, so that whatever got into its text stays text.
    """
    own = ("sort.js", "draw.js") if script else ("sort.js",)
    scripts, hashes = _hashed(
        tuple(
            text
            for text in (script, *((TEMPLATES / name).read_text(encoding="utf-8") for name in own))
            if text
        )
    )
    page = template("document.html")
    return page.render(**content, scripts=scripts, script_source=" ".join(hashes))


def _unexplained(text: str, _where: str = "") -> str:
    """For parts of a page that stand elsewhere, without a glossary."""
    return text


@cache
def template(name: str) -> Template:
    """One of the templates here, which all know how cells are told and bars drawn."""
    known = {"cells_of": cells_of, "picture": picture, "explain": _unexplained}
    environment().globals |= known
    loaded: Template = environment().get_template(name)
    return loaded


@cache
def _hashed(scripts: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Scripts as a browser reads them (every line end is one sign), and the hashes it takes."""
    read = [text.replace("\r\n", "\n").replace("\r", "\n") for text in scripts]
    return read, [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in read]
