"""The documentation as one site: every page is in its navigation, every link leads somewhere.

`make docs` asks the same of MkDocs, and of what the code says of itself; it takes half a minute.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
MARKDOWN = MarkdownIt("commonmark").enable("table")
FROM_CODE = DOCS / "python.md"  # its anchors are made with the site


@cache
def tokens(page: Path) -> list[Token]:
    return MARKDOWN.parse(page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """Of its headings, as MkDocs names them."""
    found: set[str] = set()
    for opening, inline in zip(tokens(page), tokens(page)[1:], strict=False):
        if opening.type == "heading_open":
            text = "".join(one.content for one in inline.children or ())
            plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
            slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
            numbered = (slug, *(f"{slug}_{number}" for number in range(1, 100)))
            found.add(next(one for one in numbered if one not in found))
    return found


def links(page: Path) -> list[str]:
    """What its links and pictures lead to, but for other sites."""
    inner = [one for token in tokens(page) for one in token.children or ()]
    found = [one.attrGet("href") or one.attrGet("src") for one in inner]
    return [str(link) for link in found if link and not str(link).startswith("https://")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        name, _, anchor = link.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), link
        assert there.is_relative_to(DOCS if page.is_relative_to(DOCS) else ROOT), link
        if anchor and there != FROM_CODE:
            assert anchor in anchors(there), link


def test_links_are_found_and_checked() -> None:
    """Of a test that looks at nothing nobody hears."""
    assert sum(len(links(page)) for page in PAGES) > 100
    assert "require" in anchors(DOCS / "policy-reference.md")


def test_the_navigation_has_every_page_once() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"([\w/-]+\.md)$", settings.partition("\nnav:")[2], re.M)
    assert sorted(listed) == sorted(
        page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")
    )


def test_the_site_is_made_of_what_is_here() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert "http" not in settings
