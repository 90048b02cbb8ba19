"""Wrong calls of the Python interface end in a SfumatoError of one line, or a TypeError."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from tests.attack.wrong_calls import NOT_CALLED, right_calls


def test_every_public_name_is_called_or_said_not_to_be(tmp_path: Path) -> None:
    called = {call.name for call in right_calls(tmp_path)}
    assert called | NOT_CALLED == set(sf.__all__)
    assert not called & NOT_CALLED


def test_right_calls_are_right(tmp_path: Path) -> None:
    for call in right_calls(tmp_path):
        call.run()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: sf.anonymize("x", None), "table = 'x' is not allowed"),
        (lambda: sf.Groups([[1, 2], [3]]), "counts must be whole numbers of people"),
        (lambda: sf.audit(3, []), "subject = 3 is not allowed"),
        (lambda: sf.Groups([[10**30]]), "fewer people than 64 bits can count"),
        (lambda: sf.Groups([[2**62], [2**62]]), "fewer people than 64 bits can count"),
        (lambda: sf.Groups([[3, -1]]), "counts must not be negative"),
        (lambda: sf.CompositionBound(0.1, 0.5, "\0"), "signs that no file name can have"),
        (lambda: sf.breach_probability(sf.Groups([[1]]), "0", 0, 0, 0, np.eye(2)), "case = "),
        (lambda: sf.exposed_people(sf.Groups([[1]]), "0", [(1, 2)], 0.5), "is not .l, k, m."),
        (lambda: sf.exposed_people(sf.Groups([[1]]), "0", [3], 0.5), "is not .l, k, m."),
        (lambda: sf.people_behind(None, None), "release = None is not allowed"),
        (lambda: sf.Reading(threads=0), "threads 0 is not allowed"),
        (lambda: sf.Reading(threads=10**8), "whole number from 1 to 1,024"),
        (lambda: sf.Reading(threads=10**5000), "threads a number of thousands of digits"),
    ],
)
def test_what_was_wrong_is_said(call: object, told: str) -> None:
    with pytest.raises(sf.SfumatoError, match=told):
        call()  # type: ignore[operator]
