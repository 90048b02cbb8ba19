"""Every word that pages, the terminal and the documentation use, explained in a sentence or two.

The papers' own words stand beside ours. A page explains the words that occur on it, on the spot
and at its end (`Words`); the glossary of the documentation is all of them. They are in
`glossary.toml`; a new criterion, adversary, measure or anonymizer has an entry there, and a test
says which is missing.

Stands apart: words, which pages, the terminal, notebooks and the documentation share.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

Subject = Literal["data", "criterion", "adversary", "figure", "anonymizer"]
SUBJECTS: dict[Subject, str] = {
    "data": "The data and what is done to them",
    "criterion": "What a policy can promise",
    "adversary": "Who might try",
    "figure": "What is measured",
    "anonymizer": "How a release is made",
}


@dataclass(frozen=True)
class Term:
    """A word of ours and what it means.

    `papers` is what the papers and other tools call it; `forms` are further ways it is written
    (plurals are known). A `name` is a word of everyday speech too: it is known only where it is all
    there is to read, as in a cell of a table.
    """

    word: str
    means: str
    papers: str = ""
    forms: tuple[str, ...] = ()
    name: bool = False
    subject: Subject = "data"

    @property
    def explained(self) -> str:
        """What it means, and what others call it: one text to show beside the word."""
        return f"{self.means} In the papers: {self.papers}." if self.papers else self.means


def _read() -> Iterator[Term]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    subjects = tomllib.loads(text)
    for subject in SUBJECTS:
        for word, entry in subjects[subject].items():
            forms = tuple(entry.pop("forms", ()))
            yield Term(word, subject=subject, forms=forms, **entry)


GLOSSARY: dict[str, Term] = {term.word: term for term in _read()}


class Words:
    """The terms that were met in some texts."""

    def __init__(self) -> None:
        self._met: dict[str, Term] = {}

    @property
    def met(self) -> list[Term]:
        """Those that occurred, as a glossary lists them."""
        return sorted(self._met.values(), key=lambda term: term.word.lower())

    def pieces(self, text: str) -> Iterator[tuple[str, Term | None]]:
        """A text in pieces: those that are a term with it, what is between them without."""
        if text in _NAMES:
            yield text, self._meet(_NAMES[text])
            return
        end = 0
        for match in _pattern().finditer(text):
            if match.start() > end:
                yield text[end : match.start()], None
            written = match[0]
            spelled = written if written in _spellings() else written[0].lower() + written[1:]
            yield written, self._meet(_spellings()[spelled])
            end = match.end()
        if end < len(text):
            yield text[end:], None

    def _meet(self, term: Term) -> Term:
        return self._met.setdefault(term.word, term)


def is_term(text: str) -> bool:
    """Whether a text is a word of ours and nothing else."""
    return text in _NAMES


def terms_in(texts: Iterable[str]) -> list[Term]:
    """The terms that occur in some texts, as a glossary lists them."""
    words = Words()
    for text in texts:
        for _ in words.pieces(text):
            pass
    return words.met


@cache
def _spellings() -> dict[str, Term]:
    """Every way a term is written in a sentence, but for a capital at its beginning."""
    spelled: dict[str, Term] = {}
    for term in GLOSSARY.values():
        for form in () if term.name else (term.word, *term.forms):
            plural = f"{form[:-1]}ies" if form.endswith("y") else f"{form}s"
            spelled.setdefault(form, term)
            spelled.setdefault(plural, term)
    return spelled


@cache
def _pattern() -> re.Pattern[str]:
    """Any term as a whole word, the longest first."""
    forms = (
        f"[{form[0]}{form[0].upper()}]{re.escape(form[1:])}"
        if form[0].islower()
        else re.escape(form)
        for form in sorted(_spellings(), key=len, reverse=True)
    )
    return re.compile(rf"(?<![\w-])(?:{'|'.join(forms)})(?![\w-])")


_NAMES = {form: term for term in GLOSSARY.values() for form in (term.word, *term.forms)}
