"""How compiled code is compiled.

Whoever starts a program for the first time waits for it: a function that Python calls has a wrapper
to be compiled besides, so what only compiled code calls has none.

Nor is a slice of an array assigned from another, or an array added to one: Numba compiles the text
of its complaint about shapes, which takes two seconds. What is copied in a loop takes none.
A number that is written down is a type of its own, for which an inner function would be compiled
once more: so it is passed on as an np.int64.

Importing Numba is slow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba as nb
import numpy as np
import numpy.typing as npt
from numba.core.event import Listener, register

from sfumato.progress import compiler_works, compiling

Int = int | np.int64  # what compiled code counts with
Array = npt.NDArray[Any]
Compiled = TypeVar("Compiled", bound=Callable[..., Any])


class _CompilationListener(Listener):
    """Whoever waits is told that something is compiled."""

    def on_start(self, event: object) -> None:
        compiling(1)

    def on_end(self, event: object) -> None:
        compiling(-1)


class _CompilerLockListener(Listener):
    """Whoever has only so many seconds is not charged for it."""

    def on_start(self, event: object) -> None:
        compiler_works(1)

    def on_end(self, event: object) -> None:
        compiler_works(-1)


register("numba:compile", _CompilationListener())  # type: ignore[no-untyped-call]
register("numba:compiler_lock", _CompilerLockListener())  # type: ignore[no-untyped-call]


def _compiled(function: Compiled, **settings: bool) -> Compiled:
    njit: Callable[..., Callable[[Compiled], Compiled]] = nb.njit
    return njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **settings)(function)


def kernel(function: Compiled) -> Compiled:
    """To be called from Python; what was compiled is kept between runs."""
    return _compiled(function, cache=True)


def inner(function: Compiled) -> Compiled:
    """To be called by kernels only: what takes many arrays from Python takes longest to compile."""
    return _compiled(function, no_cpython_wrapper=True)


# What many kernels need; NumPy's own take several times as long to compile.


@inner
def sort_numbers(numbers: Array) -> None:
    """In place (Shell's sort)."""
    gap = len(numbers) // 2
    while gap > 0:
        for place in range(gap, len(numbers)):
            number, at = numbers[place], place
            while at >= gap and numbers[at - gap] > number:
                numbers[at] = numbers[at - gap]
                at -= gap
            numbers[at] = number
        gap = 1 if gap == 2 else gap * 5 // 11


@inner
def with_room(numbers: Array, first: Int, filled: Int, more: Int) -> Array:
    """The numbers from `first` to `filled`, with room for so many more."""
    wider = np.empty(2 * (filled - first + more), numbers.dtype)
    for place in range(first, filled):
        wider[place - first] = numbers[place]
    return wider
