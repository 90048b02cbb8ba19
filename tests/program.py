"""`sfumato` as its users start it, run inside the test's own process.

A process of its own takes most of a second to import what is imported here already, and proves
nothing more, unless signals, pipes or a dying process are the question: those tests start one.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest import mock

from sfumato.cli import Exit
from sfumato.cli.main import run

_SIGNALS = [
    number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))
]


class _Stream(io.TextIOWrapper):
    """Standard output to a file: bytes are kept, and it is no terminal unless it plays one."""

    def __init__(self, *, terminal: bool = False) -> None:
        self.kept, self.terminal = io.BytesIO(), terminal
        super().__init__(self.kept, encoding="utf-8", newline="", write_through=True)

    def isatty(self) -> bool:
        return self.terminal

    def text(self) -> str:
        self.flush()
        return self.kept.getvalue().decode("utf-8").replace("\r\n", "\n")


def sfumato(*arguments: object, terminal: int = 0) -> CompletedProcess[str]:
    """Run the program with these arguments; its exit code and all it printed.

    `terminal`: as it looks on a terminal of so many columns, without colours.
    """
    words = [str(argument) for argument in arguments]
    out, err = _Stream(terminal=terminal > 0), _Stream()
    before = {n: signal.getsignal(n) for n in _SIGNALS}
    dumb = {"COLUMNS": str(terminal), "LINES": "50", "TERM": "dumb"} if terminal else {}
    code: Any = 0
    as_started = mock.patch.multiple(sys, argv=["sfumato", *words], stdout=out, stderr=err)
    with as_started, mock.patch.dict(os.environ, dumb):
        try:
            run()
        except SystemExit as left:
            code = left.code
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    if code == Exit.INTERRUPTED:  # somebody ended the tests: no answer of the program's
        raise KeyboardInterrupt(err.text())
    return CompletedProcess(words, 0 if code is None else code, out.text(), err.text())


def in_a_process(*arguments: object) -> CompletedProcess[str]:
    """The same in a fresh process: where one is what the test is about, or Spark runs in it."""
    return subprocess.run(
        [sys.executable, "-c", "from sfumato.cli.main import run; run()", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def fake_java(folder: Path, says: str, code: int = 0) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\nexit {code}\n")
    java.chmod(0o755)
    return java
