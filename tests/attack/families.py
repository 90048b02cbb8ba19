"""What somebody may try, in families; each tells how many tries it made and what went wrong.

A try goes wrong if it ends in anything but an answer or one line, if what is printed holds a value
that was planted as a person's, or if it makes something hold that does not. The tests run a part of
each family, `python -m tests.attack` all of it.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

import sfumato as sf
from sfumato.errors import SfumatoError
from tests.attack.damaged_ledgers import damaged_bytes, damaged_cells
from tests.attack.hostile_files import all_files
from tests.attack.hostile_policies import hostile_policies
from tests.attack.tampered_manifests import tampered
from tests.attack.wrong_calls import right_calls
from tests.program import sfumato

PLANTED = "SECRET"
ANSWERS = {0, 1, 3}
REFUSED = 2


@dataclass
class Tally:
    """How many tries there were, how they ended, and which of them went wrong."""

    tries: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)

    def count(self, refused: bool) -> None:
        self.tries += 1
        self.refused += refused

    def ask(self, label: str, fault: Callable[[], str | None]) -> None:
        """One question in Python: an answer, what is wrong with it, or one line."""
        refused = False
        try:
            found = fault()
        except SfumatoError as error:
            refused = True
            found = None if len(str(error).splitlines()) == 1 else "several lines"
        except TypeError:
            refused, found = True, None
        except Exception as error:
            found = type(error).__name__
        self.count(refused)
        if found is not None:
            self.wrong.append(f"{label}: {found}")

    def run(self, label: str, *arguments: object) -> int:
        """One run of the program; its exit code."""
        ended = sfumato(*arguments)
        self.count(ended.returncode == REFUSED)
        if ended.returncode not in {*ANSWERS, REFUSED}:
            self.wrong.append(f"{label}: exit code {ended.returncode}")
        if ended.returncode == REFUSED and len(ended.stderr.splitlines()) != 1:
            self.wrong.append(f"{label}: {len(ended.stderr.splitlines())} lines")
        if any(word in ended.stderr for word in (PLANTED, "Traceback", "SELECT")):
            self.wrong.append(f"{label}: a message quotes data or code")
        return ended.returncode


def wrong_calls(folder: Path, share: int) -> Tally:
    """Every argument of every public name replaced by what it is not."""
    tally = Tally()

    def done(run: Callable[[], Any]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()

    for call in right_calls(folder):
        for label, run in islice(call.wrong(), None, None, share):
            tally.ask(label, lambda run=run: done(run))  # type: ignore[misc]
    return tally


def people_file(path: Path, number: int = 120) -> Path:
    """People whose names are planted."""
    diseases = ("flu", "cold", "ulcer")
    rows = [
        f"{PLANTED}{n},{20 + n % 30},{13000 + n % 7},{'FM'[n % 2]},{diseases[n % 3]}"
        for n in range(number)
    ]
    path.write_text("\n".join(["name,age,zip,sex,disease", *rows, ""]), encoding="utf-8")
    return path


def policies(folder: Path, share: int) -> Tally:
    """Policies with a setting replaced, left out or damaged."""
    tally = Tally()
    data, policy = people_file(folder / "people.csv"), folder / "policy.toml"
    for label, text in islice(hostile_policies(seed=share, damaged=1000), None, None, share):
        policy.write_bytes(text)
        tally.run(label, "audit", data, "--policy", policy)
    return tally


def hostile_files(folder: Path, share: int) -> Tally:
    """Files no table should be, judged, drafted from and published."""
    tally = Tally()
    policy = folder / "policy.toml"
    policy.write_text(
        '[schema]\nquasi = ["age", "zip"]\nsensitive = "disease"\n'
        '[anonymizer]\nkind = "mondrian"\n[[require]]\nkind = "k-anonymity"\nk = 2\n',
        encoding="utf-8",
    )
    for label, content in all_files(2000 // share):
        file = folder / label
        file.write_bytes(content)
        tally.run(f"audit {label}", "audit", file, "--policy", policy)
        if share == 1 and not label.startswith("damaged"):
            tally.run(f"init {label}", "init", file, "--out", folder / "draft.toml", "--seconds", 0)
            (folder / "draft.toml").unlink(missing_ok=True)
        file.unlink()
    return tally


def manifests(folder: Path, share: int) -> Tally:
    """Manifests that somebody changed, on a release that violates what is asked."""
    tally = Tally()
    schema = sf.Schema(quasi=["age", "zip"], sensitive="disease", identifiers=["name"])
    rows = pa.table(
        {
            "name": list("abcdef"),
            "age": [30, 30, 40, 40, 50, 50],
            "zip": ["a", "a", "b", "b", "c", "c"],
            "disease": ["flu", "cold"] * 3,
        }
    )
    mild, strict = (
        sf.Policy([sf.KAnonymity(k)], schema=schema, anonymizer=sf.Mondrian()) for k in (2, 5)
    )
    release = sf.anonymize(sf.read(rows, schema), mild, seed=1)
    made = release.save(folder / "made", report=sf.audit(release, mild), policy=mild)
    received = folder / "received"
    shutil.copytree(made / "public", received / "public")
    manifest = received / "public" / "manifest.json"

    def judge() -> str | None:
        held = sf.audit(sf.read_release(received, schema), strict).holds
        return "a violated release holds" if held else None

    for label, content in islice(tampered(json.loads(manifest.read_text())), None, None, share):
        manifest.write_bytes(content)
        tally.ask(label, judge)
    return tally


def ledgers(folder: Path, share: int) -> Tally:
    """Ledgers that a disk or somebody damaged: refused, or what was in them is told whole."""
    tally = Tally()
    schema = sf.Schema(quasi=["age"], sensitive="disease")
    rows = pa.table({"age": [30, 30, 40, 40], "disease": ["flu", "cold", "flu", "hiv"]})
    kept = sf.Ledger(folder / "ledger.sqlite")
    kept.add(
        sf.anonymize(
            sf.read(rows, schema), sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian()), seed=1
        ),
        "2023",
    )
    truth, good = kept.list(), kept.path.read_bytes()

    def look() -> str | None:
        same = kept.list() == truth and len(list(kept.releases())) == len(truth)
        return None if same else "another story"

    for label, content in damaged_bytes(good, 2000 // share):
        kept.path.write_bytes(content)
        tally.ask(label, look)
    kept.path.write_bytes(good)
    for label in damaged_cells(kept.path):
        tally.ask(label, look)
    return tally


ANONYMIZERS: tuple[Callable[[], object], ...] = (
    sf.Lattice,
    sf.Mondrian,
    lambda: sf.Mondrian(regions="tight"),
    lambda: sf.Mondrian(strict=False),
    lambda: sf.Microaggregation(4),
)


def random_people(chance: random.Random) -> dict[str, list[object]]:
    """A small table of awkward people: missing, rare and equal values, names that look alike."""
    number = chance.randint(8, 80)
    ages = [chance.choice([None, *range(18, 18 + chance.randint(2, 40))]) for _ in range(number)]
    return {
        "name": [f"{PLANTED}{n}" for n in range(number)],
        "age": ages,
        "AGE": [chance.choice("xyz") for _ in range(number)],
        "note": [f"{PLANTED} note {n}" for n in range(number)],
        "disease": [chance.choice(["flu", "cold", "ulcer", "hiv"]) for _ in range(number)],
    }


def judged_again(folder: Path, share: int) -> Tally:
    """Releases of random tables, read by the csv module and judged by counting."""
    tally = Tally()
    chance = random.Random(share)
    schema = sf.Schema(quasi=["age", "AGE"], sensitive="disease", identifiers=["name"])
    for number in range(600 // share):
        k, diverse = chance.randint(2, 6), chance.randint(1, 3)
        policy = sf.Policy(
            [sf.KAnonymity(k), sf.DistinctDiversity(diverse)],
            anonymizer=chance.choice(ANONYMIZERS)(),  # type: ignore[arg-type]
            suppression=chance.choice([0.0, 0.2]),
            schema=schema,
        )
        label = f"{number}: {policy.anonymizer}, k = {k}, l = {diverse}"
        try:
            release = sf.anonymize(sf.read(pa.table(random_people(chance)), schema), policy, seed=1)
        except sf.NoSafeRelease:
            tally.count(refused=True)
            continue
        except SfumatoError as error:
            tally.count(refused=True)
            tally.wrong.append(f"{label}: {error}")
            continue
        tally.count(refused=False)
        out = release.save(folder / str(number))
        tally.wrong += [f"{label}: {fault}" for fault in _faults(out / "public", k, diverse)]
        shutil.rmtree(out)
    return tally


def _faults(public: Path, k: int, diverse: int) -> Iterator[str]:
    with (public / "data.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if any(PLANTED.encode() in path.read_bytes() for path in public.rglob("*") if path.is_file()):
        yield "a planted value is published"
    sizes, values = Counter(), defaultdict(set)  # type: ignore[var-annotated]
    for row in rows:
        described = (row["age"], row["AGE"])
        sizes[described] += 1
        values[described].add(row["disease"])
    if set(rows[0]) != {"age", "AGE", "disease"}:
        yield "other columns are published"
    if min(sizes.values()) < k:
        yield f"k is {min(sizes.values())}"
    if min(len(found) for found in values.values()) < diverse:
        yield "a group is not diverse"


FAMILIES: dict[str, Callable[[Path, int], Tally]] = {
    "wrong calls of the Python interface": wrong_calls,
    "hostile policies": policies,
    "hostile and damaged data files": hostile_files,
    "tampered manifests": manifests,
    "damaged ledgers": ledgers,
    "releases judged again by counting": judged_again,
}
