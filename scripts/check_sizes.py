"""Check that modules stay small: one file, one idea. Over 500 lines is a sign to split."""

from __future__ import annotations

import sys
from pathlib import Path

LIMIT = 500
SOURCE = Path(__file__).parent.parent / "src"


def main() -> int:
    sizes = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for path in sorted(SOURCE.rglob("*.py"))
    }
    large = {path: size for path, size in sizes.items() if size > LIMIT}
    for path, size in large.items():
        print(f"{path.relative_to(SOURCE.parent)}: {size} lines, more than {LIMIT}; split it")
    if not large:
        print(f"sizes: {len(sizes)} modules, largest {max(sizes.values())} lines")
    return bool(large)


if __name__ == "__main__":
    sys.exit(main())
