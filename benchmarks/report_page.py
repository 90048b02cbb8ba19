"""The report's page of a release with over 10,000 groups: how large, how long to make and to open.

And of a raw table of 500,000 groups: how large and how long to make (bounds 6 MB and 5 s).

The floor is a page that carries Plotly's JavaScript and draws nothing. Needs Chromium
(SFUMATO_CHROMIUM, or one on the path) and Playwright.

    python benchmarks/report_page.py [--people N]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from os import environ
from pathlib import Path

import numpy as np
import pyarrow as pa
from results import tell

import sfumato as sf
from sfumato.datasets.census import census, census_schema
from sfumato.report.html.page import plotly_script

# Charts in space wait until they are seen.
WAITING = """[...document.querySelectorAll('.chart:not([data-drawn])')].filter(place =>
  !document.getElementById(place.dataset.chart).textContent.includes('"scatter3d"')).length"""
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
ROUNDS = 5


def opened(path: Path) -> tuple[float, float]:
    """Seconds until text and scripts are loaded, and until flat charts are drawn; best of 5."""
    from playwright.sync_api import sync_playwright

    named = map(shutil.which, ("chromium-headless-shell", "chromium"))
    browser_path = environ.get("SFUMATO_CHROMIUM") or next(filter(None, named), None)
    best = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=list(FLAGS))
        for _ in range(ROUNDS):
            page = browser.new_page()
            start = time.perf_counter()
            page.goto(path.as_uri())
            loaded = time.perf_counter() - start
            while page.evaluate(WAITING):
                page.wait_for_timeout(5)
            best.append((loaded, time.perf_counter() - start))
            page.close()
        browser.close()
    return min(one for one, _ in best), min(one for _, one in best)


def of_a_raw_table(groups: int) -> None:
    """People in pairs, each pair alone with its quasi-identifiers."""
    chance, pair = np.random.default_rng(0), np.repeat(np.arange(groups), 2)
    ill = chance.choice(list("abcdefgh"), 2 * groups)
    rows = pa.table({"age": pair % 97, "place": pair // 97, "ill": ill})
    table = sf.read(rows, sf.Schema(quasi=["age", "place"], sensitive="ill"))
    report = sf.audit(table, [sf.KAnonymity(2), sf.DistinctDiversity(2), sf.TCloseness(0.4)])
    start, busy = time.perf_counter(), time.process_time()
    page = report.to_html()
    made, busy = time.perf_counter() - start, time.process_time() - busy
    work = f"page of {report.summary.groups:,} groups of a raw table"
    tell(work, made, at_most=5, why=f"{busy:.2f} s of a processor")
    tell(work, len(page.encode()) / 1e6, at_most=6, unit="MB")
    with tempfile.TemporaryDirectory() as home:
        start = time.perf_counter()
        report.save(Path(home) / "report.json")
        taken = time.perf_counter() - start
        size = (Path(home) / "report.json").stat().st_size / 1e6
    tell(f"JSON of {report.summary.groups:,} groups", taken, why=f"{size:.2f} MB, piece by piece")


def main() -> None:
    of_a_raw_table(500_000)
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--people", type=int, default=200_000)
    people = asked.parse_args().people
    policy = sf.Policy(
        [sf.KAnonymity(5), sf.DistinctDiversity(3), sf.TCloseness(0.4)], sf.Mondrian()
    )
    release = sf.anonymize(sf.read(census(people), census_schema()), policy, seed=0)

    start = time.perf_counter()
    report = sf.audit(release, policy)
    judged = time.perf_counter() - start
    start = time.perf_counter()
    page = report.to_html()
    written = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as home:
        whole, floor = Path(home) / "report.html", Path(home) / "floor.html"
        whole.write_text(page, encoding="utf-8")
        floor.write_text(f"<title>x</title><script>{plotly_script()}</script>", encoding="utf-8")
        loaded, drawn = opened(whole)
        bare, _ = opened(floor)
    print(f"{len(release.groups):,} groups of {people:,} people")
    print(f"audit {judged:.2f} s, page made in {written:.2f} s, {len(page.encode()) / 1e6:.2f} MB")
    print(f"of which Plotly {len(plotly_script().encode()) / 1e6:.2f} MB")
    print(f"loaded {loaded:.2f} s, flat charts drawn {drawn:.2f} s; Plotly alone {bare:.2f} s")
    work = f"opening the page of {len(release.groups):,} groups"
    tell(work, loaded, other=bare, against="Plotly alone")


if __name__ == "__main__":
    main()
