"""The one model of whatever is told: a document of sections, each of words, tables and charts.

A report, a comparison, a characterization, an attack's result and a paper's reproduction are
documents. What a document holds is plain data; renderers turn it into text for a terminal and
Markdown (`text.py`), a page that opens offline (`html/`) and JSON for programs (`json.py`).
Private sections, which may show single people, are written to `private/` only and never printed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from sfumato.errors import InputError
from sfumato.files import PRIVATE, new_folder, write_text
from sfumato.notebook import Displayed
from sfumato.numbers import percent, told_beside

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

RESULT, PAGE = "result.json", "page.html"
RESULTS = "folder of results"  # what --force knows such folders by
OF_TABLE = "was worked out on the original table"  # why a document is private
BOUND = re.compile(r"(?:<|≤|at most (?:<|under )?)([\d,.e+-]+)%?")  # a number, not told exactly

ChartKind = Literal["lines", "steps", "bars", "points", "cloud", "map", "shares", "slopes"]
CellNumber = float | int | str | None
PolicyStatus = Literal["holds", "violated", "could_not_judge"]
Mood = Literal["", "good", "bad", "unsure"]
_MOODS: dict[str, Mood] = {"holds": "good", "violated": "bad"}
_UNSURE = "not measured, not applicable, not converged, cannot judge, not judged, no safe release"
_MOODS |= dict.fromkeys((*_UNSURE.split(", "), "not possible"), "unsure")


# -- charts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Series:
    """One line, row of bars or kind of mark; `text` names the marks.

    `mark` is their shape ("star"); without it each series of a chart has a shape of its own. Lines
    that are `of` one thing share its colour. On a map, `labels` are what is written beside marks
    where there is room, `strong` the marks that stand out.
    """

    name: str
    x: Sequence[CellNumber]
    y: Sequence[CellNumber]
    z: Sequence[CellNumber] | None = None
    text: Sequence[str] | None = None
    mark: str = ""
    labels: Sequence[str] | None = None
    strong: Sequence[bool] | None = None
    of: str = ""

    def __post_init__(self) -> None:
        given = (self.x, self.y, self.z, self.text, self.labels, self.strong)
        if len({len(coordinates) for coordinates in given if coordinates is not None}) != 1:
            raise InputError(f"series {self.name!r}: its coordinates differ in length")


@dataclass(frozen=True)
class Chart:
    """A chart: `x`, `y` and `z` are what the axes show, `alt` says it all without the picture.

    "cloud" is points in space; the others are flat; "map" is points with labels, of which some
    stand out; "shares" are small bars by label; each series of "slopes" is a line from what was
    before to what is after. `percent` names the axes
    that show shares ("x", "y", "xy"); `behind` are thin lines behind it all, None where one ends;
    `ticks` are the places marked along x, or along the axis of texts in their order. The numbers
    along a `bare` axis mean nothing and are not shown. `name` is what programs ask for it by; it
    stays the same whatever the title says ("beliefs", "epsilon/disease").
    """

    title: str
    kind: ChartKind
    x: str
    y: str
    series: tuple[Series, ...]
    z: str = ""
    log_x: bool = False
    log_y: bool = False
    alt: str = ""
    percent: str = ""
    behind: tuple[Series, ...] = ()
    ticks: tuple[CellNumber, ...] = ()
    bare: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", re.sub(r"\W+", "-", self.title.lower()).strip("-"))
        if self.kind not in get_args(ChartKind):
            raise InputError(
                f"chart: {self.kind!r} is no kind; use {', '.join(get_args(ChartKind))}"
            )
        if not self.alt:
            raise InputError(f"chart {self.title!r} has no text for those who cannot see it")
        if (self.kind == "cloud") != all(line.z is not None for line in self.series):
            raise InputError(f"chart {self.title!r}: only a cloud has a third coordinate")

    @property
    def lying(self) -> bool:
        """Whether its bars lie beside texts."""
        named = [any(isinstance(place, str) for place in line.y) for line in self.series]
        return self.kind == "bars" and any(named) and not self.log_x

    @property
    def scriptless(self) -> bool:
        """Whether it is drawn without any script: it is a table or a list."""
        return self.kind in ("shares", "slopes") or self.lying


# -- tables ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sheet:
    """A table of figures. A cell is a text, a number, a yes or no, or None: does not apply.

    `percent` names columns of shares that are told in percent, `percent_rows` rows of them;
    `digits` is how many are told of other numbers. The first `keys` columns say what a row is
    about: a table too wide for a terminal is broken into several, and each has them. `remark` is a
    column of sentences, which may stand below the table instead. `starred` rows stand out, and
    `star` says why. One that is `folded` is opened by who asks for it, on a page.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    percent: tuple[str, ...] = ()
    percent_rows: tuple[int, ...] = ()
    digits: int = 4
    keys: int = 1
    remark: str = ""
    starred: tuple[int, ...] = ()
    star: str = ""
    folded: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InputError(
                    f"sheet {self.title!r}: {len(row)} cells for {len(self.columns)} columns"
                )

    @cached_property
    def wordy(self) -> tuple[bool, ...]:
        """Which columns hold words, to be set left."""
        return tuple(
            any(is_word(plain(row[at])) for row in self.rows) for at in range(len(self.columns))
        )

    def taking(self, *columns: str) -> Sheet:
        """The same with these columns, in this order."""
        rows = (dict(zip(self.columns, row, strict=True)) for row in self.rows)
        cells = tuple(tuple(row[name] for name in columns) for row in rows)
        return replace(self, columns=columns, rows=cells)

    def texts(self) -> list[tuple[str, ...]]:
        """The cells as people read them; a number does not look like another one in its row."""
        shares = [name in self.percent for name in self.columns]
        beside = [" ".join(cell for cell in row if isinstance(cell, str)) for row in self.rows]
        return [
            tuple(
                percentage(cell)
                if share or at in self.percent_rows
                else cell_text(cell, words, digits=self.digits)
                for cell, share in zip(row, shares, strict=True)
            )
            for at, (row, words) in enumerate(zip(self.rows, beside, strict=True))
        ]


def plain(value: object) -> Any:
    """A value as JSON may hold it: infinity is "inf", what does not apply is null.

    The only place that decides it, for JSON and for whoever reads a cell.
    """
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
    return value


def is_word(value: object) -> bool:
    """Whether a cell is text; infinity, "<10", "at most 10" and nothing stand for numbers."""
    numeric = ("", "inf", "-inf", "at most inf")
    return isinstance(value, str) and value not in numeric and not BOUND.fullmatch(value)


def mood_of(text: str) -> Mood:
    """How a cell with this text is marked."""
    return _MOODS.get(text, "")


def cell_text(cell: object, beside: str = "", *, digits: int = 4) -> str:
    """A cell as people read it, beside the words of its row; from ten thousand on to the unit."""
    value = plain(cell)
    if value is None:
        return "n/a"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and 0 < abs(value) < 1e-14:  # it is how it was worked out
        return "0"
    if isinstance(value, float) and not value.is_integer():
        whole = len(f"{abs(value):.0f}") if abs(value) >= 10_000 else 0
        return number(float(told_beside(value, beside, max(digits, whole))), beside=beside)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def percentage(cell: object) -> str:
    """A share in percent, in three digits."""
    value = plain(cell)
    return percent(value) if isinstance(value, float | int) else cell_text(value)


def number(value: float | None, *, at_most: bool = False, beside: str = "", digits: int = 6) -> str:
    """A figure in a sentence, exact when it is whole; infinity as such.

    `at_most`: it is an upper bound, and says so. `beside`: what stands next to it, where it does
    not look like a number that it is not.
    """
    if value is None:
        return "–"
    if at_most:
        return f"at most {number(value, beside=beside, digits=digits)}"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if float(value).is_integer():
        return f"{int(value):,}"
    text = told_beside(value, beside, digits)  # one that is not whole does not look so
    return told_beside(value, beside, 6) if float(text).is_integer() else text


# -- documents -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Section:
    """One finding: what it says (blank lines part paragraphs), its tables and its charts."""

    title: str
    words: str = ""
    tables: tuple[Sheet, ...] = ()
    charts: tuple[Chart, ...] = ()
    private: bool = False

    @property
    def paragraphs(self) -> list[str]:
        return self.words.split("\n\n") if self.words else []


@dataclass(frozen=True)
class Answer:
    """What a document says to the question whether a policy holds, in a sentence.

    `but`: something stands beside it that must not be overlooked, so it does not look all good.
    """

    status: PolicyStatus
    words: str
    but: bool = False

    @property
    def mood(self) -> PolicyStatus:
        """How it is marked."""
        return "could_not_judge" if self.but and self.status == "holds" else self.status


@dataclass(frozen=True)
class FirstScreen:
    """What somebody decides by and signs, above all sections.

    `reply` answers its question in a word, `parts` are a few lines each by what they answer; `made`
    tells who made it, when and of what. Where it is `to_sign`, a printed page has a place for that.
    """

    question: str = ""
    reply: str = ""
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    to_sign: bool = False


@dataclass(frozen=True)
class Gist:
    """What a terminal tells of a document unless all of it is asked for.

    One `table`, the worst first: where there is no room the last columns give way, but for its
    keys, and the last rows above `most`. Then the `closing` lines, by what each is about
    ("promised"): the answer comes last. `about` stands for the document's own.
    """

    closing: Mapping[str, str]
    table: Sheet | None = None
    about: str | None = None
    most: int | None = None


@dataclass(frozen=True, repr=False)
class Document(Displayed):
    """A named result in sections.

    `facts` are further figures for programs, in JSON only; where they are `on_top` they are its
    keys, beside the sections. `private` says why the whole document is its owner's ("describes
    single groups of people"), `may_go_out` why it is not, where that is so. A document may begin
    with an `answer`, what else is on its `first` screen, `warnings` and a few figures by name
    (`tiles`), and end with a `closing` line. Its `gist` is what a terminal shows.
    """

    name: str
    title: str
    about: str
    sections: tuple[Section, ...]
    facts: Mapping[str, object] = field(default_factory=dict)
    private: str = ""
    on_top: bool = False
    answer: Answer | None = None
    warnings: tuple[str, ...] = ()
    tiles: Mapping[str, str] = field(default_factory=dict)
    closing: str = ""
    first: FirstScreen = field(default_factory=FirstScreen)
    may_go_out: str = "tells nothing that the published data do not tell anybody"
    gist: Gist | None = None

    def _in_short(self) -> tuple[str, ...]:
        return self.title, self.about, f"{len(self.sections)} sections"

    def public(self) -> Document:
        """The document without its private sections."""
        kept = tuple(section for section in self.sections if not section.private)
        return replace(self, sections=kept)

    def to_json(self, *, private: bool = False) -> str:
        """All of it for programs; without its private sections unless asked."""
        from sfumato.report.json import pieces_of

        return "".join(pieces_of(self if private else self.public()))

    def write_json(self, path: Path, *, private: bool = False) -> None:
        """The same into a file that is being made, piece by piece: no text of all of it is made."""
        from sfumato.report.json import pieces_of

        with path.open("w", encoding="utf-8") as file:
            file.writelines(pieces_of(self if private else self.public()))
            file.write("\n")

    def to_markdown(self) -> str:
        from sfumato.report.text import to_markdown

        return to_markdown(self.public())

    def to_html(self, *, private: bool = False) -> str:
        """A page that needs nothing but a browser; without private sections unless asked."""
        from sfumato.report.html.page import document_page

        return document_page(self if private else self.public())

    def text(self, width: int = 100) -> str:
        """The public sections as plain text."""
        from sfumato.report.text import to_text

        return to_text(self.public(), width)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write result.json and page.html, and all of it with private sections to private/."""
        target = Path(folder)
        with new_folder(target, force=force, kind=RESULTS) as new:
            self._write(new, private=False)
            if any(section.private for section in self.sections):
                (new / PRIVATE).mkdir(mode=0o700)
                self._write(new / PRIVATE, private=True)
        return target

    def _write(self, folder: Path, *, private: bool) -> None:
        beside = replace(self, closing=f"The same figures are in {RESULT}.")
        self.write_json(folder / RESULT, private=private)
        (folder / PAGE).write_text(beside.to_html(private=private), encoding="utf-8")

    def save_page(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the page alone, without private sections; still its owner's file."""
        write_text(path, self.to_html(), force=force, kind="page")
        return Path(path)


class Documented(Displayed):
    """A result that is told by a document."""

    def document(self) -> Document:
        """All of it, for the page and for JSON."""
        raise NotImplementedError

    def brief(self) -> Document:
        """What a terminal shows."""
        return self.document()

    def to_json(self) -> str:
        return self.document().to_json()

    def to_html(self) -> str:
        """A page that needs nothing but a browser."""
        return self.document().to_html()

    def chart(self, name: str) -> Figure:
        """One chart of its page as a Plotly figure, by its title or a part of it."""
        from sfumato.report.html.page import figure_named

        return figure_named(self.document(), name)

    def __str__(self) -> str:
        return self.brief().text(120)


# -- what JSON can hold ----------------------------------------------------------------------------
#
# Infinity is a value and written "inf", what does not apply is null: JSON has no number for
# either. A report's keys are those of the schema in `schema/`; its public variant has no worst
# groups and no small counts ("<10").

SCHEMA_VERSION = 2  # of reports
SCHEMA = Path(__file__).parent / "schema" / f"report-{SCHEMA_VERSION}.json"


def as_json(value: object) -> str:
    """Whatever is told, as JSON; whole numbers without a fraction."""
    return json.dumps(cleaned(value), indent=1, ensure_ascii=False, allow_nan=False)


def cleaned(value: object) -> Any:
    """Whatever is told, as JSON can hold it; whole numbers without a fraction."""
    if isinstance(value, Mapping):
        return {str(key): cleaned(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(entry) for entry in value]
    value_ = plain(value)
    if isinstance(value_, float) and value_.is_integer() and abs(value_) < 2**53:
        return int(value_)
    return value_
