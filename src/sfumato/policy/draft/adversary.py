"""Whom to fear: an epsilon-privacy bound to fill in, with advice on the prior and its size.

It stays commented out. Bounds on counts can be guessed from the table; what an outsider has seen
cannot, and a guess that runs would pass for knowledge. The advice is that of the paper's Section
3.2 (realistic), in short.
"""

from __future__ import annotations

from sfumato.policy.draft.fit import Fit
from sfumato.policy.draft.guess import Guess
from sfumato.policy.toml_values import toml_value

EPSILON = 2.5  # the paper's
ABOUT = (
    "Somebody with outside statistics about {name}: no group may move her belief in a value, or "
    "her doubt of it, by more than a factor epsilon. Only you know what data is about, so "
    "nothing is asked yet: choose her, then take the # from the lines below "
    "(docs/realistic-adversaries.md)."
)
ADVICE = (
    "shape: what she believes beforehand. Best the previous release or a census, a file beside "
    'this policy: { file = "last-year.csv" }. "table" stands for one distributed as this table '
    "is. Unsure of the shape: leave it out, any is then allowed (class II).",
    "stubbornness: how many outside records that rests on, so the size of that release or census "
    "(below: as large as this table); less for old data, a tenth for one ten years old. Unsure of "
    "the size: inf, which with at_most (the default) means every size; a large number instead of "
    "it covers no smaller one by itself. inf and no shape is too much: only noise would do (class "
    "IV).",
    "known: people of a group she knows outright, 0 unless told. Several adversaries: several "
    "blocks.",
)


def adversary_block(
    sensitive: dict[str, tuple[Guess, Fit]], rows: int
) -> tuple[str, tuple[str, ...], list[str]] | None:
    """What it is, advice on its keys, its lines; about the first column with one value a person."""
    single = [name for name, (found, _) in sensitive.items() if found.profile.what != "list"]
    if not single:
        return None
    adversary = f'{{ shape = "table", stubbornness = {max(rows, 1)} }}'
    lines = ["[[require]]", 'criterion = "epsilon-privacy"', f"epsilon = {EPSILON}"]
    lines += [f"adversary = {adversary}", f"sensitive = {toml_value(single[0])}"]
    told = ABOUT.replace("{name}", toml_value(single[0]))
    return told, ADVICE, lines
