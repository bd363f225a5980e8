"""All loops compiled, or loaded if they are, for the types of arrays that the engine has."""

from __future__ import annotations

from typing import Final

import numpy as np

from windowing.engine.loops import cells, instants, numbering, shapes, views

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
    kinds = [shapes.OBJECT, shapes.INTEGER, shapes.TEXT, shapes.OBJECT_END]
    names, ends = np.frombuffer(b'"n":"t":', np.uint8), np.array([0, 4, 8, 8])
    befores, rows = np.array([0, 0, ord(","), 0], np.uint8), np.zeros(4, np.int64)
    closers, digits = np.array([3, 1, 2, 3]), np.zeros((4, 2), np.int64)
    integers, starts, lengths = (np.empty((1, 1), np.int64) for _ in range(3))
    known, matched = np.empty((4, 1), np.bool_), np.empty(1, np.bool_)
    data = np.frombuffer(_OBJECT, np.uint8)
    program = np.array(kinds, np.uint8), befores, names, ends, closers, rows, digits
    shapes.read(offsets, data, program, 1, integers, starts, lengths, known, matched)
    views.view(starts[0], lengths[0], data, np.empty((1, 16), np.uint8))
    found = np.empty(1, np.int64)
    instants.read_iso(starts[0], lengths[0], data, matched, 1, found)
    instants.read_numbers(starts[0], lengths[0], data, matched, 0, False, found)
    instants.read_written(starts[0], lengths[0], data, matched, befores, found)


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
