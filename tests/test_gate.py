"""The gate of `make check`: a small tree that breaks a rule of the house is refused."""

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
    assert told.startswith(
        "sfumato.counts.a:1 and sfumato.report.b:2: two classes are called Point"
    )


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


@pytest.mark.parametrize(("lines", "refused"), [(500, 0), (501, 1)])
def test_a_long_module_is_refused(tmp_path: Path, lines: int, refused: int) -> None:
    assert len(modules(tmp_path, {"sfumato/counts/a.py": "x = 1\n" * lines})) == refused


def test_the_house_itself_passes() -> None:
    assert not script("check_modules").problems()
    assert not script("check_rooms").problems()
