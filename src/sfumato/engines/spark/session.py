"""The session that runs the SQL: the user's own, left as it is, or one that we start.

And the Java that Spark runs on, which is looked at first, and what Spark complains of.

Starting Java and a session is a matter of its own, and only happens where none is
given.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import re
import shutil
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.engines.base import refused
from sfumato.engines.memory import check_spill
from sfumato.errors import InputError, MissingExtra, ResourceError, SfumatoError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What Spark complains of, in our words: its own quote rows, on the screen and in its logs.

# PySpark logs what it raises, values included, before we can say it better.
# The nameless one is that of Py4J where a connection was lost and an error is sent again.
_LOUD = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j", "")
_NO_MEMORY = ("OutOfMemory", "maxResultSize", "UNABLE_TO_ACQUIRE_MEMORY", "OUT_OF_MEMORY")
_NO_SPACE = ("No space left on device", "Disk quota exceeded")
_NOT_FOUND = ("PATH_NOT_FOUND", "FILE_NOT_EXIST", "FileNotFoundException")
_HELD_FOR_ONE = ("COLUMN_ALREADY_EXISTS", "AMBIGUOUS_REFERENCE", "Found duplicate field(s)")
_UNREADABLE = (
    "FAILED_READ_FILE",
    "CANNOT_READ_FILE_FOOTER",
    "UNABLE_TO_INFER_SCHEMA",
    "is not a Parquet file",
    "INCONSISTENT_BEHAVIOR_CROSS_VERSION.READ_ANCIENT_DATETIME",
)
_OF_NO_TYPE = ("PARQUET_TYPE", "UNSUPPORTED_TIME_TYPE", "FOR_ARROW_CONVERSION", "EXCEEDS_MAX_PREC")
_SPLIT = ("MALFORMED_RECORD_IN_PARSING", "MALFORMED_CSV_RECORD", "TextParsingException")
_GONE = ("stopped SparkContext", "SparkContext was shut down", "SparkContext has been shutdown")


class Unsplit(InputError):
    """A line of a text file does not have the fields of its header."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Within, PySpark neither logs nor warns."""
    loud = [logging.getLogger(name) for name in _LOUD]
    before = [logger.disabled for logger in loud]
    for logger in loud:
        logger.disabled = True
    try:
        with warnings.catch_warnings():
            # About versions of other libraries; nothing a user of ours could act on.
            warnings.filterwarnings("ignore", module=r"pyspark\.")
            yield
    finally:
        for logger, silent in zip(loud, before, strict=True):
            logger.disabled = silent


@contextlib.contextmanager
def translated(label: str, sql: str) -> Iterator[None]:
    """Whatever Spark raises within comes out as one line; `label` names the sources read."""
    with quiet():
        try:
            yield
        except SfumatoError:
            raise
        except Exception as error:
            if _is_interrupted(error):
                raise KeyboardInterrupt from None
            raise _in_our_words(error, label, sql) from None


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether somebody stopped us, and Spark complains of the job that was stopped with it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _in_our_words(error: Exception, label: str, sql: str) -> SfumatoError:
    text = str(error)

    def tells(signs: tuple[str, ...]) -> bool:
        return any(sign in text for sign in signs)

    if tells(_NO_MEMORY):
        return ResourceError(
            "Spark ran out of memory: raise the memory limit, on a cluster spark.executor.memory"
        )
    if tells(_NO_SPACE):
        return ResourceError("Spark found no space left on a disk: free some, or spill elsewhere")
    if type(error).__name__ == "Py4JNetworkError" or isinstance(error, OSError) or tells(_GONE):
        return ResourceError(
            "Spark has ended in mid-work: its memory may have run out, or somebody stopped it"
        )
    if tells(_SPLIT):
        return Unsplit(
            f"{label}: a line cannot be split into the fields of its header; correct the line or "
            "quote fields that hold the delimiter"
        )
    if tells(_NOT_FOUND):
        return InputError(
            f"Spark does not find {label}; every machine of a cluster must see it under one path"
        )
    if tells(_HELD_FOR_ONE):
        return names_held_for_one(label)
    if tells(_OF_NO_TYPE):
        return InputError(
            f"{label} has a column of a type that Spark does not read (such as nanoseconds, "
            "decimals of more than 38 digits); convert the column to text, or use the engine duckdb"
        )
    if tells(_UNREADABLE):
        return InputError(f"{label} cannot be read as the file its name says it is")
    condition = getattr(error, "getCondition", lambda: None)()
    return refused("Spark", condition or type(error).__name__, label, sql)


def names_held_for_one(label: str) -> InputError:
    return InputError(
        f"{label} has columns whose names differ only in case, which Spark holds for one; "
        "rename them, or use the engine duckdb"
    )


# The Java that Spark is to run on: found as Spark finds it, of a version that Spark runs on.
#
# Spark itself answers a wrong Java with a page of class-loading errors, after seconds.

OLDEST = 17
_HOW = "install one (Debian, Ubuntu: apt install openjdk-17-jre-headless)"


def check_java(environ: Mapping[str, str] = os.environ) -> str:
    """The version of the Java that Spark would start, or what is wrong with it."""
    home = environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java", path=environ.get("PATH"))
    if java is None:
        raise MissingExtra(
            f"Spark needs Java {OLDEST} or newer, and there is none (JAVA_HOME is not set, no "
            f"java on the PATH): {_HOW}"
        )
    if not os.access(java, os.X_OK) or not Path(java).is_file():
        raise MissingExtra(
            f"Spark needs Java {OLDEST} or newer; JAVA_HOME is {home}, but has no bin/java: "
            "correct or unset it"
        )
    version = _version(java)
    if version is None:
        raise MissingExtra(f"Spark needs Java {OLDEST} or newer; {java} does not run: {_HOW}")
    if int(version.split(".")[0]) < OLDEST:
        raise MissingExtra(
            f"Spark needs Java {OLDEST} or newer; {java} is Java {version}: {_HOW} and let "
            "JAVA_HOME name its folder"
        )
    return version


def _version(java: str) -> str | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+[\d.]*)', answer.stderr + answer.stdout)
    return match[1].rstrip(".") if match and answer.returncode == 0 else None


LEAST_HEAP = 512 << 20  # Spark refuses to start with less
_HERE = "127.0.0.1"


def require_pyspark() -> None:
    """Say how to install PySpark where it is missing."""
    try:
        import pyspark
    except ImportError:
        raise MissingExtra("Spark needs PySpark 4: pip install 'sfumato[spark]'") from None
    if int(pyspark.__version__.split(".")[0]) < 4:
        raise MissingExtra(
            f"Spark needs PySpark 4, this is {pyspark.__version__}: pip install 'sfumato[spark]'"
        )


def open_session(master: str | None, memory: int, spill: Path | None) -> SparkSession:
    """The session that runs in this process already, or a new one on `master`."""
    require_pyspark()
    if spill is not None:
        check_spill(spill)
    with translated("the session", "a session"):
        running = _running()
        if running is None:
            return _start(master or "local[*]", memory, spill)
    there = "a Connect server" if is_connect(running) else running.sparkContext.master
    if master not in (None, there):
        raise InputError(
            f"this process runs a Spark session on {there} already, and can have only one; leave "
            f"master {master!r} out, or stop that session"
        )
    return running


def is_connect(session: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, which has no Java in this process."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _running() -> SparkSession | None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote

    if SparkContext._active_spark_context is None and not is_remote():
        return None
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def _start(master: str, memory: int, spill: Path | None) -> SparkSession:
    local = _check_master(master)
    version = check_java()
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    # Readable by nobody else: what spills is people's data.
    home = tempfile.mkdtemp(prefix="sfumato-", dir=spill)
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    conf = SparkConf()
    for name, value in _settings(master, local, memory, home).items():
        conf.set(name, value)
    # A gateway of our own making is quiet from its first line: Java warns before it can be told.
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    elsewhere = os.environ.pop("SPARK_LOCAL_DIRS", None)  # it would outrank the folder given
    try:
        gateway = launch_gateway(conf, quiet)  # type: ignore[no-untyped-call]
        context = SparkContext(conf=conf, gateway=gateway)
    except Exception as error:
        raise ResourceError(
            f"Spark did not start on {master} ({type(error).__name__}; Java {version}); see that "
            "the master is there, and the memory"
        ) from None
    finally:
        if elsewhere is not None:
            os.environ["SPARK_LOCAL_DIRS"] = elsewhere
    context.setLogLevel("ERROR")
    session = SparkSession(context)
    atexit.register(_stop, session)
    return session


def _stop(session: SparkSession) -> None:
    with contextlib.suppress(Exception):
        session.stop()


def _settings(master: str, local: bool, memory: int, home: str) -> dict[str, str]:
    heap = max(memory, LEAST_HEAP) >> 20
    chosen = {
        "spark.master": master,
        "spark.app.name": "sfumato",
        "spark.driver.memory": f"{heap}m",
        "spark.driver.maxResultSize": f"{heap}m",
        "spark.local.dir": home,
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Nothing is kept in a warehouse, and none is left lying about.
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": f"{home}/warehouse",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    if local or f"//{_HERE}" in master or "//localhost" in master:
        chosen |= {"spark.driver.host": _HERE, "spark.driver.bindAddress": _HERE}
    if local:
        chosen["spark.sql.shuffle.partitions"] = str(2 * _cores(master))
    return chosen


def _cores(master: str) -> int:
    match = re.match(r"local\[(\d+)", master)
    return int(match[1]) if match else (1 if master == "local" else os.cpu_count() or 1)


def _check_master(master: str) -> bool:
    """Whether a master is this machine; one that nobody answers for is told at once."""
    if re.fullmatch(r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?", master):
        return True
    if not re.match(r"spark:|k8s://|yarn$", master):
        raise InputError(
            f"master {master!r} is not known; allowed: local[2], local[*], spark://HOST:PORT, yarn "
            "or k8s://URL"
        )
    places = re.findall(r"([^/,\s]+):(\d+)", master) if master.startswith("spark://") else []
    if master.startswith("spark:") and not places:
        raise InputError(f"master {master!r} has no port; write it like spark://host:7077")
    # Spark itself would try for a minute.
    if places and not any(_answers(host, int(port)) for host, port in places):
        raise ResourceError(
            f"no Spark master answers at {master}; start it, or correct the address"
        )
    return False


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=5):
            return True
    except OSError:
        return False
