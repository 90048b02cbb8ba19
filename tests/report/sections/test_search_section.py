"""How the release was chosen: the best choices of levels by cost, named by what cells show."""

from __future__ import annotations

from sfumato.report.sections.search import lattice_section
from tests.report.conftest import made


def test_the_best_choices_are_named_by_labels_that_cells_would_show() -> None:
    report = made("lattice")
    section = lattice_section(report)
    assert section is not None
    (sheet,) = section.tables
    assert report.evidence is not None
    release = report.evidence.release
    assert release.placement is not None
    columns = list(release.regions.columns)
    assert list(sheet.columns[1 : 1 + len(columns)]) == columns
    assert 1 < len(sheet.rows) <= 5
    costs = [row[-1] for row in sheet.rows]
    assert costs == sorted(costs)
    levels = release.placement.table.levels
    for row in sheet.rows:
        for name, label in zip(columns, row[1:], strict=False):
            allowed = {text for level in levels[name].levels[1:] for text in level.labels}
            assert label == "as it is" or label in allowed
    published = {
        name: {region[name] for region in map(release.regions.describe, range(len(release.groups)))}
        for name in columns
    }
    for name, label in zip(columns, sheet.rows[0][1:], strict=False):
        assert label == "as it is" or label in published[name]
        assert f"{name}: {label}" in section.words
    assert all(text.endswith("%") for *_, text in sheet.texts())
