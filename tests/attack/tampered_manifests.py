"""Manifests that somebody changed: every key and value in turn, and what no writer makes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.attack.documents import places, with_entry, without_entry

ODD_VALUES: tuple[Any, ...] = (
    None, True, 0, 1, -1, 1.5, 10**30, float("nan"), float("inf"), "", "x", "\0", "a\nb",
    [], {}, [None], {"": None}, [[[]]],
)  # fmt: skip
ROLES = ("quasi", "sensitive", "keep", "identifiers", "person", "weight", "protect", "count",
         "group", "other", "Quasi", "quasi ")  # fmt: skip
SCHEMES = ("generalized", "bucketized", "microaggregated", "randomised", "Generalized", "raw")
FILE_NAMES = (
    "../../elsewhere.csv", "../data.csv", "/dev/zero", "/etc/passwd", "./data.csv", "data.csv/",
    "data.csv\0", "..", ".", "", "manifest.json", "DATA.CSV", "data//data.csv", "linked.csv",
    "data/part-00000.parquet", "quasi.csv", "*.csv",
)  # fmt: skip
READ = ("name", "role", "several", "list")  # of a column
UNREAD = ("sfumato", "promises", "policy")
DEEP = 100_000


def changed_entries(
    told: dict[str, Any], *, unread: bool = True
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every entry taken away, and replaced by every odd value; those that nobody reads if asked."""
    for at in places(told):
        told_only = at[0] == "columns" and len(at) > 2 and at[2] not in READ
        if not unread and (at[0] in UNREAD or told_only):
            continue
        label = ".".join(map(str, at))
        yield f"without {label}", without_entry(told, at)
        for value in ODD_VALUES:
            yield f"{label} = {value!r:.20}", with_entry(told, at, value)


def changed_meanings(told: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What would make a release look better: other roles, schemes, files, columns, figures."""
    for place, column in enumerate(told["columns"]):
        for role in ROLES:
            if role != column["role"]:
                yield (
                    f"{column['name']} as {role}",
                    with_entry(told, ("columns", place, "role"), role),
                )
        for key, value in (("several", "set"), ("several", "multiset"), ("list", "json"),
                           ("list", ";"), ("list", "u")):  # fmt: skip
            yield (
                f"{column['name']} {key} {value}",
                with_entry(told, ("columns", place, key), value),
            )
        listed = [*told["columns"], {**column, "role": "keep"}]
        yield f"{column['name']} twice", {**told, "columns": listed}
        listed = [{**column, "role": "keep"}, *told["columns"]]
        yield f"{column['name']} twice, first", {**told, "columns": listed}
        yield f"{column['name']} renamed", with_entry(told, ("columns", place, "name"), "AGE")
    more = {"name": "count", "role": "count", "type": "int64"}
    yield "a count", {**told, "columns": [*told["columns"], more]}
    yield "columns turned", {**told, "columns": told["columns"][::-1]}
    guarantee = {"epsilon": 0.1, "delta": 0.0, "mechanism": "geometric"}
    for scheme in SCHEMES:
        if scheme != told["scheme"]:
            yield f"as {scheme}", {**told, "scheme": scheme}
            yield f"as {scheme}, promised", {**told, "scheme": scheme, "guarantee": guarantee}
    digests = list(told["files"].values())
    for name in FILE_NAMES:
        if name not in told["files"]:
            yield f"file {name!r}", {**told, "files": {name: digests[0]}}
            yield f"also {name!r}", {**told, "files": {**told["files"], name: digests[0]}}
    for name in ("people", "suppressed", "version"):
        for value in (told[name] + 1, told[name] + 1000, 10**18, 2**63 - 1, 2**63, str(told[name])):
            yield f"{name} {value!r}", {**told, name: value}


def broken_texts(told: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """What is no JSON, or JSON of a kind that nobody writes."""
    text = json.dumps(told).encode()
    for cut in (0, 1, len(text) // 3, len(text) - 1):
        yield f"cut at {cut}", text[:cut]
    yield "deep list", b"[" * DEEP + b"]" * DEEP
    yield (
        "deep promises",
        json.dumps({**told, "promises": 0})
        .encode()
        .replace(b'"promises": 0', b'"promises": ' + b"[" * DEEP + b"]" * DEEP),
    )
    yield "a long number", text.replace(b'"people": ', b'"people": 1' + b"0" * 5000)
    yield "not UTF-8", text.replace(b'"scheme"', b'"sch\xe8me"')
    yield "UTF-16", json.dumps(told).encode("utf-16")
    yield "a mark before", b"\xef\xbb\xbf" + text
    yield "two documents", text + text
    for key in ("columns", "files", "scheme"):
        twice = json.dumps({key: told[key]})[1:-1].encode()
        yield f"{key} twice", text[:-1] + b", " + twice + b"}"


def tampered(told: dict[str, Any], *, unread: bool = True) -> Iterator[tuple[str, bytes]]:
    """All of them, as the bytes of a manifest.json; `unread`: entries that nobody reads, too."""
    for label, changed in changed_meanings(told):
        yield label, json.dumps(changed).encode()
    yield from broken_texts(told)
    for label, changed in changed_entries(told, unread=unread):
        if json.dumps(changed) != json.dumps(told):
            yield label, json.dumps(changed).encode()
