"""Numbering the distinct rows of a table of machine words."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from windowing.engine.loops.compiled import compiled, inlined

Ints = NDArray[np.int64]
Slots = NDArray[np.int32]
Words = NDArray[np.uint64]

_FREE: Final = -1
# Odd, and with bits as if drawn: the golden ratio's, times 2^64.
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)
_ONE: Final = np.uint64(1)


@compiled
def number(words: Words, numbers: Ints, firsts: Ints, size: int) -> int:
    """Number the distinct rows in the order in which they first occur; return how many there are.

    A hash table with linear probing, less than half full.

    Args:
        words: a row each.
        numbers: to be filled: each row's number, from 0.
        firsts: to be filled as far as there are numbers, with the first row of each.
        size: of the table at first, a power of two.
    """
    count, slots = 0, np.full(size, _FREE, np.int32)
    mask = np.uint64(size - 1)
    hashes = np.empty(len(words), np.uint64)
    # One word and its hash determine each other: an odd factor, and a shift by half, can be undone.
    is_word = words.shape[1] == 1
    for row in range(len(words)):
        hashed = _hash(words, row)
        slot = hashed & mask
        while True:
            found = slots[slot]
            if found == _FREE:
                break
            if hashes[found] == hashed and (is_word or _are_equal(words, firsts[found], row)):
                break
            slot = (slot + _ONE) & mask
        if found == _FREE:
            found = count
            slots[slot], hashes[count], firsts[count] = count, hashed, row
            count += 1
            if 2 * count > len(slots):
                slots = _larger(hashes, count, 4 * len(slots))
                mask = np.uint64(len(slots) - 1)
        numbers[row] = found
    return count


@compiled
def _larger(hashes: Words, count: int, size: int) -> Slots:
    """Return a table of another size, a power of two, with the same rows."""
    slots, mask = np.full(size, _FREE, np.int32), np.uint64(size - 1)
    for found in range(count):
        slot = hashes[found] & mask
        while slots[slot] != _FREE:
            slot = (slot + _ONE) & mask
        slots[slot] = found
    return slots


@inlined
def _hash(words: Words, row: int) -> np.uint64:
    hashed = np.uint64(0)
    for word in range(words.shape[1]):
        hashed = (hashed ^ words[row, word]) * _FACTOR
        hashed ^= hashed >> _HALF
    return hashed


@inlined
def _are_equal(words: Words, one: int, other: int) -> bool:
    same = True
    for word in range(words.shape[1]):
        same &= words[one, word] == words[other, word]
    return same
