"""How compiled code is compiled.

Whoever starts a program for the first time waits for it: a function that Python calls has a wrapper
to be compiled besides, so what only compiled code calls has none.

Nor is a slice of an array assigned from another, or an array added to one: Numba compiles the text
of its complaint about shapes, which takes two seconds. What is copied in a loop takes none.
A number that is written down is a type of its own, for which an inner function would be compiled
once more: so it is passed on as an np.int64.

Making arrays takes it long as well, a second for those of a search: where many are needed Python
makes them, and hands them on.

Many arrays travel together, in named tuples. Numba hands each on as every number of each of its
arrays: 250 arguments, at every call, took a third of the time. `by_address` has a tuple handed
on as the address of where its arrays are described.

Importing Numba is slow.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators, allow-subclassing-any

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import numba as nb
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.caching import FunctionCache
from numba.core.event import Listener, register
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.runtime.nrt import rtsys
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

from sfumato.progress import compiler_works, compiling

Int = int | np.int64  # what compiled code counts with
Array = npt.NDArray[Any]
Compiled = TypeVar("Compiled", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound=type)

_REFUSAL = "refuse_foreign_bytes"  # what each kind of tuple handed on by address is asked first


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


register("numba:compile", _CompilationListener())
register("numba:compiler_lock", _CompilerLockListener())


def _compiled(function: Compiled, **settings: bool) -> Compiled:
    njit: Callable[..., Callable[[Compiled], Compiled]] = nb.njit
    return njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **settings)(function)


def kernel(function: Compiled) -> Compiled:
    """To be called from Python; what was compiled is kept between runs, where a folder takes it."""
    compiled = _compiled(function)
    with contextlib.suppress(RuntimeError):  # all folders that Numba knows of are closed to us
        compiled._cache = _CompiledFiles(function)  # type: ignore[attr-defined]
    return compiled


class _CompiledFiles(FunctionCache):
    """What was compiled, in a folder; where it is full, each run compiles anew.

    So it does what a file cut short had kept, as a machine that lost its power leaves it: Numba
    would end this run and every later one.

    Numba loads whatever it can compile before it looks here: some tenths of a second of each run.
    To run what was compiled its run-time library is enough; a compiler loads the rest itself.
    """

    def load_overload(self, signature: Any, context: Any) -> Any:
        rtsys.initialize(context)
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(signature, context)
        except Exception:  # bytes that are no pickle raise whatever they happen to say
            self._forget()
        return None

    def _forget(self) -> None:
        """Keep anew what is compiled from now on, or nothing where no file can be written."""
        try:
            self.flush()
        except OSError:
            self.disable()

    def save_overload(self, signature: Any, overload: Any) -> None:
        with contextlib.suppress(OSError):
            super().save_overload(signature, overload)


def inner(function: Compiled) -> Compiled:
    """To be called by kernels only: what takes many arrays from Python takes longest to compile."""
    return _compiled(function, no_cpython_wrapper=True)


# -- named tuples handed on by address ----------------------------------------------------------
#
# Compiled code reads a member where it needs it. No array of a tuple is counted as used, since
# whoever calls from Python holds the tuple until the call is over; so no array of one may be
# returned. Nor does Numba tell numbers whose bytes stand the other way round from others, once it
# has seen a tuple of such arrays: they are refused, or they would be read as other numbers.


class _ByAddress(types.NamedTuple):
    """A named tuple of arrays and numbers, made by Python."""

    def __init__(self, members: list[Any], kind: type) -> None:
        super().__init__(members, kind)
        self.name = f"at {self.name}"

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells code kept between runs apart: it knows members by their places alone."""
        return (*super().key, self.fields)


def by_address(kind: Kind) -> Kind:
    """Hand named tuples of this kind on by address; to be said before a kernel is called."""
    typeof_impl.register(kind)(_type_by_address)
    setattr(kind, _REFUSAL, _refuse_foreign_bytes)
    return kind


def _refuse_foreign_bytes(value: tuple[Any, ...]) -> None:
    for name, member in zip(value._fields, value, strict=True):  # type: ignore[attr-defined]
        if isinstance(member, np.ndarray) and not member.dtype.isnative:
            raise TypeError(
                f"{type(value).__name__}.{name}: compiled code reads numbers as this machine "
                f"stores them, these are {member.dtype.str}; use .astype({member.dtype.name!r})"
            )


def _type_by_address(value: tuple[Any, ...], context: Any) -> _ByAddress:
    return _ByAddress([typeof_impl(member, context) for member in value], type(value))


@register_model(_ByAddress)
class _AddressModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: _ByAddress) -> None:
        members = manager.lookup(types.Tuple(numba_type.types)).get_value_type()
        super().__init__(manager, numba_type, members.as_pointer())


@unbox(_ByAddress)
def _describe_members(numba_type: _ByAddress, value: Any, wrapper: Any) -> NativeValue:
    builder, context = wrapper.builder, wrapper.context
    model = context.data_model_manager.lookup(numba_type)
    place = cgutils.alloca_once(builder, model.get_value_type().pointee)
    text = ir.IntType(8).as_pointer()
    describe = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.IntType(32), [text, text]), "numba_adapt_ndarray"
    )
    refused = wrapper.pyapi.call_method(value, _REFUSAL)
    failed = cgutils.is_null(builder, refused)
    wrapper.pyapi.decref(refused)
    for number, member in enumerate(numba_type.types):
        item = wrapper.pyapi.tuple_getitem(value, number)
        field = cgutils.gep_inbounds(builder, place, 0, number)
        if isinstance(member, types.Array):
            status = builder.call(describe, [item, builder.bitcast(field, text)])
            failed = builder.or_(failed, cgutils.is_not_null(builder, status))
        else:
            native = wrapper.unbox(member, item)
            builder.store(native.value, field)
            failed = builder.or_(failed, native.is_error)
    return NativeValue(place, is_error=failed)


@lower_getattr_generic(_ByAddress)
def _read_member(context: Any, builder: Any, numba_type: _ByAddress, value: Any, name: str) -> Any:
    number = numba_type.fields.index(name)
    member = builder.load(cgutils.gep_inbounds(builder, value, 0, number))
    return impl_ret_borrowed(context, builder, numba_type.types[number], member)


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
