"""Take the pictures of docs/images/ in a real browser: what readers of a report see.

The first screen and the adversaries are of the report given, the map of the comparison given, and
the workbench is opened with the census and the policy of the folder given.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

IMAGES = Path(__file__).parent.parent / "docs" / "images"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT, MARGIN = 1000, 760, 16
MOST = 150_000  # bytes of a picture: a repository keeps each for ever


@contextmanager
def workbench(folder: Path) -> Iterator[str]:
    """The address of a workbench that has just been opened."""
    with TemporaryDirectory() as project:
        program = [sys.executable, "-m", "sfumato", "serve", f"{folder}/census.csv"]
        told = ["--no-browser", "--policy", f"{folder}/policy.toml", "--project", f"{project}/new"]
        with subprocess.Popen([*program, *told], stdout=subprocess.PIPE, text=True) as running:
            try:
                said = ""
                while running.stdout and "Ctrl-C" not in said and running.poll() is None:
                    said += running.stdout.readline()
                yield re.findall(r"http://\S+", said)[0]
            finally:
                running.terminate()


def take(report: Path, comparison: Path, folder: Path) -> list[Path]:
    """Open all pages and take a picture of each."""
    from playwright.sync_api import sync_playwright

    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        sys.exit(f"no browser is installed: one of {', '.join(BROWSERS)} is needed")
    IMAGES.mkdir(exist_ok=True)
    taken = []
    with sync_playwright() as playing:
        browser = playing.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        for name, source, part in (
            ("first-screen", report, ""),
            ("adversaries", report, "figure:has(.slopes)"),
            ("map", comparison, "figure:has(.chart)"),
        ):
            page.goto(source.absolute().as_uri())
            page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")  # draws them all
            top, height = 0.0, float(HEIGHT)
            if part and (box := page.locator(part).first.bounding_box()):
                top, height = box["y"] - MARGIN, box["height"] + 2 * MARGIN
            target = IMAGES / f"{name}.png"
            page.screenshot(
                path=target,
                clip={"x": 0, "y": top, "width": WIDTH, "height": height},
                full_page=True,
            )
            taken.append(target)
        with workbench(folder) as address:
            page.goto(address)
            page.goto(f"{address.split('?')[0]}policy")
            page.get_by_text("violated").first.wait_for()
            target = IMAGES / "workbench.png"
            page.screenshot(path=target)
            taken.append(target)
        browser.close()
    return taken


if __name__ == "__main__":
    for picture in take(*map(Path, sys.argv[1:])):
        size = picture.stat().st_size
        print(f"{picture.name}: {size:,} bytes")
        if size > MOST:
            sys.exit(f"{picture.name} is larger than {MOST:,} bytes")
