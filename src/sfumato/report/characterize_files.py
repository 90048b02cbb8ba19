"""Files of a characterization: a page for everybody, and what may show single people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError
from sfumato.report.html.page import check_free, write_whole

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
        check_free(path, force=force)
    if html is not None and html == private:
        raise InputError(f"{html} would be written twice: private evidence needs a file of its own")


def save_private(found: Characterization, path: Path) -> None:
    """Worst classes as a page or JSON, or every person's leakage as a table."""
    if path.suffix in _TABLES:
        _write_people(found, path)
    elif path.suffix == ".json":
        write_whole(path, found.to_json(private=True) + "\n")
    else:
        from sfumato.report.html.exhibit import exhibit_page

        write_whole(path, exhibit_page(found.exhibit()))
    path.chmod(0o600)


def _write_people(found: Characterization, path: Path) -> None:
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pa_parquet

    if found.individuals is None:
        raise InputError("the leakage of people was not measured; ask for individuals=True")
    table: Any = found.individuals.to_arrow()
    partial = path.with_name(f".{path.name}.part")
    try:
        if path.suffix == ".csv":
            pa_csv.write_csv(table, partial)
        else:
            pa_parquet.write_table(table, partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
