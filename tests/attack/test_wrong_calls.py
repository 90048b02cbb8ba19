"""Wrong calls of the Python interface end in a SfumatoError of one line, or a TypeError."""

from __future__ import annotations

import warnings
from pathlib import Path

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


def test_wrong_calls_raise_our_errors_or_type_errors(tmp_path: Path) -> None:
    tries, refused, others = 0, 0, []
    for call in right_calls(tmp_path):
        for what, run in call.wrong():
            tries += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    run()
            except sf.SfumatoError as error:
                refused += 1
                if len(str(error).splitlines()) != 1:
                    others.append(f"{what}: several lines")
            except TypeError:
                refused += 1
            except Exception as error:
                others.append(f"{what}: {type(error).__name__}")
    assert others == []
    assert tries > 3000
    assert refused > tries / 2


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: sf.anonymize("x", None), "table = 'x' is not allowed"),
        (lambda: sf.Groups([[1, 2], [3]]), "counts must be whole numbers of people"),
        (lambda: sf.audit(3, []), "subject = 3 is not allowed"),
    ],
)
def test_what_was_wrong_is_said(call: object, told: str) -> None:
    with pytest.raises(sf.InputError, match=told):
        call()  # type: ignore[operator]
