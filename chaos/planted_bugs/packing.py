"""Defects in telling rows apart: keys as words of machines, packed, viewed and hashed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import computing, keyed, some_query, without_floats
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.groups import Ints, Words, _packed, _views, _width
from windowing.engine.loops.compiled import compiled
from windowing.engine.loops.numbering import _FREE, _ONE, _are_equal, _hash, _larger, extent, pack
from windowing.engine.tuning import tuning

_ROOM, _NUMBER = "windowing.engine.groups:_packed", "windowing.engine.groups:number"
_VIEWS = "windowing.engine.groups:_views"
_BY_ROWS = "deterministic, no error, exactly once, closing"

KEYED = some_query(keyed)
HASHED = some_query(keyed, without_floats)
"""Floats are numbered first, in an order that is not always the same."""

SMALL_TABLES = {"hash_slots": 1}
"""Hash tables that grow in small logs, too."""

LONG_TEXTS = {"viewed_bytes_max": 0}
"""All texts count as longer than their views."""


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


# Columns in one word that overlap by a bit. How one gets it: a width of 2 needs two bits, and its
# logarithm is 1.
@planted(
    "columns_overlap_by_a_bit", _BY_ROWS, at=_ROOM, shows_in=KEYED, wish=Wish(crowded=0.0, long=0.0)
)
def overlapping_by_a_bit(words: Sequence[Words]) -> list[Words]:
    spans = [(*extent(word), word) for word in words]
    packed, room = list[Words](), 0
    for least, most, word in sorted(spans, key=_width):
        width = _width((least, most, word))
        bits = max((width - 1).bit_length(), 1) if width else 0
        if 0 < bits <= room:
            pack(word, np.uint64(least), np.uint64(bits), packed[-1])
        elif bits:
            packed.append(word - np.uint64(least))
            room = tuning().packed_word_bits
        room -= bits
    return packed


# A word that is filled beyond its top. How one gets it: the room is that of a whole word again for
# each column, and only the first one is taken off.
@planted(
    "columns_beyond_the_word",
    _BY_ROWS,
    at=_ROOM,
    shows_in=KEYED,
    wish=Wish(classes=("sliding", "keyed sliding")),
)
def beyond_the_top(words: Sequence[Words]) -> list[Words]:
    spans = [(*extent(word), word) for word in words]
    packed, room = list[Words](), 0
    for least, most, word in sorted(spans, key=_width):
        bits = _width((least, most, word)).bit_length()
        if 0 < bits <= room:
            pack(word, np.uint64(least), np.uint64(bits), packed[-1])
        elif bits:
            packed.append(word - np.uint64(least))
            room = 64
    return packed


# A column that is equal in its first rows is taken to be so in all, and left out of the key. How
# one gets it: a few values are asked first, and "mostly they tell" becomes "they tell".
@planted("constant_by_its_first_values", _BY_ROWS, at=_ROOM, shows_in=KEYED)
def by_the_first_values(words: Sequence[Words]) -> list[Words]:
    asked = min(tuning().asked_values, 64)
    return _packed([word for word in words if len(np.unique(word[:asked])) != 1])


# Long texts that are compared by their length and their first four bytes. How one gets it: the
# first word of an Arrow view "has the text", and the second one only says where the rest of it is.
@planted("texts_by_their_prefix", _BY_ROWS, at=_VIEWS, shows_in=KEYED)
def by_prefix(texts: pl.Series) -> list[Words]:
    found = _views(texts)
    if len(found) == 2:
        return found
    known = texts.fill_null("").cast(pl.Binary).to_list()
    prefixes = [int.from_bytes(text[:4], "little") << 32 | len(text) for text in known]
    return [np.array(prefixes, dtype=np.uint64)]


# Texts that are compared by their first twelve bytes. How one gets it: they are cut to what a view
# holds, because identifiers are short.
@planted("texts_by_twelve_bytes", _BY_ROWS, at=_VIEWS, shows_in=KEYED, tuning=LONG_TEXTS)
def by_twelve_bytes(texts: pl.Series) -> list[Words]:
    known = texts.fill_null("").cast(pl.Binary)
    numbers: dict[bytes, int] = {}
    codes = [numbers.setdefault(text[:12], len(numbers)) for text in known]
    return [np.array(codes, dtype=np.uint64)]


# Long texts of which only the first is looked at: views of the others are compared, which say where
# their bytes are. How one gets it: one value tells the shape of a column.
@planted("texts_as_long_as_the_first", _BY_ROWS, at=_VIEWS, shows_in=KEYED)
def as_long_as_the_first(texts: pl.Series) -> list[Words]:
    known = texts.fill_null("") if texts.null_count() else texts
    array = known.to_arrow(compat_level=pl.CompatLevel.newest())
    views = np.frombuffer(array.buffers()[1], np.uint32).reshape(-1, 4)[array.offset :]
    if views[:1, 0].max(initial=0) > 12:
        return _views(texts)
    words = views[: len(texts)].view(np.uint64)
    return [words[:, 0], words[:, 1]]


# Numbers whose first ones are equal are summed up as if all were. How one gets it: a few are asked
# first, and the answer is kept if it is yes, too.
@planted(
    "sums_by_their_first_values",
    "deterministic, no error",
    at="windowing.engine.groups:_are_the_same",
    shows_in=some_query(computing(("sum", "mean"))),
    tuning={"asked_values": 1},
)
def by_a_few(values: Ints) -> bool:
    return bool((values[: tuning().asked_values] == values[0]).all())
