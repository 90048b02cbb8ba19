"""Write the pages of docs/ that follow from the code: `python scripts/write_docs.py`.

Each is a function here, listed once in `PAGES`; a test says which is not what the code says now.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from sfumato.report.glossary import GLOSSARY, SUBJECTS

DOCS = Path(__file__).parent.parent / "docs"
MADE = "<!-- Made by scripts/write_docs.py: edit what it is made from. -->\n\n"


def glossary() -> str:
    """Every word of ours, by what it is about, with the papers' words beside it."""
    lines = [
        "# Glossary",
        "",
        "The words that pages, the terminal and this documentation use. What the papers and other",
        "tools call a thing stands behind it. The [pages of the papers](papers/realistic.md)",
        "translate each paper's symbols.",
    ]
    for subject, title in SUBJECTS.items():
        lines += ["", f"## {title}", ""]
        terms = [term for term in GLOSSARY.values() if term.subject == subject]
        for term in sorted(terms, key=lambda term: term.word.lower()):
            beside = f" *In the papers: {_plain(term.papers)}.*" if term.papers else ""
            lines.append(f"- **{term.word}**: {_plain(term.means)}{beside}")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """A text of which Markdown makes nothing else."""
    return re.sub(r"([*_<|\[\]])", r"\\\1", text)


PAGES: dict[str, Callable[[], str]] = {"glossary.md": glossary}


def written(name: str) -> str:
    """A page as the code has it now."""
    return MADE + PAGES[name]()


if __name__ == "__main__":
    for name in PAGES:
        (DOCS / name).write_text(written(name), encoding="utf-8")
