"""All that people read, on a terminal of 80 columns and on pages of a phone and of a desk.

Every command is run on a small table. What it prints and the pages it writes are looked at as a
reader would: nothing cut off, broken, too faint or unexplained, nothing named that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

from sfumato.datasets.census import census
from sfumato.report.document import Document, Section, Sheet
from sfumato.report.glossary import GLOSSARY, terms_in
from sfumato.report.html.page import plotly_script
from tests.browser.conftest import Visit
from tests.program import sfumato

TERMINAL, WIDE, MOST = 80, 2_000, 30
MORE = "and 2 more; --verbose shows all"  # said only where a terminal is short
WIDTHS = (390, 1400)
DRAWN = ("map.html",)  # by Plotly, which takes seconds a page; on others charts have their places
ALIKE = ("demo", "release/private", "other/public")  # pages as others that are looked at
POLICY = """
[schema]
quasi = ["age", "sex", "zip"]
sensitive = "disease"
hierarchies = {{ age = {{ kind = "intervals", widths = [5, 10, 20] }}, zip = {{ kind = "mask" }} }}

[[require]]
kind = "k-anonymity"
k = 5

[[require]]
kind = "t-closeness"
t = 0.6

[anonymizer]
kind = "{anonymizer}"
"""
PLAIN = "people.csv", "--policy", "mondrian.toml"
RELEASED = "release", "--policy", "mondrian.toml"
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("init", "people.csv", "--seconds", "0", "--out", "draft.toml", "--force"),
    ("hierarchy", "people.csv", "age"),
    ("anonymize", *PLAIN, "--out", "release", "--seed", "1", "--force"),
    ("anonymize", "people.csv", "--policy", "lattice.toml", "--out", "other", "--seed", "1",
     "--price", "--force"),
    ("audit", *RELEASED, "--html", "audit.html", "--force"),
    ("audit", *RELEASED, "--public", "--html", "public.html", "--force"),
    ("audit", *PLAIN, "--html", "raw.html", "--force"),
    ("compare", *PLAIN, "--sweep", "k=3,8", "--html", "map.html", "--force"),
    ("price", *PLAIN, "--html", "price.html", "--force"),
    ("characterize", *PLAIN, "--html", "columns.html", "--force"),
    ("skyline", *RELEASED, "--value", "Asthma", "--confidence", "0.9", "--html", "skyline.html",
     "--force"),
    ("attack", "relative", *RELEASED, "--table", "people.csv", "--html", "relative.html",
     "--force"),
    ("attack", "intersect", "release", "other", "--policy", "mondrian.toml", "--targets",
     "people.csv", "--html", "intersect.html", "--force"),
    ("attack", "uniques", *PLAIN, "--html", "uniques.html", "--force"),
    ("attack", "list"),
    ("ledger", "list", "ledger.sqlite"),
    ("ledger", "check", "ledger.sqlite", "other", "--policy", "mondrian.toml"),
    ("reproduce", "leakage", "--quick", "--out", "reproduced", "--force"),
    ("demo", "--out", "demo", "--people", "300", "--force"),
)  # fmt: skip
ENDINGS = "html|json|csv|toml|parquet|md|sqlite"


def journey(folder: Path) -> Iterator[str]:
    """Run every command in a folder, and tell what is hard to read of what it prints."""
    pa_csv.write_csv(census(300, seed=3), folder / "people.csv")
    for anonymizer in ("mondrian", "lattice"):
        (folder / f"{anonymizer}.toml").write_text(POLICY.format(anonymizer=anonymizer))
    for command in COMMANDS:
        if command[:2] == ("ledger", "list"):
            sfumato("ledger", "add", "ledger.sqlite", *RELEASED, "--name", "first")
        narrow = sfumato(*command, terminal=TERMINAL)
        wide = sfumato(*command, terminal=WIDE)
        assert narrow.returncode in (0, 1), narrow.stderr
        read, unbroken = (ran.stdout + ran.stderr for ran in (narrow, wide))
        for problem in hard_to_read(read, unbroken, folder):
            yield f"{' '.join(command)}: {problem}"


def hard_to_read(text: str, unbroken: str, folder: Path) -> Iterator[str]:
    """What is wrong with a text for a terminal; `unbroken` is the same with room for every word."""
    lines = text.splitlines()
    if len(lines) > MOST:
        yield f"{len(lines)} lines"
    yield from (f"{len(line)} columns: {line}" for line in lines if len(line) > TERMINAL)
    whole = set(re.findall(r"[^\W\d_]{2,}", unbroken + MORE))
    broken = [word for word in re.findall(r"[^\W\d_]{2,}", text) if word not in whole]
    yield from (f"{word!r} is a broken word" for word in dict.fromkeys(broken))
    for name in re.findall(rf"[\w./-]+\.(?:{ENDINGS})\b", text):
        if not (folder / name).exists() and not [*folder.rglob(Path(name).name)]:
            yield f"{name} is named and is not there"


# A view in space is drawn for whoever asks for it, and takes seconds where nothing helps.
UNFOLD = """document.querySelectorAll("details").forEach(
    folded => folded.querySelector(".chart") ? folded.remove() : folded.open = true)"""
WORDS = "p, li, figcaption, caption"
TEXTS = "part => [...document.querySelectorAll(part)].map(one => one.textContent.trim())"
LOOK = (Path(__file__).parent / "readable.js").read_text(encoding="utf-8")
TERMS = [text for term in GLOSSARY.values() for text in (term.word, term.papers, *term.forms)]
TERMS += ["HIV", "ZIP", "JSON", "CSV", "TABLE", "MAP", "UCI"]  # of data; formats; what to give


def unreadable(found: Visit, files: list[str]) -> list[str]:
    """What is hard to read of an open page, at every width, light and dark."""
    problems: dict[str, str] = {}
    found.ask(UNFOLD)
    for width in WIDTHS:
        found.page.set_viewport_size({"width": width, "height": 900})
        found.drawn()
        found.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))")
        for scheme in ("light", "dark"):
            found.page.emulate_media(color_scheme=scheme)
            asked = {"files": files, "terms": TERMS, "all": scheme == "light"}
            for problem in found.ask(LOOK, asked):
                problems.setdefault(problem, f"{problem} ({width} pixels, {scheme})")
    read, explained = (found.ask(TEXTS, part) for part in (WORDS, ".words-explained dt"))
    missing = {term.word for term in terms_in(read)}.difference(explained)
    return [*problems.values(), *(f"{word!r} is not among its words" for word in sorted(missing))]


def test_everything_that_commands_print_and_write_can_be_read(
    visit: Callable[..., Visit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    problems = list(journey(folder))
    pages = [page.relative_to(folder) for page in sorted(folder.rglob("*.html"))]
    pages = [page for page in pages if not page.as_posix().startswith(ALIKE)]
    assert len(pages) == 14, pages
    for page in pages:
        files = [
            path.relative_to(near).as_posix()
            for near in (folder / page.parent, folder)
            for path in near.rglob("*")
        ]
        text = (folder / page).read_text(encoding="utf-8")
        if page.name not in DRAWN:
            text = text.replace(plotly_script(), "")
        found = visit(text, width=WIDTHS[0])
        problems += [f"{page}: {one}" for one in unreadable(found, files)]
        assert found.errors == []
    assert problems == [], "\n".join(problems)


def test_a_page_that_cannot_be_read_is_found_out(visit: Callable[..., Visit]) -> None:
    section = Section("Fine", "Everybody has a row.", (Sheet(("a", "b"), (("word", 1),)),))
    page = Document("fine", "A page", "Nothing is wrong with it.", (section,)).to_html()
    assert unreadable(visit(page), []) == []
    harms = {
        '<p style="width: 900px">wide</p>': "the page is ",
        '<p style="color: #999">faint</p>': 'contrast 2.8: "faint"',
        '<p style="color: #777; background: #555">dim</p>': 'contrast 1.7: "dim"',
        '<p style="width: 40px">Hypertension</p>': '"Hypertension" is broken',
        '<p><a href="gone.html">there</a></p>': "gone.html is not there",
        '<p><a href="#gone">there</a></p>': "#gone leads nowhere",
        "<p>The figures are in result.json.</p>": "result.json is named and is not there",
        "<p>GT_Q is 3.</p>": "GT_Q is not explained",
        "<p>ω is 3.</p>": "ω is not explained",
        "<p>k-anonymity</p>": "'k-anonymity' is not among its words",
    }
    found = unreadable(visit(page.replace("</main>", f"{''.join(harms)}</main>")), [])
    assert len(found) == len(harms), found
    for problem in harms.values():
        assert [one for one in found if one.startswith(problem)], (problem, found)


def test_a_text_that_cannot_be_read_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "page.html").touch()
    whole = "The differential-privacy of page.html holds."
    assert list(hard_to_read(whole, whole, tmp_path)) == []
    broken = "The differential-privac\ny of gone.html holds." + " " * 80 + "x" + "\n" * 30
    assert list(hard_to_read(broken, whole, tmp_path)) == [
        "31 lines",
        f"102 columns: y of gone.html holds.{' ' * 80}x",
        "'privac' is a broken word",
        "'gone' is a broken word",
        "gone.html is named and is not there",
    ]
