"""Tutorials, pages of papers and answers are followed: what they show is what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.walkthrough import PAGES, follow


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_is_printed(page: Path, tmp_path: Path) -> None:
    for shown in follow(page, tmp_path):
        assert shown.said == shown.printed, f"{shown}: python -m tests.walkthrough {page}"


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("```sh\nsfumato audit gone.csv --policy p.toml\n```", "gone.csv"),
        ("```sh\nsfumato --version   # exit code 1\n```", "exit code 1"),
        ('```sh title="gate.sh"\nother\n```', "is not what the page shows"),
        ("```python\nassert False, 'it ran'\n```", "it ran"),
    ],
)
def test_a_page_that_does_not_work_is_noticed(text: str, fails: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError, match=fails):
        follow(page, tmp_path)


def test_what_is_only_shown_is_not_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- not run: why -->\n```python\n1 / 0\n```\n\n```text\nsaid\n```\n")
    assert follow(page, tmp_path) == []


def test_what_is_said_stands_beside_what_is_printed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    [shown] = follow(page, tmp_path)
    assert (shown.said, shown.printed) == ("3\n", "2\n")
