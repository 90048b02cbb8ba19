"""The TOML form of a policy: read with pydantic, answered in one line, written back.

In this order: objects made by their own constructors, reading, writing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Anonymizer
from sfumato.criteria import CRITERIA
from sfumato.criteria.base import Criterion
from sfumato.engines.reading import OF_POLICIES, Reading, options_about
from sfumato.errors import (
    InputError,
    PolicyError,
    SchemaError,
    SfumatoError,
    did_you_mean,
    other_than_file,
    quoted,
)
from sfumato.files import write_text
from sfumato.perturbation import PERTURBATIONS
from sfumato.perturbation.pseudonyms import PseudonymKey
from sfumato.policy.linked_files import Links, linked
from sfumato.policy.rules import RULE_SETS
from sfumato.policy.rules.base import RuleSet
from sfumato.policy.rules.safe_harbor import ZIPS
from sfumato.policy.toml_model import (
    HIERARCHIES,
    LimitsModel,
    PolicyModel,
    PseudonymModel,
    SchemaModel,
    TaxonomyModel,
    UseModel,
)
from sfumato.policy.toml_text import toml_value
from sfumato.schema import recipes
from sfumato.schema.calendar import dates
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.limits import Limits
from sfumato.schema.recipes import taxonomy
from sfumato.schema.roles import Schema
from sfumato.utility.use import Use

# From a TOML table to the object it describes, through the object's own constructor.

Kind = TypeVar("Kind")
KIND = "kind"  # what a table of a policy describes: a criterion, an anonymizer, a hierarchy
OLD_KIND = "criterion"  # what [[require]] called it


def construct(where: str, entry: Mapping[str, Any], registry: Mapping[str, type[Kind]]) -> Kind:
    """The object that `entry["kind"]` names in the registry, made from the other keys."""
    name = entry.get(KIND)
    if name is None:
        if OLD_KIND in entry:
            old = toml_value(str(entry[OLD_KIND]))
            raise PolicyError(f"{where}: {OLD_KIND!r} is called kind; write kind = {old}")
        raise PolicyError(f"{where}: kind is missing; allowed: {', '.join(registry)}")
    if not isinstance(name, str) or name not in registry:
        raise PolicyError(f"{where}: kind = {name!r} is not known; {did_you_mean(name, registry)}")
    kind = registry[name]
    given = {option: value for option, value in entry.items() if option != KIND}
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


def load_policy(path: Path) -> dict[str, Any]:
    """What a policy file describes, by the names of Policy's fields."""
    try:
        if problem := other_than_file(path):
            raise PolicyError(f"policy {path} {problem}")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PolicyError(f"policy {path} does not exist") from None
    except (UnicodeDecodeError, IsADirectoryError):
        raise PolicyError(f"policy {path} is not a text file") from None
    except OSError as error:  # may not be read, or links that lead to each other
        raise PolicyError(f"policy {path} cannot be read: {error.strerror}") from None
    return parse_policy(text, path, path.resolve().parent if path.is_symlink() else None)


def parse_policy(text: str, path: Path, folder: Path | None = None) -> dict[str, Any]:
    """The same from a policy's text; files it names lie in `folder`, else beside `path`.

    The folder is where the policy truly is: through a link from elsewhere it means the same files.
    """
    folder = path.parent if folder is None else folder
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path.name} is not valid TOML: {error}") from None
    except RecursionError:
        raise PolicyError(f"{path.name} is nested too deeply to be a policy") from None
    except ValueError:  # Python reads no number of more than some thousand digits
        raise PolicyError(f"{path.name} has a number of thousands of digits") from None
    try:
        model = PolicyModel.model_validate(content)
    except ValidationError as error:
        raise PolicyError(f"{path.name}: {_one_line(error)}") from None
    try:
        read = reading_told(model.read)
        schema = _schema(model.schema_, folder) if model.schema_ else None
        require = [
            _criterion(entry, place, schema, folder, read)
            for place, entry in enumerate(model.require, start=1)
        ]
        anonymizer = None if model.anonymizer is None else anonymizer_of(model.anonymizer)
        profile = _profile(model.profile, folder)
        perturb = {
            column: construct(f"[perturb.{column}]", entry, PERTURBATIONS)
            for column, entry in model.perturb.items()
        }
        keyed = model.pseudonyms and PseudonymKey(**model.pseudonyms.model_dump()).within(folder)
        use = None if model.use is None else Use(**model.use.model_dump())
    except SfumatoError as error:
        raise type(error)(f"{path.name}: {error}") from None
    return {
        "require": require,
        "schema": schema,
        "anonymizer": anonymizer,
        "utility": model.utility,
        "suppression": model.suppression,
        "format": model.format,
        "profile": profile,
        "use": use,
        "read": read,
        "perturb": perturb,
        "pseudonyms": keyed or PseudonymKey(),
    }


def _one_line(error: ValidationError) -> str:
    """The first mistake: where it is, what is there, what is allowed."""
    mistakes = error.errors()
    # A misspelt key is also a missing one; the first tells more.
    first = next(
        (mistake for mistake in mistakes if mistake["type"] == "extra_forbidden"), mistakes[0]
    )
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
        return f"{where}: kind is missing; allowed: {', '.join(HIERARCHIES)}"
    given = first.get("input")
    written = repr(given) if isinstance(given, str | int | float | bool) else type(given).__name__
    return f"{where} = {written} is not allowed: {first['msg'].lower()}"


def _allowed(path: list[str]) -> list[str]:
    """The keys allowed at a place of the policy."""
    if not path:
        return [field.alias or name for name, field in PolicyModel.model_fields.items()]
    if path == ["pseudonyms"]:
        return list(PseudonymModel.model_fields)
    if path == ["use"]:
        return list(UseModel.model_fields)
    model: type[BaseModel] = SchemaModel
    if len(path) > 3 and path[1] == "hierarchies":
        model = HIERARCHIES.get(path[3], SchemaModel)
    elif len(path) > 2 and path[1] == "limits":
        model = LimitsModel
    return list(model.model_fields)


def reading_told(entries: Mapping[str, object]) -> Reading:
    """What `[read]` says."""
    kinds = {option.name: option.metadata["kind"] for option in options_about(*OF_POLICIES)}
    for key, value in entries.items():
        if key not in kinds:
            raise PolicyError(f"unknown key {key!r} in [read]; {did_you_mean(key, kinds)}")
        kind = str if kinds[key] is Path else kinds[key]
        if kind in _KIND_NAMES and type(value) is not kind:
            raise PolicyError(f"read.{key} = {quoted(value)} is not allowed; {_KIND_NAMES[kind]}")
    try:
        return Reading(**entries)  # type: ignore[arg-type]  # each is checked there
    except InputError as error:
        raise PolicyError(f"[read]: {error}") from None


_KIND_NAMES = {str: "it must be a text", bool: "it must be true or false", int: "a whole number"}


def _schema(model: SchemaModel, folder: Path) -> Schema:
    given = model.model_dump(exclude={"hierarchies", "limits"})
    limits = {column: Limits(**limit.model_dump()) for column, limit in model.limits.items()}
    hierarchies = {}
    for column, spec in model.hierarchies.items():
        try:
            hierarchies[column] = _MAKERS[spec.kind](spec, folder)
        except SchemaError as error:
            raise SchemaError(f"hierarchy of column {column!r}: {error}") from None
    return Schema(**given, hierarchies=hierarchies, limits=limits)


def _taxonomy(spec: TaxonomyModel, folder: Path) -> Hierarchy:
    if (spec.file is None) == (spec.paths is None):
        raise SchemaError("taxonomy needs either file or paths")
    return taxonomy(folder / spec.file if spec.file is not None else spec.paths or {})


_MAKERS: Mapping[str, Callable[[Any, Path], Hierarchy]] = {
    "intervals": lambda spec, _: recipes.intervals(
        spec.widths, cuts=spec.cuts, origin=spec.origin, top=spec.top, bottom=spec.bottom
    ),
    "age_groups": lambda spec, _: recipes.age_groups(spec.groups),
    "icd10": lambda *_: recipes.icd10(),
    "zip3": lambda spec, _: recipes.zip3(spec.populous),
    "mask": lambda spec, _: recipes.mask(spec.keep),
    "suppression": lambda *_: recipes.suppression(),
    "taxonomy": _taxonomy,
    "dates": lambda spec, _: dates(*spec.units, top=spec.top, bottom=spec.bottom),
}


def _criterion(
    entry: dict[str, Any], place: int, schema: Schema | None, folder: Path, read: Reading
) -> Criterion:
    """One `[[require]]` table through the criterion's own constructor."""
    where = f"[[require]] number {place}"
    entry = linked(where, entry, folder, schema, read)
    if entry.get("distance") == "hierarchy":
        entry = {**entry, "distance": _distance(where, entry.get("sensitive"), schema)}
    return construct(where, entry, CRITERIA)


def anonymizer_of(entry: Mapping[str, object]) -> Anonymizer:
    """What `[anonymizer]` names."""
    kind = ANONYMIZERS.get(str(entry.get(KIND)))
    own = set() if kind is None else {declared.name for declared in fields(kind)}
    for option in ("suppression", "utility", "format"):
        if option in entry and option not in own:
            raise PolicyError(
                f"[anonymizer]: {option} is no key of an anonymizer; it stands at the top of the "
                "policy, above all tables"
            )
    return construct("[anonymizer]", entry, ANONYMIZERS)


def _profile(given: str | dict[str, Any] | None, folder: Path) -> RuleSet | None:
    """The rule set that is named, alone or in a table with its keys."""
    if given is None:
        return None
    entry: dict[str, Any] = {KIND: given} if isinstance(given, str) else dict(given)
    if isinstance(entry.get(ZIPS), str):
        entry[ZIPS] = folder / entry[ZIPS]
    return construct("[profile]", entry, RULE_SETS)


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

_BY_COLUMN = ("hierarchies", "domains", "units", "limits", "levels", "lists")


def save_policy(path: Path, policy: Any, links: Links | None = None) -> None:
    """Write a Policy so that `load_policy` reads an equal one.

    `links` tells where its files are; by default from beside the policy.
    """
    files = Links(path.parent, policy.schema, table_reading=policy.read) if links is None else links
    lines = [f"utility = {toml_value(policy.utility)}", f"suppression = {policy.suppression!r}"]
    if policy.format is not None:
        lines.append(f"format = {toml_value(policy.format)}")
    schema = policy.schema
    if reading := policy.read.given_fields():
        lines += ["", "[read]"]
        lines += [f"{key} = {toml_value(_plain(entry))}" for key, entry in reading.items()]
    if policy.profile is not None:
        lines += ["", "[profile]", f"kind = {toml_value(policy.profile.name)}"]
        lines += _options(policy.profile, files)
    if policy.use is not None:
        lines += ["", "[use]", *_options(policy.use, files)]
    if policy.anonymizer is not None:
        lines += ["", "[anonymizer]", f"kind = {toml_value(policy.anonymizer.name)}"]
        lines += _options(policy.anonymizer, files)
    lines.append("")
    if schema is not None:
        lines += ["[schema]"]
        for f in fields(Schema):
            value = getattr(schema, f.name)
            if f.name in _BY_COLUMN or value in (None, ()):
                continue
            lines.append(f"{f.name} = {toml_value(value)}")
        for table in _BY_COLUMN:
            entries = getattr(schema, table)
            if entries:
                lines += ["", f"[schema.{table}]"]
                lines += [
                    f"{toml_value(key)} = {toml_value(entry)}" for key, entry in entries.items()
                ]
    if policy.pseudonyms != PseudonymKey():
        lines += ["", "[pseudonyms]", *_options(policy.pseudonyms, files)]
    for column, perturbation in policy.perturb.items():
        lines += ["", f"[perturb.{toml_value(column)}]", f"kind = {toml_value(perturbation.kind)}"]
        lines += _options(perturbation, files)
    for criterion in policy.require:
        lines += ["", "[[require]]", f"kind = {toml_value(criterion.name)}"]
        lines += _options(criterion, files)
    write_text(path, "\n".join(lines).lstrip() + "\n", force=True, private=False, kind="policy")


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _options(configured: Any, files: Links) -> list[str]:
    """The fields of a criterion, an anonymizer or a use, as TOML lines."""
    lines = []
    for f in fields(configured):
        value = files.plain(f.name, getattr(configured, f.name))
        if callable(value) and files.pinned:  # evidence of what was done; the work is not lost
            lines.append(f"# {f.name}: a function, which a file cannot hold")
            continue
        if callable(value):
            raise PolicyError(
                f"{configured.name}: {f.name} is no plain value, so a file cannot hold it"
            )
        if value is not None:
            lines.append(
                f"{f.name} = {toml_value('hierarchy' if isinstance(value, Hierarchy) else value)}"
            )
    return lines
