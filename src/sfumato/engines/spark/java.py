"""The Java that Spark is to run on: found as Spark finds it, of a version that Spark runs on.

Spark itself answers a wrong Java with a page of class-loading errors, after seconds.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sfumato.errors import MissingExtra

OLDEST = 17
_HOW = "install one (Debian, Ubuntu: apt install openjdk-17-jre-headless)"


def check_java(environ: Mapping[str, str] = os.environ) -> str:
    """The version of the Java that Spark would start, or what is wrong with it."""
    home = environ.get("JAVA_HOME")
    found = f"{home}/bin/java" if home else shutil.which("java", path=environ.get("PATH"))
    if found is None:
        raise MissingExtra(
            f"Spark needs Java {OLDEST} or newer, and there is none (JAVA_HOME is not set, no "
            f"java on the PATH): {_HOW}"
        )
    if not os.access(found, os.X_OK) or not Path(found).is_file():
        raise MissingExtra(
            f"Spark needs Java {OLDEST} or newer; JAVA_HOME is {home}, but has no bin/java: "
            "correct or unset it"
        )
    version = _version(found)
    if version is None:
        raise MissingExtra(f"Spark needs Java {OLDEST} or newer; {found} does not run: {_HOW}")
    if int(version.split(".")[0]) < OLDEST:
        raise MissingExtra(
            f"Spark needs Java {OLDEST} or newer; {found} is Java {version}: {_HOW} and let "
            "JAVA_HOME name its folder"
        )
    return version


def _version(java: str) -> str | None:
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+[\d.]*)', told.stderr + told.stdout)
    return found[1].rstrip(".") if found and told.returncode == 0 else None
