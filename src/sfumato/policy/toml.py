"""The TOML form of a policy: read with pydantic, answered in one line, written back."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sfumato.criteria import CRITERIA
from sfumato.criteria.base import Criterion
from sfumato.errors import PolicyError, SchemaError, SfumatoError, did_you_mean
from sfumato.schema import recipes
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.roles import Schema
from sfumato.schema.taxonomy import taxonomy

Number = int | float
Scalar = str | int | float | bool | dt.date


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class IntervalsModel(_Strict):
    kind: Literal["intervals"]
    widths: list[Number] | None = None
    cuts: list[Number] | list[list[Number]] | None = None
    origin: Number = 0
    top: Number | None = None
    bottom: Number | None = None


class MaskModel(_Strict):
    kind: Literal["mask"]


class SuppressionModel(_Strict):
    kind: Literal["suppression"]


class TaxonomyModel(_Strict):
    kind: Literal["taxonomy"]
    file: str | None = None
    paths: dict[str, str | list[str]] | None = None


class DatesModel(_Strict):
    kind: Literal["dates"]
    units: list[str] = Field(default_factory=lambda: [str(unit) for unit in recipes.UNITS])
    top: int | None = None
    bottom: int | None = None


HierarchyModel = Annotated[
    IntervalsModel | MaskModel | SuppressionModel | TaxonomyModel | DatesModel,
    Field(discriminator="kind"),
]


class SchemaModel(_Strict):
    quasi: list[str]
    sensitive: str | list[str] = Field(default_factory=list)
    identifiers: list[str] = Field(default_factory=list)
    keep: list[str] = Field(default_factory=list)
    person: str | None = None
    count: str | None = None
    weight: str | None = None
    protect: str | None = None
    hierarchies: dict[str, HierarchyModel] = Field(default_factory=dict)
    domains: dict[str, str | list[Scalar]] = Field(default_factory=dict)
    levels: dict[str, int] = Field(default_factory=dict)
    nulls: str = "value"


class PolicyModel(_Strict):
    schema_: SchemaModel | None = Field(default=None, alias="schema")
    require: list[dict[str, Any]]


def load_policy(path: Path) -> tuple[Schema | None, list[Criterion]]:
    """The schema and criteria a policy file describes."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PolicyError(f"policy {path} does not exist") from None
    except (UnicodeDecodeError, IsADirectoryError):
        raise PolicyError(f"policy {path} is not a text file") from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path.name} is not valid TOML: {error}") from None
    try:
        model = PolicyModel.model_validate(content)
    except ValidationError as error:
        raise PolicyError(f"{path.name}: {_one_line(error)}") from None
    try:
        schema = _schema(model.schema_, path.parent) if model.schema_ else None
        require = [
            _criterion(entry, place, schema) for place, entry in enumerate(model.require, start=1)
        ]
    except SfumatoError as error:
        raise type(error)(f"{path.name}: {error}") from None
    return schema, require


def _one_line(error: ValidationError) -> str:
    """The first mistake: where it is, what is there, what is allowed."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"] if part not in ("str", "int", "float", "list[str]")]
    kind, context = first["type"], first.get("ctx", {})
    if kind == "extra_forbidden":
        *path, key = place
        where = f" in [{'.'.join(path)}]" if path else ""
        return f"unknown key {key!r}{where}; {did_you_mean(key, _allowed(path))}"
    where = ".".join(place) or "the policy"
    if kind == "missing":
        return f"{where} is missing"
    if kind == "union_tag_invalid":
        return (
            f"{where}: kind {context.get('tag')!r} is not known; allowed: "
            f"{str(context.get('expected_tags', '')).replace(chr(39), '')}"
        )
    if kind == "union_tag_not_found":
        return f"{where}: kind is missing; allowed: {', '.join(_KINDS)}"
    given = first.get("input")
    shown = repr(given) if isinstance(given, str | int | float | bool) else type(given).__name__
    return f"{where} = {shown} is not allowed: {first['msg'].lower()}"


def _allowed(path: list[str]) -> list[str]:
    """The keys allowed at a place of the policy."""
    if not path:
        return ["schema", "require"]
    model: type[BaseModel] = SchemaModel
    if len(path) > 3 and path[1] == "hierarchies":
        model = _KINDS.get(path[3], SchemaModel)
    return list(model.model_fields)


def _schema(model: SchemaModel, folder: Path) -> Schema:
    given = model.model_dump(exclude={"hierarchies"})
    hierarchies = {}
    for column, spec in model.hierarchies.items():
        try:
            hierarchies[column] = _MAKERS[spec.kind](spec, folder)
        except SchemaError as error:
            raise SchemaError(f"hierarchy of column {column!r}: {error}") from None
    return Schema(**given, hierarchies=hierarchies)


def _taxonomy(spec: TaxonomyModel, folder: Path) -> Hierarchy:
    if (spec.file is None) == (spec.paths is None):
        raise SchemaError("taxonomy needs either file or paths")
    return taxonomy(folder / spec.file if spec.file is not None else spec.paths or {})


_KINDS: dict[str, type[BaseModel]] = {
    "intervals": IntervalsModel,
    "mask": MaskModel,
    "suppression": SuppressionModel,
    "taxonomy": TaxonomyModel,
    "dates": DatesModel,
}
_MAKERS: Mapping[str, Callable[[Any, Path], Hierarchy]] = {
    "intervals": lambda spec, _: recipes.intervals(
        spec.widths, cuts=spec.cuts, origin=spec.origin, top=spec.top, bottom=spec.bottom
    ),
    "mask": lambda *_: recipes.mask(),
    "suppression": lambda *_: recipes.suppression(),
    "taxonomy": _taxonomy,
    "dates": lambda spec, _: recipes.dates(*spec.units, top=spec.top, bottom=spec.bottom),
}


def _criterion(entry: dict[str, Any], place: int, schema: Schema | None) -> Criterion:
    """One `[[require]]` table through the criterion's own constructor."""
    where = f"[[require]] number {place}"
    name = entry.get("criterion")
    if name is None:
        raise PolicyError(f"{where}: criterion is missing; allowed: {', '.join(CRITERIA)}")
    if not isinstance(name, str) or name not in CRITERIA:
        raise PolicyError(
            f"{where}: criterion = {name!r} is not known; {did_you_mean(str(name), CRITERIA)}"
        )
    kind = CRITERIA[name]
    given = {key: value for key, value in entry.items() if key != "criterion"}
    allowed = {f.name: f for f in fields(kind)}
    for key in given:
        if key not in allowed:
            raise PolicyError(
                f"{where} ({name}): unknown key {key!r}; {did_you_mean(key, allowed)}"
            )
    missing = [key for key, f in allowed.items() if key not in given and f.default is MISSING]
    if missing:
        raise PolicyError(f"{where} ({name}): {missing[0]} is missing")
    if given.get("distance") == "hierarchy":
        given["distance"] = _distance(where, given.get("sensitive"), schema)
    try:
        return kind(**given)
    except PolicyError as error:
        raise PolicyError(f"{where}: {error}") from None


def _distance(where: str, sensitive: str | None, schema: Schema | None) -> Hierarchy:
    """`distance = "hierarchy"`: the one the schema gives the sensitive column."""
    names = [sensitive] if sensitive else list(schema.sensitive if schema else ())
    if schema is None or len(names) != 1 or names[0] not in schema.hierarchies:
        raise PolicyError(
            f"{where}: distance = 'hierarchy' needs one sensitive column with a hierarchy in "
            "[schema.hierarchies]"
        )
    return schema.hierarchies[names[0]]


# -- writing ---------------------------------------------------------------------------------------


def save_policy(path: Path, schema: Schema | None, require: Sequence[Criterion]) -> None:
    lines: list[str] = []
    if schema is not None:
        lines += ["[schema]"]
        for f in fields(Schema):
            value = getattr(schema, f.name)
            if f.name in ("hierarchies", "domains", "levels") or value in (None, ()):
                continue
            lines.append(f"{f.name} = {_value(value)}")
        for table in ("hierarchies", "domains", "levels"):
            entries = getattr(schema, table)
            if entries:
                lines += ["", f"[schema.{table}]"]
                lines += [f"{_value(key)} = {_value(entry)}" for key, entry in entries.items()]
    for criterion in require:
        lines += ["", "[[require]]", f"criterion = {_value(criterion.name)}"]
        for f in fields(criterion):
            value = getattr(criterion, f.name)
            if isinstance(value, Hierarchy):
                value = "hierarchy"
            if value is not None:
                lines.append(f"{f.name} = {_value(value)}")
    path.write_text("\n".join(lines).lstrip() + "\n", encoding="utf-8")


def _value(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c >= " " else f"\\u{ord(c):04x}" for c in escaped) + '"'
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Hierarchy):
        given = {f.name: getattr(value, f.name) for f in fields(value)}  # type: ignore[arg-type]
        given.pop("source", None)
        kept = {key: entry for key, entry in given.items() if entry not in (None, ())}
        return _value({"kind": value.kind, **kept})
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_value(str(key))} = {_value(entry)}" for key, entry in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(_value(entry) for entry in value)}]"
    return repr(value)
