"""What several commands share: options, each told once, and how what they name is read."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import OWN_PROCESS
from sfumato.engines.reading import OptionSubject, Reading, by_column, options_about

if TYPE_CHECKING:
    from sfumato.policy.model import Policy
    from sfumato.release.release import Release
    from sfumato.schema.roles import Schema
    from sfumato.table import Table

PAIR = "+"  # between the two files of a bucketized release
UNKNOWN = "unknown"  # what a cell says of which nothing is known


def load_rules(path: Path, limits: Sequence[str] | None = None) -> tuple[Policy, Schema]:
    """A policy that also says what the columns of a file are; with further limits of some."""
    from sfumato.errors import PolicyError
    from sfumato.policy.model import Policy
    from sfumato.schema.limits import parse_limit

    rules = Policy.load(path)
    if rules.schema is None:
        raise PolicyError(f"{path.name} has no [schema]; name the columns' roles in it")
    if not limits:
        return rules, rules.schema
    given = dict(map(parse_limit, limits))
    schema = replace(rules.schema, limits={**rules.schema.limits, **given})
    return replace(rules, schema=schema), schema


def read_judged(files: list[Path], rules: Policy, schema: Schema, reading: Reading) -> Release:
    """What is to be judged: a table or a release, read as the policy says where that fits."""
    from sfumato.counts.leaves import leaves_as_stated
    from sfumato.release.read.read_release import load_release

    schema = leaves_as_stated(schema, rules.read.stated_forms)
    source = files[0] if len(files) == 1 else tuple(files)
    settings = rules.reading_of(files, reading)
    release = load_release(source, schema, settings)
    said = rules.read.sheet is not None or rules.read.header not in (None, 1)
    if not said or settings.sheet is not None or settings.header is not None:
        return release
    if not files[0].is_file():  # a folder says itself how it is written
        return release
    unused = f"[read] of the policy is about a sheet, and {files[0].name} has none"
    return replace(release, notes=(*release.notes, unused))


def read_table(path: Path, rules: Policy, schema: Schema, reading: Reading) -> Table:
    """The table a policy is about, read as the policy says unless an option says otherwise."""
    from sfumato.engines.files import check_sheet
    from sfumato.errors import InputError
    from sfumato.table import load_table

    try:
        check_sheet(reading, (path,))
    except InputError:  # what was given is about another file, which has sheets (see `reads`)
        reading = replace(reading, sheet=None, header=None)
    return load_table(path, schema, reading.over(rules.read))


def read_population(path: Path, rules: Policy, schema: Schema, reading: Reading) -> Table:
    """A register of the population: only its quasi-identifiers matter, and whose each row is."""
    from sfumato.table import load_register

    settings = rules.reading_of([path], reading.about("file", "engine"))
    return load_register(path, schema.of_register(), schema.person, settings)


# -- several releases, and the people in all of them -----------------------------------------------


def read_one(path: str, rules: Policy, schema: Schema, reading: Reading) -> Release:
    """A release: a file, a folder of ours, or two files QUASI+SENSITIVE with --group."""
    files = _files(path)
    group = reading.group if len(files) == 2 else None
    return read_judged(files, rules, schema, replace(reading, group=group))


def _files(path: str) -> list[Path]:
    whole = Path(path).exists() or PAIR not in path
    return [Path(path)] if whole else [Path(name) for name in path.split(PAIR, 1)]


def schemes_of(releases: Sequence[str], given: Sequence[str]) -> list[str]:
    """What --scheme says of each release: once, of every single file; else of each in turn."""
    from sfumato.errors import InputError

    if len(given) not in (0, 1, len(releases)):
        raise InputError(
            f"--scheme is given {len(given)} times for {len(releases)} releases; give it once for "
            "all files, or once for each release, in their order"
        )
    if len(given) == len(releases):
        return list(given)
    single = [len(_files(path)) == 1 and not Path(path).is_dir() for path in releases]
    return [given[0] if given and file else "generalized" for file in single]


def read_targets(
    path: Path,
    rules: Policy,
    schema: Schema,
    releases: Sequence[Release],
    reading: Reading,
    truth: str | None = None,
    unknown: str = UNKNOWN,
) -> object:
    """People by the quasi-identifiers of all releases; with their true values if it is asked."""
    from sfumato.adversaries.locating.targets import targets_in_file

    columns = list(dict.fromkeys(name for release in releases for name in release.regions.columns))
    settings = rules.reading_of([path], reading.about("file", "engine"))
    return targets_in_file(path, columns, schema, settings, truth, unknown)


UnknownCell = Annotated[
    str,
    typer.Option(
        metavar="TEXT",
        help="What a cell of the targets says of which nothing is known; columns left out are not "
        "known either.",
    ),
]
PolicyFile = Annotated[
    Path, typer.Option("--policy", help="The policy, a TOML file with a [schema].")
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="COLUMN=LEVELS",
        help="The levels a quasi-identifier may be published at: age=1..3, age=..3, "
        "birth=year..decade, or sex=no-star (never *). Repeatable; over the policy's own.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Show all of it, not only what matters most.")
]
PageFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Also write it to this .html file, a page that opens offline."
    ),
]
By = Annotated[
    str, typer.Option(metavar="NAME", help="Who answers for the report; its first screen says so.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
ReleaseFiles = Annotated[
    list[Path],
    typer.Argument(
        help="The file to judge (CSV, Parquet, Excel, SPSS, ...), a folder that anonymize wrote, "
        "or the two files of a bucketized release."
    ),
]
Command = Callable[..., None]


def reads(*subjects: OptionSubject, but: str = "") -> Callable[[Command], Command]:
    """Give a command the options of Reading about these subjects, as its argument `reading`.

    `but` is one that the command takes itself, for it means more there.
    """

    def with_options(command: Command) -> Command:
        own = [
            parameter
            for parameter in inspect.signature(command, eval_str=True).parameters.values()
            if parameter.name != "reading"
        ]
        shared = [_parameter(option) for option in options_about(*subjects) if option.name != but]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            _spare_pandas()
            _spare_linear_algebra()
            options = {parameter.name: given.pop(parameter.name) for parameter in shared}
            options |= {
                name: by_column(words) for name, words in options.items() if isinstance(words, list)
            }
            reading = Reading(**options)
            if reading.sheet is not None or reading.header is not None:
                from sfumato.engines.files import check_sheet

                named = [value if isinstance(value, list) else [value] for value in given.values()]
                check_sheet(reading, [*itertools.chain(*named), reading.facts])
            command(**given, reading=reading)

        # What a command takes is read off its signature.
        parameters = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own, *shared)
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return with_options


class _NoPandas:
    """Finds that there is no pandas, as `sys.meta_path` asks."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not looked for", name=name)


def _spare_pandas() -> None:
    """Keep Arrow from loading pandas: it does so with the first list that it is given, to see
    whether that is one of pandas', which takes as long as a small audit. It still writes them."""
    if OWN_PROCESS and "pandas" not in sys.modules:
        import pyarrow as pa

        sys.meta_path.insert(0, _NoPandas)
        try:
            pa.array([])
        finally:
            sys.meta_path.remove(_NoPandas)


class _NoLinearAlgebra:
    """Finds that SciPy has none while Numba asks, as `sys.meta_path` asks."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "scipy.linalg":
            asking = sys.modules.get("numba.np.arraymath")
            if asking is not None and not hasattr(asking, "_HAVE_BLAS"):
                raise ModuleNotFoundError("linear algebra is not looked for", name=name)


def _spare_linear_algebra() -> None:
    """Keep Numba from loading SciPy's linear algebra before the first compiled function, to see
    whether compiled code may multiply matrices, as ours does not. Whoever else needs it loads it.
    """
    if OWN_PROCESS and "numba.np.arraymath" not in sys.modules:
        sys.meta_path.insert(0, _NoLinearAlgebra)


def _parameter(option: Any) -> inspect.Parameter:
    kind, flag = option.metadata["kind"], f"--{option.name.replace('_', '-')}"
    option_of = typer.Option(flag, help=option.metadata["about"], metavar=option.metadata["shape"])
    type_ = kind if option.default is not None else kind | None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[type_, option_of],
    )
