"""A page taken apart without a browser: its texts, tables, charts, and where it leads."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """`texts` outside tables and `glossary`, `tables` of rows of cells, `charts` for the script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.charts: list[dict[str, Any]] = []
        self.links: list[str] = []
        self.places: list[str] = []
        self.glossary: list[str] = []
        self.explained: dict[str, str] = {}
        self.tags: list[str] = []
        self.policy = ""
        self.labels: list[str] = []
        self._open: list[str] = []
        self._data = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self._open.append(tag)
        self.links += [
            str(given[name]) for name in ("src", "href", "srcset", "action") if name in given
        ]
        if given.get("id"):
            self.places.append(str(given["id"]))
        if given.get("class") == "term":
            self.explained[str(given["href"])] = str(given["title"])
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = str(given["content"])
        if given.get("role") == "group" and given.get("class") != "wide":  # not a table
            self.labels.append(given.get("aria-label") or "")
        self._data = tag == "script" and given.get("type") == "application/json"
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag in ("meta", "link", "br", "img", "input"):
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._data:
            self.charts.append(json.loads(data))
            self._data = False
        elif "dl" in self._open and self.places and self.places[-1].startswith("term-"):
            self.glossary.append(data.strip())
        elif "script" in self._open or "style" in self._open or not data.strip():
            return
        elif "td" in self._open or "th" in self._open:
            self.tables[-1][-1][-1] += data
        else:
            self.texts.append(data.strip())
