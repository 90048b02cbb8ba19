"""From a TOML table to the object it describes, through the object's own constructor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from sfumato.errors import PolicyError, did_you_mean

Kind = TypeVar("Kind")


def construct(
    where: str, key: str, entry: Mapping[str, Any], registry: Mapping[str, type[Kind]]
) -> Kind:
    """The object that `entry[key]` names in the registry, made from the other keys."""
    name = entry.get(key)
    if name is None:
        raise PolicyError(f"{where}: {key} is missing; allowed: {', '.join(registry)}")
    if not isinstance(name, str) or name not in registry:
        raise PolicyError(
            f"{where}: {key} = {name!r} is not known; {did_you_mean(str(name), registry)}"
        )
    kind = registry[name]
    given = {option: value for option, value in entry.items() if option != key}
    allowed = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for option in given:
        if option not in allowed:
            raise PolicyError(
                f"{where} ({name}): unknown key {option!r}; {did_you_mean(option, allowed)}"
            )
    missing = [option for option, f in allowed.items() if _required(f) and option not in given]
    if missing:
        raise PolicyError(f"{where} ({name}): {missing[0]} is missing")
    try:
        return kind(**given)
    except PolicyError as error:
        raise PolicyError(f"{where}: {error}") from None


def _required(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING
