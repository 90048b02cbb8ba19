"""Files of a characterization: a page for everybody, and what may show single people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import InputError
from sfumato.files import check_new_file, write_text
from sfumato.report.private_file import write_table

if TYPE_CHECKING:
    from sfumato.report.characterization import Characterization

_PAGES, _TABLES = (".html", ".htm"), (".csv", ".parquet")


def check_files(html: Path | None, private: Path | None, *, force: bool) -> None:
    """Refuse names that cannot be written; before any work is done."""
    for path, allowed in ((html, _PAGES), (private, (*_PAGES, ".json", *_TABLES))):
        if path is None:
            continue
        if path.suffix not in allowed:
            shown = ", ".join(ending for ending in allowed if ending != ".htm")
            raise InputError(f"cannot write {path.name!r}; use a name ending in {shown}")
        check_new_file(path, force=force)
    if html is not None and html == private:
        raise InputError(f"{html} would be written twice: private evidence needs a file of its own")


def save_private(found: Characterization, path: Path, *, force: bool = False) -> None:
    """Worst classes as a page or JSON, or every person's leakage as a table."""
    if path.suffix in _TABLES:
        if found.individuals is None:
            raise InputError("the leakage of people was not measured; ask for individuals=True")
        write_table(found.individuals.to_arrow(), path, force=force)
    elif path.suffix == ".json":
        write_text(path, found.to_json(private=True) + "\n", force=force)
    else:
        from sfumato.report.html.exhibit import exhibit_page

        write_text(path, exhibit_page(found.exhibit()), force=force, what="page")
