"""What all tests share: where the optional data lies; a required thing is never skipped."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.examples import EXAMPLES

ROOT = Path(__file__).parent.parent
# A shell tells what it starts in the background to ignore interrupts, and nohup to ignore that the
# terminal is gone; some tests interrupt, or hang up.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
gc.disable()  # while tests are collected: a fifth of the time, for nothing

settings.register_profile("sfumato", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.load_profile("sfumato")

# Java's second compiler pays off after minutes of the same work: here it takes half of the time.
# Proving that Spark's own classes are well-formed takes a fifth of a session's start.
QUICK_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
os.environ.setdefault("SPARK_LAUNCHER_OPTS", QUICK_JAVA)
os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--driver-java-options '{QUICK_JAVA}' pyspark-shell")


DEAR = ("deal", "relative")  # to compile


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests go to one worker: no two compile the same functions at the same time.

    Tests with Spark in their names all go to one worker, too: each would start a session
    otherwise; and those of dealing and of relative threat, whose functions take longest to compile.
    Marking them xdist_group is of no use with pytest 9.2 (pytest-xdist issue 1386).
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::")[0]
            if "spark" in nodeid:
                return "spark"
            # A test of relative threat may speak of dealings: its file says what it compiles.
            dear = (kind for where in (file, nodeid) for kind in DEAR if kind in where)
            return next(dear, file)

    config.option.loadscopereorder = False  # in the order of collection, see below
    return ByFile(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--outside",
        choices=("with", "without", "only"),
        default="with",
        help="tests that start Spark or a browser: run them too, leave them out, run nothing else",
    )


def starts_outside(item: pytest.Item) -> bool:
    """Whether a test starts what is no Python: Spark on Java, or a browser."""
    return "spark" in item.nodeid or "tests/browser" in item.nodeid


def pytest_configure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        from tests.compiled_once import compile_once

        compile_once()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that no worker is left alone with it at the end."""
    if (outside := config.getoption("--outside")) != "with":
        left_out = [item for item in items if starts_outside(item) == (outside == "without")]
        items[:] = [item for item in items if starts_outside(item) == (outside == "only")]
        config.hook.pytest_deselected(items=left_out)
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and "spark" not in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid} runs Spark: say spark in its name")
    longest = ("spark", "deal", "relative", "tests/browser", "walkthrough", "test_lattice")
    longest += ("suppression", "characterize", "test_families", "mondrian")
    items.sort(key=lambda item: next((n for n, s in enumerate(longest) if s in item.nodeid), 99))


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: nobody need look through it for garbage."""
    gc.enable()
    gc.freeze()


def require(what: str, present: bool, hint: str) -> None:
    """Skip a test for want of something, unless SFUMATO_REQUIRE says that it must be there."""
    if present:
        return
    if what in os.environ.get("SFUMATO_REQUIRE", "").split(","):
        pytest.fail(f"{what} is required here but missing: {hint}")
    pytest.skip(f"{what} is missing: {hint}")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder that holds adult/ and acs2019/."""
    given = os.environ.get("SFUMATO_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    require("data", (folder / "adult" / "adult.csv").exists(), "set SFUMATO_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def java() -> None:
    """Java, which Spark runs on."""
    found = os.environ.get("JAVA_HOME") or shutil.which("java")
    require("java", found is not None, "install Java 17, or let JAVA_HOME name its folder")


@pytest.fixture(scope="session")
def spark(java: None) -> Iterator[Any]:
    """A Spark session such as a user brings; one for all tests, if `spark` is in their names."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        # Tiny tables: compiling each query would take longer than running it.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        # ... and so would planning it again after each of its stages.
        .config("spark.sql.adaptive.enabled", "false")
        .getOrCreate()
    )
    yield session
    session.stop()
