"""The checksums of many texts."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from windowing.engine.loops.compiled import compiled

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

_POLYNOMIAL: Final = 0xEDB88320


def _table() -> Words:
    """Return what each byte does to a checksum: the polynomial division of eight bits."""
    rest = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        rest = (rest >> np.uint64(1)) ^ (np.uint64(_POLYNOMIAL) * (rest & np.uint64(1)))
    return rest


TABLE: Final = _table()


@compiled
def crc32(offsets: Ints, data: Bytes, table: Words, found: Words) -> None:
    """Compute the CRC-32 of every text, the one of zlib.

    Args:
        offsets: where each text begins, and where the last one ends.
        data: the bytes of all texts.
        table: `TABLE`; an argument, as a compiled constant would be copied into the loop.
        found: to be filled with one for each text.

    Source: Sarwate, "Computation of cyclic redundancy checks via table look-up", CACM 31(8), 1988.
    """
    ones, byte, eight = np.uint64(0xFFFFFFFF), np.uint64(0xFF), np.uint64(8)
    for text in range(len(found)):
        rest = ones
        for place in range(offsets[text], offsets[text + 1]):
            rest = table[(rest ^ np.uint64(data[place])) & byte] ^ (rest >> eight)
        found[text] = rest ^ ones
