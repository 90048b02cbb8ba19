"""What several workers need is compiled by the first of them; the others take what it kept.

Numba looks into its cache, finds nothing and compiles: workers that begin together would compile
the same functions, each for itself. Who waits here lets the others work.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import Any

from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher


def compile_once() -> None:
    """From now on no two processes compile the same function at the same time."""
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or tempfile.gettempdir()) / "being-compiled"
    folder.mkdir(parents=True, exist_ok=True)
    compile_now = Dispatcher.compile

    def compile_alone(self: Any, sig: Any) -> Any:
        if isinstance(self._cache, NullCache):  # part of a function that is kept, and has its turn
            return compile_now(self, sig)
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        # Numba's own lock first: what this function calls is compiled under both, too; and
        # searches that watch the clock leave out how long it is held.
        with global_compiler_lock, (folder / name).open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            return compile_now(self, sig)

    Dispatcher.compile = compile_alone
