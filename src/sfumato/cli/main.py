"""`sfumato`: the program and its commands.

How a run ends is decided here: every end has one line and an exit code.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer
from typer.core import TyperGroup

from sfumato.cli import Exit
from sfumato.cli.entry import heeded
from sfumato.cli.show import one_line
from sfumato.errors import NoSafeRelease, SfumatoError
from sfumato.files import LeftBehind, moment, standing
from sfumato.version import own_version

# How a run ends: what happened is told truly, by one line and by the exit code.
#
# What is written stands or not, whether or not anybody reads the output:
# a closed pipe, a full disk behind it or an alphabet that lacks a sign do not change the answer.


def ending_of(command: Callable[[], Any]) -> int:
    """Run a command of the program and give its exit code; our errors are told in one line."""
    begun = moment()
    with _patient_output() as failed, _interruptible() as signals:
        try:
            code = _exit_code(command, signals)
        except KeyboardInterrupt:
            code = Exit.INTERRUPTED
        except Exception as error:
            # An engine answers an interrupt by an error of its own.
            code = Exit.INTERRUPTED if signals else _internal(error)
        if code == Exit.INTERRUPTED:
            left = "; ".join(f"{folder.name} stands at {folder.path}" for folder in standing(begun))
            say(f"interrupted; {left or 'nothing was written'}")
        with contextlib.suppress(ValueError):
            sys.stdout.flush()
        for failure in failed():
            if not isinstance(failure, BrokenPipeError):
                say(f"note: the output could not be written: {failure.strerror}")
    return code


def _exit_code(command: Callable[[], Any], signals: list[int]) -> int:
    try:
        code = command()
    except SfumatoError as error:
        if signals:
            raise
        say(f"error: {error}")
        return Exit.VIOLATED if isinstance(error, NoSafeRelease) else Exit.BAD_INPUT
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        say(f"error: {place}{error.strerror or type(error).__name__}")
        return Exit.BAD_INPUT
    except MemoryError:
        say("error: out of memory; give less at once, or a memory limit (--memory)")
        return Exit.BAD_INPUT
    return code if isinstance(code, int) and code in tuple(Exit) else Exit.HOLDS


def _internal(error: BaseException) -> int:
    """A mistake of ours is nobody's bad input, and no verdict either."""
    if os.environ.get("SFUMATO_DEBUG"):
        traceback.print_exception(error)
    say(
        f"error: could not judge: internal error ({type(error).__name__}); set SFUMATO_DEBUG=1 for "
        "the traceback, which may quote data"
    )
    return Exit.COULD_NOT_JUDGE


def say(line: str) -> None:
    """One line on stderr, if anybody is there to read it."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(one_line(line) + "\n")
        sys.stderr.flush()


@contextlib.contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Ctrl-C and requests to end undo what is half done and leave; those that came are listed."""
    came: list[int] = []

    def leave(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, leave) for number in heeded()}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# -- output that never fails ----------------------------------------------------------------------


class _Outlet(io.RawIOBase):
    """A file that takes everything; what cannot be written is dropped, and the reason kept."""

    def __init__(self, handle: int) -> None:
        self._file = io.FileIO(handle, "wb", closefd=False)
        self.failure: OSError | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def isatty(self) -> bool:
        return self._file.isatty()

    def write(self, data: Any) -> int | None:
        if self.failure is None:
            try:
                return self._file.write(data)
            except OSError as error:
                self.failure = error
        return len(data)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Signs that an alphabet lacks, as JSON writes them: \\u00e9."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(f"\\u{unit:04x}" for unit in pairs), error.end


@contextlib.contextmanager
def _patient_output() -> Iterator[Callable[[], list[OSError]]]:
    """Let stdout take everything, whoever reads it; tells what could not be written."""
    codecs.register_error("sfumato", _escaped)
    before = sys.stdout, sys.stderr
    outlets = []
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (for good)
    elif (handle := _handle_of(sys.stdout)) is not None:
        sys.stdout.flush()
        outlet = _Outlet(handle)
        outlets.append(outlet)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(outlet),
            encoding=sys.stdout.encoding,
            errors="sfumato",
            line_buffering=outlet.isatty(),
        )
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (for good)
    warned = warnings.showwarning

    def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, LeftBehind):
            say(f"note: {message}")
        else:
            warned(message, category, *where, **more)

    warnings.showwarning = show
    try:
        yield lambda: [outlet.failure for outlet in outlets if outlet.failure is not None]
    finally:
        warnings.showwarning = warned
        with contextlib.suppress(ValueError):
            sys.stdout.flush()
        sys.stdout, sys.stderr = before


def _handle_of(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None  # not a file: somebody catches what is printed


# What the list of commands says of each; a command is the function, or the group of them, that its
# module names as itself.
COMMANDS = {
    "anonymize": "Make the most useful release the policy allows.",
    "audit": "Judge a table or a release, made by any tool, by a policy.",
    "characterize": "Measure what combinations of columns tell.",
    "compare": "Anonymize in many ways: risk beside utility.",
    "demo": "The whole journey on synthetic people.",
    "hierarchy": "Propose a hierarchy of a column.",
    "init": "Draft a policy from the data, with reasons.",
    "price": "Tell what each promise and column costs.",
    "reproduce": "Run the papers' experiments.",
    "serve": "Open the workbench, a local page.",
    "skyline": "Find what somebody may know without harm.",
    "attack": "Attack releases as adversaries would.",
    "ledger": "Keep what was released, judge all together.",
}


class _Loading(Mapping[str, Any]):
    """Commands by their names, each put together when it is asked for: no run waits for another's.

    To import all of them and to read their options takes as long as a small audit.
    """

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            in_words = COMMANDS[name]
            room = import_module(f"sfumato.cli.{name}")
            alone = typer.Typer(rich_markup_mode=None)
            alone.callback()(main)  # a group, also where it has one command
            if isinstance(command := getattr(room, name), typer.Typer):
                alone.add_typer(command, short_help=in_words)
            else:
                shape = getattr(room, "SHAPE", None)
                alone.command(cls=shape, short_help=in_words)(command)
            self._loaded[name] = typer.main.get_group(alone).commands[name]
        return self._loaded[name]


class _Commands(TyperGroup):
    """The program's commands; a list of them loads none."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast("MutableMapping[str, Any]", _Loading())

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    name="sfumato",
    cls=_Commands,
    help="Publish microdata that stands up to realistic adversaries.",
    epilog="Start with: sfumato demo --out demo",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,  # they print local variables: somebody's data
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"sfumato {own_version()}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Publish microdata that stands up to realistic adversaries."""


def run() -> None:
    """The program's entry: our errors in one line, nobody's data in a traceback."""
    try:
        code = ending_of(_command)
    except KeyboardInterrupt:  # once more, while the first was being told
        code = Exit.INTERRUPTED
    sys.exit(code)


@cache
def _parser() -> Any:
    """What reads the words of a call."""
    return typer.main.get_command(app)


def _command() -> Any:
    """What was asked for; the exit code it asks for, if any."""
    try:
        return _parser()(standalone_mode=False, prog_name="sfumato")
    except SystemExit as left:
        return left.code
    except Exception as error:
        # A mistake in the options: the parser shows it as it sees fit.
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        return Exit.BAD_INPUT
