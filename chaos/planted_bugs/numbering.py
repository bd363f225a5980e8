"""Defects in distinguishing rows: keys as words of machines, hashed."""

from __future__ import annotations

import numpy as np

from chaos.planted_bugs.conditions import keyed, some_query, without_floats
from chaos.planted_bugs.planted import planted
from windowing.engine.loops.compiled import compiled
from windowing.engine.loops.numbering import _FREE, _ONE, _are_equal, _hash, _larger
from windowing.engine.storage.groups import Ints, Words

_NUMBER = "windowing.engine.loops.numbering:number"
_BY_ROWS = "deterministic, no error, exactly once, closing"

HASHED = some_query(keyed, without_floats)
"""Floats are numbered first, in an order that is not always the same."""

SMALL_TABLES = {"compiled_from_rows": 0, "hash_slots": 1}
"""Hash tables that grow in small logs, too."""


# A hash table that has grown looks up by the mask that it had before. How one gets it: the mask is
# a local variable beside the table, and only the table is replaced.
@planted("grown_table_by_its_old_mask", _BY_ROWS, at=_NUMBER, shows_in=HASHED, tuning=SMALL_TABLES)
@compiled
def by_the_old_mask(words: Words, numbers: Ints, firsts: Ints, size: int) -> int:
    count, slots = 0, np.full(size, _FREE, np.int32)
    mask = np.uint64(size - 1)
    hashes = np.empty(len(words), np.uint64)
    for row in range(len(words)):
        hashed = _hash(words, row)
        slot = hashed & mask
        while slots[slot] != _FREE:
            found = slots[slot]
            if hashes[found] == hashed and _are_equal(words, firsts[found], row):
                break
            slot = (slot + _ONE) & np.uint64(len(slots) - 1)
        found = slots[slot]
        if found == _FREE:
            found = count
            slots[slot], hashes[count], firsts[count] = count, hashed, row
            count += 1
            if 2 * count > len(slots):
                slots = _larger(hashes, count, 4 * len(slots))
        numbers[row] = found
    return count


# A hash table that leaves its newest row behind when it grows. How one gets it: the number of rows
# is increased after the table has grown, not before.
@planted("newest_left_behind_in_growth", _BY_ROWS, at=_NUMBER, shows_in=HASHED, tuning=SMALL_TABLES)
@compiled
def without_the_newest(words: Words, numbers: Ints, firsts: Ints, size: int) -> int:
    count, slots = 0, np.full(size, _FREE, np.int32)
    hashes = np.empty(len(words), np.uint64)
    for row in range(len(words)):
        hashed, mask = _hash(words, row), np.uint64(len(slots) - 1)
        slot = hashed & mask
        while slots[slot] != _FREE:
            found = slots[slot]
            if hashes[found] == hashed and _are_equal(words, firsts[found], row):
                break
            slot = (slot + _ONE) & mask
        found = slots[slot]
        if found == _FREE:
            found = count
            slots[slot], hashes[count], firsts[count] = count, hashed, row
            if 2 * count + 2 > len(slots):
                slots = _larger(hashes, count, 4 * len(slots))
            count += 1
        numbers[row] = found
    return count


# A hash table that takes rows in the same slot for equal, if it has grown once. How one gets it:
# hashes are not compared again, because "a larger table has no collisions".
@planted("slot_stands_for_the_row", _BY_ROWS, at=_NUMBER, shows_in=HASHED, tuning=SMALL_TABLES)
def by_the_slot(words: Words, numbers: Ints, firsts: Ints, size: int) -> int:
    slots = dict[int, int]()
    factor = np.uint64(0x9E3779B97F4A7C15)
    for row, own in enumerate(words):
        hashed = 0
        for word in own:
            hashed = ((hashed ^ int(word)) * int(factor)) & ((1 << 64) - 1)
            hashed ^= hashed >> 32
        slot = hashed & (16 * size - 1)
        if slot not in slots:
            firsts[len(slots)] = row
            slots[slot] = len(slots)
        numbers[row] = slots[slot]
    return len(slots)
