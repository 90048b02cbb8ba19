"""A run that is killed at a given line of the code that writes: nothing is cleared up after it."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from sfumato import files


def killed_at(point: int, write: Callable[[], None]) -> bool:
    """Write in a fork that ends at its `point`-th line of files.py; False if it ended before."""
    child = os.fork()
    if not child:
        passed = 0

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal passed
            if frame.f_code.co_filename != files.__file__:
                return None
            if event == "line":
                passed += 1
                if passed == point:
                    os._exit(9)
            return trace

        code = 1
        gc.disable()  # what other tests left is not cleared up in a fork that lacks its threads
        try:
            sys.settrace(trace)
            write()
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9
