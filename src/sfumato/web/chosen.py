"""Which release of the project a page is about."""

from __future__ import annotations

from sfumato.errors import InputError, quoted
from sfumato.web.bench import Bench, Form, whole_or_none


def chosen_point(bench: Bench, form: Form) -> int:
    """The release in question: that of the address, else the one taken, else the last."""
    numbers = [point.number for point in bench.project.points()]
    asked = form.text("point")
    if asked:
        number = whole_or_none(asked)
        if number is None or number not in numbers:
            raise InputError(f"there is no release {quoted(asked)} in this project")
        return number
    if not numbers:
        raise InputError("no release was made yet; make one at the step Release")
    taken = bench.project.decisions().get("taken")
    return taken if taken in numbers else numbers[-1]
