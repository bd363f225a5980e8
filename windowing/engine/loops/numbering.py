"""Numbering the distinct rows of a table of machine words."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from windowing.engine.loops.compiled import compiled, inlined

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_SLOTS: Final = 1 << 10
_FREE: Final = -1
# Odd, and with bits as if drawn: the golden ratio's, times 2^64.
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)


@compiled
def number(words: Words, numbers: Ints, firsts: Ints) -> int:
    """Number the distinct rows in the order in which they first occur; return how many there are.

    A hash table with linear probing, less than half full.

    Args:
        words: a row each.
        numbers: to be filled: each row's number, from 0.
        firsts: to be filled as far as there are numbers, with the first row of each.
    """
    count, slots = 0, np.full(_SLOTS, _FREE, np.int64)
    for row in range(len(words)):
        slot = _slot(words, row, len(slots))
        while slots[slot] != _FREE and not _same(words, firsts[slots[slot]], row):
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] == _FREE:
            slots[slot], firsts[count] = count, row
            count += 1
        numbers[row] = slots[slot]
        if 2 * count > len(slots):
            slots = _larger(words, firsts, count, 4 * len(slots))
    return count


@compiled
def _larger(words: Words, firsts: Ints, count: int, size: int) -> Ints:
    """Return a table of another size with the same rows."""
    slots = np.full(size, _FREE, np.int64)
    for group in range(count):
        slot = _slot(words, firsts[group], size)
        while slots[slot] != _FREE:
            slot = (slot + 1) & (size - 1)
        slots[slot] = group
    return slots


@inlined
def _slot(words: Words, row: int, size: int) -> np.int64:
    """Return where to look for a row first; the size is a power of two."""
    mixed = np.uint64(0)
    for word in range(words.shape[1]):
        mixed = (mixed ^ words[row, word]) * _FACTOR
        mixed ^= mixed >> _HALF
    return np.int64(mixed & np.uint64(size - 1))


@inlined
def _same(words: Words, one: int, other: int) -> bool:
    same = True
    for word in range(words.shape[1]):
        same &= words[one, word] == words[other, word]
    return same
