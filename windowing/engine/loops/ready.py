"""All loops compiled, or loaded if they are, for the types of arrays that the engine has."""

from __future__ import annotations

from typing import Final

import numpy as np

from windowing.engine.loops import cells, numbering, shapes

_OBJECT: Final = b'{"n":1,"t":""}'


def make_ready() -> None:
    """Call every loop once.

    An executor's daemon does so before it forks, so that none of its workers has to.
    """
    _read_shapes()
    _number()
    _cumulate()


def _read_shapes() -> None:
    offsets = np.frombuffer(np.array([0, len(_OBJECT)]).tobytes(), np.int64)
    kinds = np.array([shapes.INTEGER, shapes.TEXT], np.uint8)
    names, ends = np.frombuffer(b'"n":"t":', np.uint8), np.array([4, 8])
    integers, starts, lengths = (np.empty((1, 1), np.int64) for _ in range(3))
    known, matched = np.empty((2, 1), np.bool_), np.empty(1, np.bool_)
    data = np.frombuffer(_OBJECT, np.uint8)
    places, digits = np.zeros((2, 2), np.int64), (1, 1)
    found = integers, starts, lengths, known, matched
    shapes.read(offsets, data, kinds, names, ends, places, digits, *found)
    shapes.view(starts[0], lengths[0], data, np.empty((1, 16), np.uint8))


def _number() -> None:
    table = np.zeros((2, 2), np.uint64)
    numbering.number(table, np.empty(2, np.int64), np.empty(2, np.int64), 1)


def _cumulate() -> None:
    none = np.zeros(0, np.int64)
    for dtype in (np.int64, np.float64):
        found = np.zeros(1, dtype)
        # Columns of frames can only be read.
        column = np.frombuffer(found.tobytes(), dtype)
        for values in (found, column):
            cells.cumulate(values, (none,) * 4, cells.SUM, 1, found)
    one = np.zeros(1, np.int64)
    cells.list_held((none, none), (one, one), (one, one), 0, (none,) * 3, none)
