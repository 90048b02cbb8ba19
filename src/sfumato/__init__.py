"""Sfumato publishes microdata that stands up to realistic adversaries.

The public names stand in `__init__.pyi`, each once beside its home, where type checkers read them
too. They are imported when first used, so that `import sfumato` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any


def _homes() -> dict[str, str]:
    """The home of every public name: lines `from home import name as name`."""
    lines = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8").splitlines()
    imports = [line.split() for line in lines if line.startswith("from ")]
    return {name: home for _, home, _, name, *_ in imports}


_HOME_OF = _homes()
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from sfumato.version import own_version

        return own_version()
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
