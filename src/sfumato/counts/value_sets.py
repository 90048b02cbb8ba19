"""Several values a person: cells that hold lists become codes of their distinct sets.

A list of values per cell, however it was written, is put in canonical form (sorted by code, each
value once unless repetitions count) and coded by its distinct set. Sets are numbered in the order
of their members, so that a number tells nothing of the order of rows or of values in a cell.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.counts import Sets
from sfumato.errors import InputError
from sfumato.numbers import Codes, Ints, offsets_of, rows_of, taken_rows
from sfumato.schema.notation import JSON, fault_of, read_list


def is_list_type(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds lists, of any of its layouts."""
    layouts = (
        pa.types.is_list,
        pa.types.is_large_list,
        pa.types.is_fixed_size_list,
        pa.types.is_list_view,
        pa.types.is_large_list_view,
    )
    return any(layout(kind) for layout in layouts)


def split_texts(name: str, texts: pa.Array, form: str, *, blank_is_empty: bool) -> pa.Array:
    """Texts that list values as a list column of texts.

    `blank_is_empty`: a text file cannot tell NULL from an empty text, and an empty text lists
    nothing; JSON has `[]` for that.
    """
    nothing: list[str | None] | None = [] if blank_is_empty and form != JSON else None
    lists: list[list[str | None] | None] = []
    unread = []
    for text in texts.to_pylist():
        listed = nothing if text is None else read_list(str(text), form)
        if listed is None and text is not None:
            unread.append(fault_of(str(text), form))
        lists.append(listed)
    if unread:
        allowed = (
            'a JSON list such as ["a", "b"] or []'
            if form == JSON
            else f"values with {form!r} between them, (missing) for a missing one, or declare "
            "the lists as 'json'"
        )
        # A list is a person's record: told is what is wrong with it, never the list.
        faults = ", ".join(f"{fault}: {unread.count(fault)}" for fault in sorted(set(unread)))
        raise InputError(
            f"column {name!r}: {len(unread)} distinct cell(s) cannot be read as lists ({faults}); "
            f"write {allowed}"
        )
    return pa.array(lists, pa.list_(pa.string()))


def members_of(name: str, lists: pa.Array) -> tuple[Ints, pa.Array]:
    """Where the members of each list begin and end, and all members; NULL lists hold one NULL."""
    lengths = pc.list_value_length(lists)
    flat = pc.list_flatten(lists)
    if pa.types.is_dictionary(flat.type):
        flat = flat.dictionary_decode()
    if pa.types.is_nested(flat.type):
        raise InputError(
            f"column {name!r} holds lists of {flat.type}; lists of text, numbers or dates can be "
            "read"
        )
    absent = lists.is_null().to_numpy(zero_copy_only=False)
    size = pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    if absent.any():
        # A missing list is the set that holds "missing": NULL is a value like any other.
        before = np.cumsum(size) - size
        place = np.insert(np.arange(len(flat)), before[absent], len(flat))
        flat = pa.concat_arrays([flat, pa.nulls(1, flat.type)]).take(pa.array(place))
        size[absent] = 1
    return offsets_of(size), flat


def code_sets(offsets: Ints, members: Codes, *, repeated: bool) -> tuple[Codes, Sets]:
    """The number of each list's set, and the distinct sets in the order of their members.

    List i holds `members[offsets[i]:offsets[i + 1]]`.
    """
    total = len(offsets) - 1
    owner = rows_of(offsets)
    members = members[np.lexsort((members, owner))].astype(np.int64)
    if not repeated and len(members):
        fresh = np.ones(len(members), dtype=bool)
        fresh[1:] = (owner[1:] != owner[:-1]) | (members[1:] != members[:-1])
        owner, members = owner[fresh], members[fresh]
    length = np.bincount(owner, minlength=total)
    begin = np.cumsum(length) - length
    # Lists are told apart member by member, all at once: those that agree so far share a number.
    number = np.zeros(total, dtype=np.int64)
    width = int(members.max(initial=0)) + 1
    longer, given, depth = np.flatnonzero(length), 1, 0
    while len(longer):
        key = number[longer] * width + members[begin[longer] + depth]
        distinct, set_of = np.unique(key, return_inverse=True)
        number[longer] = given + set_of
        given, depth = given + len(distinct), depth + 1
        longer = longer[length[longer] > depth]
    _, first, set_of = np.unique(number, return_index=True, return_inverse=True)
    sets = [tuple(members[begin[i] : begin[i] + length[i]].tolist()) for i in first.tolist()]
    order = sorted(range(len(sets)), key=sets.__getitem__)
    rank = np.empty(len(sets), dtype=np.int32)
    rank[order] = np.arange(len(sets), dtype=np.int32)
    ends = offsets_of([len(sets[i]) for i in order])
    flat = np.array([code for i in order for code in sets[i]], dtype=np.int32)
    return rank[set_of], Sets(ends, flat)


def joined(offsets: Ints, codes: Codes, sets: Sets) -> tuple[Ints, Codes]:
    """Lists of sets as lists of values: the members of all the sets in each list."""
    inside, places = taken_rows(sets.offsets, codes)
    return inside[offsets], sets.members[places]
