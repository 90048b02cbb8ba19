"""The program's door: light, so that Ctrl-C is answered while the rest is being imported, too."""

from __future__ import annotations

import contextlib
import gc
import os
import signal

from sfumato.cli import OWN_PROCESS, Exit

# How many objects are made before Python looks for circles among them. At its own 700 a warm init
# looked 300 times, a twentieth of its processor time, and let go of 2,000 in all.
_OBJECTS = 50_000

SIGNALS = [
    number
    for name in ("SIGINT", "SIGTERM", "SIGHUP")  # not every system has all
    if (number := getattr(signal, name, None)) is not None
]


def heeded() -> list[int]:
    """The signals that end a run: those that whoever started it (nohup) does not keep from it."""
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def run() -> None:
    """Run the program; an interrupt is answered truly from the first moment to the last."""
    begun = False

    def leave(*_: object) -> None:
        if not begun:
            with contextlib.suppress(OSError):
                os.write(2, b"interrupted; nothing was written\n")
            os._exit(Exit.INTERRUPTED)
        # Afterwards all has been told, and what it was stands.

    for number in heeded():
        signal.signal(number, leave)
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    from sfumato.cli.main import run as program

    OWN_PROCESS.append(True)
    begun = True
    program()
