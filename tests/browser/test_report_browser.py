"""The report in a real browser: nothing fetched, everything drawn, usable by keyboard and ear."""

from __future__ import annotations

import re
from base64 import b64decode
from itertools import pairwise

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.report.document import Chart, Document, Section, Series, Sheet
from tests.report.conftest import made
from tests.report.zoo import people

# What a label may be, if somebody means harm or nobody thought of it.
HOSTILE = {
    "markup": "<b>bold</b><img src=x onerror=document.title='broken'>",
    "script": "</script><script>document.title='broken'</script>",
    "link": "<a href='javascript:document.title=1'>press</a>",
    "entity": "&lt;i&gt; &amp; &#x3c;",
    "template": "{{ 7 * 7 }} {% raise %} %{x} ${y}",
    "long": "Donaudampfschifffahrtsgesellschaft" * 40,
    "right to left": "مرض القلب \u202egnorw\u202c",
    "emoji": "🤒👩\u200d👩\u200d👧 café",
    "number": "007",
    "date": "2024-01-31",
    "blank": "  ",
    "quotes": '"it\'s" `so`',
}


def clean(found) -> None:
    assert found.errors == []
    assert [asked for asked in found.requests if not asked.startswith("file:")] == []
    assert len(found.requests) == 1


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(
    "name", ["raw", "lattice", "realistic", "several", "acquainted", "attacked", "randomised"]
)
def test_a_report_opens_without_a_word_and_draws_all_its_charts(visit, name, public) -> None:
    report = made(name).public() if public else made(name)
    found = visit(report.to_html())
    charts = found.ask("[...document.querySelectorAll('.chart')].map(place => place.id)")
    assert found.drawn() == charts
    assert found.ask("document.querySelectorAll('.failed').length") == 0
    clean(found)


def test_a_script_that_is_not_ours_does_not_run(visit) -> None:
    page = made("lattice").to_html()
    harm = "document.title = 'broken'"
    planted = f'<script>{harm}</script><img src=x onerror="{harm}">'
    found = visit(page.replace("</body>", f"{planted}</body>"))
    assert found.ask("document.title") != "broken"
    assert len(found.drawn()) > 0  # and ours do
    assert "unsafe-inline'; style" not in page


def test_ten_thousand_groups(visit) -> None:
    many = 12_000
    rows = pa.table(
        {"q": [at // 2 for at in range(2 * many)], "s": ["a", "b", "c", "d"] * (many // 2)}
    )
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive="s"))
    found = visit(sf.audit(table, [sf.KAnonymity(3)]).to_html())
    assert found.drawn()
    assert found.ask("document.querySelectorAll('*').length") < 10_000
    clean(found)


def test_tables_sort_by_keyboard(visit) -> None:
    sheet = Sheet(
        ("who", "how many"),
        (("b", 10), ("a", 9), ("d", float("inf")), ("c", None), ("e", 1_000), ("f", "<10")),
        "People",
    )
    page = Document("x", "X", "", (Section("S", tables=(sheet,)),)).to_html()
    found = visit(page)

    def column(at: int) -> list[str]:
        rows = "[...document.querySelector('table').tBodies[0].rows]"
        return found.ask(f"at => {rows}.map(row => row.cells[at].textContent)", at)

    def sorting() -> list[str]:
        return found.ask(
            "[...document.querySelectorAll('th')].map(th => th.getAttribute('aria-sort'))"
        )

    assert sorting() == ["none", "none"]
    page = found.page
    for _ in range(2):  # the table's own scrolling region, then its first heading
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert column(0) == ["a", "b", "c", "d", "e", "f"]
    assert sorting() == ["ascending", "none"]
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert column(1) == ["<10", "9", "10", "1,000", "inf", "n/a"]
    assert sorting() == ["none", "ascending"]
    page.keyboard.press("Space")
    assert column(1) == ["inf", "1,000", "10", "9", "<10", "n/a"]  # what does not apply stays last
    assert sorting() == ["none", "descending"]
    focused = found.ask("getComputedStyle(document.activeElement).outlineStyle")
    assert focused != "none"
    clean(found)


def test_every_table_of_a_report_sorts_and_no_row_is_lost(visit) -> None:
    found = visit(made("raw").to_html())
    count = "[...document.querySelectorAll('table')].map(table => table.tBodies[0].rows.length)"
    before = found.ask(count)
    found.ask("document.querySelectorAll('th button').forEach(button => button.click())")
    assert found.ask(count) == before
    assert len(before) > 6
    clean(found)


def test_what_is_seen_can_be_heard(visit) -> None:
    found = visit(made("lattice").to_html())
    found.drawn()
    images = found.ask(
        "[...document.querySelectorAll('[role=group]:has(.chart)')].map(one => one.ariaLabel)"
    )
    assert images
    assert all(len(text) > 20 for text in images)
    assert found.ask("document.documentElement.lang") == "en"
    levels = found.ask(
        "[...document.querySelectorAll('h1, h2, h3')].map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert found.ask("document.querySelectorAll('th:not([scope])').length") == 0
    regions = "[...document.querySelectorAll('[role=region]')]"
    assert found.ask(f"{regions}.every(one => one.tabIndex === 0 && one.ariaLabel)")
    assert found.ask("document.querySelectorAll('nav a').length") == found.ask(
        "document.querySelectorAll('section').length"
    )


def test_hostile_labels_are_text(visit) -> None:
    values = list(HOSTILE.values())
    columns = dict.fromkeys((HOSTILE["markup"], HOSTILE["right to left"]), values * 3)
    rows = pa.table(
        columns | {HOSTILE["script"]: values + values[::-1] + [values[0]] * len(values)}
    )
    schema = sf.Schema(
        quasi=list(columns),
        sensitive=HOSTILE["script"],
        domains=dict.fromkeys((*columns, HOSTILE["script"]), "categorical"),
    )
    report = sf.audit(sf.read(rows, schema), [sf.KAnonymity(5), sf.TCloseness(0.2)])
    for told in (report, report.public()):
        found = visit(told.to_html(), width=1100)
        assert found.drawn()
        clean(found)
        assert found.page.title().startswith("Report on")
        assert found.ask("document.querySelectorAll('body img, a[href^=javascript]').length") == 0
        text = found.ask("document.body.textContent")
        assert HOSTILE["markup"] in text
        assert "{{ 7 * 7 }}" in text or told.audience == "public"
        # Nothing is wider than the page, however long a label.
        assert found.ask("document.documentElement.scrollWidth <= window.innerWidth")


def test_hostile_labels_in_charts(visit) -> None:
    names = list(HOSTILE.values())
    shares = [0.1] * len(names)
    figures = (
        Chart(
            HOSTILE["markup"],
            "points",
            HOSTILE["script"],
            "y",
            (Series("s", shares, names),),
            alt=HOSTILE["markup"],
        ),
        Chart(
            "b",
            "bars",
            HOSTILE["link"],
            "y",
            (Series(HOSTILE["markup"], names, shares),),
            alt="bars of all",
        ),
        Chart(
            "l",
            "lines",
            "x",
            "y",
            tuple(Series(n, [1, 2], [1, 2], text=[n, n]) for n in names),
            alt="lines",
        ),
        Chart(
            "t",
            "points",
            "x",
            "y",
            (Series("p", list(range(len(names))), shares, text=names),),
            alt="points",
        ),
        Chart(
            "c",
            "cloud",
            "l",
            "k",
            (Series(HOSTILE["link"], [1], [2], [3], [HOSTILE["script"]]),),
            z="m",
            alt="one",
        ),
    )
    found = visit(Document("x", "X", "", (Section("S", charts=figures),)).to_html())
    assert len(found.drawn()) == len(figures)
    clean(found)
    assert found.page.title() == "X"
    assert (
        found.ask("document.querySelectorAll('.chart img, .chart a[href^=javascript]').length") == 0
    )
    bars = found.page.locator(".chart").nth(1)
    ticks = bars.locator(".xtick text").all_text_contents()
    assert len(ticks) == len(names)
    assert "007" in ticks  # a text that looks like a number stays one
    assert "2024-01-31" in ticks
    assert any(tick.startswith("<b>bold</b>") for tick in ticks)
    assert any("&lt;i&gt; &amp;" in tick for tick in ticks)
    assert max(map(len, ticks)) < 40


def luminance(colour: str) -> float:
    parts = [float(part) / 255 for part in colour.strip("rgba()").split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_texts_are_readable_in_light_and_dark(visit, dark: bool) -> None:
    found = visit(made("mondrian").to_html(), dark=dark)
    found.drawn()
    paper = luminance(found.ask("getComputedStyle(document.body).backgroundColor"))
    assert (paper < 0.1) is dark
    inks = found.ask(
        """[...document.querySelectorAll(`p, td, th, h1, h2, dt, dd, figcaption, summary, a,
                                          .mood-good, .mood-unsure`)]
           .map(one => getComputedStyle(one).color)"""
    )
    inks += found.ask(
        "[...document.querySelectorAll('.chart text')].map(t => getComputedStyle(t).fill)"
    )
    assert len(inks) > 50
    for ink in set(inks):
        bright, dim = sorted((luminance(ink), paper), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) > 4.5, ink
    clean(found)


def test_it_prints_with_every_chart_on_the_paper(visit) -> None:
    found = visit(made("lattice").to_html(), dark=True)
    # What is flat is drawn before; the outline tells that no heading stands alone at a page's foot.
    printing = found.page.context.new_cdp_session(found.page)
    wanted = {"generateDocumentOutline": True, "generateTaggedPDF": True, "preferCSSPageSize": True}
    paper = b64decode(printing.send("Page.printToPDF", wanted)["data"])
    assert len(paper) > 20_000
    headings = [float(up) for up in re.findall(rb"/Dest \[\d+ 0 R /XYZ [\d.]+ ([\d.]+)", paper)]
    assert len(headings) > 15
    assert min(headings) > 100  # points from the foot, of which 40 are margin
    found.page.emulate_media(media="print")
    assert found.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert found.ask("getComputedStyle(document.querySelector('nav')).display") == "none"
    wide = found.ask(
        """Math.max(...[...document.querySelectorAll('.chart .main-svg')]
             .map(one => one.getBoundingClientRect().width))"""
    )
    assert 640 < wide < 730  # pixels between the margins of A4
    clean(found)


@pytest.mark.parametrize("dark", [False, True])
def test_a_chart_in_space_waits_until_it_is_asked_for(visit, dark: bool) -> None:
    cloud = Chart("Room", "cloud", "l", "k", (Series("a", [1], [2], [3]),), z="m", alt="A point.")
    found = visit(Document("x", "X", "", (Section("T", charts=(cloud,)),)).to_html(), dark=dark)
    found.page.wait_for_timeout(200)
    assert found.ask("document.querySelector('.chart').dataset.drawn") is None
    found.page.keyboard.press("Tab")
    found.page.keyboard.press("Enter")  # the summary above it
    assert len(found.drawn()) == 1
    colour = found.ask("document.querySelector('.chart').data[0].marker.color")
    assert (luminance_of(colour) > 0.35) is dark
    clean(found)


def luminance_of(colour: str) -> float:
    return luminance(f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})")


HINTED = """[...document.querySelectorAll('.wide')].filter(one => one.checkVisibility()).map(one =>
  [one.scrollWidth > one.clientWidth + 1, one.classList.contains('goes-on')])"""


def test_a_narrow_window_scrolls_tables_not_the_page_and_says_so(visit) -> None:
    found = visit(made("raw").to_html(), width=390)
    found.drawn()
    assert found.ask("document.documentElement.scrollWidth <= window.innerWidth")
    hinted = found.ask(HINTED)
    assert [True, True] in hinted
    assert all(wide is said for wide, said in hinted)


def test_the_map_of_a_comparison_is_drawn_in_the_dark_on_a_phone_and_in_full(visit) -> None:
    map_ = sf.compare(people(300), sf.Policy([sf.KAnonymity(3)], sf.Mondrian()), {"k": [3, 8]})
    page = map_.to_html()
    for dark, width in ((False, 1400), (True, 390)):
        found = visit(page, dark=dark, width=width)
        assert found.drawn() == ["chart-0-0"]
        assert found.ask("document.querySelector('.chart .main-svg').clientWidth") <= width - 28
        labels = found.page.locator(".chart .textpoint text").all_text_contents()
        assert labels == (["#2 k=8", "#1 k=3"] if width == 1400 else ["#2", "#1"])
        clean(found)
        assert found.ask("document.documentElement.scrollWidth <= window.innerWidth")
        if width == 1400:
            assert found.ask(f"{HINTED}.flat().some(Boolean)") is False
