"""manifest.json: what a release folder says of itself, checked before any of it is believed.

Anybody may have written it. It informs: what a column means and what must be judged is the policy's
word, what people there are is the files'. A manifest that contradicts either is refused.
"""

from __future__ import annotations

import contextlib
import json
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NoReturn, get_args

from sfumato.engines.files import is_data
from sfumato.engines.form import FileForm
from sfumato.errors import InputError, SfumatoError, name_some, other_than_file
from sfumato.perturbation import perturbation_of
from sfumato.perturbation.base import Perturbation
from sfumato.release.description import GROUP_ID, PSEUDONYM, Scheme
from sfumato.release.guarantee import Guarantee
from sfumato.release.write.data_files import PARTS
from sfumato.schema.notation import JSON
from sfumato.schema.roles import Schema, ShownRows
from sfumato.table import digest

VERSION = 1  # of what is written here; another one is not read
COUNT = "count"
BESIDE = "beside"  # in it: what goes with the data, and how to check that
DOCUMENTS = {"codebook.json", "codebook.csv", "codebook.html", "report.html"}
SUM = "manifest.sha256"  # in private/: hashes of the manifest and of evidence, as of sha256sum
REFERENCE = "reference.json"  # in private/: the whole table's distribution
BY_PERSON = ""  # in it: how many people have each value, where they have several rows
DOMAINS = "domains.json"  # in private/: the values that quasi-identifiers have in the table
SCHEMES = get_args(Scheme)
_PAIR = ("quasi", "sensitive")
_LARGEST = 1 << 26  # bytes of a file of JSON that is read at all
MOST_PEOPLE = 1 << 63


@dataclass(frozen=True)
class PublishedColumn:
    """A published column; `several` and `list` where people have several values.

    `words`: it holds texts, whatever they look like. `perturbed`: what was done to its values.
    """

    name: str
    role: str
    words: bool
    several: Literal["set", "multiset"] | None
    list: str | None
    perturbed: Perturbation | None = None


@dataclass(frozen=True)
class Manifest:
    """What a manifest tells, as far as it is used.

    Where a pseudonym links rows: `hidden_rows` are not published, `cut_people` have several, and of
    `people_in_part` some rows are published and some are not; None where an earlier version did not
    say so.
    """

    path: Path
    scheme: Scheme
    people: int
    counted_by: str
    suppressed: int
    columns: tuple[PublishedColumn, ...]
    files: tuple[str, ...]
    guarantee: Guarantee | None
    form: FileForm
    rows: ShownRows = "gathered"
    knows: int | Literal["all"] = "all"
    hidden_rows: int = 0
    cut_people: int = 0
    people_in_part: int | None = 0
    documents: Mapping[str, object] = field(default_factory=dict)

    @property
    def may_cut(self) -> bool:
        """Whether a pseudonym may show some rows of somebody and not all of hers."""
        in_part = self.hidden_rows if self.people_in_part is None else self.people_in_part
        return self.cut_people > 0 or in_part > 0

    def of_role(self, role: str) -> list[str]:
        """The columns of a role."""
        return list(dict.fromkeys(column.name for column in self.columns if column.role == role))


def read_json(path: Path) -> Any:
    """A file of ours, or None if it is not there; refuses what our writers never write."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
        raise InputError(f"{path} is no plain file, or far too large; restore it")
    try:
        return json.loads(
            path.read_bytes().decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_once
        )
    except (ValueError, RecursionError):
        raise InputError(f"{path} is broken; restore it, or remove it") from None


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        raise ValueError("a key is told twice")
    return keys


def load_manifest(path: Path) -> Manifest:
    """The manifest, after checking that the files are the ones it was written for."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a manifest of a release")
    version = content.get("version")
    if not _is_count(version) or version != VERSION:
        written_as = repr(version) if _is_count(version) else "no version"
        raise InputError(
            f"{path} is of another version of Sfumato ({written_as}, known: {VERSION}); make the "
            "release again, or read its data file as a release of unknown origin"
        )
    for name in ("people", "suppressed"):
        if not _is_count(content.get(name)):
            _broken(path, f"{name} is no number of people")
    scheme: Any = content.get("scheme")
    if scheme not in SCHEMES:
        _broken(path, f"its scheme is none of {', '.join(SCHEMES)}")
    counted: Any = content.get("counted_by")
    if counted not in ("person", "count", "row"):
        _broken(path, "it counts people in no known way")
    columns = _columns(path, content.get("columns"), scheme)
    guarantee = _guarantee(path, content, scheme)
    form = _form(path, content)
    documents: Any = content.get(BESIDE, {})
    if not isinstance(documents, dict) or not documents.keys() <= DOCUMENTS:
        _broken(path, "it lists documents that are none of ours")
    files = _files(path, content.get("files"), scheme, form, documents)
    rows, knows = content.get("rows", "gathered"), content.get("knows", "all")
    if rows not in get_args(ShownRows) or (knows != "all" and (not _is_count(knows) or not knows)):
        _broken(path, "it shows people's several rows in no known way")
    if rows != "gathered" and (scheme != "generalized" or counted != "person"):
        _broken(path, f"a {scheme} release counted by {counted} cannot show people's several rows")
    hidden_rows: Any = 0
    cut: Any = 0
    in_part: Any = 0
    if any(column.role == PSEUDONYM for column in columns) != (rows == "linked"):
        _broken(path, "rows are linked if there are pseudonyms, and only then")
    if rows == "linked":
        figures = content.get("linked")
        figures = figures if isinstance(figures, dict) else {}
        hidden_rows, cut = (
            figures.get(key) for key in ("rows_not_published", "people_of_several_pseudonyms")
        )
        in_part = figures.get("people_published_in_part")
        known = in_part is None or _is_count(in_part)
        if not (known and _is_count(hidden_rows) and _is_count(cut)):
            _broken(path, "it does not tell how many rows are not published, or not together")
    return Manifest(
        path,
        scheme,
        content["people"],
        counted,
        content["suppressed"],
        columns,
        files,
        guarantee,
        form,
        rows,
        knows,
        hidden_rows,
        cut,
        in_part,
        documents,
    )


def _broken(path: Path, why: str) -> NoReturn:
    raise InputError(f"{path} is not a manifest of a release: {why}; restore it")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_PEOPLE


def _columns(path: Path, entries: object, scheme: str) -> tuple[PublishedColumn, ...]:
    if not isinstance(entries, list) or not entries:
        _broken(path, "it lists no columns")
    columns = []
    for entry in entries:
        match entry:
            case {"name": str(name), "role": str(role)} if name:
                several, form = entry.get("several"), entry.get("list")
            case _:
                _broken(path, "a column has no name or role")
        if several not in (None, "set", "multiset") or not isinstance(form, str | None):
            _broken(path, f"column {name!r} has several values in no known way")
        if role != "sensitive" and (several is not None or form is not None):
            _broken(path, f"column {name!r} is {role} and cannot hold several values")
        words = entry.get("type") == "string"
        done = _perturbed(path, name, role, entry.get("perturbed"))
        columns.append(PublishedColumn(name, role, words, several, form, done))
    linked = (PSEUDONYM,) if scheme == "generalized" else ()
    if sum(column.role == PSEUDONYM for column in columns) > 1:
        _broken(path, "it has two columns of pseudonyms")
    counted = {"bucketized": {COUNT, GROUP_ID}, "randomised": {COUNT}}.get(scheme, set())
    for column in columns:
        extra = {COUNT: COUNT, GROUP_ID: "group"}.get(column.name) == column.role
        if column.role not in ("quasi", "sensitive", "keep", "weight", *linked) and not (
            extra and column.name in counted
        ):
            _broken(path, f"column {column.name!r} cannot be {column.role!r} in a {scheme} release")
    names = [column.name for column in columns if column.role != "group"]
    if len(set(names)) < len(names):
        _broken(path, "a column is listed twice")
    if not any(column.role in ("quasi", "sensitive") for column in columns):
        _broken(path, "it has no column to judge")
    return tuple(columns)


def _perturbed(path: Path, name: str, role: str, recipe: object) -> Perturbation | None:
    with contextlib.suppress(SfumatoError, TypeError):
        if recipe is None or role in ("sensitive", "keep", PSEUDONYM):
            done = None if recipe is None else perturbation_of(recipe)
            if done is None or role != PSEUDONYM or done.done == "pseudonym":
                return done
    _broken(path, f"column {name!r} is perturbed in no known way")


def _guarantee(path: Path, content: dict[str, Any], scheme: str) -> Guarantee | None:
    if scheme == "randomised":
        return Guarantee.read(content.get("guarantee"))
    # Noise that somebody calls by another name: the bounds of the policy or a promise show it.
    policy, promises = content.get("policy"), content.get("promises")
    noisy = isinstance(policy, dict) and _kind(policy.get("anonymizer")) == "noise"
    if isinstance(promises, list):
        noisy |= any(
            isinstance(promise, dict)
            and promise.get("criterion") == "differential-privacy"
            and promise.get("holds") is True
            for promise in promises
        )
    if noisy or "guarantee" in content:
        _broken(path, f"it promises differential privacy, which a {scheme} release has not")
    return None


def _kind(entry: object) -> object:
    return entry.get("kind") if isinstance(entry, dict) else entry


def _form(path: Path, content: dict[str, Any]) -> FileForm:
    """How the files are written; where nothing is said, as plainly as their names say."""
    files = content.get("files")
    parquet = any(name.endswith(".parquet") for name in files) if isinstance(files, dict) else False
    entry = content.get("form", {"format": "parquet" if parquet else "csv"})
    with contextlib.suppress(ValueError, TypeError):
        if isinstance(entry, dict):
            return FileForm.from_manifest(entry)
    _broken(path, "it tells of no form of ours")


def _files(
    path: Path, digests: object, scheme: str, form: FileForm, documents: Mapping[str, object]
) -> tuple[str, ...]:
    """The files, which are of the names that we write and have the bytes that we wrote."""
    if not isinstance(digests, dict) or not digests:
        _broken(path, "it lists no files")
    names = sorted(digests)
    if not _belong_together(names, scheme, form):
        _broken(path, f"{name_some(names)} are no files of a {scheme} release")
    for name in names:
        file = path.parent
        for part in PurePosixPath(name).parts:
            file /= part
            if file.is_symlink():
                _broken(path, f"{name!r} is a link")
        if not file.is_file():
            raise InputError(f"{name} {other_than_file(file) or 'is missing'} (beside {path})")
        if digest(file) != digests[name]:
            raise InputError(
                f"{name} is not the file its manifest was written for; restore it, or read "
                "the file itself as a release of unknown origin"
            )
    if len(names) > 1 and scheme != "bucketized":
        folder = path.parent / PARTS
        more = sorted(
            {file.name for file in folder.iterdir()} - {Path(name).name for name in names}
        )
        if more:
            raise InputError(
                f"{folder} holds {name_some(more)} besides the parts its manifest lists; take it "
                "away"
            )
    there = {file.name for file in path.parent.iterdir()}
    beside = {name for name in there if is_data(name) or name in DOCUMENTS}
    beside -= {PurePosixPath(name).parts[0] for name in names}
    if unlisted := sorted(beside - documents.keys()):
        raise InputError(
            f"{path.parent} holds {name_some(unlisted)} besides the data its manifest lists, which "
            "nobody would judge; take it away"
        )
    return tuple(names)


def _belong_together(names: Sequence[str], scheme: str, form: FileForm) -> bool:
    if scheme == "bucketized":
        return list(names) == [f"{part}{form.ending}" for part in _PAIR]
    if list(names) == [f"data{form.ending}"]:
        return True
    part = re.compile(rf"{PARTS}/part-[0-9]{{5,}}\.parquet")
    return form.format == "parquet" and all(map(part.fullmatch, names))


def agreed_schema(manifest: Manifest, schema: Schema | None) -> Schema:
    """What the published columns are: by the policy's schema if there is one.

    The manifest says which of them are published, and in which form. One that gives a column
    another role is refused: columns would go unjudged.
    """
    roles = {} if schema is None else {name: role for role, name in schema.roles()}
    if schema is not None:
        for column in manifest.columns:
            wanted = roles.get(column.name)
            if column.role in (COUNT, "group", PSEUDONYM) and wanted is None:
                continue
            if wanted == "pseudonyms" and _is_pseudonym(column):
                continue
            if wanted != column.role:
                raise InputError(
                    f"{manifest.path}: column {column.name!r} is {column.role} there, but "
                    f"{wanted or 'without a role'} in the policy; judge it by the policy it was "
                    "made with, or read the data file itself"
                )
            _check_form(manifest, column, schema)
    if schema is not None and schema.rows != manifest.rows:
        raise InputError(
            f"{manifest.path}: rows are {manifest.rows!r} there, but {schema.rows!r} in the "
            "policy; judge it by the policy it was made with"
        )
    quasi, sensitive, keep = (manifest.of_role(role) for role in ("quasi", "sensitive", "keep"))
    # Centroids are points that need not be values of any domain.
    if schema is None or manifest.scheme == "microaggregated":
        known = Schema(quasi, sensitive, keep=keep)
    else:
        known = schema.part(quasi, sensitive, keep)
    several = [column.several for column in manifest.columns if column.several is not None]
    counts, weights = manifest.of_role(COUNT), manifest.of_role("weight")
    named = {column.name for column in manifest.columns}
    return replace(
        known,
        identifiers=[] if schema is None else [n for n in schema.identifiers if n not in named],
        lists={column.name: column.list for column in manifest.columns if column.list is not None},
        several=several[0] if several else known.several if schema is None else schema.several,
        **_linked_rows(manifest, schema),
        count=counts[0] if counts else None,
        weight=weights[0] if weights else None,
        publish_weight=schema.publish_weight if schema is not None and weights else None,
    )


def _is_pseudonym(column: PublishedColumn) -> bool:
    return column.perturbed is not None and column.perturbed.done == "pseudonym"


def _linked_rows(manifest: Manifest, schema: Schema | None) -> dict[str, Any]:
    """Whose rows are linked: those of a pseudonym."""
    if manifest.rows != "linked":
        return {}
    knows = manifest.knows if schema is None else schema.knows
    if manifest.cut_people:  # who has some rows would be counted by pseudonyms
        knows = "all"
    return {"person": manifest.of_role(PSEUDONYM)[0], "rows": "linked", "knows": knows}


def _check_form(manifest: Manifest, column: PublishedColumn, schema: Schema) -> None:
    """How several values are counted and listed is the policy's word, too."""
    listed = schema.lists.get(column.name)
    # Buckets hold one value a row, whosever it is.
    text = not manifest.form.is_columnar and manifest.scheme != "bucketized"
    wrong = column.several is not None and column.several != schema.several
    wrong |= column.list is not None and (not text or column.list != (listed or JSON))
    wrong |= text and (column.several is None) != (column.list is None)
    wrong |= listed is not None and column.several is None
    if wrong:
        raise InputError(
            f"{manifest.path}: column {column.name!r} holds several values in another way than the "
            "policy says; judge it by the policy it was made with"
        )
