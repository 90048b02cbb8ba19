"""Messages: the word that was meant is found, whatever its case."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import did_you_mean, nearest

words = st.text("abcdefgh", min_size=1, max_size=8)


@given(st.sets(words, min_size=1, max_size=6), st.data())
def test_case_alone_is_never_a_reason_for_no_hint(names: set[str], data: st.DataObject) -> None:
    meant = data.draw(st.sampled_from(sorted(names)))
    assert did_you_mean(meant.upper(), names) == f"did you mean {meant!r}?"
    shouted = {name.upper() for name in names}
    assert did_you_mean(meant, shouted) == f"did you mean {meant.upper()!r}?"


def test_names_that_differ_in_case_only_are_told_apart() -> None:
    assert nearest("AG", ["age", "AGE"]) == "AGE"
    assert nearest("ag", ["age", "AGE"]) == "age"


def test_nothing_is_near_what_is_unlike() -> None:
    assert nearest("zip", ["age", "sex"]) is None
    assert did_you_mean("zip", ["sex", "age"]) == "allowed: age, sex"
