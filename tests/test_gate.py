"""The gate of `make check`: a small tree that breaks a rule of the house is refused.

That the house itself passes is what `make check` says.
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"


def script(name: str) -> ModuleType:
    spec = spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tree(root: Path, files: dict[str, str]) -> Path:
    """A source folder with these modules; every package of them is one."""
    source = root / "src"
    for name, text in {"sfumato/__init__.py": "", **files}.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return source


def modules(root: Path, files: dict[str, str]) -> list[str]:
    return list(script("check_modules").problems(tree(root, files)))


def test_two_classes_of_one_name_are_refused(tmp_path: Path) -> None:
    files = {
        "sfumato/counts/a.py": "class Point:\n    pass\n",
        "sfumato/report/b.py": "def f():\n    class Point:\n        pass\n",
    }
    (told,) = modules(tmp_path, files)
    assert told.startswith("sfumato.counts.a:1 and sfumato.report.b:2: two types are called Point")


def test_two_types_written_out_have_two_names(tmp_path: Path) -> None:
    files = {
        "sfumato/counts/a.py": 'Kind = Literal["row", "person"]\nLIMIT = 3\n',
        "sfumato/report/b.py": "Kind = int | str\nLIMIT = 4\nKinds = TypeVar('Kinds')\n",
    }
    (told,) = modules(tmp_path, files)
    assert told.startswith("sfumato.counts.a:1 and sfumato.report.b:1: two types are called Kind")


def test_a_module_of_one_reader_says_why_it_stands_apart(tmp_path: Path) -> None:
    reader = "from sfumato.counts.a import f\n"
    (told,) = modules(
        tmp_path / "shard", {"sfumato/counts/a.py": "f = 1\n", "sfumato/counts/b.py": reader}
    )
    assert "only sfumato.counts.b imports it" in told
    told_why = '"""A kernel.\n\nStands apart: compiled.\n"""\nf = 1\n'
    assert not modules(
        tmp_path / "kernel", {"sfumato/counts/a.py": told_why, "sfumato/counts/b.py": reader}
    )
    readers = {"sfumato/counts/b.py": reader, "sfumato/counts/c.py": reader}
    (told,) = modules(tmp_path / "stale", {"sfumato/counts/a.py": told_why, **readers})
    assert 'a.py: it has other readers; take "Stands apart:" out' in told


@pytest.mark.parametrize(("lines", "refused"), [(500, 0), (501, 1)])
def test_a_long_module_is_refused(tmp_path: Path, lines: int, refused: int) -> None:
    assert len(modules(tmp_path, {"sfumato/counts/a.py": "x = 1\n" * lines})) == refused


NAMES = {
    "found = 1": "found",
    "for one in rows: ...": "one",
    "rows = [len(it) for it in lists]": "it",
    "if (held := rows): ...": "held",
    "def f(told): ...": "told",
    "def f(*, what=None): ...": "what",
    "rank = lambda this: -this": "this",
    "def _told(): ...": "_told",
    "class A:\n    shown: int": "shown",
    "class A:\n    @property\n    def usual(self): ...": "usual",
    "rows._found = 1": "_found",
    "BEYOND = 3": "BEYOND",
    "match rows:\n    case [every]: ...": "every",
    "match rows:\n    case {'n': 1, **each}: ...": "each",
    "import rows as hers": "hers",
    "try: ...\nexcept ValueError as that: ...": "that",
    "print(found, rows.told, f(what=1))": None,  # given by whom we only call
    "def __eq__(self, other): ...": None,
    "both, others, found_by, itself = 1, 2, 3, 4": None,
    "'found'": None,
}


@pytest.mark.parametrize("text", NAMES)
def test_a_name_says_what_it_holds(tmp_path: Path, text: str) -> None:
    source = tree(tmp_path, {"sfumato/counts/a.py": text})
    line = 1 + text[: text.rfind(NAMES[text] or "")].count("\n")
    assert script("check_names").problems(source) == [
        f"src/sfumato/counts/a.py:{line}: {NAMES[text]!r} says nothing of what it holds; "
        "name the thing"
    ] * (NAMES[text] is not None)


def rooms(root: Path, files: dict[str, str]) -> list[str]:
    return list(script("check_rooms").problems(tree(root, files) / "sfumato"))


def test_a_room_imports_only_rooms_above_it(tmp_path: Path) -> None:
    (told,) = rooms(tmp_path / "below", {"sfumato/counts/a.py": "from sfumato.report import b\n"})
    assert "counts must not import report" in told
    (told,) = rooms(tmp_path / "engine", {"sfumato/counts/a.py": "import duckdb\n"})
    assert "only engines/ may import duckdb" in told
    (told,) = rooms(tmp_path / "room", {"sfumato/attic/a.py": ""})
    assert "'attic' is not a room" in told


SIGNATURES = {
    "def f(x: Any) -> int: ...": True,
    "def f() -> Mapping[str, Any]: ...": True,
    "def f(*, x: typing.Any = None): ...": True,
    "def f(**more: Any) -> None: ...": True,
    "class f:\n    def g(self, x: Any) -> None: ...": True,
    "class f:\n    def __init__(self, x: list[Any]) -> None: ...": True,
    "class f:\n    def _g(self, x: Any) -> None: ...": False,
    "def f(x: object) -> npt.NDArray[Any]: ...": False,
    "def f(x: np.integer[Any] | None = None) -> None: ...": False,
    "def f():\n    x: Any = 1": False,
}


@pytest.mark.parametrize("text", SIGNATURES)
def test_what_crosses_rooms_says_what_it_is(tmp_path: Path, text: str) -> None:
    module = {"sfumato/counts/a.py": text}
    reader = "def late():\n    from sfumato.counts.a import f\n"
    told = rooms(tmp_path / "crossing", {**module, "sfumato/report/b.py": reader})
    assert [("crosses rooms with Any" in line) for line in told] == [True] * SIGNATURES[text]
    assert not rooms(tmp_path / "inside", {**module, "sfumato/counts/b.py": reader})


CALLS = {
    "Report(advise)": True,
    "Report(advice=advise)": True,
    "Report(lambda: 1)": True,
    "Report(partial(advise, 1))": True,
    "Report(advise())": False,
    "Report(Audited())": False,
    "print(advise)": False,
}


@pytest.mark.parametrize("call", CALLS)
def test_a_report_is_given_results_and_never_functions(tmp_path: Path, call: str) -> None:
    files = {
        "sfumato/report/report.py": "class Report: ...\n",
        "sfumato/workflow/advise.py": "def advise(): ...\n",
        "sfumato/workflow/audit.py": "from functools import partial\n"
        "from sfumato.report.report import Report\n"
        "from sfumato.workflow.advise import advise\n"
        f"class Audited: ...\n{call}\n",
    }
    told = rooms(tmp_path, files)
    assert [("to call back" in line) for line in told] == [True] * CALLS[call]


@pytest.mark.parametrize("room", ["report", "workflow", "cli"])
def test_readers_of_verdicts_ask_the_contract_of_criteria(tmp_path: Path, room: str) -> None:
    wrong = "from sfumato.criteria.diversity import EntropyDiversity\n"
    (told,) = rooms(tmp_path / "wrong", {f"sfumato/{room}/a.py": wrong})
    assert "asks the contract of criteria; do not import EntropyDiversity" in told
    right = "from sfumato.criteria import CRITERIA\nfrom sfumato.criteria.base import Criterion\n"
    assert not rooms(tmp_path / "right", {f"sfumato/{room}/a.py": right})


def test_what_compiled_code_does_is_decided_by_its_files_and_those_of_its_constants(
    tmp_path: Path,
) -> None:
    files = {
        "sfumato/compiled.py": "def kernel(function): ...\n",
        "sfumato/counts/kernel.py": "from sfumato.compiled import kernel\n"
        "from sfumato.counts.limits import LIMIT\nfrom sfumato.numbers import Kind, total\n",
        "sfumato/counts/limits.py": "from sfumato.schema import LIMIT\n",
        "sfumato/schema/__init__.py": "LIMIT = 3\n",
        "sfumato/numbers.py": "class Kind(IntEnum):\n    FEWEST = 0\n",
        "sfumato/counts/rows.py": "from sfumato.counts.kernel import count\n",
        "sfumato/release/build.py": "from sfumato.release import names\n",
    }
    source = tree(tmp_path, files)
    decide = script("compiled_sources").compiled_sources(source)
    assert [str(path.relative_to(source)) for path in decide] == [
        "sfumato/compiled.py",
        "sfumato/counts/kernel.py",
        "sfumato/counts/limits.py",
        "sfumato/numbers.py",
        "sfumato/schema/__init__.py",
    ]
